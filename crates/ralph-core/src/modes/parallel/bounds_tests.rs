//! What is said about workers, their reports and their worktrees, each in whole.

use super::clean::{Stays, WorktreeState, command, stays};
use super::headless_worker::{self, Begin, End, branch_folders, names};
use super::merge::{self, MergeOutcome};
use super::report::{self, WorkerReport, WorkerVerdict, judge};
use super::tests::{NOW, loop_of, work};
use super::*;
use crate::state::{LoopState, TaskStatus, Tokens, WorkerStanding};
use jiff::SignedDuration;
use std::path::Path;

fn words(all: &[&str]) -> Vec<String> {
    all.iter().map(|one| (*one).to_owned()).collect()
}

#[test]
fn a_worker_is_known_with_and_without_the_plugins_prefix() {
    for (kind, expected) in [
        ("ralph-worker", true),
        ("ralph:ralph-worker", true),
        ("worker", false),
        ("ralph:ralph:ralph-worker", false),
        ("", false),
    ] {
        assert_eq!(is_worker(kind), expected, "{kind}");
    }
    let mut state = loop_of(&[("T-1", &[], &[])]);
    assert_eq!(reopen(&mut state, "T-9", "x"), "");
    assert_eq!(reopen(&mut state, "T-1", "x"), "T-1 is ready again: x");
}

#[test]
fn each_outcome_of_a_merge_has_its_word_and_its_reason() {
    let files = |n: usize| (0..n).map(|at| format!("f{at}")).collect::<Vec<_>>();
    let turned = |criteria: &[&str]| MergeOutcome::TurnedRed {
        criteria: words(criteria),
        tail: String::new(),
    };
    for (outcome, word, kept_out) in [
        (MergeOutcome::Merged { merge: "m".into() }, "merged", None),
        (MergeOutcome::Nothing, "nothing to merge", None),
        (
            MergeOutcome::Conflict { files: files(2) },
            "conflict",
            Some("it conflicts with what was merged before, in `f0`, `f1`"),
        ),
        (
            MergeOutcome::Conflict { files: files(12) },
            "conflict",
            Some(
                "it conflicts with what was merged before, in `f0`, `f1`, `f2`, `f3`, `f4`, `f5`, `f6`, \
                 `f7`, `f8`, `f9` and 2 more",
            ),
        ),
        (turned(&["AC-1"]), "turned red", Some("with it AC-1 does not hold any more")),
        (turned(&["AC-1", "AC-2"]), "turned red", Some("with it AC-1, AC-2 do not hold any more")),
        (MergeOutcome::Unusable { why: "gone".into() }, "unusable", Some("gone")),
    ] {
        assert_eq!((outcome.as_str(), outcome.kept_out().as_deref()), (word, kept_out));
    }
    assert_eq!((merge::list(&files(0)), merge::list(&files(1))), (String::new(), "`f0`".into()));
    assert!(merge::list(&files(10)).ends_with("`f8`, `f9`"));
}

#[test]
fn the_messages_of_a_merge_name_the_task() {
    let mut state = loop_of(&[("T-1", &[], &[])]);
    state.task_graph[0].name = format!("first\nline {}", "x".repeat(100));
    let worker = |task: &str| Worker {
        task: task.to_owned(),
        about: "look around".to_owned(),
        ..Worker::default()
    };
    assert_eq!(
        merge::message(&state, &worker("T-1")),
        format!("Merge T-1: first line {}…", "x".repeat(88))
    );
    assert_eq!(merge::message(&state, &worker("T-9")), "Merge T-9: look around");
    assert_eq!(merge::message(&state, &worker("")), "Merge the work of a worker: look around");
    assert_eq!(merge::message_of_rest(&worker("T-1")), "T-1: what its worker did not commit");
    assert_eq!(merge::message_of_rest(&worker("")), "Worker: what its worker did not commit");
    for (task, expected) in [
        ("T-3", "T-3"),
        ("", "none"),
        ("a/b_c", "a_2f_b_5f_c"),
        ("é", "_e9_"),
        (&"a".repeat(101), &"a".repeat(100)),
    ] {
        assert_eq!(merge::ref_part(task), expected, "{task}");
    }
    for (path, expected) in [
        ("a/.env", true),
        ("vendor", true),
        (".claude/x/.env", false),
        ("a/.claude/vendor", true),
        ("vendors", false),
        ("..", false),
    ] {
        assert_eq!(merge::is_needed(Path::new(path)), expected, "{path}");
    }
}

