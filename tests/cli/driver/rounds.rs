//! How rounds end.

use super::round::{heard, interrupt};
use super::world::{DONE, INIT, OVERLOADED, WORKS, World};
use ralph_core::protocol::loaded::MODS_OFF;
use serde_json::{Value, json};

#[test]
fn a_round_that_goes_well_tells_what_it_used_and_shows_what_it_did() {
    let world = World::new(&format!("say '{INIT}'; say 'not JSON'; say '{WORKS}'; say '{DONE}'"));
    let order = world.order().with("args", json!(["--model", "x"])).with("session_id", "an-id");
    let answer = world.run(&order.with("permission_mode", "acceptEdits"));
    assert_eq!(answer.came["outcome"], json!({"finished": "done", "is_error": false}));
    assert_eq!((&answer.came["tokens"], &answer.came["cost"]), (&json!(2007), &json!(0.5)));
    assert_eq!(answer.came["leftovers"], json!([]));
    let mods_off = format!("{}|", MODS_OFF.join("|"));
    assert!(world.args(0).contains(&mods_off));
    assert_eq!(
        world.args(0).replace(&mods_off, ""),
        "-p|Work.|--output-format|stream-json|--verbose|--session-id|an-id|--permission-mode|acceptEdits|--model|x|"
    );
    let shown = "round 1/1: begins\nround 1/1: Bash cargo test\n";
    assert_eq!(answer.shown, shown);
}

#[test]
fn an_overloaded_api_is_asked_again_in_the_same_conversation() {
    let script =
        format!("say '{INIT}'; if [ $n = 1 ]; then say '{OVERLOADED}'; exit 1; fi; say '{DONE}'");
    let world = World::new(&script);
    let answer = world.run(&world.order());
    assert_eq!(answer.came["outcome"]["finished"], "done", "{answer:?}");
    // The model had said nothing: it hears the prompt.
    assert!(world.args(1).starts_with("-p|Work.|"), "{}", world.args(1));
    assert!(world.args(1).contains("|--resume|11111111-"), "{}", world.args(1));
    assert_eq!(world.log().iter().filter(|row| row["attempt"].is_u64()).count(), 2);
}

#[test]
fn work_that_was_cut_is_gone_on_with_and_not_begun_again() {
    let script = format!(
        "say '{INIT}'; if [ $n = 1 ]; then say '{WORKS}'; say '{OVERLOADED}'; exit 1; fi; say '{DONE}'"
    );
    let world = World::new(&script);
    let answer = world.run(&world.order());
    assert_eq!(answer.came["outcome"]["finished"], "done", "{answer:?}");
    assert!(
        world.args(1).starts_with("-p|The connection to the model was lost."),
        "{}",
        world.args(1)
    );
}

#[test]
fn an_api_that_stays_overloaded_ends_the_round_after_the_last_attempt() {
    let world = World::new(&format!("say '{INIT}'; say '{OVERLOADED}'; exit 1"));
    let answer = world.run(&world.order());
    assert_eq!(answer.came["outcome"], json!({"overloaded": 3}));
    assert!(answer.shown.ends_with("the API did not answer in 3 attempts\n"), "{}", answer.shown);
}

#[test]
fn a_used_up_limit_is_waited_for_only_where_that_is_wanted() {
    let soon = "now=$(date +%s); info='{\"type\":\"rate_limit_event\",\"rate_limit_info\":{\"status\":\"rejected\",\"resetsAt\":'$((now + 1))'}}'";
    let used_up = r#"{"type":"result","is_error":true,"api_error":"usage_limit_reached","api_error_status":429,"result":"limit"}"#;
    let script = format!(
        "{soon}; say '{INIT}'; if [ $n = 1 ]; then say \"$info\"; say '{used_up}'; exit 1; fi; say '{DONE}'"
    );
    let world = World::new(&script);
    let answer = world.run(&world.order());
    assert!(answer.came["outcome"]["rate_limited"].is_string(), "{answer:?}");
    let world = World::new(&script);
    let answer = world.run(&world.order().with("waits", true));
    assert_eq!(answer.came["outcome"]["finished"], "done", "{answer:?}");
    assert!(
        answer.shown.contains("the usage limit is reached: waiting until "),
        "{}",
        answer.shown
    );
}

#[test]
fn ctrl_c_while_nothing_runs_ends_the_wait() {
    let world = World::new(&format!("say '{INIT}'; say '{OVERLOADED}'; touch over; exit 1"));
    let child = world.order().with("first_pause", 300_000).start();
    world.wait_for("over");
    interrupt(&child);
    let answer = world.answer(child);
    assert_eq!(answer.came["outcome"], json!({"overloaded": 1}), "{answer:?}");
    assert_eq!(answer.came["asked"], "Finish");
}

