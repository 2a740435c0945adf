//! Commits what a loop changed, for the commands that the user named for it: `ralph run --commit`
//! and `ralph build --commit`. The project's git hooks run; nothing else here starts a program of
//! the repository but its filters.
//!
//! Files that were dirty before the run belong to the user. Ralph commits such a file only if the
//! run changed it since, as one file cannot be committed in part. `git add -A` is never used.

use crate::git;
use crate::git::tree;
use crate::process::command::{self, CommandEnd, CommandOrder};
use crate::process::programs;
use crate::store::{atomic, digest};
use anyhow::{Context, Result, bail};
use ralph_core::shell::quoted;
use ralph_core::state::Bounds;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// How long a commit may take with the project's hooks, which often run its checks.
const WITH_HOOKS: Duration = Duration::from_secs(600);

/// Files that differ from `HEAD`, each with a digest of its present content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DirtyFiles(pub(super) BTreeMap<Vec<u8>, String>);

impl DirtyFiles {
    /// The files that differ from `HEAD` in the repository at `top`, without those that git and
    /// Ralph ignore.
    pub fn scan(top: &Path) -> Result<DirtyFiles> {
        let option = git::is_within_bounds().then_some(git::NO_SUBMODULES);
        let paths = git::uncommitted(&mut git::command(top), option);
        let paths = paths.context("could not list the changed files")?.into_iter();
        Ok(DirtyFiles(paths.map(|path| (path.clone(), print(top, &path))).collect()))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The names of at most `most` files, for a person.
    pub fn names(&self, most: usize) -> Vec<String> {
        self.0.keys().take(most).map(|path| String::from_utf8_lossy(path).into_owned()).collect()
    }

    /// These files without those that `other` has with the same content.
    #[must_use]
    pub fn without(&self, other: &DirtyFiles) -> DirtyFiles {
        let files = self.0.iter().filter(|(path, print)| other.0.get(*path) != Some(*print));
        DirtyFiles(files.map(|(path, print)| (path.clone(), print.clone())).collect())
    }

    /// These files and those of `other`, whose content counts.
    #[must_use]
    pub fn with(mut self, other: DirtyFiles) -> DirtyFiles {
        self.0.extend(other.0);
        self
    }

    /// The files of a killed run, as [`DirtyFiles::save`] wrote them; `None` if there are none.
    pub fn load(path: &Path) -> Result<Option<DirtyFiles>> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(error).with_context(|| format!("could not read `{}`", path.display()));
            }
        };
        let mut parts = bytes.split(|byte| *byte == 0);
        let mut files = BTreeMap::new();
        while let (Some(path), Some(print)) = (parts.next(), parts.next()) {
            files.insert(path.to_owned(), String::from_utf8_lossy(print).into_owned());
        }
        Ok(Some(DirtyFiles(files)))
    }

    /// Writes the files, so that the next run knows them if this one is killed.
    pub fn save(&self, path: &Path) -> Result<()> {
        let mut bytes = Vec::new();
        for (path, print) in &self.0 {
            bytes.extend_from_slice(path);
            bytes.push(0);
            bytes.extend_from_slice(print.as_bytes());
            bytes.push(0);
        }
        atomic::write(path, &bytes)
    }
}

/// Kind, executable bit and content of a file as it is now.
fn print(top: &Path, path: &[u8]) -> String {
    let place = top.join(OsStr::from_bytes(path));
    match place.symlink_metadata() {
        Err(_) => "gone".to_owned(),
        Ok(file) if file.is_symlink() => {
            let target = std::fs::read_link(&place).unwrap_or_default();
            format!("link {}", digest::of_bytes(target.as_os_str().as_bytes()))
        }
        // A submodule: only its own git knows what it holds.
        Ok(file) if file.is_dir() => "folder".to_owned(),
        Ok(file) => {
            format!("{:o} {}", file.permissions().mode() & 0o100, digest::of_file(&place))
        }
    }
}

/// The top of the work tree that holds a folder; `None` without a repository.
pub fn top(folder: &Path) -> Option<PathBuf> {
    let folder = folder.canonicalize().ok()?;
    tree::repository_root(&folder)
}

/// What to commit.
#[derive(Debug, Clone, Copy)]
pub struct CommitOrder<'a> {
    /// The `ralph` executable, which supervises a commit within bounds.
    pub ralph: &'a Path,
    /// The top of the work tree.
    pub top: &'a Path,
    pub files: &'a DirtyFiles,
    pub message: &'a str,
    /// The bounds of the loop; `None` if it is not sandboxed.
    pub bounds: Option<&'a Bounds>,
}

/// A commit that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeCommit {
    /// The short name of the commit.
    pub id: String,
    /// What its git hooks and filters tried outside of the bounds, and what they left running; none
    /// of it had an effect.
    pub attempts: Vec<String>,
}

