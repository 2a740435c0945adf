//! New executables on what older ones have written: a loop that was running goes on.
//!
//! `tests/fixtures/state` holds a state of every schema, written by the executables of its time; they
//! are never made anew.

use crate::world::World;
use ralph_core::protocol::registration::{COMMAND_LINE, HOOK_EXECUTABLES};
use ralph_core::state::SCHEMA_VERSION;
use ralph_test_support::copy_executable;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

fn fixtures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/state");
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut states: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|ending| ending == "json")).collect();
    states.sort();
    states
}

/// The state of a fixture in this world, with a member of a later version wherever one is kept.
fn state_of(fixture: &Path, world: &World) -> Value {
    let text = fs::read_to_string(fixture).unwrap();
    let text = text.replace("@PROJECT@", &world.project().display().to_string());
    let mut state: Value = serde_json::from_str(&text).unwrap();
    // It has run for a moment: a loop of long ago has used up its minutes.
    state["started_at"] = json!(jiff::Timestamp::now().to_string());
    let criteria = state["acceptance_criteria"].as_array().unwrap().len();
    let tasks = state["task_graph"].as_array().unwrap().len();
    assert!(criteria > 0 && tasks > 0, "{}: nothing of it would be tried", fixture.display());
    for place in unknown_places(criteria, tasks) {
        state.pointer_mut(&place).unwrap()["of_a_later_version"] = json!({"kept": [1, "two"]});
    }
    state
}

fn unknown_places(criteria: usize, tasks: usize) -> Vec<String> {
    let criteria = (0..criteria).map(|n| format!("/acceptance_criteria/{n}"));
    let tasks = (0..tasks).map(|n| format!("/task_graph/{n}"));
    [String::new()].into_iter().chain(criteria).chain(tasks).collect()
}

/// Lays the state out as the older executables have left it, bound to the world's session.
fn lay_out(world: &World, state: &Value) {
    let loop_id = state["loop_id"].as_str().unwrap();
    let folder = world.ralph_home().join("loops").join(loop_id);
    let manifest = world.ralph_home().join("manifest");
    let mut private = fs::DirBuilder::new();
    private.recursive(true).mode(0o700);
    private.create(&folder).unwrap();
    private.create(&manifest).unwrap();
    let file = folder.join("state.json");
    write(&file, &serde_json::to_string_pretty(state).unwrap());
    write(&manifest.join(&world.session), &format!("{}\n", file.display()));
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn every_schema_has_a_state_of_its_time() {
    let of = |path: &PathBuf| {
        let state: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        u32::try_from(state["schema_version"].as_u64().unwrap()).unwrap()
    };
    let mut schemas: Vec<u32> = fixtures().iter().map(of).collect();
    schemas.dedup();
    let all: Vec<u32> = (1..=SCHEMA_VERSION).collect();
    assert_eq!(schemas, all, "keep a state that the last release wrote, as the README there says");
}

#[test]
fn a_loop_of_every_schema_goes_on_and_loses_nothing() {
    for fixture in fixtures() {
        let name = fixture.display();
        let world = World::new();
        let before = state_of(&fixture, &world);
        lay_out(&world, &before);
        let reason = world.step(&world.working_stop("One more step."));
        let iteration = before["iteration"].as_u64().unwrap() + 1;
        assert!(reason.contains(&format!("Ralph {iteration}/25: ")), "{name}: {reason}");
        let after = world.state();
        assert_eq!(after["iteration"], iteration, "{name}");
        let criteria = before["acceptance_criteria"].as_array().unwrap().len();
        let tasks = before["task_graph"].as_array().unwrap().len();
        for place in unknown_places(criteria, tasks) {
            let kept = &after.pointer(&place).unwrap()["of_a_later_version"];
            assert_eq!(kept, &json!({"kept": [1, "two"]}), "{name}: {place}");
        }
        for member in before.as_object().unwrap().keys() {
            assert!(after.get(member).is_some() || member == "turn", "{name}: {member} is gone");
        }
        for member in ["prompt", "loop_id", "session_id", "created_at", "max_iterations", "frozen"]
        {
            assert_eq!(after[member], before[member], "{name}: {member}");
        }
    }
}

#[test]
fn a_loop_of_every_schema_can_be_proven_and_ended() {
    for fixture in fixtures() {
        let world = World::new();
        let state = state_of(&fixture, &world);
        lay_out(&world, &state);
        let shown = world.ralph(&["status"]);
        assert!(shown.success, "{}: {}", fixture.display(), shown.text);
        // What its criterion asks for.
        world.write("proof", "");
        for task in state["task_graph"].as_array().unwrap() {
            let id = task["id"].as_str().unwrap();
            if task["status"] != "done" {
                world.ralph(&["task", "claim", id]);
                assert!(world.ralph(&["task", "done", id, "--result", "made"]).success, "{id}");
            }
        }
        world.working_stop("All done.\n\nRALPH_COMPLETE");
        assert_eq!(world.ending(), "complete", "{}", fixture.display());
        let kept = &world.archived()[0]["of_a_later_version"];
        assert_eq!(kept, &json!({"kept": [1, "two"]}));
    }
}

/// A release over the executables of loops that are running, one of every schema.
#[test]
fn a_prebuilt_release_installed_over_live_loops_changes_none_of_their_files_and_they_go_on() {
    let mut world = World::new();
    put_executables(&world.root().join("prefix/bin"));
    let stop = |world: &World, message: &str| {
        world.write(&format!("work/{} {message}", world.session), "done");
        let program = world.root().join("prefix/bin/ralph-stop-hook");
        let mut command = std::process::Command::new(program);
        command.arg("settings").env_clear().envs(&world.env).current_dir(&world.cwd);
        let members = json!({
            "stop_hook_active": false, "background_tasks": [], "session_crons": [],
            "last_assistant_message": message,
        });
        let payload = world.payload("Stop", members).to_string();
        crate::world::run(command, "ralph-stop-hook", payload.as_bytes());
        world.state()
    };
    let mut begun = Vec::new();
    for (number, fixture) in fixtures().iter().enumerate() {
        world.become_session(&format!("session-{number}"), "prompt-1");
        let mut before = state_of(fixture, &world);
        before["session_id"] = json!(world.session);
        lay_out(&world, &before);
        let first = before["iteration"].as_u64().unwrap() + 1;
        assert_eq!(stop(&world, "one step")["iteration"], first, "{}", fixture.display());
        begun.push((world.session.clone(), first));
    }
    let files = |folder: &str| snapshot(&world.ralph_home().join(folder));
    let kept = [files("loops"), files("manifest")];
    install_prebuilt(&world);
    assert_eq!([files("loops"), files("manifest")], kept);
    for (session, first) in begun {
        world.become_session(&session, "prompt-1");
        let after = stop(&world, "one more step");
        assert_eq!(after["iteration"], first + 1, "{session}");
        assert_eq!(after["of_a_later_version"], json!({"kept": [1, "two"]}), "{session}");
    }
}

fn snapshot(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push((path.clone(), fs::read(&path).unwrap())),
            }
        }
    }
    found.sort();
    found
}

