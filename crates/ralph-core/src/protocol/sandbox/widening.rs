//! What the files of a project would have a client run or allow outside of the bounds of its round.
//!
//! Measured with 2.1.328 in print mode, with `--settings` as Ralph gives it. The project's hooks,
//! `apiKeyHelper` and the servers of `.mcp.json` are started outside of the sandbox, in a folder that
//! nobody trusts as well, and so are the hooks in the front matter of an agent. `env` reaches every
//! command. `permissions.allow` and `additionalDirectories` let Write leave the project. The
//! `sandbox` of a project's own files counted for nothing; another version may add it up, as this
//! one does with the user's.

use super::{EXCLUDED, SandboxReach};
use crate::protocol::registration::HOOK_EXECUTABLES;
use serde_json::Value;

/// What does not widen the bounds of a round.
#[derive(Debug, Clone, Copy)]
pub struct WithinBounds<'a> {
    pub reach: &'a SandboxReach,
    /// The folder of Ralph's executables, whose hooks may run.
    pub executables: &'a str,
}

/// Members that name a program.
const PROGRAMS: [&str; 5] = [
    "apiKeyHelper",
    "awsAuthRefresh",
    "awsCredentialExport",
    "gcpAuthRefresh",
    "otelHeadersHelper",
];

/// Members of `sandbox` that only deny more, with the value that does not; `null` for any value.
const HARMLESS: [(&str, Value); 4] = [
    ("enabled", Value::Bool(true)),
    ("failIfUnavailable", Value::Bool(true)),
    ("allowUnsandboxedCommands", Value::Bool(false)),
    ("autoAllowBashIfSandboxed", Value::Null),
];

/// Tools that change nothing, or whose calls the sandbox bounds.
const BOUNDED: [&str; 9] =
    ["Bash", "Read", "Glob", "Grep", "LS", "TodoWrite", "NotebookRead", "WebSearch", "BashOutput"];

/// Tools that write files, which a rule may let leave the project.
const WRITERS: [&str; 4] = ["Edit", "Write", "MultiEdit", "NotebookEdit"];

