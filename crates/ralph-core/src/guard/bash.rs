//! Finds the table row for a Bash command.
//!
//! A command that names a protected place is refused unless it is known to be read-only: a list of
//! readers is short and stays correct, whereas a list of everything that writes is never complete.

mod paths;
mod readers;
mod sources;

use super::places::{self, HOOKS, ProtectedPaths, ProtectedPlace, could_be};
use super::{PathsToResolve, Rule, Situation, ToolCall, ralph_command};
use crate::shell::{self, ONE, Opaque, Reading, STAR, Simple, UNKNOWN};
use paths::{
    CHANGERS, FoundPaths, REMOVERS, carried, found, into_folder, linked, listed_before,
    named_paths, own_folder, removed, shut, written_words,
};
use readers::only_reads;
use sources::{SourceKind, bringers};

type RuleHit = (Rule, String);

pub(super) fn row(situation: &Situation<'_>, call: &ToolCall<'_>) -> RuleHit {
    if call.cut {
        return (Rule::CutCommand, CUT.to_owned());
    }
    let command = call.input.command.as_deref().unwrap_or_default();
    let reading = read(situation.places, call.cwd, command);
    commands_row(&reading, situation)
        .or_else(|| judged(situation))
        .or_else(|| places_row(&reading, situation.places, call.cwd))
        .or_else(|| opaque_row(&reading, command, situation.places))
        // The plan gate refuses such a line with its own message.
        .or_else(|| unreadable_row(&reading).filter(|_| situation.ralplan.is_none()))
        .unwrap_or((Rule::Mutation, String::new()))
}

/// Why this text would be refused as a Bash command line; `None` if it would be allowed.
pub(super) fn refused(
    situation: &Situation<'_>,
    call: &ToolCall<'_>,
    line: &str,
) -> Option<RuleHit> {
    let reading = read(situation.places, call.cwd, line);
    commands_row(&reading, situation)
        .or_else(|| places_row(&reading, situation.places, call.cwd))
        .or_else(|| opaque_row(&reading, line, situation.places))
}

fn read(places: &ProtectedPaths, cwd: &str, line: &str) -> Reading {
    shell::read(line, &known_variables(places, cwd))
}

/// True if the first word is the name of a common command, so that the text may be a command line.
pub(super) fn begins_like_a_command(line: &str) -> bool {
    const USUAL: [&str; 22] = [
        "awk", "bash", "cat", "cd", "command", "dd", "echo", "env", "eval", "exec", "export",
        "find", "git", "install", "nohup", "python3", "ralph", "rsync", "sh", "sudo", "tar",
        "xargs",
    ];
    let first = line.split_whitespace().find(|word| !word.contains('='));
    let name = first.map_or("", |word| word.rsplit('/').next().unwrap_or(word));
    USUAL.contains(&name) || CHANGERS.contains(&name) || REMOVERS.contains(&name)
}

/// The paths of a command line that may be links, and the folders and patches that it would copy or
/// apply.
pub(super) fn wanted(line: &str, places: &ProtectedPaths, cwd: &str) -> PathsToResolve {
    let reading = read(places, cwd, line);
    let mut wanted = PathsToResolve::default();
    let mut folders = vec![cwd.to_owned()];
    for simple in &reading.commands {
        let own = own_folder(simple).map(str::to_owned);
        let all: Vec<&str> = folders.iter().map(String::as_str).chain(own.as_deref()).collect();
        // Arguments of a reader count too, because it may pass them on: `echo link/x | xargs rm`.
        let into = simple.redirects.iter().filter(|to| to.writes).map(|to| to.target.text.as_str());
        let words = simple.arguments().iter().flat_map(named_paths).chain(into);
        wanted.paths.extend(absolute(words, places, &all));
        if let Some(brings) = bringers(simple) {
            let sources = absolute(brings.sources.iter().map(String::as_str), places, &all);
            match brings.kind {
                SourceKind::Patch => wanted.patches.extend(sources),
                _ => wanted.folders.extend(sources),
            }
        }
        enter_folder(simple, &mut folders);
    }
    wanted.paths.dedup();
    wanted.paths.truncate(super::MOST_PATHS);
    wanted.folders.truncate(MOST_SOURCES);
    wanted.patches.truncate(MOST_SOURCES);
    wanted
}

/// How many folders, and how many patches, of one line are looked up.
const MOST_SOURCES: usize = 8;

fn absolute<'a>(
    words: impl Iterator<Item = &'a str>,
    places: &ProtectedPaths,
    folders: &[&str],
) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in words {
        // Up to the first part that is not literal.
        let known = match word.find([UNKNOWN, STAR, ONE]) {
            Some(at) => word[..at].rfind('/').map_or("", |end| &word[..end]),
            None => word,
        };
        if known.is_empty() || known.starts_with('-') || known.contains('\n') {
            continue;
        }
        for folder in folders {
            let path = places.absolute(known, folder);
            if !found.contains(&path) {
                found.push(path);
            }
        }
    }
    found
}

