//! After an agent's call or end, and when the conversation wants to end its turn: what was achieved,
//! and what comes next.

use crate::active_loop::Bound;
use crate::hook_runner::HookCall;
use crate::modes::orchestration::routing::{Writes, route_calls};
use crate::modes::orchestration::{artefact, routing};
use crate::stop;
use anyhow::Result;
use jiff::Timestamp;
use ralph_core::modes::orchestration::agents::AgentRole;
use ralph_core::modes::orchestration::in_session::next_step_text;
use ralph_core::modes::orchestration::invocation::CallKey;
use ralph_core::modes::orchestration::recovery::CallEnd;
use ralph_core::protocol::event::HookEvent;
use ralph_core::protocol::reply::Reply;
use ralph_core::state::{LoopState, OrchestrationCall, OrchestrationState};
use ralph_core::stop::{Routed, RouterStep};
use ralph_io::client::transcript;
use ralph_io::process::clock;
use ralph_io::store::plan_files;
use serde_json::{Value, json};
use std::path::Path;

/// Answers the end of an agent's call.
pub(super) fn after_an_agent(call: &HookCall) -> Result<Reply> {
    let Some(bound) = running_loop(call)? else { return Ok(Reply::silent()) };
    if call.input.from_subagent() || bound.is_driven() {
        return Ok(Reply::silent());
    }
    let event: Value = serde_json::from_slice(&call.raw).unwrap_or_default();
    let answer = &event["tool_response"];
    let id = &call.input.tool_use_id;
    // The agent is still working, and the files it writes decide what comes next.
    if call.input.hook_event_name == HookEvent::PostToolUse && answer["status"] == "async_launched"
    {
        let agent = answer["agentId"].as_str().unwrap_or_default().to_owned();
        bound.file.update(|state| {
            let calls = state.orchestration_mut().map(|session| &mut session.calls);
            if let Some(made) = calls.and_then(|calls| calls.iter_mut().find(|one| one.call == *id))
            {
                made.agent = agent;
            }
        })?;
        return Ok(Reply::silent());
    }
    over(call, &bound, |one| one.call == *id)?;
    next(call, &bound)
}

/// The orchestration's state after its router has chosen the first step.
///
/// # Errors
/// When the state or the orchestration's files cannot be read or written.
pub(super) fn first_look(call: &HookCall) -> Result<LoopState> {
    let Some(bound) = Bound::find(call)? else { anyhow::bail!("the orchestration is gone") };
    let now = clock::now();
    let looked = bound.file.update(|state| -> Result<LoopState> {
        let looked = route_calls(&call.home, state, now, Writes::ForCalls)?;
        if let (Some(session), Some(looked)) = (state.orchestration_mut(), looked)
            && looked.calls.is_empty()
        {
            session.given.clear();
            session.says = "end your turn; Ralph then names the next step".to_owned();
        }
        Ok(state.clone())
    })?;
    looked.transpose()?.ok_or_else(|| anyhow::anyhow!("the orchestration is gone"))
}

/// Answers the end of a background agent. The client wakes the conversation, which is told what
/// comes next.
pub(super) fn woken(call: &HookCall) -> Result<Reply> {
    match running_loop(call)? {
        Some(bound) => next(call, &bound),
        None => Ok(Reply::silent()),
    }
}

/// An agent of the orchestration wants to end. Its files show what it achieved.
pub(super) fn reported(call: &HookCall, bound: &Bound) -> Result<Reply> {
    if plan_files::is_gone(&bound.state) {
        return Ok(Reply::silent());
    }
    bound.file.update(|state| {
        state.note_event(call.via);
        stop::count(state, &call.input.agent_transcript_path);
    })?;
    let at = bound.state.orchestration().and_then(|session| {
        artefact::place(call, session).map(|at| session.calls[at].call.clone())
    });
    if let Some(id) = at {
        over(call, bound, |one| one.call == id)?;
    }
    Ok(Reply::silent())
}

/// The running orchestration, if this copy of the hook is the one that answers.
fn running_loop(call: &HookCall) -> Result<Option<Bound>> {
    let bound = Bound::find(call)?;
    Ok(bound.filter(|bound| {
        bound.state.is_running()
            && !bound.is_outranked(call.via)
            && !plan_files::is_gone(&bound.state)
    }))
}

