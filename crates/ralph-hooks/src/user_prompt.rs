//! `ralph-user-prompt`: starts, continues, pauses and cancels loops as the user types, without a
//! shell or the model.
//!
//! A typed command fires two events, first a prompt and then an expansion; the expansion decides. A
//! plain prompt matters for two reasons: the words `ralph cancel` and `ralph pause` in mid-turn,
//! and the fact that Esc fires no hook, so that only the next prompt reveals it.

use crate::active_loop::{self, Bound, NotFromClient};
use crate::cancel;
use crate::hook_runner::HookCall;
use crate::modes::{self, orchestration};
use crate::{obeyed, signals, typed, unreadable, widening};
use anyhow::Result;
use ralph_core::evidence::pinned;
use ralph_core::modes::mode;
use ralph_core::protocol::event::HookEvent;
use ralph_core::protocol::reply::Reply;
use ralph_core::state::{DrivenTurn, LoopState, Mode, Obeyed, PauseCause, Phase, Registration};
use ralph_core::transcript::cutoff::{self, TypedRequest};
use ralph_core::{text::truncate, views::messages};
use ralph_io::{client, client::transcript, process::clock};
use serde_json::Value;
use std::path::Path;

/// Answers UserPromptSubmit and UserPromptExpansion.
pub fn answer(call: &HookCall) -> Result<Reply> {
    match call.input.hook_event_name {
        HookEvent::UserPromptSubmit => prompt(call),
        HookEvent::UserPromptExpansion => {
            let reply = command(call)?;
            let request =
                TypedRequest::of_command(&call.input.command_name, &call.input.command_args);
            if request.is_none_or(TypedRequest::needs_the_turn) {
                obeyed::remember(call);
            }
            Ok(reply)
        }
        _ => Ok(Reply::silent()),
    }
}

/// Answers a typed slash command, by its name without a plugin's prefix.
fn command(call: &HookCall) -> Result<Reply> {
    let name = call.input.command_name.as_str();
    if cutoff::is_our_command(&format!("/{name}")) {
        let bound = Bound::find(call).ok().flatten();
        if !is_typed(call, bound.as_ref().map(|bound| &bound.state)) {
            return refuse(call, bound.as_ref());
        }
    }
    if let Some(request) = TypedRequest::of_command(name, &call.input.command_args) {
        return show_error(requested(call, request));
    }
    let outcome = match cutoff::without_prefix(name) {
        "ralph-plan" => plan_command(call),
        // A plugin's commands have its prefix. Without it, an alias may belong to another plugin or
        // skill.
        alias if mode::is_alias(alias) && call.via == Registration::Plugin && alias == name => {
            Ok(Reply::silent())
        }
        starts => match mode::of_command(starts) {
            Some(mode) => start_command(call, mode),
            None => Ok(Reply::silent()),
        },
    };
    show_error(outcome)
}

/// Shows an error to the user, who waits for the answer: a failed start must not look like a start.
fn show_error(outcome: Result<Reply>) -> Result<Reply> {
    outcome.or_else(|error| match error.is::<NotFromClient>() {
        true => Err(error),
        false => Ok(answer_user(&format!("{error:#}"))),
    })
}

/// Answers the user in one line, without the model.
fn answer_user(text: &str) -> Reply {
    Reply::keep_from_model(&messages::line(text))
}

/// Carries out a command word: `/ralph-cancel`, `/ralph status` …
fn requested(call: &HookCall, request: TypedRequest) -> Result<Reply> {
    match request {
        TypedRequest::Cancel => cancel_command(call),
        TypedRequest::Pause => pause_command(call),
        TypedRequest::Resume | TypedRequest::Trust | TypedRequest::Share | TypedRequest::Steer => {
            widening::answer(call, request)
        }
        TypedRequest::Status => status_command(call),
        TypedRequest::Accept => accept_command(call),
        TypedRequest::Help => Ok(answer_user(HELP)),
    }
}

const NO_LOOP: &str = "no loop is live in this session; `ralph status` in a terminal lists all";

