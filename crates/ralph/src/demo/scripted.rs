//! The scripted agent: follows the story, calls the hooks as the client would, and keeps their answers.
//!
//! The payloads have the members of real ones, and each hook gets the environment that the client
//! gives it. The table of registrations decides which executable answers an event.

use super::StoryAction;
use super::sandbox::{Errand, Stage};
use crate::command::exit::{Exit, refused};
use anyhow::{Context, Result};
use ralph_core::protocol::registration::{HOOKS, Origin};
use serde_json::{Value, json};
use std::time::Duration;

/// The client version that the script imitates.
const CLIENT: &str = "claude-code_2-1-328_demo";

const PROMPT_ID: &str = "00000000-0000-4000-8000-00000000d003";

/// The session of the story, and another in the same folder.
const OURS: &str = "00000000-0000-4000-8000-00000000d001";
const STRANGER: &str = "00000000-0000-4000-8000-00000000d002";

pub(super) struct Scripted<'a> {
    stage: &'a Stage,
    /// The duration of each hook call, from the start of the process to its end.
    took: Vec<Duration>,
    went_on: bool,
}

impl<'a> Scripted<'a> {
    pub(super) fn new(stage: &'a Stage) -> Scripted<'a> {
        Scripted { stage, took: Vec::new(), went_on: false }
    }

    /// How many hooks were called, and how long one takes.
    pub(super) fn counted(mut self) -> String {
        self.took.sort_unstable();
        let middle = self.took.get(self.took.len() / 2).copied().unwrap_or_default();
        let median = middle.as_secs_f64() * 1000.0;
        format!("{} hook calls, median {median:.1} ms each", self.took.len())
    }

    pub(super) fn act(&mut self, does: StoryAction) -> Result<StepAnswer> {
        match does {
            StoryAction::Types(name, args) => self.types(name, args),
            StoryAction::Asks(question) => {
                let options = json!([{"label": "hello"}, {"label": "good day"}]);
                let questions = json!([{"question": question, "options": options}]);
                self.tool("AskUserQuestion", &json!({ "questions": questions }), |_| Ok(json!({})))
            }
            StoryAction::Writes(name, text) => {
                let path = self.stage.project().join(name);
                let input = json!({"file_path": path, "content": text});
                let response = json!({"type": "create", "filePath": path, "content": text});
                self.tool("Write", &input, |stage| stage.write(name, text).map(|()| response))
            }
            StoryAction::Runs(command) => {
                let environment = self.environment(OURS);
                let input = json!({ "command": command });
                self.tool("Bash", &input, |stage| bash(stage, command, &environment))
            }
            StoryAction::Says(text) => self.stop(OURS, text),
            StoryAction::StrangerSays(text) => self.stop(STRANGER, text),
            StoryAction::Looks(args) => self.stage.run_ralph(args),
        }
    }

    fn types(&mut self, name: &str, args: &str) -> Result<StepAnswer> {
        let prompt = format!("/{name} {args}");
        let submitted = self.call(OURS, "UserPromptSubmit", json!({ "prompt": prompt }))?;
        if submitted.kind != AnswerKind::Went {
            return Ok(submitted);
        }
        let expansion = json!({
            "expansion_type": "slash_command", "command_name": name, "command_args": args,
            "command_source": "userSettings", "prompt": prompt,
        });
        self.call(OURS, "UserPromptExpansion", expansion)
    }

    /// Calls the hook before the tool, runs the tool if allowed, and returns the answer.
    fn tool(
        &mut self,
        name: &str,
        input: &Value,
        run: impl FnOnce(&Stage) -> Result<Value>,
    ) -> Result<StepAnswer> {
        let about = json!({"tool_name": name, "tool_input": input, "tool_use_id": "toolu_demo"});
        let allowed = self.call(OURS, "PreToolUse", about.clone())?;
        // The details of a stop come with the next call and hold nothing up.
        if !matches!(allowed.kind, AnswerKind::Went | AnswerKind::Told) {
            return Ok(allowed);
        }
        let mut after = about;
        after["tool_response"] = run(self.stage)?;
        let printed = after["tool_response"]["stdout"].as_str().map(str::to_owned);
        let answer = self.call(OURS, "PostToolUse", after)?;
        Ok(match printed {
            Some(printed) if answer.kind == AnswerKind::Went => {
                StepAnswer::new(answer.kind, printed)
            }
            _ => answer,
        })
    }

    fn stop(&mut self, session: &str, text: &str) -> Result<StepAnswer> {
        let active = session == OURS && self.went_on;
        let own = json!({
            "stop_hook_active": active, "last_assistant_message": text.trim(),
            "background_tasks": [], "session_crons": [],
        });
        let answer = self.call(session, "Stop", own)?;
        if session == OURS {
            self.went_on = answer.kind == AnswerKind::KeptGoing;
        }
        Ok(answer)
    }

    /// Calls the hook that is registered for the event.
    fn call(&mut self, session: &str, event: &str, own: Value) -> Result<StepAnswer> {
        let hook = HOOKS
            .iter()
            .find(|hook| hook.event == event)
            .with_context(|| format!("no hook is registered for {event}"))?;
        let args: Vec<&str> = hook.args.iter().copied().chain([Origin::Settings.word()]).collect();
        let executable = self.stage.executable(hook.executable);
        let payload = format!("{}\n", self.payload(session, event, own));
        let outcome = self
            .stage
            .run(Errand {
                command: &executable,
                args: &args,
                stdin: &payload,
                env: &self.environment(session),
                deadline: Some(Duration::from_millis(hook.timeout_ms.into())),
            })
            .map_err(|error| refused(Exit::MissingProgram, format!("{error:#}")))?;
        self.took.push(outcome.took);
        // The client ignores a hook's complaint on standard error; the demo reports it.
        Ok(match outcome.stderr.trim() {
            "" => StepAnswer::of_hook(event, &outcome.stdout),
            complaint => StepAnswer::failed(format!("{} complained: {complaint}", hook.executable)),
        })
    }

    fn payload(&self, session: &str, event: &str, own: Value) -> Value {
        let transcript = self.stage.config().join(format!("projects/{}.jsonl", session));
        let mut payload = json!({
            "session_id": session, "transcript_path": transcript, "cwd": self.stage.project(),
            "prompt_id": PROMPT_ID, "permission_mode": "default", "hook_event_name": event,
        });
        if let (Value::Object(payload), Value::Object(own)) = (&mut payload, own) {
            payload.extend(own);
        }
        payload
    }

    fn environment(&self, session: &str) -> Vec<(&'static str, String)> {
        vec![
            ("AI_AGENT", CLIENT.to_owned()),
            ("CLAUDECODE", "1".to_owned()),
            ("CLAUDE_CODE_ENTRYPOINT", "cli".to_owned()),
            ("CLAUDE_CODE_SESSION_ID", session.to_owned()),
            ("CLAUDE_PID", std::process::id().to_string()),
            ("CLAUDE_PROJECT_DIR", self.stage.project().to_string_lossy().into_owned()),
        ]
    }
}

fn bash(stage: &Stage, command: &str, env: &[(&str, String)]) -> Result<Value> {
    let args = ["-c", command];
    let outcome = stage.run(Errand { command: "sh", args: &args, env, ..Errand::default() })?;
    Ok(json!({"stdout": outcome.stdout, "stderr": outcome.stderr, "interrupted": false}))
}

/// What a hook or a command did with a step of the demo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerKind {
    /// The step goes ahead; the words are what it printed.
    Went,
    /// The step goes ahead, and the model receives the words.
    Told,
    /// The tool does not run.
    Denied,
    /// The turn does not end.
    KeptGoing,
    /// The command is stopped before it reaches the model.
    Stopped,
    /// Anything else.
    Failed,
}

