//! Runs clients: starts them, shows them, waits, and ends them when the user or the loop's end
//! requires it.
//!
//! An [`Owner`] decides what starts and what an end means, each step anew from files: if this
//! process is killed, only its clients are lost. There is one thread; events are handled between
//! two steps.

use super::client::{ClientRound, Policy, RoundOutcome, RoundResult};
use super::options::{self, ClientOptions};
use super::screen::Screen;
use super::worker::{self, RoundMessage, RoundOrder};
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state, refused};
use crate::command::journal::note;
use crate::command::screen::{self, local, visible};
use anyhow::{Context, Result};
use jiff::{SignedDuration, Timestamp};
use ralph_core::modes::build;
use ralph_core::state::{EndingKind, LoopState, PauseCause, Phase};
use ralph_core::stop;
use ralph_core::tasks::graph;
use ralph_core::text::plural::{self, counted, lasted};
use ralph_core::views::messages;
use ralph_core::views::notice::NoticeEvent;
use ralph_io::process::interrupts::{InterruptRequest, Interrupts};
use ralph_io::process::process_pool::{Crew, MemberEvent};
use ralph_io::process::watch::Watch;
use ralph_io::store::loop_file::{Loaded, LoopFile};
use ralph_io::{process::clock, process::programs, store::lifecycle, store::lock, store::notice};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// The longest time between two reads of the files, in case the system cannot report changes.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// Longer than a client may take to end once it was told to.
pub(crate) const TO_END: Duration = Duration::from_secs(20);

/// Why a run starts no more clients.
pub(crate) enum RunEnd<V> {
    Over,
    /// The user paused the loop.
    Paused,
    /// A bound of the loop is reached.
    Bound,
    Decided(V),
    /// Something other than the work failed: the disk, git, a program.
    Failed(anyhow::Error),
    Rest {
        cause: PauseCause,
        why: String,
        /// The exit code of the command.
        exit: Exit,
    },
}

impl<V> RunEnd<V> {
    pub(crate) fn rest(cause: PauseCause, why: &str, exit: Exit) -> RunEnd<V> {
        RunEnd::Rest { cause, why: why.to_owned(), exit }
    }

    /// The reason for a pause; empty for another end.
    pub(crate) fn why(&self) -> &str {
        match self {
            RunEnd::Rest { why, .. } => why,
            _ => "",
        }
    }
}

/// The result of a client that is gone.
pub(crate) struct MemberExit {
    pub(crate) came: RoundResult,
    /// Why the round could not be carried out, and the exit code for that.
    pub(crate) failed: Option<(String, Exit)>,
}

impl MemberExit {
    /// The result, or an error if the round could not be carried out, which ends the run.
    pub(crate) fn result(self) -> Result<RoundResult> {
        match self.failed {
            Some((why, exit)) => Err(refused(exit, why)),
            None => Ok(self.came),
        }
    }
}

/// What follows a step of an owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// Ask again at once.
    Again,
    /// Wait until something happens.
    Wait,
}

/// Decides what a run does.
pub(crate) trait Owner<'a> {
    /// What the owner ends the run with.
    type Verdict;

    fn runner(&mut self) -> &mut ClientRunner<'a, Self::Verdict>;

    /// Starts what is due. Not called once the run is told to stop, nor while the only client of a
    /// run is working. Only a run of several clients gets its loop's state.
    fn go_on(&mut self, state: Option<&LoopState>) -> Result<Then>;

    /// When the next step is due if nothing happens.
    fn next_moment(&mut self) -> Option<Timestamp> {
        None
    }

    /// Takes the result of a client that is gone. No process that it started is alive.
    fn gone(&mut self, name: &str, gone: MemberExit) -> Result<()>;

    /// Finishes when the last client is gone and the loop has not ended.
    fn conclude(&mut self, _state: &LoopState) -> Result<()> {
        Ok(())
    }
}

