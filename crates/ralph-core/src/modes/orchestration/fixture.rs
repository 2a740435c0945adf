//! Orchestrations for tests, laid out as a planner would.

use super::files::OrchestrationFile;
use super::id::OrchestrationId;
use super::metadata::{IterationMetadata, OrchestrationMetadata};
use super::progress::{self, Progress, ProgressSection, TaskMark};
use super::snapshot::Snapshot;
use super::state::State;
use jiff::Timestamp;

/// The time of all tests.
pub(super) fn now() -> Timestamp {
    "2026-01-31T12:00:00Z".parse().unwrap()
}

/// This many minutes after [`now`].
pub(super) fn later(minutes: i64) -> Timestamp {
    now() + jiff::SignedDuration::from_mins(minutes)
}

pub(super) fn task(id: &str, depends_on: &[&str]) -> String {
    format!(
        "---\nid: {id}\niteration: 1\n---\n# Task: {id}\n## Title\nDo {id}\n## Objective\nIt.\n\
         ## Success Criteria\n- [ ] it is\n## Dependencies\ndepends_on: [{}]\n",
        depends_on.join(", ")
    )
}

/// A report, with or without a verdict.
pub(super) fn report(id: &str, iteration: u32, verdict: Option<&str>) -> String {
    let said = verdict.map(|verdict| format!("**Status**: {verdict}\n")).unwrap_or_default();
    format!(
        "---\ntask_id: {id}\niteration: {iteration}\n---\n## PART 1: IMPLEMENTATION REPORT\n\
         ## PART 2: REVIEW REPORT\n{said}"
    )
}

pub(super) fn review(status: &str) -> String {
    format!("# Session Review\n## Overall Assessment\n**Status**: {status}\n")
}

/// A feedback batch with one issue.
pub(super) fn feedback(iteration: u32) -> String {
    let before = iteration - 1;
    format!(
        "---\niteration: {iteration}\ntimestamp: 2026-02-01T12:00:00Z\nprevious_iteration: {before}\n---\n\
         ## Critical Issues\n- [ ] **ISS-001**: It does not start\n"
    )
}

pub(super) struct SampleOrchestration {
    pub(super) seen: Snapshot,
}

impl SampleOrchestration {
    /// An orchestration without files.
    pub(super) fn empty() -> SampleOrchestration {
        let id = OrchestrationId::parse("260131-120000").unwrap();
        SampleOrchestration { seen: Snapshot::new(id, "Build a door") }
    }

    /// An initialized orchestration whose planning tasks are open.
    pub(super) fn initialized() -> SampleOrchestration {
        let mut session = SampleOrchestration::empty();
        session.file("plan.md", "Goal: a door\n");
        let text = progress::new(&super::change::PLANNING);
        session.file("progress.md", &text.replace("[ ] plan-init", "[x] plan-init"));
        let id = session.seen.id.clone();
        session.file(
            "metadata.yaml",
            &OrchestrationMetadata::first(&id, State::Planning, 1, now().into()),
        );
        session.file("iterations/1/metadata.yaml", &IterationMetadata::first(1, now().into()));
        session
    }

    /// A planned orchestration with these tasks and their dependencies.
    pub(super) fn planned(tasks: &[(&str, &[&str])]) -> SampleOrchestration {
        let mut session = SampleOrchestration::initialized();
        for id in &super::change::PLANNING[1..] {
            session.edit("progress.md", &format!("[ ] {id}"), &format!("[x] {id}"));
        }
        for (id, depends_on) in tasks {
            session.file(&format!("tasks/{id}.md"), &task(id, depends_on));
        }
        let ids: Vec<&str> = tasks.iter().map(|(id, _)| *id).collect();
        let text = session.text("progress.md").to_owned();
        session.file(
            "progress.md",
            &progress::add_section(&text, ProgressSection::Implementation, 1, &ids),
        );
        session.state(State::Batching);
        session
    }

    pub(super) fn text(&self, path: &str) -> &str {
        self.seen.files[path].as_deref().unwrap()
    }

    pub(super) fn file(&mut self, path: &str, text: &str) {
        self.seen.files.insert(path.to_owned(), Some(text.to_owned()));
    }

    #[track_caller]
    pub(super) fn edit(&mut self, path: &str, old: &str, new: &str) {
        let text = self.text(path);
        assert!(text.contains(old), "{text}");
        let text = text.replacen(old, new, 1);
        self.file(path, &text);
    }

    pub(super) fn state(&mut self, state: State) {
        let text = self.text("metadata.yaml").to_owned();
        let text = super::yaml::set(&text, &["orchestrator", "state"], state.word()).unwrap();
        self.file("metadata.yaml", &text);
    }

    /// Sets a task's mark and keeps its note.
    pub(super) fn mark(&mut self, id: &str, mark: &str) {
        self.noted(id, mark, None);
    }

    pub(super) fn mark_planning(&mut self, id: &str, mark: &str) {
        self.noted(id, mark, None);
    }

    /// Sets a task's mark and note; for a planning task, in its latest section.
    pub(super) fn noted(&mut self, id: &str, mark: &str, note: Option<&str>) {
        let text = self.text("progress.md").to_owned();
        let progress = Progress::parse(&text);
        let planning =
            || (1..=9).rev().find_map(|at| progress.planning(at).find(|entry| entry.id == id));
        let entry = progress.task(id).or_else(planning).unwrap();
        let text = progress::mark(&text, entry, TaskMark::of(mark).unwrap(), note).unwrap();
        self.file("progress.md", &text);
    }

    pub(super) fn status(&self, id: &str) -> TaskMark {
        let text = self.seen.text(OrchestrationFile::Progress).unwrap();
        Progress::parse(text).task(id).unwrap().status
    }
}
