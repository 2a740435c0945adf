//! Tokens: what the transcripts of the real client add up to is what its model reported.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use ralph_core::state::{Tokens, Usage};
use ralph_io::client::transcript;
use ralph_test_support::fake_api::{Script, ScriptedTurn, StandIn, Usage as Reported};
use serde_json::json;

use crate::Test;
use crate::support::World;

pub(crate) const TESTS: &[Test] =
    tests![each_message_of_the_conversation_and_of_its_workers_is_counted_once,];

fn reported(input_tokens: u64, cache_read_input_tokens: u64, output_tokens: u64) -> Reported {
    Reported { input_tokens, output_tokens, cache_read_input_tokens }
}

fn each_message_of_the_conversation_and_of_its_workers_is_counted_once() {
    let world = World::new();
    let call = json!({"description": "dig", "prompt": "DIGGER: dig", "subagent_type": "general-purpose", "run_in_background": false});
    let digger = Script::new()
        .turn(ScriptedTurn::bash("echo dug").with_usage(reported(1_000, 100, 10)))
        .turn(ScriptedTurn::text("I have dug.").with_usage(reported(2_000, 200, 20)));
    // Two blocks make two rows, each with the usage of the whole message.
    let two_blocks = ScriptedTurn::text("I have it dug.").then_tool("Agent", call);
    let script = Script::new()
        .turn(two_blocks.with_usage(reported(1, 2, 3)))
        .turn(ScriptedTurn::text("Done.").with_usage(reported(10, 20, 30)))
        .subagent("DIGGER", digger);
    let stand_in = StandIn::start(script).unwrap();
    let run = world.client(&stand_in).prompt("Have it dug.");
    assert_eq!(run.result()["result"], "Done.");
    let main = find(&world.config().join("projects"), &format!("{}.jsonl", run.session_id()));
    let worker = find(&main.with_extension(""), "agent-");
    let conversation = Tokens { input: 11, cache_creation: 0, cache_read: 22, output: 33 };
    let work = Tokens { input: 3_000, cache_creation: 0, cache_read: 300, output: 30 };
    for (path, expected) in [(main, conversation), (worker, work)] {
        let mut usage = Usage::default();
        for _ in 0..2 {
            transcript::count(&path, Timestamp::UNIX_EPOCH, &mut usage).unwrap();
            assert_eq!(usage.tokens, expected, "{}", path.display());
        }
        assert!(
            transcript::worked_since(&path, Timestamp::UNIX_EPOCH)
                != path.display().to_string().contains("subagents")
        );
    }
}

/// The file below a folder whose name begins so.
#[track_caller]
fn find(folder: &Path, name: &str) -> PathBuf {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let is_it = entry.file_name().to_string_lossy().starts_with(name);
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path if is_it && path.extension().is_some_and(|ext| ext == "jsonl") => return path,
                _ => {}
            }
        }
    }
    panic!("no `{name}` below {}", folder.display());
}
