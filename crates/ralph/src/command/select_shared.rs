//! Finds the shared loop that a command acts on, and gives its machines an order.

use super::context_dir::Here;
use super::exit::Exit;
use super::{complete, screen};
use anyhow::{Context, Result, bail};
use clap::ArgGroup;
use clap_complete::engine::ArgValueCandidates;
use ralph_core::state::signals::SignalKind;
use ralph_core::tasks::shared::names::Namespace;
use ralph_core::tasks::shared::record::LedgerRecord;
use ralph_core::tasks::shared::text::{Name, Text};
use ralph_core::tasks::shared::view::View;
use ralph_core::text::truncate::tail;
use ralph_core::views::phrases;
use ralph_core::views::shared::{self, ORIGIN};
use ralph_io::git::shared::{FoundLedger, SharedPlace, found};

/// The shared loop that a command acts on.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct SharedArgs {
    /// Act on a loop that machines share through the remote [default: its only unfinished one]
    #[arg(
        long,
        value_name = "LOOP",
        num_args = 0..=1,
        default_missing_value = "",
        add = ArgValueCandidates::new(complete::shared_loops)
    )]
    pub(crate) shared: Option<String>,
    /// The remote of the shared loop [default: origin]
    #[arg(long, value_name = "NAME", requires = "shared")]
    pub(crate) remote: Option<String>,
}

/// For a command that takes a loop of this machine or a shared one.
pub(crate) fn one_loop() -> ArgGroup {
    ArgGroup::new("one loop").args(["session", "loop_id", "id", "shared"])
}

impl SharedArgs {
    pub(crate) fn remote(&self) -> &str {
        self.remote.as_deref().unwrap_or(ORIGIN)
    }

    /// The place of the loop; `None` if the user names no shared loop.
    ///
    /// # Errors
    /// If the remote does not answer, or has no such loop, or several could be meant.
    pub(crate) fn place(&self, here: &Here) -> Result<Option<SharedPlace>> {
        let Some(id) = self.shared.as_deref() else { return Ok(None) };
        let all = found(&here.home, &here.root, self.remote())?;
        let space = match id.is_empty() {
            true => only(self.remote(), &all)?,
            false => named(self.remote(), &all, id)?,
        };
        Ok(Some(SharedPlace::new(&here.home, &here.root, self.remote(), space)))
    }
}

/// `ralph VERB --shared LOOP`, as the user types it for this loop.
pub(crate) fn command(verb: &str, place: &SharedPlace) -> String {
    shared::command(verb, place.space().loop_id(), place.remote())
}

fn named(remote: &str, all: &[FoundLedger], id: &str) -> Result<Namespace> {
    let name = Name::try_from(id.to_owned()).ok();
    let one = all.iter().find(|one| Some(one.space.loop_id()) == name.as_ref());
    let id = screen::visible(id);
    let lacks = || format!("`{remote}` has no shared loop `{id}`; {}", listed(all));
    one.map(|one| one.space.clone()).with_context(lacks)
}

/// The only loop that has not ended; the only loop if all have ended.
fn only(remote: &str, all: &[FoundLedger]) -> Result<Namespace> {
    let has_ended =
        |one: &&FoundLedger| one.ledger.as_ref().is_ok_and(|ledger| ledger.end.is_some());
    let unfinished: Vec<&FoundLedger> = all.iter().filter(|one| !has_ended(one)).collect();
    match (unfinished.as_slice(), all) {
        ([one], _) => Ok(one.space.clone()),
        ([], [one]) => Ok(one.space.clone()),
        ([], []) => bail!("`{remote}` has no shared loop; `ralph share` shares the planned one"),
        _ => bail!("name a loop: {}", listed(all)),
    }
}

fn listed(all: &[FoundLedger]) -> String {
    let ids: Vec<&str> = all.iter().map(|one| one.space.loop_id().as_str()).collect();
    match ids.is_empty() {
        true => "it has none".to_owned(),
        false => format!("it has {}", ids.join(", ")),
    }
}

// What a user orders all machines of a shared loop to do: one record in its ledger.

/// How much of another user's reason is shown.
const SHOWN: usize = 200;

/// Ends the loop.
pub(crate) fn order_cancel(place: &SharedPlace) -> Result<Exit> {
    let reason = by_user(place)?;
    put(place, |_| Ok(Some(LedgerRecord::Cancel { reason: reason.clone() })))?;
    say(place, "is cancelled; each machine stops its work at its next read, and keeps it")
}

pub(crate) fn order_pause(place: &SharedPlace) -> Result<Exit> {
    let reason = by_user(place)?;
    let mut before = None;
    put(place, |view| {
        before = view.ledger.pause.clone();
        let pause = || LedgerRecord::Pause { reason: reason.clone() };
        Ok(before.is_none().then(pause))
    })?;
    match before {
        Some(reason) => say(place, &format!("was paused already: {}", shown(&reason))),
        None => say(place, "is paused; each machine begins no round after its next read"),
    }
}

pub(crate) fn order_resume(place: &SharedPlace) -> Result<Exit> {
    let id = place.space().loop_id();
    put(place, |view| match view.ledger.pause {
        Some(_) => Ok(Some(LedgerRecord::Resume)),
        None => bail!("loop {id} is not paused"),
    })?;
    say(place, "continues; each machine learns it at its next read")
}

/// Sends the models of all machines a message.
pub(crate) fn order_signal(place: &SharedPlace, kind: SignalKind, text: &str) -> Result<Exit> {
    let (info, text) = (kind == SignalKind::Info, Text::new(text.trim()));
    put(place, |_| Ok(Some(LedgerRecord::Signal { info, text: text.clone() })))?;
    say(place, "has the message; each machine passes it on at its next read")
}

fn by_user(place: &SharedPlace) -> Result<Text> {
    Ok(Text::new(&format!("by a user on {}", place.machine()?)))
}

/// Adds a record for the loop as it then is; refuses if the loop has ended.
fn put(
    place: &SharedPlace,
    mut make: impl FnMut(&View) -> Result<Option<LedgerRecord>>,
) -> Result<bool> {
    place.put(|view| match &view.ledger.end {
        Some(end) => {
            let (id, how) = (place.space().loop_id(), phrases::spaced(end.ending.as_str()));
            let (how, why) = (screen::visible(&how), shown(&end.reason));
            bail!("loop {id} has ended: {how}, {why}")
        }
        None => make(view),
    })
}

fn shown(text: &Text) -> String {
    screen::visible(&tail(text.as_str(), SHOWN))
}

fn say(place: &SharedPlace, what: &str) -> Result<Exit> {
    screen::say(&format!("loop {} {what}", place.space().loop_id()))
}
