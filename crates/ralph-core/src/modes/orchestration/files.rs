//! The files in an orchestration's folder, and their owners.
//!
//! Paths are parsed strictly: a path that is not listed here has no owner, and no spelling of a
//! path can leave the folder or bypass the owner of a file.

use super::agents::AgentRole;
use super::id::OrchestrationId;
use std::fmt;

/// The folder of all orchestrations, relative to the top of the project.
pub const SESSIONS: &str = ".ralph-sessions/";

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

    /// The agents that may write the file. Most files are also written by Ralph or by the user.
    pub fn writers(self) -> &'static [AgentRole] {
        match self {
            OrchestrationFile::Plan
            | OrchestrationFile::PlanSnapshot(_)
            | OrchestrationFile::Task(_)
            | OrchestrationFile::Replanning { .. }
            | OrchestrationFile::Instructions => &[AgentRole::Planner],
            OrchestrationFile::Questions(_) | OrchestrationFile::IterationQuestions { .. } => {
                &[AgentRole::Questioner]
            }
            OrchestrationFile::Report { .. } => &[AgentRole::Executor, AgentRole::Reviewer],
            OrchestrationFile::Metadata | OrchestrationFile::IterationMetadata(_) => {
                &[AgentRole::Planner, AgentRole::Reviewer]
            }
            OrchestrationFile::Review(_) => &[AgentRole::Reviewer],
            OrchestrationFile::Progress
            | OrchestrationFile::Feedback { .. }
            | OrchestrationFile::Iteration { .. } => &AgentRole::ALL,
            OrchestrationFile::SignalInput(_) | OrchestrationFile::SignalProcessed(_) => &[],
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
            OrchestrationFile::Instructions => to.write_str("<SESSION_ID>.instructions.md"),
        }
    }
}

/// The orchestration's folder, relative to the top of the project, with a trailing slash.
pub fn folder(id: &OrchestrationId) -> String {
    format!("{SESSIONS}{id}/")
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
}
