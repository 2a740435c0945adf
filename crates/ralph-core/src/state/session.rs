//! Where a loop runs: the session and its client, where hooks are registered, the environment, the bounds of commands, and
//! workers.

use super::{Extra, WorkerStanding, is_default};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A session that a loop was bound to.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Bound {
    /// Claude Code's session id.
    pub session_id: String,
    /// When the loop left the session.
    pub until: Timestamp,
    /// Why the loop left it: `cleared`, `adopted` …
    pub why: String,
}

/// A client process. The start time distinguishes it from another process with a reused id.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientProcess {
    /// Process id.
    pub pid: u32,
    /// Start time as the system counts it; empty where unavailable.
    pub started: String,
}

impl ClientProcess {
    /// Stands for a client whose session has ended: no process has the id 0.
    pub fn gone() -> ClientProcess {
        ClientProcess { pid: 0, started: String::new() }
    }
}

/// The turn that a loop drives: our last reply in it was to continue. A user prompt with another id
/// reveals that the turn was cut.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DrivenTurn {
    /// The client's id of the prompt that started the turn; empty if unknown.
    pub prompt_id: String,
    /// When the reply was given.
    pub at: Timestamp,
    /// True once the main conversation has used a tool since that reply.
    #[serde(skip_serializing_if = "is_default")]
    pub worked: bool,
    /// True if the user typed the prompt, and no stop has continued the turn since.
    #[serde(skip_serializing_if = "is_default")]
    pub typed: bool,
    /// True once the user has read that a pause waits for the end of the turn.
    #[serde(skip_serializing_if = "is_default")]
    pub pause_told: bool,
    /// Offset in bytes in the session's transcript before which no row is of this turn; 0 if unknown.
    #[serde(skip_serializing_if = "is_default")]
    pub transcript_from: u64,
}

impl DrivenTurn {
    /// A turn in which no tool has been used yet.
    pub fn new(prompt_id: impl Into<String>, at: Timestamp) -> DrivenTurn {
        DrivenTurn { prompt_id: prompt_id.into(), at, ..DrivenTurn::default() }
    }

    /// A turn that begins with a prompt of the user.
    pub fn typed(prompt_id: impl Into<String>, at: Timestamp) -> DrivenTurn {
        DrivenTurn { typed: true, ..DrivenTurn::new(prompt_id, at) }
    }
}

/// A session that `ralph run` or `ralph build` started for one round.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BuildRound {
    /// The task's id; empty if all tasks are closed and only criteria remain.
    pub task: String,
    /// Number of the round, from 1.
    pub number: u32,
    /// Fingerprint of the work tree when the round began; absent without git.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// Ids of the tasks that were done when the round began: what it may finish is judged by its
    /// change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub done: Vec<String>,
}

/// A place where hooks are registered, in ascending rank. If one event starts a hook more than
/// once, only the highest-ranking copy that the loop has seen counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Registration {
    /// The hook got no registration name.
    Unnamed,
    /// A skill's front matter.
    Skill,
    /// A plugin's `hooks.json`.
    Plugin,
    /// A settings file.
    Settings,
}

impl Registration {
    /// All variants, in ascending rank.
    pub const ALL: [Registration; 4] =
        [Registration::Unnamed, Registration::Skill, Registration::Plugin, Registration::Settings];

    /// The word that a registration passes as the last argument.
    pub fn as_str(self) -> &'static str {
        match self {
            Registration::Unnamed => "unnamed",
            Registration::Skill => "skill",
            Registration::Plugin => "plugin",
            Registration::Settings => "settings",
        }
    }

    /// The registration that started an executable, from its last argument.
    pub fn from_argument(argument: Option<&str>) -> Registration {
        let named = Registration::ALL.into_iter().find(|via| argument == Some(via.as_str()));
        named.unwrap_or(Registration::Unnamed)
    }

    /// True for the one copy of a hook that tells the user, if several registrations start copies. An
    /// unreadable state would hold the highest rank that was seen; without it each copy works this out
    /// from what is registered.
    pub fn speaks(self, has_plugin: bool, is_in_settings: impl FnOnce() -> bool) -> bool {
        match self {
            Registration::Skill => !has_plugin && !is_in_settings(),
            Registration::Plugin => !is_in_settings(),
            Registration::Settings | Registration::Unnamed => true,
        }
    }
}

/// The variables that decide what runs, as of the start of the loop.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Environment {
    /// The client that passed this environment to the hook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientProcess>,
    /// Absolute path of the client that headless rounds start; empty if none was found.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub program: String,
    /// The plugins of the client at the start of a run; absent in a loop of a conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugins: Option<Vec<String>>,
    /// Values by name.
    pub values: BTreeMap<String, String>,
    /// Digests by name, for values that may be secret.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub digests: BTreeMap<String, String>,
}

/// The bounds of the client's commands, the criteria, the checks, the facts and the git hooks of one
/// loop. Everything is readable that no entry denies, and nothing is writable that no entry allows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Bounds {
    /// Absolute paths of folders that may be written, besides a temporary folder for each command.
    /// The project comes first.
    pub write: Vec<String>,
    /// Absolute paths that do not exist inside.
    pub read_deny: Vec<String>,
    /// Absolute paths inside `write` that must not be written; they need not exist.
    pub write_deny: Vec<String>,
    /// Hosts that may be reached: a name, `*.` and a name, or either with `:PORT`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Ports on the loopback address of the machine that may be reached.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<u32>,
    /// Absolute paths of Unix sockets that may be reached.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sockets: Vec<String>,
}

