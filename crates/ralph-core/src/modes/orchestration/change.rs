//! What the router itself writes, and the result.
//!
//! Changes are applied to the record of a snapshot, so that the router's next decision is based on the
//! orchestration as it will be. Progress and metadata are rendered and written together: [`writes`]
//! returns both or neither.

use super::feedback;
use super::files::OrchestrationFile;
use super::local_time::LocalTime;
use super::metadata::{Counts, IterationMetadata, OrchestrationMetadata};
use super::progress::{IterationRow, Progress, ProgressSection, TaskMark};
use super::signal::{SignalKeyword, UnheardSignal};
use super::snapshot::Snapshot;
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

/// One change that the router makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RouterWrite {
    Enter {
        state: State,
        iteration: u32,
        wave: Option<u32>,
    },
    /// Creates the missing metadata.
    Metadata {
        /// The state inferred from the other files.
        state: State,
        iteration: u32,
    },
    /// Begins an iteration: its sections, its row and its metadata.
    Begin {
        iteration: u32,
        /// The feedback folders that the iteration answers.
        feedbacks: Vec<String>,
    },
    /// Sets the status of a task.
    Mark {
        task: String,
        status: TaskMark,
        /// The new text after the id; `None` keeps the old text.
        note: Option<String>,
    },
    /// Sets the status of a planning task.
    MarkPlanning {
        /// The iteration of its section.
        iteration: u32,
        /// The place of the entry in this section.
        at: usize,
        status: TaskMark,
        /// The new text after the id; `None` keeps the old text.
        note: Option<String>,
    },
    /// Adds tasks that have a file but no entry in the progress.
    Add {
        iteration: u32,
        tasks: Vec<String>,
    },
    /// Sets the status of an iteration in the table.
    Row {
        iteration: u32,
        status: &'static str,
    },
    /// Keeps a copy of the plan under the number of an iteration. An existing copy is not replaced.
    KeepPlan(u32),
    /// Records that the tasks of an iteration are known.
    Planned(u32),
    /// Records that an iteration is over.
    Completed(u32),
    /// Notes the heard STEER signals in the plan, by name.
    NotePlan(Vec<String>),
    /// Archives the heard signals, by name. The owner of the mailbox moves the files.
    Heard(Vec<String>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileWrite {
    /// The path, relative to the orchestration's folder.
    pub path: String,
    pub text: String,
}

/// Returns the snapshot with all changes applied, and with the files that are rendered anew.
///
/// # Errors
/// What could not be changed, and how it has to be written. Then no change is applied.
pub fn apply(seen: &Snapshot, changes: &[RouterWrite], now: LocalTime) -> Result<Snapshot, String> {
    Ok(rendered(seen, advance(seen, changes, now)?, now))
}

/// The same with the files that are rendered anew, and with the change counted in the metadata.
pub(super) fn rendered(seen: &Snapshot, mut after: Snapshot, now: LocalTime) -> Snapshot {
    if after.record == seen.record && seen.damage.is_empty() || is_invalid(&after.damage) {
        return after;
    }
    if let Some(metadata) = &mut after.record.metadata {
        if seen.record.metadata.is_some() {
            metadata.version = Some(metadata.version.unwrap_or_default().saturating_add(1));
        }
        metadata.updated_at = Some(now.to_string());
    }
    after.render_status(seen);
    after
}

/// Like [`apply`], but renders nothing: a change that is only previewed is counted once, when it is
/// written.
pub(super) fn advance(
    seen: &Snapshot,
    changes: &[RouterWrite],
    now: LocalTime,
) -> Result<Snapshot, String> {
    let mut after = seen.clone();
    for change in changes {
        one(&mut after, change, now)?;
    }
    if after.record != seen.record && is_invalid(&seen.damage) {
        let told: Vec<String> = seen.damage.iter().map(ToString::to_string).collect();
        return Err(format!(
            "could not change the orchestration before its files are repaired: {}",
            told.join("; ")
        ));
    }
    Ok(after)
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

fn write(seen: &mut Snapshot, place: OrchestrationFile<'_>, text: String) {
    seen.files.insert(place.to_string(), Some(text));
}

fn one(seen: &mut Snapshot, change: &RouterWrite, now: LocalTime) -> Result<(), String> {
    match change {
        RouterWrite::Enter { state, iteration, wave } => {
            let first = || OrchestrationMetadata::first(*state, *iteration, now);
            let metadata = seen.record.metadata.get_or_insert_with(first);
            metadata.state = Some(*state);
            metadata.iteration = Some(*iteration);
            metadata.wave = wave.or(metadata.wave);
        }
        RouterWrite::Metadata { state, iteration } => {
            seen.record.metadata = Some(OrchestrationMetadata::first(*state, *iteration, now));
        }
        RouterWrite::Begin { iteration, feedbacks } => begin(seen, *iteration, feedbacks, now),
        RouterWrite::Mark { task, status, note } => {
            let entry = progress(seen).task_mut(task).ok_or_else(|| {
                format!("could not find {task} in `progress.md`; add it as `- [ ] {task}`")
            })?;
            entry.set(*status, note.as_deref());
        }
        RouterWrite::MarkPlanning { iteration, at, status, note } => {
            let entry = progress(seen)
                .planning_mut(*iteration, *at)
                .ok_or("could not find the planning task in `progress.md`; ask again")?;
            entry.set(*status, note.as_deref());
        }
        RouterWrite::Add { iteration, tasks } => {
            let ids: Vec<&str> = tasks.iter().map(String::as_str).collect();
            progress(seen).add(ProgressSection::Implementation, *iteration, &ids);
        }
        RouterWrite::Row { iteration, status } => {
            let row = row(seen, *iteration, status);
            progress(seen).set_row(row);
        }
        RouterWrite::KeepPlan(iteration) => {
            let place = OrchestrationFile::PlanSnapshot(*iteration);
            if let (Some(plan), false) =
                (seen.text(OrchestrationFile::Plan).map(str::to_owned), seen.has(place))
            {
                write(seen, place, plan);
            }
        }
        RouterWrite::Planned(number) => {
            let tasks_defined = progress(seen).tasks().len();
            let metadata = iteration(seen, *number, now);
            metadata.tasks_defined = tasks_defined;
            metadata.planning_completed_at.get_or_insert_with(|| now.to_string());
        }
        RouterWrite::Completed(number) => {
            iteration(seen, *number, now).completed_at.get_or_insert_with(|| now.to_string());
        }
        RouterWrite::NotePlan(names) => note_plan(seen, names),
        RouterWrite::Heard(names) => seen.signals.retain(|signal| !names.contains(&signal.name)),
    }
    Ok(())
}

fn progress(seen: &mut Snapshot) -> &mut Progress {
    seen.record.progress.get_or_insert_default()
}

fn iteration(seen: &mut Snapshot, number: u32, now: LocalTime) -> &mut IterationMetadata {
    let first =
        || IterationMetadata { started_at: Some(now.to_string()), ..IterationMetadata::default() };
    seen.record.iterations.entry(number).or_insert_with(first)
}

fn note_plan(seen: &mut Snapshot, names: &[String]) {
    let is_steer =
        |one: &&UnheardSignal| one.word == SignalKeyword::Steer && names.contains(&one.name);
    let steers = seen.signals.iter().filter(is_steer);
    let notes: String = steers.map(|one| format!("- {}\n", one.text.replace('\n', " "))).collect();
    let Some(plan) = seen.text(OrchestrationFile::Plan).filter(|_| !notes.is_empty()) else {
        return;
    };
    let text = match plan.split_once("\n## Notes\n") {
        Some((before, after)) => format!("{before}\n## Notes\n{notes}{after}"),
        None => format!("{}\n\n## Notes\n{notes}", plan.trim_end()),
    };
    write(seen, OrchestrationFile::Plan, text);
}

fn begin(seen: &mut Snapshot, number: u32, feedbacks: &[String], now: LocalTime) {
    let before = number.saturating_sub(1);
    // The router need not have ended that one.
    if before > 0 && progress(seen).iterations.iter().all(|row| row.iteration != before) {
        let ended = row(seen, before, "Complete");
        progress(seen).set_row(ended);
    }
    progress(seen).start(number, planning_of(number), "Replanning", &feedbacks.join(", "));
    iteration(seen, number, now);
    // The result of the last iteration is no longer the orchestration's status.
    if let Some(metadata) = &mut seen.record.metadata {
        metadata.standing = Some(MetadataStatus::InProgress);
    }
}

/// The row with its known values: the current task counts, and the feedback that existed when the
/// iteration began.
fn row(seen: &mut Snapshot, iteration: u32, status: &str) -> IterationRow {
    let counts = Counts::from_progress(progress(seen));
    let old = progress(seen).iterations.iter().find(|row| row.iteration == iteration);
    let feedbacks = old.map(|row| row.feedbacks.clone()).unwrap_or_else(|| {
        let stamps: Vec<&str> = seen
            .files
            .keys()
            .filter_map(|path| match OrchestrationFile::from_path(path) {
                Some(OrchestrationFile::Feedback {
                    iteration: of,
                    stamp,
                    file: feedback::FILE,
                }) => (of == iteration).then_some(stamp),
                _ => None,
            })
            .collect();
        if stamps.is_empty() { "N/A".to_owned() } else { stamps.join(", ") }
    });
    let tasks = format!("{}/{}", counts.completed, counts.total);
    IterationRow { iteration, status: status.to_owned(), tasks, feedbacks }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{SampleOrchestration, now};
    use super::*;

    fn mark(task: &str, status: TaskMark) -> RouterWrite {
        RouterWrite::Mark { task: task.to_owned(), status, note: None }
    }

    #[test]
    fn progress_and_metadata_change_together() {
        let session = SampleOrchestration::planned(&[("task-1", &[]), ("task-2", &[])]);
        let after = apply(&session.seen, &[mark("task-1", TaskMark::Done)], now().into()).unwrap();
        let writes = writes(&session.seen, &after);
        let paths: Vec<&str> = writes.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["metadata.yaml", "progress.md"]);
        assert!(
            writes[0].text.contains("version: 2\n") && writes[0].text.contains("  completed: 1\n")
        );
        assert!(writes[1].text.contains("- [x] task-1\n- [ ] task-2\n"));
    }

    #[test]
    fn what_cannot_all_be_changed_is_not_changed() {
        let session = SampleOrchestration::planned(&[("task-1", &[])]);
        let changes = [mark("task-1", TaskMark::Done), mark("task-9", TaskMark::Done)];
        let told = apply(&session.seen, &changes, now().into()).unwrap_err();
        assert_eq!(told, "could not find task-9 in `progress.md`; add it as `- [ ] task-9`");
        let mut session = SampleOrchestration::planned(&[("task-1", &[])]);
        session.file("metadata.yaml", "version: 1\ntasks: {total: 0}\n");
        let told =
            apply(&session.seen, &[mark("task-1", TaskMark::Done)], now().into()).unwrap_err();
        assert!(told.starts_with("could not change the orchestration before"), "{told}");
    }

    #[test]
    fn without_a_change_nothing_is_written() {
        let session = SampleOrchestration::planned(&[("task-1", &[])]);
        for changes in
            [vec![], vec![mark("task-1", TaskMark::Open)], vec![RouterWrite::Heard(vec![])]]
        {
            let after = apply(&session.seen, &changes, now().into()).unwrap();
            assert_eq!(writes(&session.seen, &after), []);
        }
    }

    #[test]
    fn a_plan_that_was_kept_is_never_kept_again() {
        let mut session = SampleOrchestration::planned(&[]);
        let kept = apply(&session.seen, &[RouterWrite::KeepPlan(1)], now().into()).unwrap();
        assert_eq!(
            kept.text(OrchestrationFile::PlanSnapshot(1)),
            session.seen.text(OrchestrationFile::Plan)
        );
        session.seen = kept.clone();
        session.file("plan.md", "another");
        let again = apply(&session.seen, &[RouterWrite::KeepPlan(1)], now().into()).unwrap();
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
        let begin = RouterWrite::Begin { iteration: 2, feedbacks: vec!["a".into(), "b".into()] };
        let after = apply(&session.seen, &[begin], now().into()).unwrap();
        let progress = after.record.progress.as_ref().unwrap();
        assert_eq!(progress.planning(2).count(), 4);
        let rows = &progress.iterations;
        assert_eq!((rows[0].iteration, rows[0].status.as_str()), (1, "Complete"));
        assert_eq!((rows[0].tasks.as_str(), rows[0].feedbacks.as_str()), ("0/1", "N/A"));
        assert_eq!(rows[1].feedbacks, "a, b");
        assert!(
            after
                .text(OrchestrationFile::IterationMetadata(2))
                .unwrap()
                .contains("started_at: 2026-")
        );
        assert!(after.text(OrchestrationFile::Metadata).unwrap().contains("status: in_progress #"));
    }
}
