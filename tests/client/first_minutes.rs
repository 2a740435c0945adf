//! The first ten minutes of a person: install, look whether all is well, the first loop, look at it from
//! another terminal, cancel it, take Ralph back. Nothing is left but the archive.

use ralph_test_support::fake_api::{Gate, Script, ScriptedTurn, StandIn};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::Test;
use crate::support::{PATIENCE, Run, World, executables};

pub(crate) const TESTS: &[Test] =
    tests![from_the_installation_to_the_last_trace, a_loop_in_between_is_not_forgotten];

/// A machine with git, the client, and a Rust that has built Ralph before.
struct Machine {
    world: World,
}

impl Machine {
    fn new() -> Machine {
        let world = World::new();
        // A new person has none.
        fs::remove_dir(world.ralph_home()).unwrap();
        let tools = world.root().join("tools");
        fs::create_dir(&tools).unwrap();
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/install/fixtures");
        for tool in ["cargo", "rustc", "rustup"] {
            symlink(fixtures.canonicalize().unwrap().join(tool), tools.join(tool)).unwrap();
        }
        Machine { world }
    }

    fn bin(&self) -> PathBuf {
        self.world.home().join(".local/bin")
    }

    fn path(&self) -> String {
        let tools = self.world.root().join("tools");
        format!("{}:{}:/usr/local/bin:/usr/bin:/bin", self.bin().display(), tools.display())
    }

    fn install(&self) -> Run {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
        let mut command = self.world.command(root.join("install.sh"));
        command.env("PATH", self.path()).env("CARGO_TARGET_DIR", self.world.root().join("built"));
        command.env("FAKE_LOG", self.world.root().join("cargo.log"));
        command.env("FAKE_LIBRARY", self.world.root().join("library"));
        command.env("FAKE_HOOKS", executables());
        command.env("FAKE_RALPH", executables().join("ralph"));
        Run::of(command, "", PATIENCE)
    }

    /// As it is typed in a terminal, by its name.
    fn types(&self, args: &[&str]) -> Run {
        let mut command = self.world.command("sh");
        command.args(["-c", "exec ralph \"$@\"", "sh"]).args(args).env("PATH", self.path());
        command.env("RALPH_CLAUDE", self.world.client_path());
        Run::of(command, "", PATIENCE)
    }

    /// All that is below the person's home and in the client's settings, but what the client itself keeps.
    fn trace(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        collect(&self.world.home(), &mut found);
        for name in ["settings.json", "skills", "agents"] {
            collect(&self.world.config().join(name), &mut found);
        }
        // What the client makes for itself when it is started in a terminal.
        let home = self.world.home();
        let clients = [".cache", ".npm", ".claude.json", ".config/mimeapps.list", ".local/share"];
        found.retain(|path, _| !clients.iter().any(|name| path.starts_with(home.join(name))));
        for folder in [".config", ".local"] {
            found.remove(&home.join(folder));
        }
        found
    }
}

fn collect(path: &Path, found: &mut BTreeMap<PathBuf, String>) {
    let Ok(about) = fs::symlink_metadata(path) else { return };
    if about.is_dir() {
        found.insert(path.to_owned(), "folder".to_owned());
        fs::read_dir(path).unwrap().for_each(|entry| collect(&entry.unwrap().path(), found));
    } else {
        let text = fs::read_to_string(path).unwrap_or_else(|_| "no text".to_owned());
        found.insert(path.to_owned(), text);
    }
}

#[track_caller]
fn says(run: &Run, words: &[&str]) {
    let all = format!("{}{}", run.stdout, run.stderr);
    for word in words {
        assert!(all.contains(word), "`{word}` is not said:\n{all}");
    }
}

fn from_the_installation_to_the_last_trace() {
    let machine = Machine::new();
    let world = &machine.world;
    let before = machine.trace();

    says(
        &machine.install().exits(0),
        &["installed ralph and five hooks", "check it with `ralph doctor`"],
    );
    says(&machine.types(&["doctor"]).exits(0), &["all is well", "14 of 14 registered hooks"]);

    let gate = Gate::new();
    let script = Script::new()
        .turn(ScriptedTurn::bash("echo hello > greeting"))
        .turn(ScriptedTurn::text("There is a greeting."))
        .turn(ScriptedTurn::held(&gate).then_tool(
            "Bash",
            serde_json::json!({"command": "touch never", "description": "Too late"}),
        ))
        .turn(ScriptedTurn::text("Served."));
    let stand_in = StandIn::start(script).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit("/ralph \"Write a greeting\" --ac \"it greets=grep -q hi greeting\"");
    gate.wait_until_reached(PATIENCE).unwrap();

    says(&machine.types(&["status"]).exits(0), &["1/25", "AC-1", "it greets"]);
    says(&machine.types(&["explain"]).exits(0), &["next turn at 1/25"]);
    says(&machine.types(&["verify"]).exits(1), &["AC-1"]);
    says(
        &machine.types(&["uninstall", "--all"]).exits(1),
        &["has not ended", "`ralph cancel --loop"],
    );

    says(&machine.types(&["cancel"]).exits(0), &["cancelled"]);
    gate.open();
    terminal.wait_for("loop cancelled at 1/25");
    terminal.submit("An ordinary question?").wait_for("Served.");
    assert!(!world.project().join("never").exists());
    drop(terminal);

    let said = machine.types(&["uninstall", "--all"]).exits(0);
    says(&said, &["archive` (ended loops, plans)"]);
    assert_eq!(machine.trace(), before);
    let left: Vec<String> = fs::read_dir(world.ralph_home())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(left, ["archive"]);
    // The hooks are gone and nobody misses them: the client goes on as before.
    let stand_in = StandIn::start(Script::new().turn(ScriptedTurn::text("Still here."))).unwrap();
    let run = world.client(&stand_in).prompt("Hello?");
    assert_eq!(run.result()["result"], "Still here.");
}

fn a_loop_in_between_is_not_forgotten() {
    let machine = Machine::new();
    machine.install().exits(0);
    machine.types(&["start", "--session", "session-1", "Write a greeting"]).exits(0);
    says(&machine.types(&["uninstall"]).exits(0), &["`ralph uninstall --all`"]);
    machine.install().exits(0);
    says(&machine.types(&["status"]).exits(0), &["Write a greeting"]);
    says(&machine.types(&["doctor"]).exits(0), &["ok    loops: 1 stored, 1 live"]);
}
