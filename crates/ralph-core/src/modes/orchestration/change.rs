//! What the router itself changes, and the files that follow from it.
//!
//! Changes are made to a copy of a snapshot, so that the router's next decision is based on the
//! orchestration as it will be. Progress and metadata are rendered and written together: [`writes`]
//! returns both or neither.

use super::attempts;
use super::feedback;
use super::files::OrchestrationFile;
use super::local_time::LocalTime;
use super::metadata::{IterationMetadata, OrchestrationMetadata};
use super::progress::{IterationRow, Progress, ProgressSection, TaskMark};
use super::signal::SignalKeyword;
use super::snapshot::{Picture, Snapshot};
use super::state::{MetadataStatus, State};
use super::validate::is_invalid;

/// The planning tasks of the first iteration.
pub const PLANNING: [&str; 4] = ["plan-init", "plan-brainstorm", "plan-research", "plan-breakdown"];

/// The planning tasks of every later iteration.
pub const REPLANNING: [&str; 4] =
    ["plan-rebrainstorm", "plan-reresearch", "plan-update", "plan-rebreakdown"];

pub fn planning_of(iteration: u32) -> &'static [&'static str] {
    if iteration <= 1 { &PLANNING } else { &REPLANNING }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileWrite {
    /// The path, relative to the orchestration's folder.
    pub path: String,
    pub text: String,
}

/// The files that differ, in the order of their paths.
pub fn writes(before: &Snapshot, after: &Snapshot) -> Vec<FileWrite> {
    let differs =
        |(path, text): &(&String, &Option<String>)| before.files.get(*path) != Some(*text);
    let files = after.files.iter().filter(differs);
    files
        .filter_map(|(path, text)| Some(FileWrite { path: path.clone(), text: text.clone()? }))
        .collect()
}

impl Snapshot {
    /// Why the record must not change: what is in the files cannot be read.
    pub(super) fn unreadable(&self) -> Option<String> {
        let told: Vec<String> = self.damage.iter().map(ToString::to_string).collect();
        is_invalid(&self.damage).then(|| {
            format!(
                "could not change the orchestration before its files are repaired: {}",
                told.join("; ")
            )
        })
    }

    /// The snapshot with the files that are rendered anew after a change, which is counted in the
    /// metadata.
    pub fn rendered(mut self, before: &Snapshot, now: LocalTime) -> Snapshot {
        if self.record == before.record && before.damage.is_empty() || is_invalid(&self.damage) {
            return self;
        }
        if let Some(metadata) = &mut self.record.metadata {
            if before.record.metadata.is_some() {
                metadata.version = Some(metadata.version.unwrap_or_default().saturating_add(1));
            }
            metadata.updated_at = Some(now.to_string());
        }
        self.render_status(before);
        self
    }

    /// The orchestration after `ralph mark` has set the status of a task. Of several planning entries
    /// with this id in this iteration, the first unsettled one is marked.
    ///
    /// # Errors
    /// Why the task cannot be marked.
    pub fn marked(
        &self,
        task: &str,
        status: TaskMark,
        note: Option<&str>,
        now: LocalTime,
    ) -> Result<Snapshot, String> {
        let picture = Picture::from_snapshot(self);
        let iteration = picture.iteration;
        let mut after = self.clone();
        let planning = picture.progress.planning(iteration).enumerate();
        let planning = planning.filter(|(_, entry)| entry.id == task);
        if let Some((at, _)) = planning.min_by_key(|(_, entry)| entry.status.is_settled()) {
            if let Some(entry) = after.progress_mut().planning_mut(iteration, at) {
                entry.set(status, note);
            }
        } else if let Some(entry) =
            after.record.progress.as_mut().and_then(|progress| progress.task_mut(task))
        {
            if status == TaskMark::Failed && entry.status != TaskMark::Failed {
                let execution = attempts::execution(task, iteration);
                let one = after.tries.entry(&execution, now.at);
                one.marked_failed = one.marked_failed.saturating_add(1);
            }
            // The start time later shows that the task's executor is gone.
            let started = (status == TaskMark::InProgress).then(|| {
                let attempt = picture.next_attempt(&self.tries, task);
                format!("Attempt {attempt}, Iteration {iteration}, started: {now}")
            });
            entry.set(status, note.or(started.as_deref()));
        } else {
            return Err(format!(
                "could not find {task} in `progress.md`; add it as `- [ ] {task}`"
            ));
        }
        match self.unreadable().filter(|_| after.record != self.record) {
            Some(why) => Err(why),
            None => Ok(after.rendered(self, now)),
        }
    }

    /// The orchestration without these signals, which have taken effect.
    pub fn without_signals(&self, names: &[String]) -> Snapshot {
        let mut after = self.clone();
        after.signals.retain(|signal| !names.contains(&signal.name));
        after
    }

    pub(super) fn write(&mut self, place: OrchestrationFile<'_>, text: String) {
        self.files.insert(place.to_string(), Some(text));
    }

    pub(super) fn progress_mut(&mut self) -> &mut Progress {
        self.record.progress.get_or_insert_default()
    }

    /// Sets the state; a wave stays until another is entered.
    pub(super) fn enter(
        &mut self,
        state: State,
        iteration: u32,
        wave: Option<u32>,
        now: LocalTime,
    ) {
        let first = || OrchestrationMetadata::first(state, iteration, now);
        let metadata = self.record.metadata.get_or_insert_with(first);
        metadata.state = Some(state);
        metadata.iteration = Some(iteration);
        metadata.wave = wave.or(metadata.wave);
    }

    /// Adds the tasks that have a file but no entry in the progress.
    pub(super) fn add_tasks(&mut self, picture: &Picture<'_>) {
        let ids: Vec<&str> = picture.tasks.iter().map(|task| task.id.as_str()).collect();
        let ids: Vec<&str> =
            ids.into_iter().filter(|id| picture.progress.task(id).is_none()).collect();
        if !ids.is_empty() {
            self.progress_mut().add(ProgressSection::Implementation, picture.iteration, &ids);
        }
    }

    /// Keeps a copy of the plan under the number of an iteration. An existing copy is not replaced.
    pub(super) fn keep_plan(&mut self, iteration: u32) {
        let place = OrchestrationFile::PlanSnapshot(iteration);
        if let (Some(plan), false) =
            (self.text(OrchestrationFile::Plan).map(str::to_owned), self.has(place))
        {
            self.write(place, plan);
        }
    }

    /// When an iteration began and ended; it begins now if that is not known.
    pub(super) fn iteration_mut(&mut self, number: u32, now: LocalTime) -> &mut IterationMetadata {
        let started_at = || Some(now.to_string());
        let first = || IterationMetadata { started_at: started_at(), ..Default::default() };
        self.record.iterations.entry(number).or_insert_with(first)
    }

    /// Records that the tasks of an iteration are known.
    pub(super) fn end_planning(&mut self, iteration: u32, now: LocalTime) {
        let tasks_defined = self.progress().tasks().len();
        let metadata = self.iteration_mut(iteration, now);
        metadata.tasks_defined = tasks_defined;
        metadata.planning_completed_at.get_or_insert_with(|| now.to_string());
    }

    /// Notes the heard STEER signals in the plan, by name.
    pub(super) fn note_plan(&mut self, names: &[String]) {
        let steers = self.signals.iter().filter(|one| one.word == SignalKeyword::Steer);
        let steers = steers.filter(|one| names.contains(&one.name));
        let notes: String =
            steers.map(|one| format!("- {}\n", one.text.replace('\n', " "))).collect();
        let Some(plan) = self.text(OrchestrationFile::Plan).filter(|_| !notes.is_empty()) else {
            return;
        };
        let text = match plan.split_once("\n## Notes\n") {
            Some((before, after)) => format!("{before}\n## Notes\n{notes}{after}"),
            None => format!("{}\n\n## Notes\n{notes}", plan.trim_end()),
        };
        self.write(OrchestrationFile::Plan, text);
    }

    /// Begins an iteration that answers these feedback folders: its sections, its row and its metadata.
    pub(super) fn begin(&mut self, number: u32, feedbacks: &[String], now: LocalTime) {
        let before = number.saturating_sub(1);
        // The router need not have ended that one.
        if before > 0 && self.progress().iterations.iter().all(|row| row.iteration != before) {
            self.set_row(before, "Complete");
        }
        let feedbacks = feedbacks.join(", ");
        self.progress_mut().start(number, planning_of(number), "Replanning", &feedbacks);
        self.iteration_mut(number, now);
        // The result of the last iteration is no longer the orchestration's status.
        if let Some(metadata) = &mut self.record.metadata {
            metadata.standing = Some(MetadataStatus::InProgress);
        }
    }

    /// Sets the status of an iteration in the table, with the current task counts, and the feedback that
    /// existed when the iteration began.
    pub(super) fn set_row(&mut self, iteration: u32, status: &str) {
        let counts = self.counts();
        let old = self.progress().iterations.iter().find(|row| row.iteration == iteration);
        let feedbacks = old.map(|row| row.feedbacks.clone()).unwrap_or_else(|| {
            let paths = self.files.keys();
            let stamps = paths.filter_map(|path| match OrchestrationFile::from_path(path) {
                Some(OrchestrationFile::Feedback { iteration: of, stamp, file }) => {
                    (of == iteration && file == feedback::FILE).then_some(stamp)
                }
                _ => None,
            });
            let stamps: Vec<&str> = stamps.collect();
            if stamps.is_empty() { "N/A".to_owned() } else { stamps.join(", ") }
        });
        let tasks = format!("{}/{}", counts.completed, counts.total);
        let row = IterationRow { iteration, status: status.to_owned(), tasks, feedbacks };
        self.progress_mut().set_row(row);
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{SampleOrchestration, now};
    use super::*;

    fn mark(seen: &Snapshot, task: &str, status: TaskMark) -> Result<Snapshot, String> {
        seen.marked(task, status, None, now().into())
    }

    #[test]
    fn progress_and_metadata_change_together() {
        let session = SampleOrchestration::planned(&[("task-1", &[]), ("task-2", &[])]);
        let after = mark(&session.seen, "task-1", TaskMark::Done).unwrap();
        let writes = writes(&session.seen, &after);
        let paths: Vec<&str> = writes.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["metadata.yaml", "progress.md"]);
        assert!(
            writes[0].text.contains("version: 2\n") && writes[0].text.contains("  completed: 1\n")
        );
        assert!(writes[1].text.contains("- [x] task-1\n- [ ] task-2\n"));
    }

    #[test]
    fn each_mark_that_makes_a_task_failed_is_counted() {
        let mut session = SampleOrchestration::planned(&[("task-1", &[])]);
        use TaskMark::{Done, Failed, Open};
        for (status, expected) in [(Done, 0), (Failed, 1), (Failed, 1), (Open, 1), (Failed, 2)] {
            session.seen = mark(&session.seen, "task-1", status).unwrap();
            let one = session.seen.tries.get(&attempts::execution("task-1", 1));
            assert_eq!(one.map_or(0, |one| one.marked_failed), expected, "{status}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_not_changed() {
        let mut session = SampleOrchestration::planned(&[("task-1", &[])]);
        let told = mark(&session.seen, "task-9", TaskMark::Done).unwrap_err();
        assert_eq!(told, "could not find task-9 in `progress.md`; add it as `- [ ] task-9`");
        session.file("metadata.yaml", "version: 1\ntasks: {total: 0}\n");
        let told = mark(&session.seen, "task-1", TaskMark::Done).unwrap_err();
        assert!(told.starts_with("could not change the orchestration before"), "{told}");
    }

    #[test]
    fn without_a_change_nothing_is_written() {
        let session = SampleOrchestration::planned(&[("task-1", &[])]);
        let after = mark(&session.seen, "task-1", TaskMark::Open).unwrap();
        assert_eq!(writes(&session.seen, &after), []);
    }

    #[test]
    fn a_plan_that_was_kept_is_never_kept_again() {
        let mut session = SampleOrchestration::planned(&[]);
        let mut kept = session.seen.clone();
        kept.keep_plan(1);
        assert_eq!(
            kept.text(OrchestrationFile::PlanSnapshot(1)),
            session.seen.text(OrchestrationFile::Plan)
        );
        session.seen = kept.clone();
        session.file("plan.md", "another");
        let mut again = session.seen.clone();
        again.keep_plan(1);
        assert_eq!(
            again.text(OrchestrationFile::PlanSnapshot(1)),
            kept.text(OrchestrationFile::PlanSnapshot(1))
        );
    }

    #[test]
    fn an_iteration_begins_with_its_tasks_its_row_and_its_time() {
        let mut session = SampleOrchestration::planned(&[("task-1", &[])]);
        session.edit("metadata.yaml", "in_progress #", "awaiting_feedback #");
        session.edit("progress.md", "| 1 | Planning | 0/0 | N/A |\n", "");
        let mut after = session.seen.clone();
        after.begin(2, &["a".to_owned(), "b".to_owned()], now().into());
        after.set_row(2, "Executing");
        let after = after.rendered(&session.seen, now().into());
        let progress = after.record.progress.as_ref().unwrap();
        assert_eq!(progress.planning(2).count(), 4);
        let rows = &progress.iterations;
        assert_eq!((rows[0].iteration, rows[0].status.as_str()), (1, "Complete"));
        assert_eq!((rows[0].tasks.as_str(), rows[0].feedbacks.as_str()), ("0/1", "N/A"));
        assert_eq!((rows[1].status.as_str(), rows[1].feedbacks.as_str()), ("Executing", "a, b"));
        assert!(
            after
                .text(OrchestrationFile::IterationMetadata(2))
                .unwrap()
                .contains("started_at: 2026-")
        );
        assert!(after.text(OrchestrationFile::Metadata).unwrap().contains("status: in_progress #"));
    }
}
