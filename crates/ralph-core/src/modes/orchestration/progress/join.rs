//! Joins duplicates in a progress document that do not contradict each other.
//!
//! A copy is removed, and lines that only the second section has are moved to the end of the first.
//! If two entries differ, both stay, because only their author knows which one is right.

use super::doubled::{Of, is_same};
use super::lines::{self, LineKind};
use super::{Progress, ProgressSection, Repaired, Section, TaskEntry};
use std::collections::HashMap;

struct LineEdits<'a> {
    lines: Vec<&'a str>,
    /// False for a line to remove.
    kept: Vec<bool>,
    /// The lines to insert after a line.
    behind: HashMap<usize, Vec<String>>,
    done: Vec<Repaired>,
}

/// A section that may occur again further down, and its entries.
struct First<'a> {
    section: &'a Section,
    entries: Vec<&'a TaskEntry>,
}

/// The document with as many duplicates joined as possible.
pub(super) fn join(text: &str, done: &mut Vec<Repaired>) -> String {
    let progress = Progress::parse(text);
    let lines: Vec<&str> = text.split('\n').collect();
    let kept = vec![true; lines.len()];
    let mut plan = LineEdits { lines, kept, behind: HashMap::new(), done: Vec::new() };
    plan.same_tables(text);
    plan.sections(text, &progress.sections);
    if plan.done.is_empty() {
        return text.to_owned();
    }
    plan.done.sort_by_key(|one| one.line);
    done.append(&mut plan.done);
    plan.text()
}

impl<'a> LineEdits<'a> {
    /// Removes a second legend or table of iterations that matches the first word for word.
    fn same_tables(&mut self, text: &str) {
        let read = lines::read(text);
        for (wanted, words) in
            [(LineKind::LegendHeading, "Legend"), (LineKind::IterationsHeading, "Iterations")]
        {
            let mut places = read.iter().filter(|(_, kind)| *kind == wanted).map(|(at, _)| *at);
            let Some(first) = places.next() else { continue };
            for second in places {
                let (from, to) = self.body(text, second);
                if self.says(from, to) == self.says_of(text, first) {
                    self.remove(second, to);
                    self.tell(second, format!("line {first} had `## {words}` too"));
                }
            }
        }
    }

    fn sections(&mut self, text: &str, sections: &'a [Section]) {
        let mut firsts: HashMap<(ProgressSection, u32), First<'a>> = HashMap::new();
        for section in sections {
            let copies = self.copies(section);
            let key = (section.part, section.iteration);
            let Some(first) = firsts.get_mut(&key) else {
                self.remove_copies(section, &copies);
                firsts.insert(key, First { section, entries: section.entries.iter().collect() });
                continue;
            };
            match said_again(section, first) {
                Some(mut again) => {
                    again.extend(copies.iter().map(|entry| entry.line));
                    self.append(text, section, first.section, &again);
                    first.entries.extend(&section.entries);
                }
                None => self.remove_copies(section, &copies),
            }
        }
    }

    /// The entries of a section that repeat an earlier entry of it.
    fn copies(&self, section: &'a Section) -> Vec<&'a TaskEntry> {
        let mut seen: HashMap<&str, Vec<&TaskEntry>> = HashMap::new();
        let mut copies = Vec::new();
        for entry in &section.entries {
            let others = seen.entry(&entry.id).or_default();
            let is_copy = others.iter().any(|other| {
                is_same(section.part, other, entry, Of::OneSection) && is_equal(other, entry)
            });
            if is_copy {
                copies.push(entry);
            }
            others.push(entry);
        }
        copies
    }

    fn remove_copies(&mut self, section: &Section, copies: &[&TaskEntry]) {
        for entry in copies {
            let first = section.entries.iter().find(|other| is_equal(other, entry));
            let line = first.map_or(entry.line, |first| first.line);
            self.remove(entry.line, entry.line);
            self.tell(entry.line, format!("line {line} had {} too", entry.id));
        }
    }

    /// Moves the lines that only the second section has to the end of the first.
    fn append(&mut self, text: &str, second: &Section, first: &Section, again: &[usize]) {
        let (from, to) = self.body(text, second.line);
        let is_copy = self.says(from, to) == self.says_of(text, first.line);
        let ending = if self.line(first.line).ends_with('\r') { "\r" } else { "" };
        let left = (from..=to).filter(|line| !is_copy && !again.contains(line));
        let left = left.map(|line| self.line(line).trim_end_matches('\r'));
        let left: Vec<&str> = left.skip_while(|line| line.trim().is_empty()).collect();
        let end = left.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |at| at + 1);
        let mut moved: Vec<String> =
            left[..end].iter().map(|line| format!("{line}{ending}")).collect();
        // Other lines follow now, and must not become part of a block that was never closed.
        let ends = lines::left_open(&moved.join("\n"));
        moved.extend(ends.lines().map(|line| format!("{line}{ending}")));
        let end = self.body(text, first.line).1;
        self.behind.entry(end).or_default().extend(moved);
        self.remove(second.line, to);
        let heading = self.line(second.line).trim().to_owned();
        self.tell(second.line, format!("merged `{heading}` into the one in line {}", first.line));
    }

    /// The lines of a section, from the one after its heading to the last that is not blank.
    fn body(&self, text: &str, heading: usize) -> (usize, usize) {
        let end = lines::section_end(text, heading);
        let is_blank = |line: &usize| self.line(*line).trim().is_empty();
        let last = (heading + 1..end).rev().find(|line| !is_blank(line)).unwrap_or(heading);
        (heading + 1, last)
    }

    fn says(&self, from: usize, to: usize) -> Vec<&'a str> {
        let lines = (from..=to).map(|line| self.line(line).trim_end());
        lines.filter(|line| !line.is_empty()).collect()
    }

    fn says_of(&self, text: &str, heading: usize) -> Vec<&'a str> {
        let (from, to) = self.body(text, heading);
        self.says(from, to)
    }

    fn line(&self, number: usize) -> &'a str {
        self.lines[number - 1]
    }

    fn remove(&mut self, from: usize, to: usize) {
        self.kept[from - 1..to].fill(false);
    }

    fn tell(&mut self, line: usize, what: String) {
        self.done.push(Repaired { line: Some(line), what });
    }

    fn text(mut self) -> String {
        let mut lines: Vec<String> = Vec::new();
        for (at, line) in self.lines.iter().enumerate() {
            if self.kept[at] {
                lines.push((*line).to_owned());
            }
            lines.extend(self.behind.remove(&(at + 1)).unwrap_or_default());
        }
        lines.join("\n")
    }
}

/// The lines of the second section that the first already has; `None` if the two contradict each
/// other.
fn said_again(second: &Section, first: &First<'_>) -> Option<Vec<usize>> {
    let mut again = Vec::new();
    for entry in &second.entries {
        let mut same = first.entries.iter().filter(|other| {
            other.id == entry.id && is_same(second.part, other, entry, Of::TwoSections)
        });
        let Some(other) = same.next() else { continue };
        if !is_equal(other, entry) && !same.any(|other| is_equal(other, entry)) {
            return None;
        }
        again.push(entry.line);
    }
    Some(again)
}

fn is_equal(one: &TaskEntry, other: &TaskEntry) -> bool {
    (&one.id, one.status, &one.note) == (&other.id, other.status, &other.note)
}
