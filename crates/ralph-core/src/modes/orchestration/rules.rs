//! Who may write which file of an orchestration, and which agent calls are allowed.
//!
//! The guard enforces these rules: the orchestrating session writes nothing, an agent writes only
//! its own files, and a call must be exactly one that the router gave.

use super::agents::{AgentRole, Mode};
use super::files::OrchestrationFile;
use super::finding::Weight;
use super::invocation::{CallKey, Invocation};
use super::progress::{Progress, ReadProgress, TaskEntry, TaskMark};
use super::snapshot::{Picture, Snapshot};
use std::collections::BTreeSet;

/// Who wants to write: the orchestrating conversation, an agent of the orchestration, or an unknown agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Writer {
    Main,
    /// An agent of the orchestration, with the key of its call.
    Agent(CallKey),
    /// An agent that the orchestration has not called, by its type.
    Stranger(String),
}

impl Writer {
    /// The agent type that the guard checks.
    pub fn agent_type(&self) -> Option<&str> {
        match self {
            Writer::Main => None,
            Writer::Agent(key) => Some(key.mode.agent().name()),
            Writer::Stranger(kind) => Some(kind),
        }
    }

    /// The key of its call.
    ///
    /// # Errors
    /// Why a writer that is no agent of the orchestration changes none of its files.
    pub fn call(&self) -> Result<&CallKey, String> {
        match self {
            Writer::Agent(key) => Ok(key),
            Writer::Main => {
                Err("the orchestrating conversation must not write the orchestration's \
                 files; call the agent that `ralph session next` names"
                    .to_owned())
            }
            Writer::Stranger(_) => Err("only the orchestration's agents write its files; return \
                 your result as text"
                .to_owned()),
        }
    }
}

/// Decides whether a call may change the file at this path of the orchestration, and returns the
/// file.
///
/// # Errors
/// The rule, and what is allowed instead.
pub fn may_change<'a>(
    call: &CallKey,
    seen: &Snapshot,
    path: &'a str,
) -> Result<OrchestrationFile<'a>, String> {
    let place = match path.starts_with("../") {
        true => Some(OrchestrationFile::Instructions),
        false => OrchestrationFile::from_path(path),
    };
    let place = place.ok_or(
        "the orchestration's folder has no such file; write your own files among `plan.md`, \
         `progress.md`, `tasks/`, `reports/`, `questions/` and `iterations/`",
    )?;
    let agent = call.mode.agent();
    if !place.writers().contains(&agent) {
        let owners: Vec<&str> = place.writers().iter().map(|agent| agent.name()).collect();
        let owners = if owners.is_empty() { "the user".to_owned() } else { owners.join(", ") };
        return Err(format!("`{place}` is written by {owners}, not by {agent}"));
    }
    let picture = Picture::from_snapshot(seen);
    match place {
        OrchestrationFile::PlanSnapshot(_) if seen.has(place) => {
            return Err(format!("`{place}` is a snapshot and must not change; write `plan.md`"));
        }
        OrchestrationFile::Task(id) if seen.has(place) => {
            let status = seen.progress().task(id).map(|entry| entry.status);
            may_replace_task(call.mode, id, status)?;
        }
        OrchestrationFile::Report { task, attempt } => {
            may_report(call, task, attempt, picture.latest_attempt(task))?;
        }
        _ => {}
    }
    Ok(place)
}

/// Decides whether a call may leave this text as `progress.md`. What was damaged before is not this
/// agent's doing, and is rendered anew.
///
/// # Errors
/// The rule, and what is allowed instead.
pub fn may_leave_progress(call: &CallKey, seen: &Snapshot, text: &str) -> Result<(), String> {
    let before = seen.progress();
    let read = ReadProgress::parse(text);
    if !seen.damage.is_empty() {
        return may_mark(call, before, &read.completed_by(before).0);
    }
    let mut unreadable =
        read.damage.iter().filter(|it| it.weight == Weight::Invalid && it.line > 0);
    match unreadable.next().filter(|_| call.mode != Mode::RepairState) {
        Some(damage) => Err(format!("line {}: {}", damage.line, damage.what)),
        None => may_mark(call, before, &read.progress),
    }
}

