//! Watches the story: judges each answer, and looks up in Ralph's own files what it did.
//!
//! An answer counts only when the journal has the decision too: what was printed and what was
//! written down must agree.

use super::DemoResult;
use super::answer::StepAnswer;
use super::narrator::Account;
use super::sandbox::Stage;
use super::story::{Needs, StoryStep};
use anyhow::{Context, Result};
use ralph_core::state::{EndingKind, LoopState};
use ralph_io::store::journal::{self, JournalEntry};
use ralph_io::store::loop_file::LoopFile;
use ralph_io::{store::archive, store::lifecycle};
use std::path::PathBuf;

/// The play so far.
#[derive(Debug)]
pub(super) struct Play<'a> {
    stage: &'a Stage,
    account: Account,
    n_decisions: usize,
}

/// How the play ended.
#[derive(Debug)]
pub(super) enum PlayEnd {
    /// At its last step; with what was counted.
    Played(String),
    /// At an answer that it cannot go on from.
    Broken,
}

impl<'a> Play<'a> {
    /// The play before its first step.
    pub(super) fn new(stage: &'a Stage, account: Account) -> Play<'a> {
        Play { stage, account, n_decisions: 0 }
    }

    /// Takes in the answer to a step and tells it; false when the story cannot go on from it.
    pub(super) fn told(&mut self, step: StoryStep, answer: &StepAnswer) -> Result<bool> {
        let state = self.state()?;
        let decisions = self.new_decisions();
        let met = meets(step.needs, answer, &decisions, state.as_ref());
        match met {
            true => self.account.tell(step, answer, state.as_ref()),
            false => self.account.tell_broken(step, answer, state.as_ref()),
        }
        Ok(met)
    }

    /// The last lines.
    pub(super) fn close(mut self, ending: PlayEnd) -> Result<DemoResult> {
        match ending {
            PlayEnd::Broken => Ok(DemoResult::Otherwise),
            PlayEnd::Played(counted) => {
                let folder = self.folder().context("the loop left no archive")?;
                let n_decisions = self.n_decisions + self.new_decisions().len();
                self.account.close(&counted, n_decisions, &folder);
                Ok(DemoResult::AsItShould)
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
    fn new_decisions(&mut self) -> Vec<JournalEntry> {
        let all = self.folder().map(|folder| journal::read(&folder)).unwrap_or_default();
        let new = all.get(self.n_decisions..).unwrap_or_default().to_vec();
        self.n_decisions = all.len();
        new
    }
}

/// Whether this is the kind of answer that the story needs, said and written down.
fn meets(
    needs: Needs,
    answer: &StepAnswer,
    decisions: &[JournalEntry],
    state: Option<&LoopState>,
) -> bool {
    let decided = |what: &str| decisions.iter().any(|entry| entry.decision == what);
    match (needs, answer) {
        (Needs::Started, StepAnswer::Context(_)) => decided("started"),
        (Needs::Allowed, StepAnswer::Nothing | StepAnswer::Ran(_)) => {
            !decided("denied") && !decided("go on")
        }
        (Needs::Denied, StepAnswer::Denied(_)) => decided("denied"),
        (Needs::GoesOn, StepAnswer::GoesOn(_)) => decided("go on"),
        (Needs::Refused, StepAnswer::GoesOn(words)) => {
            decided("go on") && words.lines().any(|line| line.starts_with("- "))
        }
        (Needs::Proven, StepAnswer::Ran(_)) => {
            decided("holds") && state.is_some_and(|state| state.checkpoint.is_some())
        }
        (Needs::Completed, StepAnswer::Nothing) => {
            let ending = state.and_then(|state| state.ending.as_ref());
            decided("ended") && ending.is_some_and(|ending| ending.kind == EndingKind::Complete)
        }
        (Needs::Shown, StepAnswer::Ran(printed)) => !printed.trim().is_empty(),
        _ => false,
    }
}
