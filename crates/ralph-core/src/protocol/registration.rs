//! The table of hooks, and the three formats in which a client reads it.
//!
//! All code that registers or recognises our hooks (settings, plugin, skills, `ralph doctor`, the
//! guard's list of installed hooks) uses [`HOOKS`]; there is no second list. Hooks always use exec
//! form (`args` present): shell form costs several times what the hook itself does. The last
//! argument names the registration, so that a hook started twice for one event knows which of the
//! two copies counts.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use std::fmt::Write as _;

/// Starts, resumes and cancels loops when the user types a command.
pub const USER_PROMPT: &str = "ralph-user-prompt";
/// Decides whether a tool may run now.
pub const PRE_TOOL_USE: &str = "ralph-pre-tool-use";
/// Checks the files edited by a tool.
pub const BACKPRESSURE: &str = "ralph-backpressure";
/// Decides whether a finished turn may end the loop.
pub const STOP_HOOK: &str = "ralph-stop-hook";
/// Adds the project facts to a session and, after compaction, the loop prompt.
pub const SESSION_CONTEXT: &str = "ralph-session-context";
/// The command line.
pub const COMMAND_LINE: &str = "ralph";

/// The executables that the client starts, all in the same folder as [`COMMAND_LINE`].
pub const HOOK_EXECUTABLES: [&str; 5] =
    [USER_PROMPT, PRE_TOOL_USE, BACKPRESSURE, STOP_HOOK, SESSION_CONTEXT];

/// The first argument of [`STOP_HOOK`] when it waits for background workers.
pub const WAIT: &str = "wait";

/// The client's time limit for [`WAIT`]: the longest `background_minutes` plus one minute to
/// report.
pub const WAIT_TIMEOUT_MS: u32 = 1_860_000;

/// Slash commands that must not expand without our hook.
pub const COMMANDS: [&str; 9] = [
    "ralph",
    "ralph-plan",
    "ralph-parallel",
    "ralph-cancel",
    "ralph-pause",
    "ralph-v2",
    "ralplan",
    // Aliases, short enough to clash with other people's commands.
    "rp",
    "planloop",
];

/// A place to register hooks. `state::Registration` is what a hook reads from the last argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A `settings.json` of the user or of a project.
    Settings,
    /// The plugin's `hooks/hooks.json`.
    Plugin,
    /// The front matter of a skill.
    Skill,
}

impl Origin {
    /// The word that a registration passes as the last argument.
    pub fn word(self) -> &'static str {
        match self {
            Self::Settings => "settings",
            Self::Plugin => "plugin",
            Self::Skill => "skill",
        }
    }
}

/// Which occurrences of an event run a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matcher {
    /// The event has nothing to match on, or the hook runs for every occurrence.
    None,
    /// Every tool.
    AnyTool,
    /// The expansion of one of [`COMMANDS`].
    OurCommands,
}

/// What the client does if the executable is missing or crashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// The client's default: continue.
    GoOn,
    /// Block: a loop must not start without the hook that enforces it.
    Block,
}

/// Whether the client waits for a hook before it continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runs {
    /// The client waits.
    InTurn,
    /// The hook runs in the background and may wake the session by its exit code (`asyncRewake`). A
    /// client started with a single prompt (`-p`) still waits for it.
    Beside,
}

/// One row of [`HOOKS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hook {
    /// The client's name for the event.
    pub event: &'static str,
    pub matcher: Matcher,
    /// File name of the executable.
    pub executable: &'static str,
    /// Arguments before the origin word.
    pub args: &'static [&'static str],
    /// Milliseconds after which the client kills the hook.
    pub timeout_ms: u32,
    /// What the client does if the executable is missing.
    pub on_failure: OnFailure,
    pub runs: Runs,
}

const fn hook(event: &'static str, executable: &'static str, timeout_ms: u32) -> Hook {
    let (matcher, on_failure, runs) = (Matcher::None, OnFailure::GoOn, Runs::InTurn);
    Hook { event, matcher, executable, args: &[], timeout_ms, on_failure, runs }
}

