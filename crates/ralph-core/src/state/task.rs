//! One task of the work.

use super::{Extra, TaskStatus, is_zero};
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};

/// A task of the work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Task {
    /// `T-1` …
    pub id: String,
    /// The task in words.
    pub name: String,
    /// Ids of the tasks that must be done first.
    pub deps: Vec<String>,
    /// The status of the task.
    #[serde(deserialize_with = "any_word")]
    pub status: TaskStatus,
    /// How to tell that the task is done.
    pub completion_condition: String,
    /// Files that the task will change.
    pub files: Vec<String>,
    /// Commands that must succeed before the task counts as done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verify: Vec<String>,
    /// Who has claimed the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// When the claim expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_expires_at: Option<Timestamp>,
    /// How many times the task was claimed.
    #[serde(skip_serializing_if = "is_zero")]
    pub attempts: u32,
    /// The result, or the reason for a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Default for Task {
    fn default() -> Self {
        Task {
            id: String::new(),
            name: String::new(),
            deps: Vec::new(),
            status: TaskStatus::Pending,
            completion_condition: String::new(),
            files: Vec::new(),
            verify: Vec::new(),
            owner: None,
            lease_expires_at: None,
            attempts: 0,
            result: None,
            extra: Extra::new(),
        }
    }
}

/// Other tools write a status in their own words.
fn any_word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TaskStatus, D::Error> {
    String::deserialize(deserializer).map(TaskStatus::read)
}
