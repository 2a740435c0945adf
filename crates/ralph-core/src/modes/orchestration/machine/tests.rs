//! The answers of each state, word for word.

use super::super::agents::Mode;
use super::super::change::writes;
use super::super::fixture::{SampleOrchestration, feedback, later, now, report, review};
use super::super::invocation::{CallKey, Running};
use super::super::progress::TaskMark;
use super::super::recovery::CallEnd;
use super::super::signal::UnheardSignal;
use super::super::state::State;
use super::*;

fn prompts(session: &SampleOrchestration) -> Vec<String> {
    match next(&session.seen, now()).act {
        Act::Invoke(calls) => calls.iter().map(Invocation::prompt).collect(),
        other => panic!("{other}"),
    }
}

#[track_caller]
fn check(session: &SampleOrchestration, state: State, expected: &[&str]) {
    let step = next(&session.seen, now());
    assert_eq!(step.state, state, "{}", step.act);
    let path = "SESSION_PATH: .ralph-sessions/260131-120000/\n";
    let expected: Vec<String> = expected.iter().map(|rest| format!("{path}{rest}")).collect();
    assert_eq!(prompts(session), expected);
}

/// Writes the changes that the router asks for.
fn step(session: &mut SampleOrchestration) -> MachineStep {
    let step = next(&session.seen, now());
    session.seen = step.after.clone();
    step
}

fn act(session: &SampleOrchestration) -> String {
    next(&session.seen, now()).act.to_string()
}

#[test]
fn a_session_begins_with_the_persons_request() {
    let mut session = SampleOrchestration::empty();
    let prompt = "MODE: INITIALIZE\nUSER_REQUEST: Build a door\nITERATION: 1";
    check(&session, State::Initializing, &[prompt]);
    session.file("plan.md", "half");
    check(&session, State::Initializing, &[prompt]);
    let mut session = SampleOrchestration::initialized();
    session.mark_planning("plan-init", "[ ]");
    session.remove("metadata.yaml");
    check(&session, State::Initializing, &[prompt]);
}

#[test]
fn planning_goes_through_its_cycles_and_ends_with_the_tasks() {
    let mut session = SampleOrchestration::initialized();
    check(&session, State::Planning, &["MODE: brainstorm\nCYCLE: 1\nITERATION: 1"]);
    session.edit("progress.md", "[ ] plan-brainstorm", "[x] plan-brainstorm (CYCLE=1)");
    check(&session, State::Planning, &["MODE: research\nCYCLE: 1\nITERATION: 1"]);
    session.edit("progress.md", "[ ] plan-research", "[x] plan-research\n- [ ] plan-brainstorm");
    check(&session, State::Planning, &["MODE: brainstorm\nCYCLE: 2\nITERATION: 1"]);
    session.edit(
        "progress.md",
        "[ ] plan-brainstorm",
        "[x] plan-brainstorm\n- [ ] plan-research (CYCLE=3)",
    );
    check(&session, State::Planning, &["MODE: TASK_BREAKDOWN\nITERATION: 1"]);
    step(&mut session);
    assert!(session.text("progress.md").contains(
        "- [C] plan-research (cycle 3, skipped: planning.max_cycles is 2)\n- [ ] plan-breakdown"
    ));
}

#[test]
fn only_cycles_beyond_the_limit_are_skipped() {
    let mut session = SampleOrchestration::initialized();
    session.mark_planning("plan-brainstorm", "[x]");
    let entries = "[ ] plan-research (CYCLE=3)\n- [ ] plan-research (CYCLE=2)";
    session.edit("progress.md", "[ ] plan-research", entries);
    check(&session, State::Planning, &["MODE: research\nCYCLE: 2\nITERATION: 1"]);
}

#[test]
fn the_guardrails_bound_the_cycles() {
    let mut session = SampleOrchestration::initialized();
    session.seen.instructions = Some("---\nplanning:\n  max_cycles: 0\n---\n".to_owned());
    check(&session, State::Planning, &["MODE: TASK_BREAKDOWN\nITERATION: 1"]);
}

