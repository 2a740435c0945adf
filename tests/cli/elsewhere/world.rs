//! A user with a home and a project, and commands that run there on other files.

use super::caller::{ANSWER, ORDER};
use ralph_core::project::bounds::{Bounds, BoundsInput, GitFolders};
use ralph_core::project::settings::SandboxSettings;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// An ordinary user, played where root runs the tests.
const ORDINARY: u32 = 1002;

const PATIENCE: Duration = Duration::from_secs(120);

pub(super) struct World {
    folder: tempfile::TempDir,
    /// The user who runs everything, unless it is the one who runs the tests.
    user: Option<u32>,
    environment: Vec<(String, String)>,
    deadline: Duration,
    /// A line of shell that starts the caller, which is `"$@"`.
    wrapper: Option<&'static str>,
    is_bounded: bool,
    replaced: Vec<Value>,
    watched: Vec<PathBuf>,
}

/// What came of a command.
#[derive(Debug)]
pub(super) struct Answer(pub(super) Value);

/// Beside the build, where an ordinary user can go: a folder for temporary files may be only its owner's. And what a
/// bounded command writes in `/tmp` is lost anyway, and would prove nothing.
const HERE: &str = env!("CARGO_TARGET_TMPDIR");

/// Plays a scene for the user of the tests and, if that is root, for an ordinary one. Skipped aloud where
/// no overlay can be made.
pub(super) fn each(scene: impl Fn(World)) {
    each_in(HERE.as_ref(), scene);
}

pub(super) fn each_in(folder: &Path, scene: impl Fn(World)) {
    let is_root = rustix::process::geteuid().is_root();
    for user in [None, is_root.then_some(ORDINARY)].into_iter().take(1 + usize::from(is_root)) {
        let world = World::of(folder, user);
        let tried = world.run("true");
        if tried.0["way"] != "overlay" {
            eprintln!("SKIPPED for {user:?}: no overlay can be made here: {}", tried.0["way"]);
            assert!(std::env::var_os("RALPH_PROOF").is_none() || !is_root, "{tried:?}");
            continue;
        }
        eprintln!("as {user:?}");
        scene(World::of(folder, user));
    }
}

impl World {
    /// For the user of the tests.
    pub(super) fn new() -> World {
        World::of(HERE.as_ref(), None)
    }

