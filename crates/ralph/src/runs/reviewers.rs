//! Reviewers: fresh clients that only read, several side by side.
//!
//! A reviewer gets its own session, a prompt that Ralph writes, and tools that change nothing: where
//! the client's sandbox works, commands as well, in a sandbox that cannot write to the project. It
//! loads neither the project's settings nor its servers, since the model under review may have
//! written them.

use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state, refused};
use crate::runs::client::{self, CLIENT, ClientRound, RoundOutcome, RoundResult, sandbox};
use crate::runs::engine::{self, ClientRunner, MemberExit, Owner, Then, Words};
use crate::runs::options;
use crate::runs::screen::Screen;
use anyhow::Result;
use jiff::Timestamp;
use ralph_core::evidence::review::prompt::ReviewerTools;
use ralph_core::protocol::loaded::ListedPlugins;
use ralph_core::protocol::sandbox::{SandboxReach, Unavailable};
use ralph_core::state::{Bounds, LoopState, StartedReviewer, Tokens};
use ralph_core::stop;
use ralph_core::transcript::stream::{Account, Lines};
use ralph_io::git::repository;
use ralph_io::process::wait_any::Interrupts;
use ralph_io::process::{clock, headless, random};
use ralph_io::store::home::Home;
use ralph_io::store::lifecycle;
use ralph_io::store::lock::{self, Lock};
use ralph_io::store::loop_file::LoopFile;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How many run at once.
const AT_ONCE: usize = 3;

/// The word by which the hooks recognise a reviewer.
pub(crate) const KIND: &str = "review";

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
    /// The session that Ralph started, and its log.
    pub(crate) started: StartedReviewer,
    /// The session that the client reported.
    pub(crate) reported: Option<String>,
    pub(crate) tokens: Tokens,
    pub(crate) cost: f64,
    pub(crate) duration: Duration,
}

/// How reviewers are run.
#[derive(Clone, Copy)]
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
}

/// Asks all reviewers, and returns their answers by name.
///
/// # Errors
/// When the client is missing, no process can be started, or reviewers of the loop are at work.
pub(crate) fn ask(
    run: ReviewRun<'_>,
    screen: Screen,
    orders: Vec<ReviewerOrder>,
) -> Result<BTreeMap<String, ReviewerAnswer>> {
    let state = read(run.file);
    let began = state.as_ref().and_then(|state| state.environment.clone()).unwrap_or_default();
    let client = match began.program.as_str() {
        "" => CLIENT.program()?,
        program => program.into(),
    };
    let _alone = alone(run.file, run.until)?;
    count_lost(&run.here.home, run.file)?;
    let logs = options::logs(run.here, KIND);
    options::note_owner(
        &logs.join(KIND),
        &state.as_ref().map(options::owner_of).unwrap_or_default(),
    )?;
    let (mut answers, mut waiting) = (BTreeMap::new(), VecDeque::new());
    for (number, order) in (1..).zip(orders) {
        let log = logs.join(format!("reviewer-{number}.jsonl")).to_string_lossy().into_owned();
        let session_id = random::uuid();
        let unanswered = ReviewerAnswer {
            answer: Err(String::new()),
            started: StartedReviewer { session_id, log, ..StartedReviewer::default() },
            reported: None,
            tokens: Tokens::default(),
            cost: 0.0,
            duration: Duration::ZERO,
        };
        answers.insert(order.name.clone(), unanswered);
        waiting.push_back((number, order));
    }
    // Noted before they start, so that the next review also counts those of a run that is killed.
    let started = answers.values().map(|one| one.started.clone()).collect();
    run.file.update(|state| state.reviewers = started).map_err(bad_state)?;
    let words = Words {
        command: KIND,
        members: "reviewers",
        failed: Exit::MissingProgram,
        ended: "review ended",
    };
    let places = [run.file.folder()];
    let mut owner = Reviewers {
        client,
        plugins: began.plugins.map(|names| ListedPlugins { names, ..ListedPlugins::default() }),
        runner: ClientRunner::apart(run.here, run.interrupts, words, screen, &places)?,
        was_live: state.as_ref().is_some_and(LoopState::is_live),
        bounds: state.and_then(|state| state.bounds),
        run,
        logs,
        waiting,
        answers,
        why_ended: None,
    };
    engine::work(&mut owner)?;
    owner.leave_out(owner.why_ended.unwrap_or("you ended it"));
    // Those that never started are not counted.
    change(&run.here.home, run.file, |state| state.reviewers.clear())?;
    Ok(owner.answers)
}

fn read(file: &LoopFile) -> Option<LoopState> {
    file.read().ok().flatten().map(|loaded| loaded.state)
}

