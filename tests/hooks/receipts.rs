//! Completion is evidence: the token is a request, and receipts decide.

use crate::world::{Ran, World};
use ralph_test_support::place_executable;
use serde_json::{Value, json};
use std::fs;

const TOKEN: &str = "RALPH_COMPLETE";

/// A loop with one criterion: the file `src/done.c` holds the word `yes`.
fn looping() -> World {
    World::looping("--ac \"done says yes=grep -q yes src/done.c\"")
}

#[track_caller]
fn refused(world: &World, ran: &Ran) -> String {
    let reason = world.step(ran);
    assert!(reason.lines().next().unwrap().contains("completion refused"), "{reason}");
    assert!(reason.contains("Completion was requested and is refused"), "{reason}");
    reason
}

fn receipt(world: &World) -> Value {
    world.state()["acceptance_criteria"][0]["receipt"].clone()
}

#[test]
fn a_request_runs_the_criteria_and_is_granted_when_all_hold() {
    let world = looping();
    let reason = refused(&world, &world.stop(TOKEN));
    assert!(reason.contains("- AC-1 failed (exit code 2): `grep -q yes src/done.c`"), "{reason}");
    assert!(reason.contains("AC-1 printed last:\ngrep: src/done.c: No such file"), "{reason}");
    assert_eq!(world.standing(), "implementation 1/25");
    world.write("src/done.c", "yes\n");
    let said = world.stop(TOKEN).ends("Ralph: done in 2 turns").message();
    let proven = "grep -q yes src/done.c passes; it fails without the change.";
    assert!(said.ends_with(proven), "{said}");
    assert_eq!(world.ending(), "complete");
    let archived = &world.archived()[0];
    let receipt = &archived["acceptance_criteria"][0]["receipt"];
    assert_eq!((&receipt["passed"], &receipt["exit_code"]), (&json!(true), &json!(0)));
    assert_eq!(receipt["tree_before"], receipt["tree_after"]);
}

#[test]
fn a_request_that_no_run_supports_is_refused_once_and_then_ends_without_proof() {
    for (written, refusal, ending) in [
        (None, "nothing was changed since the start", "nothing was changed: no file of the tree"),
        (
            Some("src/a.c"),
            "the tests pass, but they pass without your change, too",
            "nothing broke, and no test sees the change (1 file changed)",
        ),
    ] {
        let world = World::looping("--ac \"it=grep -q one tracked\"");
        written.inspect(|path| world.write(path, "1"));
        let line = world.stop(TOKEN).goes_on();
        assert!(line.contains("completion refused") && line.contains(refusal), "{line}");
        assert_eq!(world.standing(), "implementation 1/25");
        world.stop(TOKEN).ends(&format!("Ralph: done, without proof: {ending}"));
        assert_eq!(world.ending(), "complete_unverified");
    }
}

#[test]
fn on_the_last_iteration_and_where_only_tests_were_added_the_second_answer_comes_at_once() {
    let world = World::looping("--max-iterations 1 --ac \"it=grep -q one tracked\"");
    world.stop("Not yet.").goes_on();
    world.stop(TOKEN).ends("Ralph: done, without proof: nothing was changed");
    let world = World::looping("--ac \"it=grep -q one tracked\"");
    world.write("tests/a.c", "1");
    world.stop(TOKEN).ends("Ralph: done, without proof: only tests were added (1)");
}

#[test]
fn without_git_a_loop_is_complete_and_says_that_nothing_was_compared() {
    let world = World::without_repository();
    world.write("tracked", "one\n");
    world.start("--ac \"it=grep -q one tracked\"");
    let said = world.stop(TOKEN).ends("Ralph: done in 1 turn").message();
    let not_compared = "passes; not compared: the project is in no git repository.";
    assert!(said.ends_with(not_compared) && !said.contains("proven"), "{said}");
    assert_eq!(world.ending(), "complete");
}

#[test]
fn a_green_check_without_a_request_ends_nothing() {
    let world = looping();
    world.write("src/done.c", "yes\n");
    world.stop("All done, everything is green.").goes_on();
    assert_eq!(receipt(&world), Value::Null, "nothing was run for it");
}

