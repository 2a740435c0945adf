//! Finds the table row for a Bash command.
//!
//! A command that names a protected place is refused unless it is known to be read-only: a list of
//! readers is short and stays correct, whereas a list of everything that writes is never complete.

use super::brought::{patched, stripped};
use super::places::{self, HOOKS, ProtectedPaths, ProtectedPlace, could_be};
use super::{PathsToResolve, Rule, Situation, ToolCall, ralph_command};
use crate::shell::{self, ONE, Opaque, Reading, STAR, ShellWord, Simple, UNKNOWN};

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

/// The word as a path, plus the part after `=` in `--flag=path` or `of=path`, and the part after
/// the letter in `-opath`.
fn named_paths(word: &ShellWord) -> impl Iterator<Item = &str> {
    let value = word.text.split_once('=').map(|(_, value)| value);
    let is_short = word.text.starts_with('-') && !word.text.starts_with("--");
    let joined = word.text.get(2..).filter(|_| is_short);
    [Some(word.text.as_str()), value, joined].into_iter().flatten()
}

/// The folder that an option sets for a command: `git -C DIR`, `tar -C DIR`, `wget -P DIR`.
fn own_folder(simple: &Simple) -> Option<&str> {
    let mut words = simple.arguments().iter().map(|word| word.text.as_str());
    words.find(|word| matches!(*word, "-C" | "-P" | "-d"))?;
    words.next()
}

/// Paths that a `find` may pass on.
enum FoundPaths {
    /// This path.
    Path(String),
    /// Everything below this folder.
    All(String),
    /// Everything below this folder that has this name or path.
    Named(String, String),
}

fn found(simple: &Simple) -> Vec<FoundPaths> {
    let arguments = simple.arguments();
    let plain = arguments.iter().take_while(|word| !word.text.starts_with(['-', '(', '!']));
    let mut starts: Vec<&str> = plain.map(|word| word.text.as_str()).collect();
    if starts.is_empty() {
        starts.push(".");
    }
    let names: Vec<String> = arguments
        .windows(2)
        .filter(|pair| {
            matches!(
                pair[0].text.as_str(),
                "-name" | "-iname" | "-path" | "-ipath" | "-wholename" | "-iwholename"
            )
        })
        .map(|pair| pair[1].text.replace('*', &STAR.to_string()).replace('?', &ONE.to_string()))
        .collect();
    let of_start = |start: &str| -> Vec<FoundPaths> {
        let below = |name: &String| {
            let name = name.trim_start_matches("./");
            [format!("{start}/{name}"), format!("{start}/.claude/{name}")].map(FoundPaths::Path)
        };
        match names.is_empty() {
            true => vec![FoundPaths::All(start.to_owned())],
            false => {
                let named =
                    names.iter().map(|name| FoundPaths::Named(start.to_owned(), name.clone()));
                names.iter().flat_map(below).chain(named).collect()
            }
        }
    };
    starts.into_iter().flat_map(of_start).collect()
}

/// Scripts in other languages in a command's arguments or input. Only their bare text can be
/// searched.
fn carried(simple: &Simple) -> Vec<String> {
    let name = simple.name().unwrap_or_default();
    let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let interpreter = INTERPRETERS.contains(&stem);
    let inline = interpreter && simple.arguments().iter().any(|word| is_inline(&word.text));
    let everything = CARRIERS.contains(&name);
    // `awk` reads the files it names, unless its program writes a file or starts a command.
    let awk = AWKS.contains(&name);
    let writes = |word: &ShellWord| {
        awk && (word.text.contains(['>', '|']) || word.text.contains("system"))
            || name == "sed" && word.text.contains("w ")
    };

    let words = simple.arguments().iter().filter(move |word| inline || everything || writes(word));
    let input = simple.input.as_deref().filter(|_| interpreter || everything);
    let whole: Vec<&str> = simple.arguments().iter().map(|word| word.text.as_str()).collect();
    let whole = everything.then(|| whole.join(" "));
    words.map(|word| word.text.clone()).chain(whole).chain(input.map(str::to_owned)).collect()
}

