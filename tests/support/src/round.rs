//! Runs a round of the driver in another process, which is this test binary started again: a round
//! catches signals, adopts orphans, and can be interrupted.

use ralph::runs::client::{
    self, CLIENT, Client, ClientRound, Policy, RoundMessage, RoundOutcome, RoundResult,
};
use ralph_io::process::wait_any::Interrupts;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

/// The variable with the round as JSON, set for that process.
const ORDER: &str = "RALPH_TEST_ROUND";

/// Marks the answer among the test harness's output.
const ANSWER: &str = "ANSWER ";

/// A round that has not started yet.
#[derive(Debug, Clone)]
pub struct Order {
    /// The members of a round and of a policy, with durations in milliseconds.
    pub round: Value,
    /// The whole environment of its process.
    pub env: Vec<(OsString, OsString)>,
    pub folder: PathBuf,
    /// Arguments that lead the test harness to [`carried_out`] in that process.
    pub args: Vec<&'static str>,
}

impl Order {
    /// A round with short pauses.
    pub fn new(folder: &Path, log: &Path, prompt: &str) -> Order {
        let round = json!({"prompt": prompt, "log": log, "first_pause": 20, "margin": 0, "grace": 500,
            "attempts": 3, "waits": false, "args": [], "env": []});
        Order { round, env: Vec::new(), folder: folder.to_owned(), args: Vec::new() }
    }

    /// Sets a member of `round`.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Order {
        self.round[name] = value.into();
        self
    }

    pub fn start(&self) -> Child {
        // The parent may ignore interrupts; `env` restores the default and
        // then becomes the program.
        Command::new("env")
            .arg("--default-signal=INT")
            .arg(std::env::current_exe().unwrap())
            .args(&self.args)
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .envs(crate::portable())
            .env(ORDER, self.round.to_string())
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap()
    }

    pub fn run(&self) -> Answer {
        answer(self.start())
    }
}

/// The result of a round, and what the user saw.
#[derive(Debug)]
pub struct Answer {
    /// The members of `RoundResult`.
    pub came: Value,
    /// Standard error.
    pub shown: String,
}

/// Waits for the end of a started round.
pub fn answer(child: Child) -> Answer {
    let output = child.wait_with_output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let shown = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = stdout.lines().find_map(|line| line.strip_prefix(ANSWER));
    let line = line.unwrap_or_else(|| panic!("the round gave no answer: {stdout}\n{shown}"));
    Answer { came: serde_json::from_str(line).unwrap(), shown }
}

/// Sends Ctrl-C as a terminal does: to the whole foreground group.
pub fn interrupt(child: &Child) {
    kill_process_group(Pid::from_child(child), Signal::INT).unwrap();
}

/// Waits until the process prints these words for the user; what it prints later is joined from the thread.
pub fn heard(child: &mut Child, words: &str) -> JoinHandle<String> {
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains(words)), "the round never said `{words}`");
    std::thread::spawn(move || lines.map(|line| line + "\n").collect())
}

/// Runs the round that this process was started for; false if it was started for none.
pub fn carried_out() -> bool {
    carried_out_by(CLIENT)
}

/// The same with another client.
pub fn carried_out_by(client: &dyn Client) -> bool {
    let Ok(order) = std::env::var(ORDER) else { return false };
    let order: Value = serde_json::from_str(&order).unwrap();
    let interrupts = Interrupts::catch().unwrap();
    let last = RefCell::new(String::new());
    let show = |message: &RoundMessage| match message {
        RoundMessage::Now { what, .. } if what != "thinks" && *last.borrow() != *what => {
            eprintln!("round 1/1: {what}");
            last.replace(what.clone());
        }
        RoundMessage::Say(words) | RoundMessage::Asked(words) => eprintln!("round 1/1: {words}"),
        _ => {}
    };
    let answer = match client::run(client, &round(&order), &interrupts, &policy(&order), &show) {
        Ok(came) => {
            let mut answer = described(&came);
            answer["asked"] = json!(format!("{:?}", interrupts.asked()));
            answer
        }
        Err(error) => json!({"error": format!("{error:#}")}),
    };
    println!("\n{ANSWER}{answer}");
    true
}

fn round(order: &Value) -> ClientRound {
    let text = |name: &str| order[name].as_str().map(str::to_owned);
    let pair = |pair: &Value| Some((pair[0].as_str()?.to_owned(), pair[1].as_str()?.to_owned()));
    ClientRound {
        allowed: Vec::new(),
        prompt: text("prompt").unwrap(),
        session_id: text("session_id"),
        resume: text("resume"),
        env: order["env"].as_array().unwrap().iter().filter_map(pair).collect(),
        extra_args: order["args"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|arg| arg.as_str().map(OsString::from))
            .collect(),
        permission_mode: text("permission_mode"),
        label: "round 1/1".to_owned(),
        log: text("log").unwrap().into(),
        ..ClientRound::default()
    }
}

fn policy(order: &Value) -> Policy {
    let millis = |name: &str| Duration::from_millis(order[name].as_u64().unwrap());
    Policy {
        attempts: u32::try_from(order["attempts"].as_u64().unwrap()).unwrap(),
        first_pause: millis("first_pause"),
        waits_for_limits: order["waits"].as_bool().unwrap(),
        margin: millis("margin"),
        grace: millis("grace"),
        ..Policy::default()
    }
}

fn described(came: &RoundResult) -> Value {
    let outcome = match &came.outcome {
        RoundOutcome::Finished { result, is_error } => {
            json!({"finished": result, "is_error": is_error})
        }
        RoundOutcome::Unanswered { why, is_final } => {
            json!({"unanswered": why, "is_final": is_final})
        }
        RoundOutcome::RateLimited { until } => json!({"rate_limited": until}),
        RoundOutcome::Overloaded { attempts } => json!({"overloaded": attempts}),
        RoundOutcome::Crashed { why } => json!({"crashed": why}),
        RoundOutcome::Ended => json!("ended"),
    };
    let denials: Vec<Value> = came
        .denials
        .iter()
        .map(|one| json!({"tool": one.tool, "about": one.about, "why": one.why}))
        .collect();
    json!({"outcome": outcome, "session_id": came.session_id, "tokens": came.tokens.total(),
        "cost": came.cost, "seconds": came.duration.as_secs_f64(), "denials": denials,
        "leftovers": came.leftovers, "log_problem": came.log_problem})
}
