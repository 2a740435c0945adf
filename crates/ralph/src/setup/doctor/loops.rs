//! Checks what loops keep and leave: their folder and states, clients that are gone, worktrees, references of
//! shared loops.

use super::{Check, Fix, fail, warn, well};
use crate::parallel::clean;
use crate::setup::places::InstallPaths;
use ralph_core::modes::mode;
use ralph_core::shell::quoted;
use ralph_core::state::LoopState;
use ralph_core::tasks::shared::text::Name;
use ralph_core::text::plural::noun;
use ralph_core::views::phrases::spaced;
use ralph_core::views::shared as view;
use ralph_io::client;
use ralph_io::client::client_settings::{ClientSettings, WorktreeBase};
use ralph_io::git::shared::{self, KnownLoop};
use ralph_io::git::{worker_base, worktrees};
use ralph_io::project::{self, user_files};
use ralph_io::store::home::Home;
use ralph_io::store::lifecycle;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::store::manifest::{self, ManifestKey};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

// Checks that every loop's state can be read and that every manifest entry leads to one.
//
// Reads the state as the hooks do, so that the doctor accepts nothing that they refuse.

const LOOPS: &str = "loops";

/// The stored loops.
pub(super) struct Loops {
    /// The readable states, including those read from the last good copy.
    pub(super) states: Vec<LoopState>,
    /// The file of each state, in the same order.
    pub(super) files: Vec<LoopFile>,
    troubles: Vec<Check>,
}

impl Loops {
    pub(super) fn gather(home: &Home) -> Loops {
        let mut loops = Loops { states: Vec::new(), files: Vec::new(), troubles: Vec::new() };
        for name in user_files::names(&home.loops()) {
            loops.read(LoopFile::at(home.loops().join(name).join("state.json")));
        }
        for (session, state) in manifest::sessions(home) {
            let entry = home.manifest_folder().join(&session).display().to_string();
            let cure = format!("run `rm '{entry}'`");
            loops.troubles.extend(match state {
                Ok(state) if user_files::access(&state).is_some() => None,
                // A loop that is just being archived is followed to its new place.
                Ok(_) if leads_somewhere(home, &session) => None,
                Ok(_) => Some(
                    warn(LOOPS, format!("`{entry}` points to no loop"), cure)
                        .with_fix(Fix::ForgetEntry(session)),
                ),
                Err(error) => {
                    Some(warn(LOOPS, format!("`{entry}` points to no loop: {error:#}"), cure))
                }
            });
        }
        loops
    }

    fn read(&mut self, file: LoopFile) {
        match file.read() {
            Ok(None) => {}
            Ok(Some(loaded)) => {
                self.troubles.extend(loaded.warning.map(|warning| {
                    let cure = "the loop's next event restores it and keeps the broken file";
                    let restored = Fix::RestoreState(file.path().to_owned());
                    fail(LOOPS, warning, cure).with_fix(restored)
                }));
                self.states.push(loaded.state);
                self.files.push(file);
            }
            Err(error) => {
                let cure = format!("if it is lost, move `{}` away", file.folder().display());
                self.troubles.push(fail(LOOPS, format!("{error:#}"), cure));
            }
        }
    }
}

fn leads_somewhere(home: &Home, session: &str) -> bool {
    let file = lifecycle::of_session(home, session).ok().flatten();
    file.is_some_and(|file| user_files::access(file.path()).is_some())
}

/// One line if all is fine, else one for each problem.
pub(super) fn check_states(loops: &Loops) -> Vec<Check> {
    if !loops.troubles.is_empty() {
        return loops.troubles.clone();
    }
    let n_live = loops.states.iter().filter(|state| state.is_live()).count();
    vec![well(LOOPS, format!("{} stored, {n_live} live, all readable", loops.states.len()))]
}

/// The live loop that a session is bound to, if it can be read.
pub(crate) fn live_loop_of(home: &Home, session: &str) -> Option<String> {
    let state = manifest::read(home, &ManifestKey::session(session)?).ok()??;
    let state = LoopFile::at(state).read().ok()??.state;
    state.is_live().then_some(state.loop_id)
}

// Checks that Ralph's own folder is private: anyone who can write there can start commands through
// a loop.

const STATE_FOLDER: &str = "state folder";

