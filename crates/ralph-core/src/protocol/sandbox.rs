//! The client's sandbox: its settings, why it cannot start, what it has prevented or ended, and what it leaves behind.

pub mod widening;

use crate::shell::quoted;
use crate::text::sanitize::visible;
use crate::text::truncate::bounded;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::fmt;

// Measured with 2.1.328 in print mode on Linux. Shell commands run in the sandbox; hooks do not.
// Without `failIfUnavailable`, a client that lacks bubblewrap runs every command unsandboxed.
// Without the rule `Bash`, it denies commands whose variables it cannot check. With
// `excludedCommands`, a line that is one plain `ralph` command runs outside; every compound line
// stays inside.

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

// Why the client's sandbox cannot start here, with what to install and what runs without it.

/// Why the sandbox cannot start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unavailable {
    /// These programs are missing.
    Missing(Vec<&'static str>),
    /// The program is there, and the system refuses it; with its message.
    Refused { program: &'static str, why: String },
}

/// The Linux package of a program, the same in every distribution that we know.
fn package(program: &str) -> &str {
    match program {
        "bwrap" => "bubblewrap",
        program => program,
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unavailable::Missing(programs) if programs.contains(&"sandbox-exec") => {
                to.write_str("`sandbox-exec` is missing; it is a part of macOS, in `/usr/bin`")
            }
            Unavailable::Missing(programs) => {
                let names: Vec<String> = programs.iter().map(|one| format!("`{one}`")).collect();
                let packages: Vec<&str> = programs.iter().map(|one| package(one)).collect();
                let (names, packages) = (names.join(" and "), packages.join(" "));
                let verb = if programs.len() == 1 { "is" } else { "are" };
                write!(
                    to,
                    "{names} {verb} missing; install the package {packages}: `sudo apt install {packages}`, or \
                     with your system's package manager"
                )
            }
            Unavailable::Refused { program: "bwrap", why } => write!(
                to,
                "the system lets `bwrap` start nothing ({why}); allow unprivileged user namespaces \
                 (`sysctl kernel.unprivileged_userns_clone=1`; on Ubuntu 24.04 \
                 `kernel.apparmor_restrict_unprivileged_userns=0`, or a profile for bwrap)"
            ),
            Unavailable::Refused { program, why } => {
                write!(to, "the system lets `{program}` start nothing ({why})")
            }
        }
    }
}

/// What a run without the sandbox would allow, a line for each way. `command` is what the user
/// typed, with room for more options.
pub fn other_ways(command: impl Fn(&str) -> String) -> [String; 3] {
    let way = |options: &str, allows: &str| format!("`{}`: {allows}", command(options));
    [
        way(
            "--no-sandbox",
            "commands that the client's settings allow run with all your rights, others are denied",
        ),
        way(
            "--no-sandbox --permission-mode acceptEdits",
            "the same, and edits in the project pass",
        ),
        way(
            "--no-sandbox --permission-mode bypassPermissions",
            "every command and every edit runs with all your rights",
        ),
    ]
}

// What a sandbox has prevented, as far as the result of a tool call shows it.
//
// The client reports a refused host in a block of its own. A refused write and a hidden file are
// ordinary errors of the command, which only their text shows.

/// The most lines that are kept of one result.
const MOST_LINES: usize = 5;

/// The most characters of a line.
const LONGEST_LINE: usize = 200;

/// The lines of a tool's result that may show that a sandbox has prevented something.
pub fn prevented_candidates(text: &str) -> Vec<String> {
    let mut is_report = false;
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        is_report |= line.contains("<sandbox_violations>");
        let is_ended = line.contains("</sandbox_violations>");
        let words = line.replace("</sandbox_violations>", "").replace("<sandbox_violations>", "");
        if (is_report || is_error(line)) && !words.trim().is_empty() && found.len() < MOST_LINES {
            found.push(bounded(words.trim(), LONGEST_LINE));
        }
        is_report &= !is_ended;
    }
    found
}

fn is_error(line: &str) -> bool {
    is_refused_write(line) || is_hidden(line)
}

/// No other cause is likely: a project is not on a read-only file system.
fn is_refused_write(line: &str) -> bool {
    let signs =
        ["Read-only file system", "read-only file system", "EROFS", "Operation not permitted"];
    signs.iter().any(|sign| line.contains(sign))
}

