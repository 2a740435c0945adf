//! The machines, the server and the plan of one run.

use super::ledger::Proof;
use crate::chance::Chance;
use crate::size::size;
use crate::tally;
use ralph_test_support::Run;
use ralph_test_support::git_server::{GitServer, Storage, Transport};
use ralph_test_support::machine::Machine;
use ralph_test_support::sample::seed;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The length of a lease. Short enough that one expires within a test.
pub(super) const LEASE: Duration = Duration::from_secs(6);

/// A round that does its task at once.
pub(super) const WORKS: &str = "works; closes; ends";

pub(super) struct Field {
    pub(super) server: GitServer,
    pub(super) machines: Vec<Machine>,
    pub(super) chance: Chance,
    loop_id: String,
    tasks: BTreeSet<String>,
    common: TempDir,
    client: String,
    began: Instant,
    lease: Duration,
}

impl Field {
    /// Machines for a server, without a loop. `None` if this computer cannot serve in this way.
    pub(super) fn new(how: (Transport, Storage), client: &str) -> Option<Field> {
        Field::of(size().machines, how, client)
    }

    fn of(
        machines: usize,
        (transport, storage): (Transport, Storage),
        client: &str,
    ) -> Option<Field> {
        let mut field = Field {
            server: GitServer::start_or_skip(transport, storage)?,
            machines: Vec::new(),
            chance: Chance::of(seed()),
            loop_id: String::new(),
            tasks: BTreeSet::new(),
            common: ralph_test_support::private_folder("ralph-test-"),
            client: client.to_owned(),
            began: Instant::now(),
            lease: LEASE,
        };
        for _ in 0..machines {
            field.add_machine();
        }
        Some(field)
    }

    /// The usual field: everything is ready to be started.
    pub(super) fn shared(how: (Transport, Storage), client: &str) -> Option<Field> {
        Field::shared_by(size().machines, size().tasks, how, client)
    }

    /// The same with as many machines and tasks as a measurement needs.
    pub(super) fn shared_by(
        machines: usize,
        tasks: usize,
        how: (Transport, Storage),
        client: &str,
    ) -> Option<Field> {
        let mut field = Field::of(machines, how, client)?;
        field.share(0, tasks);
        Some(field)
    }

    pub(super) fn add_machine(&mut self) -> &mut Machine {
        let machine = Machine::new(&self.server, &self.client, self.common.path());
        let lease = self.lease.as_secs();
        machine.set_ralph(&settings(lease));
        self.machines.push(machine);
        self.machines.last_mut().unwrap()
    }

    /// Makes claims last longer. Only before the loop is shared.
    pub(super) fn set_lease(&mut self, lease: Duration) {
        self.lease = lease;
        let seconds = lease.as_secs();
        let set = |machine: &Machine| machine.set_ralph(&settings(seconds));
        self.machines.iter().for_each(set);
    }

    /// One machine plans so many tasks and shares them.
    pub(super) fn share(&mut self, machine: usize, tasks: usize) {
        self.plan(machine, tasks);
        self.machines[machine].ralph(&["share"]).exits(0);
        let [loop_id] = &self.shared_loops()[..] else { panic!("one loop is shared") };
        self.choose(&loop_id.clone());
    }

    fn plan(&mut self, machine: usize, tasks: usize) {
        self.tasks = (1..=tasks).map(|at| format!("T-{at}")).collect();
        let plan = plan(tasks, &mut self.chance).to_string();
        self.machines[machine].ralph_with(&["task", "import", "-"], &plan).exits(0);
    }

    /// Every machine shares a loop of its own, all in the same moment, and each does so twice.
    pub(super) fn share_by_all(&mut self, tasks: usize) {
        for machine in 0..self.machines.len() {
            self.plan(machine, tasks);
        }
        let runs: Vec<Run> = std::thread::scope(|scope| {
            let twice = self.machines.iter().flat_map(|machine| [machine; 2]);
            let runs: Vec<_> = twice.map(|it| scope.spawn(|| it.ralph(&["share"]))).collect();
            runs.into_iter().map(|run| run.join().unwrap()).collect()
        });
        for both in runs.chunks(2) {
            assert!(both.iter().any(|run| run.code == Some(0)), "{both:?}");
        }
        assert_eq!(self.shared_loops().len(), self.machines.len(), "{runs:?}");
    }

    /// The ids of all loops on the server.
    pub(super) fn shared_loops(&self) -> Vec<String> {
        let pattern = "refs/ralph/shared/*/ledger";
        let ledgers = self.server.git(&["for-each-ref", "--format=%(refname)", pattern]);
        let id = |name: &str| name.split('/').nth(3).unwrap().to_owned();
        ledgers.lines().map(id).collect()
    }

    /// From now on, everything is about this loop, which all machines trust.
    pub(super) fn choose(&mut self, loop_id: &str) {
        self.loop_id = loop_id.to_owned();
        self.machines.iter().for_each(|machine| self.trust(machine));
    }

    pub(super) fn trust(&self, machine: &Machine) {
        machine.ralph(&["trust", "--shared", &self.loop_id, "--yes"]).exits(0);
    }

    pub(super) fn start(&mut self, machine: usize) {
        self.machines[machine].start(&["run", "--shared", &self.loop_id]);
    }