/// The owner of a run that works on a loop, and how it leaves the loop.
pub(crate) trait LoopOwner<'a>: Owner<'a> + Sized {
    /// The exit code if the user paused the loop.
    const PAUSED: Exit = Exit::No;

    fn file(&self) -> &'a LoopFile;

    fn decided(&mut self, verdict: Self::Verdict) -> Result<Exit>;

    fn failed(&mut self, error: anyhow::Error) -> Result<Exit> {
        Err(error)
    }

    /// Pauses the loop in its state.
    fn pause(&self, state: &mut LoopState, cause: PauseCause, why: &str) {
        build::rest(state, cause, why, clock::now());
    }

    /// The last line of a run that pauses.
    fn paused_line(&mut self, state: &LoopState, why: &str) -> String {
        let next = goes_on(self.runner().words.command, why);
        format!("loop {} is paused at {}: {why}{next}", state.loop_id, state.position())
    }

    /// Prints how the loop has ended, wherever its file is now.
    fn over(&mut self) -> Result<Exit> {
        over(self.runner().here, self.file())
    }

    /// Prints a line of the answer.
    fn say(&mut self, text: &str) -> Result<()> {
        screen::say(&screen::visible_lines(text))
    }
}

/// The command that continues a run, unless the reason of its pause names another.
pub(crate) fn goes_on(command: &str, why: &str) -> String {
    match why.contains("; type `") {
        true => String::new(),
        false => format!("; `ralph {command}` continues"),
    }
}

/// Runs an owner until it, the loop or the user ends the run; then pauses the loop, or prints how
/// it has ended.
pub(crate) fn run<'a, O: LoopOwner<'a>>(mut owner: O) -> Result<Exit> {
    let file = owner.file();
    notice::driven_by(owner.runner().words.command);
    let ended = work(&mut owner)?;
    // Otherwise the lines stay on the terminal, among what the end prints.
    owner.runner().screen.clear();
    let used = owner.runner().used();
    let exit = finish(&mut owner, ended)?;
    let found = lifecycle::read(&owner.runner().here.home, file.clone()).ok().flatten();
    if let Some((file, Loaded { state, .. })) = &found
        && state.ending.is_some()
    {
        // A hook in a client of this run cannot call the user: its child would end with the client.
        notice::call_at_end_of_run(file, state);
    }
    if let (Some(used), Some((_, Loaded { state, .. }))) = (used, found) {
        let tasks = graph::summary(&state.task_graph, clock::now());
        let tasks = match tasks.total {
            0 => String::new(),
            total => format!("{} of {} done; ", tasks.done, counted(total, "task", "tasks")),
        };
        owner.say(&format!("{tasks}{used}"))?;
    }
    Ok(exit)
}

fn finish<'a, O: LoopOwner<'a>>(owner: &mut O, ended: RunEnd<O::Verdict>) -> Result<Exit> {
    let file = owner.file();
    match ended {
        RunEnd::Failed(error) => owner.failed(error),
        RunEnd::Over => owner.over(),
        RunEnd::Bound => {
            let now = clock::now();
            file.update(|state| stop::may_go_on(state, now)).map_err(bad_state)?;
            owner.over()
        }
        RunEnd::Paused => {
            let state = file.read().map_err(bad_state)?.context("the loop is gone")?.state;
            let line = owner.paused_line(&state, "you paused it");
            owner.say(&line)?;
            Ok(O::PAUSED)
        }
        RunEnd::Rest { cause, why, exit } => rest(owner, cause, &why, exit),
        RunEnd::Decided(verdict) => owner.decided(verdict),
    }
}

/// Pauses the loop, unless it has ended meanwhile.
pub(crate) fn rest<'a, O: LoopOwner<'a>>(
    owner: &mut O,
    cause: PauseCause,
    why: &str,
    exit: Exit,
) -> Result<Exit> {
    let file = owner.file();
    let rested = file.update(|state| {
        if state.ending.is_none() {
            owner.pause(state, cause, why);
        }
        state.clone()
    });
    let Some(state) = rested.map_err(bad_state)?.filter(|state| state.ending.is_none()) else {
        return owner.over();
    };
    let runner = owner.runner();
    note(runner.here, file, &state, (runner.words.command, "paused"), why);
    if !runner.was_asked() {
        notice::call_at_end_of_run(file, &state);
    }
    let line = owner.paused_line(&state, why);
    owner.say(&line)?;
    Ok(exit)
}

