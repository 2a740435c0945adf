//! The limits of a loop, its progress and its words, each at its bounds.

use super::progress::{in_a_row, is_ours, print_of_work, stalled, stops};
use super::rounds::{Busy, Exit, NextRound, Policy, Showed};
use super::*;
use crate::modes::mode;
use crate::state::{
    Bound, Criterion, ModeState, OrchestrationCall, OrchestrationState, Receipt, Task,
};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap()
}

fn running() -> LoopState {
    LoopState { phase: Phase::Implementation, started_at: Some(at(0)), ..LoopState::default() }
}

fn criterion() -> Criterion {
    Criterion {
        id: "AC-1".to_owned(),
        verification_command: "cargo test".to_owned(),
        ..Criterion::default()
    }
}

#[test]
fn each_verdict_has_its_words() {
    for (why, words) in [
        (AllowReason::NotLive, "the loop is not live"),
        (AllowReason::Paused, "the loop is paused"),
        (AllowReason::WorkersRun, "background subagents are still at work"),
        (AllowReason::CommandWaits, "a command that the person typed is waiting"),
        (AllowReason::Blocked, "a person must do something first"),
        (AllowReason::RoundIsOver, "the round is over"),
        (AllowReason::AwaitsPerson, "a person must decide about the plan"),
    ] {
        assert_eq!(why.describe(), words);
        assert_eq!(StopVerdict::LetGo(why).describe(), format!("let go: {words}"));
    }
    assert_eq!(StopVerdict::Ended(EndingKind::Stalled).describe(), "ended: stalled");
    assert_eq!(StopVerdict::GoOn.describe(), "go on");
}

#[test]
fn the_line_of_a_step_is_one_line_within_its_limit() {
    let line =
        |progress: &str, next: &str| NextStep::new("3/25", progress, next, "details".to_owned());
    assert_eq!(
        line("", "fix\n it"),
        NextStep { line: "Ralph 3/25: next: fix it".to_owned(), details: "details".to_owned() }
    );
    assert_eq!(line("1 of 2", "fix").line, "Ralph 3/25: 1 of 2; next: fix");
    let head = "Ralph 3/25: next: ".len();
    assert_eq!(line("", &"x".repeat(300 - head)).line.len(), 300);
    assert!(!line("", &"x".repeat(300 - head)).line.contains('…'));
    let cut = line("", &"x".repeat(301 - head)).line;
    assert!(cut.ends_with("x…") && cut.chars().count() == 300, "{cut}");
}

#[test]
fn a_limit_ends_a_loop_when_it_is_reached_and_says_which() {
    let mut state = running();
    state.limits.max_minutes = 10;
    let used = |state: &LoopState, seconds: i64| used_up(state, at(seconds));
    let by_next = |state: &LoopState, seconds: i64| used_up_by_next(state, at(seconds));
    let budget = |detail: &str| Some((EndingKind::Budget, detail.to_owned()));
    let often = |detail: &str| Some((EndingKind::MaxIterations, detail.to_owned()));
    assert_eq!(used(&state, 599), None);
    assert!(!by_next(&state, 599) && by_next(&state, 600));
    assert_eq!(used(&state, 600), budget("worked for 10 of at most 10 minutes"));
    state.limits.max_minutes = 1;
    assert_eq!(used(&state, 60), budget("worked for 1 of at most 1 minute"));
    (state.iteration, state.max_iterations) = (23, 25);
    assert!(!by_next(&state, 0));
    state.iteration = 24;
    assert!(by_next(&state, 0));
    assert_eq!(used(&state, 0), None);
    state.iteration = 25;
    assert_eq!(used(&state, 60), often("went on 25 times, as often as it may"));
    (state.iteration, state.max_iterations) = (1, 1);
    assert_eq!(used(&state, 0), often("went on 1 time, as often as it may"));
    (state.iteration, state.max_iterations) = (26, 25);
    assert_eq!(used(&state, 0), often("went on 26 times, as often as it may"));
    let mut state = running();
    state.limits.max_tokens = Some(100);
    (state.usage.tokens.input, state.usage.tokens.output) = (60, 39);
    assert_eq!((used(&state, 0), spent(&state)), (None, None));
    state.usage.tokens.output = 40;
    assert_eq!(used(&state, 0), budget("used 100 of at most 100 tokens"));
    state.limits.max_tokens = Some(1);
    assert_eq!(spent(&state).as_deref(), Some("used 100 of at most 1 token"));
    let mut state = running();
    state.limits.max_cost = Some(2.5);
    state.usage.cost = 2.49;
    assert_eq!(used(&state, 0), None);
    state.usage.cost = 2.5;
    assert_eq!(used(&state, 0), budget("cost $2.50 of at most $2.50"));
}

