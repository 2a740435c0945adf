//! What each version of the client can do, asked of the client under test and compared with the table in
//! `ralph_core::protocol::client_version`, and how Ralph works with one that lacks something.

use ralph_core::protocol::client_version::{ClientFeature, ClientVersion};
use ralph_test_support::fake_api::{Gate, Script, ScriptedTurn, StandIn, ToolResult};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::OnceLock;

use crate::Test;
use crate::kept::{has_none, installed, new_file, the_archived, the_ended, the_live, works};
use crate::support::{PATIENCE, World, wait_until};

pub(crate) const TESTS: &[Test] = tests![
    an_old_client_is_refused_and_any_other_starts_a_loop,
    in_print_mode_the_client_has_what_the_table_says,
    at_the_keyboard_the_client_has_what_the_table_says,
    a_cancel_typed_in_mid_turn_stops_the_loop_and_typed_again_ends_it,
];

/// The version of the client under test.
fn version() -> ClientVersion {
    static VERSION: OnceLock<ClientVersion> = OnceLock::new();
    *VERSION.get_or_init(|| {
        let world = World::new();
        let printed = world.run(world.client_path(), &["--version"], "").exits(0).stdout;
        ClientVersion::printed(&printed).expect("the client prints its version")
    })
}

fn has(feature: ClientFeature) -> bool {
    version().has(feature)
}

/// Whether a test shows something that the client under test does not have: with a client below the
/// floor only the refusal and the table can be tried.
pub(crate) fn needs_a_newer_client(name: &str) -> bool {
    let about_the_table = [
        "versions::an_old_client_is_refused_and_any_other_starts_a_loop",
        "versions::in_print_mode_the_client_has_what_the_table_says",
        "versions::at_the_keyboard_the_client_has_what_the_table_says",
    ];
    let needs = |tests: &[&str]| tests.iter().any(|test| name.starts_with(test));
    !about_the_table.contains(&name)
        && (!has(ClientFeature::Conversation)
            || NEED.iter().any(|(feature, tests)| !has(*feature) && needs(tests))
            || WRITTEN_FOR.iter().any(|(since, tests)| version() < *since && needs(tests)))
}

/// The tests of a feature, by the beginning of their names.
const NEED: &[(ClientFeature, &[&str])] = &[
    (
        ClientFeature::CutsTurn,
        &[
            "interference::a_cancel_from_another_terminal_cuts_the_turn",
            "parallel::a_cancel_",
            "parallel::a_typed_cancel_",
            "person::a_queued_cancel_command_cuts_a_turn",
            "signals::a_stop_while_a_tool_runs",
        ],
    ),
    (
        ClientFeature::PromptInTurn,
        &[
            "person::cancel_in_plain_words_in_mid_turn",
            "person::pause_in_plain_words_in_mid_turn",
            "ralplan::dialog::a_typed_cancel_ends_it",
        ],
    ),
    // It kills the process that the variable names.
    (ClientFeature::NamesItself, &["refining::a_client_that_is_killed"]),
    (
        ClientFeature::MissingHookRefuses,
        &["facts::a_missing_hook_blocks", "interference::without_the_prompt_hook"],
    ),
    (ClientFeature::Sandbox, &["notify::a_loop_that_a_hook_ends", "outside::", "sandbox::"]),
];