#[test]
fn only_what_is_left_to_merge_is_due() {
    let due = |change: &dyn Fn(&mut Worker), named: &[&str]| {
        let mut state = loop_of(&[("T-1", &[], &[])]);
        work(&mut state, "T-1", WorkerStanding::Partial);
        change(&mut state.workers[0]);
        merge::due(&state, &words(named)).map(|due| due.len())
    };
    let nothing = || Err("no worker has left work on T-1 that is not merged".to_owned());
    assert_eq!((due(&|_| (), &["T-1"]), due(&|_| (), &[])), (Ok(1), Ok(0)));
    assert_eq!(due(&|worker| worker.files.clear(), &["T-1"]), nothing());
    assert_eq!(due(&|worker| worker.merged = "m".into(), &["T-1"]), nothing());
    assert_eq!(due(&|worker| worker.kept_out = "x".into(), &["T-1"]), nothing());
    assert_eq!(due(&|worker| worker.standing = WorkerStanding::Lost, &["T-1"]), nothing());
    assert_eq!(
        due(&|_| (), &["T-9"]),
        Err("there is no task `T-9`; `ralph task list --all` lists them".to_owned())
    );
    // Work for no task comes last.
    let mut state = loop_of(&[("T-1", &[], &[])]);
    work(&mut state, "T-1", WorkerStanding::Done);
    let stranger = Worker { task: String::new(), ..state.workers[0].clone() };
    state.workers.insert(0, stranger);
    let order: Vec<&str> =
        merge::due(&state, &[]).unwrap().into_iter().map(|worker| worker.task.as_str()).collect();
    assert_eq!(order, ["T-1", ""]);
}

#[test]
fn a_merge_is_recorded_once_and_reopens_only_what_was_done() {
    let conflict = MergeOutcome::Unusable { why: "gone".into() };
    let recorded = |change: &dyn Fn(&mut LoopState), outcome: &MergeOutcome| {
        let mut state = loop_of(&[("T-1", &[], &[]), ("T-2", &[], &[])]);
        work(&mut state, "T-1", WorkerStanding::Done);
        state.task_graph[1].status = TaskStatus::Done;
        change(&mut state);
        let before = state.clone();
        let said = merge::record(&mut state, "call-T-1", "c", "h", outcome);
        let worker = state.workers[0].clone();
        (said, state == before, worker.commit, worker.merged, worker.kept_out)
    };
    let unchanged = |recorded: (Option<String>, bool, String, String, String)| {
        recorded.0.is_none() && recorded.1
    };
    assert_eq!(
        recorded(&|_| (), &conflict),
        (
            Some("T-1 is ready again: a worker's work was not merged: gone".to_owned()),
            false,
            "c".to_owned(),
            String::new(),
            "gone".to_owned()
        )
    );
    assert_eq!(
        recorded(&|_| (), &MergeOutcome::Nothing),
        (None, false, "c".to_owned(), "h".to_owned(), String::new())
    );
    assert!(unchanged(recorded(&|state| state.workers[0].merged = "m".into(), &conflict)));
    assert!(unchanged(recorded(&|state| state.workers[0].kept_out = "x".into(), &conflict)));
    assert!(unchanged(recorded(
        &|state| state.workers[0].standing = WorkerStanding::Running,
        &conflict
    )));
    let open = |state: &mut LoopState| state.task_graph[0].status = TaskStatus::Pending;
    assert_eq!(recorded(&open, &conflict).0, None, "another task that is done does not count");
    let mut none = loop_of(&[]);
    assert_eq!(merge::record(&mut none, "x", "c", "h", &conflict), None);
}

