//! `ralph ralplan run` beside clients that are scripts: who is called with what, what their reports come to,
//! and how the person decides.

use crate::executables::executables;
use crate::world::{Printed, World, start, wait_for};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Child;

/// What every client does: `sid` is its session, `agent` who it is, `n` counts its calls. Its report goes
/// to the hook of its stop, whose answer is kept.
const PRELUDE: &str = r#"#!/bin/sh
[ "$1" = --version -o "$1" = /cost ] && echo '2.1.328 (Claude Code)' && exit
say() { printf '%s\n' "$1"; }
for arg; do
  case $before in --session-id|--resume) sid=$arg;; -p) prompt=$arg;; --agent) named=$arg;; esac
  before=$arg
done
agent=${RALPH_ROUND#ralplan-}
n=1; while test -e "$HOME/call-$agent-$n"; do n=$((n+1)); done
printf '%s|%s|%s' "$named" "$sid" "$prompt" >"$HOME/call-$agent-$n"
echo $$ >>"$HOME/pids"
hash=${prompt##*Plan hash: }; hash=${hash%%\`*}
await() { i=0; until test -e "$HOME/$1" || test $i -gt 3000; do sleep 0.02; i=$((i+1)); done; }
export CLAUDE_CODE_SESSION_ID=$sid CLAUDE_PID=$$
reports() {
  printf '{"session_id":"%s","hook_event_name":"Stop","prompt_id":"p","cwd":"%s","transcript_path":"/nowhere","last_assistant_message":"%s"}' \
    "$sid" "$PWD" "$1" | ralph-stop-hook settings >>"$HOME/answers"
}
ends() { say '{"type":"result","is_error":false,"result":"done","modelUsage":{"m":{"inputTokens":60,"outputTokens":40}}}'; }
writes() { mkdir -p .omc/plans; sed "s/ABOUT/$1/" "$HOME/plan.md" >.omc/plans/login.md; }
metis() { reports 'Passwords are not mentioned.'; }
planner() { writes "Version $n."; reports 'PLAN_READY: .omc/plans/login.md'; }
architect() { reports 'ARCHITECT_ANSWER:\n- Topic: Security\n- Analysis: there is one file\n- Recommendation: a vault\n- Trade-offs: none\n- References: tracked:1'; }
okay() { reports "CRITIC_FEEDBACK:\n- Verdict: OKAY\n- Plan hash: $hash"; }
reject() { reports "CRITIC_FEEDBACK:\n- Verdict: REJECT\n- Critical Issues:\n  1. T-1 names no line: name it\n- Plan hash: $hash"; }
critic() { okay; }
say '{"type":"system","subtype":"init","session_id":"'$sid'"}'
"#;

const PLAN: &str = "# Login\n\n## Requirements summary\nAdd a form to `tracked`. ABOUT\n\n## Steps\n- [ ] T-1: add it\n\n\
    ## Acceptance criteria\nThe file is there.\n\n## Risks\nThe file grows by 1 line.\n\n## Verification\nSee AC-1.\n\n\
    ```json ralph-plan\n{\"acceptance_criteria\":[{\"id\":\"AC-1\",\"description\":\"the file is there\",\
    \"verification_command\":\"test -f tracked\"}],\"task_graph\":[{\"id\":\"T-1\",\"name\":\"add the form\",\"deps\":[],\
    \"files\":[\"tracked\"],\"completion_condition\":\"the form is in the file\"}]}\n```\n";

/// A project, and a client that does what these lines change of its usual part.
pub(crate) fn world(changes: &str) -> World {
    let world = World::new();
    for tool in
        ["sh", "test", "touch", "sleep", "cat", "kill", "mkdir", "sed", "rm", "script", "env"]
    {
        let places = ["/usr/bin", "/bin"].map(|folder| format!("{folder}/{tool}"));
        let Some(place) = places.iter().find(|place| fs::exists(place).unwrap()) else { continue };
        let _ = symlink(place, world.path("bin").join(tool));
    }
    symlink(env!("CARGO_BIN_EXE_ralph"), world.path("bin/ralph")).unwrap();
    let stop_hook = world.path("bin/ralph-stop-hook");
    fs::remove_file(&stop_hook).unwrap();
    symlink(executables().join("ralph-stop-hook"), stop_hook).unwrap();
    world.write("home/plan.md", PLAN);
    world.write("home/.claude/agents/ralplan-critic.md", "");
    world.write("project/tracked", "one\n");
    let path = world.write("bin/claude", &format!("{PRELUDE}{changes}\n$agent\nends\n"));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    world
}

/// A run that goes on beside the test, without a terminal.
pub(crate) fn begin(world: &World, arguments: &[&str]) -> Child {
    let mut command = world.command(Path::new(env!("CARGO_BIN_EXE_ralph")), "");
    start(command.args(["ralplan", "run"]).args(arguments))
}

/// The same at a terminal, which takes what is written to its standard input as typed.
fn at_terminal(world: &World, arguments: &str) -> Child {
    let mut command = world.command(Path::new("script"), "");
    command.env("TERM", "dumb");
    let line = format!("exec {} ralplan run {arguments}", env!("CARGO_BIN_EXE_ralph"));
    start(command.args(["-qefc", &line]).arg(world.path("screen")))
}

fn types(child: &mut Child, line: &str) {
    child.stdin.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
}

/// The planning, wherever it is.
fn planning(world: &World) -> Option<Value> {
    let places = ["loops", "archive"].map(|name| world.path("ralph").join(name));
    let folders = places.iter().filter_map(|place| fs::read_dir(place).ok()).flatten().flatten();
    let states = folders.filter_map(|folder| fs::read(folder.path().join("state.json")).ok());
    let mut states = states.filter_map(|text| serde_json::from_slice::<Value>(&text).ok());
    states.find(|state| state["mode"] == "ralplan")
}

fn phase(world: &World) -> String {
    let state = planning(world).unwrap_or_default();
    state["ralplan"]["phase"].as_str().unwrap_or_default().to_owned()
}

/// Waits until a person was asked for the time of this number.
#[track_caller]
pub(crate) fn asks(world: &World, n: usize) {
    let asked = || {
        let folders = fs::read_dir(world.path("ralph/loops")).into_iter().flatten().flatten();
        let texts =
            folders.filter_map(|one| fs::read_to_string(one.path().join("journal.jsonl")).ok());
        texts.map(|text| text.matches("\"decision\":\"asks\"").count()).sum::<usize>()
    };
    wait_for("the question", || asked() >= n);
    assert_eq!(phase(world), "awaiting_user_approval");
}

fn called(world: &World, agent: &str, n: u32) -> bool {
    world.path(&format!("home/call-{agent}-{n}")).exists()
}

/// Agent, session and prompt of a call.
fn call(world: &World, agent: &str, n: u32) -> (String, String, String) {
    let text = fs::read_to_string(world.path(&format!("home/call-{agent}-{n}"))).unwrap();
    let parts: Vec<&str> = text.splitn(3, '|').collect();
    (parts[0].to_owned(), parts[1].to_owned(), parts[2].to_owned())
}

pub(crate) fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args([name, &pid]).status().unwrap().success());
}

