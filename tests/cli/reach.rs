//! What the model's own commands reach: no command with any of its options changes another loop,
//! another orchestration or refinement, or a file elsewhere.

use crate::world::World;
use clap::{Arg, Command};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The id of the orchestration.
const OTHER_WORK: &str = "260101-120000";

/// A project with the model's loop, in session `S`, and beside it what is not the model's: a loop, an
/// orchestration and a refinement with an open round.
fn crowded() -> (World, String) {
    let world = World::new().under_git();
    world.write("project/plan.md", "# Plan\n\n1. Do it.\n");
    world.write("other/secret.txt", "x");
    world.ralph(&["session", "new", "--id", OTHER_WORK, "x"]).done();
    world.ralph(&["refine", "begin", "--plan", "plan.md"]).done();
    world.ralph(&["start", "--session", "O", "another"]).done();
    let other = world.loop_id();
    world.in_session("O", &["task", "add", "a", "--id", "T-1"], "").done();
    let world = world.live_loop("S");
    world.in_session("S", &["task", "add", "a", "--id", "T-1"], "").done();
    (world, other)
}

/// Every file that the model's loop does not own, with its content.
fn others(world: &World, other: &str) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for folder in ["home", "other", "project", "ralph/refine", "ralph/sessions", "ralph/archive"] {
        read(&world.path(folder), &mut all);
    }
    read(&world.path("ralph/loops").join(other), &mut all);
    all
}

fn read(folder: &Path, all: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_lock = path.extension().is_some_and(|end| end == "lock");
        match path.is_dir() {
            true => read(&path, all),
            // A lock is made by whoever looks.
            false if is_lock => {}
            false => drop(all.insert(path.display().to_string(), fs::read(&path).unwrap())),
        }
    }
}

/// Every command with its words.
fn leaves(command: &Command, above: &[String], all: &mut Vec<(Vec<String>, Command)>) {
    for one in command.get_subcommands() {
        let words = [above, &[one.get_name().to_owned()]].concat();
        match one.has_subcommands() {
            true => leaves(one, &words, all),
            false => all.push((words, one.clone())),
        }
    }
}

/// True for an argument that may name something: no number, and no word of a list.
fn may_name(arg: &Arg) -> bool {
    let names = arg.get_value_names().unwrap_or_default();
    let is_number = names.iter().any(|name| ["N", "MINUTES", "USD"].contains(&name.as_str()));
    arg.get_action().takes_values() && arg.get_possible_values().is_empty() && !is_number
}

/// The lines that a command is tried with: alone, with each name for each argument that selects
/// something, and with each text for each other argument.
fn lines(
    words: &[String],
    command: &Command,
    names: &[String],
    texts: &[String],
) -> Vec<Vec<String>> {
    let required = command.get_arguments().filter(|arg| arg.is_required_set());
    let needed: Vec<String> = required
        .flat_map(|arg| match arg.get_long() {
            Some(long) => vec![format!("--{long}"), "x".to_owned()],
            None if arg.get_id() == "status" => vec!["done".to_owned()],
            None if arg.get_id() == "word" => vec!["steer".to_owned()],
            None => vec!["T-1".to_owned()],
        })
        .collect();
    let mut all = vec![[words, &needed].concat()];
    for arg in command.get_arguments().filter(|arg| may_name(arg)) {
        // The other loop for each, and one of the rest in turn.
        let other = [&names[0], &names[1 + all.len() % (names.len() - 1)]];
        let selects = matches!(arg.get_long(), Some("session" | "loop" | "id"));
        let values = if selects { other.to_vec() } else { texts.iter().collect() };
        for value in values {
            let more = match arg.get_long() {
                Some(long) => vec![format!("--{long}={value}")],
                None => vec![value.clone()],
            };
            let rest = if arg.is_positional() && arg.is_required_set() { &[] } else { &needed[..] };
            all.push([words, rest, &more].concat());
        }
    }
    all
}

#[test]
fn no_command_of_the_model_changes_what_is_not_its_own_whatever_it_names() {
    let (world, other) = crowded();
    let outside = world.path("other");
    let names = [&*other, "O", OTHER_WORK, "plan"].map(str::to_owned);
    let texts = [
        outside.join("made").display().to_string(),
        format!("x=touch {}", outside.join("ran").display()),
    ];
    let mut all = Vec::new();
    leaves(&ralph::cli::command(), &[], &mut all);
    assert!(all.len() > 60, "{}", all.len());
    let before = others(&world, &other);
    for (words, command) in all {
        for line in lines(&words, &command, &names, &texts) {
            let given: Vec<&str> = line.iter().map(String::as_str).collect();
            let printed = world.in_session("S", &given, "");
            let after = others(&world, &other);
            let is_new = |path: &&String| before.get(*path) != after.get(*path);
            let changed: Vec<_> = before.keys().chain(after.keys()).filter(is_new).collect();
            assert!(changed.is_empty(), "ralph {}: {changed:?}\n{printed:?}", line.join(" "));
        }
    }
}

#[test]
fn an_orchestration_or_refinement_of_another_is_refused_with_its_reason() {
    let (world, _) = crowded();
    for line in [
        &["session", "mark", "T-1", "done"][..],
        &["session", "mark", "T-1", "done", "--id", OTHER_WORK],
        &["session", "repair", "--id", OTHER_WORK],
        &["refine", "end", "--id", "plan"],
        &["task", "add", "b", "--session", "O"],
    ] {
        let printed = world.in_session("S", line, "");
        assert_eq!(printed.exit, 1, "{line:?}: {printed:?}");
        assert!(printed.stderr.contains("it is about another loop"), "{line:?}: {printed:?}");
    }
    let begun = world.in_session("S", &["refine", "begin", "--plan", "plan.md"], "");
    assert!(
        begun.exit == 1 && begun.stderr.contains("a loop is live in this session"),
        "{begun:?}"
    );
    for line in [&["session", "next", "--id", OTHER_WORK][..], &["refine", "status"]] {
        world.in_session("S", line, "").done();
    }
}