/// A task's file must not change, unless a breakdown replaces a task that is not done.
fn may_replace_task(mode: Mode, id: &str, status: Option<TaskMark>) -> Result<(), String> {
    match (matches!(mode, Mode::Rebreakdown | Mode::RebreakdownTask), status) {
        (true, Some(TaskMark::Done)) => {
            Err(format!("{id} is done and its file must not change; write a new task"))
        }
        (true, _) => Ok(()),
        (false, _) => Err(format!(
            "`tasks/{id}.md` exists and must not change; only REBREAKDOWN and REBREAKDOWN_TASK \
             replace a task"
        )),
    }
}

/// An executor writes the report of its attempt and a reviewer adds to the latest report; earlier
/// reports must not change.
fn may_report(call: &CallKey, task: &str, attempt: u32, latest: u32) -> Result<(), String> {
    if call.mode == Mode::SessionReview {
        return Err("write the session review to `iterations/<N>/review.md`".to_owned());
    }
    if call.task != task {
        return Err(format!("this is the report of {task}; write that of {}", call.task));
    }
    if attempt < latest {
        let latest = OrchestrationFile::Report { task, attempt: latest };
        return Err(format!("the report of an earlier attempt must not change; write `{latest}`"));
    }
    Ok(())
}

/// Decides whether a call may make this change to `progress.md`.
///
/// # Errors
/// The first entry that it may not change, and what is allowed instead.
pub fn may_mark(call: &CallKey, before: &Progress, after: &Progress) -> Result<(), String> {
    let (mode, agent) = (call.mode, call.mode.agent());
    // A repair may change any entry.
    if mode != Mode::RepairState {
        planning_is_own(mode, before, after)?;
        for old in before.tasks() {
            let id = &old.id;
            let new = after.task(id).map(|entry| entry.status);
            if new == Some(old.status) {
                continue;
            }
            if old.status == TaskMark::Done {
                return Err(format!("{id} is done and must not change; add a new task"));
            }
            let new = new.ok_or_else(|| format!("{id} must not be removed; mark it `[C]`"))?;
            if !allowed_marks(mode, *id == call.task).contains(&new) {
                let own = match allowed_marks(mode, true) {
                    [] => "its own planning task".to_owned(),
                    marks => {
                        let marks: Vec<String> =
                            marks.iter().map(|mark| format!("`{mark}`")).collect();
                        format!("{} for its task", marks.join(", "))
                    }
                };
                return Err(format!("{agent} must not mark {id} `{new}`; it marks {own}"));
            }
        }
    }
    let is_new = |entry: &&TaskEntry| before.task(&entry.id).is_none();
    match after.tasks().into_iter().find(is_new) {
        Some(entry) if agent != AgentRole::Planner => {
            Err(format!("only the planner adds {}; name it in the report", entry.id))
        }
        _ => Ok(()),
    }
}

