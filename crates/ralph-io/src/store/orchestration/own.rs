//! What Ralph knows about an orchestration beyond its files: the request, and the results of calls.

use crate::{project::safe_read, store::document::Document};
use anyhow::{Result, bail};
use ralph_core::modes::orchestration::invocation::Running;
use ralph_core::modes::orchestration::recovery::Tries;
use ralph_core::modes::orchestration::snapshot::Snapshot;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::Path;

/// The version that is written, and the newest that is read.
const VERSION: u32 = 1;

/// Larger than any request with all calls of an orchestration.
const LARGEST: u64 = 8 << 20;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Own {
    schema_version: u32,
    #[serde(default)]
    request: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    running: Option<Vec<Running>>,
    #[serde(default)]
    tries: Tries,
    /// Fields that a newer version wrote and this one does not know.
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
    /// The document of a new orchestration.
    pub(super) fn asked(request: &str) -> Own {
        Own { request: request.to_owned(), ..Own::default() }
    }

    /// The document for a snapshot.
    pub(super) fn of(seen: &Snapshot) -> Own {
        let Snapshot { request, running, tries, .. } = seen.clone();
        Own { request, running, tries, ..Own::default() }
    }

    /// Reads the document; the default if there is none.
    pub(super) fn read(folder: &Path) -> Result<Own> {
        let document = document(folder);
        let own = document.read()?.unwrap_or_default();
        if own.schema_version > VERSION {
            bail!("`{}` was written by a newer Ralph; update Ralph", document.path.display());
        }
        Ok(own)
    }

    /// Writes the document, and keeps the unknown fields of the existing one.
    pub(super) fn write(mut self, folder: &Path) -> Result<()> {
        self.more = Own::read(folder)?.more;
        document(folder).write(&self)
    }

    /// Copies the document's fields to a snapshot.
    pub(super) fn tell(self, seen: &mut Snapshot) {
        seen.request = self.request;
        seen.running = self.running;
        seen.tries = self.tries;
    }
}

fn document(folder: &Path) -> Document<Own> {
    let read = |path: &Path| safe_read::read(path, LARGEST);
    Document { read, ..Document::pretty_json(folder.join("session.json")) }
}
