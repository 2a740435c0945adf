//! Changes the text of a client's settings file: Ralph's hooks, the settings that the user can ask for beside
//! them, and how to ask.

use super::files::InstallRecord;
use super::{InstallScope, ScopeArgs};
use crate::command::exit::{Exit, refused};
use crate::command::screen;
use crate::setup::places::InstallPaths;
use anyhow::Result;
use ralph_core::protocol::registration::{self, Location, Origin, settings_hooks};
use ralph_core::protocol::sandbox::EXCLUDED;
use ralph_core::shell::quoted;
use ralph_io::project;
use serde::{Deserialize, Serialize};
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Map, Value, json};
use std::fmt::Display;

// Adds Ralph's hooks and extras to a settings text, and removes them. Everything else keeps its value and
// its order.
//
// An entry is Ralph's if it has the executable's name and the last argument `settings`, wherever
// its path leads, so an upgrade replaces the entries of an older installation. Other entries stay
// where they are, even inside a shared group. A changed text is laid out as the client lays it out,
// with the indentation of the file.

/// The members of a settings file.
type Members = Map<String, Value>;

/// A settings text after the change.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Merged {
    /// The whole text.
    pub(crate) text: String,
    /// The changes made; if empty, the text is unchanged.
    pub(crate) changes: Vec<SettingsChange>,
    /// The extras in the text that Ralph has written, now or earlier.
    pub(crate) extras: Extras,
}

/// One change to a settings text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SettingsChange {
    /// What is done, as the user reads it behind "would".
    pub(crate) what: &'static str,
    /// The event, or the value.
    pub(crate) detail: String,
}

impl SettingsChange {
    pub(super) fn new(what: &'static str, detail: impl Display) -> SettingsChange {
        SettingsChange { what, detail: detail.to_string() }
    }
}

/// What is done at an event that had no hook of Ralph's.
pub(super) const REGISTER: &str = "register hooks";

/// Adds the hooks and the extras.
pub(crate) fn put_in(
    text: &str,
    location: Location<'_>,
    asked: &AskedExtras,
    known: &Extras,
) -> Result<Merged> {
    let mut settings = parse(text)?;
    let mut changes = register(&mut settings, &settings_hooks(location))?;
    let extras = put_extras_in(&mut settings, location, asked, known, &mut changes)?;
    Ok(Merged { text: text_of(&settings, &changes, text)?, changes, extras })
}

/// Removes all of Ralph's hooks, and those extras that still have the value that Ralph wrote.
pub(crate) fn take_out(text: &str, written: &Extras) -> Result<Merged> {
    let mut settings = parse(text)?;
    let mut changes = register(&mut settings, &Value::Null)?;
    take_extras_out(&mut settings, written, &mut changes);
    let extras = Extras::default();
    Ok(Merged { text: text_of(&settings, &changes, text)?, changes, extras })
}

/// Whether an entry of a group is Ralph's, registered with this origin, in exec form or as a shell line.
pub(crate) fn is_ours(entry: &Value, origin: Origin) -> bool {
    let Some(command) = entry["command"].as_str() else { return false };
    match entry["args"].as_array() {
        Some(args) => registration::is_ours(command, args.iter().filter_map(Value::as_str), origin),
        None => {
            let mut words = command.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
            words.next().is_some_and(|first| registration::is_ours(first, words, origin))
        }
    }
}

/// The events at which Ralph's entries are not the wanted ones.
pub(crate) fn differing(hooks: &Value, wanted: &Value, origin: Origin) -> Vec<String> {
    let names = [wanted, hooks].into_iter().filter_map(Value::as_object).flat_map(Map::keys);
    let mut events: Vec<&String> = Vec::new();
    for event in names {
        let same = ours_at(&hooks[event], origin) == ours_at(&wanted[event], origin);
        if !same && !events.contains(&event) {
            events.push(event);
        }
    }
    events.into_iter().cloned().collect()
}

