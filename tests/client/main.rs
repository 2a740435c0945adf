//! Tests with the real client, whose model is a scripted stand-in on loopback.
//!
//! The binary runs itself again inside a network namespace that holds nothing but loopback, so that no
//! test can reach the world. Where the client or the namespace cannot be had, every test is reported as
//! ignored, loudly; with `RALPH_REQUIRE_CLIENT=1` that is a failure.
//!
//! All of them take minutes. Without that variable and without a filter only `FEW` run, to see that Ralph and the client
//! still understand each other.

// Tests start the programs they test, and clippy does not see that a binary without harness is a test.
#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

/// The tests of a file by their names; one that is left out is dead code, which the lints refuse.
macro_rules! tests {
    ($($name:ident),* $(,)?) => { &[$((stringify!($name), $name)),*] };
}

mod builds;
mod checks;
mod context;
mod defaults;
mod driver;
mod every_tool;
mod evidence;
mod facts;
mod first_minutes;
mod install;
mod interference;
mod isolation;
mod kept;
mod loops;
mod mods;
mod notify;
mod offered;
mod outside;
mod parallel;
mod parallel_run;
mod person;
mod plan_rounds;
mod planners;
mod plans;
mod plugin;
mod ralplan;
mod ralplan_run;
mod refining;
mod refining_beside;
mod refining_typed;
mod registrations;
mod review;
mod rig;
mod round_mods;
mod run;
mod sandbox;
mod session;
mod session_run;
mod shared;
mod signals;
mod speaker;
mod statusline;
mod tampered;
mod typed_start;
mod unreadable;
mod usage;
mod versions;
mod waking;
mod worktree_base;
mod worth;

use ralph_test_support::{self as support, checks::tools, orchestrated, round};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

/// A client is heavy: two at a time, whatever the machine has.
const N_THREADS: usize = 2;

/// What runs where the client is not required.
const FEW: [&str; 5] = [
    "rig::a_blocking_stop_hook_makes_the_model_go_on_with_its_reason",
    "loops::a_token_in_a_quote_or_a_fence_ends_nothing_and_alone_it_does",
    "evidence::only_the_token_alone_asks_and_what_it_asks_is_answered_by_the_criteria",
    "interference::the_model_cannot_cancel_and_the_loop_goes_on",
    "statusline::the_clients_status_line_says_where_the_loop_stands",
];

/// What `scripts/try-client --matrix` runs with each version of the client: start, stop, cancel, sandbox,
/// review, build, notify.
const SAMPLE: [&str; 17] = [
    "versions::an_old_client_is_refused_and_any_other_starts_a_loop",
    "versions::in_print_mode_the_client_has_what_the_table_says",
    "versions::at_the_keyboard_the_client_has_what_the_table_says",
    "versions::a_cancel_typed_in_mid_turn_stops_the_loop_and_typed_again_ends_it",
    "loops::a_typed_command_starts_a_loop_that_goes_on_exactly_as_often_as_it_may",
    "loops::stops_without_any_change_end_the_loop_as_stalled",
    "evidence::only_the_token_alone_asks_and_what_it_asks_is_answered_by_the_criteria",
    "person::a_typed_loop_is_announced_goes_on_and_says_how_it_ended",
    "person::cancel_in_plain_words_in_mid_turn_cuts_the_next_tool_call",
    "person::a_queued_cancel_command_runs_at_the_next_stop_without_the_model",
    "person::interrupts::a_question_after_escape_is_answered_and_not_captured",
    "waking::in_a_terminal_a_worker_that_reports_wakes_nobody",
    "run::a_task_with_two_criteria_is_complete_after_three_fresh_sessions",
    "sandbox::a_round_cannot_leave_its_bounds_and_what_it_tried_is_told",
    "review::a_review_finds_a_planted_defect_which_is_then_fixed",
    "builds::a_diamond_is_built_in_the_order_of_what_its_tasks_need",
    "notify::a_loop_that_ends_in_a_conversation_calls_the_user_once",
];

/// Limits a run to the names in it, between commas.
const TESTS_VARIABLE: &str = "RALPH_CLIENT_TESTS";

/// Limits a run to [`SAMPLE`].
const SAMPLE_VARIABLE: &str = "RALPH_CLIENT_SAMPLE";

