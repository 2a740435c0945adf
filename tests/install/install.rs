//! What `ralph install` does to a home.

use crate::world::{World, repository};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;

const SETTINGS: &str = r#"{
    "model": "opus",
    "hooks": {
        "Stop": [ { "hooks": [ { "type": "command", "command": "say done" } ] } ]
    },
    "permissions": { "allow": ["Bash(git status)", "Read"] }
}"#;

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn hooks_are_registered_by_absolute_path_in_exec_form() {
    let world = World::new();
    let said = world.ralph(&["install"]).exit(0).says("registered 14 hooks in 13 events");
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert_eq!(lines.len(), 4, "settings, skills, agents, undo: {lines:#?}");
    assert!(lines[3].starts_with("undo: `ralph uninstall`"), "{lines:#?}");
    let settings = parsed(&world.read("home/.claude/settings.json"));
    let hook = &settings["hooks"]["UserPromptExpansion"][0];
    assert_eq!(
        *hook,
        json!({
            "matcher": "^(ralph:)?(ralph|ralph-plan|ralph-parallel|ralph-cancel|ralph-pause|ralph-v2|ralplan|rp|planloop)$",
            "hooks": [{
                "type": "command",
                "command": world.path("bin/ralph-user-prompt"),
                "args": ["settings"],
                "timeout": 10,
                "onFailure": "block",
            }],
        })
    );
    assert_eq!(settings.get("env"), None);
}

#[test]
fn who_cannot_type_ralph_yet_is_told_what_to_add_to_path() {
    let world = World::new();
    let said = world.ralph(&["install"]).exit(0);
    assert!(!said.stderr.contains("PATH") && !said.stdout.contains("PATH"), "{}", said.stderr);
    let world = World::new().env("PATH", "/usr/bin:/bin");
    let line = format!("export PATH=\"{}:$PATH\"", world.path("bin").display());
    world.ralph(&["install"]).exit(0).says("`ralph` is not on PATH").says(&line);
}

