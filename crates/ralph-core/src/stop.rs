//! Decides whether a finished turn may end the loop.
//!
//! The rules are tried in order, and the order matters: a person's wish comes before everything, a
//! request for completion before the bounds, so that work finished on the last iteration is
//! complete and not capped, and the bounds before the stall, so that an ending names its real cause.

use crate::contract;
use crate::progress;
use crate::state::{EndingKind, LoopError, LoopState, Phase, TaskStatus, Turn};
use crate::token::{self, Request};
use jiff::Timestamp;

/// What the hook saw when the turn wanted to end.
#[derive(Debug, Clone)]
pub struct Seen<'a> {
    /// The time.
    pub now: Timestamp,
    /// The client's id of the turn.
    pub prompt_id: &'a str,
    /// The last text block of the turn, if it ended with one.
    pub message: Option<&'a str>,
    /// Subagents that still run, as the client describes them.
    pub workers: Vec<String>,
    /// True when a `/ralph…` command that the person typed waits for the turn to end.
    pub command_waits: bool,
    /// Fingerprint of the tree; none where there is none to be had.
    pub tree: Option<&'a str>,
}

/// The answer to a turn that wants to end.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The turn may end; the loop stays as it is.
    LetGo(Why),
    /// The loop is over, and the state says how.
    Ended(EndingKind),
    /// The turn goes on with this reason for the model.
    GoOn(String),
}

/// Why a turn may end although the loop has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The loop was never started, or is over.
    NotLive,
    /// The loop is paused.
    Paused,
    /// Background subagents run; the client wakes the model when they finish.
    WorkersRun,
    /// A command that the person typed waits.
    CommandWaits,
}

impl Why {
    /// The reason in words, for the journal.
    pub fn describe(self) -> &'static str {
        match self {
            Why::NotLive => "the loop is not live",
            Why::Paused => "the loop is paused",
            Why::WorkersRun => "background subagents are still at work",
            Why::CommandWaits => "a command that the person typed is waiting",
        }
    }
}

/// True when the decision will need the fingerprint of the tree: it costs a child process, so it
/// is taken only then.
pub fn wants_tree(phase: &Phase) -> bool {
    phase.is_running()
}

/// Decides, and writes into the state what the decision changes.
pub fn decide(state: &mut LoopState, seen: &Seen<'_>) -> Verdict {
    if let Some(why) = may_rest(state, seen) {
        // Nothing is outstanding now: the person's next prompt reveals no interruption.
        state.turn = None;
        return Verdict::LetGo(why);
    }
    if all_tasks_done(state) && state.phase == Phase::Implementation {
        state.phase = Phase::Verification;
    }
    let request =
        seen.message.map_or(Request::None, |m| token::request(m, &state.completion_token));
    if request == Request::Made {
        let detail = "the completion token was given; nothing was verified";
        return end(state, EndingKind::CompleteUnverified, detail.to_owned(), seen.now);
    }
    if let Some((kind, detail)) = used_up(state, seen.now) {
        return end(state, kind, detail, seen.now);
    }
    if let Some(detail) = progress::stalled(state, seen.tree) {
        return end(state, EndingKind::Stalled, detail, seen.now);
    }
    go_on(state, seen, request)
}

/// Steps 1 to 4: reasons to let the turn end without a word about the work.
fn may_rest(state: &LoopState, seen: &Seen<'_>) -> Option<Why> {
    if !state.is_live() {
        Some(Why::NotLive)
    } else if !state.is_running() {
        Some(Why::Paused)
    } else if seen.command_waits {
        Some(Why::CommandWaits)
    } else if !seen.workers.is_empty() {
        Some(Why::WorkersRun)
    } else {
        None
    }
}

fn all_tasks_done(state: &LoopState) -> bool {
    !state.task_graph.is_empty()
        && state.task_graph.iter().all(|task| task.status == TaskStatus::Done)
}

/// Step 7: a bound that is reached.
fn used_up(state: &LoopState, now: Timestamp) -> Option<(EndingKind, String)> {
    if state.iteration >= state.max_iterations {
        let detail = format!("went on {} times, as often as it may", state.iteration);
        return Some((EndingKind::MaxIterations, detail));
    }
    let began = state.started_at.unwrap_or(state.created_at);
    // A clock that was set back gives a negative time: nothing is used up then.
    let minutes = u64::try_from(now.duration_since(began).as_mins()).unwrap_or(0);
    (minutes >= state.limits.max_minutes).then(|| {
        let detail = format!("ran for {minutes} of at most {} minutes", state.limits.max_minutes);
        (EndingKind::Budget, detail)
    })
}

fn end(state: &mut LoopState, kind: EndingKind, detail: String, now: Timestamp) -> Verdict {
    if kind != EndingKind::CompleteUnverified {
        state.errors.push(LoopError { at: now, message: format!("{kind}: {detail}") });
    }
    state.end(kind.clone(), detail, now);
    Verdict::Ended(kind)
}

