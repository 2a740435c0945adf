//! A real browser without a window, spoken to through two pipes: no port, and nothing to install but itself.
//!
//! It is one of those below, or what `RALPH_TEST_BROWSER` names. Where there is none the tests say that they
//! were not made; with `RALPH_REQUIRE_BROWSER=1` that fails.

use rustix::process::{Pid, Signal, geteuid, kill_process_group};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// A loaded machine takes its time to start one.
const PATIENCE: Duration = Duration::from_secs(90);

pub(crate) struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    /// Events that came while an answer was awaited.
    events: Vec<Value>,
    session: String,
    number: u64,
    _profile: tempfile::TempDir,
}

fn find() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("RALPH_TEST_BROWSER") {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let all = NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    all.into_iter().find(|path| path.is_file())
}

impl Browser {
    /// Starts one; none where there is none.
    pub(crate) fn start() -> Option<Browser> {
        let Some(program) = find() else {
            let required = std::env::var("RALPH_REQUIRE_BROWSER").is_ok_and(|value| value == "1");
            assert!(!required, "there is no browser; install `chromium`");
            eprintln!("skipped: there is no browser to look at the page with; install `chromium`");
            return None;
        };
        let profile = ralph_test_support::private_folder("ralph-test-");
        let mut command = Command::new("sh");
        // It reads from its fourth and writes to its fifth file.
        command.args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null"]).arg(program);
        command.args([
            "--headless",
            "--remote-debugging-pipe",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--force-color-profile=srgb",
            "--host-resolver-rules=MAP * ~NOTFOUND",
        ]);
        command.arg(format!("--user-data-dir={}", profile.path().display()));
        if geteuid().is_root() {
            command.arg("--no-sandbox");
        }
        command.env("HOME", profile.path()).env_remove("DBUS_SESSION_BUS_ADDRESS");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let mut child = command.spawn().unwrap();
        let to = child.stdin.take().unwrap();
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        let (send, from) = mpsc::channel();
        thread::spawn(move || {
            let mut message = Vec::new();
            while reader.read_until(0, &mut message).is_ok_and(|n| n > 0) {
                message.pop();
                let read = serde_json::from_slice(&message).unwrap_or(Value::Null);
                if send.send(read).is_err() {
                    break;
                }
                message.clear();
            }
        });
        let (events, session) = (Vec::new(), String::new());
        let mut browser =
            Browser { child, to, from, events, session, number: 0, _profile: profile };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let target = target["targetId"].as_str().unwrap();
        let attach = json!({"targetId": target, "flatten": true});
        let attached = browser.call("Target.attachToTarget", attach);
        browser.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Gives an order and waits for the answer.
    #[track_caller]
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.number += 1;
        let mut message = json!({"id": self.number, "method": method, "params": params});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.to.write_all(message.to_string().as_bytes()).unwrap();
        self.to.write_all(&[0]).unwrap();
        let number = self.number;
        let answer = self.wait(method, |said| said["id"] == number);
        assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
        answer["result"].clone()
    }

    #[track_caller]
    fn wait(&mut self, what: &str, is_meant: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let said = self.from.recv_timeout(left).unwrap_or_else(|e| panic!("{what}: {e}"));
            if is_meant(&said) {
                return said;
            }
            self.events.push(said);
        }
    }

    /// Opens a file as it looks on a screen of this width, and waits until it is there.
    #[track_caller]
    pub(crate) fn open(&mut self, page: &Path, width: u32, scheme: &str) {
        self.events.clear();
        let size =
            json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500});
        self.call("Emulation.setDeviceMetricsOverride", size);
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"media": "screen", "features": features}));
        self.call("Page.navigate", json!({"url": format!("file://{}", page.display())}));
        let is_there = |said: &Value| said["method"] == "Page.loadEventFired";
        if !self.events.iter().any(is_there) {
            let loaded = self.wait("the page", is_there);
            self.events.push(loaded);
        }
    }

    /// What a script says that the browser runs for us; the page itself has none.
    #[track_caller]
    pub(crate) fn ask(&mut self, script: &str) -> Value {
        let order = json!({"expression": script, "returnByValue": true});
        let said = self.call("Runtime.evaluate", order);
        assert!(said["exceptionDetails"].is_null(), "{said}");
        said["result"]["value"].clone()
    }

    /// Everything that the page asked for since it was opened, but itself, and all complaints.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let told = self.events.iter().filter_map(|said| {
            let params = &said["params"];
            match said["method"].as_str()? {
                "Network.requestWillBeSent" => {
                    let is_page = params["type"] == "Document";
                    (!is_page).then(|| format!("asked for {}", params["request"]["url"]))
                }
                "Runtime.exceptionThrown" | "Runtime.consoleAPICalled" => Some(params.to_string()),
                "Log.entryAdded" => Some(params["entry"]["text"].to_string()),
                _ => None,
            }
        });
        told.collect()
    }

    /// A picture of the upper part of the page, as PNG in base64.
    pub(crate) fn picture(&mut self, height: u64) -> String {
        let width = self.ask("document.documentElement.clientWidth");
        let clip = json!({"x": 0, "y": 0, "width": width, "height": height, "scale": 1});
        let order = json!({"format": "png", "clip": clip, "captureBeyondViewport": true, "optimizeForSpeed": false});
        let shot = self.call("Page.captureScreenshot", order);
        shot["data"].as_str().unwrap().to_owned()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
    }
}
