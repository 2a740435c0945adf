//! `ralph watch`: all loops on one page, redrawn as they change, with keys to act on them.
//!
//! A key does exactly what the command of the same name does; nothing can be done only here.
//! Loops are read only after a change, and lines are drawn only if they differ; the times
//! change once a second.

mod keys;
mod model;
#[cfg(test)]
mod sample;
mod view;

use super::{cancel, pause, signal, status, who_may};
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, refused};
use crate::command::screen;
use crate::command::select_loop::FoundLoop;
use crate::command::select_shared::SharedArgs;
use anyhow::{Context, Result};
use keys::{Act, Keyboard};
use model::{InputMode, Model};
use ralph_core::state::EndingKind;
use ralph_core::state::signals::SignalKind;
use ralph_io::git::shared::{Follower, SharedPlace};
use ralph_io::process::wait_any::{Attention, StopSignal};
use ralph_io::process::watch::Watch;
use ralph_io::project::settings;
use ralph_io::terminal::alt_screen::{self, Page};
use ratatui::Terminal;
use ratatui::backend::TermionBackend;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use std::collections::BTreeSet;
use std::io::{IsTerminal, Stdout, stdout};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The page shows times in seconds.
const TICK: Duration = Duration::from_secs(1);

/// A model that streams changes its transcript dozens of times a second.
const NOT_BEFORE: Duration = Duration::from_millis(250);

/// Time for the rest of a key's escape sequence to arrive, even over a slow line.
const ESCAPE: Duration = Duration::from_millis(80);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Include the loops of all projects
    #[arg(long, conflicts_with = "shared")]
    all: bool,
    #[command(flatten)]
    shared: SharedArgs,
}

/// Shows the page until the user quits.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let can_draw = std::env::var_os("TERM").is_none_or(|term| term != "dumb");
    if args.shared.shared.is_some() {
        let here = Here::gather()?;
        let place = args.shared.place(&here)?.context("no shared loop is named")?;
        return run_shared(&here, &place, can_draw);
    }
    if !alt_screen::can_be_taken() || !can_draw {
        let message = "`ralph watch` needs a terminal; `ralph status` shows the same once, and \
             `ralph status --json` prints it for a program";
        return Err(refused(Exit::No, message));
    }
    let mut watched = Watched::begin(args)?;
    let attention = Attention::catch()?;
    let mut on_page = OnPage::take()?;
    match watched.follow(&attention, &mut on_page) {
        Ok(None) => Ok(Exit::Done),
        Ok(Some(ending)) => {
            drop(on_page);
            ending.carry_out();
            Ok(Exit::No)
        }
        Err(error) => Err(error),
    }
}

/// The terminal, and what it shows.
struct OnPage {
    terminal: Terminal<TermionBackend<Stdout>>,
    shows: Vec<Line<'static>>,
    /// `None` while the process is stopped.
    page: Option<Page>,
}

impl OnPage {
    fn take() -> Result<OnPage> {
        let page = Page::take()?;
        let terminal = Terminal::new(TermionBackend::new(stdout()));
        let terminal = terminal.context("could not draw on the terminal")?;
        Ok(OnPage { terminal, shows: Vec::new(), page: Some(page) })
    }

    /// Draws what has changed; redraws everything if another program used the terminal
    /// or its size changed.
    fn draw(&mut self, model: &Model, anew: bool) -> Result<()> {
        let describe = || "could not draw on the terminal";
        let size = self.terminal.size().with_context(describe)?;
        if anew {
            // This clears the page as well. `clear` would ask the terminal where its cursor is, and read the answer
            // from what the user types.
            self.terminal.resize(Rect::from((Position::ORIGIN, size))).with_context(describe)?;
        }
        let lines = view::lines(model, size.width, size.height);
        if anew || lines != self.shows {
            self.terminal.draw(|frame| view::draw(frame, model)).with_context(describe)?;
            self.shows = lines;
        }
        Ok(())
    }

    /// Gives the terminal back, stops until the process is continued, and takes the terminal again.
    fn suspend(&mut self, rest: StopSignal) -> Result<()> {
        self.page = None;
        rest.carry_out();
        self.page = Some(Page::take()?);
        Ok(())
    }
}

/// The watched folders, and what is known of the loops.
struct Watched {
    all: bool,
    model: Model,
    /// The loops that have been on the page.
    seen: Vec<String>,
    /// Folders and files in which something may change.
    places: Vec<PathBuf>,
    watch: Watch,
    looked: Instant,
    /// Something has changed since then.
    is_old: bool,
    /// Whether the system reports changes there.
    is_told: bool,
}

impl Watched {
    fn begin(args: &Args) -> Result<Watched> {
        let here = Here::gather()?;
        let of = match args.all {
            true => "all projects".to_owned(),
            false => here.root.display().to_string(),
        };
        let model = Model {
            of,
            loops: Vec::new(),
            unreadable: Vec::new(),
            selected: 0,
            asks: InputMode::Nothing,
            notice: String::new(),
            colours: screen::colours_are_wanted(),
            now: here.now,
        };
        let mut watched = Watched {
            all: args.all,
            model,
            seen: Vec::new(),
            places: Vec::new(),
            watch: Watch::begin(&[])?,
            looked: Instant::now(),
            is_old: true,
            is_told: false,
        };
        watched.read_loops()?;
        Ok(watched)
    }

