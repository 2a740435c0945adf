//! Headless rounds with the real client: how they end, what they leave, what they may not do.

use ralph_test_support::fake_api::{Gate, Script, ScriptedTurn, StandIn};
use serde_json::{Value, json};

use crate::Test;
use crate::round::{Answer, Order, answer, heard, interrupt};
use crate::support::{CLIENT_VARIABLE, PATIENCE, World};

pub(crate) const TESTS: &[Test] = tests![
    a_round_of_three_tool_calls_tells_its_tokens_and_its_session,
    an_overloaded_api_is_asked_again_and_the_same_session_finishes,
    a_used_up_subscription_is_waited_for_until_its_reset,
    without_waiting_a_used_up_subscription_is_told_with_its_reset,
    a_background_shell_does_not_hold_the_round,
    a_call_that_would_prompt_is_denied_and_told,
    the_first_ctrl_c_lets_the_client_finish,
    the_second_ctrl_c_ends_the_client_at_once,
];

const SESSION: &str = "11111111-2222-4333-8444-555555555555";

/// The rounds of a world's client, for which every tool is allowed.
fn order(world: &World, stand_in: &StandIn) -> Order {
    let log = world.root().join("rounds").join("1.jsonl");
    let mut order = Order::new(&world.project(), &log, "Work.")
        .with("permission_mode", "bypassPermissions")
        .with("session_id", SESSION)
        .with("grace", 2_000);
    order.env = world.client_environment(stand_in);
    order.env.push(("RALPH_CLAUDE".into(), std::env::var_os(CLIENT_VARIABLE).unwrap()));
    // Each process tries once, so that the rounds are what tries again.
    order.env.push(("CLAUDE_CODE_MAX_RETRIES".into(), "0".into()));
    order
}

fn finished(answer: &Answer) -> &Value {
    assert_eq!(answer.came["outcome"]["is_error"], false, "{answer:?}");
    &answer.came["outcome"]["finished"]
}

/// No process has a command line with this in it.
fn assert_gone(words: &str) {
    let alive = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let line = std::fs::read(entry.ok()?.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).replace('\0', " "))
    });
    let left: Vec<String> = alive.filter(|line| line.contains(words)).collect();
    assert_eq!(left, Vec::<String>::new());
}

fn a_round_of_three_tool_calls_tells_its_tokens_and_its_session() {
    let world = World::new();
    let calls = ["echo one", "echo two > made", "cat made"].map(ScriptedTurn::bash);
    let script = Script::new().turns(calls).turn(ScriptedTurn::text("Done."));
    let stand_in = StandIn::start(script).unwrap();
    let answer = order(&world, &stand_in).run();
    assert_eq!(finished(&answer), "Done.");
    assert_eq!(answer.came["session_id"], SESSION);
    assert_eq!(answer.came["tokens"], 4 * 110);
    assert!(answer.came["cost"].as_f64().unwrap() > 0.0, "{answer:?}");
    assert_eq!(answer.came["leftovers"], json!([]), "{answer:?}");
    assert!(answer.shown.contains("round 1/1: Bash echo two > made\n"), "{}", answer.shown);
    assert_eq!(stand_in.requests()[3].tool_results().last().unwrap().text, "two");
}

fn an_overloaded_api_is_asked_again_and_the_same_session_finishes() {
    let world = World::new();
    let overloaded = || ScriptedTurn::error(529, "overloaded_error", "Overloaded");
    let turns = [
        overloaded(),
        ScriptedTurn::bash("echo once >> made"),
        overloaded(),
        ScriptedTurn::text("Done."),
    ];
    let stand_in = StandIn::start(Script::new().turns(turns)).unwrap();
    let answer = order(&world, &stand_in).run();
    assert_eq!(finished(&answer), "Done.");
    assert_eq!(answer.came["session_id"], SESSION);
    assert_eq!(std::fs::read_to_string(world.project().join("made")).unwrap(), "once\n");
    let requests = stand_in.requests();
    assert!(requests[3].all_text().contains("Go on where you were."), "{}", requests[3].all_text());
    assert!(!requests[1].all_text().contains("Go on where you were."));
    // Once for each process that had tokens; a session that is taken up is not counted twice.
    assert_eq!(answer.came["tokens"], 2 * 110, "{answer:?}");
}

/// An account with a subscription, whose limit is reset in so many seconds.
pub(crate) fn used_up(seconds: i64) -> ScriptedTurn {
    let reset = (jiff::Timestamp::now().as_second() + seconds).to_string();
    ScriptedTurn::error(
        429,
        "rate_limit_error",
        "This request would exceed your account's rate limit.",
    )
    .with_header("anthropic-ratelimit-unified-status", "rejected")
    .with_header("anthropic-ratelimit-unified-reset", &reset)
    .with_header("anthropic-ratelimit-unified-representative-claim", "five_hour")
    .with_header("anthropic-ratelimit-unified-overage-status", "rejected")
}

