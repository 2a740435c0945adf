//! Everything that is wrong with an orchestration's folder, with file and line.
//!
//! Only problems that prevent progress or metadata from being read are invalid and lead to a
//! repair. A problem that blocks a task is reported as long as it exists, while the other tasks
//! continue.

use super::feedback;
use super::files::OrchestrationFile;
use super::finding::{OrchestrationFinding, Weight};
use super::progress::{ProgressSection, TaskMark};
use super::snapshot::{Picture, Snapshot};
use super::state::State;
use std::collections::BTreeMap;

/// Reports all problems: worst first, then by file and line.
pub fn validate(seen: &Snapshot) -> Vec<OrchestrationFinding> {
    Picture::from_snapshot(seen).findings
}

/// The problems of single files that a picture holds, and those of the files together.
pub(super) fn findings(picture: &Picture<'_>) -> Vec<OrchestrationFinding> {
    let Picture { seen, state, iteration, .. } = *picture;
    let mut found = picture.findings.clone();
    if state != State::Initializing {
        if picture.metadata.is_none() {
            let what = "it is missing; the state is inferred from the other files";
            found.push(OrchestrationFile::Metadata.notice(0, what));
        }
        if !seen.has(OrchestrationFile::Plan) {
            found.push(OrchestrationFile::Plan.notice(0, "it is missing; write the task into it"));
        }
        if seen.record.progress.is_none() {
            found.push(OrchestrationFile::Progress.invalid(0, "it is missing"));
        } else {
            of_progress(picture, &mut found);
            marks_elsewhere(picture, &mut found);
        }
        found.extend(of_feedback(seen, state, iteration));
        for old in 1..iteration {
            let place = OrchestrationFile::PlanSnapshot(old);
            if !seen.has(place) {
                found.push(place.notice(0, "it is missing, so the earlier plan is lost"));
            }
        }
    }
    found.sort_by(|one, other| {
        let by_place = || (&one.file, one.line).cmp(&(&other.file, other.line));
        other.weight.cmp(&one.weight).then_with(by_place)
    });
    found.dedup();
    found
}

/// Feedback from the user that no iteration will take up. Feedback of an iteration that has already
/// started is not reported, except for iteration 1, which never takes feedback.
pub(super) fn of_feedback(
    seen: &Snapshot,
    state: State,
    iteration: u32,
) -> Vec<OrchestrationFinding> {
    // The batches of each iteration; true if the batch has its file.
    let mut batches: BTreeMap<(u32, &str), bool> = BTreeMap::new();
    let mut found = Vec::new();
    let next = iteration + 1;
    let open = |of: u32| of > iteration || of == iteration && state == State::Replanning;
    for path in seen.files.keys() {
        let Some((of, rest)) = path.strip_prefix("iterations/").and_then(|it| it.split_once('/'))
        else {
            continue;
        };
        let Some(of) = of.parse().ok().filter(|of| open(*of) || *of == 1) else { continue };
        match rest.strip_prefix("feedbacks/").map(|rest| rest.split_once('/').ok_or(rest)) {
            Some(Ok((stamp, file))) => {
                *batches.entry((of, stamp)).or_default() |= file == feedback::FILE;
            }
            Some(Err(_)) => {
                let what = format!(
                    "it is in no batch; move it to `iterations/{}/feedbacks/<YYYYMMDD-hhmmss>/`",
                    of.max(next.min(2))
                );
                found.push(
                    OrchestrationFile::Iteration { iteration: of, file: rest }.blocks(0, what),
                );
            }
            None => {}
        }
    }
    for ((of, stamp), has_file) in batches {
        let what = match has_file {
            _ if !open(of) || of > next => format!(
                "it is for iteration {of}, and the next is {next}; move it to `iterations/{next}/feedbacks/`"
            ),
            true => continue,
            false => {
                "it is missing, so the files beside it are ignored; write the work to do into it"
                    .to_owned()
            }
        };
        let place = OrchestrationFile::Feedback { iteration: of, stamp, file: feedback::FILE };
        found.push(place.blocks(0, what));
    }
    found
}

/// True if the orchestration must be repaired before anything else.
pub fn is_invalid(findings: &[OrchestrationFinding]) -> bool {
    findings.iter().any(|finding| finding.weight == Weight::Invalid)
}

