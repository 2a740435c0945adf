//! The present working tree in an index of our own.

use crate::git::scratch::{self, Scratch};
use crate::git::{self, litter, repository, worktrees};
use anyhow::{Context, Result};
use jiff::Timestamp;
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The pathspecs that make git skip our own folders; `progress::is_ours` decides the same for a
/// path.
pub(crate) const NOT_OURS: [&str; 5] = [
    ".",
    ":(exclude,glob)**/.omc/**",
    ":(exclude,glob)**/.ralph-sessions/**",
    ":(exclude,glob)**/.claude/worktrees/**",
    ":(exclude,glob)**/.claude/refine-sessions.json",
];

/// What happens to the contents that git stores during a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Objects {
    /// They are stored in the repository, for a commit.
    Kept,
    /// They are deleted with the index, so that a query leaves nothing behind.
    Dropped,
}

/// Whether file filters run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filters {
    /// As git runs them: a checkpoint must restore the same files. In a sandboxed loop none runs,
    /// and the checkpoint holds the files as they are.
    Run,
    /// No filter that the repository may name: nobody has asked for more than a look.
    Off,
}

/// A temporary index, and the id of the tree that it describes.
#[derive(Debug)]
pub(crate) struct ScratchIndex {
    root: PathBuf,
    scratch: Scratch,
    environment: Vec<(&'static str, OsString)>,
    filters: Filters,
    tree: String,
    is_whole: bool,
    /// The paths of the submodules that the user's index has.
    submodules: Vec<Vec<u8>>,
}

/// The author and committer of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Maker {
    Ralph,
    /// The user, as configured in git; Ralph where nothing is configured.
    User,
}

impl ScratchIndex {
    /// Adds everything to the index that a commit of all work would contain.
    pub(crate) fn gather(root: &Path, objects: Objects, filters: Filters) -> Result<ScratchIndex> {
        // git would run the filters that the other repository configures.
        if repository::is_redirected(root) {
            let file = root.join(".git/commondir");
            anyhow::bail!("`{}` makes git use another repository; remove it", file.display());
        }
        let mut work = ScratchIndex::copy(root, objects, filters)?;
        work.is_whole = work.add_all()?;
        // The files in the index that a killed client left in the working tree.
        let litter = litter::added(&work.root, &mut work.command())?;
        work.update_index(&["--force-remove"], &litter)?;
        work.tree = git::line(work.command().args(["write-tree", "--missing-ok"]))?;
        Ok(work)
    }

    /// Copies the user's index, and clears the bits that tell git not to check a file.
    fn copy(root: &Path, objects: Objects, filters: Filters) -> Result<ScratchIndex> {
        let scratch = Scratch::new()?;
        let folders = repository::around(root);
        let folders = folders.with_context(|| format!("`{}` is no repository", root.display()))?;
        let mut environment = vec![("GIT_INDEX_FILE", scratch.path("index").into_os_string())];
        if objects == Objects::Dropped {
            let own = scratch.path("objects");
            std::fs::create_dir(&own).context("could not make a folder")?;
            environment.push(("GIT_OBJECT_DIRECTORY", own.into_os_string()));
            environment.push((
                "GIT_ALTERNATE_OBJECT_DIRECTORIES",
                quoted(&folders.common().join("objects")),
            ));
        }
        copy_index(&folders.own().join("index"), &scratch.path("index"))?;
        let (root, tree) = (root.to_owned(), String::new());
        let submodules = Vec::new();
        let mut work =
            ScratchIndex { root, scratch, environment, filters, tree, is_whole: true, submodules };
        work.look_everywhere()?;
        Ok(work)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn tree(&self) -> &str {
        &self.tree
    }

    /// False if some files could not be read; they are as in the user's index.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// A changed file that git left out although it can be read: the disk was full, or git takes no file of this name.
    pub(crate) fn left_out(&self) -> Result<Option<PathBuf>> {
        if self.is_whole {
            return Ok(None);
        }
        let mut command = self.command();
        command.args(["ls-files", "-z", "--others", "--modified", "--exclude-standard", "--"]);
        let listed = git::output(command.args(NOT_OURS))?;
        let mut paths =
            git::zero_ended(&listed).map(|path| self.root.join(OsStr::from_bytes(path)));
        let is_readable = |path: &PathBuf| {
            path.symlink_metadata().is_ok_and(|about| about.is_file()) && File::open(path).is_ok()
        };
        Ok(paths.find(is_readable))
    }

    /// A git command that uses this index.
    pub(crate) fn command(&self) -> Command {
        let mut command = git::command(&self.root);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        if self.filters == Filters::Off || git::is_within_bounds() {
            git::without_filters(&mut command, &self.root);
        }
        command
    }

    /// A git command that uses another index of this name, next to this one.
    pub(crate) fn command_with(&self, index: &str) -> Command {
        let mut command = self.command();
        command.env("GIT_INDEX_FILE", self.scratch.path(index));
        command
    }

    /// Changes the entries of these paths.
    fn update_index(&self, options: &[&str], paths: &[Vec<u8>]) -> Result<()> {
        if paths.is_empty() {
            return Ok(());
        }
        let paths: Vec<u8> = paths.iter().flat_map(|path| [path, &b"\0"[..]].concat()).collect();
        let mut command = self.command();
        command.arg("update-index").args(options).args(["-z", "--stdin"]);
        git::output(command.stdin(scratch::input(&paths)?)).map(drop)
    }

    /// Commits the tree on top of `HEAD`, if there is one, and returns the commit's id.
    pub(crate) fn commit(&self, maker: Maker, message: &str, now: Timestamp) -> Result<String> {
        let head = worktrees::tip(&self.root, "HEAD")?;
        let mut command = self.command();
        command.args([
            "-c",
            "i18n.commitEncoding=UTF-8",
            "commit-tree",
            "--no-gpg-sign",
            "-F",
            "-",
        ]);
        if let Some(head) = head {
            command.args(["-p", &head]);
        }
        match maker {
            Maker::Ralph => git::by_ralph(&mut command),
            Maker::User => git::by_user(&self.root, &mut command)?,
        }
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_DATE"), format!("@{} +0000", now.as_second()));
        }
        let message = message.replace('\0', " ");
        git::line(command.arg(&self.tree).stdin(scratch::input(message.as_bytes())?))
    }

