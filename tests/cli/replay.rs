//! `ralph replay` and `ralph explain` on a journal that was recorded once and is kept: a change of
//! the rules shows here first. Where that is meant, a loop is recorded anew, so that the change is
//! looked at; only the folders in it are other ones than those it was recorded in.

use crate::world::World;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// A loop with two criteria: work, refused tools, a refused request, a wait for a worker, proof.
fn recorded() -> Vec<Value> {
    kept("complete")
}

fn kept(name: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/journals");
    let text = fs::read_to_string(folder.join(format!("{name}.jsonl"))).unwrap();
    text.lines()
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn journal(world: &World) -> PathBuf {
    world.state_file().with_file_name("journal.jsonl")
}

fn write(path: &Path, lines: &[Value]) {
    fs::write(path, lines.iter().map(|line| format!("\n{line}")).collect::<String>()).unwrap();
}

/// A world whose only loop has this journal.
fn with(lines: &[Value]) -> World {
    let world = World::new().live_loop("S");
    write(&journal(&world), lines);
    world
}

/// The first line of an event with this decision.
fn find<'a>(lines: &'a mut [Value], event: &str, decision: &str) -> &'a mut Value {
    let found = lines.iter_mut().find(|one| one["event"] == event && one["decision"] == decision);
    found.unwrap()
}

#[test]
fn a_kept_journal_is_decided_alike_by_the_rules_of_today() {
    with(&recorded()).ralph(&["replay"]).check(
        0,
        "loop [LOOP]\n8 decisions made again, 0 differ; 2 lines are not decided from a record\n",
        "",
    );
    with(&kept("stalled")).ralph(&["replay"]).check(
        0,
        "loop [LOOP]\n4 decisions made again, 0 differ; 1 line is not decided from a record\n",
        "",
    );
}

#[test]
fn a_stall_is_explained_with_its_cause() {
    let printed = with(&kept("stalled")).ralph(&["explain"]).done().stdout;
    let told = "loop ended, stalled (no change), at 3/5
  because   nothing had changed at 3 stops in a row
  progress  nothing had changed since the stop before
  budgets   continued 3 of 5 times; 0 of 480 min
  said      Still thinking.
";
    assert!(printed.contains(told), "{printed}");
}

#[test]
fn every_difference_is_shown_with_what_was_recorded_and_what_is_today() {
    let mut lines = recorded();
    let granted = find(&mut lines, "Stop", "ended");
    granted["record"]["outcome"]["verdict"] = json!("go on");
    granted["record"]["outcome"]["phase"] = json!("implementation");
    find(&mut lines, "PreToolUse", "denied")["record"]["rule"] = json!("enter_plan");
    find(&mut lines, "Stop", "let go")["seen"]["message"] = json!("RALPH_COMPLETE");
    let world = with(&lines);
    world.ralph(&["replay", &world.loop_id()]).check(
        1,
        "loop [LOOP]\n\
         2026-11-20 16:58:38  PreToolUse at 0/25\n  \
           ruling    recorded: denied: enter_plan; today: denied: question\n\
         2026-11-20 16:58:39  Stop at 1/25\n  \
           request   recorded: none; today: made\n\
         2026-11-20 16:58:39  Stop at 3/25\n  \
           verdict   recorded: go on; today: ended: complete\n  \
           phase     recorded: implementation; today: ended\n\
         8 decisions made again, 3 differ; 2 lines are not decided from a record\n",
        "",
    );
    let printed = world.ralph(&["replay", "--json"]);
    let found = &printed.json()["loops"][0];
    assert_eq!((printed.exit, &found["decided"]), (1, &json!(8)));
    let expected = json!({"at": "2026-11-20T16:58:38.957Z", "event": "PreToolUse",
        "position": "0/25", "differences": [{"what": "ruling",
            "recorded": "denied: enter_plan", "today": "denied: question"}]});
    assert_eq!(found["differing"][0], expected);
}

