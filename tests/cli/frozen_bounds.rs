//! Settings that change after the start of a loop change nothing of its bounds, whatever command
//! continues it. The clients are scripts that a usage limit stops at once.

use crate::world::World;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

/// Keeps the `--settings` of each client.
const CLIENT: &str = r#"#!/bin/sh
[ "$1" = --version -o "$1" = /cost ] && echo '2.1.328 (Claude Code)' && exit
for arg; do
  test "$before" = --settings && printf '%s\n' "$arg" >>"$HOME/settings"
  before=$arg
done
printf '%s\n' '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":4102444800}}'
printf '%s\n' '{"type":"result","is_error":true,"result":"limit","api_error_status":429}'
exit 1
"#;

/// What the user allows when the loop starts.
const AT_START: &str = "[sandbox]\nhosts = [\"agreed.example\"]\n";

/// `None`, aloud, where the sandbox has no programs.
fn world() -> Option<World> {
    let world = World::new().permissive().under_git();
    for tool in ["sh", "test", "true", "bwrap", "socat"] {
        let places = ["/usr/bin", "/bin"].map(|folder| format!("{folder}/{tool}"));
        let Some(place) = places.iter().find(|place| fs::exists(place).unwrap()) else {
            assert!(std::env::var_os("RALPH_PROOF").is_none(), "{tool} is missing");
            eprintln!("SKIPPED: {tool} is missing here");
            return None;
        };
        symlink(place, world.path("bin").join(tool)).unwrap();
    }
    symlink(env!("CARGO_BIN_EXE_ralph"), world.path("bin/ralph")).unwrap();
    for agent in ["Planner", "Questioner", "Executor", "Reviewer"] {
        world.write(&format!("home/.claude/agents/Ralph-v2-{agent}.md"), "");
    }
    world.write("home/.claude/agents/ralplan-critic.md", "");
    world.write("home/.gitconfig", "[user]\nname = t\nemail = t@example.com\n");
    world.write("project/shared", "0\n");
    for arguments in [&["add", "-A"][..], &["commit", "-q", "-m", "first"]] {
        let mut command = world.command(Path::new("git"), "");
        assert!(command.args(arguments).status().unwrap().success());
    }
    let client = world.write("bin/claude", CLIENT);
    fs::set_permissions(client, fs::Permissions::from_mode(0o755)).unwrap();
    Some(world)
}

fn set(world: &World, text: &str) {
    world.write("home/.config/ralph/config.toml", text);
}

/// The `sandbox` of each client so far.
fn given(world: &World) -> Vec<Value> {
    let lines = fs::read_to_string(world.path("home/settings")).unwrap_or_default();
    let sandbox = |line: &str| serde_json::from_str::<Value>(line).unwrap()["sandbox"].clone();
    lines.lines().map(sandbox).collect()
}

/// Starts by `first`, and continues by `next` after the settings have allowed more.
#[track_caller]
fn check(world: &World, first: &[&str], next: &[&str]) {
    set(world, AT_START);
    let began = world.ralph(first);
    let before = given(world);
    assert!(!before.is_empty(), "{began:#?}");
    for sandbox in &before {
        assert_eq!(sandbox["network"]["allowedDomains"], json!(["agreed.example"]));
    }
    let bounds = world.state()["bounds"].clone();
    assert_eq!(bounds["hosts"], json!(["agreed.example"]));

    let home = world.path("home").display().to_string();
    let wider = format!(
        "[sandbox]\nhosts = [\"evil.example\"]\nwrite = [\"{home}\"]\nports = [22]\n\
         sockets = [\"/run/x.sock\"]\n[client]\nsandbox = false\n"
    );
    set(world, &wider);
    let shown = world.ralph(&[next, &["--dry-run"]].concat()).done();
    assert!(shown.stdout.contains("agreed.example"), "{shown:#?}");
    assert!(!shown.stdout.contains("evil.example"), "{shown:#?}");
    let went_on = world.ralph(next);
    assert!(went_on.stderr.contains("bounds of the loop's start"), "{went_on:#?}");
    let after = given(world);
    assert!(after.len() > before.len(), "{went_on:#?}");
    for sandbox in &after[before.len()..] {
        assert_eq!(sandbox["enabled"], true);
        assert_eq!(sandbox["network"], before[0]["network"]);
        let text = sandbox["filesystem"]["allowWrite"].to_string();
        assert!(!text.contains(&format!("\"{home}\"")), "{text}");
    }
    assert_eq!(world.state()["bounds"], bounds);
}

fn plan(world: &World) {
    let task = json!({"id": "T-1", "name": "write it", "deps": [], "completion_condition": "c"});
    let criteria = json!([{"id": "AC-1", "description": "d", "verification_command": "test -f T"}]);
    let plan = json!({"prompt": "p", "acceptance_criteria": criteria, "task_graph": [task]});
    set(world, AT_START);
    world.run("", &["task", "import", "-"], &plan.to_string()).done();
}

#[test]
fn a_build_keeps_the_bounds_of_its_start() {
    let Some(world) = world() else { return };
    plan(&world);
    check(&world, &["build", "--no-wait"], &["build", "--no-wait"]);
}

#[test]
fn an_orchestration_in_a_terminal_keeps_the_bounds_of_its_start() {
    let Some(world) = world() else { return };
    let next = ["session", "run", "--no-wait"];
    check(&world, &[&next[..], &["make a door"]].concat(), &next);
}

#[test]
fn a_planning_in_a_terminal_keeps_the_bounds_of_its_start() {
    let Some(world) = world() else { return };
    let next = ["ralplan", "run", "--no-wait"];
    check(&world, &[&next[..], &["make a door"]].concat(), &next);
}

#[test]
fn workers_have_the_bounds_of_their_loops_start() {
    let Some(world) = world() else { return };
    plan(&world);
    let next = ["parallel", "run", "--no-wait"];
    check(&world, &next, &next);
}
