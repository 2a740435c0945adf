//! The row that a Bash command falls into.
//!
//! A command that names a protected place is refused unless it is known to read only: a list of
//! readers is short and stays true, a list of everything that writes never ends.

use super::places::{self, HOOKS, Place, Places, could_be};
use super::{Call, Rule, Situation, ralph_command};
use crate::shell::{self, ONE, Opaque, Reading, STAR, Simple, UNKNOWN, Word};

type Row = (Rule, String);

pub(super) fn row(situation: &Situation<'_>, call: &Call<'_>) -> Row {
    if call.cut {
        return (Rule::CutCommand, CUT.to_owned());
    }
    let command = call.input.command.as_deref().unwrap_or_default();
    let places = situation.places;
    let known = known_variables(places, call.cwd);
    let reading = shell::read(command, &known);
    commands_row(&reading, situation)
        .or_else(|| judged(situation))
        .or_else(|| places_row(&reading, places, call.cwd))
        .or_else(|| opaque_row(&reading, command, places))
        // The wall refuses such a line in its own words.
        .or_else(|| unreadable_row(&reading).filter(|_| situation.ralplan.is_none()))
        .unwrap_or((Rule::Mutation, String::new()))
}

/// True for a command line that does nothing but run `ralph`, and by it no other program.
pub(super) fn only_asks_ralph(call: &Call<'_>) -> bool {
    let command = call.input.command.as_deref().unwrap_or_default();
    let reading = shell::read(command, &[]);
    let asks = |simple: &Simple| {
        ralph_command::is_ralph(simple)
            && !ralph_command::may_hand_on(simple)
            && simple.redirects.iter().all(|to| !to.writes)
    };
    !call.cut
        && !reading.commands.is_empty()
        && reading.opaque.is_empty()
        && reading.commands.iter().all(asks)
}

fn known_variables<'a>(places: &'a Places, cwd: &'a str) -> Vec<(&'a str, &'a str)> {
    let mut known =
        vec![("HOME", places.home.as_str()), ("RALPH_HOME", &places.ralph_home), ("PWD", cwd)];

    // The folders that the defaults stand in.
    let above = |place: &'a str| place.strip_suffix("/ralph");
    known.extend(above(&places.ralph_home).map(|place| ("XDG_STATE_HOME", place)));
    known.extend(above(&places.user_config).map(|place| ("XDG_CONFIG_HOME", place)));
    known.extend(places.config_dirs.first().map(|place| ("CLAUDE_CONFIG_DIR", place.as_str())));
    known.extend(places.plugin_root.iter().map(|place| ("CLAUDE_PLUGIN_ROOT", place.as_str())));
    known
}

/// What whoever asks has judged already, of a session's artefacts.
fn judged(situation: &Situation<'_>) -> Option<Row> {
    let refused = situation.session?.artefact?.err()?;
    Some((Rule::Artefact, refused.to_owned()))
}

fn refuse((command, typed): (String, &str)) -> Row {
    (Rule::RefusedCommand, ralph_command::refusal(&command, typed))
}

fn protect(place: Place) -> Row {
    places::row(place)
}

/// Refused commands of Ralph, also inside the scripts of other interpreters.
fn commands_row(reading: &Reading, situation: &Situation<'_>) -> Option<Row> {
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
    commands.iter().find_map(|simple| {
        if ralph_command::is_ralph(simple) {
            return ralph_command::refused(simple, situation.session_id).map(refuse);
        }
        if HOOKS.iter().any(|hook| could_be(simple.base(), hook)) {
            return Some((Rule::RefusedCommand, HOOK.to_owned()));
        }
        carried(simple).iter().find_map(|text| ralph_command::named_in(text)).map(refuse)
    })
}

/// Protected places that a command names, redirects into, or removes with a folder above.
fn places_row(reading: &Reading, places: &Places, cwd: &str) -> Option<Row> {
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

/// `cd` inside a subshell or a branch is not told from one outside: every folder that the line
/// was ever in counts for what follows.
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
    places: &Places,
    folders: &[String],
) -> Option<Place> {
    let own = own_folder(simple);
    let folders: Vec<&str> = folders.iter().map(String::as_str).chain(own).collect();
    let in_any = |path: &str| folders.iter().find_map(|cwd| places.protected(path, cwd));

    let redirected =
        simple.redirects.iter().filter(|to| to.writes).find_map(|to| in_any(&to.target.text));
    if redirected.is_some() {
        return redirected;
    }
    let scripted = carried(simple).iter().find_map(|text| places.named_in(text));
    if scripted.is_some() {
        return scripted;
    }
    let above = removed(simple)
        .into_iter()
        .find_map(|path| folders.iter().find_map(|cwd| places.holds_protected(path, cwd)));
    if above.is_some() {
        return above;
    }
    if only_reads(simple) {
        return None;
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
                Found::Path(path) => in_any(&path),
                Found::All(start) => {
                    folders.iter().find_map(|cwd| places.holds_protected(&start, cwd))
                }
            })
        })
}

