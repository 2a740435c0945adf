//! Changes to a progress document: one line, or one section, and nothing else.

use super::lines::{self, LineKind};
use super::{IterationRow, Progress, ProgressSection, TaskEntry, TaskMark};
use std::fmt::Write;

/// The entry to change is not on its line any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotThere {
    pub id: String,
}

/// A new document, with the planning tasks of the first iteration.
pub fn new(planning: &[&str]) -> String {
    let mut text = "# Progress\n\n## Legend\n".to_owned();
    for status in TaskMark::ALL {
        let _ = writeln!(text, "- `{status}` {}", status.words());
    }
    let text = add_section(&text, ProgressSection::Planning, 1, planning);
    let text = add_section(&text, ProgressSection::Implementation, 1, &[]);
    set_row(&text, &row(1, "Planning", "0/0", "N/A"))
}

pub(super) fn row(iteration: u32, status: &str, tasks: &str, feedbacks: &str) -> IterationRow {
    IterationRow {
        iteration,
        status: status.to_owned(),
        tasks: tasks.to_owned(),
        feedbacks: feedbacks.to_owned(),
        line: 0,
    }
}

/// Sets the mark of the entry on a line and, if a note is given, the text after its id.
///
/// # Errors
/// The line no longer contains the entry.
pub fn mark(
    text: &str,
    entry: &TaskEntry,
    status: TaskMark,
    note: Option<&str>,
) -> Result<String, NotThere> {
    let not_there = || NotThere { id: entry.id.clone() };
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    let line = entry.line.checked_sub(1).and_then(|at| lines.get_mut(at)).ok_or_else(not_there)?;
    let open = line.find('[').ok_or_else(not_there)?;
    let holds = line.get(open..open + 3) == Some(entry.status.mark());
    let id_at = line.get(open + 3..).and_then(|rest| rest.find(&entry.id)).ok_or_else(not_there)?;
    if !holds {
        return Err(not_there());
    }
    if let Some(note) = note {
        let id_end = open + 3 + id_at + entry.id.len();
        // Keep the marks that close the id, and the line ending.
        let closing = line[id_end..].chars().take_while(|letter| matches!(letter, '`' | '*' | '_'));
        let id_end = id_end + closing.map(char::len_utf8).sum::<usize>();
        let ending = if line.ends_with('\r') { "\r" } else { "" };
        line.truncate(id_end);
        if !note.is_empty() {
            let _ = write!(line, " ({note})");
        }
        line.push_str(ending);
    }
    line.replace_range(open..open + 3, status.mark());
    Ok(lines.join("\n"))
}

/// Adds entries at the end of a section. Creates the section if it is missing.
pub fn add_section(text: &str, part: ProgressSection, iteration: u32, ids: &[&str]) -> String {
    let progress = Progress::parse(text);
    let entries: String = ids.iter().map(|id| format!("- {} {id}\n", TaskMark::Open)).collect();
    let heading = format!("## {} (Iteration {iteration})\n", part.heading());
    match progress.section(part, iteration) {
        Some(section) => {
            let after = section.entries.last().map_or(section.line, |entry| entry.line);
            insert(text, after, &entries)
        }
        None => {
            // The table of iterations stays last.
            let before = iterations_line(text).map(|line| line - 1);
            let block = format!("{heading}{entries}");
            match before {
                Some(after) => insert(text, after, &format!("{block}\n")),
                None => append(text, &block),
            }
        }
    }
}

/// Begins an iteration: its planning tasks, a section for its tasks, and its row.
pub fn start(text: &str, iteration: u32, planning: &[&str], feedbacks: &str) -> String {
    let text = add_section(text, ProgressSection::Planning, iteration, planning);
    let text = add_section(&text, ProgressSection::Implementation, iteration, &[]);
    set_row(&text, &row(iteration, "Replanning", "0/0", feedbacks))
}

/// Sets the row of an iteration. Adds the table at the end if it is missing.
pub fn set_row(text: &str, row: &IterationRow) -> String {
    let IterationRow { iteration, status, tasks, feedbacks, .. } = row;
    let written = format!("| {iteration} | {status} | {tasks} | {feedbacks} |\n");
    let progress = Progress::parse(text);
    let rows = progress.iterations.as_deref().unwrap_or_default();
    if let Some(old) = rows.iter().find(|old| old.iteration == *iteration) {
        let mut lines: Vec<&str> = text.split('\n').collect();
        let ending = if lines[old.line - 1].ends_with('\r') { "\r" } else { "" };
        let line = format!("{}{ending}", written.trim_end());
        lines[old.line - 1] = &line;
        return lines.join("\n");
    }
    let head =
        "| Iteration | Status | Tasks | Feedbacks |\n|-----------|--------|-------|-----------|\n";
    match (iterations_line(text), rows.iter().rfind(|old| old.iteration < *iteration)) {
        (Some(_), Some(last)) => insert(text, last.line, &written),
        (Some(heading), None) => match last_of_table(text, heading) {
            Some(line) => insert(text, line, &written),
            None => insert(text, heading, &format!("{head}{written}")),
        },
        (None, _) => append(text, &format!("## Iterations\n{head}{written}")),
    }
}

fn iterations_line(text: &str) -> Option<usize> {
    let mut read = lines::read(text).into_iter();
    read.find_map(|(number, kind)| (kind == LineKind::IterationsHeading).then_some(number))
}

/// The last line of the table below this heading. A row in an example does not count.
fn last_of_table(text: &str, heading: usize) -> Option<usize> {
    let end = lines::section_end(text, heading);
    let is_of_table = |kind: &LineKind| {
        matches!(kind, LineKind::TableHead | LineKind::Row { .. } | LineKind::DamagedRow(_))
    };
    let table = lines::read(text).into_iter().filter(|(_, kind)| is_of_table(kind));
    table.map(|(number, _)| number).rfind(|number| (heading..end).contains(number))
}

/// Inserts a block after a line, with the document's own line endings.
fn insert(text: &str, after: usize, block: &str) -> String {
    if block.is_empty() {
        return text.to_owned();
    }
    let mut end = 0;
    for line in text.split_inclusive('\n').take(after) {
        end += line.len();
    }
    let (before, behind) = text.split_at(end);
    let gap = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    let block = match text.contains("\r\n") {
        true => block.replace('\n', "\r\n"),
        false => block.to_owned(),
    };
    format!("{before}{gap}{block}{behind}")
}

fn append(text: &str, block: &str) -> String {
    let gap = match text {
        "" => "",
        text if text.ends_with("\n\n") || text.ends_with("\n\r\n") => "",
        _ => "\n",
    };
    let lines = text.split_inclusive('\n').count();
    let text =
        if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
    let ends = lines::left_open(&text);
    let gap = if ends.is_empty() { gap } else { "\n" };
    insert(&text, lines, &format!("{ends}{gap}{block}"))
}
