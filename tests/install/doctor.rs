//! What `ralph doctor` says of a home that is well, and of each breakage.

use crate::world::{Said, World, fixture};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;

/// A state file and the manifest entry that leads to it.
pub(crate) fn put_state(world: &World, loop_id: &str, session: &str, phase: &str) {
    let project = world.path("project");
    let state = json!({
        "schema_version": 1, "loop_id": loop_id, "session_id": session, "mode": "loop",
        "phase": phase, "project_root": project, "prompt": "p", "max_iterations": 5, "iteration": 1,
        "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
    });
    let path = format!("state/loops/{loop_id}/state.json");
    world.write(&path, &state.to_string());
    let entry = format!("{}\n", world.path(&path).display());
    world.write(&format!("state/manifest/{session}"), &entry);
    for folder in ["state", "state/loops", "state/manifest"] {
        world.chmod(folder, 0o700);
    }
    world.chmod(&path, 0o600);
    world.chmod(&format!("state/manifest/{session}"), 0o600);
}

/// A fresh installation with one loop that runs.
fn installed() -> World {
    let world = World::new();
    world.ralph(&["install"]).exit(0);
    put_state(&world, "loop-1", "session-1", "implementation");
    world
}

#[track_caller]
fn fails(world: &World, expected: &str) -> Said {
    world.ralph(&["doctor"]).exit(1).says(expected).does_not_say("all is well")
}

/// Replaces an executable by a script. The script is a file of the repository that reads the body:
/// a file just written may still be open in a sibling's child, and could then not be started.
fn replace_by_script(world: &World, name: &str, body: &str) {
    fs::remove_file(world.path(name)).unwrap();
    world.write(&format!("{name}.body"), body);
    symlink(fixture("scripted-hook"), world.path(name)).unwrap();
}

#[test]
fn a_fresh_installation_is_well() {
    let said = installed().ralph(&["doctor"]).exit(0);
    let said = said.says("ok    executables: `ralph` and 5 hooks");
    let said = said.says("ok    registration: 13 hooks in the user settings");
    let said = said.says("ok    firing: 13 of 13 registered hooks answered, slowest ");
    let said = said.says("ok    loops: 1 stored, 1 live, all readable");
    let said = said.says("ok    client: `claude` 2.1.328 (Claude Code)");
    assert!(said.stdout.ends_with("all is well\n"), "{}", said.stdout);
    assert_eq!(said.stderr, "");
}

#[test]
fn before_the_first_loop_it_is_well_too() {
    let world = World::new();
    world.ralph(&["install"]).exit(0);
    fs::remove_dir_all(world.path("state")).unwrap();
    world.ralph(&["doctor"]).exit(0).says("is not there yet");
    assert!(!world.exists("state"));
}

#[test]
fn a_missing_executable_is_named() {
    let world = installed();
    fs::remove_file(world.path("bin/ralph-stop-hook")).unwrap();
    let said = fails(&world, "FAIL  executables: `ralph-stop-hook` in `");
    said.says("FAIL  firing: Stop hook `").says("does not start");
}

#[test]
fn an_executable_that_cannot_run_is_named() {
    let world = installed();
    fs::remove_file(world.path("bin/ralph-stop-hook")).unwrap();
    world.write("bin/ralph-stop-hook", "");
    world.chmod("bin/ralph-stop-hook", 0o644);
    fails(&world, "`ralph-stop-hook` in").says("is not executable");
}

#[test]
fn an_unregistered_hook_is_named() {
    let world = installed();
    let mut settings: Value =
        serde_json::from_str(&world.read("home/.claude/settings.json")).unwrap();
    settings["hooks"].as_object_mut().unwrap().remove("PreToolUse");
    world.write("home/.claude/settings.json", &settings.to_string());
    fails(&world, "FAIL  registration: not registered in the user settings")
        .says(": PreToolUse (ralph-pre-tool-use); run `ralph install`");
}

