//! `ralph blocked` needs something open and more than a word, and the person is told at once.

use crate::world::World;
use serde_json::json;

const HONEST: [&str; 21] = [
    "Create the account at example.com and put its key into .env",
    "Grant the deploy user write access to the bucket",
    "Install docker; this needs root",
    "Decide whether version 1 of the API stays",
    "Approve the release in the store's console",
    "Log in with `gh auth login`",
    "Pay the invoice of the registrar",
    "Which licence shall the crate have, MIT or GPL?",
    "May I delete the production table users_old?",
    "You need to plug in the test device",
    "The password of the staging database is missing: set PGPASSWORD and start the client again",
    "I need an API token for Sentry",
    "Accept the terms of the SDK with `sdkmanager --licenses`",
    "Open port 8443 in the firewall of the build server",
    "Renew the certificate of the update server",
    "Someone with admin rights must enable the feature flag in LaunchDarkly",
    "Please choose the name of the public package",
    "Ask the vendor for the missing protocol document",
    "Free space on /, which is full",
    "Bitte das Konto bei example.com anlegen",
    "Connect the VPN of the customer",
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
