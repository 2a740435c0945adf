//! `ralph refine` beside a client that is a script: what it does to a plan and what it says are all that
//! counts.

use crate::world::{Printed, World, start, wait_for};
use ralph_test_support::round::heard;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// What every client of these tests knows: which call it is, the file it is to write on, and how to end.
const CLIENT: &str = r#"#!/bin/sh
[ "$1" = --version -o "$1" = /cost ] && echo '2.1.328 (Claude Code)' && exit
n=$(($(cat "$HOME/n" 2>/dev/null || echo 0) + 1))
echo $n >"$HOME/n"
printf '%s\n' "$*" >"$HOME/call-$n"
plan=$(printf '%s\n' "$2" | sed -n 's/^Plan: `\(.*\)`$/\1/p')
printf '%s\n' "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s-$n\"}"
say() { printf '%s\n' "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"$1\",\"session_id\":\"s-$n\"}"; }
ended() { say "work\n\nCHANGES: $1\nSUMMARY: in call $n"; }
lines() { i=0; while [ $i -lt $1 ]; do echo "call $n line $i" >>"$plan"; i=$((i + 1)); done; }
"#;

const TOOLS: [&str; 10] =
    ["sh", "cat", "sed", "env", "kill", "mkfifo", "head", "tmux", "touch", "sleep"];

/// A project with a plan, and a client that does this.
pub(crate) fn world(client: &str) -> World {
    let world = World::new().permissive();
    for tool in TOOLS {
        let places = ["/usr/bin", "/bin"].map(|folder| format!("{folder}/{tool}"));
        if let Some(place) = places.iter().find(|place| Path::new(place).exists()) {
            std::os::unix::fs::symlink(place, world.path("bin").join(tool)).unwrap();
        }
    }
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_ralph"), world.path("bin/ralph")).unwrap();
    program(&world, "claude", &format!("{CLIENT}{client}\n"));
    let plan: String = (0..40).map(|line| format!("{line}\n")).collect();
    world.write("project/plan.md", &plan);
    world
}

