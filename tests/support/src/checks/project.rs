//! A project with installed tools and a loop in it, and edits of its files as the client reports them.

use super::tools;
use crate::session::{Ran, World};
use crate::wait_until;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The programs of a small system. What a test is about is added to them.
const SYSTEM: [&str; 16] = [
    "sh", "bash", "env", "git", "cat", "chmod", "cp", "date", "dirname", "ls", "mkdir", "readlink",
    "rm", "sed", "sleep", "uname",
];

/// What git does not look at.
const IGNORED: &str = "node_modules\n.venv\n__pycache__\n.*_cache\ntarget\n";

/// A project to be edited.
pub struct Project {
    pub world: World,
}

/// What came of an edit.
#[derive(Debug)]
pub struct Answer {
    /// What the model reads; empty if it is told nothing.
    pub text: String,
    pub took: Duration,
}

impl Project {
    /// These files, committed, and a `PATH` with these programs beside the system's.
    pub fn new(files: &[(&str, &str)], programs: &[&str]) -> Project {
        let mut world = World::new();
        let bin = world.root().join("bin");
        fs::create_dir(&bin).unwrap();
        for name in SYSTEM.iter().chain(programs) {
            let path = tools::find(name).unwrap_or_else(|| panic!("`{name}` is not on PATH"));
            symlink(path, bin.join(name)).unwrap();
        }
        symlink(tools::node(), bin.join("node")).unwrap();
        world.set("PATH", bin.to_str().unwrap());
        world.write(".gitignore", IGNORED);
        let project = Project { world };
        files.iter().for_each(|(path, text)| project.world.write(path, text));
        project.commit();
        project
    }

    /// The same, with the tools of npm in it.
    pub fn of_node(files: &[(&str, &str)]) -> Project {
        let project = Project::new(files, &[]);
        project.install_packages();
        project
    }

    /// The same, with the tools of Python in it.
    pub fn of_python(files: &[(&str, &str)]) -> Project {
        let project = Project::new(files, &[]);
        symlink(tools::folder().join("venv"), project.path(".venv")).unwrap();
        project
    }

    /// A folder of its own with a link for each package: what a tool writes there stays in the project.
    fn install_packages(&self) {
        let from = tools::folder().join("node_modules");
        let to = self.path("node_modules");
        fs::create_dir_all(to.join(".bin")).unwrap();
        let link = |name: &Path| symlink(from.join(name), to.join(name)).unwrap();
        for name in names(&from).iter().filter(|name| !is_hidden(name)) {
            link(name);
        }
        for name in names(&from.join(".bin")) {
            link(&Path::new(".bin").join(name));
        }
    }

    /// Puts a script in the place of a tool; `$REAL` in it is the tool itself.
    pub fn replace_tool(&self, name: &str, script: &str) {
        let place = self.path("node_modules/.bin").join(name);
        let real = fs::canonicalize(&place).unwrap();
        fs::remove_file(&place).unwrap();
        let real = format!("'{}' '{}'", tools::node().display(), real.display());
        fs::write(&place, format!("#!/bin/sh\n{}\n", script.replace("$REAL", &real))).unwrap();
        fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.world.project().join(path)
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    pub fn commit(&self) {
        self.world.git("add -A");
        self.world.git("commit -q --allow-empty -m files");
    }

    /// Gives checks all the time in the world, for tests that are not about time: machines are slow.
    /// An edit waits for all of them.
    pub fn patient(self) -> Project {
        self.with_budget(110)
    }

    /// Gives checks so many seconds, and lets an edit wait for all of them.
    pub fn with_budget(self, seconds: u32) -> Project {
        let settings =
            format!("[backpressure]\nbudget_seconds = {seconds}\nwait_seconds = {seconds}\n");
        self.world.settings(&settings);
        self.with_patient_hook()
    }

    /// Registers the hook with a timeout that no check reaches.
    pub fn with_patient_hook(self) -> Project {
        let entry =
            json!({"type": "command", "command": "ralph-backpressure settings", "timeout": 120});
        let settings =
            json!({"hooks": {"PostToolUse": [{"matcher": "Write|Edit", "hooks": [entry]}]}});
        let folder = self.world.root().join("home/.claude");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("settings.json"), settings.to_string()).unwrap();
        self
    }

