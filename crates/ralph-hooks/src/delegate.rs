//! Delegates work that runs other programs to the `ralph` executable beside this one.

use anyhow::{Context, Result, bail};
use ralph_core::evidence::receipt::Proof;
use ralph_io::process::wait_any::Interrupts;
use ralph_io::process::{self, Finished};
use ralph_io::store::loop_file::LoopFile;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Below the stop hook's own timeout of ten minutes.
pub const TO_PROVE: Duration = Duration::from_secs(590);

const LONGEST_ANSWER: usize = 1 << 20;

/// Why the criteria run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// Completion is requested: Ralph observes what the criteria are worth.
    Completion,
    /// Before the work, or for an ending that they do not decide: each command runs once.
    FirstRun,
}

impl Request {
    fn flag(self) -> Option<&'static str> {
        (self == Request::Completion).then_some("--observe")
    }
}

/// Runs the acceptance commands that no receipt proves or disproves, and returns the result for all
/// criteria. The receipts are then in the state.
///
/// # Errors
/// When `ralph` is missing, fails or takes too long. Then nothing is proven.
pub fn prove(file: &LoopFile, request: Request, within: Duration) -> Result<Proof> {
    proof(ask(&arguments(file, request)?, within)?)
}

/// As [`prove`], for a driver. `None` if its user ended it meanwhile.
///
/// # Errors
/// As for [`prove`].
pub fn prove_unless_ended(
    file: &LoopFile,
    request: Request,
    within: Duration,
    interrupts: &Interrupts,
) -> Result<Option<Proof>> {
    let running = process::start_held(&ralph()?, &arguments(file, request)?)?;
    let deadline = Instant::now() + within;
    let finished = running.finish_unless_ended(deadline, LONGEST_ANSWER, interrupts)?;
    finished.map(proof).transpose()
}

fn arguments(file: &LoopFile, request: Request) -> Result<Vec<&str>> {
    let words = ["delegate", "criteria", path_of(file)?].into_iter();
    Ok(words.chain(request.flag()).collect())
}

fn path_of(file: &LoopFile) -> Result<&str> {
    file.path().to_str().context("the path of the state is not valid UTF-8")
}

fn proof(finished: Finished) -> Result<Proof> {
    serde_json::from_slice(&usable(finished)?.stdout)
        .context("could not read the answer of `ralph delegate criteria`")
}

/// Runs the commands of a task. Returns the first failure, or `None` if all of them hold.
///
/// # Errors
/// When `ralph` is missing, fails or takes too long. Then nothing is proven.
pub fn task_commands(file: &LoopFile, id: &str, within: Duration) -> Result<Option<String>> {
    let arguments = ["delegate", "task", path_of(file)?, id];
    let finished = usable(ask(&arguments, within)?)?;
    serde_json::from_slice(&finished.stdout)
        .context("could not read the answer of `ralph delegate task`")
}

/// What to check.
#[derive(Debug, Clone, Copy)]
pub enum CheckRequest<'a> {
    /// Files edited in a loop, and the subagent that did; also what the checks beside the work have
    /// found.
    Edited(&'a LoopFile, &'a [String], &'a str),
    /// What the edits of a loop have left at the end of a turn.
    Late(&'a LoopFile),
    /// Files edited without a loop, if the settings ask for checks there.
    WithoutLoop(&'a [String]),
}

/// Checks files and returns the text for the model, which is empty if no check reports a problem.
/// The checks keep to their own budget, which is shorter than this hook's timeout.
///
/// # Errors
/// When `ralph` is missing, fails or takes too long. Then nothing was checked.
pub fn check(what: CheckRequest<'_>) -> Result<String> {
    let path = |file: &LoopFile| file.path().to_string_lossy().into_owned();
    let mut arguments = vec!["delegate".to_owned(), "checks".to_owned()];
    match what {
        CheckRequest::Edited(file, files, agent) => {
            let agent = format!("--agent={agent}");
            arguments.extend(["--state".to_owned(), path(file), agent, "--".to_owned()]);
            arguments.extend_from_slice(files);
        }
        CheckRequest::Late(file) => {
            arguments.extend(["--state".to_owned(), path(file), "--late".to_owned()]);
        }
        CheckRequest::WithoutLoop(files) => {
            arguments.push("--".to_owned());
            arguments.extend_from_slice(files);
        }
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let finished = usable(ask(&arguments, TO_PROVE)?)?;
    String::from_utf8(finished.stdout).context("the answer of `ralph delegate checks` is not text")
}

fn ask(arguments: &[&str], within: Duration) -> Result<Finished> {
    let deadline = Instant::now() + within;
    process::start_held(&ralph()?, arguments)?.finish(deadline, LONGEST_ANSWER)
}

pub(crate) fn ralph() -> Result<PathBuf> {
    let here = std::env::current_exe().context("could not find the path of this executable")?;
    let ralph = here.with_file_name("ralph");
    if !ralph.is_file() {
        bail!("could not find `{}`; run `ralph doctor`, or install Ralph again", ralph.display());
    }
    Ok(ralph)
}

fn usable(finished: Finished) -> Result<Finished> {
    if finished.capped {
        bail!("`ralph` printed too much; run `ralph doctor`");
    }
    if !finished.status.success() {
        bail!("`ralph` failed ({}); run `ralph doctor`", finished.status);
    }
    Ok(finished)
}
