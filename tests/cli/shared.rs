//! `ralph run --shared` beside clients that are scripts: several clones of one remote, each with a
//! home of its own.

use crate::parallel_run::{WORKS, without_tasks};
use crate::world::{Printed, World, start, wait_for};
use ralph_core::state::EndingKind;
use ralph_core::tasks::shared::names::Namespace;
use ralph_core::tasks::shared::record::{End, LedgerRecord, Record, Verdict};
use ralph_core::tasks::shared::text::{Name, Text};
use ralph_io::git::shared::{SharedPlace, found};
use ralph_io::store::home::Home;
use ralph_test_support::sample::is_left_out;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Child;

/// Quick settings: nobody wants to wait for a poll.
const SETTINGS: &str = "[shared]\npoll_seconds = 1\npushes_per_minute = 6000\n";

/// A remote, and machines with a clone each.
struct Scene {
    machines: Vec<World>,
    loop_id: String,
    is_below_heads: bool,
}

impl Scene {
    fn new(n_machines: usize, client: &str) -> Scene {
        let machines: Vec<World> = (0..n_machines).map(|_| without_tasks(client)).collect();
        let scene = Scene { machines, loop_id: String::new(), is_below_heads: false };
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
        let space = Namespace::new(&Name::new(&self.loop_id), self.is_below_heads);
        SharedPlace::new(&home, &world.path("project"), "origin", space)
    }

