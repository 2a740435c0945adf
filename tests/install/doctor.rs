//! What `ralph doctor` says of a home that is well, and of each breakage.

use crate::world::{CommandResult, World, fixture, repository, said};
use ralph_core::protocol::client_version::ClientFeature;
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
fn fails(world: &World, expected: &str) -> CommandResult {
    world.ralph(&["doctor"]).exit(1).says(expected).does_not_say("all is well")
}

/// Replaces an executable by a script. The script is a file of the repository that reads the body:
/// a file just written may still be open in a sibling's child, and could then not be started.
fn replace_by_script(world: &World, name: &str, body: &str) {
    fs::remove_file(world.path(name)).unwrap();
    world.write(&format!("{name}.body"), body);
    symlink(fixture("scripted-hook"), world.path(name)).unwrap();
}

/// As in WSL, which puts the folders of Windows on PATH.
#[test]
fn folders_of_windows_on_path_disturb_nothing() {
    let windows = "mnt/c/Program Files (x86)/Tools";
    let world = World::new();
    for name in ["ralph.exe", "git.exe", "claude.cmd"] {
        world.write(&format!("{windows}/{name}"), "MZ");
        world.chmod(&format!("{windows}/{name}"), 0o777);
    }
    let bin = world.path("bin").display().to_string();
    let path = format!("{}:{bin}:/usr/bin:/bin", world.path(windows).display());
    let world = world.env("PATH", &path);
    world.ralph(&["install"]).exit(0).does_not_say("PATH");
    world.ralph(&["doctor"]).exit(0).says("14 of 14").says("all is well");
    // The plugin of a copy of the repository looks for the executables itself.
    let hook = repository().join("bin/ralph-stop-hook");
    assert_eq!(said(&world.command(hook).output().unwrap()).exit(0).stderr, "");
}

#[test]
fn a_fresh_installation_is_well() {
    let said = installed().ralph(&["doctor"]).exit(0);
    let said = said.says("ok    executables: `ralph` and 5 hooks");
    let said = said.says("ok    registration: 14 hooks in the user settings");
    let said = said.says("ok    firing: 14 of 14 registered hooks answered, slowest ");
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
    world.ralph(&["doctor"]).exit(0).says("does not exist yet");
    assert!(!world.exists("state"));
}

#[test]
fn a_missing_executable_is_named() {
    let world = installed();
    fs::remove_file(world.path("bin/ralph-stop-hook")).unwrap();
    let said = fails(&world, "FAIL  executables: `ralph-stop-hook` in `").says("` is missing");
    // What registers it has the same cause.
    said.says("ok    firing: 9 of 14 registered hooks answered").says("\n1 problem to fix\n");
    fs::remove_file(world.path("bin/ralph-backpressure")).unwrap();
    fails(&world, "FAIL  executables: `ralph-backpressure`, `ralph-stop-hook` in `");
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
    fails(&world, "FAIL  registration: in the user settings `")
        .says("not as this version registers them: PreToolUse; run `ralph install`");
}

#[test]
fn an_entry_that_would_hold_every_stop_is_named() {
    let world = installed();
    let text = world.read("home/.claude/settings.json");
    let held = text.replacen("\"asyncRewake\": true", "\"asyncRewake\": false", 1);
    assert_ne!(held, text);
    world.write("home/.claude/settings.json", &held);
    fails(&world, "not as this version registers them: Stop; run `ralph install`");
    world.ralph(&["install"]).exit(0).says("replace older hooks of Ralph: Stop");
    world.ralph(&["doctor"]).exit(0);
}

#[test]
fn an_installation_from_before_the_entry_that_wakes_lacks_it() {
    let world = installed();
    let mut settings: Value =
        serde_json::from_str(&world.read("home/.claude/settings.json")).unwrap();
    settings["hooks"]["Stop"].as_array_mut().unwrap().pop();
    world.write("home/.claude/settings.json", &settings.to_string());
    fails(&world, "not as this version registers them: Stop; run `ralph install`");
}

