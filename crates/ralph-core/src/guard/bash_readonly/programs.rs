//! The programs that are read-only, and for some of them the options that are not.
//!
//! Before a program goes onto a list, its manual must be checked for options that write a file or
//! start a program. `perl`, `python`, `make` and the like are missing because their arguments are
//! programs.

use super::words::WordText;
use super::{At, WriteReason, awk, git, sed, special, tools, wrappers};

/// Read-only with any arguments.
const READ_ALL: [&str; 105] = [
    ":",
    "b2sum",
    "basename",
    "cat",
    "cd",
    "cksum",
    "clear",
    "cmp",
    "col",
    "column",
    "comm",
    "cut",
    "df",
    "dig",
    "diff",
    "dirname",
    "dirs",
    "du",
    "echo",
    "expand",
    "expr",
    "false",
    "fmt",
    "fold",
    "free",
    "getconf",
    "groups",
    "head",
    "hexdump",
    "id",
    "join",
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
    "shellcheck",
    "md5",
    "bzcat",
    "cal",
    "factor",
    "findmnt",
    "getent",
    "host",
    "gzcat",
    "iostat",
    "last",
    "logname",
    "look",
    "lsblk",
    "lsmod",
    "lsusb",
    "lzcat",
    "netstat",
    "nslookup",
    "numfmt",
    "pidof",
    "pr",
    "pstree",
    "tokei",
    "tty",
    "users",
    "vmstat",
    "w",
    "who",
    "xzcat",
    "zcat",
    "zcmp",
    "zdiff",
];

/// Read-only except with the options listed: single letters, and long options, of which every
/// prefix counts.
const READ_BUT: &[(&str, &str, &[&str])] = &[
    ("ag", "", &["pager"]),
    ("exa", "", &[]),
    ("eza", "", &[]),
    ("fd", "xX", &["exec", "exec-batch"]),
    ("fdfind", "xX", &["exec", "exec-batch"]),
    ("file", "C", &["compile"]),
    ("rg", "", &["pre", "hostname-bin"]),
    ("sort", "o", &["output", "compress-program"]),
    ("apropos", "C", &["config-file"]),
    ("diff3", "", &["diff-program"]),
    ("lspci", "qQOA", &[]),
    ("pmap", "nNcC", &["create-rc", "create-rc-to", "rc", "read-rc", "read-rc-from"]),
    ("tree", "oR", &["output"]),
    ("whatis", "C", &["config-file"]),
    ("shuf", "o", &["output"]),
    ("nm", "", &["plugin"]),
    ("objdump", "", &["plugin"]),
    ("readelf", "", &["plugin"]),
    ("size", "", &["plugin"]),
    ("strings", "", &["plugin"]),
];

/// Read-only with any arguments, except for options that only some builds have. A computed word
/// counts as an operand: on most systems it cannot become an option that writes.
const READ_UNLESS: &[(&str, &str, &[&str])] = &[
    ("base64", "o", &["output"]),
    ("egrep", "", UGREP),
    ("fgrep", "", UGREP),
    ("grep", "", UGREP),
    ("jq", "i", &["in-place"]),
    ("zegrep", "", UGREP),
    ("zfgrep", "", UGREP),
    ("zgrep", "", UGREP),
];

const UGREP: &[&str] = &["config", "filter", "pager", "query", "save-config", "view"];

/// On Debian `bat` is named `batcat`.
const BAT: &[&str] = &[
    "color",
    "decorations",
    "highlight-line",
    "list-languages",
    "list-themes",
    "show-all",
    "language",
    "line-range",
    "number",
    "paging",
    "plain",
    "style",
    "theme",
];

/// Read-only with only the options listed: letters, and long names without a value or with one
/// after `=`.
const READ_WITH: &[(&str, &str, &[&str])] = &[
    ("bat", "nApPA", BAT),
    ("batcat", "nApPA", BAT),
    ("iconv", "cflst", &["from-code", "list", "to-code"]),
    ("less", "0123456789EFGIJMNRSXegimnqrs", &[]),
    ("more", "0123456789cdeflpsu", &[]),
    (
        "yq",
        "CMNPSYacejnry",
        &[
            "arg",
            "color-output",
            "compact-output",
            "exit-status",
            "input-format",
            "join-output",
            "no-colors",
            "no-doc",
            "null-input",
            "output-format",
            "prettyPrint",
            "raw-output",
            "sort-keys",
            "tojson",
            "unwrapScalar",
            "xml-output",
            "yaml-output",
        ],
    ),
    ("pv", "abeflnpqrtW", &[]),
    ("zstdcat", "cdfqv", &[]),
    ("zless", "0123456789EFGIJMNRSXegimnqrs", &[]),
    ("zmore", "", &[]),
];

const SYSTEM: [&str; 3] = ["/bin/", "/usr/bin/", "/usr/local/bin/"];

