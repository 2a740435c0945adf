//! What is known of a conversation from the lines so far.

use super::{Background, Limit, Reason, Retry, StreamEvent, TurnResult};
use crate::transcript::tokens::Tokens;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A tool call that did not happen, because nobody was there to permit it or because it is forbidden.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// The tool.
    pub tool: String,
    /// What it was to do.
    pub about: String,
    /// Why, in the client's words, which are also what the model was told; empty if it said none.
    pub why: String,
}

/// The sum of all lines.
#[derive(Debug, Default)]
pub struct Account {
    /// The session's id, once it began.
    pub session_id: Option<String>,
    /// The tool that is in use, with a few words on what for.
    pub tool: Option<(String, String)>,
    /// What the client tries again, until something works.
    pub retry: Option<Retry>,
    /// How the last turn ended.
    pub ended: Option<TurnResult>,
    /// True once the model has said anything: a conversation that can be taken up.
    pub has_worked: bool,
    limit: Option<Limit>,
    background: Vec<Background>,
    denials: BTreeMap<String, Denial>,
    counted: Tokens,
    message: (String, Tokens),
}

impl Account {
    /// Takes in what a line said.
    pub fn hear(&mut self, said: StreamEvent) {
        match said {
            StreamEvent::Began { session_id, .. } => self.session_id = Some(session_id),
            StreamEvent::Model(model) if model.error.is_some() => {}
            StreamEvent::Model(model) => {
                self.has_worked = true;
                // A turn after the last one's end: a worker has reported.
                self.ended = None;
                self.retry = None;
                self.count(&model.message_id, model.tokens);
                if let Some(tool) = model.tools.into_iter().next().filter(|_| !model.is_workers) {
                    self.tool = Some(tool);
                }
            }
            StreamEvent::ToolEnded => self.tool = None,
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

    /// True when nothing more is to be expected: a turn has ended, and no worker will report.
    pub fn is_settled(&self) -> bool {
        self.ended.is_some() && !self.background.iter().any(|one| one.reports)
    }

    /// What the client itself calls running in the background, for a person to recognise.
    pub fn in_background(&self) -> impl Iterator<Item = &str> {
        self.background.iter().map(|one| one.name.as_str())
    }

    /// Why the turn ended, where it did.
    pub fn reason(&self) -> Option<&Reason> {
        self.ended.as_ref().map(|ended| &ended.reason)
    }

    /// The tokens so far: what the end of a turn says, else the sum of the messages.
    pub fn tokens(&self) -> Tokens {
        let told = self.ended.as_ref().map(|ended| ended.tokens);
        told.filter(|told| told.total() > 0).unwrap_or(self.counted.plus(self.message.1))
    }

    /// The calls that were denied, of all turns.
    pub fn denials(&self) -> Vec<Denial> {
        self.denials.values().cloned().collect()
    }

    /// The pieces of a message repeat its tokens.
    fn count(&mut self, message_id: &str, tokens: Tokens) {
        if message_id != self.message.0 {
            let before = std::mem::replace(&mut self.message, (message_id.to_owned(), tokens));
            self.counted = self.counted.plus(before.1);
        }
        self.message.1 = tokens;
    }
}
