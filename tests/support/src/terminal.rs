//! A session of the real client in a pseudo-terminal, which a private tmux server provides.
//!
//! Every wait is for a text on the screen, under a deadline. Ending the session
//! ends the tmux server.

use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::fake_api::StandIn;
use rustix::process::{Pid, Signal, kill_process};

use super::{PATIENCE, Run, World, client};

/// The line under the prompt box of a session that skips permissions; it shows that
/// the session is ready.
const READY: &str = "bypass permissions on";

/// Time between two looks at the screen, since tmux announces no changes.
const LOOK_EVERY: Duration = Duration::from_millis(30);

/// Time for an ended session to run its last hooks.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// A running session; dropping it ends it.
pub struct Terminal {
    socket: PathBuf,
}

impl Terminal {
    pub(super) fn start(world: &World, stand_in: &StandIn, args: &[&str]) -> Terminal {
        let skipping = ["--dangerously-skip-permissions"];
        Terminal::start_with(world, stand_in, &[&skipping, args].concat(), READY)
    }

    /// Starts in another permission mode; the prompt is there when the screen shows `ready`.
    pub(super) fn start_with(
        world: &World,
        stand_in: &StandIn,
        args: &[&str],
        ready: &str,
    ) -> Terminal {
        let terminal = Terminal { socket: world.root().join("tmux.sock") };
        let mut tmux = world.command("tmux");
        tmux.envs(world.client_environment(stand_in)).arg("-S").arg(&terminal.socket);
        tmux.args(["-f", "/dev/null", "new-session", "-d", "-x", "180", "-y", "50"]);
        tmux.arg(client::executable()).args(args);
        tmux.args([";", "set-option", "-g", "remain-on-exit", "on"]);
        Run::of(tmux, "", PATIENCE).exits(0);
        terminal.wait_for(ready);
        terminal
    }

    /// Types a line and sends it.
    #[track_caller]
    pub fn submit(&self, line: &str) -> &Terminal {
        self.type_line(line).key("Enter")
    }

    /// Types a line and waits until it is at the prompt: an Enter that comes with it counts as pasted text.
    #[track_caller]
    pub fn type_line(&self, line: &str) -> &Terminal {
        self.type_text(line);
        let start: String = line.trim_start_matches('!').chars().take(40).collect();
        let arrived = wait_until(PATIENCE, || self.prompt_line().contains(&start));
        assert!(arrived, "`{line}` did not arrive at the prompt:\n{}", self.screen());
        self
    }

    /// Types without sending.
    pub fn type_text(&self, text: &str) -> &Terminal {
        self.tmux(&["send-keys", "-l", text]);
        self
    }

    /// Presses a key by tmux's name for it: `Enter`, `Escape`, `C-c`.
    pub fn key(&self, key: &str) -> &Terminal {
        self.tmux(&["send-keys", key]);
        self
    }

    /// The text at the prompt: the last line that begins with its mark.
    pub fn prompt_line(&self) -> String {
        let screen = self.screen();
        let prompt = screen.lines().rfind(|line| line.starts_with(['❯', '!']));
        prompt.unwrap_or_default().to_owned()
    }

    /// The client's process id.
    pub fn process_id(&self) -> i32 {
        self.tmux(&["display-message", "-p", "#{pane_pid}"])
            .trim()
            .parse()
            .expect("tmux knows the pane's process")
    }

    pub fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// The text on the screen and everything that has scrolled away.
    pub fn history(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-S", "-"])
    }

    /// True if the screen shows `text`, wherever the client has broken its lines: that depends on how long paths are.
    fn shows(&self, text: &str) -> bool {
        let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        joined(&self.screen()).contains(&joined(text))
    }

    /// Waits until the screen shows `text`.
    #[track_caller]
    pub fn wait_for(&self, text: &str) -> &Terminal {
        let shown = wait_until(PATIENCE, || self.shows(text));
        assert!(shown, "`{text}` did not appear on the screen:\n{}", self.screen());
        self
    }

    /// Waits until the screen no longer shows `text`.
    #[track_caller]
    pub fn wait_until_gone(&self, text: &str) -> &Terminal {
        let gone = wait_until(PATIENCE, || !self.shows(text));
        assert!(gone, "`{text}` did not leave the screen:\n{}", self.screen());
        self
    }

    #[track_caller]
    fn tmux(&self, args: &[&str]) -> String {
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(&self.socket).args(args);
        Run::of(tmux, "", PATIENCE).exits(0).stdout
    }
}

impl Drop for Terminal {
    /// The client runs its last hooks when its terminal closes, and the world must not be removed
    /// before they end.
    fn drop(&mut self) {
        let tmux =
            |args: &[&str]| Command::new("tmux").arg("-S").arg(&self.socket).args(args).output();
        let pane = tmux(&["display-message", "-p", "#{pane_pid}"])
            .map(|output| output.stdout)
            .unwrap_or_default();
        drop(tmux(&["kill-server"]));
        let Ok(id) = String::from_utf8_lossy(&pane).trim().parse::<i32>() else {
            return;
        };
        let ended = wait_until(LAST_WORDS, || !is_running(id));
        if let (false, Some(pid)) = (ended, Pid::from_raw(id)) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// True if a process runs. A zombie counts as ended: its new parent may never reap it.
pub fn is_running(id: i32) -> bool {
    let status = Command::new("ps").args(["-o", "stat=", "-p", &id.to_string()]).output();
    let status = status.map(|output| output.stdout).unwrap_or_default();
    !status.is_empty() && !status.trim_ascii_start().starts_with(b"Z")
}

/// Checks repeatedly until `holds` is true or the patience is used up; returns
/// whether it became true.
pub fn wait_until(patience: Duration, holds: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + patience;
    loop {
        if holds() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        thread::sleep(LOOK_EVERY);
    }
}
