//! `ralph status`, for programs and for people.

use crate::world::World;
use serde_json::{Value, json};

/// A loop with two criteria: one that holds now, and one that does not.
fn proven_half() -> World {
    let world = World::new().under_git();
    let criteria = ["--ac", "it is there=test -f done", "--ac", "it is right=test -f right"];
    world.ralph(&[&["start", "--session", "S", "fix it"], &criteria[..]].concat()).done();
    world.write("project/done", "yes\n");
    assert_eq!(world.ralph(&["verify"]).exit, 1);
    world
}

fn only_loop(world: &World) -> Value {
    world.ralph(&["status", "--json"]).done().json()["loops"][0].take()
}

/// On one line: where the lines end depends on the length of ids and paths.
fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn states(world: &World) -> Vec<String> {
    let criteria = only_loop(world)["criteria"].take();
    criteria.as_array().unwrap().iter().map(|it| it["state"].as_str().unwrap().into()).collect()
}

#[test]
fn the_document_has_the_members_that_programs_rely_on() {
    let world = World::new().live_loop("S");
    world.change_state(|state| {
        state["acceptance_criteria"] = json!([
            {"id": "AC-T", "description": "tests", "verified": true, "verification_command": "t"}]);
        state["task_graph"] = json!([
            {"id": "T-1", "name": "a", "status": "done"}, {"id": "T-2", "name": "b"}]);
    });
    let mut document = world.ralph(&["status", "--json"]).done().json();
    for time in ["created_at", "started_at", "updated_at"] {
        assert!(document["loops"][0][time].take().is_string());
    }
    assert_eq!(
        document,
        json!({"schema_version": 1, "unreadable": [], "loops": [{
            "loop_id": "[LOOP]", "session_id": "S", "parent": null, "mode": "loop", "phase": "implementation",
            "resume_phase": null, "iteration": 0, "max_iterations": 25,
            "project_root": "[ROOT]/project", "prompt": "fix it", "completion": "verified",
            // Set by hand it counts for nothing: there is no receipt.
            "criteria": [{"id": "AC-T", "description": "tests", "command": "t", "review": null, "verified": false,
                "state": "not_run", "changed": [], "exit_code": null, "tests_run": null,
                "tests_expected": null, "tests_skipped": null, "tests_failed": null,
                "held_before": false, "turned_red": null}],
            "criteria_as_agreed": false, "baseline_pending": false,
            "tasks": {"total": 2, "done": 1, "ready": 1, "in_progress": 0, "failed": 0,
                "blocked": 0, "waiting": 0},
            "progress": {"signal": "working", "standing": 0, "same_failure": 0, "stall_limit": 3},
            "tokens": {"used": 0, "limit": null}, "cost": {"used": 0.0, "limit": null}, "minutes": {"used": 0, "limit": 480},
            "checkpoint": null, "blocked": null, "cut": null, "client": null, "workers": [], "signals": {"waiting": 0}, "ralplan": null, "session": null, "refine": null, "pause": null, "ending": null,
            "next": "the criteria are not those that were agreed to; `ralph criteria accept` takes \
                them",
            "created_at": null, "started_at": null, "updated_at": null, "started_by": "person",
            "state_file": "[ROOT]/ralph/loops/[LOOP]/state.json"}]})
    );
}

#[test]
fn every_member_of_the_document_is_explained_in_the_guide() {
    let guide = include_str!("../../docs/reference/status.md");
    let told = only_loop(&proven_half());
    let criterion = told["criteria"][0].as_object().unwrap();
    for member in told.as_object().unwrap().keys().chain(criterion.keys()) {
        assert!(
            guide.contains(&format!("`{member}`")),
            "`{member}` is not in docs/reference/status.md"
        );
    }
}

