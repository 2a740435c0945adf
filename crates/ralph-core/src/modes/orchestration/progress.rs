//! `progress.md`: the one place where it stands how far each task is.
//!
//! People and agents write it by hand. So it is read line by line, and changed line by line: what is
//! not the entry in question keeps its prose, its order, its comments and its line endings.

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

/// A progress document as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Progress {
    /// True if it has the header `# Progress`.
    pub has_header: bool,
    /// The statuses that the legend names; none if there is no legend.
    pub legend: Option<Vec<TaskMark>>,
    /// The sections of planning and of implementation, in their order.
    pub sections: Vec<Section>,
    /// The table of iterations; none if there is none.
    pub iterations: Option<Vec<IterationRow>>,
    /// What could not be read, each with its line.
    pub damage: Vec<Damage>,
}

/// What a section is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProgressSection {
    /// `## Planning Progress (Iteration N)`.
    Planning,
    /// `## Implementation Progress (Iteration N)`.
    Implementation,
}

impl ProgressSection {
    /// The words of its heading.
    pub fn heading(self) -> &'static str {
        match self {
            ProgressSection::Planning => "Planning Progress",
            ProgressSection::Implementation => "Implementation Progress",
        }
    }
}

/// A section with its entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// What it is about.
    pub part: ProgressSection,
    /// In which iteration.
    pub iteration: u32,
    /// The number of its heading's line, counted from 1.
    pub line: usize,
    /// Its entries, in their order.
    pub entries: Vec<TaskEntry>,
}

/// `- [/] task-1 (Attempt 1, Iteration 1, started: 2026-01-31T12:00:00Z)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskEntry {
    /// What it is about.
    pub id: String,
    /// How far it is.
    pub status: TaskMark,
    /// What stands behind the id.
    pub note: String,
    /// The number of its line, counted from 1.
    pub line: usize,
}

/// A row of the table of iterations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IterationRow {
    /// Which iteration.
    pub iteration: u32,
    /// How it stands.
    pub status: String,
    /// How many tasks are done: `X/Y`.
    pub tasks: String,
    /// The feedback that it answers, or `N/A`.
    pub feedbacks: String,
    /// The number of its line, counted from 1.
    pub line: usize,
}

/// A line that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Its number, counted from 1.
    pub line: usize,
    /// What is wrong with it, and what to write instead.
    pub what: String,
    /// False in the legend and in the table of iterations, on which nothing depends.
    pub matters: bool,
}

impl Progress {
    /// Reads a document. It can always be read: what is wrong is in [`Progress::damage`].
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

    /// The section of an iteration; of several the first.
    pub fn section(&self, part: ProgressSection, iteration: u32) -> Option<&Section> {
        self.sections.iter().find(|section| section.part == part && section.iteration == iteration)
    }

    /// The planning entries of an iteration.
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
    /// A task may stand in the sections of several iterations. Then the latest counts, but for one
    /// that is done: what is done stays done, whatever a later section says.
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

    /// The latest iteration that a section is about; 0 if there is none.
    pub fn latest_iteration(&self) -> u32 {
        self.sections.iter().map(|section| section.iteration).max().unwrap_or_default()
    }
}

impl TaskEntry {
    /// What the note says under this name: `started: …`.
    pub fn said(&self, name: &str) -> Option<&str> {
        let inner = self.note.split(['(', ')', ',', ';']).map(str::trim);
        inner.filter_map(|part| part.split_once(':')).find_map(|(key, value)| {
            key.trim()
                .eq_ignore_ascii_case(name)
                .then(|| value.trim())
                .filter(|text| !text.is_empty())
        })
    }

    /// The number that follows this word in the note: `(Attempt 2, Iteration 1)`.
    pub fn number(&self, word: &str) -> Option<u32> {
        let inner = self.note.split(['(', ')', ',', ';']).map(str::trim);
        inner.filter_map(|part| part.strip_prefix(word)?.trim().parse().ok()).next()
    }

    /// Which cycle of questions it is about, if the note says so: `(CYCLE=2)`, `(Cycle 2)`.
    pub fn cycle(&self) -> Option<u32> {
        let lower = self.note.to_ascii_lowercase();
        let (_, rest) = lower.split_once("cycle")?;
        let digits = rest.trim_start_matches([' ', '=', ':']);
        let end = digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len());
        digits[..end].parse().ok().filter(|cycle| *cycle > 0)
    }
}

/// Which cycle of questions an entry of a section is: the one it names, else the next that no other of its kind
/// names.
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
