//! Who may write which file of an orchestration, and which agent calls are allowed.
//!
//! The guard enforces these rules: the orchestrating session writes nothing, an agent writes only
//! its own files, and a call must be exactly one that the router gave.

use super::agents::{AgentRole, Mode};
use super::files::{FileOwner, OrchestrationFile};
use super::invocation::Invocation;
use super::progress::{Progress, ReadProgress, TaskMark};
use super::snapshot::{Picture, Snapshot};
use std::collections::BTreeSet;

/// Who wants to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writer<'a> {
    /// The orchestrating session.
    Main,
    /// An agent of the orchestration.
    Agent {
        mode: Mode,
        /// The task of its call; empty if there is none.
        task: &'a str,
    },
    /// Any other agent.
    Stranger,
}

/// What is known about the file to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WriteTarget {
    /// True if the file already exists.
    pub exists: bool,
    /// For a task's file: the task's status.
    pub status: Option<TaskMark>,
    /// For a report: the highest attempt that has one; 0 if there is none.
    pub latest_attempt: u32,
}

/// Why an action is refused, and what is allowed instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleRefusal(pub String);

/// Decides whether a caller may change the file at this path of the orchestration, and returns the
/// file.
///
/// # Errors
/// The rule, and what is allowed instead.
pub fn may_change<'a>(
    writer: Writer<'_>,
    seen: &Snapshot,
    path: &'a str,
) -> Result<Option<OrchestrationFile<'a>>, RuleRefusal> {
    let place = match path.starts_with("../") {
        true => Some(OrchestrationFile::Instructions),
        false => OrchestrationFile::from_path(path),
    };
    let picture = Picture::from_snapshot(seen);
    let status = |task: &str| Some(picture.progress.as_ref()?.task(task)?.status);
    let mut target = WriteTarget { exists: seen.files.contains_key(path), ..Default::default() };
    match place {
        Some(OrchestrationFile::Task(task)) => target.status = status(task),
        Some(OrchestrationFile::Report { task, .. }) => {
            let attempts = picture.reports_of(task).iter().map(|report| report.attempt);
            target.latest_attempt = attempts.max().unwrap_or_default();
        }
        _ => {}
    }
    may_write(writer, place, target).map(|()| place)
}

/// Decides whether an agent may leave this text as `progress.md`. What was damaged before is not this
/// agent's doing, and is rendered anew.
///
/// # Errors
/// The rule, and what is allowed instead.
pub fn may_leave_progress(
    mode: Mode,
    task: &str,
    seen: &Snapshot,
    text: &str,
) -> Result<(), RuleRefusal> {
    let before = seen.record.progress.clone().unwrap_or_default();
    let read = ReadProgress::parse(text);
    if !seen.damage.is_empty() {
        return may_mark(mode, task, &before, &read.completed_by(&before).0);
    }
    let mut unreadable = read.damage.iter().filter(|it| it.matters && it.line > 0);
    match unreadable.next().filter(|_| mode != Mode::RepairState) {
        Some(damage) => Err(RuleRefusal(format!("line {}: {}", damage.line, damage.what))),
        None => may_mark(mode, task, &before, &read.progress),
    }
}

/// Decides whether a file may be written. `place` is `None` for a path that is not an artefact.
///
/// # Errors
/// The rule, and what is allowed instead.
pub fn may_write(
    writer: Writer<'_>,
    place: Option<OrchestrationFile<'_>>,
    target: WriteTarget,
) -> Result<(), RuleRefusal> {
    let refuse = |text: String| Err(RuleRefusal(text));
    let (mode, of_task) = match writer {
        Writer::Main => {
            return refuse(
                "the orchestrating conversation must not write the orchestration's files; call the \
                 agent that `ralph session next` names"
                    .to_owned(),
            );
        }
        Writer::Stranger => {
            return refuse(
                "only the orchestration's agents write its files; return your result as text"
                    .to_owned(),
            );
        }
        Writer::Agent { mode, task } => (mode, task),
    };
    let Some(place) = place else {
        return refuse(
            "the orchestration's folder has no such file; write your own files among `plan.md`, \
             `progress.md`, `tasks/`, `reports/`, `questions/` and `iterations/`"
                .to_owned(),
        );
    };
    let agent = mode.agent();
    if !place.owners().contains(&FileOwner::Agent(agent)) {
        let owners: Vec<String> = place.owners().iter().map(ToString::to_string).collect();
        return refuse(format!("`{place}` is written by {}, not by {agent}", owners.join(", ")));
    }
    match place {
        OrchestrationFile::PlanSnapshot(_) if target.exists => {
            refuse(format!("`{place}` is a snapshot and must not change; write `plan.md`"))
        }
        OrchestrationFile::Task(id) if target.exists => replaced_task(mode, id, target),
        OrchestrationFile::Report { task, attempt } => report(mode, of_task, task, attempt, target),
        _ => Ok(()),
    }
}

