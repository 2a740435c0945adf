//! Typed requests that let more happen: `/ralph trust`, `/ralph share`, `/ralph steer TEXT`, and
//! `/ralph accept` and `/ralph resume` for a loop of another session.
//!
//! In a terminal that was opened after the loop's client, Ralph refuses these commands; typed in a
//! session, they are the user's. `ralph` carries them out as a child of this hook. It inherits the
//! standard input, which only the client can give to a hook, and checks it as a hook does.

use crate::active_loop::Bound;
use crate::hook_runner::HookCall;
use crate::{begin, delegate, typed};
use anyhow::{Context, Result};
use ralph_core::protocol::reply::Reply;
use ralph_core::state::Phase;
use ralph_core::transcript::cutoff::{self, TypedRequest};
use ralph_core::views::messages;
use ralph_io::process;
use std::time::{Duration, Instant};

/// Below the hook's own timeout of ten seconds.
const WITHIN: Duration = Duration::from_secs(9);

const LONGEST_ANSWER: usize = 1 << 16;

/// Carries out a request. A running loop of the session then continues: the client ended its turn for
/// the command.
pub(crate) fn answer(call: &HookCall, request: TypedRequest) -> Result<Reply> {
    let own = Bound::find(call)?.filter(|bound| bound.state.is_live());
    if own.as_ref().is_some_and(|bound| bound.is_outranked(call.via)) {
        return Ok(Reply::silent());
    }
    let words: &[&str] = match request {
        TypedRequest::Trust => &["trust", "--yes"],
        TypedRequest::Share => &["share"],
        TypedRequest::Accept => &["accept"],
        TypedRequest::Resume
            if own.is_none()
                && begin::live_in_project(&call.home, &call.root())
                    .any(|state| state.phase == Phase::Paused) =>
        {
            &["resume"]
        }
        TypedRequest::Steer => &["signal", "steer", "--", cutoff::steer(&call.input.command_args)],
        _ => return typed::resume(call),
    };
    let told = messages::line(&carried_out(words)?);
    Ok(match own.is_some_and(|bound| bound.state.is_running()) {
        true => typed::resume(call)?.tell_also(&told),
        false => Reply::keep_from_model(&told),
    })
}

/// Runs `ralph`; returns what it prints.
fn carried_out(words: &[&str]) -> Result<String> {
    let running = process::start_with_own_input(&delegate::ralph()?, words)?;
    let finished = running.finish(Instant::now() + WITHIN, LONGEST_ANSWER).with_context(|| {
        let words = words.join(" ");
        format!("`ralph {words}` has not ended; type it again, or in a terminal without a loop")
    })?;
    let told = String::from_utf8_lossy(&finished.stdout);
    let told = told.trim_end();
    Ok(told.strip_prefix("ralph: ").unwrap_or(told).to_owned())
}
