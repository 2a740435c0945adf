use super::super::tests::{at, graph};
use super::*;

/// Lines from the text of a graph, numbered from 1.
fn lines(text: &str) -> Vec<TaskLine> {
    let numbered = graph(text).into_iter().enumerate();
    numbered.map(|(at, task)| TaskLine { number: at + 1, task }).collect()
}

/// Each task with its status and its dependencies.
fn shape(tasks: &[Task]) -> Vec<String> {
    let one = |task: &Task| format!("{} {} {}", task.id, task.status, task.deps.join(" "));
    tasks.iter().map(|task| one(task).trim_end().to_owned()).collect()
}

#[track_caller]
fn check(before: &str, wanted: &str, after: &[&str], diff: &str) {
    let before = graph(before);
    let synced = sync(&before, &lines(wanted), at(0)).unwrap();
    assert_eq!(shape(&synced.tasks), after, "{wanted}");
    assert_eq!(synced.diff.describe(), diff, "{wanted}");
    let again = sync(&synced.tasks, &lines(wanted), at(0)).unwrap();
    assert!(again.diff.is_empty(), "the same lines again change nothing: {:?}", again.diff);
    assert_eq!(again.tasks, synced.tasks);
}

#[track_caller]
fn check_refused(before: &str, wanted: &str, expected: &[&str]) {
    let flaws = sync(&graph(before), &lines(wanted), at(0)).unwrap_err();
    let flaws: Vec<_> =
        flaws.iter().map(|(number, flaw)| format!("line {number}: {flaw}")).collect();
    assert_eq!(flaws, expected, "{wanted}");
}

#[test]
fn a_first_sync_adds_everything() {
    check(
        "",
        "a\nb after a",
        &["a pending", "b pending a"],
        "2 added, 0 changed, 0 removed, 0 kept",
    );
}

#[test]
fn what_is_new_is_added_what_differs_is_changed_and_what_is_missing_is_removed() {
    check(
        "a\nb after a\nc",
        "a\nb\nd after b",
        &["a pending", "b pending", "d pending b"],
        "1 added, 1 changed, 1 removed, 1 kept",
    );
}

#[test]
fn a_done_task_stays_whatever_the_lines_hold() {
    check(
        "a done\nb after a\nc done",
        "b after a",
        &["a done", "b pending a", "c done"],
        "0 added, 0 changed, 0 removed, 3 kept",
    );
    check(
        "a done\nb",
        "a after b\nb",
        &["a done b", "b pending"],
        "0 added, 1 changed, 0 removed, 1 kept",
    );
    check("a done", "a in_progress", &["a done"], "0 added, 0 changed, 0 removed, 1 kept");
}

#[test]
fn a_task_that_somebody_works_on_is_not_taken_away_from_under_them() {
    let mut before = graph("a in_progress\nb in_progress\nc");
    for (task, end) in before.iter_mut().zip([10, 20]) {
        task.owner = Some("w".to_owned());
        task.lease_expires_at = Some(at(end));
    }
    let synced = sync(&before, &lines("c\nd after b"), at(10)).unwrap();
    assert_eq!(shape(&synced.tasks), ["b in_progress", "c pending", "d pending b"]);
    let [(id, why)] = synced.diff.stays.as_slice() else { panic!("{:?}", synced.diff) };
    assert_eq!((id.as_str(), why.as_str()), ("b", "claimed by w until 1970-01-01T00:00:20Z"));
    assert_eq!(synced.diff.removed.len(), 1, "the lease of a has run out");
    before[1].lease_expires_at = None;
    let synced = sync(&before, &lines("c"), at(10)).unwrap();
    assert_eq!(synced.diff.stays[0].1, "claimed by w");
}