fn is_inline(option: &str) -> bool {
    let short = option.starts_with('-') && !option.starts_with("--");
    short && option.contains(['c', 'e', 'E', 'p', 'r']) || option == "--eval" || option == "--print"
}

/// Paths that a command removes with all their contents.
fn removed(simple: &Simple) -> Vec<&str> {
    let arguments = simple.arguments();
    let operands = match simple.name() {
        Some("rm" | "rmdir" | "shred" | "unlink" | "trash" | "trash-put") => arguments,

        Some("mv") => arguments.split_last().map_or(arguments, |(_, sources)| sources),
        // Mounting over a path hides it, which is as effective as removing it.
        Some("mount") => arguments,
        // Taking permissions away or linking is as effective, but counts for `.claude` only, not
        // for its parent folders.
        Some("chmod" | "chown" | "chgrp" | "chattr" | "setfacl" | "ln") => {
            let client = |word: &&ShellWord| word.text.trim_end_matches('/').ends_with(".claude");
            return arguments.iter().filter(client).map(|word| word.text.as_str()).collect();
        }
        // `git checkout main -- .claude`
        Some("git") if !git_reads(simple) => {
            let client = |word: &&ShellWord| {
                let text = word
                    .text
                    .trim_end_matches('/')
                    .trim_start_matches(":(top)")
                    .trim_start_matches(":/");
                text == ".claude" || text.ends_with("/.claude")
            };
            return arguments.iter().filter(client).map(|word| word.text.as_str()).collect();
        }
        _ => &[],
    };
    operands.iter().map(|word| word.text.as_str()).filter(|text| !text.starts_with('-')).collect()
}

/// Paths that a command gives a second name.
fn linked(simple: &Simple) -> Vec<&str> {
    match simple.name() {
        Some("ln") => simple
            .arguments()
            .iter()
            .map(|word| word.text.as_str())
            .filter(|text| !text.starts_with('-'))
            .collect(),
        _ => Vec::new(),
    }
}

/// Paths whose permissions or owner a command changes, unless it only adds permissions for the
/// owner.
fn shut(simple: &Simple) -> Vec<&str> {
    let Some(name @ ("chmod" | "chown" | "chgrp" | "chattr" | "setfacl")) = simple.name() else {
        return Vec::new();
    };
    let words: Vec<&str> = simple.arguments().iter().map(|word| word.text.as_str()).collect();
    let is_option = |word: &str| {
        word.strip_prefix('-').is_some_and(|letters| {
            letters.starts_with('-') || letters.chars().all(|letter| "RfvcLPHbkm".contains(letter))
        })
    };
    let takes = |mode: &str| {
        let numeric = mode.chars().all(|letter| letter.is_ascii_digit());
        match numeric {
            // Harmless if the owner keeps read, write and execute, and no one else gains write.
            true => {
                let digits = format!("{mode:0>3}");
                let (owner, rest) = digits[digits.len() - 3..].split_at(1);
                owner != "7" || rest.contains(['2', '3', '6', '7'])
            }
            false => mode.split(',').any(|clause| {
                clause.contains(['-', '=']) || clause.contains('w') && !clause.starts_with("u+")
            }),
        }
    };
    let harmless = name == "chmod"
        && words.iter().find(|word| !is_option(word)).is_some_and(|mode| !takes(mode));
    if harmless {
        return Vec::new();
    }
    words.into_iter().filter(|word| !word.starts_with('-')).collect()
}

