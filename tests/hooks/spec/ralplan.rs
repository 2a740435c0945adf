//! The examples of the document about consensus planning.

use super::{bold, example, quoted, rows};
use crate::planning::*;
use crate::world::World;
use serde_json::{Value, json};
use std::fs;

/// A plan with everything that the document asks for.
fn whole_plan(about: &str) -> String {
    format!(
        "# Login\n\n## Requirements summary\nAdd a form to `tracked`. {about}\n\n## Acceptance criteria\n\
         - AC-1: the file `tracked` is there\n\n## Steps\n1. Add the form to `tracked`.\n\n\
         ## Risks\n- The file is in use: 1 commit takes it back.\n\n\
         ## Verification\n- Run `test -f tracked`.\n\n```json ralph-plan\n{{\"acceptance_criteria\":[{{\
         \"id\":\"AC-1\",\"description\":\"the file is there\",\"verification_command\":\"test -f tracked\"}}],\
         \"task_graph\":[{{\"id\":\"T-1\",\"name\":\"add the form\",\"deps\":[],\"files\":[\"tracked\"],\
         \"completion_condition\":\"the form is in the file\"}}]}}\n```\n"
    )
}

/// A planning whose critic is due, by the document's own line with a name filled in.
fn ready() -> World {
    let world = planned_for();
    world.write(PLAN, &whole_plan(""));
    reports(&world, "planner", "p", READY).exit(0);
    assert_eq!(phase(&world), "critic_review");
    world
}

fn judged(word: &str) -> World {
    let world = ready();
    allowed(&calls_critic(&world));
    reports(&world, "critic", "c", &verdict(&world, word)).exit(0);
    world
}

fn log(state: &Value) -> Vec<String> {
    let lines = state["ralplan"]["log"].as_array().unwrap().iter();
    lines.map(|line| line.as_str().unwrap().to_owned()).collect()
}

#[test]
fn each_alias_of_the_command_begins_a_planning() {
    let text = example("ralplan/front-matter.yaml");
    let aliases = text.split_once("aliases: [").unwrap().1.trim_end().trim_end_matches(']');
    let aliases: Vec<&str> = aliases.split(", ").collect();
    assert_eq!(aliases.len(), 2);
    for alias in aliases {
        let world = World::new();
        world.type_command(alias, "\"Add a login\"").context();
        assert_eq!(mirror(&world)["mode"], "ralplan", "{alias}");
    }
}

#[test]
fn a_planning_begins_with_the_documents_values() {
    let mirror = mirror(&planning());
    let lines = example("ralplan/initial-values.md");
    assert_eq!(lines.lines().count(), 6);
    for line in lines.lines() {
        let words = &quoted(line)[0];
        match words.split_once(": ") {
            Some((field, value)) => {
                let value: Value = serde_json::from_str(value).unwrap();
                assert_eq!(mirror[field], value, "{line}");
            }
            None => assert!(!mirror[words].as_str().unwrap().is_empty(), "{line}"),
        }
    }
    assert_eq!(mirror["task_description"], "Add a login");
    let started: jiff::Timestamp = mirror["started_at"].as_str().unwrap().parse().unwrap();
    assert!(jiff::Timestamp::now().duration_since(started).as_secs() < 600);
}

#[test]
fn a_state_file_is_taken_up_and_one_with_a_placeholder_for_its_time_is_refused() {
    let text = example("ralplan/state.json");
    let world = World::new();
    world.write(".omc/ralplan-state.json", &text);
    let said = world.type_command("ralplan", "").kept_from_model();
    assert!(said.contains("`started_at` is not a time such as 20"), "{said}");
    assert!(!world.has_entry());

    world.write(
        ".omc/ralplan-state.json",
        &text.replace("ISO-timestamp", "2026-01-09T10:00:00Z").replace("[feature]", "login"),
    );
    world.type_command("ralplan", "").context();
    let taken = mirror(&world);
    for (field, value) in serde_json::from_str::<Value>(&text).unwrap().as_object().unwrap() {
        match field.as_str() {
            "started_at" => assert_eq!(taken[field], "2026-01-09T10:00:00Z"),
            "plan_path" => assert_eq!(taken[field], PLAN),
            _ => assert_eq!(&taken[field], value, "{field}"),
        }
    }
    // It goes on: the planner writes that plan, and the critic is due.
    reports(&world, "metis", "m", "Passwords are not mentioned.").exit(0);
    world.write(PLAN, &whole_plan(""));
    reports(&world, "planner", "p", READY).exit(0);
    assert_eq!(
        (phase(&world).as_str(), &mirror(&world)["iteration"]),
        ("critic_review", &json!(1))
    );
}

