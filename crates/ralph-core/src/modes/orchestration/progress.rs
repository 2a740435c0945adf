//! `progress.md`: the status of each task, as it is read and rendered.
//!
//! Ralph renders the document from its record. Agents and users may edit it: reading accepts whatever
//! stands around the entries, and reports the lines that it cannot read.

mod lines;

use super::files::OrchestrationFile;
use super::finding::OrchestrationFinding;
use lines::LineKind;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::fmt::{self, Write};

const FILE: OrchestrationFile<'_> = OrchestrationFile::Progress;

/// What is known of each task, by iteration.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Progress {
    /// The sections of planning and of implementation, in order; one for each part of an iteration.
    pub sections: Vec<Section>,
    pub iterations: Vec<IterationRow>,
}

/// A document as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadProgress {
    pub progress: Progress,
    /// The lines that could not be read, and what the document lacks.
    pub damage: Vec<OrchestrationFinding>,
    entries: Vec<ReadEntry>,
}

/// An entry, and where it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ReadEntry {
    entry: TaskEntry,
    part: ProgressSection,
    iteration: u32,
    line: usize,
    /// The line of its section's heading.
    heading: usize,
    /// True if another entry contradicts it.
    is_doubtful: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    pub part: ProgressSection,
    pub iteration: u32,
    pub entries: Vec<TaskEntry>,
}

/// `- [/] task-1 (Attempt 1, Iteration 1, started: 2026-01-31T12:00:00Z)`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskEntry {
    pub id: String,
    pub status: TaskMark,
    /// The text after the id.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IterationRow {
    pub iteration: u32,
    pub status: String,
    /// How many tasks are done: `X/Y`.
    pub tasks: String,
    /// The feedback that the iteration answers, or `N/A`.
    pub feedbacks: String,
}

/// The planning tasks that a section may contain several times, once for each question cycle.
const IN_CYCLES: [&str; 2] = ["plan-brainstorm", "plan-research"];

impl ReadProgress {
    /// Reads a document. Reading never fails.
    pub fn parse(text: &str) -> ReadProgress {
        let mut read = ReadProgress::default();
        let (mut has_header, mut legend) = (false, None::<Vec<TaskMark>>);
        let mut section = None;
        for (line, kind) in lines::read(text) {
            match kind {
                LineKind::Header => has_header = true,
                LineKind::LegendHeading => legend = Some(legend.unwrap_or_default()),
                LineKind::Legend(status) => legend.get_or_insert_default().push(status),
                LineKind::SectionHeading { part, iteration } => {
                    read.progress.section_mut(part, iteration);
                    section = Some((part, iteration, line));
                }
                LineKind::Entry(entry) => {
                    if let Some((part, iteration, heading)) = section {
                        let is_doubtful = false;
                        let found =
                            ReadEntry { entry, part, iteration, line, heading, is_doubtful };
                        read.take(found);
                    }
                }
                LineKind::Row(row) => read.progress.set_row(row),
                LineKind::Damaged(what) => read.damage.push(FILE.invalid(line, what)),
                // Nothing depends on the table.
                LineKind::DamagedRow(what) => read.damage.push(FILE.notice(line, what)),
                LineKind::TableHead | LineKind::Other => {}
            }
        }
        let named = legend.as_deref().unwrap_or_default();
        let unnamed = TaskMark::ALL.into_iter().filter(|status| !named.contains(status));
        let unnamed: Vec<String> = unnamed.map(|status| format!("`{status}`")).collect();
        let mut missing = |what: String| read.damage.push(FILE.invalid(0, what));
        if !has_header {
            missing("the header `# Progress` is missing".to_owned());
        }
        match (&legend, unnamed.is_empty()) {
            (None, _) => missing("the section `## Legend` is missing".to_owned()),
            (Some(_), false) => missing(format!("the legend does not name {}", unnamed.join(", "))),
            (Some(_), true) => {}
        }
        read.damage.sort_by_key(|damage| damage.line);
        read
    }

