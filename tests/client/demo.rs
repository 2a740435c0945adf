//! `ralph demo --client`: the story with the client itself.

use crate::Test;
use crate::support::{CLIENT_VARIABLE, PATIENCE, Run, World, executables};

pub(crate) const TESTS: &[Test] = tests![the_client_plays_the_story_to_its_end];

fn the_client_plays_the_story_to_its_end() {
    let world = World::new();
    let before = std::fs::read_to_string(world.settings_file()).unwrap();
    let mut command = world.command(executables().join("ralph"));
    command.args(["demo", "--client"]);
    command.env("RALPH_CLAUDE", std::env::var_os(CLIENT_VARIABLE).unwrap());
    let run = Run::of(command, "", 3 * PATIENCE).exits(0);
    for part in [
        "0/5  ralph  denies it: A Ralph loop is running and nobody is there",
        "1/5  ralph  not yet: Ralph loop, iteration 1/5.",
        "2/5  ralph  refuses: AC-2 failed (exit code 1)",
        "denies it: `ralph cancel` is for a person",
        "2/5  ralph  proves it: All 2 hold. Kept as checkpoint 1.",
        "AC-1 held at checkpoint 1 and is red now; changed since: greet.sh.",
        "3/5  ralph  ends it: complete: both criteria hold",
        "Kept as checkpoint 2.",
        "with 12 model calls",
    ] {
        assert!(run.stdout.contains(part), "{part}: {run:?}");
    }
    assert_eq!(std::fs::read_to_string(world.settings_file()).unwrap(), before);
}
