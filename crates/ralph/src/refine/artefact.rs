//! The thing that is refined: a plan in a file, the beads of `bd`, or the project's own tasks.
//!
//! It is read before and after a round, so that the real changes are known whatever the round says.
//! A round on a plan writes into a copy, so that the user's own edits of the plan survive.

use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state, refused};
use crate::command::select_loop::{self, LoopArgs};
use anyhow::Result;
use jiff::Timestamp;
use ralph_core::modes::refine::measure::{self, ArtefactChange, Piece};
use ralph_core::modes::refine::prompt::Tracker;
use ralph_core::modes::refine::state::Refinement;
use ralph_core::modes::refine::{Meanwhile, Mode, PlanAfter, meanwhile};
use ralph_core::state::Task;
use ralph_core::text::hex;
use ralph_io::project::user_files::{self, TextFile};
use ralph_io::store::beads::{self, Bd};
use ralph_io::store::refine::{Copy, NewVersion, RefineStore, Versions, What};
use ralph_io::{process::clock, store::refine};
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(crate) enum Artefact {
    Plan(PlanFile),
    Beads(Bd),
    /// The tasks of the project's planned loop.
    Tasks(Here),
}

#[derive(Debug)]
pub(crate) struct PlanFile {
    /// The name used in the refinement document.
    pub(crate) name: String,
    pub(crate) real: PathBuf,
    /// The file that a round writes to.
    pub(crate) copy: Copy,
    pub(crate) versions: Versions,
}

/// The artefact before a round.
#[derive(Debug)]
pub(crate) enum ArtefactBefore {
    Plan(TextFile),
    Pieces(Vec<Piece>),
}

#[derive(Debug)]
pub(crate) struct After {
    /// What changed; `None` if unknown.
    pub(crate) measured: Option<ArtefactChange>,
    pub(crate) plan: PlanAfter,
    /// Digest of the present content.
    pub(crate) digest: String,
}

impl PlanFile {
    pub(crate) fn find(place: &RefineStore, session: &str, path: &Path) -> Result<PlanFile> {
        let (name, real) =
            refine::plan(place, path).map_err(|error| refused(Exit::No, format!("{error:#}")))?;
        let (copy, versions) = (place.copy(session, &real), place.versions(session));
        Ok(PlanFile { name, real, copy, versions })
    }

    fn keep(&self, text: &str, round: u32, what: What) -> Result<u32> {
        self.versions.keep(&NewVersion { text, round, what, at: clock::now() })
    }
}

impl Artefact {
    /// The project's beads if `bd` keeps them, else its own tasks.
    pub(crate) fn tasks(here: &Here) -> Result<Artefact> {
        let lacks = match beads::has_store(&here.root) {
            true => match Bd::find() {
                Ok(bd) => return Ok(Artefact::Beads(bd)),
                Err(error) => Some(error),
            },
            false => None,
        };
        let here = in_no_session(here);
        match (tasks(&here)?.is_empty(), lacks) {
            (false, _) => Ok(Artefact::Tasks(here)),
            (true, Some(error)) => Err(refused(
                Exit::MissingProgram,
                format!("the project has `.beads/`, and {error:#}"),
            )),
            (true, None) => Err(refused(
                Exit::No,
                "no tasks to refine; `ralph plan` or `ralph plan --ideas | ralph plan-sync` makes some, \
                 and `--plan FILE` refines a plan",
            )),
        }
    }

