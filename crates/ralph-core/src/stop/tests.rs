//! The stop decision, rule by rule, for loops built from a short description.

use super::*;
use crate::evidence::receipt;
use crate::modes::mode;
use crate::state::{
    Blocked, Bound, BuildRound, Criterion, CriterionRunner, ModeState, Pause, RalplanState,
    Receipt, Source, Task, TaskStatus, Usage,
};
use crate::text::token;

fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

/// Builds a loop from a short description: `implementation 3/25`.
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
        state.pause = Some(Pause { cause, at: now(), detail: String::new(), ..Pause::default() });
    }
    state
}

fn seen(message: &str) -> StopInputs {
    StopInputs {
        now: now(),
        prompt_id: "p".to_owned(),
        request: token::request(message, "RALPH_COMPLETE"),
        tree: Some("tree".to_owned()),
        ..StopInputs::default()
    }
}

fn plain() -> &'static dyn AtStop {
    mode::rules(&ModeState::Plain)
}

fn decide(state: &mut LoopState, seen: &StopInputs) -> String {
    let decision = super::decide(mode::at_stop(state), state, seen);
    let again = decision.record.decide_again(plain());
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
        let seen = StopInputs { tree: Some(format!("tree {n}")), ..seen("x") };
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
    let seen = StopInputs { workers: vec!["w".to_owned()], ..seen("RALPH_COMPLETE") };
    let verdict = decide(&mut state, &seen);
    assert_eq!(verdict, "let go: background subagents are still at work");
    assert_eq!((state.iteration, state.stall_hashes.len()), (3, 0));
    assert_eq!((state.turn, state.progress.signal), (None, Signal::Waiting));
}

#[test]
fn a_waiting_command_of_the_person_comes_first() {
    let mut state = loop_state("implementation 3/5");
    let seen = StopInputs { command_waits: true, workers: vec!["w".to_owned()], ..seen("x") };
    assert_eq!((decide(&mut state, &seen)), "let go: a command that the person typed is waiting");
    assert_eq!(state.iteration, 3);
}

#[test]
fn time_that_is_used_up_ends_the_loop_and_a_clock_set_back_does_not() {
    let mut state = loop_state("implementation 3/5");
    state.limits.max_minutes = 10;
    let at = |time: &str| StopInputs { now: time.parse().unwrap(), ..seen("x") };
    assert_eq!(decide(&mut state.clone(), &at("2026-01-01T00:09:59Z")), "go on");
    assert_eq!(decide(&mut state.clone(), &at("2020-01-01T00:00:00Z")), "go on");
    assert_eq!(decide(&mut state, &at("2026-01-01T00:10:00Z")), "ended: budget");
}

#[test]
fn the_time_left_is_what_the_loop_has_not_used_and_never_less_than_none() {
    let mut state = loop_state("implementation 3/5");
    state.limits.max_minutes = 10;
    let left = |state: &LoopState, time: &str| time_left(state, time.parse().unwrap()).as_secs();
    assert_eq!(left(&state, "2026-01-01T00:09:59Z"), 1);
    assert_eq!(left(&state, "2026-01-01T00:10:00Z"), 0);
    assert_eq!(left(&state, "2027-01-01T00:00:00Z"), 0);
    assert_eq!(left(&state, "2020-01-01T00:00:00Z"), 600, "the clock was set back");
    state.started_at = None;
    assert_eq!(left(&state, "2026-01-01T00:04:00Z"), 360, "never started: since it was made");
}

#[test]
fn the_phase_moves_to_verification_when_all_tasks_are_done() {
    let mut state = loop_state("implementation 3/5");
    state.task_graph = vec![Task { status: TaskStatus::Done, ..Task::default() }].into();
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
    let by = CriterionRunner::Hook;
    let receipt = Receipt { command, tree_before: tree(), tree_after: tree(), by, ..receipt };
    receipt::record(&mut criterion, receipt);
    LoopState { acceptance_criteria: vec![criterion], ..loop_state("implementation 3/5") }
}

fn request_on(tree: &str) -> StopInputs {
    let trees = [("AC-1".to_owned(), tree.to_owned())].into();
    let proof = Some(Proof { trees, ran: false, ..Proof::default() });
    StopInputs { proof, ..seen("RALPH_COMPLETE") }
}

