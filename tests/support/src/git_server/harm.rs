//! What can go wrong on the server itself.

use super::{GitServer, Storage};
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

impl GitServer {
    /// Leaves a lock, as a killed git does, and returns its file. The name is a reference or
    /// `packed-refs`; reftable has one lock for all.
    pub fn leave_lock(&self, name: &str) -> PathBuf {
        let name = if self.storage == Storage::Reftable { "reftable/tables.list" } else { name };
        let lock = self.repository().join(format!("{name}.lock"));
        fs::create_dir_all(lock.parent().unwrap()).unwrap();
        fs::write(&lock, "").unwrap();
        lock
    }

    /// Kills the next `receive-pack` once when it has updated so many references.
    pub fn kill_after_updates(&self, updates: u32) {
        self.kill_at("committed", updates);
    }

    /// Kills the next `receive-pack` once while it holds the lock of its reference number `update`.
    pub fn kill_in_update(&self, update: u32) {
        self.kill_at("prepared", update);
    }

    /// Git calls this hook as a child of `receive-pack` in every phase of every update.
    fn kill_at(&self, phase: &str, count: u32) {
        let hooks = self.repository().join("hooks");
        fs::create_dir_all(&hooks).unwrap();
        drop(fs::remove_file(hooks.join("updates")));
        let hook = hooks.join("reference-transaction");
        let folder = hooks.display();
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = {phase} ] || exit 0\ncd '{folder}' && echo >>updates\n\
             [ \"$(wc -l <updates)\" -eq {count} ] || exit 0\nrm reference-transaction\n\
             kill -9 $PPID\n"
        );
        fs::write(&hook, script).unwrap();
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Takes back a kill that was asked for and has not happened.
    pub fn kill_no_more(&self) {
        drop(fs::remove_file(self.repository().join("hooks/reference-transaction")));
    }

    /// True once the kill that was asked for has happened.
    pub fn has_killed(&self) -> bool {
        !self.repository().join("hooks/reference-transaction").exists()
    }

    pub(super) fn mount_small_disk(&self) -> Result<(), String> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=24m", "tmpfs"]).arg(self.served());
        let output = mount.output().map_err(|error| format!("mount: {error}"))?;
        let words = String::from_utf8_lossy(&output.stderr);
        output.status.success().then_some(()).ok_or_else(|| format!("a small disk: {words}"))
    }

    /// Leaves no byte free on a small disk.
    pub fn fill_disk(&self) {
        assert_eq!(self.storage, Storage::SmallDisk);
        let mut ballast = fs::File::create(self.served().join("ballast")).unwrap();
        while ballast.write(&[1; 1024]).is_ok_and(|written| written > 0) {}
    }

    /// Gives the space of [`GitServer::fill_disk`] back.
    pub fn empty_disk(&self) {
        fs::remove_file(self.served().join("ballast")).unwrap();
    }
}

impl Drop for GitServer {
    fn drop(&mut self) {
        self.front = None;
        if self.storage == Storage::SmallDisk {
            // Processes that still end may use it.
            drop(Command::new("umount").arg("-l").arg(self.served()).output());
        }
    }
}