#[test]
fn the_line_that_ends_a_planner_brings_the_critic() {
    let line = example("ralplan/plan-ready.txt");
    let world = planned_for();
    let plan = whole_plan("");
    let contents = example("ralplan/plan-contents.txt");
    // What the document asks for, and the heading under which our planner writes it.
    for (part, heading) in [
        ("requirements summary", "## Requirements summary"),
        ("acceptance criteria", "## Acceptance criteria"),
        ("implementation steps", "## Steps"),
        ("risk", "## Risks"),
        ("verification steps", "## Verification"),
    ] {
        assert!(contents.contains(part) && plan.contains(heading), "{part}");
    }
    world.write(PLAN, &plan);
    let said = reports(&world, "planner", "p", line.trim()).blocked();
    assert!(said.contains("Write the plan's path"), "a form is no path: {said}");
    assert_eq!(phase(&world), "planner_planning");
    reports(&world, "planner", "p2", &line.replace("[filename]", "login")).exit(0);
    assert_eq!(phase(&world), "critic_review");
    assert_eq!(mirror(&world)["plan_path"], PLAN);
}

#[test]
fn a_planning_goes_through_the_documents_phases_and_logs_its_lines() {
    let mut world = planned_for();
    let mut phases = vec![mirror(&world)["current_phase"].clone()];
    let mut note = |world: &World| phases.push(mirror(world)["current_phase"].clone());
    reports(&world, "planner", "p", QUESTION).exit(0);
    note(&world);
    reports(&world, "architect", "a", ANSWER).exit(0);
    world.write(PLAN, &whole_plan(""));
    reports(&world, "planner", "p2", READY).exit(0);
    note(&world);
    allowed(&calls_critic(&world));
    reports(&world, "critic", "c", &verdict(&world, "REJECT")).exit(0);
    world.write(PLAN, &whole_plan("Again."));
    reports(&world, "planner", "p3", READY).exit(0);
    allowed(&calls_critic(&world));
    reports(&world, "critic", "c2", &verdict(&world, "OKAY")).exit(0);
    note(&world);
    answers(&world, "Proceed").exit(0);
    note(&world);

    let listed = quoted(&example("ralplan/phases.txt"));
    // No event ends while a verdict is handled.
    let seen: Vec<Value> = listed
        .iter()
        .filter(|phase| *phase != "handling_verdict")
        .map(|phase| json!(phase))
        .collect();
    assert_eq!(phases, seen);

    let log = log(&world.archived()[0]);
    for line in example("ralplan/log.txt").lines() {
        match line.split_once('<') {
            Some((before, _)) => {
                for word in ["OKAY", "REJECT"] {
                    assert!(log.contains(&format!("{before}{word}")), "{line}: {log:?}");
                }
            }
            None => assert!(log.iter().any(|logged| logged == line), "{line}: {log:?}"),
        }
    }
    // The plan is the project's planned loop now.
    world.prompt = "prompt-2".to_owned();
    world.type_command("ralph", "").context();
    assert_eq!(world.state()["acceptance_criteria"][0]["verification_command"], "test -f tracked");
}

#[test]
fn in_plan_mode_the_critic_comes_before_any_way_out() {
    let flow = example("ralplan/plan-mode-flow.txt");
    let steps: Vec<&str> = flow.lines().collect();
    let world = World::new();
    let submitted = json!({"expansion_type": "slash_command", "command_name": "ralplan",
        "command_args": "\"Add a login\"", "command_source": "userSettings",
        "prompt": "/ralplan \"Add a login\"", "permission_mode": "plan"});
    world
        .event(
            "ralph-user-prompt",
            "UserPromptSubmit",
            json!({"prompt": "/ralplan \"Add a login\""}),
        )
        .exit(0);
    world.event("ralph-user-prompt", "UserPromptExpansion", submitted).context();
    let has = |line: &str| {
        let (_, logged) = line.split_once("Log: ").unwrap();
        assert!(log(&world.state()).iter().any(|said| said == logged), "{line}");
    };
    has(steps[1]);
    reports(&world, "metis", "m", "Nothing.").exit(0);
    let leaves = || world.tool("ExitPlanMode", json!({})).denied();
    leaves();
    world.write(PLAN, &whole_plan(""));
    assert!(steps[3].ends_with("PLAN_READY: <path>"));
    reports(&world, "planner", "p", &format!("PLAN_READY: {PLAN}")).exit(0);
    has(steps[4]);
    leaves();
    assert!(steps[5].contains("Spawn Critic"));
    for other in ["ralplan-planner", "ralplan-architect", "general-purpose"] {
        calls(&world, other, "x").denied();
    }
    allowed(&calls_critic(&world));
    assert!(!world.elsewhere(&["ralplan", "approve"]).success, "no verdict yet");
    reports(&world, "critic", "c", &verdict(&world, "OKAY")).exit(0);
    assert_eq!(phase(&world), "awaiting_user_approval");
    leaves();
}

