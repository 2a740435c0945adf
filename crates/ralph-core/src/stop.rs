//! Decides whether a finished turn may end the loop.
//!
//! The rules are tried in order, and the order matters: a person's wish comes before everything, a
//! request for completion before the bounds, so that work finished on the last iteration is
//! complete and not capped, and the bounds before the stall, so that an ending names its real cause.

mod record;

pub use record::{Outcome, Record};

use crate::contract;
use crate::frozen;
use crate::graph;
use crate::progress::{self, Shown};
use crate::receipt::{Proof, Standing};
use crate::state::{Completion, EndingKind, LoopError, LoopState, PauseCause, Phase, Signal, Turn};
use crate::token::Request;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What the hook saw when the turn wanted to end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// The time.
    pub now: Timestamp,
    /// The client's id of the turn.
    pub prompt_id: String,
    /// What the last text block of the turn says about completion.
    pub request: Request,
    /// Subagents that still run, as the client describes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<String>,
    /// True when a `/ralph…` command that the person typed waits for the turn to end.
    #[serde(default, skip_serializing_if = "is_false")]
    pub command_waits: bool,
    /// Whether the turn called a tool; none where that cannot be known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worked: Option<bool>,
    /// Fingerprint of the tree; none where there is none to be had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// What the checks found that completion was requested for; none if they were not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// Where checks were run: the work outside the tree before them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_before_checks: Option<String>,
    /// Where checks were run: the fingerprint of the tree after them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree_after_checks: Option<String>,
}

/// What of the tasks a stop is decided from. Kept apart from the state, so that the record of a
/// decision does not hold thousands of tasks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Work {
    /// True if there are tasks and all are done.
    pub all_done: bool,
    /// True if a task could be begun now.
    pub is_ready: bool,
    /// One value for all task states and what the checks said.
    pub print: String,
}

/// The answer to a turn that wants to end.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The turn may end; the loop stays as it is.
    LetGo(Why),
    /// The loop is over, and the state says how.
    Ended(EndingKind),
    /// The turn goes on.
    GoOn,
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
    /// A person must do something first; the loop is paused now.
    Blocked,
}

impl Why {
    /// The reason in words, for the journal.
    pub fn describe(self) -> &'static str {
        match self {
            Why::NotLive => "the loop is not live",
            Why::Paused => "the loop is paused",
            Why::WorkersRun => "background subagents are still at work",
            Why::CommandWaits => "a command that the person typed is waiting",
            Why::Blocked => "a person must do something first",
        }
    }
}

impl Verdict {
    /// The verdict in a few words, for the journal and for comparing.
    pub fn describe(&self) -> String {
        match self {
            Verdict::LetGo(why) => format!("let go: {}", why.describe()),
            Verdict::Ended(kind) => format!("ended: {kind}"),
            Verdict::GoOn => "go on".to_owned(),
        }
    }
}

/// What was decided, what the model is told, and from what it was decided.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// The verdict.
    pub verdict: Verdict,
    /// The reason to go on; empty for other verdicts.
    pub says: String,
    /// What it was decided from.
    pub record: Record,
}

/// True when the decision will need the fingerprint of the tree: it costs a child process, so it
/// is taken only then.
pub fn wants_tree(phase: &Phase) -> bool {
    phase.is_running()
}

/// True when the decision will need proof: the checks are run before it.
pub fn wants_proof(state: &LoopState, seen: &Seen) -> bool {
    let asks = state.is_running() && seen.request == Request::Made && needs_proof(state);
    asks && may_rest(state, seen).is_none() && state.blocked.is_none()
}

/// Decides, and writes into the state what the decision changes.
pub fn decide(state: &mut LoopState, seen: &Seen) -> Decision {
    let work = work(state, seen.now);
    let before = record::slim(state, seen.request);
    let verdict = rule(state, &work, seen);
    let outcome = Outcome::of(&verdict, state);
    let record = Record { before, work, seen: seen.clone(), outcome };
    let says = match verdict {
        Verdict::GoOn => contract::next_step(state, seen.request, seen.proof.as_ref(), seen.now),
        _ => String::new(),
    };
    Decision { verdict, says, record }
}

