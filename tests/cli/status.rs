//! `ralph status`, for programs and for people.

use crate::world::World;
use serde_json::{Value, json};

#[test]
fn the_document_has_the_members_that_programs_rely_on() {
    let world = World::new().live_loop("S");
    world.change_state(|state| {
        state["acceptance_criteria"] = json!([
            {"id": "AC-T", "description": "tests", "verified": true, "verification_command": "t"}]);
        state["task_graph"] = json!([
            {"id": "T-1", "name": "a", "status": "done"}, {"id": "T-2", "name": "b"}]);
    });
    let mut document = world.ralph(&["status", "--json"]).done().json();
    for time in ["created_at", "started_at", "updated_at"] {
        assert!(document["loops"][0][time].take().is_string());
    }
    assert_eq!(
        document,
        json!({"schema_version": 1, "unreadable": [], "loops": [{
            "loop_id": "[LOOP]", "session_id": "S", "mode": "loop", "phase": "implementation",
            "resume_phase": null, "iteration": 0, "max_iterations": 25,
            "project_root": "[ROOT]/project", "prompt": "fix it", "completion": "verified",
            "criteria": [{"id": "AC-T", "description": "tests", "command": "t", "verified": true,
                "state": "verified"}],
            "tasks": {"total": 2, "done": 1, "ready": 1, "in_progress": 0, "failed": 0,
                "blocked": 0, "waiting": 0},
            "pause": null, "ending": null, "created_at": null, "started_at": null,
            "updated_at": null, "started_by": "person",
            "state_file": "[ROOT]/ralph/loops/[LOOP]/state.json"}]})
    );
}

#[test]
fn people_get_aligned_rows_and_no_control_characters() {
    let world = World::new().live_loop("S");
    world.change_state(|state| {
        state["prompt"] = json!("fix\u{1b}]0;owned\u{7} it");
        state["acceptance_criteria"] = json!([
            {"id": "AC-10", "description": "a", "verification_command": "make\nrm"},
            {"id": "AC-T", "description": "tests", "verified": true, "verification_command": "t"}]);
    });
    world.ralph(&["status"]).check(
        0,
        "[LOOP]  implementation  0/25\n  goal     fix\\u{1b}]0;owned\\u{7} it\n  project  \
         [ROOT]/project\n  session  S\n    AC-10  unverified  a      make\\nrm\n    AC-T   verified    \
         tests  t\n",
        "",
    );
}

#[test]
fn without_a_loop_it_says_what_to_do() {
    World::new().ralph(&["status"]).check(
        0,
        "no loop is live or planned in `[ROOT]/project`; type /ralph \"what to do\" in Claude Code, \
         or `ralph status --all` for all loops\n",
        "",
    );
}

#[test]
fn all_means_other_projects_and_the_archive_too() {
    let world = World::new().live_loop("S");
    world.ralph(&["cancel"]).done();
    let world = world.live_loop("T");
    world.change_state(|state| state["project_root"] = json!("/elsewhere"));
    let count = |arguments: &[&str]| -> usize {
        world.ralph(arguments).done().json()["loops"].as_array().unwrap().len()
    };
    assert_eq!(count(&["status", "--json"]), 0);
    assert_eq!(count(&["status", "--json", "--all"]), 2);
    assert_eq!(count(&["status", "--json", "--session", "T"]), 1);
}

#[test]
fn broken_and_newer_states_are_listed_with_the_reason() {
    for (text, reason) in [("{", "is broken"), ("{\"schema_version\": 2}", "newer Ralph")] {
        let world = World::new().live_loop("S");
        std::fs::write(world.state_file(), text).unwrap();
        let document = world.ralph(&["status", "--json"]).done().json();
        let told = document["unreadable"][0]["reason"].as_str().unwrap_or_default().to_owned();
        assert!(told.contains(reason), "{document}");
        assert_eq!(document["loops"], Value::Array(Vec::new()));
        let shown = world.ralph(&["status"]).done().stdout;
        assert!(shown.starts_with("unreadable  ") && shown.contains(reason), "{shown}");
        assert_eq!(std::fs::read_to_string(world.state_file()).unwrap(), text);
        assert_eq!(world.ralph(&["status", "--session", "S"]).exit, 3);
    }
}
