//! The checks that a plan must pass before a critic reads it.
//!
//! A critic should judge the plan, not look for missing files. Code therefore checks everything
//! that it can see first, and reports all failures at once, with their lines.

mod cited;
mod sections;
mod vague;

use crate::state::{Criterion, Task};
use crate::tasks::plan::{self, JsonBlock};
use cited::Cited;
use std::fmt;

/// A gate that a plan fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// The line, counted from 1; `None` for the plan as a whole.
    pub line: Option<usize>,
    /// What is wrong, and what to do.
    pub what: String,
}

impl Failed {
    fn at(line: usize, what: impl Into<String>) -> Failed {
        Failed { line: Some(line), what: what.into() }
    }

    fn whole(what: impl Into<String>) -> Failed {
        Failed { line: None, what: what.into() }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(to, "line {line}: {}", self.what),
            None => to.write_str(&self.what),
        }
    }
}

/// The most gates reported in one answer: more than anyone fixes at once.
const NAMED: usize = 30;

/// How to write the machine-readable part.
pub const HOW: &str = "write it at the end of the plan as a block that begins with ```json ralph-plan and ends \
with ```: {\"acceptance_criteria\":[{\"id\":\"AC-1\",\"description\":\"the 12 login tests pass\",\
\"verification_command\":\"npm test -- login\"}],\"task_graph\":[{\"id\":\"T-1\",\"name\":\"add the form\",\
\"deps\":[],\"files\":[\"src/login.ts\"],\"completion_condition\":\"the form posts to /login\"}]}";

/// Returns everything that is wrong with a plan, in the order of its lines. `exists` is called with
/// paths as the plan writes them, relative to the top of the project.
pub fn check(text: &str, exists: impl Fn(&str) -> bool) -> Vec<Failed> {
    if text.trim().is_empty() {
        return vec![Failed::whole(
            "The plan is empty; write the work, the steps and how to verify them.",
        )];
    }
    let cited = cited::cited(text, &exists);
    let mut failed: Vec<Failed> = missing_files(&cited, &exists);
    failed.extend(
        vague::lines(text).into_iter().map(|(line, word)| Failed::at(line, unclear(&word))),
    );
    failed.extend(sections::missing(text));
    failed.sort_by_key(|one| one.line);
    failed.extend(machine_readable(text, &cited, &exists));
    let more = failed.len().saturating_sub(NAMED);
    if more > 0 {
        failed.truncate(NAMED);
        failed.push(Failed::whole(format!("{more} more of this kind.")));
    }
    failed
}

fn missing_files(cited: &[Cited], exists: impl Fn(&str) -> bool) -> Vec<Failed> {
    let mut failed: Vec<Failed> = Vec::new();
    for one in cited {
        if cited::is_new(cited, &one.path) || exists(&one.path) {
            continue;
        }
        let path = &one.path;
        let what = format!(
            "`{path}` does not exist; name an existing file, or write `{path}` (new) if a step \
             creates it"
        );
        if !failed.iter().any(|known| known.what == what) {
            failed.push(Failed::at(one.line, what));
        }
    }
    failed
}

fn unclear(word: &str) -> String {
    format!("`{word}` cannot be checked; give a number, or the command that shows it")
}

/// Returns what is wrong with the part that becomes criteria and tasks.
fn machine_readable(text: &str, cited: &[Cited], exists: impl Fn(&str) -> bool) -> Vec<Failed> {
    let Some(JsonBlock { line, .. }) = plan::block(text) else {
        let what = "The plan has no machine-readable part with criteria and tasks";
        return vec![Failed::whole(format!("{what}; {HOW}."))];
    };
    let read = match plan::parse(text) {
        Ok(read) => read,
        Err(problems) => {
            return problems.iter().map(|one| Failed::at(line, one.to_string())).collect();
        }
    };
    let mut failed = Vec::new();
    let mut say = |what: String| failed.push(Failed::at(line, what));
    if read.criteria.is_empty() {
        say(format!("there are no `acceptance_criteria`; {HOW}"));
    }
    if read.tasks.is_empty() {
        say(format!("there is no `task_graph`; {HOW}"));
    }
    for Criterion { id, description, .. } in &read.criteria {
        if let Some(word) = vague::word(description) {
            say(format!("{id}: {}", unclear(&word)));
        }
    }
    for Task { id, name, completion_condition, files, .. } in &read.tasks {
        if completion_condition.trim().is_empty() {
            say(format!("{id} has no `completion_condition`; write how to tell that it is done"));
        }
        for word in [name, completion_condition].into_iter().filter_map(|text| vague::word(text)) {
            say(format!("{id}: {}", unclear(&word)));
        }
        for file in files.iter().filter(|file| !file.contains(['*', '?', '{'])) {
            let file = cited::without_place(file);
            if !cited::is_new(cited, file) && !exists(file) {
                say(format!(
                    "{id} changes `{file}`, which does not exist; if a step creates it, write \
                     `{file}` (new) in the text of the plan"
                ));
            }
        }
    }
    failed
}

/// The numbered lines of a text outside fenced blocks and quotations.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fence: Option<(char, usize)> = None;
    text.lines().enumerate().filter_map(move |(at, line)| {
        let start = line.trim_start();
        let mark = start.chars().next().filter(|mark| matches!(mark, '`' | '~'));
        let length = mark.map_or(0, |mark| start.chars().take_while(|one| *one == mark).count());
        match (fence, mark.filter(|_| length >= 3)) {
            (None, Some(mark)) => fence = Some((mark, length)),
            (Some((open, least)), Some(mark))
                if open == mark && length >= least && start.trim_end().len() == length =>
            {
                fence = None;
            }
            (None, None) if !start.starts_with('>') => return Some((at + 1, line)),
            _ => {}
        }
        None
    })
}

/// The parts of a line between backticks, each with the text after it, and the line without them.
fn spans(line: &str) -> (Vec<(&str, &str)>, String) {
    let (mut quoted, mut plain, mut rest) = (Vec::new(), String::new(), line);
    while let Some((before, after)) = rest.split_once('`') {
        plain.push_str(before);
        let Some((inside, behind)) = after.split_once('`') else {
            rest = after;
            break;
        };
        quoted.push((inside.trim(), behind));
        plain.push(' ');
        rest = behind;
    }
    plain.push_str(rest);
    (quoted, plain)
}

#[cfg(test)]
mod tests;
