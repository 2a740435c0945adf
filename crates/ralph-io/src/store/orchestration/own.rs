//! What is known of a session beside its files: what was asked for, and how calls went.

use crate::{project::safe_read, store::atomic};
use anyhow::{Context, Result, bail};
use ralph_core::modes::orchestration::invocation::Running;
use ralph_core::modes::orchestration::recovery::Tries;
use ralph_core::modes::orchestration::snapshot::Snapshot;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::Path;

/// The version that is written and the newest that is read.
const VERSION: u32 = 1;

/// Larger than any request and all calls of a session.
const LARGEST: u64 = 8 << 20;

/// The document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Own {
    schema_version: u32,
    #[serde(default)]
    request: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    running: Option<Vec<Running>>,
    #[serde(default)]
    tries: Tries,
    /// What a newer version wrote and this one does not know.
    #[serde(flatten)]
    more: Map<String, Value>,
}

impl Default for Own {
    fn default() -> Self {
        Own {
            schema_version: VERSION,
            request: String::new(),
            running: None,
            tries: Tries::default(),
            more: Map::new(),
        }
    }
}

impl Own {
    /// Of a session that begins.
    pub(super) fn asked(request: &str) -> Own {
        Own { request: request.to_owned(), ..Own::default() }
    }

    /// As a snapshot has it.
    pub(super) fn of(seen: &Snapshot) -> Own {
        let Snapshot { request, running, tries, .. } = seen.clone();
        Own { request, running, tries, ..Own::default() }
    }

    /// Reads it; where there is none, nothing is known.
    pub(super) fn read(folder: &Path) -> Result<Own> {
        let path = folder.join("session.json");
        let Some(text) = safe_read::text(&path, LARGEST)? else { return Ok(Own::default()) };
        let own: Own = serde_json::from_str(&text)
            .with_context(|| format!("could not read `{}`", path.display()))?;
        if own.schema_version > VERSION {
            bail!("`{}` was written by a newer Ralph; update this one", path.display());
        }
        Ok(own)
    }

    /// Writes it, with what the document there holds beside.
    pub(super) fn write(mut self, folder: &Path) -> Result<()> {
        self.more = Own::read(folder)?.more;
        let text = serde_json::to_vec_pretty(&self).context("could not write down a session")?;
        atomic::write(&folder.join("session.json"), &text)
    }

    /// Tells the snapshot.
    pub(super) fn tell(self, seen: &mut Snapshot) {
        seen.request = self.request;
        seen.running = self.running;
        seen.tries = self.tries;
    }
}
