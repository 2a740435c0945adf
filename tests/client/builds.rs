//! `ralph build` with the real client: one fresh session for each task, in the order of what they need.

use ralph_test_support::fake_api::{ApiRequest, Script, ScriptedTurn, StandIn};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::Test;
use crate::driver::used_up;
use crate::kept::{installed, the_ended};
use crate::support::{PATIENCE, Run, World, executables};

pub(crate) const TESTS: &[Test] = tests![
    a_diamond_is_built_in_the_order_of_what_its_tasks_need,
    what_a_client_leaves_open_is_ready_again_and_done_by_the_next,
    a_usage_limit_is_waited_out_and_the_task_is_done,
    rounds_that_change_nothing_stall_the_loop_together,
    what_nobody_can_permit_is_refused_with_another_way,
];

const DIAMOND: [(&str, &[&str]); 4] =
    [("T-1", &[]), ("T-2", &["T-1"]), ("T-3", &["T-1"]), ("T-4", &["T-2", "T-3"])];

/// A world whose project has these tasks planned, and one criterion: that all of it is there.
pub(crate) fn planned(tasks: &[(&str, &[&str])]) -> World {
    let world = installed();
    plan(&world, tasks);
    world
}

/// Plans these tasks in a world.
pub(crate) fn plan(world: &World, tasks: &[(&str, &[&str])]) {
    let task_graph: Vec<Value> = tasks
        .iter()
        .map(|(id, deps)| {
            json!({"id": id, "name": format!("write {id}"), "deps": deps,
            "completion_condition": format!("test -s {id}"), "files": [id]})
        })
        .collect();
    let all: Vec<String> = tasks.iter().map(|(id, _)| format!("test -s {id}")).collect();
    let criteria = json!([{"id": "AC-1", "description": "all are there",
        "verification_command": all.join(" && ")}]);
    let plan =
        json!({"prompt": "Write them", "acceptance_criteria": criteria, "task_graph": task_graph});
    world.run(executables().join("ralph"), &["task", "import", "-"], &plan.to_string()).exits(0);
}

fn build(world: &World, stand_in: &StandIn, args: &[&str]) -> Run {
    let mut all = vec!["build", "--permission-mode", "bypassPermissions"];
    all.extend_from_slice(args);
    world.ralph_with_client(stand_in, &all)
}

/// The task that a round's session was told to do.
fn task(request: &ApiRequest) -> Option<String> {
    let text = request.all_text();
    let (_, rest) = text.split_once("Your task: ")?;
    Some(rest.split_whitespace().next()?.to_owned())
}

/// Does the task that it is told: writes its file, closes it, stops.
fn worker() -> Script {
    Script::new().answer_with(|request| {
        let id = task(request).expect("a round has a task");
        match request.tool_results().len() {
            0 => ScriptedTurn::bash(&format!("echo {id} > {id}")),
            1 => ScriptedTurn::bash(&format!("ralph task done {id} --result 'wrote {id}'")),
            _ => ScriptedTurn::text("It is done."),
        }
    })
}

fn a_diamond_is_built_in_the_order_of_what_its_tasks_need() {
    let world = planned(&DIAMOND);
    let stand_in = StandIn::start(worker()).unwrap();
    let said = build(&world, &stand_in, &[]).exits(0).stdout;
    assert!(said.contains("Ralph: done in "), "{said}");
    let requests = stand_in.requests();
    let begun: Vec<String> =
        requests.iter().filter(|one| one.tool_results().is_empty()).filter_map(task).collect();
    assert_eq!(begun, ["T-1", "T-2", "T-3", "T-4"]);
    let last = requests.iter().rfind(|one| task(one).as_deref() == Some("T-4")).unwrap();
    assert!(last.all_text().contains("After T-3: wrote T-3"), "{}", last.all_text());
    assert!(!last.all_text().contains("Your task: T-1"), "each session is fresh");
    assert_eq!(the_ended(&world).ending(), "complete at 0/25");
}

