//! Predicts which tool calls need the user's permission, before a loop runs unattended for hours.
//!
//! Measured with Claude Code 2.1.328 and `-p`, which denies what it would otherwise ask about. The
//! client knows harmless commands, and takes a line apart before it compares. Here a command line needs
//! permission unless a rule names it as it stands.

use crate::protocol::event::ToolInput;

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
    /// The client would ask the user.
    Prompts,
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
    if let Some(rule) = naming(&rules.deny, tool, line) {
        return Some(Obstacle::DenyRule(rule));
    }
    if let Some(rule) = naming(&rules.ask, tool, line) {
        return Some(Obstacle::AskRule(rule));
    }
    let is_edit = matches!(need, Need::Edits(_));
    match mode {
        Mode::BypassPermissions => None,
        Mode::Plan if is_edit => Some(Obstacle::Plan),
        Mode::AcceptEdits if is_edit => None,
        _ if naming(&rules.allow, tool, line).is_some() => None,
        Mode::Auto => Some(Obstacle::Unknown),
        _ => Some(Obstacle::Prompts),
    }
}

// Permission rules from the client's settings: `Tool`, `Bash(cargo test)`, `Bash(cargo test:*)`,
// `Bash(git *)`.

/// The rules of all settings files that apply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// Calls that are allowed without asking.
    pub allow: Vec<String>,
    /// Calls that are asked about in every mode.
    pub ask: Vec<String>,
    /// Calls that are always denied.
    pub deny: Vec<String>,
}

/// The first rule that names the whole tool or matches this command line.
fn naming(rules: &[String], tool: &str, line: Option<&str>) -> Option<String> {
    let names = |rule: &&String| match rule.split_once('(') {
        None => rule.trim() == tool,
        Some((name, rest)) => {
            let pattern = rest.strip_suffix(')').unwrap_or(rest).trim();
            name.trim() == tool
                && (pattern == "*" || line.is_some_and(|line| is_meant(pattern, line)))
        }
    };
    rules.iter().find(names).cloned()
}

/// Measured: a trailing `:*` or ` *` matches the words before it and anything after them, including
/// nothing; `cargo testx` does not match `cargo test`. A star elsewhere matches any text.
fn is_meant(pattern: &str, text: &str) -> bool {
    let open = pattern.strip_suffix(":*").or_else(|| pattern.strip_suffix(" *"));
    if let Some(words) = open.filter(|words| !words.contains('*')) {
        return text
            .strip_prefix(words)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    }
    let pattern = pattern.replace(":*", "*");
    let mut pieces = pattern.split('*');
    let Some(mut rest) = pieces.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut pieces: Vec<&str> = pieces.collect();
    // Without a star, the text must equal the pattern; otherwise it must end in the last piece.
    let Some(last) = pieces.pop() else { return rest.is_empty() };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

// The refusal that the model reads when a call needs the user's permission and nobody is there.
//
// Without an answer from a hook, the client refuses such a call in `-p` with "you haven't granted
// it yet", which a model takes as a reason to wait or to retry. Measured with 2.1.328: the event
// is sent in the modes `default`, `acceptEdits` and `plan`; calls refused in the other modes send
// no event.

/// Bytes of a command line that are shown.
const SHOWN: usize = 200;

/// Tells the model why the call is refused, what to do instead, and how to ask for a person's help.
pub fn refusal(tool: &str, input: &ToolInput) -> String {
    let about = about(input);
    format!(
        "No user is present to permit this, so it is refused: {tool}{about}. Do not repeat it. {} \
         If you cannot work without it, name what the user must permit: close your task with \
         `ralph task fail ID --note '…'` or, where no other task is ready, run `ralph blocked \
         '…'` and end your turn.",
        instead(tool)
    )
}

/// Describes the call on one line: ` on PATH` or `: COMMAND`.
pub fn about(input: &ToolInput) -> String {
    match (&input.command, input.path()) {
        (Some(command), _) => {
            let line = command.replace('\n', "\\n");
            let end = line.floor_char_boundary(SHOWN);
            let more = if end < line.len() { "…" } else { "" };
            format!(": {}{more}", &line[..end])
        }
        (None, Some(path)) => format!(" on {path}"),
        (None, None) => String::new(),
    }
}

fn instead(tool: &str) -> &'static str {
    match tool {
        "Bash" => {
            "Use a plain command of one program without redirections and substitutions, or another \
             tool: Write and Edit for files, Read, Grep and Glob to look."
        }
        "Write" | "Edit" | "NotebookEdit" => "Change files inside the project folder only.",
        "WebFetch" | "WebSearch" => "Work from what is in the project.",
        _ => "Use the permitted tools instead.",
    }
}

