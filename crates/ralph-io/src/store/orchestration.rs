//! The folders of orchestrations: read as a whole, and changed completely or not at all.
//!
//! An orchestration's folder contains the files of the documented layout and none of Ralph's own.
//! What Ralph knows besides (the user's request, the results of calls, pending writes) is in
//! Ralph's home, where no agent writes.

mod drive;
mod own;
mod pending;
mod put;
mod read;
mod target;

use crate::process::clock;
use crate::project::{confined, user_files};
use crate::store::atomic;
use crate::store::home::Home;
use crate::store::lock::{self, Lock};
use anyhow::{Context, Result, bail};
use own::Own;
use pending::Pending;
use ralph_core::modes::orchestration::change::writes;
use ralph_core::modes::orchestration::files::SESSIONS;
use ralph_core::modes::orchestration::id::OrchestrationId;
use ralph_core::modes::orchestration::snapshot::Snapshot;
use ralph_core::modes::orchestration::which;
use ralph_core::project::reader::EntryKind;
use ralph_core::text::hex::sha256;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// How often a change is decided again because an agent wrote meanwhile: agents take no lock.
const MOST_TURNS: usize = 8;

/// The orchestrations of a project.
#[derive(Debug, Clone)]
pub struct OrchestrationStore {
    /// The top of the project, without links.
    top: PathBuf,
    home: Home,
}

/// The result of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotChange<T> {
    /// The orchestration before the change.
    pub before: Snapshot,
    /// The orchestration after the change.
    pub after: Snapshot,
    /// What `decide` returned besides the new snapshot.
    pub what: T,
}

impl OrchestrationStore {
    /// The orchestrations of the project at `root`.
    ///
    /// # Errors
    /// If there is no such folder.
    pub fn open(root: &Path, home: &Home) -> Result<OrchestrationStore> {
        let top = root
            .canonicalize()
            .with_context(|| format!("could not find the project `{}`", root.display()))?;
        Ok(OrchestrationStore { top, home: home.clone() })
    }

    /// Their names, oldest first.
    pub fn list(&self) -> Vec<OrchestrationId> {
        let listing = confined::list(&self.top, &self.top.join(SESSIONS)).unwrap_or_default();
        let folders = listing.entries.iter().filter(|entry| entry.kind == EntryKind::Folder);
        folders.filter_map(|entry| OrchestrationId::parse(&entry.name).ok()).collect()
    }

    /// The orchestration that a command without a name refers to, or why it has to be named: see
    /// [`which::meant`].
    ///
    /// # Errors
    /// If one of them cannot be read, because it may be the one.
    pub fn meant(
        &self,
        none: &str,
        typed: impl Fn(&OrchestrationId) -> String,
    ) -> Result<Result<OrchestrationId, String>> {
        let mut all = Vec::new();
        for id in self.list() {
            // Skip one that has disappeared since.
            let Some(seen) = self.read(&id)? else { continue };
            all.push((id, seen.metadata_status()));
        }
        Ok(which::meant(all, none, typed))
    }

    /// Starts an orchestration; false, with nothing changed, if the name is taken.
    ///
    /// # Errors
    /// If its folder cannot be created.
    pub fn begin(&self, id: &OrchestrationId, request: &str) -> Result<bool> {
        let _held = self.lock(id)?;
        if self.folder(id).symlink_metadata().is_ok() {
            return Ok(false);
        }
        // The request first: every orchestration that exists has its request.
        Own::asked(request).write(&self.own(id))?;
        for folder in ["signals/processed", "signals/inputs"] {
            target::folder(&self.top, &format!("{SESSIONS}{id}/{folder}"))?;
        }
        Ok(true)
    }

    /// Starts an orchestration named after this second, or the next free one.
    ///
    /// # Errors
    /// If its folder cannot be created, or a whole minute has no free name.
    pub fn begin_now(&self, request: &str, now: jiff::Timestamp) -> Result<OrchestrationId> {
        for later in 0..60 {
            let id = self.name_of(now + jiff::SignedDuration::from_secs(later))?;
            if self.begin(&id, request)? {
                return Ok(id);
            }
        }
        bail!("each second of this minute has an orchestration; name one with `--id ID`")
    }

    /// The name of an orchestration that starts at this moment, in local time.
    ///
    /// # Errors
    /// If the local time makes no valid name.
    pub fn name_of(&self, at: jiff::Timestamp) -> Result<OrchestrationId> {
        let name = at.to_zoned(jiff::tz::TimeZone::system()).strftime("%y%m%d-%H%M%S").to_string();
        OrchestrationId::parse(&name)
            .map_err(|why| anyhow::anyhow!("the clock shows {name}: {why}"))
    }