#[test]
fn more_cycles_than_a_question_has_moves_are_skipped_together() {
    let mut session = SampleOrchestration::initialized();
    let many = "- [ ] plan-research\n".repeat(MOST_MOVES + 4);
    session.edit("progress.md", "- [ ] plan-research\n", &many);
    session.mark_planning("plan-brainstorm", "[x]");
    for cycle in [1, 2] {
        check(
            &session,
            State::Planning,
            &[&format!("MODE: research\nCYCLE: {cycle}\nITERATION: 1")],
        );
        session.edit("progress.md", "[ ] plan-research", "[x] plan-research");
    }
    check(&session, State::Planning, &["MODE: TASK_BREAKDOWN\nITERATION: 1"]);
    step(&mut session);
    assert!(session.text("progress.md").contains("cycle 68, skipped: planning.max_cycles is 2"));
}

#[test]
fn a_later_iteration_is_laid_out_by_its_own_entry() {
    let mut session = SampleOrchestration::planned(&[("task-1", &[])]);
    let sections = "## Planning Progress (Iteration 2)\n- [ ] plan-init\n\n\
                    ## Implementation Progress (Iteration 2)\n\n## Iterations";
    session.edit("progress.md", "## Iterations", sections);
    session.edit("metadata.yaml", "iteration: 1", "iteration: 2");
    session.state(State::Planning);
    let prompt = "MODE: INITIALIZE\nUSER_REQUEST: Build a door\nITERATION: 2";
    check(&session, State::Planning, &[prompt]);
}

#[test]
fn what_stands_twice_is_mended_before_anything_else() {
    let planned = || {
        let mut session = SampleOrchestration::planned(&[("task-1", &[])]);
        session.state(State::Planning);
        session
    };
    let open = planned().text("progress.md").replace("[x] plan-init", "[ ] plan-init");
    let mut sections = planned();
    let text = format!("{}\n{open}", sections.text("progress.md"));
    sections.file("progress.md", &text);
    let mut entry = planned();
    entry.edit("progress.md", "- [x] plan-init\n", "- [x] plan-init\n- [ ] plan-init\n");
    for (session, line) in [(&mut sections, 36), (&mut entry, 13)] {
        let step = next(&session.seen, now());
        assert_eq!(step.state, State::RepairState, "{}", step.act);
        let told = format!("progress.md:{line}: line 12 has plan-init too");
        assert!(prompts(session)[0].contains(&told), "{:?}", prompts(session));
    }
}

#[test]
fn planning_without_a_task_is_an_error() {
    let session = SampleOrchestration::planned(&[]);
    let mut planning = session;
    planning.state(State::Planning);
    assert!(act(&planning).starts_with("planning ended without a task"));
}

const WAVES: &[(&str, &[&str])] = &[("task-1", &[]), ("task-2", &["task-1"]), ("task-3", &[])];

#[test]
fn a_wave_is_carried_out_side_by_side_and_then_judged() {
    let mut session = SampleOrchestration::planned(WAVES);
    let call =
        |id: &str, attempt: u32| format!("TASK_ID: {id}\nATTEMPT_NUMBER: {attempt}\nITERATION: 1");
    check(&session, State::ExecutingBatch, &[&call("task-1", 1), &call("task-3", 1)]);
    assert_eq!(step(&mut session).wave, Some(1));
    assert!(
        session.text("metadata.yaml").contains("  state: EXECUTING_BATCH\n  current_wave: 1\n")
    );
    for id in ["task-1", "task-3"] {
        session.mark(id, "[P]");
        session.file(&format!("reports/{id}-report.md"), &report(id, 1, None));
    }
    let review_of = |id: &str, path: &str| {
        format!("TASK_ID: {id}\nREPORT_PATH: reports/{path}.md\nITERATION: 1")
    };
    check(
        &session,
        State::ReviewingBatch,
        &[&review_of("task-1", "task-1-report"), &review_of("task-3", "task-3-report")],
    );
    session.mark("task-3", "[x]");
    session.mark("task-1", "[F]");
    session.file("reports/task-1-report.md", &report("task-1", 1, Some("Failed")));
    // The rework belongs to the next batch, before the second wave.
    check(&session, State::ExecutingBatch, &[&call("task-1", 2)]);
    session.mark("task-1", "[P]");
    session.file("reports/task-1-report-r2.md", &report("task-1", 1, None));
    check(&session, State::ReviewingBatch, &[&review_of("task-1", "task-1-report-r2")]);
    session.mark("task-1", "[x]");
    step(&mut session);
    check(&session, State::ExecutingBatch, &[&call("task-2", 1)]);
    assert_eq!(next(&session.seen, now()).wave, Some(2));
}

