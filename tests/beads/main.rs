//! Which `bd` is used, and which is refused, with a stand-in for it: this very executable under that name.

// The tests start the programs they test, and clippy does not see that a binary without harness is a test.
#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

mod stand_in;
#[allow(dead_code)]
#[path = "../cli/world.rs"]
mod world;

use libtest_mimic::{Arguments, Failed, Trial};
use ralph_test_support::timeless;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::ExitCode;
use world::World;

fn main() -> ExitCode {
    let own_name = std::env::args().next().unwrap_or_default();
    if Path::new(&own_name).file_name().is_some_and(|name| name == "bd") {
        return stand_in::run();
    }
    let tests: [(&str, fn()); 2] = [
        ("doctor_tells_a_bd_that_is_missing_old_or_broken", broken),
        ("the_program_that_is_named_is_used", named),
    ];
    let trials = tests.map(|(name, test)| {
        Trial::test(name, move || -> Result<(), Failed> {
            test();
            Ok(())
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
}

/// A world whose project has `.beads`, with the stand-in in this folder.
fn project(folder: &str) -> World {
    let world = World::new();
    fs::create_dir_all(world.path(folder)).unwrap();
    symlink(std::env::current_exe().unwrap(), world.path(folder).join("bd")).unwrap();
    world.write("project/.beads/issues.jsonl", "");
    world
}

fn line(doctor: &str) -> Option<&str> {
    doctor.lines().find(|line| line.contains("  beads: "))
}

fn broken() {
    let world = project("bin");
    let check = |expected: &str| {
        let said = world.ralph(&["doctor"]).stdout;
        let line = line(&said).unwrap();
        assert!(line.starts_with(expected), "{line}");
    };
    check("ok    beads: `bd` 1.2.2, and 1.0.4 or newer is needed");
    world.write("project/.beads/version", "0.9.0");
    check("warn  beads: `bd` is 0.9.0, and Ralph needs 1.0.4 or newer");
    world.write("project/.beads/version", "1.0.3");
    check("warn  beads: `bd` is 1.0.3, and Ralph needs 1.0.4 or newer");
    world.write("project/.beads/version", "next");
    check("warn  beads: could not tell the version of `bd`");
    fs::remove_file(world.path("project/.beads/version")).unwrap();
    world.write("project/.beads/form", "broken");
    check("warn  beads: could not tell the version of `bd`, which said `Found 2 issues`");
    fs::remove_file(world.path("bin/bd")).unwrap();
    check(
        "warn  beads: could not find `bd`; install bd (beads, https://github.com/gastownhall/beads), or name it in RALPH_BD",
    );
    fs::remove_dir_all(world.path("project/.beads")).unwrap();
    assert_eq!(line(&world.ralph(&["doctor"]).stdout), None);
}

fn named() {
    let world = project("elsewhere");
    let check = |program: &str, expected: &str| {
        let mut command = world.command(env!("CARGO_BIN_EXE_ralph").as_ref(), "");
        command.arg("doctor").env("RALPH_BD", world.path(program));
        let said = String::from_utf8(command.output().unwrap().stdout).unwrap();
        let line = line(&said).unwrap();
        assert!(line.contains(expected), "{line}");
    };
    check("elsewhere/bd", "`bd` 1.2.2");
    check("elsewhere/nothing", "elsewhere/nothing`; install bd");
}
