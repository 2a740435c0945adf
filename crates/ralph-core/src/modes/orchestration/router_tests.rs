//! The router's rules, each compared in whole.

use super::agents::Mode;
use super::change::{planning_of, writes};
use super::files::OrchestrationFile;
use super::finding::OrchestrationFinding;
use super::fixture::{SampleOrchestration, feedback, later, now, report, review};
use super::invocation::{CallKey, Invocation};
use super::machine::{Act, MachineStep, met, next};
use super::metadata::{Counts, IterationMetadata};
use super::progress::{IterationRow, Progress, ProgressSection, ReadProgress, TaskMark};
use super::rules::{may_call, may_change, may_leave_progress, may_mark};
use super::signal::UnheardSignal;
use super::snapshot::Snapshot;
use super::state::{MetadataStatus, State};
use crate::stop::RouterStep;

fn finding_texts(found: &[OrchestrationFinding]) -> Vec<String> {
    found.iter().map(|one| format!("{:?} {one}", one.weight)).collect()
}

fn refused<T>(text: &str) -> Result<T, String> {
    Err(text.to_owned())
}

fn key(mode: Mode, task: &str) -> CallKey {
    CallKey { mode, task: task.to_owned(), iteration: 1, cycle: 0 }
}

#[test]
fn what_is_known_of_a_file_decides_whether_it_may_change() {
    use OrchestrationFile as File;
    let mut sample = SampleOrchestration::planned(&[("a", &[]), ("b", &[])]);
    sample.mark("a", "[x]");
    sample.file("reports/b-report.md", &report("b", 1, None));
    sample.file("reports/b-report-r3.md", &report("b", 1, None));
    sample.file("plan.iteration-1.md", "p");
    for (mode, task, path, expected) in [
        (
            Mode::Rebreakdown,
            "",
            "tasks/a.md",
            refused("a is done and its file must not change; write a new task"),
        ),
        (Mode::Rebreakdown, "", "tasks/b.md", Ok(File::Task("b"))),
        (
            Mode::Update,
            "",
            "tasks/b.md",
            refused(
                "`tasks/b.md` exists and must not change; only REBREAKDOWN and REBREAKDOWN_TASK \
                 replace a task",
            ),
        ),
        (Mode::Update, "", "tasks/c.md", Ok(File::Task("c"))),
        (
            Mode::Execute,
            "b",
            "reports/b-report-r2.md",
            refused(
                "the report of an earlier attempt must not change; write `reports/b-report-r3.md`",
            ),
        ),
        (Mode::Execute, "b", "reports/b-report-r3.md", Ok(File::Report { task: "b", attempt: 3 })),
        (Mode::Execute, "b", "reports/b-report-r4.md", Ok(File::Report { task: "b", attempt: 4 })),
        (Mode::Execute, "a", "reports/a-report.md", Ok(File::Report { task: "a", attempt: 1 })),
        (
            Mode::Execute,
            "a",
            "reports/b-report-r3.md",
            refused("this is the report of b; write that of a"),
        ),
        (
            Mode::SessionReview,
            "",
            "reports/b-report-r3.md",
            refused("write the session review to `iterations/<N>/review.md`"),
        ),
        (
            Mode::Update,
            "",
            "plan.iteration-1.md",
            refused("`plan.iteration-1.md` is a snapshot and must not change; write `plan.md`"),
        ),
        (Mode::Update, "", "plan.iteration-2.md", Ok(File::PlanSnapshot(2))),
        (Mode::Update, "", "../260131-120000.instructions.md", Ok(File::Instructions)),
        (
            Mode::Execute,
            "a",
            "plan.md",
            refused("`plan.md` is written by Ralph-v2-Planner, not by Ralph-v2-Executor"),
        ),
        (
            Mode::Update,
            "",
            "signals/inputs/x",
            refused("`signals/inputs/x` is written by the user, not by Ralph-v2-Planner"),
        ),
        (
            Mode::Execute,
            "a",
            "notes.md",
            refused(
                "the orchestration's folder has no such file; write your own files among `plan.md`, \
                 `progress.md`, `tasks/`, `reports/`, `questions/` and `iterations/`",
            ),
        ),
    ] {
        assert_eq!(may_change(&key(mode, task), &sample.seen, path), expected, "{mode} {path}");
    }
}