#[test]
fn what_failed_waits_until_its_batch_is_judged() {
    let mut session = SampleOrchestration::planned(WAVES);
    step(&mut session);
    session.mark("task-1", "[F]");
    session.mark("task-3", "[P]");
    session.file("reports/task-3-report.md", &report("task-3", 1, None));
    assert_eq!(next(&session.seen, now()).state, State::ReviewingBatch);
    session.mark("task-3", "[x]");
    assert_eq!(next(&session.seen, now()).state, State::ExecutingBatch);
}

#[test]
fn no_more_run_side_by_side_than_the_guardrails_let() {
    let many: Vec<(String, Vec<&str>)> = (1..=6).map(|at| (format!("t{at}"), vec![])).collect();
    let tasks: Vec<(&str, &[&str])> = many.iter().map(|(id, on)| (id.as_str(), &on[..])).collect();
    let mut session = SampleOrchestration::planned(&tasks);
    assert_eq!(prompts(&session).len(), 4);
    session.seen.instructions = Some("- max_parallel_executors: 2\n".to_owned());
    assert_eq!(prompts(&session).len(), 2);
    session.noted("t1", "[/]", Some("started: 2026-01-31T11:59:00Z"));
    assert_eq!(prompts(&session).len(), 1);
    let key =
        |task: &str| CallKey { mode: Mode::Execute, task: task.to_owned(), iteration: 1, cycle: 0 };
    let running = |task: &str| Running { key: key(task), since: now() };
    session.state(State::ExecutingBatch);
    session.seen.running = Some(vec![running("t1"), running("t2")]);
    assert_eq!(act(&session), "wait for a running call");
    session.seen.instructions = Some("- max_parallel_executors: 1\n".to_owned());
    session.seen.running = Some(vec![running("t1")]);
    assert_eq!(act(&session), "wait for a running call");
}

#[test]
fn what_is_under_way_for_too_long_is_failed_by_a_reviewer() {
    let mut session = SampleOrchestration::planned(WAVES);
    session.noted("task-1", "[/]", Some("Attempt 1, started: 2026-01-31T12:00:00+0200"));
    check(
        &session,
        State::ExecutingBatch,
        &[
            "MODE: TIMEOUT_FAIL\nTASK_ID: task-1\nREASON: in progress since 2026-01-31T12:00:00+0200, longer \
           than 60 minutes\nITERATION: 1",
        ],
    );
    session.noted("task-1", "[/]", Some("started: 2026-01-31T11:00:00Z"));
    session.noted("task-3", "[x]", None);
    assert_eq!(act(&session), "wait until 2026-01-31T12:00:00Z for the running tasks");
}

#[test]
fn an_executor_that_was_called_again_has_its_time_from_then() {
    let act = |calls: &[(Mode, &str)]| {
        let mut session = SampleOrchestration::planned(&[("a", &[]), ("b", &[])]);
        session.noted("a", "[/]", Some("started: 2026-01-31T10:00:00Z"));
        session.noted("b", "[x]", None);
        session.state(State::ExecutingBatch);
        let running = calls.iter().map(|(mode, task)| Running {
            key: CallKey { mode: *mode, task: (*task).to_owned(), iteration: 1, cycle: 0 },
            since: later(-30),
        });
        session.seen.running = Some(running.collect());
        act(&session)
    };
    let its = (Mode::Execute, "a");
    let until = "wait until 2026-01-31T12:30:00Z for the running tasks";
    assert_eq!(act(&[its]), until);
    assert_eq!(act(&[(Mode::Execute, "b"), its]), until);
    let stale = "call `Ralph-v2-Reviewer` (TIMEOUT_FAIL, a)";
    assert_eq!(act(&[]), stale);
    assert_eq!(act(&[(Mode::Execute, "b")]), stale);
    assert_eq!(act(&[(Mode::TimeoutFail, "a")]), "wait for a running call");
}

#[test]
fn what_does_not_say_since_when_says_it_from_now_on() {
    let mut session = SampleOrchestration::planned(&WAVES[..1]);
    session.mark("task-1", "[/]");
    step(&mut session);
    assert!(
        session
            .text("progress.md")
            .contains("[/] task-1 (Iteration 1, started: 2026-01-31T12:00:00Z)")
    );
    assert!(matches!(next(&session.seen, later(60)).act, Act::Wait { .. }));
    assert!(matches!(next(&session.seen, later(61)).act, Act::Invoke(_)));
}

