//! Starts exactly what is registered, with an event of a session that has no loop.
//!
//! The text of a settings file proves little: in exec form `~` is not expanded, a bare name needs
//! the right `PATH`, and the client does not report a hook that is not found. So the check starts
//! each hook, in a folder where relative paths lead nowhere, as after a `cd` in a session.

use super::check::{Check, fail, grouped, warn, well};
use super::executables::{self, Executable};
use super::plugin::{self, Plugin};
use super::settings::{self, RegisteredHook, project_root};
use crate::command::screen::visible;
use crate::setup::places::InstallPaths;
use ralph_io::client::client_settings::ClientSettings;
use ralph_io::process::run_once::Program;
use ralph_io::project::user_files;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Duration;

const NAME: &str = "firing";
const DEADLINE: Duration = Duration::from_secs(10);
/// A hook without work takes about a millisecond; a user notices a delay of this length.
const SLOW: Duration = Duration::from_millis(100);
/// A session waits for its project facts once, and git alone may take this long in a large
/// repository.
const SLOW_START: Duration = Duration::from_secs(2);

/// A hook, and what to do if it does not answer.
struct Fired<'a> {
    hook: &'a RegisteredHook,
    cure: &'static str,
    /// True if only the project's own settings file registers it, so the user has not asked for it
    /// yet.
    is_the_projects: bool,
}

/// One line for those that answer, and one for each reason why others do not. Those whose executable has
/// been reported are left out.
pub(super) fn check(
    settings: &ClientSettings,
    plugin: Option<&Plugin>,
    executables: &[Executable],
    places: &InstallPaths,
) -> Vec<Check> {
    let hooks = settings::hooks(settings);
    let registered = |hook| {
        let cure = "run `ralph install` again";
        Fired { hook, cure, is_the_projects: settings::is_the_projects(settings, hook) }
    };
    let of_plugin = |hook| Fired { hook, cure: plugin::CURE, is_the_projects: false };
    let plugin = plugin.iter().flat_map(|plugin| &plugin.hooks).map(of_plugin);
    let all: Vec<Fired<'_>> = hooks.iter().map(registered).chain(plugin).collect();
    let is_reported = |hook: &RegisteredHook| {
        executables.iter().any(|one| one.version.is_err() && one.path == Path::new(&hook.command))
    };
    let (mut times, mut withheld, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    for fired in all.iter().filter(|fired| !is_reported(fired.hook)) {
        let Fired { hook, cure, .. } = fired;
        let name = format!("{} hook `{}`", hook.event, line(hook));
        match reason_to_withhold(fired, places) {
            Some(why) => withheld.push(((why, *cure), name)),
            None => match measure(hook, places) {
                Ok(took) => times.push((took, hook)),
                Err(what) => failed.push(((what, *cure), name)),
            },
        }
    }
    let withheld = grouped(withheld).into_iter().map(|((why, cure), names)| {
        let them = if names.len() == 1 { "was" } else { "were" };
        warn(NAME, format!("{} {them} not started: {why}", names.join(", ")), cure)
    });
    let failed = grouped(failed)
        .into_iter()
        .map(|((what, cure), names)| fail(NAME, format!("{} {what}", names.join(", ")), cure));
    let mut checks: Vec<Check> = withheld.chain(failed).collect();
    let slowest = times.iter().max_by_key(|(took, hook)| (is_slow(*took, hook), *took));
    checks.extend(slowest.map(|(took, hook)| {
        let slowest = format!("slowest {} with {:.1} ms", hook.event, took.as_secs_f64() * 1e3);
        let answered = format!("{} of {} registered hooks answered", times.len(), all.len());
        let detail = format!("{answered}, {slowest}");
        match is_slow(*took, hook) {
            false => well(NAME, detail),
            true => warn(NAME, detail, "check whether the machine is busy, then try again"),
        }
    }));
    checks
}

/// Why a hook with the name of one of Ralph's is not started. The project's author may have written
/// the settings file, which can name any program.
fn reason_to_withhold(fired: &Fired<'_>, places: &InstallPaths) -> Option<&'static str> {
    let Fired { hook, is_the_projects, .. } = fired;
    if hook.args.is_none() {
        return Some("it is a shell line, and `ralph install` writes none");
    }
    let program = Some(PathBuf::from(&hook.command))
        .filter(|path| *is_the_projects && path.is_absolute())
        .and_then(|path| user_files::real(&path))?;
    let is_in = |folder: &Path| user_files::real(folder).is_some_and(|it| program.starts_with(it));
    (is_in(project_root(&places.current)) && !is_in(&places.executables))
        .then_some("it is in the project, whose programs doctor does not start")
}

/// The shortest of up to three tries, so that a busy machine is not reported as a slow hook.
fn measure(hook: &RegisteredHook, places: &InstallPaths) -> Result<Duration, String> {
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

fn fire(hook: &RegisteredHook, places: &InstallPaths) -> Result<Duration, String> {
    let event = event(hook, places);
    let program = Program {
        command: &hook.command,
        args: hook.args.iter().flatten().map(String::as_str).collect(),
        folder: Path::new("/"),
        stdin: &event,
        env: vec![("CLAUDE_PROJECT_DIR", places.current.as_os_str())],
        deadline: DEADLINE,
    };
    let outcome = executables::run(&program)?;
    let said = outcome.stderr.lines().next().unwrap_or_default();
    // The stand-in for a missing executable exits 0 and reports itself.
    if said.contains(plugin::WITHOUT_EXECUTABLES) {
        return Err(format!("finds no executables: {said}"));
    }
    let stdout = outcome.stdout.trim();
    // SessionStart may print project facts. Every other hook must print nothing in a session
    // without a loop.
    let is_fine = stdout.is_empty()
        || (hook.event == "SessionStart"
            && serde_json::from_str::<serde_json::Value>(stdout).is_ok());
    match is_fine {
        true => Ok(outcome.took),
        false => Err("interferes with a session that has no loop".to_owned()),
    }
}

fn event(hook: &RegisteredHook, places: &InstallPaths) -> String {
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
    let words: Vec<&str> = [hook.command.as_str()].into_iter().chain(args).collect();
    visible(&words.join(" "))
}
