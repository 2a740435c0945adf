//! `ralph run` beside a client that is a script: the criteria and the tree decide, not its words.

use crate::watch::Screen;
use crate::world::{Printed, World, start, wait_for};
use ralph_test_support::round::heard;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

const INIT: &str = r#"say '{"type":"system","subtype":"init","session_id":"s"}'"#;
const DONE: &str = r#"say '{"type":"result","is_error":false,"result":"RALPH_COMPLETE","total_cost_usd":0.5,"modelUsage":{"m":{"inputTokens":1000,"outputTokens":1}}}'"#;

/// Keeps the number of the round in `$n`, and the session and the prompt of each round in files.
const COUNTS: &str = r#"n=$(cat "$HOME/n" 2>/dev/null || echo 0); n=$((n+1)); echo $n >"$HOME/n"
for word; do
  case "$before" in --session-id) echo "$word" >>"$HOME/sessions";; -p) printf '%s' "$word" >"$HOME/prompt$n";; esac
  before=$word
done"#;

/// A project under git with one commit, and a client that runs this script.
pub(crate) fn world(client: &str) -> World {
    let world = World::new().permissive().under_git();
    for tool in ["sh", "date", "test", "touch", "cat", "sleep", "grep"] {
        let places = ["/usr/bin", "/bin"].map(|folder| format!("{folder}/{tool}"));
        let place = places.iter().find(|place| fs::exists(place).unwrap()).unwrap();
        let _ = std::os::unix::fs::symlink(place, world.path("bin").join(tool));
    }
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_ralph"), world.path("bin/ralph")).unwrap();
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version -o \"$1\" = /cost ] && echo '2.1.328 (Claude Code)' && exit\nsay() {{ printf '%s\\n' \"$1\"; }}\n{COUNTS}\n{INIT}\n{client}\n{DONE}\n"
    );
    let path = world.write("bin/claude", &script);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    git(&world, &["config", "user.name", "n"]);
    git(&world, &["config", "user.email", "n@example.com"]);
    git(&world, &["commit", "-q", "--allow-empty", "-m", "begin"]);
    world
}

