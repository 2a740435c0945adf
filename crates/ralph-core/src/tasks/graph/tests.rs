use super::render::Show;
use super::*;
use jiff::SignedDuration;
use serde_json::json;

/// Builds a graph from lines such as `T-2 in_progress after T-1`; a plain `T-1` is pending.
pub(in crate::tasks) fn graph(lines: &str) -> Vec<Task> {
    lines.lines().map(str::trim).filter(|line| !line.is_empty()).map(task).collect()
}

fn task(line: &str) -> Task {
    let (head, deps) = line.split_once(" after ").unwrap_or((line, ""));
    let (id, status) = head.split_once(' ').unwrap_or((head, "pending"));
    Task {
        id: id.to_owned(),
        name: format!("do {id}"),
        deps: deps.split_whitespace().map(str::to_owned).collect(),
        status: status.to_owned().into(),
        ..Task::default()
    }
}

pub(super) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn lease(owner: &str, seconds: i64) -> Lease<'_> {
    Lease { owner, length: Some(SignedDuration::from_secs(seconds)) }
}

fn take(tasks: &mut [Task], which: ClaimTarget, owner: &str, now: i64) -> Result<String, String> {
    claim(tasks, which, lease(owner, 60), at(now))
        .map(|claim| claim.task.id)
        .map_err(|refused| refused.to_string())
}

#[track_caller]
fn check_ready(lines: &str, expected: &[&str]) {
    let tasks = graph(lines);
    let ids: Vec<_> = ready(&tasks, at(0)).iter().map(|task| task.id.as_str()).collect();
    assert_eq!(ids, expected, "{lines}");
}

#[track_caller]
fn check_claim(lines: &str, id: &str, expected: &str) {
    let mut tasks = graph(lines);
    let before = tasks.clone();
    let refused = take(&mut tasks, ClaimTarget::Id(id), "me", 0).expect_err(lines);
    assert_eq!(refused, expected, "{lines}");
    assert_eq!(tasks, before, "a refused claim changes nothing");
}

#[track_caller]
fn check_flaws(lines: &str, expected: &[&str]) {
    let flaws: Vec<_> = lint(&graph(lines)).iter().map(GraphFlaw::to_string).collect();
    assert_eq!(flaws, expected, "{lines}");
}

#[test]
fn a_task_is_ready_when_all_it_depends_on_is_done() {
    check_ready("T-1\nT-2 after T-1\nT-3", &["T-1", "T-3"]);
    check_ready("T-1 done\nT-2 after T-1\nT-3 after T-1 T-2", &["T-2"]);
    check_ready("T-1 failed\nT-2 after T-1\nT-3 blocked", &[]);
    check_ready("T-1 after T-9", &[]);
    check_ready("T-1 someday\nT-2 after T-1", &[]);
    check_ready("", &[]);
}

#[test]
fn the_current_task_is_the_one_under_way_else_the_first_that_is_ready() {
    let current = |lines: &str| {
        let tasks = graph(lines);
        let found = Graph::new(&tasks, at(0)).current().map(|task| task.id.clone());
        (found, ready(&tasks, at(0)).first().map(|task| task.id.clone()))
    };
    let ids = |current: Option<&str>, ready: Option<&str>| {
        (current.map(str::to_owned), ready.map(str::to_owned))
    };
    assert_eq!(current("T-1 done\nT-2\nT-3 in_progress"), ids(Some("T-3"), Some("T-2")));
    assert_eq!(current("T-1 done\nT-2\nT-3"), ids(Some("T-2"), Some("T-2")));
    assert_eq!(current("T-1 done\nT-2 blocked"), ids(None, None));
}

#[test]
fn a_graph_without_tasks_is_not_all_done() {
    assert!(!summary(&[], at(0)).all_done());
    assert!(!summary(&graph("T-1 done\nT-2"), at(0)).all_done());
    assert!(summary(&graph("T-1 done\nT-2 done"), at(0)).all_done());
}

