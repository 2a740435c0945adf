//! A person's `settings.json`: our hooks in, our hooks out, everything else as it was.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph::fuzzing::{put_in, take_out};
use serde_json::{Map, Value};

/// Without `hooks` and the entries of `env` and `worktree` that may be ours.
fn others(value: &Value) -> Map<String, Value> {
    let mut members = value.as_object().cloned().unwrap_or_default();
    members.remove("hooks");
    for (name, key) in [("env", "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"), ("worktree", "baseRef")] {
        if let Some(Value::Object(object)) = members.get_mut(name) {
            object.remove(key);
            if object.is_empty() {
                members.remove(name);
            }
        }
    }
    members
}

fn value(text: &str) -> Value {
    if text.trim().is_empty() { Value::Object(Map::new()) } else { parsed(text) }
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("what was written is JSON")
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    for cap in [None, Some(100)] {
        let Some((merged, changed)) = put_in(&text, cap) else {
            // Refused, and nothing was changed: then it is also left as it is on the way out, or
            // holds something in the place of an event of ours.
            continue;
        };
        assert!(changed || merged == text, "nothing done, nothing changed");
        let (before, after) = (value(&text), parsed(&merged));
        assert_eq!(others(&before), others(&after), "what is not ours stays");
        assert_eq!(put_in(&merged, cap), Some((merged.clone(), false)), "twice is once");
        let (out, _) = take_out(&merged, &text, cap).expect("what was put in can be taken out");
        assert_eq!(others(&before), others(&value(&out)));
        assert_eq!(take_out(&out, &text, cap), Some((out.clone(), false)), "twice is once");
        let (again, _) = put_in(&out, cap).expect("and put in again");
        assert_eq!(
            parsed(&again)["hooks"].as_object().map(Map::len),
            after["hooks"].as_object().map(Map::len)
        );
    }
    if let Some((out, changed)) = take_out(&text, "", None) {
        assert!(changed || out == text);
    }
});
