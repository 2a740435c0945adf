//! `ralph cancel`: ends a loop at once; its session hears of it from its next hook.

use super::exit::{Exit, bad_state, refused};
use super::here::Here;
use super::note::note;
use super::screen;
use super::which::{self, Found, Wanted, Which};
use anyhow::Result;
use ralph_core::say;
use ralph_core::state::{LoopState, Phase};
use ralph_hooks::cancel;

/// What a person may say about an end.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Every loop that is live or planned, of all projects
    #[arg(long, conflicts_with_all = ["session", "loop_id"])]
    all: bool,
    /// Let the turn that is running finish; otherwise its next tool call is refused
    #[arg(long)]
    let_finish: bool,
    #[command(flatten)]
    which: Which,
}

/// Ends the loop, or all of them.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let here = Here::gather()?;
    let mut unreadable = None;
    let meant = match args.all {
        false => vec![which::one(&here, &args.which, Wanted::LiveOrPlanned)?],
        true => all(&here, &mut unreadable),
    };
    if meant.is_empty() && unreadable.is_none() {
        return Err(refused(Exit::No, "no loop is live or planned; nothing was cancelled"));
    }
    for found in meant {
        end(&here, &found, args.let_finish)?;
    }
    unreadable.map_or(Ok(Exit::Done), |error| Err(bad_state(error)))
}

fn all(here: &Here, unreadable: &mut Option<anyhow::Error>) -> Vec<Found> {
    let mut meant = Vec::new();
    for (file, state) in which::everything(here) {
        match state {
            Ok(state) if state.is_live() || state.phase == Phase::Planned => {
                meant.push(Found::seen(file, state));
            }
            Ok(_) => {}
            Err(error) => *unreadable = Some(error),
        }
    }
    meant
}

fn end(here: &Here, found: &Found, let_finish: bool) -> Result<()> {
    let ended =
        cancel::end_loop(&here.home, &found.file, "by a person on the command line", let_finish);
    let Some((state, archived)) = ended.map_err(bad_state)? else {
        return screen::print(&format!("loop {} had ended before", found.state.loop_id));
    };
    note(here, &archived, &state, ("cancel", "ended"), "a person cancelled on the command line");
    let folder = archived.folder().display();
    let heard = when_heard(&found.state, let_finish);
    let text = format!("{}\nKept in {folder}{heard}", say::ended(&state));
    screen::print(&screen::visible_lines(&text))
}

fn when_heard(before: &LoopState, let_finish: bool) -> &'static str {
    match (before.is_running(), let_finish) {
        (true, true) => "; its session finishes the turn that is running",
        (true, false) => "; its session stops at its next tool call or the end of its turn",
        (false, _) => "",
    }
}
