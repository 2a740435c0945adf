//! While a plan waits for a person, in every permission mode that the client has.

use std::sync::atomic::{AtomicUsize, Ordering};

use ralph_test_support::fake_api::{ApiRequest, Script, ScriptedTurn, StandIn};
use serde_json::json;

use super::{Cast, START, assert_untouched, obey, phase};
use crate::Test;
use crate::kept::installed;
use crate::versions::assert_refused;

pub(crate) const TESTS: &[Test] = tests![
    nothing_is_changed_where_edits_need_no_permission,
    nothing_is_changed_where_nothing_needs_permission,
    nothing_is_changed_where_a_person_would_be_asked,
    nothing_is_changed_where_nobody_would_be_asked,
    nothing_is_changed_in_plan_mode,
    nothing_is_changed_where_the_client_decides,
];

/// Commands that would change something, each by another way.
const CHANGES: [&str; 16] = [
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
];

const READS: [&str; 4] =
    ["git log --oneline", "ls -la", "cat README.md", "git branch --list | head -n 3"];

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

/// The plan is made and judged in this mode, and the conversation tries all that it may not.
#[track_caller]
fn check(mode: &str) {
    let world = installed();
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
            }
            _ => obey(request).unwrap_or_else(|| ScriptedTurn::text("I wait.")),
        }
    });
    let stand_in = StandIn::start(Cast::default().join(conversation, &world)).unwrap();
    world.client(&stand_in).args(&["--permission-mode", mode]).prompt(START).result();
    assert_eq!(phase(&world), "awaiting_user_approval");
    let tried = READS.len() + CHANGES.len() + 3;
    // Other calls come before the many of one turn, and after them.
    let requests = stand_in.requests();
    let mut results = requests.iter().map(ApiRequest::tool_results);
    let results = results.find(|results| results.len() >= tried).expect("all were tried");
    let results = &results[results.len() - tried..];
    let (reads, changes) = results.split_at(READS.len());
    for (command, read) in READS.iter().zip(reads) {
        assert!(!read.is_error, "{mode}: {command}: {}", read.text);
    }
    let tries = CHANGES.iter().chain(&["Write", "Agent", "Skill"]);
    for (what, change) in tries.zip(changes) {
        assert_refused(change, &format!("{mode}: {what}"));
    }
    assert_untouched(&world);
    assert_eq!(stand_in.unscripted(), 0);
}
