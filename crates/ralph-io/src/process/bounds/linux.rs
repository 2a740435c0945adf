//! The command line of bubblewrap.
//!
//! Everything is read-only. Mounts are sorted by their depth, so that a denied folder in a writable
//! one is denied, and a writable one in a denied one is writable.

use super::{Bounded, cannot_bound};
use crate::process::bounds::Served;
use crate::process::{elsewhere, programs};
use anyhow::{Context, Result, bail};
use ralph_core::project::bounds::is_below;
use ralph_core::state::Bounds;
use rustix::fs::FlockOperation;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

pub(super) const TOOL: &str = "bwrap";
pub(super) const REMEDY: &str = "install bubblewrap (Debian: `apt install bubblewrap`)";

/// Folders of the system that others keep sockets and temporary files in. What else is in `/run` and
/// has to be readable is put back.
const PRIVATE: [&str; 3] = ["/tmp", "/var/tmp", "/run"];
const KEPT_IN_RUN: [&str; 4] =
    ["/run/current-system", "/run/wrappers", "/run/opengl-driver", "/run/systemd/resolve"];

/// Whose values name what a command needs to read, wherever it lies. No socket is below them by rule.
const READ_BY_TOOLS: [&str; 5] =
    ["HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "CARGO_HOME", "RUSTUP_HOME"];

/// Names of files in a git folder or the project for which an empty folder cannot stand.
const FILES: [&str; 5] = ["config", "config.worktree", "commondir", "gitdir", ".mcp.json"];

pub(super) fn wrap(
    bounds: &Bounds,
    folder: &Path,
    elsewhere: Option<&Path>,
    program: &Path,
    arguments: &[&OsStr],
) -> Result<Bounded> {
    if let Some(why) = cannot_bound() {
        bail!("{why}");
    }
    let bwrap = programs::find_on_path(TOOL).context("bubblewrap is gone")?;
    let ralph = programs::running()?;
    let project = bounds.write.first().context("the bounds name no project")?;
    let shared = share(Path::new(project))?;
    let temporary = tempfile::Builder::new().prefix("ralph-bounds-").tempdir();
    let temporary = temporary.context("could not make a temporary folder")?;
    let mut mounts = Mounts::default();
    mounts.private(temporary.path())?;
    mounts.show_own(bounds);
    mounts.deny_read(bounds);
    mounts.write(bounds)?;
    mounts.deny_write(bounds)?;
    mounts.sockets(bounds);
    mounts.keep(&ralph);
    mounts.keep(program);
    let (ours, theirs) =
        std::os::unix::net::UnixStream::pair().context("could not make a socket")?;
    let mut command = elsewhere::in_front(elsewhere, &bwrap)?;
    command.args(["--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc"]);
    command.args(["--cap-drop", "ALL", "--die-with-parent", "--new-session", "--as-pid-1"]);
    command.args(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]);
    command.args(mounts.arguments());
    command.arg("--chdir").arg(folder).arg("--").arg(&ralph).args(["supervise", "--inside"]);
    command.env("TMPDIR", "/tmp").current_dir("/");
    command.stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)));
    let served = Served::begin(ours, bounds, program, arguments)?;
    Ok(Bounded {
        command,
        _temporary: temporary,
        shared,
        made: mounts.made,
        watched: mounts.watched,
        served: Some(served),
    })
}

/// Opens and locks the project's folder together with other commands.
fn share(project: &Path) -> Result<std::fs::File> {
    let what = || format!("could not lock `{}`", project.display());
    let folder = std::fs::File::open(project).with_context(what)?;
    rustix::fs::flock(&folder, FlockOperation::LockShared).with_context(what)?;
    Ok(folder)
}

#[derive(Default)]
struct Mounts {
    /// Path, order among equals, and the words for bubblewrap.
    all: Vec<(PathBuf, u8, Vec<OsString>)>,
    /// Folders that stay empty and cannot be written.
    hidden: Vec<OsString>,
    made: Vec<PathBuf>,
    watched: Vec<PathBuf>,
    /// What stays readable in a private folder.
    shown: Vec<PathBuf>,
}

