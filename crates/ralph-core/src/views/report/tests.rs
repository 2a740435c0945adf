//! Reports of loops and refinements, from states and journals made here.

mod decisions;
mod of_loops;
mod of_refinements;
mod whole;

use super::journal::{FromWhen, LineRecord, ReportLine, Worth};
use super::*;
use crate::evidence::observed;
use crate::evidence::receipt::{Proof, ReceiptStatus};
use crate::modes::refine::measure::{ArtefactChange, PlanChange};
use crate::modes::refine::state::{KeptVersion, OpenRound, Refinement, RoundEntry, What};
use crate::modes::refine::{self, PlanAfter};
use crate::state::{
    Criterion, EndingKind, LoopState, Observation, Outcome, Phase, Receipt, Task, TaskStatus,
};
use crate::stop::{self, StopInputs};
use crate::text::token;
use serde_json::{Value, json};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_772_000_000 + second).unwrap()
}

fn looping(criteria: &[&str]) -> LoopState {
    let criterion = |id: &&str| Criterion {
        id: (*id).to_owned(),
        verification_command: "make test".to_owned(),
        ..Criterion::default()
    };
    LoopState {
        loop_id: "L".to_owned(),
        phase: Phase::Implementation,
        created_at: at(0),
        started_at: Some(at(0)),
        prompt: "Build it".to_owned(),
        acceptance_criteria: criteria.iter().map(criterion).collect(),
        ..LoopState::default()
    }
}

fn line(second: i64, event: &str, decision: &str, seen: Value) -> ReportLine {
    ReportLine {
        at: at(second),
        event: event.to_owned(),
        decision: decision.to_owned(),
        why: "because".to_owned(),
        position: "1/25".to_owned(),
        seen,
        record: LineRecord::None,
        took_us: 1_000,
        rows: Vec::new(),
    }
}

/// A stop on a tree; `passed` is the result of the checks for a request.
fn stop(state: &mut LoopState, second: i64, tree: &str, passed: Option<bool>) -> ReportLine {
    let message = if passed.is_some() { "RALPH_COMPLETE" } else { "working" };
    let proof = passed.map(|passed| {
        for criterion in &mut state.acceptance_criteria {
            criterion.receipt = Some(Receipt {
                command: criterion.verification_command.clone(),
                passed,
                by: crate::state::CriterionRunner::Hook,
                exit_code: Some(i32::from(!passed)),
                tree_before: tree.to_owned(),
                tree_after: tree.to_owned(),
                ..Receipt::default()
            });
        }
        let ids = state.acceptance_criteria.iter();
        let trees = ids.map(|one| (one.id.clone(), tree.to_owned())).collect();
        Proof { trees, ran: true, ..Proof::default() }
    });
    let seen = StopInputs {
        now: at(second),
        prompt_id: String::new(),
        request: token::request(message, "RALPH_COMPLETE"),
        tree: Some(tree.to_owned()),
        proof,
        ..StopInputs::default()
    };
    let decided = stop::decide(crate::modes::mode::at_stop(state), state, &seen);
    let decision = if state.ending.is_some() { "ended" } else { "go on" };
    let record = LineRecord::Stop(Box::new(decided.record));
    ReportLine { record, ..line(second, "Stop", decision, Value::Null) }
}

fn report(state: &LoopState, lines: Vec<ReportLine>, criteria: &[ReceiptStatus]) -> Report {
    of_seen(state, lines, criteria, 0)
}

fn of_seen(
    state: &LoopState,
    lines: Vec<ReportLine>,
    criteria: &[ReceiptStatus],
    n_unreadable: usize,
) -> Report {
    let criteria = criteria.iter().map(|standing| (*standing, Vec::new())).collect();
    let next = "`ralph status` shows it".to_owned();
    of_loop(&LoopSeen {
        state,
        lines,
        n_unreadable,
        criteria,
        changes: None,
        n_signals: 0,
        refinement: None,
        next,
        now: at(900),
    })
}

