//! What is where in the folder of a session, and who writes it.
//!
//! A path is read strictly: what has no name here belongs to nobody, and no spelling of a path leads
//! out of the folder or past the owner of what it means.

use super::agents::Agent;
use super::id::SessionId;
use std::fmt;

/// Where sessions are, from the top of the project.
pub const SESSIONS: &str = ".ralph-sessions/";

/// Something in the folder of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place<'a> {
    /// `plan.md`.
    Plan,
    /// `plan.iteration-N.md`: the plan of an iteration, as it was.
    PlanSnapshot(u32),
    /// `tasks/<task-id>.md`.
    Task(&'a str),
    /// `progress.md`: the one place of status.
    Progress,
    /// `reports/<task-id>-report[-r<N>].md`.
    Report {
        /// The task.
        task: &'a str,
        /// Which attempt, counted from 1.
        attempt: u32,
    },
    /// `questions/<category>.md`.
    Questions(&'a str),
    /// `metadata.yaml`.
    Metadata,
    /// `iterations/<N>/metadata.yaml`.
    IterationMetadata(u32),
    /// Anything in `iterations/<N>/feedbacks/<timestamp>/`.
    Feedback {
        /// The iteration that it asks for.
        iteration: u32,
        /// The name of its folder.
        stamp: &'a str,
        /// The file, from that folder.
        file: &'a str,
    },
    /// Anything in `iterations/<N>/replanning/`.
    Replanning {
        /// The iteration.
        iteration: u32,
        /// The file, from that folder.
        file: &'a str,
    },
    /// `iterations/<N>/questions/<category>.md`.
    IterationQuestions {
        /// The iteration.
        iteration: u32,
        /// Its name without the ending.
        category: &'a str,
    },
    /// `iterations/<N>/review.md`.
    Review(u32),
    /// Anything else in `iterations/<N>/`.
    Iteration {
        /// The iteration.
        iteration: u32,
        /// The file, from that folder.
        file: &'a str,
    },
    /// `signals/inputs/…`: what a person has sent.
    SignalInput(&'a str),
    /// `signals/processed/…`: what was heard.
    SignalProcessed(&'a str),
    /// `../<SESSION_ID>.instructions.md`: the guardrails, beside the folder.
    Instructions,
}

/// Who may write something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// An agent.
    Agent(Agent),
    /// The program itself.
    Router,
    /// A person.
    Person,
}

impl fmt::Display for Owner {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Owner::Agent(agent) => agent.fmt(to),
            Owner::Router => to.write_str("`ralph session`"),
            Owner::Person => to.write_str("a person"),
        }
    }
}

const PLANNER: Owner = Owner::Agent(Agent::Planner);
const QUESTIONER: Owner = Owner::Agent(Agent::Questioner);
const EXECUTOR: Owner = Owner::Agent(Agent::Executor);
const REVIEWER: Owner = Owner::Agent(Agent::Reviewer);

