//! The scratch folder, with a repository, a home and Ralph's home in it.
//!
//! Programs started here see this folder and the programs on `PATH`, and nothing of
//! the user's own configuration.

use crate::command::exit::{Exit, refused};
use crate::demo::PROJECT;
use crate::demo::scripted::{AnswerKind, StepAnswer};
use anyhow::{Context, Result, bail};
use ralph_core::protocol::registration::COMMAND_LINE;
use ralph_io::process::{self, ProbeResult, Program, ProgramEnd};
use ralph_io::project::user_files;
use ralph_io::store::home::Home;
use ralph_io::store::{archive, atomic, lifecycle};
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
    /// Its real path.
    real: PathBuf,
    executables: PathBuf,
}

impl Stage {
    /// Makes the folder, with a repository that has one commit.
    pub(super) fn set(executables: &Path) -> Result<Stage> {
        let root = tempfile::Builder::new()
            .prefix("ralph-demo-")
            .tempdir()
            .context("could not make a scratch folder")?;
        let real = user_files::real(root.path()).unwrap_or_else(|| root.path().to_owned());
        let stage = Stage { root, real, executables: executables.to_owned() };
        for folder in ["project/tests", "home/.claude", "home/.config/ralph", "tmp"] {
            user_files::make_folders(&stage.at(folder), 0o700)?;
        }
        // The installed linters differ from machine to machine, so none of them runs.
        let settings = stage.at("home/.config/ralph/config.toml");
        atomic::write(&settings, b"[backpressure]\noff = [\"all\"]\n")?;
        stage.git(&["init", "-q"])?;
        for (name, text) in PROJECT {
            stage.write(name, text)?;
        }
        stage.git(&["add", "-A"])?;
        stage.git(&["commit", "-qm", "Begin"])?;
        Ok(stage)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.real.join(path)
    }

    /// Keeps the folder on drop.
    pub(super) fn keep(&mut self) -> &Path {
        self.root.disable_cleanup(true);
        self.root.path()
    }

    /// The repository.
    pub(super) fn project(&self) -> PathBuf {
        self.at("project")
    }

    /// The client's configuration folder.
    pub(super) fn config(&self) -> PathBuf {
        self.at("home/.claude")
    }

    /// The loop's folder, which is in the archive once the loop has ended.
    pub(super) fn loop_folder(&self) -> Option<PathBuf> {
        let home = Home::at(self.at("home/ralph"));
        let live = lifecycle::all(&home).into_iter().next();
        live.map(|(file, _)| file.folder().to_owned()).or_else(|| archive::folders(&home).pop())
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
    pub(super) fn run_ralph(&self, args: &[&str]) -> Result<StepAnswer> {
        let ralph = self.executable(COMMAND_LINE);
        let outcome = self.run(Errand { command: &ralph, args, ..Errand::default() })?;
        Ok(match outcome.ended {
            ProgramEnd::Exited(0) => StepAnswer::new(AnswerKind::Went, outcome.stdout),
            _ => StepAnswer::failed(format!("`ralph` failed: {}", outcome.stderr.trim())),
        })
    }

    /// Runs a program in the project, without anything of our own environment.
    pub(super) fn run(&self, errand: Errand<'_>) -> Result<ProbeResult> {
        let (environment, project) = (self.environment(), self.project());
        let ours = environment.iter().map(|(name, value)| (*name, value.as_os_str()));
        let own = errand.env.iter().map(|(name, value)| (*name, OsStr::new(value)));
        process::run_once_apart(&Program {
            command: errand.command,
            args: errand.args.to_vec(),
            folder: &project,
            stdin: errand.stdin,
            env: ours.chain(own).collect(),
            deadline: errand.deadline.unwrap_or(DEADLINE),
        })
    }

    fn git(&self, args: &[&str]) -> Result<String> {
        let ran = self.run(Errand { command: "git", args, ..Errand::default() });
        let missing = "could not start `git`; the demo needs it: install it";
        let outcome = ran.map_err(|_| refused(Exit::MissingProgram, missing))?;
        if outcome.ended != ProgramEnd::Exited(0) {
            bail!("could not run `git {}`: {}", args.join(" "), outcome.stderr.trim());
        }
        Ok(outcome.stdout)
    }

    fn environment(&self) -> Vec<(&'static str, OsString)> {
        let text = |value: &str| OsString::from(value);
        vec![
            ("PATH", self.path()),
            ("HOME", self.at("home").into()),
            ("CLAUDE_CONFIG_DIR", self.at("home/.claude").into()),
            ("RALPH_HOME", self.at("home/ralph").into()),
            ("TMPDIR", self.at("tmp").into()),
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
