//! `ralph team run` beside clients that are scripts: who is called with what and beside whom, what is made
//! of their ends, and how it goes on after it was stopped in any way.

use crate::log::n_logs;
use crate::world::{Printed, World, start, wait_for};
use ralph_core::modes::orchestration::id::OrchestrationId;
use ralph_core::modes::orchestration::metadata::{Counts, OrchestrationMetadata};
use ralph_core::modes::orchestration::progress::Progress;
use ralph_core::modes::orchestration::state::State;
use ralph_test_support::is_running;
use ralph_test_support::sample::is_left_out;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Child;

const ID: &str = "260131-120000";

/// What every client does: `sid` is its session, `agent` who it is, `mode` and `task` what it is called for,
/// `n` counts the calls of these two.
const PRELUDE: &str = r#"#!/bin/sh
[ "$1" = --version -o "$1" = /cost ] && echo '2.1.328 (Claude Code)' && exit
say() { printf '%s\n' "$1"; }
for arg; do
  case $before in --session-id|--resume) sid=$arg;; -p) prompt=$arg;; --agent) named=$arg;; esac
  before=$arg
done
input() { printf '%s\n' "$prompt" | sed -n "s/^$1: //p"; }
mode=$(input MODE) task=$(input TASK_ID) it=$(input ITERATION) path=$(input SESSION_PATH)
id=${path%/}; id=${id##*/}
case $mode$RALPH_ROUND in Ralph-v2-Executor) mode=EXECUTE;; Ralph-v2-Reviewer) mode=TASK_REVIEW;; esac
what=$mode${task:+-$task}
n=1; while test -e "$HOME/call-$what-$n"; do n=$((n+1)); done
printf '%s' "$prompt" >"$HOME/call-$what-$n"
printf '%s|%s|%s\n' "$named" "$RALPH_ROUND" "$RALPH_SESSION_CALL" >>"$HOME/who"
echo "$what" >>"$HOME/order"
echo $$ >>"$HOME/pids"
touch "$HOME/now-$mode-$$"; set -- "$HOME"/now-$mode-*; echo $# >>"$HOME/most-$mode"
await() { i=0; until test -e "$HOME/$1" || test $i -gt 3000; do sleep 0.02; i=$((i+1)); done; }
ends() { rm -f "$HOME/now-$mode-$$"; say '{"type":"result","is_error":false,"result":"done","modelUsage":{"m":{"inputTokens":60,"outputTokens":40}}}'; }
mark() { ralph session mark --id $id "$@" >/dev/null; }
report() { printf -- '---\ntask_id: %s\niteration: %s\n---\n## PART 1: IMPLEMENTATION REPORT\n## PART 2: REVIEW REPORT\n%s\n' $task $it "$2" >"${path}reports/$1"; }
attempt() { case $(input ATTEMPT_NUMBER) in 1) echo $task-report.md;; *) echo $task-report-r$(input ATTEMPT_NUMBER).md;; esac; }
initializes() {
  mkdir -p ${path}tasks ${path}reports ${path}iterations/1
  echo 'Goal: a door' >${path}plan.md
  cp "$HOME/progress.md" ${path}progress.md
  sed "s/260131-120000/$id/" "$HOME/metadata.yaml" >${path}metadata.yaml
  mark plan-init done
}
breaks_down() { cp "$HOME"/tasks/* ${path}tasks/; mark plan-breakdown done; }
executes() { mark $task started; report $(attempt) ''; mark $task review; }
reviews() { passes; }
judges() { report ${report##*/} "**Status**: $1"; mark $task $2; }
passes() { report=$(input REPORT_PATH); judges Qualified done; }
fails() { report=$(input REPORT_PATH); judges Failed failed; }
times_out() { report $task-report-r9.md '**Status**: Failed'; mark $task failed; }
concludes() { mkdir -p ${path}iterations/$it; printf '# Review\n## Overall Assessment\n**Status**: %s\n' "${1:-Complete}" >${path}iterations/$it/review.md; }
stands() { sed "s/^status: .*/status: $(input STATUS)/" ${path}metadata.yaml >${path}.new; mv ${path}.new ${path}metadata.yaml; }
replans() { echo 'Goal: a door that opens' >${path}plan.md; mark plan-update done; }
adds() { sed 's/task-1/task-7/' "$HOME/tasks/task-1.md" >${path}tasks/task-7.md; mark plan-rebreakdown done; }
splits() { mark $task cancelled; sed "s/$task/$task-small/" "$HOME/tasks/$task.md" >${path}tasks/$task-small.md; }
mends() { sed 's/\[?\]/[x]/' ${path}progress.md >${path}.new; mv ${path}.new ${path}progress.md; }
say '{"type":"system","subtype":"init","session_id":"'$sid'"}'
"#;

/// What becomes of a call by its mode.
const DISPATCH: &str = r#"
before
case $mode in
  INITIALIZE) initializes;; brainstorm) mark plan-brainstorm done;;
  research) test $it = 1 && mark plan-research done || mark plan-reresearch done;;
  TASK_BREAKDOWN) breaks_down;; EXECUTE) executes;; TASK_REVIEW) reviews;; TIMEOUT_FAIL) times_out;;
  SESSION_REVIEW) concludes;; UPDATE_METADATA) stands;; feedback-analysis) mark plan-rebrainstorm done;;
  UPDATE) replans;; REBREAKDOWN) adds;; REBREAKDOWN_TASK) splits;; REPAIR_STATE) mends;;
esac
ends
"#;

