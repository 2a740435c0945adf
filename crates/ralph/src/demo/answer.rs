//! The answer of a hook or a command to one step of the demo.

use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StepAnswer {
    /// No answer: the step goes ahead.
    Nothing,
    /// A command ran and printed this.
    Ran(String),
    /// The step goes ahead, and the model receives this text.
    Context(String),
    /// The tool does not run.
    Denied(String),
    /// The turn does not end.
    GoesOn(String),
    /// The command is stopped before it reaches the model.
    Blocked(String),
    /// Anything else, such as a failure.
    Other(String),
}

impl StepAnswer {
    /// Reads a hook's output as the client would.
    pub(super) fn of_hook(event: &str, printed: &str) -> StepAnswer {
        if printed.trim().is_empty() {
            return StepAnswer::Nothing;
        }
        let Ok(reply) = serde_json::from_str::<Value>(printed) else {
            return StepAnswer::Other(format!(
                "printed an answer that no client understands: \
                 {printed}"
            ));
        };
        let own = &reply["hookSpecificOutput"];
        let text = |value: &Value| value.as_str().map(str::to_owned);
        if own["permissionDecision"] == "deny" {
            return StepAnswer::Denied(text(&own["permissionDecisionReason"]).unwrap_or_default());
        }
        let context = text(&own["additionalContext"]);
        let blocked = text(&reply["reason"]).filter(|_| reply["decision"] == "block");
        let kept = text(&reply["stopReason"]).filter(|_| reply["continue"] == false);
        let blocked = blocked.or(kept);
        match (event == "Stop", context, blocked) {
            (true, Some(reason), _) | (true, None, Some(reason)) => StepAnswer::GoesOn(reason),
            (false, _, Some(reason)) => StepAnswer::Blocked(reason),
            (false, Some(context), None) => StepAnswer::Context(context),
            (_, None, None) => StepAnswer::Nothing,
        }
    }

    pub(super) fn words(&self) -> &str {
        match self {
            StepAnswer::Nothing => "",
            StepAnswer::Ran(text)
            | StepAnswer::Context(text)
            | StepAnswer::Denied(text)
            | StepAnswer::GoesOn(text)
            | StepAnswer::Blocked(text)
            | StepAnswer::Other(text) => text,
        }
    }

    /// What the answer did, to narrate one that the story did not expect.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            StepAnswer::Nothing | StepAnswer::Ran(_) => "let it go",
            StepAnswer::Context(_) => "told the agent",
            StepAnswer::Denied(_) => "denied it",
            StepAnswer::GoesOn(_) => "kept the turn going",
            StepAnswer::Blocked(_) => "stopped the command",
            StepAnswer::Other(_) => "gave no answer",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::protocol::event::HookEvent;
    use ralph_core::protocol::reply::{GoOnForm, Reply};

    #[track_caller]
    fn check(event: &str, reply: &Reply, expected: StepAnswer) {
        assert_eq!(StepAnswer::of_hook(event, &reply.render().unwrap_or_default()), expected);
    }

    #[test]
    fn every_form_of_a_reply_is_heard_as_what_it_is() {
        let words = || "why".to_owned();
        check("Stop", &Reply::silent(), StepAnswer::Nothing);
        check("Stop", &Reply::silent().tell("over"), StepAnswer::Nothing);
        check("PreToolUse", &Reply::deny("why"), StepAnswer::Denied(words()));
        check("UserPromptExpansion", &Reply::keep_from_model("why"), StepAnswer::Blocked(words()));
        let context = Reply::context(HookEvent::UserPromptExpansion, "why");
        check("UserPromptExpansion", &context, StepAnswer::Context(words()));
        for form in [GoOnForm::Block, GoOnForm::Context] {
            let reply = Reply::go_on(HookEvent::Stop, form, "why");
            check("Stop", &reply, StepAnswer::GoesOn(words()));
        }
    }

    #[test]
    fn what_is_not_a_reply_is_not_taken_for_silence() {
        assert!(matches!(StepAnswer::of_hook("Stop", "panicked at"), StepAnswer::Other(_)));
    }
}
