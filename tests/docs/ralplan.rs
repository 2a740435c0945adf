//! The texts of consensus planning hold to what the code reads.
//!
//! What an agent is shown as an example it will write, so each example goes through the very reader
//! that judges the report.

use super::front_matter::FrontMatter;
use super::{agent, check_contains, read, root, skill, skills};
use jiff::Timestamp;
use ralph_core::guard::commands;
use ralph_core::guard::commands::Reach;
use ralph_core::modes::ralplan::{self, Role, export, formats, gates, question};
use ralph_core::state::{PlanPhase, RalplanState};
use ralph_core::text::hex::sha256;
use serde_json::Value;

const NAMES: [&str; 3] = ["ralplan", "rp", "planloop"];

/// A planning that waits for the person.
fn awaiting() -> RalplanState {
    RalplanState {
        phase: PlanPhase::AwaitingUserApproval,
        plan_path: ".omc/plans/a.md".to_owned(),
        plan_hash: sha256("plan"),
        ..RalplanState::default()
    }
}

/// What stands in the plain fences of a text, in their order.
fn fenced(text: &str) -> Vec<&str> {
    text.split("\n```\n").skip(1).step_by(2).collect()
}

/// The plan that the planner is shown, and the project for which it is one.
fn plan() -> String {
    let text = agent("ralplan-planner");
    let (_, rest) = text.split_once("\n~~~markdown\n").expect("the plan stands in a fence");
    rest.split_once("\n~~~\n").expect("the fence is closed").0.to_owned()
}

const PROJECT: [&str; 5] =
    ["package.json", "src/auth/sessions.ts", "src/auth/login.ts", "docs/login.md", "src"];

fn failed(text: &str, project: &[&str]) -> Vec<String> {
    gates::check(text, |path| project.contains(&path)).iter().map(ToString::to_string).collect()
}

#[test]
fn the_plan_that_the_planner_is_shown_passes_the_gates() {
    assert_eq!(failed(&plan(), &PROJECT), [""; 0]);
    for part in ["Requirements summary", "Acceptance criteria", "Steps", "Risks", "Verification"] {
        check_contains(&plan(), &[&format!("\n## {part}\n")]);
        check_contains(&agent("ralplan-planner"), &[&format!("\n- **{part}**: ")]);
    }
}

#[test]
fn it_passes_because_it_holds_to_the_rules() {
    for (at, file) in PROJECT.into_iter().enumerate().filter(|(_, file)| *file != "src") {
        let mut without = PROJECT.to_vec();
        without.remove(at);
        assert!(!failed(&plan(), &without).is_empty(), "the plan does not cite {file}");
    }
    for (from, to) in [
        (" (new)", ""),
        ("```json ralph-plan", "```text"),
        ("\"npm test -- attempts\"", "\"true\""),
        ("\"deps\": [\"T-1\"]", "\"deps\": [\"T-2\"]"),
        ("answer 429 at login", "improve the login"),
    ] {
        let broken = plan().replace(from, to);
        assert_ne!(broken, plan(), "{from}");
        assert!(!failed(&broken, &PROJECT).is_empty(), "{from}");
    }
}

#[test]
fn the_planner_is_told_of_words_that_the_gate_refuses_and_of_commands_that_it_lets_through() {
    let text = agent("ralplan-planner");
    let (_, rest) = text.split_once("nobody can check: ").expect("the words stand in a list");
    let list = rest.split_once(". A number").expect("the list ends").0;
    let words: Vec<String> = list
        .split(',')
        .map(|word| word.trim_matches([' ', '\n', '"']).trim_start_matches("and \"").to_owned())
        .collect();
    assert!(words.len() > 20, "{words:?}");
    for word in words {
        let vague = plan().replace("a restart", &word).replace("A restart", &word);
        assert_ne!(vague, plan());
        assert!(!failed(&vague, &PROJECT).is_empty(), "{word}");
    }
    let (_, rest) = text.split_once("One that cannot fail is refused: ").unwrap();
    for command in rest.lines().next().unwrap().split('`').skip(1).step_by(2) {
        let vacuous = plan().replace("\"npm test -- attempts\"", &format!("\"{command}\""));
        assert!(!failed(&vacuous, &PROJECT).is_empty(), "{command}");
    }
}

