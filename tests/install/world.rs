//! A private home, a folder of executables and a client: nothing reads the developer's machine.

use ralph_test_support::place_executable;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

pub(crate) const HOOKS: [&str; 5] = [
    "ralph-user-prompt",
    "ralph-pre-tool-use",
    "ralph-backpressure",
    "ralph-stop-hook",
    "ralph-session-context",
];

pub(crate) struct World {
    root: TempDir,
    pub(crate) env: BTreeMap<String, String>,
}

/// What a run printed and how it ended.
pub(crate) struct CommandResult {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: i32,
}

impl World {
    pub(crate) fn new() -> World {
        // On the file system of the build, so that the executable can be hard-linked: a copy that
        // is still open for writing in a forked sibling could not be started.
        let root = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let world = World { root, env: BTreeMap::new() };
        for folder in ["home/.claude", "bin", "project/.git"] {
            fs::create_dir_all(world.path(folder)).unwrap();
        }
        world.put_ralph("bin");
        for hook in HOOKS {
            symlink(fixture("quiet-hook"), world.path("bin").join(hook)).unwrap();
        }
        symlink(fixture("client"), world.path("bin/claude")).unwrap();
        world
    }

    pub(crate) fn put_ralph(&self, folder: &str) {
        fs::create_dir_all(self.path(folder)).unwrap();
        let place = self.path(folder).join("ralph");
        place_executable(env!("CARGO_BIN_EXE_ralph").as_ref(), &place);
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.root.path()).unwrap().join(name)
    }

    pub(crate) fn settings(&self) -> PathBuf {
        self.path("home/.claude/settings.json")
    }

    pub(crate) fn with_settings(self, text: &str) -> World {
        fs::write(self.settings(), text).unwrap();
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> World {
        self.env.insert(name.into(), value.into());
        self
    }

    /// The environment of a person with this home: nothing is inherited.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", self.path("home"))
            .env("RALPH_HOME", self.path("state"))
            .env("PATH", format!("{}:/usr/bin:/bin", self.path("bin").display()))
            .envs(&self.env)
            .current_dir(self.path("project"));
        command
    }

    pub(crate) fn ralph(&self, args: &[&str]) -> CommandResult {
        self.run_in("bin", args)
    }

    pub(crate) fn run_in(&self, folder: &str, args: &[&str]) -> CommandResult {
        said(&self.command(self.path(folder).join("ralph")).args(args).output().unwrap())
    }

    /// As [`World::ralph`], with a terminal as its standard output and error.
    pub(crate) fn ralph_on_a_terminal(&self, args: &[&str]) -> CommandResult {
        self.ralph_that_is_told("", args)
    }

    /// The same, where the user types this.
    pub(crate) fn ralph_that_is_told(&self, typed: &str, args: &[&str]) -> CommandResult {
        let line = [&[self.path("bin/ralph").to_str().unwrap()], args].concat().join(" ");
        let mut command = self.command("script");
        command.args(["-q", "-e", "-c", &line, "/dev/null"]).stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
        said(&child.wait_with_output().unwrap())
    }

    /// Runs git in the project; it must succeed.
    #[track_caller]
    pub(crate) fn git(&self, args: &[&str]) {
        let mut command = self.command("git");
        command.args(["-c", "user.name=t", "-c", "user.email=t@example.com"]).args(args);
        assert!(command.status().unwrap().success(), "git {args:?}");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        fs::symlink_metadata(self.path(name)).is_ok()
    }

    pub(crate) fn chmod(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    pub(crate) fn mode(&self, name: &str) -> u32 {
        fs::metadata(self.path(name)).unwrap().permissions().mode() & 0o7777
    }

    /// Every path below a folder with its content, links as what they point to.
    pub(crate) fn snapshot(&self, name: &str) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        collect(&self.path(name), &mut found);
        found
    }

    pub(crate) fn backups(&self, folder: &str) -> Vec<String> {
        let names = fs::read_dir(self.path(folder))
            .map(|entries| entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()));
        names.into_iter().flatten().filter(|name| name.contains(".ralph-backup-")).collect()
    }
}

impl CommandResult {
    #[track_caller]
    pub(crate) fn exit(self, code: i32) -> CommandResult {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub(crate) fn says(self, expected: &str) -> CommandResult {
        let all = format!("{}{}", self.stdout, self.stderr);
        assert!(all.contains(expected), "no `{expected}` in:\n{all}");
        self
    }

    #[track_caller]
    pub(crate) fn does_not_say(self, unexpected: &str) -> CommandResult {
        let all = format!("{}{}", self.stdout, self.stderr);
        assert!(!all.contains(unexpected), "`{unexpected}` in:\n{all}");
        self
    }
}

pub(crate) fn said(output: &Output) -> CommandResult {
    CommandResult {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        code: output.status.code().unwrap_or(-1),
    }
}

pub(crate) fn repository() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap()
}

pub(crate) fn fixture(name: &str) -> PathBuf {
    repository().join("tests/install/fixtures").join(name)
}

fn collect(path: &Path, found: &mut BTreeMap<PathBuf, String>) {
    let Ok(kind) = fs::symlink_metadata(path) else { return };
    if kind.is_symlink() {
        found.insert(path.to_owned(), format!("-> {}", fs::read_link(path).unwrap().display()));
    } else if kind.is_dir() {
        found.insert(path.to_owned(), "folder".into());
        for entry in fs::read_dir(path).unwrap() {
            collect(&entry.unwrap().path(), found);
        }
    } else {
        let text = fs::read_to_string(path).unwrap_or_else(|_| "an executable".into());
        found.insert(path.to_owned(), text);
    }
}