fn of_progress(picture: &Picture<'_>, found: &mut Vec<OrchestrationFinding>) {
    let (progress, iteration, place) =
        (picture.progress, picture.iteration, OrchestrationFile::Progress);
    for part in [ProgressSection::Planning, ProgressSection::Implementation] {
        if progress.section(part, iteration).is_none() {
            let heading = part.heading();
            let what = format!("the section `## {heading} (Iteration {iteration})` is missing");
            found.push(place.invalid(0, what));
        }
    }
    for entry in progress.tasks() {
        let id = &entry.id;
        if picture.task(id).is_none() && !entry.status.is_settled() {
            found.push(place.blocks(0, format!("{id} has no file; write `tasks/{id}.md`")));
        }
        if entry.status == TaskMark::InProgress && entry.said("started").is_none() {
            let what = format!("{id} has no start time; write `(started: …)`");
            found.push(place.notice(0, what));
        } else if entry.status == TaskMark::ReviewPending && picture.reports_of(id).is_empty() {
            found.push(place.notice(0, format!("{id} awaits review and has no report")));
        }
    }
    for task in picture.tasks.iter().filter(|task| progress.task(&task.id).is_none()) {
        let what = format!("{} is missing in `progress.md` and counts as open", task.id);
        found.push(OrchestrationFile::Task(&task.id).notice(0, what));
    }
    let flaws = picture.dependency_flaws().into_iter();
    found.extend(flaws.map(|(id, what)| OrchestrationFile::Task(id).blocks(0, what)));
}