#[test]
fn a_loop_may_go_on_until_a_limit_ends_it() {
    let mut state = running();
    state.limits.max_minutes = 1;
    assert!(may_go_on(&mut state, at(59)));
    assert_eq!((state.ending.clone(), state.errors.len()), (None, 0));
    assert!(!may_go_on(&mut state, at(60)));
    assert_eq!(state.ending.as_ref().unwrap().kind, EndingKind::Budget);
    assert_eq!(state.errors[0].message, "budget: worked for 1 of at most 1 minute");
    assert!(!may_go_on(&mut state, at(0)));
    assert_eq!(state.errors.len(), 1, "it ends once");
    let mut complete = running();
    end(&mut complete, EndingKind::Complete, "it holds".to_owned(), at(0));
    assert_eq!(complete.errors, []);
}

#[test]
fn the_criteria_run_once_more_for_an_ending_that_they_did_not_decide() {
    let plain = mode::rules(&ModeState::Plain);
    let ended = |kind: EndingKind| {
        let mut state = LoopState { acceptance_criteria: vec![criterion()], ..running() };
        pinned::freeze(&mut state, at(0));
        state.end(kind, "", at(0));
        state
    };
    let wants = |state: &LoopState| wants_last_run(plain, state, &StopInputs::default());
    for (kind, expected) in [
        (EndingKind::Stalled, true),
        (EndingKind::Budget, true),
        (EndingKind::CompleteUnverified, true),
        (EndingKind::Complete, false),
        (EndingKind::Cancelled, false),
    ] {
        assert_eq!(wants(&ended(kind.clone())), expected, "{kind}");
    }
    let stalled = ended(EndingKind::Stalled);
    let proven = StopInputs { proof: Some(Proof::default()), ..StopInputs::default() };
    assert!(!wants_last_run(plain, &stalled, &proven));
    assert!(!wants(&LoopState { ending: None, ..stalled.clone() }));
    assert!(!wants(&LoopState { acceptance_criteria: vec![], ..stalled.clone() }));
    let mut changed = stalled;
    changed.acceptance_criteria[0].verification_command = "true".to_owned();
    assert!(!wants(&changed));
}

#[test]
fn a_request_is_proven_unless_something_comes_first() {
    let plain = mode::rules(&ModeState::Plain);
    let state = || LoopState { acceptance_criteria: vec![criterion()], ..running() };
    let seen = || StopInputs { request: CompletionRequest::Made, ..StopInputs::default() };
    let wants = |state: &LoopState, seen: &StopInputs| wants_proof(plain, state, seen);
    assert!(wants(&state(), &seen()));
    for other in [
        StopInputs { request: CompletionRequest::OnlyMentioned, ..seen() },
        StopInputs { request: CompletionRequest::None, ..seen() },
        StopInputs { steer_waits: true, ..seen() },
        StopInputs { command_waits: true, ..seen() },
        StopInputs { workers: vec!["w".to_owned()], ..seen() },
    ] {
        assert!(!wants(&state(), &other), "{other:?}");
    }
    let blocked = crate::state::Blocked { what: "a key".to_owned(), ..Default::default() };
    for other in [
        LoopState { acceptance_criteria: vec![], ..state() },
        LoopState { completion: Completion::Token, ..state() },
        LoopState { blocked: Some(blocked), ..state() },
        LoopState { round: Some(Default::default()), ..state() },
        LoopState { parallel: true, ..state() },
        LoopState { phase: Phase::Planned, ..state() },
    ] {
        assert!(!wants(&other, &seen()), "{other:?}");
    }
    assert!(wants_tree(plain, &state()));
    assert!(!wants_tree(plain, &LoopState { phase: Phase::Ended, ..state() }));
}

