//! What must stay true of the hooks' cost and can be counted instead of timed.
//!
//! Processes, files and peak memory do not depend on how busy the machine is,
//! so they may fail a build; times may not (`cargo bench -p ralph --bench hooks` shows them), but for one that is
//! promised and asked for in a way that load does not change (`status_line`).
//!
//! `RALPH_REQUIRE_GATES=1` builds a release, which takes some minutes, and checks every gate; one whose tool is missing
//! fails. Without it the executables are those of the tests: what depends on optimisation is skipped and says so.
#![allow(clippy::disallowed_methods, reason = "a gate starts programs and lays out files")]

#[path = "../../crates/ralph/benches/hooks/built.rs"]
mod built;
#[path = "../../crates/ralph/benches/hooks/driver.rs"]
mod driver;
#[path = "../../crates/ralph/benches/hooks/home.rs"]
#[allow(dead_code, reason = "the benches rewind their homes")]
mod home;
mod memory;
#[path = "../../crates/ralph/benches/hooks/payloads.rs"]
#[allow(dead_code, reason = "the benches send more events")]
mod payloads;
#[path = "../../crates/ralph/benches/hooks/programs.rs"]
mod programs;
mod scene;
mod status_line;
mod strace;

use built::HOOKS;
use scene::{Run, Scene, Skip, gate};
use std::process::Command;

/// The hooks that are called again and again in sessions without a loop. (A prompt and a session's
/// start are rare, and those hooks have something to do without a loop.)
const IDLE: [&str; 3] = ["ralph-pre-tool-use", "ralph-stop-hook", "ralph-backpressure"];

#[test]
fn hooks_link_no_detection_of_the_processor() {
    let tree = ["tree", "-p", "ralph-hooks", "-e", "features", "-i", "memchr", "--locked"];
    let output = Command::new(env!("CARGO")).args(tree).output().unwrap();
    let features = String::from_utf8(output.stdout).unwrap();
    assert!(features.contains("memchr feature \"alloc\""), "{features}");
    assert!(!features.contains("memchr feature \"std\""), "{features}");
}

#[test]
fn a_release_has_neither_the_portable_forms_nor_the_switch_of_the_tests() {
    each(&HOOKS, "the switch of the tests", |scene, hook| {
        scene.is_static()?;
        let bytes = std::fs::read(scene.executable(hook)?).expect("it was just built");
        for text in ["RALPH_TEST_PORTABLE", "RALPH_TEST_NO_OVERLAY", "/bin/ps"] {
            let is_there = bytes.windows(text.len()).any(|part| part == text.as_bytes());
            assert!(!is_there, "{hook} contains `{text}`");
        }
        Ok(())
    });
}

#[test]
fn an_idle_hook_opens_its_own_manifest_entry_and_no_other() {
    each(&IDLE, "manifest entries", |scene, hook| {
        let calls = strace::calls(&scene.idle(hook)?)?;
        let opened: Vec<_> = calls.iter().filter(|call| call.opens_in("/manifest")).collect();
        assert!(opened.len() == 1, "{hook} opened {opened:#?}");
        assert!(opened[0].names(payloads::SESSION), "{hook} opened {opened:#?}");
        Ok(())
    });
}

#[test]
fn an_idle_hook_starts_no_process_and_no_thread() {
    each(&IDLE, "processes", |scene, hook| {
        let calls = strace::calls(&scene.idle(hook)?)?;
        let started: Vec<_> = calls.iter().filter(|call| call.starts_something()).collect();
        // The one that is left is the exec of the hook itself.
        assert!(started.len() == 1, "{hook} started {started:#?}");
        Ok(())
    });
}

#[test]
fn a_hook_has_at_most_4_mib_of_memory() {
    each(&IDLE, "memory", |scene, hook| at_most_4_mib(scene, hook, &scene.idle(hook)?));
    for content in [1_000, 5_000_000] {
        each(&IDLE[..1], &format!("memory, {content} bytes in a loop"), |scene, hook| {
            at_most_4_mib(scene, hook, &scene.active_tool_call(hook, content)?)
        });
    }
}

fn at_most_4_mib(scene: &Scene, hook: &str, run: &Run) -> Result<(), Skip> {
    scene.is_static()?;
    let peak = memory::peak_kib(scene, run)?;
    println!("{hook}: {peak} KiB at its peak, at most 4096");
    assert!(peak <= 4096, "{hook}: {peak} KiB, at most 4096 are allowed");
    Ok(())
}

#[track_caller]
fn each(hooks: &[&str], what: &str, check: impl Fn(&Scene, &str) -> Result<(), Skip>) {
    for hook in hooks {
        gate(&format!("{what} of {hook}"), || check(scene::scene(), hook));
    }
}
