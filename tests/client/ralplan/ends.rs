//! A planning is cancelled, killed and compacted, wherever it is.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use ralph_test_support::fake_api::{Gate, Script, ScriptedTurn, StandIn, Usage};
use serde_json::Value;

use super::{
    ARCHITECT, CRITIC, Cast, DOCUMENT, GAP_FINDER, PLANNER, START, assert_untouched, endings,
    obedient, obey, phase,
};
use crate::Test;
use crate::kept::{installed, session_entries, the_live};
use crate::support::{PATIENCE, World};

pub(crate) const TESTS: &[Test] = tests![
    a_cancel_in_another_terminal_ends_it_in_every_phase,
    a_document_that_is_removed_ends_it_in_every_phase,
    one_whose_client_is_killed_in_every_phase_gets_to_the_person_all_the_same,
    one_whose_client_was_killed_can_be_cancelled_in_every_phase_by_the_session_that_resumes,
    a_compaction_in_the_middle_is_followed_by_the_next_step,
];

/// Who works in which phase. The conversation itself is at work while the person is to decide.
const PLACES: [(&str, &str); 5] = [
    (GAP_FINDER, "planner_planning"),
    (PLANNER, "planner_planning"),
    (ARCHITECT, "architect_consultation"),
    (CRITIC, "critic_review"),
    (CONVERSATION, "awaiting_user_approval"),
];

const CONVERSATION: &str = "Next: summarize in a few lines";

/// A planning that waits at the gate as soon as it is where `place` works.
fn waiting_at(world: &World, place: &'static str, gate: &Gate) -> StandIn {
    let own = gate.clone();
    let conversation = Script::new().answer_with(move |request| match request.news() {
        news if place == CONVERSATION && news.contains(CONVERSATION) => {
            ScriptedTurn::held(&own).then_text("Decide.")
        }
        _ => obey(request).unwrap_or_else(|| ScriptedTurn::text("I wait.")),
    });
    let held = Some((place, gate.clone()));
    let cast = Cast { asks_architect: place == ARCHITECT, held, ..Cast::default() };
    StandIn::start(cast.join(conversation, world)).unwrap()
}

/// Has a person do something in every phase of a session that goes on, which is then cancelled.
#[track_caller]
fn check_cancelled(act: fn(&World)) {
    for (place, expected) in PLACES.into_iter().skip(1) {
        let (world, gate) = (installed(), Gate::new());
        let stand_in = waiting_at(&world, place, &gate);
        std::thread::scope(|scope| {
            let run = scope.spawn(|| world.client(&stand_in).prompt(START));
            gate.wait_until_reached(PATIENCE).unwrap();
            assert_eq!(phase(&world), expected, "{place}");
            act(&world);
            gate.open();
            run.join().unwrap();
        });
        assert_eq!(endings(&world), ["cancelled"], "{place}");
        let held = [GAP_FINDER, PLANNER, ARCHITECT, CRITIC].iter().position(|one| *one == place);
        let later = &[GAP_FINDER, PLANNER, ARCHITECT, CRITIC][held.map_or(4, |at| at + 1)..];
        let agents = stand_in.subagent_requests();
        let begun = |role: &&&str| agents.iter().any(|one| one.first_user_text().contains(**role));
        assert_eq!(later.iter().filter(begun).count(), 0, "{place}");
        assert_untouched(&world);
    }
}

fn a_cancel_in_another_terminal_ends_it_in_every_phase() {
    check_cancelled(|world| {
        world.ralph(&["cancel"]).exits(0);
        let text = fs::read_to_string(world.project().join(DOCUMENT)).unwrap();
        let document: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&document["active"], &document["current_phase"]),
            (&false.into(), &"cancelled".into())
        );
    });
}

fn a_document_that_is_removed_ends_it_in_every_phase() {
    check_cancelled(|world| fs::remove_file(world.project().join(DOCUMENT)).unwrap());
}

/// Kills the client of a session while `place` is at work; `on` begins the session or goes on with it.
#[track_caller]
fn kill_at(world: &World, place: &'static str, expected: &str, on: &[&str]) {
    let gate = Gate::new();
    let stand_in = waiting_at(world, place, &gate);
    let (prompt, args) = on.split_last().expect("there is a prompt");
    let client = world.client(&stand_in).args(args);
    client.killed_after(prompt, || gate.wait_until_reached(PATIENCE).unwrap());
    assert_eq!(phase(world), expected, "{place}");
}

fn session(world: &World) -> String {
    session_entries(world).pop().expect("the planning is bound to its session")
}

fn one_whose_client_is_killed_in_every_phase_gets_to_the_person_all_the_same() {
    let world = installed();
    let ((first, expected), later) = PLACES.split_first().unwrap();
    kill_at(&world, first, expected, &[START]);
    let session = session(&world);
    for (place, expected) in later {
        kill_at(&world, place, expected, &["--resume", &session, "Go on."]);
    }
    let stand_in = StandIn::start(obedient()).unwrap();
    world.client(&stand_in).args(&["--resume", &session]).prompt("Go on.").result();
    assert_eq!(phase(&world), "awaiting_user_approval");
    let told = stand_in.requests()[0].news();
    assert!(told.contains("Phase: awaiting_user_approval, plan 1/5."), "{told}");
    assert_untouched(&world);
    world.ralph(&["ralplan", "discard"]).exits(0);
    assert_eq!(endings(&world), ["discarded"]);
}

fn one_whose_client_was_killed_can_be_cancelled_in_every_phase_by_the_session_that_resumes() {
    for (place, expected) in &PLACES[1..] {
        let world = installed();
        kill_at(&world, place, expected, &[START]);
        let stand_in = StandIn::start(Script::new()).unwrap();
        let resumed = world.client(&stand_in).args(&["--resume", &session(&world)]);
        resumed.prompt("ralph cancel");
        assert_eq!(endings(&world), ["cancelled"], "{place}");
        assert!(stand_in.requests().is_empty(), "{place}: the model was asked");
    }
}

fn a_compaction_in_the_middle_is_followed_by_the_next_step() {
    let world = installed();
    let full = Usage { input_tokens: 990_000, ..Usage::default() };
    let is_full = AtomicBool::new(false);
    let conversation = Script::new().answer_with(move |request| {
        let turn = obey(request).unwrap_or_else(|| ScriptedTurn::text("I wait."));
        match request.news().contains("subagent_type `ralplan-planner`") {
            true if !is_full.swap(true, Ordering::SeqCst) => turn.with_usage(full),
            _ => turn,
        }
    });
    let stand_in = StandIn::start(Cast::default().join(conversation, &world)).unwrap();
    world.client(&stand_in).prompt(START).result();
    assert_eq!(phase(&world), "awaiting_user_approval");
    let kept = the_live(&world);
    assert_eq!(kept.n_decisions("PreCompact", "context lost"), 1);
    assert_eq!(kept.n_decisions("SessionStart", "reminded"), 1);
    let requests = stand_in.requests();
    let told =
        requests.iter().find(|one| one.all_text().contains(" continues at 1/5\nTask: Add a login"));
    let told = told.expect("told after the compaction").all_text();
    assert!(told.contains("Phase: critic_review, plan 1/5."), "{told}");
    assert_eq!(stand_in.unscripted(), 0);
}
