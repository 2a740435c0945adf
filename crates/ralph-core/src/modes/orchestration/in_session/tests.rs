use super::*;
use crate::modes::mode;
use crate::modes::orchestration::agents::Mode as Called;
use crate::modes::orchestration::invocation::CallKey;
use crate::state::{Criterion, ModeState, Phase, Receipt};
use crate::stop::decide;
use crate::text::token::CompletionRequest;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn routed(due: RouterStep, says: &str) -> Routed {
    Routed { due, says: says.to_owned(), stands: "1".to_owned(), heard: Vec::new() }
}

fn given(task: &str) -> OrchestrationCall {
    let key = CallKey { mode: Called::Execute, task: task.to_owned(), iteration: 1, cycle: 0 };
    OrchestrationCall::given(&key, format!("SESSION_PATH: p/\nTASK_ID: {task}"))
}

fn state() -> LoopState {
    LoopState {
        loop_id: "l".into(),
        phase: Phase::Implementation,
        started_at: Some(NOW),
        mode: ModeState::Orchestration(OrchestrationState {
            id: "260131-120000".to_owned(),
            given: vec![given("task-1")],
            ..OrchestrationState::default()
        }),
        ..LoopState::default()
    }
}

fn with_criterion() -> LoopState {
    let criterion = Criterion {
        id: "AC-1".to_owned(),
        verification_command: "cargo test".to_owned(),
        ..Criterion::default()
    };
    let mut state = LoopState { acceptance_criteria: vec![criterion], ..state() };
    crate::evidence::pinned::freeze(&mut state, NOW);
    state
}

fn seen(routed: Routed) -> StopInputs {
    StopInputs { now: NOW, prompt_id: "p".into(), session: Some(routed), ..StopInputs::default() }
}

/// Decides, and repeats the decision from its record.
#[track_caller]
fn check(state: &mut LoopState, seen: &StopInputs, expected: &str) -> String {
    let decision = decide(mode::at_stop(state), state, seen);
    assert_eq!(decision.verdict.describe(), expected);
    let text = serde_json::to_string(&decision.record).unwrap();
    let record: crate::stop::StopRecord = serde_json::from_str(&text).unwrap();
    assert_eq!(record.decide_again(mode::at_stop(state)), decision.record.outcome, "decided again");
    decision.step.details
}

#[test]
fn each_answer_of_the_router_has_its_ending() {
    for (due, expected, kind) in [
        (RouterStep::Call, "go on", None),
        (RouterStep::Wait, "go on", None),
        (RouterStep::Paused, "let go: the loop is paused", None),
        (RouterStep::Stopped, "ended: cancelled", Some(EndingKind::Cancelled)),
        (
            RouterStep::AwaitingFeedback,
            "ended: awaiting_feedback",
            Some(EndingKind::AwaitingFeedback),
        ),
        (RouterStep::Failed, "ended: failed", Some(EndingKind::Failed)),
        (RouterStep::Complete, "ended: complete_unverified", Some(EndingKind::CompleteUnverified)),
    ] {
        let mut state = state();
        check(&mut state, &seen(routed(due, "the words")), expected);
        assert_eq!(state.ending.as_ref().map(|ending| ending.kind.clone()), kind, "{due:?}");
        let told = state.ending.map(|ending| ending.detail).unwrap_or_default();
        assert!(kind.is_none() || due == RouterStep::Complete || told == "the words", "{told}");
        if due == RouterStep::Paused {
            let pause = state.pause.unwrap();
            assert_eq!((pause.cause, pause.detail.as_str()), (PauseCause::Person, "the words"));
        }
    }
}

#[test]
fn what_is_done_is_complete_by_its_receipts_and_awaits_feedback_where_they_are_red() {
    let complete = routed(RouterStep::Complete, "nothing: all tasks are done");
    let mut red = with_criterion();
    check(&mut red, &seen(complete.clone()), "ended: awaiting_feedback");
    let told = red.ending.unwrap().detail;
    assert!(told.contains("AC-1") && told.contains("`cargo test`"), "{told}");

    let mut green = with_criterion();
    green.acceptance_criteria[0].receipt = Some(Receipt {
        command: "cargo test".to_owned(),
        passed: true,
        by: crate::state::CriterionRunner::Hook,
        tree_before: "t".to_owned(),
        tree_after: "t".to_owned(),
        ..Receipt::default()
    });
    let mut proof = Proof::default();
    proof.trees.insert("AC-1".to_owned(), "t".to_owned());
    let seen = StopInputs { proof: Some(proof), ..seen(complete) };
    let decision = decide(mode::at_stop(&green), &mut green, &seen);
    assert_eq!(decision.verdict.describe(), "ended: complete");
}

