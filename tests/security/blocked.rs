//! `ralph blocked` needs something open and more than a word, and the person is told at once.

use crate::world::World;
use serde_json::json;

const HONEST: [&str; 3] = [
    "Create the account at example.com and put its key into .env",
    "Which licence shall the crate have, MIT or GPL?",
    "Bitte das Konto bei example.com anlegen",
];

fn looping() -> World {
    World::looping("--ac \"it=grep -q yes done\"")
}

#[test]
fn a_single_word_pauses_nothing() {
    let world = looping();
    for text in ["help", "done", " stuck "] {
        let said = world.ralph(&["blocked", text]);
        assert!(!said.success && said.text.contains("say in a sentence"), "{text}: {}", said.text);
    }
    assert!(world.step(&world.working_stop("x")).contains("Ralph 1/25: "));
}

#[test]
fn what_a_person_must_do_pauses_the_loop_and_is_shown_at_once() {
    let world = looping();
    for text in HONEST {
        let said = world.ralph(&["blocked", text]);
        assert!(said.success, "{text}: {}", said.text);
    }
    let message = world.stop("I cannot go on.").message();
    assert!(
        message.contains(&format!("(blocked_on_human): {}", HONEST[HONEST.len() - 1])),
        "{message}"
    );
}

#[test]
fn nothing_open_needs_no_person() {
    let world = World::looping("");
    let said = world.ralph(&["blocked", HONEST[0]]);
    assert!(!said.success && said.text.contains("no criterion and no task"), "{}", said.text);
    world.edit_state(|state| {
        state["task_graph"] = json!([{"id": "T-1", "name": "one", "status": "failed"}]);
    });
    assert!(world.ralph(&["blocked", HONEST[0]]).success);
}
