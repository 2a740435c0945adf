//! What has to hold after every cut, whatever was cut: one check for all cases.

use crate::power::record::{Recorded, is_modelled};
use crate::scene::Scene;
use crate::snapshot::{self, Thing, Tree};
use crate::steady;
use crate::world::{Ran, World, executable, run};
use ralph_io::store::journal;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// How the run was cut: what may be left differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Cut {
    /// The process was killed: what it wrote is there.
    Kill,
    /// A call failed, and the program dealt with it.
    Error,
    /// Something that the program started was killed or failed, and the program dealt with it: it
    /// may have decided otherwise than an untouched run, but never by halves.
    Family,
    /// The power was cut: what was not synced may be torn. The journal is not synced.
    Power,
}

/// What may be found: each content that an untouched run put under a name in one step, by the
/// steady form of its path; and what of the state is counted.
pub(crate) struct Lawful {
    versions: BTreeMap<String, BTreeSet<String>>,
    standings: BTreeSet<String>,
    /// Lines of all journals before the run and after it.
    lines: (usize, usize),
}

impl Lawful {
    pub(crate) fn of(scene: &Scene, recorded: &Recorded) -> Lawful {
        let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut standings = BTreeSet::new();
        for (path, contents) in &recorded.versions {
            let known = versions.entry(steady::text(&path.display().to_string())).or_default();
            known.extend(contents.iter().map(|content| steady::content(content)));
            if path.ends_with("state.json") {
                let known: Vec<String> =
                    contents.iter().filter_map(|content| standing(content)).collect();
                standings.extend(known.iter().filter_map(|one| with_unknown_cause(one)));
                standings.extend(known);
            }
        }
        let after = n_lines(&scene.world);
        let count = |tree: &Tree| -> usize {
            let journals = tree.iter().filter(|(path, _)| path.ends_with("journal.jsonl"));
            journals.map(|(_, thing)| lines(thing)).sum()
        };
        Lawful { versions, standings, lines: (count(&scene.before), after) }
    }
}

fn lines(thing: &Thing) -> usize {
    let Thing::File { bytes, .. } = thing else { return 0 };
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count()
}

/// The same pause where the client's record of the turn could not be read: what cut it is then not known, and counts as
/// a crash.
fn with_unknown_cause(standing: &str) -> Option<String> {
    let mut parts: Value = serde_json::from_str(standing).ok()?;
    let cause = parts.get_mut(3).filter(|cause| cause.is_string())?;
    *cause = "crashed".into();
    Some(parts.to_string())
}

/// Where a loop stands, without words and times: an error's words are new in a state that is old
/// or new otherwise.
fn standing(content: &[u8]) -> Option<String> {
    let state: Value = serde_json::from_slice(content).ok()?;
    let criteria = state["acceptance_criteria"].as_array().into_iter().flatten();
    let tasks = state["task_graph"].as_array().into_iter().flatten();
    // That of a round is drawn by chance.
    let session = state["session_id"].as_str().unwrap_or_default();
    let session = if steady::text(session) == "UUID" { "UUID" } else { session };
    let standing = json!([
        session,
        state["phase"],
        state["iteration"],
        state["pause"]["cause"],
        state["ending"]["kind"],
        criteria.map(|one| one["id"].clone()).collect::<Vec<_>>(),
        tasks.map(|task| json!([task["id"], task["status"], task["owner"]])).collect::<Vec<_>>(),
    ]);
    Some(standing.to_string())
}

/// Panics unless all is well; the world is another one afterwards.
pub(crate) fn survives(scene: &Scene, lawful: &Lawful, cut: Cut, answered: bool) {
    let world = &scene.world;
    files_are_old_or_new(world, lawful, cut);
    journal_is_whole(scene, lawful, cut, answered);
    a_foreign_session_hears_nothing(world);
    a_person_can_look(world);
    (scene.case.then)(world, answered);
    world.stop("and now?").harmless();
    crate::journals::replay_all(&world.ralph_home());
    nothing_piles_up(world);
}

/// Names under which a file is written, and which nobody reads before it is whole: temporary
/// files, locks, the spare copy of the state, outputs (of which a receipt speaks when it is
/// written), the cache of trees (which knows itself when it is broken), the logs of rounds (appended to, each of its own run), and what checks keep (which
/// can be had anew; a copy counts for one boot of the machine only), and where commands run on other files (the next such run
/// removes it).
fn is_real_name(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let spare = [".tmp", ".lock", ".last-good", "journal.jsonl"];
    let below = |folder: &str| path.iter().any(|part| part == folder);
    !spare.iter().any(|spare| name.contains(spare))
        && ["receipts", "trees", "checks", "rounds", "elsewhere"]
            .iter()
            .all(|folder| !below(folder))
}