/// A hidden file does not exist in the sandbox, or cannot be opened.
fn is_hidden(line: &str) -> bool {
    line.contains("No such file or directory") || line.contains("Permission denied")
}

/// True if a candidate shows that the sandbox has prevented something; `hidden` are the paths that
/// it hides.
pub fn is_prevented(line: &str, hidden: &[String]) -> bool {
    !is_hidden(line) || hidden_path(line, hidden).is_some()
}

/// The hidden path that a line shows as missing.
pub fn hidden_path<'a>(line: &str, hidden: &'a [String]) -> Option<&'a str> {
    let shown = hidden.iter().filter(|path| line.contains(path.as_str()));
    shown.map(String::as_str).next().filter(|_| is_hidden(line))
}

// The report about processes that a command of the model leaves running.
//
// The client's sandbox ends them with the command and reports nothing. So a sandboxed session's
// SessionStart hook adds [`left_running_script`] to the file that the client runs ahead of each command.
// Measured with 2.1.328 on Linux: the command's shell has the number 2 below a process 1 of
// namespaces of its own, and nothing else that the client starts runs the file.

/// What the line of a report begins with.
const REPORT: &str = "ralph: ended what the command left running: ";

/// The most characters of a report's names.
const LONGEST_REPORT: usize = 200;

/// The line of shell that has `ralph` look when the command's shell ends, and tells it what ran before
/// the command: the sandbox's helpers may be children of that shell. It changes neither the command's
/// output, unless there is a report, nor its exit code, whatever options the command sets.
pub fn left_running_script(ralph: &str) -> String {
    let look = quoted(&format!("{{ {} delegate left-running ", quoted(ralph)));
    let quietly = quoted("; } 1>&2 2>/dev/null");
    format!(
        "if [ \"$$.$PPID\" = 2.1 ]; then set -- /proc/[0-9]*; trap {look}\"$*\"{quietly} EXIT; set --; fi\n"
    )
}

/// The line for the model; `None` if nothing is left running.
pub fn left_running_report(names: &[String]) -> Option<String> {
    let names = bounded(&visible(&names.join(", ")).replace('\n', " "), LONGEST_REPORT);
    (!names.is_empty()).then(|| format!("{REPORT}{names}"))
}

/// The names in the reports of a tool's result.
pub fn left_running_names(text: &str) -> Vec<String> {
    let reports = text.lines().filter_map(|line| line.trim().strip_prefix(REPORT));
    reports
        .flat_map(|names| {
            bounded(names, LONGEST_REPORT).split(", ").map(str::to_owned).collect::<Vec<_>>()
        })
        .collect()
}

// The empty files that stand in a project while a sandboxed command runs.
//
// The sandbox mounts over them what a command must not create. The client removes them when the
// command ends, and when it is ended by SIGTERM or SIGINT; after SIGKILL they stay. They are not
// the work of anyone.

/// Their permission bits. Their size is 0.
pub const LITTER_MODE: u32 = 0o444;

/// Their names in the client's working folder, measured with 2.1.328, and the files of Ralph that
/// its own settings for the sandbox protect.
pub const LITTER: [&str; 25] = [
    ".bash_profile",
    ".bashrc",
    ".claude/agents",
    ".claude/commands",
    ".claude/hooks",
    ".claude/launch.json",
    ".claude/loop.md",
    ".claude/output-styles",
    ".claude/ralph",
    ".claude/ralph.toml",
    ".claude/routines",
    ".claude/scheduled_tasks.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/skills",
    ".claude/workflows",
    ".gitconfig",
    ".gitmodules",
    ".idea",
    ".mcp.json",
    ".profile",
    ".ripgreprc",
    ".vscode",
    ".zprofile",
    ".zshrc",
];

/// Their names in the folder of the git repository.
pub const GIT_LITTER: [&str; 2] = ["config.lock", "packed-refs"];

/// True if a path has the name of such a file, in whichever folder a client works.
pub fn is_litter_name(path: &[u8]) -> bool {
    LITTER.iter().any(|name| {
        path.strip_suffix(name.as_bytes())
            .is_some_and(|folder| folder.is_empty() || folder.ends_with(b"/"))
    })
}