#[test]
fn the_first_ctrl_c_finishes_the_round() {
    let world = World::new(&format!(
        "say '{INIT}'; touch begun; until [ -e go ]; do sleep 0.02; done; say '{DONE}'"
    ));
    let child = world.order().start();
    world.wait_for("begun");
    interrupt(&child);
    std::fs::write(world.path("go"), "").unwrap();
    let answer = world.answer(child);
    assert_eq!(answer.came["outcome"]["finished"], "done", "{answer:?}");
    assert_eq!(answer.came["asked"], "Finish");
    assert!(answer.shown.contains("Ctrl-C again ends it at once"), "{}", answer.shown);
}

#[test]
fn the_second_ctrl_c_ends_a_client_that_will_not_hear_and_all_that_it_started() {
    let world = World::new(&format!(
        "trap '' INT TERM; (setsid sh -c 'trap \"\" TERM INT; sleep 300; sleep 300' &); say '{INIT}'; touch begun; sleep 300; sleep 300"
    ));
    let mut child = world.order().start();
    world.wait_for("begun");
    interrupt(&child);
    // Two signals that come together are one to the system.
    heard(&mut child, "Ctrl-C again ends it at once");
    interrupt(&child);
    assert_eq!(world.answer(child).came["outcome"], json!("ended"));
}

#[test]
fn what_is_left_after_the_result_is_named_and_ended() {
    let script = format!("(setsid sleep 300 &) ; say '{INIT}'; say '{DONE}'; exec sleep 301");
    let world = World::new(&script);
    let answer = world.run(&world.order());
    assert_eq!(answer.came["outcome"]["finished"], "done", "{answer:?}");
    assert_eq!(answer.came["leftovers"], json!(["sleep"]), "{answer:?}");
}

#[test]
fn a_client_that_ends_and_leaves_a_daemon_leaves_it_to_us() {
    let script = format!("(setsid sleep 300 >/dev/null 2>&1 &) ; say '{DONE}'");
    let world = World::new(&script);
    let answer = world.run(&world.order());
    assert_eq!(answer.came["leftovers"], json!(["sleep"]), "{answer:?}");
}

#[test]
fn a_worker_in_the_background_is_waited_for() {
    let worker = r#"{"type":"system","subtype":"background_tasks_changed","tasks":[{"task_type":"local_agent","description":"dig"}]}"#;
    let none = r#"{"type":"system","subtype":"background_tasks_changed","tasks":[]}"#;
    let later = DONE.replace("\"done\"", "\"after the report\"");
    let world = World::new(&format!(
        "say '{INIT}'; say '{worker}'; say '{DONE}'; sleep 1.2; say '{none}'; say '{WORKS}'; say '{later}'"
    ));
    let answer = world.run(&world.order());
    assert_eq!(answer.came["outcome"]["finished"], "after the report", "{answer:?}");
    assert_eq!(answer.came["leftovers"], json!([]), "{answer:?}");
}

#[test]
fn a_client_without_a_result_has_crashed_and_its_secrets_are_in_no_file() {
    let world = World::new(&format!(
        "say '{INIT}'; say \"{{\\\"x\\\":\\\"$A_TOKEN\\\"}}\"; echo \"bad $A_TOKEN\" >&2; exit 9"
    ));
    let order = world.order().with("env", json!([["A_TOKEN", "s3cret-value"]]));
    let answer = world.run(&order);
    let why = "the client ended with exit code 9 and no result: bad [redacted A_TOKEN]";
    assert_eq!(answer.came["outcome"]["crashed"], why, "{answer:?}");
    let log = world.log();
    assert!(!format!("{log:?}{answer:?}").contains("s3cret-value"));
    assert_eq!(log[2], json!({"x": "[redacted A_TOKEN]"}));
    assert_eq!(log.last().unwrap()["exit"], "Code(9)");
}

#[test]
fn a_missing_client_is_said_with_what_to_do() {
    let world = World::new("exit 0");
    let mut order = world.order();
    order.env.retain(|(name, _)| name != "RALPH_CLAUDE");
    order.env.push(("RALPH_CLAUDE".into(), "claude-that-is-not-there".into()));
    let answer = world.run(&order);
    let expected = "could not find the client `claude-that-is-not-there`; install Claude Code, or name it in RALPH_CLAUDE";
    assert_eq!(answer.came["error"], expected);
    assert_eq!(answer.came["outcome"], Value::Null);
}

#[test]
fn lines_of_any_length_do_no_harm() {
    let world = World::new(&format!(
        "say '{INIT}'; head -c 20000000 /dev/zero | tr '\\0' x; echo; say '{DONE}'"
    ));
    let answer = world.run(&world.order());
    assert_eq!(answer.came["outcome"]["finished"], "done", "{answer:?}");
    assert!(std::fs::metadata(world.path("log")).unwrap().len() > 20_000_000);
}
