//! The worktree in which merges are made and tested, next to the workers' own.
//!
//! It is inside the project, so that programs find what they look for in parent folders. While
//! commands run, the installed packages that git ignores are linked into it. It is removed at the
//! end; the next merge removes the one of a killed merge.

use crate::git::checkpoint::tree_of;
use crate::git::checkpoint::work::by_person;
use crate::git::tree_id::readable;
use crate::{git, git::worktrees};
use anyhow::{Context, Result};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How many ignored files and folders are checked for what commands need.
const MOST_LOOKED_AT: usize = 20_000;

/// The worktree; dropping this removes it.
#[derive(Debug)]
pub struct Bench {
    top: PathBuf,
    folder: PathBuf,
    /// The commit that is checked out, and that the loop will get.
    head: String,
    links: Vec<PathBuf>,
}

/// The result of one merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tried {
    /// This commit contains both.
    Merged(String),
    /// The commit brought nothing new.
    Nothing,
    /// Both sides changed these files in conflicting ways.
    Conflict(Vec<String>),
    /// Git refused, with this message.
    Cannot(String),
}

impl Bench {
    /// Creates the worktree at `folder`, at this commit.
    ///
    /// # Errors
    /// If git fails or the disk is full.
    pub fn set(top: &Path, folder: &Path, commit: &str) -> Result<Bench> {
        remove(top, folder)?;
        let bench = Bench {
            top: top.to_owned(),
            folder: folder.to_owned(),
            head: commit.to_owned(),
            links: Vec::new(),
        };
        let mut add = git::command(top);
        // Force: git may still list a worktree whose folder is gone.
        add.args(["worktree", "add", "-q", "--force", "--detach"]).arg(folder).arg(commit);
        git::output(&mut add)
            .with_context(|| format!("could not make the worktree `{}`", folder.display()))?;
        Ok(bench)
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The commit that is checked out.
    pub fn head(&self) -> &str {
        &self.head
    }

    /// The name of the git tree that is checked out.
    ///
    /// # Errors
    /// If git fails.
    pub fn tree(&self) -> Result<String> {
        tree_of(&self.folder, &self.head)
    }

    /// True if no command has changed a file that the commit has.
    ///
    /// # Errors
    /// If git cannot be asked.
    pub fn is_unchanged(&self) -> Result<bool> {
        let mut diff = git::command(&self.folder);
        git::agreed(diff.args(["diff", "--quiet", "--no-ext-diff", &self.head, "--"]))
    }

    /// Merges a commit. Unless the result is `Merged`, the worktree is as before.
    ///
    /// # Errors
    /// If git cannot be asked.
    pub fn merge(&mut self, commit: &str, message: &str) -> Result<Tried> {
        if worktrees::contains(&self.folder, &self.head, commit)? {
            return Ok(Tried::Nothing);
        }
        self.clear()?;
        let mut command = git::command(&self.folder);
        by_person(&self.top, &mut command)?;
        own_drivers(&self.top, &mut command)?;
        command.args(["-c", "rerere.enabled=false", "-c", "i18n.commitEncoding=UTF-8", "merge"]);
        command.args(["--no-ff", "--no-edit", "--no-verify", "--no-gpg-sign", "--no-stat", "-q"]);
        command.args(["--no-log", "--no-signoff", "--no-autostash", "--no-verify-signatures"]);
        command.args(["--cleanup=whitespace", "-m", &message.replace('\0', " "), commit]);
        let Err(error) = git::output(&mut command) else {
            self.head = git::line(git::command(&self.folder).args(["rev-parse", "HEAD"]))?;
            return Ok(Tried::Merged(self.head.clone()));
        };
        let files = unmerged(&self.folder)?;
        self.clear()?;
        Ok(match files.is_empty() {
            true => Tried::Cannot(format!("{error:#}")),
            false => Tried::Conflict(files),
        })
    }

    /// Goes back to an earlier commit.
    ///
    /// # Errors
    /// If git fails.
    pub fn go_back(&mut self, commit: &str) -> Result<()> {
        commit.clone_into(&mut self.head);
        self.clear()
    }

    /// Removes what merges and commands have left, except ignored files: build results help the
    /// next command.
    fn clear(&mut self) -> Result<()> {
        for link in self.links.drain(..) {
            // Skip what is not a link any more.
            if link.symlink_metadata().is_ok_and(|about| about.is_symlink()) {
                std::fs::remove_file(&link)
                    .with_context(|| format!("could not remove `{}`", link.display()))?;
            }
        }
        git::output(git::command(&self.folder).args(["reset", "-q", "--hard", &self.head]))?;
        git::output(git::command(&self.folder).args(["clean", "-q", "-ffd"])).map(drop)
    }

    /// The linked files and folders, relative to the worktree.
    pub fn linked(&self) -> impl Iterator<Item = String> + '_ {
        let names = self.links.iter().filter_map(|link| link.strip_prefix(&self.folder).ok());
        names.map(|name| name.to_string_lossy().into_owned())
    }

