//! `ralph plan`: how many rounds, which command, and what is refused before any begins.

use crate::world::World;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// A project whose client notes what it was called with, and answers at once.
pub(crate) fn world(client: &str) -> World {
    let world = World::new();
    fs::create_dir_all(world.path("bin")).unwrap();
    for tool in ["sh", "cat", "date", "head"] {
        let place = ["/usr/bin", "/bin"].map(|folder| format!("{folder}/{tool}"));
        let place = place.iter().find(|place| fs::exists(place).unwrap()).unwrap();
        let _ = std::os::unix::fs::symlink(place, world.path("bin").join(tool));
    }
    let place = world.path("bin/claude");
    fs::write(
        &place,
        format!(
            "#!/bin/sh\n[ \"$1\" = --version -o \"$1\" = /cost ] && echo '2.1.328 (Claude Code)' && exit\n{client}\n"
        ),
    )
    .unwrap();
    fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
    world
}

/// A planner that hands one task over.
pub(crate) const NOTES: &str = r#"echo "$RALPH_ROUND|$1|$2" >>"$HOME/called"
printf '%s\n' '{"type":"result","subtype":"success","is_error":false,"result":"```jsonl\n{\"id\":\"T-1\",\"name\":\"one\"}\n```","session_id":"s"}'"#;

fn called(world: &World) -> Vec<String> {
    let text = fs::read_to_string(world.path("home/called")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn there_are_as_many_rounds_as_asked_for_and_one_unless_said() {
    for (args, n) in
        [(&["plan"][..], 1), (&["plan", "-n", "3"], 3), (&["plan", "--max-iterations", "2"], 2)]
    {
        let world = world(NOTES);
        fs::create_dir_all(world.path("home")).unwrap();
        world.ralph(args).done();
        let rounds = called(&world);
        let begun = |line: &&String| line.starts_with("plan|-p|/ralph-plan");
        assert_eq!(rounds.iter().filter(begun).count(), n, "{args:?}: {rounds:?}");
        let state = world.state();
        assert_eq!(state["task_graph"][0]["name"], "one", "{args:?}");
    }
}

#[test]
fn no_round_at_all_is_refused_and_so_is_what_is_no_number() {
    let world = world(NOTES);
    world.ralph(&["plan", "-n", "0"]).check(
        2,
        "",
        "ralph: planning needs at least one round: `ralph plan -n 1`\n",
    );
    for number in ["-1", "08", "x", "1.5", ""] {
        assert_eq!(world.ralph(&["plan", "-n", number]).exit, 2, "{number}");
    }
    assert!(called(&world).is_empty());
}

#[test]
fn a_missing_client_is_named_and_nothing_is_written() {
    let world = World::new();
    let printed = world.ralph(&["plan"]);
    assert_eq!(printed.exit, 4);
    assert!(printed.stderr.contains("could not find the client `claude`"), "{printed:?}");
    assert!(!world.path("ralph/rounds").exists());
}

#[test]
fn a_planner_works_in_every_mode_and_an_unknown_mode_begins_nothing() {
    let world = world(NOTES);
    fs::create_dir_all(world.path("home")).unwrap();
    for mode in ["default", "plan", "dontAsk"] {
        let printed = world.ralph(&["plan", "--permission-mode", mode]).done().stderr;
        assert!(printed.starts_with(&format!("permission mode: {mode}\nplanning")), "{printed}");
    }
    let n = called(&world).len();
    let refused = world.ralph(&["plan", "--permission-mode", "yolo"]);
    assert_eq!((refused.exit, called(&world).len()), (2, n), "{refused:?}");
}

#[test]
fn a_planner_that_hands_nothing_over_is_asked_once_more_and_then_its_round_has_failed() {
    let world = world(
        r#"echo "$2" | head -n 1 >>"$HOME/called"
echo '{"type":"result","is_error":false,"result":"planned","session_id":"s"}'"#,
    );
    fs::create_dir_all(world.path("home")).unwrap();
    let printed = world.ralph(&["plan"]);
    assert_eq!(printed.exit, 1, "{printed:?}");
    let why = "1 of 1 round stored no tasks: the last message has no block of tasks";
    assert!(printed.stderr.contains(why), "{printed:?}");
    assert_eq!(
        called(&world),
        ["/ralph-plan", "Ralph could not store your tasks, and nothing has changed:"]
    );
}

#[test]
fn a_dry_run_shows_the_command_with_the_graph_and_starts_nothing() {
    let world = world(NOTES).live_loop("S");
    world.in_session("S", &["task", "add", "write the \"parser\""], "").done();
    world.ralph(&["cancel"]).done();
    world.run("", &["plan-sync"], "{\"id\":\"T-1\",\"name\":\"it's\"}\n").done();
    let printed =
        world.ralph(&["plan", "--dry-run", "--permission-mode", "plan", "--", "--model", "x"]);
    let command = printed.done().stdout;
    for part in
        ["RALPH_ROUND=plan", "/ralph-plan - [ ] **T-1** it", "--permission-mode plan", "--model x"]
    {
        assert!(command.contains(part), "{part}: {command}");
    }
    assert!(called(&world).is_empty());
}

#[test]
fn a_client_that_crashes_fails_its_round_and_the_next_begins_all_the_same() {
    let world = world("echo called >>\"$HOME/called\"; exit 3");
    fs::create_dir_all(world.path("home")).unwrap();
    let printed = world.ralph(&["plan", "-n", "2"]);
    assert_eq!(printed.exit, 4, "{printed:?}");
    assert!(printed.stderr.contains("2 of 2 rounds failed"), "{printed:?}");
    assert_eq!(called(&world).len(), 2);
}
