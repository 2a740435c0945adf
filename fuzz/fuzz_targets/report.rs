//! What a worker says of its work, and what a person types after `/ralph-parallel`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::modes::parallel::report::{self, WorkerVerdict};
use ralph_core::modes::parallel::{self, AgentCall, Grant, TaskSource};
use ralph_core::state::{LoopState, Phase, Task, TaskStatus};

const NOW: jiff::Timestamp = jiff::Timestamp::UNIX_EPOCH;

fn at_work() -> LoopState {
    let task = Task { id: "T-1".to_owned(), files: vec!["a".to_owned()], ..Task::default() };
    let mut state = LoopState {
        phase: Phase::Implementation,
        task_graph: vec![task].into(),
        ..LoopState::default()
    };
    let asked = AgentCall {
        call: "c",
        kind: parallel::WORKER,
        prompt: "Ralph task T-1\n",
        about: "T-1",
        from_worker: false,
        client: None,
    };
    assert_eq!(parallel::grant(&mut state, &asked, NOW), Grant::Granted);
    state
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let read = report::read(&text);
    if let Err(wrong) = &read {
        assert!(!wrong.is_empty(), "a refusal says why");
    }
    let real = ["a".to_owned()];
    for real in [None, Some(&real[..]), Some(&[][..])] {
        let mut state = at_work();
        let first = report::judge(&mut state, 0, &text, real, "/w");
        let second = match first {
            WorkerVerdict::SendBack(_) => report::judge(&mut state, 0, &text, real, "/w"),
            taken => taken,
        };
        assert!(matches!(second, WorkerVerdict::Taken(_)), "it goes back once");
        assert!(!state.workers[0].is_running());
        let is_done = state.task_graph[0].status == TaskStatus::Done;
        assert!(!is_done || read.is_ok() && real.is_none_or(|real| !real.is_empty()));
    }
    if let Some(id) = parallel::task_of(&text) {
        assert!(!id.is_empty() && !id.contains('\n'));
    }
    if let Ok(TaskSource::List(tasks)) = parallel::work(Some(&text), |_| false) {
        assert!(tasks.iter().all(|task| !task.trim().is_empty()));
    }
});