/// Step 9.
fn go_on(state: &mut LoopState, seen: &Seen<'_>, request: Request) -> Verdict {
    // Counted before the answer is sent: if the reply is lost, a repeated hook must not get a
    // free iteration.
    state.iteration += 1;
    state.turn = Some(Turn::new(seen.prompt_id, seen.now));
    Verdict::GoOn(contract::next_step(state, request, seen.now))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{Pause, PauseCause, Task};

    fn now() -> Timestamp {
        "2026-01-01T00:00:00Z".parse().unwrap()
    }

    /// A loop from a short description: `implementation 3/25`.
    fn loop_state(description: &str) -> LoopState {
        let (phase, position) = description.split_once(' ').unwrap();
        let (iteration, max_iterations) = position.split_once('/').unwrap();
        let mut state = LoopState {
            iteration: iteration.parse().unwrap(),
            max_iterations: max_iterations.parse().unwrap(),
            phase: phase.to_owned().into(),
            created_at: now(),
            started_at: Some(now()),
            ..LoopState::default()
        };
        if state.phase == Phase::Paused {
            let cause = PauseCause::Person;
            state.pause = Some(Pause { cause, at: now(), detail: String::new(), told: false });
        }
        state
    }

    fn seen(message: &str) -> Seen<'_> {
        Seen {
            now: now(),
            prompt_id: "p",
            message: Some(message),
            workers: Vec::new(),
            command_waits: false,
            tree: Some("tree"),
        }
    }

    fn summary(verdict: &Verdict) -> String {
        match verdict {
            Verdict::LetGo(why) => format!("let go: {}", why.describe()),
            Verdict::Ended(kind) => format!("ended: {kind}"),
            Verdict::GoOn(_) => "go on".to_owned(),
        }
    }

    #[track_caller]
    fn check(state: &str, message: &str, expected: &str) {
        let verdict = decide(&mut loop_state(state), &seen(message));
        assert_eq!(summary(&verdict), expected);
    }

    #[test]
    fn a_loop_that_is_not_live_lets_go() {
        check("planned 0/5", "RALPH_COMPLETE", "let go: the loop is not live");
        check("ended 0/5", "x", "let go: the loop is not live");
        check("hibernating 0/5", "x", "let go: the loop is not live");
    }

    #[test]
    fn a_paused_loop_lets_go_even_of_the_token() {
        check("paused 3/5", "RALPH_COMPLETE", "let go: the loop is paused");
    }

    #[test]
    fn a_running_loop_goes_on() {
        check("implementation 3/5", "still going", "go on");
        check("verification 0/5", "still going", "go on");
    }

    #[test]
    fn the_token_ends_the_loop() {
        check("implementation 3/5", "done\nRALPH_COMPLETE", "ended: complete_unverified");
        check("implementation 3/5", "I will say RALPH_COMPLETE soon", "go on");
    }

    #[test]
    fn completion_wins_over_the_iteration_limit() {
        check("implementation 5/5", "RALPH_COMPLETE", "ended: complete_unverified");
    }

    #[test]
    fn the_loop_goes_on_exactly_as_often_as_it_may() {
        let mut state = loop_state("implementation 0/5");
        for n in 1..=5 {
            let tree = format!("tree {n}");
            let seen = Seen { tree: Some(&tree), ..seen("x") };
            assert_eq!(summary(&decide(&mut state, &seen)), "go on");
            assert_eq!(state.iteration, n);
        }
        assert_eq!(summary(&decide(&mut state, &seen("x"))), "ended: max_iterations");
        assert_eq!(state.errors.len(), 1);
        assert_eq!(state.ending.unwrap().kind, EndingKind::MaxIterations);
    }

    #[test]
    fn waiting_for_workers_costs_no_iteration() {
        let mut state = loop_state("implementation 3/5");
        let seen = Seen { workers: vec!["w".to_owned()], ..seen("RALPH_COMPLETE") };
        let verdict = decide(&mut state, &seen);
        assert_eq!(summary(&verdict), "let go: background subagents are still at work");
        assert_eq!((state.iteration, state.stall_hashes.len()), (3, 0));
        assert_eq!(state.turn, None);
    }

    #[test]
    fn a_waiting_command_of_the_person_comes_first() {
        let mut state = loop_state("implementation 3/5");
        let seen = Seen { command_waits: true, workers: vec!["w".to_owned()], ..seen("x") };
        assert_eq!(
            summary(&decide(&mut state, &seen)),
            "let go: a command that the person typed is waiting"
        );
        assert_eq!(state.iteration, 3);
    }

    #[test]
    fn time_that_is_used_up_ends_the_loop_and_a_clock_set_back_does_not() {
        let mut state = loop_state("implementation 3/5");
        state.limits.max_minutes = 10;
        let at = |time: &str| Seen { now: time.parse().unwrap(), ..seen("x") };
        assert_eq!(summary(&decide(&mut state.clone(), &at("2026-01-01T00:09:59Z"))), "go on");
        assert_eq!(summary(&decide(&mut state.clone(), &at("2020-01-01T00:00:00Z"))), "go on");
        assert_eq!(summary(&decide(&mut state, &at("2026-01-01T00:10:00Z"))), "ended: budget");
    }

    #[test]
    fn the_phase_moves_to_verification_when_all_tasks_are_done() {
        let mut state = loop_state("implementation 3/5");
        state.task_graph = vec![Task { status: TaskStatus::Done, ..Task::default() }];
        decide(&mut state, &seen("x"));
        assert_eq!(state.phase, Phase::Verification);
    }

    #[test]
    fn a_turn_without_text_goes_on() {
        let mut state = loop_state("implementation 3/5");
        let verdict = decide(&mut state, &Seen { message: None, ..seen("") });
        assert_eq!(summary(&verdict), "go on");
    }
}
