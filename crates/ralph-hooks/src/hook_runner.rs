//! The entry and exit of every hook executable.
//!
//! A hook must never break a session. On an error the runner prints one line to standard error and
//! exits 0. Standard output stays empty, so that the client continues; only the session of a loop
//! gets an answer (`unreadable`), and a tool call of a planning or an orchestration is refused
//! even after a panic. The one other exit code is that of the entry that wakes a waiting session.

use crate::background_watch::Waited;
use crate::signals::{self, Outgoing};
use crate::unnamed;
use crate::unreadable;
use anyhow::Result;
use ralph_core::protocol::event::Input;
use ralph_core::protocol::reply::Reply;
use ralph_core::state::Registration;
use ralph_core::text::sanitize;
use ralph_io::client::given::{self, Appetite};
use ralph_io::store::home::Home;
use ralph_io::{client, project, store::digest, store::idle};
use std::cell::{Cell, OnceCell, RefCell};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Longest string of a payload that is kept whole. A last message of a megabyte is still read
/// whole; the content of a written file is not needed.
const PER_STRING: usize = 4 << 20;

/// Longest string for a tool call. The guard needs the command and the path, and refuses a longer
/// command instead of guessing.
const PER_STRING_OF_A_TOOL: usize = 64 << 10;

const IN_ALL: usize = 16 << 20;

/// One call of a hook.
#[derive(Debug)]
pub struct HookCall {
    pub input: Input,
    /// The payload as read, with long strings cut.
    pub raw: Vec<u8>,
    /// True if a string of the payload was too long to keep whole.
    pub cut: bool,
    /// The registration that started this copy.
    pub via: Registration,
    pub home: Home,
    /// When the executable started.
    pub began: Instant,
    /// Messages from the user that this call's answer carries.
    pub outgoing: RefCell<Vec<Outgoing>>,
    /// Whether the event comes from the client of the session's loop. Empty until first checked.
    pub believed: OnceCell<bool>,
    /// The digest of `raw`; see [`HookCall::digest`].
    pub digest: OnceCell<String>,
    /// True once what holds the loop was compared with what it was.
    pub is_compared: Cell<bool>,
    /// Lines for the user about what something else has changed or commanded.
    pub alarms: RefCell<Vec<String>>,
}

impl HookCall {
    /// The digest of the payload, by which the journal names it.
    pub fn digest(&self) -> &str {
        self.digest.get_or_init(|| digest::of_bytes(&self.raw))
    }

    /// The project's folder, as [`project::root`] finds it.
    pub fn root(&self) -> PathBuf {
        project::root(client::project_dir(), Path::new(&self.input.cwd))
    }
}

/// Answers a call.
pub type Hook = fn(&HookCall) -> Result<Reply>;

/// Waits beside the session; see [`enter_or_wait_if_bound`].
pub type Waiter = fn(&HookCall) -> Result<Waited>;

/// The exit code with which an `asyncRewake` hook wakes the session.
const WAKES: i32 = 2;

/// The argument that makes an executable print its version. Answered only where the environment
/// names no session: a session's hook ends before it looks at its arguments.
pub const VERSION: &str = "--version";

/// Runs a hook for sessions that are bound to a loop. For every other session the cost is one
/// failed `open`, before standard input is read.
pub fn enter_if_bound(name: &str, hook: Hook) {
    if !idle::nothing_is_bound() {
        enter(name, hook);
    }
}

/// Like [`enter_if_bound`], for the one executable that settings may turn on in every session.
/// Costs one more failed `open`.
pub fn enter_if_bound_or_set(name: &str, hook: Hook) {
    if !idle::nothing_is_bound_or_wanted() {
        enter(name, hook);
    }
}

/// Like [`enter_if_bound`], for the end of a turn. One more failed `open` ensures that losing its
/// manifest entry does not free a session. With `word` as the first argument the executable waits
/// beside the session.
pub fn enter_or_wait_if_bound(name: &str, hook: Hook, word: &str, waiter: Waiter) {
    // Checked before the arguments, so that a session without a loop pays for nothing else.
    if !idle::nothing_is_bound_or_lost() {
        enter_or_wait(name, hook, word, waiter);
    }
}

#[inline(never)]
fn enter_or_wait(name: &str, hook: Hook, word: &str, waiter: Waiter) {
    match std::env::args_os().nth(1) {
        Some(first) if first == word => wait(name, waiter),
        _ => enter(name, hook),
    }
}