#[test]
fn progress_is_left_readable_and_with_marks_of_its_own() {
    let mut sample = SampleOrchestration::planned(&[("a", &[]), ("b", &[])]);
    let text = sample.text("progress.md").to_owned();
    let broken = text.replace("[ ] a", "[?] a");
    let of_another =
        "Ralph-v2-Executor must not mark b `[x]`; it marks `[/]`, `[P]`, `[F]` for its task";
    for (mode, left, expected) in [
        (Mode::Execute, text.clone(), Ok(())),
        (Mode::Execute, text.replace("[ ] a", "[/] a"), Ok(())),
        (Mode::Execute, text.replace("[ ] b", "[x] b"), refused(of_another)),
        (
            Mode::Execute,
            broken.clone(),
            refused(
                "line 18: `[?]` is not a status; write one of `[ ]`, `[/]`, `[P]`, `[x]`, `[F]`, `[C]`",
            ),
        ),
        (Mode::RepairState, broken.clone(), Ok(())),
        (Mode::Execute, text.replace("# Progress\n", ""), Ok(())),
        (Mode::Execute, text.replace("| 1 | Planning", "| one | Planning"), Ok(())),
    ] {
        assert_eq!(may_leave_progress(&key(mode, "a"), &sample.seen, &left), expected, "{left}");
    }
    // The damage of another is not this agent's.
    let kept = sample.seen.record.clone();
    sample.seen.files.insert("progress.md".to_owned(), Some(broken.clone()));
    sample.seen.read_status(Some(&kept));
    assert_eq!(may_leave_progress(&key(Mode::Execute, "a"), &sample.seen, &broken), Ok(()));
    let marked = broken.replace("[ ] b", "[x] b");
    assert_eq!(
        may_leave_progress(&key(Mode::Execute, "a"), &sample.seen, &marked),
        refused(of_another)
    );
}

#[test]
fn each_planning_task_is_marked_in_its_own_mode() {
    let mut before = Progress::first(planning_of(1));
    before.start(2, planning_of(2), "Replanning", "N/A");
    let of_mode = [
        ("plan-init", Mode::Initialize),
        ("plan-brainstorm", Mode::Brainstorm),
        ("plan-research", Mode::Research),
        ("plan-breakdown", Mode::TaskBreakdown),
        ("plan-rebrainstorm", Mode::FeedbackAnalysis),
        ("plan-reresearch", Mode::Research),
        ("plan-update", Mode::Update),
        ("plan-rebreakdown", Mode::Rebreakdown),
    ];
    for (place, (id, own)) in of_mode.into_iter().enumerate() {
        let mut after = before.clone();
        let iteration = if place < 4 { 1 } else { 2 };
        after.planning_mut(iteration, place % 4).unwrap().set(TaskMark::Done, None);
        for mode in Mode::all() {
            let may = may_mark(&key(mode, ""), &before, &after).is_ok();
            assert_eq!(may, mode == own || mode == Mode::RepairState, "{mode} {id}");
        }
    }
    let mut after = before.clone();
    after.planning_mut(1, 0).unwrap().set(TaskMark::Done, None);
    assert_eq!(
        may_mark(&key(Mode::Research, ""), &before, &after),
        refused(
            "Ralph-v2-Questioner must not mark plan-init; in research it marks plan-research of the \
             planning tasks"
        )
    );
    assert_eq!(
        may_mark(&key(Mode::Execute, ""), &before, &after),
        refused(
            "Ralph-v2-Executor must not mark plan-init; in EXECUTE it marks none of the planning tasks"
        )
    );
}

