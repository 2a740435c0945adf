//! How a run ends: what the router says becomes the ending of the loop, once the criteria were asked.

use super::{OrchestrationEnd, OrchestrationRun};
use crate::cli::exit::{Exit, bad_state};
use crate::cli::journal::note;
use crate::cli::screen;
use crate::runs::build;
use crate::runs::screen::Many;
use crate::verify;
use anyhow::{Context, Result};
use ralph_core::evidence::receipt::Proof;
use ralph_core::modes::build as rules;
use ralph_core::modes::orchestration::in_session::{self, Ends, Routed};
use ralph_core::state::{EndingKind, LoopState, PauseCause};
use ralph_core::stop;
use ralph_hooks::orchestration;
use ralph_io::process::clock;
use ralph_io::process::interrupts::{InterruptRequest, Interrupts};
use ralph_io::process::process_pool::{Crew, MemberEvent};
use ralph_io::process::watch::Watch;
use std::time::{Duration, Instant};

/// Ends the loop, or leaves it as it is, and says what comes next.
pub(crate) fn conclude(
    plan: &OrchestrationRun<'_>,
    interrupts: &Interrupts,
    loop_id: &str,
    ended: OrchestrationEnd,
) -> Result<Exit> {
    match ended {
        OrchestrationEnd::Failed(error) => {
            let now = clock::now();
            let why = format!("{error:#}");
            plan.file
                .update(|state| rules::rest(state, PauseCause::Crashed, &why, now))
                .map_err(bad_state)?;
            Err(error)
        }
        OrchestrationEnd::Over => over(plan, loop_id),
        OrchestrationEnd::Bound => {
            let now = clock::now();
            plan.file.update(|state| stop::may_go_on(state, now)).map_err(bad_state)?;
            over(plan, loop_id)
        }
        OrchestrationEnd::Paused => {
            say_rests(plan, "a person let it rest")?;
            Ok(Exit::Done)
        }
        OrchestrationEnd::Rest { cause, why, exit } => rest(plan, loop_id, cause, &why, exit),
        OrchestrationEnd::Decided(routed) => router(plan, interrupts, loop_id, &routed),
    }
}

fn router(
    plan: &OrchestrationRun<'_>,
    interrupts: &Interrupts,
    loop_id: &str,
    routed: &Routed,
) -> Result<Exit> {
    let state = plan.file.read().map_err(bad_state)?.map(|loaded| loaded.state);
    let Some(state) = state else { return over(plan, loop_id) };
    let proof = match in_session::wants_proof(&state, routed) {
        true => match proof(plan, interrupts, &state)? {
            Some(proof) => Some(proof),
            None => {
                return rest(
                    plan,
                    loop_id,
                    PauseCause::Person,
                    "ended by Ctrl-C",
                    Exit::MissingProgram,
                );
            }
        },
        false => None,
    };
    let now = clock::now();
    let ended = plan.file.update(|state| {
        if state.ending.is_none()
            && let Ends::Ended(kind, detail) = in_session::ends(state, routed, proof.as_ref())
        {
            state.end(kind, detail, now);
        }
        state.clone()
    });
    if let Some(state) = ended.map_err(bad_state)?
        && let Some(ending) = &state.ending
    {
        let why = format!("{}: {}", ending.kind, ending.detail);
        note(&plan.place.here, &plan.file, &state, ("session run", "ended"), &why);
        let sessions = &plan.place.sessions;
        orchestration::use_up(sessions, &plan.id, &routed.heard).map_err(bad_state)?;
    }
    over(plan, loop_id)
}

/// Runs the criteria, and says what they are worth; none if the person does not want to wait for them.
///
/// A process of its own runs them, which a Ctrl-C can end in the middle of one.
fn proof(
    plan: &OrchestrationRun<'_>,
    interrupts: &Interrupts,
    state: &LoopState,
) -> Result<Option<Proof>> {
    let screen = Many::begin("all");
    let watch = Watch::begin(&[])?;
    let mut crew = Crew::new()?;
    let ralph = std::env::current_exe().context("could not find this executable")?;
    crew.start("criteria", &ralph, &["verify", "--for-driver", "--loop", &state.loop_id], b"")?;
    screen.add("criteria", "criteria", "");
    let mut ends = false;
    while !crew.is_empty() {
        if !ends && interrupts.asked() != InterruptRequest::Nothing {
            ends = true;
            crew.ask(InterruptRequest::End);
        }
        let until = Instant::now() + Duration::from_secs(60);
        for (_, heard) in crew.wait(interrupts, &watch, until)? {
            if let MemberEvent::Line(line) = heard {
                screen.tell(&String::from_utf8_lossy(&line));
            }
        }
    }
    if ends {
        return Ok(None);
    }
    let state = plan.file.read().map_err(bad_state)?.context("the loop is gone")?.state;
    verify::look(&plan.file, &state).map(Some)
}

fn rest(
    plan: &OrchestrationRun<'_>,
    loop_id: &str,
    cause: PauseCause,
    why: &str,
    exit: Exit,
) -> Result<Exit> {
    let now = clock::now();
    let rested = plan.file.update(|state| {
        rules::rest(state, cause, why, now);
        state.clone()
    });
    let Some(state) = rested.map_err(bad_state)? else { return over(plan, loop_id) };
    note(&plan.place.here, &plan.file, &state, ("session run", "paused"), why);
    say_rests(plan, why)?;
    Ok(exit)
}

fn say_rests(plan: &OrchestrationRun<'_>, why: &str) -> Result<()> {
    let id = &plan.id;
    screen::print(&screen::visible_lines(&format!(
        "session {id} rests: {why}; `ralph session run --id {id}` goes on"
    )))
}

/// How the loop has ended, wherever it stands now, and what a person can say next.
fn over(plan: &OrchestrationRun<'_>, loop_id: &str) -> Result<Exit> {
    let exit = build::over(&plan.place.here, loop_id)?;
    let id = &plan.id;
    let kind = build::ending(&plan.place.here, loop_id)?;
    match kind {
        Some(EndingKind::Complete | EndingKind::CompleteUnverified) => {}
        _ => screen::print(&format!("In a terminal: `ralph session run --id {id}` goes on"))?,
    }
    Ok(exit)
}
