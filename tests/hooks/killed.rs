//! Hooks that are killed at each of their system calls in turn: the state is the old one or the
//! new one, and the next event makes sense of it.

use crate::world::{World, executable, run};
use serde_json::json;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

const CALLS: [&str; 9] =
    ["openat", "rename", "linkat", "link", "unlink", "write", "fsync", "fdatasync", "flock"];

/// Runs the hook on a payload and kills it as it enters its n-th call of a kind; false once it has fewer.
fn killed_at(world: &World, call: &str, n: usize, name: &str, payload: &str) -> bool {
    let inject = format!("inject={call}:signal=KILL:when={n}");
    let trace = format!("trace={call}");
    let words = ["strace", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject, executable(name)];
    let mut command = world.wrapped(&words);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // It may be killed before it has read all.
    drop(std::io::Write::write_all(&mut stdin, payload.as_bytes()));
    drop(stdin);
    child.wait().unwrap().signal().is_some()
}

/// Kills the hook at each call in a fresh world; then the check looks at what is left.
#[track_caller]
fn at_each_call(name: &str, message: &str, check: impl Fn(&World)) {
    if Command::new("strace").arg("-V").output().is_err() {
        return eprintln!("skipped: strace is not installed, so no call can be chosen");
    }
    let mut kills = 0;
    for call in CALLS {
        for n in 1..100 {
            let world = World::looping("");
            world.working_stop("x").goes_on();
            let payload = world.payload("Stop", json!({"last_assistant_message": message}));
            if !killed_at(&world, call, n, name, &payload.to_string()) {
                break;
            }
            kills += 1;
            check(&world);
        }
    }
    assert!(kills > 15, "{kills} calls are too few to be all of them");
}

#[test]
fn a_killed_stop_is_counted_or_not_and_the_loop_goes_on() {
    at_each_call("ralph-stop-hook", "x", |world| {
        let counted = world.state()["iteration"].as_u64().unwrap();
        assert!((1..=2).contains(&counted));
        let text = world.working_stop("x").goes_on();
        assert!(text.contains(&format!("iteration {}/25", counted + 1)), "{text}");
    });
}

#[test]
fn a_killed_ending_is_finished_by_the_next_stop() {
    at_each_call("ralph-stop-hook", "RALPH_COMPLETE", |world| {
        let payload = world.payload("Stop", json!({"last_assistant_message": "RALPH_COMPLETE"}));
        let next = run(
            world.command("ralph-stop-hook"),
            "ralph-stop-hook",
            payload.to_string().as_bytes(),
        );
        next.stderr("").exit(0);
        assert_eq!(world.ending(), "complete_unverified");
        assert!(!world.has_entry());
    });
}
