//! The files in an orchestration's folder, and their owners.
//!
//! Paths are parsed strictly: a path that is not listed here has no owner, and no spelling of a
//! path can leave the folder or bypass the owner of a file.

use super::agents::AgentRole;
use super::id::OrchestrationId;
use std::fmt;

/// The folder of all orchestrations, relative to the top of the project.
pub const SESSIONS: &str = ".ralph-sessions/";

/// A file in an orchestration's folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrchestrationFile<'a> {
    /// `plan.md`.
    Plan,
    /// `plan.iteration-N.md`: the plan of an iteration, as it was.
    PlanSnapshot(u32),
    /// `tasks/<task-id>.md`.
    Task(&'a str),
    /// `progress.md`: the only file with statuses.
    Progress,
    /// `reports/<task-id>-report[-r<N>].md`.
    Report {
        task: &'a str,
        /// The number of the attempt, counted from 1.
        attempt: u32,
    },
    /// `questions/<category>.md`.
    Questions(&'a str),
    /// `metadata.yaml`.
    Metadata,
    /// `iterations/<N>/metadata.yaml`.
    IterationMetadata(u32),
    /// Any file in `iterations/<N>/feedbacks/<timestamp>/`.
    Feedback {
        /// The iteration that the feedback requests.
        iteration: u32,
        /// The name of its folder.
        stamp: &'a str,
        /// The path, relative to that folder.
        file: &'a str,
    },
    /// Any file in `iterations/<N>/replanning/`.
    Replanning {
        iteration: u32,
        /// The path, relative to that folder.
        file: &'a str,
    },
    /// `iterations/<N>/questions/<category>.md`.
    IterationQuestions {
        iteration: u32,
        /// The file name without its extension.
        category: &'a str,
    },
    /// `iterations/<N>/review.md`.
    Review(u32),
    /// Any other file in `iterations/<N>/`.
    Iteration {
        iteration: u32,
        /// The path, relative to that folder.
        file: &'a str,
    },
    /// `signals/inputs/…`: messages from the user.
    SignalInput(&'a str),
    /// `signals/processed/…`: messages that were heard.
    SignalProcessed(&'a str),
    /// `../<SESSION_ID>.instructions.md`: the guardrails, next to the folder.
    Instructions,
}

/// Who may write a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOwner {
    Agent(AgentRole),
    /// Ralph itself.
    Router,
    /// The user.
    Person,
}

impl fmt::Display for FileOwner {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileOwner::Agent(agent) => agent.fmt(to),
            FileOwner::Router => to.write_str("`ralph session`"),
            FileOwner::Person => to.write_str("a person"),
        }
    }
}

const PLANNER: FileOwner = FileOwner::Agent(AgentRole::Planner);
const QUESTIONER: FileOwner = FileOwner::Agent(AgentRole::Questioner);
const EXECUTOR: FileOwner = FileOwner::Agent(AgentRole::Executor);
const REVIEWER: FileOwner = FileOwner::Agent(AgentRole::Reviewer);

