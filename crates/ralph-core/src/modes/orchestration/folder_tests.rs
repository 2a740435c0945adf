//! What a folder shows as a whole: its problems, its tasks and its attempts.

use super::agents::Mode;
use super::attempts;
use super::change::planning_of;
use super::files::OrchestrationFile;
use super::finding::{OrchestrationFinding, Weight};
use super::fixture::{SampleOrchestration, feedback, later, now, report, review, task};
use super::invocation::{Invocation, Running};
use super::machine::{Act, next};
use super::metadata::IterationMetadata;
use super::progress::{ProgressSection, Section, TaskEntry, TaskMark};
use super::recovery::{CallEnd, Tries};
use super::repair::repair;
use super::snapshot::Picture;
use super::state::State;
use super::validate::validate;
use super::waves::Outlook;
use crate::state::TaskStatus;

fn finding_texts(found: &[OrchestrationFinding]) -> Vec<String> {
    found.iter().map(|one| format!("{:?} {one}", one.weight)).collect()
}

#[test]
fn a_broken_folder_is_told_in_whole_worst_first() {
    let mut sample = SampleOrchestration::planned(&[("a", &["c"]), ("b", &["gone"]), ("c", &[])]);
    sample.file("tasks/d.md", &task("d", &[]));
    sample.progress().add(ProgressSection::Implementation, 1, &["lost", "late"]);
    sample.noted("a", "[/]", None);
    sample.noted("b", "[P]", None);
    sample.noted("c", "[C]", None);
    sample.noted("late", "[x]", None);
    sample.file("questions/risks.md", "- [x] a: why\n* [ ] x\n+ [P] b(\n- [?] c\n- x\n- []\n");
    sample.remove("plan.md");
    sample.file("iterations/1/feedbacks/s/feedbacks.md", &feedback(1));
    sample.file("iterations/2/feedbacks/s/app.log", "");
    sample.file("iterations/2/feedbacks/loose.txt", "");
    sample.file("iterations/4/feedbacks/s/feedbacks.md", &feedback(4));
    assert_eq!(
        finding_texts(&validate(&sample.seen)),
        [
            "Blocks iterations/1/feedbacks/s/feedbacks.md: it is for iteration 1, and the next is 2; move it \
             to `iterations/2/feedbacks/`",
            "Blocks iterations/2/feedbacks/loose.txt: it is in no batch; move it to \
             `iterations/2/feedbacks/<YYYYMMDD-hhmmss>/`",
            "Blocks iterations/2/feedbacks/s/feedbacks.md: it is missing, so the files beside it are ignored; \
             write the work to do into it",
            "Blocks iterations/4/feedbacks/s/feedbacks.md: it is for iteration 4, and the next is 2; move it \
             to `iterations/2/feedbacks/`",
            "Blocks progress.md: lost has no file; write `tasks/lost.md`",
            "Blocks tasks/a.md: a depends on c, which is cancelled; remove that dependency",
            "Blocks tasks/b.md: b depends on gone, which does not exist; add that task or remove the dependency",
            "Notice plan.md: it is missing; write the task into it",
            "Notice progress.md: a has no start time; write `(started: …)`",
            "Notice progress.md: b awaits review and has no report",
            "Notice questions/risks.md:1: write the status of a in `progress.md` only",
            "Notice questions/risks.md:3: write the status of b in `progress.md` only",
            "Notice tasks/d.md: d is missing in `progress.md` and counts as open",
        ]
    );
}