/// A protected place that a listing command passes to a changer: `s=$(ls …/state.json); rm $s`,
/// `rm $(which ralph)`.
fn listed_before(
    simple: &Simple,
    earlier: &[Simple],
    places: &ProtectedPaths,
    folders: &[&str],
) -> Option<ProtectedPlace> {
    let changes = CHANGERS.contains(&simple.base()) || REMOVERS.contains(&simple.base());
    let is_program = |word: &ShellWord| word.text == "ralph" || HOOKS.contains(&word.text.as_str());
    let is_unknown = |word: &ShellWord| word.text.contains(UNKNOWN) || is_program(word);
    if !changes || !simple.arguments().iter().any(is_unknown) && !simple.fed {
        return None;
    }
    let is_lister = |from: &&Simple| LISTERS.contains(&from.base());
    let shares = |from: &&Simple| !simple.fed || from.pipeline == simple.pipeline;
    earlier.iter().filter(is_lister).filter(shares).flat_map(|from| from.arguments()).find_map(
        |word| {
            let named = folders.iter().find_map(|cwd| {
                let above = || match places.is_at_or_above(&word.text, cwd) {
                    true => None,
                    false => places.holds_protected(&word.text, cwd),
                };
                places.protected(&word.text, cwd).or_else(above)
            });
            named.or_else(|| is_program(word).then_some(ProtectedPlace::Executable))
        },
    )
}

/// A command that copies or moves a folder, or applies a patch or an archive.
struct Brings {
    /// Folders and patches, as written in the line.
    sources: Vec<String>,
    target: String,
    kind: SourceKind,
    /// The patch, if it is part of the line itself.
    text: Option<String>,
}

#[derive(Clone, Copy, PartialEq)]
enum SourceKind {
    Folder,
    Patch,
    Archive,
}

fn bringers(simple: &Simple) -> Option<Brings> {
    let words: Vec<&str> = simple.arguments().iter().map(|word| word.text.as_str()).collect();
    let plain: Vec<&str> = words.iter().copied().filter(|word| !word.starts_with('-')).collect();
    let folder = |recursive: bool| {
        let told = words
            .windows(2)
            .find(|pair| matches!(pair[0], "-t" | "--target-directory"))
            .map(|pair| pair[1]);
        let (last, sources) = plain.split_last()?;
        let (target, sources) = match told {
            Some(told) => (told, &plain[..]),
            None => (*last, sources),
        };
        recursive.then(|| Brings {
            sources: sources
                .iter()
                .filter(|word| **word != target)
                .map(|word| (*word).to_owned())
                .collect(),
            target: target.to_owned(),
            kind: SourceKind::Folder,
            text: None,
        })
    };
    match simple.name()? {
        "mv" | "rsync" | "ditto" => folder(true),
        "ln" => folder(words.iter().any(|word| *word == "--symbolic" || is_short(word, 's'))),
        "cp" => folder(words.iter().any(|word| {
            matches!(*word, "--recursive" | "--archive")
                || ['r', 'R', 'a'].iter().any(|letter| is_short(word, *letter))
        })),
        "tar" | "bsdtar" => {
            let takes_out =
                words.first().is_some_and(|word| !word.starts_with('-') && word.contains('x'))
                    || words.iter().any(|word| *word == "--extract" || is_short(word, 'x'));
            takes_out.then(|| archive(simple))
        }
        "unzip" | "7z" | "7za" | "cpio" | "unrar" | "pax" => Some(archive(simple)),
        "patch" => {
            let reads = words.contains(&"--dry-run");
            let input = words
                .windows(2)
                .find(|pair| matches!(pair[0], "-i" | "--input"))
                .map(|pair| pair[1]);
            let joined = words.iter().find_map(|word| {
                word.strip_prefix("--input=")
                    .or_else(|| word.strip_prefix("-i").filter(|rest| !rest.is_empty()))
            });
            (!reads)
                .then(|| patch_of(simple, input.or(joined).or(plain.get(1).copied()).into_iter()))
        }
        "git" => {
            let at = words.iter().position(|word| matches!(*word, "apply" | "am"))?;
            let only_looks = ["--stat", "--numstat", "--summary", "--check"];
            let ends = ["--abort", "--continue", "--skip", "--quit", "--show-current-patch"];
            let harmless = words.iter().any(|word| only_looks.contains(word))
                && !words.contains(&"--apply")
                || words.iter().any(|word| ends.contains(word));
            let valued =
                ["-p", "-C", "--directory", "--exclude", "--include", "--whitespace", "-d"];
            let operands = words[at + 1..].iter().enumerate().filter(|(place, word)| {
                !(word.starts_with('-') || *place > 0 && valued.contains(&words[at + *place]))
            });
            let is_first = words[..at].iter().all(|word| {
                word.starts_with('-')
                    || words
                        .windows(2)
                        .any(|pair| pair[1] == *word && matches!(pair[0], "-C" | "-c"))
            });
            (is_first && !harmless).then(|| patch_of(simple, operands.map(|(_, word)| *word)))
        }
        _ => None,
    }
}

