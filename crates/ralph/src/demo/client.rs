//! The demo with the real client; its model is a script on loopback.
//!
//! The model answers one request at a time, and each request shows the result of the answer before:
//! the hook's text reached the model, or the turn would have ended. The user's own configuration
//! and key are not read: the client gets its own folder, and a dummy key.

use super::answer::StepAnswer;
use super::play::{Play, PlayEnd};
use super::sandbox::{Errand, Stage};
use super::story::{STORY, StoryAction};
use super::{DemoResult, ProgramMissing};
use crate::standin::{ApiRequest, DUMMY_API_KEY, Script, ScriptedTurn, StandIn};
use anyhow::{Context, Result, bail};
use ralph_core::protocol::registration::COMMAND_LINE;
use ralph_io::process::run_once::{ProbeResult, ProgramEnd};
use serde_json::json;
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

/// Time limit for a whole session of the client.
const DEADLINE: Duration = Duration::from_secs(180);

/// The model's answer once the story is over: it lets a loop that still runs end.
const OVER: &str = "The demo is over.\n\nRALPH_COMPLETE";

enum News {
    Request(Box<ApiRequest>),
    Ended(Result<ProbeResult>),
}

pub(super) fn play(stage: &Stage, play: Play<'_>) -> Result<DemoResult> {
    let client = DemoClient::find(stage)?;
    client.install_hooks()?;
    let (news, arrives) = channel();
    let (says, said) = channel();
    let stand_in = StandIn::start(script(news.clone(), said))?;
    thread::scope(|scope| {
        let StoryAction::Types(name, args) = STORY[0].does else { bail!("nobody types a command") };
        let prompt = format!("/{name} {}", args.join(" "));
        let (client, url) = (&client, stand_in.url());
        scope.spawn(move || news.send(News::Ended(client.talk(&prompt, &url))));
        conversation(client, play, &arrives, says)
    })
}

/// A script that hands over each request and waits for the next answer.
fn script(news: Sender<News>, said: Receiver<ScriptedTurn>) -> Script {
    let ends = Mutex::new((news, said));
    Script::new().answer_with(move |request| {
        let next = ends.lock().ok().and_then(|ends| {
            ends.0.send(News::Request(Box::new(request.clone()))).ok()?;
            ends.1.recv().ok()
        });
        next.unwrap_or_else(|| ScriptedTurn::text(OVER))
    })
}

/// Reads the result of each step and sends the next one to the model.
fn conversation(
    client: &DemoClient<'_>,
    mut play: Play<'_>,
    arrives: &Receiver<News>,
    says: Sender<ScriptedTurn>,
) -> Result<DemoResult> {
    let mut n_requests = 0;
    let mut steps = STORY.into_iter().peekable();
    while let Some(step) = steps.next() {
        let answer = match step.does {
            StoryAction::StrangerSays(text) => client.stranger(text)?,
            StoryAction::Looks(args) => client.stage.look(args)?,
            does => match arrives.recv().context("the client is gone")? {
                News::Request(request) => {
                    n_requests += 1;
                    heard(does, &request)
                }
                News::Ended(outcome) => at_the_end(&outcome?),
            },
        };
        if !play.told(step, &answer)? {
            return play.close(PlayEnd::Broken);
        }
        // A stranger's turn may come between two of ours: the model still has to answer.
        if let Some(next) = steps.peek().filter(|next| next.does.is_the_agents()) {
            let _ = says.send(turn(client.stage.project(), next.does));
        }
    }
    play.close(PlayEnd::Played(format!("{} with {n_requests} model calls", client.version)))
}

/// The model's answer that takes this step.
fn turn(project: &Path, does: StoryAction) -> ScriptedTurn {
    match does {
        StoryAction::Asks(question) => {
            let option = |label: &str| json!({"label": label, "description": label});
            let options = [option("hello"), option("good day")];
            let question = json!({
                "question": question, "header": "Greeting", "options": options, "multiSelect": false,
            });
            ScriptedTurn::tool("AskUserQuestion", json!({"questions": [question]}))
        }
        StoryAction::Writes(name, text) => {
            ScriptedTurn::tool("Write", json!({"file_path": project.join(name), "content": text}))
        }
        StoryAction::Runs(command) => ScriptedTurn::bash(command),
        StoryAction::Says(text) | StoryAction::StrangerSays(text) => ScriptedTurn::text(text),
        StoryAction::Types(..) | StoryAction::Looks(_) => ScriptedTurn::text(OVER),
    }
}

/// The result of a step, from the next request.
fn heard(does: StoryAction, request: &ApiRequest) -> StepAnswer {
    let news = request.news();
    match does {
        StoryAction::Types(..) => match from_hook(&news) {
            Some(words) => StepAnswer::Context(words),
            None => StepAnswer::Nothing,
        },
        StoryAction::Says(_) | StoryAction::StrangerSays(_) => {
            StepAnswer::GoesOn(from_hook(&news).unwrap_or(news))
        }
        StoryAction::Looks(_) => StepAnswer::Nothing,
        StoryAction::Asks(_) | StoryAction::Writes(..) | StoryAction::Runs(_) => match request
            .tool_results()
            .pop()
        {
            Some(result) if result.is_error => match from_hook(&result.text) {
                Some(reason) => StepAnswer::Denied(reason),
                None => StepAnswer::Other(result.text),
            },
            Some(result) if matches!(does, StoryAction::Runs(_)) => StepAnswer::Ran(result.text),
            _ => StepAnswer::Nothing,
        },
    }
}

