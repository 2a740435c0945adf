//! What the client's own arguments say about permissions: a user may pass some after `--`.

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
pub fn read(args: &[String]) -> PermissionArguments {
    let mut found = PermissionArguments::default();
    let mut takes = Takes::Nothing;
    for arg in args {
        let (name, value) = match arg.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value)),
            _ => (arg.as_str(), None),
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
mod tests {
    use super::*;

    fn found(args: &[&str]) -> (Option<String>, Vec<String>, bool) {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let PermissionArguments { mode, allow, is_elsewhere } = read(&args);
        (mode, allow, is_elsewhere)
    }

    #[test]
    fn the_last_mode_and_all_rules_count() {
        let rules = |all: &[&str]| all.iter().map(|rule| (*rule).to_owned()).collect::<Vec<_>>();
        let mode = |mode: &str| Some(mode.to_owned());
        assert_eq!(found(&["--model", "opus", "plan"]), (None, vec![], false));
        assert_eq!(found(&["--permission-mode", "plan"]), (mode("plan"), vec![], false));
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
