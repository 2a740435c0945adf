//! Tasks as lines of JSON: one task per line, with the member names of a plan.
//!
//! It is all or nothing: if anything is wrong, no task is read. All lines that cannot be read are reported at
//! once, with their numbers as an editor counts, and if there are none, all that is wrong between
//! lines. As in a plan, claims are dropped: a file cannot assign a task to a worker.

use super::{Problem, fenced, number, unclaimed, unknown_statuses};
use crate::state::Task;
use crate::tasks::graph::{self, Synced, TaskLine};
use jiff::Timestamp;

/// The last block of a message that is fenced as `jsonl`. A planner hands its tasks over in one,
/// since the client lets no JSON pass in a shell command (2.1.328, "Contains brace with quote
/// character"), whatever its rules allow.
pub fn block(message: &str) -> Option<String> {
    let mut blocks = fenced(message).into_iter().rev();
    blocks.find(|block| block.kind.trim().eq_ignore_ascii_case("jsonl")).map(|block| block.text)
}

/// Reads the tasks of a text. A task without an id gets the next free number.
///
/// # Errors
/// All problems, in the order of the lines.
pub fn parse(text: &str) -> Result<Vec<Task>, Vec<Problem>> {
    let lines = read(text)?.into_iter().map(|line| (line.number, line.task));
    let (numbers, mut tasks): (Vec<usize>, Vec<Task>) = lines.unzip();
    number(tasks.iter_mut().map(|task| &mut task.id), "T-");
    tasks.iter_mut().for_each(unclaimed);
    let flaws = graph::lint_with_places(&tasks).into_iter().map(|(at, flaw)| (at, flaw.what));
    let mut problems: Vec<(usize, String)> = unknown_statuses(&tasks).chain(flaws).collect();
    problems.sort_by_key(|(at, _)| *at);
    let problems: Vec<Problem> =
        problems.into_iter().map(|(at, what)| problem(numbers[at], what)).collect();
    if problems.is_empty() { Ok(tasks) } else { Err(problems) }
}

/// Reads each line that is not blank, without comparing lines.
///
/// # Errors
/// Every line that is not a task.
pub fn read(text: &str) -> Result<Vec<TaskLine>, Vec<Problem>> {
    let text = text.trim_start_matches('\u{feff}');
    let (mut tasks, mut problems) = (Vec::new(), Vec::new());
    for (at, line) in text.split('\n').enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str(line.trim()) {
            Ok(task) => tasks.push(TaskLine { number: at + 1, task: tidied(task) }),
            Err(error) => problems.push(problem(at + 1, unreadable(&error))),
        }
    }
    if problems.is_empty() { Ok(tasks) } else { Err(problems) }
}

/// Updates a graph from the lines; if anything in them is wrong, there is no new graph.
///
/// # Errors
/// All problems, in the order of the lines.
pub fn sync(tasks: &[Task], lines: &[TaskLine], now: Timestamp) -> Result<Synced, Vec<Problem>> {
    graph::sync(tasks, lines, now)
        .map_err(|flaws| flaws.into_iter().map(|(number, what)| problem(number, what)).collect())
}

fn unreadable(error: &serde_json::Error) -> String {
    // serde_json sees one line at a time and would report each one as line 1.
    let what = error.to_string().replace(" at line 1 column", " at column");
    match error.is_data() {
        true => format!("{what}; write an object with a task's members as in a plan"),
        false => format!(
            "not JSON ({what}); write one task on one line: {{\"id\":\"T-1\",\"name\":\"…\"}}"
        ),
    }
}

/// The tasks, one per line.
pub fn render(tasks: &[Task]) -> String {
    tasks.iter().map(|task| format!("{}\n", serde_json::json!(task))).collect()
}

fn problem(line: usize, what: String) -> Problem {
    Problem::new(format!("line {line}"), what)
}

fn tidied(mut task: Task) -> Task {
    trim(&mut task.id);
    trim(&mut task.name);
    task.deps.iter_mut().for_each(trim);
    // `ralph task list --json` adds this member to each task, and lines are made from its output.
    task.extra.remove("standing");
    task
}

