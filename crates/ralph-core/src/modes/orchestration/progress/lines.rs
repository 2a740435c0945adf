//! Classifies each line of a progress document.

use super::super::files::is_task_id;
use super::{IterationRow, ProgressSection, TaskEntry, TaskMark};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LineKind {
    Header,
    LegendHeading,
    Legend(TaskMark),
    SectionHeading {
        part: ProgressSection,
        iteration: u32,
    },
    Entry(TaskEntry),
    /// The names of the columns, or the rule below them.
    TableHead,
    Row(IterationRow),
    Damaged(String),
    DamagedRow(String),
    Other,
}

/// The part of the document being read.
#[derive(Clone, Copy, PartialEq)]
enum Within {
    Elsewhere,
    Legend,
    Section,
    Iterations,
}

/// Every line with its number, counted from 1.
pub(super) fn read(text: &str) -> Vec<(usize, LineKind)> {
    let mut within = Within::Elsewhere;
    let mut hidden = Hidden::default();
    let text = text.trim_start_matches('\u{feff}');
    text.split('\n')
        .enumerate()
        .map(|(at, line)| {
            let line = line.trim_end();
            let kind = match hidden.hides(line) {
                true => LineKind::Other,
                false => kind(line, &mut within),
            };
            (at + 1, kind)
        })
        .collect()
}

/// A deeper heading divides a section but does not end it.
fn ends(depth: usize) -> bool {
    depth <= 2
}

/// Skips fenced blocks and comments: they contain examples of entries, not entries.
#[derive(Default)]
struct Hidden {
    fence: Option<(char, usize)>,
    comment: bool,
}

impl Hidden {
    /// True if the line's content is not part of the document.
    fn hides(&mut self, line: &str) -> bool {
        let start = line.trim_start();
        if self.comment {
            self.comment = !line.contains("-->");
            return true;
        }
        let fence = fence(start);
        match (self.fence, fence) {
            (None, Some(opens)) => {
                self.fence = Some(opens);
                true
            }
            (Some((letter, length)), found) => {
                let closes = found.is_some_and(|(other, count)| {
                    other == letter && count >= length && start.trim_matches(letter).is_empty()
                });
                if closes {
                    self.fence = None;
                }
                true
            }
            (None, None) if start.starts_with("<!--") => {
                self.comment = !line.contains("-->");
                true
            }
            (None, None) => false,
        }
    }
}

fn fence(start: &str) -> Option<(char, usize)> {
    let letter = start.chars().next().filter(|letter| matches!(letter, '`' | '~'))?;
    let count = start.chars().take_while(|other| *other == letter).count();
    (count >= 3).then_some((letter, count))
}

fn kind(line: &str, within: &mut Within) -> LineKind {
    if let Some(heading) = heading(line) {
        let kind = heading_kind(heading);
        if ends(heading.0) {
            *within = match &kind {
                LineKind::LegendHeading => Within::Legend,
                LineKind::SectionHeading { .. } => Within::Section,
                _ if heading == (2, "Iterations") => Within::Iterations,
                _ => Within::Elsewhere,
            };
        }
        return kind;
    }
    match within {
        Within::Elsewhere => LineKind::Other,
        Within::Legend => legend(line).map_or(LineKind::Other, LineKind::Legend),
        Within::Section => entry(line),
        Within::Iterations => row(line),
    }
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let depth = line.bytes().take_while(|byte| *byte == b'#').count();
    let rest = line.get(depth..)?.strip_prefix(' ')?;
    (1..=6).contains(&depth).then(|| (depth, rest.trim()))
}

fn heading_kind((depth, words): (usize, &str)) -> LineKind {
    match (depth, words) {
        (1, "Progress") => LineKind::Header,
        (2, "Legend") => LineKind::LegendHeading,
        (2, words) => [ProgressSection::Planning, ProgressSection::Implementation]
            .into_iter()
            .find_map(|part| Some((part, words.strip_prefix(part.heading())?)))
            .map_or(LineKind::Other, |(part, rest)| match iteration(rest.trim()) {
                Some(iteration) => LineKind::SectionHeading { part, iteration },
                None => LineKind::Damaged(format!(
                    "the heading names no iteration; write `## {} (Iteration 1)`",
                    part.heading()
                )),
            }),
        _ => LineKind::Other,
    }
}

