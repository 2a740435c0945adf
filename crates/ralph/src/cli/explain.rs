//! `ralph explain`: the last decisions of a loop in plain words, from its journal.
//!
//! A line with a known record is explained from that record; any other line is shown as it is.

use crate::cli::refine;
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state};
use crate::command::number;
use crate::command::screen::{self, Colour, visible};
use crate::command::select_loop;
use crate::command::select_target::{Target, TargetArgs};
use anyhow::{Result, bail};
use ralph_core::evidence::receipt::{Proof, ReceiptStatus};
use ralph_core::evidence::{completion_feedback, pinned};
use ralph_core::guard::{DenialRecord, LoopActivity};
use ralph_core::modes::ralplan::position;
use ralph_core::state::{LoopState, RefineState, Signal};
use ralph_core::stop::{StopInputs, StopRecord};
use ralph_core::text::plural::{noun, rounded, tokens};
use ralph_core::text::token::CompletionRequest;
use ralph_core::views::phrases::{self, spaced};
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
    target: TargetArgs,
}

/// One decision: a line with the decision, and labelled rows with the reasons.
struct ExplainedDecision {
    what: String,
    rows: Vec<(&'static str, String)>,
}

pub(crate) fn run(args: &Args) -> Result<Exit> {
    let here = Here::gather()?;
    let found = match args.target.target()? {
        Target::Refinement(name) => return refine::show::explain(&here, name, args.json),
        Target::Orchestration(_) => args.target.live_loop(&here)?,
        _ => select_loop::recent(&here, &args.target.which)?,
    };
    let entries = journal::load(found.file.folder()).map_err(bad_state)?.entries;
    let count = usize::try_from(args.count).unwrap_or(usize::MAX);
    let last = last(&entries, count);
    let loop_id = &found.state.loop_id;
    if args.json {
        return screen::print_json(
            &json!({"schema_version": 1, "loop_id": loop_id, "decisions": last}),
        );
    }
    if last.is_empty() {
        bail!("nothing was decided yet about loop {}", visible(loop_id));
    }
    let mut blocks = vec![format!("loop {}", visible(loop_id))];
    blocks.extend(last.iter().map(describe));
    screen::print(&blocks.join("\n"))
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
        "Stop" => record(entry).map(|record| stop(entry, &record)),
        "PreToolUse" => record(entry).map(|record| denial(entry, &record)),
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

// A Stop decision in plain words.

/// Characters of the model's last message that are shown.
const MESSAGE: usize = 160;

/// Tells what was decided, why, and from which inputs. A planning and a refinement request no completion
/// and prove nothing, so only their progress is shown.
fn stop(entry: &JournalEntry, record: &StopRecord) -> ExplainedDecision {
    let (what, because) = verdict(entry, record);
    let goes_on = record.outcome.verdict == "go on";
    let unless_over = |why: &str| if goes_on { why.to_owned() } else { because.clone() };
    let mut rows = if let Some(plan) = record.before.ralplan() {
        let planning = format!("{}, plan {}", spaced(plan.phase.as_str()), position(plan));
        vec![("because", unless_over("the planning is not over")), ("planning", planning)]
    } else if let Some(refining) = record.before.refining() {
        vec![
            ("because", unless_over("the refinement is not over")),
            ("refining", refinement(record, refining)),
        ]
    } else {
        vec![
            ("because", because),
            ("request", request(&record.before, &record.seen)),
            ("criteria", criteria(record)),
            ("progress", progress(record)),
        ]
    };
    rows.extend([
        ("workers", workers(&record.seen)),
        ("budgets", budgets(&record.before, &record.seen)),
        ("said", message(entry)),
        ("told", if goes_on { entry.why.clone() } else { String::new() }),
    ]);
    ExplainedDecision { what: format!("{what} at {}", entry.position), rows }
}

fn refinement(record: &StopRecord, refining: &RefineState) -> String {
    let open = match refining.open {
        0 => "no round is open".to_owned(),
        round => format!("round {round} is open"),
    };
    format!(
        "`{}`, rounds done: {}, {open}, agents called: {}",
        refining.name,
        record.before.position(),
        refining.calls.len()
    )
}

fn verdict(entry: &JournalEntry, record: &StopRecord) -> (String, String) {
    let verdict = record.outcome.verdict.as_str();
    if let Some(why) = verdict.strip_prefix("let go: ") {
        return ("turn over".to_owned(), why.to_owned());
    }
    if let Some(kind) = verdict.strip_prefix("ended: ") {
        let cause =
            record.outcome.cause.as_ref().map(|cause| format!(" ({})", spaced(cause.as_str())));
        let what = format!("loop ended, {}{},", spaced(kind), cause.unwrap_or_default());
        let detail = entry.why.strip_prefix(&format!("{kind}: ")).unwrap_or(&entry.why);
        return (what, detail.to_owned());
    }
    let because = match record.seen.request {
        CompletionRequest::Made => request_refused(record),
        _ => "completion was not requested, and no bound is reached".to_owned(),
    };
    ("next turn".to_owned(), because)
}

/// Why the completion request was refused.
fn request_refused(record: &StopRecord) -> String {
    if let Some(withheld) = record.work.withheld {
        return format!("completion was requested and is refused: {}", withheld.describe());
    }
    let all = criterion_statuses(record);
    let holding = all.iter().filter(|(_, standing)| standing.is_met()).count();
    let hold = noun(all.len(), "holds", "hold");
    let criteria = noun(all.len(), "criterion", "criteria");
    let mut text = format!(
        "completion was requested and is refused: {holding} of {} {criteria} {hold}",
        all.len()
    );
    if !pinned::is_as_frozen(&record.before) {
        text.push_str(", and they are not those that you agreed to");
    }
    if let Some(proof) = record.seen.proof.as_ref().filter(|proof| !proof.problem.is_empty()) {
        text.push_str(&format!("; not all could be run: {}", proof.problem));
    }
    text
}

/// Whether the message requested completion or only mentioned the token.
fn request(state: &LoopState, seen: &StopInputs) -> String {
    let token = &state.completion_token;
    match seen.request {
        CompletionRequest::Made => format!("{token} stood alone on the last line"),
        CompletionRequest::OnlyMentioned => {
            format!("{token} was in the message, but not alone on its last line: no request")
        }
        CompletionRequest::None => String::new(),
    }
}

/// Each criterion with its receipt's status. The journal has these only
/// where completion was requested.
fn criteria(record: &StopRecord) -> String {
    let nothing = Proof::default();
    let proof = record.seen.proof.as_ref().unwrap_or(&nothing);
    let lines: Vec<String> = criterion_statuses(record)
        .into_iter()
        .map(|(criterion, standing)| {
            let changed = proof.changed.get(&criterion.id).map_or(&[][..], Vec::as_slice);
            format!("{} {}", criterion.id, completion_feedback::why(criterion, standing, changed))
        })
        .chain(completion_feedback::out_of_bounds(&record.before))
        .map(|line| line.replace('\n', " "))
        .collect();
    lines.join("\n")
}

fn criterion_statuses(record: &StopRecord) -> Vec<(&ralph_core::state::Criterion, ReceiptStatus)> {
    let Some(proof) = &record.seen.proof else { return Vec::new() };
    let all = record.before.acceptance_criteria.iter();
    all.map(|criterion| (criterion, proof.criterion_status(criterion))).collect()
}

/// The progress that the stop measured; empty if the decision did not depend on it.
fn progress(record: &StopRecord) -> String {
    let StopRecord { before, seen, outcome, .. } = record;
    let asked = outcome.verdict == "go on" || outcome.cause.is_some();
    if !asked {
        return String::new();
    }
    let worked = match seen.worked {
        Some(true) => "; the turn used its tools",
        Some(false) => "; the turn was text only",
        None => "",
    };
    let what = match outcome.signal {
        _ if seen.tree.is_none() => "the tree could not be read, so nothing counts as a stall",
        Signal::Working if before.progress.left_at.is_empty() => "this was the first stop",
        Signal::Working => "something had changed since the stop before",
        _ => match phrases::stalling(&outcome.signal) {
            Some(what) => what,
            None => return spaced(outcome.signal.as_str()),
        },
    };
    if outcome.signal == Signal::Idle { what.to_owned() } else { format!("{what}{worked}") }
}

fn workers(seen: &StopInputs) -> String {
    let mut parts = Vec::new();
    if !seen.workers.is_empty() {
        parts.push(format!("still at work: {}", seen.workers.join(", ")));
    }
    if seen.command_waits {
        parts.push("a command that you typed was waiting".to_owned());
    }
    parts.join("\n")
}

fn budgets(state: &LoopState, seen: &StopInputs) -> String {
    let minutes = state.worked_seconds(seen.now) / 60;
    let mut text = format!(
        "continued {} of {} {}; {minutes} of {} min",
        state.iteration,
        state.max_iterations,
        noun(state.max_iterations, "time", "times"),
        state.limits.max_minutes,
    );
    match (state.usage.total(), state.limits.max_tokens) {
        (used, Some(most)) => text.push_str(&format!("; {} of {}", rounded(used), tokens(most))),
        (0, None) => {}
        (used, None) => text.push_str(&format!("; {}", tokens(used))),
    }
    if let Some(most) = state.limits.max_cost {
        text.push_str(&format!("; ${:.2} of ${most:.2}", state.usage.cost));
    }
    text
}

/// The end of the model's last message, on one line.
fn message(entry: &JournalEntry) -> String {
    entry.seen["message"]
        .as_str()
        .map_or_else(String::new, |text| ralph_core::text::truncate::tail(text, MESSAGE))
}

// A refused tool call in plain words.

/// Tells which call was refused, by which rule, and what the model read.
fn denial(entry: &JournalEntry, record: &DenialRecord) -> ExplainedDecision {
    let told = entry.why.strip_prefix(&format!("{}: ", record.rule)).unwrap_or(&entry.why);
    ExplainedDecision {
        what: format!("tool call refused at {}: {}", entry.position, record.tool),
        rows: vec![
            ("rule", spaced(&record.rule)),
            ("command", shown(record.command.as_deref(), record.shortened)),
            ("file", file(record)),
            ("caller", caller(record)),
            ("loop", activity_text(record.standing).to_owned()),
            ("told", told.to_owned()),
        ],
    }
}

/// Shows several lines as one, so that the later ones cannot pass for our own output.
fn shown(text: Option<&str>, shortened: bool) -> String {
    let text = text.unwrap_or_default().replace('\n', "\\n");
    if shortened && !text.is_empty() { format!("{text}… (longer than is kept)") } else { text }
}

fn file(record: &DenialRecord) -> String {
    let path = shown(record.path.as_deref(), record.shortened);
    match &record.resolved {
        Some(resolved) if record.path.as_ref() != Some(resolved) => {
            format!("{path}, which leads to {}", shown(Some(resolved), false))
        }
        _ => path,
    }
}

fn caller(record: &DenialRecord) -> String {
    match record.subagent.as_deref() {
        None => "the main conversation".to_owned(),
        Some("") => "a subagent".to_owned(),
        Some(kind) => format!("a subagent ({kind})"),
    }
}

fn activity_text(standing: LoopActivity) -> &'static str {
    match standing {
        LoopActivity::Running => "was running",
        LoopActivity::AwaitingBaseline => "was waiting for its baseline",
        LoopActivity::Paused => "was paused",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(record: serde_json::Value, label: &str, expected: &str) {
        let mut all = json!({"rule": "protected_place", "tool": "Write", "shortened": false,
            "cut": false, "cwd": "/p", "mode": "loop", "standing": "running", "session_id": "s",
            "places": {"ralph_home": "/r", "config_dirs": [], "user_config": "",
                "executables": [], "home": "/h"}});
        all.as_object_mut().unwrap().extend(record.as_object().unwrap().clone());
        let entry = json!({"at": "2026-01-01T00:00:00Z", "event": "PreToolUse",
            "decision": "denied", "why": "protected_place: Not this.", "position": "1/5"});
        let entry: JournalEntry = serde_json::from_value(entry).unwrap();
        let told = denial(&entry, &serde_json::from_value(all).unwrap());
        assert_eq!(told.what, "tool call refused at 1/5: Write");
        let row = told.rows.iter().find(|(name, _)| *name == label).unwrap();
        assert_eq!(row.1, expected);
    }

    #[test]
    fn a_refusal_says_who_called_and_what_the_model_read() {
        check(json!({}), "caller", "the main conversation");
        check(json!({"subagent": ""}), "caller", "a subagent");
        check(json!({"subagent": "ralph-worker"}), "caller", "a subagent (ralph-worker)");
        check(json!({"standing": "paused"}), "loop", "was paused");
        check(json!({}), "told", "Not this.");
        check(json!({}), "rule", "protected place");
    }

    #[test]
    fn a_link_is_told_with_where_it_leads_and_a_cut_text_as_such() {
        check(json!({"path": "/p/a", "resolved": "/p/a"}), "file", "/p/a");
        let leads = "/p/a, which leads to /r/state.json";
        check(json!({"path": "/p/a", "resolved": "/r/state.json"}), "file", leads);
        let cut = "ralph\\ncancel… (longer than is kept)";
        check(json!({"command": "ralph\ncancel", "shortened": true}), "command", cut);
    }
}
