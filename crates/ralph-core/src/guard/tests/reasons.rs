//! The text of a denial: what was refused, and what to do instead.

use super::*;
use serde_json::json;

fn reason(tool: &str, input: &ToolInput) -> String {
    match ruling(LoopActivity::Running, tool, input) {
        Ruling::Allow => panic!("{tool} is allowed: {input:?}"),
        Ruling::Deny { reason, .. } => reason,
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
        ("/opt/plugins/ralph/hooks/hooks.json", "a plugin of the client"),
        ("/home/u/.claude/dev-mods/s/x/register.js", "a plugin of the client"),
        ("/home/u/.claude/skills/q/.claude-plugin/plugin.json", "a plugin of the client"),
        ("/project/.claude/skills/q/hooks/hooks.json", "a plugin of the client"),
        ("/home/u/.local/bin/ralph-stop-hook", "an installed executable of Ralph"),
        ("/home/u/.claude/skills/ralph/SKILL.md", "one of Ralph's skills"),
    ] {
        for reason in [reason("Edit", &file(path)), reason("Bash", &bash(&format!("rm {path}")))] {
            assert!(reason.starts_with(&format!("This would change {what}, ")), "{path}: {reason}");
            assert!(reason.contains("`/ralph-cancel`") && reason.contains("`ralph verify`"));
        }
    }
}

#[test]
fn what_lets_other_code_into_the_client_is_refused() {
    for (line, what) in [
        ("claude plugin install x@y", "`claude plugin install` lets"),
        ("claude plugins enable x", "`claude plugin enable` lets"),
        ("cd /tmp && claude plugin marketplace add ./m", "`claude plugin marketplace add` lets"),
        ("env A=1 claude mcp add-json x '{}'", "`claude mcp add-json` lets"),
        ("claude config set theme dark", "`claude config set` lets"),
        ("claude -p x --plugin-dir=/p", "`claude --plugin-dir` lets"),
        ("sh -c 'claude --plugin-dir /p'", "`claude --plugin-dir` lets"),
    ] {
        assert!(reason("Bash", &bash(line)).starts_with(what), "{line}");
    }
    let skill = |name: &str| ToolInput::from(json!({"skill": name}));
    assert!(
        reason("Skill", &skill("plugin-authoring")).contains("only the user may bring that in")
    );
    for line in [
        "claude plugin list --json",
        "claude mcp list",
        "claude --version",
        "echo claude plugin install",
    ] {
        assert_eq!(ruling(LoopActivity::Running, "Bash", &bash(line)), Ruling::Allow, "{line}");
    }
}