fn archive(simple: &Simple) -> Brings {
    let target = own_folder(simple).unwrap_or(".").to_owned();
    Brings { sources: Vec::new(), target, kind: SourceKind::Archive, text: None }
}

fn patch_of<'a>(simple: &Simple, files: impl Iterator<Item = &'a str>) -> Brings {
    let mut sources: Vec<String> = files.filter(|file| *file != "-").map(str::to_owned).collect();
    if sources.is_empty() {
        let read = simple.redirects.iter().filter(|from| !from.writes);
        sources.extend(read.map(|from| from.target.text.clone()));
    }
    let text = simple.input.clone().filter(|_| sources.is_empty());
    let target = own_folder(simple).unwrap_or(".").to_owned();
    Brings { sources, target, kind: SourceKind::Patch, text }
}

impl Brings {
    fn touches(
        &self,
        earlier: &[Simple],
        places: &ProtectedPaths,
        folders: &[&str],
    ) -> Option<ProtectedPlace> {
        match self.kind {
            SourceKind::Folder => self.folder(earlier, places, folders),
            SourceKind::Patch => self.patch(earlier, places, folders),
            // The contents of an archive are unknown, so none may be unpacked into these folders.
            SourceKind::Archive => self.puts_into_client(places, folders).or_else(|| {
                let target = (self.target != ".").then_some(self.target.as_str())?;
                folders.iter().find_map(|cwd| places.protected(target, cwd))
            }),
        }
    }

    fn puts_into_client(
        &self,
        places: &ProtectedPaths,
        folders: &[&str],
    ) -> Option<ProtectedPlace> {
        folders
            .iter()
            .any(|cwd| places.is_client(&self.target, cwd))
            .then_some(ProtectedPlace::HookSettings)
    }

    fn folder(
        &self,
        earlier: &[Simple],
        places: &ProtectedPaths,
        folders: &[&str],
    ) -> Option<ProtectedPlace> {
        for source in &self.sources {
            // Files that the same line puts into the source are not on the disk yet.
            let name = source.trim_end_matches(['/', '.']);
            let is_filled = earlier
                .iter()
                .filter(|from| !only_reads(from) || from.redirects.iter().any(|to| to.writes))
                .any(|from| {
                    let into = from.redirects.iter().filter(|to| to.writes).map(|to| &to.target);
                    from.arguments()
                        .iter()
                        .chain(into)
                        .any(|word| !name.is_empty() && word.text.contains(name))
                });
            let known = folders.iter().find_map(|cwd| {
                let from = places.absolute(source, cwd);
                places.brought.iter().find(|brought| brought.from == from)
            });
            let Some(known) = known.filter(|_| !is_filled) else {
                // The line creates or computes this source, so it may contain anything.
                if let Some(place) = self.puts_into_client(places, folders) {
                    return Some(place);
                }
                continue;
            };
            let name = name.rsplit('/').next().unwrap_or_default();
            for path in &known.paths {
                let found =
                    [format!("{}/{path}", self.target), format!("{}/{name}/{path}", self.target)]
                        .iter()
                        .find_map(|path| {
                            folders.iter().find_map(|cwd| places.protected(path, cwd))
                        });
                if found.is_some() {
                    return found;
                }
            }
        }
        None
    }