/// Nothing is live, and no session is bound to what is over.
#[track_caller]
fn all_is_put_away(world: &World) {
    let live = || world.loop_ids().len();
    let planned = planning(world).is_some_and(|state| state["ending"]["kind"] == "approved");
    assert_eq!(live(), usize::from(planned));
    let entries = fs::read_dir(world.path("ralph/manifest")).unwrap();
    let entries: Vec<String> = entries
        .map(|entry| entry.unwrap().path())
        .map(|path| format!("{}: {}", path.display(), fs::read_to_string(&path).unwrap()))
        .collect();
    assert!(entries.len() <= 1, "{entries:#?}");
}

const TASK: &str = "Add a login";

#[test]
fn the_whole_way_with_a_word_in_another_terminal() {
    let world = world("");
    let child = begin(&world, &[TASK]);
    asks(&world, 1);
    let said = world.ralph(&["ralplan", "approve"]).done();
    assert!(said.stdout.contains("the person types /ralph"), "{said:#?}");
    let printed = world.finish(child, "");
    assert_eq!(printed.exit, 0, "{printed:#?}");
    assert!(printed.stdout.contains("Ralph: plan approved"), "{printed:#?}");
    assert!(printed.stdout.contains("/ralph in Claude Code carries the plan out"), "{printed:#?}");
    for words in [
        "Task: Add a login",
        "round 1, ralplan-metis: Plan 1/5: the gap finder has read the task",
        "round 2, ralplan-planner: Plan 1/5: `.omc/plans/login.md` goes to the critic",
        "round 3, ralplan-critic: Plan 1/5: the critic approves; you decide",
        "The critic approved `.omc/plans/login.md` (",
        "), plan 1/5.\nCriteria:\n",
        "Add a form to `tracked`. Version 1.",
        "AC-1 the file is there: test -f tracked",
        "T-1 add the form",
        "`ralph ralplan approve`",
    ] {
        assert!(printed.stderr.contains(words), "{words}: {printed:#?}");
    }
    // Each is a session of its own, and each is who it is said to be.
    let calls = ["metis", "planner", "critic"].map(|agent| call(&world, agent, 1));
    let names: Vec<&str> = calls.iter().map(|call| call.0.as_str()).collect();
    assert_eq!(names, ["ralplan-metis", "ralplan-planner", "ralplan-critic"]);
    assert!(calls[0].1 != calls[1].1 && calls[1].1 != calls[2].1);
    assert!(calls[1].2.contains("Passwords are not mentioned."), "{}", calls[1].2);
    let ended = planning(&world).unwrap();
    assert_eq!(ended["ralplan"]["decision"]["by"], "command line");
    assert_eq!(ended["ralplan"]["planners"], json!([calls[1].1]));
    assert_eq!(ended["ralplan"]["critics"], json!([calls[2].1]));
    all_is_put_away(&world);
    assert_eq!(world.state()["task_graph"][0]["id"], "T-1");
    world.ralph(&["task", "done", "T-1"]).done();
    let plan = fs::read_to_string(world.path("project/.omc/plans/login.md")).unwrap();
    assert!(plan.contains("\n- [x] T-1: add it\n"), "the plan's own box is ticked: {plan}");
}

