//! The entry that wakes a session whose background workers have fallen silent.

use crate::world::{Ran, World, executable, run};
use ralph_test_support::PATIENCE;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::process::{Child, Stdio};
use std::time::Instant;

const STOP_HOOK: &str = "ralph-stop-hook";

fn worker(description: &str) -> Value {
    json!({"id": format!("id-{description}"), "type": "subagent", "status": "running",
        "description": description, "agent_type": "ralph-worker"})
}

fn stop_payload(world: &World, tasks: Value) -> String {
    let members = json!({"stop_hook_active": false, "last_assistant_message": "Launched.",
        "background_tasks": tasks, "session_crons": []});
    world.payload("Stop", members).to_string()
}

fn wait_with(world: &World, payload: &str) -> Ran {
    run(world.wrapped(&[executable(STOP_HOOK), "wait"]), STOP_HOOK, payload.as_bytes())
}

/// A loop that gives its workers no time at all.
fn impatient() -> World {
    let world = World::new();
    world.write(".claude/ralph.toml", "background_minutes = 0\n");
    world.start("");
    world
}

/// A loop whose session waits for a worker while the test acts; then the waiting must end silently,
/// long before its thirty minutes.
#[track_caller]
fn ends_the_waiting(act: impl FnOnce(&mut World)) {
    let mut world = World::looping("");
    world.transcribe(&[]);
    world.stop_with(json!({"background_tasks": [worker("dig")]})).silent();
    let mut waiter = Waiter::start(&world);
    let mark = world.state_path().with_file_name("waiting");
    waiter.until("it does not wait", |_| mark.exists());
    act(&mut world);
    waiter.until("it still waits", |child| child.try_wait().unwrap().is_some());
    let output = waiter.0.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout, output.stderr), (Some(0), vec![], vec![]));
}

/// A hook that waits; a test that fails ends it by its id.
struct Waiter(Child);

impl Waiter {
    fn start(world: &World) -> Waiter {
        let mut command = world.wrapped(&[executable(STOP_HOOK), "wait"]);
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        let payload = stop_payload(world, json!([worker("dig")]));
        child.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
        Waiter(child)
    }

    #[track_caller]
    fn until(&mut self, otherwise: &str, mut is_so: impl FnMut(&mut Child) -> bool) {
        let began = Instant::now();
        while !is_so(&mut self.0) {
            if began.elapsed() > PATIENCE {
                self.0.kill().unwrap();
                panic!("{otherwise}");
            }
            std::thread::yield_now();
        }
    }
}

#[test]
fn when_the_time_is_over_the_session_is_woken_by_the_names_of_its_workers() {
    let world = impatient();
    let before = world.state();
    let shell = json!({"id": "s", "type": "shell", "status": "running", "description": "serve"});
    let tasks = json!([worker("dig"), shell, worker("fill")]);
    let ran = wait_with(&world, &stop_payload(&world, tasks)).exit(2).stdout(Value::Null);
    let told = ran.err();
    assert!(told.ends_with('\n') && told.lines().count() == 1, "{told}");
    for part in ["\"dig\" (ralph-worker, id-dig), \"fill\" (", "TaskStop", "Nothing was counted"] {
        assert!(told.contains(part), "{part} in {told}");
    }
    assert!(!told.contains("serve"), "{told}");
    assert_eq!(world.state(), before);
    let journal = fs::read_to_string(world.state_path().with_file_name("journal.jsonl")).unwrap();
    let last: Value = serde_json::from_str(journal.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last["decision"], &last["seen"]["workers"]),
        (&json!("woken"), &json!(["dig", "fill"]))
    );
}