const SIX: &[(&str, &str)] = &[
    ("task-1", ""),
    ("task-2", ""),
    ("task-3", "task-1"),
    ("task-4", "task-2"),
    ("task-5", "task-3, task-4"),
    ("task-6", "task-3"),
];

pub(crate) const TWO: &[(&str, &str)] = &[("task-1", ""), ("task-2", "task-1")];

/// A project, and a client that does what these lines change of its usual part.
pub(crate) fn world(tasks: &[(&str, &str)], changes: &str) -> World {
    let world = World::new().permissive();
    for tool in ["sh", "test", "touch", "sleep", "cat", "kill", "mkdir", "sed", "rm", "mv", "cp"] {
        let places = ["/usr/bin", "/bin"].map(|folder| format!("{folder}/{tool}"));
        let Some(place) = places.iter().find(|place| fs::exists(place).unwrap()) else { continue };
        let _ = symlink(place, world.path("bin").join(tool));
    }
    symlink(env!("CARGO_BIN_EXE_ralph"), world.path("bin/ralph")).unwrap();
    for agent in ["Planner", "Questioner", "Executor", "Reviewer"] {
        world.write(&format!("home/.claude/agents/Ralph-v2-{agent}.md"), "");
    }
    let planning = ["plan-init", "plan-brainstorm", "plan-research", "plan-breakdown"];
    world.write("home/progress.md", &Progress::first(&planning).render());
    let id = OrchestrationId::parse(ID).unwrap();
    let now = "2026-01-31T12:00:00Z".parse::<jiff::Timestamp>().unwrap().into();
    let metadata = OrchestrationMetadata::first(State::Initializing, 1, now);
    world.write("home/metadata.yaml", &metadata.render(&id, Counts::default()));
    for (id, on) in tasks {
        world.write(&format!("home/tasks/{id}.md"), &task_file(id, on));
    }
    script(&world, changes);
    world
}

fn script(world: &World, changes: &str) {
    let text = format!("{PRELUDE}\nbefore() {{ :; }}\n{changes}\n{DISPATCH}");
    let path = world.write("bin/claude", &text);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn task_file(id: &str, on: &str) -> String {
    format!(
        "---\nid: {id}\niteration: 1\n---\n# Task: {id}\n## Title\nDo it\n## Objective\nIt.\n\
         ## Success Criteria\n- it is\n## Dependencies\ndepends_on: [{on}]\n"
    )
}

pub(crate) const TASK: &[&str] = &["Build a door", "--id", ID];

pub(crate) fn run(world: &World, arguments: &[&str]) -> Printed {
    world.ralph(&[&["session", "run"], arguments].concat())
}

/// A run that goes on beside the test.
fn begin(world: &World, arguments: &[&str]) -> Child {
    let mut command = world.command(Path::new(env!("CARGO_BIN_EXE_ralph")), "");
    start(command.args(["session", "run"]).args(arguments))
}

fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args([name, &pid]).status().unwrap().success());
}

fn called(world: &World, what: &str, n: u32) -> bool {
    world.path(&format!("home/call-{what}-{n}")).exists()
}

/// The prompt of a call.
#[track_caller]
fn call(world: &World, what: &str, n: u32) -> String {
    fs::read_to_string(world.path(&format!("home/call-{what}-{n}"))).unwrap()
}

fn open(world: &World, gate: &str) {
    world.write(&format!("home/{gate}"), "");
}

