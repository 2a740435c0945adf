//! The sections of the settings, and the keys that a file may have.

use super::{CheckSettings, Settings, out_of_bounds};
use crate::modes::build::review::ROUNDS;
use crate::modes::refine;
use crate::project::project_facts::ContextSettings;
use crate::protocol::permission::Mode;
use crate::tasks::shared::record::{LEASE_SECONDS, LONGEST_LEASE};
use crate::tasks::shared::timing::PUSHES_PER_MINUTE;
use crate::text::nearest::nearest;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::time::Duration;

// The section `[client]`: how headless loops start the client.
//
// A cloned repository must not weaken the client's permission prompts: without trust, a project
// may only choose a mode that allows no more than the default, and cannot switch the sandbox off.

/// The section `[client]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClientSettings {
    /// One of the client's permission modes; if not set, the client's own settings apply.
    pub permission_mode: Option<String>,
    /// True if nobody watches a loop in a terminal either: requests that would ask a person are
    /// refused there too.
    pub unattended: Option<bool>,
    /// False to start the client of headless rounds without its sandbox.
    pub sandbox: Option<bool>,
    /// Seconds that a background command may outlive the turn that started it.
    pub background_seconds: Option<u64>,
}

/// The seconds of `background_seconds` if it is not set.
const BACKGROUND_SECONDS: u64 = 60;

/// The highest value of `background_seconds`.
const MOST_BACKGROUND_SECONDS: u64 = 3600;

impl ClientSettings {
    /// True if headless rounds run in the client's sandbox.
    pub fn is_sandboxed(&self) -> bool {
        self.sandbox.unwrap_or(true)
    }

    /// How long a background command may outlive its turn.
    pub fn background(&self) -> Duration {
        let seconds = self.background_seconds.unwrap_or(BACKGROUND_SECONDS);
        Duration::from_secs(seconds.min(MOST_BACKGROUND_SECONDS))
    }

    pub(super) fn refused(&self) -> Option<String> {
        let seconds = 0..=MOST_BACKGROUND_SECONDS;
        out_of_bounds("client.background_seconds", self.background_seconds, seconds).or_else(|| {
            let mode = self.permission_mode.as_ref().filter(|mode| Mode::named(mode).is_none())?;
            Some(format!("`client.permission_mode` is {}, not `{mode}`", Mode::names()))
        })
    }
}

// The section `[sandbox]`: what a project's commands need beyond the default bounds of a sandboxed
// loop, or must not have.
//
// A cloned repository must not widen the bounds: without trust, a project only denies more.

/// The section `[sandbox]`. Paths are absolute, or begin with `~/`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxSettings {
    /// Further folders that commands may write, such as a cache.
    pub write: Vec<String>,
    /// Further paths that commands must not read.
    pub read_deny: Vec<String>,
    /// Hosts that commands may reach: `example.com`, `*.example.com`, or either with `:PORT`.
    pub hosts: Vec<String>,
    /// Ports on this machine that commands may reach.
    pub ports: Vec<u16>,
    /// Unix sockets that commands may reach.
    pub sockets: Vec<String>,
}

impl SandboxSettings {
    pub(super) fn refused(&self) -> Option<String> {
        let paths =
            [("write", &self.write), ("read_deny", &self.read_deny), ("sockets", &self.sockets)];
        for (name, listed) in paths {
            if let Some(path) = listed.iter().find(|path| !is_path(path)) {
                return Some(format!(
                    "`sandbox.{name}` takes absolute paths and paths below `~/`, not `{path}`"
                ));
            }
        }
        if let Some(host) = self.hosts.iter().find(|host| !is_host(host)) {
            return Some(format!("`sandbox.hosts` takes host names, not `{host}`"));
        }
        self.ports.contains(&0).then(|| "`sandbox.ports` takes ports from 1 to 65535".to_owned())
    }
}

fn is_path(path: &str) -> bool {
    let is_plain = !path.contains('\0') && path.split('/').all(|part| part != "..");
    is_plain && path.len() > 1 && (path.starts_with('/') || path.starts_with("~/"))
}