impl WithinBounds<'_> {
    /// The first member of a settings file that widens the bounds.
    pub fn member_of_settings(&self, settings: &Value) -> Option<String> {
        let members = settings.as_object()?;
        members.iter().find_map(|(name, value)| match name.as_str() {
            "hooks" => self.hook(value),
            "disableAllHooks" => (value == true).then(|| name.clone()),
            "env" => first_key(value).map(|key| format!("env.{key}")),
            "enabledPlugins" => plugin(value),
            "extraKnownMarketplaces" => first_key(value).map(|key| format!("{name}.{key}")),
            "sandbox" => self.sandbox(value),
            "permissions" => self.permission(value),
            name if PROGRAMS.contains(&name) => Some(name.to_owned()),
            _ => None,
        })
    }

    fn hook(&self, events: &Value) -> Option<String> {
        let mut all = events.as_object()?.iter();
        let (event, _) = all.find(|(_, groups)| {
            let groups = groups.as_array().into_iter().flatten();
            let mut hooks =
                groups.flat_map(|group| group["hooks"].as_array().into_iter().flatten());
            hooks.any(|hook| !self.is_own_hook(hook))
        })?;
        Some(format!("hooks.{event}"))
    }

    /// A bare name is looked up on the user's `PATH`, on which no folder of the project comes first.
    fn is_own_hook(&self, hook: &Value) -> bool {
        let command = hook["command"].as_str().unwrap_or_default();
        let (folder, name) = command.rsplit_once('/').unwrap_or(("", command));
        let is_own = folder.is_empty() && hook["args"].is_array() || folder == self.executables;
        hook["type"] == "command" && is_own && HOOK_EXECUTABLES.contains(&name)
    }

    fn sandbox(&self, sandbox: &Value) -> Option<String> {
        sandbox.as_object()?.iter().find_map(|(name, value)| {
            let is_fine = |allowed: &[String]| {
                let listed = value.as_array().into_iter().flatten();
                listed.into_iter().all(|one| allowed.iter().any(|it| one == it.as_str()))
            };
            match name.as_str() {
                "excludedCommands" => {
                    let ours = [EXCLUDED.to_owned(), "ralph:*".to_owned()];
                    (!is_fine(&ours)).then(|| "sandbox.excludedCommands".to_owned())
                }
                "filesystem" => self.lists(name, value, &[("allowWrite", &self.reach.allow_write)]),
                "network" => self.lists(
                    name,
                    value,
                    &[
                        ("allowedDomains", &self.reach.hosts),
                        ("allowUnixSockets", &self.reach.sockets),
                    ],
                ),
                name => {
                    let mut harmless = HARMLESS.iter().filter(|(harmless, _)| name == *harmless);
                    let fine = harmless.any(|(_, fine)| fine.is_null() || fine == value);
                    (!fine).then(|| format!("sandbox.{name}"))
                }
            }
        })
    }

    fn lists(&self, of: &str, section: &Value, within: &[(&str, &Vec<String>)]) -> Option<String> {
        let denies = |name: &str| name.starts_with("deny") || name == "deniedDomains";
        let (name, _) = section.as_object()?.iter().find(|(name, value)| {
            let known = within.iter().find(|(known, _)| name == known);
            let listed = value.as_array().map(Vec::as_slice).unwrap_or_default();
            let is_within = known.is_some_and(|(_, allowed)| {
                value.is_array()
                    && listed.iter().all(|one| allowed.iter().any(|it| one == it.as_str()))
            });
            !denies(name) && !is_within
        })?;
        Some(format!("sandbox.{of}.{name}"))
    }

    fn permission(&self, permissions: &Value) -> Option<String> {
        let list = |name: &str| permissions[name].as_array().into_iter().flatten();
        if list("additionalDirectories").next().is_some() {
            return Some("permissions.additionalDirectories".to_owned());
        }
        let wide =
            list("allow").find(|rule| !self.is_bounded(rule.as_str().unwrap_or_default()))?;
        Some(format!("permissions.allow: {}", wide.as_str().unwrap_or("a rule that is no text")))
    }

    fn is_bounded(&self, rule: &str) -> bool {
        let (tool, about) = match rule.split_once('(') {
            Some((tool, rest)) => (tool, rest.strip_suffix(')')),
            None => (rule, None),
        };
        match (tool, about) {
            (tool, _) if BOUNDED.contains(&tool) => true,
            (tool, Some(path)) if WRITERS.contains(&tool) => {
                !path.starts_with("//") && !path.starts_with('~') && !path.contains("..")
            }
            ("WebFetch", Some(about)) => about
                .strip_prefix("domain:")
                .is_some_and(|host| self.reach.hosts.iter().any(|listed| listed == host)),
            _ => false,
        }
    }
}

fn first_key(value: &Value) -> Option<&String> {
    value.as_object()?.keys().next()
}

fn plugin(plugins: &Value) -> Option<String> {
    let is_on = |(name, value): &(&String, &Value)| {
        **value != false && !value.is_null() && !name.starts_with("ralph@")
    };
    let (name, _) = plugins.as_object()?.iter().find(is_on)?;
    Some(format!("enabledPlugins.{name}"))
}

/// The first server of `.mcp.json`.
pub fn server(document: &Value) -> Option<String> {
    first_key(&document["mcpServers"]).map(|name| format!("mcpServers.{name}"))
}

