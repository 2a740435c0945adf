//! Applies `[backpressure]` in `ralph.toml` to the checks: switches them off, changes their
//! commands, adds more.

use super::parsers::OutputFormat;
use super::{Check, CheckKind, CheckMethod, CheckPlan, FindingScope};
use crate::project::settings::out_of_bounds;
use crate::shell::quoted;
use crate::text::globs;
use serde::Deserialize;
use std::path::Path;
use std::time::Duration;

/// Default for `budget_seconds`.
const BUDGET: u64 = 12;

/// Default for `wait_seconds`.
const WAIT: f64 = 1.5;

/// The section `[backpressure]`.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CheckSettings {
    /// Run the checks also in sessions without a loop.
    pub always: Option<bool>,
    /// Seconds for all checks of an edit together.
    pub budget_seconds: Option<u64>,
    /// Seconds that an edit in a loop waits for its checks. Those that take longer run beside the
    /// work. From `budget_seconds` on, the edit waits for all checks.
    pub wait_seconds: Option<f64>,
    /// Checks that do not run, by name; `tests` means all tests, `fixers` all fixers, `all`
    /// everything.
    pub off: Vec<String>,
    /// The project's own checks, and other commands for known ones.
    #[serde(rename = "check")]
    pub checks: Vec<Own>,
}

/// One `[[backpressure.check]]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Own {
    /// Its name; the name of a known check replaces that check's command.
    pub name: String,
    /// The files that it is for, as `.gitignore` patterns; optional if it replaces a known check.
    pub files: Vec<String>,
    /// One shell command line, run in the project's root; `{file}` stands for the edited file.
    pub command: String,
    /// True if it rewrites the file.
    pub fix: bool,
    /// Its time limit in seconds.
    pub timeout: Option<u64>,
    /// How its output is parsed.
    pub parse: Option<OutputFormat>,
}

impl CheckSettings {
    /// The first invalid value, with what to write instead.
    pub fn refused(&self) -> Option<String> {
        if let Some(why) =
            out_of_bounds("backpressure.budget_seconds", self.budget_seconds, 1..=600)
        {
            return Some(why);
        }
        if let Some(given) = self.wait_seconds.filter(|given| !(0.0..=600.0).contains(given)) {
            return Some(format!(
                "`backpressure.wait_seconds` is a number from 0 to 600, not {given}"
            ));
        }
        let lacks = |own: &Own| match (own.name.is_empty(), own.command.trim().is_empty()) {
            (true, _) => Some("each `[[backpressure.check]]` needs a `name`".to_owned()),
            (_, true) => {
                Some(format!("the `[[backpressure.check]]` named `{}` needs a `command`", own.name))
            }
            _ => None,
        };
        self.checks.iter().find_map(lacks)
    }

    /// The time for all checks of an edit. `registered` is the hook's own timeout, if it is known:
    /// output after it is lost, and stopping all checks takes a moment.
    pub fn budget(&self, registered: Option<Duration>) -> Duration {
        let set = Duration::from_secs(self.budget_seconds.unwrap_or(BUDGET));
        let most = registered.unwrap_or(Duration::from_secs(15)).saturating_sub(MARGIN);
        set.min(most.max(Duration::from_secs(1)))
    }

    /// How long an edit in a loop waits; `None` if it waits for all checks.
    pub fn wait(&self, budget: Duration) -> Option<Duration> {
        let wait = Duration::try_from_secs_f64(self.wait_seconds.unwrap_or(WAIT)).ok()?;
        (wait < budget).then_some(wait)
    }

    /// Applies these settings to the plan for a file below `root`.
    pub fn apply(&self, mut plan: CheckPlan, root: &Path, file: &Path) -> CheckPlan {
        let is_on = |name: &str, kind: Option<CheckKind>| {
            !self.off.iter().any(|off| {
                off == name
                    || off == "all"
                    || (off == "tests" && kind == Some(CheckKind::Test))
                    || (off == "fixers" && kind == Some(CheckKind::Fix))
            })
        };
        let path = file.strip_prefix(root).unwrap_or(file);
        for own in &self.checks {
            let known = plan.checks.iter().position(|check| check.name == own.name);
            let meant = match own.files.is_empty() {
                true => known.is_some(),
                false => is_meant(&own.files, path),
            };
            if !meant {
                continue;
            }
            plan.lacking.retain(|lacking| lacking.name != own.name);
            match known {
                Some(at) => plan.checks[at] = own.check(root, file, Some(&plan.checks[at])),
                None => plan.checks.push(own.check(root, file, None)),
            }
        }
        plan.checks.retain(|check| is_on(&check.name, Some(check.kind)));
        plan.lacking.retain(|lacking| is_on(&lacking.name, None));
        plan
    }
}