#[test]
fn what_an_iteration_needs_is_missed() {
    let mut sample = SampleOrchestration::planned(&[("a", &[])]);
    sample.metadata().iteration = Some(3);
    sample.render();
    sample.file("plan.iteration-2.md", "");
    assert_eq!(
        finding_texts(&validate(&sample.seen)),
        [
            "Invalid progress.md: the section `## Planning Progress (Iteration 3)` is missing",
            "Invalid progress.md: the section `## Implementation Progress (Iteration 3)` is missing",
            "Notice plan.iteration-1.md: it is missing, so the earlier plan is lost",
        ]
    );
    sample.remove("progress.md");
    sample.seen.files.remove("plan.iteration-2.md");
    assert_eq!(
        finding_texts(&validate(&sample.seen)),
        [
            "Invalid progress.md: it is missing",
            "Notice plan.iteration-1.md: it is missing, so the earlier plan is lost",
            "Notice plan.iteration-2.md: it is missing, so the earlier plan is lost",
        ]
    );
    let mut dated = SampleOrchestration::planned(&[("a", &[])]);
    dated.file("iterations/1/metadata.yaml", "iteration: 2\n");
    assert_eq!(
        finding_texts(&validate(&dated.seen)),
        [
            "Notice iterations/1/metadata.yaml: `started_at` is missing",
            "Notice iterations/1/metadata.yaml:1: write `iteration: 1`",
        ]
    );
    let mut bare = SampleOrchestration::planned(&[("a", &[])]);
    bare.remove("metadata.yaml");
    assert_eq!(
        finding_texts(&validate(&bare.seen)),
        ["Notice metadata.yaml: it is missing; the state is inferred from the other files"]
    );
}

#[test]
fn feedback_in_an_iteration_that_began_is_not_told() {
    let mut sample = SampleOrchestration::planned(&[("a", &[])]);
    sample.progress().start(2, planning_of(2), "Replanning", "N/A");
    sample.metadata().iteration = Some(2);
    sample.state(State::Batching);
    sample.file("plan.iteration-1.md", "");
    sample.file(
        "iterations/2/metadata.yaml",
        &IterationMetadata::default().render(2).replace("null", "x"),
    );
    sample.file("iterations/2/feedbacks/loose.txt", "");
    sample.file("iterations/2/feedbacks/s/app.log", "");
    assert_eq!(finding_texts(&validate(&sample.seen)), Vec::<String>::new());
    sample.file("iterations/1/feedbacks/loose.txt", "");
    sample.file("iterations/3/feedbacks/loose.txt", "");
    let in_no_batch = |of: u32, to: u32| {
        format!(
            "Blocks iterations/{of}/feedbacks/loose.txt: it is in no batch; move it to \
             `iterations/{to}/feedbacks/<YYYYMMDD-hhmmss>/`"
        )
    };
    assert_eq!(finding_texts(&validate(&sample.seen)), [in_no_batch(1, 2), in_no_batch(3, 3)]);
    sample.state(State::Replanning);
    assert_eq!(
        finding_texts(&validate(&sample.seen)),
        [
            in_no_batch(1, 2),
            in_no_batch(2, 2),
            "Blocks iterations/2/feedbacks/s/feedbacks.md: it is missing, so the files beside it are ignored; \
             write the work to do into it"
                .to_owned(),
            in_no_batch(3, 3),
        ]
    );
}