#[test]
fn a_terminal_asks_and_takes_the_decision_and_no_other_word() {
    let world = world("");
    let mut child = at_terminal(&world, "'Add a login'");
    asks(&world, 1);
    for line in ["\n", "yes\n", "proceed, but faster\n"] {
        types(&mut child, line);
    }
    types(&mut child, "adjust less code\n");
    wait_for("the second planner", || called(&world, "planner", 2));
    asks(&world, 2);
    types(&mut child, "adjust\nkeep the old endpoint\n");
    wait_for("the third planner", || called(&world, "planner", 3));
    asks(&world, 3);
    types(&mut child, "proceed\n");
    let printed = world.finish(child, "");
    assert_eq!(printed.exit, 0, "{printed:#?}");
    assert!(call(&world, "planner", 2).2.contains("adjusted: less code"));
    assert!(call(&world, "planner", 3).2.contains("adjusted: keep the old endpoint"));
    for words in
        ["Proceed, adjust WORDS, discard, or wait?", "What should change?", "Ralph: plan approved"]
    {
        assert!(printed.stdout.contains(words), "{words}: {}", printed.stdout);
    }
    all_is_put_away(&world);
}

#[test]
fn what_was_typed_before_the_question_is_no_answer_to_it() {
    let world = world("test $agent = critic && { touch \"$HOME/at-work\"; await go; }");
    let mut child = at_terminal(&world, "'Add a login'");
    wait_for("the critic", || world.path("home/at-work").exists());
    types(&mut child, "proceed\n");
    // The terminal has it once it has shown it.
    let shown = &mut String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    while !shown.contains("proceed") {
        assert!(out.read_line(shown).unwrap() > 0, "{shown}");
    }
    world.write("home/go", "");
    asks(&world, 1);
    types(&mut child, "discard\n");
    out.read_to_string(shown).unwrap();
    assert!(shown.contains("Ralph: plan discarded"), "{shown}");
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn who_will_type_no_more_is_waited_for_all_the_same() {
    let world = world("");
    let mut child = at_terminal(&world, "'Add a login'");
    asks(&world, 1);
    types(&mut child, "wait\n");
    let screen = || fs::read_to_string(world.path("screen")).unwrap_or_default();
    wait_for("what to do elsewhere", || screen().contains("In another terminal"));
    let said = world.ralph(&["ralplan", "discard"]).done().stdout;
    assert_eq!(said, "the user discarded the plan; `.omc/plans/login.md` stays as it is.\n");
    let printed = world.finish(child, "");
    assert_eq!(printed.exit, 1, "{printed:#?}");
    assert!(printed.stdout.contains("In another terminal"), "{}", printed.stdout);
    assert!(printed.stdout.contains("Ralph: plan discarded"), "{}", printed.stdout);
    assert!(world.path("project/.omc/plans/login.md").exists(), "the plan stays");
    all_is_put_away(&world);
}

#[test]
fn an_adjustment_from_another_terminal_goes_to_the_planner_at_once() {
    let world = world("");
    let child = begin(&world, &[TASK]);
    asks(&world, 1);
    let said = world.ralph(&["ralplan", "adjust", "less", "code"]).done();
    assert!(said.stdout.ends_with("`ralph ralplan run` goes on with it.\n"), "{said:#?}");
    wait_for("the second critic", || called(&world, "critic", 2));
    asks(&world, 2);
    assert!(call(&world, "planner", 2).2.contains("adjusted: less code"));
    world.ralph(&["ralplan", "discard"]).done();
    let printed = world.finish(child, "");
    assert_eq!((printed.exit, printed.stdout.contains("discarded")), (1, true), "{printed:#?}");
    all_is_put_away(&world);
}

#[test]
fn five_rejections_bring_a_warning_and_what_was_left_open() {
    let world = world("critic() { reject; }");
    let child = begin(&world, &[TASK]);
    asks(&world, 1);
    world.ralph(&["ralplan", "discard"]).done();
    let printed = world.finish(child, "");
    assert!(
        printed.stderr.contains("WARNING: the critic rejected `.omc/plans/login.md` (")
            && printed.stderr.contains("), plan 5/5.\nLeft open:\n1. T-1"),
        "{printed:#?}"
    );
    assert!(called(&world, "critic", 5) && !called(&world, "critic", 6));
    assert!(call(&world, "planner", 5).2.contains("T-1 names no line"));
}

#[test]
fn a_planners_questions_go_to_the_architect_first() {
    let questions = r#"planner() {
  test $n -gt 1 && { writes "Version $n."; reports 'PLAN_READY: .omc/plans/login.md'; return; }
  reports 'ARCHITECT_QUESTION:\n- Topic: Security\n- Context: the login\n- Files to examine: tracked\n- Specific Question: where do secrets go?'
}"#;
    let world = world(questions);
    let child = begin(&world, &[TASK]);
    asks(&world, 1);
    assert!(call(&world, "architect", 1).2.contains("where do secrets go?"));
    assert!(call(&world, "planner", 2).2.contains("a vault"));
    world.ralph(&["ralplan", "approve"]).done();
    assert_eq!(world.finish(child, "").exit, 0);
}

