//! `ralph-stop-hook`: decides whether the turn may end and whether the loop is over.
//!
//! Gathers the rules' input (the tree's fingerprint only if they need it), lets `ralph_core::stop`
//! decide under the state's lock, and carries out the verdict.

use crate::active_loop::{self, Bound, JournalLine};
use crate::cancel;
use crate::delegate::{self, CheckRequest, Request};
use crate::hook_runner::HookCall;
use crate::{modes, signals, workers};
use anyhow::Result;
use ralph_core::evidence::receipt::Proof;
use ralph_core::modes::mode;
use ralph_core::protocol::event::{HookEvent, Input};
use ralph_core::protocol::reply::{GoOnForm, Reply};
use ralph_core::state::{AWAITS_DECISION, ClientProcess, LoopError, LoopState, PauseCause, Phase};
use ralph_core::stop::progress;
use ralph_core::stop::{self, NextStep, Routed, StopDecision, StopInputs, StopVerdict};
use ralph_core::text::token;
use ralph_core::{modes::ralplan as planning, text::truncate, transcript::cutoff, views::messages};
use ralph_io::store::lifecycle::{self, ManifestFate};
use ralph_io::store::loop_file::LoopFile;
use ralph_io::store::mailbox::Mailbox;
use ralph_io::{
    client, client::transcript, git::tree, process::clock, store::checks, store::lock,
    store::plan_files,
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The client kills the SessionEnd hooks after 1.5 seconds. A hook that waits longer for a lock
/// could not even report it.
const AT_THE_END: Duration = Duration::from_secs(1);

/// The client's reasons for the end of a session that the user left at the keyboard.
const LEFT_BY_USER: [&str; 3] = ["prompt_input_exit", "logout", "resume"];

/// Answers Stop, StopFailure, SessionEnd and SubagentStop. SubagentStop belongs to a worker, not to
/// the loop.
pub fn answer(call: &HookCall) -> Result<Reply> {
    let event = call.input.hook_event_name;
    let interesting = match event {
        HookEvent::Stop | HookEvent::StopFailure | HookEvent::SessionEnd => {
            !call.input.from_subagent()
        }
        HookEvent::SubagentStop => call.input.from_subagent(),
        _ => false,
    };
    if !interesting {
        return Ok(Reply::silent());
    }
    let Some(bound) = Bound::find(call)? else { return Ok(Reply::silent()) };
    // Check this first: the copy that answers may have ended the loop a moment ago.
    if bound.is_outranked(call.via) {
        return Ok(Reply::silent());
    }
    if event == HookEvent::SubagentStop {
        return match bound.state.is_live() {
            true => modes::hooks(&bound.state.mode.word()).subagent_stopped(call, bound),
            false => workers::is_gone(call, &bound.file).map(|()| Reply::silent()),
        };
    }
    if bound.is_driven() {
        return Ok(Reply::silent());
    }
    if bound.state.phase == Phase::Ended {
        return cancel::acknowledge(call, &bound);
    }
    if event == HookEvent::Stop
        && let Some(reply) = cancel::typed_within_the_turn(call, &bound)?
    {
        return Ok(reply);
    }
    match event {
        HookEvent::Stop => modes::hooks(&bound.state.mode.word()).stopped(call, bound),
        HookEvent::StopFailure => at_failure(call, &bound),
        _ => at_session_end(call, &bound),
    }
}

/// Decides about a turn that wants to end. Also returns whether the loop still runs afterwards.
/// `routed` is the answer of an orchestration's router.
pub(crate) fn at_stop(
    call: &HookCall,
    mut bound: Bound,
    routed: Option<Routed>,
) -> Result<(Reply, bool)> {
    // Taken before the transcript is searched: the next turn searches what comes after.
    let transcript_from = transcript::offset_now(Path::new(&call.input.transcript_path));
    let seen = gather(call, &mut bound, routed);
    let looked = bound.state.orchestration().cloned();
    let (file, warning) = (bound.file.clone(), bound.warning.clone());
    let mailbox = Mailbox::for_loop(&file, &bound.state);
    let decided = bound.update(|state| {
        state.note_event(call.via);
        remember(&mut state.scheduled, call);
        if state.client.is_none() {
            // A loop started from a terminal is bound before a client is known.
            state.client = client::process();
        }
        let lacking = missing(state, &call.input);
        let mut gone = Vec::new();
        if state.is_running() {
            count(state, &call.input.transcript_path);
            gone = workers::lost(call, state);
        }
        // Receipts of the criteria may have been written since the router was asked, so copy only
        // the router's fields.
        if let (Some(session), Some(looked)) = (state.orchestration_mut(), looked)
            && session.calls == looked.calls
        {
            (session.given, session.says) = (looked.given, looked.says);
        }
        let decision = stop::decide(mode::at_stop(state), state, &seen);
        if decision.verdict == StopVerdict::GoOn {
            state.details_due = workers::before(&gone, std::mem::take(&mut state.details_due));
            if let Some(turn) = &mut state.turn {
                turn.transcript_from = transcript_from;
            }
        }
        Decided {
            decision,
            gone,
            lacking,
            untold: tell_of_pause(state),
            log: planning::to_tell(state),
            position: state.position(),
            is_orchestration: state.orchestration().is_some(),
            goes_on: state.is_running(),
            mailbox,
            ended: state.ending.is_some().then(|| Box::new(state.clone())),
        }
    })?;
    let Some(mut decided) = decided else { return Ok((Reply::silent(), false)) };
    if let Some(state) = &mut decided.ended
        && stop::wants_last_run(mode::at_stop(state), state, &seen)
    {
        run_for_the_ending(&file, state);
    }
    note(call, &file, &decided);
    let reply = carry_out(call, &file, &decided)?;
    // The model reads this if the loop continues; otherwise the user does.
    let untold = decided.decision.verdict != StopVerdict::GoOn && !decided.gone.is_empty();
    let of_workers = untold.then(|| decided.gone.join("\n"));
    let reply = match decided.untold.or(warning).or(of_workers) {
        Some(message) => reply.tell(messages::line(&message)),
        None => reply,
    };
    let reply = reply.tell_also(&decided.log);
    Ok((reply.tell_also(&decided.lacking.unwrap_or_default()), decided.goes_on))
}

/// What was decided at a stop, and the parts of the state needed to carry it out. The state may be
/// large, and is copied only when the loop is over.
struct Decided {
    decision: StopDecision,
    /// Messages about tasks whose workers are gone.
    gone: Vec<String>,
    /// What the client no longer tells, if the user does not know it yet.
    lacking: Option<String>,
    position: String,
    /// True in an orchestration, whose router reads the conversation's messages.
    is_orchestration: bool,
    /// True while the loop runs.
    goes_on: bool,
    mailbox: Mailbox,
    untold: Option<String>,
    /// Log lines of a planning run that the user has not seen.
    log: String,
    ended: Option<Box<LoopState>>,
}

/// The input of the rules.
fn gather(call: &HookCall, bound: &mut Bound, routed: Option<Routed>) -> StopInputs {
    let root = project_root(call, &bound.state);
    // Git takes the longest part of a stop, so it runs while the rest is gathered.
    let status = begin_fingerprint(&root, &bound.state);
    if bound.state.is_running() {
        // Now, beside git: a message of a megabyte takes a while.
        call.digest();
        // Under the lock, only rows that came meanwhile are left to count.
        count(&mut bound.state, &call.input.transcript_path);
    }
    let state = &bound.state;
    let transcript = Path::new(&call.input.transcript_path);
    let message = call.input.last_assistant_message.as_deref().unwrap_or_default();
    let mut of_the_model = state.scheduled.clone();
    remember(&mut of_the_model, call);
    let mut seen = StopInputs {
        now: clock::now(),
        prompt_id: call.input.prompt_id.clone(),
        request: token::request(message, &state.completion_token),
        workers: workers(call),
        command_waits: state.is_running()
            && transcript::command_waits(transcript, turn_from(state), &of_the_model),
        steer_waits: state.is_running() && Mailbox::for_loop(&bound.file, state).steer_waits(),
        document_gone: state.is_running() && plan_files::is_gone(state),
        session: routed,
        worked: worked(state, transcript),
        ..StopInputs::default()
    };
    seen.tree = finish(status);
    if stop::wants_proof(mode::at_stop(state), state, &seen) {
        prove(bound, &root, &mut seen);
    }
    seen
}

/// Where in the transcript the turn began.
pub(crate) fn turn_from(state: &LoopState) -> u64 {
    state.turn.as_ref().map_or(0, |turn| turn.transcript_from)
}

/// Runs the checks, which may take minutes and may change the tree.
fn prove(bound: &Bound, root: &Path, seen: &mut StopInputs) {
    let proof = delegate::prove(&bound.file, Request::Completion, delegate::TO_PROVE)
        .unwrap_or_else(|error| Proof { problem: format!("{error:#}"), ..Proof::default() });
    if proof.ran {
        seen.work_before_checks = Some(progress::print_of_work(&bound.state, seen.now));
        seen.tree_after_checks = finish(begin_fingerprint(root, &bound.state));
        seen.now = clock::now();
    }
    seen.proof = Some(proof);
}

/// Runs the criteria once for an ending that they did not decide, so that it states which of them
/// hold. Whatever goes wrong, the loop has ended.
fn run_for_the_ending(file: &LoopFile, state: &mut LoopState) {
    let _ = delegate::prove(file, Request::FirstRun, delegate::TO_PROVE);
    if let Ok(Some(loaded)) = file.read() {
        *state = loaded.state;
    }
}

/// Remembers the prompts that the client lists as scheduled.
fn remember(known: &mut Vec<String>, call: &HookCall) {
    cutoff::remember(known, call.input.session_crons.iter().map(String::as_str));
}

fn workers(call: &HookCall) -> Vec<String> {
    let running = call.input.subagents();
    running.map(|task| format!("{} ({})", task.description, task.agent_type)).collect()
}

/// Whether the turn called a tool, as seen by a hook or shown by the transcript.
fn worked(state: &LoopState, transcript: &Path) -> Option<bool> {
    let turn = state.turn.as_ref()?;
    if turn.worked {
        return Some(true);
    }
    let can_tell = state.is_running() && transcript.is_file();
    can_tell.then(|| transcript::worked_since(transcript, turn.at))
}

/// Counts the tokens of a transcript. If it cannot be read now, a later count catches up.
pub(crate) fn count(state: &mut LoopState, transcript: &str) {
    let since = state.started_at.unwrap_or(state.created_at);
    let _ = transcript::count(Path::new(transcript), since, &mut state.usage);
}

/// The folder in which the loop was started; the conversation's shell may have moved to another
/// one.
fn project_root(call: &HookCall, state: &LoopState) -> PathBuf {
    match state.project_root.as_str() {
        "" => call.root(),
        root => root.into(),
    }
}

/// Starts to fingerprint the project if the decision will need it.
fn begin_fingerprint(root: &Path, state: &LoopState) -> Option<tree::Pending> {
    stop::wants_tree(mode::at_stop(state), state)
        .then(|| tree::begin(root, state.plan_file.as_ref()).ok())
        .flatten()
}

/// A git that fails or hangs proves nothing, and certainly not a stall.
fn finish(status: Option<tree::Pending>) -> Option<String> {
    status.and_then(|status| status.finish().ok())
}

/// Reports, once in a loop, the fields that the client's event lacks, and keeps that among the loop's
/// errors. Nothing is guessed in their place.
fn missing(state: &mut LoopState, input: &Input) -> Option<String> {
    let fields = input.missing();
    if fields.is_empty() || !state.is_live() {
        return None;
    }
    let message = messages::fields_missing(&fields);
    let is_known = state.errors.iter().any(|error| error.message == message);
    if is_known {
        return None;
    }
    state.errors.push(LoopError { at: clock::now(), message: message.clone() });
    Some(messages::line(&message))
}

/// The pause that the user has not been told of yet.
fn tell_of_pause(state: &mut LoopState) -> Option<String> {
    let text = messages::paused(state);
    let pause = state.pause.as_mut().filter(|pause| !pause.told)?;
    pause.told = true;
    Some(text)
}

fn note(call: &HookCall, file: &LoopFile, decided: &Decided) {
    let verdict = decided.decision.verdict.describe();
    let (decision, why) = match &decided.decision.verdict {
        StopVerdict::LetGo(why) => ("let go", why.describe().to_owned()),
        StopVerdict::Ended(kind) => ("ended", format!("{kind}: {}", detail(decided))),
        StopVerdict::GoOn => {
            let NextStep { line, details } = &decided.decision.step;
            (verdict.as_str(), format!("{line}\n{details}"))
        }
    };
    let seen = call.input.last_assistant_message.as_deref().map_or(Value::Null, message);
    let said = JournalLine { position: &decided.position, decision, why: &why, seen };
    active_loop::keep(file, call, said, Some(&decided.decision.record));
}

/// A short message is kept word for word, so that its completion request can be parsed again.
fn message(message: &str) -> Value {
    const KEPT: usize = 400;
    match message.chars().nth(KEPT) {
        None => json!({"message": message}),
        Some(_) => json!({"message": truncate::tail(message, KEPT), "cut": true}),
    }
}

fn detail(decided: &Decided) -> &str {
    let ending = decided.ended.as_ref().and_then(|state| state.ending.as_ref());
    ending.map_or("", |ending| &ending.detail)
}

fn carry_out(call: &HookCall, file: &LoopFile, decided: &Decided) -> Result<Reply> {
    match (&decided.decision.verdict, &decided.ended) {
        (StopVerdict::GoOn, _) => {
            let form = GoOnForm::for_client(&client::ai_agent());
            add_late_checks(file)?;
            let reply = Reply::go_on(HookEvent::Stop, form, &decided.decision.step.line);
            let position = decided.position.clone();
            if decided.is_orchestration {
                return Ok(reply);
            }
            Ok(signals::lead_from(call, &decided.mailbox, position, reply))
        }
        (StopVerdict::Ended(_), Some(state)) => {
            let away = lifecycle::put_away(&call.home, file, state, ManifestFate::Remove)?;
            let undelivered = Mailbox::for_loop(&away.file, state.as_ref()).undelivered();
            let told = || messages::ended(state) + &messages::undelivered(undelivered);
            Ok(if away.freed { Reply::silent().tell(told()) } else { Reply::silent() })
        }
        (StopVerdict::LetGo(_) | StopVerdict::Ended(_), _) => Ok(Reply::silent()),
    }
}

/// Adds the results of checks that were too slow to answer the model's edits to the details.
fn add_late_checks(file: &LoopFile) -> Result<()> {
    if !checks::has_later(file.folder()) && !checks::has_found(file.folder()) {
        return Ok(());
    }
    let found = delegate::check(CheckRequest::Late(file))
        .unwrap_or_else(|error| format!("Ralph could not run the slow checks: {error:#}"));
    if !found.trim().is_empty() {
        file.update(|state| {
            state.details_due = format!("{}\n\n{}", state.details_due, found.trim());
        })?;
    }
    Ok(())
}

/// An API error ended the turn. Ralph does not retry; it pauses the loop until the user continues
/// it.
fn at_failure(call: &HookCall, bound: &Bound) -> Result<Reply> {
    let cause = cutoff::api_error(&call.input.error);
    let message = call.input.last_assistant_message.as_deref().unwrap_or_default();
    let detail = format!(
        "the turn ended by an API error ({}): {}",
        call.input.error,
        truncate::tail(message, 300)
    );
    pause_loop(call, bound, lock::DEADLINE, cause, &detail)
}

/// The session is over. If the loop still runs, the transcript shows how its turn was cut.
fn at_session_end(call: &HookCall, bound: &Bound) -> Result<Reply> {
    if bound.state.round.is_some() {
        // Each round is a session of its own; `ralph build` sees and reports its end.
        return Ok(Reply::silent());
    }
    let since = bound.state.turn.as_ref().map(|turn| turn.at);
    let cause = match call.input.reason.as_str() {
        "clear" => PauseCause::Cleared,
        _ => transcript::cut_by(Path::new(&call.input.transcript_path), since)
            .unwrap_or(PauseCause::Crashed),
    };
    let detail = format!("the session ended ({})", call.input.reason);
    pause_loop(call, bound, AT_THE_END, cause, &detail)
}

fn pause_loop(
    call: &HookCall,
    bound: &Bound,
    patience: Duration,
    cause: PauseCause,
    detail: &str,
) -> Result<Reply> {
    let now = clock::now();
    let rested = bound.file.update_within(patience, |state| {
        state.pause(cause.clone(), detail, now);
        if let (PauseCause::Cleared, Some(pause)) = (&cause, &mut state.pause) {
            // Overrides an earlier cause: the conversation is gone, and the next session in the
            // same process finds the loop by this one.
            pause.cause = PauseCause::Cleared;
            pause.at = now;
            state.client = client::process();
        } else if call.input.hook_event_name == HookEvent::SessionEnd {
            state.client = Some(ClientProcess::gone());
        }
        if let Some(pause) = &mut state.pause {
            pause.attended |= LEFT_BY_USER.contains(&call.input.reason.as_str());
        }
        let why = match state.awaits_decision() {
            true => AWAITS_DECISION.to_owned(),
            false => format!("{cause}: {detail}"),
        };
        (state.position(), why)
    })?;
    if let Some((position, why)) = rested {
        active_loop::note(&bound.file, call, &position, "paused", &why, Value::Null);
    }
    Ok(Reply::silent())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook_runner::tests::TestLoop;
    use ralph_core::state::{Mode, Pause};

    #[test]
    fn a_loop_without_a_folder_of_its_own_works_where_the_session_does() {
        let at = TestLoop::started(Mode::Plain, "task");
        let call = at.call("Stop", json!({}));
        let of = |root: &str| LoopState { project_root: root.to_owned(), ..LoopState::default() };
        assert_eq!(project_root(&call, &of("/p")), Path::new("/p"));
        assert_eq!(project_root(&call, &of("")), client::project_dir().unwrap_or(at.root()));
    }

    #[test]
    fn the_tokens_of_a_transcript_are_counted_since_the_loop_began() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        let row = |time: &str, id: &str| {
            let usage = json!({"input_tokens": 60, "output_tokens": 40});
            json!({"type": "assistant", "timestamp": time, "message": {"id": id, "usage": usage}})
        };
        let rows = [row("2026-01-31T12:00:00Z", "a"), row("2026-01-31T14:00:00Z", "b")];
        std::fs::write(&path, rows.map(|row| format!("{row}\n")).concat()).unwrap();
        let began = "2026-01-31T13:00:00Z".parse().unwrap();
        let mut state = LoopState { started_at: Some(began), ..LoopState::default() };
        count(&mut state, path.to_str().unwrap());
        assert_eq!(state.usage.total(), 100);
    }

    #[test]
    fn the_end_of_a_session_or_of_its_turn_by_an_error_pauses_the_loop_with_its_cause() {
        let us = Some(client::this_process());
        let gone = Some(ClientProcess::gone());
        let rested = |event: &str, more: Value, before: Option<PauseCause>| {
            let at = TestLoop::started(Mode::Plain, "task");
            at.change(|state| {
                state.client.clone_from(&us);
                if let Some(cause) = before {
                    state.pause(cause, "before", state.created_at);
                }
            });
            let (call, bound) = (at.call(event, more), at.bound());
            let reply = match event {
                "SessionEnd" => at_session_end(&call, &bound),
                _ => at_failure(&call, &bound),
            };
            assert_eq!(reply.unwrap(), Reply::silent());
            let state = at.state();
            let Pause { cause, detail, attended, .. } = state.pause.unwrap();
            (cause, detail, attended, state.client, at.noted().why)
        };
        let ends = |reason: &str| json!({"reason": reason});
        let said = |cause: PauseCause, detail: &str, attended, client: &Option<ClientProcess>| {
            let why = format!("{cause}: {detail}");
            (cause, detail.to_owned(), attended, client.clone(), why)
        };
        assert_eq!(
            rested("SessionEnd", ends("other"), None),
            said(PauseCause::Crashed, "the session ended (other)", false, &gone)
        );
        for reason in LEFT_BY_USER {
            assert_eq!(
                rested("SessionEnd", ends(reason), None),
                said(PauseCause::Crashed, &format!("the session ended ({reason})"), true, &gone)
            );
        }
        let cleared = "the session ended (clear)";
        assert_eq!(
            rested("SessionEnd", ends("clear"), None),
            said(PauseCause::Cleared, cleared, false, &client::process())
        );
        let (cause, detail, _, client, why) =
            rested("SessionEnd", ends("clear"), Some(PauseCause::Person));
        assert_eq!((cause, detail.as_str()), (PauseCause::Cleared, "before"));
        assert_eq!((client, why), (client::process(), format!("cleared: {cleared}")));
        let failed = json!({"error": "rate_limit", "last_assistant_message": "half"});
        assert_eq!(
            rested("StopFailure", failed, None),
            said(
                PauseCause::RateLimited,
                "the turn ended by an API error (rate_limit): half",
                false,
                &us
            )
        );
    }

    #[test]
    fn the_end_of_a_rounds_session_is_the_drivers_to_judge() {
        let at = TestLoop::started(Mode::Plain, "task");
        at.change(|state| state.round = Some(ralph_core::state::BuildRound::default()));
        let call = at.call("SessionEnd", json!({"reason": "other"}));
        assert_eq!(at_session_end(&call, &at.bound()).unwrap(), Reply::silent());
        assert!(at.state().is_running());
    }

    #[test]
    fn a_short_message_is_kept_and_of_a_long_one_the_end() {
        let (short, long) = ("x".repeat(400), format!("begin{}", "y".repeat(396)));
        assert_eq!(message(&short), json!({"message": short}));
        let kept = message(&long);
        assert_eq!(kept, json!({"message": truncate::tail(&long, 400), "cut": true}));
        assert!(!kept["message"].as_str().unwrap().contains("begin"));
    }

    #[test]
    fn what_the_client_lacks_and_a_pause_are_told_once() {
        let input = |event: &str| Input {
            hook_event_name: serde_json::from_value(json!(event)).unwrap(),
            prompt_id: "p".to_owned(),
            transcript_path: "/t".to_owned(),
            ..Input::default()
        };
        let live = LoopState { phase: Phase::Implementation, ..LoopState::default() };
        let told = messages::fields_missing(&["background_tasks"]);
        let mut state = live.clone();
        assert_eq!(missing(&mut state, &input("StopFailure")), None);
        assert_eq!(missing(&mut LoopState::default(), &input("Stop")), None, "it is not live");
        assert_eq!(missing(&mut state, &input("Stop")), Some(messages::line(&told)));
        assert_eq!(missing(&mut state, &input("Stop")), None);
        let errors: Vec<&str> = state.errors.iter().map(|error| error.message.as_str()).collect();
        assert_eq!(errors, [told.as_str()]);
        assert_eq!(tell_of_pause(&mut state), None);
        state.pause(PauseCause::Person, "typed", clock::now());
        let told = messages::paused(&state);
        assert_eq!(tell_of_pause(&mut state), Some(told));
        assert_eq!(tell_of_pause(&mut state), None);
    }
}
