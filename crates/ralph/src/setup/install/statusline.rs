//! The client's only status line: Ralph's alone, or Ralph's with the user's command inside it.
//!
//! Of the user's own entry only the command changes; how the line is displayed is the user's choice. The user's command is
//! kept as written, quotes included, and restored in that form.

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

/// The status line that is requested, or that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Statusline {
    /// The whole command.
    pub(crate) command: String,
    /// The earlier command as it was in the text; `None` if there was no status line.
    pub(crate) before: Option<String>,
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
    if let Some(known) = known {
        let command = with(ours, known.before.as_deref());
        return Ok(Some(Statusline { command, before: known.before.clone() }));
    }
    if !asked {
        return Ok(None);
    }
    if settings.get(KEY).is_none() {
        return Ok(Some(Statusline { command: ours.to_owned(), before: None }));
    }
    let literal = literal(&settings).ok_or_else(|| not_a(KEY, "a command"))?;
    let is_there = literal.decoded_value().is_ok_and(|command| is_ours(&command));
    let before = literal.to_string();
    Ok((!is_there).then(|| Statusline { command: with(ours, Some(&before)), before: Some(before) }))
}

/// Writes the status line. Returns false if it is already there.
pub(super) fn put_in(settings: &CstObject, wanted: &Statusline) -> bool {
    if holds(settings, wanted) {
        return false;
    }
    match literal(settings) {
        Some(literal) => literal.set_raw_value(Value::from(&*wanted.command).to_string()),
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
        (Some(before), Some(literal)) => literal.set_raw_value(before.clone()),
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

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let line = decide(text, "/b/ralph statusline", true, None).unwrap().unwrap();
        let (root, settings) = json_text::parse(text).unwrap();
        assert!(put_in(&settings, &line));
        assert!(!put_in(&settings, &line), "it is there");
        let there = root.to_string();
        let value: Value = serde_json::from_str(&there).unwrap();
        assert_eq!(value["statusLine"]["command"], expected);
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
    }

    #[test]
    fn what_a_person_has_changed_since_is_theirs() {
        let line = Statusline { command: "/b/ralph statusline".to_owned(), before: None };
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
