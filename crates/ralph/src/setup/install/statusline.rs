//! The client's only status line: Ralph's alone, or Ralph's with the user's command inside it.
//!
//! Of the user's own entry only the command changes, and how often it is run if that is not set; how the line is displayed is
//! the user's choice. The user's command is kept as written, quotes included, and restored in that form.

use super::json_text;
use super::merge::{not_a, remove_key};
use anyhow::Result;
use jsonc_parser::cst::{CstObject, CstStringLit};
use ralph_core::protocol::registration::Location;
use ralph_core::shell::quoted;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const KEY: &str = "statusLine";

/// The seconds after which the client asks again on its own; without it, the line of an ended loop stays
/// as it was until the next prompt. Clients before 2.1.97 ignore it.
const REFRESHED: u32 = 5;

const REFRESH: &str = "refreshInterval";

/// The status line that is requested, or that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Statusline {
    /// The whole command.
    pub(crate) command: String,
    /// The earlier command as it was in the text; `None` if there was no status line.
    pub(crate) before: Option<String>,
    /// True if the interval was added to an earlier status line.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) refreshes: bool,
}

/// Ralph's command alone.
pub(crate) fn ours(location: Location<'_>) -> String {
    let program = match location {
        Location::Path => "ralph".to_owned(),
        Location::Folder(folder) => word(&format!("{folder}/ralph")),
    };
    format!("{program} statusline")
}

/// The status line to write; `None` if the current one may stay.
///
/// An earlier status line of Ralph's is updated without being asked for, since the executable may
/// have moved. One that the user has changed since is left alone unless the user asks for Ralph's.
///
/// # Errors
/// When it is requested and the current status line is not a command.
pub(crate) fn decide(
    text: &str,
    ours: &str,
    asked: bool,
    known: Option<&Statusline>,
) -> Result<Option<Statusline>> {
    let (_, settings) = json_text::parse(text)?;
    let known = known.filter(|known| holds(&settings, known));
    let lacks_interval = interval(&settings).is_none();
    if let Some(known) = known {
        let (command, before) = (with(ours, known.before.as_deref()), known.before.clone());
        // Without being asked for, it does not come back where the user has removed it.
        let refreshes = before.is_some() && if lacks_interval { asked } else { known.refreshes };
        return Ok(Some(Statusline { command, before, refreshes }));
    }
    if !asked {
        return Ok(None);
    }
    if settings.get(KEY).is_none() {
        let command = ours.to_owned();
        return Ok(Some(Statusline { command, before: None, refreshes: false }));
    }
    let literal = literal(&settings).ok_or_else(|| not_a(KEY, "a command"))?;
    let is_there = literal.decoded_value().is_ok_and(|command| is_ours(&command));
    let before = literal.to_string();
    let command = with(ours, Some(&before));
    let refreshes = lacks_interval;
    Ok((!is_there).then_some(Statusline { command, before: Some(before), refreshes }))
}

/// Writes the status line. Returns false if it is already there.
pub(super) fn put_in(settings: &CstObject, wanted: &Statusline) -> bool {
    let adds_interval = wanted.refreshes && interval(settings).is_none();
    if holds(settings, wanted) && !adds_interval {
        return false;
    }
    let command = Value::from(&*wanted.command).to_string();
    match literal(settings) {
        // As part of the literal, since appending a member would lay the entry out anew.
        Some(literal) if adds_interval => literal.set_raw_value(with_interval(&command)),
        Some(literal) => literal.set_raw_value(command),
        None => drop(settings.append(KEY, json_text::input(&shown(wanted)))),
    }
    true
}

