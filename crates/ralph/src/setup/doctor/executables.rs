//! Checks the programs: the hooks beside `ralph`, their versions, those on `PATH`, the client and `bd`.

use super::registration::Plugin;
use super::settings::hooks;
use super::{Check, Fix, fail, grouped, warn, well};
use crate::runs::client::claude_code::{self, InstalledClient};
use crate::setup::install::ScopeArgs;
use crate::setup::install::files::{Install, InstallRecord};
use crate::setup::places::InstallPaths;
use ralph_core::protocol::client_version::{ClientFeature, FEATURES, FeatureRow, MEASURED};
use ralph_core::protocol::registration::HOOK_EXECUTABLES;
use ralph_core::shell::quoted;
use ralph_core::tasks::beads::OLDEST;
use ralph_hooks::hook_runner::VERSION;
use ralph_io::client::client_settings::ClientSettings;
use ralph_io::process::programs;
use ralph_io::process::{self, ProbeResult, Program, ProgramEnd};
use ralph_io::project::{self, user_files};
use ralph_io::store::beads::{self, Bd};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

const EXECUTABLES: &str = "executables";
const DEADLINE: Duration = Duration::from_secs(5);

/// A hook beside `ralph`.
pub(super) struct Executable {
    pub(super) name: &'static str,
    pub(super) path: PathBuf,
    /// The version that it prints, if it prints one, or why it cannot be used.
    pub(super) version: Result<Option<String>, String>,
}

/// Starts each hook for its version.
pub(super) fn gather(places: &InstallPaths) -> Vec<Executable> {
    // The copies of an installation with npm are made by `ralph install`.
    let is_there = user_files::access(&places.executables).is_some();
    let folder = if is_there { &places.executables } else { &places.running };
    let started = HOOK_EXECUTABLES.map(|name| {
        let path = folder.join(name);
        Executable { name, version: version_of(&path, name), path }
    });
    started.into()
}

/// One line if all are fine, else one for each problem.
pub(super) fn check_executables(hooks: &[Executable], places: &InstallPaths) -> Vec<Check> {
    let folder = hooks.iter().find_map(|hook| hook.path.parent()).unwrap_or(&places.executables);
    let cure = match places.are_copied() {
        true => "run `ralph install`",
        false => "run `./install.sh` again, or copy it there",
    };
    let mut wrong: Vec<Check> = writable_by_others(folder);
    let broken = hooks.iter().filter_map(|hook| Some((hook.version.as_ref().err()?, hook.name)));
    wrong.extend(grouped(broken).into_iter().map(|(what, names)| {
        let names = names.join("`, `");
        fail(EXECUTABLES, format!("`{names}` in `{}` {what}", folder.display()), cure)
    }));
    if wrong.is_empty() {
        let n_hooks = hooks.len();
        return vec![well(
            EXECUTABLES,
            format!("`ralph` and {n_hooks} hooks in `{}`", folder.display()),
        )];
    }
    wrong
}

/// A user who can write an executable, or its folder, decides what every session runs.
fn writable_by_others(folder: &Path) -> Vec<Check> {
    let names = HOOK_EXECUTABLES.into_iter().chain(["ralph"]);
    let files = names.map(|name| folder.join(name));
    let mut wrong = Vec::new();
    for path in [folder.to_owned()].into_iter().chain(files) {
        let Some(access) = user_files::access(&path) else { continue };
        // In a folder with the sticky bit, only a file's owner can replace it.
        if access.mode & 0o002 == 0 || (access.is_folder && access.mode & 0o1000 != 0) {
            continue;
        }
        let shown = path.display();
        let detail = format!("`{shown}` can be written by anyone");
        let check = fail(EXECUTABLES, detail, format!("run `chmod go-w {shown}`"));
        // The folder may be shared on purpose, but the executables are Ralph's.
        let is_ours = access.is_file && access.is_mine;
        let fix = is_ours.then(|| Fix::RemoveWriteAccess(path.clone()));
        wrong.push(Check { fix, ..check });
    }
    wrong
}

/// The version that an executable prints; `None` if it prints none.
///
/// # Errors
/// Why it cannot be used.
pub(super) fn version_of(path: &Path, name: &str) -> Result<Option<String>, String> {
    let access = user_files::access(path).ok_or("is missing")?;
    if !access.is_file {
        return Err("is not a file".to_owned());
    }
    if access.mode & 0o111 == 0 {
        return Err("is not executable".to_owned());
    }
    let command = path.to_string_lossy();
    let program = Program {
        command: &command,
        args: vec![VERSION],
        folder: Path::new("/"),
        stdin: "",
        // A hook of a named session answers for that session.
        env: vec![("CLAUDE_CODE_SESSION_ID", OsStr::new(""))],
        deadline: DEADLINE,
    };
    let printed = run(&program)?.stdout;
    let version = printed.strip_prefix(name).map(str::trim).filter(|version| !version.is_empty());
    Ok(version.map(str::to_owned))
}