#[test]
fn a_token_that_is_quoted_prefixed_fenced_or_negated_asks_for_nothing() {
    let world = looping();
    world.write("src/done.c", "yes\n");
    for message in [
        "> RALPH_COMPLETE",
        "I would say RALPH_COMPLETE",
        "not RALPH_COMPLETE",
        "```\nRALPH_COMPLETE\n```",
        "RALPH_COMPLETE is near",
        "`RALPH_COMPLETE`",
    ] {
        let reason = world.step(&world.working_stop(message));
        assert!(!reason.contains("is refused"), "{message}: {reason}");
        assert_eq!(receipt(&world), Value::Null, "{message}");
    }
}

#[test]
fn a_token_in_a_subagents_text_asks_for_nothing() {
    let world = looping();
    world.write("src/done.c", "yes\n");
    let members =
        json!({"agent_id": "a1", "agent_type": "ralph-worker", "last_assistant_message": TOKEN});
    world.event("ralph-stop-hook", "SubagentStop", members).silent();
    assert_eq!(world.standing(), "implementation 0/25");
}

#[test]
fn verified_set_by_hand_counts_for_nothing() {
    let world = looping();
    world.edit_state(|state| {
        state["acceptance_criteria"][0]["verified"] = json!(true);
    });
    refused(&world, &world.stop(TOKEN));
    assert_eq!(world.state()["acceptance_criteria"][0]["verified"], json!(false));
}

#[test]
fn an_edit_after_green_makes_the_receipt_stale_and_a_commit_does_not() {
    // The count of runs is kept where it is no part of the tree.
    let count =
        |world: &World| fs::read_to_string(world.root().join("runs")).unwrap_or_default().len();
    let world = World::new();
    let command = "printf x >> ../runs; grep -q yes src/done.c && test -f src/other.c";
    world.start(&format!("--ac \"it=sh -c '{command}'\""));
    world.write("src/done.c", "yes\n");
    refused(&world, &world.stop(TOKEN));
    assert_eq!(count(&world), 1);
    world.write("src/other.c", "1");
    world.edit_state(|state| state["phase"] = json!("implementation"));
    let status = world.ralph(&["verify"]);
    assert!(status.success, "{}", status.text);
    assert_eq!(count(&world), 2);
    world.git("add -A");
    world.git("commit -q -m all");
    assert!(world.ralph(&["status"]).text.contains("AC-1  passes"), "good after the commit");
    world.stop(TOKEN).ends("Ralph: done in ");
    assert_eq!(count(&world), 3, "a help spares the proof no run");

    let world = looping();
    world.write("src/done.c", "yes\n");
    assert!(world.ralph(&["verify"]).success);
    world.write("src/done.c", "no\n");
    let reason = refused(&world, &world.stop(TOKEN));
    assert!(reason.contains("AC-1 failed (exit code 1)"), "it was run again: {reason}");
    assert!(reason.contains("AC-1 held"), "{reason}");
    assert!(reason.contains("is red now; changed since: src/done.c."), "{reason}");
}

#[test]
fn a_completion_on_the_last_iteration_is_complete() {
    let world = World::looping("--max-iterations 1 --ac \"it=grep -q yes src/done.c\"");
    world.working_stop("working").goes_on();
    world.write("src/done.c", "yes\n");
    world.stop(TOKEN).ends("Ralph: done in 2 turns");

    let world = World::looping("--max-iterations 1 --ac \"it=grep -q yes src/done.c\"");
    world.working_stop("working").goes_on();
    world.stop(TOKEN).ends("Ralph: stopped after 2 turns, ");
}

#[test]
fn the_criteria_of_a_loop_that_met_its_bound_can_still_be_run() {
    let world = World::looping("--max-iterations 1 --ac \"done says yes=grep -q yes src/done.c\"");
    world.working_stop("Not yet.").goes_on();
    world.write("src/done.c", "yes\n");
    let said = world.stop("It is written, and I forgot to say so.");
    let said = said.ends("Ralph: stopped after 2 turns, ").out();
    let archived = world.archived()[0].clone();
    let id = archived["loop_id"].as_str().unwrap().to_owned();
    assert!(said.contains("The criterion holds."), "{said}");
    let verified = world.ralph(&["verify", "--loop", &id]);
    assert!(verified.success && verified.text.ends_with("It holds.\n"), "{verified:?}");
    let archived = world.archived()[0].clone();
    assert_eq!(archived["acceptance_criteria"][0]["verified"], true);
    assert_eq!(archived["ending"]["kind"], "max_iterations", "it ended as it ended");
    assert!(world.ralph(&["replay", &id]).success);
}