/// Commits exactly these files as they are now. Other
/// staged changes stay staged. A hook may be a file of the work tree, which the model can write, so
/// within bounds the whole `git commit` runs there. It is not signed then: the keys cannot be read.
///
/// # Errors
/// If git or one of the project's hooks refuses; the error has its message. Every file keeps its
/// content, and what was staged before is staged.
pub fn commit(order: &CommitOrder<'_>) -> Result<MadeCommit> {
    let index = git::line(git::command(order.top).args(["rev-parse", "--git-path", "index"]))?;
    let index = order.top.join(index);
    let before = std::fs::read(&index).ok();
    stage_and_commit(order).inspect_err(|_| put_back(&index, before.as_deref()))
}

/// Puts the index back as it was, under git's own lock. A git that works on it at the moment keeps it.
fn put_back(index: &Path, before: Option<&[u8]>) {
    let lock = index.with_extension("lock");
    let Ok(mut file) = std::fs::File::create_new(&lock) else { return };
    let is_back = match before {
        None => std::fs::remove_file(index).is_ok(),
        Some(bytes) => file.write_all(bytes).and_then(|()| std::fs::rename(&lock, index)).is_ok(),
    };
    if before.is_none() || !is_back {
        let _ = std::fs::remove_file(&lock);
    }
}

fn stage_and_commit(order: &CommitOrder<'_>) -> Result<MadeCommit> {
    let top = order.top;
    let git_folder = git::line(git::command(top).args(["rev-parse", "--absolute-git-dir"]))?;
    // Not in the folder for temporary files, which commands within bounds do not share.
    let list = tempfile::NamedTempFile::new_in(git_folder);
    let mut list = list.context("could not list files for git")?;
    for path in order.files.0.keys() {
        list.write_all(path).and_then(|()| list.write_all(&[0])).context("could not list files")?;
    }
    let paths = format!("--pathspec-from-file={}", list.path().display());
    let add = ["--literal-pathspecs", "add", &paths, "--pathspec-file-nul"];
    let mut attempts = match order.bounds {
        None => git::output(git::command(top).args(add)).map(|_| Vec::new())?,
        // Filters run, and may be programs of the work tree.
        Some(bounds) => within(order, bounds, &add)?,
    };
    let mut words = vec!["--literal-pathspecs", "commit", "--quiet", "--only"];
    if order.bounds.is_some() {
        words.push("--no-gpg-sign");
    }
    words.extend(["--message", order.message, &paths, "--pathspec-file-nul"]);
    match order.bounds {
        None => git::output_within(with_hooks(top).args(words), WITH_HOOKS).map(drop)?,
        Some(bounds) => attempts.extend(within(order, bounds, &words)?),
    }
    let id = git::line(git::command(top).args(["rev-parse", "--short", "HEAD"]))?;
    Ok(MadeCommit { id, attempts })
}

/// An editor or a question would wait for a person who is not there.
const ALONE: [(&str, &str); 2] = [("GIT_TERMINAL_PROMPT", "0"), ("GIT_EDITOR", "true")];

/// Git's own maintenance would go on in the background, where it is ended like what a hook leaves.
const NO_MAINTENANCE: [&str; 4] = ["-c", "maintenance.auto=false", "-c", "gc.auto=0"];

/// The variables that could lead git to another repository.
fn misleading() -> impl Iterator<Item = OsString> {
    std::env::vars_os().map(|(name, _)| name).filter(|name| git::names_a_repository(name))
}

/// A git that runs the project's hooks.
fn with_hooks(top: &Path) -> Command {
    let mut command = Command::new(programs::git());
    for name in misleading() {
        command.env_remove(name);
    }
    command.envs(ALONE).arg("-C").arg(top).args(NO_MAINTENANCE);
    command.arg("--no-pager").stdin(Stdio::null());
    command
}

