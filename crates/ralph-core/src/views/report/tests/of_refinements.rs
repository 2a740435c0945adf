//! Whole reports of refinements.

use super::super::*;
use super::{at, at_minute, refined, refinement_report};
use crate::modes::refine::measure::{ArtefactChange, PlanChange};
use crate::modes::refine::state::{KeptVersion, OpenRound, Refinement, RoundEntry, What};
use crate::modes::refine::{self, PlanAfter, RoundEnd};

fn version(number: u32, round: u32, is_written: bool, second: i64) -> KeptVersion {
    let what = if is_written { What::Round } else { What::Found };
    KeptVersion { number, round, what, at: at(second), sha256: String::new() }
}

fn entry(
    iteration: u32,
    changes: Option<u32>,
    lines: Option<(u64, u64)>,
    summary: &str,
) -> RoundEntry {
    let measured = lines.map(|(lines, sections)| {
        ArtefactChange::Plan(PlanChange { lines, sections, ..PlanChange::default() })
    });
    RoundEntry {
        iteration,
        changes,
        measured,
        summary: summary.to_owned(),
        ..RoundEntry::default()
    }
}

/// Rounds of every kind: one that changed the plan, one that was cut, one beside an edit, one that was declined.
fn rich() -> (Refinement, Vec<KeptVersion>) {
    let mut session = refined(&[]);
    session.iterations_completed = 3;
    session.total_changes = 5;
    session.history = vec![
        RoundEntry { ended_at: Some(at_minute(0)), ..entry(1, Some(4), Some((20, 3)), "split it") },
        RoundEntry {
            end: RoundEnd::Interrupted,
            ended_at: Some(at_minute(1)),
            ..entry(2, None, None, "usage limit")
        },
        RoundEntry {
            plan: PlanAfter::KeptEdit,
            edited_before: true,
            ended_at: Some(at_minute(2)),
            ..entry(2, Some(1), Some((6, 1)), "tidied")
        },
        RoundEntry { plan: PlanAfter::Declined, ..entry(3, None, None, "") },
    ];
    let versions = vec![
        version(1, 0, false, 0),
        version(2, 1, true, 60),
        version(3, 2, true, 180),
        version(4, 9, true, 5_000),
    ];
    (session, versions)
}

fn facts(report: &Report) -> Vec<String> {
    report.facts.iter().map(|(label, value)| format!("{label}: {value}")).collect()
}

fn part(label: &'static str, value: &str, whole: &str, share: u8, tone: Tone) -> Gauge {
    let (value, of) = (value.to_owned(), whole.to_owned());
    Gauge { label, value, of, share: Some(share), tone }
}

fn number(label: &'static str, value: &str) -> Gauge {
    Gauge { label, value: value.to_owned(), of: String::new(), share: None, tone: Tone::Quiet }
}

