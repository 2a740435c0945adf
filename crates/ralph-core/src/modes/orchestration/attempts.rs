//! Counts the attempts at a task in an iteration, whatever the agents left behind, and records how calls
//! end.
//!
//! An attempt usually leaves a report, but it may leave none: an executor vanishes, or a reviewer
//! fails a task without writing anything. Every trace therefore counts, and the highest count wins,
//! so that a task without reports is not executed forever.

use super::agents::Mode;
use super::invocation::{CallKey, Invocation};
use super::local_time::LocalTime;
use super::progress::TaskMark;
use super::recovery::{CallEnd, Tries};
use super::report::TaskReport;
use super::snapshot::{Picture, Snapshot};
use jiff::Timestamp;

/// The note of a task without a definition, for which no attempt was made.
pub const UNDEFINED: &str = "blocker: Task definition missing";

/// The key of a task's execution in an iteration.
pub fn execution(task: &str, iteration: u32) -> CallKey {
    CallKey { mode: Mode::Execute, task: task.to_owned(), iteration, cycle: 0 }
}

impl Picture<'_> {
    /// How many attempts at a task the iteration has finished.
    pub fn attempts_made(&self, tries: &Tries, task: &str) -> u32 {
        let of_iteration = |report: &&TaskReport| report.iteration == self.iteration;
        let reported = self.reports_of(task).iter().filter(of_iteration).count();
        let failed = self
            .progress
            .task(task)
            .filter(|entry| entry.status == TaskMark::Failed && !entry.note.contains(UNDEFINED));
        let noted = tries.get(&execution(task, self.iteration)).map_or(0, |one| {
            // One that was begun by hand is over once its task has failed.
            let begun = one.begun.saturating_sub(u32::from(failed.is_none()));
            one.ends.max(one.left_failed).max(one.marked_failed).max(begun)
        });
        let by_note = failed.map_or(0, |entry| {
            let is_of_it = entry.number("Iteration").is_none_or(|of| of == self.iteration);
            let number = entry.number("Attempt").filter(|_| is_of_it).unwrap_or_default();
            number.saturating_sub(self.attempts_before(task)).max(1)
        });
        u32::try_from(reported).unwrap_or(u32::MAX).max(noted).max(by_note)
    }

    /// The number of the next attempt. No report has it, and no attempt of this iteration that left no
    /// report had it.
    pub fn next_attempt(&self, tries: &Tries, task: &str) -> u32 {
        let reports = self.reports_of(task);
        let count = u32::try_from(reports.len()).unwrap_or(u32::MAX);
        let so_far = self.attempts_before(task).saturating_add(self.attempts_made(tries, task));
        self.latest_attempt(task).max(count).max(so_far).saturating_add(1)
    }

    /// The highest attempt that has a report; 0 if there is none.
    pub fn latest_attempt(&self, task: &str) -> u32 {
        self.reports_of(task).iter().map(|report| report.attempt).max().unwrap_or_default()
    }

    /// The highest attempt number of earlier iterations.
    fn attempts_before(&self, task: &str) -> u32 {
        let reports = self.reports_of(task).iter();
        let earlier = reports.filter(|report| report.iteration < self.iteration);
        earlier.map(|report| report.attempt).max().unwrap_or_default()
    }
}

impl Snapshot {
    /// Records the end of a call, and whether it left its task as failed.
    pub fn note_end(&mut self, call: &Invocation, how: CallEnd, now: Timestamp) {
        self.tries.ended(&call.key, how, now);
        let is_about_one =
            matches!(call.mode, Mode::Execute | Mode::TaskReview | Mode::TimeoutFail);
        let entry = self.progress().task(&call.key.task);
        if is_about_one && entry.is_some_and(|entry| entry.status == TaskMark::Failed) {
            let execution = execution(&call.key.task, call.key.iteration);
            let one = self.tries.entry(&execution, now);
            one.left_failed = one.left_failed.saturating_add(1);
        }
    }

    /// Records the executions among calls that the user makes by hand: nobody tells how these end, and
    /// agents may leave no trace but a mark. A failed task is open again, so that its next mark is this
    /// attempt's.
    pub fn with_begun(&self, calls: &[Invocation], now: LocalTime) -> Snapshot {
        let picture = Picture::from_snapshot(self);
        let mut after = self.clone();
        for Invocation { key, .. } in calls.iter().filter(|call| call.mode == Mode::Execute) {
            let made = picture.attempts_made(&self.tries, &key.task);
            after.tries.entry(key, now.at).begun = made.saturating_add(1);
            let entry = after.progress_mut().task_mut(&key.task);
            if let Some(entry) = entry.filter(|entry| entry.status == TaskMark::Failed) {
                entry.set(TaskMark::Open, None);
            }
        }
        after.rendered(self, now)
    }
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
        let picture = Picture { iteration, ..Picture::from_snapshot(&session.seen) };
        let tries = &session.seen.tries;
        let counts = (picture.attempts_made(tries, "a"), picture.next_attempt(tries, "a"));
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
        session.seen.tries.entry(&execution("a", 1), now()).left_failed += 1;
        session.seen.tries.entry(&execution("a", 1), now()).marked_failed += 1;
        check(&session, 1, (1, 2));
        session.seen.tries.entry(&execution("a", 1), now()).left_failed += 1;
        check(&session, 1, (2, 3));
    }

    #[test]
    fn what_is_begun_by_hand_and_leaves_only_marks_is_bounded_as_any_attempt() {
        let mut session = SampleOrchestration::planned(&[("a", &[])]);
        let mut begun = Vec::new();
        for minutes in 0..20 {
            let at = later(minutes * 61);
            let step = machine::next(&session.seen, at);
            let Act::Invoke(calls) = &step.act else { break };
            session.seen = step.after.with_begun(calls, at.into());
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