#[test]
fn a_question_and_its_answer_pass_between_planner_and_architect() {
    let fill = |text: String| {
        text.replace("[Architecture/Performance/Security/Pattern]", "Security")
            .replace("[What we're planning]", "the login")
            .replace("[specific paths]", "tracked")
            .replace("[What we need answered]", "where do secrets go?")
            .replace("[Matching topic]", "Security")
            .replace("[What Architect found after reading files]", "there is one file")
            .replace("[Specific guidance]", "a vault")
            .replace("[What to consider]", "it costs an hour")
            .replace("[file:line citations from codebase]", "tracked:1")
    };
    let question = fill(example("ralplan/architect-question.txt"));
    let answer = fill(example("ralplan/architect-answer.txt"));
    assert!(!question.contains('[') && !answer.contains('['), "{question}{answer}");
    let world = planned_for();
    reports(&world, "planner", "p", &question).exit(0);
    assert_eq!(phase(&world), "architect_consultation");
    let told = agent_is_back(&world, "ralplan-planner").context();
    // The architect gets the files, no summary of them.
    assert!(
        told.contains("files to examine: `tracked`") && told.contains("where do secrets go?"),
        "{told}"
    );
    reports(&world, "architect", "a", &answer).exit(0);
    assert_eq!(phase(&world), "planner_planning");
    let told = agent_is_back(&world, "ralplan-architect").context();
    assert!(told.contains("a vault") && told.contains("tracked:1"), "{told}");
}

#[test]
fn a_critics_block_of_the_document_goes_back_once_and_with_its_gaps_filled_sends_the_planner_on() {
    let block = example("ralplan/critic-feedback.txt");
    let world = ready();
    allowed(&calls_critic(&world));
    let said = reports(&world, "critic", "c", &block).blocked();
    for words in ["at least one numbered item under `Critical Issues:`", "`- Plan hash:`"] {
        assert!(said.contains(words), "{words} in {said}");
    }
    assert_eq!(
        (phase(&world).as_str(), &world.state()["ralplan"]["iteration"]),
        ("critic_review", &json!(0))
    );
    let filled = block
        .replace("[Issue with specific fix required]", "T-1 names no line: name it")
        .replace("[Nice to fix]", "the title is short")
        .replace("[Architectural question needing expert input]", "which vault?");
    let filled = format!("{}\n- Plan hash: {}", filled.trim_end(), hash(&world));
    reports(&world, "critic", "c", &filled).exit(0);
    assert_eq!(
        (phase(&world).as_str(), &world.state()["ralplan"]["iteration"]),
        ("architect_consultation", &json!(1))
    );
    let told = agent_is_back(&world, "ralplan-critic").context();
    assert!(told.contains("which vault?"), "{told}");
    reports(&world, "architect", "a", ANSWER).exit(0);
    let told = agent_is_back(&world, "ralplan-architect").context();
    assert!(told.contains("T-1 names no line: name it"), "{told}");
}

