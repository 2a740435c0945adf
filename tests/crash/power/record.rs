//! From the calls that strace saw to what happened on the disk.
//!
//! Only what is below the scene's folder counts, and of that not git's own folder nor the folder
//! of temporary files: git's writes are git's business.

use super::disk::Disk;
use crate::snapshot::{Thing, Tree};
use crate::trace::Call;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// The folders of a scene that the model leaves out.
const LEFT_OUT: [&str; 3] = ["project/.git", "remote.git", "tmp"];

/// Repositories of Ralph's own, which git writes as it writes the project's.
const REPOSITORIES: [&str; 2] = ["repository.git", "found.git"];

/// Whether the model looks at what is below this path of a scene.
pub(crate) fn is_modelled(path: &Path) -> bool {
    LEFT_OUT.iter().all(|left_out| !path.starts_with(left_out))
        && path.iter().all(|part| REPOSITORIES.iter().all(|name| part != *name))
}

/// A run: what it did to the disk, and every content that it put under a name in one step.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) disk: Disk,
    /// By path: what stood there before, what came there by a rename or a link, what is there now.
    pub(crate) versions: BTreeMap<PathBuf, Vec<Vec<u8>>>,
}

/// Tells the disk's story from the calls of a run that began with this tree, in this folder.
pub(crate) fn record((root, cwd): (&Path, &Path), before: &Tree, calls: &[Call]) -> Recorded {
    let modelled: Tree = before
        .iter()
        .filter(|(path, _)| is_modelled(path))
        .map(|(p, t)| (p.clone(), t.clone()))
        .collect();
    let mut story = Story {
        root: root.to_owned(),
        cwd: cwd.to_owned(),
        first: calls.first().map_or(0, |call| call.pid),
        open: HashMap::new(),
        recorded: Recorded { disk: Disk::holding(&modelled), versions: BTreeMap::new() },
    };
    for (path, thing) in &modelled {
        story.recorded.keep(path, thing);
    }
    let apart = with_own_mounts(calls);
    for (at, call) in calls.iter().enumerate() {
        if apart.get(&call.pid).is_none_or(|since| at < *since) {
            story.tell(call);
        }
    }
    story.recorded
}

/// The processes with mounts of their own, and since which call: a command that runs on other files changes a copy of the
/// project under the project's own names.
fn with_own_mounts(calls: &[Call]) -> HashMap<u32, usize> {
    let mut since = HashMap::new();
    for (at, call) in calls.iter().enumerate() {
        match call.name.as_str() {
            "unshare" if call.result == Some(0) && call.arg(0).contains("CLONE_NEWNS") => {
                since.entry(call.pid).or_insert(at);
            }
            // In the log a child may come before the call that made it.
            "clone" | "clone3" | "fork" | "vfork" if since.contains_key(&call.pid) => {
                let child = call.result.and_then(|pid| u32::try_from(pid).ok());
                since.extend(child.map(|child| (child, 0)));
            }
            _ => {}
        }
    }
    since
}

impl Recorded {
    /// Adds what stands in the folder at the end.
    pub(crate) fn ended_with(&mut self, after: &Tree) {
        for (path, thing) in after {
            self.keep(path, thing);
        }
    }

    fn keep(&mut self, path: &Path, thing: &Thing) {
        if let Thing::File { bytes, .. } = thing {
            self.versions.entry(path.to_owned()).or_default().push(bytes.to_vec());
        }
    }

    /// A name got another content, in one step: a version that may be seen.
    fn named(&mut self) {
        let moment = self.disk.n_moments() - 1;
        for (path, thing) in self.disk.now(moment) {
            let Thing::File { bytes, .. } = thing else { continue };
            let known = self.versions.entry(path).or_default();
            if !known.iter().any(|version| **version == *bytes) {
                known.push(bytes.to_vec());
            }
        }
    }
}

/// An open file: its place, and where the next write goes; none at its end.
type Open = (PathBuf, Option<usize>);

struct Story {
    root: PathBuf,
    /// Where the program runs: a name that begins in no folder begins there.
    cwd: PathBuf,
    first: u32,
    open: HashMap<(u32, i32), Open>,
    recorded: Recorded,
}

impl Story {
    /// The path in an argument that no folder stands before. Where others run than the first is not known.
    fn path(&self, call: &Call, at: usize) -> PathBuf {
        let path = call.path(None, at);
        if call.pid == self.first { self.cwd.join(path) } else { path }
    }

    fn inside(&self, path: &Path) -> Option<PathBuf> {
        let path = path.strip_prefix(&self.root).ok()?;
        is_modelled(path).then(|| path.to_owned())
    }