#[test]
fn the_outlook_of_a_task_follows_from_its_mark_its_attempts_and_its_dependencies() {
    let mut sample = SampleOrchestration::planned(&[
        ("done", &[]),
        ("cancelled", &[]),
        ("failed", &[]),
        ("reviewed", &[]),
        ("working", &[]),
        ("open", &["done"]),
        ("waits", &["open"]),
        ("on-cancelled", &["cancelled"]),
        ("on-failed", &["failed"]),
        ("on-exhausted", &["exhausted"]),
        ("exhausted", &[]),
        ("round", &["round"]),
    ]);
    for (id, mark) in
        [("done", "[x]"), ("cancelled", "[C]"), ("reviewed", "[P]"), ("working", "[/]")]
    {
        sample.mark(id, mark);
    }
    sample.noted("failed", "[F]", Some("Attempt 2, Iteration 1"));
    sample.file("reports/exhausted-report.md", &report("exhausted", 1, None));
    sample.file("reports/exhausted-report-r2.md", &report("exhausted", 1, None));
    sample.file("tasks/unsound.md", "---\nid: unsound\ndepends_on: {a: 1}\n---\n");
    sample.progress().add(ProgressSection::Implementation, 1, &["unsound"]);
    sample.file("tasks/alone.md", &task("alone", &[]).replace("iteration: 1", "type: Sequential"));
    let picture = Picture::from_snapshot(&sample.seen);
    let skipped = |why: &str| Outlook::Skipped(why.to_owned());
    let mut outlooks = picture.outlooks(&Tries::default());
    outlooks.sort_by_key(|(id, _)| *id);
    assert_eq!(
        outlooks,
        [
            ("alone", Outlook::Ready),
            ("cancelled", Outlook::Settled),
            ("done", Outlook::Settled),
            ("exhausted", Outlook::Exhausted),
            ("failed", Outlook::Exhausted),
            ("on-cancelled", skipped("on-cancelled depends on cancelled, which is cancelled")),
            ("on-exhausted", skipped("on-exhausted depends on exhausted, which is not done")),
            ("on-failed", skipped("on-failed depends on failed, which failed")),
            ("open", Outlook::Ready),
            ("reviewed", Outlook::ToReview),
            ("round", skipped("round is in a dependency cycle or waits for a missing task")),
            ("unsound", skipped("the dependencies of unsound cannot be read")),
            ("waits", Outlook::Waiting),
            ("working", Outlook::UnderWay),
        ]
    );
    let moving: Vec<&str> =
        outlooks.iter().filter(|(_, outlook)| outlook.moves()).map(|(id, _)| *id).collect();
    assert_eq!(moving, ["alone", "open", "reviewed", "waits", "working"]);
    let drawn: Vec<(String, TaskStatus)> =
        picture.graph_tasks().into_iter().map(|task| (task.id, task.status)).collect();
    assert!(picture.graph_tasks().iter().all(|task| task.name == task.id));
    let status = |id: &str| drawn.iter().find(|(other, _)| other == id).map(|(_, status)| status);
    for (id, expected) in [
        ("open", TaskStatus::Pending),
        ("alone", TaskStatus::Pending),
        ("working", TaskStatus::InProgress),
        ("reviewed", TaskStatus::InProgress),
        ("done", TaskStatus::Done),
        ("failed", TaskStatus::Failed),
        ("cancelled", TaskStatus::Blocked),
    ] {
        assert_eq!(status(id), Some(&expected), "{id}");
    }
    assert_eq!((drawn.len(), picture.status("gone")), (14, None));
    let waves = picture.waves();
    assert!(waves.iter().any(|wave| wave.len() == 1 && wave[0].id == "alone"), "{waves:?}");
    assert_eq!(
        picture.dependency_flaws(),
        [
            ("round", "round depends on itself; remove that dependency".to_owned()),
            (
                "on-cancelled",
                "on-cancelled depends on cancelled, which is cancelled; remove that dependency"
                    .to_owned()
            ),
        ]
    );
}

#[test]
fn tasks_are_in_the_order_of_their_numbers() {
    let mut sample = SampleOrchestration::planned(&[]);
    let ids = ["task-10", "task-2", "task-2b", "task-2-1", "task", "a", "7"];
    for id in ids {
        sample.file(&format!("tasks/{id}.md"), &task(id, &[]));
    }
    let picture = Picture::from_snapshot(&sample.seen);
    let found: Vec<&str> = picture.tasks.iter().map(|task| task.id.as_str()).collect();
    assert_eq!(found, ["7", "a", "task", "task-2", "task-2-1", "task-2b", "task-10"]);
    assert_eq!(picture.latest_iteration, 1);
    sample.file("iterations/3/review.md", &review("Complete"));
    sample.file("iterations/4/notes.md", "");
    let picture = Picture::from_snapshot(&sample.seen);
    assert_eq!((picture.latest_iteration, picture.reviews), (3, [(3, true)].into()));
}