#[test]
fn a_mark_that_is_not_allowed_is_refused_in_these_words() {
    let before = ReadProgress::parse(
        "## Implementation Progress (Iteration 1)\n- [x] a\n- [ ] b\n- [P] c\n- [F] d\n",
    )
    .progress;
    let after = |id: &str, status: TaskMark| {
        let mut after = before.clone();
        after.task_mut(id).unwrap().set(status, None);
        after
    };
    for (mode, after, expected) in [
        (Mode::Execute, before.clone(), Ok(())),
        (Mode::TaskReview, after("b", TaskMark::Open), Ok(())),
        (
            Mode::Brainstorm,
            after("b", TaskMark::Done),
            refused("Ralph-v2-Questioner must not mark b `[x]`; it marks its own planning task"),
        ),
        (
            Mode::TaskReview,
            after("b", TaskMark::Cancelled),
            refused("Ralph-v2-Reviewer must not mark b `[C]`; it marks `[x]`, `[F]` for its task"),
        ),
        (
            Mode::Execute,
            after("a", TaskMark::Failed),
            refused("a is done and must not change; add a new task"),
        ),
        (Mode::RepairState, after("a", TaskMark::Failed), Ok(())),
        (
            Mode::Execute,
            Progress::default(),
            refused("a is done and must not change; add a new task"),
        ),
    ] {
        assert_eq!(may_mark(&key(mode, "b"), &before, &after), expected, "{mode}");
    }
    let mut more = before.clone();
    more.add(ProgressSection::Implementation, 1, &["e"]);
    assert_eq!(
        may_mark(&key(Mode::Execute, "b"), &before, &more),
        refused("only the planner adds e; name it in the report")
    );
    assert_eq!(may_mark(&key(Mode::Update, "b"), &before, &more), Ok(()));
}

#[test]
fn a_call_that_is_not_due_is_answered_with_the_one_that_is() {
    let call = |mode, task: &str| Invocation::new(mode, "p/", 1).task(task);
    let given = [call(Mode::Execute, "a"), call(Mode::TaskReview, "b")];
    let executor =
        "call `Ralph-v2-Executor` with this prompt, word for word:\nSESSION_PATH: p/\nTASK_ID: a";
    let reviewer =
        "call `Ralph-v2-Reviewer` with this prompt, word for word:\nSESSION_PATH: p/\nTASK_ID: b";
    let (other, two) =
        ("this is not the next call", "each call needs exactly one mode or one task");
    for (kind, prompt, why, due) in [
        ("Ralph-v2-Executor", "MODE: UPDATE\nTASK_ID: c", other, executor),
        ("Ralph-v2-Executor", "MODE: UPDATE\nMODE: RESEARCH", two, executor),
        ("ralph:Ralph-v2-Reviewer", "TASK_ID: a\nTASK_ID: b", two, reviewer),
        ("Ralph-v2-Planner", " MODE: UPDATE\n MODE: RESEARCH", other, executor),
    ] {
        assert_eq!(may_call(&given, kind, prompt), refused(&format!("{why}; {due}")), "{prompt}");
    }
    assert_eq!(
        may_call(&[], "Ralph-v2-Planner", "x"),
        refused("this is not the next call; no call is due, run `ralph session next`")
    );
    assert_eq!(
        may_call(&given, "Explore", "x"),
        refused(
            "`Explore` is not an agent of this orchestration; call one of Ralph-v2-Planner, \
             Ralph-v2-Questioner, Ralph-v2-Executor, Ralph-v2-Reviewer"
        )
    );
    assert_eq!(may_call(&given, "Ralph-v2-Reviewer", &given[1].prompt()), Ok(&given[1]));
}

#[track_caller]
fn applied(sample: &SampleOrchestration, change: impl FnOnce(&mut Snapshot)) -> Snapshot {
    let mut after = sample.seen.clone();
    change(&mut after);
    after.rendered(&sample.seen, later(5).into())
}

#[test]
fn steers_that_were_heard_are_noted_in_the_plan() {
    let signals = [("1", "STEER: use oak\nnot pine"), ("2", "INFO: x"), ("3", "STEER: later")];
    let mut sample = SampleOrchestration::initialized();
    sample.seen.signals = signals.map(|(name, text)| UnheardSignal::read(name, text)).into();
    let noted = |sample: &SampleOrchestration, names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let after = applied(sample, |after| after.note_plan(&names));
        after.text(OrchestrationFile::Plan).map(str::to_owned)
    };
    assert_eq!(noted(&sample, &["2"]).as_deref(), Some("Goal: a door\n"));
    assert_eq!(
        noted(&sample, &["1", "2"]).as_deref(),
        Some("Goal: a door\n\n## Notes\n- use oak not pine\n")
    );
    sample.file("plan.md", "# Plan\n\n## Notes\n- old\n");
    assert_eq!(
        noted(&sample, &["1", "3"]).as_deref(),
        Some("# Plan\n\n## Notes\n- use oak not pine\n- later\n- old\n")
    );
    sample.remove("plan.md");
    assert_eq!(noted(&sample, &["1"]), None);
    let heard = sample.seen.without_signals(&["1".to_owned(), "2".to_owned()]);
    assert_eq!(heard.signals, [UnheardSignal::read("3", "STEER: later")]);
}

