//! Refinement in a conversation: its loop, the bound of agents, and what a turn that ends too early is told.

use crate::world::{Ran, World, executable};
use serde_json::{Value, json};
use std::fs;
use std::process::Command;

/// A conversation in which the first round of a plan is open.
fn refining() -> World {
    let mut world = World::new();
    // No server of tmux but our own is asked.
    world.set("TMUX_TMPDIR", world.root().to_str().unwrap());
    world.write("plan.md", "one\n");
    let said = begin(&world);
    assert!(said.contains("Round 1 of 5 of `plan` is open"), "{said}");
    world
}

#[track_caller]
fn begin(world: &World) -> String {
    let said = world.ralph(&["refine", "begin", "--plan", "plan.md"]);
    assert!(said.success, "{}", said.text);
    said.text
}

/// The round's agent writes so many lines, and its answer is handed over.
fn end(world: &World, lines: usize) -> String {
    let copy = fs::read_dir(world.project().join(".omc/refine")).unwrap().next().unwrap().unwrap();
    let file = copy.path().join("plan.md");
    let text = fs::read_to_string(&file).unwrap() + &"more\n".repeat(lines);
    fs::write(&file, text).unwrap();
    hand_over(world, &format!("CHANGES: {lines}\nSUMMARY: more"))
}