fn work(state: &LoopState, now: Timestamp) -> Work {
    let summary = graph::summary(&state.task_graph, now);
    Work {
        all_done: summary.all_done(),
        is_ready: summary.ready > 0,
        print: progress::print_of_work(state),
    }
}

/// The rules, in their order.
fn rule(state: &mut LoopState, work: &Work, seen: &Seen) -> Verdict {
    if let Some(why) = may_rest(state, seen) {
        if why == Why::WorkersRun {
            state.progress.signal = Signal::Waiting;
        }
        // Nothing is outstanding now: the person's next prompt reveals no interruption.
        state.turn = None;
        return Verdict::LetGo(why);
    }
    if let Some(blocked) = state.blocked.take_if(|_| !work.is_ready) {
        state.pause(PauseCause::BlockedOnHuman, blocked.what, seen.now);
        state.progress.signal = Signal::Blocked;
        return Verdict::LetGo(Why::Blocked);
    }
    // Said too early: there is other work to do, and the loop was told so.
    state.blocked = None;
    if work.all_done && state.phase == Phase::Implementation {
        state.phase = Phase::Verification;
    }
    if let Some((kind, detail)) = completed(state, seen) {
        return end(state, kind, detail, seen.now);
    }
    if let Some((kind, detail)) = used_up(state, seen.now) {
        return end(state, kind, detail, seen.now);
    }
    let shown = Shown {
        work: seen.work_before_checks.as_deref().unwrap_or(&work.print),
        work_after_checks: &work.print,
        tree: seen.tree.as_deref(),
        tree_after_checks: seen.tree_after_checks.as_deref(),
        worked: seen.worked,
        refused: seen.request == Request::Made,
    };
    if let Some(stall) = progress::stalled(state, &shown) {
        let verdict = end(state, EndingKind::Stalled, stall.detail, seen.now);
        if let Some(ending) = &mut state.ending {
            ending.cause = Some(stall.cause);
        }
        return verdict;
    }
    // Counted before the answer is sent: if the reply is lost, a repeated hook must not get a
    // free iteration.
    state.iteration += 1;
    state.turn = Some(Turn::new(seen.prompt_id.clone(), seen.now));
    Verdict::GoOn
}

/// Steps 1 to 4: reasons to let the turn end without a word about the work.
fn may_rest(state: &LoopState, seen: &Seen) -> Option<Why> {
    if !state.is_live() {
        Some(Why::NotLive)
    } else if !state.is_running() {
        Some(Why::Paused)
    } else if seen.command_waits {
        Some(Why::CommandWaits)
    } else if !seen.workers.is_empty() && time_used_up(state, seen.now).is_none() {
        // A worker that hangs must not outlast the loop's time.
        Some(Why::WorkersRun)
    } else {
        None
    }
}

/// True where the token is a request, and not the end itself.
fn needs_proof(state: &LoopState) -> bool {
    state.completion != Completion::Token && !state.acceptance_criteria.is_empty()
}

/// Step 6: the ending that was requested, if it is granted.
fn completed(state: &mut LoopState, seen: &Seen) -> Option<(EndingKind, String)> {
    if seen.request != Request::Made {
        return None;
    }
    if !needs_proof(state) {
        let detail = match state.acceptance_criteria.is_empty() {
            true => "the completion token was given; there was no criterion to prove it by",
            false => "the completion token was given; nothing was verified",
        };
        return Some((EndingKind::CompleteUnverified, detail.to_owned()));
    }
    let proof = seen.proof.as_ref()?;
    for criterion in &mut state.acceptance_criteria {
        criterion.verified = proof.standing(criterion) == Standing::Holds;
    }
    let all_hold = state.acceptance_criteria.iter().all(|criterion| criterion.verified);
    (all_hold && frozen::is_as_frozen(state)).then(|| {
        let detail = match state.acceptance_criteria.len() {
            1 => "the one criterion holds".to_owned(),
            2 => "both criteria hold".to_owned(),
            n => format!("all {n} criteria hold"),
        };
        (EndingKind::Complete, detail)
    })
}

