//! A world to run in: a project, a private home, the client's configuration, and
//! the executables on `PATH`.
//!
//! The client's first-run dialogs are answered beforehand, so that a session starts at its prompt.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::executables::scratch;
use crate::fake_api::{DUMMY_API_KEY, StandIn};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::run::json_lines;
use super::{Client, PATIENCE, Probe, Run, Terminal, executables, journals};

/// Everything that one test may touch; removed at the end.
pub struct World {
    root: TempDir,
}

impl World {
    /// A project under git with one commit.
    pub fn new() -> World {
        let world = World::without_commit();
        world.write("README.md", "# A project\n");
        world.git(&["add", "-A"]);
        world.git(&["commit", "-q", "-m", "Start"]);
        world
    }

    /// A project under git that has no commit yet.
    pub fn without_commit() -> World {
        let world = World::without_git();
        world.git(&["init", "-q", "-b", "main"]);
        world
    }

    /// A project under git whose headless rounds run in the client's sandbox, as they do for a user.
    /// It is on the disk: the sandbox has a `/dev` of its own, and so no `/dev/shm` of ours.
    pub fn sandboxed() -> World {
        let folder = tempfile::Builder::new().prefix("ralph-test-").tempdir_in(scratch());
        let world = World::laid_out(folder.unwrap());
        fs::remove_file(world.ralph_settings()).unwrap();
        world.git(&["init", "-q", "-b", "main"]);
        world.write("README.md", "# A project\n");
        world.git(&["add", "-A"]);
        world.git(&["commit", "-q", "-m", "Start"]);
        world
    }

    /// A project that is no git repository.
    pub fn without_git() -> World {
        World::laid_out(crate::private_folder("ralph-test-"))
    }

    fn laid_out(root: TempDir) -> World {
        let world = World { root };
        for folder in ["project", "home", "config", "ralph", "probes", "tmp"] {
            fs::create_dir(world.root().join(folder)).unwrap();
        }
        world.write_json(
            &world.config().join(".claude.json"),
            &first_run_answers(&[&world.project()]),
        );
        world.write_json(
            &world.settings_file(),
            &json!({"skipDangerousModePermissionPrompt": true}),
        );
        world.set_ralph("[client]\nsandbox = false\n");
        world
    }

    /// The real path: the client reports paths without symbolic links.
    pub fn root(&self) -> PathBuf {
        self.root.path().canonicalize().unwrap()
    }

    pub fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    /// `$HOME`.
    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// `$CLAUDE_CONFIG_DIR`.
    pub fn config(&self) -> PathBuf {
        self.root().join("config")
    }

    /// `$RALPH_HOME`.
    pub fn ralph_home(&self) -> PathBuf {
        self.root().join("ralph")
    }

    /// The user's settings.
    pub fn settings_file(&self) -> PathBuf {
        self.config().join("settings.json")
    }

    /// The user's settings for Ralph.
    pub fn ralph_settings(&self) -> PathBuf {
        self.home().join(".config/ralph/config.toml")
    }

    /// Writes the user's settings for Ralph.
    pub fn set_ralph(&self, text: &str) {
        fs::create_dir_all(self.ralph_settings().parent().unwrap()).unwrap();
        fs::write(self.ralph_settings(), text).unwrap();
    }

    /// Writes a file of the project.
    pub fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.project().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Sets top-level keys of the user's settings.
    pub fn settings(&self, keys: Value) -> &World {
        let mut settings = self.read_settings();
        settings.extend(keys.as_object().expect("settings are an object").clone());
        self.write_json(&self.settings_file(), &Value::Object(settings));
        self
    }

    /// Registers a hook in the user's settings, with an entry in the client's format; an empty
    /// matcher matches everything.
    pub fn hook(&self, event: &str, matcher: &str, entry: Value) -> &World {
        let mut hooks = self.read_settings().remove("hooks").unwrap_or_else(|| json!({}));
        let group = json!({"matcher": matcher, "hooks": [entry]});
        match hooks[event].as_array_mut() {
            Some(groups) => groups.push(group),
            None => hooks[event] = json!([group]),
        }
        self.settings(json!({"hooks": hooks}))
    }

