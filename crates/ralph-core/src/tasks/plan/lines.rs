//! Tasks as lines of JSON: one task per line, with the member names of a plan.
//!
//! It is all or nothing: if anything is wrong, no task is read, and all problems are reported at
//! once with their line numbers as an editor counts. As in a plan, claims are dropped: a file
//! cannot assign a task to a worker.

use super::{Problem, closes, flaws, number, opening, unclaimed, unknown_statuses};
use crate::state::Task;
use crate::tasks::graph::{self, GraphFlaw, LineFlaw, Synced, TaskLine};
use jiff::Timestamp;
use serde_json::{Map, Value};
use std::collections::HashSet;

/// The last block of a message that is fenced as `jsonl`. A planner hands its tasks over in one,
/// since the client lets no JSON pass in a shell command (2.1.328, "Contains brace with quote
/// character"), whatever its rules allow.
pub fn block(message: &str) -> Option<String> {
    let (mut last, mut lines) = (None, message.lines());
    while let Some(line) = lines.next() {
        let Some((fence, kind)) = opening(line) else { continue };
        let inside: Vec<&str> = lines.by_ref().take_while(|line| !closes(line, fence)).collect();
        if kind.trim().eq_ignore_ascii_case("jsonl") {
            last = Some(inside.join("\n"));
        }
    }
    last
}

/// Reads the tasks of a text. Blank lines are skipped, and a task without an id gets the next free
/// number.
///
/// # Errors
/// All problems, in the order of the lines.
pub fn parse(text: &str) -> Result<Vec<Task>, Vec<Problem>> {
    let mut text = Text::read(text);
    let (places, mut tasks): (Vec<usize>, Vec<Task>) =
        std::mem::take(&mut text.lines).into_iter().map(|line| (line.number, line.task)).unzip();
    number(tasks.iter_mut().map(|task| &mut task.id), "T-");
    tasks.iter_mut().for_each(unclaimed);
    let of = |at: usize| places.get(at).copied().unwrap_or_default();
    let mut problems: Vec<(usize, String)> =
        unknown_statuses(&tasks).map(|(at, what)| (of(at), what)).collect();
    problems.extend(flaws(&tasks).filter_map(|(at, _, flaw)| {
        (!text.follows(of(at), &flaw)).then(|| (of(at), flaw.to_string()))
    }));
    text.all_or(problems).map(|()| tasks)
}

/// Reads each line that is not blank, without comparing lines.
///
/// # Errors
/// Every line that is not a task.
pub fn read(text: &str) -> Result<Vec<TaskLine>, Vec<Problem>> {
    let mut text = Text::read(text);
    let lines = std::mem::take(&mut text.lines);
    text.all_or(Vec::new()).map(|()| lines)
}

/// Updates a graph from the lines; if anything in them is wrong, there is no new graph.
///
/// # Errors
/// All problems, each with its line number.
pub fn sync(tasks: &[Task], lines: &[TaskLine], now: Timestamp) -> Result<Synced, Vec<Problem>> {
    Text { lines: lines.to_vec(), ..Text::default() }.sync(tasks, now)
}

/// A text by lines, with the problems of single lines. The readable parts of faulty lines are
/// checked too, so that all problems are reported at once.
#[derive(Debug, Clone, Default)]
pub struct Text {
    lines: Vec<TaskLine>,
    problems: Vec<(usize, String)>,
    /// Line numbers and names of members that cannot be read.
    unread: HashSet<(usize, String)>,
    /// The ids on lines that are not JSON.
    ids: HashSet<String>,
    /// True if a line that cannot be read has no visible id.
    is_unnamed: bool,
}

