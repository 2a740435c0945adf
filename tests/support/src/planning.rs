//! A session that plans by consensus (`/ralplan`), at each of its steps.

use crate::session::{Ran, World};
use serde_json::{Value, json};
use std::fs;

pub const PLAN: &str = ".omc/plans/login.md";
pub const READY: &str = "Written.\n\nPLAN_READY: .omc/plans/login.md";
pub const QUESTION: &str = "ARCHITECT_QUESTION:\n- Topic: Security\n- Context: the login\n- Files to examine: tracked\n\
    - Specific Question: where do secrets go?";
pub const ANSWER: &str = "ARCHITECT_ANSWER:\n- Topic: Security\n- Analysis: there is one file\n- Recommendation: a vault\n\
    - Trade-offs: none\n- References: tracked:1";

pub fn plan_text(about: &str) -> String {
    format!(
        "# Login\n\n## Requirements summary\n\nAdd a form to `tracked`. {about}\n\n## Acceptance criteria\n\nThe file is there.\n\n\
         ## Steps\n\nAdd the form.\n\n## Risks\n\nThe file grows by 1 line.\n\n## Verification\n\nSee AC-1.\n\n```json ralph-plan\n{{\"acceptance_criteria\":[{{\"id\":\"AC-1\",\
         \"description\":\"the file is there\",\"verification_command\":\"test -f tracked\"}}],\"task_graph\":[{{\
         \"id\":\"T-1\",\"name\":\"add the form\",\"deps\":[],\"files\":[\"tracked\"],\"completion_condition\":\
         \"the form is in the file\"}}]}}\n```\n"
    )
}

/// A session in which `/ralplan "Add a login"` was typed.
pub fn planning() -> World {
    let world = World::new();
    let context = world.type_command("ralplan", "\"Add a login\"").context();
    assert!(context.starts_with("Ralph planning ") && context.contains(" started\n"), "{context}");
    world
}

/// The same, after the gap finder's report.
pub fn planned_for() -> World {
    let world = planning();
    reports(&world, "metis", "m", "Passwords are not mentioned.").silent();
    world
}

/// The same, after a plan has passed its gates.
pub fn in_review() -> World {
    let world = planned_for();
    world.write(PLAN, &plan_text(""));
    reports(&world, "planner", "p", READY).silent();
    assert_eq!(phase(&world), "critic_review");
    world
}

/// The same, waiting for the user's decision.
pub fn awaiting() -> World {
    let world = in_review();
    allowed(&calls_critic(&world));
    reports(&world, "critic", "c", &verdict(&world, "OKAY")).silent();
    assert_eq!(phase(&world), "awaiting_user_approval");
    world
}

pub fn phase(world: &World) -> String {
    world.state()["ralplan"]["phase"].as_str().unwrap().to_owned()
}

