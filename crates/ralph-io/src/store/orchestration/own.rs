//! What Ralph keeps of an orchestration: the request, the results of calls, and the record from which the
//! status files are rendered.

use crate::store::document::Document;
use anyhow::{Result, bail};
use ralph_core::modes::orchestration::invocation::Running;
use ralph_core::modes::orchestration::record::Record;
use ralph_core::modes::orchestration::recovery::Tries;
use ralph_core::modes::orchestration::snapshot::Snapshot;
use ralph_core::modes::orchestration::validate::is_invalid;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::Path;

/// The version that is written, and the newest that is read.
const VERSION: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Own {
    schema_version: u32,
    #[serde(default)]
    request: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    running: Option<Vec<Running>>,
    #[serde(default)]
    tries: Tries,
    /// `None` until the status files could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    record: Option<Record>,
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
            record: None,
            more: Map::new(),
        }
    }
}

impl Own {
    /// The document of a new orchestration.
    pub(super) fn asked(request: &str) -> Own {
        Own { request: request.to_owned(), ..Own::default() }
    }

    /// The same document for another snapshot.
    pub(super) fn with(&self, seen: &Snapshot) -> Own {
        let Snapshot { request, running, tries, record, .. } = seen.clone();
        let is_read = record.progress.is_some() && !is_invalid(&seen.damage);
        let record = is_read.then_some(record);
        Own { request, running, tries, record, ..self.clone() }
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

    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        document(folder).write(self)
    }

    /// Tells a snapshot what is kept, and reads its status over it.
    pub(super) fn tell(&self, seen: &mut Snapshot) {
        seen.request.clone_from(&self.request);
        seen.running.clone_from(&self.running);
        seen.tries.clone_from(&self.tries);
        seen.read_status(self.record.as_ref());
    }
}

fn document(folder: &Path) -> Document<Own> {
    Document::pretty_json(folder.join("session.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_of_megabytes_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let own = Own::asked(&"x".repeat(7 << 20));
        own.write(folder.path()).unwrap();
        assert_eq!(Own::read(folder.path()).unwrap(), own);
    }
}