#[test]
fn unfinished_observations_count_no_turn_and_pass_no_limit() {
    let mut request = request_on("t");
    if let Some(proof) = &mut request.proof {
        proof.unfinished = "0 of 1 criterion checked; ask again".to_owned();
    }
    let mut state = proven(green());
    assert_eq!(decide(&mut state, &request), "go on");
    assert_eq!(state.iteration, 3, "Ralph's own work is no turn");
    state.limits.max_minutes = 10;
    request.now = "2026-01-01T00:10:00Z".parse().unwrap();
    assert_eq!(decide(&mut state, &request), "ended: budget");
}

fn green() -> Receipt {
    Receipt { passed: true, exit_code: Some(0), ..Receipt::default() }
}

#[test]
fn a_request_is_granted_when_every_criterion_holds_on_this_tree() {
    assert_eq!(decide(&mut proven(green()), &request_on("t")), "ended: complete");
    assert_eq!(decide(&mut proven(green()), &request_on("edited")), "go on");
    assert_eq!(decide(&mut proven(Receipt::default()), &request_on("t")), "go on");
    let unchecked = StopInputs { proof: None, ..request_on("t") };
    assert_eq!(decide(&mut proven(green()), &unchecked), "go on", "nothing was looked at");
}

#[test]
fn a_green_check_without_a_request_never_ends_a_loop() {
    let silent = StopInputs { request: CompletionRequest::None, ..request_on("t") };
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
    pinned::freeze(&mut state, now());
    state.acceptance_criteria[0].description = "easier".to_owned();
    assert_eq!(decide(&mut state, &request_on("t")), "go on");
    pinned::freeze(&mut state, now());
    assert_eq!(decide(&mut state, &request_on("t")), "ended: complete");
}

#[test]
fn a_request_on_the_last_iteration_is_complete_or_capped() {
    let last = |receipt| LoopState { iteration: 5, ..proven(receipt) };
    assert_eq!(decide(&mut last(green()), &request_on("t")), "ended: complete");
    assert_eq!(decide(&mut last(Receipt::default()), &request_on("t")), "ended: max_iterations");
}

#[test]
fn the_rule_of_the_token_and_a_loop_without_criteria_end_unverified() {
    let mut state = LoopState { completion: Completion::Token, ..proven(Receipt::default()) };
    assert_eq!(decide(&mut state, &request_on("t")), "ended: complete_unverified");
    check("implementation 3/5", "RALPH_COMPLETE", "ended: complete_unverified");
}

#[test]
fn proof_is_asked_for_only_where_it_can_decide() {
    let asks = |state: &LoopState, seen: &StopInputs| wants_proof(plain(), state, seen);
    assert!(asks(&proven(green()), &seen("RALPH_COMPLETE")));
    assert!(!asks(&proven(green()), &seen("working")));
    assert!(!asks(&loop_state("implementation 3/5"), &seen("RALPH_COMPLETE")));
    assert!(!asks(&loop_state("paused 3/5"), &seen("RALPH_COMPLETE")));
    let waiting = StopInputs { workers: vec!["w".to_owned()], ..seen("RALPH_COMPLETE") };
    assert!(!asks(&proven(green()), &waiting));
}

#[test]
fn the_tree_is_looked_at_only_while_the_loop_runs() {
    for (phase, wanted) in [
        ("planned", false),
        ("implementation", true),
        ("verification", true),
        ("paused", false),
        ("ended", false),
        ("hibernating", false),
    ] {
        let state = LoopState { phase: phase.to_owned().into(), ..LoopState::default() };
        assert_eq!(wants_tree(plain(), &state), wanted, "{phase}");
        assert!(!wants_tree(mode::rules(&RalplanState::default().into()), &state), "{phase}");
    }
}

#[test]
fn a_loop_that_needs_a_person_rests_and_says_for_what() {
    let mut state = loop_state("implementation 3/5");
    state.blocked = Some(Blocked { what: "give me a key".to_owned(), at: now() });
    assert_eq!(decide(&mut state, &seen("x")), "let go: a person must do something first");
    let pause = state.pause.unwrap();
    assert_eq!((pause.cause, pause.detail.as_str()), (PauseCause::BlockedOnHuman, "give me a key"));
    assert_eq!((state.iteration, state.blocked), (3, None));
}

