//! Counts the attempts at a task in an iteration, whatever the agents left behind.
//!
//! An attempt usually leaves a report, but it may leave none: an executor vanishes, or a reviewer
//! fails a task without writing anything. Every trace therefore counts, and the highest count wins,
//! so that a task without reports is not executed forever.

use super::agents::Mode;
use super::change::{RouterWrite, apply};
use super::invocation::{CallKey, Invocation};
use super::local_time::LocalTime;
use super::progress::{TaskEntry, TaskMark};
use super::recovery::{CallEnd, Tries};
use super::report::{attempts_in, next_attempt};
use super::snapshot::{Picture, Snapshot};
use jiff::Timestamp;

/// The note of a task without a definition, for which no attempt was made.
pub const UNDEFINED: &str = "blocker: Task definition missing";

/// The key of a task's execution in an iteration.
pub fn execution(task: &str, iteration: u32) -> CallKey {
    CallKey { mode: Mode::Execute, task: task.to_owned(), iteration, cycle: 0 }
}

/// How many attempts the iteration has finished.
pub fn made(
    picture: &Picture,
    entry: Option<&TaskEntry>,
    tries: &Tries,
    task: &str,
    iteration: u32,
) -> u32 {
    let reports = picture.reports_of(task);
    let failed = entry.filter(|it| it.status == TaskMark::Failed && !it.note.contains(UNDEFINED));
    let noted = tries.get(&execution(task, iteration)).map_or(0, |one| {
        // One that was begun by hand is over once its task has failed.
        let begun = one.begun.saturating_sub(u32::from(failed.is_none()));
        one.ends.max(one.left_failed).max(one.marked_failed).max(begun)
    });
    let by_note = failed.map_or(0, |entry| {
        let is_of_it = entry.number("Iteration").is_none_or(|of| of == iteration);
        let number = entry.number("Attempt").filter(|_| is_of_it).unwrap_or_default();
        number.saturating_sub(before(picture, task, iteration)).max(1)
    });
    attempts_in(reports, iteration).max(noted).max(by_note)
}

/// The number of the next attempt. No report has it, and no attempt of this iteration that left no
/// report had it.
pub fn next(
    picture: &Picture,
    entry: Option<&TaskEntry>,
    tries: &Tries,
    task: &str,
    iteration: u32,
) -> u32 {
    let so_far = before(picture, task, iteration)
        .saturating_add(made(picture, entry, tries, task, iteration));
    next_attempt(picture.reports_of(task)).max(so_far.saturating_add(1))
}

/// The highest attempt number of earlier iterations.
fn before(picture: &Picture, task: &str, iteration: u32) -> u32 {
    let earlier = picture.reports_of(task).iter().filter(|report| report.iteration < iteration);
    earlier.map(|report| report.attempt).max().unwrap_or_default()
}

/// Records the end of a call, and whether it left its task as failed.
pub fn note_end(after: &mut Snapshot, call: &Invocation, how: CallEnd, now: Timestamp) {
    after.tries.ended(&call.key, how, now);
    let is_about_one = matches!(call.mode, Mode::Execute | Mode::TaskReview | Mode::TimeoutFail);
    let entry = after.record.progress.as_ref().and_then(|progress| progress.task(&call.key.task));
    let has_failed = entry.is_some_and(|entry| entry.status == TaskMark::Failed);
    if is_about_one && has_failed {
        after.tries.left_failed(&execution(&call.key.task, call.key.iteration), now);
    }
}

/// Records the executions among calls that the user makes by hand: nobody tells how these end, and agents
/// may leave no trace but a mark. A failed task is open again, so that its next mark is this attempt's.
///
/// # Errors
/// What cannot be written.
pub fn note_begun(
    seen: &Snapshot,
    calls: &[Invocation],
    now: Timestamp,
    local: LocalTime,
) -> Result<Snapshot, String> {
    let picture = Picture::from_snapshot(seen);
    let mut after = seen.clone();
    for Invocation { key, .. } in calls.iter().filter(|call| call.mode == Mode::Execute) {
        let entry = picture.progress.as_ref().and_then(|progress| progress.task(&key.task));
        let made = made(&picture, entry, &seen.tries, &key.task, key.iteration);
        after.tries.begun(key, made.saturating_add(1), now);
        if entry.is_some_and(|entry| entry.status == TaskMark::Failed) {
            let (task, status) = (key.task.clone(), TaskMark::Open);
            after = apply(&after, &[RouterWrite::Mark { task, status, note: None }], local)?;
        }
    }
    Ok(after)
}

