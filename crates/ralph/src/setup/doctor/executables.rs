//! Checks that the hooks are beside `ralph` and start.

use super::check::{Check, fail, well};
use super::fix::Fix;
use crate::setup::places::InstallPaths;
use ralph_core::protocol::registration::HOOK_EXECUTABLES;
use ralph_io::process::run_once::{self, Program, ProgramEnd};
use ralph_io::project::user_files;
use std::path::Path;
use std::time::Duration;

const NAME: &str = "executables";
const DEADLINE: Duration = Duration::from_secs(5);

/// An event that no client sends; a hook must ignore it.
const UNKNOWN_EVENT: &str =
    "{\"hook_event_name\":\"RalphDoctor\",\"session_id\":\"ralph-doctor\"}\n";

/// One line if all are fine, else one for each problem.
pub(super) fn check(places: &InstallPaths) -> Vec<Check> {
    // The copies of an installation with npm are made by `ralph install`.
    let is_there = user_files::access(&places.executables).is_some();
    let folder = if is_there { &places.executables } else { &places.running };
    let cure = match places.are_copied() {
        true => "run `ralph install`",
        false => "run `./install.sh` again, or copy it there",
    };
    let mut wrong: Vec<Check> = writable_by_others(folder);
    let broken = HOOK_EXECUTABLES
        .into_iter()
        .filter_map(|name| trouble(&folder.join(name)).map(|what| (name, what)))
        .map(|(name, what)| fail(NAME, format!("`{name}` in `{}` {what}", folder.display()), cure));
    wrong.extend(broken);
    if wrong.is_empty() {
        let n_hooks = HOOK_EXECUTABLES.len();
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
        wrong.push(if is_ours { check.with_fix(Fix::Alone(path.clone())) } else { check });
    }
    wrong
}

fn trouble(path: &Path) -> Option<String> {
    let Some(access) = user_files::access(path) else { return Some("is missing".to_owned()) };
    if !access.is_file {
        return Some("is not a file".to_owned());
    }
    if access.mode & 0o111 == 0 {
        return Some("is not executable".to_owned());
    }
    let command = path.to_string_lossy();
    let program = Program {
        command: &command,
        args: Vec::new(),
        folder: Path::new("/"),
        stdin: UNKNOWN_EVENT,
        env: Vec::new(),
        deadline: DEADLINE,
    };
    match run_once::run(&program) {
        Err(error) => Some(format!("does not start ({error:#})")),
        Ok(outcome) => match outcome.ended {
            ProgramEnd::Exited(0) => None,
            ProgramEnd::Exited(code) => Some(format!("ended with exit code {code}")),
            ProgramEnd::Signalled(signal) => Some(format!("was ended by signal {signal}")),
            ProgramEnd::Overdue => Some(format!("gave no answer in {} s", DEADLINE.as_secs())),
        },
    }
}