    /// Makes a recording hook and registers it for an event.
    pub fn probe(&self, event: &str, matcher: &str) -> Probe {
        let n_probes = fs::read_dir(self.root().join("probes")).unwrap().count();
        let probe = Probe::create(self.root().join("probes").join(format!("{n_probes}-{event}")));
        self.hook(event, matcher, probe.entry());
        probe
    }

    /// Writes a skill of the user; `text` is its whole `SKILL.md`.
    pub fn skill(&self, name: &str, text: &str) -> &World {
        self.write_into(&self.config().join("skills").join(name), "SKILL.md", text)
    }

    /// Writes an agent of the user.
    pub fn agent(&self, name: &str, text: &str) -> &World {
        self.write_into(&self.config().join("agents"), &format!("{name}.md"), text)
    }

    /// Runs git in the project; it must succeed.
    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        self.run("git", args, "").exits(0).stdout
    }

    /// Runs `ralph` in the project.
    pub fn ralph(&self, args: &[&str]) -> Run {
        self.run(executables().join("ralph"), args, "")
    }

    /// Runs `ralph` as a driver of the real client, whose model is the stand-in.
    pub fn ralph_with_client(&self, stand_in: &StandIn, args: &[&str]) -> Run {
        Run::of(self.driver(stand_in, args), "", 4 * PATIENCE)
    }

    /// The command of [`World::ralph_with_client`], for a test that changes it or ends it itself.
    pub fn driver(&self, stand_in: &StandIn, args: &[&str]) -> Command {
        let mut command = self.command(executables().join("ralph"));
        command.args(args).envs(self.client_environment(stand_in));
        command.env("RALPH_CLAUDE", super::client::executable());
        command
    }

    /// The path of the client under test.
    pub fn client_path(&self) -> PathBuf {
        super::client::executable()
    }

    /// Runs a hook executable in the project with `payload` on its stdin.
    pub fn hook_run(&self, executable: &str, args: &[&str], payload: &str) -> Run {
        self.run(executables().join(executable), args, payload)
    }

    /// Runs any program in the project.
    pub fn run(&self, program: impl Into<OsString>, args: &[&str], stdin: &str) -> Run {
        let mut command = self.command(program);
        command.args(args);
        Run::of(command, stdin, PATIENCE)
    }

    /// A command that sees this world and, of the developer's machine, only the system's programs.
    pub fn command(&self, program: impl Into<OsString>) -> Command {
        let mut command = Command::new(program.into());
        command.current_dir(self.project()).env_clear().envs(self.environment());
        command
    }

    /// A run of the client with `-p`.
    pub fn client<'a>(&'a self, stand_in: &'a StandIn) -> Client<'a> {
        Client::new(self, stand_in)
    }

    /// A session of the client in a terminal, at its prompt.
    pub fn terminal(&self, stand_in: &StandIn, args: &[&str]) -> Terminal {
        Terminal::start(self, stand_in, args)
    }

    /// A session in a terminal in another permission mode; its prompt is there when
    /// the screen shows `ready`.
    pub fn terminal_in(&self, stand_in: &StandIn, mode: &str, ready: &str) -> Terminal {
        Terminal::start_with(self, stand_in, &["--permission-mode", mode], ready)
    }

    /// The rows of all main transcripts of this world, session by session.
    pub fn transcript(&self) -> Vec<Value> {
        self.transcript_files().iter().flat_map(|path| whole_rows(path)).collect()
    }

    /// The rows of one session's transcript.
    pub fn transcript_of(&self, session_id: &str) -> Vec<Value> {
        let files = self.transcript_files();
        let file =
            files.iter().find(|path| path.file_stem().is_some_and(|stem| stem == session_id));
        file.map(|path| whole_rows(path)).unwrap_or_default()
    }

    /// Leaves out subagents' transcripts, which lie in folders below.
    fn transcript_files(&self) -> Vec<PathBuf> {
        let projects = fs::read_dir(self.config().join("projects")).into_iter().flatten().flatten();
        let files = projects
            .flat_map(|project| fs::read_dir(project.path()).into_iter().flatten().flatten());
        files
            .map(|file| file.path())
            .filter(|path| path.extension().is_some_and(|ext| ext == "jsonl"))
            .collect()
    }

    /// The client's environment, with `stand_in` as the API.
    pub fn client_environment(&self, stand_in: &StandIn) -> Vec<(OsString, OsString)> {
        let fixed = [
            ("ANTHROPIC_API_KEY", DUMMY_API_KEY),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL", "1"),
            ("CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION", "false"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("DISABLE_ERROR_REPORTING", "1"),
            ("DISABLE_TELEMETRY", "1"),
            // As root the client skips permissions only if it is told that this is a
            // sandbox, which it is.
            ("IS_SANDBOX", "1"),
        ];
        let mut all = self.environment();
        all.push(("ANTHROPIC_BASE_URL".into(), stand_in.url().into()));
        all.extend(fixed.map(|(name, value)| (name.into(), value.into())));
        all
    }

    fn environment(&self) -> Vec<(OsString, OsString)> {
        let system_path = std::env::var_os("PATH").unwrap_or_default();
        let folders =
            std::iter::once(executables().to_owned()).chain(std::env::split_paths(&system_path));
        let path = std::env::join_paths(folders).expect("no folder of PATH holds a colon");
        let folders = [
            ("HOME", self.home()),
            ("CLAUDE_CONFIG_DIR", self.config()),
            ("RALPH_HOME", self.ralph_home()),
            ("TMPDIR", self.root().join("tmp")),
            ("GIT_CONFIG_GLOBAL", PathBuf::from("/dev/null")),
        ];
        let words = [
            ("LANG", "C.UTF-8"),
            // Without it the client takes zsh where there is one.
            ("SHELL", "/bin/bash"),
            ("TERM", "xterm-256color"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_AUTHOR_NAME", "Test"),
            ("GIT_AUTHOR_EMAIL", "test@example.invalid"),
            ("GIT_COMMITTER_NAME", "Test"),
            ("GIT_COMMITTER_EMAIL", "test@example.invalid"),
        ];
        let folders = folders.map(|(name, value)| (name.into(), value.into_os_string()));
        let words = words.map(|(name, value)| (name.into(), value.into()));
        let portable = super::portable().map(|(name, value)| (name.into(), value.into()));
        let rest = folders.into_iter().chain(words).chain(portable);
        std::iter::once(("PATH".into(), path)).chain(rest).collect()
    }

    fn read_settings(&self) -> Map<String, Value> {
        let text = fs::read_to_string(self.settings_file()).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    fn write_into(&self, folder: &Path, name: &str, text: &str) -> &World {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join(name), text).unwrap();
        self
    }

    fn write_json(&self, path: &Path, value: &Value) {
        fs::write(path, serde_json::to_string_pretty(value).unwrap()).unwrap();
    }
}

impl Drop for World {
    fn drop(&mut self) {
        journals::replay_all(&self.ralph_home());
    }
}

/// Leaves out the last line, which may be incomplete while the client lives.
fn whole_rows(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    let end = text.rfind('\n').unwrap_or(0);
    json_lines(&text[..end])
}

/// The user's answers to the client's first dialogs: theme, key, trust in the folder.
fn first_run_answers(trusted: &[&Path]) -> Value {
    let project = json!({"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true, "projectOnboardingSeenCount": 1});
    let projects: Map<String, Value> =
        trusted.iter().map(|path| (path.display().to_string(), project.clone())).collect();
    // The client remembers the last twenty characters of an approved key.
    let key_tail = &DUMMY_API_KEY[DUMMY_API_KEY.len() - 20..];
    json!({
        "hasCompletedOnboarding": true, "theme": "dark", "numStartups": 5, "bypassPermissionsModeAccepted": true,
        "customApiKeyResponses": {"approved": [key_tail], "rejected": []}, "projects": projects,
    })
}