#[test]
fn what_has_become_of_a_task_is_not_for_its_line_to_say() {
    let mut before = graph("a failed\nb in_progress\nc blocked");
    before[0].result = Some("no disk".to_owned());
    before[0].attempts = 2;
    before[1].owner = Some("w".to_owned());
    let mut wanted = lines("a done\nb done\nc pending\nd in_progress");
    for line in &mut wanted {
        line.task.name = "another".to_owned();
        line.task.owner = Some("thief".to_owned());
        line.task.result = Some("all well".to_owned());
        line.task.lease_expires_at = Some(at(9));
    }
    let synced = sync(&before, &wanted, at(0)).unwrap();
    assert_eq!(shape(&synced.tasks), ["a failed", "b in_progress", "c blocked", "d pending"]);
    assert_eq!((synced.tasks[0].result.as_deref(), synced.tasks[0].attempts), (Some("no disk"), 2));
    assert_eq!(synced.tasks[1].owner.as_deref(), Some("w"));
    assert_eq!((synced.tasks[3].owner.as_deref(), synced.tasks[3].lease_expires_at), (None, None));
    assert!(synced.tasks.iter().all(|task| task.name == "another"));
    assert_eq!(synced.diff.said_done, ["a", "b"]);
}

#[test]
fn what_a_task_that_stays_depends_on_stays_with_it() {
    let before = "a\nb after a\nc in_progress after b\nx";
    check(
        before,
        "d",
        &["a pending", "b pending a", "c in_progress b", "d pending"],
        "1 added, 0 changed, 1 removed, 3 kept",
    );
    let synced = sync(&graph(before), &lines("d"), at(0)).unwrap();
    assert_eq!(synced.diff.stays[0], ("a".to_owned(), "b depends on it".to_owned()));
}

#[test]
fn a_status_that_is_not_known_stays_and_can_come_back() {
    check(
        "a resting\nb",
        "b",
        &["a resting", "b pending"],
        "0 added, 0 changed, 0 removed, 2 kept",
    );
    check("a resting", "a resting", &["a resting"], "0 added, 0 changed, 0 removed, 1 kept");
    check_refused(
        "a resting",
        "a hiding\nb resting",
        &[
            "line 1: `hiding` is not a status; write `pending` or `done`, or omit it",
            "line 2: `resting` is not a status; write `pending` or `done`, or omit it",
        ],
    );
}

#[test]
fn the_order_of_the_lines_is_the_order_of_the_work() {
    check(
        "a\nb\nc done\nd",
        "d\nb\na",
        &["c done", "d pending", "b pending", "a pending"],
        "0 added, 0 changed, 0 removed, 4 kept, in another order",
    );
}

#[test]
fn each_member_that_differs_is_named_and_what_nobody_knows_stays() {
    let mut before = graph("a");
    before[0].extra.insert("estimate".to_owned(), "2h".into());
    let mut wanted = lines("a");
    assert!(sync(&before, &wanted, at(0)).unwrap().diff.is_empty());
    wanted[0].task.completion_condition = "it runs".to_owned();
    wanted[0].task.files = vec!["a.rs".to_owned()];
    wanted[0].task.extra.insert("colour".to_owned(), "red".into());
    let synced = sync(&before, &wanted, at(0)).unwrap();
    assert_eq!(synced.diff.changed[0].members, ["completion_condition", "files", "other members"]);
    let [task] = &synced.tasks[..] else { panic!("{:?}", synced.tasks) };
    assert_eq!(
        (task.completion_condition.as_str(), task.files.as_slice()),
        ("it runs", &["a.rs".to_owned()][..])
    );
    assert_eq!(task.extra.len(), 2);
}

#[test]
fn everything_that_is_wrong_is_named_by_its_line_and_nothing_is_changed() {
    check_refused(
        "gone\nold after gone",
        "a after b\nb after a\na\nc after c\nd after nowhere gone",
        &[
            "line 1: a → b → a is a dependency cycle; remove one dependency",
            "line 3: a is on line 1 already; leave one out, or rename it",
            "line 4: c depends on itself; remove that dependency",
            "line 5: d depends on nowhere, which does not exist; add that task or remove the \
             dependency",
            "line 5: d depends on gone, which has no line and would be removed; add its line, or \
             remove the dependency",
        ],
    );
    let nameless = [TaskLine { number: 7, task: Task::default() }];
    let flaws = sync(&[], &nameless, at(0)).unwrap_err();
    assert_eq!(flaws[0], (7, "no id; give the task a unique one".to_owned()));
    assert_eq!(flaws.len(), 2, "{flaws:?}");
}

