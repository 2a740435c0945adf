//! The client's sandbox: the settings by which a headless client starts in it, and what a client
//! leaves in the project when it is killed there.
//!
//! Measured with 2.1.328 in print mode on Linux. Shell commands run in the sandbox; hooks do not.
//! Without `failIfUnavailable`, a client that lacks bubblewrap runs every command unsandboxed.
//! Without the rule `Bash`, it denies commands whose variables it cannot check. With
//! `excludedCommands`, a line that is one plain `ralph` command runs outside; every compound line
//! stays inside.

pub mod attempts;
pub mod left_running;
pub mod litter;
pub mod unavailable;
pub mod widening;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The permission mode of a sandboxed client, unless the user chooses another. Edits in the project
/// pass, and those outside of it are denied.
pub const MODE: &str = "acceptEdits";

/// The permission rule that lets every shell command run: the sandbox bounds it.
pub const RULE: &str = "Bash";

/// The lines that the client runs outside of its sandbox: a single `ralph` command.
pub const EXCLUDED: &str = "ralph *";

/// What shell commands in the sandbox may reach, as absolute paths and as names of hosts. The
/// working folder is always writable.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxReach {
    /// Each must exist: the client ignores a folder that it does not find when it starts.
    pub allow_write: Vec<String>,
    /// May name files that do not exist yet.
    pub deny_write: Vec<String>,
    pub deny_read: Vec<String>,
    pub hosts: Vec<String>,
    pub sockets: Vec<String>,
    /// Of the denied paths, those that the client's own file tools may use where another rule lets
    /// them: a round reads and writes its copy of a plan there.
    pub handed_over: Vec<String>,
    /// True if a plain `ralph` line may run outside.
    pub runs_ralph_outside: bool,
}

/// The value of `--settings` for a sandboxed client.
pub fn settings(reach: &SandboxReach) -> Value {
    let excluded: &[&str] = if reach.runs_ralph_outside { &[EXCLUDED] } else { &[] };
    json!({
        "permissions": {"allow": [RULE], "deny": rules_for_file_tools(reach)},
        "sandbox": {
            "enabled": true,
            "failIfUnavailable": true,
            "autoAllowBashIfSandboxed": true,
            "allowUnsandboxedCommands": false,
            "excludedCommands": excluded,
            "filesystem": {
                "allowWrite": reach.allow_write,
                "denyWrite": reach.deny_write,
                "denyRead": reach.deny_read,
            },
            "network": {"allowedDomains": reach.hosts, "allowUnixSockets": reach.sockets},
        },
    })
}

/// The rules that bind Read, Write and Edit to the same lists: these tools run outside of the
/// sandbox, and a rule that denies holds in every permission mode. A path that a rule would read as
/// a pattern gets none.
fn rules_for_file_tools(reach: &SandboxReach) -> Vec<String> {
    let rules = |tool: &'static str, paths: &[String]| {
        let bound = paths.iter().filter(|path| !reach.handed_over.contains(path));
        let plain = bound.filter(|path| !path.contains(|letter| "*?[](){}!\\,".contains(letter)));
        let both =
            plain.flat_map(move |path| [format!("{tool}(/{path})"), format!("{tool}(/{path}/**)")]);
        both.collect::<Vec<_>>()
    };
    [rules("Read", &reach.deny_read), rules("Edit", &reach.deny_write)].concat()
}

/// The user's own settings for the client together with these: lists add up, and a single value is
/// ours.
///
/// # Errors
/// If the user's settings switch off a part of our sandbox; the text names it.
pub fn merged(own: Value, ours: &Value) -> Result<Value, String> {
    if !ours["sandbox"].is_object() {
        return Ok(joined(own, ours));
    }
    for (key, is_safe) in [
        ("enabled", true),
        ("failIfUnavailable", true),
        ("allowUnsandboxedCommands", false),
        ("enableWeakerNestedSandbox", false),
    ] {
        if own["sandbox"][key].as_bool().is_some_and(|value| value != is_safe) {
            return Err(format!("`sandbox.{key}` is {}", !is_safe));
        }
    }
    Ok(joined(own, ours))
}

