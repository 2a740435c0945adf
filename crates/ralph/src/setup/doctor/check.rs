//! The result of one check, and its display.

use super::fix::Fix;
use ralph_core::text::plural::counted;
use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum CheckVerdict {
    #[serde(rename = "ok")]
    Well,
    /// It works, but the user should know about it.
    #[serde(rename = "warn")]
    Warn,
    /// Something keeps loops from being enforced reliably.
    #[serde(rename = "fail")]
    Fail,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Check {
    /// The name of the check.
    pub(crate) name: &'static str,
    pub(crate) verdict: CheckVerdict,
    pub(crate) detail: String,
    /// What to do about it, if anything.
    pub(crate) cure: Option<String>,
    /// What `--fix` does about it; `None` if the user has to decide.
    #[serde(rename = "fixable", serialize_with = "is_there")]
    pub(crate) fix: Option<Fix>,
}

impl Check {
    pub(crate) fn with_fix(self, fix: Fix) -> Check {
        Check { fix: Some(fix), ..self }
    }
}

fn is_there<S: serde::Serializer>(fix: &Option<Fix>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(fix.is_some())
}

pub(crate) fn well(name: &'static str, detail: impl Into<String>) -> Check {
    Check { name, verdict: CheckVerdict::Well, detail: detail.into(), cure: None, fix: None }
}

pub(crate) fn warn(
    name: &'static str,
    detail: impl Into<String>,
    cure: impl Into<String>,
) -> Check {
    Check { verdict: CheckVerdict::Warn, cure: Some(cure.into()), ..well(name, detail) }
}

pub(crate) fn fail(
    name: &'static str,
    detail: impl Into<String>,
    cure: impl Into<String>,
) -> Check {
    Check { verdict: CheckVerdict::Fail, ..warn(name, detail, cure) }
}

impl CheckVerdict {
    /// The columns of the longest word.
    pub(crate) const WIDTH: usize = 4;

    pub(crate) fn word(self) -> &'static str {
        match self {
            CheckVerdict::Well => "ok",
            CheckVerdict::Warn => "warn",
            CheckVerdict::Fail => "FAIL",
        }
    }
}

impl Check {
    /// What was checked and found, and what to do about it.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{}: {}", self.name, self.detail);
        if let Some(cure) = &self.cure {
            text += &format!("; {cure}");
        }
        if self.fix.is_some() {
            text += " (or run `ralph doctor --fix`)";
        }
        text
    }
}

/// The values of each key, in the order of the first: one line of the report for each cause.
pub(super) fn grouped<K: PartialEq, V>(all: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in all {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

/// The last line of the report.
pub(crate) fn conclusion(checks: &[Check]) -> String {
    let count = |verdict| checks.iter().filter(|check| check.verdict == verdict).count();
    match (count(CheckVerdict::Fail), count(CheckVerdict::Warn)) {
        (0, 0) => "all is well".to_owned(),
        (0, n) => format!("all is well, with {}", counted(n, "warning", "warnings")),
        (n, _) => format!("{} to fix", counted(n, "problem", "problems")),
    }
}

/// The report as JSON, for scripts.
pub(crate) fn document(checks: &[Check], well: bool) -> serde_json::Value {
    serde_json::json!({ "schema_version": 1, "well": well, "checks": checks })
}