pub fn mirror(world: &World) -> Value {
    let text = fs::read_to_string(world.project().join(".omc/ralplan-state.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

pub fn hash(world: &World) -> String {
    let plan = &world.state()["ralplan"];
    let hash = plan["plan_hash"].as_str().or(plan["ready_hash"].as_str()).unwrap_or_default();
    hash.chars().take(12).collect()
}

/// Has an agent of this kind end with a message.
pub fn reports(world: &World, kind: &str, id: &str, message: &str) -> Ran {
    world.event("ralph-stop-hook", "SubagentStop", report(kind, id, message))
}

/// The client's payload for an agent that ends.
pub fn report(kind: &str, id: &str, message: &str) -> Value {
    let kind = if kind.contains('-') { kind.to_owned() } else { format!("ralplan-{kind}") };
    json!({"agent_id": id, "agent_type": kind, "stop_hook_active": false,
        "agent_transcript_path": "/nowhere", "last_assistant_message": message, "background_tasks": []})
}

pub fn verdict(world: &World, word: &str) -> String {
    let issues = match word {
        "REJECT" => "\n- Critical Issues:\n  1. T-1 names no line: name it",
        _ => "",
    };
    format!("CRITIC_FEEDBACK:\n- Verdict: {word}{issues}\n- Plan hash: {}", hash(world))
}

pub fn calls(world: &World, kind: &str, prompt: &str) -> Ran {
    let input = json!({"subagent_type": kind, "description": "d", "prompt": prompt});
    world.tool("Agent", input)
}

pub fn calls_critic(world: &World) -> Ran {
    world.event("ralph-pre-tool-use", "PreToolUse", critic_call(world))
}

pub fn critic_call(world: &World) -> Value {
    let prompt = format!("Review `{PLAN}`. Plan hash: {}", hash(world));
    let input = json!({"subagent_type": "ralplan-critic", "description": "d", "prompt": prompt});
    json!({"tool_name": "Agent", "tool_input": input, "tool_use_id": "t"})
}

/// A tool call of a subagent.
pub fn by(world: &World, kind: &str, tool: &str, input: Value) -> Ran {
    let members = json!({"tool_name": tool, "tool_input": input, "tool_use_id": "t",
        "agent_id": "a", "agent_type": kind});
    world.event("ralph-pre-tool-use", "PreToolUse", members)
}

pub fn write_to(world: &World, path: &str) -> Value {
    json!({"file_path": world.project().join(path), "content": "x"})
}

pub fn question(world: &World) -> Value {
    let plan = world.state()["ralplan"].clone();
    let concerns = plan["concerns"].as_array().into_iter().flatten().enumerate();
    let concerns = concerns.map(|(at, one)| format!(" {}. {}", at + 1, one.as_str().unwrap()));
    let concerns: String = concerns.collect();
    let warning = if concerns.is_empty() { "" } else { "WARNING: not approved. " };
    let lists = ["criteria", "tasks"].map(|list| plan[list].as_array().cloned());
    let lists: Vec<&str> = lists.iter().flatten().flatten().filter_map(Value::as_str).collect();
    let question = format!(
        "{warning}The critic judged the plan `{}` ({}).{concerns} {} Shall it be carried out?",
        plan["plan_path"].as_str().unwrap(),
        hash(world),
        lists.join(" ")
    );
    json!({"questions": [{"question": question, "header": "Plan", "multiSelect": false, "options": [
        {"label": "Proceed", "description": "a"}, {"label": "Proceed and start", "description": "d"},
        {"label": "Adjust", "description": "b"}, {"label": "Discard", "description": "c"}]}]})
}

/// Has the user answer the gate's question.
pub fn answers(world: &World, words: &str) -> Ran {
    world.event("ralph-backpressure", "PostToolUse", answer_to(world, words))
}

/// The client's payload for the answer.
pub fn answer_to(world: &World, words: &str) -> Value {
    let asked = question(world);
    let mut response = asked.clone();
    let text = asked["questions"][0]["question"].as_str().unwrap();
    response["answers"] = json!({text: words});
    response["annotations"] = json!({});
    json!({"tool_name": "AskUserQuestion", "tool_input": response, "tool_use_id": "q",
        "tool_response": response})
}

pub fn agent_is_back(world: &World, kind: &str) -> Ran {
    let members = json!({"tool_name": "Agent", "tool_input": {"subagent_type": kind}, "tool_use_id": "t",
        "tool_response": {"status": "completed", "agentId": "a"}});
    world.event("ralph-backpressure", "PostToolUse", members)
}

#[track_caller]
pub fn allowed(ran: &Ran) {
    assert_eq!(ran.json()["hookSpecificOutput"]["permissionDecision"], "allow", "{ran:?}");
}

#[track_caller]
pub fn cut(ran: &Ran) {
    let said = ran.json();
    assert_eq!(
        (&said["continue"], &said["hookSpecificOutput"]["permissionDecision"]),
        (&json!(false), &json!("deny")),
        "{ran:?}"
    );
}