#[test]
fn a_claim_is_refused_with_its_reason() {
    check_claim(
        "T-1\nT-3 after T-1",
        "T-3",
        "T-3 waits for T-1, which is pending; finish T-1 first",
    );
    check_claim("T-1", "T-2", "there is no task `T-2`; `ralph task list --all` shows them");
    check_claim("T-1 done", "T-1", "T-1 is already done");
    check_claim(
        "T-1 failed",
        "T-1",
        "T-1 is failed; `ralph task release T-1` makes it pending again",
    );
    check_claim(
        "T-1 after T-9",
        "T-1",
        "T-1 waits for T-9, which does not exist; add it, or take it out of T-1's deps",
    );
}

#[test]
fn when_no_task_is_ready_the_refusal_says_where_they_are() {
    let next = |lines| take(&mut graph(lines), ClaimTarget::Next, "me", 0).unwrap_err();
    assert_eq!(next(""), "there are no tasks; `ralph task add NAME` adds one");
    assert_eq!(next("T-1 done\nT-2 done"), "no open task: 2 of 2 tasks done");
    assert_eq!(
        next("T-1 done\nT-2 in_progress\nT-3 after T-2\nT-4 blocked\nT-5 failed"),
        "no ready task: 1 of 5 tasks done, 1 in progress, 1 waiting for others, 1 blocked, 1 failed"
    );
    assert_eq!(next("T-1 blocked"), "no ready task: 0 of 1 task done, 1 blocked");
}

#[test]
fn a_claimed_task_is_held_until_its_lease_runs_out() {
    let mut tasks = graph("T-1");
    assert_eq!(take(&mut tasks, ClaimTarget::Next, "a", 0), Ok("T-1".to_owned()));
    let refused = take(&mut tasks, ClaimTarget::Id("T-1"), "b", 59).unwrap_err();
    assert_eq!(refused, "T-1 is claimed by a until 1970-01-01T00:01:00Z; take another task");
    assert_eq!(take(&mut tasks, ClaimTarget::Next, "b", 60), Ok("T-1".to_owned()));
    assert_eq!((tasks[0].owner.as_deref(), tasks[0].attempts), (Some("b"), 2));
}

#[test]
fn a_claim_without_a_lease_does_not_run_out() {
    let mut tasks = graph("T-1");
    claim(&mut tasks, ClaimTarget::Next, Lease { owner: "a", length: None }, at(0)).unwrap();
    let refused = take(&mut tasks, ClaimTarget::Id("T-1"), "b", i64::from(u32::MAX)).unwrap_err();
    assert_eq!(refused, "T-1 is claimed by a; take another task, or `ralph task release T-1`");
}

#[test]
fn claiming_again_what_one_holds_renews_it_without_another_attempt() {
    let mut tasks = graph("T-1");
    take(&mut tasks, ClaimTarget::Next, "a", 0).unwrap();
    take(&mut tasks, ClaimTarget::Id("T-1"), "a", 30).unwrap();
    assert_eq!((tasks[0].attempts, tasks[0].lease_expires_at), (1, Some(at(90))));
    take(&mut tasks, ClaimTarget::Id("T-1"), "a", 90).unwrap();
    assert_eq!(tasks[0].attempts, 2, "it had run out");
    tasks[0].status = TaskStatus::Pending;
    take(&mut tasks, ClaimTarget::Id("T-1"), "a", 91).unwrap();
    assert_eq!(tasks[0].attempts, 3, "it was given back");
    let nobody = take(&mut tasks, ClaimTarget::Next, " ", 0).unwrap_err();
    assert_eq!(nobody, "the owner is missing; say it in words");
}

#[test]
fn a_claim_brings_what_came_of_the_tasks_before_it() {
    let mut tasks = graph("T-1\nT-2 done\nT-3 after T-2 T-1");
    done(&mut tasks, "T-1", None, Some("wrote a.rs".to_owned())).unwrap();
    let claim = claim(&mut tasks, ClaimTarget::Next, lease("a", 60), at(0)).unwrap();
    let findings: Vec<_> =
        claim.findings.iter().map(|one| (one.id.as_str(), one.result.as_deref())).collect();
    assert_eq!(findings, [("T-2", None), ("T-1", Some("wrote a.rs"))]);
}