/// A space at the start or the end is not part of an id.
fn trim(text: &mut String) {
    *text = text.trim().to_owned();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::TaskStatus;

    fn problems(text: &str) -> Vec<String> {
        parse(text).expect_err(text).iter().map(Problem::to_string).collect()
    }

    #[test]
    fn blank_lines_are_skipped_and_missing_ids_are_numbered() {
        let tasks =
            parse("\u{feff}\n{\"name\":\"a\"}\r\n\n  \n{\"name\":\"b\",\"deps\":[\"T-1\"]}")
                .unwrap();
        assert_eq!(tasks.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(), ["T-1", "T-2"]);
        assert_eq!(parse("\n \n"), Ok(Vec::new()));
    }

    #[test]
    fn what_was_rendered_reads_back_with_members_that_nobody_knows() {
        let text = "{\"id\":\"a\",\"name\":\"one\\ntwo\",\"status\":\"done\",\"result\":\"r\",\"estimate\":\"2h\"}\n\
                    {\"id\":\"b\",\"name\":\"n\",\"deps\":[\"a\"],\"files\":[\"f\"]}";
        let tasks = parse(text).unwrap();
        assert_eq!(tasks[0].extra["estimate"], "2h");
        assert_eq!(render(&tasks).lines().count(), 2);
        assert_eq!(parse(&render(&tasks)), Ok(tasks));
    }

    #[test]
    fn a_claim_does_not_come_in() {
        let text = "{\"name\":\"a\",\"status\":\"in_progress\",\"owner\":\"w\",\"lease_expires_at\":\"2026-01-01T00:00:00Z\"}";
        let task = parse(text).unwrap().remove(0);
        assert_eq!((task.status, task.owner), (TaskStatus::Pending, None));
        assert_eq!(task.lease_expires_at, None);
    }

    #[test]
    fn every_line_that_cannot_be_read_is_named_and_nothing_is_read() {
        let found = problems("{\"deps\":[\"x\"]}\n{\"name\":\n\n7\n{\"name\":3}\n");
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].starts_with("line 2: not JSON (EOF"), "{found:?}");
        assert!(found[1].starts_with("line 4: invalid type: integer `7`"), "{found:?}");
        assert!(found[2].starts_with("line 5: invalid type: integer `3`"), "{found:?}");
    }

    #[test]
    fn what_is_wrong_between_lines_is_named_by_line() {
        let text = "{\"id\":\"a\",\"name\":\"a\",\"deps\":[\"x\"]}\n\n{\"id\":\"a\",\"name\":\"b\"}\n\
                    {\"id\":\"a\",\"name\":\" \"}\n{\"id\":\"b\",\"name\":\"b\",\"deps\":[\"b\"],\"status\":\"soon\"}";
        assert_eq!(
            problems(text),
            [
                "line 1: a depends on x, which does not exist; add that task or remove the \
                 dependency",
                "line 3: a is the id of two tasks; rename one",
                "line 4: a is the id of two tasks; rename one",
                "line 4: a has no name; write the task in words",
                "line 5: `soon` is not a status; write `pending` or `done`, or omit it",
                "line 5: b depends on itself; remove that dependency",
            ]
        );
    }

    #[test]
    fn a_sync_names_lines_as_an_editor_counts_them() {
        let wanted = read("\n{\"id\":\"a\",\"name\":\"a\",\"deps\":[\"b\"]}\n\n{\"id\":\"b\",\"name\":\"b\",\"deps\":[\"x\"]}").unwrap();
        let problems = sync(&[], &wanted, Timestamp::UNIX_EPOCH).unwrap_err();
        let problems: Vec<_> = problems.iter().map(Problem::to_string).collect();
        assert_eq!(
            problems,
            [
                "line 4: b depends on x, which does not exist; add that task or remove the dependency"
            ]
        );
    }

    #[test]
    fn spaces_around_an_id_are_no_part_of_it() {
        let line =
            read("{\"id\":\" a \",\"name\":\" do a\\n\",\"deps\":[\"b \"]}").unwrap().remove(0);
        assert_eq!((line.task.id.as_str(), line.task.name.as_str()), ("a", "do a"));
        assert_eq!(line.task.deps, ["b"]);
    }

    #[test]
    fn what_a_list_says_of_where_a_task_stands_is_no_member_of_it() {
        let line = read("{\"id\":\"a\",\"name\":\"a\",\"standing\":\"ready\"}").unwrap().remove(0);
        assert!(line.task.extra.is_empty());
    }
}
