//! The workers of a loop: whether one may start, and how its report counts.
//!
//! A worker shares the session's id and is seen four times: the call that starts it, that call's
//! answer with the agent's id, its own stop, and its presence or absence at each stop of the
//! session. Any of them may be missing; the last corrects all others.

use crate::active_loop::{self, Bound};
use crate::hook_runner::HookCall;
use crate::stop;
use anyhow::Result;
use ralph_core::modes::mode;
use ralph_core::modes::parallel::report::{self, WorkerVerdict};
use ralph_core::modes::parallel::{self, AgentCall, Grant};
use ralph_core::protocol::event::HookEvent;
use ralph_core::protocol::reply::{GoOnForm, Reply};
use ralph_core::state::{DrivenTurn, LoopState, Worker, WorkerStanding};
use ralph_io::git::worktrees::{self, WorkerTree};
use ralph_io::store::loop_file::LoopFile;
use ralph_io::{client, client::transcript, process::clock};
use serde_json::{Value, json};
use std::path::Path;

pub(crate) fn starts_one(call: &HookCall) -> bool {
    matches!(call.input.tool_name.as_str(), "Agent" | "Task")
}

/// Decides whether an agent may start. The state's lock ensures that simultaneous calls do not
/// exceed the limit.
pub(crate) fn may_start(call: &HookCall, bound: &Bound) -> Result<Reply> {
    // Only the copy that answers records the call; a second copy would count it twice.
    if bound.is_outranked(call.via) {
        return Ok(Reply::silent());
    }
    let (input, client) = (&call.input.tool_input, client::process());
    let asked = AgentCall {
        call: &call.input.tool_use_id,
        kind: input.subagent_type.as_deref().unwrap_or("general-purpose"),
        prompt: input.prompt.as_deref().unwrap_or_default(),
        about: input.description.as_deref().unwrap_or_default(),
        from_worker: call.input.from_subagent(),
        client: client.as_ref(),
    };
    let now = clock::now();
    let granted = bound.file.update(|state| {
        // The loop was paused or ended a moment ago. Other code answers that.
        if !state.is_running() {
            return Grant::Again;
        }
        state.note_event(call.via);
        let granted = mode::of(&state.mode).grant(state, &asked, now);
        if granted == Grant::Granted && !asked.from_worker && state.turn.is_none() {
            // No prompt began this turn, so the call is its first sign.
            state.turn = Some(DrivenTurn::new(call.input.prompt_id.clone(), now));
        }
        granted
    })?;
    let (decision, why, reply) = match granted {
        Some(Grant::Granted) => ("granted", asked.about.to_owned(), Reply::silent()),
        Some(Grant::Refused(why)) => ("denied", why.clone(), Reply::deny(&why)),
        Some(Grant::Again) | None => return Ok(Reply::silent()),
    };
    bound.note(call, decision, &format!("workers: {why}"), active_loop::tool(call));
    Ok(reply)
}

/// Records the answer to a worker's call: it was started, it failed to start, or its foreground
/// work is over.
pub(crate) fn started(call: &HookCall, bound: &Bound) -> Result<()> {
    let id = &call.input.tool_use_id;
    let answer: Value = serde_json::from_slice(&call.raw).unwrap_or_default();
    let answer = &answer["tool_response"];
    let agent = answer["agentId"].as_str().unwrap_or_default();
    let runs = call.input.hook_event_name == HookEvent::PostToolUse
        && answer["status"] == "async_launched";
    bound.file.update(|state| {
        parallel::launched(state, id, agent);
        if !runs {
            parallel::lost(state, |worker| worker.call != *id);
        }
    })?;
    Ok(())
}

/// A worker wants to end. Its tokens count for the loop; the report of one of Ralph's workers is
/// judged.
pub(crate) fn stopped(call: &HookCall, bound: Bound) -> Result<Reply> {
    let is_ours = parallel::is_worker(&call.input.agent_type);
    let task = if is_ours { told_task(call) } else { None };
    let tree = if is_ours { worktree(call, &bound.state) } else { None };
    let (file, mut position) = (bound.file.clone(), String::new());
    let verdict = bound.update(|state| {
        if state.is_running() {
            stop::count(state, &call.input.agent_transcript_path);
        }
        position = state.position();
        let at = place(state, &call.input.agent_id, task.as_deref())?;
        if !is_ours {
            state.workers.remove(at);
            return None;
        }
        // A paused loop sends no worker back, so the report is taken as it is.
        state.workers[at].sent_back |= !state.is_running();
        Some(judge(state, at, call, tree.as_ref()))
    })?;
    let Some(verdict) = verdict.flatten() else { return Ok(Reply::silent()) };
    let (decision, why, reply) = match verdict {
        WorkerVerdict::SendBack(why) => {
            let form = GoOnForm::Block;
            ("report sent back", why.clone(), Reply::go_on(HookEvent::SubagentStop, form, &why))
        }
        WorkerVerdict::Taken(what) => ("report taken", what, Reply::silent()),
    };
    let seen = json!({"agent": call.input.agent_id, "kind": call.input.agent_type});
    active_loop::note(&file, call, &position, decision, &why, seen);
    Ok(reply)
}

