//! The thing that is refined: a plan in a file, the beads of `bd`, or the project's own tasks.
//!
//! It is read before and after a round, so that the real changes are known whatever the round says.

use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state, refused};
use crate::command::select_loop::{self, LoopArgs};
use anyhow::{Result, anyhow, bail};
use jiff::Timestamp;
use ralph_core::modes::refine::PlanAfter;
use ralph_core::modes::refine::measure::{self, Piece};
use ralph_core::modes::refine::prompt::{Prompt, Tracker};
use ralph_core::state::Task;
use ralph_core::text::hex;
use ralph_io::project::user_files::{self, TextFile};
use ralph_io::store::beads::{self, Bd};
use ralph_io::store::refine::RefineStore;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(crate) enum Artefact {
    Plan(PlanFile),
    Beads(Bd),
    /// The tasks of the project's planned loop.
    Tasks(Here),
}

#[derive(Debug, Clone)]
pub(crate) struct PlanFile {
    /// The name used in the refinement document.
    pub(crate) name: String,
    pub(crate) real: PathBuf,
}

/// What the artefact holds at one moment.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Content {
    Plan(String),
    Pieces(Vec<Piece>),
}

impl Artefact {
    /// The project's beads if `bd` keeps them, else its own tasks.
    pub(crate) fn tasks(here: &Here) -> Result<Artefact> {
        let bd = beads::has_store(&here.root).then(Bd::find);
        if let Some(Ok(bd)) = bd {
            return Ok(Artefact::Beads(bd));
        }
        let here = in_no_session(here);
        match (tasks(&here)?.is_empty(), bd) {
            (false, _) => Ok(Artefact::Tasks(here)),
            (true, Some(Err(error))) => Err(refused(
                Exit::MissingProgram,
                format!("the project has `.beads/`, and {error:#}"),
            )),
            (true, _) => bail!(
                "no tasks to refine; `ralph plan` or `ralph plan --ideas | ralph plan-sync` makes some, \
                 and `--plan FILE` refines a plan"
            ),
        }
    }

    /// The plan's name; empty for tasks.
    pub(crate) fn plan_file(&self) -> &str {
        if let Artefact::Plan(plan) = self { &plan.name } else { "" }
    }

    /// Which tracker keeps the tasks; none for a plan.
    pub(crate) fn tracker(&self) -> Option<Tracker> {
        match self {
            Artefact::Plan(_) => None,
            Artefact::Beads(_) => Some(Tracker::Beads),
            Artefact::Tasks(_) => Some(Tracker::TaskGraph),
        }
    }

    /// The prompt of its rounds.
    pub(crate) fn prompt(&self) -> Prompt {
        if let Artefact::Plan(_) = self { Prompt::PlanImprover } else { Prompt::BeadRefiner }
    }

    pub(crate) fn content(&self) -> Result<Content> {
        Ok(match self {
            Artefact::Plan(plan) => {
                let gone = || anyhow!("the plan `{}` is gone", plan.name);
                Content::Plan(plan.now()?.text.ok_or_else(gone)?)
            }
            Artefact::Beads(bd) => Content::Pieces(measure::of_beads(&bd.list()?)),
            Artefact::Tasks(here) => Content::Pieces(measure::of_tasks(&tasks(here)?)),
        })
    }
}

impl PlanFile {
    pub(crate) fn find(place: &RefineStore, path: &Path) -> Result<PlanFile> {
        let (name, real) = place.plan(path)?;
        Ok(PlanFile { name, real })
    }

    pub(crate) fn now(&self) -> Result<TextFile> {
        user_files::find(&self.real)
    }

    /// Makes this text the plan, unless someone has edited it or the user declines.
    pub(crate) fn replace(
        &self,
        before: &str,
        made: &str,
        wants: impl FnOnce(&str, &str) -> Result<bool>,
    ) -> Result<PlanAfter> {
        // A plan that is gone counts as empty.
        let text = |now: &TextFile| now.text.clone().unwrap_or_default();
        let is_due = |now: &TextFile| made != before && text(now) == before;
        if is_due(&self.now()?) {
            if !wants(before, made)? {
                return Ok(PlanAfter::Declined);
            }
            // The user may have edited the plan while the question was open.
            let now = self.now()?;
            if is_due(&now)
                && let Err(error) = user_files::replace(&now, made)
                // An edit by someone else at this very moment is not a failure.
                && text(&self.now()?) == before
            {
                return Err(error);
            }
        }
        let is_made = text(&self.now()?) == made;
        Ok(if is_made { PlanAfter::Applied } else { PlanAfter::KeptEdit })
    }
}

impl Content {
    /// The plan's text; empty for tasks.
    pub(crate) fn text(&self) -> &str {
        if let Content::Plan(text) = self { text } else { "" }
    }

    /// Identifies the content later.
    pub(crate) fn digest(&self) -> String {
        match self {
            Content::Plan(text) => hex::sha256(text),
            Content::Pieces(pieces) => measure::digest(pieces),
        }
    }
}

/// The same place without a session, so that the project's planned loop is used.
pub(crate) fn in_no_session(here: &Here) -> Here {
    Here { session: None, ..here.clone() }
}

/// The tasks of the project's planned loop; empty if nothing is planned.
pub(crate) fn tasks(here: &Here) -> Result<Vec<Task>> {
    let found = select_loop::to_plan(here, &LoopArgs::default()).map_err(bad_state)?;
    Ok(found.map(|found| found.state.task_graph.to_vec()).unwrap_or_default())
}

/// Formats a time for a person, in local time.
pub(crate) fn at(when: Timestamp) -> String {
    when.to_zoned(jiff::tz::TimeZone::system()).strftime("%F %H:%M").to_string()
}
