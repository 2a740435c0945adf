//! `ralph adopt`: loops whose client is gone, and the files of earlier loops of this pattern.

use crate::world::World;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Child, Command, Stdio};

/// A process id that is not in use, or not by a process of that start time.
fn gone() -> Value {
    json!({"pid": 4_000_000, "started": "1"})
}

/// A process that plays a client that runs, until the test drops its input.
struct Running(Child);

impl Running {
    fn start() -> Running {
        Running(Command::new("cat").stdin(Stdio::piped()).spawn().unwrap())
    }

    fn as_client(&self) -> Value {
        let client = ralph_io::client::process_by_id(self.0.id());
        json!({"pid": client.pid, "started": client.started})
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

fn at_three(client: Value) -> World {
    let world = World::new().live_loop("S");
    world.change_state(|state| {
        state["client"] = client;
        state["iteration"] = json!(3);
        state["phase"] = json!("verification");
    });
    world
}

#[test]
fn a_loop_whose_client_is_gone_is_freed_where_it_was() {
    let world = at_three(gone());
    world.ralph(&["adopt"]).check(
        0,
        "loop [LOOP] adopted at 3/25: free; type /ralph in any session of this project to continue\n",
        "",
    );
    let state = world.state();
    assert_eq!(
        (&state["phase"], &state["resume_phase"]),
        (&json!("planned"), &json!("verification"))
    );
    assert_eq!((&state["session_id"], &state["iteration"]), (&json!(""), &json!(3)));
    assert_eq!(state["lineage"][0]["session_id"], "S");
    assert_eq!(state["lineage"][0]["why"], "adopted");
    assert!(!world.path("ralph/manifest/S").exists());
    // Any session takes it up.
    let printed = world.in_session("T", &["start", "--session", "T", "-"], "").done();
    assert!(printed.stdout.starts_with("Ralph loop [LOOP] continues at 3/25\n"), "{printed:?}");
    assert_eq!(world.state()["phase"], "verification");
}

#[test]
fn a_loop_whose_client_runs_is_left_alone() {
    let running = Running::start();
    for (client, why) in [
        (running.as_client(), "its client is still running: close it first"),
        (Value::Null, "its client may still be running: close it first"),
    ] {
        let world = at_three(client);
        let before = fs::read(world.state_file()).unwrap();
        let stderr =
            format!("ralph: loop [LOOP] was left alone; {why}, or give `--loop [LOOP] --force`\n");
        world.ralph(&["adopt"]).check(1, "", &stderr);
        assert_eq!(world.ralph(&["adopt", "--force"]).exit, 2, "the loop must be named");
        assert_eq!(fs::read(world.state_file()).unwrap(), before);
        world.ralph(&["adopt", "--loop", &world.loop_id(), "--force"]).done();
        assert_eq!(world.state()["phase"], "planned");
    }
}

#[test]
fn a_session_that_is_named_gets_it_paused() {
    let world = at_three(gone());
    world.ralph(&["adopt", "--session", "T"]).check(
        0,
        "loop [LOOP] adopted at 3/25: paused in session T; type /ralph there to continue\n",
        "",
    );
    let state = world.state();
    assert_eq!((&state["phase"], &state["session_id"]), (&json!("paused"), &json!("T")));
    assert_eq!(state["resume_phase"], "verification");
    assert!(world.path("ralph/manifest/T").exists() && !world.path("ralph/manifest/S").exists());
}

#[test]
fn a_session_with_a_loop_of_its_own_gets_none() {
    let world = at_three(gone()).live_loop("T");
    let printed = world.ralph(&["adopt", "--session", "T"]);
    assert_eq!(printed.exit, 1, "{printed:?}");
    assert!(printed.stderr.contains("that session has the live loop"), "{printed:?}");
}

fn old_state() -> String {
    json!({"session_id": "old", "phase": "implementation", "max_iterations": 12, "iteration": 4,
        "created_at": "2026-01-02T03:04:05Z", "completion_token": "ALL_DONE", "colour": "blue",
        "task_graph": [{"id": "T-1", "name": "n", "status": "done"}]})
    .to_string()
}

#[test]
fn the_patterns_old_files_are_imported_and_left_as_they_are() {
    for by_manifest in [true, false] {
        let world = World::new();
        let state = world.write("old/state.json", &old_state());
        let manifest = world.write("tmp/ralph_session_manifest", &format!("{}\n", state.display()));
        let given = if by_manifest { &manifest } else { &state };
        let printed = world.ralph(&["adopt", given.to_str().unwrap()]).done();
        assert!(printed.stdout.starts_with("loop [LOOP] planned from `[ROOT]/"), "{printed:?}");
        assert!(printed.stdout.contains(" at 4/12; that file was left as it is."), "{printed:?}");
        let loop_state = world.state();
        for (member, value) in [
            ("phase", json!("planned")),
            ("resume_phase", json!("implementation")),
            ("session_id", json!("")),
            ("iteration", json!(4)),
            ("max_iterations", json!(12)),
            ("completion_token", json!("ALL_DONE")),
            ("colour", json!("blue")),
            ("created_at", json!("2026-01-02T03:04:05Z")),
        ] {
            assert_eq!(loop_state[member], value, "{member}");
        }
        assert_eq!(loop_state["lineage"][0]["session_id"], "old");
        assert_eq!(loop_state["task_graph"][0]["status"], "done");
        assert_eq!(fs::read_to_string(&state).unwrap(), old_state());
        assert!(manifest.exists());
        assert_eq!(world.journal(), ["ralph adopt: imported"]);
    }
}

#[test]
fn files_that_others_could_have_planted_are_refused() {
    let world = World::new();
    let state = world.write("old/state.json", &old_state());
    let refuse = |path: &std::path::Path, why: &str| {
        let printed = world.ralph(&["adopt", path.to_str().unwrap()]);
        assert_eq!((printed.exit, printed.stdout.as_str()), (3, ""), "{printed:?}");
        assert!(printed.stderr.contains(why), "{why}: {printed:?}");
        assert!(world.loop_ids().is_empty());
    };
    let link = world.path("link");
    symlink(&state, &link).unwrap();
    refuse(&link, "could not open");
    refuse(&world.path("old"), "not a regular file");
    // Like every file of a command line that does not exist.
    assert_eq!(world.ralph(&["adopt", world.path("absent").to_str().unwrap()]).exit, 2);
    refuse(&world.write("relative", "old/state.json\n"), "neither a state nor the absolute path");
    refuse(&world.write("newer", "{\"schema_version\": 2}"), "newer Ralph");
    refuse(&world.write("broken", "{\"iteration\": "), "is not the state of a loop");
    let manifest = world.write("manifest", &format!("{}\n", state.display()));
    fs::set_permissions(&state, fs::Permissions::from_mode(0o666)).unwrap();
    refuse(&state, "can be written by others");
    refuse(&manifest, "can be written by others");
}

#[test]
fn an_old_loop_that_has_ended_is_not_imported() {
    let world = World::new();
    let state = world.write("s", "{\"phase\": \"ended\"}");
    assert_eq!(world.ralph(&["adopt", state.to_str().unwrap()]).exit, 1);
    assert!(world.loop_ids().is_empty());
}

/// A state of the pattern with this criterion, and the words that real loops wrote.
fn with_criterion(command: &str) -> String {
    json!({"session_id": "old", "phase": "implementation", "max_iterations": 12, "iteration": 4,
        "acceptance_criteria": [{"id": "AC-1", "description": "d", "verified": true,
            "verification_command": command}],
        "task_graph": [{"id": "T-1", "name": "a", "status": "completed"},
            {"id": "T-2", "name": "b", "status": "Done"},
            {"id": "T-3", "name": "c", "status": "in-progress"}],
        "errors": ["tsc failed twice"]})
    .to_string()
}

#[test]
fn what_an_old_file_says_of_its_criteria_proves_nothing() {
    for command in
        ["", "  ", "true", ":", "echo ok", "npm test || true", "exit 0", "no-such-program-x"]
    {
        let world = World::new();
        let state = world.write("old/state.json", &with_criterion(command));
        let printed = world.ralph(&["adopt", state.to_str().unwrap()]);
        assert_eq!((printed.exit, printed.stdout.as_str()), (1, ""), "{command}: {printed:?}");
        assert!(printed.stderr.contains("AC-1"), "{command}: {printed:?}");
        assert!(printed.stderr.contains("nothing was imported"), "{command}: {printed:?}");
        assert!(world.loop_ids().is_empty(), "{command}");
    }
    let world = World::new();
    let state = world.write("old/state.json", &with_criterion("test -f done.txt"));
    world.ralph(&["adopt", state.to_str().unwrap()]).done();
    let state = world.state();
    assert_eq!(state["acceptance_criteria"][0]["verified"], false);
    let statuses: Vec<_> = (0..3).map(|at| &state["task_graph"][at]["status"]).collect();
    assert_eq!(statuses, ["done", "done", "pending"]);
    assert_eq!(state["errors"][0]["message"], "tsc failed twice");
    let shown: Value =
        serde_json::from_str(&world.ralph(&["status", "--json"]).done().stdout).unwrap();
    assert_eq!(shown["loops"][0]["criteria"][0]["verified"], false, "{shown}");
}
