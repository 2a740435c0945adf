//! `ralph statusline`: one line for the client, whatever it is given.

use crate::world::{Printed, World, start};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// What the client hands over, with the fields of a real session.
fn given(session: &str) -> String {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/fixtures/claude-code-2.1.328/statusLine-after-turn.json");
    let mut given: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(kept).unwrap()).unwrap();
    given["session_id"] = json!(session);
    given.to_string()
}

fn command(world: &World, arguments: &[&str]) -> Command {
    let mut command = world.command(Path::new(env!("CARGO_BIN_EXE_ralph")), "S");
    command.arg("statusline").args(arguments);
    command
}

fn line(world: &World, arguments: &[&str], given: &str) -> Printed {
    let mut command = command(world, arguments);
    world.finish(start(command.env("NO_COLOR", "1")), given).done()
}

#[test]
fn a_session_without_a_loop_has_an_empty_line_and_nothing_is_made() {
    let world = World::new();
    line(&world, &[], &given("S")).check(0, "\n", "");
    assert!(!world.path("ralph").exists());
    let world = World::new().live_loop("S");
    line(&world, &[], &given("another")).check(0, "\n", "");
    line(&world, &[], &given("../S")).check(0, "\n", "");
}

#[test]
fn bad_input_is_an_empty_line() {
    let world = World::new().live_loop("S");
    for input in ["", "7", "{", "[]", "{}", r#"{"session_id":7}"#, "\u{0}"] {
        line(&world, &[], input).check(0, "\n", "");
    }
}

#[test]
fn the_line_says_where_the_sessions_loop_stands() {
    let world = World::new().live_loop("S");
    line(&world, &[], &given("S")).check(0, "Ralph 0/25 | 0/480 min\n", "");
    world.change_state(|state| {
        state["iteration"] = json!(3);
        state["acceptance_criteria"] = json!([{"id": "AC-1", "verified": true, "receipt": {}}, {"id": "AC-2", "verified": true}]);
        state["task_graph"] =
            json!([{"id": "T-1", "name": "Parse\u{1b}[2J it", "status": "in_progress"}]);
    });
    let expected = "Ralph 3/25 | tasks 0/1 | criteria 1/2 | T-1 Parse\\u{1b}[2J it | 0/480 min\n";
    line(&world, &[], &given("S")).check(0, expected, "");
    let coloured = world.finish(start(&mut command(&world, &[])), &given("S")).done();
    assert!(coloured.stdout.starts_with("\u{1b}[32mRalph 3/25\u{1b}[0m | tasks"), "{coloured:?}");
    let dumb = world.finish(start(command(&world, &[]).env("TERM", "dumb")), &given("S"));
    assert_eq!(dumb.stdout, expected);
    world.ralph(&["pause"]).done();
    let paused = line(&world, &[], &given("S")).stdout;
    assert!(paused.starts_with("Ralph paused at 3/25 | tasks 0/1"), "{paused}");
    world.ralph(&["cancel"]).done();
    let ended = line(&world, &[], &given("S")).stdout;
    assert!(ended.starts_with("Ralph ended: cancelled, 0 s ago"), "{ended}");
}

#[test]
fn the_projects_last_loop_is_shown_for_a_day_and_a_stalled_one_is_red() {
    let world = World::new().live_loop("S");
    world.ralph(&["cancel"]).done();
    world.change_ended(|state| state["ending"]["kind"] = json!("stalled"));
    let in_project = |folder: &str| {
        let mut given: serde_json::Value = serde_json::from_str(&given("another")).unwrap();
        given["cwd"] = json!(world.path(folder));
        given.to_string()
    };
    let shown = world.finish(start(&mut command(&world, &[])), &in_project("project")).done();
    assert!(
        shown.stdout.starts_with("\u{1b}[31mRalph ended: stalled, 0 s ago\u{1b}[0m"),
        "{shown:?}"
    );
    line(&world, &[], &in_project("other")).check(0, "\n", "");
    world.change_ended(|state| state["ending"]["at"] = json!("2026-01-01T00:00:00Z"));
    line(&world, &[], &in_project("project")).check(0, "\n", "");
}

#[test]
fn a_state_that_cannot_be_read_is_said_to_be_so_and_nothing_waits_for_its_writer() {
    let world = World::new().live_loop("S");
    world.write_state("{");
    fs::remove_file(world.state_file().with_extension("json.last-good")).ok();
    let began = Instant::now();
    line(&world, &[], &given("S")).check(
        0,
        "Ralph: the loop's state cannot be read, `ralph doctor` says why\n",
        "",
    );
    assert!(began.elapsed() < Duration::from_secs(30));
}

#[test]
fn another_status_line_comes_first_and_is_not_waited_for_for_ever() {
    let world = World::new().live_loop("S");
    std::os::unix::fs::symlink("/bin/sleep", world.path("bin/sleep")).unwrap();
    let script = world.write("bin/theirs", "#!/bin/sh\nread -r all\nprintf '%s\\n' \"${#all}\"\n");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let given = given("S");
    let first = format!("{} | Ralph 0/25 | 0/480 min\n", given.len());
    line(&world, &["--with", "theirs"], &format!("{given}\n")).check(0, &first, "");
    line(&world, &["--with", "theirs"], "nonsense\n").check(0, "8\n", "");
    for failing in ["exit 3", "no-such-program", "echo x; exit 1", "sleep 100 & sleep 100"] {
        let printed = line(&world, &["--with", failing], &given);
        printed.check(0, "Ralph 0/25 | 0/480 min\n", "");
    }
}

#[test]
fn what_it_has_started_ends_with_it() {
    let world = World::new();
    let gate = world.path("gate");
    assert!(std::process::Command::new("mkfifo").arg(&gate).status().unwrap().success());
    let waits = format!("exec 3>{}; /bin/sleep 100", gate.display());
    let mut child = start(command(&world, &[]).args(["--with", &waits]));
    drop(child.stdin.take());
    // Opened by both: it is there.
    let mut reader = fs::File::open(&gate).unwrap();
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    child.wait().unwrap();
    // The end of the pipe: nobody holds the other end any more.
    assert_eq!(std::io::Read::read(&mut reader, &mut [0]).unwrap(), 0);
}