#[test]
fn a_record_holds_what_the_rules_read_and_the_state_stays_whole() {
    let receipt =
        Receipt { tail: "long".to_owned(), command: "c".to_owned(), ..Receipt::default() };
    let criterion = Criterion { receipt: Some(receipt), ..criterion() };
    let mut state = LoopState {
        acceptance_criteria: vec![criterion],
        task_graph: vec![Task { id: "T-1".to_owned(), ..Task::default() }].into(),
        context_report: "report".to_owned(),
        prompt: "goal".to_owned(),
        lineage: vec![Bound::default()],
        errors: vec![LoopError { at: at(0), message: "m".to_owned() }],
        details_due: "due".to_owned(),
        ..running()
    };
    state.usage.sources.insert("t".to_owned(), Default::default());
    let whole = state.clone();
    let expected = || {
        let mut expected = LoopState {
            acceptance_criteria: vec![],
            task_graph: vec![].into(),
            context_report: String::new(),
            prompt: String::new(),
            lineage: vec![],
            errors: vec![],
            details_due: String::new(),
            ..whole.clone()
        };
        expected.usage.sources.clear();
        expected
    };
    assert_eq!(slim(&mut state, false), expected());
    assert_eq!(state, whole);
    let mut criteria = whole.acceptance_criteria.clone();
    criteria[0].receipt.as_mut().unwrap().tail.clear();
    assert_eq!(slim(&mut state, true), LoopState { acceptance_criteria: criteria, ..expected() });
    assert_eq!(state, whole);
    let calls = vec![OrchestrationCall { prompt: "p".to_owned(), ..OrchestrationCall::default() }];
    let session = OrchestrationState {
        id: "260131-120000".to_owned(),
        given: calls.clone(),
        calls,
        ..OrchestrationState::default()
    };
    let mut state = LoopState { mode: ModeState::Orchestration(session), ..running() };
    let slimmed = slim(&mut state, false);
    let kept = slimmed.orchestration().unwrap();
    assert_eq!((kept.id.as_str(), kept.given.len(), kept.calls.len()), ("260131-120000", 0, 0));
}

#[test]
fn a_record_leaves_out_what_was_not_seen() {
    let members = |value: serde_json::Value| -> Vec<String> {
        let mut names: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
        names.sort_unstable();
        names
    };
    let written = |seen: &StopInputs| members(serde_json::to_value(seen).unwrap());
    assert_eq!(written(&StopInputs::default()), ["now", "prompt_id", "request"]);
    let seen = StopInputs {
        command_waits: true,
        steer_waits: true,
        document_gone: true,
        ..Default::default()
    };
    assert_eq!(
        written(&seen),
        ["command_waits", "document_gone", "now", "prompt_id", "request", "steer_waits"]
    );
    let work = |round_is_over| {
        let work = TaskProgress { round_is_over, ..TaskProgress::default() };
        members(serde_json::to_value(work).unwrap())
    };
    assert_eq!(work(false), ["all_done", "is_ready", "print"]);
    assert_eq!(work(true), ["all_done", "is_ready", "print", "round_is_over"]);
}

#[test]
fn a_blocker_is_refused_without_open_work_or_in_one_word() {
    let with = |verified, status: Option<TaskStatus>| {
        let task = |status| Task { status, ..Task::default() };
        LoopState {
            acceptance_criteria: vec![Criterion { verified, ..criterion() }],
            task_graph: status.map(task).into_iter().collect::<Vec<_>>().into(),
            ..running()
        }
    };
    let nothing = Some(
        "no criterion and no task of this loop is open, so no person is needed for one: go on with the \
         goal, or ask for completion",
    );
    let short = Some(
        "say in a sentence what the user must do: `ralph blocked 'Create an API key for Stripe and put it \
         into .env'`",
    );
    for (state, what, expected) in [
        (running(), "Create a key", nothing),
        (with(true, None), "Create a key", nothing),
        (with(true, Some(TaskStatus::Done)), "Create a key", nothing),
        (with(false, None), "Create it", None),
        (with(true, Some(TaskStatus::Pending)), "Create it", None),
        (with(false, None), "Create", short),
        (with(false, None), " ", short),
    ] {
        assert_eq!(blocked::refusal(&state, what).as_deref(), expected, "{what}");
    }
}

