//! Applies `[context]` in `ralph.toml` to the facts: switches them off, asks for more, and limits
//! the page.

use super::{FORMER, FactKind, KINDS, NAMES, page};
use serde::{Deserialize, Serialize};

/// No fact fits into fewer units.
const LEAST: usize = 500;

/// The section `[context]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ContextSettings {
    /// False: a session gets no facts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Facts that are left out, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub off: Vec<String>,
    /// Facts that are shown only on request, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// The most UTF-16 units of the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<usize>,
}

impl ContextSettings {
    /// The first invalid value, with what to write instead.
    pub fn refused(&self) -> Option<String> {
        if let Some(given) = self.size.filter(|given| !(LEAST..=page::MOST).contains(given)) {
            let most = page::MOST;
            return Some(format!(
                "`context.size` is a whole number from {LEAST} to {most}, not {given}"
            ));
        }
        let unknown =
            |name: &&String| !NAMES.contains(&name.as_str()) && !FORMER.contains(&name.as_str());
        let name = self.off.iter().chain(&self.also).find(unknown)?;
        Some(format!("`[context]` names no fact `{name}`; there are {}", NAMES.join(", ")))
    }

    pub fn is_enabled(&self) -> bool {
        self.enabled.unwrap_or(true)
    }

    /// The most UTF-16 units of the page.
    pub fn size(&self) -> usize {
        self.size.unwrap_or(page::TARGET)
    }

    /// The selected kinds of facts, in the order of the page. A kind that is switched off stays
    /// off.
    pub fn kinds(&self) -> Vec<FactKind> {
        let names = |list: &[String], kind: &FactKind| list.iter().any(|name| name == kind.name);
        let is_wanted = |kind: &FactKind| {
            !names(&self.off, kind) && (!kind.on_request || names(&self.also, kind))
        };
        KINDS.into_iter().filter(is_wanted).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(off: &[&str], also: &[&str]) -> ContextSettings {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        ContextSettings { off: owned(off), also: owned(also), ..ContextSettings::default() }
    }

    #[track_caller]
    fn check(choice: &ContextSettings, has: &[&str], lacks: &[&str]) {
        let names: Vec<&str> = choice.kinds().iter().map(|kind| kind.name).collect();
        assert!(has.iter().all(|name| names.contains(name)), "{names:?}");
        assert!(!lacks.iter().any(|name| names.contains(name)), "{names:?}");
    }

    #[test]
    fn a_fact_is_switched_off_or_asked_for_by_its_name() {
        check(
            &ContextSettings::default(),
            &["git", "go", "structure"],
            &["branch", "commits", "changes"],
        );
        check(&set(&["go"], &["commits"]), &["git", "commits"], &["go", "branch"]);
        check(&set(&["commits"], &["commits"]), &["git"], &["commits"]);
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let refused = |choice: ContextSettings| choice.refused().unwrap_or_default();
        assert_eq!(refused(set(&["go"], &["commits"])), "");
        assert_eq!(refused(set(&FORMER, &[])), "");
        assert!(
            refused(set(&["gone"], &[]))
                .starts_with("`[context]` names no fact `gone`; there are git, ")
        );
        assert!(refused(set(&[], &["x"])).contains("no fact `x`"));
        let size = |size| ContextSettings { size: Some(size), ..ContextSettings::default() };
        assert_eq!(refused(size(500)), "");
        assert_eq!(refused(size(10_000)), "");
        let expected = "`context.size` is a whole number from 500 to 10000, not 499";
        assert_eq!(refused(size(499)), expected);
        assert!(refused(size(10_001)).ends_with("not 10001"));
    }
}