#[test]
fn what_the_planner_is_shown_as_an_ending_and_as_a_question_is_one() {
    let text = agent("ralplan-planner");
    let (_, behind) = text.split_once("\n~~~\n").expect("the examples stand behind the plan");
    let [asked, ready] = fenced(behind)[..] else { panic!("two examples") };
    assert_eq!(
        formats::plan_ready(ready),
        Some(Ok(".omc/plans/limit-login-attempts.md".to_owned()))
    );
    let questions = formats::questions(asked).unwrap();
    assert_eq!(questions.len(), 1);
    check_contains(
        &questions[0].whole,
        &["files to examine: `src/auth/sessions.ts`, `src/auth/login.ts`)"],
    );
    assert!(ralplan::is_plans_place(".omc/plans/limit-login-attempts.md"));
    // Both together, as it is told for the case that it asks.
    let both = format!("{asked}\n\n{ready}");
    assert!(formats::plan_ready(&both).is_some() && formats::questions(&both).unwrap().len() == 1);
    let (_, topics) = text.split_once("The topic is one of ").unwrap();
    let (topic, _) = questions[0].short.split_once(": ").unwrap();
    check_contains(topics, &[topic]);
}

#[test]
fn the_architects_example_is_an_answer() {
    let text = agent("ralplan-architect");
    let [answer] = fenced(&text)[..] else { panic!("one example") };
    let answers = formats::answers(answer).unwrap();
    assert_eq!(answers.len(), 1);
    check_contains(&answers[0].whole, &["src/auth/sessions.ts:12", "package.json:6"]);
    check_contains(&text, &["one block for each question"]);
}

#[test]
fn the_critics_examples_are_a_rejection_and_an_approval_of_a_named_text() {
    let text = agent("ralplan-critic");
    let [reject, okay] = fenced(&text)[..] else { panic!("two examples") };
    let reject = formats::feedback(reject).unwrap();
    assert!(!reject.okay);
    assert_eq!((reject.critical.len(), reject.minor.len(), reject.questions.len()), (2, 1, 1));
    let okay = formats::feedback(okay).unwrap();
    assert!(okay.okay);
    assert_eq!((okay.critical.len(), okay.minor.len(), okay.questions.len()), (0, 1, 0));
    for said in [reject, okay] {
        assert_eq!(said.judged.len(), ralplan::SHORT);
    }
    check_contains(&text, &["`Plan hash` is the twelve digits"]);
}

#[test]
fn only_the_planner_has_tools_that_write() {
    for role in Role::ALL {
        let text = agent(role.agent());
        let tools = match role {
            Role::Planner => "Read, Grep, Glob, Write, Edit, Bash",
            _ => "Read, Grep, Glob",
        };
        assert_eq!(FrontMatter::of(&text).value("tools"), tools, "{}", role.agent());
    }
}

#[test]
fn agents_without_a_shell_are_told_of_members_that_the_picture_of_a_planning_has() {
    let rendered: Value = serde_json::from_str(&export::render(&awaiting(), "l")).unwrap();
    for (name, members) in [
        ("ralplan-architect", &["questions", "task_description"][..]),
        ("ralplan-critic", &["task_description", "feedback"]),
        ("ralplan-metis", &["task_description"]),
    ] {
        check_contains(&agent(name), &[&format!("`{}`", ralplan::MIRROR)]);
        for member in members {
            check_contains(&agent(name), &[&format!("`{member}`")]);
            assert!(rendered.get(member).is_some(), "{member}");
        }
    }
}

#[test]
fn the_planner_knows_the_heads_of_what_it_is_given() {
    let mut plan = ralplan::begin(&"x".repeat(9_000), Timestamp::UNIX_EPOCH);
    plan.consulted_gap_finder = true;
    plan.failed_gates = vec!["a".to_owned()];
    plan.answers = vec!["b".to_owned()];
    (plan.feedback, plan.gaps) = ("c".to_owned(), "d".to_owned());
    let said = ralplan::next(&plan, "").to_string();
    for head in
        ["Fix these failed gates", "Fix this", "The architect answered", "The gap finder found"]
    {
        check_contains(&said, &[&format!("\n{head}:\n")]);
        check_contains(&agent("ralplan-planner"), &[&format!("\n| `{head}` |")]);
    }
    check_contains(&said, &["(the rest: `ralph ralplan status`)"]);
    check_contains(&agent("ralplan-planner"), &["`(the rest: …)`", "`ralph ralplan status`"]);
}

/// A text with single blanks and without the ends of its lines.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_planning_skills_speak_the_contract_of_the_hooks() {
    for name in NAMES {
        check_contains(
            &flat(&skill(name)),
            &[
                "`Ralph planning <id> started`",
                "`Ralph planning <id> continues`",
                "`ralph doctor`",
                "`Next:`",
                "run_in_background",
                "prompt word for word",
                "`ralph ralplan next`",
                "`ralph ralplan status`",
                "plan mode",
                "exactly one question",
                "Silence",
                "`The person who started the loop says`",
                "`/ralph`",
            ],
        );
        for (label, _, _) in question::OPTIONS {
            check_contains(&skill(name), &[label]);
        }
    }
    let said = ralplan::next(&ralplan::begin("x", Timestamp::UNIX_EPOCH), "").to_string();
    check_contains(&said, &["Next: ", "run_in_background false", "word for word"]);
}