fn row(iteration: u32, status: &str, tasks: &str, feedbacks: &str) -> IterationRow {
    let (status, tasks, feedbacks) = (status.to_owned(), tasks.to_owned(), feedbacks.to_owned());
    IterationRow { iteration, status, tasks, feedbacks }
}

#[test]
fn the_table_of_iterations_has_one_row_for_each() {
    let mut sample = SampleOrchestration::planned(&[("a", &[]), ("b", &[])]);
    sample.mark("a", "[x]");
    let rows = |sample: &SampleOrchestration, change: &dyn Fn(&mut Snapshot)| {
        applied(sample, change).record.progress.unwrap().iterations
    };
    let begin = |iteration| {
        let feedbacks = ["s".to_owned(), "t".to_owned()];
        move |after: &mut Snapshot| after.begin(iteration, &feedbacks, later(5).into())
    };
    let executing = |iteration| move |after: &mut Snapshot| after.set_row(iteration, "Executing");
    assert_eq!(
        rows(&sample, &begin(2)),
        [row(1, "Planning", "0/0", "N/A"), row(2, "Replanning", "0/0", "s, t")]
    );
    assert_eq!(rows(&sample, &begin(1)), [row(1, "Replanning", "0/0", "s, t")]);
    assert_eq!(rows(&sample, &executing(1)), [row(1, "Executing", "1/2", "N/A")]);
    sample.progress().iterations.clear();
    assert_eq!(
        rows(&sample, &begin(2)),
        [row(1, "Complete", "1/2", "N/A"), row(2, "Replanning", "0/0", "s, t")]
    );
    assert_eq!(rows(&sample, &begin(1)), [row(1, "Replanning", "0/0", "s, t")]);
    for path in
        ["2/feedbacks/x/feedbacks.md", "2/feedbacks/y/feedbacks.md", "2/feedbacks/z/app.log"]
    {
        sample.file(&format!("iterations/{path}"), &feedback(2));
    }
    sample.file("iterations/3/feedbacks/w/feedbacks.md", &feedback(3));
    assert_eq!(rows(&sample, &executing(2)), [row(2, "Executing", "1/2", "x, y")]);
    assert_eq!(rows(&sample, &executing(4)), [row(4, "Executing", "1/2", "N/A")]);
}

