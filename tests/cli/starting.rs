//! `ralph start`: from a terminal, and from inside a session where the model types.

use crate::world::{World, start};
use ralph_test_support::place_executable;
use serde_json::json;

const PLANNED: &str = "\
planned: loop [LOOP]
  AC-1: make test
/ralph in Claude Code, in this project, or `ralph run` starts it
";

#[test]
fn without_a_session_a_loop_is_planned() {
    let world = World::new();
    let printed =
        world.ralph(&["start", "fix it", "--max-iterations=5", "--ac", "tests pass=make test"]);
    printed.check(0, PLANNED, "");
    assert_eq!(world.state()["phase"], "planned");
    assert_eq!(world.journal(), ["ralph start: planned"]);
}

const LOOK_FOR: &str = "install it, correct the name, or name a script of the project by its path \
     (`./check.sh`), which may be created later";

#[test]
fn a_criterion_whose_program_does_not_exist_starts_nothing() {
    let world = World::new();
    let criteria = ["start", "x", "--ac", "a=make test", "--ac", "b=cd web && pytset -q"];
    world.ralph(&criteria).check(
        2,
        "",
        &format!("ralph: AC-2: `pytset` was not found on PATH; {LOOK_FOR}; nothing was started\n"),
    );
    assert!(!world.path("ralph/loops").exists());
}

#[test]
fn a_script_of_the_project_may_be_written_by_the_loop() {
    let world = World::new();
    let inside = format!("b={} all", world.path("project/check").display());
    world.ralph(&["start", "x", "--ac", "a=./check.sh", "--ac", &inside]).done();
    assert_eq!(world.state()["phase"], "planned");
}

