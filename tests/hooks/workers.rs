//! Workers: who may be started, what becomes of their reports, and of those that are gone.

use crate::world::{Ran, World};
use serde_json::{Value, json};

const WHOLE: &str =
    "Status: DONE\nFiles changed: made\nTests: none\nCompletion condition: met\nNotes: none";

/// A loop for workers with these tasks.
fn parallel(arguments: &str) -> World {
    let world = World::new();
    world.type_command("ralph-parallel", arguments);
    assert_eq!(world.state()["parallel"], true, "{:#}", world.state());
    world
}

fn agent(kind: &str, about: &str, prompt: &str) -> Value {
    json!({"subagent_type": kind, "description": about, "prompt": prompt})
}

fn calls(world: &World, id: &str, input: Value) -> Ran {
    let members = json!({"tool_name": "Agent", "tool_input": input, "tool_use_id": id});
    world.event("ralph-pre-tool-use", "PreToolUse", members)
}

fn starts(world: &World, task: &str) -> Ran {
    calls(
        world,
        &format!("call-{task}"),
        agent("ralph-worker", task, &format!("Ralph task {task}\n")),
    )
}

/// The client says which agent it has started.
fn launched(world: &World, task: &str) {
    let members = json!({"tool_name": "Agent", "tool_use_id": format!("call-{task}"),
        "tool_input": agent("ralph-worker", task, ""),
        "tool_response": {"isAsync": true, "status": "async_launched", "agentId": format!("a-{task}")}});
    world.event("ralph-backpressure", "PostToolUse", members).silent();
}

/// A worker at work, in a worktree of its own.
fn at_work(world: &World, task: &str) -> String {
    starts(world, task).silent();
    launched(world, task);
    let tree = format!(".claude/worktrees/agent-a-{task}");
    world.git(&format!("worktree add -q -b worktree-agent-a-{task} {tree}"));
    world.project().join(tree).to_str().unwrap().to_owned()
}

fn stops(world: &World, task: &str, tree: &str, message: &str) -> Ran {
    let members = json!({"agent_id": format!("a-{task}"), "agent_type": "ralph-worker", "cwd": tree,
        "agent_transcript_path": "/nowhere", "last_assistant_message": message, "background_tasks": []});
    world.event("ralph-stop-hook", "SubagentStop", members)
}

fn task(world: &World, place: usize) -> String {
    let state = world.state();
    let task = &state["task_graph"][place];
    format!("{} {}", task["status"].as_str().unwrap(), task["result"].as_str().unwrap_or("-"))
}

#[test]
fn a_list_is_a_loop_with_a_task_for_each() {
    let world = parallel("\"Add login page, Add signup page\" --workers 2");
    let state = world.state();
    assert_eq!(state["task_graph"][1]["name"], "Add signup page");
    assert_eq!(state["limits"]["max_workers"], 2);
    assert_eq!(state["prompt"], "Carry out: Add login page; Add signup page");
}

#[test]
fn a_document_is_named_and_one_that_is_missing_starts_nothing() {
    let world = World::new();
    let said = world.type_command("ralph-parallel", "docs/prd.md").kept_from_model();
    assert!(said.contains("there is no file `docs/prd.md`"), "{said}");
    assert!(!world.has_entry());
    world.write("docs/prd.md", "# Build it\n");
    let contract = world.type_command("ralph:ralph-parallel", "docs/prd.md").context();
    assert!(contract.contains("Carry out `docs/prd.md`"), "{contract}");
    let step = world.step(&world.working_stop("x"));
    assert!(step.contains("there are no tasks yet"), "{step}");
}

#[test]
fn a_loop_for_workers_without_tasks_cannot_complete_whatever_its_criteria_say() {
    for options in [" --ac 'there=test -f docs/prd.md'", " --completion token", ""] {
        let world = World::new();
        world.write("docs/prd.md", "# Build it\n");
        let contract =
            world.type_command("ralph-parallel", &format!("docs/prd.md{options}")).context();
        assert!(contract.contains("without tasks this loop cannot complete"), "{contract}");
        let next = world.ralph(&["parallel", "next"]);
        assert!(!next.success, "{}", next.text);
        assert!(next.text.contains("There are no tasks yet"), "{}", next.text);
        assert!(next.text.contains("`ralph plan-sync`"), "{}", next.text);
        let step = world.step(&world.working_stop("All done.\n\nRALPH_COMPLETE"));
        assert!(step.contains("refused") && step.contains("this loop has no tasks yet"), "{step}");
        assert_eq!(world.standing(), "implementation 1/25", "{options}");
    }
}