#[test]
fn an_entry_that_would_hold_every_stop_is_named() {
    let world = installed();
    let text = world.read("home/.claude/settings.json");
    let held = text.replacen("\"asyncRewake\": true", "\"asyncRewake\": false", 1);
    assert_ne!(held, text);
    world.write("home/.claude/settings.json", &held);
    fails(&world, "Stop (ralph-stop-hook wait) is registered without `asyncRewake`");
    world.ralph(&["install"]).exit(0).says("replace our older hooks: Stop");
    world.ralph(&["doctor"]).exit(0);
}

#[test]
fn an_installation_from_before_the_entry_that_wakes_lacks_it() {
    let world = installed();
    let mut settings: Value =
        serde_json::from_str(&world.read("home/.claude/settings.json")).unwrap();
    settings["hooks"]["Stop"].as_array_mut().unwrap().pop();
    world.write("home/.claude/settings.json", &settings.to_string());
    fails(&world, ": Stop (ralph-stop-hook wait); run `ralph install`");
}

#[test]
fn a_hook_that_leaves_occasions_out_is_named() {
    let world = installed();
    let text = world.read("home/.claude/settings.json");
    let narrowed = text.replacen("\"matcher\": \"*\"", "\"matcher\": \"Bash\"", 1);
    assert_ne!(narrowed, text);
    world.write("home/.claude/settings.json", &narrowed);
    fails(&world, "PreToolUse (ralph-pre-tool-use) is only for `Bash`, not for `*`");
    world.ralph(&["install"]).exit(0).says("replace our older hooks: PreToolUse");
    world.ralph(&["doctor"]).exit(0);
}

#[test]
fn with_no_registration_at_all_it_says_that_no_loop_is_enforced() {
    fails(&World::new(), "FAIL  registration: no hook is registered");
}

#[test]
fn a_state_folder_that_others_can_enter_is_named() {
    let world = installed();
    world.chmod("state", 0o755);
    fails(&world, "FAIL  state folder: `").says("has mode 0755").says("run `chmod 700 ");
}

#[test]
fn a_folder_inside_that_others_can_write_is_named() {
    let world = installed();
    world.chmod("state/manifest", 0o777);
    fails(&world, "state/manifest` can be written by others");
}

#[test]
fn a_corrupt_state_is_named_with_its_good_copy() {
    let world = installed();
    let good = world.read("state/loops/loop-1/state.json");
    world.write("state/loops/loop-1/state.json", &good[..40]);
    fails(&world, "loops/loop-1/state.json` is broken (").says("there is no good copy");
    world.write("state/loops/loop-1/state.json.last-good", &good);
    fails(&world, "went on with the last good copy; the loop's next event mends it");
}

#[test]
fn a_state_of_a_newer_ralph_is_named_and_left_alone() {
    let world = installed();
    let newer = "{\"schema_version\": 99, \"phase\": [\"new shape\"]}";
    world.write("state/loops/loop-1/state.json", newer);
    fails(&world, "was written by a newer Ralph (schema 99); it was left alone: update Ralph");
    assert_eq!(world.read("state/loops/loop-1/state.json"), newer);
}

#[test]
fn a_manifest_entry_that_leads_nowhere_is_named() {
    let world = installed();
    world.write("state/manifest/session-2", "/nowhere/state.json\n");
    world.ralph(&["doctor"]).exit(0).says("warn  loops: `").says("session-2` leads to no loop");
}

#[test]
fn a_client_that_is_too_old_is_named_with_what_it_lacks() {
    let world = installed().env("FAKE_CLIENT_VERSION", "2.1.100");
    fails(&world, "FAIL  client: `claude` 2.1.100 (Claude Code) is older than 2.1.139")
        .says("update Claude Code");
    let world = world.env("FAKE_CLIENT_VERSION", "2.1.150");
    world.ralph(&["doctor"]).exit(0).says("warn  client: ").says("older than 2.1.163");
}

