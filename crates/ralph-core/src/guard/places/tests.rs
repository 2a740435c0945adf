//! Names in bare text, and the names that a glob can match.

use super::*;

fn places() -> ProtectedPaths {
    ProtectedPaths {
        ralph_home: "/var/lib/ralph".into(),
        config_dirs: vec!["/etc/client".into()],
        user_config: "/home/u/.config/ralph".into(),
        executables: Vec::new(),
        plugin_root: None,
        home: "/home/u".into(),
        sessions: Vec::new(),
        ..ProtectedPaths::default()
    }
}

#[track_caller]
fn check(places: &ProtectedPaths, text: &str, expected: Option<ProtectedPlace>) {
    assert_eq!(places.named_in(text), expected, "{text}");
}

#[test]
fn a_place_is_named_by_its_path_or_by_its_way_from_home_or_by_its_variable() {
    let state = Some(STATE);
    check(&places(), "open('/var/lib/ralph/loops/1')", state);
    check(&places(), "open(environ['RALPH_HOME'] + '/x')", state);
    check(&places(), "open(home / '.config/ralph/config.toml')", Some(SETTINGS));
    check(&places(), "open('.claude/ralph.toml')", Some(SETTINGS));
    check(&places(), "open('.claude/settings.json')", Some(HOOKS));
    check(&places(), "open('/etc/client/settings.json')", Some(HOOKS));
    check(&places(), "open('managed-settings.json')", Some(HOOKS));
    let below = ProtectedPaths { ralph_home: "/home/u/.local/state/ralph".into(), ..places() };
    check(&below, "open(home + '/.local/state/ralph/x')", state);
}

#[test]
fn the_record_of_a_conversation_is_protected_and_what_stands_beside_it_is_not() {
    let record = Some(TRANSCRIPT);
    for (path, expected) in [
        ("/etc/client/projects/-home-u-app/0b1c.jsonl", record),
        ("/etc/client/projects/-home-u-app/0b1c/subagents/agent-1.jsonl", record),
        ("/home/u/.claude/projects/x/0b1c.jsonl", record),
        ("/etc/client/projects/x/memory/MEMORY.md", None),
        ("/work/projects/x/data.jsonl", None),
        ("data.jsonl", None),
    ] {
        assert_eq!(places().protected(path, "/work/app"), expected, "{path}");
    }
    check(&places(), "open('/etc/client/projects/x/0b1c.jsonl', 'a')", record);
    check(&places(), "open('/etc/client/projects/x/memory/MEMORY.md', 'a')", None);
}

#[test]
fn a_single_word_or_a_place_that_is_not_known_names_nothing() {
    check(&places(), "print('ralph, settings and the client')", None);
    let short = ProtectedPaths { ralph_home: "/home/u/ralph".into(), ..places() };
    check(&short, "print('ralph is a name too')", None);
    check(&short, "open('/home/u/ralph/x')", Some(STATE));
    check(&ProtectedPaths::default(), "open('/var/lib/ralph')", None);
    let homeless = ProtectedPaths { home: String::new(), ..places() };
    check(&homeless, "open('var/lib/ralph')", None);
}

#[test]
fn a_protected_place_is_protected_in_every_spelling_that_opens_it_on_macos() {
    let places = ProtectedPaths {
        sessions: vec!["/p/.ralph-sessions".into()],
        executables: vec!["/home/u/.local/bin".into()],
        ..places()
    };
    for (path, expected) in [
        ("/p/.claude/settings.json", HOOKS),
        ("/p/.CLAUDE/Settings.JSON", HOOKS),
        ("/p/.claude/\u{17F}ettings.local.json", HOOKS),
        (".Claude/Ralph.toml", SETTINGS),
        ("/P/.Ralph-Sessions/x", SESSION),
        ("/HOME/u/.Local/bin/Ralph-Stop-Hook", EXECUTABLE),
        ("/home/u/.claude/Skills/RALPH/skill.md", SKILL),
        ("/home/u/.claude/Projects/-p/x.JSONL", TRANSCRIPT),
    ] {
        assert_eq!(places.protected(path, "/p"), Some(expected), "{path}");
    }
    let state = format!("{}/X", places.ralph_home.to_uppercase());
    assert_eq!(places.protected(&state, "/p"), Some(STATE));
    assert_eq!(places.holds_protected("/p/.Claude", "/p"), Some(HOOKS));
    assert_eq!(places.named_in("open('.Claude/Settings.json')"), Some(HOOKS));
    assert_eq!(places.protected("/p/Claude/settings.json", "/p"), None);
}
