//! What a description may say, with an implementation of a few lines of shell: how a loop starts, what asks
//! for completion, what is seen of its state. Each case here fails if the runner does otherwise.

use ralph_conformance::{Form, Implementation, Outcome, cases, run};
use serde_json::{Value, json};
use std::fs;

/// Its loop is a file that says `true`, in force once a skill was called.
fn described() -> Value {
    json!({
        "name": "a few lines of shell",
        "hooks": {
            "PreToolUse": ["sh", "-c", "touch in-force"],
            "Stop": [
                ["sh", "-c", "grep -q 'stop_hook_active\":true' && touch active; true"],
                ["sh", "-c", "grep -q Finished ../home/transcript.jsonl && touch written; true"],
                ["sh", "-c", "! grep -q true state || ! test -e in-force || \
                  echo '{\"decision\":\"block\",\"reason\":\"on and on\"}'"],
            ]
        },
        "start": {"typed": {
            "command": "go",
            "task": "{{task}}",
            "max_iterations": "--most {{value}}",
            "counts_the_first_turn": true,
            "shell": "echo '{\"active\": true}' > state && touch \"$(echo $ARGUMENTS | tr ' ' _)\"",
            "then": [{"event": "PreToolUse", "with": {"tool_name": "Skill"}}],
            "bound": {"state": {"most": "{{value}}"}, "files": {"{{home}}/most-{{value}}": "x"}}
        }},
        "token": "Finished.",
        "asks": [{"runs": ["sh", "-c", "echo '{\"active\": false}' > state"]}],
        "goes_on": "on and on",
        "state": {"one_of": ["{{root}}/nowhere", "{{project}}/state"]},
        "live": {"state_says": "active"},
        "edits": {"marked as not in force": [["true", "false"]]},
        "otherwise": {"a/decided": "it says so"}
    })
}

#[track_caller]
fn check(described: &Value, given: &Value, steps: &Value) -> Outcome {
    check_named("case", described, given, steps)
}

#[track_caller]
fn check_named(name: &str, described: &Value, given: &Value, steps: &Value) -> Outcome {
    let folder = tempfile::tempdir().expect("a folder");
    let description = folder.path().join("described.json");
    fs::write(&description, described.to_string()).expect("it can be written");
    let group = folder.path().join("cases/a");
    fs::create_dir_all(&group).expect("a folder");
    let case = json!({"title": "t", "why": "w", "given": given, "steps": steps});
    fs::write(group.join(format!("{name}.json")), case.to_string()).expect("it can be written");
    let implementation = Implementation::read(&description).expect("a description");
    let cases = cases(&folder.path().join("cases")).expect("a case");
    run(&implementation, &cases, Form::Full).remove(0)
}

#[track_caller]
fn holds(given: &Value, steps: &Value) {
    assert_eq!(check(&described(), given, steps), Outcome::Holds);
}

#[test]
fn one_of_several_hooks_is_enough_to_go_on_and_asking_is_an_act() {
    let steps = json!([
        {"stop": "Still working.", "expect": {"decision": "goes_on", "reaches_model": ["{{goes_on}}"]}},
        {"stop": "I mention Finished.", "expect": "goes_on"},
        {"stop": "Finished.", "expect": "ends"}
    ]);
    holds(&json!({"loop": {}}), &steps);
}

#[test]
fn another_session_does_not_ask_for_this_one() {
    let steps = json!([
        {"event": "Stop", "with": {"session_id": "x", "last_assistant_message": "Finished."}, "expect": "goes_on"},
        {"stop": "Still working.", "expect": "goes_on"}
    ]);
    holds(&json!({"loop": {}}), &steps);
}

#[test]
fn a_bound_is_in_the_arguments_in_the_state_and_in_files() {
    let present = ["project/Make_it_work_--most_4", "home/most-4"];
    holds(&json!({"loop": {"max_iterations": 3}}), &json!([{"present": present}]));
}

#[test]
fn a_loop_is_started_once_more() {
    let steps = json!([
        {"stop": "Finished.", "expect": "ends"},
        {"starts": {"task": "More"}},
        {"stop": "Still working.", "expect": "goes_on"},
        {"present": ["project/More"]}
    ]);
    holds(&json!({"loop": {}}), &steps);
}

#[test]
fn a_start_that_its_shell_refuses_is_no_start() {
    let mut refusing = described();
    refusing["start"]["typed"]["shell"] = json!("echo no such bound >&2; exit 1");
    let started = check(&refusing, &json!({"loop": {}}), &json!([]));
    let Outcome::Fails(why) = started else { panic!("{started:?}") };
    assert!(why.contains("no such bound"), "{why}");
}

#[test]
fn a_state_that_is_no_json_is_edited_as_text() {
    let steps = json!([
        {"state": "marked as not in force"},
        {"stop": "Still working.", "expect": "allows"}
    ]);
    holds(&json!({"loop": {}}), &steps);
}

#[test]
fn the_message_is_in_the_transcript_unless_that_stays() {
    let written =
        json!([{"stop": "Not Finished.", "expect": "goes_on"}, {"present": ["project/written"]}]);
    holds(&json!({"loop": {}}), &written);
    let stays = json!([
        {"transcript": "", "stays": true},
        {"stop": "Not Finished.", "expect": "goes_on"},
        {"absent": ["project/written"]}
    ]);
    holds(&json!({"loop": {}}), &stays);
}

#[test]
fn each_stop_is_the_first_of_its_turn_where_the_description_says_why() {
    let twice = |look: &str| {
        json!([
            {"stop": "Still working.", "expect": "goes_on"},
            {"stop": "Still working.", "expect": "goes_on"},
            {look: ["project/active"]}
        ])
    };
    holds(&json!({"loop": {}}), &twice("present"));
    let mut first = described();
    first["first_stops"] = json!("it yields at the second");
    assert_eq!(check(&first, &json!({"loop": {}}), &twice("absent")), Outcome::Holds);
}

#[test]
fn what_its_documents_decide_otherwise_is_not_applicable() {
    let failing = json!([{"present": ["nothing"]}]);
    let decided = check_named("decided", &described(), &json!({}), &failing);
    assert_eq!(decided, Outcome::NotApplicable("it says so".to_owned()));
}