fn lines(world: &World, file: &str) -> Vec<String> {
    let text = fs::read_to_string(world.path(&format!("home/{file}"))).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// How often this was called.
fn count(world: &World, what: &str) -> usize {
    lines(world, "order").iter().filter(|line| *line == what).count()
}

/// The most that were at work at once.
fn most(world: &World, mode: &str) -> usize {
    lines(world, &format!("most-{mode}")).iter().map(|line| line.parse().unwrap()).max().unwrap()
}

#[track_caller]
fn all_are_gone(world: &World) {
    let pids = lines(world, "pids");
    wait_for("the end of all clients", || pids.iter().all(|pid| !is_running(pid.parse().unwrap())));
}

fn session(world: &World, name: &str) -> String {
    fs::read_to_string(world.path(&format!("project/.ralph-sessions/{ID}/{name}"))).unwrap()
}

/// What Ralph knows of the session beside its files.
fn own(world: &World) -> (std::path::PathBuf, Value) {
    let folders = fs::read_dir(world.path("ralph/sessions")).into_iter().flatten();
    let path = folders.map(|folder| folder.unwrap().path().join("session.json")).next();
    let path = path.unwrap_or_default();
    let text = fs::read_to_string(&path).unwrap_or_default();
    (path, serde_json::from_str(&text).unwrap_or_default())
}

/// As if so many seconds had gone by since everything that is noted.
fn seconds_go_by(world: &World, seconds: i64) {
    let (path, mut own) = own(world);
    let earlier = |value: &mut Value| {
        let at: jiff::Timestamp = value.as_str().unwrap().parse().unwrap();
        *value = Value::from((at - jiff::SignedDuration::from_secs(seconds)).to_string());
    };
    own["tries"].as_array_mut().unwrap().iter_mut().for_each(|one| earlier(&mut one["last"]));
    let running = own.get_mut("running").and_then(Value::as_array_mut);
    running.into_iter().flatten().for_each(|one| earlier(&mut one["since"]));
    fs::write(path, own.to_string()).unwrap();
}

fn failures(world: &World) -> u64 {
    let tries = own(world).1["tries"].as_array().cloned().unwrap_or_default();
    tries.iter().map(|one| one["failures"].as_u64().unwrap()).max().unwrap_or_default()
}

/// The ending of each loop, oldest first.
fn endings(world: &World) -> Vec<String> {
    let mut folders: Vec<_> = fs::read_dir(world.path("ralph/archive"))
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .collect();
    // The names of two that ended within a second say nothing of their order.
    let written = |folder: &std::path::PathBuf| folder.join("state.json").metadata()?.modified();
    folders.sort_by_key(|folder| written(folder).unwrap());
    let state = |folder: &std::path::PathBuf| -> Value {
        serde_json::from_slice(&fs::read(folder.join("state.json")).unwrap()).unwrap()
    };
    folders
        .iter()
        .map(|folder| state(folder)["ending"]["kind"].as_str().unwrap().to_owned())
        .collect()
}

#[track_caller]
fn is_complete(world: &World, printed: &Printed) {
    assert_eq!(printed.exit, 0, "{printed:#?}");
    assert!(world.loop_ids().is_empty(), "all are put away");
    assert!(printed.stdout.contains("Ralph: done"), "{printed:#?}");
    let bound = fs::read_dir(world.path("ralph/manifest")).unwrap();
    let bound: Vec<_> = bound.map(|entry| entry.unwrap().file_name()).collect();
    assert!(bound.len() <= 1, "no session is bound: {bound:?}");
    assert_eq!(own(world).1["running"], serde_json::json!([]));
    all_are_gone(world);
}

/// Feedback that asks for something, in the folder that was laid out for it.
fn give_feedback(world: &World) {
    let printed = world.ralph(&["session", "feedback", "new", "--id", ID]).done();
    let path = printed.stdout.split('`').nth(1).unwrap().to_owned();
    let path = format!("project/{path}");
    let text = fs::read_to_string(world.path(&path)).unwrap();
    let issue = "## Critical Issues\n- [ ] **ISS-001**: It does not open\n";
    let (before, after) = text.split_once("## Critical Issues\n").unwrap();
    world.write(&path, &format!("{before}{issue}{after}"));
}

#[test]
fn six_tasks_in_three_waves_with_rework_feedback_and_a_second_iteration() {
    let changes = r#"
reviews() { case $task-$(input REPORT_PATH) in task-3-*task-3-report.md) fails;; *) passes;; esac; }
before() { test $mode = SESSION_REVIEW -a $it = 1 && { concludes 'Gaps Identified'; ends; exit 0; }; }
"#;
    let world = world(SIX, changes);
    let criterion = ["--ac", "the door is there=test -f door"];
    world.write("project/door", "");
    let printed = run(&world, &[TASK, &criterion].concat());
    assert_eq!(printed.exit, 1, "{printed:#?}");
    for words in [
        "Ralph: waiting for your feedback",
        "`ralph session feedback new --id 260131-120000`",
        "In a terminal: `ralph team run --id 260131-120000` continues",
    ] {
        assert!(printed.stdout.contains(words), "{words}: {printed:#?}");
    }
    for words in [
        "Task: Build a door",
        "call 1, INITIALIZE: done",
        "EXECUTING_BATCH, wave 1, iteration 1: 0/6 tasks done, 2/4 at work",
    ] {
        assert!(printed.stderr.contains(words), "{words}: {printed:#?}");
    }
    // Each is called in its time, and those of a wave beside each other.
    let order = lines(&world, "order");
    let place = |what: &str| order.iter().position(|line| line == what).unwrap();
    let first = ["INITIALIZE", "brainstorm", "research", "TASK_BREAKDOWN"];
    assert_eq!(order[..4], first.map(str::to_owned));
    assert_eq!(count(&world, "EXECUTE-task-3"), 2, "{order:?}");
    for (task, on) in SIX {
        for on in on.split(", ").filter(|on| !on.is_empty()) {
            let done = order.iter().rposition(|line| *line == format!("TASK_REVIEW-{on}")).unwrap();
            assert!(place(&format!("EXECUTE-{task}")) > done, "{task} before {on}: {order:?}");
        }
    }
    assert_eq!(order[order.len() - 2..], ["SESSION_REVIEW", "UPDATE_METADATA"].map(str::to_owned));
    assert!(session(&world, "progress.md").contains("[x] task-6"));
    // A name of its own for each, and a call that the hooks can know.
    let who = lines(&world, "who");
    assert_eq!(
        who[0],
        format!(
            "Ralph-v2-Planner|Ralph-v2-Planner|{{\"mode\":\"INITIALIZE\",\"iteration\":1,\"session_id\":\"{ID}\"}}"
        )
    );
    assert!(who.iter().any(|line| line.starts_with("Ralph-v2-Executor|Ralph-v2-Executor|")
        && line.contains("\"task\":\"task-1\"")));
    let logs = world.ralph(&["log", "99", "--json", "--of=team"]).done().json();
    assert_eq!(n_logs(&logs), order.len(), "a log for each call: {logs}");

    give_feedback(&world);
    let before = order.len();
    let printed = run(&world, &[]);
    is_complete(&world, &printed);
    let order = lines(&world, "order");
    assert_eq!(
        order[before..],
        [
            "feedback-analysis",
            "research",
            "UPDATE",
            "REBREAKDOWN",
            "EXECUTE-task-7",
            "TASK_REVIEW-task-7",
            "SESSION_REVIEW",
            "UPDATE_METADATA"
        ]
        .map(str::to_owned)
    );
    // What was agreed to for the first iteration holds for the second.
    assert_eq!(endings(&world), ["awaiting_feedback", "complete"]);
    assert!(session(&world, "progress.md").contains("| 2 | Complete | 7/7 |"));
}