#[test]
fn every_trace_of_an_attempt_counts() {
    let mut sample = SampleOrchestration::planned(&[("a", &[])]);
    let key = attempts::execution("a", 2);
    let counted = |sample: &SampleOrchestration, iteration| {
        let picture = Picture { iteration, ..Picture::from_snapshot(&sample.seen) };
        let tries = &sample.seen.tries;
        (picture.attempts_made(tries, "a"), picture.next_attempt(tries, "a"))
    };
    assert_eq!(counted(&sample, 2), (0, 1));
    for (note, expected) in [
        (None, (1, 2)),
        (Some("Attempt 3, Iteration 2"), (3, 4)),
        (Some("Attempt 3"), (3, 4)),
        (Some("Attempt 3, Iteration 1"), (1, 2)),
        (Some(attempts::UNDEFINED), (0, 1)),
    ] {
        sample.noted("a", "[F]", note);
        assert_eq!(counted(&sample, 2), expected, "{note:?}");
    }
    sample.file("reports/a-report.md", &report("a", 1, None));
    sample.file("reports/a-report-r2.md", &report("a", 1, None));
    sample.noted("a", "[F]", Some("Attempt 4, Iteration 2"));
    assert_eq!((counted(&sample, 1), counted(&sample, 2)), ((2, 3), (2, 5)));
    sample.seen.tries.entry(&key, now()).left_failed += 1;
    assert_eq!(counted(&sample, 2), (2, 5));
    for _ in 0..3 {
        sample.seen.tries.entry(&key, now()).marked_failed += 1;
    }
    assert_eq!(counted(&sample, 2), (3, 6));
    sample.seen.tries.entry(&key, now()).begun = 5;
    assert_eq!(counted(&sample, 2), (5, 8));
    sample.noted("a", "[ ]", None);
    assert_eq!(counted(&sample, 2), (4, 7), "the one that was begun by hand is not over");
    sample.file("reports/a-report-r9.md", &report("a", 2, None));
    assert_eq!(counted(&sample, 2), (4, 10));
}

#[test]
fn the_end_of_a_call_and_the_begin_of_one_are_noted() {
    for (mode, mark, left) in [
        (Mode::Execute, "[F]", 1),
        (Mode::TaskReview, "[F]", 1),
        (Mode::TimeoutFail, "[F]", 1),
        (Mode::Execute, "[P]", 0),
        (Mode::RebreakdownTask, "[F]", 0),
    ] {
        let mut sample = SampleOrchestration::planned(&[("a", &[])]);
        sample.mark("a", mark);
        let call = Invocation::new(mode, "p/", 1).task("a");
        sample.seen.note_end(&call, CallEnd::Met, now());
        let key = attempts::execution("a", 1);
        let noted = sample.seen.tries.get(&key).map_or(0, |one| one.left_failed);
        assert_eq!(
            (noted, sample.seen.tries.get(&call.key).unwrap().ends),
            (left, 1),
            "{mode} {mark}"
        );
    }
    let mut sample = SampleOrchestration::planned(&[("a", &[]), ("b", &[])]);
    sample.mark("a", "[F]");
    sample.mark("b", "[P]");
    let call = |mode, task: &str| Invocation::new(mode, "p/", 1).task(task);
    let calls = [call(Mode::Execute, "a"), call(Mode::Execute, "b"), call(Mode::TaskReview, "b")];
    let after = sample.seen.with_begun(&calls, now().into());
    let begun = |id: &str| after.tries.get(&attempts::execution(id, 1)).unwrap().begun;
    let status = |id: &str| after.record.progress.as_ref().unwrap().task(id).unwrap().status;
    assert_eq!((begun("a"), status("a")), (2, TaskMark::Open));
    assert_eq!((begun("b"), status("b")), (1, TaskMark::ReviewPending));
    assert_eq!(after.tries.get(&call(Mode::TaskReview, "b").key), None);
}

