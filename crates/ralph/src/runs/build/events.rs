//! The events of `ralph run --json` and `ralph build --json`: one JSON object on each line of
//! standard output. Without the flag, the answer is text.

use crate::command::screen::{self, Colour};
use crate::runs::screen::head;
use anyhow::Result;
use ralph_core::state::LoopState;
use ralph_io::process::clock;
use serde_json::{Value, json};

/// Where the answer of a run goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Text,
    Events,
}

impl Answer {
    pub(crate) fn of(json: bool) -> Answer {
        if json { Answer::Events } else { Answer::Text }
    }

    /// Prints a line of text; with events it goes to standard error.
    pub(crate) fn say(self, text: &str) -> Result<()> {
        let text = screen::visible_lines(text);
        match self {
            Answer::Text => screen::say(&text).map(drop),
            Answer::Events => {
                screen::tell(&text);
                Ok(())
            }
        }
    }

    /// Like [`Answer::say`], with the beginning in colour.
    pub(crate) fn say_in(self, colour: Colour, text: &str) -> Result<()> {
        let text = screen::visible_lines(text);
        match self {
            Answer::Text => screen::say_begun(&text, head(&text), colour).map(drop),
            Answer::Events => {
                screen::tell_begun(&text, head(&text), colour);
                Ok(())
            }
        }
    }

    /// Prints an event. Nothing is printed without `--json`.
    pub(crate) fn event(self, name: &str, state: &LoopState, members: Value) -> Result<()> {
        if self == Answer::Text {
            return Ok(());
        }
        let mut event = json!({"event": name, "at": clock::now(), "loop": state.loop_id});
        if let (Value::Object(event), Value::Object(members)) = (&mut event, members) {
            event.extend(members);
        }
        screen::print(&event.to_string()).map(drop)
    }
}

/// The criteria with whether each holds.
pub(crate) fn criteria(state: &LoopState) -> Value {
    let criteria = &state.acceptance_criteria;
    let n_hold = criteria.iter().filter(|criterion| criterion.verified).count();
    let each = criteria.iter().map(|one| {
        json!({"id": one.id, "description": one.description,
            "command": one.verification_command, "review": one.review, "holds": one.verified})
    });
    json!({"hold": n_hold, "of": criteria.len(), "criteria": each.collect::<Vec<_>>()})
}
