//! The scripted model's answers: turns of content blocks, in order, for the conversation
//! and for each subagent.
//!
//! Only the conversation and its subagents consume a script; the client's side requests do not.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::{ApiRequest, Gate};

type ScriptedReply = Box<dyn Fn(&ApiRequest) -> ScriptedTurn + Send>;

/// The turns of one conversation, and the scripts of the subagents that it starts.
#[derive(Default)]
pub struct Script {
    turns: VecDeque<ScriptedTurn>,
    rest: Option<ScriptedReply>,
    pub(super) subagents: Vec<(String, Script)>,
}

impl Script {
    pub fn new() -> Script {
        Script::default()
    }

    /// Adds the next turn.
    #[must_use]
    pub fn turn(mut self, turn: ScriptedTurn) -> Script {
        self.turns.push_back(turn);
        self
    }

    /// Adds several turns, in order.
    #[must_use]
    pub fn turns(mut self, turns: impl IntoIterator<Item = ScriptedTurn>) -> Script {
        self.turns.extend(turns);
        self
    }

    /// Repeats this turn when the turns are used up.
    #[must_use]
    pub fn repeat(self, turn: ScriptedTurn) -> Script {
        self.answer_with(move |_| turn.clone())
    }

    /// Computes the answer from the request when the turns are used up.
    #[must_use]
    pub fn answer_with(
        mut self,
        answer: impl Fn(&ApiRequest) -> ScriptedTurn + Send + 'static,
    ) -> Script {
        self.rest = Some(Box::new(answer));
        self
    }

    /// Gives a script to each subagent whose first user message contains `marker`; they share its turns.
    #[must_use]
    pub fn subagent(mut self, marker: &str, script: Script) -> Script {
        self.subagents.push((marker.to_owned(), script));
        self
    }

    pub(super) fn next_turn(&mut self, request: &ApiRequest) -> Option<ScriptedTurn> {
        self.turns.pop_front().or_else(|| self.rest.as_ref().map(|answer| answer(request)))
    }
}

/// One answer of the model.
#[derive(Clone)]
pub struct ScriptedTurn {
    pub(super) says: Says,
    pub(super) usage: Usage,
}

/// An answer is either content or an error, never both.
#[derive(Clone)]
pub(super) enum Says {
    Content(Vec<ContentBlock>),
    Error { status: u16, headers: Vec<(String, String)>, body: Value },
}

/// A part of an answer.
#[derive(Clone)]
pub enum ContentBlock {
    Text(String),
    /// A call of one of the client's tools.
    ToolUse {
        /// A name from the client's list of tools, for example `Bash`.
        name: String,
        /// Must match the tool's schema.
        input: Value,
    },
    /// Sends nothing until the gate opens. As the first block it holds back even the
    /// head of the answer.
    Hold(Gate),
}

/// The token counts that a reply claims.
#[derive(Clone, Copy)]
pub struct Usage {
    /// Tokens of the prompt. The client uses this count for compaction and cost.
    pub input_tokens: u64,
    /// Tokens of the reply.
    pub output_tokens: u64,
    /// Tokens of the prompt that came from the cache.
    pub cache_read_input_tokens: u64,
}

impl Default for Usage {
    fn default() -> Usage {
        Usage { input_tokens: 100, output_tokens: 10, cache_read_input_tokens: 0 }
    }
}

impl ScriptedTurn {
    /// An answer of these blocks.
    pub fn of(blocks: Vec<ContentBlock>) -> ScriptedTurn {
        ScriptedTurn { says: Says::Content(blocks), usage: Usage::default() }
    }

    /// A text answer, which ends the model's turn unless a tool call is added.
    pub fn text(text: &str) -> ScriptedTurn {
        ScriptedTurn::of(Vec::new()).then_text(text)
    }

    /// An answer that calls one tool.
    pub fn tool(name: &str, input: Value) -> ScriptedTurn {
        ScriptedTurn::of(Vec::new()).then_tool(name, input)
    }

    /// A call of the Bash tool, the usual way to make a scripted model act.
    pub fn bash(command: &str) -> ScriptedTurn {
        ScriptedTurn::tool("Bash", json!({"command": command, "description": "A scripted command"}))
    }

    /// An API error, for example `(429, "rate_limit_error", …)` or `(529, "overloaded_error", …)`.
    /// The client may retry.
    pub fn error(status: u16, kind: &str, message: &str) -> ScriptedTurn {
        ScriptedTurn::error_body(
            status,
            json!({"type": "error", "error": {"type": kind, "message": message}}),
        )
    }

    /// An API error with exactly this body.
    pub fn error_body(status: u16, body: Value) -> ScriptedTurn {
        ScriptedTurn {
            says: Says::Error { status, headers: Vec::new(), body },
            usage: Usage::default(),
        }
    }

    /// Adds a header to an error; does nothing to other answers.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> ScriptedTurn {
        if let Says::Error { headers, .. } = &mut self.says {
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// Holds the whole answer back until the gate opens.
    pub fn held(gate: &Gate) -> ScriptedTurn {
        ScriptedTurn::of(vec![ContentBlock::Hold(gate.clone())])
    }

    /// Adds a text block.
    #[must_use]
    pub fn then_text(self, text: &str) -> ScriptedTurn {
        self.then(ContentBlock::Text(text.to_owned()))
    }

    /// Adds a tool call.
    #[must_use]
    pub fn then_tool(self, name: &str, input: Value) -> ScriptedTurn {
        self.then(ContentBlock::ToolUse { name: name.to_owned(), input })
    }

    /// Sends nothing further until the gate opens.
    #[must_use]
    pub fn then_hold(self, gate: &Gate) -> ScriptedTurn {
        self.then(ContentBlock::Hold(gate.clone()))
    }

    /// Sets the token counts that the reply claims.
    #[must_use]
    pub fn with_usage(mut self, usage: Usage) -> ScriptedTurn {
        self.usage = usage;
        self
    }

    pub(super) fn gates(&self) -> impl Iterator<Item = &Gate> {
        self.blocks().iter().filter_map(|block| match block {
            ContentBlock::Hold(gate) => Some(gate),
            _ => None,
        })
    }

    pub(super) fn blocks(&self) -> &[ContentBlock] {
        match &self.says {
            Says::Content(blocks) => blocks,
            Says::Error { .. } => &[],
        }
    }

    /// Does nothing to an error, which has no content.
    fn then(mut self, block: ContentBlock) -> ScriptedTurn {
        if let Says::Content(blocks) = &mut self.says {
            blocks.push(block);
        }
        self
    }
}