#[test]
fn a_report_without_its_form_goes_back_once_and_then_counts_for_nothing() {
    let again = "critic() {\n\
        reports 'It is fine.'\n\
        test $n = 1 && { reports 'I said so.'; return; }\n\
        okay\n}";
    let world = world(again);
    let child = begin(&world, &[TASK]);
    asks(&world, 1);
    world.ralph(&["ralplan", "approve"]).done();
    let printed = world.finish(child, "");
    assert!(printed.stderr.contains("round 3, ralplan-critic: report dropped: "), "{printed:#?}");
    assert!(called(&world, "critic", 2) && !called(&world, "critic", 3));
    let answers = fs::read_to_string(world.path("home/answers")).unwrap();
    assert_eq!(answers.matches("Ralph sends this back once").count(), 2, "{answers}");
}

#[test]
fn a_plan_that_changes_under_its_critic_goes_back_to_a_planner() {
    let changes = "critic() { test $n = 1 && echo more >>.omc/plans/login.md; okay; }";
    let world = world(changes);
    let child = begin(&world, &[TASK]);
    asks(&world, 1);
    world.ralph(&["ralplan", "approve"]).done();
    let printed = world.finish(child, "");
    assert_eq!(printed.exit, 0, "{printed:#?}");
    assert!(printed.stderr.contains("round 3, ralplan-critic: report refused: "), "{printed:#?}");
    assert!(printed.stderr.contains("round 4, ralplan-planner: "), "{printed:#?}");
}

