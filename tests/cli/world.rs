//! A project, a private home and a folder of stand-ins for the hooks; nothing of the developer's.

use crate::timeless::without_time;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) struct World {
    folder: tempfile::TempDir,
}

/// What a call printed, with what differs from run to run replaced.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Printed {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) exit: i32,
}

impl Printed {
    #[track_caller]
    pub(crate) fn check(&self, exit: i32, stdout: &str, stderr: &str) {
        assert_eq!((self.stdout.as_str(), self.stderr.as_str(), self.exit), (stdout, stderr, exit));
    }

    #[track_caller]
    pub(crate) fn done(self) -> Printed {
        assert_eq!(self.exit, 0, "{self:?}");
        self
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap()
    }
}

impl World {
    pub(crate) fn new() -> World {
        let world = World { folder: ralph_test_support::private_folder("ralph-test-") };
        for folder in ["home", "project", "other", "bin"] {
            fs::create_dir(world.path(folder)).unwrap();
        }
        for program in ["ralph-stop-hook", "ralph-pre-tool-use", "make"] {
            let path = world.path("bin").join(program);
            fs::write(&path, "#!/bin/sh\n").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        world.set_user("");
        world
    }

    /// With a user whose client asks about nothing, so that headless rounds can work.
    pub(crate) fn permissive(self) -> World {
        let settings = r#"{"permissions": {"defaultMode": "bypassPermissions"}}"#;
        self.write("home/.claude/settings.json", settings);
        self
    }

    /// With `git` on `PATH`.
    pub(crate) fn with_git(self) -> World {
        let path = std::env::var_os("PATH").unwrap();
        let git = std::env::split_paths(&path).map(|folder| folder.join("git"));
        let git = git.into_iter().find(|git| git.is_file()).unwrap();
        std::os::unix::fs::symlink(git, self.path("bin/git")).unwrap();
        self
    }

    /// With `git`, and a repository without a commit in the project's folder.
    pub(crate) fn under_git(self) -> World {
        let world = self.with_git();
        let mut command = world.command(Path::new("git"), "");
        assert!(command.args(["init", "-q", "-b", "main"]).status().unwrap().success());
        world
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes the user's own settings. The stand-in for a client has no sandbox.
    pub(crate) fn set_user(&self, text: &str) {
        let text = format!("{text}[client]\nsandbox = false\n");
        self.write("home/.config/ralph/config.toml", &text);
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// In a terminal, as far as the environment says.
    pub(crate) fn ralph(&self, arguments: &[&str]) -> Printed {
        self.run("", arguments, "")
    }

    /// In the shell of a session of the client.
    pub(crate) fn in_session(&self, session: &str, arguments: &[&str], stdin: &str) -> Printed {
        self.run(session, arguments, stdin)
    }

    pub(crate) fn run(&self, session: &str, arguments: &[&str], stdin: &str) -> Printed {
        let mut command = self.command(Path::new(env!("CARGO_BIN_EXE_ralph")), session);
        command.args(arguments);
        self.finish(start(&mut command), stdin)
    }

    pub(crate) fn command(&self, executable: &Path, session: &str) -> Command {
        let mut command = Command::new(executable);
        command
            .env_clear()
            .env("HOME", self.path("home"))
            .env("RALPH_HOME", self.path("ralph"))
            .env("PATH", self.path("bin"))
            .env("TZ", "UTC")
            .envs(ralph_test_support::portable())
            .current_dir(self.path("project"));
        if !session.is_empty() {
            command.env("CLAUDE_CODE_SESSION_ID", session);
        }
        command
    }

    pub(crate) fn finish(&self, mut child: Child, stdin: &str) -> Printed {
        // A command that refuses does not read; the pipe it leaves is no failure of the test.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        let output = child.wait_with_output().unwrap();
        Printed {
            stdout: self.settled(&output.stdout),
            stderr: self.settled(&output.stderr),
            exit: output.status.code().unwrap(),
        }
    }

    /// Loop ids become `[LOOP]`, archive time stamps go, and our folder becomes `[ROOT]`.
    fn settled(&self, bytes: &[u8]) -> String {
        let mut text = String::from_utf8(bytes.to_vec()).unwrap();
        let root = self.folder.path().to_str().unwrap();
        for archived in names(&self.path("ralph/archive")) {
            text = text.replace(&archived, "[ARCHIVED]");
        }
        let archived = names(&self.path("ralph/archive"));
        let ids = archived.iter().filter_map(|name| name.splitn(4, '_').nth(3).map(str::to_owned));
        for id in ids.chain(self.loop_ids()) {
            text = text.replace(&id, "[LOOP]");
        }
        without_time(&text).replace(root, "[ROOT]")
    }

    pub(crate) fn loop_ids(&self) -> Vec<String> {
        names(&self.path("ralph/loops"))
    }

    /// The id of the only loop.
    pub(crate) fn loop_id(&self) -> String {
        let ids = self.loop_ids();
        assert_eq!(ids.len(), 1, "{ids:?}");
        ids[0].clone()
    }

    pub(crate) fn state_file(&self) -> PathBuf {
        self.path("ralph/loops").join(self.loop_id()).join("state.json")
    }

    pub(crate) fn state(&self) -> Value {
        serde_json::from_slice(&fs::read(self.state_file()).unwrap()).unwrap()
    }

    pub(crate) fn change_state(&self, change: impl FnOnce(&mut Value)) {
        let mut state = self.state();
        change(&mut state);
        self.write_state(&state.to_string());
    }

    /// Writes the state behind Ralph's back, which keeps nothing to tell it by.
    pub(crate) fn write_state(&self, text: &str) {
        fs::write(self.state_file(), text).unwrap();
        let _ = fs::remove_dir_all(self.path(".ralph-kept"));
    }

    /// Changes the state of the only ended loop.
    pub(crate) fn change_ended(&self, change: impl FnOnce(&mut Value)) {
        let archive = self.path("ralph/archive");
        let [folder] = &names(&archive)[..] else { panic!("there is more than one ended loop") };
        let file = archive.join(folder).join("state.json");
        let mut state: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        change(&mut state);
        fs::write(file, state.to_string()).unwrap();
    }

    /// A loop that runs in a session, started from a terminal.
    pub(crate) fn live_loop(self, session: &str) -> World {
        self.ralph(&["start", "--session", session, "fix it"]).done();
        self
    }

    /// Replaces the journal of the only loop.
    pub(crate) fn write_journal(&self, lines: &str) {
        fs::write(self.state_file().with_file_name("journal.jsonl"), lines).unwrap();
    }

    /// The journal of the only loop: event and decision of each line.
    pub(crate) fn journal(&self) -> Vec<String> {
        let path = self.state_file().with_file_name("journal.jsonl");
        let entry = |line: &str| {
            let entry: Value = serde_json::from_str(line).unwrap();
            format!("{}: {}", entry["event"].as_str().unwrap(), entry["decision"].as_str().unwrap())
        };
        let text = fs::read_to_string(path).unwrap_or_default();
        text.lines().filter(|line| !line.is_empty()).map(entry).collect()
    }
}

pub(crate) fn start(command: &mut Command) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Reached only by a test that fails.
const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until a condition holds.
#[track_caller]
pub(crate) fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "{what} did not come to be");
        std::thread::sleep(Duration::from_millis(10));
    }
}