const HELP: &str = "\n  \
/ralph \"TASK\"    start a loop; --ac \"DESCRIPTION=COMMAND\" adds a criterion, --max-iterations N a limit\n  \
/ralph           continue the loop, or start the planned one\n  \
/ralph status    show the loop of this session\n  \
/ralph accept    accept changed criteria or tests, as the last refusal names them\n  \
/ralph pause     pause after this turn (or type `ralph pause`)\n  \
/ralph cancel    end the loop now (or type `ralph cancel`)\n  \
/ralph steer X   tell the model something while it works; trust, share, resume: as in a terminal\n  \
In a terminal: `ralph --help`, `ralph watch`";

/// Pauses the loop at the end of a turn, where the client runs the command.
fn pause_command(call: &HookCall) -> Result<Reply> {
    let bound = Bound::find(call)?.filter(|bound| bound.state.is_live());
    let Some(bound) = bound else { return Ok(answer_user(NO_LOOP)) };
    if bound.is_outranked(call.via) {
        return Ok(Reply::silent());
    }
    if bound.state.phase == Phase::Paused {
        return Ok(answer_user(&messages::paused(&bound.state)));
    }
    let message = pause(call, &bound, PauseCause::Person, "typed in the session")?;
    Ok(Reply::keep_from_model(&message))
}

/// Accepts what the last request for completion was refused for, as `ralph accept` does.
fn accept_command(call: &HookCall) -> Result<Reply> {
    let bound = Bound::find(call)?.filter(|bound| bound.state.is_live());
    let Some(bound) = bound else { return widening::answer(call, TypedRequest::Accept) };
    if bound.is_outranked(call.via) {
        return Ok(Reply::silent());
    }
    let taken = bound.file.update(|state| pinned::accept(state, clock::now()))?.unwrap_or_default();
    let told = match taken.as_slice() {
        [] => "nothing had changed since it was agreed to".to_owned(),
        taken => format!("accepted: {}", taken.join("; ")),
    };
    bound.note(call, "accepted", &told, Value::Null);
    if bound.state.is_running() {
        return Ok(typed::resume(call)?.tell_also(&messages::line(&told)));
    }
    let next = "/ralph continues; `ralph diff --tests` in a terminal shows the changed tests";
    Ok(answer_user(&format!("{told}\n  {next}")))
}

/// Shows the loop of this session.
fn status_command(call: &HookCall) -> Result<Reply> {
    let bound = Bound::find(call)?.filter(|bound| bound.state.is_live());
    let Some(Bound { state, .. }) = bound else { return Ok(answer_user(NO_LOOP)) };
    let (what, position) = messages::what_and_where(&state);
    let standing = match state.phase {
        Phase::Paused => messages::paused(&state),
        _ => format!("{what} running at {position}, {}", messages::lasted(&state, clock::now())),
    };
    let goal = format!(
        "Goal: {}",
        truncate::bounded(state.prompt.lines().next().unwrap_or_default(), 200)
    );
    let lines = [standing, goal, messages::achieved(&state)];
    let lines: Vec<String> = lines.into_iter().filter(|line| !line.is_empty()).collect();
    Ok(answer_user(&lines.join("\n  ")))
}

/// Whether the user typed this prompt, as far as known: the client says so, or the model has not
/// scheduled it and the client has not just announced it as due.
pub(crate) fn is_typed(call: &HookCall, state: Option<&LoopState>) -> bool {
    if let Some(typed) = call.input.says_typed() {
        return typed;
    }
    let prompt = &call.input.prompt;
    let is_scheduled = state.is_some_and(|state| cutoff::is_scheduled(&state.scheduled, prompt));
    !is_scheduled && !transcript::was_due(Path::new(&call.input.transcript_path), prompt)
}

/// Blocks a prompt that the model has scheduled, and tells the user why.
fn refuse(call: &HookCall, bound: Option<&Bound>) -> Result<Reply> {
    let why = cutoff::scheduled_refusal(&call.input.prompt);
    if let Some(bound) = bound.filter(|bound| !bound.is_outranked(call.via)) {
        bound.note(call, "refused", &why, Value::Null);
    }
    Ok(answer_user(&why))
}

fn start_command(call: &HookCall, mode: Mode) -> Result<Reply> {
    if call.cut {
        anyhow::bail!("what was typed is too long; put it into a file and name the file");
    }
    typed::answer(call, mode)
}

