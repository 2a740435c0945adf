//! The table of cases is complete: every command of `ralph` writes and has a case, or writes through others that have
//! one, or only reads.

use crate::cases;
use clap::Command;
use ralph_core::guard::commands::Reach;
use ralph_test_support::commands;
use std::collections::BTreeSet;

/// Commands that write nothing of a loop, of the person's settings or of the project, although they reach more than those
/// that only read.
const READING: &[&str] = &[
    // Its keys do what the commands of the same names do, by the same functions.
    "watch",
    "demo",
    "refine peek",
    "refine attach",
];

/// Commands that only read for the model and that write what Ralph remembers, or where the user says.
const WRITE_TOO: &[&str] = &["report", "next"];

/// Commands that write through others which have cases: `next`, `team new` and `start`. Beside them it is
/// killed in every kind of call by `tests/cli/session_run.rs`: a failed call waits half a minute before it is made
/// again, too long to be struck at thousands of points.
const BY_OTHERS: &[&str] = &["team run"];

pub(crate) const TESTS: &[(&str, fn())] =
    &[("every_command_that_writes_is_cut_or_known_to_only_read", complete)];

fn complete() {
    let mut known: BTreeSet<String> = READING.iter().map(|name| (*name).to_owned()).collect();
    known.extend(BY_OTHERS.iter().map(|name| (*name).to_owned()));
    known.extend(cases::all().iter().filter_map(|case| case.command).map(str::to_owned));
    let mut there = BTreeSet::new();
    let table = ralph::cli::command();
    for command in documented(&table) {
        let name = command.get_name();
        let mut below = documented(command).peekable();
        match below.peek() {
            None => drop(there.insert(name.to_owned())),
            Some(_) => there.extend(below.map(|second| format!("{name} {}", second.get_name()))),
        }
    }
    let reading = commands().into_iter().filter(|(_, reach)| *reach == Reach::Reads);
    let reading = reading.map(|(words, _)| words[..words.len().min(2)].join(" "));
    known
        .extend(reading.filter(|name| there.contains(name) && !WRITE_TOO.contains(&name.as_str())));
    assert!(there.len() > 20, "{there:?}");
    assert_eq!(known, there);
}

fn documented(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|one| !ralph::cli::is_internal(one))
}