#[test]
fn a_worker_keeps_what_nobody_else_has_taken() {
    let mut tasks = graph("T-1\nT-2");
    take(&mut tasks, ClaimTarget::Id("T-1"), "a", 0).unwrap();
    renew(&mut tasks, "T-1", lease("a", 60), at(100)).unwrap();
    assert_eq!(tasks[0].lease_expires_at, Some(at(160)));
    take(&mut tasks, ClaimTarget::Id("T-1"), "b", 200).unwrap();
    let refused = renew(&mut tasks, "T-1", lease("a", 60), at(201)).unwrap_err();
    assert!(refused.to_string().starts_with("T-1 is claimed by b"), "{refused}");
    let refused = renew(&mut tasks, "T-2", lease("a", 60), at(0)).unwrap_err();
    assert_eq!(refused.to_string(), "T-2 is not claimed; `ralph task claim T-2` first");
}

#[test]
fn a_worker_cannot_close_what_another_has_taken_over() {
    let mut tasks = graph("T-1");
    take(&mut tasks, ClaimTarget::Next, "a", 0).unwrap();
    take(&mut tasks, ClaimTarget::Next, "b", 60).unwrap();
    assert!(done(&mut tasks, "T-1", Some("a"), None).is_err());
    assert!(stop_work(&mut tasks, "T-1", Some("a"), "late", TaskStatus::Failed).is_err());
    done(&mut tasks, "T-1", Some("b"), Some("ok".to_owned())).unwrap();
    assert_eq!((&tasks[0].status, tasks[0].owner.as_deref()), (&TaskStatus::Done, Some("b")));
}

#[test]
fn a_task_is_not_done_before_those_it_depends_on() {
    let mut tasks = graph("T-1\nT-2 after T-1");
    let refused = done(&mut tasks, "T-2", None, None).unwrap_err();
    assert_eq!(refused.to_string(), "T-2 waits for T-1, which is pending; finish T-1 first");
}

#[test]
fn a_failed_or_blocked_task_needs_a_reason_and_can_be_released() {
    let mut tasks = graph("T-1\nT-2");
    assert_eq!(
        stop_work(&mut tasks, "T-1", None, " ", TaskStatus::Failed).unwrap_err().to_string(),
        "the reason is missing; say it in words"
    );
    stop_work(&mut tasks, "T-1", None, "no such API", TaskStatus::Failed).unwrap();
    stop_work(&mut tasks, "T-2", None, "needs a key", TaskStatus::Blocked).unwrap();
    assert_eq!(
        summary(&tasks, at(0)),
        TaskSummary { total: 2, failed: 1, blocked: 1, ..TaskSummary::default() }
    );
    release(&mut tasks, "T-1").unwrap();
    release(&mut tasks, "T-2").unwrap();
    assert_eq!(tasks[0].result.as_deref(), Some("no such API"), "the next worker learns of it");
    assert_eq!(ready(&tasks, at(0)).len(), 2);
    done(&mut tasks, "T-1", None, None).unwrap();
    assert_eq!(release(&mut tasks, "T-1").unwrap_err().to_string(), "T-1 is already done");
}

#[test]
fn a_new_task_takes_the_next_free_id() {
    let mut tasks = graph("T-1\nT-7 done\nsetup");
    let new = |name: &str| NewTask { name: name.to_owned(), ..NewTask::default() };
    assert_eq!(add(&mut tasks, new("a")), Ok("T-8".to_owned()));
    assert_eq!(
        add(
            &mut tasks,
            NewTask { id: Some("x".to_owned()), deps: vec!["T-8".to_owned()], ..new("b") }
        ),
        Ok("x".to_owned())
    );
    assert_eq!(tasks.last().unwrap().deps, ["T-8"]);
    let full = NewTask {
        completion_condition: "it builds".to_owned(),
        files: vec!["a.rs".to_owned()],
        ..new(" c ")
    };
    assert_eq!(add(&mut tasks, full), Ok("T-9".to_owned()));
    let expected = Task {
        id: "T-9".to_owned(),
        name: "c".to_owned(),
        completion_condition: "it builds".to_owned(),
        files: vec!["a.rs".to_owned()],
        ..Task::default()
    };
    assert_eq!(tasks.last(), Some(&expected));
}

