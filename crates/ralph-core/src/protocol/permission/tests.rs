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
    let rules = Rules { allow: vec!["Bash(npm *t*t)".to_owned()], ..Rules::default() };
    assert_eq!(answer("npm test", Mode::Default, &rules), "ok");
    assert_eq!(answer("npm st", Mode::Default, &rules), "prompts", "no letter stands for two");
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

#[test]
fn each_mode_opens_dialogs_or_none_and_a_loop_that_they_hold_says_so() {
    for (mode, expected) in [
        ("default", true),
        ("acceptEdits", true),
        ("plan", true),
        ("dontAsk", false),
        ("auto", false),
        ("bypassPermissions", false),
        ("manual", true),
        ("unheard", false),
    ] {
        let text = dialogs(mode);
        assert_eq!(!text.is_empty(), expected, "{mode}");
        if expected {
            let begins =
                format!("Permission mode `{mode}` will ask you and hold the loop at each dialog; ");
            assert!(text.starts_with(&begins), "{text}");
        }
    }
    assert_eq!(
        Mode::names(),
        "`default`, `acceptEdits`, `plan`, `dontAsk`, `auto`, `bypassPermissions`, `manual`"
    );
}

#[test]
fn the_narrowest_mode_in_which_all_calls_run_is_found() {
    let bash = |line: &str| Need::Bash(line.to_owned());
    let edit = || Need::Edits("Edit".to_owned());
    let tool = || Need::Tool("WebFetch".to_owned());
    for (needs, expected) in [
        (vec![], Some("default")),
        (vec![bash("npm test")], Some("default")),
        (vec![bash("npm test"), edit()], Some("acceptEdits")),
        (vec![edit(), bash("make")], Some("bypassPermissions")),
        (vec![tool()], Some("bypassPermissions")),
        (vec![bash("git push")], None),
        (vec![bash("git commit -m x")], None),
    ] {
        assert_eq!(mode_for(&needs, &rules()), expected, "{needs:?}");
    }
    let rule = |text: &str| text.to_owned();
    let all = [
        Obstacle::AskRule(rule("a")),
        Obstacle::DenyRule(rule("a")),
        Obstacle::Prompts,
        Obstacle::Plan,
        Obstacle::Unknown,
    ];
    assert_eq!(all.map(|one| one.is_rule()), [true, true, false, false, false]);
}

#[test]
fn an_edit_and_another_tool_meet_the_obstacle_of_the_mode() {
    let modes = ["default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions"];
    let modes = modes.map(|name| Mode::named(name).unwrap());
    let of = |need: &Need, rules: &Rules| {
        modes.map(|mode| {
            preflight(std::slice::from_ref(need), mode, rules).pop().map(|(_, why)| why)
        })
    };
    let (asks, open) = (|| Some(Obstacle::Prompts), || Some(Obstacle::Unknown));
    let none = Rules::default();
    let edit = Need::Edits("Edit".to_owned());
    assert_eq!(of(&edit, &none), [asks(), None, Some(Obstacle::Plan), asks(), open(), None]);
    let tool = Need::Tool("WebFetch".to_owned());
    assert_eq!(of(&tool, &none), [asks(), asks(), asks(), asks(), open(), None]);
    let allowed = Rules { allow: vec!["Edit".to_owned(), "WebFetch(*)".to_owned()], ..none };
    let plan = Some(Obstacle::Plan);
    assert_eq!(of(&edit, &allowed), [None, None, plan, None, None, None]);
    assert_eq!(of(&tool, &allowed), [(); 6].map(|()| None));
}
