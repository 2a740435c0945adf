//! The list for people: a heading for each loop, rows under it, and its criteria.

use super::looked::Looked;
use crate::cli::screen::{self, Colour, visible};
use jiff::Timestamp;
use ralph_core::progress;
use ralph_core::receipt::Standing;
use ralph_core::state::{Criterion, LoopState, Phase, Signal};
use ralph_core::{frozen, graph, refusal, say};

/// How much is said of a loop that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Its criteria, with what became of each.
    Whole,
    /// A list of many loops has no room for them.
    Brief,
}

/// A row is put on one line if it fits this, whatever the terminal: what is printed to a file is
/// the same.
const WIDTH: usize = 80;

/// One loop.
pub(super) fn describe(one: &Looked, form: Form, now: Timestamp) -> String {
    let state = &one.state;
    let mut text = format!(
        "{}  {}  {}",
        visible(&state.loop_id),
        screen::coloured(&visible(state.phase.as_str()), colour(state)),
        state.position()
    );
    for (label, value) in rows(one, now) {
        if !value.is_empty() {
            text.push_str(&format!("\n  {label:<12}{}", visible(&value)));
        }
    }
    if form == Form::Whole || state.ending.is_none() {
        text.push_str(&criteria(one));
    }
    text
}

/// What comes next, and who does it.
pub(super) fn next(one: &Looked) -> String {
    let state = &one.state;
    match state.phase {
        Phase::Planned => "/ralph in Claude Code starts it".to_owned(),
        Phase::Paused => "/ralph in its session continues it, as `ralph resume` does".to_owned(),
        Phase::Ended => match say::next_command(state) {
            // That has just been done.
            command if command.starts_with("`ralph status") => match one.checkpoint_number() {
                Some(_) => {
                    format!("`ralph checkpoint show --loop {}` shows what was kept", state.loop_id)
                }
                None => {
                    format!("`ralph explain --loop {}` tells the last decision", state.loop_id)
                }
            },
            command => command,
        },
        _ if !frozen::is_as_frozen(state) => {
            "the criteria are not those that were agreed to; `ralph criteria accept` takes them"
                .to_owned()
        }
        _ if state.acceptance_criteria.iter().any(|criterion| !one.is_proven(criterion)) => {
            format!("`ralph verify --loop {}` runs the criteria", state.loop_id)
        }
        _ => String::new(),
    }
}

fn rows(one: &Looked, now: Timestamp) -> Vec<(&'static str, String)> {
    let state = &one.state;
    let goal = match state.prompt.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &state.prompt[..end]),
        None => state.prompt.clone(),
    };
    let mut rows = vec![
        ("goal", goal.split_whitespace().collect::<Vec<_>>().join(" ")),
        ("project", state.project_root.clone()),
        ("session", state.session_id.clone()),
    ];
    match &state.ending {
        Some(ending) => {
            let cause = ending.cause.as_ref().map(|cause| format!(" ({cause})"));
            let kind = format!("{}{}", ending.kind, cause.unwrap_or_default());
            rows.push(("ended", with_detail(&kind, &ending.detail)));
            rows.push(("lasted", say::lasted(state, ending.at)));
            rows.push(("achieved", say::achieved(state)));
        }
        None => {
            let pause = state.pause.as_ref();
            let paused = pause.map(|pause| with_detail(pause.cause.as_str(), &pause.detail));
            rows.push(("paused", paused.unwrap_or_default()));
            let blocked = state.blocked.as_ref().map(|blocked| blocked.what.clone());
            rows.push(("blocked", blocked.unwrap_or_default()));
            rows.push(("tasks", tasks(state, now)));
            rows.push(("progress", if state.is_running() { moves(state) } else { String::new() }));
            rows.push(("used", used(one, now)));
        }
    }
    rows.extend([
        ("checkpoint", checkpoint(one)),
        ("note", say::warnings(state)),
        ("next", next(one)),
        ("criteria", count(one)),
    ]);
    rows
}

fn with_detail(word: &str, detail: &str) -> String {
    if detail.is_empty() { word.to_owned() } else { format!("{word}: {detail}") }
}

fn tasks(state: &LoopState, now: Timestamp) -> String {
    let tasks = graph::summary(&state.task_graph, now);
    match (tasks.total, tasks.ready) {
        (0, _) => String::new(),
        (_, ready) => format!("{}, {ready} ready", tasks.describe()),
    }
}

