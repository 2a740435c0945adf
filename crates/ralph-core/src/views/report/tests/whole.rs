//! Whole pages and whole texts of reports that are made here by hand.

use super::super::journal::{Cell, CriterionRow, FromWhen, History, Spent, Worth};
use super::super::*;
use super::at;

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn proof(id: &str, standing: &'static str, tone: Tone, command: &str, tail: &str) -> Evidence {
    Evidence {
        id: id.to_owned(),
        about: format!("about {id}"),
        command: command.to_owned(),
        standing,
        tone,
        receipt: format!("receipt of {id}"),
        tail: tail.to_owned(),
    }
}

fn found(severity: &str, line: u32, tone: Tone) -> FindingShown {
    FindingShown {
        found_by: "1, tests".to_owned(),
        severity: severity.to_owned(),
        place: format!("src/a.rs:{line}"),
        what: "no test for *this*".to_owned(),
        became: "task T-9 is ready".to_owned(),
        tone,
    }
}

fn task(id: &str, standing: TaskStanding, wave: Option<usize>) -> TaskShown {
    let (name, remark) = (format!("do {id}"), String::new());
    TaskShown { id: id.to_owned(), name, standing, wave, after: Vec::new(), remark }
}

fn amount(word: &str, share: Option<u8>) -> Amount {
    Amount { word: word.to_owned(), share }
}

fn round(number: u32) -> ReportRound {
    ReportRound {
        number,
        word: "changed",
        tone: Tone::Quiet,
        said: amount("4", Some(100)),
        measured: amount("20", Some(50)),
        change: Some("20 lines".to_owned()),
        summary: "split a task".to_owned(),
        remarks: Vec::new(),
        version: None,
    }
}

fn spent(short: &str, took_ms: u64, tokens: Option<u64>) -> Spent {
    Spent { title: format!("Turn {short}"), short: short.to_owned(), took_ms, tokens }
}

fn step(second: Option<i64>, what: &str, why: &str) -> ReportStep {
    let (at, what, why) = (second.map(at), what.to_owned(), why.to_owned());
    ReportStep { at, what, tone: Tone::Live, why, rows: Vec::new() }
}

fn row(id: &str, cells: &[(Worth, &str, FromWhen)]) -> CriterionRow {
    let cell = |(worth, word, looked): &(Worth, &str, FromWhen)| Cell {
        worth: *worth,
        word: (*word).to_owned(),
        looked: *looked,
    };
    let cells = cells.iter().map(cell).collect();
    CriterionRow { id: id.to_owned(), about: format!("about {id}"), cells }
}