#[test]
fn each_quality_gate_sends_the_plan_back_with_its_failure() {
    let gates = example("ralplan/quality-gates.md");
    type Broken<'a> = &'a dyn Fn(&str) -> Option<String>;
    let cases: [(&str, Broken<'_>, &str); 4] =
        [
            ("Plan file exists", &|_| None, "exist"),
            (
                "File references are valid",
                &|plan| Some(plan.replace("form to `tracked`", "form to `src/none.rs`")),
                "`src/none.rs` does not exist",
            ),
            (
                "Acceptance criteria are concrete",
                &|plan| Some(plan.replace("\"the file is there\"", "\"improve the speed\"")),
                "improve",
            ),
            (
                "No ambiguous language",
                &|plan| {
                    Some(plan.replace(
                        "1. Add the form to `tracked`.",
                        "Add things properly and as needed.",
                    ))
                },
                "properly",
            ),
        ];
    for (line, (gate, broken, words)) in gates.lines().zip(cases) {
        assert_eq!(bold(line), gate);
        let world = planned_for();
        if let Some(plan) = broken(&whole_plan("")) {
            assert_ne!(plan, whole_plan(""));
            world.write(PLAN, &plan);
        }
        let said = reports(&world, "planner", "p", READY).blocked();
        assert!(said.contains(words), "{gate}: {said}");
        assert_eq!(phase(&world), "planner_planning", "{gate}");
        calls(&world, "ralplan-critic", "judge").denied();
    }
}

#[test]
fn each_answer_to_the_gate_does_what_the_document_says() {
    let options = rows(&example("ralplan/options.md"));
    let asked = judged("OKAY");
    let next = agent_is_back(&asked, "ralplan-critic").context();
    for option in &options {
        assert!(next.contains(&bold(&option[1])), "{option:?}: {next}");
    }
    for row in rows(&example("ralplan/decisions.md")) {
        let (word, deed) = (bold(&row[0]), &row[1]);
        let world = judged("OKAY");
        match word.as_str() {
            "No response / Silence" => {
                answers(&world, "").exit(0);
                world.stop("They do not answer.").exit(0);
                assert_eq!(phase(&world), "awaiting_user_approval");
                world.tool("Write", write_to(&world, "tracked")).denied();
                continue;
            }
            _ => assert!(options.iter().any(|option| bold(&option[1]) == word), "{word}"),
        }
        answers(&world, &word).exit(0);
        let shown = mirror(&world);
        match quoted(deed).first().filter(|words| words.starts_with("active")) {
            Some(values) => {
                for pair in values.split(", ") {
                    let (field, value) = pair.split_once(": ").unwrap();
                    let value: Value = serde_json::from_str(value).unwrap();
                    assert_eq!(shown[field], value, "{word}");
                }
            }
            None => {
                assert!(deed.starts_with("Return to Planner"), "{deed}");
                assert_eq!(
                    (&shown["current_phase"], &shown["iteration"]),
                    (&json!("planner_planning"), &json!(0))
                );
            }
        }
        assert_eq!(fs::read_to_string(world.project().join("tracked")).unwrap(), "one\n");
    }
}

#[test]
fn nothing_that_the_document_forbids_happens_without_consent() {
    let rules = example("ralplan/hard-rules.md");
    assert_eq!(rules.matches("**NEVER**").count(), 4);
    let forbidden = example("ralplan/forbidden.md");
    for word in ["OKAY", "REJECT"] {
        let world = judged(word);
        for line in forbidden.lines() {
            let command = quoted(line).into_iter().next().unwrap_or_default();
            match command.as_str() {
                git if git.starts_with("git ") => {
                    for more in ["x", "-q x"] {
                        world.tool("Bash", json!({"command": format!("{git} {more}")})).denied();
                    }
                }
                skill if skill.starts_with('/') => {
                    for skill in
                        [skill.trim_start_matches('/'), "ralph", "ralph:ralph", "ralph-parallel"]
                    {
                        world.tool("Skill", json!({"skill": skill})).denied();
                    }
                }
                _ if line.contains("executor agents") => {
                    for kind in ["oh-my-claudecode:executor", "ralph-worker", "general-purpose"] {
                        calls(&world, kind, "do it").denied();
                    }
                }
                _ => {
                    for (tool, input) in [
                        ("Write", write_to(&world, "src/login.rs")),
                        ("Edit", write_to(&world, "tracked")),
                        ("Bash", json!({"command": "sed -i s/one/two/ tracked"})),
                        ("Bash", json!({"command": "git commit -am x"})),
                        ("mcp__files__write", json!({"path": "tracked"})),
                    ] {
                        world.tool(tool, input).denied();
                    }
                }
            }
        }
    }
    // Rule 5 and 6: the question is the one way, and it is asked by its own tool.
    let world = judged("OKAY");
    assert!(rules.contains("`AskUserQuestion`"));
    world.tool("AskUserQuestion", question(&world)).exit(0);
    assert!(world.stop("Shall I?").exit(0).json()["decision"].is_null());
    assert_eq!(phase(&world), "awaiting_user_approval");
}

#[test]
fn the_loop_of_the_drawing_ends_at_the_person() {
    let drawing = example("ralplan/loop.txt");
    for agent in ["PLANNER", "ARCHITECT", "CRITIC"] {
        assert!(drawing.contains(agent));
        let file = format!(
            "{}/../../agents/ralplan-{}.md",
            env!("CARGO_MANIFEST_DIR"),
            agent.to_lowercase()
        );
        assert!(fs::exists(&file).unwrap(), "{file}");
    }
    // REJECT leads back to the planner with the feedback, five times; then to the person all the same.
    let world = planned_for();
    assert!(drawing.contains("REJECT") && drawing.contains("MANDATORY HUMAN-IN-THE-LOOP"));
    for round in 1..=5 {
        world.write(PLAN, &whole_plan(&format!("Attempt {round}.")));
        reports(&world, "planner", &format!("p{round}"), READY).exit(0);
        allowed(&calls_critic(&world));
        reports(&world, "critic", &format!("c{round}"), &verdict(&world, "REJECT")).exit(0);
        assert_eq!(mirror(&world)["iteration"], round);
        let told = agent_is_back(&world, "ralplan-critic").context();
        let expected =
            if round < 5 { "subagent_type `ralplan-planner`" } else { "AskUserQuestion" };
        assert!(told.contains(expected) && told.contains("T-1 names no line: name it"), "{told}");
    }
    assert_eq!(phase(&world), "awaiting_user_approval");
    for answer in ["PROCEED", "ADJUST", "DISCARD"] {
        assert!(drawing.contains(answer));
    }
}

#[test]
fn a_planning_is_cancelled_by_both_ways_of_the_document() {
    let ways = example("ralplan/cancellation.md");
    let named = quoted(&ways);
    assert_eq!(named.len(), 2);
    // The first command has another name here; the old one is no command of Ralph's and changes nothing.
    let world = ready();
    world.type_command(named[0].trim_start_matches('/'), "").exit(0);
    assert_eq!(phase(&world), "critic_review");
    world.type_command("ralph-cancel", "").kept_from_model();
    assert_eq!(world.ending(), "cancelled");
    let world = ready();
    fs::remove_file(world.project().join(&named[1])).unwrap();
    world.stop("Done.").exit(0);
    assert_eq!(world.ending(), "cancelled");
    assert!(world.project().join(PLAN).is_file());
}

#[test]
fn an_architect_reads_and_changes_nothing() {
    let agent = fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../agents/ralplan-architect.md"
    ))
    .unwrap();
    let tools = agent.lines().find(|line| line.starts_with("tools:")).unwrap();
    for tool in ["Write", "Edit", "Agent"] {
        assert!(!tools.contains(tool), "{tools}");
    }
    let world = planned_for();
    reports(&world, "planner", "p", QUESTION).exit(0);
    by(&world, "ralplan-architect", "Read", json!({"file_path": world.project().join("tracked")}))
        .silent();
    by(&world, "ralplan-architect", "Bash", json!({"command": "cat tracked"})).silent();
    for (tool, input) in [
        ("Write", write_to(&world, PLAN)),
        ("Edit", write_to(&world, "tracked")),
        ("Bash", json!({"command": "echo x >> tracked"})),
        ("Bash", json!({"command": "git commit -qam x"})),
        ("Agent", json!({"subagent_type": "ralplan-planner", "description": "d", "prompt": "p"})),
    ] {
        by(&world, "ralplan-architect", tool, input).denied();
    }
}

#[test]
fn a_planning_survives_an_interruption_in_each_phase() {
    for make in [planning as fn() -> World, planned_for, ready, || judged("OKAY")] {
        let mut world = make();
        let before = phase(&world);
        world
            .event("ralph-stop-hook", "SessionEnd", json!({"reason": "prompt_input_exit"}))
            .exit(0);
        world.another_client();
        world.session_starts("resume").exit(0);
        world.prompt = "prompt-9".to_owned();
        world.type_command("ralplan", "").exit(0);
        assert_eq!(phase(&world), before);
        world.tool("Write", write_to(&world, "tracked")).denied();
    }
}
