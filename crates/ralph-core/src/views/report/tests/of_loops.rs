//! The parts of a report that a state tells, each compared in whole.

use super::super::of_loop;
use super::super::*;
use super::{at, line, looping, report};
use crate::evidence::receipt::ReceiptStatus;
use crate::state::{
    Blocked, Criterion, CriterionRunner, EndingKind, Finding, Green, LoopState, OrchestrationState,
    PauseCause, Phase, PlanPhase, RalplanState, Receipt, ReviewReceipt, ReviewRound, Signal, Task,
    TaskStatus,
};
use serde_json::Value;

fn seen(state: &LoopState) -> LoopSeen<'_> {
    LoopSeen {
        state,
        lines: Vec::new(),
        n_unreadable: 0,
        criteria: Vec::new(),
        changes: None,
        n_signals: 0,
        refinement: None,
        next: String::new(),
        now: at(900),
    }
}

fn planning(plan: RalplanState) -> LoopState {
    LoopState { mode: plan.into(), ..looping(&[]) }
}

#[test]
fn an_outcome_is_the_ending_the_pause_or_the_phase() {
    let check = |state: &LoopState, word: &str, tone: Tone, detail: &str| {
        let expected = ReportOutcome { word: word.to_owned(), tone, detail: detail.to_owned() };
        assert_eq!(report(state, Vec::new(), &[]).outcome, expected);
    };
    let ended = |kind: EndingKind, cause: Option<Signal>| {
        let mut state = looping(&[]);
        state.end(kind, "it\nis so", at(30));
        state.ending.as_mut().unwrap().cause = cause;
        state
    };
    let stalled = ended(EndingKind::Stalled, Some(Signal::NoChange));
    check(&stalled, "stalled (no change)", Tone::Bad, "it is so");
    check(&ended(EndingKind::Complete, None), "complete", Tone::Good, "it is so");
    check(&ended(EndingKind::MaxIterations, None), "limit reached", Tone::Warn, "it is so");
    check(&ended(EndingKind::Cancelled, None), "cancelled", Tone::Quiet, "it is so");
    let mut state = looping(&[]);
    check(&state, "implementation", Tone::Live, "");
    state.blocked = Some(Blocked { what: "log in".to_owned(), at: at(3) });
    check(&state, "implementation", Tone::Live, "blocked: log in");
    state.pause(PauseCause::RateLimited, "until 10:00", at(4));
    check(&state, "paused (rate limited)", Tone::Warn, "until 10:00");
    let planned = LoopState { phase: Phase::Planned, ..looping(&[]) };
    check(&planned, "planned", Tone::Quiet, "");
    let phase = |phase| planning(RalplanState { phase, ..RalplanState::default() });
    check(&phase(PlanPhase::CriticReview), "critic review", Tone::Live, "");
    let mut awaits = phase(PlanPhase::AwaitingUserApproval);
    awaits.pause(PauseCause::BlockedOnHuman, "decide", at(4));
    check(&awaits, "awaiting user approval", Tone::Live, "");
    awaits.pause.as_mut().unwrap().cause = PauseCause::Interrupted;
    check(&awaits, "paused (interrupted)", Tone::Warn, "decide");
}