/// Every registered hook, in the order in which a session triggers them.
pub const HOOKS: [Hook; 14] = [
    hook("SessionStart", SESSION_CONTEXT, 10_000),
    hook("UserPromptSubmit", USER_PROMPT, 10_000),
    Hook {
        matcher: Matcher::OurCommands,
        on_failure: OnFailure::Block,
        ..hook("UserPromptExpansion", USER_PROMPT, 10_000)
    },
    Hook { matcher: Matcher::AnyTool, ..hook("PreToolUse", PRE_TOOL_USE, 5_000) },
    // Runs when nobody can answer the request; calls that PreToolUse denied never get here.
    Hook { matcher: Matcher::AnyTool, ..hook("PermissionRequest", PRE_TOOL_USE, 5_000) },
    Hook { matcher: Matcher::AnyTool, ..hook("PostToolUse", BACKPRESSURE, 15_000) },
    // A failed call has no PostToolUse, and the user's messages must not wait for the next call.
    Hook { matcher: Matcher::AnyTool, ..hook("PostToolUseFailure", BACKPRESSURE, 15_000) },
    // A long timeout: a completion request runs the acceptance commands. An ordinary stop takes
    // milliseconds.
    hook("Stop", STOP_HOOK, 600_000),
    Hook { args: &[WAIT], runs: Runs::Beside, ..hook("Stop", STOP_HOOK, WAIT_TIMEOUT_MS) },
    hook("SubagentStop", STOP_HOOK, 600_000),
    hook("StopFailure", STOP_HOOK, 5_000),
    hook("PreCompact", SESSION_CONTEXT, 10_000),
    // Fires with the hooks of before, also for the write that removes them (measured with 2.1.328).
    hook("ConfigChange", PRE_TOOL_USE, 5_000),
    // The client's own limit for this event; a larger number would have no effect.
    hook("SessionEnd", STOP_HOOK, 1_500),
];

/// Events that are useful in the front matter of a skill.
///
/// The others fire before a skill is loaded, or never fire for a skill.
const EVENTS_OF_A_SKILL: [&str; 7] = [
    "UserPromptSubmit",
    "UserPromptExpansion",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
];

/// How a registration names the executables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Location<'a> {
    /// Bare names, found on `PATH`: the only form that is the same on every machine.
    Path,
    /// A folder, prefixed to the name.
    Folder(&'a str),
}

impl Location<'_> {
    /// The command to register for an executable.
    pub fn command(self, executable: &str) -> String {
        match self {
            Self::Path => executable.to_owned(),
            Self::Folder(folder) => format!("{}/{executable}", folder.trim_end_matches('/')),
        }
    }
}

/// A hook as the client reads it: `{"type":"command","command":…,"args":[…],"timeout":…}`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HookEntry {
    /// Always `command`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub command: String,
    /// Arguments, ending in the origin word.
    pub args: Vec<&'static str>,
    /// In seconds.
    pub timeout: Seconds,
    /// Written only if it differs from the client's default.
    #[serde(rename = "onFailure", skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<&'static str>,
    /// Written only if true.
    #[serde(rename = "asyncRewake", skip_serializing_if = "Option::is_none")]
    pub async_rewake: Option<bool>,
}

/// One element of an event's list: a matcher and its hooks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    /// Omitted if the event has nothing to match on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matcher: Option<String>,
    /// Our hooks are alone in their group.
    pub hooks: Vec<HookEntry>,
}

/// The `hooks` value of a settings file: events in the order of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Registered(Vec<(&'static str, Vec<Group>)>);

impl Registered {
    pub fn events(&self) -> impl Iterator<Item = (&'static str, &[Group])> {
        self.0.iter().map(|(event, groups)| (*event, groups.as_slice()))
    }
}

impl Serialize for Registered {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (event, groups) in &self.0 {
            map.serialize_entry(event, groups)?;
        }
        map.end()
    }
}

/// A duration in seconds, serialized as a whole number where it is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seconds {
    milliseconds: u32,
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.milliseconds {
            whole if whole.is_multiple_of(1000) => serializer.serialize_u32(whole / 1000),
            part => serializer.serialize_f64(f64::from(part) / 1000.0),
        }
    }
}

/// The `hooks` object of a `settings.json`.
pub fn settings_hooks(location: Location<'_>) -> Registered {
    registered(&HOOKS, location, Origin::Settings)
}

/// The complete `hooks/hooks.json` of the plugin.
pub fn plugin_hooks_json() -> String {
    #[derive(Serialize)]
    struct Plugin {
        description: &'static str,
        hooks: Registered,
    }
    let location = Location::Folder("${CLAUDE_PLUGIN_ROOT}/bin");
    let hooks = registered(&HOOKS, location, Origin::Plugin);
    pretty(&Plugin { description: "Ralph: loops whose completion is computed", hooks })
}

/// The complete `settings.example.json`: what `ralph install` registers, with bare names.
pub fn settings_example_json() -> String {
    #[derive(Serialize)]
    struct HookSettings {
        hooks: Registered,
    }
    pretty(&HookSettings { hooks: settings_hooks(Location::Path) })
}

/// The `hooks:` block of a skill's front matter, with a final newline.
pub fn skill_front_matter(location: Location<'_>) -> String {
    let ours: Vec<Hook> =
        HOOKS.into_iter().filter(|hook| EVENTS_OF_A_SKILL.contains(&hook.event)).collect();
    let mut yaml = String::from("hooks:\n");
    for (event, groups) in registered(&ours, location, Origin::Skill).events() {
        // Writing into a `String` cannot fail.
        let _ = writeln!(yaml, "  {event}:");
        for group in groups {
            let _ = write!(yaml, "{}", yaml_group(group));
        }
    }
    yaml
}