#[test]
fn a_running_loop_becomes_one_for_workers() {
    let mut world = World::looping("");
    world.prompt("p-2", "/ralph-parallel").exit(0);
    world.expansion("ralph-parallel", "").exit(0);
    assert_eq!(world.state()["parallel"], true);
    assert_eq!(world.standing(), "implementation 0/25");
}

#[test]
fn the_fifth_worker_is_refused_with_a_reason_and_may_come_when_one_has_ended() {
    let world = parallel("a, b, c, d, e");
    for task in ["T-1", "T-2", "T-3", "T-4"] {
        starts(&world, task).silent();
    }
    let why = starts(&world, "T-5").denied();
    assert!(why.contains("4 of at most 4 workers are at work (T-1, T-2, T-3, T-4)"), "{why}");
    let why = calls(&world, "x", agent("Explore", "look", "look")).denied();
    assert!(why.contains("4 of at most 4"), "{why}");
    // The same call a second time, by another registration's copy, is no other worker.
    starts(&world, "T-4").silent();
    assert_eq!(world.state()["workers"].as_array().unwrap().len(), 4);
    launched(&world, "T-1");
    let ended = "Status: PARTIAL\nFiles changed: none\nTests: none\nCompletion condition: not met\nNotes: half";
    stops(&world, "T-1", world.project().to_str().unwrap(), ended).silent();
    starts(&world, "T-5").silent();
}

#[test]
fn a_report_that_git_bears_out_closes_its_task() {
    let world = parallel("a, b");
    let tree = at_work(&world, "T-1");
    std::fs::write(format!("{tree}/made"), "x").unwrap();
    stops(&world, "T-1", &tree, WHOLE).silent();
    assert_eq!(task(&world, 0), "done met");
    let worker = &world.state()["workers"][0];
    assert_eq!(worker["standing"], "done");
    assert_eq!(worker["branch"], "worktree-agent-a-T-1");
    assert_eq!(worker["files"], json!(["made"]));
    assert!(worker["worktree"].as_str().unwrap().ends_with(".claude/worktrees/agent-a-T-1"));
}

#[test]
fn a_report_that_does_not_hold_goes_back_once() {
    let world = parallel("a, b");
    let tree = at_work(&world, "T-1");
    let why = stops(&world, "T-1", &tree, "I have done it.").blocked();
    assert!(why.contains("The line `Status:` is missing"), "{why}");
    assert_eq!(task(&world, 0), "in_progress -");
    stops(&world, "T-1", &tree, WHOLE).silent();
    assert_eq!(
        task(&world, 0),
        "pending a worker got part of the way: it says DONE, and nothing has changed"
    );
}

#[test]
fn a_report_to_a_loop_that_rests_is_taken_and_sends_nobody_on() {
    let mut world = parallel("a, b");
    let (one, two) = (at_work(&world, "T-1"), at_work(&world, "T-2"));
    world.prompt("prompt-1", "ralph pause").exit(0);
    std::fs::write(format!("{one}/made"), "x").unwrap();
    stops(&world, "T-1", &one, WHOLE).silent();
    assert_eq!(task(&world, 0), "done met");
    stops(&world, "T-2", &two, "I have done it.").silent();
    assert!(
        task(&world, 1).starts_with("pending a worker got part of the way"),
        "{}",
        task(&world, 1)
    );
    assert_eq!(world.state()["phase"], "paused");
}

#[test]
fn a_worker_that_is_gone_is_named_and_its_task_is_free() {
    let world = parallel("a, b");
    at_work(&world, "T-1");
    at_work(&world, "T-2");
    let there = json!([{"id": "a-T-2", "type": "subagent", "status": "running", "description": "T-2",
        "agent_type": "ralph-worker"}]);
    // One is still at work, so the turn ends; the person reads what became of the other.
    let said = world.stop_with(json!({"background_tasks": there})).message();
    assert!(said.contains("T-1 is ready again: its worker (T-1) ended without a report"), "{said}");
    let step = world.step(&world.working_stop("x"));
    assert!(step.contains("T-2 is ready again: its worker (T-2) ended without a report"), "{step}");
    assert!(step.contains("run `ralph parallel next`"), "{step}");
}

#[test]
fn a_worker_whose_start_failed_holds_no_place() {
    let world = parallel("a");
    starts(&world, "T-1").silent();
    let members = json!({"tool_name": "Agent", "tool_use_id": "call-T-1", "error": "not a git repository",
        "tool_input": agent("ralph-worker", "T-1", "")});
    world.event("ralph-backpressure", "PostToolUseFailure", members).silent();
    assert_eq!(world.state()["workers"].as_array().map(Vec::len), None);
    assert!(task(&world, 0).starts_with("pending"));
}