impl Bounds {
    /// The list with which the proxy decides on a host and its port.
    pub fn allows_host(&self, host: &str, port: u16) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        self.hosts.iter().any(|listed| {
            let (name, only) = match listed.rsplit_once(':') {
                Some((name, number)) if !name.contains(':') => (name, Some(number)),
                _ => (listed.as_str(), None),
            };
            let name = name.to_ascii_lowercase();
            let same = match name.strip_prefix("*.") {
                Some(parent) => host
                    .strip_suffix(parent)
                    .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
                None => host == name,
            };
            same && only.is_none_or(|only| only == port.to_string())
        })
    }
}

/// A subagent of the session, or a separate headless client.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Worker {
    /// Unique id: the id of the call that started the worker.
    pub call: String,
    /// The client's id of the agent; empty until it is known. For a headless worker, the id of its
    /// loop.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// The agent's type: `ralph-worker` …
    pub kind: String,
    /// The worker's task; empty if it has none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub task: String,
    /// The purpose of the worker, in the words of its starter.
    pub about: String,
    /// When the worker was started.
    pub at: Timestamp,
    /// The client process in which the worker runs. Subagents end with their client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientProcess>,
    /// The status of the worker.
    pub standing: WorkerStanding,
    /// True once its report was sent back; the second report is taken as it is.
    #[serde(skip_serializing_if = "is_default")]
    pub sent_back: bool,
    /// Its worktree; empty if it has none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub worktree: String,
    /// The branch of its worktree.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub branch: String,
    /// The commit at which its worktree began.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub base: String,
    /// The first files that it has changed, according to git.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The commit that holds all of its work, once that was merged or rejected.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub commit: String,
    /// The commit on the loop's branch that merged its work.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub merged: String,
    /// Why its work was not merged, and will not be merged as it is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kept_out: String,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Worker {
    pub fn is_running(&self) -> bool {
        self.standing == WorkerStanding::Running
    }

    /// True if the worker has finished work that is neither merged nor rejected.
    pub fn awaits_merge(&self) -> bool {
        self.standing == WorkerStanding::Done
            && !self.files.is_empty()
            && self.merged.is_empty()
            && self.kept_out.is_empty()
    }
}

#[cfg(test)]
mod turn_tests {
    use super::*;

    #[test]
    fn a_turn_that_begins_with_a_prompt_of_the_user_is_marked_as_typed() {
        let at = Timestamp::UNIX_EPOCH;
        let new = DrivenTurn { prompt_id: "p".to_owned(), at, ..DrivenTurn::default() };
        assert_eq!(DrivenTurn::typed("p", at), DrivenTurn { typed: true, ..new.clone() });
        assert_eq!(DrivenTurn::new("p", at), new);
    }
}

#[cfg(test)]
mod registration_tests {
    use super::*;

    #[test]
    fn of_the_registrations_the_highest_speaks() {
        let speakers = |has_plugin, is_in_settings: bool| {
            let all = Registration::ALL.into_iter();
            all.filter(|via| via.speaks(has_plugin, || is_in_settings)).collect::<Vec<_>>()
        };
        assert_eq!(speakers(true, true), [Registration::Unnamed, Registration::Settings]);
        assert_eq!(
            speakers(true, false),
            [Registration::Unnamed, Registration::Plugin, Registration::Settings]
        );
        assert!(speakers(false, false).contains(&Registration::Skill));
    }
}

#[cfg(test)]
mod bounds_tests {
    use super::*;

    #[track_caller]
    fn check(listed: &str, host: &str, port: u16, expected: bool) {
        let bounds = Bounds { hosts: vec![listed.to_owned()], ..Bounds::default() };
        assert_eq!(bounds.allows_host(host, port), expected, "{listed} {host}:{port}");
    }

    #[test]
    fn a_host_is_matched_by_its_whole_name_and_a_star_stands_for_what_is_below() {
        check("example.com", "EXAMPLE.com.", 443, true);
        check("example.com", "evil-example.com", 443, false);
        check("example.com", "a.example.com", 443, false);
        check("example.com", "example.com.evil.org", 443, false);
        check("*.example.com", "a.b.example.com", 443, true);
        check("*.example.com", "example.com", 443, false);
        check("*.example.com", "evilexample.com", 443, false);
        check("example.com:443", "example.com", 443, true);
        check("example.com:443", "example.com", 80, false);
        check("example.com:x", "example.com", 80, false);
    }

    #[test]
    fn a_host_is_reached_by_its_name_below_a_name_and_at_its_port() {
        let allows = |listed: &str, host: &str, port| {
            Bounds { hosts: vec![listed.to_owned()], ..Bounds::default() }.allows_host(host, port)
        };
        for (listed, host, port, expected) in [
            ("a.io", "a.io", 443, true),
            ("A.io", "a.IO.", 443, true),
            ("a.io", "b.a.io", 443, false),
            ("a.io:80", "a.io", 80, true),
            ("a.io:80", "a.io", 443, false),
            ("*.a.io", "b.a.io", 443, true),
            ("*.a.io", "a.io", 443, false),
            ("*.a.io", ".a.io", 443, false),
            ("*.a.io", "ba.io", 443, false),
            ("*.a.io:80", "b.a.io", 80, true),
            ("*.a.io:80", "b.a.io", 81, false),
            ("::1", "::1", 443, true),
            ("::1", "::", 1, false),
        ] {
            assert_eq!(allows(listed, host, port), expected, "{listed} for {host}:{port}");
        }
    }
}
