//! `ralph task sync` and `ralph plan-sync`.

use crate::world::{Printed, World, start};
use serde_json::{Value, json};
use std::path::Path;

fn sync(world: &World, session: &str, lines: &str) -> Printed {
    world.run(session, &["plan-sync"], lines)
}

/// One line for each task: `b after a`.
fn lines(text: &str) -> String {
    let one = |line: &str| {
        let (id, deps) = line.split_once(" after ").unwrap_or((line, ""));
        let deps: Vec<&str> = deps.split_whitespace().collect();
        json!({"id": id, "name": format!("do {id}"), "deps": deps, "completion_condition": "ok"})
    };
    text.lines().map(|line| format!("{}\n", one(line))).collect()
}

/// The tasks of the only loop: id and status of each.
fn tasks(world: &World) -> Vec<String> {
    let graph = world.state()["task_graph"].as_array().unwrap().clone();
    let word = |task: &Value, name: &str| task[name].as_str().unwrap().to_owned();
    graph.iter().map(|task| format!("{} {}", word(task, "id"), word(task, "status"))).collect()
}

#[test]
fn a_first_round_starts_from_nothing_and_plans_a_loop() {
    let world = World::new();
    world.write("project/Makefile", "test:\n\ttrue\n");
    world.run("S", &["task", "list", "--all", "--markdown"], "").check(0, "", "");
    sync(&world, "S", &lines("a\nb after a")).check(
        0,
        "Ralph loop [LOOP] planned\nAC-T  All tests pass: make test\n+ a  do a\n+ b  do b\n\
         2 added, 0 changed, 0 removed, 0 kept\n\
         Type /ralph in Claude Code, in this project, to start it.\n",
        "",
    );
    assert_eq!(world.state()["phase"], "planned");
    assert_eq!(world.state()["session_id"], "");
    assert_eq!(tasks(&world), ["a pending", "b pending"]);
    assert_eq!(world.journal(), ["ralph task sync: planned"]);
    world.run("S", &["task", "list", "--all", "--markdown"], "").check(
        0,
        "- [ ] **a** do a (ready)\n  - done when: ok\n\
         - [ ] **b** do b (waiting)\n  - after: a\n  - done when: ok\n",
        "",
    );
}

#[test]
fn later_rounds_say_what_differs_and_keep_what_was_done() {
    let world = World::new();
    sync(&world, "", &lines("a\nb after a\nc\nd\ne")).done();
    world.ralph(&["task", "claim", "a", "--owner", "w"]).done();
    world.ralph(&["task", "done", "a", "--result", "built"]).done();
    world.ralph(&["task", "claim", "c", "--owner", "w", "--lease", "30"]).done();
    world.ralph(&["task", "fail", "d", "--reason", "no disk"]).done();
    let wanted = lines("b\nd after b\nf");
    let printed = sync(&world, "", &wanted).done();
    for row in [
        "+ f  do f\n",
        "~ b  do b (deps)\n",
        "~ d  do d (deps; stays failed until `ralph task release d`)\n",
        "- e  do e\n",
        "= c  do c (stays: claimed by w until ",
        "= 1 task that is done stays\n",
        "\n1 added, 2 changed, 1 removed, 2 kept\n",
    ] {
        assert!(printed.stdout.contains(row), "{row}: {}", printed.stdout);
    }
    assert_eq!(tasks(&world), ["a done", "c in_progress", "b pending", "d failed", "f pending"]);
    assert_eq!(world.state()["task_graph"][0]["result"], "built");
    let before = std::fs::read(world.state_file()).unwrap();
    assert!(
        sync(&world, "", &wanted).done().stdout.contains("0 added, 0 changed, 0 removed, 5 kept")
    );
    assert_eq!(std::fs::read(world.state_file()).unwrap(), before);
}

#[test]
fn a_dry_run_shows_the_same_and_changes_nothing() {
    let world = World::new();
    let dry = |lines: &str| world.run("", &["task", "sync", "--dry-run"], lines).done().stdout;
    assert!(
        dry(&lines("a"))
            .ends_with("1 added, 0 changed, 0 removed, 0 kept\nnothing was changed: --dry-run\n")
    );
    assert!(!world.path("ralph").exists());
    sync(&world, "", &lines("a\nb")).done();
    let before = std::fs::read(world.state_file()).unwrap();
    assert_eq!(
        dry(&lines("b\nc")),
        "+ c  do c\n- a  do a\n1 added, 0 changed, 1 removed, 1 kept\nnothing was changed: --dry-run\n"
    );
    assert_eq!(std::fs::read(world.state_file()).unwrap(), before);
}