    /// Shares these tasks from the first machine, with this command as the criterion; the others trust
    /// the plan.
    fn share(&mut self, tasks: &[(&str, &[&str])], command: &str) {
        let graph: Vec<Value> = tasks
            .iter()
            .map(|(id, deps)| json!({"id": id, "name": format!("write {id}"), "deps": deps, "completion_condition": "c", "files": [id]}))
            .collect();
        let criterion = json!({"id": "AC-1", "description": "d", "verification_command": command});
        let plan = json!({"prompt": "p", "acceptance_criteria": [criterion], "task_graph": graph});
        self.machines[0].run("", &["task", "import", "-"], &plan.to_string()).done();
        self.machines[0].run("", &["share"], "").done();
        let home = Home::at(self.machines[0].path("ralph"));
        let ledgers = found(&home, &self.machines[0].path("project"), "origin").unwrap();
        self.loop_id = ledgers[0].space.loop_id().to_string();
        for at in 1..self.machines.len() {
            let home = Home::at(self.machines[at].path("ralph"));
            home.prepare().unwrap();
            let place = self.place(at);
            let ledger = place.read().unwrap().ledger;
            place.trust(&home, &ledger, &place.digest(&ledger).unwrap()).unwrap();
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
        let space = Namespace::new(&Name::new(&self.loop_id), self.is_below_heads);
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

    /// The journals of a machine's live loops.
    fn journal(&self, at: usize) -> String {
        let loops = std::fs::read_dir(self.machines[at].path("ralph/loops")).unwrap().flatten();
        let texts = loops.map(|one| std::fs::read_to_string(one.path().join("journal.jsonl")));
        texts.flatten().collect()
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

    fn end(&self) -> End {
        let mut ends = self.ledger().into_iter().filter_map(|one| match one {
            LedgerRecord::End(end) => Some(end),
            _ => None,
        });
        ends.next_back().expect("the loop has not ended")
    }

    fn on_branch(&self) -> String {
        let remote = self.machines[0].path("remote.git");
        let branch = format!("ralph/{}", self.loop_id);
        self.git(
            0,
            &["--git-dir", &remote.to_string_lossy(), "ls-tree", "-r", "--name-only", &branch],
        )
    }
}

/// A file that clients wait for, in the home of a machine.
fn open(world: &World, gate: &str) {
    world.write(&format!("home/{gate}"), "");
}

fn called(world: &World, id: &str, n: u32) -> bool {
    world.path(&format!("home/call-{id}-{n}")).exists()
}

fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    let sent = std::process::Command::new("kill").args([name, &pid]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn one_machine_carries_a_shared_loop_out_and_the_branch_has_all_of_it() {
    let mut scene = Scene::new(1, WORKS);
    scene.share(&[("A", &[]), ("B", &["A"])], "test -f B");
    let before = scene.git(0, &["for-each-ref"]);
    let printed = scene.run(0, &[]);
    assert_eq!(printed.exit, 0, "{printed:#?}");
    scene.is_merged_once(&["A", "B"]);
    let end = scene.end();
    assert_eq!(end.ending, EndingKind::Complete);
    assert!(
        end.reason.as_str().contains("test -f B passes; it fails without the change"),
        "{end:?}"
    );
    assert_eq!(scene.on_branch(), "A\nB\nshared\n");
    assert_eq!(scene.git(0, &["for-each-ref"]), before, "the clone's references are as they were");
    assert!(!scene.machines[0].path("project/A").exists(), "the clone's own branch is as it was");
    let worktrees = scene.git(0, &["worktree", "list"]);
    assert_eq!(worktrees.lines().count(), 1, "{worktrees}");
    let printed = scene.run(0, &[]);
    assert_eq!(printed.exit, 0, "{printed:#?}");
    assert!(printed.stdout.contains("has ended: complete"), "{printed:#?}");
}

#[test]
fn a_criterion_that_passes_without_the_work_returns_it_once_and_proves_nothing() {
    if is_left_out(3) {
        return;
    }
    let mut scene = Scene::new(1, WORKS);
    scene.share(&[("A", &[])], "test -f shared");
    scene.run(0, &[]);
    let records = scene.ledger();
    let returned = records.iter().filter_map(|record| match record {
        LedgerRecord::Verdict(Verdict::Returned { reason, .. }) => Some(reason.as_str()),
        _ => None,
    });
    let returned: Vec<&str> = returned.collect();
    assert_eq!(returned.len(), 1, "{records:#?}");
    assert!(returned[0].contains("they pass without your change, too"), "{returned:?}");
    let end = scene.end();
    assert_eq!(end.ending, EndingKind::CompleteUnverified);
    assert!(end.reason.as_str().contains("no test sees the change"), "{end:?}");
}

#[test]
fn two_machines_do_each_task_once_and_both_end_with_the_loop() {
    if is_left_out(3) {
        return;
    }
    let mut scene = Scene::new(2, WORKS);
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

#[test]
fn a_clone_runs_nothing_of_a_plan_that_nobody_has_trusted_there() {
    let mut scene = Scene::new(2, WORKS);
    scene.share(&[("A", &[])], "test -f A");
    std::fs::remove_dir_all(scene.machines[1].path("ralph")).unwrap();
    let printed = scene.run(1, &[]);
    assert_eq!(printed.exit, 1, "{printed:#?}");
    let next = format!("`ralph trust --shared {}` shows it and asks", scene.loop_id);
    assert!(printed.stderr.contains(&next), "{printed:#?}");
    assert!(!called(&scene.machines[1], "A", 1));
}

#[test]
fn after_a_crash_a_machine_goes_on_with_its_own_claim_at_once() {
    if is_left_out(3) {
        return;
    }
    let mut scene = Scene::new(1, "echo $id >$id; await go; closes; ends");
    scene.share(&[("A", &[])], "test -f A");
    let mut first = scene.begin(0, &[]);
    wait_for("the first client", || called(&scene.machines[0], "A", 1));
    signal(&first, "-KILL");
    first.wait().unwrap();
    open(&scene.machines[0], "go");
    let printed = scene.run(0, &[]);
    assert_eq!(printed.exit, 0, "{printed:#?}");
    scene.is_merged_once(&["A"]);
}

#[test]
fn a_machine_that_was_stopped_for_longer_than_its_lease_keeps_its_work_and_finishes_nothing() {
    if is_left_out(3) {
        return;
    }
    let script = "echo $id >$id; test $id = B && await end; \
        test -e \"$HOME/slow\" && await go; closes; ends";
    let mut scene = Scene::new(2, script);
    scene.machines[0].set_user(&format!("{SETTINGS}lease_seconds = 3\n"));
    open(&scene.machines[0], "slow");
    scene.share(&[("A", &[]), ("B", &["A"])], "test -f A");
    let one = scene.begin(0, &[]);
    wait_for("the client of the first machine", || called(&scene.machines[0], "A", 1));
    signal(&one, "-STOP");
    let other = scene.begin(1, &[]);
    wait_for("the other machine to merge", || called(&scene.machines[1], "B", 1));
    signal(&one, "-CONT");
    let kept = || scene.git(0, &["for-each-ref", "--format=%(refname)", "refs/ralph/kept"]);
    wait_for("the report of the lost claim", || !kept().is_empty());
    assert!(kept().starts_with(&format!("refs/ralph/kept/{}/A-", scene.loop_id)), "{}", kept());
    open(&scene.machines[1], "end");
    for (at, child) in [(0, one), (1, other)] {
        let printed = scene.finish(at, child);
        assert_eq!(printed.exit, 0, "{printed:#?}");
        let lost = "A: the claim was lost; the work is kept at `refs/ralph/kept/";
        assert_eq!(printed.stderr.contains(lost), at == 0, "{printed:#?}");
    }
    scene.is_merged_once(&["A", "B"]);
}

#[test]
fn nothing_of_a_machine_but_its_work_is_pushed() {
    if is_left_out(3) {
        return;
    }
    // What the client prints is in its log, and a criterion's output in the receipt.
    let mut scene = Scene::new(1, "echo $id >$id; say MARK-client; closes; ends");
    scene.machines[0]
        .set_user(&format!("{SETTINGS}[notify]\ncommand = [\"echo\", \"MARK-settings\"]\n"));
    scene.share(&[("A", &[])], "echo MARK-out\"put\"; test -f A");
    let mut command = scene.machines[0].command(Path::new(env!("CARGO_BIN_EXE_ralph")), "");
    let child = start(command.args(["run", "--shared"]).env("SECRET", "MARK-environment"));
    let printed = scene.finish(0, child);
    assert_eq!(printed.exit, 0, "{printed:#?}");
    let remote = scene.machines[0].path("remote.git").display().to_string();
    let objects =
        ["--git-dir", &remote, "cat-file", "--batch-all-objects", "--unordered", "--batch"];
    let mut command = scene.machines[0].command(Path::new("git"), "");
    let output = command.args(objects).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("Claim for worker") && text.contains("MARK-out"),
        "the records are there"
    );
    for mark in ["MARK-client", "MARK-settings", "MARK-environment", "MARK-output"] {
        assert!(!text.contains(mark), "{mark} was pushed");
    }
}

#[test]
fn work_that_conflicts_is_sent_back_with_the_reason_and_merged_after_the_next_attempt() {
    if is_left_out(3) {
        return;
    }
    // Both change the same line; the next attempt begins at the merged branch.
    let mut scene = Scene::new(
        1,
        "test -e gate || await both$n; echo $id >>shared; echo $id >$id; closes; ends",
    );
    scene.share(&[("A", &[]), ("B", &[])], "test -f A && test -f B");
    let run = scene.begin(0, &[]);
    wait_for("both clients", || ["A", "B"].iter().all(|id| called(&scene.machines[0], id, 1)));
    open(&scene.machines[0], "both1");
    open(&scene.machines[0], "both2");
    let printed = scene.finish(0, run);
    assert_eq!(printed.exit, 0, "{printed:#?}");
    scene.is_merged_once(&["A", "B"]);
    assert!(
        printed.stderr.contains("was sent back: it conflicts with the merged work in shared"),
        "{printed:#?}"
    );
    let reasons = scene
        .ledger()
        .into_iter()
        .filter(|one| matches!(one, LedgerRecord::Verdict(Verdict::Returned { .. })));
    assert_eq!(reasons.count(), 1);
}

#[test]
fn work_that_breaks_a_criterion_is_sent_back_alone() {
    if is_left_out(3) {
        return;
    }
    let script = "echo $id >$id; test $id$n = B1 && echo x >broken; closes; ends";
    let mut scene = Scene::new(1, script);
    scene.share(&[("A", &[]), ("B", &[]), ("C", &[]), ("D", &[])], "test ! -e broken");
    let printed = scene.run(0, &[]);
    assert_eq!(printed.exit, 0, "{printed:#?}");
    scene.is_merged_once(&["A", "B", "C", "D"]);
    let broken = "B was sent back: merging it breaks these criteria: AC-1 (`test ! -e broken`)";
    assert!(printed.stderr.contains(broken), "{printed:#?}");
    assert_eq!(scene.on_branch(), "A\nB\nC\nD\nshared\n");
}

/// A commit of a person on the loop's branch that writes this file.
fn commit_on_branch(scene: &Scene, file: &str, text: &str) {
    let branch = format!("refs/heads/ralph/{}", scene.loop_id);
    scene.git(0, &["fetch", "-q", "origin", &branch]);
    scene.git(0, &["checkout", "-q", "--detach", "FETCH_HEAD"]);
    std::fs::write(scene.machines[0].path("project").join(file), text).unwrap();
    scene.git(0, &["add", file]);
    scene.git(0, &["commit", "-q", "-m", "mine"]);
    scene.git(0, &["push", "-q", "origin", &format!("HEAD:{branch}")]);
}

#[test]
fn a_commit_of_a_person_on_the_branch_is_merged_like_a_finished_task() {
    if is_left_out(3) {
        return;
    }
    let mut scene = Scene::new(1, "echo $id >$id; test $id = B && await go; closes; ends");
    scene.share(&[("A", &[]), ("B", &["A"])], "test -f B");
    let run = scene.begin(0, &[]);
    wait_for("the second client", || called(&scene.machines[0], "B", 1));
    commit_on_branch(&scene, "mine", "1");
    open(&scene.machines[0], "go");
    let printed = scene.finish(0, run);
    assert_eq!(printed.exit, 0, "{printed:#?}");
    assert_eq!(scene.on_branch(), "A\nB\nmine\nshared\n");
    scene.is_merged_once(&["A", "B"]);
}

#[test]
fn a_commit_of_a_person_that_breaks_a_criterion_pauses_the_loop_until_they_correct_it() {
    if is_left_out(3) {
        return;
    }
    let mut scene = Scene::new(1, "echo $id >$id; test $id = B && await go; closes; ends");
    scene.share(&[("A", &[]), ("B", &["A"])], "test ! -s broken");
    let run = scene.begin(0, &[]);
    wait_for("the second client", || called(&scene.machines[0], "B", 1));
    commit_on_branch(&scene, "broken", "x");
    let pause = || scene.place(0).read().unwrap().ledger.pause;
    wait_for("the pause", || pause().is_some());
    let why = pause().unwrap();
    assert!(why.as_str().contains("on the branch breaks AC-1"), "{why:?}");
    open(&scene.machines[0], "go");
    commit_on_branch(&scene, "broken", "");
    scene.machines[0].run("", &["resume", "--shared"], "").done();
    let printed = scene.finish(0, run);
    assert_eq!(printed.exit, 0, "{printed:#?}");
    assert!(printed.stderr.contains("the shared loop goes on"), "{printed:#?}");
    scene.is_merged_once(&["A", "B"]);
    assert_eq!(scene.on_branch(), "A\nB\nbroken\nshared\n");
}

#[test]
fn a_loop_below_refs_heads_is_carried_out_in_the_same_way() {
    if is_left_out(3) {
        return;
    }
    let mut scene = Scene::new(1, WORKS);
    scene.machines[0].set_user(&format!("{SETTINGS}below_heads = true\n"));
    scene.is_below_heads = true;
    scene.share(&[("A", &[]), ("B", &["A"])], "test -f B");
    let printed = scene.run(0, &[]);
    assert_eq!(printed.exit, 0, "{printed:#?}");
    scene.is_merged_once(&["A", "B"]);
    assert_eq!(scene.on_branch(), "A\nB\nshared\n");
}

#[test]
fn one_record_renews_all_claims_of_a_machine_and_they_outlive_their_lease() {
    if is_left_out(3) {
        return;
    }
    let mut scene = Scene::new(2, "echo $id >$id; await go; closes; ends");
    scene.machines[0].set_user(&format!("{SETTINGS}lease_seconds = 3\n"));
    scene.share(&[("A", &[]), ("B", &[])], "test -f A");
    let one = scene.begin(0, &[]);
    wait_for("both clients", || ["A", "B"].iter().all(|id| called(&scene.machines[0], id, 1)));
    let other = scene.begin(1, &[]);
    let renewals = || {
        let place = scene.place(0);
        let view = place.read().unwrap();
        let tip = view.renewals.get(&place.machine().unwrap()).cloned();
        tip.map_or(0, |tip| place.records().chain(None, &tip).unwrap().len())
    };
    // A lease is over after three of them.
    wait_for("renewals for two leases", || renewals() >= 7);
    for id in ["A", "B"] {
        let chain = scene.place(0).read().unwrap().chains[id].clone().unwrap();
        assert_eq!(chain.ids.len(), 1, "the claim of {id} is as it was");
        assert!(!called(&scene.machines[1], id, 1), "nobody else took {id}");
    }
    open(&scene.machines[0], "go");
    for (at, child) in [(0, one), (1, other)] {
        let printed = scene.finish(at, child);
        assert_eq!(printed.exit, 0, "{printed:#?}");
    }
    scene.is_merged_once(&["A", "B"]);
}

#[test]
fn a_message_from_another_clone_reaches_the_workers() {
    if is_left_out(3) {
        return;
    }
    let mut scene = Scene::new(2, "echo $id >$id; await go; closes; ends");
    scene.share(&[("A", &[])], "test -f A");
    let run = scene.begin(0, &[]);
    wait_for("the client", || called(&scene.machines[0], "A", 1));
    scene.machines[1].run("", &["signal", "steer", "use tabs", "--shared"], "").done();
    let has = |folder: &Path| {
        let files =
            std::fs::read_dir(folder.join("signals/inputs")).into_iter().flatten().flatten();
        files
            .filter_map(|file| std::fs::read_to_string(file.path()).ok())
            .any(|text| text.contains("use tabs"))
    };
    let loops = || std::fs::read_dir(scene.machines[0].path("ralph/loops")).unwrap().flatten();
    wait_for("both mailboxes", || loops().filter(|one| has(&one.path())).count() == 2);
    open(&scene.machines[0], "go");
    let printed = scene.finish(0, run);
    assert!(printed.stderr.contains("STEER: use tabs"), "{printed:#?}");
}

#[test]
fn a_pause_and_a_cancel_from_another_clone_are_heard() {
    if is_left_out(3) {
        return;
    }
    let mut scene = Scene::new(2, "echo $id >$id; test $id = A && await go; closes; ends");
    scene.share(&[("A", &[]), ("B", &["A"])], "test -f B");
    let run = scene.begin(0, &[]);
    wait_for("the first client", || called(&scene.machines[0], "A", 1));
    let pause = LedgerRecord::Pause { reason: Text::new("lunch") };
    assert!(scene.place(1).put(|_| Ok(Some(pause.clone()))).unwrap());
    open(&scene.machines[0], "go");
    wait_for("the first finish", || scene.place(1).read().unwrap().finishes().len() == 1);
    assert!(!called(&scene.machines[0], "B", 1));
    let cancel = LedgerRecord::Cancel { reason: Text::new("enough") };
    assert!(scene.place(1).put(|_| Ok(Some(cancel.clone()))).unwrap());
    let printed = scene.finish(0, run);
    assert_eq!(printed.exit, 1, "{printed:#?}");
    assert!(printed.stderr.contains("the shared loop is paused: lunch"), "{printed:#?}");
    assert!(printed.stdout.contains("enough"), "{printed:#?}");
    assert!(!called(&scene.machines[0], "B", 1));
}

#[test]
fn work_that_ends_while_the_remote_is_gone_is_handed_in_later() {
    if is_left_out(3) {
        return;
    }
    let mut scene = Scene::new(1, "echo $id >$id; await go; closes; ends");
    scene.share(&[("A", &[])], "test -f A");
    let run = scene.begin(0, &[]);
    let world = &scene.machines[0];
    wait_for("the client", || called(world, "A", 1));
    std::fs::rename(world.path("remote.git"), world.path("away.git")).unwrap();
    open(world, "go");
    wait_for("the report of the trouble", || scene.journal(0).contains("trouble with the remote"));
    std::fs::rename(world.path("away.git"), world.path("remote.git")).unwrap();
    let printed = scene.finish(0, run);
    assert_eq!(printed.exit, 0, "{printed:#?}");
    assert!(printed.stderr.contains("the remote answers again"), "{printed:#?}");
    scene.is_merged_once(&["A"]);
}

#[test]
fn a_machine_that_starts_while_the_remote_is_gone_waits_and_goes_on_with_its_claim() {
    if is_left_out(3) {
        return;
    }
    let mut scene = Scene::new(1, "echo $id >$id; await go; closes; ends");
    scene.share(&[("A", &[])], "test -f A");
    let mut first = scene.begin(0, &[]);
    let world = &scene.machines[0];
    wait_for("the client", || called(world, "A", 1));
    signal(&first, "-KILL");
    first.wait().unwrap();
    std::fs::rename(world.path("remote.git"), world.path("away.git")).unwrap();
    open(world, "go");
    let run = scene.begin(0, &[]);
    wait_for("the report of the trouble", || scene.journal(0).contains("trouble with the remote"));
    assert!(!called(world, "A", 2), "no round begins before a read");
    std::fs::rename(world.path("away.git"), world.path("remote.git")).unwrap();
    let printed = scene.finish(0, run);
    assert_eq!(printed.exit, 0, "{printed:#?}");
    scene.is_merged_once(&["A"]);
}

#[test]
fn a_remote_that_protects_the_branch_is_reported_and_the_loop_ends() {
    if is_left_out(3) {
        return;
    }
    use std::os::unix::fs::PermissionsExt;
    let mut scene = Scene::new(1, WORKS);
    scene.share(&[("A", &[])], "test -f A");
    let text = "#!/bin/sh\ncase $1 in refs/heads/ralph/*) exit 1;; esac\n";
    let hook = scene.machines[0].write("remote.git/hooks/update", text);
    std::fs::set_permissions(hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let printed = scene.run(0, &[]);
    assert_eq!(printed.exit, 0, "{printed:#?}");
    let told = "the remote does not take `refs/heads/ralph/[LOOP]`";
    assert!(printed.stderr.contains(told), "{printed:#?}");
    assert!(!printed.stdout.contains("git fetch"), "{printed:#?}");
    scene.is_merged_once(&["A"]);
}

#[test]
fn as_many_rounds_as_were_asked_for_claim_no_more_tasks() {
    if is_left_out(3) {
        return;
    }
    let mut scene = Scene::new(1, WORKS);
    scene.share(&[("A", &[]), ("B", &[]), ("C", &[])], "test -f A");
    let printed = scene.run(0, &["--workers", "1", "-n", "1"]);
    assert_eq!(printed.exit, 1, "{printed:#?}");
    assert!(printed.stdout.contains("as many rounds as were asked for"), "{printed:#?}");
    let view = scene.place(0).read().unwrap();
    assert_eq!(view.chains.len(), 1, "one task was claimed");
    assert_eq!(view.finishes().len() + view.ledger.merged.len(), 1, "and finished");
    let printed = scene.run(0, &[]);
    assert_eq!(printed.exit, 0, "{printed:#?}");
    scene.is_merged_once(&["A", "B", "C"]);
}

#[test]
fn an_interrupted_run_hands_in_what_is_done_and_gives_the_lease_back() {
    if is_left_out(3) {
        return;
    }
    let mut scene = Scene::new(1, "echo $id >$id; await go; closes; ends");
    scene.share(&[("A", &[]), ("B", &["A"])], "test -f B");
    let run = scene.begin(0, &[]);
    wait_for("the client", || called(&scene.machines[0], "A", 1));
    signal(&run, "-INT");
    open(&scene.machines[0], "go");
    let printed = scene.finish(0, run);
    assert_eq!(printed.exit, 130, "{printed:#?}");
    assert!(printed.stdout.contains("`ralph run --shared` continues"), "{printed:#?}");
    let view = scene.place(0).read().unwrap();
    assert_eq!(view.finishes().len(), 1);
    let printed = scene.run(0, &[]);
    assert_eq!(printed.exit, 0, "{printed:#?}");
    scene.is_merged_once(&["A", "B"]);
}

#[test]
fn the_bound_on_pushes_is_kept_and_reported() {
    if is_left_out(3) {
        return;
    }
    let mut scene = Scene::new(1, WORKS);
    scene.machines[0].set_user("[shared]\npoll_seconds = 1\npushes_per_minute = 1\n");
    scene.share(&[("A", &[])], "test -f A");
    let run = scene.begin(0, &["--max-minutes", "1"]);
    wait_for("the claim and the work", || called(&scene.machines[0], "A", 1));
    wait_for("the report", || scene.journal(0).contains("at most 1 push a minute for 1 machine"));
    signal(&run, "-INT");
    scene.finish(0, run);
}