#[test]
fn a_hook_that_leaves_occasions_out_is_named() {
    let world = installed();
    let text = world.read("home/.claude/settings.json");
    let narrowed = text.replacen("\"matcher\": \"*\"", "\"matcher\": \"Bash\"", 1);
    assert_ne!(narrowed, text);
    world.write("home/.claude/settings.json", &narrowed);
    fails(&world, "not as this version registers them: PreToolUse; run `ralph install`");
    world.ralph(&["install"]).exit(0).says("replace older hooks of Ralph: PreToolUse");
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
    fails(&world, "used the last good copy; the loop's next event restores it");
}

#[test]
fn a_state_of_a_newer_ralph_is_named_and_left_alone() {
    let world = installed();
    let newer = "{\"schema_version\": 99, \"phase\": [\"new shape\"]}";
    world.write("state/loops/loop-1/state.json", newer);
    fails(&world, "was written by a newer Ralph (schema 99); it was left unchanged: update Ralph");
    assert_eq!(world.read("state/loops/loop-1/state.json"), newer);
}

#[test]
fn a_manifest_entry_that_leads_nowhere_is_named() {
    let world = installed();
    let nowhere = world.path("nowhere/state.json");
    world.write("state/manifest/session-2", &format!("{}\n", nowhere.display()));
    world.ralph(&["doctor"]).exit(0).says("warn  loops: `").says("session-2` points to no loop");
}

#[test]
fn a_client_that_is_too_old_is_named_with_what_it_lacks() {
    let world = installed().env("FAKE_CLIENT_VERSION", "2.1.100");
    let floor = ClientFeature::Conversation.row().since;
    fails(&world, &format!("FAIL  client: `claude` 2.1.100 (Claude Code) is older than {floor}"))
        .says("`claude update`");
    let world = world.env("FAKE_CLIENT_VERSION", &floor.to_string());
    world.ralph(&["doctor"]).exit(0).says("warn  client: ").says("above its hook (since 2.1.");
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
    fails(&world, "FAIL  firing: Stop hook `~/bin/ralph-stop-hook settings`, Stop hook `")
        .says("does not start (could not start `~/bin/ralph-stop-hook`");
    // A relative path breaks after the first `cd`.
    let relative = text.replace(&format!("{}/", bin.display()), "../bin/");
    world.write("home/.claude/settings.json", &relative);
    fails(&world, "FAIL  firing: PreToolUse hook `../bin/ralph-pre-tool-use settings`, ");
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
    fails(&world, "Stop hook `").says("interferes with a session that has no loop");
}

#[test]
fn a_hook_that_crashes_is_named() {
    let world = installed();
    replace_by_script(&world, "bin/ralph-backpressure", "echo oh no >&2; exit 3");
    fails(&world, "FAIL  executables: `ralph-backpressure` in `").says("exit code 3: oh no");
    let body = "[ \"${1-}\" = --version ] || { echo oh no >&2; exit 3; }";
    replace_by_script(&world, "bin/ralph-backpressure", body);
    let said = fails(&world, "FAIL  firing: PostToolUse hook `");
    said.says(", PostToolUseFailure hook `").says("ended with exit code 3: oh no");
}

#[test]
fn hooks_that_are_switched_off_are_named() {
    let world = installed();
    world.write("project/.claude/settings.local.json", "{\"disableAllHooks\": true}");
    fails(&world, "FAIL  hooks enabled: `disableAllHooks` is true in the local settings `")
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
    let hooks = crate::example::skill_front_matter();
    let skill = format!("---\nname: ralph\n{hooks}---\nbody\n");
    world.write("home/.claude/skills/ralph/SKILL.md", &skill);
    world
        .ralph(&["doctor"])
        .exit(0)
        .says("warn  registration: only in the front matter")
        .says("--resume");
}

