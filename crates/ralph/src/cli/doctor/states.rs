//! Can every loop's state be read, and does every manifest entry lead to one?

use super::check::{Check, fail, warn, well};
use ralph_core::state::{LoopState, SCHEMA_VERSION};
use ralph_io::outside;
use serde_json::Value;
use std::path::{Path, PathBuf};

const NAME: &str = "loops";

/// What is stored.
pub(super) struct Loops {
    /// One per folder in `loops/`.
    pub(super) states: Vec<(PathBuf, Stored)>,
    dangling: Vec<PathBuf>,
}

/// One state file.
pub(super) enum Stored {
    /// It can be read.
    State(Box<LoopState>),
    /// A newer Ralph wrote it.
    Newer(u64),
    /// It cannot be read, and whether its last good copy can.
    Damaged { why: String, has_good_copy: bool },
}

impl Loops {
    /// Reads them all.
    pub(super) fn gather(home: &Path) -> Loops {
        let loops = home.join("loops");
        let states = outside::names(&loops)
            .into_iter()
            .map(|name| loops.join(name).join("state.json"))
            .filter_map(|path| read_state(&path).map(|stored| (path, stored)))
            .collect();
        let manifest = home.join("manifest");
        let dangling = outside::names(&manifest)
            .into_iter()
            // What starts with a dot is a lock or a file that is being written.
            .filter(|name| !name.starts_with('.') && !name.ends_with(".lock"))
            .map(|name| manifest.join(name))
            .filter(|entry| state_of(entry).is_none_or(|state| outside::access(&state).is_none()))
            .collect();
        Loops { states, dangling }
    }
}

/// One line if all is well, else one for each thing that is not.
pub(super) fn check(loops: &Loops) -> Vec<Check> {
    let mut checks: Vec<Check> =
        loops.states.iter().filter_map(|(path, stored)| trouble(path, stored)).collect();
    checks.extend(loops.dangling.iter().map(|entry| {
        let entry = entry.display();
        warn(NAME, format!("`{entry}` leads to no loop"), format!("run `rm '{entry}'`"))
    }));
    if checks.is_empty() {
        let is_live = |(_, stored): &&(PathBuf, Stored)| matches!(stored, Stored::State(state) if state.is_live());
        let n_live = loops.states.iter().filter(is_live).count();
        checks.push(well(
            NAME,
            format!("{} stored, {n_live} live, all readable", loops.states.len()),
        ));
    }
    checks
}

/// The live loop that a session is bound to, if there is one that can be read.
pub(crate) fn live_loop_of(home: &Path, session: &str) -> Option<String> {
    let is_plain = !session.is_empty() && !session.contains('/') && !session.starts_with('.');
    let state = is_plain.then(|| state_of(&home.join("manifest").join(session)))??;
    match read_state(&state)? {
        Stored::State(state) if state.is_live() => Some(state.loop_id),
        _ => None,
    }
}

fn trouble(path: &Path, stored: &Stored) -> Option<Check> {
    let path = path.display();
    match stored {
        Stored::State(_) => None,
        Stored::Newer(version) => Some(fail(
            NAME,
            format!("`{path}` has schema version {version}, we know {SCHEMA_VERSION}"),
            "use the newer ralph; it is left alone",
        )),
        Stored::Damaged { why, has_good_copy: true } => Some(fail(
            NAME,
            format!("`{path}` cannot be read ({why})"),
            format!("its last good copy can: `cp '{path}.last-good' '{path}'`"),
        )),
        Stored::Damaged { why, has_good_copy: false } => Some(fail(
            NAME,
            format!("`{path}` cannot be read ({why}), and there is no good copy"),
            "move its folder away",
        )),
    }
}

/// The path that a manifest entry holds.
fn state_of(entry: &Path) -> Option<PathBuf> {
    let text = outside::find(entry).ok()?.text?;
    let path = PathBuf::from(text.trim_end_matches('\n'));
    path.is_absolute().then_some(path)
}

/// Reads one state; nothing if there is none. The one place to change when reading changes.
fn read_state(path: &Path) -> Option<Stored> {
    let parsed = match outside::find(path) {
        Ok(found) => parse(&found.text?),
        Err(error) => Err(format!("{error:#}")),
    };
    Some(parsed.unwrap_or_else(|why| {
        let mut copy = path.as_os_str().to_owned();
        copy.push(".last-good");
        let copy = outside::find(Path::new(&copy)).ok().and_then(|found| found.text);
        let has_good_copy = copy.is_some_and(|text| parse(&text).is_ok());
        Stored::Damaged { why, has_good_copy }
    }))
}

fn parse(text: &str) -> Result<Stored, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    // Looked at first: a newer document need not have the shape that we know.
    let version = value["schema_version"].as_u64().ok_or("it has no schema version")?;
    if version > u64::from(SCHEMA_VERSION) {
        return Ok(Stored::Newer(version));
    }
    let state: LoopState = serde_json::from_value(value).map_err(|error| error.to_string())?;
    Ok(Stored::State(Box::new(state)))
}
