//! Duplicates in a progress document.
//!
//! Of two sections or entries for the same subject, no rule tells which one counts. They are
//! damage, and the orchestration waits until one is left. A second legend or table has no effect,
//! but is reported as well.

use super::lines::LineKind;
use super::{Damage, ProgressSection, Section, TaskEntry};
use std::collections::HashMap;

/// The planning tasks that a section may contain several times, once for each question cycle.
const IN_CYCLES: [&str; 2] = ["plan-brainstorm", "plan-research"];

/// Whether two entries are in the same section.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Of {
    OneSection,
    TwoSections,
}

/// An entry, and the line of its section's heading.
struct LocatedEntry<'a> {
    section: usize,
    entry: &'a TaskEntry,
}

/// True if two entries with the same id give the status of the same thing.
pub(super) fn is_same(part: ProgressSection, one: &TaskEntry, other: &TaskEntry, of: Of) -> bool {
    match (one.cycle(), other.cycle()) {
        _ if part == ProgressSection::Implementation => true,
        (Some(one), Some(other)) => one == other,
        // In one section, the next entry without a cycle is the next cycle.
        _ => of == Of::TwoSections || !IN_CYCLES.contains(&one.id.as_str()),
    }
}

/// Duplicate sections and entries, each reported at the second one.
pub(super) fn in_sections(sections: &[Section]) -> Vec<Damage> {
    let mut found = Vec::new();
    let mut places: HashMap<(ProgressSection, u32), usize> = HashMap::new();
    let mut entries: HashMap<(ProgressSection, u32, &str), Vec<LocatedEntry<'_>>> = HashMap::new();
    for section in sections {
        let (part, iteration) = (section.part, section.iteration);
        let first = *places.entry((part, iteration)).or_insert(section.line);
        if first != section.line {
            let what = format!(
                "line {first} has the section `## {} (Iteration {iteration})` too; move these \
                 entries there",
                part.heading()
            );
            found.push(Damage { line: section.line, what, matters: true });
        }
        for entry in &section.entries {
            let others = entries.entry((part, iteration, &entry.id)).or_default();
            let same = others.iter().find(|other| {
                let is_one = other.section == section.line;
                is_same(
                    part,
                    other.entry,
                    entry,
                    if is_one { Of::OneSection } else { Of::TwoSections },
                )
            });
            if let Some(other) = same {
                let line = other.entry.line;
                let what = format!("line {line} has {} too; delete one of them", entry.id);
                found.push(Damage { line: entry.line, what, matters: true });
            }
            others.push(LocatedEntry { section: section.line, entry });
        }
    }
    found
}

/// Duplicate legends, tables of iterations, and rows of the table.
pub(super) fn elsewhere(lines: &[(usize, LineKind)]) -> Vec<Damage> {
    let mut found = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (number, kind) in lines {
        let what = match kind {
            LineKind::LegendHeading => "the section `## Legend`".to_owned(),
            LineKind::IterationsHeading => "the section `## Iterations`".to_owned(),
            LineKind::Row { iteration, .. } => format!("the row of iteration {iteration}"),
            _ => continue,
        };
        match places.get(&what) {
            Some(first) => {
                let what = format!("line {first} has {what} too; delete one of them");
                found.push(Damage { line: *number, what, matters: false });
            }
            None => {
                places.insert(what, *number);
            }
        }
    }
    found
}