#[test]
fn the_head_tells_what_is_known_and_nothing_else() {
    let facts = |state: &LoopState, n_lines: i64| {
        let lines = (0..n_lines).map(|second| line(second, "Stop", "go on", Value::Null));
        let facts = report(state, lines.collect(), &[]).facts;
        facts.into_iter().map(|(label, value)| format!("{label}: {value}")).collect::<Vec<_>>()
    };
    let bare = LoopState { started_at: None, ..looping(&[]) };
    assert_eq!(facts(&bare, 0), [""; 0]);
    let plan_path = ".claude/plans/a.md".to_owned();
    let mut state = planning(RalplanState { plan_path, ..RalplanState::default() });
    state.project_root = "/srv/shop".to_owned();
    state.session_id = "s-1".to_owned();
    state.parent = Some("above".to_owned());
    let reference = "refs/ralph/L/4".to_owned();
    state.checkpoint = Some(Green { reference, at: at(20), ..Green::default() });
    state.end(EndingKind::Approved, "", at(30));
    assert_eq!(
        facts(&state, 2),
        [
            "project: /srv/shop",
            "started: 2026-02-25 06:13:20Z",
            "ended: 2026-02-25 06:13:50Z",
            "session: s-1",
            "worker of: above",
            "plan: .claude/plans/a.md",
            "checkpoint: 4, all held at 2026-02-25 06:13:40Z",
            "journal: 2 decisions, 2 ms in all",
        ]
    );
    let session = OrchestrationState { id: "260131".to_owned(), ..OrchestrationState::default() };
    let checkpoint = Some(Green { at: at(20), ..Green::default() });
    let state = LoopState { mode: session.into(), checkpoint, ..bare };
    assert_eq!(
        facts(&state, 1),
        [
            "orchestrates: 260131",
            "checkpoint: all held at 2026-02-25 06:13:40Z",
            "journal: 1 decision, 1 ms in all",
        ],
        "no checkpoint could be made, and all held"
    );
}

fn gauge(label: &'static str, value: &str, of: &str, share: u8, tone: Tone) -> Gauge {
    let (value, of) = (value.to_owned(), of.to_owned());
    Gauge { label, value, of, share: Some(share), tone }
}

#[test]
fn progress_is_told_in_numbers_each_with_its_whole() {
    let of = |state: &LoopState| report(state, Vec::new(), &[]).gauges;
    let time = || gauge("Time", "15 min", "of 8 h", 3, Tone::Live);
    let mut state = LoopState { iteration: 3, ..looping(&[]) };
    assert_eq!(of(&state), [gauge("Continued", "3", "of 25", 12, Tone::Live), time()]);
    state.rounds = 2;
    assert_eq!(of(&state)[0], gauge("Rounds", "2", "of 25", 8, Tone::Live));
    state.rounds = 0;
    state.end(EndingKind::Stalled, "", at(60));
    assert_eq!(
        of(&state),
        [
            gauge("Turns", "4", "of 26", 15, Tone::Live),
            gauge("Time", "1 min", "of 8 h", 0, Tone::Live)
        ]
    );
    let plan = RalplanState { iteration: 2, max_iterations: 5, ..RalplanState::default() };
    assert_eq!(of(&planning(plan))[0], gauge("Rejections", "2", "of 5", 40, Tone::Live));
    let idle = LoopState { started_at: None, ..looping(&[]) };
    assert_eq!(of(&idle), [gauge("Continued", "0", "of 25", 0, Tone::Live)]);

    let with = |change: &dyn Fn(&mut LoopState)| {
        let mut state = idle.clone();
        change(&mut state);
        of(&state)[1..].to_vec()
    };
    let used =
        |used, most| with(&|it| (it.usage.tokens.output, it.limits.max_tokens) = (used, most));
    assert_eq!(used(0, Some(10)), [gauge("Tokens", "0", "of 10", 0, Tone::Live)]);
    assert_eq!(used(89, Some(100)), [gauge("Tokens", "89", "of 100", 89, Tone::Live)]);
    assert_eq!(used(90, Some(100)), [gauge("Tokens", "90", "of 100", 90, Tone::Warn)]);
    assert_eq!(used(12_345, None), [Gauge::number("Tokens", "12 k".to_owned())]);
    let cost = |used, most| with(&|it| (it.usage.cost, it.limits.max_cost) = (used, most));
    assert_eq!(cost(0.0, Some(2.0)), []);
    assert_eq!(cost(1.5, None), [Gauge::number("Cost", "$1.50".to_owned())]);
    assert_eq!(cost(1.5, Some(2.0)), [gauge("Cost", "$1.50", "of $2.00", 75, Tone::Live)]);
    assert_eq!(cost(1.9, Some(2.0)), [gauge("Cost", "$1.90", "of $2.00", 95, Tone::Warn)]);
    let task = |status| Task { status, ..Task::default() };
    let tasks = |statuses: [TaskStatus; 2]| {
        with(&|it| it.task_graph = statuses.clone().into_iter().map(task).collect())
    };
    let half = tasks([TaskStatus::Done, TaskStatus::Pending]);
    assert_eq!(half, [gauge("Tasks done", "1", "of 2", 50, Tone::Live)]);
    let all = tasks([TaskStatus::Done, TaskStatus::Done]);
    assert_eq!(all, [gauge("Tasks done", "2", "of 2", 100, Tone::Good)]);
    let criteria = |looked: [ReceiptStatus; 2]| {
        let state = LoopState { started_at: None, ..looping(&["AC-1", "AC-2"]) };
        report(&state, Vec::new(), &looked).gauges[1].clone()
    };
    use ReceiptStatus::{Failed, Passes, Reviewed};
    let label = "Criteria that hold";
    assert_eq!(criteria([Failed, Passes]), gauge(label, "1", "of 2", 50, Tone::Live));
    assert_eq!(criteria([Reviewed, Passes]), gauge(label, "2", "of 2", 100, Tone::Good));
}

