//! Delivers the user's messages to a loop: the next hook that answers hands them to the model.
//!
//! The hook runner records a message as delivered once the answer is printed. A hook that is killed
//! before that has delivered nothing.

use crate::active_loop::{self, JournalLine};
use crate::hook_runner::HookCall;
use ralph_core::protocol::reply::Reply;
use ralph_core::state::LoopState;
use ralph_core::{modes::mode, state::signals, text::truncate};
use ralph_io::store::loop_file::LoopFile;
use ralph_io::store::mailbox::{Delivery, Mailbox, Recipient};
use ralph_io::{client, process::clock};
use serde_json::json;

/// The size of the texts that one answer carries, in bytes. The first text is carried whatever its
/// size.
const ROOM: usize = 2_400;

/// How many steers a loop prompt repeats.
pub const STEERS: usize = 3;

/// The loop prompt under a heading, with the user's steers since the start.
pub(crate) fn contract(heading: &str, file: &LoopFile, state: &LoopState) -> String {
    let steers = Mailbox::for_loop(file, state).steers(STEERS);
    mode::rules(&state.mode).loop_prompt(heading, state, &steers, clock::now())
}

/// Messages that an answer carries.
#[derive(Debug)]
pub struct Outgoing {
    taken: Delivery,
    file: LoopFile,
    position: String,
}

/// Puts the messages for this caller before the answer of a running loop. An outranked copy must
/// not call this, because it answers nothing. A mailbox that cannot be read now is tried again by
/// the next hook.
pub fn prepend_signals(call: &HookCall, file: &LoopFile, state: &LoopState, reply: Reply) -> Reply {
    if state.orchestrated().is_some() {
        return lead_agent(call, file, state, reply);
    }
    lead_from(call, &Mailbox::for_loop(file, state), state.position(), reply)
}

/// In an orchestration, only the agents read messages while they work. The router reads those for
/// the conversation, and passes them on with the next calls.
fn lead_agent(call: &HookCall, file: &LoopFile, state: &LoopState, reply: Reply) -> Reply {
    let recipient = match call.input.from_subagent() {
        true => &call.input.agent_id,
        false if client::session_call().is_some() => &call.input.session_id,
        false => return reply,
    };
    let mailbox = Mailbox::for_loop(file, state);
    deliver(call, &mailbox, Recipient::Worker(recipient), state.position(), reply)
}

/// Like [`prepend_signals`], for a state that has been written and is no longer at hand.
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
    let reply = reply.led_by(call.input.hook_event_name, &signals::text_for_model(&taken.signals));
    call.outgoing.borrow_mut().push(Outgoing { taken, file: mailbox.file.clone(), position });
    reply
}

/// Records the messages in the printed answer as delivered.
pub(crate) fn delivered(call: &HookCall) {
    for Outgoing { taken, file, position } in call.outgoing.take() {
        let told: Vec<String> = taken
            .signals
            .iter()
            .map(|signal| format!("{}: {}", signal.kind, truncate::tail(&signal.text, 200)))
            .collect();
        let why = told.join("; ");
        // A message that cannot be recorded is delivered again, which is better than never.
        if taken.delivered().is_ok() {
            let seen = json!({"agent": call.input.agent_id});
            let said = JournalLine { position: &position, decision: "delivered", why: &why, seen };
            active_loop::keep(&file, call, said, None::<()>);
        }
    }
}
