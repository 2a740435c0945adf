//! A machine of its own: a home, a clone of a served repository, a `git` that can end its `ralph` at
//! any call, and a client that is a script.

mod scripts;
#[cfg(test)]
mod tests;

pub use scripts::When;

use crate::git_server::GitServer;
use crate::{Run, executables, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Everything that a machine has; its processes end and its files are removed with it.
pub struct Machine {
    folder: TempDir,
    running: Option<Child>,
}

/// Long enough for a command on a machine that many share.
const PATIENCE: Duration = Duration::from_secs(120);

impl Machine {
    /// A machine with a clone. `client` is the shell text of a round after the beginning in `scripts`;
    /// `common` is a folder that the clients of all machines see.
    pub fn new(server: &GitServer, client: &str, common: &Path) -> Machine {
        let folder = crate::private_folder("ralph-machine-");
        let machine = Machine { folder, running: None };
        for name in ["home/.claude", "bin", "tmp"] {
            fs::create_dir_all(machine.path(name)).unwrap();
        }
        server.clone_into(&machine.clone_folder());
        let settings = r#"{"permissions": {"defaultMode": "bypassPermissions"}}"#;
        fs::write(machine.path("home/.claude/settings.json"), settings).unwrap();
        let identity = "[user]\nname = Test\nemail = test@example.invalid\n";
        fs::write(machine.path("home/.gitconfig"), identity).unwrap();
        machine.set_ralph("");
        scripts::write(&machine, client, common);
        machine
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn clone_folder(&self) -> PathBuf {
        self.path("clone")
    }

    /// `$RALPH_HOME`.
    pub fn ralph_home(&self) -> PathBuf {
        self.path("ralph")
    }

    /// Writes the user's settings for Ralph. The client is a script and has no sandbox.
    pub fn set_ralph(&self, text: &str) {
        let file = self.path("home/.config/ralph/config.toml");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, format!("{text}[client]\nsandbox = false\n")).unwrap();
    }

    /// A program in the clone, which sees nothing of the developer's but the system's programs.
    pub fn command(&self, program: &str) -> Command {
        let system = std::env::var_os("PATH").unwrap_or_default();
        let folders = [self.path("bin"), executables().to_owned()].into_iter();
        let path = std::env::join_paths(folders.chain(std::env::split_paths(&system))).unwrap();
        let mut command = Command::new(program);
        command.current_dir(self.clone_folder()).env_clear().env("PATH", path);
        command.env("HOME", self.path("home")).env("RALPH_HOME", self.ralph_home());
        command.env("TMPDIR", self.path("tmp")).env("TZ", "UTC").env("LANG", "C.UTF-8");
        command.env("GIT_CONFIG_NOSYSTEM", "1").envs(crate::portable());
        command
    }

    /// Runs `ralph` to its end.
    pub fn ralph(&self, arguments: &[&str]) -> Run {
        self.ralph_with(arguments, "")
    }

    /// The same with a standard input.
    pub fn ralph_with(&self, arguments: &[&str], stdin: &str) -> Run {
        let mut command = self.command("ralph");
        command.args(arguments);
        Run::of(command, stdin, PATIENCE)
    }

    /// Starts `ralph`, whose output is kept in a file. The count of calls of git begins anew.
    pub fn start(&mut self, arguments: &[&str]) {
        self.start_program("ralph", arguments);
    }

    fn start_program(&mut self, program: &str, arguments: &[&str]) {
        assert!(!self.is_running(), "one at a time");
        drop(fs::remove_file(self.path("git-calls")));
        // The file names the process before the first call of git.
        let mut command = self.command("sh");
        command.args(["-c", "echo $$ >\"$0\"; exec \"$@\""]).arg(self.path("pid")).arg(program);
        let output = File::options().append(true).create(true).open(self.path("output")).unwrap();
        command.args(arguments).stdin(Stdio::null()).stdout(output.try_clone().unwrap());
        self.running = Some(command.stderr(output).process_group(0).spawn().unwrap());
    }

    /// All that the started processes have printed.
    pub fn output(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.path("output")).unwrap_or_default()).into_owned()
    }

    pub fn is_running(&mut self) -> bool {
        let ended = self.running.as_mut().map(|child| child.try_wait().unwrap());
        ended.is_some_and(|status| status.is_none())
    }

    /// Waits for the end of what was started.
    #[track_caller]
    pub fn wait(&mut self, patience: Duration) -> ExitStatus {
        let mut child = self.running.take().expect("something was started");
        let began = std::time::Instant::now();
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                return status;
            }
            if began.elapsed() > patience {
                self.running = Some(child);
                panic!("it still runs after {patience:?}: {}", self.output());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// How often git was called since the start.
    pub fn git_calls(&self) -> u64 {
        fs::metadata(self.path("git-calls")).map_or(0, |file| file.len())
    }

    /// How many of these calls were pushes.
    pub fn git_pushes(&self) -> usize {
        let calls = fs::read(self.path("git-calls")).unwrap_or_default();
        calls.iter().filter(|call| **call == b'p').count()
    }

    /// Kills `ralph` once at its call number `call` of git, counted from 1.
    pub fn kill_at(&self, when: When, call: u64) {
        drop(fs::remove_file(self.path("killed")));
        fs::write(self.path("kill"), format!("{} {call}\n", when.word())).unwrap();
    }

    /// Takes back a kill that was asked for and has not happened.
    pub fn never_kill(&self) {
        drop(fs::remove_file(self.path("kill")));
    }

    /// True once the kill that was asked for has happened.
    pub fn was_killed(&self) -> bool {
        self.path("killed").exists()
    }

    /// Ends every process of this machine at once, as a loss of power does.
    pub fn power_off(&mut self) {
        // A process may start another one while the first ones are looked for.
        let is_off = wait_until(PATIENCE, || {
            self.signal(Signal::KILL);
            self.processes().is_empty()
        });
        assert!(is_off, "processes survive SIGKILL");
        if let Some(mut child) = self.running.take() {
            child.wait().unwrap();
        }
    }

    /// Stops every process of this machine, as suspend does.
    pub fn suspend(&self) {
        // Twice: the first pass may have missed a child that a process started meanwhile.
        self.signal(Signal::STOP);
        self.signal(Signal::STOP);
    }

    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        for pid in self.processes() {
            let _ = kill_process(pid, signal);
        }
    }

    /// The live processes whose environment names this machine's home.
    fn processes(&self) -> Vec<Pid> {
        let mark = format!("RALPH_HOME={}\0", self.ralph_home().display());
        let ours = |entry: fs::DirEntry| {
            let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
            let environment = fs::read(entry.path().join("environ")).ok()?;
            let is_ours = environment.windows(mark.len()).any(|part| part == mark.as_bytes());
            is_ours.then_some(pid)
        };
        fs::read_dir("/proc").unwrap().flatten().filter_map(ours).collect()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        if let Some(mut child) = self.running.take() {
            drop(child.kill());
            drop(child.wait());
        }
    }
}
