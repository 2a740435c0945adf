//! Consensus planning: what a person decides in a terminal, and a planning that is driven from one.

use super::{CASE, Case, person};
use crate::planning::{PLAN, awaiting, in_review};
use crate::world::{World, executable};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;

pub(super) const CASES: &[Case] = &[
    Case {
        name: "ralph ralplan approve",
        command: Some("ralplan approve"),
        set: awaiting,
        act: |_| person(&["ralplan", "approve"]),
        then: |w, answered| {
            let said = w.elsewhere(&["ralplan", "approve"]);
            assert!(!(said.success && answered), "agreed to twice");
            w.stop("x").exit(0);
            // Consent is never lost, and never there by halves.
            let all: Vec<Value> = w.archived();
            assert_eq!(all.len(), 1, "{all:?}");
            assert_eq!(all[0]["ending"]["kind"], "approved");
            assert_eq!(all[0]["ralplan"]["phase"], "complete");
            is_planned(w, answered);
        },
        ..CASE
    },
    Case {
        name: "ralph ralplan adjust",
        command: Some("ralplan adjust"),
        set: awaiting,
        act: |_| person(&["ralplan", "adjust", "less", "code"]),
        then: |w, answered| {
            let said = w.elsewhere(&["ralplan", "adjust", "less", "code"]);
            assert!(!(said.success && answered), "said twice");
            let plan = &w.state()["ralplan"];
            assert_eq!(plan["phase"], "planner_planning");
            assert!(plan["feedback"].as_str().unwrap().contains("less code"), "{plan}");
            // And the next step is the one that everybody is told.
            w.type_command("ralplan", "");
            let next = w.elsewhere(&["ralplan", "next"]).text;
            assert!(next.contains("ralplan-planner") && next.contains("less code"), "{next}");
        },
        ..CASE
    },
    Case {
        name: "ralph ralplan discard",
        command: Some("ralplan discard"),
        set: awaiting,
        act: |_| person(&["ralplan", "discard"]),
        then: |w, answered| {
            let said = w.elsewhere(&["ralplan", "discard"]);
            assert!(!(said.success && answered), "discarded twice");
            w.stop("x").exit(0);
            assert_eq!(w.ending(), "discarded");
            assert!(w.project().join(PLAN).is_file(), "the plan stays");
        },
        ..CASE
    },
    Case {
        name: "ralph ralplan run",
        command: Some("ralplan run"),
        set: left_in_review,
        act: |_| person(&["ralplan", "run"]),
        // Whatever it was in the middle of, the next one goes on with it to the end that an untouched one
        // would have come to.
        then: |w, answered| {
            // Where the cut kept them from it, they agree now: nobody would while it waits.
            w.elsewhere(&["ralplan", "approve"]);
            let said = w.elsewhere(&["ralplan", "run"]);
            assert!(!(said.success && answered), "driven twice");
            let all = kept(w);
            assert_eq!(all.len(), 1, "{} {all:?}", said.text);
            assert_eq!(all[0]["ending"]["kind"], "approved", "{}", said.text);
            assert_eq!(all[0]["ralplan"]["iteration"], 0);
            assert_eq!(all[0]["ralplan"]["critics"].as_array().unwrap().len(), 1);
            is_planned(w, answered);
        },
        ..CASE
    },
];

/// What was agreed to is planned, or a person plans it by the import where the cut came before.
fn is_planned(world: &World, answered: bool) {
    let listed = || world.elsewhere(&["task", "list", "--all"]).text;
    if !listed().contains("add the form") {
        assert!(!answered, "{}", listed());
        let said = world.elsewhere(&["task", "import", PLAN]);
        assert!(said.success, "{}", said.text);
    }
    assert!(listed().contains("add the form"), "{}", listed());
}

/// All plannings, wherever they stand.
fn kept(world: &World) -> Vec<Value> {
    let folders = ["loops", "archive"].map(|name| world.ralph_home().join(name));
    let folders = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let texts = folders.filter_map(|folder| fs::read(folder.path().join("state.json")).ok());
    let states = texts.map(|text| serde_json::from_slice::<Value>(&text).unwrap());
    states.filter(|state| state["mode"] == "ralplan").collect()
}

/// A plan that a session has left before it was judged, and a client that is its critic. After its report
/// somebody in another terminal agrees.
fn left_in_review() -> World {
    let mut world = in_review();
    world.event("ralph-stop-hook", "SessionEnd", json!({"reason": "other"})).silent();
    let (ralph, stop) = (executable("ralph"), executable("ralph-stop-hook"));
    // Its prompt is the second word, its session the seventh. What could not be agreed to is waited for by nobody.
    let script = format!(
        r#"#!/bin/sh
[ "$1" = --version -o "$1" = /cost ] && echo '2.1.328 (Claude Code)' && exit
hash=${{2##*Plan hash: }}; hash=${{hash%%\`*}}
printf '{{"session_id":"%s","hook_event_name":"Stop","cwd":"%s","last_assistant_message":"%s"}}' "$7" "$PWD" \
  "CRITIC_FEEDBACK:\n- Verdict: OKAY\n- Plan hash: $hash" |
  CLAUDE_CODE_SESSION_ID=$7 {stop} settings >/dev/null
read -r _ _ _ driver _ </proc/$PPID/stat
{ralph} ralplan approve >/dev/null || kill -INT $driver
echo '{{"type":"result","is_error":false,"result":"x"}}'
"#
    );
    let client = world.root().join("client");
    fs::write(&client, script).unwrap();
    fs::set_permissions(&client, fs::Permissions::from_mode(0o755)).unwrap();
    world.set("RALPH_CLAUDE", client.to_str().unwrap());
    world
}
