//! A process that was stopped while it held a lock delays the others, each for a bounded time, and
//! loses nothing: it goes on later, or is killed, and everything is as if it had been slow.

use crate::answers::{self, ProcessAnswer, said};
use crate::calls::{self, Answer, Caller};
use crate::endings::{archive, stops};
use crate::held::{self, Held, stopped_at};
use crate::tally;
use crate::world::{World, executable};
use crate::written;
use serde_json::{Value, json};
use std::process::Command;
use std::time::Duration;

pub(crate) const TESTS: &[crate::Test] =
    &[("a_process_stopped_at_its_lock_delays_the_others_and_wedges_nobody", all_at_a_time)];

/// They wait for deadlines nearly all of their time, so none is in another's way.
fn all_at_a_time() {
    if !held::is_possible() {
        return;
    }
    let cases: [fn(); 9] = [
        stop_goes_on,
        stop_is_killed,
        cancel_before_the_ending,
        cancel_before_the_move,
        cancel_is_killed_before_the_move,
        completion_before_the_move,
        verify,
        start,
        checks_beside_the_work,
    ];
    std::thread::scope(|scope| {
        let running: Vec<_> = cases.into_iter().map(|case| scope.spawn(case)).collect();
        let failed = running.into_iter().filter_map(|case| case.join().err()).count();
        assert_eq!(failed, 0, "cases that failed");
    });
    settle();
}

/// A loop that has gone on once, with little patience for checks.
fn at_one() -> World {
    let world = World::new();
    world.settings("verify_seconds = 5\n");
    world.start("--ac 'one is there=grep -q one a.c' --max-iterations 100 --stall-limit 100");
    world.write("a.c", "int one;\n");
    world.working_stop("x").goes_on();
    world
}

fn stop(world: &World, last_line: &str) -> Value {
    let message = format!("held\n{last_line}");
    world.payload("Stop", json!({"last_assistant_message": message}))
}

/// A hook that is stopped when it has its n-th lock.
fn held_hook(world: &World, name: &str, payload: &Value, n: usize) -> Held {
    let mut words = stopped_at(n);
    words.push(executable(name).to_owned());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    Held::start(world.wrapped(&words), &payload.to_string())
}

/// A command in a terminal that is stopped when it has its n-th lock.
fn held_command(world: &World, arguments: &[&str], n: usize) -> Held {
    let words = stopped_at(n);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).arg(executable("ralph")).args(arguments);
    command.env_clear().envs(&world.env).current_dir(&world.cwd);
    for variable in ["CLAUDE_CODE_SESSION_ID", "CLAUDE_PID", "CLAUDECODE"] {
        command.env_remove(variable);
    }
    Held::start(command, "")
}

/// Every hook and many commands at once; how long each may take, in milliseconds.
fn everyone(world: &World) -> Vec<(Caller, u64)> {
    let hook = |what: &str, name, event, members, most| {
        (Caller::hook(what, world, name, "settings", &world.payload(event, members)), most)
    };
    let command = |what: &str, words: &[&str]| (Caller::terminal(what, world, words), 10_000);
    let tool = json!({"tool_name": "AskUserQuestion", "tool_input": {}});
    vec![
        hook("stop 1", "ralph-stop-hook", "Stop", json!({"last_assistant_message": "1"}), 15_000),
        hook("tool", "ralph-pre-tool-use", "PreToolUse", tool.clone(), 5_000),
        hook("tool-done", "ralph-backpressure", "PostToolUse", tool, 15_000),
        hook(
            "prompt",
            "ralph-user-prompt",
            "UserPromptSubmit",
            json!({"prompt": "hello", "prompt_id": "p"}),
            10_000,
        ),
        hook("failed", "ralph-stop-hook", "StopFailure", json!({"error": "server_error"}), 5_000),
        // The client ends it after 1,500, and starting it under load is part of that.
        hook("session-end", "ralph-stop-hook", "SessionEnd", json!({"reason": "other"}), 1_500),
        hook(
            "compacted",
            "ralph-session-context",
            "SessionStart",
            json!({"source": "compact"}),
            10_000,
        ),
        hook(
            "typed",
            "ralph-user-prompt",
            "UserPromptExpansion",
            json!({"command_name": "ralph-cancel"}),
            10_000,
        ),
        command("status", &["status"]),
        command("explain", &["explain"]),
        command("pause", &["pause"]),
        command("add", &["task", "add", "x"]),
        command("cancel", &["cancel"]),
    ]
}

