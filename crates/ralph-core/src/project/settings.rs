//! The settings in `ralph.toml`: what the user sets once for all loops, or for the loops of one
//! project.
//!
//! They are read when a loop starts and pinned in its state, so that nothing changes while a loop
//! runs. A project's file may tune them, but it names no command to run and switches nothing on
//! that the user did not.

mod sections;

use crate::modes::build::review::ROUNDS;
use crate::project::check::choice::CheckSettings;
use crate::project::project_facts::ContextSettings;
use crate::protocol::permission::Mode;
use crate::state::{Completion, LimitFlag, LoopState};
pub use sections::{
    ClientSettings, EvidenceSettings, NotifySettings, Refine, ReviewSettings, RunBranch,
    RunSettings, SandboxSettings, SharedSettings, UnknownKey, WallSettings, unknown_keys,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ops::RangeInclusive;
use std::time::Duration;

/// The settings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Iterations after which a loop ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    /// Working time of a loop, in minutes; pauses do not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_minutes: Option<u64>,
    /// Stops in a row without progress after which a loop ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stall_limit: Option<u32>,
    /// Workers that may run at the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_workers: Option<u32>,
    /// Minutes without news after which a session that waits for background workers is woken; at
    /// most half an hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background_minutes: Option<u64>,
    /// Which rule decides completion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion: Option<Completion>,
    /// Seconds that a request for completion may spend on running criteria, all together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify_seconds: Option<u64>,
    /// Seconds that `ralph verify` gives each command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_seconds: Option<u64>,
    /// Files, as `.gitignore` patterns, whose change makes no receipt stale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt_ignore: Option<Vec<String>>,
    /// The section `[backpressure]`: the checks after an edit.
    // The sections are kept as written: one that cannot be parsed must not take the others with it.
    // `Settings::checks` and its neighbours parse them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backpressure: Option<Value>,
    /// The section `[context]`: the facts that a session gets when it starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Value>,
    /// The section `[evidence]`: how Ralph observes what a criterion is worth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Value>,
    /// The section `[client]`: how headless loops start the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<Value>,
    /// The section `[refine]`: the limits of a refinement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refine: Option<Value>,
    /// The section `[run]`: the branch and the commits of unattended loops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<Value>,
    /// The section `[sandbox]`: what a project's commands need beyond the bounds of a sandboxed
    /// loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Value>,
    /// The section `[notify]`: how Ralph calls the user when a loop ends or pauses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notify: Option<Value>,
    /// The section `[review]`: the review of an unattended loop's changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<Value>,
    /// The section `[shared]`: loops that machines share through a git remote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<Value>,
    /// The section `[wall]`: what a command may reach while a plan is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall: Option<Value>,
}

impl Settings {
    /// These settings with `below` as the defaults.
    pub fn over(self, below: Settings) -> Settings {
        let [mut joined, below] =
            [&self, &below].map(|one| serde_json::to_value(one).unwrap_or_default());
        join(&mut joined, below);
        Settings::deserialize(joined).unwrap_or(self)
    }

    // A section that cannot be parsed counts as not set: the state of a loop may hold one of another version.

    /// The settings for the checks after an edit.
    pub fn checks(&self) -> CheckSettings {
        parsed(&self.backpressure)
    }

    /// The settings for the facts that a session gets.
    pub fn facts(&self) -> ContextSettings {
        parsed(&self.context)
    }

    /// The settings for the client in headless loops.
    pub fn client(&self) -> ClientSettings {
        parsed(&self.client)
    }

    /// The settings for refinement.
    pub fn refine(&self) -> Refine {
        parsed(&self.refine)
    }

    /// The settings for unattended runs.
    pub fn run(&self) -> RunSettings {
        parsed(&self.run)
    }

    /// The settings for the bounds of a sandboxed loop.
    pub fn sandbox(&self) -> SandboxSettings {
        parsed(&self.sandbox)
    }