#[test]
fn an_executor_that_is_known_to_be_gone_is_called_again_with_the_same_number() {
    let mut session = SampleOrchestration::planned(&WAVES[..1]);
    session.noted("task-1", "[/]", Some("started: 2026-01-31T11:59:00Z"));
    session.file("reports/task-1-report.md", &report("task-1", 1, None));
    assert!(matches!(next(&session.seen, now()).act, Act::Wait { .. }));
    session.seen.running = Some(Vec::new());
    let prompt = "TASK_ID: task-1\nATTEMPT_NUMBER: 1\nITERATION: 1";
    check(&session, State::ExecutingBatch, &[prompt]);
}

#[test]
fn only_an_execution_that_is_repeated_keeps_its_number() {
    for (mark, ends, attempt) in [
        ("[ ]", vec![], 2),
        ("[ ]", vec![CallEnd::Met], 2),
        ("[ ]", vec![CallEnd::Failed], 1),
        ("[F]", vec![CallEnd::Failed], 2),
    ] {
        let mut session = SampleOrchestration::planned(&WAVES[..1]);
        session.mark("task-1", mark);
        session.file("reports/task-1-report.md", &report("task-1", 1, None));
        let key =
            CallKey { mode: Mode::Execute, task: "task-1".to_owned(), iteration: 1, cycle: 0 };
        ends.iter().for_each(|how| session.seen.tries.ended(&key, *how, now()));
        let prompt = format!("TASK_ID: task-1\nATTEMPT_NUMBER: {attempt}\nITERATION: 1");
        check(&session, State::ExecutingBatch, &[&prompt]);
    }
}

#[test]
fn what_was_begun_before_its_dependencies_are_done_is_opened_again() {
    for (first, expected) in [("[ ]", TaskMark::Open), ("[x]", TaskMark::InProgress)] {
        let mut session = SampleOrchestration::planned(WAVES);
        session.mark("task-1", first);
        session.noted("task-2", "[/]", Some("started: 2026-01-31T11:59:00Z"));
        session.seen.running = Some(Vec::new());
        step(&mut session);
        assert_eq!(session.status("task-2"), expected);
    }
}

#[test]
fn a_signal_is_heard_only_if_a_call_carries_it() {
    let mut session = SampleOrchestration::initialized();
    session.seen.signals = vec![UnheardSignal::read("1", "STEER: use oak")];
    let heard = |call| carried_signals(&Act::Invoke(vec![call]), State::Planning, &session.seen);
    let call = Invocation::new(Mode::TaskBreakdown, "p/", 1);
    assert_eq!(heard(call.clone()), Vec::<String>::new());
    assert_eq!(heard(call.with("SIGNAL", "STEER: use oak")), ["1"]);
}

#[test]
fn a_call_that_fails_is_made_again_later_and_then_its_task_is_split() {
    let mut session = SampleOrchestration::planned(&WAVES[..1]);
    let key = CallKey { mode: Mode::Execute, task: "task-1".to_owned(), iteration: 1, cycle: 0 };
    let fail =
        |session: &mut SampleOrchestration| session.seen.tries.ended(&key, CallEnd::Failed, now());
    fail(&mut session);
    assert_eq!(prompts(&session).len(), 1);
    fail(&mut session);
    assert_eq!(act(&session), "wait until 2026-01-31T12:00:30Z before the next attempt");
    let until = next(&session.seen, now()).output().wait_until;
    assert_eq!(until.as_deref(), Some("2026-01-31T12:00:30Z"));
    fail(&mut session);
    assert_eq!(act(&session), "wait until 2026-01-31T12:01:00Z before the next attempt");
    fail(&mut session);
    fail(&mut session);
    let met = |session: &mut SampleOrchestration, mode, iteration| {
        for at in 0..8 {
            let key = CallKey { mode, task: format!("task-1-{at}"), iteration, cycle: 0 };
            session.seen.tries.ended(&key, CallEnd::Met, now());
        }
    };
    met(&mut session, Mode::RebreakdownTask, 2);
    met(&mut session, Mode::Execute, 1);
    check(
        &session,
        State::ExecutingBatch,
        &["MODE: REBREAKDOWN_TASK\nTASK_ID: task-1\nREASON: `Ralph-v2-Executor` timed out or \
             failed repeatedly\nITERATION: 1"],
    );
    met(&mut session, Mode::RebreakdownTask, 1);
    assert!(act(&session).contains("reduce the scope"), "{}", act(&session));
}

