//! `ralph uninstall` gives back what `ralph install` found.

use crate::world::World;
use serde_json::{Value, json};

#[track_caller]
fn comes_back(settings: &str) {
    let world = World::new().with_settings(settings);
    let all = ["install", "--block-cap", "20", "--with", "worker-base", "--with", "statusline"];
    world.ralph(&[&all[..], &["--with", "sandbox"]].concat()).exit(0);
    assert_ne!(world.read("home/.claude/settings.json"), settings);
    world.ralph(&["uninstall"]).exit(0);
    assert_eq!(world.read("home/.claude/settings.json"), settings);
}

#[test]
fn the_settings_are_what_they_were_to_the_byte() {
    comes_back("{}");
    comes_back("{ }\n\n");
    comes_back("");
    comes_back(r#"{"a":1,"hooks":{}}"#);
    comes_back(r#"{"sandbox":{"enabled":true,"excludedCommands":["docker *" ]}}"#);
    comes_back("{\"hooks\": {\"Stop\": [], \"PreToolUse\": [ ]}, \"env\": {}, \"worktree\": {}}\n");
    comes_back("{\r\n\t\"x\" : [1,\r\n2], \"y\":1.50\r\n}");
    comes_back(r#"{"statusLine" : {"type":"command", "command":"echo \u0041 \/", "padding":0}}"#);
}

#[test]
fn of_the_sandboxes_exceptions_only_the_one_that_ralph_wrote_is_taken_away() {
    let list =
        |own: &str| format!(r#"{{"sandbox": {{"enabled": true, "excludedCommands": [{own}]}}}}"#);
    for (before, added) in [
        (r#"{"sandbox": {"enabled": true}}"#.to_owned(), true),
        (list(r#""docker *""#), true),
        (list(r#""docker *", "ralph *""#), false),
        (list(r#""ralph:*""#), false),
    ] {
        let world = World::new().with_settings(&before);
        let said = world.ralph(&["install", "--with", "sandbox"]).exit(0);
        let text = world.read("home/.claude/settings.json");
        assert_eq!(said.stdout.contains("run outside of the client's sandbox: ralph *"), added);
        world.ralph(&["install"]).exit(0).says("nothing to change");
        // Another program has written the file meanwhile.
        world.write("home/.claude/settings.json", &text.replacen('{', "{\"theme\": \"dark\", ", 1));
        world.ralph(&["uninstall"]).exit(0);
        let left = world.read("home/.claude/settings.json");
        let mut left: Value = serde_json::from_str(&left).unwrap();
        left.as_object_mut().unwrap().remove("theme");
        assert_eq!(left, serde_json::from_str::<Value>(&before).unwrap());
    }
}

#[test]
fn the_status_line_is_ones_own_again_also_where_others_changed_the_file_since() {
    let own = json!({"command": "say \"A\"", "type": "command", "padding": 0});
    let world = World::new().with_settings(&json!({"statusLine": own}).to_string());
    world.ralph(&["install", "--with", "statusline"]).exit(0).says("set the status line: ");
    let text = world.read("home/.claude/settings.json");
    assert!(text.contains(r#"/bin/ralph statusline --with 'say \"A\"'""#), "{text}");
    assert!(text.contains(r#""refreshInterval": 5"#), "{text}");
    world.ralph(&["install"]).exit(0).says("already registered, nothing to change");
    world.write("home/.claude/settings.json", &text.replacen('{', "{\"theme\": \"dark\", ", 1));
    world.ralph(&["uninstall"]).exit(0).says("restore your status line");
    let left: Value = serde_json::from_str(&world.read("home/.claude/settings.json")).unwrap();
    assert_eq!(left, json!({"theme": "dark", "statusLine": own}));
}

#[test]
fn a_status_line_follows_the_executable_and_one_that_was_replaced_stays() {
    let world = World::new();
    world.put_ralph("old");
    for hook in crate::world::HOOKS {
        std::os::unix::fs::symlink(world.path("bin").join(hook), world.path("old").join(hook))
            .unwrap();
    }
    world.run_in("old", &["install", "--with", "statusline"]).exit(0);
    world.ralph(&["install"]).exit(0).says("set the status line: ");
    let text = world.read("home/.claude/settings.json");
    assert!(text.contains(world.path("bin/ralph statusline").to_str().unwrap()), "{text}");
    assert!(!text.contains("/old/"), "{text}");
    let mine = text.replace(world.path("bin/ralph statusline").to_str().unwrap(), "mine");
    world.write("home/.claude/settings.json", &mine);
    world.ralph(&["uninstall"]).exit(0);
    let left: Value = serde_json::from_str(&world.read("home/.claude/settings.json")).unwrap();
    assert_eq!(
        left,
        json!({"statusLine": {"type": "command", "command": "mine", "refreshInterval": 5}})
    );
}

#[test]
fn a_home_without_settings_has_none_afterwards() {
    let world = World::new();
    let before = world.snapshot("home");
    world.ralph(&["install"]).exit(0);
    world.ralph(&["uninstall"]).exit(0).says("remove the file, which the installation created");
    assert_eq!(world.snapshot("home"), before);
}

#[test]
fn installing_twice_and_upgrading_still_comes_back_to_the_byte() {
    let world = World::new().with_settings("{ \"hooks\": { \"Stop\": [ ] } }");
    world.ralph(&["install"]).exit(0);
    world.ralph(&["install", "--block-cap", "9"]).exit(0);
    world.ralph(&["install"]).exit(0);
    world.ralph(&["uninstall"]).exit(0);
    assert_eq!(world.read("home/.claude/settings.json"), "{ \"hooks\": { \"Stop\": [ ] } }");
}

#[test]
fn what_others_added_since_stays_even_in_our_group() {
    let world = World::new().with_settings("{\n  \"model\": \"opus\"\n}\n");
    world.ralph(&["install"]).exit(0);
    let mut settings: Value =
        serde_json::from_str(&world.read("home/.claude/settings.json")).unwrap();
    let theirs = json!({"type": "command", "command": "say done"});
    settings["hooks"]["Stop"][0]["hooks"].as_array_mut().unwrap().insert(0, theirs.clone());
    settings["theme"] = json!("dark");
    world.write("home/.claude/settings.json", &serde_json::to_string_pretty(&settings).unwrap());
    world.ralph(&["uninstall"]).exit(0).says("remove hooks: ");
    let left: Value = serde_json::from_str(&world.read("home/.claude/settings.json")).unwrap();
    let expected =
        json!({"model": "opus", "hooks": {"Stop": [{"hooks": [theirs]}]}, "theme": "dark"});
    assert_eq!(left, expected);
    assert_eq!(world.backups("home/.claude").len(), 2);
}

#[test]
fn without_a_record_our_entries_and_untouched_skills_still_go() {
    let world = World::new().with_settings("{\n  \"model\": \"opus\"\n}\n");
    world.ralph(&["install"]).exit(0);
    std::fs::remove_dir_all(world.path("state")).unwrap();
    world.ralph(&["uninstall"]).exit(0);
    assert_eq!(world.read("home/.claude/settings.json"), "{\n  \"model\": \"opus\"\n}\n");
    assert!(!world.exists("home/.claude/skills/ralph"));
}

#[test]
fn it_names_what_it_leaves_and_never_deletes_state() {
    let world = World::new().with_settings("{}");
    world.write("state/archive/old/state.json", "{}");
    world.chmod("state", 0o700);
    world.ralph(&["install"]).exit(0);
    let said = world.ralph(&["uninstall"]).exit(0);
    let (state, bin) = (world.path("state"), world.path("bin"));
    let said = said.says(&format!("`{}` (loops, and the archive", state.display()));
    let said = said.says(&format!("`{}/ralph*` (the executables)", bin.display()));
    said.says("(backup of the settings)");
    assert!(world.exists("state/archive/old/state.json"));
    assert!(world.exists("bin/ralph-stop-hook"));
}

#[test]
fn a_dry_run_does_nothing() {
    let world = World::new().with_settings("{}");
    world.ralph(&["install"]).exit(0);
    let before = world.snapshot("");
    world.ralph(&["uninstall", "--dry-run"]).exit(0);
    assert_eq!(world.snapshot(""), before);
}

#[test]
fn with_nothing_installed_it_says_so() {
    let world = World::new().with_settings("{}");
    let before = world.snapshot("home");
    world.ralph(&["uninstall"]).exit(0).says("no hooks of Ralph, nothing to change");
    assert_eq!(world.snapshot("home"), before);
}

#[test]
fn a_broken_settings_file_is_refused_here_too() {
    let world = World::new().with_settings("{ oops");
    world.ralph(&["uninstall"]).exit(3).says("line 1, column 3");
}

/// Two repositories with a checkpoint each: the project, and one that is known from a loop of it.
fn with_checkpoints() -> World {
    let world = World::new().with_settings("{}");
    let git = |folder: &str, arguments: &[&str]| {
        let mut command = world.command("git");
        command.args(["-c", "user.name=t", "-c", "user.email=t@example.com"]).args(arguments);
        assert!(command.current_dir(world.path(folder)).status().unwrap().success());
    };
    std::fs::create_dir_all(world.path("it's other")).unwrap();
    for folder in ["project", "it's other"] {
        git(folder, &["init", "-q"]);
        git(folder, &["commit", "-q", "--allow-empty", "-m", "first"]);
        git(folder, &["update-ref", "refs/ralph/x/1", "HEAD"]);
    }
    for arguments in [&["start", "a plan"][..], &["cancel"]] {
        let mut ralph = world.command(world.path("bin/ralph"));
        ralph.args(arguments).current_dir(world.path("it's other"));
        assert!(ralph.output().unwrap().status.success());
    }
    world.ralph(&["install"]).exit(0);
    world
}

#[test]
fn it_names_the_checkpoints_that_stay_and_the_command_that_removes_them() {
    let world = with_checkpoints();
    let said = world.ralph(&["uninstall"]).exit(0);
    for folder in ["project", "it's other"] {
        let place = world.path(folder);
        let named = format!("  1 ref `refs/ralph/*` of `{}` (checkpoints)", place.display());
        assert!(said.stdout.contains(&named), "{}", said.stdout);
    }
    let commands = said.stdout.lines().filter(|line| line.starts_with("    git -C "));
    for command in commands {
        assert!(world.command("sh").args(["-c", command]).status().unwrap().success());
    }
    world.ralph(&["uninstall"]).exit(0).does_not_say("refs/ralph");
}

#[test]
fn with_all_the_rest_the_checkpoints_go() {
    let world = with_checkpoints();
    let refs = |folder: &str| {
        let mut git = world.command("git");
        git.args(["for-each-ref", "refs"]).current_dir(world.path(folder));
        String::from_utf8(git.output().unwrap().stdout).unwrap()
    };
    let count = |folder| refs(folder).lines().count();
    let said = world.ralph(&["uninstall", "--all", "--dry-run"]).exit(0);
    said.says("  would remove 1 ref `refs/ralph/*` of `").does_not_say("update-ref");
    assert_eq!((count("project"), count("it's other")), (2, 2), "a dry run changes nothing");
    world.ralph(&["uninstall", "--all"]).exit(0).does_not_say("to remove them");
    for folder in ["project", "it's other"] {
        assert!(!refs(folder).contains("refs/ralph"), "{}", refs(folder));
        assert_eq!(count(folder), 1, "the branch is not ours");
    }
}

#[test]
fn copies_of_the_settings_go_with_all_the_rest_whenever_they_were_made() {
    for first in [None, Some("uninstall")] {
        let world = World::new().with_settings("{\n  \"model\": \"opus\"\n}\n");
        world.ralph(&["install"]).exit(0);
        // As the client does that notes an answer of the person's in it.
        let text = world.read("home/.claude/settings.json").replace("opus", "sonnet");
        world.write("home/.claude/settings.json", &text);
        if let Some(first) = first {
            world.ralph(&[first]).exit(0).says(".ralph-backup-");
            assert_eq!(world.backups("home/.claude").len(), 2);
        }
        world.ralph(&["uninstall", "--all"]).exit(0).does_not_say("backup of the settings");
        assert_eq!(world.backups("home/.claude"), Vec::<String>::new());
        let left: Value = serde_json::from_str(&world.read("home/.claude/settings.json")).unwrap();
        assert_eq!(left, json!({"model": "sonnet"}));
    }
}

#[test]
fn all_of_it_goes_but_the_archive() {
    let world = World::new().with_settings("{\n  \"model\": \"opus\"\n}\n");
    let before = world.snapshot("home");
    world.ralph(&["install"]).exit(0);
    let working = ["trust/a", "checks/b/c", "rounds/d", "shared/p/l/name"];
    for name in working.iter().chain(&["archive/old/state.json", "refine/p/1.md"]) {
        world.write(&format!("state/{name}"), "{}");
    }
    world.chmod("state", 0o700);
    world.write("state/notes.txt", "somebody's own");
    let all = world.snapshot("");
    let said = world.ralph(&["uninstall", "--all", "--dry-run"]).exit(0);
    let said =
        said.says(&format!("  would remove `{}`", world.path("bin/ralph-stop-hook").display()));
    let said = said.says("state/archive` (ended loops, plans)").does_not_say("the executables");
    said.does_not_say("also removes").does_not_say("(backup of the settings)");
    assert_eq!(world.snapshot(""), all, "a dry run changes nothing");
    let said = world.ralph(&["uninstall", "--all"]).exit(0);
    said.says("bin/ralph-stop-hook`").says("state/archive` (ended loops, plans)");
    assert_eq!(world.snapshot("home"), before);
    let left: Vec<String> = world
        .snapshot("state")
        .into_iter()
        .filter(|(_, what)| what != "folder")
        .map(|(path, _)| path.strip_prefix(world.path("state")).unwrap().display().to_string())
        .collect();
    assert_eq!(left, ["archive/old/state.json", "notes.txt", "refine/p/1.md"]);
    let names: Vec<_> = std::fs::read_dir(world.path("bin")).unwrap().collect();
    assert_eq!(names.len(), 1, "the client is not ours");
}

#[test]
fn with_nothing_to_keep_nothing_is_left() {
    let world = World::new();
    world.ralph(&["install"]).exit(0);
    std::fs::remove_file(world.path("bin/claude")).unwrap();
    world.ralph(&["uninstall", "--all"]).exit(0).says("nothing of Ralph remains");
    assert!(!world.exists("state") && !world.exists("bin"));
}

#[test]
fn the_rest_of_an_unpacked_release_is_named() {
    let world = World::new();
    world.ralph(&["install"]).exit(0);
    world.write("sbom.cdx.json", "{}");
    let folder = world.path("bin").parent().unwrap().display().to_string();
    let said = world.ralph(&["uninstall", "--all"]).exit(0);
    said.says(&format!("`{folder}` (the rest of the release)"));
    assert!(world.exists("sbom.cdx.json"));
}

#[test]
fn folders_that_were_made_on_the_way_go_when_they_are_empty() {
    let world = World::new();
    let state = world.path("home/.local/state/ralph");
    let world = world.env("RALPH_HOME", state.to_str().unwrap());
    world.put_ralph("home/.local/bin");
    for hook in crate::world::HOOKS {
        let quiet = crate::world::fixture("quiet-hook");
        std::os::unix::fs::symlink(quiet, world.path("home/.local/bin").join(hook)).unwrap();
    }
    world.run_in("home/.local/bin", &["install"]).exit(0).says("then type /ralph \"what to do\"");
    assert!(world.exists("home/.local/state/ralph/install.json"));
    world
        .run_in("home/.local/bin", &["uninstall", "--all"])
        .exit(0)
        .says("nothing of Ralph remains");
    assert!(!world.exists("home/.local"));
    assert!(world.exists("home/.claude"), "it was there before");
}

#[test]
fn a_loop_that_has_not_ended_or_another_installation_keeps_all_of_it() {
    let world = World::new();
    world.ralph(&["install"]).exit(0);
    world.ralph(&["install", "--project", "."]).exit(0);
    let before = world.snapshot("");
    let said = world.ralph(&["uninstall", "--all"]).exit(1);
    said.says("Ralph is also installed in `")
        .says("project/.claude/settings.json` and needs the executables there");
    assert_eq!(world.snapshot(""), before);
    world.ralph(&["uninstall", "--project", "."]).exit(0);
    crate::doctor::put_state(&world, "loop-1", "session-1", "planned");
    let before = world.snapshot("");
    let said = world.ralph(&["uninstall", "--all"]).exit(1);
    said.says("loop loop-1 has not ended; run `ralph cancel --loop loop-1`");
    assert_eq!(world.snapshot(""), before);
    world.ralph(&["cancel", "--loop", "loop-1"]).exit(0);
    world.ralph(&["uninstall", "--all"]).exit(0);
    assert!(!world.exists("home/.claude/settings.json"));
}

#[test]
fn a_link_to_an_executable_goes_and_what_it_leads_to_stays() {
    let world = World::new();
    world.ralph(&["install"]).exit(0);
    // The hooks of this world are links to a file of the repository.
    world.ralph(&["uninstall", "--all"]).exit(0);
    assert!(!world.exists("bin/ralph-stop-hook"));
    assert!(crate::world::fixture("quiet-hook").is_file());
}
