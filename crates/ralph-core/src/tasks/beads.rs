//! Tasks that a project keeps in `bd` (beads), as a refinement reads them.
//!
//! Only `bd` writes them. The facts come from the documents and the source of bd 1.0.4 to 1.2.2
//! (`docs/JSON_SCHEMA.md`, `docs/CLI_REFERENCE.md`, `internal/types/types.go`).

mod read;
mod version;

pub use read::{Unreadable, read, said};
pub use version::{BdVersion, OLDEST, Unusable, usable};

use serde::Deserialize;
use serde_json::Value;

/// An issue of bd; members that Ralph does not use are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Bead {
    /// `bd-a1b2`, `bd-a1b2.3` …
    pub id: String,
    pub title: String,
    /// bd's status; a project may add its own.
    pub status: Option<String>,
    /// `task`, `bug`, `epic`, `gate` …
    pub issue_type: Option<String>,
    pub description: Option<String>,
    pub design: Option<String>,
    pub acceptance_criteria: Option<String>,
    pub notes: Option<String>,
    /// If bd omits them, see [`Bead::lacks_dependencies`].
    pub dependencies: Option<Vec<Dependency>>,
    pub dependency_count: Option<u64>,
    /// Only compared, so any JSON value is accepted.
    pub priority: Option<Value>,
    /// Only compared, so any JSON value is accepted.
    pub labels: Option<Value>,
}

/// A dependency of a bead: a record of two ids (`bd list`), or the other bead itself (`bd show`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Dependency {
    depends_on_id: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    id: Option<String>,
    dependency_type: Option<String>,
}

/// The default kind of `bd dep add`.
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
    /// True if the bead has dependencies that bd did not print.
    pub fn lacks_dependencies(&self) -> bool {
        self.dependencies.is_none() && self.dependency_count.unwrap_or_default() > 0
    }

    /// True if bd's status is exactly this word.
    pub fn is(&self, status: &str) -> bool {
        self.status() == status
    }

    // bd omits empty members, and an issue without a status is open.
    fn status(&self) -> &str {
        self.status.as_deref().filter(|word| !word.is_empty()).unwrap_or("open")
    }
}

#[cfg(test)]
mod tests;