    /// Takes an entry, unless an earlier one says the same. Of two that contradict each other the first
    /// stays, and both are in doubt.
    fn take(&mut self, mut found: ReadEntry) {
        let same: Vec<&mut ReadEntry> =
            self.entries.iter_mut().filter(|other| other.is_about(&found)).collect();
        if same.iter().any(|other| other.entry == found.entry) {
            return;
        }
        if let Some(line) = same.first().map(|other| other.line) {
            let what = format!("line {line} has {} too; delete one of them", found.entry.id);
            same.into_iter().for_each(|other| other.is_doubtful = true);
            self.damage.push(FILE.invalid(found.line, what));
            found.is_doubtful = true;
        } else {
            let section = self.progress.section_mut(found.part, found.iteration);
            section.entries.push(found.entry.clone());
        }
        self.entries.push(found);
    }

    /// The document's tasks, completed by what is kept: an entry that is missing or in doubt is as it is
    /// kept, and so is the table of iterations. Returns the ids of the entries that were missing.
    pub fn completed_by(mut self, kept: &Progress) -> (Progress, Vec<String>) {
        let mut restored = Vec::new();
        for old in &kept.sections {
            let of_section =
                |read: &&ReadEntry| (read.part, read.iteration) == (old.part, old.iteration);
            let doubtful: HashSet<&str> = self
                .entries
                .iter()
                .filter(|read| read.is_doubtful)
                .filter(of_section)
                .map(|read| read.entry.id.as_str())
                .collect();
            let section = self.progress.section_mut(old.part, old.iteration);
            for (at, entry) in old.entries.iter().enumerate() {
                match section.place(old, at) {
                    Some(place) if doubtful.contains(entry.id.as_str()) => {
                        section.entries[place] = entry.clone();
                    }
                    Some(_) => {}
                    None => {
                        let before = at.checked_sub(1).and_then(|at| section.place(old, at));
                        let place = before.map_or(0, |before| before + 1);
                        section.entries.insert(place, entry.clone());
                        restored.push(entry.id.clone());
                    }
                }
            }
        }
        self.progress.iterations.clone_from(&kept.iterations);
        (self.progress, restored)
    }
}

impl ReadEntry {
    /// True if both give the status of the same thing.
    fn is_about(&self, other: &ReadEntry) -> bool {
        let subject = |read: &ReadEntry| (read.part, read.iteration, read.entry.id.clone());
        let is_same = || match (self.entry.cycle(), other.entry.cycle()) {
            _ if self.part == ProgressSection::Implementation => true,
            (Some(one), Some(other)) => one == other,
            // In one section, the next entry without a cycle is the next cycle.
            _ => self.heading != other.heading || !IN_CYCLES.contains(&self.entry.id.as_str()),
        };
        subject(self) == subject(other) && is_same()
    }
}

impl Section {
    /// Where an entry of another section of the same subject stands in this one.
    fn place(&self, other: &Section, at: usize) -> Option<usize> {
        let identity = |section: &Section, at: usize| {
            let entries: Vec<&TaskEntry> = section.entries.iter().collect();
            let is_planning = section.part == ProgressSection::Planning;
            (entries[at].id.clone(), is_planning.then(|| cycle(&entries, at)))
        };
        let wanted = identity(other, at);
        (0..self.entries.len())
            .find(|at| self.entries[*at].id == wanted.0 && identity(self, *at) == wanted)
    }
}

impl Progress {
    /// A new document, with the planning tasks of the first iteration.
    pub fn first(planning: &[&str]) -> Progress {
        let mut progress = Progress::default();
        progress.start(1, planning, "Planning", "N/A");
        progress
    }

    /// Begins an iteration: its planning tasks, a section for its tasks, and its row.
    pub fn start(&mut self, iteration: u32, planning: &[&str], status: &str, feedbacks: &str) {
        self.add(ProgressSection::Planning, iteration, planning);
        self.add(ProgressSection::Implementation, iteration, &[]);
        self.set_row(IterationRow {
            iteration,
            status: status.to_owned(),
            tasks: "0/0".to_owned(),
            feedbacks: feedbacks.to_owned(),
        });
    }

