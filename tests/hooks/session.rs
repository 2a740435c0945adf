//! An orchestrated session from end to end: what each tool, agent and stop comes to in its conversation.

use crate::orchestrated::{Called, Script, calls_in, set_mark, six_tasks};
use crate::world::{Ran, World, executable, run};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// A conversation, and the agents that it has called.
struct Play {
    world: World,
    script: Script,
    /// What was called, in order.
    called: Vec<String>,
    number: usize,
}

fn begun(flags: &str, script: Script) -> (Play, String) {
    let world = World::new();
    let typed = world.type_command("ralph-v2", &format!("\"Build a door\" {flags}"));
    let text = typed.context();
    (Play { world, script, called: Vec::new(), number: 0 }, text)
}

fn folder(world: &World) -> PathBuf {
    let state = world.state();
    world.project().join(".ralph-sessions").join(state["session"]["id"].as_str().unwrap())
}

fn agent_input(call: &Called) -> Value {
    json!({"subagent_type": call.kind, "description": "d", "prompt": call.prompt})
}

fn calls(world: &World, id: &str, call: &Called) -> Ran {
    let members = json!({"tool_name": "Agent", "tool_input": agent_input(call), "tool_use_id": id});
    world.event("ralph-pre-tool-use", "PreToolUse", members)
}

#[track_caller]
fn allowed(ran: &Ran) {
    assert_eq!(ran.json()["hookSpecificOutput"]["permissionDecision"], "allow", "{ran:?}");
}

/// A tool of an agent.
fn by(world: &World, agent: &str, kind: &str, tool: &str, input: Value) -> Ran {
    let members = json!({"tool_name": tool, "tool_input": input, "tool_use_id": "t",
        "agent_id": agent, "agent_type": kind});
    world.event("ralph-pre-tool-use", "PreToolUse", members)
}

fn ends(world: &World, agent: &str, kind: &str) {
    let members = json!({"agent_id": agent, "agent_type": kind, "stop_hook_active": false,
        "agent_transcript_path": "/nowhere", "last_assistant_message": "Done.", "background_tasks": []});
    world.event("ralph-stop-hook", "SubagentStop", members).silent();
}

fn launched(world: &World, id: &str, agent: &str, call: &Called) -> Ran {
    let members = json!({"tool_name": "Agent", "tool_input": agent_input(call), "tool_use_id": id,
        "tool_response": {"status": "async_launched", "isAsync": true, "agentId": agent}});
    world.event("ralph-backpressure", "PostToolUse", members)
}

fn is_back(world: &World, id: &str, call: &Called) -> Ran {
    let members = json!({"tool_name": "Agent", "tool_input": agent_input(call), "tool_use_id": id,
        "tool_response": {"status": "completed", "agentId": "a"}});
    world.event("ralph-backpressure", "PostToolUse", members)
}

impl Play {
    /// The conversation makes these calls, and each agent writes what its script says, as far as it may.
    fn carries_out(&mut self, calls_made: &[Called]) {
        let mut made = Vec::new();
        for call in calls_made {
            self.number += 1;
            let (id, agent) = (format!("toolu-{}", self.number), format!("agent-{}", self.number));
            allowed(&calls(&self.world, &id, call));
            launched(&self.world, &id, &agent, call).silent();
            self.called.push(call.short());
            made.push((agent, call));
        }
        for (agent, call) in made {
            self.agent_works(&agent, call);
            ends(&self.world, &agent, &call.kind);
        }
    }

    fn agent_works(&self, agent: &str, call: &Called) {
        let folder = folder(&self.world);
        for (path, text) in self.script.writes(&folder, call) {
            let input = json!({"file_path": folder.join(&path), "content": text});
            allowed(&by(&self.world, agent, &call.kind, "Write", input));
            fs::create_dir_all(folder.join(&path).parent().unwrap()).unwrap();
            fs::write(folder.join(&path), text).unwrap();
        }
    }

    /// Stops and does what is told, until a stop lets the turn end.
    fn until_the_end(&mut self) {
        for _ in 0..60 {
            let stop = self.world.stop("I wait.");
            if stop.json()["hookSpecificOutput"].is_null() {
                return;
            }
            let next = calls_in(&self.world.step(&stop));
            assert!(!next.is_empty(), "{stop:?}");
            self.carries_out(&next);
        }
        panic!("it never ends: {:?}", self.called);
    }

    /// Goes on until one of these calls comes next, and gives what was told.
    fn until(&mut self, short: &str) -> Vec<Called> {
        for _ in 0..60 {
            let next = calls_in(&self.world.step(&self.world.stop("I wait.")));
            if next.iter().any(|call| call.short() == short) {
                return next;
            }
            self.carries_out(&next);
        }
        panic!("{short} never comes: {:?}", self.called);
    }
}

#[test]
fn a_typed_command_begins_a_session_and_says_the_first_call() {
    for name in ["ralph-v2", "ralph:ralph-v2"] {
        let world = World::new();
        let text = world.type_command(name, "\"Build a door\"").context();
        assert!(
            text.starts_with("Ralph session ") && text.contains("Task: Build a door\n"),
            "{text}"
        );
        let next = calls_in(&text);
        assert_eq!(next.len(), 1, "{text}");
        assert_eq!(
            (next[0].kind.as_str(), next[0].mode().as_str()),
            ("Ralph-v2-Planner", "INITIALIZE")
        );
        assert_eq!(next[0].said("USER_REQUEST"), "Build a door");
        let state = world.state();
        assert_eq!(
            (&state["mode"], &state["phase"]),
            (&json!("session"), &json!("implementation"))
        );
        assert!(folder(&world).join("signals/inputs").is_dir());
        let again = world.expansion(name, "\"Build a door\"");
        again.silent();
    }
}