/// Ralph's entries at an event with their matchers; together they decide what the entries do.
fn ours_at(groups: &Value, origin: Origin) -> Vec<(Option<&Value>, &Value)> {
    let groups = groups.as_array().into_iter().flatten();
    let entries = groups.flat_map(|group| {
        let entries = group["hooks"].as_array().into_iter().flatten();
        entries.map(|entry| (group.get("matcher"), entry))
    });
    entries.filter(|(_, entry)| is_ours(entry, origin)).collect()
}

/// Leaves of Ralph's entries exactly the wanted ones.
fn register(settings: &mut Members, wanted: &Value) -> Result<Vec<SettingsChange>> {
    if wanted.is_null() && !settings.get("hooks").is_some_and(Value::is_object) {
        return Ok(Vec::new());
    }
    let hooks = object(settings, "hooks")?;
    let is_no_list = |event: &&String| hooks.get(*event).is_some_and(|groups| !groups.is_array());
    if let Some(event) = wanted.as_object().into_iter().flat_map(Map::keys).find(is_no_list) {
        return Err(not_a(&format!("hooks.{event}"), "a list"));
    }
    let mut changes = Vec::new();
    for event in differing(&Value::Object(hooks.clone()), wanted, Origin::Settings) {
        let wanted = wanted[&event].as_array().map_or(&[][..], Vec::as_slice);
        let groups = hooks.entry(event.as_str()).or_insert_with(|| json!([]));
        let had_ours = !ours_at(groups, Origin::Settings).is_empty();
        let Value::Array(groups) = groups else { continue };
        groups.retain_mut(keeps_entries_of_others);
        groups.extend_from_slice(wanted);
        let what = match (had_ours, wanted.is_empty()) {
            (_, true) => "remove hooks",
            (true, false) => "replace older hooks of Ralph",
            (false, false) => REGISTER,
        };
        if groups.is_empty() {
            hooks.shift_remove(&event);
        }
        changes.push(SettingsChange::new(what, event));
    }
    if hooks.is_empty() && !changes.is_empty() {
        settings.shift_remove("hooks");
    }
    Ok(changes)
}

/// Removes Ralph's entries from a group; false if that leaves none.
fn keeps_entries_of_others(group: &mut Value) -> bool {
    let Some(entries) = group.get_mut("hooks").and_then(Value::as_array_mut) else { return true };
    let n_before = entries.len();
    entries.retain(|entry| !is_ours(entry, Origin::Settings));
    entries.len() == n_before || !entries.is_empty()
}

/// The object of this name, which is added if it is missing.
///
/// # Errors
/// If there is something else; nothing has been written then.
fn object<'a>(settings: &'a mut Members, name: &str) -> Result<&'a mut Members> {
    let value = settings.entry(name).or_insert_with(|| json!({}));
    value.as_object_mut().ok_or_else(|| not_a(name, "an object"))
}

fn not_a(what: &str, kind: &str) -> anyhow::Error {
    let message =
        format!("`{what}` is not {kind}: fix it and run the command again; nothing was changed");
    refused(Exit::BadState, message)
}

/// Parses a settings file as strictly as the client does: without comments.
fn parse(text: &str) -> Result<Members> {
    // An empty file, as `touch` creates it, holds nothing to lose.
    let text = if text.trim().is_empty() { "{}" } else { text };
    serde_json::from_str(text).map_err(|error| {
        let why = match error.is_data() {
            true => "the settings are not a JSON object".to_owned(),
            false => {
                let (line, column) = (error.line(), error.column());
                format!("not valid JSON at line {line}, column {column}: {error}")
            }
        };
        refused(Exit::BadState, format!("{why}; nothing was changed"))
    })
}

/// The settings with the indentation and the line ends of the file; without a change, its own text.
fn text_of(settings: &Members, changes: &[SettingsChange], file: &str) -> Result<String> {
    if changes.is_empty() {
        return Ok(file.to_owned());
    }
    let indent = |line: &str| line[..line.len() - line.trim_start().len()].to_owned();
    let indents = file.lines().map(indent).find(|indent| !indent.is_empty());
    let indent = indents.unwrap_or_else(|| "  ".to_owned());
    let mut text = Vec::new();
    let formatter = PrettyFormatter::with_indent(indent.as_bytes());
    settings.serialize(&mut Serializer::with_formatter(&mut text, formatter))?;
    if file.trim().is_empty() || file.ends_with('\n') {
        text.push(b'\n');
    }
    let text = String::from_utf8(text)?;
    // A line end inside of a string is escaped.
    Ok(if file.contains("\r\n") { text.replace('\n', "\r\n") } else { text })
}

