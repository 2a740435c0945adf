//! What the program repairs of an orchestration of which it keeps nothing, and what it leaves.
//!
//! It repairs only what the other files prove. It never guesses an unreadable status. If
//! `progress.md` is missing entirely, each task gets the status that its last report shows, so that
//! finished tasks are not done again.

use super::change::planning_of;
use super::files::OrchestrationFile;
use super::finding::{OrchestrationFinding, Weight};
use super::local_time::LocalTime;
use super::progress::{Progress, ProgressSection, TaskMark};
use super::report::ReviewVerdict;
use super::snapshot::{Picture, Snapshot};
use super::state::State;
use super::validate::validate;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mended {
    /// The repaired orchestration. Files that differ have to be written.
    pub after: Snapshot,
    /// The repairs, each with its file and line.
    pub done: Vec<OrchestrationFinding>,
    /// The problems that remain.
    pub left: Vec<OrchestrationFinding>,
}

pub fn repair(seen: &Snapshot, now: LocalTime) -> Mended {
    let mut after = seen.clone();
    let mut done = Vec::new();
    let picture = Picture::from_snapshot(seen);
    let is_begun = picture.state != State::Initializing || seen.has(OrchestrationFile::Progress);
    if is_begun && !seen.damage.iter().any(is_unreadable) {
        done.append(&mut after.damage);
        mend_progress(&mut after, &picture, &mut done);
        mend_metadata(&mut after, picture.iteration, now, &mut done);
        after = after.rendered(seen, now);
    }
    let left = validate(&after);
    Mended { after, done, left }
}

/// True for a line whose status only its author knows.
fn is_unreadable(damage: &OrchestrationFinding) -> bool {
    damage.weight == Weight::Invalid
        && damage.line > 0
        && damage.file == OrchestrationFile::Progress.to_string()
}

fn mend_progress(
    after: &mut Snapshot,
    picture: &Picture<'_>,
    done: &mut Vec<OrchestrationFinding>,
) {
    let (place, iteration) = (OrchestrationFile::Progress, picture.iteration);
    let Some(progress) = &mut after.record.progress else {
        let what = "it was missing; each task has the status that its last report shows";
        done.push(place.notice(0, what));
        after.record.progress = Some(from_reports(picture));
        return;
    };
    for (part, ids) in [
        (ProgressSection::Planning, planning_of(iteration)),
        (ProgressSection::Implementation, &[][..]),
    ] {
        if progress.section(part, iteration).is_none() {
            progress.add(part, iteration, ids);
            let what = format!("added the section `{} (Iteration {iteration})`", part.heading());
            done.push(place.notice(0, what));
        }
    }
}

/// Tasks exist only after a breakdown, so planning was over.
fn from_reports(picture: &Picture<'_>) -> Progress {
    let iteration = picture.iteration;
    let mut progress = Progress::first(planning_of(1));
    if iteration > 1 {
        progress.start(iteration, planning_of(iteration), "Replanning", "N/A");
    }
    let ids: Vec<&str> = picture.tasks.iter().map(|task| task.id.as_str()).collect();
    progress.add(ProgressSection::Implementation, iteration, &ids);
    if !ids.is_empty() {
        let planning =
            |section: &&mut super::progress::Section| section.part == ProgressSection::Planning;
        let entries =
            progress.sections.iter_mut().filter(planning).flat_map(|section| &mut section.entries);
        entries.for_each(|entry| entry.status = TaskMark::Done);
    }
    for id in ids {
        let last = picture.reports_of(id).iter().max_by_key(|report| report.attempt);
        let status = match last.map(|report| report.verdict) {
            None => continue,
            Some(None) => TaskMark::ReviewPending,
            Some(Some(ReviewVerdict::Qualified)) => TaskMark::Done,
            Some(Some(ReviewVerdict::Failed)) => TaskMark::Failed,
        };
        if let Some(entry) = progress.task_mut(id) {
            entry.status = status;
        }
    }
    progress
}

