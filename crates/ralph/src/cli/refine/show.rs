//! `ralph refine status` and `ralph refine list`: how far the refinements are.

use super::{RefinementArg, background, conversation, session};
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state};
use crate::command::screen::{self, visible};
use anyhow::Result;
use ralph_core::modes::refine::state::Refinement;
use ralph_core::modes::refine::{Mode, Status as Standing, chart, say};
use ralph_core::views::report::Activity;
use ralph_io::store::refine::RefineStore;
use serde_json::json;

/// Which session.
#[derive(Debug, clap::Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    which: RefinementArg,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// How they are shown.
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn status(here: &Here, args: &StatusArgs) -> Result<Exit> {
    let place = RefineStore::of(&here.home, &here.root);
    let (name, found) = session::one(&place, args.which.name.as_deref(), |_| true)?;
    if args.json {
        screen::print_json(&as_json(here, &place, &name, &found))?;
        return Ok(Exit::Done);
    }
    screen::print(&visible(&format!("{name}  {}", standing(here, &place, &name, &found))))?;
    for entry in &found.history {
        for line in say::round(&found, entry) {
            screen::print(&visible(&line))?;
        }
    }
    for line in chart::lines(&found) {
        screen::print(&visible(&line))?;
    }
    Ok(Exit::Done)
}

pub(super) fn list(here: &Here, args: &ListArgs) -> Result<Exit> {
    let place = RefineStore::of(&here.home, &here.root);
    let document = session::document(&place)?;
    let mut broken = None;
    let mut sessions = Vec::new();
    for (name, found) in document.sessions() {
        match found {
            Ok(found) => sessions.push((name.to_owned(), found)),
            Err(damaged) => {
                screen::tell(&visible(&damaged.to_string()));
                broken = Some(damaged);
            }
        }
    }
    if args.json {
        let all: Vec<_> =
            sessions.iter().map(|(name, it)| as_json(here, &place, name, it)).collect();
        screen::print_json(&json!({"schema_version": 1, "sessions": all}))?;
    } else if sessions.is_empty() && broken.is_none() {
        screen::print("no session; `ralph refine loop` begins one")?;
    } else {
        for (name, it) in &sessions {
            let bars = chart::bars(&chart::said(it));
            let line = format!("{name}  {}  {bars}", standing(here, &place, name, it));
            screen::print(visible(&line).trim_end())?;
        }
    }
    broken.map_or(Ok(Exit::Done), |damaged| Err(bad_state(damaged.into())))
}

/// What is refined, its status, and how many rounds are done.
fn standing(here: &Here, place: &RefineStore, name: &str, found: &Refinement) -> String {
    let what = match found.mode {
        Mode::Plan => found.plan_file.clone(),
        _ => found.mode.to_string(),
    };
    let (done, most) = (found.iterations_completed, found.settings.max_iterations);
    format!("{what}  {} {done}/{most}", word(here, place, name, found))
}

/// The status in one word. "Running" needs a process that runs, since a killed one
/// cannot update its status.
fn word(here: &Here, place: &RefineStore, name: &str, found: &Refinement) -> String {
    match (&found.status, activity(here, place, name, found)) {
        (Standing::Running, Activity::Runs(how)) => how,
        (Standing::Running, Activity::Pauses) => "paused in a conversation".to_owned(),
        (Standing::Running, Activity::Nobody) if found.round.is_some() => "interrupted".to_owned(),
        (Standing::Running, Activity::Nobody) => "resting".to_owned(),
        (status, _) => status.to_string(),
    }
}

/// Who works on the refinement now.
pub(super) fn activity(
    here: &Here,
    place: &RefineStore,
    name: &str,
    found: &Refinement,
) -> Activity {
    if found.status != Standing::Running {
        return Activity::Nobody;
    }
    if session::is_held(place, found) {
        return Activity::Runs(match background::of(place, name) {
            Some(tmux) => format!("running in tmux {tmux}"),
            None => "running".to_owned(),
        });
    }
    conversation::activity(here, name)
}

fn as_json(here: &Here, place: &RefineStore, name: &str, found: &Refinement) -> serde_json::Value {
    json!({
        "schema_version": 1,
        "name": name,
        "standing": word(here, place, name, found),
        "left": found.left(),
        "tmux": background::of(place, name),
        "session": found,
    })
}
