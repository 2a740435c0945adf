//! `cancel`, `pause`, `resume`, `trust` and `explain`.

use crate::world::World;
use serde_json::json;

#[test]
fn cancel_ends_the_loop_and_leaves_a_tombstone() {
    let world = World::new().live_loop("S");
    world.ralph(&["cancel"]).check(
        0,
        "Ralph: cancelled after 1 turn, 0 s.\n\
         Kept in [ROOT]/ralph/archive/[ARCHIVED]; its session stops at its next tool call \
         or the end of its turn\n",
        "",
    );
    assert!(world.loop_ids().is_empty());
    let entry = std::fs::read_to_string(world.path("ralph/manifest/S")).unwrap();
    assert!(entry.contains("/archive/"), "{entry}");
    let last = world.ralph(&["explain"]).done().stdout;
    assert!(last.contains("ralph cancel: ended"), "the most recent loop, archived: {last}");
    world.ralph(&["cancel"]).check(
        1,
        "",
        "ralph: no loop is live or planned in `[ROOT]/project`; type `/ralph \"TASK\"` in \
         Claude Code to start one\n",
    );
}

#[test]
fn cancel_all_ends_every_loop() {
    let world = World::new().live_loop("S").live_loop("T");
    world.ralph(&["start", "planned"]).done();
    let printed = world.ralph(&["cancel", "--all", "--let-finish"]).done();
    assert_eq!(printed.stdout.matches("Ralph: cancelled").count(), 3, "{printed:?}");
    assert!(world.loop_ids().is_empty());
    assert_eq!(world.ralph(&["cancel", "--all"]).exit, 1);
}

#[test]
fn a_pause_keeps_the_phase_and_resume_takes_it_up() {
    let world = World::new().live_loop("S");
    world.change_state(|state| {
        state["phase"] = json!("verification");
        state["stall_hashes"] = json!(["a"]);
        state["turn"] = json!({"prompt_id": "p", "at": "2026-01-01T00:00:00Z"});
    });
    world.ralph(&["pause"]).check(
        0,
        "loop [LOOP] paused at 0/25; /ralph continues; the turn that is running may finish\n",
        "",
    );
    assert_eq!(world.state()["pause"]["cause"], "person");
    assert_eq!(world.state()["resume_phase"], "verification");
    world.ralph(&["pause"]).check(
        0,
        "loop [LOOP] paused at 0/25; /ralph continues; it was paused already\n",
        "",
    );
    world.ralph(&["resume"]).check(
        0,
        "loop [LOOP] resumed at 0/25; type anything in its session to continue; if its client is gone, \
         `claude --resume S`, then type anything\n",
        "",
    );
    let state = world.state();
    assert_eq!(state["phase"], "verification");
    assert_eq!((state.get("pause"), state.get("turn")), (None, None));
    world.ralph(&["resume"]).check(
        1,
        "",
        "ralph: loop [LOOP] is not paused; it is in verification at 0/25\n",
    );
    let journal = world.journal();
    assert_eq!(journal, ["ralph start: started", "ralph pause: paused", "ralph resume: resumed"]);
}

#[test]
fn a_planned_loop_cannot_be_paused() {
    let world = World::new();
    world.ralph(&["start", "x"]).done();
    world.ralph(&["pause", "--loop", &world.loop_id()]).check(
        1,
        "",
        "ralph: loop [LOOP] is planned, not live; type /ralph in Claude Code to start it\n",
    );
}

#[test]
fn trust_shows_the_file_and_waits_for_a_yes() {
    let world = World::new();
    world.ralph(&["trust", "--yes"]).check(
        1,
        "",
        "ralph: there is no `[ROOT]/project/.claude/ralph.toml`; nothing needs to be trusted\n",
    );
    let path = world.write("project/.claude/ralph.toml", "completion = \"token\" # \u{9b}2J\n");
    let shown = "[ROOT]/project/.claude/ralph.toml:\n\ncompletion = \"token\" # \\u{9b}2J\n";
    world.ralph(&["trust"]).check(
        1,
        shown,
        "ralph: there is no terminal to ask on; read the file above, then type `ralph trust --yes`\n",
    );
    world.ralph(&["start", "untrusted"]).done();
    assert_eq!(world.state()["completion"], "verified");
    world.ralph(&["cancel"]).done();
    let trusted = "It is trusted, as it is now, for loops that start from here on.\n";
    world.ralph(&["trust", "--yes"]).check(0, &format!("{shown}{trusted}"), "");
    std::fs::write(&path, "completion = \"token\"\n").unwrap();
    assert_eq!(world.ralph(&["trust"]).exit, 1, "a changed file must be trusted anew");
    world.ralph(&["trust", "--yes"]).done();
    world.ralph(&["start", "trusted"]).done();
    assert_eq!(world.state()["completion"], "token");
}

#[test]
fn explain_tells_the_last_decisions_in_plain_words() {
    let world = World::new().live_loop("S");
    let line = json!({"at": "2026-01-02T03:04:05Z", "event": "Stop", "decision": "go on",
        "why": "not done\u{1b}[0m:\nAC-1 failed", "position": "3/25",
        "seen": {"agent": "", "diff": "same"}, "took_us": 4200});
    let journal = world.state_file().with_file_name("journal.jsonl");
    std::fs::write(journal, format!("\n{{\"torn\n{line}\n")).unwrap();
    world.ralph(&["explain"]).check(
        0,
        "loop [LOOP]\n2026-01-02 03:04:05  next turn\n  why   not done\\u{1b}[0m:\n        AC-1 failed\n  seen  diff \
         same\n  at    3/25\n  took  4 ms\n",
        "",
    );
    let document = world.ralph(&["explain", "5", "--json"]).done().json();
    assert_eq!((&document["schema_version"], &document["loop_id"]), (&json!(1), &json!("[LOOP]")));
    assert_eq!(document["decisions"][0]["why"], "not done\u{1b}[0m:\nAC-1 failed");
}

#[test]
fn a_reader_that_went_away_is_no_error() {
    let world = World::new().live_loop("S");
    let mut command = world.command(std::path::Path::new(env!("CARGO_BIN_EXE_ralph")), "");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = command.arg("status").stdout(writer).output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}