#[test]
fn the_difference_is_one_document_for_programs() {
    let world = World::new();
    sync(&world, "", &lines("a\nb")).done();
    world.ralph(&["task", "done", "a"]).done();
    let told = world.run("", &["plan-sync", "--json"], &lines("b after c\nc")).done().json();
    let loop_id = world.loop_id();
    assert_eq!(told["loop_id"].as_str().unwrap().replace("[LOOP]", &loop_id), loop_id);
    assert_eq!((&told["added"], &told["removed"]), (&json!(["c"]), &json!([])));
    assert_eq!(told["changed"], json!([{"id": "b", "members": ["deps"], "status": "pending"}]));
    assert_eq!(told["stays"], json!([{"id": "a", "why": "done"}]));
    assert_eq!((&told["is_new"], &told["dry_run"]), (&json!(false), &json!(false)));
}

#[test]
fn everything_that_is_wrong_is_named_by_line_and_nothing_is_changed() {
    let world = World::new();
    sync(&world, "", &lines("a\nb after a")).done();
    let before = std::fs::read(world.state_file()).unwrap();
    let wrong = "{\"id\":\"x\",\"name\":\"x\",\"deps\":[\"y\"]}\n\n{\"id\":\"y\",\"name\":\"y\",\"deps\":[\"x\"]}\n\
                 {\"id\":\"z\",\"name\":\"z\",\"deps\":[\"a\",\"nowhere\"]}\n{\"id\":\"z\",\"name\":\"z\"}\n{\"name\":\"q\"}\n";
    sync(&world, "", wrong).check(
        1,
        "",
        "line 1: x → y → x is a dependency cycle; remove one dependency\nline 4: z depends on a, \
         which has no line and would be removed; add its line, or remove the dependency\nline 4: \
         z depends on nowhere, which does not exist; add that task or remove the dependency\nline \
         5: z is on line 4 already; leave one out, or rename it\nline 6: no id; give the task a \
         unique one\nralph: there are 5 problems in the lines; nothing was changed\n",
    );
    let malformed = "{\"id\":\"a\",\"name\":\"a\"}\n{\"id\":\n[]\n{\"id\":\"b\",\"name\":\"b\",\"deps\":\"a\"}\n";
    let printed = sync(&world, "", malformed);
    let told: Vec<&str> = printed.stderr.lines().map(|line| &line[..7]).collect();
    assert_eq!(told, ["line 2:", "line 3:", "line 4:", "ralph: "], "{printed:?}");
    assert_eq!((printed.exit, printed.stdout.as_str()), (1, ""));
    let printed = sync(&world, "", "{\"id\":\"a\",\"name\":\"a\"}\n[]\n");
    assert!(
        printed.stderr.ends_with("there is 1 problem in the lines; nothing was changed\n"),
        "{printed:?}"
    );
    for nothing in ["", "\n  \n", "\u{feff}"] {
        let printed = sync(&world, "", nothing);
        assert_eq!((printed.exit, printed.stdout.as_str()), (1, ""));
        assert!(
            printed.stderr.contains("there is no task in it; nothing was changed"),
            "{printed:?}"
        );
    }
    assert_eq!(std::fs::read(world.state_file()).unwrap(), before);
    let world = World::new();
    assert_eq!(sync(&world, "", wrong).exit, 1);
    assert!(world.loop_ids().is_empty());
}

#[test]
fn the_sessions_own_live_loop_comes_before_the_planned_one() {
    let world = World::new().live_loop("S");
    sync(&world, "S", &lines("mine")).done();
    assert_eq!(tasks(&world), ["mine pending"]);
    sync(&world, "T", &lines("planned")).done();
    sync(&world, "T", &lines("planned\nmore")).done();
    assert_eq!(world.loop_ids().len(), 2, "a planner's rounds are about one planned loop");
    let listed = |arguments: &[&str]| world.ralph(arguments).done().stdout;
    assert!(listed(&["task", "list", "--session", "S"]).starts_with("mine  ready"));
    let printed = world.run("", &["plan-sync", "--session", "S"], &lines("mine\nother")).done();
    assert!(printed.stdout.contains("1 added"), "{printed:?}");
}

#[test]
fn at_a_terminal_a_live_loop_must_be_named() {
    let world = World::new().live_loop("S");
    let printed = sync(&world, "", &lines("a"));
    assert_eq!((printed.exit, printed.stdout.as_str()), (1, ""));
    assert!(printed.stderr.contains("`--loop [LOOP]` means its tasks"), "{printed:?}");
    assert_eq!(world.loop_ids().len(), 1);
    assert_eq!(world.run("", &["plan-sync", "--loop", &world.loop_id()], &lines("a")).exit, 0);
}

