//! The commands that never change what they name.

use crate::shell::{ShellWord, Simple};

/// True for a command that never changes what it names.
pub(super) fn only_reads(simple: &Simple) -> bool {
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

pub(super) fn is_short(option: &str, letter: char) -> bool {
    option.starts_with('-') && !option.starts_with("--") && option.contains(letter)
}

pub(super) fn git_reads(simple: &Simple) -> bool {
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

pub(super) const AWKS: [&str; 4] = ["awk", "gawk", "mawk", "nawk"];
