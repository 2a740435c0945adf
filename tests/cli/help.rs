//! `--help` of every command, kept in `help/`; `RALPH_UPDATE_HELP=1` writes it anew.

use crate::world::World;
use std::path::Path;

const COMMANDS: [&str; 22] = [
    "",
    "start",
    "status",
    "cancel",
    "pause",
    "resume",
    "adopt",
    "trust",
    "explain",
    "task",
    "task list",
    "task show",
    "task ready",
    "task add",
    "task claim",
    "task renew",
    "task done",
    "task fail",
    "task release",
    "task block",
    "task deps",
    "task import",
];

#[test]
fn the_help_of_every_command_is_as_it_is_kept() {
    let world = World::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cli/help");
    let update = std::env::var_os("RALPH_UPDATE_HELP").is_some();
    for command in COMMANDS {
        let words: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let help = world.ralph(&words).done();
        assert_eq!(help.stderr, "");
        let name = format!("ralph {command}").trim_end().replace(' ', "-");
        let path = folder.join(format!("{name}.txt"));
        if update {
            std::fs::write(&path, &help.stdout).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(help.stdout, kept, "`{name}`: RALPH_UPDATE_HELP=1 writes it anew");
    }
}

/// A command that is forgotten above would have no kept help.
#[test]
fn every_command_that_the_help_names_is_kept() {
    let world = World::new();
    for parent in ["", "task"] {
        let words: Vec<&str> = parent.split_whitespace().chain(["--help"]).collect();
        let help = world.ralph(&words).done().stdout;
        let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
        for line in list.lines() {
            let name = line.split_whitespace().next().unwrap();
            let full = format!("{parent} {name}").trim_start().to_owned();
            assert!(name == "help" || COMMANDS.contains(&full.as_str()), "{full}");
        }
    }
}
