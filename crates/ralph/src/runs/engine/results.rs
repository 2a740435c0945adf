//! What the clients of a run leave: their results, their cost, and what is told of them.

use super::{ClientRunner, MemberExit, RunEnd, Words};
use crate::command::exit::Exit;
use crate::command::screen::{Colour, visible};
use crate::runs::client::{RoundOutcome, RoundResult};
use crate::runs::options::{self, ClientOptions};
use crate::runs::worker::RoundMessage;
use ralph_core::evidence::receipt;
use ralph_core::state::{LoopState, PauseCause};
use ralph_core::text::plural::{self, counted, lasted};
use ralph_io::store::journal::JournalEntry;
use ralph_io::store::lifecycle;
use serde_json::{Map, Value};

impl<V> ClientRunner<'_, V> {
    pub(super) fn came(&mut self, name: &str, how: &str) -> MemberExit {
        self.has_news = true;
        match self.told.remove(name) {
            Some(RoundMessage::Came(came)) => {
                self.tokens = self.tokens.saturating_add(came.tokens.total());
                self.spend(&came);
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
    fn spend(&mut self, came: &RoundResult) {
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
    pub(crate) fn learn(&mut self, came: &RoundResult) {
        let has_crashed =
            matches!(came.outcome, RoundOutcome::Crashed { .. } | RoundOutcome::Unanswered { .. });
        self.crashes = if has_crashed { self.crashes + 1 } else { 0 };
        if let Some((cause, why)) = options::rests(came, self.crashes) {
            let is_end = came.outcome == RoundOutcome::Ended;
            let exit = if is_end { Exit::Interrupted } else { self.words.failed };
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
            .map(|one| (one.id.clone(), receipt::standing(one, None).as_str().into()))
            .collect();
        seen.insert("tokens".to_owned(), came.tokens.total().into());
        let entry = self.here.entry(loaded.state.position(), command, ended, &why);
        let entry = JournalEntry { seen: seen.into(), ..entry };
        let _ = lifecycle::note(&self.here.home, &file, &entry);
    }
}
