//! The result of one check, and how it is shown.

use super::fix::Fix;
use serde::Serialize;
use std::fmt;

/// How it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum CheckVerdict {
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
    pub(crate) verdict: CheckVerdict,
    /// What was found.
    pub(crate) detail: String,
    /// What to do, if anything.
    pub(crate) cure: Option<String>,
    /// What `--fix` does about it; none where that is for a person to decide.
    #[serde(rename = "fixable", serialize_with = "is_there")]
    pub(crate) fix: Option<Fix>,
}

impl Check {
    /// The same, with what `--fix` does about it.
    pub(crate) fn with_fix(self, fix: Fix) -> Check {
        Check { fix: Some(fix), ..self }
    }
}

fn is_there<S: serde::Serializer>(fix: &Option<Fix>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(fix.is_some())
}

/// Nothing to do.
pub(crate) fn well(name: &'static str, detail: impl Into<String>) -> Check {
    Check { name, verdict: CheckVerdict::Well, detail: detail.into(), cure: None, fix: None }
}

/// Something to know.
pub(crate) fn warn(
    name: &'static str,
    detail: impl Into<String>,
    cure: impl Into<String>,
) -> Check {
    Check {
        name,
        verdict: CheckVerdict::Warn,
        detail: detail.into(),
        cure: Some(cure.into()),
        fix: None,
    }
}

/// Something to mend.
pub(crate) fn fail(
    name: &'static str,
    detail: impl Into<String>,
    cure: impl Into<String>,
) -> Check {
    Check {
        name,
        verdict: CheckVerdict::Fail,
        detail: detail.into(),
        cure: Some(cure.into()),
        fix: None,
    }
}

impl fmt::Display for Check {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.verdict {
            CheckVerdict::Well => "ok  ",
            CheckVerdict::Warn => "warn",
            CheckVerdict::Fail => "FAIL",
        };
        write!(formatter, "{word}  {}: {}", self.name, self.detail)?;
        if let Some(cure) = &self.cure {
            write!(formatter, "; {cure}")?;
        }
        match &self.fix {
            Some(_) => formatter.write_str(" (`ralph doctor --fix` does it)"),
            None => Ok(()),
        }
    }
}

/// The last line.
pub(crate) fn conclusion(checks: &[Check]) -> String {
    let count = |verdict| checks.iter().filter(|check| check.verdict == verdict).count();
    match (count(CheckVerdict::Fail), count(CheckVerdict::Warn)) {
        (0, 0) => "all is well".to_owned(),
        (0, warnings) => format!("all is well, with {warnings} to know about"),
        (failures, _) => format!("{failures} to mend"),
    }
}

/// The report for scripts.
pub(crate) fn document(checks: &[Check], well: bool) -> serde_json::Value {
    serde_json::json!({ "schema_version": 1, "well": well, "checks": checks })
}