/// A task's file must not change, unless a breakdown replaces a task that is not done.
fn replaced_task(mode: Mode, id: &str, target: WriteTarget) -> Result<(), RuleRefusal> {
    let may_replace = matches!(mode, Mode::Rebreakdown | Mode::RebreakdownTask);
    match (may_replace, target.status) {
        (true, Some(TaskMark::Done)) => {
            Err(RuleRefusal(format!("{id} is done and its file must not change; write a new task")))
        }
        (true, _) => Ok(()),
        (false, _) => Err(RuleRefusal(format!(
            "`tasks/{id}.md` exists and must not change; only REBREAKDOWN and REBREAKDOWN_TASK \
             replace a task"
        ))),
    }
}

/// An executor writes the report of its attempt and a reviewer adds to the latest report; earlier
/// reports must not change.
fn report(
    mode: Mode,
    of_task: &str,
    task: &str,
    attempt: u32,
    target: WriteTarget,
) -> Result<(), RuleRefusal> {
    if mode != Mode::SessionReview && of_task != task {
        return Err(RuleRefusal(format!("this is the report of {task}; write that of {of_task}")));
    }
    if mode == Mode::SessionReview {
        return Err(RuleRefusal(
            "write the session review to `iterations/<N>/review.md`".to_owned(),
        ));
    }
    if attempt < target.latest_attempt {
        return Err(RuleRefusal(format!(
            "the report of an earlier attempt must not change; write `{}`",
            OrchestrationFile::Report { task, attempt: target.latest_attempt }
        )));
    }
    Ok(())
}

/// Decides whether an agent may make this change to `progress.md`.
///
/// # Errors
/// The first entry that it may not change, and what is allowed instead.
pub fn may_mark(
    mode: Mode,
    task: &str,
    before: &Progress,
    after: &Progress,
) -> Result<(), RuleRefusal> {
    planning_is_own(mode, before, after)?;
    for old in before.tasks() {
        let id = &old.id;
        let new = after.task(id).map(|entry| entry.status);
        if new == Some(old.status) {
            continue;
        }
        // A repair may change any entry.
        if mode == Mode::RepairState {
            continue;
        }
        if old.status == TaskMark::Done {
            return Err(RuleRefusal(format!("{id} is done and must not change; add a new task")));
        }
        let Some(new) = new else {
            return Err(RuleRefusal(format!("{id} must not be removed; mark it `[C]`")));
        };
        let allowed = allowed_marks(mode, id == task);
        if !allowed.contains(&new) {
            let own = match allowed_marks(mode, true) {
                [] => "its own planning task".to_owned(),
                marks => {
                    let marks: Vec<String> = marks.iter().map(|mark| format!("`{mark}`")).collect();
                    format!("{} for its task", marks.join(", "))
                }
            };
            return Err(RuleRefusal(format!(
                "{} must not mark {id} `{new}`; it marks {own}",
                mode.agent()
            )));
        }
    }
    let is_new = |id: &str| before.task(id).is_none();
    match after.tasks().into_iter().find(|entry| is_new(&entry.id)) {
        Some(entry) if mode.agent() != AgentRole::Planner => {
            Err(RuleRefusal(format!("only the planner adds {}; name it in the report", entry.id)))
        }
        _ => Ok(()),
    }
}

/// The planning tasks that a call may mark: its own, and no others.
fn own_planning(mode: Mode) -> &'static [&'static str] {
    match mode {
        Mode::Initialize => &["plan-init"],
        Mode::Brainstorm => &["plan-brainstorm"],
        Mode::Research => &["plan-research", "plan-reresearch"],
        Mode::TaskBreakdown => &["plan-breakdown"],
        Mode::FeedbackAnalysis => &["plan-rebrainstorm"],
        Mode::Update => &["plan-update"],
        Mode::Rebreakdown => &["plan-rebreakdown"],
        _ => &[],
    }
}