    fn patch(
        &self,
        earlier: &[Simple],
        places: &ProtectedPaths,
        folders: &[&str],
    ) -> Option<ProtectedPlace> {
        let mut paths: Vec<String> = Vec::new();
        for source in &self.sources {
            // If the line itself writes the patch, its text is in the line.
            let writer = earlier.iter().rev().find(|from| {
                from.redirects.iter().any(|to| to.writes && to.target.text == *source)
                    || from.base() == "tee"
                        && from.arguments().iter().any(|word| word.text == *source)
            });
            let on_disk = || {
                let known = folders.iter().find_map(|cwd| {
                    let from = places.absolute(source, cwd);
                    places.brought.iter().find(|brought| brought.from == from)
                });
                known.map(|brought| brought.paths.clone())
            };
            let held = match writer {
                Some(from) => from.input.as_deref().map(patched),
                None => on_disk(),
            };
            let Some(held) = held else { return Some(ProtectedPlace::Patched) };
            paths.extend(held);
        }
        match &self.text {
            Some(text) => paths.extend(patched(text)),
            None if self.sources.is_empty() => return Some(ProtectedPlace::Patched),
            None => {}
        }
        let below: Vec<String> =
            folders.iter().map(|cwd| format!("{cwd}/{}", self.target)).collect();
        let whole = |cwd: &str| {
            if self.target.starts_with(['/', '~']) { self.target.clone() } else { cwd.to_owned() }
        };
        paths.iter().flat_map(|path| stripped(path)).find_map(|path| {
            below.iter().map(String::as_str).chain(folders.iter().copied()).find_map(|cwd| {
                places.protected(path, cwd).or_else(|| places.protected(path, &whole(cwd)))
            })
        })
    }
}

/// The words of a command that may name what it changes.
fn written_words(simple: &Simple) -> &[ShellWord] {
    let arguments = simple.arguments();
    let into = arguments.iter().any(|word| word.text.starts_with("-t"));
    match simple.name() {
        // Copying out of a protected place only reads it.
        Some("cp" | "rsync" | "scp") if !into => {
            arguments.split_last().map_or(arguments, |(last, _)| std::slice::from_ref(last))
        }
        _ => arguments,
    }
}

/// The files that are created when something is put into a folder: `cp settings.json .claude/`.
fn into_folder(simple: &Simple) -> Vec<String> {
    let told = simple.arguments().windows(2).find_map(|pair| match pair[0].text.as_str() {
        "-t" | "--target-directory" => Some(pair[1].text.as_str()),
        long => long.strip_prefix("--target-directory="),
    });
    let puts = matches!(simple.name(), Some("cp" | "mv" | "ln" | "install" | "rsync" | "scp"));
    if let (Some("wget" | "curl"), Some(folder)) = (simple.name(), own_folder(simple)) {
        let last =
            |word: &ShellWord| word.text.rsplit('/').next().map(|name| format!("{folder}/{name}"));
        return simple.arguments().iter().filter_map(last).collect();
    }
    match simple.arguments().split_last() {
        Some((folder, sources)) if puts => sources
            .iter()
            .chain(std::iter::once(folder).filter(|_| told.is_some()))
            .filter(|word| !word.text.starts_with('-'))
            .filter_map(|word| word.text.trim_end_matches('/').rsplit('/').next())
            .map(|name| format!("{}/{name}", told.unwrap_or(&folder.text)))
            .collect(),
        _ => Vec::new(),
    }
}

/// True for a command that never changes what it names.
fn only_reads(simple: &Simple) -> bool {
    let Some(name) = simple.name() else { return simple.words.is_empty() };
    let any = |test: fn(&str) -> bool| simple.arguments().iter().any(|word| test(&word.text));
    match name {
        "ralph" => true,

        "find" => {
            let runs = |word: &ShellWord| {
                matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir")
            };
            let changes = simple.arguments().split(runs).skip(1).any(|words| {
                let inner = Simple { words: words.to_vec(), ..Simple::default() };
                !only_reads(&inner)
            });
            !changes
                && !any(|word| word == "-delete" || word == "-fls" || word.starts_with("-fprint"))
        }

        "sed" => {
            !any(|word| word == "--in-place" || is_short(word, 'i'))
                && !any(|word| word.contains("w "))
        }
        "sort" | "tree" => !any(|word| word.starts_with("--output") || is_short(word, 'o')),
        "yq" => !any(|word| word == "--inplace" || is_short(word, 'i')),
        "git" => git_reads(simple),
        _ if AWKS.contains(&name) => !any(|word| word == "inplace"),
        _ => READERS.contains(&name),
    }
}