/// Archives a loop that has ended, and prints how it ended.
pub(crate) fn over(here: &Here, file: &LoopFile) -> Result<Exit> {
    let state = ended(here, file)?;
    screen::say(&screen::visible_lines(&messages::ended(&state)))?;
    let kind = state.ending.map(|ending| ending.kind);
    let is_good = kind.is_some_and(|kind| kind.is_completion() || kind == EndingKind::Approved);
    Ok(if is_good { Exit::Done } else { Exit::No })
}

/// The state of a loop, wherever its file is now.
pub(crate) fn last_state(here: &Here, file: &LoopFile) -> Result<LoopState> {
    let found = lifecycle::read(&here.home, file.clone()).map_err(bad_state)?;
    Ok(found.context("the loop is gone")?.1.state)
}

/// Archives a loop that has ended, and returns its last state.
pub(crate) fn ended(here: &Here, file: &LoopFile) -> Result<LoopState> {
    let found = lifecycle::read(&here.home, file.clone()).map_err(bad_state)?;
    let (file, Loaded { state, .. }) = found.context("the loop is gone")?;
    put_away(here, &file, &state)?;
    Ok(state)
}

/// Archives the loop if it has ended.
pub(crate) fn put_away(here: &Here, file: &LoopFile, state: &LoopState) -> Result<()> {
    if state.ending.is_some() && !lifecycle::is_put_away(&here.home, file) {
        lifecycle::let_go(&here.home, file, state)?;
    }
    Ok(())
}

/// The words for a run in its messages.
pub(crate) struct Words {
    pub(crate) command: &'static str,
    /// The word for its clients.
    pub(crate) members: &'static str,
    /// The exit code after Ctrl-C.
    pub(crate) interrupted: Exit,
    /// The exit code if the client fails for good.
    pub(crate) failed: Exit,
    /// The journal's word for the end of a client.
    pub(crate) ended: &'static str,
}

/// The running clients, and what is known of the loop and the user.
pub(crate) struct ClientRunner<'a, V> {
    pub(crate) here: &'a Here,
    file: Option<&'a LoopFile>,
    pub(crate) interrupts: &'a Interrupts,
    words: Words,
    watch: Watch,
    crew: Crew,
    pub(crate) screen: Screen,
    /// True if several clients run at once. They end with their loop, and none starts once the loop
    /// is paused. With one client at a time, the owner checks that between two rounds.
    is_many: bool,
    /// The last message of each client.
    told: BTreeMap<String, RoundMessage>,
    asked: InterruptRequest,
    over: Option<RunEnd<V>>,
    /// True if something may be due that was not before.
    has_news: bool,
    /// How many clients in a row have crashed.
    crashes: u32,
    /// The rounds that began. A conversation that is continued is the same round.
    n_rounds: usize,
    /// The tokens of all clients that have ended.
    tokens: u64,
    /// Their cost in US dollars, as they reported it.
    cost: f64,
    began: Instant,
}

/// Runs until the owner, the loop or the user ends the run, and all clients are gone.
///
/// # Errors
/// When the owner fails, or the loop cannot be read. No process that the run started is alive then.
pub(crate) fn work<'a, O: Owner<'a>>(owner: &mut O) -> Result<RunEnd<O::Verdict>> {
    loop {
        match step(owner) {
            Ok(None) => {}
            Ok(Some(ended)) => return Ok(ended),
            Err(error) => {
                abandon(owner);
                return Err(error);
            }
        }
    }
}