/// Each leaves a trace where it was started.
#[test]
fn what_is_not_ours_is_never_started() {
    let world = installed();
    let trace = world.path("started");
    let script = format!("#!/bin/sh\necho \"$0\" >> '{}'\n", trace.display());
    for name in ["theirs/their-hook", "project/ralph-stop-hook"] {
        world.write(name, &script);
        world.chmod(name, 0o755);
    }
    let theirs = world.path("theirs/their-hook").display().to_string();
    let beside = world.path("project/ralph-stop-hook").display().to_string();
    let settings = json!({"hooks": {"PreCompact": [{"hooks": [
        {"type": "command", "command": format!("ralph-session-context $({theirs}) settings")},
        {"type": "command", "command": beside, "args": ["settings"]},
        {"type": "command", "command": theirs, "args": ["settings"]},
    ]}]}});
    world.write("project/.claude/settings.json", &settings.to_string());
    let said = world.ralph(&["doctor"]);
    assert!(!trace.exists(), "{}", world.read("started"));
    let said = said.says("was not started: it is a shell line, and `ralph install` writes none");
    let said =
        said.says("was not started: it is in the project, whose programs doctor does not start");
    assert!(!said.stdout.lines().any(|line| line == "all is well"), "{}", said.stdout);
    assert_eq!(said.stdout.matches("was not started").count(), 2, "{}", said.stdout);
}

#[test]
fn two_places_registered_at_once_are_named() {
    let world = installed();
    let text = world.read("home/.claude/settings.json");
    let other = text.replace(&format!("{}/", world.path("bin").display()), "");
    world.write("project/.claude/settings.json", &other);
    fails(&world, "hooks of several folders (`").says("count more than once");
    // The same words in both files are started once by the client.
    world.write("project/.claude/settings.json", &text);
    world.ralph(&["doctor"]).exit(0);
}

#[test]
fn the_block_cap_is_shown() {
    let world = installed();
    world.ralph(&["doctor"]).says("ok    block cap: CLAUDE_CODE_STOP_HOOK_BLOCK_CAP is not set");
    world.ralph(&["install", "--block-cap", "30"]).exit(0);
    world
        .ralph(&["doctor"])
        .says("ok    block cap: CLAUDE_CODE_STOP_HOOK_BLOCK_CAP is 30 in the user settings");
    world.ralph(&["install", "--block-cap", "1"]).exit(0);
    world
        .ralph(&["doctor"])
        .exit(0)
        .says("warn  block cap: CLAUDE_CODE_STOP_HOOK_BLOCK_CAP is 1 in the user settings: ");
}

#[test]
fn two_live_loops_in_one_work_tree_are_mentioned() {
    let world = installed();
    put_state(&world, "loop-2", "session-2", "paused");
    put_state(&world, "loop-3", "session-3", "ended");
    world.ralph(&["doctor"]).exit(0).says("warn  work trees: loops loop-1, loop-2 share `");
}

#[test]
fn what_workers_begin_from_is_shown_where_there_is_a_remote() {
    let world = installed();
    world.git(&["init", "-q"]);
    world.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    world.ralph(&["doctor"]).exit(0).does_not_say("worker base");
    world.git(&["remote", "add", "origin", "/nowhere"]);
    let said = world.ralph(&["doctor"]).exit(0);
    said.says("warn  worker base: workers of /ralph-parallel begin from the branch of `origin` and do not see unpushed commits; run `");
    world.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    world.git(&["commit", "-q", "--allow-empty", "-m", "second"]);
    let said = world.ralph(&["doctor"]).exit(0);
    said.says("; `origin/main` lacks 1 commit of yours; run `ralph install --with worker-base`");
    world.ralph(&["install", "--with", "worker-base"]).exit(0);
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
    let said = said.says("warn  work trees: workers left 6 in `");
    let said = said.says(": agent-1, agent-2, agent-3, agent-4, agent-5 and 1 more; look at each");
    let folder = world.path("project/.claude/worktrees");
    said.says(&format!("`git worktree remove '{}/NAME'`", folder.display()));
}