#[test]
fn a_lost_progress_is_made_from_the_reports() {
    let mut sample =
        SampleOrchestration::planned(&[("a", &[]), ("b", &[]), ("c", &[]), ("d", &[])]);
    sample.file("reports/b-report.md", &report("b", 1, Some("Failed")));
    sample.file("reports/b-report-r2.md", &report("b", 1, None));
    sample.file("reports/c-report.md", &report("c", 1, Some("Qualified")));
    sample.file("reports/d-report.md", &report("d", 1, Some("Failed")));
    sample.remove("progress.md");
    sample.remove("metadata.yaml");
    let mended = repair(&sample.seen, now().into());
    assert_eq!(
        finding_texts(&mended.done),
        [
            "Notice progress.md: it was missing; each task has the status that its last report shows",
            "Notice metadata.yaml: it was missing; rewrote it with the state REVIEWING_BATCH, iteration 1",
        ]
    );
    assert_eq!(finding_texts(&mended.left), Vec::<String>::new());
    let text = mended.after.text(OrchestrationFile::Progress).unwrap();
    let (_, body) = text.split_once("\n\n## Planning").unwrap();
    assert_eq!(
        body,
        " Progress (Iteration 1)\n- [x] plan-init\n- [x] plan-brainstorm\n- [x] plan-research\n\
         - [x] plan-breakdown\n\n## Implementation Progress (Iteration 1)\n- [ ] a\n- [P] b\n- [x] c\n\
         - [F] d\n\n## Iterations\n| Iteration | Status | Tasks | Feedbacks |\n\
         |-----------|--------|-------|-----------|\n| 1 | Planning | 0/0 | N/A |\n"
    );
    assert_eq!(
        mended.after.text(OrchestrationFile::Metadata).unwrap(),
        "version: 1\nsession_id: 260131-120000\ncreated_at: 2026-01-31T12:00:00+00:00\n\
         updated_at: 2026-01-31T12:00:00+00:00\nstatus: in_progress # in_progress | completed | \
         awaiting_feedback\niteration: 1\norchestrator:\n  state: REVIEWING_BATCH\n  current_wave: null\n\
         tasks:\n  total: 4\n  completed: 1\n  failed: 1\n  pending: 2\n"
    );
}

#[test]
fn what_only_its_author_knows_is_not_repaired() {
    let mut sample = SampleOrchestration::planned(&[("a", &[])]);
    sample.edit("progress.md", "[ ] a", "[?] a");
    sample.edit("metadata.yaml", "iteration: 1", "iteration: 0");
    let mended = repair(&sample.seen, now().into());
    assert_eq!(
        (finding_texts(&mended.done), mended.after.files),
        (vec![], sample.seen.files.clone())
    );
    sample.edit("progress.md", "[?] a", "[ ] a");
    sample.edit("progress.md", "# Progress\n", "");
    let mended = repair(&sample.seen, later(1).into());
    assert_eq!(
        finding_texts(&mended.done),
        [
            "Invalid progress.md: the header `# Progress` is missing",
            "Invalid metadata.yaml:6: `iteration: 0` is not a number of at least 1",
        ]
    );
    assert_eq!(mended.left, []);
    // A folder in which nothing has begun is left as it is.
    let empty = SampleOrchestration::empty();
    let mended = repair(&empty.seen, now().into());
    assert_eq!((mended.after, mended.done), (empty.seen, vec![]));
    // The sections of an iteration that began are added.
    let mut sample = SampleOrchestration::planned(&[("a", &[])]);
    sample.metadata().iteration = Some(2);
    sample.render();
    let mended = repair(&sample.seen, now().into());
    assert_eq!(
        finding_texts(&mended.done),
        [
            "Notice progress.md: added the section `Planning Progress (Iteration 2)`",
            "Notice progress.md: added the section `Implementation Progress (Iteration 2)`",
        ]
    );
    let progress = mended.after.record.progress.unwrap();
    let ids: Vec<&str> = progress.planning(2).map(|entry| entry.id.as_str()).collect();
    assert_eq!(ids, planning_of(2));
}