/// Cancels and answers without a model call. If the hook is registered twice, the second copy finds
/// the tombstone with this prompt's id and stays silent.
fn cancel_command(call: &HookCall) -> Result<Reply> {
    let found = match Bound::find(call) {
        // Cancel an unusable loop all the same. If only the permissions were wrong, they are fixed
        // now, so look again.
        Err(error) => match unreadable::cancel(call, error) {
            Ok(reply) => return Ok(reply),
            Err(error) => Bound::find(call).map_err(|_| error)?,
        },
        Ok(found) => found,
    };
    let Some(bound) = found else { return Ok(answer_user(NO_LOOP)) };
    if bound.state.ending.is_some() {
        return Ok(match cancelled_by(&bound.state, &call.input.prompt_id) {
            true => Reply::silent(),
            false => Reply::keep_from_model(&messages::ended(&bound.state)),
        });
    }
    Ok(cancel(call, &bound)?.map_or(Reply::silent(), |message| Reply::keep_from_model(&message)))
}

fn cancelled_by(state: &LoopState, prompt_id: &str) -> bool {
    !prompt_id.is_empty() && state.cancelled_by_prompt.as_deref() == Some(prompt_id)
}

/// Ends the loop. Returns the message for the user, or `None` if another copy of this hook, started
/// by the same prompt at the same moment, was first and reports it.
fn cancel(call: &HookCall, bound: &Bound) -> Result<Option<String>> {
    match cancel::end_typed(call, &bound.file)? {
        Some((state, archived)) => {
            active_loop::note(
                &archived,
                call,
                &state.position(),
                "ended",
                "the user cancelled",
                Value::Null,
            );
            Ok(Some(messages::ended(&state)))
        }
        None => Ok(match Bound::find(call)? {
            Some(now) if cancelled_by(&now.state, &call.input.prompt_id) => None,
            _ => Some(messages::line("the loop had ended before")),
        }),
    }
}

/// The opening words let the skill tell a round from a dialogue, even if the typed arguments are
/// empty.
const PLAN_ROUND: &str = "Ralph plan round. Nobody is there to answer: follow the section \"A plan \
round\" and no other. What stands between the tags is the task graph as it is now; if that is empty, \
nothing is planned yet.";

/// Blocks planning while a loop is live: the dialogue ends with an import, which a live loop
/// refuses.
fn plan_command(call: &HookCall) -> Result<Reply> {
    if client::is_plan_round() {
        return Ok(Reply::context(HookEvent::UserPromptExpansion, PLAN_ROUND));
    }
    let live = Bound::find(call)?.filter(|bound| bound.state.is_live());
    Ok(live.map_or(Reply::silent(), |bound| {
        let position = bound.state.position();
        let why = format!(
            "a loop is live in this session at {position}: end it with /ralph-cancel before you plan another"
        );
        if !bound.is_outranked(call.via) {
            bound.note(call, "refused", &why, Value::Null);
        }
        answer_user(&why)
    }))
}

fn prompt(call: &HookCall) -> Result<Reply> {
    let request = TypedRequest::of_line(&call.input.prompt);
    let is_command = cutoff::is_our_command(&call.input.prompt);
    let found = match Bound::find(call) {
        Err(_) if request == Some(TypedRequest::Cancel) && !is_command => {
            return cancel_command(call);
        }
        found => found?,
    };
    let Some(bound) = found else { return orchestration::prompted_without_a_loop(call) };
    if bound.is_outranked(call.via) || bound.is_driven() {
        return Ok(Reply::silent());
    }
    if bound.state.phase == Phase::Ended {
        return after_the_end(call, &bound);
    }
    if !bound.state.is_live() {
        return Ok(Reply::silent());
    }
    match request {
        // The expansion follows, and ends the loop.
        Some(TypedRequest::Cancel) if is_command => Ok(Reply::silent()),
        Some(_) if !is_command && !is_typed(call, Some(&bound.state)) => refuse(call, Some(&bound)),
        Some(TypedRequest::Cancel) => typed_cancel(call, &bound),
        Some(TypedRequest::Pause) if !is_command => typed_pause(call, &bound),
        _ => match modes::hooks(&bound.state.mode.word()).prompted(call, &bound.state)? {
            Some(reply) => {
                obeyed::remember(call);
                Ok(reply)
            }
            None => other_prompt(call, &bound),
        },
    }
}