#[test]
fn of_the_work_trees_that_are_left_those_that_are_merged_are_taken_away() {
    let world = installed();
    world.git(&["init", "-q"]);
    world.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    let worker = |name: &str| {
        let branch = format!("worktree-{name}");
        let folder = format!(".claude/worktrees/{name}");
        world.git(&["worktree", "add", "-q", "-b", &branch, &folder]);
        world.write(&format!("project/{folder}/{name}.txt"), "work");
        world.git(&["-C", &folder, "add", "-A"]);
        world.git(&["-C", &folder, "commit", "-q", "-m", name]);
        let head = world.path(&format!("project/.git/refs/heads/{branch}"));
        let commit = fs::read_to_string(head).unwrap().trim().to_owned();
        json!({"call": name, "kind": "ralph-worker", "task": name, "standing": "done",
            "worktree": world.path(&format!("project/{folder}")), "branch": branch,
            "files": [format!("{name}.txt")], "commit": commit, "merged": ""})
    };
    let (mut merged, left) = (worker("agent-1"), worker("agent-2"));
    world.git(&["merge", "-q", "--no-ff", "-m", "merge", "worktree-agent-1"]);
    merged["merged"] = merged["commit"].clone();
    change_state(&world, "loop-1", |state| state["workers"] = json!([merged, left]));
    let said = world.ralph(&["doctor"]).exit(0);
    said.says("workers left 2 in `").says("(or run `ralph doctor --fix`)");
    let said = world.ralph(&["doctor", "--fix"]).exit(0);
    let said = said.says("fixed work trees: removed what is merged: ").says("workers left 1 in `");
    said.says(": agent-2; look at it").does_not_say("agent-2 (`ralph doctor");
    assert!(!world.exists("project/.claude/worktrees/agent-1"));
    assert!(world.exists("project/.claude/worktrees/agent-2/agent-2.txt"));
}

/// A process that has ended, as a state names the client.
fn gone() -> Value {
    json!({"pid": 4_000_000, "started": "1"})
}

/// Makes the state of a loop say something else.
fn change_state(world: &World, loop_id: &str, change: impl FnOnce(&mut Value)) {
    let path = format!("state/loops/{loop_id}/state.json");
    let mut state: Value = serde_json::from_str(&world.read(&path)).unwrap();
    change(&mut state);
    world.write(&path, &state.to_string());
    // Which would tell that something else than Ralph wrote it.
    let _ = std::fs::remove_dir_all(world.path(".ralph-kept"));
}

fn phase(world: &World, loop_id: &str) -> Value {
    let text = world.read(&format!("state/loops/{loop_id}/state.json"));
    serde_json::from_str::<Value>(&text).unwrap()["phase"].clone()
}

#[test]
fn a_fix_says_what_it_did_and_a_second_has_nothing_to_do() {
    let world = installed();
    world.chmod("state", 0o755);
    world.ralph(&["doctor"]).exit(1).says("(or run `ralph doctor --fix`)");
    let said = world.ralph(&["doctor", "--fix"]).exit(0);
    let said = said.says("fixed state folder: `").says("is private now");
    assert!(said.stdout.ends_with("all is well\n"), "{}", said.stdout);
    assert_eq!(world.mode("state"), 0o700);
    world.ralph(&["doctor", "--fix"]).exit(0).does_not_say("fixed");
}

#[test]
fn where_all_is_well_a_fix_changes_nothing() {
    let world = installed();
    let before = world.snapshot("");
    world.ralph(&["doctor", "--fix"]).exit(0).does_not_say("fixed");
    assert_eq!(world.snapshot(""), before);
}

#[test]
fn what_others_can_write_is_taken_from_them() {
    let world = installed();
    world.chmod("state/manifest", 0o777);
    let said = world.ralph(&["doctor", "--fix"]).exit(0);
    said.says("fixed state folder: others can no longer write to `").says("state/manifest`");
    assert_eq!(world.mode("state/manifest"), 0o755);
}

