//! The commands of git that only look.
//!
//! Aliases cannot be known, so a subcommand that is not listed is refused. git takes any unambiguous
//! beginning of a long option, so every beginning of a refused one is refused.

use super::words::Said;
use super::{Why, programs};

/// These look, but for options that write a file or start a program: letters and long names.
const LOOK: &[(&str, &str, &[&str])] = &[
    ("annotate", "", &[]),
    ("blame", "", &[]),
    ("cat-file", "", &["textconv", "filters"]),
    ("check-attr", "", &[]),
    ("check-ignore", "", &[]),
    ("cherry", "", &[]),
    ("count-objects", "", &[]),
    ("describe", "", &[]),
    ("diff", "", DIFF),
    ("diff-files", "", DIFF),
    ("diff-index", "", DIFF),
    ("diff-tree", "", DIFF),
    ("for-each-ref", "", &[]),
    ("grep", "O", &["open-files-in-pager"]),
    ("log", "", DIFF),
    ("ls-files", "", &[]),
    ("ls-tree", "", &[]),
    ("merge-base", "", &[]),
    ("name-rev", "", &[]),
    ("range-diff", "", DIFF),
    ("rev-list", "", DIFF),
    ("rev-parse", "", &[]),
    ("shortlog", "", DIFF),
    ("show", "", DIFF),
    ("show-branch", "", &[]),
    ("show-ref", "", &[]),
    ("status", "", &[]),
    ("whatchanged", "", DIFF),
];

const DIFF: &[&str] = &["output", "ext-diff"];

/// Options of a list of names, each whole or up to its `=`.
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

/// With one of these, a name is a pattern or a commit and not a branch to be made.
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

pub(super) fn only_reads(arguments: &[Said]) -> Result<(), Why> {
    let refuse = |word: &Said| Err(Why::Argument("git".to_owned(), word.shown()));
    let mut rest = arguments;
    loop {
        let Some((word, after)) = rest.split_first() else { return Ok(()) };
        let text = word.literal().ok_or(Why::Computed("git".to_owned(), word.shown()))?;
        rest = match text {
            "-P" | "--no-pager" | "--no-optional-locks" | "--literal-pathspecs" => after,
            "-C" if after.first().is_some_and(|folder| !folder.many) => &after[1..],
            "--version" => return Ok(()),
            _ if text.starts_with('-') => return refuse(word),
            _ => return command(text, word, after),
        };
    }
}

fn command(name: &str, word: &Said, arguments: &[Said]) -> Result<(), Why> {
    let refuse = || Err(Why::Argument("git".to_owned(), shown(word, arguments)));
    if let Some((_, letters, long)) = LOOK.iter().find(|(known, ..)| *known == name) {
        return programs::without_options(&format!("git {name}"), arguments, letters, long);
    }
    let texts: Option<Vec<&str>> = arguments.iter().map(Said::literal).collect();
    let Some(texts) = texts else { return refuse() };
    let looks = match (name, &texts[..]) {
        ("branch" | "tag", words) => lists(name, words),
        ("stash", ["show", ..]) => {
            return programs::without_options("git stash show", &arguments[1..], "", DIFF);
        }
        ("stash", ["list", ..]) => {
            return programs::without_options("git stash list", &arguments[1..], "", DIFF);
        }
        ("reflog", [] | ["show", ..]) => {
            let rest = arguments.get(1..).unwrap_or_default();
            return programs::without_options("git reflog show", rest, "", DIFF);
        }
        ("worktree", ["list"] | ["list", "--porcelain" | "-v" | "--verbose"]) => true,
        // `show NAME` asks the other side.
        ("remote", [] | ["-v"] | ["show"] | ["show", "-n", _]) => true,
        ("remote", ["get-url", name]) => !name.starts_with('-'),
        ("config", words) => reads_config(words),
        ("version", []) => true,
        _ => false,
    };
    if looks { Ok(()) } else { refuse() }
}

fn shown(word: &Said, arguments: &[Said]) -> String {
    let all: Vec<String> = [word].into_iter().chain(arguments).map(Said::shown).collect();
    all.join(" ")
}

/// `git branch` and `git tag` where they list.
fn lists(name: &str, words: &[&str]) -> bool {
    let stem = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
    let is_tag = name == "tag";
    let known = |word: &str| {
        LISTING.contains(&stem(word).as_str())
            || is_tag
                && (word == "-l"
                    || word == "-n"
                    || word.starts_with("-n") && word[2..].bytes().all(|b| b.is_ascii_digit()))
    };
    let filters =
        words.iter().any(|word| FILTERS.contains(&stem(word).as_str()) || is_tag && *word == "-l");
    // `git tag -a` and `git tag -v` make one and verify one; `-i` and `-r` are no options of it.
    let of_branch = ["-a", "--all", "-r", "--remotes", "-v", "-vv", "--verbose", "--show-current"];
    words.iter().all(|word| match word.starts_with('-') {
        true => known(word) && !(is_tag && of_branch.contains(word)),
        false => filters,
    })
}

fn reads_config(words: &[&str]) -> bool {
    let reads = matches!(words.first(), Some(first) if READS_CONFIG.contains(first));
    let acts = words
        .iter()
        .any(|word| matches!(*word, "--get" | "--get-all" | "--get-regexp" | "--list" | "-l"));
    let options = words.iter().filter(|word| word.starts_with('-'));
    reads
        && acts
        && options.clone().all(|word| READS_CONFIG.contains(word) || word.starts_with("--type="))
}