#[test]
fn a_refinement_with_rounds_of_every_kind_is_told_whole() {
    let (session, versions) = rich();
    let report = refinement_report(&session, Activity::Nobody, versions);
    assert_eq!((report.kind, report.id.as_str()), ("refinement", "api"));
    assert_eq!(report.goal, "Refine p.md until it no longer changes");
    let outcome = |word: &str, tone, detail: &str| ReportOutcome {
        word: word.to_owned(),
        tone,
        detail: detail.to_owned(),
    };
    assert_eq!(report.outcome, outcome("resting", Tone::Quiet, ""));
    assert_eq!(
        facts(&report),
        [
            "plan: p.md",
            "started: 2026-02-25 06:13:20Z",
            "settled after: 2 rounds of at most 1 change and 5 lines in a row, not before round 3",
            "versions kept: 4",
        ]
    );
    assert_eq!(
        report.gauges,
        [
            part("Rounds", "3", "of 10", 30, Tone::Live),
            number("Changes said", "5"),
            number("Lines measured", "26"),
            part("Towards a plateau", "0", "of 2", 0, Tone::Live),
        ]
    );
    let unknown = "Of 1 round it is not known how much changed: that is never taken for nothing.";
    assert_eq!(report.notes, [unknown]);
    assert_eq!(report.next, "`ralph refine loop --id api` goes on with it");
    assert_eq!(report.made_at, Some(at(9_000)));
    let step = |second: Option<i64>, what: &str, tone, why: &str, also: &str| ReportStep {
        at: second.map(at),
        what: what.to_owned(),
        tone,
        why: why.to_owned(),
        rows: [("also".to_owned(), also.to_owned())]
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .collect(),
    };
    let kept = |number: u32, second, why| {
        step(Some(second), &format!("Version {number} kept"), Tone::Quiet, why, "")
    };
    let turn = |title: &str, second: Option<i64>, steps| ReportTurn {
        title: title.to_owned(),
        at: second.map(at),
        sum: String::new(),
        steps,
    };
    let changed = "round 1 of 10: 4 changes (split it); measured: 20 lines in 3 sections";
    let cut = "round 2 of 10 was cut: usage limit; it runs again";
    let aside = "round 2 of 10: 1 change (tidied); measured: 6 lines in 1 section";
    let aside_also = "the plan changed between the rounds; the count towards a plateau starts \
                      again\nthe plan was edited while round 2 ran: that edit stays, and the text \
                      of the round is kept as a version";
    let declined = "round 3 of 10: it reported no number of changes; what changed could not be \
                    measured";
    let declined_also = "its changes were declined; the plan is unchanged";
    assert_eq!(
        report.timeline,
        [
            turn(
                "Round 1",
                Some(60),
                vec![
                    kept(1, 0, "the plan before round 0"),
                    kept(2, 60, "the plan after round 1"),
                    step(Some(60), "The round ended", Tone::Good, changed, "")
                ]
            ),
            turn(
                "Round 2",
                Some(120),
                vec![step(Some(120), "The round was cut", Tone::Warn, cut, "")]
            ),
            turn(
                "Round 2",
                Some(180),
                vec![
                    kept(3, 180, "the plan after round 2"),
                    step(Some(180), "The round was set aside", Tone::Warn, aside, aside_also),
                ]
            ),
            turn(
                "Round 3",
                None,
                vec![step(None, "The round was declined", Tone::Quiet, declined, declined_also)]
            ),
            turn("Under way", None, vec![kept(4, 5_000, "the plan after round 9")]),
        ]
    );
    assert_eq!(report.n_left_out, 0);
    assert!(report.trouble.is_empty(), "the rounds tell which were cut");
}

#[test]
fn each_round_has_its_numbers_its_remarks_and_the_version_that_it_wrote() {
    let (session, versions) = rich();
    let rounds = refinement_report(&session, Activity::Nobody, versions).rounds;
    let amount = |word: &str, share| Amount { word: word.to_owned(), share };
    let round = |number, word, tone, said, measured| ReportRound {
        number,
        word,
        tone,
        said,
        measured,
        change: None,
        summary: String::new(),
        remarks: Vec::new(),
        version: None,
    };
    let unknown = || amount("unknown", None);
    let expected = [
        ReportRound {
            change: Some("20 lines in 3 sections".to_owned()),
            summary: "split it".to_owned(),
            version: Some(2),
            ..round(1, "changed", Tone::Quiet, amount("4", Some(100)), amount("20", Some(100)))
        },
        ReportRound {
            summary: "usage limit".to_owned(),
            ..round(2, "cut", Tone::Warn, amount("cut", None), amount("cut", None))
        },
        ReportRound {
            change: Some("6 lines in 1 section".to_owned()),
            summary: "tidied".to_owned(),
            version: Some(3),
            remarks: vec![
                "the plan changed between the rounds; the count towards a plateau starts again"
                    .to_owned(),
                "the plan was edited while round 2 ran: that edit stays, and the text of the round \
                 is kept as a version"
                    .to_owned(),
            ],
            ..round(2, "set aside", Tone::Warn, amount("1", Some(25)), amount("6", Some(30)))
        },
        ReportRound {
            remarks: vec!["its changes were declined; the plan is unchanged".to_owned()],
            ..round(3, "declined", Tone::Quiet, unknown(), unknown())
        },
    ];
    assert_eq!(
        (rounds.all.as_slice(), rounds.unit, rounds.n_left_out),
        (&expected[..], "lines", 0)
    );
}

