//! The list of the versions of a plan.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Where a text comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// The plan as a round found it.
    Found,
    /// The plan as a round made it.
    Round,
    /// A round's text that did not become the plan.
    Aside,
    /// The plan before an older version replaced it.
    Replaced,
    /// A value from a later version of Ralph.
    #[serde(other)]
    Other,
}

/// One version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptVersion {
    /// Counted from 1.
    pub number: u32,
    /// The round that it belongs to; 0 for none.
    pub round: u32,
    pub what: What,
    /// When it was stored.
    pub at: Timestamp,
    /// The digest of the text.
    pub sha256: String,
}

impl KeptVersion {
    /// Where the version comes from, for the user.
    pub fn origin(&self) -> String {
        let round = self.round;
        match self.what {
            What::Found => format!("the plan before round {round}"),
            What::Round => format!("the plan after round {round}"),
            What::Aside => format!("what round {round} wrote, which is not the plan"),
            What::Replaced => "the plan before a version was restored".to_owned(),
            What::Other => "of a newer version of ralph".to_owned(),
        }
    }

    /// True if this round wrote it.
    pub fn is_written_by(&self, round: u32) -> bool {
        self.round == round && matches!(self.what, What::Round | What::Aside)
    }
}
