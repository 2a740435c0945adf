//! Lays an overlay over the machine: a new root with every path of the old one, where what is written
//! lands in the private folder of the run.
//!
//! A user who may make mounts, such as root, gets an overlay over each mount, except the kernel's own
//! trees. For others this takes a user namespace, in which only the user's own folders can become
//! overlays; the rest is mounted read-only. They get a second one then: the command must not have the
//! rights by which the mounts were made.

use super::copy;
use super::private::use_folder;
use anyhow::{Context, Result, bail};
use nix::sched::{CloneFlags, unshare};
use rustix::fs::{Access, Mode, OFlags, StatVfsMountFlags, access, open, statvfs};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_bind_recursive,
    mount_change, mount_remount, unmount,
};
use rustix::process::{chdir, getegid, geteuid, pivot_root};
use std::ffi::{CString, OsString};
use std::fs::{self, File, Metadata, Permissions};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// Trees that the kernel makes up. They stay as they are.
const KERNELS: [&str; 3] = ["/proc", "/sys", "/dev"];

/// What is writable besides the folders that the environment names.
const TEMPORARY: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// How many bytes of files are copied whose folders cannot be overlays. The others are read-only.
const COPIED: u64 = 64 << 20;

/// A root that is being laid.
pub(super) struct NewRoot {
    place: PathBuf,
    root: PathBuf,
    /// Not set if the process may make mounts anyway. Then it can copy the files of all users.
    user: Option<u32>,
    writable: Vec<PathBuf>,
    mounts: Vec<PathBuf>,
    /// How many overlays there are.
    count: usize,
    /// How many bytes may still be copied.
    left: u64,
    /// Folders of the user's that could be no overlay, with the reason.
    refused: Vec<(PathBuf, Errno)>,
    /// Keeps the folder from being removed.
    _lock: File,
}

impl NewRoot {
    /// Lays a root in the private folder `place`. `store`, which contains it, is empty there.
    pub(super) fn lay(place: &Path, store: &Path, needed: &[&Path]) -> Result<NewRoot> {
        let lock = use_folder(place)?;
        let writable = writable(needed);
        let user = enter_namespace()?;
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
            .context("could not keep mounts to a namespace")?;
        let mut new = NewRoot {
            place: place.to_owned(),
            root: place.join("root"),
            user,
            writable,
            mounts: mounts()?,
            count: 0,
            left: COPIED,
            refused: Vec::new(),
            _lock: lock,
        };
        new.make_folder(Path::new("/"), &Path::new("/").metadata()?)?;
        match new.user {
            None => new.lay_by_mounts(),
            Some(_) => {
                mount_bind(&new.root, &new.root).context("could not mount a new root")?;
                new.lay_below(Path::new("/"))?;
            }
        }
        for needed in needed {
            let real = needed.canonicalize().unwrap_or_else(|_| needed.to_path_buf());
            if let Some((path, why)) = new.refused.iter().find(|(path, _)| real.starts_with(path)) {
                bail!("could not mount an overlay over `{}`: {why}", path.display());
            }
        }
        new.reach_sockets();
        new.hide(store)?;
        Ok(new)
    }

    /// Makes it the root of this process. The old one is out of reach then.
    pub(super) fn enter(&self) -> Result<()> {
        let moved = || -> rustix::io::Result<()> {
            chdir(&self.root)?;
            pivot_root(".", ".")?;
            unmount(".", UnmountFlags::DETACH)?;
            chdir("/")
        };
        moved().context("could not change the root")
    }

    /// Gives up the rights over the mounts. After a `chroot` instead of a new root, the kernel would
    /// refuse this.
    pub(super) fn give_up_rights(&self) -> Result<()> {
        if self.user.is_some() {
            enter_user_namespace(CloneFlags::empty())?;
        }
        Ok(())
    }

