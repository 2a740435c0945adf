//! Builds the replies of a hook, in the only formats that the client accepts.
//!
//! A reply is at most one JSON object. A wrong type or a missing `hookEventName` voids the whole
//! reply, valid parts included, so replies are built only here. Their texts quote task names, file
//! names and output, which come from a repository or a model. Characters that would act on the
//! terminal, or carry text to the model that a person cannot see, are escaped.

use crate::protocol::client_version::{ClientFeature, ClientVersion};
use crate::protocol::event::HookEvent;
use crate::text::sanitize;
use crate::text::truncate::bounded;
use serde_json::{Map, Value, json};

/// The longest additional context that reaches the model whole, in UTF-16 units. The client moves a
/// longer text into a file.
pub const CONTEXT_LIMIT: usize = 10_000;

/// The longest reason to continue, in UTF-16 units: older clients send it to the model twice.
pub const REASON_LIMIT: usize = 2_000;

/// Separates two texts in one reply.
const BETWEEN: &str = "\n\n";

/// A hook's reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    action: Action,
    message: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
enum Action {
    Nothing,
    Context(HookEvent, String),
    Block(String),
    KeepFromModel(String),
    Deny { reason: String, cut_turn: bool, context: String },
    Allow(String),
    Permit,
    Withhold(String),
}

/// How to keep a turn from ending; depends on the client's version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GoOnForm {
    /// `additionalContext`: the model gets one copy.
    Context,
    /// `decision: block`: the model gets two copies, and the user sees it as a problem.
    Block,
}

impl GoOnForm {
    /// Chooses the form from the client's `AI_AGENT`, for example `claude-code_2-1-328_harness`. An
    /// older or unknown client gets the form that all clients accept.
    pub fn for_client(ai_agent: &str) -> GoOnForm {
        match ClientVersion::of_agent(ai_agent) {
            Some(version) if version.has(ClientFeature::OneCopy) => GoOnForm::Context,
            _ => GoOnForm::Block,
        }
    }
}

impl Reply {
    fn new(action: Action) -> Reply {
        Reply { action, message: None }
    }

    /// An empty reply: the client does what it was about to do.
    pub fn silent() -> Reply {
        Reply::new(Action::Nothing)
    }

    /// Gives the model a text and lets the event proceed.
    pub fn context(event: HookEvent, text: &str) -> Reply {
        Reply::new(Action::Context(event, words(text, CONTEXT_LIMIT)))
    }

    /// How much more text [`Reply::add_context`] can add, in UTF-16 units.
    pub fn room_for_context(&self) -> usize {
        match &self.action {
            Action::Nothing => CONTEXT_LIMIT,
            Action::Context(_, text) => {
                CONTEXT_LIMIT.saturating_sub(text.encode_utf16().count() + BETWEEN.len())
            }
            _ => 0,
        }
    }

    /// Appends a text to the model's context. Does nothing if the text is empty or if the reply is
    /// a block or a refusal.
    pub fn add_context(self, event: HookEvent, text: &str) -> Reply {
        let action = match self.action {
            Action::Nothing if !text.is_empty() => {
                Action::Context(event, words(text, CONTEXT_LIMIT))
            }
            Action::Context(event, before) if !text.is_empty() => {
                Action::Context(event, words(&format!("{before}{BETWEEN}{text}"), CONTEXT_LIMIT))
            }
            action => action,
        };
        Reply { action, ..self }
    }

    /// Keeps the turn going and gives the model the reason.
    pub fn go_on(event: HookEvent, form: GoOnForm, reason: &str) -> Reply {
        let reason = words(reason, REASON_LIMIT);
        Reply::new(match form {
            GoOnForm::Context => Action::Context(event, reason),
            GoOnForm::Block => Action::Block(reason),
        })
    }

    /// Answers a prompt or a command without the model; the user reads the answer in one line. The
    /// client holds back text typed mid-turn until the turn ends, and then shows this answer. A block
    /// would look like a failure, and a plain message would let the text start a turn.
    pub fn keep_from_model(answer: &str) -> Reply {
        Reply::new(Action::KeepFromModel(words(answer, REASON_LIMIT)))
    }

