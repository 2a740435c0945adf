//! The typed commands of refinement in a session of the real client: what the guard holds, and what the skills
//! lead to.

use crate::Test;
use crate::refining::{plan, session, told, world};
use crate::support::{World, executables};
use ralph_test_support::fake_api::{ApiRequest, Script, ScriptedTurn, StandIn};
use serde_json::{Value, json};
use std::fs;

pub(crate) const TESTS: &[Test] = tests![
    the_sixth_agent_of_a_conversation_is_refused_by_the_guard,
    a_conversation_that_stops_too_early_is_sent_on_to_the_end,
    typed_ideas_are_found_by_an_agent_and_join_the_tasks,
    a_typed_synthesis_makes_one_plan_of_two,
    a_typed_look_at_the_project_is_done_by_the_session_itself,
];

fn agent(prompt: &str) -> ScriptedTurn {
    let input = json!({"description": "One round", "subagent_type": "general-purpose",
        "model": "opus", "run_in_background": false, "prompt": prompt});
    ScriptedTurn::tool("Agent", input)
}

/// How the only loop of this world has ended.
fn ending(world: &World) -> Value {
    let status = world.ralph(&["status", "--all", "--json"]).exits(0).json();
    assert_eq!(status["loops"].as_array().unwrap().len(), 1, "{status}");
    assert_eq!(status["loops"][0]["mode"], "refine");
    status["loops"][0]["ending"].clone()
}

fn the_sixth_agent_of_a_conversation_is_refused_by_the_guard() {
    let world = world();
    // A model that believes that one round has as many agents as it likes.
    let script = Script::new().answer_with(|request| {
        let results = request.tool_results();
        match results.len() {
            0 => ScriptedTurn::bash("ralph refine begin --plan plan.md"),
            1..=6 => {
                let (_, prompt) =
                    results[0].text.split_once("\n----\n").expect("the round is open");
                agent(prompt)
            }
            7 => ScriptedTurn::bash(
                "printf 'CHANGES: 9\\nSUMMARY: a lot\\n' | ralph refine end --id plan",
            ),
            _ => ScriptedTurn::text("That is all."),
        }
    });
    let agents = Script::new().repeat(ScriptedTurn::text("CHANGES: 9\nSUMMARY: a lot"));
    let stand_in = StandIn::start(script.subagent("# One round over the plan", agents)).unwrap();
    world.client(&stand_in).prompt("/refine plan.md").result();
    let last = stand_in.requests().into_iter().rev().find(|it| it.tool_results().len() == 8);
    let results = last.expect("the conversation came to its end").tool_results();
    for (at, result) in results[1..6].iter().enumerate() {
        assert!(!result.is_error, "agent {}: {}", at + 1, result.text);
    }
    assert!(results[6].is_error, "{}", results[6].text);
    let why = &results[6].text;
    assert!(why.contains("A conversation has room for 5 rounds"), "{why}");
    assert!(why.contains("ralph refine loop --id plan --max-iterations 10"), "{why}");
    let end = &results[7].text;
    assert!(end.contains("Begin no other round") && end.contains("the user can go on"), "{end}");
    assert_eq!(ending(&world)["kind"], "max_iterations");
    assert_eq!(session(&world)["iterations_completed"], 1);
}

fn a_conversation_that_stops_too_early_is_sent_on_to_the_end() {
    let world = world();
    let script = Script::new().answer_with(|request| {
        let results = request.tool_results();
        let Some(last) = results.last() else {
            return ScriptedTurn::bash("ralph refine begin --plan plan.md");
        };
        if let Some((_, prompt)) = last.text.split_once("\n----\n") {
            return agent(prompt);
        }
        let is_told = |words: &str| request.news().contains(words);
        if last.text.contains("Begin no other round") {
            return ScriptedTurn::text("It has settled.");
        }
        if last.text.contains("opens round") {
            // Said in the turn before, and heard at its end.
            return match is_told("next: open round") {
                true => ScriptedTurn::bash("ralph refine begin --id plan"),
                false => ScriptedTurn::text("I think that this is good enough."),
            };
        }
        ScriptedTurn::bash("printf 'CHANGES: 0\\nSUMMARY: nothing\\n' | ralph refine end --id plan")
    });
    let agents = Script::new().repeat(ScriptedTurn::text("CHANGES: 0\nSUMMARY: nothing"));
    let stand_in = StandIn::start(script.subagent("# One round over the plan", agents)).unwrap();
    let run = world.client(&stand_in).prompt("/refine plan.md");
    assert_eq!(run.result()["result"], "It has settled.");
    assert_eq!(session(&world)["plateau_at"], 3);
    assert_eq!(ending(&world)["kind"], "plateau");
}

