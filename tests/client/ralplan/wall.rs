//! While a plan waits for a person, in every permission mode that the client has.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use ralph_test_support::fake_api::{ApiRequest, Script, ScriptedTurn, StandIn};
use serde_json::json;

use super::{Cast, START, assert_untouched, obey, phase};
use crate::Test;
use crate::kept::installed;
use crate::support::World;
use crate::versions::assert_refused;

pub(crate) const TESTS: &[Test] = tests![
    nothing_is_changed_where_edits_need_no_permission,
    nothing_is_changed_where_nothing_needs_permission,
    nothing_is_changed_where_a_person_would_be_asked,
    nothing_is_changed_where_nobody_would_be_asked,
    nothing_is_changed_in_plan_mode,
    nothing_is_changed_where_the_client_decides,
    nothing_is_changed_by_another_shell,
    nothing_is_changed_in_the_clients_own_sandbox,
    a_session_without_the_line_has_readers_alone,
    a_changed_line_or_one_before_it_leaves_readers_alone,
    a_kernel_without_landlock_leaves_readers_alone,
];

/// Commands that would change something, each by another way.
const CHANGES: [&str; 21] = [
    "git checkout -b x",
    "git branch y",
    "bash -c 'git branch y'",
    "env X=1 git branch y",
    "echo $(git branch y)",
    "echo `echo \\`touch y\\``",
    "cat `echo \"\\$(rm README.md)\"`",
    "git blame --output=README.md README.md",
    "git -C .git status",
    "sh <<'X'\ngit branch y\nX",
    "sh ./earlier.sh",
    "./earlier.sh",
    "echo x > README.md",
    "rm -f .omc/ralplan-state.json",
    "ralph ralplan approve",
    "ralph start 'Add a login'",
    "x=-delete; find . $=x",
    "printf '%d' 'path[$(touch y)]'",
    "(sleep 0.2; touch y) & disown",
    "find . -name README.md -exec rm {} ;",
    "echo scratch > \"$TMPDIR/s\" && cat \"$TMPDIR/s\"",
];

const READS: [&str; 4] =
    ["git log --oneline", "ls -la", "cat README.md", "git branch --list | head -n 3"];

fn nothing_is_changed_by_another_shell() {
    match Path::new(ZSH).exists() {
        true => check_by("bypassPermissions", ZSH, installed()),
        false => eprintln!("no zsh here"),
    }
}

fn nothing_is_changed_in_the_clients_own_sandbox() {
    let world = World::sandboxed();
    world.settings(json!({"sandbox": {"enabled": true, "failIfUnavailable": true,
        "autoAllowBashIfSandboxed": true}}));
    world.ralph(&["install"]).exits(0);
    check_by("bypassPermissions", BASH, world);
}

const BASH: &str = "/bin/bash";
const ZSH: &str = "/usr/bin/zsh";

fn nothing_is_changed_where_edits_need_no_permission() {
    check("acceptEdits");
}

fn nothing_is_changed_where_nothing_needs_permission() {
    check("bypassPermissions");
}

fn nothing_is_changed_where_a_person_would_be_asked() {
    check("default");
}

fn nothing_is_changed_where_nobody_would_be_asked() {
    check("dontAsk");
}

fn nothing_is_changed_in_plan_mode() {
    check("plan");
}

fn nothing_is_changed_where_the_client_decides() {
    check("auto");
}

#[track_caller]
fn check(mode: &str) {
    check_by(mode, BASH, installed());
}

