//! The runs that receipts come from: when a command is run again, what it is given, and what does not count.

use std::fs;
use std::path::Path;

use ralph_test_support::fake_api::{Script, ScriptedTurn, StandIn};
use serde_json::json;

use super::{Runs, START, refusals, told_the_person, write};
use crate::Test;
use crate::kept::{TOKEN, installed, the_ended};

pub(crate) const TESTS: &[Test] = tests![
    an_edit_after_green_makes_the_receipt_stale,
    a_commit_after_green_leaves_the_receipt_good,
    a_run_of_no_tests_does_not_pass,
    before_the_baseline_nothing_changes_and_what_held_is_named_at_the_end,
    the_secrets_of_the_client_are_not_in_the_environment_of_a_criterion,
];

/// A loop whose criterion counts its runs.
fn counted(runs: &Runs) -> String {
    format!(
        "/ralph \"Say yes\" --ac \"done says yes=printf x >> {}; grep -q yes done\"",
        runs.path()
    )
}

fn an_edit_after_green_makes_the_receipt_stale() {
    let world = installed();
    let runs = Runs::of(&world);
    let edit = |old, new| {
        let file = world.project().join("done");
        ScriptedTurn::tool("Edit", json!({"file_path": file, "old_string": old, "new_string": new}))
    };
    let script = Script::new()
        .turn(write(&world, "done", "yes\n"))
        .turn(ScriptedTurn::bash("ralph verify"))
        .turn(edit("yes", "no"))
        .turn(ScriptedTurn::text(TOKEN))
        .turn(edit("no", "yes, again"))
        .turn(ScriptedTurn::text(TOKEN));
    let stand_in = StandIn::start(script).unwrap();
    world.client(&stand_in).prompt(&counted(&runs)).result();
    let requests = stand_in.requests();
    let verified = &requests[2].tool_results()[1];
    assert!(!verified.is_error && verified.text.contains("It holds."), "{}", verified.text);
    let refusals = refusals(&requests);
    assert_eq!(refusals.len(), 1, "{refusals:#?}");
    assert!(refusals[0].contains("AC-1 failed (exit code 1)"), "{}", refusals[0]);
    assert!(refusals[0].contains("is red now; changed since: done."), "{}", refusals[0]);
    assert_eq!(the_ended(&world).ending(), "complete at 1/25");
    assert_eq!(runs.count(), 3, "once by the model, and at each request");
}

fn a_commit_after_green_leaves_the_receipt_good() {
    let world = installed();
    let runs = Runs::of(&world);
    let script = Script::new()
        .turn(write(&world, "done", "yes\n"))
        .turn(ScriptedTurn::bash("ralph verify"))
        .turn(ScriptedTurn::bash("git add -A && git commit -q -m 'Say yes'"))
        .turn(ScriptedTurn::text(TOKEN));
    let stand_in = StandIn::start(script).unwrap();
    world.client(&stand_in).prompt(&counted(&runs)).result();
    assert_eq!(the_ended(&world).ending(), "complete at 0/25");
    assert_eq!(runs.count(), 2, "once by the model, and at the request");
    assert!(world.git(&["log", "--oneline"]).contains("Say yes"));
}

fn a_run_of_no_tests_does_not_pass() {
    let world = installed();
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/runners");
    let print = |runner: &str, file: &str| {
        world.write(runner, &fs::read_to_string(recorded.join(runner).join(file)).unwrap());
        format!("--ac \"{runner} passes=cat {runner}\"")
    };
    let criteria = [print("cargo-test", "none.txt"), print("pytest", "none.txt")].join(" ");
    let script = Script::new()
        .turn(ScriptedTurn::text(TOKEN))
        .turn(ScriptedTurn::bash("ls"))
        .turn(ScriptedTurn::text(TOKEN));
    let stand_in = StandIn::start(script).unwrap();
    let start = format!("/ralph \"Pass\" --max-iterations 1 {criteria}");
    world.client(&stand_in).prompt(&start).result();
    let kept = the_ended(&world);
    assert_eq!(kept.ending(), "max_iterations at 1/1");
    for criterion in kept.state["acceptance_criteria"].as_array().unwrap() {
        assert_eq!(criterion["receipt"]["exit_code"], 0, "{criterion:#}");
        assert_eq!(criterion["receipt"]["tests_run"], 0, "{criterion:#}");
    }
    let refusal = refusals(&stand_in.requests()).remove(0);
    for id in ["AC-1", "AC-2"] {
        let line = format!("- {id} passed and proves nothing (it found no tests)");
        assert!(refusal.contains(&line), "{refusal}");
    }
}

