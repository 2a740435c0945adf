//! The loop in the real client without a terminal: how it goes on, what it counts, how it ends.
//!
//! Every hook here was registered by the built `ralph install`, skills with their own hooks included, so each
//! event starts its hook twice, as it does for a person.

use ralph_test_support::fake_api::{Gate, Script, ScriptedTurn, StandIn};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::Test;
use crate::kept::{
    TOKEN, continuations, installed, new_file, positions, session_entries, the_archived, the_ended,
    the_live, token_after, what_hooks_said, works,
};
use crate::support::PATIENCE;

pub(crate) const TESTS: &[Test] = tests![
    a_typed_command_starts_a_loop_that_goes_on_exactly_as_often_as_it_may,
    twelve_blocks_with_tools_between_never_meet_the_clients_cap_and_the_token_ends_them,
    a_token_in_a_quote_or_a_fence_ends_nothing_and_alone_it_does,
    stops_without_any_change_end_the_loop_as_stalled,
    an_untracked_file_at_each_stop_is_progress,
    a_commit_at_each_stop_is_progress,
    a_session_beside_a_loop_in_the_same_repository_ends_at_its_first_stop,
    a_loop_goes_on_after_the_shell_has_moved_into_a_folder,
    a_loop_that_ran_out_of_turns_goes_on_by_itself_when_it_is_resumed,
    a_state_of_the_pattern_is_taken_over_in_place_by_a_typed_ralph,
];

fn a_typed_command_starts_a_loop_that_goes_on_exactly_as_often_as_it_may() {
    let world = installed();
    let stand_in = StandIn::start(works(new_file, |turn| format!("Step {turn}."))).unwrap();
    let run = world.client(&stand_in).prompt("/ralph \"Tidy the attic\" --max-iterations 5");
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(run.result()["result"], "Step 6.");
    let kept = the_ended(&world);
    assert_eq!(kept.ending(), "max_iterations at 5/5");
    assert_eq!(kept.state["session_id"], run.session_id());
    assert_eq!(kept.state["started_by"], "person");
    assert_eq!(kept.n_decisions("Stop", "go on"), 5);
    let requests = stand_in.requests();
    let first = requests[0].news();
    assert!(first.contains(&kept.started_line()), "{first}");
    assert!(first.contains("Goal: Tidy the attic"), "{first}");
    assert_eq!(continuations(&requests), positions(5, 5));
    assert_eq!(requests.len(), 12);
}

fn twelve_blocks_with_tools_between_never_meet_the_clients_cap_and_the_token_ends_them() {
    let world = installed();
    let stand_in = StandIn::start(works(new_file, token_after(12))).unwrap();
    world.client(&stand_in).prompt("/ralph \"Tidy the attic\"").result();
    assert_eq!(the_ended(&world).ending(), "complete_unverified at 12/25");
    assert_eq!(continuations(&stand_in.requests()), positions(12, 25));
}

fn a_token_in_a_quote_or_a_fence_ends_nothing_and_alone_it_does() {
    let world = installed();
    let said = [
        format!("I shall end with this line:\n> {TOKEN}"),
        format!("I shall end with this line:\n```\n{TOKEN}\n```"),
        format!("It is there.\n\n{TOKEN}\n"),
    ];
    let stand_in =
        StandIn::start(Script::new().turns(said.map(|text| ScriptedTurn::text(&text)))).unwrap();
    world.client(&stand_in).prompt("/ralph \"Tidy the attic\"").result();
    assert_eq!(the_ended(&world).ending(), "complete_unverified at 2/25");
    let requests = stand_in.requests();
    assert_eq!(requests.len(), 3);
    for request in &requests[1..] {
        assert!(request.news().contains("must stand alone on the last line"), "{}", request.news());
    }
}

fn stops_without_any_change_end_the_loop_as_stalled() {
    let world = installed();
    let look = works(|_| ScriptedTurn::bash("cat README.md"), |turn| format!("Look {turn}."));
    let stand_in = StandIn::start(look).unwrap();
    world.client(&stand_in).prompt("/ralph \"Tidy the attic\"").result();
    let kept = the_ended(&world);
    assert_eq!(kept.ending(), "stalled at 3/25");
    assert_eq!(kept.state["ending"]["cause"], "no_change");
    assert_eq!(kept.state["ending"]["detail"], "nothing had changed at 3 stops in a row");
    assert_eq!(stand_in.requests().len(), 8);
}

fn an_untracked_file_at_each_stop_is_progress() {
    // One stop without a change would be let pass: the limit is one.
    check_progress(|turn| ScriptedTurn::bash(&format!("echo {turn} > notes")));
}

fn a_commit_at_each_stop_is_progress() {
    check_progress(|turn| {
        ScriptedTurn::bash(&format!("echo {turn} > README.md && git commit -q -a -m 'Step {turn}'"))
    });
}

#[track_caller]
fn check_progress(work: fn(usize) -> ScriptedTurn) {
    let world = installed();
    let stand_in = StandIn::start(works(work, token_after(6))).unwrap();
    world.client(&stand_in).prompt("/ralph \"Tidy the attic\" --stall-limit 1").result();
    assert_eq!(the_ended(&world).ending(), "complete_unverified at 6/25");
}