    /// Refuses a tool call; the model reads the reason.
    pub fn deny(reason: &str) -> Reply {
        Reply::denial(reason, false, "")
    }

    fn denial(reason: &str, cut_turn: bool, context: &str) -> Reply {
        let (reason, context) = (words(reason, REASON_LIMIT), words(context, CONTEXT_LIMIT));
        Reply::new(Action::Deny { reason, cut_turn, context })
    }

    /// Refuses a tool call: the user sees the first sentence of the reason, and the model gets the rest
    /// beside it.
    pub fn deny_briefly(reason: &str) -> Reply {
        let (first, rest) = reason.split_once(". ").unwrap_or((reason, ""));
        Reply::denial(first, false, rest)
    }

    /// Refuses a tool call and ends the turn.
    pub fn cut(reason: &str) -> Reply {
        Reply::denial(reason, true, "")
    }

    /// Lets a tool run without asking: the user has agreed beforehand. The reason goes into the
    /// client's records.
    pub fn allow(reason: &str) -> Reply {
        Reply::new(Action::Allow(words(reason, REASON_LIMIT)))
    }

    /// Grants a permission request: the user has agreed beforehand.
    pub fn permit() -> Reply {
        Reply::new(Action::Permit)
    }

    /// Denies a permission request; the model reads the reason.
    pub fn withhold(reason: &str) -> Reply {
        Reply::new(Action::Withhold(words(reason, REASON_LIMIT)))
    }

    /// Puts a text for the model before the rest of the reply; an empty reply becomes a context. Leaves
    /// [`Reply::keep_from_model`] and answers about permission unchanged.
    pub fn led_by(mut self, event: HookEvent, text: &str) -> Reply {
        match &mut self.action {
            Action::Nothing => self.action = Action::Context(event, words(text, CONTEXT_LIMIT)),
            Action::Context(_, said) | Action::Block(said) => {
                *said = words(&format!("{text}\n\n{said}"), CONTEXT_LIMIT);
            }
            Action::Deny { context, .. } => {
                let both = [text, context.as_str()].into_iter().filter(|part| !part.is_empty());
                *context = words(&both.collect::<Vec<_>>().join("\n\n"), CONTEXT_LIMIT);
            }
            Action::KeepFromModel(_) | Action::Allow(_) | Action::Permit | Action::Withhold(_) => {}
        }
        self
    }

    /// True if the event proceeds and the reply can carry a text for the model.
    pub fn takes_context(&self) -> bool {
        matches!(self.action, Action::Nothing | Action::Context(..))
    }

    /// Sets the message that the user sees and the model does not.
    pub fn tell(mut self, message: impl Into<String>) -> Reply {
        self.message = Some(words(&message.into(), REASON_LIMIT));
        self
    }

    /// Appends a line to the message for the user.
    pub fn tell_also(self, message: &str) -> Reply {
        let told = match (&self.message, message) {
            (_, "") => return self,
            (None, message) => message.to_owned(),
            (Some(before), message) => format!("{before}\n{message}"),
        };
        self.tell(told)
    }

