//! The hooks: what each of them writes, and how the session goes on after it was cut.

use super::{Act, CASE, Case, hook};
use crate::world::World;
use serde_json::{Value, json};
use std::fs;

const TOKEN: &str = "RALPH_COMPLETE";

pub(super) const CASES: &[Case] = &[
    Case { name: "stop: goes on", set: one_stop, act: |w| stop(w, "x"), then: counted, ..CASE },
    Case {
        name: "stop: goes on where names cannot be exchanged",
        set: one_stop,
        act: |w| stop(w, "x"),
        then: counted,
        also: &["renameat2:error=EINVAL"],
        ..CASE
    },
    Case {
        name: "stop: refuses a completion",
        set: || with_criterion(false),
        act: |w| stop(w, TOKEN),
        then: refused_then_complete,
        has_family: true,
        ..CASE
    },
    Case {
        name: "stop: ends complete",
        set: || with_criterion(true),
        act: |w| stop(w, TOKEN),
        then: |w, _| completes(w),
        has_family: true,
        ..CASE
    },
    Case {
        name: "stop: ends complete_unverified",
        set: one_stop,
        act: |w| stop(w, TOKEN),
        then: |w, _| ends(w, TOKEN, "complete_unverified"),
        ..CASE
    },
    Case {
        name: "stop: ends max_iterations",
        set: || after_a_stop(World::looping("--max-iterations 1")),
        act: |w| stop(w, "x"),
        then: |w, _| ends(w, "x", "max_iterations"),
        ..CASE
    },
    Case {
        name: "stop: ends stalled",
        set: || {
            let world = World::looping("--stall-limit 1");
            world.stop("x").goes_on();
            world
        },
        act: |w| stop(w, "x"),
        then: |w, _| ends(w, "x", "stalled"),
        ..CASE
    },
    Case {
        name: "stop: pauses a blocked loop",
        set: || {
            let world = with_a_criterion();
            assert!(world.ralph(&["blocked", "make the account"]).success);
            world
        },
        act: |w| stop(w, "x"),
        then: |w, _| {
            w.stop("x").exit(0);
            assert_eq!(w.standing(), "paused 1/25 blocked_on_human");
        },
        ..CASE
    },
    Case {
        name: "notify: calls the user",
        set: || {
            let world = World::new();
            // A folder is there or not; a file of the user's own script may be torn.
            let command = "mkdir \"$HOME/told\" || mkdir \"$HOME/twice\"";
            world.settings(&format!("[notify]\ncommand = [\"/bin/sh\", \"-c\", '{command}']\n"));
            world.start("");
            world.edit_state(|state| {
                let at = state["updated_at"].clone();
                state["phase"] = json!("paused");
                state["resume_phase"] = json!("implementation");
                state["pause"] =
                    json!({"cause": "rate_limited", "at": at, "detail": "", "told": true});
            });
            world
        },
        act: |w| {
            let state = w.state_path();
            let state = state.to_str().unwrap();
            super::person(&["delegate", "notify", "\"paused\"", "--state", state])
        },
        then: |w, _| {
            let state = w.state_path();
            let again = ["delegate", "notify", "\"paused\"", "--state", state.to_str().unwrap()];
            assert!(w.elsewhere(&again).success);
            // What was claimed before a kill is not tried again.
            assert!(!w.root().join("home/twice").exists());
            assert_eq!(w.standing(), "paused 0/25 rate_limited");
        },
        ..CASE
    },
    Case {
        name: "stop: finds a tombstone",
        set: cancelled,
        act: |w| stop(w, "x"),
        then: |w, _| {
            w.stop("x").exit(0);
            assert!(!w.has_entry());
            assert_eq!(w.ending(), "cancelled");
        },
        ..CASE
    },
    Case {
        name: "subagent stop: counts tokens",
        set: one_stop,
        act: |w| {
            let row = json!({"type": "assistant", "timestamp": "2099-01-01T00:00:00Z", "message": {"id": "m",
                "usage": {"input_tokens": 5, "output_tokens": 7}}});
            w.transcribe(&[row]);
            hook(
                w,
                "ralph-stop-hook",
                "SubagentStop",
                json!({
                "agent_id": "a", "agent_type": "x", "agent_transcript_path": w.transcript()}),
            )
        },
        then: |w, _| goes_on_from(w, 1),
        ..CASE
    },
    Case {
        name: "before a tool: a worker is granted",
        set: for_workers,
        act: |w| hook(w, "ralph-pre-tool-use", "PreToolUse", worker_call()),
        then: |w, answered| {
            let n_workers = || w.state()["workers"].as_array().map_or(0, Vec::len);
            assert!(!answered || n_workers() == 1);
            // The client asks again, or another copy of the hook does: it is one worker.
            w.event("ralph-pre-tool-use", "PreToolUse", worker_call()).silent();
            assert_eq!((n_workers(), status_of_task(w).as_str()), (1, "in_progress"));
        },
        ..CASE
    },
    Case {
        name: "subagent stop: a report is taken",
        set: || {
            let world = for_workers();
            world.event("ralph-pre-tool-use", "PreToolUse", worker_call()).silent();
            world.event("ralph-backpressure", "PostToolUse", launched()).silent();
            world
        },
        act: |w| hook(w, "ralph-stop-hook", "SubagentStop", reported()),
        then: |w, answered| {
            assert!(!answered || status_of_task(w) == "done");
            w.event("ralph-stop-hook", "SubagentStop", reported()).silent();
            assert_eq!(status_of_task(w), "done");
        },
        ..CASE
    },
    Case {
        name: "stop failure: pauses",
        set: one_stop,
        act: |w| hook(w, "ralph-stop-hook", "StopFailure", json!({"error": "server_error"})),
        then: |w, _| paused_or_goes_on(w),
        ..CASE
    },
    Case {
        name: "session end: pauses",
        set: one_stop,
        act: |w| hook(w, "ralph-stop-hook", "SessionEnd", json!({"reason": "other"})),
        then: |w, _| paused_or_goes_on(w),
        ..CASE
    },
    Case {
        name: "session end: by /clear",
        set: one_stop,
        act: |w| hook(w, "ralph-stop-hook", "SessionEnd", json!({"reason": "clear"})),
        then: |w, _| paused_or_goes_on(w),
        ..CASE
    },
    Case {
        name: "session start: after /clear takes the loop along",
        set: || {
            let mut world = one_stop();
            world.event("ralph-stop-hook", "SessionEnd", json!({"reason": "clear"})).exit(0);
            world.become_session("session-2", "prompt-2");
            world
        },
        act: |w| hook(w, "ralph-session-context", "SessionStart", json!({"source": "clear"})),
        then: moved,
        ..CASE
    },
    Case {
        name: "session start: resume continues a crashed loop",
        set: || {
            let world = one_stop();
            world.event("ralph-stop-hook", "SessionEnd", json!({"reason": "other"})).exit(0);
            world
        },
        act: |w| hook(w, "ralph-session-context", "SessionStart", json!({"source": "resume"})),
        then: |w, _| {
            w.session_starts("resume").exit(0);
            goes_on_from(w, 1);
        },
        ..CASE
    },
    Case {
        name: "session start: after compaction",
        set: one_stop,
        act: |w| hook(w, "ralph-session-context", "SessionStart", json!({"source": "compact"})),
        then: |w, _| goes_on_from(w, 1),
        ..CASE
    },
    Case {
        name: "before a compaction",
        set: one_stop,
        act: |w| hook(w, "ralph-session-context", "PreCompact", json!({"trigger": "auto"})),
        then: |w, answered| {
            if !answered {
                w.event("ralph-session-context", "PreCompact", json!({"trigger": "auto"})).exit(0);
            }
            let reason = w.step(&w.working_stop("x"));
            assert!(reason.contains("Goal: Fix it"), "{reason}");
            goes_on_from(w, 2);
        },
        ..CASE
    },
    Case {
        name: "after a tool: delivers a signal",
        set: steered,
        act: |w| hook(w, "ralph-backpressure", "PostToolUse", called("")),
        then: |w, answered| heard(w, answered, ""),
        delivers: true,
        ..CASE
    },
    Case {
        name: "after a worker's tool: delivers a signal",
        set: steered,
        act: |w| hook(w, "ralph-backpressure", "PostToolUse", called("a1")),
        then: |w, answered| heard(w, answered, "a1"),
        delivers: true,
        ..CASE
    },
    Case {
        name: "stop: delivers a signal",
        set: steered,
        act: |w| stop(w, TOKEN),
        then: |w, answered| heard(w, answered, ""),
        delivers: true,
        ..CASE
    },
    Case {
        name: "prompt: /ralph starts a loop",
        set: World::new,
        act: |w| typed(w, "ralph", "\"Fix it\""),
        then: started,
        has_family: true,
        ..CASE
    },
    Case {
        name: "prompt: /ralph continues a paused loop",
        set: paused,
        act: |w| typed(w, "ralph", ""),
        then: |w, _| {
            w.expansion("ralph", "").exit(0);
            goes_on_from(w, 1);
        },
        has_family: true,
        ..CASE
    },
    Case {
        name: "prompt: /ralph starts the planned loop",
        set: || {
            let world = World::new();
            assert!(world.elsewhere(&["start", "Fix it"]).success);
            world
        },
        act: |w| typed(w, "ralph", ""),
        then: |w, answered| {
            assert!(w.has_entry() || !answered, "an answered start is bound");
            w.expansion("ralph", "").exit(0);
            goes_on_from(w, 0);
        },
        has_family: true,
        ..CASE
    },
    Case {
        name: "prompt: /ralph replaces a loop that had no event",
        set: || World::looping(""),
        act: |w| replacing(w),
        then: |w, _| {
            w.event("ralph-user-prompt", "UserPromptExpansion", again_members()).exit(0);
            assert_eq!(w.state()["prompt"], "Do more");
            goes_on_from(w, 0);
        },
        has_family: true,
        ..CASE
    },
    Case {
        name: "prompt: /ralph-cancel",
        set: one_stop,
        act: |w| typed(w, "ralph-cancel", ""),
        then: |w, _| {
            w.expansion("ralph-cancel", "").exit(0);
            gone(w);
        },
        ..CASE
    },
    Case {
        name: "prompt: `ralph cancel` in mid-turn",
        set: one_stop,
        act: |w| prompted(w, "ralph cancel"),
        then: |w, _| {
            w.event("ralph-user-prompt", "UserPromptSubmit", json!({"prompt": "ralph cancel"}))
                .exit(0);
            gone(w);
        },
        ..CASE
    },
    Case {
        name: "prompt: `ralph pause` in mid-turn",
        set: one_stop,
        act: |w| prompted(w, "ralph pause"),
        then: |w, _| {
            w.event("ralph-user-prompt", "UserPromptSubmit", json!({"prompt": "ralph pause"}))
                .exit(0);
            assert_eq!(w.standing(), "paused 1/25 person");
        },
        ..CASE
    },
    Case {
        name: "prompt: another prompt reveals a pause",
        set: || {
            let mut world = one_stop();
            world.prompt = "prompt-2".to_owned();
            world
        },
        act: |w| prompted(w, "what is this?"),
        then: |w, _| {
            w.event("ralph-user-prompt", "UserPromptSubmit", json!({"prompt": "and that?"}))
                .exit(0);
            assert!(w.standing().starts_with("paused 1/25"), "{}", w.standing());
        },
        ..CASE
    },
    Case {
        name: "tool: is denied",
        set: one_stop,
        act: |w| {
            hook(
                w,
                "ralph-pre-tool-use",
                "PreToolUse",
                json!({
            "tool_name": "EnterPlanMode", "tool_input": {}, "tool_use_id": "t"}),
            )
        },
        then: |w, _| {
            w.tool("EnterPlanMode", json!({})).denied();
            goes_on_from(w, 1);
        },
        ..CASE
    },
    Case {
        name: "tool: finds a tombstone",
        set: cancelled,
        act: |w| {
            hook(
                w,
                "ralph-pre-tool-use",
                "PreToolUse",
                json!({
            "tool_name": "Read", "tool_input": {"file_path": "/x"}, "tool_use_id": "t"}),
            )
        },
        then: |w, _| {
            w.tool("Read", json!({"file_path": "/x"})).exit(0);
            w.stop("x").exit(0);
            assert!(!w.has_entry());
            assert_eq!(w.ending(), "cancelled");
        },
        ..CASE
    },
    Case {
        name: "tool: was used",
        set: || World::looping(""),
        act: |w| {
            hook(
                w,
                "ralph-backpressure",
                "PostToolUse",
                json!({
            "tool_name": "Read", "tool_input": {"file_path": "/x"}, "tool_use_id": "t",
            "tool_response": {}}),
            )
        },
        then: |w, _| goes_on_from(w, 0),
        ..CASE
    },
    Case {
        name: "tool: has edited a file and broken it",
        set: || {
            let world = World::new();
            world.write("a.json", "{\"was\": \"here\"}\n");
            world.git("add .");
            world.git("commit -q -m files");
            world.start("");
            world.write("a.json", BROKEN);
            world
        },
        act: |w| hook(w, "ralph-backpressure", "PostToolUse", edited(w)),
        then: |w, _| {
            let said = w.event("ralph-backpressure", "PostToolUse", edited(w)).context();
            // Told already, if the answer was lost after that was written down.
            assert!(said.contains("a.json:1:") || said.contains("reported before"), "{said}");
            let text = fs::read_to_string(w.project().join("a.json")).unwrap();
            assert_eq!(text, BROKEN);
            goes_on_from(w, 0);
        },
        has_family: true,
        ..CASE
    },
];

