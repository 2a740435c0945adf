//! A folder with a client that is a script, and the rounds that are run with it.

use super::round::{Answer, Order, answer};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant};

/// Long enough for a loaded machine; a test that waits so long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// The variable by which the processes of one world are told from all others.
const MARK: &str = "RALPH_TEST_MARK";

pub(crate) const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"11111111-2222-4333-8444-555555555555","permissionMode":"default"}"#;
pub(crate) const WORKS: &str = r#"{"type":"assistant","parent_tool_use_id":null,"message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"cargo test"}}],"usage":{"input_tokens":1200,"output_tokens":34}}}"#;
pub(crate) const DONE: &str = r#"{"type":"result","is_error":false,"result":"done","total_cost_usd":0.5,"modelUsage":{"m":{"inputTokens":2000,"outputTokens":7}},"permission_denials":[]}"#;
pub(crate) const OVERLOADED: &str = r#"{"type":"result","is_error":true,"terminal_reason":"api_error","api_error_status":529,"result":"API Error: 529 Overloaded."}"#;

pub(crate) struct World {
    folder: tempfile::TempDir,
}

impl World {
    /// With a client that runs this script; `$n` is which start of it this is.
    pub(crate) fn new(script: &str) -> World {
        let world = World { folder: ralph_test_support::private_folder("ralph-test-") };
        let text = format!(
            "#!/bin/bash\ncd {}\nprintf '%s\\n' \"$@\" >\"args.$(ls args.* 2>/dev/null | wc -l)\"\n\
             n=$(ls args.* | wc -l)\nsay() {{ printf '%s\\n' \"$1\"; }}\n{script}\n",
            world.folder.path().display()
        );
        let client = world.path("claude");
        fs::write(&client, text).unwrap();
        fs::set_permissions(&client, fs::Permissions::from_mode(0o755)).unwrap();
        world
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn order(&self) -> Order {
        let mut order = Order::new(self.folder.path(), &self.path("log"), "Work.");
        let set = |name: &str, value: &str| (name.into(), value.into());
        order.env = vec![
            ("PATH".into(), std::env::var_os("PATH").unwrap()),
            set("RALPH_CLAUDE", self.path("claude").to_str().unwrap()),
            set(MARK, self.folder.path().to_str().unwrap()),
        ];
        order.args = vec!["--exact", "driver::in_a_process_of_its_own", "--nocapture"];
        order
    }

    /// Runs it to its end; fails the test if anything of it is alive then.
    #[track_caller]
    pub(crate) fn run(&self, order: &Order) -> Answer {
        self.answer(order.start())
    }

    #[track_caller]
    pub(crate) fn answer(&self, child: Child) -> Answer {
        let answer = answer(child);
        assert_eq!(self.alive(), Vec::<String>::new(), "{answer:?}");
        answer
    }

    /// The arguments of the client at its start number `at`, from 0.
    pub(crate) fn args(&self, at: usize) -> String {
        fs::read_to_string(self.path(&format!("args.{at}"))).unwrap().replace('\n', "|")
    }

    pub(crate) fn log(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.path("log")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The command lines of this world's processes.
    fn alive(&self) -> Vec<String> {
        let mark = format!("{MARK}={}\0", self.folder.path().display());
        let described = |entry: std::io::Result<fs::DirEntry>| {
            let path = entry.ok()?.path();
            path.file_name()?.to_str()?.parse::<u32>().ok()?;
            let environment = fs::read(path.join("environ")).ok()?;
            let ours = environment.windows(mark.len()).any(|bytes| bytes == mark.as_bytes());
            let line = String::from_utf8_lossy(&fs::read(path.join("cmdline")).ok()?).into_owned();
            ours.then(|| line.replace('\0', " "))
        };
        fs::read_dir("/proc").unwrap().filter_map(described).collect()
    }

    /// Waits until the client has made this file.
    #[track_caller]
    pub(crate) fn wait_for(&self, name: &str) {
        let until = Instant::now() + PATIENCE;
        while !self.path(name).exists() {
            assert!(Instant::now() < until, "in vain: {name}");
            // Between two looks; the condition decides.
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