impl Mounts {
    fn add(&mut self, path: &Path, order: u8, words: &[&OsStr]) {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        self.all.push((path.to_owned(), order, words));
    }

    fn bind(&mut self, how: &str, from: &Path, to: &Path, order: u8) {
        self.add(to, order, &[how.as_ref(), from.as_os_str(), to.as_os_str()]);
    }

    /// An empty folder that cannot be written.
    fn hide_folder(&mut self, path: &Path, order: u8) {
        let path = path.as_os_str();
        self.add(Path::new(path), order, &["--tmpfs".as_ref(), path]);
        self.hidden.push(path.to_owned());
    }

    fn private(&mut self, temporary: &Path) -> Result<()> {
        for path in PRIVATE {
            let to = Path::new(path);
            // `/var/run` and the like are links to one of the others.
            if !to.is_dir() || to.is_symlink() {
                continue;
            }
            let from = temporary.join(path.trim_start_matches('/').replace('/', "-"));
            let made = std::fs::DirBuilder::new().mode(0o700).create(&from);
            made.context("could not make a temporary folder")?;
            self.bind("--bind", &from, to, 0);
        }
        for path in KEPT_IN_RUN.map(Path::new).into_iter().filter(|path| path.exists()) {
            self.bind("--ro-bind", path, path, 0);
        }
        Ok(())
    }

    /// Shows the entry of a temporary folder in which the project, the home or a configuration lies: people
    /// clone below `/tmp`.
    fn show_own(&mut self, bounds: &Bounds) {
        let read = READ_BY_TOOLS.into_iter().filter_map(std::env::var_os).map(PathBuf::from);
        let own: Vec<PathBuf> = bounds.write.iter().map(PathBuf::from).chain(read).collect();
        for real in own.iter().filter_map(|path| path.canonicalize().ok()) {
            for private in PRIVATE.map(Path::new).into_iter().filter(|one| !one.ends_with("run")) {
                let below = real.strip_prefix(private).ok().and_then(|path| path.iter().next());
                let Some(entry) = below.map(|name| private.join(name)) else { continue };
                self.bind("--ro-bind", &entry, &entry, 0);
                self.shown.push(entry);
            }
        }
    }

    fn deny_read(&mut self, bounds: &Bounds) {
        for path in bounds.read_deny.iter().map(Path::new) {
            let Ok(real) = path.canonicalize() else { continue };
            match real.is_dir() {
                true => self.hide_folder(&real, 3),
                false => self.bind("--ro-bind", Path::new("/dev/null"), &real, 3),
            }
        }
    }

    fn write(&mut self, bounds: &Bounds) -> Result<()> {
        for (at, path) in bounds.write.iter().enumerate() {
            match Path::new(path).canonicalize() {
                Ok(real) => self.bind("--bind", &real, &real, 1),
                Err(error) if at == 0 => {
                    return Err(error).with_context(|| format!("could not find `{path}`"));
                }
                // A cache that does not exist yet is made, as the program itself would.
                Err(_) => {
                    let path = Path::new(path);
                    let made = std::fs::create_dir_all(path).and_then(|()| path.canonicalize());
                    let real =
                        made.with_context(|| format!("could not make `{}`", path.display()))?;
                    self.bind("--bind", &real, &real, 1);
                }
            }
        }
        Ok(())
    }

    fn deny_write(&mut self, bounds: &Bounds) -> Result<()> {
        let roots: Vec<PathBuf> =
            bounds.write.iter().filter_map(|path| Path::new(path).canonicalize().ok()).collect();
        for path in bounds.write_deny.iter().map(Path::new) {
            let (there, missing) = deepest(path);
            let Ok(real) = there.canonicalize() else { continue };
            let Some(root) = roots
                .iter()
                .filter(|root| real.starts_with(root))
                .max_by_key(|root| root.components().count())
            else {
                continue;
            };
            // A folder with a mount in it can be renamed; one that is a mount itself cannot.
            let above = real.ancestors().skip(usize::from(missing.is_none()));
            for between in above.take_while(|one| one.starts_with(root) && one != root) {
                self.bind("--bind", between, between, 1);
            }
            match missing {
                None => self.bind("--ro-bind", &real, &real, 2),
                Some(first) => self.deny_missing(path, &real, root, &first)?,
            }
        }
        Ok(())
    }

