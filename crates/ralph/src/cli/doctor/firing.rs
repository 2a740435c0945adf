//! Starts exactly what is registered, with an event of a session that has no loop.
//!
//! Words in a settings file prove little: in exec form `~` is not expanded, a bare name needs the
//! right `PATH`, and a hook that is not found fails without a word. So they are started, from a
//! folder where a relative path leads nowhere, as happens after a `cd` in a session.

use super::super::places::InstallPaths;
use super::super::screen::visible;
use super::check::{Check, fail, warn, well};
use super::plugin::{self, Plugin};
use super::settings::{RegisteredHook, SettingsFiles, project_root};
use super::skills::{Skill, SkillOwner};
use ralph_io::process::run_once::{self, ProbeResult, Program, ProgramEnd};
use ralph_io::project::user_files;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Duration;

const NAME: &str = "firing";
const DEADLINE: Duration = Duration::from_secs(10);
/// A hook with nothing to do takes about a millisecond; at this a person would feel it.
const SLOW: Duration = Duration::from_millis(100);
/// A session waits for its project facts once, and git alone may take that long in a large repository.
const SLOW_START: Duration = Duration::from_secs(2);

/// A hook that is started, and what a person is told of it.
struct Started<'a> {
    hook: &'a RegisteredHook,
    /// The skill that it stands in, and how many more have the same; none for a registration.
    skill: Option<(&'a Skill, usize)>,
    /// What to do where it does not answer.
    cure: &'static str,
    /// Whether the project brings it: then nobody here has asked for it yet.
    is_the_projects: bool,
}

/// One line if all answer, else one for each that does not.
pub(super) fn check(
    settings: &SettingsFiles,
    plugin: Option<&Plugin>,
    places: &InstallPaths,
) -> Vec<Check> {
    let hooks = settings.hooks();
    let registered = |hook| {
        let cure = "run `ralph install` again";
        Started { hook, skill: None, cure, is_the_projects: settings.is_the_projects(hook) }
    };
    let of_plugin =
        |hook| Started { hook, skill: None, cure: plugin::CURE, is_the_projects: false };
    let plugin = plugin.iter().flat_map(|plugin| &plugin.hooks).map(of_plugin);
    let all: Vec<Started<'_>> = hooks.iter().map(registered).chain(plugin).collect();
    fire_all(&all, "registered hooks", places)
}

/// The same for what stands in the front matter of skills. What several of them have is started once.
pub(super) fn check_skills(skills: &[Skill], places: &InstallPaths) -> Vec<Check> {
    let mut all: Vec<Started<'_>> = Vec::new();
    let hooks =
        skills.iter().flat_map(|skill| skill.hooks.iter().flatten().map(move |hook| (skill, hook)));
    for (skill, hook) in hooks {
        let one = Started {
            hook,
            skill: Some((skill, 0)),
            cure: skill.of.cure(),
            is_the_projects: skill.of == SkillOwner::Project,
        };
        match all.iter_mut().find(|known| known.is_as(&one)).and_then(|known| known.skill.as_mut())
        {
            Some((_, n_more)) => *n_more += 1,
            None => all.push(one),
        }
    }
    fire_all(&all, "hooks in the front matter of skills", places)
}

impl Started<'_> {
    /// What it is told as `CLAUDE_PLUGIN_ROOT`. Only a shell looks at it: without one, the folder stands
    /// in the words already.
    fn root(&self) -> Option<&Path> {
        let (skill, _) = self.skill.filter(|_| self.hook.args.is_none())?;
        Some(&skill.root)
    }

    /// True for two of which the client starts the same.
    fn is_as(&self, other: &Started<'_>) -> bool {
        let words =
            |hook: &RegisteredHook| (hook.event.clone(), hook.command.clone(), hook.args.clone());
        words(self.hook) == words(other.hook) && self.root() == other.root()
    }

    /// Its name, and where it stands.
    fn name(&self) -> String {
        let of = self.skill.map(|(skill, n_more)| {
            let more = match n_more {
                0 => String::new(),
                1 => " (one more skill has it)".to_owned(),
                n => format!(" ({n} more skills have it)"),
            };
            format!(" of the skill `{}`{more}", visible(&skill.file.display().to_string()))
        });
        format!("{} hook `{}`{}", self.hook.event, line(self.hook), of.unwrap_or_default())
    }
}