#[test]
fn a_circle_through_a_task_that_stays_is_found_and_an_old_one_is_not_the_lines_fault() {
    check_refused(
        "a done after b\nb",
        "b after a",
        &["line 1: a → b → a is a dependency cycle; remove one dependency"],
    );
    check(
        "x done after y\ny done after x",
        "a",
        &["x done y", "y done x", "a pending"],
        "1 added, 0 changed, 0 removed, 2 kept",
    );
}

#[test]
fn of_two_tasks_with_one_id_a_line_means_the_first() {
    let before = graph("a\na done\nb\nb");
    let synced = sync(&before, &lines("a\nb"), at(0)).unwrap();
    assert_eq!(shape(&synced.tasks), ["a done", "a pending", "b pending"]);
}

/// A small generator with a fixed seed, so that a failure can be reproduced.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % sides as u64).unwrap()
    }

    /// Dependencies are mostly on earlier tasks that exist, and now and then on any id.
    fn graph(&mut self, statuses: &[&str]) -> Vec<Task> {
        let mut tasks: Vec<Task> = Vec::new();
        for id in 0..8 {
            if self.roll(3) == 0 {
                continue;
            }
            let mut deps = Vec::new();
            for _ in 0..self.roll(3) {
                deps.push(match (self.roll(12), tasks.len()) {
                    (0, _) | (_, 0) => format!("t{}", self.roll(8)),
                    (_, count) => tasks[self.roll(count)].id.clone(),
                });
            }
            tasks.push(Task {
                id: format!("t{id}"),
                name: format!("n{}", self.roll(2)),
                deps,
                status: statuses[self.roll(statuses.len())].to_owned().into(),
                ..Task::default()
            });
        }
        tasks
    }
}

#[test]
fn no_sync_loses_what_is_done_or_held_or_makes_an_unsound_graph() {
    let statuses = ["pending", "done", "in_progress", "failed", "blocked"];
    let mut counted = (0, 0);
    for seed in 1..=8_000 {
        let mut dice = Dice(seed);
        let before = dice.graph(&statuses);
        if !super::super::lint(&before).is_empty() {
            continue;
        }
        let wanted: Vec<TaskLine> = dice
            .graph(&["pending", "done"])
            .into_iter()
            .enumerate()
            .map(|(at, task)| TaskLine { number: at + 1, task })
            .collect();
        let Ok(synced) = sync(&before, &wanted, at(0)) else {
            counted.1 += 1;
            continue;
        };
        counted.0 += 1;
        assert_eq!(super::super::lint(&synced.tasks), [], "seed {seed}");
        let after = Graph::new(&synced.tasks, at(0));
        for old in &before {
            let now = after.get(&old.id);
            let is_safe = matches!(old.status, TaskStatus::Done | TaskStatus::InProgress);
            assert!(now.is_some() || !is_safe, "seed {seed}: {} is lost", old.id);
            assert!(now.is_none_or(|now| now.status == old.status), "seed {seed}: {}", old.id);
        }
        for line in &wanted {
            let now = after.get(&line.task.id).unwrap();
            assert_eq!((&now.name, &now.deps), (&line.task.name, &line.task.deps), "seed {seed}");
        }
        let counts = [synced.diff.added.len(), synced.diff.changed.len(), synced.diff.kept()];
        assert_eq!(counts.iter().sum::<usize>(), synced.tasks.len(), "seed {seed}");
    }
    assert!(counted.0 > 100 && counted.1 > 100, "{counted:?}");
}

#[test]
fn ten_thousand_lines_are_no_burden() {
    let text: String = (0..10_000).map(|n| format!("t{n} after t{}\n", n.max(1) - 1)).collect();
    let text = text.replacen("t0 after t0\n", "t0\n", 1);
    let synced = sync(&[], &lines(&text), at(0)).unwrap();
    assert_eq!(synced.diff.added.len(), 10_000);
    assert!(sync(&synced.tasks, &lines(&text), at(0)).unwrap().diff.is_empty());
}