    /// Denies a path of which `first` is the first part that does not exist, in `parent`.
    fn deny_missing(
        &mut self,
        path: &Path,
        parent: &Path,
        root: &Path,
        first: &OsStr,
    ) -> Result<()> {
        let place = parent.join(first);
        let is_in_git = parent == root || parent.join("HEAD").is_file() || parent.ends_with("refs");
        let name = path.file_name().unwrap_or_default();
        if !is_in_git {
            self.bind("--ro-bind", parent, parent, 2);
        } else if name == "packed-refs" {
            // An empty one means the same to git as none.
            let made = std::fs::OpenOptions::new().write(true).create_new(true).open(&place);
            if let Err(error) = made
                && error.kind() != std::io::ErrorKind::AlreadyExists
            {
                return Err(error).with_context(|| format!("could not make `{}`", place.display()));
            }
            self.bind("--ro-bind", &place, &place, 2);
        } else if place == path && FILES.iter().any(|file| name == *file) {
            if place != parent {
                self.watched.push(place);
            }
        } else if name != "reftable" {
            // Git does not see an empty folder.
            if !self.made.contains(&place) {
                self.made.push(place.clone());
            }
            self.hide_folder(&place, 2);
        }
        Ok(())
    }

    /// Hides every socket on which somebody listens: a read-only mount does not keep a process from
    /// connecting. Those that the bounds allow are put back.
    fn sockets(&mut self, bounds: &Bounds) {
        let allowed: Vec<PathBuf> =
            bounds.sockets.iter().filter_map(|path| Path::new(path).canonicalize().ok()).collect();
        let table = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
        let listed = table.lines().filter_map(|line| line.find(" /").map(|at| &line[at + 1..]));
        for path in listed {
            let Ok(real) = Path::new(path).canonicalize() else { continue };
            let is_private = PRIVATE.iter().any(|one| is_below(path, one))
                && !self.shown.iter().any(|one| real.starts_with(one));
            let is_hidden = is_private || real.starts_with("/dev");
            if !is_hidden && !allowed.contains(&real) {
                self.bind("--ro-bind", Path::new("/dev/null"), &real, 3);
            }
        }
        for path in allowed {
            self.bind("--bind", &path, &path, 4);
        }
    }

    /// Keeps a program visible whose folder is hidden.
    fn keep(&mut self, program: &Path) {
        let Ok(real) = program.canonicalize() else { return };
        let hidden = |one: &(PathBuf, u8, Vec<OsString>)| {
            one.2[0] != "--ro-bind" && real.starts_with(&one.0) && real != one.0
        };
        if real.starts_with("/dev") || self.all.iter().any(hidden) {
            self.bind("--ro-bind", &real, &real, 4);
        }
    }

    fn arguments(&mut self) -> Vec<OsString> {
        self.all.sort_by_key(|(path, order, _)| (path.components().count(), path.clone(), *order));
        self.all.dedup_by(|a, b| a.2 == b.2);
        let mounts = self.all.iter().flat_map(|(_, _, words)| words.clone());
        // Last, since a mount in a hidden folder needs a place there.
        let read_only = self.hidden.iter().flat_map(|path| ["--remount-ro".into(), path.clone()]);
        mounts.chain(read_only).collect()
    }
}

/// The deepest part of a path that exists, and the name of the first part that does not.
fn deepest(path: &Path) -> (&Path, Option<OsString>) {
    let mut missing = None;
    for one in path.ancestors() {
        if one.symlink_metadata().is_ok() {
            return (one, missing);
        }
        missing = one.file_name().map(OsStr::to_owned);
    }
    (path, missing)
}