/// A word as a path, and what follows the `=` in `--flag=path` or `of=path`, or the letter in
/// `-opath`.
fn named_paths(word: &Word) -> impl Iterator<Item = &str> {
    let value = word.text.split_once('=').map(|(_, value)| value);
    let is_short = word.text.starts_with('-') && !word.text.starts_with("--");
    let joined = word.text.get(2..).filter(|_| is_short);
    [Some(word.text.as_str()), value, joined].into_iter().flatten()
}

/// The folder that a command is told to work in: `git -C DIR`, `tar -C DIR`, `wget -P DIR`.
fn own_folder(simple: &Simple) -> Option<&str> {
    let mut words = simple.arguments().iter().map(|word| word.text.as_str());
    words.find(|word| matches!(*word, "-C" | "-P" | "-d"))?;
    words.next()
}

/// What a `find` may hand on.
enum Found {
    /// Files of this name.
    Path(String),
    /// Everything below here.
    All(String),
}

fn found(simple: &Simple) -> Vec<Found> {
    let arguments = simple.arguments();
    let plain = arguments.iter().take_while(|word| !word.text.starts_with(['-', '(', '!']));
    let mut starts: Vec<&str> = plain.map(|word| word.text.as_str()).collect();
    if starts.is_empty() {
        starts.push(".");
    }
    let names: Vec<String> = arguments
        .windows(2)
        .filter(|pair| matches!(pair[0].text.as_str(), "-name" | "-iname" | "-path" | "-wholename"))
        .map(|pair| pair[1].text.replace('*', &STAR.to_string()).replace('?', &ONE.to_string()))
        .collect();
    let of_start = |start: &str| -> Vec<Found> {
        let below = |name: &String| {
            let name = name.trim_start_matches("./");
            [format!("{start}/{name}"), format!("{start}/.claude/{name}")].map(Found::Path)
        };
        match names.is_empty() {
            true => vec![Found::All(start.to_owned())],
            false => names.iter().flat_map(below).collect(),
        }
    };
    starts.into_iter().flat_map(of_start).collect()
}

/// Scripts in other languages that a command carries in its arguments or on its input, in which
/// only the bare text can be looked at.
fn carried(simple: &Simple) -> Vec<String> {
    let name = simple.name().unwrap_or_default();
    let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let interpreter = INTERPRETERS.contains(&stem);
    let inline = interpreter && simple.arguments().iter().any(|word| is_inline(&word.text));
    let everything = CARRIERS.contains(&name);
    // What `awk` names is read, unless its program writes or starts something.
    let awk = AWKS.contains(&name);
    let writes = |word: &Word| {
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

/// What a command takes away together with all that is in it.
fn removed(simple: &Simple) -> Vec<&str> {
    let arguments = simple.arguments();
    let operands = match simple.name() {
        Some("rm" | "rmdir" | "shred" | "unlink" | "trash" | "trash-put") => arguments,

        Some("mv") => arguments.split_last().map_or(arguments, |(_, sources)| sources),
        // Taking away the rights, or mounting over it, is as good; but not of any folder above.
        Some("chmod" | "chown" | "chgrp" | "mount" | "ln") => {
            let client = |word: &&Word| word.text.trim_end_matches('/').ends_with(".claude");
            return arguments.iter().filter(client).map(|word| word.text.as_str()).collect();
        }
        _ => &[],
    };
    operands.iter().map(|word| word.text.as_str()).filter(|text| !text.starts_with('-')).collect()
}

/// The words of a command that could name what it changes.
fn written_words(simple: &Simple) -> &[Word] {
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

/// The files that come to be when something is put into a folder: `cp settings.json .claude/`.
fn into_folder(simple: &Simple) -> Vec<String> {
    let told = simple.arguments().windows(2).find_map(|pair| match pair[0].text.as_str() {
        "-t" | "--target-directory" => Some(pair[1].text.as_str()),
        long => long.strip_prefix("--target-directory="),
    });
    let puts = matches!(simple.name(), Some("cp" | "mv" | "ln" | "install" | "rsync" | "scp"));
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

/// Known to leave alone whatever it names.
fn only_reads(simple: &Simple) -> bool {
    let Some(name) = simple.name() else { return simple.words.is_empty() };
    let any = |test: fn(&str) -> bool| simple.arguments().iter().any(|word| test(&word.text));
    match name {
        "ralph" => true,

        "find" => {
            let runs =
                |word: &Word| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir");
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

/// A command line that is not wholly known is let through unless its bare text gives it away.
fn opaque_row(reading: &Reading, command: &str, places: &Places) -> Option<Row> {
    if reading.opaque.is_empty() {
        return None;
    }
    let refused = ralph_command::named_in(command).map(refuse);
    refused.or_else(|| places.named_in(command).map(protect))
}

/// A command line that a shell may read otherwise than Ralph does: what it runs is not known at all.
fn unreadable_row(reading: &Reading) -> Option<Row> {
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

/// Commands that change what they are given, for words that other commands computed.
const CHANGERS: [&str; 11] =
    ["chmod", "cp", "ln", "mv", "rm", "sed", "shred", "tee", "touch", "truncate", "unlink"];

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

/// Commands that hand a script to somebody else's shell.
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
