//! Reviewers: fresh clients that only read, several side by side.
//!
//! A reviewer gets its own session, a prompt that Ralph writes, and tools that change nothing: where
//! the client's sandbox works, commands as well, in a sandbox that cannot write to the project. It
//! loads neither the project's settings nor its servers, since the model under review may have
//! written them.

use super::client::{self, ClientRound, Policy, RoundOutcome, RoundResult};
use super::engine::{self, ClientRunner, MemberExit, Owner, Then, Words};
use super::options;
use super::screen::Screen;
use super::worker::RoundOrder;
use crate::command::context_dir::Here;
use crate::command::exit::Exit;
use anyhow::Result;
use jiff::Timestamp;
use ralph_core::evidence::review::prompt::ReviewerTools;
use ralph_core::state::{LoopState, Tokens};
use ralph_io::process::interrupts::Interrupts;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::{process::clock, process::random, process::sandboxes, project::user_files};
use serde_json::json;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How many run at once.
const AT_ONCE: usize = 3;

/// The word by which the hooks recognise a reviewer.
pub(crate) const KIND: &str = "review";

/// Variables of a surrounding session that would mislead the reviewer's client or its hooks.
const OF_A_SESSION: [&str; 9] = [
    "CLAUDECODE",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ATTENDED",
    "CLAUDE_PID",
    "CLAUDE_PROJECT_DIR",
    "CLAUDE_PLUGIN_ROOT",
    "AI_AGENT",
    "RALPH_SESSION_CALL",
];

/// One reviewer to start.
pub(crate) struct ReviewerOrder {
    /// Its name among those of this run, and on the screen.
    pub(crate) name: String,
    pub(crate) prompt: String,
}

/// What a reviewer answered.
pub(crate) struct ReviewerAnswer {
    /// The answer, or why the reviewer gave none.
    pub(crate) answer: std::result::Result<String, String>,
    /// The session that Ralph started.
    pub(crate) started: String,
    /// The session that the client reported.
    pub(crate) reported: Option<String>,
    pub(crate) tokens: Tokens,
    pub(crate) cost: f64,
    pub(crate) duration: Duration,
}

/// How reviewers are run.
pub(crate) struct ReviewRun<'a> {
    pub(crate) here: &'a Here,
    pub(crate) file: &'a LoopFile,
    pub(crate) root: &'a Path,
    pub(crate) interrupts: &'a Interrupts,
    /// When those still at work are ended.
    pub(crate) until: Option<Timestamp>,
    pub(crate) tools: ReviewerTools,
    /// Arguments of the user for the client.
    pub(crate) args: &'a [OsString],
    pub(crate) screen: Screen,
}

/// What a reviewer's client can do on this machine.
pub(crate) fn tools() -> ReviewerTools {
    if sandboxes::client_can_sandbox() { ReviewerTools::Commands } else { ReviewerTools::Files }
}

/// Asks all reviewers, and returns their answers by name.
///
/// # Errors
/// When the client is missing, or no process can be started.
pub(crate) fn ask(
    run: ReviewRun<'_>,
    orders: Vec<ReviewerOrder>,
) -> Result<BTreeMap<String, ReviewerAnswer>> {
    client::client()?;
    let logs = options::logs(run.here, KIND);
    user_files::make_folders(&logs, 0o700)?;
    let words = Words {
        command: KIND,
        members: "reviewers",
        interrupted: Exit::Interrupted,
        failed: Exit::MissingProgram,
        ended: "review ended",
    };
    let mut owner = Reviewers {
        runner: ClientRunner::apart(run.here, run.interrupts, words, run.screen)?,
        was_live: is_live(run.file),
        file: run.file,
        root: run.root,
        args: run.args,
        tools: run.tools,
        until: run.until,
        logs,
        waiting: orders.into(),
        sessions: BTreeMap::new(),
        answers: BTreeMap::new(),
        why_ended: String::new(),
    };
    engine::work(&mut owner)?;
    let Reviewers { mut answers, waiting, why_ended, .. } = owner;
    for order in waiting {
        let why = if why_ended.is_empty() { "you ended it" } else { &why_ended };
        answers.insert(order.name, without(why));
    }
    Ok(answers)
}

fn is_live(file: &LoopFile) -> bool {
    let state = file.read().ok().flatten().map(|loaded| loaded.state);
    state.as_ref().is_some_and(LoopState::is_live)
}

/// The answer of a reviewer that was never started.
fn without(why: &str) -> ReviewerAnswer {
    ReviewerAnswer {
        answer: Err(why.to_owned()),
        started: String::new(),
        reported: None,
        tokens: Tokens::default(),
        cost: 0.0,
        duration: Duration::ZERO,
    }
}

