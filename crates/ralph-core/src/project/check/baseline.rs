//! Finds the new findings: those that were neither there before the loop nor reported already.
//!
//! Findings are compared by their keys, which contain no line numbers, and counted: if there were
//! two of a kind before and there are three now, one is new.

use super::finding::{Finding, FindingKey, OF_TEST};
use similar::{Algorithm, capture_diff_slices};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::RangeInclusive;

/// Lines of a file, from 1.
pub type Lines = Vec<RangeInclusive<u32>>;

/// What tells the findings of the work from older ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KnownFindings {
    /// The findings on the files from which the loop started.
    Known(Vec<FindingKey>),
    /// Those are not known, but which lines of which files changed. A finding in another line of these files counts as
    /// old, and in another file nobody knows.
    Changed(BTreeMap<String, Lines>),
}

/// The findings of one check, sorted by whether to report them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sorted {
    /// Findings from this work.
    pub new: Vec<Finding>,
    /// How many findings are older than the work.
    pub old: usize,
    /// How many findings are in files that were not edited, whose earlier state is unknown.
    pub elsewhere: usize,
}

/// Sorts the findings of one check.
pub fn sort(found: Vec<Finding>, before: &KnownFindings) -> Sorted {
    let mut sorted = Sorted::default();
    match before {
        KnownFindings::Known(keys) => {
            let mut left = counts(keys);
            let failed: HashSet<FindingKey> =
                keys.iter().map(FindingKey::of_whatever_failure).collect();
            for finding in found {
                let key = finding.key();
                match left.get_mut(&key) {
                    Some(count) if *count > 0 => {
                        *count -= 1;
                        sorted.old += 1;
                    }
                    _ if finding.rule == OF_TEST && failed.contains(&key.of_whatever_failure()) => {
                        sorted.new.push(as_before(finding));
                    }
                    _ => sorted.new.push(finding),
                }
            }
        }
        KnownFindings::Changed(files) => {
            for finding in found {
                match (files.get(&finding.file), finding.line) {
                    (None, _) if !finding.file.is_empty() => sorted.elsewhere += 1,
                    (Some(lines), Some(line))
                        if !lines.iter().any(|range| range.contains(&line)) =>
                    {
                        sorted.old += 1;
                    }
                    _ => sorted.new.push(finding),
                }
            }
        }
    }
    sorted
}

/// The lines of `now` that differ from those of `start`, and the line after each deletion.
pub fn changed_lines(start: &str, now: &str) -> Lines {
    let [start, now] = [start, now].map(|text| text.lines().collect::<Vec<&str>>());
    let ops = capture_diff_slices(Algorithm::Myers, &start, &now);
    let number = |at: usize| u32::try_from(at + 1).unwrap_or(u32::MAX);
    let changed = ops.iter().filter(|op| op.tag() != similar::DiffTag::Equal);
    let lines = changed.map(|op| op.new_range());
    lines.map(|lines| number(lines.start)..=number(lines.end.max(lines.start + 1) - 1)).collect()
}

/// A test that failed before the work and now fails in another way. It may have lacked something
/// then, for example a repository, so it is reported but not blamed on the work.
fn as_before(finding: Finding) -> Finding {
    let message = format!("{} (it failed before this work, in another way)", finding.message);
    Finding { message, is_error: false, ..finding }
}

/// Removes the findings that the model knows and has not fixed; returns the rest, and how many were
/// removed.
pub fn untold(new: Vec<Finding>, told: &[FindingKey]) -> (Vec<Finding>, usize) {
    let sorted = sort(new, &KnownFindings::Known(told.to_vec()));
    (sorted.new, sorted.old)
}

