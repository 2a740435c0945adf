//! What each hook and command does with the rules, in the order in which the executables do it.
//!
//! Mirrored: `ralph-hooks/src/{bound,stop,user_prompt,begin,cancel,pre_tool_use,backpressure,
//! session_context}.rs` and `ralph/src/cli/{pause,resume,cancel}.rs`. A function here has the name
//! that it has there; what is written down, shown or stored is left out.

use super::client::{Typed, process, prompt_id, session_id};
use super::{Answer, FOREIGN, World};
use jiff::Timestamp;
use ralph_core::evidence::pinned;
use ralph_core::guard::{self, Caller, LoopActivity, ProtectedPaths, Ruling, Situation};
use ralph_core::modes::arguments::{LoopRequest, Options};
use ralph_core::modes::mode;
use ralph_core::modes::start::{self, Facts, StartDecision};
use ralph_core::project::settings::Settings;
use ralph_core::protocol::event::ToolInput;
use ralph_core::state::{
    ClientProcess as Process, DrivenTurn, EndingKind, LoopState, PauseCause, Phase, Registration,
    StartedBy,
};
use ralph_core::stop::{self, StopInputs, StopVerdict};
use ralph_core::text::token;
use ralph_core::transcript::cutoff;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

/// A hook that was started: by which session and registration, and the loop as it found it.
#[derive(Clone)]
pub(super) struct Call {
    session: u8,
    pub(super) via: Registration,
    prompt: u8,
    found: Option<LoopState>,
}

impl Call {
    /// Finds the loop, as `Bound::find` does.
    pub(super) fn find(world: &World, session: u8, via: Registration, prompt: u8) -> Call {
        let leads = session == FOREIGN || world.entries[usize::from(session)];
        let found = world.looped.clone().filter(|one| leads && one.is_of(&session_id(session)));
        Call { session, via, prompt, found }
    }

    /// The loop, unless there is none or another copy answers for it.
    fn unless_outranked(&self) -> Option<&LoopState> {
        self.found.as_ref().filter(|found| !found.outranks(self.via))
    }

    fn drives(&self, state: &LoopState) -> bool {
        state.turn.as_ref().is_some_and(|turn| turn.prompt_id == prompt_id(self.prompt))
    }
}

fn update<T>(world: &mut World, change: impl FnOnce(&mut LoopState) -> T) -> Option<T> {
    let before = world.looped.as_ref().and_then(|one| one.turn.clone());
    let done = world.looped.as_mut().map(change);
    let after = world.looped.as_ref().and_then(|one| one.turn.clone());
    if after.is_some() && after != before {
        // Marks that are older than the turn say nothing of it.
        world.client.mark = None;
    }
    done
}

// --- ralph-stop-hook ---------------------------------------------------------------------------

pub(super) fn at_stop(world: &mut World, call: &Call, message: Option<&str>) -> Answer {
    let Some(found) = call.unless_outranked() else { return Answer::Silent };
    if found.phase == Phase::Ended {
        return acknowledge(world);
    }
    let client = &world.client;
    let seen = StopInputs {
        now: NOW,
        prompt_id: prompt_id(call.prompt),
        request: message.map_or(token::CompletionRequest::None, |text| {
            token::request(text, &found.completion_token)
        }),
        workers: if client.worker { vec!["worker".to_owned()] } else { Vec::new() },
        command_waits: found.is_running() && client.queued.is_some(),
        steer_waits: false,
        document_gone: false,
        session: None,
        worked: None,
        tree: None,
        proof: None,
        work_before_checks: None,
        tree_after_checks: None,
    };
    let via = call.via;
    let verdict = update(world, |state| {
        state.note_event(via);
        stop::decide(mode::at_stop(state), state, &seen).verdict
    });
    match verdict {
        Some(StopVerdict::GoOn) => Answer::GoOn,
        Some(StopVerdict::Ended(_)) => {
            put_away(world, false);
            Answer::Silent
        }
        _ => Answer::Silent,
    }
}

pub(super) fn at_failure(world: &mut World, call: &Call, error: &str) -> Answer {
    let Some(found) = call.unless_outranked() else { return Answer::Silent };
    if found.phase == Phase::Ended {
        return acknowledge(world);
    }
    rest(world, cutoff::api_error(error), false)
}

