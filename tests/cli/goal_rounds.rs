//! `ralph run` for a goal without tasks: what the user does from another terminal, what is shown, and
//! what a kill at any moment leaves.

use crate::executables::executables;
use crate::run::{ended, lines, n_rounds, ralph, world};
use crate::world::{World, start, wait_for};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Child;

/// Each round writes a file. The first one then waits for the file `go`.
const WAITS: &str =
    r#"echo $n >file$n; test $n -gt 1 || until test -e "$HOME/go"; do sleep 0.02; done"#;

const GOAL: [&str; 4] = ["run", "make it", "--ac", "two=test -f file2"];

const STOPS: &str = r#"sid=; for word; do case "$last" in --session-id) sid=$word;; esac; last=$word; done
printf '{"session_id":"%s","hook_event_name":"Stop","prompt_id":"p","cwd":"%s","transcript_path":"/nowhere","last_assistant_message":"x"}' \
  "$sid" "$PWD" | ralph-stop-hook settings >>"$HOME/answers""#;

/// A run whose first round is at work.
fn begun(world: &World) -> Child {
    let child = start(&mut ralph(world, &GOAL));
    wait_for("the first round", || world.path("project/file1").exists());
    child
}

fn prompt(world: &World, number: u32) -> String {
    fs::read_to_string(world.path(&format!("home/prompt{number}"))).unwrap()
}

#[test]
fn a_steer_in_a_round_for_a_goal_is_in_the_next_ones_prompt() {
    // The client's last act is its stop hook, which takes the user's words up.
    let world = world(&format!("{WAITS}\n{STOPS}"));
    let hook = world.path("bin/ralph-stop-hook");
    fs::remove_file(&hook).unwrap();
    symlink(executables().join("ralph-stop-hook"), hook).unwrap();
    let child = begun(&world);
    world.ralph(&["signal", "steer", "use tabs"]).done();
    world.write("home/go", "");
    world.finish(child, "").done();
    assert!(!prompt(&world, 1).contains("use tabs"));
    assert!(prompt(&world, 2).contains("STEER: use tabs"), "{}", prompt(&world, 2));
    assert_eq!(n_rounds(&world), 2);
}

#[test]
fn a_pause_from_another_terminal_lets_the_round_finish_and_resume_takes_the_loop_up() {
    let world = world(WAITS);
    let child = begun(&world);
    world.ralph(&["pause"]).done();
    world.write("home/go", "");
    let printed = world.finish(child, "");
    assert_eq!((printed.exit, n_rounds(&world)), (1, 1), "{printed:?}");
    assert!(printed.stdout.contains("you paused it; `ralph run` continues"), "{printed:?}");
    assert_eq!(world.state()["phase"], "paused");
    world.ralph(&["resume"]).done();
    world.ralph(&["run"]).done();
    assert_eq!((n_rounds(&world), &ended(&world)["ending"]["kind"]), (2, &json!("complete")));
}

#[test]
fn a_resume_while_the_round_still_works_lets_the_run_go_on() {
    let world = world(WAITS);
    let child = begun(&world);
    world.ralph(&["pause"]).done();
    world.ralph(&["resume"]).done();
    world.write("home/go", "");
    world.finish(child, "").done();
    assert_eq!(n_rounds(&world), 2);
}

#[test]
fn a_cancel_from_another_terminal_ends_the_client_and_the_run() {
    let world = world("echo $$ >\"$HOME/pid\"; echo $n >file$n; sleep 600");
    let child = begun(&world);
    wait_for("its process id", || !lines(&world, "pid").is_empty());
    world.ralph(&["cancel"]).done();
    let printed = world.finish(child, "");
    assert_eq!((printed.exit, n_rounds(&world)), (1, 1), "{printed:?}");
    assert!(printed.stderr.contains("the loop was cancelled: ending its client"), "{printed:?}");
    assert!(printed.stdout.contains("Ralph: cancelled"), "{printed:?}");
    let client = format!("/proc/{}", lines(&world, "pid")[0]);
    assert!(!fs::exists("/proc/self").unwrap() || !fs::exists(client).unwrap());
    assert_eq!(ended(&world)["ending"]["kind"], "cancelled");
    assert!(world.loop_ids().is_empty());
    assert_eq!(world.ralph(&["run"]).exit, 1, "there is nothing to continue");
}

