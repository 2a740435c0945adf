//! What a worker's work tree begins from, in the real client: what its folder holds, and what
//! `ralph` says of it beforehand.

use std::path::Path;

use ralph_io::git::worktrees;
use ralph_test_support::fake_api::{Script, ScriptedTurn, StandIn};
use serde_json::json;

use crate::Test;
use crate::kept::installed;
use crate::support::World;

pub(crate) const TESTS: &[Test] = tests![
    a_worker_sees_local_commits_once_it_may_begin_from_head,
    without_a_branch_of_the_remote_that_is_known_a_worker_begins_from_head,
    a_project_that_nobody_trusts_says_what_workers_begin_from,
    what_a_worker_has_committed_is_left_and_named,
];

/// A project whose remote has its first commit, and which has a second one and a file of none.
fn ahead_of_its_remote(branch: &str) -> World {
    let world = installed();
    let remote = world.root().join("remote.git");
    let remote = remote.to_str().unwrap();
    world.git(&["init", "-q", "--bare", "-b", branch, remote]);
    world.git(&["branch", "-m", branch]);
    world.git(&["remote", "add", "origin", remote]);
    world.git(&["push", "-q", "origin", branch]);
    world.write("committed", "");
    world.git(&["add", "committed"]);
    world.git(&["commit", "-q", "-m", "Only here"]);
    world.write("uncommitted", "");
    world
}

/// What a shell command prints for a worker.
fn worker_runs(world: &World, folder: &Path, command: &str) -> String {
    let call = json!({"description": "look", "prompt": "LOOKER: look", "subagent_type": "ralph-worker", "run_in_background": false});
    let looker = Script::new().turn(ScriptedTurn::bash(command)).turn(ScriptedTurn::text("Seen."));
    let script = Script::new()
        .turn(ScriptedTurn::tool("Agent", call))
        .turn(ScriptedTurn::text("Done."))
        .subagent("LOOKER", looker);
    let stand_in = StandIn::start(script).unwrap();
    let run = world.client(&stand_in).in_folder(folder).prompt("Have it looked at.");
    assert_eq!(run.result()["result"], "Done.");
    stand_in.subagent_requests()[1].tool_results()[0].text.clone()
}

#[track_caller]
fn check_files(world: &World, expected: &str) {
    assert_eq!(worker_runs(world, &world.project(), "ls").replace('\n', " "), expected);
}

#[track_caller]
fn doctor_says(world: &World, expected: &str) {
    let said = world.ralph(&["doctor"]).stdout;
    assert!(said.contains(expected), "no `{expected}` in:\n{said}");
}

fn a_worker_sees_local_commits_once_it_may_begin_from_head() {
    let world = ahead_of_its_remote("main");
    doctor_says(&world, "`origin/main` lacks 1 commit of yours");
    check_files(&world, "README.md");
    world.ralph(&["install", "--with", "worker-base"]).exits(0);
    doctor_says(&world, "ok    worker base: ");
    check_files(&world, "README.md committed");
    world.ralph(&["uninstall"]).exits(0);
    world.ralph(&["install"]).exits(0);
    check_files(&world, "README.md");
}

fn without_a_branch_of_the_remote_that_is_known_a_worker_begins_from_head() {
    let world = ahead_of_its_remote("trunk");
    check_files(&world, "README.md committed");
    world.git(&["remote", "set-head", "origin", "trunk"]);
    doctor_says(&world, "`origin/trunk` lacks 1 commit of yours");
    check_files(&world, "README.md");
}

fn a_project_that_nobody_trusts_says_what_workers_begin_from() {
    let world = ahead_of_its_remote("main");
    let clone = world.root().join("clone");
    let clone_name = clone.to_str().unwrap();
    world.git(&["clone", "-q", world.project().to_str().unwrap(), clone_name]);
    let settings = clone.join(".claude/settings.json");
    std::fs::create_dir(clone.join(".claude")).unwrap();
    std::fs::write(settings, r#"{"worktree": {"baseRef": "head"}}"#).unwrap();
    world.git(&["-C", clone_name, "commit", "-q", "--allow-empty", "-m", "In the clone"]);
    let subject = "git log -1 --format=%s";
    assert_eq!(worker_runs(&world, &clone, subject), "In the clone");
}

fn what_a_worker_has_committed_is_left_and_named() {
    let world = ahead_of_its_remote("main");
    let script = "touch done && git add done && git commit -q -m Done && ralph doctor";
    let seen = worker_runs(&world, &world.project(), script);
    assert!(seen.contains("ok    work trees: "), "{seen}");
    assert!(!seen.contains("workers left"), "it is at work:\n{seen}");
    let left = worktrees::left(&world.project()).unwrap().1;
    assert_eq!(left.len(), 1);
    doctor_says(
        &world,
        &format!(
            "workers left 1 in `{}/.claude/worktrees`: {}; look",
            world.project().display(),
            left[0]
        ),
    );
}
