//! Explores every course that a small orchestration can take, whatever its agents do.
//!
//! After each answer of the router, one of the calls ends in one of its possible ways and the
//! router is asked again, as if the caller were killed after each step. Mistakes of agents are
//! included: they leave work half done, report nothing, or set a mark without writing.
//!
//! A build with `RALPH_PROOF=full` (`tests/prove model`) explores all of it; any other build takes
//! smaller orchestrations and fewer of the user's messages.

use super::super::agents::Mode;
use super::super::change::writes;
use super::super::files::OrchestrationFile;
use super::super::fixture::{SampleOrchestration, feedback, later, now, report, review, task};
use super::super::invocation::Invocation;
use super::super::progress::{ProgressSection, TaskEntry, TaskMark};
use super::super::repair::repair;
use super::super::signal::UnheardSignal;
use super::super::snapshot::{Picture, Snapshot};
use super::super::state::{MetadataStatus, State};
use super::{Act, MachineStep, next};
use jiff::{SignedDuration, Timestamp};
use std::collections::{BTreeSet, HashMap};

mod together;

/// The possible ends of calls, and the size of the orchestration.
struct Bounds {
    /// These modes may also end without any result.
    silent: &'static [Mode],
    /// Executors and reviewers may fail tasks, and agents may leave work half done.
    careless: bool,
    /// The caller knows that no call is in progress.
    knows: bool,
    /// The user gives feedback once.
    feedback: bool,
    /// The tasks that the planner creates.
    tasks: &'static [(&'static str, &'static [&'static str])],
}

fn is_full() -> bool {
    option_env!("RALPH_PROOF") == Some("full")
}

/// Whether the caller knows which calls are in progress.
fn knowledge() -> &'static [bool] {
    if is_full() { &[false, true] } else { &[true] }
}

/// Of the states of a smaller exploration, the messages are tried in one of this many.
const MESSAGES_IN_ONE_OF: usize = 8;

/// An exploration with more states than this is not bounded.
const MOST_STATES: usize = 6_000;

const CHAIN: &[(&str, &[&str])] = &[("a", &[]), ("b", &["a"]), ("c", &[])];

struct Explored {
    states: usize,
    ends: BTreeSet<&'static str>,
    modes: BTreeSet<Mode>,
    visited: BTreeSet<State>,
}

/// Explores every course from here. A course that returns to an earlier state would never end.
fn explore(start: Snapshot, bounds: &Bounds) -> Explored {
    let mut seen: HashMap<String, bool> = HashMap::new();
    let mut found = Explored {
        states: 0,
        ends: BTreeSet::new(),
        modes: BTreeSet::new(),
        visited: BTreeSet::new(),
    };
    // A snapshot still to be explored, or the key of a state whose successors have all been
    // explored.
    let mut stack: Vec<(Snapshot, Option<String>)> = vec![(start, None)];
    while let Some((snapshot, left)) = stack.pop() {
        if let Some(key) = left {
            seen.insert(key, true);
            continue;
        }
        let key = key(&snapshot);
        match seen.get(&key) {
            Some(true) => continue,
            Some(false) => panic!("a session goes round in a circle:\n{key}"),
            None => {}
        }
        seen.insert(key.clone(), false);
        found.states += 1;
        assert!(found.states < MOST_STATES, "more than it is worth");
        stack.push((snapshot.clone(), Some(key)));
        let step = next(&snapshot, now());
        found.visited.insert(step.state);
        let after = step.after.clone();
        hold(&snapshot, &after, &step, bounds);
        if is_full() || found.states.is_multiple_of(MESSAGES_IN_ONE_OF) {
            heeds(&snapshot, &step, now());
        }
        let followers = follow(&after, step, bounds, &mut found);
        stack.extend(followers.into_iter().map(|snapshot| (snapshot, None)));
    }
    found
}

