//! Checks that bd is new enough.

use super::read::payload;
use serde::Deserialize;
use std::fmt;

/// Major, minor and patch number, in the order of comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BdVersion(pub u64, pub u64, pub u64);

/// The first version in which only one of two clients that claim an issue gets it
/// (gastownhall/beads #3570 and its fix #3578, released with 1.0.4). All other features that Ralph
/// uses are older.
pub const OLDEST: BdVersion = BdVersion(1, 0, 4);

/// Why bd cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unusable {
    /// Older than [`OLDEST`].
    TooOld(BdVersion),
    /// The output names no version.
    Unknown {
        /// The output.
        said: String,
    },
}

/// The version in the output of `bd version --json`.
///
/// # Errors
/// When it is too old, or the output names no version.
pub fn usable(printed: &str) -> Result<BdVersion, Unusable> {
    #[derive(Deserialize)]
    struct VersionOutput {
        version: String,
    }
    let said =
        payload(printed).ok().and_then(|value| serde_json::from_value::<VersionOutput>(value).ok());
    let unknown = || Unusable::Unknown { said: printed.trim().chars().take(200).collect() };
    let version = said.and_then(|said| parse(&said.version)).ok_or_else(unknown)?;
    if version < OLDEST { Err(Unusable::TooOld(version)) } else { Ok(version) }
}

/// Parses `1.2.2`, `v1.2.2` and `1.2.2-dc4`; a build suffix is ignored.
fn parse(text: &str) -> Option<BdVersion> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let plain = text.split(['-', '+']).next()?;
    let mut numbers = plain.split('.').map(|number| number.parse::<u64>().ok());
    let version = BdVersion(numbers.next()??, numbers.next()??, numbers.next()??);
    numbers.next().is_none().then_some(version)
}

impl fmt::Display for BdVersion {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}.{}.{}", self.0, self.1, self.2)
    }
}

impl fmt::Display for Unusable {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unusable::TooOld(version) => write!(
                to,
                "`bd` is {version}, and Ralph needs {OLDEST} or newer, where only one process can \
                 claim an issue; update bd"
            ),
            Unusable::Unknown { said } => write!(
                to,
                "could not tell the version of `bd`, which said `{said}`; Ralph needs {OLDEST} or \
                 newer of bd (beads)"
            ),
        }
    }
}

impl std::error::Error for Unusable {}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(printed: &str, expected: &str) {
        let said = match usable(printed) {
            Ok(version) => format!("{version}"),
            Err(Unusable::TooOld(version)) => format!("too old: {version}"),
            Err(Unusable::Unknown { said }) => format!("unknown: {said}"),
        };
        assert_eq!(said, expected, "{printed}");
    }

    #[test]
    fn a_version_is_read_with_whatever_a_build_adds_and_an_older_one_is_refused() {
        check(r#"{"build":"dev","version":"1.2.2-dc4","commit":"6c12"}"#, "1.2.2");
        check(r#"{"schema_version":1,"data":{"version":"1.2.2"}}"#, "1.2.2");
        check(r#"{"version":"1.0.4"}"#, "1.0.4");
        check(r#"{"version":"v1.0.5+x"}"#, "1.0.5");
        check(r#"{"version":"1.0.3"}"#, "too old: 1.0.3");
        check(r#"{"version":"0.63.3"}"#, "too old: 0.63.3");
        check(r#"{"version":"10.0.0"}"#, "10.0.0");
        check(r#"{"version":"dev"}"#, r#"unknown: {"version":"dev"}"#);
        check(r#"{"version":"1.2"}"#, r#"unknown: {"version":"1.2"}"#);
        check("br 0.1.20\n", "unknown: br 0.1.20");
        check("", "unknown: ");
    }

    #[test]
    fn a_refusal_names_both_versions() {
        let text = Unusable::TooOld(BdVersion(1, 0, 3)).to_string();
        assert!(text.contains("1.0.3") && text.contains("1.0.4") && text.contains("update bd"));
    }
}