/// True for a command line that only runs `ralph`, in a way that starts no other program.
pub(super) fn only_asks_ralph(call: &ToolCall<'_>) -> bool {
    let command = call.input.command.as_deref().unwrap_or_default();
    let reading = shell::read(command, &[]);
    let asks = |simple: &Simple| {
        ralph_command::is_ralph(simple)
            && !ralph_command::has_computed_words(simple)
            && simple.redirects.iter().all(|to| !to.writes)
    };
    !call.cut
        && !reading.commands.is_empty()
        && reading.opaque.is_empty()
        && reading.commands.iter().all(asks)
}

fn known_variables<'a>(places: &'a ProtectedPaths, cwd: &'a str) -> Vec<(&'a str, &'a str)> {
    let mut known =
        vec![("HOME", places.home.as_str()), ("RALPH_HOME", &places.ralph_home), ("PWD", cwd)];

    // The parent folders of the default paths.
    let above = |place: &'a str| place.strip_suffix("/ralph");
    known.extend(above(&places.ralph_home).map(|place| ("XDG_STATE_HOME", place)));
    known.extend(above(&places.user_config).map(|place| ("XDG_CONFIG_HOME", place)));
    known.extend(places.config_dirs.first().map(|place| ("CLAUDE_CONFIG_DIR", place.as_str())));
    known.extend(places.plugin_root.iter().map(|place| ("CLAUDE_PLUGIN_ROOT", place.as_str())));
    known
}

/// The caller has already judged writes to artefacts of the orchestration.
fn judged(situation: &Situation<'_>) -> Option<RuleHit> {
    let refused = situation.session?.artefact?.err()?;
    Some((Rule::Artefact, refused.to_owned()))
}

fn refuse((command, typed): (String, &str)) -> RuleHit {
    (Rule::RefusedCommand, ralph_command::refusal(&command, typed))
}

fn protect(place: ProtectedPlace) -> RuleHit {
    places::row(place)
}

/// Refused commands of Ralph, also inside scripts for other interpreters.
fn commands_row(reading: &Reading, situation: &Situation<'_>) -> Option<RuleHit> {
    let commands = &reading.commands;
    if commands.iter().any(ralph_command::is_ralph)
        && let Some(name) = commands.iter().find_map(ralph_command::changed_identity)
    {
        let says = match name {
            ralph_command::TRACKER => "which program keeps the tasks",
            _ => "which loop a `ralph` command means",
        };
        let reason = format!(
            "`{name}` says {says}, and while a loop is live it stays as it is. Give the command \
             without changing it; what concerns another loop is done in another terminal."
        );
        return Some((Rule::RefusedCommand, reason));
    }
    if let Some(name) = commands.iter().find_map(ralph_command::removed_variable) {
        let reason = format!(
            "`{name}` is removed before a `ralph` command, and its variables tell Ralph which loop and \
             which sandbox it runs in. Give the command without `env`."
        );
        return Some((Rule::RefusedCommand, reason));
    }
    commands.iter().find_map(|simple| {
        if ralph_command::is_ralph(simple) {
            let persons = ralph_command::refused(simple, situation.session_id).map(refuse);
            return persons.or_else(|| ralph_command::reaches_elsewhere(simple, &situation.own));
        }
        if HOOKS.iter().any(|hook| could_be(simple.base(), hook)) {
            return Some((Rule::RefusedCommand, HOOK.to_owned()));
        }
        carried(simple).iter().find_map(|text| ralph_command::named_in(text)).map(refuse)
    })
}

/// Protected places that a command names, redirects into, or removes together with a parent folder.
fn places_row(reading: &Reading, places: &ProtectedPaths, cwd: &str) -> Option<RuleHit> {
    let mut folders = vec![cwd.to_owned()];
    for (at, simple) in reading.commands.iter().enumerate() {
        let earlier = &reading.commands[..at];
        let found = touches(simple, earlier, places, &folders);
        if let Some(place) = found {
            return Some(protect(place));
        }
        enter_folder(simple, &mut folders);
    }
    None
}

/// Tracks `cd` and `pushd`. A `cd` in a subshell or a branch cannot be told from one outside it, so
/// every folder that the line has entered counts for the commands that follow.
fn enter_folder(simple: &Simple, folders: &mut Vec<String>) {
    let enters = matches!(simple.name(), Some("cd" | "pushd"));
    let target = simple.arguments().iter().find(|word| !word.text.starts_with('-'));
    if let Some(word) = target.filter(|_| enters && folders.len() < 16) {
        let from = folders.last().cloned().unwrap_or_default();
        folders.push(match word.text.starts_with(['/', '~', UNKNOWN]) {
            true => word.text.clone(),
            false => format!("{from}/{}", word.text),
        });
    }
}

