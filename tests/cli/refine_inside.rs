//! `ralph refine begin` and `end`: rounds that agents of a conversation make.

use crate::refine::{plan, session, world};
use crate::world::{Printed, World};
use serde_json::{Value, json};
use std::fs;

fn begin(world: &World) -> Printed {
    world.in_session("S", &["refine", "begin", "--plan", "plan.md"], "")
}

fn end(world: &World, message: &str) -> Printed {
    world.in_session("S", &["refine", "end"], message)
}

fn lines(changes: u32) -> String {
    format!("I did it.\n\nCHANGES: {changes}\nSUMMARY: better\n")
}

/// What an agent does that is told this.
fn write(world: &World, told: &Printed, text: &str) {
    let (_, rest) = told.stdout.split_once("\nPlan: `").expect("the prompt names the file");
    let file = world.path("project").join(rest.split_once('`').unwrap().0);
    let before = fs::read_to_string(&file).unwrap();
    fs::write(file, before + text).unwrap();
}

#[test]
fn rounds_in_a_conversation_are_measured_and_end_at_a_plateau() {
    let world = world("exit 9");
    for (number, makes) in [(1, "a\nb\n"), (2, "c\n"), (3, "")] {
        let told = begin(&world).done();
        assert!(
            told.stdout.contains(&format!("Round {number} of 5 of `plan` is open")),
            "{told:?}"
        );
        assert!(told.stdout.contains("`ralph refine end --id plan`"), "{told:?}");
        write(&world, &told, makes);
        let ended = end(&world, &lines(makes.lines().count() as u32)).done();
        let expected = match number {
            3 => "plateau at round 3: the plan no longer changes",
            _ => "`ralph refine begin --id plan` opens round",
        };
        assert!(ended.stdout.contains(expected), "{ended:?}");
    }
    assert!(plan(&world).ends_with("39\na\nb\nc\n"));
    let session = session(&world, "plan");
    let measured: Vec<&Value> =
        (0..3).map(|at| &session["history"][at]["measured"]["lines"]).collect();
    assert_eq!(measured, [2, 1, 0]);
    assert!(!world.path("project/.omc").exists());
    let report = world.ralph(&["report"]).done().stdout;
    assert!(report.starts_with("### Ralph: ✅ plateau\n"), "{report}");
    for row in ["| ▫️ **1** changed | 2 | 2 lines in 1 section |", "**3** settling | 0 | nothing |"]
    {
        assert!(report.contains(row), "{report}");
    }
}

#[test]
fn a_conversation_has_five_rounds_and_no_more() {
    let world = world("exit 9");
    for _ in 0..5 {
        write(&world, &begin(&world).done(), "1\n2\n3\n4\n5\n6\n7\n");
        end(&world, &lines(7)).done();
    }
    let refused = world.in_session("S", &["refine", "begin", "--session", "plan"], "");
    assert_eq!(refused.exit, 1, "{refused:?}");
    assert!(refused.stderr.contains("has room for 5 rounds"), "{refused:?}");
    // More are a person's to give, and still none of a conversation.
    let more = world.ralph(&["refine", "once", "--session", "plan", "--max-iterations", "9"]);
    assert_eq!(more.exit, 4, "{more:?}");
    // What was made later is no part of the conversation's loop, and of the refinement it is.
    let told = |arguments: &[&str]| {
        let report = world.ralph(arguments).done().stdout;
        ["**5** changed", "**6** cut"].map(|round| report.contains(round))
    };
    assert_eq!(told(&["report", "--refine", "plan"]), [true, true]);
    assert_eq!(told(&["report"]), [true, false]);
    let refused = world.in_session("S", &["refine", "begin", "--session", "plan"], "");
    assert!(refused.stderr.contains("has room for 5 rounds"), "{refused:?}");
}

#[test]
fn the_command_that_a_full_conversation_names_continues_its_refinement() {
    let world = world("exit 9");
    for _ in 0..5 {
        write(&world, &begin(&world).done(), "1\n2\n3\n4\n5\n6\n7\n");
        end(&world, &lines(7)).done();
    }
    let refused = world.in_session("S", &["refine", "begin", "--plan", "plan.md"], "");
    let named = refused.stderr.split('`').find(|part| part.starts_with("ralph ")).unwrap();
    let words: Vec<&str> = named.split(' ').skip(1).chain(["--no-notify"]).collect();
    assert_eq!(world.ralph(&words).exit, 4, "the client of this test fails");
    assert_ne!(session(&world, "plan")["status"], "max_iterations");
    assert_eq!(session(&world, "plan-2"), Value::Null);
}