#[test]
fn each_stall_is_told_in_its_words() {
    let judged = |limit: u32, worked: Option<bool>, prints: &[&str], refused: bool| {
        let mut state = LoopState { stall_limit: limit, ..running() };
        if refused {
            let receipt = Receipt {
                command: "cargo test".to_owned(),
                ended: "exit 1".to_owned(),
                ..Receipt::default()
            };
            let mut failed = criterion();
            crate::evidence::receipt::record(&mut failed, receipt);
            state.acceptance_criteria = vec![failed];
        }
        prints.iter().find_map(|tree| {
            let sample = ProgressSample {
                work: "w",
                work_after_checks: "w",
                tree: Some(tree),
                worked,
                refused,
                ..ProgressSample::default()
            };
            stalled(&mut state, &sample).map(|stall| (stall.cause, stall.detail))
        })
    };
    let told = |cause, detail: &str| Some((cause, detail.to_owned()));
    assert_eq!(judged(3, None, &["a", "a", "a"], false), None);
    assert_eq!(
        judged(3, None, &["a", "a", "a", "a"], false),
        told(Signal::NoChange, "nothing had changed at 3 stops in a row")
    );
    assert_eq!(
        judged(1, None, &["a", "a"], false),
        told(Signal::NoChange, "nothing had changed at 1 stop")
    );
    assert_eq!(
        judged(2, Some(false), &["a", "a", "a"], false),
        told(Signal::Idle, "2 turns in a row were text only and changed nothing")
    );
    assert_eq!(
        judged(1, Some(false), &["a", "a"], false),
        told(Signal::Idle, "1 turn was text only and changed nothing")
    );
    assert_eq!(judged(3, None, &["a", "b", "a"], false), None);
    assert_eq!(
        judged(3, None, &["a", "b", "a", "b"], false),
        told(Signal::Cycle, "the work goes round in a circle of the same 2 states")
    );
    assert_eq!(judged(4, None, &["a", "b", "a", "b"], false), None);
    assert_eq!(
        judged(4, None, &["a", "b", "a", "b", "a"], false),
        told(Signal::Cycle, "the work goes round in a circle of the same 2 states")
    );
    assert_eq!(
        judged(3, None, &["a", "b", "c", "a", "b", "c"], false),
        told(Signal::Cycle, "the work goes round in a circle of the same 3 states")
    );
    let nine: Vec<&str> = "a b c d e f g h i a b c d e f g h i".split(' ').collect();
    assert_eq!(judged(3, None, &nine, false), None, "a circle of nine is too long");
    let eight: Vec<&str> = "a b c d e f g h a b c d e f g h".split(' ').collect();
    assert_eq!(
        judged(3, None, &eight, false),
        told(Signal::Cycle, "the work goes round in a circle of the same 8 states")
    );
    assert_eq!(judged(3, None, &["a", "b"], true), None);
    assert_eq!(
        judged(3, None, &["a", "b", "c"], true),
        told(
            Signal::SameFailure,
            "completion was requested 3 times in a row with the same failing check"
        )
    );
    assert_eq!((stops(1), stops(2)), ("1 stop".to_owned(), "2 stops in a row".to_owned()));
    assert_eq!((in_a_row(1), in_a_row(2)), ("1 time".to_owned(), "2 times in a row".to_owned()));
}

#[test]
fn as_many_fingerprints_are_kept_as_the_limit_needs() {
    let kept = |limit: u32, n: usize| {
        let mut state = LoopState { stall_limit: limit, ..running() };
        for at in 0..n {
            let tree = at.to_string();
            let sample = ProgressSample { tree: Some(&tree), ..ProgressSample::default() };
            assert_eq!(stalled(&mut state, &sample), None);
        }
        state.stall_hashes.len()
    };
    assert_eq!([kept(3, 31), kept(3, 32), kept(3, 33)], [31, 32, 32]);
    assert_eq!([kept(40, 41), kept(40, 42)], [41, 41]);
}

