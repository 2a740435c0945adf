//! The scratch folder, with a repository, a home and Ralph's home in it.
//!
//! Programs started here see this folder and the programs on `PATH`, and nothing of
//! the user's own configuration.

use super::ProgramMissing;
use crate::demo::PROJECT;
use crate::demo::scripted::StepAnswer;
use anyhow::{Context, Result, bail};
use ralph_core::protocol::registration::COMMAND_LINE;
use ralph_io::process::{self, ProbeResult, Program, ProgramEnd};
use ralph_io::project::user_files;
use ralph_io::store::atomic;
use ralph_io::store::home::Home;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// Longer than any program takes that is started here.
const DEADLINE: Duration = Duration::from_secs(60);

/// The scratch folder. It is removed on drop, unless it is kept.
#[derive(Debug)]
pub(super) struct Stage {
    root: TempDir,
    executables: PathBuf,
    folders: Folders,
}

#[derive(Debug, Clone)]
struct Folders {
    project: PathBuf,
    home: PathBuf,
    config: PathBuf,
    settings: PathBuf,
    ralph_home: PathBuf,
    temporary: PathBuf,
}

impl Stage {
    /// Makes the folder, with a repository that has one commit.
    pub(super) fn set(executables: &Path) -> Result<Stage> {
        let root = tempfile::Builder::new()
            .prefix("ralph-demo-")
            .tempdir()
            .context("could not make a scratch folder")?;
        let real = user_files::real(root.path()).unwrap_or_else(|| root.path().to_owned());
        let home = real.join("home");
        let folders = Folders {
            project: real.join("project"),
            config: home.join(".claude"),
            settings: home.join(".config/ralph"),
            ralph_home: home.join("ralph"),
            temporary: real.join("tmp"),
            home,
        };
        for folder in [&folders.project, &folders.config, &folders.settings, &folders.temporary] {
            user_files::make_folders(folder, 0o700)?;
        }
        let stage = Stage { root, executables: executables.to_owned(), folders };
        // The installed linters differ from machine to machine, so none of them runs.
        let settings = stage.folders.settings.join("config.toml");
        atomic::write(&settings, b"[backpressure]\noff = [\"all\"]\n")?;
        stage.git(&["init", "-q"])?;
        user_files::make_folders(&stage.project().join("tests"), 0o700)?;
        for (name, text) in PROJECT {
            stage.write(name, text)?;
        }
        stage.git(&["add", "-A"])?;
        stage.git(&["commit", "-qm", "Begin"])?;
        Ok(stage)
    }

    /// Keeps the folder on drop.
    pub(super) fn keep(&mut self) -> &Path {
        self.root.disable_cleanup(true);
        self.root.path()
    }

    /// The repository.
    pub(super) fn project(&self) -> &Path {
        &self.folders.project
    }

    /// The client's configuration folder.
    pub(super) fn config(&self) -> &Path {
        &self.folders.config
    }

    pub(super) fn ralph_home(&self) -> Home {
        Home::at(&self.folders.ralph_home)
    }

    /// The path of one of our executables.
    pub(super) fn executable(&self, name: &str) -> String {
        self.executables.join(name).to_string_lossy().into_owned()
    }

    /// Writes a file of the project.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<()> {
        atomic::write(&self.project().join(name), text.as_bytes())
    }

    /// Runs a `ralph` command as a user would, in a terminal of the project.
    pub(super) fn look(&self, args: &[&str]) -> Result<StepAnswer> {
        let ralph = self.executable(COMMAND_LINE);
        let outcome = self.run(Errand { command: &ralph, args, ..Errand::default() })?;
        Ok(match outcome.ended {
            ProgramEnd::Exited(0) => StepAnswer::Ran(outcome.stdout),
            _ => StepAnswer::Other(format!("`ralph` failed: {}", outcome.stderr.trim())),
        })
    }

    /// Runs a program in the project, without anything of our own environment.
    pub(super) fn run(&self, errand: Errand<'_>) -> Result<ProbeResult> {
        let environment = self.environment();
        let ours = environment.iter().map(|(name, value)| (*name, value.as_os_str()));
        let own = errand.env.iter().map(|(name, value)| (*name, OsStr::new(value)));
        process::run_once_apart(&Program {
            command: errand.command,
            args: errand.args.to_vec(),
            folder: self.project(),
            stdin: errand.stdin,
            env: ours.chain(own).collect(),
            deadline: errand.deadline.unwrap_or(DEADLINE),
        })
    }

    fn git(&self, args: &[&str]) -> Result<String> {
        let ran = self.run(Errand { command: "git", args, ..Errand::default() });
        let outcome = ran.map_err(|_| {
            ProgramMissing("could not start `git`; the demo needs it: install it".to_owned())
        })?;
        if outcome.ended != ProgramEnd::Exited(0) {
            bail!("could not run `git {}`: {}", args.join(" "), outcome.stderr.trim());
        }
        Ok(outcome.stdout)
    }

    fn environment(&self) -> Vec<(&'static str, OsString)> {
        let at = &self.folders;
        let text = |value: &str| OsString::from(value);
        vec![
            ("PATH", self.path()),
            ("HOME", at.home.clone().into()),
            ("CLAUDE_CONFIG_DIR", at.config.clone().into()),
            ("RALPH_HOME", at.ralph_home.clone().into()),
            ("TMPDIR", at.temporary.clone().into()),
            ("LANG", text("C.UTF-8")),
            ("TERM", text("dumb")),
            ("GIT_CONFIG_GLOBAL", text("/dev/null")),
            ("GIT_CONFIG_NOSYSTEM", text("1")),
            ("GIT_AUTHOR_NAME", text("Demo")),
            ("GIT_AUTHOR_EMAIL", text("demo@example.invalid")),
            ("GIT_COMMITTER_NAME", text("Demo")),
            ("GIT_COMMITTER_EMAIL", text("demo@example.invalid")),
        ]
    }

    /// Our folder first, so that the agent runs the `ralph` being demonstrated.
    fn path(&self) -> OsString {
        let theirs = std::env::var_os("PATH").unwrap_or_default();
        let folders =
            std::iter::once(self.executables.clone()).chain(std::env::split_paths(&theirs));
        std::env::join_paths(folders).unwrap_or(theirs)
    }
}

/// A program to run, with its input and variables beyond those of the scratch folder.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Errand<'a> {
    pub(super) command: &'a str,
    pub(super) args: &'a [&'a str],
    pub(super) stdin: &'a str,
    pub(super) env: &'a [(&'a str, String)],
    /// The usual deadline if not set.
    pub(super) deadline: Option<Duration>,
}
