//! What a denial was made from, as its line in the journal keeps it.
//!
//! By it a denial can be explained, and made again by the rules of another day. Where things stood
//! is part of it: a terminal does not know which plugin a hook was started from.

use super::{Agent, Call, Places, Rule, Ruling, Situation, Standing};
use crate::event::ToolInput;
use crate::state::Mode;
use serde::{Deserialize, Serialize};

/// Texts of the model are kept up to this length, in bytes.
const KEPT: usize = 4 << 10;

/// A denial and all that it was made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The name of the rule that refused.
    pub rule: String,
    /// The tool.
    pub tool: String,
    /// Bash: the command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The file that the tool would have written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// That file with symbolic links resolved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved: Option<String>,
    /// True when one of these was longer than is kept.
    pub shortened: bool,
    /// True when the input reached the hook cut already.
    pub cut: bool,
    /// The conversation's working directory.
    pub cwd: String,
    /// Which rules drive the loop.
    pub mode: Mode,
    /// Whether it ran or rested.
    pub standing: Standing,
    /// The subagent that called, by its type; none for the main conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent: Option<String>,
    /// The session.
    pub session_id: String,
    /// What was protected.
    pub places: Places,
}

impl Record {
    /// Notes what a denial was made from.
    pub fn of(situation: &Situation<'_>, call: &Call<'_>, rule: Rule) -> Record {
        let mut shortened = false;
        let mut keep = |text: Option<&str>| {
            let text = text?;
            let end = text.floor_char_boundary(KEPT);
            shortened |= end < text.len();
            Some(text[..end].to_owned())
        };
        let (command, path) = (keep(call.input.command.as_deref()), keep(call.input.path()));
        let resolved = keep(call.resolved);
        Record {
            rule: rule.name().to_owned(),
            tool: call.tool.to_owned(),
            command,
            path,
            resolved,
            shortened,
            cut: call.cut,
            cwd: call.cwd.to_owned(),
            mode: situation.mode.clone(),
            standing: situation.standing,
            subagent: match situation.agent {
                Agent::Main => None,
                Agent::Subagent(kind) => Some(kind.to_owned()),
            },
            session_id: situation.session_id.to_owned(),
            places: situation.places.clone(),
        }
    }

    /// Decides again, by the rules of today. None where a text that decides was not kept whole.
    pub fn decide_again(&self) -> Option<Ruling> {
        // A command that was cut before it came is judged by that, whatever it says.
        if self.shortened && !self.cut {
            return None;
        }
        let input = ToolInput {
            command: self.command.clone(),
            file_path: self.path.clone(),
            ..ToolInput::default()
        };
        let situation = Situation {
            mode: &self.mode,
            standing: self.standing,
            agent: self.subagent.as_deref().map_or(Agent::Main, Agent::Subagent),
            session_id: &self.session_id,
            places: &self.places,
        };
        let call = Call {
            tool: &self.tool,
            input: &input,
            cwd: &self.cwd,
            resolved: self.resolved.as_deref(),
            cut: self.cut,
        };
        Some(super::decide(&situation, &call))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn recorded(tool: &str, input: &ToolInput, cut: bool) -> Record {
        let places = Places { ralph_home: "/r".to_owned(), ..Places::default() };
        let situation = Situation {
            mode: &Mode::Loop,
            standing: Standing::Running,
            agent: Agent::Subagent("worker"),
            session_id: "s",
            places: &places,
        };
        let call = Call { tool, input, cwd: "/p", resolved: None, cut };
        let Ruling::Deny { rule, .. } = super::super::decide(&situation, &call) else {
            panic!("{tool} is allowed")
        };
        let text = serde_json::to_string(&Record::of(&situation, &call, rule)).unwrap();
        assert!(text.len() < 3 * KEPT, "the line stays bounded");
        serde_json::from_str(&text).unwrap()
    }

    #[track_caller]
    fn check(record: &Record, expected: Option<&str>) {
        let again = record.decide_again().map(|ruling| match ruling {
            Ruling::Allow => "allow",
            Ruling::Deny { rule, .. } => rule.name(),
        });
        assert_eq!(again, expected);
    }

    fn bash(command: &str) -> ToolInput {
        ToolInput { command: Some(command.to_owned()), ..ToolInput::default() }
    }

    #[test]
    fn what_was_denied_is_denied_again_by_the_same_rule() {
        check(&recorded("AskUserQuestion", &ToolInput::default(), false), Some("question"));
        check(&recorded("Bash", &bash("ralph cancel"), false), Some("refused_command"));
        let write = ToolInput { file_path: Some("/r/x".to_owned()), ..ToolInput::default() };
        check(&recorded("Write", &write, false), Some("protected_place"));
        let notebook = ToolInput { notebook_path: write.file_path, ..ToolInput::default() };
        check(&recorded("NotebookEdit", &notebook, false), Some("protected_place"));
    }

    #[test]
    fn a_text_that_is_not_kept_whole_decides_nothing_and_stays_a_text() {
        let long = format!("ralph cancel {}", "ü".repeat(KEPT));
        let record = recorded("Bash", &bash(&long), false);
        assert!(record.shortened && record.command.as_ref().unwrap().len() <= KEPT);
        check(&record, None);
        check(&recorded("Bash", &bash(&long), true), Some("cut_command"));
    }
}
