//! An orchestrated session in the real client: a conversation that does what `Next:` says, and agents that write what
//! they are called for.
//!
//! Skill, agents and hooks are what `ralph install` puts there.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ralph_test_support::fake_api::{ApiRequest, Gate, Script, ScriptedTurn, StandIn};
use serde_json::{Value, json};

use crate::Test;
use crate::kept::{installed, session_entries, the_live};
use crate::orchestrated::{self, Called, calls_in, six_tasks};
use crate::support::{PATIENCE, World};

pub(crate) const TESTS: &[Test] = tests![
    six_tasks_in_three_waves_a_failure_rework_feedback_and_a_second_iteration,
    a_steer_and_a_pause_in_the_middle_of_a_batch,
    a_client_that_is_killed_while_any_agent_works_goes_on_where_it_was,
    a_model_that_does_the_work_itself_or_calls_what_is_not_next_is_refused,
    a_model_that_asks_first_makes_the_hooks_calls_and_a_stop_reaches_executors_at_work,
    a_damaged_progress_is_rendered_anew_and_the_work_goes_on,
    an_agent_in_the_background_is_known_by_its_transcript,
];

const START: &str = "/ralph-v2 \"Build a door\" --ac 'the first part is there=test -s task-1.c'";

/// As [`START`], for an orchestration that is done after its second iteration.
const START_OF_TWO: &str = "/ralph-v2 \"Build a door\" --ac 'it does not squeak=test -s fix-2.c'";

