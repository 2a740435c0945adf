//! How Claude Code 2.1.328 treated each call in `-p`.

use super::*;

fn rules() -> Rules {
    let list = |rules: &[&str]| rules.iter().map(|rule| (*rule).to_owned()).collect();
    Rules {
        allow: list(&[
            "Bash(cargo test:*)",
            "Bash(npm test)",
            "Bash(git *)",
            "Bash(ralph *)",
            "Bash(sh -c 'echo x')",
            "Bash(FOO=1 cargo test)",
            "Bash(cargo test > out.txt)",
        ]),
        ask: list(&["Bash(git commit *)"]),
        deny: list(&["Bash(git push*)"]),
    }
}

fn answer(command: &str, mode: Mode, rules: &Rules) -> &'static str {
    match preflight(&[Need::Bash(command.to_owned())], mode, rules).first() {
        None => "ok",
        Some((_, Obstacle::Prompts { .. })) => "prompts",
        Some((_, Obstacle::AskRule(_))) => "ask",
        Some((_, Obstacle::DenyRule(_))) => "deny",
        Some((_, Obstacle::Plan)) => "plan",
        Some((_, Obstacle::Unknown)) => "unknown",
    }
}

#[test]
fn each_command_is_answered_as_the_client_answered_it() {
    const TABLE: [(&str, &str, &str, &str, &str); 37] = [
        // command, default mode, acceptEdits, our rules, bypassPermissions
        ("ralph task claim T", "prompts", "prompts", "ok", "ok"),
        ("cargo test", "prompts", "prompts", "ok", "ok"),
        ("cargo test --lib", "prompts", "prompts", "ok", "ok"),
        ("cargo testx", "prompts", "prompts", "prompts", "ok"),
        ("npm test", "prompts", "prompts", "ok", "ok"),
        ("npm test -- x", "prompts", "prompts", "prompts", "ok"),
        ("true", "ok", "ok", "ok", "ok"),
        ("test -f a", "ok", "ok", "ok", "ok"),
        ("git status", "ok", "ok", "ok", "ok"),
        ("git commit -m x", "prompts", "prompts", "ask", "ask"),
        ("git push", "prompts", "prompts", "deny", "deny"),
        ("mkdir d", "prompts", "ok", "prompts", "ok"),
        ("cp a b", "prompts", "ok", "prompts", "ok"),
        ("rm a", "prompts", "ok", "prompts", "ok"),
        ("sed -i s/a/b/ a", "prompts", "prompts", "prompts", "ok"),
        ("echo hi", "ok", "ok", "ok", "ok"),
        ("touch /etc/zz", "prompts", "prompts", "prompts", "ok"),
        ("cat /etc/passwd", "prompts", "prompts", "prompts", "ok"),
        ("ls ..", "prompts", "prompts", "prompts", "ok"),
        ("touch t", "prompts", "ok", "prompts", "ok"),
        ("sh -c 'echo x'", "prompts", "prompts", "ok", "ok"),
        ("FOO=1 ls", "prompts", "prompts", "prompts", "ok"),
        ("FOO=1 cargo test", "prompts", "prompts", "ok", "ok"),
        ("FOO=2 cargo test", "prompts", "prompts", "prompts", "ok"),
        ("ls | head", "ok", "ok", "ok", "ok"),
        ("cd sub && ls", "ok", "ok", "ok", "ok"),
        ("cargo test && npm test", "prompts", "prompts", "ok", "ok"),
        ("cargo test; curl x", "prompts", "prompts", "prompts", "ok"),
        ("timeout 5 cargo test", "prompts", "prompts", "ok", "ok"),
        ("sudo cargo test", "prompts", "prompts", "prompts", "ok"),
        ("env cargo test", "prompts", "prompts", "prompts", "ok"),
        ("cargo test 2>&1 | tail -5", "prompts", "prompts", "ok", "ok"),
        ("cargo test > out.txt", "prompts", "prompts", "prompts", "ok"),
        ("cargo test \"a b\"", "prompts", "prompts", "ok", "ok"),
        ("cargo test $(pwd)", "prompts", "prompts", "prompts", "ok"),
        ("(cargo test)", "prompts", "prompts", "prompts", "ok"),
        ("cargo test &", "prompts", "prompts", "prompts", "ok"),
    ];
    let none = Rules::default();
    for (command, by_default, accepting, ruled, skipping) in TABLE {
        assert_eq!(answer(command, Mode::Default, &none), by_default, "{command}, by default");
        assert_eq!(answer(command, Mode::AcceptEdits, &none), accepting, "{command}, edits");
        assert_eq!(answer(command, Mode::Default, &rules()), ruled, "{command}, with rules");
        let skipped = answer(command, Mode::BypassPermissions, &rules());
        assert_eq!(skipped, skipping, "{command}, skipping");
    }
}

#[test]
fn edits_follow_the_mode_and_a_tool_may_be_named_as_a_whole() {
    let edit = [Need::Edits("Edit".to_owned())];
    let none = Rules::default();
    let all = Rules { allow: vec!["Edit".to_owned(), "Bash(*)".to_owned()], ..Rules::default() };
    let prompts = Obstacle::Prompts { allow: "Edit".to_owned() };
    assert_eq!(preflight(&edit, Mode::Default, &none), [(edit[0].clone(), prompts)]);
    assert_eq!(preflight(&edit, Mode::AcceptEdits, &none), []);
    assert_eq!(preflight(&edit, Mode::Plan, &all), [(edit[0].clone(), Obstacle::Plan)]);
    assert_eq!(preflight(&edit, Mode::Default, &all), []);
    assert_eq!(answer("cargo test > x & (y)", Mode::Default, &all), "ok");
}

#[test]
fn the_rule_that_would_settle_it_is_named_by_the_part_that_is_open() {
    let need = [Need::Bash("cargo test && curl -s x | tail".to_owned())];
    let found = preflight(&need, Mode::Default, &rules());
    assert_eq!(found[0].1, Obstacle::Prompts { allow: "Bash(curl -s x)".to_owned() });
}

#[test]
fn what_is_forbidden_is_found_behind_any_wrapper() {
    for command in ["sudo git push", "sh -c 'git push'", "true && (git push)", "FOO=1 git push"] {
        assert_eq!(answer(command, Mode::BypassPermissions, &rules()), "deny", "{command}");
    }
}

#[test]
fn where_a_model_decides_nobody_can_say() {
    assert_eq!(answer("cargo test", Mode::Auto, &Rules::default()), "unknown");
    assert_eq!(answer("ls", Mode::Auto, &Rules::default()), "ok");
    assert_eq!(Mode::named("yolo"), None);
}