struct Reviewers<'a> {
    run: ReviewRun<'a>,
    /// The client of the loop's start.
    client: PathBuf,
    plugins: Option<ListedPlugins>,
    runner: ClientRunner<'a, ()>,
    /// True if the loop was live at the start: then the reviewers end with it.
    was_live: bool,
    /// The bounds of the loop, if it has any.
    bounds: Option<Bounds>,
    logs: PathBuf,
    /// Those to start, by their numbers.
    waiting: VecDeque<(usize, ReviewerOrder)>,
    /// The answers of all, by their names.
    answers: BTreeMap<String, ReviewerAnswer>,
    /// Why all were ended, if they were.
    why_ended: Option<&'static str>,
}

impl Reviewers<'_> {
    fn start(&mut self, number: usize, order: ReviewerOrder) -> Result<()> {
        let Some(ReviewerAnswer { started, .. }) = self.answers.get(&order.name) else {
            return Ok(());
        };
        let has_commands = self.run.tools == ReviewerTools::Commands;
        let round = ClientRound {
            client: self.client.clone(),
            plugins: self.plugins.clone(),
            prompt: client::fit(
                order.prompt,
                &self.logs.join(format!("prompt-{number}")),
                |path| format!("Read {} and do what it says.", path.display()),
            )?,
            session_id: Some(started.session_id.clone()),
            env: vec![("RALPH_ROUND".to_owned(), KIND.to_owned())],
            extra_args: self.run.args.to_vec(),
            is_reviewer: true,
            sandbox: has_commands.then(|| self.reach()),
            permission_mode: Some("default".to_owned()),
            label: format!("review: {}", order.name),
            log: PathBuf::from(&started.log),
            folder: Some(self.run.root.to_owned()),
            waits_for_limits: true,
            ..ClientRound::default()
        };
        self.runner.start(&order.name, "", round, &lock_of(self.run.file, number))
    }

    /// A reviewer's commands write nothing but its temporary folder, and reach no host.
    fn reach(&self) -> SandboxReach {
        let ReviewRun { here, root, file, .. } = self.run;
        let real = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
        // In a worktree the client lets commands write the git folders, which lie elsewhere.
        let git = repository::around(&real);
        let git = git.iter().flat_map(|it| [it.own(), it.common()]);
        let folders = [real.as_path(), file.folder(), here.home.root()].into_iter().chain(git);
        let mut deny_write: Vec<String> =
            folders.map(|folder| folder.to_string_lossy().into_owned()).collect();
        deny_write.sort();
        deny_write.dedup();
        let bounds = self.bounds.clone().unwrap_or_else(|| sandbox::bounds(here, root));
        SandboxReach { deny_write, deny_read: bounds.read_deny, ..SandboxReach::default() }
    }

    /// Answers for those that have not begun.
    fn leave_out(&mut self, why: &str) {
        for (_, order) in self.waiting.drain(..) {
            if let Some(one) = self.answers.get_mut(&order.name) {
                one.answer = Err(why.to_owned());
            }
        }
    }

    /// Why those at work are to be ended.
    fn end_is_due(&self, state: Option<&LoopState>) -> Option<&'static str> {
        if self.run.until.is_some_and(|until| clock::now() >= until) {
            return Some("there was no time left for it");
        }
        let is_over = self.was_live && !state.is_some_and(LoopState::is_live);
        is_over.then_some("the loop ended before")
    }
}

impl<'a> Owner<'a> for Reviewers<'a> {
    type Verdict = ();

    fn runner(&mut self) -> &mut ClientRunner<'a, ()> {
        &mut self.runner
    }

    fn go_on(&mut self, _: Option<&LoopState>) -> Result<Then> {
        let state = read(self.run.file);
        if let Some(why) = self.end_is_due(state.as_ref()) {
            self.why_ended = Some(why);
            self.runner.end_all();
            self.runner.stop(engine::RunEnd::Decided(()));
            return Ok(Then::Again);
        }
        let spent = state.as_ref().filter(|_| self.run.keeps_limits).and_then(stop::spent);
        if let Some(why) = spent {
            self.leave_out(&format!("the loop's limit is reached: it {why}"));
        }
        while self.runner.len() < AT_ONCE
            && let Some((number, order)) = self.waiting.pop_front()
        {
            self.start(number, order)?;
        }
        if self.runner.len() == 0 {
            self.runner.stop(engine::RunEnd::Decided(()));
            return Ok(Then::Again);
        }
        Ok(Then::Wait)
    }

    fn next_moment(&mut self) -> Option<Timestamp> {
        // Past it, they are only waited for.
        self.run.until.filter(|_| self.why_ended.is_none())
    }

    fn on_exit(&mut self, name: &str, gone: MemberExit) -> Result<()> {
        let MemberExit { came, failed } = gone;
        self.runner.remove(name, &came);
        let Some(one) = self.answers.get_mut(name) else { return Ok(()) };
        one.answer = match (failed, self.why_ended) {
            (Some((why, _)), _) => Err(why),
            (None, Some(why)) => Err(why.to_owned()),
            (None, None) => answer(&came),
        };
        let RoundResult { session_id, tokens, cost, duration, .. } = came;
        (one.reported, one.tokens, one.cost, one.duration) = (session_id, tokens, cost, duration);
        let (tokens, cost) = match tokens.total() > 0 || cost > 0.0 {
            true => (tokens, cost),
            false => used(Path::new(&one.started.log)),
        };
        change(&self.run.here.home, self.run.file, |state| {
            state.count_reviewer(&one.started.session_id, tokens, cost);
        })
    }
}

