//! Starts exactly what is registered, with an event of a session that has no loop.
//!
//! Words in a settings file prove little: in exec form `~` is not expanded, a bare name needs the
//! right `PATH`, and a hook that is not found fails without a word. So they are started, from a
//! folder where a relative path leads nowhere, as happens after a `cd` in a session.

use super::super::places::Places;
use super::check::{Check, fail, warn, well};
use super::plugin::{self, Plugin};
use super::settings::{RegisteredHook, Settings};
use ralph_io::probe::{self, Ended, Outcome, Program};
use serde_json::json;
use std::path::Path;
use std::time::Duration;

const NAME: &str = "firing";
const DEADLINE: Duration = Duration::from_secs(10);
/// A hook with nothing to do takes about a millisecond; at this a person would feel it.
const SLOW: Duration = Duration::from_millis(100);
/// A session waits for its project facts once, and git alone may take that long in a large repository.
const SLOW_START: Duration = Duration::from_secs(2);

/// One line if all answer, else one for each that does not.
pub(super) fn check(settings: &Settings, plugin: Option<&Plugin>, places: &Places) -> Vec<Check> {
    let mut hooks = settings.hooks();
    hooks.extend(plugin.iter().flat_map(|plugin| plugin.hooks.clone()));
    let mut times = Vec::new();
    let mut checks = Vec::new();
    for hook in &hooks {
        match measure(hook, places) {
            Ok(took) => times.push((took, hook)),
            Err(what) => {
                let detail = format!("{} hook `{}` {what}", hook.event, line(hook));
                let cure = match plugin.is_some_and(|plugin| plugin.hooks.contains(hook)) {
                    true => plugin::CURE,
                    false => "run `ralph install` again",
                };
                checks.push(fail(NAME, detail, cure));
            }
        }
    }
    let slowest = times.iter().max_by_key(|(took, hook)| (is_slow(*took, hook), *took));
    checks.extend(slowest.map(|(took, hook)| {
        let slowest = format!("slowest {} with {:.1} ms", hook.event, took.as_secs_f64() * 1e3);
        let detail =
            format!("{} of {} registered hooks answered, {slowest}", times.len(), hooks.len());
        match is_slow(*took, hook) {
            false => well(NAME, detail),
            true => warn(NAME, detail, "see whether the machine is busy, then try again"),
        }
    }));
    checks
}

/// A slow answer is tried twice more: what counts is the hook, and not what the machine did beside it.
fn measure(hook: &RegisteredHook, places: &Places) -> Result<Duration, String> {
    let mut took = fire(hook, places)?;
    for _ in 0..2 {
        if is_slow(took, hook) {
            took = took.min(fire(hook, places)?);
        }
    }
    Ok(took)
}

fn is_slow(took: Duration, hook: &RegisteredHook) -> bool {
    match hook.event.as_str() {
        "SessionStart" => took > SLOW_START,
        _ => took > SLOW,
    }
}

fn fire(hook: &RegisteredHook, places: &Places) -> Result<Duration, String> {
    let (command, args) = match &hook.args {
        Some(args) => (hook.command.as_str(), args.iter().map(String::as_str).collect()),
        None => ("/bin/sh", vec!["-c", hook.command.as_str()]),
    };
    let event = event(hook, places);
    let program = Program {
        command,
        args,
        folder: Path::new("/"),
        stdin: &event,
        env: vec![("CLAUDE_PROJECT_DIR", places.current.as_os_str())],
        deadline: DEADLINE,
    };
    let outcome = probe::run(&program).map_err(|error| format!("does not start ({error:#})"))?;
    judge(hook, &outcome)
}

fn judge(hook: &RegisteredHook, outcome: &Outcome) -> Result<Duration, String> {
    let said = outcome.stderr.lines().next().unwrap_or_default();
    match outcome.ended {
        Ended::Exited(0) => {}
        Ended::Exited(code) => return Err(format!("ended with exit code {code}: {said}")),
        Ended::Signalled(signal) => return Err(format!("was ended by signal {signal}: {said}")),
        Ended::Overdue => return Err(format!("gave no answer in {} s", DEADLINE.as_secs())),
    }
    // What stands in the place of an executable that is missing ends well, and says so.
    if said.contains(plugin::WITHOUT_EXECUTABLES) {
        return Err(format!("stands alone: {said}"));
    }
    let stdout = outcome.stdout.trim();
    // A session start may bring project facts; everything else has nothing to say to a session
    // without a loop.
    let is_fine = stdout.is_empty()
        || (hook.event == "SessionStart"
            && serde_json::from_str::<serde_json::Value>(stdout).is_ok());
    match is_fine {
        true => Ok(outcome.took),
        false => Err("meddles with a session that has no loop".to_owned()),
    }
}

fn event(hook: &RegisteredHook, places: &Places) -> String {
    let event = json!({
        "session_id": format!("ralph-doctor-{}", std::process::id()),
        "hook_event_name": hook.event,
        "cwd": places.current,
        "transcript_path": "/dev/null",
        "permission_mode": "default",
        "source": "startup",
        "reason": "other",
        "trigger": "manual",
        "prompt": "ralph doctor asks whether this hook answers",
        "expansion_type": "slash_command",
        "command_name": "not-a-command-of-ours",
        "command_args": "",
        "tool_name": "Read",
        "tool_input": {"file_path": "/dev/null"},
        "tool_response": {},
        "stop_hook_active": false,
        "last_assistant_message": "done",
        "background_tasks": [],
    });
    format!("{event}\n")
}

fn line(hook: &RegisteredHook) -> String {
    let args = hook.args.iter().flatten().map(String::as_str);
    [hook.command.as_str()].into_iter().chain(args).collect::<Vec<_>>().join(" ")
}
