//! The progress fingerprint of a working tree: one `git status`, and the content of the files that
//! it lists; outside of a repository, all files within a bound.
//!
//! The fingerprint changes with `HEAD`, a tracked file or an untracked file, and with nothing else:
//! not with staging, touching or ignored files. The file of the loop's plan is left out: ticking a
//! box is no work. Beyond a bound of files and bytes, size and time stand for content.

use crate::git;
use crate::git::litter;
use crate::process::{self, Running, programs};
use anyhow::{Context, Result, bail};
use ralph_core::state::PlanFile;
use ralph_core::stop::progress;
use rustix::fs::{Mode, OFlags, openat};
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use walkdir::WalkDir;
use xxhash_rust::xxh3::Xxh3Default;

/// The most files whose content is read.
const MOST_FILES: usize = 2_000;

/// The most bytes of content that are read.
const MOST_BYTES: u64 = 64 << 20;

/// The time limit for git.
const DEADLINE: Duration = Duration::from_secs(10);

/// Enough for a list of a million changed files; a longer one is an error.
const MOST_LISTED: usize = 256 << 20;

/// The most files of a folder without git that are listed.
const MOST_WALKED: usize = 50_000;

/// A running `git status`.
#[derive(Debug)]
pub struct Pending {
    root: PathBuf,
    /// The paths of the plan's file below the root.
    plan: Vec<PathBuf>,
    /// `None` without a repository.
    status: Option<Running>,
}

/// Starts `git status` in the repository that holds `folder`. `plan` is the file in that folder from
/// which the loop was made.
///
/// Separate from `finish`, so that other work can be done while git runs.
pub fn begin(folder: &Path, plan: Option<&PlanFile>) -> Result<Pending> {
    let Some(root) = repository_root(folder) else {
        let plan = plan.map(|plan| paths_of(folder, &folder.join(&plan.path))).unwrap_or_default();
        return Ok(Pending { root: folder.to_owned(), plan, status: None });
    };
    let plan = plan.map(|plan| paths_of(&root, &folder.join(&plan.path))).unwrap_or_default();
    let mut command = Command::new(programs::git());
    command
        .arg("-C")
        .arg(&root)
        // Avoids the index lock of a git that the model runs at the same time.
        .arg("--no-optional-locks")
        // Both settings name programs, and the repository may come from someone else.
        .args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"])
        .args(["status", "--porcelain=v2", "-z", "--branch", "--no-ahead-behind"])
        .args(["--untracked-files=all", "--no-renames"]);
    for variable in
        ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_CONFIG_PARAMETERS"]
    {
        command.env_remove(variable);
    }
    git::without_submodules(&mut command);
    git::never_fetches(&mut command);
    git::without_filters(&mut command, &root);
    Ok(Pending { root, plan, status: Some(process::start(&mut command)?) })
}

/// A file as git lists it: under its own name, and under that of the file to which it links.
fn paths_of(root: &Path, file: &Path) -> Vec<PathBuf> {
    let named = file.strip_prefix(root).ok().map(Path::to_owned);
    let real = file.canonicalize().ok().zip(root.canonicalize().ok());
    let real = real.and_then(|(file, root)| Some(file.strip_prefix(root).ok()?.to_owned()));
    named.into_iter().chain(real).collect()
}

