//! Explores every course of a small orchestration whose calls run in parallel.
//!
//! The caller knows which calls are in progress, and may ask the router at any time: while agents
//! work, after they have written but before their calls end, after a call has ended, and after each
//! message from the user.

use super::super::super::signal::{self, SignalKeyword};
use super::*;
use crate::modes::orchestration::invocation::{CallKey, Running};

#[derive(Clone)]
struct Node {
    seen: Snapshot,
    /// The calls in progress; true if the agent has written everything.
    at_work: Vec<(Invocation, bool)>,
    now: Timestamp,
    /// How many of the user's messages have been sent.
    said: usize,
}

struct Scene {
    bounds: Bounds,
    /// The user's messages, sent in this order at any time.
    says: &'static [&'static str],
    most_executors: usize,
}

#[derive(Default)]
struct Found {
    states: usize,
    ends: BTreeSet<&'static str>,
    together: usize,
}

fn go(start: SampleOrchestration, scene: &Scene) -> Found {
    let mut found = Found::default();
    let mut seen: HashMap<String, bool> = HashMap::new();
    let mut first = start.seen;
    first.running = Some(Vec::new());
    let first = Node { seen: first, at_work: Vec::new(), now: now(), said: 0 };
    let mut stack = vec![(first, None::<String>)];
    while let Some((node, left)) = stack.pop() {
        if let Some(key) = left {
            seen.insert(key, true);
            continue;
        }
        let key = key_of(&node);
        match seen.get(&key) {
            Some(true) => continue,
            Some(false) => panic!("a session goes round in a circle:\n{key}"),
            None => {}
        }
        seen.insert(key.clone(), false);
        found.states += 1;
        assert!(found.states < 60_000, "more than it is worth");
        stack.push((node.clone(), Some(key)));
        stack.extend(ways(&node, scene, &mut found).into_iter().map(|node| (node, None)));
    }
    found
}

fn key_of(node: &Node) -> String {
    let at_work: Vec<_> = node.at_work.iter().map(|(call, wrote)| (&call.key, wrote)).collect();
    format!("{}{at_work:?}{}{}", key(&node.seen), node.now, node.said)
}

fn ways(node: &Node, scene: &Scene, found: &mut Found) -> Vec<Node> {
    let step = next(&node.seen, node.now);
    let after = step.after.clone();
    hold(&node.seen, &after, &step, &scene.bounds);
    if signal::find_hold(&node.seen.signals).is_some() {
        assert!(!matches!(step.act, Act::Invoke(_) | Act::Wait { .. }), "{}", step.act);
    }
    if !scene.says.is_empty() {
        asking_changes_nothing(node, &after, &step);
    }
    let asked = node;
    let mut node = Node { seen: after, ..node.clone() };
    let mut ways = Vec::new();
    if let Some(text) = scene.says.get(node.said)
        && !step.act.is_end()
    {
        let mut heard = node.clone();
        heard.seen.signals.push(UnheardSignal::read(&format!("{}", node.said), text));
        heard.said += 1;
        ways.push(heard);
    }
    match step.act {
        Act::Invoke(ref calls) => {
            // Make all calls in one message, or make one and ask again.
            ways.push(made(asked, &step, calls, scene, found));
            if calls.len() > 1 && !scene.says.is_empty() {
                ways.push(made(asked, &step, &calls[..1], scene, found));
            }
            return ways;
        }
        Act::Wait { until, .. } if node.at_work.is_empty() => {
            let until = until.expect("nobody is at work, and nothing would ever happen");
            node.now = until + SignedDuration::from_secs(1);
            ways.push(node);
            return ways;
        }
        Act::Wait { .. } => {}
        Act::Paused(_) => {
            let speaks = !ways.is_empty() || !node.at_work.is_empty();
            if !speaks {
                found.ends.insert("paused");
                assert_eq!(words_left(&node.seen, &step), 0, "the PAUSE is used up once it rests");
            }
        }
        ref end => {
            found.ends.insert(match end {
                Act::Complete => "complete",
                Act::AwaitingFeedback(_) => "awaiting feedback",
                Act::Stopped(_) => "stopped",
                _ => "error",
            });
            assert_eq!(
                words_left(&node.seen, &step),
                0,
                "it has ended, and nothing holds what follows"
            );
            // The running calls end, and the router is not asked again.
            return ways;
        }
    }
    ways.extend(each_goes_on(&node, scene));
    ways
}

