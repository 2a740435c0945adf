//! The state file: read, written, read; and everything that is told of it.
#![no_main]

use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use ralph_core::state::LoopState;
use ralph_core::tasks::graph::{self, render};
use ralph_core::{
    evidence::completion_feedback, evidence::pinned, modes::mode, modes::start, views::messages,
};
use ralph_fuzz::same;
use serde_json::Value;

/// What is read from text must be what is read from a value.
fn check_reading(value: &Value) -> Option<LoopState> {
    let text = value.to_string();
    let value: Value = serde_json::from_str(&text).expect("just written");
    let streamed = serde_json::from_str::<LoopState>(&text);
    let held = serde_json::from_value::<LoopState>(value);
    assert_eq!(streamed.is_ok(), held.is_ok(), "{streamed:?} {held:?}");
    let state = streamed.ok()?;
    assert_eq!(Some(&state), held.ok().as_ref());
    Some(state)
}

fn check_round_trip(before: &Value, state: &LoopState) {
    let written = serde_json::to_vec_pretty(state).expect("a state can be written");
    let after: Value = serde_json::from_slice(&written).expect("what is written is JSON");
    for name in state.extra.keys() {
        assert!(same(&before[name], &after[name]), "the unknown member {name} survives");
    }
    assert!(same(&before["settings"], &after["settings"]));
    let known = |list: &str, at: usize| &before[list][at];
    for (at, task) in state.task_graph.iter().enumerate() {
        let kept = |(name, value): (&String, &Value)| same(&known("task_graph", at)[name], value);
        assert!(task.extra.iter().all(kept), "of task {at}");
        assert!(same(&after["task_graph"][at]["status"], &serde_json::json!(task.status)));
    }
    let again: LoopState = serde_json::from_slice(&written).expect("what was written can be read");
    let last = serde_json::to_value(&again).expect("a state can be written");
    assert!(same(&after, &last), "written twice is written once");
}

/// Nothing that is told of a state may fail, whatever the state.
fn check_telling(state: &LoopState) {
    let now = Timestamp::UNIX_EPOCH;
    let told = [
        messages::paused(state),
        messages::ended(state),
        start::announcement(state),
        completion_feedback::refusal(state, None),
        completion_feedback::regressions(&state.acceptance_criteria),
        mode::rules(&state.mode).loop_prompt("heading", state, &[], now),
        render::text(&state.task_graph, render::Show::All, now),
        render::markdown(&state.task_graph, render::Show::All, now),
    ];
    assert!(told[5].encode_utf16().count() <= 10_000, "the contract fits into one answer");
    render::json(&state.task_graph, render::Show::All, now);
    pinned::is_as_frozen(state);
    let summary = graph::summary(&state.task_graph, now);
    assert_eq!(summary.total, state.task_graph.len());
    if graph::lint(&state.task_graph).is_empty() {
        let waves = graph::waves(&state.task_graph);
        assert_eq!(waves.iter().map(Vec::len).sum::<usize>(), state.task_graph.len());
    }
}

fuzz_target!(|text: &[u8]| {
    let Ok(before) = serde_json::from_slice::<Value>(text) else {
        assert!(serde_json::from_slice::<LoopState>(text).is_err());
        return;
    };
    let Some(state) = check_reading(&before) else { return };
    check_round_trip(&before, &state);
    check_telling(&state);
});