const BROKEN: &str = "{\"a\":   1,,}\n";

fn edited(world: &World) -> Value {
    let path = world.project().join("a.json");
    json!({"tool_name": "Write", "tool_input": {"file_path": path, "content": BROKEN},
        "tool_use_id": "t", "tool_response": {}})
}

fn steered() -> World {
    let world = one_stop();
    let send = ["signal", "steer", "use tabs", "--session", &world.session];
    assert!(world.elsewhere(&send).success);
    world
}

/// A tool call of the conversation, or of a worker.
fn called(agent: &str) -> Value {
    json!({"tool_name": "Bash", "tool_input": {"command": "true"}, "tool_use_id": "t",
        "tool_response": {}, "agent_id": agent})
}

/// What was not delivered is delivered by the next hook. One that was struck after it had printed may
/// be repeated, and no more than once.
fn heard(world: &World, answered: bool, agent: &str) {
    let call = || world.event("ralph-backpressure", "PostToolUse", called(agent)).out();
    let next = call();
    assert!(answered || next.contains("use tabs"), "{next}");
    assert_eq!(call(), "");
    world.working_stop("x").goes_on();
}

/// After a stop, with work that a person could be needed for.
fn with_a_criterion() -> World {
    let world = one_stop();
    world.edit_state(|state| {
        state["acceptance_criteria"] = json!([{"id": "AC-1", "verification_command": "false"}]);
    });
    world
}

