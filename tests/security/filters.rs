//! Filters of files are programs that a repository may name. Only what stores or restores files runs
//! them: checkpoints, the copy that checks compare with, and a merge.

use crate::attack::{COMMANDS, Canary, command, events, hook};
use crate::is_proof;
use crate::world::World;
use std::fs;
use std::process::Command;

/// Each way in which a repository can name a filter.
const WAYS: [&str; 5] =
    ["clean", "process", "capital letters", "an included file", "the worktree's own"];

fn plant(world: &World, canary: &Canary, way: &str) {
    let config = |key: &str, value: &str| {
        let mut git = Command::new("git");
        git.arg("-C").arg(world.project()).args(["config", key, value]);
        assert!(git.status().unwrap().success(), "{key}");
    };
    let section = format!("[Filter \"evil\"]\n\tClean = {:?}\n", canary.trap("clean"));
    match way {
        "clean" => {
            config("filter.evil.clean", &canary.trap("clean"));
            config("filter.evil.smudge", &canary.trap("smudge"));
            config("filter.evil.required", "true");
        }
        "process" => config("filter.evil.process", &canary.trap("process")),
        "capital letters" => {
            let path = world.project().join(".git/config");
            let text = fs::read_to_string(&path).unwrap() + &section;
            fs::write(path, text).unwrap();
        }
        "an included file" => {
            fs::write(world.project().join(".git/more"), section).unwrap();
            config("include.path", "more");
        }
        _ => {
            config("extensions.worktreeConfig", "true");
            fs::write(world.project().join(".git/config.worktree"), section).unwrap();
        }
    }
    for setting in ["core.fsmonitor", "diff.evil.textconv", "diff.external"] {
        config(setting, &canary.trap(setting));
    }
    fs::write(world.project().join(".git/info/attributes"), "* filter=evil diff=evil\n").unwrap();
    world.write("tracked", "another content\n");
}

#[test]
fn no_look_at_a_project_and_no_start_runs_a_filter_of_the_repository() {
    for way in WAYS {
        // Whoever starts git finds the filters' names in one place: each way of naming them is for a few commands.
        let is_whole = way == WAYS[0] || is_proof();
        let commands =
            if is_whole { &COMMANDS[..] } else { &[&["verify"][..], &["checkpoint", "diff"]] };
        let world = World::new();
        let canary = Canary::in_world(&world);
        plant(&world, &canary, way);
        for words in commands {
            command(&world, words);
        }
        for source in ["startup", "resume", "clear"] {
            world.session_starts(source);
        }
        assert_eq!(canary.ran(), [""; 0], "{way}: without a loop");
        world.start("--ac 'it is done=grep -q yes done'");
        assert_eq!(canary.ran(), [""; 0], "{way}: the start");
        for (name, event, members) in
            events().into_iter().filter(|(_, event, _)| *event != "SessionEnd")
        {
            hook(&world, name, event, members);
        }
        for words in commands.iter().filter(|words| words[0] != "pause") {
            command(&world, words);
        }
        // A comparison with a checkpoint stores what it compares with; nothing holds yet, so there is none.
        assert_eq!(canary.ran(), [""; 0], "{way}: a loop");
        // It would have run.
        let mut git = Command::new("git");
        git.arg("-C").arg(world.project()).args(["-c", "core.fsmonitor=false", "add", "tracked"]);
        let _ = git.output();
        assert!(!canary.ran().is_empty(), "{way}: the filter is none");
    }
}

#[test]
fn a_checkpoint_stores_through_the_filters_and_nothing_before_it_does() {
    let world = World::new();
    let canary = Canary::in_world(&world);
    plant(&world, &canary, "clean");
    world.start("--ac 'it is done=grep -q yes done' --ac 'never=test -e never'");
    world.write("done", "yes\n");
    world.stop("RALPH_COMPLETE").goes_on();
    assert_eq!(canary.ran(), [""; 0], "a request that is refused stores nothing");
    world.write("never", "");
    world.stop("RALPH_COMPLETE").ends("Ralph: done in ");
    assert!(canary.ran().contains(&"clean".to_owned()));
}