/// Runs them all; each keeps its time, and whoever gave up says who is in the way.
fn answers_beside(callers: Vec<(Caller, u64)>) -> Vec<Answer> {
    let bounds: Vec<(String, u64)> =
        callers.iter().map(|(it, most)| (it.what.clone(), *most)).collect();
    let width = callers.len();
    let callers = callers.into_iter().map(|(caller, _)| caller).collect();
    let answers = calls::so_many_at_a_time(width, callers);
    for answer in &answers {
        tally::beside(answer.took());
        let most = bounds.iter().find(|(what, _)| *what == answer.what).unwrap().1;
        assert!(answer.took() < Duration::from_millis(most), "{answer:?} took {:?}", answer.took());
        assert!(!gave_up(answer) || complaint(answer).contains("fuser -v"), "{answer:?}");
    }
    answers
}

/// What a person is to do stands on the screen; everything else complains on standard error.
fn complaint(answer: &Answer) -> String {
    match answer.is("typed") || ["prompt", "stop 1"].contains(&answer.what.as_str()) {
        true => answer.out.clone(),
        false => answer.err.clone(),
    }
}

fn gave_up(answer: &Answer) -> bool {
    complaint(answer).contains("has held")
}

#[track_caller]
fn check_gave_up(answers: &[Answer], expected: &[&str]) {
    let mut names: Vec<&str> =
        answers.iter().filter(|it| gave_up(it)).map(|it| it.what.as_str()).collect();
    let mut expected = expected.to_vec();
    names.sort_unstable();
    expected.sort_unstable();
    assert_eq!(names, expected, "{answers:?}");
}

/// All that write.
const WRITERS: [&str; 8] =
    ["stop 1", "tool-done", "prompt", "failed", "session-end", "typed", "pause", "add"];

fn check_writers_gave_up(answers: &[Answer]) {
    check_gave_up(answers, &[&WRITERS[..], &["cancel"]].concat());
    let find = |what: &str| answers.iter().find(|answer| answer.what == what).unwrap();
    assert_eq!(said(find("tool")), ProcessAnswer::Denied);
    assert!(matches!(said(find("compacted")), ProcessAnswer::Spoke(_)));
    for reader in ["status", "explain"] {
        assert!(matches!(said(find(reader)), ProcessAnswer::Done(_)));
    }
}

fn stop_goes_on() {
    let world = at_one();
    let held = held_hook(&world, "ralph-stop-hook", &stop(&world, "x"), 1);
    check_writers_gave_up(&answers_beside(everyone(&world)));
    let (out, err) = held.go_on();
    assert!(out.contains("Ralph 2/100: "), "{out}{err}");
    check_goes_on(&world, 3);
}

fn stop_is_killed() {
    let world = at_one();
    held_hook(&world, "ralph-stop-hook", &stop(&world, "x"), 1).kill();
    check_goes_on(&world, 2);
}

/// The next stop has this number, and the journal as many lines.
#[track_caller]
fn check_goes_on(world: &World, number: u64) {
    let text = world.step(&world.working_stop("next"));
    assert!(text.contains(&format!("Ralph loop at {number}/100")), "{text}");
    assert_eq!(world.state()["iteration"], number);
    let lines = written::lines(world.state_path().parent().unwrap());
    assert_eq!(written::count(&lines, "Stop", "go on") as u64, number);
}