/// The identity of a snapshot: everything except the version of the metadata.
fn key(seen: &Snapshot) -> String {
    let mut key = format!("{:?}{:?}", seen.tries, seen.signals);
    for (path, text) in &seen.files {
        key.push_str(path);
        for line in text.as_deref().unwrap_or_default().lines() {
            if !line.starts_with("version:") {
                key.push_str(line);
                key.push('\n');
            }
        }
    }
    key
}

/// In every state, a PAUSE begins and changes nothing, and a STOP ends the orchestration, however
/// often the router is asked.
fn heeds(seen: &Snapshot, free: &MachineStep, now: Timestamp) {
    for word in ["PAUSE", "STOP"] {
        let mut said = seen.clone();
        said.signals.push(UnheardSignal::read("~", word));
        let step = next(&said, now);
        // What is damaged is rendered anew all the same.
        let kept = writes(&said, &said.clone().rendered(&said, now.into()));
        match (word, &step.act) {
            ("PAUSE", Act::Paused(_)) => assert_eq!(writes(&said, &step.after), kept),
            ("STOP", Act::Stopped(_)) => {
                assert_eq!((writes(&said, &step.after), step.heard.len()), (kept, 1));
            }
            (_, act) => assert!(free.act.is_end() && *act == free.act, "{word}: {act}"),
        }
    }
}

/// What must hold after every step.
fn hold(before: &Snapshot, after: &Snapshot, step: &MachineStep, bounds: &Bounds) {
    let was = before.progress();
    let picture = Picture::from_snapshot(after);
    let is = picture.progress;
    for entry in was.tasks().iter().filter(|entry| entry.status == TaskMark::Done) {
        let status = is.task(&entry.id).unwrap().status;
        assert_eq!(status, TaskMark::Done, "{} was done", entry.id);
    }
    let Act::Invoke(calls) = &step.act else { return };
    assert!(!calls.is_empty() && calls.len() <= 4, "{calls:?}");
    let keys: BTreeSet<_> = calls.iter().map(|call| &call.key).collect();
    assert_eq!(keys.len(), calls.len(), "{calls:?}");
    for call in calls.iter().filter(|call| call.mode == Mode::Execute) {
        let id = &call.key.task;
        let status = is.task(id).unwrap().status;
        let again = status == TaskMark::InProgress && bounds.knows;
        assert!(matches!(status, TaskMark::Open | TaskMark::Failed) || again, "{id} is {status}");
        for on in &picture.task(id).unwrap().depends_on {
            assert_eq!(is.task(on).unwrap().status, TaskMark::Done, "{id} before {on}");
        }
    }
}

fn follow(
    after: &Snapshot,
    step: MachineStep,
    bounds: &Bounds,
    found: &mut Explored,
) -> Vec<Snapshot> {
    let calls = match step.act {
        Act::Invoke(calls) => calls,
        Act::Wait { until, .. } => {
            // As time passes, the same question has another answer.
            let until = until.expect("nobody else is at work");
            return waited(after, until + SignedDuration::from_secs(1), bounds, found);
        }
        Act::Complete => {
            found.ends.insert("complete");
            return Vec::new();
        }
        Act::AwaitingFeedback(_) => {
            found.ends.insert("awaiting feedback");
            if !bounds.feedback || step.iteration > 1 {
                return Vec::new();
            }
            let mut given = after.clone();
            given.files.insert(
                "iterations/2/feedbacks/20260201-120000/feedbacks.md".to_owned(),
                Some(feedback(2)),
            );
            return vec![given];
        }
        Act::Failed(_) => {
            found.ends.insert("error");
            return Vec::new();
        }
        Act::Paused(_) | Act::Stopped(_) => unreachable!("nobody says so"),
    };
    ended(after, &calls, bounds, found)
}

fn waited(
    seen: &Snapshot,
    moment: Timestamp,
    bounds: &Bounds,
    found: &mut Explored,
) -> Vec<Snapshot> {
    let step = next(seen, moment);
    let after = step.after.clone();
    hold(seen, &after, &step, bounds);
    match &step.act {
        Act::Invoke(calls) => ended(&after, calls, bounds, found),
        other => panic!("after waiting: {other}"),
    }
}