#[test]
fn a_task_that_would_break_the_graph_is_not_added() {
    let mut tasks = graph("T-1\nT-2 after T-9");
    let mut refused = |id: &str, name: &str, deps: &[&str]| {
        let new = NewTask {
            id: Some(id.to_owned()),
            name: name.to_owned(),
            deps: deps.iter().map(|dep| (*dep).to_owned()).collect(),
            ..NewTask::default()
        };
        add(&mut tasks, new).unwrap_err().to_string()
    };
    assert_eq!(refused("T-1", "a", &[]), "T-1 is the id of two tasks; rename one");
    assert_eq!(
        refused("T-3", "a", &["T-8"]),
        "T-3 depends on T-8, which does not exist; add that task or remove the dependency"
    );
    assert_eq!(refused("T-3", "a", &["T-3"]), "T-3 depends on itself; remove that dependency");
    assert_eq!(refused("T-3", " ", &[]), "the task's name is missing; say it in words");
    assert_eq!(refused(" ", "a", &[]), "task 3 has no id; give it one");
    assert_eq!(
        refused("T-9", "a", &["T-2"]),
        "T-2 → T-9 → T-2 is a dependency cycle; remove one dependency"
    );
    assert_eq!(tasks.len(), 2);
}

#[test]
fn new_dependencies_must_not_close_a_circle() {
    let mut tasks = graph("T-1\nT-2 after T-1\nT-3 after T-2");
    let refused = depend(&mut tasks, "T-1", vec!["T-3".to_owned()]).unwrap_err().to_string();
    assert_eq!(refused, "T-1 → T-3 → T-2 → T-1 is a dependency cycle; remove one dependency");
    assert!(tasks[0].deps.is_empty());
    depend(&mut tasks, "T-3", vec!["T-1".to_owned()]).unwrap();
    assert_eq!(tasks[2].deps, ["T-1"]);
}

#[test]
fn every_flaw_of_a_graph_is_named() {
    check_flaws("T-1\nT-2 after T-1", &[]);
    check_flaws(
        "T-1 after T-9\nT-1 after T-1",
        &[
            "T-1 depends on T-9, which does not exist; add that task or remove the dependency",
            "T-1 is the id of two tasks; rename one",
        ],
    );
    check_flaws("T-1 after T-1", &["T-1 depends on itself; remove that dependency"]);
    check_flaws(
        "T-0 after T-1\nT-1 after T-2\nT-2 after T-3\nT-3 after T-1",
        &["T-1 → T-2 → T-3 → T-1 is a dependency cycle; remove one dependency"],
    );
    check_flaws("a after b\nb after b", &["b depends on itself; remove that dependency"]);
    let nameless = Task { id: "T-1".to_owned(), ..Task::default() };
    assert_eq!(lint(&[nameless, Task::default()]).len(), 3);
    let flaws = lint_with_places(&[task("a"), Task { id: " ".to_owned(), ..task("b") }]);
    let what = "task 2 has no id; give it one".to_owned();
    assert_eq!(flaws, [(1, GraphFlaw { member: "id", what })]);
}

#[test]
fn of_many_circles_only_so_many_are_named() {
    let on_itself: String = (0..25).map(|n| format!("t{n} after t{n}\n")).collect();
    let through_the_first: String =
        (0..25).map(|n| format!("t{n} after t{} t0\n", n + 1)).collect();
    for lines in [on_itself, format!("{through_the_first}t25 after t0")] {
        assert_eq!(lint(&graph(&lines)).len(), 20, "{lines}");
    }
}

#[test]
fn tasks_that_can_be_worked_on_together_form_a_wave() {
    let tasks = graph("a\nb after a\nc after a\nd after b c\ne after x\nf after g\ng after f");
    let waves: Vec<Vec<_>> = waves(&tasks)
        .iter()
        .map(|wave| wave.iter().map(|task| task.id.as_str()).collect())
        .collect();
    assert_eq!(waves, [vec!["a"], vec!["b", "c"], vec!["d"]]);
}

#[test]
fn ten_thousand_tasks_in_a_chain_or_a_circle_are_no_burden() {
    let mut tasks: Vec<Task> = (1..=10_000)
        .map(|n| task(&if n == 1 { "T-1".to_owned() } else { format!("T-{n} after T-{}", n - 1) }))
        .collect();
    assert_eq!(lint(&tasks), []);
    assert_eq!(waves(&tasks).len(), 10_000);
    assert_eq!(summary(&tasks, at(0)).waiting, 9_999);
    tasks[0].deps = vec!["T-10000".to_owned()];
    assert_eq!(lint::cycles(&tasks)[0].len(), 10_000);
}

