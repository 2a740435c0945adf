//! `ralph watch --shared`: a shared loop until it ends. On a terminal, the page of `ralph status
//! --shared` is drawn anew after each change; elsewhere each change is a line.

use crate::cli::status;
use crate::command::context_dir::Here;
use crate::command::exit::Exit;
use crate::command::screen;
use anyhow::Result;
use ralph_core::state::EndingKind;
use ralph_io::git::shared::{Follower, SharedPlace};
use ralph_io::project::settings;
use std::collections::BTreeSet;
use std::io::IsTerminal;

/// To the first column of the first line, and nothing below it.
const CLEAR: &str = "\u{1b}[H\u{1b}[2J";

pub(super) fn run(here: &Here, place: &SharedPlace, can_draw: bool) -> Result<Exit> {
    let poll = settings::read(&here.home, &here.root).0.shared().poll();
    let is_page = can_draw && std::io::stdout().is_terminal();
    let mut follower = Follower::new(place.records());
    let mut before: Option<(String, BTreeSet<String>)> = None;
    let mut trouble = String::new();
    loop {
        // A run of this clone needs the repository between two reads.
        let read = place.open().and_then(|repository| repository.fetch());
        match read {
            Err(error) if before.is_none() => return Err(error),
            Err(error) => {
                let now = format!("{error:#}");
                if now != trouble {
                    screen::tell(&screen::visible(&format!("{now}; trying again")));
                    trouble = now;
                }
                std::thread::sleep(poll);
                continue;
            }
            Ok(()) => trouble.clear(),
        }
        let view = follower.look()?;
        let shared = status::shared::look(here, place, view)?;
        let (page, lines) = (status::shared::describe(&shared), shared.lines());
        match &before {
            Some((shown, _)) if is_page && *shown == page => {}
            _ if is_page => {
                screen::print_bytes(format!("{CLEAR}{}", screen::harmless(&page)).as_bytes())?;
            }
            None => screen::print(&page)?,
            Some((_, known)) => {
                let new = lines.iter().filter(|line| !known.contains(*line));
                new.map(|line| screen::visible(line)).try_for_each(|line| screen::print(&line))?;
            }
        }
        if let Some(end) = &view.ledger.end {
            let is_complete = end.ending == EndingKind::Complete;
            return Ok(if is_complete { Exit::Done } else { Exit::No });
        }
        before = Some((page, lines.into_iter().collect()));
        std::thread::sleep(poll);
    }
}