fn program(world: &World, name: &str, text: &str) {
    let path = world.write(&format!("bin/{name}"), text);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// One that says and makes so many changes in its calls; the last number for all that follow.
fn changing(numbers: &[(u32, u32)]) -> World {
    let cases: String = numbers
        .iter()
        .enumerate()
        .map(|(at, (says, makes))| {
            let call = if at + 1 == numbers.len() { "*".to_owned() } else { (at + 1).to_string() };
            format!("{call}) lines {makes}; ended {says};;\n")
        })
        .collect();
    world(&format!("case $n in\n{cases}esac"))
}

pub(crate) fn refine(world: &World, more: &[&str]) -> Printed {
    let arguments: Vec<&str> =
        ["refine", "loop", "--plan", "plan.md"].iter().chain(more).copied().collect();
    world.ralph(&arguments)
}

pub(crate) fn session(world: &World, name: &str) -> Value {
    let text = fs::read(world.path("project/.claude/refine-sessions.json")).unwrap();
    let document: Value = serde_json::from_slice(&text).unwrap();
    document["sessions"][name].clone()
}

pub(crate) fn plan(world: &World) -> String {
    fs::read_to_string(world.path("project/plan.md")).unwrap()
}

pub(crate) fn n_called(world: &World) -> u32 {
    fs::read_to_string(world.path("home/n")).unwrap_or_default().trim().parse().unwrap_or_default()
}

fn call(world: &World, number: u32) -> String {
    fs::read_to_string(world.path(&format!("home/call-{number}"))).unwrap()
}

/// What the history says of each round: its number, what it says, what was measured, how it ended.
fn history(world: &World, name: &str) -> Vec<(u64, Option<u64>, Option<u64>, String)> {
    let session = session(world, name);
    let rounds = session["history"].as_array().unwrap().iter();
    rounds
        .map(|round| {
            (
                round["iteration"].as_u64().unwrap(),
                round["changes"].as_u64(),
                round["measured"]["lines"].as_u64(),
                round["end"].as_str().unwrap_or("done").to_owned(),
            )
        })
        .collect()
}

fn done(round: u64, says: u64, measured: u64) -> (u64, Option<u64>, Option<u64>, String) {
    (round, Some(says), Some(measured), "done".to_owned())
}

#[test]
fn a_plan_that_settles_ends_at_its_plateau_and_each_round_is_a_client_of_its_own() {
    let world = changing(&[(5, 9), (3, 6), (2, 2), (1, 1), (1, 1)]);
    let printed = refine(&world, &["--no-notify"]).done();
    assert!(
        printed.stdout.contains("plateau at round 5: the plan no longer changes"),
        "{printed:?}"
    );
    assert!(!printed.stdout.contains("came early"), "{printed:?}");
    assert!(
        printed.stdout.contains("12 changes") && printed.stdout.contains("19 lines"),
        "{printed:?}"
    );
    let session = session(&world, "plan");
    assert_eq!((&session["status"], &session["plateau_at"]), (&json!("plateau"), &json!(5)));
    assert_eq!((&session["mode"], &session["plan_file"]), (&json!("plan"), &json!("plan.md")));
    assert_eq!((&session["total_changes"], session.get("round")), (&json!(12), None));
    assert_eq!(
        history(&world, "plan"),
        [done(1, 5, 9), done(2, 3, 6), done(3, 2, 2), done(4, 1, 1), done(5, 1, 1)]
    );
    assert_eq!((n_called(&world), plan(&world).lines().count()), (5, 59));
    for number in 1..=5 {
        let call = call(&world, number);
        assert!(call.contains("--model opus") && !call.contains("--resume"), "{call}");
        assert!(call.contains(&format!("Round: {number} of at most 10")), "{call}");
    }
    assert!(!world.path("project/.omc").exists(), "what a round wrote on is put away");
}

#[test]
fn an_early_plateau_brings_the_advice_to_look_with_fresh_eyes() {
    let world = changing(&[(2, 2), (1, 1), (1, 1)]);
    let printed = refine(&world, &[]).done();
    assert!(printed.stdout.contains("plateau at round 3"), "{printed:?}");
    assert!(printed.stdout.contains("type `/plan-refinery context`"), "{printed:?}");
}

#[test]
fn a_plan_that_never_settles_ends_at_its_cap_and_goes_on_when_it_is_given_more() {
    let world = changing(&[(4, 9)]);
    let printed = refine(&world, &["--max-iterations", "4"]);
    assert_eq!((printed.exit, n_called(&world)), (1, 4), "{printed:?}");
    assert!(printed.stdout.contains("ended after 4 rounds"), "{printed:?}");
    assert_eq!(session(&world, "plan")["status"], "max_iterations");
    let again = world.ralph(&["refine", "loop", "--session", "plan"]);
    assert_eq!((again.exit, n_called(&world)), (1, 4), "{again:?}");
    assert!(again.stderr.contains("has used all of its 4 rounds"), "{again:?}");
    let more = world.ralph(&["refine", "loop", "--session", "plan", "--max-iterations", "6"]);
    assert_eq!((more.exit, n_called(&world)), (1, 6), "{more:?}");
}

#[test]
fn one_that_says_nothing_changed_and_rewrites_half_the_plan_does_not_plateau() {
    let world = changing(&[(0, 20)]);
    let printed = refine(&world, &["--max-iterations", "4"]);
    assert_eq!((printed.exit, n_called(&world)), (1, 4), "{printed:?}");
    let quiet = changing(&[(0, 5)]);
    refine(&quiet, &["--max-iterations", "4"]).done();
    assert_eq!(n_called(&quiet), 3, "five lines are few");
}

#[test]
fn who_forgets_the_lines_is_asked_once_more_in_the_same_conversation() {
    let world = world("case $n in 1) lines 2; say 'I forgot';; 2) ended 2;; *) ended 0;; esac");
    let printed = world.ralph(&["refine", "once", "--plan", "plan.md"]).done();
    assert!(printed.stderr.contains("asking once more"), "{printed:?}");
    assert!(call(&world, 2).contains("--resume s-1"), "{}", call(&world, 2));
    assert!(call(&world, 2).contains("The line `CHANGES:` is missing"), "{}", call(&world, 2));
    assert_eq!((history(&world, "plan"), n_called(&world)), (vec![done(1, 2, 2)], 2));
}

#[test]
fn who_forgets_them_twice_has_said_nothing_which_is_not_zero() {
    let world = world("case $n in 1|2) lines 1; say 'no';; *) ended 0;; esac");
    world.ralph(&["refine", "once", "--plan", "plan.md"]).done();
    let rounds = history(&world, "plan");
    assert_eq!(rounds, [(1, None, Some(1), "done".to_owned())]);
    assert_eq!(session(&world, "plan")["history"][0]["changes"], Value::Null);
    // What is unknown is little of nothing: three quiet rounds follow, and not two.
    refine(&world, &[]).done();
    assert_eq!(session(&world, "plan")["plateau_at"], 4);
}

#[test]
fn a_client_that_crashes_in_round_three_makes_that_round_once_more() {
    let world = world(
        "case $n in 1|2) lines 9; ended 4;; 3) lines 7; exit 3;; 4) lines 8; ended 2;; *) ended 0;; esac",
    );
    let printed = refine(&world, &[]).done();
    assert!(printed.stderr.contains("round 3 of 10 was cut"), "{printed:?}");
    let rounds = history(&world, "plan");
    let cut = (3, None, Some(7), "interrupted".to_owned());
    assert_eq!(rounds[2..4], [cut, done(3, 2, 8)]);
    assert!(!plan(&world).contains("call 3 line"), "what a cut round wrote is not the plan");
    assert!(plan(&world).contains("call 4 line 7"));
    let versions = world.ralph(&["refine", "history"]).done().stdout;
    assert!(versions.contains("what round 3 wrote, which is not the plan"), "{versions}");
}

#[test]
fn a_client_that_only_crashes_is_not_started_for_ever_and_the_session_goes_on_later() {
    let world = world("case $n in 1|5|6|7) lines 1; ended 1;; *) exit 3;; esac");
    let printed = refine(&world, &[]);
    assert_eq!((printed.exit, n_called(&world)), (4, 4), "{printed:?}");
    assert!(printed.stderr.contains("`ralph refine loop --id plan` continues"), "{printed:?}");
    assert_eq!(session(&world, "plan")["status"], "interrupted");
    world.ralph(&["refine", "loop", "--session", "plan"]).done();
    assert_eq!((n_called(&world), session(&world, "plan")["plateau_at"].as_u64()), (7, Some(4)));
}

#[test]
fn a_round_whose_driver_was_killed_is_recorded_and_made_once_more() {
    let world = world(
        "case $n in 1) lines 7; read -r _ _ _ driver _ </proc/$PPID/stat; kill -9 $driver;; *) lines 1; ended 1;; esac",
    );
    let mut command = world.command(&world.path("bin/ralph"), "");
    let killed = start(command.args(["refine", "loop", "--plan", "plan.md"])).wait().unwrap();
    assert_eq!(killed.code(), None);
    assert_eq!(session(&world, "plan")["round"]["iteration"], 1);
    let listed = world.ralph(&["refine", "list"]).done().stdout;
    assert!(listed.contains("interrupted 0/10"), "{listed}");
    let printed = refine(&world, &[]).done();
    assert!(printed.stderr.contains("was cut: whoever ran it is gone"), "{printed:?}");
    assert_eq!(history(&world, "plan")[0], (1, None, Some(7), "interrupted".to_owned()));
    assert!(!plan(&world).contains("call 1 line"));
}

#[test]
fn ctrl_c_pauses_a_refinement_with_130_and_names_what_continues_it() {
    let world = world("lines 1; touch \"$HOME/at-work\"; exec sleep 60");
    let mut command = world.command(&world.path("bin/ralph"), "");
    let mut child = start(command.args(["refine", "loop", "--plan", "plan.md"]));
    wait_for("the first round", || world.path("home/at-work").exists());
    let pid = rustix::process::Pid::from_child(&child);
    let interrupt = || rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    interrupt();
    let later = heard(&mut child, "Ctrl-C again ends");
    interrupt();
    let printed = world.finish(child, "");
    assert_eq!(printed.exit, 130, "{printed:?}");
    let later = later.join().unwrap();
    assert!(later.contains("`ralph refine loop --id plan` continues"), "{later}");
}

#[test]
fn what_a_person_writes_into_the_plan_meanwhile_stands() {
    let world =
        world("case $n in 1) lines 3; echo mine >plan.md; ended 3;; *) lines 1; ended 1;; esac");
    let printed = world.ralph(&["refine", "once", "--plan", "plan.md"]).done();
    assert!(printed.stderr.contains("was edited while round 1 ran"), "{printed:?}");
    assert_eq!(plan(&world), "mine\n");
    assert_eq!(session(&world, "plan")["history"][0]["plan"], "kept_edit");
    let versions = world.ralph(&["refine", "history"]).done().stdout;
    assert!(versions.contains("version 2") && versions.contains("is not the plan"), "{versions}");
    let wrote = world.ralph(&["refine", "diff", "2"]).done().stdout;
    assert!(wrote.contains("-call 1 line 2") && wrote.contains("+mine"), "{wrote}");
    // Between two rounds, too: the count begins anew, and the edit is said to be one.
    world.write("project/plan.md", "mine again\n");
    let printed = world.ralph(&["refine", "once", "--session", "plan"]).done();
    assert!(printed.stderr.contains("changed between the rounds"), "{printed:?}");
    assert_eq!(plan(&world), "mine again\ncall 2 line 0\n");
}

#[test]
fn a_second_session_on_the_same_file_is_refused_under_any_of_its_names() {
    let second = "for name in plan.md link.md; do
  ralph refine once --plan $name --id second >>\"$HOME/second\" 2>&1; echo $? >>\"$HOME/second\"
done
ralph refine restore 1 --id plan >>\"$HOME/second\" 2>&1
ralph refine once --plan other.md --id third --dry-run >/dev/null || echo no >>\"$HOME/second\"
ended 0";
    let world = world(second);
    world.write("project/other.md", "x\n");
    std::os::unix::fs::symlink("plan.md", world.path("project/link.md")).unwrap();
    world.ralph(&["refine", "once", "--plan", "plan.md"]).done();
    let said = fs::read_to_string(world.path("home/second")).unwrap();
    assert_eq!(said.matches("the refinement `plan` is at work on `plan.md`").count(), 3, "{said}");
    assert_eq!(said.matches("\n1\n").count(), 2, "{said}");
    assert!(!said.contains("no\n"), "{said}");
    assert_eq!((n_called(&world), session(&world, "second")), (1, Value::Null));
}

#[test]
fn a_bar_or_an_ampersand_in_a_name_is_a_letter() {
    let world = world("lines 1; ended 1");
    world.write("project/a|b&c $X.md", "one\n");
    let name = "x|y & ${ROUND} $(id)";
    world.ralph(&["refine", "once", "--plan", "a|b&c $X.md", "--session", name]).done();
    let call = call(&world, 1);
    assert!(call.contains(&format!("Session: {name}\n")), "{call}");
    assert!(call.contains("/a|b&c $X.md`"), "{call}");
    let text = fs::read_to_string(world.path("project/a|b&c $X.md")).unwrap();
    assert_eq!(
        (text.as_str(), &session(&world, name)["iterations_completed"]),
        ("one\ncall 1 line 0\n", &json!(1))
    );
    let refused = world.ralph(&["refine", "once", "--plan", "plan.md", "--session", "-x"]);
    assert_eq!(refused.exit, 2, "{refused:?}");
    assert!(refused.stderr.contains("begins like an option"), "{refused:?}");
}

#[test]
fn versions_are_compared_and_brought_back() {
    let world = changing(&[(2, 2), (1, 1)]);
    refine(&world, &["--max-iterations", "2"]);
    let whole = plan(&world);
    let last = world.ralph(&["refine", "diff"]).done().stdout;
    assert!(last.contains("+call 2 line 0") && !last.contains("call 1 line 0\n+"), "{last}");
    let both = world.ralph(&["refine", "diff", "1", "3"]).done().stdout;
    assert!(both.starts_with("--- plan.md (version 1)\n+++ plan.md (version 3)\n"), "{both}");
    let printed = world.ralph(&["refine", "restore", "1"]).done();
    assert_eq!(plan(&world).lines().count(), 40);
    assert!(printed.stdout.contains("what it was is version 3"), "{printed:?}");
    world.ralph(&["refine", "restore", "3"]).done();
    assert_eq!(plan(&world), whole);
    let missing = world.ralph(&["refine", "restore", "9"]);
    assert_eq!(missing.exit, 1, "{missing:?}");
}

#[test]
fn what_cannot_be_refined_is_refused_before_anything_is_written() {
    let world = world("ended 0");
    for (arguments, exit, says) in [
        (&["--mode", "plan"][..], 2, "say which with `--plan FILE`"),
        (&["--mode", "beads", "--plan", "plan.md"], 2, "leave one of them out"),
        (&["--plan", "none.md"], 2, "no such file: `none.md`"),
        (&[], 1, "no tasks to refine"),
        (&["--plan", "plan.md", "--confirm"], 2, "there is no terminal"),
        (&["--plan", "plan.md", "--max-iterations", "0"], 2, ""),
    ] {
        let all: Vec<&str> = ["refine", "loop"].iter().chain(arguments).copied().collect();
        let printed = world.ralph(&all);
        assert_eq!(printed.exit, exit, "{arguments:?} {printed:?}");
        assert!(printed.stderr.contains(says), "{arguments:?} {printed:?}");
    }
    fs::remove_file(world.path("bin/claude")).unwrap();
    assert_eq!(refine(&world, &[]).exit, 4);
    assert!(!world.path("project/.claude").exists() && n_called(&world) == 0);
}

#[test]
fn a_document_that_cannot_be_read_is_left_as_it_is() {
    let world = world("ended 0");
    let path = world.write("project/.claude/refine-sessions.json", "{");
    for arguments in [&["refine", "loop", "--plan", "plan.md"][..], &["refine", "list"]] {
        let printed = world.ralph(arguments);
        assert_eq!(printed.exit, 3, "{printed:?}");
        assert!(printed.stderr.contains("left unchanged"), "{printed:?}");
    }
    assert_eq!((fs::read_to_string(path).unwrap().as_str(), n_called(&world)), ("{", 0));
}

#[test]
fn a_dry_run_shows_the_command_and_writes_nothing() {
    let world = world("ended 0");
    let printed =
        refine(&world, &["--dry-run", "--model", "sonnet", "--", "--effort", "low"]).done();
    for part in ["RALPH_ROUND=refine", "--model sonnet", "--effort low", "Round: 1 of at most 10"] {
        assert!(printed.stdout.contains(part), "{part}: {printed:?}");
    }
    assert!(!world.path("project/.claude").exists() && !world.path("project/.omc").exists());
    assert_eq!(n_called(&world), 0);
}

#[test]
fn the_settings_bound_a_session() {
    let world = changing(&[(1, 8)]);
    world.write("project/.claude/ralph.toml", "[refine]\nplateau_threshold = 1\nlines = 8\n");
    refine(&world, &[]).done();
    assert_eq!(session(&world, "plan")["plateau_at"], 3);
    assert_eq!(session(&world, "plan")["settings"]["lines"], 8);
}

#[test]
fn the_projects_own_tasks_are_refined_and_what_changed_is_counted() {
    let client = r#"case $n in
1) say '```jsonl\n{\"id\":\"T-1\",\"name\":\"one\"}\n{\"id\":\"T-2\",\"name\":\"two\"}\n```\n\nCHANGES: 1\nSUMMARY: s';;
*) ended 0;; esac"#;
    let world = world(client);
    world.run("", &["plan-sync"], "{\"id\":\"T-1\",\"name\":\"one\"}\n").done();
    let printed = world.ralph(&["refine", "loop"]).done();
    assert!(printed.stdout.contains("the list of tasks no longer changes"), "{printed:?}");
    assert!(call(&world, 1).contains("into your last message"), "{}", call(&world, 1));
    let session = session(&world, "project");
    assert_eq!((&session["mode"], &session["plateau_at"]), (&json!("beads"), &json!(3)));
    assert_eq!(session["history"][0]["measured"]["added"], 1);
}

