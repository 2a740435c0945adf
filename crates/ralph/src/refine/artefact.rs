//! What is refined: a plan in a file, the beads of `bd`, or the project's own tasks.
//!
//! It is looked at before a round and after it, so that what really changed is known whatever the round
//! says. On a plan a round writes into a copy: what a person writes into the plan meanwhile stands.

use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state, refused};
use crate::command::select_loop::{self, LoopArgs};
use anyhow::Result;
use jiff::Timestamp;
use ralph_core::modes::refine::measure::{self, ArtefactChange, Piece};
use ralph_core::modes::refine::prompt::Tracker;
use ralph_core::modes::refine::state::RefineSession;
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
    /// The beads of `bd`.
    Beads(Bd),
    /// The tasks of the project's planned loop.
    Tasks(Here),
}

#[derive(Debug)]
pub(crate) struct PlanFile {
    /// As the document names it.
    pub(crate) name: String,
    pub(crate) real: PathBuf,
    /// What a round writes on.
    pub(crate) copy: Copy,
    pub(crate) versions: Versions,
}

/// It, as a round finds it.
#[derive(Debug)]
pub(crate) enum ArtefactBefore {
    Plan(TextFile),
    Pieces(Vec<Piece>),
}

#[derive(Debug)]
pub(crate) struct After {
    /// What changed; none where that is not known.
    pub(crate) measured: Option<ArtefactChange>,
    pub(crate) plan: PlanAfter,
    /// Digest of what is there now.
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
    /// The project's beads where `bd` keeps them, else its own tasks.
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
                "there are no tasks to refine; `ralph plan` or `ralph ideate | ralph plan-sync` makes \
                 some, and `--mode plan --plan FILE` refines a plan",
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

    /// Who keeps the tasks; a plan has none.
    pub(crate) fn tracker(&self) -> Option<Tracker> {
        match self {
            Artefact::Plan(_) => None,
            Artefact::Beads(_) => Some(Tracker::Beads),
            Artefact::Tasks(_) => Some(Tracker::TaskGraph),
        }
    }

    pub(crate) fn look(&self) -> Result<ArtefactBefore> {
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

    /// Keeps it as it was found, and lays out what the round writes on.
    pub(crate) fn lay_out(&self, before: &ArtefactBefore, round: u32) -> Result<()> {
        let (Artefact::Plan(plan), ArtefactBefore::Plan(found)) = (self, before) else {
            return Ok(());
        };
        let text = text(found);
        plan.keep(text, round, What::Found)?;
        plan.copy.make(text)
    }

    /// Takes what the round made. `wants` is asked about a plan that would become the plan, with what it
    /// is in place of; a person may not want it.
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

    /// What a round came to that was cut: what it wrote is kept, and the plan is left alone.
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

    /// As [`Artefact::leave`], for a round whose driver is gone: only the session knows of it.
    pub(crate) fn leave_behind(&self, session: &RefineSession, round: u32) -> Result<After> {
        let now = self.look()?;
        let digest = digest(&now);
        let before = self.found(session)?;
        match (before, &now) {
            (Some(before), _) => self.leave(&before, round).map(|after| After { digest, ..after }),
            (None, _) => Ok(After { measured: None, plan: PlanAfter::Applied, digest }),
        }
    }

    /// The plan as the open round found it, where that was kept.
    pub(crate) fn found(&self, session: &RefineSession) -> Result<Option<ArtefactBefore>> {
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
        // What cannot be listed is not known, and no change of nothing.
        let Ok(ArtefactBefore::Pieces(now)) = self.look() else {
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
    // A copy that is gone says nothing of the plan.
    let measured = made.as_deref().map(|made| ArtefactChange::Plan(measure::plan(before, made)));
    let made = made.unwrap_or_else(|| before.to_owned());
    let is_taken = |now: &TextFile| meanwhile(before, &made, text(now));
    let mut now = user_files::find(&plan.real)?;
    let mut after = PlanAfter::Applied;
    if is_taken(&now) == (Meanwhile::Take { write: true }) {
        if !wants(before, &made)? {
            after = PlanAfter::Declined;
        } else {
            // The person may have edited the plan while they were asked.
            now = user_files::find(&plan.real)?;
            if is_taken(&now) == (Meanwhile::Take { write: true })
                && let Err(error) = user_files::replace(&now, &made)
                // Another edit in this very moment is no failure.
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

/// By which an artefact is recognised later.
pub(crate) fn digest(before: &ArtefactBefore) -> String {
    match before {
        ArtefactBefore::Plan(found) => hex::sha256(text(found)),
        ArtefactBefore::Pieces(pieces) => measure::digest(pieces),
    }
}

/// A plan that is gone has no lines.
fn text(found: &TextFile) -> &str {
    found.text.as_deref().unwrap_or_default()
}

/// The same place without a session: a client of its own means the project's planned loop.
pub(crate) fn in_no_session(here: &Here) -> Here {
    Here { session: None, home: here.home.clone(), root: here.root.clone(), now: here.now }
}

/// The tasks of the project's planned loop; none where nothing is planned.
pub(crate) fn tasks(here: &Here) -> Result<Vec<Task>> {
    let found = select_loop::to_plan(here, &LoopArgs::default()).map_err(bad_state)?;
    Ok(found.map(|found| found.state.task_graph).unwrap_or_default())
}

/// When something was kept, as a person reads it.
pub(crate) fn at(when: Timestamp) -> String {
    when.to_zoned(jiff::tz::TimeZone::system()).strftime("%F %H:%M").to_string()
}