#[test]
fn a_receipt_is_compared_with_the_tree_as_it_is_now() {
    let world = proven_half();
    assert_eq!(states(&world), ["passes", "failed"]);
    world.write("project/other", "new\n");
    assert_eq!(states(&world), ["stale", "stale"]);
    let told = only_loop(&world);
    assert_eq!(told["criteria"][0]["changed"], json!(["other"]));
    assert_eq!(told["criteria"][0]["verified"], json!(false));
    std::fs::remove_file(world.path("project/other")).unwrap();
    assert_eq!(states(&world), ["passes", "failed"], "the same tree is proven again");
}

#[test]
fn where_git_fails_the_receipts_alone_speak() {
    let world = proven_half();
    world.write("project/other", "new\n");
    std::fs::remove_file(world.path("bin/git")).unwrap();
    std::os::unix::fs::symlink("/bin/false", world.path("bin/git")).unwrap();
    assert_eq!(states(&world), ["passes", "failed"]);
}

#[test]
fn looking_changes_no_state() {
    let world = proven_half();
    world.write("project/other", "new\n");
    let before = (world.state(), world.journal());
    world.ralph(&["status"]).done();
    assert_eq!((world.state(), world.journal()), before);
}

#[test]
fn people_get_aligned_rows_and_no_control_characters() {
    let world = World::new().live_loop("S");
    world.change_state(|state| {
        state["prompt"] = json!("fix\u{1b}]0;owned\u{7} it");
        state["acceptance_criteria"] = json!([
            {"id": "AC-10", "description": "a", "verification_command": "make\nrm"},
            {"id": "AC-T", "description": "tests", "verification_command": "t"}]);
        state["frozen"].take();
    });
    world.ralph(&["status"]).check(
        0,
        "[LOOP]  running  0/25\n  \
         goal        fix\\u{1b}]0;owned\\u{7} it\n  \
         project     [ROOT]/project\n  \
         session     S\n  \
         progress    no stop yet\n  \
         used        0 s of 8 h\n  \
         next        `ralph verify --loop [LOOP]` runs the criteria\n  \
         criteria    0 of 2 hold\n    \
         AC-10  not run  a  `make\\nrm`\n    \
         AC-T   not run  tests  `t`\n",
        "",
    );
}

#[test]
fn a_live_loop_says_what_holds_what_does_not_and_what_is_used_up() {
    let world = proven_half();
    world.write("project/right", "yes\n");
    world.ralph(&["verify"]).done();
    std::fs::remove_file(world.path("project/right")).unwrap();
    world.change_state(|state| {
        state["acceptance_criteria"][0]["held_before"] = json!(true);
        state["acceptance_criteria"][1]["description"] = json!("long ".repeat(12).trim());
        state["frozen"].take();
        state["checkpoint"]["at"] = json!("2026-01-31T12:00:00Z");
        state["limits"]["max_tokens"] = json!(50_000);
        state["progress"] = json!({"signal": "no_change", "left_at": "x", "standing": 2});
        state["blocked"] = json!({"what": "create the key", "at": "2026-01-31T12:00:00Z"});
    });
    let long = "long ".repeat(12);
    world.ralph(&["status"]).check(
        0,
        &format!(
            "[LOOP]  running  0/25\n  \
             goal        fix it\n  \
             project     [ROOT]/project\n  \
             session     S\n  \
             blocked     create the key\n  \
             progress    nothing changed at 2 stops in a row (of 3)\n  \
             used        0 s of 8 h, 0 of 50 k tokens\n  \
             checkpoint  1, all held at 2026-01-31 12:00:00\n  \
             note        Held already before the work, so no proof of it: AC-1.\n  \
             next        `ralph verify --loop [LOOP]` runs the criteria\n  \
             criteria    0 of 2 hold\n    \
             AC-1  stale  it is there  `test -f done`\n          \
             right changed after its last run\n          \
             held before the work began\n    \
             AC-2  stale  {}\n          \
             `test -f right`\n          \
             right changed after its last run\n",
            long.trim()
        ),
        "",
    );
    assert_eq!(world.ralph(&["verify"]).exit, 1);
    let shown = world.ralph(&["status"]).done().stdout;
    let red = "exit code 1\n          AC-2 held at checkpoint 1 and is red now; changed since: \
               right.\n";
    assert!(shown.contains(red), "{shown}");
}