    fn tell(&mut self, call: &Call) {
        if call.answers() && call.pid == self.first {
            return self.recorded.disk.answer();
        }
        if call.result.is_none_or(|result| result < 0) {
            return;
        }
        match call.name.as_str() {
            "open" => self.opened(call, self.path(call, 0), 0),
            "openat" => self.opened(call, call.path(Some(0), 1), 1),
            "close" => drop(call.descriptor(0).and_then(|fd| self.open.remove(&(call.pid, fd)))),
            "write" | "pwrite64" => self.wrote(call),
            "lseek" => self.sought(call),
            "ftruncate" => self.with_place(call, |disk, path| {
                disk.truncate(path, call.arg(1).parse().unwrap_or(0));
            }),
            "fsync" | "fdatasync" => self.with_place(call, Disk::sync),
            "mkdir" => self.with_path(self.path(call, 0), |disk, path| {
                disk.make(path, mode(call.arg(1)), true);
            }),
            "mkdirat" => self.with_path(call.path(Some(0), 1), |disk, path| {
                disk.make(path, mode(call.arg(2)), true);
            }),
            "unlink" | "rmdir" => self.with_path(self.path(call, 0), Disk::remove),
            "unlinkat" => self.with_path(call.path(Some(0), 1), Disk::remove),
            "rename" => self.renamed(&self.path(call, 0), &self.path(call, 1), false),
            "renameat" | "renameat2" => self.renamed(
                &call.path(Some(0), 1),
                &call.path(Some(2), 3),
                call.arg(4).contains("EXCHANGE"),
            ),
            "link" => self.linked(&self.path(call, 0), &self.path(call, 1)),
            "linkat" => self.linked(&call.path(Some(0), 1), &call.path(Some(2), 3)),
            "writev" | "sendfile" | "copy_file_range" | "symlink" | "symlinkat" => {
                let at = usize::from(call.name == "copy_file_range") * 2;
                let inside = self.inside(&call.place(at));
                assert!(inside.is_none(), "the model of the disk does not know {call:?}");
            }
            _ => {}
        }
    }

    fn with_path(&mut self, path: PathBuf, change: impl FnOnce(&mut Disk, &Path)) {
        if let Some(path) = self.inside(&path) {
            change(&mut self.recorded.disk, &path);
        }
    }

    fn with_place(&mut self, call: &Call, change: impl FnOnce(&mut Disk, &Path)) {
        self.with_path(call.place(0), change);
    }

    fn opened(&mut self, call: &Call, path: PathBuf, at: usize) {
        let flags = call.arg(at + 1).to_owned();
        let Some(path) = self.inside(&path) else { return };
        let Some(fd) = call.result.and_then(|fd| i32::try_from(fd).ok()) else { return };
        let disk = &mut self.recorded.disk;
        if flags.contains("O_CREAT") && !disk.exists(&path) {
            disk.make(&path, mode(call.arg(at + 2)), false);
        }
        if flags.contains("O_TRUNC") {
            disk.truncate(&path, 0);
        }
        let offset = (!flags.contains("O_APPEND")).then_some(0);
        self.open.insert((call.pid, fd), (path, offset));
    }

    fn wrote(&mut self, call: &Call) {
        let Some(path) = self.inside(&call.place(0)) else { return };
        let fd = (call.pid, call.descriptor(0).unwrap_or(-1));
        let open = self.open.get(&fd).and_then(|(_, offset)| *offset);
        let offset = match call.name.as_str() {
            "pwrite64" => call.arg(3).parse().ok(),
            _ => open,
        };
        let mut bytes = call.bytes(1);
        bytes.truncate(usize::try_from(call.result.unwrap_or(0)).unwrap_or(0));
        let next = self.recorded.disk.write(&path, offset, &bytes);
        if let (Some(open), "write", Some(_)) = (self.open.get_mut(&fd), call.name.as_str(), offset)
        {
            open.1 = Some(next);
        }
    }

    fn sought(&mut self, call: &Call) {
        let fd = (call.pid, call.descriptor(0).unwrap_or(-1));
        let to = call.result.and_then(|at| usize::try_from(at).ok());
        if let Some((_, offset @ Some(_))) = self.open.get_mut(&fd) {
            *offset = to;
        }
    }

    fn renamed(&mut self, from: &Path, to: &Path, is_exchange: bool) {
        let (Some(from), Some(to)) = (self.inside(from), self.inside(to)) else { return };
        match is_exchange {
            true => self.recorded.disk.exchange(&from, &to),
            false => self.recorded.disk.rename(&from, &to),
        }
        self.recorded.named();
    }

    fn linked(&mut self, from: &Path, to: &Path) {
        let (Some(from), Some(to)) = (self.inside(from), self.inside(to)) else { return };
        self.recorded.disk.link(&from, &to);
        self.recorded.named();
    }
}

/// As it will be on the disk, where the mask takes the bits of others.
fn mode(octal: &str) -> u32 {
    u32::from_str_radix(octal, 8).unwrap_or(0o600) & !0o022
}