impl<'a> OrchestrationFile<'a> {
    /// The file that a path within the folder refers to; `None` for a path that is not listed here.
    pub fn from_path(path: &'a str) -> Option<OrchestrationFile<'a>> {
        if !is_plain(path) {
            return None;
        }
        let (folder, rest) = path.split_once('/').unwrap_or(("", path));
        match folder {
            "" => match rest {
                "plan.md" => Some(OrchestrationFile::Plan),
                "progress.md" => Some(OrchestrationFile::Progress),
                "metadata.yaml" => Some(OrchestrationFile::Metadata),
                _ => number(rest.strip_prefix("plan.iteration-")?.strip_suffix(".md")?)
                    .map(OrchestrationFile::PlanSnapshot),
            },
            "tasks" => stem(rest).map(OrchestrationFile::Task),
            "reports" => report(rest),
            "questions" => stem(rest).map(OrchestrationFile::Questions),
            "iterations" => {
                let (iteration, file) = rest.split_once('/')?;
                iteration_file(number(iteration)?, file)
            }
            "signals" => match rest.split_once('/')? {
                ("inputs", name) if !name.contains('/') => {
                    Some(OrchestrationFile::SignalInput(name))
                }
                ("processed", name) if !name.contains('/') => {
                    Some(OrchestrationFile::SignalProcessed(name))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Who may write the file.
    pub fn owners(self) -> &'static [FileOwner] {
        match self {
            OrchestrationFile::Plan
            | OrchestrationFile::Task(_)
            | OrchestrationFile::Replanning { .. } => &[PLANNER],
            OrchestrationFile::PlanSnapshot(_) => &[PLANNER, FileOwner::Router],
            OrchestrationFile::Progress => {
                &[PLANNER, QUESTIONER, EXECUTOR, REVIEWER, FileOwner::Router]
            }
            OrchestrationFile::Report { .. } => &[EXECUTOR, REVIEWER],
            OrchestrationFile::Questions(_) | OrchestrationFile::IterationQuestions { .. } => {
                &[QUESTIONER]
            }
            OrchestrationFile::Metadata | OrchestrationFile::IterationMetadata(_) => {
                &[PLANNER, REVIEWER, FileOwner::Router]
            }
            OrchestrationFile::Review(_) => &[REVIEWER],
            OrchestrationFile::Feedback { .. } | OrchestrationFile::Iteration { .. } => {
                &[FileOwner::Person, PLANNER, QUESTIONER, EXECUTOR, REVIEWER, FileOwner::Router]
            }
            OrchestrationFile::SignalInput(_) | OrchestrationFile::SignalProcessed(_) => {
                &[FileOwner::Person, FileOwner::Router]
            }
            OrchestrationFile::Instructions => &[FileOwner::Person, PLANNER, FileOwner::Router],
        }
    }

    /// The path relative to the orchestration's folder, which for [`OrchestrationFile::Instructions`]
    /// leads out of it.
    pub fn path(self, id: &OrchestrationId) -> String {
        match self {
            OrchestrationFile::Instructions => format!("../{id}.instructions.md"),
            place => place.to_string(),
        }
    }
}

impl fmt::Display for OrchestrationFile<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OrchestrationFile::Plan => to.write_str("plan.md"),
            OrchestrationFile::PlanSnapshot(iteration) => {
                write!(to, "plan.iteration-{iteration}.md")
            }
            OrchestrationFile::Task(task) => write!(to, "tasks/{task}.md"),
            OrchestrationFile::Progress => to.write_str("progress.md"),
            OrchestrationFile::Report { task, attempt: 0 | 1 } => {
                write!(to, "reports/{task}-report.md")
            }
            OrchestrationFile::Report { task, attempt } => {
                write!(to, "reports/{task}-report-r{attempt}.md")
            }
            OrchestrationFile::Questions(category) => write!(to, "questions/{category}.md"),
            OrchestrationFile::Metadata => to.write_str("metadata.yaml"),
            OrchestrationFile::IterationMetadata(iteration) => {
                write!(to, "iterations/{iteration}/metadata.yaml")
            }
            OrchestrationFile::Feedback { iteration, stamp, file } => {
                write!(to, "iterations/{iteration}/feedbacks/{stamp}/{file}")
            }
            OrchestrationFile::Replanning { iteration, file } => {
                write!(to, "iterations/{iteration}/replanning/{file}")
            }
            OrchestrationFile::IterationQuestions { iteration, category } => {
                write!(to, "iterations/{iteration}/questions/{category}.md")
            }
            OrchestrationFile::Review(iteration) => write!(to, "iterations/{iteration}/review.md"),
            OrchestrationFile::Iteration { iteration, file } => {
                write!(to, "iterations/{iteration}/{file}")
            }
            OrchestrationFile::SignalInput(name) => write!(to, "signals/inputs/{name}"),
            OrchestrationFile::SignalProcessed(name) => write!(to, "signals/processed/{name}"),
            OrchestrationFile::Instructions => to.write_str("the session's instructions"),
        }
    }
}

/// The orchestration's folder, relative to the top of the project, with a trailing slash.
pub fn folder(id: &OrchestrationId) -> String {
    format!("{SESSIONS}{id}/")
}

/// The orchestration and the file that a path refers to, relative to the top of the project. The
/// file is `None` for an unknown path among the orchestrations; the whole result is `None` for a
/// path outside them.
pub fn within(path: &str) -> Option<(Option<OrchestrationId>, Option<OrchestrationFile<'_>>)> {
    let rest = path.strip_prefix(SESSIONS)?;
    if let Some(id) =
        rest.strip_suffix(".instructions.md").and_then(|id| OrchestrationId::parse(id).ok())
    {
        return Some((Some(id), Some(OrchestrationFile::Instructions)));
    }
    let (id, rest) = rest.split_once('/').unwrap_or((rest, ""));
    let id = OrchestrationId::parse(id).ok();
    let place = id.as_ref().and_then(|_| OrchestrationFile::from_path(rest));
    Some((id, place))
}

/// True for a valid task id. It becomes a file name.
pub fn is_task_id(id: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !id.is_empty()
        && id.len() <= 80
        && id.as_bytes()[0].is_ascii_alphanumeric()
        && id.bytes().all(letter)
        && !id.contains("..")
}

fn is_plain(path: &str) -> bool {
    let holds = |part: &str| !matches!(part, "" | "." | "..");
    path.split('/').all(holds) && !path.contains(['\\', '\0', '\n'])
}

/// Parses a number that has only one spelling: no sign and no leading zeros.
fn number(text: &str) -> Option<u32> {
    let number: u32 = text.parse().ok().filter(|number| *number > 0)?;
    (number.to_string() == text).then_some(number)
}

fn stem(file: &str) -> Option<&str> {
    file.strip_suffix(".md").filter(|stem| is_task_id(stem))
}

fn report(file: &str) -> Option<OrchestrationFile<'_>> {
    let stem = stem(file)?;
    if let Some(task) = stem.strip_suffix("-report").filter(|task| is_task_id(task)) {
        return Some(OrchestrationFile::Report { task, attempt: 1 });
    }
    let (task, attempt) = stem.rsplit_once("-report-r")?;
    let attempt = number(attempt).filter(|attempt| *attempt > 1)?;
    is_task_id(task).then_some(OrchestrationFile::Report { task, attempt })
}