#[test]
fn the_projects_own_command_without_its_program_is_told_and_starts_all_the_same() {
    let world = World::new();
    world.write("project/package.json", r#"{"scripts": {"test": "jest"}}"#);
    let printed = world.ralph(&["start", "x"]).done();
    assert_eq!(printed.stderr, format!("AC-T: `npm` was not found on PATH; {LOOK_FOR}\n"));
    assert_eq!(world.state()["acceptance_criteria"][0]["id"], "AC-T");
}

#[test]
fn flags_alone_are_for_the_loop_that_is_planned() {
    let world = World::new();
    world.ralph(&["start", "fix it"]).done();
    world.ralph(&["start", "--max-iterations", "7"]).done();
    assert_eq!(world.state()["max_iterations"], 7);
}

#[test]
fn a_session_binds_the_loop() {
    let world = World::new();
    let printed = world.ralph(&["start", "--session", "S", "fix it"]).done();
    assert!(printed.stdout.starts_with("started: loop [LOOP]\n"), "{printed:?}");
    let state = world.state();
    assert_eq!((&state["session_id"], &state["started_by"]), (&json!("S"), &json!("person")));
    assert!(world.path("ralph/manifest/S").exists());
}

#[test]
fn a_session_id_that_could_leave_its_folder_starts_nothing() {
    let world = World::new();
    for id in ["../x", "a/b", "", ".hidden", "project-1"] {
        assert_eq!(world.ralph(&["start", "--session", id, "x"]).exit, 2, "{id}");
        assert_eq!(world.ralph(&["adopt", "--session", id]).exit, 2, "{id}");
    }
    assert!(!world.path("ralph").exists());
}

#[test]
fn settings_that_could_not_be_used_are_named() {
    let world = World::new();
    world.write("project/.claude/ralph.toml", "max_iteration = 3\n");
    let printed = world.ralph(&["start", "x"]).done();
    assert!(
        printed.stderr.contains("max_iteration") && printed.stderr.contains("Ralph ignored it")
    );
}

#[test]
fn nothing_starts_with_a_settings_file_that_is_broken_or_bounds_a_loop_by_an_unknown_key() {
    let world = World::new();
    let place = "/project/.claude/ralph.toml`";
    for (text, expected) in [
        (
            "[sandbox]\nread_denny = [\"~/x\"]\n",
            "line 2: unknown key `sandbox.read_denny`; did you mean `read_deny`?",
        ),
        ("max_minutes = 5\n[sandbx]\n", "line 2: unknown key `sandbx`; did you mean `sandbox`?"),
        ("max_minutes = \n", "line 1"),
        ("[sandbox]\nread_deny = \"x\"\n", "`[sandbox]`"),
    ] {
        world.write("project/.claude/ralph.toml", text);
        for command in [&["start", "x"][..], &["run", "x"], &["session", "run", "x"]] {
            let printed = world.ralph(command);
            assert_eq!(printed.exit, 2, "{text}: {printed:?}");
            assert!(printed.stderr.contains(place), "{text}: {printed:?}");
            assert!(printed.stderr.contains(expected), "{text}: {printed:?}");
        }
        world.ralph(&["status"]).done();
    }
    assert!(world.loop_ids().is_empty());
}

#[test]
fn a_task_on_standard_input_is_taken_as_it_is() {
    let world = World::new();
    world.run("", &["start", "-"], "say $(hi) --max-iterations 3\nand go\n").done();
    assert_eq!(world.state()["prompt"], "say $(hi) --max-iterations 3\nand go");
    assert_eq!(world.state()["max_iterations"], 25);
}

#[test]
fn nothing_planned_and_nothing_asked_is_a_no() {
    let stderr = "ralph: nothing is planned here: type /ralph \"what to do\", or plan first with \
                  /ralph-plan\n";
    World::new().ralph(&["start"]).check(1, "", stderr);
    World::new().run("", &["start", "-"], " \n").check(
        2,
        "",
        "ralph: the task is empty; say what to do, or give no task at all to go on with what was \
         planned\n",
    );
}

#[test]
fn numbers_that_are_not_plain_are_refused() {
    let world = World::new();
    for (flag, most) in
        [("--max-iterations", "10000"), ("--max-minutes", "100000"), ("--stall-limit", "1000")]
    {
        for given in ["08", "-1", "1e9", "0", "", "+5", "5 ", "99999999999999999999", "٣"] {
            let stderr = format!(
                "ralph: `{flag}` needs a whole number from 1 to {most} in plain digits, not \
                 `{given}`\n"
            );
            let printed = world.ralph(&["start", "x", flag, given]);
            if given.is_empty() {
                assert_eq!(printed.exit, 2, "{printed:?}");
            } else {
                printed.check(2, "", &stderr);
            }
        }
    }
    for arguments in [["explain", "08"], ["explain", "-1"], ["explain", "1e9"]] {
        assert_eq!(world.ralph(&arguments).exit, 2, "{arguments:?}");
    }
    assert!(!world.path("ralph").exists(), "nothing was started");
}

#[test]
fn the_model_passes_on_what_was_typed() {
    let world = World::new();
    let typed = "make it fast --max-iterations 4\n";
    let printed = world.in_session("S", &["start", "--session", "S", "-"], typed).done();
    assert!(printed.stdout.starts_with("Ralph loop [LOOP] started\nGoal: make it fast\n"));
    let state = world.state();
    assert_eq!((&state["started_by"], &state["max_iterations"]), (&json!("model"), &json!(4)));
}

#[test]
fn passing_it_on_again_changes_nothing_and_prints_the_contract() {
    let world = World::new().live_loop("S");
    let before = std::fs::read(world.state_file()).unwrap();
    let again = || world.in_session("S", &["start", "--session", "S", "-"], "something else");
    assert!(again().done().stdout.starts_with("Ralph loop [LOOP] started\nGoal: fix it\n"));
    assert_eq!(std::fs::read(world.state_file()).unwrap(), before);
    world.change_state(|state| state["iteration"] = json!(3));
    assert!(again().done().stdout.starts_with("Ralph loop [LOOP] continues at 3/25\n"));
}

#[test]
fn the_model_does_not_end_a_pause() {
    let world = World::new().live_loop("S");
    world.ralph(&["pause"]).done();
    world.in_session("S", &["start", "--session", "S", "-"], "").check(
        1,
        "",
        "ralph: loop [LOOP] is paused at 0/25; /ralph continues\n",
    );
    assert_eq!(world.state()["phase"], "paused");
}

#[test]
fn the_model_brings_no_criteria_no_words_and_no_other_session() {
    let world = World::new();
    let typed = "x --ac 'a=make test'";
    let printed = world.in_session("S", &["start", "--session", "S", "-"], typed);
    assert_eq!((printed.exit, printed.stdout.as_str()), (1, ""), "{printed:?}");
    assert!(printed.stderr.contains("--ac counts only when the user types it"), "{printed:?}");
    for arguments in [
        &["start", "--session", "S", "x"][..],
        &["start", "--session", "OTHER", "-"],
        &["start", "--session", "S", "-", "--completion", "token"],
    ] {
        let printed = world.in_session("S", arguments, "x");
        assert_eq!((printed.exit, printed.stdout.as_str()), (1, ""), "{printed:?}");
    }
    assert!(world.loop_ids().is_empty());
}

#[test]
fn a_wrong_flag_in_what_was_typed_starts_nothing() {
    let world = World::new();
    let printed = world.in_session("S", &["start", "--session", "S", "-"], "x --max-iterations 08");
    printed.check(
        2,
        "",
        "ralph: `--max-iterations` needs a whole number from 1 to 10000 in plain digits, not `08`\n",
    );
    assert!(world.loop_ids().is_empty());
}

#[test]
fn a_loop_that_nothing_would_enforce_does_not_start() {
    let world = World::new();
    // Beside the executable that was built there may be hooks; beside this copy there are none.
    let alone = world.path("alone");
    std::fs::create_dir(&alone).unwrap();
    let copy = alone.join("ralph");
    place_executable(env!("CARGO_BIN_EXE_ralph").as_ref(), &copy);
    std::fs::remove_file(world.path("bin/ralph-stop-hook")).unwrap();
    let mut command = world.command(&copy, "S");
    let printed = world.finish(start(command.args(["start", "--session", "S", "-"])), "x");
    printed.check(
        4,
        "",
        "ralph: could not find ralph-stop-hook beside `ralph` or on PATH, so nothing would enforce \
         the loop; no loop was started: run `./install.sh`, then `ralph doctor`\n",
    );
    assert!(!world.path("ralph").exists());
}

#[test]
fn a_baseline_runs_every_criterion_before_the_work_and_marks_what_holds() {
    let world = World::new();
    let printed = world
        .ralph(&[
            "start",
            "fix it",
            "--ac",
            "old=test -d .",
            "--ac",
            "new=test -f new",
            "--baseline",
        ])
        .done();
    assert!(printed.stderr.contains("AC-1 holds already: it proves nothing"), "{printed:?}");
    let state = world.state();
    assert_eq!(state["acceptance_criteria"][0]["held_before"], true);
    assert_eq!(state["acceptance_criteria"][1]["receipt"]["exit_code"], 1);
    assert_eq!(state["acceptance_criteria"][1].get("held_before"), None);
    assert_eq!(state.get("baseline_pending"), None, "it was taken");
}
