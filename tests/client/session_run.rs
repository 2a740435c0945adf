//! `ralph team run` with the real client: each call is a session that was started as its agent, and the hooks that
//! `ralph install` registers watch over it.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

use ralph_test_support::fake_api::{ApiRequest, Gate, Script, ScriptedTurn, StandIn};
use serde_json::{Value, json};

use crate::Test;
use crate::kept::installed;
use crate::orchestrated::{self, Called, six_tasks};
use crate::session::code;
use crate::support::{PATIENCE, World};

pub(crate) const TESTS: &[Test] = tests![
    each_call_is_a_session_and_feedback_begins_a_second_iteration,
    a_driver_that_is_killed_in_mid_batch_is_followed_by_one_that_goes_on,
    an_agent_that_leaves_its_part_is_refused,
];

const TASK: [&str; 3] = ["Build a door", "--ac", "the first part is there=test -s task-1.c"];

/// As [`TASK`], for an orchestration that is done after its second iteration.
const TASK_OF_TWO: [&str; 3] = ["Build a door", "--ac", "it does not squeak=test -s fix-2.c"];

/// The folder of the only session.
fn folder(world: &World) -> PathBuf {
    let folders = fs::read_dir(world.project().join(".ralph-sessions")).unwrap().flatten();
    let mut folders = folders.filter(|entry| entry.path().is_dir());
    folders.next().expect("there is a session").path()
}

fn called(request: &ApiRequest) -> Called {
    let text = request.first_user_text();
    let (_, rest) = text.split_once("SESSION_PATH: ").expect("an agent has a prompt");
    let prompt = format!("SESSION_PATH: {}", rest.split("\n<").next().unwrap().trim_end());
    Called { kind: String::new(), prompt }
}

/// What an agent does, one tool after another. The client wants a file read before it is written again, and marks
/// are set by the command that they are for.
fn steps(script: &orchestrated::Script, folder: &Path, call: &Called) -> Vec<ScriptedTurn> {
    let mut steps = Vec::new();
    let id = folder.file_name().unwrap().to_str().unwrap();
    let before = fs::read_to_string(folder.join("progress.md")).unwrap_or_default();
    if call.mode() == "EXECUTE" {
        steps.push(code(call));
    }
    for (path, text) in script.writes(folder, call) {
        let whole = folder.join(&path);
        if path == "progress.md" && whole.exists() {
            let changed = text.lines().zip(before.lines()).find(|(new, old)| new != old);
            let Some((new, _)) = changed else { continue };
            let (mark, task) = new.trim_start_matches("- ").split_once("] ").unwrap();
            let task = task.split([' ', '(']).next().unwrap();
            steps.push(ScriptedTurn::bash(&format!(
                "ralph session mark {task} '{mark}]' --id {id}"
            )));
            continue;
        }
        if whole.exists() {
            steps.push(ScriptedTurn::tool("Read", json!({"file_path": whole})));
        }
        steps.push(ScriptedTurn::tool("Write", json!({"file_path": whole, "content": text})));
    }
    steps
}