fn iteration(text: &str) -> Option<u32> {
    let number = text.strip_prefix("(Iteration ")?.strip_suffix(')')?;
    number.trim().parse().ok().filter(|number| *number > 0)
}

/// ``- `[ ]` Not started``.
fn legend(line: &str) -> Option<TaskMark> {
    let open = line.find('[')?;
    TaskMark::from_mark(line.get(open..open + 3)?)
}

/// A list item that begins with a mark is an entry or damaged; everything else is prose. An entry may
/// lack its bullet.
fn entry(line: &str) -> LineKind {
    let start = line.trim_start();
    let bullet = start.strip_prefix(['-', '*', '+']);
    let rest = bullet.unwrap_or(start).trim_start();
    let Some(inner) = rest.strip_prefix('[') else { return LineKind::Other };
    let Some((mark, rest)) = inner.split_once(']') else {
        return match bullet {
            Some(_) => LineKind::Damaged("the mark has no `]`; write `- [ ] task-1`".to_owned()),
            None => LineKind::Other,
        };
    };
    // `[text](link)` and `[To be filled]` are prose.
    let is_short = mark.trim().chars().count() <= 1;
    if !is_short && (bullet.is_none() || rest.starts_with(['(', '['])) {
        return LineKind::Other;
    }
    let (id, note) = id_and_note(rest.trim_start());
    match (TaskMark::nearly(mark), is_task_id(id)) {
        (Some(status), true) => {
            LineKind::Entry(TaskEntry { id: id.to_owned(), status, note: note.to_owned() })
        }
        _ if bullet.is_none() => LineKind::Other,
        (Some(_), false) if id.is_empty() => {
            LineKind::Damaged("the line names no task; write its id after the mark".to_owned())
        }
        (Some(_), false) => LineKind::Damaged(format!(
            "`{id}` is not a task id; use letters, digits, `-`, `_` and `.`"
        )),
        (None, _) => LineKind::Damaged(format!(
            "`[{mark}]` is not a status; write one of `[ ]`, `[/]`, `[P]`, `[x]`, `[F]`, `[C]`"
        )),
    }
}

/// The id without emphasis around it, and the text after it.
fn id_and_note(text: &str) -> (&str, &str) {
    let end = text.find([' ', '\t', '(', ':', ',', '—']).unwrap_or(text.len());
    let (word, note) = text.split_at(end);
    (word.trim_matches(['`', '*', '_']), note.trim())
}

/// `| 1 | Complete | 3/3 | N/A |`.
fn row(line: &str) -> LineKind {
    let Some(inner) = line.trim_start().strip_prefix('|') else { return LineKind::Other };
    let cells: Vec<&str> =
        inner.strip_suffix('|').unwrap_or(inner).split('|').map(str::trim).collect();
    let is_rule = cells.iter().all(|cell| {
        !cell.is_empty() && cell.bytes().all(|byte| matches!(byte, b'-' | b':' | b' '))
    });
    if is_rule || cells.first() == Some(&"Iteration") {
        return LineKind::TableHead;
    }
    let number = |text: &str| text.parse().ok().filter(|number: &u32| *number > 0);
    match (cells.as_slice(), cells.first().and_then(|cell| number(cell))) {
        ([_, status, tasks, feedbacks], Some(iteration)) => LineKind::Row(IterationRow {
            iteration,
            status: (*status).to_owned(),
            tasks: (*tasks).to_owned(),
            feedbacks: (*feedbacks).to_owned(),
        }),
        _ => LineKind::DamagedRow(
            "not a row of the table; write `| 1 | Planning | 0/0 | N/A |`".to_owned(),
        ),
    }
}