/// Tests that depend on what only the tests need: on the client's own words, dialogs, tools and files as the first of
/// these measured versions has them, by the beginning of their names. Ralph does not depend on them.
const WRITTEN_FOR: &[(ClientVersion, &[&str])] = &[
    (
        ClientVersion(2, 1, 250),
        &[
            // An older one changes no file that the model has not read, and asks no hook.
            "evidence::verified_written_into_the_state",
            "ralplan_run::an_adjustment_goes_to_a_new_planner",
            "session::a_model_that_does_the_work_itself",
            "session_run::an_agent_that_leaves_its_part",
            // Workers in a terminal, a kill of the client by its shell, and the place of the status line.
            "builds::what_a_client_leaves_open",
            "parallel::six_tasks_in_two_waves",
            "ralplan::facts::in_a_terminal_agents",
            "statusline::the_clients_status_line",
        ],
    ),
    (
        ClientVersion(2, 1, 300),
        &[
            // The rows of a stop in the transcript, and the words of a refused permission.
            "builds::what_nobody_can_permit",
            "driver::a_call_that_would_prompt",
            "driver::an_overloaded_api",
            "registrations::plugin_and_front_matter",
            "registrations::settings_and_",
            // A compaction at the size that the test gives, dialogs and plan mode.
            "ralplan::dialog::a_dismissed_question",
            "ralplan::dialog::in_plan_mode_the_critic",
            "ralplan::ends::a_compaction",
            "ralplan::facts::in_plan_mode_a_subagent",
            "signals::a_compaction",
        ],
    ),
    (
        ClientVersion(2, 1, 328),
        &[
            // Which tools there are, and the form of their list in the program.
            "every_tool::no_monitor",
            "every_tool::the_guards_table_has_every_name",
            "plugin::the_clients_own_validation",
            "ralplan::dialog::proceed_ends_it",
            "ralplan::facts::a_question_is_answered",
            "ralplan::facts::in_plan_mode_and_in_auto_mode",
        ],
    ),
];

/// Fails unless the result of a tool call is the refusal of a hook. Since some version after 2.1.275 the client puts
/// the hook's event before the reason.
#[track_caller]
pub(crate) fn assert_refused(result: &ToolResult, what: &str) {
    let named = result.text.starts_with("PreToolUse:") || version() < ClientVersion(2, 1, 300);
    assert!(result.is_error && named, "{what}: {}", result.text);
}

fn an_old_client_is_refused_and_any_other_starts_a_loop() {
    let starts = has(ClientFeature::Conversation);
    let world = installed();
    let stand_in = StandIn::start(works(new_file, |turn| format!("Step {turn}."))).unwrap();
    let run = world.client(&stand_in).prompt("/ralph \"Tidy the attic\" --max-iterations 1");
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(!stand_in.requests().is_empty(), starts);
    assert_eq!(has_none(&world), !starts);
    assert_eq!(has(ClientFeature::Headless), starts, "both have one floor");
    if starts {
        assert_eq!(the_ended(&world).ending(), "max_iterations at 1/1");
        return;
    }
    let task = ["run", "Write one", "--ac", "half=test -f one"];
    let refused = world.ralph_with_client(&stand_in, &task);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert!(refused.stderr.contains("is too old for headless rounds"), "{refused:?}");
    assert!(stand_in.requests().is_empty() && has_none(&world));
    let shown = world
        .terminal(&stand_in, &[])
        .submit("/ralph \"Tidy the attic\"")
        .wait_for("too old")
        .screen();
    assert!(shown.contains("claude update"), "{shown}");
}

