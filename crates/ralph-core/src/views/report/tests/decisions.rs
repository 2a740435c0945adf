//! What a journal tells a report, decision by decision.

use super::super::journal::{FromWhen, LineRecord, ReportLine, Worth};
use super::super::*;
use super::{at, line, looping, of_seen, report, stop};
use crate::evidence::receipt::ReceiptStatus;
use crate::guard::DenialRecord;
use crate::modes::build;
use crate::state::{
    EndingKind, LoopError, LoopState, Regression, Signal, Task, TaskStatus, Worker,
};
use serde_json::{Value, json};

/// A refused call of a tool with a command, a path or neither.
fn denial(tool: &str, command: Option<&str>, path: Option<&str>) -> DenialRecord {
    serde_json::from_value(json!({
        "rule": "own_state", "tool": tool, "command": command, "path": path,
        "shortened": false, "cut": false, "cwd": "/srv", "standing": "running",
        "session_id": "s",
        "places": {"ralph_home": "/r", "config_dirs": [], "user_config": "/u", "executables": [],
                   "home": "/h"},
    }))
    .unwrap()
}

fn denied(second: i64, tool: &str, command: Option<&str>, path: Option<&str>) -> ReportLine {
    let record = LineRecord::Denial(Box::new(denial(tool, command, path)));
    ReportLine { record, ..line(second, "PreToolUse", "denied", json!({"tool": tool})) }
}

#[track_caller]
fn check(told: ReportLine, expected: (&str, Tone, &str)) {
    let shown = report(&looping(&[]), vec![told], &[]);
    let step = &shown.timeline[0].steps[0];
    assert_eq!((step.what.as_str(), step.tone, step.why.as_str()), expected);
}

#[test]
fn each_decision_is_told_in_a_few_words_with_its_rating_and_its_reason() {
    let of = |event: &str, decision: &str| {
        let rows = vec![
            ("tree".to_owned(), "abc".to_owned()),
            ("because".to_owned(), "the row".to_owned()),
        ];
        ReportLine { rows, ..line(1, event, decision, Value::Null) }
    };
    for (event, decision, what, tone, why) in [
        ("Stop", "go on", "Next turn", Tone::Live, "the row"),
        ("Stop", "let go", "Turn over", Tone::Quiet, "because"),
        ("SubagentStop", "go on", "go on", Tone::Quiet, "because"),
        ("SubagentStop", "let go", "let go", Tone::Quiet, "because"),
        ("SessionEnd", "ended", "The loop ended", Tone::Warn, "the row"),
        ("PreToolUse", "denied", "a tool refused", Tone::Warn, "because"),
        ("PostToolUse", "denied", "denied", Tone::Quiet, "because"),
        ("ralph verify", "holds", "Criteria run", Tone::Good, "because"),
        ("ralph verify", "does not hold", "Criteria run", Tone::Bad, "because"),
        ("PostToolUse", "told", "Checks after an edit", Tone::Warn, "because"),
        ("PreToolUse", "told", "told", Tone::Quiet, "because"),
        ("Stop", "delivered", "Signal delivered", Tone::Live, "because"),
        ("UserPromptExpansion", "started", "Started", Tone::Live, "because"),
        ("ralph merge", "merged", "ralph merge: merged", Tone::Good, "because"),
        ("UserPromptExpansion", "resumed", "loop resumed", Tone::Good, "because"),
        ("ralph criteria", "accepted", "ralph criteria: accepted", Tone::Good, "because"),
        ("SessionStart", "continued", "continued", Tone::Good, "because"),
        ("SessionEnd", "paused", "loop paused", Tone::Warn, "because"),
        ("SubagentStop", "blocked", "blocked", Tone::Warn, "because"),
        ("ralph merge", "conflict", "ralph merge: conflict", Tone::Warn, "because"),
        ("Stop", "turned red", "a criterion turned red", Tone::Warn, "because"),
        ("SessionStart", "unusable", "unusable", Tone::Warn, "because"),
        ("SubagentStop", "kept_out", "kept out", Tone::Quiet, "because"),
    ] {
        check(of(event, decision), (what, tone, why));
    }
    let ended = |why: &str| ReportLine { why: why.to_owned(), ..of("Stop", "ended") };
    for (why, what, tone) in [
        ("max_iterations: all 25", "The loop ended: max iterations", Tone::Warn),
        ("complete: all hold", "The loop ended: complete", Tone::Good),
        ("stalled: nothing moved", "The loop ended: stalled", Tone::Bad),
        ("cancelled: typed", "The loop ended: cancelled", Tone::Quiet),
        ("it said: no", "The loop ended", Tone::Warn),
        (": no", "The loop ended", Tone::Warn),
    ] {
        check(ended(why), (what, tone, "the row"));
    }
}

