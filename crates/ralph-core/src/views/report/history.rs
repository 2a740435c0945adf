//! What each criterion was worth at the end of each iteration.
//!
//! A stop looks at the receipts only where completion is requested, and a run of the criteria says what it
//! found. In between a receipt is what it was when it was last looked at: that is shown, and that nobody
//! looked. Where the fingerprint shows that something had changed meanwhile, the receipt is called stale.

use super::line::ReportLine;
use super::timeline::turns;
use super::words;
use crate::evidence::receipt::ReceiptStatus;
use crate::state::{Criterion, LoopState};
use std::collections::BTreeMap;

/// The last so many moments are shown: wider than that nobody reads.
const MOST_MOMENTS: usize = 40;

/// So many criteria are shown.
const MOST_ROWS: usize = 100;

/// Criteria over time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct History {
    /// The moments, oldest first: the number of an iteration; at last `end` or `now`.
    pub moments: Vec<String>,
    /// The criteria, each with a cell for each moment.
    pub rows: Vec<CriterionRow>,
    /// Earlier moments that are not shown.
    pub n_moments_left_out: usize,
    /// Criteria that are not shown.
    pub n_rows_left_out: usize,
}

/// One criterion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CriterionRow {
    /// Its id.
    pub id: String,
    /// In words.
    pub about: String,
    /// What it was worth at each moment.
    pub cells: Vec<Cell>,
}

/// What a criterion was worth at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// At a glance.
    pub worth: Worth,
    /// The standing, in a word.
    pub word: String,
    /// Whether anyone looked in this iteration.
    pub looked: FromWhen,
}

/// What a criterion is worth, at a glance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worth {
    /// It holds.
    Holds,
    /// It ran and does not hold.
    Fails,
    /// Something changed since it was run, or it must pass once more.
    Stale,
    /// It was not run yet.
    Never,
}

/// Whether anyone looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FromWhen {
    /// In this iteration.
    Now,
    /// In an earlier one.
    Before,
}

impl Worth {
    /// Of the word of a standing. A word of another version is a failure: only `holds` is known to hold.
    pub fn of(word: &str) -> Worth {
        let is = |standing: ReceiptStatus| standing.as_str() == word;
        match () {
            () if is(ReceiptStatus::Holds) => Worth::Holds,
            () if is(ReceiptStatus::NeverRun) => Worth::Never,
            () if is(ReceiptStatus::Stale) || is(ReceiptStatus::Flaky) => Worth::Stale,
            () => Worth::Fails,
        }
    }
}

/// What was last known of a criterion.
#[derive(Debug, Clone)]
struct Known {
    word: String,
    /// The fingerprint of the tree then; none where it is not known.
    tree: Option<String>,
}

/// The criteria of a loop over time; `now` is what each is worth at the end, or now.
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
        let tree =
            turn.lines.last().and_then(ReportLine::stop).and_then(|stop| stop.seen.tree.clone());
        let cell = |one: &&Criterion| cell(&one.id, &known, looked.contains_key(&one.id), &tree);
        moments.push(number.to_string());
        columns.push(shown.iter().map(cell).collect());
    }
    moments.push(if state.ending.is_some() { "end" } else { "now" }.to_owned());
    let last = |(at, _): (usize, &&Criterion)| {
        let word = now.get(at).copied().unwrap_or(ReceiptStatus::NeverRun).as_str();
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

/// Takes up what a line says of criteria.
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
        let word = ReceiptStatus::NeverRun.as_str();
        return Cell { worth: Worth::Never, word: word.to_owned(), looked: FromWhen::Before };
    };
    let looked = if is_looked_at { FromWhen::Now } else { FromWhen::Before };
    let has_changed = !is_looked_at
        && matches!((&known.tree, tree), (Some(then), Some(now)) if then != now)
        && Worth::of(&known.word) != Worth::Never;
    let word = if has_changed { ReceiptStatus::Stale.as_str() } else { &known.word };
    Cell { worth: Worth::of(word), word: word.to_owned(), looked }
}