fn touches(
    simple: &Simple,
    earlier: &[Simple],
    places: &ProtectedPaths,
    folders: &[String],
) -> Option<ProtectedPlace> {
    let own = own_folder(simple);
    let folders: Vec<&str> = folders.iter().map(String::as_str).chain(own).collect();
    let in_any = |path: &str| folders.iter().find_map(|cwd| places.protected(path, cwd));

    let redirected =
        simple.redirects.iter().filter(|to| to.writes).find_map(|to| in_any(&to.target.text));
    if redirected.is_some() {
        return redirected;
    }
    let scripted = carried(simple)
        .iter()
        .find_map(|text| places.named_in(text).or_else(|| places.program_in(text)));
    if scripted.is_some() {
        return scripted;
    }
    let in_holds = |path: &str| folders.iter().find_map(|cwd| places.holds_protected(path, cwd));
    let above = removed(simple).into_iter().find_map(in_holds);
    if above.is_some() {
        return above;
    }
    // A link gives a place a second name, which the next command may use. Hook settings are exempt:
    // those in the project keep their own name.
    let linked = linked(simple)
        .into_iter()
        .filter_map(|path| folders.iter().find_map(|cwd| places.holds_protected(path, cwd)))
        .find(|place| *place != ProtectedPlace::HookSettings);
    if linked.is_some() {
        return linked;
    }
    let brought = bringers(simple).and_then(|brings| brings.touches(earlier, places, &folders));
    if brought.is_some() {
        return brought;
    }
    let shut = shut(simple).into_iter().find_map(|path| {
        folders.iter().find_map(|cwd| {
            let place = places.holds_protected(path, cwd)?;
            // Changing the permissions of the project's own files is ordinary work, so the working
            // directory itself is exempt: nothing works if its settings become unreadable.
            let is_project = place == ProtectedPlace::HookSettings
                && places.absolute(path, cwd) == places.absolute(".", cwd);
            (!is_project).then_some(place)
        })
    });
    if shut.is_some() {
        return shut;
    }
    if only_reads(simple) {
        return None;
    }
    let listed = listed_before(simple, earlier, places, &folders);
    if listed.is_some() {
        return listed;
    }
    let is_fed = simple.fed || simple.fed_by_words && CHANGERS.contains(&simple.base());
    let fed: Vec<&Simple> =
        earlier.iter().filter(|from| is_fed && from.pipeline == simple.pipeline).collect();
    let mut words =
        written_words(simple).iter().chain(fed.iter().flat_map(|from| from.arguments()));
    let input = simple.input.as_deref().filter(|_| simple.fed).unwrap_or_default();
    words
        .find_map(|word| named_paths(word).find_map(in_any))
        .or_else(|| input.split_whitespace().find_map(in_any))
        .or_else(|| into_folder(simple).iter().find_map(|path| in_any(path)))
        .or_else(|| {
            let finds = fed.into_iter().chain([simple]).filter(|from| from.base() == "find");
            finds.flat_map(found).find_map(|found| match found {
                FoundPaths::Path(path) => in_any(&path),
                FoundPaths::All(start) => {
                    folders.iter().find_map(|cwd| places.holds_protected(&start, cwd))
                }
                FoundPaths::Named(start, name) => {
                    folders.iter().find_map(|cwd| places.holds_named(&start, &name, cwd))
                }
            })
        })
}

/// A command line that cannot be parsed completely is allowed unless its bare text names something
/// refused.
fn opaque_row(reading: &Reading, command: &str, places: &ProtectedPaths) -> Option<RuleHit> {
    if reading.opaque.is_empty() {
        return None;
    }
    let refused = ralph_command::named_in(command).map(refuse);
    refused.or_else(|| places.named_in(command).map(protect))
}

/// A command line that a shell may parse differently from Ralph: it is unknown what it runs.
fn unreadable_row(reading: &Reading) -> Option<RuleHit> {
    let why = reading.opaque.iter().find_map(|why| match why {
        Opaque::Backticks => Some("the text between its backticks: write `$(…)` instead"),
        Opaque::Syntax(_) => Some("its syntax: close every quote and bracket, or write a script"),
        Opaque::TooDeep => Some("its nesting: give the commands one after the other"),
        Opaque::TooLong => Some("its length: write a script with the Write tool and run that"),
        Opaque::DynamicName | Opaque::DynamicScript | Opaque::PipedScript => None,
    })?;
    let reason = format!(
        "While a Ralph loop is live a command must be read before it runs. Ralph cannot read {why}."
    );
    Some((Rule::UnreadableCommand, reason))
}

const CUT: &str = "This command is longer than 64 KiB, and while a Ralph loop is live a command \
must be read whole before it runs. Write it to a file with the Write tool and run the file.";

const HOOK: &str = "Ralph's hooks are started by the client only; given by hand, an event would \
not be true. To see what they decided use `ralph explain`; to see the loop, `ralph status`. Go on \
with the work.";