fn planning_is_own(mode: Mode, before: &Progress, after: &Progress) -> Result<(), RuleRefusal> {
    if mode == Mode::RepairState {
        return Ok(());
    }
    let own = own_planning(mode);
    for iteration in 1..=before.latest_iteration() {
        let ids: BTreeSet<&str> =
            before.planning(iteration).map(|entry| entry.id.as_str()).collect();
        for id in ids.into_iter().filter(|id| !own.contains(id)) {
            let statuses = |progress: &Progress| -> Vec<TaskMark> {
                let entries = progress.planning(iteration).filter(|entry| entry.id == id);
                entries.map(|entry| entry.status).collect()
            };
            let (old, new) = (statuses(before), statuses(after));
            // A questioner may add a cycle, but must not change existing entries.
            if !new.starts_with(&old) {
                let own = if own.is_empty() { "none".to_owned() } else { own.join(" or ") };
                return Err(RuleRefusal(format!(
                    "{} must not mark {id}; in {mode} it marks {own} of the planning tasks",
                    mode.agent()
                )));
            }
        }
    }
    Ok(())
}

/// The marks that a call may set, on its own task and on other tasks.
fn allowed_marks(mode: Mode, is_own: bool) -> &'static [TaskMark] {
    match (mode, is_own) {
        (Mode::Execute, true) => &[TaskMark::InProgress, TaskMark::ReviewPending, TaskMark::Failed],
        (Mode::TaskReview, true) => &[TaskMark::Done, TaskMark::Failed],
        (Mode::TimeoutFail, true) => &[TaskMark::Failed],
        (Mode::RebreakdownTask, true) => &[TaskMark::Cancelled],
        (Mode::Rebreakdown, _) => &[TaskMark::Open, TaskMark::Cancelled],
        _ => &[],
    }
}

