//! A PAUSE or a STOP in each state.

use super::super::fixture::{SampleOrchestration, feedback, now, report, review};
use super::super::invocation::Running;
use super::super::signal::UnheardSignal;
use super::super::state::State;
use super::*;

const TASKS: &[(&str, &[&str])] = &[("task-1", &[]), ("task-2", &["task-1"])];

fn at(state: State, change: impl Fn(&mut SampleOrchestration)) -> (State, SampleOrchestration) {
    let mut session = SampleOrchestration::planned(TASKS);
    session.state(state);
    change(&mut session);
    (state, session)
}

fn all_done(session: &mut SampleOrchestration) {
    ["task-1", "task-2"].iter().for_each(|id| session.noted(id, "[x]", None));
}

/// An orchestration in each of the states that call an agent.
fn in_each_state() -> [(State, SampleOrchestration); 8] {
    [
        (State::Initializing, SampleOrchestration::empty()),
        (State::Planning, SampleOrchestration::initialized()),
        at(State::Replanning, |session| {
            session.file("iterations/2/feedbacks/x/feedbacks.md", &feedback(2));
            session.seen = written(&session.seen).0;
        }),
        at(State::Batching, |_| {}),
        at(State::ExecutingBatch, |_| {}),
        at(State::ReviewingBatch, |session| {
            session.noted("task-1", "[P]", None);
            session.file("reports/task-1-report.md", &report("task-1", 1, None));
        }),
        at(State::SessionReview, all_done),
        at(State::RepairState, |session| {
            session.edit("progress.md", "[ ] task-1", "[?] task-1");
        }),
    ]
}

/// The next act, and the orchestration with its changes written.
fn written(seen: &Snapshot) -> (Snapshot, Act) {
    let step = next(seen, now());
    (step.after, step.act)
}

/// The same orchestration while its calls are in progress.
fn at_work(session: &SampleOrchestration) -> SampleOrchestration {
    let (mut seen, act) = written(&session.seen);
    let Act::Invoke(calls) = act else { panic!("{act}") };
    let running = calls.into_iter().map(|call| Running { key: call.key, since: now() });
    seen.running = Some(running.collect());
    SampleOrchestration { seen }
}

fn said(session: &SampleOrchestration, texts: &[&str]) -> Snapshot {
    let mut seen = session.seen.clone();
    let read = |(at, text): (usize, &&str)| UnheardSignal::read(&at.to_string(), text);
    seen.signals = texts.iter().enumerate().map(read).collect();
    seen
}

/// The orchestration after the step has taken effect.
fn done(step: &MachineStep) -> Snapshot {
    step.after.without_signals(&step.heard)
}

fn names(seen: &Snapshot) -> Vec<&str> {
    seen.signals.iter().map(|signal| signal.name.as_str()).collect()
}

#[test]
fn a_pause_holds_every_state_where_it_is_and_nothing_is_lost_by_it() {
    for (state, idle) in in_each_state() {
        let busy = at_work(&idle);
        for (session, is_busy) in [(&idle, false), (&busy, true)] {
            let free = next(&session.seen, now());
            assert!(matches!(free.act, Act::Wait { .. }) == is_busy, "{state}: {}", free.act);
            let seen = said(session, &["STEER: use oak", "PAUSE: lunch"]);
            let step = next(&seen, now());
            assert_eq!(step.act, Act::Paused("lunch".to_owned()), "{state}");
            assert_eq!(step.after, seen, "{state}");
            if !is_busy {
                assert_eq!(step.state, state);
            }
            let over = next(&said(session, &[]), now());
            assert_eq!((over.act, over.after), (free.act, free.after), "{state}");
        }
    }
}

#[test]
fn a_stop_ends_it_in_every_state_and_what_was_said_to_agents_is_kept_for_the_next() {
    for (state, idle) in in_each_state() {
        for session in [at_work(&idle), idle] {
            let seen = said(&session, &["STEER: use oak", "PAUSE", "STOP: enough"]);
            let step = next(&seen, now());
            assert_eq!(step.act, Act::Stopped("enough".to_owned()), "{state}");
            assert_eq!(step.after, seen, "{state}");
            let after = done(&step);
            assert_eq!(names(&after), ["0"], "{state}");
            assert_eq!(Snapshot { signals: seen.signals.clone(), ..after }, seen, "{state}");
        }
    }
}

#[test]
fn a_pause_is_used_up_once_the_session_rests_and_not_by_waiting() {
    let (_, session) = at(State::ExecutingBatch, |_| {});
    let seen = said(&session, &["STEER: use oak", "PAUSE"]);
    let step = next(&seen, now());
    assert_eq!(names(&step.after), ["0", "1"]);
    assert_eq!(names(&done(&step)), ["0"]);
}

#[test]
fn an_end_stays_what_it_is_and_no_word_is_left_to_hold_the_next_iteration() {
    let complete = |session: &mut SampleOrchestration| {
        all_done(session);
        session.file("iterations/1/review.md", &review("Complete"));
    };
    let ends = [
        (Act::Complete, at(State::Complete, complete)),
        (Act::AwaitingFeedback(vec!["task-1 failed".to_owned()]), {
            at(State::Complete, |session| {
                complete(session);
                session.noted("task-1", "[F]", None);
            })
        }),
    ];
    for (end, (_, session)) in ends {
        for word in ["PAUSE", "STOP"] {
            let seen = said(&session, &["STEER: use oak", word]);
            let step = next(&seen, now());
            assert_eq!(step.act, end);
            assert_eq!(names(&done(&step)), ["0"]);
        }
    }
}
