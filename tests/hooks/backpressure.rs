//! What the model hears after an edit: in the field that the client reads, in time, and only what is
//! new. The tools are small scripts; the real ones have tests of their own.

use crate::world::{Ran, World};
use ralph_test_support::is_running;
use serde_json::{Value, json};
use std::fs;
use std::time::{Duration, Instant};

/// Says each line with `BAD` in it.
const LINT: &str = r#"
[[backpressure.check]]
name = "lint"
files = ["*.txt"]
command = '''awk '/BAD/ { print FILENAME ":" NR ":1: error: " $0; bad = 1 } END { exit bad }' {file}'''
"#;

/// A loop in a project with these files committed, and these settings of the person.
fn looping(settings: &str, files: &[(&str, &str)]) -> World {
    let world = World::new();
    world.settings(settings);
    for (path, text) in files {
        world.write(path, text);
    }
    if !files.is_empty() {
        world.git("add .");
        world.git("commit -q -m files");
    }
    world.start("");
    world
}

/// The client's event after it wrote this file.
fn wrote(world: &World, path: &str) -> Ran {
    let path = world.project().join(path);
    let input = json!({"tool_name": "Write", "tool_input": {"file_path": path, "content": "x"}});
    world.event("ralph-backpressure", "PostToolUse", input)
}

fn write(world: &World, path: &str, text: &str) -> Ran {
    world.write(path, text);
    wrote(world, path)
}

#[test]
fn a_finding_reaches_the_model_and_all_is_well_is_silence() {
    let world = looping(LINT, &[]);
    let said = write(&world, "a.txt", "fine\nBAD one\n");
    said.json()["hookSpecificOutput"]["hookEventName"].as_str().unwrap();
    assert_eq!(
        write(&world, "b.txt", "BAD two\n").stdout(json!({"hookSpecificOutput": {
            "hookEventName": "PostToolUse",
            "additionalContext": "Ralph checked b.txt: 1 new error.\nb.txt:1:1 error (lint): BAD two"
        }})).context(),
        "Ralph checked b.txt: 1 new error.\nb.txt:1:1 error (lint): BAD two"
    );
    write(&world, "c.txt", "fine\n").silent();
    write(&world, "no-check-applies.xyz", "BAD\n").silent();
}

#[test]
fn what_was_there_before_the_loop_is_counted_and_not_blamed() {
    let world = looping(LINT, &[("a.txt", "BAD old\n")]);
    write(&world, "a.txt", "one more line\nBAD old\n").silent();
    let said = write(&world, "a.txt", "BAD old\nBAD new\n").context();
    assert_eq!(
        said,
        "Ralph checked a.txt: 1 new error.\na.txt:2:1 error (lint): BAD new\n\
         1 old finding, from before this work, not listed."
    );
}

#[test]
fn what_was_not_committed_when_the_loop_started_is_not_blamed_either() {
    let world = World::new();
    world.settings(LINT);
    world.write("a.txt", "BAD old\n");
    world.start("");
    write(&world, "a.txt", "BAD old\nfine\n").silent();
}

/// A finding in `b.txt` unless it says what `a.txt` says; notes each run.
const DIFFERS: &str = r#"
[[backpressure.check]]
name = "differs"
files = ["*.txt"]
command = '''echo run >>"$HOME/runs"; read a <a.txt; read b <b.txt
if [ "$a" != "$b" ]; then echo "b.txt:1:1: error: $b is not $a"; exit 1; fi'''
"#;

const SAME: [(&str, &str); 2] = [("a.txt", "one\n"), ("b.txt", "one\n")];

#[test]
fn what_the_edit_of_one_file_breaks_in_another_is_told_and_the_run_on_the_start_leaves_nothing() {
    let world = looping(&format!("[backpressure]\nwait_seconds = 12\n{DIFFERS}"), &SAME);
    let told = write(&world, "a.txt", "two\n");
    match ralph_test_support::portable() {
        // Without overlays, nobody knows whether `b.txt` was well before.
        Some(_) => drop(told.silent()),
        None => assert_eq!(
            told.context(),
            "Ralph checked a.txt: 1 new error.\nb.txt:1:1 error (differs): one is not two"
        ),
    }
    let runs = fs::read_to_string(world.root().join("home/runs")).unwrap();
    assert_eq!(runs, "run\n");
}

