//! The texts of an orchestrated session hold to what the code reads.
//!
//! What an agent is shown as an example it will write, so each example goes through the very reader of the file
//! that it is an example of, and through the rules of who may write it.

use super::front_matter::FrontMatter;
use super::{agent, check_contains, skill};
use jiff::Timestamp;
use ralph_core::modes::mode;
use ralph_core::modes::orchestration::agents::{AgentRole, Mode};
use ralph_core::modes::orchestration::files::OrchestrationFile;
use ralph_core::modes::orchestration::id::OrchestrationId;
use ralph_core::modes::orchestration::in_session;
use ralph_core::modes::orchestration::invocation::{CallKey, Invocation};
use ralph_core::modes::orchestration::machine::{self, Act, met};
use ralph_core::modes::orchestration::metadata::IterationMetadata;
use ralph_core::modes::orchestration::progress::{
    Progress, ProgressSection, ReadProgress, TaskMark,
};
use ralph_core::modes::orchestration::report::{ReviewVerdict, TaskReport, is_complete};
use ralph_core::modes::orchestration::rules::{may_change, may_mark};
use ralph_core::modes::orchestration::snapshot::Snapshot;
use ralph_core::modes::orchestration::task::TaskFile;
use ralph_core::modes::orchestration::validate::validate;
use ralph_core::state::{LoopState, OrchestrationCall, OrchestrationState};

/// What stands in the fence of this name.
fn example(of: AgentRole, name: &str) -> String {
    let text = agent(of.name());
    let fence = format!(" {name}\n");
    let (before, rest) =
        text.split_once(&fence).unwrap_or_else(|| panic!("{of} shows no `{name}`"));
    assert!(before.lines().last().unwrap().starts_with("```"), "{name} stands in a fence");
    rest.split_once("\n```\n").expect("the fence is closed").0.to_owned() + "\n"
}

fn now() -> Timestamp {
    "2026-01-31T12:00:00Z".parse().unwrap()
}

/// The session as a planner lays it out who writes what it is shown.
fn laid_out() -> Snapshot {
    let mut seen =
        Snapshot::new(OrchestrationId::parse("260131-120000").unwrap(), "Limit attempts");
    for (place, text) in [
        (OrchestrationFile::Plan, "Goal\n".to_owned()),
        (OrchestrationFile::Metadata, example(AgentRole::Planner, "metadata")),
        (OrchestrationFile::IterationMetadata(1), example(AgentRole::Planner, "iteration")),
        (OrchestrationFile::Progress, example(AgentRole::Planner, "progress")),
    ] {
        seen.files.insert(place.to_string(), Some(text));
    }
    seen.read_status(None);
    seen
}

#[test]
fn what_the_planner_is_shown_is_a_session_that_goes_on() {
    let seen = laid_out();
    assert_eq!(validate(&seen), []);
    let text = example(AgentRole::Planner, "iteration");
    let (metadata, found) = IterationMetadata::parse(&text, 1);
    assert!(metadata.started_at.is_some() && found.is_empty(), "{found:?}");
    let call = Invocation::new(Mode::Initialize, "p/", 1);
    assert!(met(&seen, &call), "it did what it is called for");
    let Act::Invoke(calls) = machine::next(&seen, now()).act else { panic!("nobody is called") };
    assert_eq!((calls[0].mode, calls[0].key.cycle), (Mode::Brainstorm, 1));
}

#[test]
fn the_task_that_the_planner_is_shown_is_read_whole() {
    let (task, found) = TaskFile::parse("task-2", &example(AgentRole::Planner, "task-2"));
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(
        (task.depends_on, task.parallel, task.is_sound),
        (vec!["task-1".to_owned()], true, true)
    );
    assert_eq!(task.title, "Answer 429 at login");
    let sequential = example(AgentRole::Planner, "task-2").replace("Parallelizable", "Sequential");
    assert!(!TaskFile::parse("task-2", &sequential).0.parallel);
    check_contains(&agent("Ralph-v2-Planner"), &["`type: Sequential`"]);
}

