//! A person ends the loop while its stops are on their way.

use crate::answers::{self, ProcessAnswer, said};
use crate::calls::{self, Answer, Caller};
use crate::endings::{archive, stops};
use crate::one_loop::{check_wait, looping};
use crate::size::size;
use crate::world::World;
use crate::written;
use serde_json::json;
use std::sync::mpsc;

pub(crate) const TESTS: &[crate::Test] = &[
    ("no_stop_that_begins_after_cancel_returned_goes_on", after_the_cancel),
    ("cancels_of_every_kind_at_once_end_the_loop_once", of_every_kind),
];

/// Two crowds: one races the cancel, the other begins when it has returned and the first may still
/// be on its way.
fn after_the_cancel() {
    for _ in 0..size().races {
        let world = looping();
        let (returned, when) = mpsc::channel();
        let (mut racing, late) = std::thread::scope(|scope| {
            let world = &world;
            let n_racing = size().processes - 9;
            let crowd = scope.spawn(move || calls::at_once(stops(world, n_racing, "still going")));
            let cancel = scope.spawn(move || {
                let cancelled = calls::alone(Caller::terminal("cancel", world, &["cancel"]));
                returned.send(()).unwrap();
                cancelled
            });
            when.recv().unwrap();
            let late = calls::at_once(stops(world, 8, "still going"));
            let mut racing = crowd.join().unwrap();
            racing.push(cancel.join().unwrap());
            (racing, late)
        });
        assert_eq!(answers::iterations(&late), [0; 0], "{late:?}");
        racing.extend(late);
        check_cancelled_once(&world, racing);
    }
}

/// The words, the command in both registrations, two terminals, and stops.
fn of_every_kind() {
    for _ in 0..size().races {
        let world = looping();
        let words = world.payload("UserPromptSubmit", json!({"prompt": "ralph cancel"}));
        let command = world.payload(
            "UserPromptExpansion",
            json!({"command_name": "ralph-cancel", "command_args": "", "prompt_id": "prompt-2"}),
        );
        let typed = |what: &str, via: &str, payload| {
            Caller::hook(&format!("typed {what} {via}"), &world, "ralph-user-prompt", via, payload)
        };
        let terminal = |at: &str| Caller::terminal(at, &world, &["cancel"]);
        let mut callers = stops(&world, size().processes / 2, "still going");
        callers.extend([
            typed("words", "settings", &words),
            typed("command", "settings", &command),
            typed("command", "plugin", &command),
            terminal("cancel 1"),
            terminal("cancel 2"),
        ]);
        let answers = calls::at_once(callers);
        check_cancelled_once(&world, answers);
    }
}

/// Several persons may each hear an answer to what they typed, but the loop has one ending, and
/// what its session is told of it unasked it is told once at most.
#[track_caller]
fn check_cancelled_once(world: &World, mut answers: Vec<Answer>) {
    answers.push(calls::alone(stops(world, 1, "after the end").remove(0)));
    answers.iter().for_each(check_wait);
    let stops: Vec<&Answer> = answers.iter().filter(|answer| answer.is("stop")).collect();
    let told =
        stops.iter().filter(|answer| matches!(said(answer), ProcessAnswer::Spoke(_))).count();
    assert!(told <= 1, "{stops:?}");
    assert_eq!(world.ending(), "cancelled");
    assert!(!world.has_entry());
    let state = &world.archived()[0];
    let iterations = answers::iterations(&answers);
    let expected: Vec<u64> = (1..=state["iteration"].as_u64().unwrap()).collect();
    assert_eq!(iterations, expected);
    let lines = written::lines(&archive(world));
    assert_eq!(written::count(&lines, "Stop", "go on"), iterations.len());
    let ended: Vec<_> = lines.iter().filter(|line| line.decision == "ended").collect();
    assert_eq!(ended.len(), 1, "{ended:?}");
}