#[test]
fn the_evidence_is_each_criterion_with_its_last_receipt() {
    let mut state = looping(&["AC-1", "AC-2", "AC-3", "AC-4", "AC-5"]);
    let receipt = Receipt {
        command: "make test".to_owned(),
        passed: true,
        exit_code: Some(0),
        tests_run: Some(1),
        duration_ms: 1_500,
        tree_after: "abcd".to_owned(),
        by: CriterionRunner::Hook,
        tail: format!("{}\nok\n", "x".repeat(900)),
        ..Receipt::default()
    };
    let review = ReviewReceipt { why: "it says so".to_owned(), ..ReviewReceipt::default() };
    let [one, two, three, four, _] = &mut state.acceptance_criteria[..] else { panic!() };
    one.receipt = Some(receipt.clone());
    (one.held_before, one.description) = (true, "all\ntests".to_owned());
    two.review = Some("is it?".to_owned());
    two.verification_command = String::new();
    two.receipt = Some(Receipt { review: Some(review), tests_run: None, ..receipt.clone() });
    three.receipt = Some(Receipt { exit_code: Some(2), ..receipt.clone() });
    four.receipt = Some(Receipt { tail: String::new(), ..receipt });
    let changed = vec!["a.rs".to_owned(), "b.rs".to_owned()];
    let criteria = vec![
        (ReceiptStatus::Passes, Vec::new()),
        (ReceiptStatus::Reviewed, Vec::new()),
        (ReceiptStatus::Failed, Vec::new()),
        (ReceiptStatus::Stale, changed),
    ];
    let shown = of_loop(&LoopSeen { criteria, ..seen(&state) });
    let tail = format!("{}\nok", "x".repeat(797));
    let one = |id: &str, about: &str, command: &str, standing, tone, receipt: &str| Evidence {
        id: id.to_owned(),
        about: about.to_owned(),
        command: command.to_owned(),
        standing,
        tone,
        receipt: receipt.to_owned(),
        tail: String::new(),
    };
    let expected = [
        one(
            "AC-1",
            "all tests",
            "make test",
            "passes",
            Tone::Good,
            "exit code 0, 1 test, 1 s, on tree abcd, held before the work began",
        ),
        one("AC-2", "", "review: is it?", "reviewed", Tone::Good, "it says so, 1 s, on tree abcd"),
        one("AC-3", "", "make test", "failed", Tone::Bad, "failed (exit code 2)"),
        one(
            "AC-4",
            "",
            "make test",
            "stale",
            Tone::Warn,
            "is stale: a.rs, b.rs changed after its last run",
        ),
        one("AC-5", "", "make test", "not_run", Tone::Quiet, "was not run"),
    ];
    let mut without_tails = shown.evidence.clone();
    without_tails.iter_mut().for_each(|one| one.tail.clear());
    assert_eq!(without_tails, expected);
    let tails: Vec<&str> = shown.evidence.iter().map(|one| one.tail.as_str()).collect();
    assert_eq!(tails, [&tail, &tail, &tail, "", ""]);
    let many: Vec<String> = (0..101).map(|n| n.to_string()).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(report(&looping(&many), Vec::new(), &[]).evidence.len(), 100);
}