fn git(world: &World, arguments: &[&str]) -> String {
    let output = world.command(Path::new("git"), "").args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) fn lines(world: &World, name: &str) -> Vec<String> {
    let text = fs::read_to_string(world.path("home").join(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

pub(crate) fn n_rounds(world: &World) -> usize {
    lines(world, "sessions").len()
}

pub(crate) fn ended(world: &World) -> Value {
    let archive = world.path("ralph/archive");
    let folder = fs::read_dir(archive).unwrap().next().unwrap().unwrap().path();
    serde_json::from_slice(&fs::read(folder.join("state.json")).unwrap()).unwrap()
}

/// The events of a run with `--json`.
fn events(printed: &Printed) -> Vec<Value> {
    printed.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(crate) fn two_tasks(world: &World, verify: &str) {
    let task = |id: &str| json!({"id": id, "name": format!("write {id}"), "deps": [], "completion_condition": "c", "files": [id]});
    let plan = json!({"prompt": "p",
        "acceptance_criteria": [{"id": "AC-1", "description": "it is there", "verification_command": "test -f T-2"}],
        "task_graph": [task("T-1"), task("T-2")]});
    world.run("", &["task", "import", "-"], &plan.to_string()).done();
    if !verify.is_empty() {
        world.change_state(|state| state["task_graph"][0]["verify"] = json!([verify]));
    }
}

/// Closes the first open task.
pub(crate) const CLOSES: &str = r#"for id in T-1 T-2; do
  ralph task done $id --owner 'ralph build' --note "did $id" && break
done >/dev/null 2>&1"#;

#[test]
fn a_round_that_puts_its_own_agent_in_the_place_of_ralphs_is_the_last() {
    let world =
        world("printf -- '---\\nname: ralph-worker\\n---\\nSay so.\\n' >.claude/agents/w.md");
    world.write("project/.claude/agents/w.md", "---\nname: w\n---\n");
    let printed = world.ralph(&["run", "make it", "--ac", "one=test -f never"]);
    assert_eq!((printed.exit, n_rounds(&world)), (1, 1), "{printed:?}");
    let told = "w.md` is another agent `ralph-worker` than Ralph's; read it, then remove it or give it another name; no client was started";
    assert!(printed.stderr.contains(told), "{printed:?}");
    let again = world.ralph(&["run", "make it", "--ac", "one=test -f never"]);
    assert_eq!((again.exit, n_rounds(&world)), (1, 1), "{again:?}");
    assert!(again.stderr.contains("another agent `ralph-worker`"), "{again:?}");
}

#[test]
fn rounds_go_on_until_the_criteria_hold_and_each_has_a_session_of_its_own() {
    let world = world("echo $n >file$n");
    let task = ["run", "make it", "--ac", "one=test -f file1", "--ac", "three=test -f file3"];
    let printed = world.ralph(&task).done();
    assert_eq!(n_rounds(&world), 3, "{printed:?}");
    let mut sessions = lines(&world, "sessions");
    sessions.dedup();
    assert_eq!(sessions.len(), 3);
    assert!(printed.stderr.contains("\n0 of 2 criteria hold\n"), "{printed:?}");
    assert!(
        printed.stderr.contains("round 1: 1 of 2 criteria hold: AC-2 fails (0 s, "),
        "{printed:?}"
    );
    assert!(
        printed.stdout.contains("test -f file1 passes; it fails without the change"),
        "{printed:?}"
    );
    assert!(printed.stdout.contains("Ralph: done in 3 rounds, "), "{printed:?}");
    assert_eq!(ended(&world)["ending"]["kind"], "complete");
    let explained = world.ralph(&["explain"]).done().stdout;
    assert!(explained.contains("ralph run: ended\n  why   complete: "), "{explained}");
    let report = world.ralph(&["report"]).done().stdout;
    for part in [
        "| Rounds |",
        "| 3 of 25 |",
        "| AC-2 | ❌ | ❌ | ✅ | ✅ |",
        "**Round 3** (",
        "**The end** (",
        "**The loop ended: complete**",
    ] {
        assert!(report.contains(part), "{part}: {report}");
    }
    assert!(!report.contains("Under way"), "{report}");
}

fn link(world: &World, tool: &str) {
    let places = ["/usr/bin", "/bin"].map(|folder| format!("{folder}/{tool}"));
    let place = places.iter().find(|place| fs::exists(place).unwrap()).unwrap();
    std::os::unix::fs::symlink(place, world.path("bin").join(tool)).unwrap();
}

#[test]
fn what_a_round_leaves_for_the_users_git_is_named_and_needs_the_users_word() {
    let world = world(
        "mkdir -p deep/new/.git .git/rebase-merge\necho '[core] fsmonitor = ./evil' | cat >deep/new/.git/config\n\
         echo '[core] fsmonitor = ./evil' >>old/.git/config\necho 'exec evil' >.git/rebase-merge/git-rebase-todo\n\
         touch done",
    );
    link(&world, "mkdir");
    for name in ["old", "same"] {
        world.write(&format!("project/{name}/.git/config"), "[core]\n");
    }
    let run = world.ralph(&["run", "make it", "--ac", "made=test -e done"]);
    assert_eq!(run.exit, 1, "{run:?}");
    let names = "`.git/rebase-merge`, `deep/new/.git`, `old/.git`";
    assert!(run.stderr.contains(&format!("may run: {names}\n")), "{run:?}");
    assert!(run.stdout.contains(&format!("{names}; `ralph accept` accepts it")), "{run:?}");
    assert_eq!(world.state()["pause"]["cause"], "blocked_on_human");
    assert_eq!(world.ralph(&["run"]).exit, 1, "it is asked again");
    let accepted = world.ralph(&["accept"]).done();
    assert!(
        accepted.stdout.contains("taken: .git/rebase-merge; deep/new/.git; old/.git"),
        "{accepted:?}"
    );
    world.ralph(&["run"]).done();
    assert_eq!(ended(&world)["ending"]["kind"], "complete");
}

#[test]
fn what_the_user_makes_between_two_runs_is_the_users() {
    let world = world("test -e half && touch done; touch half");
    let args = ["run", "make it", "--ac", "made=test -e done", "-n", "1"];
    assert_eq!(world.ralph(&args).exit, 1);
    world.write("project/mine/.git/config", "[core]\n");
    world.ralph(&["run"]).done();
    assert_eq!(ended(&world)["ending"]["kind"], "complete");
}

#[test]
fn a_client_that_is_gone_in_mid_run_is_told_and_no_other_is_taken() {
    let world = world("rm \"$0\"");
    link(&world, "rm");
    let script = fs::read_to_string(world.path("bin/claude")).unwrap();
    world.write("last/claude", &script);
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(world.path("last/claude"), mode).unwrap();
    let mut command = world.command(Path::new(env!("CARGO_BIN_EXE_ralph")), "");
    let path = std::env::join_paths([world.path("bin"), world.path("last")]).unwrap();
    command.env("PATH", path).args(["run", "make it", "--ac", "made=test -e done"]);
    let run = world.finish(start(&mut command), "");
    let gone = "the client with which the run began, `[ROOT]/bin/claude`, is gone";
    assert!(run.stderr.contains(gone), "{run:?}");
    assert_eq!((run.exit, n_rounds(&world)), (4, 1), "{run:?}");
}

#[test]
fn criteria_that_all_hold_at_the_start_prove_nothing_so_the_rounds_begin() {
    let passes_already = "the criteria pass before anything was done, so they prove nothing yet: the first round is asked \
         for a test that fails today";
    let run = |works: &str| {
        let world = world(works);
        world.write("project/a.c", "int a;\n");
        world.write("project/check.sh", "grep -q a a.c\n");
        let printed = world.ralph(&["run", "add b", "--ac", "it is there=sh check.sh"]);
        assert!(printed.stderr.contains(passes_already), "{printed:?}");
        (world, printed)
    };
    let (world, printed) = run(":");
    assert_eq!((printed.exit, n_rounds(&world)), (1, 2), "{printed:?}");
    assert!(printed.stdout.contains("without proof: nothing was changed"), "{printed:?}");
    let (world, printed) = run("echo 'int b;' >>a.c; echo 'grep -q b a.c' >>check.sh");
    assert_eq!((printed.exit, n_rounds(&world)), (0, 1), "{printed:?}");
    assert!(printed.stdout.contains("it fails without the change"), "{printed:?}");
    assert_eq!(ended(&world)["ending"]["kind"], "complete");
}

/// The first round does nothing, and the second one does it.
const SECOND: &str = r#"test $n = 1 || echo yes >done"#;

#[test]
fn a_run_begins_with_one_line() {
    let world = world(SECOND);
    let printed = world.ralph(&["run", "make it", "--ac", "done=test -f done"]).done();
    let (before, _) = printed.stderr.split_once("round 1: begins").unwrap();
    let lines: Vec<&str> = before.lines().collect();
    assert_eq!(lines.len(), 2, "{before}");
    let mode = " until `test -f done` holds; permission mode: ";
    assert!(lines[0].starts_with("running loop ") && lines[0].contains(mode), "{before}");
    assert!(lines[0].contains("; logs in "), "{before}");
    assert_eq!(lines[1], "0 of 1 criterion holds");
}

#[test]
fn a_script_that_the_project_lacks_is_refused_at_the_start() {
    let world = world("");
    std::os::unix::fs::symlink("/bin/true", world.path("bin/npm")).unwrap();
    world.write(
        "project/package.json",
        r#"{"scripts": {"test": "node --test", "lint": "eslint ."}}"#,
    );
    let printed = world.ralph(&["run", "make it", "--ac", "it is typed=npm run types"]);
    let words = "`package.json` has no script `types`; its scripts: test, lint";
    assert!(printed.exit != 0 && printed.stderr.contains(words), "{printed:?}");
    assert_eq!(n_rounds(&world), 0);
}

#[test]
fn on_a_terminal_an_error_begins_in_red() {
    let Some(screen) = Screen::of(world(""), &[]) else { return };
    screen.open((120, 50), &format!("{} run --nope", env!("CARGO_BIN_EXE_ralph")));
    screen.shows("exit 2");
    let shown = screen.tmux(&["capture-pane", "-p", "-e"]);
    assert!(shown.contains("\u{1b}[31merror:"), "{shown:?}");
}

#[test]
fn on_a_terminal_a_run_shows_what_holds_in_green_and_what_does_not_in_red() {
    let (red, green, yellow) = ("\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m");
    for (environment, is_coloured) in [(&[][..], true), (&[("NO_COLOR", "1")][..], false)] {
        let world = world(SECOND);
        let ralph =
            format!("PATH={} {} run", world.path("bin").display(), env!("CARGO_BIN_EXE_ralph"));
        let Some(screen) = Screen::of(world, environment) else { return };
        for (arguments, shown) in [
            (
                "'make it' --ac 'done=test -f done' -n 1",
                [(red, "round 1: the criterion does not hold"), (yellow, "loop ")],
            ),
            ("", [(green, "round 1: all criteria hold"), (green, "Ralph: done in 2 rounds")]),
        ] {
            screen.open((120, 50), &format!("{ralph} {arguments}"));
            screen.shows("exit ");
            let screen = screen.tmux(&["capture-pane", "-p", "-e"]);
            for (colour, words) in shown {
                assert!(screen.contains(words), "{words}: {screen:?}");
                let is_painted = screen.contains(&format!("{colour}{words}"));
                assert_eq!(is_painted, is_coloured, "{words}: {screen:?}");
            }
        }
    }
}

#[test]
fn a_run_without_a_criterion_says_what_follows_before_it_starts() {
    let world = world(":");
    let printed = world.ralph(&["run", "make it", "-n", "1"]);
    let (before, _) = printed.stderr.split_once("round 1 of 1: begins").unwrap();
    let told = "until the model says that it is done, without proof (`--ac 'DESCRIPTION=COMMAND'` sets a criterion); ";
    assert!(before.contains(told), "{printed:?}");
    assert!(printed.stderr.contains("round 1: no criterion is set ("), "{printed:?}");
}

#[test]
fn the_models_claim_does_not_count_and_rounds_without_a_change_stall() {
    let world = world(":");
    let printed = world.ralph(&["run", "make it", "--ac", "never=test -f never"]);
    // As at every stop, the first one has nothing to compare with.
    assert_eq!((printed.exit, n_rounds(&world)), (1, 4), "{printed:?}");
    assert_eq!(ended(&world)["ending"]["kind"], "stalled");
}

#[test]
fn without_git_rounds_without_a_change_stall_too() {
    let world = world("test $n -gt 2 || echo $n >file");
    fs::rename(world.path("project/.git"), world.path("git")).unwrap();
    let printed = world.ralph(&["run", "make it", "--ac", "never=test -f never"]);
    assert_eq!((printed.exit, n_rounds(&world)), (1, 5), "{printed:?}");
    assert_eq!(ended(&world)["ending"]["kind"], "stalled");
}

#[test]
fn rounds_that_the_model_does_not_answer_pause_the_run_with_the_words_of_the_api() {
    for (status, rounds) in [(400, 3), (401, 1), (404, 1)] {
        let refused = json!({"type": "result", "is_error": true, "terminal_reason": "api_error",
            "api_error_status": status, "result": format!("API Error: {status} no such model")});
        let world = world(&format!("say '{refused}'; exit 1"));
        let printed = world.ralph(&["run", "make it", "--ac", "x=test -f x"]);
        assert_eq!((printed.exit, n_rounds(&world)), (1, rounds), "{printed:?}");
        let pause = &world.state()["pause"];
        assert_eq!(pause["cause"], "crashed", "{pause}");
        let words = format!("API Error: {status} no such model");
        assert!(pause["detail"].as_str().unwrap().ends_with(&words), "{pause}");
        assert!(printed.stdout.contains(&format!("{words}; `ralph run` continues")), "{printed:?}");
        assert!(printed.stderr.contains("round 1: ended without an answer"), "{printed:?}");
    }
}

#[test]
fn the_tokens_of_each_client_count_in_the_state_and_end_the_loop_at_their_limit() {
    let world = world("echo $n >file$n");
    let run = ["run", "make it", "--ac", "x=test -f never", "--max-tokens", "1500"];
    let printed = world.ralph(&run);
    assert_eq!((printed.exit, n_rounds(&world)), (1, 2), "{printed:?}");
    let state = ended(&world);
    assert_eq!(state["ending"]["detail"], "used 2002 of at most 1500 tokens");
    assert_eq!(state["usage"]["tokens"]["input"], 2000);
}

#[test]
fn a_round_that_changes_nothing_finishes_no_task() {
    let world =
        world(&format!("test $n = 1 || echo $n >T-$n\n{CLOSES}\ntest $n -lt 3 || touch T-2"));
    two_tasks(&world, "");
    let printed = world.ralph(&["build"]).done();
    assert!(
        printed.stderr.contains("T-1 is ready again; round 1: marked it done and changed no file"),
        "{printed:?}"
    );
    assert_eq!(n_rounds(&world), 3, "{printed:?}");
}

#[test]
fn the_commands_of_a_task_decide_whether_it_is_done() {
    let world = world(&format!("echo $n >file$n\n{CLOSES}\ntest $n -lt 3 || touch T-2"));
    two_tasks(&world, "echo it must have two; test -f file2");
    let printed = world.ralph(&["run"]).done();
    let told = "T-1 is ready again; round 1: marked it done, but `echo it must have two; test -f file2` \
                exits with 1: it must have two";
    assert!(printed.stderr.contains(told), "{printed:?}");
    assert_eq!(n_rounds(&world), 3, "{printed:?}");
}

#[test]
fn changed_commands_of_a_task_do_not_run() {
    let world = world(&format!("echo $n >file$n\n{CLOSES}"));
    two_tasks(&world, "test -f never");
    world.ralph(&["run", "-n", "1"]);
    world.change_state(|state| state["task_graph"][0]["verify"] = json!(["touch ran"]));
    let printed = world.ralph(&["run", "-n", "1"]);
    assert_eq!(printed.exit, 1, "{printed:?}");
    assert!(!world.path("project/ran").exists());
}

#[test]
fn a_pause_in_a_round_starts_no_other_and_run_continues() {
    let world = world("echo $n >file$n; test $n = 2 || ralph pause >/dev/null");
    let printed = world.ralph(&["run", "make it", "--ac", "x=test -f file2"]);
    assert_eq!((printed.exit, n_rounds(&world)), (1, 1), "{printed:?}");
    assert!(printed.stdout.contains("; `ralph run` continues"), "{printed:?}");
    assert_eq!(world.state()["pause"]["cause"], "person");
    let status = world.ralph(&["status"]).done().stdout;
    assert!(status.contains("next        `ralph run` continues it"), "{status}");
    let resumed = world.ralph(&["resume"]).done().stdout;
    assert!(resumed.contains("; `ralph run` continues it"), "{resumed}");
    world.ralph(&["run"]).done();
}

#[test]
fn status_shows_the_cost_and_its_limit() {
    let world = world("echo $n >file$n");
    let run = ["run", "make it", "--ac", "x=test -f never", "--max-cost", "3", "-n", "1"];
    world.ralph(&run);
    let status = world.ralph(&["status"]).done();
    assert!(status.stdout.contains("$0.50 of $3.00"), "{status:?}");
    let cost = world.ralph(&["status", "--json"]).json()["loops"][0]["cost"].take();
    assert_eq!(cost, json!({"used": 0.5, "limit": 3.0}));
}

#[test]
fn without_a_loop_it_says_how_to_begin() {
    let world = world(":");
    let printed = world.ralph(&["run"]);
    assert_eq!((printed.exit, n_rounds(&world)), (1, 0), "{printed:?}");
    assert!(printed.stderr.contains("type `ralph run \"what to do\"`"), "{printed:?}");
    assert_eq!(world.ralph(&["run", "  "]).exit, 2);
    assert_eq!(world.ralph(&["run", "-f", "none.md"]).exit, 2);
}

#[test]
fn a_file_is_the_task_and_run_alone_continues_it() {
    let world = world("echo $n >file$n");
    world.write("project/PROMPT.md", "Make it\nin two rounds\n");
    let printed = world.ralph(&["run", "-f", "PROMPT.md", "--ac", "x=test -f file2", "-n", "1"]);
    assert_eq!((printed.exit, n_rounds(&world)), (1, 1), "{printed:?}");
    assert!(printed.stdout.contains("as many rounds as were asked for; `ralph run` continues"));
    assert_eq!(world.state()["prompt"], "Make it\nin two rounds");
    assert_eq!(world.ralph(&["run", "--ac", "y=test -f y"]).exit, 2);
    world.ralph(&["run"]).done();
    assert_eq!(n_rounds(&world), 2);
}

#[test]
fn a_dry_run_shows_the_first_command_and_starts_no_loop() {
    let world = world(":");
    let printed = world.ralph(&["run", "make it", "--ac", "x=test -f x", "--dry-run"]).done();
    assert!(printed.stdout.contains("make it") && printed.stdout.contains("claude"), "{printed:?}");
    assert_eq!((n_rounds(&world), world.loop_ids().len()), (0, 0));
}

#[test]
fn with_json_each_line_is_an_event() {
    let world = world("echo $n >file$n");
    let run = ["run", "make it", "--ac", "x=test -f file2", "--json", "-n", "1"];
    let printed = world.ralph(&run);
    let first = events(&printed);
    let names = |events: &[Value]| {
        events.iter().map(|event| event["event"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        names(&first),
        ["started", "criteria", "round began", "round ended", "criteria", "paused"]
    );
    assert_eq!(first[3]["outcome"], "finished");
    assert_eq!((&first[3]["changed"], &first[3]["cost"]), (&json!(true), &json!(0.5)));
    assert_eq!(first[2]["session"], lines(&world, "sessions")[0]);
    let printed = world.ralph(&["run", "--json"]).done();
    let second = events(&printed);
    assert_eq!(second.last().unwrap()["event"], "ended");
    assert_eq!(second.last().unwrap()["kind"], "complete");
    assert_eq!(second.last().unwrap()["cost"], 1.0);
}

#[test]
fn a_cost_that_reaches_its_limit_ends_the_loop() {
    let world = world("echo $n >file$n");
    let run = ["run", "make it", "--ac", "x=test -f never", "--max-cost", "0.75"];
    let printed = world.ralph(&run);
    assert_eq!((printed.exit, n_rounds(&world)), (1, 2), "{printed:?}");
    let ending = &ended(&world)["ending"];
    assert_eq!(ending["kind"], "budget");
    assert_eq!(ending["detail"], "cost $1.00 of at most $0.75");
    for bad in ["0", "-1", "x", "1e9"] {
        assert_eq!(world.ralph(&["run", "t", "--max-cost", bad]).exit, 2, "{bad}");
    }
}

#[test]
fn each_round_that_changed_something_is_one_commit_and_dirty_files_stay() {
    let world = world("echo $n >file$n");
    world.write("project/mine", "1");
    let run = ["run", "Make it\nmore", "--ac", "x=test -f file2", "--commit"];
    let printed = world.ralph(&run).done();
    assert!(printed.stderr.contains("1 file is in no commit: mine; Ralph commits none of them"));
    let log = git(&world, &["log", "--format=%s", "--name-only"]);
    let log: Vec<&str> = log.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(log, ["Make it (round 2)", "file2", "Make it (round 1)", "file1", "begin"]);
    assert_eq!(git(&world, &["status", "--porcelain"]), "?? mine\n");
}

#[test]
fn a_finished_task_is_one_commit_and_the_projects_hooks_run() {
    let world = world(&format!("echo $n >T-$n\n{CLOSES}"));
    two_tasks(&world, "");
    world.write("project/.git/hooks/pre-commit", "#!/bin/sh\necho ran >>.git/ran\n");
    let hook = world.path("project/.git/hooks/pre-commit");
    fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).unwrap();
    world.ralph(&["build", "--commit"]).done();
    let log = git(&world, &["log", "--format=%s"]);
    assert_eq!(log, "T-2: write T-2\nT-1: write T-1\nbegin\n");
    assert_eq!(fs::read_to_string(world.path("project/.git/ran")).unwrap(), "ran\nran\n");
}

#[test]
fn a_commit_that_a_hook_refuses_is_told_and_the_next_one_has_its_files() {
    let world = world("echo $n >file$n; test $n = 1 || touch .git/ok");
    world.write(
        "project/.git/hooks/pre-commit",
        "#!/bin/sh\ntest -f .git/ok || { echo nope >&2; exit 1; }\n",
    );
    let hook = world.path("project/.git/hooks/pre-commit");
    fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).unwrap();
    let printed = world.ralph(&["run", "Make it", "--ac", "x=test -f file2", "--commit"]).done();
    assert!(printed.stderr.contains("not committed: "), "{printed:?}");
    assert!(printed.stderr.contains("nope"), "{printed:?}");
    assert_eq!(git(&world, &["status", "--porcelain"]), "");
}

#[test]
fn the_branch_is_made_before_the_first_round_and_settings_switch_it_on_as_well() {
    let world = world("echo $n >file$n");
    world.write("project/mine", "1");
    world.ralph(&["run", "a", "--ac", "x=test -f file1", "--branch=work/a"]).done();
    assert_eq!(git(&world, &["branch", "--show-current"]), "work/a\n");
    assert_eq!(fs::read_to_string(world.path("project/mine")).unwrap(), "1");
    world.set_user("[run]\nbranch = true\ncommit = true\n");
    let printed = world.ralph(&["run", "b", "--ac", "x=test -f file2"]).done();
    assert!(git(&world, &["branch", "--show-current"]).starts_with("ralph/"), "{printed:?}");
    assert_eq!(git(&world, &["log", "-1", "--format=%s"]), "b (round 1)\n");
}

#[test]
fn a_branch_that_cannot_be_is_refused_before_anything_is_planned() {
    let world = world(":");
    git(&world, &["branch", "taken"]);
    git(&world, &["branch", "deep/er"]);
    world.write("project/prd.json", &prd("-x"));
    let bare = ["run", "c", "--ac", "x=test -f none"];
    for (arguments, told) in [
        (&[&bare[..], &["--branch=a..b"]].concat(), "`a..b` cannot name a branch"),
        (&[&bare[..], &["--branch=taken/x"]].concat(), "`taken/x` beside `taken`; give another"),
        (&[&bare[..], &["--branch=deep"]].concat(), "`deep` beside `deep/er`; give another"),
        (&vec!["run", "--plan", "prd.json", "--branch"], "`-x` cannot name a branch"),
    ] {
        let printed = world.ralph(arguments);
        assert_eq!((printed.exit, n_rounds(&world)), (1, 0), "{printed:?}");
        assert!(printed.stderr.contains(told), "{printed:?}");
        assert!(world.loop_ids().is_empty(), "{printed:?}");
    }
    assert_eq!(git(&world, &["branch", "--show-current"]), "main\n");
}

fn prd(branch: &str) -> String {
    let story =
        json!({"id": "T-1", "title": "a", "acceptanceCriteria": ["it is"], "passes": false});
    json!({"branchName": branch, "userStories": [story], "verificationCommands": {"it": "test -f file1"}})
        .to_string()
}

#[test]
fn the_branch_that_a_plan_names_is_the_default_of_the_flag() {
    let world = world(&format!("echo $n >file$n\n{CLOSES}"));
    world.write("project/prd.json", &prd("ralph/attempts"));
    world.ralph(&["run", "--plan", "prd.json", "--branch"]).done();
    assert_eq!(git(&world, &["branch", "--show-current"]), "ralph/attempts\n");
    world.write("project/prd.json", &prd("ralph/attempts"));
    git(&world, &["switch", "-q", "main"]);
    fs::remove_file(world.path("project/file1")).unwrap();
    fs::remove_file(world.path("home/n")).unwrap();
    world.ralph(&["run", "--plan", "prd.json"]).done();
    assert_eq!(git(&world, &["branch", "--show-current"]), "main\n", "without the flag");
}

#[test]
fn a_loops_own_branch_leaves_room_for_those_of_workers_and_an_older_one_is_kept() {
    let world = world("echo $n >file$n");
    let run = ["run", "b", "--ac", "x=test -f file3", "--branch", "-n", "1"];
    world.ralph(&run);
    let id = world.loop_id();
    assert_eq!(git(&world, &["branch", "--show-current"]), format!("ralph/run-{id}\n"));
    git(&world, &["branch", &format!("ralph/{id}/T-1")]);
    git(&world, &["branch", "-D", "-q", &format!("ralph/{id}/T-1")]);
    git(&world, &["branch", &format!("ralph/{id}")]);
    world.ralph(&["run", "--branch", "-n", "1"]);
    assert_eq!(git(&world, &["branch", "--show-current"]), format!("ralph/{id}\n"));
}

#[test]
fn settings_of_a_project_that_nobody_trusts_neither_branch_nor_commit() {
    let world = world("echo $n >file$n");
    world.write("project/.claude/ralph.toml", "[run]\nbranch = true\ncommit = true\n");
    world.ralph(&["run", "a", "--ac", "x=test -f file1"]).done();
    assert_eq!(git(&world, &["branch", "--show-current"]), "main\n");
    assert_eq!(git(&world, &["log", "--format=%s"]), "begin\n");
}

pub(crate) fn ralph(world: &World, arguments: &[&str]) -> Command {
    let mut command = world.command(Path::new(env!("CARGO_BIN_EXE_ralph")), "");
    command.args(arguments);
    command
}

/// A client that works until it is ended, in every round but from the third.
const HANGS: &str = "echo $n >file$n; test $n -ge 3 || sleep 600";

#[test]
fn a_second_run_in_the_same_work_tree_is_refused_while_the_first_is_live() {
    let world = world(HANGS);
    let mut first = start(&mut ralph(&world, &["run", "a", "--ac", "x=test -f file3"]));
    wait_for("the first round", || world.path("project/file1").exists());
    let printed = world.ralph(&["run", "b", "--ac", "y=test -f y"]);
    assert_eq!(printed.exit, 1, "{printed:?}");
    assert!(printed.stderr.contains("another `ralph run` works in"), "{printed:?}");
    assert_eq!(world.loop_ids().len(), 1);
    first.kill().unwrap();
    first.wait().unwrap();
}

#[test]
fn ctrl_c_pauses_the_loop_with_130_and_run_continues_it() {
    let world = world(HANGS);
    let mut first = start(&mut ralph(&world, &["run", "a", "--ac", "x=test -f file2"]));
    wait_for("the first round", || world.path("project/file1").exists());
    let pid = rustix::process::Pid::from_child(&first);
    let interrupt = || rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    interrupt();
    heard(&mut first, "Ctrl-C again ends");
    interrupt();
    let printed = world.finish(first, "");
    assert_eq!(printed.exit, 130, "{printed:?}");
    assert!(printed.stdout.contains("ended by Ctrl-C; `ralph run` continues"), "{printed:?}");
    assert_eq!(world.state()["phase"], "paused");
    world.write("home/n", "5");
    world.write("project/file2", "");
    world.ralph(&["run"]).done();
}

#[test]
fn a_run_that_is_killed_in_each_round_continues_and_commits_what_they_left() {
    let world = world(HANGS);
    world.write("project/mine", "1");
    let mut arguments = vec!["run", "a", "--ac", "x=test -f file3", "--commit"];
    for round in 1..=2 {
        let mut child = start(&mut ralph(&world, &arguments));
        wait_for("the round", || world.path(&format!("project/file{round}")).exists());
        child.kill().unwrap();
        child.wait().unwrap();
        arguments = vec!["run", "--commit"];
    }
    world.ralph(&arguments).done();
    assert_eq!(n_rounds(&world), 3);
    let log = git(&world, &["log", "-1", "--format=", "--name-only"]);
    assert_eq!(log, "file1\nfile2\nfile3\n");
    assert_eq!(git(&world, &["status", "--porcelain"]), "?? mine\n");
}