/// Runs a program to its end.
///
/// # Errors
/// Why it did not end well.
pub(super) fn run(program: &Program<'_>) -> Result<ProbeResult, String> {
    let outcome =
        process::run_once(program).map_err(|error| format!("does not start ({error:#})"))?;
    let said = outcome.stderr.lines().next().unwrap_or_default();
    match outcome.ended {
        ProgramEnd::Exited(0) => Ok(outcome),
        ProgramEnd::Exited(code) => Err(format!("ended with exit code {code}: {said}")),
        ProgramEnd::Signalled(signal) => Err(format!("was ended by signal {signal}: {said}")),
        ProgramEnd::Overdue => Err(format!("gave no answer in {} s", program.deadline.as_secs())),
    }
}

// Checks that the executables, the installed skills and the plugin have one version.
//
// They are upgraded by different commands. An older skill tells the model what a newer hook no
// longer does, and an older hook leaves the state of a newer `ralph` alone, so the loop stops being
// enforced.

const VERSIONS: &str = "versions";
pub(super) const OURS: &str = env!("CARGO_PKG_VERSION");

/// One line if all have the version of this `ralph`, else one for each part that differs.
pub(super) fn check_versions(
    hooks: &[Executable],
    plugin: Option<&Plugin>,
    places: &InstallPaths,
) -> Vec<Check> {
    let record = InstallRecord::read(places.ralph.root()).unwrap_or_default();
    let with_skills: Vec<(&Install, ScopeArgs)> = record
        .all()
        .iter()
        .filter(|install| user_files::access(&install.settings).is_some())
        .filter_map(|install| Some((install, ScopeArgs::of_settings(&install.settings, places)?)))
        .collect();
    let mut wrong = other_executables(hooks, places);
    wrong.extend(with_skills.iter().filter_map(|(install, args)| skills(install, args, places)));
    wrong.extend(plugin.and_then(|plugin| of_plugin(plugin, places)));
    if !wrong.is_empty() {
        return wrong;
    }
    let mut parts = vec!["executables"];
    parts.extend((!with_skills.is_empty()).then_some("skills"));
    parts.extend(plugin.and_then(Plugin::version).map(|_| "plugin"));
    vec![well(VERSIONS, format!("{OURS} ({})", parts.join(", ")))]
}

/// The hooks of another version than this `ralph`, in one line for each version.
fn other_executables(hooks: &[Executable], places: &InstallPaths) -> Vec<Check> {
    let versions = hooks.iter().filter_map(|hook| {
        Some((hook.version.as_ref().ok()?.as_deref().filter(|it| *it != OURS)?, hook.name))
    });
    let line = |(version, names): (&str, Vec<&str>)| {
        let (names, folder) = (names.join(", "), places.executables.display());
        let detail = format!("{names} in `{folder}`: {version}, and this `ralph` is {OURS}");
        let cure = match places.are_copied() && !is_newer(version) {
            true => "run `ralph install`".to_owned(),
            false => upgrade(places),
        };
        warn(VERSIONS, detail, cure)
    };
    grouped(versions).into_iter().map(line).collect()
}

fn skills(install: &Install, args: &ScopeArgs, places: &InstallPaths) -> Option<Check> {
    let version = install.version.as_deref().unwrap_or("older");
    if version == OURS {
        return None;
    }
    let folder = install.settings.parent().unwrap_or(&install.settings).display();
    let detail =
        format!("skills, agents and hooks in `{folder}`: {version}, and this `ralph` is {OURS}");
    Some(match is_newer(version) {
        true => warn(VERSIONS, detail, upgrade(places)),
        false => warn(VERSIONS, detail, format!("run `{}`", args.command(None)))
            .with_fix(Fix::Install(args.clone())),
    })
}

fn of_plugin(plugin: &Plugin, places: &InstallPaths) -> Option<Check> {
    let root = plugin.root.as_ref()?;
    let version = plugin.version().unwrap_or_else(|| "unknown".to_owned());
    if version == OURS {
        return None;
    }
    let id = &plugin.id;
    let detail =
        format!("plugin `{id}` in `{}`: {version}, and this `ralph` is {OURS}", root.display());
    let cure = match (is_newer(&version), plugin.is_in_place) {
        (true, _) => upgrade(places),
        (false, true) => {
            format!("run `ralph install --plugin {}`", quoted(&root.to_string_lossy()))
        }
        (false, false) => {
            let marketplace = id.split_once('@').map_or("ralph", |(_, marketplace)| marketplace);
            format!(
                "run `claude plugin marketplace update {marketplace}`, then `claude plugin update {id}`"
            )
        }
    };
    Some(warn(VERSIONS, detail, cure))
}