#[test]
fn the_progress_of_a_loop_is_told_with_its_cause() {
    let world = World::new().live_loop("S");
    for (progress, told) in [
        (json!({"signal": "working", "left_at": "x"}), "something changed since the stop before"),
        (json!({"signal": "no_change", "standing": 1}), "nothing changed at 1 stop (of 3)"),
        (
            json!({"signal": "idle", "standing": 2, "idle": 1}),
            "nothing done and nothing changed at 2 stops in a row (of 3)",
        ),
        (json!({"signal": "cycle"}), "goes round in a circle"),
        (
            json!({"signal": "same_failure", "same_failure": 2}),
            "the same failure 2 times in a row (of 3)",
        ),
        (json!({"signal": "waiting"}), "waits for background workers"),
    ] {
        world.change_state(|state| state["progress"] = progress);
        let shown = world.ralph(&["status"]).done().stdout;
        assert!(shown.contains(&format!("  progress    {told}\n")), "{told}: {shown}");
    }
}

#[test]
fn who_comes_back_after_the_end_reads_how_it_went() {
    let world = proven_half();
    world.ralph(&["cancel"]).done();
    let shown = world.ralph(&["status"]).done().stdout;
    for part in [
        "no loop is live or planned in `[ROOT]/project`",
        "\n\n[LOOP]  cancelled  1 turn\n",
        "\n  ended       0 s ago, cancelled",
        "\n  took        ",
        "\n  achieved    0 of 2 criteria hold: AC-1 passed in `ralph verify` only; AC-2",
        "\n  next        `ralph explain --loop [LOOP]` shows the last",
        "\n    AC-2  failed  it is right  `test -f right`\n",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    assert_eq!(world.ralph(&["status", "--json"]).done().json()["loops"], json!([]));
    world.ralph(&["status", "--all"]).check(
        0,
        "LOOP                  STATE      AT      TIME     PROJECT  GOAL\n\
         [LOOP]  cancelled  1 turn  0 s ago  project  fix it\n",
        "",
    );
}

#[test]
fn what_passed_in_verify_alone_is_counted_apart_from_what_holds() {
    let shown = proven_half().ralph(&["status"]).done().stdout;
    let count = "\n  criteria    0 of 2 hold; 1 passed in `ralph verify` only\n    AC-1  passes  ";
    assert!(shown.contains(count), "{shown}");
}

#[test]
fn a_day_after_its_end_a_loop_is_no_longer_shown() {
    let world = World::new().live_loop("S");
    world.ralph(&["cancel"]).done();
    world.change_ended(|state| state["ending"]["at"] = json!("2026-01-01T00:00:00Z"));
    world.ralph(&["status"]).check(
        0,
        "no loop is live or planned in `[ROOT]/project`; type /ralph \"what to do\" in Claude Code, \
         or `ralph status --all` for all loops\n",
        "",
    );
    assert!(world.ralph(&["status", "--all"]).done().stdout.contains("  cancelled  "));
}

#[test]
fn all_loops_are_listed_one_line_each_the_newest_first() {
    let world = World::new().live_loop("S");
    let old = world.loop_id();
    world.change_state(|state| {
        state["created_at"] = json!("2026-01-31T12:00:00Z");
        state["prompt"] = json!("the first\nand more");
    });
    world.ralph(&["start", "--session", "T", "the second"]).done();
    let shown = world.ralph(&["status", "--all"]).done().stdout;
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), 3, "{shown}");
    assert!(lines[1].ends_with("project  the second"), "{shown}");
    assert!(lines[2].ends_with("project  the first and more"), "{shown}");
    let column = |word: &str, line: &str| line.find(word).unwrap();
    assert_eq!(column("running", lines[1]), column("running", lines[2]), "{shown} {old}");
}

#[test]
fn without_a_loop_it_says_what_to_do() {
    World::new().ralph(&["status"]).check(
        0,
        "no loop is live or planned in `[ROOT]/project`; type /ralph \"what to do\" in Claude Code, \
         or `ralph status --all` for all loops\n",
        "",
    );
}