#[test]
fn an_executable_that_anyone_can_write_is_named_and_mended() {
    let world = installed();
    fs::remove_file(world.path("bin/ralph-stop-hook")).unwrap();
    fs::copy(fixture("quiet-hook"), world.path("bin/ralph-stop-hook")).unwrap();
    world.chmod("bin/ralph-stop-hook", 0o777);
    fails(&world, "FAIL  executables: `").says("ralph-stop-hook` can be written by anyone");
    world.ralph(&["doctor", "--fix"]).says("fixed executables: others can no longer write to `");
    assert_eq!(world.mode("bin/ralph-stop-hook"), 0o755);
}

#[test]
fn a_folder_of_executables_that_anyone_can_write_is_a_persons_to_mend() {
    let world = installed();
    world.chmod("bin", 0o777);
    fails(&world, "bin` can be written by anyone; run `chmod go-w ").does_not_say("--fix");
    world.ralph(&["doctor", "--fix"]).exit(1).does_not_say("fixed");
    assert_eq!(world.mode("bin"), 0o777);
    world.chmod("bin", 0o1777);
    world.ralph(&["doctor"]).exit(0);
}

#[test]
fn a_broken_state_is_mended_from_its_good_copy_and_kept() {
    let world = installed();
    let good = world.read("state/loops/loop-1/state.json");
    world.write("state/loops/loop-1/state.json", &good[..40]);
    // Without a good copy there is nothing to mend it from.
    world.ralph(&["doctor", "--fix"]).exit(1).does_not_say("fixed");
    world.write("state/loops/loop-1/state.json.last-good", &good);
    let said = world.ralph(&["doctor", "--fix"]).exit(0);
    said.says("fixed loops: loop loop-1 restored from its last good state");
    assert_eq!(phase(&world, "loop-1"), "implementation");
    let kept = fs::read_dir(world.path("state/loops/loop-1")).unwrap();
    let mut names = kept.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(names.any(|name| name.contains(".broken-")));
}

#[test]
fn an_entry_that_leads_nowhere_is_removed_and_one_that_cannot_be_read_is_not() {
    let world = installed();
    let nowhere = world.path("nowhere/state.json");
    world.write("state/manifest/session-2", &format!("{}\n", nowhere.display()));
    world.write("state/manifest/session-3", "no path\n");
    world.chmod("state/manifest/session-2", 0o600);
    world.chmod("state/manifest/session-3", 0o600);
    let said = world.ralph(&["doctor", "--fix"]).exit(0);
    said.says("fixed loops: removed the entry of session session-2")
        .says("session-3` points to no");
    assert!(!world.exists("state/manifest/session-2") && world.exists("state/manifest/session-3"));
    assert!(world.exists("state/manifest/session-1"));
}

#[test]
fn a_hook_that_was_taken_out_is_registered_again_where_we_had_installed() {
    let world = installed();
    let whole = world.read("home/.claude/settings.json");
    let mut settings: Value = serde_json::from_str(&whole).unwrap();
    settings["hooks"].as_object_mut().unwrap().remove("PreToolUse");
    settings["model"] = json!("theirs");
    world.write("home/.claude/settings.json", &settings.to_string());
    let said = world.ralph(&["doctor", "--fix"]).exit(0);
    said.says("fixed registration: repeated `ralph install`");
    let mended: Value = serde_json::from_str(&world.read("home/.claude/settings.json")).unwrap();
    assert_eq!(mended["model"], "theirs");
    assert!(mended["hooks"]["PreToolUse"].is_array());
}