#[test]
fn a_worker_without_a_line_for_its_task_is_told_where_to_have_it() {
    let world = parallel("a");
    let why = calls(&world, "x", agent("ralph-worker", "a", "Do a")).denied();
    assert!(why.contains("`ralph parallel next` prints the calls"), "{why}");
}

#[test]
fn a_worker_that_ends_before_its_id_is_known_is_found_by_its_prompt() {
    let world = parallel("a");
    starts(&world, "T-1").silent();
    let transcript = world.root().join("worker.jsonl");
    let row =
        json!({"type": "user", "message": {"role": "user", "content": "Ralph task T-1\nDo: a"}});
    std::fs::write(&transcript, format!("{row}\n")).unwrap();
    let members = json!({"agent_id": "a9", "agent_type": "ralph:ralph-worker", "agent_transcript_path": transcript,
        "last_assistant_message": WHOLE.replace("made", "none"), "background_tasks": []});
    world.event("ralph-stop-hook", "SubagentStop", members).silent();
    assert_eq!(task(&world, 0), "done met");
    launched(&world, "T-1");
    assert_eq!(world.state()["workers"][0]["standing"], "done");
}

/// A worker's call of a tool.
fn works(world: &World, task: &str) -> Ran {
    let members = json!({"tool_name": "Bash", "tool_input": {"command": "true"}, "tool_use_id": "t",
        "agent_id": format!("a-{task}"), "agent_type": "ralph-worker"});
    world.event("ralph-pre-tool-use", "PreToolUse", members)
}

#[test]
fn workers_hear_of_a_cancel_whatever_the_session_hears_before_them() {
    let mut world = parallel("a, b");
    at_work(&world, "T-1");
    at_work(&world, "T-2");
    let (first, second) =
        (json!({"id": "a-T-1", "type": "subagent"}), json!({"id": "a-T-2", "type": "subagent"}));
    world.stop_with(json!({"background_tasks": [first, second]})).silent();
    assert!(world.elsewhere(&["cancel"]).success);
    assert_eq!(works(&world, "T-1").json()["continue"], false);
    // Its end wakes the session, which has not heard of the cancel, while the other is still at work.
    world.prompt("p-2", "<task-notification>\n<task-id>a-T-1</task-id>").silent();
    world.stop_with(json!({"background_tasks": [second]})).silent();
    // What a person has started besides is none of the loop's.
    works(&world, "T-9").silent();
    assert_eq!(works(&world, "T-2").json()["continue"], false);
    let told = world.stop_with(json!({"background_tasks": []})).message();
    assert!(told.contains("cancelled"), "{told}");
    assert!(!world.has_entry());
}

#[test]
fn a_worker_does_not_change_in_its_worktree_what_holds_the_loop() {
    let world = parallel("a");
    let tree = at_work(&world, "T-1");
    for path in [".claude/settings.json", ".claude/settings.local.json", ".claude/ralph.toml"] {
        let members = json!({"tool_name": "Write", "tool_use_id": "t", "agent_id": "a-T-1",
            "agent_type": "ralph-worker", "cwd": tree,
            "tool_input": {"file_path": format!("{tree}/{path}"), "content": "{}"}});
        let why = world.event("ralph-pre-tool-use", "PreToolUse", members).denied();
        assert!(why.contains("only the user may do that"), "{path}: {why}");
        let command = format!("cp x {path}");
        let members = json!({"tool_name": "Bash", "tool_use_id": "t", "agent_id": "a-T-1",
            "agent_type": "ralph-worker", "cwd": tree, "tool_input": {"command": command}});
        world.event("ralph-pre-tool-use", "PreToolUse", members).denied();
    }
}

#[test]
fn what_a_worker_edits_in_its_worktree_is_checked_there() {
    let world = parallel("a");
    let tree = at_work(&world, "T-1");
    let file = format!("{tree}/broken.json");
    std::fs::write(&file, "{").unwrap();
    let members = json!({"tool_name": "Write", "tool_use_id": "t", "agent_id": "a-T-1",
        "agent_type": "ralph-worker", "cwd": tree, "tool_input": {"file_path": file, "content": "{"},
        "tool_response": {"type": "create", "filePath": file, "content": "{"}});
    let said = world.event("ralph-backpressure", "PostToolUse", members).context();
    assert!(said.contains("Ralph checked") && said.contains("broken.json"), "{said}");
}