#[test]
fn an_ended_loop_is_not_synced() {
    let world = World::new().live_loop("S");
    world.ralph(&["cancel"]).done();
    let printed = world.run("", &["plan-sync", "--session", "S"], &lines("a"));
    assert_eq!(printed.exit, 1, "{printed:?}");
}

#[test]
fn what_would_go_badly_is_told_beside_the_answer() {
    let world = World::new();
    let text = "{\"id\":\"a\",\"name\":\"a\",\"files\":[\"x\"]}\n\
                {\"id\":\"b\",\"name\":\"b\\u001b[2J\",\"files\":[\"x\"],\"depends_on\":[\"a\"]}\n";
    let printed = sync(&world, "", text).done();
    for advice in [
        "no acceptance criteria",
        "a, b have no",
        "nothing reads `depends_on` of b",
        "a and b could run in parallel",
    ] {
        assert!(printed.stderr.contains(advice), "{advice}: {}", printed.stderr);
    }
    assert!(printed.stderr.lines().all(|line| line.starts_with("advice: ")), "{}", printed.stderr);
    assert!(!printed.stdout.contains('\u{1b}'));
}

#[test]
fn planners_and_workers_at_once_lose_nothing() {
    let world = World::new();
    let ids: Vec<String> = (0..12).map(|n| format!("t{n}")).collect();
    let wanted = lines(&ids.join("\n"));
    let spawn = |arguments: &[&str]| {
        let mut command = world.command(Path::new(env!("CARGO_BIN_EXE_ralph")), "");
        start(command.args(arguments))
    };
    // All of them find that nothing is planned; one makes the loop, and the others use it.
    let first: Vec<_> = (0..6).map(|_| spawn(&["plan-sync"])).collect();
    let first: Vec<_> = first.into_iter().map(|child| world.finish(child, &wanted)).collect();
    assert!(first.iter().all(|one| one.exit == 0), "{first:?}");
    assert_eq!(world.loop_ids().len(), 1);
    let fewer = lines(&ids[6..].join("\n"));
    let mut running = Vec::new();
    for worker in 0..12 {
        running.push((spawn(&["task", "claim", "--owner", &format!("w{worker}")]), String::new()));
        let lines = if worker % 2 == 0 { &fewer } else { &wanted };
        running.push((spawn(&["plan-sync"]), lines.clone()));
    }
    let claimed: Vec<String> = running
        .into_iter()
        .map(|(child, stdin)| world.finish(child, &stdin))
        .filter(|one| one.exit == 0)
        .filter_map(|one| Some(one.stdout.split_once(" claimed: ")?.0.to_owned()))
        .collect();
    let left = tasks(&world);
    for id in &claimed {
        assert!(left.contains(&format!("{id} in_progress")), "{id} is lost: {left:?}");
        assert_eq!(claimed.iter().filter(|other| *other == id).count(), 1, "{claimed:?}");
    }
    assert!(!claimed.is_empty());
}

/// In an unoptimised build and beside other tests: the bound is for what grows faster than the
/// tasks, which would take minutes.
#[test]
fn ten_thousand_tasks_are_synced_claimed_and_listed_in_seconds() {
    let world = World::new();
    let text: String = (0..10_000).map(|n| format!("t{n} after t{}\n", n.max(1) - 1)).collect();
    let wanted = lines(&text.replacen("t0 after t0\n", "t0\n", 1));
    let began = std::time::Instant::now();
    let printed = sync(&world, "", &wanted).done();
    assert!(printed.stdout.contains("… and 9950 more\n10000 added"), "{}", printed.stdout);
    assert_eq!(
        world.ralph(&["task", "claim"]).done().stdout,
        "t0 claimed: do t0\n  done when: ok\n"
    );
    world.ralph(&["task", "done", "t0"]).done();
    assert_eq!(world.ralph(&["task", "ready"]).done().stdout, "t1  do t1\n");
    let list = world.ralph(&["task", "list", "--all", "--markdown"]).done().stdout;
    assert_eq!(list.lines().filter(|line| line.starts_with("- [")).count(), 10_000);
    assert_eq!(world.ralph(&["task", "lint"]).exit, 0);
    assert!(sync(&world, "", &wanted).done().stdout.contains("0 removed, 10000 kept"));
    assert!(began.elapsed().as_secs() < 60, "{:?}", began.elapsed());
}