#[test]
fn a_registration_that_is_not_ours_is_left_to_a_person() {
    let world = installed();
    let mut settings: Value =
        serde_json::from_str(&world.read("home/.claude/settings.json")).unwrap();
    settings["hooks"].as_object_mut().unwrap().remove("PreToolUse");
    world.write("project/.claude/settings.json", &settings.to_string());
    let before = world.read("project/.claude/settings.json");
    world.ralph(&["doctor", "--fix"]).exit(1).does_not_say("fixed");
    assert_eq!(world.read("project/.claude/settings.json"), before);
}

#[test]
fn a_hook_that_has_too_little_time_is_named() {
    let world = installed();
    let text = world.read("home/.claude/settings.json");
    let short = text.replacen("\"timeout\": 600", "\"timeout\": 15", 1);
    assert_ne!(short, text);
    world.write("home/.claude/settings.json", &short);
    fails(&world, "not as this version registers them: Stop; run `ralph install`");
    world.ralph(&["doctor", "--fix"]).exit(0).says("fixed registration: ");
    assert!(world.read("home/.claude/settings.json").contains("\"timeout\": 600"));
}

#[test]
fn a_start_that_would_go_on_without_its_hook_is_named() {
    let world = installed();
    let text = world.read("home/.claude/settings.json");
    let open = text.replacen("\"onFailure\": \"block\"", "\"onFailure\": \"continue\"", 1);
    assert_ne!(open, text);
    world.write("home/.claude/settings.json", &open);
    fails(&world, "not as this version registers them: UserPromptExpansion; run `ralph install`");
}

#[test]
fn a_loop_whose_client_is_gone_is_named_with_the_way_on_and_paused() {
    let world = installed();
    change_state(&world, "loop-1", |state| state["client"] = gone());
    let said = world.ralph(&["doctor"]).exit(0);
    let said =
        said.says("warn  orphans: loop loop-1 counts as running at 1/5, but its client is gone");
    said.says("run `ralph adopt --loop loop-1`, then type /ralph in any session");
    assert_eq!(phase(&world, "loop-1"), "implementation");
    let said = world.ralph(&["doctor", "--fix"]).exit(0);
    let said = said.says("fixed orphans: loop loop-1 is paused at 1/5");
    said.says("warn  orphans: loop loop-1 is paused at 1/5, but its conversation is gone");
    assert_eq!(phase(&world, "loop-1"), "paused");
    let journal = world.read("state/loops/loop-1/journal.jsonl");
    assert!(
        journal.contains("ralph doctor") && journal.contains("its client went away"),
        "{journal}"
    );
    world.ralph(&["adopt", "--loop", "loop-1"]).exit(0);
    world.ralph(&["doctor"]).exit(0).says("ok    orphans: ");
}

#[test]
fn a_loop_that_can_be_resumed_is_told_by_its_session() {
    let world = installed();
    change_state(&world, "loop-1", |state| state["client"] = gone());
    world.write("home/.claude/projects/-project/session-1.jsonl", "{}\n");
    let said = world.ralph(&["doctor", "--fix"]).exit(0);
    // It goes on by itself when the session is resumed: nothing is left to say.
    said.says("fixed orphans: ").says("ok    orphans: ");
    change_state(&world, "loop-1", |state| state["phase"] = json!("implementation"));
    world
        .ralph(&["doctor"])
        .says("run `claude --resume session-1`, or `ralph adopt --loop loop-1`");
}

#[test]
fn a_loop_whose_client_runs_is_no_orphan() {
    let world = installed();
    // The client is another process than the one that asks: what is below the client is the model's.
    let mut running =
        std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", running.id())).unwrap();
    let started = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap();
    let client = json!({"pid": running.id(), "started": started});
    change_state(&world, "loop-1", |state| state["client"] = client);
    world.ralph(&["doctor", "--fix"]).exit(0).says("ok    orphans: ").does_not_say("fixed");
    assert_eq!(phase(&world, "loop-1"), "implementation");
    drop(running.stdin.take());
    running.wait().unwrap();
}

