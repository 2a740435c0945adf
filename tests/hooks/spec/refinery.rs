//! The examples of the document about refinement.

use super::{Shown, example, program, rows, shown, terminal};
use crate::world::World;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// Plays both clients: that of the document's script, which reads its prompt, and Ralph's. Each call makes and says as
/// many changes as the line of its number in `sequence`; a line that is no number is the whole answer.
const CLIENT: &str = r#"n=$(($(cat "$HOME/n" 2>/dev/null || echo 0) + 1)); echo $n >"$HOME/n"
changes=$(sed -n "${n}p" "$HOME/sequence")
case $1 in
--model) cat >"$HOME/call-$n"; printf '%s\n' "$*" >"$HOME/arguments"; printf 'Work.\n\nCHANGES: %s\nSUMMARY: round %s\n' "$changes" "$n"; exit;;
esac
printf '%s\n' "$*" >"$HOME/call-$n"
plan=$(printf '%s\n' "$2" | sed -n 's/^Plan: `\(.*\)`$/\1/p')
case $changes in
*[!0-9]*) answer=$changes;;
*) i=0; while [ $i -lt "$changes" ] && [ -n "$plan" ]; do echo "call $n line $i" >>"$plan"; i=$((i + 1)); done
  answer="Work.\n\nCHANGES: $changes\nSUMMARY: round $n";;
esac
printf '%s\n' "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s-$n\"}"
printf '%s\n' "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"$answer\",\"session_id\":\"s-$n\"}""#;

fn world(sequence: &[&str]) -> World {
    let mut world = World::new();
    program(&mut world, "claude", CLIENT);
    let plan: String = (0..40).map(|line| format!("{line}\n")).collect();
    world.write("plan.md", &plan);
    again(&world, sequence);
    world
}

/// The client counts from the beginning.
fn again(world: &World, sequence: &[&str]) {
    let _ = fs::remove_file(world.root().join("home/n"));
    fs::write(world.root().join("home/sequence"), sequence.join("\n") + "\n").unwrap();
}

fn called(world: &World) -> usize {
    let n = fs::read_to_string(world.root().join("home/n")).unwrap_or_default();
    n.trim().parse().unwrap_or_default()
}

fn call(world: &World, n: usize) -> String {
    fs::read_to_string(world.root().join(format!("home/call-{n}"))).unwrap()
}

fn session(world: &World, name: &str) -> Value {
    let text = fs::read(world.project().join(".claude/refine-sessions.json")).unwrap();
    serde_json::from_slice::<Value>(&text).unwrap()["sessions"][name].clone()
}