#[test]
fn a_refused_call_names_its_rule_and_what_was_called() {
    check(
        denied(1, "Bash", Some("make  install"), Some("/never")),
        ("Bash refused", Tone::Warn, "own state: make install"),
    );
    check(denied(1, "Write", None, Some("/r/x")), ("Write refused", Tone::Warn, "own state: /r/x"));
    check(denied(1, "Agent", None, None), ("Agent refused", Tone::Warn, "own state"));
}

#[test]
fn only_a_refused_request_at_a_stop_is_a_refused_completion() {
    let refused = || stop(&mut looping(&["AC-1"]), 10, "a", Some(false));
    check(refused(), ("Completion refused", Tone::Warn, "because"));
    let let_go = ReportLine { decision: "let go".to_owned(), ..refused() };
    check(let_go, ("Turn over", Tone::Quiet, "because"));
    let elsewhere = ReportLine { event: "SubagentStop".to_owned(), ..refused() };
    check(elsewhere, ("go on", Tone::Quiet, "because"));
    check(stop(&mut looping(&["AC-1"]), 10, "a", None), ("Next turn", Tone::Live, "because"));
}

#[test]
fn the_record_of_a_line_is_read_as_the_one_of_its_event() {
    let stopped = stop(&mut looping(&["AC-1"]), 10, "a", None).record;
    let LineRecord::Stop(record) = &stopped else { panic!("no record") };
    let stop = serde_json::to_value(record).unwrap();
    let denial = denial("Bash", Some("ls"), None);
    let refused = LineRecord::Denial(Box::new(denial.clone()));
    let denial = serde_json::to_value(denial).unwrap();
    for (event, record, expected) in [
        ("Stop", Some(&stop), stopped.clone()),
        ("Stop", Some(&denial), LineRecord::None),
        ("Stop", None, LineRecord::None),
        ("PreToolUse", Some(&denial), refused),
        ("PreToolUse", Some(&stop), LineRecord::None),
        ("PostToolUse", Some(&denial), LineRecord::None),
        ("SubagentStop", Some(&stop), LineRecord::None),
    ] {
        assert_eq!(LineRecord::parse(event, record), expected, "{event}");
    }
}

/// Each turn: its title, its short name, its time and tokens, the number of its decisions, and when it ended.
fn turns(lines: Vec<ReportLine>) -> Vec<(String, String, String, usize, Option<Timestamp>)> {
    let report = report(&looping(&[]), lines, &[]);
    assert_eq!(report.spent.len(), report.timeline.len());
    let turns = report.spent.iter().zip(&report.timeline).map(|(spent, turn)| {
        assert_eq!((&spent.title, spent.sum()), (&turn.title, turn.sum.clone()));
        (turn.title.clone(), spent.short.clone(), spent.sum(), turn.steps.len(), turn.at)
    });
    turns.collect()
}

#[test]
fn a_journal_is_told_by_turns_until_the_end_and_by_rounds_of_clients() {
    let word = |second, decision: &str| line(second, "Stop", decision, Value::Null);
    let turn = |title: &str, short: &str, sum: &str, n: usize, second: i64| {
        (title.to_owned(), short.to_owned(), sum.to_owned(), n, Some(at(second)))
    };
    assert_eq!(
        turns(vec![
            word(0, "started"),
            word(5, "go on"),
            word(25, "let go"),
            word(65, "ended"),
            word(70, "sent"),
            word(71, "sent"),
        ]),
        [
            turn("Turn 1", "1", "5 s", 2, 5),
            turn("Last turn", "end", "1 min", 2, 65),
            turn("Afterwards", "Afterwards", "6 s", 2, 71),
        ]
    );
    let round = |second, tokens: Value| line(second, "ralph build", build::ENDED, tokens);
    assert_eq!(
        turns(vec![
            round(60, json!({"tokens": 1_500})),
            round(90, json!({"tokens": 40_000})),
            round(95, json!({"tokens": 0})),
            round(99, json!({})),
            word(100, "ended"),
            word(101, "sent"),
        ]),
        [
            turn("Round 1", "1", "1 min, 1,500 tokens", 1, 60),
            turn("Round 2", "2", "30 s, 40 k tokens", 1, 90),
            turn("Round 3", "3", "5 s", 1, 95),
            turn("Round 4", "4", "4 s", 1, 99),
            turn("The end", "end", "1 s", 1, 100),
            turn("Afterwards", "Afterwards", "1 s", 1, 101),
        ]
    );
    assert_eq!(turns(vec![word(3, "sent")]), [turn("Under way", "now", "3 s", 1, 3)]);
    assert_eq!(turns(Vec::new()), []);
}