/// Runs git within bounds, below a supervisor that ends whatever a hook leaves. Returns what it tried
/// outside of them, and what it left.
fn within(order: &CommitOrder<'_>, bounds: &Bounds, words: &[&str]) -> Result<Vec<String>> {
    let scratch = tempfile::tempdir().context("could not make a temporary folder")?;
    let unset: Vec<String> = misleading().filter_map(|name| name.into_string().ok()).collect();
    let mut line = unset.iter().map(|name| format!("unset {}; ", quoted(name))).collect::<String>();
    line.extend(ALONE.map(|(name, value)| format!("{name}={value} ")));
    let git = quoted(&programs::git().to_string_lossy());
    line.push_str(&format!("{git} --no-pager {}", NO_MAINTENANCE.join(" ")));
    let task = words.get(1).copied().unwrap_or_default();
    words.iter().for_each(|word| line.push_str(&format!(" {}", quoted(word))));
    let run = command::run(&CommandOrder {
        ralph: order.ralph,
        command: &line,
        folder: order.top,
        output: &scratch.path().join("output"),
        deadline: WITH_HOOKS,
        bounds: Some(bounds),
    })?;
    match run.ended {
        CommandEnd::Exited(0) => {
            let left = run.left.iter().map(|name| format!("it left `{name}`, which Ralph ended"));
            Ok(run.refused.iter().cloned().chain(left).collect())
        }
        CommandEnd::NotStarted(why) => bail!("could not start `git {task}`: {why}"),
        CommandEnd::Deadline => {
            bail!("`git {task}` took longer than {} s with its hooks", WITH_HOOKS.as_secs())
        }
        _ => bail!("`git {task}` failed: {}", run.tail.trim()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::sandbox::Sandbox;

    fn order<'a>(top: &'a Path, files: &'a DirtyFiles, message: &'a str) -> CommitOrder<'a> {
        CommitOrder { ralph: Path::new("ralph"), top, files, message, bounds: None }
    }

    #[test]
    fn a_commit_holds_what_changed_since_the_run_began_and_no_other_dirty_file() {
        let at = Sandbox::new();
        let top = at.root();
        at.write("mine", "1");
        at.write("both", "1");
        let before = DirtyFiles::scan(&top).unwrap();
        let kept = at.path("kept-list");
        before.save(&kept).unwrap();
        assert_eq!(DirtyFiles::load(&kept).unwrap().unwrap(), before);
        std::fs::remove_file(&kept).unwrap();
        at.write("both", "2");
        at.write("sub/new", "3");
        let changed = DirtyFiles::scan(&top).unwrap().without(&before);
        assert_eq!(changed.names(9), ["both", "sub/new"]);
        commit(&order(&top, &changed, "Write it")).unwrap();
        let left = DirtyFiles::scan(&top).unwrap();
        assert_eq!(left.names(9), ["mine"]);
    }

    #[test]
    fn a_deleted_file_is_committed_and_what_the_user_staged_stays_staged() {
        let at = Sandbox::new();
        let top = at.root();
        at.write("old", "1");
        at.git("add old");
        at.git("commit -q -m old");
        at.write("staged", "1");
        at.git("add staged");
        let before = DirtyFiles::scan(&top).unwrap();
        std::fs::remove_file(at.path("old")).unwrap();
        let changed = DirtyFiles::scan(&top).unwrap().without(&before);
        commit(&order(&top, &changed, "Remove it")).unwrap();
        assert_eq!(DirtyFiles::scan(&top).unwrap().names(9), ["staged"]);
        let staged = git::output(git::command(&top).args(["diff", "--cached", "--name-only"]));
        assert_eq!(staged.unwrap(), b"staged\n");
    }

    /// Maintenance that leaves a trace whenever it runs.
    #[test]
    fn a_commit_starts_no_maintenance_of_git() {
        let at = Sandbox::new();
        let top = at.root();
        at.git("config maintenance.commit-graph.enabled true");
        at.git("config maintenance.commit-graph.auto -1");
        at.git("config maintenance.autoDetach false");
        at.write("new", "1");
        let changed = DirtyFiles::scan(&top).unwrap();
        commit(&order(&top, &changed, "x")).unwrap();
        let trace = at.path(".git/objects/info/commit-graphs");
        assert!(!trace.exists());
        at.git("commit -q --allow-empty -m x");
        assert!(trace.exists(), "git's own commit starts it");
    }

    #[test]
    fn a_hook_that_refuses_loses_nothing_and_its_words_are_told() {
        let at = Sandbox::new();
        let top = at.root();
        at.write(".git/hooks/pre-commit", "#!/bin/sh\necho not today >&2\nexit 1\n");
        let hook = at.path(".git/hooks/pre-commit");
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
        at.write("new", "1");
        let changed = DirtyFiles::scan(&top).unwrap();
        let error = commit(&order(&top, &changed, "x")).unwrap_err().to_string();
        assert!(error.contains("not today"), "{error}");
        assert_eq!(std::fs::read(at.path("new")).unwrap(), b"1");
        assert_eq!(DirtyFiles::scan(&top).unwrap().names(9), ["new"]);
        let staged = || git::output(git::command(&top).args(["diff", "--cached", "--name-only"]));
        assert_eq!(staged().unwrap(), b"", "as before");
        at.write("mine", "1");
        at.git("add mine");
        commit(&order(&top, &changed, "x")).unwrap_err();
        assert_eq!(staged().unwrap(), b"mine\n");
        assert!(!at.path(".git/index.lock").exists());
    }
}