fn one_stop() -> World {
    after_a_stop(World::looping(""))
}

fn after_a_stop(world: World) -> World {
    world.working_stop("x").goes_on();
    world.write("more", "work");
    world
}

fn with_criterion(holds: bool) -> World {
    let world = World::looping("--ac \"done says yes=grep -q yes done\"");
    if holds {
        world.write("done", "yes\n");
    }
    world
}

fn cancelled() -> World {
    let world = one_stop();
    assert!(world.elsewhere(&["cancel", "--session", &world.session]).success);
    world
}

fn paused() -> World {
    let world = one_stop();
    assert!(world.elsewhere(&["pause", "--session", &world.session]).success);
    world
}

fn stop(world: &World, message: &str) -> Act {
    let members = json!({"last_assistant_message": message, "stop_hook_active": false,
        "background_tasks": [], "session_crons": []});
    hook(world, "ralph-stop-hook", "Stop", members)
}

fn expansion(name: &str, args: &str, prompt_id: &str) -> Value {
    json!({"expansion_type": "slash_command", "command_name": name, "command_args": args,
        "command_source": "userSettings", "prompt": format!("/{name} {args}"), "prompt_id": prompt_id})
}

fn typed(world: &World, name: &str, args: &str) -> Act {
    let members = expansion(name, args, &world.prompt);
    hook(world, "ralph-user-prompt", "UserPromptExpansion", members)
}

