//! Locks for programs that drive an orchestration: one driver at a time, and recovery of what a
//! killed driver left.
//!
//! Each agent call holds a lock as long as any of its processes is alive. A driver that starts
//! after a killed one waits for these locks: two agents of the same call would overwrite each
//! other's files.

use super::OrchestrationStore;
use crate::project::{safe_read, user_files};
use crate::store::atomic;
use crate::store::lock::{self, Lock};
use anyhow::{Context, Result};
use ralph_core::modes::orchestration::id::OrchestrationId;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const LOCK: &str = "lock";

const TOLD: &str = "told";

/// More than any text told to one call.
const LARGEST: u64 = 1 << 20;

impl OrchestrationStore {
    /// Locks out every other driver of this orchestration; `None` if there is one.
    ///
    /// # Errors
    /// If the lock cannot be created.
    pub fn drive(&self, id: &OrchestrationId) -> Result<Option<Lock>> {
        self.home.prepare()?;
        user_files::make_folders(&self.calls(id), 0o700)?;
        Ok(lock::take(&self.own(id).join("run"), Duration::ZERO).ok())
    }

    /// The folder where the user's signals arrive.
    pub fn inputs(&self, id: &OrchestrationId) -> PathBuf {
        self.folder(id).join("signals/inputs")
    }

    /// The path that a call locks while any of its processes is alive.
    pub fn call(&self, id: &OrchestrationId, name: &str) -> PathBuf {
        self.calls(id).join(name)
    }

    /// Records a call that is about to be made, and the signals that it is told.
    ///
    /// # Errors
    /// If the record cannot be written.
    pub fn note_call(&self, id: &OrchestrationId, name: &str, told: &str) -> Result<()> {
        atomic::write(&self.call(id, name).with_extension(TOLD), told.as_bytes())
    }

    /// Removes the record of a finished call, whose signals need not be told again.
    pub fn forget_call(&self, id: &OrchestrationId, name: &str) {
        for extension in [TOLD, LOCK] {
            // The next driver finds a record that could not be removed.
            let _ = fs::remove_file(self.call(id, name).with_extension(extension));
        }
    }

    /// Waits until no process of an earlier driver's calls is alive. Returns the names of these
    /// calls, each with the signals that it was told.
    ///
    /// # Errors
    /// If a process is still alive after `patience`.
    pub fn left_calls(
        &self,
        id: &OrchestrationId,
        patience: Duration,
    ) -> Result<Vec<(String, String)>> {
        let began = Instant::now();
        let Ok(entries) = fs::read_dir(self.calls(id)) else { return Ok(Vec::new()) };
        let mut told = BTreeMap::new();
        for path in entries.flatten().map(|entry| entry.path()) {
            let Some(name) = path.file_stem().and_then(|name| name.to_str()) else { continue };
            let (name, extension) = (name.to_owned(), path.extension());
            if extension.is_some_and(|it| it == LOCK) {
                let left = patience.saturating_sub(began.elapsed());
                let _ended = lock::take(&path, left).with_context(|| {
                    format!("an agent of an earlier run of orchestration {id} is still running")
                })?;
                told.entry(name).or_default();
            } else if extension.is_some_and(|it| it == TOLD) {
                told.insert(name, safe_read::text(&path, LARGEST)?.unwrap_or_default());
            }
        }
        Ok(told.into_iter().collect())
    }

    fn calls(&self, id: &OrchestrationId) -> PathBuf {
        self.own(id).join("calls")
    }
}
