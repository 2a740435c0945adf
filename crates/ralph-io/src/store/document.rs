//! A document in a file: read whole, changed under its lock, and replaced atomically.
//!
//! The state of a loop is no such document: every hook reads it, so it is parsed once, written in
//! two places that swap names, and replaced by its last good copy if it is damaged (`loop_file`).

use crate::store::lock::{self, Lock};
use crate::{project::trusted_read, store::atomic};
use anyhow::{Context, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};

pub(crate) struct Document<T> {
    pub(crate) path: PathBuf,
    /// The path whose lock file is taken for a change.
    pub(crate) lock: PathBuf,
    pub(crate) read: fn(&Path) -> Result<Option<Vec<u8>>>,
    pub(crate) parse: fn(&Path, &[u8]) -> Result<T>,
    pub(crate) render: fn(&T) -> Result<Vec<u8>>,
}

impl<T: Serialize + DeserializeOwned> Document<T> {
    /// A file of JSON that only we may write.
    pub(crate) fn json(path: PathBuf) -> Document<T> {
        Document {
            lock: path.clone(),
            path,
            read: trusted_read::read,
            parse: json,
            render: |value| serde_json::to_vec(value).context("could not write JSON"),
        }
    }

    /// The same with indented lines.
    pub(crate) fn pretty_json(path: PathBuf) -> Document<T> {
        let render = |value: &T| serde_json::to_vec_pretty(value).context("could not write JSON");
        Document { render, ..Document::json(path) }
    }
}

impl<T: Serialize + DeserializeOwned + Default> Document<T> {
    /// As [`Document::json`], for what can be recreated: what cannot be read counts as absent.
    pub(crate) fn cache(path: PathBuf) -> Document<T> {
        Document {
            read: |path| Ok(trusted_read::read(path).ok().flatten()),
            parse: |path, bytes| Ok(json(path, bytes).unwrap_or_default()),
            ..Document::json(path)
        }
    }
}

fn json<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).with_context(|| format!("could not read `{}`", path.display()))
}

impl<T> Document<T> {
    /// Locks out other changes.
    pub(crate) fn lock(&self) -> Result<Lock> {
        lock::take(&self.lock, lock::DEADLINE)
    }

    /// `None` if there is no file.
    pub(crate) fn read(&self) -> Result<Option<T>> {
        let bytes = (self.read)(&self.path)?;
        bytes.map(|bytes| (self.parse)(&self.path, &bytes)).transpose()
    }

    pub(crate) fn write(&self, value: &T) -> Result<()> {
        atomic::write(&self.path, &(self.render)(value)?)
    }

    /// Reads, changes and writes under the lock. Writes nothing if `change` fails or changes
    /// nothing.
    pub(crate) fn update<O>(&self, change: impl FnOnce(&mut T) -> Result<O>) -> Result<O>
    where
        T: Default,
    {
        let _held = self.lock()?;
        let mut value = self.read()?.unwrap_or_default();
        let before = (self.render)(&value)?;
        let outcome = change(&mut value)?;
        let after = (self.render)(&value)?;
        if after != before {
            atomic::write(&self.path, &after)?;
        }
        Ok(outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_one_step_and_one_that_fails_or_changes_nothing_writes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.json");
        let document = || Document::<Vec<u32>>::json(path.clone());
        document().update(|_| Ok(())).unwrap();
        let refused: Result<()> = document().update(|numbers| {
            numbers.push(1);
            anyhow::bail!("no")
        });
        assert!(refused.is_err() && document().read().unwrap().is_none());
        std::thread::scope(|scope| {
            for number in 0..8 {
                let add = move |numbers: &mut Vec<u32>| {
                    numbers.push(number);
                    Ok(())
                };
                scope.spawn(move || document().update(add).unwrap());
            }
        });
        assert_eq!(document().read().unwrap().unwrap().len(), 8);
    }

    #[test]
    fn a_broken_document_is_an_error_and_a_broken_cache_counts_as_absent() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.json");
        atomic::write(&path, b"{").unwrap();
        let error = Document::<u32>::json(path.clone()).read().unwrap_err().to_string();
        assert!(error.contains("could not read") && error.contains("d.json"), "{error}");
        let cache = Document::<u32>::cache(path);
        let add = |number: &mut u32| {
            *number += 1;
            Ok(())
        };
        cache.update(add).unwrap();
        assert_eq!(cache.read().unwrap(), Some(1));
    }
}
