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
    let says = next_step_text(&state);
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
    assert!(
        next_step_text(&state).contains("run `ralph session next --id 260131-120000`"),
        "never cut"
    );
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

#[test]
fn each_text_of_an_orchestration_names_it_and_what_comes_next() {
    let mut state = state();
    assert_eq!(Orchestration.started_line(&state), "Ralph session 260131-120000 started, loop l");
    assert_eq!(
        Orchestration.continues_line(&state),
        "Ralph session 260131-120000 continues, loop l"
    );
    assert_eq!(
        Orchestration.blocks_start(&state, false).as_deref(),
        Some(
            "orchestration 260131-120000 is live in this session: type /ralph-v2 to continue it, or \
             /ralph-cancel to end it"
        )
    );
    assert_eq!(Orchestration.commands(), ["ralph-v2"]);
    assert_eq!(Orchestration.resume_command(&state), "/ralph-v2");
    assert!(!Orchestration.wants_tree());
    assert_eq!(Orchestration.document(&state), None);
    (state.project_root, state.document) = ("/p".into(), ".ralph-sessions/a".into());
    assert_eq!(Orchestration.document(&state), Some("/p/.ralph-sessions/a".into()));
    let hint = Orchestration.next_hint(&state);
    assert_eq!(hint.as_deref(), Some("`ralph session status` shows all of it"));
    assert_eq!(
        Orchestration.after_end(&state, &EndingKind::AwaitingFeedback).as_deref(),
        Some(
            "Write the next iteration's work with `ralph session feedback new --id 260131-120000`, then \
             type /ralph-v2 260131-120000."
        )
    );
    assert_eq!(Orchestration.after_end(&state, &EndingKind::Failed), None);
    state.pause(PauseCause::Person, "", NOW);
    assert_eq!(
        Orchestration.next_hint(&state).as_deref(),
        Some("/ralph-v2 in its session or `ralph resume` continues it")
    );
    let plain = LoopState::default();
    assert_eq!(
        (id(&plain), next_step_text(&plain), next_in_the_line(&plain)),
        ("", "".into(), "".into())
    );
}

#[test]
fn the_start_of_an_orchestration_is_announced_in_whole() {
    let mut state = LoopState { max_iterations: 1, ..state() };
    state.limits.max_minutes = 1;
    assert_eq!(
        Orchestration.announcement(&state),
        "orchestration 260131-120000 started in `.ralph-sessions/260131-120000/` (loop l): at most 1 step, 1 \
         minute. Esc pauses it, /ralph-cancel ends it, `ralph session signal` sends it a message. No --ac was \
         given and no test command was found, so it can only end as complete_unverified."
    );
    let mut state = LoopState { max_iterations: 25, ..with_criterion() };
    state.limits.max_minutes = 480;
    state.errors =
        vec![crate::state::LoopError { at: NOW, message: "the settings\n are broken".into() }];
    assert_eq!(
        Orchestration.announcement(&state),
        "orchestration 260131-120000 started in `.ralph-sessions/260131-120000/` (loop l): at most 25 steps, \
         480 minutes. Esc pauses it, /ralph-cancel ends it, `ralph session signal` sends it a message. When all \
         tasks are done, these commands must succeed:\n  AC-1: cargo test\n  the settings are broken"
    );
}

#[test]
fn the_contract_of_an_orchestration_is_this_text() {
    let rules = "Rules: you only route. Make exactly the calls that `Next:` names, with their prompts word \
         for word; one mode or one task for each call. Write nothing below `.ralph-sessions/` and do no \
         agent's work. Ask the user nothing. After each call, and whenever you would stop, Ralph names the \
         next step; `ralph session status` shows the progress.";
    let mut state = LoopState { prompt: "Build a door".into(), iteration: 2, ..state() };
    let prompt = |state: &LoopState, steers: &[&str]| {
        let steers: Vec<String> = steers.iter().map(|one| (*one).to_owned()).collect();
        Orchestration.loop_prompt("HEADING", state, &steers, NOW)
    };
    assert_eq!(
        prompt(&state, &["faster"]),
        format!(
            "HEADING\nTask: Build a door\nFolder: .ralph-sessions/260131-120000/, 2 of at most 25 steps.\n\
             {rules}\nThe user said: STEER: faster\nNext: call the Agent tool with subagent_type \
             `Ralph-v2-Executor`, run_in_background false and this prompt, word for word:\n\
             SESSION_PATH: p/\nTASK_ID: task-1"
        )
    );
    state.max_iterations = 1;
    let session = state.orchestration_mut().unwrap();
    session.given.clear();
    let top = format!(
        "HEADING\nTask: Build a door\nFolder: .ralph-sessions/260131-120000/, 2 of at most 1 step.\n{rules}\n"
    );
    assert_eq!(
        prompt(&state, &[]),
        format!("{top}Next: end your turn; Ralph then names the agent to call.")
    );
    state.orchestration_mut().unwrap().says = "wait for a running call".to_owned();
    assert_eq!(prompt(&state, &[]), format!("{top}Next: wait for a running call"));
}