/// The tombstone stays for the turn that the loop drove, and for the hook's other copy started by
/// the same prompt. A new prompt no longer needs it.
fn after_the_end(call: &HookCall, bound: &Bound) -> Result<Reply> {
    let same_turn = drives(&bound.state, &call.input.prompt_id);
    if same_turn || cancelled_by(&bound.state, &call.input.prompt_id) {
        return Ok(Reply::silent());
    }
    cancel::acknowledge(call, bound)
}

fn drives(state: &LoopState, prompt_id: &str) -> bool {
    state.turn.as_ref().is_some_and(|turn| turn.prompt_id == prompt_id)
}

/// Answers `ralph cancel`. In mid-turn, the client holds the answer back, and the next tool call
/// cuts the turn. The model never reads the words.
fn typed_cancel(call: &HookCall, bound: &Bound) -> Result<Reply> {
    Ok(cancel(call, bound)?.map_or(Reply::silent(), |message| Reply::keep_from_model(&message)))
}

/// Answers `ralph pause`. In mid-turn, the client holds the answer back, so the next tool call
/// confirms it.
fn typed_pause(call: &HookCall, bound: &Bound) -> Result<Reply> {
    let message = pause(call, bound, PauseCause::Person, "typed in the session")?;
    Ok(Reply::keep_from_model(&message))
}

/// Pauses the loop and marks the user as told. Returns the message for the user.
fn pause(call: &HookCall, bound: &Bound, cause: PauseCause, detail: &str) -> Result<String> {
    let now = clock::now();
    let text = bound.file.update(|state| {
        let (touched, turn) = (state.touched, state.turn.take());
        state.note_event(call.via);
        // This may be the first of a typed command's two events. The second must still be able to
        // recognize a loop that never began.
        state.touched = touched || !cutoff::is_our_command(&call.input.prompt);
        state.pause(cause.clone(), detail, now);
        state.obeyed = obeyed::prompt(call, state).filter(|_| cause == PauseCause::Person);
        // A typed pause does not end the turn: prompts before its stop are still mid-turn.
        state.turn = turn.filter(|_| cause == PauseCause::Person);
        if let Some(pause) = &mut state.pause {
            pause.told = true;
            pause.attended = !call.input.is_task_notification();
        }
        messages::paused(state)
    })?;
    bound.note(call, "paused", &format!("{cause}: {detail}"), Value::Null);
    Ok(messages::line(&text.unwrap_or_default()))
}

/// Answers any other prompt: one of the running turn, one of a background worker, or a new one that
/// reveals that the loop's turn was cut.
fn other_prompt(call: &HookCall, bound: &Bound) -> Result<Reply> {
    let state = &bound.state;
    let prompt_id = &call.input.prompt_id;
    if state.phase == Phase::Paused {
        return tell_of_pause(call, bound);
    }
    if let Some(turn) = state.turn.as_ref().filter(|turn| !turn.typed)
        && turn.prompt_id == *prompt_id
        && !call.input.is_task_notification()
    {
        bound.file.update(|state| {
            if let Some(turn) = &mut state.turn {
                turn.typed = true;
            }
            state.obeyed = obeyed::prompt(call, state).map(without_words);
        })?;
    }
    let heard = || {
        let reply = match call.input.is_task_notification() {
            true => modes::hooks(&state.mode.word()).background_agent_ended(call)?,
            false => Reply::silent(),
        };
        Ok(signals::prepend_signals(call, &bound.file, state, reply))
    };
    if prompt_id.is_empty() || drives(state, prompt_id) {
        return heard();
    }
    match &state.turn {
        Some(turn) if reveals_a_cut(call, state, turn) => {
            let cause = cut_by(call, turn).unwrap_or_else(|| unmarked(state));
            let message =
                pause(call, bound, cause, "a new prompt came in the middle of the loop's turn")?;
            // Our own command reports what happens to the loop.
            Ok(match cutoff::is_our_command(&call.input.prompt) {
                true => Reply::silent(),
                false => Reply::silent().tell(message),
            })
        }
        // The expansion follows with the same prompt id, and must not look answered by then.
        _ if cutoff::is_our_command(&call.input.prompt) => Ok(Reply::silent()),
        _ => {
            // No turn was outstanding, so the loop continues in this turn.
            let mut turn = DrivenTurn::new(prompt_id.clone(), clock::now());
            // The prompt of a round is Ralph's.
            turn.typed = !call.input.is_task_notification() && state.round.is_none();
            turn.transcript_from = transcript::offset_now(Path::new(&call.input.transcript_path));
            bound.file.update(|state| {
                state.note_event(call.via);
                state.obeyed =
                    obeyed::prompt(call, state).map(without_words).filter(|_| turn.typed);
                state.turn = Some(turn);
            })?;
            heard()
        }
    }
}

