//! Completion is evidence, in the real client: a word asks, the criteria answer, and the model hears why not.
//!
//! What counts the runs of a command, or records what one was given, lies outside the project: a tree that
//! changes is a different question.

pub(crate) mod checks;
pub(crate) mod endings;
pub(crate) mod escape;

use std::fs;
use std::path::{Path, PathBuf};

use ralph_test_support::fake_api::{ApiRequest, Script, ScriptedTurn, StandIn};
use serde_json::{Value, json};

use crate::Test;
use crate::kept::{
    TOKEN, continuations, installed, positions, the_ended, the_live, what_hooks_said,
};
use crate::support::World;
use crate::versions::assert_refused;

pub(crate) const TESTS: &[Test] = tests![
    only_the_token_alone_asks_and_what_it_asks_is_answered_by_the_criteria,
    a_token_in_the_text_of_a_subagent_asks_for_nothing,
    a_token_in_the_report_of_a_background_subagent_asks_for_nothing,
    verified_written_into_the_state_counts_for_nothing,
    a_run_in_the_models_own_environment_proves_nothing,
];

/// The criterion of most of these loops: the file `done` says yes.
const START: &str = "/ralph \"Say yes\" --ac \"done says yes=grep -q yes done\"";

/// A call of the Write tool for a file of the project.
fn write(world: &World, file: &str, content: &str) -> ScriptedTurn {
    ScriptedTurn::tool(
        "Write",
        json!({"file_path": world.project().join(file), "content": content}),
    )
}

/// What the model heard for each refused request, without the heading that the client puts above it.
pub(crate) fn refusals(requests: &[ApiRequest]) -> Vec<String> {
    const BEGIN: &str = "Completion was requested and is refused";
    let news = requests.iter().map(ApiRequest::news);
    let told = news.filter(|news| news.contains(BEGIN)).inspect(|news| {
        assert_eq!(news.matches(BEGIN).count(), 1, "told twice: {news}");
    });
    told.map(|news| news[news.find(BEGIN).unwrap()..].to_owned()).collect()
}

/// What hooks told the person in this session, by the client's own record.
pub(crate) fn told_the_person(world: &World, session_id: &str) -> Vec<String> {
    let rows = what_hooks_said(world, session_id);
    let messages = rows.iter().filter(|row| row["attachment"]["type"] == "hook_system_message");
    messages.map(|row| row["attachment"]["content"].as_str().unwrap().to_owned()).collect()
}

/// A file outside the tree to which a command adds a letter each time it runs.
struct Runs(PathBuf);

impl Runs {
    fn of(world: &World) -> Runs {
        Runs(world.root().join("runs"))
    }

    fn path(&self) -> std::path::Display<'_> {
        self.0.display()
    }

    fn count(&self) -> usize {
        fs::read(&self.0).map_or(0, |letters| letters.len())
    }
}

fn only_the_token_alone_asks_and_what_it_asks_is_answered_by_the_criteria() {
    let world = installed();
    let said = [
        format!("I shall end with this line:\n> {TOKEN}"),
        format!("The last line will be {TOKEN}"),
        format!("I shall end with this line:\n```\n{TOKEN}\n```"),
        format!("It is not yet time for that line.\n\nnot {TOKEN}"),
    ];
    let mentions = said.iter().enumerate().flat_map(|(n, text)| {
        [ScriptedTurn::bash(&format!("echo {n} > work-{n}")), ScriptedTurn::text(text)]
    });
    let asks = ScriptedTurn::text(&format!("All is done.\n\n{TOKEN}"));
    let script = Script::new()
        .turns(mentions)
        .turn(ScriptedTurn::bash("echo last > work-4"))
        .turn(asks.clone())
        .turn(write(&world, "done", "yes\n"))
        .turn(asks);
    let stand_in = StandIn::start(script).unwrap();
    let run = world.client(&stand_in).prompt(START);
    let kept = the_ended(&world);
    assert_eq!(kept.ending(), "complete at 5/25");
    let requests = stand_in.requests();
    assert_eq!((requests.len(), stand_in.unscripted()), (12, 0));
    assert_eq!(continuations(&requests), positions(5, 25));
    for request in requests[2..=8].iter().step_by(2) {
        assert!(request.news().contains("must stand alone on the last line"), "{}", request.news());
    }
    let refusal = "\
        <system-reminder>\n\
        Stop hook additional context: Ralph 5/25: completion refused, 0 of 1 criterion holds; next: \
        fix grep -q yes done: grep: done: No such file or directory\n\
        </system-reminder>";
    assert_eq!(requests[10].news(), refusal);
    let details = "Completion was requested and is refused, because not everything holds:\n\
        - AC-1 failed (exit code 2): `grep -q yes done`\n\
        AC-1 printed last:\n\
        grep: done: No such file or directory\n\
        Ralph loop at 5/25. 0 of 1 criterion holds.\n";
    assert!(requests[11].news().contains(details), "{}", requests[11].news());
    let told = told_the_person(&world, run.session_id());
    assert!(told.last().unwrap().contains("Ralph: done in "), "{told:#?}");
    assert!(told.last().unwrap().contains("it fails without the change"), "{told:#?}");
}

fn a_token_in_the_text_of_a_subagent_asks_for_nothing() {
    check_subagent(false);
}

fn a_token_in_the_report_of_a_background_subagent_asks_for_nothing() {
    check_subagent(true);
}

