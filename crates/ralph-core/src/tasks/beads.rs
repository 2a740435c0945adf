//! Tasks that a project keeps in `bd` (beads): its words, read into ours.
//!
//! Only bd writes them. What is ready is for bd to say, too: it knows of parents, gates and dates
//! that a task of ours does not have. The facts are those of bd's own documents and source, 1.0.4
//! to 1.2.2 (`docs/JSON_SCHEMA.md`, `docs/CLI_REFERENCE.md`, `internal/types/types.go`).

mod read;
mod refused;
mod version;

pub use read::{Unreadable, read, said};
pub use refused::BeadError;
pub use version::{BdVersion, OLDEST, Unusable, usable};

use crate::state::{Task, TaskStatus};
use crate::tasks::graph::{Claim, DependencyResult};
use serde::Deserialize;
use serde_json::Value;

/// An issue of bd, as far as we read it; other members are passed over.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Bead {
    /// `bd-a1b2`, `bd-a1b2.3` …
    pub id: String,
    /// In words.
    pub title: String,
    /// Where it stands; a project may add words of its own.
    pub status: Option<String>,
    /// `task`, `bug`, `epic`, `gate` …
    pub issue_type: Option<String>,
    /// Who has it.
    pub assignee: Option<String>,
    /// What is to be done, at length.
    pub description: Option<String>,
    /// How.
    pub design: Option<String>,
    /// How one can tell that it is done.
    pub acceptance_criteria: Option<String>,
    /// What was said about it meanwhile.
    pub notes: Option<String>,
    /// What came of it.
    pub close_reason: Option<String>,
    /// What it depends on; where bd left them out, [`Bead::lacks_dependencies`].
    pub dependencies: Option<Vec<Dependency>>,
    /// How many there are.
    pub dependency_count: Option<u64>,
    /// How urgent it is; only compared, and so of any shape.
    pub priority: Option<Value>,
    /// Its labels; only compared, too.
    pub labels: Option<Value>,
}

/// What a bead depends on: a record of two ids (`bd list`), or the other bead itself (`bd show`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Dependency {
    depends_on_id: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    id: Option<String>,
    dependency_type: Option<String>,
    title: Option<String>,
    status: Option<String>,
    close_reason: Option<String>,
}

/// The kinds of dependencies that keep a bead from being begun while the other one is open. A child
/// does not wait for its parent.
const BLOCKING: [&str; 3] = ["blocks", "conditional-blocks", "waits-for"];

/// The kind that `bd dep add` makes where nothing else is said.
pub const PLAIN: &str = "blocks";

impl Dependency {
    /// The id of the other bead.
    pub fn on(&self) -> &str {
        self.depends_on_id.as_deref().or(self.id.as_deref()).unwrap_or_default()
    }

    /// `blocks`, `parent-child`, `related` …
    pub fn kind(&self) -> &str {
        self.kind.as_deref().or(self.dependency_type.as_deref()).unwrap_or(PLAIN)
    }

    fn blocks(&self) -> bool {
        BLOCKING.contains(&self.kind()) && !self.on().is_empty()
    }

    fn is_closed(&self) -> bool {
        self.status.as_deref() == Some("closed")
    }
}

impl Bead {
    /// The dependencies for which it waits.
    pub fn blockers(&self) -> impl Iterator<Item = &Dependency> {
        self.dependencies.iter().flatten().filter(|dependency| dependency.blocks())
    }

    /// True if it depends on something and bd did not print on what.
    pub fn lacks_dependencies(&self) -> bool {
        self.dependencies.is_none() && self.dependency_count.unwrap_or_default() > 0
    }

    /// The same in our words. What it waits for outside is blocked, be it for a date (`deferred`).
    pub fn task(&self) -> Task {
        let status = match self.status() {
            "closed" => TaskStatus::Done,
            // A gate is no work: it opens by itself, or a person opens it.
            _ if self.issue_type.as_deref() == Some("gate") => TaskStatus::Other("gate".to_owned()),
            "open" => TaskStatus::Pending,
            "in_progress" | "hooked" => TaskStatus::InProgress,
            "blocked" | "deferred" => TaskStatus::Blocked,
            other => TaskStatus::Other(other.to_owned()),
        };
        let result = match status {
            TaskStatus::Done => said_in(&self.close_reason),
            _ => last_line(&self.notes).or_else(|| self.is("deferred").then(|| "deferred".into())),
        };
        let description = said_in(&self.description).map(Value::from);
        Task {
            id: self.id.clone(),
            name: self.title.clone(),
            deps: self.blockers().map(|dependency| dependency.on().to_owned()).collect(),
            status,
            completion_condition: self.acceptance_criteria.clone().unwrap_or_default(),
            owner: said_in(&self.assignee),
            result,
            extra: description.map(|text| ("description".to_owned(), text)).into_iter().collect(),
            ..Task::default()
        }
    }

