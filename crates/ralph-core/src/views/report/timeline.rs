//! The events by turn: each decision with its reason, and all other details folded.

use super::line::{LineRecord, ReportLine};
use super::spent::Spent;
use super::words;
use super::{ReportStep, ReportTurn, Tone, of_loop};
use crate::guard::DenialRecord;
use crate::state::EndingKind;
use crate::views::phrases;

/// Decisions shown, the latest ones.
const MOST_STEPS: usize = 300;

/// Details shown per decision.
const MOST_ROWS: usize = 12;

/// The journal lines of one turn, or of one round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TimelineLines<'a> {
    /// Number of the turn or round, from 1; `None` if its last stop did not continue the loop.
    pub(super) number: Option<usize>,
    pub(super) title: &'static str,
    pub(super) lines: &'a [ReportLine],
}

/// Splits the journal after each stop that continues the loop, after each round, and after the end.
pub(super) fn turns(lines: &[ReportLine]) -> Vec<TimelineLines<'_>> {
    let (mut turns, mut rounds, mut is_over) = (0, 0, false);
    let is_last = |line: &ReportLine| line.goes_on() || line.is_round() || line.ends();
    let pieces = lines.split_inclusive(is_last);
    pieces
        .map(|lines| {
            let last = lines.last();
            if last.is_some_and(ReportLine::goes_on) {
                turns += 1;
                return TimelineLines { number: Some(turns), title: "Turn", lines };
            }
            if last.is_some_and(ReportLine::is_round) {
                rounds += 1;
                return TimelineLines { number: Some(rounds), title: "Round", lines };
            }
            let title = match last.is_some_and(ReportLine::ends) {
                true if rounds > 0 => "The end",
                true => "Last turn",
                false if is_over => "Afterwards",
                false => "Under way",
            };
            is_over = is_over || last.is_some_and(ReportLine::ends);
            TimelineLines { number: None, title, lines }
        })
        .collect()
}

/// The title of a turn.
pub(super) fn title(turn: &TimelineLines<'_>) -> String {
    turn.number.map_or_else(|| turn.title.to_owned(), |n| format!("{} {n}", turn.title))
}

/// A short title for a chart.
pub(super) fn short(turn: &TimelineLines<'_>) -> String {
    match (turn.number, turn.title) {
        (Some(number), _) => number.to_string(),
        (None, "Last turn" | "The end") => "end".to_owned(),
        (None, "Under way") => "now".to_owned(),
        (None, title) => title.to_owned(),
    }
}

/// All turns, oldest first, and the number of decisions left out.
pub(super) fn of(lines: &[ReportLine], spent: &[Spent]) -> (Vec<ReportTurn>, usize) {
    let n_left_out = lines.len().saturating_sub(MOST_STEPS);
    let mut to_skip = n_left_out;
    let mut shown = Vec::new();
    for (turn, spent) in turns(lines).iter().zip(spent) {
        let skipped = to_skip.min(turn.lines.len());
        to_skip -= skipped;
        let steps: Vec<ReportStep> = turn.lines[skipped..].iter().map(step).collect();
        if !steps.is_empty() {
            let at = turn.lines.last().map(|line| line.at);
            shown.push(ReportTurn { title: title(turn), at, sum: spent.sum(), steps });
        }
    }
    (shown, n_left_out)
}

fn step(line: &ReportLine) -> ReportStep {
    let (what, tone, why) = told(line);
    let rows = line.rows.iter().filter(|(_, value)| !value.trim().is_empty()).take(MOST_ROWS);
    let row = |(label, value): &(String, String)| {
        (words::line(label, 40), words::block(value, words::TEXT))
    };
    ReportStep { at: Some(line.at), what, tone, why, rows: rows.map(row).collect() }
}

/// The summary of a line, without its folded details.
fn told(line: &ReportLine) -> (String, Tone, String) {
    let because = || {
        let row = line.rows.iter().find(|(label, _)| label == "because");
        words::line(row.map_or(&line.why, |(_, value)| value), words::LONG)
    };
    let why = || words::line(&line.why, words::LONG);
    match (line.event.as_str(), line.decision.as_str()) {
        ("Stop", "go on") if line.refuses_completion() => {
            ("Completion refused".to_owned(), Tone::Warn, because())
        }
        ("Stop", "go on") => ("Next turn".to_owned(), Tone::Live, because()),
        ("Stop", "let go") => ("Turn over".to_owned(), Tone::Quiet, why()),
        (_, "ended") => {
            let kind = line.why.split_once(':').map_or("", |(kind, _)| kind);
            let what = if kind.is_empty() || kind.contains(' ') {
                "The loop ended".to_owned()
            } else {
                format!("The loop ended: {}", words::spaced(kind))
            };
            let tone = of_loop::of_ending(&EndingKind::from(kind.to_owned()));
            (what, tone, because())
        }
        ("PreToolUse", "denied") => {
            let tool = line.seen["tool"].as_str().unwrap_or("a tool");
            (format!("{} refused", words::line(tool, 60)), Tone::Warn, denied(line))
        }
        ("ralph verify", decision) => {
            let tone = if decision == "holds" { Tone::Good } else { Tone::Bad };
            ("Criteria run".to_owned(), tone, why())
        }
        ("PostToolUse", "told") => ("Checks after an edit".to_owned(), Tone::Warn, why()),
        (_, "delivered") => ("Signal delivered".to_owned(), Tone::Live, why()),
        (_, "started") => ("Started".to_owned(), Tone::Live, why()),
        (_, decision @ ("merged" | "resumed" | "accepted" | "continued")) => {
            (named(&line.event, decision), Tone::Good, why())
        }
        (_, decision @ ("paused" | "blocked" | "conflict" | "turned red" | "unusable")) => {
            (named(&line.event, decision), Tone::Warn, why())
        }
        (_, decision) => (named(&line.event, decision), Tone::Quiet, why()),
    }
}

fn named(event: &str, decision: &str) -> String {
    words::line(&phrases::decision(event, decision), 120)
}

/// The command or the file of a refused call: `: make install`.
pub(super) fn subject(denial: &DenialRecord) -> String {
    let given = denial.command.as_ref().or(denial.path.as_ref());
    given.map(|given| format!(": {}", words::line(given, words::SHORT))).unwrap_or_default()
}

/// A refused call: the rule, and the command or the file.
fn denied(line: &ReportLine) -> String {
    match &line.record {
        LineRecord::Denial(denial) => words::spaced(&denial.rule) + &subject(denial),
        _ => words::line(&line.why, words::LONG),
    }
}
