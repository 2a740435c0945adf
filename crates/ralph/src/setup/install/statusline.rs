//! The client's only status line: Ralph's alone, or Ralph's with the user's command inside it.
//!
//! Of the user's own entry only the command changes, and how often it is run if that is not set; how the line is displayed is
//! the user's choice.

use super::merge::{Members, SettingsChange, not_a, object};
use anyhow::Result;
use ralph_core::protocol::registration::Location;
use ralph_core::shell::quoted;
use serde::{Deserialize, Serialize};
use serde_json::Value;

const KEY: &str = "statusLine";

/// The seconds after which the client asks again on its own; without it, the line of an ended loop stays
/// as it was until the next prompt. Clients before 2.1.97 ignore it.
const REFRESHED: u32 = 5;

const REFRESH: &str = "refreshInterval";

/// The status line that Ralph has written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Statusline {
    /// The whole command.
    command: String,
    /// The earlier command as JSON; `None` if there was no status line.
    before: Option<String>,
    /// True if the interval is Ralph's too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    refreshes: bool,
}

/// Ralph's command alone.
pub(super) fn ours(location: Location<'_>) -> String {
    let program = match location {
        Location::Path => "ralph".to_owned(),
        Location::Folder(folder) => word(&format!("{folder}/ralph")),
    };
    format!("{program} statusline")
}

/// Writes the status line. Returns what is Ralph's in it.
///
/// An earlier status line of Ralph's is updated without being asked for, since the executable may
/// have moved. One that the user has changed since is left alone unless the user asks for Ralph's.
///
/// # Errors
/// When it is asked for and the current status line is not a command.
pub(super) fn put_in(
    settings: &mut Members,
    ours: &str,
    is_asked: bool,
    known: Option<Statusline>,
    changes: &mut Vec<SettingsChange>,
) -> Result<Option<Statusline>> {
    let current = command(settings).map(str::to_owned);
    let before = match (&known, &current) {
        (Some(known), _) => known.before.clone(),
        (None, _) if !is_asked => return Ok(None),
        (None, Some(current)) if is_ours(current) => return Ok(None),
        (None, Some(current)) => Some(Value::from(&**current).to_string()),
        (None, None) if settings.contains_key(KEY) => return Err(not_a(KEY, "a command")),
        (None, None) => None,
    };
    let command = with(ours, before.as_deref());
    let line = object(settings, KEY)?;
    let has_interval = line.contains_key(REFRESH);
    let refreshes = match has_interval {
        true => known.is_some_and(|known| known.refreshes),
        // Without being asked for, it does not come back where the user has removed it.
        false => is_asked,
    };
    if current.as_ref() != Some(&command) || refreshes && !has_interval {
        line.insert("type".to_owned(), "command".into());
        line.insert("command".to_owned(), command.as_str().into());
        if refreshes && !has_interval {
            line.insert(REFRESH.to_owned(), REFRESHED.into());
        }
        changes.push(SettingsChange::new("set the status line", &command));
    }
    Ok(Some(Statusline { command, before, refreshes }))
}

/// Removes the status line or restores the earlier one.
pub(super) fn take_out(
    settings: &mut Members,
    written: &Statusline,
    changes: &mut Vec<SettingsChange>,
) {
    let before = written.before.as_deref().and_then(|before| serde_json::from_str(before).ok());
    let line = settings.get_mut(KEY).and_then(Value::as_object_mut);
    let (Some(before), Some(line)) = (before, line) else {
        settings.shift_remove(KEY);
        changes.push(SettingsChange::new("remove the status line", "it was from Ralph"));
        return;
    };
    line.insert("command".to_owned(), before);
    if written.refreshes && line.get(REFRESH) == Some(&Value::from(REFRESHED)) {
        line.shift_remove(REFRESH);
    }
    changes.push(SettingsChange::new("restore your status line", "as it was"));
}

/// Whether the current status line is the one that was written.
pub(super) fn is_there(settings: &Members, written: &Statusline) -> bool {
    command(settings) == Some(&written.command)
}