#[test]
fn a_list_is_aligned_and_says_how_much_is_done() {
    let mut tasks = graph("T-1 done\nT-10\nT-2 after T-10\nT-3");
    tasks[1].name = "write\nthe parser".to_owned();
    take(&mut tasks, ClaimTarget::Id("T-3"), "ann", 0).unwrap();
    assert_eq!(
        render::text(&tasks, Show::Open, at(1)),
        "T-10  ready        write the parser\n\
         T-2   waiting      do T-2  (after T-10)\n\
         T-3   in progress  do T-3  (by ann)\n\
         1 of 4 tasks done\n"
    );
    assert!(render::text(&tasks, Show::All, at(1)).starts_with("T-1   done"));
    assert_eq!(render::text(&[], Show::All, at(0)), "");
}

#[test]
fn markdown_has_a_box_for_each_task_and_all_that_a_planner_asks_for() {
    let mut tasks = graph("T-1 done\nT-2 after T-1\nT-3 failed\nT-4 after T-3\nT-5\nT-6 resting");
    tasks[0].result = Some("built a.rs\nand b.rs".to_owned());
    tasks[1].completion_condition = "it builds".to_owned();
    tasks[1].files = vec!["a.rs".to_owned(), "b.rs".to_owned()];
    tasks[2].result = Some("no disk".to_owned());
    tasks[5].name = "rêve  de".to_owned();
    take(&mut tasks, ClaimTarget::Id("T-5"), "ann", 0).unwrap();
    assert_eq!(
        render::markdown(&tasks, Show::All, at(0)),
        "- [x] **T-1** do T-1 (done)\n  - result: built a.rs and b.rs\n\
         - [ ] **T-2** do T-2 (ready)\n  - after: T-1\n  - done when: it builds\n  - files: `a.rs`, `b.rs`\n\
         - [ ] **T-3** do T-3 (failed)\n  - failed because: no disk\n\
         - [ ] **T-4** do T-4 (waiting)\n  - after: T-3\n\
         - [ ] **T-5** do T-5 (in progress by ann)\n\
         - [ ] **T-6** rêve  de (resting)\n"
    );
    assert_eq!(render::markdown(&[], Show::All, at(0)), "");
}

#[test]
fn json_tells_where_each_task_stands() {
    let tasks = graph("T-1 done\nT-2 after T-1");
    let document = render::json(&tasks, Show::Open, at(0));
    assert_eq!(document["tasks"][0]["id"], "T-2");
    assert_eq!(document["tasks"][0]["standing"], "ready");
    assert_eq!(document["summary"]["done"], 1);
    assert_eq!(render::json(&[], Show::All, at(0))["tasks"], json!([]));
}

/// A small generator with a fixed seed, so that a failure can be reproduced.
pub(in crate::tasks) struct Dice(pub(in crate::tasks) u64);

impl Dice {
    pub(in crate::tasks) fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }
}

#[test]
fn no_sequence_of_changes_makes_a_circle_or_hands_out_a_task_too_early() {
    for seed in 1..=50_u64 {
        let mut dice = Dice(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed));
        let mut tasks = Vec::new();
        for step in 0..60 {
            change_at_random(&mut tasks, &mut dice, at(step * 10));
            assert_eq!(lint(&tasks), [], "seed {seed}, step {step}");
            let counts = summary(&tasks, at(step * 10));
            let parts = counts.done
                + counts.ready
                + counts.in_progress
                + counts.failed
                + counts.blocked
                + counts.waiting;
            assert_eq!(parts, counts.total, "seed {seed}, step {step}");
        }
    }
}