fn cancel_before_the_ending() {
    let world = at_one();
    let held = held_command(&world, &["cancel"], 1);
    check_writers_gave_up(&answers_beside(everyone(&world)));
    let (out, err) = held.go_on();
    assert!(out.contains("Ralph: cancelled after 2 turns, "), "{out}{err}");
    check_cancelled(&world, 1);
}

/// The ending is written, the folder has not moved.
fn cancel_before_the_move() {
    let world = at_one();
    let held = held_command(&world, &["cancel"], 2);
    let answers = answers_beside(everyone_but_persons(&world));
    check_gave_up(&answers, &["stop 1", "failed", "session-end", "prompt"]);
    let cut = answers.iter().find(|answer| answer.is("tool")).unwrap();
    assert!(cut.out.contains("loop cancelled at"), "{cut:?}");
    let (out, err) = held.go_on();
    assert!(out.contains("Ralph: cancelled after 2 turns, "), "{out}{err}");
    check_cancelled(&world, 1);
}

/// Without those that would end or pause a loop that is ending already.
fn everyone_but_persons(world: &World) -> Vec<(Caller, u64)> {
    let mut all = everyone(world);
    all.retain(|(caller, _)| !["cancel", "pause", "add", "typed"].contains(&caller.what.as_str()));
    all
}

fn cancel_is_killed_before_the_move() {
    let world = at_one();
    held_command(&world, &["cancel"], 2).kill();
    // Nobody could write that line but the process that is gone.
    check_cancelled(&world, 0);
}

/// The session is told at its next stop, and once; the loop has been put away once.
#[track_caller]
fn check_cancelled(world: &World, n_lines: usize) {
    let first = calls::alone(stops(world, 1, "x").remove(0));
    let second = calls::alone(stops(world, 1, "x").remove(0));
    assert_eq!(answers::announcements(&[first], "cancelled"), 1);
    assert_eq!(said(&second), ProcessAnswer::Nothing);
    assert_eq!(world.ending(), "cancelled");
    assert_eq!(world.archived()[0]["iteration"], 1);
    let lines = written::lines(&archive(world));
    assert_eq!(written::count(&lines, "ralph cancel", "ended"), n_lines);
}

/// The stop that ends the loop is stopped before it puts it away: the person is told when it goes
/// on, by it, and by nobody else.
fn completion_before_the_move() {
    let world = World::looping("");
    let held = held_hook(&world, "ralph-stop-hook", &stop(&world, "RALPH_COMPLETE"), 2);
    let answers = answers_beside(everyone_but_persons(&world));
    check_gave_up(&answers, &["stop 1", "failed", "session-end", "prompt"]);
    let (out, err) = held.go_on();
    assert!(out.contains("Ralph: done, without proof"), "{out}{err}");
    assert!(!world.has_entry());
    assert_eq!(said(&calls::alone(stops(&world, 1, "x").remove(0))), ProcessAnswer::Nothing);
    assert_eq!(world.ending(), "complete_unverified");
}

/// A request for completion waits no longer for another's checks than it may take itself.
fn verify() {
    let world = at_one();
    let held = held_command(&world, &["verify"], 1);
    let request = |what: &str| {
        Caller::hook(what, &world, "ralph-stop-hook", "settings", &stop(&world, "RALPH_COMPLETE"))
    };
    let refused = answers_beside(vec![(request("stop refused"), 10_000)]);
    assert_eq!(said(&refused[0]), ProcessAnswer::WentOn(2));
    let details = world.state()["details_due"].clone();
    assert!(details.as_str().is_some_and(|text| text.contains("being run already")), "{details}");
    let others = answers_beside(vec![
        (Caller::terminal("status", &world, &["status"]), 2_000),
        (stops(&world, 1, "x").remove(0), 2_000),
    ]);
    assert_eq!(answers::iterations(&others), [3]);
    let (out, err) = held.go_on();
    assert!(out.contains("AC-1"), "{out}{err}");
    let granted = calls::alone(request("stop granted"));
    assert_eq!(answers::announcements(&[granted], "complete"), 1);
    assert_eq!((world.ending(), world.has_entry()), ("complete".to_owned(), false));
}

