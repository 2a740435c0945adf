//! The inputs of a denial, as its line in the journal keeps them.
//!
//! From this record a denial can be explained, or decided again by later rules. The protected
//! places are part of it, because a terminal does not know which plugin started a hook.

use super::{
    Caller, LoopActivity, OrchestrationGate, PlanGate, ProtectedPaths, Rule, Ruling, Situation,
    ToolCall,
};
use crate::protocol::event::ToolInput;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Texts from the model are kept up to this length, in bytes.
const KEPT: usize = 4 << 10;

/// A denial and all of its inputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DenialRecord {
    /// The name of the rule that refused.
    pub rule: String,
    pub tool: String,
    /// Bash: the command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The file that the tool would have written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// `path` with symbolic links resolved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved: Option<String>,
    /// True if one of the kept texts was shortened.
    pub shortened: bool,
    /// True if the input was already truncated when it reached the hook.
    pub cut: bool,
    /// The conversation's working directory.
    pub cwd: String,
    pub standing: LoopActivity,
    /// Type of the subagent that called; `None` for the main conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent: Option<String>,
    pub session_id: String,
    pub places: ProtectedPaths,
    /// State of consensus planning, in a loop that plans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ralplan: Option<PlanGate>,
    /// The verdict of the orchestration, in a loop that orchestrates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<OrchestrationGate>,
    /// Agent: the type that was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called: Option<String>,
    /// Skill: its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    /// The complete input of a tool that is judged field by field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
}

impl DenialRecord {
    /// Records the inputs of a denial.
    pub fn new(situation: &Situation<'_>, call: &ToolCall<'_>, rule: Rule) -> DenialRecord {
        let mut shortened = false;
        let mut keep = |text: Option<&str>| {
            let text = text?;
            let end = text.floor_char_boundary(KEPT);
            shortened |= end < text.len();
            Some(text[..end].to_owned())
        };
        let (command, path) = (keep(call.input.command.as_deref()), keep(call.input.path()));
        let resolved = keep(call.resolved);
        let called = keep(call.input.subagent_type.as_deref());
        let skill = keep(call.input.skill.as_deref());
        // The other rows refuse again without the texts.
        let by_fields = super::is_judged_by_fields(call.tool)
            && matches!(rule, Rule::ProtectedPlace | Rule::RefusedCommand | Rule::CutCommand);
        let whole =
            (!call.input.whole.is_null() && by_fields).then(|| call.input.whole.to_string());
        let input = keep(whole.as_deref());
        DenialRecord {
            rule: rule.name().to_owned(),
            tool: call.tool.to_owned(),
            command,
            path,
            resolved,
            shortened,
            cut: call.cut,
            cwd: call.cwd.to_owned(),
            standing: situation.standing,
            subagent: match situation.agent {
                Caller::Main => None,
                Caller::Subagent(kind) => Some(kind.to_owned()),
            },
            session_id: situation.session_id.to_owned(),
            places: situation.places.clone(),
            ralplan: situation.ralplan.cloned(),
            session: situation.session.cloned(),
            called,
            skill,
            input,
        }
    }

