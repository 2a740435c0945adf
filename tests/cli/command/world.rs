//! A project folder, and a caller that runs commands in it; every process of it carries a mark.

use super::caller::{ANSWER, ORDERS};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Long enough for a loaded machine; a test that waits so long has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The variable by which the processes of one world are told from all others.
const MARK: &str = "RALPH_TEST_MARK";

pub(crate) struct World {
    folder: tempfile::TempDir,
    environment: Vec<(String, String)>,
    deadline: Duration,
    runs_in: &'static str,
}

/// What came of a command.
#[derive(Debug)]
pub(crate) struct Answer(pub(crate) Value);

impl World {
    pub(crate) fn new() -> World {
        World {
            folder: ralph_test_support::private_folder("ralph-test-"),
            environment: Vec::new(),
            deadline: PATIENCE,
            runs_in: "",
        }
    }

    pub(crate) fn deadline(mut self, millis: u64) -> World {
        self.deadline = Duration::from_millis(millis);
        self
    }

    /// Commands run in this folder of the world.
    pub(crate) fn runs_in(mut self, folder: &'static str) -> World {
        self.runs_in = folder;
        self
    }

    pub(crate) fn variable(mut self, name: &str, value: &str) -> World {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn output(&self) -> Vec<u8> {
        fs::read(self.path("0.out")).unwrap()
    }

    /// Runs one command; fails the test if anything of it is alive when the answer is there.
    #[track_caller]
    pub(crate) fn run(&self, command: &str) -> Answer {
        self.run_all(&[command]).remove(0)
    }

    /// The same for several, side by side.
    #[track_caller]
    pub(crate) fn run_all(&self, commands: &[&str]) -> Vec<Answer> {
        let mut caller = self.start(commands);
        let mut lines = BufReader::new(caller.stdout.take().unwrap()).lines().map_while(Result::ok);
        let answer = lines.find_map(|line| {
            // At this moment, and not when the caller is gone as well.
            let answer = serde_json::from_str(line.strip_prefix(ANSWER)?).unwrap();
            Some((answer, self.alive(caller.id())))
        });
        // To its end: the harness complains when nobody reads its last words.
        lines.for_each(drop);
        caller.wait().unwrap();
        let (answer, alive): (Vec<Value>, _) = answer.expect("the caller answers");
        assert_eq!(alive, Vec::<String>::new(), "{answer:?}");
        assert!(!self.path("0.out.part").exists());
        answer.into_iter().map(Answer).collect()
    }

    /// A caller, at work.
    pub(crate) fn start(&self, commands: &[&str]) -> Child {
        let order = |(number, command): (usize, &&str)| {
            json!({
                "ralph": env!("CARGO_BIN_EXE_ralph"),
                "command": command,
                "folder": self.path(self.runs_in),
                "output": self.path(&format!("{number}.out")),
                "deadline_ms": self.deadline.as_millis() as u64,
            })
        };
        let orders: Vec<Value> = commands.iter().enumerate().map(order).collect();
        // Whoever started the tests may have an interrupt ignored, as a shell does for what runs
        // in its background; `env` gives way to the program that it names.
        Command::new("env")
            .arg("--default-signal=INT")
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "command::caller::in_a_process_of_its_own", "--nocapture"])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env(MARK, self.folder.path())
            .envs(ralph_test_support::portable())
            .env(ORDERS, json!(orders).to_string())
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// The command lines of this world's processes, but for this one.
    pub(crate) fn alive(&self, except: u32) -> Vec<String> {
        let mark = format!("{MARK}={}\0", self.folder.path().display());
        let described = |entry: std::io::Result<fs::DirEntry>| {
            let path = entry.ok()?.path();
            let pid: u32 = path.file_name()?.to_str()?.parse().ok()?;
            // Empty once it has ended; not readable once it is gone.
            let environment = fs::read(path.join("environ")).ok()?;
            let ours = environment.windows(mark.len()).any(|bytes| bytes == mark.as_bytes());
            let line = String::from_utf8_lossy(&fs::read(path.join("cmdline")).ok()?).into_owned();
            (ours && pid != except).then(|| format!("{pid}: {}", line.replace('\0', " ")))
        };
        fs::read_dir("/proc").unwrap().filter_map(described).collect()
    }

    /// Waits until no process of this world is alive.
    #[track_caller]
    pub(crate) fn wait_until_empty(&self) {
        wait_until("everything is gone", || self.alive(0).is_empty());
    }

    /// Waits until a command has made this file.
    #[track_caller]
    pub(crate) fn wait_for(&self, name: &str) {
        let path = self.path(name);
        wait_until(name, || path.metadata().is_ok_and(|about| about.len() > 0));
    }
}

#[track_caller]
pub(crate) fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < until, "in vain: {what}");
        // Between two looks; the condition decides.
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Answer {
    #[track_caller]
    pub(crate) fn ended(&self, expected: &str) -> &Answer {
        assert_eq!(self.0["ended"], expected, "{self:?}");
        self
    }

    /// The names of the processes that it left are exactly these.
    #[track_caller]
    pub(crate) fn left(&self, expected: &[&str]) -> &Answer {
        assert_eq!(self.0["left"], json!(expected), "{self:?}");
        self
    }

    #[track_caller]
    pub(crate) fn tail(&self, expected: &str) -> &Answer {
        assert_eq!(self.0["tail"], expected, "{self:?}");
        self
    }

    /// It did not wait for its deadline.
    #[track_caller]
    pub(crate) fn is_quick(&self) -> &Answer {
        assert!(self.0["duration_ms"].as_u64().unwrap() < PATIENCE.as_millis() as u64 / 2);
        self
    }

    pub(crate) fn text(&self, name: &str) -> &str {
        self.0[name].as_str().unwrap()
    }
}