fn counts(keys: &[FindingKey]) -> HashMap<&FindingKey, usize> {
    let mut counts = HashMap::new();
    for key in keys {
        *counts.entry(key).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(file: &str, line: u32, message: &str) -> Finding {
        Finding {
            check: "tsc".to_owned(),
            file: file.to_owned(),
            line: Some(line),
            column: None,
            rule: "TS1".to_owned(),
            message: message.to_owned(),
            is_error: true,
        }
    }

    /// The new findings as `file:line`, then how many are old and elsewhere.
    #[track_caller]
    fn check(found: &[(&str, u32, &str)], before: &KnownFindings, expected: &str) {
        let found = found.iter().map(|(file, line, message)| finding(file, *line, message));
        let sorted = sort(found.collect(), before);
        let line = |one: &Finding| format!("{}:{}", one.file, one.line.unwrap());
        let new: Vec<String> = sorted.new.iter().map(line).collect();
        let shown =
            format!("{} | {} old, {} elsewhere", new.join(" "), sorted.old, sorted.elsewhere);
        assert_eq!(shown, expected);
    }

    #[test]
    fn what_was_there_before_is_counted_wherever_its_line_is_now() {
        let known = KnownFindings::Known(vec![
            finding("a.ts", 3, "x").key(),
            finding("b.ts", 1, "y").key(),
        ]);
        check(&[("a.ts", 9, "x"), ("b.ts", 1, "y")], &known, " | 2 old, 0 elsewhere");
        check(&[("a.ts", 9, "z"), ("b.ts", 1, "y")], &known, "a.ts:9 | 1 old, 0 elsewhere");
        check(&[("b.ts", 9, "x")], &known, "b.ts:9 | 0 old, 0 elsewhere");
    }

    #[test]
    fn one_more_of_a_kind_is_new() {
        let known = KnownFindings::Known(vec![finding("a.ts", 3, "x").key(); 2]);
        let three = [("a.ts", 1, "x"), ("a.ts", 2, "x"), ("a.ts", 3, "x")];
        check(&three, &known, "a.ts:3 | 2 old, 0 elsewhere");
    }

    #[test]
    fn a_test_that_failed_before_in_another_way_is_told_and_not_blamed() {
        let test =
            |message: &str| Finding { rule: "test".to_owned(), ..finding("a.ts", 1, message) };
        let before = KnownFindings::Known(vec![test("adds: no repository").key()]);
        let sort = |message| sort(vec![test(message)], &before);
        assert_eq!((sort("adds: no repository").old, sort("adds: no repository").new), (1, vec![]));
        let told = sort("adds: got 3");
        assert!(
            !told.new[0].is_error && told.new[0].message.ends_with("in another way)"),
            "{told:?}"
        );
        assert!(sort("subtracts: got 3").new[0].is_error);
        let of_rule =
            |rule: &str, message: &str| Finding { rule: rule.to_owned(), ..test(message) };
        let before = KnownFindings::Known(vec![of_rule("TS1", "adds: a").key()]);
        let other = super::sort(vec![of_rule("TS1", "adds: b")], &before);
        assert!(other.new[0].is_error);
    }

    #[test]
    fn where_no_earlier_run_is_known_the_changed_lines_decide() {
        let lines = changed_lines("one\ntwo\nthree\nfour\n", "one\n2\nthree\nfour\nfive\nsix\n");
        assert_eq!(lines, [2..=2, 5..=6]);
        let found = [("a.ts", 1, "x"), ("a.ts", 2, "x"), ("b.ts", 2, "y"), ("", 3, "no inputs")];
        let changed = KnownFindings::Changed([("a.ts".to_owned(), lines)].into());
        check(&found, &changed, "a.ts:2 :3 | 1 old, 1 elsewhere");
        let whole = Finding { line: None, ..finding("a.ts", 1, "not formatted") };
        assert_eq!(sort(vec![whole], &changed).new.len(), 1);
    }

    #[test]
    fn the_line_after_a_deletion_is_changed() {
        assert_eq!(changed_lines("one\ntwo\nthree\n", "one\nthree\n"), [2..=2]);
        assert_eq!(changed_lines("one\ntwo\n", "one\n"), [2..=2]);
        assert_eq!(changed_lines("", "one\ntwo\n"), [1..=2]);
        assert_eq!(changed_lines("one\n", "one\n"), []);
    }

    #[test]
    fn what_was_told_is_counted_and_not_told_again() {
        let told = [finding("a.ts", 1, "x").key()];
        let (new, before) = untold(vec![finding("a.ts", 7, "x"), finding("a.ts", 8, "y")], &told);
        assert_eq!((new, before), (vec![finding("a.ts", 8, "y")], 1));
    }
}