/// Each part is present, in each of its forms.
fn rich() -> Report {
    use FromWhen::{Before, Now};
    let gauge = |label, value: &str, of: &str, share, tone| Gauge {
        label,
        value: value.to_owned(),
        of: of.to_owned(),
        share,
        tone,
    };
    let mut waits = task("T-2", TaskStanding::Waiting, Some(2));
    waits.after = vec![0, 1];
    waits.remark = "by w-1; half of it".to_owned();
    let round_of_all = ReportRound {
        word: "set aside",
        tone: Tone::Warn,
        said: amount("unknown", None),
        measured: amount("0", Some(0)),
        change: None,
        summary: String::new(),
        remarks: vec!["first remark".to_owned(), "second remark".to_owned()],
        version: Some(3),
        ..round(8)
    };
    let detailed = ReportStep {
        tone: Tone::Bad,
        rows: vec![
            ("because".to_owned(), "it is so".to_owned()),
            ("tree".to_owned(), "abc\ndef".to_owned()),
        ],
        ..step(Some(61), "Criteria run", "it is so")
    };
    let turn = |title: &str, at: Option<i64>, sum: &str, steps| ReportTurn {
        title: title.to_owned(),
        at: at.map(super::at),
        sum: sum.to_owned(),
        steps,
    };
    let trouble = |title, tone, items: &[(&str, &str)], more| Trouble {
        title,
        tone,
        items: items.iter().map(|(at, what)| ((*at).to_owned(), (*what).to_owned())).collect(),
        more,
    };
    Report {
        kind: "loop",
        id: "2026-a".to_owned(),
        goal: "Add <search>\nand test it\n".to_owned(),
        outcome: ReportOutcome {
            word: "limit reached".to_owned(),
            tone: Tone::Warn,
            detail: "continued 25 times".to_owned(),
        },
        facts: vec![("project", "/srv/shop".to_owned()), ("session", "s-1".to_owned())],
        gauges: vec![
            gauge("Turns", "26", "of 26", Some(100), Tone::Warn),
            gauge("Tasks done", "0", "of 9", Some(0), Tone::Live),
            gauge("Cost", "$1.50", "", None, Tone::Quiet),
        ],
        evidence: vec![
            proof("AC-1", "holds", Tone::Good, "make test", "all\n\n12 passed"),
            proof("AC-2", "not_run", Tone::Quiet, "", ""),
            proof("AC-3", "failed", Tone::Bad, "make lint", "a | b\n"),
            proof("AC-4", "failed", Tone::Bad, "make e2e", ""),
        ],
        findings: vec![found("major", 7, Tone::Warn), found("minor", 8, Tone::Quiet)],
        changes: Some(Changes {
            files: vec![
                FileChange { path: "src/a.rs".to_owned(), lines: Some((12, 4)) },
                FileChange { path: "logo.png".to_owned(), lines: None },
                FileChange { path: "b.md".to_owned(), lines: Some((1_000, 0)) },
            ],
            commits: vec![("abc1234".to_owned(), "Add search".to_owned())],
            until: "until now",
            unknown: String::new(),
        }),
        notes: vec!["AC-1 held before.".to_owned(), "1 signal was never delivered.".to_owned()],
        next: "`ralph explain` shows *why*".to_owned(),
        rounds: Rounds { all: vec![round(7), round_of_all], unit: "lines", n_left_out: 2 },
        history: History {
            moments: owned(&["24", "25", "end"]),
            rows: vec![
                row(
                    "AC-1",
                    &[
                        (Worth::Never, "not_run", Before),
                        (Worth::Fails, "failed", Now),
                        (Worth::Holds, "passes", Now),
                    ],
                ),
                row(
                    "AC-2",
                    &[
                        (Worth::Holds, "passes", Before),
                        (Worth::Stale, "stale", Before),
                        (Worth::Stale, "flaky", Now),
                    ],
                ),
                row(
                    "AC-3",
                    &[
                        (Worth::Fails, "failed", Before),
                        (Worth::Fails, "timed_out", Before),
                        (Worth::Never, "not_run", Now),
                    ],
                ),
            ],
            n_moments_left_out: 1,
            n_rows_left_out: 2,
        },
        tasks: vec![
            task("T-0", TaskStanding::Done, Some(1)),
            task("T-1", TaskStanding::InProgress, Some(1)),
            waits,
            task("T-3", TaskStanding::Ready, None),
            task("T-4", TaskStanding::Blocked, Some(2)),
            task("T-5", TaskStanding::Failed, Some(2)),
            task("T-6", TaskStanding::Unknown, None),
            task("T-7", TaskStanding::Done, Some(1)),
        ],
        n_tasks_left_out: 1_200,
        spent: vec![
            spent("1", 60_000, Some(20_000)),
            spent("2", 120_000, None),
            spent("3", 30_000, Some(5_000)),
        ],
        tokens: vec![("cache reads", 20_000), ("output", 5_000)],
        timeline: vec![
            turn(
                "Turn 1",
                Some(60),
                "1 min, 20 k tokens",
                vec![
                    step(Some(1), "Started", ""),
                    step(None, "Next turn", "the tests `make test` fail"),
                ],
            ),
            turn("Afterwards", None, "", vec![detailed]),
        ],
        n_left_out: 3,
        trouble: vec![
            trouble("Standing still", Tone::Warn, &[("2/25", "nothing had changed")], 0),
            trouble("Errors", Tone::Bad, &[("", "disk `x` full"); 12], 1_000),
        ],
        made_at: None,
    }
}

