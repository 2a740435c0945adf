//! What a journal tells a report: its lines, the turns with their time and tokens, the criteria over time, and problems.

use super::words::{self, LONG, lasted};
use super::{ReportStep, ReportTurn, Tone, Trouble, of_loop};
use crate::evidence::completion_feedback;
use crate::evidence::receipt::ReceiptStatus;
use crate::guard::DenialRecord;
use crate::modes::build;
use crate::state::{Criterion, EndingKind, LoopState};
use crate::tasks::graph::{Graph, TaskReadiness as TaskStanding};
use crate::text::plural;
use crate::text::token::CompletionRequest;
use crate::views::phrases;
use crate::{guard, stop};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

// A line of the journal, parsed for a report.

/// One line, with the details that `ralph explain` shows.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportLine {
    /// When the decision was made.
    pub at: Timestamp,
    /// The hook event or command that triggered the decision.
    pub event: String,
    /// The decision in one or two words.
    pub decision: String,
    /// The reason.
    pub why: String,
    /// The loop's position after the decision: `3/25`.
    pub position: String,
    /// The details of the event that explain the decision.
    pub seen: Value,
    /// The inputs of the decision, if they could be parsed.
    pub record: LineRecord,
    /// Duration of the decision, in microseconds.
    pub took_us: u64,
    /// The details to show, each with its label.
    pub rows: Vec<(String, String)>,
}

/// The inputs of a line's decision.
#[derive(Debug, Clone, PartialEq)]
pub enum LineRecord {
    /// The end of a turn.
    Stop(Box<stop::StopRecord>),
    /// A refused tool call.
    Denial(Box<guard::DenialRecord>),
    /// No record, or one from another version.
    None,
}

impl LineRecord {
    /// Parses the record of a line for this event.
    pub fn parse(event: &str, record: Option<&Value>) -> LineRecord {
        let Some(record) = record else { return LineRecord::None };
        match event {
            "Stop" => stop::StopRecord::deserialize(record)
                .map_or(LineRecord::None, |record| LineRecord::Stop(Box::new(record))),
            "PreToolUse" => guard::DenialRecord::deserialize(record)
                .map_or(LineRecord::None, |record| LineRecord::Denial(Box::new(record))),
            _ => LineRecord::None,
        }
    }
}

impl ReportLine {
    /// The record of a stop, if this line is one.
    pub(super) fn stop(&self) -> Option<&stop::StopRecord> {
        match &self.record {
            LineRecord::Stop(record) => Some(record),
            _ => None,
        }
    }

    /// True for a stop that counts an iteration.
    pub(super) fn goes_on(&self) -> bool {
        self.event == "Stop" && self.decision == "go on"
    }

    /// True for the line that ends the loop.
    pub(super) fn ends(&self) -> bool {
        self.decision == "ended"
    }

    /// True for the end of a round of a fresh client.
    pub(super) fn is_round(&self) -> bool {
        self.decision == build::ENDED
    }

    /// True for a completion request that was refused.
    pub(super) fn refuses_completion(&self) -> bool {
        self.goes_on()
            && self.stop().is_some_and(|record| record.seen.request == CompletionRequest::Made)
    }

    /// The results of a run of the criteria: each id with its status.
    pub(super) fn verified(&self) -> impl Iterator<Item = (&str, &str)> {
        let is_run = self.event == "ralph verify" || self.is_round();
        let members = self.seen.as_object().filter(|_| is_run).into_iter().flatten();
        members.filter_map(|(id, word)| Some((id.as_str(), word.as_str()?)))
    }
}

// The events by turn: each decision with its reason, and all other details folded.

/// Decisions shown, the latest ones.
const MOST_STEPS: usize = 300;

/// Details shown per decision.
const MOST_DETAILS: usize = 12;

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
pub(super) fn timeline(lines: &[ReportLine], spent: &[Spent]) -> (Vec<ReportTurn>, usize) {
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
    let (what, tone, why) = line_summary(line);
    let rows = line.rows.iter().filter(|(_, value)| !value.trim().is_empty()).take(MOST_DETAILS);
    let row = |(label, value): &(String, String)| {
        (words::line(label, 40), words::block(value, words::TEXT))
    };
    ReportStep { at: Some(line.at), what, tone, why, rows: rows.map(row).collect() }
}

