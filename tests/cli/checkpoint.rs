//! `ralph checkpoint`: looking back at what was kept, and bringing it back.

use crate::world::{Printed, World};
use jiff::Timestamp;
use ralph_io::git::checkpoint::{Checkpoint, TreeSnapshot};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// A project under git with a live loop.
fn world() -> World {
    let world = World::new().with_git();
    git_in(&world.path("project"), &["init", "-q", "-b", "main"]);
    world.write("project/file", "one\n");
    world.live_loop("S")
}

fn git_in(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Starting git takes most of what `ralph verify` adds to the time of its commands.
#[test]
fn the_proof_of_two_criteria_and_its_checkpoint_start_git_12_times() {
    let world = World::new().under_git();
    let git = fs::read_link(world.path("bin/git")).unwrap();
    let criteria = ["--ac", "a=test -d .git", "--ac", "b=test -f .git/HEAD"];
    world.ralph(&[&["start", "--session", "S", "a task"][..], &criteria].concat()).done();
    let log = world.path("started");
    let script =
        format!("#!/bin/sh\necho \"$*\" >>'{}'\nexec '{}' \"$@\"\n", log.display(), git.display());
    fs::remove_file(world.path("bin/git")).unwrap();
    fs::set_permissions(world.write("bin/git", &script), Permissions::from_mode(0o755)).unwrap();
    let started = |what: &str| {
        world.ralph(&["verify"]).done();
        let calls = fs::read_to_string(&log).unwrap();
        fs::remove_file(&log).unwrap();
        assert_eq!(calls.matches("commit-tree").count(), what.matches("checkpoint").count());
        calls.lines().count()
    };
    assert_eq!(started("a checkpoint"), 12);
    assert_eq!(started("nothing new"), 4);
}

/// What the stop hook does at an all-green moment.
fn keep(world: &World, about: &str, second: i64) -> Checkpoint {
    let at = Timestamp::from_second(1_700_000_000 + second).unwrap();
    let files = TreeSnapshot::capture(&world.path("project")).unwrap().unwrap();
    files.keep(&world.loop_id(), about, at).unwrap()
}

fn short(checkpoint: &Checkpoint) -> &str {
    &checkpoint.commit[..10]
}

#[test]
fn they_are_listed_for_people_and_for_programs() {
    let world = world();
    let first = keep(&world, "AC-T, AC-L hold", 0);
    world.write("project/new", "n\n");
    let second = keep(&world, "AC-T, AC-L hold", 60);
    let rows = format!(
        "loop [LOOP]\n  1  2023-11-14 22:13:20  {}  AC-T, AC-L hold\n  \
         2  2023-11-14 22:14:20  {}  AC-T, AC-L hold\n",
        short(&first),
        short(&second)
    );
    world.ralph(&["checkpoint", "list"]).check(0, &rows, "");
    let document = world.ralph(&["checkpoint", "list", "--json"]).done().json();
    assert_eq!(document["schema_version"], 1);
    let listed = document["checkpoints"].as_array().unwrap();
    assert_eq!(listed.len(), 2);
    assert_eq!(listed[1]["number"], 2);
    assert_eq!(listed[1]["commit"], second.commit.as_str());
    assert_eq!(listed[1]["tree"], second.tree.as_str());
    assert_eq!(listed[1]["at"], "2023-11-14T22:14:20Z");
    assert_eq!(listed[1]["reference"], "refs/ralph/[LOOP]/2");
}

#[test]
fn what_changed_since_is_shown_line_by_line() {
    let world = world();
    keep(&world, "green", 0);
    world.ralph(&["checkpoint", "diff"]).check(0, "", "nothing has changed since checkpoint 1\n");
    world.write("project/file", "two\n");
    let printed = world.ralph(&["checkpoint", "diff"]).done();
    assert!(printed.stdout.ends_with("@@ -1 +1 @@\n-one\n+two\n"), "{printed:?}");
    let shown = world.ralph(&["checkpoint", "show"]).done().stdout;
    assert!(shown.contains("    Ralph checkpoint 1 of loop [LOOP]\n"), "{shown}");
    assert!(shown.contains("Author: Ralph <ralph@localhost>"), "{shown}");
    assert!(shown.contains(" file | 1 +"), "{shown}");
}

#[test]
fn restoring_tells_what_it_did_and_how_to_take_it_back() {
    let world = world();
    keep(&world, "green", 0);
    world.write("project/file", "two\n");
    world.write("project/came", "x");
    world.ralph(&["checkpoint", "restore", "1"]).check(
        0,
        "checkpoint 1 is back in `[ROOT]/project`: 1 written, 1 removed\n  wrote    file\n  \
         removed  came\n`ralph restore 2 --loop [LOOP]` takes it back; your index and \
         branches are as they were\n",
        "",
    );
    assert_eq!(fs::read_to_string(world.path("project/file")).unwrap(), "one\n");
    assert!(!world.path("project/came").exists());
    assert_eq!(world.journal().last().unwrap(), "ralph checkpoint restore: restored");
    world.ralph(&["checkpoint", "restore", "2"]).done();
    assert_eq!(fs::read_to_string(world.path("project/came")).unwrap(), "x");
    let again = world.ralph(&["checkpoint", "restore", "2"]).done();
    assert!(again.stdout.contains("nothing had changed since"), "{again:?}");
}

#[test]
fn what_cannot_be_brought_back_is_named_and_is_a_no() {
    let world = world();
    world.write("project/local", "then");
    keep(&world, "green", 0);
    world.write("project/.gitignore", "local\n");
    world.write("project/local", "precious");
    let printed = world.ralph(&["checkpoint", "restore", "1"]);
    assert_eq!(printed.exit, 1, "{printed:?}");
    assert!(printed.stdout.contains("\n  left     local (git ignores it"));
    assert_eq!(fs::read_to_string(world.path("project/local")).unwrap(), "precious");
}

#[test]
fn those_of_an_ended_loop_and_of_one_whose_state_is_gone_are_found() {
    let world = world();
    keep(&world, "green", 0);
    let loop_id = world.loop_id();
    world.ralph(&["cancel"]).done();
    assert!(world.ralph(&["checkpoint", "list"]).done().stdout.contains("green"));
    world.write("project/file", "two\n");
    world.ralph(&["checkpoint", "restore", "1", "--loop", &loop_id]).done();
    assert_eq!(fs::read_to_string(world.path("project/file")).unwrap(), "one\n");
    fs::remove_dir_all(world.path("ralph")).unwrap();
    assert_eq!(world.ralph(&["checkpoint", "list"]).exit, 1);
    let found = world.ralph(&["checkpoint", "list", "--loop", &loop_id]).done();
    assert!(found.stdout.contains("green"), "{found:?}");
    assert_eq!(world.ralph(&["checkpoint", "list", "--loop", "another"]).exit, 1);
}

#[test]
fn where_there_is_none_it_says_so() {
    let check = |printed: Printed, stderr: &str| printed.check(1, "", stderr);
    let world = world();
    let none =
        "ralph: loop [LOOP] has no checkpoints; one is kept whenever all its criteria hold\n";
    for command in [&["list"][..], &["show"], &["diff"], &["show", "1"], &["restore", "1"]] {
        check(world.ralph(&[&["checkpoint"], command].concat()), none);
    }
    keep(&world, "green", 0);
    check(
        world.ralph(&["checkpoint", "restore", "7"]),
        "ralph: loop [LOOP] has no checkpoint 7; `ralph checkpoint --loop [LOOP]` lists \
         those that it has\n",
    );
    for arguments in [&["restore"][..], &["restore", "0"], &["show", "-1"], &["diff", "x"]] {
        assert_eq!(world.ralph(&[&["checkpoint"], arguments].concat()).exit, 2, "{arguments:?}");
    }
    fs::remove_dir_all(world.path("project/.git")).unwrap();
    check(
        world.ralph(&["checkpoint", "list"]),
        "ralph: loop [LOOP] has no checkpoints: `[ROOT]/project` is in no git repository\n",
    );
}

#[test]
fn a_git_that_fails_or_is_missing_is_told_with_its_own_code() {
    let world = world();
    keep(&world, "green", 0);
    fs::write(world.path("project/.git/index"), "nonsense").unwrap();
    let printed = world.ralph(&["checkpoint", "restore", "1"]);
    assert_eq!(printed.exit, 4, "{printed:?}");
    assert!(printed.stderr.contains("nothing was restored"), "{printed:?}");
    fs::remove_file(world.path("bin/git")).unwrap();
    let printed = world.ralph(&["checkpoint", "list"]);
    assert_eq!(printed.exit, 4, "{printed:?}");
    assert!(printed.stderr.contains("could not find `git`; install it"), "{printed:?}");
}

#[test]
fn an_environment_that_names_another_repository_is_not_heard() {
    let world = world();
    keep(&world, "green", 0);
    git_in(&world.path("other"), &["init", "-q"]);
    let mut command = world.command(Path::new(env!("CARGO_BIN_EXE_ralph")), "");
    command.args(["checkpoint", "list"]);
    for (name, value) in [("GIT_DIR", ".git"), ("GIT_INDEX_FILE", "index"), ("GIT_NAMESPACE", "")] {
        command.env(name, world.path("other").join(value));
    }
    let printed = world.finish(crate::world::start(&mut command), "").done();
    assert!(printed.stdout.contains("green"), "{printed:?}");
}
