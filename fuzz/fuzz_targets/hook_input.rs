//! Hook payloads: squeezed as they stream past, then read for the fields that rules look at.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::protocol::event::{HookEvent, Input};
use ralph_core::text::json::{Squeezed, Squeezer};
use ralph_fuzz::cuts;
use serde_json::Value;

const BOUND: usize = 2048;
const NO_LIMIT: usize = 1 << 20;

fn squeeze(pieces: &[&[u8]], limit: usize, bound: usize) -> Squeezed {
    let mut squeezer = Squeezer::new(limit, bound);
    pieces.iter().for_each(|piece| squeezer.feed(piece));
    squeezer.finish()
}

fn longest_string(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(longest_string).max().unwrap_or(0),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| name.len().max(longest_string(value)))
            .max()
            .unwrap_or(0),
        _ => 0,
    }
}

fn check_squeezing(document: &[u8], limit: usize) {
    let whole = squeeze(&[document], limit, NO_LIMIT);
    // What is no UTF-8 is refused by whoever reads on, however it was cut.
    let is_text = std::str::from_utf8(document).is_ok();
    for pieces in cuts(document) {
        let same = squeeze(&pieces, limit, NO_LIMIT);
        assert!(!is_text || same.bytes == whole.bytes, "wherever it was split");
        assert_eq!(same.cut, whole.cut);
        let bounded = squeeze(&pieces, limit, BOUND);
        let longest = pieces.iter().map(|piece| piece.len()).max().unwrap_or(0);
        assert!(bounded.bytes.len() <= BOUND + longest + 16, "memory is bounded");
        assert!(bounded.overflow || bounded.bytes == same.bytes);
    }
    // What is no document has no strings to keep to.
    if serde_json::from_slice::<Value>(document).is_err() {
        return;
    }
    let value: Value = serde_json::from_slice(&whole.bytes).expect("still a document");
    assert!(longest_string(&value) <= limit, "a string is longer than {limit}");
    assert!(whole.cut || whole.bytes == document, "what was not cut is as it was");
    let again = squeeze(&[&whole.bytes], limit, NO_LIMIT);
    assert_eq!((again.bytes, again.cut), (whole.bytes, false), "squeezed twice is squeezed once");
}

/// Against a reader that holds the whole document.
fn check_fields(document: &[u8]) {
    let Ok(value) = serde_json::from_slice::<Value>(document) else { return };
    // Written anew: a member that is there twice is refused by one reader and not by the other.
    let Ok(input) = serde_json::from_str::<Input>(&value.to_string()) else { return };
    let says = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    assert_eq!(input.prompt, says("prompt"), "a prompt is never changed");
    assert_eq!(input.session_id, says("session_id"));
    assert_eq!(input.prompt_id, says("prompt_id"));
    assert_eq!(input.agent_id, says("agent_id"));
    assert_eq!(input.cwd, says("cwd"));
    assert_eq!(input.command_name, says("command_name"));
    assert_eq!(input.command_args, says("command_args"));
    assert_eq!(input.tool_name, says("tool_name"));
    assert_eq!(input.last_assistant_message.as_deref(), value["last_assistant_message"].as_str());
    assert_eq!(input.tool_input.command.as_deref(), value["tool_input"]["command"].as_str());
    let tasks = value["background_tasks"].as_array();
    assert_eq!(input.background_tasks.is_some(), tasks.is_some());
    let n_tasks = input.background_tasks.as_ref().map_or(0, Vec::len);
    let n_objects = tasks.map_or(0, |all| all.iter().filter(|one| one.is_object()).count());
    assert!((n_objects..=tasks.map_or(0, Vec::len)).contains(&n_tasks), "{n_tasks}");
    let event = input.hook_event_name;
    assert!(event == HookEvent::Other || event.name() == says("hook_event_name"));
    assert_eq!(input.from_subagent(), !says("agent_id").is_empty());
}

fuzz_target!(|document: &[u8]| {
    for limit in [0, 7, 60, NO_LIMIT] {
        check_squeezing(document, limit);
    }
    check_fields(document);
});