#[test]
fn running_calls_are_told_by_their_key() {
    let mut sample = SampleOrchestration::planned(&[("a", &[])]);
    sample.state(State::ExecutingBatch);
    let review = Invocation::new(Mode::SessionReview, "p/", 1);
    sample.seen.running = Some(vec![Running { key: review.key, since: now() }]);
    assert_eq!(
        next(&sample.seen, now()).act,
        Act::Wait { until: None, why: "for a running call".to_owned() }
    );
}

#[test]
fn a_state_is_left_only_for_what_stands_in_its_own_entry() {
    let step = |sample: &SampleOrchestration| {
        let step = next(&sample.seen, now());
        (step.state, step.act.to_string())
    };
    let of = |state, act: &str| (state, act.to_owned());
    let mut sample = SampleOrchestration::initialized();
    sample.state(State::Initializing);
    assert_eq!(step(&sample), of(State::Planning, "call `Ralph-v2-Questioner` (brainstorm)"));
    sample.mark_planning("plan-init", "[ ]");
    sample.mark_planning("plan-brainstorm", "[x]");
    assert_eq!(step(&sample), of(State::Initializing, "call `Ralph-v2-Planner` (INITIALIZE)"));
    // Without an entry for the breakdown, the files of the tasks show it.
    let mut sample = SampleOrchestration::initialized();
    for id in ["plan-brainstorm", "plan-research"] {
        sample.mark_planning(id, "[x]");
    }
    sample.edit("progress.md", "- [ ] plan-breakdown\n", "");
    assert_eq!(step(&sample), of(State::Planning, "call `Ralph-v2-Planner` (TASK_BREAKDOWN)"));
    sample.file("tasks/a.md", &task("a", &[]));
    assert_eq!(step(&sample), of(State::ExecutingBatch, "call `Ralph-v2-Executor` (EXECUTE, a)"));
}

#[test]
fn as_many_reviewers_run_as_the_guardrails_allow() {
    let act = |most: u32, n_running: usize| {
        let ids = ["a", "b", "c"];
        let mut sample = SampleOrchestration::planned(&ids.map(|id| (id, &[][..])));
        for id in ids {
            sample.mark(id, "[P]");
            sample.file(&format!("reports/{id}-report.md"), &report(id, 1, None));
        }
        sample.state(State::ReviewingBatch);
        sample.seen.instructions = Some(format!("max_parallel_reviewers: {most}\n"));
        let running = ids[..n_running].iter().map(|id| Running {
            key: Invocation::new(Mode::TaskReview, "p/", 1).task(id).key,
            since: now(),
        });
        sample.seen.running = Some(running.collect());
        next(&sample.seen, now()).act.to_string()
    };
    let call = |id: &str| format!("`Ralph-v2-Reviewer` (TASK_REVIEW, {id})");
    assert_eq!(act(1, 0), format!("call {}", call("a")));
    assert_eq!(act(2, 0), format!("call {}, {}", call("a"), call("b")));
    assert_eq!(act(2, 1), format!("call {}", call("b")));
    assert_eq!(act(2, 2), "wait for a running call");
    assert_eq!(act(3, 2), format!("call {}", call("c")));
}

#[test]
fn examples_in_fences_and_comments_are_no_entries() {
    let read = |body: &str| {
        let text = format!("## Implementation Progress (Iteration 1)\n{body}\n");
        let read = super::progress::ReadProgress::parse(&text).progress;
        read.tasks().iter().map(|entry| entry.id.clone()).collect::<Vec<_>>().join(" ")
    };
    for (body, expected) in [
        ("- [ ] a", "a"),
        ("```\n- [ ] a\n~~~\n- [ ] b\n```\n- [ ] c", "c"),
        ("~~~\n- [ ] a\n```\n- [ ] b\n~~~\n- [ ] c", "c"),
        ("````\n```\n- [ ] a\n````\n- [ ] c", "c"),
        ("```\n- [ ] a\n````\n- [ ] c", "c"),
        ("```\n``` x\n- [ ] a\n```\n- [ ] c", "c"),
        ("``\n- [ ] c", "c"),
        ("<!-- - [ ] a\n- [ ] b -->\n- [ ] c", "c"),
        ("<!-- a -->\n- [ ] c", "c"),
        ("x <!--\n- [ ] c", "c"),
        ("### Batch 1\n- [ ] c", "c"),
        ("## Other\n- [ ] c", ""),
        ("# Other\n- [ ] c", ""),
        ("#Other\n- [ ] c", "c"),
        ("####### Other\n- [ ] c", "c"),
        ("[ ] c", "c"),
        ("[c](x) [ ] d", ""),
        ("- [x](link)", ""),
        ("- [To do](x)\n- [X] **c**: why\n+ [✓] `d`\n* [] e — x", "c d e"),
    ] {
        assert_eq!(read(body), expected, "{body}");
    }
}

