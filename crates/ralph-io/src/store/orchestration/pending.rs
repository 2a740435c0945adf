//! The pending writes of an orchestration, kept until all are done.
//!
//! The record and the files that are rendered from it are several files, and no system replaces two at
//! once. So the new contents are written down first. If the writer is killed in between, the next writer finishes its work, and a
//! reader sees it as finished.

use super::own::Own;
use super::target;
use crate::project::safe_read;
use crate::store::{atomic, digest, document::Document};
use anyhow::{Context, Result};
use ralph_core::modes::orchestration::change::writes;
use ralph_core::modes::orchestration::files::{OrchestrationFile, folder};
use ralph_core::modes::orchestration::id::OrchestrationId;
use ralph_core::modes::orchestration::snapshot::Snapshot;
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::path::Path;

/// A snapshot has texts of 64 MiB at most; as JSON they may be longer.
const LARGEST: u64 = 512 << 20;

/// Files to write, and signals to move.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Pending {
    files: Vec<File>,
    /// The names of signals that were received.
    heard: Vec<String>,
    /// What Ralph keeps from now on, if that changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    own: Option<Own>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct File {
    path: String,
    /// The digest of the file before; `None` if it did not exist.
    before: Option<String>,
    text: String,
}

impl Pending {
    /// The difference between two snapshots, and what Ralph keeps of the second.
    pub(super) fn diff(before: &Snapshot, after: &Snapshot, kept: &Own) -> Pending {
        let digest = |path: &str| {
            let text = before.files.get(path)?.as_deref().unwrap_or_default();
            Some(digest::of_bytes(text.as_bytes()))
        };
        let file = |write: ralph_core::modes::orchestration::change::FileWrite| File {
            before: digest(&write.path),
            path: write.path,
            text: write.text,
        };
        let still = |name: &String| after.signals.iter().any(|signal| signal.name == *name);
        let names = before.signals.iter().map(|signal| signal.name.clone());
        Pending {
            files: writes(before, after).into_iter().map(file).collect(),
            heard: names.filter(|name| !still(name)).collect(),
            own: Some(kept.with(after)).filter(|own| own != kept),
        }
    }

    /// True if it takes more than one rename.
    pub(super) fn is_several(&self) -> bool {
        self.files.len() + self.heard.len() + usize::from(self.own.is_some()) > 1
    }