#[test]
fn a_missing_client_is_named_and_another_can_be_given() {
    let world = installed();
    fs::rename(world.path("bin/claude"), world.path("bin/other-claude")).unwrap();
    fails(&world, "could not start `claude`").says("name it in RALPH_CLAUDE");
    world.env("RALPH_CLAUDE", "other-claude").ralph(&["doctor"]).exit(0).says("`other-claude` 2.1");
}

#[test]
fn exactly_the_registered_string_is_fired() {
    let world = installed();
    let text = world.read("home/.claude/settings.json");
    let bin = world.path("bin");
    // In exec form the client expands nothing: this looks right and never runs.
    let tilde =
        text.replace(&format!("{}/ralph-stop-hook", bin.display()), "~/bin/ralph-stop-hook");
    world.write("home/.claude/settings.json", &tilde);
    fails(&world, "FAIL  firing: Stop hook `~/bin/ralph-stop-hook settings` does not start");
    // A relative path breaks after the first `cd`.
    let relative = text.replace(&format!("{}/", bin.display()), "../bin/");
    world.write("home/.claude/settings.json", &relative);
    fails(&world, "FAIL  firing: PreToolUse hook `../bin/ralph-pre-tool-use settings`");
}

#[test]
fn a_hook_gets_the_event_and_its_arguments() {
    let world = installed();
    let out = world.path("fired");
    let body = format!("cat >> '{0}'; echo \"$*\" >> '{0}'", out.display());
    replace_by_script(&world, "bin/ralph-pre-tool-use", &body);
    world.ralph(&["doctor"]).exit(0);
    let fired = world.read("fired");
    assert!(fired.contains("\"hook_event_name\":\"PreToolUse\""), "{fired}");
    assert!(fired.contains("\"session_id\":\"ralph-doctor-"), "{fired}");
    assert!(fired.ends_with("}\nsettings\n"), "{fired}");
}

#[test]
fn a_hook_that_meddles_with_a_session_without_a_loop_is_named() {
    let world = installed();
    replace_by_script(&world, "bin/ralph-stop-hook", "echo '{\"decision\":\"block\"}'");
    fails(&world, "Stop hook `").says("meddles with a session that has no loop");
}

#[test]
fn a_hook_that_crashes_is_named() {
    let world = installed();
    replace_by_script(&world, "bin/ralph-backpressure", "echo oh no >&2; exit 3");
    fails(&world, "PostToolUse hook `").says("ended with exit code 3: oh no");
}

#[test]
fn hooks_that_are_switched_off_are_named() {
    let world = installed();
    world.write("project/.claude/settings.local.json", "{\"disableAllHooks\": true}");
    fails(&world, "FAIL  hooks enabled: `disableAllHooks` is true in `")
        .says("settings.local.json`");
}

#[test]
fn settings_that_cannot_be_read_are_named() {
    let world = installed();
    world.write("project/.claude/settings.json", "{ oops");
    fails(&world, "FAIL  settings: the project settings `").says("is not valid JSON");
}

#[test]
fn settings_and_plugin_together_are_mentioned() {
    let world = installed();
    let enabled = "{\"enabledPlugins\": {\"ralph@somewhere\": true, \"other@x\": true}}";
    world.write("project/.claude/settings.json", enabled);
    world
        .ralph(&["doctor"])
        .exit(0)
        .says("warn  registration: plugin `ralph@somewhere` and settings");
}

#[test]
fn front_matter_alone_is_mentioned_with_what_it_lacks() {
    let world = World::new();
    let hooks =
        ralph_core::registration::skill_front_matter(ralph_core::registration::Location::Path);
    let skill = format!("---\nname: ralph\n{hooks}---\nbody\n");
    world.write("home/.claude/skills/ralph/SKILL.md", &skill);
    world
        .ralph(&["doctor"])
        .exit(0)
        .says("warn  registration: only in the front matter")
        .says("--resume");
}