impl Pending {
    /// The fingerprint, as 32 hexadecimal digits.
    ///
    /// # Errors
    /// If git fails or takes too long, or the folder has too many files; that says nothing about
    /// progress.
    pub fn finish(self) -> Result<String> {
        let listing = match self.status {
            None => walked(&self.root)?,
            Some(status) => {
                let finished = status.finish(Instant::now() + DEADLINE, MOST_LISTED)?;
                if !finished.status.success() || finished.capped {
                    bail!("`git status` failed in `{}`", self.root.display());
                }
                finished.stdout
            }
        };
        let above =
            rustix::fs::open(&self.root, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(digest(&WorkTree { root: &self.root, above }, &self.plan, &listing))
    }
}

/// The files below a folder as `git status` lists untracked ones. A folder that cannot be read has none to list.
fn walked(root: &Path) -> Result<Vec<u8>> {
    let mut listing = Vec::new();
    let walk = WalkDir::new(root).min_depth(1).sort_by_file_name().into_iter().flatten();
    for (n, entry) in walk.enumerate() {
        if n >= MOST_WALKED {
            bail!("`{}` has more files than Ralph lists", root.display());
        }
        if !entry.file_type().is_dir() {
            let path = entry.path().strip_prefix(root)?;
            listing.extend([b"? ", path.as_os_str().as_bytes(), b"\0"].concat());
        }
    }
    Ok(listing)
}

/// The fingerprint of the repository that holds `folder`, or of the folder itself, without the file of
/// the plan.
pub fn fingerprint(folder: &Path, plan: Option<&PlanFile>) -> Result<String> {
    begin(folder, plan)?.finish().context("could not take the fingerprint")
}

/// The nearest folder upwards that contains a `.git`: a folder, or a file in a linked worktree.
pub fn repository_root(folder: &Path) -> Option<PathBuf> {
    folder
        .ancestors()
        .find(|place| place.join(".git").symlink_metadata().is_ok())
        .map(Path::to_owned)
}

/// The top of a work tree. Files are opened below its descriptor: a path from the root of the file
/// system would cost the system as much as the rest of the read.
struct WorkTree<'a> {
    root: &'a Path,
    above: OwnedFd,
}

fn digest(tree: &WorkTree<'_>, plan: &[PathBuf], listing: &[u8]) -> String {
    let mut hash = Xxh3Default::new();
    let mut changes: Vec<PathChange<'_>> = Vec::new();
    for record in listing.split(|byte| *byte == 0) {
        match record.strip_prefix(b"# branch.oid ") {
            Some(head) => hash.update(head),
            None => {
                let change = PathChange::parse(record);
                changes.extend(change.filter(|change| {
                    let is_plan =
                        plan.iter().any(|plan| plan.as_os_str().as_bytes() == change.path);
                    let is_untracked = record.first() == Some(&b'?');
                    !(is_plan || is_untracked && litter::is_litter(tree.root, change.path))
                }));
            }
        }
    }
    // Sorted, because staging a new file moves it to another part of the listing. Each part is sorted
    // already, which a stable sort makes use of.
    changes.sort_by(|one, other| one.path.cmp(other.path));
    let mut budget = Budget { files: MOST_FILES, bytes: MOST_BYTES };
    let mut buffer = vec![0; 64 * 1024];
    for change in changes {
        change.add_to(&mut hash, tree, &mut budget, &mut buffer);
    }
    format!("{:032x}", hash.digest128())
}

/// A path that differs from `HEAD`, however much of the change is staged.
struct PathChange<'a> {
    path: &'a [u8],
    /// The submodule's state, which stands for its content.
    submodule: Option<&'a [u8]>,
}

/// The path in a record, for the fuzz targets.
#[cfg(fuzzing)]
pub(crate) fn path_of(record: &[u8]) -> Option<&[u8]> {
    PathChange::parse(record).map(|change| change.path)
}

struct Budget {
    files: usize,
    bytes: u64,
}

