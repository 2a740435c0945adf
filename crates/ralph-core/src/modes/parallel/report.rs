//! Compares a worker's report with what the worker did.
//!
//! A report that is incomplete, or names other files than git does, goes back once with the
//! mistakes. The second report is judged as it is: `DONE` closes a task only if git shows the work.

use super::{FILES_KEPT, reopen};
use crate::state::{LoopState, TaskStatus, WorkerStanding};
use crate::text::truncate::bounded;

/// The labels of a report, in order.
pub const LABELS: [&str; 5] = ["Status", "Files changed", "Tests", "Completion condition", "Notes"];

/// Maximum number of files named in one sentence.
const NAMED: usize = 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerReport {
    /// `DONE`, `PARTIAL` or `BLOCKED`.
    pub status: WorkerStanding,
    /// The files that the report names.
    pub files: Vec<String>,
    /// Which tests were run, and their results.
    pub tests: String,
    /// Whether the completion condition is met, and the evidence.
    pub condition: String,
    pub notes: String,
}

/// What happens to a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerVerdict {
    /// The report goes back to the worker with this text.
    SendBack(String),
    /// The report was accepted, with this effect on the task.
    Taken(String),
}

/// Reads the last report in a message.
///
/// # Errors
/// What is missing or malformed, one sentence each.
pub fn read(message: &str) -> Result<WorkerReport, Vec<String>> {
    let values = values(message);
    let mut wrong = Vec::new();
    let mut value = |at: usize| -> String {
        let value = values[at].clone().unwrap_or_default().trim().to_owned();
        if value.is_empty() {
            wrong.push(format!(
                "The line `{}:` is missing or empty; `none` is an answer.",
                LABELS[at]
            ));
        }
        value
    };
    let (status, files, tests) = (value(0), value(1), value(2));
    let (condition, notes) = (value(3), value(4));
    let standing = match status.trim_matches(['`', '*', '.']).to_ascii_uppercase().as_str() {
        "DONE" => Some(WorkerStanding::Done),
        "PARTIAL" => Some(WorkerStanding::Partial),
        "BLOCKED" => Some(WorkerStanding::Blocked),
        "" => None,
        _ => {
            wrong.push(format!(
                "`Status:` is one of DONE, PARTIAL and BLOCKED, and not `{}`.",
                bounded(&status, 60)
            ));
            None
        }
    };
    match (standing, wrong.is_empty()) {
        (Some(status), true) => {
            Ok(WorkerReport { status, files: paths(&files), tests, condition, notes })
        }
        _ => Err(wrong),
    }
}

/// The text after each label, up to the next one, in the last report of the message.
fn values(message: &str) -> [Option<String>; 5] {
    let mut values: [Option<String>; 5] = Default::default();
    let mut current = None;
    for line in message.lines() {
        match labelled(line) {
            // A new report begins: the text before was an example or an earlier report.
            Some((0, rest)) => {
                values = Default::default();
                values[0] = Some(rest.to_owned());
                current = Some(0);
            }
            Some((at, rest)) => {
                values[at] = Some(rest.to_owned());
                current = Some(at);
            }
            None if line.trim_start().starts_with("```") => current = None,
            None => {
                if let Some(value) = current.and_then(|at: usize| values[at].as_mut()) {
                    value.push('\n');
                    value.push_str(line);
                }
            }
        }
    }
    values
}

/// The label that a line begins with, and the rest of the line. Ignores emphasis and list marks.
fn labelled(line: &str) -> Option<(usize, &str)> {
    let line = line.trim().trim_start_matches(['-', '*', '_', '#', ' ']);
    LABELS.iter().enumerate().find_map(|(at, label)| {
        let start = line.get(..label.len())?;
        let rest = line[label.len()..].trim_start_matches(['*', '_']).strip_prefix(':')?;
        start.eq_ignore_ascii_case(label).then(|| (at, rest.trim_matches(['*', '_', ' '])))
    })
}

