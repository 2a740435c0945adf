//! Finds, before a loop starts, which of its work would need a user.

use super::sandbox;
use crate::command::exit::{Exit, refused};
use crate::command::screen::visible;
use anyhow::{Context, Result};
use ralph_core::protocol::loaded::{ListedPlugins, MODS_OFF};
use ralph_core::protocol::permission::{self, Mode, Need, Obstacle};
use ralph_core::text::plural::counted;
use ralph_core::transcript::stream::{self, StreamEvent};
use ralph_io::client::client_settings::{ClientSettings, Permissions};
use ralph_io::process::{self, Program};
use serde_json::json;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

/// A cold start on a busy machine takes seconds.
const TO_LIST: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preflight {
    /// The name of the permission mode that the client will use.
    pub mode: String,
    /// The calls that would not simply run.
    pub obstacles: Vec<(Need, Obstacle)>,
    /// The narrowest mode in which all of them would run.
    pub remedy: Option<&'static str>,
    /// How many of the project's rules the client will ignore because the folder is not trusted.
    pub n_ignored: usize,
    /// Settings that could not be read.
    pub problems: Vec<String>,
}

/// Compares the needs of the rounds with the given mode, or the client's own, and with the rules of
/// the client's settings and those `allowed` besides.
///
/// # Errors
/// When the client has no such mode.
pub fn preflight(
    needs: &[Need],
    mode: Option<&str>,
    allowed: &[String],
    project_root: &Path,
) -> Result<Preflight> {
    let mut found = ClientSettings::of(project_root).permissions();
    found.rules.allow.extend_from_slice(allowed);
    compare(needs, mode, found)
}

/// The plugins of a client with these arguments, as it prints them itself: for a command that asks no
/// model, and without any hook. None if it prints nothing: then a round must load none.
///
/// # Errors
/// If the client cannot be started, or the user's own `--settings` cannot be read.
pub(crate) fn plugins(client: &Path, folder: &Path, args: &[OsString]) -> Result<ListedPlugins> {
    let (rest, settings) = sandbox::with_own(args, &json!({"disableAllHooks": true}))?;
    let settings = settings.to_string();
    let mut args = vec!["/cost", "-p", "--output-format", "stream-json", "--verbose"];
    args.extend(["--no-session-persistence", "--settings", &settings].iter().chain(&MODS_OFF));
    args.extend(rest.iter().filter_map(|arg| arg.to_str()));
    let asked = process::run_once(&Program {
        command: client.to_str().context("the client's path is not valid UTF-8")?,
        args,
        folder,
        stdin: "",
        env: Vec::new(),
        deadline: TO_LIST,
    })?;
    let began = asked.stdout.lines().find_map(|line| match stream::read(line.as_bytes()) {
        Some(StreamEvent::Began { plugins, .. }) => Some(plugins),
        _ => None,
    });
    let managed = ClientSettings::of(folder).leaves_mods_on();
    Ok(ListedPlugins::of(began.unwrap_or_default(), managed.map(|path| path.display().to_string())))
}

fn compare(needs: &[Need], mode: Option<&str>, found: Permissions) -> Result<Preflight> {
    let name = mode.map(str::to_owned).or(found.default_mode);
    let name = name.unwrap_or_else(|| "default".to_owned());
    let mode = Mode::named(&name).ok_or_else(|| {
        let message = format!("a permission mode is {}, not `{name}`", Mode::names());
        refused(Exit::Usage, message)
    })?;
    let obstacles = permission::preflight(needs, mode, &found.rules);
    let remedy = permission::mode_for(needs, &found.rules);
    let (n_ignored, problems) = (found.n_ignored, found.problems);
    Ok(Preflight { mode: name, obstacles, remedy, n_ignored, problems })
}

impl Preflight {
    /// True if a call would be denied: in print mode nobody can grant a permission.
    pub fn is_denied(&self) -> bool {
        self.obstacles.iter().any(|(_, obstacle)| *obstacle != Obstacle::Unknown)
    }

