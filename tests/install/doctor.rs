//! What `ralph doctor` says of a home that is well, and of each breakage.

use crate::world::World;
use serde_json::{Value, json};
use std::fs;

/// A state file and the manifest entry that leads to it.
pub(crate) fn put_state(world: &World, loop_id: &str, session: &str, phase: &str) {
    let project = world.path("project");
    let state = json!({
        "schema_version": 1, "loop_id": loop_id, "session_id": session, "mode": "loop",
        "phase": phase, "project_root": project, "prompt": "p", "max_iterations": 5, "iteration": 1,
        "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
    });
    let path = format!("state/loops/{loop_id}/state.json");
    world.write(&path, &state.to_string());
    let entry = format!("{}\n", world.path(&path).display());
    world.write(&format!("state/manifest/{session}"), &entry);
    for folder in ["state", "state/loops", "state/manifest"] {
        world.chmod(folder, 0o700);
    }
}