#[test]
fn an_unreadable_line_is_told_with_what_to_write() {
    let told = |line: &str| {
        let text = format!(
            "# Progress\n## Legend\n- `[ ]` open\n[/]\n- [P]\n- [x]\n- [F]\n- [C]\n\
             ## Implementation Progress (Iteration 1)\n{line}\n"
        );
        let damage = super::progress::ReadProgress::parse(&text).damage;
        damage
            .into_iter()
            .map(|one| (one.line, one.what, one.weight == Weight::Invalid))
            .collect::<Vec<_>>()
    };
    let at = |line: usize, what: &str, matters| (line, what.to_owned(), matters);
    assert_eq!(told("- [ ] a"), []);
    for (line, what) in [
        ("- [ a", "the mark has no `]`; write `- [ ] task-1`"),
        ("- [ ]", "the line names no task; write its id after the mark"),
        ("- [ ] ä", "`ä` is not a task id; use letters, digits, `-`, `_` and `.`"),
        ("- [?] a", "`[?]` is not a status; write one of `[ ]`, `[/]`, `[P]`, `[x]`, `[F]`, `[C]`"),
        (
            "- [done] a",
            "`[done]` is not a status; write one of `[ ]`, `[/]`, `[P]`, `[x]`, `[F]`, `[C]`",
        ),
    ] {
        assert_eq!(told(line), [at(10, what, true)], "{line}");
    }
    for line in ["[ a", "[?] a", "[done] a", "[ ] ä", "- [done](x)", "- [ab][b]"] {
        assert_eq!(told(line), [], "{line}");
    }
    let row = "not a row of the table; write `| 1 | Planning | 0/0 | N/A |`";
    for line in
        ["| a | b | c | d |", "| 1 | b | c |", "| 0 | b | c | d |", "| 1 | b | c | d | e |", "||"]
    {
        assert_eq!(told(&format!("## Iterations\n{line}")), [at(11, row, false)], "{line}");
    }
    for line in ["|:--|---|--|- |", "| Iteration | x |", "| 1 | b | c | d", "prose", ""] {
        assert_eq!(told(&format!("## Iterations\n{line}")), [], "{line}");
    }
    for (heading, part) in [
        ("Planning Progress", "Planning"),
        ("Implementation Progress (Iteration 0)", "Implementation"),
    ] {
        let what =
            format!("the heading names no iteration; write `## {part} Progress (Iteration 1)`");
        assert_eq!(told(&format!("## {heading}")), [at(10, &what, true)]);
    }
    assert_eq!(told("- [ ] a\n- [x] a"), [at(11, "line 10 has a too; delete one of them", true)]);
    let bare = super::progress::ReadProgress::parse("## Legend\n- [ ]\n").damage;
    let bare: Vec<&str> = bare.iter().map(|one| one.what.as_str()).collect();
    assert_eq!(
        bare,
        [
            "the header `# Progress` is missing",
            "the legend does not name `[/]`, `[P]`, `[x]`, `[F]`, `[C]`"
        ]
    );
}