/// A named test.
type Test = (&'static str, fn());

fn main() -> ExitCode {
    if round::carried_out() {
        return ExitCode::SUCCESS;
    }
    if every_tool::is_server() {
        every_tool::serve();
        return ExitCode::SUCCESS;
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads = arguments.test_threads.or(Some(N_THREADS));
    if arguments.list {
        return libtest_mimic::run(&arguments, trials(|_| false)).exit_code();
    }
    if isolation::is_inside() {
        isolation::assert_only_loopback();
        let all = is_required() || arguments.filter.is_some();
        let sample = std::env::var_os(SAMPLE_VARIABLE).is_some();
        let named = std::env::var(TESTS_VARIABLE).ok();
        let left_out = |name: &str| {
            let is_asked_for = match &named {
                Some(names) => names.split(',').any(|named| named == name),
                None if sample => SAMPLE.contains(&name),
                None => all || FEW.contains(&name),
            };
            !is_asked_for || versions::needs_a_newer_client(name)
        };
        return libtest_mimic::run(&arguments, trials(left_out)).exit_code();
    }
    match install::find_client().and_then(|client| isolation::check().map(|()| client)) {
        Ok(client) => isolation::run_again_inside(&client),
        Err(missing) => without_client(&arguments, &missing),
    }
}

fn is_required() -> bool {
    std::env::var_os("RALPH_REQUIRE_CLIENT").is_some_and(|value| value == "1")
}

fn without_client(arguments: &Arguments, missing: &str) -> ExitCode {
    let required = is_required();
    eprintln!("\n{:!<100}", "");
    eprintln!(
        "!! The tests with the real client {}.",
        if required { "cannot run" } else { "are SKIPPED" }
    );
    eprintln!("!! {missing}");
    eprintln!("!! Nothing that only the real client can show has been tested.");
    eprintln!("{:!<100}\n", "");
    if required {
        eprintln!("RALPH_REQUIRE_CLIENT=1 makes this a failure.");
        return ExitCode::FAILURE;
    }
    libtest_mimic::run(arguments, trials(|_| true)).exit_code()
}

fn trials(is_ignored: impl Fn(&str) -> bool) -> Vec<Trial> {
    let groups: &[(&str, &[Test])] = &[
        ("rig", rig::TESTS),
        ("facts", facts::TESTS),
        ("first_minutes", first_minutes::TESTS),
        ("every_tool", every_tool::TESTS),
        ("checks", checks::TESTS),
        ("context", context::TESTS),
        ("defaults", defaults::TESTS),
        ("driver", driver::TESTS),
        ("parallel", parallel::TESTS),
        ("person", person::TESTS),
        ("person::interrupts", person::interrupts::TESTS),
        ("person::plans", person::plans::TESTS),
        ("plan_rounds", plan_rounds::TESTS),
        ("planners", planners::TESTS),
        ("plugin", plugin::TESTS),
        ("builds", builds::TESTS),
        ("run", run::TESTS),
        ("plans", plans::TESTS),
        ("ralplan_run", ralplan_run::TESTS),
        ("refining", refining::TESTS),
        ("refining_beside", refining_beside::TESTS),
        ("refining_typed", refining_typed::TESTS),
        ("sandbox", sandbox::TESTS),
        ("session", session::TESTS),
        ("session_run", session_run::TESTS),
        ("parallel_run", parallel_run::TESTS),
        ("loops", loops::TESTS),
        ("mods", mods::TESTS),
        ("notify", notify::TESTS),
        ("offered", offered::TESTS),
        ("outside", outside::TESTS),
        ("interference", interference::TESTS),
        ("ralplan::facts", ralplan::facts::TESTS),
        ("ralplan::dialog", ralplan::dialog::TESTS),
        ("ralplan::printed", ralplan::printed::TESTS),
        ("ralplan::wall", ralplan::wall::TESTS),
        ("ralplan::ends", ralplan::ends::TESTS),
        ("registrations", registrations::TESTS),
        ("waking", waking::TESTS),
        ("shared", shared::TESTS),
        ("signals", signals::TESTS),
        ("speaker", speaker::TESTS),
        ("typed_start", typed_start::TESTS),
        ("unreadable", unreadable::TESTS),
        ("statusline", statusline::TESTS),
        ("round_mods", round_mods::TESTS),
        ("tampered", tampered::TESTS),
        ("usage", usage::TESTS),
        ("versions", versions::TESTS),
        ("worktree_base", worktree_base::TESTS),
        ("evidence", evidence::TESTS),
        ("review", review::TESTS),
        ("evidence::checks", evidence::checks::TESTS),
        ("evidence::endings", evidence::endings::TESTS),
        ("evidence::escape", evidence::escape::TESTS),
        ("worth", worth::TESTS),
    ];
    let tests =
        groups.iter().flat_map(|(group, tests)| tests.iter().map(move |test| (group, test)));
    tests
        .map(|(group, (name, test))| {
            let name = format!("{group}::{name}");
            trial(&name, *test).with_ignored_flag(is_ignored(&name))
        })
        .collect()
}

fn trial(name: &str, test: fn()) -> Trial {
    Trial::test(name, move || {
        test();
        Ok::<(), Failed>(())
    })
}