impl Text {
    /// Reads each line that is not blank.
    pub fn read(text: &str) -> Text {
        let mut read = Text::default();
        let text = text.trim_start_matches('\u{feff}');
        for (at, line) in text.split('\n').enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            read.line(at + 1, line.trim());
        }
        read
    }

    /// True if all lines are blank.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.problems.is_empty()
    }

    /// Updates a graph from the lines.
    ///
    /// # Errors
    /// All problems, in the order of the lines.
    pub fn sync(&self, tasks: &[Task], now: Timestamp) -> Result<Synced, Vec<Problem>> {
        let flaws = match graph::sync(tasks, &self.lines, now) {
            Ok(synced) => return self.all_or(Vec::new()).map(|()| synced),
            Err(flaws) => flaws,
        };
        let is_of_unread = |number: usize, flaw: &LineFlaw| match flaw {
            LineFlaw::NoId => self.unread.contains(&(number, "id".to_owned())),
            LineFlaw::OnRemoved { on, .. } => self.ids.contains(on),
            LineFlaw::InGraph(flaw) => self.follows(number, flaw),
            LineFlaw::SameId { .. } | LineFlaw::NoStatus { .. } => false,
        };
        let flaws = flaws.into_iter().filter(|(number, flaw)| !is_of_unread(*number, flaw));
        self.all_or(flaws.map(|(number, flaw)| (number, flaw.to_string())).collect())?;
        // All remaining flaws followed from unreadable lines, which are reported as problems
        // already.
        Err(Vec::new())
    }

    /// True for a flaw that only follows from an unreadable part.
    fn follows(&self, number: usize, flaw: &GraphFlaw) -> bool {
        match flaw {
            GraphFlaw::EmptyName { .. } => self.unread.contains(&(number, "name".to_owned())),
            // A line without an id would have been given one.
            GraphFlaw::UnknownDependency { on, .. } => {
                self.ids.contains(on) || (self.is_unnamed && on.starts_with("T-"))
            }
            _ => false,
        }
    }

    /// All problems in the order of the lines, including those found between lines.
    fn all_or(&self, others: Vec<(usize, String)>) -> Result<(), Vec<Problem>> {
        let mut all = [self.problems.clone(), others].concat();
        all.sort_by_key(|(number, _)| *number);
        let all: Vec<Problem> =
            all.into_iter().map(|(number, what)| Problem::new(place(number), what)).collect();
        if all.is_empty() { Ok(()) } else { Err(all) }
    }

    fn line(&mut self, number: usize, line: &str) {
        // Only a faulty line is parsed twice: there may be ten thousand lines.
        let error = match serde_json::from_str::<Task>(line) {
            Ok(task) => return self.lines.push(TaskLine { number, task: tidied(task) }),
            Err(error) => error,
        };
        let members = match serde_json::from_str::<Value>(line) {
            Ok(Value::Object(members)) => members,
            Ok(_) => {
                self.is_unnamed = true;
                return self.problems.push((number, "not an object; write `{…}`".to_owned()));
            }
            Err(error) => {
                match id_in(line) {
                    Some(id) => drop(self.ids.insert(id)),
                    None => self.is_unnamed = true,
                }
                // serde_json sees one line at a time and would report each one as line 1.
                let error = error.to_string().replace(" at line 1 column", " at column");
                let what = format!(
                    "not JSON ({error}); write one task on one line: {{\"id\":\"T-1\",\"name\":\"…\"}}"
                );
                return self.problems.push((number, what));
            }
        };
        let (task, wrong) = readable(members);
        if wrong.is_empty() {
            self.problems.push((number, shape(&error.to_string(), "")));
        }
        for (member, error) in wrong {
            self.problems.push((number, shape(&error, &format!(" in `{member}`"))));
            self.unread.insert((number, member));
        }
        self.lines.push(TaskLine { number, task: tidied(task) });
    }
}

fn shape(error: &str, place: &str) -> String {
    format!("{error}{place}; write the task's members as in a plan")
}

/// The task with every readable member, and the reason for each of the others.
fn readable(members: Map<String, Value>) -> (Task, Vec<(String, String)>) {
    let (mut sound, mut wrong) = (Map::new(), Vec::new());
    for (name, value) in members {
        let alone = Value::Object(Map::from_iter([(name.clone(), value.clone())]));
        match serde_json::from_value::<Task>(alone) {
            Ok(_) => drop(sound.insert(name, value)),
            Err(error) => wrong.push((name, error.to_string())),
        }
    }
    (serde_json::from_value(Value::Object(sound)).unwrap_or_default(), wrong)
}

/// The id in a line that is not JSON.
fn id_in(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("\"id\"")?;
    let rest = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    let (id, _) = rest.split_once('"')?;
    Some(id.trim().to_owned())
}

/// The tasks, one per line.
pub fn render(tasks: &[Task]) -> String {
    tasks.iter().map(|task| format!("{}\n", serde_json::json!(task))).collect()
}

fn place(line: usize) -> String {
    format!("line {line}")
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
    if text.trim().len() < text.len() {
        *text = text.trim().to_owned();
    }
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
    fn lines_that_cannot_be_read_hide_nothing_of_the_others() {
        let text = "{\"id\":\"a\",\"deps\":\"b\",\"name\":3,\"status\":\"soon\"}\n{\"id\":\"b\",\n{\"id\":\"c\",\"name\":\"c\",\
                    \"deps\":[\"a\",\"b\",\"x\"]}\n7\n{\"id\":\"c\",\"name\":\" \"}\n{\"name\":\"d\",\"deps\":[\"c\"]}\n";
        let told =
            |problems: Vec<Problem>| problems.iter().map(Problem::to_string).collect::<Vec<_>>();
        let found = told(Text::read(text).sync(&[], Timestamp::UNIX_EPOCH).unwrap_err());
        let expected = [
            ("line 1: ", "in `deps`"),
            ("line 1: ", "in `name`"),
            ("line 1: ", "`soon` is not a status"),
            ("line 2: ", "not JSON"),
            ("line 3: ", "c depends on x, which does not exist"),
            ("line 4: ", "not an object"),
            ("line 5: ", "c is on line 3 already"),
            ("line 5: ", "c has no name"),
            ("line 6: ", "no id"),
        ];
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for (said, (line, what)) in found.iter().zip(expected) {
            assert!(said.starts_with(line) && said.contains(what), "{said}");
        }
        // An import gives an id to a task that has none.
        let found = problems(text);
        assert_eq!(found.len(), 8, "{found:#?}");
        assert!(!found.iter().any(|one| one.contains("depends on b")), "{found:#?}");
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