/// Checks the folder, its direct children, and the loops' state files.
pub(super) fn check_home(home: &Path) -> Check {
    let shown = home.display();
    let Some(access) = user_files::access(home) else {
        return well(
            STATE_FOLDER,
            format!("`{shown}` does not exist yet; the first loop creates it"),
        );
    };
    if !access.is_folder {
        return fail(STATE_FOLDER, format!("`{shown}` is not a folder"), "move it away");
    }
    if !access.is_mine {
        let cure = "change its owner, or set RALPH_HOME to a folder of yours";
        return fail(STATE_FOLDER, format!("`{shown}` belongs to someone else"), cure);
    }
    if access.mode & 0o777 != 0o700 {
        let detail = format!("`{shown}` has mode {:04o}: only you should use it", access.mode);
        let private = Fix::MakePrivate(home.to_owned());
        return fail(STATE_FOLDER, detail, format!("run `chmod 700 {shown}`")).with_fix(private);
    }
    match writable_by_others(home) {
        None => well(STATE_FOLDER, format!("`{shown}` is private")),
        Some(path) => {
            let shown = path.display();
            let detail = format!("`{shown}` can be written by others");
            fail(STATE_FOLDER, detail, format!("run `chmod go-w {shown}`"))
                .with_fix(Fix::RemoveWriteAccess(path))
        }
    }
}

fn writable_by_others(home: &Path) -> Option<PathBuf> {
    let inside = user_files::names(home).into_iter().map(|name| home.join(name));
    let loops = home.join("loops");
    let states =
        user_files::names(&loops).into_iter().map(|name| loops.join(name).join("state.json"));
    inside
        .chain(states)
        .find(|path| user_files::access(path).is_some_and(|access| access.mode & 0o022 != 0))
}

// Finds loops that no longer have a client, a conversation or a project.
//
// Such a loop is not lost. It waits, and nothing else reports it.

const ORPHANS: &str = "orphans";

/// One line if there are none, else one for each.
pub(super) fn check_orphans(loops: &Loops, places: &InstallPaths) -> Vec<Check> {
    let projects = places.config.join("projects");
    let live = loops.files.iter().zip(&loops.states).filter(|(_, state)| state.is_live());
    let found: Vec<Check> =
        live.filter_map(|(file, state)| orphan(state, file.path(), &projects)).collect();
    match found.is_empty() {
        true => {
            vec![well(ORPHANS, "each live loop has its client, its conversation and its project")]
        }
        false => found,
    }
}

fn orphan(state: &LoopState, file: &Path, projects: &Path) -> Option<Check> {
    let id = &state.loop_id;
    if !Path::new(&state.project_root).is_dir() {
        let detail = format!("the project of loop {id}, `{}`, is gone", state.project_root);
        return Some(warn(ORPHANS, detail, format!("run `ralph cancel --loop {id}`")));
    }
    let has_gone = state.client.as_ref().is_some_and(|client| !client::is_alive(client));
    // The loop can continue in its conversation. Without that, another session has to adopt it.
    let way = match has_conversation(projects, &state.session_id) {
        true => format!("run `claude --resume {}`, or `ralph adopt --loop {id}`", state.session_id),
        false => match mode::rules(&state.mode).driver() {
            Some(driver) => format!("run `{driver}`"),
            None => format!("run `ralph adopt --loop {id}`, then type /ralph in any session"),
        },
    };
    if state.is_running() && has_gone {
        let detail =
            format!("loop {id} counts as running at {}, but its client is gone", state.position());
        return Some(warn(ORPHANS, detail, way).with_fix(Fix::PauseLoop(file.to_owned())));
    }
    let is_lost = has_gone && !has_conversation(projects, &state.session_id);
    is_lost.then(|| {
        let detail =
            format!("loop {id} is paused at {}, but its conversation is gone", state.position());
        warn(ORPHANS, detail, way)
    })
}

/// Whether the client still keeps the session's transcript: `projects/<folder>/<session>.jsonl`.
fn has_conversation(projects: &Path, session: &str) -> bool {
    let name = format!("{session}.jsonl");
    user_files::names(projects).iter().any(|folder| projects.join(folder).join(&name).is_file())
}

// Checks worktrees: those shared by several live loops, those left over by workers, and the commit
// that new ones start from.

const WORK_TREES: &str = "work trees";
const WORKER_BASE: &str = "worker base";

/// A longer list of names does not help the user.
const MOST_NAMED: usize = 5;

/// Checks that no two live loops share a worktree.
pub(super) fn check_worktrees(loops: &Loops) -> Check {
    let mut by_root: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for state in loops.states.iter().filter(|state| state.is_live()) {
        by_root.entry(&state.project_root).or_default().push(&state.loop_id);
    }
    match by_root.iter().find(|(_, ids)| ids.len() > 1) {
        None => well(WORK_TREES, "no two live loops share a work tree"),
        Some((root, ids)) => warn(
            WORK_TREES,
            format!(
                "loops {} share `{root}`: the edits of one make the receipts of the others stale",
                ids.join(", ")
            ),
            "give each its own: `git worktree add ../NAME`",
        ),
    }
}