/// Ok if this command is read-only.
pub(super) fn only_read(words: &[WordText], at: At<'_>) -> Result<(), WriteReason> {
    let Some((first, arguments)) = words.split_first() else { return Ok(()) };
    let name = first.literal().ok_or(WriteReason::ComputedName)?;
    let name = SYSTEM.iter().find_map(|folder| name.strip_prefix(folder)).unwrap_or(name);
    if name.contains('/') {
        return Err(WriteReason::File(name.to_owned()));
    }
    if READ_ALL.contains(&name) {
        return Ok(());
    }
    let texts: Vec<Option<&str>> = arguments.iter().map(WordText::literal).collect();
    if tools::is_version(name, &texts) {
        return if at.sets { Err(tools::UNKNOWN_SETTING) } else { Ok(()) };
    }
    // For these programs a word that begins with `@` names a file of options.
    if matches!(name, "nm" | "objdump" | "readelf" | "size" | "strings")
        && let Some(word) = arguments.iter().find(|word| word.text.starts_with('@'))
    {
        return Err(WriteReason::Argument(name.to_owned(), word.shown()));
    }
    if let Some((_, letters, long)) = READ_UNLESS.iter().find(|(known, ..)| *known == name) {
        let options = arguments.iter().take_while(|word| word.literal() != Some("--"));
        return options
            .filter(|word| word.literal().is_some_and(|text| text.starts_with('-')))
            .try_for_each(|word| is_other_option(name, word, letters, long));
    }
    if let Some((_, letters, long)) = READ_WITH.iter().find(|(known, ..)| *known == name) {
        return with_options(name, arguments, letters, long);
    }
    if let Some((_, letters, long)) = READ_BUT.iter().find(|(known, ..)| *known == name) {
        return without_options(name, arguments, letters, long);
    }
    match name {
        "awk" | "gawk" | "mawk" | "nawk" | "original-awk" => awk::only_reads(name, arguments),
        "git" => git::only_reads(arguments),
        "sed" => sed::only_reads(arguments),
        "find" => special::find(arguments, at),
        "ralph" => special::ralph(arguments),
        "[" | "test" => special::test(arguments),
        "printf" => special::printf(arguments),
        "read" => special::read(arguments, at),
        "curl" if at.sets => Err(tools::UNKNOWN_SETTING),
        "curl" => special::curl(arguments),
        "export" if !arguments.is_empty() => special::export(arguments, at),
        "tee" => special::tee(arguments),
        "set" if !arguments.is_empty() => special::by_words(name, arguments),
        "date" | "tar" | "unzip" | "uniq" | "xxd" | "exit" | "return" | "break" | "continue"
        | "shift" => special::by_words(name, arguments),
        "." | "source" => Err(WriteReason::Script(name.to_owned())),
        _ => wrappers::only_read(name, arguments, at),
    }
}

/// Ok if none of these options is given or could result from a computed word.
pub(super) fn without_options(
    name: &str,
    arguments: &[WordText],
    letters: &str,
    long: &[&str],
) -> Result<(), WriteReason> {
    let mut before: Option<&WordText> = None;
    for word in arguments {
        // After an option, `--` may be that option's value.
        if word.literal() == Some("--") && before.is_none_or(WordText::is_operand) {
            return Ok(());
        }
        if !word.is_operand() {
            is_other_option(name, word, letters, long)?;
        }
        before = Some(word);
    }
    Ok(())
}

/// Ok if only these options are given.
fn with_options(
    name: &str,
    arguments: &[WordText],
    letters: &str,
    long: &[&str],
) -> Result<(), WriteReason> {
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        if word.is_operand() {
            // An argument that begins with `+` is a pager command, and `bat cache` writes.
            let is_line = |text: &str| text.bytes().all(|letter| letter.is_ascii_digit());
            if word.text.strip_prefix('+').is_some_and(|text| !is_line(text))
                || name.starts_with("bat") && word.text == "cache"
            {
                return Err(WriteReason::Argument(name.to_owned(), word.shown()));
            }
            continue;
        }
        let Some(text) = word.literal() else {
            return Err(WriteReason::Computed(name.to_owned(), word.shown()));
        };
        let is_known = match text.strip_prefix("--") {
            Some("") => return Ok(()),
            Some(option) => long.contains(&option.split('=').next().unwrap_or(option)),
            // The output and input formats of one of the two programs named `yq`; the other has no
            // such options.
            None if name == "yq" && matches!(text, "-o" | "-p") => {
                rest.next().is_some_and(WordText::is_operand)
            }
            None if name == "yq" && (text.starts_with("-o=") || text.starts_with("-p=")) => true,
            None if name.starts_with("bat") && matches!(text, "-r" | "-l") => {
                rest.next().is_some_and(WordText::is_operand)
            }
            None => text[1..].chars().all(|letter| letters.contains(letter)),
        };
        if !is_known {
            return Err(WriteReason::Argument(name.to_owned(), word.shown()));
        }
    }
    Ok(())
}

fn is_other_option(
    name: &str,
    word: &WordText,
    letters: &str,
    long: &[&str],
) -> Result<(), WriteReason> {
    let computed = || WriteReason::Computed(name.to_owned(), word.shown());
    let refused = || WriteReason::Argument(name.to_owned(), word.shown());
    let Some(option) = word.text.strip_prefix('-') else { return Err(computed()) };
    // `--include=$x` is that option whatever follows; `-n$x` may be many options.
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