    /// Decides again by the current rules. `None` if a text that matters was shortened.
    pub fn decide_again(&self) -> Option<Ruling> {
        // A command that arrived truncated is refused for that, whatever its text.
        if self.shortened && !self.cut {
            return None;
        }
        let whole = self.input.as_deref().and_then(|text| serde_json::from_str(text).ok());
        let (command, path) = (&self.command, &self.path);
        let kept = || json!({"command": command, "file_path": path, "subagent_type": self.called, "skill": self.skill});
        let input = ToolInput::from(whole.unwrap_or_else(kept));
        let situation = Situation {
            standing: self.standing,
            agent: self.subagent.as_deref().map_or(Caller::Main, Caller::Subagent),
            session_id: &self.session_id,
            places: &self.places,
            ralplan: self.ralplan.as_ref(),
            session: self.session.as_ref(),
        };
        let call = ToolCall {
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
    fn recorded(tool: &str, input: &ToolInput, cut: bool) -> DenialRecord {
        let places = ProtectedPaths { ralph_home: "/r".to_owned(), ..ProtectedPaths::default() };
        let situation = Situation {
            standing: LoopActivity::Running,
            agent: Caller::Subagent("worker"),
            session_id: "s",
            places: &places,
            ralplan: None,
            session: None,
        };
        let call = ToolCall { tool, input, cwd: "/p", resolved: None, cut };
        let Ruling::Deny { rule, .. } = super::super::decide(&situation, &call) else {
            panic!("{tool} is allowed")
        };
        let text = serde_json::to_string(&DenialRecord::new(&situation, &call, rule)).unwrap();
        assert!(text.len() < 3 * KEPT, "the line stays bounded");
        serde_json::from_str(&text).unwrap()
    }

    #[track_caller]
    fn check(record: &DenialRecord, expected: Option<&str>) {
        let again = record.decide_again().map(|ruling| match ruling {
            Ruling::Allow => "allow",
            Ruling::Deny { rule, .. } => rule.name(),
        });
        assert_eq!(again, expected);
    }

    fn bash(command: &str) -> ToolInput {
        ToolInput::from(json!({"command": command}))
    }

    #[test]
    fn what_was_denied_is_denied_again_by_the_same_rule() {
        check(&recorded("AskUserQuestion", &ToolInput::default(), false), Some("question"));
        check(&recorded("Bash", &bash("rm /r/x"), false), Some("protected_place"));
        let write = ToolInput::from(json!({"file_path": "/r/x"}));
        check(&recorded("Write", &write, false), Some("protected_place"));
        let notebook = ToolInput::from(json!({"notebook_path": write.file_path}));
        check(&recorded("NotebookEdit", &notebook, false), Some("protected_place"));
    }

    #[test]
    fn a_denial_of_the_wall_is_made_again_with_what_it_was_made_from() {
        let shipped = crate::guard::Skill { is_shipped: true, ..crate::guard::Skill::default() };
        let places = ProtectedPaths { skill: Some(shipped), ..ProtectedPaths::default() };
        let again = |awaiting_person, question: Option<&str>, tool: &str, input: &ToolInput| {
            let gate = PlanGate {
                awaiting_person,
                planner_writes: !awaiting_person,
                project_root: "/p".to_owned(),
                plan_path: ".omc/plans/a.md".to_owned(),
                plan_hash: "0123456789abcdef".to_owned(),
                not_its_question: question.map(str::to_owned),
                no_wall: Some("no wall".to_owned()),
            };
            let situation = Situation {
                standing: LoopActivity::Running,
                agent: Caller::Main,
                session_id: "s",
                places: &places,
                ralplan: Some(&gate),
                session: None,
            };
            let call = ToolCall { tool, input, cwd: "/p", resolved: None, cut: false };
            let before = super::super::decide(&situation, &call);
            let Ruling::Deny { rule, .. } = before else { panic!("{tool} is allowed") };
            let text = serde_json::to_string(&DenialRecord::new(&situation, &call, rule)).unwrap();
            let record: DenialRecord = serde_json::from_str(&text).unwrap();
            assert_eq!(record.decide_again(), Some(before), "{tool}");
            record
        };
        let nothing = ToolInput::default;
        let agent = |kind: &str| ToolInput::from(json!({"subagent_type": kind}));
        let skill = |name: &str| ToolInput::from(json!({"skill": name}));
        again(true, Some("it has two questions"), "AskUserQuestion", &nothing());
        again(false, None, "AskUserQuestion", &nothing());
        again(true, None, "Bash", &bash("git branch y"));
        again(false, None, "mcp__x__y", &nothing());

        // The current rule would allow another agent or skill: the record keeps which one was
        // called.
        let mut record = again(false, None, "Agent", &agent("ralph-worker"));
        record.called = Some("ralplan-critic".to_owned());
        check(&record, Some("allow"));
        let mut record = again(false, None, "Skill", &skill("ralph"));
        record.skill = Some("ralplan".to_owned());
        check(&record, Some("allow"));
    }

    #[test]
    fn a_text_that_is_not_kept_whole_decides_nothing_and_stays_a_text() {
        let long = format!("rm /r/x {}", "ü".repeat(KEPT));
        let record = recorded("Bash", &bash(&long), false);
        assert!(record.shortened && record.command.as_ref().unwrap().len() <= KEPT);
        check(&record, None);
        check(&recorded("Bash", &bash(&long), true), Some("cut_command"));
    }
}