#[test]
fn all_means_other_projects_and_the_archive_too() {
    let world = World::new().live_loop("S");
    world.ralph(&["cancel"]).done();
    let world = world.live_loop("T");
    world.change_state(|state| state["project_root"] = json!("/elsewhere"));
    let count = |arguments: &[&str]| -> usize {
        world.ralph(arguments).done().json()["loops"].as_array().unwrap().len()
    };
    assert_eq!(count(&["status", "--json"]), 0);
    assert_eq!(count(&["status", "--json", "--all"]), 2);
    assert_eq!(count(&["status", "--json", "--session", "T"]), 1);
}

#[test]
fn broken_and_newer_states_are_listed_with_the_reason() {
    for (text, reason) in [("{", "is broken"), ("{\"schema_version\": 2}", "newer Ralph")] {
        let world = World::new().live_loop("S");
        world.write_state(text);
        let document = world.ralph(&["status", "--json"]).done().json();
        let told = document["unreadable"][0]["reason"].as_str().unwrap_or_default().to_owned();
        assert!(told.contains(reason), "{document}");
        assert_eq!(document["loops"], Value::Array(Vec::new()));
        let shown = world.ralph(&["status"]).done().stdout;
        assert!(shown.starts_with("unreadable  ") && shown.contains(reason), "{shown}");
        assert_eq!(std::fs::read_to_string(world.state_file()).unwrap(), text);
        assert_eq!(world.ralph(&["status", "--session", "S"]).exit, 3);
    }
}

#[test]
fn a_turn_that_was_cut_without_an_event_is_seen_in_the_transcript() {
    let world = World::new().live_loop("S");
    let folder = world.path("project").display().to_string().replace(['/', '.', '_'], "-");
    let transcript = format!("home/.claude/projects/{folder}/S.jsonl");
    let row = |time: &str| {
        let text = "[Request interrupted by user]";
        let before = json!({"type": "assistant", "uuid": "row-1", "timestamp": time});
        let row = json!({"type": "user", "uuid": "row-2", "parentUuid": "row-1", "sessionId": "S",
            "timestamp": time,
            "message": {"role": "user", "content": [{"type": "text", "text": text}]}});
        world.write(&transcript, &format!("{before}\n{row}\n"));
    };
    world.change_state(|state| {
        state["turn"] = json!({"prompt_id": "p", "at": "2026-01-01T00:00:05Z"});
    });
    row("2026-01-01T00:00:04Z");
    assert_eq!(only_loop(&world)["cut"], Value::Null, "that was a turn before");
    row("2026-01-01T00:00:06Z");
    assert_eq!(only_loop(&world)["cut"], "interrupted");
    let shown = folded(&world.ralph(&["status"]).done().stdout);
    assert!(shown.contains("idle interrupted; /ralph in its session continues"), "{shown}");
    assert!(!shown.contains("running"), "{shown}");
    world.ralph(&["pause"]).done();
    world.change_state(|state| state["phase"] = json!("paused"));
    assert_eq!(only_loop(&world)["cut"], Value::Null, "the pause says it");
}

#[test]
fn verify_runs_the_criteria_of_the_loop_that_has_just_ended() {
    let world = proven_half();
    world.ralph(&["cancel"]).done();
    let printed = world.ralph(&["verify"]);
    assert_eq!(printed.exit, 1, "{printed:?}");
    let said =
        "loop [LOOP] ended 0 s ago (cancelled); its criteria run on the files as they are now";
    assert!(printed.stderr.contains(said), "{printed:?}");
    assert!(printed.stdout.ends_with("1 of 2 hold.\n"), "{printed:?}");
    world.change_ended(|state| state["ending"]["at"] = json!("2026-01-01T00:00:00Z"));
    let printed = world.ralph(&["verify"]);
    assert!(printed.stderr.contains("no loop is live in"), "{printed:?}");
}