#[test]
fn a_loop_without_criteria_and_the_rule_of_the_token_end_unverified() {
    World::looping("").stop(TOKEN).ends("Ralph: done, without proof");
    let world = World::looping("--completion token --ac \"it=grep -q yes src/done.c\"");
    world.stop(TOKEN).ends("Ralph: done, without proof");
    let receipt = world.archived()[0]["acceptance_criteria"][0]["receipt"].clone();
    assert_eq!(receipt["passed"], false, "its ending states which criteria hold");
}

#[test]
fn the_same_failure_three_times_is_called_so() {
    let world = looping();
    for n in 0..2 {
        world.write("other", &n.to_string());
        refused(&world, &world.stop(TOKEN));
    }
    world.write("other", "again");
    let message =
        world.stop(TOKEN).ends("Ralph: stalled: completion was requested 3 times").message();
    assert!(
        message.contains("The criterion does not hold: AC-1 fails: grep: src/done.c: "),
        "{message}"
    );
}

#[test]
fn going_back_and_forth_is_called_a_cycle() {
    let world = World::looping("");
    for text in ["a", "b", "a"] {
        world.write("file", text);
        world.stop("trying").goes_on();
    }
    world.write("file", "b");
    world.stop("trying").ends("Ralph: stalled: the work goes round in a circle");
}

#[test]
fn one_long_task_with_real_edits_is_never_called_stalled() {
    let world = looping();
    for n in 0..12 {
        world.write("src/long.rs", &"line\n".repeat(n + 1));
        world.stop("still at it").goes_on();
    }
}

#[test]
fn a_check_that_rewrites_files_is_named_with_the_file() {
    let world = World::new();
    world.write("gen.txt", "");
    world.start("--ac \"gen=date +%N > gen.txt; test -s gen.txt\"");
    let reason = refused(&world, &world.stop(TOKEN));
    assert!(reason.contains("AC-1 changes gen.txt each time it runs"), "{reason}");
    assert!(reason.contains("receipt_ignore"), "{reason}");
}

#[test]
fn a_report_that_a_command_makes_anew_each_time_is_no_change() {
    let world = World::looping(
        "--ac 'lint=test -f src/done.c' --ac \"covered=grep -q yes src/done.c && date +%N > coverage.txt\"",
    );
    world.write("src/done.c", "yes\n");
    world.stop(TOKEN).ends("Ralph: done in ");
}

/// The report leaves no receipt stale, so no receipt counts without a run.
#[test]
fn with_a_report_that_is_made_anew_every_criterion_runs_at_each_request() {
    let world = World::looping(
        "--ac 'good=! grep -q bad report.txt' --ac \"made=date +%N > report.txt; test -d src\"",
    );
    world.write("src/done.c", "yes\n");
    let reason = refused(&world, &world.stop(TOKEN));
    assert!(reason.contains("without your change"), "{reason}");
    world.write("report.txt", "bad\n");
    world.tool("Write", json!({"file_path": world.project().join("report.txt")}));
    let reason = refused(&world, &world.stop(TOKEN));
    assert!(reason.contains("AC-1 failed"), "{reason}");
}

#[test]
fn a_check_that_writes_the_same_each_time_is_a_fixed_point_and_holds() {
    let world = World::looping("--ac \"fmt=grep -q yes src/done.c && echo x > gen.txt\"");
    world.write("src/done.c", "yes\n");
    world.stop(TOKEN).ends("Ralph: done in ");
}

#[test]
fn files_that_receipts_ignore_make_none_stale() {
    let world = World::new();
    world.settings("receipt_ignore = [\"*.log\"]\n");
    world.start("--ac \"it=date +%N > run.log && grep -q yes src/done.c\"");
    world.write("src/done.c", "yes\n");
    world.stop(TOKEN).ends("Ralph: done in ");
}

#[test]
fn criteria_that_were_changed_after_the_start_are_not_run() {
    let world = looping();
    world.write("src/done.c", "no\n");
    world.edit_state(|state| {
        state["acceptance_criteria"][0]["verification_command"] =
            json!("touch src/ran.c; test -e src/done.c");
    });
    let reason = refused(&world, &world.stop(TOKEN));
    assert!(reason.contains("not those that the person agreed to"), "{reason}");
    assert!(!world.project().join("src/ran.c").exists());
    let verify = world.ralph(&["verify"]);
    assert!(!verify.success && verify.text.contains("ralph criteria accept"), "{}", verify.text);
    assert!(!world.ralph(&["criteria", "accept"]).success, "the model may not");
    assert!(world.elsewhere(&["criteria", "accept"]).success);
    world.stop(TOKEN).ends("Ralph: done in ");
}