    /// Adds open entries at the end of a section, those that it does not have yet.
    pub fn add(&mut self, part: ProgressSection, iteration: u32, ids: &[&str]) {
        let section = self.section_mut(part, iteration);
        for id in ids {
            if section.entries.iter().all(|entry| entry.id != *id) {
                let (id, note) = ((*id).to_owned(), String::new());
                section.entries.push(TaskEntry { id, status: TaskMark::Open, note });
            }
        }
    }

    pub fn set_row(&mut self, row: IterationRow) {
        match self.iterations.iter_mut().find(|old| old.iteration == row.iteration) {
            Some(old) => *old = row,
            None => self.iterations.push(row),
        }
        self.iterations.sort_by_key(|row| row.iteration);
    }

    pub fn render(&self) -> String {
        let mut text = "# Progress\n\n## Legend\n".to_owned();
        // Writing to a string cannot fail.
        for status in TaskMark::ALL {
            let _ = writeln!(text, "- `{status}` {}", status.words());
        }
        for Section { part, iteration, entries } in &self.sections {
            let _ = writeln!(text, "\n## {} (Iteration {iteration})", part.heading());
            for TaskEntry { id, status, note } in entries {
                let gap = if note.is_empty() || note.starts_with(':') { "" } else { " " };
                let _ = writeln!(text, "- {status} {id}{gap}{note}");
            }
        }
        text.push_str("\n## Iterations\n| Iteration | Status | Tasks | Feedbacks |\n");
        text.push_str("|-----------|--------|-------|-----------|\n");
        for IterationRow { iteration, status, tasks, feedbacks } in &self.iterations {
            let _ = writeln!(text, "| {iteration} | {status} | {tasks} | {feedbacks} |");
        }
        text
    }

    fn section_mut(&mut self, part: ProgressSection, iteration: u32) -> &mut Section {
        let is_it = |section: &Section| (section.part, section.iteration) == (part, iteration);
        let at = self.sections.iter().position(is_it).unwrap_or_else(|| {
            self.sections.push(Section { part, iteration, entries: Vec::new() });
            self.sections.len() - 1
        });
        &mut self.sections[at]
    }

    pub fn section(&self, part: ProgressSection, iteration: u32) -> Option<&Section> {
        self.sections.iter().find(|section| section.part == part && section.iteration == iteration)
    }

    pub fn planning(&self, iteration: u32) -> impl Iterator<Item = &TaskEntry> {
        let section = self.section(ProgressSection::Planning, iteration);
        section.into_iter().flat_map(|section| &section.entries)
    }

    /// True if a planning task of an iteration is done.
    pub fn is_planned(&self, iteration: u32, id: &str) -> bool {
        self.planning(iteration).any(|entry| entry.id == id && entry.status == TaskMark::Done)
    }

    /// The planning task at this place of its section.
    pub fn planning_mut(&mut self, iteration: u32, at: usize) -> Option<&mut TaskEntry> {
        self.section_mut(ProgressSection::Planning, iteration).entries.get_mut(at)
    }

    /// The entries of all tasks, each task once, in the order of the document.
    ///
    /// If a task is in the sections of several iterations, the latest entry counts. An entry marked
    /// as done overrides later ones: a finished task stays done.
    pub fn tasks(&self) -> Vec<&TaskEntry> {
        self.places().into_iter().map(|(section, at)| &self.sections[section].entries[at]).collect()
    }

    /// Where the entries of all tasks are: the section, and the place in it.
    fn places(&self) -> Vec<(usize, usize)> {
        let mut places: Vec<(usize, usize)> = Vec::new();
        let mut known: HashMap<&str, usize> = HashMap::new();
        for (number, section) in self.sections.iter().enumerate() {
            if section.part != ProgressSection::Implementation {
                continue;
            }
            for (at, entry) in section.entries.iter().enumerate() {
                let Some(place) = known.get(entry.id.as_str()) else {
                    known.insert(&entry.id, places.len());
                    places.push((number, at));
                    continue;
                };
                let other = &self.sections[places[*place].0];
                let is_done = other.entries[places[*place].1].status == TaskMark::Done;
                let is_later = section.iteration > other.iteration;
                if !is_done && (is_later || entry.status == TaskMark::Done) {
                    places[*place] = (number, at);
                }
            }
        }
        places
    }

