//! The text of a denial: what was refused, and what to do instead.

use super::*;
use crate::guard::human_only::PERSONS_ONLY;

fn reason(tool: &str, input: &ToolInput) -> String {
    match ruling(Mode::Plain, LoopActivity::Running, tool, input) {
        Ruling::Allow => panic!("{tool} is allowed: {input:?}"),
        Ruling::Deny { reason, .. } => reason,
    }
}

#[track_caller]
fn check_says(command: &str, parts: &[&str]) {
    let reason = reason("Bash", &bash(command));
    for part in parts {
        assert!(reason.contains(part), "{command}: {part:?} is not in {reason:?}");
    }
}

#[test]
fn a_refused_command_is_named_with_what_a_person_types_and_what_the_model_may() {
    for (command, typed) in PERSONS_ONLY {
        let named = format!("`ralph {command}`");
        let told = [named.as_str(), typed, "another terminal", "`ralph task …`", "`ralph status`"];
        check_says(&format!("ralph {command}"), &told);
        check_says(&format!("python3 -c 'os.system(\"ralph {command} x\")'"), &told);
    }
}

#[test]
fn a_changed_identity_is_named() {
    for (command, name) in [
        ("RALPH_HOME=/x ralph status", "`RALPH_HOME`"),
        ("export RALPH_MANIFEST=/x; ralph status", "`RALPH_MANIFEST`"),
        ("env -u RALPH_MANIFEST ralph status", "`RALPH_MANIFEST`"),
        ("env -i ralph status", "`CLAUDE_CODE_SESSION_ID`"),
        ("RALPH_BD=./x ralph refine status", "`RALPH_BD` says which program"),
    ] {
        check_says(command, &[name, "another terminal"]);
    }
}

#[test]
fn a_protected_place_is_named_with_the_ways_that_are_left() {
    for (path, what) in [
        ("/home/u/.local/state/ralph/x", "Ralph's own state"),
        ("/home/u/.config/ralph/config.toml", "Ralph's settings"),
        ("/project/.claude/ralph.toml", "Ralph's settings"),
        ("/project/.claude/settings.json", "the registration of hooks"),
        ("/etc/claude-code/managed-settings.json", "the registration of hooks"),
        ("/opt/plugins/ralph/hooks/hooks.json", "the registration of hooks"),
        ("/home/u/.local/bin/ralph-stop-hook", "an installed executable of Ralph"),
        ("/home/u/.claude/skills/ralph/SKILL.md", "one of Ralph's skills"),
    ] {
        for reason in [reason("Edit", &file(path)), reason("Bash", &bash(&format!("rm {path}")))] {
            assert!(reason.starts_with(&format!("This would change {what}, ")), "{path}: {reason}");
            assert!(reason.contains("`/ralph-cancel`") && reason.contains("`ralph verify`"));
        }
    }
}
