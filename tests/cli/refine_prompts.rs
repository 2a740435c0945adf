//! The prompts that a project brings for refinement: which text counts, and which is refused.

use crate::refine::{n_called, world};
use crate::world::{Printed, World};
use std::fs;

const FIRST: &str = ".claude/refine/prompts";
const SECOND: &str = "scripts/refine/prompts";
const CONTRACT: &str = "\n```\nCHANGES: {number}\nSUMMARY: {one-line summary of changes}\n```\n";

/// The source document's own prompt of a plan, which asks for the contract in its words.
const OF_THE_DOCUMENT: &str = "# Plan Improvement Iteration\n\nSession: ${SESSION_NAME}\nPlan file: ${PLAN_FILE}\n\n\
    Plan: `${PLAN_FILE}`\n\n## Output Requirements\n\nAt the END of your response, output exactly:\n\\`\\`\\`\n\
    CHANGES: {number}\nSUMMARY: {one-line summary of changes}\n\\`\\`\\`\n";

const ENDS: &str = "ended 0";

fn prompt(world: &World, place: &str, name: &str, text: &str) {
    world.write(&format!("project/{place}/{name}.md"), text);
}

fn dry(world: &World, arguments: &[&str]) -> Printed {
    world.ralph(&[arguments, &["--dry-run"]].concat())
}

const ONCE: [&str; 4] = ["refine", "once", "--plan", "plan.md"];

#[test]
fn the_first_text_that_the_project_has_is_what_a_round_is_told() {
    let world = world(ENDS);
    let shown = dry(&world, &ONCE).done().stdout;
    assert!(shown.contains("# One round over the plan"), "{shown}");
    prompt(&world, SECOND, "plan-improver", OF_THE_DOCUMENT);
    let shown = dry(&world, &ONCE).done().stdout;
    assert!(shown.contains("# Plan Improvement Iteration"), "{shown}");
    world.ralph(&ONCE).done();
    let call = fs::read_to_string(world.path("home/call-1")).unwrap();
    assert!(call.contains("Session: plan\nPlan file: .omc/refine/"), "{call}");
    let first = format!("${{PLAN_FILE}} in round ${{ROUND}} of ${{MAX_ROUNDS}}{CONTRACT}");
    prompt(&world, FIRST, "plan-improver", &first);
    let shown = dry(&world, &ONCE).done().stdout;
    assert!(shown.contains(" in round 2 of 10") && !shown.contains("Iteration"), "{shown}");
    // In a conversation, for ideas and for the skills it is the same.
    let begun = world.in_session("S", &["refine", "begin", "--plan", "plan.md"], "").done();
    assert!(begun.stdout.contains("----\n.omc/refine/"), "{begun:?}");
    prompt(&world, FIRST, "context-loader", &format!("Learn it all.{CONTRACT}"));
    let shown = world.ralph(&["refine", "prompt", "context-loader"]).done().stdout;
    assert!(shown.starts_with("Learn it all."), "{shown}");
    let ideas = format!("Find ${{WISH}}.\n```jsonl\n{{\"id\":\"I\"}}\n```\n{CONTRACT}");
    prompt(&world, SECOND, "idea-wizard", &ideas);
    let shown = dry(&world, &["ideate", "speed"]).done().stdout;
    assert!(shown.contains("Find speed."), "{shown}");
}