fn files_are_old_or_new(world: &World, lawful: &Lawful, cut: Cut) {
    for (path, thing) in snapshot::take(&world.root()) {
        let is_ours = path.starts_with("ralph") || path.starts_with("home");
        let Thing::File { bytes, .. } = &thing else { continue };
        if !is_ours || !is_modelled(&path) || !is_real_name(&path) {
            continue;
        }
        let shown = path.display().to_string();
        let text = String::from_utf8_lossy(bytes);
        if matches!(cut, Cut::Error | Cut::Family) && path.ends_with("state.json") {
            let standing = standing(bytes).unwrap_or_else(|| panic!("`{shown}` is torn: {text}"));
            let is_known = lawful.standings.contains(&standing) || cut == Cut::Family;
            assert!(is_known, "`{shown}` is neither old nor new: {standing}");
            continue;
        }
        // Git ignores that it could not write into a pipe, which no disk causes and only this cut does: its list of the
        // files at the start is then short.
        if cut == Cut::Family && path.ends_with("begun") {
            continue;
        }
        let known = lawful.versions.get(&steady::text(&shown));
        let is_known = known.is_some_and(|known| known.contains(&steady::content(bytes)));
        // What an error says may be kept in other words.
        let is_whole = matches!(cut, Cut::Error | Cut::Family)
            && serde_json::from_slice::<Value>(bytes).is_ok();
        assert!(is_known || is_whole, "`{shown}` is neither old nor new: {text:?}");
    }
}

fn journals(world: &World) -> Vec<std::path::PathBuf> {
    let kinds = ["loops", "archive"].map(|kind| world.ralph_home().join(kind));
    let folders = kinds.iter().flat_map(|kind| fs::read_dir(kind).into_iter().flatten().flatten());
    folders.map(|folder| folder.path()).collect()
}

fn n_lines(world: &World) -> usize {
    let journals = journals(world);
    journals.iter().map(|folder| journal::load(folder).map_or(0, |it| it.entries.len())).sum()
}

/// Every decision that was answered has its line; the note that something was delivered follows the
/// answer. A line may be torn only where the disk tore it.
fn journal_is_whole(scene: &Scene, lawful: &Lawful, cut: Cut, answered: bool) {
    let world = &scene.world;
    let (before, after) = lawful.lines;
    let after = after - usize::from(scene.case.delivers);
    if cut != Cut::Kill {
        return;
    }
    for folder in journals(world) {
        let journal = journal::load(&folder).unwrap();
        assert_eq!(journal.n_unreadable, 0, "a line of the journal is torn");
    }
    let n = n_lines(world);
    assert!(n >= before, "{n} lines of the journal, there were {before}");
    assert!(n >= after || !answered, "{n} lines of the journal, the answer made them {after}");
}

fn a_foreign_session_hears_nothing(world: &World) {
    let calls = [
        ("ralph-stop-hook", "Stop", json!({"last_assistant_message": "RALPH_COMPLETE"})),
        (
            "ralph-pre-tool-use",
            "PreToolUse",
            json!({"tool_name": "EnterPlanMode", "tool_input": {}}),
        ),
    ];
    for (name, event, mut members) in calls {
        members["session_id"] = json!("foreign");
        let payload = world.payload(event, members).to_string();
        let mut command = world.command(name);
        command.env("CLAUDE_CODE_SESSION_ID", "foreign");
        let ran: Ran = run(command, name, payload.as_bytes());
        ran.silent();
    }
}

/// `ralph status` reads every loop that there is, and says that all can be read.
fn a_person_can_look(world: &World) {
    let mut command = Command::new(executable("ralph"));
    command.args(["status", "--json", "--all"]).env_clear().envs(&world.env);
    command.current_dir(&world.cwd).env_remove("CLAUDE_CODE_SESSION_ID").stdin(Stdio::null());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(document["loops"].is_array());
}

/// One cut leaves at most a few files behind, and nothing was set aside as broken.
fn nothing_piles_up(world: &World) {
    let tree = snapshot::take(&world.root());
    let names = tree.keys().filter(|path| path.starts_with("ralph") || path.starts_with("home"));
    let names: Vec<String> = names.map(|path| path.display().to_string()).collect();
    let broken: Vec<_> = names.iter().filter(|name| name.contains(".broken-")).collect();
    assert!(broken.is_empty(), "a state was found broken: {broken:?}");
    // A saved tree is not synced.
    let left = names.iter().filter(|name| name.contains(".tmp") && !name.contains("/trees/"));
    // The end of power may bring back the folder of a run on other files.
    let (elsewhere, left): (Vec<_>, Vec<_>) = left.partition(|name| name.contains("/elsewhere/"));
    let folders = elsewhere.iter().filter(|name| !name.ends_with("elsewhere"));
    let folders = folders.filter_map(|name| name.split_once("/elsewhere/"));
    let folders: std::collections::BTreeSet<_> =
        folders.map(|(_, below)| below.split('/').next()).collect();
    assert!(folders.len() <= 1, "more than one folder is left: {folders:?}");
    assert!(left.len() <= 1, "more than one file is left: {left:?}");
}