#[test]
fn the_five_rounds_are_the_conversations_under_whatever_names() {
    let world = world("exit 9");
    world.write("project/other.md", "o\n");
    let in_session = |arguments: &[&str], stdin: &str| world.in_session("S", arguments, stdin);
    // Three rounds come to a plateau, then two more on another plan.
    for _ in 0..3 {
        begin(&world).done();
        end(&world, &lines(0)).done();
    }
    assert_eq!(session(&world, "plan")["status"], "plateau");
    let other = ["refine", "begin", "--plan", "other.md"];
    let begun = in_session(&other, "").done();
    assert!(begun.stderr.contains("at most 2 agents"), "{begun:?}");
    in_session(&["refine", "end"], &lines(7)).done();
    in_session(&other, "").done();
    let last = in_session(&["refine", "end"], &lines(7)).done();
    assert!(last.stdout.contains("Begin no other round"), "{last:?}");
    for arguments in [
        &["refine", "begin", "--plan", "plan.md"][..],
        &["refine", "begin", "--plan", "plan.md", "--session", "plan-2"],
        &["refine", "begin", "--plan", "other.md", "--session", "third"],
        &other,
    ] {
        let refused = in_session(arguments, "");
        assert_eq!(refused.exit, 1, "{arguments:?}: {refused:?}");
        assert!(refused.stderr.contains("has room for 5 rounds"), "{refused:?}");
        assert!(refused.stderr.contains("`ralph refine loop --"), "{refused:?}");
    }
    for name in ["plan-2", "third"] {
        assert_eq!(session(&world, name), Value::Null, "{name}");
    }
    // Another conversation and a person's terminal have rounds of their own.
    world.in_session("T", &other, "").done();
    world.in_session("T", &["refine", "end"], &lines(7)).done();
    let more = world.ralph(&["refine", "once", "--plan", "plan.md"]);
    assert_eq!(more.exit, 4, "the client of this test fails: {more:?}");
}

#[test]
fn a_trace_shows_what_was_proposed_and_whether_a_round_is_to_be_believed() {
    let world = world("exit 9");
    write(&world, &begin(&world).done(), "a\nb\n");
    end(&world, "I did:\n- named the rollback\n- cut a step\n\nCHANGES: 2\nSUMMARY: two\n").done();
    write(&world, &begin(&world).done(), "1\n2\n3\n4\n5\n6\n7\n");
    end(&world, &lines(0)).done();
    let trace = world.ralph(&["refine", "history", "--trace"]).done().stdout;
    for line in [
        "round 1: says 2 changes; measured: 2 lines in 1 section\n  proposed: named the rollback\n  \
         proposed: cut a step\n  accepted: not declined\n",
        "round 2: says 0 changes; measured: 7 lines in 1 section\n  proposed: better\n",
        "the number agrees with what was measured in 1 of 2 rounds\n",
        "round 2 reports 0 changes, but measured: 7 lines in 1 section",
    ] {
        assert!(trace.contains(line), "{line} in {trace}");
    }
    let document = world.ralph(&["refine", "history", "--trace", "--json"]).done().json();
    assert_eq!(document["traces"][0]["proposed"], json!(["named the rollback", "cut a step"]));
    assert_eq!(document["traces"][1]["agrees"], "says_less");
}

#[test]
fn lines_that_are_missing_are_asked_for_once_and_then_unknown() {
    let world = world("exit 9");
    write(&world, &begin(&world).done(), "more\n");
    let asked = end(&world, "I forgot").done();
    assert!(
        asked.stdout.contains("SendMessage") && asked.stdout.contains("CHANGES: {number}"),
        "{asked:?}"
    );
    assert_eq!(session(&world, "plan")["round"]["asked_again"], true);
    let ended = end(&world, "").done();
    assert!(ended.stdout.contains("it reported no number of changes"), "{ended:?}");
    let session = session(&world, "plan");
    assert_eq!((&session["history"][0]["changes"], session.get("round")), (&Value::Null, None));
    assert_eq!(session["history"][0]["measured"]["lines"], 1);
    let nothing = end(&world, &lines(0));
    assert!(nothing.stderr.contains("no refinement fits"), "{nothing:?}");
}