fn a_session_beside_a_loop_in_the_same_repository_ends_at_its_first_stop() {
    let world = installed();
    let gate = Gate::new();
    let looping = Script::new()
        .turn(ScriptedTurn::text("One."))
        .turn(ScriptedTurn::held(&gate).then_text(TOKEN));
    let looping = StandIn::start(looping).unwrap();
    let script =
        Script::new().turn(ScriptedTurn::bash("echo here")).turn(ScriptedTurn::text("Answer."));
    let other = StandIn::start(script).unwrap();
    let (loop_run, other_run) = std::thread::scope(|scope| {
        let run = scope.spawn(|| world.client(&looping).prompt("/ralph \"Tidy the attic\""));
        gate.wait_until_reached(PATIENCE).unwrap();
        let other_run = world.client(&other).prompt("An ordinary question?");
        gate.open();
        (run.join().unwrap(), other_run)
    });
    assert_eq!(other_run.result()["result"], "Answer.");
    assert_eq!(other.requests().len(), 2);
    assert_eq!(what_hooks_said(&world, other_run.session_id()), <[Value; 0]>::default());
    let kept = the_ended(&world);
    assert_eq!(kept.ending(), "complete_unverified at 1/25");
    assert_eq!(kept.state["session_id"], loop_run.session_id());
    // The question asked of the transcript has an answer where a hook did speak.
    assert!(!what_hooks_said(&world, loop_run.session_id()).is_empty());
}

fn a_loop_goes_on_after_the_shell_has_moved_into_a_folder() {
    let world = installed();
    world.write("sub/kept", "");
    let work = |turn| match turn {
        1 => ScriptedTurn::bash("cd sub && touch first"),
        _ => ScriptedTurn::bash(&format!("pwd; ralph status --json; touch more-{turn}")),
    };
    let stand_in = StandIn::start(works(work, token_after(3))).unwrap();
    world.client(&stand_in).prompt("/ralph \"Tidy the attic\" --stall-limit 1").result();
    let kept = the_ended(&world);
    assert_eq!(kept.ending(), "complete_unverified at 3/25");
    assert!(world.project().join("sub/more-4").exists());
    let requests = stand_in.requests();
    assert_eq!(continuations(&requests), positions(3, 25));
    let results = requests.last().unwrap().tool_results();
    let said = &results[1].text;
    assert!(said.starts_with(&world.project().join("sub").display().to_string()), "{said}");
    assert!(said.contains(kept.state["loop_id"].as_str().unwrap()), "{said}");
}

fn a_loop_that_ran_out_of_turns_goes_on_by_itself_when_it_is_resumed() {
    let world = installed();
    let stand_in = StandIn::start(works(new_file, |turn| format!("Step {turn}."))).unwrap();
    let cut = world
        .client(&stand_in)
        .args(&["--max-turns", "3"])
        .prompt("/ralph \"Tidy the attic\" --max-iterations 9");
    let kept = the_live(&world);
    assert_eq!(kept.state["phase"], "paused", "{:#}", kept.state);
    assert_eq!(kept.state["pause"]["cause"], "host_budget", "{:#}", kept.state);
    assert_eq!(session_entries(&world), [cut.session_id()]);
    assert_eq!(kept.state["iteration"], 1);
    let stand_in = StandIn::start(
        Script::new().turn(ScriptedTurn::text("On.")).turn(ScriptedTurn::text(TOKEN)),
    )
    .unwrap();
    world.client(&stand_in).args(&["--resume", cut.session_id()]).prompt("go on").result();
    let requests = stand_in.requests();
    let first = requests[0].news();
    let id = kept.state["loop_id"].as_str().unwrap();
    assert!(first.contains(&format!("Ralph loop {id} continues at 1/9")), "{first}");
    assert!(first.contains("Goal: Tidy the attic"), "{first}");
    assert_eq!(continuations(&requests), ["2/9"]);
    assert_eq!(the_ended(&world).ending(), "complete_unverified at 2/9");
}

fn a_state_of_the_pattern_is_taken_over_in_place_by_a_typed_ralph() {
    let world = installed();
    let state = json!({
        "session_id": "5d41402abc4b2a76b9719d911017c592", "phase": "implementation",
        "max_iterations": 25, "iteration": 0, "created_at": "2026-01-02T03:04:05Z",
        "acceptance_criteria": [{"id": "AC-1", "description": "The door", "verified": false,
            "verification_command": "test -f door.txt"}],
        "task_graph": [{"id": "T-1", "name": "The door", "deps": [], "status": "completed",
            "completion_condition": "it opens", "files": ["door.txt"]}],
        "context_report": "", "stall_hashes": [], "completion_token": TOKEN, "errors": [],
    });
    let old = |name: &str, text: &str| {
        let path = world.home().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path
    };
    let path = old("ralph_state.json", &state.to_string());
    let manifest = old("ralph_session_manifest", &format!("{}\n", path.display()));
    let script = Script::new().turns([
        ScriptedTurn::text(TOKEN),
        ScriptedTurn::bash("touch door.txt"),
        ScriptedTurn::text(TOKEN),
    ]);
    let stand_in = StandIn::start(script).unwrap();
    let client = world.client(&stand_in).env("RALPH_MANIFEST", manifest.to_str().unwrap());
    let run = client.prompt("/ralph");
    let kept = the_archived(&world);
    assert_eq!(kept.state["ending"]["kind"], "complete", "{}", kept.state);
    assert_eq!(kept.state["session_id"], run.session_id());
    let requests = stand_in.requests();
    assert!(requests[0].news().contains(&kept.started_line()), "{}", requests[0].news());
    assert!(requests[1].news().contains("make test -f door.txt pass"), "{}", requests[1].news());
}