/// Ends each of the calls in each of its possible ways.
fn ended(
    seen: &Snapshot,
    calls: &[Invocation],
    bounds: &Bounds,
    found: &mut Explored,
) -> Vec<Snapshot> {
    let mut followers = Vec::new();
    for call in calls {
        found.modes.insert(call.mode);
        let mut results = results(seen, call, bounds);
        if bounds.silent.contains(&call.mode) {
            results.push(seen.clone());
        }
        for mut result in results {
            result.close(call, now());
            followers.push(result);
        }
    }
    followers
}

/// The possible contents of the folder after a call has ended.
fn results(seen: &Snapshot, call: &Invocation, bounds: &Bounds) -> Vec<Snapshot> {
    let of = |seen: &Snapshot| SampleOrchestration { seen: seen.clone() };
    let id = call.key.task.as_str();
    let iteration = call.key.iteration;
    let done = |planning: &str| {
        let mut session = of(seen);
        session.noted(planning, "[x]", None);
        session
    };
    let mut all: Vec<SampleOrchestration> = Vec::new();
    let mut careless: Vec<SampleOrchestration> = Vec::new();
    match call.mode {
        Mode::Initialize => {
            let mut session = of(seen);
            let laid_out = SampleOrchestration::initialized().seen;
            session.seen.files.extend(laid_out.files);
            session.seen.record = laid_out.record;
            all.push(session);
            let mut half = of(seen);
            half.file("plan.md", "Goal: a door\n");
            careless.push(half);
        }
        Mode::Brainstorm => {
            let mut session = of(seen);
            planning_entry(&mut session, "plan-brainstorm", call.key.cycle);
            all.push(session);
            let mut more = of(seen);
            planning_entry(&mut more, "plan-brainstorm", call.key.cycle);
            let mut section = more.progress().sections.iter_mut().find(|section| {
                section.part == ProgressSection::Planning && section.iteration == 1
            });
            for id in ["plan-brainstorm", "plan-research"] {
                let (id, note) = (id.to_owned(), String::new());
                let entry = TaskEntry { id, status: TaskMark::Open, note };
                section.as_mut().unwrap().entries.push(entry);
            }
            more.render();
            careless.push(more);
        }
        Mode::Research if iteration > 1 => all.push(done("plan-reresearch")),
        Mode::Research => {
            let mut session = of(seen);
            planning_entry(&mut session, "plan-research", call.key.cycle);
            all.push(session);
        }
        Mode::TaskBreakdown => {
            let mut session = done("plan-breakdown");
            let mut half = of(seen);
            for (id, on) in bounds.tasks {
                session.file(&format!("tasks/{id}.md"), &task(id, on));
                half.file(&format!("tasks/{id}.md"), &task(id, on));
            }
            all.push(session);
            careless.extend([half, done("plan-breakdown")]);
        }
        Mode::FeedbackAnalysis => all.push(done("plan-rebrainstorm")),
        Mode::Update => all.push(done("plan-update")),
        Mode::Rebreakdown => all.push(done("plan-rebreakdown")),
        Mode::RebreakdownTask => {
            let mut session = of(seen);
            session.noted(id, "[C]", Some("split due to timeouts"));
            if !id.ends_with("-small") {
                session.file(&format!("tasks/{id}-small.md"), &task(&format!("{id}-small"), &[]));
            }
            all.push(session);
        }
        Mode::UpdateMetadata => {
            let mut session = of(seen);
            let status = call.input("STATUS").unwrap();
            session.metadata().standing = MetadataStatus::from_word(status);
            session.render();
            all.push(session);
        }
        Mode::RepairState => {
            let mut session = of(seen);
            let text = session.text("progress.md").replace("[?]", "[ ]");
            session.file("progress.md", &text);
            session.seen = repair(&session.seen, now().into()).after;
            all.push(session);
        }
        Mode::Execute => {
            let attempt = call.input("ATTEMPT_NUMBER").unwrap().parse().unwrap();
            let path = OrchestrationFile::Report { task: id, attempt }.to_string();
            let marked = |mark: &str, with_report: bool| {
                let mut session = of(seen);
                let note = "started: 2026-01-31T12:00:00Z";
                session.noted(id, mark, Some(note));
                if with_report {
                    session.file(&path, &report(id, iteration, None));
                }
                session
            };
            all.push(marked("[P]", true));
            careless.push(marked("[F]", false));
            if !bounds.silent.is_empty() {
                careless.extend([marked("[P]", false), marked("[/]", false), marked("[/]", true)]);
            }
        }
        Mode::TaskReview => {
            let path = call.input("REPORT_PATH").unwrap().to_owned();
            let judged = |mark: &str, verdict: &str| {
                let mut session = of(seen);
                session.noted(id, mark, None);
                session.file(&path, &report(id, iteration, Some(verdict)));
                session
            };
            all.push(judged("[x]", "Qualified"));
            careless.push(judged("[F]", "Failed"));
        }
        Mode::TimeoutFail => {
            let mut session = of(seen);
            session.noted(id, "[F]", None);
            let attempt = Picture::from_snapshot(seen).latest_attempt(id) + 1;
            let path = OrchestrationFile::Report { task: id, attempt }.to_string();
            session.file(&path, &report(id, iteration, Some("Failed")));
            all.push(session);
        }
        Mode::SessionReview => {
            for (status, of_many) in [("Complete", false), ("Gaps Identified", true)] {
                let mut session = of(seen);
                session.file(&OrchestrationFile::Review(iteration).to_string(), &review(status));
                if of_many { careless.push(session) } else { all.push(session) }
            }
        }
    }
    if bounds.careless {
        all.extend(careless);
    }
    all.into_iter().map(|session| session.seen).collect()
}

