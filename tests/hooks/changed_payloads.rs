//! Payloads of a client that differs from the measured one: a field dropped, of another type, or added.
//!
//! No hook may fail, speak in a session without a loop, or lose a loop's state.

use crate::fixtures::{check_honoured, copy, fixtures};
use crate::world::{EXECUTABLES, World};
use ralph_test_support::sample::one_in;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::sync::Mutex;
use std::thread;

/// What was changed in a payload, and the payload.
type Change = (String, Value);

/// The payload without each field in turn, with each of other types, with its objects changed inside, and with fields that
/// no client sends, at the top and inside.
fn changes(payload: &Value) -> Vec<Change> {
    let fields = payload.as_object().unwrap();
    let with = |name: &str, value: Value| {
        let mut changed = fields.clone();
        changed.insert(name.to_owned(), value);
        Value::Object(changed)
    };
    let mut all = vec![(UNKNOWN.to_owned(), with_unknown(payload.clone()))];
    for (name, value) in fields {
        let mut without = fields.clone();
        without.remove(name);
        all.push((format!("without {name}"), Value::Object(without)));
        for other in [json!(7), json!([{"a": 1}]), json!({"a": [1]})] {
            if kind(&other) != kind(value) {
                all.push((format!("{name} as {}", kind(&other)), with(name, other)));
            }
        }
        if let Some(inside) = value.as_object() {
            all.extend(changes_inside(inside).map(|(what, inside)| {
                (format!("{name} {what}"), with(name, Value::Object(inside)))
            }));
        }
    }
    all
}

/// An object without each of its members, and with each of another type.
fn changes_inside(
    object: &Map<String, Value>,
) -> impl Iterator<Item = (String, Map<String, Value>)> {
    object.keys().flat_map(|name| {
        let (mut without, mut other) = (object.clone(), object.clone());
        without.remove(name);
        other.insert(name.clone(), json!([7]));
        [(format!("without {name}"), without), (format!("with {name} as a list"), other)]
    })
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Adds members that no client sends to every object of the document.
fn with_unknown(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.into_iter().map(|(name, value)| (name, with_unknown(value)));
            let unknown = json!({"deep": [{"er": null}], "n": 1e300});
            Value::Object(members.chain([("ralph_unknown".to_owned(), unknown)]).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(with_unknown).collect()),
        other => other,
    }
}

/// The executable that is registered for the event; all of them for an event that has none, and for one
/// change of each kind of payload.
fn started(event: &Value, what: &str) -> Vec<&'static str> {
    let one = match event.as_str().unwrap_or_default() {
        _ if what == UNKNOWN => return EXECUTABLES.to_vec(),
        "UserPromptSubmit" | "UserPromptExpansion" => "ralph-user-prompt",
        "PreToolUse" | "PermissionRequest" => "ralph-pre-tool-use",
        "PostToolUse" | "PostToolUseFailure" => "ralph-backpressure",
        "Stop" | "SubagentStop" | "StopFailure" | "SessionEnd" => "ralph-stop-hook",
        "SessionStart" | "PreCompact" => "ralph-session-context",
        _ => return EXECUTABLES.to_vec(),
    };
    vec![one]
}

const UNKNOWN: &str = "with unknown fields";

/// Runs the check for each fixture, a few at a time.
fn each_fixture(check: impl Fn(&str, &[Change], &Value) + Sync) {
    // What was changed in another payload of the same event and tool is changed in none that follows.
    let (mut known, mut is_played) = (BTreeSet::new(), one_in(4));
    let with_changes = fixtures().into_iter().map(|(name, payload)| {
        let about = format!("{} {}", payload["hook_event_name"], payload["tool_name"]);
        let mut changes = changes(&payload);
        changes.retain(|(what, _)| known.insert(format!("{about} {what}")) && is_played());
        (name, changes, payload)
    });
    let left = Mutex::new(with_changes.collect::<Vec<_>>());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some((name, changes, payload)) = { left.lock().unwrap().pop() } {
                    check(&name, &changes, &payload);
                }
            });
        }
    });
}