#[test]
fn a_change_sets_what_it_names_and_is_counted_once() {
    let sample = SampleOrchestration::planned(&[("a", &[])]);
    let now = later(5).into();
    let enter = |wave| move |after: &mut Snapshot| after.enter(State::ExecutingBatch, 2, wave, now);
    let metadata =
        |change: &dyn Fn(&mut Snapshot)| applied(&sample, change).record.metadata.unwrap();
    let before = sample.seen.record.metadata.clone().unwrap();
    let entered = metadata(&enter(Some(3)));
    assert_eq!(
        entered,
        super::metadata::OrchestrationMetadata {
            version: Some(2),
            updated_at: Some("2026-01-31T12:05:00+00:00".to_owned()),
            state: Some(State::ExecutingBatch),
            iteration: Some(2),
            wave: Some(3),
            ..before
        }
    );
    let twice = |after: &mut Snapshot| {
        enter(Some(3))(after);
        enter(None)(after);
    };
    assert_eq!(metadata(&twice), entered);
    let mut bare = SampleOrchestration::planned(&[("a", &[])]);
    bare.remove("metadata.yaml");
    let after = applied(&bare, |after| after.enter(State::Batching, 1, None, now));
    assert_eq!(after.record.metadata.as_ref().unwrap().version, Some(1));
    let paths: Vec<String> = writes(&bare.seen, &after).into_iter().map(|one| one.path).collect();
    assert_eq!(paths, ["metadata.yaml"]);
    let iteration = |change: &dyn Fn(&mut Snapshot)| applied(&sample, change).record.iterations;
    let started_at = Some("2026-01-31T12:00:00+00:00".to_owned());
    let at = Some("2026-01-31T12:05:00+00:00".to_owned());
    let of = |started_at, planning_completed_at, completed_at, tasks_defined| IterationMetadata {
        started_at,
        planning_completed_at,
        completed_at,
        tasks_defined,
    };
    assert_eq!(
        iteration(&|after| after.end_planning(1, now)),
        [(1, of(started_at.clone(), at.clone(), None, 1))].into()
    );
    assert_eq!(
        iteration(&|after| drop(after.iteration_mut(2, now).planning_completed_at.take())),
        [(1, of(started_at, None, None, 0)), (2, of(at, None, None, 0))].into()
    );
    let marked = sample.seen.marked("plan-brainstorm", TaskMark::Cancelled, Some("cycle 1"), now);
    let progress = marked.unwrap().record.progress.unwrap();
    let entry = progress.planning(1).nth(1).unwrap();
    assert_eq!((entry.status, entry.note.as_str()), (TaskMark::Cancelled, "(cycle 1)"));
    assert_eq!(
        sample.seen.marked("b", TaskMark::Done, None, now).unwrap_err(),
        "could not find b in `progress.md`; add it as `- [ ] b`"
    );
    assert_eq!(
        [0, 1, 2].map(|n| planning_of(n)[0]),
        ["plan-init", "plan-init", "plan-rebrainstorm"]
    );
}

#[test]
fn what_was_damaged_is_rendered_anew_and_what_is_invalid_is_left() {
    let mut sample = SampleOrchestration::planned(&[("a", &[])]);
    let kept = sample.seen.record.clone();
    let text = sample.text("progress.md").to_owned();
    let damaged = text.replace("[ ] a", "[?] a");
    sample.seen.files.insert("progress.md".to_owned(), Some(damaged));
    sample.seen.read_status(Some(&kept));
    assert_eq!(
        finding_texts(&sample.seen.damage),
        [
            "Notice progress.md:18: `[?]` is not a status; write one of `[ ]`, `[/]`, `[P]`, `[x]`, `[F]`, `[C]`"
        ]
    );
    let after = applied(&sample, |_| ());
    assert_eq!(after.text(OrchestrationFile::Progress), Some(text.as_str()));
    assert_eq!(after.record.metadata.as_ref().unwrap().version, Some(2));
    assert_eq!(after.damage, []);
    // Without anything kept, nobody may guess.
    sample.seen.read_status(None);
    assert_eq!(applied(&sample, |_| ()), sample.seen);
}

#[test]
fn what_is_missing_is_as_it_is_kept() {
    let mut sample = SampleOrchestration::planned(&[("a", &[]), ("b", &[])]);
    let kept = sample.seen.record.clone();
    let (progress, metadata) =
        (sample.text("progress.md").to_owned(), sample.text("metadata.yaml").to_owned());
    let mut read = |path: &str, text: Option<&str>| {
        let before = sample.seen.files.clone();
        match text {
            Some(text) => sample.seen.files.insert(path.to_owned(), Some(text.to_owned())),
            None => sample.seen.files.remove(path),
        };
        sample.seen.read_status(Some(&kept));
        sample.seen.files = before;
        (sample.seen.record.clone(), finding_texts(&sample.seen.damage))
    };
    assert_eq!(read("plan.md", Some("x")), (kept.clone(), vec![]));
    let missing = |file: &str| vec![format!("Notice {file}: it was missing")];
    assert_eq!(read("progress.md", None), (kept.clone(), missing("progress.md")));
    assert_eq!(read("metadata.yaml", None), (kept.clone(), missing("metadata.yaml")));
    assert_eq!(read("iterations/1/metadata.yaml", None), (kept.clone(), vec![]));
    assert_eq!(
        read("progress.md", Some(&progress.replace("- [ ] a\n", ""))),
        (kept.clone(), vec!["Notice progress.md: a must not be removed; mark it `[C]`".to_owned()])
    );
    let (record, damage) =
        read("metadata.yaml", Some(&metadata.replace("in_progress #", "completed #")));
    let standing = |record: &super::record::Record| record.metadata.as_ref().unwrap().standing;
    assert_eq!((standing(&record), damage), (Some(MetadataStatus::Completed), vec![]));
    let (record, _) = read("metadata.yaml", Some(&metadata.replace("BATCHING", "COMPLETE")));
    assert_eq!(record, kept, "the state is not an agent's to set");
    let later = metadata.replace("BATCHING", "COMPLETE").replace("version: 1", "version: 2");
    let (record, _) = read("metadata.yaml", Some(&later));
    assert_eq!(record.metadata.unwrap().state, Some(State::Complete), "another machine wrote it");
    let (record, damage) = read("metadata.yaml", Some(&later.replace("2\n", "2\n0: 0\n0: 0\n")));
    assert_eq!(record, kept);
    assert_eq!(damage, ["Notice metadata.yaml:3: `0` is set twice; delete one"]);
}