    fn inside(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Covers each mount as a whole, as no user namespace allows.
    fn lay_by_mounts(&mut self) {
        let mut mounts = self.mounts.clone();
        mounts.sort();
        mounts.dedup();
        let is_kernels = |path: &PathBuf| KERNELS.iter().any(|kernel| path.starts_with(kernel));
        for path in mounts.iter().filter(|path| !is_kernels(path)) {
            // Another mount can hide one.
            let Ok(about) = path.symlink_metadata() else { continue };
            self.lay_mount(path, &about);
        }
        KERNELS.iter().for_each(|kernel| self.lay_kernels(Path::new(kernel)));
    }

    fn lay_mount(&mut self, path: &Path, about: &Metadata) {
        if about.is_dir() {
            self.cover(path, about);
        } else {
            let to = self.inside(path);
            self.lay_file(path, about, &to);
        }
    }

    /// Shows a tree of the kernel, with what a user can write in it covered, and the mounts in that.
    fn lay_kernels(&mut self, path: &Path) {
        let _ = mount_bind_recursive(path, self.inside(path));
        let writable: Vec<PathBuf> = below(&self.writable, path).cloned().collect();
        let mut all: Vec<PathBuf> =
            writable.iter().flat_map(|writable| below(&self.mounts, writable)).cloned().collect();
        all.extend(writable);
        all.sort();
        all.dedup();
        for path in all {
            if let Ok(about) = path.metadata() {
                self.lay_mount(&path, &about);
            }
        }
    }

    /// Lays what a folder holds, down to where all below is shown with it.
    fn lay_below(&mut self, folder: &Path) -> Result<()> {
        let mut walk = WalkDir::new(folder).min_depth(1).sort_by_file_name().into_iter();
        while let Some(entry) = walk.next() {
            // What is gone by now, or cannot be seen, is left out.
            let Ok(entry) = entry else { continue };
            if !self.lay_path(entry.path())? && entry.file_type().is_dir() {
                walk.skip_current_dir();
            }
        }
        Ok(())
    }

    /// True for a folder whose content is still to be laid.
    fn lay_path(&mut self, path: &Path) -> Result<bool> {
        let Ok(about) = path.symlink_metadata() else { return Ok(false) };
        let to = self.inside(path);
        if about.is_symlink() {
            let target = fs::read_link(path).with_context(|| cannot(path))?;
            return symlink(target, to).map(|()| false).with_context(|| cannot(path));
        }
        if !about.is_dir() {
            self.lay_file(path, &about, &to);
            return Ok(false);
        }
        self.make_folder(path, &about)?;
        let is_mine = self.is_mine(path, &about);
        if KERNELS.iter().any(|one| path == Path::new(one)) {
            self.lay_kernels(path);
        // The kernel makes no overlay over a folder with mounts in it: they could hide something.
        } else if below(&self.mounts, path).next().is_some()
            || !is_mine && below(&self.writable, path).next().is_some()
        {
            return Ok(true);
        } else if is_mine {
            self.cover(path, &about);
            self.cover_below(path);
        } else {
            let _ = bind_read_only(path, &to);
        }
        Ok(false)
    }

    fn is_mine(&self, path: &Path, about: &Metadata) -> bool {
        self.user.is_none_or(|user| user == about.uid())
            || self.writable.iter().any(|writable| writable == path)
    }

    /// A folder with the rights of the one that it stands for.
    fn make_folder(&self, path: &Path, about: &Metadata) -> Result<()> {
        let to = self.inside(path);
        // That of a mount point within a mounted tree is there.
        if to.is_dir() {
            return Ok(());
        }
        let is_mine = self.is_mine(path, about);
        let mode = if is_mine { about.mode() } else { about.mode() & !0o222 };
        self.make_like(&to, about, mode).with_context(|| cannot(path))
    }

    fn make_like(&self, to: &Path, about: &Metadata, mode: u32) -> std::io::Result<()> {
        fs::create_dir(to)?;
        if self.user.is_none() {
            chown(to, Some(about.uid()), Some(about.gid()))?;
        }
        fs::set_permissions(to, Permissions::from_mode(mode & 0o7777))
    }

    /// Covers a folder by an overlay, or makes it read-only if that is impossible.
    fn cover(&mut self, path: &Path, about: &Metadata) {
        let to = self.inside(path);
        if let Err(error) = self.overlay(path, about, &to) {
            let why = Errno::from_io_error(&error).unwrap_or(Errno::IO);
            self.refused.push((path.to_owned(), why));
            let _ = bind_read_only(path, &to);
        }
    }

    /// Covers the writable folders below one that is covered already, where they or a folder between
    /// belong to another user: the kernel could not copy that one.
    fn cover_below(&mut self, path: &Path) {
        let Some(user) = self.user else { return };
        let is_foreign = |folder: &Path| folder.metadata().is_ok_and(|about| about.uid() != user);
        let mut covered = vec![path.to_owned()];
        for writable in below(&self.writable, path).cloned().collect::<Vec<_>>() {
            let is_covered = |folder: &&Path| covered.iter().any(|covered| covered == folder);
            let mut up_to_covered = writable.ancestors().take_while(|folder| !is_covered(folder));
            if up_to_covered.any(is_foreign)
                && let Ok(about) = writable.metadata()
            {
                self.cover(&writable, &about);
                covered.push(writable);
            }
        }
    }

    fn overlay(&mut self, path: &Path, about: &Metadata, to: &Path) -> std::io::Result<()> {
        self.count += 1;
        let upper = self.place.join(format!("upper{}", self.count));
        let work = self.place.join(format!("work{}", self.count));
        // In the overlay it stands for the folder below, whose rights it must have.
        self.make_like(&upper, about, about.mode())?;
        fs::create_dir(&work)?;
        let folder = |path: &Path| {
            open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        };
        // Colons and commas in paths would have to be escaped, in ways that changed.
        let opened = [folder(path)?, folder(&upper)?, folder(&work)?];
        let [lower, upper, work] = opened.each_ref().map(AsRawFd::as_raw_fd);
        // `userxattr`: without it, folders can be neither renamed nor removed in a user namespace.
        // `volatile`: nothing has to survive, and the end of a mount would sync a whole file system.
        let options = format!(
            "lowerdir=/proc/self/fd/{lower},upperdir=/proc/self/fd/{upper},\
             workdir=/proc/self/fd/{work},userxattr,volatile"
        );
        let options = CString::new(options)?;
        Ok(mount("overlay", to, "overlay", MountFlags::empty(), options.as_c_str())?)
    }

    /// Lays what is no folder and where no overlay brings it. What is impossible is left out.
    fn lay_file(&mut self, path: &Path, about: &Metadata, to: &Path) {
        let is_copied = about.is_file() && about.len() <= self.left && self.is_mine(path, about);
        if is_copied && copy::copy_file(path, to, about).is_ok() {
            self.left -= about.len();
            return;
        }
        let made = File::options().create(true).truncate(false).write(true).open(to);
        let laid = made.and_then(|_| match about.is_file() {
            true => bind_read_only(path, to),
            false => Ok(mount_bind(path, to)?),
        });
        if laid.is_err() {
            let _ = fs::remove_file(to);
        }
    }

    /// Mounts the sockets of living servers: no connection finds them through an overlay.
    fn reach_sockets(&self) {
        let table = fs::read_to_string("/proc/net/unix").unwrap_or_default();
        let listed = table.lines().filter_map(|line| line.find(" /").map(|at| &line[at + 1..]));
        for real in listed.filter_map(|path| Path::new(path).canonicalize().ok()) {
            let is_socket = real.metadata().is_ok_and(|about| about.file_type().is_socket());
            if is_socket && self.inside(&real).symlink_metadata().is_ok() {
                let _ = mount_bind(&real, self.inside(&real));
            }
        }
    }

    /// Puts an empty folder in the place of one: an overlay cannot be read through itself.
    fn hide(&self, folder: &Path) -> Result<()> {
        let to = self.inside(folder);
        if !to.is_dir() {
            return Ok(());
        }
        let empty = self.place.join("empty");
        fs::create_dir(&empty).with_context(|| cannot(folder))?;
        fs::set_permissions(&empty, Permissions::from_mode(0o700))?;
        mount_bind(&empty, &to).with_context(|| cannot(folder))
    }
}

fn cannot(path: &Path) -> String {
    format!("could not lay `{}` below a new root", path.display())
}

fn below<'a>(paths: &'a [PathBuf], path: &'a Path) -> impl Iterator<Item = &'a PathBuf> {
    paths.iter().filter(move |one| *one != path && one.starts_with(path))
}

/// The folders in which the user may write and a command will: temporary ones, those that are needed,
/// and each that a variable names, as do `HOME`, `CARGO_TARGET_DIR` and `GOPATH`.
fn writable(needed: &[&Path]) -> Vec<PathBuf> {
    let named = std::env::vars_os()
        .flat_map(|(_, value)| std::env::split_paths(&value).collect::<Vec<_>>())
        .chain(TEMPORARY.map(PathBuf::from))
        .chain(needed.iter().map(|path| path.to_path_buf()))
        .filter(|path| path.is_absolute());
    let mut all: Vec<PathBuf> = named
        .filter_map(|path| path.canonicalize().ok())
        .filter(|path| path.is_dir() && access(path, Access::WRITE_OK).is_ok())
        .collect();
    all.sort();
    all.dedup();
    all
}

/// Enters a mount namespace. Returns the user whose rights it has, or `None` if it has all.
fn enter_namespace() -> Result<Option<u32>> {
    if unshare(CloneFlags::CLONE_NEWNS).is_ok() {
        return Ok(None);
    }
    let user = geteuid().as_raw();
    enter_user_namespace(CloneFlags::CLONE_NEWNS)?;
    Ok(Some(user))
}

/// Enters a user namespace in which the user has the same name, and the process all rights.
fn enter_user_namespace(more: CloneFlags) -> Result<()> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let entered = || -> std::io::Result<()> {
        unshare(CloneFlags::CLONE_NEWUSER | more)?;
        // The kernel lets nobody name a group who could still leave one.
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
    };
    entered().context("could not enter a user namespace")
}