#[test]
fn the_beads_of_bd_are_refined_where_bd_keeps_them() {
    let client = "case $n in 1) echo '[{\"id\":\"b-1\",\"title\":\"x\",\"status\":\"open\"},{\"id\":\"b-2\",\"title\":\"new\",\"status\":\"open\"}]' >\"$HOME/beads\"; ended 1;; *) ended 0;; esac";
    let world = world(client);
    fs::create_dir(world.path("project/.beads")).unwrap();
    world.write("home/beads", "[{\"id\":\"b-1\",\"title\":\"x\",\"status\":\"open\"}]");
    program(
        &world,
        "bd",
        "#!/bin/sh\nprintf %s \"$ANTHROPIC_API_KEY\" >>\"$HOME/secrets\"\ncase $1 in version) echo '{\"version\":\"1.0.4\"}';; *) cat \"$HOME/beads\";; esac\n",
    );
    let refused =
        world.ralph(&["refine", "loop", "--mode", "beads", "--permission-mode", "acceptEdits"]);
    refused.check(
        1,
        "",
        "ralph: permission mode `acceptEdits` denies `bd update b-1 --description x`; allow it in `permissions.allow`, or type \
         `ralph refine loop --mode beads --permission-mode bypassPermissions`, with which no call is checked any more\n",
    );
    assert_eq!(n_called(&world), 0);
    let mut command = world.command(env!("CARGO_BIN_EXE_ralph").as_ref(), "");
    command.env("ANTHROPIC_API_KEY", "sk-not-a-real-one");
    assert!(command.args(["refine", "loop", "--mode", "beads"]).status().unwrap().success());
    assert_eq!(fs::read_to_string(world.path("home/secrets")).unwrap(), "");
    assert!(call(&world, 1).contains("kept by `bd`"), "{}", call(&world, 1));
    let session = session(&world, "project");
    assert_eq!(session["history"][0]["measured"]["added"], 1);
    assert_eq!(session["plateau_at"], 3);
    fs::remove_file(world.path("bin/bd")).unwrap();
    let without = world.ralph(&["refine", "loop", "--session", "again"]);
    assert_eq!(without.exit, 4, "{without:?}");
    assert!(
        without.stderr.contains("the project has `.beads/`, and could not find `bd`"),
        "{without:?}"
    );
}