/// Asking changes nothing: the user's files and the signals stay as they are, and the answer stays
/// the same, even after the changes before the calls are written.
fn asking_changes_nothing(node: &Node, after: &Snapshot, step: &MachineStep) {
    assert_eq!(after.signals, node.seen.signals, "{}", step.act);
    assert_eq!(next(&node.seen, node.now), *step);
    let again = next(after, node.now);
    assert_eq!((&again.act, &again.heard), (&step.act, &step.heard));
}

/// How many PAUSE and STOP signals remain once the step has taken effect.
fn words_left(seen: &Snapshot, step: &MachineStep) -> usize {
    let left = seen.signals.iter().filter(|signal| !step.heard.contains(&signal.name));
    let ended = signal::find_hold(&left.cloned().collect::<Vec<UnheardSignal>>());
    ended.map_or(0, |held| held.names.len())
}

/// The orchestration after these calls have been made. Only the last call that carries a signal
/// uses it up.
fn made(
    node: &Node,
    step: &MachineStep,
    calls: &[Invocation],
    scene: &Scene,
    found: &mut Found,
) -> Node {
    let seen = step.made(calls, node.now);
    for signal in node.seen.signals.iter().filter(|signal| !seen.signals.contains(signal)) {
        let said = format!("{}: {}", signal.word.as_str(), signal.text);
        let is_told = |call: &Invocation| call.input("SIGNAL").is_some_and(|it| it.contains(&said));
        let is_over = signal.word == SignalKeyword::Pause;
        assert!(is_over || calls.iter().any(is_told), "{said} is used up, and nobody was told");
    }
    let mut next_node = Node { seen, ..node.clone() };
    begin(&mut next_node, calls, scene, found);
    if !scene.says.is_empty() && calls.iter().any(Invocation::carries_a_signal) {
        let is_owed = match next(&next_node.seen, node.now).act {
            Act::Invoke(left) => left.iter().any(Invocation::carries_a_signal),
            _ => false,
        };
        let waits =
            step.heard.iter().any(|name| next_node.seen.signals.iter().any(|it| it.name == *name));
        assert_eq!(waits, is_owed, "{:?}", step.heard);
    }
    next_node
}

fn begin(node: &mut Node, calls: &[Invocation], scene: &Scene, found: &mut Found) {
    for call in calls.iter().cloned() {
        let key = &call.key;
        assert!(node.at_work.iter().all(|(other, _)| other.key != *key), "{key:?} is made twice");
        if call.mode == Mode::Execute {
            let others = node.at_work.iter().filter(|(other, _)| other.key.task == key.task);
            assert_eq!(others.count(), 0, "{key:?} while somebody works on it");
        }
        node.at_work.push((call, false));
    }
    let of =
        |holds: fn(Mode) -> bool| node.at_work.iter().filter(|(call, _)| holds(call.mode)).count();
    let executors = of(|mode| mode == Mode::Execute);
    assert!(executors <= scene.most_executors, "{executors} at once");
    found.together = found.together.max(executors);
    let alone = of(|mode| {
        !matches!(
            mode,
            Mode::Execute | Mode::TaskReview | Mode::TimeoutFail | Mode::RebreakdownTask
        )
    });
    assert!(alone == 0 || node.at_work.len() == 1, "who works alone does so");
    let reviewers = of(|mode| mode == Mode::TaskReview);
    assert!(reviewers == 0 || executors == 0, "a batch is judged once all of it is there");
    note(node);
}

/// Records the calls in progress, as the caller knows them.
fn note(node: &mut Node) {
    let since = node.now;
    let running = node.at_work.iter().map(|(call, _)| Running { key: call.key.clone(), since });
    node.seen.running = Some(running.collect());
}

/// Each running call writes, or ends if it has already written. In a smaller exploration they write in their
/// order, and only the first may vanish.
fn each_goes_on(node: &Node, scene: &Scene) -> Vec<Node> {
    let mut ways = Vec::new();
    for (at, (call, wrote)) in node.at_work.iter().enumerate() {
        if !wrote && (is_full() || node.at_work[..at].iter().all(|(_, wrote)| *wrote)) {
            for result in results(&node.seen, call, &scene.bounds) {
                let mut next = Node { seen: result, ..node.clone() };
                next.at_work[at].1 = true;
                ways.push(next);
            }
        }
        let may_vanish = is_full() || at == 0;
        if *wrote || may_vanish && scene.bounds.silent.contains(&call.mode) {
            let mut next = node.clone();
            let (call, _) = next.at_work.remove(at);
            next.seen.close(&call, next.now);
            note(&mut next);
            ways.push(next);
        }
    }
    ways
}

fn two_at_once(mut session: SampleOrchestration, retries: u32) -> SampleOrchestration {
    let text = format!("- max_parallel_executors: 2\n- max_subagent_retries: {retries}\n");
    session.seen.instructions = Some(text);
    session
}

