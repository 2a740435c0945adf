//! What something else than Ralph changes of a loop's hooks, settings and state pauses it at its next event.

use crate::world::World;
use ralph_test_support::sample::sample;
use serde_json::json;
use std::fs;
use std::process::Command;

const HOOKS: &str = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"ralph-stop-hook"}]}]},"model":"a"}"#;

/// A loop in a project with settings of its own.
fn looping() -> World {
    let world = World::new();
    let user = world.root().join("home/.claude");
    fs::create_dir_all(&user).unwrap();
    fs::write(user.join("settings.json"), HOOKS).unwrap();
    let cache = user.join("plugins/cache/m/tools/1.0.0");
    let installed =
        json!({"version": 2, "plugins": {"tools@m": [{"installPath": cache, "version": "1.0.0"}]}});
    for (file, text) in [
        ("skills/mine/SKILL.md", "Mine.".to_owned()),
        ("skills/mine/.claude-plugin/plugin.json", r#"{"name":"mine"}"#.to_owned()),
        ("skills/mine/hooks/hooks.json", r#"{"modules":["../register.js"]}"#.to_owned()),
        ("skills/mine/register.js", "export function register(on) {}".to_owned()),
        ("plugins/cache/m/tools/1.0.0/hooks/hooks.json", "{}".to_owned()),
        ("plugins/installed_plugins.json", installed.to_string()),
    ] {
        let path = user.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    world.write(".claude/settings.local.json", r#"{"permissions":{"allow":[]}}"#);
    world.write(".claude/ralph.toml", "# Mine.\n");
    world.git("add .");
    world.start("--max-iterations 9");
    world
}

/// Runs a line of shell as a tool call that nothing foresaw; `$L` is the loop's folder.
fn shell(world: &World, line: &str) {
    let done = Command::new("sh")
        .args(["-euc", line])
        .current_dir(world.project())
        .env("HOME", world.root().join("home"))
        .env("L", world.state_path().parent().unwrap())
        .status();
    assert!(done.unwrap().success(), "{line}");
}

/// The lines that change something, and how the user reads of it.
const CHANGES: [(&str, &str); 32] = [
    ("echo '{}' >~/.claude/settings.json", "the hooks of `"),
    ("rm ~/.claude/settings.json", ".claude/settings.json` was removed"),
    ("sed -i s/Stop/Other/ ~/.claude/settings.json", "the hooks of `"),
    (
        "sed -i 's/\"model\"/\"disableAllHooks\":true,\"model\"/' ~/.claude/settings.json",
        "the hooks of `",
    ),
    (
        "sed -i 's/\"model\"/\"env\":{\"PATH\":\"x\"},\"model\"/' ~/.claude/settings.json",
        "the hooks of `",
    ),
    (
        "sed -i 's/\"model\"/\"enabledPlugins\":{\"a@b\":true},\"model\"/' ~/.claude/settings.json",
        "the hooks of `",
    ),
    ("sed -i s/ralph-stop-hook/true/ ~/.claude/settings.json", "the hooks of `"),
    ("echo '{\"hooks\":' >~/.claude/settings.json", "the hooks of `"),
    (
        "echo '{\"disableAllHooks\":true}' >.claude/settings.local.json",
        "settings.local.json` changed",
    ),
    ("echo '{\"disableAllHooks\":true}' >.claude/settings.json", "/.claude/settings.json` changed"),
    (
        "mv .claude/settings.local.json x; echo '{\"hooks\":{\"Stop\":[]}}' >.claude/settings.local.json",
        "settings.local.json` changed",
    ),
    ("echo '[loop]' >.claude/ralph.toml", "the settings `"),
    ("rm .claude/ralph.toml", "ralph.toml` was removed"),
    ("echo '#' >>~/.config/ralph/config.toml", "the settings `"),
    (
        "sed -i 's/\"max_iterations\": 9/\"max_iterations\": 1/' \"$L/state.json\"",
        "/state.json` changed",
    ),
    ("rm \"$L/state.json\"", "/state.json` was removed"),
    ("rm \"$L/state.json\" \"$L/state.json.last-good\"", "/state.json` was removed"),
    ("rm -r \"$L\"", "/state.json` was removed"),
    ("rm -r \"$L\"; ln -s nowhere \"$L\"", "/state.json` was removed"),
    ("rm \"$L/state.json\"; mkfifo \"$L/state.json\"", "/state.json` changed"),
    (": >\"$L/state.json\"", "/state.json` changed"),
    ("cp \"$L/state.json.last-good\" x; mv x \"$L/state.json\"", "/state.json` changed"),
    (
        "sed -i 's/\"phase\": \"[a-z]*\"/\"phase\": \"ended\"/' \"$L/\"state*",
        "/state.json` changed",
    ),
    ("n=state; echo '{}' >\"$L/$n.json\"", "/state.json` changed"),
    (
        "mkdir -p ~/.claude/dev-mods/s/q; echo x >~/.claude/dev-mods/s/q/register.js",
        "what the client loads from `",
    ),
    (
        "mkdir -p ~/.claude/skills/q/hooks; echo '{}' >~/.claude/skills/q/hooks/hooks.json",
        "/skills` changed",
    ),
    (
        "mkdir -p ~/.claude/skills/q/.claude-plugin; echo '{}' >~/.claude/skills/q/.claude-plugin/plugin.json",
        "/skills` changed",
    ),
    (
        "mkdir -p .claude/skills/q/.claude-plugin; echo '{}' >.claude/skills/q/.claude-plugin/plugin.json",
        "/.claude/skills` changed",
    ),
    ("echo 'evil()' >>~/.claude/skills/mine/register.js", "/mine/register.js` changed"),
    ("rm -r ~/.claude/skills/mine/hooks", "hooks.json` was removed"),
    (
        "sed -i s/tools@m/other@m/ ~/.claude/plugins/installed_plugins.json",
        "installed_plugins.json` changed",
    ),
    (
        "sed -i 's#\"installPath\":\"[^\"]*\"#\"installPath\":\"/elsewhere\"#' ~/.claude/plugins/installed_plugins.json",
        "installed_plugins.json` changed",
    ),
];

#[test]
fn each_change_pauses_the_loop_at_its_next_event_and_the_user_reads_of_it() {
    for (line, words) in sample(CHANGES.to_vec(), 3) {
        let world = looping();
        // So that there is a state from before.
        world.working_stop("one").goes_on();
        shell(&world, line);
        let after =
            json!({"tool_name": "Bash", "tool_input": {"command": "x"}, "tool_response": {}});
        let ran = world.event("ralph-backpressure", "PostToolUse", after);
        assert!(!ran.json().is_null(), "{line}: {ran:?}");
        let told = ran.message();
        assert!(told.contains("paused at 1/9") && told.contains(words), "{line}: {told}");
        let state = world.state();
        assert_eq!(state["pause"]["cause"], "tampered", "{line}");
        assert_eq!(
            (&state["iteration"], &state["max_iterations"]),
            (&json!(1), &json!(9)),
            "{line}"
        );
        // The turn ends, and `/ralph` goes on with what is there.
        world.working_stop("two").silent();
        let again = world.type_command("ralph", "");
        assert!(again.context().contains("continues"), "{line}: {again:?}");
        world.working_stop("three").goes_on();
    }
}

#[test]
fn without_all_of_ralphs_own_folder_the_next_stop_restores_the_loop_and_the_user_reads_of_it() {
    let world = looping();
    world.working_stop("one").goes_on();
    fs::remove_dir_all(world.ralph_home()).unwrap();
    let told = world.working_stop("two").message();
    assert!(told.contains("paused at 1/9") && told.contains("/state.json` was removed"), "{told}");
    assert_eq!(world.state()["pause"]["cause"], "tampered");
    assert!(world.type_command("ralph", "").context().contains("continues"));
    world.working_stop("three").goes_on();
    // With its end nothing is kept that could bring it back.
    world.type_command("ralph-cancel", "");
    let kept = world.root().join(".ralph-kept/ralph");
    let entry = kept.join("sessions/session-1");
    assert_eq!(walk(&kept), std::slice::from_ref(&entry));
    let text = fs::read_to_string(entry).unwrap();
    assert!(text.contains("/archive/"), "it is told that the loop has ended: {text}");
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

/// What the user or the client does while a loop runs.
const NO_CHANGES: [&str; 17] = [
    "true",
    "touch ~/.claude/settings.json .claude/settings.local.json .claude/ralph.toml",
    "sed -i 's/\"allow\":\\[\\]/\"allow\":[\"Bash(npm test)\"]/' .claude/settings.local.json",
    "sed -i 's/\"a\"/\"b\"/' ~/.claude/settings.json",
    "cp ~/.claude/settings.json x && mv x ~/.claude/settings.json",
    "echo '{\"permissions\":{\"deny\":[]}}' >.claude/settings.json",
    "chmod 600 ~/.claude/settings.json",
    "mkdir -p .claude/agents && echo x >.claude/agents/mine.md",
    "echo x >>tracked",
    "echo x >\"$L/notes.md\"",
    "git -c user.name=t -c user.email=t@e.x commit -qam two",
    "cat \"$L/state.json\" >/dev/null",
    // The client updates a plugin that is enabled.
    "cd ~/.claude/plugins; cp -r cache/m/tools/1.0.0 cache/m/tools/1.1.0; echo x >cache/m/tools/1.1.0/hooks/hooks.json; \
     sed -i s/1.0.0/1.1.0/g installed_plugins.json",
    "mkdir -p ~/.claude/dev-mods ~/.claude/plugins/store; echo '{}' >~/.claude/plugins/store/x.json",
    "echo '{}' >~/.claude/plugins/known_marketplaces.json",
    "mkdir -p ~/.claude/skills/new && echo x >~/.claude/skills/new/SKILL.md",
    "echo more >>~/.claude/skills/mine/SKILL.md; touch ~/.claude/skills/mine/hooks/hooks.json",
];

#[test]
fn what_the_user_and_the_client_do_themselves_pauses_nothing() {
    for line in NO_CHANGES {
        let world = looping();
        shell(&world, line);
        world.working_stop("one").goes_on();
        assert_eq!(world.state()["pause"], json!(null), "{line}");
    }
}

#[test]
fn the_client_tells_of_changed_settings_with_the_hooks_of_before() {
    let world = looping();
    shell(&world, "rm ~/.claude/settings.json");
    let event = json!({"source": "user_settings", "file_path": "x"});
    let told = world.event("ralph-pre-tool-use", "ConfigChange", event).message();
    assert!(told.contains("was removed. If that was not you, undo it; /ralph continues"), "{told}");
    world.event("ralph-pre-tool-use", "ConfigChange", json!({})).silent();
    // The client need not show what this event says.
    let again = world.working_stop("one").message();
    assert!(again.contains("was removed. If that was not you"), "{again}");
    assert_eq!(world.state()["pause"]["told"], json!(true));
}