/// Sets members that are missing or unreadable, and no others.
fn mend_metadata(
    after: &mut Snapshot,
    iteration: u32,
    now: LocalTime,
    done: &mut Vec<OrchestrationFinding>,
) {
    // The other files show the state, so resolve it without the unreadable file.
    let found = after.record.metadata.take();
    let state = Picture::from_snapshot(after).state;
    if found.is_none() {
        let what =
            format!("it was missing; rewrote it with the state {state}, iteration {iteration}");
        done.push(OrchestrationFile::Metadata.notice(0, what));
    }
    let mut metadata = found.unwrap_or_default();
    let now = now.to_string();
    metadata.version.get_or_insert(1);
    metadata.created_at.get_or_insert_with(|| now.clone());
    metadata.updated_at.get_or_insert(now);
    metadata.iteration.get_or_insert(iteration);
    metadata.state.get_or_insert(state);
    after.record.metadata = Some(metadata);
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{SampleOrchestration, now, report};
    use super::super::validate::is_invalid;
    use super::*;

    const TASKS: &[(&str, &[&str])] =
        &[("task-1", &[]), ("task-2", &[]), ("task-3", &[]), ("task-4", &[])];

    fn finding_texts(findings: &[OrchestrationFinding]) -> Vec<String> {
        findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_session_as_it_should_be_stays_as_it_is() {
        for session in [
            SampleOrchestration::empty(),
            SampleOrchestration::initialized(),
            SampleOrchestration::planned(TASKS),
        ] {
            let mended = repair(&session.seen, now().into());
            assert_eq!((mended.after, mended.done), (session.seen, vec![]));
        }
    }

    #[test]
    fn what_is_plain_is_put_right_and_a_status_is_not_guessed() {
        let mut session = SampleOrchestration::planned(TASKS);
        session.edit("progress.md", "- [ ] task-1", "- [X] task-1");
        session.edit("progress.md", "- `[P]` Pending review\n", "");
        session.edit("progress.md", "## Planning Progress (Iteration 1)", "## Earlier");
        session.edit("metadata.yaml", "version: 1\n", "");
        session.edit("metadata.yaml", "BATCHING", "BATCH");
        let mended = repair(&session.seen, now().into());
        let states = State::ALL.map(State::word).join(", ");
        assert_eq!(
            finding_texts(&mended.done),
            [
                "progress.md: the legend does not name `[P]`",
                "metadata.yaml: `version` is missing",
                &format!("metadata.yaml:7: `BATCH` is not a state; write one of {states}"),
                "progress.md: added the section `Planning Progress (Iteration 1)`",
            ]
        );
        assert_eq!(mended.left, []);
        let progress = mended.after.text(OrchestrationFile::Progress).unwrap();
        assert!(progress.contains("- [x] task-1\n") && progress.contains("- [ ] plan-init\n"));
        let metadata = mended.after.text(OrchestrationFile::Metadata).unwrap();
        assert!(
            metadata.contains("state: PLANNING\n") || metadata.contains("state: INITIALIZING\n")
        );
        session.edit("progress.md", "- [ ] task-2", "- [?] task-2");
        let mended = repair(&session.seen, now().into());
        assert_eq!((&mended.after, mended.done), (&session.seen, vec![]));
        let left = finding_texts(&mended.left);
        assert!(left.iter().any(|one| one.contains("`[?]` is not a status")), "{left:?}");
    }

    #[test]
    fn a_section_that_stands_twice_stands_once_and_the_session_goes_on() {
        let mut session = SampleOrchestration::planned(TASKS);
        let before = session.text("progress.md").to_owned();
        let text = format!("{before}\n## Planning Progress (Iteration 1)\n- [x] plan-init\n");
        session.file("progress.md", &text);
        assert_eq!(validate(&session.seen), []);
        assert_eq!(session.progress().render(), before);
    }

    #[test]
    fn without_progress_each_task_is_as_far_as_its_last_report_shows() {
        let mut session = SampleOrchestration::planned(TASKS);
        session.file("reports/task-1-report.md", &report("task-1", 1, Some("Failed")));
        session.file("reports/task-1-report-r2.md", &report("task-1", 1, Some("Qualified")));
        session.file("reports/task-2-report.md", &report("task-2", 1, Some("Failed")));
        session.file("reports/task-3-report.md", &report("task-3", 1, None));
        session.remove("progress.md");
        session.file("metadata.yaml", "tasks: [\n");
        let mended = repair(&session.seen, now().into());
        assert!(!is_invalid(&mended.left), "{:?}", mended.left);
        let progress = mended.after.record.progress.as_ref().unwrap();
        let statuses: Vec<&str> =
            progress.tasks().iter().map(|entry| entry.status.mark()).collect();
        assert_eq!(statuses, ["[x]", "[F]", "[P]", "[ ]"]);
        assert!(finding_texts(&mended.done)[0].starts_with("metadata.yaml:2: this is not YAML"));
        let metadata = mended.after.text(OrchestrationFile::Metadata).unwrap();
        assert!(metadata.contains("state: REVIEWING_BATCH\n"), "{metadata}");
        let mut second = SampleOrchestration::planned(TASKS);
        second.edit("metadata.yaml", "iteration: 1", "iteration: 2");
        second.remove("progress.md");
        let mended = repair(&second.seen, now().into());
        let progress = mended.after.record.progress.as_ref().unwrap();
        let ids: Vec<&str> = progress.planning(2).map(|entry| entry.id.as_str()).collect();
        assert_eq!(ids, planning_of(2));
    }
}