#[test]
fn each_worktree_that_stays_has_its_reason() {
    let all = || WorktreeState {
        is_running: true,
        kept_out: "it conflicts".to_owned(),
        locked: Some("by hand".to_owned()),
        ..WorktreeState::default()
    };
    for (seen, expected) in [
        (all(), "its worker is at work"),
        (WorktreeState { is_running: false, ..all() }, "it is locked: by hand"),
        (WorktreeState { is_running: false, locked: Some(String::new()), ..all() }, "it is locked"),
        (
            WorktreeState { is_running: false, locked: None, ..all() },
            "its work was kept out: it conflicts",
        ),
        (WorktreeState::default(), "its work is not merged"),
        (
            WorktreeState { merged: "m".into(), ..WorktreeState::default() },
            "it has changed since its work was merged",
        ),
        (
            WorktreeState {
                merged: "m".into(),
                differs: "a.rs".into(),
                ..WorktreeState::default()
            },
            "it has changed since its work was merged: a.rs",
        ),
        (
            WorktreeState {
                merged: "m".into(),
                is_as_merged: true,
                repositories: words(&["sub", "other"]),
                ..WorktreeState::default()
            },
            "`sub` in it is a repository of its own",
        ),
        (
            WorktreeState { merged: "m".into(), is_as_merged: true, ..WorktreeState::default() },
            "no branch has the commit by which it was merged",
        ),
    ] {
        assert_eq!(stays(&seen).as_ref().map(Stays::reason).as_deref(), Some(expected));
    }
    for (worktree, branch, is_locked, expected) in [
        ("/w", "b", false, "git worktree remove --force /w && git branch -D b"),
        ("/w", "b", true, "git worktree remove --force --force /w && git branch -D b"),
        ("/w", "", false, "git worktree remove --force /w"),
        ("", "b", false, "git branch -D b"),
        (
            "/a b",
            "x/y_z.1-2",
            false,
            "git worktree remove --force '/a b' && git branch -D x/y_z.1-2",
        ),
    ] {
        assert_eq!(command(worktree, branch, is_locked), expected);
    }
}

#[test]
fn the_names_of_a_worker_are_safe() {
    for (loop_id, task, attempt, expected) in [
        ("260131-ab12", "T-1", 1, ("ralph-ab12-T-1", "f/T-1")),
        ("260131-ab12", "T-1", 2, ("ralph-ab12-T-1-2", "f/T-1-2")),
        ("abc", " a/b é ", 1, ("ralph-abc-a-b", "f/a-b")),
        ("---", "...", 0, ("ralph-task-task", "f/task")),
        (
            "a_b",
            &"x".repeat(50),
            1,
            (&format!("ralph-a_b-{}", "x".repeat(40)), &format!("f/{}", "x".repeat(40))),
        ),
    ] {
        let (worktree, branch) = names(loop_id, "f", task, attempt);
        assert_eq!((worktree.as_str(), branch.as_str()), expected);
    }
    assert_eq!(branch_folders("a b"), ["ralph/a-b", "ralph/workers-a-b", "ralph-a-b"]);
}

