//! Finds, before a loop starts, which of its work would need a user.

use crate::command::exit::{Exit, refused};
use crate::command::screen::visible;
use anyhow::Result;
use ralph_core::protocol::permission::{self, Mode, Need, Obstacle};
use ralph_io::client::client_settings::{ClientSettings, Permissions};
use std::path::Path;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preflight {
    /// The name of the permission mode that the client will use.
    pub mode: String,
    /// The calls that would not simply run.
    pub obstacles: Vec<(Need, Obstacle)>,
    /// How many of the project's rules the client will ignore because the folder is not trusted.
    pub n_ignored: usize,
    /// Settings that could not be read.
    pub problems: Vec<String>,
}

/// Compares the needs of the rounds with the given mode, or the client's own, and with the rules of
/// the client's settings.
///
/// # Errors
/// When the client has no such mode.
pub fn preflight(needs: &[Need], mode: Option<&str>, project_root: &Path) -> Result<Preflight> {
    compare(needs, mode, ClientSettings::of(project_root).permissions())
}

fn compare(needs: &[Need], mode: Option<&str>, found: Permissions) -> Result<Preflight> {
    let name = mode.map(str::to_owned).or(found.default_mode);
    let name = name.unwrap_or_else(|| "default".to_owned());
    let mode = Mode::named(&name).ok_or_else(|| {
        let message = format!("a permission mode is {}, not `{name}`", Mode::names());
        refused(Exit::Usage, message)
    })?;
    let obstacles = permission::preflight(needs, mode, &found.rules);
    let (n_ignored, problems) = (found.n_ignored, found.problems);
    Ok(Preflight { mode: name, obstacles, n_ignored, problems })
}

impl Preflight {
    /// One line for each problem that the user may want to solve first.
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> =
            self.obstacles.iter().map(|(need, obstacle)| line(need, obstacle)).collect();
        if self.n_ignored > 0 {
            let n_rules = self.n_ignored;
            lines.push(format!(
                "{n_rules} rules of the project are ignored: start the client here once and trust the folder"
            ));
        }
        lines.extend(self.problems.iter().map(|problem| visible(problem)));
        lines
    }
}

fn line(need: &Need, obstacle: &Obstacle) -> String {
    let need = match need {
        Need::Bash(command) => format!("`{}`", visible(command)),
        Need::Edits(tool) | Need::Tool(tool) => visible(tool),
    };
    match obstacle {
        Obstacle::Prompts { allow } => {
            format!("{need} would need permission, and be denied: allow `{}`", visible(allow))
        }
        Obstacle::AskRule(rule) => {
            format!("{need} would be denied: `{}` wants a person to be asked", visible(rule))
        }
        Obstacle::DenyRule(rule) => format!("{need} is forbidden by `{}`", visible(rule)),
        Obstacle::Plan => format!("{need} would be denied: the mode `plan` changes nothing"),
        Obstacle::Unknown => format!("{need}: in the mode `auto` a model decides"),
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
    fn each_obstacle_is_said_with_what_would_settle_it() {
        let lines = found(None, None).unwrap().lines();
        assert_eq!(
            lines,
            [
                "`cargo test` would need permission, and be denied: allow `Bash(cargo test)`",
                "`git push` is forbidden by `Bash(git push:*)`",
                "Edit would need permission, and be denied: allow `Edit`",
                "2 rules of the project are ignored: start the client here once and trust the folder",
            ]
        );
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
