//! A driver that is killed leaves no client at work, and the next run goes on.

use crate::world::{World, start, wait_for};
use ralph_test_support::is_running;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Child;

/// Starts a child of its own group and one of its own session, and works until somebody ends it.
const WORKS_ON: &str = r#"#!/bin/sh
[ "$1" = --version -o "$1" = /cost ] && echo '2.1.328 (Claude Code)' && exit
note='echo $$ >>"$HOME/pids"; exec sleep 600'
echo $$ >>"$HOME/pids"
sh -c "$note" &
setsid sh -c "$note" &
printf '%s\n' '{"type":"system","subtype":"init","session_id":"s"}'
sleep 600
"#;

/// Closes its task, and says that it changed nothing.
const ENDS: &str = r#"#!/bin/sh
[ "$1" = --version -o "$1" = /cost ] && echo '2.1.328 (Claude Code)' && exit
ralph task done T-1 --owner 'ralph build' --result did >/dev/null 2>&1
printf '%s\n' '{"type":"result","is_error":false,"result":"CHANGES: 0\nSUMMARY: nothing"}'
"#;

fn world() -> World {
    let world = World::new().permissive();
    for tool in ["sh", "sleep", "setsid", "env", "cat"] {
        let places = ["/usr/bin", "/bin"].map(|folder| format!("{folder}/{tool}"));
        let place = places.iter().find(|place| fs::exists(place).unwrap()).unwrap();
        let _ = symlink(place, world.path("bin").join(tool));
    }
    symlink(env!("CARGO_BIN_EXE_ralph"), world.path("bin/ralph")).unwrap();
    world.write("project/plan.md", "# Plan\n");
    world.write("home/.claude/agents/ralplan-critic.md", "");
    client(&world, WORKS_ON);
    world
}

fn client(world: &World, script: &str) {
    let path = world.write("bin/claude", script);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn pids(world: &World) -> Vec<String> {
    let text = fs::read_to_string(world.path("home/pids")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn is_gone(pid: &str) -> bool {
    !is_running(pid.parse().unwrap())
}

/// Kills the command in the middle of its round, and waits until nothing of its client is alive.
#[track_caller]
fn killed(world: &World, command: &[&str]) {
    let mut child: Child =
        start(world.command(Path::new(env!("CARGO_BIN_EXE_ralph")), "").args(command));
    wait_for(&format!("{command:?}: a client with two children"), || pids(world).len() == 3);
    assert!(!pids(world).iter().any(|pid| is_gone(pid)), "{command:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for(&format!("{command:?}: the end of its client"), || {
        pids(world).iter().all(|pid| is_gone(pid))
    });
}

fn planned(world: &World) {
    let plan = json!({"prompt": "p",
        "acceptance_criteria": [{"id": "AC-1", "description": "d", "verification_command": "test -f plan.md"}],
        "task_graph": [{"id": "T-1", "name": "n", "deps": [], "completion_condition": "c", "files": ["plan.md"]}]});
    world.run("", &["task", "import", "-"], &plan.to_string()).done();
}

#[test]
fn a_driver_that_is_killed_takes_its_client_and_all_its_children_with_it() {
    let commands: [&[&str]; 6] = [
        &["build"],
        &["plan"],
        &["refine", "once", "--plan", "plan.md"],
        &["refine", "loop", "--mode", "beads", "--no-notify"],
        &["ideate", "faster"],
        &["ralplan", "run", "add a login form"],
    ];
    std::thread::scope(|scope| {
        for command in commands {
            scope.spawn(move || {
                let world = world();
                if command[0] != "ralplan" {
                    planned(&world);
                }
                killed(&world, command);
            });
        }
    });
}

#[test]
fn a_build_that_was_killed_goes_on_with_the_task_it_was_at() {
    let world = world();
    planned(&world);
    killed(&world, &["build"]);
    assert_eq!(world.state()["task_graph"][0]["status"], "in_progress");
    client(&world, &ENDS.replace("ralph task", "echo more >>plan.md\nralph task"));
    let printed = world.ralph(&["build"]);
    assert_eq!(printed.exit, 0, "{printed:?}");
    assert!(printed.stdout.contains("Ralph: done in "), "{printed:?}");
}

#[test]
fn a_refinement_that_was_killed_makes_its_round_once_more() {
    let world = world();
    killed(&world, &["refine", "loop", "--plan", "plan.md", "--no-notify"]);
    client(&world, ENDS);
    world.ralph(&["refine", "loop", "--plan", "plan.md", "--no-notify"]).done();
    let text = fs::read(world.path("project/.claude/refine-sessions.json")).unwrap();
    let document: Value = serde_json::from_slice(&text).unwrap();
    let session = &document["sessions"]["plan"];
    assert_eq!(session["history"][0]["end"], "interrupted");
    assert_eq!(
        (&session["history"][1]["iteration"], &session["status"]),
        (&json!(1), &json!("plateau"))
    );
}
