//! `ralph refine history`, `diff` and `restore`: the versions of a plan.

use super::{RefinementArg, conversation, session};
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state, refused};
use crate::command::number;
use crate::command::screen::{self, visible, visible_lines};
use crate::refine::artefact::{Artefact, PlanFile, at};
use anyhow::Result;
use ralph_core::modes::refine::state::Refinement;
use ralph_core::modes::refine::{Mode, chart, say, trace, unified};
use ralph_io::project::user_files;
use ralph_io::store::refine::{KeptVersion, NewVersion, RefineStore, What};
use serde_json::json;

/// Which session.
#[derive(Debug, clap::Args)]
pub(crate) struct History {
    #[command(flatten)]
    which: RefinementArg,
    /// Show what each round proposed, and why it was accepted or rejected
    #[arg(long = "explain", alias = "trace")]
    trace: bool,
    /// Print one JSON document; requires --explain
    #[arg(long, requires = "trace")]
    json: bool,
}

/// Which versions.
#[derive(Debug, clap::Args)]
pub(crate) struct DiffArgs {
    /// Older version, by its number in `history` [default: the one before the last]
    #[arg(value_name = "VERSION", value_parser = number::count)]
    from: Option<u32>,
    /// Newer version [default: the plan as it is]
    #[arg(value_name = "VERSION", value_parser = number::count)]
    to: Option<u32>,
    #[command(flatten)]
    which: RefinementArg,
}

/// Which version.
#[derive(Debug, clap::Args)]
pub(crate) struct Restore {
    /// Number of the version in `history`
    #[arg(value_name = "VERSION", value_parser = number::count)]
    version: u32,
    #[command(flatten)]
    which: RefinementArg,
}

pub(super) fn history(here: &Here, args: &History) -> Result<Exit> {
    let place = RefineStore::of(&here.home, &here.root);
    let (name, found) = session::one(&place, args.which.name.as_deref(), |_| true)?;
    if args.json {
        screen::print_json(&json!({
            "schema_version": 1, "name": name, "traces": trace::traces(&found)
        }))?;
        return Ok(Exit::Done);
    }
    if args.trace {
        for line in trace::lines(&found) {
            screen::print(&visible(&line))?;
        }
        return Ok(Exit::Done);
    }
    for entry in &found.history {
        for line in say::round(&found, entry) {
            screen::print(&visible(&line))?;
        }
    }
    for line in chart::lines(&found) {
        screen::print(&visible(&line))?;
    }
    for version in place.versions(&name).list().map_err(bad_state)? {
        let what = of(&version);
        screen::print(&format!("version {}  {}  {what}", version.number, at(version.at)))?;
    }
    Ok(Exit::Done)
}

/// Describes where a version comes from.
pub(super) fn of(version: &KeptVersion) -> String {
    match version.what {
        What::Found => format!("the plan before round {}", version.round),
        What::Round => format!("the plan after round {}", version.round),
        What::Aside => format!("what round {} wrote, which is not the plan", version.round),
        What::Replaced => "the plan before a version was restored".to_owned(),
        What::Other => "of a newer version of ralph".to_owned(),
    }
}

pub(super) fn diff(here: &Here, args: &DiffArgs) -> Result<Exit> {
    let place = RefineStore::of(&here.home, &here.root);
    let (name, found) = of_plan(&place, args.which.name.as_deref())?;
    let versions = place.versions(&name);
    let list = versions.list().map_err(bad_state)?;
    let text = |version: &KeptVersion| versions.text(version).map_err(bad_state);
    let named = |version: &KeptVersion| format!("{} (version {})", found.plan_file, version.number);
    let (from, to) = match (args.from, args.to) {
        (None, _) => match list.as_slice() {
            [.., before, last] => (before, Some(last)),
            _ => return Err(refused(Exit::No, "there are no two versions yet")),
        },
        (Some(from), to) => (numbered(&list, from)?, to.map(|to| numbered(&list, to)).transpose()?),
    };
    let (now, is) = match to {
        Some(to) => (text(to)?, named(to)),
        None => {
            let plan = plan(here, &place, &name, &found)?;
            (user_files::find(&plan.real)?.text.unwrap_or_default(), found.plan_file.clone())
        }
    };
    let shown = unified((&visible(&named(from)), &text(from)?), (&visible(&is), &now));
    if !shown.is_empty() {
        screen::print(&visible_lines(&shown))?;
    }
    Ok(Exit::Done)
}

pub(super) fn restore(here: &Here, args: &Restore) -> Result<Exit> {
    let place = RefineStore::of(&here.home, &here.root);
    let (name, found) = of_plan(&place, args.which.name.as_deref())?;
    let plan = plan(here, &place, &name, &found)?;
    let list = plan.versions.list().map_err(bad_state)?;
    let version = numbered(&list, args.version)?;
    let text = plan.versions.text(version).map_err(bad_state)?;
    let held = place.hold(&found.mode, &found.plan_file)?;
    let Some(_held) = held else {
        let artefact = Artefact::Plan(plan);
        return Err(session::taken(&session::document(&place)?, &name, &artefact));
    };
    let artefact = Artefact::Plan(plan);
    conversation::none_beside(here, &session::document(&place)?, &artefact)?;
    let Artefact::Plan(plan) = artefact else { unreachable!("it was made one above") };
    let now = user_files::find(&plan.real)?;
    let before = now.text.as_deref().unwrap_or_default();
    if before == text {
        screen::print(&format!("the plan is version {} already", version.number))?;
        return Ok(Exit::Done);
    }
    let kept = NewVersion { text: before, round: 0, what: What::Replaced, at: here.now };
    let number = plan.versions.keep(&kept)?;
    user_files::replace(&now, &text)?;
    screen::print(&visible(&format!(
        "`{}` is version {} again; what it was is version {number}",
        found.plan_file, version.number
    )))?;
    Ok(Exit::Done)
}

fn of_plan(place: &RefineStore, name: Option<&str>) -> Result<(String, Refinement)> {
    let (name, found) = session::one(place, name, |session| session.mode == Mode::Plan)?;
    match found.mode {
        Mode::Plan => Ok((name, found)),
        _ => Err(refused(
            Exit::No,
            format!("`{}` refines tasks, of which no versions are kept", visible(&name)),
        )),
    }
}

fn plan(here: &Here, place: &RefineStore, name: &str, found: &Refinement) -> Result<PlanFile> {
    match session::artefact(here, place, name, found)? {
        Artefact::Plan(plan) => Ok(plan),
        _ => Err(refused(Exit::No, "the session refines tasks")),
    }
}

fn numbered(list: &[KeptVersion], number: u32) -> Result<&KeptVersion> {
    let found = list.iter().find(|version| version.number == number);
    found.ok_or_else(|| {
        let most = list.last().map_or(0, |last| last.number);
        refused(
            Exit::No,
            format!("there is no version {number}; `ralph refine history` lists {most}"),
        )
    })
}