#[test]
fn six_tasks_in_three_waves_with_a_failure_rework_feedback_and_a_second_iteration() {
    let mut script = six_tasks();
    script.fails.insert("task-4", 1);
    script.assessments = vec!["Gaps Identified", "Complete"];
    let (mut play, text) = begun("", script);
    play.carries_out(&calls_in(&text));
    play.until_the_end();
    assert_eq!(play.world.ending(), "awaiting_feedback");
    let first: Vec<&str> = play.called.iter().map(String::as_str).collect();
    assert_eq!(
        first,
        [
            "INITIALIZE",
            "brainstorm",
            "research",
            "TASK_BREAKDOWN",
            "EXECUTE task-1",
            "EXECUTE task-2",
            "TASK_REVIEW task-1",
            "TASK_REVIEW task-2",
            "EXECUTE task-3",
            "EXECUTE task-4",
            "EXECUTE task-5",
            "TASK_REVIEW task-3",
            "TASK_REVIEW task-4",
            "TASK_REVIEW task-5",
            "EXECUTE task-4",
            "TASK_REVIEW task-4",
            "EXECUTE task-6",
            "TASK_REVIEW task-6",
            "SESSION_REVIEW",
            "UPDATE_METADATA"
        ]
    );
    let archived = play.world.archived();
    let id = archived[0]["session"]["id"].as_str().unwrap().to_owned();
    let said = play.world.elsewhere(&["session", "feedback", "new", "--id", &id]);
    assert!(said.success, "{}", said.text);
    let path = said.text.split('`').nth(1).unwrap().to_owned();
    let feedback = fs::read_to_string(play.world.project().join(&path)).unwrap();
    let heading = "## Critical Issues\n";
    let feedback = feedback.replace(heading, &format!("{heading}- [ ] **ISS-001**: It squeaks\n"));
    fs::write(play.world.project().join(&path), feedback).unwrap();
    play.called.clear();
    play.world.prompt = "prompt-2".to_owned();
    let text = play.world.type_command("ralph-v2", &id).context();
    assert!(text.contains("Task: Build a door"), "{text}");
    play.carries_out(&calls_in(&text));
    play.until_the_end();
    assert_eq!(
        play.called,
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
    let kinds: Vec<Value> =
        play.world.archived().iter().map(|state| state["ending"]["kind"].clone()).collect();
    assert!(kinds.contains(&json!("complete_unverified")), "{kinds:?}");
    let kept = play.world.project().join(".ralph-sessions").join(&id).join("plan.iteration-1.md");
    assert_eq!(fs::read_to_string(kept).unwrap(), "Goal: a door\n");
}

#[test]
fn what_is_done_is_complete_only_if_its_criteria_hold() {
    for (flags, written, ending) in [
        ("--ac 'there is a door=test -e src/door.c'", "src/door.c", "complete"),
        ("--ac 'there is a door=test -e src/door.c'", "src/wall.c", "awaiting_feedback"),
        ("--ac 'there is a door=test -e tracked'", "src/wall.c", "complete_unverified"),
    ] {
        let script = Script { tasks: vec![("task-1", "")], ..six_tasks() };
        let (mut play, text) = begun(flags, script);
        play.world.write(written, "");
        play.carries_out(&calls_in(&text));
        play.until_the_end();
        assert_eq!(play.world.ending(), ending);
        let detail = play.world.archived()[0]["ending"]["detail"].to_string();
        assert!(ending != "awaiting_feedback" || detail.contains("AC-1"), "{detail}");
    }
}

#[test]
fn a_completed_session_locks_its_state_once_to_decide_and_once_to_put_it_away() {
    if Command::new("strace").arg("-V").output().is_err() {
        return eprintln!("skipped: strace is not installed, so system calls cannot be counted");
    }
    let script = Script { tasks: vec![("task-1", "")], ..six_tasks() };
    let (mut play, text) = begun("--ac 'there is a door=test -e src/door.c'", script);
    play.world.write("src/door.c", "");
    play.carries_out(&calls_in(&text));
    let last = play.until("UPDATE_METADATA");
    play.carries_out(&last);
    let log = play.world.root().join("opened");
    let hook = executable("ralph-stop-hook");
    let words =
        ["strace", "-D", "-q", "-o", log.to_str().unwrap(), "-e", "trace=openat,open", hook];
    let payload = play.world.payload("Stop", json!({"last_assistant_message": "I wait."}));
    run(play.world.wrapped(&words), "ralph-stop-hook", payload.to_string().as_bytes());
    assert_eq!(play.world.ending(), "complete");
    // With `-D` the hook is our child, as a client's is, and the tracer may end after it.
    let opened = || fs::read_to_string(&log).unwrap();
    let began = Instant::now();
    while !opened().contains("+++ exited with 0") {
        assert!(began.elapsed() < Duration::from_secs(60), "{}", opened());
    }
    assert_eq!(opened().matches("/state.lock\"").count(), 2, "{}", opened());
}

#[test]
fn the_conversation_writes_no_artefact_and_calls_only_what_comes_next() {
    let (mut play, text) = begun("", six_tasks());
    let first = calls_in(&text);
    play.carries_out(&first);
    let world = &play.world;
    let folder = folder(world);
    for path in ["progress.md", "plan.md", "tasks/x.md", "metadata.yaml", "x"] {
        for tool in ["Write", "Edit", "NotebookEdit"] {
            let name = if tool == "NotebookEdit" { "notebook_path" } else { "file_path" };
            let said = world.tool(tool, json!({name: folder.join(path), "content": "x"})).denied();
            assert!(said.contains("must not write the orchestration's files"), "{said}");
        }
    }
    let id = folder.file_name().unwrap().to_str().unwrap();
    for command in [
        format!("echo x > .ralph-sessions/{id}/progress.md"),
        format!("cd .ralph-sessions/{id} && sed -i s/x/y/ progress.md"),
        "rm -rf .ralph-sessions".to_owned(),
        "ralph session mark plan-brainstorm done".to_owned(),
        "ralph mark plan-brainstorm done".to_owned(),
        "ralph team repair".to_owned(),
        "ralph session signal stop".to_owned(),
    ] {
        world.tool("Bash", json!({"command": command})).denied();
    }
    std::os::unix::fs::symlink(&folder, world.project().join("link")).unwrap();
    world
        .tool("Write", json!({"file_path": world.project().join("link/plan.md"), "content": "x"}))
        .denied();
    world.tool("Bash", json!({"command": "echo x > link/plan.md"})).denied();
    world.tool("Bash", json!({"command": "cat link/plan.md"})).silent();
    world.tool("Bash", json!({"command": "ralph session next"})).silent();
    world.tool("AskUserQuestion", json!({})).denied();
    world.tool("EnterPlanMode", json!({})).denied();

    let next = calls_in(&world.step(&world.stop("I wait.")));
    assert_eq!(next[0].short(), "brainstorm");
    let others = [
        ("general-purpose", next[0].prompt.clone(), "not an agent of this orchestration"),
        ("Ralph-v2-Planner", next[0].prompt.clone(), "not the next call"),
        (&next[0].kind, format!("{}\nMODE: research", next[0].prompt), "exactly one mode"),
        (&next[0].kind, first[0].prompt.clone(), "not the next call"),
        (&next[0].kind, "Please brainstorm".to_owned(), "not the next call"),
    ];
    for (kind, prompt, words) in others {
        let call = Called { kind: kind.to_owned(), prompt };
        let said = calls(world, "t", &call).denied();
        assert!(said.contains(words), "{said}");
        assert!(kind == "general-purpose" || said.contains(&next[0].prompt), "{said}");
    }
    allowed(&calls(world, "t1", &next[0]));
    allowed(&calls(world, "t1", &next[0]));
    let said = calls(world, "t2", &next[0]).denied();
    assert!(said.contains("no call is due"), "the same call twice: {said}");
}

#[test]
fn an_agent_writes_what_is_its_own_and_calls_nobody() {
    let script = Script { tasks: vec![("task-1", ""), ("task-2", "")], ..six_tasks() };
    let (mut play, text) = begun("", script);
    play.carries_out(&calls_in(&text));
    let next = play.until("EXECUTE task-1");
    let world = &play.world;
    for (at, call) in next.iter().enumerate() {
        let (id, agent) = (format!("e{at}"), format!("executor-{at}"));
        allowed(&calls(world, &id, call));
        launched(world, &id, &agent, call).silent();
    }
    let folder = folder(world);
    let kind = "Ralph-v2-Executor";
    let write = |agent: &str, path: &str, text: &str| {
        by(world, agent, kind, "Write", json!({"file_path": folder.join(path), "content": text}))
    };
    let report = "reports/task-1-report.md";
    allowed(&write("executor-0", report, "x"));
    assert!(write("executor-1", report, "x").denied().contains("write that of task-2"));
    for path in [
        "plan.md",
        "plan.iteration-1.md",
        "tasks/task-1.md",
        "metadata.yaml",
        "questions/a.md",
        "x.md",
    ] {
        write("executor-0", path, "x").denied();
    }
    write("stranger", report, "x").denied();
    let progress = fs::read_to_string(folder.join("progress.md")).unwrap();
    allowed(&write("executor-0", "progress.md", &set_mark(&progress, "task-1", "[P]")));
    let said = write("executor-0", "progress.md", &set_mark(&progress, "task-2", "[P]")).denied();
    assert!(said.contains("must not mark task-2"), "{said}");
    write("executor-0", "progress.md", &set_mark(&progress, "task-1", "[x]")).denied();
    write("executor-0", "progress.md", "# Progress\n").denied();
    let edit = |agent: &str, old: &str, new: &str| {
        let input =
            json!({"file_path": folder.join("progress.md"), "old_string": old, "new_string": new});
        by(world, agent, kind, "Edit", input)
    };
    allowed(&edit("executor-1", "[ ] task-2", "[/] task-2"));
    edit("executor-1", "[ ] task-1", "[/] task-1").denied();
    let bash =
        |agent: &str, command: &str| by(world, agent, kind, "Bash", json!({"command": command}));
    for mark in ["ralph session mark", "ralph team mark", "ralph mark", "ralph mark --of team"] {
        allowed(&bash("executor-0", &format!("{mark} task-1 review")));
        bash("executor-0", &format!("{mark} task-2 review")).denied();
        bash("executor-0", &format!("{mark} task-1 done")).denied();
        bash("executor-0", &format!("while true; do {mark} task-1 done; done")).denied();
    }
    bash("executor-0", "ralph session mark task-1 \"$STATUS\"").denied();
    bash("executor-0", "cargo test").silent();
    let id = folder.file_name().unwrap().to_str().unwrap();
    bash("executor-0", &format!("echo x > .ralph-sessions/{id}/{report}")).denied();
    let call =
        json!({"subagent_type": "Ralph-v2-Executor", "description": "d", "prompt": next[1].prompt});
    let said = by(world, "executor-0", kind, "Agent", call).denied();
    assert!(said.contains("calls no agents"), "{said}");
    by(world, "executor-0", kind, "AskUserQuestion", json!({})).denied();
    by(
        world,
        "executor-0",
        kind,
        "Write",
        json!({"file_path": world.project().join("src.rs"), "content": "x"}),
    )
    .silent();
}

#[test]
fn an_agent_is_known_by_the_prompt_of_its_transcript_before_its_id_was_told() {
    let script = Script { tasks: vec![("task-1", ""), ("task-2", "")], ..six_tasks() };
    let (mut play, text) = begun("", script);
    play.carries_out(&calls_in(&text));
    let next = play.until("EXECUTE task-1");
    let world = &play.world;
    next.iter().enumerate().for_each(|(at, call)| allowed(&calls(world, &format!("e{at}"), call)));
    let report = folder(world).join("reports/task-2-report.md");
    let writes = || {
        let input = json!({"file_path": report, "content": "x"});
        by(world, "a7", "Ralph-v2-Executor", "Write", input)
    };
    let said = writes().denied();
    assert!(said.contains("only the orchestration's agents"), "of two it could be either: {said}");
    let subagents = world.transcript().with_extension("").join("subagents");
    fs::create_dir_all(&subagents).unwrap();
    let row = json!({"type": "user", "message": {"role": "user", "content": next[1].prompt}});
    fs::write(subagents.join("agent-a7.jsonl"), format!("{row}\n")).unwrap();
    allowed(&writes());
    assert_eq!(world.state()["session"]["calls"][1]["agent"], "a7");
}

#[test]
fn a_replaced_task_is_kept_as_it_was_and_one_that_is_done_stays() {
    let mut script = Script { tasks: vec![("task-1", ""), ("task-2", "")], ..six_tasks() };
    script.fails.insert("task-2", 9);
    script.assessments = vec!["Incomplete"];
    let (mut play, text) = begun("", script);
    play.carries_out(&calls_in(&text));
    play.until_the_end();
    assert_eq!(play.world.ending(), "awaiting_feedback");
    let id = play.world.archived()[0]["session"]["id"].as_str().unwrap().to_owned();
    let folder = play.world.project().join(".ralph-sessions").join(&id);
    let feedback = "---\niteration: 2\ntimestamp: 2026-02-01T12:00:00Z\nprevious_iteration: 1\n---\n## Critical Issues\n\
                    - [ ] **ISS-001**: It squeaks\n";
    fs::create_dir_all(folder.join("iterations/2/feedbacks/20260201-120000")).unwrap();
    fs::write(folder.join("iterations/2/feedbacks/20260201-120000/feedbacks.md"), feedback)
        .unwrap();
    play.world.prompt = "prompt-2".to_owned();
    let text = play.world.type_command("ralph-v2", "").context();
    play.carries_out(&calls_in(&text));
    let next = play.until("REBREAKDOWN");
    let world = &play.world;
    allowed(&calls(world, "r", &next[0]));
    launched(world, "r", "planner", &next[0]).silent();
    let write = |path: &str| {
        let input = json!({"file_path": folder.join(path), "content": "anew"});
        by(world, "planner", "Ralph-v2-Planner", "Write", input)
    };
    assert!(write("tasks/task-1.md").denied().contains("is done and its file must not change"));
    write("plan.iteration-1.md").denied();
    let before = fs::read_to_string(folder.join("tasks/task-2.md")).unwrap();
    allowed(&write("tasks/task-2.md"));
    let kept = folder.join("iterations/2/replanning/replaced/task-2.md");
    assert_eq!(fs::read_to_string(kept).unwrap(), before);
}

#[test]
fn no_more_agents_are_called_at_once_than_may_be() {
    let tasks = vec![("a", ""), ("b", ""), ("c", ""), ("d", ""), ("e", "")];
    let (mut play, text) = begun("", Script { tasks, ..six_tasks() });
    play.carries_out(&calls_in(&text));
    let next = play.until("EXECUTE a");
    assert_eq!(next.len(), 4, "the guardrail's default");
    for (at, call) in next.iter().enumerate() {
        allowed(&calls(&play.world, &format!("e{at}"), call));
    }
    let fifth =
        Called { prompt: next[0].prompt.replace("TASK_ID: a", "TASK_ID: e"), ..next[0].clone() };
    calls(&play.world, "e9", &fifth).denied();
}

#[test]
fn an_agent_that_ends_without_its_work_is_called_again_and_later() {
    let (play, text) = begun("", six_tasks());
    let world = &play.world;
    let mut next = calls_in(&text);
    for number in 0..2 {
        let (id, agent) = (format!("t{number}"), format!("a{number}"));
        allowed(&calls(world, &id, &next[0]));
        launched(world, &id, &agent, &next[0]).silent();
        ends(world, &agent, &next[0].kind);
        if number == 0 {
            next = calls_in(&world.step(&world.stop("It failed.")));
            assert_eq!(next[0].short(), "INITIALIZE", "again at once");
        }
    }
    let told = world.step(&world.stop("It failed again."));
    assert!(told.contains("wait until"), "{told}");
    let said = calls(world, "t3", &next[0]).denied();
    assert!(said.contains("no call is due"), "{said}");
}

#[test]
fn a_call_in_the_foreground_is_over_when_it_is_back_and_says_what_comes_next() {
    let (play, text) = begun("", six_tasks());
    let world = &play.world;
    let next = calls_in(&text);
    allowed(&calls(world, "t", &next[0]));
    // Its id is told by nobody; of one call that can be it, it is the one.
    play.agent_works("a", &next[0]);
    let told = is_back(world, "t", &next[0]).context();
    assert_eq!(calls_in(&told)[0].short(), "brainstorm", "{told}");
    assert_eq!(world.state()["session"]["calls"], Value::Null, "it has ended");
}

#[test]
fn while_agents_work_a_stop_is_allowed_and_their_end_tells_what_comes_next() {
    let (mut play, text) = begun("", six_tasks());
    let next = calls_in(&text);
    {
        let world = &play.world;
        allowed(&calls(world, "t", &next[0]));
        launched(world, "t", "a", &next[0]).silent();
        let running = json!([{"id": "a", "type": "subagent", "status": "running", "description": "d",
            "agent_type": next[0].kind}]);
        let iteration = world.state()["iteration"].clone();
        world
            .stop_with(json!({"last_assistant_message": "x", "background_tasks": running}))
            .silent();
        assert_eq!(world.state()["iteration"], iteration, "waiting is no step");
        play.agent_works("a", &next[0]);
        ends(world, "a", &next[0].kind);
    }
    let woken = "<task-notification>\n<status>completed</status>\n</task-notification>";
    let told = play.world.prompt("prompt-2", woken).context();
    assert_eq!(calls_in(&told)[0].short(), "brainstorm", "{told}");
}

#[test]
fn an_agent_that_vanished_counts_as_failed_at_the_next_stop() {
    let (play, text) = begun("", six_tasks());
    let next = calls_in(&text);
    allowed(&calls(&play.world, "t", &next[0]));
    launched(&play.world, "t", "a", &next[0]).silent();
    let again = calls_in(&play.world.step(&play.world.stop("It is gone.")));
    assert_eq!(again, next);
    assert!(play.world.ralph(&["explain", "5"]).text.contains("ended without"));
}

#[test]
fn a_steer_is_told_to_agents_at_work_and_with_the_calls_that_come_next() {
    let script = Script { tasks: vec![("task-1", ""), ("task-2", "task-1")], ..six_tasks() };
    let (mut play, text) = begun("", script);
    play.carries_out(&calls_in(&text));
    let next = play.until("EXECUTE task-1");
    allowed(&calls(&play.world, "e", &next[0]));
    launched(&play.world, "e", "executor", &next[0]).silent();
    let said = play.world.elsewhere(&["signal", "steer", "use oak"]);
    assert!(said.success, "{}", said.text);
    let id = play.world.state()["session"]["id"].as_str().unwrap().to_owned();
    let said =
        play.world.elsewhere(&["session", "signal", "info", "paint is in the cellar", "--id", &id]);
    assert!(said.success, "{}", said.text);
    let inputs = folder(&play.world).join("signals/inputs");
    fs::write(inputs.join("99990101T000000.000000000Z"), "STEER: and brass").unwrap();
    let after = |agent: Option<&str>| {
        let mut members = json!({"tool_name": "Read", "tool_input": {"file_path": "/x"}, "tool_use_id": "r",
            "tool_response": {}});
        if let Some(agent) = agent {
            members["agent_id"] = json!(agent);
            members["agent_type"] = json!("Ralph-v2-Executor");
        }
        play.world.event("ralph-backpressure", "PostToolUse", members)
    };
    after(None).silent();
    let told = after(Some("executor")).context();
    let places = ["use oak", "paint is in the cellar", "and brass"].map(|words| told.find(words));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{told}");
    after(Some("executor")).silent();
    assert_eq!(fs::read_dir(&inputs).unwrap().count(), 3, "the router has yet to hear them");
    play.agent_works("executor", &next[0]);
    ends(&play.world, "executor", &next[0].kind);
    let next = play.until("EXECUTE task-2");
    assert!(
        next[0]
            .prompt
            .contains("SIGNAL: STEER: use oak\n  INFO: paint is in the cellar\n  STEER: and brass")
    );
    // Told again as it was, until the call is made.
    assert_eq!(calls_in(&play.world.step(&play.world.stop("Hm."))), next);
    assert_eq!(fs::read_dir(&inputs).unwrap().count(), 3, "nobody was called with it");
    allowed(&calls(&play.world, "e2", &next[0]));
    assert_eq!(fs::read_dir(&inputs).unwrap().count(), 0);
    assert_eq!(fs::read_dir(folder(&play.world).join("signals/processed")).unwrap().count(), 3);
}

#[test]
fn a_pause_lets_nothing_begin_wherever_the_session_is_and_the_person_goes_on() {
    let (mut play, text) = begun("", six_tasks());
    let next = calls_in(&text);
    assert!(play.world.elsewhere(&["session", "signal", "pause", "lunch"]).success);
    let said = calls(&play.world, "t", &next[0]).denied();
    assert!(said.contains("PAUSE: lunch") && said.contains("end your turn"), "{said}");
    play.world.stop("I end.").exit(0);
    assert_eq!(
        play.world.standing().split(' ').next(),
        Some("paused"),
        "{}",
        play.world.standing()
    );
    assert_eq!(play.world.state()["pause"]["cause"], "person");
    play.world.prompt = "prompt-2".to_owned();
    let text = play.world.type_command("ralph-v2", "").context();
    assert_eq!(calls_in(&text), next, "{text}");
    play.carries_out(&next);
}

#[test]
fn a_steer_that_was_told_before_a_pause_is_told_after_it() {
    let (mut play, text) = begun("", six_tasks());
    play.carries_out(&calls_in(&text));
    assert!(play.world.elsewhere(&["session", "signal", "steer", "use oak"]).success);
    let next = calls_in(&play.world.step(&play.world.stop("I wait.")));
    assert!(next[0].prompt.contains("SIGNAL: STEER: use oak"), "{}", next[0].prompt);
    assert!(play.world.elsewhere(&["session", "signal", "pause"]).success);
    play.world.stop("I end.").exit(0);
    assert_eq!(play.world.standing().split(' ').next(), Some("paused"));
    let inputs = folder(&play.world).join("signals/inputs");
    let left: Vec<String> = fs::read_dir(inputs)
        .unwrap()
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect();
    assert_eq!(left, ["STEER: use oak\n"], "who rests has heard the pause, and nobody the steer");
    play.world.prompt = "prompt-2".to_owned();
    let text = play.world.type_command("ralph-v2", "").context();
    assert_eq!(calls_in(&text), next, "{text}");
}

#[test]
fn a_stop_signal_ends_it_at_the_next_stop_and_nothing_is_called_before() {
    let (mut play, text) = begun("", six_tasks());
    play.carries_out(&calls_in(&text));
    let next = calls_in(&play.world.step(&play.world.stop("I wait.")));
    assert!(play.world.elsewhere(&["session", "signal", "stop", "that is enough"]).success);
    let said = calls(&play.world, "t", &next[0]).denied();
    assert!(said.contains("that is enough"), "{said}");
    play.world.stop("I end.").exit(0);
    assert_eq!(play.world.ending(), "cancelled");
    assert!(play.world.archived()[0]["ending"]["detail"].to_string().contains("that is enough"));
}

#[test]
fn a_compacted_or_resumed_conversation_is_given_the_contract_again() {
    let (mut play, text) = begun("", six_tasks());
    play.carries_out(&calls_in(&text));
    let next = calls_in(&play.world.step(&play.world.stop("I wait.")));
    allowed(&calls(&play.world, "t", &next[0]));
    let told = play.world.session_starts("compact").context();
    assert!(
        told.contains("Rules: you only route") && told.contains("Task: Build a door"),
        "{told}"
    );
    // A new process: what the old one had started is gone with it.
    play.world.another_client();
    let told = play.world.session_starts("resume").context();
    assert!(told.contains("Rules: you only route"), "{told}");
    assert_eq!(play.world.state()["session"]["calls"], Value::Null);
    assert_eq!(calls_in(&play.world.step(&play.world.stop("Hm."))), next);
    let before =
        play.world.event("ralph-session-context", "PreCompact", json!({"trigger": "auto"}));
    before.silent();
    let told = play.world.step(&play.world.stop("Hm."));
    assert!(told.contains("Rules: you only route") && calls_in(&told) == next, "{told}");
}

#[test]
fn one_that_only_talks_rests_and_is_told_so() {
    let (play, _) = begun("--stall-limit 2", six_tasks());
    play.world.stop("Hello.").goes_on();
    play.world.stop("Hello.").goes_on();
    play.world.stop("Hello.").exit(0);
    let state = play.world.state();
    assert_eq!(
        (&state["phase"], &state["pause"]["cause"]),
        (&json!("paused"), &json!("blocked_on_human"))
    );
    assert!(
        state["pause"]["detail"].to_string().contains("no file of the orchestration changed"),
        "{state}"
    );
}

#[test]
fn a_bound_ends_it() {
    let (mut play, text) = begun("--max-iterations 2", six_tasks());
    play.carries_out(&calls_in(&text));
    play.until_the_end();
    assert_eq!(play.world.ending(), "max_iterations");
}

#[test]
fn a_damaged_progress_is_rendered_anew_and_without_a_state_goes_to_the_planner_with_the_line() {
    let (mut play, text) = begun("", six_tasks());
    play.carries_out(&calls_in(&text));
    play.until("EXECUTE task-1");
    let path = folder(&play.world).join("progress.md");
    let text = fs::read_to_string(&path).unwrap();
    let damaged = text.replace("- [ ] task-2", "- [?] task-2");
    assert_ne!(text, damaged);
    let line = damaged.lines().position(|line| line.contains("[?]")).unwrap() + 1;
    fs::write(&path, &damaged).unwrap();
    let next = calls_in(&play.world.step(&play.world.stop("Hm.")));
    assert_eq!(next[0].short(), "EXECUTE task-1");
    assert_eq!(fs::read_to_string(&path).unwrap(), text);

    fs::remove_dir_all(play.world.ralph_home().join("sessions")).unwrap();
    fs::write(&path, damaged).unwrap();
    let next = calls_in(&play.world.step(&play.world.stop("Hm.")));
    assert_eq!(next[0].short(), "REPAIR_STATE");
    assert!(next[0].prompt.contains(&format!("progress.md:{line}")), "{}", next[0].prompt);
    play.carries_out(&next);
    play.until_the_end();
    assert_eq!(play.world.ending(), "complete_unverified");
}

#[test]
fn a_person_who_removes_the_folder_has_ended_it() {
    let (play, _) = begun("", six_tasks());
    fs::remove_dir_all(folder(&play.world)).unwrap();
    play.world.stop("Hm.").exit(0);
    assert_eq!(play.world.ending(), "cancelled");
}

#[test]
fn one_thing_at_a_time() {
    let (mut play, _) = begun("", six_tasks());
    play.world.prompt = "prompt-2".to_owned();
    let said = play.world.type_command("ralph", "\"Fix it\"").kept_from_model();
    assert!(said.contains("/ralph-v2 to continue"), "{said}");
    let said = play.world.type_command("ralplan", "\"Plan it\"").kept_from_model();
    assert!(said.contains("is live in this session"), "{said}");
    let said = play.world.type_command("ralph-v2", "\"Another\"").kept_from_model();
    assert!(said.contains("/ralph-cancel"), "{said}");
    let said = play.world.type_command("ralph-v2", "2026-01-31").kept_from_model();
    assert!(said.contains("Session ID must follow format <YYMMDD>-<hhmmss>"), "{said}");
    let said = play.world.type_command("ralph-cancel", "").kept_from_model();
    assert!(said.contains("cancelled"), "{said}");
    assert_eq!(play.world.ending(), "cancelled");
}

#[test]
fn a_client_that_a_driver_has_started_for_a_call_is_that_agent() {
    let script = Script { tasks: vec![("task-1", "")], ..six_tasks() };
    let (mut play, text) = begun("", script);
    play.carries_out(&calls_in(&text));
    play.until("EXECUTE task-1");
    let (state_path, folder) = (play.world.state_path(), folder(&play.world));
    let id = folder.file_name().unwrap().to_str().unwrap().to_owned();
    let before = play.world.state();
    // Its own session of the client, bound to the loop beside the first.
    play.world.become_session("session-2", "prompt-2");
    fs::write(play.world.entry(), format!("{}\n", state_path.display())).unwrap();
    play.world.tool("Write", json!({"file_path": folder.join("plan.md"), "content": "x"})).silent();
    let call = json!({"mode": "EXECUTE", "task": "task-1", "iteration": 1, "session_id": id});
    play.world.set("RALPH_SESSION_CALL", &call.to_string());
    play.world.set("RALPH_ROUND", "Ralph-v2-Executor");
    let write = |path: &str| {
        play.world.tool("Write", json!({"file_path": folder.join(path), "content": "x"}))
    };
    allowed(&write("reports/task-1-report.md"));
    write("plan.md").denied();
    let agent = json!({"subagent_type": "Ralph-v2-Executor", "description": "d", "prompt": "x"});
    play.world.tool("Agent", agent).denied();
    assert!(play.world.elsewhere(&["session", "signal", "steer", "use oak", "--id", &id]).success);
    let members = json!({"tool_name": "Read", "tool_input": {"file_path": "/x"}, "tool_use_id": "r",
        "tool_response": {}});
    let told = play.world.event("ralph-backpressure", "PostToolUse", members).context();
    assert!(told.contains("use oak"), "{told}");
    play.world.stop("Done.").silent();
    play.world.event("ralph-stop-hook", "SessionEnd", json!({"reason": "other"})).silent();
    play.world.event("ralph-user-prompt", "UserPromptSubmit", json!({"prompt": "go"})).silent();
    assert_eq!(before["turn"], play.world.state()["turn"]);
    assert_eq!(before["phase"], play.world.state()["phase"]);
}

/// What `ralph next --json` prints to the model, asked five times; no file changes by it.
fn asks(world: &World) -> Value {
    let files = || {
        let mut found = Vec::new();
        let mut folders = vec![folder(world)];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                match entry.is_dir() {
                    true => folders.push(entry),
                    false => found.push((entry.clone(), fs::read(entry).unwrap())),
                }
            }
        }
        found.sort();
        found
    };
    let before = files();
    let ask = || world.ralph(&["session", "next", "--json"]).text;
    let first = ask();
    (0..4).for_each(|_| assert_eq!(ask(), first));
    assert_eq!(files(), before);
    serde_json::from_str(
        first.lines().next().filter(|line| line.starts_with("{\"")).unwrap_or(&first),
    )
    .unwrap_or_else(|_| panic!("{first}"))
}

