//! `docs/orchestration.md`, `docs/tasks.md` and `docs/parallel.md`: tasks, and agents and workers that carry them out.

use super::{Sample, Screen, check, read, root};
use serde_json::{Value, json};

pub(super) const ORCHESTRATION: &[Sample] =
    &[("orchestration-next", next), ("orchestration-waves", waves)];
pub(super) const TASKS: &[Sample] =
    &[("task-list", list), ("task-claim", claim), ("plan-sync", sync)];
pub(super) const PARALLEL: &[Sample] = &[("parallel-plan", plan), ("parallel-merge", merge)];

/// An orchestration whose first task is done.
fn orchestration() -> Screen {
    let screen = Screen::new();
    for name in [
        "metadata.yaml",
        "progress.md",
        "plan.md",
        "tasks/task-1.md",
        "tasks/task-2.md",
        "iterations/1/metadata.yaml",
        "reports/task-1-report.md",
    ] {
        let text = read(&root().join("tests/fixtures/migration/ralph-sessions").join(name));
        screen.world.write(&format!(".ralph-sessions/260109-101500/{name}"), &text);
    }
    screen
}

fn next() -> String {
    let mut screen = orchestration();
    screen.runs("ralph next");
    screen.text()
}

fn waves() -> String {
    let mut screen = orchestration();
    screen.runs("ralph team waves");
    screen.text()
}

/// The lines that the guide gives to `ralph plan-sync`, and one more, in a file.
fn lines() -> Screen {
    let screen = Screen::new();
    let guide = read(&root().join("docs/tasks.md"));
    let (_, shown) = guide.split_once("<<'TASKS'\n").unwrap();
    let (shown, _) = shown.split_once("TASKS\n").unwrap();
    screen.world.write("tasks.jsonl", shown);
    screen.world.write("Cargo.toml", "[package]\nname = \"shop\"\n");
    screen
}

fn planned() -> Screen {
    let screen = lines();
    screen.printed("ralph plan-sync < tasks.jsonl");
    screen
}

fn list() -> String {
    let mut screen = planned();
    screen.runs("ralph task list");
    screen.text()
}

fn claim() -> String {
    let mut screen = planned();
    screen.runs("ralph task claim --owner ann --lease 30");
    screen.text()
}

fn sync() -> String {
    let mut screen = lines();
    screen.runs("ralph plan-sync < tasks.jsonl");
    screen.text()
}

fn plan() -> String {
    let mut screen = Screen::new();
    let tasks = [
        r#"{"id":"T-1","name":"Write the parser","files":["src/parse.rs"]}"#,
        r#"{"id":"T-2","name":"Sort the imports","files":["src/"]}"#,
        r#"{"id":"T-3","name":"Write the printer","deps":["T-1"]}"#,
    ];
    screen.world.write("tasks.jsonl", &tasks.join("\n"));
    screen.printed("ralph plan-sync < tasks.jsonl");
    screen.runs("ralph parallel waves");
    screen.text()
}

/// Two workers that have changed the same file.
fn merge() -> String {
    let mut screen = Screen::new();
    let world = &screen.world;
    world.start("--ac \"it holds=git status\"");
    world.git("branch -M main");
    let base = world.git_says("rev-parse HEAD").trim().to_owned();
    let mut workers = Vec::new();
    let mut tasks = Vec::new();
    for task in ["T-1", "T-2"] {
        let folder = format!(".claude/worktrees/{task}");
        world.git(&format!("worktree add -q -b worktree-{task} {folder}"));
        world.write(&format!("{folder}/src/parse.rs"), task);
        workers.push(json!({
            "call": task, "kind": "ralph-worker", "task": task, "about": task, "at": "2026-01-01T00:00:00Z",
            "standing": "done", "worktree": world.project().join(folder), "branch": format!("worktree-{task}"),
            "base": base, "files": ["src/parse.rs"]}));
        tasks.push(json!({
            "id": task, "name": task, "deps": [], "status": "done", "completion_condition": "", "files": [],
            "owner": "ralph-worker", "attempts": 1}));
    }
    world.edit_state(|state| {
        state["parallel"] = Value::Bool(true);
        state["task_graph"] = Value::Array(tasks);
        state["workers"] = Value::Array(workers);
    });
    screen.runs("ralph parallel merge");
    screen.text()
}

#[test]
fn the_guide_to_orchestration_shows_what_appears() {
    check("docs/orchestration.md");
}

#[test]
fn the_guide_to_tasks_shows_what_appears() {
    check("docs/tasks.md");
}

#[test]
fn the_guide_to_parallel_workers_shows_what_appears() {
    check("docs/parallel.md");
}
