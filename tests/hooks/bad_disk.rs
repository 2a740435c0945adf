//! Disks that refuse to be written: the session goes on, and the state is the old one.
//!
//! Root is not bound by permission bits, so the disks are real ones, mounted in a namespace of the
//! test's own. Where that is not allowed the tests say so and are skipped.

use crate::world::{Ran, World, executable, run};
use serde_json::json;
use std::fs;
use std::process::Command;

/// Runs a hook in a mount namespace of its own, after a shell prepared it.
fn mounted(world: &World, prepare: &str, name: &str, payload: &str) -> Ran {
    let script = format!("{prepare} && exec \"$@\"");
    let words = ["unshare", "-rm", "sh", "-ec", &script, "sh", executable(name)];
    run(world.wrapped(&words), name, payload.as_bytes())
}

fn namespaces() -> bool {
    let done = Command::new("unshare").args(["-rm", "mount", "-t", "tmpfs", "x", "/mnt"]).output();
    let works = done.is_ok_and(|done| done.status.success());
    if !works {
        eprintln!("skipped: mounts in a namespace of our own are not allowed here");
    }
    works
}

#[test]
fn on_a_read_only_disk_the_person_is_told_and_the_rules_go_on() {
    if !namespaces() {
        return;
    }
    let world = World::looping("");
    world.working_stop("x").goes_on();
    let before = world.listing(&world.ralph_home());
    let home = world.ralph_home().display().to_string();
    let prepare = format!("mount --bind '{home}' '{home}' && mount -o remount,bind,ro '{home}'");
    let stop = world.payload("Stop", json!({"last_assistant_message": "RALPH_COMPLETE"}));
    let message = mounted(&world, &prepare, "ralph-stop-hook", &stop.to_string()).message();
    assert!(message.contains("could not lock") && message.contains("Make the disk writable"));
    let tool = world.payload("PreToolUse", json!({"tool_name": "EnterPlanMode"}));
    // What needs no write is still answered.
    mounted(&world, &prepare, "ralph-pre-tool-use", &tool.to_string()).denied();
    let cancel = world.payload("UserPromptExpansion", json!({"command_name": "ralph-cancel"}));
    let reason =
        mounted(&world, &prepare, "ralph-user-prompt", &cancel.to_string()).kept_from_model();
    assert!(reason.contains("could not"), "the person hears of it: {reason}");
    assert!(world.listing(&world.ralph_home()) == before);
}

#[test]
fn on_a_read_only_disk_a_start_is_blocked_and_says_why() {
    if !namespaces() {
        return;
    }
    let world = World::new();
    fs::create_dir(world.ralph_home()).unwrap();
    let home = world.ralph_home().display().to_string();
    let prepare = format!("mount --bind '{home}' '{home}' && mount -o remount,bind,ro '{home}'");
    let start = json!({"command_name": "ralph", "command_args": "Fix it"});
    let start = world.payload("UserPromptExpansion", start).to_string();
    let reason = mounted(&world, &prepare, "ralph-user-prompt", &start).kept_from_model();
    assert!(reason.contains("could not make the folder"), "{reason}");
}

#[test]
fn on_a_full_disk_the_state_stays_the_old_one() {
    if !namespaces() {
        return;
    }
    let world = World::looping("");
    let before = world.state();
    let home = world.ralph_home().display().to_string();
    let copy = world.root().join("copy").display().to_string();
    let after = world.root().join("after").display().to_string();
    // The disk holds what is there and not a page more; afterwards it is copied out of the
    // namespace.
    let prepare = format!(
        "cp -a '{home}' '{copy}' && mount -t tmpfs -o size=256k x '{home}' && \
         cp -a '{copy}/.' '{home}' && chmod 700 '{home}' && \
         {{ dd if=/dev/zero of='{home}/fill' bs=4k 2>/dev/null || true; }} && \
         \"$@\" && cp -a '{home}' '{after}' && set -- true"
    );
    let stop = world.payload("Stop", json!({"last_assistant_message": "x"})).to_string();
    let ran = mounted(&world, &prepare, "ralph-stop-hook", &stop);
    let message = ran.message();
    assert!(message.contains("could not write") && message.contains("Make room"), "{message}");
    let state = world.state_path();
    let state = std::path::Path::new(&after).join(state.strip_prefix(world.ralph_home()).unwrap());
    let kept: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(state).unwrap()).unwrap();
    assert_eq!(kept, before);
}

#[test]
fn a_transcript_that_is_no_file_is_no_reason_to_wait() {
    let world = World::looping("");
    let made = Command::new("mkfifo").arg(world.transcript()).status().unwrap();
    assert!(made.success());
    let payload = world.payload("Stop", json!({"last_assistant_message": "x"})).to_string();
    let words = ["timeout", "20", executable("ralph-stop-hook")];
    run(world.wrapped(&words), "ralph-stop-hook", payload.as_bytes()).exit(0).goes_on();
}

#[test]
fn a_home_that_is_a_file_blocks_a_start_and_nothing_else() {
    let world = World::new();
    fs::write(world.ralph_home(), "a file").unwrap();
    world.stop("x").silent();
    world.tool("Bash", json!({"command": "ls"})).silent();
    world.session_starts("startup").silent();
    let reason = world.expansion("ralph", "Fix it").kept_from_model();
    assert!(reason.contains("could not make the folder"), "{reason}");
    assert_eq!(fs::read_to_string(world.ralph_home()).unwrap(), "a file");
}

#[test]
fn a_lock_that_another_process_holds_delays_and_then_is_told_of() {
    let world = World::looping("");
    let lock = fs::File::create(world.state_path().with_extension("lock")).unwrap();
    lock.lock().unwrap();
    assert!(world.stop("RALPH_COMPLETE").message().contains("another process has held"));
    drop(lock);
    world.stop("RALPH_COMPLETE").ends("Ralph: done, without proof");
}
