use super::*;
use crate::git_server::{Storage, Transport};

fn machine(client: &str) -> (GitServer, TempDir, Machine) {
    let server = GitServer::start(Transport::Http, Storage::Files).unwrap();
    let common = tempfile::tempdir().unwrap();
    let machine = Machine::new(&server, client, common.path());
    (server, common, machine)
}

const CALLS: &str =
    "echo one >a; git add a; git commit -qm a; git push -q; git version; sleep 1000";

#[test]
fn a_machine_dies_before_or_after_a_call_of_git() {
    for (when, landed) in [(When::Before, "1"), (When::After, "2")] {
        let (server, _common, mut machine) = machine("");
        machine.kill_at(when, 3);
        machine.start_program("sh", &["-c", CALLS]);
        assert_eq!(machine.wait(PATIENCE).code(), None, "{}", machine.output());
        assert!(machine.was_killed());
        assert_eq!((machine.git_calls(), machine.git_pushes()), (3, 1));
        // The wrapper's git may end after the process that it kills.
        let commits = || server.git(&["rev-list", "--count", "main"]);
        assert!(wait_until(PATIENCE, || commits() == landed), "{}", commits());
    }
}

#[test]
fn a_machine_loses_its_power_with_all_that_it_runs() {
    let (_server, _common, mut machine) = machine("");
    machine.start_program("sh", &["-c", "setsid sleep 1000 & git version; sleep 1000"]);
    assert!(wait_until(PATIENCE, || machine.git_calls() == 1));
    machine.suspend();
    machine.resume();
    assert!(machine.is_running());
    machine.power_off();
    assert!(machine.processes().is_empty());
}

#[test]
fn the_client_of_a_machine_does_a_task() {
    let (_server, _common, machine) = machine("works; closes; ends");
    let task = |id: &str| serde_json::json!({"id": id, "name": id, "deps": [], "completion_condition": "c"});
    let criterion = serde_json::json!({"id": "AC-1", "description": "it is there", "verification_command": "test -f work/T-1.txt"});
    let plan = serde_json::json!({"prompt": "p", "acceptance_criteria": [criterion], "task_graph": [task("T-1"), task("T-2")]});
    machine.ralph_with(&["task", "import", "-"], &plan.to_string()).exits(0);
    let run = machine.ralph(&["parallel", "run"]).exits(0);
    assert!(run.stdout.contains("Ralph: done in "), "{run:?}");
    assert!(machine.clone_folder().join("work/T-2.txt").exists());
    assert!(machine.git_calls() > 0, "Ralph calls the machine's git");
}