#[test]
fn two_places_registered_at_once_are_named() {
    let world = installed();
    let text = world.read("home/.claude/settings.json");
    let other = text.replace(&format!("{}/", world.path("bin").display()), "");
    world.write("project/.claude/settings.json", &other);
    fails(&world, "is registered in 2 ways (").says("count more than once");
    // The same words in both files are started once by the client.
    world.write("project/.claude/settings.json", &text);
    world.ralph(&["doctor"]).exit(0);
}

#[test]
fn the_block_cap_is_shown() {
    let world = installed();
    world.ralph(&["doctor"]).says("ok    block cap: CLAUDE_CODE_STOP_HOOK_BLOCK_CAP is not set");
    world.ralph(&["install", "--block-cap", "30"]).exit(0);
    world.ralph(&["doctor"]).says("ok    block cap: CLAUDE_CODE_STOP_HOOK_BLOCK_CAP is 30");
    world.ralph(&["install", "--block-cap", "1"]).exit(0);
    world
        .ralph(&["doctor"])
        .exit(0)
        .says("warn  block cap: CLAUDE_CODE_STOP_HOOK_BLOCK_CAP is 1: ");
}

#[test]
fn two_live_loops_in_one_work_tree_are_mentioned() {
    let world = installed();
    put_state(&world, "loop-2", "session-2", "paused");
    put_state(&world, "loop-3", "session-3", "ended");
    world.ralph(&["doctor"]).exit(0).says("warn  work trees: loops loop-1, loop-2 all work in `");
}

#[test]
fn what_workers_begin_from_is_shown_where_there_is_a_remote() {
    let world = installed();
    world.git(&["init", "-q"]);
    world.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    world.ralph(&["doctor"]).exit(0).does_not_say("worker base");
    world.git(&["remote", "add", "origin", "/nowhere"]);
    let said = world.ralph(&["doctor"]).exit(0);
    said.says("warn  worker base: workers begin from the branch of `origin` and see no commit that is not pushed; run `");
    world.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    world.git(&["commit", "-q", "--allow-empty", "-m", "second"]);
    let said = world.ralph(&["doctor"]).exit(0);
    said.says("; `origin/main` lacks 1 commit of yours; run `ralph install --worker-base head`");
    world.ralph(&["install", "--worker-base", "head"]).exit(0);
    let said = world.ralph(&["doctor"]).exit(0);
    said.says("ok    worker base: `worktree.baseRef` is `head` in `").says("all is well");
    world.write("project/.claude/settings.json", r#"{"worktree": {"baseRef": "fresh"}}"#);
    let said = world.ralph(&["doctor"]).exit(0);
    said.says("project/.claude/settings.json`: write `head` there");
}

#[test]
fn work_trees_that_workers_have_left_are_named() {
    let world = installed();
    world.git(&["init", "-q"]);
    world.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    for n in 1..=6 {
        world.git(&["worktree", "add", "-q", &format!(".claude/worktrees/agent-{n}")]);
    }
    let said = world.ralph(&["doctor"]).exit(0);
    let said = said.says("warn  work trees: workers have left 6 in `");
    let said = said.says(": agent-1, agent-2, agent-3, agent-4, agent-5 and 1 more; look at each");
    let folder = world.path("project/.claude/worktrees");
    said.says(&format!("`git worktree remove '{}/NAME'`", folder.display()));
}

#[test]
fn the_report_for_scripts_is_one_document() {
    let world = installed().env("FAKE_CLIENT_VERSION", "2.0.0");
    let said = world.ralph(&["doctor", "--json"]).exit(1);
    let report: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!((&report["schema_version"], &report["well"]), (&json!(1), &json!(false)));
    let client =
        report["checks"].as_array().unwrap().iter().find(|check| check["name"] == "client");
    assert_eq!(client.unwrap()["verdict"], "fail");
    assert_eq!(client.unwrap()["cure"], "update Claude Code");
}

#[test]
fn it_changes_nothing() {
    let world = installed();
    let before = world.snapshot("");
    world.ralph(&["doctor"]).exit(0);
    assert_eq!(world.snapshot(""), before);
}
