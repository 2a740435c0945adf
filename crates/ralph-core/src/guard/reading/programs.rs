//! The programs that only read, and of some of them the options with which they do more.
//!
//! A program comes onto a list only after its manual was read for options that write a file or start
//! a program. `awk`, `perl`, `python`, `make`, `less` and the like are left out: what they are given
//! is a program.

use super::words::Said;
use super::{Why, git, sed, special, wrappers};

/// These only read, whatever they are given.
const READ_ALL: [&str; 77] = [
    ":",
    "arch",
    "b2sum",
    "base64",
    "basename",
    "cat",
    "cd",
    "cksum",
    "cmp",
    "column",
    "comm",
    "cut",
    "df",
    "diff",
    "dirname",
    "dirs",
    "du",
    "echo",
    "egrep",
    "expand",
    "expr",
    "false",
    "fgrep",
    "fmt",
    "fold",
    "free",
    "getconf",
    "grep",
    "groups",
    "head",
    "hexdump",
    "id",
    "join",
    "jq",
    "locale",
    "ls",
    "lscpu",
    "md5sum",
    "nl",
    "nproc",
    "od",
    "paste",
    "pgrep",
    "popd",
    "printenv",
    "ps",
    "pushd",
    "pwd",
    "readlink",
    "realpath",
    "rev",
    "seq",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "sleep",
    "stat",
    "strings",
    "sum",
    "tac",
    "tail",
    "tr",
    "true",
    "tsort",
    "type",
    "uname",
    "unexpand",
    "uptime",
    "wc",
    "whereis",
    "which",
    "whoami",
    "hd",
    "shasum",
    "md5",
];

/// These read too, but for the options listed: a letter each, and the long ones, of which every
/// beginning counts.
const READ_BUT: &[(&str, &str, &[&str])] = &[
    ("eza", "", &[]),
    ("fd", "xX", &["exec", "exec-batch"]),
    ("fdfind", "xX", &["exec", "exec-batch"]),
    ("file", "C", &["compile"]),
    ("rg", "", &["pre", "hostname-bin"]),
    ("sort", "o", &["output", "compress-program"]),
    ("tree", "oR", &["output"]),
    ("yq", "is", &["inplace", "split-exp", "split-exp-file"]),
];

const SYSTEM: [&str; 3] = ["/bin/", "/usr/bin/", "/usr/local/bin/"];

/// Ok when this command only reads.
pub(super) fn only_read(words: &[Said], depth: usize) -> Result<(), Why> {
    let Some((first, arguments)) = words.split_first() else { return Ok(()) };
    let name = first.literal().ok_or(Why::ComputedName)?;
    let name = SYSTEM.iter().find_map(|folder| name.strip_prefix(folder)).unwrap_or(name);
    if name.contains('/') {
        return Err(Why::File(name.to_owned()));
    }
    if READ_ALL.contains(&name) {
        return Ok(());
    }
    if let Some((_, letters, long)) = READ_BUT.iter().find(|(known, ..)| *known == name) {
        return without_options(name, arguments, letters, long);
    }
    match name {
        "git" => git::only_reads(arguments),
        "sed" => sed::only_reads(arguments),
        "find" => special::find(arguments, depth),
        "ralph" => special::ralph(arguments),
        "[" | "test" => special::test(arguments),
        "printf" => special::printf(arguments),
        "read" => special::read(arguments),
        "set" | "date" | "tar" | "unzip" | "uniq" | "xxd" | "exit" | "return" | "break"
        | "continue" | "shift" => special::by_words(name, arguments),
        "." | "source" => Err(Why::Script(name.to_owned())),
        _ => wrappers::only_read(name, arguments, depth),
    }
}

/// Ok when none of these options is given, and none may be.
pub(super) fn without_options(
    name: &str,
    arguments: &[Said],
    letters: &str,
    long: &[&str],
) -> Result<(), Why> {
    let mut before: Option<&Said> = None;
    for word in arguments {
        // After an option `--` may be that option's value.
        if word.literal() == Some("--") && before.is_none_or(Said::is_operand) {
            return Ok(());
        }
        if !word.is_operand() {
            is_other_option(name, word, letters, long)?;
        }
        before = Some(word);
    }
    Ok(())
}

fn is_other_option(name: &str, word: &Said, letters: &str, long: &[&str]) -> Result<(), Why> {
    let computed = || Why::Computed(name.to_owned(), word.shown());
    let refused = || Why::Argument(name.to_owned(), word.shown());
    let Some(option) = word.text.strip_prefix('-') else { return Err(computed()) };
    // `--include=$x` is that option whatever follows, `-n$x` may be many.
    let (option, value) = option.split_once('=').map_or((option, None), |(a, b)| (a, Some(b)));
    let is_known = !option.contains(crate::shell::UNKNOWN) && !word.splits;
    let value_is_known = value.is_none_or(|_| option.starts_with('-')) || word.literal().is_some();
    if !(is_known && value_is_known) || word.many && value.is_none() {
        return Err(computed());
    }
    let is_refused = match option.strip_prefix('-') {
        Some("") => false,
        Some(given) => long.iter().any(|refused| refused.starts_with(given)),
        None => word.text.contains(|letter| letters.contains(letter)),
    };
    if is_refused { Err(refused()) } else { Ok(()) }
}