fn planning_entry(session: &mut SampleOrchestration, id: &str, cycle: u32) {
    let progress = session.progress();
    let entries = progress.planning(1).enumerate().filter(|(_, entry)| entry.id == id);
    let places: Vec<usize> = entries.map(|(at, _)| at).collect();
    let at = places[usize::try_from(cycle - 1).unwrap()];
    progress.planning_mut(1, at).unwrap().set(TaskMark::Done, None);
    session.render();
}

/// Sets the retries of a failed task to zero.
fn once(mut session: SampleOrchestration) -> SampleOrchestration {
    session.seen.instructions = Some("- max_subagent_retries: 0\n".to_owned());
    session
}

fn known(mut session: SampleOrchestration, knows: bool) -> Snapshot {
    session.seen.running = knows.then(Vec::new);
    session.seen
}

#[test]
fn every_way_from_the_request_to_the_tasks_ends() {
    let bounds =
        Bounds { silent: &[], careless: true, knows: false, feedback: false, tasks: &[("a", &[])] };
    let found = explore(known(SampleOrchestration::empty(), false), &bounds);
    assert!(found.states > 50, "{}", found.states);
    assert_eq!(found.ends, BTreeSet::from(["awaiting feedback", "complete", "error"]));
    for mode in [Mode::Initialize, Mode::Brainstorm, Mode::Research, Mode::TaskBreakdown] {
        assert!(found.modes.contains(&mode), "{mode}");
    }
}

