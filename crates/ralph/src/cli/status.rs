//! `ralph status`: lists loops and how far they are, for users and for programs.
//!
//! An unreadable loop is listed with the reason, never left out. Nothing is run or changed: a
//! receipt is compared with the present tree, and shown as stale if the tree has changed.

pub(super) mod criteria;
mod document;
pub(super) mod looked;
pub(super) mod shared;
mod table;
pub(super) mod text;

use crate::command::context_dir::Here;
use crate::command::exit::{Exit, refused};
use crate::command::screen::{self, Colour, visible};
use crate::command::select_loop::{self, LoopArgs};
use crate::command::select_shared::{SharedArgs, one_loop};
use anyhow::Result;
use looked::LoopView;
use ralph_core::state::{LoopState, Phase};
use ralph_io::store::loop_file::LoopFile;
use ralph_io::{project, store::lifecycle};
use std::path::{Path, PathBuf};

#[derive(Debug, Default, clap::Args)]
#[command(group = one_loop())]
pub(crate) struct Args {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// All loops of all projects, ended ones included
    #[arg(long, conflicts_with = "shared")]
    all: bool,
    #[command(flatten)]
    which: LoopArgs,
    #[command(flatten)]
    shared: SharedArgs,
}

impl Args {
    pub(super) fn is_shared(&self) -> bool {
        self.shared.shared.is_some()
    }
}

#[derive(Default)]
struct LoopList {
    loops: Vec<LoopView>,
    unreadable: Vec<(PathBuf, String)>,
}

pub(crate) fn run(args: &Args) -> Result<Exit> {
    let here = Here::gather()?;
    if let Some(place) = args.shared.place(&here)? {
        return shared::run(&here, args.json, &place);
    }
    let listed = gather(&here, args)?;
    if args.json {
        screen::print_json(&document::document(&listed, here.now))?;
        return Ok(Exit::Done);
    }
    let unreadable = listed.unreadable.iter().map(|(_, why)| {
        format!("{}  {}", screen::coloured("unreadable", Colour::Red), visible(why))
    });
    if args.all {
        let mut lines = table::lines(&listed.loops, here.now);
        lines.extend(unreadable);
        if lines.is_empty() {
            lines.push(nothing_live(&here));
        }
        screen::print(&lines.join("\n"))?;
        return Ok(Exit::Done);
    }
    let mut blocks: Vec<String> =
        listed.loops.iter().map(|one| text::describe(one, here.now)).collect();
    blocks.extend(unreadable);
    if blocks.is_empty() {
        blocks.push(nothing_live(&here));
        let ended = select_loop::last_ended(&here).map(LoopView::at);
        blocks.extend(ended.map(|one| text::describe(&one, here.now)));
    }
    screen::print(&blocks.join("\n\n"))?;
    Ok(Exit::Done)
}

fn gather(here: &Here, args: &Args) -> Result<LoopList> {
    let mut listed = LoopList::default();
    if args.which.is_named() {
        let found = select_loop::named(here, &args.which)?;
        let found = found.ok_or_else(|| refused(Exit::No, "there is no such loop"))?;
        listed.loops.push(LoopView::at(found));
        return Ok(listed);
    }
    let identity = here.project();
    let is_meant = |state: &LoopState| {
        let open = state.is_live() || state.phase == Phase::Planned;
        open && project::identity(Path::new(&state.project_root)) == identity
    };
    let ended = if args.all { lifecycle::ended(&here.home) } else { Vec::new() };
    let mut all: Vec<_> = select_loop::everything(here).into_iter().chain(ended).collect();
    if args.all {
        // The newest first, and what cannot be read last.
        all.sort_by_key(|(_, state)| {
            std::cmp::Reverse(state.as_ref().ok().map(|state| state.created_at))
        });
    }
    for (file, state) in under_each_other(all) {
        match state {
            Ok(state) if args.all || is_meant(&state) => {
                listed.loops.push(LoopView::at(select_loop::FoundLoop::seen(file, state)));
            }
            Ok(_) => {}
            Err(error) => listed.unreadable.push((file.path().to_owned(), format!("{error:#}"))),
        }
    }
    Ok(listed)
}

/// Puts the loops of workers directly after the loop that they work for.
pub(super) fn under_each_other(
    all: Vec<(LoopFile, Result<LoopState>)>,
) -> Vec<(LoopFile, Result<LoopState>)> {
    let (below, mut all): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|(_, state)| above(state).is_some());
    for one in below.into_iter().rev() {
        let id = above(&one.1).map(str::to_owned);
        let at = all.iter().position(|(_, state)| {
            state.as_ref().is_ok_and(|state| Some(&state.loop_id) == id.as_ref())
        });
        all.insert(at.map_or(all.len(), |at| at + 1), one);
    }
    all
}

fn above(state: &Result<LoopState>) -> Option<&str> {
    state.as_ref().ok().and_then(|state| state.parent.as_deref())
}

fn nothing_live(here: &Here) -> String {
    screen::wrapped(
        &format!(
            "no loop is live or planned in `{}`; type /ralph \"what to do\" in Claude Code, or \
             `ralph status --all` for all loops",
            here.root.display()
        ),
        0,
        0,
    )
}