    /// The task, and those it depends on as far as `bd show` tells of them.
    pub fn surroundings(&self) -> Vec<Task> {
        let others = self.blockers().map(|dependency| {
            Bead {
                id: dependency.on().to_owned(),
                title: dependency.title.clone().unwrap_or_default(),
                status: dependency.status.clone(),
                ..Bead::default()
            }
            .task()
        });
        std::iter::once(self.task()).chain(others).collect()
    }

    /// The task with what came of those that it depends on, for whoever has claimed it.
    pub fn claim(&self) -> Claim {
        let finding = |dependency: &Dependency| DependencyResult {
            id: dependency.on().to_owned(),
            name: dependency.title.clone().unwrap_or_default(),
            result: said_in(&dependency.close_reason),
        };
        Claim { task: self.task(), findings: self.blockers().map(finding).collect() }
    }

    /// True if it is this one's, and under way.
    pub fn is_held_by(&self, actor: &str) -> bool {
        self.is("in_progress") && self.assignee.as_deref() == Some(actor)
    }

    /// Why it cannot be claimed as it stands; none where nothing speaks against it.
    pub fn not_for(&self, actor: &str) -> Option<BeadError> {
        if let Some(refused) = self.held_by_other(actor) {
            return Some(refused);
        }
        match self.status() {
            "open" => self.waits(),
            "in_progress" if self.is_held_by(actor) => None,
            _ => Some(self.stands()),
        }
    }

    /// Why this one may not say what became of it. Without a name anybody may.
    ///
    /// # Errors
    /// When it is closed already, or under way in other hands.
    pub fn may_end(&self, by: Option<&str>) -> Result<(), BeadError> {
        match self.status() {
            "closed" => Err(self.stands()),
            "in_progress" | "hooked" => match by.and_then(|by| self.held_by_other(by)) {
                Some(refused) => Err(refused),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// As [`Bead::may_end`]; and what it depends on must be closed.
    ///
    /// # Errors
    /// When it may not be called done.
    pub fn may_be_done(&self, by: Option<&str>) -> Result<(), BeadError> {
        self.may_end(by)?;
        self.waits().map_or(Ok(()), Err)
    }

    /// True for this very word of bd.
    pub fn is(&self, status: &str) -> bool {
        self.status() == status
    }

    // bd leaves out what is empty, and an issue without a status is open.
    fn status(&self) -> &str {
        self.status.as_deref().filter(|word| !word.is_empty()).unwrap_or("open")
    }

    fn held_by_other(&self, actor: &str) -> Option<BeadError> {
        let by = said_in(&self.assignee).filter(|by| by != actor && !self.is("closed"))?;
        Some(BeadError::Held { id: self.id.clone(), by })
    }

    fn waits(&self) -> Option<BeadError> {
        let open = self.blockers().find(|dependency| !dependency.is_closed())?;
        Some(BeadError::Waits { id: self.id.clone(), on: open.on().to_owned() })
    }

    fn stands(&self) -> BeadError {
        BeadError::Closed { id: self.id.clone(), status: self.status().to_owned() }
    }
}

/// All of them in our words.
pub fn tasks(beads: &[Bead]) -> Vec<Task> {
    beads.iter().map(Bead::task).collect()
}

/// Of what is ready, what this one can claim: what nobody has, or what was given to it. One that bd
/// gives to a pool is claimed by its id.
pub fn candidates<'a>(ready: &'a [Bead], actor: &str) -> impl Iterator<Item = &'a Bead> {
    ready.iter().filter(move |bead| bead.held_by_other(actor).is_none())
}

/// True for what can be an id of bd. What is none would be read as an option, or as no argument.
pub fn is_id(id: &str) -> bool {
    let plain = |letter: char| letter.is_alphanumeric() || "-_.:".contains(letter);
    !id.is_empty() && !id.starts_with('-') && id.chars().all(plain)
}

fn said_in(text: &Option<String>) -> Option<String> {
    text.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// What was said last: bd adds each note below the others.
fn last_line(text: &Option<String>) -> Option<String> {
    let mut lines = text.as_deref().unwrap_or_default().lines().map(str::trim);
    lines.rfind(|line| !line.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests;