/// The member of the front matter of an agent, a skill or a command by which it starts a program.
pub fn of_front_matter(text: &str) -> Option<String> {
    let mut lines = text.trim_start_matches('\u{feff}').lines();
    if lines.next()?.trim_end() != "---" {
        return None;
    }
    let mut lines = lines.take_while(|line| line.trim_end() != "---");
    lines.find_map(|line| {
        let plain: String = line
            .chars()
            .filter(|letter| !letter.is_whitespace() && !"'\"".contains(*letter))
            .collect();
        ["hooks", "mcpServers"]
            .into_iter()
            .find(|name| plain.contains(&format!("{name}:")))
            .map(str::to_owned)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(settings: Value, expected: &str) {
        let reach = SandboxReach {
            allow_write: vec!["/cache".to_owned()],
            hosts: vec!["crates.io".to_owned()],
            ..SandboxReach::default()
        };
        let within = WithinBounds { reach: &reach, executables: "/opt/ralph" };
        let found = within.member_of_settings(&settings).unwrap_or_default();
        assert_eq!(found, expected, "{settings}");
    }

    fn hook(handler: Value) -> Value {
        json!({"hooks": {"Stop": [{"matcher": "*", "hooks": [handler]}]}})
    }

    #[test]
    fn what_starts_a_program_outside_is_named() {
        check(hook(json!({"type": "command", "command": "./format.sh"})), "hooks.Stop");
        check(hook(json!({"type": "http", "url": "http://x"})), "hooks.Stop");
        check(
            hook(json!({"type": "command", "command": "/p/ralph-stop-hook", "args": []})),
            "hooks.Stop",
        );
        check(hook(json!({"type": "command", "command": "ralph-stop-hook; x"})), "hooks.Stop");
        check(json!({"disableAllHooks": true}), "disableAllHooks");
        check(json!({"env": {"PATH": "/p/bin"}}), "env.PATH");
        check(json!({"apiKeyHelper": "./key"}), "apiKeyHelper");
        check(json!({"enabledPlugins": {"x@y": true}}), "enabledPlugins.x@y");
        check(json!({"extraKnownMarketplaces": {"y": {}}}), "extraKnownMarketplaces.y");
        assert_eq!(server(&json!({"mcpServers": {"m": {}}})).unwrap(), "mcpServers.m");
        assert_eq!(server(&json!({"mcpServers": {}})), None);
    }

    #[test]
    fn what_lets_commands_or_tools_leave_the_bounds_is_named() {
        check(json!({"sandbox": {"enabled": false}}), "sandbox.enabled");
        check(json!({"sandbox": {"excludedCommands": ["npm *"]}}), "sandbox.excludedCommands");
        check(
            json!({"sandbox": {"filesystem": {"allowWrite": ["/"]}}}),
            "sandbox.filesystem.allowWrite",
        );
        check(
            json!({"sandbox": {"filesystem": {"allowRead": ["/"]}}}),
            "sandbox.filesystem.allowRead",
        );
        check(
            json!({"sandbox": {"network": {"allowedDomains": ["a.b"]}}}),
            "sandbox.network.allowedDomains",
        );
        check(
            json!({"sandbox": {"network": {"allowAllUnixSockets": true}}}),
            "sandbox.network.allowAllUnixSockets",
        );
        check(
            json!({"sandbox": {"enableWeakerNestedSandbox": true}}),
            "sandbox.enableWeakerNestedSandbox",
        );
        check(
            json!({"permissions": {"additionalDirectories": ["/"]}}),
            "permissions.additionalDirectories",
        );
        for rule in [
            "Edit",
            "Write(//home/**)",
            "Edit(~/x)",
            "Edit(../x)",
            "WebFetch",
            "mcp__github__x",
            "Skill(s)",
        ] {
            check(
                json!({"permissions": {"allow": ["Bash", rule]}}),
                &format!("permissions.allow: {rule}"),
            );
        }
    }

    #[test]
    fn what_an_ordinary_project_says_passes() {
        for settings in [
            json!({}),
            json!({"model": "opus", "permissions": {"deny": ["WebFetch"], "defaultMode": "plan",
                "allow": ["Bash(npm test:*)", "Read", "Edit(src/**)", "WebFetch(domain:crates.io)"]}}),
            json!({"sandbox": {"enabled": true, "excludedCommands": ["ralph *"], "allowUnsandboxedCommands": false,
                "filesystem": {"denyRead": ["/x"], "allowWrite": ["/cache"]}, "network": {"allowedDomains": ["crates.io"]}}}),
            hook(
                json!({"type": "command", "command": "/opt/ralph/ralph-stop-hook", "args": ["settings"]}),
            ),
            hook(json!({"type": "command", "command": "ralph-stop-hook", "args": ["settings"]})),
            json!({"enabledPlugins": {"ralph@here": true, "x@y": false}, "disableAllHooks": false}),
        ] {
            check(settings, "");
        }
    }

    #[test]
    fn an_agent_that_starts_programs_is_known_by_its_front_matter() {
        assert_eq!(of_front_matter("---\nname: a\n'hooks' :\n  Stop: []\n---\n").unwrap(), "hooks");
        assert_eq!(of_front_matter("---\n{name: a, mcpServers: {}}\n---\n").unwrap(), "mcpServers");
        assert_eq!(of_front_matter("---\nname: a\n---\nhooks: are fine here\n"), None);
        assert_eq!(of_front_matter("hooks: x\n"), None);
    }
}