#[test]
fn after_a_cancel_its_session_asks_for_no_step_until_the_user_continues_it() {
    let (mut play, _) = begun("", six_tasks());
    let id = folder(&play.world).file_name().unwrap().to_str().unwrap().to_owned();
    play.world.prompt = "prompt-2".to_owned();
    play.world.type_command("ralph-cancel", "").kept_from_model();
    let why = format!("session {id} was cancelled; `/ralph-v2 {id}` continues it");
    let asks = |world: &World| {
        [&["session", "next"][..], &["session", "mark", "plan-brainstorm", "done"]]
            .map(|command| world.ralph(command))
    };
    for said in asks(&play.world) {
        assert!(!said.success && said.text.contains(&why), "{said:?}");
    }
    assert!(play.world.elsewhere(&["session", "next"]).success);
    play.world.prompt = "prompt-3".to_owned();
    play.world.type_command("ralph-v2", &id).context();
    assert!(asks(&play.world)[0].success);
}

#[test]
fn what_session_next_prints_is_the_call_that_the_hooks_give_and_the_guard_takes() {
    let script = Script { tasks: vec![("task-1", ""), ("task-2", "")], ..six_tasks() };
    let (mut play, text) = begun("", script);
    play.carries_out(&calls_in(&text));
    for word in ["steer", "info"] {
        assert!(play.world.elsewhere(&["session", "signal", word, "use oak"]).success);
        let asked = asks(&play.world);
        let told = calls_in(&play.world.step(&play.world.stop("I wait.")));
        assert_eq!(asks(&play.world)["invocations"], asked["invocations"]);
        let prompts: Vec<&str> = told.iter().map(|call| call.prompt.as_str()).collect();
        let printed = asked["invocations"].as_array().unwrap().iter();
        assert_eq!(
            printed.map(|call| call["prompt"].as_str().unwrap()).collect::<Vec<_>>(),
            prompts
        );
        assert!(prompts.iter().all(|prompt| prompt.contains("SIGNAL: ")), "{prompts:?}");
        play.carries_out(&told);
    }
    let told = play.until("EXECUTE task-1");
    assert!(play.world.elsewhere(&["session", "signal", "steer", "use brass"]).success);
    let asked = asks(&play.world);
    for (at, call) in asked["invocations"].as_array().unwrap().iter().enumerate() {
        let prompt = call["prompt"].as_str().unwrap().to_owned();
        assert!(prompt.contains("use brass") && prompt != told[at].prompt, "{prompt}");
        // One after the other: the first does not change what the second is told.
        let call = Called { kind: told[at].kind.clone(), prompt };
        allowed(&calls(&play.world, &format!("e{at}"), &call));
        launched(&play.world, &format!("e{at}"), &format!("x{at}"), &call).silent();
        let inputs = folder(&play.world).join("signals/inputs");
        assert_eq!(
            fs::read_dir(inputs).unwrap().count(),
            1 - at,
            "used up by the last that carries it"
        );
        play.agent_works(&format!("x{at}"), &call);
    }
    for (at, call) in told.iter().enumerate().take(2) {
        ends(&play.world, &format!("x{at}"), &call.kind);
    }
    play.until_the_end();
    assert_eq!(play.world.ending(), "complete_unverified");
}