#[test]
fn a_refinement_of_tasks_that_is_over_is_told_whole() {
    let mut session = refined(&[(Some(0), Some(0)); 5]);
    session.mode = refine::Mode::Beads;
    session.plan_file = String::new();
    session.history[1].edited_before = true;
    (session.status, session.plateau_at) = (refine::Status::Plateau, Some(5));
    session.iterations_completed = 10;
    session.ended_at = Some(at(3_600));
    let report = refinement_report(&session, Activity::Nobody, vec![version(1, 1, true, 60)]);
    assert_eq!(report.goal, "Refine the tasks until they no longer change");
    assert_eq!(
        facts(&report),
        [
            "started: 2026-02-25 06:13:20Z",
            "ended: 2026-02-25 07:13:20Z",
            "settled after: 2 rounds of at most 1 change and 1 task in a row, not before round 3",
            "versions kept: 1",
        ]
    );
    assert_eq!(
        report.gauges,
        [
            part("Rounds", "10", "of 10", 100, Tone::Live),
            number("Changes said", "0"),
            number("Tasks measured", "0"),
            part("Towards a plateau", "2", "of 2", 100, Tone::Good),
            number("Time", "1 h"),
        ]
    );
    assert_eq!((report.notes.as_slice(), report.made_at), (&[] as &[String], None));
    let diff = "`ralph refine diff 1 --id api` shows what has changed since the first version";
    assert_eq!(report.next, diff);
    assert_eq!(report.rounds.unit, "tasks");
    let remark =
        "the list of tasks changed between the rounds; the count towards a plateau starts again";
    assert_eq!(report.rounds.all[1].remarks, [remark]);
    assert_eq!(report.outcome.detail, "plateau at round 5: the list of tasks no longer changes");
    let after =
        refinement_report(&session, Activity::Nobody, vec![version(1, 1, true, 8_000)]).timeline;
    assert_eq!(after.last().unwrap().title, "Afterwards");
    session.status = refine::Status::MaxIterations;
    let full = refinement_report(&session, Activity::Nobody, Vec::new());
    assert_eq!(full.gauges[0], part("Rounds", "10", "of 10", 100, Tone::Warn));
    assert_eq!(full.gauges[3], part("Towards a plateau", "2", "of 2", 100, Tone::Good));
    assert_eq!(full.next, "`ralph refine loop --id api --max-iterations 15` goes on with it");
    session.iterations_completed = 9;
    session.started_at = Timestamp::UNIX_EPOCH;
    let unknown = refinement_report(&session, Activity::Nobody, Vec::new());
    assert_eq!(unknown.gauges.len(), 4, "without a start no time is told");
    assert_eq!(unknown.gauges[0], part("Rounds", "9", "of 10", 90, Tone::Live));
    assert_eq!(facts(&unknown)[0], "ended: 2026-02-25 07:13:20Z");
    assert!(facts(&unknown).iter().all(|fact| !fact.starts_with("versions")));
}

