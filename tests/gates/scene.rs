//! The executables, built just now, and the situations they are looked at in.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use crate::built::{self, Built, Linkage};
use crate::driver::Call;
use crate::home::Home;
use crate::payloads;

/// Why a gate could not look.
pub(crate) struct Skip(pub(crate) String);

/// A gate that cannot look must not pass for one that saw nothing wrong.
#[track_caller]
pub(crate) fn gate(name: &str, check: impl FnOnce() -> Result<(), Skip>) {
    let Err(Skip(why)) = check() else { return };
    assert!(!is_required(), "gate not checked: {name}: {why}");
    // Not `eprintln!`, which the test runner shows only for tests that fail.
    let _ = writeln!(std::io::stderr(), "SKIPPED gate: {name}: {why}");
}

/// Every gate has to be checked, and of a release: a build of some minutes.
pub(crate) fn is_required() -> bool {
    std::env::var_os("RALPH_REQUIRE_GATES").is_some_and(|value| value == "1")
}

pub(crate) struct Scene {
    hooks: Built,
    pub(crate) scratch: PathBuf,
    project: PathBuf,
    idle: Home,
    live: Home,
}

/// One start of a hook, or of the command line.
pub(crate) struct Run {
    program: PathBuf,
    args: &'static [&'static str],
    env: Vec<(OsString, OsString)>,
    folder: PathBuf,
    stdin: Vec<u8>,
    /// How its output begins; nothing for a program that has to keep silent.
    answer: &'static str,
}

pub(crate) fn scene() -> &'static Scene {
    static SCENE: OnceLock<Scene> = OnceLock::new();
    SCENE.get_or_init(|| Scene::set().expect("the gates build what they look at"))
}

impl Scene {
    fn set() -> anyhow::Result<Scene> {
        let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gates");
        let project = scratch.join("project");
        std::fs::create_dir_all(&project)?;
        Command::new("git").args(["init", "--quiet"]).current_dir(&project).output()?;
        let idle = Home::idle(&scratch.join("home-idle"))?;
        let ralph = built::command_line()?;
        let live = Home::live(&scratch.join("home-live"), &project, 8, ralph.as_deref())?;
        let hooks = if is_required() { built::hooks()? } else { built::unoptimised_hooks()? };
        Ok(Scene { hooks, scratch, project, idle, live })
    }

    pub(crate) fn executable(&self, hook: &str) -> Result<&Path, Skip> {
        self.hooks.get(hook).ok_or_else(|| Skip("there is no such executable".to_owned()))
    }

    /// A session without a loop.
    pub(crate) fn idle(&self, hook: &str) -> Result<Run, Skip> {
        let stdin = match hook {
            "ralph-stop-hook" => {
                payloads::stop(&self.project, &self.idle.transcript(), payloads::USUAL_MESSAGE)
            }
            "ralph-backpressure" => payloads::post_write(&self.project),
            _ => payloads::pre_write(&self.project, 1_000),
        };
        self.run(hook, &self.idle, stdin)
    }

    /// A session whose loop allows a file of this size to be written.
    pub(crate) fn active_tool_call(&self, hook: &str, content: usize) -> Result<Run, Skip> {
        self.run(hook, &self.live, payloads::pre_write(&self.project, content))
    }

    /// The status line of a session whose loop has a thousand tasks.
    pub(crate) fn status_line(&self) -> Result<Run, Skip> {
        static MADE: OnceLock<(PathBuf, Home)> = OnceLock::new();
        self.is_static()?;
        let (program, home) = MADE.get_or_init(|| {
            let ralph = self.ralph();
            let place = self.scratch.join("home-status-line");
            let home = Home::live(&place, &self.project, 1_000, Some(&ralph));
            (ralph, home.expect("a loop of a thousand tasks can be written"))
        });
        Ok(Run {
            program: program.clone(),
            args: &["statusline"],
            env: home.env(&self.project),
            folder: self.project.clone(),
            stdin: payloads::status_line(),
            answer: "\u{1b}[32mRalph 0/10000\u{1b}[0m | tasks 500/1000 | ",
        })
    }

    /// As a release, beside the hooks.
    fn ralph(&self) -> PathBuf {
        static BUILT: OnceLock<PathBuf> = OnceLock::new();
        let build = || built::neighbour(self.hooks.linkage).expect("the gates build `ralph`");
        BUILT.get_or_init(build).clone()
    }

    fn run(&self, hook: &str, home: &Home, stdin: Vec<u8>) -> Result<Run, Skip> {
        let program = self.executable(hook)?.to_owned();
        let (env, folder) = (home.env(&self.project), self.project.clone());
        Ok(Run { program, args: &["settings"], env, folder, stdin, answer: "" })
    }

    /// What is counted belongs to our code only where no other C library starts up with it.
    pub(crate) fn is_static(&self) -> Result<(), Skip> {
        match self.hooks.linkage {
            Linkage::StaticMusl => Ok(()),
            Linkage::HostTarget => {
                Err(Skip(format!("not a static musl build ({})", self.hooks.origin)))
            }
        }
    }
}

impl Run {
    /// Starts the program under a tool: `tool ARGS… HOOK settings`. A hook has to fall silent with
    /// exit code 0, since that is the answer to both situations.
    pub(crate) fn under(&self, tool: &str, args: &[OsString]) -> Result<Output, Skip> {
        let mut command = Command::new(tool);
        command.args(args).arg(&self.program).args(self.args);
        command.current_dir(&self.folder).env_clear().envs(self.env.iter().cloned());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child =
            command.spawn().map_err(|e| Skip(format!("could not start `{tool}`: {e}")))?;
        let mut input = child.stdin.take();
        if !self.stdin.is_empty() {
            // An idle hook exits without reading: a broken pipe is its right.
            let _ = input.take().map(|mut input| input.write_all(&self.stdin));
        }
        let output = child.wait_with_output().expect("its pipes are ours");
        // What a hook delegates is given up when this pipe closes.
        drop(input);
        self.check_answer(&output.stdout);
        Ok(output)
    }

    /// As a stopwatch starts it.
    pub(crate) fn call(&self) -> Call {
        Call {
            program: self.program.clone(),
            args: self.args.iter().map(Into::into).collect(),
            folder: self.folder.clone(),
            env: self.env.clone(),
            stdin: self.stdin.as_slice().into(),
        }
    }

    /// A wrong answer has no cost worth knowing.
    #[track_caller]
    pub(crate) fn check_answer(&self, stdout: &[u8]) {
        let right = match self.answer {
            "" => stdout.is_empty(),
            begins => stdout.starts_with(begins.as_bytes()),
        };
        let said = String::from_utf8_lossy(stdout);
        assert!(right, "`{}` said {said:?}, not {:?}", self.program.display(), self.answer);
    }
}