/// Only a client that believes in a subscription reads the limit's headers. The token opens nothing.
fn with_subscription(mut order: Order) -> Order {
    order.env.retain(|(name, _)| name != "ANTHROPIC_API_KEY");
    let token = "sk-ant-oat01-ralph-stand-in-000000000000";
    order.env.push(("CLAUDE_CODE_OAUTH_TOKEN".into(), token.into()));
    order
}

fn a_used_up_subscription_is_waited_for_until_its_reset() {
    let world = World::new();
    let script = Script::new().turn(used_up(4)).turn(ScriptedTurn::text("Done."));
    let stand_in = StandIn::start(script).unwrap();
    let answer = with_subscription(order(&world, &stand_in).with("waits", true)).run();
    assert_eq!(finished(&answer), "Done.");
    assert_eq!(stand_in.requests().len(), 2);
    assert!(answer.shown.contains("the usage limit is reached: waiting until"), "{}", answer.shown);
    assert!(!format!("{answer:?}").contains("sk-ant-oat01"));
}

fn without_waiting_a_used_up_subscription_is_told_with_its_reset() {
    let world = World::new();
    let stand_in = StandIn::start(Script::new().repeat(used_up(7_200))).unwrap();
    let answer = with_subscription(order(&world, &stand_in)).run();
    let until = answer.came["outcome"]["rate_limited"].as_str();
    let until: jiff::Timestamp = until.expect("the reset is known").parse().unwrap();
    let hours = until.duration_since(jiff::Timestamp::now()).as_secs_f64() / 3600.0;
    assert!((1.9..=2.0).contains(&hours), "{answer:?}");
    assert_eq!(stand_in.requests().len(), 1);
}

fn a_background_shell_does_not_hold_the_round() {
    let world = World::new();
    let shell =
        json!({"command": "sleep 34567", "description": "A server", "run_in_background": true});
    let script =
        Script::new().turn(ScriptedTurn::tool("Bash", shell)).turn(ScriptedTurn::text("Done."));
    let stand_in = StandIn::start(script).unwrap();
    let answer = order(&world, &stand_in).run();
    assert_eq!(finished(&answer), "Done.");
    let leftovers = answer.came["leftovers"].as_array().unwrap();
    assert!(leftovers.iter().any(|name| name == "sleep"), "{answer:?}");
    assert!(answer.came["seconds"].as_f64().unwrap() < 30.0, "{answer:?}");
    assert_gone("sleep 34567");
    // The end of the shell was no news for the model.
    assert_eq!(stand_in.requests().len(), 2);
}

fn a_call_that_would_prompt_is_denied_and_told() {
    let world = World::new();
    let script =
        Script::new().turn(ScriptedTurn::bash("touch made")).turn(ScriptedTurn::text("Done."));
    let stand_in = StandIn::start(script).unwrap();
    let answer = order(&world, &stand_in).with("permission_mode", "default").run();
    assert_eq!(finished(&answer), "Done.");
    let denial = &answer.came["denials"][0];
    assert_eq!((&denial["tool"], &denial["about"]), (&json!("Bash"), &json!("touch made")));
    assert!(denial["why"].as_str().unwrap().contains("needs approval"), "{answer:?}");
    assert!(answer.shown.contains("round 1/1: Bash was denied: "), "{}", answer.shown);
    assert!(!world.project().join("made").exists());
}

fn the_first_ctrl_c_lets_the_client_finish() {
    let (world, gate) = (World::new(), Gate::new());
    let script = Script::new().turn(ScriptedTurn::held(&gate).then_text("Done."));
    let stand_in = StandIn::start(script).unwrap();
    let mut child = order(&world, &stand_in).start();
    gate.wait_until_reached(PATIENCE).unwrap();
    interrupt(&child);
    heard(&mut child, "Ctrl-C again ends it at once");
    gate.open();
    let answer = answer(child);
    assert_eq!(finished(&answer), "Done.");
    assert_eq!(answer.came["asked"], "Finish");
}

fn the_second_ctrl_c_ends_the_client_at_once() {
    let (world, gate) = (World::new(), Gate::new());
    let shell =
        json!({"command": "sleep 34568", "description": "A server", "run_in_background": true});
    let turns =
        [ScriptedTurn::tool("Bash", shell), ScriptedTurn::held(&gate).then_text("never said")];
    let stand_in = StandIn::start(Script::new().turns(turns)).unwrap();
    let mut child = order(&world, &stand_in).start();
    gate.wait_until_reached(PATIENCE).unwrap();
    interrupt(&child);
    heard(&mut child, "Ctrl-C again ends it at once");
    interrupt(&child);
    assert_eq!(answer(child).came["outcome"], "ended");
    assert_gone("sleep 34568");
    assert_gone(&world.project().display().to_string());
}