fn again_members() -> Value {
    expansion("ralph", "\"Do more\"", "prompt-2")
}

fn replacing(world: &World) -> Act {
    hook(world, "ralph-user-prompt", "UserPromptExpansion", again_members())
}

fn prompted(world: &World, text: &str) -> Act {
    hook(world, "ralph-user-prompt", "UserPromptSubmit", json!({"prompt": text}))
}

/// The next stop, at which work was done, goes on with the right number.
#[track_caller]
pub(super) fn goes_on_from(world: &World, counted: u64) {
    assert_eq!(world.state()["iteration"], counted);
    let text = world.step(&world.working_stop("x"));
    assert!(text.contains(&format!("Ralph {}/25: ", counted + 1)), "{text}");
}

/// Counted exactly once, or not at all where nothing was answered.
fn counted(world: &World, answered: bool) {
    let counted = world.state()["iteration"].as_u64().unwrap();
    assert!(counted == 2 || counted == 1 && !answered, "counted {counted}, answered {answered}");
    goes_on_from(world, counted);
}

fn refused_then_complete(world: &World, answered: bool) {
    let counted = world.state()["iteration"].as_u64().unwrap();
    assert!(counted == 1 || counted == 0 && !answered, "counted {counted}, answered {answered}");
    world.write("done", "yes\n");
    completes(world);
}