#[test]
fn without_an_overlay_the_changed_lines_decide() {
    let settings = format!("[backpressure]\nwait_seconds = 12\n{LINT}{DIFFERS}");
    let mut world = looping(&settings, &[&SAME[..], &[("c.txt", "BAD old\nfine\n")]].concat());
    world.set("RALPH_TEST_NO_OVERLAY", "copy");
    write(&world, "c.txt", "one more line\nBAD old\nfine\n").silent();
    let said = write(&world, "c.txt", "BAD old\nBAD new\n").context();
    assert!(said.contains("1 new error.\nc.txt:2:1 error (lint): BAD new\n1 old"), "{said}");
    world.write("a.txt", "two\n");
    let said = write(&world, "c.txt", "BAD old\nBAD newer\n").context();
    let elsewhere = "1 finding in other files, not listed: it is not known whether this work";
    assert!(said.contains(elsewhere), "{said}");
}

#[test]
fn three_hundred_old_findings_do_not_flood() {
    let old: String = (0..300).map(|_| "BAD old\n").collect();
    let world = looping(LINT, &[("a.txt", &old)]);
    let said = write(&world, "a.txt", &format!("{old}BAD new\n")).context();
    assert!(said.contains("1 new error.\na.txt:301:1") || said.contains("BAD new"), "{said}");
    assert!(said.contains("300 old findings") && said.len() < 300, "{said}");
}

#[test]
fn three_hundred_new_findings_are_cut_and_stand_in_a_file_in_full() {
    let world = looping(LINT, &[]);
    let new: String =
        (0..300).map(|line| format!("BAD number {line} {}\n", "x".repeat(90))).collect();
    let said = write(&world, "a.txt", &new).context();
    assert!(said.encode_utf16().count() <= 10_000, "{}", said.len());
    let (_, path) = said.split_once("all of them in ").unwrap();
    let full = fs::read_to_string(path.lines().next().unwrap()).unwrap();
    assert_eq!(full.lines().count(), 300);
    assert!(full.contains("BAD number 299"), "{full}");
}

#[test]
fn a_burst_of_edits_tells_a_finding_once() {
    let world = looping(LINT, &[]);
    assert!(write(&world, "a.txt", "BAD one\n").context().contains("BAD one"));
    let again = write(&world, "a.txt", "\nBAD one\n").context();
    assert_eq!(again, "Ralph checked a.txt.\n1 finding reported before: still there.");
    let more = write(&world, "a.txt", "\nBAD one\nBAD two\n").context();
    assert!(more.contains("BAD two") && !more.contains("BAD one"), "{more}");
    write(&world, "a.txt", "fine\n").silent();
    assert!(write(&world, "a.txt", "BAD one\n").context().contains("BAD one"));
}

/// Waits for a file that never comes, and leaves a child that ignores the signal to end.
const HANGS: &str = r#"
[backpressure]
budget_seconds = 2
wait_seconds = 2
[[backpressure.check]]
name = "hangs"
files = ["*.txt"]
command = "echo hanging; (trap '' TERM; sleep 300) & echo $! >>\"$HOME/pids\"; wait"
"#;

#[test]
fn a_check_that_hangs_is_ended_in_time_and_named_and_what_finished_is_told() {
    let world = looping(&format!("{HANGS}{LINT}"), &[]);
    let began = Instant::now();
    let said = write(&world, "a.txt", "BAD one\n").context();
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert!(said.contains("a.txt:1:1 error (lint): BAD one"), "{said}");
    assert!(said.contains("\nhangs did not finish (it was ended after "), "{said}");
    let pids = fs::read_to_string(world.root().join("home/pids")).unwrap();
    for pid in pids.lines() {
        assert!(!is_running(pid.parse().unwrap()), "{pid} is alive");
    }
}