impl<'a> PathChange<'a> {
    /// Parses a record of `git status --porcelain=v2`; `None` if it has no path, or the path is
    /// ours.
    fn parse(record: &'a [u8]) -> Option<PathChange<'a>> {
        let fields_before_path = match record.first()? {
            b'1' => 8,
            b'u' => 10,
            b'?' => 1,
            _ => return None,
        };
        let mut fields = record.splitn(fields_before_path + 1, |byte| *byte == b' ');
        let submodule = fields.by_ref().nth(2).filter(|field| field.first() == Some(&b'S'));
        let path = record.splitn(fields_before_path + 1, |byte| *byte == b' ').last()?;
        let ours = progress::is_ours(&String::from_utf8_lossy(path));
        (!ours).then_some(PathChange { path, submodule })
    }

    fn add_to(
        &self,
        hash: &mut Xxh3Default,
        tree: &WorkTree<'_>,
        budget: &mut Budget,
        buffer: &mut [u8],
    ) {
        hash.update(self.path);
        hash.update(&[0]);
        if let Some(state) = self.submodule {
            hash.update(state);
        }
        // A pipe in the place of a file must not hang the session.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = openat(&tree.above, self.path, flags, Mode::empty()).map(File::from);
        let path = || tree.root.join(OsStr::from_bytes(self.path));
        // A link cannot be opened, nor can a file that we may not read.
        let about = match &opened {
            Ok(file) => file.metadata(),
            Err(_) => path().symlink_metadata(),
        };
        let Ok(about) = about else {
            return hash.update(b"gone");
        };
        hash.update(&[u8::from(about.mode() & 0o111 != 0)]);
        if about.is_symlink() {
            let target = std::fs::read_link(path()).unwrap_or_default();
            hash.update(target.as_os_str().as_bytes());
        } else if about.is_file() && budget.allows(about.len()) {
            let added = opened.and_then(|file| add_content(hash, &file, about.len(), buffer));
            if added.is_err() {
                hash.update(b"unreadable");
            }
        } else {
            for number in
                [about.len(), about.mtime_nsec() as u64, about.mtime() as u64, about.ino()]
            {
                hash.update(&number.to_le_bytes());
            }
        }
    }
}

/// Hashes `length` bytes of a file. Uses the fewest system calls possible: there may be two
/// thousand files at every stop.
fn add_content(
    hash: &mut Xxh3Default,
    file: &File,
    length: u64,
    buffer: &mut [u8],
) -> rustix::io::Result<()> {
    let mut left = length;
    while left > 0 {
        let read = rustix::io::read(file, &mut *buffer)?;
        if read == 0 {
            break;
        }
        hash.update(&buffer[..read]);
        left = left.saturating_sub(read as u64);
    }
    Ok(())
}

impl Budget {
    fn allows(&mut self, bytes: u64) -> bool {
        if self.files == 0 || bytes > self.bytes {
            return false;
        }
        self.files -= 1;
        self.bytes -= bytes;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    struct Repository {
        folder: tempfile::TempDir,
    }

    impl Repository {
        fn new() -> Repository {
            let repository = Repository { folder: tempfile::tempdir().unwrap() };
            repository.git("init -q");
            repository.write("tracked", "one\n");
            repository.write(".gitignore", "ignored\n");
            repository.git("add .");
            repository.git("commit -q -m first");
            repository
        }

        fn git(&self, arguments: &str) {
            let done = Command::new("git")
                .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
                .args(arguments.split(' '))
                .current_dir(self.folder.path())
                .status()
                .unwrap();
            assert!(done.success(), "git {arguments}");
        }

        fn write(&self, path: &str, content: &str) {
            let path = self.folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }

        fn value(&self) -> String {
            fingerprint(self.folder.path(), None).unwrap()
        }

        #[track_caller]
        fn check(&self, what: &str, changes: bool, act: impl FnOnce(&Repository)) {
            let before = self.value();
            act(self);
            assert_eq!(self.value() != before, changes, "{what}");
        }
    }

    #[test]
    fn every_kind_of_work_changes_it() {
        let at = Repository::new();
        at.check("edit of equal line count", true, |r| r.write("tracked", "two\n"));
        at.check("new untracked file", true, |r| r.write("new", "a"));
        at.check("edit of an untracked file", true, |r| r.write("new", "b"));
        at.check("edit inside an untracked folder", true, |r| r.write("folder/deep/x", "b"));
        at.check("again inside it", true, |r| r.write("folder/deep/x", "c"));
        at.check("commit", true, |r| {
            r.git("add .");
            r.git("commit -q -m second");
        });
        at.check("second commit, clean to clean", true, |r| {
            r.git("commit -q --allow-empty -m third")
        });
        at.check("mode", true, |r| {
            let path = r.folder.path().join("tracked");
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        });
        at.check("delete", true, |r| {
            std::fs::remove_file(r.folder.path().join("tracked")).unwrap()
        });
        at.check("edit that is staged", true, |r| {
            r.write("new", "staged");
            r.git("add new");
        });
    }

    #[test]
    fn what_is_no_work_leaves_it() {
        let at = Repository::new();
        at.write("tracked", "edited\n");
        at.write("new", "n");
        at.check("git add", false, |r| r.git("add -A"));
        at.check("touch", false, |r| r.write("tracked", "edited\n"));
        at.check("an ignored file", false, |r| r.write("ignored", "x"));
        for ours in [
            ".omc/plans/a",
            ".ralph-sessions/1/x",
            ".claude/refine-sessions.json",
            ".claude/worktrees/w/f",
        ] {
            at.check(ours, false, |r| r.write(ours, "x"));
        }
        at.check("someone else's settings", true, |r| r.write(".claude/other.json", "x"));
        at.check("what a killed sandbox left", false, |r| {
            for name in [".bashrc", ".claude/agents", "sub/.mcp.json"] {
                r.write(name, "");
                let path = r.folder.path().join(name);
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o444)).unwrap();
            }
        });
        at.check("a file of that name with content", true, |r| {
            std::fs::remove_file(r.folder.path().join(".bashrc")).unwrap();
            r.write(".bashrc", "x");
        });
    }