fn joined(own: Value, ours: &Value) -> Value {
    match (own, ours) {
        (Value::Object(own), Value::Object(ours)) => {
            let mut all: Map<String, Value> = own;
            for (key, value) in ours {
                let own = all.remove(key).unwrap_or_default();
                all.insert(key.clone(), joined(own, value));
            }
            Value::Object(all)
        }
        (Value::Array(mut own), Value::Array(ours)) => {
            let more = ours.iter().filter(|one| !own.contains(one)).cloned();
            own.extend(more.collect::<Vec<_>>());
            Value::Array(own)
        }
        (_, ours) => ours.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach() -> SandboxReach {
        SandboxReach {
            allow_write: vec!["/cache".to_owned()],
            deny_write: vec!["/p/.git/hooks".to_owned()],
            deny_read: vec!["/home/.ssh".to_owned(), "/ralph".to_owned()],
            hosts: vec!["crates.io".to_owned()],
            sockets: Vec::new(),
            handed_over: vec!["/ralph".to_owned()],
            runs_ralph_outside: true,
        }
    }

    #[test]
    fn a_client_gets_the_whole_reach_and_never_runs_unsandboxed() {
        let found = settings(&reach());
        let sandbox = &found["sandbox"];
        for (key, value) in [
            ("enabled", true),
            ("failIfUnavailable", true),
            ("autoAllowBashIfSandboxed", true),
            ("allowUnsandboxedCommands", false),
        ] {
            assert_eq!(sandbox[key], value, "{key}");
        }
        assert_eq!(sandbox["excludedCommands"], json!(["ralph *"]));
        assert_eq!(sandbox["filesystem"]["denyWrite"], json!(["/p/.git/hooks"]));
        assert_eq!(sandbox["network"]["allowedDomains"], json!(["crates.io"]));
        assert_eq!(found["permissions"]["allow"], json!(["Bash"]));
        assert_eq!(
            found["permissions"]["deny"],
            json!([
                "Read(//home/.ssh)",
                "Read(//home/.ssh/**)",
                "Edit(//p/.git/hooks)",
                "Edit(//p/.git/hooks/**)"
            ])
        );
        let inside = settings(&SandboxReach { runs_ralph_outside: false, ..reach() });
        assert_eq!(inside["sandbox"]["excludedCommands"], json!([]));
    }

    #[test]
    fn the_users_own_settings_add_to_the_lists_and_keep_what_concerns_no_sandbox() {
        let own = json!({"model": "opus", "permissions": {"deny": ["WebFetch"]},
            "sandbox": {"network": {"allowedDomains": ["a.b", "crates.io"]}}});
        let found = merged(own, &settings(&reach())).unwrap();
        assert_eq!(found["model"], "opus");
        assert_eq!(found["permissions"]["allow"], json!(["Bash"]));
        assert_eq!(found["permissions"]["deny"][0], "WebFetch");
        assert_eq!(found["permissions"]["deny"][1], "Read(//home/.ssh)");
        assert_eq!(found["sandbox"]["network"]["allowedDomains"], json!(["a.b", "crates.io"]));
        assert_eq!(found["sandbox"]["enabled"], true);
    }

    #[test]
    fn settings_that_switch_the_sandbox_off_are_refused_by_name() {
        for (key, value) in [
            ("enabled", false),
            ("failIfUnavailable", false),
            ("allowUnsandboxedCommands", true),
            ("enableWeakerNestedSandbox", true),
        ] {
            let refused = merged(json!({"sandbox": {key: value}}), &settings(&reach()));
            assert_eq!(refused.unwrap_err(), format!("`sandbox.{key}` is {value}"));
            assert!(merged(json!({"sandbox": {key: !value}}), &settings(&reach())).is_ok());
        }
    }
}