fn is_host(host: &str) -> bool {
    let name = host.split_once(':').map_or(host, |(name, port)| match port.parse::<u16>() {
        Ok(1..) => name,
        _ => "",
    });
    let name = name.strip_prefix("*.").unwrap_or(name);
    let is_plain = |one: char| one.is_ascii_alphanumeric() || matches!(one, '.' | '-' | '_');
    !name.is_empty() && name.chars().all(is_plain)
}

// The section `[evidence]`: how Ralph observes what a criterion is worth.

/// The section `[evidence]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EvidenceSettings {
    /// A command that prepares a clean copy of the project, such as `npm ci`. With it, each criterion has to pass once
    /// in a copy without ignored files, with an empty home folder.
    pub clean: Option<String>,
    /// Commands of criteria that run at a request for completion only once, on the files as they are.
    pub not_observed: Vec<String>,
}

impl EvidenceSettings {
    pub(super) fn refused(&self) -> Option<String> {
        let is_empty = self.clean.as_deref().is_some_and(|clean| clean.trim().is_empty());
        is_empty
            .then(|| "`evidence.clean` is a command such as `npm ci`, not an empty text".to_owned())
    }
}

// The section `[notify]`: how Ralph calls a user who is looking elsewhere.

/// The section `[notify]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NotifySettings {
    /// True for a notification on the desktop.
    pub desktop: Option<bool>,
    /// A program, by its name on `PATH` or its absolute path, and its arguments. It gets one JSON
    /// document on standard input.
    pub command: Option<Vec<String>>,
}

impl NotifySettings {
    /// True if something is to be started at an event.
    pub fn is_set(&self) -> bool {
        self.desktop == Some(true) || self.program().is_some()
    }

    /// The program and its arguments; `None` if no command is set.
    pub fn program(&self) -> Option<(&str, &[String])> {
        let (program, args) = self.command.as_deref()?.split_first()?;
        Some((program, args))
    }

    pub(super) fn refused(&self) -> Option<String> {
        let (program, _) = self.program()?;
        // A relative path would start whatever the project has there.
        let is_usable = program.starts_with('/') || !(program.is_empty() || program.contains('/'));
        (!is_usable).then(|| {
            format!(
                "`notify.command` starts with the name of a program or an absolute path, not `{program}`"
            )
        })
    }
}

// The section `[refine]`: the limits of a refinement, and when it counts as settled.

/// The section `[refine]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Refine {
    /// Rounds after which it ends in any case.
    pub max_iterations: Option<u32>,
    /// Rounds in a row with little change that make a plateau.
    pub plateau_threshold: Option<u32>,
    /// The first round that may be a plateau.
    pub min_iterations: Option<u32>,
    /// Changed lines of a plan that count as little.
    pub lines: Option<u64>,
    /// Changed beads that count as little.
    pub beads: Option<u64>,
}

impl Refine {
    /// The limits of a refinement: these settings, and the defaults for the others.
    pub fn bounds(&self) -> refine::RefineSettings {
        let default = refine::RefineSettings::default();
        refine::RefineSettings {
            max_iterations: self.max_iterations.unwrap_or(default.max_iterations),
            plateau_threshold: self.plateau_threshold.unwrap_or(default.plateau_threshold),
            min_iterations: self.min_iterations.unwrap_or(default.min_iterations),
            lines: self.lines.unwrap_or(default.lines),
            beads: self.beads.unwrap_or(default.beads),
            ..default
        }
    }

    pub(super) fn refused(&self) -> Option<String> {
        self.bounds().refused().map(|why| format!("`[refine]`: {why}"))
    }
}

// The section `[review]`: whether the changes of unattended loops are reviewed before they end.

/// The most rounds of review.
const MOST_ROUNDS: u64 = 20;

/// The section `[review]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReviewSettings {
    /// True to review what `ralph run`, `ralph build` and `ralph parallel run` changed once the criteria
    /// hold.
    pub enabled: Option<bool>,
    /// Rounds of review after which the loop ends in any case.
    pub rounds: Option<u32>,
}

impl ReviewSettings {
    pub fn is_enabled(&self) -> bool {
        self.enabled == Some(true)
    }

