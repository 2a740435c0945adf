//! `ralph parallel waves` and `next`.

use crate::world::World;
use serde_json::{Value, json};
use std::path::Path;

/// A live loop for workers with these tasks: id, what it needs, the files that it changes.
fn parallel(tasks: &[(&str, &[&str], &[&str])]) -> World {
    let world = World::new().under_git().live_loop("S");
    let mut git = world.command(Path::new("git"), "");
    let who = ["-c", "user.name=x", "-c", "user.email=x"];
    let commit = ["commit", "-q", "--allow-empty", "-m", "first"];
    assert!(git.args(who).args(commit).status().unwrap().success());
    let task_graph: Vec<Value> = tasks
        .iter()
        .map(|(id, deps, files)| {
            json!({"id": id, "name": format!("write {id}"), "deps": deps, "files": files,
                "status": "pending", "completion_condition": ""})
        })
        .collect();
    world.change_state(|state| {
        state["parallel"] = json!(true);
        state["task_graph"] = json!(task_graph);
    });
    world
}

#[test]
fn a_plan_shows_waves_and_says_what_waits_only_for_a_file() {
    let world = parallel(&[
        ("T-1", &[], &["src/a.rs"]),
        ("T-2", &[], &["src/"]),
        ("T-3", &["T-1"], &[]),
        ("T-4", &["T-9"], &["d"]),
    ]);
    world.ralph(&["parallel", "waves"]).check(
        0,
        "wave 1\n  T-1  write T-1  (src/a.rs)\nwave 2\n  T-2  write T-2  (src/)\n  T-3  write T-3\n\
         at most 4 at once\nT-2 waits for T-1: both change `src`\nwithout declared files, so that a \
         clash shows only when they are merged: T-3\nout of reach, behind one that is failed, blocked, \
         unknown or waits for it: T-4\n",
        "",
    );
    let plan = world.ralph(&["parallel", "plan", "--json"]).done().json();
    assert_eq!(plan["plan"]["waves"], json!([["T-1"], ["T-2", "T-3"]]));
    assert_eq!(plan["max_workers"], 4);
}

#[test]
fn the_next_step_holds_the_exact_input_of_each_call() {
    let world = parallel(&[("T-1", &[], &["a"]), ("T-2", &[], &["b"]), ("T-3", &[], &["b"])]);
    world.write("project/not committed", "x");
    let said = world.in_session("S", &["parallel", "next"], "").done().stdout;
    assert!(said.starts_with("Start these 2 workers now: in one message, one call"), "{said}");
    let calls: Vec<Value> = said
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(calls[1]["description"], "T-2 write T-2");
    assert_eq!(calls[1]["subagent_type"], "ralph-worker");
    assert_eq!(calls[1]["run_in_background"], true);
    assert!(calls[1]["prompt"].as_str().unwrap().starts_with("Ralph task T-2\nDo: write T-2\n"));
    assert!(said.contains("Not committed, so workers will not see it: `not committed`"), "{said}");
    let next = world.ralph(&["parallel", "next", "--json"]).done().json();
    assert_eq!(
        (&next["next"]["action"], &next["not_in_base"]),
        (&json!("start"), &json!(["not committed"]))
    );
    assert_eq!(next["next"]["calls"], json!(calls));
}

#[test]
fn each_step_says_what_comes_after_it() {
    let world = parallel(&[("T-1", &[], &["a"])]);
    let step = |change: &dyn Fn(&mut Value)| {
        world.change_state(change);
        let printed = world.in_session("S", &["parallel", "next"], "");
        (printed.exit, printed.stdout)
    };
    let worker = |standing: &str, merged: &str| {
        json!([{"call": "c", "kind": "ralph-worker", "task": "T-1", "about": "T-1 write T-1",
            "at": "2026-01-01T00:00:00Z", "standing": standing, "files": ["a"], "merged": merged}])
    };
    let (exit, said) = step(&|state| {
        state["task_graph"][0]["status"] = json!("in_progress");
        state["workers"] = worker("running", "");
    });
    assert!(exit == 0 && said.starts_with("At work: T-1 write T-1. End your turn now"), "{said}");
    let (exit, said) = step(&|state| {
        state["task_graph"][0]["status"] = json!("done");
        state["workers"] = worker("done", "");
    });
    assert!(
        exit == 0 && said.starts_with("Run `ralph parallel merge` now: the work of T-1"),
        "{said}"
    );
    let (exit, said) = step(&|state| state["workers"] = worker("done", "abc"));
    assert!(
        exit == 0 && said.starts_with("All tasks are done and merged. Run `ralph verify`"),
        "{said}"
    );
    let (exit, said) = step(&|state| {
        state["task_graph"][0]["status"] = json!("failed");
        state["task_graph"][0]["result"] = json!("no grammar");
    });
    assert!(
        exit == 1 && said.starts_with("Nothing can be started: T-1 is failed: no grammar."),
        "{said}"
    );
}

#[test]
fn without_a_repository_or_a_commit_no_worker_is_started() {
    let world = World::new().live_loop("S");
    world.change_state(|state| {
        state["task_graph"] = json!([{"id": "T-1", "name": "x", "deps": [], "status": "pending",
            "completion_condition": "", "files": []}]);
    });
    let printed = world.ralph(&["parallel", "next"]);
    assert_eq!(printed.exit, 1, "{printed:?}");
    assert!(printed.stdout.starts_with("No worker can be started: "), "{printed:?}");
    assert!(printed.stdout.contains("git"), "{printed:?}");
    assert!(printed.stdout.contains("ralph blocked"), "{printed:?}");
}
