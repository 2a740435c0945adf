//! Consensus planning in the real client: a model that does what `Next:` says, and agents with words of their own.
//!
//! Skill, agents and hooks are what `ralph install` puts there. Nothing here knows a rule: what the
//! conversation does is read from what the hooks tell it.

pub(crate) mod dialog;
pub(crate) mod ends;
pub(crate) mod facts;
pub(crate) mod printed;
pub(crate) mod wall;

use std::sync::atomic::{AtomicUsize, Ordering};

use ralph_test_support::fake_api::{ApiRequest, Gate, Script, ScriptedTurn};
use serde_json::{Value, json};

use crate::kept::the_live;
use crate::support::{PATIENCE, World, wait_until};

const START: &str = "/ralplan \"Add a login\"";
const PLAN: &str = ".omc/plans/login.md";
const DOCUMENT: &str = ".omc/ralplan-state.json";
const ASKED: &str = "ARCHITECT_QUESTION:\n- Topic: Security\n- Context: the login\n\
    - Files to examine: README.md\n- Specific Question: where do secrets go?";
const ANSWERED: &str = "ARCHITECT_ANSWER:\n- Topic: Security\n- Analysis: there is one file\n\
    - Recommendation: a vault\n- Trade-offs: none\n- References: README.md:1";

/// What begins the prompt of each agent, as `Next:` has it.
const GAP_FINDER: &str = "Find the gaps in this task";
const PLANNER: &str = "Plan directly";
const ARCHITECT: &str = "Answer these questions from the files";
const CRITIC: &str = "Review the plan `";

/// What is special about the agents of a planning.
#[derive(Default)]
struct Cast {
    /// The first verdicts; every later one is OKAY.
    verdicts: Vec<&'static str>,
    /// The first planner asks the architect before it writes.
    asks_architect: bool,
    /// What each planner says above its `PLAN_READY:`.
    planner_says: String,
    /// The agent whose prompt begins so waits at the gate, each time it is called.
    held: Option<(&'static str, Gate)>,
}

impl Cast {
    /// Gives the conversation its agents.
    fn join(self, conversation: Script, world: &World) -> Script {
        let gate = |role: &str| {
            self.held.as_ref().filter(|(held, _)| *held == role).map(|(_, gate)| gate.clone())
        };
        let says = |role: &str, text: &'static str| {
            let gate = gate(role);
            Script::new().answer_with(move |_| say(gate.as_ref(), text))
        };
        conversation
            .subagent(GAP_FINDER, says(GAP_FINDER, "Passwords are not mentioned."))
            .subagent(
                PLANNER,
                planner(world, gate(PLANNER), self.asks_architect, self.planner_says),
            )
            .subagent(ARCHITECT, says(ARCHITECT, ANSWERED))
            .subagent(CRITIC, critic(gate(CRITIC), self.verdicts))
    }
}

fn say(gate: Option<&Gate>, text: &str) -> ScriptedTurn {
    match gate {
        Some(gate) => ScriptedTurn::held(gate).then_text(text),
        None => ScriptedTurn::text(text),
    }
}

/// Reads and writes the plan, anew each time it is called; the client wants a file read before it is written.
fn planner(world: &World, gate: Option<Gate>, asks: bool, besides: String) -> Script {
    let path = world.project().join(PLAN);
    let n_plans = AtomicUsize::new(0);
    Script::new().answer_with(move |request| {
        let is_to_ask = asks && !request.first_user_text().contains("The architect answered");
        match request.tool_results().len() {
            0 if is_to_ask => say(gate.as_ref(), ASKED),
            0 => ScriptedTurn::tool("Read", json!({"file_path": path})),
            1 => {
                let n = n_plans.fetch_add(1, Ordering::SeqCst) + 1;
                ScriptedTurn::tool("Write", json!({"file_path": path, "content": plan_text(n)}))
            }
            _ => say(gate.as_ref(), &format!("{besides}\n\nPLAN_READY: {PLAN}")),
        }
    })
}

fn critic(gate: Option<Gate>, verdicts: Vec<&'static str>) -> Script {
    let n_verdicts = AtomicUsize::new(0);
    Script::new().answer_with(move |request| {
        let n = n_verdicts.fetch_add(1, Ordering::SeqCst);
        let word = verdicts.get(n).copied().unwrap_or("OKAY");
        say(gate.as_ref(), &verdict(word, &digits(&request.first_user_text())))
    })
}