/// The words of the only criterion over time; unchecked ones are in brackets.
fn history_words(report: &Report) -> String {
    let cells = report.history.rows[0].cells.iter().map(|cell| match cell.looked {
        FromWhen::Now => cell.word.clone(),
        FromWhen::Before => format!("({})", cell.word),
    });
    cells.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_criterion_is_what_it_was_found_to_be_and_stale_once_something_changed() {
    let mut state = looping(&["AC-1"]);
    let lines = vec![
        stop(&mut state, 10, "a", None),
        stop(&mut state, 20, "b", Some(false)),
        stop(&mut state, 30, "b", None),
        stop(&mut state, 40, "c", None),
        line(45, "ralph verify", "holds", json!({"AC-1": "holds"})),
        stop(&mut state, 50, "d", None),
        stop(&mut state, 60, "e", None),
    ];
    let report = report(&state, lines, &[ReceiptStatus::Stale]);
    assert_eq!(
        history_words(&report),
        "(not_run) failed (failed) (stale) holds (holds) stale",
        "a run of the criteria says on no fingerprint what it found, so nothing is called stale for it"
    );
    assert_eq!(report.history.moments, ["1", "2", "3", "4", "5", "6", "now"]);
}

#[test]
fn an_ended_loop_shows_what_was_proven_and_no_more() {
    let mut state = looping(&["AC-1", "AC-2"]);
    let lines = vec![stop(&mut state, 20, "b", Some(true))];
    state.acceptance_criteria[1].verified = false;
    state.end(EndingKind::Cancelled, "a person cancelled", at(30));
    let report = report(&state, lines, &[ReceiptStatus::Passes, ReceiptStatus::Passes]);
    let standings: Vec<_> = report.evidence.iter().map(|one| one.standing).collect();
    assert_eq!(standings, ["passes", "stale"]);
    assert_eq!(report.evidence[1].receipt, "passed when it was last run");
    assert_eq!((report.gauges[1].value.as_str(), report.gauges[1].of.as_str()), ("1", "of 2"));
    assert_eq!(report.history.rows[1].cells.last().unwrap().worth, Worth::Stale);
    assert_eq!(report.made_at, None, "it says the same whenever it is made");
}

#[test]
fn a_receipt_tells_what_was_compared_and_no_part_of_its_command() {
    let mut state = looping(&["AC-1"]);
    let lines = vec![stop(&mut state, 20, "b", Some(true))];
    let criterion = &mut state.acceptance_criteria[0];
    criterion.verification_command = "cd lib; make test".to_owned();
    criterion.receipt.as_mut().unwrap().tests_run = Some(3);
    criterion.observed.without =
        Some(Observation { outcome: Outcome::Failed, tests_failed: 1, ..Observation::default() });
    let sentence = observed::sentence(criterion, ReceiptStatus::Proven);
    assert_eq!(sentence, "cd lib; make test: 3 tests pass; 1 of them fails without the change");
    let report = report(&state, lines, &[ReceiptStatus::Proven]);
    let receipt = report.evidence[0].receipt.as_str();
    let expected = "exit code 0, 3 tests, 0 ms, on tree b, 1 of them fails without the change";
    assert_eq!(receipt, expected);
}

#[test]
fn each_iteration_has_its_time_and_its_tokens() {
    let mut state = looping(&[]);
    let mut lines = vec![line(0, "UserPromptExpansion", "started", Value::Null)];
    for (second, tokens) in [(60, 1_000), (180, 2_500)] {
        state.usage.tokens.output = tokens;
        lines.push(stop(&mut state, second, &second.to_string(), None));
    }
    lines.push(line(200, "PreToolUse", "denied", json!({"tool": "Bash"})));
    let report = report(&state, lines, &[]);
    let sums: Vec<String> =
        report.spent.iter().map(|one| format!("{}: {}", one.title, one.sum())).collect();
    assert_eq!(
        sums,
        ["Turn 1: 1 min, 1,000 tokens", "Turn 2: 2 min, 1,500 tokens", "Under way: 20 s"]
    );
    let steps: Vec<&str> =
        report.timeline.iter().flat_map(|turn| &turn.steps).map(|step| &*step.what).collect();
    assert_eq!(steps, ["Started", "Next turn", "Next turn", "Bash refused"]);
}

#[test]
fn a_long_journal_is_cut_at_its_beginning_and_says_so() {
    let lines = (0..1_000).map(|second| line(second, "Odd", "word", Value::Null)).collect();
    let report = report(&looping(&[]), lines, &[]);
    assert_eq!((report.n_left_out, report.timeline[0].steps.len()), (700, 300));
    assert_eq!(report.timeline[0].steps[299].at, Some(at(999)));
    assert!(page::render(&report).contains("700 earlier ones are left out"));
}

#[test]
fn ten_thousand_tasks_are_counted_and_the_first_are_listed() {
    let mut state = looping(&[]);
    state.task_graph = (0..10_000)
        .map(|n| Task {
            id: format!("T-{n}"),
            name: "do it".to_owned(),
            deps: (n > 0)
                .then(|| format!("T-{}", n / 2))
                .into_iter()
                .filter(|id| *id != format!("T-{n}"))
                .collect(),
            status: if n < 9_000 { TaskStatus::Done } else { TaskStatus::Pending },
            ..Task::default()
        })
        .collect();
    let report = report(&state, Vec::new(), &[]);
    assert_eq!((report.tasks.len(), report.n_tasks_left_out), (500, 9_500));
    assert_eq!(report.gauges[1].value, "9,000");
    let page = page::render(&report);
    assert!(page.contains("and 9,500 more") && page.contains("wave 1") && page.len() < 400_000);
    assert!(markdown::render(&report).len() < 60_000);
}

/// Every text stays text, is bounded, and contains no acting character.
#[test]
fn no_text_becomes_markup() {
    let evil =
        format!("</style><script>alert(1)</script>\u{1b}[2J\u{202e}`|\n# {}", "x".repeat(1 << 16));
    let mut state = looping(&["AC-1"]);
    let mut told = stop(&mut state, 10, "a", Some(false));
    told.rows = vec![(evil.clone(), evil.clone()); 50];
    for text in [&mut told.why, &mut told.position] {
        text.clone_from(&evil);
    }
    let mut odd = line(20, &evil, &evil, json!({"tool": evil}));
    odd.position.clone_from(&evil);
    let criterion = &mut state.acceptance_criteria[0];
    for text in [&mut criterion.id, &mut criterion.description, &mut criterion.verification_command]
    {
        text.clone_from(&evil);
    }
    criterion.receipt.as_mut().unwrap().tail.clone_from(&evil);
    state.task_graph = vec![Task {
        id: evil.clone(),
        name: evil.clone(),
        deps: vec![evil.clone()],
        status: TaskStatus::Other(evil.clone()),
        result: Some(evil.clone()),
        ..Task::default()
    }]
    .into();
    for text in
        [&mut state.loop_id, &mut state.prompt, &mut state.session_id, &mut state.project_root]
    {
        text.clone_from(&evil);
    }
    state.end(EndingKind::Other(evil.clone()), evil.clone(), at(30));
    let mut report = report(&state, vec![told, odd], &[ReceiptStatus::Failed]);
    report.next = super::words::line(&evil, 400);
    for (form, most) in [(page::render(&report), 200_000), (markdown::render(&report), 60_000)] {
        assert!(form.len() < most, "{} letters", form.len());
        assert!(!form.contains("<script") && !form.contains("alert(1)<"), "it became markup");
        let acts = |letter: char| crate::text::sanitize::acts(letter) && letter != '\n';
        assert!(!form.contains(acts), "a letter of it acts");
    }
    let page = page::render(&report);
    assert_eq!(page.matches("</style>").count(), 1);
}

/// A refinement whose rounds report and change these amounts.
fn refined(rounds: &[(Option<u32>, Option<u64>)]) -> Refinement {
    let entry = |(at, (changes, lines)): (usize, &(Option<u32>, Option<u64>))| RoundEntry {
        iteration: at as u32 + 1,
        changes: *changes,
        measured: lines
            .map(|lines| ArtefactChange::Plan(PlanChange { lines, ..PlanChange::default() })),
        ended_at: Some(at_minute(at)),
        ..RoundEntry::default()
    };
    Refinement {
        history: rounds.iter().enumerate().map(entry).collect(),
        iterations_completed: rounds.len() as u32,
        ..Refinement::new("p.md", refine::RefineSettings::default(), at(0))
    }
}

fn at_minute(minute: usize) -> Timestamp {
    at(60 * (minute as i64 + 1))
}

fn refinement_report(
    session: &Refinement,
    activity: Activity,
    versions: Vec<KeptVersion>,
) -> Report {
    of_refinement(&RefinementSeen {
        name: "api",
        word: "api",
        session,
        versions,
        activity,
        now: at(9_000),
    })
}

#[test]
fn a_round_is_what_was_known_of_it_and_counts_towards_a_plateau_as_the_rule_says() {
    let mut session = refined(&[
        (Some(4), Some(20)),
        (Some(1), Some(6)),
        (None, Some(1)),
        (Some(0), None),
        (Some(2), Some(3)),
        (Some(1), Some(5)),
        (Some(0), Some(0)),
    ]);
    session.history[1].plan = PlanAfter::Declined;
    let report = refinement_report(&session, Activity::Nobody, Vec::new());
    let told: Vec<_> = report.rounds.all.iter().map(|one| (one.word, &*one.said.word)).collect();
    assert_eq!(
        told,
        [
            ("changed", "4"),
            ("declined", "1"),
            ("unknown", "unknown"),
            ("unknown", "0"),
            ("changed", "2"),
            ("settling", "1"),
            ("settling", "0"),
        ]
    );
    let shares: Vec<_> = report.rounds.all.iter().map(|one| one.measured.share).collect();
    let hundredths = [100, 30, 5, 0, 15, 25, 0].map(Some);
    assert_eq!(shares[..3], hundredths[..3]);
    assert_eq!((shares[3], &shares[4..]), (None, &hundredths[4..]), "what is not known has no bar");
    assert_eq!(report.gauges[3].value, "2");
}

#[test]
fn a_refinement_stands_where_its_session_says_and_whoever_is_at_it() {
    let none = || Activity::Nobody;
    let runs = || Activity::Runs("running in tmux refine-api".to_owned());
    let check = |status: refine::Status, activity, word: &str, tone, next: &str| {
        let mut session = refined(&[(Some(0), Some(0)); 5]);
        session.round = Some(OpenRound { iteration: 6, ..OpenRound::default() });
        session.status = status;
        let report = refinement_report(&session, activity, Vec::new());
        assert_eq!((report.outcome.word.as_str(), report.outcome.tone), (word, tone));
        assert!(report.next.contains(next), "{word}: {}", report.next);
        assert_eq!(report.made_at.is_none(), session.status.is_over());
    };
    use refine::Status::{Cancelled, Interrupted, MaxIterations, Plateau, Running};
    check(Plateau, none(), "plateau", Tone::Good, "`ralph run --planned`");
    check(Cancelled, none(), "cancelled", Tone::Quiet, "`ralph refine history --id api`");
    let more = "`ralph refine loop --id api --max-iterations 10`";
    check(MaxIterations, none(), "limit reached", Tone::Warn, more);
    check(Interrupted, none(), "interrupted", Tone::Warn, "`ralph refine loop --id api`");
    check(Running, none(), "interrupted", Tone::Warn, "`ralph refine loop --id api`");
    check(Running, runs(), "running in tmux refine-api", Tone::Live, "`ralph refine status");
    check(
        Running,
        Activity::Pauses,
        "paused in a conversation",
        Tone::Warn,
        "/ralph in its session",
    );
    let mut early = refined(&[(Some(0), Some(0)); 3]);
    early.status = Plateau;
    let report = refinement_report(&early, none(), Vec::new());
    assert!(
        report.notes[0].contains("came early") && report.next.contains("/plan-refinery review")
    );
    let mut recorded = refined(&[(Some(9), Some(99)); 3]);
    let towards = |session: &Refinement| {
        let gauge = refinement_report(session, none(), Vec::new()).gauges.remove(3);
        format!("{}: {} {}", gauge.label, gauge.value, gauge.of)
    };
    assert_eq!(towards(&recorded), "Towards a plateau: 0 of 2");
    recorded.status = Plateau;
    assert_eq!(towards(&recorded), "Towards a plateau: 2 of 2");
}

/// Whatever its length and its texts.
#[test]
fn thousands_of_rounds_are_bounded_and_no_text_of_them_acts() {
    let evil = format!("</style><script>\u{1b}[2J`|{}", "x".repeat(1 << 10));
    let mut session = refined(&vec![(Some(3), Some(9)); 2_000]);
    session.history.iter_mut().for_each(|entry| entry.summary.clone_from(&evil));
    session.plan_file.clone_from(&evil);
    session.status = refine::Status::Other(evil.clone());
    let version = |number: usize| KeptVersion {
        number: number as u32,
        round: number as u32,
        what: What::Round,
        at: at_minute(number),
        sha256: String::new(),
    };
    let report = refinement_report(
        &session,
        Activity::Runs(evil.clone()),
        (1..2_000).map(version).collect(),
    );
    assert_eq!((report.rounds.all.len(), report.rounds.n_left_out), (60, 1_940));
    assert_eq!(report.rounds.all[59].version, None, "of the last round none is kept");
    assert_eq!(report.rounds.all[58].version, Some(1_999));
    let steps: usize = report.timeline.iter().map(|turn| turn.steps.len()).sum();
    assert_eq!((steps, report.n_left_out), (300, 3_699));
    for (form, most) in [(page::render(&report), 500_000), (markdown::render(&report), 60_000)] {
        assert!(form.len() < most, "{} letters", form.len());
        assert!(form.contains("left out") && !form.contains("<script"));
        let acts = |letter: char| crate::text::sanitize::acts(letter) && letter != '\n';
        assert!(!form.contains(acts), "a letter of it acts");
    }
}

#[test]
fn the_loop_of_a_conversation_tells_of_the_rounds_until_it_ended() {
    let session = refined(&[(Some(4), Some(20)), (Some(3), Some(9)), (Some(2), Some(4))]);
    let mut state = looping(&[]);
    let rounds = |state: &LoopState| {
        let version = |number, second| KeptVersion {
            number,
            round: number,
            what: What::Round,
            at: at(second),
            sha256: String::new(),
        };
        let versions = vec![version(1, 120), version(2, 121)];
        let refinement = Some((session.clone(), versions));
        let next = String::new();
        let (lines, criteria) = (Vec::new(), Vec::new());
        let (n_unreadable, n_signals, now) = (0, 0, at(900));
        let seen = LoopSeen {
            state,
            lines,
            n_unreadable,
            criteria,
            changes: None,
            n_signals,
            refinement,
            next,
            now,
        };
        of_loop(&seen).rounds.all.iter().map(|round| round.version).collect::<Vec<_>>()
    };
    assert_eq!(rounds(&state), [Some(1), Some(2), None]);
    state.end(EndingKind::MaxIterations, "full", at(120));
    assert_eq!(rounds(&state), [Some(1), None]);
}

#[test]
fn changes_are_counted_and_a_long_list_is_cut() {
    let file = |n: usize| FileChange { path: format!("src/{n}.rs"), lines: Some((2, 1)) };
    let mut changes = Changes {
        files: (0..=Changes::MOST).map(file).collect(),
        commits: vec![("abc1234".to_owned(), "Fix <it>".to_owned())],
        until: "until now",
        unknown: String::new(),
    };
    assert_eq!(changes.summary(), "201 files, +402 -201, 1 commit; until now");
    assert_eq!((changes.rows()[0].len(), changes.n_left_out()), (200, 1));
    let state = looping(&["AC-1"]);
    let mut report = report(&state, Vec::new(), &[ReceiptStatus::Passes]);
    report.changes = Some(changes.clone());
    for shown in [markdown::render(&report), page::render(&report)] {
        assert!(shown.contains("201 files, +402 -201, 1 commit") && shown.contains("src/0.rs"));
        assert!(!shown.contains("<it>"), "{shown}");
    }
    changes.unknown = "no git".to_owned();
    report.changes = Some(changes);
    assert!(markdown::render(&report).contains("**Changed:** no git"));
}
