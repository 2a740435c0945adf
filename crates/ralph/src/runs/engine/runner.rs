//! The clients of a run: starts them, hears them and the user, and ends them.

use super::RunEnd;
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state};
use crate::command::screen::local;
use crate::runs::client::ClientRound;
use crate::runs::screen::Screen;
use crate::runs::worker::{self, RoundMessage, RoundOrder};
use anyhow::{Context, Result};
use jiff::Timestamp;
use ralph_core::modes::build as rules;
use ralph_core::state::{EndingKind, LoopState, PauseCause, Phase, Tokens};
use ralph_core::views::notice::NoticeEvent;
use ralph_io::process::process_pool::{Crew, MemberEvent};
use ralph_io::process::programs;
use ralph_io::process::wait_any::{InterruptRequest, Interrupts};
use ralph_io::process::watch::Watch;
use ralph_io::store::loop_file::{Loaded, LoopFile};
use ralph_io::store::{lifecycle, notice};
use serde::Serialize;
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
        if let Some(file) = self.file.filter(|_| !self.is_many && !is_continued) {
            let loaded = file.read().map_err(bad_state)?;
            self.before = loaded.map(|loaded| loaded.state.usage.tokens);
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

    pub(super) fn hear_user(&mut self) {
        let asked = self.interrupts.asked();
        if asked <= self.asked {
            return;
        }
        self.asked = asked;
        self.crew.ask(asked);
        let end = RunEnd::rest(PauseCause::Person, "ended by Ctrl-C", Exit::Interrupted);
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
