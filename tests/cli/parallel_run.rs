//! `ralph run --parallel` beside clients that are scripts: that they work at once, and what becomes of
//! what they leave.

use crate::log::n_logs;
use crate::world::{Printed, World, start, wait_for};
use ralph_test_support::is_running;
use ralph_test_support::sample::is_left_out;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Child;

/// What every client does first: `sid` is its session, `id` its task, `n` counts its attempts.
const PRELUDE: &str = r#"#!/bin/sh
[ "$1" = --version -o "$1" = /cost ] && echo '2.1.328 (Claude Code)' && exit
say() { printf '%s\n' "$1"; }
for arg; do
  test "$before" = --session-id && sid=$arg
  before=$arg
done
here=${PWD##*/}
id=${here#ralph-*-}; id=${id%%-*}
n=1; while test -e "$HOME/call-$id-$n"; do n=$((n+1)); done
touch "$HOME/call-$id-$n"
echo $$ >>"$HOME/pids"
closes() { CLAUDE_CODE_SESSION_ID=$sid ralph task done $id --owner 'ralph build' --result "did $id" >/dev/null; }
await() { i=0; until test -e "$HOME/$1" || test $i -gt 3000; do sleep 0.02; i=$((i+1)); done; }
ends() { say '{"type":"result","is_error":false,"result":"done","modelUsage":{"m":{"inputTokens":60,"outputTokens":40}}}'; }
say '{"type":"system","subtype":"init","session_id":"s"}'
"#;

/// Writes the file that its task is named after, and closes it.
pub(crate) const WORKS: &str = "echo $id >$id; closes; ends";

/// Tasks `(id, deps)`, each changing the file of its name, in a repository with one commit; a client
/// that runs this script.
pub(crate) fn world(tasks: &[(&str, &[&str])], client: &str) -> World {
    let world = without_tasks(client);
    plan(&world, tasks);
    world
}

pub(crate) fn plan(world: &World, tasks: &[(&str, &[&str])]) {
    let last = tasks.last().unwrap().0;
    let graph: Vec<Value> = tasks
        .iter()
        .map(|(id, deps)| json!({"id": id, "name": format!("write {id}"), "deps": deps, "completion_condition": "c", "files": [id]}))
        .collect();
    let criteria = json!([{"id": "AC-1", "description": "the last is there", "verification_command": format!("test -f {last}")}]);
    let plan = json!({"prompt": "p", "acceptance_criteria": criteria, "task_graph": graph});
    world.run("", &["task", "import", "-"], &plan.to_string()).done();
}

pub(crate) fn without_tasks(client: &str) -> World {
    let world = World::new().permissive().under_git();
    for tool in ["sh", "test", "touch", "sleep", "cat", "kill", "rm", "ls"] {
        let places = ["/usr/bin", "/bin"].map(|folder| format!("{folder}/{tool}"));
        let Some(place) = places.iter().find(|place| fs::exists(place).unwrap()) else { continue };
        let _ = symlink(place, world.path("bin").join(tool));
    }
    symlink(env!("CARGO_BIN_EXE_ralph"), world.path("bin/ralph")).unwrap();
    world.write("home/.gitconfig", "[user]\nname = t\nemail = t@example.com\n");
    world.write("project/shared", "0\n");
    git(&world, &["add", "-A"]);
    git(&world, &["commit", "-q", "-m", "first"]);
    script(&world, client);
    world
}

fn script(world: &World, client: &str) {
    let path = world.write("bin/claude", &format!("{PRELUDE}{client}\n"));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn git(world: &World, arguments: &[&str]) -> String {
    let output = world.command(Path::new("git"), "").args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A run that goes on beside the test.
fn begin(world: &World, arguments: &[&str]) -> Child {
    let mut command = world.command(Path::new(env!("CARGO_BIN_EXE_ralph")), "");
    start(command.args(["parallel", "run"]).args(arguments))
}

fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    let sent = std::process::Command::new("kill").args([name, &pid]).status().unwrap();
    assert!(sent.success());
}

fn called(world: &World, id: &str, n: u32) -> bool {
    world.path(&format!("home/call-{id}-{n}")).exists()
}

fn open(world: &World, gate: &str) {
    world.write(&format!("home/{gate}"), "");
}

/// Waits until no client that was ever started is alive.
#[track_caller]
fn all_are_gone(world: &World) {
    let pids = fs::read_to_string(world.path("home/pids")).unwrap();
    wait_for("the end of all clients", || {
        pids.lines().all(|pid| !is_running(pid.trim().parse().unwrap()))
    });
}

/// The only loop that is not a worker's.
fn above(world: &World) -> Value {
    let all = world.loop_ids().into_iter().map(|id| {
        let path = world.path("ralph/loops").join(id).join("state.json");
        serde_json::from_slice::<Value>(&fs::read(path).unwrap()).unwrap()
    });
    let mut all: Vec<Value> = all.filter(|state| state.get("parent").is_none()).collect();
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn statuses(world: &World) -> Vec<String> {
    let state = above(world);
    let tasks = state["task_graph"].as_array().unwrap();
    tasks.iter().map(|task| task["status"].as_str().unwrap().to_owned()).collect()
}

pub(crate) fn run(world: &World, arguments: &[&str]) -> Printed {
    world.ralph(&[&["parallel", "run"], arguments].concat())
}

#[track_caller]
fn is_complete(world: &World, printed: &Printed) {
    assert_eq!(printed.exit, 0, "{printed:#?}");
    assert!(printed.stdout.contains("Ralph: done in "), "{printed:?}");
    assert!(world.loop_ids().is_empty(), "all are put away");
    assert!(
        fs::read_dir(world.path("ralph/manifest")).unwrap().count() <= 1,
        "no session is bound"
    );
}

#[test]
fn four_work_at_once_and_a_fifth_waits_for_one_of_them() {
    // The first four go on when all four are there: one after another they would wait for ever.
    let client = r#"touch "$HOME/now-$id"
set -- "$HOME"/now-*; echo $# >>"$HOME/most"
case $id in a|b|c|d)
  touch "$HOME/in-$id"; for other in a b c d; do await in-$other; done;;
esac
echo $id >$id
rm "$HOME/now-$id"
closes; ends"#;
    let tasks: [(&str, &[&str]); 6] =
        [("a", &[]), ("b", &[]), ("c", &[]), ("d", &[]), ("e", &[]), ("f", &["a", "e"])];
    let world = world(&tasks, client);
    let printed = run(&world, &[]);
    is_complete(&world, &printed);
    for (id, _) in tasks {
        assert!(called(&world, id, 1) && !called(&world, id, 2), "{id}");
        let text = fs::read_to_string(world.path("project").join(id)).unwrap();
        assert_eq!(text.trim(), id);
    }
    let most = fs::read_to_string(world.path("home/most")).unwrap();
    let most: Vec<u32> = most.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!((most.len(), most.iter().max()), (6, Some(&4)), "{most:?}");
    assert_eq!(git(&world, &["status", "--porcelain"]), "", "the main work tree is clean");
    assert_eq!(n_logs(&world.ralph(&["log", "99", "--json"]).done().json()), 6);
}

#[test]
fn workers_have_branches_beside_one_that_is_named_after_their_loop() {
    let world = world(&[("a", &[])], WORKS);
    let id = world.loop_id();
    git(&world, &["branch", &format!("ralph/{id}")]);
    is_complete(&world, &run(&world, &[]));
    let branches = git(&world, &["branch", "--list", "--format=%(refname:short)", "ralph/*"]);
    assert_eq!(branches, format!("ralph/{id}\nralph/workers-{id}/a\n"));
}

#[test]
fn the_box_of_a_task_is_ticked_when_its_work_is_merged() {
    if is_left_out(3) {
        return;
    }
    let client = format!(r#"cat "$HOME/../project/prd.json" >"$HOME/plan-$id"; {WORKS}"#);
    let world = without_tasks(&client);
    let story = |id: &str, after: &[&str]| json!({"id": id, "title": id, "acceptanceCriteria": ["it is"], "dependsOn": after, "passes": false});
    let prd = json!({"userStories": [story("a", &[]), story("b", &["a"])], "verificationCommands": {"b": "test -f b"}});
    world.write("project/prd.json", &prd.to_string());
    world.ralph(&["task", "import", "prd.json"]).done();
    is_complete(&world, &run(&world, &[]));
    let passes = |name: &str| {
        let plan: Value =
            serde_json::from_str(&fs::read_to_string(world.path(name)).unwrap()).unwrap();
        [0, 1].map(|at| plan["userStories"][at]["passes"] == true)
    };
    assert_eq!(passes("home/plan-a"), [false, false]);
    assert_eq!(passes("home/plan-b"), [true, false], "the second worker saw the first one's tick");
    assert_eq!(passes("project/prd.json"), [true, true]);
}

#[test]
fn done_without_a_change_is_not_done() {
    let client = "test $n -gt 1 && echo x >$id\ncloses; ends";
    let world = world(&[("a", &[])], client);
    let printed = run(&world, &[]);
    assert!(
        printed
            .stderr
            .contains("a is ready again: a worker says that it is done, and nothing has changed"),
        "{printed:#?}"
    );
    is_complete(&world, &printed);
    assert!(called(&world, "a", 2));
}

#[test]
fn a_worker_that_dies_is_replaced_and_leaves_nothing() {
    // The first ends; the second takes its own holder with it, and would go on for ever.
    let client = format!("case $n in 1) exit 3;; 2) kill -9 $PPID; sleep 600;; esac\n{WORKS}");
    let world = world(&[("a", &[])], &client);
    let printed = run(&world, &[]);
    assert!(printed.stderr.contains("a is ready again: a worker left it open: "), "{printed:#?}");
    assert!(printed.stderr.contains("its process ended without a word (signal: 9"), "{printed:#?}");
    is_complete(&world, &printed);
    all_are_gone(&world);
}

#[test]
fn clients_that_crash_are_not_started_for_ever() {
    let world = world(&[("a", &[])], "exit 3");
    let printed = run(&world, &[]);
    assert_eq!(printed.exit, 4, "{printed:#?}");
    assert!(
        printed.stdout.contains("crashed 3 times in a row; `ralph run --parallel` continues"),
        "{printed:#?}"
    );
    assert_eq!(above(&world)["pause"]["cause"], "crashed");
    assert!(printed.stdout.contains("kept of a: "), "{printed:#?}");
}

const FOUR: [(&str, &[&str]); 4] = [("a", &[]), ("b", &[]), ("c", &[]), ("d", &[])];

#[test]
fn a_cancel_ends_all_that_are_at_work() {
    let world = world(&FOUR, "await never; ends");
    let child = begin(&world, &[]);
    wait_for("four at work", || FOUR.iter().all(|(id, _)| called(&world, id, 1)));
    let listed = world.ralph(&["status", "--all"]).done().stdout;
    assert_eq!(listed.matches("\n  [LOOP]").count(), 4, "{listed}");
    let above = above(&world)["loop_id"].as_str().unwrap().to_owned();
    let first = listed.lines().nth(1).unwrap();
    assert!(first.starts_with("[LOOP]"), "workers stand below their loop: {listed}");
    let said = world.ralph(&["cancel"]).done().stdout;
    assert!(said.contains("Its 4 workers end too"), "{said}");
    let printed = world.finish(child, "");
    assert_eq!(printed.exit, 1, "{printed:#?}");
    assert!(printed.stdout.contains("Ralph: cancelled"), "{printed:#?}");
    all_are_gone(&world);
    assert!(world.loop_ids().is_empty());
    assert!(fs::read_dir(world.path("ralph/manifest")).unwrap().count() <= 1, "of {above}");
}

/// What stands in the mailboxes of all loops, the one above first.
fn mailboxes(world: &World) -> Vec<Vec<String>> {
    let texts = |id: &String| {
        let inputs = world.path("ralph/loops").join(id).join("signals/inputs");
        let files = fs::read_dir(inputs).into_iter().flatten().flatten();
        let mut texts: Vec<String> =
            files.map(|file| fs::read_to_string(file.path()).unwrap()).collect();
        texts.sort();
        texts
    };
    world.loop_ids().iter().map(texts).collect()
}

#[test]
fn what_a_person_says_reaches_those_at_work_and_those_that_begin_later() {
    if is_left_out(3) {
        return;
    }
    let world = world(
        &[("a", &[]), ("b", &[]), ("c", &["a", "b"])],
        "await go; echo $id >$id; closes; ends",
    );
    let child = begin(&world, &[]);
    wait_for("two at work", || called(&world, "a", 1) && called(&world, "b", 1));
    let said = world.ralph(&["signal", "steer", "use tabs"]).done().stdout;
    assert!(said.contains("each of its workers hears it"), "{said}");
    let heard = mailboxes(&world);
    assert_eq!(heard.len(), 3);
    assert!(
        heard.iter().all(|texts| texts.len() == 1 && texts[0].contains("use tabs")),
        "{heard:?}"
    );
    script(&world, "await more; echo $id >$id; closes; ends");
    open(&world, "go");
    wait_for("the third at work", || called(&world, "c", 1));
    let heard = mailboxes(&world);
    assert!(
        heard.iter().all(|texts| texts.len() == 1 && texts[0].contains("use tabs")),
        "{heard:?}"
    );
    open(&world, "more");
    is_complete(&world, &world.finish(child, ""));
}

#[test]
fn a_pause_rests_all_and_starts_no_other() {
    if is_left_out(3) {
        return;
    }
    let world = world(&[("a", &[]), ("b", &["a"])], "await go; ends");
    let child = begin(&world, &[]);
    wait_for("one at work", || called(&world, "a", 1));
    world.ralph(&["pause"]).done();
    let phases: Vec<Value> = world
        .loop_ids()
        .iter()
        .map(|id| {
            let path = world.path("ralph/loops").join(id).join("state.json");
            serde_json::from_slice::<Value>(&fs::read(path).unwrap()).unwrap()["phase"].clone()
        })
        .collect();
    assert_eq!(phases, ["paused", "paused"]);
    open(&world, "go");
    let printed = world.finish(child, "");
    assert_eq!(printed.exit, 1, "{printed:#?}");
    assert!(
        printed.stdout.contains("you paused it; `ralph run --parallel` continues"),
        "{printed:#?}"
    );
    assert_eq!(statuses(&world), ["pending", "pending"]);
    assert!(!called(&world, "a", 2));
    script(&world, WORKS);
    is_complete(&world, &run(&world, &[]));
}

#[test]
fn a_conflict_is_done_again_by_the_next_worker_from_where_things_are() {
    if is_left_out(3) {
        return;
    }
    // Both change one line of one file; which of them is second finds the other's word there.
    let client = r#"touch "$HOME/in-$id"; test $n = 1 && { await in-a; await in-b; }
cat shared >>"$HOME/seen-$id-$n"
echo $id >shared; echo $id >$id
closes; ends"#;
    let world = world(&[("a", &[]), ("b", &[])], client);
    let printed = run(&world, &[]);
    is_complete(&world, &printed);
    let again = if called(&world, "a", 2) { "a" } else { "b" };
    let other = if again == "a" { "b" } else { "a" };
    assert!(!called(&world, other, 2) && called(&world, again, 2), "{printed:#?}");
    let seen =
        |id: &str, n| fs::read_to_string(world.path(&format!("home/seen-{id}-{n}"))).unwrap();
    assert_eq!((seen(again, 1).trim(), seen(again, 2).trim()), ("0", other));
    assert_eq!(fs::read_to_string(world.path("project/shared")).unwrap().trim(), again);
    assert!(printed.stderr.contains("shared"), "{printed:#?}");
}

#[test]
fn a_run_that_is_killed_ends_its_clients_and_the_next_goes_on() {
    if is_left_out(3) {
        return;
    }
    let client = format!("case $id in a) {WORKS};; *) await go;; esac");
    let world = world(&[("a", &[]), ("b", &[]), ("c", &["a"])], &client);
    let mut child = begin(&world, &[]);
    wait_for("the second wave", || called(&world, "b", 1) && called(&world, "c", 1));
    signal(&child, "-9");
    child.wait().unwrap();
    all_are_gone(&world);
    assert_eq!(statuses(&world), ["done", "in_progress", "in_progress"]);
    let refused = world.ralph(&["parallel", "run", "--dry-run"]).done();
    assert!(refused.stderr.contains("no task could be begun now"), "{refused:?}");
    script(&world, WORKS);
    let printed = run(&world, &[]);
    for id in ["b", "c"] {
        let freed = format!("{id} is ready again: a worker left it open: its run is gone");
        assert!(printed.stderr.contains(&freed), "{printed:#?}");
        assert!(
            printed
                .stderr
                .contains(&format!("kept of {id}: [ROOT]/project/.claude/worktrees/ralph-")),
            "{printed:#?}"
        );
    }
    is_complete(&world, &printed);
    let kept = fs::read_dir(world.path("project/.claude/worktrees")).unwrap();
    let kept = kept.filter(|one| one.as_ref().unwrap().path().is_dir()).count();
    assert!(kept >= 2, "{kept}");
}

#[test]
fn what_a_killed_run_had_finished_counts() {
    let client = "echo $id >$id; closes; touch \"$HOME/closed\"; await go";
    let world = world(&[("a", &[])], client);
    let mut child = begin(&world, &[]);
    wait_for("the task is closed", || world.path("home/closed").exists());
    signal(&child, "-9");
    child.wait().unwrap();
    let printed = run(&world, &[]);
    assert!(printed.stderr.contains("a done: did a"), "{printed:#?}");
    is_complete(&world, &printed);
    assert!(!called(&world, "a", 2));
}

#[test]
fn one_at_a_time_works_on_a_loop() {
    let world = world(&[("a", &[])], &format!("await go; {WORKS}"));
    let child = begin(&world, &[]);
    wait_for("one at work", || called(&world, "a", 1));
    for command in [&["parallel", "run"][..], &["build"]] {
        let refused = world.ralph(command);
        assert_eq!(refused.exit, 1);
        assert!(refused.stderr.contains("another `ralph run` works on this loop"), "{refused:?}");
    }
    open(&world, "go");
    is_complete(&world, &world.finish(child, ""));
}

#[test]
fn one_ctrl_c_lets_those_at_work_finish() {
    let world = world(&[("a", &[]), ("b", &[])], &format!("await go; {WORKS}"));
    let child = begin(&world, &["-n", "1"]);
    wait_for("one at work", || called(&world, "a", 1));
    signal(&child, "-INT");
    open(&world, "go");
    let printed = world.finish(child, "");
    assert_eq!(printed.exit, 130, "{printed:#?}");
    assert!(printed.stderr.contains("those at work will be finished"), "{printed:#?}");
    assert_eq!(statuses(&world), ["done", "pending"]);
    assert!(world.path("project/a").exists(), "what is done is merged: {printed:#?}");
    assert!(!called(&world, "b", 1));
}

#[test]
fn a_second_ctrl_c_ends_all_at_once_and_frees_their_tasks() {
    let world = world(&FOUR, "await never; touch \"$HOME/went-on\"");
    let mut child = begin(&world, &[]);
    wait_for("four at work", || FOUR.iter().all(|(id, _)| called(&world, id, 1)));
    signal(&child, "-TERM");
    let code = child.wait().unwrap().code();
    assert_eq!(code, Some(130));
    all_are_gone(&world);
    assert!(!world.path("home/went-on").exists(), "nobody came to the end of their work");
    assert_eq!(statuses(&world), ["pending"; 4]);
    let state = above(&world);
    assert_eq!(state["pause"]["cause"], "person");
    assert!(state["workers"].as_array().unwrap().iter().all(|one| one["standing"] != "running"));
    assert_eq!(world.loop_ids().len(), 1, "the workers' loops are put away");
}

#[test]
fn a_usage_limit_rests_the_loop_after_all_have_ended() {
    let client = r#"say '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":4102444800}}'
say '{"type":"result","is_error":true,"api_error":"usage_limit_reached","api_error_status":429,"result":"limit"}'
exit 1"#;
    let world = world(&[("a", &[]), ("b", &["a"])], client);
    let printed = run(&world, &[]);
    assert_eq!(printed.exit, 4, "{printed:#?}");
    assert!(printed.stdout.contains("`ralph run --parallel` continues"), "{printed:#?}");
    assert_eq!(above(&world)["pause"]["cause"], "rate_limited");
    assert_eq!(statuses(&world), ["pending", "pending"]);
}

#[test]
fn what_workers_use_is_the_loops_and_its_bound_starts_no_other() {
    let world = world(&[("a", &[]), ("b", &["a"])], WORKS);
    world.change_state(|state| state["limits"]["max_tokens"] = json!(100));
    let printed = run(&world, &[]);
    assert_eq!(printed.exit, 1, "{printed:#?}");
    assert!(printed.stdout.contains("Ralph: stopped: "), "{printed:#?}");
    assert!(printed.stdout.contains("used 100 of at most 100 tokens"), "{printed:#?}");
    assert!(world.path("project/a").exists() && !called(&world, "b", 1));
}

#[test]
fn a_task_that_cannot_be_done_is_said_and_holds_up_the_rest() {
    let client = "CLAUDE_CODE_SESSION_ID=$sid ralph task fail $id --owner 'ralph build' --reason 'no grammar' >/dev/null; ends";
    let world = world(&[("a", &[]), ("b", &["a"])], client);
    let printed = run(&world, &[]);
    assert_eq!(printed.exit, 1, "{printed:#?}");
    assert!(printed.stdout.contains("no task is ready; a is failed: no grammar"), "{printed:#?}");
    assert_eq!(above(&world)["pause"]["cause"], "blocked_on_human");
}

#[test]
fn nothing_is_started_where_no_worktree_can_be() {
    let world = world(&[("a", &[])], WORKS);
    world.write("project/shared", "1\n");
    let shown =
        run(&world, &["--dry-run", "--permission-mode", "acceptEdits", "--", "--model", "m"]);
    assert!(shown.stdout.starts_with("cd [ROOT]/project/.claude/worktrees/ralph-"), "{shown:#?}");
    assert!(shown.stdout.contains("'Ralph round 1, loop ") && shown.stdout.contains("' --output-format stream-json --verbose --session-id ID --permission-mode acceptEdits --allowedTools 'Bash(ralph task done *),"), "{shown:#?}");
    assert!(!world.path("project/.claude").exists() && !called(&world, "a", 1));
    git(&world, &["update-ref", "-d", "HEAD"]);
    let refused = run(&world, &[]);
    assert!(
        refused.stderr.contains(
            "this repository has none yet; make a first one; or let `ralph run --planned`"
        ),
        "{refused:?}"
    );
    fs::remove_dir_all(world.path("project/.git")).unwrap();
    // Another project by now, as far as its identity goes.
    let id = above(&world)["loop_id"].as_str().unwrap().to_owned();
    let refused = run(&world, &["--loop", &id]);
    assert_eq!(refused.exit, 1);
    assert!(
        refused
            .stderr
            .contains("run `git init` and make a first commit; or let `ralph run --planned`"),
        "{refused:?}"
    );
}

#[test]
fn what_is_not_committed_is_said_before_the_start() {
    let world = world(&[("a", &[])], WORKS);
    world.write("project/new file", "1\n");
    let printed = run(&world, &[]);
    assert!(
        printed.stderr.contains("not committed, so the workers begin without it: `new file`"),
        "{printed:#?}"
    );
    is_complete(&world, &printed);
}

#[test]
fn inside_the_session_of_a_live_loop_it_is_for_a_person() {
    let world = World::new().live_loop("s");
    let refused = world.in_session("s", &["parallel", "run"], "");
    assert_eq!(refused.exit, 1);
    assert!(refused.stderr.contains("`ralph run` is for the user only"), "{refused:?}");
}

/// A client that reviews as well: the criterion holds once both are merged, and one lens finds a defect
/// in the merged tree.
const REVIEWS: &str = r#"result() { say '{"type":"result","is_error":false,"total_cost_usd":0.5,"result":"'"$1"'"}'; }
for arg; do
  test "$before_prompt" = -p && prompt=$arg
  before_prompt=$arg
done
if test "$RALPH_ROUND" = review; then
  say '{"type":"system","subtype":"init","session_id":"'"$sid"'"}'
  case "$prompt" in
    *"The question:"*)
      if test -e a && test -e b; then word=holds; else word=fails; fi
      result '{\"verdict\":\"'$word'\",\"evidence\":[{\"file\":\"a\",\"line\":1,\"quote\":\"the text of a\"}],\"why\":\"x\"}';;
    *"one lens only, tests"*)
      if test -e mended; then result '{\"findings\":[]}'
      else result '{\"findings\":[{\"severity\":\"major\",\"file\":\"b\",\"line\":1,\"quote\":\"the text of b\",\"what\":\"lacks a test\"}]}'; fi;;
    *) result '{\"findings\":[]}';;
  esac
  exit 0
fi
case "$prompt" in *"lacks a test"*) touch mended; CLAUDE_CODE_SESSION_ID=$sid ralph task done T-1 --owner 'ralph build' --result x >/dev/null; ends; exit 0;; esac
echo "the text of $id" >$id; closes; ends"#;