/// Reports worktrees left over by workers.
pub(super) fn check_left(places: &InstallPaths) -> Option<Check> {
    let (folder, names) = worktrees::left(&places.current)?;
    let place = quoted(&format!("{}/NAME", folder.display()));
    let folder = folder.display();
    let shown = names.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = match names.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    (!names.is_empty()).then(|| {
        let detail = format!("workers left {} in `{folder}`: {shown}{more}", names.len());
        let look = if names.len() == 1 { "look at it" } else { "look at each" };
        let cure = format!("{look}, then `git worktree remove {place}` and its branch");
        let check = warn(WORK_TREES, detail, cure);
        let root = project::root(None, &places.current);
        match some_may_go(places, &root) {
            true => check.with_fix(Fix::CleanWorktrees(root)),
            false => check,
        }
    })
}

/// Whether `ralph parallel clean` would remove one, because all work in it is merged.
fn some_may_go(places: &InstallPaths, root: &Path) -> bool {
    let items = clean::clean(&places.ralph, root, true).unwrap_or_default();
    items.iter().any(|item| item.stays.is_none())
}

/// Checks projects with a remote: there, workers see local commits only if the client's settings
/// say so.
pub(super) fn check_base(current: &Path) -> Option<Check> {
    match worker_base::has_origin(current) {
        Ok(false) => None,
        Err(error) => Some(warn(WORKER_BASE, format!("{error:#}"), "fix the repository")),
        Ok(true) => Some(judge_base(&project::root(None, current))),
    }
}

fn judge_base(root: &Path) -> Check {
    let set = ClientSettings::for_project(root).worktree_base();
    if let Some(set) = set.as_ref().filter(|set| set.is_head()) {
        let place = set.file.display();
        let detail = format!("`worktree.baseRef` is `head` in `{place}`: workers see every commit");
        return well(WORKER_BASE, detail);
    }
    let lacking = match worker_base::inspect_repository(root) {
        Ok(Ok(base)) => base.behind.map(|behind| {
            format!(
                "; `{}` lacks {} {} of yours",
                behind.reference,
                behind.commits,
                noun(behind.commits, "commit", "commits")
            )
        }),
        _ => None,
    };
    let detail = format!(
        "workers of /ralph-parallel begin from the branch of `origin` and do not see unpushed commits{}",
        lacking.unwrap_or_default()
    );
    let cure = match set {
        Some(WorktreeBase { value, file }) => {
            let place = file.display();
            format!("`worktree.baseRef` is `{value}` in `{place}`: write `head` there")
        }
        None => "run `ralph install --with worker-base`".to_owned(),
    };
    warn(WORKER_BASE, detail, cure)
}

// Finds shared loops whose references may be left over. It reads what this clone last heard, and does
// not ask the remote.

const SHARED_LOOPS: &str = "shared loops";

/// One line for each loop that ended, or that the remote no longer has.
pub(super) fn check_shared(loops: &Loops, places: &InstallPaths) -> Vec<Check> {
    let root = project::root(None, &places.current);
    let known = shared::known(&places.ralph, &root);
    // A share that was refused leaves the loop planned.
    let is_here = |id: &Name| loops.states.iter().any(|state| state.loop_id == id.as_str());
    known.iter().filter(|one| !is_here(&one.loop_id)).filter_map(judge_shared).collect()
}

fn judge_shared(known: &KnownLoop) -> Option<Check> {
    let id = &known.loop_id;
    let clean = view::clean(id, known.remote.as_deref().unwrap_or(view::ORIGIN));
    match &known.ledger {
        None => Some(warn(
            SHARED_LOOPS,
            format!("the remote no longer has loop {id}"),
            format!("`{clean}` removes what this clone keeps of it"),
        )),
        Some(Ok(ledger)) => ledger.end.as_ref().map(|end| {
            let how = spaced(end.ending.as_str());
            let detail = format!("loop {id} has ended: {how}; its references slow every push down");
            warn(SHARED_LOOPS, detail, format!("`{clean}` deletes them"))
        }),
        Some(Err(error)) => {
            let detail = format!("loop {id} cannot be read: {error:#}");
            Some(warn(
                SHARED_LOOPS,
                detail,
                format!("update Ralph; `{clean} --force` deletes the loop"),
            ))
        }
    }
}
