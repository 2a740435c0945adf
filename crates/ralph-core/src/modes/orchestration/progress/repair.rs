//! Repairs a damaged progress document, as far as that needs no guess.
//!
//! A mark in the other case, a missing bullet, a missing section and a copy of an existing entry
//! are unambiguous. A mark that is not a status, and two entries that differ, are not: only their
//! author knows what was meant.

use super::join::join;
use super::lines::{self, LineKind};
use super::{Damage, Progress, ProgressSection, TaskMark, add_section};
use std::fmt::Write;

/// One repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    /// The original line number, counted from 1; `None` for an addition.
    pub line: Option<usize>,
    pub what: String,
}

/// Repairs the document of an orchestration in this iteration with these planning tasks. Returns
/// the new text, the repairs, and the remaining damage.
pub fn repair(
    text: &str,
    iteration: u32,
    planning: &[&str],
) -> (String, Vec<Repaired>, Vec<Damage>) {
    let mut done = Vec::new();
    let text = entries(text, &mut done);
    let mut text = join(&text, &mut done);
    let progress = Progress::parse(&text);
    if !progress.has_header {
        text = format!("# Progress\n\n{text}");
        done.push(added("the header `# Progress`"));
    }
    text = legend(text, &mut done);
    for (part, ids) in
        [(ProgressSection::Planning, planning), (ProgressSection::Implementation, &[])]
    {
        if Progress::parse(&text).section(part, iteration).is_none() {
            text = add_section(&text, part, iteration, ids);
            done.push(added(&format!("the section `{} (Iteration {iteration})`", part.heading())));
        }
    }
    let damage = Progress::parse(&text).damage;
    (text, done, damage)
}

fn added(what: &str) -> Repaired {
    Repaired { line: None, what: format!("added {what}") }
}

/// Changes only damaged lines, and only if the change repairs them.
fn entries(text: &str, done: &mut Vec<Repaired>) -> String {
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    let damaged =
        lines::read(text).into_iter().filter(|(_, kind)| matches!(kind, LineKind::Damaged(_)));
    for (line, _) in damaged {
        let Some(old) = line.checked_sub(1).and_then(|at| lines.get_mut(at)) else { continue };
        let Some(new) = entry(old) else { continue };
        if lines::is_entry(&new) {
            let what = format!("`{}` became `{}`", old.trim(), new.trim());
            done.push(Repaired { line: Some(line), what });
            *old = new;
        }
    }
    lines.join("\n")
}

fn entry(line: &str) -> Option<String> {
    let indent = &line[..line.len() - line.trim_start().len()];
    let start = line.trim_start();
    let rest = start.strip_prefix(['-', '*', '+']).unwrap_or(start).trim_start();
    let (mark, rest) = rest.strip_prefix('[')?.split_once(']')?;
    let status = match mark.trim() {
        "" => TaskMark::Open,
        "X" | "✓" | "✔" => TaskMark::Done,
        "p" => TaskMark::ReviewPending,
        "f" => TaskMark::Failed,
        "c" => TaskMark::Cancelled,
        other => TaskMark::of(other)?,
    };
    Some(format!("{indent}- {status} {}", rest.trim_start()))
}

fn legend(text: String, done: &mut Vec<Repaired>) -> String {
    let legend = Progress::parse(&text).legend;
    let named = legend.clone().unwrap_or_default();
    let missing: Vec<TaskMark> =
        TaskMark::ALL.into_iter().filter(|status| !named.contains(status)).collect();
    if missing.is_empty() {
        return text;
    }
    let mut block = String::new();
    for status in &missing {
        let _ = writeln!(block, "- `{status}` {}", status.words());
    }
    // Search by kind of line: a heading in an example does not count.
    let lines = lines::read(&text);
    let heading = |wanted: &LineKind| {
        lines.iter().find(|(_, kind)| kind == wanted).map(|(number, _)| *number)
    };
    done.push(added("marks that the legend did not list"));
    match (heading(&LineKind::LegendHeading), heading(&LineKind::Header)) {
        (Some(number), _) => behind(&text, number, &block),
        (None, Some(number)) => behind(&text, number, &format!("\n## Legend\n{block}")),
        (None, None) => format!("{text}\n{}## Legend\n{block}", lines::left_open(&text)),
    }
}

fn behind(text: &str, lines: usize, block: &str) -> String {
    let end: usize = text.split_inclusive('\n').take(lines).map(str::len).sum();
    let (before, after) = text.split_at(end);
    let gap = if before.ends_with('\n') { "" } else { "\n" };
    format!("{before}{gap}{block}{after}")
}