#[test]
fn a_loop_that_is_blocked_rests_until_a_person_has_acted() {
    let world = looping();
    let said = world.ralph(&["blocked", "create the account"]);
    assert!(said.success, "{}", said.text);
    let message = world.stop("I cannot go on.").message();
    assert!(message.contains("(blocked_on_human): create the account"), "{message}");
    assert_eq!(world.standing(), "paused 0/25 blocked_on_human");
    world.stop("x").silent();
}

#[test]
fn a_command_that_hangs_ends_with_the_time_for_a_request_and_is_said_to_have_timed_out() {
    let world = World::new();
    world.settings("verify_seconds = 1\n");
    world.start("--ac \"hang=tail -f /dev/null\"");
    let reason = refused(&world, &world.stop(TOKEN));
    let line = reason.lines().next().unwrap();
    assert!(line.ends_with("next: fix tail -f /dev/null: timed out after 1 s"), "{line}");
    assert!(reason.contains("- AC-1 timed out after 1 s: `tail -f /dev/null`"), "{reason}");
    assert!(reason.contains("did not finish in the time"), "{reason}");
    // Another request has no more time for it, so it is not run again on the same files.
    let first = receipt(&world);
    refused(&world, &world.stop(TOKEN));
    assert_eq!(receipt(&world), first);
}

#[test]
fn a_command_that_passes_its_own_limit_or_is_killed_is_said_to_be_so() {
    for (command, settings, how) in [
        ("tail -f /dev/null", "command_seconds = 1\n", "timed out after 1 s"),
        ("kill -9 $$", "", "killed by signal 9"),
        ("kill $$", "", "killed by signal 15"),
    ] {
        let world = World::new();
        world.settings(settings);
        world.start(&format!("--ac \"it={command}\""));
        let reason = refused(&world, &world.stop(TOKEN));
        let line = reason.lines().next().unwrap();
        assert!(line.ends_with(&format!("next: fix {command}: {how}")), "{line}");
        assert!(reason.contains(&format!("- AC-1 {how}: `{command}`")), "{reason}");
    }
}

#[test]
fn a_program_that_is_missing_is_said_first() {
    let world = World::new();
    world.write("check.sh", "echo running it\nno-such-runner --all\n");
    world.start("--ac \"it=sh check.sh\"");
    let reason = refused(&world, &world.stop(TOKEN));
    // The words between depend on the shell.
    let says = |line: &str| line.contains("no-such-runner: ") && line.ends_with("not found");
    let mut lines = reason.lines();
    assert!(lines.next().is_some_and(says), "{reason}");
    let first = lines.next().and_then(|line| line.strip_prefix("AC-1 fails: "));
    assert!(first.is_some_and(says), "{reason}");
}

#[test]
fn a_command_that_was_left_too_little_time_runs_again_on_the_same_files() {
    let world = World::new();
    world.settings("verify_seconds = 5\n");
    world.write("one.sh", "sleep 0.7; grep -q one tracked\n");
    let go = world.root().join("go");
    let two = format!("test -e {} || tail -f /dev/null; grep -q yes src/done.c\n", go.display());
    world.write("two.sh", &two);
    world.start("--ac \"one=sh one.sh\" --ac \"two=sh two.sh\"");
    world.write("src/done.c", "yes\n");
    let reason = refused(&world, &world.stop(TOKEN));
    assert!(reason.contains("- AC-2 timed out after "), "{reason}");
    fs::write(go, "").unwrap();
    world.stop(TOKEN).ends("Ralph: done in ");
}

#[test]
fn without_the_neighbour_nothing_is_proven_and_the_loop_goes_on() {
    let world = looping();
    world.write("src/done.c", "yes\n");
    let alone = world.root().join("alone");
    fs::create_dir(&alone).unwrap();
    let hook = alone.join("ralph-stop-hook");
    place_executable(crate::world::executable("ralph-stop-hook").as_ref(), &hook);
    let payload = world.payload("Stop", json!({"last_assistant_message": TOKEN}));
    let command = world.wrapped(&[hook.to_str().unwrap()]);
    let ran = crate::world::run(command, "ralph-stop-hook", payload.to_string().as_bytes());
    let reason = refused(&world, &ran);
    assert!(reason.contains("could not find"), "{reason}");
}