#[test]
fn records_of_another_version_are_counted_and_named() {
    let mut lines = recorded();
    find(&mut lines, "Stop", "let go")["record"] = json!({"rules": 7});
    find(&mut lines, "PreToolUse", "denied")["record"]["shortened"] = json!(true);
    let world = with(&lines);
    let torn = format!("{}\n{{\"at\":", fs::read_to_string(journal(&world)).unwrap());
    fs::write(journal(&world), torn).unwrap();
    world.ralph(&["replay"]).check(
        0,
        "loop [LOOP]\n\
         2026-11-20 16:58:38  PreToolUse at 0/25\n  \
           not decided: the command is longer than the journal keeps\n\
         2026-11-20 16:58:39  Stop at 1/25\n  \
           not decided: a record of another version: missing field `before`\n\
         6 decisions made again, 0 differ; 2 lines are not decided from a record; 2 records cannot \
         be used; 1 line cannot be read\n",
        "",
    );
}

#[test]
fn a_journal_that_cannot_be_read_is_bad_state_and_hides_no_other() {
    let world = with(&recorded());
    let id = world.loop_id();
    let other = world.path("ralph/loops/other");
    fs::create_dir_all(other.join("journal.jsonl")).unwrap();
    fs::copy(world.path("ralph/loops").join(&id).join("state.json"), other.join("state.json"))
        .unwrap();
    let printed = world.ralph(&["replay", "--all"]);
    assert_eq!(printed.exit, 3, "{printed:?}");
    assert!(printed.stdout.contains("8 decisions made again, 0 differ"), "{printed:?}");
    assert!(printed.stdout.contains("could not read the journal"), "{printed:?}");
    let printed = world.ralph(&["replay", &id]);
    assert_eq!(printed.exit, 0, "{printed:?}");
}

#[test]
fn an_unreadable_journal_of_one_loop_says_which_file_it_is() {
    let world = with(&[]);
    fs::write(journal(&world), "no journal\n").unwrap();
    world.ralph(&["replay"]).check(
        3,
        "",
        "ralph: could not read the journal `[ROOT]/ralph/loops/[LOOP]/journal.jsonl`: none of its \
         lines is one\n",
    );
    assert_eq!(world.ralph(&["explain"]).exit, 3);
    world.ralph(&["replay", "nothing"]).check(
        1,
        "",
        "ralph: there is no loop `nothing`; `ralph status --all` lists all loops\n",
    );
}

#[test]
fn a_loop_that_has_ended_is_replayed_from_the_archive() {
    let world = with(&recorded());
    let id = world.loop_id();
    world.ralph(&["cancel"]).done();
    for arguments in [&["replay", &id][..], &["replay"], &["replay", "--all"]] {
        world.ralph(arguments).check(
            0,
            "loop [LOOP]\n8 decisions made again, 0 differ; 3 lines are not decided from a record\n",
            "",
        );
    }
}

#[test]
fn a_stop_is_explained_from_its_record() {
    let mut lines = recorded();
    let refused = lines.iter().position(|line| line["position"] == "2/25").unwrap();
    lines.truncate(refused + 1);
    let printed = with(&lines).ralph(&["explain"]).done().stdout;
    let told = "loop [LOOP]
2026-11-20 16:58:39  next turn at 2/25
  because   completion was requested and is refused: 1 of 2 criteria hold
  request   RALPH_COMPLETE stood alone on the last line
  criteria  AC-1 passes
            AC-2 failed (exit code 1)
  progress  nothing had changed since the stop before
  budgets   continued 1 of 25 times; 0 of 480 min
  said      All is done. RALPH_COMPLETE
  told      Completion was requested and is refused, because not everything holds:
            - AC-2 failed (exit code 1): `grep -q please greeting`
";
    assert!(printed.starts_with(told), "{printed}");
    assert!(printed.ends_with("\n  took      64 ms\n"), "{printed}");
}

#[test]
fn an_ending_a_wait_and_a_refused_tool_are_explained_in_plain_words() {
    let printed = with(&recorded()).ralph(&["explain", "10"]).done().stdout;
    for told in [
        "loop ended, complete, at 3/25\n  because   all 2 criteria hold\n",
        "turn over at 1/25\n  because  background subagents are still at work\n  \
         workers  still at work: find the word (ralph-worker)\n",
        "tool call refused at 0/25: Bash\n  rule     refused command\n  command  cd /tmp && \
         ralph cancel --all\n  caller   the main conversation\n  loop     was running\n",
        "tool call refused at 0/25: Write\n  rule    protected place\n  file    \
         /home/dev/project/.claude/settings.json\n",
        "request   RALPH_COMPLETE was in the message, but not alone on its last line",
        "criteria do not hold\n  why   1 of 2 criteria hold\n",
    ] {
        assert!(printed.contains(told), "{told}\n---\n{printed}");
    }
}