#[test]
fn a_report_waits_for_its_review_and_the_review_says_its_verdict() {
    let report = example(AgentRole::Executor, "report");
    let read = TaskReport::parse(1, Some(&report));
    assert_eq!((read.iteration, read.verdict), (1, None), "nobody has judged it");
    let (part_1, _) = report.split_once("## PART 2").unwrap();
    let review = example(AgentRole::Reviewer, "review-of-a-task");
    let judged = |review: &str| TaskReport::parse(1, Some(&format!("{part_1}{review}"))).verdict;
    assert_eq!(judged(&review), Some(ReviewVerdict::Qualified));
    assert_eq!(judged(&review.replace("Qualified", "Failed")), Some(ReviewVerdict::Failed));
    check_contains(&agent("Ralph-v2-Reviewer"), &["`Qualified`: ", "`Failed`: "]);
}

#[test]
fn the_review_of_an_iteration_is_complete_by_one_word_only() {
    let review = example(AgentRole::Reviewer, "review");
    assert!(is_complete(&review));
    for word in ["Gaps Identified", "Incomplete"] {
        assert!(!is_complete(
            &review.replace("**Status**: Complete", &format!("**Status**: {word}"))
        ));
        check_contains(&agent("Ralph-v2-Reviewer"), &[&format!("`{word}`")]);
    }
}

#[test]
fn each_agent_is_told_every_mode_that_it_is_called_for() {
    for mode in Mode::all() {
        let text = agent(mode.agent().name());
        match mode.said() {
            Some(word) => check_contains(&text, &[&format!("\n## {word}\n")]),
            None => check_contains(&text, &["`TASK_ID`"]),
        }
        for other in AgentRole::ALL.into_iter().filter(|other| *other != mode.agent()) {
            let heading = format!("\n## {}\n", mode.word());
            assert!(!agent(other.name()).contains(&heading), "{other} is no one for {mode}");
        }
    }
}

#[test]
fn each_agent_has_the_tools_that_it_needs_and_calls_nobody() {
    for of in AgentRole::ALL {
        let text = agent(of.name());
        let head = FrontMatter::of(&text);
        assert_eq!(head.value("name"), of.name());
        let tools: Vec<&str> = head.value("tools").split(", ").collect();
        for tool in ["Read", "Grep", "Glob", "Write", "Edit", "Bash"] {
            assert!(tools.contains(&tool), "{of} needs {tool}");
        }
        for tool in ["Agent", "Task", "AskUserQuestion", "Skill"] {
            assert!(!tools.contains(&tool), "{of} has no use for {tool}");
        }
        let goes_out = tools.contains(&"WebFetch");
        assert_eq!(goes_out, matches!(of, AgentRole::Questioner | AgentRole::Executor), "{of}");
    }
}

/// The call of a mode, about `task-1`.
fn key(mode: Mode) -> CallKey {
    CallKey { mode, task: "task-1".to_owned(), iteration: 1, cycle: 0 }
}

/// What each call marks in `progress.md`, as its agent is told.
fn read(text: &str) -> Progress {
    ReadProgress::parse(text).progress
}

#[test]
fn what_an_agent_is_told_to_mark_it_may_mark() {
    let mut seen = laid_out();
    for id in ["task-1", "task-2"] {
        seen.files.insert(format!("tasks/{id}.md"), Some("x".to_owned()));
    }
    let progress = seen.record.progress.as_mut().unwrap();
    progress.add(ProgressSection::Implementation, 1, &["task-1", "task-2"]);
    let seen = seen.rendered(&laid_out(), now().into());
    let before = seen.text(OrchestrationFile::Progress).unwrap().to_owned();
    let marked = |line: &str, mark: TaskMark| {
        assert!(before.contains(&format!("[ ] {line}")), "{before}");
        before.replace(&format!("[ ] {line}"), &format!("{} {line}", mark.mark()))
    };
    for (mode, line, mark) in [
        (Mode::Brainstorm, "plan-brainstorm", TaskMark::Done),
        (Mode::Research, "plan-research", TaskMark::Done),
        (Mode::TaskBreakdown, "plan-breakdown", TaskMark::Done),
        (Mode::Execute, "task-1", TaskMark::InProgress),
        (Mode::Execute, "task-1", TaskMark::ReviewPending),
        (Mode::Execute, "task-1", TaskMark::Failed),
        (Mode::TaskReview, "task-1", TaskMark::Done),
        (Mode::TaskReview, "task-1", TaskMark::Failed),
        (Mode::TimeoutFail, "task-1", TaskMark::Failed),
        (Mode::RebreakdownTask, "task-1", TaskMark::Cancelled),
        (Mode::Rebreakdown, "task-2", TaskMark::Cancelled),
    ] {
        let result = may_mark(&key(mode), &read(&before), &read(&marked(line, mark)));
        assert_eq!(result, Ok(()), "{mode} {line} {mark:?}");
    }
    let more =
        "- [ ] plan-brainstorm (Cycle 2)\n- [ ] plan-research (Cycle 2)\n- [ ] plan-breakdown";
    let cycle = marked("plan-brainstorm", TaskMark::Done).replace("- [ ] plan-breakdown", more);
    assert_eq!(
        may_mark(&key(Mode::Brainstorm), &read(&before), &read(&cycle)),
        Ok(()),
        "a further cycle"
    );
    check_contains(&agent("Ralph-v2-Questioner"), &["`- [ ] plan-brainstorm (Cycle 2)`"]);
}

