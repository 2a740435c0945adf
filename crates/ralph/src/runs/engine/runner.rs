//! The clients of a run: starts them, hears them and the user, ends them, and tells what they leave.

use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state};
use crate::command::screen::{Colour, local, visible};
use crate::runs::client::{ClientRound, RoundOutcome, RoundResult};
use crate::runs::engine::{MemberExit, RunEnd};
use crate::runs::options::{self, ClientOptions};
use crate::runs::screen::Screen;
use crate::runs::worker::{self, RoundMessage, RoundOrder};
use anyhow::{Context, Result};
use jiff::Timestamp;
use ralph_core::evidence::receipt;
use ralph_core::modes::build as rules;
use ralph_core::state::{EndingKind, LoopState, PauseCause, Phase, Tokens};
use ralph_core::text::plural::{self, counted, lasted};
use ralph_core::views::notice::NoticeEvent;
use ralph_io::process::process_pool::{Crew, MemberEvent};
use ralph_io::process::programs;
use ralph_io::process::wait_any::{InterruptRequest, Interrupts};
use ralph_io::process::watch::Watch;
use ralph_io::store::journal::JournalEntry;
use ralph_io::store::loop_file::{Loaded, LoopFile};
use ralph_io::store::{lifecycle, notice};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// The words for a run in its messages.
pub(crate) struct Words {
    pub(crate) command: &'static str,
    /// The word for its clients.
    pub(crate) members: &'static str,
    /// The exit code if the client fails for good.
    pub(crate) failed: Exit,
    /// The journal's word for the end of a client.
    pub(crate) ended: &'static str,
}

/// The running clients, and what is known of the loop and the user.
pub(crate) struct ClientRunner<'a, V> {
    pub(crate) here: &'a Here,
    pub(super) file: Option<&'a LoopFile>,
    pub(crate) interrupts: &'a Interrupts,
    pub(crate) words: Words,
    watch: Watch,
    pub(super) crew: Crew,
    pub(crate) screen: Screen,
    /// True if several clients run at once. They end with their loop, and none starts once the loop
    /// is paused. With one client at a time, the owner checks that between two rounds.
    pub(super) is_many: bool,
    /// The last message of each client.
    pub(super) told: BTreeMap<String, RoundMessage>,
    asked: InterruptRequest,
    pub(super) over: Option<RunEnd<V>>,
    /// True if something may be due that was not before.
    pub(super) has_news: bool,
    /// How many clients in a row have crashed.
    pub(super) crashes: u32,
    /// The rounds that began. A conversation that is continued is the same round.
    pub(super) n_rounds: usize,
    /// The tokens of all clients that have ended.
    pub(super) tokens: u64,
    /// What the loop had used when its only client started.
    pub(super) before: Option<Tokens>,
    /// Their cost in US dollars, as they reported it.
    pub(super) cost: f64,
    pub(super) began: Instant,
}

impl<'a, V> ClientRunner<'a, V> {
    /// A run of several clients at once. A change in `places` triggers a new step.
    pub(crate) fn many(
        here: &'a Here,
        file: &'a LoopFile,
        interrupts: &'a Interrupts,
        words: Words,
        places: &[&Path],
    ) -> Result<Self> {
        let runner = Self::begin(here, interrupts, words, Screen::many(), places)?;
        Ok(ClientRunner { file: Some(file), is_many: true, ..runner })
    }

    /// A run of one client after another, with or without a loop.
    pub(crate) fn one(
        here: &'a Here,
        file: Option<&'a LoopFile>,
        interrupts: &'a Interrupts,
        command: &'static str,
    ) -> Result<Self> {
        let is_build = matches!(command, "run" | "build");
        let failed = if is_build { Exit::No } else { Exit::MissingProgram };
        let ended = rules::ENDED;
        let words = Words { command, members: "", ended, failed };
        let folder: Vec<&Path> = file.map(LoopFile::folder).into_iter().collect();
        let runner = Self::begin(here, interrupts, words, Screen::one(), &folder)?;
        Ok(ClientRunner { file, ..runner })
    }