#[test]
fn where_there_is_nothing_to_wait_for_it_exits_at_once_and_writes_nothing() {
    let mut world = World::looping("");
    let shell = json!({"id": "s", "type": "shell", "status": "running", "description": "serve"});
    let with_worker = |event: &str, members: Value| {
        let mut all = json!({"background_tasks": [worker("dig")]});
        all.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        world.payload(event, all).to_string()
    };
    let before = world.listing(&world.ralph_home());
    for payload in [
        stop_payload(&world, json!([])),
        stop_payload(&world, json!([shell])),
        with_worker("SubagentStop", json!({"agent_id": "a"})),
        with_worker("Stop", json!({"agent_id": "a"})),
        with_worker("PostToolUse", json!({})),
    ] {
        wait_with(&world, &payload).silent();
    }
    assert_eq!(world.listing(&world.ralph_home()), before);
    world.become_session("session-2", "prompt-9");
    wait_with(&world, &stop_payload(&world, json!([worker("dig")]))).silent();
    assert_eq!(world.listing(&world.ralph_home()), before);
}

#[test]
fn a_loop_that_rests_is_not_waited_at() {
    let mut world = impatient();
    world.prompt("prompt-1", "ralph pause").kept_from_model();
    wait_with(&world, &stop_payload(&world, json!([worker("dig")]))).silent();
}

#[test]
fn only_the_highest_registration_waits() {
    let mut world = impatient();
    let payload = stop_payload(&world, json!([worker("dig")]));
    world.via = Some("skill");
    wait_with(&world, &payload).silent();
    world.via = Some("settings");
    assert!(wait_with(&world, &payload).exit(2).err().contains("dig"));
}

#[test]
fn the_hook_that_answers_the_stop_never_wakes() {
    let world = impatient();
    let payload = stop_payload(&world, json!([worker("dig")]));
    world.hook(STOP_HOOK, &payload).silent();
    // Not the first word: then it is no more than an unknown registration.
    let words = [executable(STOP_HOOK), "x", "wait"];
    run(world.wrapped(&words), STOP_HOOK, payload.as_bytes()).exit(0);
}

#[test]
fn whatever_it_is_given_it_wakes_nobody_by_mistake() {
    let world = impatient();
    for payload in ["", "7", "{", "{\"hook_event_name\":\"Stop\"}", "\u{0}"] {
        wait_with(&world, payload).harmless();
    }
    world.edit_state(|state| *state = json!("broken"));
    fs::remove_file(world.state_path().with_file_name("state.json.last-good")).ok();
    wait_with(&world, &stop_payload(&world, json!([worker("dig")]))).complains("no good copy");
}

#[test]
fn a_report_that_waits_in_the_clients_queue_ends_the_waiting() {
    let row = json!({"type": "queue-operation", "operation": "enqueue",
        "timestamp": "2026-01-01T00:00:00Z", "content": "<task-notification>\n<task-id>a"});
    ends_the_waiting(|world| {
        let path = world.transcript();
        let mut file = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        writeln!(file, "{row}").unwrap();
    });
}

#[test]
fn a_new_prompt_ends_the_waiting() {
    ends_the_waiting(|world| {
        world.prompt("prompt-2", "<task-notification>\ndone").silent();
    });
}

#[test]
fn a_pause_ends_the_waiting() {
    ends_the_waiting(|world| {
        world.prompt("prompt-1", "ralph pause");
    });
}

#[test]
fn the_end_of_the_loop_ends_the_waiting() {
    ends_the_waiting(|world| {
        world.stop("RALPH_COMPLETE").ends("Ralph: done, without proof");
    });
}

#[test]
fn the_end_of_the_session_ends_the_waiting() {
    ends_the_waiting(|world| {
        world.event(STOP_HOOK, "SessionEnd", json!({"reason": "other"})).silent();
    });
}

#[test]
fn a_later_stop_ends_the_waiting_at_this_one() {
    ends_the_waiting(|world| {
        world.edit_state(|state| state["settings"]["background_minutes"] = json!(0));
        let payload = stop_payload(world, json!([worker("dig")]));
        wait_with(world, &payload).exit(2);
    });
}
