//! The paths that a command is given, and what it does to each: removes, links, shuts, writes, or hands
//! on to another command.

use super::readers::{AWKS, git_reads};
use crate::guard::places::{HOOKS, ProtectedPaths, ProtectedPlace};
use crate::shell::{ONE, STAR, ShellWord, Simple, UNKNOWN};

/// The word as a path, plus the part after `=` in `--flag=path` or `of=path`, and the part after
/// the letter in `-opath`.
pub(super) fn named_paths(word: &ShellWord) -> impl Iterator<Item = &str> {
    let value = word.text.split_once('=').map(|(_, value)| value);
    let is_short = word.text.starts_with('-') && !word.text.starts_with("--");
    let joined = word.text.get(2..).filter(|_| is_short);
    [Some(word.text.as_str()), value, joined].into_iter().flatten()
}

/// The folder that an option sets for a command: `git -C DIR`, `tar -C DIR`, `wget -P DIR`.
pub(super) fn own_folder(simple: &Simple) -> Option<&str> {
    let mut words = simple.arguments().iter().map(|word| word.text.as_str());
    words.find(|word| matches!(*word, "-C" | "-P" | "-d"))?;
    words.next()
}

/// Paths that a `find` may pass on.
pub(super) enum FoundPaths {
    /// This path.
    Path(String),
    /// Everything below this folder.
    All(String),
    /// Everything below this folder that has this name or path.
    Named(String, String),
}

pub(super) fn found(simple: &Simple) -> Vec<FoundPaths> {
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
pub(super) fn carried(simple: &Simple) -> Vec<String> {
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
pub(super) fn removed(simple: &Simple) -> Vec<&str> {
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
pub(super) fn linked(simple: &Simple) -> Vec<&str> {
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
pub(super) fn shut(simple: &Simple) -> Vec<&str> {
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
pub(super) fn listed_before(
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

/// The words of a command that may name what it changes.
pub(super) fn written_words(simple: &Simple) -> &[ShellWord] {
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
pub(super) fn into_folder(simple: &Simple) -> Vec<String> {
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

/// Commands that change their arguments, for arguments that other commands compute.
pub(super) const CHANGERS: [&str; 11] =
    ["chmod", "cp", "ln", "mv", "rm", "sed", "shred", "tee", "touch", "truncate", "unlink"];

pub(super) const REMOVERS: [&str; 9] =
    ["chattr", "chgrp", "chown", "dd", "install", "rmdir", "rsync", "setfacl", "trash"];

/// Commands that print paths that they were given or found.
const LISTERS: [&str; 14] = [
    "basename", "command", "dirname", "echo", "fd", "find", "locate", "ls", "printf", "readlink",
    "realpath", "type", "whereis", "which",
];

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
