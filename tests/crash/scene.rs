//! A case set up in a world of its own: it is run, struck, looked at, and put back as it was.

use crate::cases::{Act, Case, Who};
use crate::power::record::{self, Recorded};
use crate::snapshot::{self, Tree};
use crate::trace::{self, Call};
use crate::world::{self, World, executable};
use rustix::process::{Pid, WaitOptions};
use std::io::Write;
use std::process::{Command, Stdio};

/// A case, ready to be run any number of times.
pub(crate) struct Scene {
    pub(crate) case: &'static Case,
    pub(crate) world: World,
    pub(crate) act: Act,
    /// What the world held when the case was set up.
    pub(crate) before: Tree,
}

/// In seconds: longer than anything here takes on a loaded machine, shorter than the longest
/// deadline in the product, at which a wait for something that cannot come would end.
const PATIENCE: &str = "90";

/// What `timeout` ends with when it had to.
pub(crate) const HUNG: i32 = 124;

/// How a run ended and what it said.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    /// Whether a signal ended it.
    pub(crate) killed: bool,
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Scene {
    pub(crate) fn set(case: &'static Case) -> Scene {
        let mut world = (case.set)();
        let tmp = world.root().join("tmp");
        std::fs::create_dir_all(&tmp).unwrap();
        world.set("TMPDIR", &tmp.display().to_string());
        world.set("PATH", &path());
        let act = (case.act)(&world);
        let before = snapshot::take(&world.root());
        Scene { case, world, act, before }
    }

    pub(crate) fn reset(&self) {
        snapshot::restore(&self.world.root(), &self.before);
    }

    /// Puts the world into another state.
    pub(crate) fn lay_out(&self, tree: &Tree) {
        let mut all: Tree = self.before.clone();
        all.retain(|path, _| !record::is_modelled(path));
        all.extend(tree.clone());
        snapshot::restore(&self.world.root(), &all);
    }

    /// What was kept apart was kept before the machine started.
    pub(crate) fn start_the_machine_again(&self) {
        let kept = self.world.root().join(".ralph-kept/ralph");
        for folder in std::fs::read_dir(kept).into_iter().flatten().flatten() {
            let path = folder.path().join("digests");
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            if let Some((_, digests)) = text.split_once('\n') {
                std::fs::write(&path, format!("an earlier start\n{digests}")).unwrap();
            }
        }
    }

    /// Runs the case once, untouched, and tells what it did and what it may leave.
    pub(crate) fn observe(&self) -> (Vec<Call>, Recorded, Answer) {
        let log = self.world.root().join("tmp/calls");
        let mut words: Vec<String> =
            ["strace"].iter().chain(&trace::FLAGS).map(|word| (*word).to_owned()).collect();
        words.extend(["-o".to_owned(), log.display().to_string()]);
        words.extend(self.also());
        let answer = self.run(&words);
        let calls = trace::read(&log);
        let mut recorded =
            record::record((&self.world.root(), &self.world.cwd), &self.before, &calls);
        recorded.ended_with(&snapshot::take(&self.world.root()));
        (calls, recorded, answer)
    }

    /// What the case itself injects.
    pub(crate) fn also(&self) -> Vec<String> {
        self.case
            .also
            .iter()
            .flat_map(|inject| ["-e".to_owned(), format!("inject={inject}")])
            .collect()
    }

    /// Runs the act at the end of these words, and waits for every process that it started.
    pub(crate) fn run(&self, words: &[String]) -> Answer {
        let mut all = vec!["timeout", PATIENCE];
        all.extend(words.iter().map(String::as_str));
        all.push(executable(self.act.program));
        all.extend(self.act.args.iter().map(String::as_str));
        let mut command = Command::new(all[0]);
        command.args(&all[1..]).env_clear().envs(&self.world.env).current_dir(&self.world.cwd);
        match self.act.who {
            Who::Client => drop(command.args(self.world.via)),
            Who::Model => {}
            Who::Person => {
                for variable in ["CLAUDE_CODE_SESSION_ID", "CLAUDE_PID", "CLAUDECODE"] {
                    command.env_remove(variable);
                }
            }
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // It may be killed before it has read all; no payload fills the pipe.
        drop(stdin.write_all(self.act.stdin.as_bytes()));
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        wait_for_orphans();
        Answer {
            killed: output.status.code().is_none(),
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Where git is, and what any system has: each folder more is searched by every child.
fn path() -> String {
    let all = std::env::var_os("PATH").unwrap_or_default();
    let git = std::env::split_paths(&all).find(|folder| folder.join("git").is_file());
    format!("{}:/usr/bin:/bin", git.unwrap_or_default().display())
}

/// The parent adopts what the descendants of this process leave behind; all of it has to end by itself.
fn wait_for_orphans() {
    let own = std::process::id();
    let is_awaited = |child: &u32| *child != own && !world::clients().contains(child);
    let next = || children().into_iter().find(is_awaited);
    while let Some(child) = next().and_then(|child| Pid::from_raw(child as i32)) {
        let _ = rustix::process::waitpid(Some(child), WaitOptions::empty());
        #[cfg(target_os = "linux")]
        if let Ok(adopted) =
            rustix::process::pidfd_open(child, rustix::process::PidfdFlags::empty())
        {
            let mut ended = [rustix::event::PollFd::new(&adopted, rustix::event::PollFlags::IN)];
            let _ = rustix::event::poll(&mut ended, None);
        }
    }
}

/// The processes that this one started, or that its parent adopted, and that nobody has waited for.
fn children() -> Vec<u32> {
    let above =
        [std::process::id(), std::os::unix::process::parent_id()].map(|pid| pid.to_string());
    let parent = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, after) = stat.rsplit_once(')')?;
        after.split_whitespace().nth(1).map(str::to_owned)
    };
    let names = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.file_name());
    let pids = names.filter_map(|name| name.to_str()?.parse().ok());
    pids.filter(|pid| parent(*pid).is_some_and(|parent| above.contains(&parent))).collect()
}