/// How often a script ran that writes a letter outside the tree each time.
fn runs(world: &World) -> usize {
    fs::read_to_string(world.root().join("runs")).unwrap_or_default().lines().count()
}

#[test]
fn a_run_shows_how_it_goes_on() {
    let world = looping();
    world.write("src/done.c", "yes\n");
    let said = world.ralph(&["verify"]);
    assert!(
        said.text.starts_with("AC-1  runs  grep -q yes src/done.c\nAC-1  passes  "),
        "{}",
        said.text
    );
}

#[test]
fn a_check_that_failed_and_passed_on_one_tree_must_pass_twice_in_a_row() {
    let world = World::new();
    world.write("check.sh", "echo x >> ../runs; test $(wc -l < ../runs) -gt 1\n");
    world.start("--ac \"it=sh check.sh\"");
    assert!(!world.ralph(&["verify"]).success);
    let said = world.ralph(&["verify"]);
    assert!(said.success && said.text.contains("AC-1  flaky"), "{}", said.text);
    assert_eq!(runs(&world), 3, "one failure and two passes");
}

#[test]
fn fewer_tests_than_at_the_start_do_not_hold_until_a_person_takes_them() {
    let world = World::new();
    let summary = |n: u32| {
        let line = "0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        let text = format!("running {n} tests\n\ntest result: ok. {n} passed; {line}\n");
        fs::write(world.root().join("summary"), text).unwrap();
        world.write("src/changed.c", &n.to_string());
    };
    world.write("check.sh", "test -s src/changed.c && cat ../summary\n");
    world.start("--ac \"it=sh check.sh\"");
    summary(3);
    assert!(world.ralph(&["verify"]).success);
    summary(2);
    let reason = refused(&world, &world.stop(TOKEN));
    assert!(reason.contains("AC-1 ran 2 tests, and 3 at the start"), "{reason}");
    let taken = world.elsewhere(&["criteria", "accept"]);
    assert!(taken.text.contains("2 tests for AC-1 instead of 3"), "{}", taken.text);
    world.stop(TOKEN).ends("Ralph: done in ");
}

#[test]
fn a_criterion_that_names_paths_is_stale_only_by_them() {
    let world = World::new();
    world.write("check.sh", "echo x >> ../runs; test -s src/a\n");
    let plan = json!({"prompt": "do it", "acceptance_criteria": [{"id": "AC-1",
        "description": "it", "verification_command": "sh check.sh", "paths": ["src"]}]});
    let file = world.root().join("plan.json");
    fs::write(&file, plan.to_string()).unwrap();
    let said = world.elsewhere(&["task", "import", file.to_str().unwrap()]);
    assert!(said.success, "{}", said.text);
    world.type_command("ralph", "").context();
    world.write("src/a", "1");
    assert!(world.ralph(&["verify"]).success);
    world.write("docs", "elsewhere");
    let status = world.ralph(&["status"]).text;
    assert!(status.contains("AC-1  passes"), "{status}");
    world.write("src/a", "2");
    let status = world.ralph(&["status"]).text;
    assert!(status.contains("AC-1  stale") && status.contains("src/a"), "{status}");
    world.write("src/a", "1");
    let status = world.ralph(&["status"]).text;
    assert!(status.contains("AC-1  passes"), "{status}");
    assert_eq!(runs(&world), 1);
    world.stop(TOKEN).ends("Ralph: done in ");
    assert_eq!(runs(&world), 2, "a help spares the proof no run");
}

#[test]
fn where_it_is_asked_for_the_criteria_run_side_by_side() {
    let world = World::new();
    // Each waits for the other: one after the other they would both fail.
    for (own, other) in [("a", "b"), ("b", "a")] {
        let wait = format!("until test -e ../{other}; do sleep 0.05; done");
        world.write(&format!("{own}.sh"), &format!("touch ../{own}; timeout 30 sh -c '{wait}'\n"));
    }
    world.start("--ac \"one=sh a.sh\" --ac \"other=sh b.sh\"");
    let said = world.ralph(&["verify", "--parallel"]);
    assert!(said.success && said.text.contains("All 2 hold."), "{}", said.text);
}
