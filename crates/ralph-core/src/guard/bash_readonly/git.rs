//! Recognises git commands that are read-only.
//!
//! Aliases are unknown, so a subcommand that is not listed is refused. git accepts any unambiguous
//! prefix of a long option, so every prefix of a refused option is refused.

use super::words::WordText;
use super::{WriteReason, programs};

/// Read-only except with the options in [`WRITING`] and with the letters and options beside them.
const LOOK: &[(&str, &str, &[&str])] = &[
    ("annotate", "", &[]),
    ("blame", "", &[]),
    ("cat-file", "", &["filters"]),
    ("check-attr", "", &[]),
    ("check-ignore", "", &[]),
    ("check-mailmap", "", &[]),
    ("check-ref-format", "", &[]),
    ("cherry", "", &[]),
    ("count-objects", "", &[]),
    ("describe", "", &[]),
    ("diff", "", &[]),
    ("diff-files", "", &[]),
    ("diff-index", "", &[]),
    ("diff-tree", "", &[]),
    ("for-each-ref", "", &[]),
    ("fsck", "", &["lost-found"]),
    ("grep", "O", &["open-files-in-pager"]),
    ("log", "", &[]),
    ("ls-files", "", &[]),
    ("ls-tree", "", &[]),
    ("merge-base", "", &[]),
    ("name-rev", "", &[]),
    ("range-diff", "", &[]),
    ("rev-list", "", &[]),
    ("rev-parse", "", &[]),
    ("shortlog", "", &[]),
    ("show", "", &[]),
    ("show-branch", "", &[]),
    ("show-ref", "", &[]),
    ("status", "", &[]),
    ("var", "", &[]),
    ("whatchanged", "", &[]),
];

/// Options that write a file or start a program. They are refused for every command, because many
/// commands also accept the options of others: `git blame` accepts those of `git diff`.
const WRITING: &[&str] = &["output", "ext-diff", "textconv", "show-signature"];

/// Settings that only affect the display and may be given with `-c`.
const SHOWING: [&str; 7] =
    ["color.", "advice.", "core.quotepath=", "core.pager=cat", "log.", "column.", "diff.renames="];

/// Options for listing names, each complete or up to its `=`.
const LISTING: [&str; 25] = [
    "-a",
    "--all",
    "-r",
    "--remotes",
    "-v",
    "-vv",
    "--verbose",
    "--list",
    "--show-current",
    "--contains",
    "--no-contains",
    "--merged",
    "--no-merged",
    "--points-at",
    "--sort",
    "--format",
    "--color",
    "--no-color",
    "--column",
    "--no-column",
    "-i",
    "--ignore-case",
    "--abbrev",
    "--no-abbrev",
    "--omit-empty",
];

/// With one of these, a name is a pattern or a commit, not a branch to create.
const FILTERS: [&str; 6] =
    ["--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"];

const READS_CONFIG: [&str; 18] = [
    "--get",
    "--get-all",
    "--get-regexp",
    "--list",
    "-l",
    "--global",
    "--local",
    "--system",
    "--worktree",
    "--show-origin",
    "--show-scope",
    "--name-only",
    "--null",
    "-z",
    "--bool",
    "--int",
    "--path",
    "--includes",
];

pub(super) fn only_reads(arguments: &[WordText]) -> Result<(), WriteReason> {
    let refuse = |word: &WordText| Err(WriteReason::Argument("git".to_owned(), word.shown()));
    let mut rest = arguments;
    loop {
        let Some((word, after)) = rest.split_first() else { return Ok(()) };
        let text = word.literal().ok_or(WriteReason::Computed("git".to_owned(), word.shown()))?;
        rest = match text {
            "-P" | "--no-pager" | "--no-optional-locks" | "--literal-pathspecs" => after,
            "-C" if after.first().is_some_and(|folder| !folder.many) => &after[1..],
            "-c" if after.first().and_then(WordText::literal).is_some_and(only_shows) => {
                &after[1..]
            }
            "--version" | "--help" | "-h" | "-v" => {
                return if after.is_empty() { Ok(()) } else { refuse(word) };
            }
            _ if text.starts_with('-') => return refuse(word),
            _ => return command(text, word, after),
        };
    }
}