#[test]
fn a_call_is_met_when_the_files_show_its_result() {
    let call = |mode| Invocation::new(mode, "p/", 1);
    let initialized = SampleOrchestration::initialized;
    let marked = |id: &str, mark: &str| {
        let mut sample = initialized();
        sample.mark_planning(id, mark);
        sample
    };
    let without = |path: &str| {
        let mut sample = initialized();
        sample.remove(path);
        sample
    };
    let second = |id: &str, mark: &str| {
        let mut sample = initialized();
        sample.progress().start(2, planning_of(2), "Replanning", "N/A");
        sample.mark_planning(id, mark);
        sample
    };
    let of_task = |mark: &str| {
        let mut sample = SampleOrchestration::planned(&[("a", &[])]);
        sample.mark("a", mark);
        sample
    };
    let in_second = |mode| Invocation::new(mode, "p/", 2);
    let mut rows: Vec<(SampleOrchestration, Invocation, bool)> = vec![
        (initialized(), call(Mode::Initialize), true),
        (without("plan.md"), call(Mode::Initialize), false),
        (without("metadata.yaml"), call(Mode::Initialize), false),
        (without("progress.md"), call(Mode::Initialize), false),
        (marked("plan-init", "[ ]"), call(Mode::Initialize), false),
        (marked("plan-init", "[C]"), call(Mode::Initialize), false),
        (marked("plan-brainstorm", "[x]"), call(Mode::Brainstorm).cycle(1), true),
        (marked("plan-brainstorm", "[C]"), call(Mode::Brainstorm).cycle(1), true),
        (marked("plan-brainstorm", "[x]"), call(Mode::Brainstorm).cycle(2), false),
        (marked("plan-research", "[x]"), call(Mode::Brainstorm).cycle(1), false),
        (initialized(), call(Mode::Brainstorm).cycle(1), false),
        (marked("plan-research", "[x]"), call(Mode::Research).cycle(1), true),
        (marked("plan-research", "[x]"), call(Mode::Research).cycle(2), false),
        (initialized(), call(Mode::Research).cycle(1), false),
        (second("plan-reresearch", "[x]"), in_second(Mode::Research).cycle(1), true),
        (second("plan-reresearch", "[ ]"), in_second(Mode::Research).cycle(1), false),
        (second("plan-reresearch", "[C]"), in_second(Mode::Research).cycle(1), false),
        (marked("plan-breakdown", "[x]"), call(Mode::TaskBreakdown), true),
        (initialized(), call(Mode::TaskBreakdown), false),
        (second("plan-rebrainstorm", "[x]"), in_second(Mode::FeedbackAnalysis), true),
        (second("plan-rebrainstorm", "[x]"), in_second(Mode::Update), false),
        (second("plan-update", "[x]"), in_second(Mode::Update), true),
        (second("plan-update", "[x]"), in_second(Mode::Rebreakdown), false),
        (second("plan-rebreakdown", "[x]"), in_second(Mode::Rebreakdown), true),
        (second("plan-rebreakdown", "[x]"), in_second(Mode::FeedbackAnalysis), false),
        (of_task("[ ]"), call(Mode::SessionReview), false),
        (of_task("[ ]"), call(Mode::UpdateMetadata).with("STATUS", "in_progress"), true),
        (of_task("[ ]"), call(Mode::UpdateMetadata).with("STATUS", "completed"), false),
        (of_task("[ ]"), call(Mode::UpdateMetadata).with("STATUS", "x"), false),
        (without("metadata.yaml"), call(Mode::UpdateMetadata), false),
        (initialized(), call(Mode::RepairState), true),
        (without("progress.md"), call(Mode::RepairState), false),
    ];
    for (mark, executed, reviewed, split) in [
        ("[ ]", false, true, false),
        ("[/]", false, false, false),
        ("[P]", true, false, false),
        ("[x]", true, true, false),
        ("[F]", true, true, false),
        ("[C]", true, true, true),
    ] {
        rows.push((of_task(mark), call(Mode::Execute).task("a"), executed));
        rows.push((of_task(mark), call(Mode::TaskReview).task("a"), reviewed));
        rows.push((of_task(mark), call(Mode::TimeoutFail).task("a"), reviewed));
        rows.push((of_task(mark), call(Mode::RebreakdownTask).task("a"), split));
    }
    for mode in [Mode::Execute, Mode::TaskReview, Mode::TimeoutFail, Mode::RebreakdownTask] {
        rows.push((of_task("[x]"), call(mode).task("b"), false));
    }
    let mut reviewed = of_task("[x]");
    reviewed.file("iterations/1/review.md", &review("Complete"));
    rows.push((reviewed, call(Mode::SessionReview), true));
    for (sample, call, expected) in rows {
        let files = &sample.seen.files;
        assert_eq!(met(&sample.seen, &call), expected, "{:?}\n{files:?}", call.key);
    }
}

