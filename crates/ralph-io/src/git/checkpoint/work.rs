//! The work tree as it is now, in an index of our own.

use crate::git;
use crate::git::scratch::Scratch;
use anyhow::{Context, Result};
use jiff::Timestamp;
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What git is told to leave out; `progress::is_ours` says the same of a path.
pub(crate) const NOT_OURS: [&str; 5] = [
    ".",
    ":(exclude,glob)**/.omc/**",
    ":(exclude,glob)**/.ralph-sessions/**",
    ":(exclude,glob)**/.claude/worktrees/**",
    ":(exclude,glob)**/.claude/refine-sessions.json",
];

/// What becomes of the contents that git stores while it looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Objects {
    /// They go to the repository, for a commit.
    Kept,
    /// They go with the index: a question leaves nothing behind.
    Dropped,
}

/// Whether the filters of files are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filters {
    /// As git does: a checkpoint must be restored to the same files.
    Run,
    /// None that the repository may name: nobody has asked for anything but a look.
    Off,
}

/// The index, and the id of the tree that it makes.
#[derive(Debug)]
pub(crate) struct ScratchIndex {
    root: PathBuf,
    scratch: Scratch,
    environment: Vec<(&'static str, OsString)>,
    filters: Filters,
    tree: String,
    is_whole: bool,
}

/// Who is named as the maker of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Maker {
    /// We are.
    Ralph,
    /// The person, as their git is configured; we are where it is not.
    Person,
}

impl ScratchIndex {
    /// Puts everything into the index that a commit of all work would hold.
    pub(crate) fn gather(root: &Path, objects: Objects) -> Result<ScratchIndex> {
        ScratchIndex::gather_with(root, objects, Filters::Run)
    }

    /// As [`Work::gather`], with or without the filters of the repository.
    pub(crate) fn gather_with(
        root: &Path,
        objects: Objects,
        filters: Filters,
    ) -> Result<ScratchIndex> {
        let mut work = ScratchIndex::copy(root, objects, filters)?;
        work.is_whole = work.add_all()?;
        work.tree = git::line(work.command().args(["write-tree", "--missing-ok"]))?;
        Ok(work)
    }