#[test]
fn the_planning_skills_may_start_and_give_commands_that_read_and_name_those_of_the_person() {
    for name in NAMES {
        let text = skill(name);
        let allowed = FrontMatter::of(&text).value("allowed-tools");
        let commands: Vec<&str> = allowed
            .split("Bash(")
            .skip(1)
            .filter_map(|rest| Some(rest.split_once(')')?.0))
            .collect();
        // The guard limits the first to what the user typed.
        assert_eq!(commands, ["ralph start *", "ralph ralplan next", "ralph ralplan status"]);
        for command in &commands[1..] {
            let words: Vec<&str> = command.split(' ').skip(1).collect();
            assert_eq!(ralph::cli::reach(&words), Some(Reach::Reads), "{command}");
        }
        for command in ["ralplan approve", "ralplan adjust", "ralplan discard"] {
            check_contains(&text, &[&format!("`ralph {command}")]);
            assert!(commands::refusal(command).is_some(), "{command}");
        }
    }
}

#[test]
fn the_question_that_the_skill_shows_is_the_one_that_is_allowed() {
    let text = skill("ralplan");
    let (_, shown) = text.split_once("```json\n").expect("the question stands in a block");
    let mut shown: Value =
        serde_json::from_str(shown.split_once("```").unwrap().0).expect("it is JSON");
    let options = shown["questions"][0]["options"].as_array().unwrap().clone();
    for ((label, _, about), option) in question::OPTIONS.into_iter().zip(options) {
        assert_eq!(option, serde_json::json!({"label": label, "description": about}));
    }
    let plan = awaiting();
    assert!(question::is_ours(&plan, &shown).is_err(), "the text comes from Next");
    shown["questions"][0]["question"] = Value::from(question::text(&plan));
    assert_eq!(question::is_ours(&plan, &shown), Ok(()));
}

#[test]
fn the_other_names_are_the_same_skill_with_the_same_hooks() {
    let after = |name: &str| skill(name).split_once("\n---\n").unwrap().1.to_owned();
    assert_eq!(after("rp"), after("planloop"));
    check_contains(&after("rp"), &["`/ralplan` by another name"]);
    let hooks = FrontMatter::of(&skill("ralph")).block("hooks");
    for name in NAMES {
        let text = skill(name);
        assert_eq!(FrontMatter::of(&text).block("hooks"), hooks, "{name}");
        for key in ["argument-hint", "allowed-tools"] {
            assert_eq!(
                FrontMatter::of(&text).value(key),
                FrontMatter::of(&skill("ralplan")).value(key)
            );
        }
    }
}

/// Clients have answered such a question with nothing, without showing it: who may not be asked cannot
/// consent.
#[test]
fn no_skill_allows_the_question_tool_beforehand() {
    for (name, text) in skills() {
        let allowed = FrontMatter::of(&text).value("allowed-tools");
        assert!(!allowed.contains("AskUserQuestion"), "{name}");
    }
}

/// The phases that there are; the match notices a new one.
const PHASES: [PlanPhase; 7] = {
    use PlanPhase::*;
    match PlannerPlanning {
        PlannerPlanning
        | ArchitectConsultation
        | CriticReview
        | HandlingVerdict
        | AwaitingUserApproval
        | Complete
        | Cancelled
        | Other(_) => {}
    }
    [
        PlannerPlanning,
        ArchitectConsultation,
        CriticReview,
        HandlingVerdict,
        AwaitingUserApproval,
        Complete,
        Cancelled,
    ]
};

fn guide() -> String {
    read(&root().join("docs/ralplan.md"))
}

#[test]
fn the_guide_names_every_phase_agent_option_and_way_to_decide() {
    let phases = PHASES.map(|phase| format!("`{phase}`"));
    let agents = Role::ALL.map(|role| format!("`{}`", role.agent()));
    let options = question::OPTIONS.map(|(label, _, _)| format!("\n| `{label}` |"));
    let names = NAMES.map(|name| format!("`/{name}`"));
    let decisions = ["approve", "adjust", "discard"].map(|word| format!("\nralph ralplan {word}"));
    let all = phases.iter().chain(&agents).chain(&options).chain(&names).chain(&decisions);
    check_contains(&guide(), &all.map(String::as_str).collect::<Vec<_>>());
    check_contains(&guide(), &[ralplan::PLANS, ralplan::MIRROR]);
}

#[test]
fn the_block_that_the_guide_shows_is_a_sound_one() {
    let guide = guide();
    let block = ralph_core::tasks::plan::block(&guide).expect("it stands in a block").text;
    let text = format!("Make `src/login.ts` (new).\n\n```json ralph-plan\n{block}\n```\n");
    let of_block = |said: &String| !said.starts_with("The section `");
    assert!(!failed(&text, &[]).iter().any(of_block), "{:?}", failed(&text, &[]));
}
