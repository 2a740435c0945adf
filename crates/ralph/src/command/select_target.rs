//! What a command acts on that takes work of every kind: a loop, an orchestration or a refinement.
//!
//! An orchestration and a refinement may have no loop: their own folders hold them, and a loop only drives them.

use super::complete;
use super::context_dir::Here;
use super::exit::{Exit, refused, usage};
use super::screen::visible;
use super::select_loop::{self, FoundLoop, LoopArgs, LoopFilter};
use crate::orchestration::named;
use anyhow::Result;
use clap_complete::engine::ArgValueCandidates;
use ralph_core::modes::refine::state::refused_name;
use ralph_core::state::LoopState;

#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct TargetArgs {
    #[command(flatten)]
    pub(crate) which: LoopArgs,
    /// The orchestration or refinement with this id
    #[arg(
        long,
        alias = "refine",
        value_name = "ID",
        conflicts_with_all = ["session", "loop_id"],
        allow_hyphen_values = true,
        add = ArgValueCandidates::new(complete::reported)
    )]
    id: Option<String>,
    /// The kind of work, for an alias that names one
    #[arg(long, value_enum, hide = true)]
    of: Option<WorkKind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum WorkKind {
    Parallel,
    Ralplan,
    Refine,
    Team,
}

/// What was chosen. An orchestration or a refinement without a name is the only one that fits.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target<'a> {
    Loop(&'a LoopArgs),
    Parallel(&'a LoopArgs),
    Planning(&'a LoopArgs),
    Orchestration(Option<&'a str>),
    Refinement(Option<&'a str>),
}

impl TargetArgs {
    pub(crate) fn target(&self) -> Result<Target<'_>> {
        let id = self.id.as_deref();
        Ok(match (self.of, id) {
            (Some(WorkKind::Parallel), _) => Target::Parallel(&self.which),
            (Some(WorkKind::Ralplan), _) => Target::Planning(&self.which),
            (Some(WorkKind::Team), id) => Target::Orchestration(id),
            (Some(WorkKind::Refine), id) => Target::Refinement(id),
            (None, Some(id)) if named(id).is_ok() => Target::Orchestration(Some(id)),
            (None, Some(name)) => match refused_name(name) {
                Some(why) => return Err(usage(visible(&why))),
                None => Target::Refinement(Some(name)),
            },
            (None, None) => Target::Loop(&self.which),
        })
    }

    /// The live loop of what was chosen.
    ///
    /// # Errors
    /// If there is none, or several could be meant.
    pub(crate) fn live_loop(&self, here: &Here) -> Result<FoundLoop> {
        let target = self.target()?;
        let what = match target {
            Target::Loop(which) | Target::Parallel(which) | Target::Planning(which) => {
                return select_loop::one(here, which, LoopFilter::Live);
            }
            Target::Orchestration(_) => "orchestration",
            Target::Refinement(_) => "refinement",
        };
        let is_its_loop = |state: &LoopState| match target {
            Target::Orchestration(id) => {
                state.orchestration().is_some_and(|one| id.is_none_or(|id| one.id == id))
            }
            Target::Refinement(name) => {
                state.refining().is_some_and(|one| name.is_none_or(|name| one.name == name))
            }
            _ => false,
        };
        let mut found =
            select_loop::of_project(here, |state| state.is_live() && is_its_loop(state));
        match found.len() {
            1 => Ok(found.remove(0)),
            0 => Err(refused(Exit::No, format!("no live loop works on this {what}"))),
            _ => Err(refused(
                Exit::No,
                format!("several loops could be meant; name the {what}: `--id ID`"),
            )),
        }
    }
}