fn is_short(option: &str, letter: char) -> bool {
    option.starts_with('-') && !option.starts_with("--") && option.contains(letter)
}

fn git_reads(simple: &Simple) -> bool {
    let mut words = simple.arguments().iter().map(|word| word.text.as_str());
    let mut command = words.next();
    while let Some(option) = command.filter(|word| word.starts_with('-')) {
        if matches!(option, "-C" | "-c" | "--git-dir" | "--work-tree") {
            words.next();
        }
        command = words.next();
    }
    let writes = simple.arguments().iter().any(|word| word.text.starts_with("--output"));
    command.is_none_or(|word| GIT_READERS.contains(&word)) && !writes
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

const READERS: &[&str] = &[
    "[",
    "[[",
    "alias",
    "basename",
    "bat",
    "cat",
    "cd",
    "cksum",
    "cmp",
    "column",
    "comm",
    "cut",
    "declare",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "eza",
    "exa",
    "export",
    "false",
    "fd",
    "fgrep",
    "file",
    "fold",
    "grep",
    "head",
    "hexdump",
    "hash",
    "jq",
    "less",
    "local",
    "ls",
    "lsof",
    "md5sum",
    "more",
    "nl",
    "od",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readlink",
    "readonly",
    "realpath",
    "rg",
    "sha1sum",
    "sha256sum",
    "stat",
    "strings",
    "tac",
    "tail",
    "test",
    "tr",
    "true",
    "type",
    "typeset",
    "uniq",
    "unset",
    "wc",
    "whereis",
    "which",
    "xxd",
];

const GIT_READERS: [&str; 13] = [
    "add",
    "blame",
    "cat-file",
    "check-ignore",
    "commit",
    "diff",
    "grep",
    "log",
    "ls-files",
    "rev-parse",
    "shortlog",
    "show",
    "status",
];

/// Commands that change their arguments, for arguments that other commands compute.
const CHANGERS: [&str; 11] =
    ["chmod", "cp", "ln", "mv", "rm", "sed", "shred", "tee", "touch", "truncate", "unlink"];

const REMOVERS: [&str; 9] =
    ["chattr", "chgrp", "chown", "dd", "install", "rmdir", "rsync", "setfacl", "trash"];

/// Commands that print paths that they were given or found.
const LISTERS: [&str; 14] = [
    "basename", "command", "dirname", "echo", "fd", "find", "locate", "ls", "printf", "readlink",
    "realpath", "type", "whereis", "which",
];

const AWKS: [&str; 4] = ["awk", "gawk", "mawk", "nawk"];

const INTERPRETERS: [&str; 12] = [
    "bun",
    "deno",
    "lua",
    "node",
    "nodejs",
    "osascript",
    "perl",
    "php",
    "pypy",
    "python",
    "ruby",
    "tclsh",
];

/// Commands that pass a script to another program's shell.
const CARRIERS: [&str; 12] = [
    "at",
    "batch",
    "crontab",
    "expect",
    "flock",
    "gdb",
    "hyperfine",
    "parallel",
    "screen",
    "script",
    "su",
    "tmux",
];

const CUT: &str = "This command is longer than 64 KiB, and while a Ralph loop is live a command \
must be read whole before it runs. Write it to a file with the Write tool and run the file.";

const HOOK: &str = "Ralph's hooks are started by the client only; given by hand, an event would \
not be true. To see what they decided use `ralph explain`; to see the loop, `ralph status`. Go on \
with the work.";
