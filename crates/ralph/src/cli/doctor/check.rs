//! The result of one check, and how it is shown.

use serde::Serialize;
use std::fmt;

/// How it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum Verdict {
    /// As it should be.
    #[serde(rename = "ok")]
    Well,
    /// It works, but a person should know.
    #[serde(rename = "warn")]
    Warn,
    /// A loop would not be enforced, or not at all.
    #[serde(rename = "fail")]
    Fail,
}

/// One line of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Check {
    /// What was looked at.
    pub(crate) name: &'static str,
    /// How it stands.
    pub(crate) verdict: Verdict,
    /// What was found.
    pub(crate) detail: String,
    /// What to do, if anything.
    pub(crate) cure: Option<String>,
}

/// Nothing to do.
pub(crate) fn well(name: &'static str, detail: impl Into<String>) -> Check {
    Check { name, verdict: Verdict::Well, detail: detail.into(), cure: None }
}

/// Something to know.
pub(crate) fn warn(
    name: &'static str,
    detail: impl Into<String>,
    cure: impl Into<String>,
) -> Check {
    Check { name, verdict: Verdict::Warn, detail: detail.into(), cure: Some(cure.into()) }
}

/// Something to mend.
pub(crate) fn fail(
    name: &'static str,
    detail: impl Into<String>,
    cure: impl Into<String>,
) -> Check {
    Check { name, verdict: Verdict::Fail, detail: detail.into(), cure: Some(cure.into()) }
}

impl fmt::Display for Check {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.verdict {
            Verdict::Well => "ok  ",
            Verdict::Warn => "warn",
            Verdict::Fail => "FAIL",
        };
        write!(formatter, "{word}  {}: {}", self.name, self.detail)?;
        match &self.cure {
            Some(cure) => write!(formatter, "; {cure}"),
            None => Ok(()),
        }
    }
}

/// The last line.
pub(crate) fn conclusion(checks: &[Check]) -> String {
    let count = |verdict| checks.iter().filter(|check| check.verdict == verdict).count();
    match (count(Verdict::Fail), count(Verdict::Warn)) {
        (0, 0) => "all is well".to_owned(),
        (0, warnings) => format!("all is well, with {warnings} to know about"),
        (failures, _) => format!("{failures} to mend"),
    }
}

/// The report for scripts.
pub(crate) fn document(checks: &[Check], well: bool) -> serde_json::Value {
    serde_json::json!({ "schema_version": 1, "well": well, "checks": checks })
}