/// The only place that exits with a code other than 0. In any other hook such a code would block or
/// refuse.
fn wait(name: &str, waiter: Waiter) {
    on_a_mistake(name.to_owned());
    match call(name).and_then(|call| waiter(&call)) {
        Ok(Waited::Silently) => {}
        Ok(Waited::Wake(line)) => {
            let _ = writeln!(std::io::stderr().lock(), "{line}");
            std::process::exit(WAKES);
        }
        Err(error) => complain(name, &format!("{error:#}")),
    }
}

/// Runs a hook for every session.
#[inline(never)]
pub fn enter(name: &str, hook: Hook) {
    on_a_mistake(name.to_owned());
    if std::env::args_os().nth(1).is_some_and(|first| first == VERSION) {
        let _ = writeln!(std::io::stdout().lock(), "{name} {}", env!("CARGO_PKG_VERSION"));
        return;
    }
    let answered = call(name).and_then(|mut call| {
        if call.input.session_id.is_empty()
            && let Some(reply) = unnamed::answer(&mut call)
        {
            print(&reply);
            return Ok(());
        }
        let reply = hook(&call).or_else(|error| unreadable::answer(&call, error))?;
        let alarms = call.alarms.take();
        let reply = alarms.iter().fold(reply, |reply, line| reply.tell_also(line));
        if print(&reply) {
            signals::delivered(&call);
        }
        // The process ends next: freeing these takes time and serves nobody.
        std::mem::forget((call, reply));
        Ok(())
    });
    if let Err(error) = answered {
        complain(name, &format!("{error:#}"));
    }
}

/// Makes a panic give this answer from now on: a refusal where the client must not take a missing
/// answer for consent, or what is known before a repository's files are read.
pub(crate) fn answer_on_a_mistake(answer: Reply) {
    let fails_open = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        print(&answer);
        fails_open(panic);
    }));
}

/// Prints this answer and exits after `limit`, unless this process has answered. The client would end
/// a slower hook without an answer.
pub(crate) fn answer_in_time(limit: Duration, answer: Reply) {
    std::thread::spawn(move || {
        std::thread::sleep(limit);
        if print(&answer) {
            std::process::exit(0);
        }
    });
}

/// Makes a panic end this process with one line instead of a backtrace, and with the exit code of a
/// hook that has no answer.
fn on_a_mistake(name: String) {
    std::panic::set_hook(Box::new(move |panic| {
        let place = panic.location().map(|at| format!(" at {at}")).unwrap_or_default();
        complain(&name, &format!("an internal error{place}; run `ralph doctor`"));
        std::process::exit(0);
    }));
}

fn call(name: &str) -> Result<HookCall> {
    let began = Instant::now();
    let per_string = match name {
        "ralph-pre-tool-use" | "ralph-backpressure" => PER_STRING_OF_A_TOOL,
        _ => PER_STRING,
    };
    let payload = given::payload(Appetite { per_string, in_all: IN_ALL })?;
    let via = Registration::from_argument(std::env::args().next_back().as_deref());
    let home = Home::from_env()?;
    Ok(HookCall {
        input: payload.input,
        raw: payload.raw,
        cut: payload.cut,
        via,
        home,
        began,
        outgoing: RefCell::default(),
        believed: OnceCell::new(),
        digest: OnceCell::new(),
        is_compared: Cell::default(),
        alarms: RefCell::default(),
    })
}

/// Returns false if this process has answered, or the reader is gone, which is not an error.
fn print(reply: &Reply) -> bool {
    static ANSWERED: AtomicBool = AtomicBool::new(false);
    let Some(line) = reply.render() else { return true };
    !ANSWERED.swap(true, Ordering::Relaxed) && writeln!(std::io::stdout().lock(), "{line}").is_ok()
}

