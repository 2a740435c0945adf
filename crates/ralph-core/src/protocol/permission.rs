//! Which tool calls the client would ask a person about, before a loop runs for hours without one.
//!
//! Measured with 2.1.328 in `-p`, where what would be asked is denied. The client knows many more
//! harmless commands than we do; a command that we do not know counts as asked about, so the list is
//! rather too long than too short.

pub mod asked;
mod commands;
mod rules;

pub use rules::Rules;

/// The client's modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Asks before anything that changes something.
    Default,
    /// Edits in the project, and the simplest commands on files there, are not asked about.
    AcceptEdits,
    /// Nothing is changed.
    Plan,
    /// What would be asked about is denied.
    DontAsk,
    /// A model decides; nobody can say before.
    Auto,
    /// Nothing is asked about but what a rule names.
    BypassPermissions,
}

impl Mode {
    const ALL: [(&'static str, Mode); 7] = [
        ("default", Mode::Default),
        ("acceptEdits", Mode::AcceptEdits),
        ("plan", Mode::Plan),
        ("dontAsk", Mode::DontAsk),
        ("auto", Mode::Auto),
        ("bypassPermissions", Mode::BypassPermissions),
        ("manual", Mode::Default),
    ];

    /// By the name that the client knows it by.
    pub fn named(name: &str) -> Option<Mode> {
        Mode::ALL.iter().find(|(known, _)| *known == name).map(|(_, mode)| *mode)
    }

    /// All names, for a person.
    pub fn names() -> String {
        let all: Vec<String> = Mode::ALL.iter().map(|(name, _)| format!("`{name}`")).collect();
        all.join(", ")
    }
}

/// A call that a round will want to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// This command, by the Bash tool.
    Bash(String),
    /// A tool that changes files in the project: `Edit`, `Write`.
    Edits(String),
    /// Another tool.
    Tool(String),
}

/// Why a call would not simply be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// A person would be asked; this rule would settle it.
    Prompts {
        /// What to put into `permissions.allow`.
        allow: String,
    },
    /// A rule of the settings wants a person to be asked, in every mode.
    AskRule(String),
    /// A rule of the settings forbids it.
    DenyRule(String),
    /// The mode changes nothing.
    Plan,
    /// A model decides, so nobody can say.
    Unknown,
}

/// The calls that would not simply be made, and why, in the order of the needs.
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
    // What may be forbidden is looked for in more places than what is allowed.
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