fn typed_ideas_are_found_by_an_agent_and_join_the_tasks() {
    let world = world();
    const IDEA: &str =
        "{\"id\":\"IDEA-1\",\"name\":\"Log in\",\"completion_condition\":\"one can\"}";
    world
        .run(executables().join("ralph"), &["plan-sync"], "{\"id\":\"T-1\",\"name\":\"old\"}\n")
        .exits(0);
    let script = Script::new().answer_with(|request| {
        let results = request.tool_results();
        match results.len() {
            0 => ScriptedTurn::bash("ralph refine prompt idea-wizard"),
            1 => {
                let (before, rest) = results[0].text.split_once("<ralph-wish>").unwrap();
                let (_, after) = rest.split_once("</ralph-wish>").unwrap();
                agent(&format!("{before}<ralph-wish>\ndoors | & windows\n</ralph-wish>{after}"))
            }
            2 => ScriptedTurn::bash(&format!(
                "ralph refine ideas <<'RALPH_IDEAS' | ralph plan-sync\n```jsonl\n{IDEA}\n```\nRALPH_IDEAS"
            )),
            _ => ScriptedTurn::text("It is among the tasks."),
        }
    });
    let answer = format!("One.\n\n```jsonl\n{IDEA}\n```\n\n```\nCHANGES: 1\nSUMMARY: doors\n```");
    let agents = Script::new().repeat(ScriptedTurn::text(&answer));
    let stand_in =
        StandIn::start(script.subagent("doors | & windows\n</ralph-wish>", agents)).unwrap();
    world.client(&stand_in).prompt("/ideate doors | & windows").result();
    let first = &stand_in.requests()[0];
    assert!(first.all_text().contains("# Ideas for this project"));
    assert_eq!(told(first, "<ralph-arguments>\n", "\n</ralph-arguments>"), "doors | & windows");
    let tasks = world.ralph(&["task", "list", "--all", "--json"]).exits(0).json();
    let named: Vec<&Value> = (0..2).map(|at| &tasks["tasks"][at]["name"]).collect();
    assert_eq!(named, ["old", "Log in"], "{tasks}");
    assert!(no_errors(&stand_in));
}

fn a_typed_synthesis_makes_one_plan_of_two() {
    let world = world();
    let other = world.project().join("it's another.md");
    fs::write(&other, "# Other\n\nTest it first.\n").unwrap();
    let script = Script::new().answer_with(|request| {
        let results = request.tool_results();
        match results.len() {
            0 => ScriptedTurn::bash(
                "ralph refine prompt synthesizer --plan 'plan.md' --with 'it'\\''s another.md'",
            ),
            1 => agent(&results[0].text),
            _ => ScriptedTurn::text("The plan has what the other had."),
        }
    });
    let agents = Script::new().answer_with(|request| match request.tool_results().len() {
        0 => ScriptedTurn::bash("cat \"it's another.md\" >> plan.md"),
        _ => ScriptedTurn::text("Done.\n\nCHANGES: 1\nSUMMARY: tests come first"),
    });
    let stand_in = StandIn::start(script.subagent("it's another.md\n", agents)).unwrap();
    world
        .client(&stand_in)
        .prompt("/plan-refinery synthesize plan.md \"it's another.md\"")
        .result();
    let first = &stand_in.requests()[0];
    assert!(first.all_text().contains("# Look at a plan with fresh eyes"));
    assert!(plan(&world).ends_with("Test it first.\n"), "{}", plan(&world));
    assert!(no_errors(&stand_in));
    assert!(!world.project().join(".claude/refine-sessions.json").exists(), "it is no session");
}

fn a_typed_look_at_the_project_is_done_by_the_session_itself() {
    let world = world();
    let script = Script::new().answer_with(|request| {
        let results = request.tool_results();
        match results.len() {
            0 => ScriptedTurn::bash("ralph refine prompt context-loader"),
            1 => ScriptedTurn::bash("ralph refine prompt post-context --plan 'plan.md'"),
            _ => ScriptedTurn::text("I know it now.\n\nCHANGES: 0\nSUMMARY: it is a list of lines"),
        }
    });
    let stand_in = StandIn::start(script).unwrap();
    world.client(&stand_in).prompt("/plan-refinery context").result();
    let last = stand_in.requests().last().unwrap().tool_results();
    assert!(last[0].text.contains("# Get to know this project"), "{}", last[0].text);
    assert!(last[1].text.contains("What you review: the plan `plan.md`"), "{}", last[1].text);
    assert!(no_errors(&stand_in));
}

fn no_errors(stand_in: &StandIn) -> bool {
    stand_in.requests().iter().flat_map(ApiRequest::tool_results).all(|result| !result.is_error)
}