    /// Whether a reviewer may judge what an unattended run would be refused for.
    pub fn may_judge(&self) -> bool {
        self.enabled != Some(false)
    }

    pub fn most_rounds(&self) -> u32 {
        self.rounds.unwrap_or(ROUNDS)
    }

    pub(super) fn refused(&self) -> Option<String> {
        out_of_bounds("review.rounds", self.rounds.map(u64::from), 1..=MOST_ROUNDS)
    }
}

// The section `[run]`: what `ralph run` and `ralph build` do in the user's repository.

/// The section `[run]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunSettings {
    /// True for the branch that the plan names, else `ralph/run-<loop>`; or the name of a branch to
    /// switch to before the first round.
    pub branch: Option<RunBranch>,
    /// True to commit what each finished task or round changed.
    pub commit: Option<bool>,
}

/// The branch of a run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum RunBranch {
    /// True for the plan's branch, else `own_branch`; false for the present branch.
    Own(bool),
    /// This branch.
    Named(String),
}

/// The branch of a loop without a name from the user. Workers have theirs below `ralph/<loop>/`, so
/// a branch `ralph/<loop>` could not exist beside them.
fn own_branch(loop_id: &str) -> String {
    format!("ralph/run-{loop_id}")
}

impl RunSettings {
    /// The branch to switch to; `None` to stay on the present one. `planned` is the branch that the
    /// loop's plan names; empty if it names none.
    pub fn branch_name(&self, loop_id: &str, planned: &str) -> Option<String> {
        match self.branch.as_ref()? {
            RunBranch::Own(false) => None,
            RunBranch::Own(true) if planned.is_empty() => Some(own_branch(loop_id)),
            RunBranch::Own(true) => Some(planned.to_owned()),
            RunBranch::Named(name) => Some(name.clone()),
        }
    }

    /// True if the run commits.
    pub fn commits(&self) -> bool {
        self.commit == Some(true)
    }

    pub(super) fn refused(&self) -> Option<String> {
        let is_empty = self.branch == Some(RunBranch::Named(String::new()));
        is_empty.then(|| "`run.branch` is true, false or the name of a branch".to_owned())
    }
}

/// The section `[shared]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SharedSettings {
    /// Seconds after which a claim expires whose machine does not renew it. `ralph share` writes them
    /// into the plan.
    pub lease_seconds: Option<u64>,
    /// Seconds between two reads of the remote.
    pub poll_seconds: Option<u64>,
    /// Pushes in a minute of all machines together.
    pub pushes_per_minute: Option<u32>,
    /// True to put the references below `refs/heads/`, for hosts that refuse others.
    pub below_heads: Option<bool>,
}

const POLL_SECONDS: u64 = 15;

impl SharedSettings {
    pub fn lease_seconds(&self) -> u64 {
        self.lease_seconds.unwrap_or(LEASE_SECONDS)
    }

    pub fn poll(&self) -> Duration {
        Duration::from_secs(self.poll_seconds.unwrap_or(POLL_SECONDS))
    }

    pub fn pushes_per_minute(&self) -> u32 {
        self.pushes_per_minute.unwrap_or(PUSHES_PER_MINUTE)
    }

    pub fn is_below_heads(&self) -> bool {
        self.below_heads == Some(true)
    }

    pub(super) fn refused(&self) -> Option<String> {
        let numbers = [
            ("shared.lease_seconds", self.lease_seconds, LONGEST_LEASE),
            ("shared.poll_seconds", self.poll_seconds, 3_600),
            ("shared.pushes_per_minute", self.pushes_per_minute.map(u64::from), 100_000),
        ];
        numbers.into_iter().find_map(|(name, given, most)| out_of_bounds(name, given, 1..=most))
    }
}

/// The section `[wall]`. Only the user opens anything.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WallSettings {
    /// True to let commands open connections while a plan is made.
    pub network: Option<bool>,
}

// Keys in `ralph.toml` that no setting has.

/// The sections that bound what a loop may do, or decide what counts as proof. A mistake in their name
/// or their keys must not go unnoticed.
const STRICT: [&str; 3] = ["sandbox", "wall", "evidence"];