/// The page on lines of its own, without the sheet of its styles.
fn page_of(report: &Report) -> String {
    let page = page::render(report);
    let style = include_str!("../page/style.css");
    assert_eq!(page.matches(style).count(), 1, "the styles stand in the page");
    page.replace(style, "").replace("><", ">\n<")
}

#[test]
fn a_report_with_every_part_is_shown_whole() {
    let report = rich();
    assert_eq!(page_of(&report), include_str!("rich.html"));
    assert_eq!(markdown::render(&report), include_str!("rich.md"));
}

#[test]
fn a_report_without_any_part_is_a_heading_and_no_more() {
    let report = Report { kind: "loop", made_at: Some(at(0)), ..Report::default() };
    assert_eq!(page_of(&report), include_str!("empty.html"));
    assert_eq!(
        markdown::render(&report),
        "### Ralph: ▫️ \n\n|  |\n|  |\n|  |\n\n<sub>loop , by <code>ralph report</code></sub>\n"
    );
}

/// How often a text stands in the Markdown of a report.
#[track_caller]
fn check(report: Report, times: &[(&str, usize)]) {
    let text = markdown::render(&report);
    for (part, n) in times {
        assert_eq!(text.matches(part).count(), *n, "`{part}` in\n{text}");
    }
}

#[test]
fn a_long_list_is_cut_for_a_pull_request_and_says_how_much_is_left_out() {
    let of = |change: &dyn Fn(&mut Report)| {
        let mut report = Report { kind: "loop", ..Report::default() };
        change(&mut report);
        report
    };
    let proofs =
        |n: usize| of(&|it| it.evidence = vec![proof("A", "failed", Tone::Bad, "", "no"); n]);
    check(proofs(40), &[("| ❌ failed |", 40), ("<pre>no</pre>", 40), ("more", 0)]);
    check(proofs(41), &[("| ❌ failed |", 40), ("<pre>no</pre>", 40), ("\nand 1 more\n", 1)]);
    let findings = |n: usize| of(&|it| it.findings = vec![found("major", 1, Tone::Warn); n]);
    check(findings(40), &[("**major**", 40), ("more", 0)]);
    check(findings(41), &[("**major**", 40), ("\nand 1 more\n", 1)]);
    let rounds = |n: u32, n_left_out| {
        let all = (1..=n).map(round).collect();
        of(&|it| it.rounds = Rounds { all: Vec::clone(&all), unit: "lines", n_left_out })
    };
    check(rounds(40, 0), &[("** changed |", 40), ("left out", 0)]);
    check(rounds(40, 1), &[("** changed |", 40), ("\n1 earlier round is left out\n", 1)]);
    check(rounds(42, 0), &[("** changed |", 40), ("\n2 earlier rounds are left out\n", 1)]);
    check(rounds(41, 5), &[("**1** changed", 0), ("\n6 earlier rounds are left out\n", 1)]);
    let history = |n: usize, n_rows: usize| {
        let moments = (1..=n).map(|n| format!("m{n}")).collect();
        let cells = vec![(Worth::Holds, "passes", FromWhen::Now); n];
        let rows = vec![row("AC", &cells); n_rows];
        let history = History { moments, rows, ..History::default() };
        of(&|it| it.history = history.clone())
    };
    check(history(1, 1), &[("Criteria at the end", 0)]);
    check(history(2, 0), &[("Criteria at the end", 0)]);
    check(history(2, 1), &[("| | m1 | m2 |\n|---|---|---|\n| AC | ✅ | ✅ |\n", 1)]);
    check(history(15, 40), &[(" m1 |", 1), (" m15 |", 1), ("\n| AC |", 40), ("---|", 16)]);
    check(history(16, 41), &[(" m1 |", 0), (" m2 |", 1), ("\n| AC |", 40), ("---|", 16)]);
    let tasks = |n: usize, n_left_out| {
        let all = vec![task("T", TaskStanding::Ready, None); n];
        of(&|it| (it.tasks, it.n_tasks_left_out) = (all.clone(), n_left_out))
    };
    check(tasks(40, 0), &[("```mermaid", 1), ("- **T**", 40), ("more", 0)]);
    check(tasks(41, 0), &[("```mermaid", 0), ("- **T**", 40), ("\nand 1 more\n", 1)]);
    check(tasks(41, 2), &[("```mermaid", 0), ("- **T**", 40), ("\nand 3 more\n", 1)]);
    let trouble = |n: usize, more| {
        let items = vec![(String::new(), "full".to_owned()); n];
        let one = Trouble { title: "Errors", tone: Tone::Bad, items, more };
        of(&|it| it.trouble = vec![one.clone()])
    };
    check(trouble(1, 0), &[("In the way: 1 thing<", 1), ("- ▸ full", 1), ("more", 0)]);
    check(trouble(10, 0), &[("In the way: 10 things", 1), ("- ▸ full", 10), ("more", 0)]);
    check(trouble(11, 0), &[("In the way: 11 things", 1), ("- ▸ full", 10), ("and 1 more", 1)]);
    check(trouble(40, 2), &[("In the way: 42 things", 1), ("- ▸ full", 10), ("and 32 more", 1)]);
}

