//! Orchestrations for tests, laid out as a planner would.

use super::id::OrchestrationId;
use super::metadata::{Counts, IterationMetadata, OrchestrationMetadata};
use super::progress::{Progress, ProgressSection, TaskMark};
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
        let text = Progress::first(&super::change::PLANNING).render();
        session.file("progress.md", &text.replace("[ ] plan-init", "[x] plan-init"));
        let metadata = OrchestrationMetadata::first(State::Planning, 1, now().into());
        session.file("metadata.yaml", &metadata.render(&session.seen.id, Counts::default()));
        let started_at = metadata.created_at;
        let iteration = IterationMetadata { started_at, ..IterationMetadata::default() };
        session.file("iterations/1/metadata.yaml", &iteration.render(1));
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
        session.progress().add(ProgressSection::Implementation, 1, &ids);
        session.render();
        session.state(State::Batching);
        session
    }

    pub(super) fn text(&self, path: &str) -> &str {
        self.seen.files[path].as_deref().unwrap()
    }

    pub(super) fn file(&mut self, path: &str, text: &str) {
        self.seen.files.insert(path.to_owned(), Some(text.to_owned()));
        if path == "progress.md" || path.ends_with("metadata.yaml") {
            self.seen.read_status(None);
        }
    }

    pub(super) fn remove(&mut self, path: &str) {
        self.seen.files.remove(path).unwrap();
        self.seen.read_status(None);
    }

    pub(super) fn progress(&mut self) -> &mut Progress {
        self.seen.record.progress.as_mut().unwrap()
    }

    pub(super) fn metadata(&mut self) -> &mut OrchestrationMetadata {
        self.seen.record.metadata.as_mut().unwrap()
    }

    /// Writes the files as an agent would who set what the record says.
    pub(super) fn render(&mut self) {
        let nothing = Snapshot::new(self.seen.id.clone(), "");
        self.seen.render_status(&nothing);
    }

    #[track_caller]
    pub(super) fn edit(&mut self, path: &str, old: &str, new: &str) {
        let text = self.text(path);
        assert!(text.contains(old), "{text}");
        let text = text.replacen(old, new, 1);
        self.file(path, &text);
    }

    pub(super) fn state(&mut self, state: State) {
        self.metadata().state = Some(state);
        self.render();
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
        let status = TaskMark::from_mark(mark).unwrap();
        let progress = self.progress();
        match progress.task_mut(id) {
            Some(entry) => entry.set(status, note),
            None => {
                let place = |number: u32| {
                    Some((number, progress.planning(number).position(|entry| entry.id == id)?))
                };
                let (number, at) = (1..=9).rev().find_map(place).unwrap();
                progress.planning_mut(number, at).unwrap().set(status, note);
            }
        }
        self.render();
    }

    pub(super) fn status(&self, id: &str) -> TaskMark {
        self.seen.record.progress.as_ref().unwrap().task(id).unwrap().status
    }
}