fn verdict(word: &str, digits: &str) -> String {
    let issues = match word {
        "REJECT" => "\n- Critical Issues:\n  1. T-1 names no line: name it",
        _ => "",
    };
    format!("CRITIC_FEEDBACK:\n- Verdict: {word}{issues}\n- Plan hash: {digits}")
}

/// The digits that a critic is given.
fn digits(prompt: &str) -> String {
    let (_, rest) = prompt.split_once("Plan hash: ").expect("a critic is given the digits");
    rest.chars().take_while(char::is_ascii_hexdigit).collect()
}

fn plan_text(n: usize) -> String {
    format!(
        "# Login\n\n## Requirements summary\nAdd a line to `README.md`. This is plan {n}.\n\n## Acceptance criteria\nThe line is there.\n\n## Steps\n\
         Add the line.\n\n## Risks\nThe file grows by 1 line.\n\n## Verification\nSee AC-1.\n\n```json ralph-plan\n{{\"acceptance_criteria\":\
         [{{\"id\":\"AC-1\",\"description\":\"the line is there\",\"verification_command\":\"grep -q Login README.md\"\
         }}],\"task_graph\":[{{\"id\":\"T-1\",\"name\":\"add the line\",\"deps\":[],\"files\":[\"README.md\"],\
         \"completion_condition\":\"the line is in the file\"}}]}}\n```\n"
    )
}

/// What a conversation that obeys does now; none where no hook has told it anything.
fn obey(request: &ApiRequest) -> Option<ScriptedTurn> {
    let news = request.news();
    if !news.contains("Next: ") && news.contains("`ralph ralplan next` prints it") {
        return Some(ScriptedTurn::bash("ralph ralplan next"));
    }
    let (_, next) = news.rsplit_once("Next: ")?;
    if next.starts_with("call the Agent tool with subagent_type `") {
        return Some(ScriptedTurn::tool("Agent", call(next)));
    }
    let can_ask = request.tools().contains(&"AskUserQuestion");
    (next.starts_with("summarize in a few lines") && can_ask).then(|| {
        ScriptedTurn::text("It adds a line.").then_tool("AskUserQuestion", question(&news))
    })
}

/// The call that a step names.
fn call(next: &str) -> Value {
    let kind = next.split('`').nth(1).expect("a step names its agent");
    let (_, prompt) = next.split_once("word for word:\n").expect("a step has a prompt");
    let prompt = prompt.split("\n</system-reminder>").next().unwrap_or(prompt);
    json!({"subagent_type": kind, "description": "a step", "prompt": prompt, "run_in_background": false})
}

/// The question that was last named.
fn question(told: &str) -> Value {
    let (_, next) = told.rsplit_once("exactly one question:\n").expect("a question is named");
    let (text, _) = next.split_once("\n- Proceed: ").expect("the options stand below");
    let option = |label: &str| json!({"label": label, "description": "As it says"});
    json!({"questions": [{"question": text, "header": "Plan", "multiSelect": false,
        "options": [option("Proceed"), option("Proceed and start"),
            option("Adjust"), option("Discard")]}]})
}

/// A conversation that obeys, and ends its turn where there is nothing to obey.
fn obedient() -> Script {
    Script::new()
        .answer_with(|request| obey(request).unwrap_or_else(|| ScriptedTurn::text("I wait.")))
}

/// The live planning, from its state.
fn plan(world: &World) -> Value {
    the_live(world).state["ralplan"].clone()
}

fn phase(world: &World) -> String {
    plan(world)["phase"].as_str().unwrap().to_owned()
}

/// How the plannings and loops of this world have ended, the oldest first.
fn endings(world: &World) -> Vec<String> {
    let folders = std::fs::read_dir(world.ralph_home().join("archive")).into_iter().flatten();
    let states = folders.map(|folder| {
        let text = std::fs::read_to_string(folder.unwrap().path().join("state.json")).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()
    });
    let mut all: Vec<(String, String)> = states
        .map(|state| (state["loop_id"].to_string(), state["ending"]["kind"].to_string()))
        .collect();
    all.sort();
    all.into_iter().map(|(_, kind)| kind.trim_matches('"').to_owned()).collect()
}

/// Nothing is there but what was, the plans and the document of the planning.
#[track_caller]
fn assert_untouched(world: &World) {
    assert_eq!(world.git(&["branch", "--list"]).trim(), "* main");
    let changed = world.git(&["status", "--porcelain"]);
    assert!(changed.lines().all(|line| line == "?? .omc/"), "{changed}");
}

#[track_caller]
fn wait_for_phase(world: &World, expected: &str) {
    assert!(wait_until(PATIENCE, || phase(world) == expected), "{:#}", plan(world));
}