    /// Why the calls would be denied: the mode, or a rule that stands in every mode.
    pub fn reason(&self) -> String {
        if self.remedy.is_none()
            && let Some((need, obstacle)) = self.obstacles.iter().find(|(_, it)| it.is_rule())
        {
            return line(need, obstacle);
        }
        let calls: Vec<String> = self.obstacles.iter().map(|(need, _)| name(need)).collect();
        format!("permission mode `{}` denies {}", visible(&self.mode), calls.join(", "))
    }

    /// What the user may want to know before the first round.
    pub fn lines(&self) -> Vec<String> {
        let unknown = self.obstacles.iter().filter(|(_, it)| *it == Obstacle::Unknown);
        let mut lines: Vec<String> = unknown.map(|(need, obstacle)| line(need, obstacle)).collect();
        if self.n_ignored > 0 {
            let rules = counted(self.n_ignored, "rule", "rules");
            lines.push(format!(
                "the client ignores {rules} of the project: start it here once and trust the folder"
            ));
        }
        lines.extend(self.problems.iter().map(|problem| visible(problem)));
        lines
    }
}

fn line(need: &Need, obstacle: &Obstacle) -> String {
    let need = name(need);
    match obstacle {
        Obstacle::Prompts | Obstacle::Plan => format!("{need} would be denied"),
        Obstacle::AskRule(rule) | Obstacle::DenyRule(rule) => {
            format!("the rule `{}` in the client's settings denies {need}", visible(rule))
        }
        Obstacle::Unknown => format!("in permission mode `auto` a model decides about {need}"),
    }
}

fn name(need: &Need) -> String {
    match need {
        Need::Bash(command) => format!("`{}`", visible(command)),
        Need::Edits(tool) | Need::Tool(tool) => visible(tool),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::protocol::permission::Rules;

    fn found(mode: Option<&str>, own: Option<&str>) -> Result<Preflight> {
        let deny = vec!["Bash(git push:*)".to_owned()];
        let permissions = Permissions {
            rules: Rules { deny, ..Rules::default() },
            default_mode: own.map(str::to_owned),
            n_ignored: 2,
            problems: Vec::new(),
        };
        let needs = [
            Need::Bash("cargo test".to_owned()),
            Need::Bash("git push".to_owned()),
            Need::Edits("Edit".to_owned()),
        ];
        compare(&needs, mode, permissions)
    }

    #[test]
    fn a_rule_that_stands_in_every_mode_is_the_reason_and_otherwise_the_mode() {
        let found = found(None, None).unwrap();
        assert_eq!(found.remedy, None);
        assert_eq!(
            found.reason(),
            "the rule `Bash(git push:*)` in the client's settings denies `git push`"
        );
        assert_eq!(
            found.lines(),
            ["the client ignores 2 rules of the project: start it here once and trust the folder"]
        );
        let edits = [Need::Edits("Edit".to_owned()), Need::Edits("Write".to_owned())];
        let found = compare(&edits, None, Permissions::default()).unwrap();
        assert_eq!(found.remedy, Some("acceptEdits"));
        assert_eq!(found.reason(), "permission mode `default` denies Edit, Write");
    }

    #[test]
    fn a_model_that_decides_is_told_and_not_refused() {
        let edit = [Need::Edits("Edit".to_owned())];
        let found = compare(&edit, Some("auto"), Permissions::default()).unwrap();
        assert!(!found.is_denied());
        assert_eq!(found.lines(), ["in permission mode `auto` a model decides about Edit"]);
    }

    #[test]
    fn a_mode_that_is_given_stands_over_the_clients_own() {
        let modes = |mode, own| found(mode, own).map(|found| (found.mode, found.obstacles.len()));
        assert_eq!(modes(None, None).unwrap(), ("default".to_owned(), 3));
        assert_eq!(modes(None, Some("acceptEdits")).unwrap(), ("acceptEdits".to_owned(), 2));
        let bold = modes(Some("bypassPermissions"), Some("plan")).unwrap();
        assert_eq!(bold, ("bypassPermissions".to_owned(), 1));
        assert!(modes(Some("yolo"), None).unwrap_err().to_string().ends_with("not `yolo`"));
    }
}