/// Agents that do their parts; before one of them, where a call is held, a gate.
fn agents(
    world: &World,
    script: orchestrated::Script,
    held: Option<(&'static str, Gate)>,
) -> Script {
    let project = world.project();
    let todo: Arc<Mutex<HashMap<String, Vec<ScriptedTurn>>>> = Arc::default();
    Script::new().answer_with(move |request| {
        let call = called(request);
        let done = request.tool_results().len();
        let folder = project.join(call.said("SESSION_PATH").trim_end_matches('/'));
        let mut todo = todo.lock().unwrap();
        if done == 0 {
            todo.insert(call.prompt.clone(), steps(&script, &folder, &call));
            if let Some((held, gate)) = &held
                && call.short() == *held
            {
                return ScriptedTurn::held(gate).then_tool("Bash", json!({"command": "true"}));
            }
            return ScriptedTurn::bash("true");
        }
        let steps = &todo[&call.prompt];
        steps.get(done - 1).cloned().unwrap_or_else(|| ScriptedTurn::text("It is in the files."))
    })
}

fn begin(world: &World, stand_in: &StandIn, args: &[&str]) -> Child {
    let mut command = world.driver(stand_in, &["session", "run"]);
    command.args(args).args(["--permission-mode", "acceptEdits"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn finish(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), format!("{}\n{}", text(&output.stdout), text(&output.stderr)))
}

/// Which agents were begun, in order.
fn begun(stand_in: &StandIn) -> Vec<String> {
    let first = |request: &&ApiRequest| request.tool_results().is_empty();
    let requests = stand_in.requests();
    requests.iter().filter(first).map(|request| called(request).short()).collect()
}

fn progress(world: &World) -> String {
    fs::read_to_string(folder(world).join("progress.md")).unwrap_or_default()
}

fn endings(world: &World) -> Vec<String> {
    let folders = fs::read_dir(world.ralph_home().join("archive")).into_iter().flatten();
    let mut folders: Vec<PathBuf> = folders.map(|folder| folder.unwrap().path()).collect();
    folders.sort();
    let state = |folder: &PathBuf| -> Value {
        serde_json::from_slice(&fs::read(folder.join("state.json")).unwrap()).unwrap()
    };
    let kind = |state: Value| state["ending"]["kind"].as_str().unwrap_or_default().to_owned();
    folders.iter().map(state).map(kind).collect()
}

fn each_call_is_a_session_and_feedback_begins_a_second_iteration() {
    let world = installed();
    let mut script = six_tasks();
    script.fails.insert("task-4", 1);
    script.assessments = vec!["Gaps Identified", "Complete"];
    let stops = world.probe("Stop", "");
    let stand_in = StandIn::start(agents(&world, script.clone(), None)).unwrap();
    let (code, said) = finish(begin(&world, &stand_in, &TASK_OF_TWO));
    assert_eq!(code, Some(1), "{said}");
    assert_eq!(endings(&world), ["awaiting_feedback"], "{said}");
    assert!(said.contains("In a terminal: `ralph team run --id"), "{said}");
    assert!(!said.contains("failed:") && !said.contains("was denied"), "{said}");
    let all = begun(&stand_in);
    let times = |short: &str| all.iter().filter(|one| *one == short).count();
    assert_eq!(all[..4], ["INITIALIZE", "brainstorm", "research", "TASK_BREAKDOWN"]);
    for task in 1..=6 {
        let expected = if task == 4 { 2 } else { 1 };
        assert_eq!(times(&format!("EXECUTE task-{task}")), expected, "{all:?}");
        assert_eq!(times(&format!("TASK_REVIEW task-{task}")), expected, "{all:?}");
    }
    let at = |short: &str| all.iter().position(|one| one == short).unwrap();
    assert!(at("EXECUTE task-6") > at("TASK_REVIEW task-5"), "{all:?}");
    // The client names the agent of the whole session, and no id: nothing of it is a subagent's.
    let calls = stops.calls();
    assert_eq!(calls.len(), all.len(), "each call ends its turn once");
    assert_eq!(calls[0]["agent_type"], "Ralph-v2-Planner");
    assert!(calls.iter().all(|call| call["agent_id"].is_null()), "{calls:#?}");
    let requests = stand_in.requests();
    let executor = requests.iter().find(|one| called(one).short() == "EXECUTE task-1").unwrap();
    assert!(executor.system_text().contains("Executor of an orchestration"), "its own words");

    world.ralph(&["session", "feedback", "new"]).exits(0);
    let batches = folder(&world).join("iterations/2/feedbacks");
    let batch = fs::read_dir(batches).unwrap().next().unwrap().unwrap().path().join("feedbacks.md");
    let heading = "## Critical Issues\n";
    let text = fs::read_to_string(&batch).unwrap();
    let text = text.replace(heading, &format!("{heading}- [ ] **ISS-001**: It squeaks\n"));
    fs::write(&batch, text).unwrap();
    let stand_in = StandIn::start(agents(&world, script, None)).unwrap();
    let (code, said) = finish(begin(&world, &stand_in, &[]));
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(endings(&world), ["awaiting_feedback", "complete"], "{said}");
    assert_eq!(
        begun(&stand_in),
        [
            "feedback-analysis",
            "research",
            "UPDATE",
            "REBREAKDOWN",
            "EXECUTE fix-2",
            "TASK_REVIEW fix-2",
            "SESSION_REVIEW",
            "UPDATE_METADATA"
        ]
    );
}

fn a_driver_that_is_killed_in_mid_batch_is_followed_by_one_that_goes_on() {
    let (world, gate) = (installed(), Gate::new());
    let script =
        orchestrated::Script { tasks: vec![("task-1", ""), ("task-2", "")], ..six_tasks() };
    let held = Some(("EXECUTE task-1", gate.clone()));
    let stand_in = StandIn::start(agents(&world, script.clone(), held)).unwrap();
    let mut child = begin(&world, &stand_in, &TASK);
    gate.wait_until_reached(4 * PATIENCE).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!progress(&world).contains("[x] task-1"));
    let again = StandIn::start(agents(&world, script, None)).unwrap();
    let (code, said) = finish(begin(&world, &again, &[]));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("EXECUTE task-1 is begun again: its run is gone"), "{said}");
    assert_eq!(endings(&world), ["complete"], "{said}");
    let all = begun(&again);
    assert_eq!(all.iter().filter(|one| *one == "EXECUTE task-1").count(), 1, "{all:?}");
    for early in ["INITIALIZE", "brainstorm", "research", "TASK_BREAKDOWN"] {
        assert!(!all.iter().any(|one| one == early), "{all:?}");
    }
    assert!(progress(&world).contains("[x] task-1") && progress(&world).contains("[x] task-2"));
}

