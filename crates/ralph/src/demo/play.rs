//! Watches the story: judges each answer, and looks up in Ralph's own files what it did.
//!
//! An answer counts only when the journal has the decision too: what was printed and what was
//! written down must agree.

use super::Shown;
use super::account::{Account, Tree};
use super::answer::Answer;
use super::stage::Stage;
use super::story::{Does, Needs, Step};
use anyhow::{Context, Result};
use ralph_core::state::{EndingKind, LoopState};
use ralph_io::journal::{self, Entry};
use ralph_io::store::LoopFile;
use ralph_io::{archive, lifecycle};
use std::path::PathBuf;

/// The play so far.
#[derive(Debug)]
pub(super) struct Play<'a> {
    stage: &'a Stage,
    account: Account,
    n_decisions: usize,
    /// What each stop found: the loop's own fingerprint, and the one that other loops take.
    stops: Vec<(String, String)>,
}

/// How the play ended.
#[derive(Debug)]
pub(super) enum Ending {
    /// At its last step; with what was counted.
    Played(String),
    /// At an answer that it cannot go on from.
    Broken,
}

impl<'a> Play<'a> {
    /// The play before its first step.
    pub(super) fn new(stage: &'a Stage, account: Account) -> Play<'a> {
        Play { stage, account, n_decisions: 0, stops: Vec::new() }
    }

    /// Takes in the answer to a step and tells it; false when the story cannot go on from it.
    pub(super) fn told(&mut self, step: Step, answer: &Answer) -> Result<bool> {
        let state = self.state()?;
        let decisions = self.new_decisions();
        let met = meets(step.needs, answer, &decisions, state.as_ref());
        let tree = match step.does {
            Does::Says(_) => self.tree(&decisions, state.as_ref())?,
            _ => None,
        };
        match met {
            true => self.account.tell(step, answer, state.as_ref(), tree),
            false => self.account.tell_broken(step, answer, state.as_ref()),
        }
        Ok(met)
    }

    /// The last lines.
    pub(super) fn close(mut self, ending: Ending) -> Result<Shown> {
        match ending {
            Ending::Broken => Ok(Shown::Otherwise),
            Ending::Played(counted) => {
                let folder = self.folder().context("the loop left no archive")?;
                let n_decisions = self.n_decisions + self.new_decisions().len();
                self.account.close(&counted, n_decisions, &folder);
                Ok(Shown::AsItShould)
            }
        }
    }

    /// The loop's folder: in the archive once it has ended.
    fn folder(&self) -> Option<PathBuf> {
        let home = self.stage.ralph_home();
        let live = lifecycle::all(&home).into_iter().next();
        live.map(|(file, _)| file.folder().to_owned()).or_else(|| archive::folders(&home).pop())
    }

    fn state(&self) -> Result<Option<LoopState>> {
        let Some(folder) = self.folder() else { return Ok(None) };
        Ok(LoopFile::at(folder.join("state.json")).read()?.map(|loaded| loaded.state))
    }

    /// What the journal has gained since the step before.
    fn new_decisions(&mut self) -> Vec<Entry> {
        let all = self.folder().map(|folder| journal::read(&folder)).unwrap_or_default();
        let new = all.get(self.n_decisions..).unwrap_or_default().to_vec();
        self.n_decisions = all.len();
        new
    }

    /// What a stop shows of the difference between change and `git diff --stat`.
    fn tree(&mut self, decisions: &[Entry], state: Option<&LoopState>) -> Result<Option<Tree>> {
        let records = decisions.iter().filter_map(|entry| entry.record.as_ref());
        let seen = records.filter_map(|record| record["seen"]["tree"].as_str()).next();
        let Some((seen, state)) = seen.zip(state) else { return Ok(None) };
        self.stops.push((seen.to_owned(), self.stage.diff_stat()?));
        let [.., (before, _), (now, _)] = self.stops.as_slice() else { return Ok(None) };
        let pairs = self.stops.windows(2).rev();
        let n_same_stat = pairs.take_while(|pair| pair[0].1 == pair[1].1).count();
        let (changed, stall_limit) = (before != now, state.stall_limit as usize);
        Ok(Some(Tree { changed, n_same_stat, stall_limit }))
    }
}

/// Whether this is the kind of answer that the story needs, said and written down.
fn meets(needs: Needs, answer: &Answer, decisions: &[Entry], state: Option<&LoopState>) -> bool {
    let decided = |what: &str| decisions.iter().any(|entry| entry.decision == what);
    match (needs, answer) {
        (Needs::Started, Answer::Context(_)) => decided("started"),
        (Needs::Allowed, Answer::Nothing) => !decided("denied") && !decided("go on"),
        (Needs::Denied, Answer::Denied(_)) => decided("denied"),
        (Needs::GoesOn, Answer::GoesOn(_)) => decided("go on"),
        (Needs::Completed, Answer::Nothing) => {
            decided("ended")
                && state.and_then(|state| state.ending.as_ref()).is_some_and(|ending| {
                    matches!(ending.kind, EndingKind::Complete | EndingKind::CompleteUnverified)
                })
        }
        _ => false,
    }
}