#[test]
fn so_many_work_at_once_as_the_guardrails_let_and_no_more() {
    if is_left_out(3) {
        return;
    }
    // The first three go on when all three are there: one after another they would wait for ever.
    let changes = r#"
executes() {
  mark $task started
  case $task in task-1|task-2|task-3)
    touch "$HOME/in-$task"; for other in 1 2 3; do await in-task-$other; done;;
  esac
  report $(attempt) ''; mark $task review
}
reviews() { touch "$HOME/judged-$task"; for other in 1 2; do await judged-task-$other; done; passes; }
"#;
    let tasks: Vec<(String, &str)> = (1..=5).map(|n| (format!("task-{n}"), "")).collect();
    let tasks: Vec<(&str, &str)> = tasks.iter().map(|(id, on)| (id.as_str(), *on)).collect();
    let world = world(&tasks, changes);
    world.ralph(&["session", "new", "--id", ID, "Build", "a", "door"]).done();
    world.write(
        &format!("project/.ralph-sessions/{ID}.instructions.md"),
        "---\nconcurrency:\n  max_parallel_executors: 3\n  max_parallel_reviewers: 2\n---\n",
    );
    let printed = run(&world, &[]);
    is_complete(&world, &printed);
    assert_eq!((most(&world, "EXECUTE"), most(&world, "TASK_REVIEW")), (3, 2));
    for (task, _) in tasks {
        assert_eq!(count(&world, &format!("EXECUTE-{task}")), 1);
    }
    assert!(printed.stderr.contains("2/3 at work") || printed.stderr.contains("3/3 at work"));
}

#[test]
fn a_task_that_stays_bad_skips_those_behind_it_and_awaits_feedback() {
    if is_left_out(3) {
        return;
    }
    let world = world(
        &[("task-1", ""), ("task-2", ""), ("task-3", "task-1")],
        "reviews() { if test $task = task-1; then fails; else passes; fi; }",
    );
    let printed = run(&world, TASK);
    assert_eq!(printed.exit, 1, "{printed:#?}");
    let why = "task-1 failed; task-3 depends on task-1, which failed";
    assert!(printed.stdout.contains(why), "{printed:#?}");
    assert_eq!(endings(&world), ["awaiting_feedback"]);
    assert_eq!(count(&world, "EXECUTE-task-1"), 2);
    assert_eq!((count(&world, "EXECUTE-task-2"), count(&world, "EXECUTE-task-3")), (1, 0));
    // Without feedback there is nothing to do, and nobody is called.
    let calls = lines(&world, "order").len();
    assert_eq!(run(&world, &[]).exit, 1);
    assert_eq!(lines(&world, "order").len(), calls);
}

/// Lets a run fail a call until it waits, so often, and each wait pass.
#[track_caller]
fn fail_until_given_up(world: &World, what: &str) {
    for (n, wait) in [(2, 30), (3, 60), (4, 60)] {
        let arguments = if n == 2 { TASK } else { &[] };
        let child = begin(world, arguments);
        wait_for("the wait", || failures(world) == n);
        wait_for("that it says so", || journal(world).contains("wait until"));
        signal(&child, "-INT");
        let printed = world.finish(child, "");
        assert_eq!(printed.exit, 130, "{printed:#?}");
        assert!(printed.stderr.contains(&format!("; again in {wait} s")), "{wait}: {printed:#?}");
        assert_eq!(count(world, what), usize::try_from(n).unwrap());
        // Before it is over nobody is called.
        seconds_go_by(world, wait - 10);
        let child = begin(world, &[]);
        wait_for("that it waits still", || journal(world).matches("wait until").count() > 1);
        signal(&child, "-INT");
        world.finish(child, "");
        assert_eq!(count(world, what), usize::try_from(n).unwrap());
        seconds_go_by(world, 10);
        fs::remove_file(journal_file(world)).unwrap();
    }
}

fn journal_file(world: &World) -> std::path::PathBuf {
    let id = world.loop_ids().pop().unwrap_or_default();
    world.path("ralph/loops").join(id).join("journal.jsonl")
}

fn journal(world: &World) -> String {
    fs::read_to_string(journal_file(world)).unwrap_or_default()
}

#[test]
fn a_task_whose_executor_fails_again_and_again_is_split() {
    if is_left_out(3) {
        return;
    }
    let world = world(
        &[("task-1", "")],
        "executes() { test $task != task-1 || exit 3; mark $task started; report $(attempt) ''; mark $task review; }",
    );
    fail_until_given_up(&world, "EXECUTE-task-1");
    let printed = run(&world, &[]);
    is_complete(&world, &printed);
    assert_eq!(count(&world, "EXECUTE-task-1"), 5);
    assert_eq!(count(&world, "REBREAKDOWN_TASK-task-1"), 1);
    assert_eq!(count(&world, "EXECUTE-task-1-small"), 1);
    assert!(printed.stderr.contains("; it is not made again"), "{printed:#?}");
}

#[test]
fn a_call_about_no_task_that_fails_again_and_again_is_for_a_person() {
    let world = world(TWO, "initializes() { exit 3; }");
    fail_until_given_up(&world, "INITIALIZE");
    let printed = run(&world, &[]);
    assert_eq!(printed.exit, 1, "{printed:#?}");
    assert!(printed.stdout.contains("reduce the scope"), "{printed:#?}");
    assert_eq!(endings(&world), ["failed"]);
    assert_eq!(count(&world, "INITIALIZE"), 5);
}