#[test]
fn a_wave_of_three_is_carried_out_by_two_and_judged_together() {
    let tasks: &[(&str, &[&str])] = &[("a", &[]), ("b", &[]), ("c", &[])];
    let bounds = Bounds { silent: &[], careless: false, knows: true, feedback: false, tasks };
    let scene = Scene { bounds, says: &[], most_executors: 2 };
    let found = go(two_at_once(SampleOrchestration::planned(tasks), 0), &scene);
    assert_eq!(found.ends, BTreeSet::from(["complete"]));
    assert_eq!(found.together, 2, "the limit is used");
    assert!(found.states > 100, "{}", found.states);
}

#[test]
fn what_fails_in_company_is_tried_again_and_then_for_a_person() {
    let tasks: &[(&str, &[&str])] = &[("a", &[]), ("b", &[]), ("c", &["a"])];
    let tasks = &tasks[..if is_full() { 3 } else { 2 }];
    let bounds = Bounds { silent: &[], careless: true, knows: true, feedback: false, tasks };
    let scene = Scene { bounds, says: &[], most_executors: 2 };
    let found = go(two_at_once(SampleOrchestration::planned(tasks), 0), &scene);
    assert_eq!(found.ends, BTreeSet::from(["awaiting feedback", "complete"]));
    assert!(found.states > 300, "{}", found.states);
}

#[test]
fn an_executor_that_vanishes_beside_another_is_replaced() {
    let tasks: &[(&str, &[&str])] = &[("a", &[]), ("b", &[])];
    let bounds =
        Bounds { silent: &[Mode::Execute], careless: false, knows: true, feedback: false, tasks };
    let scene = Scene { bounds, says: &[], most_executors: 2 };
    let mut start = two_at_once(SampleOrchestration::planned(tasks), 0);
    let n_failed = if is_full() { [3, 3] } else { [4, 5] };
    for (task, n_failed) in ["a", "b"].into_iter().zip(n_failed) {
        // After three failures, one more leaves a last retry, and a second one gives the call up.
        let key = CallKey { mode: Mode::Execute, task: task.to_owned(), iteration: 1, cycle: 0 };
        start.seen.tries.entry(&key, now()).failures = n_failed;
    }
    let found = go(start, &scene);
    assert!(found.ends.contains("complete"), "{:?}", found.ends);
    assert!(found.states > 100, "{}", found.states);
}

#[test]
fn whenever_the_person_speaks_the_session_goes_on_or_ends() {
    let tasks: &[(&str, &[&str])] = &[("a", &[]), ("b", &["a"])];
    let says: [(&[&str], &[&str]); 4] = [
        (&["STEER: oak", "INFO: paint"], &["complete"]),
        (&["PAUSE", "INFO: go on"], &["complete"]),
        (&["PAUSE"], &["complete", "paused"]),
        (&["PAUSE", "STOP: enough"], &["complete", "stopped"]),
    ];
    for (says, ends) in says.into_iter().skip(if is_full() { 0 } else { 2 }) {
        let bounds = Bounds { silent: &[], careless: false, knows: true, feedback: false, tasks };
        let says: &'static [&'static str] = Box::leak(says.to_vec().into_boxed_slice());
        assert!(says.iter().all(|text| UnheardSignal::read("", text).word != SignalKeyword::Info
            || text.starts_with("INFO")));
        let scene = Scene { bounds, says, most_executors: 2 };
        let found = go(two_at_once(SampleOrchestration::planned(tasks), 0), &scene);
        assert_eq!(found.ends, BTreeSet::from_iter(ends.iter().copied()), "{says:?}");
    }
}

#[test]
fn whatever_is_said_while_a_batch_is_called_one_by_one_reaches_each_call_and_is_used_up_once() {
    let tasks: &[(&str, &[&str])] = &[("a", &[]), ("b", &[])];
    let says: [(&'static [&'static str], &[&str]); 3] = [
        (&["STEER: oak"], &["complete"]),
        (&["STEER: oak", "STOP: enough"], &["complete", "stopped"]),
        (&["PAUSE", "STEER: oak"], &["complete"]),
    ];
    for (says, ends) in says.into_iter().take(if is_full() { 3 } else { 1 }) {
        let bounds = Bounds { silent: &[], careless: false, knows: true, feedback: false, tasks };
        let scene = Scene { bounds, says, most_executors: 2 };
        let found = go(two_at_once(SampleOrchestration::planned(tasks), 0), &scene);
        assert_eq!(found.ends, BTreeSet::from_iter(ends.iter().copied()), "{says:?}");
    }
}