fn an_agent_that_leaves_its_part_is_refused() {
    let world = installed();
    let script = orchestrated::Script { tasks: vec![("task-1", "")], ..six_tasks() };
    let usual = agents(&world, script.clone(), None);
    drop(usual);
    let project = world.project();
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let refused = Arc::clone(&heard);
    let todo: Arc<Mutex<HashMap<String, Vec<ScriptedTurn>>>> = Arc::default();
    let model = Script::new().answer_with(move |request| {
        let call = called(request);
        let done = request.tool_results().len();
        let folder = project.join(call.said("SESSION_PATH").trim_end_matches('/'));
        let mut todo = todo.lock().unwrap();
        if call.mode() == "EXECUTE" && done > 0 && done <= 3 {
            refused.lock().unwrap().push(request.news());
        }
        if done == 0 {
            let mut all = steps(&script, &folder, &call);
            if call.mode() == "EXECUTE" {
                let plan = folder.join("tasks/task-1.md");
                let wrong = [
                    ScriptedTurn::tool("Write", json!({"file_path": plan, "content": "easier"})),
                    ScriptedTurn::bash("ralph session mark task-1 done"),
                    ScriptedTurn::bash("ralph session signal stop"),
                ];
                all.splice(0..0, wrong);
            }
            todo.insert(call.prompt.clone(), all);
        }
        let steps = &todo[&call.prompt];
        steps.get(done).cloned().unwrap_or_else(|| ScriptedTurn::text("It is in the files."))
    });
    let stand_in = StandIn::start(model).unwrap();
    let (code, said) = finish(begin(&world, &stand_in, &TASK));
    assert_eq!(code, Some(0), "{said}");
    let heard = heard.lock().unwrap();
    for (at, words) in ["task", "mark", "for the user only"].into_iter().enumerate() {
        assert!(heard[at].contains(words), "{at}: {}", heard[at]);
    }
    let task = fs::read_to_string(folder(&world).join("tasks/task-1.md")).unwrap();
    assert!(task.contains("# Task: task-1"), "{task}");
}
