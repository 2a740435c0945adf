//! What Ralph keeps of an orchestration. `progress.md` and the metadata are rendered from it.
//!
//! Agents and users may edit these files: marks, new tasks, and the status are read back. What cannot be
//! read, or is Ralph's own, is rendered anew as it is kept. A folder of which nothing is kept (a fresh
//! clone, an orchestration of an earlier version) is read as a whole.

use super::files::OrchestrationFile;
use super::finding::OrchestrationFinding;
use super::metadata::{IterationMetadata, OrchestrationMetadata};
use super::progress::{Progress, ReadProgress};
use super::snapshot::Snapshot;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Record {
    /// The status of each task; `None` before a planner has laid out the orchestration.
    pub progress: Option<Progress>,
    /// The state, the iteration and the wave; `None` if they are missing.
    pub metadata: Option<OrchestrationMetadata>,
    /// When each iteration began and ended.
    #[serde(default)]
    pub iterations: BTreeMap<u32, IterationMetadata>,
}

impl Snapshot {
    /// Reads the status of the orchestration from its files, over what is kept of it.
    pub fn read_status(&mut self, kept: Option<&Record>) {
        self.damage.clear();
        let nothing = Record::default();
        let kept = kept.unwrap_or(&nothing);
        self.record = Record {
            progress: self.read_progress(kept.progress.as_ref()),
            metadata: self.read_metadata(kept.metadata.as_ref()),
            iterations: self.read_iterations(&kept.iterations),
        };
    }

    fn read_progress(&mut self, kept: Option<&Progress>) -> Option<Progress> {
        let place = OrchestrationFile::Progress;
        let read = self.text(place).map(ReadProgress::parse);
        let Some(kept) = kept else {
            let read = read?;
            self.damage.extend(read.damage);
            return Some(read.progress);
        };
        let Some(read) = read else {
            self.damage.push(place.notice(0, "it was missing"));
            return Some(kept.clone());
        };
        self.damage.extend(read.damage.iter().cloned().map(OrchestrationFinding::mended));
        let (progress, restored) = read.completed_by(kept);
        if self.damage.is_empty() {
            let what = |id: &String| format!("{id} must not be removed; mark it `[C]`");
            self.damage.extend(restored.iter().map(|id| place.notice(0, what(id))));
        }
        Some(progress)
    }

    /// The status is an agent's to set. The rest is Ralph's own, unless the file has changed more often
    /// than what is kept: then another machine has written it.
    fn read_metadata(
        &mut self,
        kept: Option<&OrchestrationMetadata>,
    ) -> Option<OrchestrationMetadata> {
        let place = OrchestrationFile::Metadata;
        let read = self.text(place).map(|text| OrchestrationMetadata::parse(text, &self.id));
        let Some(kept) = kept else {
            let (metadata, found) = read?;
            self.damage.extend(found);
            return Some(metadata);
        };
        let Some((metadata, found)) = read else {
            self.damage.push(place.notice(0, "it was missing"));
            return Some(kept.clone());
        };
        if found.is_empty() && metadata.version > kept.version {
            return Some(metadata);
        }
        let standing = metadata.standing.or(kept.standing);
        self.damage.extend(found.into_iter().map(OrchestrationFinding::mended));
        Some(OrchestrationMetadata { standing, ..kept.clone() })
    }

    fn read_iterations(
        &self,
        kept: &BTreeMap<u32, IterationMetadata>,
    ) -> BTreeMap<u32, IterationMetadata> {
        let mut iterations = BTreeMap::new();
        for (path, text) in &self.files {
            if let Some(OrchestrationFile::IterationMetadata(iteration)) =
                OrchestrationFile::from_path(path)
            {
                let text = text.as_deref().unwrap_or_default();
                iterations.insert(iteration, IterationMetadata::parse(text, iteration).0);
            }
        }
        iterations.extend(kept.clone());
        iterations
    }

    /// Renders the files whose content in `before` is not what the record says, or was damaged.
    pub(super) fn render_status(&mut self, before: &Snapshot) {
        let Record { progress, metadata, iterations } = self.record.clone();
        let differs = |place: OrchestrationFile<'_>, is_same: bool| {
            !is_same || before.damage.iter().any(|finding| finding.file == place.to_string())
        };
        if let Some(progress) = &progress
            && differs(OrchestrationFile::Progress, self.record.progress == before.record.progress)
        {
            self.write(OrchestrationFile::Progress, progress.render());
        }
        for (iteration, metadata) in &iterations {
            if before.record.iterations.get(iteration) != Some(metadata) {
                let place = OrchestrationFile::IterationMetadata(*iteration);
                self.write(place, metadata.render(*iteration));
            }
        }
        if let Some(metadata) = &metadata
            && differs(OrchestrationFile::Metadata, self.record.metadata == before.record.metadata)
        {
            let text = metadata.render(&self.id, self.counts());
            self.write(OrchestrationFile::Metadata, text);
        }
        self.damage.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::super::change::writes;
    use super::super::fixture::{SampleOrchestration, now};
    use super::super::snapshot::Picture;
    use super::super::state::{MetadataStatus, State};
    use super::super::validate::{is_invalid, validate};
    use super::*;

