//! A round in a process of its own, `ralph round`, shown here.
//!
//! That process holds the client, and ends it with all that it started when its standard input ends. So a
//! driver that is killed, by whatever signal, leaves no client at work.

use super::client::{ClientRound, Policy, RoundResult};
use super::display::{DisplayedRound, RoundDisplay};
use super::round_bar::RoundBar;
use super::worker::{RoundMessage, RoundOrder};
use crate::cli::exit::{Exit, refused};
use anyhow::{Context, Result};
use ralph_io::process::interrupts::{InterruptRequest, Interrupts};
use ralph_io::process::process_pool::{Crew, MemberEvent};
use ralph_io::process::watch::Watch;
use ralph_io::{process::programs, store::lock};
use std::path::Path;
use std::time::{Duration, Instant};

/// Further away than anything that is waited for.
const FAR: Duration = Duration::from_secs(3600);

/// Longer than a client may take to end once it was told to.
const TO_END: Duration = Duration::from_secs(20);

/// Runs a round to its end, as [`super::client::run`] does, in a process of its own. That process holds the lock at
/// `alone` until nothing of the round is alive.
///
/// # Errors
/// As [`super::client::run`].
pub(crate) fn run_apart(
    round: &ClientRound,
    alone: &Path,
    interrupts: &Interrupts,
    policy: &Policy,
) -> Result<RoundResult> {
    let order = RoundOrder {
        round: round.clone(),
        waits_for_limits: policy.waits_for_limits,
        alone: alone.to_owned(),
    };
    let mut crew = Crew::new()?;
    let order = serde_json::to_vec(&order).context("could not write the order of a round")?;
    crew.start(&round.label, &programs::running()?, &["round"], &order)?;
    let one = RoundBar::begin(&round.label);
    let came = listen(&mut crew, &one, interrupts);
    one.end();
    came
}

/// Until it is gone.
fn listen(crew: &mut Crew, one: &RoundBar, interrupts: &Interrupts) -> Result<RoundResult> {
    let watch = Watch::begin(&[])?;
    let shown = DisplayedRound::on(one);
    let (mut told, mut last) = (InterruptRequest::Nothing, None);
    // Before its first word it does not catch signals yet: Ctrl-C would end it, and not wait for the round.
    let mut is_there = false;
    loop {
        let asked = interrupts.asked();
        if asked > told && is_there {
            told = asked;
            shown.asked(asked);
            crew.ask(asked);
        }
        for (_, heard) in crew.wait(interrupts, &watch, Instant::now() + FAR)? {
            is_there = true;
            let line = match heard {
                MemberEvent::Line(line) => line,
                MemberEvent::Gone(how) => return came(last, &how),
            };
            match serde_json::from_slice(&line) {
                Ok(RoundMessage::Now { what, tokens }) => one.now(&what, tokens),
                Ok(RoundMessage::Say(words)) => one.say(&words),
                Ok(end) => last = Some(end),
                // A line that was cut with the process that wrote it.
                Err(_) => {}
            }
        }
    }
}

fn came(last: Option<RoundMessage>, how: &str) -> Result<RoundResult> {
    match last {
        Some(RoundMessage::Came(came)) => Ok(*came),
        Some(RoundMessage::Failed { why, is_missing }) => {
            let exit = if is_missing { Exit::MissingProgram } else { Exit::No };
            Err(refused(exit, why))
        }
        _ => Ok(RoundResult::crashed(format!("its process ended without a word ({how})"))),
    }
}

/// Waits until nothing is alive of a round that an earlier driver had begun with this lock.
///
/// # Errors
/// When something is alive still.
pub(crate) fn wait_for_earlier(alone: &Path) -> Result<()> {
    // Without the file there was no round.
    if !alone.with_extension("lock").exists() {
        return Ok(());
    }
    lock::take(alone, TO_END)
        .map(drop)
        .context("a client of an earlier run is alive")
        .map_err(|error| refused(Exit::No, format!("{error:#}")))
}
