//! Reviewers: fresh clients that only read, several side by side.
//!
//! A reviewer gets its own session, a prompt that Ralph writes, and tools that change nothing: where
//! the client's sandbox works, commands as well, in a sandbox that cannot write to the project. It
//! loads neither the project's settings nor its servers, since the model under review may have
//! written them.

mod arguments;
mod cost;

use super::client::{self, ClientRound, RoundOutcome, RoundResult};
use super::engine::{self, ClientRunner, MemberExit, Owner, Then, Words};
use super::options;
use super::screen::Screen;
use crate::command::context_dir::Here;
use crate::command::exit::Exit;
use anyhow::Result;
pub(crate) use arguments::tools;
use jiff::Timestamp;
use ralph_core::evidence::review::prompt::ReviewerTools;
use ralph_core::protocol::loaded::ListedPlugins;
use ralph_core::state::{Bounds, LoopState, StartedReviewer, Tokens};
use ralph_core::stop;
use ralph_io::process::wait_any::Interrupts;
use ralph_io::process::{clock, random};
use ralph_io::project::user_files;
use ralph_io::store::loop_file::LoopFile;
use std::collections::{BTreeMap, VecDeque};
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

/// Keeps the user's `CLAUDE.md`, its rules and the client's memory from the reviewer: what they say is not about the
/// change, and a session may have written them. Hooks and the login stay (measured with 2.1.328).
const WITHOUT_MEMORY: (&str, &str) = ("CLAUDE_CODE_DISABLE_CLAUDE_MDS", "1");

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
    /// True to start no more of them once the loop's limit of tokens or cost is reached.
    pub(crate) keeps_limits: bool,
    /// Arguments of the user for the client.
    pub(crate) args: &'a [OsString],
    pub(crate) screen: Screen,
}

/// Asks all reviewers, and returns their answers by name.
///
/// # Errors
/// When the client is missing, no process can be started, or reviewers of the loop are at work.
pub(crate) fn ask(
    run: ReviewRun<'_>,
    orders: Vec<ReviewerOrder>,
) -> Result<BTreeMap<String, ReviewerAnswer>> {
    let began = read(run.file).and_then(|state| state.environment).unwrap_or_default();
    let client = match began.program.as_str() {
        "" => client::client()?,
        program => program.into(),
    };
    let _alone = cost::alone(run.file, run.until)?;
    cost::count_lost(&run.here.home, run.file)?;
    let logs = options::logs(run.here, KIND);
    user_files::make_folders(&logs, 0o700)?;
    let waiting: VecDeque<Reviewer> =
        (1..).zip(orders).map(|(number, order)| Reviewer::new(order, number, &logs)).collect();
    let started: Vec<StartedReviewer> = waiting.iter().map(|one| one.started.clone()).collect();
    cost::note(run.file, &started)?;
    let words = Words {
        command: KIND,
        members: "reviewers",
        failed: Exit::MissingProgram,
        ended: "review ended",
    };
    let state = read(run.file);
    let mut owner = Reviewers {
        client,
        plugins: began.plugins.map(|names| ListedPlugins { names, ..ListedPlugins::default() }),
        runner: ClientRunner::apart(
            run.here,
            run.interrupts,
            words,
            run.screen,
            &[run.file.folder()],
        )?,
        was_live: state.as_ref().is_some_and(LoopState::is_live),
        bounds: state.and_then(|state| state.bounds),
        file: run.file,
        root: run.root,
        args: run.args,
        tools: run.tools,
        until: run.until,
        keeps_limits: run.keeps_limits,
        logs,
        waiting,
        begun: BTreeMap::new(),
        answers: BTreeMap::new(),
        why_ended: String::new(),
    };
    engine::work(&mut owner)?;
    let why = if owner.why_ended.is_empty() {
        "you ended it".to_owned()
    } else {
        owner.why_ended.clone()
    };
    owner.leave_out(&why);
    cost::forget(&run.here.home, run.file)?;
    Ok(owner.answers)
}

fn read(file: &LoopFile) -> Option<LoopState> {
    file.read().ok().flatten().map(|loaded| loaded.state)
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

/// A reviewer to start, with the session that it gets.
struct Reviewer {
    order: ReviewerOrder,
    number: usize,
    started: StartedReviewer,
}

impl Reviewer {
    fn new(order: ReviewerOrder, number: usize, logs: &Path) -> Reviewer {
        let log = logs.join(format!("reviewer-{number}.jsonl")).to_string_lossy().into_owned();
        let session_id = random::uuid();
        let started = StartedReviewer { session_id, log, ..StartedReviewer::default() };
        Reviewer { order, number, started }
    }
}

struct Reviewers<'a> {
    /// The client of the loop's start.
    client: PathBuf,
    plugins: Option<ListedPlugins>,
    runner: ClientRunner<'a, ()>,
    /// True if the loop was live at the start: then the reviewers end with it.
    was_live: bool,
    file: &'a LoopFile,
    root: &'a Path,
    args: &'a [OsString],
    tools: ReviewerTools,
    /// The bounds of the loop, if it has any.
    bounds: Option<Bounds>,
    until: Option<Timestamp>,
    keeps_limits: bool,
    logs: PathBuf,
    waiting: VecDeque<Reviewer>,
    /// Those that were started, by their names.
    begun: BTreeMap<String, StartedReviewer>,
    answers: BTreeMap<String, ReviewerAnswer>,
    /// Why all were ended; empty if they were not.
    why_ended: String,
}

impl Reviewers<'_> {
    fn start(&mut self, reviewer: Reviewer) -> Result<()> {
        let Reviewer { order, number, started } = reviewer;
        let protected = arguments::Protected {
            here: self.runner.here,
            root: self.root,
            loop_folder: self.file.folder(),
            bounds: self.bounds.as_ref(),
        };
        let (extra_args, sandbox) = arguments::of_reviewer(self.args, self.tools, &protected);
        let round = ClientRound {
            client: self.client.clone(),
            plugins: self.plugins.clone(),
            prompt: client::fit(
                order.prompt,
                &self.logs.join(format!("prompt-{number}")),
                |path| format!("Read {} and do what it says.", path.display()),
            )?,
            session_id: Some(started.session_id.clone()),
            env: [("RALPH_ROUND", KIND), WITHOUT_MEMORY]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            unset: OF_A_SESSION.iter().map(|name| (*name).to_owned()).collect(),
            extra_args,
            sandbox,
            permission_mode: Some("default".to_owned()),
            label: format!("review: {}", order.name),
            log: PathBuf::from(&started.log),
            folder: Some(self.root.to_owned()),
            waits_for_limits: true,
            ..ClientRound::default()
        };
        self.begun.insert(order.name.clone(), started);
        self.runner.start(&order.name, "", round, &cost::lock_of(self.file, number))
    }

    /// Answers for those that have not begun.
    fn leave_out(&mut self, why: &str) {
        let names = self.waiting.drain(..).map(|one| one.order.name);
        self.answers.extend(names.map(|name| (name, without(why))));
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
        let state = read(self.file);
        if self.was_live && !state.as_ref().is_some_and(LoopState::is_live) {
            self.end_all("the loop ended before");
            return Ok(Then::Again);
        }
        let spent = state.as_ref().filter(|_| self.keeps_limits).and_then(stop::spent);
        if let Some(why) = spent {
            self.leave_out(&format!("the loop's limit is reached: it {why}"));
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
        let begun = self.begun.get(name).cloned().unwrap_or_default();
        cost::count_gone(&self.runner.here.home, self.file, &begun, &came)?;
        let RoundResult { session_id: reported, tokens, cost, duration, .. } = came;
        let started = begun.session_id;
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