fn iteration_file(iteration: u32, file: &str) -> Option<OrchestrationFile<'_>> {
    match file.split_once('/') {
        None if file == "metadata.yaml" => Some(OrchestrationFile::IterationMetadata(iteration)),
        None if file == "review.md" => Some(OrchestrationFile::Review(iteration)),
        Some(("feedbacks", rest)) => {
            let (stamp, file) = rest.split_once('/')?;
            Some(OrchestrationFile::Feedback { iteration, stamp, file })
        }
        Some(("replanning", file)) => Some(OrchestrationFile::Replanning { iteration, file }),
        Some(("questions", file)) => {
            Some(OrchestrationFile::IterationQuestions { iteration, category: stem(file)? })
        }
        _ => Some(OrchestrationFile::Iteration { iteration, file }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: OrchestrationFile<'_>, owners: &[FileOwner]) {
        let place = OrchestrationFile::from_path(path);
        assert_eq!(place, Some(expected));
        assert_eq!(place.unwrap().to_string(), path);
        assert_eq!(expected.owners(), owners);
    }

    #[test]
    fn every_artefact_has_its_name_and_its_owners() {
        let anyone =
            &[FileOwner::Person, PLANNER, QUESTIONER, EXECUTOR, REVIEWER, FileOwner::Router];
        check("plan.md", OrchestrationFile::Plan, &[PLANNER]);
        check(
            "plan.iteration-12.md",
            OrchestrationFile::PlanSnapshot(12),
            &[PLANNER, FileOwner::Router],
        );
        check("tasks/task-1.md", OrchestrationFile::Task("task-1"), &[PLANNER]);
        check("progress.md", OrchestrationFile::Progress, &anyone[1..]);
        let report = |attempt| OrchestrationFile::Report { task: "task-1", attempt };
        check("reports/task-1-report.md", report(1), &[EXECUTOR, REVIEWER]);
        check("reports/task-1-report-r2.md", report(2), &[EXECUTOR, REVIEWER]);
        check("questions/risks.md", OrchestrationFile::Questions("risks"), &[QUESTIONER]);
        let of_metadata = &[PLANNER, REVIEWER, FileOwner::Router];
        check("metadata.yaml", OrchestrationFile::Metadata, of_metadata);
        check("iterations/2/metadata.yaml", OrchestrationFile::IterationMetadata(2), of_metadata);
        let feedback =
            |file| OrchestrationFile::Feedback { iteration: 2, stamp: "20260131-120000", file };
        check("iterations/2/feedbacks/20260131-120000/a/b.log", feedback("a/b.log"), anyone);
        let delta = OrchestrationFile::Replanning { iteration: 2, file: "delta.md" };
        check("iterations/2/replanning/delta.md", delta, &[PLANNER]);
        let questions =
            OrchestrationFile::IterationQuestions { iteration: 2, category: "feedback-driven" };
        check("iterations/2/questions/feedback-driven.md", questions, &[QUESTIONER]);
        check("iterations/2/review.md", OrchestrationFile::Review(2), &[REVIEWER]);
        check(
            "iterations/2/x/y.md",
            OrchestrationFile::Iteration { iteration: 2, file: "x/y.md" },
            anyone,
        );
        let of_signals = &[FileOwner::Person, FileOwner::Router];
        check("signals/inputs/a", OrchestrationFile::SignalInput("a"), of_signals);
        check("signals/processed/a", OrchestrationFile::SignalProcessed("a"), of_signals);
    }

    #[test]
    fn what_has_no_name_here_is_nothing() {
        for path in [
            "",
            "plan.txt",
            "plan.iteration-0.md",
            "plan.iteration-01.md",
            "plan.iteration-+1.md",
            "tasks/a/b.md",
            "tasks/.md",
            "tasks/../plan.md",
            "tasks/a b.md",
            "./plan.md",
            "/plan.md",
            "tasks//a.md",
            "reports/task-1.md",
            "reports/-report.md",
            "reports/a-report-r1.md",
            "reports/a-report-r02.md",
            "iterations/0/review.md",
            "iterations/x/review.md",
            "iterations/1",
            "iterations/2/feedbacks/20260131",
            "signals/inputs",
            "signals/other/a",
            "signals/inputs/a/b",
            "notes.md",
            "tasks\\a.md",
        ] {
            assert_eq!(OrchestrationFile::from_path(path), None, "{path}");
        }
    }

    #[test]
    fn a_path_of_the_project_names_its_session() {
        let id = OrchestrationId::parse("260131-120000").unwrap();
        assert_eq!(folder(&id), ".ralph-sessions/260131-120000/");
        assert_eq!(
            within(".ralph-sessions/260131-120000/plan.md"),
            Some((Some(id.clone()), Some(OrchestrationFile::Plan)))
        );
        assert_eq!(
            within(".ralph-sessions/260131-120000.instructions.md"),
            Some((Some(id.clone()), Some(OrchestrationFile::Instructions)))
        );
        assert_eq!(OrchestrationFile::Instructions.path(&id), "../260131-120000.instructions.md");
        assert_eq!(within(".ralph-sessions/260131-120000/x"), Some((Some(id), None)));
        assert_eq!(within(".ralph-sessions/other/plan.md"), Some((None, None)));
        assert_eq!(within("src/plan.md"), None);
    }
}