#[test]
fn a_call_about_no_task_that_is_given_up_ends_the_session_with_an_error() {
    let mut session = SampleOrchestration::empty();
    let key = CallKey { mode: Mode::Initialize, task: String::new(), iteration: 1, cycle: 0 };
    (0..5).for_each(|_| session.seen.tries.ended(&key, CallEnd::Failed, now()));
    assert_eq!(
        act(&session),
        "could not carry out INITIALIZE: `Ralph-v2-Planner` timed out or failed repeatedly; reduce \
         the scope of the task, then continue"
    );
}

#[test]
fn a_task_without_a_file_fails_and_those_behind_it_are_skipped() {
    let mut session = SampleOrchestration::planned(WAVES);
    session.seen.files.remove("tasks/task-1.md");
    let calls = prompts(&session);
    assert_eq!(calls.len(), 1, "{calls:?}");
    assert!(calls[0].contains("task-3"));
    step(&mut session);
    assert!(session.text("progress.md").contains("[F] task-1 (blocker: Task definition missing)"));
    session.mark("task-3", "[x]");
    let step = step(&mut session);
    assert_eq!(step.state, State::SessionReview);
    assert!(step.findings.iter().any(|one| one.what.contains("task-1 has no file")));
}

#[test]
fn a_task_without_a_file_is_not_carried_out_again_when_its_executor_is_gone() {
    let mut session = SampleOrchestration::planned(&[("task-1", &[])]);
    session.edit("progress.md", "[ ] task-1\n", "[x] task-1\n- [/] task-9\n");
    session.seen.running = Some(Vec::new());
    step(&mut session);
    assert!(
        session.text("progress.md").contains("- [F] task-9 (blocker: Task definition missing)\n"),
        "{}",
        session.text("progress.md")
    );
}

#[test]
fn a_circle_is_told_and_the_others_go_on() {
    let session = SampleOrchestration::planned(&[("a", &["b"]), ("b", &["a"]), ("c", &[])]);
    let step = next(&session.seen, now());
    assert!(step.findings.iter().any(|one| one.what.contains("dependency cycle")));
    assert_eq!(prompts(&session).len(), 1);
}

fn failed_for_good() -> SampleOrchestration {
    let mut session = SampleOrchestration::planned(WAVES);
    session.mark("task-1", "[F]");
    session.mark("task-3", "[x]");
    for attempt in ["", "-r2"] {
        let path = format!("reports/task-1-report{attempt}.md");
        session.file(&path, &report("task-1", 1, Some("Failed")));
    }
    session
}

#[test]
fn what_failed_too_often_waits_for_a_person() {
    let mut session = failed_for_good();
    check(&session, State::SessionReview, &["MODE: SESSION_REVIEW\nITERATION: 1"]);
    session.file("iterations/1/review.md", &review("✅ Complete"));
    check(&session, State::SessionReview, &["MODE: UPDATE_METADATA\nSTATUS: awaiting_feedback"]);
    session.edit("metadata.yaml", "in_progress #", "awaiting_feedback #");
    let step = step(&mut session);
    let told = "task-1 failed; task-2 depends on task-1, which failed";
    assert_eq!(
        step.act.to_string(),
        format!("give feedback with `ralph session feedback new`: {told}")
    );
    assert_eq!(step.state, State::Complete);
    assert!(session.text("plan.iteration-1.md").contains("a door"));
    assert!(
        session
            .text("iterations/1/metadata.yaml")
            .contains("completed_at: 2026-01-31T12:00:00+00:00")
    );
    assert!(session.text("progress.md").contains("| 1 | Complete | 1/3 | N/A |"));
    let json = serde_json::to_value(step.output()).unwrap();
    assert_eq!(
        json,
        serde_json::json!({
            "status": "awaiting_feedback",
            "session_id": "260131-120000",
            "iteration": 1,
            "current_state": "COMPLETE",
            "current_wave": 0,
            "tasks_summary": {"total": 3, "completed": 1, "failed": 1, "pending": 1, "cancelled": 0},
            "next_action": step.act.to_string(),
            "invocations": [],
            "wait_until": null,
            "findings": [],
        })
    );
}

