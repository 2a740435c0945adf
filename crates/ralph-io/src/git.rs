//! Runs git in one repository, ignoring environment variables that name another.
//!
//! The repository's configuration cannot start any program except its file filters: no hook,
//! monitor, remote, pager, editor, signing program or external diff. The filters must run, because
//! without them files that are stored elsewhere (git-lfs) would be compared and restored wrongly;
//! git runs them at every `git status`. Git writes only what the caller asks for, and errors
//! include git's own message.

pub mod branch;
pub mod checkpoint;
pub mod commit;
pub mod left;
pub mod litter;
pub mod merge;
pub mod repository;
pub(crate) mod scratch;
pub mod shared;
pub mod tree;
pub mod tree_id;
pub mod worker_base;
pub mod worktrees;

use crate::client;
use crate::process::{self, Finished, programs};
use anyhow::{Context, Result, bail};
use ralph_core::stop::progress;
use std::ffi::OsStr;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The time limit of one git command. Adding many large files is the slowest thing we ask for.
const DEADLINE: Duration = Duration::from_secs(120);

/// More than a list of a million files. Longer output is an error and never cut.
const MOST_PRINTED: usize = 1 << 30;

/// How many bytes of git's message an error includes.
const MOST_WORDS: u64 = 2_000;

/// Settings that keep git from starting programs, from writing more than the caller asks for, and
/// from trusting a file's time more than its bytes.
const SETTINGS: [&str; 12] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "core.safecrlf=false",
    "core.ignoreStat=false",
    "core.trustctime=true",
    "core.checkStat=default",
    "core.logAllRefUpdates=false",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
];

/// Variables of git that describe its installation or configuration, not a repository.
const KEPT: [&str; 6] = [
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
];

/// A git command for this folder, which is the top of a working tree.
pub(crate) fn command(folder: &Path) -> Command {
    let mut command = Command::new(programs::git());
    for (name, _) in std::env::vars_os() {
        if names_a_repository(&name) {
            command.env_remove(name);
        }
    }
    // If this folder's `.git` is broken, git must not use the repository around it.
    if let Some(around) = folder.parent() {
        command.env("GIT_CEILING_DIRECTORIES", around);
    }
    // Overrides `core.worktree`: restored files must not land elsewhere.
    command.env("GIT_WORK_TREE", ".");
    never_fetches(&mut command);
    command.env("GIT_TERMINAL_PROMPT", "0").arg("-C").arg(folder);
    command.args(["--no-pager", "--no-optional-locks"]);
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    command.stdin(Stdio::null());
    command
}

/// True once this process works for a sandboxed loop.
static WITHIN_BOUNDS: AtomicBool = AtomicBool::new(false);

/// From now on, git starts as few programs as it can: this process works for a sandboxed loop. What
/// is below a client of such a loop knows it from its environment.
pub fn keep_within_bounds() {
    WITHIN_BOUNDS.store(true, Ordering::Relaxed);
}

/// In a sandboxed loop, `.gitattributes` of the work tree, which the model can write, may name a
/// filter of the user's, which may run a program of the work tree.
pub(crate) fn is_within_bounds() -> bool {
    WITHIN_BOUNDS.load(Ordering::Relaxed) || client::is_sandboxed_round()
}

/// Changes inside a submodule belong to no work of the outer repository.
pub(crate) const NO_SUBMODULES: &str = "--ignore-submodules=dirty";

/// Keeps git from looking for changes inside of submodules in a sandboxed loop. Measured with 2.47:
/// git starts itself there, with the filters that the configuration of that folder names. Any folder
/// of the work tree may be made one, and its configuration is the model's.
pub(crate) fn without_submodules(command: &mut Command) {
    if is_within_bounds() {
        command.arg(NO_SUBMODULES);
    }
}

/// Switches off the file filters that the repository's own configuration may name; in a sandboxed
/// loop, all of them. For commands that only list files or read them as they are.
pub(crate) fn without_filters(command: &mut Command, folder: &Path) {
    let may_name = || repository::around(folder).is_some_and(|it| it.may_name_filters());
    if !is_within_bounds() && !may_name() {
        return;
    }
    // Reads only names; `git config` starts no program.
    let mut asked = self::command(folder);
    asked.args(["config", "--null", "--name-only", "--get-regexp", r"^filter\."]);
    let listed = answer(&mut asked).map(|(_, listed)| listed).unwrap_or_default();
    let settings = zero_ended(&listed).map(|name| {
        (OsStr::from_bytes(name), if name.ends_with(b".required") { "false" } else { "" })
    });
    configure(command, settings);
}