    /// How Ralph observes what a criterion is worth.
    pub fn evidence(&self) -> EvidenceSettings {
        parsed(&self.evidence)
    }

    /// How the user is called.
    pub fn notify(&self) -> NotifySettings {
        parsed(&self.notify)
    }

    /// The settings for reviews.
    pub fn review(&self) -> ReviewSettings {
        parsed(&self.review)
    }

    /// The settings for shared loops.
    pub fn shared(&self) -> SharedSettings {
        parsed(&self.shared)
    }

    /// What a command may reach while a plan is made.
    pub fn wall(&self) -> WallSettings {
        parsed(&self.wall)
    }

    /// The part that a project's file may set without being trusted.
    pub fn of_untrusted_project(self) -> Settings {
        let mut document = serde_json::to_value(self).unwrap_or_default();
        if let Value::Object(settings) = &mut document {
            settings.retain(|name, value| {
                if let Value::Object(section) = value {
                    section.retain(|key, value| project_may_set(name, key, value));
                }
                project_may_set("", name, value)
            });
        }
        Settings::deserialize(document).unwrap_or_default()
    }

    /// The first invalid value, with what to write instead. Numbers have the limits of the flags,
    /// so that a file cannot set what a person could not type.
    pub fn refused(&self) -> Option<String> {
        let numbers = [
            ("max_iterations", LimitFlag::MaxIterations, self.max_iterations.map(u64::from)),
            ("max_minutes", LimitFlag::MaxMinutes, self.max_minutes),
            ("stall_limit", LimitFlag::StallLimit, self.stall_limit.map(u64::from)),
            ("max_workers", LimitFlag::MaxWorkers, self.max_workers.map(u64::from)),
        ];
        let mut wrong = numbers
            .into_iter()
            .filter_map(|(name, number, given)| out_of_bounds(name, given, 1..=number.most()));
        if let Some(why) = wrong.next() {
            return Some(why);
        }
        if let Some(Completion::Other(word)) = &self.completion {
            return Some(format!("`completion` is `verified` or `token`, not `{word}`"));
        }
        let sections = [
            invalid("backpressure", &self.backpressure, CheckSettings::refused),
            invalid("context", &self.context, ContextSettings::refused),
            invalid("evidence", &self.evidence, EvidenceSettings::refused),
            invalid("client", &self.client, ClientSettings::refused),
            invalid("refine", &self.refine, Refine::refused),
            invalid("run", &self.run, RunSettings::refused),
            invalid("sandbox", &self.sandbox, SandboxSettings::refused),
            invalid("notify", &self.notify, NotifySettings::refused),
            invalid("review", &self.review, ReviewSettings::refused),
            invalid("shared", &self.shared, SharedSettings::refused),
            invalid("wall", &self.wall, |_: &WallSettings| None),
        ];
        sections.into_iter().flatten().next()
    }

    /// The settings that were pinned in a loop.
    pub fn from_state(state: &LoopState) -> Settings {
        serde_json::from_value(state.settings.clone()).unwrap_or_default()
    }

    /// Patterns of what makes no receipt of a loop stale and is no change: the user's own, and what commands make anew.
    pub fn ignored(state: &LoopState) -> Vec<String> {
        let mut patterns = Settings::from_state(state).receipt_ignore.unwrap_or_default();
        patterns.extend(state.outputs.iter().map(|path| format!("/{path}")));
        patterns
    }

    /// How long a request for completion may run criteria. Never longer than the stop hook may run.
    pub fn to_settle(&self) -> Duration {
        Duration::from_secs(self.verify_seconds.unwrap_or(570).clamp(1, 570))
    }

    /// How long `ralph verify` lets one command run.
    pub fn per_command(&self) -> Duration {
        Duration::from_secs(self.command_seconds.unwrap_or(600).clamp(1, 24 * 3600))
    }

