//! What the program repairs in a damaged orchestration, and what it leaves.
//!
//! It repairs only what the other files prove. It never guesses an unreadable status. If
//! `progress.md` is missing entirely, each task gets the status that its last report shows, so that
//! finished tasks are not done again.

use super::change::planning_of;
use super::files::OrchestrationFile;
use super::finding::OrchestrationFinding;
use super::id::OrchestrationId;
use super::machine::resolve;
use super::metadata::{Counts, OrchestrationMetadata};
use super::progress::{self, Progress, ProgressSection, TaskMark};
use super::report::ReviewVerdict;
use super::snapshot::{Picture, Snapshot};
use super::state::State;
use super::validate::validate;
use super::yaml::{self, Yaml};
use crate::modes::orchestration::local_time::LocalTime;

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
    let picture = Picture::of(seen);
    let (state, iteration) = resolve(&picture);
    if state != State::Initializing || seen.has(OrchestrationFile::Progress) {
        mend_progress(&mut after, &picture, iteration, &mut done);
        mend_metadata(&mut after, iteration, now, &mut done);
    }
    let left = validate(&after);
    Mended { after, done, left }
}

fn mend_progress(
    after: &mut Snapshot,
    picture: &Picture,
    iteration: u32,
    done: &mut Vec<OrchestrationFinding>,
) {
    let planning = planning_of(iteration);
    let text = match after.text(OrchestrationFile::Progress) {
        Some(text) => {
            let (text, repaired, _) = progress::repair(text, iteration, planning);
            done.extend(repaired.into_iter().map(|one| {
                OrchestrationFinding::new(
                    OrchestrationFile::Progress,
                    one.line.unwrap_or_default(),
                    one.what,
                )
            }));
            text
        }
        None => {
            let what = "it was missing; each task has the status that its last report shows";
            done.push(OrchestrationFinding::new(OrchestrationFile::Progress, 0, what));
            from_reports(picture, iteration)
        }
    };
    after.files.insert(OrchestrationFile::Progress.to_string(), Some(text));
}

/// Tasks exist only after a breakdown, so planning was over.
fn from_reports(picture: &Picture, iteration: u32) -> String {
    let mut text = progress::new(planning_of(1));
    if iteration > 1 {
        text = progress::start(&text, iteration, planning_of(iteration), "N/A");
    }
    let ids: Vec<&str> = picture.tasks.iter().map(|task| task.id.as_str()).collect();
    text = progress::add_section(&text, ProgressSection::Implementation, iteration, &ids);
    if !ids.is_empty() {
        for id in (1..=iteration).flat_map(planning_of) {
            text = text.replace(&format!("- [ ] {id}\n"), &format!("- [x] {id}\n"));
        }
    }
    for id in ids {
        let last = picture.reports_of(id).iter().max_by_key(|report| report.attempt);
        let status = match last.map(|report| report.verdict) {
            None => continue,
            Some(None) => TaskMark::ReviewPending,
            Some(Some(ReviewVerdict::Qualified)) => TaskMark::Done,
            Some(Some(ReviewVerdict::Failed)) => TaskMark::Failed,
        };
        let parsed = Progress::parse(&text);
        let marked = parsed.task(id).map(|entry| progress::mark(&text, entry, status, None));
        if let Some(Ok(marked)) = marked {
            text = marked;
        }
    }
    text
}

fn mend_metadata(
    after: &mut Snapshot,
    iteration: u32,
    now: LocalTime,
    done: &mut Vec<OrchestrationFinding>,
) {
    let id = after.id.clone();
    let old = after.text(OrchestrationFile::Metadata).map(str::to_owned);
    let text = match old.as_deref().map(|text| (text, Yaml::parse(text))) {
        Some((text, Ok(yaml))) => members(after, text, &yaml, iteration, now, done),
        other => {
            // The other files show the state, so resolve it without the unreadable file.
            after.files.remove(&OrchestrationFile::Metadata.to_string());
            let (state, iteration) = resolve(&Picture::of(after));
            let was = if other.is_some() { "it was not YAML" } else { "it was missing" };
            let what = format!("{was}; rewrote it with the state {state}, iteration {iteration}");
            done.push(OrchestrationFinding::new(OrchestrationFile::Metadata, 0, what));
            OrchestrationMetadata::first(&id, state, iteration, now)
        }
    };
    after.files.insert(OrchestrationFile::Metadata.to_string(), Some(text));
}