/// Finds the worker by the client's id, or by its task if the id is not known yet.
fn place(state: &LoopState, agent: &str, task: Option<&str>) -> Option<usize> {
    let running = |worker: &Worker| worker.is_running();
    let by_id = |worker: &Worker| running(worker) && worker.agent == agent;
    let by_task = |worker: &Worker| {
        running(worker) && worker.agent.is_empty() && task.is_some_and(|task| worker.task == task)
    };
    let workers = &state.workers;
    workers.iter().position(by_id).or_else(|| workers.iter().position(by_task))
}

/// The task in the prompt that started the worker.
fn told_task(call: &HookCall) -> Option<String> {
    let prompt = transcript::first_prompt(Path::new(&call.input.agent_transcript_path))?;
    parallel::task_of(&prompt).map(str::to_owned)
}

/// The worker's worktree. `None` if git cannot tell; then only the report counts.
fn worktree(call: &HookCall, state: &LoopState) -> Option<WorkerTree> {
    worktrees::around(Path::new(&call.input.cwd), Path::new(&state.project_root)).ok().flatten()
}

fn judge(
    state: &mut LoopState,
    at: usize,
    call: &HookCall,
    tree: Option<&WorkerTree>,
) -> WorkerVerdict {
    let worker = &mut state.workers[at];
    worker.agent.clone_from(&call.input.agent_id);
    let top = tree.map(|tree| tree.top.to_string_lossy().into_owned()).unwrap_or_default();
    if let Some(tree) = tree {
        worker.worktree.clone_from(&top);
        worker.branch.clone_from(&tree.branch);
        worker.base.clone_from(&tree.base);
    }
    let message = call.input.last_assistant_message.as_deref().unwrap_or_default();
    report::judge(state, at, message, tree.map(|tree| tree.files.as_slice()), &top)
}

/// Closes the workers that the client no longer lists at a stop of the session.
pub(crate) fn lost(call: &HookCall, state: &mut LoopState) -> Vec<String> {
    if state.workers.is_empty() {
        return Vec::new();
    }
    let there = || call.input.subagents();
    parallel::lost(state, |worker| match worker.agent.as_str() {
        // The id was never reported, so the session's description has to match.
        "" => there().any(|task| task.description == worker.about),
        agent => there().any(|task| task.id == agent),
    })
}

/// True if the loop started this subagent, by the loop's records. A subagent that the user started
/// after the loop's end does not belong to it.
pub(crate) fn is_of_loop(call: &HookCall, file: &LoopFile) -> bool {
    let Ok(Some(loaded)) = file.read() else { return true };
    let workers = &loaded.state.workers;
    let is_it = |worker: &Worker| worker.agent.is_empty() || worker.agent == call.input.agent_id;
    workers.is_empty() || workers.iter().any(is_it)
}

/// Records the end of a worker whose loop is over.
pub(crate) fn is_gone(call: &HookCall, file: &LoopFile) -> Result<()> {
    let Some(loaded) = file.read()? else { return Ok(()) };
    if place(&loaded.state, &call.input.agent_id, None).is_some() {
        file.update(|state| {
            if let Some(at) = place(state, &call.input.agent_id, None) {
                state.workers[at].standing = WorkerStanding::Lost;
            }
        })?;
    }
    Ok(())
}

/// True if workers of an ended loop may still be running and have yet to be told.
pub(crate) fn may_be_there(call: &HookCall, file: &LoopFile) -> bool {
    match call.input.hook_event_name {
        // The event itself lists what runs.
        HookEvent::Stop => call.input.subagents().next().is_some(),
        HookEvent::SessionEnd => false,
        // The stop that follows will show it.
        HookEvent::UserPromptSubmit if call.input.is_task_notification() => true,
        _ => file.read().is_ok_and(|loaded| {
            loaded.is_some_and(|loaded| loaded.state.workers.iter().any(Worker::is_running))
        }),
    }
}

/// The text that continues the turn, with the messages about lost workers in front.
pub(crate) fn before(gone: &[String], says: String) -> String {
    match gone {
        [] => says,
        gone => format!("{}\n{says}", gone.join("\n")),
    }
}
