//! The section `[shared]`: loops that machines share through a git remote.

use crate::tasks::shared::budget::PUSHES_PER_MINUTE;
use crate::tasks::shared::plan::LEASE_SECONDS;
use crate::tasks::shared::record::LONGEST_LEASE;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The section `[shared]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SharedSettings {
    /// Seconds after which a claim expires whose machine does not renew it. `ralph share` writes them
    /// into the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_seconds: Option<u64>,
    /// Seconds between two reads of the remote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_seconds: Option<u64>,
    /// Pushes in a minute of all machines together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pushes_per_minute: Option<u32>,
    /// True to put the references below `refs/heads/`, for hosts that refuse others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below_heads: Option<bool>,
}

const POLL_SECONDS: u64 = 15;

impl SharedSettings {
    pub(super) fn over(self, below: SharedSettings) -> SharedSettings {
        SharedSettings {
            lease_seconds: self.lease_seconds.or(below.lease_seconds),
            poll_seconds: self.poll_seconds.or(below.poll_seconds),
            pushes_per_minute: self.pushes_per_minute.or(below.pushes_per_minute),
            below_heads: self.below_heads.or(below.below_heads),
        }
    }

    pub fn lease_seconds(&self) -> u64 {
        self.lease_seconds.unwrap_or(LEASE_SECONDS)
    }

    pub fn poll(&self) -> Duration {
        Duration::from_secs(self.poll_seconds.unwrap_or(POLL_SECONDS))
    }

    pub fn pushes_per_minute(&self) -> u32 {
        self.pushes_per_minute.unwrap_or(PUSHES_PER_MINUTE)
    }

    pub fn is_below_heads(&self) -> bool {
        self.below_heads == Some(true)
    }

    pub(super) fn refused(&self) -> Option<String> {
        let numbers = [
            ("lease_seconds", self.lease_seconds, LONGEST_LEASE),
            ("poll_seconds", self.poll_seconds, 3_600),
            ("pushes_per_minute", self.pushes_per_minute.map(u64::from), 100_000),
        ];
        numbers.into_iter().find_map(|(name, given, most)| {
            let given = given.filter(|given| !(1..=most).contains(given))?;
            Some(format!("`shared.{name}` is a whole number from 1 to {most}, not {given}"))
        })
    }
}