    #[test]
    fn the_file_of_the_plan_leaves_it_by_its_name_and_through_a_link() {
        let at = Repository::new();
        at.write("sub/docs/plan.md", "- [ ] a");
        std::os::unix::fs::symlink("docs/plan.md", at.folder.path().join("sub/link.md")).unwrap();
        let value = |path: &str| {
            let plan = PlanFile { path: path.to_owned(), ..PlanFile::default() };
            fingerprint(&at.folder.path().join("sub"), Some(&plan)).unwrap()
        };
        let values = || ["docs/plan.md", "link.md", "other.md"].map(value);
        let before = values();
        at.write("sub/docs/plan.md", "- [x] a");
        let after = values();
        assert_eq!(after[..2], before[..2]);
        assert_ne!(after[2], before[2], "the file of another plan");
        at.git("add .");
        at.write("sub/docs/plan.md", "- [x] b");
        assert_eq!(values()[..2], before[..2], "a staged one");
        at.write("sub/docs/work", "1");
        assert_ne!(values()[0], before[0]);
    }

    #[test]
    fn it_is_the_same_from_a_subfolder_and_absent_outside_a_repository() {
        let at = Repository::new();
        at.write("sub/file", "x");
        let sub = fingerprint(&at.folder.path().join("sub"), None).unwrap();
        assert_eq!(sub, at.value());
        let bare = tempfile::tempdir().unwrap();
        let of_bare = || fingerprint(bare.path(), None).unwrap();
        std::fs::create_dir(bare.path().join("folder")).unwrap();
        std::fs::write(bare.path().join("folder/file"), "one").unwrap();
        let before = of_bare();
        assert_eq!(of_bare(), before);
        std::fs::write(bare.path().join("folder/file"), "two").unwrap();
        assert_ne!(of_bare(), before, "without git, too");
    }

    #[test]
    fn a_repository_without_commits_has_one_and_a_broken_one_is_an_error() {
        let at = Repository { folder: tempfile::tempdir().unwrap() };
        at.git("init -q");
        at.check("first file", true, |r| r.write("a", "a"));
        at.write(".git/HEAD", "nonsense");
        assert!(fingerprint(at.folder.path(), None).is_err());
    }

    #[test]
    fn names_with_spaces_and_line_feeds_are_read_whole() {
        let at = Repository::new();
        at.check("new", true, |r| r.write("a b\nc", "1"));
        at.check("edit", true, |r| r.write("a b\nc", "2"));
    }
}
