//! A problem in an orchestration's folder: where it is, and what to do.

use super::files::OrchestrationFile;
use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrchestrationFinding {
    /// The file, relative to the orchestration's folder.
    pub file: String,
    /// The line, counted from 1; 0 for the whole file.
    pub line: usize,
    /// What is wrong, and what to do.
    pub what: String,
    pub weight: Weight,
}

/// The severity of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// The work continues, but perhaps not as intended.
    Notice,
    /// A task cannot be executed.
    Blocks,
    /// The orchestration's state cannot be read and must be repaired first.
    Invalid,
}

impl OrchestrationFile<'_> {
    /// A problem in this file that does not stop the work.
    pub fn notice(self, line: usize, what: impl Into<String>) -> OrchestrationFinding {
        let (file, what) = (self.to_string(), what.into());
        OrchestrationFinding { file, line, what, weight: Weight::Notice }
    }

    /// A problem in this file that prevents a task from being executed.
    pub fn blocks(self, line: usize, what: impl Into<String>) -> OrchestrationFinding {
        OrchestrationFinding { weight: Weight::Blocks, ..self.notice(line, what) }
    }

    /// A problem in this file that prevents the orchestration's state from being read.
    pub fn invalid(self, line: usize, what: impl Into<String>) -> OrchestrationFinding {
        OrchestrationFinding { weight: Weight::Invalid, ..self.notice(line, what) }
    }
}

impl OrchestrationFinding {
    /// The same in a file that is rendered anew from what is kept.
    pub(super) fn mended(self) -> OrchestrationFinding {
        OrchestrationFinding { weight: Weight::Notice, ..self }
    }
}

impl fmt::Display for OrchestrationFinding {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(to, "{}: {}", self.file, self.what),
            line => write!(to, "{}:{line}: {}", self.file, self.what),
        }
    }
}
