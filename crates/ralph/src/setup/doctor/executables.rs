//! Checks that the hooks are beside `ralph`, that nobody else can write them, and that they start.

use super::check::{Check, fail, grouped, well};
use super::fix::Fix;
use crate::setup::places::InstallPaths;
use ralph_core::protocol::registration::HOOK_EXECUTABLES;
use ralph_hooks::hook_runner::VERSION;
use ralph_io::process::run_once::{self, ProbeResult, Program, ProgramEnd};
use ralph_io::project::user_files;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

const NAME: &str = "executables";
const DEADLINE: Duration = Duration::from_secs(5);

/// A hook beside `ralph`.
pub(super) struct Executable {
    pub(super) name: &'static str,
    pub(super) path: PathBuf,
    /// The version that it prints, if it prints one, or why it cannot be used.
    pub(super) version: Result<Option<String>, String>,
}

/// Starts each hook for its version.
pub(super) fn gather(places: &InstallPaths) -> Vec<Executable> {
    // The copies of an installation with npm are made by `ralph install`.
    let is_there = user_files::access(&places.executables).is_some();
    let folder = if is_there { &places.executables } else { &places.running };
    let started = HOOK_EXECUTABLES.map(|name| {
        let path = folder.join(name);
        Executable { name, version: version_of(&path, name), path }
    });
    started.into()
}

/// One line if all are fine, else one for each problem.
pub(super) fn check(hooks: &[Executable], places: &InstallPaths) -> Vec<Check> {
    let folder = hooks.iter().find_map(|hook| hook.path.parent()).unwrap_or(&places.executables);
    let cure = match places.are_copied() {
        true => "run `ralph install`",
        false => "run `./install.sh` again, or copy it there",
    };
    let mut wrong: Vec<Check> = writable_by_others(folder);
    let broken = hooks.iter().filter_map(|hook| Some((hook.version.as_ref().err()?, hook.name)));
    wrong.extend(grouped(broken).into_iter().map(|(what, names)| {
        let names = names.join("`, `");
        fail(NAME, format!("`{names}` in `{}` {what}", folder.display()), cure)
    }));
    if wrong.is_empty() {
        let n_hooks = hooks.len();
        return vec![well(NAME, format!("`ralph` and {n_hooks} hooks in `{}`", folder.display()))];
    }
    wrong
}

/// A user who can write an executable, or its folder, decides what every session runs.
fn writable_by_others(folder: &Path) -> Vec<Check> {
    let names = HOOK_EXECUTABLES.into_iter().chain(["ralph"]);
    let files = names.map(|name| folder.join(name));
    let mut wrong = Vec::new();
    for path in [folder.to_owned()].into_iter().chain(files) {
        let Some(access) = user_files::access(&path) else { continue };
        // In a folder with the sticky bit, only a file's owner can replace it.
        if access.mode & 0o002 == 0 || (access.is_folder && access.mode & 0o1000 != 0) {
            continue;
        }
        let shown = path.display();
        let detail = format!("`{shown}` can be written by anyone");
        let check = fail(NAME, detail, format!("run `chmod go-w {shown}`"));
        // The folder may be shared on purpose, but the executables are Ralph's.
        let is_ours = access.is_file && access.is_mine;
        let fix = is_ours.then(|| Fix::RemoveWriteAccess(path.clone()));
        wrong.push(Check { fix, ..check });
    }
    wrong
}

/// The version that an executable prints; `None` if it prints none.
///
/// # Errors
/// Why it cannot be used.
pub(super) fn version_of(path: &Path, name: &str) -> Result<Option<String>, String> {
    let access = user_files::access(path).ok_or("is missing")?;
    if !access.is_file {
        return Err("is not a file".to_owned());
    }
    if access.mode & 0o111 == 0 {
        return Err("is not executable".to_owned());
    }
    let command = path.to_string_lossy();
    let program = Program {
        command: &command,
        args: vec![VERSION],
        folder: Path::new("/"),
        stdin: "",
        // A hook of a named session answers for that session.
        env: vec![("CLAUDE_CODE_SESSION_ID", OsStr::new(""))],
        deadline: DEADLINE,
    };
    let printed = run(&program)?.stdout;
    let version = printed.strip_prefix(name).map(str::trim).filter(|version| !version.is_empty());
    Ok(version.map(str::to_owned))
}

/// Runs a program to its end.
///
/// # Errors
/// Why it did not end well.
pub(super) fn run(program: &Program<'_>) -> Result<ProbeResult, String> {
    let outcome = run_once::run(program).map_err(|error| format!("does not start ({error:#})"))?;
    let said = outcome.stderr.lines().next().unwrap_or_default();
    match outcome.ended {
        ProgramEnd::Exited(0) => Ok(outcome),
        ProgramEnd::Exited(code) => Err(format!("ended with exit code {code}: {said}")),
        ProgramEnd::Signalled(signal) => Err(format!("was ended by signal {signal}: {said}")),
        ProgramEnd::Overdue => Err(format!("gave no answer in {} s", program.deadline.as_secs())),
    }
}
