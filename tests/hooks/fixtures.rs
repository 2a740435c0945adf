//! Every payload that the real client was seen to send, to every executable.

use crate::world::{EXECUTABLES, Ran, World};
use ralph_test_support::sample::one_in;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn fixtures() -> Vec<(String, Value)> {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/claude-code-2.1.328");
    let mut all: Vec<(String, Value)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap())
        })
        .collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(all.len() >= 70, "{} fixtures", all.len());
    all
}

#[test]
fn without_a_loop_no_payload_gets_a_word() {
    let mut world = World::new();
    let mut events = BTreeSet::new();
    for (name, payload) in fixtures() {
        let session = payload["session_id"].as_str().unwrap();
        // An older client does not say its session in the environment. Where it does, no payload is read: one of each
        // event is enough.
        let is_first = events.insert(payload["hook_event_name"].to_string());
        for known in if is_first { &[true, false][..] } else { &[false] } {
            world.set("CLAUDE_CODE_SESSION_ID", if *known { session } else { "" });
            for executable in EXECUTABLES {
                let ran = world.hook(executable, payload.to_string());
                assert_eq!((ran.out(), ran.err()), Default::default(), "{name} {executable}");
                ran.exit(0);
            }
        }
    }
    assert!(!world.ralph_home().exists(), "nothing was written");
}

#[test]
fn with_a_loop_every_payload_gets_nothing_or_one_honoured_object() {
    let (mut events, mut is_played) = (BTreeSet::new(), one_in(3));
    for (name, payload) in fixtures() {
        let is_first = events.insert(payload["hook_event_name"].to_string());
        if !is_played() && !is_first {
            continue;
        }
        let session = payload["session_id"].as_str().unwrap();
        let mut world = World::without_repository();
        world.become_session(session, "prompt-1");
        world.start("");
        let begun = world.root().join("begun");
        copy(&world.ralph_home(), &begun);
        for executable in EXECUTABLES {
            let ran = world.hook(executable, payload.to_string()).stderr("").exit(0);
            check_honoured(&name, &payload, &ran);
            fs::remove_dir_all(world.ralph_home()).unwrap();
            copy(&begun, &world.ralph_home());
        }
    }
}

/// Copies a folder, with the rights of its folders.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    fs::set_permissions(to, from.metadata().unwrap().permissions()).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path: PathBuf = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy(&path, &target),
            false => drop(fs::copy(&path, &target).unwrap()),
        }
    }
}

/// A member that the client does not know, or an event that is not the one asked about, would void
/// the whole answer.
#[track_caller]
pub(crate) fn check_honoured(name: &str, payload: &Value, ran: &Ran) {
    const KNOWN: [&str; 6] =
        ["decision", "reason", "systemMessage", "continue", "stopReason", "hookSpecificOutput"];
    let reply = ran.json();
    let Some(members) = reply.as_object() else { return assert_eq!(reply, Value::Null) };
    assert!(members.keys().all(|key| KNOWN.contains(&key.as_str())), "{name}: {reply}");
    if let Some(output) = members.get("hookSpecificOutput") {
        assert_eq!(output["hookEventName"], payload["hook_event_name"], "{name}");
    }
    if let Some(decision) = members.get("decision") {
        assert_eq!(decision, "block", "{name}");
        assert!(!members.contains_key("continue"), "{name}: a block never ends the turn");
    }
}