pub(super) fn at_session_end(world: &mut World, call: &Call, reason: &str) -> Answer {
    let Some(found) = call.unless_outranked() else { return Answer::Silent };
    if found.phase == Phase::Ended {
        return acknowledge(world);
    }
    let cause = match reason {
        "clear" => PauseCause::Cleared,
        _ => world.client.mark.clone().unwrap_or(PauseCause::Crashed),
    };
    rest(world, cause, true)
}

fn rest(world: &mut World, cause: PauseCause, is_end: bool) -> Answer {
    let own = world.client.process.map(process);
    update(world, |state| {
        state.pause(cause.clone(), "", NOW);
        if let (PauseCause::Cleared, Some(pause)) = (&cause, &mut state.pause) {
            pause.cause = PauseCause::Cleared;
            state.client = own;
        } else if is_end {
            state.client = Some(Process::gone());
        }
    });
    Answer::Silent
}

// --- ralph-user-prompt -------------------------------------------------------------------------

pub(super) fn prompt(world: &mut World, call: &Call, typed: Typed) -> Answer {
    let Some(found) = call.unless_outranked() else { return Answer::Silent };
    if found.phase == Phase::Ended {
        let same_turn = call.drives(found);
        if same_turn || cancelled_by(found, call.prompt) {
            return Answer::Silent;
        }
        return acknowledge(world);
    }
    if !found.is_live() {
        return Answer::Silent;
    }
    match typed.text().trim() {
        "ralph cancel" => {
            cancel(world, call);
            Answer::Block
        }
        "ralph pause" => {
            pause(world, call, typed, PauseCause::Person);
            Answer::Block
        }
        _ => other_prompt(world, call, found, typed),
    }
}

fn other_prompt(world: &mut World, call: &Call, found: &LoopState, typed: Typed) -> Answer {
    if found.phase == Phase::Paused || call.drives(found) {
        return Answer::Silent;
    }
    let ours = cutoff::is_our_command(typed.text());
    match &found.turn {
        Some(_) if typed != Typed::Report || is_persons(world.client.mark.as_ref()) => {
            let same = found.client.is_some() && found.client == world.client.process.map(process);
            let unmarked = if same { PauseCause::Interrupted } else { PauseCause::Crashed };
            let cause = world.client.mark.clone().unwrap_or(unmarked);
            pause(world, call, typed, cause);
        }
        _ if ours => {}
        _ => {
            let turn = DrivenTurn::new(prompt_id(call.prompt), NOW);
            update(world, |state| {
                state.note_event(call.via);
                state.turn = Some(turn);
            });
        }
    }
    Answer::Silent
}

fn is_persons(mark: Option<&PauseCause>) -> bool {
    mark.is_some_and(|cause| !cause.resumes_by_itself())
}

fn pause(world: &mut World, call: &Call, typed: Typed, cause: PauseCause) {
    update(world, |state| {
        let (touched, turn) = (state.touched, state.turn.take());
        state.note_event(call.via);
        state.touched = touched || !cutoff::is_our_command(typed.text());
        state.pause(cause.clone(), "", NOW);
        state.turn = turn.filter(|_| cause == PauseCause::Person);
    });
}

fn cancelled_by(state: &LoopState, prompt: u8) -> bool {
    state.cancelled_by_prompt.as_deref() == Some(&prompt_id(prompt))
}

fn cancel(world: &mut World, call: &Call) {
    update(world, |state| state.cancelled_by_prompt = Some(prompt_id(call.prompt)));
    end_loop(world, false);
}

/// As `cancel::end_loop`.
pub(super) fn end_loop(world: &mut World, let_finish: bool) {
    let ended = update(world, |state| {
        if state.ending.is_some() {
            return false;
        }
        state.end(EndingKind::Cancelled, "by a person", NOW);
        state.let_finish = let_finish;
        true
    });
    if ended == Some(true) {
        put_away(world, true);
    }
}

/// A typed slash command, at its expansion.
pub(super) fn command(world: &mut World, call: &Call, typed: Typed) -> Answer {
    match typed {
        Typed::RalphCancel => match &call.found {
            None => Answer::Block,
            Some(found) if found.ending.is_some() => {
                if cancelled_by(found, call.prompt) {
                    Answer::Silent
                } else {
                    Answer::Block
                }
            }
            Some(_) => {
                cancel(world, call);
                Answer::Block
            }
        },
        Typed::Task => begin(world, call.session, Some(call), Some("do it")),
        Typed::Ralph => begin(world, call.session, Some(call), None),
        _ => Answer::Silent,
    }
}

