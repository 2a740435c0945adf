//! Plays the story: judges each answer, and reads from Ralph's own files what happened.
//!
//! An answer counts only if the journal records the decision too.

use super::DemoResult;
use super::answer::StepAnswer;
use super::narrator::Account;
use super::sandbox::Stage;
use super::story::{StoryExpectation, StoryStep};
use anyhow::{Context, Result};
use ralph_core::state::{EndingKind, LoopState};
use ralph_io::store::journal::{self, JournalEntry};
use ralph_io::store::loop_file::LoopFile;
use ralph_io::{store::archive, store::lifecycle};
use std::path::PathBuf;

#[derive(Debug)]
pub(super) struct Play<'a> {
    stage: &'a Stage,
    account: Account,
    n_decisions: usize,
}

#[derive(Debug)]
pub(super) enum PlayEnd {
    /// After the last step, with a count of the calls.
    Played(String),
    /// At an answer that the story cannot continue from.
    Broken,
}

impl<'a> Play<'a> {
    pub(super) fn new(stage: &'a Stage, account: Account) -> Play<'a> {
        Play { stage, account, n_decisions: 0 }
    }

    /// Judges and narrates the answer to a step; false if the story cannot continue from it.
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

    /// Prints the last lines.
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

    /// The loop's folder, which is in the archive once the loop has ended.
    fn folder(&self) -> Option<PathBuf> {
        let home = self.stage.ralph_home();
        let live = lifecycle::all(&home).into_iter().next();
        live.map(|(file, _)| file.folder().to_owned()).or_else(|| archive::folders(&home).pop())
    }

    fn state(&self) -> Result<Option<LoopState>> {
        let Some(folder) = self.folder() else { return Ok(None) };
        Ok(LoopFile::at(folder.join("state.json")).read()?.map(|loaded| loaded.state))
    }

    /// The journal lines written since the last step.
    fn new_decisions(&mut self) -> Vec<JournalEntry> {
        let all = self.folder().map(|folder| journal::read(&folder)).unwrap_or_default();
        let new = all.get(self.n_decisions..).unwrap_or_default().to_vec();
        self.n_decisions = all.len();
        new
    }
}

/// Whether the answer is of the kind that the story needs, and the journal records it.
fn meets(
    needs: StoryExpectation,
    answer: &StepAnswer,
    decisions: &[JournalEntry],
    state: Option<&LoopState>,
) -> bool {
    let decided = |what: &str| decisions.iter().any(|entry| entry.decision == what);
    match (needs, answer) {
        (StoryExpectation::Started, StepAnswer::Context(_)) => decided("started"),
        (StoryExpectation::Allowed, StepAnswer::Nothing | StepAnswer::Ran(_)) => {
            !decided("denied") && !decided("go on")
        }
        (StoryExpectation::Denied, StepAnswer::Denied(_)) => decided("denied"),
        (StoryExpectation::GoesOn, StepAnswer::GoesOn(_)) => decided("go on"),
        (StoryExpectation::Refused, StepAnswer::GoesOn(words)) => {
            decided("go on") && words.contains("completion refused")
        }
        (StoryExpectation::Passed, StepAnswer::Ran(_)) => {
            decided("holds") && state.is_some_and(|state| state.checkpoint.is_some())
        }
        (StoryExpectation::Completed, StepAnswer::Nothing) => {
            let ending = state.and_then(|state| state.ending.as_ref());
            decided("ended") && ending.is_some_and(|ending| ending.kind == EndingKind::Complete)
        }
        (StoryExpectation::Shown, StepAnswer::Ran(printed)) => !printed.trim().is_empty(),
        _ => false,
    }
}
