//! `--help` of every command, kept in `help/`; `RALPH_UPDATE_HELP=1` writes it anew.

use crate::world::World;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The help of a command and of all that are below it, by their names.
fn gather(world: &World, command: &str, found: &mut BTreeMap<String, String>) {
    let words: Vec<&str> = command.split_whitespace().skip(1).chain(["--help"]).collect();
    let help = world.ralph(&words).done();
    assert_eq!(help.stderr, "");
    let list = help.stdout.split("Commands:\n").nth(1).unwrap_or_default();
    for line in list.split("\n\n").next().unwrap_or_default().lines() {
        // A description that is wrapped goes on further to the right.
        let name = line.strip_prefix("  ").and_then(|line| line.split(' ').next());
        if let Some(name) = name.filter(|name| !["", "help"].contains(name)) {
            gather(world, &format!("{command} {name}"), found);
        }
    }
    found.insert(command.to_owned(), help.stdout);
}

#[test]
fn the_help_of_every_command_is_as_it_is_kept() {
    let world = World::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cli/help");
    let update = std::env::var_os("RALPH_UPDATE_HELP").is_some();
    let mut found = BTreeMap::new();
    gather(&world, "ralph", &mut found);
    assert!(found.contains_key("ralph task claim"), "{:?}", found.keys());
    for (command, help) in &found {
        let path = folder.join(format!("{}.txt", command.replace(' ', "-")));
        if update {
            fs::write(&path, help).unwrap();
        }
        let kept = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(*help, kept, "`{command}`: RALPH_UPDATE_HELP=1 writes it anew");
    }
    assert_eq!(
        fs::read_dir(folder).unwrap().count(),
        found.len(),
        "a command is gone; its help is not"
    );
}