#[test]
fn the_oldest_decisions_are_left_out_and_with_them_turns_without_any_other() {
    let journal = |n: i64| {
        let decision = |second: i64| if second == 2 || second == 5 { "go on" } else { "sent" };
        let lines = (0..n).map(|second| line(second, "Stop", decision(second), Value::Null));
        let report = report(&looping(&[]), lines.collect(), &[]);
        let turns = report.timeline.iter().map(|turn| (turn.title.clone(), turn.steps.len()));
        (report.n_left_out, turns.collect::<Vec<_>>())
    };
    let turn = |title: &str, n: usize| (title.to_owned(), n);
    assert_eq!(
        journal(300),
        (0, vec![turn("Turn 1", 3), turn("Turn 2", 3), turn("Under way", 294)])
    );
    assert_eq!(
        journal(301),
        (1, vec![turn("Turn 1", 2), turn("Turn 2", 3), turn("Under way", 295)])
    );
    assert_eq!(journal(304), (4, vec![turn("Turn 2", 2), turn("Under way", 298)]));
    assert_eq!(journal(306), (6, vec![turn("Under way", 300)]));
}

#[test]
fn the_first_details_that_say_something_are_kept() {
    let row = |n: usize| (format!("label\n{n}"), format!("value {n}\n\tof it\n"));
    let mut rows: Vec<(String, String)> = (0..13).map(row).collect();
    rows.insert(0, ("empty".to_owned(), " \n".to_owned()));
    let told = ReportLine { rows, ..line(1, "Stop", "go on", Value::Null) };
    let report = report(&looping(&[]), vec![told], &[]);
    let expected: Vec<(String, String)> =
        (0..12).map(|n| (format!("label {n}"), format!("value {n}\n    of it"))).collect();
    let step = &report.timeline[0].steps[0];
    assert_eq!((step.at, &step.rows), (Some(at(1)), &expected));
}

fn trouble(title: &'static str, tone: Tone, items: &[(&str, &str)]) -> Trouble {
    let items = items.iter().map(|(at, what)| ((*at).to_owned(), (*what).to_owned())).collect();
    Trouble { title, tone, items, more: 0 }
}

/// A stop after which the work stands still in this way.
fn still(second: i64, signal: Signal, verdict: &str, cause: Option<Signal>) -> ReportLine {
    let mut told = stop(&mut looping(&[]), second, "a", None);
    let LineRecord::Stop(record) = &mut told.record else { panic!("no record") };
    record.outcome.signal = signal;
    record.outcome.verdict = verdict.to_owned();
    record.outcome.cause = cause;
    ReportLine { position: format!("{second}/25"), ..told }
}

