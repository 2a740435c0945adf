//! `progress.md`: the only place with the status of each task.
//!
//! Users and agents edit it by hand, so it is read and changed line by line: prose, order, comments
//! and line endings outside the changed entry are kept.

mod doubled;
mod edit;
mod join;
mod lines;
mod repair;
mod status;

pub use edit::{NotThere, add_section, mark, new, set_row, start};
pub use repair::{Repaired, repair};
pub use status::TaskMark;

use lines::LineKind;
use std::collections::{HashMap, HashSet};

/// A parsed progress document.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Progress {
    /// True if the document has the header `# Progress`.
    pub has_header: bool,
    /// The statuses that the legend names; `None` without a legend.
    pub legend: Option<Vec<TaskMark>>,
    /// The sections of planning and of implementation, in order.
    pub sections: Vec<Section>,
    /// The table of iterations; `None` if it is missing.
    pub iterations: Option<Vec<IterationRow>>,
    /// The lines that could not be read.
    pub damage: Vec<Damage>,
}

/// The subject of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProgressSection {
    /// `## Planning Progress (Iteration N)`.
    Planning,
    /// `## Implementation Progress (Iteration N)`.
    Implementation,
}

impl ProgressSection {
    /// The words of the section's heading.
    pub fn heading(self) -> &'static str {
        match self {
            ProgressSection::Planning => "Planning Progress",
            ProgressSection::Implementation => "Implementation Progress",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    pub part: ProgressSection,
    pub iteration: u32,
    /// The line of the heading, counted from 1.
    pub line: usize,
    pub entries: Vec<TaskEntry>,
}

/// `- [/] task-1 (Attempt 1, Iteration 1, started: 2026-01-31T12:00:00Z)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskEntry {
    pub id: String,
    pub status: TaskMark,
    /// The text after the id.
    pub note: String,
    /// The line, counted from 1.
    pub line: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IterationRow {
    pub iteration: u32,
    pub status: String,
    /// How many tasks are done: `X/Y`.
    pub tasks: String,
    /// The feedback that the iteration answers, or `N/A`.
    pub feedbacks: String,
    /// The line, counted from 1.
    pub line: usize,
}

/// A line that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong, and what to write instead.
    pub what: String,
    /// False in the legend and in the table of iterations, on which nothing depends.
    pub matters: bool,
}

impl Progress {
    /// Reads a document. Reading never fails; problems are in [`Progress::damage`].
    pub fn parse(text: &str) -> Progress {
        let mut progress = Progress::default();
        let lines = lines::read(text);
        progress.damage.extend(doubled::elsewhere(&lines));
        for (number, kind) in lines {
            progress.take(number, kind);
        }
        progress.damage.extend(doubled::in_sections(&progress.sections));
        progress.damage.sort_by_key(|damage| damage.line);
        progress
    }

    fn take(&mut self, line: usize, kind: LineKind) {
        match kind {
            LineKind::Header => self.has_header = true,
            LineKind::LegendHeading => {
                self.legend.get_or_insert_default();
            }
            LineKind::Legend(status) => self.legend.get_or_insert_default().push(status),
            LineKind::IterationsHeading => {
                self.iterations.get_or_insert_default();
            }
            LineKind::SectionHeading { part, iteration } => {
                self.sections.push(Section { part, iteration, line, entries: Vec::new() });
            }
            LineKind::Entry { id, status, note } => {
                if let Some(section) = self.sections.last_mut() {
                    section.entries.push(TaskEntry { id, status, note, line });
                }
            }
            LineKind::Row { iteration, status, tasks, feedbacks } => self
                .iterations
                .get_or_insert_default()
                .push(IterationRow { iteration, status, tasks, feedbacks, line }),
            LineKind::Damaged(what) => self.damage.push(Damage { line, what, matters: true }),
            LineKind::DamagedRow(what) => self.damage.push(Damage { line, what, matters: false }),
            LineKind::TableHead | LineKind::Other => {}
        }
    }

    /// The section of an iteration; the first one if there are several.
    pub fn section(&self, part: ProgressSection, iteration: u32) -> Option<&Section> {
        self.sections.iter().find(|section| section.part == part && section.iteration == iteration)
    }

    pub fn planning(&self, iteration: u32) -> impl Iterator<Item = &TaskEntry> {
        self.sections
            .iter()
            .filter(move |section| {
                section.part == ProgressSection::Planning && section.iteration == iteration
            })
            .flat_map(|section| &section.entries)
    }

    /// The entries of all tasks, each task once, in the order of the document.
    ///
    /// If a task is in the sections of several iterations, the latest entry counts. An entry marked
    /// as done overrides later ones: a finished task stays done.
    pub fn tasks(&self) -> Vec<&TaskEntry> {
        let mut tasks: Vec<(u32, &TaskEntry)> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for section in
            self.sections.iter().filter(|section| section.part == ProgressSection::Implementation)
        {
            for entry in &section.entries {
                let Some(place) = places.get(entry.id.as_str()) else {
                    places.insert(&entry.id, tasks.len());
                    tasks.push((section.iteration, entry));
                    continue;
                };
                let (iteration, other) = &mut tasks[*place];
                let is_later = section.iteration > *iteration || entry.status == TaskMark::Done;
                if other.status != TaskMark::Done && is_later {
                    (*iteration, *other) = (section.iteration, entry);
                }
            }
        }
        tasks.into_iter().map(|(_, entry)| entry).collect()
    }

    /// The entry of a task that counts.
    pub fn task(&self, id: &str) -> Option<&TaskEntry> {
        self.tasks().into_iter().find(|entry| entry.id == id)
    }

    /// The latest iteration that has a section; 0 if there is none.
    pub fn latest_iteration(&self) -> u32 {
        self.sections.iter().map(|section| section.iteration).max().unwrap_or_default()
    }
}

impl TaskEntry {
    /// The value of this name in the note: `started: …`.
    pub fn said(&self, name: &str) -> Option<&str> {
        let inner = self.note.split(['(', ')', ',', ';']).map(str::trim);
        inner.filter_map(|part| part.split_once(':')).find_map(|(key, value)| {
            key.trim()
                .eq_ignore_ascii_case(name)
                .then(|| value.trim())
                .filter(|text| !text.is_empty())
        })
    }

    /// The number after this word in the note: `(Attempt 2, Iteration 1)`.
    pub fn number(&self, word: &str) -> Option<u32> {
        let inner = self.note.split(['(', ')', ',', ';']).map(str::trim);
        inner.filter_map(|part| part.strip_prefix(word)?.trim().parse().ok()).next()
    }

    /// The question cycle, if the note names it: `(CYCLE=2)`, `(Cycle 2)`.
    pub fn cycle(&self) -> Option<u32> {
        let lower = self.note.to_ascii_lowercase();
        let (_, rest) = lower.split_once("cycle")?;
        let digits = rest.trim_start_matches([' ', '=', ':']);
        let end = digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len());
        digits[..end].parse().ok().filter(|cycle| *cycle > 0)
    }
}

/// The question cycle of an entry: the one that it names, or else the next one that no entry of the
/// same id names.
pub fn cycle(entries: &[&TaskEntry], at: usize) -> u32 {
    let of_kind = || entries.iter().filter(|other| other.id == entries[at].id);
    let named: HashSet<u32> = of_kind().filter_map(|other| other.cycle()).collect();
    let unnamed = entries[..at].iter().filter(|other| other.id == entries[at].id);
    let before = unnamed.filter(|other| other.cycle().is_none()).count();
    let by_place = || (1..u32::MAX).filter(|cycle| !named.contains(cycle)).nth(before);
    entries[at].cycle().or_else(by_place).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
