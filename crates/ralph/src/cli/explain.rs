//! `ralph explain`: the last decisions of a loop in plain words, from its journal.
//!
//! A line with a known record is explained from that record; any other line is shown as it is.

mod denial;
mod stop;

use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state, refused};
use crate::command::number;
use crate::command::screen::{self, Colour, visible};
use crate::command::select_loop::{self, LoopArgs};
use anyhow::Result;
use ralph_core::views::phrases;
use ralph_io::store::journal::{self, JournalEntry};
use ralph_io::store::notice;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Number of decisions
    #[arg(value_name = "N", default_value = "1", value_parser = number::count, allow_hyphen_values = true)]
    count: u32,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    which: LoopArgs,
}

/// One decision: a line with the decision, and labelled rows with the reasons.
struct ExplainedDecision {
    what: String,
    rows: Vec<(&'static str, String)>,
}

pub(crate) fn run(args: &Args) -> Result<Exit> {
    let here = Here::gather()?;
    let found = select_loop::recent(&here, &args.which)?;
    let entries = journal::load(found.file.folder()).map_err(bad_state)?.entries;
    let count = usize::try_from(args.count).unwrap_or(usize::MAX);
    let last = last(&entries, count);
    let loop_id = &found.state.loop_id;
    if args.json {
        screen::print_json(&json!({"schema_version": 1, "loop_id": loop_id, "decisions": last}))?;
        return Ok(Exit::Done);
    }
    if last.is_empty() {
        let message = format!("nothing was decided yet about loop {}", visible(loop_id));
        return Err(refused(Exit::No, message));
    }
    let mut blocks = vec![format!("loop {}", visible(loop_id))];
    blocks.extend(last.iter().map(describe));
    screen::print(&blocks.join("\n"))?;
    Ok(Exit::Done)
}

/// The last decisions, with the notifications after them, which decide nothing.
fn last(entries: &[JournalEntry], count: usize) -> &[JournalEntry] {
    let decides = |(_, entry): &(usize, &JournalEntry)| entry.decision != notice::DECISION;
    let decisions = entries.iter().enumerate().rev().filter(decides).map(|(at, _)| at);
    let first = decisions.take(count).last().unwrap_or_default();
    &entries[first..]
}

fn describe(entry: &JournalEntry) -> String {
    let ExplainedDecision { what, rows } = tell(entry);
    let width = rows.iter().map(|(label, _)| label.len()).max().unwrap_or_default() + 2;
    let colour = match entry.decision.as_str() {
        "denied" | "does not hold" => Colour::Red,
        "paused" | "told" | "turned red" => Colour::Yellow,
        _ => Colour::Green,
    };
    let at = screen::coloured(&screen::local(entry.at), Colour::Dim);
    let mut text = format!("{at}  {}", screen::coloured(&visible(&what), colour));
    let indent = width + 2;
    for (label, value) in rows {
        let mut label = label;
        for line in value.lines() {
            let begun = screen::coloured(&format!("{label:<width$}"), Colour::Dim);
            let line = screen::wrapped(&visible(line), indent, indent);
            text.push_str(&format!("\n  {begun}{line}"));
            label = "";
        }
    }
    text
}

fn tell(entry: &JournalEntry) -> ExplainedDecision {
    let told = match entry.event.as_str() {
        "Stop" => record(entry).map(|record| stop::tell(entry, &record)),
        "PreToolUse" => record(entry).map(|record| denial::tell(entry, &record)),
        _ => None,
    };
    let mut told = told.unwrap_or_else(|| plainly(entry));
    told.rows.push(("took", took(entry.took_us)));
    told.rows.retain(|(_, value)| !value.is_empty());
    told
}

/// The labelled rows of one decision.
pub(super) fn rows(entry: &JournalEntry) -> Vec<(&'static str, String)> {
    tell(entry).rows
}

/// The line's record; none if it has none, or one of another version.
fn record<R: DeserializeOwned>(entry: &JournalEntry) -> Option<R> {
    R::deserialize(entry.record.as_ref()?).ok()
}

/// Explains a line without a usable record from its own fields.
fn plainly(entry: &JournalEntry) -> ExplainedDecision {
    let seen = match &entry.seen {
        Value::Null => String::new(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name, plain(value)))
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| format!("{name} {value}"))
            .collect::<Vec<_>>()
            .join(", "),
        other => plain(other),
    };
    ExplainedDecision {
        what: phrases::decision(&entry.event, &entry.decision),
        rows: vec![("why", entry.why.clone()), ("seen", seen), ("at", entry.position.clone())],
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn took(microseconds: u64) -> String {
    let milliseconds = microseconds / 1_000;
    match milliseconds {
        0 => format!("{microseconds} µs"),
        1..=9_999 => format!("{milliseconds} ms"),
        _ => format!("{} s", milliseconds / 1_000),
    }
}
