//! How Claude Code 2.1.328 treated each call in `-p`.

use super::*;

fn rules() -> Rules {
    let list = |rules: &[&str]| rules.iter().map(|rule| (*rule).to_owned()).collect();
    Rules {
        allow: list(&["Bash(cargo test:*)", "Bash(npm test)", "Bash(git *)", "Bash(ralph *)"]),
        ask: list(&["Bash(git commit *)"]),
        deny: list(&["Bash(git push*)"]),
    }
}

fn answer(command: &str, mode: Mode, rules: &Rules) -> &'static str {
    match preflight(&[Need::Bash(command.to_owned())], mode, rules).first() {
        None => "ok",
        Some((_, Obstacle::Prompts)) => "prompts",
        Some((_, Obstacle::AskRule(_))) => "ask",
        Some((_, Obstacle::DenyRule(_))) => "deny",
        Some((_, Obstacle::Plan)) => "plan",
        Some((_, Obstacle::Unknown)) => "unknown",
    }
}

#[test]
fn each_command_is_answered_as_the_client_answered_it() {
    const TABLE: [(&str, &str, &str, &str); 10] = [
        // command, default mode, our rules, bypassPermissions
        ("ralph task claim T", "prompts", "ok", "ok"),
        ("ralph", "prompts", "ok", "ok"),
        ("cargo test", "prompts", "ok", "ok"),
        ("cargo test --lib", "prompts", "ok", "ok"),
        ("cargo testx", "prompts", "prompts", "ok"),
        ("npm test", "prompts", "ok", "ok"),
        ("npm test -- x", "prompts", "prompts", "ok"),
        ("git commit -m x", "prompts", "ask", "ask"),
        ("git push", "prompts", "deny", "deny"),
        ("sed -i s/a/b/ a", "prompts", "prompts", "ok"),
    ];
    let none = Rules::default();
    for (command, by_default, ruled, skipping) in TABLE {
        assert_eq!(answer(command, Mode::Default, &none), by_default, "{command}, by default");
        assert_eq!(answer(command, Mode::AcceptEdits, &none), by_default, "{command}, edits");
        assert_eq!(answer(command, Mode::Default, &rules()), ruled, "{command}, with rules");
        let skipped = answer(command, Mode::BypassPermissions, &rules());
        assert_eq!(skipped, skipping, "{command}, skipping");
    }
}

#[test]
fn a_star_within_a_rule_stands_for_any_text() {
    let rules = Rules { allow: vec!["Bash(npm * --json)".to_owned()], ..Rules::default() };
    assert_eq!(answer("npm ls --all --json", Mode::Default, &rules), "ok");
    assert_eq!(answer("npm ls", Mode::Default, &rules), "prompts");
}

#[test]
fn edits_follow_the_mode_and_a_tool_may_be_named_as_a_whole() {
    let edit = [Need::Edits("Edit".to_owned())];
    let none = Rules::default();
    let all = Rules { allow: vec!["Edit".to_owned(), "Bash(*)".to_owned()], ..Rules::default() };
    assert_eq!(preflight(&edit, Mode::Default, &none), [(edit[0].clone(), Obstacle::Prompts)]);
    assert_eq!(preflight(&edit, Mode::AcceptEdits, &none), []);
    assert_eq!(preflight(&edit, Mode::Plan, &all), [(edit[0].clone(), Obstacle::Plan)]);
    assert_eq!(preflight(&edit, Mode::Default, &all), []);
    assert_eq!(answer("cargo test > x & (y)", Mode::Default, &all), "ok");
}

#[test]
fn where_a_model_decides_nobody_can_say() {
    assert_eq!(answer("cargo test", Mode::Auto, &Rules::default()), "unknown");
    assert_eq!(answer("cargo test", Mode::Auto, &rules()), "ok");
    assert_eq!(Mode::named("yolo"), None);
}
