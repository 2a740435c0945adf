//! The headless commands with their defaults: print mode, where nobody can grant a permission, and the mode
//! `default`. Each does its work, or refuses before its first round with a command that does it.

use ralph_test_support::fake_api::{ApiRequest, Script, ScriptedTurn, StandIn};
use serde_json::{Value, json};

use crate::Test;
use crate::builds::planned;
use crate::kept::installed;
use crate::refining::{ended, session};
use crate::support::{Run, World, executables};

pub(crate) const TESTS: &[Test] = tests![
    a_planner_hands_its_tasks_over_and_faulty_ones_come_back_to_it,
    a_planning_that_stores_nothing_has_failed,
    a_build_is_refused_with_the_command_that_does_all_of_it,
    a_parallel_run_is_refused_with_the_command_that_does_all_of_it,
    an_orchestration_is_refused_with_the_command_that_works,
    a_round_that_could_do_nothing_ends_the_build_with_the_command_that_works,
    a_refinement_writes_to_its_copy_and_nowhere_else,
    the_projects_tasks_are_refined,
];

/// The command that the message advises, run as it is printed.
#[track_caller]
fn advised(world: &World, stand_in: &StandIn, refused: &Run) -> Run {
    let (_, rest) = refused.stderr.split_once("; type `ralph ").expect("a command is advised");
    let (command, _) = rest.split_once('`').unwrap();
    let args: Vec<&str> = command.split(' ').collect();
    world.ralph_with_client(stand_in, &args)
}

fn ids(world: &World) -> Vec<String> {
    let tasks = world.ralph(&["task", "list", "--all", "--json"]).exits(0).json();
    let id = |task: &Value| task["id"].as_str().unwrap().to_owned();
    tasks["tasks"].as_array().unwrap().iter().map(id).collect()
}

fn message(lines: &str) -> ScriptedTurn {
    ScriptedTurn::text(&format!("This is the plan.\n\n```jsonl\n{lines}\n```\n\nThat is all."))
}

