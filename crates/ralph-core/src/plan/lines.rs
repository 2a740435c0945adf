//! Tasks as lines of JSON: one task on each line, under the names that a plan uses.
//!
//! All or nothing: with anything wrong in it no task is read, and everything that is wrong is
//! reported at once, each with the number of its line as an editor counts. As in a plan, a claim
//! does not come in: who works on a task is not for a file to say.

use super::{Problem, flaws, number, unclaimed, unknown_statuses};
use crate::graph::{self, Line, LineFlaw, Synced};
use crate::state::Task;
use jiff::Timestamp;
use serde_json::Value;

/// Reads the tasks of a text. Blank lines are skipped, and a task without an id is given the next
/// number that no other has.
///
/// # Errors
/// Every line that is wrong, in the order of the text where lines cannot be read, and then in the
/// order of what was looked at.
pub fn parse(text: &str) -> Result<Vec<Task>, Vec<Problem>> {
    let lines = read(text)?;
    let (places, mut tasks): (Vec<usize>, Vec<Task>) =
        lines.into_iter().map(|line| (line.number, line.task)).unzip();
    number(tasks.iter_mut().map(|task| &mut task.id), "T-");
    tasks.iter_mut().for_each(unclaimed);
    let of = |at: usize| place(places.get(at).copied().unwrap_or_default());
    let mut problems: Vec<Problem> =
        unknown_statuses(&tasks).map(|(at, what)| Problem::new(of(at), what)).collect();
    problems.extend(flaws(&tasks).map(|(at, _, flaw)| Problem::new(of(at), flaw.to_string())));
    if problems.is_empty() { Ok(tasks) } else { Err(problems) }
}

/// Reads each line that is not blank, and looks no further than at the line itself.
///
/// # Errors
/// Every line that is no task: it may hold the one that another depends on, so nothing is said of
/// the others.
pub fn read(text: &str) -> Result<Vec<Line>, Vec<Problem>> {
    let (mut lines, mut problems) = (Vec::new(), Vec::new());
    let text = text.trim_start_matches('\u{feff}');
    for (at, line) in text.split('\n').enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let number = at + 1;
        match task(line) {
            Ok(task) => lines.push(Line { number, task }),
            Err(what) => problems.push(Problem::new(place(number), what)),
        }
    }
    if problems.is_empty() { Ok(lines) } else { Err(problems) }
}

/// Brings a graph to what the lines want it to be; with anything wrong in them there is no such
/// graph.
///
/// # Errors
/// Everything that is wrong, each with the number of its line.
pub fn sync(tasks: &[Task], lines: &[Line], now: Timestamp) -> Result<Synced, Vec<Problem>> {
    graph::sync(tasks, lines, now).map_err(|flaws| {
        let problem =
            |(line, flaw): &(usize, LineFlaw)| Problem::new(place(*line), flaw.to_string());
        flaws.iter().map(problem).collect()
    })
}

/// The tasks, one on each line.
pub fn render(tasks: &[Task]) -> String {
    tasks.iter().map(|task| format!("{}\n", serde_json::json!(task))).collect()
}

fn place(line: usize) -> String {
    format!("line {line}")
}

fn task(line: &str) -> Result<Task, String> {
    // Only what is wrong is looked at twice: there may be ten thousand lines.
    let mut task = serde_json::from_str::<Task>(line.trim())
        .map_err(|error| what_is_wrong(line.trim(), &error))?;
    trim(&mut task.id);
    trim(&mut task.name);
    task.deps.iter_mut().for_each(trim);
    // `ralph task list --json` says it of each task, and lines are made from that.
    task.extra.remove("standing");
    Ok(task)
}

/// An id that is written with a space at its end is the same id.
fn trim(text: &mut String) {
    if text.trim().len() < text.len() {
        *text = text.trim().to_owned();
    }
}

/// Told in two steps, so that what is no JSON at all is not taken for a task of another shape.
fn what_is_wrong(line: &str, error: &serde_json::Error) -> String {
    let value = match serde_json::from_str::<Value>(line) {
        Ok(value) => value,
        Err(error) => {
            // It counts lines of its own, and would say that every line is the first.
            let error = error.to_string().replace(" at line 1 column", " at column");
            return format!(
                "not JSON ({error}); write one task on one line: {{\"id\":\"T-1\",\"name\":\"…\"}}"
            );
        }
    };
    if !value.is_object() {
        return "not an object; write `{…}`".to_owned();
    }
    // Without the place in the line, which nobody counts.
    let error = serde_json::from_value::<Task>(value)
        .map_or_else(|it| it.to_string(), |_| error.to_string());
    format!("{error}; write the members of a task as a plan has them")
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
        let found = problems("{\"name\":\"a\"}\n{\"name\":\n\n7\n{\"name\":3}\n");
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].starts_with("line 2: not JSON (EOF"), "{found:?}");
        assert_eq!(found[1], "line 4: not an object; write `{…}`");
        assert!(found[2].starts_with("line 5: invalid type: integer `3`"), "{found:?}");
    }

    #[test]
    fn what_is_wrong_between_lines_is_named_by_line() {
        let text = "{\"id\":\"a\",\"name\":\"a\",\"deps\":[\"x\"]}\n\n{\"id\":\"a\",\"name\":\"b\"}\n\
                    {\"id\":\"a\",\"name\":\" \"}\n{\"id\":\"b\",\"name\":\"b\",\"deps\":[\"b\"],\"status\":\"soon\"}";
        assert_eq!(
            problems(text),
            [
                "line 5: `soon` is no status; write `pending` or `done`, or leave it out",
                "line 1: a depends on x, which does not exist; add it or leave it out",
                "line 3: a is the id of two tasks; rename one",
                "line 4: a is the id of two tasks; rename one",
                "line 4: a has no name; say in words what is to be done",
                "line 5: b depends on itself; leave that out",
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
            ["line 4: b depends on x, which does not exist; add it or leave it out"]
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
