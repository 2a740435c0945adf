//! `ralph demo`: a loop from start to end in a scratch repository, narrated as it runs.
//!
//! The narration is not written in advance: it quotes what the executables answered, and the state
//! and journal that they wrote. The story names only the kind of answer that each step needs; any
//! other answer ends the demo as failed.

mod narrator;
mod sandbox;
mod scripted;

use crate::setup::tell;
use anyhow::{Context, Result};
use narrator::Account;
pub use narrator::Style;
use ralph_core::protocol::registration::{COMMAND_LINE, HOOK_EXECUTABLES};
use ralph_core::state::{EndingKind, LoopState};
use ralph_io::project::user_files;
use ralph_io::store::journal::{self, JournalEntry};
use ralph_io::store::loop_file::LoopFile;
use ralph_io::store::{archive, lifecycle};
use sandbox::Stage;
use scripted::StepAnswer;
use std::fmt;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DemoResult {
    /// The loop behaved as a loop must.
    AsItShould,
    /// An answer was not what the story needs; the narration shows which.
    Otherwise,
}

/// The demo needs a program that could not be found or run.
#[derive(Debug)]
pub struct ProgramMissing(String);

impl fmt::Display for ProgramMissing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for ProgramMissing {}

/// Plays the story with the executables of this folder and prints the narration.
///
/// # Errors
/// [`ProgramMissing`] if a program is missing; any other error if the scratch folder
/// cannot be made.
pub fn show(executables: &Path, style: Style, keep: bool) -> Result<DemoResult> {
    all_there(executables)?;
    let mut stage = Stage::set(executables)?;
    let play = Play::new(&stage, Account::begin(style, keep));
    let played = scripted::play(&stage, play);
    if keep {
        tell!("Kept in {}", stage.keep().display());
    }
    played
}

fn all_there(executables: &Path) -> Result<()> {
    let missing: Vec<&str> = HOOK_EXECUTABLES
        .into_iter()
        .chain([COMMAND_LINE])
        .filter(|name| user_files::access(&executables.join(name)).is_none_or(|file| !file.is_file))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let folder = executables.display();
    Err(ProgramMissing(format!(
        "could not find {} in `{folder}`, beside this `ralph`; install all of them with ./install.sh",
        missing.join(", ")
    ))
    .into())
}

// Plays the story: judges each answer, and reads from Ralph's own files what happened.
//
// An answer counts only if the journal records the decision too.

#[derive(Debug)]
struct Play<'a> {
    stage: &'a Stage,
    account: Account,
    n_decisions: usize,
}

#[derive(Debug)]
enum PlayEnd {
    /// After the last step, with a count of the calls.
    Played(String),
    /// At an answer that the story cannot continue from.
    Broken,
}

impl<'a> Play<'a> {
    fn new(stage: &'a Stage, account: Account) -> Play<'a> {
        Play { stage, account, n_decisions: 0 }
    }

    /// Judges and narrates the answer to a step; false if the story cannot continue from it.
    fn told(&mut self, step: StoryStep, answer: &StepAnswer) -> Result<bool> {
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
    fn close(mut self, ending: PlayEnd) -> Result<DemoResult> {
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

// The story as data: each step, and the kind of answer that a loop must give.
//
// The answers' words are not here, so the story still plays if Ralph
// words its reasons differently.

#[derive(Debug, Clone, Copy)]
struct StoryStep {
    does: StoryAction,
    needs: StoryExpectation,
}

#[derive(Debug, Clone, Copy)]
enum StoryAction {
    /// The user types a slash command: its name and its arguments.
    Types(&'static str, &'static [&'static str]),
    /// The agent asks the user a question.
    Asks(&'static str),
    /// The agent writes a file of the project.
    Writes(&'static str, &'static str),
    /// The agent runs a command.
    Runs(&'static str),
    /// The agent says this and wants to end its turn.
    Says(&'static str),
    /// Another session in the same folder wants to end its turn.
    StrangerSays(&'static str),
    /// The user gives a `ralph` command in a terminal.
    Looks(&'static [&'static str]),
}

impl StoryAction {
    /// True for the agent's steps; the others do not wait for its model.
    fn is_the_agents(self) -> bool {
        !matches!(
            self,
            StoryAction::Types(..) | StoryAction::StrangerSays(_) | StoryAction::Looks(_)
        )
    }
}

/// The kind of answer that a step needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StoryExpectation {
    /// A loop starts.
    Started,
    /// Nothing prevents the step.
    Allowed,
    /// The tool does not run, and the agent is told why.
    Denied,
    /// The turn does not end, and the agent is told what comes next.
    GoesOn,
    /// Completion was requested; the turn does not end, and each reason is named.
    Refused,
    /// All criteria were run, and pass.
    Passed,
    /// The turn ends, and the loop ends as complete.
    Completed,
    /// The command prints something.
    Shown,
}

const fn step(does: StoryAction, needs: StoryExpectation) -> StoryStep {
    StoryStep { does, needs }
}

const STORY: [StoryStep; 16] = [
    step(
        StoryAction::Types(
            "ralph",
            &[r#""greet by name" --ac "tests=sh test.sh" --max-iterations 5"#],
        ),
        StoryExpectation::Started,
    ),
    step(StoryAction::Asks("Which greeting do you want?"), StoryExpectation::Denied),
    step(StoryAction::Says("I wrote down what I will do."), StoryExpectation::GoesOn),
    step(StoryAction::StrangerSays("I only looked around here."), StoryExpectation::Allowed),
    step(StoryAction::Writes("greet.sh", GREETS), StoryExpectation::Allowed),
    step(StoryAction::Says("It works.\n\nRALPH_COMPLETE"), StoryExpectation::Refused),
    step(StoryAction::Runs("ralph cancel"), StoryExpectation::Denied),
    step(
        StoryAction::Writes("tests/by-name.sh", "test \"$(sh greet.sh Ann)\" = \"hello Ann\"\n"),
        StoryExpectation::Allowed,
    ),
    step(StoryAction::Runs("ralph verify"), StoryExpectation::Passed),
    step(StoryAction::Writes("greet.sh", "echo \"hello $1\"\n"), StoryExpectation::Allowed),
    step(StoryAction::Says("Tidied.\n\nRALPH_COMPLETE"), StoryExpectation::Refused),
    step(StoryAction::Writes("greet.sh", GREETS), StoryExpectation::Allowed),
    step(StoryAction::Runs("git add -A && git commit -qm greet"), StoryExpectation::Allowed),
    step(StoryAction::Says("Done.\n\nRALPH_COMPLETE"), StoryExpectation::Completed),
    step(StoryAction::Looks(&["checkpoint", "list"]), StoryExpectation::Shown),
    step(StoryAction::Looks(&["explain"]), StoryExpectation::Shown),
];

const GREETS: &str = "echo hello $1\n";

/// The project at the start: its only test does not see whether a name is greeted.
const PROJECT: [(&str, &str); 3] = [
    ("greet.sh", "echo hello\n"),
    ("tests/greets.sh", "test \"$(sh greet.sh)\" = \"hello\"\n"),
    ("test.sh", RUNNER),
];

const RUNNER: &str = r#"for test in tests/*; do
    n=$((n + 1))
    if sh "$test"; then echo "ok $n - $test"; else echo "not ok $n - $test"; failed=1; fi
done
echo "1..$n"
exit "${failed:-0}"
"#;