// --- begin.rs: the lock makes one start wait for the other, so each looks anew -------------------

/// `call` is none for `ralph start` given by the skill.
pub(super) fn begin(
    world: &mut World,
    session: u8,
    call: Option<&Call>,
    task: Option<&str>,
) -> Answer {
    let id = session_id(session);
    let entry = world.entries[usize::from(session)];
    let bound = world.looped.clone().filter(|_| entry);
    if bound.as_ref().is_some_and(|one| one.is_live() && one.session_id != id) {
        return Answer::Block;
    }
    let bound = bound.filter(|one| one.session_id == id);
    let prompt = call.map_or(String::new(), |call| prompt_id(call.prompt));
    let request = LoopRequest { task: task.map(str::to_owned), ..LoopRequest::default() };
    let project = world.looped.clone();
    let seen =
        start::StartInputs { bound: bound.as_ref(), project: project.as_ref(), prompt_id: &prompt };
    let via = call.map(|call| call.via);
    match start::decide(&request, seen) {
        StartDecision::Answered => {
            update(world, |state| state.via = state.via.max(via));
            Answer::Silent
        }
        StartDecision::Refuse(_) => Answer::Block,
        StartDecision::New(task) => create(world, session, &prompt, via, &task),
        StartDecision::Replace(task) => {
            update(world, |state| state.end(EndingKind::Cancelled, "replaced", NOW));
            put_away(world, false);
            create(world, session, &prompt, via, &task)
        }
        StartDecision::Planned | StartDecision::Continue => {
            update(world, |state| {
                state.resume(NOW);
                run(state, session, &prompt, via);
            });
            own_process(world);
            world.entries[usize::from(session)] = true;
            world.noted.rests = false;
            world.noted.cut = false;
            Answer::Contract
        }
    }
}

fn create(
    world: &mut World,
    session: u8,
    prompt: &str,
    via: Option<Registration>,
    task: &str,
) -> Answer {
    let mut state = new_loop(task, call_kind(via), world.bound);
    pinned::freeze(&mut state, NOW);
    run(&mut state, session, prompt, via);
    replace_by(world, state);
    world.entries[usize::from(session)] = true;
    own_process(world);
    world.client.mark = None;
    Answer::Contract
}

fn call_kind(via: Option<Registration>) -> StartedBy {
    if via.is_some() { StartedBy::Person } else { StartedBy::Model }
}

/// A loop that is only planned, as `ralph start` makes it in a terminal.
pub(super) fn plan(world: &mut World) {
    replace_by(world, new_loop("planned", StartedBy::Person, world.bound));
}

/// The loop before is not explored any further: it has ended, or was never begun.
fn replace_by(world: &mut World, state: LoopState) {
    world.looped = Some(state);
    world.away = false;
    world.entries = [false; 3];
    world.noted = super::Noted::default();
}

fn new_loop(task: &str, started_by: StartedBy, bound: u32) -> LoopState {
    let options = Options { max_iterations: Some(bound), ..Options::default() };
    let facts =
        Facts { now: NOW, project_root: "/p".to_owned(), discovered: Vec::new(), started_by };
    start::new_loop(task, &options, |state| Settings::default().apply(state), facts)
}

fn run(state: &mut LoopState, session: u8, prompt: &str, via: Option<Registration>) {
    state.session_id = session_id(session);
    state.started_at.get_or_insert(NOW);
    if state.phase == Phase::Planned {
        state.phase = state.resume_phase.take().unwrap_or(Phase::Implementation);
    }
    state.via = via;
    state.turn = match prompt {
        "" => None,
        id => Some(DrivenTurn::new(id, NOW)),
    };
}

fn own_process(world: &mut World) {
    let own = world.client.process.map(process);
    update(world, |state| state.client = own);
}

// --- ralph-pre-tool-use, ralph-backpressure ------------------------------------------------------

