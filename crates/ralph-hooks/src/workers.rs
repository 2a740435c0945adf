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
        let granted = mode::rules(&state.mode).grant(state, &asked, now);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook_runner::tests::TestLoop;
    use ralph_core::state::{Mode, PauseCause, Registration};
    use ralph_io::process::clock;

    fn worker(call: &str, agent: &str, task: &str) -> Worker {
        Worker {
            call: call.to_owned(),
            agent: agent.to_owned(),
            task: task.to_owned(),
            about: format!("about {call}"),
            ..Worker::default()
        }
    }

    /// A loop with these workers.
    fn at_work(workers: &[Worker]) -> TestLoop {
        let at = TestLoop::started(Mode::Plain, "task");
        at.change(|state| state.workers = workers.to_vec());
        at
    }

    fn calls(at: &TestLoop) -> Vec<(String, String, WorkerStanding)> {
        let workers = at.state().workers.into_iter();
        workers.map(|one| (one.call, one.agent, one.standing)).collect()
    }

    #[test]
    fn a_worker_is_found_by_its_id_or_else_by_its_task_while_it_runs() {
        let done = Worker { standing: WorkerStanding::Done, ..worker("1", "a", "T-1") };
        let gone = Worker { standing: WorkerStanding::Lost, ..worker("2", "", "T-2") };
        let workers = vec![
            done,
            gone,
            worker("3", "", "T-3"),
            worker("4", "b", "T-2"),
            worker("5", "a", "T-5"),
            worker("6", "", ""),
        ];
        let state = LoopState { workers, ..LoopState::default() };
        for (agent, task, expected) in [
            ("a", None, Some(4)),
            ("b", Some("T-3"), Some(3)),
            ("c", Some("T-3"), Some(2)),
            ("c", Some("T-2"), None),
            ("c", Some("T-1"), None),
            ("c", Some("T-5"), None),
            ("c", Some(""), Some(5)),
            ("c", None, None),
        ] {
            assert_eq!(place(&state, agent, task), expected, "{agent} {task:?}");
        }
    }

    #[test]
    fn an_agent_starts_if_the_loop_grants_it_and_only_the_copy_that_answers_decides() {
        let at = at_work(&[]);
        at.change(|state| (state.limits.max_workers, state.turn) = (1, None));
        let asked = |id: &str, more: Value, via| {
            let mut event = json!({"tool_name": "Agent", "tool_use_id": id, "prompt_id": "q",
                "tool_input": {"prompt": "look", "description": format!("about {id}")}});
            event.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
            let call = HookCall { via, ..at.call("PreToolUse", event) };
            may_start(&call, &at.bound()).unwrap()
        };
        let settings = Registration::Settings;
        let main = || json!({});
        assert_eq!(asked("1", main(), Registration::Plugin), Reply::silent());
        assert_eq!(calls(&at), []);
        assert_eq!(asked("1", main(), settings), Reply::silent());
        let one = [("1".to_owned(), String::new(), WorkerStanding::Running)];
        assert_eq!(calls(&at), one);
        assert_eq!(at.state().workers[0].kind, "general-purpose");
        let turn = at.state().turn.unwrap();
        assert_eq!((turn.prompt_id.as_str(), turn.typed), ("q", false));
        let noted = at.noted();
        assert_eq!((noted.decision.as_str(), noted.why.as_str()), ("granted", "workers: about 1"));
        let why = "1 of at most 1 worker is at work (about 1). End your turn and wait: you are woken \
                   when one ends, and waiting costs nothing. Then start the next.";
        assert_eq!(asked("2", main(), settings), Reply::deny(why));
        let noted = at.noted();
        assert_eq!((noted.decision.as_str(), noted.why), ("denied", format!("workers: {why}")));
        assert_eq!(asked("1", main(), settings), Reply::silent());
        assert_eq!(calls(&at), one);
        at.change(|state| (state.limits.max_workers, state.turn) = (2, None));
        assert_eq!(asked("3", json!({"agent_id": "a"}), settings), Reply::silent());
        assert_eq!((at.state().turn, calls(&at).len()), (None, 2), "the agent's call is no turn");
        at.change(|state| state.workers.clear());
        let bound = at.bound();
        at.change(|state| state.pause(PauseCause::Person, "", clock::now()));
        let call = at.call("PreToolUse", json!({"tool_name": "Agent", "tool_use_id": "4"}));
        assert_eq!(may_start(&call, &bound).unwrap(), Reply::silent());
        assert_eq!(calls(&at), []);
    }

    #[test]
    fn a_call_that_was_launched_names_its_agent_and_any_other_answer_ends_it() {
        let running = WorkerStanding::Running;
        let two = |agent: &str| {
            [("1", agent), ("2", "")]
                .map(|(call, agent)| (call.into(), agent.into(), running.clone()))
        };
        let answered = |event: &str, status: &str| {
            let at = at_work(&[worker("1", "", ""), worker("2", "", "")]);
            let response = json!({"agentId": "a", "status": status});
            let about =
                json!({"tool_name": "Agent", "tool_use_id": "1", "tool_response": response});
            started(&at.call(event, about), &at.bound()).unwrap();
            calls(&at)
        };
        assert_eq!(answered("PostToolUse", "async_launched"), two("a"));
        assert_eq!(answered("PostToolUse", "completed"), two("")[1..]);
        assert_eq!(answered("PostToolUseFailure", "async_launched"), two("")[1..]);
    }

    #[test]
    fn a_worker_that_ends_frees_its_place_and_ralphs_own_is_judged() {
        let stopped_as = |kind: &str, agent: &str, is_paused: bool| {
            let at = at_work(&[worker("1", "a", ""), worker("2", "b", "")]);
            if is_paused {
                at.change(|state| state.pause(PauseCause::Person, "", clock::now()));
            }
            let about =
                json!({"agent_id": agent, "agent_type": kind, "last_assistant_message": "x"});
            let reply = stopped(&at.call("SubagentStop", about), at.bound()).unwrap();
            let noted = at.journal().pop().map(|line| (line.decision, line.seen));
            (reply, calls(&at).len(), noted)
        };
        let noted = |decision: &str| {
            Some((decision.to_owned(), json!({"agent": "a", "kind": "ralph-worker"})))
        };
        assert_eq!(stopped_as("Explore", "a", false), (Reply::silent(), 1, None));
        assert_eq!(stopped_as("Explore", "c", false), (Reply::silent(), 2, None));
        let (reply, left, line) = stopped_as("ralph-worker", "a", false);
        assert_ne!(reply, Reply::silent());
        assert_eq!((left, line), (2, noted("report sent back")));
        let (reply, _, line) = stopped_as("ralph-worker", "a", true);
        assert_eq!((reply, line), (Reply::silent(), noted("report taken")));
    }

    #[test]
    fn a_worker_without_an_id_is_known_by_the_task_in_its_first_prompt() {
        let at = at_work(&[worker("1", "", "T-1"), worker("2", "", "T-2")]);
        let transcript = at.root().join("agent.jsonl");
        let row = json!({"type": "user", "message": {"content": "Ralph task T-2\nDo it."}});
        std::fs::write(&transcript, format!("{row}\n")).unwrap();
        let about = json!({"agent_id": "a", "agent_type": "ralph:ralph-worker",
            "agent_transcript_path": transcript});
        stopped(&at.call("SubagentStop", about), at.bound()).unwrap();
        let agents: Vec<String> = calls(&at).into_iter().map(|(_, agent, _)| agent).collect();
        assert_eq!(agents, ["", "a"]);
    }

    #[test]
    fn a_stop_closes_the_workers_that_the_client_no_longer_lists() {
        let at = at_work(&[]);
        let listed = |workers: &[Worker], tasks: Value| {
            let call = at.call("Stop", json!({"background_tasks": tasks}));
            let mut state = LoopState { workers: workers.to_vec(), ..LoopState::default() };
            let told = lost(&call, &mut state);
            let left: Vec<String> = state.workers.into_iter().map(|one| one.call).collect();
            (told, left)
        };
        let workers = [worker("1", "", ""), worker("2", "a", "")];
        let task =
            |id: &str, about: &str| json!({"id": id, "type": "subagent", "description": about});
        let left = |tasks: Value| listed(&workers, tasks).1;
        assert_eq!(left(json!([task("a", ""), task("x", "about 1")])), ["1", "2"]);
        assert_eq!(left(json!([task("x", "about 1"), task("b", "about 2")])), ["1"]);
        assert_eq!(left(json!([task("", "x"), task("a", "x")])), ["2"]);
        assert_eq!(listed(&[], json!([])), (vec![], vec![]));
    }

    #[test]
    fn a_subagent_is_of_the_loop_by_its_records() {
        let at = at_work(&[]);
        let is_its = |workers: &[Worker]| {
            at.change(|state| state.workers = workers.to_vec());
            is_of_loop(&at.call("SubagentStop", json!({"agent_id": "a"})), &at.file)
        };
        assert!(is_its(&[]));
        assert!(is_its(&[worker("1", "b", ""), worker("2", "a", "")]));
        assert!(is_its(&[worker("1", "b", ""), worker("2", "", "")]));
        assert!(!is_its(&[worker("1", "b", "")]));
        at.lose();
        assert!(is_of_loop(&at.call("SubagentStop", json!({"agent_id": "a"})), &at.file));
    }

    #[test]
    fn workers_of_a_loop_that_is_over_are_closed_as_they_end_and_looked_for_where_they_may_be() {
        let at = at_work(&[worker("1", "a", ""), worker("2", "b", "")]);
        let ends = |agent: &str| {
            is_gone(&at.call("SubagentStop", json!({"agent_id": agent})), &at.file).unwrap();
            calls(&at).into_iter().map(|(.., standing)| standing).collect::<Vec<_>>()
        };
        let may_be = |event: &str, more: Value| may_be_there(&at.call(event, more), &at.file);
        let (running, lost) = (WorkerStanding::Running, WorkerStanding::Lost);
        let prompt = json!({"prompt": "go on"});
        let report = json!({"prompt": "<task-notification>x"});
        let subagent = json!({"background_tasks": [{"type": "subagent"}]});
        assert_eq!(ends("c"), [running.clone(), running.clone()]);
        assert!(may_be("UserPromptSubmit", prompt.clone()));
        assert!(!may_be("SessionEnd", json!({})));
        assert!(!may_be("Stop", json!({"background_tasks": [{"type": "shell"}]})));
        assert!(may_be("Stop", subagent.clone()));
        assert_eq!(ends("a"), [lost.clone(), running]);
        assert_eq!(ends("b"), [lost.clone(), lost]);
        assert!(!may_be("UserPromptSubmit", prompt));
        assert!(may_be("UserPromptSubmit", report), "the stop that follows will show it");
        assert!(may_be("Stop", subagent));
        assert!(!may_be("PreToolUse", json!({"prompt": "<task-notification>x"})));
    }

    #[test]
    fn lost_workers_come_before_what_is_said() {
        let says = || "go on".to_owned();
        assert_eq!(before(&[], says()), "go on");
        assert_eq!(before(&["a".to_owned(), "b".to_owned()], says()), "a\nb\ngo on");
    }
}