/// Prints one line to standard error. Control characters are escaped, since the text may quote a
/// path.
fn complain(name: &str, what: &str) {
    let line = sanitize::visible(what).replace('\n', "\\n");
    let _ = writeln!(std::io::stderr().lock(), "{name}: {line}");
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::active_loop::Bound;
    use crate::begin::{StartRequest, begin};
    use ralph_core::modes::arguments;
    use ralph_core::state::{LoopState, Mode, StartedBy};
    use ralph_io::store::journal::{self, JournalEntry};
    use ralph_io::store::{lifecycle, loop_file::LoopFile};
    use serde_json::{Value, json};
    use std::process::Command;

    /// The loop of the session `s`, in a home and a project of its own.
    pub(crate) struct TestLoop {
        folder: tempfile::TempDir,
        pub(crate) home: Home,
        pub(crate) file: LoopFile,
    }

    impl TestLoop {
        /// Starts it with the prompt `p`, as the mode's command does.
        pub(crate) fn started(mode: Mode, typed: &str) -> TestLoop {
            let folder = tempfile::tempdir().unwrap();
            let home = Home::at(folder.path().join("home"));
            std::fs::create_dir(folder.path().join("project")).unwrap();
            let begun = begin(&StartRequest {
                mode,
                home: &home,
                request: &arguments::parse(typed).unwrap(),
                session_id: "s",
                prompt_id: "p",
                project_root: folder.path().join("project").canonicalize().unwrap(),
                started_by: StartedBy::Person,
                via: Some(Registration::Settings),
            });
            begun.unwrap();
            let file = lifecycle::of_session(&home, "s").unwrap().unwrap();
            TestLoop { folder, home, file }
        }

        pub(crate) fn root(&self) -> PathBuf {
            self.folder.path().join("project").canonicalize().unwrap()
        }

        /// A call of this event from the client of the loop.
        pub(crate) fn call(&self, event: &str, mut more: Value) -> HookCall {
            more["session_id"] = json!("s");
            more["hook_event_name"] = json!(event);
            more["cwd"] = json!(self.root());
            call(&self.home, more)
        }

        pub(crate) fn bound(&self) -> Bound {
            Bound::find(&self.call("Stop", json!({}))).unwrap().unwrap()
        }

        pub(crate) fn state(&self) -> LoopState {
            self.file.read().unwrap().unwrap().state
        }

        pub(crate) fn change(&self, change: impl FnOnce(&mut LoopState)) {
            self.file.update(change).unwrap().unwrap();
        }

        /// Makes the state one that this version must not touch.
        pub(crate) fn damage(&self) {
            self.lose_copies();
            std::fs::write(self.file.path(), r#"{"schema_version": 99}"#).unwrap();
        }

        /// Removes the loop's files.
        pub(crate) fn lose(&self) {
            self.lose_copies();
            std::fs::remove_dir_all(self.file.folder()).unwrap();
        }

        fn lose_copies(&self) {
            std::fs::remove_dir_all(self.folder.path().join(".ralph-kept")).unwrap();
        }

        pub(crate) fn journal(&self) -> Vec<JournalEntry> {
            journal::read(self.file.folder())
        }

        /// The last line of the loop's journal.
        pub(crate) fn noted(&self) -> JournalEntry {
            self.journal().pop().unwrap()
        }
    }

    /// A call that comes from the session's client.
    pub(crate) fn call(home: &Home, event: Value) -> HookCall {
        HookCall {
            raw: event.to_string().into_bytes(),
            input: serde_json::from_value(event).unwrap(),
            cut: false,
            via: Registration::Settings,
            home: home.clone(),
            began: Instant::now(),
            outgoing: RefCell::default(),
            believed: OnceCell::from(true),
            digest: OnceCell::new(),
            is_compared: Cell::default(),
            alarms: RefCell::default(),
        }
    }

    /// Set in the process that panics or hangs.
    const INSIDE: &str = "RALPH_TEST_MISTAKE";

    #[test]
    fn a_mistake_while_a_plan_waits_refuses_the_call() {
        if std::env::var_os(INSIDE).is_some() {
            on_a_mistake("hook".to_owned());
            answer_on_a_mistake(Reply::deny("no"));
            panic!("the mistake");
        }
        let complaint = denied_by("a_mistake_while_a_plan_waits_refuses_the_call");
        assert!(complaint.contains("hook: an internal error"), "{complaint}");
    }

    #[test]
    fn what_is_known_is_answered_when_the_rest_hangs() {
        if std::env::var_os(INSIDE).is_some() {
            answer_in_time(Duration::from_millis(20), Reply::deny("no"));
            loop {
                std::thread::park();
            }
        }
        denied_by("what_is_known_is_answered_when_the_rest_hangs");
    }

    /// Runs this test in a process of its own, which ends with a refusal. Returns its errors.
    #[allow(clippy::disallowed_methods, reason = "a mistake ends its process")]
    #[track_caller]
    fn denied_by(test: &str) -> String {
        let test = format!("hook_runner::tests::{test}");
        let mut command = Command::new(std::env::current_exe().unwrap());
        let ended =
            command.args([&test, "--exact", "--nocapture"]).env(INSIDE, "1").output().unwrap();
        let said = String::from_utf8(ended.stdout).unwrap();
        assert!(ended.status.success(), "{said}");
        assert!(said.contains(r#""permissionDecision":"deny""#), "{said}");
        String::from_utf8(ended.stderr).unwrap()
    }
}