/// Whether a version is newer than this `ralph`; false if it is unknown.
fn is_newer(version: &str) -> bool {
    numbers(version).zip(numbers(OURS)).is_some_and(|(theirs, ours)| theirs > ours)
}

fn numbers(version: &str) -> Option<Vec<u32>> {
    let release = version.split(['-', '+']).next()?;
    release.split('.').map(|number| number.parse().ok()).collect()
}

/// The command that brings all executables in their folder to the newest version.
fn upgrade(places: &InstallPaths) -> String {
    let folder = &places.executables;
    let has = |name: &str| folder.components().any(|part| part.as_os_str() == name);
    let command = if places.are_copied() {
        "npm install -g @ralph-loop/ralph && ralph install"
    } else if has("Cellar") || folder.ends_with("opt/ralph/bin") {
        "brew upgrade ralph && ralph install"
    } else if folder.ends_with(".cargo/bin") {
        "for crate in ralph ralph-hooks; do cargo binstall --git https://github.com/ralph-loop/ralph $crate; done && ralph install"
    } else {
        return "run Ralph's `install.sh` again, which replaces them all".to_owned();
    };
    format!("run `{command}`")
}

// Checks which executables `PATH` leads to. The model types `ralph verify`, and the client finds
// hooks registered by bare name there as well.
//
// A client started from a desktop may have another `PATH` than this terminal.

const PATH: &str = "path";

/// One line if all is fine, else one for each name that leads elsewhere.
pub(super) fn check_path(settings: &ClientSettings, places: &InstallPaths) -> Vec<Check> {
    let mut names: Vec<String> = vec!["ralph".to_owned()];
    names.extend(hooks(settings).iter().filter_map(|hook| bare_name(&hook.command)));
    names.sort_unstable();
    names.dedup();
    let wrong = wrong_on_path(&names, places.typed(), found_on_path(places));
    if wrong.is_empty() {
        let shown = places.typed().display();
        return vec![well(PATH, format!("`ralph` on PATH is the one in `{shown}`"))];
    }
    wrong
}

/// A note for the user if `ralph` is not found on `PATH`.
pub(crate) fn path_advice(places: &InstallPaths) -> Option<String> {
    let names = ["ralph".to_owned()];
    let check = wrong_on_path(&names, places.typed(), found_on_path(places)).into_iter().next()?;
    Some(format!("{}; {}", check.detail, check.cure.unwrap_or_default()))
}

/// The executable of a name that `PATH` leads to. npm links a launcher into `PATH`, which stands for the
/// executable that it starts.
fn found_on_path(places: &InstallPaths) -> impl Fn(&str) -> Option<PathBuf> {
    move |name| {
        let path = programs::find_on_path(name)?;
        let starts_ours =
            places.are_copied() && version_of(&path, name).ok().flatten().as_deref() == Some(OURS);
        Some(if starts_ours { places.typed().join(name) } else { path })
    }
}

/// The program that a registration looks for on `PATH`; `None` if it names a path.
fn bare_name(command: &str) -> Option<String> {
    let program = command.split_whitespace().next()?.trim_matches(['"', '\'']);
    (!program.contains('/')).then(|| program.to_owned())
}

fn wrong_on_path(
    names: &[String],
    executables: &Path,
    found: impl Fn(&str) -> Option<PathBuf>,
) -> Vec<Check> {
    let folder = executables.display();
    let mut wrong = Vec::new();
    for name in names {
        let beside = user_files::real(&executables.join(name));
        match found(name) {
            Some(path) if user_files::real(&path) == beside => {}
            Some(path) => wrong.push(warn(
                PATH,
                format!("`{name}` on PATH is `{}`, not the one in `{folder}`", path.display()),
                "remove the older one, or put the other folder first on PATH",
            )),
            None => wrong.push(warn(
                PATH,
                format!("`{name}` is not on PATH, so the shell does not find it"),
                format!("add to your shell's profile: export PATH=\"{folder}:$PATH\""),
            )),
        }
    }
    wrong
}

// Checks that the client and `bd` are installed and new enough.

const CLIENT: &str = "client";
const BEADS: &str = "beads";
pub(super) fn check_client() -> Check {
    match claude_code::installed() {
        Err(error) => {
            fail(CLIENT, format!("{error:#}"), "install Claude Code, or name it in RALPH_CLAUDE")
        }
        Ok(client) => judge_client(&client),
    }
}

