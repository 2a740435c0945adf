//! A state that another tool wrote and `RALPH_MANIFEST` names, used where it stands.

use crate::world::{Ran, World};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const TOKEN: &str = "RALPH_COMPLETE";

fn write_private(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// A session in which `/ralph` took over a state of the Ralph Pattern with these criteria; and its state.
fn found(criteria: Value) -> (World, PathBuf) {
    let (world, state) = found_for("session-1", criteria);
    assert!(world.type_command("ralph", "").context().contains(" started\n"));
    (world, state)
}

/// A session whose state was written by the Ralph Pattern, with these criteria; and its state.
fn found_for(session: &str, criteria: Value) -> (World, PathBuf) {
    let mut world = World::new();
    let folder = world.root().join("home/old");
    fs::create_dir(&folder).unwrap();
    let (manifest, state) = (folder.join("manifest"), folder.join("ralph_state.json"));
    let text = json!({
        "session_id": session, "phase": "implementation", "mode": "loop", "max_iterations": 2,
        "iteration": 0, "created_at": "2026-01-02T03:04:05Z", "acceptance_criteria": criteria,
        "task_graph": [{"id": "T-1", "name": "The door", "deps": [], "status": "completed",
            "completion_condition": "", "files": []}],
        "context_report": "", "stall_hashes": [], "completion_token": TOKEN, "errors": [],
    });
    write_private(&state, &text.to_string());
    write_private(&manifest, &format!("{}\n", state.display()));
    world.set("RALPH_MANIFEST", manifest.to_str().unwrap());
    (world, state)
}

fn criterion(id: &str, command: &str) -> Value {
    json!({"id": id, "description": "d", "verified": true, "verification_command": command})
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn status(world: &World) -> Value {
    let told = world.elsewhere(&["status", "--json"]);
    let document: Value = serde_json::from_str(&told.text).unwrap();
    document["loops"][0].clone()
}

/// What the model gets because this stop continues its turn.
fn step(state: &Path, stop: &Ran) -> String {
    format!("{}\n{}", stop.goes_on(), read(state)["details_due"].as_str().unwrap_or_default())
}

#[test]
fn verified_in_a_state_that_is_found_in_place_counts_for_nothing_anywhere() {
    let criteria =
        json!([criterion("AC-1", "grep -q yes done"), criterion("AC-2", "test -f other")]);
    let (world, state) = found(criteria);
    let told = status(&world);
    assert_eq!(told["criteria"][0]["verified"], false, "{told}");
    assert_eq!(told["criteria"][1]["state"], "not_run", "{told}");
    let line = world.elsewhere(&["status"]).text;
    assert!(!line.contains("1 of 2") && !line.contains("2 of 2 criteria"), "{line}");
    let reason = step(&state, &world.working_stop("x"));
    assert!(reason.contains("0 of 2 criteria"), "{reason}");
    assert_eq!(read(&state)["acceptance_criteria"][0]["verified"], false);
    world.write("done", "yes\n");
    let reason = step(&state, &world.stop(TOKEN));
    assert!(reason.contains("AC-2 failed"), "{reason}");
    let said = world.working_stop("x").message();
    assert!(said.contains("Ralph: stopped after 3 turns, "), "{said}");
    assert!(said.contains("1 of 2 criteria hold: AC-2 fails"), "{said}");
    let ended = world.archived()[0].clone();
    let verified: Vec<_> =
        [0, 1].map(|at| ended["acceptance_criteria"][at]["verified"].clone()).into();
    assert_eq!(verified, [json!(true), json!(false)]);
}

#[test]
fn a_state_that_names_no_project_and_no_loop_gets_both_and_every_message_names_it() {
    let (mut world, state) = found(json!([criterion("AC-1", "grep -q yes done")]));
    let named = status(&world)["loop_id"].as_str().unwrap().to_owned();
    assert!(named.starts_with("20260102-030405-"), "{named}");
    // The session's shell is below the project.
    world.env.remove("CLAUDE_PROJECT_DIR");
    let reason = step(&state, &world.stop(TOKEN));
    assert!(reason.contains("AC-1 failed"), "{reason}");
    let kept = read(&state);
    assert_eq!(kept["project_root"], world.project().display().to_string());
    assert_eq!(kept["loop_id"], named.as_str());
    assert_eq!(kept["task_graph"][0]["status"], "done");
    for args in [
        &["status", "--loop", &named][..],
        &["verify", "--loop", &named],
        &["explain", "--loop", &named],
    ] {
        let said = world.elsewhere(args).text;
        assert!(
            !said.contains("there is no loop") && !said.contains("--loop `"),
            "{args:?}: {said}"
        );
    }
    world.working_stop("x").goes_on();
    let said = world.working_stop("x").message();
    assert!(said.contains("continued 2 times, the limit"), "{said}");
    let shown = world.elsewhere(&["status", "--loop", &named]);
    assert!(shown.success && shown.text.contains(&named), "{shown:?}");
}

const HASH: &str = "5d41402abc4b2a76b9719d911017c592";

#[test]
fn a_typed_ralph_takes_over_the_state_that_all_sessions_share_whatever_session_it_names() {
    let (mut world, state) = found_for(HASH, json!([criterion("AC-1", "grep -q yes done")]));
    world.stop("x").silent();
    world.tool("AskUserQuestion", json!({})).silent();
    let tasks = world.elsewhere(&["task", "list", "--all"]).text;
    assert!(tasks.contains("T-1  done  The door"), "{tasks}");
    let told = world.type_command("ralph", "");
    assert!(told.context().contains(" started\n"), "{told:?}");
    assert!(told.message().contains("AC-1: grep -q yes done"), "{told:?}");
    let kept = read(&state);
    assert_eq!((&kept["session_id"], &kept["started_by"]), (&json!("session-1"), &json!("person")));
    assert_eq!(kept["task_graph"][0]["status"], "done");
    assert!(world.tool("AskUserQuestion", json!({})).denied().contains("loop"));
    let reason = step(&state, &world.stop(TOKEN));
    assert!(reason.contains("AC-1 failed"), "{reason}");
    // While that session is alive here, another one does not take it; afterwards it does.
    world.become_session("session-2", "prompt-2");
    let refused = world.expansion("ralph", "").kept_from_model();
    assert!(refused.contains("another session"), "{refused}");
    world.clients_end();
    assert!(world.type_command("ralph", "").context().contains("AC-1"));
    assert_eq!(read(&state)["session_id"], "session-2");
    world.write("done", "yes\n");
    world.stop(TOKEN).ends("Ralph: done");
}

#[test]
fn a_state_that_cannot_be_adopted_is_not_taken_over() {
    let (world, state) = found_for(HASH, json!([criterion("AC-1", "true")]));
    let before = fs::read(&state).unwrap();
    let refused = world.type_command("ralph", "").kept_from_model();
    assert!(refused.contains("AC-1.verification_command: `true` proves nothing"), "{refused}");
    assert!(world.expansion("ralph", "\"Another\"").kept_from_model().contains("another session"));
    assert_eq!(fs::read(&state).unwrap(), before);
}

#[test]
fn an_adoption_in_place_leaves_the_manifest_and_one_that_fails_changes_nothing() {
    let (mut world, state) = found_for(HASH, json!([criterion("AC-1", "grep -q yes done")]));
    let named = status(&world)["loop_id"].as_str().unwrap().to_owned();
    let adopt = ["adopt", "--loop", &named, "--force"];
    let folder = state.parent().unwrap();
    let (before, home) = (world.listing(folder), world.env["RALPH_HOME"].clone());
    world.set("RALPH_HOME", state.to_str().unwrap());
    let failed = world.elsewhere(&adopt);
    assert!(!failed.success, "{failed:?}");
    assert!(world.listing(folder) == before);
    world.set("RALPH_HOME", &home);
    assert!(!world.ralph_home().join("loops").exists());
    let adopted = world.elsewhere(&adopt);
    assert!(adopted.success, "{adopted:?}");
    assert!(folder.join("manifest").exists());
    let told = world.type_command("ralph", "");
    assert!(told.context().contains(" started\n"), "{told:?}");
    assert!(step(&state, &world.stop(TOKEN)).contains("AC-1 failed"));
}

#[test]
fn what_the_models_shell_verifies_in_place_finds_the_project() {
    let (world, _) = found(json!([criterion("AC-1", "grep -q yes done")]));
    world.write("done", "yes\n");
    let said = world.ralph(&["verify"]);
    assert!(said.success, "{said:?}");
    let said = world.stop(TOKEN).ends("Ralph: done in 1 turn").message();
    assert!(said.ends_with("it fails without the change."), "{said}");
}