/// A key that no setting has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownKey {
    /// Empty at the top of the file.
    pub section: &'static str,
    pub key: String,
    /// The known key that is most like it, if one is.
    pub nearest: Option<String>,
}

impl UnknownKey {
    /// True if no loop starts with this file. Otherwise the key is ignored.
    pub fn is_strict(&self) -> bool {
        let names = [Some(self.section), Some(self.key.as_str()), self.nearest.as_deref()];
        let names = if self.section.is_empty() { &names[..] } else { &names[..1] };
        names.iter().flatten().any(|name| STRICT.contains(name))
    }
}

/// The unknown keys of a file, at its top and in its sections.
pub fn unknown_keys(file: &Value) -> Vec<UnknownKey> {
    let top = fields::<Settings>();
    let sections: [(&str, Vec<String>); 11] = [
        ("backpressure", fields::<CheckSettings>()),
        ("context", fields::<ContextSettings>()),
        ("evidence", fields::<EvidenceSettings>()),
        ("client", fields::<ClientSettings>()),
        ("refine", fields::<Refine>()),
        ("run", fields::<RunSettings>()),
        ("sandbox", fields::<SandboxSettings>()),
        ("notify", fields::<NotifySettings>()),
        ("review", fields::<ReviewSettings>()),
        ("shared", fields::<SharedSettings>()),
        ("wall", fields::<WallSettings>()),
    ];
    let below = sections.iter().map(|(name, known)| (*name, &file[*name], known));
    let all =
        std::iter::once(("", file, &top)).chain(below).flat_map(|(section, written, known)| {
            let names = written.as_object().into_iter().flat_map(|map| map.keys());
            let unknown = names.filter(|name| !known.contains(name)).cloned().collect::<Vec<_>>();
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let of = |key: String| {
                let nearest = nearest(&key, &known).map(str::to_owned);
                UnknownKey { section, key, nearest }
            };
            unknown.into_iter().map(of).collect::<Vec<_>>()
        });
    all.collect()
}

/// The names of a section's keys, as serde lists them when it meets another.
fn fields<T: DeserializeOwned>() -> Vec<String> {
    let error = T::deserialize(json!({"?": 0})).err().map(|error| error.to_string());
    let names = error.unwrap_or_default();
    names.split('`').skip(1).step_by(2).filter(|name| *name != "?").map(str::to_owned).collect()
}

#[cfg(test)]
mod client_tests {
    use super::*;

    #[test]
    fn a_background_command_gets_a_minute_unless_the_settings_give_another_time() {
        let set = |seconds| ClientSettings { background_seconds: seconds, ..Default::default() };
        assert_eq!(set(None).background().as_secs(), 60);
        assert_eq!(set(Some(0)).background().as_secs(), 0);
        assert_eq!(set(Some(3600)).refused(), None);
        assert!(set(Some(3601)).refused().unwrap().contains("from 0 to 3600"));
    }
}

#[cfg(test)]
mod sandbox_tests {
    use super::*;

    #[test]
    fn a_value_that_would_be_read_otherwise_than_it_looks_is_refused() {
        let write = |path: &str| SandboxSettings {
            write: vec![path.to_owned()],
            ..SandboxSettings::default()
        };
        assert_eq!(write("~/.cache").refused(), None);
        for path in ["cache", "./cache", "/a/../b", "/", "~", ""] {
            assert!(write(path).refused().is_some(), "{path}");
        }
        for (host, is_fine) in [
            ("a.example.com", true),
            ("*.example.com:443", true),
            ("127.0.0.1:80", true),
            ("https://example.com", false),
            ("a:0", false),
            ("*", false),
            ("", false),
        ] {
            let hosts = vec![host.to_owned()];
            let settings = SandboxSettings { hosts, ..SandboxSettings::default() };
            assert_eq!(settings.refused().is_none(), is_fine, "{host}");
        }
        let ports = SandboxSettings { ports: vec![0], ..SandboxSettings::default() };
        assert!(ports.refused().is_some());
    }
}

#[cfg(test)]
mod unknown_tests {
    use super::*;