/// Time between the end of the checks and the client's timeout for the hook, to stop running checks
/// and write the answer.
const MARGIN: Duration = Duration::from_millis(2_500);

fn is_meant(files: &[String], path: &Path) -> bool {
    let path = path.as_os_str().as_encoded_bytes();
    files.iter().any(|pattern| globs::ignores(pattern.as_bytes(), path))
}

impl Own {
    fn check(&self, root: &Path, file: &Path, known: Option<&Check>) -> Check {
        let names_file = self.command.contains("{file}");
        let kind = match (self.fix, known) {
            (true, _) => CheckKind::Fix,
            (false, Some(known)) => known.kind,
            (false, None) => CheckKind::Look,
        };
        Check {
            name: self.name.clone(),
            kind,
            by: CheckMethod::Shell(
                self.command.replace("{file}", &quoted(&file.to_string_lossy())),
            ),
            folder: root.to_owned(),
            scope: match names_file {
                true => FindingScope::File,
                false => FindingScope::Whole(root.to_owned()),
            },
            form: self.parse.or(known.map(|known| known.form)).unwrap_or(OutputFormat::Plain),
            why: "`ralph.toml` names it".to_owned(),
            limit: self.timeout.map(Duration::from_secs),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::check::Lacking;

    fn own(name: &str, files: &[&str], command: &str) -> Own {
        let files = files.iter().map(|one| (*one).to_owned()).collect();
        Own { name: name.to_owned(), files, command: command.to_owned(), ..Own::default() }
    }

    fn known(name: &str, kind: CheckKind) -> Check {
        Check {
            name: name.to_owned(),
            kind,
            by: CheckMethod::Shell("known".to_owned()),
            folder: "/p".into(),
            scope: FindingScope::File,
            form: OutputFormat::Eslint,
            why: String::new(),
            limit: None,
        }
    }

    fn plan() -> CheckPlan {
        let lacking = Lacking { name: "ruff".to_owned(), why: String::new() };
        let kinds =
            [("eslint", CheckKind::Fix), ("tsc", CheckKind::Look), ("vitest", CheckKind::Test)];
        CheckPlan {
            checks: kinds.map(|(name, kind)| known(name, kind)).into(),
            lacking: vec![lacking],
        }
    }

    /// `kind name: command` of each check, then what is lacking.
    #[track_caller]
    fn check(choice: &CheckSettings, expected: &str) {
        let plan = choice.apply(plan(), Path::new("/p"), Path::new("/p/src/it's.ts"));
        let line = |check: &Check| match &check.by {
            CheckMethod::Shell(line) => format!("{:?} {}: {line}", check.kind, check.name),
            _ => unreachable!("all have a line"),
        };
        let mut shown: Vec<String> = plan.checks.iter().map(line).collect();
        shown.extend(plan.lacking.iter().map(|lacking| format!("lacks {}", lacking.name)));
        assert_eq!(shown.join("; "), expected);
    }

    fn off(names: &[&str]) -> CheckSettings {
        CheckSettings {
            off: names.iter().map(|one| (*one).to_owned()).collect(),
            ..CheckSettings::default()
        }
    }

    #[test]
    fn a_check_is_switched_off_by_its_name_or_by_its_kind() {
        let all = "Fix eslint: known; Look tsc: known; Test vitest: known; lacks ruff";
        check(&CheckSettings::default(), all);
        check(&off(&["nothing"]), all);
        check(&off(&["tsc", "ruff"]), "Fix eslint: known; Test vitest: known");
        check(&off(&["tests"]), "Fix eslint: known; Look tsc: known; lacks ruff");
        check(&off(&["fixers"]), "Look tsc: known; Test vitest: known; lacks ruff");
        check(&off(&["all"]), "");
    }

    #[test]
    fn a_command_is_changed_or_added_for_the_files_that_it_names() {
        let of = |checks: Vec<Own>| CheckSettings { checks, ..CheckSettings::default() };
        check(
            &of(vec![own("tsc", &[], "mine {file}")]),
            r"Fix eslint: known; Look tsc: mine '/p/src/it'\''s.ts'; Test vitest: known; lacks ruff",
        );
        check(
            &of(vec![own("ruff", &["src/**"], "r"), own("other", &["*.py"], "o")]),
            "Fix eslint: known; Look tsc: known; Test vitest: known; Look ruff: r",
        );
        check(
            &of(vec![own("nobody", &[], "n")]),
            "Fix eslint: known; Look tsc: known; Test vitest: known; lacks ruff",
        );
    }

    #[test]
    fn an_own_check_says_how_it_is_run_and_read() {
        let it = Own {
            fix: true,
            timeout: Some(3),
            parse: Some(OutputFormat::Sarif),
            ..own("x", &["*"], "x")
        };
        let made = it.check(Path::new("/p"), Path::new("/p/a"), None);
        assert_eq!(
            (made.kind, made.form, made.scope),
            (CheckKind::Fix, OutputFormat::Sarif, FindingScope::Whole("/p".into()))
        );
        assert_eq!((made.limit, made.folder), (Some(Duration::from_secs(3)), "/p".into()));
        let made = own("x", &[], "x {file}").check(
            Path::new("/p"),
            Path::new("/p/a"),
            Some(&known("x", CheckKind::Test)),
        );
        assert_eq!(
            (made.kind, made.form, made.scope),
            (CheckKind::Test, OutputFormat::Eslint, FindingScope::File)
        );
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let refused = |choice: CheckSettings| choice.refused().unwrap_or_default();
        assert_eq!(refused(CheckSettings::default()), "");
        let budget =
            |seconds| CheckSettings { budget_seconds: Some(seconds), ..CheckSettings::default() };
        assert_eq!(refused(budget(1)), "");
        assert_eq!(refused(budget(600)), "");
        let expected = "`backpressure.budget_seconds` is a whole number from 1 to 600, not 0";
        assert_eq!(refused(budget(0)), expected);
        let checks = |own| CheckSettings { checks: vec![own], ..CheckSettings::default() };
        assert_eq!(
            refused(checks(own("", &[], "x"))),
            "each `[[backpressure.check]]` needs a `name`"
        );
        let expected = "the `[[backpressure.check]]` named `x` needs a `command`";
        assert_eq!(refused(checks(own("x", &[], " "))), expected);
    }

    #[test]
    fn the_budget_ends_before_the_client_ends_the_hook() {
        let seconds = |set, registered: Option<u64>| {
            let choice = CheckSettings { budget_seconds: set, ..CheckSettings::default() };
            choice.budget(registered.map(Duration::from_secs)).as_secs_f64()
        };
        assert_eq!(seconds(None, None), 12.0);
        assert_eq!(seconds(Some(5), None), 5.0);
        assert_eq!(seconds(Some(60), None), 12.5);
        assert_eq!(seconds(None, Some(10)), 7.5);
        assert_eq!(seconds(Some(60), Some(120)), 60.0);
        assert_eq!(seconds(None, Some(2)), 1.0);
    }

    #[test]
    fn an_edit_waits_for_a_moment_or_for_all_checks() {
        let of = |wait_seconds| CheckSettings { wait_seconds, ..CheckSettings::default() };
        let wait = |set| {
            assert_eq!(of(set).refused(), None);
            of(set).wait(Duration::from_secs(12)).map(|wait| wait.as_secs_f64())
        };
        assert_eq!(wait(None), Some(1.5));
        assert_eq!(wait(Some(0.0)), Some(0.0));
        assert_eq!((wait(Some(12.0)), wait(Some(600.0))), (None, None));
        for refused in [-0.5, 600.5, f64::NAN] {
            assert!(of(Some(refused)).refused().unwrap().contains("from 0 to 600"));
        }
    }
}
