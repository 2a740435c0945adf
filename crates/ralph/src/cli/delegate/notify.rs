//! `ralph delegate notify`: calls the user for one event of a loop, and notes in the loop's journal
//! what became of it. Nothing waits for it.

use crate::command::exit::Exit;
use crate::command::notify;
use anyhow::{Context, Result};
use ralph_core::project::settings::Settings;
use ralph_core::state::LoopState;
use ralph_core::views::notice::{Notice, NoticeEvent};
use ralph_io::process::{self, clock};
use ralph_io::store::home::Home;
use ralph_io::store::loop_file::{Loaded, LoopFile};
use ralph_io::store::{lifecycle, notice};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The event, and the loop to which it happened.
#[derive(clap::Args)]
pub(in crate::cli) struct Args {
    /// The event, as JSON
    event: String,
    /// The state file of the loop
    #[arg(long)]
    state: PathBuf,
    /// The command that continues the loop
    #[arg(long)]
    driver: Option<String>,
}

pub(super) fn run(args: &Args) -> Result<Exit> {
    // The client may end its hook's process group, and a terminal its own.
    process::lead_own_session();
    let event: NoticeEvent =
        serde_json::from_str(&args.event).context("could not read the event")?;
    let home = Home::from_env()?;
    let Some((file, state)) = claim(&home, &args.state, &event)? else { return Ok(Exit::Done) };
    let began = Instant::now();
    let now = clock::now();
    // The client's secrets, which are not in this environment.
    let secrets: Vec<(String, String)> = std::io::read_to_string(std::io::stdin().lock())
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    let clean = |text: &str| notify::clean(text, &secrets);
    let notice = Notice::of(&state, &event, args.driver.as_deref(), now, clean);
    let sent = notify::send(&Settings::of(&state).notify(), &notice);
    let seen: Map<String, Value> =
        sent.iter().map(|one| (one.way.to_owned(), one.describe().into())).collect();
    let mut entry = notice::entry(&state, notice.what, Value::Object(seen));
    entry.took_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    lifecycle::note(&home, &file, &entry)?;
    Ok(Exit::Done)
}

/// Claims the event. `None` if another process has, or the loop has moved on. The loop may be
/// archived at this moment, so a folder that is gone is looked for again.
fn claim(home: &Home, path: &Path, event: &NoticeEvent) -> Result<Option<(LoopFile, LoopState)>> {
    let mut last_error = None;
    for _ in 0..3 {
        let Some((file, Loaded { state, .. })) = lifecycle::read(home, LoopFile::at(path))? else {
            return Ok(None);
        };
        let Some(key) = event.key(&state) else { return Ok(None) };
        match notice::claim(&file, &key) {
            Ok(true) => return Ok(Some((file, state))),
            Ok(false) => return Ok(None),
            Err(error) => last_error = Some(error),
        }
    }
    last_error.map_or(Ok(None), |error| Err(error).context("could not claim the event"))
}