#[test]
fn what_to_do_next_depends_on_how_it_ended_and_on_what_is_kept() {
    let check = |n_rounds: usize, status: refine::Status, n_versions: u32, next: &str, n_notes| {
        let mut session = refined(&vec![(Some(0), Some(0)); n_rounds]);
        session.status = status;
        let versions = (1..=n_versions).map(|number| version(number, 0, false, 0)).collect();
        let report = refinement_report(&session, Activity::Nobody, versions);
        assert_eq!((report.next.as_str(), report.notes.len()), (next, n_notes));
    };
    use refine::Status::{Cancelled, MaxIterations, Plateau};
    let fresh =
        "in a new session of Claude Code `/plan-refinery context`, then `/plan-refinery review`";
    let diff = "`ralph refine diff 1 --id api` shows what has changed since the first version";
    check(4, Plateau, 1, fresh, 1);
    check(5, Plateau, 1, diff, 0);
    check(5, Plateau, 0, "`ralph run --planned` carries the tasks out", 0);
    check(4, Cancelled, 1, diff, 0);
    check(4, Cancelled, 0, "`ralph refine history --id api` shows its rounds", 0);
    check(
        3,
        MaxIterations,
        1,
        "`ralph refine loop --id api --max-iterations 8` goes on with it",
        0,
    );
}

#[test]
fn an_open_refinement_tells_of_its_open_round_or_of_the_one_that_was_cut() {
    let (mut session, _) = rich();
    let outcome = |session: &Refinement, activity| {
        let outcome = refinement_report(session, activity, Vec::new()).outcome;
        (outcome.word, outcome.tone, outcome.detail)
    };
    let told = |word: &str, tone, detail: &str| (word.to_owned(), tone, detail.to_owned());
    session.history.truncate(2);
    let cut = "round 2 was cut: usage limit";
    assert_eq!(outcome(&session, Activity::Nobody), told("resting", Tone::Quiet, cut));
    let runs = || Activity::Runs("running".to_owned());
    assert_eq!(outcome(&session, runs()), told("running", Tone::Live, cut));
    session.round = Some(OpenRound { iteration: 2, ..OpenRound::default() });
    let open = "round 2 is open";
    assert_eq!(outcome(&session, Activity::Nobody), told("interrupted", Tone::Warn, open));
    session.status = refine::Status::Other("on_hold".to_owned());
    assert_eq!(outcome(&session, Activity::Nobody), told("on hold", Tone::Quiet, open));
    session.status = refine::Status::Running;
    let paused = told("paused in a conversation", Tone::Warn, open);
    assert_eq!(outcome(&session, Activity::Pauses), paused);
    let unknown = |entry: RoundEntry| {
        let mut session = refined(&[]);
        session.history = vec![entry];
        refinement_report(&session, Activity::Nobody, Vec::new()).notes.len()
    };
    assert_eq!(unknown(entry(1, None, Some((1, 1)), "")), 1);
    assert_eq!(unknown(entry(1, Some(1), None, "")), 1);
    assert_eq!(unknown(entry(1, Some(1), Some((1, 1)), "")), 0);
    let cut = RoundEntry { end: RoundEnd::Interrupted, ..entry(1, None, None, "") };
    assert_eq!(unknown(cut), 0);
}

#[test]
fn the_latest_rounds_and_the_latest_steps_of_a_refinement_are_shown() {
    let shown = |n_rounds: usize, n_versions: u32| {
        let session = refined(&vec![(Some(3), Some(9)); n_rounds]);
        let versions = (1..=n_versions).map(|number| version(number, 0, false, 0)).collect();
        let report = refinement_report(&session, Activity::Nobody, versions);
        let steps: usize = report.timeline.iter().map(|turn| turn.steps.len()).sum();
        let first = report.rounds.all.first().map(|round| round.number);
        (report.rounds.all.len(), first, report.rounds.n_left_out, steps, report.n_left_out)
    };
    assert_eq!(shown(60, 0), (60, Some(1), 0, 60, 0));
    assert_eq!(shown(61, 239), (60, Some(2), 1, 300, 0));
    assert_eq!(shown(62, 239), (60, Some(3), 2, 300, 1));
    assert_eq!(shown(0, 0), (0, None, 0, 0, 0));
}
