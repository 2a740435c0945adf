//! A project that keeps its tasks in `bd`.

use crate::world::{Printed, World};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;

/// A world with the stand-in on `PATH` and these beads: `id title [status] [after ID …]`.
pub(crate) fn project(rows: &[&str]) -> World {
    let world = World::new();
    symlink(std::env::current_exe().unwrap(), world.path("bin/bd")).unwrap();
    let beads: Vec<Value> = rows.iter().map(|row| bead(row)).collect();
    set(&world, &beads);
    world
}

fn bead(row: &str) -> Value {
    let (row, after) = row.split_once(" after ").unwrap_or((row, ""));
    let words: Vec<&str> = row.split(' ').collect();
    let [id, title, rest @ ..] = words.as_slice() else { panic!("{row}") };
    let dependencies: Vec<Value> = after
        .split_whitespace()
        .map(|on| json!({"issue_id": id, "depends_on_id": on, "type": "blocks"}))
        .collect();
    let mut bead = json!({"id": id, "title": title, "status": rest.first().unwrap_or(&"open"),
        "priority": 2, "issue_type": "task", "created_at": "2026-05-01T00:00:00Z",
        "updated_at": "2026-05-01T00:00:00Z"});
    if !dependencies.is_empty() {
        bead["dependencies"] = json!(dependencies);
    }
    bead
}

/// Writes the store.
pub(crate) fn set(world: &World, beads: &[Value]) {
    let lines: String = beads.iter().map(|bead| format!("{bead}\n")).collect();
    world.write("project/.beads/issues.jsonl", &lines);
}

/// What is in the store.
pub(crate) fn beads(world: &World) -> Vec<Value> {
    lines(world, "issues.jsonl")
}

/// What bd was asked.
pub(crate) fn calls(world: &World) -> Vec<Value> {
    lines(world, "calls")
}

fn lines(world: &World, name: &str) -> Vec<Value> {
    let text = fs::read_to_string(world.path("project/.beads").join(name)).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// `ralph task … --tracker bd` in a terminal.
pub(crate) fn task(world: &World, arguments: &str) -> Printed {
    world.ralph(&words(arguments))
}

/// The words of such a command.
pub(crate) fn words(arguments: &str) -> Vec<&str> {
    ["task"].into_iter().chain(arguments.split(' ')).chain(["--tracker", "bd"]).collect()
}