/// A start that was stopped keeps other starts waiting, and no loop that runs.
fn start() {
    let world = at_one();
    let mut other = world.payload(
        "UserPromptExpansion",
        json!({"command_name": "ralph", "command_args": "\"Another task\""}),
    );
    other["session_id"] = json!("session-2");
    let typed = |what: &str| {
        Caller::hook(what, &world, "ralph-user-prompt", "settings", &other)
            .of("session-2", &world.cwd)
    };
    let held = held_command(&world, &["start", "--session", "session-3", "A third task"], 1);
    let answers = answers_beside(vec![
        (typed("typed start"), 10_000),
        (stops(&world, 1, "x").remove(0), 2_000),
        (Caller::terminal("pause", &world, &["pause"]), 2_000),
    ]);
    check_gave_up(&answers, &["typed start"]);
    let (out, err) = held.go_on();
    assert!(out.contains("started: "), "{out}{err}");
    let started = calls::alone(typed("typed start"));
    assert!(started.out.contains(" started"), "{started:?}");
    assert_eq!(std::fs::read_dir(world.ralph_home().join("loops")).unwrap().count(), 3);
}

/// The runner of slow checks is stopped when it is the only one, or when its tools may run. Edits go
/// on, and the stop checks what the runner has left.
fn checks_beside_the_work() {
    for n in [1, 2] {
        let world = World::new();
        world.settings(CHECK);
        world.start("");
        world.write("a.txt", "BAD one\n");
        let file = world.project().join("a.txt");
        let state = world.state_path();
        let due = json!({file.to_str().unwrap(): {"edit": 1, "at_stop": false, "checks": [], "agent": ""}});
        std::fs::write(state.with_file_name("later.json"), due.to_string()).unwrap();
        let words = ["delegate", "checks", "--beside", "--state", state.to_str().unwrap()];
        let held = held_command(&world, &words, n);
        let input = json!({"tool_name": "Write", "tool_input": {"file_path": file}});
        let payload = world.payload("PostToolUse", input);
        let edit = Caller::hook("edit", &world, "ralph-backpressure", "settings", &payload);
        answers_beside(vec![(edit, 6_000)]);
        let goes_on = answers_beside(vec![(stops(&world, 1, "x").remove(0), 12_000)]);
        assert_eq!(answers::iterations(&goes_on), [1]);
        let details = world.state()["details_due"].clone();
        assert!(details.as_str().is_some_and(|text| text.contains("BAD one")), "{details}");
        held.go_on();
        assert!(!state.with_file_name("later.json").exists());
    }
}

/// A check of the whole project.
const CHECK: &str = r#"
[backpressure]
budget_seconds = 1
wait_seconds = 0
[[backpressure.check]]
name = "look"
files = ["*.txt"]
command = '''awk '/BAD/ { print FILENAME ":" FNR ":1: error: " $0; bad = 1 } END { exit bad }' *.txt'''
"#;

/// The checks of a request for completion are stopped, and the person ends the hook that waits for
/// them, as Esc does: the session goes on at once, and the checks end as soon as they can.
fn settle() {
    let world = at_one();
    let held = held_hook(&world, "ralph-stop-hook", &stop(&world, "RALPH_COMPLETE"), 1);
    held.kill_the_parent("ralph-stop-hook");
    let answers = answers_beside(vec![
        (stops(&world, 1, "x").remove(0), 2_000),
        (Caller::terminal("status", &world, &["status"]), 2_000),
    ]);
    assert_eq!(answers::iterations(&answers), [2]);
    held.go_on_or_end();
    let granted = calls::alone(stops(&world, 1, "RALPH_COMPLETE").remove(0));
    assert_eq!(answers::announcements(&[granted], "complete"), 1);
    assert_eq!((world.ending(), world.has_entry()), ("complete".to_owned(), false));
}
