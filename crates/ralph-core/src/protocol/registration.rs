//! The table of hooks, and the three formats in which a client reads it.
//!
//! All code that registers or recognises our hooks (settings, plugin, skills, `ralph doctor`, the
//! guard's list of installed hooks) uses [`HOOKS`]; there is no second list. Hooks always use exec
//! form (`args` present): shell form costs several times what the hook itself does. The last
//! argument names the registration, so that a hook started twice for one event knows which of the
//! two copies counts.

use serde_json::{Map, Value, json};

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

/// The `hooks` object of a `settings.json`.
pub fn settings_hooks(location: Location<'_>) -> Value {
    registered(location, Origin::Settings)
}

/// The complete `hooks/hooks.json` of the plugin.
pub fn plugin_hooks_json() -> String {
    let hooks = registered(Location::Folder("${CLAUDE_PLUGIN_ROOT}/bin"), Origin::Plugin);
    let description = "Ralph: loops whose completion is computed";
    format!("{:#}\n", json!({"description": description, "hooks": hooks}))
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

/// Events in the order of the table; each of our hooks is alone in its group.
fn registered(location: Location<'_>, origin: Origin) -> Value {
    let mut events = Map::new();
    for hook in &HOOKS {
        let groups = events.entry(hook.event).or_insert_with(|| json!([]));
        if let Value::Array(groups) = groups {
            groups.push(group(hook, location, origin));
        }
    }
    Value::Object(events)
}

/// A matcher, if the event has something to match on, and a hook as the client reads it.
fn group(hook: &Hook, location: Location<'_>, origin: Origin) -> Value {
    let mut group = Map::new();
    group.extend(matcher_text(hook.matcher).map(|text| ("matcher".to_owned(), text.into())));
    let args: Vec<&str> = hook.args.iter().copied().chain([origin.word()]).collect();
    let timeout = match hook.timeout_ms {
        whole if whole.is_multiple_of(1000) => json!(whole / 1000),
        part => json!(f64::from(part) / 1000.0),
    };
    let command = location.command(hook.executable);
    let mut entry =
        json!({"type": "command", "command": command, "args": args, "timeout": timeout});
    // The client's defaults are not written.
    if hook.on_failure == OnFailure::Block {
        entry["onFailure"] = json!("block");
    }
    if hook.runs == Runs::Beside {
        entry["asyncRewake"] = json!(true);
    }
    group.insert("hooks".to_owned(), json!([entry]));
    Value::Object(group)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Registration;

    #[test]
    fn settings_are_in_exec_form_with_the_origin_last() {
        let hooks = settings_hooks(Location::Folder("/opt/r"));
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
        let hooks = settings_hooks(Location::Path);
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
    fn the_one_entry_that_wakes_stands_beside_the_one_that_answers_the_stop() {
        let hooks = settings_hooks(Location::Path);
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
}
