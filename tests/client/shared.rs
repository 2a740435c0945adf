//! `ralph run --shared` with the real client: two machines, each with a home and a clone of its own,
//! and a bare repository between them.

use ralph_test_support::fake_api::{ApiRequest, Script, ScriptedTurn, StandIn};
use std::thread;

use crate::Test;
use crate::builds::plan;
use crate::kept::installed;
use crate::support::{PATIENCE, Run, World};

pub(crate) const TESTS: &[Test] = tests![
    two_machines_work_at_once_and_each_task_is_merged_once,
    a_shared_loop_is_carried_out_within_the_sandbox,
];

const SETTINGS: &str = "[shared]\npoll_seconds = 1\npushes_per_minute = 600\n";

/// The task that a worker's session was told to do.
fn task(request: &ApiRequest) -> String {
    let text = request.all_text();
    let (_, rest) = text.split_once("Your task: ").expect("a worker has a task");
    rest.split_whitespace().next().unwrap().to_owned()
}

/// Makes a remote of the first machine's project, and clones of it of the others.
fn connect(machines: &[World], settings: &str) {
    let remote = machines[0].root().join("remote.git").display().to_string();
    machines[0].git(&["init", "-q", "--bare", &remote]);
    for (at, machine) in machines.iter().enumerate() {
        machine.set_ralph(&format!("{SETTINGS}{settings}"));
        machine.git(&["remote", "add", "origin", &remote]);
        if at == 0 {
            machine.git(&["push", "-q", "origin", "HEAD:refs/heads/main"]);
        } else {
            machine.git(&["fetch", "-q", "origin"]);
            machine.git(&["reset", "-q", "--hard", "origin/main"]);
        }
    }
}

fn begin(world: &World, stand_in: &StandIn, args: &[&str]) -> thread::JoinHandle<Run> {
    let command = world.driver(stand_in, &[&["run", "--shared"], args].concat());
    thread::spawn(move || Run::of(command, "", 4 * PATIENCE))
}

/// The first lines of the ledger's records.
fn ledger(world: &World) -> Vec<String> {
    let remote = world.root().join("remote.git").display().to_string();
    let listed = world.git(&["ls-remote", &remote, "refs/ralph/shared/*/ledger"]);
    let name = listed.split_whitespace().nth(1).expect("there is a ledger").to_owned();
    let log = ["--git-dir", &remote, "log", "--first-parent", "--reverse", "--format=%s", &name];
    world.git(&log).lines().map(str::to_owned).collect()
}

fn two_machines_work_at_once_and_each_task_is_merged_once() {
    let machines = [installed(), installed()];
    connect(&machines, "[client]\nsandbox = false\n");
    plan(&machines[0], &[("T-1", &[]), ("T-2", &[]), ("T-3", &["T-1", "T-2"])]);
    let shared = machines[0].ralph(&["share"]).exits(0).stdout;
    machines[1].ralph(&["trust", "--shared", "--yes"]).exits(0);
    let meeting = machines[0].root().display().to_string();
    let script = Script::new().answer_with(move |request| {
        let id = task(request);
        // The first two go on when both are there, each on another machine.
        let other = if id == "T-1" { "T-2" } else { "T-1" };
        let meets = format!(
            "touch {meeting}/in-{id}; for i in $(seq 600); do test -e {meeting}/in-{other} && break; sleep 0.1; done; \
             test -e {meeting}/in-{other} && echo {id} > {id}"
        );
        match request.tool_results().len() {
            0 => ScriptedTurn::bash(&meets),
            1 => ScriptedTurn::bash(&format!("ralph task done {id} --result 'wrote {id}'")),
            _ => ScriptedTurn::text("It is done."),
        }
    });
    let stand_in = StandIn::start(script).unwrap();
    let args = ["--workers", "1", "--permission-mode", "bypassPermissions"];
    let runs = machines.iter().map(|machine| begin(machine, &stand_in, &args));
    let runs: Vec<_> = runs.collect();
    for run in runs {
        let run = run.join().unwrap().exits(0);
        assert!(run.stdout.contains("Ralph: done. "), "{run:?}");
    }
    let records = ledger(&machines[0]);
    let merged: usize = records
        .iter()
        .filter_map(|one| {
            one.strip_prefix("Merge of ")?.split_whitespace().next()?.parse::<usize>().ok()
        })
        .sum();
    assert_eq!(merged, 3, "{records:?}");
    assert_eq!(records.iter().filter(|one| one.starts_with("End ")).count(), 1, "{records:?}");
    let begun = stand_in.requests();
    assert_eq!(begun.iter().filter(|one| one.tool_results().is_empty()).count(), 3);
    assert!(shared.contains("ralph run --shared"), "{shared}");
}

fn a_shared_loop_is_carried_out_within_the_sandbox() {
    let machines = [World::sandboxed()];
    machines[0].ralph(&["install"]).exits(0);
    connect(&machines, "");
    plan(&machines[0], &[("T-1", &[]), ("T-2", &["T-1"])]);
    machines[0].ralph(&["share"]).exits(0);
    let script = Script::new().answer_with(move |request| {
        let id = task(request);
        match request.tool_results().len() {
            0 => ScriptedTurn::bash(&format!("echo {id} > {id}; git add -A; git commit -qm {id}")),
            1 => ScriptedTurn::bash(&format!("ralph task done {id} --note 'wrote {id}'")),
            _ => ScriptedTurn::text("It is done."),
        }
    });
    let stand_in = StandIn::start(script).unwrap();
    let run = begin(&machines[0], &stand_in, &[]).join().unwrap().exits(0);
    assert!(run.stdout.contains("Ralph: done. "), "{run:?}");
    assert!(run.stdout.contains("the criterion holds"), "{run:?}");
    assert!(run.stderr.contains("can write: the project"), "{run:?}");
    let last = stand_in.requests().into_iter().rfind(|one| one.tool_results().len() == 2).unwrap();
    assert!(last.all_text().contains("T-2"), "{}", last.all_text());
}