    const TASKS: &[(&str, &[&str])] = &[("task-1", &[]), ("task-2", &[])];

    type Damage = fn(&mut SampleOrchestration);

    /// A planned orchestration after this change of its files, of which Ralph keeps the record, and the
    /// orchestration after a step in which nothing else happens.
    fn changed(change: impl Fn(&mut SampleOrchestration)) -> (Snapshot, Snapshot) {
        let mut session = SampleOrchestration::planned(TASKS);
        let kept = session.seen.record.clone();
        change(&mut session);
        session.seen.read_status(Some(&kept));
        let after = session.seen.clone().rendered(&session.seen, now().into());
        (session.seen, after)
    }

    #[test]
    fn marks_tasks_and_the_status_are_read_back_and_nothing_is_rendered() {
        let (seen, after) = changed(|session| {
            session.edit("progress.md", "- [ ] task-1", "- [P] task-1 (Attempt 1)\n- [ ] task-3");
            session.edit("progress.md", "# Progress\n", "# Progress\nA word of mine.\n");
            session.edit("metadata.yaml", "in_progress #", "completed #");
        });
        assert_eq!((&after, &seen.damage), (&seen, &vec![]));
        let progress = seen.record.progress.unwrap();
        let marks: Vec<String> =
            progress.tasks().iter().map(|it| format!("{} {}", it.status, it.id)).collect();
        assert_eq!(marks, ["[P] task-1", "[ ] task-3", "[ ] task-2"]);
        assert_eq!(seen.record.metadata.unwrap().standing, Some(MetadataStatus::Completed));
    }

    #[test]
    fn what_is_damaged_is_named_and_rendered_as_it_is_kept() {
        let whole = SampleOrchestration::planned(TASKS);
        let damages: [(&str, Damage, &str); 8] = [
            ("progress.md", |it| it.edit("progress.md", "- [ ] task-2", "- [?] task-2"), "`[?]`"),
            (
                "progress.md",
                |it| it.edit("progress.md", "- [ ] task-2\n", ""),
                "task-2 must not be removed",
            ),
            (
                "progress.md",
                |it| it.edit("progress.md", "## Legend", "## What"),
                "`## Legend` is missing",
            ),
            ("progress.md", |it| it.file("progress.md", "lost"), "the header `# Progress`"),
            ("progress.md", |it| it.remove("progress.md"), "it was missing"),
            ("metadata.yaml", |it| it.file("metadata.yaml", "tasks: [\n"), "not YAML"),
            (
                "metadata.yaml",
                |it| it.edit("metadata.yaml", "version: 1\n", ""),
                "`version` is missing",
            ),
            ("metadata.yaml", |it| it.remove("metadata.yaml"), "it was missing"),
        ];
        for (file, damage, told) in damages {
            let (seen, after) = changed(damage);
            assert!(seen.damage[0].to_string().starts_with(file), "{:?}", seen.damage);
            assert!(seen.damage.iter().any(|it| it.what.contains(told)), "{:?}", seen.damage);
            assert!(!is_invalid(&validate(&seen)), "nobody has to be called");
            assert_eq!(after.record.progress, whole.seen.record.progress, "{told}");
            let picture = Picture::from_snapshot(&after);
            assert_eq!((picture.state, picture.iteration), (State::Batching, 1), "{told}");
            assert!(writes(&seen, &after).iter().any(|write| write.path == file), "{told}");
            let mut again = after.clone();
            again.read_status(Some(&after.record));
            assert_eq!((&again.damage, &again.record), (&vec![], &after.record), "{told}");
        }
    }

    #[test]
    fn only_a_file_that_another_machine_has_written_since_changes_the_state() {
        let state = |version: &str| {
            let (seen, _) = changed(|session| {
                session.edit("metadata.yaml", "state: BATCHING", "state: COMPLETE");
                session.edit("metadata.yaml", "version: 1\n", version);
            });
            Picture::from_snapshot(&seen).state
        };
        assert_eq!(state("version: 1\n"), State::Batching);
        assert_eq!(state("version: 2\n"), State::Complete);
    }
}
