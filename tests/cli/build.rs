//! `ralph run --planned` beside a client that is a script: what it does to the tasks is all that counts.

use crate::world::{World, start};
use ralph_core::protocol::client_version::{ClientFeature, ClientVersion};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const INIT: &str = r#"say '{"type":"system","subtype":"init","session_id":"s"}'"#;
const DONE: &str = r#"say '{"type":"result","is_error":false,"result":"done"}'"#;

/// A planned loop of these tasks, and a client that runs this script; `ralph` is on its `PATH`.
fn world(tasks: &[(&str, &[&str])], client: &str) -> World {
    let world = World::new().permissive();
    for folder in ["bin", "home"] {
        fs::create_dir_all(world.path(folder)).unwrap();
    }
    for tool in ["sh", "date", "test", "touch"] {
        let places = ["/usr/bin", "/bin"].map(|folder| format!("{folder}/{tool}"));
        let place = places.iter().find(|place| fs::exists(place).unwrap()).unwrap();
        let _ = std::os::unix::fs::symlink(place, world.path("bin").join(tool));
    }
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_ralph"), world.path("bin/ralph")).unwrap();
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version -o \"$1\" = /cost ] && echo '2.1.328 (Claude Code)' && exit\nsay() {{ printf '%s\\n' \"$1\"; }}\necho called >>\"$HOME/called\"\n{client}\n"
    );
    fs::write(world.path("bin/claude"), script).unwrap();
    fs::set_permissions(world.path("bin/claude"), fs::Permissions::from_mode(0o755)).unwrap();
    let graph: Vec<Value> = tasks
        .iter()
        .map(|(id, deps)| json!({"id": id, "name": id, "deps": deps, "completion_condition": "c", "files": [id]}))
        .collect();
    let criteria = json!([{"id": "AC-1", "description": "it is there", "verification_command": "test -f made"}]);
    let plan = json!({"prompt": "p", "acceptance_criteria": criteria, "task_graph": graph});
    world.run("", &["task", "import", "-"], &plan.to_string()).done();
    world
}

/// Closes whichever task is in progress.
const CLOSES: &str = r#"for id in T-1 T-2; do
  ralph task done $id --owner 'ralph build' --result "did $id" && break
done >/dev/null 2>&1"#;

fn n_called(world: &World) -> usize {
    fs::read_to_string(world.path("home/called")).unwrap_or_default().lines().count()
}

