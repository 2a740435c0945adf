//! `ralph parallel run` with the real client: several at once, each in a worktree of its own.

use ralph_test_support::fake_api::{ApiRequest, Gate, Script, ScriptedTurn, StandIn};
use serde_json::Value;
use std::thread;

use crate::Test;
use crate::builds::planned;
use crate::support::{PATIENCE, Run, World, wait_until};

pub(crate) const TESTS: &[Test] =
    tests![two_waves_are_done_two_at_a_time_and_end_complete, a_cancel_ends_four_that_are_at_work,];

/// The task that a worker's session was told to do.
fn task(request: &ApiRequest) -> String {
    let text = request.all_text();
    let (_, rest) = text.split_once("Your task: ").expect("a worker has a task");
    rest.split_whitespace().next().unwrap().to_owned()
}

fn begin(world: &World, stand_in: &StandIn) -> thread::JoinHandle<Run> {
    let args = ["parallel", "run", "--permission-mode", "bypassPermissions"];
    let command = world.driver(stand_in, &args);
    thread::spawn(move || Run::of(command, "", 4 * PATIENCE))
}

fn ended(world: &World) -> Vec<Value> {
    let folders = std::fs::read_dir(world.root().join("ralph/archive")).unwrap();
    let state = |folder: std::io::Result<std::fs::DirEntry>| {
        let text = std::fs::read(folder.unwrap().path().join("state.json")).unwrap();
        serde_json::from_slice(&text).unwrap()
    };
    folders.map(state).collect()
}

fn two_waves_are_done_two_at_a_time_and_end_complete() {
    let world = planned(&[("T-1", &[]), ("T-2", &[]), ("T-3", &["T-1"]), ("T-4", &["T-1", "T-2"])]);
    let shared = world.root().display().to_string();
    let script = Script::new().answer_with(move |request| {
        let id = task(request);
        // The first two go on when both are there: one after another they would wait for ever.
        let other = if id == "T-1" { "T-2" } else { "T-1" };
        let meets = format!(
            "touch {shared}/in-{id}; for i in $(seq 600); do test -e {shared}/in-{other} && break; sleep 0.1; done; \
             test -e {shared}/in-{other} && echo {id} > {id}"
        );
        match request.tool_results().len() {
            0 => ScriptedTurn::bash(&meets),
            1 => ScriptedTurn::bash(&format!("ralph task done {id} --result 'wrote {id}'")),
            _ => ScriptedTurn::text("It is done."),
        }
    });
    let stand_in = StandIn::start(script).unwrap();
    let run = begin(&world, &stand_in).join().unwrap().exits(0);
    assert!(run.stdout.contains("Ralph: done in "), "{run:?}");
    let requests = stand_in.requests();
    let begun: Vec<&ApiRequest> =
        requests.iter().filter(|one| one.tool_results().is_empty()).collect();
    assert_eq!(begun.len(), 4);
    for one in &begun {
        let id = task(one);
        let text = one.all_text();
        assert!(
            text.contains(".claude/worktrees/ralph-") && text.contains(&format!("-{id}")),
            "{text}"
        );
        assert!(text.contains("Ralph round "), "the prompt of a round: {text}");
    }
    let last = begun.iter().find(|one| task(one) == "T-4").unwrap();
    assert!(last.all_text().contains("After T-2: wrote T-2"), "{}", last.all_text());
    let log = world.git(&["log", "--oneline", "--first-parent"]);
    assert_eq!(log.matches("Merge T-").count(), 4, "{log}");
    for id in ["T-1", "T-2", "T-3", "T-4"] {
        assert!(world.project().join(id).exists(), "{id}");
    }
    let states = ended(&world);
    assert_eq!(states.len(), 5, "the loop, and one of each worker");
    let above = states.iter().find(|state| state.get("parent").is_none()).unwrap();
    assert_eq!(above["ending"]["kind"], "complete");
    let tokens = |state: &Value| state["usage"]["tokens"]["output"].as_u64().unwrap();
    let below: u64 = states.iter().filter(|state| state.get("parent").is_some()).map(tokens).sum();
    assert!(tokens(above) >= below && below > 0, "{} {below}", tokens(above));
}

fn a_cancel_ends_four_that_are_at_work() {
    let world = planned(&[("T-1", &[]), ("T-2", &[]), ("T-3", &[]), ("T-4", &[]), ("T-5", &[])]);
    let gate = Gate::new();
    let held = gate.clone();
    let script = Script::new().answer_with(move |request| match request.tool_results().len() {
        0 => ScriptedTurn::bash("echo half > half"),
        _ => ScriptedTurn::held(&held).then_text("never read"),
    });
    let stand_in = StandIn::start(script).unwrap();
    let run = begin(&world, &stand_in);
    let n_held = || stand_in.requests().iter().filter(|one| !one.tool_results().is_empty()).count();
    assert!(wait_until(4 * PATIENCE, || n_held() == 4), "{}", n_held());
    let said = world.ralph(&["cancel"]).exits(0).stdout;
    assert!(said.contains("Its 4 workers end too"), "{said}");
    let run = run.join().unwrap().exits(1);
    gate.open();
    assert!(run.stdout.contains("Ralph: cancelled"), "{run:?}");
    let states = ended(&world);
    assert_eq!(states.len(), 5);
    assert!(states.iter().all(|state| state["ending"]["kind"] == "cancelled"));
    assert!(stand_in.requests().iter().all(|one| task(one) != "T-5"));
    assert_eq!(
        std::fs::read_dir(world.root().join("ralph/loops"))
            .unwrap()
            .flatten()
            .filter(|one| one.path().is_dir())
            .count(),
        0
    );
    assert!(!world.project().join("half").exists(), "the main work tree is as it was");
}