/// The subagent does the work: a request that were heard would be granted.
#[track_caller]
fn check_subagent(in_background: bool) {
    let world = installed();
    let call = json!({
        "description": "dig", "prompt": "DIGGER: dig", "subagent_type": "general-purpose",
        "run_in_background": in_background,
    });
    let digger = Script::new()
        .turn(ScriptedTurn::bash("echo yes > done"))
        .turn(ScriptedTurn::text(&format!("Dug.\n\n{TOKEN}")));
    let script = Script::new()
        .turn(ScriptedTurn::tool("Agent", call))
        .answer_with(|request| match request.news().contains("Ralph 1/25: ") {
            true => ScriptedTurn::text(TOKEN),
            false => ScriptedTurn::text("The digger digs, or has dug."),
        })
        .subagent("DIGGER", digger);
    let stand_in = StandIn::start(script).unwrap();
    world.client(&stand_in).prompt(START).result();
    assert_eq!(stand_in.subagent_requests().len(), 2);
    let requests = stand_in.requests();
    // The client indents the lines of a report, so that none looks like the client's own.
    let told = requests.last().unwrap().all_text();
    assert!(told.lines().any(|line| line.trim() == TOKEN), "no report has arrived: {told}");
    let kept = the_ended(&world);
    assert_eq!(kept.ending(), "complete at 1/25");
    assert_eq!(kept.n_decisions("Stop", "let go"), usize::from(in_background));
}

fn verified_written_into_the_state_counts_for_nothing() {
    let world = installed();
    let home = world.ralph_home();
    let state = move || the_state_file(&home);
    let n_answers = std::sync::atomic::AtomicUsize::new(0);
    let script = Script::new().answer_with(move |_| {
        match n_answers.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
            0 => ScriptedTurn::tool("Read", json!({"file_path": state()})),
            1 => ScriptedTurn::tool(
                "Edit",
                json!({
                    "file_path": state(), "old_string": "\"verified\": false",
                    "new_string": "\"verified\": true",
                }),
            ),
            2 => ScriptedTurn::bash(&format!("sed -i s/false/true/ '{}'", state().display())),
            3 => {
                // Nobody asks a hook about this: it is as a program would do it that the model left behind.
                set_verified(&state());
                ScriptedTurn::text(TOKEN)
            }
            4 => ScriptedTurn::bash("echo yes > done"),
            _ => ScriptedTurn::text(TOKEN),
        }
    });
    let stand_in = StandIn::start(script).unwrap();
    let run = world.client(&stand_in).prompt(START);
    let kept = the_live(&world);
    assert_eq!(kept.state["pause"]["cause"], "tampered");
    assert_eq!(kept.state["acceptance_criteria"][0]["verified"], false);
    assert_eq!(kept.n_decisions("PreToolUse", "denied"), 2);
    world.client(&stand_in).args(&["--resume", run.session_id()]).prompt("/ralph").result();
    assert_eq!(the_ended(&world).ending(), "complete at 0/25");
    let requests = stand_in.requests();
    let results = requests.last().unwrap().tool_results();
    for denied in &results[1..3] {
        assert_refused(denied, "denied");
    }
}

/// Each line has `ralph verify` believe that the criterion holds; the request runs it as it was recorded.
fn a_run_in_the_models_own_environment_proves_nothing() {
    let world = installed();
    world.write("check.sh", "grep -q yes done.c\n");
    let fake = "mkdir -p b && printf '#!/bin/sh\\nexit 0\\n' > b/grep && chmod +x b/grep && echo 'exit 0' > lie.sh";
    let lies = [
        "PATH=$PWD/b:$PATH ralph verify",
        "BASH_ENV=$PWD/lie.sh ralph verify",
        "grep() { true; }; export -f grep; ralph verify",
        "export PATH=$PWD/b:$PATH; bash -c 'ralph verify'",
    ];
    let script = Script::new()
        .turn(ScriptedTurn::bash(fake))
        .turns(lies.iter().flat_map(|lie| [ScriptedTurn::bash(lie), ScriptedTurn::text(TOKEN)]))
        .turn(write(&world, "done.c", "yes\n"))
        .turn(ScriptedTurn::text(TOKEN));
    let stand_in = StandIn::start(script).unwrap();
    let start = "/ralph \"Say yes\" --stall-limit 9 --ac \"done says yes=bash check.sh\"";
    world.client(&stand_in).prompt(start).result();
    let requests = stand_in.requests();
    let results = requests.last().unwrap().tool_results();
    for (lie, result) in lies.iter().zip(&results[1..]) {
        assert!(result.text.contains("It holds."), "the lie is none: {lie}: {}", result.text);
    }
    assert_eq!(refusals(&requests).len(), lies.len());
    let kept = the_ended(&world);
    assert_eq!(kept.ending(), "complete at 4/25");
    let receipt = &kept.state["acceptance_criteria"][0]["receipt"];
    assert_eq!(
        (&receipt["by"], &receipt["restored"], &receipt["differs"]),
        (&json!("hook"), &Value::Null, &Value::Null)
    );
}

/// The state file of the only live loop.
fn the_state_file(ralph_home: &Path) -> PathBuf {
    let loops = fs::read_dir(ralph_home.join("loops")).unwrap();
    let mut loops = loops.map(|entry| entry.unwrap().path());
    let only = loops.next().unwrap().join("state.json");
    assert!(loops.next().is_none());
    only
}

fn set_verified(file: &Path) {
    let mut state: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(state["acceptance_criteria"][0]["verified"], json!(false));
    state["acceptance_criteria"][0]["verified"] = json!(true);
    fs::write(file, state.to_string()).unwrap();
}