#[test]
fn without_a_fingerprint_only_turns_without_a_tool_count() {
    let standing = |worked| {
        let mut state = running();
        for _ in 0..2 {
            stalled(&mut state, &ProgressSample { worked, ..ProgressSample::default() });
        }
        (state.progress.standing, state.progress.idle, state.progress.signal)
    };
    assert_eq!(standing(Some(false)), (2, 2, Signal::Idle));
    assert_eq!(standing(Some(true)), (0, 0, Signal::Working));
    assert_eq!(standing(None), (0, 0, Signal::Working));
}

#[test]
fn what_ralph_and_its_client_write_is_known_by_its_folder() {
    for (path, expected) in [
        (".omc/plans/a.md", true),
        ("sub/.omc/x", true),
        (".ralph-sessions/x", true),
        ("a.b/.ralph-sessions/x", true),
        (".claude/worktrees/x", true),
        (".claude/refine-sessions.json", true),
        ("sub/.claude/refine-sessions.json", true),
        (".claude/refine-sessions.json.bak", false),
        (".claude/settings.json", false),
        (".omc", false),
        ("x.omc/a", false),
        ("src/a.rs", false),
    ] {
        assert_eq!(is_ours(path), expected, "{path}");
    }
}

#[test]
fn the_print_of_the_work_changes_with_tasks_and_checks() {
    let with = |passed: Option<bool>, status: Option<TaskStatus>| {
        let mut criterion = criterion();
        if let Some(passed) = passed {
            crate::evidence::receipt::record(
                &mut criterion,
                Receipt { command: "cargo test".to_owned(), passed, ..Receipt::default() },
            );
        }
        let task = |status| Task { id: "T-1".to_owned(), status, ..Task::default() };
        let state = LoopState {
            acceptance_criteria: vec![criterion],
            task_graph: status.map(task).into_iter().collect::<Vec<_>>().into(),
            ..running()
        };
        print_of_work(&state, at(0))
    };
    let all = [
        with(None, None),
        with(Some(true), None),
        with(Some(false), None),
        with(None, Some(TaskStatus::Pending)),
        with(None, Some(TaskStatus::Done)),
    ];
    let different: std::collections::BTreeSet<&String> = all.iter().collect();
    assert_eq!(different.len(), all.len());
    assert_eq!((with(None, None).len(), with(None, None)), (32, all[0].clone()));
}

#[test]
fn a_busy_api_is_tried_again_as_often_as_the_policy_says() {
    let policy = Policy::default();
    let next = |attempt, chance: f64| {
        super::rounds::next(&Showed::Busy(Busy::Overloaded), attempt, at(0), &policy, chance)
    };
    let after = |seconds: f64| NextRound::AgainAfter(Duration::from_secs_f64(seconds));
    for (attempt, chance, expected) in [
        (0, 0.0, after(10.0)),
        (1, 0.5, after(15.0)),
        (2, 1.0, after(40.0)),
        (4, 1.0, after(160.0)),
        (4, -3.0, after(80.0)),
        (5, 1.0, NextRound::Over),
    ] {
        assert_eq!(next(attempt, chance), expected, "{attempt} {chance}");
    }
    let limited = |until: i64, chance: f64| {
        super::rounds::next(&Showed::Limited(Some(at(until))), 1, at(1_000), &policy, chance)
    };
    let far = 1_000 + 8 * 24 * 3_600;
    assert_eq!(limited(2_000, 0.5), NextRound::AgainAt(at(2_045)));
    assert_eq!(limited(far, 0.0), NextRound::AgainAt(at(far + 30)));
    assert_eq!(limited(far + 1, 0.0), NextRound::Over);
    let crashed = |exit: Exit, words: &str| {
        super::rounds::showed(&crate::transcript::stream::Account::default(), &exit, words)
    };
    let said = |text: &str| Showed::Crashed(text.to_owned());
    assert_eq!(crashed(Exit::Interrupted, ""), Showed::Interrupted);
    assert_eq!(
        crashed(Exit::Code(3), " boom\n"),
        said("the client ended with exit code 3 and no result: boom")
    );
    assert_eq!(crashed(Exit::Signal(9), " "), said("the client was ended by signal 9"));
    assert_eq!(crashed(Exit::Leftovers, "x"), said("the client was ended: x"));
}