fn what_a_client_leaves_open_is_ready_again_and_done_by_the_next() {
    let world = planned(&[("T-1", &[])]);
    // The client is killed in the middle of its first round.
    let kills = ScriptedTurn::bash("kill -9 $CLAUDE_PID; sleep 60");
    let n = AtomicUsize::new(0);
    let script = Script::new().answer_with(move |request| {
        if n.fetch_add(1, Ordering::SeqCst) == 0 {
            return kills.clone();
        }
        match request.tool_results().len() {
            0 => ScriptedTurn::bash("echo x > T-1 && ralph task done T-1 --result done"),
            _ => ScriptedTurn::text("Done."),
        }
    });
    let stand_in = StandIn::start(script).unwrap();
    let run = build(&world, &stand_in, &[]).exits(0);
    assert!(run.stderr.contains("T-1 is ready again; round 1 left it open"), "{run:?}");
    let requests = stand_in.requests();
    let again = requests.iter().rfind(|one| one.tool_results().is_empty()).unwrap();
    assert!(again.all_text().contains("Before: round 1 left it open"), "{}", again.all_text());
    assert_eq!(the_ended(&world).ending(), "complete at 0/25");
}

/// A client with a subscription, whose headers say when the limit is reset; the token opens nothing.
fn build_with_subscription(world: &World, stand_in: &StandIn, args: &[&str]) -> Run {
    let mut command = world.driver(stand_in, &["build"]);
    command.args(["--permission-mode", "bypassPermissions"]).args(args);
    command.env_remove("ANTHROPIC_API_KEY");
    command.env("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-ralph-stand-in-000000000000");
    Run::of(command, "", 4 * PATIENCE)
}

fn a_usage_limit_is_waited_out_and_the_task_is_done() {
    let world = planned(&[("T-1", &[])]);
    let n = AtomicUsize::new(0);
    let limit = used_up(4);
    let script = Script::new().answer_with(move |request| {
        match (n.fetch_add(1, Ordering::SeqCst), request.tool_results().len()) {
            (0, _) => ScriptedTurn::bash("echo x > T-1"),
            (1, _) => limit.clone(),
            (2, _) => ScriptedTurn::bash("ralph task done T-1 --result done"),
            _ => ScriptedTurn::text("Done."),
        }
    });
    let stand_in = StandIn::start(script).unwrap();
    let run = build_with_subscription(&world, &stand_in, &[]).exits(0);
    assert!(run.stderr.contains("the usage limit is reached: waiting until"), "{run:?}");
    assert!(!run.stderr.contains("ready again"), "it is the same round: {run:?}");
    assert_eq!(the_ended(&world).ending(), "complete at 0/25");
}

fn rounds_that_change_nothing_stall_the_loop_together() {
    let world = planned(&[("T-1", &[])]);
    // Two idle stops and a crash, in each round: no round has three of them.
    let n = AtomicUsize::new(0);
    let script = Script::new().answer_with(move |_| match n.fetch_add(1, Ordering::SeqCst) % 3 {
        2 => ScriptedTurn::bash("kill -9 $CLAUDE_PID; sleep 60"),
        _ => ScriptedTurn::text("I think about it."),
    });
    let stand_in = StandIn::start(script).unwrap();
    build(&world, &stand_in, &[]).exits(1);
    let kept = the_ended(&world);
    assert_eq!(kept.state["ending"]["kind"], "stalled", "{:#}", kept.state["ending"]);
    assert!(stand_in.requests().len() <= 6, "{}", stand_in.requests().len());
}

fn what_nobody_can_permit_is_refused_with_another_way() {
    let world = planned(&[("T-1", &[])]);
    let script = Script::new().answer_with(|request| match request.tool_results().len() {
        0 => ScriptedTurn::bash("curl http://198.51.100.1/ > T-1"),
        1 => ScriptedTurn::tool("Write", json!({"file_path": "/etc/rigx", "content": "x"})),
        2 => ScriptedTurn::bash("ralph task fail T-1 --reason 'may not fetch'"),
        _ => ScriptedTurn::text("Done."),
    });
    let stand_in = StandIn::start(script).unwrap();
    world.ralph_with_client(&stand_in, &["build", "--permission-mode", "acceptEdits"]).exits(1);
    let last = stand_in.requests().pop().unwrap();
    let results = last.tool_results();
    assert!(results[0].text.contains("No user is present to permit this"), "{}", results[0].text);
    assert!(results[0].text.contains("Use a plain command"), "{}", results[0].text);
    assert!(results[1].text.contains("Write on /etc/rigx"), "{}", results[1].text);
    let told = world.ralph(&["explain", "100"]).exits(0).stdout;
    assert!(told.contains("refused"), "{told}");
    assert!(told.contains("permission was asked for: Bash: curl"), "{told}");
    assert!(told.contains("not permitted: Bash curl"), "{told}");
}
