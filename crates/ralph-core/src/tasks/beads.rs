//! Tasks that a project keeps in `bd` (beads), as a refinement reads them.
//!
//! Only `bd` writes them. The facts come from the documents and the source of bd 1.0.4 to 1.2.2
//! (`docs/JSON_SCHEMA.md`, `docs/CLI_REFERENCE.md`, `internal/types/types.go`).

use serde::Deserialize;
use serde_json::Value;
use std::fmt;

/// An issue of bd; members that Ralph does not use are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Bead {
    /// `bd-a1b2`, `bd-a1b2.3` …
    pub id: String,
    pub title: String,
    /// bd's status; a project may add its own.
    pub status: Option<String>,
    /// `task`, `bug`, `epic`, `gate` …
    pub issue_type: Option<String>,
    pub description: Option<String>,
    pub design: Option<String>,
    pub acceptance_criteria: Option<String>,
    pub notes: Option<String>,
    /// If bd omits them, see [`Bead::lacks_dependencies`].
    pub dependencies: Option<Vec<Dependency>>,
    pub dependency_count: Option<u64>,
    /// Only compared, so any JSON value is accepted.
    pub priority: Option<Value>,
    /// Only compared, so any JSON value is accepted.
    pub labels: Option<Value>,
}

/// A dependency of a bead: a record of two ids (`bd list`), or the other bead itself (`bd show`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Dependency {
    depends_on_id: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    id: Option<String>,
    dependency_type: Option<String>,
}

/// The default kind of `bd dep add`.
pub const PLAIN: &str = "blocks";

impl Dependency {
    /// The id of the other bead.
    pub fn on(&self) -> &str {
        self.depends_on_id.as_deref().or(self.id.as_deref()).unwrap_or_default()
    }

    /// `blocks`, `parent-child`, `related` …
    pub fn kind(&self) -> &str {
        self.kind.as_deref().or(self.dependency_type.as_deref()).unwrap_or(PLAIN)
    }
}

impl Bead {
    /// True if the bead has dependencies that bd did not print.
    pub fn lacks_dependencies(&self) -> bool {
        self.dependencies.is_none() && self.dependency_count.unwrap_or_default() > 0
    }

    /// True if bd's status is exactly this word.
    pub fn is(&self, status: &str) -> bool {
        self.status() == status
    }

    // bd omits empty members, and an issue without a status is open.
    fn status(&self) -> &str {
        self.status.as_deref().filter(|word| !word.is_empty()).unwrap_or("open")
    }
}

// Reads the output of `bd --json`.
//
// There are three forms: the bare array or object of most versions, `{"schema_version", "items"}`,
// which once replaced arrays, and `{"schema_version", "data"}`, which `BD_JSON_ENVELOPE=1` selects
// and which is announced as the only form of 2.0.

/// The beads in the output: a list, or a single one.
///
/// # Errors
/// When the output is anything else.
pub fn read(printed: &str) -> Result<Vec<Bead>, String> {
    if printed.trim().is_empty() {
        return Err("it printed nothing instead of JSON".to_owned());
    }
    let not_beads = |why: &dyn fmt::Display| {
        let begins: String = printed.trim_start().chars().take(100).collect();
        format!("it printed what is no list of beads ({why}): `{begins}`")
    };
    let list = match payload(printed).map_err(|error| not_beads(&error))? {
        Value::Null => Vec::new(),
        Value::Array(list) => list,
        one => vec![one],
    };
    let beads: Result<Vec<Bead>, _> = list.into_iter().map(serde_json::from_value).collect();
    let beads = beads.map_err(|error| not_beads(&error))?;
    match beads.iter().any(|bead| bead.id.is_empty()) {
        true => Err(not_beads(&"one has no `id`")),
        false => Ok(beads),
    }
}

/// The content of the output without its envelope.
fn payload(printed: &str) -> serde_json::Result<Value> {
    serde_json::from_str(printed).map(unwrapped)
}

fn unwrapped(value: Value) -> Value {
    match value {
        Value::Object(mut around) if around.contains_key("schema_version") => {
            let inside = around.remove("data").or_else(|| around.remove("items"));
            inside.unwrap_or(Value::Object(around))
        }
        bare => bare,
    }
}