fn answer(came: &RoundResult) -> std::result::Result<String, String> {
    match &came.outcome {
        RoundOutcome::Finished { result, is_error: false } => Ok(result.clone()),
        other => Err(other.why("it has no result")),
    }
}

// What reviewers cost. Each is counted when it is gone.

/// Long enough for other reviewers of the same loop to end.
const OTHERS_TURN: Duration = Duration::from_secs(900);

/// Takes the lock of a loop's reviewers: two reviews at once would count each other's as lost.
fn alone(file: &LoopFile, until: Option<Timestamp>) -> Result<Lock> {
    let left = until.map(|until| until.duration_since(clock::now()));
    let left = left.map_or(OTHERS_TURN, |left| Duration::try_from(left).unwrap_or_default());
    lock::take(&file.folder().join("reviews"), left).map_err(|_| {
        refused(Exit::No, "other reviewers of this loop are at work; try again when they are done")
    })
}

/// The lock that a reviewer's processes hold.
fn lock_of(file: &LoopFile, number: usize) -> PathBuf {
    file.folder().join(format!("review-{number}"))
}

/// Counts the reviewers of a run that was killed, as far as their logs show what they used. Waits until
/// all of them have ended.
fn count_lost(home: &Home, file: &LoopFile) -> Result<()> {
    let lost = file.read().map_err(bad_state)?.map_or(Vec::new(), |loaded| loaded.state.reviewers);
    if lost.is_empty() {
        return Ok(());
    }
    for place in (1..).map(|number| lock_of(file, number)) {
        if !place.with_extension("lock").exists() {
            break;
        }
        engine::wait_for_earlier(&place)?;
    }
    lost.iter().try_for_each(|one| {
        let (tokens, cost) = used(Path::new(&one.log));
        change(home, file, |state| state.count_reviewer(&one.session_id, tokens, cost))
    })
}

/// Changes the state of a loop that may have ended, and been archived, meanwhile.
fn change(home: &Home, file: &LoopFile, change: impl Fn(&mut LoopState)) -> Result<()> {
    if file.update(&change).map_err(bad_state)?.is_none()
        && let Some((archived, _)) = lifecycle::read(home, file.clone()).map_err(bad_state)?
    {
        archived.update(&change).map_err(bad_state)?;
    }
    Ok(())
}

/// What the log of a client says that it used; nothing if it cannot be read.
fn used(log: &Path) -> (Tokens, f64) {
    let mut account = Account::default();
    let mut hear = |line: &[u8]| CLIENT.read(line).into_iter().for_each(|it| account.hear(it));
    let mut lines = Lines::default();
    lines.feed(&headless::read_log(log).unwrap_or_default(), &mut hear);
    lines.finish(&mut hear);
    let cost = account.ended.as_ref().map_or(0.0, |ended| ended.cost);
    (account.tokens(), cost)
}

/// What a reviewer's client can do on this machine, and why not more.
pub(crate) fn tools() -> (ReviewerTools, Option<Unavailable>) {
    match ralph_io::client::sandbox::check() {
        Ok(()) => (ReviewerTools::Commands, None),
        Err(why) => (ReviewerTools::Files, Some(why)),
    }
}

#[cfg(test)]
mod cost_tests {
    use super::*;

    #[test]
    fn a_log_that_ends_in_mid_line_tells_the_tokens_and_a_whole_one_the_cost_too() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let message = r#"{"type":"assistant","message":{"id":"m","usage":{"input_tokens":30,"output_tokens":5},"content":[]}}"#;
        std::fs::write(&log, format!("{message}\n{message}\n{{\"type\":\"assis")).unwrap();
        let (tokens, cost) = used(&log);
        assert_eq!((tokens.total(), cost), (35, 0.0));
        let result = r#"{"type":"result","is_error":false,"result":"x","total_cost_usd":0.5,"modelUsage":{"m":{"inputTokens":90,"outputTokens":10}}}"#;
        std::fs::write(&log, format!("{message}\n{result}\n")).unwrap();
        let (tokens, cost) = used(&log);
        assert_eq!((tokens.total(), cost), (100, 0.5));
        assert_eq!(used(&folder.path().join("gone")).0.total(), 0);
    }
}