    /// Links ignored files and folders from the main working tree for which `is_needed` returns
    /// true. Nothing is ever committed while such a link exists.
    ///
    /// # Errors
    /// If git fails, or a link cannot be created.
    pub fn link(&mut self, is_needed: fn(&Path) -> bool) -> Result<()> {
        let mut list = git::command(&self.top);
        list.args(["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"]);
        let listed = git::output(&mut list).context("could not list what git ignores")?;
        let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        for name in names.take(MOST_LOOKED_AT) {
            let name = Path::new(OsStr::from_bytes(name.strip_suffix(b"/").unwrap_or(name)));
            let link = self.folder.join(name);
            let has_place = link.parent().is_some_and(Path::is_dir);
            if !is_needed(name) || !has_place || link.symlink_metadata().is_ok() {
                continue;
            }
            std::os::unix::fs::symlink(self.top.join(name), &link)
                .with_context(|| format!("could not link to `{}`", name.display()))?;
            self.links.push(link);
        }
        Ok(())
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // What remains is removed by the next merge, or by `ralph parallel clean`.
        let _ = remove(&self.top, &self.folder);
    }
}

/// Removes the worktree, in whatever state a killed process left it.
///
/// # Errors
/// If it cannot be removed.
pub fn remove(top: &Path, folder: &Path) -> Result<()> {
    let _ = worktrees::remove(top, folder);
    match folder.symlink_metadata() {
        Err(_) => Ok(()),
        Ok(about) if about.is_dir() => std::fs::remove_dir_all(folder),
        Ok(_) => std::fs::remove_file(folder),
    }
    .with_context(|| format!("could not remove `{}`", folder.display()))
}

/// Replaces the merge drivers that the configuration names, so that no such program runs. Git's own
/// merge takes their place, because git rejects a driver without a command.
fn own_drivers(top: &Path, command: &mut Command) -> Result<()> {
    let mut asked = git::command(top);
    let (_, listed) =
        git::answer(asked.args(["config", "-z", "--get-regexp", r"^merge\..*\.driver$"]))?;
    let names =
        listed.split(|byte| *byte == 0).filter_map(|entry| entry.split(|b| *b == b'\n').next());
    let names: Vec<&[u8]> = names.filter(|name| !name.is_empty()).collect();
    command.env("GIT_CONFIG_COUNT", names.len().to_string());
    for (at, name) in names.into_iter().enumerate() {
        command.env(format!("GIT_CONFIG_KEY_{at}"), OsStr::from_bytes(name));
        command
            .env(format!("GIT_CONFIG_VALUE_{at}"), "git merge-file -q --marker-size=%L %A %O %B");
    }
    Ok(())
}

/// The files with conflicts.
fn unmerged(folder: &Path) -> Result<Vec<String>> {
    let listed = git::output(git::command(folder).args(["ls-files", "-u", "-z"]))?;
    let lines = listed.split(|byte| *byte == 0).filter(|line| !line.is_empty());
    let paths = lines.filter_map(|line| line.splitn(2, |byte| *byte == b'\t').nth(1));
    let mut files: Vec<String> = paths.map(readable).collect();
    files.dedup();
    Ok(files)
}