fn change_at_random(tasks: &mut Vec<Task>, dice: &mut Dice, now: Timestamp) {
    let id = format!("T-{}", dice.roll(12) + 1);
    let deps: Vec<String> = (0..dice.roll(4)).map(|_| format!("T-{}", dice.roll(12) + 1)).collect();
    let owner = ["a", "b", "c"][dice.roll(3)];
    match dice.roll(8) {
        0 | 1 => {
            let given = (dice.roll(2) == 0).then_some(id);
            let _ =
                add(tasks, NewTask { id: given, name: "n".to_owned(), deps, ..NewTask::default() });
        }
        2 => _ = depend(tasks, &id, deps),
        3 | 4 => claim_and_check(tasks, dice, &id, owner, now),
        5 => _ = done(tasks, &id, Some(owner), None),
        6 => _ = stop_work(tasks, &id, Some(owner), "why", TaskStatus::Failed),
        _ => _ = release(tasks, &id),
    }
}

fn claim_and_check(tasks: &mut [Task], dice: &mut Dice, id: &str, owner: &str, now: Timestamp) {
    let which = if dice.roll(2) == 0 { ClaimTarget::Next } else { ClaimTarget::Id(id) };
    let before = tasks.to_vec();
    let Ok(claim) = claim(tasks, which, lease(owner, 25), now) else {
        assert_eq!(tasks, before, "a refused claim changes nothing");
        return;
    };
    let old = before.iter().find(|task| task.id == claim.task.id).unwrap();
    let held = old.status == TaskStatus::InProgress && old.lease_expires_at.unwrap() > now;
    assert!(!held || old.owner.as_deref() == Some(owner), "it was taken from {:?}", old.owner);
    for dependency in claim.task.deps.iter().filter(|_| !held) {
        let dependency = before.iter().find(|task| task.id == *dependency).unwrap();
        assert_eq!(dependency.status, TaskStatus::Done);
    }
}

#[test]
fn a_task_is_reopened_until_its_attempts_are_used_up() {
    for (attempts, status, expected) in [
        (2, TaskStatus::Pending, "T-1 is ready again"),
        (3, TaskStatus::Failed, "T-1 is given up after 3 rounds"),
        (4, TaskStatus::Failed, "T-1 is given up after 4 rounds"),
    ] {
        let mut task = task("T-1 in_progress");
        (task.owner, task.lease_expires_at) = (Some("me".to_owned()), Some(at(9)));
        task.attempts = attempts;
        assert_eq!(reopen(&mut task, "it is red", "rounds"), expected);
        assert_eq!((task.status, task.owner, task.lease_expires_at), (status, None, None));
        assert_eq!(task.result.as_deref(), Some("it is red"));
    }
}

#[test]
fn each_refusal_says_what_to_do() {
    let id = || "T-2".to_owned();
    let waits = |status| TaskError::Waits { id: id(), on: "T-1".to_owned(), status };
    let held = |until| TaskError::Held { id: id(), owner: "bob".to_owned(), until };
    let closed = |status| TaskError::Closed { id: id(), status };
    for (error, expected) in [
        (
            TaskError::NoSuchTask { id: id() },
            "there is no task `T-2`; `ralph task list --all` shows them",
        ),
        (waits(Some(TaskStatus::Failed)), "T-2 waits for T-1, which is failed; finish T-1 first"),
        (
            waits(None),
            "T-2 waits for T-1, which does not exist; add it, or take it out of T-2's deps",
        ),
        (held(Some(at(60))), "T-2 is claimed by bob until 1970-01-01T00:01:00Z; take another task"),
        (held(None), "T-2 is claimed by bob; take another task, or `ralph task release T-2`"),
        (TaskError::NotHeld { id: id() }, "T-2 is not claimed; `ralph task claim T-2` first"),
        (closed(TaskStatus::Done), "T-2 is already done"),
        (
            closed(TaskStatus::Blocked),
            "T-2 is blocked; `ralph task release T-2` makes it pending again",
        ),
        (TaskError::Missing { what: "the reason" }, "the reason is missing; say it in words"),
    ] {
        assert_eq!(error.to_string(), expected);
    }
    let words = [
        TaskReadiness::Ready,
        TaskReadiness::Waiting,
        TaskReadiness::InProgress,
        TaskReadiness::Done,
        TaskReadiness::Failed,
        TaskReadiness::Blocked,
        TaskReadiness::Unknown,
    ];
    assert_eq!(
        words.map(TaskReadiness::word),
        ["ready", "waiting", "in progress", "done", "failed", "blocked", "unknown"]
    );
}
