//! The file of a task: front matter, and sections under fixed headings.
//!
//! The router needs the id and the dependencies. Both the front matter and the body may contain
//! `depends_on`. A task with unreadable dependencies is not executed, because it might run too
//! early.

use super::files::{OrchestrationFile, is_task_id};
use super::finding::OrchestrationFinding;
use super::yaml::{self, Yaml};

/// A task as its file defines it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskFile {
    /// The id, which is the file's name.
    pub id: String,
    pub title: String,
    /// The iteration that it was last written for.
    pub iteration: Option<u32>,
    /// False for a task that needs a wave of its own.
    pub parallel: bool,
    pub depends_on: Vec<String>,
    /// False if the dependencies cannot be read.
    pub is_sound: bool,
}

const SECTIONS: [&str; 3] = ["Title", "Objective", "Success Criteria"];

impl TaskFile {
    /// Reads a file, and reports what is wrong with it.
    pub fn parse(id: &str, text: &str) -> (TaskFile, Vec<OrchestrationFinding>) {
        let place = OrchestrationFile::Task(id);
        let mut found = Vec::new();
        let mut task =
            TaskFile { id: id.to_owned(), parallel: true, is_sound: true, ..TaskFile::default() };
        let mut lines: Option<(Vec<String>, usize)> = None;
        match Yaml::in_front(text) {
            None => found.push(place.notice(1, "no front matter; begin the file with `---`")),
            Some(Err(flaw)) => {
                task.is_sound = false;
                found.push(place.blocks(flaw.line, flaw.what));
            }
            Some(Ok(yaml)) => {
                let line = |name: &str| yaml.line(&[name]).unwrap_or_default();
                task.iteration = yaml.number(&["iteration"]);
                task.parallel = yaml.text(&["type"]) != Some("Sequential");
                match yaml.text(&["id"]) {
                    Some(said) if said == id => {}
                    Some(said) => found.push(place.notice(
                        line("id"),
                        format!("`id: {said}` differs from the file's name and is ignored"),
                    )),
                    None => found.push(place.notice(1, format!("write `id: {id}`"))),
                }
                lines = yaml.list(&["depends_on"]).map(|ids| (ids, line("depends_on")));
                if lines.is_none() && yaml.value(&["depends_on"]).is_some() {
                    task.is_sound = false;
                    found.push(unreadable(place, line("depends_on")));
                }
            }
        }
        let body = body(text);
        for wanted in SECTIONS {
            if !body.iter().any(|line| line.heading == Some(wanted)) {
                found.push(place.notice(0, format!("the section `## {wanted}` is missing")));
            }
        }
        task.title = title(&body);
        if lines.is_none() {
            match depends_on(&body) {
                Some((Ok(ids), line)) => lines = Some((ids, line)),
                Some((Err(()), line)) => {
                    task.is_sound = false;
                    found.push(unreadable(place, line));
                }
                None => {}
            }
        }
        let (ids, line) = lines.unwrap_or_default();
        for bad in ids.iter().filter(|id| !is_task_id(id)) {
            task.is_sound = false;
            let what = format!("`{bad}` is not a task id; write `depends_on: [task-1]`");
            found.push(place.blocks(line, what));
        }
        task.depends_on = ids;
        (task, found)
    }
}

fn unreadable(place: OrchestrationFile<'_>, line: usize) -> OrchestrationFinding {
    place.blocks(line, "`depends_on` cannot be read; write `depends_on: [task-1, task-2]`")
}

struct TaskFileLine<'a> {
    number: usize,
    text: &'a str,
    /// The words of a second-level heading.
    heading: Option<&'a str>,
}

/// The lines after the front matter, without fenced blocks.
fn body(text: &str) -> Vec<TaskFileLine<'_>> {
    let mut fenced = false;
    let outside = yaml::body(text).filter(|(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        !is_fence && !fenced
    });
    outside
        .map(|(number, text)| {
            let heading = text.strip_prefix("## ").map(str::trim);
            TaskFileLine { number, text, heading }
        })
        .collect()
}

