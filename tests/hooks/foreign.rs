//! A session that is not ours is never touched; it only hears about its project when it begins.

use crate::world::{EXECUTABLES, World, executable, run};
use serde_json::json;
use std::collections::BTreeSet;
use std::process::Command;

/// Every event of an ordinary session, to the executable that is registered for it.
fn an_ordinary_session(world: &World) -> Vec<(&'static str, String)> {
    [
        ("ralph-session-context", "SessionStart", json!({"source": "startup"})),
        ("ralph-session-context", "SessionStart", json!({"source": "resume"})),
        ("ralph-session-context", "SessionStart", json!({"source": "compact"})),
        ("ralph-session-context", "PreCompact", json!({"trigger": "auto"})),
        ("ralph-user-prompt", "UserPromptSubmit", json!({"prompt": "hello"})),
        ("ralph-user-prompt", "UserPromptSubmit", json!({"prompt": "ralph cancel"})),
        ("ralph-user-prompt", "UserPromptExpansion", json!({"command_name": "loop"})),
        ("ralph-pre-tool-use", "PreToolUse", json!({"tool_name": "AskUserQuestion"})),
        ("ralph-backpressure", "PostToolUse", json!({"tool_name": "Write"})),
        ("ralph-stop-hook", "Stop", json!({"last_assistant_message": "RALPH_COMPLETE"})),
        ("ralph-stop-hook", "SubagentStop", json!({"agent_id": "a"})),
        ("ralph-stop-hook", "StopFailure", json!({"error": "rate_limit"})),
        ("ralph-stop-hook", "SessionEnd", json!({"reason": "clear"})),
    ]
    .map(|(name, event, members)| (name, world.payload(event, members).to_string()))
    .into()
}

#[test]
fn beside_a_looping_session_another_gets_no_word_and_no_write() {
    let mut world = World::looping("");
    world.working_stop("x").goes_on();
    let before = world.listing(&world.ralph_home());
    for known in ["session-2", ""] {
        world.become_session("session-2", "prompt-9");
        world.set("CLAUDE_CODE_SESSION_ID", known);
        world.another_client();
        for (name, payload) in an_ordinary_session(&world) {
            world.hook(name, &payload).silent();
        }
    }
    assert!(world.listing(&world.ralph_home()) == before, "something was written");
}

#[test]
fn broken_state_of_one_session_never_speaks_in_another() {
    let mut world = World::looping("");
    std::fs::write(world.state_path(), "{").unwrap();
    std::fs::write(world.entry(), "nonsense").unwrap();
    world.become_session("session-2", "prompt-9");
    for (name, payload) in an_ordinary_session(&world) {
        world.hook(name, &payload).silent();
    }
}

/// A conversation begins: the moment at which a session without a loop is told facts.
fn begins(payload: &str) -> bool {
    payload.contains("\"SessionStart\"")
        && ["startup", "compact"].iter().any(|source| payload.contains(source))
}

#[test]
fn an_idle_hook_starts_no_process_takes_no_lock_and_opens_one_entry() {
    if Command::new("strace").arg("-V").output().is_err() {
        return eprintln!("skipped: strace is not installed, so system calls cannot be counted");
    }
    let mut world = World::looping("");
    world.become_session("session-2", "prompt-9");
    let log = world.root().join("calls");
    let session = an_ordinary_session(&world);
    assert_eq!(session.iter().filter(|(_, payload)| begins(payload)).count(), 2);
    // A conversation that is continued looks for a loop whose client is gone.
    let is_idle = |payload: &str| !begins(payload) && !payload.contains("\"resume\"");
    for (name, payload) in session.into_iter().filter(|(_, payload)| is_idle(payload)) {
        let words = [
            "strace",
            "-f",
            "-qq",
            "-o",
            log.to_str().unwrap(),
            "-e",
            "trace=execve,fork,vfork,clone,clone3,flock,fcntl,openat,open,rename,mkdir",
            executable(name),
        ];
        run(world.wrapped(&words), name, payload.as_bytes()).silent();
        let calls = std::fs::read_to_string(&log).unwrap();
        let count = |part: &str| calls.lines().filter(|line| line.contains(part)).count();
        assert_eq!(count("execve("), 1, "{name}: {calls}");
        for call in
            ["fork(", "clone(", "clone3(", "flock(", "F_SETLK", "rename(", "mkdir(", "O_CREAT"]
        {
            assert_eq!(count(call), 0, "{name} {call}: {calls}");
        }
        let home = world.ralph_home().display().to_string();
        let opened: Vec<&str> = calls.lines().filter(|line| line.contains(&home)).collect();
        let (of_session, others): (Vec<&str>, Vec<&str>) =
            opened.iter().partition(|line| line.contains("manifest/session-2"));
        assert!(of_session.len() <= 1, "{name}: {opened:?}");
        // Whether some settings want checks in every session.
        let is_known = |line: &&str| name == "ralph-backpressure" && line.contains("ralph/always");
        assert!(others.len() <= 1 && others.iter().all(is_known), "{name}: {opened:?}");
    }
}

#[test]
fn facts_are_gathered_with_two_gits_and_without_a_lock_or_a_write() {
    if Command::new("strace").arg("-V").output().is_err() {
        return eprintln!("skipped: strace is not installed, so system calls cannot be counted");
    }
    let mut world = World::looping("").with_facts();
    world.become_session("session-2", "prompt-9");
    let log = world.root().join("calls");
    let before = world.listing(&world.ralph_home());
    for (name, payload) in an_ordinary_session(&world) {
        if !begins(&payload) {
            world.hook(name, &payload).silent();
            continue;
        }
        let words = [
            "strace",
            "-f",
            "-qq",
            "-o",
            log.to_str().unwrap(),
            "-e",
            "trace=execve,flock,fcntl,openat,open,rename,mkdir,unlink",
            executable(name),
        ];
        let ran = run(world.wrapped(&words), name, payload.as_bytes());
        assert!(ran.context().starts_with("Facts about this project"), "{ran:?}");
        let calls = std::fs::read_to_string(&log).unwrap();
        let count = |part: &str| calls.lines().filter(|line| line.contains(part)).count();
        // A program that is looked for on `PATH` is tried in each folder by the same process.
        let started = |part: &str| {
            let lines =
                calls.lines().filter(|line| line.contains("execve(") && line.contains(part));
            lines.filter_map(|line| line.split(' ').next()).collect::<BTreeSet<_>>().len()
        };
        let counts = ["", "\"status\"", "\"check-ignore\""].map(started);
        assert_eq!(counts, [3, 1, 1], "{calls}");
        for call in ["flock(", "F_SETLK", "rename(", "mkdir(", "unlink(", "O_CREAT"] {
            assert_eq!(count(call), 0, "{call}: {calls}");
        }
        let home = format!("\"{}", world.ralph_home().join("loops").display());
        assert_eq!(count(&home), 0, "another session's loop is not looked at: {calls}");
    }
    assert!(world.listing(&world.ralph_home()) == before, "something was written");
}

#[test]
fn an_idle_hook_does_not_read_its_payload() {
    let world = World::new();
    let payload = vec![b'x'; 5 << 20];
    for name in EXECUTABLES.into_iter().filter(|name| guarded(name)) {
        world.hook(name, &payload).silent();
    }
}

/// Hooks that find out from the environment alone that there is nothing to do.
fn guarded(name: &str) -> bool {
    ["ralph-pre-tool-use", "ralph-backpressure", "ralph-stop-hook"].contains(&name)
}
