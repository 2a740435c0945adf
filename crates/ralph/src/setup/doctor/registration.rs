//! Checks that each registration is complete and that registrations do not conflict.

use super::check::{Check, fail, warn, well};
use super::fix::Fix;
use super::plugin::{self, Plugin};
use super::settings::{RegisteredHook, hooks, hooks_in, project_root};
use crate::command::screen::visible;
use crate::setup::places::InstallPaths;
use ralph_core::protocol::registration::{HOOKS, Hook, OnFailure, Origin, Runs, matcher_text};
use ralph_core::text::plural::counted;
use ralph_io::client::client_settings::{ClientSettings, SettingsFile};
use ralph_io::project::user_files;
use std::path::{Path, PathBuf};

const NAME: &str = "registration";
const INSTALL: &str = "run `ralph install`";

/// One line per registration found, and one for each problem with them.
pub(super) fn check(
    settings: &ClientSettings,
    plugin: Option<&Plugin>,
    places: &InstallPaths,
) -> Vec<Check> {
    let mut checks = Vec::new();
    for (file, value) in settings.readable() {
        let hooks = hooks_in(value, Origin::Settings);
        if !hooks.is_empty() {
            checks.push(check_file(file, &hooks, places));
        }
    }
    let in_settings = !checks.is_empty();
    let names = skills_with_hooks(places);
    if let Some(plugin) = plugin {
        checks.push(plugin::check(plugin));
        if in_settings {
            let id = &plugin.id;
            checks.push(warn(
                NAME,
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
        checks.push(warn(NAME, detail, INSTALL));
    }
    if checks.is_empty() {
        checks.push(fail(NAME, "no hook is registered: no loop would be enforced", INSTALL));
    }
    checks.extend(different_copies(settings));
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

fn check_file(file: &SettingsFile, hooks: &[RegisteredHook], places: &InstallPaths) -> Check {
    let SettingsFile { rank, path, .. } = file;
    let again = Fix::install_again(path, places);
    let shown = path.display();
    let missing = missing(hooks);
    if missing.is_empty() {
        let linked = match link(path) {
            Some(real) => format!(", a link to `{}`", real.display()),
            None => String::new(),
        };
        return well(
            NAME,
            format!(
                "{} in the {rank} settings `{shown}`{linked}",
                counted(hooks.len(), "hook", "hooks")
            ),
        );
    }
    let missing = missing.join(", ");
    let detail = format!("not registered in the {rank} settings `{shown}`: {missing}");
    let check = fail(NAME, detail, INSTALL);
    match again {
        Some(fix) => check.with_fix(fix),
        None => check,
    }
}

/// The real path of a settings file that is a symlink, as `stow` makes them.
fn link(path: &Path) -> Option<PathBuf> {
    let real = user_files::real(path)?;
    let straight = user_files::real(path.parent()?)?.join(path.file_name()?);
    (real != straight).then_some(real)
}

/// The missing parts of a registration, row by row of the table.
pub(super) fn missing(hooks: &[RegisteredHook]) -> Vec<String> {
    HOOKS.iter().filter_map(|row| lack(row, hooks)).collect()
}

/// What a row of the table lacks: the whole entry, a matcher that covers it, or one of its options.
fn lack(row: &Hook, hooks: &[RegisteredHook]) -> Option<String> {
    let wanted = matcher_text(row.matcher).unwrap_or_else(|| "*".to_owned());
    let words: Vec<&str> = [row.executable].into_iter().chain(row.args.iter().copied()).collect();
    let name = format!("{} ({})", row.event, words.join(" "));
    let present = || hooks.iter().filter(|hook| is_row(hook, row));
    let runs = |hook: &RegisteredHook| match hook.is_async_rewake {
        true => Runs::Beside,
        false => Runs::InTurn,
    };
    if let Some(hook) = present().find(|hook| runs(hook) != row.runs) {
        let what = if hook.is_async_rewake { "with" } else { "without" };
        return Some(format!("{name} is registered {what} `asyncRewake`"));
    }
    // With a shorter timeout the client kills the hook while it works, and its output is lost.
    let short = |hook: &&RegisteredHook| {
        hook.timeout_ms.is_some_and(|given| given < u64::from(row.timeout_ms))
    };
    if let Some(hook) = present().find(short) {
        let seconds = |ms: u64| ms as f64 / 1e3;
        let given = seconds(hook.timeout_ms.unwrap_or_default());
        let needed = seconds(u64::from(row.timeout_ms));
        return Some(format!("{name} has {given} s and needs {needed} s"));
    }
    if row.on_failure == OnFailure::Block && present().any(|hook| !hook.blocks_on_failure) {
        return Some(format!("{name} is registered without `\"onFailure\": \"block\"`"));
    }
    let mut matchers = present().map(|hook| &hook.matcher);
    let Some(first) = matchers.clone().next() else { return Some(name) };
    let fits = matchers.any(|matcher| *matcher == wanted || matcher == "*");
    (!fits).then(|| format!("{name} is only for `{first}`, not for `{wanted}`"))
}

/// Whether an entry belongs to this row. One event may start an executable in several ways, which
/// the arguments tell apart.
fn is_row(hook: &RegisteredHook, row: &Hook) -> bool {
    let words: Vec<&str> = match &hook.args {
        Some(args) => {
            [hook.command.as_str()].into_iter().chain(args.iter().map(String::as_str)).collect()
        }
        None => {
            hook.command.split_whitespace().map(|word| word.trim_matches(['"', '\''])).collect()
        }
    };
    let [program, args @ .., _origin] = words.as_slice() else { return false };
    let name = program.trim_matches(['"', '\'']).rsplit('/').next();
    hook.event == row.event && name == Some(row.executable) && args == row.args
}

/// The client starts identical entries once. Two entries that differ both run, with the same rank.
fn different_copies(settings: &ClientSettings) -> Option<Check> {
    let hooks = hooks(settings);
    let row = HOOKS.iter().find(|row| hooks.iter().filter(|hook| is_row(hook, row)).count() > 1)?;
    let copies: Vec<&str> =
        hooks.iter().filter(|hook| is_row(hook, row)).map(|hook| hook.command.as_str()).collect();
    Some(fail(
        NAME,
        format!(
            "`{}` is registered in {} ways ({}): each stop would count more than once",
            row.event,
            copies.len(),
            copies.join(", ")
        ),
        "keep one: run `ralph install` or `ralph uninstall` for the user and for the project",
    ))
}
