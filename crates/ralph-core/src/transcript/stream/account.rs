//! Accumulates what the lines of a headless session say.

use super::{Background, Limit, Reason, Retry, StreamEvent, TurnResult};
use crate::state::Tokens;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A tool call that was not made, because it was forbidden or nobody was there to permit it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    pub tool: String,
    /// The subject of the call.
    pub about: String,
    /// The client's reason, which the model also got; empty if there was none.
    pub why: String,
}

/// The most lines about a sandbox that are kept.
const MOST_PREVENTED: usize = 100;

/// The most names of processes that are kept.
const MOST_LEFT: usize = 20;

/// The sum of all lines so far.
#[derive(Debug, Default)]
pub struct Account {
    /// The session's id, once it has started.
    pub session_id: Option<String>,
    /// The running tool, with a short description of the call.
    pub tool: Option<(String, String)>,
    /// The request that the client is retrying, until one succeeds.
    pub retry: Option<Retry>,
    /// The result of the last turn.
    pub ended: Option<TurnResult>,
    /// True once the model has answered: the session can be resumed.
    pub has_worked: bool,
    limit: Option<Limit>,
    background: Vec<Background>,
    denials: BTreeMap<String, Denial>,
    prevented: Vec<String>,
    left_running: Vec<String>,
    counted: Tokens,
    message: (String, Tokens),
}

impl Account {
    /// Adds one line.
    pub fn hear(&mut self, said: StreamEvent) {
        match said {
            StreamEvent::Began { session_id, .. } => self.session_id = Some(session_id),
            StreamEvent::Model(model) if model.error.is_some() => {}
            StreamEvent::Model(model) => {
                self.has_worked = true;
                // The model speaks again after the end of a turn: a worker has reported.
                self.ended = None;
                self.retry = None;
                self.count(&model.message_id, model.tokens);
                if let Some(tool) = model.tools.into_iter().next().filter(|_| !model.is_workers) {
                    self.tool = Some(tool);
                }
            }
            StreamEvent::ToolEnded { is_workers, prevented, left_running } => {
                self.tool = self.tool.take().filter(|_| is_workers);
                self.prevented.extend(prevented);
                self.prevented.truncate(MOST_PREVENTED);
                for name in left_running {
                    if self.left_running.len() < MOST_LEFT && !self.left_running.contains(&name) {
                        self.left_running.push(name);
                    }
                }
            }
            StreamEvent::Retry(retry) => self.retry = Some(retry),
            StreamEvent::Limit(limit) => self.limit = Some(limit),
            StreamEvent::Denied { tool, call, why } => {
                let about = String::new();
                self.denials.insert(call, Denial { tool, about, why });
            }
            StreamEvent::Background(all) => self.background = all,
            StreamEvent::Ended(mut ended) => {
                ended.reason = std::mem::take(&mut ended.reason).with(self.limit);
                self.tool = None;
                for (tool, call, about) in std::mem::take(&mut ended.denials) {
                    let denial = self.denials.entry(call).or_default();
                    (denial.tool, denial.about) = (tool, about);
                }
                self.ended = Some(*ended);
            }
            StreamEvent::Warning(_) | StreamEvent::Other => {}
        }
    }

    /// True if no more lines are expected: a turn has ended, and no worker will report.
    pub fn is_settled(&self) -> bool {
        self.ended.is_some() && !self.background.iter().any(|one| one.reports)
    }

    /// The client's descriptions of the background work.
    pub fn in_background(&self) -> impl Iterator<Item = &str> {
        self.background.iter().map(|one| one.name.as_str())
    }

    /// Why the last turn ended, if it has.
    pub fn reason(&self) -> Option<&Reason> {
        self.ended.as_ref().map(|ended| &ended.reason)
    }

    /// The tokens so far: the total from the result of the last turn, or else the sum of the
    /// messages.
    pub fn tokens(&self) -> Tokens {
        let told = self.ended.as_ref().map(|ended| ended.tokens);
        told.filter(|told| told.total() > 0).unwrap_or(self.counted.plus(self.message.1))
    }

    /// The denied calls of all turns.
    pub fn denials(&self) -> Vec<Denial> {
        self.denials.values().cloned().collect()
    }

    /// The lines of results that may show that a sandbox has prevented something.
    pub fn prevented(&self) -> &[String] {
        &self.prevented
    }

    /// The names of the processes that commands left running in a sandbox, each once.
    pub fn left_running(&self) -> &[String] {
        &self.left_running
    }

    /// Counts a message once, although each of its pieces repeats its tokens.
    fn count(&mut self, message_id: &str, tokens: Tokens) {
        if message_id != self.message.0 {
            let before = std::mem::replace(&mut self.message, (message_id.to_owned(), tokens));
            self.counted = self.counted.plus(before.1);
        }
        self.message.1 = tokens;
    }
}