    /// Reads everything. The watch begins before that, so that no change is missed.
    fn read_loops(&mut self) -> Result<()> {
        let here = Here::gather()?;
        let mut left = 3;
        let found = loop {
            left -= 1;
            let places: Vec<&Path> = self.places.iter().map(|place| place.as_path()).collect();
            self.watch = Watch::begin(&places)?;
            let found = model::gather(&here, self.all, &mut self.seen);
            if found.places == self.places || left == 0 {
                break found;
            }
            // A loop has come or gone, which is rare: it was not watched when it was read.
            self.places.clone_from(&found.places);
        };
        self.is_told = here.home.loops().is_dir();
        self.model.refresh(found.loops, found.unreadable);
        self.model.now = here.now;
        (self.looked, self.is_old) = (Instant::now(), false);
        Ok(())
    }

    /// Draws, waits and acts, until the user quits or a signal ends the process.
    fn follow(
        &mut self,
        attention: &Attention,
        on_page: &mut OnPage,
    ) -> Result<Option<StopSignal>> {
        let mut keyboard = Keyboard::default();
        let mut anew = true;
        loop {
            if self.is_old && self.looked.elapsed() >= NOT_BEFORE {
                self.read_loops()?;
            }
            self.model.now = ralph_io::process::clock::now();
            on_page.draw(&self.model, std::mem::take(&mut anew))?;
            let heard = attention.wait(&self.watch, self.wake(&keyboard))?;
            if heard.changed || !self.is_told {
                self.is_old = true;
            }
            anew |= heard.redraw;
            let mut ending = heard.ending;
            let keys = match heard.typed.is_empty() && keyboard.waits() {
                true => keyboard.settle(),
                false => keyboard.feed(&heard.typed),
            };
            for key in keys {
                match keys::press(&mut self.model, key) {
                    None => {}
                    Some(Act::Quit) => return Ok(None),
                    Some(Act::Redraw) => anew = true,
                    Some(Act::Rest) => ending = Some(StopSignal::REST),
                    Some(act) => self.act(act)?,
                }
            }
            match ending {
                Some(rest) if rest.is_rest() => {
                    on_page.suspend(rest)?;
                    (anew, self.is_old) = (true, true);
                }
                Some(_) => return Ok(ending),
                None => {}
            }
        }
    }

    /// When to wake up if nothing happens.
    fn wake(&self, keyboard: &Keyboard) -> Instant {
        let now = Instant::now();
        let mut until = now + TICK;
        if self.is_old {
            until = until.min(self.looked + NOT_BEFORE);
        }
        if keyboard.waits() {
            until = until.min(now + ESCAPE);
        }
        until
    }

    /// Does to a loop what its command does, and shows the report.
    fn act(&mut self, act: Act) -> Result<()> {
        let done = carry_out(act);
        let said = done.unwrap_or_else(|error| format!("{error:#}"));
        self.model.notice = said.lines().next().unwrap_or_default().to_owned();
        self.read_loops()
    }
}

fn carry_out(act: Act) -> Result<String> {
    let here = Here::gather()?;
    match act {
        Act::Pause(loop_id) => pause::pause(&here, &FoundLoop::by_id(&here, &loop_id)?),
        Act::Resume(loop_id) => {
            who_may::check_key(&here, "resume")?;
            pause::resume(&here, &FoundLoop::by_id(&here, &loop_id)?)
        }
        Act::Stop(loop_id) => cancel::end(&here, &FoundLoop::by_id(&here, &loop_id)?, false),
        Act::Steer(loop_id, text) => {
            who_may::check_key(&here, "signal")?;
            let found = FoundLoop::by_id(&here, &loop_id)?;
            if !found.state.is_live() {
                let message = format!("loop {loop_id} is not live; the model would not read it");
                return Err(refused(Exit::No, message));
            }
            signal::send(&here, &found, SignalKind::Steer, &text).map(|sent| sent.words)
        }
        Act::Redraw | Act::Rest | Act::Quit => Ok(String::new()),
    }
}

// `ralph watch --shared`: a shared loop until it ends. On a terminal, the page of `ralph status
// --shared` is drawn anew after each change; elsewhere each change is a line.

/// To the first column of the first line, and nothing below it.
const CLEAR: &str = "\u{1b}[H\u{1b}[2J";

fn run_shared(here: &Here, place: &SharedPlace, can_draw: bool) -> Result<Exit> {
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
        let view = follower.refresh_view()?;
        let shared = status::shared_loop(here, place, view)?;
        let (page, lines) = (status::describe(&shared), shared.lines());
        match &before {
            Some((shown, _)) if is_page && *shown == page => {}
            _ if is_page => {
                screen::print_bytes(format!("{CLEAR}{}", screen::harmless(&page)).as_bytes())?;
            }
            None => drop(screen::print(&page)?),
            Some((_, known)) => {
                let new = lines.iter().filter(|line| !known.contains(*line));
                for line in new {
                    screen::print(&screen::visible(line))?;
                }
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