/// Reads a list of paths, separated by lines or commas, with or without list marks and a remark
/// after each path.
pub(crate) fn paths(text: &str) -> Vec<String> {
    let all = text.split(['\n', ',']).map(|part| {
        let part = part.trim().trim_start_matches(['-', '*']).trim();
        // `src/a.rs (new)`, `src/a.rs: the parser`
        let part = match part.strip_prefix('`').and_then(|rest| rest.split_once('`')) {
            Some((quoted, _)) => quoted,
            None => part.split(" (").next().unwrap_or(part).split(": ").next().unwrap_or(part),
        };
        part.trim().trim_end_matches('.').to_owned()
    });
    all.filter(|path| !path.is_empty() && !path.eq_ignore_ascii_case("none")).collect()
}

/// Judges the report of the worker at index `at`. `real` holds the files changed according to git;
/// `None` if git cannot tell. `worktree` is the worker's folder.
pub fn judge(
    state: &mut LoopState,
    at: usize,
    message: &str,
    real: Option<&[String]>,
    worktree: &str,
) -> WorkerVerdict {
    let task_id = state.workers[at].task.clone();
    let declares = state.task_graph.iter().any(|task| task.id == task_id && !task.files.is_empty());
    let report = read(message).map(|report| inside(report, worktree));
    let wrong = match &report {
        Err(wrong) => wrong.clone(),
        Ok(report) => real.map(|real| differs(report, real, declares)).unwrap_or_default(),
    };
    let worker = &mut state.workers[at];
    if !wrong.is_empty() && !worker.sent_back {
        worker.sent_back = true;
        return WorkerVerdict::SendBack(format!(
            "Your report does not hold. {} Mend the work or the report, and end with the whole report again.",
            wrong.join(" ")
        ));
    }
    worker.files = real.unwrap_or_default().iter().take(FILES_KEPT).cloned().collect();
    let changed_nothing = real.is_some_and(<[String]>::is_empty);
    let (standing, said) = match report {
        Err(_) => {
            (WorkerStanding::Partial, format!("its report is not whole: {}", wrong.join(" ")))
        }
        Ok(report) => match report.status {
            WorkerStanding::Done if changed_nothing && (declares || !report.files.is_empty()) => {
                (WorkerStanding::Partial, "it says DONE, and nothing has changed".to_owned())
            }
            WorkerStanding::Done => (WorkerStanding::Done, result_text(&report, &wrong)),
            ref status => (status.clone(), result_text(&report, &wrong)),
        },
    };
    worker.standing = standing.clone();
    WorkerVerdict::Taken(settle(state, &task_id, &standing, &said))
}

/// Updates the task from the worker's result.
fn settle(state: &mut LoopState, id: &str, standing: &WorkerStanding, said: &str) -> String {
    let said = bounded(said, 1_000);
    match standing {
        WorkerStanding::Done => close(state, id, TaskStatus::Done, &said),
        WorkerStanding::Blocked => close(state, id, TaskStatus::Blocked, &said),
        _ => reopen(state, id, &format!("a worker got part of the way: {said}")),
    }
}

fn close(state: &mut LoopState, id: &str, status: TaskStatus, said: &str) -> String {
    let Some(task) = state.task_graph.iter_mut().find(|task| task.id == id) else {
        return said.to_owned();
    };
    task.status = status;
    task.lease_expires_at = None;
    task.result = Some(said.to_owned());
    format!("{id} {}: {said}", task.status)
}

/// The part of a report that later agents read.
fn result_text(report: &WorkerReport, wrong: &[String]) -> String {
    let mut parts = Vec::new();
    let mut part = |label: &str, text: &str| {
        let text = text.replace('\n', " ");
        if !text.trim().is_empty() && !text.trim().eq_ignore_ascii_case("none") {
            parts.push(format!("{label}{}", bounded(text.trim(), 300)));
        }
    };
    part("", &report.condition);
    part("Tests: ", &report.tests);
    part("Notes: ", &report.notes);
    part("", &wrong.join(" "));
    parts.join(". ")
}

/// The report with paths relative to the top of the worktree, as git names them.
fn inside(report: WorkerReport, worktree: &str) -> WorkerReport {
    let top = format!("{}/", worktree.trim_end_matches('/'));
    let plain = |path: String| {
        let path = path.strip_prefix(&top).unwrap_or(&path);
        path.trim_start_matches("./").trim_end_matches('/').to_owned()
    };
    WorkerReport { files: report.files.into_iter().map(plain).collect(), ..report }
}

