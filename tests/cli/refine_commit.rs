//! `ralph refine … --commit`: a commit of the plan and of nothing else, and none where nobody asked.

use crate::refine::{n_called, plan, world};
use crate::world::World;
use std::fs;
use std::path::Path;

/// Three rounds of which the last changes nothing, in a repository with other work in it.
fn repository(client: &str) -> World {
    let world = world(client).under_git();
    git(&world, &["add", "."]);
    git(&world, &["-c", "user.name=t", "-c", "user.email=t@e", "commit", "-q", "-m", "first"]);
    world.write("project/staged", "of somebody\n");
    git(&world, &["add", "staged"]);
    world.write("project/open", "of somebody\n");
    world.write("project/.git/hooks/post-commit", "#!/bin/sh\necho ran >ran\n");
    world
}

const ROUNDS: &str = "case $n in 1) lines 2; ended 2;; 2) lines 1; ended 1;; *) ended 0;; esac";

fn git(world: &World, arguments: &[&str]) -> String {
    let mut command = world.command(Path::new("git"), "");
    let output = command.args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?} {output:?}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

fn refine(world: &World, more: &[&str]) -> crate::world::Printed {
    let all = ["refine", "loop", "--plan", "plan.md", "--no-notify"];
    world.ralph(&all.iter().chain(more).copied().collect::<Vec<_>>())
}

/// What git says of the work tree, but for Ralph's own document.
fn status(world: &World) -> String {
    let all = git(world, &["status", "--porcelain"]);
    all.lines().filter(|line| !line.ends_with(".claude/")).collect::<Vec<_>>().join("\n")
}

#[test]
fn without_it_nothing_is_committed_and_the_index_is_not_touched() {
    let world = repository(ROUNDS);
    let head = git(&world, &["rev-parse", "HEAD"]);
    let index = fs::read(world.path("project/.git/index")).unwrap();
    let objects = git(&world, &["count-objects"]);
    refine(&world, &[]).done();
    assert_eq!(git(&world, &["count-objects"]), objects);
    assert_eq!(fs::read(world.path("project/.git/index")).unwrap(), index);
    assert_eq!(git(&world, &["rev-parse", "HEAD"]), head);
    assert_eq!(status(&world), " M plan.md\nA  staged\n?? open");
}

#[test]
fn each_round_that_became_the_plan_is_a_commit_of_that_file_alone() {
    let world = repository(ROUNDS);
    let printed = refine(&world, &["--commit"]).done();
    assert_eq!(git(&world, &["log", "--format=%s"]), "in call 2\nin call 1\nfirst");
    let id = git(&world, &["rev-parse", "HEAD~1"]);
    assert!(
        printed.stderr.contains(&format!("committed `plan.md` as {}", &id[..7])),
        "{printed:?}"
    );
    let body = git(&world, &["log", "-1", "--format=%b", "HEAD~1"]);
    let expected = "Round 1 of the refinement plan of plan.md: 2 changes; measured: 2 lines";
    assert!(body.starts_with(expected), "{body}");
    for commit in ["HEAD", "HEAD~1"] {
        let changed = git(&world, &["show", "--name-only", "--format=", commit]);
        assert_eq!(changed, "plan.md", "{commit}");
    }
    assert_eq!(git(&world, &["show", "HEAD:plan.md"]), plan(&world).trim_end());
    assert_eq!(
        status(&world),
        "A  staged\n?? open",
        "what is staged stays so, and the plan is clean"
    );
    assert!(!world.path("project/ran").exists(), "no hook of the repository ran");
}

#[test]
fn what_would_go_along_is_refused_before_a_round_begins() {
    let world = repository(ROUNDS);
    let refused = |exit: i32, arguments: &[&str], words: &str| {
        let printed = world.ralph(arguments);
        assert_eq!(printed.exit, exit, "{printed:?}");
        assert!(printed.stderr.contains(words), "{printed:?}");
    };
    let once = ["refine", "once", "--plan", "plan.md", "--commit"];
    let before = plan(&world);
    world.write("project/plan.md", "staged\n");
    git(&world, &["add", "plan.md"]);
    refused(1, &once, "`plan.md` has changes that are staged; commit or undo that first");
    git(&world, &["reset", "-q", "plan.md"]);
    refused(1, &once, "`plan.md` has changes that are not committed");
    world.write("project/plan.md", &before);
    world.write("project/new.md", "one\n");
    refused(1, &["refine", "once", "--plan", "new.md", "--commit"], "`new.md` is in no commit yet");
    world.run("", &["plan-sync"], "{\"id\":\"T-1\",\"name\":\"one\"}\n").done();
    refused(2, &["refine", "once", "--mode", "beads", "--commit"], "`--commit` is for plans");
    let elsewhere = crate::refine::world(ROUNDS).with_git();
    let printed = elsewhere.ralph(&once);
    assert!(printed.stderr.contains("in no git repository"), "{printed:?}");
    assert_eq!((n_called(&world), n_called(&elsewhere)), (0, 0));
    assert!(!world.path("project/.claude").exists());
}

#[test]
fn a_persons_edit_is_in_no_commit_of_a_round() {
    // The person edits while round 1 runs, and again between two rounds.
    let world = repository(
        "case $n in 1) lines 2; echo mine >plan.md; ended 2;; 2) lines 1; ended 1;; *) ended 0;; esac",
    );
    let printed = refine(&world, &["--commit"]);
    assert_eq!(printed.exit, 1, "not all that was asked for is done: {printed:?}");
    assert!(
        printed.stderr.contains("round 2 is not committed: `plan.md` has changes that are not"),
        "{printed:?}"
    );
    assert_eq!(git(&world, &["log", "--format=%s"]), "first");
    assert!(plan(&world).starts_with("mine\n"));
}