    fn of(within: &Path, user: Option<u32>) -> World {
        let folder = tempfile::tempdir_in(within).unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let world = World {
            folder,
            user,
            environment: Vec::new(),
            deadline: PATIENCE,
            wrapper: None,
            is_bounded: false,
            replaced: Vec::new(),
            watched: Vec::new(),
        };
        for name in ["home", "project", "answers"] {
            fs::create_dir(world.path(name)).unwrap();
            world.give(&world.path(name));
        }
        world
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    pub(super) fn project(&self, name: &str) -> PathBuf {
        self.path("project").join(name)
    }

    fn give(&self, path: &Path) {
        if let Some(user) = self.user {
            chown(path, Some(user), Some(user)).unwrap();
        }
    }

    pub(super) fn variable(mut self, name: &str, value: &str) -> World {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn deadline(mut self, millis: u64) -> World {
        self.deadline = Duration::from_millis(millis);
        self
    }

    pub(super) fn wrapped(mut self, line: &'static str) -> World {
        self.wrapper = Some(line);
        self
    }

    pub(super) fn bounded(mut self) -> World {
        self.is_bounded = true;
        self
    }

    /// A file of the project, with the folders above it.
    pub(super) fn file(self, name: &str, content: &str) -> World {
        self.file_at(&self.project(name), content);
        self
    }

    pub(super) fn file_at(&self, path: &Path, content: &str) {
        let missing: Vec<_> = path.ancestors().skip(1).take_while(|one| !one.exists()).collect();
        for folder in missing.into_iter().rev() {
            fs::create_dir(folder).unwrap();
            self.give(folder);
        }
        fs::write(path, content).unwrap();
        self.give(path);
    }

    /// The command sees this in a file of the project.
    pub(super) fn replaced(self, name: &str, content: &str) -> World {
        self.replaced_as(name, json!({"content": content, "is_executable": false}))
    }

    pub(super) fn absent(self, name: &str) -> World {
        self.replaced_as(name, json!({}))
    }

    pub(super) fn replaced_as(mut self, name: &str, mut form: Value) -> World {
        form["path"] = json!(self.project(name));
        self.replaced.push(form);
        self
    }

    pub(super) fn original(mut self) -> World {
        self.replaced.clear();
        self
    }

    pub(super) fn watched(mut self, name: &str) -> World {
        self.watched.push(self.project(name));
        self
    }

    /// Runs a command on the other files.
    #[track_caller]
    pub(super) fn run(&self, command: &str) -> Answer {
        let mut caller = self.start(command);
        let mut lines = BufReader::new(caller.stdout.take().unwrap()).lines().map_while(Result::ok);
        let answer = lines.find_map(|line| Some(line.strip_prefix(ANSWER)?.to_owned()));
        lines.for_each(drop);
        caller.wait().unwrap();
        let answer = serde_json::from_str(&answer.expect("the caller answers")).unwrap();
        assert_eq!(self.stored(), Vec::<PathBuf>::new(), "a run leaves nothing: {answer:?}");
        Answer(answer)
    }

    /// A caller, at work.
    pub(super) fn start(&self, command: &str) -> Child {
        let order = json!({
            "ralph": env!("CARGO_BIN_EXE_ralph"),
            "command": command,
            "folder": self.path("project"),
            "root": self.path("project"),
            "store": self.path("home/.local/state/ralph/elsewhere"),
            "output": self.path("answers/output"),
            "deadline_ms": self.deadline.as_millis() as u64,
            "bounds": self.is_bounded.then(|| self.bounds()),
            "replaced": self.replaced,
            "watched": self.watched,
        });
        let tests = std::env::current_exe().unwrap();
        let mut caller = match self.wrapper {
            None => self.as_user(&tests),
            Some(line) => {
                let mut shell = self.as_user(Path::new("/bin/sh"));
                shell.args(["-c", line, "sh"]).arg(tests);
                shell
            }
        };
        caller
            .args(["--exact", "elsewhere::caller::in_a_process_of_its_own", "--nocapture"])
            .env(ORDER, order.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Starts the command line of a program as the user of this world.
    pub(super) fn as_user(&self, program: &Path) -> Command {
        let mut command = match self.user {
            None => Command::new(program),
            Some(user) => {
                let mut command = Command::new("setpriv");
                let (user, group) = (format!("--reuid={user}"), format!("--regid={user}"));
                command.args([&user, &group, "--clear-groups", "--"]).arg(program);
                command
            }
        };
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.path("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs(ralph_test_support::portable())
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(self.path("project"));
        command
    }

    /// Runs a command line as the user of this world, on the machine's files. Returns its output.
    #[track_caller]
    pub(super) fn plainly(&self, line: &str) -> String {
        let output = self.as_user(Path::new("/bin/sh")).args(["-c", line]).output().unwrap();
        assert!(output.status.success(), "{line}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn bounds(&self) -> Bounds {
        let text = |name: &str| self.path(name).to_str().unwrap().to_owned();
        let git = text("project/.git");
        Bounds::from_input(&BoundsInput {
            project_root: &text("project"),
            git: self.path("project/.git").exists().then_some(GitFolders {
                own: &git,
                common: &git,
                hooks_path: None,
            }),
            home: &text("home"),
            ralph_home: &text("home/.local/state/ralph"),
            ralph_config: &text("home/.config/ralph"),
            client_config: &text("home/.claude"),
            settings: SandboxSettings::default(),
        })
    }

    /// What is in the folder for the overlays and copies.
    pub(super) fn stored(&self) -> Vec<PathBuf> {
        let store = fs::read_dir(self.path("home/.local/state/ralph/elsewhere"));
        store.into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
    }

    /// Every file of the world with its mode, time and content. Two that are equal stand for an
    /// untouched machine.
    pub(super) fn machine(&self) -> BTreeMap<PathBuf, (u32, i64, Vec<u8>)> {
        let mut all = BTreeMap::new();
        for folder in ["home", "project"] {
            collect(&self.path(folder), &mut all);
        }
        // Its times are those of the runs.
        all.retain(|path, _| !path.starts_with(self.path("home/.local")));
        all
    }
}

fn collect(path: &Path, all: &mut BTreeMap<PathBuf, (u32, i64, Vec<u8>)>) {
    let about = path.symlink_metadata().unwrap();
    let content = match about.is_dir() {
        true => {
            let entries = fs::read_dir(path).unwrap();
            entries.for_each(|entry| collect(&entry.unwrap().path(), all));
            Vec::new()
        }
        false if about.is_file() => fs::read(path).unwrap(),
        false => Vec::new(),
    };
    let is_home = path.ends_with("home");
    let time = if is_home { 0 } else { about.mtime_nsec() + about.mtime() * 1_000_000_000 };
    all.insert(path.to_owned(), (about.mode(), time, content));
}

impl Answer {
    #[track_caller]
    pub(super) fn ended(&self, expected: &str) -> &Answer {
        assert_eq!(self.0["ended"], expected, "{self:?}");
        self
    }

    #[track_caller]
    pub(super) fn passes(&self) -> &Answer {
        self.ended("Exited(0)")
    }

    #[track_caller]
    pub(super) fn tail(&self, expected: &str) -> &Answer {
        assert_eq!(self.0["tail"], expected, "{self:?}");
        self
    }

    #[track_caller]
    pub(super) fn opened(&self, expected: &[&str]) -> &Answer {
        assert_eq!(self.0["opened"], json!(expected), "{self:?}");
        self
    }

    pub(super) fn text(&self, name: &str) -> &str {
        self.0[name].as_str().unwrap()
    }
}