/// The current command; `None` if there is no status line, or one that is not a command.
fn command(settings: &Members) -> Option<&str> {
    let line = settings.get(KEY)?;
    line["command"].as_str().filter(|_| line["type"] == "command")
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
    use serde_json::json;

    const OURS: &str = "/b/ralph statusline";

    fn members(settings: Value) -> Members {
        settings.as_object().unwrap().clone()
    }

    /// The settings with Ralph's line, and what is Ralph's in it.
    fn asked(settings: &mut Members) -> Statusline {
        put_in(settings, OURS, true, None, &mut Vec::new()).unwrap().unwrap()
    }

    fn updated(settings: &mut Members, known: &Statusline, is_asked: bool) -> (Statusline, usize) {
        let mut changes = Vec::new();
        let known = Some(known.clone());
        let line = put_in(settings, "/c/ralph statusline", is_asked, known, &mut changes);
        (line.unwrap().unwrap(), changes.len())
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let own: Members = serde_json::from_str(text).unwrap();
        let mut settings = own.clone();
        let line = asked(&mut settings);
        assert_eq!(settings[KEY]["command"], expected);
        let interval = own.get(KEY).and_then(|line| line.get(REFRESH)).cloned();
        assert_eq!(settings[KEY][REFRESH], interval.unwrap_or(REFRESHED.into()));
        let mut there = settings.clone();
        let mut changes = Vec::new();
        assert_eq!(put_in(&mut there, OURS, true, None, &mut changes).unwrap(), None);
        let again = put_in(&mut there, OURS, false, Some(line.clone()), &mut changes).unwrap();
        assert_eq!((again.as_ref(), changes.len(), &there), (Some(&line), 0, &settings));
        let (moved, _) = updated(&mut there, &line, false);
        assert_eq!(there[KEY]["command"], expected.replace("/b/", "/c/"));
        assert_eq!(moved.before, line.before);
        take_out(&mut there, &moved, &mut Vec::new());
        assert_eq!(Value::Object(there).to_string(), Value::Object(own).to_string());
    }

    #[test]
    fn what_stood_there_is_run_by_ours_and_comes_back() {
        check(r#"{"a": 1}"#, OURS);
        check(
            r#"{"statusLine": {"command": "echo 'it\u0027s' / \"x\"", "type": "command", "padding": 0}}"#,
            r#"/b/ralph statusline --with 'echo '\''it'\''s'\'' / "x"'"#,
        );
        check(r#"{"statusLine": {"type": "command", "command": ""}, "b": 1}"#, OURS);
        let own = r#"{"statusLine": {"refreshInterval": 1, "type": "command", "command": "x"}}"#;
        check(own, "/b/ralph statusline --with 'x'");
    }

    #[test]
    fn an_interval_that_the_user_removed_or_set_stays_so() {
        for own in [json!({}), json!({KEY: {"type": "command", "command": "x"}})] {
            let mut settings = members(own);
            let line = asked(&mut settings);
            let mut removed = settings.clone();
            removed[KEY].as_object_mut().unwrap().remove(REFRESH);
            let (again, _) = updated(&mut removed, &line, false);
            assert!(!again.refreshes && removed[KEY].get(REFRESH).is_none(), "{removed:?}");
            let (asked, _) = updated(&mut removed, &again, true);
            assert!(asked.refreshes && removed[KEY][REFRESH] == REFRESHED, "{removed:?}");
            settings[KEY][REFRESH] = json!(9);
            updated(&mut settings, &line, true);
            assert_eq!(settings[KEY][REFRESH], 9);
        }
        let mut settings = members(json!({KEY: {"type": "command", "command": "x"}}));
        let line = asked(&mut settings);
        settings[KEY][REFRESH] = json!(9);
        take_out(&mut settings, &line, &mut Vec::new());
        assert_eq!(settings[KEY], json!({"type": "command", "command": "x", REFRESH: 9}));
    }

    #[test]
    fn what_a_person_has_changed_since_is_theirs() {
        let mut settings = members(json!({}));
        let line = asked(&mut settings);
        settings[KEY]["command"] = json!("mine");
        assert!(!is_there(&settings, &line));
        assert_eq!(put_in(&mut settings, OURS, false, None, &mut Vec::new()).unwrap(), None);
        asked(&mut settings);
        assert_eq!(settings[KEY]["command"], "/b/ralph statusline --with 'mine'");
    }

    #[test]
    fn what_is_no_command_is_refused_where_it_is_asked_for_and_left_alone_elsewhere() {
        for line in [
            json!("x"),
            json!({"type": "static", "command": "x"}),
            json!({"type": "command", "command": 1}),
        ] {
            let mut settings = members(json!({KEY: line}));
            let changes = &mut Vec::new();
            let error = put_in(&mut settings, OURS, true, None, changes).unwrap_err().to_string();
            assert!(error.contains("`statusLine` is not a command"), "{error}");
            assert_eq!(put_in(&mut settings, OURS, false, None, changes).unwrap(), None);
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