/// Step 7: a bound that is reached.
fn used_up(state: &LoopState, now: Timestamp) -> Option<(EndingKind, String)> {
    if state.iteration >= state.max_iterations {
        let detail = format!("went on {} times, as often as it may", state.iteration);
        return Some((EndingKind::MaxIterations, detail));
    }
    let detail = time_used_up(state, now).or_else(|| tokens_used_up(state))?;
    Some((EndingKind::Budget, detail))
}

/// How much of the loop's time is left.
pub fn time_left(state: &LoopState, now: Timestamp) -> Duration {
    let began = state.started_at.unwrap_or(state.created_at);
    let ran = Duration::try_from(now.duration_since(began)).unwrap_or_default();
    Duration::from_secs(state.limits.max_minutes.saturating_mul(60)).saturating_sub(ran)
}

fn time_used_up(state: &LoopState, now: Timestamp) -> Option<String> {
    let began = state.started_at.unwrap_or(state.created_at);
    // A clock that was set back gives a negative time: nothing is used up then.
    let minutes = u64::try_from(now.duration_since(began).as_mins()).unwrap_or(0);
    let most = state.limits.max_minutes;
    (minutes >= most).then(|| format!("ran for {minutes} of at most {most} minutes"))
}

fn tokens_used_up(state: &LoopState) -> Option<String> {
    let (used, most) = (state.usage.total(), state.limits.max_tokens?);
    (used >= most).then(|| format!("used {used} of at most {most} tokens"))
}

fn end(state: &mut LoopState, kind: EndingKind, detail: String, now: Timestamp) -> Verdict {
    if !matches!(kind, EndingKind::Complete | EndingKind::CompleteUnverified) {
        state.errors.push(LoopError { at: now, message: format!("{kind}: {detail}") });
    }
    state.end(kind.clone(), detail, now);
    Verdict::Ended(kind)
}