pub(super) fn before_tool(
    world: &mut World,
    call: &Call,
    tool: &str,
    input: &ToolInput,
    subagent: bool,
) -> Answer {
    let Some(found) = &call.found else { return Answer::Silent };
    let standing = match found.phase {
        Phase::Ended => return cut_turn(world, call, found, subagent),
        Phase::Implementation | Phase::Verification => LoopActivity::Running,
        Phase::Paused => LoopActivity::Paused,
        Phase::Planned | Phase::Other(_) => return Answer::Silent,
    };
    let id = session_id(call.session);
    let situation = Situation {
        standing,
        agent: if subagent { Caller::Subagent("worker") } else { Caller::Main },
        session_id: &id,
        places: &ProtectedPaths::default(),
        ralplan: None,
        session: None,
    };
    let call = guard::ToolCall { tool, input, cwd: "/p", resolved: None, cut: false };
    match guard::decide(&situation, &call) {
        Ruling::Allow => Answer::Silent,
        Ruling::Deny { .. } => Answer::Deny,
    }
}

fn cut_turn(world: &mut World, call: &Call, found: &LoopState, subagent: bool) -> Answer {
    let cancelled = found.ending.as_ref().is_some_and(|end| end.kind == EndingKind::Cancelled);
    let cuts = cancelled && !found.let_finish && (call.drives(found) || subagent);
    if (!subagent || !cuts) && world.away {
        forget(world, call.session);
    }
    if cuts { Answer::Cut } else { Answer::Silent }
}

fn forget(world: &mut World, session: u8) {
    if let Some(entry) = world.entries.get_mut(usize::from(session)) {
        *entry = false;
    }
}

pub(super) fn after_tool(world: &mut World, call: &Call, subagent: bool) -> Answer {
    let Some(found) = &call.found else { return Answer::Silent };
    let works = !subagent && !found.turn.as_ref().is_some_and(|turn| turn.worked);
    if found.is_running() && (found.via < Some(call.via) || works) {
        update(world, |state| {
            if state.is_running() && !subagent {
                let id = prompt_id(call.prompt);
                state.turn.get_or_insert_with(|| DrivenTurn::new(id, NOW)).worked = true;
            }
            state.note_event(call.via);
        });
    }
    Answer::Silent
}

// --- ralph-session-context -----------------------------------------------------------------------

pub(super) fn after_resume(world: &mut World, call: &Call) -> Answer {
    if !call.found.as_ref().is_some_and(LoopState::is_live) {
        return Answer::Silent;
    }
    let own = world.client.process.map(process);
    let mark = call.found.as_ref().and_then(|found| found.turn.as_ref());
    let mark = mark.and_then(|_| world.client.mark.clone());
    let running = update(world, |state| {
        let is_first = own.is_none() || state.client != own;
        if is_first {
            state.via = None;
            state.client = own.clone();
        }
        state.note_event(call.via);
        if !is_first {
            return false;
        }
        if let Some(cause) = mark.filter(|cause| !cause.resumes_by_itself()) {
            state.pause(cause, "", NOW);
        }
        state.turn = None;
        if state.pause.as_ref().is_some_and(|pause| pause.cause.resumes_by_itself()) {
            state.resume(NOW);
        }
        state.is_running()
    });
    if running == Some(true) { Answer::Contract } else { Answer::Silent }
}

pub(super) fn after_clear(world: &mut World, call: &Call) -> Answer {
    let own = world.client.process.map(process);
    let id = session_id(call.session);
    let cleared = |state: &LoopState| {
        state.client == own
            && own.is_some()
            && state.pause.as_ref().is_some_and(|pause| pause.cause == PauseCause::Cleared)
            && state.session_id != id
    };
    if world.away || !world.looped.as_ref().is_some_and(cleared) {
        return Answer::Silent;
    }
    world.entries = [false; 3];
    world.entries[usize::from(call.session)] = true;
    update(world, |state| state.session_id = id);
    Answer::Silent
}

// --- a terminal, and what becomes of a loop ------------------------------------------------------

pub(super) fn pause_in_terminal(world: &mut World) {
    update(world, |state| state.pause(PauseCause::Person, "on the command line", NOW));
}

pub(super) fn resume_in_terminal(world: &mut World) {
    update(world, |state| {
        let was_running = state.is_running();
        state.resume(NOW);
        if !was_running {
            state.turn = None;
        }
    });
}

fn put_away(world: &mut World, tombstone: bool) {
    world.away = true;
    let id = world.looped.as_ref().map(|one| one.session_id.clone()).unwrap_or_default();
    for session in 0..3 {
        if session_id(session) == id {
            world.entries[usize::from(session)] = tombstone;
        }
    }
}

fn acknowledge(world: &mut World) -> Answer {
    put_away(world, false);
    Answer::Silent
}