/// The summary of a line, without its folded details.
fn line_summary(line: &ReportLine) -> (String, Tone, String) {
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

// Time and tokens of each iteration.
//
// The record of a stop holds the total of tokens at that stop; an iteration has used the increase
// since the previous stop. Without a record the number is unknown and is not estimated.

/// The time and tokens of one iteration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spent {
    /// The title of the iteration.
    pub title: String,
    /// A short name for a chart.
    pub short: String,
    /// The duration, in milliseconds.
    pub took_ms: u64,
    /// The tokens; `None` if unknown.
    pub tokens: Option<u64>,
}

impl Spent {
    /// `12 min, 30 k tokens`.
    pub fn sum(&self) -> String {
        let tokens = self.tokens.filter(|tokens| *tokens > 0);
        let tokens = tokens.map(|used| format!(", {}", plural::tokens(used)));
        format!("{}{}", lasted(self.took_ms), tokens.unwrap_or_default())
    }
}

/// Computes the values of each iteration; the first starts when the loop began.
pub(super) fn spent_by_turn(lines: &[ReportLine], began: Timestamp) -> Vec<Spent> {
    let (mut since, mut used) = (began, 0);
    turns(lines)
        .iter()
        .map(|turn| {
            let until = turn.lines.last().map_or(since, |line| line.at);
            let sum = turn.lines.iter().rev().find_map(ReportLine::stop);
            let mut sum = sum.map(|stop| stop.before.usage.total());
            if let Some(tokens) = turn.lines.last().and_then(|line| line.seen["tokens"].as_u64()) {
                sum = Some(used + tokens);
            }
            let spent = Spent {
                title: title(turn),
                short: short(turn),
                took_ms: words::between(since, until),
                tokens: sum.map(|sum| sum.saturating_sub(used)),
            };
            since = until;
            used = sum.unwrap_or(used);
            spent
        })
        .collect()
}

// The status of each criterion at the end of each iteration.
//
// A stop checks receipts only if completion is requested, and a run of the criteria reports its
// results. Between such checks a cell shows the last known status, marked as unchecked. If the
// fingerprint shows a later change, the receipt counts as stale.

/// Columns shown, the latest ones: a wider table is unreadable.
const MOST_MOMENTS: usize = 40;

/// Criteria shown.
const MOST_CRITERIA: usize = 100;

/// The criteria over time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct History {
    /// The columns, oldest first: iteration numbers, then `end` or `now`.
    pub moments: Vec<String>,
    /// The criteria, with a cell per column.
    pub rows: Vec<CriterionRow>,
    /// Earlier columns that are not shown.
    pub n_moments_left_out: usize,
    /// Criteria that are not shown.
    pub n_rows_left_out: usize,
}

/// One criterion over time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CriterionRow {
    pub id: String,
    /// The description.
    pub about: String,
    /// The status in each column.
    pub cells: Vec<Cell>,
}

/// The status of a criterion at one time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// The rating of the status.
    pub worth: Worth,
    /// The word for the status.
    pub word: String,
    /// Whether the status was checked in this iteration.
    pub looked: FromWhen,
}

/// The rating of a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worth {
    /// The criterion holds.
    Holds,
    /// The criterion ran and does not hold.
    Fails,
    /// The work changed after the run, or another pass is needed.
    Stale,
    /// The criterion has not run yet.
    Never,
}

/// When the status was last checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FromWhen {
    /// In this iteration.
    Now,
    /// In an earlier iteration.
    Before,
}

impl Worth {
    /// Rates the word of a status. An unknown word from another version counts as a failure.
    pub fn from_word(word: &str) -> Worth {
        let is = |standing: ReceiptStatus| standing.as_str() == word;
        match () {
            // Journals of older versions have the second words.
            () if ReceiptStatus::MET.into_iter().any(is) || word == "holds" => Worth::Holds,
            () if is(ReceiptStatus::NotRun) || word == "never_run" => Worth::Never,
            () if is(ReceiptStatus::Stale) || is(ReceiptStatus::Flaky) => Worth::Stale,
            () => Worth::Fails,
        }
    }
}

/// The last known status of a criterion.
#[derive(Debug, Clone)]
struct Known {
    word: String,
    /// The fingerprint of the tree at that time; `None` if unknown.
    tree: Option<String>,
}