    #[test]
    fn an_unknown_key_is_found_with_its_nearest_and_is_strict_where_it_could_widen_a_loop() {
        let found = |file: Value| {
            let of = |one: UnknownKey| {
                let strict = one.is_strict();
                (format!("{}.{}", one.section, one.key), one.nearest.unwrap_or_default(), strict)
            };
            unknown_keys(&file).into_iter().map(of).collect::<Vec<_>>()
        };
        let one = |key: &str, nearest: &str, strict| vec![(key.into(), nearest.into(), strict)];
        assert_eq!(found(json!({"max_iterations": 3, "sandbox": {"read_deny": []}})), []);
        assert_eq!(
            found(json!({"max_iteration": 3})),
            one(".max_iteration", "max_iterations", false)
        );
        assert_eq!(found(json!({"zzzz": 3})), one(".zzzz", "", false));
        assert_eq!(found(json!({"run": {"comit": true}})), one("run.comit", "commit", false));
        let typed = found(json!({"sandbox": {"read_denny": []}}));
        assert_eq!(typed, one("sandbox.read_denny", "read_deny", true));
        assert_eq!(found(json!({"sandbx": {}})), one(".sandbx", "sandbox", true));
        assert!(found(json!({"wall": {"x": 1}}))[0].2);
        assert!(found(json!({"evidence": {"x": 1}}))[0].2);
    }

    #[test]
    fn every_section_lists_its_keys() {
        for section in fields::<Settings>() {
            let file = json!({section.clone(): {"?": 0}});
            let is_section = serde_json::from_value::<Settings>(file.clone()).is_ok();
            assert!(!is_section || !unknown_keys(&file).is_empty(), "{section}");
        }
    }

    #[test]
    fn a_section_that_cannot_work_is_refused_and_defaults_are_known() {
        let clean = |text: Option<&str>| {
            let clean = text.map(str::to_owned);
            EvidenceSettings { clean, ..EvidenceSettings::default() }.refused()
        };
        assert_eq!((clean(None), clean(Some("npm ci"))), (None, None));
        let empty = "`evidence.clean` is a command such as `npm ci`, not an empty text".to_owned();
        assert_eq!(clean(Some(" ")), Some(empty));
        let shared = SharedSettings::default();
        assert_eq!(
            (shared.lease_seconds(), shared.poll()),
            (LEASE_SECONDS, Duration::from_secs(15))
        );
        assert_eq!(shared.pushes_per_minute(), PUSHES_PER_MINUTE);
        assert!(!shared.is_below_heads() && shared.refused().is_none());
        let set = SharedSettings {
            lease_seconds: Some(7),
            poll_seconds: Some(8),
            pushes_per_minute: Some(9),
            below_heads: Some(true),
        };
        assert_eq!((set.lease_seconds(), set.poll()), (7, Duration::from_secs(8)));
        assert!(set.pushes_per_minute() == 9 && set.is_below_heads() && set.refused().is_none());
        let refused = |lease_seconds, poll_seconds, pushes_per_minute| {
            let set = SharedSettings {
                lease_seconds: Some(lease_seconds),
                poll_seconds: Some(poll_seconds),
                pushes_per_minute: Some(pushes_per_minute),
                ..SharedSettings::default()
            };
            set.refused().map(|text| text.split('`').nth(1).unwrap_or_default().to_owned())
        };
        let named = |name: &str| Some(name.to_owned());
        assert_eq!(refused(LONGEST_LEASE, 3_600, 100_000), None);
        assert_eq!(refused(1, 1, 1), None);
        assert_eq!(refused(LONGEST_LEASE + 1, 0, 0), named("shared.lease_seconds"));
        assert_eq!(refused(1, 3_601, 1), named("shared.poll_seconds"));
        assert_eq!(refused(1, 1, 100_001), named("shared.pushes_per_minute"));
        assert_eq!(refused(0, 1, 1), named("shared.lease_seconds"));
        let review = |enabled| ReviewSettings { enabled, ..ReviewSettings::default() };
        let all = [None, Some(false), Some(true)].map(review);
        assert_eq!(all.clone().map(|one| one.is_enabled()), [false, false, true]);
        assert_eq!(all.map(|one| one.may_judge()), [true, false, true]);
    }
}
