//! What came back to whoever did something, whichever way it was heard.

use serde_json::Value;

/// An answer, as the agent or the person hears it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// Nothing: what was about to happen happens.
    Nothing,
    /// A command ran, and printed this.
    Ran(String),
    /// The model is told something beside what happens.
    Context(String),
    /// The tool does not run.
    Denied(String),
    /// The turn does not end.
    GoesOn(String),
    /// The command is stopped before the model hears of it.
    Blocked(String),
    /// Something that is none of these.
    Other(String),
}

impl Answer {
    /// Reads what a hook printed, as the client would.
    pub(super) fn of_hook(event: &str, printed: &str) -> Answer {
        if printed.trim().is_empty() {
            return Answer::Nothing;
        }
        let Ok(reply) = serde_json::from_str::<Value>(printed) else {
            return Answer::Other(format!("printed what no client understands: {printed}"));
        };
        let own = &reply["hookSpecificOutput"];
        let text = |value: &Value| value.as_str().map(str::to_owned);
        if own["permissionDecision"] == "deny" {
            return Answer::Denied(text(&own["permissionDecisionReason"]).unwrap_or_default());
        }
        let context = text(&own["additionalContext"]);
        let blocked = text(&reply["reason"]).filter(|_| reply["decision"] == "block");
        match (event == "Stop", context, blocked) {
            (true, Some(reason), _) | (true, None, Some(reason)) => Answer::GoesOn(reason),
            (false, _, Some(reason)) => Answer::Blocked(reason),
            (false, Some(context), None) => Answer::Context(context),
            (_, None, None) => Answer::Nothing,
        }
    }

    /// Its words.
    pub(super) fn words(&self) -> &str {
        match self {
            Answer::Nothing => "",
            Answer::Ran(text)
            | Answer::Context(text)
            | Answer::Denied(text)
            | Answer::GoesOn(text)
            | Answer::Blocked(text)
            | Answer::Other(text) => text,
        }
    }

    /// Its kind, for an account of an answer that nobody expected.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Answer::Nothing | Answer::Ran(_) => "let it go",
            Answer::Context(_) => "told the agent",
            Answer::Denied(_) => "denied it",
            Answer::GoesOn(_) => "kept the turn going",
            Answer::Blocked(_) => "stopped the command",
            Answer::Other(_) => "gave no answer",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::protocol::event::Event;
    use ralph_core::protocol::reply::{GoOnForm, Reply};

    #[track_caller]
    fn check(event: &str, reply: &Reply, expected: Answer) {
        assert_eq!(Answer::of_hook(event, &reply.render().unwrap_or_default()), expected);
    }

    #[test]
    fn every_form_of_a_reply_is_heard_as_what_it_is() {
        let words = || "why".to_owned();
        check("Stop", &Reply::silent(), Answer::Nothing);
        check("Stop", &Reply::silent().tell("over"), Answer::Nothing);
        check("PreToolUse", &Reply::deny("why"), Answer::Denied(words()));
        check("UserPromptExpansion", &Reply::block("why"), Answer::Blocked(words()));
        let context = Reply::context(Event::UserPromptExpansion, "why");
        check("UserPromptExpansion", &context, Answer::Context(words()));
        for form in [GoOnForm::Block, GoOnForm::Context] {
            let reply = Reply::go_on(Event::Stop, form, "why");
            check("Stop", &reply, Answer::GoesOn(words()));
        }
    }

    #[test]
    fn what_is_not_a_reply_is_not_taken_for_silence() {
        assert!(matches!(Answer::of_hook("Stop", "panicked at"), Answer::Other(_)));
    }
}