/// True if this command starts one of our hooks for this origin, whatever its folder.
pub fn is_ours<'a>(command: &str, args: impl IntoIterator<Item = &'a str>, origin: Origin) -> bool {
    let name = command.rsplit('/').next().unwrap_or(command);
    HOOK_EXECUTABLES.contains(&name) && args.into_iter().last() == Some(origin.word())
}

/// The matcher as the client reads it.
pub fn matcher_text(matcher: Matcher) -> Option<String> {
    match matcher {
        Matcher::None => None,
        Matcher::AnyTool => Some("*".to_owned()),
        // Anchored: the client treats a pattern with a colon as a regular expression, and an
        // unanchored `ralph` would also match a command such as `ralphie`.
        Matcher::OurCommands => Some(format!("^(ralph:)?({})$", COMMANDS.join("|"))),
    }
}

fn registered(hooks: &[Hook], location: Location<'_>, origin: Origin) -> Registered {
    let mut events: Vec<(&'static str, Vec<Group>)> = Vec::new();
    for hook in hooks {
        let group = Group {
            matcher: matcher_text(hook.matcher),
            hooks: vec![entry(hook, location, origin)],
        };
        match events.iter_mut().find(|(event, _)| *event == hook.event) {
            Some((_, groups)) => groups.push(group),
            None => events.push((hook.event, vec![group])),
        }
    }
    Registered(events)
}

fn entry(hook: &Hook, location: Location<'_>, origin: Origin) -> HookEntry {
    HookEntry {
        kind: "command",
        command: location.command(hook.executable),
        args: hook.args.iter().copied().chain([origin.word()]).collect(),
        timeout: Seconds { milliseconds: hook.timeout_ms },
        on_failure: match hook.on_failure {
            OnFailure::GoOn => None,
            OnFailure::Block => Some("block"),
        },
        async_rewake: (hook.runs == Runs::Beside).then_some(true),
    }
}

fn yaml_group(group: &Group) -> String {
    let mut text = match &group.matcher {
        Some(matcher) => format!("    - matcher: \"{matcher}\"\n      hooks:\n"),
        None => "    - hooks:\n".to_owned(),
    };
    for entry in &group.hooks {
        let command = yaml_word(&entry.command);
        let args: Vec<String> = entry.args.iter().map(|word| yaml_word(word)).collect();
        let args = args.join(", ");
        let seconds = f64::from(entry.timeout.milliseconds) / 1000.0;
        let _ = write!(
            text,
            "        - type: command\n          command: {command}\n          args: [{args}]\n          timeout: {seconds}\n"
        );
        if entry.async_rewake == Some(true) {
            text.push_str("          asyncRewake: true\n");
        }
    }
    text
}

/// Formats a string for YAML. Quotes it only if necessary, as JSON does, which is valid YAML.
pub fn yaml_word(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-".contains(letter);
    match text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '/')
        && text.chars().all(is_plain)
    {
        true => text.to_owned(),
        false => serde_json::Value::from(text).to_string(),
    }
}