#[test]
fn a_headless_worker_gets_what_is_left_and_uses_it_up() {
    let mut above = loop_of(&[("T-1", &[], &[]), ("T-2", &["T-1"], &[]), ("T-3", &[], &[])]);
    above.started_at = Some(NOW);
    above.limits.max_minutes = 10;
    above.limits.max_tokens = Some(100);
    above.usage.tokens = Tokens { input: 10, output: 20, ..Tokens::default() };
    (above.max_iterations, above.iteration, above.loop_id) = (25, 5, "L".to_owned());
    let begun = |above: &LoopState, seconds: i64, task: &str| {
        let now = NOW + SignedDuration::from_secs(seconds);
        headless_worker::begin(
            above,
            &Begin { task, session_id: "s", project_root: "/w", number: 3, now },
        )
    };
    let below = begun(&above, 61, "T-2").unwrap();
    assert_eq!(
        (below.limits.max_minutes, below.limits.max_tokens, below.max_iterations),
        (9, Some(70), 20)
    );
    let tasks: Vec<(&str, &TaskStatus, Option<&str>)> = below
        .task_graph
        .iter()
        .map(|task| (task.id.as_str(), &task.status, task.owner.as_deref()))
        .collect();
    assert_eq!(
        tasks,
        [
            ("T-1", &TaskStatus::Pending, None),
            ("T-2", &TaskStatus::InProgress, Some("ralph build"))
        ]
    );
    assert_eq!((below.parent.as_deref(), below.iteration), (Some("L"), 0));
    assert_eq!(begun(&above, 600, "T-2").unwrap().limits.max_minutes, 1, "at least one");
    above.iteration = 25;
    assert_eq!(begun(&above, 0, "T-2").unwrap().max_iterations, 1, "at least one");
    assert_eq!(begun(&above, 0, "T-9"), None);
    let used = |counted: u64, told: u64| {
        let mut above = loop_of(&[("T-1", &[], &[])]);
        (above.iteration, above.usage.tokens.output) = (3, 1);
        work(&mut above, "T-1", WorkerStanding::Running);
        let mut below = LoopState { iteration: 4, ..loop_of(&[("T-1", &[], &[])]) };
        below.usage.tokens.output = counted;
        let end = End {
            call: "call-T-1",
            state: Some(&below),
            changed: Ok(&[]),
            tokens: Tokens { input: told, ..Tokens::default() },
            why: "x",
        };
        headless_worker::end(&mut above, &end);
        (above.iteration, above.usage.tokens.input, above.usage.tokens.output)
    };
    assert_eq!((used(5, 4), used(5, 5), used(4, 5)), ((7, 0, 6), (7, 5, 1), (7, 5, 1)));
}

#[test]
fn the_report_of_a_headless_worker_counts_only_with_its_work() {
    let ended = |status: TaskStatus, declares: bool, changed: Result<&[String], &str>| {
        let files: &[&str] = if declares { &["a.rs"] } else { &[] };
        let mut above = loop_of(&[("T-1", &[], files)]);
        work(&mut above, "T-1", WorkerStanding::Running);
        let mut below = loop_of(&[("T-1", &[], files)]);
        below.task_graph[0].status = status;
        below.task_graph[0].result = Some("wrote it".to_owned());
        let end = End {
            call: "call-T-1",
            state: Some(&below),
            changed,
            tokens: Tokens::default(),
            why: "it crashed",
        };
        let said = headless_worker::end(&mut above, &end);
        (said, above.workers[0].standing.clone(), above.task_graph[0].status.clone())
    };
    let file = words(&["a.rs"]);
    let again = |why: &str| {
        (format!("T-1 is ready again: {why}"), WorkerStanding::Partial, TaskStatus::Pending)
    };
    let done = || ("T-1 done: wrote it".to_owned(), WorkerStanding::Done, TaskStatus::Done);
    assert_eq!(ended(TaskStatus::Done, true, Ok(&file)), done());
    assert_eq!(ended(TaskStatus::Done, false, Ok(&[])), done());
    assert_eq!(
        ended(TaskStatus::Done, true, Ok(&[])),
        again("a worker says that it is done, and nothing has changed")
    );
    assert_eq!(
        ended(TaskStatus::Done, true, Err("no git")),
        again("a worker says that it is done, and git cannot tell: no git")
    );
    assert_eq!(
        ended(TaskStatus::InProgress, true, Ok(&file)),
        again("a worker left it open: it crashed")
    );
    assert_eq!(
        ended(TaskStatus::Failed, true, Ok(&[])),
        ("T-1 failed: wrote it".to_owned(), WorkerStanding::Blocked, TaskStatus::Failed)
    );
    assert_eq!(
        ended(TaskStatus::Blocked, true, Err("x")),
        ("T-1 blocked: wrote it".to_owned(), WorkerStanding::Blocked, TaskStatus::Blocked)
    );
}