/// Sets these keys of the configuration for one command.
pub(crate) fn configure<K: AsRef<OsStr>, V: AsRef<OsStr>>(
    command: &mut Command,
    settings: impl Iterator<Item = (K, V)>,
) {
    let mut count = 0;
    for (key, value) in settings {
        command.env(format!("GIT_CONFIG_KEY_{count}"), key);
        command.env(format!("GIT_CONFIG_VALUE_{count}"), value);
        count += 1;
    }
    command.env("GIT_CONFIG_COUNT", count.to_string());
}

/// Makes Ralph the author and committer.
pub(crate) fn by_ralph(command: &mut Command) {
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "Ralph");
        command.env(format!("GIT_{who}_EMAIL"), "ralph@localhost");
    }
}

/// Lets git name the user if configured to; otherwise makes Ralph the author and committer.
pub(crate) fn by_user(root: &Path, command: &mut Command) -> Result<()> {
    let mut asked = self::command(root);
    asked.args(["config", "--null", "--name-only", "--get-regexp", r"^user\.(name|email)$"]);
    let (_, listed) = answer(&mut asked)?;
    let is_set = |name: &[u8]| zero_ended(&listed).any(|set| set == name);
    if !is_set(b"user.name") || !is_set(b"user.email") {
        by_ralph(command);
    }
    Ok(())
}

/// The files of a work tree that differ from `HEAD` or are new, without those that git and Ralph
/// ignore. `command` is a git command for it; its further options are the caller's.
pub(crate) fn uncommitted(command: &mut Command, option: Option<&str>) -> Result<Vec<Vec<u8>>> {
    command.args(["status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames"]);
    let listed = output(command.args(option))?;
    // Two letters and a space precede each path.
    let paths = listed.split(|byte| *byte == 0).filter_map(|record| record.get(3..));
    let paths = paths.filter(|path| !progress::is_ours(&String::from_utf8_lossy(path)));
    Ok(paths.map(<[u8]>::to_vec).collect())
}

/// Points a ref at a commit.
pub(crate) fn set_ref(top: &Path, name: &str, commit: &str) -> Result<()> {
    output(command(top).args(["update-ref", "--no-deref", name, commit]))
        .map(drop)
        .with_context(|| format!("could not write `{name}`"))
}

/// Removes a ref, if it is still at the expected commit.
pub(crate) fn remove_ref(top: &Path, name: &str, expected: Option<&str>) -> Result<()> {
    output(command(top).args(["update-ref", "--no-deref", "-d", name]).args(expected))
        .map(drop)
        .with_context(|| format!("could not remove `{name}`"))
}

/// The folder that the configuration names for the hooks of a repository, if it names one.
pub fn hooks_folder(root: &Path) -> Option<PathBuf> {
    let asked = output(self::command(root).args([
        "config",
        "--null",
        "--type=path",
        "--get-all",
        "core.hooksPath",
    ]));
    let listed = asked.ok()?;
    let mut values = zero_ended(&listed).collect::<Vec<_>>().into_iter();
    // The last one is ours, which keeps hooks from running.
    values.next_back()?;
    Some(root.join(OsStr::from_bytes(values.next_back()?)))
}

/// Forbids git to fetch a missing object of a partial clone, which would run a program that the
/// repository's configuration names. Git before 2.44 knows only the protocol list.
pub(crate) fn never_fetches(command: &mut Command) {
    command.env("GIT_NO_LAZY_FETCH", "1").env("GIT_ALLOW_PROTOCOL", "none");
}

pub(crate) fn names_a_repository(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b"GIT_") && KEPT.iter().all(|kept| name != *kept)
}

/// Runs git and returns its output.
///
/// # Errors
/// If git cannot be started, takes too long or fails; the error includes git's message.
pub(crate) fn output(command: &mut Command) -> Result<Vec<u8>> {
    output_within(command, DEADLINE)
}

/// As [`output`], with a shorter deadline.
pub(crate) fn output_within(command: &mut Command, deadline: Duration) -> Result<Vec<u8>> {
    let (finished, words) = finish_within(command, deadline)?;
    if !finished.status.success() {
        bail!("{}", failed(command, &words));
    }
    Ok(finished.stdout)
}

/// As [`output`], for commands whose exit code 1 is an answer: true for 0, false for 1.
pub(crate) fn answer(command: &mut Command) -> Result<(bool, Vec<u8>)> {
    let (finished, words) = finish(command)?;
    match finished.status.code() {
        Some(0) => Ok((true, finished.stdout)),
        Some(1) => Ok((false, finished.stdout)),
        _ => bail!("{}", failed(command, &words)),
    }
}

/// True if git succeeded, false if it exited with another code.
///
/// # Errors
/// If git cannot be started, takes too long or is killed; a retry may succeed.
pub(crate) fn agreed(command: &mut Command) -> Result<bool> {
    let (finished, words) = finish(command)?;
    match finished.status.code() {
        Some(code) => Ok(code == 0),
        None => bail!("{}", failed(command, &words)),
    }
}