#[test]
fn a_stop_ends_the_session_also_when_the_model_asks_first() {
    let (mut play, text) = begun("", six_tasks());
    play.carries_out(&calls_in(&text));
    assert!(play.world.elsewhere(&["session", "signal", "stop", "enough"]).success);
    for _ in 0..3 {
        let said = asks(&play.world);
        assert!(said["next_action"].to_string().contains("STOP: enough"), "{said}");
    }
    let inputs = folder(&play.world).join("signals/inputs");
    let stop = play.world.stop("I end.").exit(0);
    assert!(!format!("{stop:?}").contains("not delivered"), "{stop:?}");
    assert_eq!(play.world.ending(), "cancelled");
    assert_eq!(fs::read_dir(inputs).unwrap().count(), 0, "it has ended the loop");
}

#[test]
fn agents_at_work_hear_a_stop_as_a_stop_and_a_later_one_does_not() {
    let (mut play, text) = begun("", Script { tasks: vec![("task-1", "")], ..six_tasks() });
    play.carries_out(&calls_in(&text));
    let next = play.until("EXECUTE task-1");
    let hears = |world: &World, agent: &str| {
        let members = json!({"tool_name": "Read", "tool_input": {"file_path": "/x"}, "tool_use_id": "r",
            "tool_response": {}, "agent_id": agent, "agent_type": "Ralph-v2-Executor"});
        world.event("ralph-backpressure", "PostToolUse", members)
    };
    allowed(&calls(&play.world, "e", &next[0]));
    launched(&play.world, "e", "executor", &next[0]).silent();
    assert!(play.world.elsewhere(&["session", "signal", "pause"]).success);
    hears(&play.world, "executor").silent();
    assert!(play.world.elsewhere(&["session", "signal", "stop", "enough"]).success);
    let told = hears(&play.world, "executor").context();
    assert!(
        told.contains("STOP") && told.contains("enough") && told.contains("Stop and report"),
        "{told}"
    );
    assert!(!told.contains("go on with the work") && !told.contains("INFO"), "{told}");
    hears(&play.world, "executor").silent();
    ends(&play.world, "executor", &next[0].kind);
    let id = play.world.state()["session"]["id"].as_str().unwrap().to_owned();
    play.world.stop("I end.").exit(0);
    assert_eq!(play.world.ending(), "cancelled");
    play.world.prompt = "prompt-2".to_owned();
    let again = calls_in(&play.world.type_command("ralph-v2", &id).context());
    assert_eq!(again[0].short(), "EXECUTE task-1");
    allowed(&calls(&play.world, "e2", &again[0]));
    launched(&play.world, "e2", "later", &again[0]).silent();
    hears(&play.world, "later").silent();
}