fn a_planner_hands_its_tasks_over_and_faulty_ones_come_back_to_it() {
    let world = installed();
    let script = Script::new()
        .turn(ScriptedTurn::bash("cat README.md"))
        .turn(message(r#"{"id":"T-1","name":"one","deps":["T-9"]}"#))
        .turn(message("{\"id\":\"T-1\",\"name\":\"one\"}\n{\"id\":\"T-2\",\"name\":\"two\",\"deps\":[\"T-1\"]}"));
    let stand_in = StandIn::start(script).unwrap();
    let run = world.ralph_with_client(&stand_in, &["plan"]).exits(0);
    assert_eq!(ids(&world), ["T-1", "T-2"]);
    assert!(run.stderr.contains("permission mode: default"), "{run:?}");
    assert!(run.stderr.contains("+ T-2  two"), "{run:?}");
    let requests = stand_in.requests();
    assert_eq!((requests.len(), stand_in.unscripted()), (3, 0));
    let again = requests[2].all_text();
    assert!(again.contains("could not store your tasks") && again.contains("T-9"), "{again}");
    assert!(again.contains("This is the plan."), "it is the same conversation: {again}");
}

fn a_planning_that_stores_nothing_has_failed() {
    let world = installed();
    let script = Script::new()
        .turn(ScriptedTurn::bash("ralph plan-sync <<'T'\n{\"id\":\"T-1\",\"name\":\"a\"}\nT"))
        .repeat(ScriptedTurn::text("I could not store the tasks."));
    let stand_in = StandIn::start(script).unwrap();
    let run = world.ralph_with_client(&stand_in, &["plan"]).exits(1);
    assert!(run.stderr.contains("1 of 1 round stored no tasks"), "{run:?}");
    assert_eq!(stand_in.requests().len(), 3, "the planner is asked once more");
}

/// Does its task with the client's own tools, as a model would.
fn worker(world: &World) -> Script {
    let root = world.project();
    Script::new().answer_with(move |request| {
        let text = request.all_text();
        let (_, rest) = text.split_once("Your task: ").expect("a round has a task");
        let id = rest.split_whitespace().next().unwrap();
        // A worker of a parallel run is in a worktree of its own.
        let folder = text.split("Primary working directory: ").nth(1);
        let folder = folder.and_then(|rest| rest.lines().next()).map_or(root.clone(), Into::into);
        let file = folder.join(id);
        match request.tool_results().len() {
            0 => ScriptedTurn::tool("Write", json!({"file_path": file, "content": "one\n"})),
            1 => ScriptedTurn::tool(
                "Edit",
                json!({"file_path": file, "old_string": "one", "new_string": "two"}),
            ),
            2 => ScriptedTurn::bash("ralph verify 2>&1 | tail -5"),
            3 => ScriptedTurn::bash(&format!(
                "ralph task show {id} && ralph task done {id} --result 'wrote `{id}`; its test (1 of 1) passes'"
            )),
            _ => ScriptedTurn::text("It is done."),
        }
    })
}

#[track_caller]
fn is_refused_and_works_as_advised(world: &World, command: &[&str]) {
    let stand_in = StandIn::start(worker(world)).unwrap();
    let before = world.ralph(&["task", "list", "--all", "--json"]).exits(0).stdout;
    let refused = world.ralph_with_client(&stand_in, command).exits(1);
    assert_eq!(
        refused.stderr,
        format!(
            "ralph: permission mode `default` denies Edit, Write; type `ralph {} --permission-mode acceptEdits`\n",
            command.join(" ")
        )
    );
    assert!(stand_in.requests().is_empty(), "no round has begun");
    assert_eq!(world.ralph(&["task", "list", "--all", "--json"]).exits(0).stdout, before);
    let run = advised(world, &stand_in, &refused).exits(0);
    assert!(run.stdout.contains("Ralph: done in "), "{run:?}");
    let all = stand_in.requests();
    for result in all.iter().flat_map(ApiRequest::tool_results) {
        let is_verify = result.text.contains("AC-1");
        assert!(!result.is_error || is_verify, "{}", result.text);
    }
    assert!(!run.stderr.contains("not permitted"), "{run:?}");
}

fn a_build_is_refused_with_the_command_that_does_all_of_it() {
    is_refused_and_works_as_advised(&planned(&[("T-1", &[]), ("T-2", &["T-1"])]), &["build"]);
}

fn a_parallel_run_is_refused_with_the_command_that_does_all_of_it() {
    let world = planned(&[("T-1", &[]), ("T-2", &[])]);
    is_refused_and_works_as_advised(&world, &["parallel", "run"]);
}

/// `session_run` shows that the agents work in this mode.
fn an_orchestration_is_refused_with_the_command_that_works() {
    let world = installed();
    let stand_in = StandIn::start(Script::new()).unwrap();
    let args = ["session", "run", "Build a door", "--", "--model", "opus"];
    let refused = world.ralph_with_client(&stand_in, &args).exits(1);
    assert_eq!(
        refused.stderr,
        "ralph: permission mode `default` denies Edit, Write; type `ralph session run 'Build a door' \
         --permission-mode acceptEdits -- --model opus`\n"
    );
    assert!(stand_in.requests().is_empty() && !world.project().join(".ralph-sessions").exists());
}

fn a_round_that_could_do_nothing_ends_the_build_with_the_command_that_works() {
    let world = planned(&[("T-1", &[])]);
    let script = Script::new().answer_with(|request| match request.tool_results().len() {
        0 => ScriptedTurn::bash("make T-1"),
        _ => ScriptedTurn::text("I may not."),
    });
    let stand_in = StandIn::start(script).unwrap();
    let args = ["build", "--permission-mode", "acceptEdits"];
    let run = world.ralph_with_client(&stand_in, &args).exits(1);
    assert!(
        run.stderr.contains(
            "nothing was done, since Bash make T-1 was denied; allow it in `permissions.allow`, or type `ralph build \
             --permission-mode bypassPermissions`"
        ),
        "{run:?}"
    );
    assert!(!run.stderr.contains("round 2"), "{run:?}");
}

fn a_refinement_writes_to_its_copy_and_nowhere_else() {
    let world = crate::refining::world();
    let root = world.project();
    let script = Script::new().answer_with(move |request| {
        let file = root.join(crate::refining::told(request, "\nPlan: `", "`\n"));
        let write =
            |file| ScriptedTurn::tool("Write", json!({"file_path": file, "content": "x\n"}));
        match (crate::refining::round(request), request.tool_results().len()) {
            (1, 0) => ScriptedTurn::tool("Read", json!({"file_path": file})),
            (1, 1) => ScriptedTurn::tool(
                "Edit",
                json!({"file_path": file, "old_string": "line 7.", "new_string": "line seven."}),
            ),
            (1, 2) => write(root.join("other.md")),
            (1, _) => ScriptedTurn::text(&ended(1)),
            _ => ScriptedTurn::text(&ended(0)),
        }
    });
    let stand_in = StandIn::start(script).unwrap();
    let run = world.ralph_with_client(&stand_in, &["refine", "loop", "--plan", "plan.md"]).exits(0);
    assert!(crate::refining::plan(&world).contains("line seven."), "{run:?}");
    assert!(!world.project().join("other.md").exists());
    assert_eq!(session(&world)["history"][0]["measured"]["lines"], 1);
}

fn the_projects_tasks_are_refined() {
    let world = installed();
    let one = "{\"id\":\"T-1\",\"name\":\"one\"}";
    world.run(executables().join("ralph"), &["plan-sync"], &format!("{one}\n")).exits(0);
    let block = format!("```jsonl\n{one}\n{{\"id\":\"T-2\",\"name\":\"two\"}}\n```\n\n");
    let script = Script::new()
        .turn(ScriptedTurn::bash("ralph task list --all --markdown"))
        .turn(ScriptedTurn::text(&format!("{block}{}", ended(1))))
        .repeat(ScriptedTurn::text(&ended(0)));
    let stand_in = StandIn::start(script).unwrap();
    let run = world.ralph_with_client(&stand_in, &["refine", "loop"]).exits(0);
    assert!(run.stdout.contains("the list of tasks no longer changes"), "{run:?}");
    assert_eq!(ids(&world), ["T-1", "T-2"]);
    for result in stand_in.requests().iter().flat_map(ApiRequest::tool_results) {
        assert!(!result.is_error, "{}", result.text);
    }
}