/// What is special about the agents of a session.
#[derive(Clone, Default)]
struct Cast {
    script: orchestrated::Script,
    /// The call that waits at the gate, each time it is made.
    held: Option<(&'static str, Gate)>,
    /// Another that waits at a gate of its own.
    second: Option<(&'static str, Gate)>,
}

fn cast(script: orchestrated::Script) -> Cast {
    Cast { script, held: None, second: None }
}

/// The folder of the only session.
fn folder(world: &World) -> PathBuf {
    let mut folders = fs::read_dir(world.project().join(".ralph-sessions")).unwrap().flatten();
    folders.find(|entry| entry.path().is_dir()).expect("there is a session").path()
}

fn called(request: &ApiRequest) -> Called {
    let text = request.first_user_text();
    let (_, rest) = text.split_once("SESSION_PATH: ").expect("an agent has a prompt");
    let prompt = format!("SESSION_PATH: {}", rest.split("\n<").next().unwrap().trim_end());
    Called { kind: String::new(), prompt }
}

/// What an executor adds to the project for its task.
pub(crate) fn code(call: &Called) -> ScriptedTurn {
    let task = call.said("TASK_ID");
    ScriptedTurn::bash(&format!("echo '// {task}' >> {task}.c"))
}

/// What an agent does, one tool after another. The client wants a file read before it is written again, and marks are
/// set by the command that they are for.
fn steps(cast: &Cast, folder: &std::path::Path, call: &Called) -> Vec<ScriptedTurn> {
    let mut steps = Vec::new();
    let id = folder.file_name().unwrap().to_str().unwrap();
    let before = fs::read_to_string(folder.join("progress.md")).unwrap_or_default();
    if call.mode() == "EXECUTE" {
        steps.push(code(call));
    }
    for (path, text) in cast.script.writes(folder, call) {
        let whole = folder.join(&path);
        let is_mark = path == "progress.md" && whole.exists() && call.mode() != "REPAIR_STATE";
        if is_mark {
            let changed = text.lines().zip(before.lines()).find(|(new, old)| new != old);
            let (new, _) = changed.expect("a line is marked");
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

/// Gives the conversation its agents.
fn join(conversation: Script, cast: Cast, world: &World) -> Script {
    let project = world.project();
    let todo: Arc<Mutex<HashMap<String, Vec<ScriptedTurn>>>> = Arc::default();
    let agent = Script::new().answer_with(move |request| {
        let call = called(request);
        let done = request.tool_results().len();
        let folder = project.join(call.said("SESSION_PATH").trim_end_matches('/'));
        let mut todo = todo.lock().unwrap();
        if done == 0 {
            todo.insert(call.prompt.clone(), steps(&cast, &folder, &call));
            let held = [&cast.held, &cast.second].into_iter().flatten();
            let waits = held.into_iter().find(|(held, _)| call.short().starts_with(held));
            if let Some((_, gate)) = waits {
                return ScriptedTurn::held(gate).then_tool("Bash", json!({"command": "true"}));
            }
            return ScriptedTurn::bash("true");
        }
        let steps = &todo[&call.prompt];
        steps.get(done - 1).cloned().unwrap_or_else(|| ScriptedTurn::text("It is in the files."))
    });
    conversation.subagent("SESSION_PATH: ", agent)
}

fn agent_call(call: &Called, in_background: bool) -> Value {
    json!({"subagent_type": call.kind, "description": call.short(), "prompt": call.prompt,
        "run_in_background": in_background})
}

/// What a conversation that obeys does now; none where nothing is told.
fn obey(request: &ApiRequest, in_background: bool) -> Option<ScriptedTurn> {
    let news = request.news();
    let calls = calls_in(&news);
    if let (true, Some((_, command))) = (calls.is_empty(), news.split_once("`ralph session next")) {
        let (options, _) = command.split_once('`').unwrap();
        return Some(ScriptedTurn::bash(&format!("ralph session next{options}")));
    }
    let nothing = || ScriptedTurn::of(Vec::new());
    let add = |turn: ScriptedTurn, call: &Called| {
        turn.then_tool("Agent", agent_call(call, in_background))
    };
    (!calls.is_empty()).then(|| calls.iter().fold(nothing(), add))
}

fn obedient() -> Script {
    Script::new().answer_with(|request| {
        obey(request, false).unwrap_or_else(|| ScriptedTurn::text("I wait."))
    })
}

/// How the loops of this world have ended, the oldest first.
fn endings(world: &World) -> Vec<String> {
    let folders = fs::read_dir(world.ralph_home().join("archive")).into_iter().flatten();
    let mut all: Vec<(String, String)> = folders
        .map(|folder| fs::read_to_string(folder.unwrap().path().join("state.json")).unwrap())
        .map(|text| serde_json::from_str::<Value>(&text).unwrap())
        .map(|state| {
            let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            (word(&state["loop_id"]), word(&state["ending"]["kind"]))
        })
        .collect();
    all.sort();
    all.into_iter().map(|(_, kind)| kind).collect()
}

fn progress(world: &World) -> String {
    fs::read_to_string(folder(world).join("progress.md")).unwrap_or_default()
}

/// Which agents were begun, in order.
fn begun(stand_in: &StandIn) -> Vec<String> {
    let first = |request: &&ApiRequest| request.tool_results().is_empty();
    let requests = stand_in.subagent_requests();
    requests.iter().filter(first).map(|request| called(request).short()).collect()
}

fn six_tasks_in_three_waves_a_failure_rework_feedback_and_a_second_iteration() {
    let world = installed();
    let mut script = six_tasks();
    script.fails.insert("task-4", 1);
    script.assessments = vec!["Gaps Identified", "Complete"];
    let stand_in = StandIn::start(join(obedient(), cast(script.clone()), &world)).unwrap();
    world.client(&stand_in).prompt(START_OF_TWO).result();
    assert_eq!(endings(&world), ["awaiting_feedback"], "{}", progress(&world));
    let begun = begun(&stand_in);
    let times = |short: &str| begun.iter().filter(|one| *one == short).count();
    assert_eq!(begun[..4], ["INITIALIZE", "brainstorm", "research", "TASK_BREAKDOWN"]);
    for task in 1..=6 {
        let expected = if task == 4 { 2 } else { 1 };
        assert_eq!(times(&format!("EXECUTE task-{task}")), expected, "{begun:?}");
        assert_eq!(times(&format!("TASK_REVIEW task-{task}")), expected, "{begun:?}");
    }
    let at = |short: &str| begun.iter().position(|one| one == short).unwrap();
    assert!(
        at("EXECUTE task-3") > at("TASK_REVIEW task-2")
            && at("EXECUTE task-6") > at("TASK_REVIEW task-5")
    );
    assert_eq!(begun[begun.len() - 2..], ["SESSION_REVIEW", "UPDATE_METADATA"]);

    world.ralph(&["session", "feedback", "new"]).exits(0);
    let batches = folder(&world).join("iterations/2/feedbacks");
    let batch = fs::read_dir(batches).unwrap().next().unwrap().unwrap().path().join("feedbacks.md");
    let heading = "## Critical Issues\n";
    let text = fs::read_to_string(&batch).unwrap();
    fs::write(&batch, text.replace(heading, &format!("{heading}- [ ] **ISS-001**: It squeaks\n")))
        .unwrap();
    let stand_in = StandIn::start(join(obedient(), cast(script), &world)).unwrap();
    world.client(&stand_in).prompt("/ralph-v2").result();
    assert_eq!(endings(&world), ["awaiting_feedback", "complete"], "{}", progress(&world));
    assert_eq!(
        self::begun(&stand_in),
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
    let before = fs::read_to_string(folder(&world).join("plan.iteration-1.md")).unwrap();
    assert_eq!(before, "Goal: a door\n");
}

fn a_steer_and_a_pause_in_the_middle_of_a_batch() {
    let (world, gate) = (installed(), Gate::new());
    let script =
        orchestrated::Script { tasks: vec![("task-1", ""), ("task-2", "task-1")], ..six_tasks() };
    let held = Some(("EXECUTE task-1", gate.clone()));
    let stand_in = StandIn::start(join(
        obedient(),
        Cast { script: script.clone(), held, second: None },
        &world,
    ))
    .unwrap();
    std::thread::scope(|scope| {
        let run = scope.spawn(|| world.client(&stand_in).prompt(START));
        gate.wait_until_reached(PATIENCE).unwrap();
        world.ralph(&["signal", "steer", "use oak"]).exits(0);
        world.ralph(&["session", "signal", "pause", "lunch"]).exits(0);
        gate.open();
        run.join().unwrap();
    });
    let state = the_live(&world).state;
    assert_eq!((&state["phase"], &state["pause"]["cause"]), (&json!("paused"), &json!("person")));
    let first: Vec<ApiRequest> = stand_in.subagent_requests();
    let heard = |request: &&ApiRequest| {
        called(request).short() == "EXECUTE task-1" && request.news().contains("use oak")
    };
    assert_eq!(first.iter().filter(heard).count(), 1, "the executor at work has heard it once");
    assert!(
        begun(&stand_in).iter().all(|short| !short.starts_with("TASK_REVIEW")),
        "nothing was begun after"
    );
    let stand_in = StandIn::start(join(obedient(), cast(script), &world)).unwrap();
    let session = session_entries(&world).pop().unwrap();
    world.client(&stand_in).args(&["--resume", &session]).prompt("/ralph-v2").result();
    assert_eq!(endings(&world), ["complete"], "{}", progress(&world));
    let requests = stand_in.subagent_requests();
    let second = requests.iter().map(called).find(|call| call.short() == "EXECUTE task-2").unwrap();
    assert!(second.prompt.contains("SIGNAL: STEER: use oak"), "{}", second.prompt);
    assert_eq!(fs::read_dir(folder(&world).join("signals/inputs")).unwrap().count(), 0);
}

/// Who works in which state of a session.
const PLACES: [(&str, &str); 8] = [
    ("INITIALIZE", ""),
    ("brainstorm", "PLANNING"),
    ("research", "PLANNING"),
    ("TASK_BREAKDOWN", "PLANNING"),
    ("EXECUTE task-1", "EXECUTING_BATCH"),
    ("TASK_REVIEW task-1", "REVIEWING_BATCH"),
    ("SESSION_REVIEW", "SESSION_REVIEW"),
    ("UPDATE_METADATA", "SESSION_REVIEW"),
];

fn a_client_that_is_killed_while_any_agent_works_goes_on_where_it_was() {
    let world = installed();
    let script = orchestrated::Script { tasks: vec![("task-1", "")], ..six_tasks() };
    let mut session = String::new();
    for (at, (place, state)) in PLACES.into_iter().enumerate() {
        let gate = Gate::new();
        let held = Some((place, gate.clone()));
        let cast = Cast { script: script.clone(), held, second: None };
        let stand_in = StandIn::start(join(obedient(), cast, &world)).unwrap();
        let resumed = ["--resume".to_owned(), session.clone()];
        let args: Vec<&str> =
            if at == 0 { Vec::new() } else { resumed.iter().map(String::as_str).collect() };
        let prompt = if at == 0 { START } else { "Go on." };
        world
            .client(&stand_in)
            .args(&args)
            .killed_after(prompt, || gate.wait_until_reached(PATIENCE).unwrap());
        session = session_entries(&world).pop().expect("it is bound to its session");
        let metadata = fs::read_to_string(folder(&world).join("metadata.yaml")).unwrap_or_default();
        assert!(
            state.is_empty() || metadata.contains(&format!("state: {state}")),
            "{place}: {metadata}"
        );
        assert_eq!(begun(&stand_in).last().map(String::as_str), Some(place));
    }
    let stand_in = StandIn::start(join(obedient(), cast(script), &world)).unwrap();
    world.client(&stand_in).args(&["--resume", &session]).prompt("Go on.").result();
    assert_eq!(endings(&world), ["complete"], "{}", progress(&world));
    assert_eq!(begun(&stand_in), ["UPDATE_METADATA"]);
}

fn a_model_that_does_the_work_itself_or_calls_what_is_not_next_is_refused() {
    let world = installed();
    let project = world.project();
    let n = AtomicUsize::new(0);
    let refused: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = Arc::clone(&refused);
    let next: Arc<Mutex<Vec<Called>>> = Arc::default();
    let conversation = Script::new().answer_with(move |request| {
        let calls = calls_in(&request.news());
        if calls.first().is_some_and(|call| call.mode() == "INITIALIZE")
            && n.load(Ordering::SeqCst) == 0
        {
            return obey(request, false).unwrap();
        }
        let mut next = next.lock().unwrap();
        if next.is_empty() && calls.is_empty() {
            return obey(request, false).unwrap_or_else(|| ScriptedTurn::text("I wait."));
        }
        let turn = n.fetch_add(1, Ordering::SeqCst);
        if turn > 0 {
            heard.lock().unwrap().push(request.news());
        }
        if turn == 0 {
            *next = calls;
        }
        let sessions = project.join(".ralph-sessions");
        let folder = fs::read_dir(&sessions).unwrap().flatten().next().unwrap().path();
        let call = next.first().expect("a call comes next").clone();
        let with = |prompt: String| Called { prompt, ..call.clone() };
        match turn {
            0 => ScriptedTurn::tool(
                "Write",
                json!({"file_path": folder.join("plan.md"), "content": "mine"}),
            ),
            1 => ScriptedTurn::bash(&format!("echo mine > {}/tasks.md", folder.display())),
            2 => ScriptedTurn::bash("ralph session mark plan-brainstorm done"),
            3 => ScriptedTurn::tool(
                "Agent",
                agent_call(&with(format!("{}\nMODE: research", call.prompt)), false),
            ),
            4 => {
                let other = Called { kind: "Ralph-v2-Executor".to_owned(), ..call.clone() };
                ScriptedTurn::tool("Agent", agent_call(&other, false))
            }
            5 => ScriptedTurn::tool("Agent", agent_call(&with("Do it all".to_owned()), false)),
            6 => ScriptedTurn::tool(
                "Write",
                json!({"file_path": project.join("door.rs"), "content": "mine"}),
            ),
            7 => ScriptedTurn::bash("touch door.rs"),
            8 => ScriptedTurn::bash("ralph session status | head -n 20"),
            _ => ScriptedTurn::text("I give up."),
        }
    });
    let cast = cast(six_tasks());
    let stand_in = StandIn::start(join(conversation, cast, &world)).unwrap();
    world.client(&stand_in).prompt(&START.replace("--ac", "--stall-limit 1 --ac"));
    let refused = refused.lock().unwrap();
    for (at, words) in [
        "must not write the orchestration's files",
        "would change the session's folder by a command",
        "must not write the orchestration's files",
        "exactly one mode",
        "not the next call",
        "not the next call",
        "does no work of its own",
        "does no work of its own",
        "PLANNING",
    ]
    .into_iter()
    .enumerate()
    {
        assert!(refused[at].contains(words), "{at}: {}", refused[at]);
    }
    for refusal in &refused[6..8] {
        assert!(refusal.contains("Ralph-v2-Questioner"), "it says whom to call: {refusal}");
    }
    assert!(!world.project().join("door.rs").exists());
    assert_eq!(begun(&stand_in), ["INITIALIZE"], "nobody else was called");
    assert_eq!(fs::read_to_string(folder(&world).join("plan.md")).unwrap(), "Goal: a door\n");
    assert_eq!(the_live(&world).state["phase"], "paused", "it rests");
}

/// Every call is the one that `ralph session next --json` prints, and the guard takes each at once.
fn a_model_that_asks_first_makes_the_hooks_calls_and_a_stop_reaches_executors_at_work() {
    let (world, steered, stopped) = (installed(), Gate::new(), Gate::new());
    let asked = Arc::new(Mutex::new(false));
    let conversation = Script::new().answer_with(move |request| {
        let mut asked = asked.lock().unwrap();
        let news = request.news();
        if std::mem::take(&mut *asked) {
            let printed = news.find('{').map(|at| &news[at..]).unwrap_or_default();
            let mut values = serde_json::Deserializer::from_str(printed).into_iter::<Value>();
            let Some(Ok(said)) = values.next() else { return ScriptedTurn::text("I wait.") };
            let calls = said["invocations"].as_array().cloned().unwrap_or_default();
            if calls.is_empty() {
                return ScriptedTurn::text("I wait.");
            }
            let word = |value: &Value| value.as_str().unwrap().to_owned();
            return calls.iter().fold(ScriptedTurn::of(Vec::new()), |turn, call| {
                let call = Called { kind: word(&call["agent"]), prompt: word(&call["prompt"]) };
                turn.then_tool("Agent", agent_call(&call, false))
            });
        }
        *asked = news.contains("Next: ") || news.contains("; next: ") || news.contains(": next: ");
        match *asked {
            true => ScriptedTurn::bash("ralph session next --json"),
            false => ScriptedTurn::text("I wait."),
        }
    });
    let script =
        orchestrated::Script { tasks: vec![("task-1", ""), ("task-2", "")], ..six_tasks() };
    let held = Some(("brainstorm", steered.clone()));
    let second = Some(("EXECUTE task-1", stopped.clone()));
    let stand_in =
        StandIn::start(join(conversation, Cast { script, held, second }, &world)).unwrap();
    std::thread::scope(|scope| {
        let run = scope.spawn(|| world.client(&stand_in).prompt(START));
        steered.wait_until_reached(PATIENCE).unwrap();
        world.ralph(&["signal", "steer", "use oak"]).exits(0);
        steered.open();
        stopped.wait_until_reached(PATIENCE).unwrap();
        world.ralph(&["session", "signal", "stop", "enough"]).exits(0);
        stopped.open();
        run.join().unwrap();
    });
    let begun = begun(&stand_in);
    assert_eq!(begun[..4], ["INITIALIZE", "brainstorm", "research", "TASK_BREAKDOWN"]);
    assert_eq!(begun.len(), 6, "nobody is called after the stop: {begun:?}");
    let requests = stand_in.subagent_requests();
    let research = requests.iter().map(called).find(|call| call.short() == "research").unwrap();
    assert!(research.prompt.contains("SIGNAL: STEER: use oak"), "{}", research.prompt);
    let hears = |request: &&ApiRequest| request.news().contains("Stop and report");
    let told: Vec<&ApiRequest> = requests.iter().filter(hears).collect();
    assert!(
        told.iter().any(|request| called(request).short() == "EXECUTE task-1"),
        "{}",
        told.len()
    );
    assert!(told.iter().all(|request| !request.news().contains("go on with the work")));
    assert_eq!(endings(&world), ["cancelled"], "{}", progress(&world));
    assert_eq!(fs::read_dir(folder(&world).join("signals/inputs")).unwrap().count(), 0);
}

fn a_damaged_progress_is_rendered_anew_and_the_work_goes_on() {
    let (world, gate) = (installed(), Gate::new());
    let script =
        orchestrated::Script { tasks: vec![("task-1", ""), ("task-2", "")], ..six_tasks() };
    let held = Some(("EXECUTE task-1", gate.clone()));
    let stand_in =
        StandIn::start(join(obedient(), Cast { script, held, second: None }, &world)).unwrap();
    std::thread::scope(|scope| {
        let run = scope.spawn(|| world.client(&stand_in).prompt(START));
        gate.wait_until_reached(PATIENCE).unwrap();
        let path = folder(&world).join("progress.md");
        let text = fs::read_to_string(&path).unwrap();
        let at = text.lines().position(|line| line.ends_with("task-2")).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        lines.insert(at, "- [?] task-9");
        let text = lines.join("\n") + "\n";
        // In one step: another executor may read it at this moment.
        let whole = path.with_extension("whole");
        fs::write(&whole, text).unwrap();
        fs::rename(whole, path).unwrap();
        gate.open();
        run.join().unwrap();
    });
    let requests = stand_in.subagent_requests();
    assert!(requests.iter().map(called).all(|call| call.short() != "REPAIR_STATE"));
    assert!(!progress(&world).contains("[?]"), "{}", progress(&world));
    assert_eq!(endings(&world), ["complete"], "{}", progress(&world));
}

fn an_agent_in_the_background_is_known_by_its_transcript() {
    let world = installed();
    let script =
        orchestrated::Script { tasks: vec![("task-1", ""), ("task-2", "")], ..six_tasks() };
    let conversation = Script::new().answer_with(|request| {
        obey(request, true).unwrap_or_else(|| ScriptedTurn::text("I wait."))
    });
    let stand_in = StandIn::start(join(conversation, cast(script), &world)).unwrap();
    world.client(&stand_in).prompt(START).result();
    assert_eq!(endings(&world), ["complete"], "{}", progress(&world));
}
