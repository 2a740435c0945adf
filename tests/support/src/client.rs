//! Runs the real client without a terminal (`claude -p`) and keeps the rows that it streams.

use std::ffi::OsString;
use std::ops::Deref;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::fake_api::StandIn;
use serde_json::Value;

use super::{PATIENCE, Run, World};

/// Names the client to test with; the test binary's `main` sets it when it has found one.
pub const CLIENT_VARIABLE: &str = "RALPH_TEST_CLIENT";

/// A `-p` run that has not started yet.
pub struct Client<'a> {
    world: &'a World,
    stand_in: &'a StandIn,
    folder: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    stdin: String,
    patience: Duration,
}

impl<'a> Client<'a> {
    pub(super) fn new(world: &'a World, stand_in: &'a StandIn) -> Client<'a> {
        let fixed = [
            "-p",
            "--output-format",
            "stream-json",
            "--verbose",
            "--permission-mode",
            "bypassPermissions",
        ];
        let args = fixed.map(OsString::from).to_vec();
        Client {
            world,
            stand_in,
            folder: world.project(),
            args,
            env: Vec::new(),
            stdin: String::new(),
            patience: PATIENCE,
        }
    }

    #[must_use]
    pub fn args(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(OsString::from));
        self
    }

    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Starts the client in another folder than the project's, the only one that the user trusts.
    #[must_use]
    pub fn in_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = folder.into();
        self
    }

    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Runs the client with this prompt to its end.
    pub fn prompt(mut self, prompt: &str) -> ClientRun {
        self.args.push(prompt.into());
        self.run()
    }

    /// Runs the client with these prompts as `stream-json`, one turn after another.
    pub fn prompts(mut self, prompts: &[&str]) -> ClientRun {
        self = self.args(&["--input-format", "stream-json"]);
        let rows = prompts.iter().map(|prompt| {
            let message =
                serde_json::json!({"role": "user", "content": [{"type": "text", "text": prompt}]});
            format!("{}\n", serde_json::json!({"type": "user", "message": message}))
        });
        self.stdin = rows.collect();
        self.run()
    }

    /// Runs the client with this prompt until `act` returns, then kills it as a crash would.
    pub fn killed_after(mut self, prompt: &str, act: impl FnOnce()) {
        self.args.push(prompt.into());
        let mut command = self.command();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let running = Killed(command.spawn().expect("the client can be started"));
        act();
        drop(running);
    }

    fn command(&self) -> Command {
        let mut command = self.world.command(executable());
        command
            .current_dir(&self.folder)
            .args(&self.args)
            .envs(self.world.client_environment(self.stand_in))
            .envs(self.env.clone());
        command
    }

    fn run(self) -> ClientRun {
        let command = self.command();
        let run = Run::of(command, &self.stdin, self.patience);
        assert!(!run.timed_out, "the client did not end within {:?}: {run:?}", self.patience);
        ClientRun { rows: run.json_lines(), run }
    }
}

/// A client that is killed on drop, even if the test fails.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        drop((self.0.kill(), self.0.wait()));
    }
}

#[derive(Debug)]
pub struct ClientRun {
    /// The rows of `stream-json`.
    pub rows: Vec<Value>,
    run: Run,
}

impl ClientRun {
    #[track_caller]
    pub fn session_id(&self) -> &str {
        let row = self
            .rows
            .iter()
            .find(|row| row["subtype"] == "init")
            .expect("the client announces its session");
        row["session_id"].as_str().expect("a session has an id")
    }

    /// The last `result` row; the client writes one for each turn of the user.
    #[track_caller]
    pub fn result(&self) -> &Value {
        self.rows
            .iter()
            .rfind(|row| row["type"] == "result")
            .expect("the client ends with a result row")
    }
}

impl Deref for ClientRun {
    type Target = Run;

    fn deref(&self) -> &Run {
        &self.run
    }
}

/// The client's path, which `main` has checked before any test runs.
pub(super) fn executable() -> PathBuf {
    PathBuf::from(std::env::var_os(CLIENT_VARIABLE).expect("RALPH_TEST_CLIENT names the client"))
}