#[test]
fn the_line_at_a_stop_names_the_next_call() {
    let line = |state: &LoopState| {
        let mut state = state.clone();
        let seen = seen(routed(RouterStep::Call, "call"));
        decide(mode::at_stop(&state), &mut state, &seen).step.line
    };
    let mut state = state();
    assert_eq!(
        line(&state),
        "Ralph 1/25: next: call the agent `Ralph-v2-Executor` as `ralph session next --id 260131-120000` \
         prints it"
    );
    state.via = Some(crate::state::Registration::Plugin);
    assert!(line(&state).contains("the agent `ralph:Ralph-v2-Executor` as"));
    state.orchestration_mut().unwrap().given.push(given("task-2"));
    assert_eq!(
        line(&state),
        "Ralph 1/25: next: make the 2 calls of agents that `ralph session next --id 260131-120000` prints"
    );
    let session = state.orchestration_mut().unwrap();
    (session.given, session.says) = (vec![], "wait\nfor it".to_owned());
    assert_eq!(line(&state), "Ralph 1/25: next: wait");
}

#[test]
fn a_prompt_that_does_not_fit_is_left_out() {
    let mut state = state();
    let session = state.orchestration_mut().unwrap();
    session.given[0].prompt = String::new();
    let room = REASON_LIMIT - next_step_text(&state).encode_utf16().count();
    let fits = |state: &mut LoopState, n: usize| {
        state.orchestration_mut().unwrap().given[0].prompt = "x".repeat(n);
        next_step_text(state)
    };
    assert_eq!(fits(&mut state, room).len(), REASON_LIMIT);
    assert_eq!(
        fits(&mut state, room + 1),
        "Next: run `ralph session next --id 260131-120000`, and make each call of the Agent tool that it \
         prints, all of them in one message, with run_in_background false and the prompt word for word."
    );
}

#[test]
fn the_criteria_that_do_not_hold_are_told_at_the_end() {
    let ends = |state: &mut LoopState, proof: Option<&Proof>| {
        ends(state, &routed(RouterStep::Complete, "nothing"), proof)
    };
    let awaits = |open: &str| {
        RouterEnding::Ended(
            EndingKind::AwaitingFeedback,
            format!(
                "all tasks are done, but the criteria do not hold: {open}; name the missing work with `ralph \
                 session feedback new`"
            ),
        )
    };
    let mut red = with_criterion();
    assert_eq!(ends(&mut red, None), awaits("AC-1 was not run (`cargo test`)"));
    let proof = Proof { problem: "git failed".into(), ..Proof::default() };
    assert_eq!(ends(&mut red, Some(&proof)), awaits("AC-1 was not run (`cargo test`); git failed"));
    let mut token = LoopState { completion: crate::state::Completion::Token, ..with_criterion() };
    assert_eq!(
        ends(&mut token, None),
        RouterEnding::Ended(
            EndingKind::CompleteUnverified,
            "all tasks are done; no criterion was run".to_owned()
        )
    );
    assert_eq!(
        ends(&mut state(), None),
        RouterEnding::Ended(
            EndingKind::CompleteUnverified,
            "all tasks are done; the loop has no criterion".to_owned()
        )
    );
    // Two criteria, of which one holds.
    let mut half = with_criterion();
    let mut second = half.acceptance_criteria[0].clone();
    second.id = "AC-2".into();
    half.acceptance_criteria[0].receipt = Some(Receipt {
        command: "cargo test".to_owned(),
        passed: true,
        by: crate::state::CriterionRunner::Hook,
        tree_before: "t".to_owned(),
        tree_after: "t".to_owned(),
        ..Receipt::default()
    });
    half.acceptance_criteria.push(second);
    crate::evidence::pinned::freeze(&mut half, NOW);
    let mut proof = Proof::default();
    proof.trees.insert("AC-1".to_owned(), "t".to_owned());
    proof.trees.insert("AC-2".to_owned(), "t".to_owned());
    assert_eq!(ends(&mut half, Some(&proof)), awaits("AC-2 was not run (`cargo test`)"));
}