// Optional settings beside the hooks, each written only on request.
//
// A new block cap replaces the old one. The base of workers and the sandbox's exceptions are also
// settings of the client's own, which the user may have made: an existing value is kept.

/// The client's limit on consecutive blocked stops, as an entry of `env`.
pub(crate) const BLOCK_CAP: &str = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP";

/// The object and the key of the commit that the client's new worktrees start from, and the value for the
/// one that is checked out.
const WORKTREE: &str = "worktree";
const BASE: &str = "baseRef";
const HEAD: &str = "head";

/// The object and the list of what runs outside of the client's sandbox.
const SANDBOX: &str = "sandbox";
const OUTSIDE: &str = "excludedCommands";

/// The extras that Ralph has written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Extras {
    block_cap: Option<u32>,
    pub(super) worker_base: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    statusline: Option<Statusline>,
    /// True if Ralph's commands may run outside of the client's sandbox.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    lets_ralph_out: bool,
}

/// The extras that the user asks for.
#[derive(Debug, Clone, Default)]
pub(crate) struct AskedExtras {
    pub(crate) block_cap: Option<u32>,
    pub(crate) named: Vec<Extra>,
}

/// A setting that a user can ask for by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Extra {
    /// A plain `ralph` line of the model runs outside of your sandbox
    Sandbox,
    /// Show the session's loop in the client's status line
    Statusline,
    /// Workers begin from the checked-out commit
    WorkerBase,
}

impl Extra {
    /// The word on the command line.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Sandbox => "sandbox",
            Self::Statusline => "statusline",
            Self::WorkerBase => "worker-base",
        }
    }
}

/// Writes the requested extras. Returns all of Ralph's that are there now.
fn put_extras_in(
    settings: &mut Members,
    location: Location<'_>,
    asked: &AskedExtras,
    known: &Extras,
    changes: &mut Vec<SettingsChange>,
) -> Result<Extras> {
    let mut extras = still_there(settings, known);
    if let Some(cap) = asked.block_cap {
        let env = object(settings, "env")?;
        let value = Value::from(cap.to_string());
        if env.get(BLOCK_CAP) != Some(&value) {
            env.insert(BLOCK_CAP.to_owned(), value);
            changes.push(SettingsChange::new("set the block cap", cap));
        }
        extras.block_cap = Some(cap);
    }
    if asked.named.contains(&Extra::WorkerBase) {
        let worktree = object(settings, WORKTREE)?;
        if !worktree.contains_key(BASE) {
            worktree.insert(BASE.to_owned(), HEAD.into());
            changes.push(SettingsChange::new("start workers from", HEAD));
            extras.worker_base = Some(HEAD.to_owned());
        }
    }
    if asked.named.contains(&Extra::Sandbox) {
        let list = object(settings, SANDBOX)?.entry(OUTSIDE).or_insert_with(|| json!([]));
        let no_list = || not_a(&format!("{SANDBOX}.{OUTSIDE}"), "a list");
        let list = list.as_array_mut().ok_or_else(no_list)?;
        if !list.iter().any(|one| one == EXCLUDED || one == "ralph:*") {
            list.push(EXCLUDED.into());
            changes.push(SettingsChange::new("let run outside of the client's sandbox", EXCLUDED));
            extras.lets_ralph_out = true;
        }
    }
    let ours = our_line(location);
    let is_asked = asked.named.contains(&Extra::Statusline);
    let known = extras.statusline.take();
    extras.statusline = put_line_in(settings, &ours, is_asked, known, changes)?;
    Ok(extras)
}