/// What a model does that wants to do the work itself, each refused with the agent that is called for it.
#[test]
fn the_conversation_does_no_work_of_its_own_and_is_told_whom_to_call() {
    let (mut play, text) = begun("", six_tasks());
    play.carries_out(&calls_in(&text));
    let world = &play.world;
    let file = |name: &str| world.project().join(name);
    let mut work: Vec<(&str, Value)> = Vec::new();
    for name in ["src/door.rs", "notes.md", "../elsewhere.txt"] {
        work.push(("Write", json!({"file_path": file(name), "content": "x"})));
        work.push(("Edit", json!({"file_path": file(name), "old_string": "a", "new_string": "b"})));
        work.push(("MultiEdit", json!({"file_path": file(name), "edits": []})));
    }
    work.push(("NotebookEdit", json!({"notebook_path": file("a.ipynb"), "new_source": "x"})));
    for command in [
        "echo x > src/door.rs",
        "echo x >> notes.md",
        "cat > a.py <<'E'\nprint(1)\nE",
        "tee src/door.rs < /dev/null",
        "sed -i s/a/b/ tracked",
        "perl -pi -e s/a/b/ tracked",
        "mkdir src",
        "touch x",
        "cp tracked x",
        "mv tracked x",
        "rm tracked",
        "ln -s tracked x",
        "git commit -am done",
        "git checkout -- .",
        "git stash",
        "cargo build",
        "cargo test",
        "npm install left-pad",
        "make",
        "python3 -c \"open('x','w')\"",
        "bash -c 'echo x > y'",
        "sh ./build.sh",
        "find . -name '*.rs' -delete",
        "ls | xargs rm",
        "curl -o x https://example.org/x",
        "dd if=/dev/zero of=x",
        "cat tracked && touch x",
        "ralph session status; touch x",
        "eval \"$WORK\"",
        "ralph session repair",
        "ralph session next --begin",
        "ralph checkpoint restore 1",
    ] {
        work.push(("Bash", json!({"command": command})));
    }
    work.push(("Monitor", json!({"command": "touch x", "description": "d"})));
    work.push(("PowerShell", json!({"command": "New-Item x"})));
    work.push(("Skill", json!({"skill": "commit"})));
    work.push(("SendMessage", json!({"to": "agent-1", "message": "carry task-2 out as well"})));
    work.push(("Workflow", json!({"script": "agent('do it')"})));
    work.push(("EnterWorktree", json!({"name": "x"})));
    for tool in
        ["mcp__files__write_file", "mcp__shell__run", "mcp__db__query", "mcp__git__get_and_reset"]
    {
        work.push((tool, json!({"text": "x"})));
    }
    for (tool, input) in work {
        let said = world.tool(tool, input.clone()).denied();
        let is_artefact =
            input.to_string().contains("repair") || input.to_string().contains("ralph ");
        assert!(is_artefact || said.contains("Ralph-v2-Questioner"), "{tool} {input}: {said}");
    }
    for command in [
        "cat tracked",
        "grep -rn door . | head -5",
        "ls -la .ralph-sessions",
        "sleep 1",
        "ralph session status --json | head -n 3",
        "ralph session next --json",
        "ralph session waves",
        "ralph status",
        "ralph blocked 'a key is missing'",
        "date +%s",
    ] {
        world.tool("Bash", json!({"command": command})).silent();
    }
    world.tool("Read", json!({"file_path": file("tracked")})).silent();
    world.tool("TodoWrite", json!({"todos": []})).silent();
    assert!(!world.project().join("src").exists());
}