fn pretty(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("a table of strings serialises");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Registration;

    #[test]
    fn settings_are_in_exec_form_with_the_origin_last() {
        let hooks = serde_json::to_value(settings_hooks(Location::Folder("/opt/r"))).unwrap();
        assert_eq!(
            hooks["PreToolUse"],
            serde_json::json!([{"matcher": "*", "hooks": [{
                "type": "command", "command": "/opt/r/ralph-pre-tool-use",
                "args": ["settings"], "timeout": 5}]}])
        );
        assert_eq!(hooks["SessionEnd"][0]["hooks"][0]["timeout"], 1.5);
    }

    #[test]
    fn the_expansion_of_our_commands_blocks_when_the_hook_is_missing() {
        let hooks = serde_json::to_value(settings_hooks(Location::Path)).unwrap();
        let group = &hooks["UserPromptExpansion"][0];
        assert_eq!(
            group["matcher"],
            "^(ralph:)?(ralph|ralph-plan|ralph-parallel|ralph-cancel|ralph-pause|ralph-v2|ralplan|rp|planloop)$"
        );
        assert_eq!(group["hooks"][0]["onFailure"], "block");
        let blocking = HOOKS.iter().filter(|hook| hook.on_failure == OnFailure::Block).count();
        assert_eq!(blocking, 1);
    }

    #[test]
    fn no_row_is_listed_twice_and_every_executable_is_used() {
        let mut rows: Vec<_> = HOOKS.iter().map(|hook| (hook.event, hook.args)).collect();
        rows.sort_unstable();
        rows.dedup();
        assert_eq!(rows.len(), HOOKS.len());
        for executable in HOOK_EXECUTABLES {
            assert!(HOOKS.iter().any(|hook| hook.executable == executable), "{executable}");
        }
    }

    #[test]
    fn a_plugin_starts_its_own_copies() {
        let plugin: serde_json::Value = serde_json::from_str(&plugin_hooks_json()).unwrap();
        let stop = &plugin["hooks"]["Stop"][0]["hooks"][0];
        assert_eq!(stop["command"], "${CLAUDE_PLUGIN_ROOT}/bin/ralph-stop-hook");
        assert_eq!(stop["args"], serde_json::json!(["plugin"]));
    }

    #[test]
    fn a_skill_carries_only_the_hooks_that_run_in_skills() {
        assert_eq!(
            skill_front_matter(Location::Path),
            r#"hooks:
  UserPromptSubmit:
    - hooks:
        - type: command
          command: ralph-user-prompt
          args: [skill]
          timeout: 10
  UserPromptExpansion:
    - matcher: "^(ralph:)?(ralph|ralph-plan|ralph-parallel|ralph-cancel|ralph-pause|ralph-v2|ralplan|rp|planloop)$"
      hooks:
        - type: command
          command: ralph-user-prompt
          args: [skill]
          timeout: 10
  PreToolUse:
    - matcher: "*"
      hooks:
        - type: command
          command: ralph-pre-tool-use
          args: [skill]
          timeout: 5
  PermissionRequest:
    - matcher: "*"
      hooks:
        - type: command
          command: ralph-pre-tool-use
          args: [skill]
          timeout: 5
  PostToolUse:
    - matcher: "*"
      hooks:
        - type: command
          command: ralph-backpressure
          args: [skill]
          timeout: 15
  PostToolUseFailure:
    - matcher: "*"
      hooks:
        - type: command
          command: ralph-backpressure
          args: [skill]
          timeout: 15
  Stop:
    - hooks:
        - type: command
          command: ralph-stop-hook
          args: [skill]
          timeout: 600
    - hooks:
        - type: command
          command: ralph-stop-hook
          args: [wait, skill]
          timeout: 1860
          asyncRewake: true
"#
        );
    }

    #[test]
    fn the_one_entry_that_wakes_stands_beside_the_one_that_answers_the_stop() {
        let hooks = serde_json::to_value(settings_hooks(Location::Path)).unwrap();
        assert_eq!(
            hooks["Stop"],
            serde_json::json!([
                {"hooks": [{"type": "command", "command": "ralph-stop-hook",
                    "args": ["settings"], "timeout": 600}]},
                {"hooks": [{"type": "command", "command": "ralph-stop-hook",
                    "args": ["wait", "settings"], "timeout": 1860, "asyncRewake": true}]},
            ])
        );
        assert_eq!(HOOKS.iter().filter(|hook| hook.runs == Runs::Beside).count(), 1);
    }

    #[test]
    fn our_entries_are_known_by_name_and_origin_wherever_they_point() {
        let settings = |command, args: &[&'static str]| {
            is_ours(command, args.iter().copied(), Origin::Settings)
        };
        assert!(settings("/old place/ralph-stop-hook", &["settings"]));
        assert!(settings("ralph-stop-hook", &["wait", "settings"]));
        assert!(!settings("ralph-stop-hook", &["plugin"]));
        assert!(!settings("ralph-stop-hook", &[]));
        assert!(!settings("/x/ralph-stop-hook-of-mine", &["settings"]));
        assert!(!settings("/x/ralph-stop-hook/run", &["settings"]));
    }

    #[test]
    fn the_state_knows_every_origin_by_its_word() {
        let via = [Origin::Settings, Origin::Plugin, Origin::Skill]
            .map(|origin| Registration::from_argument(Some(origin.word())));
        assert_eq!(via, [Registration::Settings, Registration::Plugin, Registration::Skill]);
    }

    #[test]
    fn the_example_holds_what_an_installation_registers() {
        let example: serde_json::Value = serde_json::from_str(&settings_example_json()).unwrap();
        let hooks = serde_json::to_value(settings_hooks(Location::Path)).unwrap();
        assert_eq!(example, serde_json::json!({ "hooks": hooks }));
        assert!(settings_example_json().ends_with("}\n"));
    }

    #[test]
    fn a_word_is_quoted_only_where_yaml_would_take_it_for_something_else() {
        for (word, written) in [
            ("settings", "settings"),
            ("/opt/my-ralph/v1.2_3/bin", "/opt/my-ralph/v1.2_3/bin"),
            ("/with a blank", "\"/with a blank\""),
            ("${ROOT}/bin", "\"${ROOT}/bin\""),
            ("12", "\"12\""),
            ("-x", "\"-x\""),
            ("a: b", "\"a: b\""),
            ("", "\"\""),
        ] {
            assert_eq!(yaml_word(word), written);
        }
    }
}
