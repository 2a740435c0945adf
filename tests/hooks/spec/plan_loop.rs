//! The examples of the document about the plan loop.

use super::{Shown, example, program, quoted, shown, terminal};
use crate::world::World;
use std::fs;
use std::process::Command;

/// A planner's list of one task, as it stands in a JSON string.
const HANDOVER: &str = r#"```jsonl\n{\"id\":\"T-9\",\"name\":\"z\"}\n```"#;

/// A project whose client notes its arguments, one on each line, hands a task over and says the sentinel.
fn world() -> World {
    let mut world = World::new();
    let sentinel = example("plan-loop/sentinel.txt");
    let script = format!(
        "printf '%s\\n' \"$@\" >>\"$HOME/called\"; echo == >>\"$HOME/called\"\n\
         printf '%s\\n' '{{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"{}\\n{HANDOVER}\",\"session_id\":\"s\"}}'",
        sentinel.trim()
    );
    program(&mut world, "claude", &script);
    world
}

/// The arguments of each call.
fn calls(world: &World) -> Vec<Vec<String>> {
    let path = world.root().join("home/called");
    let text = fs::read_to_string(&path).unwrap_or_default();
    let _ = fs::remove_file(path);
    let calls = text.split_terminator("==\n");
    calls.map(|call| call.lines().map(str::to_owned).collect()).collect()
}

/// A line of the document, in a shell in which `ralph` and `claude` are found.
fn shell(world: &mut World, line: &str) -> Shown {
    program(world, "ralph", &format!("exec {} \"$@\"", crate::world::executable("ralph")));
    let mut command = Command::new("bash");
    command.args(["-c", line]);
    shown(world, command, "").done()
}

#[test]
fn the_loop_makes_as_many_rounds_as_the_document_counts() {
    let options = example("plan-loop/options.md");
    let flags = quoted(options.lines().nth(1).unwrap());
    assert_eq!(flags, ["--max-iterations", "-n"]);
    let world = world();
    terminal(&world, &["plan"], "").done();
    assert_eq!(calls(&world).len(), 1, "{}", options.lines().nth(2).unwrap());
    for flag in &flags {
        terminal(&world, &["plan", flag, "3"], "").done();
        assert_eq!(calls(&world).len(), 3, "{flag}");
    }
    let zero: Vec<String> =
        quoted(options.lines().nth(3).unwrap())[0].split(' ').map(str::to_owned).collect();
    let refused = terminal(&world, &["plan", &zero[0], &zero[1]], "");
    assert_eq!((refused.exit, calls(&world).len()), (2, 0), "{refused:?}");
    assert!(refused.stderr.contains("planning needs at least one round"), "{refused:?}");
    // In the other mode the same option is no mistake: no bound on rounds.
    let build = terminal(&world, &["build", &zero[0], &zero[1]], "");
    assert_ne!(build.exit, 2, "{build:?}");
}

#[test]
fn a_round_is_called_as_the_documents_command_calls_it() {
    let (fetch, call) = (example("plan-loop/fetch.txt"), example("plan-loop/call.txt"));
    let mut world = world();
    let fresh = shell(&mut world, &fetch);
    assert_eq!(fresh.stdout, "", "without tasks the list is empty");
    let both = format!("LIST_ALL_MD=$({})\n{}", fetch.trim(), call.trim());
    for tasks in [
        "",
        "{\"id\":\"T-1\",\"name\":\"it's \\\"quoted\\\" $HOME\"}\n{\"id\":\"T-2\",\"name\":\"b\",\"deps\":[\"T-1\"]}\n",
    ] {
        if !tasks.is_empty() {
            terminal(&world, &["plan-sync"], tasks).done();
        }
        shell(&mut world, &both);
        let expected = calls(&world).remove(0);
        terminal(&world, &["plan"], "").done();
        let ours = calls(&world).remove(0);
        // Ralph adds options for its own reading; the prompt is the document's.
        let prompt = |call: &[String]| {
            let rest: Vec<&str> = call[1..].iter().map(|line| line.trim_end()).collect();
            let end = rest.iter().position(|line| line.starts_with("--")).unwrap_or(rest.len());
            rest[..end].join("\n").trim_end().to_owned()
        };
        assert_eq!((&ours[0], prompt(&ours)), (&expected[0], prompt(&expected)));
        assert_eq!(prompt(&ours).contains("T-1"), !tasks.is_empty());
    }
}

#[test]
fn the_sentinel_ends_nothing_and_no_skill_asks_for_it() {
    let sentinel = example("plan-loop/sentinel.txt");
    let step = example("plan-loop/skill-step.txt");
    assert_eq!(quoted(&step), [sentinel.trim()]);
    let world = world();
    let said = terminal(&world, &["plan", "-n", "3"], "").done();
    assert_eq!(calls(&world).len(), 3, "{said:?}");
    let skill = fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../skills/ralph-plan/SKILL.md"
    ))
    .unwrap();
    assert!(!skill.contains(sentinel.trim()) && !skill.contains("<promise>"));
    assert!(!skill.contains(step.split(':').next().unwrap()), "{step}");
    // Nor does a loop of a conversation end by it.
    let world = World::looping("");
    world.working_stop(&format!("All done.\n\n{}", sentinel.trim())).goes_on();
    assert!(world.has_entry());
}

#[test]
fn a_planner_that_crashes_has_claimed_nothing_and_nothing_is_put_back() {
    let mut world = World::new();
    program(&mut world, "claude", "exit 3");
    let tasks =
        "{\"id\":\"T-1\",\"name\":\"a\"}\n{\"id\":\"T-2\",\"name\":\"b\",\"deps\":[\"T-1\"]}\n";
    terminal(&world, &["plan-sync"], tasks).done();
    let list =
        |world: &World| terminal(world, &["task", "list", "--all", "--json"], "").done().stdout;
    let before = list(&world);
    let said = terminal(&world, &["plan", "-n", "2"], "");
    assert_eq!((said.exit, list(&world)), (4, before), "{said:?}");
}

#[test]
fn the_installed_skill_studies_the_specs_and_may_bring_its_tasks_and_claims_none() {
    let world = World::new();
    terminal(&world, &["install"], "").done();
    let skill =
        fs::read_to_string(world.root().join("home/.claude/skills/ralph-plan/SKILL.md")).unwrap();
    let (_, round) = skill.split_once("## A plan round").unwrap();
    assert!(round.contains("Read `specs/`, every file of it"), "{round}");
    // It brings its tasks in its last message, for which it needs no permission.
    assert!(!skill.contains("plan-sync"), "{skill}");
    assert!(!round.contains("ralph task claim"), "{round}");
    // Its lines work as they stand there, and again change nothing.
    let lines = round.split("```jsonl\n").nth(1).unwrap().split("```").next().unwrap();
    for changed in ["1 added", "1 kept"] {
        let said = terminal(&world, &["plan-sync"], lines).done();
        assert!(said.stdout.contains(changed), "{said:?}");
    }
}