fn step(act: Act) -> MachineStep {
    MachineStep {
        state: State::ExecutingBatch,
        iteration: 2,
        wave: Some(3),
        after: SampleOrchestration::empty().seen,
        heard: vec!["1".to_owned()],
        act,
        findings: Vec::new(),
    }
}

#[test]
fn every_act_has_its_word_its_sentence_and_its_step() {
    let calls = vec![
        Invocation::new(Mode::Execute, "p/", 1).task("a"),
        Invocation::new(Mode::SessionReview, "p/", 1),
    ];
    let (blocked, progress) = ("blocked", "in_progress");
    let feedback = "give feedback with `ralph session feedback new`";
    let wait = |until| Act::Wait { until, why: "for a running call".to_owned() };
    let sample = SampleOrchestration::planned(&[("a", &[])]);
    let called = "call `Ralph-v2-Executor` (EXECUTE, a), `Ralph-v2-Reviewer` (SESSION_REVIEW)";
    for (act, status, is_end, text, due, says) in [
        (Act::Invoke(calls), progress, false, called.to_owned(), RouterStep::Call, called),
        (
            wait(None),
            progress,
            false,
            "wait for a running call".to_owned(),
            RouterStep::Wait,
            "wait for a running call",
        ),
        (
            wait(Some(now())),
            progress,
            false,
            "wait until 2026-01-31T12:00:00Z for a running call".to_owned(),
            RouterStep::Wait,
            "wait until 2026-01-31T12:00:00Z for a running call",
        ),
        (
            Act::Paused(" ".to_owned()),
            blocked,
            false,
            "paused by PAUSE".to_owned(),
            RouterStep::Paused,
            "paused by PAUSE",
        ),
        (
            Act::Paused("tea\n".to_owned()),
            blocked,
            false,
            "paused by PAUSE: tea".to_owned(),
            RouterStep::Paused,
            "paused by PAUSE: tea",
        ),
        (
            Act::Stopped(String::new()),
            blocked,
            true,
            "ended by STOP".to_owned(),
            RouterStep::Stopped,
            "ended by STOP",
        ),
        (
            Act::Stopped("enough".to_owned()),
            blocked,
            true,
            "ended by STOP: enough".to_owned(),
            RouterStep::Stopped,
            "ended by STOP: enough",
        ),
        (
            Act::Complete,
            "completed",
            true,
            "nothing: all tasks are done".to_owned(),
            RouterStep::Complete,
            "nothing: all tasks are done",
        ),
        (
            Act::AwaitingFeedback(vec!["a failed".to_owned(), "b is not done".to_owned()]),
            "awaiting_feedback",
            true,
            format!("{feedback}: a failed; b is not done"),
            RouterStep::AwaitingFeedback,
            "a failed; b is not done",
        ),
        (
            Act::AwaitingFeedback(vec![]),
            "awaiting_feedback",
            true,
            feedback.to_owned(),
            RouterStep::AwaitingFeedback,
            "",
        ),
        (
            Act::Failed("it broke".to_owned()),
            blocked,
            true,
            "it broke".to_owned(),
            RouterStep::Failed,
            "it broke",
        ),
    ] {
        assert_eq!((act.status(), act.is_end(), act.to_string()), (status, is_end, text.clone()));
        let step = MachineStep { after: sample.seen.clone(), ..step(act) };
        let routed = step.routed();
        assert_eq!((routed.due, routed.says.as_str()), (due, says));
        assert_eq!((routed.heard.as_slice(), routed.stands.len()), (&["1".to_owned()][..], 16));
        let output = step.output();
        assert_eq!(
            (output.status, output.next_action, output.current_state, output.current_wave),
            (status, text, "EXECUTING_BATCH", 3)
        );
        assert_eq!((output.session_id.as_str(), output.iteration), ("260131-120000", 2));
        assert_eq!(output.tasks_summary, Counts { total: 1, pending: 1, ..Counts::default() });
    }
}