#[test]
fn another_session_on_the_file_is_refused_and_one_that_broke_off_is_cut() {
    let world = world("exit 9");
    write(&world, &begin(&world).done(), "half\n");
    let other = ["refine", "begin", "--plan", "plan.md", "--session", "other"];
    let refused = world.in_session("T", &other, "");
    assert!(
        refused.stderr.contains("the refinement `plan` is at work on `plan.md`"),
        "{refused:?}"
    );
    let again = begin(&world).done();
    assert!(again.stderr.contains("was cut: whoever ran it is gone"), "{again:?}");
    write(&world, &again, "whole\n");
    end(&world, &lines(1)).done();
    assert!(plan(&world).ends_with("39\nwhole\n"));
}

#[test]
fn a_persons_edit_stands_and_tasks_are_measured_across_two_commands() {
    let world = world("exit 9");
    write(&world, &begin(&world).done(), "theirs\n");
    world.write("project/plan.md", "mine\n");
    let ended = end(&world, &lines(1)).done();
    assert!(ended.stdout.contains("was edited while round"), "{ended:?}");
    assert_eq!(plan(&world), "mine\n");

    world.run("", &["plan-sync"], "{\"id\":\"T-1\",\"name\":\"one\"}\n").done();
    let told = world.in_session("T", &["refine", "begin", "--mode", "beads"], "").done();
    assert!(told.stdout.contains("`ralph plan-sync`"), "{told:?}");
    let two = "{\"id\":\"T-1\",\"name\":\"one\"}\n{\"id\":\"T-2\",\"name\":\"two\"}\n";
    world.in_session("T", &["plan-sync"], two).done();
    world.in_session("T", &["refine", "end"], &lines(1)).done();
    let added = json!({"added": 1, "changed": 0, "closed": 0, "removed": 0});
    assert_eq!(session(&world, "project")["history"][0]["measured"], added);
    // A round that broke off is measured, too.
    let begin = || world.in_session("T", &["refine", "begin", "--mode", "beads"], "").done();
    begin();
    let three = format!("{two}{{\"id\":\"T-3\",\"name\":\"three\"}}\n");
    world.in_session("T", &["plan-sync"], &three).done();
    begin();
    let cut = &session(&world, "project")["history"][1];
    assert_eq!((&cut["end"], &cut["measured"]), (&json!("interrupted"), &added));
}

#[test]
fn prompts_and_ideas_are_there_for_the_skills() {
    let world = world("exit 9");
    let printed = |arguments: &[&str]| world.in_session("S", arguments, "");
    let known = printed(&["refine", "prompt", "context-loader"]).done();
    assert!(known.stdout.contains("# Get to know this project"), "{known:?}");
    let all = [
        "refine",
        "prompt",
        "synthesizer",
        "--plan",
        "plan.md",
        "--with",
        "a|b.md",
        "--with",
        "c&d.md",
    ];
    assert!(printed(&all).done().stdout.contains("\na|b.md\nc&d.md\n"));
    for (arguments, says) in [
        (&["robot-mode"][..], "`--plan FILE`"),
        (&["synthesizer", "--plan", "plan.md"], "`--plan FILE`"),
        (&["bead-refiner"], "`ralph refine begin`"),
        (&["nothing"], "context-loader, post-context"),
    ] {
        let refused = printed(&[&["refine", "prompt"], arguments].concat());
        assert_eq!(refused.exit, 2, "{arguments:?}");
        assert!(refused.stderr.contains(says), "{arguments:?} {refused:?}");
    }
    let message = "Ideas.\n```jsonl\n{\"name\":\"Log in\"}\n```\nCHANGES: 1\nSUMMARY: a\n";
    let saved = "```jsonl\n{\"id\":\"IDEA-7\",\"name\":\"Log out\"}\n```\n";
    for ideas in [message, saved] {
        let tasks = world.in_session("S", &["refine", "ideas"], ideas).done();
        world.in_session("S", &["plan-sync"], &tasks.stdout).done();
    }
    // A file that is read later removes no task.
    assert_eq!(world.state()["task_graph"][0]["name"], "Log in");
    assert_eq!(world.state()["task_graph"][1]["name"], "Log out");
    assert_eq!(world.in_session("S", &["refine", "ideas"], "no").exit, 1);
}
