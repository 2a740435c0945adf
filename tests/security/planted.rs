//! Something else stands where a file of ours is looked for: a link, a pipe, a device, a folder, a
//! file without an end, a file of someone else.

use crate::attack::{self, command, events, hook, looping, reading_commands, said};
use crate::world::World;
use ralph_test_support::sample::one_in;
use serde_json::json;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What can be planted, by name.
const KINDS: [&str; 7] =
    ["link", "dangling link", "link to /dev/zero", "pipe", "folder", "device", "huge file"];

/// All of them with `RALPH_ALL_ATTACKS=1`; else a pipe, which is what hangs, and for the proof two that differ
/// from place to place.
fn kinds_for(number: usize) -> Vec<&'static str> {
    if std::env::var_os("RALPH_ALL_ATTACKS").is_some_and(|value| value == "1") {
        return KINDS.to_vec();
    }
    if !crate::is_proof() {
        return vec!["pipe"];
    }
    let mut kinds = vec!["pipe", KINDS[number % 7], KINDS[(number + 3) % 7]];
    kinds.dedup();
    kinds
}

/// Plants something at a path; false where this user cannot.
fn plant(world: &World, kind: &str, path: &Path) -> bool {
    if path.is_dir() {
        fs::remove_dir_all(path).unwrap();
    } else {
        let _ = fs::remove_file(path);
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let victim = world.root().join("victim");
    fs::write(&victim, "{\"victim\": true}\n").unwrap();
    match kind {
        "link" => symlink(&victim, path).unwrap(),
        "dangling link" => symlink(world.root().join("not there"), path).unwrap(),
        "link to /dev/zero" => symlink("/dev/zero", path).unwrap(),
        "pipe" => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
        "folder" => fs::create_dir(path).unwrap(),
        "device" => {
            let made = Command::new("mknod").arg(path).args(["c", "1", "5"]).output();
            return made.is_ok_and(|made| made.status.success());
        }
        _ => {
            File::create(path).unwrap().set_len(65 << 20).unwrap();
            fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
        }
    }
    true
}

#[track_caller]
fn the_victim_is_untouched(world: &World, what: &str) {
    let text = fs::read_to_string(world.root().join("victim")).unwrap();
    assert_eq!(text, "{\"victim\": true}\n", "{what}");
    assert!(!world.root().join("not there").exists(), "{what}");
}

/// The files of a loop and of its project, by what they are.
fn places(world: &World) -> Vec<(&'static str, PathBuf)> {
    let state = world.state_path();
    vec![
        ("manifest entry", world.entry()),
        ("state", state.clone()),
        ("last good copy", state.with_extension("json.last-good")),
        ("lock", state.with_extension("lock")),
        ("journal", state.with_file_name("journal.jsonl")),
        ("receipts", state.with_file_name("receipts")),
        ("trees", state.with_file_name("trees")),
        ("signals", state.with_file_name("signals")),
        ("lock of starts", world.ralph_home().join("loops.lock")),
        ("transcript", world.transcript()),
        ("project settings", world.project().join(".claude/ralph.toml")),
        ("own settings", world.root().join("home/.config/ralph/config.toml")),
        ("package.json", world.project().join("package.json")),
    ]
}

/// No hook hangs, panics, blocks or writes through what was planted.
#[test]
fn whatever_is_planted_no_hook_hangs_or_writes_through_it() {
    let n_places = places(&looping()).len();
    let mut is_played = one_in(2);
    for number in 0..n_places {
        for kind in kinds_for(number).into_iter().filter(|_| is_played()) {
            let world = looping();
            let (place, path) = places(&world).swap_remove(number);
            if !plant(&world, kind, &path) {
                eprintln!("skipped: {kind} for {place}: only root can make a device");
                continue;
            }
            for (name, event, members) in events() {
                hook(&world, name, event, members);
            }
            the_victim_is_untouched(&world, &format!("{kind} as {place}"));
        }
    }
}

#[test]
fn whatever_is_planted_no_command_hangs_or_writes_through_it() {
    let n_places = places(&looping()).len();
    let mut is_played = one_in(2);
    for number in 0..n_places {
        for kind in kinds_for(number).into_iter().take(2).filter(|_| is_played()) {
            let world = looping();
            let (place, path) = places(&world).swap_remove(number);
            plant(&world, kind, &path);
            for arguments in reading_commands().filter(|words| words[0] != "doctor") {
                command(&world, arguments);
            }
            command(&world, &["trust", "--yes"]);
            command(&world, &["start", "again"]);
            command(&world, &["cancel"]);
            the_victim_is_untouched(&world, &format!("{kind} as {place}"));
        }
    }
}

#[test]
fn the_start_is_not_held_up_by_what_a_repository_puts_in_its_own_files() {
    let names = [".claude/ralph.toml", "package.json", "Cargo.toml", "Makefile"];
    for (number, name) in names.into_iter().enumerate() {
        for kind in kinds_for(number) {
            let world = World::new();
            if plant(&world, kind, &world.project().join(name)) {
                let members = json!({"command_name": "ralph", "command_args": "\"Fix it\"",
                    "expansion_type": "slash_command", "command_source": "userSettings",
                    "prompt": "/ralph \"Fix it\""});
                let ran = hook(&world, "ralph-user-prompt", "UserPromptExpansion", members);
                // Settings that cannot be read are named; nothing else keeps a loop from starting.
                let said = ran.out();
                let is_named =
                    name.ends_with("ralph.toml") && said.contains("/.claude/ralph.toml`");
                assert!(is_named || said.contains(" started"), "{kind} as {name}: {ran:?}");
            }
        }
    }
}

/// A world whose one manifest stands in a folder like `/tmp`.
fn in_shared_folder() -> (World, PathBuf) {
    let mut world = World::new();
    let shared = world.root().join("shared");
    fs::create_dir(&shared).unwrap();
    fs::set_permissions(&shared, Permissions::from_mode(0o1777)).unwrap();
    let manifest = shared.join("ralph_session_manifest");
    world.set("RALPH_MANIFEST", manifest.to_str().unwrap());
    (world, manifest)
}

#[test]
fn a_manifest_in_a_shared_folder_is_obeyed_only_if_it_is_ours_alone() {
    let (world, manifest) = in_shared_folder();
    world.start("");
    let line = fs::read_to_string(&manifest).unwrap();
    assert_eq!(fs::metadata(&manifest).unwrap().permissions().mode() & 0o777, 0o600);
    world.working_stop("x").goes_on();

    // It is found by its own state then, which names the session; no other session has one.
    fs::set_permissions(&manifest, Permissions::from_mode(0o666)).unwrap();
    world.working_stop("x").goes_on();
    fs::set_permissions(&manifest, Permissions::from_mode(0o600)).unwrap();

    let moved = manifest.with_extension("moved");
    fs::rename(&manifest, &moved).unwrap();
    symlink(&moved, &manifest).unwrap();
    world.working_stop("x").goes_on();
    fs::remove_file(&manifest).unwrap();

    fs::write(&manifest, &line).unwrap();
    fs::set_permissions(&manifest, Permissions::from_mode(0o600)).unwrap();
    match chown(&manifest, Some(65534), None) {
        Ok(()) => drop(world.working_stop("x").goes_on()),
        Err(_) => eprintln!("skipped: only root can give a file to another user"),
    }
}

#[test]
fn a_planted_manifest_can_neither_start_nor_stand_in_for_a_loop() {
    for owner in [None, Some(65534)] {
        let (world, manifest) = in_shared_folder();
        // A loop of the attacker's making, whose criterion would run their command.
        let canary = attack::Canary::in_world(&world);
        let state = manifest.with_file_name("state.json");
        let evil = json!({"session_id": "session-1", "phase": "implementation", "loop_id": "evil",
            "max_iterations": 3, "iteration": 0, "created_at": "2026-01-02T03:04:05Z",
            "acceptance_criteria": [{"id": "AC-1", "description": "d",
                "verification_command": canary.trap("planted")}]});
        fs::write(&state, evil.to_string()).unwrap();
        fs::write(&manifest, format!("{}\n", state.display())).unwrap();
        for path in [&state, &manifest] {
            let mode = if owner.is_some() { 0o644 } else { 0o666 };
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
            if owner.is_some() && chown(path, owner, None).is_err() {
                return eprintln!("skipped: only root can give a file to another user");
            }
        }
        for (name, event, members) in events() {
            let ran = hook(&world, name, event, members);
            assert!(ran.json().is_null(), "{ran:?}");
        }
        for file in [&manifest, &state] {
            let refused = command(&world, &["adopt", file.to_str().unwrap()]);
            assert_eq!(refused.status.code(), Some(3), "{refused:?}");
        }
        command(&world, &["verify"]);
        assert!(world.expansion("ralph", "\"Fix it\"").out().contains("\"continue\":false"));
        canary.lives();
        assert_eq!(fs::read_to_string(&state).unwrap(), evil.to_string());
    }
}

/// The guard against a planted loop that is ours by its owner: what it would run was never agreed to.
#[test]
fn commands_of_a_state_that_nobody_agreed_to_are_not_run() {
    let world = looping();
    let canary = attack::Canary::in_world(&world);
    world.edit_state(|state| {
        state["acceptance_criteria"][0]["verification_command"] = json!(canary.trap("changed"));
    });
    world.stop("RALPH_COMPLETE").goes_on();
    command(&world, &["verify"]);
    canary.lives();
}

#[test]
fn what_adopt_is_given_is_not_waited_for_or_followed() {
    for kind in KINDS {
        let world = World::new();
        let path = world.root().join("given");
        if plant(&world, kind, &path) {
            let refused = command(&world, &["adopt", path.to_str().unwrap()]);
            assert_eq!(refused.status.code(), Some(3), "{kind}: {refused:?}");
            assert!(!world.ralph_home().join("loops").exists(), "{kind}");
        }
    }
}

#[test]
fn a_home_that_others_can_write_is_refused_and_reported_and_what_lies_above_it_is_not_asked() {
    for mode in [0o770, 0o707, 0o777] {
        let world = World::new();
        fs::create_dir(world.ralph_home()).unwrap();
        fs::set_permissions(world.ralph_home(), Permissions::from_mode(mode)).unwrap();
        let refused = command(&world, &["start", "--session", "s", "x"]);
        assert!(said(&refused).contains("chmod 700"), "{refused:?}");
        let before = world.listing(&world.ralph_home());
        assert!(world.expansion("ralph", "x").kept_from_model().contains("chmod 700"));
        assert!(world.listing(&world.ralph_home()) == before, "something was written");
        assert!(said(&command(&world, &["doctor"])).contains("chmod 700"));
    }
    // Who can write to the folder above can put another one in its place, but not one of ours.
    let world = looping();
    fs::set_permissions(world.root(), Permissions::from_mode(0o777)).unwrap();
    fs::set_permissions(world.root().join("home"), Permissions::from_mode(0o777)).unwrap();
    world.working_stop("x").goes_on();
    if chown(world.ralph_home(), Some(65534), None).is_ok() {
        assert!(world.stop("x").message().contains("belongs to another user"));
    }
}

#[test]
fn a_git_in_a_relative_folder_of_path_is_never_started() {
    let mut world = World::new().with_facts();
    let hit = world.root().join("hit");
    world.write("rel/git", &format!("#!/bin/sh\ntouch {}\n", hit.display()));
    let planted = world.project().join("rel/git");
    fs::set_permissions(&planted, Permissions::from_mode(0o755)).unwrap();
    let path = format!("rel:{}", world.env["PATH"]);
    world.set("PATH", &path);
    world.session_starts("startup").context();
    world.start("--ac 'Done=test -f done'");
    world.working_stop("x").goes_on();
    assert!(world.elsewhere(&["context"]).success);
    assert!(!hit.exists(), "it ran");
}
