//! `ralph build` with the real client: one fresh session for each task, in the order of what they need.

use ralph::standin::{Request, Script, StandIn, Turn};
use serde_json::{Value, json};

use crate::Test;
use crate::kept::{installed, the_ended};
use crate::support::{Run, World, executables};

pub(crate) const TESTS: &[Test] = tests![
    a_diamond_is_built_in_the_order_of_what_its_tasks_need,
    what_a_client_leaves_open_is_ready_again_and_done_by_the_next,
];

const DIAMOND: [(&str, &[&str]); 4] =
    [("T-1", &[]), ("T-2", &["T-1"]), ("T-3", &["T-1"]), ("T-4", &["T-2", "T-3"])];

/// A world whose project has these tasks planned, and one criterion.
fn planned(tasks: &[(&str, &[&str])]) -> World {
    let world = installed();
    let task_graph: Vec<Value> = tasks
        .iter()
        .map(|(id, deps)| {
            json!({"id": id, "name": format!("write {id}"), "deps": deps,
            "completion_condition": format!("test -s {id}"), "files": [id]})
        })
        .collect();
    let last = tasks.last().unwrap().0;
    let criteria = json!([{"id": "AC-1", "description": "the last is there",
        "verification_command": format!("test -s {last}")}]);
    let plan =
        json!({"prompt": "Write them", "acceptance_criteria": criteria, "task_graph": task_graph});
    world.run(executables().join("ralph"), &["task", "import", "-"], &plan.to_string()).exits(0);
    world
}

fn build(world: &World, stand_in: &StandIn, args: &[&str]) -> Run {
    let mut all = vec!["build", "--permission-mode", "bypassPermissions"];
    all.extend_from_slice(args);
    world.ralph_with_client(stand_in, &all)
}

/// The task that a round's session was told to do.
fn task(request: &Request) -> Option<String> {
    let text = request.all_text();
    let (_, rest) = text.split_once("Your task: ")?;
    Some(rest.split_whitespace().next()?.to_owned())
}

/// Does the task that it is told: writes its file, closes it, stops.
fn worker() -> Script {
    Script::new().answer_with(|request| {
        let id = task(request).expect("a round has a task");
        match request.tool_results().len() {
            0 => Turn::bash(&format!("echo {id} > {id}")),
            1 => Turn::bash(&format!("ralph task done {id} --result 'wrote {id}'")),
            _ => Turn::text("It is done."),
        }
    })
}

fn a_diamond_is_built_in_the_order_of_what_its_tasks_need() {
    let world = planned(&DIAMOND);
    let stand_in = StandIn::start(worker()).unwrap();
    let said = build(&world, &stand_in, &[]).exits(0).stdout;
    assert!(said.contains("ended complete at"), "{said}");
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
    let kills = Turn::bash("kill -9 $CLAUDE_PID; sleep 60");
    let n = std::sync::atomic::AtomicUsize::new(0);
    let script = Script::new().answer_with(move |request| {
        if n.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0 {
            return kills.clone();
        }
        match request.tool_results().len() {
            0 => Turn::bash("echo x > T-1 && ralph task done T-1 --result done"),
            _ => Turn::text("Done."),
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