/// Takes one step. Returns the end once nothing remains to do.
fn step<'a, O: Owner<'a>>(owner: &mut O) -> Result<Option<RunEnd<O::Verdict>>> {
    let runner = owner.runner();
    runner.hear_user();
    let state = runner.look()?;
    let may_begin = runner.over.is_none() && (runner.is_many || runner.crew.is_empty());
    if may_begin && owner.go_on(state.as_ref())? == Then::Again {
        return Ok(None);
    }
    if owner.runner().over.is_none() || !owner.runner().crew.is_empty() {
        let until = owner.next_moment();
        return wait(owner, until).map(|()| None);
    }
    if let Some(state) = &state {
        owner.conclude(state)?;
    }
    Ok(owner.runner().over.take())
}

/// Waits until `until` or until something happens, and handles it.
fn wait<'a, O: Owner<'a>>(owner: &mut O, until: Option<Timestamp>) -> Result<()> {
    let longest = until.map_or(LOOK_AGAIN, |moment| time_to(moment).min(LOOK_AGAIN));
    let heard = owner.runner().listen(longest)?;
    heard.into_iter().try_for_each(|(name, heard)| hear(owner, &name, heard))
}

fn hear<'a, O: Owner<'a>>(owner: &mut O, name: &str, heard: MemberEvent) -> Result<()> {
    match heard {
        MemberEvent::Line(line) => {
            owner.runner().take_down(name, &line);
            Ok(())
        }
        MemberEvent::Gone(how) => {
            let gone = owner.runner().came(name, &how);
            owner.gone(name, gone)
        }
    }
}

/// Ends all clients after an error.
fn abandon<'a, O: Owner<'a>>(owner: &mut O) {
    owner.runner().end_all();
    while !owner.runner().crew.is_empty() {
        let Ok(heard) = owner.runner().listen(LOOK_AGAIN) else { return };
        for (name, heard) in heard {
            // The first error is the one to report.
            let _ = hear(owner, &name, heard);
        }
    }
}

impl<'a, V> ClientRunner<'a, V> {
    /// A run of several clients at once. A change in `places` triggers a new step.
    pub(crate) fn many(
        (here, file): (&'a Here, &'a LoopFile),
        interrupts: &'a Interrupts,
        words: Words,
        places: &[&Path],
    ) -> Result<Self> {
        let runner = Self::begin(here, interrupts, words, (Screen::many(), places))?;
        Ok(ClientRunner { file: Some(file), is_many: true, ..runner })
    }

    /// A run of one client after another, with or without a loop.
    pub(crate) fn one(
        (here, file): (&'a Here, Option<&'a LoopFile>),
        interrupts: &'a Interrupts,
        command: &'static str,
    ) -> Result<Self> {
        let is_build = matches!(command, "run" | "build");
        let (interrupted, failed) = match is_build {
            true => (Exit::Interrupted, Exit::No),
            false => (Exit::MissingProgram, Exit::MissingProgram),
        };
        let ended = super::build::ENDED;
        let words = Words { command, members: "", ended, interrupted, failed };
        let folder: Vec<&Path> = file.map(LoopFile::folder).into_iter().collect();
        let runner = Self::begin(here, interrupts, words, (Screen::one(), &folder))?;
        Ok(ClientRunner { file, ..runner })
    }

    /// Several clients at once that work on no loop.
    pub(crate) fn apart(
        here: &'a Here,
        interrupts: &'a Interrupts,
        words: Words,
        screen: Screen,
    ) -> Result<Self> {
        let runner = Self::begin(here, interrupts, words, (screen, &[]))?;
        Ok(ClientRunner { is_many: true, ..runner })
    }

    fn begin(
        here: &'a Here,
        interrupts: &'a Interrupts,
        words: Words,
        (screen, places): (Screen, &[&Path]),
    ) -> Result<Self> {
        Ok(ClientRunner {
            here,
            file: None,
            interrupts,
            words,
            // Start the watch before any file is read, so that no change falls between the two.
            watch: Watch::begin(places)?,
            crew: Crew::new()?,
            screen,
            is_many: false,
            told: BTreeMap::new(),
            asked: InterruptRequest::Nothing,
            over: None,
            has_news: true,
            crashes: 0,
            n_rounds: 0,
            tokens: 0,
            cost: 0.0,
            began: Instant::now(),
        })
    }