    /// The entry of a task that counts.
    pub fn task(&self, id: &str) -> Option<&TaskEntry> {
        self.tasks().into_iter().find(|entry| entry.id == id)
    }

    /// The same, to be changed.
    pub fn task_mut(&mut self, id: &str) -> Option<&mut TaskEntry> {
        let is_its = |(section, at): &(usize, usize)| self.sections[*section].entries[*at].id == id;
        let (section, at) = self.places().into_iter().find(is_its)?;
        self.sections[section].entries.get_mut(at)
    }

    /// The latest iteration that has a section; 0 if there is none.
    pub fn latest_iteration(&self) -> u32 {
        self.sections.iter().map(|section| section.iteration).max().unwrap_or_default()
    }
}

impl TaskEntry {
    /// Sets the mark and, if one is given, the text after the id.
    pub fn set(&mut self, status: TaskMark, note: Option<&str>) {
        self.status = status;
        if let Some(note) = note {
            self.note = if note.is_empty() { String::new() } else { format!("({note})") };
        }
    }

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

/// The status of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskMark {
    /// `[ ]`: not started.
    Open,
    /// `[/]`: in progress.
    InProgress,
    /// `[P]`: waiting for a review.
    ReviewPending,
    /// `[x]`: done.
    Done,
    /// `[F]`: failed.
    Failed,
    /// `[C]`: cancelled.
    Cancelled,
}

impl TaskMark {
    /// All statuses, in the order of the legend.
    pub const ALL: [TaskMark; 6] = [
        TaskMark::Open,
        TaskMark::InProgress,
        TaskMark::ReviewPending,
        TaskMark::Done,
        TaskMark::Failed,
        TaskMark::Cancelled,
    ];

    /// The mark, with its brackets.
    pub fn mark(self) -> &'static str {
        ["[ ]", "[/]", "[P]", "[x]", "[F]", "[C]"][self as usize]
    }

    /// The words for the legend.
    pub fn words(self) -> &'static str {
        let words =
            ["Not started", "In progress", "Pending review", "Completed", "Failed", "Cancelled"];
        words[self as usize]
    }

    /// The status of a mark, with or without its brackets.
    pub fn from_mark(mark: &str) -> Option<TaskMark> {
        let inner = mark.strip_prefix('[').and_then(|mark| mark.strip_suffix(']'));
        let inner = inner.unwrap_or(mark);
        TaskMark::ALL.into_iter().find(|status| status.mark()[1..2] == *inner)
    }

    /// The status that a command line names, by its word or its mark.
    pub fn typed(text: &str) -> Option<TaskMark> {
        let words = ["open", "started", "review", "done", "failed", "cancelled"];
        let at = words.iter().position(|word| word.eq_ignore_ascii_case(text));
        at.map_or_else(|| TaskMark::from_mark(text), |at| TaskMark::ALL.get(at).copied())
    }

    /// The same, also for a mark that is only nearly written as it should be.
    fn nearly(mark: &str) -> Option<TaskMark> {
        match mark.trim() {
            "" => Some(TaskMark::Open),
            "X" | "✓" | "✔" => Some(TaskMark::Done),
            "p" => Some(TaskMark::ReviewPending),
            "f" => Some(TaskMark::Failed),
            "c" => Some(TaskMark::Cancelled),
            mark => TaskMark::from_mark(mark),
        }
    }

    /// True for done and cancelled tasks, which nothing more happens to.
    pub fn is_settled(self) -> bool {
        matches!(self, TaskMark::Done | TaskMark::Cancelled)
    }
}

impl fmt::Display for TaskMark {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.mark())
    }
}

#[cfg(test)]
mod tests;
