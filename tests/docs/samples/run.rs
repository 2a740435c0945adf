//! `docs/run.md`: a run of two rounds, whose client is a script.

use super::{Sample, Screen, check};
use crate::executables::executables;
use std::fs;
use std::os::unix::fs::PermissionsExt;

pub(super) const SAMPLES: &[Sample] = &[("run", run)];

/// Writes one file in each round.
const CLIENT: &str = r#"#!/bin/sh
[ "$1" = --version -o "$1" = /cost ] && echo '2.1.328 (Claude Code)' && exit
[ "$1" = --version -o "$1" = /cost ] && { echo "2.1.328 (Claude Code)"; exit; }
n=$(cat "$HOME/n" 2>/dev/null || echo 0); n=$((n+1)); echo $n >"$HOME/n"
printf '%s\n' '{"type":"system","subtype":"init","session_id":"s"}'
echo "export const week = $n;" >weeks$n.js
printf '%s\n' '{"type":"result","is_error":false,"result":"Done.","total_cost_usd":0.31,"modelUsage":{"m":{"inputTokens":48000,"outputTokens":1200}}}'
"#;

fn run() -> String {
    let mut screen = Screen::new();
    let client = screen.world.root().join("client");
    fs::write(&client, CLIENT).unwrap();
    fs::set_permissions(&client, fs::Permissions::from_mode(0o755)).unwrap();
    let line = "ralph run \"make the date parser accept ISO weeks\" --ac \"weeks=test -f weeks2.js\" --permission-mode acceptEdits";
    let bin = executables();
    let before =
        format!("export RALPH_CLAUDE='{}' PATH='{}':\"$PATH\"; ", client.display(), bin.display());
    let printed = screen.printed(&format!("{before}{line}"));
    // The folder of the logs has a time and a process in its name.
    let (before, logs) = printed.split_once("/rounds/").unwrap();
    let (_, after) = logs.split_once('\n').unwrap();
    screen.show(&format!("$ {line}\n{before}/rounds/20260131T120000Z-run-4711\n{after}"));
    screen.text()
}

#[test]
fn the_guide_to_unattended_runs_shows_what_appears() {
    check("docs/run.md");
}