/// Removes the extras that still have the value that Ralph wrote.
fn take_extras_out(settings: &mut Members, written: &Extras, changes: &mut Vec<SettingsChange>) {
    let there = still_there(settings, written);
    if there.block_cap.is_some() {
        remove(settings, "env", BLOCK_CAP);
        changes.push(SettingsChange::new("remove the block cap", BLOCK_CAP));
    }
    if there.worker_base.is_some() {
        remove(settings, WORKTREE, BASE);
        changes.push(SettingsChange::new("remove the setting", "worktree.baseRef"));
    }
    if there.lets_ralph_out {
        if let Some(list) = settings[SANDBOX][OUTSIDE].as_array_mut() {
            list.retain(|one| one != EXCLUDED);
            if list.is_empty() {
                remove(settings, SANDBOX, OUTSIDE);
            }
        }
        let what = "let no longer run outside of the client's sandbox";
        changes.push(SettingsChange::new(what, EXCLUDED));
    }
    if let Some(line) = &there.statusline {
        take_line_out(settings, line, changes);
    }
}

/// The base of new worktrees in this text, no matter who set it.
pub(super) fn worker_base_of(text: &str) -> Result<Option<Value>> {
    Ok(parse(text)?.get(WORKTREE).and_then(|worktree| worktree.get(BASE)).cloned())
}

/// Those of the extras that have not been changed since.
fn still_there(settings: &Members, written: &Extras) -> Extras {
    let member = |object: &str, key: &str| settings.get(object).and_then(|object| object.get(key));
    let cap = |cap: &u32| {
        member("env", BLOCK_CAP).is_some_and(|value| value == &Value::from(cap.to_string()))
    };
    let base = |base: &String| member(WORKTREE, BASE).is_some_and(|value| value == base);
    let outside = member(SANDBOX, OUTSIDE).and_then(Value::as_array);
    Extras {
        block_cap: written.block_cap.filter(cap),
        worker_base: written.worker_base.clone().filter(base),
        statusline: written.statusline.clone().filter(|line| is_line_there(settings, line)),
        lets_ralph_out: written.lets_ralph_out
            && outside.is_some_and(|list| list.iter().any(|one| one == EXCLUDED)),
    }
}

/// Removes a key, and the object if it is empty then.
fn remove(settings: &mut Members, name: &str, key: &str) {
    let Some(object) = settings.get_mut(name).and_then(Value::as_object_mut) else { return };
    object.shift_remove(key);
    if object.is_empty() {
        settings.shift_remove(name);
    }
}

// The client's only status line: Ralph's alone, or Ralph's with the user's command inside it.
//
// Of the user's own entry only the command changes, and how often it is run if that is not set; how the line is displayed is
// the user's choice.