fn in_print_mode_the_client_has_what_the_table_says() {
    let check = |feature: ClientFeature, found: bool| {
        assert_eq!(found, has(feature), "{} with {}", feature.row().name, version());
    };
    let world = World::new();
    let stop = world.probe("Stop", "");
    stop.answer(&[context("Stop", "GO ON")]);
    let stand_in = StandIn::start(Script::new().repeat(ScriptedTurn::text("x"))).unwrap();
    let run = world.client(&stand_in).prompt("Work.");
    check(ClientFeature::OneCopy, stand_in.requests().len() == 2);
    check(ClientFeature::Cost, run.result()["total_cost_usd"].as_f64().is_some());
    let names_prompt = stop.calls()[0]["prompt_id"].is_string();
    check(ClientFeature::Conversation, names_prompt);
    check(ClientFeature::Headless, names_prompt);

    let world = World::new();
    let denial = json!({"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "NO"});
    world
        .probe("PreToolUse", "")
        .answer(&[json!({"continue": false, "stopReason": "NO", "hookSpecificOutput": denial})]);
    let script =
        Script::new().turn(ScriptedTurn::bash("touch never")).repeat(ScriptedTurn::text("x"));
    let stand_in = StandIn::start(script).unwrap();
    world.client(&stand_in).prompt("Work.");
    assert!(!world.project().join("never").exists());
    check(ClientFeature::CutsTurn, stand_in.requests().len() == 1);

    let world = World::new();
    world.skill("ralph", "---\nname: ralph\ndescription: A skill\n---\nBody: $ARGUMENTS\n");
    let missing = json!({"type": "command", "command": "/nonexistent/hook", "args": [], "onFailure": "block"});
    world.hook("UserPromptExpansion", "^ralph$", missing);
    let stand_in = StandIn::start(Script::new().repeat(ScriptedTurn::text("x"))).unwrap();
    world.client(&stand_in).prompt("/ralph x");
    check(ClientFeature::MissingHookRefuses, stand_in.requests().is_empty());

    let world = World::new();
    let hook = world.root().join("probes/environment.sh");
    fs::write(&hook, format!("#!/bin/sh\nenv >'{}'\n", world.root().join("seen").display()))
        .unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    world.hook("Stop", "", json!({"type": "command", "command": hook, "args": []}));
    let stand_in = StandIn::start(Script::new().repeat(ScriptedTurn::text("x"))).unwrap();
    world.client(&stand_in).prompt("Work.");
    let environment = fs::read_to_string(world.root().join("seen")).unwrap();
    let agent = environment.lines().find_map(|line| line.strip_prefix("AI_AGENT=")).unwrap();
    assert_eq!(ClientVersion::of_agent(agent), Some(version()), "a hook learns the version");
    check(ClientFeature::NamesItself, environment.contains("\nCLAUDE_PID="));
}

fn context(event: &str, text: &str) -> serde_json::Value {
    json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})
}

fn at_the_keyboard_the_client_has_what_the_table_says() {
    let world = World::new();
    let prompts = world.probe("UserPromptSubmit", "");
    let gate = Gate::new();
    let script = Script::new()
        .turn(ScriptedTurn::held(&gate).then_text("Worked."))
        .repeat(ScriptedTurn::text("Served."));
    let stand_in = StandIn::start(script).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit("Work.");
    gate.wait_until_reached(PATIENCE).unwrap();
    terminal.submit("A second line");
    let queued = || world.transcript().iter().any(|row| row["content"] == "A second line");
    assert!(wait_until(PATIENCE, queued), "{:#?}", world.transcript());
    let heard = || prompts.calls().len() == 2;
    let found = match has(ClientFeature::PromptInTurn) {
        true => wait_until(PATIENCE, heard),
        false => heard(),
    };
    assert_eq!(found, has(ClientFeature::PromptInTurn), "{}", version());
    gate.open();
    terminal.wait_for("Served.");
}

/// Typed while the model answers, so that a tool call follows; a client that can neither ask the hooks nor
/// cut the turn gives the words to the model.
fn a_cancel_typed_in_mid_turn_stops_the_loop_and_typed_again_ends_it() {
    let world = installed();
    let gate = Gate::new();
    let second = json!({"command": "touch never", "description": "Second"});
    let script = Script::new()
        .turn(ScriptedTurn::bash("touch first"))
        .turn(ScriptedTurn::held(&gate).then_tool("Bash", second))
        .repeat(ScriptedTurn::text("Served."));
    let stand_in = StandIn::start(script).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit("/ralph \"Tidy the attic\" --max-iterations 9");
    gate.wait_until_reached(PATIENCE).unwrap();
    terminal.submit("ralph cancel");
    let queued = || world.transcript().iter().any(|row| row["content"] == "ralph cancel");
    assert!(wait_until(PATIENCE, queued), "{:#?}", world.transcript());
    gate.open();
    if !has(ClientFeature::CutsTurn) {
        terminal.wait_for("Served.");
        assert_eq!(the_live(&world).state["phase"], "paused");
        terminal.submit("ralph cancel");
    }
    terminal.wait_for("Ralph: cancelled after ");
    assert!(the_archived(&world).ending().starts_with("cancelled"));
    assert!(!world.project().join("never").exists());
    assert!(stand_in.requests().len() <= 3, "{}", terminal.history());
}
