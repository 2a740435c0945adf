//! Orchestrated sessions: what changes their files. Progress and metadata are two files, so after each cut
//! what is asked next has to find them in step.

use super::{CASE, Case, person};
use crate::world::World;
use ralph_core::modes::orchestration::id::OrchestrationId;
use ralph_core::modes::orchestration::metadata::{Counts, OrchestrationMetadata};
use ralph_core::modes::orchestration::progress::Progress;
use ralph_core::modes::orchestration::state::State;
use serde_json::Value;
use std::fs;

const ID: &str = "260131-120000";

pub(super) const CASES: &[Case] = &[
    Case {
        name: "ralph session new",
        command: Some("team new"),
        set: World::new,
        act: |_| person(&["session", "new", "--id", ID, "Build", "it"]),
        then: |w, answered| {
            let said = w.elsewhere(&["session", "new", "--id", ID, "Build", "it"]);
            assert!(!(said.success && answered), "begun twice");
            // A session that is there knows what was asked for.
            let said = next(w);
            assert_eq!(said["invocations"][0]["inputs"]["USER_REQUEST"], "Build it", "{said}");
        },
        ..CASE
    },
    Case {
        name: "ralph session next",
        command: Some("next"),
        set: planned,
        act: |_| person(&["session", "next", "--begin"]),
        then: |w, answered| {
            assert!(!answered || read(w, "progress.md").contains("- [ ] task-2"));
            assert!(w.elsewhere(&["session", "next", "--begin"]).success);
            let said = next(w);
            assert_eq!(said["current_state"], "EXECUTING_BATCH", "{said}");
            assert_eq!(said["invocations"].as_array().unwrap().len(), 2, "{said}");
            let progress = read(w, "progress.md");
            for once in ["- [ ] task-1\n", "- [ ] task-2\n", "## Iterations"] {
                assert_eq!(progress.matches(once).count(), 1, "{progress}");
            }
            assert!(read(w, "iterations/1/metadata.yaml").contains("tasks_defined: 2"));
            in_step(w, 2, 0);
        },
        ..CASE
    },
    Case {
        name: "ralph session next: hears",
        command: Some("next"),
        set: || {
            let world = planned();
            assert!(world.elsewhere(&["session", "next", "--begin"]).success);
            assert!(world.elsewhere(&["session", "signal", "steer", "use oak"]).success);
            world
        },
        act: |_| person(&["session", "next", "--begin"]),
        // Heard once: who was told of it is not told again, and who was not is.
        then: |w, answered| {
            let waits = w.project().join(format!(".ralph-sessions/{ID}/signals/inputs"));
            let waits = fs::read_dir(waits).unwrap().count();
            let said = next(w)["invocations"].to_string();
            assert!(!answered || waits == 0);
            assert_eq!(said.contains("STEER: use oak"), waits == 1, "{said}");
        },
        ..CASE
    },
    Case {
        name: "ralph session mark",
        command: Some("mark"),
        set: || {
            let world = planned();
            assert!(world.elsewhere(&["session", "next", "--begin"]).success);
            world
        },
        act: |_| person(&["session", "mark", "task-1", "done"]),
        then: |w, answered| {
            assert!(!answered || read(w, "progress.md").contains("- [x] task-1"));
            // What changes nothing itself leaves the two as the cut did, but for what it finishes.
            assert!(w.elsewhere(&["session", "mark", "task-2", "open"]).success);
            let is_done = read(w, "progress.md").contains("- [x] task-1");
            in_step(w, 2, usize::from(is_done));
            assert!(w.elsewhere(&["session", "mark", "task-1", "done"]).success);
            in_step(w, 2, 1);
        },
        ..CASE
    },
    Case {
        name: "ralph session signal",
        command: Some("signal"),
        set: planned,
        act: |_| person(&["session", "signal", "steer", "use", "oak"]),
        then: |w, answered| {
            let said = next(w);
            let told = said["invocations"][0]["inputs"]["SIGNAL"].as_str();
            assert!(told == Some("STEER: use oak") || told.is_none() && !answered, "{said}");
        },
        ..CASE
    },
    Case {
        name: "ralph session feedback",
        command: Some("team feedback"),
        set: planned,
        act: |_| person(&["session", "feedback", "new"]),
        then: |w, answered| {
            let folder = w.project().join(format!(".ralph-sessions/{ID}/iterations/2/feedbacks"));
            let batches = fs::read_dir(&folder).into_iter().flatten().flatten();
            let files: Vec<String> = batches
                .filter_map(|batch| fs::read_to_string(batch.path().join("feedbacks.md")).ok())
                .collect();
            assert!(!answered || files.len() == 1, "{files:?}");
            assert!(files.iter().all(|text| text.contains("## Artifacts Index")), "{files:?}");
            // What has no item yet begins nothing.
            assert_eq!(next(w)["iteration"], 1);
            assert!(w.elsewhere(&["session", "feedback", "new"]).success);
        },
        ..CASE
    },
    Case {
        name: "ralph session repair",
        command: Some("team repair"),
        set: || {
            let world = planned();
            let text = read(&world, "progress.md").replace("# Progress\n", "");
            world.write(&path("progress.md"), &text);
            world.write(&path("metadata.yaml"), "version: [\n");
            world
        },
        act: |_| person(&["session", "repair"]),
        then: |w, answered| {
            assert!(!answered || read(w, "progress.md").starts_with("# Progress\n"));
            let said = w.elsewhere(&["session", "repair"]);
            assert!(said.success, "{}", said.text);
            assert!(w.elsewhere(&["session", "validate"]).success);
            assert_eq!(next(w)["current_state"], "EXECUTING_BATCH");
        },
        ..CASE
    },
];

fn path(name: &str) -> String {
    format!(".ralph-sessions/{ID}/{name}")
}

fn read(world: &World, name: &str) -> String {
    fs::read_to_string(world.project().join(path(name))).unwrap()
}

fn next(world: &World) -> Value {
    let said = world.elsewhere(&["session", "next", "--json"]).text;
    serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// The counts of the metadata are those of the progress.
#[track_caller]
fn in_step(world: &World, total: usize, completed: usize) {
    let metadata = read(world, "metadata.yaml");
    let counts = format!("tasks:\n  total: {total}\n  completed: {completed}\n");
    assert!(metadata.contains(&counts), "{metadata}");
    let done = read(world, "progress.md").matches("- [x] task-").count();
    assert_eq!(done, completed);
}

/// Planned, with two tasks that stand in no section yet: the router adds them.
fn planned() -> World {
    let world = World::new();
    assert!(world.elsewhere(&["session", "new", "--id", ID, "Build", "it"]).success);
    world.write(&path("plan.md"), "Goal: it\n");
    let planning = ["plan-init", "plan-brainstorm", "plan-research", "plan-breakdown"];
    let progress = Progress::first(&planning).render().replace("[ ] plan-", "[x] plan-");
    world.write(&path("progress.md"), &progress);
    let id = OrchestrationId::parse(ID).unwrap();
    let now = "2026-01-31T12:00:00Z".parse::<jiff::Timestamp>().unwrap().into();
    let metadata = OrchestrationMetadata::first(State::Planning, 1, now);
    world.write(&path("metadata.yaml"), &metadata.render(&id, Counts::default()));
    for task in ["task-1", "task-2"] {
        let text = format!(
            "---\nid: {task}\niteration: 1\n---\n# Task: {task}\n## Title\nDo it\n## Objective\nIt.\n\
             ## Success Criteria\n- it is\n## Dependencies\ndepends_on: []\n"
        );
        world.write(&path(&format!("tasks/{task}.md")), &text);
    }
    world
}
