//! A round of calls of every kind, drawn from a seed.

use crate::calls::Caller;
use crate::chance::Chance;
use crate::world::World;
use serde_json::json;

/// A kind of call, and how many tickets it has in the draw.
type Kind = (&'static str, usize);

/// Nothing here takes a loop from its course.
const CALM: [Kind; 15] = [
    ("stop", 24),
    ("denied", 5),
    ("allowed", 4),
    ("tool-done", 4),
    ("notified", 2),
    ("worker", 2),
    ("compacted", 2),
    ("add", 5),
    ("claim", 6),
    ("finish", 3),
    ("status", 3),
    ("all", 1),
    ("explain", 2),
    ("list", 2),
    ("verify", 1),
];

/// A person, and an interface that fails.
const RESTLESS: [Kind; 5] =
    [("pause", 2), ("resume", 4), ("typed-pause", 1), ("failed", 1), ("prompt", 1)];

/// One round: its number tells its calls from those of all other rounds.
pub(crate) struct Round<'a> {
    pub(crate) world: &'a World,
    pub(crate) number: usize,
    /// Tasks that may be finished.
    pub(crate) claimed: Vec<String>,
    /// Whether the loop is also taken from its course.
    pub(crate) restless: bool,
}

/// So many calls.
pub(crate) fn draw(round: &mut Round<'_>, chance: &mut Chance, n_calls: usize) -> Vec<Caller> {
    let restless: &[Kind] = if round.restless { &RESTLESS } else { &[] };
    let kinds: Vec<Kind> = CALM.iter().chain(restless).copied().collect();
    let tickets: usize = kinds.iter().map(|(_, tickets)| tickets).sum();
    (0..n_calls)
        .map(|at| {
            let mut ticket = chance.below(tickets);
            let drawn = kinds.iter().find(|(_, tickets)| {
                let is_it = ticket < *tickets;
                ticket = ticket.wrapping_sub(*tickets);
                is_it
            });
            caller(round, drawn.expect("the ticket is one of them").0, at)
        })
        .collect()
}

fn caller(round: &mut Round<'_>, kind: &str, at: usize) -> Caller {
    let tag = format!("{}-{at}", round.number);
    match kind {
        "add" | "claim" | "finish" | "status" | "all" | "explain" | "list" | "verify" | "pause"
        | "resume" => command(round, kind, &tag),
        _ => hook(round, kind, &tag),
    }
}

fn command(round: &mut Round<'_>, kind: &str, tag: &str) -> Caller {
    let (id, owner) = (format!("T-{tag}"), format!("owner-{tag}"));
    let finished = if kind == "finish" { round.claimed.pop() } else { None };
    let words: Vec<&str> = match (kind, &finished) {
        ("add", _) => vec!["task", "add", "a task", "--id", &id],
        ("claim", _) => vec!["task", "claim", "--owner", &owner],
        ("finish", Some(task)) => vec!["task", "done", task],
        ("finish" | "list", _) => vec!["task", "list", "--json"],
        ("status", _) => vec!["status", "--json"],
        ("all", _) => vec!["status", "--all"],
        (other, _) => vec![other],
    };
    let kind = if kind == "finish" && finished.is_none() { "list" } else { kind };
    Caller::terminal(&format!("{kind} {tag}"), round.world, &words)
}

fn hook(round: &Round<'_>, kind: &str, tag: &str) -> Caller {
    let world = round.world;
    let (name, event, members) = match kind {
        "stop" => ("ralph-stop-hook", "Stop", json!({"last_assistant_message": tag})),
        "failed" => (
            "ralph-stop-hook",
            "StopFailure",
            json!({"error": "server_error", "last_assistant_message": tag}),
        ),
        "worker" => (
            "ralph-stop-hook",
            "SubagentStop",
            json!({"agent_id": tag, "agent_type": "x", "agent_transcript_path": "/nowhere"}),
        ),
        "denied" => (
            "ralph-pre-tool-use",
            "PreToolUse",
            json!({"tool_name": "AskUserQuestion", "tool_input": {}, "tool_use_id": tag}),
        ),
        "allowed" => (
            "ralph-pre-tool-use",
            "PreToolUse",
            json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": tag}),
        ),
        "tool-done" => (
            "ralph-backpressure",
            "PostToolUse",
            json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": tag}),
        ),
        "notified" => {
            ("ralph-user-prompt", "UserPromptSubmit", json!({"prompt": "<task-notification>x"}))
        }
        "typed-pause" => {
            ("ralph-user-prompt", "UserPromptSubmit", json!({"prompt": "ralph pause"}))
        }
        "prompt" => (
            "ralph-user-prompt",
            "UserPromptSubmit",
            json!({"prompt": "what is going on?", "prompt_id": format!("prompt {tag}")}),
        ),
        "compacted" => ("ralph-session-context", "SessionStart", json!({"source": "compact"})),
        other => panic!("no call is called `{other}`"),
    };
    Caller::hook(&format!("{kind} {tag}"), world, name, "settings", &world.payload(event, members))
}