/// Mounts a path so that nothing below it can be changed.
fn bind_read_only(path: &Path, to: &Path) -> std::io::Result<()> {
    mount_bind(path, to)?;
    let flags = statvfs(to).map(|about| about.f_flag);
    let made = flags.and_then(|flags| {
        mount_remount(to, MountFlags::BIND | MountFlags::RDONLY | kept(flags), "")
    });
    if made.is_err() {
        let _ = unmount(to, UnmountFlags::DETACH);
    }
    Ok(made?)
}

/// The flags of a mount that a user namespace must not take away.
fn kept(flags: StatVfsMountFlags) -> MountFlags {
    let all = [
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ];
    all.into_iter().filter(|(has, _)| flags.contains(*has)).map(|(_, flag)| flag).collect()
}

/// The mount points that this process sees.
fn mounts() -> Result<Vec<PathBuf>> {
    let table = fs::read("/proc/self/mountinfo").context("could not list the mounts")?;
    let lines = table.split(|byte| *byte == b'\n');
    let points = lines.filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    Ok(points.map(unescaped).collect())
}

/// The kernel writes blanks and backslashes as octal numbers.
fn unescaped(path: &[u8]) -> PathBuf {
    let mut plain = Vec::new();
    let mut rest = path;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let number = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        (rest, _) = match (first, number) {
            (b'\\', Some(byte)) => (&after[3..], plain.push(byte)),
            _ => (after, plain.push(*first)),
        };
    }
    PathBuf::from(OsString::from_vec(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blank_in_the_path_of_a_mount_is_read() {
        assert_eq!(unescaped(br"/a\040b\134c/\01"), Path::new(r"/a b\c/\01"));
    }
}