/// The text after the words with which the client introduces a hook's output.
fn from_hook(text: &str) -> Option<String> {
    const ANNOUNCED: [&str; 3] =
        ["hook additional context: ", "hook error: ", "Stop hook feedback:\n"];
    let after = ANNOUNCED.iter().find_map(|words| Some(text.split_once(words)?.1))?;
    Some(after.split("</system-reminder>").next().unwrap_or(after).trim().to_owned())
}

/// The client has exited: the turn was let go, or the client failed.
fn at_the_end(outcome: &ProbeResult) -> StepAnswer {
    match outcome.ended {
        ProgramEnd::Exited(0) => StepAnswer::Nothing,
        _ => StepAnswer::Other(format!("the client failed: {}", said_last(outcome))),
    }
}

fn said_last(outcome: &ProbeResult) -> &str {
    let all = if outcome.stderr.trim().is_empty() { &outcome.stdout } else { &outcome.stderr };
    all.trim().lines().last().unwrap_or_default()
}

/// The real client in the scratch folder.
struct DemoClient<'a> {
    stage: &'a Stage,
    command: String,
    version: String,
}

impl DemoClient<'_> {
    fn find(stage: &Stage) -> Result<DemoClient<'_>> {
        let command = named();
        let asked = stage.run(Errand {
            command: &command,
            args: &["--version"],
            env: &settings("http://127.0.0.1:9"),
            ..Errand::default()
        });
        match asked {
            Ok(outcome) if outcome.ended == ProgramEnd::Exited(0) => {
                Ok(DemoClient { stage, command, version: outcome.stdout.trim().to_owned() })
            }
            _ => Err(ProgramMissing(format!(
                "could not run `{command} --version`; install Claude Code, or name it in RALPH_CLAUDE"
            ))
            .into()),
        }
    }

    /// Runs `ralph install`, as a user would, for the client's scratch configuration.
    fn install_hooks(&self) -> Result<()> {
        let ralph = self.stage.executable(COMMAND_LINE);
        let args = ["install"];
        let outcome =
            self.stage.run(Errand { command: &ralph, args: &args, ..Errand::default() })?;
        if outcome.ended != ProgramEnd::Exited(0) {
            bail!("could not register the hooks: {}", outcome.stderr.trim());
        }
        Ok(())
    }

    /// Runs one session of the client to its end.
    fn talk(&self, prompt: &str, url: &str) -> Result<ProbeResult> {
        let content = json!([{"type": "text", "text": prompt}]);
        let message = json!({"type": "user", "message": {"role": "user", "content": content}});
        self.stage.run(Errand {
            command: &self.command,
            // The client offers the tool that asks the user only if it requests permissions over
            // standard input and output.
            args: &[
                "-p",
                "--input-format=stream-json",
                "--output-format=stream-json",
                "--verbose",
                "--permission-mode=bypassPermissions",
                "--permission-prompt-tool=stdio",
            ],
            stdin: &format!("{message}\n"),
            env: &settings(url),
            deadline: Some(DEADLINE),
        })
    }

    /// Runs another session in the same folder while ours is in its loop.
    fn stranger(&self, text: &'static str) -> Result<StepAnswer> {
        let stand_in = StandIn::start(Script::new().repeat(ScriptedTurn::text(text)))?;
        let outcome = self.talk("Look around.", &stand_in.url())?;
        let requests = stand_in.requests();
        Ok(match requests.as_slice() {
            [_] => at_the_end(&outcome),
            [_, second, ..] => heard(StoryAction::StrangerSays(text), second),
            [] => StepAnswer::Other(format!("the client asked nothing: {}", said_last(&outcome))),
        })
    }
}

/// Makes a path absolute, since the client starts in another folder.
fn named() -> String {
    let name = std::env::var("RALPH_CLAUDE").ok().filter(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| "claude".to_owned());
    match std::path::absolute(&name) {
        Ok(path) if name.contains('/') => path.to_string_lossy().into_owned(),
        _ => name,
    }
}

/// Keeps the client on this machine, and keeps it from waiting for a model that is gone.
fn settings(url: &str) -> Vec<(&'static str, String)> {
    let fixed = [
        ("ANTHROPIC_API_KEY", DUMMY_API_KEY),
        ("ANTHROPIC_BASE_URL", url),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL", "1"),
        ("CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION", "false"),
        ("CLAUDE_CODE_MAX_RETRIES", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("DISABLE_ERROR_REPORTING", "1"),
        ("DISABLE_TELEMETRY", "1"),
        // As root the client skips permissions only in a sandbox. This is one: the client runs what
        // the story says and nothing else.
        ("IS_SANDBOX", "1"),
    ];
    fixed.map(|(name, value)| (name, value.to_owned())).to_vec()
}
