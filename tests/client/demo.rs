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
        "1/5  ralph  not yet: RALPH_COMPLETE was in your message",
        "by `git diff --stat` it is a stall",
        "denies it: `ralph cancel` is for a person",
        "4/5  ralph  ends it: complete",
        "with 11 model calls",
    ] {
        assert!(run.stdout.contains(part), "{part}: {run:?}");
    }
    assert_eq!(std::fs::read_to_string(world.settings_file()).unwrap(), before);
}