#[test]
fn the_end_is_told_on_the_desktop_unless_nobody_wants_it() {
    for (more, told) in [(&[][..], true), (&["--no-notify"], false)] {
        let world = changing(&[(0, 0)]);
        program(&world, "notify-send", "#!/bin/sh\nprintf '%s|' \"$@\" >>\"$HOME/told\"\n");
        let settings = "[notify]\ncommand = [\"sh\", \"-c\", 'cat > \"$HOME/command\"']\n";
        world.set_user(settings);
        refine(&world, more).done();
        let document = fs::read_to_string(world.path("home/command")).unwrap_or_default();
        assert_eq!(document.contains("plateau at round 3: the plan no longer changes"), told);
        assert_eq!(document.contains("\"mode\": \"refine\""), told);
        let said = fs::read_to_string(world.path("home/told")).unwrap_or_default();
        let expected = "--app-name=ralph|--|ralph refine: plan|plateau at round 3: the plan no longer changes|";
        assert_eq!(said, if told { expected } else { "" });
    }
}

#[test]
fn without_tmux_the_background_says_what_to_do_and_begins_nothing() {
    let world = changing(&[(0, 0)]);
    let _ = fs::remove_file(world.path("bin/tmux"));
    let printed = refine(&world, &["--background"]);
    assert_eq!((printed.exit, n_called(&world)), (4, 0), "{printed:?}");
    assert!(
        printed.stderr.contains("could not find `tmux`; install it, or leave out --background"),
        "{printed:?}"
    );
    let printed = world.ralph(&["refine", "peek"]);
    assert_eq!(printed.exit, 4, "{printed:?}");
}