impl AnswerKind {
    /// The kind in words, to narrate one that the story did not expect.
    pub(super) fn describe(self) -> &'static str {
        match self {
            AnswerKind::Went => "let it go",
            AnswerKind::Told => "told the agent",
            AnswerKind::Denied => "denied it",
            AnswerKind::KeptGoing => "kept the turn going",
            AnswerKind::Stopped => "stopped the command",
            AnswerKind::Failed => "gave no answer",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StepAnswer {
    pub(super) kind: AnswerKind,
    pub(super) words: String,
}

impl StepAnswer {
    pub(super) fn new(kind: AnswerKind, words: impl Into<String>) -> StepAnswer {
        StepAnswer { kind, words: words.into() }
    }

    pub(super) fn failed(why: String) -> StepAnswer {
        StepAnswer::new(AnswerKind::Failed, why)
    }

    /// Reads a hook's output as the client would.
    fn of_hook(event: &str, printed: &str) -> StepAnswer {
        let printed = if printed.trim().is_empty() { "{}" } else { printed };
        let Ok(reply) = serde_json::from_str::<Value>(printed) else {
            let why = format!("printed an answer that no client understands: {printed}");
            return StepAnswer::failed(why);
        };
        let own = &reply["hookSpecificOutput"];
        let (context, denied) = (&own["additionalContext"], &own["permissionDecisionReason"]);
        let (kind, words) = match event {
            _ if own["permissionDecision"] == "deny" => (AnswerKind::Denied, denied),
            "Stop" if context.is_string() => (AnswerKind::KeptGoing, context),
            "Stop" if reply["decision"] == "block" => (AnswerKind::KeptGoing, &reply["reason"]),
            _ if reply["decision"] == "block" => (AnswerKind::Stopped, &reply["reason"]),
            _ if reply["continue"] == false => (AnswerKind::Stopped, &reply["stopReason"]),
            _ if context.is_string() => (AnswerKind::Told, context),
            _ => (AnswerKind::Went, &Value::Null),
        };
        StepAnswer::new(kind, words.as_str().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::protocol::event::HookEvent;
    use ralph_core::protocol::reply::{GoOnForm, Reply};

    #[test]
    fn every_form_of_a_reply_is_heard_as_what_it_is() {
        let check = |event: &str, reply: &Reply, expected: AnswerKind| {
            let answer = StepAnswer::of_hook(event, &reply.render().unwrap_or_default());
            let words = if expected == AnswerKind::Went { "" } else { "why" };
            assert_eq!(answer, StepAnswer::new(expected, words), "{reply:?}");
        };
        check("Stop", &Reply::silent(), AnswerKind::Went);
        check("Stop", &Reply::silent().tell("over"), AnswerKind::Went);
        check("PreToolUse", &Reply::deny("why"), AnswerKind::Denied);
        check("UserPromptExpansion", &Reply::keep_from_model("why"), AnswerKind::Stopped);
        let context = Reply::context(HookEvent::UserPromptExpansion, "why");
        check("UserPromptExpansion", &context, AnswerKind::Told);
        for form in [GoOnForm::Block, GoOnForm::Context] {
            let reply = Reply::go_on(HookEvent::Stop, form, "why");
            check("Stop", &reply, AnswerKind::KeptGoing);
        }
    }

    #[test]
    fn what_is_not_a_reply_is_not_taken_for_silence() {
        assert_eq!(StepAnswer::of_hook("Stop", "panicked at").kind, AnswerKind::Failed);
    }
}
