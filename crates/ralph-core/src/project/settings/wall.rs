//! The section `[wall]`: what a command may reach while nothing may be changed.

use serde::{Deserialize, Serialize};

/// The section `[wall]`. Only the user opens anything.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WallSettings {
    /// True to let commands open connections while a plan is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<bool>,
}

impl WallSettings {
    pub(super) fn over(self, below: WallSettings) -> WallSettings {
        WallSettings { network: self.network.or(below.network) }
    }

    pub(super) fn refused(&self) -> Option<String> {
        None
    }
}