const STATUSLINE: &str = "statusLine";

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
fn our_line(location: Location<'_>) -> String {
    let program = match location {
        Location::Path => "ralph".to_owned(),
        Location::Folder(folder) => shell_word(&format!("{folder}/ralph")),
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
fn put_line_in(
    settings: &mut Members,
    ours: &str,
    is_asked: bool,
    known: Option<Statusline>,
    changes: &mut Vec<SettingsChange>,
) -> Result<Option<Statusline>> {
    let current = line_command(settings).map(str::to_owned);
    let before = match (&known, &current) {
        (Some(known), _) => known.before.clone(),
        (None, _) if !is_asked => return Ok(None),
        (None, Some(current)) if is_our_line(current) => return Ok(None),
        (None, Some(current)) => Some(Value::from(&**current).to_string()),
        (None, None) if settings.contains_key(STATUSLINE) => {
            return Err(not_a(STATUSLINE, "a command"));
        }
        (None, None) => None,
    };
    let command = with_theirs(ours, before.as_deref());
    let line = object(settings, STATUSLINE)?;
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
fn take_line_out(settings: &mut Members, written: &Statusline, changes: &mut Vec<SettingsChange>) {
    let before = written.before.as_deref().and_then(|before| serde_json::from_str(before).ok());
    let line = settings.get_mut(STATUSLINE).and_then(Value::as_object_mut);
    let (Some(before), Some(line)) = (before, line) else {
        settings.shift_remove(STATUSLINE);
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
fn is_line_there(settings: &Members, written: &Statusline) -> bool {
    line_command(settings) == Some(&written.command)
}

/// The current command; `None` if there is no status line, or one that is not a command.
fn line_command(settings: &Members) -> Option<&str> {
    let line = settings.get(STATUSLINE)?;
    line["command"].as_str().filter(|_| line["type"] == "command")
}

/// Ralph's command with the user's inside it.
fn with_theirs(ours: &str, before: Option<&str>) -> String {
    let theirs = before.and_then(|raw| serde_json::from_str::<String>(raw).ok());
    match theirs.filter(|command| !command.trim().is_empty()) {
        Some(theirs) => format!("{ours} --with {}", quoted(&theirs)),
        None => ours.to_owned(),
    }
}

fn is_our_line(command: &str) -> bool {
    let mut words = command.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
    let program = words.next().and_then(|word| word.rsplit('/').next());
    program == Some("ralph") && words.next() == Some("statusline")
}

/// Quotes a path only if a shell needs it.
fn shell_word(path: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+@".contains(letter);
    if path.chars().all(is_plain) { path.to_owned() } else { quoted(path) }
}

// The one line in the client's settings that lets Ralph's commands work where the user's sandbox is
// on: a plain `ralph` line runs outside of it.
//
// It widens what a sandboxed session may do, so it is written only when the user agrees to it, and
// an entry that the user made is theirs to remove.

/// Asks on a terminal whether to write the line; false without one.
pub(super) fn is_sandbox_agreed(scope: &InstallScope) -> Result<bool> {
    if !screen::can_ask() {
        return Ok(false);
    }
    let question = format!(
        "Your settings switch the client's sandbox on, where the model's `ralph` commands fail.\n\
         Add `\"{OUTSIDE}\": [\"{EXCLUDED}\"]` to `{}`? A plain `ralph` line then runs outside; \
         it can change only its own loop.",
        scope.settings.display()
    );
    screen::confirm(&question)
}

/// The command that writes the line.
pub(super) fn offer_sandbox(scope: &InstallScope) -> String {
    format!(
        "your settings switch the client's sandbox on, where the model's `ralph` commands fail; `{}` \
         lets a plain `ralph` line run outside",
        scope.args.command(Some(Extra::Sandbox))
    )
}

/// What lets Ralph's commands work in the user's sandbox: for an installation in settings, the command
/// that repeats it; for another, the entry, since the command would register the hooks a second time.
pub(crate) fn sandbox_cure(places: &InstallPaths) -> String {
    let record = InstallRecord::read(places.ralph.root()).ok();
    let is_installed = |args: &ScopeArgs| {
        let scope = super::resolve(args, places).ok()?;
        record.as_ref()?.find_install(&scope.settings)?;
        Some(format!("run `{}`", scope.args.command(Some(Extra::Sandbox))))
    };
    let project = project::root(None, &places.current);
    let scopes = [ScopeArgs::default(), ScopeArgs::for_project(Some(project))];
    scopes.iter().find_map(is_installed).unwrap_or_else(|| {
        format!("add `\"{OUTSIDE}\": [\"{EXCLUDED}\"]` below `\"{SANDBOX}\"` in your settings")
    })
}

#[cfg(test)]
mod merge_tests;

#[cfg(test)]
mod statusline_tests {
    use super::*;
    use serde_json::json;

    const OURS: &str = "/b/ralph statusline";

    fn members(settings: Value) -> Members {
        settings.as_object().unwrap().clone()
    }

    /// The settings with Ralph's line, and what is Ralph's in it.
    fn asked(settings: &mut Members) -> Statusline {
        put_line_in(settings, OURS, true, None, &mut Vec::new()).unwrap().unwrap()
    }

    fn updated(settings: &mut Members, known: &Statusline, is_asked: bool) -> (Statusline, usize) {
        let mut changes = Vec::new();
        let known = Some(known.clone());
        let line = put_line_in(settings, "/c/ralph statusline", is_asked, known, &mut changes);
        (line.unwrap().unwrap(), changes.len())
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let own: Members = serde_json::from_str(text).unwrap();
        let mut settings = own.clone();
        let line = asked(&mut settings);
        assert_eq!(settings[STATUSLINE]["command"], expected);
        let interval = own.get(STATUSLINE).and_then(|line| line.get(REFRESH)).cloned();
        assert_eq!(settings[STATUSLINE][REFRESH], interval.unwrap_or(REFRESHED.into()));
        let mut there = settings.clone();
        let mut changes = Vec::new();
        assert_eq!(put_line_in(&mut there, OURS, true, None, &mut changes).unwrap(), None);
        let again = put_line_in(&mut there, OURS, false, Some(line.clone()), &mut changes).unwrap();
        assert_eq!((again.as_ref(), changes.len(), &there), (Some(&line), 0, &settings));
        let (moved, _) = updated(&mut there, &line, false);
        assert_eq!(there[STATUSLINE]["command"], expected.replace("/b/", "/c/"));
        assert_eq!(moved.before, line.before);
        take_line_out(&mut there, &moved, &mut Vec::new());
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
        for own in [json!({}), json!({STATUSLINE: {"type": "command", "command": "x"}})] {
            let mut settings = members(own);
            let line = asked(&mut settings);
            let mut removed = settings.clone();
            removed[STATUSLINE].as_object_mut().unwrap().remove(REFRESH);
            let (again, _) = updated(&mut removed, &line, false);
            assert!(!again.refreshes && removed[STATUSLINE].get(REFRESH).is_none(), "{removed:?}");
            let (asked, _) = updated(&mut removed, &again, true);
            assert!(asked.refreshes && removed[STATUSLINE][REFRESH] == REFRESHED, "{removed:?}");
            settings[STATUSLINE][REFRESH] = json!(9);
            updated(&mut settings, &line, true);
            assert_eq!(settings[STATUSLINE][REFRESH], 9);
        }
        let mut settings = members(json!({STATUSLINE: {"type": "command", "command": "x"}}));
        let line = asked(&mut settings);
        settings[STATUSLINE][REFRESH] = json!(9);
        take_line_out(&mut settings, &line, &mut Vec::new());
        assert_eq!(settings[STATUSLINE], json!({"type": "command", "command": "x", REFRESH: 9}));
    }

    #[test]
    fn what_a_person_has_changed_since_is_theirs() {
        let mut settings = members(json!({}));
        let line = asked(&mut settings);
        settings[STATUSLINE]["command"] = json!("mine");
        assert!(!is_line_there(&settings, &line));
        assert_eq!(put_line_in(&mut settings, OURS, false, None, &mut Vec::new()).unwrap(), None);
        asked(&mut settings);
        assert_eq!(settings[STATUSLINE]["command"], "/b/ralph statusline --with 'mine'");
    }

    #[test]
    fn what_is_no_command_is_refused_where_it_is_asked_for_and_left_alone_elsewhere() {
        for line in [
            json!("x"),
            json!({"type": "static", "command": "x"}),
            json!({"type": "command", "command": 1}),
        ] {
            let mut settings = members(json!({STATUSLINE: line}));
            let changes = &mut Vec::new();
            let error =
                put_line_in(&mut settings, OURS, true, None, changes).unwrap_err().to_string();
            assert!(error.contains("`statusLine` is not a command"), "{error}");
            assert_eq!(put_line_in(&mut settings, OURS, false, None, changes).unwrap(), None);
        }
    }

    #[test]
    fn the_executable_is_named_so_that_a_shell_finds_it() {
        assert_eq!(our_line(Location::Path), "ralph statusline");
        assert_eq!(our_line(Location::Folder("/a/b")), "/a/b/ralph statusline");
        assert_eq!(our_line(Location::Folder("/a b")), "'/a b/ralph' statusline");
        assert!(is_our_line("'/ab/ralph' statusline --with 'x'") && !is_our_line("ralph status"));
    }
}