/// Whether the loop moves, and how near it is to being called stalled.
fn moves(state: &LoopState) -> String {
    let seen = &state.progress;
    let limit = state.stall_limit;
    match &seen.signal {
        Signal::Working if seen.left_at.is_empty() => "no stop yet".to_owned(),
        Signal::Working => "something changed since the stop before".to_owned(),
        Signal::NoChange => {
            format!("nothing changed at {} (of {limit})", progress::stops(seen.standing))
        }
        Signal::Idle => {
            let stops = progress::stops(seen.standing);
            format!("nothing done and nothing changed at {stops} (of {limit})")
        }
        Signal::Cycle => "goes round in a circle".to_owned(),
        Signal::SameFailure => {
            format!("the same failure {} times in a row (of {limit})", seen.same_failure)
        }
        Signal::Waiting => "waits for background workers".to_owned(),
        Signal::Blocked => "a person must do something first".to_owned(),
        other => other.to_string(),
    }
}

fn used(one: &Looked, now: Timestamp) -> String {
    let limits = &one.state.limits;
    let mut parts: Vec<String> = Vec::new();
    if let Some(minutes) = one.minutes(now) {
        parts.push(format!("{minutes} of {} minutes", limits.max_minutes));
    }
    match (one.state.usage.total(), limits.max_tokens) {
        (used, Some(limit)) => parts.push(format!("{used} of {limit} tokens")),
        (0, None) => {}
        (used, None) => parts.push(format!("{used} tokens")),
    }
    parts.join(", ")
}

fn checkpoint(one: &Looked) -> String {
    let Some(green) = &one.state.checkpoint else { return String::new() };
    let number = one.checkpoint_number().map(|number| format!("{number}, "));
    format!("{}all held at {}", number.unwrap_or_default(), green.at.strftime("%Y-%m-%d %H:%M:%SZ"))
}

fn count(one: &Looked) -> String {
    let all = &one.state.acceptance_criteria;
    match (&one.state.ending, all.len()) {
        // What was achieved says it.
        (Some(_), _) | (_, 0) => String::new(),
        (None, n) => {
            let holding = all.iter().filter(|criterion| one.is_proven(criterion)).count();
            format!("{holding} of {n} {}", if n == 1 { "holds" } else { "hold" })
        }
    }
}

fn criteria(one: &Looked) -> String {
    let all = &one.state.acceptance_criteria;
    let id = all.iter().map(|one| visible(&one.id).chars().count()).max().unwrap_or_default();
    let word = all.iter().map(|it| one.standing(it).as_str().len()).max().unwrap_or_default();
    let mut text = String::new();
    for criterion in all {
        let standing = one.standing(criterion);
        let margin = format!("\n    {:<id$}", "");
        text.push_str(&format!(
            "\n    {:<id$}  {}{:<pad$}",
            visible(&criterion.id),
            screen::coloured(standing.as_str(), worth(standing)),
            "",
            pad = word - standing.as_str().len()
        ));
        let said = visible(&criterion.description);
        let command = format!("`{}`", visible(&criterion.verification_command));
        let row = 4 + id + 2 + word + 2 + said.chars().count() + 2 + command.chars().count();
        let between = if row <= WIDTH { "  ".to_owned() } else { format!("{margin}  ") };
        text.push_str(&format!("  {said}{between}{command}"));
        for note in notes(one, criterion, standing).iter().filter(|note| !note.is_empty()) {
            text.push_str(&format!("{margin}  {}", visible(note)));
        }
    }
    text
}

/// What is wrong with a criterion, or what its proof rests on.
fn notes(one: &Looked, criterion: &Criterion, standing: Standing) -> Vec<String> {
    let why = refusal::why(criterion, standing, one.changed(criterion));
    let tests = criterion.receipt.as_ref().and_then(|receipt| receipt.tests_run);
    let mut notes = match standing {
        // The word beside it says as much.
        Standing::NeverRun => Vec::new(),
        Standing::Stale => vec![why.strip_prefix("is stale: ").unwrap_or(&why).to_owned()],
        Standing::Holds => {
            tests.map(|n| format!("{n} {} ran", one_or_many(n))).into_iter().collect()
        }
        _ => vec![why],
    };
    if criterion.held_before {
        notes.push("held already before the work".to_owned());
    }
    if criterion.turned_red.is_some() {
        let alone =
            LoopState { acceptance_criteria: vec![criterion.clone()], ..LoopState::default() };
        notes.push(refusal::regressions(&alone).trim_end().to_owned());
    }
    notes
}

fn one_or_many(n: u64) -> &'static str {
    if n == 1 { "test" } else { "tests" }
}

fn worth(standing: Standing) -> Colour {
    match standing {
        Standing::Holds => Colour::Green,
        Standing::NeverRun => Colour::Dim,
        Standing::Stale | Standing::Flaky => Colour::Yellow,
        _ => Colour::Red,
    }
}

fn colour(state: &LoopState) -> Colour {
    match state.phase {
        Phase::Implementation | Phase::Verification => Colour::Green,
        Phase::Paused => Colour::Yellow,
        _ => Colour::Dim,
    }
}
