//! What can be seen of refinements: their state, their rounds and the versions of their plans.

use super::background;
use crate::cli::refine::{self, in_session};
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state};
use crate::command::screen::{self, visible, visible_lines};
use crate::refine::Refining;
use crate::refine::artefact::{Artefact, PlanFile, at};
use anyhow::{Context, Result, bail};
use ralph_core::modes::refine::state::{KeptVersion, Refinement, What};
use ralph_core::modes::refine::{Mode, Status as Standing, chart, say, trace, unified};
use ralph_core::state::LoopState;
use ralph_core::views::report::{Activity, RefinementSeen, Report, of_refinement, standing};
use ralph_io::project::user_files;
use ralph_io::store::refine::RefineStore;
use serde_json::json;
use std::path::Path;

pub(in crate::cli) fn status(here: &Here, name: Option<&str>, json: bool) -> Result<Exit> {
    let place = refine::store(here);
    let (name, found) = refine::one(&place, name, |_| true)?;
    if json {
        return screen::print_json(&as_json(here, &place, &name, &found));
    }
    screen::print(&visible(&format!("{name}  {}", summary_line(here, &place, &name, &found))))?;
    for entry in &found.history {
        for line in say::round(&found, entry) {
            screen::print(&visible(&line))?;
        }
    }
    for line in chart::lines(&found) {
        screen::print(&visible(&line))?;
    }
    for version in place.versions(&name).list().map_err(bad_state)? {
        let (number, at) = (version.number, at(version.at));
        screen::print(&format!("version {number}  {at}  {}", version.origin()))?;
    }
    Ok(Exit::Done)
}

pub(in crate::cli) fn list(here: &Here, json: bool) -> Result<Exit> {
    let place = refine::store(here);
    let document = refine::document(&place)?;
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
    if json {
        let all: Vec<_> =
            sessions.iter().map(|(name, it)| as_json(here, &place, name, it)).collect();
        screen::print_json(&json!({"schema_version": 1, "sessions": all}))?;
    } else if sessions.is_empty() && broken.is_none() {
        screen::print("no session; `ralph refine loop` begins one")?;
    } else {
        for (name, it) in &sessions {
            let bars = chart::bars(&chart::reported_bars(it));
            let line = format!("{name}  {}  {bars}", summary_line(here, &place, name, it));
            screen::print(visible(&line).trim_end())?;
        }
    }
    broken.map_or(Ok(Exit::Done), |damaged| Err(bad_state(damaged.into())))
}

/// What is refined, its status, and how many rounds are done.
fn summary_line(here: &Here, place: &RefineStore, name: &str, found: &Refinement) -> String {
    let what = match found.mode {
        Mode::Plan => found.plan_file.clone(),
        _ => found.mode.to_string(),
    };
    let (done, most) = (found.iterations_completed, found.settings.max_iterations);
    let standing = standing(found, &activity(here, place, name, found));
    format!("{what}  {standing} {done}/{most}")
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
    if place.is_held(&found.plan_file) {
        return Activity::Runs(match background::running_session(place, name) {
            Some(tmux) => format!("running in tmux {tmux}"),
            None => "running".to_owned(),
        });
    }
    in_session::activity(here, name)
}

fn as_json(here: &Here, place: &RefineStore, name: &str, found: &Refinement) -> serde_json::Value {
    json!({
        "schema_version": 1,
        "name": name,
        "standing": standing(found, &activity(here, place, name, found)),
        "left": found.left(),
        "tmux": background::running_session(place, name),
        "session": found,
    })
}

/// The name of the refinement that is meant.
pub(in crate::cli) fn named(here: &Here, name: Option<&str>) -> Result<String> {
    Ok(refine::one(&refine::store(here), name, |_| true)?.0)
}

/// What each round proposed, and why it was accepted or rejected.
pub(in crate::cli) fn explain(here: &Here, name: Option<&str>, json: bool) -> Result<Exit> {
    let place = refine::store(here);
    let (name, found) = refine::one(&place, name, |_| true)?;
    if json {
        return screen::print_json(&json!({
            "schema_version": 1, "name": name, "traces": trace::traces(&found)
        }));
    }
    for line in trace::lines(&found) {
        screen::print(&visible(&line))?;
    }
    Ok(Exit::Done)
}

// The versions of a plan.