/// Runs git and returns its first line of output.
pub(crate) fn line(command: &mut Command) -> Result<String> {
    let printed = output(command)?;
    let line = printed.split(|byte| *byte == b'\n').next().unwrap_or_default();
    Ok(String::from_utf8_lossy(line).into_owned())
}

/// The parts of a list whose entries end with a zero byte.
pub(crate) fn zero_ended(listed: &[u8]) -> impl Iterator<Item = &[u8]> {
    listed.split(|byte| *byte == 0).filter(|part| !part.is_empty())
}

/// What git ignores below this folder, zero-ended; a fully ignored folder is one entry.
pub(crate) fn ignored(folder: &Path) -> Result<Vec<u8>> {
    let mut list = command(folder);
    list.args(["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"]);
    output(&mut list)
}

/// True if the error means that git is not installed.
pub(crate) fn is_missing(error: &anyhow::Error) -> bool {
    let cause = error.root_cause().downcast_ref::<std::io::Error>();
    cause.is_some_and(|cause| cause.kind() == ErrorKind::NotFound)
}

fn finish(command: &mut Command) -> Result<(Finished, String)> {
    finish_within(command, DEADLINE)
}

fn finish_within(command: &mut Command, deadline: Duration) -> Result<(Finished, String)> {
    // A file, not a pipe: git may write more errors than a pipe holds while we read its output.
    let mut words = scratch::nameless_file().ok();
    let shared = words.as_ref().and_then(|words| words.try_clone().ok());
    command.stderr(shared.map_or_else(Stdio::null, Stdio::from));
    let running = process::start_as_given(command).map_err(|error| match is_missing(&error) {
        true => error.context("could not find `git`; install it"),
        false => error,
    })?;
    let finished = running.finish(Instant::now() + deadline, MOST_PRINTED)?;
    if finished.capped {
        bail!("`git {}` printed more than {} MiB", task(command), MOST_PRINTED >> 20);
    }
    Ok((finished, words.as_mut().map(read_words).unwrap_or_default()))
}

fn read_words(file: &mut File) -> String {
    scratch::words_in(file, MOST_WORDS).replace('\n', "; ")
}

fn failed(command: &Command, words: &str) -> String {
    format!("`git {}` failed: {words}", task(command))
}

/// The git subcommand: the first argument after git's own options.
fn task(command: &Command) -> String {
    let mut arguments = command.get_args();
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("-C" | "-c") => drop(arguments.next()),
            Some(option) if option.starts_with("--") => {}
            _ => return argument.to_string_lossy().into_owned(),
        }
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::sandbox::Sandbox;

    #[test]
    fn a_variable_that_names_another_repository_is_not_heard() {
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"] {
            assert!(names_a_repository(OsStr::new(name)), "{name}");
        }
        for name in ["GIT_CONFIG_COUNT", "GIT_NAMESPACE", "GIT_LITERAL_PATHSPECS", "GIT_PREFIX"] {
            assert!(names_a_repository(OsStr::new(name)), "{name}");
        }
        for name in ["GIT_CONFIG_GLOBAL", "GIT_EXEC_PATH", "PATH", "HOME", "DIGIT_X"] {
            assert!(!names_a_repository(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn an_error_names_the_task_and_holds_gits_words() {
        let at = Sandbox::new();
        let error = output(command(&at.root()).args(["rev-parse", "--verify", "nothing"]));
        let error = error.unwrap_err().to_string();
        assert_eq!(error, "`git rev-parse` failed: fatal: Needed a single revision");
    }

    #[test]
    fn a_git_that_is_not_there_is_told_from_one_that_fails() {
        let at = Sandbox::folder();
        let missing = output(&mut Command::new(at.path("git"))).unwrap_err();
        assert!(is_missing(&missing), "{missing:#}");
        let failed = output(command(&at.root()).arg("status")).unwrap_err();
        assert!(!is_missing(&failed), "{failed:#}");
    }

    #[test]
    fn the_folder_of_the_hooks_is_the_configured_one() {
        let at = Sandbox::new();
        assert_eq!(hooks_folder(&at.root()), None);
        at.git("config core.hooksPath .husky/_");
        assert_eq!(hooks_folder(&at.root()), Some(at.path(".husky/_")));
    }

    #[test]
    fn a_folder_with_a_broken_repository_is_not_taken_for_the_one_around_it() {
        let at = Sandbox::new();
        std::fs::create_dir_all(at.path("sub/.git")).unwrap();
        assert!(output(command(&at.path("sub")).args(["rev-parse", "HEAD"])).is_err());
    }
}
