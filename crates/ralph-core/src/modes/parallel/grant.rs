//! Whether an agent may start.
//!
//! The client starts as many agents as the model asks for, so Ralph has to enforce the limit. The
//! state records the running workers, and each call is granted under the state's lock: of five
//! calls in one message, the fifth finds four workers.

use super::{OWNER, is_worker, reopen, taken, task_of, unmerged_dep};
use crate::state::{ClientProcess, LoopState, Worker, WorkerStanding};
use crate::tasks::graph::{self, ClaimTarget, Lease};
use crate::text::plural::noun;
use crate::text::truncate::bounded;
use jiff::Timestamp;

/// A call of the Agent tool.
#[derive(Debug, Clone, Copy)]
pub struct AgentCall<'a> {
    /// The client's id of the call.
    pub call: &'a str,
    /// The name of the agent.
    pub kind: &'a str,
    pub prompt: &'a str,
    pub about: &'a str,
    /// True if a subagent made the call.
    pub from_worker: bool,
    pub client: Option<&'a ClientProcess>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grant {
    /// The agent may start and is recorded as running.
    Granted,
    /// Another copy of the hook has already granted this call.
    Again,
    /// The agent may not start; the model reads the reason and what to do instead.
    Refused(String),
}

/// Longest description kept, in UTF-16 units.
const ABOUT: usize = 120;

/// Decides on a call, and records the worker if it is granted.
pub fn grant(state: &mut LoopState, asked: &AgentCall<'_>, now: Timestamp) -> Grant {
    if state.workers.iter().any(|worker| worker.call == asked.call) {
        return Grant::Again;
    }
    if let Some(why) = too_many(state, asked) {
        return Grant::Refused(why);
    }
    let task = match is_worker(asked.kind) {
        false => String::new(),
        true => match claim(state, asked, now) {
            Ok(task) => task,
            Err(why) => return Grant::Refused(why),
        },
    };
    state.workers.push(Worker {
        call: asked.call.to_owned(),
        kind: asked.kind.to_owned(),
        task,
        about: bounded(asked.about, ABOUT),
        at: now,
        client: asked.client.cloned(),
        ..Worker::default()
    });
    Grant::Granted
}

/// Records the id that the client gave to the agent of a call.
pub fn launched(state: &mut LoopState, call: &str, agent: &str) {
    if let Some(worker) = state.workers.iter_mut().find(|worker| worker.call == call) {
        agent.clone_into(&mut worker.agent);
    }
}

/// Closes every running worker that `is_there` does not know, because it ended without a report.
/// Makes their tasks available again, and describes the result for each worker that had a task.
pub fn lost(state: &mut LoopState, is_there: impl Fn(&Worker) -> bool) -> Vec<String> {
    let mut gone = Vec::new();
    for worker in state.workers.iter_mut().filter(|worker| worker.is_running() && !is_there(worker))
    {
        worker.standing = WorkerStanding::Lost;
        gone.push((worker.task.clone(), worker.about.clone()));
    }
    state
        .workers
        .retain(|worker| worker.standing != WorkerStanding::Lost || !worker.worktree.is_empty());
    let tasks = gone.into_iter().filter(|(task, _)| !task.is_empty());
    tasks
        .map(|(task, about)| {
            reopen(state, &task, &format!("its worker ({about}) ended without a report"))
        })
        .collect()
}

fn too_many(state: &LoopState, asked: &AgentCall<'_>) -> Option<String> {
    // Workers started by another client process ended with that process.
    let at_work: Vec<&Worker> = state
        .workers
        .iter()
        .filter(|worker| worker.is_running() && worker.client.as_ref() == asked.client)
        .collect();
    let most = state.limits.max_workers.max(1) as usize;
    if at_work.len() < most {
        return None;
    }
    let names: Vec<&str> = at_work.iter().map(|worker| worker.about.as_str()).collect();
    Some(format!(
        "{} of at most {most} {} at work ({}). End your turn and wait: you are woken when one \
         ends, and waiting costs nothing. Then start the next.",
        at_work.len(),
        noun(most, "worker is", "workers are"),
        bounded(&names.join(", "), 400)
    ))
}

