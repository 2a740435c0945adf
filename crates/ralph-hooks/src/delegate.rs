//! Has the `ralph` executable that stands beside this one do what runs other programs.

use anyhow::{Context, Result, bail};
use ralph_core::evidence::receipt::Proof;
use ralph_io::process::{self, Finished};
use ralph_io::store::loop_file::LoopFile;
use std::path::PathBuf;
use std::time::Duration;

/// Shorter than the ten seconds that the client gives the hook of a session's start.
const TO_LOOK: Duration = Duration::from_secs(8);

/// Shorter than the stop hook's own timeout of ten minutes.
pub const TO_PROVE: Duration = Duration::from_secs(590);

const LONGEST_ANSWER: usize = 1 << 20;

/// Has the acceptance commands run that no receipt proves or disproves, and returns what the
/// criteria are worth now. The receipts are in the state then.
///
/// # Errors
/// When `ralph` is not there, fails or takes too long. Then nothing is proven.
pub fn prove(file: &LoopFile, within: Duration) -> Result<Proof> {
    let state = file.path().to_str().context("the path of the state is not valid UTF-8")?;
    let finished = usable(process::outlive(
        &ralph()?,
        &["delegate", "criteria", state],
        within,
        LONGEST_ANSWER,
    )?)?;
    serde_json::from_slice(&finished.stdout)
        .context("the answer of `ralph delegate criteria` cannot be read")
}

/// What is to be checked.
#[derive(Debug, Clone, Copy)]
pub enum CheckRequest<'a> {
    /// Files that were edited in a loop.
    Edited(&'a LoopFile, &'a [String]),
    /// What was too slow for the edits of a loop.
    Late(&'a LoopFile),
    /// Files that were edited without a loop, where the settings want them checked.
    WithoutLoop(&'a [String]),
}

/// Has files checked, and returns what the model is to read; nothing if all is well. It keeps to a
/// budget of its own, which is shorter than the timeout that this hook was given.
///
/// # Errors
/// When `ralph` is not there, fails or takes too long. Then nothing was checked.
pub fn check(what: CheckRequest<'_>) -> Result<String> {
    let path = |file: &LoopFile| file.path().to_string_lossy().into_owned();
    let mut arguments = vec!["delegate".to_owned(), "checks".to_owned()];
    match what {
        CheckRequest::Edited(file, files) => {
            arguments.extend(["--state".to_owned(), path(file), "--".to_owned()]);
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
    let finished = usable(process::outlive(&ralph()?, &arguments, TO_PROVE, LONGEST_ANSWER)?)?;
    String::from_utf8(finished.stdout).context("the answer of `ralph delegate checks` is not text")
}

/// The facts about the project, in so many UTF-16 units; nothing if there are none, or none are wanted.
///
/// # Errors
/// When `ralph` is not there, fails or takes too long. Then nothing is known.
pub fn facts(room: usize) -> Result<String> {
    let arguments = ["delegate", "facts", "--room", &room.to_string()];
    let finished = usable(process::outlive(&ralph()?, &arguments, TO_LOOK, LONGEST_ANSWER)?)?;
    String::from_utf8(finished.stdout).context("the answer of `ralph delegate facts` is not text")
}

fn ralph() -> Result<PathBuf> {
    let here =
        std::env::current_exe().context("could not find out where this executable stands")?;
    let ralph = here.with_file_name("ralph");
    if !ralph.is_file() {
        bail!("could not find `{}`; run `ralph doctor`, or install Ralph again", ralph.display());
    }
    Ok(ralph)
}

fn usable(finished: Finished) -> Result<Finished> {
    if !finished.status.success() || finished.capped {
        bail!("`ralph` failed; run `ralph doctor`");
    }
    Ok(finished)
}
