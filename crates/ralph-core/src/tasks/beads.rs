//! Tasks that a project keeps in `bd` (beads), as a refinement reads them.
//!
//! Only bd writes them. The facts are those of bd's own documents and source, 1.0.4
//! to 1.2.2 (`docs/JSON_SCHEMA.md`, `docs/CLI_REFERENCE.md`, `internal/types/types.go`).

mod read;
mod version;

pub use read::{Unreadable, read, said};
pub use version::{BdVersion, OLDEST, Unusable, usable};

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
    /// What is to be done, at length.
    pub description: Option<String>,
    /// How.
    pub design: Option<String>,
    /// How one can tell that it is done.
    pub acceptance_criteria: Option<String>,
    /// What was said about it meanwhile.
    pub notes: Option<String>,
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
}

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
}

impl Bead {
    /// True if it depends on something and bd did not print on what.
    pub fn lacks_dependencies(&self) -> bool {
        self.dependencies.is_none() && self.dependency_count.unwrap_or_default() > 0
    }

    /// True for this very word of bd.
    pub fn is(&self, status: &str) -> bool {
        self.status() == status
    }

    // bd leaves out what is empty, and an issue without a status is open.
    fn status(&self) -> &str {
        self.status.as_deref().filter(|word| !word.is_empty()).unwrap_or("open")
    }
}

#[cfg(test)]
mod tests;