fn fire_all(all: &[Started<'_>], what: &str, places: &InstallPaths) -> Vec<Check> {
    let mut times = Vec::new();
    let mut checks = Vec::new();
    for one in all {
        let hook = one.hook;
        if let Some(why) = withheld(one, places) {
            checks.push(warn(NAME, format!("{} was not started: {why}", one.name()), one.cure));
            continue;
        }
        match measure(one, places) {
            Ok(took) => times.push((took, hook)),
            Err(what) => checks.push(fail(NAME, format!("{} {what}", one.name()), one.cure)),
        }
    }
    let slowest = times.iter().max_by_key(|(took, hook)| (is_slow(*took, hook), *took));
    checks.extend(slowest.map(|(took, hook)| {
        let slowest = format!("slowest {} with {:.1} ms", hook.event, took.as_secs_f64() * 1e3);
        let detail = format!("{} of {} {what} answered, {slowest}", times.len(), all.len());
        match is_slow(*took, hook) {
            false => well(NAME, detail),
            true => warn(NAME, detail, "see whether the machine is busy, then try again"),
        }
    }));
    checks
}

/// Why a hook is not started, which by its words is ours. Whoever wrote the project may have put any words
/// there, and given any program that name.
fn withheld(one: &Started<'_>, places: &InstallPaths) -> Option<&'static str> {
    let hook = one.hook;
    let is_shell = hook.args.is_none();
    if is_shell && hook.command.contains(|letter| ";&|<>()`\n".contains(letter)) {
        return Some("its shell line is more than one command");
    }
    if !one.is_the_projects {
        return None;
    }
    let program = match program(one, places) {
        Ok(program) => Some(program).filter(|path| path.is_absolute()),
        Err(why) => return Some(why),
    };
    let program = program.and_then(|path| user_files::real(&path))?;
    let is_in = |folder: &Path| user_files::real(folder).is_some_and(|it| program.starts_with(it));
    (is_in(project_root(&places.current)) && !is_in(&places.executables))
        .then_some("it lies in the project, and what a project brings is not run")
}

/// The program that is started; for a shell line its first word as the shell reads it, as far as that is
/// plain.
fn program(one: &Started<'_>, places: &InstallPaths) -> Result<PathBuf, &'static str> {
    let hook = one.hook;
    if hook.args.is_some() {
        return Ok(PathBuf::from(&hook.command));
    }
    let word = hook.command.split_whitespace().next().unwrap_or_default();
    let mut word = word.replace(['"', '\''], "");
    if word.starts_with("~/") {
        word.replace_range(..1, "$HOME");
    }
    let known = [
        ("HOME", Some(places.home.as_path())),
        ("CLAUDE_PROJECT_DIR", Some(places.current.as_path())),
        ("CLAUDE_PLUGIN_ROOT", one.root()),
    ];
    for (name, folder) in known {
        let folder = folder.unwrap_or(Path::new("")).to_string_lossy();
        word = word.replace(&format!("${{{name}}}"), &folder);
        word = word.replace(&format!("${name}/"), &format!("{folder}/"));
    }
    match word.contains(|letter| "$*?[]{}~\\".contains(letter)) {
        true => Err("its shell line does not name a program plainly"),
        false => Ok(PathBuf::from(word)),
    }
}

/// A slow answer is tried twice more: what counts is the hook, and not what the machine did beside it.
fn measure(one: &Started<'_>, places: &InstallPaths) -> Result<Duration, String> {
    let mut took = fire(one, places)?;
    for _ in 0..2 {
        if is_slow(took, one.hook) {
            took = took.min(fire(one, places)?);
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

fn fire(one: &Started<'_>, places: &InstallPaths) -> Result<Duration, String> {
    let hook = one.hook;
    let (command, args) = match &hook.args {
        Some(args) => (hook.command.as_str(), args.iter().map(String::as_str).collect()),
        None => ("/bin/sh", vec!["-c", hook.command.as_str()]),
    };
    let event = event(hook, places);
    let mut env = vec![("CLAUDE_PROJECT_DIR", places.current.as_os_str())];
    env.extend(one.root().map(|root| ("CLAUDE_PLUGIN_ROOT", root.as_os_str())));
    let program =
        Program { command, args, folder: Path::new("/"), stdin: &event, env, deadline: DEADLINE };
    let outcome = run_once::run(&program).map_err(|error| format!("does not start ({error:#})"))?;
    judge(hook, &outcome)
}

fn judge(hook: &RegisteredHook, outcome: &ProbeResult) -> Result<Duration, String> {
    let said = outcome.stderr.lines().next().unwrap_or_default();
    match outcome.ended {
        ProgramEnd::Exited(0) => {}
        ProgramEnd::Exited(code) => return Err(format!("ended with exit code {code}: {said}")),
        ProgramEnd::Signalled(signal) => {
            return Err(format!("was ended by signal {signal}: {said}"));
        }
        ProgramEnd::Overdue => return Err(format!("gave no answer in {} s", DEADLINE.as_secs())),
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