/// What a report claims about files that is not true.
fn differs(report: &WorkerReport, real: &[String], declares: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    if report.status == WorkerStanding::Done
        && real.is_empty()
        && (declares || !report.files.is_empty())
    {
        wrong.push("It says DONE, and in your worktree nothing has changed.".to_owned());
        return wrong;
    }
    let covers = |named: &String, path: &String| {
        path == named || path.strip_prefix(named.as_str()).is_some_and(|rest| rest.starts_with('/'))
    };
    let untouched: Vec<&String> =
        report.files.iter().filter(|named| !real.iter().any(|path| covers(named, path))).collect();
    let unnamed: Vec<&String> =
        real.iter().filter(|path| !report.files.iter().any(|named| covers(named, path))).collect();
    if !untouched.is_empty() {
        wrong.push(format!("Named under `Files changed:` and not changed: {}.", list(&untouched)));
    }
    if !unnamed.is_empty() {
        wrong.push(format!("Changed and not named under `Files changed:`: {}.", list(&unnamed)));
    }
    wrong
}

fn list(paths: &[&String]) -> String {
    let shown: Vec<String> = paths.iter().take(NAMED).map(|path| format!("`{path}`")).collect();
    match paths.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{loop_of, work};
    use super::*;

    const WHOLE: &str = "Status: DONE\nFiles changed: src/a.rs\nTests: cargo test, 3 passed\n\
                         Completion condition: met, the test passes\nNotes: none";

    fn words(all: &[&str]) -> Vec<String> {
        all.iter().map(|one| (*one).to_owned()).collect()
    }

    #[track_caller]
    fn reads(message: &str, status: &WorkerStanding, files: &[&str]) -> WorkerReport {
        let report = read(message).unwrap_or_else(|wrong| panic!("{message}: {wrong:?}"));
        assert_eq!((&report.status, &report.files), (status, &words(files)), "{message}");
        report
    }

    #[track_caller]
    fn lacks(message: &str, expected: &[&str]) {
        let wrong = read(message).expect_err(message);
        assert_eq!(wrong.len(), expected.len(), "{wrong:?}");
        for (said, words) in wrong.iter().zip(expected) {
            assert!(said.contains(words), "{said}");
        }
    }

    #[test]
    fn a_report_is_read_in_the_forms_that_models_write() {
        reads(WHOLE, &WorkerStanding::Done, &["src/a.rs"]);
        let marked = "I did it.\n\n**Status:** PARTIAL\n- **Files changed**: `a b`, `c` (new)\n### Tests: none\n\
                      Completion condition: not met\nNotes: left\nthe rest";
        let report = reads(marked, &WorkerStanding::Partial, &["a b", "c"]);
        assert_eq!(report.notes, "left\nthe rest");
        let listed = "Status: blocked\nFiles changed:\n- src/a.rs: parser\n- src/b.rs (new)\n\nTests: none\n\
                      Completion condition: not met\nNotes: needs a key";
        reads(listed, &WorkerStanding::Blocked, &["src/a.rs", "src/b.rs"]);
        let fenced = format!("```\n{WHOLE}\n```\nThat is all.\n");
        let report = reads(&fenced, &WorkerStanding::Done, &["src/a.rs"]);
        assert_eq!(report.notes, "none");
        let none = WHOLE.replace("src/a.rs", "none");
        reads(&none, &WorkerStanding::Done, &[]);
    }

    #[test]
    fn of_two_reports_the_last_counts_and_nothing_of_the_first() {
        let two = format!("{WHOLE}\n\nStatus: PARTIAL\nTests: none");
        lacks(&two, &["`Files changed:`", "`Completion condition:`", "`Notes:`"]);
        reads(&format!("Status: BLOCKED\n{WHOLE}"), &WorkerStanding::Done, &["src/a.rs"]);
    }

    #[test]
    fn what_is_missing_or_left_as_in_the_form_is_named() {
        lacks("All done!", &["`Status:`", "`Files", "`Tests:`", "`Completion", "`Notes:`"]);
        lacks(
            &WHOLE.replace("DONE", "DONE / PARTIAL / BLOCKED"),
            &["is one of DONE, PARTIAL and BLOCKED"],
        );
        lacks(&WHOLE.replace("Notes: none", "Notes:"), &["`Notes:` is missing or empty"]);
        lacks(&WHOLE.replace("Status: DONE", "Status:"), &["`Status:` is missing"]);
    }

    /// Judges a worker's report; returns the text, and the statuses of task and worker.
    fn judged(state: &mut LoopState, message: &str, real: Option<&[&str]>) -> String {
        let real = real.map(words);
        let said = match judge(state, 0, message, real.as_deref(), "/w") {
            WorkerVerdict::SendBack(why) => format!("sent back: {why}"),
            WorkerVerdict::Taken(what) => what,
        };
        format!("{said} | {} {}", state.task_graph[0].status, state.workers[0].standing)
    }

    #[track_caller]
    fn check(state: &mut LoopState, message: &str, real: Option<&[&str]>, expected: &[&str]) {
        let said = judged(state, message, real);
        assert!(expected.iter().all(|words| said.contains(words)), "{said}");
    }

    fn at_work(files: &[&str]) -> LoopState {
        let mut state = loop_of(&[("T-1", &[], files)]);
        work(&mut state, "T-1", WorkerStanding::Running);
        state
    }

    #[test]
    fn a_report_that_agrees_with_git_closes_its_task() {
        let mut state = at_work(&["src/a.rs"]);
        check(
            &mut state,
            WHOLE,
            Some(&["src/a.rs"]),
            &["T-1 done: met, the test passes. Tests:", "| done done"],
        );
        assert!(state.workers[0].awaits_merge());
        check(
            &mut at_work(&[]),
            &WHOLE.replace("src/a.rs", "/w/src/a.rs"),
            Some(&["src/a.rs"]),
            &["| done done"],
        );
        check(
            &mut at_work(&[]),
            &WHOLE.replace("src/a.rs", "src"),
            Some(&["src/a.rs"]),
            &["| done done"],
        );
        check(&mut at_work(&["x"]), WHOLE, None, &["| done done"]);
    }

    #[test]
    fn a_report_goes_back_once_and_is_then_taken_for_what_it_is_worth() {
        let mut state = at_work(&[]);
        check(
            &mut state,
            "All done!",
            Some(&["a"]),
            &["sent back: Your report does not hold. The line `Status:`", "in_progress running"],
        );
        check(
            &mut state,
            "All done!",
            Some(&["a"]),
            &["is ready again", "its report is not whole", "| pending partial"],
        );
        let mut state = at_work(&[]);
        let other = Some(&["src/b.rs"][..]);
        check(
            &mut state,
            WHOLE,
            other,
            &["not changed: `src/a.rs`. Changed and not named under `Files changed:`: `src/b.rs`."],
        );
        check(&mut state, WHOLE, other, &["T-1 done", "Changed and not named", "| done done"]);
    }

    #[test]
    fn done_without_work_is_not_done() {
        for (files, message) in
            [(&[][..], WHOLE.to_owned()), (&["x"][..], WHOLE.replace("src/a.rs", "none"))]
        {
            let mut state = at_work(files);
            check(&mut state, &message, Some(&[]), &["sent back", "nothing has changed"]);
            check(
                &mut state,
                &message,
                Some(&[]),
                &["it says DONE, and nothing has changed", "| pending partial"],
            );
        }
        // A task that only inspects something changes no files.
        check(&mut at_work(&[]), &WHOLE.replace("src/a.rs", "none"), Some(&[]), &["| done done"]);
    }

    #[test]
    fn a_worker_that_cannot_go_on_blocks_its_task() {
        let blocked = WHOLE.replace("DONE", "BLOCKED").replace("Notes: none", "Notes: needs a key");
        check(
            &mut at_work(&[]),
            &blocked,
            Some(&["src/a.rs"]),
            &["T-1 blocked:", "Notes: needs a key", "| blocked blocked"],
        );
    }
}
