//! Reads facts about a repository from its files; asks git only within a time limit.
//!
//! Starting git costs more than reading all these files together.

use crate::process::{self, Running};
use crate::{git, git::tree, project::safe_read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Larger than any hand-made path, message or list of stashes.
const LARGEST: u64 = 1 << 20;

/// The status of some hundred thousand changed files.
const MOST_PRINTED: usize = 32 << 20;

/// Of the files that we read, those that all worktrees of a repository share.
const SHARED: [&str; 5] = ["config", "shallow", "info/exclude", "packed-refs", "logs/refs/stash"];

/// A working tree and its git folders.
#[derive(Debug, Clone)]
pub struct Repository {
    /// The top of the working tree.
    pub top: PathBuf,
    own: PathBuf,
    common: PathBuf,
}

/// The repository that holds a folder, whose path must have no links. `None` if there is no
/// repository, or its `.git` leads nowhere.
pub fn around(folder: &Path) -> Option<Repository> {
    let top = tree::repository_root(folder)?;
    let own = own_folder(&top)?;
    let common = match safe_read::text(&own.join("commondir"), LARGEST) {
        Ok(Some(relative)) => own.join(relative.trim()).canonicalize().ok()?,
        _ => own.clone(),
    };
    Some(Repository { top, own, common })
}

/// True if a file in the git folder of a main working tree makes git use the configuration and the
/// objects of another repository. Only a linked worktree has such a file, and a sandboxed command
/// can write one.
pub fn is_redirected(top: &Path) -> bool {
    let dot_git = top.join(".git");
    dot_git.is_dir() && dot_git.join("commondir").symlink_metadata().is_ok()
}

/// The git folder of a working tree: `.git`, or the folder that the file `.git` points to.
pub(super) fn own_folder(top: &Path) -> Option<PathBuf> {
    let dot_git = top.join(".git");
    if dot_git.is_dir() {
        return dot_git.canonicalize().ok();
    }
    let pointer = safe_read::text(&dot_git, LARGEST).ok()??;
    top.join(pointer.strip_prefix("gitdir:")?.trim()).canonicalize().ok()
}

impl Repository {
    /// The common git folder, which is the same for all worktrees of the repository.
    pub fn common(&self) -> &Path {
        &self.common
    }

    /// The git folder of this work tree alone: the common one, unless it is a linked worktree.
    pub fn own(&self) -> &Path {
        &self.own
    }

    /// Reads a file of the worktree's git folder, or of the common git folder if all worktrees
    /// share it.
    pub fn text(&self, path: &str) -> Option<String> {
        let folder = match SHARED.contains(&path) {
            true => &self.common,
            false => &self.own,
        };
        safe_read::text(&folder.join(path), LARGEST).ok().flatten()
    }

    /// The main working tree, if this is a linked one. A bare repository has none.
    pub fn main_work_tree(&self) -> Option<PathBuf> {
        let main = self.common.parent().filter(|_| self.common.ends_with(".git"))?;
        let is_linked = self.own.parent().is_some_and(|above| above.ends_with("worktrees"));
        (is_linked && main != self.top).then(|| main.to_owned())
    }

    /// Runs git and returns its output; `None` if git is missing, fails or takes too long.
    pub fn ask(&self, arguments: &[&str], limit: Duration) -> Option<Vec<u8>> {
        answer(self.begin(arguments)?, limit)
    }

    /// Starts git, so that other work can be done while it runs; [`answer`] gives its output.
    ///
    /// Every new session asks, even in a folder that was unpacked a minute ago and that nobody
    /// trusts yet. So git does not run if the repository's own configuration may name filters,
    /// which git runs at a `status`: only filters cannot be switched off without knowing their
    /// names. In a sandboxed loop none may run, and their names are looked up.
    pub fn begin(&self, arguments: &[&str]) -> Option<Running> {
        let is_bounded = git::is_within_bounds();
        if self.may_name_filters() && !is_bounded {
            return None;
        }
        let mut command = git::command(&self.top);
        if is_bounded {
            git::without_filters(&mut command, &self.top);
        }
        process::start(command.args(arguments)).ok()
    }
}

/// The output of git; `None` if it fails or takes too long.
pub fn answer(git: Running, limit: Duration) -> Option<Vec<u8>> {
    let finished = git.finish(Instant::now() + limit, MOST_PRINTED).ok()?;
    (finished.status.success() && !finished.capped).then_some(finished.stdout)
}

impl Repository {
    /// True if the repository's own configuration may name filters.
    pub(crate) fn may_name_filters(&self) -> bool {
        ["config", "config.worktree"].iter().any(|file| self.says_filter(file))
    }

    fn says_filter(&self, file: &str) -> bool {
        let is_there = |folder: &Path| folder.join(file).symlink_metadata().is_ok();
        match self.text(file) {
            Some(text) => {
                let text = text.to_ascii_lowercase();
                text.contains("filter") || text.contains("include")
            }
            // A file that cannot be read may contain anything.
            None => is_there(&self.own) || is_there(&self.common),
        }
    }
}

/// The patterns that the user has git ignore everywhere; `None` if not set.
///
/// Reads the usual forms: `core.excludesFile` in the user's own configuration, otherwise git's
/// default path. Included configuration files are not followed.
pub fn persons_excludes() -> Option<String> {
    let set = |name: &str| {
        std::env::var_os(name).map(PathBuf::from).filter(|path| !path.as_os_str().is_empty())
    };
    let home = set("HOME");
    let of_git = set("XDG_CONFIG_HOME")
        .or_else(|| home.as_ref().map(|home| home.join(".config")))
        .map(|folder| folder.join("git"));
    let places = match set("GIT_CONFIG_GLOBAL") {
        Some(only) => [Some(only), None],
        None => [
            home.as_ref().map(|home| home.join(".gitconfig")),
            of_git.as_ref().map(|folder| folder.join("config")),
        ],
    };
    let read = |path: &Path| safe_read::text(path, LARGEST).ok().flatten();
    let named = places.iter().flatten().find_map(|path| excludes_file(&read(path)?));
    let path = match (named, &home) {
        (Some(named), Some(home)) => match named.strip_prefix("~/") {
            Some(below) => home.join(below),
            None => PathBuf::from(named),
        },
        (Some(named), None) => PathBuf::from(named),
        (None, _) => of_git?.join("ignore"),
    };
    read(&path)
}

/// The last `excludesFile` in the section `[core]`.
fn excludes_file(config: &str) -> Option<String> {
    let mut in_core = false;
    let mut found = None;
    for line in config.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            in_core = section.trim_end_matches(']').trim().eq_ignore_ascii_case("core");
        } else if let Some((key, value)) = line.split_once('=').filter(|_| in_core)
            && key.trim().eq_ignore_ascii_case("excludesfile")
        {
            found = Some(value.trim().trim_matches('"').to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::sandbox::Sandbox;

    const LIMIT: Duration = Duration::from_secs(20);

    #[test]
    fn a_linked_work_tree_has_files_of_its_own_and_some_that_it_shares() {
        let at = Sandbox::new();
        at.git("worktree add -q linked");
        let main = around(&at.root()).unwrap();
        assert_eq!(main.main_work_tree(), None);
        assert_eq!(main.text("HEAD").unwrap(), "ref: refs/heads/main\n");
        let linked = around(&at.path("linked/none")).unwrap();
        assert_eq!(linked.top, at.path("linked"));
        assert_eq!(linked.main_work_tree(), Some(at.root()));
        assert_eq!(linked.text("HEAD").unwrap(), "ref: refs/heads/linked\n");
        assert!(linked.text("config").unwrap().contains("[core]"));
        assert_eq!(linked.common(), main.common());
        assert_eq!(linked.text("MERGE_HEAD"), None);
        assert!(!linked.ask(&["log", "--format=%s"], LIMIT).unwrap().is_empty());
    }

    #[test]
    fn the_persons_own_patterns_are_named_in_the_section_core() {
        let named = |config| excludes_file(config).unwrap_or_default();
        assert_eq!(named("[user]\nname = x\n[core]\n\texcludesFile = ~/a b\n"), "~/a b");
        assert_eq!(named("[Core]\nEXCLUDESFILE = \"/x\"\nexcludesfile=/y\n"), "/y");
        assert_eq!(named("[other]\nexcludesfile = /x\n[core \"x\"]\nexcludesfile = /y\n"), "");
    }

    #[test]
    fn a_broken_repository_is_none_and_a_failing_git_says_nothing() {
        let at = Sandbox::folder();
        assert!(around(&at.root()).is_none());
        for broken in ["", "gitdir: /no/such/folder\n", "nonsense"] {
            at.write(".git", broken);
            assert!(around(&at.root()).is_none(), "{broken}");
        }
        std::fs::remove_file(at.path(".git")).unwrap();
        std::fs::create_dir(at.path(".git")).unwrap();
        let empty = around(&at.root()).unwrap();
        assert_eq!(empty.text("HEAD"), None);
        assert_eq!(empty.ask(&["status"], LIMIT), None);
    }
}
