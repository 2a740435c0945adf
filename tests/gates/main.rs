//! What must stay true of the hooks' cost and can be counted instead of timed.
//!
//! Sizes, instructions, system calls and peak memory do not depend on how busy the machine is,
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
mod home;
mod layout;
mod live;
mod memory;
#[path = "../../crates/ralph/benches/hooks/payloads.rs"]
mod payloads;
#[path = "../../crates/ralph/benches/hooks/programs.rs"]
mod programs;
#[path = "../../crates/ralph/benches/hooks/repos.rs"]
mod repos;
mod scene;
mod status_line;
mod strace;
mod valgrind;

use built::HOOKS;
use scene::{Scene, Skip, gate};
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
fn every_hook_is_smaller_than_three_megabytes() {
    each(&HOOKS, "size", |scene, hook| {
        scene.is_static()?;
        let path = scene.executable(hook)?;
        let size = std::fs::metadata(path).expect("it was just built").len();
        at_most(hook, "bytes", size, 3_000_000);
        Ok(())
    });
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
fn an_idle_hook_makes_at_most_35_system_calls() {
    each(&IDLE, "system calls", |scene, hook| {
        scene.is_static()?;
        let calls = strace::calls(&scene.idle(hook)?)?;
        at_most(hook, "system calls", calls.len() as u64, 35);
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
fn an_idle_hook_runs_at_most_10_000_instructions() {
    each(&IDLE, "instructions", |scene, hook| {
        scene.is_static()?;
        at_most(hook, "instructions", valgrind::instructions(&scene.idle(hook)?)?, 10_000);
        Ok(())
    });
}

#[test]
fn an_idle_hook_touches_at_most_0_5_mib() {
    each(&IDLE, "memory", |scene, hook| {
        scene.is_static()?;
        at_most(hook, "KiB at its peak", memory::peak_kib(scene, &scene.idle(hook)?)?, 512);
        Ok(())
    });
}

/// With `RALPH_UPDATE=1` it writes the order of the code first; the next build takes it.
#[test]
fn the_code_of_a_call_lies_together() {
    if scene::is_required() && std::env::var_os("RALPH_UPDATE").is_some_and(|value| value == "1") {
        gate("the order of the code", || layout::update(scene::scene(), &IDLE));
    }
    each(&IDLE, "layout", |scene, hook| {
        scene.is_static()?;
        at_most(hook, "ranges of code", layout::ranges(scene, &scene.idle(hook)?)?, 2);
        Ok(())
    });
    each(&IDLE[..1], "layout, active", |scene, hook| {
        scene.is_static()?;
        let run = scene.active_tool_call(hook, 1_000)?;
        at_most(hook, "ranges of code in a live loop", layout::ranges(scene, &run)?, 7);
        Ok(())
    });
}

/// Most of it is the executable's code: for each page that runs the kernel maps 16.
#[test]
fn an_active_tool_call_touches_at_most_0_75_mib() {
    each(&IDLE[..1], "memory, active", |scene, hook| {
        scene.is_static()?;
        let run = scene.active_tool_call(hook, 1_000)?;
        at_most(hook, "KiB at its peak", memory::peak_kib(scene, &run)?, 768);
        Ok(())
    });
}

#[test]
fn an_active_tool_call_of_5_mb_touches_at_most_1_25_mib() {
    each(&IDLE[..1], "memory, active, 5 MB", |scene, hook| {
        scene.is_static()?;
        let run = scene.active_tool_call(hook, 5_000_000)?;
        at_most(hook, "KiB at its peak", memory::peak_kib(scene, &run)?, 1_280);
        Ok(())
    });
}

#[track_caller]
fn each(hooks: &[&str], what: &str, check: impl Fn(&Scene, &str) -> Result<(), Skip>) {
    for hook in hooks {
        gate(&format!("{what} of {hook}"), || check(scene::scene(), hook));
    }
}

#[track_caller]
fn at_most(hook: &str, unit: &str, counted: u64, most: u64) {
    println!("{hook}: {counted} {unit}, at most {most}");
    assert!(counted <= most, "{hook}: {counted} {unit}, at most {most} are allowed");
}