    /// The line to print on standard output; `None` for an empty reply.
    pub fn render(&self) -> Option<String> {
        let mut reply = Map::new();
        let mut insert = |name: &str, value: Value| reply.insert(name.to_owned(), value);
        let specific = match &self.action {
            Action::Nothing => None,
            Action::Context(event, text) => {
                Some(json!({"hookEventName": event, "additionalContext": text}))
            }
            Action::Block(reason) => {
                insert("decision", json!("block"));
                insert("reason", json!(reason));
                None
            }
            Action::KeepFromModel(answer) => {
                insert("continue", json!(false));
                insert("stopReason", json!(answer));
                None
            }
            Action::Allow(reason) => Some(json!({
                "hookEventName": HookEvent::PreToolUse,
                "permissionDecision": "allow",
                "permissionDecisionReason": reason,
            })),
            Action::Permit => Some(json!({
                "hookEventName": HookEvent::PermissionRequest,
                "decision": {"behavior": "allow"},
            })),
            Action::Withhold(reason) => Some(json!({
                "hookEventName": HookEvent::PermissionRequest,
                "decision": {"behavior": "deny", "message": reason},
            })),
            Action::Deny { reason, cut_turn, context } => {
                if *cut_turn {
                    insert("continue", json!(false));
                    insert("stopReason", json!(reason));
                }
                let mut output = json!({
                    "hookEventName": HookEvent::PreToolUse,
                    "permissionDecision": "deny",
                    "permissionDecisionReason": reason,
                });
                if !context.is_empty() {
                    output["additionalContext"] = json!(context);
                }
                Some(output)
            }
        };
        if let Some(specific) = specific {
            insert("hookSpecificOutput", specific);
        }
        if let Some(message) = &self.message {
            insert("systemMessage", json!(message));
        }
        (!reply.is_empty()).then(|| Value::Object(reply).to_string())
    }
}