    /// Reads an orchestration; `None` if there is none of this name.
    ///
    /// # Errors
    /// If it leads out of the project, or a file that determines its state cannot be read.
    pub fn read(&self, id: &OrchestrationId) -> Result<Option<Snapshot>> {
        // A reader creates no lock file; if there is none, nobody has written.
        let lock = self.own(id).join("session");
        let _held = match lock.with_extension("lock").exists() {
            true => Some(lock::take_existing(&lock, lock::DEADLINE)?),
            false => None,
        };
        Ok(self.found(id)?.map(|(seen, _)| seen))
    }

    /// Reads, decides and writes in one step; `None` if there is no orchestration of this name.
    /// Calls `decide` again if an agent has written meanwhile.
    ///
    /// # Errors
    /// If `decide` refuses, or something cannot be read or written. Then nothing is changed.
    pub fn update<T>(
        &self,
        id: &OrchestrationId,
        mut decide: impl FnMut(&Snapshot) -> Result<(Snapshot, T)>,
    ) -> Result<Option<SnapshotChange<T>>> {
        let own = self.own(id);
        if !self.is_there(id)? {
            return Ok(None);
        }
        let _held = self.lock(id)?;
        if let Some(pending) = Pending::read(&own)? {
            pending.carry_out(&self.top, id, &own)?;
            Pending::forget(&own)?;
        }
        for _ in 0..MOST_TURNS {
            let Some((before, kept)) = self.found(id)? else { return Ok(None) };
            let (after, what) = decide(&before)?;
            let pending = Pending::diff(&before, &after, &kept);
            if !pending.is_as_read(&self.top, id)? {
                continue;
            }
            if !before.damage.is_empty() {
                self.keep(&before, &after, clock::now())?;
            }
            if pending.is_several() {
                pending.write(&own)?;
                pending.carry_out(&self.top, id, &own)?;
                Pending::forget(&own)?;
            } else {
                pending.carry_out(&self.top, id, &own)?;
            }
            return Ok(Some(SnapshotChange { before, after, what }));
        }
        bail!("the files of orchestration {id} keep changing; try again when the agents have ended")
    }

    /// Keeps the texts of the files that differ in `after`, and returns their folder.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn keep(
        &self,
        before: &Snapshot,
        after: &Snapshot,
        at: jiff::Timestamp,
    ) -> Result<Option<PathBuf>> {
        let folder = self.own(&before.id).join("before-repair").join(clock::compact(at));
        let mut kept = None;
        for file in writes(before, after) {
            if let Some(Some(text)) = before.files.get(&file.path) {
                user_files::make_folders(&folder, 0o700)?;
                atomic::write(&folder.join(file.path.replace('/', "-")), text.as_bytes())?;
                kept = Some(folder.clone());
            }
        }
        Ok(kept)
    }

    fn folder(&self, id: &OrchestrationId) -> PathBuf {
        self.top.join(SESSIONS).join(id.as_str())
    }

    /// True if the folder exists and is not reached through a link.
    fn is_there(&self, id: &OrchestrationId) -> Result<bool> {
        let folder = self.folder(id);
        match folder.canonicalize() {
            Ok(real) if real == folder && real.is_dir() => Ok(true),
            Ok(_) => bail!("`{}` is no folder of its own; put one in its place", folder.display()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => {
                Err(error).with_context(|| format!("could not inspect `{}`", folder.display()))
            }
        }
    }

    /// The orchestration, as if all pending writes were done, and what is kept of it.
    fn found(&self, id: &OrchestrationId) -> Result<Option<(Snapshot, Own)>> {
        if !self.is_there(id)? {
            return Ok(None);
        }
        let mut seen = read::snapshot(&self.top, id)?;
        let mut own = Own::read(&self.own(id))?;
        if let Some(pending) = Pending::read(&self.own(id))? {
            pending.show(&mut seen);
            own = pending.own().unwrap_or(own);
        }
        own.tell(&mut seen);
        Ok(Some((seen, own)))
    }

    /// Ralph's own folder for an orchestration. It includes the project, because two projects may
    /// use the same name.
    fn own(&self, id: &OrchestrationId) -> PathBuf {
        let project = sha256(self.top.as_os_str().as_bytes())[..16].to_owned();
        self.home.sessions().join(format!("{project}-{id}"))
    }

    fn lock(&self, id: &OrchestrationId) -> Result<Lock> {
        self.home.prepare()?;
        let own = self.own(id);
        user_files::make_folders(&own, 0o700)?;
        lock::take(&own.join("session"), lock::DEADLINE)
    }
}

#[cfg(test)]
mod tests;