fn statuses(world: &World) -> Vec<String> {
    let state = world.state();
    let tasks = state["task_graph"].as_array().unwrap();
    tasks.iter().map(|task| task["status"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_usage_limit_pauses_the_loop_and_leaves_its_task_ready() {
    let client = format!(
        "{INIT}\nsay '{{\"type\":\"rate_limit_event\",\"rate_limit_info\":{{\"status\":\"rejected\",\"resetsAt\":4102444800}}}}'\n\
         say '{{\"type\":\"result\",\"is_error\":true,\"api_error\":\"usage_limit_reached\",\"api_error_status\":429,\"result\":\"limit\"}}'\nexit 1"
    );
    let world = world(&[("T-1", &[])], &client);
    let printed = world.ralph(&["build", "--no-wait"]);
    assert_eq!(printed.exit, 1, "{printed:?}");
    assert!(
        printed.stdout.contains(
            "the usage limit is reached until 2100-01-01T00:00:00Z; `ralph run --planned` continues"
        ),
        "{printed:?}"
    );
    let state = world.state();
    assert_eq!(
        (&state["phase"], &state["pause"]["cause"]),
        (&json!("paused"), &json!("rate_limited"))
    );
    assert_eq!(
        (statuses(&world), state.get("round"), n_called(&world)),
        (vec!["pending".to_owned()], None, 1)
    );
}

#[test]
fn a_task_that_no_round_closes_is_given_up_and_the_loop_waits_for_a_person() {
    let world = world(&[("T-1", &[]), ("T-2", &["T-1"])], &format!("{INIT}\n{DONE}"));
    let printed = world.ralph(&["build"]);
    assert_eq!((printed.exit, n_called(&world)), (1, 3), "{printed:?}");
    assert!(printed.stderr.contains("T-1 is given up after 3 rounds"), "{printed:?}");
    assert!(printed.stdout.contains("no task is ready; T-1 failed: "), "{printed:?}");
    assert_eq!(statuses(&world), ["failed", "pending"]);
    assert_eq!(world.state()["pause"]["cause"], "blocked_on_human");
}

#[test]
fn rounds_are_counted_and_the_next_build_goes_on() {
    let world = world(
        &[("T-1", &[]), ("T-2", &["T-1"])],
        &format!("{INIT}\n{CLOSES}\necho x >>made\n{DONE}"),
    );
    let printed = world.ralph(&["build", "-n", "1"]);
    assert_eq!((printed.exit, n_called(&world)), (1, 1), "{printed:?}");
    assert!(printed.stdout.contains("as many rounds as were asked for"), "{printed:?}");
    assert_eq!(statuses(&world), ["done", "pending"]);
    assert!(printed.stderr.contains("\n0/2 tasks done\n"), "{printed:?}");
    assert!(printed.stderr.ends_with("\n1/2 tasks done\n"), "{printed:?}");
    assert!(printed.stdout.contains("\n1 of 2 tasks done; 1 round, "), "{printed:?}");
    let printed = world.ralph(&["build"]);
    assert_eq!((printed.exit, n_called(&world)), (0, 2), "{printed:?}");
    assert!(printed.stdout.contains("Ralph: done in "), "{printed:?}");
    assert!(world.loop_ids().is_empty());
}

#[test]
fn the_last_round_that_is_asked_for_may_complete_the_loop() {
    let world = world(&[("T-1", &[])], &format!("{INIT}\n{CLOSES}\ntouch made\n{DONE}"));
    let printed = world.ralph(&["build", "-n", "1"]);
    assert_eq!((printed.exit, n_called(&world)), (0, 1), "{printed:?}");
    assert!(printed.stdout.contains("Ralph: done in "), "{printed:?}");
    let red = self::world(&[("T-1", &[])], &format!("{INIT}\n{CLOSES}\n{DONE}"));
    let printed = red.ralph(&["build", "-n", "1"]);
    assert_eq!((printed.exit, n_called(&red)), (1, 1), "{printed:?}");
    assert!(printed.stdout.contains("as many rounds as were asked for"), "{printed:?}");
}

#[test]
fn the_exit_codes_are_the_same_in_the_guides_and_in_the_help() {
    let codes = "Exit codes: 0 the loop is complete; 1 it ended otherwise, is paused, or tasks are unfinished; 4 a \
                 program is missing or failed; 130 you interrupted it.";
    let world = World::new();
    let guide = |name: &str| {
        let path = format!("{}/../../docs/{name}", env!("CARGO_MANIFEST_DIR"));
        fs::read_to_string(path).unwrap()
    };
    let help = |name: &[&str]| world.ralph(&[name, &["--help"]].concat()).done().stdout;
    let former = [help(&["build"]), help(&["parallel", "run"])];
    for text in former.into_iter().chain([help(&["run"]), guide("run.md"), guide("parallel.md")]) {
        let folded = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(folded.contains(codes), "{text}");
    }
}

#[test]
fn a_loop_that_a_person_ends_in_the_middle_of_a_round_is_over() {
    let world = world(&[("T-1", &[])], &format!("{INIT}\nralph cancel >/dev/null\n{DONE}"));
    let printed = world.ralph(&["build"]);
    assert_eq!((printed.exit, n_called(&world)), (1, 1), "{printed:?}");
    assert!(printed.stdout.contains("Ralph: cancelled"), "{printed:?}");
    assert!(world.loop_ids().is_empty());
}

#[test]
fn a_client_that_crashes_is_not_started_for_ever() {
    let world = world(&[("T-1", &[])], "exit 3");
    let printed = world.ralph(&["build"]);
    assert_eq!((printed.exit, n_called(&world)), (1, 3), "{printed:?}");
    assert_eq!(world.state()["pause"]["cause"], "crashed");
}

#[test]
fn without_a_plan_or_a_client_nothing_is_begun() {
    let nothing = World::new();
    assert_eq!(nothing.ralph(&["build"]).exit, 1);
    let world = world(&[("T-1", &[])], "exit 0");
    fs::remove_file(world.path("bin/claude")).unwrap();
    let printed = world.ralph(&["build"]);
    assert_eq!(printed.exit, 4, "{printed:?}");
    assert_eq!(
        (world.state()["phase"].clone(), statuses(&world)),
        (json!("planned"), vec!["pending".to_owned()])
    );
}

#[test]
fn a_client_below_the_floor_begins_nothing_and_is_asked_for_its_version_once() {
    let world = world(&[("T-1", &[])], "exit 0");
    let old = "#!/bin/sh\necho \"$1\" >>\"$HOME/called\"\necho '2.1.139 (Claude Code)'\n";
    fs::write(world.path("bin/claude"), old).unwrap();
    let printed = world.ralph(&["build"]);
    assert_eq!(printed.exit, 4, "{printed:?}");
    for part in [
        "Claude Code 2.1.139 is too old for headless rounds",
        "`claude update`",
        "nothing was started",
    ] {
        assert!(printed.stderr.contains(part), "{printed:?}");
    }
    assert_eq!(fs::read_to_string(world.path("home/called")).unwrap(), "--version\n");
    assert_eq!(world.state()["phase"], "planned");
}

/// There `ralph status; rm x` would run outside as a whole.
#[test]
fn a_client_whose_sandbox_a_line_with_ralph_leaves_begins_no_round_in_it() {
    let world = world(&[("T-1", &[])], "exit 0");
    world.write("home/.config/ralph/config.toml", "[client]\nsandbox = true\n");
    let ClientVersion(major, minor, patch) = ClientFeature::Sandbox.row().since;
    let old = format!("#!/bin/sh\necho '{major}.{minor}.{} (Claude Code)'\n", patch - 1);
    fs::write(world.path("bin/claude"), old).unwrap();
    let printed = world.ralph(&["build"]);
    assert_eq!(printed.exit, 4, "{printed:?}");
    assert!(printed.stderr.contains("too old for rounds in the client's sandbox"), "{printed:?}");
    assert_eq!(world.state()["phase"], "planned");
    let printed = world.ralph(&["build", "--no-sandbox"]);
    assert!(!printed.stderr.contains("too old"), "{printed:?}");
}

#[test]
fn the_end_of_a_loop_that_is_used_in_place_is_told() {
    let client = format!("{INIT}\ntouch made\n{CLOSES}\n{DONE}");
    let world = world(&[("T-1", &[])], &client);
    let state = world.write("home/old/state.json", &world.state().to_string());
    let manifest = world.write("home/old/manifest", &format!("{}\n", state.display()));
    for file in [&state, &manifest] {
        fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
    }
    fs::remove_dir_all(world.path("ralph")).unwrap();
    fs::remove_dir_all(world.path(".ralph-kept")).unwrap();
    let mut command = world.command(Path::new(env!("CARGO_BIN_EXE_ralph")), "");
    command.arg("build").env("RALPH_MANIFEST", manifest);
    let printed = world.finish(start(&mut command), "");
    assert_eq!(printed.exit, 0, "{printed:?}");
    assert!(printed.stdout.contains("Ralph: done in "), "{printed:?}");
}