#[test]
fn a_loop_whose_project_is_gone_is_named() {
    let world = installed();
    change_state(&world, "loop-1", |state| state["project_root"] = json!("/nowhere/at-all"));
    let said = world.ralph(&["doctor"]).exit(0);
    said.says(
        "the project of loop loop-1, `/nowhere/at-all`, is gone; run `ralph cancel --loop loop-1`",
    );
    world.ralph(&["cancel", "--loop", "loop-1"]).exit(0);
    world.ralph(&["doctor"]).exit(0).says("ok    orphans: ");
}

#[test]
fn another_ralph_on_the_path_is_named() {
    let world = installed();
    world.ralph(&["doctor"]).says("ok    path: `ralph` on PATH is the one in `");
    world.write("older/ralph", "");
    world.chmod("older/ralph", 0o755);
    let path = format!("{}:{}", world.path("older").display(), world.path("bin").display());
    let world = world.env("PATH", &path);
    let said = world.ralph(&["doctor"]).exit(0);
    said.says("warn  path: `ralph` on PATH is `").says("older/ralph`, not the one in `");
    let world = world.env("PATH", "/nowhere");
    world.ralph(&["doctor"]).says("warn  path: `ralph` is not on PATH").says("export PATH=\"");
}

#[test]
fn the_strongest_settings_decide_whether_hooks_run() {
    let world = installed();
    world.write("project/.claude/settings.json", "{\"disableAllHooks\": true}");
    fails(&world, "`disableAllHooks` is true in the project settings `");
    world.write("project/.claude/settings.local.json", "{\"disableAllHooks\": false}");
    let said = world.ralph(&["doctor"]).exit(0);
    said.says("ok    hooks enabled: `disableAllHooks` is false in the local settings");
}

#[test]
fn only_a_person_mends() {
    let world = installed().env("CLAUDE_CODE_SESSION_ID", "session-1");
    world.chmod("state/manifest", 0o777);
    world.ralph(&["doctor"]).exit(1);
    let said = world.ralph(&["doctor", "--fix"]).exit(1);
    said.says("`ralph doctor --fix` is for the user only");
    assert_eq!(world.mode("state/manifest"), 0o777);
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
    assert_eq!(client.unwrap()["cure"], "type `claude update`");
}

#[test]
fn it_changes_nothing() {
    let world = installed();
    let before = world.snapshot("");
    world.ralph(&["doctor"]).exit(0);
    assert_eq!(world.snapshot(""), before);
}

#[test]
fn a_settings_file_of_ralphs_that_bounds_nothing_is_a_problem_and_another_unknown_key_a_warning() {
    let world = installed();
    world.write("project/.claude/ralph.toml", "[sandbox]\nread_denny = [\"~/x\"]\n");
    fails(&world, "line 2: unknown key `sandbox.read_denny`; did you mean `read_deny`?");
    world.write("project/.claude/ralph.toml", "max_minutes = \n");
    fails(&world, "FAIL  ralph.toml: could not use `");
    world.write("project/.claude/ralph.toml", "max_minute = 5\n");
    let said = world.ralph(&["doctor"]).exit(0);
    said.says("warn  ralph.toml: ").says("did you mean `max_minutes`?").says("with 1 warning");
}

#[test]
fn what_a_sandbox_puts_in_the_place_of_a_missing_file_is_no_broken_setting() {
    let world = installed();
    world.write("project/.claude/settings.json", "");
    fails(&world, "is not valid JSON");
    world.chmod("project/.claude/settings.json", 0o444);
    world.ralph(&["doctor"]).exit(0).says("all is well");
}

#[cfg(target_os = "linux")]
#[test]
fn without_bubblewrap_doctor_says_that_no_sandboxed_run_starts() {
    let world = installed();
    let mut doctor = world.command(world.path("bin/ralph").to_str().unwrap());
    let printed = doctor.arg("doctor").env("PATH", world.path("bin")).output().unwrap();
    let printed = String::from_utf8(printed.stdout).unwrap();
    assert!(printed.contains("warn  bounds: `bwrap`"), "{printed}");
}