#[test]
fn what_an_agent_is_told_to_write_it_may_write() {
    for (mode, path) in [
        (Mode::Initialize, "plan.md"),
        (Mode::Initialize, "progress.md"),
        (Mode::Initialize, "metadata.yaml"),
        (Mode::Initialize, "iterations/1/metadata.yaml"),
        (Mode::TaskBreakdown, "tasks/task-2.md"),
        (Mode::Update, "iterations/2/replanning/delta.md"),
        (Mode::UpdateMetadata, "metadata.yaml"),
        (Mode::RepairState, "progress.md"),
        (Mode::Brainstorm, "questions/risks.md"),
        (Mode::Research, "iterations/2/questions/feedback-driven.md"),
        (Mode::FeedbackAnalysis, "iterations/2/questions/feedback-driven.md"),
        (Mode::Execute, "reports/task-1-report.md"),
        (Mode::Execute, "reports/task-1-report-r2.md"),
        (Mode::TaskReview, "reports/task-1-report.md"),
        (Mode::SessionReview, "iterations/1/review.md"),
    ] {
        let result = may_change(&key(mode), &laid_out(), path);
        assert_eq!(result.ok(), OrchestrationFile::from_path(path), "{mode} {path}");
    }
}

#[test]
fn the_skill_knows_the_words_of_the_program() {
    let text = skill("ralph-v2");
    let key = CallKey { mode: Mode::Execute, task: "task-1".to_owned(), iteration: 1, cycle: 0 };
    let session = OrchestrationState {
        id: "ID".to_owned(),
        given: vec![OrchestrationCall::given(&key, "p".to_owned())],
        ..OrchestrationState::default()
    };
    let state = LoopState { mode: session.into(), loop_id: "L".to_owned(), ..LoopState::default() };
    let rules = mode::rules(&state.mode);
    for line in [rules.started_line(&state), rules.continues_line(&state)] {
        let (known, _) = line.split_once(',').unwrap();
        check_contains(&text, &[&format!("`{}`", known.replace("ID", "<id>"))]);
    }
    let told = in_session::next_step_text(&state);
    for words in ["Next:", "word for word", "subagent_type", "run_in_background"] {
        assert!(told.contains(words), "{words}: {told}");
        check_contains(&text, &[words]);
    }
    let contract = rules.loop_prompt("x", &state, &[], now());
    assert!(contract.contains("ralph session status"));
    check_contains(&text, &["ralph session status", "`.ralph-sessions/`"]);
    let head = FrontMatter::of(&text);
    assert_eq!(head.value("disable-model-invocation"), "true");
    AgentRole::ALL.iter().for_each(|of| check_contains(&text, &[of.name()]));
}

#[test]
fn every_input_that_an_agent_is_told_of_is_one_that_the_router_gives() {
    const GIVEN: [&str; 18] = [
        "SESSION_PATH",
        "MODE",
        "USER_REQUEST",
        "ITERATION",
        "CYCLE",
        "SIGNAL",
        "TASK_ID",
        "ATTEMPT_NUMBER",
        "FEEDBACK_CONTEXT",
        "REPORT_PATH",
        "REASON",
        "FINDINGS",
        "STATUS",
        "FEEDBACK_PATHS",
        "OUTPUT",
        "QUESTION_CATEGORY",
        "FEEDBACK_SOURCES",
        "PLAN_SNAPSHOT",
    ];
    let modes: Vec<&str> = Mode::all().map(Mode::word).collect();
    for of in AgentRole::ALL {
        let text = agent(of.name());
        let words = text.split('`').skip(1).step_by(2).filter(|word| {
            word.contains('_')
                && word.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_')
        });
        for word in words.filter(|word| !modes.contains(word)) {
            assert!(GIVEN.contains(&word) || word == "FAILED_TASKS", "{of}: {word}");
        }
    }
}