#[test]
fn criteria_are_asked_once_the_router_is_done_and_never_for_a_word() {
    let state = with_criterion();
    let asks = |due, request| {
        crate::stop::wants_proof(
            mode::at_stop(&state),
            &state,
            &StopInputs { request, ..seen(routed(due, "")) },
        )
    };
    assert!(asks(RouterStep::Complete, CompletionRequest::None));
    assert!(
        !asks(RouterStep::Call, CompletionRequest::Made)
            && !asks(RouterStep::AwaitingFeedback, CompletionRequest::Made)
    );
    let unproven = self::state();
    assert!(
        !wants_proof(&unproven, &routed(RouterStep::Complete, "")),
        "there is nothing to prove"
    );
}

#[test]
fn no_word_of_completion_ends_a_session() {
    let seen =
        StopInputs { request: CompletionRequest::Made, ..seen(routed(RouterStep::Call, "call")) };
    check(&mut state(), &seen, "go on");
}

#[test]
fn a_stop_is_answered_with_the_calls_word_for_word() {
    let mut state = state();
    let says = check(&mut state, &seen(routed(RouterStep::Call, "call")), "go on");
    assert_eq!(
        says,
        "Next: call the Agent tool with subagent_type `Ralph-v2-Executor`, run_in_background false and this prompt, \
         word for word:\nSESSION_PATH: p/\nTASK_ID: task-1"
    );
    state.orchestration_mut().unwrap().given.push(given("task-2"));
    state.via = Some(crate::state::Registration::Plugin);
    let says = told(&state);
    assert!(
        says.starts_with("Next: make these 2 calls of the Agent tool in one message"),
        "{says}"
    );
    assert!(
        says.contains("Call 2: subagent_type `ralph:Ralph-v2-Executor`, prompt:\nSESSION_PATH: p/\nTASK_ID: task-2"),
        "{says}"
    );
    let session = state.orchestration_mut().unwrap();
    session.given[0].prompt = "x".repeat(REASON_LIMIT);
    assert!(told(&state).contains("run `ralph session next --id 260131-120000`"), "never cut");
}

#[test]
fn one_that_stands_still_rests_and_one_that_moves_does_not() {
    let mut still = state();
    for _ in 0..3 {
        check(&mut still, &seen(routed(RouterStep::Call, "call it")), "go on");
    }
    check(
        &mut still,
        &seen(routed(RouterStep::Call, "call it")),
        "let go: a person must do something first",
    );
    let pause = still.pause.clone().unwrap();
    assert!(pause.detail.contains("next: call it"), "{}", pause.detail);
    Orchestration.resume(&mut still, NOW);
    check(&mut still, &seen(routed(RouterStep::Call, "call it")), "go on");
    let mut moving = state();
    for n in 0..9 {
        let routed = Routed { stands: n.to_string(), ..routed(RouterStep::Call, "call it") };
        check(&mut moving, &seen(routed), "go on");
    }
}

#[test]
fn a_bound_ends_it_and_so_does_a_person_who_removes_its_folder() {
    let mut bounded = LoopState { max_iterations: 1, ..state() };
    check(&mut bounded, &seen(routed(RouterStep::Call, "")), "go on");
    let moved = Routed { stands: "2".to_owned(), ..routed(RouterStep::Call, "") };
    check(&mut bounded, &seen(moved), "ended: max_iterations");
    let gone =
        StopInputs { document_gone: true, session: None, ..seen(routed(RouterStep::Call, "")) };
    check(&mut state(), &gone, "ended: cancelled");
}

#[test]
fn done_on_the_last_step_is_complete_and_not_capped() {
    let mut state = LoopState { max_iterations: 0, ..state() };
    check(&mut state, &seen(routed(RouterStep::Complete, "")), "ended: complete_unverified");
}

#[test]
fn a_router_that_does_not_answer_lets_it_rest() {
    let silent = StopInputs { session: None, ..seen(routed(RouterStep::Call, "")) };
    check(&mut state(), &silent, "let go: a person must do something first");
}

#[test]
fn agents_at_work_and_a_waiting_command_come_first() {
    let working = StopInputs { workers: vec!["a".into()], ..seen(routed(RouterStep::Failed, "")) };
    check(&mut state(), &working, "let go: background subagents are still at work");
    let typed = StopInputs { command_waits: true, ..seen(routed(RouterStep::Failed, "")) };
    check(&mut state(), &typed, "let go: a command that the person typed is waiting");
}

#[test]
fn the_contract_names_session_task_rules_and_what_comes_next() {
    let state = LoopState { prompt: "Build a door".into(), context_lost: true, ..state() };
    let heading = Orchestration.continues_line(&state);
    let text = Orchestration.loop_prompt(&heading, &state, &["faster".to_owned()], NOW);
    for words in [
        "Ralph session 260131-120000 continues, loop l\nTask: Build a door\n",
        "Folder: .ralph-sessions/260131-120000/",
        "Write nothing below",
        "STEER: faster",
        "Next: call the Agent tool",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let mut lost = state;
    let says = check(&mut lost, &seen(routed(RouterStep::Call, "call")), "go on");
    assert!(says.contains("Rules: you only route"), "{says}");
    lost.orchestration_mut().unwrap().given.clear();
    assert!(Orchestration.loop_prompt("x", &lost, &[], NOW).contains("Next: end your turn"));
}