#[test]
fn findings_of_all_rounds_are_listed_with_what_became_of_them() {
    let finding = |lens: &str, severity: &str, line, task: Option<&str>| Finding {
        lens: lens.to_owned(),
        severity: severity.to_owned(),
        file: "a.rs".to_owned(),
        line,
        what: "no\ntest".to_owned(),
        task: task.map(str::to_owned),
        ..Finding::default()
    };
    let mut state = looping(&[]);
    let round = |round, findings| ReviewRound { round, findings, ..ReviewRound::default() };
    state.reviews = vec![
        round(1, vec![finding("tests", "major", 7, Some("T-9"))]),
        round(2, vec![finding("style", "minor", 8, None)]),
    ];
    state.task_graph = vec![Task { id: "T-9".to_owned(), ..Task::default() }].into();
    let shown = |found_by: &str, severity: &str, place: &str, became: &str, tone| FindingShown {
        found_by: found_by.to_owned(),
        severity: severity.to_owned(),
        place: place.to_owned(),
        what: "no test".to_owned(),
        became: became.to_owned(),
        tone,
    };
    assert_eq!(
        report(&state, Vec::new(), &[]).findings,
        [
            shown("1, tests", "major", "a.rs:7", "T-9 pending", Tone::Warn),
            shown("2, style", "minor", "a.rs:8", "reported", Tone::Quiet),
        ]
    );
}

#[test]
fn notes_tell_what_the_user_must_know_besides_the_outcome() {
    let notes =
        |state: &LoopState, n_signals| of_loop(&LoopSeen { n_signals, ..seen(state) }).notes;
    let mut state = looping(&[]);
    assert_eq!(notes(&state, 0), [""; 0]);
    assert_eq!(notes(&state, 1), ["1 signal is not delivered yet."]);
    assert_eq!(notes(&state, 2), ["2 signals are not delivered yet."]);
    state.end(EndingKind::CompleteUnverified, "", at(30));
    let unproven = "The model asked for completion, and no proof was asked of it.";
    assert_eq!(notes(&state, 0), [unproven]);
    assert_eq!(notes(&state, 1), [unproven, "1 signal was never delivered."]);
    assert_eq!(notes(&state, 3), [unproven, "3 signals were never delivered."]);
    let proven = |kind| {
        let mut state = looping(&["AC-1"]);
        state.acceptance_criteria[0].held_before = true;
        state.end(kind, "", at(30));
        notes(&state, 0)
    };
    let before = "Held already before the work, so no proof of it: AC-1.";
    assert_eq!(proven(EndingKind::CompleteUnverified), [before]);
    assert_eq!(proven(EndingKind::Complete), [before]);
    let mut bare = looping(&[]);
    bare.end(EndingKind::Complete, "", at(30));
    assert_eq!(notes(&bare, 0), [""; 0]);
    let plan = |forced| planning(RalplanState { forced, ..RalplanState::default() });
    assert_eq!(notes(&plan(true), 0), ["No critic has approved the plan."]);
    assert_eq!(notes(&plan(false), 0), [""; 0]);
}

#[test]
fn tokens_are_told_by_their_kinds() {
    let mut state = looping(&[]);
    assert_eq!(report(&state, Vec::new(), &[]).tokens, []);
    let tokens = &mut state.usage.tokens;
    (tokens.cache_read, tokens.cache_creation, tokens.input, tokens.output) = (4, 3, 2, 1);
    assert_eq!(
        report(&state, Vec::new(), &[]).tokens,
        [("cache reads", 4), ("cache writes", 3), ("input", 2), ("output", 1)]
    );
}

