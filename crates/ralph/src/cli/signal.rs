//! `ralph signal`: sends the model a message while it works, from any terminal.
//!
//! The session's next hook delivers it, within one tool call of a working turn. To end or pause a
//! loop there are `ralph cancel` and `ralph pause`.

use crate::cli::session;
use crate::command::context_dir::{Here, note};
use crate::command::exit::{Exit, bad_state, usage};
use crate::command::screen;
use crate::command::select_loop::FoundLoop;
use crate::command::select_shared::{self, SharedArgs, one_loop};
use crate::command::select_target::{Target, TargetArgs};
use crate::runs::parallel;
use anyhow::{Result, anyhow, bail};
use ralph_core::modes::orchestration::signal::SignalKeyword;
use ralph_core::state::LoopState;
use ralph_core::state::signals::{self, SignalKind};
use ralph_core::tasks::shared::text::Name;
use ralph_io::client::given;
use ralph_io::process::watch::Watch;
use ralph_io::store::lifecycle;
use ralph_io::store::mailbox::{Mailbox, Whereabouts};
use std::time::{Duration, Instant};

/// How long to wait before the mailbox is read again if the system reports no changes.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

#[derive(Debug, clap::Args)]
#[command(group = one_loop())]
pub(crate) struct Args {
    /// steer: change the work from now on; info: only for information; pause: begin nothing new; stop: end
    #[arg(value_parser = ["steer", "info", "pause", "stop"], hide_possible_values = true)]
    word: String,
    /// The message; `-` reads standard input
    text: Vec<String>,
    /// Wait until the message is delivered; exit 1 if the loop ends before
    #[arg(long, conflicts_with = "shared")]
    wait: bool,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    shared: SharedArgs,
}

impl Args {
    /// The shared loop, and the words of the message. What follows `--shared` is the message if it
    /// cannot be the id of a loop.
    fn shared_loop(&self) -> (SharedArgs, Vec<String>) {
        let (mut shared, mut words) = (self.shared.clone(), self.text.clone());
        let is_id = |value: &String| value.is_empty() || Name::try_from(value.clone()).is_ok();
        if let Some(value) = shared.shared.as_mut().filter(|value| !is_id(value)) {
            words.insert(0, std::mem::take(value));
        }
        (shared, words)
    }
}

pub(crate) fn run(args: &Args) -> Result<Exit> {
    let (shared, words) = args.shared_loop();
    let text = match words.as_slice() {
        [dash] if dash == "-" => given::stdin()?,
        words => words.join(" "),
    };
    let (word, kind) = match args.word.as_str() {
        "steer" => (SignalKeyword::Steer, Some(SignalKind::Steer)),
        "info" => (SignalKeyword::Info, Some(SignalKind::Info)),
        "pause" => (SignalKeyword::Pause, None),
        _ => (SignalKeyword::Stop, None),
    };
    if let Some(why) = signals::refused(&text).filter(|_| kind.is_some()) {
        return Err(usage(why));
    }
    let here = Here::gather()?;
    if let Target::Orchestration(id) = args.target.target()? {
        return session::send(&here, id, word, &text);
    }
    let Some(kind) = kind else {
        return Err(usage(
            "only an orchestration takes this word; type `ralph pause` or `ralph cancel`",
        ));
    };
    if let Some(place) = shared.place(&here)? {
        return select_shared::order_signal(&place, kind, &text);
    }
    let found = args.target.live_loop(&here)?;
    let Sent { name, workers, words } = send(&here, &found, kind, &text)?;
    screen::say(&words)?;
    if !args.wait {
        return Ok(Exit::Done);
    }
    match workers.is_empty() {
        true => wait(&here, &found.state, &name),
        // The workers' sessions are the ones that run now.
        false => workers.iter().try_fold(Exit::Done, |_, (state, name)| wait(&here, state, name)),
    }
}

pub(super) struct Sent {
    /// The signal's name in the loop's mailbox.
    name: String,
    /// The workers that received it as well, each with the signal's name in its own mailbox.
    workers: Vec<(LoopState, String)>,
    /// The report for the user.
    pub(super) words: String,
}

/// Puts a signal into the mailboxes of a loop and of its workers.
pub(super) fn send(here: &Here, found: &FoundLoop, kind: SignalKind, text: &str) -> Result<Sent> {
    if let Some(why) = signals::refused(text) {
        return Err(usage(why));
    }
    let name = Mailbox::for_loop(&found.file, &found.state).send(kind, text).map_err(bad_state)?;
    note(here, &found.file, &found.state, "signal", "sent", &format!("{kind}: {}", text.trim()));
    let workers = to_workers(here, &found.state, kind, text)?;
    let words = screen::visible_lines(&sent(&found.state, workers.len()));
    Ok(Sent { name, workers, words })
}

/// Also sends it to the workers that have loops of their own: they do not read this loop's mailbox.
fn to_workers(
    here: &Here,
    above: &LoopState,
    kind: SignalKind,
    text: &str,
) -> Result<Vec<(LoopState, String)>> {
    let mut all = Vec::new();
    for (file, state) in parallel::of_loop(here, &above.loop_id) {
        if state.is_live() {
            let name = Mailbox::for_loop(&file, &state).send(kind, text).map_err(bad_state)?;
            all.push((state, name));
        }
    }
    Ok(all)
}

fn sent(state: &LoopState, n_workers: usize) -> String {
    let when = match state.is_running() {
        true if n_workers > 0 => "each of its workers hears it within its next tool call",
        true => "the model hears it within its next tool call",
        false => "the loop is paused; the model hears it when the loop continues",
    };
    format!("sent to loop {} at {}; {when}", state.loop_id, state.position())
}

/// Waits until the signal is delivered, or no longer can be.
fn wait(here: &Here, state: &LoopState, name: &str) -> Result<Exit> {
    loop {
        // The loop may have been archived meanwhile, with its mailbox.
        let file = lifecycle::by_id(&here.home, &state.loop_id);
        let Some(file) = file else { return Err(lost(state)) };
        let mailbox = Mailbox::for_loop(&file, state);
        let watched = mailbox.watched();
        let watch = Watch::begin(&[file.folder(), &watched])?;
        match mailbox.whereabouts(name) {
            Whereabouts::Delivered => break,
            Whereabouts::Gone => return Err(lost(state)),
            Whereabouts::Waits if lifecycle::is_put_away(&here.home, &file) => {
                bail!("loop {} ended before the model heard it", state.loop_id);
            }
            Whereabouts::Waits => {}
        }
        watch.wait(Instant::now() + LOOK_AGAIN)?;
    }
    screen::say(&format!("delivered to loop {}", screen::visible(&state.loop_id)))
}

fn lost(state: &LoopState) -> anyhow::Error {
    anyhow!("the mailbox of loop {} is gone", state.loop_id)
}