#[test]
fn a_call_that_ends_without_its_work_is_made_again() {
    if is_left_out(3) {
        return;
    }
    let world = world(
        TWO,
        "executes() { test $n = 1 && { ends; exit 0; }; mark $task started; report $(attempt) ''; mark $task review; }",
    );
    let printed = run(&world, TASK);
    is_complete(&world, &printed);
    assert_eq!(count(&world, "EXECUTE-task-1"), 2);
    assert!(
        printed
            .stderr
            .contains("EXECUTE task-1: failed: it ended without completing its call; again now"),
        "{printed:#?}"
    );
}

#[test]
fn a_call_that_takes_longer_than_it_may_is_ended_and_made_again() {
    if is_left_out(3) {
        return;
    }
    let world = world(
        TWO,
        "executes() { test $task-$n = task-1-1 && { mark $task started; touch \"$HOME/hangs\"; exec sleep 600; }; mark $task started; report $(attempt) ''; mark $task review; }",
    );
    let child = begin(&world, TASK);
    wait_for("the one that hangs", || world.path("home/hangs").exists());
    seconds_go_by(&world, 3_610);
    // It looks again at what is said, and sees that the time is over.
    world.ralph(&["session", "signal", "info", "x"]).done();
    let printed = world.finish(child, "");
    is_complete(&world, &printed);
    assert_eq!(count(&world, "EXECUTE-task-1"), 2);
    assert!(printed.stderr.contains("60 minutes are over: ending it"), "{printed:#?}");
    assert!(printed.stderr.contains("failed: it took longer than it may"), "{printed:#?}");
}

fn session_signals(world: &World, folder: &str) -> usize {
    let path = world.path(&format!("project/.ralph-sessions/{ID}/signals/{folder}"));
    fs::read_dir(path).into_iter().flatten().count()
}

#[test]
fn killed_in_every_state_it_goes_on_to_the_same_end() {
    if is_left_out(3) {
        return;
    }
    let modes = [
        "INITIALIZE",
        "brainstorm",
        "research",
        "TASK_BREAKDOWN",
        "EXECUTE",
        "TASK_REVIEW",
        "SESSION_REVIEW",
        "UPDATE_METADATA",
        "feedback-analysis",
        "UPDATE",
        "REBREAKDOWN",
    ];
    // The first of each mode hangs, half of them before their work and half after.
    let changes = r#"
hangs() { touch "$HOME/at-$mode"; exec sleep 600; }
before() { test -e "$HOME/at-$mode" && return; case $mode in brainstorm|EXECUTE|SESSION_REVIEW|UPDATE) after=hangs;; *) hangs;; esac; }
ends() { $after; rm -f "$HOME/now-$mode-$$"; say '{"type":"result","is_error":false,"result":"done"}'; }
"#;
    let world = world(&[("task-1", ""), ("task-2", ""), ("task-3", "task-1, task-2")], changes);
    for (at, mode) in modes.into_iter().enumerate() {
        let arguments = if at == 0 { TASK } else { &[] };
        let mut child = begin(&world, arguments);
        wait_for(mode, || world.path(&format!("home/at-{mode}")).exists());
        signal(&child, "-KILL");
        child.wait().unwrap();
        if mode == "UPDATE_METADATA" {
            give_feedback(&world);
        }
    }
    let printed = run(&world, &[]);
    is_complete(&world, &printed);
    for task in ["task-1", "task-2", "task-3", "task-7"] {
        let text = session(&world, "progress.md");
        assert!(text.contains(&format!("[x] {task}")), "{text}");
    }
    assert_eq!(count(&world, "EXECUTE-task-3"), 1, "{:?}", lines(&world, "order"));
    // What one that was killed had finished is not done again.
    assert_eq!(count(&world, "brainstorm"), 1, "{:?}", lines(&world, "order"));
}

#[test]
fn a_pause_in_mid_batch_holds_what_comes_next_and_a_steer_is_told_to_it() {
    if is_left_out(3) {
        return;
    }
    let changes = "executes() { mark $task started; await go-$task; report $(attempt) ''; mark $task review; }";
    let world = world(&[("task-1", ""), ("task-2", ""), ("task-3", "task-1")], changes);
    let child = begin(&world, TASK);
    wait_for("two at work", || {
        called(&world, "EXECUTE-task-1", 1) && called(&world, "EXECUTE-task-2", 1)
    });
    world.ralph(&["session", "signal", "pause", "lunch"]).done();
    open(&world, "go-task-1");
    open(&world, "go-task-2");
    wait_for("both", || {
        let text = session(&world, "progress.md");
        text.contains("[P] task-1") && text.contains("[P] task-2")
    });
    wait_for("the wait", || journal(&world).contains("paused by PAUSE: lunch"));
    wait_for("their ends", || own(&world).1["running"] == serde_json::json!([]));
    assert_eq!(count(&world, "TASK_REVIEW-task-1"), 0);
    let status = world.ralph(&["status"]).done().stdout;
    assert!(status.contains(ID) || status.contains("Build a door"), "{status}");
    open(&world, "go-task-3");
    world.ralph(&["session", "signal", "steer", "use oak"]).done();
    let printed = world.finish(child, "");
    is_complete(&world, &printed);
    assert!(
        printed.stderr.contains("STEER, INFO, STOP or `ralph resume` ends that"),
        "{printed:#?}"
    );
    let told = call(&world, "EXECUTE-task-3", 1);
    assert!(told.contains("SIGNAL: STEER: use oak"), "{told}");
    assert_eq!(session_signals(&world, "inputs"), 0);
}

