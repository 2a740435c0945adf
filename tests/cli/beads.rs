//! Which `bd` is used, and which is refused.

use crate::world::World;
use ralph_test_support::executables::{FAKE_BD, executables};
use std::fs;
use std::os::unix::fs::symlink;

/// A world whose project has `.beads`, with the fake `bd` in this folder.
fn project(folder: &str) -> World {
    let world = World::new();
    fs::create_dir_all(world.path(folder)).unwrap();
    symlink(executables().join(FAKE_BD), world.path(folder).join("bd")).unwrap();
    world.write("project/.beads/issues.jsonl", "");
    world
}

fn line(doctor: &str) -> Option<&str> {
    doctor.lines().find(|line| line.contains("  beads: "))
}

#[test]
fn doctor_tells_a_bd_that_is_missing_old_or_broken() {
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

#[test]
fn the_program_that_is_named_is_used() {
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