    /// Writes the settings into a new loop and pins them there.
    pub fn apply(&self, state: &mut LoopState) {
        if let Some(number) = self.max_iterations {
            state.max_iterations = number;
        }
        if let Some(number) = self.max_minutes {
            state.limits.max_minutes = number;
        }
        if let Some(number) = self.stall_limit {
            state.stall_limit = number;
        }
        if let Some(number) = self.max_workers {
            state.limits.max_workers = number;
        }
        if let Some(completion) = &self.completion {
            state.completion = completion.clone();
        }
        // These sections concern no loop of this machine, or are read when they are needed.
        let frozen = Settings { context: None, refine: None, shared: None, ..self.clone() };
        state.settings = serde_json::to_value(frozen).unwrap_or_default();
    }
}

fn parsed<T: Default + DeserializeOwned>(section: &Option<Value>) -> T {
    section.as_ref().and_then(|section| T::deserialize(section).ok()).unwrap_or_default()
}

/// True for what a cloned repository may set before the user has trusted its file: it may lower or raise limits, but it names no
/// command to run, widens no bounds, switches nothing on that the user did not, and does not decide what counts as proof.
fn project_may_set(section: &str, key: &str, value: &Value) -> bool {
    match (section, key) {
        ("", "completion" | "receipt_ignore" | "evidence" | "wall") => false,
        // A repository must not have itself committed to. Both settings of `notify` start a program.
        ("", "run" | "notify") => false,
        ("backpressure", "always" | "check") => false,
        ("context" | "review", "enabled") => value == false,
        // `client.unattended` only ever refuses more.
        ("client", "sandbox") => value == true,
        ("client", "permission_mode") => {
            let mode = value.as_str().and_then(Mode::named);
            matches!(mode, Some(Mode::Default | Mode::Plan | Mode::DontAsk))
        }
        // Fewer rounds cost nothing; more rounds than usual cost the user.
        ("review", "rounds") => value.as_u64().is_some_and(|rounds| rounds <= ROUNDS.into()),
        ("sandbox", key) => key == "read_deny",
        _ => true,
    }
}

/// What a setting has to be, if this number is not within its bounds.
pub(super) fn out_of_bounds(
    name: &str,
    given: Option<u64>,
    bounds: RangeInclusive<u64>,
) -> Option<String> {
    let given = given.filter(|given| !bounds.contains(given))?;
    let (least, most) = bounds.into_inner();
    Some(format!("`{name}` is a whole number from {least} to {most}, not {given}"))
}

/// Why a section cannot be used; `None` if it can, or is not set.
fn invalid<T: DeserializeOwned>(
    name: &str,
    section: &Option<Value>,
    refused: impl FnOnce(&T) -> Option<String>,
) -> Option<String> {
    match section.as_ref().map(T::deserialize)? {
        Ok(section) => refused(&section),
        Err(error) => Some(format!("`[{name}]`: {error}")),
    }
}

/// Lists that stand for themselves. All other lists of two files add up.
const WHOLE: [&str; 2] = ["receipt_ignore", "command"];