#[test]
fn tasks_are_listed_with_their_waves_and_who_has_them() {
    let task = |id: &str, deps: &[&str], status, owner: Option<&str>, result: Option<&str>| Task {
        id: id.to_owned(),
        name: format!("do\n{id}"),
        deps: deps.iter().map(|id| (*id).to_owned()).collect(),
        status,
        owner: owner.map(str::to_owned),
        result: result.map(str::to_owned),
        ..Task::default()
    };
    let mut state = looping(&[]);
    state.task_graph = vec![
        task("T-1", &[], TaskStatus::Done, Some("w-1"), Some("it\nruns")),
        task("T-2", &["T-1"], TaskStatus::InProgress, Some("w-2"), Some("half")),
        task("T-3", &["T-2", "T-1", "T-0"], TaskStatus::Pending, None, None),
        task("T-4", &["T-4"], TaskStatus::Pending, None, None),
    ]
    .into();
    let shown = |id: &str, standing, wave, after: &[usize], remark: &str| TaskShown {
        id: id.to_owned(),
        name: format!("do {id}"),
        standing,
        wave,
        after: after.to_vec(),
        remark: remark.to_owned(),
    };
    let of_all = report(&state, Vec::new(), &[]);
    let summary = crate::views::report::page::tasks_summary(&of_all);
    assert_eq!(summary, "1 done, 1 in progress, 2 waiting");
    assert_eq!(
        of_all.tasks,
        [
            shown("T-1", TaskStanding::Done, Some(1), &[], "it runs"),
            shown("T-2", TaskStanding::InProgress, Some(2), &[0], "by w-2; half"),
            shown("T-3", TaskStanding::Waiting, None, &[1, 0], ""),
            shown("T-4", TaskStanding::Waiting, None, &[3], ""),
        ]
    );
    let many = |n: usize| {
        let mut state = looping(&[]);
        let last = format!("T-{}", n - 1);
        let deps = |at: usize| if at == 0 { vec![last.as_str(), "T-499"] } else { vec![] };
        let one = |at: usize| task(&format!("T-{at}"), &deps(at), TaskStatus::Done, None, None);
        state.task_graph = (0..n).map(one).collect();
        let report = report(&state, Vec::new(), &[]);
        (report.tasks.len(), report.n_tasks_left_out, report.tasks[0].after.clone())
    };
    assert_eq!(many(501), (500, 1, vec![499]));
    assert_eq!(many(500), (500, 0, vec![499, 499]));
    let mut state = looping(&[]);
    let deps: Vec<String> = (1..52).map(|n| format!("T-{n}")).collect();
    let deps: Vec<&str> = deps.iter().map(String::as_str).collect();
    let all = (0..52).map(|at| format!("T-{at}"));
    let one = |id: String| {
        let deps = if id == "T-0" { deps.as_slice() } else { &[] };
        task(&id, deps, TaskStatus::Pending, None, None)
    };
    state.task_graph = all.map(one).collect();
    assert_eq!(report(&state, Vec::new(), &[]).tasks[0].after, (1..=50).collect::<Vec<_>>());
}

#[test]
fn a_report_names_its_kind_its_goal_and_when_it_was_made() {
    let mut state = looping(&["AC-1"]);
    let head = |state: &LoopState| {
        let report = of_loop(&LoopSeen { next: "do\nit".to_owned(), ..seen(state) });
        assert_eq!(report.next, "do it");
        (report.kind, report.id.clone(), report.goal.clone(), report.made_at)
    };
    let of = |kind, goal: &str, made_at| (kind, "L".to_owned(), goal.to_owned(), made_at);
    assert_eq!(head(&state), of("loop", "Build it", Some(at(900))));
    state.end(EndingKind::Complete, "", at(30));
    assert_eq!(head(&state), of("loop", "Build it", None));
    let task =
        |task: &str| planning(RalplanState { task: task.to_owned(), ..RalplanState::default() });
    assert_eq!(head(&task("Plan it")), of("planning", "Plan it", Some(at(900))));
    assert_eq!(head(&task("")), of("planning", "Build it", Some(at(900))));
    let unheld = of_loop(&LoopSeen {
        criteria: vec![(ReceiptStatus::Passes, Vec::new())],
        ..seen(&LoopState { acceptance_criteria: vec![Criterion::default()], ..looping(&[]) })
    });
    assert_eq!(unheld.evidence[0].standing, "passes", "no end has come that proved it or not");
}