#[test]
fn what_was_in_the_settings_stays_in_its_order_with_its_indentation() {
    let world = World::new().with_settings(SETTINGS);
    world.ralph(&["install"]).exit(0);
    let text = world.read("home/.claude/settings.json");
    for part in [
        "{\n    \"model\": \"opus\",\n    \"hooks\": {\n        \"Stop\": [\n",
        "    \"permissions\": {\n        \"allow\": [\n            \"Bash(git status)\",\n            \"Read\"\n",
    ] {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
    assert!(text.ends_with('}'));
    let stops = &parsed(&text)["hooks"]["Stop"];
    assert_eq!(stops[0], parsed(SETTINGS)["hooks"]["Stop"][0]);
    assert_eq!(stops.as_array().unwrap().len(), 3);
}

#[test]
fn a_second_run_changes_nothing_and_says_so() {
    let world = World::new().with_settings(SETTINGS);
    world.ralph(&["install"]).exit(0);
    let before = (world.snapshot("home"), world.snapshot("state"));
    world.ralph(&["install"]).exit(0).says("already registered, nothing to change");
    assert_eq!((world.snapshot("home"), world.snapshot("state")), before);
}

#[test]
fn a_status_line_is_registered_only_when_it_is_asked_for_and_shows_what_stood_there_first() {
    let world = World::new().with_settings(SETTINGS);
    world.ralph(&["install"]).exit(0);
    assert_eq!(parsed(&world.read("home/.claude/settings.json")).get("statusLine"), None);
    let dry = world.ralph(&["install", "--with", "statusline", "--dry-run"]).exit(0);
    dry.says("would set the status line: ").says("\"statusLine\"");
    world.ralph(&["install", "--with", "statusline"]).exit(0);
    let line = parsed(&world.read("home/.claude/settings.json"))["statusLine"].clone();
    let command = world.path("bin/ralph statusline");
    assert_eq!(line, json!({"type": "command", "command": command, "refreshInterval": 5}));
    // As the client runs it.
    let shown = |command: &str| {
        let mut shell = world.command("/bin/sh");
        shell.args(["-c", &format!("echo '{{\"session_id\":\"S\"}}' | {command}")]);
        let output = shell.env("NO_COLOR", "1").output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    world.ralph(&["start", "--session", "S", "fix it"]).exit(0);
    assert_eq!(shown(command.to_str().unwrap()), "Ralph 0/25 | 0/480 min\n");

    let own = r#"{"statusLine": {"type": "command", "command": "cat | wc -l; echo 'a  \"b\"'"}}"#;
    let world = World::new().with_settings(own);
    world.ralph(&["install", "--with", "statusline"]).exit(0);
    world.ralph(&["start", "--session", "S", "fix it"]).exit(0);
    let settings = parsed(&world.read("home/.claude/settings.json"));
    let mut shell = world.command("/bin/sh");
    let line = settings["statusLine"]["command"].as_str().unwrap();
    shell.args(["-c", &format!("echo '{{\"session_id\":\"S\"}}' | {line}")]);
    let output = shell.env("NO_COLOR", "1").output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(printed, "1\na  \"b\" | Ralph 0/25 | 0/480 min\n");
    assert_eq!(settings["statusLine"]["refreshInterval"], 5);
    world.ralph(&["uninstall"]).exit(0);
    assert_eq!(world.read("home/.claude/settings.json"), own);
}

#[test]
fn a_status_line_that_is_no_command_is_refused_and_nothing_is_changed() {
    let world = World::new().with_settings(r#"{"statusLine": true}"#);
    let before = world.snapshot("");
    let said = world.ralph(&["install", "--with", "statusline"]).exit(3);
    said.says("`statusLine` is not a command").says("nothing was changed");
    assert_eq!(world.snapshot(""), before);
    world.ralph(&["install"]).exit(0);
}

#[test]
fn the_old_settings_are_backed_up_once() {
    let world = World::new().with_settings(SETTINGS);
    world.ralph(&["install"]).exit(0);
    world.ralph(&["install"]).exit(0);
    let backups = world.backups("home/.claude");
    assert_eq!(backups.len(), 1);
    assert_eq!(world.read(&format!("home/.claude/{}", backups[0])), SETTINGS);
}

#[test]
fn a_dry_run_says_everything_and_does_nothing() {
    let world = World::new().with_settings(SETTINGS);
    let before = world.snapshot("");
    let said = world.ralph(&["install", "--dry-run"]).exit(0);
    said.says("would register 14 hooks in 13 events")
        .says("would write 12 skills")
        .says("\n+++ ")
        .says("\"PreToolUse\": [");
    assert_eq!(world.snapshot(""), before);
}

#[track_caller]
fn refuses(settings: &str, expected: &str) {
    let world = World::new().with_settings(settings);
    let before = world.snapshot("");
    world.ralph(&["install"]).exit(3).says(expected).says("nothing was changed");
    assert_eq!(world.snapshot(""), before);
}

#[test]
fn settings_that_cannot_be_parsed_are_refused_with_the_place() {
    refuses("{\n  \"model\": \"opus\"\n  \"a\": 1\n}\n", "line 3, column 3");
}

#[test]
fn settings_with_comments_are_refused_with_the_place() {
    refuses("{\n  // mine\n  \"model\": \"opus\"\n}\n", "line 2, column 3");
}

#[test]
fn hooks_that_are_not_an_object_are_refused() {
    refuses(r#"{"hooks": ["x"]}"#, "`hooks` is not an object");
}

#[test]
fn an_upgrade_from_another_place_replaces_the_paths() {
    let world = World::new();
    world.put_ralph("old");
    for hook in crate::world::HOOKS {
        symlink(world.path("bin").join(hook), world.path("old").join(hook)).unwrap();
    }
    world.run_in("old", &["install"]).exit(0);
    world.ralph(&["install"]).exit(0).says("replace older hooks of Ralph");
    let text = world.read("home/.claude/settings.json");
    assert!(!text.contains("/old/"), "{text}");
    assert_eq!(text.matches("ralph-pre-tool-use").count(), 3, "for three events");
}

#[test]
fn a_missing_hook_executable_is_named_and_nothing_is_registered() {
    let world = World::new();
    fs::remove_file(world.path("bin/ralph-stop-hook")).unwrap();
    let before = world.snapshot("");
    world.ralph(&["install"]).exit(4).says("could not find ralph-stop-hook beside");
    assert_eq!(world.snapshot(""), before);
}

#[test]
fn a_linked_settings_file_is_written_through_and_stays_a_link() {
    let world = World::new();
    world.write("dotfiles/real.json", "{}\n");
    symlink("real.json", world.path("dotfiles/hop.json")).unwrap();
    symlink(world.path("dotfiles/hop.json"), world.settings()).unwrap();
    world.ralph(&["install"]).exit(0);
    assert!(fs::symlink_metadata(world.settings()).unwrap().is_symlink());
    assert!(fs::symlink_metadata(world.path("dotfiles/hop.json")).unwrap().is_symlink());
    assert!(world.read("dotfiles/real.json").contains("ralph-stop-hook"));
    assert_eq!(world.backups("dotfiles"), Vec::<String>::new());
    world.ralph(&["uninstall"]).exit(0);
    assert!(fs::symlink_metadata(world.settings()).unwrap().is_symlink());
    assert_eq!(world.read("dotfiles/real.json"), "{}\n");
}

#[test]
fn a_link_that_leads_nowhere_is_refused() {
    let world = World::new();
    symlink("gone.json", world.settings()).unwrap();
    world.ralph(&["install"]).exit(1).says("a broken link; fix or remove the link");
    assert!(!world.exists("home/.claude/gone.json"));
    assert!(!world.exists("state"));
}

#[test]
fn the_mode_of_the_settings_is_kept() {
    for mode in [0o600, 0o664] {
        let world = World::new().with_settings("{}");
        world.chmod("home/.claude/settings.json", mode);
        world.ralph(&["install"]).exit(0);
        assert_eq!(world.mode("home/.claude/settings.json"), mode);
    }
}

#[test]
fn nothing_temporary_is_left_behind() {
    let world = World::new().with_settings("{}");
    world.ralph(&["install"]).exit(0);
    let temporary = |path: &std::path::PathBuf| path.to_string_lossy().ends_with(".tmp");
    assert!(!world.snapshot("").keys().any(temporary));
}

#[test]
fn skills_are_copied_and_the_record_is_private() {
    let world = World::new();
    world.ralph(&["install"]).exit(0).says("wrote 12 skills").says("wrote 9 agents");
    for skill in ralph_core::protocol::registration::COMMANDS {
        assert!(world.exists(&format!("home/.claude/skills/{skill}/SKILL.md")), "{skill}");
    }
    assert_eq!(world.mode("state"), 0o700);
    assert_eq!(world.mode("state/install.json"), 0o600);
}

#[test]
fn a_skill_that_is_not_ours_is_kept_and_reported() {
    let world = World::new();
    world.write("home/.claude/skills/ralph/SKILL.md", "mine\n");
    world.ralph(&["install"]).exit(0).says("kept skills/ralph/SKILL.md: edited, or not from Ralph");
    assert_eq!(world.read("home/.claude/skills/ralph/SKILL.md"), "mine\n");
    world.ralph(&["uninstall"]).exit(0).says("skills/ralph/SKILL.md` (edited, or not from Ralph)");
    assert_eq!(world.read("home/.claude/skills/ralph/SKILL.md"), "mine\n");
}

#[test]
fn a_skill_of_ours_that_was_edited_is_kept_and_one_that_was_not_is_brought_up_to_date() {
    let world = World::new();
    world.ralph(&["install"]).exit(0);
    world.write("home/.claude/skills/ralph/SKILL.md", "edited\n");
    // As an older version would have left it: the text differs, the record knows it.
    let shipped = world.read("home/.claude/skills/ralph-plan/SKILL.md");
    let older = format!("{shipped}older\n");
    world.write("home/.claude/skills/ralph-plan/SKILL.md", &older);
    let record = world.read("state/install.json");
    world.write("state/install.json", &record.replace(&digest(&shipped), &digest(&older)));
    let said = world.ralph(&["install"]).exit(0).says("kept skills/ralph/SKILL.md");
    said.says("wrote 1 skill");
    assert_eq!(world.read("home/.claude/skills/ralph/SKILL.md"), "edited\n");
    assert_eq!(world.read("home/.claude/skills/ralph-plan/SKILL.md"), shipped);
}

/// With them, each hook would run twice.
#[test]
fn an_installed_skill_carries_no_hooks_and_an_upgrade_takes_them_out() {
    let world = World::new();
    let before = world.snapshot("home");
    world.ralph(&["install"]).exit(0);
    let skill = "home/.claude/skills/ralph/SKILL.md";
    let installed = world.read(skill);
    assert!(installed.starts_with("---\nname: ralph\n") && !installed.contains("\nhooks:"));
    // An earlier version wrote them, with the path of the executables.
    let older = installed.replacen("\n---\n", "\nhooks:\n  Stop:\n    - hooks: []\n---\n", 1);
    assert_ne!(older, installed);
    world.write(skill, &older);
    let record = world.read("state/install.json");
    world.write("state/install.json", &record.replace(&digest(&installed), &digest(&older)));
    world.ralph(&["install"]).exit(0).says("wrote 1 skill");
    assert_eq!(world.read(skill), installed);
    world.ralph(&["uninstall"]).exit(0);
    assert_eq!(world.snapshot("home"), before);
}

#[test]
fn an_upgrade_removes_the_skills_that_this_version_does_not_have() {
    let world = World::new();
    let before = world.snapshot("home");
    world.ralph(&["install"]).exit(0);
    let former = |name: &str| format!("home/.claude/skills/{name}/SKILL.md");
    let text = "---\nname: ralph-build\n---\nDo the task.\n";
    let mut record: Value = serde_json::from_str(&world.read("state/install.json")).unwrap();
    for name in ["ralph-build", "ralph-edited"] {
        world.write(&former(name), text);
        let copied = json!({"path": world.path(&former(name)), "digest": digest(text)});
        record["installs"][0]["files"].as_array_mut().unwrap().push(copied);
    }
    world.write("state/install.json", &record.to_string());
    world.write(&former("ralph-edited"), "mine\n");
    let told = world.ralph(&["install"]).exit(0);
    told.says("skills/ralph-build/SKILL.md`, which Ralph no longer has");
    assert!(!world.exists("home/.claude/skills/ralph-build"));
    assert_eq!(world.read(&former("ralph-edited")), "mine\n");
    world.ralph(&["install"]).exit(0).says("nothing to change");
    std::fs::remove_dir_all(world.path("home/.claude/skills/ralph-edited")).unwrap();
    world.ralph(&["uninstall"]).exit(0);
    assert_eq!(world.snapshot("home"), before);
}

#[test]
fn skills_that_were_copied_by_hand_lose_their_hooks_to_the_settings() {
    let world = World::new();
    let shipped = std::fs::read_to_string(repository().join("skills/ralph/SKILL.md")).unwrap();
    assert!(shipped.contains("\nhooks:"));
    world.write("home/.claude/skills/ralph/SKILL.md", &shipped);
    world.ralph(&["install"]).exit(0).says("wrote 12 skills");
    assert!(!world.read("home/.claude/skills/ralph/SKILL.md").contains("\nhooks:"));
    world.write("home/.claude/skills/ralph/SKILL.md", &shipped);
    let told = world.ralph(&["doctor"]).exit(0);
    told.says("warn  registration: also in the front matter of skills (ralph)");
}

#[test]
fn a_project_gets_its_own_settings() {
    let world = World::new();
    let project = world.path("project");
    world.ralph(&["install", "--project", project.to_str().unwrap()]).exit(0).says("project `");
    assert!(world.read("project/.claude/settings.json").contains("ralph-stop-hook"));
    assert!(world.exists("project/.claude/skills/ralph/SKILL.md"));
    assert!(!world.exists("home/.claude/settings.json"));
    world.ralph(&["install", "--project", "/nowhere/at/all"]).exit(1).says("there is no folder");
}

#[test]
fn another_configuration_folder_is_respected() {
    let world = World::new();
    let folder = world.path("config");
    let world = world.env("CLAUDE_CONFIG_DIR", folder.to_str().unwrap());
    world.ralph(&["install"]).exit(0);
    assert!(world.exists("config/settings.json"));
    assert!(world.exists("config/skills/ralph/SKILL.md"));
    assert!(!world.exists("home/.claude/settings.json"));
}

#[test]
fn the_block_cap_is_written_only_on_request() {
    let world = World::new().with_settings("{\n  \"env\": {\"A\": \"b\"}\n}\n");
    world.ralph(&["install", "--block-cap", "30"]).exit(0).says("set the block cap: 30");
    let settings = parsed(&world.read("home/.claude/settings.json"));
    assert_eq!(settings["env"], json!({"A": "b", "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "30"}));
    world.ralph(&["install"]).exit(0).says("nothing to change");
    world.ralph(&["uninstall"]).exit(0);
    assert_eq!(world.read("home/.claude/settings.json"), "{\n  \"env\": {\"A\": \"b\"}\n}\n");
    world.ralph(&["install", "--block-cap", "many"]).exit(2);
}

#[test]
fn what_workers_begin_from_is_written_only_on_request() {
    let before = "{\n  \"worktree\": {\"sparsePaths\": []}\n}\n";
    let world = World::new().with_settings(before);
    world.ralph(&["install"]).exit(0);
    assert!(!world.read("home/.claude/settings.json").contains("baseRef"));
    let option = ["install", "--with", "worker-base"];
    world.ralph(&option).exit(0).says("start workers from: head");
    let settings = parsed(&world.read("home/.claude/settings.json"));
    assert_eq!(settings["worktree"], json!({"sparsePaths": [], "baseRef": "head"}));
    let again = world.ralph(&option).exit(0).says("nothing to change");
    again.does_not_say("kept your");
    world.ralph(&["install"]).exit(0).says("nothing to change");
    world.ralph(&["uninstall"]).exit(0);
    assert_eq!(world.read("home/.claude/settings.json"), before);
}

#[test]
fn what_a_person_has_said_of_the_workers_base_stays_and_is_said() {
    for theirs in ["head", "fresh"] {
        let before = format!("{{\"worktree\": {{\"baseRef\": \"{theirs}\"}}}}");
        let world = World::new().with_settings(&before);
        let said = world.ralph(&["install", "--with", "worker-base"]).exit(0);
        said.says(&format!("kept your `worktree.baseRef`: \"{theirs}\""));
        let text = world.read("home/.claude/settings.json");
        world.write("home/.claude/settings.json", &format!("{text}\n"));
        world.ralph(&["uninstall"]).exit(0);
        let left = parsed(&world.read("home/.claude/settings.json"));
        assert_eq!(left, parsed(&before));
    }
}

#[test]
fn a_changed_file_loses_the_workers_base_only_if_it_is_still_ours() {
    for (now, left) in
        [("head", json!({"a": 1})), ("fresh", json!({"a": 1, "worktree": {"baseRef": "fresh"}}))]
    {
        let world = World::new().with_settings("{\"a\": 1}");
        world.ralph(&["install", "--with", "worker-base"]).exit(0);
        let text = world.read("home/.claude/settings.json");
        let changed = text.replace("\"head\"", &format!("\"{now}\""));
        world.write("home/.claude/settings.json", &format!("{changed}\n"));
        world.ralph(&["uninstall"]).exit(0);
        assert_eq!(parsed(&world.read("home/.claude/settings.json")), left);
    }
}

#[test]
fn a_dry_run_shows_what_workers_would_begin_from() {
    let world = World::new();
    let said = world.ralph(&["install", "--dry-run", "--with", "worker-base"]).exit(0);
    said.says("would start workers from: head").says("\"baseRef\": \"head\"");
    assert!(!world.exists("home/.claude/settings.json"));
}

#[test]
fn it_is_offered_on_a_terminal_where_there_is_a_remote_and_nothing_is_said_of_it() {
    const OFFER: &str = "ralph install --with worker-base`";
    let world = World::new();
    world.git(&["init", "-q"]);
    world.ralph_on_a_terminal(&["install"]).exit(0).does_not_say(OFFER);
    world.git(&["remote", "add", "origin", "/nowhere"]);
    world.ralph(&["install"]).exit(0).does_not_say(OFFER);
    world.ralph_on_a_terminal(&["install"]).exit(0).says(OFFER);
    assert!(!world.read("home/.claude/settings.json").contains("baseRef"));
    let project = world.path("project");
    let project = project.to_str().unwrap();
    let said = world.ralph_on_a_terminal(&["install", "--project", project]).exit(0);
    said.says(&format!("ralph install --project '{project}' --with worker-base`"));
    world.write("project/.claude/settings.local.json", r#"{"worktree": {"baseRef": "fresh"}}"#);
    world.ralph_on_a_terminal(&["install"]).exit(0).does_not_say(OFFER);
}

const SANDBOXED: &str = r#"{"sandbox": {"enabled": true}}"#;

#[test]
fn where_the_users_sandbox_is_on_ralph_asks_on_a_terminal_whether_its_commands_may_run_outside() {
    for (typed, is_written) in [("y\n", true), ("yes\n", true), ("\n", false), ("n\n", false)] {
        let world = World::new().with_settings(SANDBOXED);
        let said = world.ralph_that_is_told(typed, &["install"]).exit(0);
        let said = said.says("Add `\"excludedCommands\": [\"ralph *\"]` to `").says("[y/N]");
        let offered = said.stdout.contains("`ralph install --with sandbox` lets");
        assert_eq!(offered, !is_written, "{}", said.stdout);
        let settings = parsed(&world.read("home/.claude/settings.json"));
        let expected = if is_written { json!(["ralph *"]) } else { Value::Null };
        assert_eq!(settings["sandbox"]["excludedCommands"], expected, "{typed:?}");
        assert_eq!(settings["sandbox"]["enabled"], true);
        let again = world.ralph_that_is_told("", &["install"]).exit(0);
        assert_eq!(again.stdout.contains("[y/N]"), !is_written, "{}", again.stdout);
        world.ralph(&["uninstall"]).exit(0);
        assert_eq!(world.read("home/.claude/settings.json"), SANDBOXED);
    }
}

#[test]
fn a_client_whose_sandbox_a_line_with_ralph_leaves_is_not_told_to_let_ralph_out() {
    let world = World::new().with_settings(SANDBOXED).env("FAKE_CLIENT_VERSION", "2.1.299");
    let said = world.ralph(&["install", "--with", "sandbox"]).exit(4);
    said.says("2.1.299 is too old for rounds in the client's sandbox").says("`claude update`");
    assert_eq!(fs::read_to_string(world.settings()).unwrap(), SANDBOXED);
    let said = world.ralph_that_is_told("y\n", &["install"]);
    assert!(!said.stdout.contains("[y/N]"), "{}", said.stdout);
    assert!(!world.read("home/.claude/settings.json").contains("excludedCommands"));
}

#[test]
fn without_a_terminal_the_command_for_the_sandbox_is_printed_and_the_doctor_names_it() {
    let world = World::new().with_settings(SANDBOXED);
    let said = world.ralph(&["install"]).exit(0);
    said.says("`ralph install --with sandbox` lets a plain `ralph` line run outside");
    assert!(!world.read("home/.claude/settings.json").contains("excludedCommands"));
    let said = world.ralph(&["doctor"]);
    said.says("warn  sandbox: ").says("run `ralph install --with sandbox`");
    // Neither a trial nor a repair answers in the user's place.
    let dry = world.ralph_that_is_told("y\n", &["install", "--dry-run"]).exit(0);
    dry.does_not_say("[y/N]");
    world.ralph_that_is_told("y\n", &["doctor", "--fix"]).does_not_say("[y/N]");
    assert!(!world.read("home/.claude/settings.json").contains("excludedCommands"));
    let dry = world.ralph(&["install", "--dry-run", "--with", "sandbox"]).exit(0);
    dry.says("would let run outside of the client's sandbox: ralph *").says("\"excludedCommands\"");
    world.ralph(&["install", "--with", "sandbox"]).exit(0).does_not_say("--with sandbox");
    world.ralph(&["doctor"]).says("ok    sandbox: ").does_not_say("excludedCommands");
}

#[test]
fn for_a_project_the_command_names_it_and_without_a_sandbox_nothing_is_said() {
    let world = World::new();
    world.ralph_on_a_terminal(&["install"]).exit(0).does_not_say("sandbox");
    world.ralph(&["uninstall"]).exit(0);
    world.write("project/.claude/settings.local.json", SANDBOXED);
    let project = world.path("project");
    let project = project.to_str().unwrap();
    let said = world.ralph(&["install", "--project", project]).exit(0);
    let command = format!("`ralph install --project '{project}' --with sandbox`");
    said.says(&command);
    world.ralph(&["doctor"]).says(&format!("run {command}"));
    world.ralph(&["uninstall", "--project", project]).exit(0);
    let by_hand = "add `\"excludedCommands\": [\"ralph *\"]` below `\"sandbox\"`";
    world.ralph(&["doctor"]).says(by_hand);
}

#[test]
fn exceptions_of_the_sandbox_that_are_no_list_are_refused_and_nothing_is_changed() {
    for (text, why) in [
        (r#"{"sandbox": true}"#, "`sandbox` is not an object"),
        (r#"{"sandbox": {"excludedCommands": "x"}}"#, "`sandbox.excludedCommands` is not a list"),
    ] {
        let world = World::new().with_settings(text);
        world.ralph(&["install", "--with", "sandbox"]).exit(3).says(why);
        assert_eq!(world.read("home/.claude/settings.json"), text);
    }
}

#[test]
fn a_session_with_a_live_loop_may_neither_install_nor_uninstall() {
    let world = World::new();
    let session = "11111111-2222-3333-4444-555555555555";
    crate::doctor::put_state(&world, "loop-1", session, "implementation");
    let world = world.env("CLAUDE_CODE_SESSION_ID", session);
    world.ralph(&["install"]).exit(1).says("in another terminal");
    world.ralph(&["uninstall"]).exit(1).says("in another terminal");
    assert!(!world.exists("home/.claude/settings.json"));
    crate::doctor::put_state(&world, "loop-1", session, "ended");
    world.ralph(&["install"]).exit(0);
}

fn digest(text: &str) -> String {
    ralph_core::text::hex::sha256(text)
}

#[test]
fn a_reader_that_stops_reading_does_not_stop_the_installation() {
    let world = World::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = world.command(world.path("bin/ralph"));
    let output = command.arg("install").stdout(writer).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(output.status.success());
    assert!(world.read("home/.claude/settings.json").contains("ralph-stop-hook"));
}
