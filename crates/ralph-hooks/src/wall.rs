//! Puts a session's commands behind the wall while nothing may be changed.
//!
//! SessionStart adds a line to the session's shell; PreToolUse makes sure that it is there; and that line
//! starts [`enter`], which replaces the shell.

use crate::hook_runner::HookCall;
use anyhow::{Context, Result, bail};
use ralph_core::protocol::registration::PRE_TOOL_USE;
use ralph_core::protocol::wall;
use ralph_io::client;
use ralph_io::process::wall::{self as kernel, Wall};
use ralph_io::store::home::Home;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::store::wall_flag::WallFlag;
use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// A shell that is not replaced must not run the line.
const NOT_RUN: i32 = 126;

/// Replaces this process by the shell, behind the wall if it stands. Returns only an exit code.
pub fn enter(arguments: &[OsString]) -> i32 {
    let Err(error) = replace(arguments) else { return NOT_RUN };
    eprintln!(
        "ralph: this command was not run, since nothing may be changed and it cannot be bounded: {error:#}"
    );
    NOT_RUN
}

fn replace(arguments: &[OsString]) -> Result<()> {
    let [flag, shell, line] = arguments else { bail!("expected the flag, the shell and its line") };
    if line.is_empty() || shell.is_empty() {
        bail!("the shell does not tell its line");
    }
    let flag = WallFlag::at(Path::new(flag)).context("this is no flag of a session")?;
    let run = [OsStr::new("-c"), line];
    let Some(standing) = flag.stands() else {
        flag.lower();
        return kernel::pass(shell, &run);
    };
    let private = flag.private_folder()?;
    let folder = line.to_str().and_then(wall::folder_file).map(Path::new);
    if let Some(file) = folder {
        make(file)?;
    }
    let wall = Wall { private: &private, writable: folder, network: standing.network };
    kernel::enter(&wall, shell, &run)
}

/// Makes the file in which the client finds the folder, since the kernel allows only what is there.
fn make(file: &Path) -> Result<()> {
    let new = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    match new {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(error).with_context(|| format!("could not make `{}`", file.display()))
        }
        Ok(_) => Ok(()),
        // Whatever else is there is not the client's.
        Err(_) if file.symlink_metadata().is_ok_and(|found| found.is_file()) => Ok(()),
        Err(_) => bail!("`{}` is not a file", file.display()),
    }
}

/// Adds the line to the session's shell. Nothing happens where the client has no file for it.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn prepare(home: &Home, session_id: &str) -> Result<()> {
    let Some([flag, executable]) = named(home, session_id) else { return Ok(()) };
    Ok(client::run_first(&wall::line(&flag, &executable), wall::is_line)?)
}

/// The session's flag and the executable that its line names; `None` if these paths cannot be written
/// there.
fn named(home: &Home, session_id: &str) -> Option<[String; 2]> {
    let flag = WallFlag::for_session(home, session_id).ok()?.path();
    let executable = std::env::current_exe().ok()?.with_file_name(PRE_TOOL_USE);
    let text = |path: &Path| path.to_str().filter(|path| path.starts_with('/')).map(str::to_owned);
    Some([text(&flag)?, text(&executable)?])
}

/// True for a tool whose command line the session's shell runs.
pub(crate) fn runs_lines(tool: &str) -> bool {
    matches!(tool, "Bash" | "Monitor" | "Skill")
}

/// Sees to it that the session's next command runs behind the wall.
///
/// # Errors
/// Why it would not.
pub(crate) fn raise(call: &HookCall, file: Option<&LoopFile>) -> Result<()> {
    if let Some(obstacle) = obstacle(&call.home, &call.input.session_id) {
        bail!("{obstacle}");
    }
    WallFlag::for_session(&call.home, &call.input.session_id)?.raise(file)
}

/// Why a command of this session would not run behind the wall; `None` if it would.
pub fn obstacle(home: &Home, session_id: &str) -> Option<String> {
    let Some([flag, executable]) = named(home, session_id) else {
        return Some("the path of Ralph's files is not absolute".to_owned());
    };
    let missing = wall::obstacle(client::ahead_of_commands(session_id), &flag, &executable);
    missing.map(str::to_owned).or_else(kernel::cannot_stand)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook_runner::tests::TestLoop;
    use ralph_core::state::Mode;
    use serde_json::json;
    use std::os::unix::fs::{MetadataExt, symlink};

    #[test]
    fn a_line_that_cannot_be_run_as_it_should_is_not_run() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        let flag = WallFlag::for_session(&home, "s").unwrap();
        flag.raise(None).unwrap();
        let path = flag.path().display().to_string();
        let refused = |arguments: &[&str]| {
            let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
            assert_eq!(enter(&arguments), NOT_RUN);
            replace(&arguments).unwrap_err().to_string()
        };
        let untold = "the shell does not tell its line";
        for (arguments, expected) in [
            (&[][..], "expected the flag, the shell and its line"),
            (&[&path, "/missing/sh"], "expected the flag, the shell and its line"),
            (&[&path, "/missing/sh", "ls", "x"], "expected the flag, the shell and its line"),
            (&[&path, "", "ls"], untold),
            (&[&path, "/missing/sh", ""], untold),
            (&["/flag", "/missing/sh", "ls"], "this is no flag of a session"),
        ] {
            assert_eq!(refused(arguments), expected, "{arguments:?}");
            assert!(flag.path().exists());
        }
        // No loop needs this flag.
        let passed = refused(&[&path, "/missing/sh", "ls"]);
        assert_eq!(passed, "could not start `/missing/sh`");
        assert!(!flag.path().exists(), "it is lowered");
    }

    #[test]
    fn the_file_of_the_folder_is_made_unless_something_else_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        make(&at("new")).unwrap();
        assert_eq!(at("new").metadata().unwrap().mode() & 0o777, 0o600);
        std::fs::write(at("new"), "kept").unwrap();
        make(&at("new")).unwrap();
        assert_eq!(std::fs::read_to_string(at("new")).unwrap(), "kept");
        symlink(at("new"), at("link")).unwrap();
        for path in [at("link"), folder.path().to_owned()] {
            let refused = make(&path).unwrap_err().to_string();
            assert_eq!(refused, format!("`{}` is not a file", path.display()));
        }
        let refused = make(&at("none/new")).unwrap_err().to_string();
        assert_eq!(refused, format!("could not make `{}`", at("none/new").display()));
    }

    #[test]
    fn a_session_whose_shell_has_no_line_raises_no_wall() {
        let at = TestLoop::started(Mode::Plain, "task");
        let call = at.call("PreToolUse", json!({}));
        let why = "this session began before Ralph was installed, or Ralph's SessionStart hook did not \
                   run; start a new session";
        assert_eq!(obstacle(&at.home, "s").as_deref(), Some(why));
        assert_eq!(raise(&call, Some(&at.file)).unwrap_err().to_string(), why);
        assert!(!at.home.walls().join("s").exists());
        let relative = "the path of Ralph's files is not absolute";
        assert_eq!(obstacle(&Home::at("home"), "s").as_deref(), Some(relative));
        assert_eq!(obstacle(&at.home, "../s").as_deref(), Some(relative));
    }

    #[test]
    fn the_sessions_shell_runs_these_tools() {
        let runs = ["Bash", "Monitor", "Skill", "Read", "Write"].map(runs_lines);
        assert_eq!(runs, [true, true, true, false, false]);
    }
}