#[test]
fn a_check_that_is_too_slow_for_edits_runs_when_the_turn_ends() {
    let slow = r#"
[backpressure]
budget_seconds = 1
[[backpressure.check]]
name = "slow"
files = ["*.txt"]
command = '''sleep 1.5; awk '/BAD/ { print FILENAME ":" NR ":1: error: " $0 }' {file}'''
"#;
    let world = looping(slow, &[]);
    for _ in 0..2 {
        let said = write(&world, "a.txt", "BAD one\n").context();
        assert!(said.contains("slow did not finish"), "{said}");
    }
    let began = Instant::now();
    let said = write(&world, "a.txt", "BAD one\n").context();
    assert!(began.elapsed() < Duration::from_millis(900), "{:?}", began.elapsed());
    assert!(
        said.contains("slow is too slow for an edit and runs later: when the turn ends"),
        "{said}"
    );
    let goes_on = world.step(&world.working_stop("done for now"));
    assert!(goes_on.contains("a.txt:1:1 error (slow): BAD one"), "{goes_on}");
    let goes_on = world.step(&world.working_stop("done again"));
    assert!(!goes_on.contains("slow"), "{goes_on}");
}

/// Puts a full stop at the end of each line; notes when it begins and ends.
const FIX: &str = r#"
[[backpressure.check]]
name = "dots"
files = ["*.txt"]
fix = true
command = '''echo begin >>"$HOME/order"; sed -i 's/[^.]$/&./' {file}; echo end >>"$HOME/order"'''
"#;

#[test]
fn what_a_fixer_changed_is_said_so_that_the_model_reads_it_again() {
    let world = looping(FIX, &[]);
    let said = write(&world, "a.txt", "one\n").context();
    assert_eq!(
        said,
        "Ralph checked a.txt.\na.txt was changed by dots: read it again before you edit it."
    );
    assert_eq!(fs::read_to_string(world.project().join("a.txt")).unwrap(), "one.\n");
    wrote(&world, "a.txt").silent();
}

#[test]
fn fixers_of_one_file_never_run_at_the_same_time() {
    let world = looping(FIX, &[]);
    world.write("a.txt", "one\n");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| wrote(&world, "a.txt").harmless());
        }
    });
    let order = fs::read_to_string(world.root().join("home/order")).unwrap();
    let lines: Vec<&str> = order.lines().collect();
    assert_eq!(lines, ["begin", "end"].repeat(4));
}

#[test]
fn a_fixer_that_does_not_finish_leaves_the_file_as_it_was() {
    let cuts = r#"
[backpressure]
budget_seconds = 1
[[backpressure.check]]
name = "cuts"
files = ["*.txt"]
fix = true
command = ": >{file}; sleep 60"
"#;
    let world = looping(cuts, &[]);
    let said = write(&world, "a.txt", "one\n").context();
    assert!(said.contains("cuts did not finish") && !said.contains("changed by"), "{said}");
    assert_eq!(fs::read_to_string(world.project().join("a.txt")).unwrap(), "one\n");
}

#[test]
fn what_a_shell_wrote_is_checked_as_well() {
    let world = looping(LINT, &[]);
    world.write("a.txt", "BAD one\n");
    let path = world.project().join("a.txt");
    let response = json!({"stdout": "", "stderr": "", "bashEditDiff": {
        "files": [{"filePath": path, "hunks": [], "created": true}], "changedFiles": [path]}});
    let event = |response: &Value| {
        let members = json!({"tool_name": "Bash", "tool_input": {"command": "echo BAD >a.txt"},
            "tool_response": response});
        world.event("ralph-backpressure", "PostToolUse", members)
    };
    assert!(event(&response).context().contains("a.txt:1:1 error (lint): BAD one"));
    event(&json!({"stdout": "bashEditDiff", "stderr": ""})).silent();
}

#[test]
fn commands_of_a_projects_own_file_run_only_after_it_was_trusted() {
    let world = World::new();
    world.write(".claude/ralph.toml", LINT);
    world.start("");
    write(&world, "a.txt", "BAD one\n").silent();
    let mut world = world;
    assert!(world.elsewhere(&["cancel", "--session", "session-1"]).success);
    assert!(world.elsewhere(&["trust", "--yes"]).success);
    world.become_session("session-2", "prompt-2");
    world.start("");
    assert!(write(&world, "a.txt", "BAD two\n").context().contains("BAD two"));
}

#[test]
fn settings_of_a_running_loop_are_those_that_it_started_with() {
    let world = looping(LINT, &[]);
    world.settings("[backpressure]\noff = [\"lint\"]\n");
    assert!(write(&world, "a.txt", "BAD one\n").context().contains("BAD one"));
}