/// Fails where Ralph would start no loop, and warns of each other feature that is missing.
fn judge_client(client: &InstalledClient) -> Check {
    let InstalledClient { command, printed, version } = client;
    let Some(version) = version else {
        let detail =
            format!("`{command} --version` printed `{printed}`, which contains no version");
        return warn(CLIENT, detail, format!("Ralph was measured with Claude Code {MEASURED}"));
    };
    let FeatureRow { name, since, without, .. } = ClientFeature::Conversation.row();
    if version < since {
        let detail = format!(
            "`{command}` {printed} is older than {since}, which {name} needs ({without}): Ralph starts none"
        );
        return fail(CLIENT, detail, UPDATE);
    }
    let without: Vec<String> = FEATURES
        .iter()
        .filter(|row| *version < row.since)
        .map(|FeatureRow { name, since, without, is_floor, .. }| match is_floor {
            true => format!("no {name}: {without} (since {since})"),
            false => format!("{without} (since {since})"),
        })
        .collect();
    match without.is_empty() {
        true => well(CLIENT, format!("`{command}` {printed}, measured with {MEASURED}")),
        false => warn(CLIENT, format!("`{command}` {printed}: {}", without.join("; ")), UPDATE),
    }
}

const UPDATE: &str = "type `claude update`";

/// Checks `bd` if the project keeps its tasks there.
pub(super) fn check_beads(current: &Path) -> Option<Check> {
    let root = project::root(None, current);
    let used = beads::has_store(current) || beads::has_store(&root);
    used.then(|| match Bd::find() {
        Ok(bd) => well(BEADS, format!("`bd` {}, and {OLDEST} or newer is needed", bd.version())),
        // A warning only, since no loop needs `bd`.
        Err(error) => warn(
            BEADS,
            format!("{error:#}"),
            "the project has `.beads/`, which cannot be refined until then",
        ),
    })
}

#[cfg(test)]
mod versions_tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        assert!(is_newer("0.10.0") && is_newer("1.0.0-rc.1"));
        assert!(!is_newer(OURS) && !is_newer("0.0.9") && !is_newer("older"));
    }
}

#[cfg(test)]
mod path_tests {
    use super::*;

    #[test]
    fn a_name_that_leads_elsewhere_or_nowhere_is_told() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["ours/ralph", "ours/ralph-stop-hook", "older/ralph"] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let ours = folder.path().join("ours");
        let names = ["ralph".to_owned(), "ralph-stop-hook".to_owned()];
        let said = |first: &str| {
            let first = folder.path().join(first);
            let found = |name: &str| Some(first.join(name)).filter(|path| path.exists());
            let lines = wrong_on_path(&names, &ours, found).into_iter().map(|check| check.detail);
            lines.collect::<Vec<_>>()
        };
        assert_eq!(said("ours"), [""; 0]);
        let older = said("older");
        assert!(older[0].contains("older/ralph`, not the one in `"), "{older:?}");
        assert!(older[1].starts_with("`ralph-stop-hook` is not on PATH"), "{older:?}");
        assert_eq!(said("nowhere").len(), 2);
    }

    #[test]
    fn a_registration_by_path_is_not_looked_for() {
        assert_eq!(bare_name("/opt/ralph-stop-hook"), None);
        assert_eq!(bare_name("ralph-stop-hook settings").as_deref(), Some("ralph-stop-hook"));
        assert_eq!(bare_name("\"$HOME/.local/bin/ralph-stop-hook\" settings"), None);
    }
}

#[cfg(test)]
mod client_tests {
    use super::super::CheckVerdict;
    use super::*;
    use ralph_core::protocol::client_version::ClientVersion;

    #[track_caller]
    fn says(printed: &str, verdict: CheckVerdict, expected: &str) {
        let check = judge_client(&InstalledClient {
            command: "claude".to_owned(),
            printed: printed.to_owned(),
            version: ClientVersion::printed(printed),
        });
        assert_eq!(check.verdict, verdict, "{check:?}");
        assert!(check.detail.contains(expected), "{check:?}");
    }

    #[test]
    fn a_client_is_judged_by_what_its_version_has() {
        let before = |since: ClientVersion| format!("2.1.{} (Claude Code)", since.2 - 1);
        says(&format!("{MEASURED} (Claude Code)"), CheckVerdict::Well, "measured with 2.1.");
        let floor = ClientFeature::Conversation.row();
        for row in &FEATURES {
            match row.since <= floor.since {
                true => says(&before(row.since), CheckVerdict::Fail, "is older than"),
                false => says(&before(row.since), CheckVerdict::Warn, row.without),
            }
        }
        says(&before(floor.since), CheckVerdict::Fail, &format!("is older than {}", floor.since));
        says("1.0.128 (Claude Code)", CheckVerdict::Fail, "Ralph starts none");
        says("3.0.0-beta.1", CheckVerdict::Well, "3.0.0-beta.1");
        says("hello", CheckVerdict::Warn, "contains no version");
    }
}