impl<'a> Place<'a> {
    /// What a path within the folder means; none if it means nothing that has a name here.
    pub fn of(path: &'a str) -> Option<Place<'a>> {
        if !is_plain(path) {
            return None;
        }
        let (folder, rest) = path.split_once('/').unwrap_or(("", path));
        match folder {
            "" => match rest {
                "plan.md" => Some(Place::Plan),
                "progress.md" => Some(Place::Progress),
                "metadata.yaml" => Some(Place::Metadata),
                _ => number(rest.strip_prefix("plan.iteration-")?.strip_suffix(".md")?)
                    .map(Place::PlanSnapshot),
            },
            "tasks" => stem(rest).map(Place::Task),
            "reports" => report(rest),
            "questions" => stem(rest).map(Place::Questions),
            "iterations" => {
                let (iteration, file) = rest.split_once('/')?;
                iteration_file(number(iteration)?, file)
            }
            "signals" => match rest.split_once('/')? {
                ("inputs", name) if !name.contains('/') => Some(Place::SignalInput(name)),
                ("processed", name) if !name.contains('/') => Some(Place::SignalProcessed(name)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Who may write it.
    pub fn owners(self) -> &'static [Owner] {
        match self {
            Place::Plan | Place::Task(_) | Place::Replanning { .. } => &[PLANNER],
            Place::PlanSnapshot(_) => &[PLANNER, Owner::Router],
            Place::Progress => &[PLANNER, QUESTIONER, EXECUTOR, REVIEWER, Owner::Router],
            Place::Report { .. } => &[EXECUTOR, REVIEWER],
            Place::Questions(_) | Place::IterationQuestions { .. } => &[QUESTIONER],
            Place::Metadata | Place::IterationMetadata(_) => &[PLANNER, REVIEWER, Owner::Router],
            Place::Review(_) => &[REVIEWER],
            Place::Feedback { .. } | Place::Iteration { .. } => {
                &[Owner::Person, PLANNER, QUESTIONER, EXECUTOR, REVIEWER, Owner::Router]
            }
            Place::SignalInput(_) | Place::SignalProcessed(_) => &[Owner::Person, Owner::Router],
            Place::Instructions => &[Owner::Person, PLANNER, Owner::Router],
        }
    }

    /// The path within the folder, for [`Place::Instructions`] the one from it.
    pub fn path(self, id: &SessionId) -> String {
        match self {
            Place::Instructions => format!("../{id}.instructions.md"),
            place => place.to_string(),
        }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Plan => to.write_str("plan.md"),
            Place::PlanSnapshot(iteration) => write!(to, "plan.iteration-{iteration}.md"),
            Place::Task(task) => write!(to, "tasks/{task}.md"),
            Place::Progress => to.write_str("progress.md"),
            Place::Report { task, attempt: 0 | 1 } => write!(to, "reports/{task}-report.md"),
            Place::Report { task, attempt } => write!(to, "reports/{task}-report-r{attempt}.md"),
            Place::Questions(category) => write!(to, "questions/{category}.md"),
            Place::Metadata => to.write_str("metadata.yaml"),
            Place::IterationMetadata(iteration) => {
                write!(to, "iterations/{iteration}/metadata.yaml")
            }
            Place::Feedback { iteration, stamp, file } => {
                write!(to, "iterations/{iteration}/feedbacks/{stamp}/{file}")
            }
            Place::Replanning { iteration, file } => {
                write!(to, "iterations/{iteration}/replanning/{file}")
            }
            Place::IterationQuestions { iteration, category } => {
                write!(to, "iterations/{iteration}/questions/{category}.md")
            }
            Place::Review(iteration) => write!(to, "iterations/{iteration}/review.md"),
            Place::Iteration { iteration, file } => write!(to, "iterations/{iteration}/{file}"),
            Place::SignalInput(name) => write!(to, "signals/inputs/{name}"),
            Place::SignalProcessed(name) => write!(to, "signals/processed/{name}"),
            Place::Instructions => to.write_str("the session's instructions"),
        }
    }
}

/// Where the session is, from the top of the project, with a slash at its end.
pub fn folder(id: &SessionId) -> String {
    format!("{SESSIONS}{id}/")
}

/// The session and what in it a path means, from the top of the project. For a path among the
/// sessions that means nothing the place is none; for any other path all is.
pub fn within(path: &str) -> Option<(Option<SessionId>, Option<Place<'_>>)> {
    let rest = path.strip_prefix(SESSIONS)?;
    if let Some(id) = rest.strip_suffix(".instructions.md").and_then(|id| SessionId::parse(id).ok())
    {
        return Some((Some(id), Some(Place::Instructions)));
    }
    let (id, rest) = rest.split_once('/').unwrap_or((rest, ""));
    let id = SessionId::parse(id).ok();
    let place = id.as_ref().and_then(|_| Place::of(rest));
    Some((id, place))
}

/// True for a name that a task may have: it becomes the name of a file.
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

/// A number that is written in one way only: without a sign and without zeros before it.
fn number(text: &str) -> Option<u32> {
    let number: u32 = text.parse().ok().filter(|number| *number > 0)?;
    (number.to_string() == text).then_some(number)
}

fn stem(file: &str) -> Option<&str> {
    file.strip_suffix(".md").filter(|stem| is_task_id(stem))
}

fn report(file: &str) -> Option<Place<'_>> {
    let stem = stem(file)?;
    if let Some(task) = stem.strip_suffix("-report").filter(|task| is_task_id(task)) {
        return Some(Place::Report { task, attempt: 1 });
    }
    let (task, attempt) = stem.rsplit_once("-report-r")?;
    let attempt = number(attempt).filter(|attempt| *attempt > 1)?;
    is_task_id(task).then_some(Place::Report { task, attempt })
}

fn iteration_file(iteration: u32, file: &str) -> Option<Place<'_>> {
    match file.split_once('/') {
        None if file == "metadata.yaml" => Some(Place::IterationMetadata(iteration)),
        None if file == "review.md" => Some(Place::Review(iteration)),
        Some(("feedbacks", rest)) => {
            let (stamp, file) = rest.split_once('/')?;
            Some(Place::Feedback { iteration, stamp, file })
        }
        Some(("replanning", file)) => Some(Place::Replanning { iteration, file }),
        Some(("questions", file)) => {
            Some(Place::IterationQuestions { iteration, category: stem(file)? })
        }
        _ => Some(Place::Iteration { iteration, file }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: Place<'_>, owners: &[Owner]) {
        let place = Place::of(path);
        assert_eq!(place, Some(expected));
        assert_eq!(place.unwrap().to_string(), path);
        assert_eq!(expected.owners(), owners);
    }

    #[test]
    fn every_artefact_has_its_name_and_its_owners() {
        let anyone = &[Owner::Person, PLANNER, QUESTIONER, EXECUTOR, REVIEWER, Owner::Router];
        check("plan.md", Place::Plan, &[PLANNER]);
        check("plan.iteration-12.md", Place::PlanSnapshot(12), &[PLANNER, Owner::Router]);
        check("tasks/task-1.md", Place::Task("task-1"), &[PLANNER]);
        check("progress.md", Place::Progress, &anyone[1..]);
        let report = |attempt| Place::Report { task: "task-1", attempt };
        check("reports/task-1-report.md", report(1), &[EXECUTOR, REVIEWER]);
        check("reports/task-1-report-r2.md", report(2), &[EXECUTOR, REVIEWER]);
        check("questions/risks.md", Place::Questions("risks"), &[QUESTIONER]);
        let of_metadata = &[PLANNER, REVIEWER, Owner::Router];
        check("metadata.yaml", Place::Metadata, of_metadata);
        check("iterations/2/metadata.yaml", Place::IterationMetadata(2), of_metadata);
        let feedback = |file| Place::Feedback { iteration: 2, stamp: "20260131-120000", file };
        check("iterations/2/feedbacks/20260131-120000/a/b.log", feedback("a/b.log"), anyone);
        let delta = Place::Replanning { iteration: 2, file: "delta.md" };
        check("iterations/2/replanning/delta.md", delta, &[PLANNER]);
        let questions = Place::IterationQuestions { iteration: 2, category: "feedback-driven" };
        check("iterations/2/questions/feedback-driven.md", questions, &[QUESTIONER]);
        check("iterations/2/review.md", Place::Review(2), &[REVIEWER]);
        check("iterations/2/x/y.md", Place::Iteration { iteration: 2, file: "x/y.md" }, anyone);
        let of_signals = &[Owner::Person, Owner::Router];
        check("signals/inputs/a", Place::SignalInput("a"), of_signals);
        check("signals/processed/a", Place::SignalProcessed("a"), of_signals);
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
            assert_eq!(Place::of(path), None, "{path}");
        }
    }

    #[test]
    fn a_path_of_the_project_names_its_session() {
        let id = SessionId::parse("260131-120000").unwrap();
        assert_eq!(folder(&id), ".ralph-sessions/260131-120000/");
        assert_eq!(
            within(".ralph-sessions/260131-120000/plan.md"),
            Some((Some(id.clone()), Some(Place::Plan)))
        );
        assert_eq!(
            within(".ralph-sessions/260131-120000.instructions.md"),
            Some((Some(id.clone()), Some(Place::Instructions)))
        );
        assert_eq!(Place::Instructions.path(&id), "../260131-120000.instructions.md");
        assert_eq!(within(".ralph-sessions/260131-120000/x"), Some((Some(id), None)));
        assert_eq!(within(".ralph-sessions/other/plan.md"), Some((None, None)));
        assert_eq!(within("src/plan.md"), None);
    }
}