/// Closes the matching calls and records their outcome.
fn over(call: &HookCall, bound: &Bound, which: impl Fn(&OrchestrationCall) -> bool) -> Result<()> {
    let now = clock::now();
    let ends = bound.file.update(|state| routing::ended(&call.home, state, &which, now))?;
    note_ends(call, bound, &ends.transpose()?.unwrap_or_default());
    Ok(())
}

pub(super) fn note_ends(call: &HookCall, bound: &Bound, ends: &[(CallKey, CallEnd)]) {
    for (key, how) in ends {
        let what = match how {
            CallEnd::Met => "completed its call",
            CallEnd::Failed => "ended without completing its call",
        };
        let about = if key.task.is_empty() { String::new() } else { format!(" {}", key.task) };
        let why = format!("{} {}{about} {what}", key.mode.agent(), key.mode);
        bound.note(call, "agent ended", &why, json!({"agent": call.input.agent_id}));
    }
}

/// The next calls, if any. An end or a pause of the orchestration is announced at its stop.
fn next(call: &HookCall, bound: &Bound) -> Result<Reply> {
    let now: Timestamp = clock::now();
    let said = bound.file.update(|state| -> Result<String> {
        let Some(looked) = route_calls(&call.home, state, now, Writes::ForCalls)? else {
            return Ok(String::new());
        };
        Ok(match looked.routed.due {
            RouterStep::Call => next_step_text(state),
            RouterStep::Wait => String::new(),
            _ => "Next: end your turn; the orchestration is paused or over.".to_owned(),
        })
    })?;
    let said = said.transpose()?.unwrap_or_default();
    Ok(match said.is_empty() {
        true => Reply::silent(),
        false => Reply::context(call.input.hook_event_name, &said),
    })
}

// The conversation of an orchestration wants to end its turn.

/// Decides by the router's answer.
pub(super) fn stopped(call: &HookCall, bound: Bound) -> Result<Reply> {
    let (sessions, id) = routing::sessions(&call.home, &bound.state)?;
    let Some((bound, routed)) = routed(call, bound)? else { return Ok(Reply::silent()) };
    let heard = match &routed {
        Some(routed) if !matches!(routed.due, RouterStep::Call | RouterStep::Wait) => {
            routed.heard.clone()
        }
        _ => Vec::new(),
    };
    let (reply, goes_on) = stop::at_stop(call, bound, routed)?;
    if !goes_on {
        routing::use_up(&sessions, &id, &heard)?;
    }
    Ok(reply)
}

/// The router's answer and the loop after it. The answer is `None` if the stop is decided without
/// the router, and the result is `None` if the loop is gone.
fn routed(call: &HookCall, bound: Bound) -> Result<Option<(Bound, Option<Routed>)>> {
    if plan_files::is_gone(&bound.state) {
        return Ok(Some((bound, None)));
    }
    let Some(mut bound) = without_ended_calls(call, bound)? else { return Ok(None) };
    let now = clock::now();
    let waits = call.input.subagents().next().is_some()
        || transcript::command_waits(
            Path::new(&call.input.transcript_path),
            stop::turn_from(&bound.state),
            &bound.state.scheduled,
        );
    let writes = match waits || bound.state.blocked.is_some() {
        true => Writes::ForCalls,
        false => Writes::Always,
    };
    let is_idle = bound.state.orchestration().is_some_and(|session| session.calls.is_empty());
    let looked = if is_idle {
        // No agent can change the state meanwhile, so no lock is needed before the decision.
        route_calls(&call.home, &mut bound.state, now, writes)?
    } else {
        let changed = bound.change(|state| route_calls(&call.home, state, now, writes))?;
        let Some((changed, looked)) = changed else { return Ok(None) };
        bound = changed;
        looked?
    };
    Ok(Some((bound, looked.map(|looked| looked.routed))))
}

