//! Reads old loop files: a manifest in a shared folder, a state file, or
//! the official plugin's file.
//!
//! Anyone can put a file into a shared folder, so each must be a regular file that the user owns
//! and nobody else can write. Hooks never look here.

use super::plugin_file;
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, ExitError, bad_state, refused};
use crate::command::screen;
use anyhow::{Context, Result, bail};
use ralph_core::state::{LoopState, Phase, SCHEMA_VERSION};
use ralph_core::text::plural::counted;
use ralph_hooks::begin;
use ralph_io::project::trusted_read;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub(super) struct Old {
    pub(super) state: LoopState,
    /// Whether the tool that wrote the file still acts on it.
    pub(super) still_acts: bool,
}

/// Reads the loop of an old file as planned: unbound, not paused, clock not
/// started. Keeps the rest.
pub(super) fn read(path: &Path, here: &Here) -> Result<Old> {
    let bytes = trusted(path).map_err(bad_state)?;
    if plugin_file::is_one(&bytes) {
        let read = plugin_file::read(&bytes, path, here);
        let state =
            read.map_err(|error| if error.is::<ExitError>() { error } else { bad_state(error) })?;
        return Ok(Old { state: planned(state, here), still_acts: true });
    }
    let state = find(bytes, path).map_err(bad_state)?;
    if state.phase == Phase::Ended {
        let message =
            format!("the loop of `{}` has ended; there is nothing to take over", path.display());
        return Err(refused(Exit::No, message));
    }
    let state = sound(planned(state, here), path)?;
    Ok(Old { state, still_acts: false })
}

/// Applies the checks of `ralph task import`: a criterion that proves nothing would hold at once.
fn sound(state: LoopState, path: &Path) -> Result<LoopState> {
    let name = path.display();
    let problems = match begin::adopted(state) {
        Ok(state) => return Ok(state),
        Err(problems) => problems,
    };
    problems.iter().for_each(|problem| screen::tell(&screen::visible(problem)));
    let count = counted(problems.len(), "problem", "problems");
    let message = format!(
        "`{name}` has {count}; nothing was imported: correct the file, then adopt it again"
    );
    Err(refused(Exit::No, message))
}

fn find(bytes: Vec<u8>, path: &Path) -> Result<LoopState> {
    if bytes.trim_ascii_start().starts_with(b"{") {
        return parse(&bytes, path);
    }
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
    let named = PathBuf::from(OsStr::from_bytes(line));
    if !named.is_absolute() || line.contains(&0) {
        bail!("`{}` holds neither a state nor the absolute path of one", path.display());
    }
    let bytes = trusted(&named).with_context(|| format!("`{}` names it", path.display()))?;
    parse(&bytes, &named)
}

fn trusted(path: &Path) -> Result<Vec<u8>> {
    trusted_read::read(path)?.with_context(|| format!("there is no `{}`", path.display()))
}

fn parse(bytes: &[u8], path: &Path) -> Result<LoopState> {
    let name = path.display();
    let state: LoopState = serde_json::from_slice(bytes)
        .with_context(|| format!("`{name}` is not the state of a loop"))?;
    if state.schema_version > SCHEMA_VERSION {
        bail!("`{name}` was written by a newer Ralph; it was left unchanged: update Ralph");
    }
    Ok(state)
}

fn planned(mut state: LoopState, here: &Here) -> LoopState {
    super::free(&mut state, "imported", here.now);
    if !Path::new(&state.project_root).is_absolute() {
        state.project_root = here.root.to_string_lossy().into_owned();
    }
    if state.created_at == jiff::Timestamp::UNIX_EPOCH {
        state.created_at = here.now;
    }
    state.updated_at = here.now;
    // The wall clock starts when the loop continues: it has not run all the time since.
    state.started_at = None;
    state.touched = false;
    state
}
