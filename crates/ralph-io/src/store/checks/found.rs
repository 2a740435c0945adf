//! What the checks beside the work have found and the model has not been told, in the loop's folder.

use super::files;
use crate::store::{digest, document::Document};
use anyhow::Result;
use ralph_core::project::check::answer::CheckReport;
use ralph_core::project::check::finding::Finding;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The result of one run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LateFindings {
    /// Everything but the findings.
    pub report: CheckReport,
    /// The findings of each check.
    pub checks: Vec<LateCheck>,
    /// The files that they speak of, with the digests of their contents.
    pub contents: BTreeMap<PathBuf, String>,
    /// The files whose edits were checked.
    pub edited: BTreeSet<PathBuf>,
    /// The subagents whose edits were checked; an empty name is the conversation.
    pub agents: BTreeSet<String>,
}

/// The findings of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateCheck {
    /// The root of its project.
    pub root: PathBuf,
    pub id: String,
    pub new: Vec<Finding>,
}

impl LateFindings {
    /// True if every file still has the content that the checks read.
    pub fn are_true(&self) -> bool {
        self.contents.iter().all(|(path, then)| digest_of(path) == *then)
    }
}

/// The digests of files, unless one of them was changed at or after this time (nanoseconds since
/// 1970): then nobody knows which content the checks read.
pub fn contents_before(since: i128, paths: BTreeSet<PathBuf>) -> Option<BTreeMap<PathBuf, String>> {
    let is_older = |path: &PathBuf| {
        path.symlink_metadata().map_or(true, |about| {
            i128::from(about.ctime()) * 1_000_000_000 + i128::from(about.ctime_nsec()) < since
        })
    };
    // Before the times are looked at: a change in between is seen.
    let digests: BTreeMap<_, _> =
        paths.into_iter().map(|path| (path.clone(), digest_of(&path))).collect();
    digests.keys().all(is_older).then_some(digests)
}

/// Empty for a file that is gone.
fn digest_of(path: &Path) -> String {
    files::content(path).map(|bytes| digest::of_bytes(&bytes)).unwrap_or_default()
}

/// True if the model has to be told of something. Every tool call asks this, so it costs one system
/// call.
pub fn has_found(of_loop: &Path) -> bool {
    document(of_loop).path.symlink_metadata().is_ok()
}

/// Keeps a result until the model is told.
///
/// # Errors
/// If it cannot be written.
pub fn add_found(of_loop: &Path, found: LateFindings) -> Result<()> {
    document(of_loop).update(|all| {
        all.push(found);
        Ok(())
    })
}

/// Takes the results that an agent is told: a subagent hears of its own edits, the conversation of
/// all. What is taken is told by nobody else.
///
/// # Errors
/// If what remains cannot be written; nothing is taken then.
pub fn take_found(of_loop: &Path, agent: &str) -> Result<Vec<LateFindings>> {
    let document = document(of_loop);
    let _held = document.lock()?;
    let all = document.read()?.unwrap_or_default();
    let (taken, left): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|one| agent.is_empty() || one.agents.contains(agent));
    match left.is_empty() {
        _ if taken.is_empty() => {}
        true => std::fs::remove_file(&document.path)?,
        false => document.write(&left)?,
    }
    Ok(taken)
}

fn document(of_loop: &Path) -> Document<Vec<LateFindings>> {
    Document::cache(of_loop.join("found.json"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::clock;

    fn findings_for(agent: &str) -> LateFindings {
        LateFindings { agents: [agent.to_owned()].into(), ..LateFindings::default() }
    }

    #[test]
    fn a_subagent_takes_the_results_of_its_edits_and_the_conversation_all_once() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        for agent in ["", "one", "two"] {
            add_found(at, findings_for(agent)).unwrap();
        }
        assert_eq!(take_found(at, "one").unwrap(), [findings_for("one")]);
        assert_eq!(take_found(at, "one").unwrap(), []);
        assert_eq!(take_found(at, "").unwrap(), [findings_for(""), findings_for("two")]);
        assert!(!has_found(at));
        assert_eq!(take_found(at, "").unwrap(), []);
    }

    #[test]
    fn a_result_is_true_as_long_as_its_files_are_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, "one").unwrap();
        let at =
            |time: jiff::Timestamp| contents_before(time.as_nanosecond(), [path.clone()].into());
        assert_eq!(at(jiff::Timestamp::UNIX_EPOCH), None, "it was changed since");
        let about = path.metadata().unwrap();
        let changed = i128::from(about.ctime()) * 1_000_000_000 + i128::from(about.ctime_nsec());
        assert_eq!(contents_before(changed, [path.clone()].into()), None, "at that moment");
        assert!(contents_before(changed + 1, [path.clone()].into()).is_some());
        let hour = std::time::Duration::from_secs(3600);
        let contents = at(clock::now().checked_add(hour).unwrap()).unwrap();
        let found = LateFindings { contents, ..LateFindings::default() };
        assert!(found.are_true());
        std::fs::write(&path, "two").unwrap();
        assert!(!found.are_true());
        std::fs::remove_file(&path).unwrap();
        assert!(!found.are_true());
    }
}