/// The reason for a refusal in bd's words: the error in its JSON, or what it wrote to standard
/// error without the `Error: ` prefix.
pub fn said(stdout: &str, stderr: &str) -> String {
    // For several ids bd may write a line for each and summarise them in a line of JSON; the reason
    // is in the lines.
    let for_people = stderr.lines().map(str::trim).take_while(|line| !line.starts_with('{'));
    let words: Vec<&str> = for_people
        .filter(|line| !line.is_empty())
        .map(|line| line.strip_prefix("Error: ").unwrap_or(line))
        .take(4)
        .collect();
    let words = || (!words.is_empty()).then(|| words.join("; "));
    error_in(stdout)
        .or_else(words)
        .or_else(|| error_in(stderr))
        .unwrap_or_else(|| "it gave no reason".into())
}

/// The error in the first JSON document of a text.
fn error_in(text: &str) -> Option<String> {
    let first = serde_json::Deserializer::from_str(text).into_iter::<Value>().next()?.ok()?;
    let error = unwrapped(first).get("error")?.as_str()?.trim().to_owned();
    (!error.is_empty()).then_some(error)
}

/// Major, minor and patch number, in the order of comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BdVersion(pub u64, pub u64, pub u64);

/// The first version in which only one of two clients that claim an issue gets it
/// (gastownhall/beads #3570 and its fix #3578, released with 1.0.4). All other features that Ralph
/// uses are older.
pub const OLDEST: BdVersion = BdVersion(1, 0, 4);

/// The version in the output of `bd version --json`.
///
/// # Errors
/// When it is too old, or the output names no version.
pub fn usable(printed: &str) -> Result<BdVersion, String> {
    #[derive(Deserialize)]
    struct VersionOutput {
        version: String,
    }
    let said = payload(printed).and_then(serde_json::from_value::<VersionOutput>);
    match said.ok().and_then(|said| parse(&said.version)) {
        Some(version) if version < OLDEST => Err(format!(
            "`bd` is {version}, and Ralph needs {OLDEST} or newer, where only one process can claim an issue; update bd"
        )),
        Some(version) => Ok(version),
        None => {
            let said: String = printed.trim().chars().take(200).collect();
            Err(format!(
                "could not tell the version of `bd`, which said `{said}`; Ralph needs {OLDEST} or newer of bd (beads)"
            ))
        }
    }
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

#[cfg(test)]
mod tests;

#[cfg(test)]
mod version_tests {
    use super::*;

    #[track_caller]
    fn check(printed: &str, expected: &str) {
        let said = usable(printed).map_or_else(|why| why, |version| version.to_string());
        assert!(said.starts_with(expected), "{printed}: {said}");
    }

    #[test]
    fn a_version_is_read_with_whatever_a_build_adds_and_an_older_one_is_refused() {
        check(r#"{"build":"dev","version":"1.2.2-dc4","commit":"6c12"}"#, "1.2.2");
        check(r#"{"schema_version":1,"data":{"version":"1.2.2"}}"#, "1.2.2");
        check(r#"{"version":"1.0.4"}"#, "1.0.4");
        check(r#"{"version":"v1.0.5+x"}"#, "1.0.5");
        check(r#"{"version":"1.0.3"}"#, "`bd` is 1.0.3, and Ralph needs 1.0.4 or newer");
        check(r#"{"version":"0.63.3"}"#, "`bd` is 0.63.3, and Ralph needs 1.0.4 or newer");
        check(r#"{"version":"10.0.0"}"#, "10.0.0");
        check(
            r#"{"version":"dev"}"#,
            r#"could not tell the version of `bd`, which said `{"version":"dev"}`"#,
        );
        check(
            r#"{"version":"1.2"}"#,
            r#"could not tell the version of `bd`, which said `{"version":"1.2"}`"#,
        );
        check("br 0.1.20\n", "could not tell the version of `bd`, which said `br 0.1.20`");
        check("", "could not tell the version of `bd`, which said ``");
    }
}
