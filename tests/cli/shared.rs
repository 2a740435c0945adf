//! `ralph run --shared` beside clients that are scripts: several clones of one remote, each with a
//! home of its own.

use crate::parallel_run::{WORKS, without_tasks};
use crate::world::{Printed, World, start};
use ralph_core::state::{Criterion, LoopState, Task};
use ralph_core::tasks::shared::names::Namespace;
use ralph_core::tasks::shared::plan::Plan;
use ralph_core::tasks::shared::record::{LedgerRecord, Record, Verdict};
use ralph_core::tasks::shared::text::{Name, ObjectId};
use ralph_io::git::shared::SharedPlace;
use ralph_io::store::home::Home;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Child;

const LOOP: &str = "20260131-120000-1a2b";

/// Quick settings: nobody wants to wait for a poll.
const SETTINGS: &str = "[shared]\npoll_seconds = 1\npushes_per_minute = 6000\n";

/// A remote, and machines with a clone each.
struct Scene {
    machines: Vec<World>,
}

impl Scene {
    fn new(n_machines: usize, client: &str) -> Scene {
        let machines: Vec<World> = (0..n_machines).map(|_| without_tasks(client)).collect();
        let scene = Scene { machines };
        let remote = scene.machines[0].path("remote.git");
        scene.git(0, &["init", "-q", "--bare", &remote.to_string_lossy()]);
        for at in 0..n_machines {
            scene.machines[at].set_user(SETTINGS);
            scene.git(at, &["remote", "add", "origin", &remote.to_string_lossy()]);
        }
        scene.git(0, &["push", "-q", "origin", "HEAD:refs/heads/main"]);
        for at in 1..n_machines {
            scene.git(at, &["fetch", "-q", "origin"]);
            scene.git(at, &["reset", "-q", "--hard", "origin/main"]);
        }
        scene
    }

    fn git(&self, at: usize, arguments: &[&str]) -> String {
        let mut command = self.machines[at].command(Path::new("git"), "");
        let output = command.args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn place(&self, at: usize) -> SharedPlace {
        let world = &self.machines[at];
        let home = Home::at(world.path("ralph"));
        home.prepare().unwrap();
        let space = Namespace::new(&Name::new(LOOP), false);
        SharedPlace::new(&home, &world.path("project"), "origin", space)
    }

    fn share(&self, tasks: &[(&str, &[&str])], command: &str) {
        let graph = tasks.iter().map(|(id, deps)| Task {
            id: (*id).to_owned(),
            name: format!("write {id}"),
            deps: deps.iter().map(|id| (*id).to_owned()).collect(),
            completion_condition: "c".to_owned(),
            files: vec![(*id).to_owned()],
            ..Task::default()
        });
        let criterion = Criterion {
            id: "AC-1".to_owned(),
            description: "d".to_owned(),
            verification_command: command.to_owned(),
            ..Criterion::default()
        };
        let mut state = LoopState {
            prompt: "p".to_owned(),
            task_graph: graph.collect(),
            acceptance_criteria: vec![criterion],
            ..LoopState::default()
        };
        ralph_hooks::begin::freeze(
            &mut state,
            &self.machines[0].path("project"),
            jiff::Timestamp::now(),
        );
        let plan = Plan::of(&state, 60);
        let digest = plan.digest();
        let head = self.git(0, &["rev-parse", "HEAD"]);
        let head = ObjectId::try_from(head.trim().to_owned()).unwrap();
        assert!(self.place(0).put_first(LedgerRecord::Plan(Box::new(plan)), &head).unwrap());
        for at in 0..self.machines.len() {
            self.place(at).trust(&Home::at(self.machines[at].path("ralph")), &digest).unwrap();
        }
    }

    fn begin(&self, at: usize, arguments: &[&str]) -> Child {
        let mut command = self.machines[at].command(Path::new(env!("CARGO_BIN_EXE_ralph")), "");
        start(command.args(["run", "--shared"]).args(arguments))
    }

    fn finish(&self, at: usize, child: Child) -> Printed {
        self.machines[at].finish(child, "")
    }

    fn run(&self, at: usize, arguments: &[&str]) -> Printed {
        self.finish(at, self.begin(at, arguments))
    }

    /// The records of the ledger.
    fn ledger(&self) -> Vec<LedgerRecord> {
        let space = Namespace::new(&Name::new(LOOP), false);
        let format = "--format=%B%x00";
        let name = format!("{}/ledger", space.prefix());
        let remote = self.machines[0].path("remote.git");
        let printed = self.git(
            0,
            &[
                "--git-dir",
                &remote.to_string_lossy(),
                "log",
                "--first-parent",
                "--reverse",
                format,
                &name,
            ],
        );
        let messages = printed.split('\0').map(str::trim_start).filter(|one| one.contains('{'));
        messages.map(|one| Record::parse(one).unwrap().kind).collect()
    }

    /// How many times each task was merged.
    fn merges(&self) -> BTreeMap<String, usize> {
        let mut merges = BTreeMap::new();
        for record in self.ledger() {
            if let LedgerRecord::Verdict(Verdict::Merged { finishes, .. }) = record {
                for finish in finishes {
                    *merges.entry(finish.task).or_default() += 1;
                }
            }
        }
        merges
    }

    #[track_caller]
    fn is_merged_once(&self, tasks: &[&str]) {
        let expected = tasks.iter().map(|task| ((*task).to_owned(), 1)).collect();
        assert_eq!(self.merges(), expected);
        let ends = self.ledger().into_iter().filter(|one| matches!(one, LedgerRecord::End(_)));
        assert_eq!(ends.count(), 1);
    }

    fn on_branch(&self) -> String {
        let remote = self.machines[0].path("remote.git");
        let branch = format!("ralph/{LOOP}");
        self.git(
            0,
            &["--git-dir", &remote.to_string_lossy(), "ls-tree", "-r", "--name-only", &branch],
        )
    }
}

#[test]
fn one_machine_carries_a_shared_loop_out_and_the_branch_has_all_of_it() {
    let scene = Scene::new(1, WORKS);
    scene.share(&[("A", &[]), ("B", &["A"])], "test -f B");
    let printed = scene.run(0, &[]);
    assert_eq!(printed.exit, 0, "{printed:#?}");
    scene.is_merged_once(&["A", "B"]);
    assert_eq!(scene.on_branch(), "A\nB\nshared\n");
}

#[test]
fn two_machines_do_each_task_once_and_both_end_with_the_loop() {
    let scene = Scene::new(2, WORKS);
    let tasks: [(&str, &[&str]); 6] =
        [("A", &[]), ("B", &[]), ("C", &["A"]), ("D", &["A", "B"]), ("E", &[]), ("F", &["D"])];
    scene.share(&tasks, "test -f F");
    let (one, other) = (scene.begin(0, &["--workers", "1"]), scene.begin(1, &["--workers", "2"]));
    for (at, child) in [(0, one), (1, other)] {
        let printed = scene.finish(at, child);
        assert_eq!(printed.exit, 0, "{printed:#?}");
        assert!(printed.stdout.contains("Ralph: done."), "{printed:#?}");
    }
    scene.is_merged_once(&["A", "B", "C", "D", "E", "F"]);
    assert_eq!(scene.on_branch(), "A\nB\nC\nD\nE\nF\nshared\n");
}
