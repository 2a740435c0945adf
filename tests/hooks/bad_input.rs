//! Payloads that no client should send. The session goes on, and nothing is lost.

use crate::world::{EXECUTABLES, Ran, World, run};
use ralph_test_support::sample::is_proof;
use serde_json::{Value, json};
use std::process::Stdio;

/// Feeds each payload to every executable of a looping session whose state must not change.
#[track_caller]
fn harmless<T: AsRef<[u8]>>(payloads: impl IntoIterator<Item = T>) {
    let mut world = World::looping("");
    let before = world.listing(&world.ralph_home());
    for payload in payloads {
        let shown = String::from_utf8_lossy(&payload.as_ref()[..payload.as_ref().len().min(200)]);
        for known in ["session-1", ""] {
            world.set("CLAUDE_CODE_SESSION_ID", known);
            for name in EXECUTABLES {
                let ran = world.hook(name, &payload).harmless();
                assert_eq!(ran.json(), Value::Null, "{name}: {shown}");
            }
        }
        assert!(world.listing(&world.ralph_home()) == before, "something was written: {shown}");
    }
}

#[test]
fn nothing_and_half_of_something() {
    harmless([
        "",
        "\n",
        "{",
        r#"{"session_id":"session-1","hook_event_name":"Stop","last_assistant_mess"#,
        "null",
        "[]",
        "7",
        "\u{feff}{}",
        "{}{}",
        "{}",
    ]);
}

#[test]
fn text_that_is_no_utf_8() {
    harmless([
        &b"\xff\xfe{}"[..],
        b"{\"session_id\":\"session-1\",\"hook_event_name\":\"Stop\",\"cwd\":\"\xff\"}",
        &[0; 4096],
    ]);
}

#[test]
fn values_of_the_wrong_type() {
    let event = |event: &str, member: &str, value: Value| {
        let mut payload = json!({"session_id": "session-1", "hook_event_name": event});
        payload[member] = value;
        payload.to_string()
    };
    harmless([
        event("SessionEnd", "session_id", json!({"a": 1})),
        event("SessionEnd", "session_id", json!(["session-1"])),
        event("Stop", "hook_event_name", json!(["Stop"])),
        event("SessionStart", "source", json!(7)),
        event("UserPromptSubmit", "prompt", json!(null)),
        event("UserPromptExpansion", "command_name", json!([])),
        event("PreToolUse", "tool_input", json!("text")),
        event("PreToolUse", "tool_name", json!({})),
    ]);
}

#[test]
fn json_nested_beyond_reason() {
    let deep = "[".repeat(200_000);
    harmless([format!(r#"{{"session_id":"session-1","hook_event_name":"Stop","x":{deep}"#)]);
    let closed = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    let world = World::looping("");
    let mut payload = world.payload("Stop", json!({"last_assistant_message": "x"})).to_string();
    payload.insert_str(1, &format!("\"x\":{closed},"));
    world.hook("ralph-stop-hook", payload).goes_on();
}

#[test]
fn a_session_id_that_is_missing_or_plays_tricks() {
    let ids = [
        ".",
        "..",
        "../manifest/session-1",
        "../../etc/passwd",
        "/etc/passwd",
        "session-1/../session-1",
        "session-1\0",
        "session-1\n",
        "project-0123456789abcdef",
        "Session-1 ",
        &"x".repeat(4096),
        "é",
    ];
    let others = [
        ("SessionEnd", json!({"reason": "clear"})),
        ("UserPromptSubmit", json!({"prompt": "ralph cancel"})),
        ("PreToolUse", json!({"tool_name": "AskUserQuestion"})),
        ("SessionStart", json!({"source": "compact"})),
    ];
    let stop = ("Stop", json!({"last_assistant_message": "RALPH_COMPLETE"}));
    let payloads = ids.into_iter().enumerate().flat_map(|(number, id)| {
        [&stop, &others[number % others.len()]].map(|(event, members)| {
            let mut payload = members.clone();
            payload["session_id"] = json!(id);
            payload["hook_event_name"] = json!(event);
            payload.to_string()
        })
    });
    harmless(payloads.chain([r#"{"hook_event_name":"SessionEnd"}"#.to_owned()]));
}

#[test]
fn a_start_in_a_session_that_cannot_be_named_is_refused_and_leaves_nothing() {
    for id in ["", "../x", "a/b", &"x".repeat(4096)] {
        let mut world = World::new();
        world.session = id.to_owned();
        world.env.remove("CLAUDE_CODE_SESSION_ID");
        let reason = world.expansion("ralph", "Fix it").kept_from_model();
        assert!(reason.contains("session"), "{reason}");
        let left = world.listing(&world.ralph_home());
        let files: Vec<_> = left.keys().filter(|path| path.is_file()).collect();
        assert!(files.is_empty(), "{files:?}");
    }
}

/// A debug build reads some ten of them in a second.
fn megabytes() -> usize {
    if is_proof() { 50 } else { 8 }
}

#[test]
fn many_megabytes_are_read_and_obeyed() {
    let world = World::looping("");
    let large = "x".repeat(megabytes() << 20);
    let write = json!({"file_path": world.project().join("a"), "content": large});
    world.tool("Write", write).silent();
    let mut payload = world.payload("Stop", json!({"last_assistant_message": "x"}));
    payload["tool_response"] = json!(large);
    world.hook("ralph-stop-hook", payload.to_string()).goes_on();
    let started = json!({"command_name": "loop", "command_args": large});
    world.event("ralph-user-prompt", "UserPromptExpansion", started).silent();
}

#[test]
fn many_megabytes_of_rubbish_are_refused() {
    let world = World::looping("");
    for unit in ["[1,", "{\"a\":", "x"] {
        let rubbish = unit.repeat((megabytes() << 20) / unit.len());
        world.hook("ralph-stop-hook", rubbish).complains("");
    }
    assert_eq!(world.standing(), "implementation 0/25");
}

#[test]
fn a_last_message_of_a_megabyte_is_read_to_its_end() {
    let world = World::looping("");
    let long = "word ".repeat(200_000);
    world.working_stop(&long).goes_on();
    world.stop(&format!("{long}\nRALPH_COMPLETE")).ends("Ralph: done, without proof");
}

#[test]
fn a_standard_output_that_nobody_reads_costs_only_the_answer() {
    let world = World::looping("");
    let payload = world.payload("Stop", json!({"last_assistant_message": "x"})).to_string();
    for redirect in ["exec \"$0\" \"$@\" >&-", "exec \"$0\" \"$@\" >/dev/full"] {
        let words = ["sh", "-c", redirect, crate::world::executable("ralph-stop-hook")];
        let ran: Ran = run(world.wrapped(&words), "ralph-stop-hook", payload.as_bytes());
        ran.harmless();
    }
    assert_eq!(world.standing(), "implementation 2/25");
}

#[test]
fn a_closed_standard_input_is_an_empty_one() {
    let world = World::looping("");
    let output = world.command("ralph-stop-hook").stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success());
    assert!(output.stdout.is_empty());
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.starts_with("ralph-stop-hook: standard input was empty"), "{error}");
}

#[test]
fn an_environment_without_any_home_is_reported_only_where_something_was_asked_for() {
    let mut world = World::new();
    for name in ["HOME", "RALPH_HOME"] {
        world.env.remove(name);
    }
    world.stop("x").silent();
    world.tool("Bash", json!({"command": "ls"})).silent();
    world.session_starts("startup").harmless();
}
