//! What Ralph has kept of a world's loops, and the models that the tests of loops share.
//!
//! Read from the files themselves, not through `ralph status`: they are what is promised.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use ralph_core::protocol::registration::{COMMAND_LINE, HOOK_EXECUTABLES};
use ralph_test_support::fake_api::{ApiRequest, Script, ScriptedTurn};
use ralph_test_support::place_executable;
use serde_json::Value;

use crate::support::{World, executables};

/// What asks for completion.
pub(crate) const TOKEN: &str = "RALPH_COMPLETE";

/// A loop's folder, as it was when it was looked at.
pub(crate) struct Kept {
    pub(crate) state: Value,
    pub(crate) folder: PathBuf,
}

/// A world in which the built `ralph install` has registered the hooks for the user.
#[track_caller]
pub(crate) fn installed() -> World {
    let world = World::new();
    world.ralph(&["install"]).exits(0);
    world
}

/// Registers, for the user of this world, executables that lie in a folder of its own, which is returned.
#[track_caller]
pub(crate) fn installed_from(world: &World, folder: &str) -> PathBuf {
    let folder = world.root().join(folder);
    copy_executables(&folder);
    world.run(folder.join(COMMAND_LINE), &["install"], "").exits(0);
    folder
}

/// Puts all the executables side by side into a folder.
pub(crate) fn copy_executables(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    for name in HOOK_EXECUTABLES.into_iter().chain([COMMAND_LINE]) {
        place_executable(&executables().join(name), &folder.join(name));
    }
}

/// A model that calls a tool and then ends its turn with a text, turn after turn; both know the turn's number.
pub(crate) fn works(
    tool: impl Fn(usize) -> ScriptedTurn + Send + 'static,
    text: impl Fn(usize) -> String + Send + 'static,
) -> Script {
    let n_answers = AtomicUsize::new(0);
    Script::new().answer_with(move |_| {
        let n = n_answers.fetch_add(1, Ordering::SeqCst);
        if n.is_multiple_of(2) { tool(n / 2 + 1) } else { ScriptedTurn::text(&text(n / 2 + 1)) }
    })
}

/// A tool call that changes the tree: a new file for each turn.
pub(crate) fn new_file(turn: usize) -> ScriptedTurn {
    ScriptedTurn::bash(&format!("echo {turn} > work-{turn}"))
}

/// Nothing special for `n` turns, then the token as it should be.
pub(crate) fn token_after(n: usize) -> impl Fn(usize) -> String {
    move |turn| {
        if turn <= n { format!("Step {turn} is done.") } else { format!("All done.\n\n{TOKEN}") }
    }
}

/// The positions that the stop hook has told the model, in order; each must have been told once.
#[track_caller]
pub(crate) fn continuations(requests: &[ApiRequest]) -> Vec<String> {
    const BEFORE: &str = "Stop hook additional context: ";
    let told = requests.iter().map(ApiRequest::news).filter_map(|news| {
        let (_, rest) = news.split_once(BEFORE)?;
        assert!(!rest.contains(BEFORE), "told twice for one stop: {news}");
        let line = rest.lines().find_map(|line| line.strip_prefix("Ralph "))?;
        Some(line.split_once(": ")?.0.to_owned())
    });
    told.collect()
}

/// `1/5`, `2/5` … up to `n`.
pub(crate) fn positions(n: usize, max_iterations: usize) -> Vec<String> {
    (1..=n).map(|iteration| format!("{iteration}/{max_iterations}")).collect()
}

/// The only loop of this world, which must have ended and left nothing but its archive.
#[track_caller]
pub(crate) fn the_ended(world: &World) -> Kept {
    assert_eq!(folders(&world.ralph_home().join("loops")), <[PathBuf; 0]>::default());
    assert_eq!(session_entries(world), <[String; 0]>::default());
    the_archived(world)
}

/// The only archived loop of this world; its session may still have to hear of the end.
#[track_caller]
pub(crate) fn the_archived(world: &World) -> Kept {
    the_only(&world.ralph_home().join("archive"))
}

/// The only loop of this world that has not ended.
#[track_caller]
pub(crate) fn the_live(world: &World) -> Kept {
    the_only(&world.ralph_home().join("loops"))
}

/// Whether Ralph has any loop in this world, live or ended.
pub(crate) fn has_none(world: &World) -> bool {
    ["loops", "archive"].iter().all(|name| folders(&world.ralph_home().join(name)).is_empty())
}

/// The sessions that the manifest knows.
pub(crate) fn session_entries(world: &World) -> Vec<String> {
    let names = folders(&world.ralph_home().join("manifest"))
        .into_iter()
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned());
    names.filter(|name| !name.starts_with("project-")).collect()
}

/// The rows of a session's transcript in which a hook speaks or has failed.
pub(crate) fn what_hooks_said(world: &World, session_id: &str) -> Vec<Value> {
    let text = |row: &Value, member: &str| {
        row["attachment"][member].as_str().unwrap_or_default().to_owned()
    };
    // What every session is told about its project is no word of a loop's.
    let speaks = |row: &Value| {
        text(row, "type").starts_with("hook_") && text(row, "hookEvent") != "SessionStart"
    };
    world.transcript_of(session_id).into_iter().filter(speaks).collect()
}

impl Kept {
    /// `complete_unverified at 12/25`.
    pub(crate) fn ending(&self) -> String {
        let word = self.state["ending"]["kind"].as_str().unwrap_or("not ended");
        format!("{word} at {}/{}", self.state["iteration"], self.state["max_iterations"])
    }

    /// `Ralph loop <id> started`.
    pub(crate) fn started_line(&self) -> String {
        format!("Ralph loop {} started", self.state["loop_id"].as_str().unwrap())
    }

    /// How often the journal has this decision on this event.
    pub(crate) fn n_decisions(&self, event: &str, decision: &str) -> usize {
        let journal = fs::read_to_string(self.folder.join("journal.jsonl")).unwrap();
        let lines = journal.lines().filter(|line| !line.is_empty());
        let entries = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
        entries.filter(|entry| entry["event"] == event && entry["decision"] == decision).count()
    }
}

#[track_caller]
fn the_only(parent: &Path) -> Kept {
    let mut all = folders(parent);
    assert_eq!(all.len(), 1, "{}: {all:?}", parent.display());
    let folder = all.remove(0);
    let text = fs::read_to_string(folder.join("state.json")).unwrap();
    Kept { state: serde_json::from_str(&text).unwrap(), folder }
}

fn folders(parent: &Path) -> Vec<PathBuf> {
    fs::read_dir(parent).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}