#[test]
fn a_stop_in_mid_batch_lets_those_at_work_finish_and_the_next_run_goes_on() {
    if is_left_out(3) {
        return;
    }
    let changes =
        "executes() { mark $task started; await go; report $(attempt) ''; mark $task review; }";
    let world = world(&[("task-1", ""), ("task-2", "")], changes);
    let child = begin(&world, TASK);
    wait_for("two at work", || {
        called(&world, "EXECUTE-task-1", 1) && called(&world, "EXECUTE-task-2", 1)
    });
    world.ralph(&["session", "signal", "stop", "enough"]).done();
    wait_for("that it was heard", || journal(&world).contains("ended by STOP: enough"));
    open(&world, "go");
    let printed = world.finish(child, "");
    assert_eq!(printed.exit, 1, "{printed:#?}");
    assert_eq!(session_signals(&world, "processed"), 1, "the loop has ended");
    assert!(printed.stdout.contains("ended by STOP: enough"), "{printed:#?}");
    assert!(
        printed.stdout.contains("`ralph team run --id 260131-120000` continues"),
        "{printed:#?}"
    );
    let text = session(&world, "progress.md");
    assert!(text.contains("[P] task-1") && text.contains("[P] task-2"), "{text}");
    assert_eq!(endings(&world), ["cancelled"]);
    is_complete(&world, &run(&world, &[]));
    assert_eq!(count(&world, "EXECUTE-task-1"), 1);
}

#[test]
fn a_pause_and_a_stop_hold_at_once_also_where_no_agent_is_told_anything() {
    if is_left_out(3) {
        return;
    }
    let changes =
        "before() { case $mode in SESSION_REVIEW|UPDATE_METADATA) await go-$mode;; esac; }";
    let world = world(&[("task-1", "")], changes);
    let child = begin(&world, TASK);
    wait_for("the review", || called(&world, "SESSION_REVIEW", 1));
    world.ralph(&["session", "signal", "pause", "lunch"]).done();
    wait_for("the wait", || journal(&world).contains("paused by PAUSE: lunch"));
    open(&world, "go-SESSION_REVIEW");
    wait_for("its end", || own(&world).1["running"] == serde_json::json!([]));
    let resumed = world.ralph(&["resume"]).done().stdout;
    assert!(resumed.contains("PAUSE no longer holds its session"), "{resumed}");
    assert!(!called(&world, "UPDATE_METADATA", 1), "nothing was begun before");
    wait_for("what is next", || called(&world, "UPDATE_METADATA", 1));
    assert_eq!(world.ralph(&["resume"]).exit, 1, "nothing holds it any more");
    world.ralph(&["session", "signal", "stop", "enough"]).done();
    wait_for("that it was heard", || journal(&world).contains("ended by STOP: enough"));
    open(&world, "go-UPDATE_METADATA");
    let printed = world.finish(child, "");
    assert_eq!(printed.exit, 1, "{printed:#?}");
    assert!(printed.stdout.contains("ended by STOP: enough"), "{printed:#?}");
    assert_eq!((session_signals(&world, "inputs"), endings(&world)), (0, vec!["cancelled".into()]));
    is_complete(&world, &run(&world, &[]));
    assert_eq!(count(&world, "UPDATE_METADATA"), 1);
}

/// A person steers while the tasks are laid down.
fn steer_in_the_breakdown(world: &World) {
    wait_for("the breakdown", || world.path("home/breaking").exists());
    world.ralph(&["session", "signal", "steer", "use oak"]).done();
    open(world, "told");
}

#[test]
fn what_is_said_again_for_an_agent_that_failed_does_not_end_a_pause() {
    if is_left_out(3) {
        return;
    }
    let changes = "executes() { mark $task started; test $n = 1 && { await go; exit 1; }; report $(attempt) ''; mark $task review; }\n\
        breaks_down() { touch \"$HOME/breaking\"; await told; cp \"$HOME\"/tasks/* ${path}tasks/; mark plan-breakdown done; }";
    let world = world(&[("task-1", "")], changes);
    let child = begin(&world, TASK);
    steer_in_the_breakdown(&world);
    let is_told = |n| {
        called(&world, "EXECUTE-task-1", n)
            && call(&world, "EXECUTE-task-1", n).contains("SIGNAL: STEER: use oak")
    };
    wait_for("the executor", || is_told(1));
    world.ralph(&["session", "signal", "pause"]).done();
    wait_for("the wait", || journal(&world).contains("paused by PAUSE"));
    open(&world, "go");
    wait_for("its failure", || journal(&world).contains("failed: "));
    world.ralph(&["session", "signal", "stop"]).done();
    assert_eq!(world.finish(child, "").exit, 1);
    assert_eq!(count(&world, "EXECUTE-task-1"), 1, "{:?}", lines(&world, "order"));
    assert_eq!(session_signals(&world, "inputs"), 1, "the steer is for whoever goes on");
    is_complete(&world, &run(&world, &[]));
    assert!(is_told(2));
}

#[test]
fn what_was_told_to_an_agent_that_is_killed_is_told_again() {
    if is_left_out(3) {
        return;
    }
    let changes = "executes() { mark $task started; test $n = 1 && { touch \"$HOME/at\"; exec sleep 600; }; report $(attempt) ''; mark $task review; }\n\
        breaks_down() { touch \"$HOME/breaking\"; await told; cp \"$HOME\"/tasks/* ${path}tasks/; mark plan-breakdown done; }";
    let world = world(&[("task-1", "")], changes);
    let mut child = begin(&world, TASK);
    steer_in_the_breakdown(&world);
    wait_for("the executor", || world.path("home/at").exists());
    assert!(call(&world, "EXECUTE-task-1", 1).contains("SIGNAL: STEER: use oak"));
    assert_eq!(session_signals(&world, "inputs"), 0);
    signal(&child, "-KILL");
    child.wait().unwrap();
    is_complete(&world, &run(&world, &[]));
    assert!(call(&world, "EXECUTE-task-1", 2).contains("SIGNAL: STEER: use oak"));
}

