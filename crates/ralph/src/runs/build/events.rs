//! What a person and a program are told of the rounds: with `--json` one JSON object on each line of
//! standard output, without it text.

use crate::command::exit::bad_state;
use crate::command::screen::{self, Colour};
use crate::runs::build::{Builder, EndedRound};
use crate::runs::client::{RoundOutcome, RoundResult};
use crate::runs::engine;
use crate::runs::screen::{Whole, head};
use anyhow::Result;
use ralph_core::evidence::receipt;
use ralph_core::state::LoopState;
use ralph_core::tasks::graph;
use ralph_core::text::plural::{counted, dollars, lasted, tokens};
use ralph_io::process::clock;
use serde_json::{Value, json};

/// Where the answer of a run goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Text,
    Events,
}

impl Answer {
    pub(crate) fn from_json_flag(json: bool) -> Answer {
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

impl Builder<'_> {
    /// Updates the line about the whole run.
    pub(super) fn show(&self) -> Result<()> {
        let Some(loaded) = self.order.file.read().map_err(bad_state)? else { return Ok(()) };
        let state = loaded.state;
        let summary = graph::summary(&state.task_graph, clock::now());
        let (n_done, n_tasks, words) = match summary.total {
            0 => {
                let criteria = &state.acceptance_criteria;
                let n_hold = criteria.iter().filter(|criterion| criterion.verified).count();
                (n_hold, criteria.len(), holding(&state))
            }
            total => (summary.done, total, format!("{}/{total} tasks done", summary.done)),
        };
        // The hooks count as well, and earlier runs are in the state alone.
        let (tokens, cost) = (state.usage.total().max(self.runner.tokens()), state.usage.cost);
        self.runner.screen.whole(&Whole { n_done, n_tasks, words, tokens, cost });
        Ok(())
    }

    /// Prints the events of a round that is over.
    pub(super) fn report(
        &self,
        session: &str,
        ended: &EndedRound,
        came: &RoundResult,
    ) -> Result<()> {
        if self.order.answer == Answer::Text {
            return Ok(());
        }
        let state = engine::last_state(self.runner.here, self.order.file)?;
        let outcome = match &came.outcome {
            RoundOutcome::Finished { is_error: false, .. } => "finished",
            RoundOutcome::Finished { .. } | RoundOutcome::Unanswered { .. } => "failed",
            RoundOutcome::RateLimited { .. } => "rate_limited",
            RoundOutcome::Overloaded { .. } => "overloaded",
            RoundOutcome::Crashed { .. } => "crashed",
            RoundOutcome::Ended => "interrupted",
        };
        let has_changed = self.tree.as_ref().zip(self.tree()).map(|(one, now)| *one != now);
        let members = json!({"round": self.number, "session": session, "task": ended.task,
            "outcome": outcome, "changed": has_changed, "seconds": came.duration.as_secs(),
            "tokens": came.tokens.total(), "cost": came.cost, "what": ended.told});
        self.order.answer.event("round ended", &state, members)?;
        for id in &ended.finished {
            let task = state.task_graph.iter().find(|task| task.id == *id);
            let note = task.and_then(|task| task.result.as_deref());
            self.order.answer.event("task done", &state, json!({"task": id, "note": note}))?;
        }
        if !state.acceptance_criteria.is_empty() {
            self.order.answer.event("criteria", &state, criteria(&state))?;
        }
        Ok(())
    }
}

/// `1 of 2 criteria hold`; empty without criteria.
pub(super) fn holding(state: &LoopState) -> String {
    let criteria = &state.acceptance_criteria;
    let (n_hold, n_reviewed) = receipt::count_met(criteria);
    match criteria.len() {
        0 => String::new(),
        total if n_reviewed > 0 => {
            format!(
                "{n_hold} of {} hold, {n_reviewed} reviewed",
                counted(total, "criterion", "criteria")
            )
        }
        1 => format!("{n_hold} of 1 criterion holds"),
        total => format!("{n_hold} of {} hold", counted(total, "criterion", "criteria")),
    }
}

/// `12 s, 48 k tokens, $0.31`.
pub(super) fn used(came: &RoundResult) -> String {
    let seconds = i64::try_from(came.duration.as_secs()).unwrap_or(i64::MAX);
    format!("{}, {}{}", lasted(seconds), tokens(came.tokens.total()), dollars(came.cost))
}