#[test]
fn the_latest_decisions_are_told_in_a_pull_request() {
    let timeline = |turns: &[usize], n_left_out| {
        let turn = |(at, n): (usize, &usize)| ReportTurn {
            title: format!("Turn {at}"),
            at: None,
            sum: String::new(),
            steps: vec![step(None, "Next turn", ""); *n],
        };
        let timeline = turns.iter().enumerate().map(turn).collect();
        Report { kind: "loop", timeline, n_left_out, ..Report::default() }
    };
    let next = "- ⏳ **Next turn**\n";
    check(timeline(&[], 0), &[("Timeline", 0)]);
    check(timeline(&[0], 0), &[("Timeline", 0)]);
    check(timeline(&[1], 0), &[("<summary>Timeline: 1 entry<", 1), (next, 1)]);
    check(
        timeline(&[2, 58], 0),
        &[("<summary>Timeline: 60 entries<", 1), (next, 60), ("**Turn 0**\n", 1)],
    );
    let last = "<summary>Timeline: the last 60 of 61 entries<";
    check(timeline(&[2, 59], 0), &[(last, 1), (next, 60), ("**Turn 0**\n", 1)]);
    check(timeline(&[1, 60], 0), &[(last, 1), (next, 60), ("Turn 0", 0), ("**Turn 1**\n", 1)]);
    check(timeline(&[60], 1), &[(last, 1), (next, 60)]);
}

#[test]
fn a_part_that_does_not_fit_into_a_pull_request_is_left_out_whole() {
    let with = |note: usize| Report {
        kind: "loop",
        notes: vec!["x".repeat(note)],
        tasks: vec![task("T-1", TaskStanding::Ready, None)],
        trouble: vec![Trouble {
            title: "Errors",
            tone: Tone::Bad,
            items: vec![(String::new(), "full".to_owned())],
            more: 0,
        }],
        ..Report::default()
    };
    let fits = 59_999 - markdown::render(&with(0)).len();
    let cut = ("Not all of it fits here; `ralph report --html FILE` makes a page of it.\n", 0);
    check(with(fits), &[("- ▸ full", 1), ("**T-1**", 1), cut]);
    check(with(fits + 1), &[("- ▸ full", 0), ("**T-1**", 1), (cut.0, 1)]);
}