#[test]
fn a_damaged_progress_is_told_with_its_line_and_repaired() {
    if is_left_out(3) {
        return;
    }
    let world = world(TWO, "");
    run(&world, &[TASK, &["-n", "6"]].concat());
    let path = format!("project/.ralph-sessions/{ID}/progress.md");
    let text = session(&world, "progress.md");
    let line = text.lines().position(|line| line.contains("[x] task-1")).unwrap() + 1;
    world.write(&path, &text.replace("[x] task-1", "[?] task-1"));
    let (_, kept) = own(&world);
    let lost = fs::read_dir(world.path("ralph/sessions")).unwrap().next().unwrap().unwrap().path();
    fs::remove_dir_all(lost).unwrap();
    assert!(kept["record"]["progress"].is_object(), "{kept}");
    let printed = run(&world, &[]);
    is_complete(&world, &printed);
    assert!(printed.stderr.contains(&format!("progress.md:{line}")), "{printed:#?}");
    let told = call(&world, "REPAIR_STATE", 1);
    assert!(told.contains(&format!("progress.md:{line}")), "{told}");
    assert_eq!(count(&world, "EXECUTE-task-1"), 1);
}

#[test]
fn a_second_run_of_the_session_is_refused() {
    if is_left_out(3) {
        return;
    }
    let world = world(TWO, "before() { await go; }");
    let child = begin(&world, TASK);
    wait_for("the first", || called(&world, "INITIALIZE", 1));
    let printed = run(&world, &[]);
    printed.check(
        1,
        "",
        "permission mode: bypassPermissions\n\
         ralph: another `ralph team run` drives orchestration 260131-120000\n",
    );
    open(&world, "go");
    let printed = world.finish(child, "");
    is_complete(&world, &printed);
}

#[test]
fn each_bound_ends_it_and_the_next_run_goes_on() {
    if is_left_out(3) {
        return;
    }
    let world = world(TWO, "");
    let printed = run(&world, &[TASK, &["-n", "3"]].concat());
    assert_eq!(printed.exit, 1, "{printed:#?}");
    assert_eq!(lines(&world, "order").len(), 3);
    assert!(printed.stdout.contains("`ralph team run --id"), "{printed:#?}");
    // Each uses 100.
    let printed = run(&world, &["--max-tokens", "150"]);
    assert_eq!(printed.exit, 1, "{printed:#?}");
    assert_eq!(lines(&world, "order").len(), 5);
    assert_eq!(endings(&world), ["max_iterations", "budget"]);
    is_complete(&world, &run(&world, &[]));
}

#[test]
fn work_that_is_done_with_the_last_call_is_complete() {
    let world = world(&[("task-1", "")], "");
    let printed = run(&world, &[TASK, &["-n", "8"]].concat());
    is_complete(&world, &printed);
    assert_eq!(lines(&world, "order").len(), 8);
}

#[test]
fn criteria_that_do_not_hold_are_for_a_persons_feedback() {
    if is_left_out(3) {
        return;
    }
    let world = world(&[("task-1", "")], "");
    let printed = run(&world, &[TASK, &["--ac", "the door is there=test -f door"]].concat());
    assert_eq!(printed.exit, 1, "{printed:#?}");
    assert!(
        printed.stdout.contains("all tasks are done, but the criteria do not hold: AC-1"),
        "{printed:#?}"
    );
    assert_eq!(endings(&world), ["awaiting_feedback"]);
    // The same are asked again, without being said again.
    world.write("project/door", "");
    let printed = run(&world, &["--id", ID]);
    is_complete(&world, &printed);
    assert_eq!(endings(&world), ["awaiting_feedback", "complete"]);
}

#[test]
fn once_lets_those_at_work_finish_and_twice_ends_them() {
    if is_left_out(3) {
        return;
    }
    let changes =
        "executes() { mark $task started; await go-$n; report $(attempt) ''; mark $task review; }";
    let world = world(&[("task-1", ""), ("task-2", "")], changes);
    let mut child = begin(&world, TASK);
    wait_for("two at work", || {
        called(&world, "EXECUTE-task-1", 1) && called(&world, "EXECUTE-task-2", 1)
    });
    signal(&child, "-INT");
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("those at work will be finished") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it says what Ctrl-C does");
    }
    signal(&child, "-INT");
    std::io::copy(&mut said, &mut std::io::sink()).unwrap();
    let printed = world.finish(child, "");
    assert_eq!(printed.exit, 130, "{printed:#?}");
    assert!(printed.stdout.contains("is paused: ended by Ctrl-C"), "{printed:#?}");
    all_are_gone(&world);
    assert_eq!(failures(&world), 0, "what a person ends has not failed");
    let child = begin(&world, &[]);
    wait_for("them again", || {
        called(&world, "EXECUTE-task-1", 2) && called(&world, "EXECUTE-task-2", 2)
    });
    signal(&child, "-INT");
    open(&world, "go-2");
    let printed = world.finish(child, "");
    assert_eq!(printed.exit, 130, "{printed:#?}");
    let text = session(&world, "progress.md");
    assert!(text.contains("[P] task-1") && text.contains("[P] task-2"), "{text}");
    is_complete(&world, &run(&world, &[]));
}