/// Escapes the text for display and truncates it to `limit` UTF-16 units.
fn words(text: &str, limit: usize) -> String {
    bounded(&sanitize::visible(text), limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocked(reason: &str) -> Reply {
        Reply::go_on(HookEvent::Stop, GoOnForm::Block, reason)
    }

    #[test]
    fn silence_prints_nothing() {
        assert_eq!(Reply::silent().render(), None);
    }

    #[test]
    fn a_second_message_to_the_person_stands_below_the_first() {
        let reply = Reply::silent().tell_also("").tell_also("a").tell_also("b").render();
        assert_eq!(reply.as_deref(), Some(r#"{"systemMessage":"a\nb"}"#));
    }

    #[test]
    fn context_names_its_event() {
        let reply = Reply::context(HookEvent::SessionStart, "hello").render().unwrap();
        let reply: Value = serde_json::from_str(&reply).unwrap();
        let output = json!({"additionalContext": "hello", "hookEventName": "SessionStart"});
        assert_eq!(reply, json!({"hookSpecificOutput": output}));
    }

    #[test]
    fn a_block_never_carries_continue_false() {
        let reply = blocked("no").tell("told").render().unwrap();
        assert_eq!(reply, r#"{"decision":"block","reason":"no","systemMessage":"told"}"#);
    }

    #[test]
    fn a_cut_denies_and_ends_the_turn() {
        let reply: Value = serde_json::from_str(&Reply::cut("over").render().unwrap()).unwrap();
        assert_eq!(reply["continue"], false);
        assert_eq!(reply["hookSpecificOutput"]["permissionDecision"], "deny");
    }

    #[test]
    fn old_and_unknown_clients_get_the_form_all_understand() {
        let form = GoOnForm::for_client;
        assert_eq!(form("claude-code_2-1-328_harness"), GoOnForm::Context);
        assert_eq!(form("claude-code_2-1-163_x"), GoOnForm::Context);
        assert_eq!(form("claude-code_2-1-162_x"), GoOnForm::Block);
        assert_eq!(form("claude-code_3-0-0"), GoOnForm::Context);
        assert_eq!(form("something else"), GoOnForm::Block);
        assert_eq!(form(""), GoOnForm::Block);
    }

    #[test]
    fn what_acts_on_a_terminal_is_written_out_in_every_text() {
        let bad = "a\u{1b}]0;x\u{7}\u{202e}\nb";
        for reply in [
            Reply::context(HookEvent::Stop, bad),
            Reply::go_on(HookEvent::Stop, GoOnForm::Block, bad),
            Reply::keep_from_model(bad),
            Reply::deny(bad),
            Reply::cut(bad),
            Reply::silent().tell(bad),
        ] {
            let rendered = reply.render().unwrap();
            assert!(rendered.contains(r"a\\u{1b}]0;x\\u{7}\\u{202e}\nb"), "{rendered}");
        }
    }

    /// Compares parsed JSON: feature unification may make `serde_json` preserve the order of
    /// members.
    #[track_caller]
    fn check(reply: &Reply, expected: Option<&str>) {
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(reply.render().as_deref().map(read), expected.map(read));
    }

    #[test]
    fn each_reply_is_rendered_in_the_form_that_the_client_honours() {
        let context = r#"{"hookSpecificOutput":{"additionalContext":"x","hookEventName":"Stop"}}"#;
        let deny = r#""hookEventName":"PreToolUse","permissionDecision":"deny""#;
        let deny = format!(r#""hookSpecificOutput":{{{deny},"permissionDecisionReason":"x"}}"#);
        check(&Reply::go_on(HookEvent::Stop, GoOnForm::Context, "x"), Some(context));
        check(
            &Reply::go_on(HookEvent::Stop, GoOnForm::Block, "x"),
            Some(r#"{"decision":"block","reason":"x"}"#),
        );
        check(&Reply::keep_from_model("x"), Some(r#"{"continue":false,"stopReason":"x"}"#));
        check(&Reply::deny("x"), Some(&format!("{{{deny}}}")));
        check(&Reply::cut("x"), Some(&format!(r#"{{"continue":false,{deny},"stopReason":"x"}}"#)));
        check(&Reply::silent().tell("x"), Some(r#"{"systemMessage":"x"}"#));
    }

    #[test]
    fn what_a_person_says_comes_before_everything_else_that_the_model_reads() {
        let led = |reply: Reply| reply.led_by(HookEvent::Stop, "w");
        let context = r#"{"hookSpecificOutput":{"additionalContext":"#;
        check(&led(Reply::silent()), Some(&format!(r#"{context}"w","hookEventName":"Stop"}}}}"#)));
        check(
            &led(Reply::context(HookEvent::PostToolUse, "x")),
            Some(&format!(r#"{context}"w\n\nx","hookEventName":"PostToolUse"}}}}"#)),
        );
        check(&led(blocked("x")), Some(r#"{"decision":"block","reason":"w\n\nx"}"#));
        check(
            &led(Reply::deny("x")),
            Some(
                r#"{"hookSpecificOutput":{"additionalContext":"w","hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"x"}}"#,
            ),
        );
        check(&led(Reply::keep_from_model("x")), Some(r#"{"continue":false,"stopReason":"x"}"#));
    }

    #[test]
    fn a_context_is_added_behind_another_and_beside_nothing_else() {
        let context = |text: &str| Reply::context(HookEvent::SessionStart, text);
        let add = |reply: Reply, text| reply.add_context(HookEvent::SessionStart, text);
        assert_eq!(add(Reply::silent(), "x"), context("x"));
        assert_eq!(add(Reply::silent().tell("m"), "x"), context("x").tell("m"));
        assert_eq!(add(context("a"), "x"), context("a\n\nx"));
        for (reply, takes_context) in [
            (Reply::silent(), true),
            (context("a"), true),
            (blocked("no"), false),
            (Reply::deny("no"), false),
        ] {
            assert_eq!(add(reply.clone(), ""), reply);
            assert_eq!(reply.takes_context(), takes_context, "{reply:?}");
        }
        assert_eq!(add(blocked("no"), "x"), blocked("no"));
        assert_eq!(Reply::silent().room_for_context(), CONTEXT_LIMIT);
        assert_eq!(blocked("no").room_for_context(), 0);
        let before = context("€€😀");
        let room = before.room_for_context();
        assert_eq!(room, CONTEXT_LIMIT - 6);
        let full = add(before, &"x".repeat(room)).render().unwrap();
        assert!(full.contains("xx\"") && !full.contains('…'), "nothing is cut");
    }

    #[test]
    fn an_answer_about_permission_is_written_as_the_client_reads_it() {
        assert_eq!(Reply::allow("agreed").action, Action::Allow("agreed".to_owned()));
        assert_eq!(Reply::permit().action, Action::Permit);
        assert_eq!(Reply::withhold("not agreed").action, Action::Withhold("not agreed".to_owned()));
    }
}
