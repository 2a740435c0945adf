//! `ralph refine` with the real client: each round is one, edits the copy with its own tools, and ends with
//! the two lines.

use crate::Test;
use crate::kept::installed;
use crate::support::{Run, World};
use ralph_test_support::fake_api::{ApiRequest, Script, ScriptedTurn, StandIn};
use serde_json::{Value, json};
use std::fs;

pub(crate) const TESTS: &[Test] = tests![
    a_plan_settles_in_five_rounds_that_edit_it_with_the_clients_own_tools,
    a_model_that_forgets_the_lines_is_asked_in_the_same_conversation,
    a_client_that_is_killed_in_round_three_makes_that_round_once_more,
    what_a_person_writes_in_the_middle_of_a_round_stands,
    ideas_become_tasks,
    the_typed_command_has_agents_of_the_conversation_refine_the_plan,
];

pub(crate) fn world() -> World {
    let world = installed();
    let plan: String = (0..40).map(|line| format!("line {line}.\n")).collect();
    fs::write(world.project().join("plan.md"), plan).unwrap();
    world
}

pub(crate) fn refine(world: &World, stand_in: &StandIn, args: &[&str]) -> Run {
    let mut all = vec!["refine", "loop", "--plan", "plan.md"];
    all.extend_from_slice(args);
    world.ralph_with_client(stand_in, &all)
}

pub(crate) fn session(world: &World) -> Value {
    let text = fs::read(world.project().join(".claude/refine-sessions.json")).unwrap();
    let document: Value = serde_json::from_slice(&text).unwrap();
    document["sessions"]["plan"].clone()
}

pub(crate) fn plan(world: &World) -> String {
    fs::read_to_string(world.project().join("plan.md")).unwrap()
}

/// What stands between these in the prompt of the round.
pub(crate) fn told(request: &ApiRequest, before: &str, after: &str) -> String {
    let text = request.all_text();
    let (_, rest) = text.split_once(before).expect("the prompt says it");
    rest.split_once(after).unwrap().0.to_owned()
}

pub(crate) fn round(request: &ApiRequest) -> usize {
    told(request, "Round: ", " of").parse().unwrap()
}

/// A model that reads the plan, replaces so many of its lines, and says what it says.
pub(crate) fn edits(request: &ApiRequest, root: &str, makes: usize, says: &str) -> ScriptedTurn {
    let file = format!("{root}/{}", told(request, "\nPlan: `", "`\n"));
    let number = round(request);
    let lines = |word: &str| {
        let lines = (0..makes).map(|line| format!("line {}.{word}\n", number * 8 + line - 8));
        lines.collect::<String>()
    };
    match request.tool_results().len() {
        0 => ScriptedTurn::tool("Read", json!({"file_path": file})),
        1 => ScriptedTurn::tool(
            "Edit",
            json!({"file_path": file, "old_string": lines(""), "new_string": lines(&format!(" Better by {number}."))}),
        ),
        _ => ScriptedTurn::text(says),
    }
}

pub(crate) fn ended(changes: usize) -> String {
    format!("I looked at it.\n\n```\nCHANGES: {changes}\nSUMMARY: it is better\n```")
}

fn a_plan_settles_in_five_rounds_that_edit_it_with_the_clients_own_tools() {
    let world = world();
    let root = world.project().to_str().unwrap().to_owned();
    let script = Script::new().answer_with(move |request| {
        let makes = [5, 3, 2, 1, 1][round(request) - 1];
        edits(request, &root, makes, &ended(makes))
    });
    let stand_in = StandIn::start(script).unwrap();
    let run = refine(&world, &stand_in, &["--no-notify"]).exits(0);
    assert!(run.stdout.contains("plateau at round 5"), "{}", run.stdout);
    let session = session(&world);
    assert_eq!((&session["plateau_at"], &session["total_changes"]), (&json!(5), &json!(12)));
    let rounds = session["history"].as_array().unwrap().iter();
    let measured: Vec<u64> =
        rounds.map(|round| round["measured"]["lines"].as_u64().unwrap()).collect();
    assert_eq!(measured, [5, 3, 2, 1, 1]);
    assert_eq!(plan(&world).matches("Better by").count(), 12);
    for result in stand_in.requests().iter().flat_map(ApiRequest::tool_results) {
        assert!(!result.is_error, "{}", result.text);
    }
    assert!(!world.project().join(".omc").exists());
}

fn a_model_that_forgets_the_lines_is_asked_in_the_same_conversation() {
    let world = world();
    let script = Script::new()
        .turn(ScriptedTurn::text("It is right."))
        .turn(ScriptedTurn::text("Forgive me.\n\nCHANGES: 0\nSUMMARY: nothing"))
        .repeat(ScriptedTurn::text(&ended(0)));
    let stand_in = StandIn::start(script).unwrap();
    let run = refine(&world, &stand_in, &[]).exits(0);
    assert!(run.stdout.contains("came early (round 3)"), "{}", run.stdout);
    let requests = stand_in.requests();
    assert_eq!(requests.len(), 4);
    let asked = requests[1].all_text();
    assert!(asked.contains("It is right.") && asked.contains("The line `CHANGES:` is missing"));
    assert!(!requests[2].all_text().contains("It is right."), "the next round is a fresh one");
    assert_eq!(session(&world)["history"][0]["changes"], 0);
}