#[test]
fn a_plan_that_changes_while_it_waits_is_not_agreed_to() {
    let world = world("");
    let mut child = at_terminal(&world, "'Add a login'");
    asks(&world, 1);
    world.write("project/.omc/plans/login.md", "# Something else\n");
    types(&mut child, "proceed\n");
    types(&mut child, "adjust plan it again\n");
    wait_for("the second planner", || called(&world, "planner", 2));
    asks(&world, 2);
    types(&mut child, "proceed\n");
    let printed = world.finish(child, "");
    assert_eq!(printed.exit, 0, "{printed:#?}");
    assert!(
        printed.stdout.contains("nothing was decided: the plan that was judged"),
        "{printed:#?}"
    );
}

#[test]
fn agents_that_bring_nothing_are_not_called_for_ever() {
    let world = world("planner() { reports 'I think about it.'; reports 'Still.'; }");
    let printed = world.ralph(&["ralplan", "run", TASK]);
    assert_eq!(printed.exit, 1, "{printed:#?}");
    assert!(
        printed.stdout.contains("made no progress at 3 stops in a row; `ralph ralplan run`"),
        "{printed:#?}"
    );
    assert!(called(&world, "planner", 3) && !called(&world, "planner", 4));
    let state = world.state();
    assert_eq!(
        (&state["phase"], &state["pause"]["cause"]),
        (&json!("paused"), &json!("blocked_on_human"))
    );
    assert!(state.get("round").is_none());
    // A person who says so has it tried again.
    assert_eq!(world.ralph(&["ralplan", "run"]).exit, 1);
    assert!(called(&world, "planner", 6) && !called(&world, "planner", 7));
}

#[test]
fn clients_that_crash_and_limits_have_it_rest() {
    let crashing = world("exit 3");
    let printed = crashing.ralph(&["ralplan", "run", TASK]);
    assert_eq!(printed.exit, 4, "{printed:#?}");
    assert!(printed.stdout.contains("the client crashed 3 times in a row"), "{printed:#?}");
    assert_eq!(crashing.state()["pause"]["cause"], "crashed");
    let limit = r#"say '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":4102444800}}'
say '{"type":"result","is_error":true,"api_error":"usage_limit_reached","api_error_status":429,"result":"limit"}'
exit 1"#;
    let limited = world(limit);
    let printed = limited.ralph(&["ralplan", "run", TASK]);
    assert_eq!(printed.exit, 4, "{printed:#?}");
    assert!(printed.stdout.contains("the usage limit is reached until"), "{printed:#?}");
    assert_eq!(limited.state()["pause"]["cause"], "rate_limited");
}