#[test]
fn a_task_that_its_reviewer_fails_without_a_report_counts_as_attempted() {
    for bound in [0, 1] {
        let (mut play, text) = begun("", Script { tasks: vec![("task-1", "")], ..six_tasks() });
        let id = play.world.state()["session"]["id"].as_str().unwrap().to_owned();
        let instructions =
            play.world.project().join(format!(".ralph-sessions/{id}.instructions.md"));
        fs::write(instructions, format!("- max_subagent_retries: {bound}\n")).unwrap();
        play.carries_out(&calls_in(&text));
        let mut executions = 0;
        for number in 0.. {
            let stop = play.world.stop("I wait.");
            if stop.json()["hookSpecificOutput"].is_null() {
                break;
            }
            let next = calls_in(&play.world.step(&stop));
            let (at, agent) = (format!("t{number}"), format!("x{number}"));
            let mark = match next[0].short().split(' ').next() {
                Some("EXECUTE") => "[/]",
                Some("TIMEOUT_FAIL") => "[F]",
                _ => {
                    play.carries_out(&next);
                    continue;
                }
            };
            executions += usize::from(mark == "[/]");
            assert!(executions <= bound + 1, "{:?}", next[0]);
            allowed(&calls(&play.world, &at, &next[0]));
            launched(&play.world, &at, &agent, &next[0]).silent();
            let path = folder(&play.world).join("progress.md");
            let progress = fs::read_to_string(&path).unwrap();
            let line = "task-1 (started: 2026-01-31T12:00:00+00:00)";
            let lines = progress.lines().map(|old| match old.contains("] task-1") {
                true if mark == "[/]" => format!("- [/] {line}"),
                true => "- [F] task-1".to_owned(),
                false => old.to_owned(),
            });
            fs::write(&path, lines.collect::<Vec<_>>().join("\n") + "\n").unwrap();
            ends(&play.world, &agent, &next[0].kind);
        }
        assert_eq!((executions, play.world.ending().as_str()), (bound + 1, "awaiting_feedback"));
    }
}