/// Makes an archive of all executables and has `install.sh` put them into the world's prefix.
fn install_prebuilt(world: &World) {
    let release = world.root().join("release");
    put_executables(&release.join("ralph/bin"));
    // Not compressed in earnest: the executables of a test are large.
    let archive = release.join("ralph.tar.gz");
    let packed = std::process::Command::new("tar")
        .args(["-I", "gzip -1", "-cf"])
        .arg(&archive)
        .arg("-C")
        .arg(&release)
        .arg("ralph")
        .status()
        .unwrap();
    assert!(packed.success());
    let sum = ralph_core::text::hex::sha256(fs::read(&archive).unwrap());
    fs::write(release.join("SHA256SUMS"), format!("{sum}  ralph.tar.gz\n")).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../install.sh");
    let installed = std::process::Command::new(script)
        .arg("--prebuilt")
        .arg(&archive)
        .arg("--prefix")
        .arg(world.root().join("prefix"))
        .arg("--no-register")
        .env_clear()
        .envs(&world.env)
        .env("PATH", "/usr/bin:/bin")
        .current_dir(&world.cwd)
        .output()
        .unwrap();
    assert!(installed.status.success(), "{installed:?}");
}

/// `./install.sh` and a new plugin replace by renaming, at any moment: here while a request to be done is
/// answered, with one criterion running and one to come.
#[test]
fn executables_that_are_replaced_under_a_running_hook_finish_and_go_on() {
    let world = World::new();
    let [running, go] = ["running", "go"].map(|name| world.root().join(name));
    let slow =
        format!("touch {}; until test -e {}; do sleep 0.02; done", running.display(), go.display());
    world.start(&format!("--ac \"slow={slow}\" --ac \"next=test -f src/next.c\""));
    world.write("src/next.c", "");
    let folder = world.root().join("bin");
    put_executables(&folder);

    let payload = world.payload(
        "Stop",
        json!({
            "stop_hook_active": false, "background_tasks": [], "session_crons": [],
            "last_assistant_message": "Done.\n\nRALPH_COMPLETE",
        }),
    );
    let mut command = std::process::Command::new(folder.join("ralph-stop-hook"));
    command.arg("settings").env_clear().envs(&world.env).current_dir(&world.cwd);
    let stopped = std::thread::scope(|threads| {
        let hook = threads.spawn(|| {
            crate::world::run(command, "ralph-stop-hook", payload.to_string().as_bytes())
        });
        while !running.exists() && !hook.is_finished() {
            std::thread::yield_now();
        }
        put_executables(&folder);
        fs::write(&go, "").unwrap();
        hook.join().unwrap()
    });
    assert_eq!(world.ending(), "complete", "{stopped:?}");
    let journal = fs::read_to_string(journal(&world)).unwrap();
    assert!(!journal.contains("deleted"), "{journal}");
}

/// Puts copies of all executables there by renaming, whatever is there.
fn put_executables(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    for name in HOOK_EXECUTABLES.into_iter().chain([COMMAND_LINE]) {
        let new = folder.join(format!(".{name}.new"));
        copy_executable(&crate::executables::executables().join(name), &new);
        fs::rename(&new, folder.join(name)).unwrap();
    }
}

fn journal(world: &World) -> PathBuf {
    let archive = world.ralph_home().join("archive");
    fs::read_dir(archive).unwrap().next().unwrap().unwrap().path().join("journal.jsonl")
}