struct Reviewers<'a> {
    runner: ClientRunner<'a, ()>,
    /// True if the loop was live at the start: then the reviewers end with it.
    was_live: bool,
    file: &'a LoopFile,
    root: &'a Path,
    args: &'a [OsString],
    tools: ReviewerTools,
    until: Option<Timestamp>,
    logs: PathBuf,
    waiting: std::collections::VecDeque<ReviewerOrder>,
    /// The session that was started for each name.
    sessions: BTreeMap<String, String>,
    answers: BTreeMap<String, ReviewerAnswer>,
    /// Why all were ended; empty if they were not.
    why_ended: String,
}

impl Reviewers<'_> {
    fn start(&mut self, order: ReviewerOrder) -> Result<()> {
        let number = self.sessions.len() + 1;
        let session = random::uuid();
        let folder = self.file.folder();
        let round = ClientRound {
            prompt: client::fit(
                order.prompt,
                &self.logs.join(format!("prompt-{number}")),
                |path| format!("Read {} and do what it says.", path.display()),
            )?,
            session_id: Some(session.clone()),
            env: vec![("RALPH_ROUND".to_owned(), KIND.to_owned())],
            unset: OF_A_SESSION.iter().map(|name| (*name).to_owned()).collect(),
            extra_args: self.arguments(folder),
            permission_mode: Some("default".to_owned()),
            label: format!("review: {}", order.name),
            log: self.logs.join(format!("reviewer-{number}.jsonl")),
            folder: Some(self.root.to_owned()),
            ..ClientRound::default()
        };
        let alone = folder.join(format!("review-{number}"));
        let label = round.label.clone();
        let round = RoundOrder::new(round, &Policy::default(), &alone);
        self.sessions.insert(order.name.clone(), session);
        self.runner.start(&order.name, (&label, ""), &round)
    }

    /// The arguments that leave the client only what reads.
    fn arguments(&self, loop_folder: &Path) -> Vec<OsString> {
        let mut args: Vec<OsString> = self.args.to_vec();
        let commands = self.tools == ReviewerTools::Commands;
        let settings = match commands {
            true => json!({
                "sandbox": {
                    "enabled": true,
                    // Otherwise the client would run commands unbounded.
                    "failIfUnavailable": true,
                    "autoAllowBashIfSandboxed": true,
                    "allowUnsandboxedCommands": false,
                    "filesystem": {"denyWrite": [self.root, loop_folder, self.runner.here.home.root()]},
                },
                // A command that the user lets out of the sandbox must not change the loop.
                "permissions": {"allow": ["Bash"], "deny": ["Bash(ralph *)", "Bash(ralph)"]},
            }),
            false => json!({}),
        };
        let tools = if commands { "Read,Grep,Glob,Bash" } else { "Read,Grep,Glob" };
        let own = ["--setting-sources", "user", "--strict-mcp-config", "--tools", tools];
        args.extend(own.map(OsString::from));
        args.extend([OsString::from("--settings"), settings.to_string().into()]);
        args
    }

    fn end_all(&mut self, why: &str) {
        self.why_ended = why.to_owned();
        self.runner.end_all();
        self.runner.stop(engine::RunEnd::Decided(()));
    }
}

impl<'a> Owner<'a> for Reviewers<'a> {
    type Verdict = ();

    fn runner(&mut self) -> &mut ClientRunner<'a, ()> {
        &mut self.runner
    }

    fn go_on(&mut self, _: Option<&LoopState>) -> Result<Then> {
        if self.until.is_some_and(|until| clock::now() >= until) {
            self.end_all("there was no time left for it");
            return Ok(Then::Again);
        }
        if self.was_live && !is_live(self.file) {
            self.end_all("the loop ended before");
            return Ok(Then::Again);
        }
        while self.runner.len() < AT_ONCE
            && let Some(order) = self.waiting.pop_front()
        {
            self.start(order)?;
        }
        if self.runner.len() == 0 {
            self.runner.stop(engine::RunEnd::Decided(()));
            return Ok(Then::Again);
        }
        Ok(Then::Wait)
    }

    fn next_moment(&mut self) -> Option<Timestamp> {
        // Past it, they are only waited for.
        self.until.filter(|_| self.why_ended.is_empty())
    }

    fn gone(&mut self, name: &str, gone: MemberExit) -> Result<()> {
        let MemberExit { came, failed } = gone;
        self.runner.remove(name, &came);
        let answer = match failed {
            Some((why, _)) => Err(why),
            None if self.why_ended.is_empty() => answer(&came),
            None => Err(self.why_ended.clone()),
        };
        let RoundResult { session_id: reported, tokens, cost, duration, .. } = came;
        let started = self.sessions.get(name).cloned().unwrap_or_default();
        let answer = ReviewerAnswer { answer, started, reported, tokens, cost, duration };
        self.answers.insert(name.to_owned(), answer);
        Ok(())
    }
}

fn answer(came: &RoundResult) -> std::result::Result<String, String> {
    match &came.outcome {
        RoundOutcome::Finished { result, is_error: false } => Ok(result.clone()),
        other => Err(other.why("it has no result")),
    }
}
