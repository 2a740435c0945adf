//! Whose the repositories and the operations are that the user's next git command meets in the project:
//! what appears during a run needs the user's word, `ralph accept`, before its loop ends `complete`.

use anyhow::Result;
use ralph_core::text::plural::noun;
use ralph_io::git::commit::DirtyFiles;
use ralph_io::git::left;
use std::path::{Path, PathBuf};

/// Those that are the user's, below the loop's folder.
const KNOWN: &str = "git-known";

/// Those that were there at the last look and are not.
const NAMED: &str = "git-named";

/// What the rounds of a loop leave for git.
pub(crate) struct LeftForGit {
    root: PathBuf,
    folder: PathBuf,
    known: DirtyFiles,
}

/// What a look has found.
pub(crate) struct GitLook {
    /// What the loop needs the user for.
    pub(crate) question: Option<String>,
    /// The same without what an earlier look had found.
    pub(crate) news: Option<String>,
}

impl LeftForGit {
    /// `was_killed` is true if the last run of this loop was killed in a round: otherwise what has appeared
    /// since its last look is the user's.
    pub(crate) fn begin(root: &Path, folder: &Path, was_killed: bool) -> Result<LeftForGit> {
        let known = match DirtyFiles::load(&folder.join(KNOWN))? {
            Some(known) if was_killed => known,
            Some(known) => known.with(left::scan_worktree(root).without(&named(folder)?)),
            None => left::scan_worktree(root),
        };
        known.save(&folder.join(KNOWN))?;
        Ok(LeftForGit { root: root.to_owned(), folder: folder.to_owned(), known })
    }

    pub(crate) fn find_changes(&self) -> Result<GitLook> {
        let found = left::scan_worktree(&self.root).without(&self.known);
        let news = question(&found.without(&named(&self.folder)?));
        if self.folder.exists() {
            found.save(&self.folder.join(NAMED))?;
        }
        Ok(GitLook { question: question(&found), news })
    }
}

/// The user's question about these; `None` if there are none.
fn question(left: &DirtyFiles) -> Option<String> {
    const NAMED: usize = 5;
    if left.is_empty() {
        return None;
    }
    let names: Vec<String> = left.names(NAMED).iter().map(|name| format!("`{name}`")).collect();
    let more = if left.len() > NAMED { ", …" } else { "" };
    Some(format!(
        "the rounds left {} or {} in progress, whose programs your next git command may run: {}{more}",
        noun(left.len(), "a repository", "repositories"),
        noun(left.len(), "an operation", "operations"),
        names.join(", ")
    ))
}

fn named(folder: &Path) -> Result<DirtyFiles> {
    Ok(DirtyFiles::load(&folder.join(NAMED))?.unwrap_or_default())
}

/// Makes the user's what the last look has found; returns the names.
pub(crate) fn accept(folder: &Path) -> Result<Vec<String>> {
    let named = named(folder)?;
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let names = named.names(usize::MAX);
    let known = DirtyFiles::load(&folder.join(KNOWN))?.unwrap_or_default();
    known.with(named).save(&folder.join(KNOWN))?;
    DirtyFiles::default().save(&folder.join(NAMED))?;
    Ok(names)
}