    /// Several clients at once that work on no loop. A change in `places` triggers a new step.
    pub(crate) fn apart(
        here: &'a Here,
        interrupts: &'a Interrupts,
        words: Words,
        screen: Screen,
        places: &[&Path],
    ) -> Result<Self> {
        let runner = Self::begin(here, interrupts, words, screen, places)?;
        Ok(ClientRunner { is_many: true, ..runner })
    }

    fn begin(
        here: &'a Here,
        interrupts: &'a Interrupts,
        words: Words,
        screen: Screen,
        places: &[&Path],
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
            before: None,
            cost: 0.0,
            began: Instant::now(),
        })
    }

    /// Starts a round, displayed under its label and with `about` behind it. `alone` is the lock that is
    /// held while any process of the round is alive.
    pub(crate) fn start(
        &mut self,
        name: &str,
        about: &str,
        round: ClientRound,
        alone: &Path,
    ) -> Result<()> {
        let is_continued = round.resume.is_some();
        self.n_rounds += usize::from(!is_continued);
        if let Some(file) = self.file
            && let Some(loaded) = file.read().map_err(bad_state)?
        {
            options::note_owner(&round.log, &options::owner_of(&loaded.state))?;
            if !self.is_many && !is_continued {
                self.before = Some(loaded.state.usage.tokens);
            }
        }
        let label = round.label.clone();
        let state = self.file.map(|file| file.path().to_owned());
        let order = RoundOrder { round, alone: alone.to_owned(), state };
        let order = serde_json::to_vec(&order).context("could not write the order of a round")?;
        self.crew.start(name, &programs::running()?, &[worker::COMMAND], &order)?;
        self.screen.add(name, &label, about);
        // Another may be due beside it.
        self.has_news = true;
        Ok(())
    }

    /// Starts a member that runs no client but this internal command of Ralph.
    pub(crate) fn start_helper(
        &mut self,
        name: &str,
        command: &str,
        order: &impl Serialize,
    ) -> Result<()> {
        let order = serde_json::to_vec(order).context("could not write the order of a helper")?;
        self.crew.start(name, &programs::running()?, &[command], &order)
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
    pub(crate) fn poll_state(&mut self) -> Result<Option<LoopState>> {
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

    pub(super) fn hear_user(&mut self) {
        let asked = self.interrupts.asked();
        if asked <= self.asked {
            return;
        }
        self.asked = asked;
        self.crew.ask(asked);
        let end = RunEnd::pause(PauseCause::Person, "ended by Ctrl-C", Exit::Interrupted);
        self.stop(end);
        match (self.is_many, asked) {
            (true, InterruptRequest::End) => {
                self.screen.tell(&format!("ending all {}", self.words.members));
            }
            (true, _) => self.screen.tell(
                "those at work will be finished, and no other begun; Ctrl-C again ends them at once",
            ),
            // The round says what it does.
            (false, _) => {}
        }
    }

    pub(super) fn listen(&mut self, longest: Duration) -> Result<Vec<(String, MemberEvent)>> {
        let until = Instant::now() + longest;
        let (heard, has_changed) = self.crew.wait(self.interrupts, &self.watch, until)?;
        self.has_news |= has_changed || Instant::now() >= until;
        Ok(heard)
    }

    /// Takes a message of a round. Returns until when the round waits for the usage limit, if it says so.
    pub(super) fn take_down(&mut self, name: &str, line: &[u8]) -> Option<Timestamp> {
        match serde_json::from_slice(line) {
            Ok(RoundMessage::Now { what, tokens }) => self.screen.now(name, &what, tokens),
            Ok(RoundMessage::Say(words)) => self.screen.say(name, &words),
            Ok(RoundMessage::Asked(words)) if !self.is_many => self.screen.say(name, &words),
            Ok(RoundMessage::Asked(_)) => {}
            Ok(RoundMessage::Limit(until)) => return Some(until),
            Ok(last) => drop(self.told.insert(name.to_owned(), last)),
            // The process was killed while it wrote this line.
            Err(_) => {}
        }
        None
    }

    /// Calls the user because a round of the loop waits for the usage limit.
    pub(super) fn call_for_limit(&self, until: Timestamp) {
        let Some(file) = self.file else { return };
        if let Ok(Some(Loaded { state, .. })) = file.read() {
            notice::call(file, &state, &NoticeEvent::Limit { until: local(until) });
        }
    }
}

// What the clients of a run leave: their results, their cost, and what is told of them.

impl<V> ClientRunner<'_, V> {
    pub(super) fn take_exit(&mut self, name: &str, how: &str) -> MemberExit {
        self.has_news = true;
        match self.told.remove(name) {
            Some(RoundMessage::Came(came)) => {
                self.tokens = self.tokens.saturating_add(came.tokens.total());
                self.add_cost(&came);
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

    /// Adds the cost of a client to the loop, which may have ended with it, and of a run's only client
    /// its tokens: the hooks do not see the last message, which the client writes after the stop. What
    /// cannot be written stops no run.
    fn add_cost(&mut self, came: &RoundResult) {
        self.cost += came.cost;
        let has_used = came.cost > 0.0 || came.tokens.total() > 0;
        let Some(file) = self.file.filter(|_| has_used) else { return };
        let used = self.before.map(|before| before.plus(came.tokens)).unwrap_or_default();
        let add = |state: &mut LoopState| {
            state.usage.cost += came.cost;
            if used.total() > state.usage.total() {
                state.usage.tokens = used;
            }
        };
        if !matches!(file.update(add), Ok(None)) {
            return;
        }
        if let Ok(Some((archived, _))) = lifecycle::read(&self.here.home, file.clone()) {
            let _ = archived.update(add);
        }
    }

    /// Pauses the run if a client's result means that no other may start.
    pub(crate) fn stop_on_failure(&mut self, came: &RoundResult) {
        let has_crashed =
            matches!(came.outcome, RoundOutcome::Crashed { .. } | RoundOutcome::Unanswered { .. });
        self.crashes = if has_crashed { self.crashes + 1 } else { 0 };
        if let Some((cause, why)) = options::pause_cause(came, self.crashes) {
            let is_end = came.outcome == RoundOutcome::Ended;
            let exit = if is_end { Exit::Interrupted } else { self.words.failed };
            self.stop(RunEnd::pause(cause, &why, exit));
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
            self.stop(RunEnd::pause(PauseCause::BlockedOnHuman, &why, Exit::No));
        }
    }

    /// Shows what was noticed about a client that is gone, and removes its line.
    pub(crate) fn remove(&self, name: &str, came: &RoundResult) {
        for notice in came.notices() {
            self.screen.say(name, &notice);
        }
        if let Some(problem) = &came.log_problem {
            self.screen.say(name, problem);
        }
        self.screen.remove(name);
    }

    /// Like [`ClientRunner::remove`], and also shows what happened to its work. The journal gets
    /// all of that too.
    pub(crate) fn show_end(&self, name: &str, became: &str, noted: &str, came: &RoundResult) {
        self.show_end_in(None, name, became, noted, came);
    }

    /// Like [`ClientRunner::show_end`], in a colour. A client that failed is shown in red.
    pub(crate) fn show_end_in(
        &self,
        colour: Option<Colour>,
        name: &str,
        became: &str,
        noted: &str,
        came: &RoundResult,
    ) {
        self.remove(name, came);
        let has_failed = !matches!(came.outcome, RoundOutcome::Finished { is_error: false, .. });
        match if has_failed { Some(Colour::Red) } else { colour } {
            Some(colour) => self.screen.tell_in(colour, became),
            None => self.screen.tell(&visible(became)),
        }
        // The loop may have ended with this client, and been archived.
        let found = self.file.map(|file| lifecycle::read(&self.here.home, file.clone()));
        let Some(Ok(Some((file, loaded)))) = found else { return };
        let why = options::with_notices(noted, came);
        let Words { command, ended, .. } = self.words;
        let criteria = loaded.state.acceptance_criteria.iter();
        let mut seen: Map<String, Value> = criteria
            .map(|one| (one.id.clone(), receipt::criterion_status(one, None).as_str().into()))
            .collect();
        seen.insert("tokens".to_owned(), came.tokens.total().into());
        let entry = self.here.entry(loaded.state.position(), command, ended, &why);
        let entry = JournalEntry { seen: seen.into(), ..entry };
        let _ = lifecycle::note(&self.here.home, &file, &entry);
    }
}