/// The permissions in a client's arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PermissionArguments {
    /// The permission mode.
    pub mode: Option<String>,
    /// The rules of `--allowedTools`.
    pub allow: Vec<String>,
    /// True if the arguments name settings or another tool that decides.
    pub is_elsewhere: bool,
}

/// Reads the arguments. The client has more options, and none of those changes a permission.
pub fn from_arguments(args: &[String]) -> PermissionArguments {
    let mut found = PermissionArguments::default();
    let mut takes = Takes::Nothing;
    for arg in args {
        let (name, value) = match arg.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (arg.as_str(), None),
        };
        if !name.starts_with('-') {
            match takes {
                Takes::Mode => found.mode = Some(arg.clone()),
                Takes::Rules => found.allow.extend(rules(arg)),
                Takes::Nothing => {}
            }
            // The client reads rules up to the next option.
            takes = if takes == Takes::Rules { Takes::Rules } else { Takes::Nothing };
            continue;
        }
        takes = match name {
            "--permission-mode" => Takes::Mode,
            "--allowedTools" | "--allowed-tools" => Takes::Rules,
            _ => Takes::Nothing,
        };
        match (name, value) {
            ("--permission-mode", Some(mode)) => found.mode = Some(mode.to_owned()),
            ("--allowedTools" | "--allowed-tools", Some(value)) => found.allow.extend(rules(value)),
            ("--dangerously-skip-permissions", _) => {
                found.mode = Some("bypassPermissions".to_owned());
            }
            ("--settings" | "--permission-prompt-tool", _) => found.is_elsewhere = true,
            _ => {}
        }
        if value.is_some() {
            takes = Takes::Nothing;
        }
    }
    found
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Mode,
    Rules,
}

/// Rules are separated by commas or spaces outside of parentheses.
fn rules(text: &str) -> Vec<String> {
    let mut depth = 0_u32;
    let parts = text.split(|letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (letter == ',' || letter == ' ')
    });
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod asked_tests {
    use super::*;

    #[track_caller]
    fn check(tool: &str, input: ToolInput, what: &str, instead: &str) {
        let said = refusal(tool, &input);
        assert!(
            said.contains(&format!("it is refused: {what}. Do not repeat it. {instead}")),
            "{said}"
        );
    }

    #[test]
    fn a_refusal_names_the_call_and_another_way() {
        let command =
            |text: &str| ToolInput { command: Some(text.to_owned()), ..ToolInput::default() };
        let path = ToolInput { file_path: Some("/etc/x".to_owned()), ..ToolInput::default() };
        check("Bash", command("a\nb"), "Bash: a\\nb", "Use a plain command");
        check("Write", path, "Write on /etc/x", "Change files inside the project");
        check("WebFetch", ToolInput::default(), "WebFetch", "Work from what is in the project");
        check("mcp__x__y", ToolInput::default(), "mcp__x__y", "Use the permitted tools");
    }

    #[test]
    fn a_long_command_is_cut_between_letters() {
        let input = ToolInput { command: Some("ü".repeat(SHOWN)), ..ToolInput::default() };
        assert_eq!(about(&input), format!(": {}…", "ü".repeat(SHOWN / 2)));
    }
}

#[cfg(test)]
mod arguments_tests {
    use super::*;

    fn found(args: &[&str]) -> (Option<String>, Vec<String>, bool) {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let PermissionArguments { mode, allow, is_elsewhere } = from_arguments(&args);
        (mode, allow, is_elsewhere)
    }

    #[test]
    fn the_last_mode_and_all_rules_count() {
        let rules = |all: &[&str]| all.iter().map(|rule| (*rule).to_owned()).collect::<Vec<_>>();
        let mode = |mode: &str| Some(mode.to_owned());
        assert_eq!(found(&["--model", "opus", "plan"]), (None, vec![], false));
        assert_eq!(found(&["--permission-mode", "plan"]), (mode("plan"), vec![], false));
        assert_eq!(found(&["--permission-mode=plan"]), (mode("plan"), vec![], false));
        assert_eq!(
            found(&["--permission-mode=plan", "--dangerously-skip-permissions"]),
            (mode("bypassPermissions"), vec![], false)
        );
        assert_eq!(
            found(&["--allowedTools", "Bash(git log *),Edit", "Write", "--model", "Read"]),
            (None, rules(&["Bash(git log *)", "Edit", "Write"]), false)
        );
        assert_eq!(
            found(&["--allowed-tools=Edit Bash(a b)", "Write"]),
            (None, rules(&["Edit", "Bash(a b)"]), false)
        );
        assert!(found(&["--settings", "{}"]).2 && found(&["--permission-prompt-tool=x"]).2);
    }
}
