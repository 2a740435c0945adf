//! From the files of other tools to a loop, a planning, a session or a refinement here, as
//! `docs/migration.md` says it. The samples are as those tools write them.

use crate::world::World;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// A sample, put where its tool keeps it.
fn put(world: &World, sample: &str, place: &str) -> String {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/migration");
    let text = fs::read_to_string(samples.join(sample)).unwrap();
    let text = text.replace("{{root}}", &world.path("").display().to_string());
    world.write(place, &text).display().to_string()
}

#[test]
fn the_patterns_manifest_leads_to_a_planned_loop_where_it_was() {
    let world = World::new();
    put(&world, "pattern-state.json", "tmp/ralph_state.json");
    let manifest = put(&world, "pattern-manifest", "tmp/ralph_session_manifest");
    world.ralph(&["adopt", &manifest]).done();
    let state = world.state();
    assert_eq!((&state["phase"], &state["iteration"]), (&json!("planned"), &json!(6)));
    assert_eq!(state["acceptance_criteria"][0]["verification_command"], "make test");
    // What a model wrote down as verified has no receipt here.
    let status = world.ralph(&["status", "--json"]).done().json();
    assert_eq!(status["loops"][0]["criteria"][0]["verified"], false);
    assert_eq!(status["loops"][0]["criteria"][0]["state"], "not_run");
    assert_eq!(status["loops"][0]["tasks"]["done"], 1);
    let ready = world.ralph(&["task", "ready"]).done().stdout;
    assert!(ready.contains("T-2") && !ready.contains("T-3"), "{ready}");
    let started = world.in_session("S", &["start", "--session", "S", "-"], "").done();
    assert!(started.stdout.contains("Goal: Finish what was begun"), "{started:?}");
    assert!(started.stdout.contains("1 of 3 tasks done. Next: T-2"), "{started:?}");
    assert_eq!(world.state()["iteration"], 6);
}

#[test]
fn the_official_plugins_loop_goes_on_with_its_prompt_its_promise_and_a_bound() {
    let world = World::new();
    world.write("project/Makefile", "test:\n\ttrue\n");
    let file = put(&world, "ralph-loop.local.md", "project/.claude/ralph-loop.local.md");
    let before = fs::read_to_string(&file).unwrap();
    let printed = world.ralph(&["adopt", ".claude/ralph-loop.local.md"]).done();
    assert!(printed.stdout.contains(" at 6/20; that file was left as it is."), "{printed:?}");
    assert!(printed.stdout.contains("type /cancel-ralph, or remove `.claude/"), "{printed:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    let state = world.state();
    assert_eq!(
        state["prompt"],
        "Fix the date parser.\nOutput <promise>ALL DATES PARSE</promise> when done."
    );
    assert_eq!(state["completion_token"], "ALL DATES PARSE");
    assert_eq!(state["acceptance_criteria"][0]["verification_command"], "make test");
    assert_eq!((&state["completion"], &state["phase"]), (&json!("verified"), &json!("planned")));
    assert_eq!(state["lineage"][0]["session_id"], "5b0b1f0e-0f57-4e53-9a0e-8f9d4f0f8f11");
    let root = world.path("project").canonicalize().unwrap();
    assert_eq!(state["project_root"], json!(root));
}

#[test]
fn an_official_loop_without_a_bound_gets_one() {
    let world = World::new();
    put(&world, "ralph-loop-unbounded.local.md", "project/.claude/ralph-loop.local.md");
    let printed = world.ralph(&["adopt", ".claude/ralph-loop.local.md"]).done();
    assert!(printed.stdout.contains(" at 0/25; "), "{printed:?}");
    assert_eq!(world.state()["completion_token"], "RALPH_COMPLETE");
}

#[test]
fn an_official_loop_that_is_not_active_or_not_whole_is_left_alone() {
    let world = World::new();
    let file = put(&world, "ralph-loop.local.md", "project/.claude/ralph-loop.local.md");
    let text = fs::read_to_string(&file).unwrap();
    for (text, exit, why) in [
        (text.replace("active: true", "active: false"), 1, "is not active"),
        (text.replace("iteration: 7", "iteration: "), 3, "which is no number"),
        (text.split("\n---").next().unwrap().to_owned(), 3, "its front matter does not end"),
    ] {
        fs::write(&file, text).unwrap();
        let printed = world.ralph(&["adopt", &file]);
        assert_eq!((printed.exit, printed.stdout.as_str()), (exit, ""), "{printed:?}");
        assert!(printed.stderr.contains(why), "{printed:?}");
        assert!(world.loop_ids().is_empty());
    }
}

#[test]
fn an_orchestrated_session_goes_on_where_its_files_say() {
    let world = World::new();
    for name in [
        "metadata.yaml",
        "progress.md",
        "plan.md",
        "tasks/task-1.md",
        "tasks/task-2.md",
        "iterations/1/metadata.yaml",
        "reports/task-1-report.md",
    ] {
        let place = format!("project/.ralph-sessions/260109-101500/{name}");
        put(&world, &format!("ralph-sessions/{name}"), &place);
    }
    world.ralph(&["session", "validate"]).done();
    let next = world.ralph(&["session", "next", "--json"]).done().json();
    assert_eq!(next["session_id"], "260109-101500");
    assert_eq!(
        (&next["current_state"], &next["current_wave"]),
        (&json!("EXECUTING_BATCH"), &json!(2))
    );
    let calls: Vec<Value> = next["invocations"].as_array().unwrap().clone();
    assert_eq!(calls.len(), 1, "{next}");
    assert_eq!(calls[0]["agent"], "Ralph-v2-Executor");
    assert_eq!(calls[0]["inputs"]["TASK_ID"], "task-2");
}

#[test]
fn a_refinery_keeps_its_history() {
    let world = World::new();
    put(&world, "refine-sessions.json", "project/.claude/refine-sessions.json");
    let listed = world.ralph(&["refine", "list"]).done().stdout;
    assert!(listed.contains("refine-myproject"), "{listed}");
    let shown = world.ralph(&["refine", "status", "--session", "refine-myproject"]).done().stdout;
    assert!(shown.contains("5") && shown.contains("Cosmetic tweaks"), "{shown}");
}

#[test]
fn tasks_that_another_planner_wrote_as_lines_become_the_planned_ones() {
    let world = World::new();
    let file = put(&world, "tasks.jsonl", "tasks.jsonl");
    let lines = fs::read_to_string(file).unwrap();
    world.run("", &["plan-sync"], &lines).done();
    let listed = world.ralph(&["task", "list", "--all", "--markdown"]).done().stdout;
    assert!(
        listed.contains("Write the parser") && listed.contains("Write the printer"),
        "{listed}"
    );
    let again = world.run("", &["plan-sync"], &lines).done();
    assert_eq!(world.state()["task_graph"].as_array().unwrap().len(), 2, "{again:?}");
}
