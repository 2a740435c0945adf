//! Checks the hooks that the client starts: that each registration is complete, that they do not conflict, and
//! that each answers.

use super::executables::{self, Executable};
use super::settings::{RegisteredHook, hooks, hooks_in, is_the_projects, project_root};
use super::{Check, Fix, fail, grouped, warn, well};
use crate::command::screen::visible;
use crate::setup::install::plugin::DESCRIPTION;
use crate::setup::install::settings::differing;
use crate::setup::places::InstallPaths;
use ralph_core::protocol::registration::{Location, Origin, plugin_hooks_json, settings_hooks};
use ralph_core::text::plural::counted;
use ralph_io::client::client_settings::{ClientSettings, SettingsFile};
use ralph_io::client::plugins::{in_place, json};
use ralph_io::process::Program;
use ralph_io::project::user_files;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

const REGISTRATION: &str = "registration";
const INSTALL: &str = "run `ralph install`";

/// Before the names of events.
pub(super) const INCOMPLETE: &str =
    "these hooks are missing or not as this version registers them:";

/// One line per registration found, and one for each problem with them.
pub(super) fn check_registration(
    settings: &ClientSettings,
    plugin: Option<&Plugin>,
    places: &InstallPaths,
) -> Vec<Check> {
    let mut checks = Vec::new();
    let mut folders = BTreeSet::new();
    for (file, value) in settings.readable() {
        let hooks = hooks_in(value, Origin::Settings);
        let Some(first) = hooks.first() else { continue };
        let (location, folder) = match first.command.rsplit_once('/') {
            Some((folder, _)) => (Location::Folder(folder), folder),
            None => (Location::Path, "PATH"),
        };
        folders.insert(folder.to_owned());
        checks.push(check_file(file, &value["hooks"], location, hooks.len(), places));
    }
    let in_settings = !checks.is_empty();
    let names = skills_with_hooks(places);
    if let Some(plugin) = plugin {
        checks.push(check_plugin(plugin));
        if in_settings {
            let id = &plugin.id;
            checks.push(warn(
                REGISTRATION,
                format!(
                    "plugin `{id}` and settings both: each hook is started twice, one copy counts"
                ),
                format!("to start it once: `ralph uninstall`, or `claude plugin disable {id}`"),
            ));
        }
    }
    if !names.is_empty() {
        let names = visible(&names.join(", "));
        let detail = match checks.is_empty() {
            true => format!(
                "only in the front matter of skills ({names}): lost on --resume, absent in workers"
            ),
            false => format!(
                "also in the front matter of skills ({names}): each hook starts twice, one copy counts"
            ),
        };
        checks.push(warn(REGISTRATION, detail, INSTALL));
    }
    if checks.is_empty() {
        checks.push(fail(
            REGISTRATION,
            "no hook is registered: no loop would be enforced",
            INSTALL,
        ));
    }
    // The client starts identical entries once. Those of another folder run too, with the same rank.
    if folders.len() > 1 {
        let folders = folders.into_iter().collect::<Vec<_>>().join("`, `");
        let detail =
            format!("hooks of several folders (`{folders}`): each stop would count more than once");
        let cure =
            "keep one: run `ralph install` or `ralph uninstall` for the user and for the project";
        checks.push(fail(REGISTRATION, detail, cure));
    }
    checks
}