/// A script of the document, with what it needs beside it.
fn script(world: &mut World, arguments: &[&str]) -> Shown {
    world.write("old/refine-loop.sh", &example("plan-refinery/refine-loop.sh"));
    world.write("old/refine-once.sh", &example("plan-refinery/refine-once.sh"));
    world.write("old/prompts/bead-refiner.md", &example("plan-refinery/prompts/bead-refiner.md"));
    world.write("old/prompts/plan-improver.md", &example("plan-refinery/prompts/plan-improver.md"));
    for name in ["old/refine-loop.sh", "old/refine-once.sh"] {
        fs::set_permissions(world.project().join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    // The document calls it and leaves it to be written.
    program(world, "record_completion", "echo \"$1 $2\" >>\"$HOME/completed\"");
    let mut command = Command::new("bash");
    command.args(arguments);
    let here = world.cwd.clone();
    world.cwd = world.project().join("old");
    let said = shown(world, command, "");
    world.cwd = here;
    said
}

#[test]
fn the_documents_script_its_algorithm_and_ralph_end_at_the_same_round() {
    let numbers = |line: &str| -> Vec<u32> {
        line.split_whitespace().filter_map(|word| word.trim_end_matches(':').parse().ok()).collect()
    };
    let text = example("plan-refinery/plateau.py");
    let bounds: Vec<u32> =
        text.lines().filter(|line| line.starts_with("if ")).flat_map(numbers).collect();
    let [change, last_change, threshold, least] = bounds.try_into().unwrap();
    let algorithm = |sequence: &[&str]| {
        let (mut count, mut last) = (0, 999);
        for (at, changes) in sequence.iter().enumerate() {
            let changes: u32 = changes.parse().unwrap();
            count = if changes <= change && last <= last_change { count + 1 } else { 0 };
            if count >= threshold && at as u32 + 1 >= least {
                return Some(at + 1);
            }
            last = changes;
        }
        None
    };
    // The script's arguments by position, as Ralph names them.
    let names: Vec<String> = example("plan-refinery/refine-loop.sh")
        .lines()
        .filter(|line| line.contains("=${"))
        .map(|line| line.split('=').next().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["MODE", "MAX_ITERATIONS", "SESSION_NAME", "PLAN_FILE"]);
    let mut n_plateaus = 0;
    for sequence in [
        ["5", "4", "3", "2", "1", "1", "0", "0", "0", "0"],
        ["1", "0", "0", "0", "0", "0", "0", "0", "0", "0"],
        ["0", "0", "0", "0", "0", "0", "0", "0", "0", "0"],
        ["2", "1", "1", "0", "0", "0", "0", "0", "0", "0"],
        ["3", "1", "1", "1", "0", "0", "0", "0", "0", "0"],
        ["2", "1", "2", "1", "2", "1", "2", "1", "1", "3"],
        ["4", "1", "3", "1", "3", "1", "3", "1", "3", "1"],
        ["9", "9", "9", "9", "9", "9", "9", "9", "9", "9"],
    ] {
        let mut world = world(&sequence);
        let said = script(&mut world, &["refine-loop.sh", "plan", "10", "api", "plan.md"]);
        let marked =
            said.stdout.lines().find(|line| line.contains("PLATEAU DETECTED at iteration"));
        let ended = marked.map(|line| line.rsplit(' ').next().unwrap().parse::<usize>().unwrap());
        assert_eq!(ended, algorithm(&sequence), "{sequence:?} {said:?}");
        assert_eq!(called(&world), ended.unwrap_or(10));
        again(&world, &sequence);
        let ours =
            ["--mode", "plan", "--max-iterations", "10", "--session", "api", "--plan", "plan.md"];
        let ours = terminal(&world, &[&["refine", "loop", "--no-notify"][..], &ours].concat(), "");
        assert_eq!(ours.exit, i32::from(ended.is_none()), "{sequence:?} {ours:?}");
        let session = session(&world, "api");
        assert_eq!(session["plateau_at"].as_u64().map(|at| at as usize), ended, "{sequence:?}");
        assert_eq!(session["iterations_completed"].as_u64().unwrap() as usize, ended.unwrap_or(10));
        n_plateaus += usize::from(ended.is_some());
    }
    assert!((1..8).contains(&n_plateaus));
}

#[test]
fn one_round_of_the_document_and_one_of_ralph_ask_the_same_model_for_the_same_plan() {
    let once = example("plan-refinery/refine-once.sh");
    assert!(once.contains("claude --model opus --dangerously-skip-permissions"));
    for (mode, prompt) in [
        ("beads", "plan-refinery/prompts/bead-refiner.md"),
        ("plan", "plan-refinery/prompts/plan-improver.md"),
    ] {
        let mut world = world(&["2", "2"]);
        script(&mut world, &["refine-once.sh", mode, "api", "plan.md"]).done();
        let filled =
            example(prompt).replace("${SESSION_NAME}", "api").replace("${PLAN_FILE}", "plan.md");
        assert_eq!(call(&world, 1), filled, "{mode}");
        // Ralph's round says the session, the plan and the two lines as well, and names its permission mode before.
        terminal(&world, &["plan-sync"], "{\"id\":\"T-1\",\"name\":\"a\"}\n").done();
        let plan: &[&str] =
            if mode == "plan" { &["--plan", "plan.md"] } else { &["--mode", "beads"] };
        let said =
            terminal(&world, &[&["refine", "once", "--session", "api"], plan].concat(), "").done();
        let call = call(&world, 2);
        assert!(call.contains("Session: api\n") && call.contains("--model opus"), "{call}");
        assert!(call.contains("plan.md") == (mode == "plan"), "{call}");
        assert!(call.contains("CHANGES: ") && call.contains("SUMMARY: "), "{call}");
        assert!(!call.contains("--dangerously-skip-permissions"), "{call}");
        assert!(said.stderr.starts_with("permission mode: "), "{said:?}");
    }
}

#[test]
fn a_round_ends_with_the_documents_two_lines_and_their_form_alone_is_no_number() {
    let form = example("plan-refinery/output.txt");
    let escaped = form.trim().replace('\n', "\\n");
    let filled = escaped.replace("{number}", "3").replace("{one-line}", "Clarified dependencies");
    let world = world(&[&escaped, &filled]);
    terminal(&world, &["refine", "once", "--plan", "plan.md"], "").done();
    assert_eq!(called(&world), 2, "a form is asked about once more");
    let round = session(&world, "plan")["history"][0].clone();
    assert_eq!(
        (&round["changes"], &round["summary"]),
        (&json!(3), &json!("Clarified dependencies"))
    );
    // The document's own reader takes the same number from the same answer.
    let reader = example("plan-refinery/parse.sh");
    let mut bash = Command::new("bash");
    bash.args(["-c", &format!("OUTPUT=$(cat)\n{reader}\nprintf %s \"$CHANGES\"")]);
    let read = shown(&world, bash, &filled.replace("\\n", "\n")).done();
    assert_eq!(read.stdout, "3");
    again(&world, &[&escaped, &escaped]);
    terminal(&world, &["refine", "once", "--session", "plan"], "").done();
    let round = session(&world, "plan")["history"][1].clone();
    assert_eq!(round["changes"], Value::Null, "unknown, and never nothing");
}

#[test]
fn a_session_of_the_document_is_shown_and_goes_on_behind_its_last_round() {
    let text = example("plan-refinery/refine-sessions.json");
    let before: Value = serde_json::from_str(&text).unwrap();
    let world = world(&["0", "0", "0"]);
    world.write(".claude/refine-sessions.json", &text);
    let listed = terminal(&world, &["refine", "list"], "").done().stdout;
    assert!(listed.contains("refine-myproject"), "{listed}");
    let shown =
        terminal(&world, &["refine", "status", "--session", "refine-myproject"], "").done().stdout;
    let name = "refine-myproject";
    for round in before["sessions"][name]["history"].as_array().unwrap() {
        assert!(shown.contains(round["summary"].as_str().unwrap()), "{shown}");
    }
    assert!(shown.contains("18 changes"), "the file's own sum: {shown}");
    terminal(&world, &["plan-sync"], "{\"id\":\"T-1\",\"name\":\"a\"}\n").done();
    terminal(&world, &["refine", "once", "--session", name], "").done();
    let after = session(&world, name);
    for (field, value) in before["sessions"][name].as_object().unwrap() {
        match field.as_str() {
            "iterations_completed" => assert_eq!(after[field], 6),
            "history" => {
                assert_eq!(after[field].as_array().unwrap()[..5], value.as_array().unwrap()[..])
            }
            "status" => {}
            _ => assert_eq!(&after[field], value, "{field}"),
        }
    }
    assert_eq!(after["history"][5]["iteration"], 6);
}

#[test]
fn ideas_are_one_shot_of_one_agent_that_is_told_the_session_and_nothing_is_stored() {
    let prompt = example("plan-refinery/prompts/idea-wizard.md");
    let flow = example("plan-refinery/ideate-flow.txt");
    assert!(
        prompt.contains("very best ideas for improving this project")
            && flow.contains("No loop needed - single shot.")
    );
    let idea = r#"Ideas.\n\n```jsonl\n{\\\"id\\\":\\\"IDEA-1\\\",\\\"name\\\":\\\"Log in\\\",\\\"deps\\\":[]}\n```\n\nCHANGES: 1\nSUMMARY: x"#;
    let world = world(&[&idea.replace("\\\\\\\"", "\\\"")]);
    let said = terminal(&world, &["ideate"], "").done();
    assert_eq!((called(&world), said.stdout.lines().count()), (1, 1), "{said:?}");
    assert!(call(&world, 1).contains("--model opus"), "{}", call(&world, 1));
    assert!(!world.ralph_home().join("loops").exists(), "stored only where the person says");
    let skill =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../skills/ideate/SKILL.md"))
            .unwrap();
    for offer in ["beads", "file"] {
        assert!(flow.to_lowercase().contains(offer) && skill.contains(offer), "{offer}");
    }
    // What it found is added by the command that the skill names.
    terminal(&world, &["plan-sync"], &said.stdout).done();
    assert!(terminal(&world, &["task", "list"], "").done().stdout.contains("Log in"));
}

#[test]
fn everything_in_the_documents_folder_has_its_command() {
    let world = world(&[]);
    let mut n_prompts = 0;
    for line in example("plan-refinery/directory.txt").lines() {
        let Some(name) = line.split_whitespace().find(|word| word.contains('.')) else { continue };
        match name.split_once('.').unwrap() {
            ("README", _) => assert!(
                fs::exists(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/refinery.md")).unwrap()
            ),
            (script, "sh") => {
                let command = script.split_once('-').unwrap();
                terminal(&world, &[command.0, command.1, "--help"], "").done();
            }
            (prompt @ ("bead-refiner" | "plan-improver"), _) => {
                n_prompts += 1;
                let said = terminal(&world, &["refine", "prompt", prompt], "");
                assert!(said.stderr.contains("`ralph refine begin` opens a round"), "{said:?}");
            }
            (prompt, _) => {
                n_prompts += 1;
                let plan = ["--plan", "plan.md", "--with", "plan.md"];
                let with: &[&str] = match prompt {
                    "synthesizer" => &plan,
                    "robot-mode" => &plan[..2],
                    _ => &[],
                };
                let said =
                    terminal(&world, &[&["refine", "prompt", prompt], with].concat(), "").done();
                assert!(
                    said.stdout.len() > 500 && !said.stdout.contains("${"),
                    "{prompt}: {said:?}"
                );
            }
        }
    }
    assert_eq!(n_prompts, 7);
    // Option B of the document: skills of their own.
    terminal(&world, &["install"], "").done();
    for skill in ["refine", "ideate", "plan-refinery"] {
        assert!(
            world.root().join(format!("home/.claude/skills/{skill}/SKILL.md")).is_file(),
            "{skill}"
        );
    }
}

#[test]
fn refine_works_in_the_foreground_with_five_rounds_and_in_tmux_with_more() {
    let flow = example("plan-refinery/refine-flow.txt");
    let table = rows(&example("plan-refinery/foreground-and-background.md"));
    assert!(table[0][1].contains("(3-5 iterations)") && table[1][1].contains("(6-10+ iterations)"));
    let skill =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../skills/refine/SKILL.md"))
            .unwrap();
    assert!(skill.contains("in this conversation, or in the background?"));
    let world = world(&["9", "9"]);
    let said = world.ralph(&["refine", "begin", "--plan", "plan.md"]);
    assert!(said.success && said.text.contains("Round 1 of 5 "), "{}", said.text);
    // The model of a conversation starts no background itself.
    let inside =
        world.ralph(&["refine", "loop", "--plan", "plan.md", "--session", "other", "--background"]);
    assert!(!inside.success && inside.text.contains("for the user only"), "{}", inside.text);
    // In the background: what the flow types is what tmux is given.
    let (_, typed) = flow.split_once("- tmux ").unwrap();
    let words: Vec<&str> = typed.split_whitespace().take(4).collect();
    assert_eq!(words, ["new-session", "-d", "-s", "refine-NAME"]);
    let mut world = self::world(&["9"]);
    program(
        &mut world,
        "tmux",
        "printf '%s\\n' \"$*\" >>\"$HOME/tmux\"; case $1 in has-session) exit 1;; esac",
    );
    terminal(
        &world,
        &["refine", "loop", "--plan", "plan.md", "--session", "api", "--background"],
        "",
    );
    let given = fs::read_to_string(world.root().join("home/tmux")).unwrap();
    let line = given.lines().find(|line| line.contains("new-session")).unwrap_or_default();
    for word in ["new-session", "-d", "-s", "refine-api"] {
        assert!(line.split(' ').any(|given| given == word), "{word}: {given}");
    }
}

#[test]
fn an_early_plateau_recommends_the_documents_two_commands() {
    let advice = example("plan-refinery/fresh-session.txt");
    let commands: Vec<&str> = advice
        .split("/plan-refinery ")
        .skip(1)
        .map(|rest| rest.split_whitespace().next().unwrap())
        .collect();
    assert_eq!(commands, ["context", "review"]);
    let world = world(&["4", "2", "1", "1"]);
    let said = terminal(&world, &["refine", "loop", "--plan", "plan.md", "--no-notify"], "").done();
    assert_eq!(session(&world, "plan")["plateau_at"], 4, "{advice}");
    for command in commands {
        assert!(said.stdout.contains(&format!("/plan-refinery {command}")), "{said:?}");
    }
}

#[test]
fn the_documents_prompts_are_taken_from_where_it_keeps_them_and_what_they_lack_is_appended() {
    for name in ["bead-refiner", "plan-improver"] {
        let world = world(&["2"]);
        let text = example(&format!("plan-refinery/prompts/{name}.md"));
        let place = format!("scripts/refine/prompts/{name}.md");
        world.write(&place, &text);
        terminal(&world, &["plan-sync"], "{\"id\":\"T-1\",\"name\":\"a\"}\n").done();
        let what: &[&str] = match name {
            "plan-improver" => &["--plan", "plan.md"],
            _ => &["--mode", "beads"],
        };
        terminal(&world, &[&["refine", "once", "--session", "api"], what].concat(), "").done();
        let call = call(&world, 1);
        for line in text.lines().filter(|line| !line.contains("${PLAN_FILE}")) {
            assert!(call.contains(&line.replace("${SESSION_NAME}", "api")), "{line} in {call}");
        }
        assert!(!call.contains("${"), "{call}");
    }
    let world = world(&["2"]);
    let text = example("plan-refinery/prompts/idea-wizard.md");
    world.write("scripts/refine/prompts/idea-wizard.md", &text);
    terminal(&world, &["ideate"], "");
    let call = call(&world, 1);
    for words in ["Come up with your very best ideas", "CHANGES: {number}", "```jsonl", "task list"]
    {
        assert!(call.contains(words), "{words} in {call}");
    }
}