/// The criteria of a loop over time; `now` holds the statuses at the end, or now.
pub(super) fn history(state: &LoopState, lines: &[ReportLine], now: &[ReceiptStatus]) -> History {
    let shown: Vec<&Criterion> = state.acceptance_criteria.iter().take(MOST_CRITERIA).collect();
    let n_rows_left_out = state.acceptance_criteria.len() - shown.len();
    if shown.is_empty() {
        return History::default();
    }
    let mut known: BTreeMap<String, Known> = BTreeMap::new();
    let mut moments = Vec::new();
    let mut columns: Vec<Vec<Cell>> = Vec::new();
    for turn in turns(lines) {
        let mut looked = BTreeMap::new();
        turn.lines.iter().for_each(|line| record_statuses(line, &mut known, &mut looked));
        let Some(number) = turn.number else { continue };
        let stop = turn.lines.iter().rev().find_map(ReportLine::stop);
        let tree = stop.and_then(|stop| stop.seen.tree.clone());
        let cell = |one: &&Criterion| cell(&one.id, &known, looked.contains_key(&one.id), &tree);
        moments.push(number.to_string());
        columns.push(shown.iter().map(cell).collect());
    }
    moments.push(if state.ending.is_some() { "end" } else { "now" }.to_owned());
    let last = |(at, _): (usize, &&Criterion)| {
        let word = now.get(at).copied().unwrap_or(ReceiptStatus::NotRun).as_str();
        Cell { worth: Worth::from_word(word), word: word.to_owned(), looked: FromWhen::Now }
    };
    columns.push(shown.iter().enumerate().map(last).collect());
    let n_moments_left_out = moments.len().saturating_sub(MOST_MOMENTS);
    moments.drain(..n_moments_left_out);
    columns.drain(..n_moments_left_out);
    let row = |(at, one): (usize, &&Criterion)| CriterionRow {
        id: words::line(&one.id, 40),
        about: words::line(&one.description, words::SHORT),
        cells: columns.iter().map(|column| column[at].clone()).collect(),
    };
    let rows = shown.iter().enumerate().map(row).collect();
    History { moments, rows, n_moments_left_out, n_rows_left_out }
}

/// Records the statuses that a line reports.
fn record_statuses(
    line: &ReportLine,
    known: &mut BTreeMap<String, Known>,
    looked: &mut BTreeMap<String, ()>,
) {
    let mut take = |id: &str, word: &str, tree: Option<String>| {
        let word = words::spaced(word).replace(' ', "_");
        known.insert(id.to_owned(), Known { word, tree });
        looked.insert(id.to_owned(), ());
    };
    line.verified().for_each(|(id, word)| take(id, word, None));
    let Some(stop) = line.stop() else { return };
    let Some(proof) = &stop.seen.proof else { return };
    let tree = stop.seen.tree_after_checks.as_ref().or(stop.seen.tree.as_ref());
    for criterion in &stop.before.acceptance_criteria {
        take(&criterion.id, proof.criterion_status(criterion).as_str(), tree.cloned());
    }
}

fn cell(
    id: &str,
    known: &BTreeMap<String, Known>,
    is_looked_at: bool,
    tree: &Option<String>,
) -> Cell {
    let Some(known) = known.get(id) else {
        let word = ReceiptStatus::NotRun.as_str();
        return Cell { worth: Worth::Never, word: word.to_owned(), looked: FromWhen::Before };
    };
    let looked = if is_looked_at { FromWhen::Now } else { FromWhen::Before };
    let has_changed = !is_looked_at
        && matches!((&known.tree, tree), (Some(then), Some(now)) if then != now)
        && Worth::from_word(&known.word) != Worth::Never;
    let word = if has_changed { ReceiptStatus::Stale.as_str() } else { &known.word };
    Cell { worth: Worth::from_word(word), word: word.to_owned(), looked }
}

// Problems: refusals, stalls, check failures, and tasks that were given up.

/// Problems shown per kind.
const MOST_PROBLEMS: usize = 40;

/// All problems, most important first.
pub(super) fn trouble(
    state: &LoopState,
    lines: &[ReportLine],
    n_unreadable: usize,
    now: Timestamp,
) -> Vec<Trouble> {
    let kinds = [
        ("Completion was requested and refused", Tone::Warn, refused(lines)),
        ("Held, and turned red", Tone::Bad, turned_red(state)),
        ("Standing still", Tone::Warn, still(lines)),
        ("Found by checks after edits", Tone::Warn, of_event(lines, "PostToolUse", "told")),
        ("Tool calls that were refused", Tone::Quiet, denials(lines)),
        ("Tasks that are stuck", Tone::Bad, stuck(state, now)),
        ("Work that was not merged", Tone::Bad, kept_out(state)),
        ("Errors", Tone::Bad, errors(state)),
        ("Journal", Tone::Warn, unreadable(n_unreadable)),
    ];
    Trouble::all(kinds, MOST_PROBLEMS)
}

type Items = Vec<(String, String)>;

fn at(line: &ReportLine) -> String {
    words::line(&line.position, 20)
}

