//! State that cannot be trusted or read: never obeyed, never lost; its session may only read.

use crate::world::World;
use serde_json::json;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};

fn mode(path: &std::path::Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// The session may only read and the person is told these words; nothing is changed.
#[track_caller]
fn may_only_read(world: &World, words: &str) {
    world.forget_what_is_kept_apart();
    let before = world.listing(&world.ralph_home());
    let prompt = json!({"prompt": "x"});
    let said = [
        world.stop("RALPH_COMPLETE").message(),
        world.tool("AskUserQuestion", json!({})).denied(),
        world.session_starts("compact").message(),
        world.event("ralph-user-prompt", "UserPromptSubmit", prompt).message(),
    ];
    for text in said {
        assert!(text.contains(words), "{words} in {text}");
    }
    world.event("ralph-backpressure", "PostToolUse", json!({})).complains(words);
    world.tool("Bash", json!({"command": "ls"})).silent();
    world.tool("Bash", json!({"command": "touch x"})).denied();
    let after = world.listing(&world.ralph_home());
    assert!(before == after, "something was written");
}

/// Its state names the session, so the loop is found without the entry.
#[track_caller]
fn goes_on_without_its_entry(world: &World) {
    world.tool("AskUserQuestion", json!({})).denied();
    world.working_stop("x").goes_on();
}

#[test]
fn an_entry_that_others_can_write_is_not_obeyed() {
    let world = World::looping("");
    mode(&world.entry(), 0o620);
    goes_on_without_its_entry(&world);
}

#[test]
fn a_state_that_others_can_write_is_not_obeyed() {
    let world = World::looping("");
    mode(&world.state_path(), 0o666);
    may_only_read(&world, "can be written by others");
}

#[test]
fn a_home_that_others_can_write_is_not_obeyed() {
    let world = World::looping("");
    mode(&world.ralph_home(), 0o770);
    may_only_read(&world, "chmod 700");
    let mut other = world;
    other.become_session("session-2", "prompt-2");
    other.stop("x").silent();
}

#[test]
fn what_belongs_to_another_user_is_not_obeyed() {
    let world = World::looping("");
    if chown(world.entry(), Some(65534), None).is_err() {
        return eprintln!("skipped: only root can give a file to another user");
    }
    goes_on_without_its_entry(&world);
    let world = World::looping("");
    chown(world.state_path(), Some(65534), None).unwrap();
    may_only_read(&world, "belongs to another user");
    let world = World::looping("");
    chown(world.ralph_home(), Some(65534), None).unwrap();
    may_only_read(&world, "belongs to another user");
}

#[test]
fn a_linked_state_or_entry_is_not_followed() {
    for path in [World::entry, World::state_path] {
        let world = World::looping("");
        let path = path(&world);
        let elsewhere = world.root().join("elsewhere");
        fs::rename(&path, &elsewhere).unwrap();
        symlink(&elsewhere, &path).unwrap();
        if path == world.entry() {
            goes_on_without_its_entry(&world);
        } else {
            world.forget_what_is_kept_apart();
            assert!(world.stop("RALPH_COMPLETE").message().contains("could not open"));
        }
        assert!(elsewhere.exists());
    }
}

#[test]
fn an_entry_that_is_a_folder_a_pipe_or_nonsense_is_not_obeyed() {
    let world = World::looping("");
    for text in ["", "relative/state.json", "\n", "\0", "/nowhere\0/state.json"] {
        fs::write(world.entry(), text).unwrap();
        goes_on_without_its_entry(&world);
    }
    fs::remove_file(world.entry()).unwrap();
    fs::create_dir(world.entry()).unwrap();
    goes_on_without_its_entry(&world);
    fs::remove_dir(world.entry()).unwrap();
    let made = std::process::Command::new("mkfifo").arg(world.entry()).status().unwrap();
    assert!(made.success());
    goes_on_without_its_entry(&world);
}

#[test]
fn an_entry_whose_loop_is_gone_binds_its_session_until_a_person_ends_the_loop() {
    let world = World::looping("");
    fs::remove_dir_all(world.state_path().parent().unwrap()).unwrap();
    may_only_read(&world, "is gone");
    assert!(world.expansion("ralph-cancel", "").kept_from_model().contains("Ralph: cancelled"));
    assert_eq!(world.ending(), "cancelled");
    assert!(world.expansion("ralph", "Another").context().contains("Goal: Another"));
}

#[test]
fn a_torn_state_is_kept_and_the_last_good_copy_goes_on() {
    let world = World::looping("");
    for _ in 0..3 {
        world.working_stop("x").goes_on();
    }
    let text = fs::read_to_string(world.state_path()).unwrap();
    let torn = &text[..text.len() / 2];
    fs::write(world.state_path(), torn).unwrap();
    world.forget_what_is_kept_apart();
    let ran = world.working_stop("x");
    assert!(ran.context().contains("Ralph 3/25: "), "one behind, plus one: {ran:?}");
    assert!(ran.message().contains("used the last good copy"), "{ran:?}");
    let kept = fs::read_dir(world.state_path().parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.to_string_lossy().contains("broken"))
        .expect("the broken file is kept");
    assert_eq!(fs::read_to_string(kept).unwrap(), torn);
    assert!(world.step(&world.working_stop("x")).contains("Ralph 4/25: "));
}

#[test]
fn a_torn_state_without_a_copy_is_reported_and_stays() {
    for text in ["", "{\"loop_id\":\"L\",\"iter", "[]", "{\"iteration\":{}}"] {
        let world = World::looping("");
        fs::write(world.state_path(), text).unwrap();
        may_only_read(&world, "there is no good copy");
        assert_eq!(fs::read_to_string(world.state_path()).unwrap(), text);
        let reason = world.expansion("ralph-cancel", "").kept_from_model();
        assert!(reason.contains("Ralph: cancelled") && reason.contains("no good copy"), "{reason}");
        assert_eq!(world.ending(), "cancelled");
    }
}

/// A hook that was killed between the two steps of an ending.
#[test]
fn an_ended_loop_that_was_not_put_away_is_put_away_by_the_next_event() {
    let end = |world: &World| {
        world.edit_state(|state| {
            state["phase"] = json!("ended");
            state["ending"] = json!({"kind": "stalled", "at": "2026-01-01T00:00:00Z"});
        });
    };
    let world = World::looping("");
    end(&world);
    world.stop("x").ends("Ralph: stalled");
    assert_eq!(world.ending(), "stalled");
    assert!(!world.has_entry());

    let mut world = World::looping("");
    end(&world);
    let message = world.prompt("prompt-2", "hello").message();
    assert!(message.contains("Ralph: stalled"), "{message}");
    assert_eq!(world.ending(), "stalled");

    let world = World::looping("");
    end(&world);
    // A tool call only glances at the state; the stop after it finishes the ending.
    world.tool("Bash", json!({"command": "ls"})).silent();
    world.stop("x").ends("Ralph: stalled");
    assert_eq!(world.ending(), "stalled");
}

/// A hook that was killed after the move and before the entry was written.
#[test]
fn an_ended_loop_whose_entry_missed_the_move_is_followed_into_the_archive() {
    let world = World::looping("");
    let line = fs::read_to_string(world.entry()).unwrap();
    world.stop("RALPH_COMPLETE").ends("Ralph: done, without proof");
    fs::write(world.entry(), line).unwrap();
    mode(&world.entry(), 0o600);
    world.stop("x").ends("Ralph: done, without proof");
    assert!(!world.has_entry());
    assert_eq!(world.ending(), "complete_unverified");
}

#[test]
fn fields_that_are_not_known_survive() {
    let world = World::looping("");
    world.edit_state(|state| {
        state["colour"] = json!({"of": ["the", 7.5, null]});
        state["acceptance_criteria"] = json!([{"id": "AC-1", "weight": 3}]);
        state["task_graph"] = json!([{"id": "T-1", "colour": "red"}]);
        state["limits"]["max_colours"] = json!(2);
    });
    world.working_stop("x").goes_on();
    let state = world.state();
    assert_eq!(state["iteration"], 1);
    assert_eq!(state["colour"], json!({"of": ["the", 7.5, null]}));
    assert_eq!(state["acceptance_criteria"][0]["weight"], 3);
    assert_eq!(state["task_graph"][0]["colour"], "red");
    assert_eq!(state["limits"]["max_colours"], 2);
}

#[test]
fn words_that_are_not_known_are_kept_and_free_nobody() {
    let world = World::looping("");
    world.edit_state(|state| state["phase"] = json!("hibernating"));
    may_only_read(&world, "its phase `hibernating` is not known");
    assert_eq!(world.state()["phase"], "hibernating");
}

#[test]
fn a_newer_schema_is_left_alone_byte_for_byte() {
    for text in [
        "{\"schema_version\":2,\"session_id\":\"session-1\"}",
        "{\"schema_version\":9,\"phase\":[]}",
    ] {
        let world = World::looping("");
        fs::write(world.state_path(), text).unwrap();
        may_only_read(&world, "newer Ralph");
        world.expansion("ralph", "Another").kept_from_model();
        assert_eq!(fs::read_to_string(world.state_path()).unwrap(), text);
        // Also a person who ends the loop loses nothing of it.
        world.expansion("ralph-cancel", "").kept_from_model();
        let kept = world.listing(&world.ralph_home().join("archive"));
        assert!(kept.values().any(|(_, content)| content == text.as_bytes()));
    }
}

#[test]
fn a_clock_that_was_set_back_uses_nothing_up() {
    let world = World::looping("--max-minutes 1");
    world.edit_state(|state| {
        for field in ["started_at", "created_at", "updated_at"] {
            state[field] = json!("2999-01-01T00:00:00Z");
        }
    });
    world.working_stop("x").goes_on();
    world.edit_state(|state| state["started_at"] = json!("2020-01-01T00:00:00Z"));
    world.working_stop("x").ends("Ralph: stopped: ");
    assert_eq!(world.ending(), "budget");
}

#[test]
fn a_state_of_another_session_is_not_ours_whatever_the_entry_says() {
    let mut world = World::looping("");
    let line = fs::read_to_string(world.entry()).unwrap();
    world.become_session("session-2", "prompt-2");
    fs::write(world.entry(), line).unwrap();
    mode(&world.entry(), 0o600);
    world.stop("x").silent();
    world.tool("AskUserQuestion", json!({})).silent();
    assert!(world.prompt("prompt-2", "ralph cancel").json().is_null());
    assert_eq!(world.state()["phase"], "implementation");
}

#[test]
fn a_single_manifest_file_serves_its_session_and_no_other() {
    let mut world = World::new();
    let single = world.root().join("home/ralph_session_manifest");
    world.set("RALPH_MANIFEST", single.to_str().unwrap());
    world.start("");
    assert!(single.exists() && !world.has_entry());
    world.working_stop("x").goes_on();
    let before = world.listing(&world.root().join("home"));
    let ours = (world.session.clone(), world.prompt.clone());
    world.become_session("session-2", "prompt-2");
    world.stop("RALPH_COMPLETE").silent();
    world.prompt("prompt-2", "ralph cancel").silent();
    world.tool("AskUserQuestion", json!({})).silent();
    world.event("ralph-stop-hook", "SessionEnd", json!({"reason": "clear"})).silent();
    assert!(world.listing(&world.root().join("home")) == before);
    world.become_session(&ours.0, &ours.1);
    world.stop("RALPH_COMPLETE").ends("Ralph: done, without proof");
    assert!(!single.exists());
}

#[test]
fn a_single_manifest_in_use_is_not_taken_from_a_live_loop() {
    let mut world = World::new();
    let single = world.root().join("home/ralph_session_manifest");
    world.set("RALPH_MANIFEST", single.to_str().unwrap());
    world.start("");
    let line = fs::read_to_string(&single).unwrap();
    world.become_session("session-2", "prompt-2");
    let reason = world.expansion("ralph", "Another").kept_from_model();
    assert!(reason.contains("RALPH_MANIFEST"), "{reason}");
    assert_eq!(fs::read_to_string(&single).unwrap(), line);
}
