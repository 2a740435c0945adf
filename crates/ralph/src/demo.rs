//! `ralph demo`: a loop from start to end in a scratch repository, narrated as it runs.
//!
//! The narration is not written in advance: it quotes what the executables answered, and the state
//! and journal that they wrote. The story names only the kind of answer that each step needs; any
//! other answer ends the demo as failed.

mod narrator;
mod sandbox;
mod scripted;

use crate::command::exit::{Exit, refused};
use crate::setup::tell;
use anyhow::{Context, Result};
use narrator::Account;
use ralph_core::protocol::registration::{COMMAND_LINE, HOOK_EXECUTABLES};
use ralph_core::state::{EndingKind, LoopState};
use ralph_io::process::programs;
use ralph_io::project::user_files;
use ralph_io::store::journal::{self, JournalEntry};
use ralph_io::store::loop_file::LoopFile;
use sandbox::Stage;
use scripted::{AnswerKind, Scripted, StepAnswer};
use std::path::Path;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Keep the scratch folder and print its path
    #[arg(long)]
    keep: bool,
}

/// Plays the story with the executables beside this one and prints the narration. The exit code tells
/// whether the loop went as expected.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let running = programs::running()?;
    let executables = running.parent().unwrap_or(Path::new("/"));
    all_there(executables)?;
    let mut stage = Stage::set(executables)?;
    let played = play(&stage, args.keep);
    if args.keep {
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
    let (missing, folder) = (missing.join(", "), executables.display());
    let message = format!(
        "could not find {missing} in `{folder}`, beside this `ralph`; install all of them with ./install.sh"
    );
    Err(refused(Exit::MissingProgram, message))
}

/// Plays the story: judges each answer by what it says and by what Ralph's own files say.
fn play(stage: &Stage, keep: bool) -> Result<Exit> {
    let mut agent = Scripted::new(stage);
    let mut account = Account::begin(keep);
    let mut n_decisions = 0;
    for step in STORY {
        let answer = agent.act(step.does)?;
        let (state, journal) = match stage.loop_folder() {
            Some(folder) => {
                let loaded = LoopFile::at(folder.join("state.json")).read()?;
                (loaded.map(|loaded| loaded.state), journal::read(&folder))
            }
            None => (None, Vec::new()),
        };
        let decisions = journal.get(n_decisions..).unwrap_or_default();
        if !meets(step.needs, &answer, decisions, state.as_ref()) {
            account.tell_broken(step, &answer, state.as_ref());
            return Ok(Exit::No);
        }
        account.tell(step, &answer, state.as_ref());
        n_decisions = journal.len();
    }
    let folder = stage.loop_folder().context("the loop left no archive")?;
    account.close(&agent.counted(), n_decisions, &folder);
    Ok(Exit::Done)
}

/// Whether the answer is of the kind that the story needs, and the journal records it.
fn meets(
    needs: StoryExpectation,
    answer: &StepAnswer,
    decisions: &[JournalEntry],
    state: Option<&LoopState>,
) -> bool {
    let decided = |what: &str| decisions.iter().any(|entry| entry.decision == what);
    match (needs, answer.kind) {
        (StoryExpectation::Started, AnswerKind::Told) => decided("started"),
        (StoryExpectation::Allowed, AnswerKind::Went) => !decided("denied") && !decided("go on"),
        (StoryExpectation::Denied, AnswerKind::Denied) => decided("denied"),
        (StoryExpectation::GoesOn, AnswerKind::KeptGoing) => decided("go on"),
        (StoryExpectation::Refused, AnswerKind::KeptGoing) => {
            decided("go on") && answer.words.contains("completion refused")
        }
        (StoryExpectation::Passed, AnswerKind::Went) => {
            decided("holds") && state.is_some_and(|state| state.checkpoint.is_some())
        }
        (StoryExpectation::Completed, AnswerKind::Went) => {
            let ending = state.and_then(|state| state.ending.as_ref());
            decided("ended") && ending.is_some_and(|ending| ending.kind == EndingKind::Complete)
        }
        (StoryExpectation::Shown, AnswerKind::Went) => !answer.words.trim().is_empty(),
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
    Types(&'static str, &'static str),
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
        use StoryAction::{Looks, StrangerSays, Types};
        !matches!(self, Types(..) | StrangerSays(_) | Looks(_))
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
            r#""greet by name" --ac "tests=sh test.sh" --max-iterations 5"#,
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
    step(StoryAction::Runs("ralph try --once"), StoryExpectation::Passed),
    step(StoryAction::Writes("greet.sh", "echo \"hello $1\"\n"), StoryExpectation::Allowed),
    step(StoryAction::Says("Tidied.\n\nRALPH_COMPLETE"), StoryExpectation::Refused),
    step(StoryAction::Writes("greet.sh", GREETS), StoryExpectation::Allowed),
    step(StoryAction::Runs("git add -A && git commit -qm greet"), StoryExpectation::Allowed),
    step(StoryAction::Says("Done.\n\nRALPH_COMPLETE"), StoryExpectation::Completed),
    step(StoryAction::Looks(&["checkpoint"]), StoryExpectation::Shown),
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