/// Adds the members of `below` that `ours` does not have.
fn join(ours: &mut Value, below: Value) {
    match (ours, below) {
        (Value::Object(ours), Value::Object(below)) => {
            for (key, value) in below {
                match ours.get_mut(&key) {
                    Some(own) if !WHOLE.contains(&key.as_str()) => join(own, value),
                    Some(_) => {}
                    None => drop(ours.insert(key, value)),
                }
            }
        }
        (Value::Array(ours), Value::Array(below)) => {
            // Of two checks with the same name, ours counts.
            let is_same = |own: &Value, one: &Value| {
                own == one || own["name"].is_string() && own["name"] == one["name"]
            };
            let own = ours.clone();
            let new = below.into_iter().filter(|one| !own.iter().any(|own| is_same(own, one)));
            ours.extend(new);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(settings: Settings, expected: Option<&str>) {
        assert_eq!(settings.refused().as_deref(), expected);
    }

    #[test]
    fn a_bound_that_no_flag_takes_is_refused_and_so_is_a_word_that_no_rule_knows() {
        let of = |max_iterations| Settings { max_iterations, ..Settings::default() };
        check(of(None), None);
        check(of(Some(10_000)), None);
        check(of(Some(0)), Some("`max_iterations` is a whole number from 1 to 10000, not 0"));
        check(
            of(Some(10_001)),
            Some("`max_iterations` is a whole number from 1 to 10000, not 10001"),
        );
        let completion = Some(Completion::Other("tokn".to_owned()));
        check(
            Settings { completion, ..Settings::default() },
            Some("`completion` is `verified` or `token`, not `tokn`"),
        );
    }

    #[test]
    fn a_projects_file_tunes_and_does_not_weaken() {
        let project = Settings {
            max_iterations: Some(3),
            completion: Some(Completion::Token),
            receipt_ignore: Some(vec!["src".to_owned()]),
            ..Settings::default()
        };
        let user =
            Settings { max_iterations: Some(9), max_minutes: Some(5), ..Settings::default() };
        let merged = project.of_untrusted_project().over(user);
        assert_eq!(merged.max_iterations, Some(3));
        assert_eq!(merged.max_minutes, Some(5));
        assert_eq!((merged.completion, merged.receipt_ignore), (None, None));
    }

    #[test]
    fn what_is_applied_to_a_loop_is_frozen_there_and_read_back() {
        let settings = Settings {
            max_iterations: Some(3),
            max_minutes: Some(4),
            stall_limit: Some(5),
            max_workers: Some(6),
            completion: Some(Completion::Token),
            receipt_ignore: Some(vec!["*.log".to_owned()]),
            ..Settings::default()
        };
        let mut state = LoopState::default();
        settings.apply(&mut state);
        assert_eq!((state.max_iterations, state.limits.max_minutes, state.stall_limit), (3, 4, 5));
        assert_eq!((&state.completion, state.limits.max_workers), (&Completion::Token, 6));
        assert_eq!(Settings::from_state(&state), settings);
    }

    #[test]
    fn sections_on_checks_add_up_and_a_project_without_trust_names_no_command() {
        let set = |section: Value| Settings { backpressure: Some(section), ..Settings::default() };
        let project = set(json!({"off": ["tsc"], "check": [{"name": "x", "command": "y"}]}));
        let user = set(json!({"off": ["jest"], "budget_seconds": 5}));
        let merged = project.clone().over(user.clone()).checks();
        assert_eq!((merged.off.join(" "), merged.checks.len()), ("tsc jest".to_owned(), 1));
        let merged = project.clone().of_untrusted_project().over(user.clone()).checks();
        assert_eq!((merged.off.join(" "), merged.checks.len()), ("tsc jest".to_owned(), 0));
        assert_eq!(merged.budget_seconds, Some(5));
        let always = |is_on: bool| set(json!({"always": is_on}));
        let merged = always(true).of_untrusted_project().over(always(false)).checks();
        assert_eq!(merged.always, Some(false));
        let own = |command: &str| json!({"check": [{"name": "x", "command": command}]});
        let merged = set(own("y")).over(set(own("z"))).checks();
        assert_eq!((merged.checks.len(), merged.checks[0].command.as_str()), (1, "y"));
        assert_eq!(project.clone().over(Settings::default()), project);
        assert_eq!(Settings::default().over(user.clone()), user);
        let refused = |section| set(section).refused().unwrap_or_default();
        assert_eq!(refused(json!({"off": ["x"]})), "");
        assert!(refused(json!({"of": ["x"]})).starts_with("`[backpressure]`: unknown field `of`"));
        assert!(refused(json!({"budget_seconds": 0})).contains("from 1 to 600"));
    }

    #[test]
    fn a_refinement_is_bounded_by_numbers_of_both_files() {
        let set = |section: Value| Settings { refine: Some(section), ..Settings::default() };
        let project = set(json!({"plateau_threshold": 3, "lines": 9, "beads": 7}));
        let user = set(json!({"plateau_threshold": 1, "max_iterations": 4}));
        let merged = project.clone().of_untrusted_project().over(user.clone());
        let bounds = merged.refine().bounds();
        assert_eq!((bounds.plateau_threshold, bounds.max_iterations), (3, 4));
        assert_eq!((bounds.lines, bounds.beads, bounds.min_iterations), (9, 7, 3));
        assert_eq!(project.clone().over(Settings::default()), project);
        assert_eq!(Settings::default().over(user.clone()), user);
        let refused = |section| set(section).refused().unwrap_or_default();
        assert_eq!(refused(json!({"lines": 0})), "");
        assert!(refused(json!({"line": 1})).starts_with("`[refine]`: unknown field `line`"));
        assert!(refused(json!({"min_iterations": 0})).contains("from 1 to 10000"));
        let mut state = LoopState::default();
        merged.apply(&mut state);
        assert_eq!(state.settings.get("refine"), None);
    }

    #[test]
    fn a_project_without_trust_neither_branches_nor_commits() {
        let set = |section: Value| Settings { run: Some(section), ..Settings::default() };
        let project = set(json!({"branch": true, "commit": true}));
        let user = || set(json!({"branch": "work", "commit": false}));
        let merged = project.clone().of_untrusted_project().over(user()).run();
        assert_eq!(
            (merged.branch_name("L", "p").as_deref(), merged.commits()),
            (Some("work"), false)
        );
        let merged = project.over(user()).run();
        let own = merged.branch_name("L", "");
        assert_eq!((own.as_deref(), merged.commits()), (Some("ralph/run-L"), true));
        assert_eq!(merged.branch_name("L", "plan").as_deref(), Some("plan"));
        assert_eq!(set(json!({"branch": false})).run().branch_name("L", "p"), None);
        let refused = |section| set(section).refused().unwrap_or_default();
        assert_eq!(refused(json!({"branch": "x"})), "");
        assert!(refused(json!({"branches": "x"})).starts_with("`[run]`: unknown field"));
        assert!(refused(json!({"branch": ""})).contains("the name of a branch"));
    }

    #[test]
    fn a_project_without_trust_does_not_switch_reviews_on() {
        let set = |section: Value| Settings { review: Some(section), ..Settings::default() };
        let merged = |project: Value, user: Value| {
            let merged = set(project).of_untrusted_project().over(set(user)).review();
            (merged.is_enabled(), merged.most_rounds())
        };
        let on = json!({"enabled": true, "rounds": 9});
        assert_eq!(merged(on.clone(), json!({})), (false, 3));
        assert_eq!(merged(json!({"enabled": false, "rounds": 1}), on.clone()), (false, 1));
        let trusted = set(on).over(Settings::default()).review();
        assert_eq!((trusted.is_enabled(), trusted.most_rounds()), (true, 9));
        let refused = |section| set(section).refused().unwrap_or_default();
        assert!(refused(json!({"rounds": 0})).contains("from 1 to 20"));
        assert!(refused(json!({"on": true})).starts_with("`[review]`: unknown field `on`"));
    }

    #[test]
    fn sections_on_facts_add_up_and_are_frozen_into_no_loop() {
        let set = |section: Value| Settings { context: Some(section), ..Settings::default() };
        let project = set(json!({"enabled": true, "off": ["go"]}));
        let user = set(json!({"enabled": false, "off": ["git"], "size": 600}));
        let merged = project.clone().of_untrusted_project().over(user.clone());
        let facts = merged.facts();
        assert_eq!((facts.off.join(" "), facts.size()), ("go git".to_owned(), 600));
        assert!(!facts.is_enabled() && project.clone().over(user.clone()).facts().is_enabled());
        let silences = set(json!({"enabled": false})).of_untrusted_project();
        assert!(!silences.over(set(json!({"enabled": true}))).facts().is_enabled());
        assert_eq!(project.clone().over(Settings::default()), project);
        assert_eq!(Settings::default().over(user.clone()), user);
        let refused = |section| set(section).refused().unwrap_or_default();
        assert_eq!(refused(json!({"off": ["git"]})), "");
        assert!(refused(json!({"of": ["x"]})).starts_with("`[context]`: unknown field `of`"));
        assert!(refused(json!({"also": ["x"]})).contains("no fact `x`"));
        let both =
            Settings { backpressure: Some(json!({"off": ["x"]})), ..set(json!({"size": 1})) };
        assert!(both.refused().unwrap_or_default().contains("from 500"));
        let mut state = LoopState::default();
        merged.apply(&mut state);
        assert_eq!(state.settings.get("context"), None);
    }

    #[test]
    fn a_project_without_trust_does_not_skip_permissions_and_a_stricter_mode_is_its_own_to_say() {
        let set = |mode: &str| Settings {
            client: Some(json!({"permission_mode": mode})),
            ..Settings::default()
        };
        let mode = |settings: Settings| settings.client().permission_mode.unwrap_or_default();
        let user = || set("acceptEdits");
        assert_eq!(mode(set("plan").over(user())), "plan");
        assert_eq!(mode(set("bypassPermissions").over(user())), "bypassPermissions");
        for bold in ["bypassPermissions", "auto", "acceptEdits"] {
            let merged = set(bold).of_untrusted_project().over(set("default"));
            assert_eq!(mode(merged), "default", "{bold}");
        }
        for meek in ["plan", "dontAsk", "default"] {
            assert_eq!(mode(set(meek).of_untrusted_project().over(user())), meek);
        }
        assert_eq!(mode(Settings::default().over(user())), "acceptEdits");
        assert_eq!(set("default").refused(), None);
        assert!(set("yolo").refused().unwrap().contains("not `yolo`"));
        let unknown = Settings { client: Some(json!({"mode": "x"})), ..Settings::default() };
        assert!(unknown.refused().unwrap().starts_with("`[client]`: unknown field `mode`"));
    }

    #[test]
    fn a_project_without_trust_does_not_switch_the_sandbox_off_and_may_switch_it_on() {
        let set = |is_on: bool| Settings {
            client: Some(json!({"sandbox": is_on})),
            ..Settings::default()
        };
        let is_on = |settings: Settings| settings.client().is_sandboxed();
        assert!(is_on(Settings::default()));
        assert!(!is_on(set(false).over(set(true))));
        assert!(is_on(set(false).of_untrusted_project().over(Settings::default())));
        assert!(is_on(set(true).of_untrusted_project().over(set(false))));
    }

    #[test]
    fn a_project_without_trust_denies_more_and_allows_nothing() {
        let set =
            |section: &Value| Settings { sandbox: Some(section.clone()), ..Settings::default() };
        let all = json!({"write": ["/w"], "read_deny": ["/r"], "hosts": ["h"], "ports": [1], "sockets": ["/s"]});
        let meek = set(&json!({"read_deny": ["/r"]}));
        assert_eq!(set(&all).of_untrusted_project(), meek);
        assert_eq!(meek.over(set(&all)).sandbox(), set(&all).sandbox());
        let expected: SandboxSettings = serde_json::from_value(all.clone()).unwrap();
        assert_eq!(set(&all).sandbox(), expected);
        assert_ne!(expected, SandboxSettings::default());
    }

    #[test]
    fn a_section_that_cannot_be_parsed_takes_no_other_with_it() {
        let run = Some(json!({"commit": true}));
        let notify = Some(json!({"of a later version": 1}));
        let settings = Settings { run, notify, ..Settings::default() };
        let mut state = LoopState::default();
        settings.apply(&mut state);
        let pinned = Settings::from_state(&state);
        assert!(pinned.run().commits() && !pinned.notify().is_set());
    }

    #[test]
    fn only_a_trusted_project_names_the_program_that_calls_the_user() {
        let set = |section: Value| Settings { notify: Some(section), ..Settings::default() };
        let project = set(json!({"command": ["curl", "x"]}));
        let user = set(json!({"desktop": true, "command": ["mine"]}));
        let merged = project.clone().over(user.clone()).notify();
        assert_eq!((merged.desktop, merged.program().unwrap().0), (Some(true), "curl"));
        let merged = project.clone().of_untrusted_project().over(user.clone());
        assert_eq!(merged.notify().program(), Some(("mine", &[][..])));
        let silences = set(json!({"desktop": false, "command": []})).of_untrusted_project();
        assert!(silences.over(user.clone()).notify().is_set());
        assert!(!set(json!({"desktop": false, "command": []})).over(user).notify().is_set());
        let refused = |section| set(section).refused().unwrap_or_default();
        assert_eq!(refused(json!({"command": ["/usr/bin/x"]})), "");
        assert!(refused(json!({"command": ["./x"]})).contains("absolute path, not `./x`"));
        assert!(refused(json!({"command": "x"})).starts_with("`[notify]`: "));
        let mut state = LoopState::default();
        project.apply(&mut state);
        assert!(Settings::from_state(&state).notify().is_set());
    }

    #[test]
    fn the_times_for_commands_keep_to_their_bounds() {
        let times = |verify_seconds, command_seconds| {
            let set = Settings { verify_seconds, command_seconds, ..Settings::default() };
            [set.to_settle(), set.per_command()].map(|time| time.as_secs())
        };
        assert_eq!(times(None, None), [570, 600]);
        assert_eq!(times(Some(0), Some(0)), [1, 1]);
        assert_eq!(times(Some(9), Some(9)), [9, 9]);
        assert_eq!(times(Some(99_999), Some(99_999)), [570, 86_400]);
    }

    #[test]
    fn what_no_receipt_depends_on_is_what_the_user_lists_and_what_commands_make() {
        let of = |settings, outputs: &[&str]| {
            let outputs = outputs.iter().map(|path| (*path).to_owned()).collect();
            Settings::ignored(&LoopState { settings, outputs, ..LoopState::default() })
        };
        assert_eq!(of(serde_json::Value::Null, &[]), [""; 0]);
        let settings = serde_json::json!({"receipt_ignore": ["*.log"]});
        assert_eq!(of(settings, &["out/report.xml"]), ["*.log", "/out/report.xml"]);
    }

    #[test]
    fn how_criteria_are_observed_and_a_loop_is_shared_is_read_of_their_sections() {
        let evidence = Some(json!({"clean": "npm ci", "not_observed": ["AC-1"]}));
        let shared = Some(json!({"lease_seconds": 60, "below_heads": true}));
        let settings = Settings { evidence, shared, ..Settings::default() };
        let (evidence, shared) = (settings.evidence(), settings.shared());
        assert_eq!(evidence.clean.as_deref(), Some("npm ci"));
        assert_eq!(evidence.not_observed, ["AC-1"]);
        assert_eq!((shared.lease_seconds, shared.below_heads), (Some(60), Some(true)));
        let mut state = LoopState::default();
        settings.apply(&mut state);
        let pinned = Settings::from_state(&state);
        assert_eq!((pinned.evidence, pinned.shared), (settings.evidence, None));
    }

    #[test]
    fn a_plan_is_made_without_a_network_unless_the_user_opens_it() {
        let network = |wall| Settings { wall, ..Settings::default() }.wall().network;
        assert_eq!(network(None), None);
        assert_eq!(network(Some(serde_json::json!({"network": true}))), Some(true));
    }
}