#[test]
fn while_another_task_is_ready_nothing_is_blocked() {
    let mut state = loop_state("implementation 3/5");
    state.blocked = Some(Blocked { what: "x".to_owned(), at: now() });
    state.task_graph = vec![Task::default()].into();
    assert_eq!(decide(&mut state, &seen("x")), "go on");
    assert_eq!(state.blocked, None);
}

#[test]
fn waiting_does_not_outlast_the_loops_time() {
    let mut state = loop_state("implementation 3/5");
    state.limits.max_minutes = 10;
    let late = StopInputs { now: "2026-01-01T00:10:00Z".parse().unwrap(), ..seen("x") };
    let waiting = StopInputs { workers: vec!["w".to_owned()], ..late };
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
fn only_refused_requests_count_as_the_same_failure() {
    let mut state = LoopState { iteration: 0, ..proven(Receipt::default()) };
    let mut stop = |request, tree: &str| {
        let seen = StopInputs { request, tree: Some(tree.to_owned()), ..request_on("t") };
        (decide(&mut state, &seen), state.progress.same_failure)
    };
    assert_eq!(stop(CompletionRequest::Made, "1"), ("go on".to_owned(), 1));
    assert_eq!(stop(CompletionRequest::None, "2"), ("go on".to_owned(), 1));
    assert_eq!(stop(CompletionRequest::OnlyMentioned, "3"), ("go on".to_owned(), 1));
    assert_eq!(stop(CompletionRequest::Made, "4"), ("go on".to_owned(), 2));
}

#[test]
fn a_record_of_a_quiet_stop_does_not_mention_commands_and_one_of_a_typed_command_does() {
    let stored = |command_waits| {
        let seen = StopInputs { command_waits, ..seen("x") };
        let record = super::decide(plain(), &mut loop_state("implementation 3/5"), &seen).record;
        serde_json::to_value(&record).unwrap()["seen"].get("command_waits").cloned()
    };
    assert_eq!((stored(true), stored(false)), (Some(true.into()), None));
}

#[test]
fn a_refusal_is_told_and_counts_as_an_iteration() {
    let mut state = proven(Receipt::default());
    let decision = super::decide(mode::at_stop(&state), &mut state, &request_on("t"));
    let details = &decision.step.details;
    assert!(details.starts_with("Completion was requested and is refused"), "{details}");
    assert!(details.ends_with("Ralph then runs them itself, and only that is proof."));
    assert_eq!(state.details_due, *details, "they follow with the next tool call");
    assert_eq!(state.iteration, 4);
}

#[test]
fn the_record_leaves_the_bulk_out_and_the_state_whole() {
    let mut state = LoopState {
        task_graph: vec![Task::default(); 100].into(),
        prompt: "goal".to_owned(),
        ..loop_state("implementation 3/5")
    };
    let record = super::decide(mode::at_stop(&state), &mut state, &seen("x")).record;
    assert!(record.before.task_graph.is_empty() && record.before.prompt.is_empty());
    assert_eq!((state.task_graph.len(), state.prompt.as_str()), (100, "goal"));
    assert!(serde_json::to_string(&record).unwrap().len() < 3000);
}

#[test]
fn the_record_of_a_request_has_the_criteria_and_another_has_not() {
    for (seen, n_criteria) in [(request_on("t"), 1), (seen("x"), 0)] {
        let record = super::decide(plain(), &mut proven(green()), &seen).record;
        assert_eq!(record.before.acceptance_criteria.len(), n_criteria);
    }
}

#[test]
fn what_a_record_takes_out_of_the_state_it_gives_back() {
    let receipt = Receipt { tail: "12 passed".to_owned(), ..green() };
    let mut state = LoopState {
        task_graph: vec![Task::default()].into(),
        prompt: "goal".to_owned(),
        context_report: "report".to_owned(),
        lineage: vec![Bound::default()],
        errors: vec![LoopError { at: now(), message: "x".to_owned() }],
        ..proven(receipt)
    };
    state.usage.sources.insert("t.jsonl".to_owned(), Source::default());
    let whole = state.clone();

    let quiet = slim(&mut state, false);
    assert_eq!(state, whole);
    let slim = slim(&mut state, true);
    assert_eq!(state, whole);

    let criteria = std::mem::take(&mut state.acceptance_criteria);
    let receipt = |criterion: &Criterion| criterion.receipt.clone().unwrap();
    let without_tail = Receipt { tail: String::new(), ..receipt(&criteria[0]) };
    assert_eq!(receipt(&slim.acceptance_criteria[0]), without_tail);
    let nothing = LoopState {
        task_graph: Vec::new().into(),
        prompt: String::new(),
        context_report: String::new(),
        lineage: Vec::new(),
        errors: Vec::new(),
        usage: Usage::default(),
        ..state
    };
    assert_eq!(quiet, nothing, "without a request nothing of the bulk decides");
}

#[test]
fn what_the_person_has_just_said_comes_before_completion_a_block_and_a_stall() {
    let steered = |message: &str| StopInputs { steer_waits: true, ..seen(message) };
    let mut state = loop_state("implementation 3/5");
    assert_eq!(decide(&mut state, &steered("RALPH_COMPLETE")), "go on");
    assert_eq!(state.iteration, 4);
    state.blocked = Some(Blocked { what: "a key".to_owned(), at: now() });
    state.stall_limit = 1;
    state.stall_hashes = vec!["tree".to_owned(); 3];
    assert_eq!(decide(&mut state, &steered("I cannot")), "go on");
    assert_eq!((state.blocked.clone(), state.stall_hashes.len()), (None, 0));
    assert!(!wants_proof(
        plain(),
        &proven(green()),
        &StopInputs { steer_waits: true, ..request_on("t") }
    ));
    assert_eq!(decide(&mut state, &steered("RALPH_COMPLETE")), "ended: max_iterations");
}

#[test]
fn a_compaction_is_made_up_for_at_the_next_reason_to_go_on() {
    let mut state = loop_state("implementation 3/5");
    state.prompt = "the goal of it all".to_owned();
    state.context_lost = true;
    state.acceptance_criteria = vec![Criterion { id: "AC-1".to_owned(), ..Criterion::default() }];
    let details = |state: &mut LoopState| super::decide(plain(), state, &seen("x")).step.details;
    for _ in 0..2 {
        // A turn without a tool call leaves them due.
        let first = details(&mut state);
        assert!(first.contains("the goal of it all") && first.contains("Rules: "), "{first}");
    }
    assert!(state.take_details().contains("Rules: ") && state.take_details().is_empty());
    assert!(!state.context_lost);
    assert!(!details(&mut state).contains("Rules: "));
}

#[test]
fn a_round_ends_with_its_task_and_with_no_other() {
    let mut state = loop_state("implementation 3/5");
    let task = |id: &str, status| Task { id: id.to_owned(), status, ..Task::default() };
    state.task_graph =
        vec![task("T-1", TaskStatus::InProgress), task("T-2", TaskStatus::Pending)].into();
    state.round = Some(BuildRound { task: "T-1".to_owned(), number: 1, ..BuildRound::default() });
    assert_eq!(decide(&mut state, &seen("x")), "go on");
    for closed in [TaskStatus::Done, TaskStatus::Failed, TaskStatus::Blocked, TaskStatus::Pending] {
        state.task_graph[0].status = closed;
        let mut state = state.clone();
        assert_eq!(decide(&mut state, &seen("x")), "let go: the round is over");
        assert_eq!((state.iteration, state.turn.clone()), (4, None));
        assert_eq!(decide(&mut state, &StopInputs { steer_waits: true, ..seen("x") }), "go on");
    }
    state.task_graph.remove(0);
    assert_eq!(decide(&mut state.clone(), &seen("x")), "let go: the round is over");
    state.round = Some(BuildRound { number: 2, ..BuildRound::default() });
    assert_eq!(decide(&mut state.clone(), &seen("x")), "let go: the round is over");
    state.iteration = state.max_iterations;
    assert_eq!(decide(&mut state, &seen("x")), "ended: max_iterations", "bounds come first");
}