#[test]
fn a_report_says_all_that_is_wrong_with_it() {
    let whole = |status: &str, files: &str| {
        format!(
            "Status: {status}\nFiles changed: {files}\nTests: 3 passed\nCompletion condition: met\nNotes: n"
        )
    };
    let lacks =
        |label: &str| format!("The line `{label}:` is missing or empty; `none` is an answer.");
    assert_eq!(
        report::read("Status: MAYBE\nTests:"),
        Err(vec![
            lacks("Files changed"),
            lacks("Tests"),
            lacks("Completion condition"),
            lacks("Notes"),
            "`Status:` is one of DONE, PARTIAL and BLOCKED, and not `MAYBE`.".to_owned(),
        ])
    );
    assert_eq!(report::read("x").unwrap_err().len(), 5);
    let of = |status, files: &[&str]| WorkerReport {
        status,
        files: words(files),
        tests: "3 passed".into(),
        condition: "met".into(),
        notes: "n".into(),
    };
    assert_eq!(report::read(&whole("`done`.", "a.rs")), Ok(of(WorkerStanding::Done, &["a.rs"])));
    for (text, expected) in [
        ("none", vec![]),
        ("None.", vec![]),
        (
            "- a.rs: the parser\n* b.rs (new)\n`c d.rs` x, e.rs.",
            vec!["a.rs", "b.rs", "c d.rs", "e.rs"],
        ),
    ] {
        assert_eq!(report::paths(text), expected, "{text}");
    }
    let judged = |message: &str, real: Option<&[&str]>, declares: bool| {
        let mut state = loop_of(&[("T-1", &[], if declares { &["a.rs"] } else { &[] })]);
        work(&mut state, "T-1", WorkerStanding::Running);
        let real = real.map(words);
        let mut verdict = || judge(&mut state, 0, message, real.as_deref(), "/w/");
        let first = verdict();
        match first {
            WorkerVerdict::SendBack(why) => {
                let WorkerVerdict::Taken(taken) = verdict() else { panic!("sent back twice") };
                (Some(why), taken)
            }
            WorkerVerdict::Taken(taken) => (None, taken),
        }
    };
    let back = |wrong: &str| {
        Some(format!(
            "Your report does not hold. {wrong} Mend the work or the report, and end with the whole report \
             again."
        ))
    };
    let told = "met. Tests: 3 passed. Notes: n";
    let a = "/w/a.rs, ./b/";
    let real: &[&str] = &["a.rs", "b/c.rs"];
    assert_eq!(judged(&whole("DONE", a), Some(real), true), (None, format!("T-1 done: {told}")));
    assert_eq!(judged(&whole("DONE", a), None, true), (None, format!("T-1 done: {told}")));
    let nothing = "It says DONE, and in your worktree nothing has changed.";
    for (files, declares) in [("none", true), ("a.rs", false)] {
        assert_eq!(
            judged(&whole("DONE", files), Some(&[]), declares),
            (
                back(nothing),
                "T-1 is ready again: a worker got part of the way: it says DONE, and nothing has changed"
                    .to_owned()
            )
        );
    }
    assert_eq!(
        judged(&whole("DONE", "none"), Some(&[]), false),
        (None, format!("T-1 done: {told}"))
    );
    let wrong = "Named under `Files changed:` and not changed: `d.rs`. Changed and not named under `Files \
                 changed:`: `a.rs`, `b/c.rs`.";
    assert_eq!(
        judged(&whole("PARTIAL", "d.rs"), Some(real), true),
        (back(wrong), format!("T-1 is ready again: a worker got part of the way: {told}. {wrong}"))
    );
    assert_eq!(
        judged(&whole("BLOCKED", "none"), Some(&[]), true),
        (None, format!("T-1 blocked: {told}"))
    );
    let many: Vec<String> = (0..11).map(|at| format!("f{at}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let (sent, _) = judged(&whole("DONE", "none"), Some(&many), true);
    assert!(sent.unwrap().contains("`f8`, `f9` and 1 more."), "the eleventh is counted");
}

#[test]
fn the_next_step_of_a_session_is_told_in_whole() {
    use next::NextParallelStep as Step;
    let mut state = loop_of(&[("T-1", &[], &["a"]), ("T-2", &["T-1"], &["a", "b"])]);
    state.prompt = "the\ngoal".to_owned();
    state.task_graph[0].status = TaskStatus::Done;
    state.task_graph[0].result = Some("made a".to_owned());
    state.task_graph[1].result = Some("half\nof it".to_owned());
    state.via = Some(crate::state::Registration::Plugin);
    let Step::Start { calls } = next(&state, NOW) else { panic!() };
    assert_eq!(
        calls,
        [crate::modes::flow::AgentInput {
            description: "T-2 name of T-2".to_owned(),
            subagent_type: "ralph:ralph-worker".to_owned(),
            prompt: "Ralph task T-2\nDo: name of T-2\nDone when: T-2 is there\nFiles: a, b\n\
                     Before: half of it\nAfter T-1: made a\nPart of: the goal\nEnd with the report that \
                     your instructions ask for."
                .to_owned(),
            run_in_background: true,
        }]
    );
    let bare = Task { id: "T-9".into(), name: "x".into(), ..Task::default() };
    assert_eq!(
        prompt(&LoopState::default(), &bare),
        "Ralph task T-9\nDo: x\nEnd with the report that your instructions ask for."
    );
    for (text, expected) in [
        ("\n Ralph task T-2 \nDo: x", Some("T-2")),
        ("Ralph task  ", None),
        ("x\nRalph task T-2", None),
        ("", None),
    ] {
        assert_eq!(task_of(text), expected, "{text}");
    }
    let stuck = |status: TaskStatus, result: Option<&str>| {
        let mut state = loop_of(&[("T-1", &[], &[]), ("T-2", &["T-1"], &[])]);
        (state.task_graph[0].status, state.task_graph[0].result) =
            (status, result.map(str::to_owned));
        next(&state, NOW)
    };
    let why = |text: &str| Step::Stuck { why: vec![text.to_owned()] };
    assert_eq!(stuck(TaskStatus::Failed, Some("no key")), why("T-1 is failed: no key"));
    assert_eq!(stuck(TaskStatus::Blocked, None), why("T-1 is blocked: no word on why"));
    let waits = loop_of(&[("T-1", &["T-9"], &[])]);
    assert_eq!(
        next(&waits, NOW),
        why("1 of 1 task waits for tasks that do not exist or for each other: `ralph task lint`")
    );
    assert_eq!(next(&LoopState::default(), NOW), Step::NoTasks);
    // With all places taken nothing can be merged; with one free, what is done is.
    let mut busy = loop_of(&[("T-1", &[], &["a"]), ("T-2", &[], &["b"]), ("T-3", &[], &["a"])]);
    work(&mut busy, "T-1", WorkerStanding::Done);
    work(&mut busy, "T-2", WorkerStanding::Running);
    busy.limits.max_workers = 2;
    assert_eq!(next(&busy, NOW), Step::Merge { tasks: words(&["T-1"]) });
    busy.limits.max_workers = 1;
    assert_eq!(next(&busy, NOW), Step::Wait { workers: words(&["T-2"]) });
}

#[test]
fn a_refused_worker_is_told_why() {
    let mut state = loop_of(&[("T-1", &[], &["a"]), ("T-2", &["T-1"], &[]), ("T-3", &[], &["a"])]);
    work(&mut state, "T-1", WorkerStanding::Running);
    let asks = |state: &mut LoopState, prompt: &str, from_worker| {
        let asked =
            AgentCall { call: "new", kind: WORKER, prompt, about: "", from_worker, client: None };
        match grant(state, &asked, NOW) {
            Grant::Refused(why) => why,
            other => format!("{other:?}"),
        }
    };
    let next = "`ralph parallel next` prints the calls that can be made now.";
    assert_eq!(
        asks(&mut state, "Ralph task T-3", true),
        "A worker starts no workers. Do the task yourself."
    );
    assert_eq!(
        asks(&mut state, "do it", false),
        format!("The prompt of a ralph-worker begins with the line `Ralph task ID`. {next}")
    );
    assert_eq!(
        asks(&mut state, "Ralph task T-3", false),
        format!(
            "T-3 and T-1, which is at work or not merged, both change `a`. Start T-3 when T-1 is merged. {next}"
        )
    );
    state.task_graph[0].files.clear();
    state.workers[0].files.clear();
    assert_eq!(
        asks(&mut state, "Ralph task T-1", false),
        format!("A worker is doing T-1 already. {next}")
    );
    state.workers[0].standing = WorkerStanding::Done;
    state.workers[0].files = words(&["x"]);
    state.task_graph[0].status = TaskStatus::Done;
    assert_eq!(
        asks(&mut state, "Ralph task T-2", false),
        "T-2 needs the work of T-1, which is done and not merged: its worktree would not have it. Run \
         `ralph parallel merge` first."
    );
    state.limits.max_workers = 0;
    work_running(&mut state);
    assert_eq!(
        asks(&mut state, "Ralph task T-3", false),
        "1 of at most 1 worker is at work (other). End your turn and wait: you are woken when one ends, and \
         waiting costs nothing. Then start the next."
    );
    launched(&mut state, "other", "agent-7");
    assert_eq!(state.workers[1].agent, "agent-7");
    state.workers[1].task = "T-3".to_owned();
    state.task_graph[2].status = TaskStatus::InProgress;
    assert_eq!(
        lost(&mut state, |_| false),
        ["T-3 is ready again: its worker (other) ended without a report"]
    );
    assert_eq!(state.workers.len(), 1, "one without a worktree is forgotten");
}

fn work_running(state: &mut LoopState) {
    state.workers.push(Worker {
        call: "other".to_owned(),
        about: "other".to_owned(),
        ..Worker::default()
    });
}

#[test]
fn the_goal_of_a_typed_list_or_document_is_one_line() {
    use TaskSource::{Document, List, Planned};
    assert_eq!(Planned.goal(), None);
    assert_eq!(Document("a.md".into()).goal().as_deref(), Some("Carry out `a.md`"));
    assert_eq!(List(words(&["a", "b"])).goal().as_deref(), Some("Carry out: a; b"));
    for (text, expected) in [
        ("a.md", None),
        ("src/a", None),
        ("a.md,b", Some(vec!["a.md", "b"])),
        ("fix a.md", Some(vec!["fix a.md"])),
        ("word", Some(vec!["word"])),
        ("1,2 and 3, 4", Some(vec!["1,2 and 3", "4"])),
        ("1,a", Some(vec!["1", "a"])),
        ("a,1", Some(vec!["a", "1"])),
    ] {
        let found = super::work(Some(text), |_| false).ok();
        assert_eq!(found, expected.map(|items| List(words(&items))), "{text}");
    }
    assert_eq!(
        super::work(Some("a.md"), |_| false).unwrap_err(),
        "there is no file `a.md` in the project; name one that is there, or write the tasks with commas \
         between them"
    );
}