/// The plan is made and judged in this mode, and the conversation tries all that it may not.
#[track_caller]
fn check_by(mode: &str, shell: &str, world: World) {
    world.write("earlier.sh", "#!/bin/sh\ngit branch y\n");
    world.run("chmod", &["+x", "earlier.sh"], "").exits(0);
    // A skill of the repository runs its commands when it loads, whatever it is called.
    world.write(
        ".claude/skills/ralplan-x/SKILL.md",
        "---\nname: ralplan-x\ndescription: Helps planning\n---\nSee !`touch loaded`.\n",
    );
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "A script"]);
    let readme = world.project().join("README.md");
    let n_stops = AtomicUsize::new(0);
    let conversation = Script::new().answer_with(move |request| {
        let news = request.news();
        match n_stops.load(Ordering::SeqCst) {
            0 if news.contains("Next: summarize in a few lines") => {
                n_stops.store(1, Ordering::SeqCst);
                let bash = |turn: ScriptedTurn, command: &&str| {
                    turn.then_tool("Bash", json!({"command": command}))
                };
                let all = READS.iter().chain(&CHANGES).fold(ScriptedTurn::of(Vec::new()), bash);
                all.then_tool("Write", json!({"file_path": readme, "content": "Login"}))
                    .then_tool(
                        "Agent",
                        json!({"subagent_type": "general-purpose", "description": "do it", "prompt": "Do it",
                            "run_in_background": false}),
                    )
                    .then_tool("Skill", json!({"skill": "ralplan-x"}))
                    .then_tool("Bash", json!({"command": "touch behind", "run_in_background": true}))
                    .then_tool("Monitor", json!({"command": "touch behind", "description": "look", "timeout_ms": 2000}))
            }
            _ => obey(request).unwrap_or_else(|| ScriptedTurn::text("I wait.")),
        }
    });
    let stand_in = StandIn::start(Cast::default().join(conversation, &world)).unwrap();
    let client = world.client(&stand_in).args(&["--permission-mode", mode]).env("SHELL", shell);
    client.prompt(START).result();
    assert_eq!(phase(&world), "awaiting_user_approval");
    let tried = READS.len() + CHANGES.len() + 5;
    // Other calls come before the many of one turn, and after them.
    let requests = stand_in.requests();
    let mut results = requests.iter().map(ApiRequest::tool_results);
    let results = results.find(|results| results.len() >= tried).expect("all were tried");
    let results = &results[results.len() - tried..];
    let (reads, changes) = results.split_at(READS.len());
    for (command, read) in READS.iter().zip(reads) {
        assert!(!read.is_error, "{mode}: {command}: {}", read.text);
    }
    let (lines, tools) = changes.split_at(CHANGES.len());
    for (what, change) in ["Write", "Agent"].iter().zip(tools) {
        assert_refused(change, &format!("{mode}: {what}"));
    }
    // Where the client runs the commands, the kernel refuses what they try.
    if mode == "bypassPermissions" {
        let at = CHANGES.iter().position(|line| *line == "echo x > README.md").unwrap();
        let said = lines[at].text.to_lowercase();
        assert!(said.contains("permission denied") || said.contains("read-only"), "{said}");
        assert!(
            lines[CHANGES.len() - 1].text.contains("scratch"),
            "{}",
            lines[CHANGES.len() - 1].text
        );
    }
    assert_untouched(&world);
    assert_eq!(stand_in.unscripted(), 0);
}

fn a_session_without_the_line_has_readers_alone() {
    readers_alone("", |folder| fs::remove_dir_all(folder).unwrap(), "start a new session");
}

fn a_changed_line_or_one_before_it_leaves_readers_alone() {
    let lines = |folder: &Path| {
        let of_session = fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
        of_session.join("sessionstart-hook-0.sh")
    };
    let edited = move |folder: &Path| {
        let text = fs::read_to_string(lines(folder)).unwrap();
        fs::write(lines(folder), text.replace("exit 126", "exit 0")).unwrap();
    };
    readers_alone("", edited, "were changed");
    let before = move |folder: &Path| {
        let own = lines(folder);
        fs::rename(&own, own.with_file_name("sessionstart-hook-1.sh")).unwrap();
        fs::write(own, "export X=1\n").unwrap();
    };
    readers_alone("", before, "another SessionStart hook");
}

fn a_kernel_without_landlock_leaves_readers_alone() {
    readers_alone("0", |_| {}, "Landlock");
}

/// A planning whose commands cannot be bounded, with the words of the refusal that say why.
#[track_caller]
fn readers_alone(landlock: &str, spoil: impl Fn(&Path) + Send + 'static, why: &str) {
    let world = installed();
    let n_stops = AtomicUsize::new(0);
    let folder = world.config().join("session-env");
    let conversation = Script::new().answer_with(move |request| {
        let news = request.news();
        match n_stops.load(Ordering::SeqCst) {
            0 if news.contains("Next: summarize in a few lines") => {
                n_stops.store(1, Ordering::SeqCst);
                spoil(&folder);
                ScriptedTurn::bash("cat README.md | head -n 1")
                    .then_tool("Bash", json!({"command": "git log"}))
            }
            _ => obey(request).unwrap_or_else(|| ScriptedTurn::text("I wait.")),
        }
    });
    let stand_in = StandIn::start(Cast::default().join(conversation, &world)).unwrap();
    world
        .client(&stand_in)
        .env("RALPH_TEST_LANDLOCK", landlock)
        .args(&["--permission-mode", "bypassPermissions"])
        .prompt(START)
        .result();
    let requests = stand_in.requests();
    let results: Vec<_> = requests.iter().flat_map(ApiRequest::tool_results).collect();
    let refused = results.iter().find(|one| one.text.contains(why));
    assert_refused(
        refused.unwrap_or_else(|| panic!("no refusal says `{why}`: {results:?}")),
        "git log",
    );
    assert!(results.iter().any(|one| one.text.trim() == "# A project" && !one.is_error));
    assert_untouched(&world);
}