fn claim(state: &mut LoopState, asked: &AgentCall<'_>, now: Timestamp) -> Result<String, String> {
    const NEXT: &str = "`ralph parallel next` prints the calls that can be made now.";
    if asked.from_worker {
        return Err("A worker starts no workers. Do the task yourself.".to_owned());
    }
    let Some(id) = task_of(asked.prompt) else {
        if state.task_graph.is_empty() {
            return Ok(String::new());
        }
        return Err(format!(
            "The prompt of a {} begins with the line `Ralph task ID`. {NEXT}",
            super::WORKER
        ));
    };
    if let Some(task) = state.task_graph.iter().find(|task| task.id == id) {
        if let Some(dep) = unmerged_dep(state, task) {
            return Err(format!(
                "{id} needs the work of {}, which is done and not merged: its worktree would not have it. \
                 Run `ralph parallel merge` first.",
                dep.task
            ));
        }
        if let Some(clash) = taken(state).clash(&task.files) {
            return Err(format!(
                "{id} and {}, which is at work or not merged, both change `{}`. Start {id} when {} is \
                 merged. {NEXT}",
                clash.with, clash.file, clash.with
            ));
        }
    }
    // A claimed task cannot be claimed twice, so all workers can share one owner name.
    let lease = Lease { owner: OWNER, length: None };
    let is_claimed = state.workers.iter().any(|worker| worker.is_running() && worker.task == id);
    if is_claimed {
        return Err(format!("A worker is doing {id} already. {NEXT}"));
    }
    graph::claim(&mut state.task_graph, ClaimTarget::Id(id), lease, now)
        .map(|claim| claim.task.id)
        .map_err(|why| format!("{why}. {NEXT}"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{NOW, loop_of, work};
    use super::*;
    use crate::state::TaskStatus;

    fn asks(state: &mut LoopState, call: &str, kind: &str, prompt: &str) -> Grant {
        let asked = AgentCall { call, kind, prompt, about: call, from_worker: false, client: None };
        grant(state, &asked, NOW)
    }

    #[track_caller]
    fn refused(state: &mut LoopState, prompt: &str, words: &str) {
        let before = state.clone();
        let Grant::Refused(why) = asks(state, "new", "ralph:ralph-worker", prompt) else {
            panic!("{prompt} is granted")
        };
        assert!(why.contains(words), "{why}");
        assert_eq!(*state, before, "a refusal changes nothing");
    }

    #[test]
    fn one_more_than_the_limit_is_refused_and_the_limit_is_not() {
        let mut state = loop_of(&[]);
        for n in 1..=4 {
            assert_eq!(asks(&mut state, &format!("c{n}"), "Explore", "look"), Grant::Granted);
        }
        assert_eq!(asks(&mut state, "c4", "Explore", "look"), Grant::Again);
        let Grant::Refused(why) = asks(&mut state, "c5", "Explore", "look") else { panic!() };
        assert!(why.starts_with("4 of at most 4 workers are at work (c1, c2, c3, c4)"), "{why}");
        lost(&mut state, |worker| worker.call != "c2");
        assert_eq!(asks(&mut state, "c5", "Explore", "look"), Grant::Granted);
    }

    #[test]
    fn workers_of_a_client_that_is_gone_count_for_nothing() {
        let mut state = loop_of(&[]);
        state.limits.max_workers = 1;
        assert_eq!(asks(&mut state, "c1", "Explore", "look"), Grant::Granted);
        let other = ClientProcess { pid: 7, started: "1".to_owned() };
        let asked = AgentCall {
            call: "c2",
            kind: "Explore",
            prompt: "",
            about: "look",
            from_worker: false,
            client: Some(&other),
        };
        let now = NOW + jiff::SignedDuration::from_mins(1);
        assert_eq!(grant(&mut state, &asked, now), Grant::Granted);
        let expected = Worker {
            call: "c2".to_owned(),
            kind: "Explore".to_owned(),
            about: "look".to_owned(),
            at: now,
            client: Some(other.clone()),
            ..Worker::default()
        };
        assert_eq!(state.workers[1], expected);
    }

    #[test]
    fn a_worker_takes_the_task_that_its_prompt_names() {
        let mut state =
            loop_of(&[("T-1", &[], &["a"]), ("T-2", &["T-1"], &[]), ("T-3", &[], &["a"])]);
        refused(&mut state, "do it", "begins with the line `Ralph task ID`");
        refused(&mut state, "Ralph task T-9", "there is no task `T-9`");
        refused(&mut state, "Ralph task T-2", "T-2 waits for T-1");
        work(&mut state, "T-1", WorkerStanding::Running);
        assert_eq!(state.task_graph[0].status, TaskStatus::InProgress);
        refused(&mut state, "Ralph task T-1", "both change `a`");
        refused(&mut state, "Ralph task T-3", "both change `a`");
        state.workers[0].standing = WorkerStanding::Done;
        state.task_graph[0].status = TaskStatus::Done;
        refused(&mut state, "Ralph task T-2", "Run `ralph parallel merge` first");
        state.workers[0].merged = "abc".to_owned();
        work(&mut state, "T-2", WorkerStanding::Running);
        work(&mut state, "T-3", WorkerStanding::Running);
    }

    #[test]
    fn one_task_has_one_worker_and_workers_have_none() {
        let mut state = loop_of(&[("T-1", &[], &[])]);
        work(&mut state, "T-1", WorkerStanding::Running);
        refused(&mut state, "Ralph task T-1", "A worker is doing T-1 already");
        let asked = AgentCall {
            call: "x",
            kind: super::super::WORKER,
            prompt: "",
            about: "",
            from_worker: true,
            client: None,
        };
        assert!(matches!(grant(&mut state, &asked, NOW), Grant::Refused(_)));
    }

    #[test]
    fn a_worker_that_is_gone_is_named_and_its_task_is_free() {
        let mut state = loop_of(&[("T-1", &[], &[]), ("T-2", &[], &[])]);
        work(&mut state, "T-1", WorkerStanding::Running);
        work(&mut state, "T-2", WorkerStanding::Running);
        launched(&mut state, "call-T-2", "a2");
        let told = lost(&mut state, |worker| worker.agent == "a2");
        assert_eq!(told, ["T-1 is ready again: its worker (T-1) ended without a report"]);
        assert_eq!((state.workers.len(), state.workers[0].agent.as_str()), (1, "a2"));
        assert_eq!(state.task_graph[0].status, TaskStatus::Pending);
    }
}