#[test]
fn a_check_that_is_switched_off_does_not_run() {
    let world = looping(&format!("[backpressure]\noff = [\"lint\"]\n{LINT}"), &[]);
    write(&world, "a.txt", "BAD one\n").silent();
}

#[test]
fn only_a_running_loop_is_served_unless_the_settings_want_it_always() {
    let world = World::new();
    world.settings(LINT);
    write(&world, "a.txt", "BAD one\n").silent();
    world.start("");
    assert!(world.elsewhere(&["pause", "--session", "session-1"]).success);
    write(&world, "a.txt", "BAD one\n").silent();
    world.settings(&format!("[backpressure]\nalways = true\n{LINT}"));
    // A session that starts from here on.
    world.session_starts("startup").silent();
    assert!(write(&world, "a.txt", "BAD one\n").context().contains("BAD one"));
    let mut other = world;
    other.become_session("session-2", "prompt-2");
    assert!(write(&other, "a.txt", "BAD one\n").context().contains("BAD one"));
    other.settings("[backpressure]\nalways = false\n");
    write(&other, "a.txt", "BAD one\n").silent();
    other.settings("");
    assert!(other.ralph_home().join("always").exists());
    other.session_starts("startup").silent();
    assert!(!other.ralph_home().join("always").exists());
}

#[test]
fn of_two_registrations_one_answers() {
    let mut world = looping(LINT, &[]);
    world.via = Some("plugin");
    write(&world, "a.txt", "BAD one\n").silent();
    world.via = Some("settings");
    assert!(write(&world, "a.txt", "BAD one\n").context().contains("BAD one"));
}

#[test]
fn a_tool_sees_no_secret_of_the_client_and_none_is_told() {
    let leaks = r#"
[[backpressure.check]]
name = "leaks"
files = ["*.txt"]
command = '''cat {file}; echo "a.txt:1:1: error: key=$ANTHROPIC_API_KEY own=$MY_TOKEN"; echo "b $MY_TOKEN" >&2; exit 1'''
"#;
    let mut world = looping(leaks, &[]);
    world.set("ANTHROPIC_API_KEY", "sk-client-secret");
    world.set("MY_TOKEN", "my-own-secret");
    let said = write(&world, "a.txt", "one\n").context();
    assert!(said.contains("key= own=[redacted MY_TOKEN]"), "{said}");
    assert!(!said.contains("secret"), "{said}");
}

#[test]
fn what_did_not_run_is_said() {
    let missing = r#"
[[backpressure.check]]
name = "missing"
files = ["*.txt"]
command = "no-such-program {file}"
"#;
    let world = looping(missing, &[]);
    let said = write(&world, "a.txt", "one\n").context();
    assert!(said.contains("\nmissing did not run: "), "{said}");
}

#[test]
fn a_file_that_is_gone_or_no_source_is_left_alone() {
    let world = looping(LINT, &[]);
    wrote(&world, "never-written.txt").silent();
    fs::create_dir(world.project().join("folder.txt")).unwrap();
    wrote(&world, "folder.txt").silent();
}

#[test]
fn the_same_checks_run_from_the_command_line() {
    let world = looping(LINT, &[("a.txt", "BAD old\n")]);
    world.write("a.txt", "BAD old\nBAD new\n");
    let said = world.elsewhere(&["check", "a.txt"]);
    assert!(!said.success);
    assert!(
        said.text.contains("lint  a.txt") && said.text.contains("1 new, 1 old"),
        "{}",
        said.text
    );
    assert!(said.text.contains("a.txt:2:1 error (lint): BAD new"), "{}", said.text);
    let explained = world.elsewhere(&["check", "--explain", "a.txt"]);
    assert!(
        explained.success && explained.text.contains("`ralph.toml` names it"),
        "{}",
        explained.text
    );
    world.write("a.txt", "fine\n");
    let said = world.elsewhere(&["check", "a.txt"]);
    assert!(said.success && said.text.contains("Nothing to report."), "{}", said.text);
}

#[test]
fn an_answer_is_written_into_the_journal() {
    let world = looping(LINT, &[]);
    write(&world, "a.txt", "BAD one\n").context();
    let told = world.elsewhere(&["explain", "--session", "session-1"]).text;
    assert!(
        told.contains("checks after an edit") && told.contains("Ralph checked a.txt: 1 new error."),
        "{told}"
    );
}