fn a_client_that_is_killed_in_round_three_makes_that_round_once_more() {
    let world = world();
    let killed = world.root().join("killed");
    let script = Script::new().answer_with(move |request| {
        if round(request) == 3 && !killed.exists() {
            fs::write(&killed, "").unwrap();
            return ScriptedTurn::bash("kill -9 $CLAUDE_PID; sleep 60");
        }
        ScriptedTurn::text(&ended(0))
    });
    let stand_in = StandIn::start(script).unwrap();
    let args = ["refine", "loop", "--plan", "plan.md", "--permission-mode", "bypassPermissions"];
    let run = world.ralph_with_client(&stand_in, &args);
    let run = run.exits(0);
    assert!(run.stderr.contains("round 3 of 10 was cut"), "{}", run.stderr);
    let session = session(&world);
    let ends: Vec<&str> = session["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|round| round["end"].as_str().unwrap_or("done"))
        .collect();
    assert_eq!(ends, ["done", "done", "interrupted", "done", "done", "done"]);
    assert_eq!(session["plateau_at"], 5);
}

fn what_a_person_writes_in_the_middle_of_a_round_stands() {
    let world = world();
    let root = world.project().to_str().unwrap().to_owned();
    let file = world.project().join("plan.md");
    let script = Script::new().answer_with(move |request| {
        if round(request) == 1 && request.tool_results().len() == 1 {
            fs::write(&file, "mine\n").unwrap();
        }
        let makes = if round(request) == 1 { 2 } else { 0 };
        if makes == 0 {
            ScriptedTurn::text(&ended(0))
        } else {
            edits(request, &root, makes, &ended(makes))
        }
    });
    let stand_in = StandIn::start(script).unwrap();
    let run = refine(&world, &stand_in, &[]).exits(0);
    assert!(run.stderr.contains("was edited while round 1 ran"), "{}", run.stderr);
    assert_eq!((plan(&world).as_str(), &session(&world)["plateau_at"]), ("mine\n", &json!(4)));
    let history = world.ralph(&["refine", "history"]).exits(0).stdout;
    assert!(history.contains("what round 1 wrote, which is not the plan"), "{history}");
}

fn ideas_become_tasks() {
    let world = world();
    let ideas = "Two ideas.\n\n```jsonl\n{\"id\":\"IDEA-1\",\"name\":\"Log in\"}\n\
                 {\"id\":\"IDEA-2\",\"name\":\"Log out\",\"deps\":[\"IDEA-1\"]}\n```\n\n```\nCHANGES: 2\nSUMMARY: a\n```";
    let stand_in = StandIn::start(Script::new().turn(ScriptedTurn::text(ideas))).unwrap();
    let run = world.ralph_with_client(&stand_in, &["ideate", "doors | windows"]).exits(0);
    assert!(stand_in.requests()[0].all_text().contains("doors | windows"));
    world.run(crate::support::executables().join("ralph"), &["plan-sync"], &run.stdout).exits(0);
    let tasks = world.ralph(&["task", "list", "--all", "--json"]).exits(0).json();
    assert_eq!(
        (&tasks["tasks"][1]["id"], &tasks["tasks"][1]["deps"]),
        (&json!("T-2"), &json!(["T-1"]))
    );
}

/// The session's model plays the skill: it opens a round, calls the agent as it is told, hands the answer
/// over, and goes on for as long as it is told to.
fn orchestrates(request: &ApiRequest) -> ScriptedTurn {
    let results = request.tool_results();
    let Some(last) = results.last() else {
        return ScriptedTurn::bash("ralph refine begin --plan plan.md");
    };
    if let Some((_, prompt)) = last.text.split_once("\n----\n") {
        let input = json!({"description": "One round", "subagent_type": "general-purpose",
            "model": "opus", "run_in_background": false, "prompt": prompt});
        return ScriptedTurn::tool("Agent", input);
    }
    if last.text.contains("ralph refine begin --id plan` opens") {
        return ScriptedTurn::bash("ralph refine begin --id plan");
    }
    if last.text.contains("Begin no other round") {
        return ScriptedTurn::text("It has settled.");
    }
    let says =
        last.text.split("CHANGES: ").nth(1).and_then(|rest| rest.chars().next()).unwrap_or('?');
    ScriptedTurn::bash(&format!(
        "ralph refine end --id plan <<'RALPH_ANSWER'\nDone.\n\nCHANGES: {says}\nSUMMARY: better\nRALPH_ANSWER"
    ))
}

fn the_typed_command_has_agents_of_the_conversation_refine_the_plan() {
    let world = world();
    let agents = Script::new().answer_with(|request| {
        let makes = [2, 1, 1].get(round(request) - 1).copied().unwrap_or_default();
        match request.tool_results().len() {
            0 => {
                let file = told(request, "\nPlan: `", "`\n");
                ScriptedTurn::bash(&format!(
                    "for line in $(seq {makes}); do echo better >> {file}; done"
                ))
            }
            _ => ScriptedTurn::text(&ended(makes)),
        }
    });
    let script =
        Script::new().answer_with(orchestrates).subagent("# One round over the plan", agents);
    let stand_in = StandIn::start(script).unwrap();
    world.client(&stand_in).prompt("/refine plan.md").result();
    let first = &stand_in.requests()[0];
    assert!(first.all_text().contains("# Refine until it no longer changes"));
    assert_eq!(told(first, "<ralph-arguments>\n", "\n</ralph-arguments>"), "plan.md");
    let session = session(&world);
    assert_eq!(
        (&session["plateau_at"], &session["total_changes"]),
        (&json!(3), &json!(4)),
        "{session}"
    );
    assert_eq!(session["history"][2]["measured"]["lines"], 1);
    assert_eq!(plan(&world).matches("better\n").count(), 4);
    let last = stand_in.requests().last().unwrap().all_text();
    assert!(last.contains("the plateau came early (round 3)"), "{last}");
}