#[test]
fn explain_names_the_text_of_each_prompt() {
    let world = world(ENDS);
    prompt(&world, SECOND, "plan-improver", OF_THE_DOCUMENT);
    prompt(&world, FIRST, "robot-mode", "");
    let lines = [
        "bead-refiner    built in",
        "plan-improver   scripts/refine/prompts/plan-improver.md",
        "idea-wizard     built in",
        "context-loader  built in",
        "post-context    built in",
        "synthesizer     built in",
        "robot-mode      refused: `.claude/refine/prompts/robot-mode.md` cannot be the prompt",
    ];
    let alone = world.ralph(&["refine", "prompt", "--explain"]).done().stdout;
    let beside = dry(&world, &[&ONCE[..], &["--explain"]].concat()).done().stderr;
    let of_loop =
        world.ralph(&["refine", "loop", "--plan", "plan.md", "--explain", "--no-notify"]).stderr;
    let inside =
        world.in_session("S", &["refine", "begin", "--plan", "plan.md", "--explain"], "").stderr;
    let ideas = dry(&world, &["ideate", "--explain", "x"]).done().stderr;
    for text in [alone, beside, of_loop, inside, ideas] {
        for line in lines {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
}

#[test]
fn a_text_that_cannot_be_used_is_refused_with_its_lines_and_its_file() {
    let whole = format!("${{PLAN_FILE}}{CONTRACT}");
    for (text, expected) in [
        (String::new(), &["it is empty"][..]),
        (format!("${{SECRET}} {whole}"), &["line 1: `${SECRET}` is not a variable of this prompt"]),
        (format!("/ralph-cancel {whole}"), &["takes for a command"]),
        (format!("{whole}{}", "x".repeat(70_000)), &["larger than 64 KiB"]),
    ] {
        for place in [FIRST, SECOND] {
            let world = world(ENDS);
            // What is refused does not fall back to the next place.
            prompt(&world, SECOND, "plan-improver", &whole);
            prompt(&world, place, "plan-improver", &text);
            let begin = ["refine", "begin", "--plan", "plan.md"];
            for refused in
                [world.ralph(&ONCE), dry(&world, &ONCE), world.in_session("S", &begin, "")]
            {
                assert_eq!(refused.exit, 3, "{text}: {refused:?}");
                assert!(
                    refused.stderr.contains(&format!("{place}/plan-improver.md`")),
                    "{refused:?}"
                );
                for words in expected {
                    assert!(refused.stderr.contains(words), "{words}: {refused:?}");
                }
            }
            assert_eq!(n_called(&world), 0);
            assert!(!world.path("project/.claude/refine-sessions.json").exists(), "{text}");
        }
    }
}

#[test]
fn a_link_out_of_the_project_is_refused() {
    let world = world(ENDS);
    world.write("secret.md", &format!("${{PLAN_FILE}} secret{CONTRACT}"));
    fs::create_dir_all(world.path("project").join(FIRST)).unwrap();
    let link = world.path("project").join(FIRST).join("plan-improver.md");
    std::os::unix::fs::symlink("../../../../secret.md", link).unwrap();
    let refused = dry(&world, &ONCE);
    assert_eq!(refused.exit, 3, "{refused:?}");
    assert!(refused.stderr.contains("leads out of the project"), "{refused:?}");
}

#[test]
fn nothing_in_a_text_is_run_or_filled_in_twice() {
    let world = world(ENDS);
    let text = format!(
        "$(touch \"$HOME/ran\") `touch ran` $${{HOME}} ${{PLAN_FILE}}\nPlan: `${{PLAN_FILE}}`{CONTRACT}"
    );
    prompt(&world, FIRST, "plan-improver", &text);
    world.ralph(&ONCE).done();
    let call = fs::read_to_string(world.path("home/call-1")).unwrap();
    assert!(call.contains("$(touch \"$HOME/ran\") `touch ran` ${HOME} .omc/"), "{call}");
    assert!(!world.path("home/ran").exists() && !world.path("project/ran").exists());
}

#[test]
fn a_round_that_rewrites_the_text_changes_no_other_round() {
    let world = world("printf '/evil' >scripts/refine/prompts/plan-improver.md\nended 9");
    prompt(&world, SECOND, "plan-improver", OF_THE_DOCUMENT);
    world.ralph(&["refine", "loop", "--plan", "plan.md", "--max-iterations", "2", "--no-notify"]);
    assert_eq!(n_called(&world), 2);
    let call = fs::read_to_string(world.path("home/call-2")).unwrap();
    assert!(call.contains("# Plan Improvement Iteration"), "{call}");
    let next = world.ralph(&["refine", "once", "--plan", "plan.md", "--session", "n"]);
    assert_eq!((next.exit, n_called(&world)), (3, 2), "{next:?}");
}