/// A session that ended and waits for feedback, with its name.
fn waiting() -> (Play, String) {
    let script = Script {
        tasks: vec![("task-1", "")],
        assessments: vec!["Gaps Identified", "Complete"],
        ..six_tasks()
    };
    let (mut play, text) = begun("", script);
    play.carries_out(&calls_in(&text));
    play.until_the_end();
    assert_eq!(play.world.ending(), "awaiting_feedback");
    let id = play.world.archived()[0]["session"]["id"].as_str().unwrap().to_owned();
    play.world.prompt = "prompt-2".to_owned();
    (play, id)
}

fn gives_feedback(play: &Play, id: &str) {
    let said = play.world.elsewhere(&["session", "feedback", "new", "--id", id]);
    let path = play.world.project().join(said.text.split('`').nth(1).unwrap());
    let heading = "## Critical Issues\n";
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace(heading, &format!("{heading}- [ ] **ISS-001**: It squeaks\n")))
        .unwrap();
}

#[test]
fn a_typed_sentence_continues_its_session_with_new_feedback() {
    for words in [
        "Continue session ID with new feedback",
        "\"Continue session ID with new feedback\"",
        "continue session `ID` with new feedback.",
    ] {
        let (mut play, id) = waiting();
        let typed = words.replace("ID", &id);
        let said = play.world.type_command("ralph-v2", &typed).kept_from_model();
        assert!(said.contains("has no feedback to work on"), "{said}");
        gives_feedback(&play, &id);
        play.world.prompt = "prompt-3".to_owned();
        let text = play.world.type_command("ralph-v2", &typed).context();
        let next = calls_in(&text);
        assert_eq!(next[0].short(), "feedback-analysis", "{text}");
        assert!(text.contains("Task: Build a door"), "{text}");
        play.carries_out(&next);
        play.until_the_end();
        let folders = fs::read_dir(play.world.project().join(".ralph-sessions")).unwrap();
        assert_eq!(folders.filter(|one| one.as_ref().unwrap().path().is_dir()).count(), 1);
    }
}

