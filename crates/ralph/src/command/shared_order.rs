//! What a user orders all machines of a shared loop to do: one record in its ledger.

use super::exit::{Exit, refused};
use super::screen;
use anyhow::Result;
use ralph_core::state::signals::SignalKind;
use ralph_core::tasks::shared::record::LedgerRecord;
use ralph_core::tasks::shared::text::Text;
use ralph_core::tasks::shared::view::View;
use ralph_core::text::truncate::tail;
use ralph_core::views::phrases;
use ralph_io::git::shared::SharedPlace;

/// How much of another user's reason is shown.
const SHOWN: usize = 200;

/// Ends the loop.
pub(crate) fn cancel(place: &SharedPlace) -> Result<Exit> {
    let reason = by_user(place)?;
    put(place, |_| Ok(Some(LedgerRecord::Cancel { reason: reason.clone() })))?;
    say(place, "is cancelled; each machine stops its work at its next read, and keeps it")
}

pub(crate) fn pause(place: &SharedPlace) -> Result<Exit> {
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

pub(crate) fn resume(place: &SharedPlace) -> Result<Exit> {
    let id = place.space().loop_id();
    put(place, |view| match view.ledger.pause {
        Some(_) => Ok(Some(LedgerRecord::Resume)),
        None => Err(refused(Exit::No, format!("loop {id} is not paused"))),
    })?;
    say(place, "continues; each machine learns it at its next read")
}

/// Sends the models of all machines a message.
pub(crate) fn signal(place: &SharedPlace, kind: SignalKind, text: &str) -> Result<Exit> {
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
            Err(refused(Exit::No, format!("loop {id} has ended: {how}, {why}")))
        }
        None => make(view),
    })
}

fn shown(text: &Text) -> String {
    screen::visible(&tail(text.as_str(), SHOWN))
}

fn say(place: &SharedPlace, what: &str) -> Result<Exit> {
    screen::say(&format!("loop {} {what}", place.space().loop_id()))?;
    Ok(Exit::Done)
}
