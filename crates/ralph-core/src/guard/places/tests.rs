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

#[test]
fn a_path_is_spelled_as_it_is_looked_up() {
    let places = ProtectedPaths { links: vec![("/p/link".into(), "/var/lib".into())], ..places() };
    for (path, expected) in [
        ("a", "/p/a"),
        ("./a//b/../c", "/p/a/c"),
        ("../../../a", "/a"),
        ("/a/b/", "/a/b"),
        ("~", "/home/u"),
        ("~/a", "/home/u/a"),
        ("~x/a", "/p/~x/a"),
        ("", "/p"),
    ] {
        assert_eq!(places.absolute(path, "/p"), expected, "{path}");
    }
    assert_eq!(places.protected("link/ralph/x", "/p"), Some(STATE));
    assert_eq!(places.protected("link/other/x", "/p"), None);
    for (path, expected) in
        [("/p", true), ("/p/a", true), ("/", true), ("/p/a/b", false), ("/q", false)]
    {
        assert_eq!(places.is_at_or_above(path, "/p/a"), expected, "{path}");
    }
    for (path, expected) in [
        ("/x/ralph", true),
        ("/x/RALPH-stop-hook", true),
        ("/ralph/x", true),
        ("/x/bash", false),
        ("", false),
    ] {
        assert_eq!(may_be_executable(path), expected, "{path}");
    }
}

#[test]
fn what_would_go_with_its_folder_is_protected_too() {
    let places = ProtectedPaths {
        executables: vec!["/home/u/.local/bin".into()],
        plugin_root: Some("/opt/plugins/ralph".into()),
        sessions: vec!["/p/.ralph-sessions".into()],
        ..places()
    };
    for (path, expected) in [
        ("/var/lib", Some(STATE)),
        ("/var/lib/ralph", Some(STATE)),
        ("/var/lib/ralph/x", None),
        ("/home/u/.config", Some(SETTINGS)),
        ("/etc", Some(HOOKS)),
        ("/etc/client", Some(HOOKS)),
        ("/p", Some(HOOKS)),
        ("/q/.claude", Some(HOOKS)),
        ("/opt", Some(PLUGINS)),
        ("/home/u/.local", Some(EXECUTABLE)),
        ("/p/.ralph-sessions", Some(SESSION)),
        ("/srv", None),
    ] {
        assert_eq!(places.holds_protected(path, "/p"), expected, "{path}");
    }
}

#[test]
fn each_file_of_the_client_is_what_it_does() {
    for (path, expected) in [
        (".claude/ralph.toml", Some(SETTINGS)),
        (".claude/settings.json", Some(HOOKS)),
        (".claude/settings.local.json", Some(HOOKS)),
        (".claude/x/settings.json", None),
        (".claude/plugins/x/y", Some(PLUGINS)),
        (".claude/dev-mods", Some(PLUGINS)),
        (".claude/skills/a/.claude-plugin", Some(PLUGINS)),
        (".claude/skills/a/hooks/hooks.json", Some(PLUGINS)),
        (".claude/skills/a/hooks/b/c", None),
        (".claude/skills/ralph-x/SKILL.md", Some(SKILL)),
        (".claude/skills/planloop/SKILL.md", Some(SKILL)),
        (".claude/skills/other/SKILL.md", None),
        (".claude/skills/ralph/more.md", None),
        (".claude/projects/a/b.jsonl", Some(TRANSCRIPT)),
        (".claude/projects/a/b.md", None),
        ("a/.ralph-kept/b", Some(STATE)),
        ("share/ralph/kept/b", Some(STATE)),
        ("share/ralph/other", None),
        ("managed-settings.json", Some(HOOKS)),
        (".claude", None),
    ] {
        assert_eq!(places().protected(path, "/p"), expected, "{path}");
    }
    for (text, expected) in [
        ("x/.ralph-kept/y", Some(STATE)),
        ("share/ralph/kept", Some(STATE)),
        ("ralph.toml", Some(SETTINGS)),
        (".claude/plugins", Some(PLUGINS)),
        (".claude/dev-mods", Some(PLUGINS)),
        (".claude/skills/a/hooks", Some(PLUGINS)),
        (".claude/skills/a/.claude-plugin", Some(PLUGINS)),
        (".claude/skills/a/b", None),
        (".claude/skills/ralph", Some(SKILL)),
        (".claude/projects/ a.jsonl", Some(TRANSCRIPT)),
        (".claude/projects/ a", None),
        (".ralph-sessions", None),
    ] {
        check(&places(), text, expected);
    }
    let more = ProtectedPaths {
        executables: vec!["/home/u/.local/bin".into()],
        plugin_root: Some("/opt/plugins/ralph".into()),
        sessions: vec!["/p/.ralph-sessions".into()],
        ..places()
    };
    check(&more, ".ralph-sessions", Some(SESSION));
    check(&more, "/opt/plugins/ralph/hooks", Some(PLUGINS));
    check(&more, "/opt/plugins/ralph/skills", None);
    check(&more, "~/.local/bin/ralph", Some(EXECUTABLE));
    check(&more, "~/.local/bin/other", None);
}