/// Removes the status line or restores the earlier one. Returns false if it has been changed since.
pub(super) fn take_out(settings: &CstObject, written: &Statusline) -> bool {
    if !holds(settings, written) {
        return false;
    }
    match (&written.before, literal(settings)) {
        (Some(before), Some(literal)) => {
            let line = settings.object_value(KEY).filter(|_| written.refreshes);
            let text = line.as_ref().map(ToString::to_string).unwrap_or_default();
            let command = Value::from(&*written.command).to_string();
            match (text.split_once(&with_interval(&command)), line) {
                (Some((start, end)), _) => {
                    put_whole(settings, format!("{start}{before}{end}"));
                    return true;
                }
                (None, Some(line)) if interval(settings) == Some(Value::from(REFRESHED)) => {
                    remove_key(&line, REFRESH);
                }
                _ => {}
            }
            literal.set_raw_value(before.clone());
        }
        _ => remove_key(settings, KEY),
    }
    true
}

/// Whether the current status line is the one that was written.
pub(super) fn holds(settings: &CstObject, written: &Statusline) -> bool {
    let command = literal(settings).and_then(|literal| literal.decoded_value().ok());
    command.is_some_and(|command| command == written.command)
}

/// The whole entry, for settings without a status line.
pub(crate) fn shown(wanted: &Statusline) -> Value {
    json!({"type": "command", "command": wanted.command, "refreshInterval": REFRESHED})
}

/// The command as JSON, and the interval behind it.
fn with_interval(command: &str) -> String {
    format!("{command}, \"{REFRESH}\": {REFRESHED}")
}

/// Replaces the text of the status line.
fn put_whole(settings: &CstObject, text: String) {
    let Some(property) = settings.get(KEY) else { return };
    property.set_value(json_text::input(&Value::from("")));
    if let Some(literal) = property.value().and_then(|value| value.as_string_lit()) {
        literal.set_raw_value(text);
    }
}

/// How often the client runs the current status line on its own; `None` if that is not set.
fn interval(settings: &CstObject) -> Option<Value> {
    settings.object_value(KEY)?.get(REFRESH)?.value()?.to_serde_value()
}

/// The command as it is in the text; `None` if the status line is missing or is not a command.
fn literal(settings: &CstObject) -> Option<CstStringLit> {
    let line = settings.object_value(KEY)?;
    let kind = line.get("type")?.value()?.as_string_lit()?.decoded_value().ok()?;
    let command = line.get("command")?.value()?.as_string_lit()?;
    (kind == "command").then_some(command)
}

/// Ralph's command with the user's inside it.
fn with(ours: &str, before: Option<&str>) -> String {
    let theirs = before.and_then(|raw| serde_json::from_str::<String>(raw).ok());
    match theirs.filter(|command| !command.trim().is_empty()) {
        Some(theirs) => format!("{ours} --with {}", quoted(&theirs)),
        None => ours.to_owned(),
    }
}

fn is_ours(command: &str) -> bool {
    let mut words = command.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
    let program = words.next().and_then(|word| word.rsplit('/').next());
    program == Some("ralph") && words.next() == Some("statusline")
}