/// Records the end of each call whose agent the client no longer knows. Returns `None` if the loop
/// is gone.
fn without_ended_calls(call: &HookCall, bound: Bound) -> Result<Option<Bound>> {
    let Some(session) = bound.state.orchestration().cloned() else { return Ok(Some(bound)) };
    let is_over = |one: &OrchestrationCall| !is_at_work(call, &session, one);
    if !session.calls.iter().any(is_over) {
        return Ok(Some(bound));
    }
    let now = clock::now();
    let changed = bound.change(|state| routing::ended(&call.home, state, is_over, now))?;
    let Some((bound, ends)) = changed else { return Ok(None) };
    note_ends(call, &bound, &ends?);
    Ok(Some(bound))
}

/// True if the client still knows this call's agent: by its id, else as one of the same kind that
/// no other call has.
fn is_at_work(call: &HookCall, session: &OrchestrationState, one: &OrchestrationCall) -> bool {
    let mut tasks = call.input.subagents();
    if !one.agent.is_empty() {
        return tasks.any(|task| task.id == one.agent);
    }
    let is_anothers = |id: &str| session.calls.iter().any(|other| other.agent == id);
    tasks.any(|task| {
        AgentRole::from_agent_type(&task.agent_type) == one.agent() && !is_anothers(&task.id)
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Orchestrated;
    use super::*;
    use crate::hook_runner::HookCall;
    use ralph_core::modes::orchestration::signal::SignalKeyword;
    use ralph_core::modes::orchestration::state::State;
    use ralph_core::state::{Blocked, PauseCause, Registration};

    fn stop(of: &Orchestrated, tasks: Value) -> HookCall {
        of.at.call("Stop", json!({"prompt_id": "p", "background_tasks": tasks}))
    }

    fn subagent(id: &str, kind: &str) -> Value {
        json!({"id": id, "type": "subagent", "agent_type": kind})
    }

    #[test]
    fn a_running_orchestration_whose_folder_is_there_is_for_the_copy_that_answers() {
        let of = Orchestrated::begun();
        let is_ours = |via| {
            let call = HookCall { via, ..of.at.call("PostToolUse", json!({})) };
            running_loop(&call).unwrap().is_some()
        };
        assert!(is_ours(Registration::Settings));
        assert!(!is_ours(Registration::Plugin));
        of.at.change(|state| state.pause(PauseCause::Person, "", clock::now()));
        assert!(!is_ours(Registration::Settings));
        of.at.change(|state| state.resume(clock::now()));
        assert!(is_ours(Registration::Settings));
        std::fs::remove_dir_all(of.path("")).unwrap();
        assert!(!is_ours(Registration::Settings));
    }

    #[test]
    fn the_answer_to_a_call_tells_the_conversation_what_comes_next() {
        let answered = |of: &Orchestrated, event: &str, agent: &str, status: &str| {
            let response = json!({"status": status, "agentId": "a"});
            let about = json!({"tool_use_id": "0", "agent_id": agent, "tool_response": response});
            after_an_agent(&of.at.call(event, about)).unwrap()
        };
        let of = Orchestrated::planned(&["task-1"]);
        of.make_due_calls();
        let (used, failed) = ("PostToolUse", "PostToolUseFailure");
        assert_eq!(answered(&of, used, "other", "async_launched"), Reply::silent());
        assert_eq!(answered(&of, used, "other", "completed"), Reply::silent());
        let agent = |of: &Orchestrated| of.session().calls[0].agent.clone();
        assert_eq!(agent(&of), "", "an agent's own call is nothing of ours");
        assert_eq!(answered(&of, used, "", "async_launched"), Reply::silent());
        assert_eq!(agent(&of), "a");
        of.edit("progress.md", "[ ] task-1", "[P] task-1");
        of.write("reports/task-1-report.md", "---\ntask_id: task-1\niteration: 1\n---\n");
        let reply = answered(&of, used, "", "completed");
        assert_eq!(of.session().calls, []);
        assert_eq!(of.session().given[0].mode, "TASK_REVIEW");
        assert_eq!(reply, Reply::context(HookEvent::PostToolUse, &next_step_text(&of.at.state())));
        assert_eq!(of.at.noted().why, "Ralph-v2-Executor EXECUTE task-1 completed its call");
        let of = Orchestrated::begun();
        of.make_due_calls();
        let reply = answered(&of, failed, "", "async_launched");
        assert_eq!(
            reply,
            Reply::context(HookEvent::PostToolUseFailure, &next_step_text(&of.at.state()))
        );
        assert_eq!(of.session().calls, []);
        let noted = of.at.noted();
        let why = "Ralph-v2-Planner INITIALIZE ended without completing its call";
        assert_eq!((noted.decision.as_str(), noted.why.as_str()), ("agent ended", why));
    }

    #[test]
    fn what_comes_next_is_a_call_or_nothing_or_the_end_of_the_turn() {
        let next = |of: &Orchestrated| {
            let call = of.at.call("UserPromptSubmit", json!({}));
            assert_eq!(next(&call, &of.at.bound()).unwrap(), woken(&call).unwrap());
            woken(&call).unwrap()
        };
        let said = |text: &str| Reply::context(HookEvent::UserPromptSubmit, text);
        let of = Orchestrated::planned(&["task-1"]);
        assert_eq!(next(&of), said(&next_step_text(&of.at.state())));
        of.make_due_calls();
        assert_eq!(next(&of), Reply::silent(), "it waits");
        let ends = "Next: end your turn; the orchestration is paused or over.";
        assert_eq!(next(&Orchestrated::finished()), said(ends));
    }

    #[test]
    fn an_agents_end_closes_its_own_call() {
        let of = Orchestrated::planned(&["task-1", "task-2"]);
        of.make_due_calls();
        of.at.change(|state| {
            for one in &mut state.orchestration_mut().unwrap().calls {
                one.agent = format!("a{}", one.call);
            }
        });
        let ends = |agent: &str| {
            let about = json!({"agent_id": agent, "agent_type": "Ralph-v2-Executor"});
            let reply = reported(&of.at.call("SubagentStop", about), &of.at.bound()).unwrap();
            assert_eq!(reply, Reply::silent());
            of.session().calls.into_iter().map(|one| one.call).collect::<Vec<_>>()
        };
        assert_eq!(ends("stranger"), ["0", "1"]);
        of.edit("progress.md", "[ ] task-2", "[P] task-2");
        assert_eq!(ends("a1"), ["0"]);
        let noted = of.at.noted();
        assert_eq!(noted.why, "Ralph-v2-Executor EXECUTE task-2 completed its call");
        assert_eq!(noted.seen, json!({"agent": "a1"}));
        let bound = of.at.bound();
        std::fs::remove_dir_all(of.path("")).unwrap();
        let call = of.at.call("SubagentStop", json!({"agent_id": "a0"}));
        assert_eq!(reported(&call, &bound).unwrap(), Reply::silent());
        assert_eq!(of.session().calls.len(), 1);
    }

    #[test]
    fn an_agent_is_at_work_while_the_client_lists_it_or_one_of_its_kind_that_no_other_call_has() {
        let of = Orchestrated::planned(&["task-1", "task-2"]);
        of.make_due_calls();
        let at_work = |agents: [&str; 2], tasks: Value| {
            let mut session = of.session();
            for (one, agent) in session.calls.iter_mut().zip(agents) {
                agent.clone_into(&mut one.agent);
            }
            let call = stop(&of, tasks);
            let all: Vec<bool> =
                session.calls.iter().map(|one| is_at_work(&call, &session, one)).collect();
            all
        };
        let executor = |id: &str| subagent(id, "Ralph-v2-Executor");
        assert_eq!(at_work(["a", "b"], json!([executor("b")])), [false, true]);
        assert_eq!(at_work(["", "b"], json!([executor("b")])), [false, true]);
        assert_eq!(at_work(["", "b"], json!([executor("c")])), [true, false]);
        assert_eq!(at_work(["", ""], json!([subagent("c", "Ralph-v2-Reviewer")])), [false, false]);
        assert_eq!(
            at_work(["", ""], json!([subagent("c", "ralph:Ralph-v2-Executor")])),
            [true, true]
        );
        assert_eq!(at_work(["a", ""], json!([])), [false, false]);
    }

    #[test]
    fn a_stop_at_which_something_waits_writes_nothing_but_calls() {
        let state_after = |tasks: Value, is_blocked: bool| {
            let of = Orchestrated::finished();
            if is_blocked {
                of.at.change(|state| state.blocked = Some(Blocked::default()));
            }
            let (_, routed) = routed(&stop(&of, tasks), of.at.bound()).unwrap().unwrap();
            assert_eq!(routed.unwrap().due, RouterStep::Complete);
            of.seen().record.metadata.unwrap().state
        };
        assert_eq!(state_after(json!([]), false), Some(State::Complete));
        assert_eq!(state_after(json!([]), true), Some(State::SessionReview));
        assert_eq!(
            state_after(json!([subagent("a", "Explore")]), false),
            Some(State::SessionReview)
        );
        assert_eq!(state_after(json!([{"type": "shell"}]), false), Some(State::Complete));
        let gone = Orchestrated::begun();
        std::fs::remove_dir_all(gone.path("")).unwrap();
        let (_, routed) = routed(&stop(&gone, json!([])), gone.at.bound()).unwrap().unwrap();
        assert_eq!(routed, None);
    }

    #[test]
    fn a_stop_closes_the_calls_of_agents_that_are_gone_and_routes_by_what_is_left() {
        let of = Orchestrated::planned(&["task-1", "task-2"]);
        of.make_due_calls();
        let executor = |id: &str| subagent(id, "Ralph-v2-Executor");
        of.at.change(|state| state.orchestration_mut().unwrap().calls[1].agent = "b".to_owned());
        let routed_with = |tasks: Value| {
            let (bound, routed) = routed(&stop(&of, tasks), of.at.bound()).unwrap().unwrap();
            assert_eq!(bound.state.orchestration(), of.at.state().orchestration());
            (routed.unwrap().due, of.session().calls.len())
        };
        let both = json!([executor("a"), executor("b")]);
        assert_eq!(routed_with(both), (RouterStep::Wait, 2));
        assert_eq!(of.at.journal(), []);
        assert_eq!(routed_with(json!([executor("b")])).1, 1);
        let why = "Ralph-v2-Executor EXECUTE task-1 ended without completing its call";
        assert_eq!(of.at.noted().why, why);
    }

    #[test]
    fn a_signal_is_used_up_by_the_pause_or_the_end_that_it_asks_for() {
        let left = |word: SignalKeyword, iteration: u32| {
            let of = Orchestrated::begun();
            of.write("plan.md", "Goal: a door\n");
            of.signal(word);
            of.at.change(|state| state.iteration = iteration);
            stopped(&stop(&of, json!([])), of.at.bound()).unwrap();
            of.seen().signals.len()
        };
        assert_eq!([left(SignalKeyword::Pause, 0), left(SignalKeyword::Stop, 0)], [0, 0]);
        assert_eq!(left(SignalKeyword::Steer, 0), 1, "no agent was told yet");
    }

    #[test]
    fn what_a_call_would_have_carried_is_kept_for_the_next_when_a_limit_ends_the_loop_first() {
        let of = Orchestrated::planned(&["task-1"]);
        of.signal(SignalKeyword::Steer);
        of.at.change(|state| state.iteration = state.max_iterations);
        let (_, routed) = routed(&stop(&of, json!([])), of.at.bound()).unwrap().unwrap();
        let routed = routed.unwrap();
        assert_eq!((routed.due, routed.heard.len()), (RouterStep::Call, 1));
        stopped(&stop(&of, json!([])), of.at.bound()).unwrap();
        assert!(!of.at.file.path().exists(), "it has ended");
        assert_eq!(of.seen().signals.len(), 1);
    }

    #[test]
    fn the_first_step_is_a_call_or_is_left_to_the_first_stop() {
        let of = Orchestrated::begun();
        let state = first_look(&of.at.call("UserPromptExpansion", json!({}))).unwrap();
        assert_eq!(state.orchestration().unwrap().given.len(), 1);
        assert_eq!(state.mode, of.at.state().mode);
        let of = Orchestrated::finished();
        of.at.change(|state| {
            state.orchestration_mut().unwrap().given = vec![OrchestrationCall::default()];
        });
        let state = first_look(&of.at.call("UserPromptExpansion", json!({}))).unwrap();
        let session = state.orchestration().unwrap();
        let says = "end your turn; Ralph then names the next step";
        assert_eq!((session.given.len(), session.says.as_str()), (0, says));
    }
}
