//! The one way in and out of a hook executable.
//!
//! A hook must never break a session: whatever goes wrong inside, the door prints one line to
//! standard error, nothing to standard output, and exits 0, which lets the client go on. The one
//! exception is the entry whose exit code wakes a session that waits.

use crate::background_watch::Waited;
use crate::signals::{self, Outgoing};
use crate::unreadable;
use anyhow::Result;
use ralph_core::protocol::event::Input;
use ralph_core::protocol::reply::Reply;
use ralph_core::state::Via;
use ralph_core::text::sanitize;
use ralph_io::client::stdin::{self, Appetite};
use ralph_io::store::home::Home;
use ralph_io::{client, store::idle};
use std::cell::{OnceCell, RefCell};
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

/// Strings of a payload are kept up to this length. A last message of a megabyte is read whole; the
/// content of a file that was written is not needed.
const PER_STRING: usize = 4 << 20;

/// A tool call is judged by its command and its path; a longer command is refused, not guessed at.
const PER_STRING_OF_A_TOOL: usize = 64 << 10;

const IN_ALL: usize = 16 << 20;

/// One call of a hook.
#[derive(Debug)]
pub struct HookCall {
    /// What the client said.
    pub input: Input,
    /// The payload as it was read, its long strings cut.
    pub raw: Vec<u8>,
    /// True if a string of the payload was too long to keep whole.
    pub cut: bool,
    /// The registration that started this copy.
    pub via: Via,
    /// Where Ralph keeps its state.
    pub home: Home,
    /// When the executable began.
    pub began: Instant,
    /// What a person has sent and this call's answer carries.
    pub outgoing: RefCell<Vec<Outgoing>>,
    /// Whether the event comes from the client of the session's loop, once that was asked.
    pub believed: OnceCell<bool>,
}

impl HookCall {
    /// The project that the event is about, where the loop names none: the conversation's shell may have moved
    /// elsewhere.
    pub fn project(&self) -> PathBuf {
        client::project_dir().unwrap_or_else(|| self.input.cwd.clone().into())
    }
}

/// What a hook does with a call.
pub type Hook = fn(&HookCall) -> Result<Reply>;

/// What the one entry does that the client starts beside the session.
pub type Waiter = fn(&HookCall) -> Result<Waited>;

/// Wakes a session that was left alone with a hook of `asyncRewake`.
const WAKES: i32 = 2;

/// Runs a hook for sessions that a loop is bound to. For every other session this is one failed
/// open, before standard input is touched.
pub fn enter_if_bound(name: &str, hook: Hook) {
    if !idle::nothing_is_bound() {
        enter(name, hook);
    }
}

/// As [`enter_if_bound`], for the one executable that settings may want in every session: one more
/// failed open.
pub fn enter_if_bound_or_set(name: &str, hook: Hook) {
    if !idle::nothing_is_bound_or_wanted() {
        enter(name, hook);
    }
}

/// As [`enter_if_bound`], for the end of a turn: one more failed open, so that the loss of its manifest
/// entry frees no session. With `word` as the first argument the executable waits beside the session.
pub fn enter_or_wait_if_bound(name: &str, hook: Hook, word: &str, waiter: Waiter) {
    // Asked before the arguments are: a session without a loop pays for nothing else.
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

/// The only way to exit with something else than 0: everywhere else that would block or refuse.
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
    let answered = call(name).and_then(|call| {
        let reply = hook(&call).or_else(|error| unreadable::answer(&call, error))?;
        if print(&reply) {
            signals::delivered(&call);
        }
        Ok(())
    });
    if let Err(error) = answered {
        complain(name, &format!("{error:#}"));
    }
}

/// From now on a mistake of ours refuses the tool call: where a person's consent is waited for, no answer
/// must not look like silence.
pub(crate) fn refuse_on_a_mistake(refusal: Reply) {
    let fails_open = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        print(&refusal);
        fails_open(panic);
    }));
}

/// Makes a mistake of ours end this process with one line instead of a back trace, and with the exit code of a
/// hook that has nothing to say.
fn on_a_mistake(name: String) {
    std::panic::set_hook(Box::new(move |panic| {
        let place = panic.location().map(|at| format!(" at {at}")).unwrap_or_default();
        complain(
            &name,
            &format!("an internal error{place}; the session goes on without this hook"),
        );
        std::process::exit(0);
    }));
}

fn call(name: &str) -> Result<HookCall> {
    let began = Instant::now();
    let per_string = match name {
        "ralph-pre-tool-use" | "ralph-backpressure" => PER_STRING_OF_A_TOOL,
        _ => PER_STRING,
    };
    let payload = stdin::read(Appetite { per_string, in_all: IN_ALL })?;
    let via = Via::from_argument(std::env::args().next_back().as_deref());
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
    })
}

/// False if nobody was listening any more, which is no reason to fail.
fn print(reply: &Reply) -> bool {
    let Some(line) = reply.render() else { return true };
    writeln!(std::io::stdout().lock(), "{line}").is_ok()
}

/// One line on standard error. What acts on a terminal is escaped: the text may quote a path.
fn complain(name: &str, what: &str) {
    let line = sanitize::visible(what).replace('\n', "\\n");
    let _ = writeln!(std::io::stderr().lock(), "{name}: {line}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Set in the process that makes the mistake.
    const INSIDE: &str = "RALPH_TEST_MISTAKE";

    #[test]
    #[allow(clippy::disallowed_methods, reason = "a mistake ends its process")]
    fn a_mistake_while_a_plan_waits_refuses_the_call() {
        if std::env::var_os(INSIDE).is_some() {
            on_a_mistake("hook".to_owned());
            refuse_on_a_mistake(Reply::deny("no"));
            panic!("the mistake");
        }
        let test = "hook_runner::tests::a_mistake_while_a_plan_waits_refuses_the_call";
        let mut command = Command::new(std::env::current_exe().unwrap());
        let ended =
            command.args([test, "--exact", "--nocapture"]).env(INSIDE, "1").output().unwrap();
        let said = String::from_utf8(ended.stdout).unwrap();
        assert!(ended.status.success(), "{said}");
        assert!(said.contains(r#""permissionDecision":"deny""#), "{said}");
        assert!(String::from_utf8(ended.stderr).unwrap().contains("hook: an internal error"));
    }
}