/// The user's and the project's skills whose front matter names one of Ralph's hooks.
fn skills_with_hooks(places: &InstallPaths) -> Vec<String> {
    let project = project_root(&places.current).join(".claude/skills");
    let has_hook = |file: &Path| {
        let text = user_files::find(file).ok().and_then(|found| found.text).unwrap_or_default();
        text.split("\n---").next().is_some_and(|head| head.contains("ralph-stop-hook"))
    };
    let mut found: Vec<String> = Vec::new();
    for folder in [places.config.join("skills"), project] {
        let names = user_files::names(&folder);
        found
            .extend(names.into_iter().filter(|name| has_hook(&folder.join(name).join("SKILL.md"))));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Compares the hooks of a file with those that an installation of this version registers in their folder.
fn check_file(
    file: &SettingsFile,
    registered: &Value,
    location: Location<'_>,
    n_hooks: usize,
    places: &InstallPaths,
) -> Check {
    let SettingsFile { rank, path, .. } = file;
    let shown = path.display();
    let differing = differing(registered, &settings_hooks(location), Origin::Settings);
    if differing.is_empty() {
        let linked = match link(path) {
            Some(real) => format!(", a link to `{}`", real.display()),
            None => String::new(),
        };
        let hooks = counted(n_hooks, "hook", "hooks");
        return well(REGISTRATION, format!("{hooks} in the {rank} settings `{shown}`{linked}"));
    }
    let events = differing.join(", ");
    let detail = format!("in the {rank} settings `{shown}`, {INCOMPLETE} {events}");
    Check { fix: Fix::install_again(path, places), ..fail(REGISTRATION, detail, INSTALL) }
}

/// The real path of a settings file that is a symlink, as `stow` makes them.
fn link(path: &Path) -> Option<PathBuf> {
    let real = user_files::real(path)?;
    let straight = user_files::real(path.parent()?)?.join(path.file_name()?);
    (real != straight).then_some(real)
}

// Checks the plugin, if it is enabled in the client: the folder it is read from, and the hooks it
// registers.
//
// Two of the client's files name the folder. A marketplace that is a folder is read in place; for
// any other, the client reads its own copy.

/// The file in which a plugin registers its hooks.
const PLUGIN_HOOKS: &str = "hooks/hooks.json";

/// What to do if a plugin does not work.
pub(super) const PLUGIN_CURE: &str =
    "run `ralph install --plugin DIR`, then the commands that it prints";

/// The message that the scripts in `bin/` print if an executable is missing.
pub(super) const WITHOUT_EXECUTABLES: &str = "plugin has no executables";

/// Ralph's plugin, if it is enabled.
pub(super) struct Plugin {
    /// The client's name for it: `ralph@` and the marketplace.
    pub(super) id: String,
    /// The folder that the client reads it from, if there is one.
    pub(super) root: Option<PathBuf>,
    /// Whether that folder is the marketplace's own, and not the client's copy.
    pub(super) is_in_place: bool,
    /// The hooks it registers, with the folder in place of its variable.
    pub(super) hooks: Vec<RegisteredHook>,
}

impl Plugin {
    /// Finds the enabled plugin in the client's settings and in its plugin files.
    pub(super) fn find(settings: &ClientSettings, places: &InstallPaths) -> Option<Plugin> {
        let id = switched_on(settings)?;
        let plugins = places.config.join("plugins");
        let in_place = in_place(&id, &plugins);
        let is_in_place = in_place.is_some();
        let root = in_place.or_else(|| copy(&id, &plugins));
        let hooks = root.as_deref().map(plugin_hooks).unwrap_or_default();
        Some(Plugin { id, root, is_in_place, hooks })
    }

    /// The version in the plugin's description; `None` if it has no folder or no version.
    pub(super) fn version(&self) -> Option<String> {
        let description = json(&self.root.as_ref()?.join(DESCRIPTION));
        description["version"].as_str().map(str::to_owned)
    }
}

/// For each plugin, the settings file of the highest rank decides.
fn switched_on(settings: &ClientSettings) -> Option<String> {
    let mut is_on: BTreeMap<&String, bool> = BTreeMap::new();
    for (_, value) in settings.readable() {
        let plugins = value["enabledPlugins"].as_object().into_iter().flatten();
        is_on.extend(plugins.filter_map(|(id, on)| Some((id, on.as_bool()?))));
    }
    is_on.into_iter().find(|(id, on)| *on && id.starts_with("ralph@")).map(|(id, _)| id.clone())
}

/// The client's own copy of the plugin.
fn copy(id: &str, plugins: &Path) -> Option<PathBuf> {
    let installed = json(&plugins.join("installed_plugins.json"));
    let copies = installed["plugins"][id].as_array()?;
    copies.iter().rev().find_map(|copy| user_files::real(Path::new(copy["installPath"].as_str()?)))
}

fn plugin_hooks(root: &Path) -> Vec<RegisteredHook> {
    let mut hooks = hooks_in(&json(&root.join(PLUGIN_HOOKS)), Origin::Plugin);
    for hook in &mut hooks {
        hook.command = hook.command.replace("${CLAUDE_PLUGIN_ROOT}", &root.to_string_lossy());
    }
    hooks
}

/// Checks that the plugin has a folder and all hooks.
pub(super) fn check_plugin(plugin: &Plugin) -> Check {
    let id = &plugin.id;
    let Some(root) = &plugin.root else {
        return warn(
            REGISTRATION,
            format!("plugin `{id}` is enabled, but the client has no folder for it"),
            format!("run `claude plugin install {id}`, or remove it from the settings"),
        );
    };
    let shown = root.display();
    let [registered, wanted] =
        [json(&root.join(PLUGIN_HOOKS)), Value::from_str(&plugin_hooks_json()).unwrap_or_default()];
    let differing = differing(&registered["hooks"], &wanted["hooks"], Origin::Plugin);
    if !differing.is_empty() {
        let events = differing.join(", ");
        let detail = format!("in the plugin `{id}` in `{shown}`, {INCOMPLETE} {events}");
        return fail(REGISTRATION, detail, PLUGIN_CURE);
    }
    let hooks = counted(plugin.hooks.len(), "hook", "hooks");
    well(REGISTRATION, format!("{hooks} in the plugin `{id}` in `{shown}`"))
}

// Starts exactly what is registered, with an event of a session that has no loop.
//
// The text of a settings file proves little: in exec form `~` is not expanded, a bare name needs
// the right `PATH`, and the client does not report a hook that is not found. So the check starts
// each hook, in a folder where relative paths lead nowhere, as after a `cd` in a session.

const FIRING: &str = "firing";
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
pub(super) fn check_firing(
    settings: &ClientSettings,
    plugin: Option<&Plugin>,
    executables: &[Executable],
    places: &InstallPaths,
) -> Vec<Check> {
    let hooks = hooks(settings);
    let registered = |hook| {
        let cure = "run `ralph install` again";
        Fired { hook, cure, is_the_projects: is_the_projects(settings, hook) }
    };
    let of_plugin = |hook| Fired { hook, cure: PLUGIN_CURE, is_the_projects: false };
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
        warn(FIRING, format!("{} {them} not started: {why}", names.join(", ")), cure)
    });
    let failed = grouped(failed)
        .into_iter()
        .map(|((what, cure), names)| fail(FIRING, format!("{} {what}", names.join(", ")), cure));
    let mut checks: Vec<Check> = withheld.chain(failed).collect();
    let slowest = times.iter().max_by_key(|(took, hook)| (is_slow(*took, hook), *took));
    checks.extend(slowest.map(|(took, hook)| {
        let slowest = format!("slowest {} with {:.1} ms", hook.event, took.as_secs_f64() * 1e3);
        let answered = format!("{} of {} registered hooks answered", times.len(), all.len());
        let detail = format!("{answered}, {slowest}");
        match is_slow(*took, hook) {
            false => well(FIRING, detail),
            true => warn(FIRING, detail, "check whether the machine is busy, then try again"),
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
    if said.contains(WITHOUT_EXECUTABLES) {
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