/// A completion that is requested again is granted. A command that was killed has failed on this
/// tree, and is not run again by a mere request; `ralph verify` runs it.
#[track_caller]
pub(super) fn completes(world: &World) {
    world.stop(TOKEN).harmless();
    if world.has_entry() {
        let said = world.ralph(&["verify"]);
        assert!(said.success, "{}", said.text);
        world.stop(TOKEN).harmless();
    }
    ends(world, TOKEN, "complete");
}

/// However far it came, the next stop of the session finishes it, and says so at most once more.
fn ends(world: &World, message: &str, kind: &str) {
    world.stop(message).harmless();
    assert_eq!(world.ending(), kind, "{}", world.archived()[0]["ending"]);
    assert!(!world.has_entry());
    world.stop(message).silent();
}

fn gone(world: &World) {
    world.stop("x").exit(0);
    assert_eq!(world.ending(), "cancelled");
    assert!(!world.has_entry());
}

fn paused_or_goes_on(world: &World) {
    match world.standing().starts_with("paused 1/25") {
        true => drop(world.stop("x").harmless()),
        false => goes_on_from(world, 1),
    }
    assert!(world.expansion("ralph", "").harmless().err().is_empty());
    assert!(world.standing().starts_with("implementation"), "{}", world.standing());
}

fn started(world: &World, answered: bool) {
    assert!(world.has_entry() || !answered, "an answered start is bound");
    // The client calls the same hook again for the same words, with another prompt.
    if !world.has_entry() {
        world.expansion("ralph", "\"Fix it\"").exit(0);
    }
    assert_eq!(world.state()["prompt"], "Fix it");
    goes_on_from(world, 0);
}

/// The loop is the new session's, or still the old one's and can be brought over again.
fn moved(world: &World, answered: bool) {
    assert!(world.has_entry() || !answered, "an answered move is bound");
    world.session_starts("clear").exit(0);
    world.expansion("ralph", "").exit(0);
    assert!(world.has_entry(), "the loop is lost between two sessions");
    goes_on_from(world, 1);
}

/// A loop whose one task is for a worker.
fn for_workers() -> World {
    let world = World::new();
    world.type_command("ralph-parallel", "\"look at it\"");
    world
}

fn worker_call() -> Value {
    json!({"tool_name": "Agent", "tool_use_id": "call-1", "tool_input": {"subagent_type": "ralph-worker",
        "description": "T-1", "prompt": "Ralph task T-1\n"}})
}

fn launched() -> Value {
    let mut call = worker_call();
    call["tool_response"] = json!({"isAsync": true, "status": "async_launched", "agentId": "a1"});
    call
}

fn reported() -> Value {
    json!({"agent_id": "a1", "agent_type": "ralph-worker", "agent_transcript_path": "/nowhere",
        "last_assistant_message": "Status: DONE\nFiles changed: none\nTests: none\nCompletion condition: met\nNotes: none"})
}

fn status_of_task(world: &World) -> String {
    world.state()["task_graph"][0]["status"].as_str().unwrap_or_default().to_owned()
}