/// Decides whether a call of the Agent tool is one that the router gave, and returns its index.
///
/// # Errors
/// The rule, and the prompt that is allowed.
pub fn may_call(given: &[Invocation], kind: &str, prompt: &str) -> Result<usize, RuleRefusal> {
    let Some(agent) = AgentRole::from_agent_type(kind) else {
        let names: Vec<&str> = AgentRole::ALL.iter().map(|agent| agent.name()).collect();
        return Err(RuleRefusal(format!(
            "`{kind}` is not an agent of this orchestration; call one of {}",
            names.join(", ")
        )));
    };
    if let Some(place) =
        given.iter().position(|call| call.agent() == agent && call.is_said_by(prompt))
    {
        return Ok(place);
    }
    let modes = prompt.lines().filter(|line| line.starts_with("MODE:")).count();
    let tasks = prompt.lines().filter(|line| line.starts_with("TASK_ID:")).count();
    let why = match modes > 1 || tasks > 1 {
        true => "each call needs exactly one mode or one task",
        false => "this is not the next call",
    };
    let Some(first) = given.first() else {
        return Err(RuleRefusal(format!("{why}; no call is due, run `ralph session next`")));
    };
    // Show the call for the same agent, if there is one.
    let meant = given.iter().find(|call| call.agent() == agent).unwrap_or(first);
    Err(RuleRefusal(format!(
        "{why}; call `{}` with this prompt, word for word:\n{}",
        meant.agent(),
        meant.prompt()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(mode: Mode, task: &str) -> Writer<'_> {
        Writer::Agent { mode, task }
    }

    #[track_caller]
    fn check(writer: Writer<'_>, path: &str, target: WriteTarget, refused: Option<&str>) {
        match (may_write(writer, OrchestrationFile::from_path(path), target), refused) {
            (Ok(()), None) => {}
            (Err(RuleRefusal(told)), Some(words)) => assert!(told.contains(words), "{told}"),
            (other, _) => panic!("{path}: {other:?}"),
        }
    }

    const NEW: WriteTarget = WriteTarget { exists: false, status: None, latest_attempt: 0 };

    #[test]
    fn the_orchestrator_and_strangers_write_nothing() {
        for path in
            ["plan.md", "progress.md", "metadata.yaml", "tasks/a.md", "x", "signals/inputs/a"]
        {
            check(Writer::Main, path, NEW, Some("call the agent that `ralph session next` names"));
            check(Writer::Stranger, path, NEW, Some("return your result as text"));
        }
    }

    #[test]
    fn each_agent_writes_what_is_its_own() {
        let paths = [
            ("plan.md", [true, false, false, false]),
            ("plan.iteration-1.md", [true, false, false, false]),
            ("tasks/a.md", [true, false, false, false]),
            ("progress.md", [true, true, true, true]),
            ("reports/a-report.md", [false, false, true, true]),
            ("questions/risks.md", [false, true, false, false]),
            ("metadata.yaml", [true, false, false, true]),
            ("iterations/1/metadata.yaml", [true, false, false, true]),
            ("iterations/1/review.md", [false, false, false, true]),
            ("iterations/1/replanning/delta.md", [true, false, false, false]),
            ("iterations/1/questions/feedback-driven.md", [false, true, false, false]),
            ("iterations/1/feedbacks/x/app.log", [true, true, true, true]),
            ("signals/inputs/a", [false, false, false, false]),
            ("signals/processed/a", [false, false, false, false]),
            ("notes.md", [false, false, false, false]),
        ];
        let modes = [Mode::Update, Mode::Brainstorm, Mode::Execute, Mode::TaskReview];
        for (path, allowed) in paths {
            for (mode, allowed) in modes.into_iter().zip(allowed) {
                let result = may_write(agent(mode, "a"), OrchestrationFile::from_path(path), NEW);
                assert_eq!(result.is_ok(), allowed, "{mode} {path}: {result:?}");
            }
        }
    }

    #[test]
    fn what_is_immutable_stays() {
        let there = |status| WriteTarget { exists: true, status: Some(status), latest_attempt: 0 };
        check(
            agent(Mode::Update, ""),
            "plan.iteration-1.md",
            there(TaskMark::Open),
            Some("write `plan.md`"),
        );
        for mode in [Mode::Initialize, Mode::TaskBreakdown, Mode::Update, Mode::RepairState] {
            check(
                agent(mode, ""),
                "tasks/a.md",
                there(TaskMark::Open),
                Some("exists and must not change"),
            );
            check(agent(mode, ""), "tasks/a.md", NEW, None);
        }
        for mode in [Mode::Rebreakdown, Mode::RebreakdownTask] {
            for status in TaskMark::ALL {
                let refused = (status == TaskMark::Done).then_some(
                    "a is done and its file must \
                     not change",
                );
                check(agent(mode, "a"), "tasks/a.md", there(status), refused);
            }
        }
    }

    #[test]
    fn a_report_is_that_of_its_task_and_of_the_latest_attempt() {
        let target = WriteTarget { exists: true, status: None, latest_attempt: 2 };
        for mode in [Mode::Execute, Mode::TaskReview, Mode::TimeoutFail] {
            check(agent(mode, "a"), "reports/a-report-r2.md", target, None);
            check(agent(mode, "a"), "reports/a-report-r3.md", target, None);
            check(
                agent(mode, "a"),
                "reports/a-report.md",
                target,
                Some("write `reports/a-report-r2.md`"),
            );
            check(agent(mode, "b"), "reports/a-report-r2.md", target, Some("write that of b"));
        }
        check(agent(Mode::SessionReview, ""), "reports/a-report-r2.md", target, Some("review.md"));
    }

    fn read(text: &str) -> Progress {
        ReadProgress::parse(text).progress
    }

    const BEFORE: &str =
        "## Implementation Progress (Iteration 1)\n- [x] a\n- [ ] b\n- [P] c\n- [F] d\n";

    #[track_caller]
    fn check_mark(mode: Mode, task: &str, old: &str, new: &str, refused: Option<&str>) {
        let after = BEFORE.replace(old, new);
        assert!(after != BEFORE);
        match (may_mark(mode, task, &read(BEFORE), &read(&after)), refused) {
            (Ok(()), None) => {}
            (Err(RuleRefusal(told)), Some(words)) => assert!(told.contains(words), "{told}"),
            (other, _) => panic!("{mode} {new}: {other:?}"),
        }
    }

    #[test]
    fn an_agent_marks_its_own_task_with_its_own_marks() {
        for mark in ["[/]", "[P]", "[F]"] {
            check_mark(Mode::Execute, "b", "[ ] b", &format!("{mark} b"), None);
        }
        check_mark(
            Mode::Execute,
            "b",
            "[ ] b",
            "[x] b",
            Some("it marks `[/]`, `[P]`, `[F]` for its task"),
        );
        check_mark(Mode::Execute, "b", "[P] c", "[F] c", Some("must not mark c"));
        check_mark(Mode::TaskReview, "c", "[P] c", "[x] c", None);
        check_mark(Mode::TaskReview, "c", "[P] c", "[ ] c", Some("must not mark c"));
        check_mark(Mode::TimeoutFail, "b", "[ ] b", "[x] b", Some("it marks `[F]`"));
        check_mark(Mode::RebreakdownTask, "b", "[ ] b", "[C] b\n- [ ] b1", None);
        check_mark(Mode::Rebreakdown, "", "[F] d", "[ ] d", None);
        check_mark(Mode::Brainstorm, "", "[F] d", "[ ] d", Some("its own planning task"));
        check_mark(
            Mode::Execute,
            "b",
            "[F] d\n",
            "[F] d\n- [ ] e\n",
            Some(
                "only the planner adds \
             e",
            ),
        );
        check_mark(Mode::TaskBreakdown, "", "[F] d\n", "[F] d\n- [ ] e\n", None);
        check_mark(Mode::Execute, "b", "- [ ] b\n", "", Some("mark it `[C]`"));
    }

    #[test]
    fn an_agent_marks_the_planning_task_that_it_was_called_for() {
        let before = "## Planning Progress (Iteration 1)\n- [x] plan-init\n- [ ] plan-brainstorm\n\
                      - [ ] plan-research\n- [ ] plan-breakdown\n";
        let marked = |id: &str| before.replace(&format!("[ ] {id}"), &format!("[x] {id}"));
        for (mode, own) in [
            (Mode::Brainstorm, Some("plan-brainstorm")),
            (Mode::Research, Some("plan-research")),
            (Mode::TaskBreakdown, Some("plan-breakdown")),
            (Mode::Execute, None),
            (Mode::TaskReview, None),
        ] {
            for id in ["plan-brainstorm", "plan-research", "plan-breakdown"] {
                let result = may_mark(mode, "a", &read(before), &read(&marked(id)));
                assert_eq!(result.is_ok(), own == Some(id), "{mode} {id}: {result:?}");
            }
        }
        let more =
            before.replace("- [ ] plan-breakdown", "- [ ] plan-research\n- [ ] plan-breakdown");
        assert_eq!(may_mark(Mode::Brainstorm, "", &read(before), &read(&more)), Ok(()));
        let without = before.replace("- [ ] plan-breakdown\n", "");
        let RuleRefusal(told) =
            may_mark(Mode::Execute, "a", &read(before), &read(&without)).unwrap_err();
        assert!(told.contains("marks none of the planning tasks"), "{told}");
        assert_eq!(may_mark(Mode::RepairState, "", &read(before), &read(&without)), Ok(()));
    }

    #[test]
    fn what_is_done_is_marked_by_nobody() {
        for mode in Mode::all().filter(|mode| *mode != Mode::RepairState) {
            for mark in ["[ ]", "[/]", "[P]", "[F]", "[C]"] {
                check_mark(
                    mode,
                    "a",
                    "[x] a",
                    &format!("{mark} a"),
                    Some("a is done and must not change"),
                );
            }
        }
    }

    #[test]
    fn a_call_is_exactly_one_that_comes_next() {
        let call = |task: &str| Invocation::new(Mode::Execute, "p/", 1).task(task);
        let given = [call("a"), call("b")];
        for kind in ["Ralph-v2-Executor", "ralph:Ralph-v2-Executor"] {
            assert_eq!(may_call(&given, kind, "SESSION_PATH: p/\nTASK_ID: b"), Ok(1));
        }
        for (kind, prompt, words) in [
            (
                "general-purpose",
                "x",
                "is not an agent of this orchestration; call one of \
                 Ralph-v2-Planner,",
            ),
            (
                "Ralph-v2-Reviewer",
                "SESSION_PATH: p/\nTASK_ID: b",
                "call `Ralph-v2-Executor` with this",
            ),
            ("Ralph-v2-Executor", "SESSION_PATH: p/\nTASK_ID: c", "not the next call"),
            (
                "Ralph-v2-Executor",
                "SESSION_PATH: p/\nTASK_ID: a\nTASK_ID: b",
                "exactly one mode or one task",
            ),
            ("Ralph-v2-Planner", "MODE: UPDATE\nMODE: REBREAKDOWN", "exactly one mode or one task"),
            ("Ralph-v2-Executor", "", "word for word:\nSESSION_PATH: p/\nTASK_ID: a"),
        ] {
            let RuleRefusal(told) = may_call(&given, kind, prompt).unwrap_err();
            assert!(told.contains(words), "{told}");
        }
        let RuleRefusal(told) = may_call(&[], "Ralph-v2-Planner", "x").unwrap_err();
        assert!(told.contains("run `ralph session next`"), "{told}");
    }
}
