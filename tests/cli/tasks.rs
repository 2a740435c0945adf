//! `ralph task …`.

use crate::world::{World, start};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;

fn planned() -> World {
    let world = World::new();
    world.ralph(&["start", "x"]).done();
    world
}

#[test]
fn a_task_goes_from_added_to_done() {
    let world = planned();
    let check = |arguments: &[&str], stdout: &str| world.ralph(arguments).check(0, stdout, "");
    check(&["task", "list"], "there are no tasks; `ralph task add NAME` adds one\n");
    check(&["task", "add", "one", "--condition", "it works", "--file", "a.c"], "T-1 added\n");
    check(&["task", "add", "two", "--dep", "T-1", "--id", "second"], "second added\n");
    check(&["task", "ready"], "T-1  one\n");
    check(
        &["task", "claim", "--owner", "w", "--lease", "30"],
        "T-1 claimed: one\n  done when: it works\n  files: a.c\n",
    );
    check(&["task", "renew", "T-1", "--owner", "w"], "T-1 renewed\n");
    check(&["task", "done", "T-1", "--owner", "w", "--result", "built"], "T-1 done\n");
    check(&["task", "claim"], "second claimed: two\n  after T-1 (one): built\n");
    check(&["task", "fail", "second", "--reason", "no disk"], "second failed\n");
    check(&["task", "release", "second"], "second released\n");
    check(&["task", "block", "second", "--reason", "a key"], "second blocked\n");
    check(&["task", "deps", "second"], "second depends on T-1\n");
    check(&["task", "deps", "second", "--none"], "second depends on nothing\n");
    check(
        &["task", "show", "second"],
        "second  two\n  stands     blocked\n  attempts   1\n  result     a key\n",
    );
    check(
        &["task", "list", "--all"],
        "T-1     done     one\nsecond  blocked  two  (a key)\n1 of 2 tasks done\n",
    );
    check(
        &["task", "list", "--markdown"],
        "- [ ] **second** two (blocked)\n  - blocked because: a key\n",
    );
    assert_eq!(world.journal().len(), 11, "each change by a person, and no look");
}

#[test]
fn a_refusal_changes_nothing_and_says_what_to_do() {
    let world = planned();
    world.ralph(&["task", "add", "one"]).done();
    world.ralph(&["task", "add", "two", "--dep", "T-1"]).done();
    world.ralph(&["task", "claim", "T-1", "--owner", "a"]).done();
    let before = std::fs::read(world.state_file()).unwrap();
    for (arguments, stderr) in [
        (
            &["task", "claim", "T-2"][..],
            "T-2 waits for T-1, which is in_progress; finish T-1 first",
        ),
        (&["task", "done", "T-9"], "there is no task `T-9`; `ralph task list --all` shows them"),
        (
            &["task", "done", "T-1", "--owner", "b"],
            "T-1 is claimed by a; take another task, or `ralph task release T-1`",
        ),
        (&["task", "add", " "], "the task's name is missing; say it in words"),
        (&["task", "fail", "T-1", "--reason", " "], "the reason is missing; say it in words"),
        (&["task", "deps", "T-1", "T-1"], "T-1 depends on itself; remove that dependency"),
        (
            &["task", "ready"],
            "no ready task: 0 of 2 tasks done, 1 in progress, 1 waiting for others",
        ),
    ] {
        world.ralph(arguments).check(1, "", &format!("ralph: {stderr}\n"));
    }
    assert_eq!(std::fs::read(world.state_file()).unwrap(), before);
    for lease in ["08", "-1", "1e9", "0"] {
        assert_eq!(world.ralph(&["task", "claim", "--lease", lease]).exit, 2, "{lease}");
    }
}

#[test]
fn a_claim_ends_by_itself_and_with_nothing_ready_there_is_none() {
    let world = planned();
    world.ralph(&["task", "add", "one"]).done();
    world.ralph(&["task", "claim", "--owner", "a", "--lease", "5"]).done();
    world.ralph(&["task", "claim", "--owner", "b"]).check(
        1,
        "",
        "ralph: no ready task: 0 of 1 task done, 1 in progress\n",
    );
    world.change_state(|state| {
        let ended = json!("2026-01-01T00:00:00Z");
        assert!(state["task_graph"][0]["lease_expires_at"].is_string());
        state["task_graph"][0]["lease_expires_at"] = ended;
    });
    world.ralph(&["task", "claim", "--owner", "b"]).check(0, "T-1 claimed: one\n", "");
    let task = world.state()["task_graph"][0].clone();
    assert_eq!((&task["owner"], &task["attempts"]), (&json!("b"), &json!(2)));
    assert_eq!(world.ralph(&["task", "done", "T-1", "--owner", "a"]).exit, 1);
}

#[test]
fn a_plan_becomes_a_planned_loop() {
    let world = World::new();
    let plan = json!({"prompt": "build it", "max_iterations": 7,
        "acceptance_criteria": [{"description": "tests", "verification_command": "make test"}],
        "task_graph": [{"name": "one"}, {"name": "two\u{1b}[2J", "deps": ["T-1"]}]});
    world.run("", &["task", "import", "-"], &plan.to_string()).check(
        0,
        "Ralph loop [LOOP] planned\nAC-1  tests: make test\nT-1  ready    one\nT-2  waiting  two [2J  \
         (after T-1)\n0 of 2 tasks done\nType /ralph in Claude Code, in this project, to start it.\n",
        "advice: T-1, T-2 have no `completion_condition`; write how to tell that it is done\n",
    );
    let state = world.state();
    assert_eq!((&state["phase"], &state["max_iterations"]), (&json!("planned"), &json!(7)));
    assert_eq!(state["started_by"], "person");
    assert_eq!(world.journal(), ["ralph task import: planned"]);
}