#[test]
fn a_new_file_is_progress_and_a_new_time_of_update_is_not() {
    let stands_at = |sample: &SampleOrchestration, act| {
        MachineStep { after: sample.seen.clone(), ..step(act) }.routed().stands
    };
    let stands = |sample: &SampleOrchestration| stands_at(sample, Act::Complete);
    let mut sample = SampleOrchestration::planned(&[("a", &[])]);
    let before = stands(&sample);
    sample.edit("metadata.yaml", "updated_at: 2026-01-31", "updated_at: 2026-02-01");
    assert_eq!(stands(&sample), before);
    let mut others = vec![before];
    sample.file("x.md", "");
    others.push(stands(&sample));
    sample.file("x.md", "a\nb");
    others.push(stands(&sample));
    sample.file("x.md", "b\na");
    others.push(stands(&sample));
    others.push(stands_at(&sample, Act::Failed("x".to_owned())));
    let all: std::collections::BTreeSet<&String> = others.iter().collect();
    assert_eq!(all.len(), others.len());
}

#[test]
fn a_message_is_heard_once_its_last_call_is_made_and_noted_only_while_planning() {
    let steer = || UnheardSignal::read("1", "STEER: use oak");
    let mut planning = SampleOrchestration::initialized();
    planning.seen.signals = vec![steer()];
    planning.seen.running = Some(vec![]);
    let made = |sample: &SampleOrchestration, n: usize| {
        let step = next(&sample.seen, now());
        let Act::Invoke(calls) = &step.act else { panic!("{:?}", step.act) };
        let after = step.made(&calls[..n], now());
        let plan = after.text(OrchestrationFile::Plan).unwrap().to_owned();
        (calls.len(), plan, after.signals.len(), after.running.map(|running| running.len()))
    };
    let noted = "Goal: a door\n\n## Notes\n- use oak\n";
    assert_eq!(made(&planning, 1), (1, noted.to_owned(), 0, Some(1)));
    let mut executing = SampleOrchestration::planned(&[("a", &[]), ("b", &[])]);
    executing.state(State::ExecutingBatch);
    executing.seen.signals = vec![steer()];
    executing.seen.running = Some(vec![]);
    let plan = "Goal: a door\n".to_owned();
    assert_eq!(made(&executing, 1), (2, plan.clone(), 1, Some(1)));
    assert_eq!(made(&executing, 2), (2, plan.clone(), 0, Some(2)));
    executing.seen.running = None;
    assert_eq!(made(&executing, 1), (2, plan.clone(), 0, None));
    executing.seen.signals.clear();
    executing.seen.running = Some(vec![]);
    assert_eq!(made(&executing, 1), (2, plan, 0, Some(1)));
}