/// The difference of two versions, the older first: of the last two without numbers, and of one and the present plan
/// with one.
pub(in crate::cli) fn diff(here: &Here, name: Option<&str>, numbers: &[u32]) -> Result<Exit> {
    let place = refine::store(here);
    let (name, found) = of_plan(&place, name)?;
    let versions = place.versions(&name);
    let list = versions.list().map_err(bad_state)?;
    let text = |version: &KeptVersion| versions.text(version).map_err(bad_state);
    let named = |version: &KeptVersion| format!("{} (version {})", found.plan_file, version.number);
    let (from, to) = match numbers {
        [] => match list.as_slice() {
            [.., before, last] => (before, Some(last)),
            _ => bail!("there are no two versions yet"),
        },
        [from] => (numbered(&name, &list, *from)?, None),
        [from, to, ..] => (numbered(&name, &list, *from)?, Some(numbered(&name, &list, *to)?)),
    };
    let (now, is) = match to {
        Some(to) => (text(to)?, named(to)),
        None => (plan(&place, &found)?.now()?.text.unwrap_or_default(), found.plan_file.clone()),
    };
    let shown = unified((&visible(&named(from)), &text(from)?), (&visible(&is), &now));
    if !shown.is_empty() {
        screen::print(&visible_lines(&shown))?;
    }
    Ok(Exit::Done)
}

/// Brings a version back; the present plan is kept as a version.
pub(in crate::cli) fn restore(here: &Here, name: Option<&str>, number: u32) -> Result<Exit> {
    let place = refine::store(here);
    let (name, found) = of_plan(&place, name)?;
    let plan = plan(&place, &found)?;
    let list = place.versions(&name).list().map_err(bad_state)?;
    let version = numbered(&name, &list, number)?;
    let text = place.versions(&name).text(version).map_err(bad_state)?;
    let work = Refining { place, name, artefact: Artefact::Plan(plan.clone()) };
    let _held = refine::claim(here, &work)?;
    let now = plan.now()?;
    let before = now.text.as_deref().unwrap_or_default();
    if before == text {
        return screen::print(&format!("the plan is version {} already", version.number));
    }
    let number = work.versions().keep(before, 0, What::Replaced, here.now)?;
    user_files::replace(&now, &text)?;
    screen::print(&visible(&format!(
        "`{}` is version {} again; what it was is version {number}",
        found.plan_file, version.number
    )))
}

fn of_plan(place: &RefineStore, name: Option<&str>) -> Result<(String, Refinement)> {
    let (name, found) = refine::one(place, name, |session| session.mode == Mode::Plan)?;
    if found.mode != Mode::Plan {
        bail!("`{}` refines tasks, of which no versions are kept", visible(&name));
    }
    Ok((name, found))
}

fn plan(place: &RefineStore, found: &Refinement) -> Result<PlanFile> {
    PlanFile::find(place, &place.root().join(&found.plan_file))
}

fn numbered<'a>(name: &str, list: &'a [KeptVersion], number: u32) -> Result<&'a KeptVersion> {
    let found = list.iter().find(|version| version.number == number);
    found.with_context(|| {
        let (most, word) = (list.last().map_or(0, |last| last.number), refine::word(name));
        format!("there is no version {number}; `ralph status --id {word}` lists {most}")
    })
}

// Gathers what a report shows of a refinement: its rounds and the versions of its plan.

/// The report of the refinement with this name.
pub(in crate::cli) fn report(here: &Here, name: Option<&str>) -> Result<Report> {
    let place = refine::store(here);
    let (name, found) = refine::one(&place, name, |_| true)?;
    let mut versions = place.versions(&name).list().map_err(bad_state)?;
    if found.status.is_over() {
        // Leaves out what a person restored later, so that the report of a finished refinement
        // stays the same.
        versions.retain(|version| version.round > 0 || Some(version.at) <= found.ended_at);
    }
    Ok(of_refinement(&RefinementSeen {
        name: &name,
        word: &refine::word(&name),
        session: &found,
        versions,
        activity: activity(here, &place, &name, &found),
        now: here.now,
    }))
}

/// The names of the project's refinements, the latest last.
pub(in crate::cli) fn names(here: &Here) -> Vec<String> {
    let document = refine::store(here).document().unwrap_or_default();
    document.sessions().map(|(name, _)| name.to_owned()).collect()
}

/// What a session has refined in this loop; none if it cannot be read, since the loop has its
/// report all the same.
pub(in crate::cli) fn of_loop(
    here: &Here,
    state: &LoopState,
) -> Option<(Refinement, Vec<KeptVersion>)> {
    let name = &state.refining()?.name;
    let place = RefineStore::open(&here.home, Path::new(&state.project_root));
    let session = place.document().ok()?.session(name).ok()??;
    Some((session, place.versions(name).list().unwrap_or_default()))
}
