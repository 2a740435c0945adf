//! The status of each criterion at the end of each iteration.
//!
//! A stop checks receipts only if completion is requested, and a run of the criteria reports its
//! results. Between such checks a cell shows the last known status, marked as unchecked. If the
//! fingerprint shows a later change, the receipt counts as stale.

use super::line::ReportLine;
use super::timeline::turns;
use super::words;
use crate::evidence::receipt::ReceiptStatus;
use crate::state::{Criterion, LoopState};
use std::collections::BTreeMap;

/// Columns shown, the latest ones: a wider table is unreadable.
const MOST_MOMENTS: usize = 40;

/// Criteria shown.
const MOST_ROWS: usize = 100;

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
    pub fn of(word: &str) -> Worth {
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
pub(super) fn of(state: &LoopState, lines: &[ReportLine], now: &[ReceiptStatus]) -> History {
    let shown: Vec<&Criterion> = state.acceptance_criteria.iter().take(MOST_ROWS).collect();
    let n_rows_left_out = state.acceptance_criteria.len() - shown.len();
    if shown.is_empty() {
        return History::default();
    }
    let mut known: BTreeMap<String, Known> = BTreeMap::new();
    let mut moments = Vec::new();
    let mut columns: Vec<Vec<Cell>> = Vec::new();
    for turn in turns(lines) {
        let mut looked = BTreeMap::new();
        turn.lines.iter().for_each(|line| look(line, &mut known, &mut looked));
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
        Cell { worth: Worth::of(word), word: word.to_owned(), looked: FromWhen::Now }
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
fn look(line: &ReportLine, known: &mut BTreeMap<String, Known>, looked: &mut BTreeMap<String, ()>) {
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
        take(&criterion.id, proof.standing(criterion).as_str(), tree.cloned());
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
        && Worth::of(&known.word) != Worth::Never;
    let word = if has_changed { ReceiptStatus::Stale.as_str() } else { &known.word };
    Cell { worth: Worth::of(word), word: word.to_owned(), looked }
}