#[test]
fn the_plain_sentence_continues_a_session_where_its_conversation_waits_and_is_nobodys_elsewhere() {
    let (mut play, id) = waiting();
    gives_feedback(&play, &id);
    let sentence = format!("Continue session {id} with new feedback");
    let other = "Continue session 260131-120000 with new feedback";
    let said = play.world.prompt("prompt-2", other).kept_from_model();
    assert!(said.contains("no orchestration 260131-120000 here") && said.contains(&id), "{said}");
    play.world.prompt("prompt-2", &format!("What does \"{sentence}\" mean?")).silent();
    let text = play.world.prompt("prompt-3", &sentence).context();
    assert_eq!(calls_in(&text)[0].short(), "feedback-analysis", "{text}");
    // While it runs, the sentence pauses nothing.
    let next = calls_in(&text);
    play.world.prompt("prompt-4", &sentence).context();
    assert_eq!(
        play.world.standing().split(' ').next(),
        Some("implementation"),
        "{}",
        play.world.standing()
    );
    play.world.prompt = "prompt-4".to_owned();
    play.carries_out(&next);
    play.until_the_end();

    let (play, id) = waiting();
    gives_feedback(&play, &id);
    let mut world = play.world;
    world.become_session("session-2", "prompt-2");
    world.prompt("prompt-2", &format!("Continue session {id} with new feedback")).silent();
}