/// Quotes a path only if a shell needs it.
fn word(path: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+@".contains(letter);
    if path.chars().all(is_plain) { path.to_owned() } else { quoted(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jsonc(text: &str) -> Value {
        json_text::parse(text).unwrap().1.to_serde_value().unwrap()
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let line = decide(text, "/b/ralph statusline", true, None).unwrap().unwrap();
        let (root, settings) = json_text::parse(text).unwrap();
        assert!(put_in(&settings, &line));
        let there = root.to_string();
        let (root, settings) = json_text::parse(&there).unwrap();
        assert!(!put_in(&settings, &line), "it is there");
        let value = jsonc(&there);
        assert_eq!(value["statusLine"]["command"], expected);
        let own = jsonc(text);
        let interval = own["statusLine"]["refreshInterval"].as_u64().unwrap_or(REFRESHED.into());
        assert_eq!(value["statusLine"]["refreshInterval"], interval);
        assert_eq!(decide(&there, "/b/ralph statusline", true, None).unwrap(), None);
        let moved = decide(&there, "/c/ralph statusline", false, Some(&line)).unwrap().unwrap();
        assert_eq!(moved.command, expected.replace("/b/", "/c/"));
        assert_eq!(moved.before, line.before);
        assert!(take_out(&settings, &line));
        assert_eq!(root.to_string(), text);
    }

    #[test]
    fn what_stood_there_is_run_by_ours_and_comes_back_to_the_letter() {
        check("{\n  \"a\": 1\n}", "/b/ralph statusline");
        check(
            r#"{"statusLine": { "command":"echo 'it\u0027s' \/ \"x\"", "type" : "command" , "padding":0}}"#,
            r#"/b/ralph statusline --with 'echo '\''it'\''s'\'' / "x"'"#,
        );
        check(r#"{"statusLine":{"type":"command","command":""}}"#, "/b/ralph statusline");
        for own in [
            "{\n  \"statusLine\": {\n    \"type\": \"command\",\n    \"command\": \"x\"\n  },\n  \"a\": 1\n}\n",
            "{\"statusLine\": {\n\t\"command\" :\"x\" , \r\n\t\"type\": \"command\"\n}}",
            "{\"statusLine\":{\"refreshInterval\":1,\"type\":\"command\",\"command\":\"x\"}}",
        ] {
            check(own, "/b/ralph statusline --with 'x'");
        }
    }

    #[test]
    fn an_interval_that_the_user_removed_or_set_stays_so() {
        let text = r#"{"statusLine":{"type":"command","command":"x"}}"#;
        let line = decide(text, "ralph statusline", true, None).unwrap().unwrap();
        let (root, settings) = json_text::parse(text).unwrap();
        put_in(&settings, &line);
        let there = root.to_string();
        let removed = there.replace(", \"refreshInterval\": 5", "");
        assert_ne!(removed, there);
        let again = decide(&removed, "ralph statusline", false, Some(&line)).unwrap().unwrap();
        assert!(!again.refreshes && !put_in(&json_text::parse(&removed).unwrap().1, &again));
        let asked = decide(&removed, "ralph statusline", true, Some(&line)).unwrap().unwrap();
        assert!(asked.refreshes);
        let (root, settings) = json_text::parse(&there.replace(": 5", ": 9")).unwrap();
        assert!(take_out(&settings, &line));
        assert!(root.to_string().contains(": 9"), "{root}");
    }

    #[test]
    fn what_a_person_has_changed_since_is_theirs() {
        let command = "/b/ralph statusline".to_owned();
        let line = Statusline { command, before: None, refreshes: false };
        let text = r#"{"statusLine":{"type":"command","command":"mine"}}"#;
        let (root, settings) = json_text::parse(text).unwrap();
        assert!(!take_out(&settings, &line));
        assert_eq!(root.to_string(), text);
        assert_eq!(decide(text, "/c/ralph statusline", false, Some(&line)).unwrap(), None);
        let asked = decide(text, "/c/ralph statusline", true, Some(&line)).unwrap().unwrap();
        assert_eq!(asked.command, "/c/ralph statusline --with 'mine'");
    }

    #[test]
    fn what_is_no_command_is_refused_where_it_is_asked_for_and_left_alone_elsewhere() {
        for text in [
            r#"{"statusLine": "x"}"#,
            r#"{"statusLine": {"type": "static", "command": "x"}}"#,
            r#"{"statusLine": {"type": "command", "command": 1}}"#,
        ] {
            let error = decide(text, "ralph statusline", true, None).unwrap_err().to_string();
            assert!(error.contains("`statusLine` is not a command"), "{error}");
            assert_eq!(decide(text, "ralph statusline", false, None).unwrap(), None);
        }
    }

    #[test]
    fn the_executable_is_named_so_that_a_shell_finds_it() {
        assert_eq!(ours(Location::Path), "ralph statusline");
        assert_eq!(ours(Location::Folder("/a/b")), "/a/b/ralph statusline");
        assert_eq!(ours(Location::Folder("/a b")), "'/a b/ralph' statusline");
        assert!(is_ours("'/ab/ralph' statusline --with 'x'") && !is_ours("ralph status"));
    }
}