#[test]
fn all_done_and_a_review_that_says_so_is_complete_and_gaps_are_not() {
    for (status, standing, expected) in [
        ("Complete", "completed", "nothing: all tasks are done"),
        ("Gaps Identified", "awaiting_feedback", "names gaps"),
    ] {
        let mut session = SampleOrchestration::planned(&WAVES[..1]);
        session.mark("task-1", "[x]");
        session.file("iterations/1/review.md", &review(status));
        session.edit("metadata.yaml", "in_progress #", &format!("{standing} #"));
        assert!(act(&session).contains(expected), "{}", act(&session));
    }
}

#[test]
fn feedback_begins_the_next_iteration_and_opens_what_failed() {
    let mut session = failed_for_good();
    session.state(State::Complete);
    session.file("iterations/2/feedbacks/20260201-120000/feedbacks.md", &feedback(2));
    let folder = "iterations/2/feedbacks/20260201-120000/";
    check(
        &session,
        State::Replanning,
        &[&format!(
            "MODE: feedback-analysis\nCYCLE: 1\nITERATION: 2\nFEEDBACK_PATHS: {folder}\nOUTPUT: \
             iterations/2/questions/feedback-driven.md"
        )],
    );
    step(&mut session);
    assert!(session.text("progress.md").contains("| 2 | Replanning | 0/0 | 20260201-120000 |"));
    session.mark_planning("plan-rebrainstorm", "[x]");
    check(
        &session,
        State::Replanning,
        &["MODE: research\nCYCLE: 1\nITERATION: 2\nQUESTION_CATEGORY: feedback-driven"],
    );
    session.mark_planning("plan-reresearch", "[x]");
    check(
        &session,
        State::Replanning,
        &[
            "MODE: UPDATE\nITERATION: 2\nFEEDBACK_SOURCES: iterations/2/feedbacks/*/\nPLAN_SNAPSHOT: \
           plan.iteration-1.md",
        ],
    );
    assert!(session.text("plan.iteration-1.md").contains("a door"));
    session.mark_planning("plan-update", "[x]");
    check(&session, State::Replanning, &["MODE: REBREAKDOWN\nITERATION: 2\nFAILED_TASKS: task-1"]);
    session.mark_planning("plan-rebreakdown", "[x]");
    check(
        &session,
        State::ExecutingBatch,
        &[&format!("TASK_ID: task-1\nATTEMPT_NUMBER: 3\nITERATION: 2\nFEEDBACK_CONTEXT: {folder}")],
    );
    step(&mut session);
    assert_eq!(session.status("task-1"), TaskMark::Open);
    assert!(session.text("progress.md").contains("- [ ] task-1 (Iteration 2)"));
}

#[test]
fn feedback_that_asks_for_nothing_yet_begins_nothing() {
    let mut session = failed_for_good();
    let text = super::super::feedback::template(2, "x", now().into());
    session.file("iterations/2/feedbacks/x/feedbacks.md", &text);
    assert_eq!(next(&session.seen, now()).iteration, 1);
}

#[test]
fn what_cannot_be_read_is_repaired_before_anything_else() {
    let mut session = SampleOrchestration::planned(WAVES);
    session.edit("progress.md", "- [ ] task-1", "- [?] task-1");
    let before = session.seen.clone();
    check(
        &session,
        State::RepairState,
        &["MODE: REPAIR_STATE\nFINDINGS: progress.md:18: `[?]` is not a status; write one of `[ \
             ]`, `[/]`, `[P]`, `[x]`, `[F]`, `[C]`\nITERATION: 1"],
    );
    step(&mut session);
    assert_eq!(session.seen, before, "nothing is written");
}

#[test]
fn a_state_that_is_missing_is_inferred_and_written() {
    let infer = |change: &dyn Fn(&mut SampleOrchestration)| {
        let mut session = SampleOrchestration::planned(WAVES);
        change(&mut session);
        session.remove("metadata.yaml");
        let state = Picture::from_snapshot(&session.seen).state;
        step(&mut session);
        (state, session.seen.files.contains_key("metadata.yaml"))
    };
    assert_eq!(infer(&|_| ()), (State::Batching, true));
    assert_eq!(infer(&|s| s.mark("task-1", "[P]")), (State::ReviewingBatch, true));
    assert_eq!(
        infer(&|s| s.noted("task-1", "[/]", Some("started: 2026-01-31T12:00:00Z"))),
        (State::ExecutingBatch, true)
    );
    assert_eq!(infer(&|s| s.mark_planning("plan-breakdown", "[ ]")), (State::Planning, true));
    assert_eq!(
        infer(&|s| {
            s.progress().start(2, &["plan-update"], "Replanning", "N/A");
            s.render();
        }),
        (State::Replanning, true)
    );
    assert_eq!(
        infer(&|s| s.file("iterations/1/review.md", &review("Complete"))),
        (State::SessionReview, true)
    );
    let mut session = SampleOrchestration::planned(WAVES);
    session.edit("metadata.yaml", "  state: BATCHING\n", "");
    step(&mut session);
    assert!(session.text("metadata.yaml").contains("  state: EXECUTING_BATCH\n"));
}

