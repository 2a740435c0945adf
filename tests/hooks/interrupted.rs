//! Endings of a turn that fire no hook: the next event reveals them.

use crate::world::World;
use serde_json::{Value, json};

/// A loop in the middle of its turn at 3/25.
fn at_three() -> World {
    let world = World::looping("");
    for _ in 0..3 {
        world.working_stop("x").goes_on();
    }
    world
}

/// A row of this kind, written now.
fn now() -> String {
    jiff::Timestamp::now().to_string()
}

#[test]
fn after_esc_a_new_prompt_is_served_and_the_loop_rests_until_it_is_continued() {
    let mut world = at_three();
    world.transcribe(&world.interruption("[Request interrupted by user]"));
    world
        .prompt("prompt-2", "what is in this file?")
        .stdout(json!({"systemMessage": "Ralph: paused at 3/25 (interrupted); /ralph continues"}))
        .stderr("")
        .exit(0);
    world.stop("It holds one.").silent();
    world.prompt("prompt-3", "thanks").silent();
    world.stop("You are welcome.").silent();
    assert_eq!(world.standing(), "paused 3/25 interrupted");

    world.prompt = "prompt-4".to_owned();
    let text = world.type_command("ralph", "").context();
    assert!(text.contains(" continues at 3/25\n"), "{text}");
    assert!(text.contains("RALPH_COMPLETE alone on its last line"), "the whole contract: {text}");
    assert!(world.step(&world.working_stop("x")).contains("Ralph 4/25: "));
}

#[test]
fn esc_before_the_first_stop_is_an_interruption_too() {
    let mut world = World::looping("");
    world.transcribe(&world.interruption("[Request interrupted by user for tool use]"));
    let message = world.prompt("prompt-2", "wait").message();
    assert!(message.contains("paused at 0/25 (interrupted)"), "{message}");
}

#[test]
fn after_esc_the_command_alone_continues_at_once() {
    let mut world = at_three();
    world.transcribe(&world.interruption("[Request interrupted by user]"));
    world.prompt = "prompt-2".to_owned();
    let text = world.type_command("ralph", "").context();
    assert!(text.contains(" continues at 3/25\n"), "{text}");
    assert_eq!(world.standing(), "implementation 3/25");
}

#[track_caller]
fn reveals(rows: impl Fn(&World) -> Vec<Value>, expected: &str) {
    let mut world = at_three();
    world.transcribe(&rows(&world));
    let message = world.prompt("prompt-2", "hello").message();
    assert_eq!(message, format!("Ralph: paused at 3/25 ({expected}); /ralph continues"));
    assert_eq!(world.standing(), format!("paused 3/25 {expected}"));
}

#[test]
fn the_transcript_says_how_the_turn_was_cut() {
    reveals(|world| world.interruption("[Request interrupted by user]").to_vec(), "interrupted");
    let capped = |_: &World| {
        vec![json!({"type": "system", "timestamp": now(),
            "content": "A hook blocked the turn from ending 8 consecutive times"})]
    };
    reveals(capped, "host_capped");
    let budget = |_: &World| {
        vec![json!({"type": "attachment", "timestamp": now(),
            "attachment": {"type": "max_turns_reached"}})]
    };
    reveals(budget, "host_budget");
    // The same client process asks on: it did not crash, and Esc before the first words of a
    // reply leaves no mark.
    reveals(|world| world.interruption("hello").to_vec(), "interrupted");
}

#[test]
fn a_mark_of_an_earlier_turn_or_a_quotation_of_one_says_nothing() {
    // Without a mark of its own the cut turn counts as interrupted, in the same client process.
    let capped = |kind: &'static str, at: &'static str| {
        move |_: &World| {
            vec![json!({"type": kind, "timestamp": at,
            "content": "A hook blocked the turn from ending 8 consecutive times"})]
        }
    };
    reveals(capped("system", "2000-01-01T00:00:00Z"), "interrupted");
    reveals(capped("assistant", "2999-01-01T00:00:00Z"), "interrupted");
}

#[test]
fn a_prompt_of_the_running_turn_reveals_nothing() {
    let mut world = at_three();
    world.transcribe(&world.interruption("[Request interrupted by user]"));
    world.prompt("prompt-1", "and mind the tests").silent();
    assert_eq!(world.standing(), "implementation 3/25");
}

#[test]
fn the_report_of_a_background_task_is_no_interruption() {
    let mut world = at_three();
    let worker = json!({"type": "subagent", "status": "running"});
    world.stop_with(json!({"background_tasks": [worker]})).silent();
    world.prompt("prompt-2", "<task-notification>\n<status>completed</status>").silent();
    world.working_stop("x").goes_on();
    world.prompt("prompt-3", "<task-notification>\n<status>completed</status>").silent();
    assert_eq!(world.standing(), "implementation 4/25");
}

#[test]
fn after_esc_the_report_of_a_background_task_does_not_take_the_loop_up() {
    let mut world = at_three();
    world.transcribe(&world.interruption("[Request interrupted by user]"));
    let report = "<task-notification>\n<status>completed</status>";
    let message = world.prompt("prompt-2", report).message();
    assert!(message.contains("paused at 3/25 (interrupted)"), "{message}");
    world.stop("They are done.").silent();
}

#[test]
fn a_prompt_while_workers_run_is_the_persons_and_keeps_the_loop() {
    let mut world = at_three();
    let worker = json!({"type": "subagent", "status": "running"});
    world.stop_with(json!({"background_tasks": [worker]})).silent();
    world.prompt("prompt-2", "how far are they?").silent();
    assert_eq!(world.standing(), "implementation 3/25");
}

#[test]
fn a_usage_limit_rests_the_loop_and_other_api_errors_are_a_crash() {
    for (error, cause) in
        [("rate_limit", "rate_limited"), ("billing_error", "rate_limited"), ("unknown", "crashed")]
    {
        let mut world = at_three();
        let members = json!({"error": error, "last_assistant_message": "API Error: 429"});
        world.event("ralph-stop-hook", "StopFailure", members).silent();
        assert_eq!(world.standing(), format!("paused 3/25 {cause}"));
        let message = world.prompt("prompt-2", "hello").message();
        assert!(message.contains(&format!("paused at 3/25 ({cause})")), "{message}");
        world.stop("x").silent();
        world.prompt("prompt-3", "hello").silent();
    }
}
