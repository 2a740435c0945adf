//! Only the owner can read what is kept, whatever the umask, and nothing is kept elsewhere.

use crate::attack::{events, reading_commands};
use crate::world::{World, executable, run};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The widest, the usual, and one that takes even the owner's rights to write from folders.
const UMASKS: [&str; 3] = ["000", "022", "077"];

fn umasked(umask: &str, program: &str) -> [String; 5] {
    ["sh", "-c", &format!("umask {umask}; exec \"$@\""), "sh", executable(program)]
        .map(str::to_owned)
}

fn hook(world: &World, umask: &str, name: &str, event: &str, members: Value) {
    let words = umasked(umask, name);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let payload = world.payload(event, members).to_string();
    run(world.wrapped(&words), name, payload.as_bytes()).harmless();
}

fn ralph(world: &World, umask: &str, arguments: &[&str]) {
    let words = umasked(umask, "ralph");
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args(arguments).env_clear().envs(&world.env).current_dir(&world.cwd);
    command.env_remove("CLAUDE_CODE_SESSION_ID").env_remove("CLAUDE_PID").env_remove("CLAUDECODE");
    command.stdin(Stdio::null());
    command.output().unwrap();
}

/// A loop from its start to its archive, with receipts, trees, a checkpoint, trust and a lock.
fn a_whole_loop(world: &World, umask: &str) {
    let typed = json!({"command_name": "ralph", "expansion_type": "slash_command",
        "command_args": "\"Fix it\" --ac 'it=grep -q yes done'", "command_source": "userSettings",
        "prompt": "/ralph"});
    hook(world, umask, "ralph-user-prompt", "UserPromptExpansion", typed.clone());
    ralph(world, umask, &["trust", "--yes"]);
    ralph(world, umask, &["verify"]);
    world.write("done", "yes\n");
    for arguments in reading_commands() {
        ralph(world, umask, arguments);
    }
    ralph(world, umask, &["resume"]);
    for (name, event, members) in events() {
        hook(world, umask, name, event, members);
    }
    hook(world, umask, "ralph-user-prompt", "UserPromptExpansion", typed);
    ralph(world, umask, &["cancel"]);
    ralph(world, umask, &["start", "planned"]);
}

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().permissions().mode() & 0o7777
}

#[test]
fn everything_in_the_home_is_its_owners_whatever_the_umask() {
    for umask in UMASKS {
        let world = World::new();
        world.write(".claude/ralph.toml", "max_iterations = 9\n");
        a_whole_loop(&world, umask);
        let home = world.ralph_home();
        assert_eq!(mode(&home), 0o700);
        let all = world.listing(&home);
        assert!(all.len() > 20, "something was kept: {:?}", all.keys());
        for path in all.keys() {
            let expected = if path.is_dir() { 0o700 } else { 0o600 };
            assert_eq!(mode(path), expected, "{} under umask {umask}", path.display());
        }
        for kept in ["archive", "trust", "loops", "manifest"] {
            let folder = home.join(kept);
            assert!(std::fs::read_dir(&folder).unwrap().count() > 0, "{kept} is empty");
        }
    }
}

#[test]
fn a_state_that_stands_elsewhere_is_private_in_the_archive() {
    let mut world = World::new();
    let single = world.root().join("home/manifest");
    world.set("RALPH_MANIFEST", single.to_str().unwrap());
    world.start("");
    let state = world.root().join("home/state.json");
    let line = std::fs::read_to_string(&single).unwrap();
    std::fs::copy(line.trim_end(), &state).unwrap();
    std::fs::set_permissions(&state, PermissionsExt::from_mode(0o644)).unwrap();
    std::fs::write(&single, format!("{}\n", state.display())).unwrap();
    world.stop("RALPH_COMPLETE").ends("Ralph: done, without proof");
    for path in world.listing(&world.ralph_home().join("archive")).keys() {
        assert_eq!(mode(path) & 0o077, 0, "{}", path.display());
    }
}

#[test]
fn nothing_is_written_but_in_the_home_and_the_repositorys_own_objects() {
    let mut world = World::new();
    let temporary = world.root().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    world.set("TMPDIR", temporary.to_str().unwrap());
    world.write(".claude/ralph.toml", "max_iterations = 9\n");
    world.write("done", "yes\n");
    let before = world.listing(&world.root());
    a_whole_loop(&world, "022");
    let repository = world.project().join(".git");
    let ours = |path: &Path| {
        path.starts_with(world.ralph_home())
            || path.starts_with(world.root().join(".ralph-kept"))
            || path.starts_with(repository.join("objects"))
            || path.starts_with(repository.join("refs/ralph"))
            || path == repository.join("refs")
    };
    let changed: BTreeSet<PathBuf> = world
        .listing(&world.root())
        .into_iter()
        .filter(|(path, (_, content))| {
            // The test itself writes `done`, with what it held before.
            before.get(path).is_none_or(|(_, old)| old != content) && !ours(path)
        })
        .map(|(path, _)| path)
        .collect();
    assert_eq!(changed, BTreeSet::new());
    assert_eq!(std::fs::read_dir(temporary).unwrap().count(), 0, "left in TMPDIR");
}