fn before_the_baseline_nothing_changes_and_what_held_is_named_at_the_end() {
    let world = installed();
    let script = Script::new()
        .turn(write(&world, "done", "too early\n"))
        .turn(ScriptedTurn::bash("ralph verify"))
        .turn(write(&world, "done", "yes\n"))
        .turn(ScriptedTurn::text(TOKEN));
    let stand_in = StandIn::start(script).unwrap();
    let start = format!("{START} --ac \"there is a readme=test -f README.md\" --baseline");
    let run = world.client(&stand_in).prompt(&start);
    let requests = stand_in.requests();
    assert!(
        requests[0].news().contains("First of all run `ralph verify`"),
        "{}",
        requests[0].news()
    );
    let results = requests.last().unwrap().tool_results();
    assert!(results[0].is_error, "{}", results[0].text);
    assert!(results[0].text.contains("Run `ralph verify` now"), "{}", results[0].text);
    assert!(results[1].text.contains("1 of 2 hold."), "{}", results[1].text);
    assert!(!results[2].is_error, "{}", results[2].text);
    let kept = the_ended(&world);
    assert_eq!(kept.ending(), "complete at 0/25");
    let told = told_the_person(&world, run.session_id()).join("\n");
    assert!(
        told.contains(
            "grep -q yes done passes; it fails without the change. test -f README.md passes."
        ),
        "{told}"
    );
    assert!(told.contains("Held already before the work, so no proof of it: AC-2."), "{told}");
}

fn the_secrets_of_the_client_are_not_in_the_environment_of_a_criterion() {
    let world = installed();
    let given = |name: &str| world.root().join(name);
    let script = Script::new()
        .turn(ScriptedTurn::bash(&format!(
            "env > {}; ralph verify",
            given("of-the-model").display()
        )))
        .turn(write(&world, "done", "yes\n"))
        .turn(ScriptedTurn::text(TOKEN));
    let stand_in = StandIn::start(script).unwrap();
    let record =
        format!("env > {}-$(test -f done && echo hook || echo verify)", given("of").display());
    let start = format!(
        "/ralph \"Say yes\" --ac \"done says yes={record}; echo $PROJECT_KEY; grep -q yes done\""
    );
    let client = world.client(&stand_in).env("PROJECT_KEY", "opensesame");
    client.env("ANTHROPIC_CUSTOM_HEADERS", "X-Kept: private").prompt(&start).result();
    assert_eq!(the_ended(&world).ending(), "complete at 0/25");
    // The question has an answer where nothing was taken away.
    assert!(secrets(&given("of-the-model")).contains(&"ANTHROPIC_API_KEY".to_owned()));
    for name in ["of-verify", "of-hook"] {
        assert_eq!(secrets(&given(name)), <[String; 0]>::default());
        let text = fs::read_to_string(given(name)).unwrap();
        assert!(text.contains("PROJECT_KEY=opensesame"), "the project's own stay: {text}");
        assert!(!text.contains(ralph_test_support::fake_api::DUMMY_API_KEY), "{text}");
    }
    assert_eq!(files_with(&world.ralph_home(), "opensesame"), <[String; 0]>::default());
}

/// The client's secrets among the variables of a printed environment.
fn secrets(printed: &Path) -> Vec<String> {
    let text = fs::read_to_string(printed).unwrap();
    let names = text.lines().filter_map(|line| Some(line.split_once('=')?.0.to_owned()));
    names.filter(|name| name.starts_with("ANTHROPIC_") || is_access(name)).collect()
}

/// Not asked of Ralph, whose answer is what is tested.
fn is_access(name: &str) -> bool {
    let of_client = name.strip_prefix("CLAUDE_CODE_").unwrap_or_default();
    of_client.starts_with("MESSAGING_") || of_client.contains("TOKEN")
}

/// The files below a folder that hold this text.
fn files_with(folder: &Path, text: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| match path.is_dir() {
            true => files_with(&path, text),
            false => {
                let holds = String::from_utf8_lossy(&fs::read(&path).unwrap()).contains(text);
                holds.then(|| path.display().to_string()).into_iter().collect()
            }
        })
        .collect()
}