/// Finds a mark before the id of a task in any other file: statuses belong in one place only.
fn marks_elsewhere(picture: &Picture<'_>, found: &mut Vec<OrchestrationFinding>) {
    let ids: Vec<&str> =
        picture.progress.tasks().into_iter().map(|entry| entry.id.as_str()).collect();
    for (path, text) in &picture.seen.files {
        let Some(
            place @ (OrchestrationFile::Plan
            | OrchestrationFile::Task(_)
            | OrchestrationFile::Questions(_)),
        ) = OrchestrationFile::from_path(path)
        else {
            continue;
        };
        for (at, line) in text.as_deref().unwrap_or_default().lines().enumerate() {
            let Some(rest) = line.trim_start().strip_prefix(['-', '*', '+']) else { continue };
            let Some((mark, rest)) = rest.trim_start().split_at_checked(3) else { continue };
            let word = rest.trim_start().split([' ', ':', '(']).next().unwrap_or_default();
            let is_mark = mark.starts_with('[') && TaskMark::from_mark(mark).is_some();
            if is_mark && ids.contains(&word) {
                let what = format!("write the status of {word} in `progress.md` only");
                found.push(place.notice(at + 1, what));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{SampleOrchestration, feedback, task};
    use super::*;

    #[track_caller]
    fn check(session: &SampleOrchestration, expected: &[&str]) {
        let told: Vec<String> = validate(&session.seen).iter().map(ToString::to_string).collect();
        assert_eq!(told, expected);
    }

    #[test]
    fn a_session_as_it_should_be_has_no_findings() {
        check(&SampleOrchestration::planned(&[("task-1", &[]), ("task-2", &["task-1"])]), &[]);
        check(&SampleOrchestration::empty(), &[]);
    }

    #[test]
    fn what_keeps_progress_from_being_read_is_invalid() {
        let mut session = SampleOrchestration::planned(&[("task-1", &[])]);
        session.edit("progress.md", "- `[P]` Pending review\n", "");
        session.edit("progress.md", "- [ ] task-1", "- [?] task-1");
        session.edit("progress.md", "## Planning Progress (Iteration 1)", "## Planning");
        check(
            &session,
            &[
                "progress.md: the legend does not name `[P]`",
                "progress.md: the section `## Planning Progress (Iteration 1)` is missing",
                "progress.md:17: `[?]` is not a status; write one of `[ ]`, `[/]`, `[P]`, `[x]`, \
                 `[F]`, `[C]`",
                "tasks/task-1.md: task-1 is missing in `progress.md` and counts as open",
            ],
        );
        assert!(is_invalid(&validate(&session.seen)));
        session.remove("progress.md");
        assert!(
            validate(&session.seen)
                .iter()
                .any(|one| one.to_string() == "progress.md: it is missing")
        );
    }

    #[test]
    fn an_entry_that_contradicts_another_is_invalid_and_told_with_its_line() {
        let mut session = SampleOrchestration::planned(&[("task-1", &[])]);
        let copy = "## Implementation Progress (Iteration 1)\n- [x] task-1\n\n## Iterations";
        session.edit("progress.md", "## Iterations", copy);
        check(&session, &["progress.md:21: line 18 has task-1 too; delete one of them"]);
        assert!(is_invalid(&validate(&session.seen)));
    }

    #[test]
    fn what_blocks_a_task_is_told_with_its_place() {
        let mut session = SampleOrchestration::planned(&[
            ("task-1", &["task-2"]),
            ("task-2", &["task-1"]),
            ("task-3", &["task-9"]),
            ("task-4", &["task-5"]),
            ("task-5", &[]),
        ]);
        session.mark("task-5", "[C]");
        session.seen.files.remove("tasks/task-3.md");
        session.file("tasks/task-6.md", &task("task-6", &["task-7"]));
        let found = validate(&session.seen);
        assert!(!is_invalid(&found));
        let told: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "progress.md: task-3 has no file; write `tasks/task-3.md`",
                "tasks/task-1.md: task-1 → task-2 → task-1 is a dependency cycle; remove one \
                 dependency",
                "tasks/task-4.md: task-4 depends on task-5, which is cancelled; remove that \
                 dependency",
                "tasks/task-6.md: task-6 depends on task-7, which does not exist; add that task or \
                 remove the dependency",
                "tasks/task-6.md: task-6 is missing in `progress.md` and counts as open",
            ]
        );
    }

    #[test]
    fn a_status_that_stands_elsewhere_is_told() {
        let mut session = SampleOrchestration::planned(&[("task-1", &[])]);
        session.file("plan.md", "# Plan\n- [ ] a criterion\n- [x] task-1: done\n");
        check(&session, &["plan.md:3: write the status of task-1 in `progress.md` only"]);
    }

    #[test]
    fn a_batch_that_nobody_takes_up_is_told() {
        let mut session = SampleOrchestration::planned(&[("task-1", &[])]);
        session.file("iterations/2/feedbacks/20260201-120000/app.log", "boom");
        session.file("iterations/2/feedbacks/20260201-120000/shots/a.png", "");
        session.file("iterations/2/feedbacks/notes.md", "it squeaks");
        session.file("iterations/4/feedbacks/x/feedbacks.md", &feedback(4));
        session.file("iterations/1/feedbacks/x/feedbacks.md", &feedback(1));
        check(
            &session,
            &[
                "iterations/1/feedbacks/x/feedbacks.md: it is for iteration 1, and the next is 2; move it to \
                 `iterations/2/feedbacks/`",
                "iterations/2/feedbacks/20260201-120000/feedbacks.md: it is missing, so the files \
                 beside it are ignored; write the work to do into it",
                "iterations/2/feedbacks/notes.md: it is in no batch; move it to \
                 `iterations/2/feedbacks/<YYYYMMDD-hhmmss>/`",
                "iterations/4/feedbacks/x/feedbacks.md: it is for iteration 4, and the next is 2; move it to \
                 `iterations/2/feedbacks/`",
            ],
        );
        let mut session = SampleOrchestration::planned(&[("task-1", &[])]);
        session.file("iterations/2/feedbacks/20260201-120000/feedbacks.md", &feedback(2));
        session.file("iterations/2/feedbacks/20260201-120000/app.log", "boom");
        check(&session, &[]);
    }

    #[test]
    fn what_is_under_way_says_since_when_and_what_is_reviewed_has_a_report() {
        let mut session = SampleOrchestration::planned(&[("task-1", &[]), ("task-2", &[])]);
        session.mark("task-1", "[/]");
        session.mark("task-2", "[P]");
        check(
            &session,
            &[
                "progress.md: task-1 has no start time; write `(started: …)`",
                "progress.md: task-2 awaits review and has no report",
            ],
        );
    }
}