#[cfg(test)]
mod settings_tests {
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

#[cfg(test)]
mod unavailable_tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_its_package() {
        let text = Unavailable::Missing(vec!["bwrap", "socat"]).to_string();
        assert!(text.starts_with("`bwrap` and `socat` are missing; install the package"), "{text}");
        assert!(text.contains("`sudo apt install bubblewrap socat`"), "{text}");
        let text = Unavailable::Missing(vec!["socat"]).to_string();
        assert!(text.starts_with("`socat` is missing") && text.contains("socat`"), "{text}");
        let why = "No permissions to create a new namespace".to_owned();
        let text = Unavailable::Refused { program: "bwrap", why }.to_string();
        assert!(text.contains("new namespace") && text.contains("user namespaces"), "{text}");
        assert!(!Unavailable::Missing(vec!["sandbox-exec"]).to_string().contains("apt"));
    }

    #[test]
    fn each_other_way_is_a_command_and_what_it_allows() {
        let ways = other_ways(|options| format!("ralph build {options}"));
        assert!(ways[0].starts_with("`ralph build --no-sandbox`: commands that"));
        assert!(ways[2].contains("bypassPermissions`: every command"));
    }
}

#[cfg(test)]
mod attempts_tests {
    use super::*;

    #[test]
    fn a_refused_host_write_and_key_are_found_in_a_result() {
        let text = "Exit code 1\n\
            /bin/bash: line 1: /home/u/x: Read-only file system\n\
            cat: /home/u/.ssh/id: No such file or directory\n\
            cat: missing: No such file or directory\n\
            fine\n\
            <sandbox_violations>\n\
            deny network-outbound example.com:443\n\
            </sandbox_violations>\nrest";
        let hidden = ["/home/u/.ssh".to_owned()];
        let found = prevented_candidates(text);
        let found: Vec<&str> =
            found.iter().map(String::as_str).filter(|line| is_prevented(line, &hidden)).collect();
        assert_eq!(
            found,
            [
                "/bin/bash: line 1: /home/u/x: Read-only file system",
                "cat: /home/u/.ssh/id: No such file or directory",
                "deny network-outbound example.com:443",
            ]
        );
        assert_eq!(
            prevented_candidates("<sandbox_violations>a.b:443</sandbox_violations>\nnext"),
            ["a.b:443"]
        );
        assert!(prevented_candidates("all is well\n").is_empty());
        assert_eq!(
            prevented_candidates(&"x: Read-only file system\n".repeat(99)).len(),
            MOST_LINES
        );
    }
}

#[cfg(test)]
mod left_running_tests {
    use super::*;

    #[test]
    fn a_report_is_one_line_from_which_the_names_are_read() {
        let left = ["sleep", "node"].map(str::to_owned);
        let line = left_running_report(&left).unwrap();
        assert_eq!(line, "ralph: ended what the command left running: sleep, node");
        assert_eq!(left_running_names(&format!("Exit code 1\nout\n{line}\n")), left);
        assert_eq!(left_running_report(&[]), None);
        let lies = left_running_report(&["a\nralph: b\u{1b}[2J".to_owned()]).unwrap();
        assert!(!lies.contains(['\n', '\u{1b}']), "{lies}");
        assert!(left_running_report(&["x".repeat(9999)]).unwrap().len() < 300);
        for text in ["", "left running: sleep", "x ralph: ended what the command left running: y"] {
            assert!(left_running_names(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn the_script_quotes_the_path_twice() {
        assert_eq!(
            left_running_script("/it's $HOME/ralph"),
            "if [ \"$$.$PPID\" = 2.1 ]; then set -- /proc/[0-9]*; trap '{ '\\''/it'\\''\\'\\'''\\''s \
             $HOME/ralph'\\'' delegate left-running '\"$*\"'; } 1>&2 2>/dev/null' EXIT; set --; fi\n"
        );
    }
}

#[cfg(test)]
mod litter_tests {
    use super::*;

    #[test]
    fn a_name_counts_in_each_folder_and_whole() {
        for path in [".bashrc", "sub/.bashrc", ".claude/agents", "a/b/.claude/ralph.toml"] {
            assert!(is_litter_name(path.as_bytes()), "{path}");
        }
        for path in ["x.bashrc", "agents", "sub/agents", ".claude/agents/a.md", ".claude", ""] {
            assert!(!is_litter_name(path.as_bytes()), "{path}");
        }
    }
}