fn command(name: &str, word: &WordText, arguments: &[WordText]) -> Result<(), WriteReason> {
    let refuse = || Err(WriteReason::Argument("git".to_owned(), shown(word, arguments)));
    // These formats start a program to verify a signature.
    let verifies = |word: &&WordText| word.text.contains("%G") || word.text.contains("(signature");
    if let Some(word) = arguments.iter().find(verifies) {
        return Err(WriteReason::Argument(format!("git {name}"), word.shown()));
    }
    // Checked for every command, before its own options are.
    let is_writing = |text: &str| {
        let stem = text.strip_prefix("--").map(|text| text.split('=').next().unwrap_or(text));
        stem.is_some_and(|stem| {
            !stem.is_empty() && WRITING.iter().any(|option| option.starts_with(stem))
        })
    };
    if let Some(word) = arguments.iter().find(|word| is_writing(&word.text)) {
        return Err(WriteReason::Argument(format!("git {name}"), word.shown()));
    }
    if let Some((_, letters, long)) = LOOK.iter().find(|(known, ..)| *known == name) {
        let long = [WRITING, long].concat();
        return programs::without_options(&format!("git {name}"), arguments, letters, &long);
    }
    let texts: Option<Vec<&str>> = arguments.iter().map(WordText::literal).collect();
    let Some(texts) = texts else { return refuse() };
    let looks = match (name, &texts[..]) {
        ("branch" | "tag", words) => lists(name, words),
        ("stash", ["show", ..]) => {
            return programs::without_options("git stash show", &arguments[1..], "", WRITING);
        }
        ("stash", ["list", ..]) => {
            return programs::without_options("git stash list", &arguments[1..], "", WRITING);
        }
        ("reflog", ["expire" | "delete" | "drop" | "write", ..]) => false,
        ("reflog", _) => {
            return programs::without_options("git reflog", arguments, "", WRITING);
        }
        ("submodule", words) => {
            let rest = words.strip_prefix(&["status"]).unwrap_or(words);
            (words.is_empty() || words.first() == Some(&"status"))
                && rest.iter().all(|word| {
                    matches!(*word, "--cached" | "--recursive" | "--") || !word.starts_with('-')
                })
        }
        ("symbolic-ref", [name] | ["--short" | "-q" | "--quiet", name]) => !name.starts_with('-'),
        ("notes" | "bisect" | "sparse-checkout" | "rerere", words) => {
            matches!(
                (name, words),
                ("notes", [] | ["list" | "show", ..])
                    | ("bisect", ["log"])
                    | ("sparse-checkout", ["list"])
                    | ("rerere", ["status" | "diff"])
            ) && words.iter().all(|word| !word.starts_with('-'))
        }
        ("help", []) => true,
        ("worktree", ["list"] | ["list", "--porcelain" | "-v" | "--verbose"]) => true,
        // `show NAME` contacts the remote.
        ("remote", [] | ["-v" | "--verbose"] | ["show"] | ["show", "-n", _]) => true,
        ("remote", ["get-url", name]) => !name.starts_with('-'),
        ("config", words) => reads_config(words),
        ("version", []) => true,
        _ => false,
    };
    if looks { Ok(()) } else { refuse() }
}

fn shown(word: &WordText, arguments: &[WordText]) -> String {
    let all: Vec<String> = [word].into_iter().chain(arguments).map(WordText::shown).collect();
    all.join(" ")
}

/// True if `git branch` or `git tag` lists names.
fn lists(name: &str, words: &[&str]) -> bool {
    let stem = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
    let is_tag = name == "tag";
    let known = |word: &str| {
        LISTING.contains(&stem(word).as_str())
            || !is_tag
                && word.strip_prefix('-').is_some_and(|letters| {
                    !letters.is_empty() && letters.bytes().all(|letter| b"arv".contains(&letter))
                })
            || is_tag
                && (word == "-l"
                    || word == "-n"
                    || word.starts_with("-n") && word[2..].bytes().all(|b| b.is_ascii_digit()))
    };
    let filters =
        words.iter().any(|word| FILTERS.contains(&stem(word).as_str()) || is_tag && *word == "-l");
    // `git tag -a` creates a tag and `git tag -v` verifies one; `-r` is not an option of `git tag`.
    let of_branch = ["-a", "--all", "-r", "--remotes", "-v", "-vv", "--verbose", "--show-current"];
    words.iter().all(|word| match word.starts_with('-') {
        true => known(word) && !(is_tag && of_branch.contains(word)),
        false => filters,
    })
}

fn only_shows(setting: &str) -> bool {
    let small = setting.to_ascii_lowercase();
    let is_shown = |known: &&str| match known.ends_with(['.', '=']) {
        true => small.starts_with(*known),
        false => small == **known,
    };
    SHOWING.iter().any(is_shown) && !small.contains("signature")
}

fn reads_config(words: &[&str]) -> bool {
    let is_key = |word: &str| {
        word.contains('.')
            && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-/".contains(&b))
            && !word.starts_with('-')
    };
    let places = ["--global", "--local", "--system", "--worktree"];
    match words {
        [key] | ["get", key] if is_key(key) => return true,
        [place, key] if places.contains(place) && is_key(key) => return true,
        ["list"] => return true,
        ["-f" | "--file", file, rest @ ..] if !file.starts_with('-') => {
            return reads_config(rest);
        }
        _ => {}
    }
    let reads = matches!(words.first(), Some(first) if READS_CONFIG.contains(first));
    let acts = words
        .iter()
        .any(|word| matches!(*word, "--get" | "--get-all" | "--get-regexp" | "--list" | "-l"));
    let options = words.iter().filter(|word| word.starts_with('-'));
    reads
        && acts
        && options.clone().all(|word| READS_CONFIG.contains(word) || word.starts_with("--type="))
}