fn hand_over(world: &World, answer: &str) -> String {
    let mut command = Command::new("sh");
    let script = format!("printf '%s' \"$1\" | exec {} refine end --id plan", executable("ralph"));
    command.args(["-c", &script, "sh", answer]);
    let output = command.env_clear().envs(&world.env).current_dir(&world.cwd).output().unwrap();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

fn calls(world: &World, id: &str) -> Ran {
    let input =
        json!({"subagent_type": "general-purpose", "description": "a round", "prompt": "x"});
    let members = json!({"tool_name": "Agent", "tool_input": input, "tool_use_id": id});
    world.event("ralph-pre-tool-use", "PreToolUse", members)
}

#[track_caller]
fn refused(ran: &Ran) -> String {
    let answer = &ran.json()["hookSpecificOutput"];
    assert_eq!(answer["permissionDecision"], "deny", "{ran:?}");
    answer["permissionDecisionReason"].as_str().unwrap().to_owned()
}

fn session(world: &World) -> Value {
    let text = fs::read(world.project().join(".claude/refine-sessions.json")).unwrap();
    let document: Value = serde_json::from_slice(&text).unwrap();
    document["sessions"]["plan"].clone()
}

#[test]
fn the_sixth_agent_is_refused_whatever_the_conversation_believes() {
    let world = refining();
    assert_eq!(world.standing(), "implementation 0/5");
    assert_eq!(
        (&world.state()["mode"], &world.state()["started_by"]),
        (&json!("refine"), &json!("model"))
    );
    for id in ["a", "b", "c", "d", "e"] {
        calls(&world, id).silent();
    }
    calls(&world, "e").silent();
    let why = refused(&calls(&world, "f"));
    assert!(why.contains("room for 5 rounds") && why.contains("--max-iterations 10"), "{why}");
    assert_eq!(world.state()["refine"]["calls"].as_array().unwrap().len(), 5);
    // Nor is another round opened, since nobody could make it.
    let said = world.ralph(&["refine", "begin", "--plan", "plan.md"]);
    assert!(!said.success && said.text.contains("room for 5 rounds"), "{}", said.text);
    let said = end(&world, 9);
    assert!(said.contains("Begin no other round") && said.contains("the user can go on"), "{said}");
    assert_eq!(world.ending(), "max_iterations");
    assert!(!world.has_entry(), "the session is free");
    assert_eq!(
        (&session(&world)["status"], session(&world).get("round")),
        (&json!("running"), None)
    );
}

#[test]
fn an_agent_is_called_for_a_round_that_is_open_and_by_the_conversation() {
    let world = refining();
    calls(&world, "a").silent();
    end(&world, 9);
    assert_eq!(world.standing(), "implementation 1/5");
    let why = refused(&calls(&world, "b"));
    assert!(why.contains("open the next with `ralph refine begin --id plan`"), "{why}");
    begin(&world);
    let members = json!({"tool_name": "Agent", "tool_input": {"prompt": "x"}, "tool_use_id": "c",
        "agent_id": "a-1", "agent_type": "general-purpose"});
    let why = refused(&world.event("ralph-pre-tool-use", "PreToolUse", members));
    assert!(why.contains("calls no other agents"), "{why}");
    // Another session has nothing to do with it.
    let mut world = world;
    world.become_session("session-2", "prompt-9");
    calls(&world, "z").silent();
}

#[test]
fn a_turn_that_ends_before_the_refinement_goes_on_and_its_end_lets_it_end() {
    let world = refining();
    calls(&world, "a").silent();
    let told = world.step(&world.stop("RALPH_COMPLETE"));
    assert!(
        told.contains("Ralph refinement `plan`: 0 of 5 rounds done, and it is not over"),
        "{told}"
    );
    assert!(told.contains("`ralph refine end --id plan`"), "{told}");
    let said = world.elsewhere(&["explain"]).text;
    for words in [
        "the refinement is not over",
        "`plan`, rounds done: 0/5, round 1 is open, agents called: 1",
    ] {
        assert!(said.contains(words), "{said}");
    }
    for lines in [2, 1, 0] {
        if lines < 2 {
            begin(&world);
            let ran = calls(&world, &format!("call {lines}"));
            assert_eq!(ran.json()["hookSpecificOutput"]["permissionDecision"], Value::Null);
        }
        let said = end(&world, lines);
        if lines > 0 {
            let told = world.stop("Done.").context();
            assert!(told.contains("with `ralph refine begin --id plan`"), "{told} {said}");
        }
    }
    assert_eq!(world.ending(), "plateau");
    world.stop("It has settled.").silent();
    let archived = &world.archived()[0];
    assert_eq!(archived["ending"]["detail"], "plateau at round 3: the plan no longer changes");
    let said = world.elsewhere(&["explain", "--loop", archived["loop_id"].as_str().unwrap()]);
    assert!(said.text.contains("plateau at round 3"), "{}", said.text);
}

#[test]
fn one_that_makes_no_round_ends_as_stalled() {
    let world = refining();
    for _ in 0..2 {
        world.stop("I would rather talk.").context();
    }
    world.stop("I would rather talk.");
    assert_eq!(world.ending(), "stalled");
    let said = hand_over(&world, "CHANGES: 0\nSUMMARY: nothing");
    assert!(said.contains("ended while round 1 ran"), "{said}");
    assert_eq!(session(&world)["history"][0]["end"], "interrupted");
}

#[test]
fn a_cancel_keeps_what_the_round_wrote_out_of_the_plan() {
    for by_kill in [false, true] {
        let world = refining();
        calls(&world, "a").silent();
        let loop_id = world.state()["loop_id"].as_str().unwrap().to_owned();
        let status = world.elsewhere(&["status"]).text;
        assert!(status.contains("refinement: running  0/5"), "{status}");
        assert!(status.contains("`plan`, round 1 is open, 1 of 5 agents called"), "{status}");
        let said = match by_kill {
            true => world.elsewhere(&["refine", "kill", "plan"]),
            false => world.elsewhere(&["cancel", "--loop", &loop_id]),
        };
        assert!(said.success, "{}", said.text);
        let cut = calls(&world, "b");
        assert_eq!(cut.json()["continue"], false, "the turn is cut: {cut:?}");
        assert_eq!(world.ending(), "cancelled");
        if !by_kill {
            let said = end(&world, 3);
            assert!(said.contains("`ralph refine loop --id plan` repeats the round"), "{said}");
            let history = world.elsewhere(&["refine", "history", "--session", "plan"]).text;
            assert!(history.contains("what round 1 wrote, which is not the plan"), "{history}");
        }
        assert_eq!(fs::read_to_string(world.project().join("plan.md")).unwrap(), "one\n");
        let expected = if by_kill { "cancelled" } else { "interrupted" };
        assert_eq!(session(&world)["status"], expected);
    }
}

#[test]
fn a_session_has_one_mode_and_a_plan_one_conversation() {
    let mut world = refining();
    calls(&world, "a").silent();
    let said = world.ralph(&["refine", "begin", "--mode", "beads", "--session", "other"]);
    assert!(!said.success, "{}", said.text);
    world.prompt = "prompt-2".to_owned();
    let said = world.expansion("ralph", "\"Fix it\"").kept_from_model();
    assert!(said.contains("a refinement is live in this session at 0/5"), "{said}");
    world.set("RALPH_CLAUDE", "/bin/true");
    for arguments in [
        &["refine", "loop", "--plan", "plan.md", "--session", "b"][..],
        &["refine", "once", "--session", "plan"],
    ] {
        let said = world.elsewhere(arguments);
        let why = "the refinement `plan` is at work on `plan.md` in a conversation (session-1)";
        assert!(!said.success && said.text.contains(why), "{}", said.text);
    }
    world.become_session("session-2", "prompt-3");
    let said = world.ralph(&["refine", "begin", "--plan", "plan.md", "--session", "b"]);
    assert!(!said.success && said.text.contains("`ralph cancel --loop "), "{}", said.text);

    let looping = World::looping("");
    looping.write("plan.md", "one\n");
    let said = looping.ralph(&["refine", "begin", "--plan", "plan.md"]);
    assert!(said.text.contains("a loop is live in this session at 0/25"), "{}", said.text);
    assert!(!looping.project().join(".omc").exists());
}

#[test]
fn a_pause_lets_the_person_be_and_a_typed_command_goes_on() {
    let mut world = refining();
    calls(&world, "a").silent();
    // Esc, and something else.
    world.transcribe(&world.interruption("[Request interrupted by user]"));
    let said = world.prompt("prompt-2", "what is this about?");
    assert!(
        said.json()["systemMessage"].as_str().unwrap().contains("/ralph continues"),
        "{said:?}"
    );
    world.stop("It is about a plan.").silent();
    calls(&world, "another agent of the person's").silent();
    let said = world.ralph(&["refine", "begin", "--plan", "plan.md"]);
    assert!(!said.success && said.text.contains("/ralph continues"), "{}", said.text);
    world.prompt = "prompt-3".to_owned();
    let told = world.expansion("ralph", "").context();
    assert!(told.contains("continues at 0/5") && told.contains("Round 1 is open"), "{told}");
    assert_eq!(world.standing(), "implementation 0/5");
}

#[test]
fn what_is_planned_stays_planned_while_its_tasks_are_refined() {
    let mut world = World::new();
    world.set("TMUX_TMPDIR", world.root().to_str().unwrap());
    let sync = |text: &str| {
        let mut command = Command::new("sh");
        let script = format!("printf '%s\\n' \"$1\" | exec {} plan-sync", executable("ralph"));
        command.args(["-c", &script, "sh", text]).env_clear().envs(&world.env);
        assert!(command.current_dir(&world.cwd).status().unwrap().success());
    };
    sync("{\"id\":\"T-1\",\"name\":\"one\"}");
    let said = world.ralph(&["refine", "begin", "--mode", "beads", "--session", "plan"]);
    assert!(said.success, "{}", said.text);
    sync("{\"id\":\"T-1\",\"name\":\"one\"}\n{\"id\":\"T-2\",\"name\":\"two\"}");
    assert_eq!(world.state()["task_graph"], json!([]), "the refinement has no tasks of its own");
    let listed = world.ralph(&["task", "list", "--all", "--markdown"]).text;
    assert!(listed.contains("T-2"), "{listed}");
    calls(&world, "a").silent();
    hand_over(&world, "CHANGES: 1\nSUMMARY: two");
    assert_eq!(session(&world)["history"][0]["measured"]["added"], 1);
    assert!(world.elsewhere(&["refine", "kill", "plan"]).success);
    world.stop("");
    let told = world.type_command("ralph", "").context();
    assert!(told.contains("T-1") && told.contains(" started\n"), "{told}");
}