    /// True if nobody has written to the files since they were read.
    pub(super) fn is_as_read(&self, top: &Path, id: &OrchestrationId) -> Result<bool> {
        for file in &self.files {
            if found(top, id, &file.path)? != file.before {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn read(own: &Path) -> Result<Option<Pending>> {
        document(own).read()
    }

    pub(super) fn write(&self, own: &Path) -> Result<()> {
        document(own).write(self)
    }

    /// Removes the record, once everything is done.
    pub(super) fn forget(own: &Path) -> Result<()> {
        let path = document(own).path;
        std::fs::remove_file(&path)
            .and_then(|()| atomic::sync_folder(&path))
            .with_context(|| format!("could not remove `{}`", path.display()))
    }

    /// Does what is not done yet. A file that someone else has written since is left alone.
    pub(super) fn carry_out(&self, top: &Path, id: &OrchestrationId, own: &Path) -> Result<()> {
        for file in &self.files {
            if OrchestrationFile::from_path(&file.path).is_some()
                && found(top, id, &file.path)? == file.before
            {
                target::write(top, &format!("{}{}", folder(id), file.path), &file.text)?;
            }
        }
        for name in &self.heard {
            put_away(top, id, name)?;
        }
        self.own.as_ref().map_or(Ok(()), |kept| kept.write(own))
    }

    /// What Ralph keeps once this is done.
    pub(super) fn own(self) -> Option<Own> {
        self.own
    }

    /// Applies the pending writes to a snapshot.
    pub(super) fn show(&self, seen: &mut Snapshot) {
        for file in &self.files {
            let stands = seen
                .files
                .get(&file.path)
                .map(|text| digest::of_bytes(text.as_deref().unwrap_or_default().as_bytes()));
            if stands == file.before {
                seen.files.insert(file.path.clone(), Some(file.text.clone()));
            }
        }
        seen.signals.retain(|signal| !self.heard.contains(&signal.name));
    }
}

fn document(own: &Path) -> Document<Pending> {
    let read = |path: &Path| safe_read::read(path, LARGEST);
    Document { read, ..Document::json(own.join("pending.json")) }
}

/// The digest of a file; `None` if it does not exist.
fn found(top: &Path, id: &OrchestrationId, path: &str) -> Result<Option<String>> {
    let path = top.join(folder(id)).join(path);
    Ok(safe_read::read(&path, 1 << 20)?.map(|bytes| digest::of_bytes(&bytes)))
}

/// Moves a signal to the processed ones; another process may have been quicker.
fn put_away(top: &Path, id: &OrchestrationId, name: &str) -> Result<()> {
    if !matches!(
        OrchestrationFile::from_path(&format!("signals/inputs/{name}")),
        Some(OrchestrationFile::SignalInput(_))
    ) {
        return Ok(());
    }
    let from = target::place(top, &format!("{}signals/inputs/{name}", folder(id)))?;
    let to = target::place(top, &format!("{}signals/processed/{name}", folder(id)))?;
    match std::fs::rename(&from, &to) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(()) => atomic::sync_folder(&to).and_then(|()| atomic::sync_folder(&from)),
    }
    .with_context(|| format!("could not move `{}`", from.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::modes::orchestration::signal::UnheardSignal;

    impl Pending {
        /// The first steps only, as left by a writer that was killed after them.
        pub(crate) fn first(&self, steps: usize) -> Pending {
            let files: Vec<File> = self.files.iter().take(steps).cloned().collect();
            let rest = steps - files.len();
            Pending { files, heard: self.heard.iter().take(rest).cloned().collect(), own: None }
        }
    }

    #[test]
    fn what_changes_is_pending_with_what_was_there_before() {
        let id = OrchestrationId::parse("260131-120000").unwrap();
        let signal = |name: &str| UnheardSignal::read(name, "INFO: x");
        let before = Snapshot {
            signals: ["a", "b", "c"].map(signal).to_vec(),
            ..Snapshot::new(id, "Build a door")
        };
        let kept = Own::asked("Build a door");
        let nothing = Pending { files: Vec::new(), heard: Vec::new(), own: None };
        assert_eq!(Pending::diff(&before, &before, &kept), nothing);
        let after = Snapshot { signals: vec![signal("b")], ..before.clone() };
        let heard = vec!["a".to_owned(), "c".to_owned()];
        assert_eq!(Pending::diff(&before, &after, &kept), Pending { heard, ..nothing.clone() });
        let after = Snapshot { request: "Build a gate".to_owned(), ..before.clone() };
        let own = Some(kept.with(&after));
        assert_eq!(Pending::diff(&before, &after, &kept), Pending { own, ..nothing });
    }

    #[test]
    fn what_takes_more_than_one_rename_is_several() {
        let file = File { path: "plan.md".to_owned(), before: None, text: String::new() };
        for (files, heard, own, is_several) in [
            (0, 0, false, false),
            (1, 0, false, false),
            (0, 1, false, false),
            (0, 0, true, false),
            (2, 0, false, true),
            (0, 2, false, true),
            (1, 1, false, true),
            (1, 0, true, true),
            (0, 1, true, true),
            (3, 2, true, true),
        ] {
            let pending = Pending {
                files: vec![file.clone(); files],
                heard: vec![String::new(); heard],
                own: own.then(Own::default),
            };
            assert_eq!(pending.is_several(), is_several, "{files} {heard} {own}");
        }
    }
}
