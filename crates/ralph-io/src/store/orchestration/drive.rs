//! A session that a program drives: one at a time, and what one that was killed has left.
//!
//! Each call of an agent holds a lock for as long as anything of it is alive. Whoever begins after a
//! driver that was killed waits for these: two agents of one call would write over each other.

use super::{Sessions, make_private};
use crate::store::lock::{self, Lock};
use crate::{project::safe_read, store::atomic};
use anyhow::{Context, Result};
use ralph_core::modes::orchestration::id::SessionId;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const LOCK: &str = "lock";

const TOLD: &str = "told";

/// More than anybody says to one call.
const LARGEST: u64 = 1 << 20;

impl Sessions {
    /// Keeps every other driver out of this session; none if there is one.
    ///
    /// # Errors
    /// When the lock cannot be made.
    pub fn drive(&self, id: &SessionId) -> Result<Option<Lock>> {
        self.home.prepare()?;
        make_private(&self.calls(id))?;
        Ok(lock::take(&self.own(id).join("run"), Duration::ZERO).ok())
    }

    /// Where a person's signals come in.
    pub fn inputs(&self, id: &SessionId) -> PathBuf {
        self.folder(id).join("signals/inputs")
    }

    /// What a call of this name locks while anything of it is alive.
    pub fn call(&self, id: &SessionId, name: &str) -> PathBuf {
        self.calls(id).join(name)
    }

    /// Notes a call that is about to be made, and what a person said that it is told.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn note_call(&self, id: &SessionId, name: &str, told: &str) -> Result<()> {
        atomic::write(&self.call(id, name).with_extension(TOLD), told.as_bytes())
    }

    /// A call of this name is over, and what it was told need not be told again.
    pub fn forget_call(&self, id: &SessionId, name: &str) {
        for extension in [TOLD, LOCK] {
            // One that stays is found by the next driver.
            let _ = fs::remove_file(self.call(id, name).with_extension(extension));
        }
    }

    /// Waits until nothing is alive of any call of a driver before this one. Gives the names of these
    /// calls, each with what a person said that it was told.
    ///
    /// # Errors
    /// When something is still alive after all this time.
    pub fn left_calls(&self, id: &SessionId, patience: Duration) -> Result<Vec<(String, String)>> {
        let until = Instant::now() + patience;
        let Ok(entries) = fs::read_dir(self.calls(id)) else { return Ok(Vec::new()) };
        let mut told = BTreeMap::new();
        for path in entries.flatten().map(|entry| entry.path()) {
            let Some(name) = path.file_stem().and_then(|name| name.to_str()) else { continue };
            let (name, extension) = (name.to_owned(), path.extension());
            if extension.is_some_and(|it| it == LOCK) {
                let left = until.saturating_duration_since(Instant::now());
                let _ended = lock::take(&path, left).with_context(|| {
                    format!("an agent of an earlier run of session {id} is alive")
                })?;
                told.entry(name).or_default();
            } else if extension.is_some_and(|it| it == TOLD) {
                told.insert(name, safe_read::text(&path, LARGEST)?.unwrap_or_default());
            }
        }
        Ok(told.into_iter().collect())
    }

    fn calls(&self, id: &SessionId) -> PathBuf {
        self.own(id).join("calls")
    }
}