#[test]
fn what_was_in_the_way_is_listed_by_kinds() {
    let mut state = looping(&["AC-1", "AC-2", "AC-3"]);
    let mut proving = looping(&["AC-1", "AC-2"]);
    let refused = stop(&mut proving, 10, "a", Some(false));
    let mut nothing_open = looping(&[]);
    let asked = ReportLine {
        why: "no proof\nyet".to_owned(),
        ..stop(&mut nothing_open, 11, "a", Some(false))
    };
    let asked = ReportLine { decision: "go on".to_owned(), ..asked };
    let red = |checkpoint: &str, files: &[&str], more| {
        let files = files.iter().map(|file| (*file).to_owned()).collect();
        Some(Regression { checkpoint: checkpoint.to_owned(), files, more })
    };
    state.acceptance_criteria[0].turned_red = red("refs/ralph/L/4", &["a.rs", "b.rs"], 3);
    state.acceptance_criteria[1].turned_red = red("", &["a.rs", "b.rs"], 0);
    state.acceptance_criteria[2].turned_red = red("refs/ralph/", &[], 0);
    let task = |id: &str, status, result: Option<&str>| Task {
        id: id.to_owned(),
        status,
        result: result.map(str::to_owned),
        ..Task::default()
    };
    state.task_graph = vec![
        task("T-1", TaskStatus::Failed, Some("no key")),
        task("T-2", TaskStatus::Blocked, None),
        task("T-3", TaskStatus::Done, Some("done")),
    ]
    .into();
    let worker = |task: &str, kept_out: &str| Worker {
        task: task.to_owned(),
        about: "find it".to_owned(),
        kept_out: kept_out.to_owned(),
        ..Worker::default()
    };
    state.workers = vec![worker("T-1", "in conflict"), worker("", "no commit"), worker("T-2", "")];
    state.errors = vec![LoopError { at: at(3), message: "disk\nfull".to_owned() }];
    let lines = vec![
        refused,
        asked,
        still(1, Signal::NoChange, "go on", None),
        still(2, Signal::Idle, "end", Some(Signal::Idle)),
        still(3, Signal::Cycle, "let go", None),
        still(4, Signal::Working, "go on", None),
        line(20, "PostToolUse", "told", Value::Null),
        line(21, "PostToolUse", "sent", Value::Null),
        line(22, "SessionEnd", "told", Value::Null),
        denied(30, "Bash", Some("ls"), None),
        denied(31, "Bash", Some("rm"), None),
        denied(32, "Bash", Some("ls"), None),
        denied(33, "Bash", Some("ls"), None),
        line(34, "PreToolUse", "denied", Value::Null),
        line(35, "PreToolUse", "allowed", Value::Null),
        line(36, "Stop", "denied", Value::Null),
    ];
    let shown = of_seen(&state, lines.clone(), &[], 2);
    assert_eq!(
        shown.trouble,
        [
            trouble(
                "Completion was requested and refused",
                Tone::Warn,
                &[
                    ("1/25", "AC-1 failed (exit code 1); AC-2 failed (exit code 1)"),
                    ("1/25", "no proof yet"),
                ]
            ),
            trouble(
                "Held, and turned red",
                Tone::Bad,
                &[
                    ("AC-1", "held at checkpoint 4; changed since: a.rs, b.rs and 3 more"),
                    ("AC-2", "held before; changed since: a.rs, b.rs"),
                    ("AC-3", "held before"),
                ]
            ),
            trouble(
                "Standing still",
                Tone::Warn,
                &[
                    ("1/25", "nothing had changed since the stop before"),
                    ("2/25", "nothing had changed, and the turn was text only"),
                ]
            ),
            trouble("Found by checks after edits", Tone::Warn, &[("1/25", "because")]),
            trouble(
                "Tool calls that were refused",
                Tone::Quiet,
                &[
                    ("1/25", "Bash: ls (own state), 3 times"),
                    ("1/25", "Bash: rm (own state)"),
                    ("1/25", "because"),
                ]
            ),
            trouble(
                "Tasks that are stuck",
                Tone::Bad,
                &[("T-1", "failed: no key"), ("T-2", "blocked: no reason was given")]
            ),
            trouble(
                "Work that was not merged",
                Tone::Bad,
                &[("T-1", "in conflict"), ("find it", "no commit")]
            ),
            trouble(
                "Errors",
                Tone::Bad,
                &[(at(3).strftime("%H:%M:%SZ").to_string().as_str(), "disk full")]
            ),
            trouble(
                "Journal",
                Tone::Warn,
                &[("", "2 lines could not be read; what they said is not known")]
            ),
        ]
    );
    assert_eq!(of_seen(&looping(&["AC-1"]), Vec::new(), &[], 0).trouble, []);
    let one = of_seen(&looping(&[]), Vec::new(), &[], 1).trouble;
    let unread = "1 line could not be read; what they said is not known";
    assert_eq!(one, [trouble("Journal", Tone::Warn, &[("", unread)])]);
}