#[test]
fn a_page_shows_the_latest_turns_and_opens_a_short_list_of_commits() {
    let with = |n_spent: usize, tokens, n_commits: usize, n_left_out| {
        let commits = vec![("abc".to_owned(), "Add it".to_owned()); n_commits];
        page_of(&Report {
            kind: "loop",
            spent: (0..n_spent).map(|n| spent(&n.to_string(), 5, tokens)).collect(),
            changes: Some(Changes { commits, until: "until now", ..Changes::default() }),
            timeline: vec![ReportTurn {
                title: "Turn 1".to_owned(),
                at: None,
                sum: String::new(),
                steps: vec![ReportStep {
                    rows: vec![("because".to_owned(), "so".to_owned())],
                    ..step(None, "Next turn", "so")
                }],
            }],
            n_left_out,
            ..Report::default()
        })
    };
    let count = |page: &str, part: &str| page.matches(part).count();
    let page = with(60, Some(7), 11, 0);
    assert_eq!(count(&page, "class=\"name\""), 60);
    assert_eq!(count(&page, "<span>tokens</span>"), 1);
    assert_eq!(count(&page, "<span>7</span>"), 60);
    assert_eq!(count(&page, "<details open>\n<summary>11 commits</summary>"), 1);
    assert_eq!(count(&page, "Details") + count(&page, "left out"), 0, "the reason is not repeated");
    let page = with(61, Some(0), 12, 1);
    assert_eq!(count(&page, "class=\"name\""), 60);
    assert_eq!(count(&page, "title=\"Turn 0\"") + count(&page, "<span>tokens</span>"), 0);
    assert_eq!(count(&page, "<span class=\"measure quiet\">\n</span>"), 60);
    assert_eq!(count(&page, "<details>\n<summary>12 commits</summary>"), 1);
    assert_eq!(count(&page, "<p class=\"hint\">1 earlier turn is left out.</p>"), 1);
    assert_eq!(count(&page, "<span class=\"hint\">1 earlier one is left out</span>"), 1);
    let page = with(62, None, 0, 2);
    assert_eq!(count(&page, "<p class=\"hint\">2 earlier turns are left out.</p>"), 1);
    assert_eq!(count(&page, "<details"), 0);
}

#[test]
fn a_heading_is_the_first_line_of_the_goal_and_the_rest_can_be_opened() {
    let of =
        |goal: &str| page_of(&Report { kind: "loop", goal: goal.to_owned(), ..Report::default() });
    for (goal, heading, is_opened) in [
        ("", "loop", false),
        (" \n", "loop", false),
        ("Build it\n", "Build it", false),
        ("Build it\nnow", "Build it", true),
        (&"x".repeat(140), &"x".repeat(140), false),
        (&"x".repeat(141), &format!("{}…", "x".repeat(139)), true),
    ] {
        let page = of(goal);
        assert!(page.contains(&format!("<h1>{heading}</h1>")), "{page}");
        assert_eq!(page.contains("<details class=\"goal\">"), is_opened, "{goal}");
    }
}

#[test]
fn what_changed_is_listed_up_to_a_bound_for_files_and_for_commits() {
    let file = FileChange { path: "a b".to_owned(), lines: None };
    let commit = ("abc".to_owned(), "Add it".to_owned());
    let with = |n_files: usize, n_commits: usize| {
        let (files, commits) = (vec![file.clone(); n_files], vec![commit.clone(); n_commits]);
        Changes { files, commits, until: "at the end", unknown: String::new() }
    };
    for (n_files, n_commits, n_left_out) in [(0, 0, 0), (200, 200, 0), (201, 203, 4), (1, 202, 2)] {
        let changes = with(n_files, n_commits);
        let [files, commits] = changes.rows();
        assert_eq!((files.len(), commits.len()), (n_files.min(200), n_commits.min(200)));
        assert_eq!(changes.n_left_out(), n_left_out);
    }
    assert_eq!(with(1, 0).summary(), "1 file, +0 -0, 0 commits; at the end");
    let rows = [vec![("binary".to_owned(), "a b".to_owned())], vec![commit.clone()]];
    assert_eq!(with(1, 1).rows(), rows);
}