    /// Clears the bits that tell git not to check a file: a hidden edit is work, too. Files that a
    /// sparse checkout leaves out of the working tree keep their bit; without it they would count
    /// as deleted.
    fn look_everywhere(&mut self) -> Result<()> {
        let listed = git::output(self.command().args(["ls-files", "-v", "--stage", "-z"]))?;
        let (mut assumed, mut skipped) = (Vec::new(), Vec::new());
        // For example `H 100644 <object> 0<tab>path`.
        for line in git::zero_ended(&listed).filter(|line| line.len() > 2) {
            let Some(tab) = line.iter().position(|byte| *byte == b'\t') else { continue };
            let (letter, path) = (line[0], &line[tab + 1..]);
            if line[2..].starts_with(b"160000 ") {
                self.submodules.push(path.to_owned());
            }
            let is_skipped = letter.eq_ignore_ascii_case(&b'S');
            let is_there = || self.root.join(OsStr::from_bytes(path)).symlink_metadata().is_ok();
            if is_skipped && is_there() {
                skipped.push(path.to_owned());
            }
            if letter.is_ascii_lowercase() {
                assumed.push(path.to_owned());
            }
        }
        self.update_index(&["--no-assume-unchanged"], &assumed)?;
        self.update_index(&["--no-skip-worktree"], &skipped)
    }

    /// Adds all files. Exit code 1 means that some files could not be read; the others are in, and
    /// a checkpoint without one unreadable file is better than none.
    fn add_all(&self) -> Result<bool> {
        let mut command = self.command();
        // `--sparse`: files may exist where a sparse checkout would have none.
        command.args(["-c", "advice.addEmbeddedRepo=false", "add", "-A", "--sparse"]);
        command.arg("--ignore-errors").arg("--").args(NOT_OURS);
        for path in &self.submodules {
            command.arg(OsStr::from_bytes(&[b":(exclude,literal)", &path[..]].concat()));
        }
        let added = git::answer(&mut command)?;
        // `git add` would look for changes inside of submodules, and so run the filters that their
        // own configuration names, which the model may have written.
        self.update_index(&["--add", "--remove", "--replace"], &self.submodules)?;
        Ok(added.0)
    }
}

/// Copies an index with its modification time. Git takes an entry as unchanged if its file's time
/// is older than the index. If the copy had the present time, git would miss an edit of equal size
/// made in the same moment as the user's last `git add`.
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

/// Quotes a path for a list of paths, in which a colon would separate two of them.
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