    /// The user's index as it is, but for the bits that tell git not to look at a file.
    fn copy(root: &Path, objects: Objects, filters: Filters) -> Result<ScratchIndex> {
        let scratch = Scratch::new()?;
        let mut asked = git::command(root);
        let asked =
            git::output(asked.args(["rev-parse", "--absolute-git-dir", "--git-path", "objects"]))?;
        let mut lines =
            asked.split(|byte| *byte == b'\n').map(|line| root.join(OsStr::from_bytes(line)));
        let git_dir = lines.next().unwrap_or_default();
        let stored = lines.next().unwrap_or_default();
        let mut environment = vec![("GIT_INDEX_FILE", scratch.path("index").into_os_string())];
        if objects == Objects::Dropped {
            let own = scratch.path("objects");
            std::fs::create_dir(&own).context("could not make a folder")?;
            environment.push(("GIT_OBJECT_DIRECTORY", own.into_os_string()));
            environment.push(("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted(&stored)));
        }
        copy_index(&git_dir.join("index"), &scratch.path("index"))?;
        let (root, tree) = (root.to_owned(), String::new());
        let work = ScratchIndex { root, scratch, environment, filters, tree, is_whole: true };
        work.look_everywhere()?;
        Ok(work)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn tree(&self) -> &str {
        &self.tree
    }

    /// False if some files could not be read, and are as the user's index has them.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// A git with this index.
    pub(crate) fn command(&self) -> Command {
        let mut command = git::command(&self.root);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        if self.filters == Filters::Off {
            git::without_filters(&mut command, &self.root);
        }
        command
    }

    /// A git with another index beside this one, of this name.
    pub(crate) fn command_with(&self, index: &str) -> Command {
        let mut command = self.command();
        command.env("GIT_INDEX_FILE", self.scratch.path(index));
        command
    }

    /// Bytes as a file that git can read as its standard input.
    pub(crate) fn input(&self, name: &str, bytes: &[u8]) -> Result<File> {
        let path = self.scratch.path(name);
        std::fs::write(&path, bytes)
            .and_then(|()| File::open(&path))
            .with_context(|| format!("could not write `{}`", path.display()))
    }

    /// Makes a commit of the tree, on top of `HEAD` if there is one, and returns its id.
    pub(crate) fn commit(&self, maker: Maker, message: &str, now: Timestamp) -> Result<String> {
        let mut asked = self.command();
        let (is_born, head) =
            git::answer(asked.args(["rev-parse", "-q", "--verify", "HEAD^{commit}"]))?;
        let mut command = self.command();
        command.args([
            "-c",
            "i18n.commitEncoding=UTF-8",
            "commit-tree",
            "--no-gpg-sign",
            "-F",
            "-",
        ]);
        if is_born {
            command.arg("-p").arg(String::from_utf8_lossy(&head).trim());
        }
        match maker {
            Maker::Ralph => by_ralph(&mut command),
            Maker::Person => by_person(&self.root, &mut command)?,
        }
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_DATE"), format!("@{} +0000", now.as_second()));
        }
        let message = message.replace('\0', " ");
        git::line(command.arg(&self.tree).stdin(self.input("message", message.as_bytes())?))
    }

    /// Takes back the bits that tell git not to look at a file: a hidden edit is work, too. Files
    /// that a sparse checkout leaves out of the work tree keep theirs, or they would be deletions.
    fn look_everywhere(&self) -> Result<()> {
        let listed = git::output(self.command().args(["ls-files", "-v", "-z"]))?;
        let (mut assumed, mut skipped) = (Vec::new(), Vec::new());
        for line in listed.split(|byte| *byte == 0).filter(|line| line.len() > 2) {
            let (letter, path) = (line[0], &line[2..]);
            let is_skipped = letter.eq_ignore_ascii_case(&b'S');
            let is_there = || self.root.join(OsStr::from_bytes(path)).symlink_metadata().is_ok();
            if is_skipped && is_there() {
                skipped.extend([path, b"\0"].concat());
            }
            if letter.is_ascii_lowercase() {
                assumed.extend([path, b"\0"].concat());
            }
        }
        for (option, paths) in [("--no-assume-unchanged", assumed), ("--no-skip-worktree", skipped)]
        {
            if !paths.is_empty() {
                let mut command = self.command();
                command.args(["update-index", option, "-z", "--stdin"]);
                git::output(command.stdin(self.input("paths", &paths)?))?;
            }
        }
        Ok(())
    }

    /// Exit code 1 says that some files could not be read; the others are in, and a checkpoint
    /// without one unreadable file is better than none.
    fn add_all(&self) -> Result<bool> {
        let mut command = self.command();
        // `--sparse`: files may stand where a sparse checkout would have none.
        command.args(["-c", "advice.addEmbeddedRepo=false", "add", "-A", "--sparse"]);
        let added = git::answer(command.arg("--ignore-errors").arg("--").args(NOT_OURS))?;
        Ok(added.0)
    }
}

/// Names us as the maker of a commit.
fn by_ralph(command: &mut Command) {
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "Ralph");
        command.env(format!("GIT_{who}_EMAIL"), "ralph@localhost");
    }
}

/// Leaves it to git to name the person, where it is configured to.
pub(crate) fn by_person(root: &Path, command: &mut Command) -> Result<()> {
    for name in ["user.name", "user.email"] {
        if !git::answer(git::command(root).args(["config", "--get", name]))?.0 {
            by_ralph(command);
        }
    }
    Ok(())
}

/// The copy has the original's time of writing. Git takes an entry for unchanged if its file's time
/// is older than the index: with a time of now, an edit made in the same moment as the user's last
/// `git add`, of equal size, would be taken for what was added.
fn copy_index(from: &Path, to: &Path) -> Result<()> {
    let copy = || -> std::io::Result<()> {
        let mut from = match File::open(from) {
            Ok(file) => file,
            // Nothing was ever added.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        let written = from.metadata()?.modified()?;
        let mut to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
        std::io::copy(&mut from, &mut to)?;
        to.set_modified(written)
    };
    copy().with_context(|| format!("could not copy `{}`", from.display()))
}

/// A path in a list of paths, where a colon would part two of them.
fn quoted(path: &Path) -> OsString {
    let mut quoted = vec![b'"'];
    for byte in path.as_os_str().as_bytes() {
        if matches!(byte, b'"' | b'\\') {
            quoted.push(b'\\');
        }
        quoted.push(*byte);
    }
    quoted.push(b'"');
    OsString::from_vec(quoted)
}