/// The first line under `## Title`.
fn title(body: &[TaskFileLine<'_>]) -> String {
    let behind = body.iter().skip_while(|line| line.heading != Some("Title")).skip(1);
    let mut within = behind.take_while(|line| line.heading.is_none());
    let line = within.find(|line| !line.text.trim().is_empty());
    line.map(|line| line.text.trim().to_owned()).unwrap_or_default()
}

/// `depends_on: [task-1]  # why`, or `depends_on:` with a list below it.
fn depends_on(body: &[TaskFileLine<'_>]) -> Option<(Result<Vec<String>, ()>, usize)> {
    let plain = |line: &TaskFileLine<'_>| {
        let text = line.text.trim_start().trim_start_matches(['-', '*']).trim_start();
        text.trim_start_matches(['`', '*']).starts_with("depends_on")
    };
    let at = body.iter().position(plain)?;
    let number = body[at].number;
    let first = body[at].text.replace(['`', '*'], "");
    let first = first.trim_start().trim_start_matches("- ").trim_start().to_owned();
    let items = body[at + 1..].iter().map(|line| line.text);
    let items = items.take_while(|text| text.trim_start().starts_with("- "));
    let has_inline = first
        .split_once(':')
        .is_some_and(|(_, value)| !value.split(" #").next().unwrap_or_default().trim().is_empty());
    let yaml = match has_inline {
        true => first,
        false => [first.as_str()].into_iter().chain(items).collect::<Vec<_>>().join("\n"),
    };
    let ids = Yaml::parse(&yaml).ok().and_then(|yaml| yaml.list(&["depends_on"])).ok_or(());
    Some((ids, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "---
id: task-2
iteration: 1
type: Sequential  # Sequential | Parallelizable
created_at: 2026-01-31T10:00:00Z
---

# Task: task-2

## Title
Make the door

## Objective
A door.

```
depends_on: [task-9]
```

## Success Criteria
- [ ] It opens

## Dependencies
depends_on: [task-0, task-1]  # List of task IDs
inherited_by: []
";

    #[test]
    fn a_task_is_read_with_what_it_depends_on() {
        let (task, found) = TaskFile::parse("task-2", TEXT);
        assert_eq!(found, []);
        let expected = TaskFile {
            id: "task-2".to_owned(),
            title: "Make the door".to_owned(),
            iteration: Some(1),
            parallel: false,
            depends_on: vec!["task-0".to_owned(), "task-1".to_owned()],
            is_sound: true,
        };
        assert_eq!(task, expected);
    }

    #[track_caller]
    fn check(line: &str, expected: Option<&[&str]>) {
        let text = TEXT.replace("depends_on: [task-0, task-1]  # List of task IDs", line);
        let (task, found) = TaskFile::parse("task-2", &text);
        match expected {
            Some(ids) => assert_eq!(
                (task.depends_on, task.is_sound, found),
                (ids.iter().map(|id| (*id).to_owned()).collect(), true, vec![])
            ),
            None => {
                assert!(!task.is_sound);
                assert_eq!(found[0].line, 24, "{found:?}");
            }
        }
    }

    #[test]
    fn dependencies_are_read_in_each_way_that_they_are_written() {
        check("depends_on: []", Some(&[]));
        check("depends_on: null", Some(&[]));
        check("depends_on:", Some(&[]));
        check("", Some(&[]));
        check("- depends_on: task-1", Some(&["task-1"]));
        check("- **depends_on**: `task-1`, `task-2`", Some(&["task-1", "task-2"]));
        check("depends_on:\n- task-1\n- task-3", Some(&["task-1", "task-3"]));
        check("depends_on:\n  - task-1", Some(&["task-1"]));
        check("depends_on: [task-1", None);
        check("depends_on: [../plan]", None);
        check("depends_on: {a: b}", None);
        check("depends_on: the first task", None);
    }

    #[test]
    fn the_front_matter_counts_before_the_body() {
        let text = TEXT.replace("iteration: 1\n", "iteration: 1\ndepends_on:\n  - task-7\n");
        assert_eq!(TaskFile::parse("task-2", &text).0.depends_on, ["task-7"]);
        let text = TEXT.replace("iteration: 1\n", "depends_on: {a: b}\n");
        let (task, found) = TaskFile::parse("task-2", &text);
        assert!(!task.is_sound && found[0].line == 3, "{found:?}");
    }

    #[test]
    fn what_is_missing_is_told() {
        let (task, found) = TaskFile::parse("task-2", "# Task\n## Title\n");
        assert!(task.is_sound && task.depends_on.is_empty());
        let told: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "tasks/task-2.md:1: no front matter; begin the file with `---`",
                "tasks/task-2.md: the section `## Objective` is missing",
                "tasks/task-2.md: the section `## Success Criteria` is missing",
            ]
        );
        let (_, found) = TaskFile::parse("task-3", TEXT);
        assert!(found[0].what.contains("differs from the file's name") && found[0].line == 2);
        let (task, found) = TaskFile::parse("task-2", &TEXT.replace("id: task-2", "id: ["));
        assert!(!task.is_sound && found[0].line >= 2, "{found:?}");
    }
}