/// Sets members that are missing or unreadable, and no others.
fn members(
    seen: &Snapshot,
    text: &str,
    before: &Yaml,
    iteration: u32,
    now: LocalTime,
    done: &mut Vec<OrchestrationFinding>,
) -> String {
    let is_number = |path: &[&str]| before.number(path).is_some();
    let is_text = |path: &[&str]| before.text(path).is_some();
    let is_id = |id: &OrchestrationId| before.text(&["session_id"]) == Some(id.as_str());
    let state = before.text(&["orchestrator", "state"]);
    let has_state = state.is_none() || state.and_then(State::of).is_some();
    let counts =
        Counts::of(&Progress::parse(seen.text(OrchestrationFile::Progress).unwrap_or_default()));
    let inferred = {
        let mut without = seen.clone();
        without.files.remove(&OrchestrationFile::Metadata.to_string());
        resolve(&Picture::of(&without)).0
    };
    let has_iteration = before.number(&["iteration"]).is_some_and(|number| number > 0);
    let wanted: [(&[&str], bool, String); 10] = [
        (&["version"], is_number(&["version"]), "1".to_owned()),
        (&["session_id"], is_id(&seen.id), seen.id.to_string()),
        (&["created_at"], is_text(&["created_at"]), format!("{now}")),
        (&["updated_at"], is_text(&["updated_at"]), format!("{now}")),
        (&["iteration"], has_iteration, iteration.to_string()),
        (&["orchestrator", "state"], has_state, inferred.word().to_owned()),
        (&["tasks", "total"], is_number(&["tasks", "total"]), counts.total.to_string()),
        (&["tasks", "completed"], is_number(&["tasks", "completed"]), counts.completed.to_string()),
        (&["tasks", "failed"], is_number(&["tasks", "failed"]), counts.failed.to_string()),
        (&["tasks", "pending"], is_number(&["tasks", "pending"]), counts.pending.to_string()),
    ];
    let mut text = text.to_owned();
    for (path, _, value) in wanted.iter().filter(|(_, holds, _)| !holds) {
        // A member that cannot be set remains a problem.
        if let Ok(changed) = yaml::set(&text, path, value) {
            let what = format!("`{}` became `{value}`", path.join("."));
            done.push(OrchestrationFinding::new(
                OrchestrationFile::Metadata,
                before.line(path).unwrap_or_default(),
                what,
            ));
            text = changed;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{SampleOrchestration, now, report};
    use super::super::validate::is_invalid;
    use super::*;

    const TASKS: &[(&str, &[&str])] =
        &[("task-1", &[]), ("task-2", &[]), ("task-3", &[]), ("task-4", &[])];

    fn told(findings: &[OrchestrationFinding]) -> Vec<String> {
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
        session.edit("progress.md", "- [ ] task-2", "- [?] task-2");
        session.edit("metadata.yaml", "version: 1\n", "mine: yes # kept\n");
        session.edit("metadata.yaml", "BATCHING", "BATCH");
        let mended = repair(&session.seen, now().into());
        assert_eq!(
            told(&mended.done),
            [
                "progress.md:18: `- [X] task-1` became `- [x] task-1`",
                "metadata.yaml: `version` became `1`",
                "metadata.yaml:8: `orchestrator.state` became `BATCHING`",
            ]
        );
        assert!(
            is_invalid(&mended.left) && told(&mended.left)[0].starts_with("progress.md:19: `[?]`")
        );
        assert!(
            mended.after.text(OrchestrationFile::Metadata).unwrap().contains("mine: yes # kept\n")
        );
    }

    #[test]
    fn a_section_that_stands_twice_stands_once_and_the_session_goes_on() {
        let mut session = SampleOrchestration::planned(TASKS);
        let before = session.text("progress.md").to_owned();
        let text = format!("{before}\n## Planning Progress (Iteration 1)\n- [x] plan-init\n");
        session.file("progress.md", &text);
        assert!(is_invalid(&validate(&session.seen)));
        let mended = repair(&session.seen, now().into());
        assert_eq!(mended.left, []);
        assert_eq!(
            mended.after.text(OrchestrationFile::Progress).map(str::trim_end),
            Some(before.trim_end())
        );
        assert_eq!(repair(&mended.after, now().into()).done, [], "again");
    }

    #[test]
    fn without_progress_each_task_is_as_far_as_its_last_report_shows() {
        let mut session = SampleOrchestration::planned(TASKS);
        session.file("reports/task-1-report.md", &report("task-1", 1, Some("Failed")));
        session.file("reports/task-1-report-r2.md", &report("task-1", 1, Some("Qualified")));
        session.file("reports/task-2-report.md", &report("task-2", 1, Some("Failed")));
        session.file("reports/task-3-report.md", &report("task-3", 1, None));
        session.seen.files.remove("progress.md");
        session.file("metadata.yaml", "tasks: [\n");
        let mended = repair(&session.seen, now().into());
        assert!(!is_invalid(&mended.left), "{:?}", mended.left);
        let progress = Progress::parse(mended.after.text(OrchestrationFile::Progress).unwrap());
        let statuses: Vec<&str> =
            progress.tasks().iter().map(|entry| entry.status.mark()).collect();
        assert_eq!(statuses, ["[x]", "[F]", "[P]", "[ ]"]);
        assert_eq!(
            told(&mended.done)[1],
            "metadata.yaml: it was not YAML; rewrote it with the state REVIEWING_BATCH, iteration 1"
        );
    }
}