fn with_a_reviewed_criterion(world: &World) {
    world.change_state(|state| {
        let reviewed = json!({"id": "AC-2", "description": "clear", "verification_command": "",
            "review": "do a and b belong together?"});
        state["acceptance_criteria"].as_array_mut().unwrap().push(reviewed);
    });
}

#[test]
fn a_reviewed_criterion_is_judged_on_the_merged_tree_before_the_loop_is_complete() {
    if is_left_out(3) {
        return;
    }
    let world = world(&[("a", &[]), ("b", &[])], REVIEWS);
    with_a_reviewed_criterion(&world);
    let printed = run(&world, &[]);
    is_complete(&world, &printed);
    assert!(
        printed.stdout.contains("it fails without the change. 1 criterion reviewed."),
        "{printed:#?}"
    );
    // A verdict against it keeps the loop from its end.
    let world =
        self::world(&[("a", &[]), ("b", &[])], &REVIEWS.replace("word=holds", "word=fails"));
    with_a_reviewed_criterion(&world);
    world.change_state(|state| state["max_iterations"] = json!(4));
    let printed = run(&world, &[]);
    assert_eq!(printed.exit, 1, "{printed:#?}");
    assert!(!printed.stdout.contains("Ralph: done"), "{printed:#?}");
}

#[test]
fn a_parallel_run_reviews_its_merged_changes_if_the_user_says_so() {
    if is_left_out(3) {
        return;
    }
    let world = world(&[("a", &[]), ("b", &[])], REVIEWS);
    let printed = run(&world, &["--review"]);
    is_complete(&world, &printed);
    assert!(
        printed.stderr.contains("review 1: 1 major finding, 0 minor, 0 dropped"),
        "{printed:#?}"
    );
    assert!(printed.stderr.contains("review 2: 0 major findings"), "{printed:#?}");
    assert!(world.path("project/mended").exists());
}