    /// Starts a round, displayed under this label and with `about` behind it.
    pub(crate) fn start(
        &mut self,
        name: &str,
        (label, about): (&str, &str),
        order: &RoundOrder,
    ) -> Result<()> {
        self.n_rounds += usize::from(!order.is_continued());
        let order = order.in_loop(self.file);
        let order = serde_json::to_vec(&order).context("could not write the order of a round")?;
        self.crew.start(name, &programs::running()?, &[worker::COMMAND], &order)?;
        self.screen.add(name, label, about);
        // Another may be due beside it.
        self.has_news = true;
        Ok(())
    }

    /// Starts no more clients. The first reason counts.
    pub(crate) fn stop(&mut self, why: RunEnd<V>) {
        self.over.get_or_insert(why);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.over.is_some()
    }

    /// True once for everything that has happened since the last call.
    pub(crate) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.has_news)
    }

    pub(crate) fn len(&self) -> usize {
        self.crew.len()
    }

    /// True if the user, or the end of the loop, has told the run to stop.
    pub(crate) fn was_asked(&self) -> bool {
        self.asked != InterruptRequest::Nothing
    }

    /// Ends one client at once.
    pub(crate) fn end(&mut self, name: &str) {
        self.crew.ask_one(name, InterruptRequest::End);
    }

    pub(crate) fn end_all(&mut self) {
        self.asked = InterruptRequest::End;
        self.crew.ask(InterruptRequest::End);
    }

    /// The loop as it is now. `None` once it is over, and in a run of one client at a time.
    pub(crate) fn look(&mut self) -> Result<Option<LoopState>> {
        let Some(file) = self.file else { return Ok(None) };
        if !self.is_many {
            self.end_if_cancelled(file);
            return Ok(None);
        }
        let state = file.read().map_err(bad_state)?.map(|loaded| loaded.state);
        let Some(state) = state.filter(|state| state.ending.is_none()) else {
            if self.asked < InterruptRequest::End && !self.crew.is_empty() && !self.may_finish(file)
            {
                self.end_all();
                let members = self.words.members;
                self.screen.tell(&format!("the loop has ended: ending all {members}"));
            }
            self.over = Some(RunEnd::Over);
            return Ok(None);
        };
        if state.phase == Phase::Paused {
            self.stop(RunEnd::Paused);
        }
        Ok(Some(state))
    }

    /// Ends the only client if the user has cancelled the loop: what it does from now on is not
    /// wanted. An ending of its own needs its last words.
    fn end_if_cancelled(&mut self, file: &LoopFile) {
        let is_idle = self.crew.is_empty() || self.asked == InterruptRequest::End;
        if is_idle || !self.take_news() {
            return;
        }
        let Ok(Some((_, Loaded { state, .. }))) = lifecycle::read(&self.here.home, file.clone())
        else {
            return;
        };
        let is_cancelled = state.ending.is_some_and(|one| one.kind == EndingKind::Cancelled);
        if is_cancelled && !state.let_finish {
            self.screen.tell("the loop was cancelled: ending its client");
            self.end_all();
        }
    }

    /// True if the loop was ended so that running clients may finish.
    fn may_finish(&self, file: &LoopFile) -> bool {
        let found = lifecycle::read(&self.here.home, file.clone()).ok().flatten();
        found.is_some_and(|(_, loaded)| loaded.state.let_finish)
    }

    fn hear_user(&mut self) {
        let asked = self.interrupts.asked();
        if asked <= self.asked {
            return;
        }
        self.asked = asked;
        self.crew.ask(asked);
        let exit = self.words.interrupted;
        self.stop(RunEnd::rest(PauseCause::Person, "ended by Ctrl-C", exit));
        match (self.is_many, asked) {
            (true, InterruptRequest::End) => {
                self.screen.tell(&format!("ending all {}", self.words.members));
            }
            (true, _) => self.screen.tell(
                "those at work will be finished, and no other begun; Ctrl-C again ends them at once",
            ),
            (false, _) => self.screen.answer_user(asked),
        }
    }

    fn listen(&mut self, longest: Duration) -> Result<Vec<(String, MemberEvent)>> {
        let until = Instant::now() + longest;
        let (heard, has_changed) = self.crew.wait(self.interrupts, &self.watch, until)?;
        self.has_news |= has_changed || Instant::now() >= until;
        Ok(heard)
    }

    fn take_down(&mut self, name: &str, line: &[u8]) {
        match serde_json::from_slice(line) {
            Ok(RoundMessage::Now { what, tokens }) => self.screen.now(name, &what, tokens),
            Ok(RoundMessage::Say(words)) => self.screen.say(name, &words),
            Ok(RoundMessage::Limit(until)) => self.call_for_limit(until),
            Ok(last) => drop(self.told.insert(name.to_owned(), last)),
            // The process was killed while it wrote this line.
            Err(_) => {}
        }
    }

    /// Calls the user because a round waits for the usage limit.
    fn call_for_limit(&self, until: Timestamp) {
        let Some(file) = self.file else { return };
        if let Ok(Some(Loaded { state, .. })) = file.read() {
            notice::call(file, &state, &NoticeEvent::Limit { until: local(until) });
        }
    }

    fn came(&mut self, name: &str, how: &str) -> MemberExit {
        self.has_news = true;
        match self.told.remove(name) {
            Some(RoundMessage::Came(came)) => {
                self.tokens = self.tokens.saturating_add(came.tokens.total());
                self.spend(came.cost);
                MemberExit { came: *came, failed: None }
            }
            Some(RoundMessage::Failed { why, is_missing }) => {
                let exit = if is_missing { Exit::MissingProgram } else { Exit::No };
                MemberExit { came: RoundResult::crashed(why.clone()), failed: Some((why, exit)) }
            }
            _ => {
                let why = format!("its process ended without a word ({how})");
                MemberExit { came: RoundResult::crashed(why), failed: None }
            }
        }
    }

    /// Adds the cost of a client to the loop, which may have ended with it. A cost that cannot be
    /// written stops no run.
    fn spend(&mut self, cost: f64) {
        self.cost += cost;
        let Some(file) = self.file.filter(|_| cost > 0.0) else { return };
        let add = |state: &mut LoopState| state.usage.cost += cost;
        if !matches!(file.update(add), Ok(None)) {
            return;
        }
        if let Ok(Some((archived, _))) = lifecycle::read(&self.here.home, file.clone()) {
            let _ = archived.update(add);
        }
    }

    /// Pauses the run if a client's result means that no other may start.
    pub(crate) fn learn(&mut self, came: &RoundResult) {
        let has_crashed = matches!(came.outcome, RoundOutcome::Crashed { .. });
        self.crashes = if has_crashed { self.crashes + 1 } else { 0 };
        if let Some((cause, why)) = options::rests(came, self.crashes) {
            let is_end = came.outcome == RoundOutcome::Ended;
            let exit = if is_end { self.words.interrupted } else { self.words.failed };
            self.stop(RunEnd::rest(cause, &why, exit));
        }
    }

    /// The command that started the run.
    pub(crate) fn command(&self) -> &'static str {
        self.words.command
    }

    /// The tokens of all clients that have ended.
    pub(crate) fn tokens(&self) -> u64 {
        self.tokens
    }

    /// `3 rounds, 12 min, 48 k tokens, $0.31`; `None` if no client was started.
    pub(crate) fn used(&self) -> Option<String> {
        let rounds = counted(self.n_rounds, "round", "rounds");
        let seconds = i64::try_from(self.began.elapsed().as_secs()).unwrap_or(i64::MAX);
        let (time, tokens) = (lasted(seconds), plural::tokens(self.tokens));
        let cost = plural::dollars(self.cost);
        (self.n_rounds > 0).then(|| format!("{rounds}, {time}, {tokens}{cost}"))
    }

    /// Stops the run after a round that could do nothing because its calls were denied: the next
    /// one could do no more.
    pub(crate) fn stop_idle(&mut self, client: &ClientOptions, kind: &str, came: &RoundResult) {
        if let Some(why) = client.why_idle(self.here, kind, &came.denials) {
            // A loop that has ended prints its end instead of the reason.
            if self.file.is_some_and(|file| !matches!(file.read(), Ok(Some(_)))) {
                self.screen.tell(&visible(&why));
            }
            self.stop(RunEnd::rest(PauseCause::BlockedOnHuman, &why, Exit::No));
        }
    }

    /// Shows what was noticed about a client that is gone, and removes its line.
    pub(crate) fn remove(&self, name: &str, came: &RoundResult) {
        for denial in &came.denials {
            self.screen.say(name, &format!("not permitted: {} {}", denial.tool, denial.about));
        }
        for prevented in &came.prevented {
            self.screen.say(name, &format!("sandbox: {prevented}"));
        }
        if !came.leftovers.is_empty() {
            let names = came.leftovers.join(", ");
            self.screen.say(name, &format!("ended what was left running: {names}"));
        }
        if let Some(problem) = &came.log_problem {
            self.screen.say(name, problem);
        }
        self.screen.remove(name);
    }

    /// Like [`ClientRunner::remove`], and also shows what happened to its work. The journal gets
    /// that too, with the denied calls.
    pub(crate) fn show_end(&self, name: &str, became: &str, noted: &str, came: &RoundResult) {
        self.remove(name, came);
        self.screen.tell(&visible(became));
        // The loop may have ended with this client, and been archived.
        let found = self.file.map(|file| lifecycle::read(&self.here.home, file.clone()));
        let Some(Ok(Some((file, loaded)))) = found else { return };
        let why = options::with_denials(noted, came);
        let Words { command, ended, .. } = self.words;
        note(self.here, &file, &loaded.state, (command, ended), &why);
    }
}