/// A call marks its own planning task, and no others.
fn planning_is_own(mode: Mode, before: &Progress, after: &Progress) -> Result<(), String> {
    for iteration in 1..=before.latest_iteration() {
        let own = mode.planning_task(iteration);
        let ids: BTreeSet<&str> =
            before.planning(iteration).map(|entry| entry.id.as_str()).collect();
        for id in ids.into_iter().filter(|id| Some(*id) != own) {
            let statuses = |progress: &Progress| -> Vec<TaskMark> {
                let entries = progress.planning(iteration).filter(|entry| entry.id == id);
                entries.map(|entry| entry.status).collect()
            };
            // A questioner may add a cycle, but must not change existing entries.
            if !statuses(after).starts_with(&statuses(before)) {
                return Err(format!(
                    "{} must not mark {id}; in {mode} it marks {} of the planning tasks",
                    mode.agent(),
                    own.unwrap_or("none")
                ));
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

/// Decides whether a call of the Agent tool is one that the router gave, and returns it.
///
/// # Errors
/// The rule, and the prompt that is allowed.
pub fn may_call<'a>(
    given: &'a [Invocation],
    kind: &str,
    prompt: &str,
) -> Result<&'a Invocation, String> {
    let Some(agent) = AgentRole::from_agent_type(kind) else {
        let names: Vec<&str> = AgentRole::ALL.iter().map(|agent| agent.name()).collect();
        return Err(format!(
            "`{kind}` is not an agent of this orchestration; call one of {}",
            names.join(", ")
        ));
    };
    let mut of_agent = given.iter().filter(|call| call.agent() == agent);
    if let Some(call) = of_agent.clone().find(|call| Invocation::are_same(&call.prompt(), prompt)) {
        return Ok(call);
    }
    let count = |start: &str| prompt.lines().filter(|line| line.starts_with(start)).count();
    let why = match count("MODE:") > 1 || count("TASK_ID:") > 1 {
        true => "each call needs exactly one mode or one task",
        false => "this is not the next call",
    };
    // Show the call for the same agent, if there is one.
    let Some(meant) = of_agent.next().or(given.first()) else {
        return Err(format!("{why}; no call is due, run `ralph session next`"));
    };
    Err(format!(
        "{why}; call `{}` with this prompt, word for word:\n{}",
        meant.agent(),
        meant.prompt()
    ))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::SampleOrchestration;
    use super::*;

    fn key(mode: Mode, task: &str) -> CallKey {
        CallKey { mode, task: task.to_owned(), iteration: 1, cycle: 0 }
    }

    #[test]
    fn the_orchestrator_and_strangers_write_nothing() {
        let stranger = Writer::Stranger("Explore".to_owned());
        let executor = Writer::Agent(key(Mode::Execute, "task-1"));
        let types = [&Writer::Main, &executor, &stranger].map(Writer::agent_type);
        assert_eq!(types, [None, Some("Ralph-v2-Executor"), Some("Explore")]);
        let told = Writer::Main.call().unwrap_err();
        assert!(told.contains("call the agent that `ralph session next` names"), "{told}");
        let told = stranger.call().unwrap_err();
        assert!(told.contains("return your result as text"), "{told}");
        assert_eq!(Writer::Agent(key(Mode::Update, "")).call(), Ok(&key(Mode::Update, "")));
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
                let seen = SampleOrchestration::initialized().seen;
                let result = may_change(&key(mode, "a"), &seen, path);
                assert_eq!(result.is_ok(), allowed, "{mode} {path}: {result:?}");
            }
        }
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
        match (may_mark(&key(mode, task), &read(BEFORE), &read(&after)), refused) {
            (Ok(()), None) => {}
            (Err(told), Some(words)) => assert!(told.contains(words), "{told}"),
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
                let result = may_mark(&key(mode, "a"), &read(before), &read(&marked(id)));
                assert_eq!(result.is_ok(), own == Some(id), "{mode} {id}: {result:?}");
            }
        }
        let more =
            before.replace("- [ ] plan-breakdown", "- [ ] plan-research\n- [ ] plan-breakdown");
        assert_eq!(may_mark(&key(Mode::Brainstorm, ""), &read(before), &read(&more)), Ok(()));
        let without = before.replace("- [ ] plan-breakdown\n", "");
        let told = may_mark(&key(Mode::Execute, "a"), &read(before), &read(&without)).unwrap_err();
        assert!(told.contains("marks none of the planning tasks"), "{told}");
        assert_eq!(may_mark(&key(Mode::RepairState, ""), &read(before), &read(&without)), Ok(()));
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
            assert_eq!(may_call(&given, kind, "SESSION_PATH: p/\nTASK_ID: b"), Ok(&given[1]));
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
            let told = may_call(&given, kind, prompt).unwrap_err();
            assert!(told.contains(words), "{told}");
        }
        let told = may_call(&[], "Ralph-v2-Planner", "x").unwrap_err();
        assert!(told.contains("run `ralph session next`"), "{told}");
    }
}