    /// Starts a loop, with everything as it is by now.
    pub fn looping(self) -> Project {
        self.world.start("");
        self
    }

    /// The model writes a file, and hears this.
    pub fn write(&self, path: &str, text: &str) -> Answer {
        self.world.write(path, text);
        self.edited(path)
    }

    /// The client tells of a file that was written.
    pub fn edited(&self, path: &str) -> Answer {
        let input = json!({"file_path": self.path(path), "content": "x"});
        self.used(path, json!({"tool_name": "Write", "tool_input": input}))
    }

    /// Waits for the checks beside the work, and returns what the next tool tells of them.
    pub fn late(&self) -> Answer {
        let list = self.world.state_path().with_file_name("later.json");
        let is_done = || {
            let list = fs::read_to_string(&list).unwrap_or_default();
            !list.contains("\"at_stop\":false")
        };
        assert!(wait_until(Duration::from_secs(120), is_done), "checks are still due");
        self.used("late", json!({"tool_name": "Read", "tool_input": {"file_path": "/x"}}))
    }

    /// The hook's answer after a tool.
    fn used(&self, path: &str, members: Value) -> Answer {
        let began = Instant::now();
        let ran = self.world.event("ralph-backpressure", "PostToolUse", members);
        let answer = Answer { took: began.elapsed(), text: text_of(&ran) };
        if std::env::var_os("RALPH_SHOW_ANSWERS").is_some() {
            eprintln!("--- {path}, {:.1} s\n{}", answer.took.as_secs_f32(), answer.text);
        }
        answer
    }
}

impl Answer {
    /// Fails the test unless the model is told all of this.
    #[track_caller]
    pub fn says(self, words: &[&str]) -> Answer {
        for one in words {
            assert!(self.text.contains(one), "`{one}` is not in:\n{}", self.text);
        }
        self
    }

    /// Fails the test if the model is told any of this.
    #[track_caller]
    pub fn says_nothing_of(self, words: &[&str]) -> Answer {
        for one in words {
            assert!(!self.text.contains(one), "`{one}` is in:\n{}", self.text);
        }
        self
    }

    #[track_caller]
    pub fn silent(self) -> Answer {
        assert_eq!(self.text, "");
        self
    }

    #[track_caller]
    pub fn came_within(self, seconds: f64) -> Answer {
        let took = self.took.as_secs_f64();
        assert!(took <= seconds, "it took {took:.1} s and not {seconds} s:\n{}", self.text);
        self
    }
}

fn text_of(ran: &Ran) -> String {
    match ran.out().is_empty() {
        true => {
            assert_eq!(ran.err(), "", "{ran:?}");
            String::new()
        }
        false => ran.context(),
    }
}

fn names(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| PathBuf::from(entry.unwrap().file_name())).collect()
}

fn is_hidden(name: &Path) -> bool {
    name.to_string_lossy().starts_with('.')
}

/// Module `n` uses three before it, so that an edit is felt far away. It has so many functions.
pub fn module(n: usize, n_parts: usize) -> String {
    let uses: Vec<usize> = [1, 7, 61].into_iter().filter_map(|step| n.checked_sub(step)).collect();
    let mut text: String =
        uses.iter().map(|of| format!("import {{ value{of} }} from \"./m{of}\";\n")).collect();
    let sum: String = uses.iter().map(|of| format!(" + value{of}.total")).collect();
    text.push_str(&format!(
        "\nexport interface Shape{n} {{\n  name: string;\n  total: number;\n  parts: Record<string, number[]>;\n}}\n"
    ));
    for part in 0..n_parts {
        text.push_str(&format!(
            "\nexport function part{n}_{part}(of: Shape{n}): number[] {{\n  const found = of.parts[\"{part}\"] ?? [];\n  \
             return found.map((one) => one * {part});\n}}\n"
        ));
    }
    text.push_str(&format!(
        "\nexport const value{n}: Shape{n} = {{\n  name: \"{n}\",\n  total: {n}{sum},\n  parts: {{}},\n}};\n"
    ));
    text
}