#[test]
fn the_first_problems_of_a_kind_are_listed_and_the_others_counted() {
    let count = |n: i64| {
        let lines = (0..n).map(|second| line(second, "PostToolUse", "told", Value::Null));
        let trouble = report(&looping(&[]), lines.collect(), &[]).trouble;
        (trouble[0].items.len(), trouble[0].more)
    };
    assert_eq!([count(1), count(40), count(41)], [(1, 0), (40, 0), (40, 1)]);
}

#[test]
fn a_table_of_criteria_is_cut_to_the_latest_turns_and_the_first_criteria() {
    let ids: Vec<String> = (0..101).map(|n| format!("AC-{n}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let history = |n_criteria: usize, n_turns: i64| {
        let lines = (0..n_turns).map(|second| line(second, "Stop", "go on", Value::Null));
        let history = report(&looping(&ids[..n_criteria]), lines.collect(), &[]).history;
        assert!(history.rows.iter().all(|row| row.cells.len() == history.moments.len()));
        let (n_rows, n_moments) = (history.n_rows_left_out, history.n_moments_left_out);
        (history.rows.len(), n_rows, history.moments, n_moments)
    };
    let moments = |first: usize, last: usize| -> Vec<String> {
        (first..=last).map(|n| n.to_string()).chain(["now".to_owned()]).collect()
    };
    assert_eq!(history(100, 39), (100, 0, moments(1, 39), 0));
    assert_eq!(history(101, 40), (100, 1, moments(2, 40), 1));
    assert_eq!(history(0, 3), (0, 0, Vec::new(), 0));
}

#[test]
fn each_word_of_a_receipt_is_rated() {
    let words = [
        ("holds", Worth::Holds),
        ("passes", Worth::Holds),
        ("proven", Worth::Holds),
        ("kept", Worth::Holds),
        ("reviewed", Worth::Holds),
        ("not_run", Worth::Never),
        ("never_run", Worth::Never),
        ("stale", Worth::Stale),
        ("flaky", Worth::Stale),
        ("failed", Worth::Fails),
        ("timed_out", Worth::Fails),
        ("not_a_word", Worth::Fails),
    ];
    for (word, worth) in words {
        assert_eq!(Worth::from_word(word), worth, "{word}");
    }
}

#[test]
fn a_status_is_of_the_turn_in_which_a_receipt_was_made_and_stale_after_a_change() {
    let mut state = looping(&["AC-1"]);
    let told = |state: &LoopState, lines: Vec<ReportLine>, now: &[ReceiptStatus]| {
        let history = report(state, lines, now).history;
        let cells = history.rows[0].cells.iter();
        cells.map(|cell| (cell.worth, cell.word.clone(), cell.looked)).collect::<Vec<_>>()
    };
    let cell = |worth, word: &str, looked| (worth, word.to_owned(), looked);
    let mut checked = stop(&mut state, 10, "a", Some(false));
    let LineRecord::Stop(record) = &mut checked.record else { panic!("no record") };
    record.seen.tree_after_checks = Some("b".to_owned());
    let unchanged = stop(&mut state, 20, "b", None);
    let changed = stop(&mut state, 30, "a", None);
    assert_eq!(
        told(&state, vec![checked, unchanged, changed], &[ReceiptStatus::Failed]),
        [
            cell(Worth::Fails, "failed", FromWhen::Now),
            cell(Worth::Fails, "failed", FromWhen::Before),
            cell(Worth::Stale, "stale", FromWhen::Before),
            cell(Worth::Fails, "failed", FromWhen::Now),
        ],
        "the tree that the checks left is the one that counts"
    );
    let round = line(10, "ralph build", build::ENDED, json!({"AC-1": "not run", "tokens": 7}));
    let stopped = stop(&mut state, 20, "c", None);
    let other = line(21, "Stop", "sent", json!({"AC-1": "holds"}));
    state.end(EndingKind::Stalled, "", at(30));
    let shown = report(&state, vec![round.clone()], &[]).history;
    assert_eq!(shown.moments, ["1", "end"]);
    assert_eq!(
        told(&state, vec![round, stopped, other], &[]),
        [
            cell(Worth::Never, "not_run", FromWhen::Now),
            cell(Worth::Never, "not_run", FromWhen::Before),
            cell(Worth::Never, "not_run", FromWhen::Now),
        ]
    );
}
