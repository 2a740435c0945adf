//! A count of one is singular: `1 criterion`, `0 of 1 task`.
//!
//! Every text of the product with a number before a plural is found in the sources. Either `ralph_core::text::counted` chooses
//! the noun, and the text holds none, or the number is never one and stands in the list here with the reason.

use super::{read, root};
use std::fs;
use std::path::PathBuf;

/// Nouns in the plural that Ralph counts.
const NOUNS: &str = "tasks criteria rounds files tests workers agents items iterations findings commits sessions loops \
    problems lines times checks conflicts signals hooks rejections questions attempts branches worktrees turns minutes \
    reports gaps faults entries versions clients tokens commands failures events messages registrations cases \
    executables concerns days hours seconds stops steps words folders variables bytes members waves places names \
    cycles characters letters receipts checkpoints tools ideas processes skills tags stashes issues errors warnings";

/// Words that stand between a number and its noun.
const BETWEEN: &str = "more skipped text-only journal uncommitted unresolved such open other acceptance background new";

/// Texts whose number is never one, each with its file and the reason.
const NEVER_ONE: &[(&str, &str, &str)] = &[
    ("check/parsers/whole.rs", "{left_out} characters", "what is cut is long"),
    ("python/format.rs", "{} names", "a verb"),
    ("loop_prompt.rs", "{n} stops", "another arm has one"),
    ("facts/git.rs", "{count} stashes", "another arm has one"),
    ("state/tasks.rs", "{total} tasks", "another arm has one"),
    ("progress.rs", "{idle} turns", "another arm has one"),
    ("progress.rs", "{n} times", "another branch has one"),
    ("progress.rs", "{n} stops", "another branch has one"),
    ("question.rs", "{count} questions", "told where it is not one"),
    ("ralplan/step.rs", "{} iterations", "a fraction: 5/5"),
    ("core/src/modes/refine/in_session.rs", "{MOST_IN_FOREGROUND} rounds", "a constant"),
    ("refine/state.rs", "{LONGEST_NAME} letters", "a constant"),
    ("trouble.rs", "{n} times", "told from two on"),
    ("views/messages.rs", "{n} signals", "another arm has one"),
    ("signals.rs", "{LONGEST} characters", "a constant"),
    ("views/messages.rs", "{n} criteria", "another arm has one"),
    ("refine/trace.rs", "{} reports", "a verb"),
    ("orchestration/read.rs", "{MOST_FILES} files", "a constant"),
    ("stdin.rs", "{} bytes", "a constant"),
    ("cli/cancel.rs", "{n} workers", "another arm has one"),
    ("doctor/executables.rs", "{n_hooks} hooks", "a constant"),
    ("install/plugin.rs", "{} executables", "a constant"),
    ("parallel/next.rs", "{} commits", "another branch has one"),
    ("parallel/next.rs", "{} workers", "another branch has one"),
    ("refine/conversation.rs", "{MOST_IN_FOREGROUND} rounds", "a constant"),
    ("cli/refine/in_session.rs", "{MOST_IN_FOREGROUND} rounds", "a constant"),
    ("status/text.rs", "{most} agents", "a constant"),
    ("sync/say.rs", "{count} tasks", "another arm has one"),
    ("command/select_loop.rs", "{} loops", "told where there are several"),
];

/// The sources of the product, without its tests.
fn sources() -> Vec<(PathBuf, String)> {
    let (mut folders, mut all) = (vec![root().join("crates")], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let is_product =
                !["tests", "tests.rs", "benches", "fixture.rs"].contains(&name.as_str());
            match path.is_dir() {
                _ if !is_product => {}
                true => folders.push(path),
                false if name.ends_with(".rs") => {
                    let text = read(&path);
                    let product = text.split("#[cfg(test)]").next().unwrap().to_owned();
                    all.push((path, product));
                }
                false => {}
            }
        }
    }
    all
}

/// The places where a number stands before a noun in the plural: `{n} tasks`. A fraction such as `{}/{} tasks` has no
/// singular.
fn plurals(line: &str) -> Vec<String> {
    let is_in = |list: &str, word: &str| list.split_whitespace().any(|one| one == word);
    let mut found = Vec::new();
    for (at, _) in line.match_indices("} ") {
        let Some(open) = line[..at].rfind('{') else { continue };
        let behind: Vec<&str> = line[at + 2..]
            .split(|letter: char| !letter.is_ascii_lowercase() && letter != '-')
            .take(2)
            .collect();
        let [first, rest @ ..] = &behind[..] else { continue };
        let second = rest.first().copied().unwrap_or_default();
        let noun = match is_in(NOUNS, first) {
            true => (*first).to_owned(),
            false if is_in(BETWEEN, first) && is_in(NOUNS, second) => format!("{first} {second}"),
            false => continue,
        };
        if !line[..open].ends_with('/') {
            found.push(format!("{} {noun}", &line[open..=at]));
        }
    }
    found
}

#[test]
fn no_text_of_the_product_can_count_one_in_the_plural() {
    let mut seen = vec![false; NEVER_ONE.len()];
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for found in lines.flat_map(plurals) {
            let path = path.to_string_lossy();
            let is_it =
                |(file, text, _): &(&str, &str, &str)| path.ends_with(file) && *text == found;
            match NEVER_ONE.iter().position(is_it) {
                Some(at) => seen[at] = true,
                None => wrong.push(format!("{path}: {found}")),
            }
        }
    }
    assert!(wrong.is_empty(), "choose the noun with `ralph_core::text::plural::noun`: {wrong:#?}");
    let unseen: Vec<_> = NEVER_ONE.iter().zip(&seen).filter(|(_, seen)| !**seen).collect();
    assert!(unseen.is_empty(), "not in the sources any more: {unseen:#?}");
}

#[test]
fn a_plural_behind_a_number_is_found_in_every_form() {
    for (line, expected) in [
        (r#"format!("{n} tasks done")"#, &["{n} tasks"][..]),
        (r#""{} of {total:>3} criteria hold""#, &["{total:>3} criteria"]),
        (r#""{n} more files, {m} rounds""#, &["{n} more files", "{m} rounds"]),
        (r#""{done}/{total} tasks done""#, &[]),
        (r#""{name} has tasks; {n} {}""#, &[]),
        (r#""{n} task""#, &[]),
    ] {
        assert_eq!(plurals(line), expected, "{line}");
    }
}