fn without_words(obeyed: Obeyed) -> Obeyed {
    Obeyed { words: String::new(), ..obeyed }
}

/// True if a prompt shows that the loop's turn was cut. A worker's report alone does not show that,
/// but it must not continue a turn that the user had cut before.
fn reveals_a_cut(call: &HookCall, state: &LoopState, turn: &DrivenTurn) -> bool {
    (!call.input.is_task_notification() && is_typed(call, Some(state)))
        || cut_by(call, turn).is_some_and(|cause| !cause.resumes_by_itself())
}

fn cut_by(call: &HookCall, turn: &DrivenTurn) -> Option<PauseCause> {
    transcript::cut_by(Path::new(&call.input.transcript_path), Some(turn.at))
}

/// The cause of a cut that left no mark. Esc before the first words of a reply leaves none; if the
/// client is still the same process, it did not crash.
fn unmarked(state: &LoopState) -> PauseCause {
    match state.client.is_some() && state.client == client::process() {
        true => PauseCause::Interrupted,
        false => PauseCause::Crashed,
    }
}

/// Tells the user at the next prompt about a pause whose event could not carry a message.
fn tell_of_pause(call: &HookCall, bound: &Bound) -> Result<Reply> {
    let untold = bound.state.pause.as_ref().is_some_and(|pause| !pause.told);
    if !untold || cutoff::is_our_command(&call.input.prompt) {
        return Ok(Reply::silent());
    }
    let text = bound.file.update(|state| {
        if let Some(pause) = &mut state.pause {
            pause.told = true;
        }
        messages::paused(state)
    })?;
    Ok(Reply::silent().tell(messages::line(&text.unwrap_or_default())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook_runner::tests::TestLoop;
    use ralph_core::state::{BuildRound, EndingKind};
    use ralph_io::store::lifecycle;
    use serde_json::json;

    fn started() -> TestLoop {
        let at = TestLoop::started(Mode::Plain, "task");
        at.change(|state| state.obeyed = None);
        at
    }

    fn typed(at: &TestLoop, id: &str, text: &str) -> Result<Reply> {
        answer(&at.call("UserPromptSubmit", json!({"prompt_id": id, "prompt": text})))
    }

    #[test]
    fn the_words_that_cancel_end_a_loop_even_where_its_state_cannot_be_used() {
        for (text, is_ended) in
            [("ralph cancel", true), ("ralph pause", false), ("/ralph-cancel", false)]
        {
            let at = started();
            at.damage();
            assert_eq!(typed(&at, "q", text).is_ok(), is_ended, "{text}");
            assert_eq!(lifecycle::ended(&at.home).len(), usize::from(is_ended), "{text}");
        }
    }

    #[test]
    fn a_typed_line_is_answered_for_the_user_and_the_loop_does_what_it_says() {
        let at = started();
        let silent = Reply::silent();
        assert_eq!(typed(&at, "q", "/ralph-cancel").unwrap(), silent, "the expansion follows");
        at.change(|state| state.phase = Phase::Planned);
        assert_eq!(typed(&at, "q", "ralph pause").unwrap(), silent);
        at.change(|state| {
            state.phase = Phase::Implementation;
            state.scheduled = vec!["ralph pause".to_owned()];
        });
        let refused = answer_user(&cutoff::scheduled_refusal("ralph pause"));
        assert_eq!(typed(&at, "q", "ralph pause").unwrap(), refused);
        assert_eq!(at.noted().decision, "refused");
        at.change(|state| state.scheduled.clear());
        let outranked = at.call("UserPromptSubmit", json!({"prompt": "ralph pause"}));
        let outranked = HookCall { via: Registration::Plugin, ..outranked };
        assert_eq!(answer(&outranked).unwrap(), silent);
        assert_eq!(typed(&at, "p", "/ralph-pause").unwrap(), silent, "the expansion follows");
        assert!(at.state().is_running());
        let paused = typed(&at, "p", "ralph pause").unwrap();
        let state = at.state();
        assert_eq!(paused, answer_user(&messages::paused(&state)));
        let pause = state.pause.clone().unwrap();
        assert_eq!((pause.cause, pause.told, pause.attended), (PauseCause::Person, true, true));
        assert_eq!(pause.detail, "typed in the session");
        assert_eq!(at.noted().why, "person: typed in the session");
        assert!(state.turn.is_some() && state.touched, "its turn goes on");
        assert_eq!(state.obeyed.unwrap().words, "ralph pause");
        let ended = typed(&at, "q", "ralph cancel").unwrap();
        let [(file, state)] = lifecycle::ended(&at.home).try_into().unwrap();
        let state = state.unwrap();
        assert_eq!(ended, Reply::keep_from_model(&messages::ended(&state)));
        assert_eq!(state.ending.unwrap().kind, EndingKind::Cancelled);
        assert_eq!(typed(&at, "q", "ralph cancel").unwrap(), silent, "the other copy answered");
        let lines = ralph_io::store::journal::read(file.folder());
        assert_eq!(lines.last().unwrap().why, "the user cancelled");
    }

    #[test]
    fn of_two_copies_one_tells_of_the_cancel_and_a_later_prompt_is_told_that_it_came_too_late() {
        let at = started();
        let bound = at.bound();
        let by = |prompt: &str| {
            let call = at.call("UserPromptSubmit", json!({"prompt_id": prompt}));
            cancel(&call, &bound).unwrap()
        };
        assert!(by("q").unwrap().contains("cancelled"));
        assert_eq!(by("q"), None);
        assert_eq!(by("r"), Some(messages::line("the loop had ended before")));
    }

    #[test]
    fn a_plugin_leaves_the_short_name_of_a_command_to_others() {
        let at = started();
        at.change(|state| state.end(EndingKind::Failed, "", clock::now()));
        let expanded = |name: &str, via| {
            let event = json!({"command_name": name, "command_args": "", "prompt_id": "q"});
            answer(&HookCall { via, ..at.call("UserPromptExpansion", event) }).unwrap()
        };
        let silent = Reply::silent();
        assert_eq!(expanded("rp", Registration::Plugin), silent);
        for (name, via) in [
            ("rp", Registration::Settings),
            ("ralph:rp", Registration::Plugin),
            ("ralplan", Registration::Plugin),
        ] {
            assert_ne!(expanded(name, via), silent, "{name}");
        }
    }

    #[test]
    fn a_prompt_belongs_to_the_turn_or_reveals_that_it_was_cut_or_begins_the_next() {
        let at = started();
        let turn = |turn: Option<DrivenTurn>| at.change(|state| state.turn = turn);
        let new = |id: &str| Some(DrivenTurn::new(id, clock::now()));
        let now = || {
            let state = at.state();
            let words = state.obeyed.map(|one| one.words);
            (state.turn.map(|turn| (turn.prompt_id, turn.typed)), words)
        };
        let of = |id: &str, typed| Some((id.to_owned(), typed));
        let said = |id: &str, text: &str| {
            at.change(|state| state.obeyed = None);
            typed(&at, id, text).unwrap()
        };
        let (silent, report) = (Reply::silent, "<task-notification>x");
        turn(new("p"));
        assert_eq!((said("p", report), now()), (silent(), (of("p", false), None)));
        assert_eq!((said("p", "more"), now()), (silent(), (of("p", true), Some(String::new()))));
        assert_eq!((said("p", "again"), now()), (silent(), (of("p", true), None)));
        assert_eq!((said("", "no id"), now()), (silent(), (of("p", true), None)));
        assert_eq!((said("q", report), now()), (silent(), (of("q", false), None)));
        turn(None);
        assert_eq!((said("r", "go on"), now()), (silent(), (of("r", true), Some(String::new()))));
        turn(None);
        assert_eq!((said("q", "/ralph"), now()), (silent(), (None, None)), "the expansion decides");
        at.change(|state| state.round = Some(BuildRound::default()));
        assert_eq!((said("q", "round"), now()), (silent(), (of("q", false), None)));
        at.change(|state| state.round = None);
        let told = said("t", "hello");
        let state = at.state();
        assert_eq!(told, silent().tell(messages::line(&messages::paused(&state))));
        assert_eq!((state.turn.clone(), state.obeyed.clone()), (None, None));
        assert_eq!(
            state.pause.clone().unwrap().cause,
            unmarked(&LoopState { client: state.client.clone(), ..LoopState::default() })
        );
        assert_eq!(said("u", "hello"), silent(), "the user knows");
        at.change(|state| state.pause.as_mut().unwrap().told = false);
        assert_eq!(said("u", "/ralph"), silent(), "the command tells of it");
        let line = messages::line(&messages::paused(&at.state()));
        assert_eq!(said("u", "hello"), silent().tell(line));
        assert!(at.state().pause.unwrap().told);
    }

    #[test]
    fn a_cut_that_left_no_mark_is_the_users_if_the_client_still_runs() {
        let of = |client| unmarked(&LoopState { client, ..LoopState::default() });
        assert_eq!(of(None), PauseCause::Crashed);
        assert_eq!(of(Some(ralph_core::state::ClientProcess::gone())), PauseCause::Crashed);
        if let Some(client) = client::process() {
            assert_eq!(of(Some(client)), PauseCause::Interrupted);
        }
    }

    #[test]
    fn a_prompt_reveals_a_cut_if_it_was_typed_or_the_user_had_cut_the_turn() {
        let at = started();
        let (transcript, now) = (at.root().join("transcript.jsonl"), clock::now());
        let reveals = |row: Value, prompt: &str, source: &str| {
            let row = json!({"timestamp": now, "sessionId": "s", "uuid": "u", "parentUuid": "u"})
                .as_object()
                .cloned()
                .into_iter()
                .chain(row.as_object().cloned())
                .flatten()
                .collect::<serde_json::Map<_, _>>();
            std::fs::write(&transcript, format!("{}\n", Value::from(row))).unwrap();
            let about = json!({"prompt": prompt, "source": source, "transcript_path": transcript});
            let turn = DrivenTurn::new("p", now);
            reveals_a_cut(&at.call("UserPromptSubmit", about), &at.state(), &turn)
        };
        let interrupted = json!({"type": "user", "message": {"role": "user",
            "content": [{"type": "text", "text": "[Request interrupted by user]"}]}});
        let failed = json!({"type": "assistant", "isApiErrorMessage": true, "error": "rate_limit"});
        let (report, nothing) = ("<task-notification>x", json!({"type": "other"}));
        assert!(reveals(nothing.clone(), "go on", "user"));
        assert!(!reveals(nothing.clone(), "go on", "cron"));
        assert!(!reveals(nothing, report, "user"));
        assert!(reveals(interrupted.clone(), report, ""));
        assert!(reveals(interrupted, "go on", "cron"));
        assert!(!reveals(failed, report, ""), "the loop continues by itself");
    }

    #[test]
    fn a_prompt_is_known_by_its_id_and_by_its_source() {
        let at = started();
        let cancelled = |by: &str| {
            let by = Some(by.to_owned()).filter(|by| !by.is_empty());
            LoopState { cancelled_by_prompt: by, ..LoopState::default() }
        };
        let by = |by: &str, id: &str| cancelled_by(&cancelled(by), id);
        assert_eq!(
            [by("q", "q"), by("q", "r"), by("", "q"), by("", "")],
            [true, false, false, false]
        );
        let is = |source: &str, scheduled: &[&str]| {
            let scheduled = scheduled.iter().map(|one| (*one).to_owned()).collect();
            let about = json!({"prompt": "go", "source": source});
            let state = LoopState { scheduled, ..LoopState::default() };
            is_typed(&at.call("UserPromptSubmit", about), Some(&state))
        };
        assert_eq!([is("user", &["go"]), is("sdk", &[]), is("cron", &[])], [true, true, false]);
        assert_eq!([is("", &["go"]), is("", &["stop"]), is("", &[])], [false, true, true]);
    }
}
