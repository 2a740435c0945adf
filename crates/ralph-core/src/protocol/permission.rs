//! Predicts which tool calls need the user's permission, before a loop runs unattended for hours.
//!
//! Measured with Claude Code 2.1.328 and `-p`, which denies what it would otherwise ask about. The
//! client knows more harmless commands than we do. A command that we do not know counts as one that
//! needs permission, so the list errs on the long side.

pub mod arguments;
pub mod asked;
mod commands;
mod rules;

pub use rules::Rules;

/// Claude Code's permission modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Asks before any change.
    Default,
    /// Does not ask about edits in the project, or about the simplest file commands there.
    AcceptEdits,
    /// Changes nothing.
    Plan,
    /// Denies what it would otherwise ask about.
    DontAsk,
    /// A model decides, so the outcome cannot be predicted.
    Auto,
    /// Asks only about what a rule names.
    BypassPermissions,
}

impl Mode {
    /// The client's names, with their modes.
    pub const ALL: [(&'static str, Mode); 7] = [
        ("default", Mode::Default),
        ("acceptEdits", Mode::AcceptEdits),
        ("plan", Mode::Plan),
        ("dontAsk", Mode::DontAsk),
        ("auto", Mode::Auto),
        ("bypassPermissions", Mode::BypassPermissions),
        ("manual", Mode::Default),
    ];

    /// Looks up a mode by the client's name for it.
    pub fn named(name: &str) -> Option<Mode> {
        Mode::ALL.iter().find(|(known, _)| *known == name).map(|(_, mode)| *mode)
    }

    /// True if the client opens dialogs in this mode, in a session at a terminal.
    fn opens_dialogs(self) -> bool {
        matches!(self, Mode::Default | Mode::AcceptEdits | Mode::Plan)
    }

    /// All mode names in backticks, separated by commas.
    pub fn names() -> String {
        let all: Vec<String> = Mode::ALL.iter().map(|(name, _)| format!("`{name}`")).collect();
        all.join(", ")
    }
}

/// Tells the user at the start of a loop that dialogs will hold it; empty if none will.
pub fn dialogs(mode: &str) -> String {
    let asks = |mode: &str| Mode::named(mode).is_some_and(Mode::opens_dialogs);
    if !asks(mode) {
        return String::new();
    }
    format!(
        "Permission mode `{mode}` will ask you and hold the loop at each dialog; rules in \
         `permissions.allow` let single commands pass, `ralph run` needs none in its sandbox, and \
         `--permission-mode bypassPermissions` lets everything pass that you may do yourself"
    )
}

/// A call that a round will need to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// This command, through the Bash tool.
    Bash(String),
    /// A tool that edits files in the project: `Edit` or `Write`.
    Edits(String),
    /// Another tool.
    Tool(String),
}

/// Why a call would not be allowed outright.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// The client would ask the user; this rule would allow the call.
    Prompts {
        /// The rule to add to `permissions.allow`.
        allow: String,
    },
    /// A settings rule asks in every mode.
    AskRule(String),
    /// A settings rule denies the call.
    DenyRule(String),
    /// Plan mode changes nothing.
    Plan,
    /// A model decides, so the outcome is unknown.
    Unknown,
}

impl Obstacle {
    /// True for a rule, which no permission mode overrules.
    pub fn is_rule(&self) -> bool {
        matches!(self, Obstacle::AskRule(_) | Obstacle::DenyRule(_))
    }
}

/// The narrowest mode in which all calls simply run. `None` if rules stand against one of them in
/// every mode.
pub fn mode_for(needs: &[Need], rules: &Rules) -> Option<&'static str> {
    let runs = |mode: &&str| {
        Mode::named(mode).is_some_and(|mode| preflight(needs, mode, rules).is_empty())
    };
    ["default", "acceptEdits", "bypassPermissions"].into_iter().find(runs)
}

/// Returns the calls that would not be allowed outright and why, in the order of the needs.
pub fn preflight(needs: &[Need], mode: Mode, rules: &Rules) -> Vec<(Need, Obstacle)> {
    let obstacle = |need: &Need| Some((need.clone(), obstacle(need, mode, rules)?));
    needs.iter().filter_map(obstacle).collect()
}

fn obstacle(need: &Need, mode: Mode, rules: &Rules) -> Option<Obstacle> {
    let (tool, line) = match need {
        Need::Bash(line) => ("Bash", Some(line.trim())),
        Need::Edits(tool) | Need::Tool(tool) => (tool.as_str(), None),
    };
    let parts = line.map(commands::parts);
    // Deny and ask rules are matched against more texts than allow rules.
    let mut seen: Vec<String> = line.map(commands::all_that_may_run).unwrap_or_default();
    seen.extend(parts.iter().flatten().map(|part| part.text.clone()));
    let named = |list: &[String]| rules::naming(list, tool, &seen);
    if let Some(rule) = named(&rules.deny) {
        return Some(Obstacle::DenyRule(rule));
    }
    if let Some(rule) = named(&rules.ask) {
        return Some(Obstacle::AskRule(rule));
    }
    let is_edit = matches!(need, Need::Edits(_));
    let open = match (mode, parts) {
        (Mode::BypassPermissions, _) => return None,
        (Mode::Plan, None) if is_edit => return Some(Obstacle::Plan),
        (Mode::AcceptEdits, None) if is_edit => return None,
        (_, None) => rules::naming(&rules.allow, tool, &[]).is_none().then(|| tool.to_owned()),
        (_, Some(parts)) => {
            let open = parts
                .into_iter()
                .find(|part| !part.is_harmless(mode) && !part.is_allowed_by(&rules.allow));
            open.map(|part| format!("Bash({})", part.text))
        }
    };
    match mode {
        Mode::Auto => open.map(|_| Obstacle::Unknown),
        _ => open.map(|allow| Obstacle::Prompts { allow }),
    }
}

#[cfg(test)]
mod tests;