fn refused(lines: &[ReportLine]) -> Items {
    let told = |line: &ReportLine| {
        let stop = line.stop()?;
        let proof = stop.seen.proof.as_ref();
        let open = stop.before.acceptance_criteria.iter().filter_map(|criterion| {
            let standing =
                proof.map_or(ReceiptStatus::NotRun, |proof| proof.criterion_status(criterion));
            let why = completion_feedback::why(criterion, standing, &[]);
            (!standing.is_met()).then(|| format!("{} {why}", criterion.id))
        });
        let open: Vec<String> = open.collect();
        let why = if open.is_empty() { line.why.clone() } else { open.join("; ") };
        Some((at(line), words::line(&why, LONG)))
    };
    lines.iter().filter(|line| line.refuses_completion()).filter_map(told).collect()
}

fn turned_red(state: &LoopState) -> Items {
    let red = state.acceptance_criteria.iter().filter_map(|criterion| {
        let red = criterion.turned_red.as_ref()?;
        let files = match (red.files.is_empty(), red.more) {
            (true, _) => String::new(),
            (false, 0) => format!("; changed since: {}", red.files.join(", ")),
            (false, more) => format!("; changed since: {} and {more} more", red.files.join(", ")),
        };
        let since = red.checkpoint.rsplit('/').next().filter(|number| !number.is_empty());
        let since = since.map_or_else(|| "before".to_owned(), |n| format!("at checkpoint {n}"));
        Some((words::line(&criterion.id, 40), words::line(&format!("held {since}{files}"), LONG)))
    });
    red.collect()
}

fn still(lines: &[ReportLine]) -> Items {
    let told = |line: &ReportLine| {
        let stop = line.stop()?;
        let asked = stop.outcome.verdict == "go on" || stop.outcome.cause.is_some();
        let what = phrases::stalling(&stop.outcome.signal)?;
        asked.then(|| (at(line), what.to_owned()))
    };
    lines.iter().filter_map(told).collect()
}

fn of_event(lines: &[ReportLine], event: &str, decision: &str) -> Items {
    let meant = lines.iter().filter(|line| line.event == event && line.decision == decision);
    meant.map(|line| (at(line), words::line(&line.why, LONG))).collect()
}

/// Repeated refusals of the same call are one item.
fn denials(lines: &[ReportLine]) -> Items {
    let mut found: Vec<(String, String, usize)> = Vec::new();
    for line in lines.iter().filter(|line| line.event == "PreToolUse" && line.decision == "denied")
    {
        let what = match &line.record {
            LineRecord::Denial(denial) => {
                let (tool, rule) = (words::line(&denial.tool, 60), words::spaced(&denial.rule));
                format!("{tool}{} ({rule})", subject(denial))
            }
            _ => words::line(&line.why, LONG),
        };
        match found.iter_mut().find(|(_, known, _)| *known == what) {
            Some((_, _, n)) => *n += 1,
            None => found.push((at(line), what, 1)),
        }
    }
    let times = |n: usize| if n > 1 { format!(", {n} times") } else { String::new() };
    found.into_iter().map(|(at, what, n)| (at, what + &times(n))).collect()
}

fn stuck(state: &LoopState, now: Timestamp) -> Items {
    let graph = Graph::new(&state.task_graph, now);
    let told = state.task_graph.iter().filter_map(|task| {
        let standing = graph.readiness(task);
        let is_stuck = matches!(standing, TaskStanding::Failed | TaskStanding::Blocked);
        let why = task.result.as_deref().unwrap_or("no reason was given");
        is_stuck.then(|| {
            let what = format!("{}: {why}", standing.word());
            (words::line(&task.id, 40), words::line(&what, LONG))
        })
    });
    told.collect()
}

fn kept_out(state: &LoopState) -> Items {
    let told = state.workers.iter().filter(|worker| !worker.kept_out.is_empty()).map(|worker| {
        let name = if worker.task.is_empty() { &worker.about } else { &worker.task };
        (words::line(name, 40), words::line(&worker.kept_out, LONG))
    });
    told.collect()
}

fn errors(state: &LoopState) -> Items {
    let told = state.errors.iter().map(|error| {
        (error.at.strftime("%H:%M:%SZ").to_string(), words::line(&error.message, LONG))
    });
    told.collect()
}

fn unreadable(n: usize) -> Items {
    let told = (n > 0).then(|| {
        let lines = words::counted(n, "line", "lines");
        (String::new(), format!("{lines} could not be read; what they said is not known"))
    });
    told.into_iter().collect()
}
