//! Orchestrations for tests of the hooks, laid out as their agents would.

use super::routing::{Writes, route_calls};
use crate::hook_runner::tests::TestLoop;
use ralph_core::modes::orchestration::change::PLANNING;
use ralph_core::modes::orchestration::files::folder;
use ralph_core::modes::orchestration::id::OrchestrationId;
use ralph_core::modes::orchestration::in_session;
use ralph_core::modes::orchestration::metadata::{
    Counts, IterationMetadata, OrchestrationMetadata,
};
use ralph_core::modes::orchestration::progress::{Progress, ProgressSection, TaskMark};
use ralph_core::modes::orchestration::signal::SignalKeyword;
use ralph_core::modes::orchestration::snapshot::Snapshot;
use ralph_core::modes::orchestration::state::{MetadataStatus, State};
use ralph_core::state::{Mode, OrchestrationCall, OrchestrationState};
use ralph_core::stop::RouterStep;
use ralph_io::process::clock;
use ralph_io::store::orchestration::OrchestrationStore;
use std::fs;
use std::path::PathBuf;

/// An orchestration and the loop of the session `s` that drives it.
pub(super) struct Orchestrated {
    pub(super) at: TestLoop,
    pub(super) id: OrchestrationId,
    pub(super) sessions: OrchestrationStore,
}

impl Orchestrated {
    /// One without files: the planner's first call is due.
    pub(super) fn begun() -> Orchestrated {
        let at = TestLoop::started(Mode::Orchestration, "\"Build a door\"");
        let id = OrchestrationId::parse(in_session::id(&at.state())).unwrap();
        let sessions = OrchestrationStore::open(&at.root(), &at.home).unwrap();
        Orchestrated { at, id, sessions }
    }

    /// A planned one with these tasks, of which none depends on another: all executors are due.
    pub(super) fn planned(tasks: &[&str]) -> Orchestrated {
        let made = Orchestrated::begun();
        made.lay_out(tasks, TaskMark::Open, State::Batching);
        made
    }

    /// One whose only task is done and reviewed, which its next step completes.
    pub(super) fn finished() -> Orchestrated {
        let made = Orchestrated::begun();
        made.lay_out(&["task-1"], TaskMark::Done, State::SessionReview);
        made.write("iterations/1/review.md", "## Overall Assessment\n**Status**: Complete\n");
        made
    }

    fn lay_out(&self, tasks: &[&str], mark: TaskMark, state: State) {
        let mut progress = Progress::first(&PLANNING);
        for at in 0..PLANNING.len() {
            progress.planning_mut(1, at).unwrap().set(TaskMark::Done, None);
        }
        progress.add(ProgressSection::Implementation, 1, tasks);
        self.write("plan.md", "Goal: a door\n");
        for id in tasks {
            progress.task_mut(id).unwrap().set(mark, None);
            self.write(
                &format!("tasks/{id}.md"),
                &format!(
                    "---\nid: {id}\niteration: 1\n---\n# Task: {id}\n## Title\nDo {id}\n## Objective\nIt.\n\
                     ## Success Criteria\n- [ ] it is\n## Dependencies\ndepends_on: []\n"
                ),
            );
        }
        self.write("progress.md", &progress.render());
        let mut metadata = OrchestrationMetadata::first(state, 1, clock::local(clock::now()));
        if state == State::SessionReview {
            metadata.standing = Some(MetadataStatus::Completed);
        }
        self.write("metadata.yaml", &metadata.render(&self.id, Counts::from_progress(&progress)));
        let started_at = metadata.created_at;
        let iteration = IterationMetadata { started_at, ..IterationMetadata::default() };
        self.write("iterations/1/metadata.yaml", &iteration.render(1));
    }

    /// The path of one of its files.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.at.root().join(folder(&self.id)).join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Replaces a text in one of its files, as an agent would.
    #[track_caller]
    pub(super) fn edit(&self, name: &str, old: &str, new: &str) {
        let text = fs::read_to_string(self.path(name)).unwrap();
        assert!(text.contains(old), "{text}");
        self.write(name, &text.replace(old, new));
    }

    pub(super) fn signal(&self, word: SignalKeyword) {
        self.sessions.send(&self.id, word, "listen", clock::now()).unwrap().unwrap();
    }

    pub(super) fn seen(&self) -> Snapshot {
        self.sessions.read(&self.id).unwrap().unwrap()
    }

    pub(super) fn session(&self) -> OrchestrationState {
        self.at.state().orchestration().unwrap().clone()
    }

    /// Makes the due calls, with their numbers as ids, by agents that are not known yet.
    pub(super) fn make_due_calls(&self) {
        let (mut state, now) = (self.at.state(), clock::now());
        let looked = route_calls(&self.at.home, &mut state, now, Writes::ForCalls);
        let looked = looked.unwrap().unwrap();
        assert_eq!(looked.routed.due, RouterStep::Call);
        for (number, call) in looked.calls.iter().enumerate() {
            let note = OrchestrationCall {
                call: number.to_string(),
                since: now,
                ..OrchestrationCall::given(&call.key, call.prompt())
            };
            super::routing::made(&self.at.home, &mut state, call, note, now).unwrap();
        }
        self.at.change(|kept| *kept = state);
    }
}