#[test]
fn a_steer_is_told_with_the_next_calls_and_a_pause_waits_for_another_word() {
    let mut session = SampleOrchestration::planned(WAVES);
    session.seen.signals = vec![UnheardSignal::read("1", "STEER: use oak")];
    let calls = prompts(&session);
    assert!(calls.iter().all(|prompt| prompt.ends_with("\nSIGNAL: STEER: use oak")), "{calls:?}");
    let told = step(&mut session);
    assert_eq!(session.seen.signals.len(), 1, "to ask uses nothing up");
    let Act::Invoke(calls) = &told.act else { panic!("{}", told.act) };
    let mut known = told.clone();
    known.after.running = Some(Vec::new());
    let one = known.made(&calls[..1], now());
    assert_eq!(one.signals.len(), 1, "the other call of the batch carries it, too");
    let both = known.made(calls, now());
    assert_eq!(both.signals, []);
    session.seen.running = None;
    session.seen.signals = vec![UnheardSignal::read("2", "PAUSE: lunch")];
    assert_eq!(step(&mut session).act, Act::Paused("lunch".to_owned()));
    assert_eq!(session.seen.signals.len(), 1);
    session.seen.signals.push(UnheardSignal::read("3", "STOP"));
    let stopped = step(&mut session);
    assert_eq!((stopped.act.status(), stopped.act.is_end()), ("blocked", true));
    assert_eq!(stopped.heard, ["2", "3"]);
    assert_eq!(step(&mut session), stopped, "however often it is asked");
}

#[test]
fn asking_twice_writes_nothing_the_second_time() {
    for session in [SampleOrchestration::planned(WAVES), failed_for_good()] {
        let mut session = session;
        let first = step(&mut session);
        let again = next(&session.seen, now());
        assert_eq!(writes(&session.seen, &again.after), []);
        assert_eq!(first.act, again.act);
    }
}

#[test]
fn feedback_waits_for_the_calls_that_are_known_to_be_under_way() {
    let mut session = failed_for_good();
    session.file("iterations/2/feedbacks/x/feedbacks.md", &feedback(2));
    let key = CallKey { mode: Mode::SessionReview, task: String::new(), iteration: 1, cycle: 0 };
    session.seen.running = Some(vec![Running { key, since: now() }]);
    assert_eq!(act(&session), "wait for a running call");
    session.seen.running = Some(Vec::new());
    assert_eq!(next(&session.seen, now()).state, State::Replanning);
}

/// Damages texts with a fixed seed: the router always has an answer, and never gives a finished
/// task to an agent.
#[test]
fn whatever_a_hand_has_damaged_there_is_an_answer() {
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % u64::try_from(below.max(1)).unwrap()).unwrap()
    };
    let pieces = [
        "", "\n", "- [x] ", "[", "]", ": ", "  ", "é", "```\n", "---\n", "task-1", "|", "<!--",
        "\r\n", "{", "#",
    ];
    for _ in 0..150 {
        let mut session = failed_for_good();
        session.file("iterations/2/feedbacks/x/feedbacks.md", &feedback(2));
        let paths: Vec<String> = session.seen.files.keys().cloned().collect();
        for _ in 0..=random(3) {
            let path = &paths[random(paths.len())];
            let letters: Vec<char> = session.text(path).chars().collect();
            let (from, length) = (random(letters.len()), random(12));
            let head: String = letters[..from].iter().collect();
            let tail: String = letters[(from + length).min(letters.len())..].iter().collect();
            session.file(path, &format!("{head}{}{tail}", pieces[random(pieces.len())]));
        }
        let step = next(&session.seen, now());
        assert!(!step.act.to_string().starts_with("could not leave"), "{}", step.act);
        let Act::Invoke(calls) = &step.act else { continue };
        let progress = step.after.progress();
        for call in calls.iter().filter(|call| call.mode == Mode::Execute) {
            assert_ne!(progress.task(&call.key.task).unwrap().status, TaskMark::Done);
        }
    }
}
