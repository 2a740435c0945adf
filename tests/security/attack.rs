//! What the attacks have in common: every way into Ralph, each under a deadline, and what must hold
//! of each whatever stands in its way.

use crate::world::{Ran, World, executable, run};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Output;

/// A call that was held up by a planted pipe would wait for ever; none needs this long.
const PATIENCE: &str = "20";

/// Every event of a session that a loop is bound to.
pub(crate) fn events() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("ralph-session-context", "SessionStart", json!({"source": "compact"})),
        ("ralph-session-context", "PreCompact", json!({"trigger": "auto"})),
        ("ralph-user-prompt", "UserPromptSubmit", json!({"prompt": "hello"})),
        ("ralph-pre-tool-use", "PreToolUse", json!({"tool_name": "AskUserQuestion"})),
        (
            "ralph-pre-tool-use",
            "PreToolUse",
            json!({"tool_name": "Bash", "tool_input": {"command": "ls"}}),
        ),
        ("ralph-backpressure", "PostToolUse", json!({"tool_name": "Write"})),
        ("ralph-stop-hook", "Stop", json!({"last_assistant_message": "on it"})),
        ("ralph-stop-hook", "Stop", json!({"last_assistant_message": "RALPH_COMPLETE"})),
        ("ralph-stop-hook", "StopFailure", json!({"error": "rate_limit"})),
        ("ralph-stop-hook", "SessionEnd", json!({"reason": "other"})),
    ]
}

/// Every command that looks at a loop, and those that a person gives about one.
pub(crate) const COMMANDS: [&[&str]; 22] = [
    &["status"],
    &["status", "--json"],
    &["status", "--all"],
    &["status", "--all", "--json"],
    &["explain", "99"],
    &["explain", "99", "--json"],
    &["replay"],
    &["replay", "--all"],
    &["replay", "--json"],
    &["verify"],
    &["verify", "--json"],
    &["checkpoint", "list"],
    &["checkpoint", "list", "--json"],
    &["checkpoint", "show"],
    &["checkpoint", "diff"],
    &["task", "list", "--all"],
    &["task", "list", "--all", "--markdown"],
    &["task", "list", "--all", "--json"],
    &["task", "ready"],
    &["doctor"],
    &["criteria", "accept"],
    &["pause"],
];

/// Those of [`COMMANDS`] that read something which no other reads; for the proof all of them, also where one prints
/// what another reads in a form for programs.
pub(crate) fn reading_commands() -> impl Iterator<Item = &'static [&'static str]> {
    let is_form = |word: &&str| ["--json", "--markdown"].contains(word);
    COMMANDS.into_iter().filter(move |words| crate::is_proof() || !words.iter().any(is_form))
}

/// Runs a hook on an event and ends it at the deadline; fails the test if it did harm or hung.
#[track_caller]
pub(crate) fn hook(world: &World, name: &str, event: &str, members: Value) -> Ran {
    let payload = world.payload(event, members).to_string();
    let words = ["timeout", "-s", "KILL", PATIENCE, executable(name)];
    run(world.wrapped(&words), name, payload.as_bytes()).harmless()
}

/// Runs the command line as a person would in another terminal; fails the test if it hung or
/// panicked.
#[track_caller]
pub(crate) fn command(world: &World, arguments: &[&str]) -> Output {
    let words = ["timeout", "-s", "KILL", PATIENCE, executable("ralph")];
    let mut command = world.wrapped(&words);
    for variable in ["CLAUDE_CODE_SESSION_ID", "CLAUDE_PID", "CLAUDECODE"] {
        command.env_remove(variable);
    }
    // The registration's name is for hooks.
    let mut plain = std::process::Command::new(words[0]);
    plain.args(&words[1..]).args(arguments).env_clear().current_dir(&world.cwd);
    plain.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = plain.stdin(std::process::Stdio::null()).output().unwrap();
    let code = output.status.code();
    assert!(code.is_some_and(|code| (0..=4).contains(&code)), "{arguments:?}: {output:?}");
    output
}

/// Both channels as one text.
pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

/// A folder in which a program that must not run leaves a file.
pub(crate) struct Canary {
    folder: PathBuf,
}

impl Canary {
    pub(crate) fn in_world(world: &World) -> Canary {
        let folder = world.root().join("canary");
        std::fs::create_dir_all(&folder).unwrap();
        Canary { folder }
    }

    /// A command line that leaves a file of this name, and swallows its input as a filter would.
    pub(crate) fn trap(&self, name: &str) -> String {
        format!("touch {}; cat", self.folder.join(name).display())
    }

    pub(crate) fn ran(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[track_caller]
    pub(crate) fn lives(&self) {
        assert_eq!(self.ran(), [""; 0], "programs that must not run");
    }
}

/// A loop with one criterion that holds once `done` says yes.
pub(crate) fn looping() -> World {
    World::looping("--ac 'it is done=grep -q yes done'")
}