    pub(crate) fn mode(&self) -> Mode {
        match self {
            Artefact::Plan(_) => Mode::Plan,
            Artefact::Beads(_) | Artefact::Tasks(_) => Mode::Beads,
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

    pub(crate) fn snapshot(&self) -> Result<ArtefactBefore> {
        Ok(match self {
            Artefact::Plan(plan) => {
                let found = user_files::find(&plan.real)?;
                if found.text.is_none() {
                    return Err(refused(Exit::No, format!("the plan `{}` is gone", plan.name)));
                }
                ArtefactBefore::Plan(found)
            }
            Artefact::Beads(bd) => ArtefactBefore::Pieces(measure::of_beads(&bd.list()?)),
            Artefact::Tasks(here) => ArtefactBefore::Pieces(measure::of_tasks(&tasks(here)?)),
        })
    }

    /// Keeps the plan as it was found, and makes the copy that the round writes to.
    pub(crate) fn lay_out(&self, before: &ArtefactBefore, round: u32) -> Result<()> {
        let (Artefact::Plan(plan), ArtefactBefore::Plan(found)) = (self, before) else {
            return Ok(());
        };
        let text = text(found);
        plan.keep(text, round, What::Found)?;
        plan.copy.make(text)
    }

    /// Takes the round's result. `wants(before, made)` is asked before a changed plan replaces the
    /// old one, since the user may decline it.
    pub(crate) fn take(
        &self,
        before: &ArtefactBefore,
        round: u32,
        wants: impl FnOnce(&str, &str) -> Result<bool>,
    ) -> Result<After> {
        match (self, before) {
            (Artefact::Plan(plan), ArtefactBefore::Plan(found)) => {
                take_plan(plan, found, round, wants)
            }
            (_, ArtefactBefore::Pieces(pieces)) => Ok(self.pieces_after(pieces)),
            (_, ArtefactBefore::Plan(_)) => {
                unreachable!("a plan is looked at by the one who refines it")
            }
        }
    }

    /// Closes an interrupted round: keeps what it wrote as a version, and leaves the plan alone.
    pub(crate) fn leave(&self, before: &ArtefactBefore, round: u32) -> Result<After> {
        let (Artefact::Plan(plan), ArtefactBefore::Plan(found)) = (self, before) else {
            let ArtefactBefore::Pieces(pieces) = before else {
                unreachable!("a plan has a plan before it")
            };
            return Ok(self.pieces_after(pieces));
        };
        let found = text(found);
        let made = plan.copy.text();
        if let Some(made) = made.as_deref().filter(|made| *made != found) {
            plan.keep(made, round, What::Aside)?;
        }
        plan.copy.remove()?;
        let measured = made.map(|made| ArtefactChange::Plan(measure::plan(found, &made)));
        let now = digest(&ArtefactBefore::Plan(user_files::find(&plan.real)?));
        Ok(After { measured, plan: PlanAfter::Applied, digest: now })
    }

    /// Like [`Artefact::leave`], for a round whose driver is gone and which only
    /// the refinement document records.
    pub(crate) fn leave_behind(&self, session: &Refinement, round: u32) -> Result<After> {
        let now = self.snapshot()?;
        let digest = digest(&now);
        let before = self.found(session)?;
        match (before, &now) {
            (Some(before), _) => self.leave(&before, round).map(|after| After { digest, ..after }),
            (None, _) => Ok(After { measured: None, plan: PlanAfter::Applied, digest }),
        }
    }

    /// The plan as the open round found it, if that version was kept.
    pub(crate) fn found(&self, session: &Refinement) -> Result<Option<ArtefactBefore>> {
        let Artefact::Plan(plan) = self else { return Ok(None) };
        for version in plan.versions.list()?.iter().rev() {
            if version.sha256 == session.artefact {
                let text = Some(plan.versions.text(version)?);
                return Ok(Some(ArtefactBefore::Plan(TextFile { real: plan.real.clone(), text })));
            }
        }
        Ok(None)
    }

    fn pieces_after(&self, before: &[Piece]) -> After {
        // If the tasks cannot be listed, the change is unknown, which is not the same as no change.
        let Ok(ArtefactBefore::Pieces(now)) = self.snapshot() else {
            return After { measured: None, plan: PlanAfter::Applied, digest: String::new() };
        };
        let measured = Some(ArtefactChange::Beads(measure::beads(before, &now)));
        After { measured, plan: PlanAfter::Applied, digest: measure::digest(&now) }
    }
}

fn take_plan(
    plan: &PlanFile,
    found: &TextFile,
    round: u32,
    wants: impl FnOnce(&str, &str) -> Result<bool>,
) -> Result<After> {
    let before = text(found);
    let made = plan.copy.text();
    // Without the copy nothing is known about the change.
    let measured = made.as_deref().map(|made| ArtefactChange::Plan(measure::plan(before, made)));
    let made = made.unwrap_or_else(|| before.to_owned());
    let is_taken = |now: &TextFile| meanwhile(before, &made, text(now));
    let mut now = user_files::find(&plan.real)?;
    let mut after = PlanAfter::Applied;
    if is_taken(&now) == (Meanwhile::Take { write: true }) {
        if !wants(before, &made)? {
            after = PlanAfter::Declined;
        } else {
            // The user may have edited the plan while the question was open.
            now = user_files::find(&plan.real)?;
            if is_taken(&now) == (Meanwhile::Take { write: true })
                && let Err(error) = user_files::replace(&now, &made)
                // An edit by someone else at this very moment is not a failure.
                && text(&user_files::find(&plan.real)?) == before
            {
                return Err(error);
            }
        }
    }
    if after == PlanAfter::Applied {
        now = user_files::find(&plan.real)?;
        if text(&now) != made {
            after = PlanAfter::KeptEdit;
        }
    }
    if made != before {
        let what = if after == PlanAfter::Applied { What::Round } else { What::Aside };
        plan.keep(&made, round, what)?;
    }
    plan.copy.remove()?;
    Ok(After { measured, plan: after, digest: digest(&ArtefactBefore::Plan(now)) })
}

impl ArtefactBefore {
    /// The plan's text; empty for tasks.
    pub(crate) fn text(&self) -> &str {
        match self {
            ArtefactBefore::Plan(found) => text(found),
            ArtefactBefore::Pieces(_) => "",
        }
    }
}

/// Identifies the content of an artefact later.
pub(crate) fn digest(before: &ArtefactBefore) -> String {
    match before {
        ArtefactBefore::Plan(found) => hex::sha256(text(found)),
        ArtefactBefore::Pieces(pieces) => measure::digest(pieces),
    }
}

/// A plan that is gone counts as empty.
fn text(found: &TextFile) -> &str {
    found.text.as_deref().unwrap_or_default()
}

/// The same place without a session, so that the project's planned loop is used.
pub(crate) fn in_no_session(here: &Here) -> Here {
    Here { session: None, home: here.home.clone(), root: here.root.clone(), now: here.now }
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