fn is_false(flag: &bool) -> bool {
    !flag
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::receipt::{self, Receipt};
    use crate::state::{Blocked, Criterion, Pause, Task, TaskStatus};
    use crate::token;

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

    fn seen(message: &str) -> Seen {
        Seen {
            now: now(),
            prompt_id: "p".to_owned(),
            request: token::request(message, "RALPH_COMPLETE"),
            workers: Vec::new(),
            command_waits: false,
            worked: None,
            tree: Some("tree".to_owned()),
            proof: None,
            work_before_checks: None,
            tree_after_checks: None,
        }
    }

    fn decide(state: &mut LoopState, seen: &Seen) -> String {
        let decision = super::decide(state, seen);
        let again = decision.record.decide_again();
        assert_eq!(again, decision.record.outcome, "what was recorded is decided alike");
        decision.verdict.describe()
    }

    #[track_caller]
    fn check(state: &str, message: &str, expected: &str) {
        assert_eq!(decide(&mut loop_state(state), &seen(message)), expected);
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
            let seen = Seen { tree: Some(format!("tree {n}")), ..seen("x") };
            assert_eq!(decide(&mut state, &seen), "go on");
            assert_eq!(state.iteration, n);
        }
        assert_eq!(decide(&mut state, &seen("x")), "ended: max_iterations");
        assert_eq!(state.errors.len(), 1);
        assert_eq!(state.ending.unwrap().kind, EndingKind::MaxIterations);
    }

    #[test]
    fn waiting_for_workers_costs_no_iteration() {
        let mut state = loop_state("implementation 3/5");
        let seen = Seen { workers: vec!["w".to_owned()], ..seen("RALPH_COMPLETE") };
        let verdict = decide(&mut state, &seen);
        assert_eq!(verdict, "let go: background subagents are still at work");
        assert_eq!((state.iteration, state.stall_hashes.len()), (3, 0));
        assert_eq!(state.turn, None);
    }

    #[test]
    fn a_waiting_command_of_the_person_comes_first() {
        let mut state = loop_state("implementation 3/5");
        let seen = Seen { command_waits: true, workers: vec!["w".to_owned()], ..seen("x") };
        assert_eq!(
            (decide(&mut state, &seen)),
            "let go: a command that the person typed is waiting"
        );
        assert_eq!(state.iteration, 3);
    }

    #[test]
    fn time_that_is_used_up_ends_the_loop_and_a_clock_set_back_does_not() {
        let mut state = loop_state("implementation 3/5");
        state.limits.max_minutes = 10;
        let at = |time: &str| Seen { now: time.parse().unwrap(), ..seen("x") };
        assert_eq!(decide(&mut state.clone(), &at("2026-01-01T00:09:59Z")), "go on");
        assert_eq!(decide(&mut state.clone(), &at("2020-01-01T00:00:00Z")), "go on");
        assert_eq!(decide(&mut state, &at("2026-01-01T00:10:00Z")), "ended: budget");
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
        let verdict = decide(&mut state, &seen(""));
        assert_eq!(verdict, "go on");
    }

    /// A loop with one criterion, whose receipt was taken on the tree `t`.
    fn proven(receipt: Receipt) -> LoopState {
        let mut criterion = Criterion {
            id: "AC-1".to_owned(),
            verification_command: "cargo test".to_owned(),
            ..Criterion::default()
        };
        let tree = || "t".to_owned();
        let command = "cargo test".to_owned();
        let receipt = Receipt { command, tree_before: tree(), tree_after: tree(), ..receipt };
        receipt::record(&mut criterion, receipt);
        LoopState { acceptance_criteria: vec![criterion], ..loop_state("implementation 3/5") }
    }

    fn request_on(tree: &str) -> Seen {
        let trees = [("AC-1".to_owned(), tree.to_owned())].into();
        let proof = Some(Proof { trees, ran: false, ..Proof::default() });
        Seen { proof, ..seen("RALPH_COMPLETE") }
    }

    fn green() -> Receipt {
        Receipt { passed: true, exit_code: Some(0), ..Receipt::default() }
    }

    #[test]
    fn a_request_is_granted_when_every_criterion_holds_on_this_tree() {
        assert_eq!(decide(&mut proven(green()), &request_on("t")), "ended: complete");
        assert_eq!(decide(&mut proven(green()), &request_on("edited")), "go on");
        assert_eq!(decide(&mut proven(Receipt::default()), &request_on("t")), "go on");
        let unchecked = Seen { proof: None, ..request_on("t") };
        assert_eq!(decide(&mut proven(green()), &unchecked), "go on", "nothing was looked at");
    }

    #[test]
    fn a_green_check_without_a_request_never_ends_a_loop() {
        let silent = Seen { request: Request::None, ..request_on("t") };
        assert_eq!(decide(&mut proven(green()), &silent), "go on");
    }

    #[test]
    fn verified_set_by_hand_counts_for_nothing() {
        let mut state = proven(green());
        state.acceptance_criteria[0].receipt = None;
        state.acceptance_criteria[0].verified = true;
        assert_eq!(decide(&mut state, &request_on("t")), "go on");
        assert!(!state.acceptance_criteria[0].verified);
    }

    #[test]
    fn criteria_that_were_changed_after_the_start_end_nothing() {
        let mut state = proven(green());
        frozen::freeze(&mut state, Vec::new(), now());
        state.acceptance_criteria[0].description = "easier".to_owned();
        assert_eq!(decide(&mut state, &request_on("t")), "go on");
        frozen::freeze(&mut state, Vec::new(), now());
        assert_eq!(decide(&mut state, &request_on("t")), "ended: complete");
    }

    #[test]
    fn a_request_on_the_last_iteration_is_complete_or_capped() {
        let last = |receipt| LoopState { iteration: 5, ..proven(receipt) };
        assert_eq!(decide(&mut last(green()), &request_on("t")), "ended: complete");
        assert_eq!(
            decide(&mut last(Receipt::default()), &request_on("t")),
            "ended: max_iterations"
        );
    }

    #[test]
    fn the_rule_of_the_token_and_a_loop_without_criteria_end_unverified() {
        let mut state = LoopState { completion: Completion::Token, ..proven(Receipt::default()) };
        assert_eq!(decide(&mut state, &request_on("t")), "ended: complete_unverified");
        check("implementation 3/5", "RALPH_COMPLETE", "ended: complete_unverified");
    }

    #[test]
    fn proof_is_asked_for_only_where_it_can_decide() {
        let asks = |state: &LoopState, seen: &Seen| wants_proof(state, seen);
        assert!(asks(&proven(green()), &seen("RALPH_COMPLETE")));
        assert!(!asks(&proven(green()), &seen("working")));
        assert!(!asks(&loop_state("implementation 3/5"), &seen("RALPH_COMPLETE")));
        assert!(!asks(&loop_state("paused 3/5"), &seen("RALPH_COMPLETE")));
        let waiting = Seen { workers: vec!["w".to_owned()], ..seen("RALPH_COMPLETE") };
        assert!(!asks(&proven(green()), &waiting));
    }

    #[test]
    fn a_loop_that_needs_a_person_rests_and_says_for_what() {
        let mut state = loop_state("implementation 3/5");
        state.blocked = Some(Blocked { what: "give me a key".to_owned(), at: now() });
        assert_eq!(decide(&mut state, &seen("x")), "let go: a person must do something first");
        let pause = state.pause.unwrap();
        assert_eq!(
            (pause.cause, pause.detail.as_str()),
            (PauseCause::BlockedOnHuman, "give me a key")
        );
        assert_eq!((state.iteration, state.blocked), (3, None));
    }

    #[test]
    fn while_another_task_is_ready_nothing_is_blocked() {
        let mut state = loop_state("implementation 3/5");
        state.blocked = Some(Blocked { what: "x".to_owned(), at: now() });
        state.task_graph = vec![Task::default()];
        assert_eq!(decide(&mut state, &seen("x")), "go on");
        assert_eq!(state.blocked, None);
    }

    #[test]
    fn waiting_does_not_outlast_the_loops_time() {
        let mut state = loop_state("implementation 3/5");
        state.limits.max_minutes = 10;
        let late = Seen { now: "2026-01-01T00:10:00Z".parse().unwrap(), ..seen("x") };
        let waiting = Seen { workers: vec!["w".to_owned()], ..late };
        assert_eq!(decide(&mut state, &waiting), "ended: budget");
    }

    #[test]
    fn tokens_that_are_used_up_end_the_loop() {
        let mut state = loop_state("implementation 3/5");
        state.limits.max_tokens = Some(100);
        state.usage.tokens.input = 99;
        assert_eq!(decide(&mut state.clone(), &seen("x")), "go on");
        state.usage.tokens.input = 100;
        assert_eq!(decide(&mut state, &seen("x")), "ended: budget");
        assert!(state.ending.unwrap().detail.contains("100 of at most 100 tokens"));
    }

    #[test]
    fn a_stall_names_its_cause() {
        let mut state = loop_state("implementation 0/25");
        let outcome = (0..4).map(|_| decide(&mut state, &seen("x"))).last();
        assert_eq!(outcome.as_deref(), Some("ended: stalled"));
        assert_eq!(state.ending.unwrap().cause, Some(Signal::NoChange));
    }

    #[test]
    fn a_refusal_is_told_and_counts_as_an_iteration() {
        let mut state = proven(Receipt::default());
        let decision = super::decide(&mut state, &request_on("t"));
        assert!(decision.says.starts_with("Completion was requested and is refused"));
        assert!(decision.says.ends_with("Ralph looks at the receipts and not at the word."));
        assert_eq!(state.iteration, 4);
    }

    #[test]
    fn the_record_leaves_the_bulk_out_and_the_state_whole() {
        let mut state = LoopState {
            task_graph: vec![Task::default(); 100],
            prompt: "goal".to_owned(),
            ..loop_state("implementation 3/5")
        };
        let record = super::decide(&mut state, &seen("x")).record;
        assert!(record.before.task_graph.is_empty() && record.before.prompt.is_empty());
        assert_eq!((state.task_graph.len(), state.prompt.as_str()), (100, "goal"));
        assert!(serde_json::to_string(&record).unwrap().len() < 3000);
    }
}