#[cfg(test)]
mod tests {
    use super::super::files::OrchestrationFile;
    use super::super::fixture::{SampleOrchestration, later, now, report};
    use super::super::machine::{self, Act};
    use super::*;

    /// A failed task with this note, after this many reports in the first iteration.
    fn failed(note: Option<&str>, reports: u32) -> SampleOrchestration {
        let mut session = SampleOrchestration::planned(&[("a", &[])]);
        session.noted("a", "[F]", note);
        for attempt in 1..=reports {
            let path = OrchestrationFile::Report { task: "a", attempt }.to_string();
            session.file(&path, &report("a", 1, Some("Failed")));
        }
        session
    }

    #[track_caller]
    fn check(session: &SampleOrchestration, iteration: u32, expected: (u32, u32)) {
        let picture = Picture::from_snapshot(&session.seen);
        let progress = picture.progress.clone().unwrap();
        let entry = progress.task("a");
        let tries = &session.seen.tries;
        let counts = (
            made(&picture, entry, tries, "a", iteration),
            next(&picture, entry, tries, "a", iteration),
        );
        assert_eq!(counts, expected);
    }

    #[test]
    fn a_failed_task_without_a_report_has_been_attempted() {
        check(&failed(None, 0), 1, (1, 2));
        check(&failed(Some("Attempt 2, Iteration 1, started: 2026-01-31T10:00:00Z"), 0), 1, (2, 3));
        check(&failed(Some(UNDEFINED), 0), 1, (0, 1));
        check(&SampleOrchestration::planned(&[("a", &[])]), 1, (0, 1));
    }

    #[test]
    fn a_report_and_a_mark_of_the_same_attempt_count_once() {
        check(&failed(Some("Attempt 1, Iteration 1"), 1), 1, (1, 2));
        let mut session = failed(None, 1);
        session.seen.tries.left_failed(&execution("a", 1), now());
        session.seen.tries.marked_failed(&execution("a", 1), now());
        check(&session, 1, (1, 2));
        session.seen.tries.left_failed(&execution("a", 1), now());
        check(&session, 1, (2, 3));
    }

    #[test]
    fn what_is_begun_by_hand_and_leaves_only_marks_is_bounded_as_any_attempt() {
        let mut session = SampleOrchestration::planned(&[("a", &[])]);
        let mut begun = Vec::new();
        for minutes in 0..20 {
            let at = later(minutes * 61);
            let step = machine::next(&session.seen, at);
            session.seen = apply(&session.seen, &step.changes, at.into()).unwrap();
            let Act::Invoke(calls) = &step.act else { break };
            session.seen = note_begun(&session.seen, calls, at, at.into()).unwrap();
            begun.push((calls[0].mode, calls[0].input("ATTEMPT_NUMBER").map(str::to_owned)));
            match calls[0].mode {
                Mode::Execute => session.noted("a", "[/]", Some(&format!("started: {at:.0}"))),
                Mode::TimeoutFail => session.noted("a", "[F]", None),
                _ => break,
            }
        }
        let (execute, failed) = (Mode::Execute, (Mode::TimeoutFail, None));
        let attempt = |number: &str| (execute, Some(number.to_owned()));
        assert_eq!(begun[..4], [attempt("1"), failed.clone(), attempt("2"), failed]);
        assert!(begun[4..].iter().all(|(mode, _)| *mode != execute), "{begun:?}");
    }

    #[test]
    fn each_iteration_counts_for_itself_and_no_number_is_given_twice() {
        check(&failed(Some("Attempt 4, Iteration 2"), 2), 2, (2, 5));
        check(&failed(Some("Attempt 2, Iteration 1"), 2), 2, (1, 4));
    }
}