#[test]
fn the_note_of_an_entry_names_values_numbers_and_the_cycle() {
    let entry = |note: &str| TaskEntry {
        id: "a".to_owned(),
        status: TaskMark::Open,
        note: note.to_owned(),
    };
    let noted = entry("(Attempt 2, Iteration 1; started: 2026-01-31T12:00:00Z, Blocker: none of)");
    assert_eq!(noted.said("STARTED"), Some("2026-01-31T12:00:00Z"));
    assert_eq!((noted.said("blocker"), noted.said("attempt")), (Some("none of"), None));
    assert_eq!(entry("(started:)").said("started"), None);
    assert_eq!((noted.number("Attempt"), noted.number("Iteration")), (Some(2), Some(1)));
    assert_eq!((noted.number("attempt"), entry("(Attempt x)").number("Attempt")), (None, None));
    for (note, expected) in [
        ("(CYCLE=2)", Some(2)),
        ("(Cycle 12)", Some(12)),
        ("cycle: 3x", Some(3)),
        ("(cycle 0)", None),
        ("(cycle)", None),
        ("", None),
    ] {
        assert_eq!(entry(note).cycle(), expected, "{note}");
    }
    let cycles = |notes: &[&str]| {
        let entries: Vec<TaskEntry> = notes.iter().map(|note| entry(note)).collect();
        let entries: Vec<&TaskEntry> = entries.iter().collect();
        (0..entries.len()).map(|at| super::progress::cycle(&entries, at)).collect::<Vec<_>>()
    };
    assert_eq!(cycles(&["", "", ""]), [1, 2, 3]);
    assert_eq!(cycles(&["", "(cycle 1)", "", "(cycle 3)"]), [2, 1, 4, 3]);
    for (text, expected) in [
        ("open", Some(TaskMark::Open)),
        ("STARTED", Some(TaskMark::InProgress)),
        ("review", Some(TaskMark::ReviewPending)),
        ("done", Some(TaskMark::Done)),
        ("failed", Some(TaskMark::Failed)),
        ("cancelled", Some(TaskMark::Cancelled)),
        ("[x]", Some(TaskMark::Done)),
        ("F", Some(TaskMark::Failed)),
        ("[x", None),
        ("finished", None),
        ("", None),
    ] {
        assert_eq!(TaskMark::typed(text), expected, "{text}");
    }
}

#[test]
fn of_a_task_in_several_iterations_the_latest_entry_counts_unless_one_is_done() {
    let status = |sections: &[(u32, &str)]| {
        let text: String = sections
            .iter()
            .map(|(n, mark)| format!("## Implementation Progress (Iteration {n})\n- {mark} a\n"))
            .collect();
        let progress = super::progress::ReadProgress::parse(&text).progress;
        (progress.task("a").unwrap().status, progress.tasks().len(), progress.latest_iteration())
    };
    assert_eq!(status(&[(1, "[F]"), (2, "[ ]")]), (TaskMark::Open, 1, 2));
    assert_eq!(status(&[(2, "[ ]"), (1, "[F]")]), (TaskMark::Open, 1, 2));
    assert_eq!(status(&[(1, "[x]"), (2, "[ ]")]), (TaskMark::Done, 1, 2));
    assert_eq!(status(&[(2, "[ ]"), (1, "[x]")]), (TaskMark::Done, 1, 2));
    assert_eq!(status(&[(3, "[C]")]), (TaskMark::Cancelled, 1, 3));
    assert_eq!(super::progress::Progress::default().latest_iteration(), 0);
    let entry = |status| TaskEntry { id: "a".to_owned(), status, note: String::new() };
    let both = Section {
        part: ProgressSection::Implementation,
        iteration: 1,
        entries: vec![entry(TaskMark::Failed), entry(TaskMark::Open)],
    };
    let twice = super::progress::Progress { sections: vec![both], iterations: Vec::new() };
    assert_eq!(twice.task("a").unwrap().status, TaskMark::Failed, "the first, as it is read");
    let sample = SampleOrchestration::planned(&[]);
    assert_eq!(sample.seen.metadata_status(), Some(super::state::MetadataStatus::InProgress));
    assert_eq!(SampleOrchestration::empty().seen.metadata_status(), None);
}
