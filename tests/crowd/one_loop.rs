//! Hooks and commands of all kinds at once on one loop, round after round.

use crate::answers::{self, ProcessAnswer, said};
use crate::calls::{self, Answer, Caller};
use crate::chance::Chance;
use crate::mix::{self, Round};
use crate::size::size;
use crate::tally;
use crate::world::World;
use crate::written;
use ralph_test_support::sample::seed;
use serde_json::{Value, json};
use std::time::Duration;

pub(crate) const TESTS: &[crate::Test] = &[
    ("a_crowd_on_one_loop_loses_nothing_and_counts_nothing_twice", calm),
    ("a_crowd_with_a_person_in_it_loses_nothing_and_counts_nothing_twice", restless),
    ("two_registrations_of_many_events_at_once_count_each_event_once", registrations),
];

const BOUNDS: &str = "--max-iterations 1000 --stall-limit 1000";

fn calm() {
    for more in 0..size().seeds {
        rounds(seed() + more, false);
    }
}

fn restless() {
    for more in 0..size().seeds {
        rounds(seed() + more, true);
    }
}

/// A loop whose criterion can be run at any time.
pub(crate) fn looping() -> World {
    looping_with("one is there=grep -q one tracked")
}

fn looping_with(criterion: &str) -> World {
    World::looping(&format!("--ac '{criterion}' {BOUNDS}"))
}

fn rounds(seed: u64, restless: bool) {
    let world = looping();
    let mut chance = Chance::of(seed);
    let mut claimed = Vec::new();
    for number in 0..size().rounds {
        world.write("work", &number.to_string());
        let before = Stand::of(&world);
        let mut round = Round { world: &world, number, claimed, restless };
        let answers = calls::at_once(mix::draw(&mut round, &mut chance, size().processes));
        let after = Stand::of(&world);
        eprintln!("seed {seed} round {number}: {}", after.describe(&before));
        check_iterations(&before, &after, &answers);
        check_journal(&before, &after, &answers);
        claimed = check_tasks(&after, &answers);
        for answer in &answers {
            check_wait(answer);
        }
        if after.state["phase"] == "paused" {
            let resumed = calls::alone(Caller::terminal("resume", &world, &["resume"]));
            assert!(matches!(said(&resumed), ProcessAnswer::Done(_)), "{resumed:?}");
        }
    }
}

/// The loop between two rounds.
struct Stand {
    state: Value,
    lines: Vec<ralph_io::store::journal::JournalEntry>,
}

impl Stand {
    fn of(world: &World) -> Stand {
        Stand { state: world.state(), lines: written::lines(world.state_path().parent().unwrap()) }
    }

    fn iteration(&self) -> u64 {
        self.state["iteration"].as_u64().unwrap()
    }

    fn describe(&self, before: &Stand) -> String {
        format!(
            "iteration {} to {}, {} lines, {}",
            before.iteration(),
            self.iteration(),
            self.lines.len() - before.lines.len(),
            self.state["phase"]
        )
    }
}

/// Each answer to go on has an iteration of its own, without a gap, and the state has as many.
#[track_caller]
fn check_iterations(before: &Stand, after: &Stand, answers: &[Answer]) {
    let expected: Vec<u64> = (before.iteration() + 1..=after.iteration()).collect();
    assert_eq!(answers::iterations(answers), expected);
}

#[track_caller]
fn check_journal(before: &Stand, after: &Stand, answers: &[Answer]) {
    let new = &after.lines[before.lines.len()..];
    let is_written = |answer: &&Answer| {
        answer.is("stop") || (answer.is("denied") && said(answer) == ProcessAnswer::Denied)
    };
    written::check_each(new, &answers.iter().filter(is_written).collect::<Vec<_>>());
    let count = |kind: &str, wanted: &dyn Fn(&ProcessAnswer) -> bool| {
        answers.iter().filter(|answer| answer.is(kind) && wanted(&said(answer))).count()
    };
    let paused = |said: &ProcessAnswer| matches!(said, ProcessAnswer::Done(text) if text.contains("may finish"));
    assert_eq!(written::count(new, "ralph pause", "paused"), count("pause", &paused));
    let done = |said: &ProcessAnswer| matches!(said, ProcessAnswer::Done(_));
    assert_eq!(written::count(new, "ralph resume", "resumed"), count("resume", &done));
    let spoke = |said: &ProcessAnswer| matches!(said, ProcessAnswer::Spoke(_));
    assert_eq!(written::count(new, "SessionStart", "reminded"), count("compacted", &spoke));
    let kept = |said: &ProcessAnswer| !matches!(said, ProcessAnswer::GaveUp(_));
    assert_eq!(written::count(new, "StopFailure", "paused"), count("failed", &kept));
}

/// All tasks that were added are there, and each claim has a task of its own. Returns those that
/// somebody works at.
#[track_caller]
fn check_tasks(after: &Stand, answers: &[Answer]) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let tasks = after.state["task_graph"].as_array().cloned().unwrap_or_default();
    for answer in answers.iter().filter(|answer| matches!(said(answer), ProcessAnswer::Done(_))) {
        let tag = answer.what.split(' ').nth(1).unwrap();
        let found =
            |member: &str, value: &str| tasks.iter().filter(|it| it[member] == value).count();
        if answer.is("add") {
            assert_eq!(found("id", &format!("T-{tag}")), 1, "{answer:?}");
        } else if answer.is("claim") {
            assert_eq!(found("owner", &format!("owner-{tag}")), 1, "{answer:?}");
        }
    }
    let running = tasks.iter().filter(|task| task["status"] == "in_progress");
    running.map(|task| text(&task["id"])).collect()
}

/// Nobody waited beyond the client's own patience with the hook.
#[track_caller]
pub(crate) fn check_wait(answer: &Answer) {
    let seconds = match answer.name {
        "ralph-pre-tool-use" => 5,
        "ralph-user-prompt" | "ralph-session-context" => 10,
        _ => 15,
    };
    assert!(answer.took() < Duration::from_secs(seconds), "{answer:?} took {:?}", answer.took());
    if matches!(said(answer), ProcessAnswer::GaveUp(_)) {
        tally::gave_up();
    }
}

/// Each event starts two copies, all of them at once: one of each two counts and speaks.
fn registrations() {
    let world = looping();
    for round in 0..size().rounds {
        let before = Stand::of(&world);
        let n_events = size().processes / 2;
        let copies = (0..n_events).flat_map(|at| {
            let payload =
                world.payload("Stop", json!({"last_assistant_message": format!("{round} {at}")}));
            let copy = |via: &str| {
                Caller::hook(&format!("{at} {via}"), &world, "ralph-stop-hook", via, &payload)
            };
            // Which of the two is first must not matter.
            let mut vias = ["settings", "plugin"];
            vias.rotate_left(at % 2);
            vias.map(copy)
        });
        // `world.via` is the last argument but one, and only the last counts.
        let answers = calls::at_once(copies.collect());
        let after = Stand::of(&world);
        check_iterations(&before, &after, &answers);
        let (counting, other): (Vec<&Answer>, Vec<&Answer>) =
            answers.iter().partition(|answer| answer.what.ends_with("settings"));
        written::check_each(&after.lines[before.lines.len()..], &counting);
        assert!(other.iter().all(|answer| said(answer) == ProcessAnswer::Nothing), "{other:?}");
        let gave_up = counting
            .iter()
            .filter(|answer| matches!(said(answer), ProcessAnswer::GaveUp(_)))
            .count();
        assert_eq!(after.iteration(), before.iteration() + (n_events - gave_up) as u64);
    }
}
