//! A Stop decision in plain words.

use super::ExplainedDecision;
use ralph_core::evidence::completion_feedback;
use ralph_core::evidence::pinned;
use ralph_core::evidence::receipt::{Proof, ReceiptStatus};
use ralph_core::modes::ralplan::position;
use ralph_core::state::{LoopState, RefineState, Signal};
use ralph_core::stop::{StopInputs, StopRecord};
use ralph_core::text::plural::{noun, rounded, tokens};
use ralph_core::text::token::CompletionRequest;
use ralph_io::store::journal::JournalEntry;

/// Characters of the model's last message that are shown.
const MESSAGE: usize = 160;

/// Tells what was decided, why, and from which inputs. A planning and a refinement request no completion
/// and prove nothing, so only their progress is shown.
pub(super) fn tell(entry: &JournalEntry, record: &StopRecord) -> ExplainedDecision {
    let (what, because) = verdict(entry, record);
    let goes_on = record.outcome.verdict == "go on";
    let unless_over = |why: &str| if goes_on { why.to_owned() } else { because.clone() };
    let mut rows = if let Some(plan) = record.before.ralplan() {
        let planning = format!("{}, plan {}", words(plan.phase.as_str()), position(plan));
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
            record.outcome.cause.as_ref().map(|cause| format!(" ({})", words(cause.as_str())));
        let what = format!("loop ended, {}{},", words(kind), cause.unwrap_or_default());
        let detail = entry.why.strip_prefix(&format!("{kind}: ")).unwrap_or(&entry.why);
        return (what, detail.to_owned());
    }
    let because = match record.seen.request {
        CompletionRequest::Made => refused(record),
        _ => "completion was not requested, and no bound is reached".to_owned(),
    };
    ("next turn".to_owned(), because)
}

/// Why the completion request was refused.
fn refused(record: &StopRecord) -> String {
    if let Some(withheld) = record.work.withheld {
        return format!("completion was requested and is refused: {}", withheld.describe());
    }
    let all = standings(record);
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
    let lines: Vec<String> = standings(record)
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

fn standings(record: &StopRecord) -> Vec<(&ralph_core::state::Criterion, ReceiptStatus)> {
    let Some(proof) = &record.seen.proof else { return Vec::new() };
    let all = record.before.acceptance_criteria.iter();
    all.map(|criterion| (criterion, proof.standing(criterion))).collect()
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
        Signal::NoChange => "nothing had changed since the stop before",
        Signal::Idle => "nothing had changed, and the turn was text only",
        Signal::Cycle => "the tree goes through the same few states again and again",
        Signal::SameFailure => "the failure is the same as at the request before",
        _ => return words(outcome.signal.as_str()),
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

fn words(word: &str) -> String {
    word.replace('_', " ")
}