#[test]
fn without_hooks_it_says_so_after_one_round() {
    let world = world("metis() { :; }");
    let printed = world.ralph(&["ralplan", "run", TASK]);
    assert_eq!(printed.exit, 4, "{printed:#?}");
    assert!(
        printed.stdout.contains("no hook of Ralph was called in this round; `ralph install`"),
        "{printed:#?}"
    );
    assert!(!called(&world, "metis", 2));
}

/// Kills the driver while this agent is at work, and runs another.
#[track_caller]
fn killed_at(agent: &str) {
    let changes = format!(
        "{agent}_() {{ test $n = 1 && {{ touch \"$HOME/at-work\"; sleep 600; }}; }}\n\
         test $agent = {agent} && {agent}_"
    );
    let world = world(&changes);
    let mut child = begin(&world, &[TASK]);
    wait_for("the agent", || world.path("home/at-work").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    let child = begin(&world, &[]);
    asks(&world, 1);
    world.ralph(&["ralplan", "approve"]).done();
    let printed = world.finish(child, "");
    assert_eq!(printed.exit, 0, "{agent}: {printed:#?}");
    for other in ["metis", "planner", "critic"] {
        assert_eq!(called(&world, other, 2), other == agent, "{agent}: {other}");
    }
    all_is_put_away(&world);
}

#[test]
fn one_that_is_killed_goes_on_where_it_was() {
    for agent in ["metis", "planner", "critic"] {
        killed_at(agent);
    }
    let world = world("");
    let mut child = begin(&world, &[TASK]);
    asks(&world, 1);
    child.kill().unwrap();
    child.wait().unwrap();
    let child = begin(&world, &[]);
    asks(&world, 2);
    let said = world.ralph(&["ralplan", "run"]);
    assert!(said.stderr.contains("another `ralph ralplan run` drives"), "{said:#?}");
    world.ralph(&["ralplan", "approve"]).done();
    let printed = world.finish(child, "");
    assert_eq!(printed.exit, 0, "{printed:#?}");
    assert!(!called(&world, "metis", 2) && !called(&world, "critic", 2));
}

#[test]
fn ctrl_c_leaves_it_waiting_with_its_wall() {
    let world = world("");
    let child = begin(&world, &[TASK]);
    asks(&world, 1);
    signal(&child, "-INT");
    let printed = world.finish(child, "");
    assert_eq!(printed.exit, 130, "{printed:#?}");
    assert!(
        printed.stdout.contains(
            "is paused in awaiting_user_approval: nobody has decided yet; `ralph ralplan run`"
        ),
        "{printed:#?}"
    );
    let state = world.state();
    assert_eq!((&state["phase"], &state["round"]), (&json!("paused"), &Value::Null));
    assert_eq!(state["pause"]["told"], true, "the terminal has said it: {}", state["pause"]);
    let said = world.ralph(&["ralplan", "adjust", "less"]).done();
    assert!(said.stdout.starts_with("back to the planner: less"), "{said:#?}");
    assert!(said.stdout.contains("`ralph ralplan run` goes on"), "{said:#?}");
    let child = begin(&world, &[]);
    wait_for("the second planner", || called(&world, "planner", 2));
    asks(&world, 2);
    signal(&child, "-TERM");
    assert_eq!(world.finish(child, "").exit, 130);
    let said = world.ralph(&["ralplan", "approve"]).done();
    assert!(said.stdout.contains("types /ralph"), "{said:#?}");
}

#[test]
fn ctrl_c_in_a_round_lets_it_finish_and_begins_no_other() {
    let world = world("test $agent = metis && { touch \"$HOME/at-work\"; await go; }");
    let child = begin(&world, &[TASK]);
    wait_for("the agent", || world.path("home/at-work").exists());
    signal(&child, "-INT");
    world.write("home/go", "");
    let printed = world.finish(child, "");
    assert_eq!(printed.exit, 130, "{printed:#?}");
    assert!(
        printed.stderr.contains("this round will be finished, and no other begun"),
        "{printed:#?}"
    );
    assert!(printed.stderr.contains("Plan 1/5: the gap finder has read the task"), "{printed:#?}");
    assert!(printed.stdout.contains("ended by Ctrl-C"), "{printed:#?}");
    assert!(!called(&world, "planner", 1));
}

#[test]
fn a_cancel_elsewhere_ends_it_in_a_round_and_at_the_question() {
    let in_a_round = world("test $agent = planner && { touch \"$HOME/at-work\"; await go; }");
    let child = begin(&in_a_round, &[TASK]);
    wait_for("the agent", || in_a_round.path("home/at-work").exists());
    in_a_round.ralph(&["cancel"]).done();
    in_a_round.write("home/go", "");
    let printed = in_a_round.finish(child, "");
    assert_eq!(printed.exit, 1, "{printed:#?}");
    assert!(printed.stdout.contains("Ralph: planning cancelled"), "{printed:#?}");
    assert!(!called(&in_a_round, "critic", 1));
    all_is_put_away(&in_a_round);

    let asked = world("");
    let child = begin(&asked, &[TASK]);
    asks(&asked, 1);
    asked.ralph(&["cancel"]).done();
    let printed = asked.finish(child, "");
    assert_eq!(printed.exit, 1, "{printed:#?}");
    assert!(printed.stdout.contains("Ralph: planning cancelled"), "{printed:#?}");
    all_is_put_away(&asked);

    let removed = world("");
    let child = begin(&removed, &[TASK]);
    asks(&removed, 1);
    fs::remove_file(removed.path("project/.omc/ralplan-state.json")).unwrap();
    let printed = removed.finish(child, "");
    assert_eq!(printed.exit, 1, "{printed:#?}");
    assert!(printed.stdout.contains("a person removed `.omc/ralplan-state.json`"), "{printed:#?}");
    assert!(!removed.path("project/.omc/ralplan-state.json").exists());
    all_is_put_away(&removed);
}

#[test]
fn it_is_for_a_person_and_says_what_it_would_do() {
    let world = world("");
    let said = world.in_session("S", &["ralplan", "run", TASK], "");
    assert_eq!(said.exit, 1, "{said:#?}");
    assert!(said.stderr.contains("only you approve a plan"), "{said:#?}");
    let said = world.ralph(&["ralplan", "run"]);
    assert!(said.exit == 1 && said.stderr.contains("nothing is being planned here"), "{said:#?}");
    assert_eq!(world.ralph(&["ralplan", "run", " "]).exit, 2);
    let shown =
        world.ralph(&["ralplan", "run", TASK, "--dry-run", "--", "--model", "x"]).done().stdout;
    for words in
        ["RALPH_ROUND=ralplan-metis", "--session-id ID", "--agent ralplan-metis --model x", TASK]
    {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(world.loop_ids().is_empty() && !world.path("project/.omc").exists());
    fs::remove_file(world.path("bin/claude")).unwrap();
    let said = world.ralph(&["ralplan", "run", TASK]);
    assert_eq!(said.exit, 4, "{said:#?}");
    assert!(world.loop_ids().is_empty(), "nothing was begun");
}

#[test]
fn agents_of_a_plugin_are_called_by_its_name() {
    let world = world("");
    fs::remove_file(world.path("home/.claude/agents/ralplan-critic.md")).unwrap();
    let child = begin(&world, &[TASK]);
    asks(&world, 1);
    world.ralph(&["ralplan", "approve"]).done();
    let _: Printed = world.finish(child, "");
    assert_eq!(call(&world, "critic", 1).0, "ralph:ralplan-critic");
}

#[test]
fn a_second_planning_is_not_begun_beside_the_first() {
    let world = world("");
    let child = begin(&world, &[TASK]);
    asks(&world, 1);
    let said = world.ralph(&["ralplan", "run", "Something else"]);
    assert!(said.exit == 1 && said.stderr.contains("without a task goes on with it"), "{said:#?}");
    world.ralph(&["ralplan", "discard"]).done();
    world.finish(child, "");
}