#[test]
fn a_session_without_a_loop_gets_no_word_whatever_the_client_changes() {
    each_fixture(|name, changes, payload| {
        // Another session has a loop, and this one is named by the payload alone.
        let mut world = World::without_repository();
        world.start("");
        world.set("CLAUDE_CODE_SESSION_ID", "");
        let before = world.listing(&world.ralph_home());
        for (what, changed) in changes {
            for executable in started(&payload["hook_event_name"], what) {
                let ran = world.hook(executable, changed.to_string());
                assert_eq!(
                    (ran.out(), ran.err()),
                    Default::default(),
                    "{name} {what} {executable}"
                );
                ran.exit(0);
            }
        }
        assert!(world.listing(&world.ralph_home()) == before, "{name}: something was written");
    });
}

#[test]
fn a_loop_keeps_its_state_and_no_hook_fails_whatever_the_client_changes() {
    each_fixture(|name, changes, payload| {
        let mut world = World::without_repository();
        world.become_session(payload["session_id"].as_str().unwrap(), "prompt-1");
        world.start("");
        let begun = world.state();
        let saved = world.root().join("saved");
        copy(&world.ralph_home(), &saved);
        for (what, changed) in changes {
            for executable in started(&payload["hook_event_name"], what) {
                let about = format!("{name} {what} {executable}");
                let ran = world.hook(executable, changed.to_string());
                assert_eq!(ran.err(), "", "{about}");
                let ran = ran.exit(0);
                check_honoured(&about, changed, &ran);
                assert_eq!(kept(&world), [kept_members(&begun)], "{about}");
                fs::remove_dir_all(world.ralph_home()).unwrap();
                copy(&saved, &world.ralph_home());
            }
        }
    });
}

/// The members of a state that no event of these may change.
fn kept_members(state: &Value) -> Value {
    let names = ["loop_id", "prompt", "created_at", "max_iterations", "acceptance_criteria"];
    names.into_iter().map(|name| (name.to_owned(), state[name].clone())).collect()
}

/// Those members of each loop, live or ended.
fn kept(world: &World) -> Vec<Value> {
    let folders = ["loops", "archive"].map(|name| world.ralph_home().join(name));
    let loops = folders.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten());
    loops
        .map(|entry| fs::read_to_string(entry.unwrap().path().join("state.json")).unwrap())
        .map(|text| kept_members(&serde_json::from_str(&text).unwrap()))
        .collect()
}

/// A stop without a field that the loop depends on is told once, and kept among the loop's errors.
#[test]
fn a_field_that_the_client_no_longer_sends_is_reported_once() {
    let world = World::looping("");
    let told = |members: &[&str]| {
        let mut payload =
            world.payload("Stop", json!({"last_assistant_message": "x", "background_tasks": []}));
        for member in members {
            payload.as_object_mut().unwrap().remove(*member);
        }
        let reply = world.hook("ralph-stop-hook", payload.to_string()).stderr("").exit(0).json();
        reply["systemMessage"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(told(&[]), "");
    world.write("one", "work");
    let message = told(&["prompt_id", "background_tasks"]);
    assert!(message.contains("sends no `prompt_id`, `background_tasks`"), "{message}");
    assert!(message.contains("`ralph doctor`"), "{message}");
    world.write("two", "work");
    assert_eq!(told(&["prompt_id", "background_tasks"]), "");
    assert_eq!(world.state()["errors"].as_array().unwrap().len(), 1);
    let status = world.elsewhere(&["status"]).text;
    assert!(status.contains("sends no"), "{status}");
}

#[test]
fn events_that_name_no_session_are_reported_once_and_leave_the_loop_alone() {
    let world = World::looping("");
    let standing = world.standing();
    let told = || {
        let mut payload =
            world.payload("Stop", json!({"last_assistant_message": "RALPH_COMPLETE"}));
        payload.as_object_mut().unwrap().remove("session_id");
        world.hook("ralph-stop-hook", payload.to_string()).stderr("").exit(0).json()
    };
    let message = told()["systemMessage"].as_str().unwrap().to_owned();
    assert!(message.contains("sends no `session_id`"), "{message}");
    assert_eq!(told(), Value::Null);
    assert_eq!(world.standing(), standing);
}