#[test]
fn a_cancel_that_lets_the_round_finish_starts_no_other() {
    let world = world(WAITS);
    let child = begun(&world);
    world.ralph(&["cancel", "--let-finish"]).done();
    world.write("home/go", "");
    let printed = world.finish(child, "");
    assert_eq!((printed.exit, n_rounds(&world)), (1, 1), "{printed:?}");
    assert!(!printed.stderr.contains("ending its client"), "{printed:?}");
    assert_eq!(ended(&world)["ending"]["kind"], "cancelled");
}

#[test]
fn explain_and_report_tell_what_each_round_for_a_goal_came_to_and_what_it_cost() {
    let world = world("echo $n >file$n");
    let run = [&GOAL[..], &["-n", "1"]].concat();
    assert_eq!(world.ralph(&run).exit, 1);
    let explained = world.ralph(&["explain", "9"]).done().stdout;
    assert!(explained.contains("round 1: the criterion does not hold: AC-1"), "{explained}");
    let report = world.ralph(&["report"]).done().stdout;
    for part in ["make it", "round 1: the criterion does not hold: AC-1", "| Cost |", "$0.50"] {
        assert!(report.contains(part), "{part}: {report}");
    }
    world.ralph(&["run"]).done();
    let report = world.ralph(&["report"]).done().stdout;
    for part in ["all criteria hold; its last words", "$1.00", "complete"] {
        assert!(report.contains(part), "{part}: {report}");
    }
    let status = world.ralph(&["status"]).done().stdout;
    assert!(status.contains(", $1.00"), "{status}");
}

#[test]
fn what_no_client_reports_is_shown_nowhere() {
    let world = world("echo $n >file$n");
    let client = world.path("bin/claude");
    let script = fs::read_to_string(&client).unwrap();
    fs::write(&client, script.replace(r#""total_cost_usd":0.5,"#, "")).unwrap();
    world.ralph(&[&GOAL[..], &["-n", "1"]].concat());
    for command in ["status", "report", "explain"] {
        let printed = world.ralph(&[command]).done();
        assert!(!printed.stdout.contains('$') && !printed.stdout.contains("Cost"), "{printed:?}");
    }
    assert_eq!(world.state()["usage"].get("cost"), None);
}

#[test]
fn the_cost_of_a_round_in_which_the_loop_ended_counts() {
    // As a hook ends a loop in the client of a round.
    let world = world("echo $n >file$n; ralph cancel --let-finish >/dev/null");
    world.ralph(&GOAL);
    assert_eq!(ended(&world)["usage"]["cost"], 0.5);
}

/// The criterion hangs while the file `hold` is there, once it has said that it runs.
const CHECK: &str =
    r#"test -e "$HOME/hold" && { touch "$HOME/checks"; sleep 600; }; test -f file3.c"#;

#[test]
fn a_run_for_a_goal_that_is_killed_at_any_moment_is_taken_up_where_it_was() {
    let world = world(
        r#"echo $n >file$n.c; touch "$HOME/works"
case $n in 1) sleep 600;; 2) until test -e "$HOME/hold"; do sleep 0.02; done;; esac"#,
    );
    world.write("project/check.sh", CHECK);
    let first = ["run", "make it", "--ac", "three=sh check.sh"];
    let begin = |arguments: &[&str]| start(&mut ralph(&world, arguments));
    let is_there = |name: &str| wait_for(name, || world.path(name).exists());
    let kill = |mut child: Child| {
        child.kill().unwrap();
        child.wait().unwrap();
    };
    // While the criteria run before the first round.
    let hold = world.write("home/hold", "");
    let child = begin(&first);
    is_there("home/checks");
    kill(child);
    assert_eq!(n_rounds(&world), 0);
    fs::remove_file(&hold).unwrap();
    fs::remove_file(world.path("home/checks")).unwrap();
    // In a round.
    let child = begin(&["run"]);
    is_there("home/works");
    kill(child);
    // While the criteria run after a round.
    let child = begin(&["run"]);
    is_there("project/file2.c");
    fs::write(&hold, "").unwrap();
    is_there("home/checks");
    kill(child);
    fs::remove_file(&hold).unwrap();
    let printed = world.ralph(&["run"]).done();
    let state: Value = ended(&world);
    assert_eq!(state["ending"]["kind"], "complete", "{printed:?}");
    let mut sessions = lines(&world, "sessions");
    let n = sessions.len();
    sessions.sort();
    sessions.dedup();
    assert_eq!((sessions.len(), n), (3, 3), "each round had a session of its own");
    assert!(world.loop_ids().is_empty());
    let left = fs::read_dir(world.path("ralph/manifest")).unwrap().count();
    assert!(left <= 1, "no session is bound");
}
