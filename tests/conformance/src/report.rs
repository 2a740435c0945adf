//! Tells how a run went: failures in full, a table by case, and one line that scripts collect.

use crate::case::Case;
use crate::suite::Outcome;
use std::fmt::Write;

/// One line for each case that does not hold, with what was expected and what came.
pub fn failures(cases: &[Case], outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    for (case, outcome) in cases.iter().zip(outcomes) {
        let line = match outcome {
            Outcome::Holds => continue,
            Outcome::Fails(why) => {
                format!("FAILS {}\n      {}\n      {why}", case.name, case.title)
            }
            Outcome::NotApplicable(why) => format!("n/a   {}: {why}", case.name),
            Outcome::Pending(why) => format!("pending {}: {why}", case.name),
            Outcome::NoLongerPending => {
                format!("FAILS {}: holds, yet is listed as pending", case.name)
            }
            Outcome::Unsteady(why) => format!("unsteady {}: {why}", case.name),
        };
        let _infallible = writeln!(text, "{line}");
    }
    text
}

/// The line about the whole run.
pub fn proof(part: &str, outcomes: &[Outcome]) -> String {
    let count = |which: fn(&Outcome) -> bool| outcomes.iter().filter(|each| which(each)).count();
    let failed = count(|each| matches!(each, Outcome::Fails(_) | Outcome::NoLongerPending));
    let mut results = Vec::new();
    let mut add = |n: usize, words: &str| {
        if n > 0 {
            results.push(format!("{n} {words}"));
        }
    };
    add(failed, "fail");
    add(count(|each| matches!(each, Outcome::Pending(_))), "pending");
    add(count(|each| matches!(each, Outcome::NotApplicable(_))), "not applicable");
    add(count(|each| matches!(each, Outcome::Unsteady(_))), "unsteady");
    if failed == 0 {
        results.insert(0, "all as expected".to_owned());
    }
    format!("proof | {part} | {} cases | {}", outcomes.len(), results.join(", "))
}

/// A Markdown table with a row for each case file and a column for each implementation.
pub fn table(cases: &[Case], columns: &[(&str, &[Outcome])]) -> String {
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let mut text = format!("| case | what holds | {} |\n", names.join(" | "));
    text += &format!("|---|---|{}\n", "---|".repeat(names.len()));
    let mut at = 0;
    while at < cases.len() {
        let file = &cases[at].file;
        let end = at + cases[at..].iter().take_while(|case| case.file == *file).count();
        let cells: Vec<String> = columns.iter().map(|(_, all)| cell(&all[at..end])).collect();
        let _infallible =
            writeln!(text, "| `{file}` | {} | {} |", cases[at].title, cells.join(" | "));
        at = end;
    }
    text
}

/// `holds`, `fails`, or how many of several variants do which.
fn cell(outcomes: &[Outcome]) -> String {
    let words = outcomes.iter().map(|outcome| match outcome {
        Outcome::Holds => "holds",
        Outcome::Fails(_) | Outcome::NoLongerPending => "**fails**",
        Outcome::NotApplicable(_) => "n/a",
        Outcome::Pending(_) => "pending",
        Outcome::Unsteady(_) => "unsteady",
    });
    let words: Vec<&str> = words.collect();
    let mut kinds = words.clone();
    kinds.sort_unstable();
    kinds.dedup();
    match (kinds.as_slice(), words.len()) {
        ([only], 1) => (*only).to_owned(),
        ([only], n) => format!("{only} ({n})"),
        (several, n) => {
            let count = |kind: &&str| words.iter().filter(|word| *word == kind).count();
            let parts = several.iter().map(|kind| format!("{kind} {} of {n}", count(kind)));
            parts.collect::<Vec<_>>().join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_counts_the_variants() {
        let (holds, fails) = (Outcome::Holds, Outcome::Fails(String::new()));
        assert_eq!(cell(std::slice::from_ref(&holds)), "holds");
        assert_eq!(cell(&[holds.clone(), holds.clone()]), "holds (2)");
        assert_eq!(cell(&[holds, fails]), "**fails** 1 of 2, holds 1 of 2");
    }

    #[test]
    fn the_line_counts_what_did_not_hold() {
        let all = [Outcome::Holds, Outcome::Pending(String::new())];
        assert_eq!(proof("x", &all), "proof | x | 2 cases | all as expected, 1 pending");
        let one = [Outcome::Fails(String::new())];
        assert_eq!(proof("x", &one), "proof | x | 1 cases | 1 fail");
    }
}
