//! Do the client's rules let the model do what a loop needs: `ralph verify`, and the like?
//!
//! A rule that denies `ralph` makes a loop that can never prove itself, and says so nowhere. What the
//! rules would ask about is a matter of the mode and is told before a headless loop starts.

use super::check::{Check, warn, well};
use ralph_core::protocol::permission::{Mode, Need, Obstacle, preflight};
use ralph_io::{client::client_settings, project};
use std::path::Path;

const NAME: &str = "permissions";

/// What the model has to be able to type.
const COMMANDS: [&str; 3] = ["ralph verify", "ralph blocked 'x'", "ralph task done T-1"];

/// One line.
pub(super) fn check(current: &Path) -> Check {
    let found = client_settings::permissions(&project::root(None, current));
    let mode = found.default_mode.as_deref().and_then(Mode::named).unwrap_or(Mode::Default);
    let needs: Vec<Need> = COMMANDS.iter().map(|line| Need::Bash((*line).to_owned())).collect();
    let denied = preflight(&needs, mode, &found.rules).into_iter().find_map(|(need, why)| {
        let Need::Bash(line) = need else { return None };
        let Obstacle::DenyRule(rule) = why else { return None };
        Some((line, rule))
    });
    match denied {
        None => well(NAME, "no rule of the client denies the model `ralph verify`"),
        Some((line, rule)) => warn(
            NAME,
            format!("the rule `{rule}` denies the model `{line}`"),
            "take it out of `permissions.deny`: the model is told to give this command",
        ),
    }
}