#[test]
fn every_way_through_the_waves_ends_also_when_tasks_fail() {
    let small = &CHAIN[..2];
    for (knows, tasks, start) in [
        (true, small, SampleOrchestration::planned(small)),
        (false, CHAIN, once(SampleOrchestration::planned(CHAIN))),
    ]
    .into_iter()
    .take(if is_full() { 2 } else { 1 })
    {
        let bounds = Bounds { silent: &[], careless: true, knows, feedback: false, tasks };
        let found = explore(known(start, knows), &bounds);
        assert!(found.states > 100, "{}", found.states);
        assert_eq!(found.ends, BTreeSet::from(["awaiting feedback", "complete"]));
        for state in [State::ExecutingBatch, State::ReviewingBatch, State::SessionReview] {
            assert!(found.visited.contains(&state), "{state}");
        }
    }
}

#[test]
fn every_way_through_feedback_and_a_second_iteration_ends() {
    let tasks = &CHAIN[..if is_full() { 2 } else { 1 }];
    let bounds = Bounds { silent: &[], careless: true, knows: false, feedback: true, tasks };
    let found = explore(known(SampleOrchestration::planned(tasks), false), &bounds);
    assert!(found.modes.contains(&Mode::Rebreakdown) && found.visited.contains(&State::Replanning));
    assert_eq!(found.ends, BTreeSet::from(["awaiting feedback", "complete"]));
}

#[test]
fn every_agent_may_stay_silent_and_every_way_ends_all_the_same() {
    for mode in Mode::all() {
        for &knows in knowledge() {
            let silent = match mode {
                Mode::Execute => &[Mode::Execute, Mode::RebreakdownTask][..],
                _ => Box::leak(Box::new([mode])),
            };
            let tasks: &[(&str, &[&str])] = &[("a", &[])];
            let bounds = Bounds { silent, careless: false, knows, feedback: false, tasks };
            let mut start = SampleOrchestration::empty();
            match mode {
                Mode::Initialize | Mode::Brainstorm | Mode::Research | Mode::TaskBreakdown => {}
                Mode::RepairState => {
                    start = SampleOrchestration::planned(tasks);
                    start.mark("a", "[P]");
                    start.edit("progress.md", "[P] a", "[?] a");
                }
                Mode::FeedbackAnalysis | Mode::Update | Mode::Rebreakdown => {
                    start = SampleOrchestration::planned(tasks);
                    start.file("iterations/2/feedbacks/x/feedbacks.md", &feedback(2));
                }
                Mode::TimeoutFail => {
                    start = SampleOrchestration::planned(tasks);
                    start.noted("a", "[/]", Some("started: 2026-01-31T10:00:00Z"));
                }
                _ => start = SampleOrchestration::planned(tasks),
            }
            let found = explore(known(start, knows), &bounds);
            // A task that can be split is split before the user has to decide.
            let ends_in_error =
                !matches!(mode, Mode::TaskReview | Mode::TimeoutFail | Mode::RebreakdownTask);
            assert_eq!(found.ends.contains("error"), ends_in_error, "{mode} {:?}", found.ends);
            assert_eq!(found.modes.contains(&mode), mode != Mode::RebreakdownTask, "{mode}");
        }
    }
}

#[test]
fn every_way_of_an_executor_that_vanishes_ends() {
    for &knows in knowledge() {
        let tasks: &[(&str, &[&str])] = &[("a", &[])];
        let bounds =
            Bounds { silent: &[Mode::Execute], careless: true, knows, feedback: false, tasks };
        let start = SampleOrchestration::planned(tasks);
        let start = if knows || !is_full() { once(start) } else { start };
        let found = explore(known(start, knows), &bounds);
        assert!(found.modes.contains(&Mode::TimeoutFail), "{:?}", found.modes);
        assert!(found.modes.contains(&Mode::RebreakdownTask), "{:?}", found.modes);
        assert!(found.states > 100, "{}", found.states);
    }
}

#[test]
fn the_waits_of_the_exploration_are_those_of_the_rules() {
    let mut session = SampleOrchestration::planned(&[("a", &[])]);
    session.noted("a", "[/]", Some("started: 2026-01-31T12:00:00Z"));
    let step = next(&session.seen, now());
    assert!(matches!(step.act, Act::Wait { until: Some(until), .. } if until == later(60)));
}
