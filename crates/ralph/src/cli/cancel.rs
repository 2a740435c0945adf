//! `ralph cancel`: ends a loop at once; its session learns of it from its next hook.

use crate::cli::refine::background;
use crate::cli::{session, who_may};
use crate::command::context_dir::{Here, note};
use crate::command::exit::{Exit, bad_state};
use crate::command::screen;
use crate::command::select_loop::{self, FoundLoop, LoopArgs, LoopFilter};
use crate::command::select_shared::{self, SharedArgs, one_loop};
use crate::command::select_target::{Target, TargetArgs};
use crate::runs::parallel;
use anyhow::{Result, bail};
use ralph_core::modes::orchestration::signal::SignalKeyword;
use ralph_core::state::{LoopState, Phase};
use ralph_core::views::messages;
use ralph_hooks::cancel;
use ralph_io::project;
use ralph_io::store::lifecycle::{self, LoopOwnership};
use std::path::Path;

#[derive(Debug, clap::Args)]
#[command(group = one_loop())]
pub(crate) struct Args {
    /// Every live or planned loop of all projects
    #[arg(long, conflicts_with_all = ["one loop", "project"])]
    all: bool,
    /// Every live or planned loop of this project
    #[arg(long, conflicts_with = "one loop")]
    project: bool,
    /// Let the running turn finish; otherwise its next tool call is refused
    #[arg(long, conflicts_with = "shared")]
    let_finish: bool,
    #[arg(
        hide = true,
        value_name = "NAME",
        allow_hyphen_values = true,
        requires = "of",
        conflicts_with = "id"
    )]
    positional: Option<String>,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    shared: SharedArgs,
}

pub(crate) fn run(args: &Args) -> Result<Exit> {
    let here = Here::gather()?;
    if let Some(place) = args.shared.place(&here)? {
        return select_shared::order_cancel(&place);
    }
    let mut unreadable = None;
    let meant = match args.target.target()? {
        Target::Refinement(name) => {
            return background::kill(&here, args.positional.as_deref().or(name));
        }
        Target::Orchestration(id) => match args.target.live_loop(&here) {
            Ok(found) => vec![found],
            Err(_) => return session::send(&here, id, SignalKeyword::Stop, ""),
        },
        _ if args.all || args.project => all(&here, args.project, &mut unreadable),
        _ => match select_loop::one(&here, &args.target.which, LoopFilter::LiveOrPlanned) {
            Ok(found) => vec![found],
            Err(error) => match give_up(&here, &args.target.which, error)? {
                Some(found) => vec![found],
                None => return Ok(Exit::Done),
            },
        },
    };
    if meant.is_empty() && unreadable.is_none() {
        bail!("no loop is live or planned; nothing was cancelled");
    }
    for found in meant {
        screen::say(&end(&here, &found, args.let_finish)?)?;
    }
    unreadable.map_or(Ok(Exit::Done), |error| Err(bad_state(error)))
}

/// Ends a named loop whose state cannot be used, and returns none. If only the permissions were
/// wrong, they are corrected and the loop is returned, to be ended like any other.
fn give_up(here: &Here, which: &LoopArgs, error: anyhow::Error) -> Result<Option<FoundLoop>> {
    let whose = match (&which.session, &which.loop_id) {
        (Some(id), _) => LoopOwnership::Session(id),
        (None, Some(id)) => LoopOwnership::Loop(id),
        (None, None) => return Err(error),
    };
    let how = format!("{}; its state could not be used", who_may::stopped_by(None));
    match lifecycle::give_up(&here.home, &whose, &how).map_err(bad_state)? {
        Some(given_up) => {
            let (file, state) = (&given_up.file, &given_up.state);
            note(here, file, state, "cancel", "ended", &format!("cancelled {how}"));
            let folder = file.folder().display();
            let text = format!("{}\nWhat is left of it is in {folder}", messages::ended(state));
            screen::say(&screen::visible_lines(&text))?;
            Ok(None)
        }
        None => {
            select_loop::one(here, which, LoopFilter::LiveOrPlanned).map(Some).map_err(|_| error)
        }
    }
}

fn all(here: &Here, of_project: bool, unreadable: &mut Option<anyhow::Error>) -> Vec<FoundLoop> {
    let mut meant = Vec::new();
    let identity = here.project();
    let is_meant = |state: &LoopState| {
        let is_open = state.is_live() || state.phase == Phase::Planned;
        let is_here = || project::identity(Path::new(&state.project_root)) == identity;
        is_open && (!of_project || is_here())
    };
    for (file, state) in select_loop::everything(here) {
        match state {
            Ok(state) if is_meant(&state) => {
                meant.push(FoundLoop::seen(file, state));
            }
            Ok(_) => {}
            Err(error) => *unreadable = Some(error),
        }
    }
    // A worker's loop ends with its parent, if the parent is in the list.
    let ids: Vec<String> = meant.iter().map(|found| found.state.loop_id.clone()).collect();
    meant.retain(|found| found.state.parent.as_ref().is_none_or(|above| !ids.contains(above)));
    meant
}

/// Ends a loop and the loops of its workers; returns the report for the user.
pub(super) fn end(here: &Here, found: &FoundLoop, let_finish: bool) -> Result<String> {
    let how = who_may::stopped_by(Some(&found.state));
    // Workers first: the process that holds their clients ends these, in whatever state, as soon as
    // the parent loop has ended.
    let n_workers = end_workers(here, &found.state, &how, let_finish)?;
    let ended = cancel::end_loop(&here.home, &found.file, &how, let_finish);
    let Some((state, archived)) = ended.map_err(bad_state)? else {
        return Ok(format!("loop {} had ended before", found.state.loop_id));
    };
    // A worker may have started in between.
    let n_workers = n_workers + end_workers(here, &state, &how, let_finish)?;
    note(here, &archived, &state, "cancel", "ended", &format!("cancelled {how}"));
    let folder = archived.folder().display();
    let heard = when_heard(&found.state, let_finish);
    let workers = match n_workers {
        0 => String::new(),
        1 => "\nIts worker ends too".to_owned(),
        n => format!("\nIts {n} workers end too"),
    };
    let text = format!("{}\nKept in {folder}{heard}{workers}", messages::ended(&state));
    Ok(screen::visible_lines(&text))
}

/// Ends the loops of a loop's workers, each so that its own session learns of it.
/// Returns how many ended.
fn end_workers(here: &Here, above: &LoopState, how: &str, let_finish: bool) -> Result<usize> {
    let mut n_ended = 0;
    let how = format!("{how}, with the loop above it");
    for (file, state) in parallel::of_loop(here, &above.loop_id) {
        let ended = cancel::end_loop(&here.home, &file, &how, let_finish).map_err(bad_state)?;
        if let Some((_, archived)) = ended {
            note(here, &archived, &state, "cancel", "ended", "the loop above it was cancelled");
            n_ended += 1;
        }
    }
    Ok(n_ended)
}

fn when_heard(before: &LoopState, let_finish: bool) -> &'static str {
    match (before.is_running(), let_finish) {
        (true, true) => "; its session finishes the turn that is running",
        (true, false) => "; its session stops at its next tool call or the end of its turn",
        (false, _) => "",
    }
}
