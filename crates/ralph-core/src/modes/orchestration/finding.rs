//! Something that is wrong with a session's folder: where, and what to do.

use super::files::SessionFile;
use std::fmt;

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFinding {
    /// The file, from the session's folder.
    pub file: String,
    /// Its line, counted from 1; 0 for the file as a whole.
    pub line: usize,
    /// What is wrong, and what to do.
    pub what: String,
    /// How bad it is.
    pub weight: Weight,
}

/// How bad something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// The work goes on, but perhaps not as it was meant.
    Notice,
    /// A task cannot be carried out.
    Blocks,
    /// The state of the session cannot be read: it is repaired before anything else.
    Invalid,
}

impl SessionFinding {
    /// Something that is to be noticed.
    pub fn new(place: SessionFile<'_>, line: usize, what: impl Into<String>) -> SessionFinding {
        SessionFinding { file: place.to_string(), line, what: what.into(), weight: Weight::Notice }
    }

    /// Something that keeps a task from being carried out.
    pub fn blocks(place: SessionFile<'_>, line: usize, what: impl Into<String>) -> SessionFinding {
        SessionFinding { weight: Weight::Blocks, ..SessionFinding::new(place, line, what) }
    }

    /// Something that keeps the session from being read.
    pub fn invalid(place: SessionFile<'_>, line: usize, what: impl Into<String>) -> SessionFinding {
        SessionFinding { weight: Weight::Invalid, ..SessionFinding::new(place, line, what) }
    }
}

impl fmt::Display for SessionFinding {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(to, "{}: {}", self.file, self.what),
            line => write!(to, "{}:{line}: {}", self.file, self.what),
        }
    }
}