    pub(super) fn start_all(&mut self) {
        self.start_with(&[]);
    }

    pub(super) fn start_with(&mut self, options: &[&str]) {
        for machine in &mut self.machines {
            machine.start(&[&["run", "--shared", &self.loop_id], options].concat());
        }
    }

    pub(super) fn start_those_that_are_off(&mut self) {
        for machine in 0..self.machines.len() {
            if !self.machines[machine].is_running() {
                self.start(machine);
            }
        }
    }

    /// Carries out `harm` again and again until the loop has ended.
    #[track_caller]
    pub(super) fn until_end(&mut self, mut harm: impl FnMut(&mut Field)) {
        while !self.has_ended() {
            harm(self);
            self.pause(Duration::from_millis(100));
        }
    }

    /// Lets machines work; a test that hangs fails with what they have printed.
    #[track_caller]
    pub(super) fn pause(&self, pause: Duration) {
        if self.began.elapsed() > patience() {
            let outputs: Vec<String> = self.machines.iter().map(Machine::output).collect();
            panic!("the loop does not end: {:?}\n{}", self.proof(), outputs.join("\n---\n"));
        }
        std::thread::sleep(pause);
    }

    /// The same, but shorter if the loop ends.
    #[track_caller]
    pub(super) fn pause_until_end(&self, pause: Duration) {
        let began = Instant::now();
        while began.elapsed() < pause && !self.has_ended() {
            self.pause(pause / 100);
        }
    }

    #[track_caller]
    pub(super) fn wait_for(&self, what: &str, holds: impl Fn(&Field) -> bool) {
        while !holds(self) {
            assert!(!self.has_ended(), "the loop ended before {what}");
            self.pause(Duration::from_millis(50));
        }
    }

    /// What the references of the loop say now.
    pub(super) fn proof(&self) -> Proof {
        Proof::read(&self.server, &self.loop_id)
    }

    /// The full name of a reference of the loop.
    pub(super) fn reference(&self, name: &str) -> String {
        format!("refs/ralph/shared/{}/{name}", self.loop_id)
    }

    fn has_ended(&self) -> bool {
        let ledger = self.reference("ledger");
        let subject = self.server.git(&["log", "-1", "--format=%s", &ledger, "--"]);
        subject.starts_with("End by ") || subject.starts_with("Cancel by ")
    }

    /// Starts what does not run, waits until every machine has learnt the end, and checks the
    /// repository.
    #[track_caller]
    pub(super) fn finish(&mut self) -> Proof {
        self.start_those_that_are_off();
        for at in 0..self.machines.len() {
            let mut status = self.machines[at].wait(patience());
            if status.signal() == Some(Signal::KILL.as_raw()) && self.machines[at].was_killed() {
                // By a kill that was asked for before and taken back too late.
                self.start(at);
                status = self.machines[at].wait(patience());
            }
            assert!(status.success(), "{status}: {}", self.machines[at].output());
        }
        let proof = self.proof();
        proof.check(&self.server, &self.tasks);
        tally::shared(self.tasks.len());
        let seconds = self.began.elapsed().as_secs_f32();
        println!(
            "{} tasks, {} machines, {seconds:.0} s, {proof}",
            self.tasks.len(),
            self.machines.len()
        );
        proof
    }

    /// The machine that writes records under this name.
    pub(super) fn machine_named(&self, name: &str) -> usize {
        let knows = |machine: &Machine| has_text(&machine.ralph_home().join("shared"), name);
        self.machines.iter().position(knows).expect("a machine has the name")
    }
}

fn settings(lease_seconds: u64) -> String {
    format!(
        "[shared]\nlease_seconds = {lease_seconds}\npoll_seconds = 1\npushes_per_minute = 10000\n"
    )
}

fn has_text(folder: &std::path::Path, text: &str) -> bool {
    std::fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
        let path = entry.path();
        match path.is_dir() {
            // The records of all machines.
            true if path.extension().is_some_and(|it| it == "git") => false,
            true => has_text(&path, text),
            false => std::fs::read_to_string(path).is_ok_and(|file| file.contains(text)),
        }
    })
}

fn patience() -> Duration {
    Duration::from_secs(120 + 10 * size().tasks as u64)
}

/// A graph in which about every second task waits for an earlier one.
fn plan(tasks: usize, chance: &mut Chance) -> Value {
    let task = |at: usize| {
        let deps: Vec<String> = match chance.below(2) {
            1 if at > 1 => vec![format!("T-{}", 1 + chance.below(at - 1))],
            _ => Vec::new(),
        };
        json!({"id": format!("T-{at}"), "name": format!("write {at}"), "deps": deps,
            "completion_condition": "c", "files": [format!("work/T-{at}.txt")]})
    };
    let graph: Vec<Value> = (1..=tasks).map(task).collect();
    let all = format!("test \"$(ls work | wc -l)\" -ge {tasks}");
    let criteria = json!([
        {"id": "AC-1", "description": "all files are there", "verification_command": all},
        {"id": "AC-2", "description": "nothing is broken", "verification_command": "test ! -e broken"},
    ]);
    json!({"prompt": "p", "acceptance_criteria": criteria, "task_graph": graph})
}