#[test]
fn the_problems_of_a_plan_are_all_named_with_their_places() {
    let world = World::new();
    let plan = json!({"acceptance_criteria": [{"description": "a", "verification_command": "true"}],
        "task_graph": [{"name": "one", "deps": ["T-7"]}]});
    let path = world.write("plan.md", &format!("# A plan\n```json\n{plan}\n```\n"));
    world.ralph(&["task", "import", path.to_str().unwrap()]).check(
        1,
        "",
        "acceptance_criteria[0].verification_command: `true` proves nothing: it succeeds whatever \
         the work is; name a command that fails until the work is done\ntask_graph[0].deps: T-1 \
         depends on T-7, which does not exist; add that task or remove the dependency\nralph: \
         `[ROOT]/plan.md` has 2 problems; nothing was imported\n",
    );
    assert!(!world.path("ralph").exists());
}

#[test]
fn lines_of_tasks_become_a_planned_loop_all_or_nothing() {
    let world = World::new();
    let path =
        world.write("tasks.jsonl", "{\"id\":\"a\",\"name\":\"one\"}\n\n{\"deps\":[\"a\"]}\nnext\n");
    let printed = world.ralph(&["task", "import", path.to_str().unwrap()]);
    assert!(printed.stderr.starts_with("line 4: not JSON ("), "{printed:?}");
    assert_eq!((printed.exit, printed.stdout.as_str()), (1, ""));
    world.write("tasks.jsonl", "{\"id\":\"a\",\"name\":\"one\"}\n\n{\"deps\":[\"a\"]}\n");
    let printed = world.ralph(&["task", "import", path.to_str().unwrap()]);
    assert!(printed.stderr.starts_with("line 3: T-1 has no name"), "{printed:?}");
    assert!(!world.path("ralph").exists());
    world.write(
        "tasks.jsonl",
        "{\"id\":\"a\",\"name\":\"one\"}\n\n{\"name\":\"two\",\"deps\":[\"a\"]}\n",
    );
    world.ralph(&["task", "import", path.to_str().unwrap()]).done();
    assert_eq!(world.state()["task_graph"][1]["id"], "T-1");
    world.write("tasks.jsonl", "\n");
    world.ralph(&["task", "import", path.to_str().unwrap()]).check(
        1,
        "",
        "there is no task in it; write one on each line\n\
         ralph: `[ROOT]/tasks.jsonl` has 1 problem; nothing was imported\n",
    );
}

#[test]
fn a_plan_with_a_command_that_does_not_exist_is_not_imported() {
    let world = World::new();
    let plan = json!({"acceptance_criteria": [
        {"description": "a", "verification_command": "make test"},
        {"description": "b", "verification_command": "pytset -q"},
        {"description": "c", "verification_command": "./not-yet.sh"}]});
    world.run("", &["task", "import", "-"], &plan.to_string()).check(
        1,
        "",
        "AC-2: `pytset` was not found on PATH; install it, correct the name, or name a script of \
         the project by its path (`./check.sh`), which may be created later\nralph: the plan has 1 \
         problem; nothing was imported\n",
    );
    assert!(!world.path("ralph").exists());
}

#[test]
fn a_plan_without_criteria_takes_the_projects_commands_and_tells_what_they_lack() {
    let world = World::new();
    world.write("project/package.json", r#"{"scripts": {"test": "jest"}}"#);
    let plan = json!({"task_graph": [{"name": "one"}]});
    let printed = world.run("", &["task", "import", "-"], &plan.to_string()).done();
    assert!(printed.stderr.starts_with("AC-T: `npm` was not found on PATH; "), "{printed:?}");
    assert_eq!(world.state()["acceptance_criteria"][0]["id"], "AC-T");
}

#[test]
fn a_plan_is_not_taken_for_the_tasks_of_a_running_loop() {
    let world = World::new().live_loop("S");
    let printed = world.run("", &["task", "import", "-"], "{\"task_graph\":[{\"name\":\"a\"}]}");
    printed.check(
        1,
        "",
        "ralph: loop [LOOP] is live here at 0/25; nothing was imported: cancel it first (`ralph \
         cancel`), or add to its tasks with `ralph task add`\n",
    );
    assert_eq!(world.loop_ids().len(), 1);
}

#[test]
fn many_workers_at_once_never_get_one_task_twice() {
    let world = World::new();
    let tasks: Vec<_> = (1..=64).map(|number| json!({"name": format!("n{number}")})).collect();
    let plan = json!({"task_graph": tasks}).to_string();
    world.run("", &["task", "import", "-"], &plan).done();
    let children: Vec<_> = (0..64)
        .map(|worker| {
            let mut command = world.command(Path::new(env!("CARGO_BIN_EXE_ralph")), "");
            start(command.args(["task", "claim", "--owner", &format!("w{worker}")]))
        })
        .collect();
    let printed: Vec<_> = children.into_iter().map(|child| world.finish(child, "")).collect();
    let (done, busy): (Vec<_>, Vec<_>) = printed.iter().partition(|printed| printed.exit == 0);
    // On a slow disk the last in the queue may give up waiting for the lock; nothing else may fail.
    assert!(busy.iter().all(|one| one.stderr.contains("has held")), "{busy:?}");
    let claimed: BTreeSet<_> =
        done.iter().map(|one| one.stdout.split(' ').next().unwrap().to_owned()).collect();
    assert_eq!(claimed.len(), done.len(), "{printed:?}");
    let graph = world.state()["task_graph"].as_array().unwrap().clone();
    let held = graph.iter().filter(|task| task["status"] == "in_progress").count();
    assert_eq!(held, done.len());
    assert!(!done.is_empty());
}