fn time_to(moment: Timestamp) -> Duration {
    // A little later, since the owner compares with the moment itself.
    let left = moment.duration_since(clock::now()) + SignedDuration::from_millis(5);
    Duration::try_from(left).unwrap_or_default()
}

/// Runs one round to its end. After the first Ctrl-C it continues; a round that only waits ends at
/// once.
pub(crate) fn round(
    here: &Here,
    round: &ClientRound,
    alone: &Path,
    interrupts: &Interrupts,
    policy: &Policy,
) -> Result<RoundResult> {
    let mut single =
        Single { runner: ClientRunner::one((here, None), interrupts, "")?, came: None };
    let order = RoundOrder::new(round.clone(), policy, alone);
    single.runner.start("", (&round.label, ""), &order)?;
    work(&mut single)?;
    single.came.context("the round ended without a result")
}

struct Single<'a> {
    runner: ClientRunner<'a, ()>,
    came: Option<RoundResult>,
}

impl<'a> Owner<'a> for Single<'a> {
    type Verdict = ();

    fn runner(&mut self) -> &mut ClientRunner<'a, ()> {
        &mut self.runner
    }

    fn go_on(&mut self, _: Option<&LoopState>) -> Result<Then> {
        self.runner.stop(RunEnd::Decided(()));
        Ok(Then::Again)
    }

    fn gone(&mut self, name: &str, gone: MemberExit) -> Result<()> {
        let came = gone.result()?;
        self.runner.remove(name, &came);
        self.came = Some(came);
        Ok(())
    }
}

/// Waits until every process of a round that an earlier run started with this lock has ended.
pub(crate) fn wait_for_earlier(alone: &Path) -> Result<()> {
    // Without the file there was no round.
    if !alone.with_extension("lock").exists() {
        return Ok(());
    }
    lock::take(alone, TO_END)
        .map(drop)
        .context("a client of an earlier run is alive")
        .map_err(|error| refused(Exit::No, format!("{error:#}")))
}
