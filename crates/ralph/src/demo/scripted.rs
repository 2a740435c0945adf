//! The scripted agent: follows the story, calls the hooks as the client would, and keeps their answers.
//!
//! The payloads have the members of real ones, and each hook gets the environment that the client
//! gives it. The table of registrations decides which executable answers an event.

use super::sandbox::{Errand, Stage};
use super::{DemoResult, ProgramMissing};
use crate::demo::{Play, PlayEnd, STORY, StoryAction};
use anyhow::{Context, Result};
use ralph_core::protocol::registration::{HOOKS, Origin};
use ralph_io::process::ProbeResult;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// The client version that the script imitates.
const CLIENT: &str = "claude-code_2-1-328_demo";

const PROMPT_ID: &str = "00000000-0000-4000-8000-00000000d003";

/// The sessions of the story.
#[derive(Debug, Clone, Copy)]
enum DemoSession {
    Ours,
    Stranger,
}

impl DemoSession {
    fn id(self) -> &'static str {
        match self {
            DemoSession::Ours => "00000000-0000-4000-8000-00000000d001",
            DemoSession::Stranger => "00000000-0000-4000-8000-00000000d002",
        }
    }
}

pub(super) fn play(stage: &Stage, mut play: Play<'_>) -> Result<DemoResult> {
    let mut agent = Scripted { stage, took: Vec::new(), went_on: false };
    for step in STORY {
        let answer = agent.act(step.does)?;
        if !play.told(step, &answer)? {
            return play.close(PlayEnd::Broken);
        }
    }
    let calls = agent.took.len();
    let median = median(&mut agent.took);
    play.close(PlayEnd::Played(format!("{calls} hook calls, median {median} each")))
}

struct Scripted<'a> {
    stage: &'a Stage,
    /// The duration of each hook call, from the start of the process to its end.
    took: Vec<Duration>,
    went_on: bool,
}

impl Scripted<'_> {
    fn act(&mut self, does: StoryAction) -> Result<StepAnswer> {
        match does {
            StoryAction::Types(name, args) => self.types(name, &args.join(" ")),
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
                let environment = self.environment(DemoSession::Ours);
                let input = json!({ "command": command });
                self.tool("Bash", &input, |stage| bash(stage, command, &environment))
            }
            StoryAction::Says(text) => self.stop(DemoSession::Ours, text),
            StoryAction::StrangerSays(text) => self.stop(DemoSession::Stranger, text),
            StoryAction::Looks(args) => self.stage.look(args),
        }
    }

    fn types(&mut self, name: &str, args: &str) -> Result<StepAnswer> {
        let prompt = format!("/{name} {args}");
        let submitted =
            self.call(DemoSession::Ours, "UserPromptSubmit", json!({ "prompt": prompt }))?;
        if submitted != StepAnswer::Nothing {
            return Ok(submitted);
        }
        let expansion = json!({
            "expansion_type": "slash_command", "command_name": name, "command_args": args,
            "command_source": "userSettings", "prompt": prompt,
        });
        self.call(DemoSession::Ours, "UserPromptExpansion", expansion)
    }

    /// Calls the hook before the tool, runs the tool if allowed, and returns the answer.
    fn tool(
        &mut self,
        name: &str,
        input: &Value,
        run: impl FnOnce(&Stage) -> Result<Value>,
    ) -> Result<StepAnswer> {
        let about = json!({"tool_name": name, "tool_input": input, "tool_use_id": "toolu_demo"});
        let allowed = self.call(DemoSession::Ours, "PreToolUse", about.clone())?;
        // The details of a stop come with the next call and hold nothing up.
        if !matches!(allowed, StepAnswer::Nothing | StepAnswer::Context(_)) {
            return Ok(allowed);
        }
        let mut after = about;
        after["tool_response"] = run(self.stage)?;
        let printed = after["tool_response"]["stdout"].as_str().map(str::to_owned);
        let answer = self.call(DemoSession::Ours, "PostToolUse", after)?;
        Ok(match (printed, answer) {
            (Some(printed), StepAnswer::Nothing) => StepAnswer::Ran(printed),
            (_, answer) => answer,
        })
    }

    fn stop(&mut self, session: DemoSession, text: &str) -> Result<StepAnswer> {
        let active = matches!(session, DemoSession::Ours) && self.went_on;
        let own = json!({
            "stop_hook_active": active, "last_assistant_message": text.trim(),
            "background_tasks": [], "session_crons": [],
        });
        let answer = self.call(session, "Stop", own)?;
        if matches!(session, DemoSession::Ours) {
            self.went_on = matches!(answer, StepAnswer::GoesOn(_));
        }
        Ok(answer)
    }

    /// Calls the hook that is registered for the event.
    fn call(&mut self, session: DemoSession, event: &str, own: Value) -> Result<StepAnswer> {
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
            .map_err(|error| ProgramMissing(format!("{error:#}")))?;
        self.took.push(outcome.took);
        Ok(heard(event, hook.executable, &outcome))
    }

    fn payload(&self, session: DemoSession, event: &str, own: Value) -> Value {
        let transcript = self.stage.config().join(format!("projects/{}.jsonl", session.id()));
        let mut payload = Map::new();
        payload.insert("session_id".to_owned(), json!(session.id()));
        payload.insert("transcript_path".to_owned(), json!(transcript));
        payload.insert("cwd".to_owned(), json!(self.stage.project()));
        payload.insert("prompt_id".to_owned(), json!(PROMPT_ID));
        payload.insert("permission_mode".to_owned(), json!("default"));
        payload.insert("hook_event_name".to_owned(), json!(event));
        if let Value::Object(own) = own {
            payload.extend(own);
        }
        Value::Object(payload)
    }

    fn environment(&self, session: DemoSession) -> Vec<(&'static str, String)> {
        vec![
            ("AI_AGENT", CLIENT.to_owned()),
            ("CLAUDECODE", "1".to_owned()),
            ("CLAUDE_CODE_ENTRYPOINT", "cli".to_owned()),
            ("CLAUDE_CODE_SESSION_ID", session.id().to_owned()),
            ("CLAUDE_PID", std::process::id().to_string()),
            ("CLAUDE_PROJECT_DIR", self.stage.project().to_string_lossy().into_owned()),
        ]
    }
}

/// The client ignores a hook's complaint on standard error; the demo reports it.
fn heard(event: &str, executable: &str, outcome: &ProbeResult) -> StepAnswer {
    let complaint = outcome.stderr.trim();
    match complaint.is_empty() {
        true => StepAnswer::of_hook(event, &outcome.stdout),
        false => StepAnswer::Other(format!("{executable} complained: {complaint}")),
    }
}

fn bash(stage: &Stage, command: &str, env: &[(&str, String)]) -> Result<Value> {
    let args = ["-c", command];
    let outcome = stage.run(Errand { command: "sh", args: &args, env, ..Errand::default() })?;
    Ok(json!({"stdout": outcome.stdout, "stderr": outcome.stderr, "interrupted": false}))
}

fn median(took: &mut [Duration]) -> String {
    took.sort_unstable();
    let middle = took.get(took.len() / 2).copied().unwrap_or_default();
    format!("{:.1} ms", middle.as_secs_f64() * 1000.0)
}

// The answer of a hook or a command to one step of the demo.

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