#[test]
fn a_cancel_in_another_terminal_ends_all_and_a_pause_lets_them_finish() {
    if is_left_out(3) {
        return;
    }
    let changes =
        "executes() { mark $task started; await go; report $(attempt) ''; mark $task review; }";
    let world = world(&[("task-1", ""), ("task-2", "")], changes);
    let child = begin(&world, TASK);
    wait_for("two at work", || {
        called(&world, "EXECUTE-task-1", 1) && called(&world, "EXECUTE-task-2", 1)
    });
    world.ralph(&["cancel"]).done();
    let printed = world.finish(child, "");
    assert_eq!(printed.exit, 1, "{printed:#?}");
    assert!(printed.stdout.contains("Ralph: cancelled"), "{printed:#?}");
    all_are_gone(&world);
    let child = begin(&world, &[]);
    wait_for("them again", || {
        called(&world, "EXECUTE-task-1", 2) && called(&world, "EXECUTE-task-2", 2)
    });
    world.ralph(&["pause"]).done();
    open(&world, "go");
    let printed = world.finish(child, "");
    assert_eq!(printed.exit, 0, "{printed:#?}");
    assert!(printed.stdout.contains("is paused: you paused it"), "{printed:#?}");
    assert_eq!(count(&world, "TASK_REVIEW-task-1"), 0);
    is_complete(&world, &run(&world, &[]));
}

#[test]
fn a_usage_limit_rests_it_and_no_call_has_failed() {
    if is_left_out(3) {
        return;
    }
    let limited = r#"test -e "$HOME/limit" && { say '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":4102444800}}'; say '{"type":"result","is_error":true,"result":"limit","api_error_status":429}'; exit 1; }"#;
    let world = world(TWO, &format!("before() {{\n{limited}\nreturn 0\n}}"));
    open(&world, "limit");
    let printed = run(&world, TASK);
    assert_eq!(printed.exit, 4, "{printed:#?}");
    assert!(printed.stdout.contains("is paused: the usage limit is reached"), "{printed:#?}");
    assert_eq!(failures(&world), 0);
    fs::remove_file(world.path("home/limit")).unwrap();
    is_complete(&world, &run(&world, &[]));
}

#[test]
fn nothing_is_begun_without_a_client_or_its_agents() {
    let world = world(TWO, "");
    fs::remove_file(world.path("home/.claude/agents/Ralph-v2-Executor.md")).unwrap();
    let printed = run(&world, TASK);
    assert_eq!(printed.exit, 4, "{printed:#?}");
    assert!(
        printed.stderr.contains("could not find the agents `Ralph-v2-Executor`; `ralph install`"),
        "{printed:#?}"
    );
    fs::remove_file(world.path("bin/claude")).unwrap();
    let printed = run(&world, TASK);
    assert_eq!(printed.exit, 4, "{printed:#?}");
    assert!(printed.stderr.contains("could not find the client"), "{printed:#?}");
    assert!(!world.path("project/.ralph-sessions").exists(), "no session is begun");
}

#[test]
fn a_dry_run_shows_the_commands_and_writes_nothing() {
    let world = world(TWO, "");
    let dry =
        [TASK, &["--dry-run", "--permission-mode", "acceptEdits", "--", "--model", "m"]].concat();
    let printed = run(&world, &dry).done();
    for words in [
        "RALPH_ROUND=Ralph-v2-Planner",
        "RALPH_SESSION_CALL=",
        "MODE: INITIALIZE\nUSER_REQUEST: Build a door",
        "--session-id ID --permission-mode acceptEdits --allowedTools",
        "--agent Ralph-v2-Planner --model m",
    ] {
        assert!(printed.stdout.contains(words), "{words}: {}", printed.stdout);
    }
    assert!(!world.path("project/.ralph-sessions").exists() && !world.path("ralph/loops").exists());
}

#[test]
fn a_session_is_named_after_the_time_where_it_is_begun() {
    let world = World::new();
    let mut command = world.command(Path::new(env!("CARGO_BIN_EXE_ralph")), "");
    // Fourteen hours before and after: no name is that of both.
    let mut names = Vec::new();
    for zone in ["AAA-14", "BBB+12"] {
        command.env("TZ", zone);
        let child = start(command.args(["session", "new", "x"]));
        let printed = world.finish(child, "").done();
        names.push(printed.stdout.split(' ').nth(1).unwrap().to_owned());
        command = world.command(Path::new(env!("CARGO_BIN_EXE_ralph")), "");
    }
    let moment = |name: &str| jiff::civil::DateTime::strptime("%y%m%d-%H%M%S", name).unwrap();
    let apart = moment(&names[0]) - moment(&names[1]);
    let hours = apart.total((jiff::Unit::Hour, jiff::SpanRelativeTo::days_are_24_hours())).unwrap();
    assert!((hours - 26.0).abs() < 0.1, "{names:?}");
}

#[test]
fn what_an_agent_leaves_for_the_users_git_needs_the_users_word() {
    if is_left_out(3) {
        return;
    }
    let leaves = "mkdir -p new/.git; echo '[core]' >new/.git/config; echo '[core]' >made";
    let world = world(
        &TWO[..1],
        &format!(
            "executes() {{ mark $task started; report $(attempt) ''; {leaves}; mark $task review; }}"
        ),
    );
    let printed = run(&world, &[TASK, &["--ac", "made=test -e made"]].concat());
    assert_eq!(printed.exit, 1, "{printed:?}");
    assert!(
        printed.stdout.contains("may run: `new/.git`; `ralph accept` accepts it"),
        "{printed:?}"
    );
    let accepted = world.ralph(&["accept"]).done();
    assert!(accepted.stdout.contains("taken: new/.git"), "{accepted:?}");
    let printed = run(&world, &["--id", ID]);
    assert_eq!(printed.exit, 0, "{printed:?}");
}
