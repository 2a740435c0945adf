//! Delivers what a person has sent to a loop: whichever hook answers next has the model read it.
//!
//! What is taken from the mailbox is noted as delivered by the door, once the answer is printed: a
//! hook that is killed before that has delivered nothing.

use crate::active_loop::{self, JournalLine};
use crate::hook_runner::HookCall;
use ralph_core::protocol::reply::Reply;
use ralph_core::state::{LoopState, StateView};
use ralph_core::{modes::loop_prompt, state::signals, text::truncate};
use ralph_io::store::loop_file::LoopFile;
use ralph_io::store::mailbox::{Delivery, Mailbox, Recipient};
use ralph_io::{client, process::clock};
use serde_json::json;

/// The texts that one answer carries, in bytes; one is always carried.
const ROOM: usize = 2_400;

/// Steers that the contract repeats.
const STEERS: usize = 3;

/// The contract of a loop under a heading, with what a person has said to it since its start.
pub(crate) fn contract(heading: &str, file: &LoopFile, state: &LoopState) -> String {
    let steers = Mailbox::of(file, state).steers(STEERS);
    loop_prompt::contract(heading, state, &steers, clock::now())
}

/// Signals that an answer carries.
#[derive(Debug)]
pub struct Outgoing {
    taken: Delivery,
    file: LoopFile,
    position: String,
}

/// The answer of a running loop, led by what waits for whoever made this call. Not for a copy that is
/// outranked: it answers nothing. A mailbox that cannot be read now is looked at by the next hook.
pub fn lead<S: StateView>(call: &HookCall, file: &LoopFile, state: &S, reply: Reply) -> Reply {
    if state.orchestrated().is_some() {
        return lead_agent(call, file, state, reply);
    }
    lead_from(call, &Mailbox::of(file, state), state.position(), reply)
}

/// In an orchestrated session its agents hear a person while they work. Its conversation does not: the router
/// listens for it, and says what it heard with the next calls.
fn lead_agent<S: StateView>(call: &HookCall, file: &LoopFile, state: &S, reply: Reply) -> Reply {
    let recipient = match call.input.from_subagent() {
        true => &call.input.agent_id,
        false if client::session_call().is_some() => &call.input.session_id,
        false => return reply,
    };
    let mailbox = Mailbox::of(file, state);
    deliver(call, &mailbox, Recipient::Worker(recipient), state.position(), reply)
}

/// As [`lead`], where the state has been written and is not at hand any more.
pub fn lead_from(call: &HookCall, mailbox: &Mailbox, position: String, reply: Reply) -> Reply {
    let recipient = match call.input.from_subagent() {
        true => Recipient::Worker(&call.input.agent_id),
        false => Recipient::Main,
    };
    deliver(call, mailbox, recipient, position, reply)
}

fn deliver(
    call: &HookCall,
    mailbox: &Mailbox,
    recipient: Recipient<'_>,
    position: String,
    reply: Reply,
) -> Reply {
    let taken = mailbox.take(recipient, ROOM);
    let Ok(Some(taken)) = taken else { return reply };
    let reply = reply.led_by(call.input.hook_event_name, &signals::told(&taken.signals));
    call.outgoing.borrow_mut().push(Outgoing { taken, file: mailbox.file.clone(), position });
    reply
}

/// Notes that what the printed answer carried was delivered.
pub(crate) fn delivered(call: &HookCall) {
    for Outgoing { taken, file, position } in call.outgoing.take() {
        let told: Vec<String> = taken
            .signals
            .iter()
            .map(|signal| format!("{}: {}", signal.kind, truncate::tail(&signal.text, 200)))
            .collect();
        let why = told.join("; ");
        // What cannot be noted is delivered once more, which is better than not at all.
        if taken.delivered().is_ok() {
            let seen = json!({"agent": call.input.agent_id});
            let said = JournalLine { position: &position, decision: "delivered", why: &why, seen };
            active_loop::keep(&file, call, said, None::<()>);
        }
    }
}
