//! Commands that need more than a list of options.

use super::words::{self, Said};
use super::{Why, programs, variables};
use crate::shell::UNKNOWN;
use rable::{Node, NodeKind};

fn refused(name: &str, word: &Said) -> Why {
    Why::Argument(name.to_owned(), word.shown())
}

fn computed(name: &str, word: &Said) -> Why {
    Why::Computed(name.to_owned(), word.shown())
}

const FIND_CHANGES: [&str; 8] =
    ["-delete", "-execdir", "-fls", "-fprint", "-fprint0", "-fprintf", "-ok", "-okdir"];

/// Tests with one value each, on every system.
const FIND_VALUED: [&str; 18] = [
    "-group",
    "-ilname",
    "-iname",
    "-ipath",
    "-iregex",
    "-lname",
    "-maxdepth",
    "-mindepth",
    "-mmin",
    "-mtime",
    "-name",
    "-newer",
    "-path",
    "-perm",
    "-regex",
    "-size",
    "-type",
    "-user",
];

pub(super) fn find(arguments: &[Said], depth: usize) -> Result<(), Why> {
    let changes = |word: &&Said| FIND_CHANGES.contains(&word.text.as_str());
    if let Some(word) = arguments.iter().find(changes) {
        return Err(refused("find", word));
    }
    let mut rest = arguments;
    while let Some((word, after)) = rest.split_first() {
        rest = after;
        match word.literal() {
            Some("-exec") => rest = executed(after, depth)?,
            Some(text) if FIND_VALUED.contains(&text) => {
                let value = after.first();
                if let Some(value) = value.filter(|value| value.many) {
                    return Err(computed("find", value));
                }
                rest = after.get(1..).unwrap_or_default();
            }
            None if !word.is_operand() => return Err(computed("find", word)),
            _ => {}
        }
    }
    Ok(())
}

/// The command of an `-exec`, up to its end; what follows is returned.
fn executed(words: &[Said], depth: usize) -> Result<&[Said], Why> {
    let text = |at: usize| words.get(at).and_then(Said::literal);
    let ends =
        |at: &usize| text(*at) == Some(";") || text(*at) == Some("+") && text(at - 1) == Some("{}");
    let end = (1..words.len()).find(ends).ok_or(Why::Unreadable)?;
    let mut inner = words[..end].to_vec();
    for word in &mut inner {
        if word.text == "-exec" {
            return Err(refused("find", word));
        }
        word.text = word.text.replace("{}", &UNKNOWN.to_string());
    }
    programs::only_read(&inner, depth)?;
    Ok(&words[end + 1..])
}

/// What Ralph only shows.
const SHOWS: [&[&str]; 18] = [
    &["status"],
    &["report"],
    &["explain"],
    &["context"],
    &["doctor"],
    &["task", "list"],
    &["task", "show"],
    &["task", "ready"],
    &["task", "waves"],
    &["task", "graph"],
    &["parallel", "plan"],
    &["ralplan", "next"],
    &["ralplan", "status"],
    &["session", "list"],
    &["session", "status"],
    &["session", "waves"],
    &["session", "graph"],
    &["session", "validate"],
];

pub(super) fn ralph(arguments: &[Said]) -> Result<(), Why> {
    let mut plain = Vec::new();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match word.literal().ok_or_else(|| computed("ralph", word))? {
            "--json" | "--all" | "--markdown" | "--help" | "-h" | "--version" | "-V" => {}
            "--session" | "--loop" | "--id" | "--format"
                if rest.as_slice().first().is_some_and(|value| value.literal().is_some()) =>
            {
                rest.next();
            }
            text if text.starts_with("--format=") => {}
            text if text.starts_with('-') => return Err(refused("ralph", word)),
            text => plain.push(text),
        }
    }
    let shows = plain.is_empty() || SHOWS.iter().any(|command| plain.starts_with(command));
    match shows {
        true => Ok(()),
        false => Err(Why::Argument("ralph".to_owned(), plain.join(" "))),
    }
}

/// `[ … ]`: `-v` looks at an index, which is arithmetic, and arithmetic runs what it finds.
pub(super) fn test(arguments: &[Said]) -> Result<(), Why> {
    const UNARY: &str = "-b -c -d -e -f -g -h -k -n -p -r -s -u -w -x -z -G -L -N -O -S";
    const BINARY: &str = "= == != -eq -ne -lt -le -gt -ge -nt -ot -ef";
    let is_one_of = |list: &str, at: Option<usize>| {
        let text = at.and_then(|at| arguments.get(at)).and_then(Said::literal);
        text.is_some_and(|text| list.split(' ').any(|known| known == text))
    };
    if let [word] | [word, Said { .. }] = arguments
        && arguments.get(1).is_none_or(|last| last.text == "]")
        && !word.many
    {
        return Ok(());
    }
    for (at, word) in arguments.iter().enumerate() {
        if matches!(word.text.as_str(), "-v" | "-R") {
            return Err(refused("test", word));
        }
        let is_value = !word.many
            && (is_one_of(UNARY, at.checked_sub(1))
                || is_one_of(BINARY, at.checked_sub(1))
                || is_one_of(BINARY, Some(at + 1)));
        if word.literal().is_none() && !is_value {
            return Err(computed("test", word));
        }
    }
    Ok(())
}

/// `[[ … ]]`, in which numbers are compared by arithmetic.
pub(super) fn condition(node: &Node) -> Result<(), Why> {
    let both = |left: &Node, right: &Node| condition(left).and_then(|()| condition(right));
    match &node.kind {
        NodeKind::CondAnd { left, right } | NodeKind::CondOr { left, right } => both(left, right),
        NodeKind::CondNot { operand: inner } | NodeKind::CondParen { inner } => condition(inner),
        NodeKind::UnaryTest { op, .. } if matches!(op.as_str(), "-v" | "-R" | "-t" | "-o") => {
            Err(Why::Argument("[[".to_owned(), op.clone()))
        }
        NodeKind::UnaryTest { operand, .. } => condition(operand),
        NodeKind::BinaryTest { op, .. }
            if matches!(op.as_str(), "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge") =>
        {
            Err(Why::Argument("[[".to_owned(), format!("{op}` (`[ … {op} … ]` is allowed")))
        }
        NodeKind::BinaryTest { left, right, .. } => both(left, right),
        NodeKind::CondTerm { value, .. } => words::is_plain(value),
        _ => Err(Why::Construct("this condition")),
    }
}

/// `-v` assigns, and evaluates the name that it assigns to.
pub(super) fn printf(arguments: &[Said]) -> Result<(), Why> {
    match arguments.first() {
        Some(first) if !first.is_operand() && first.literal() != Some("--") => {
            Err(computed("printf", first))
        }
        _ => Ok(()),
    }
}

/// The names that it sets must be names.
pub(super) fn read(arguments: &[Said]) -> Result<(), Why> {
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match word.literal().ok_or_else(|| computed("read", word))? {
            "-r" | "-s" => {}
            "-d" | "-n" | "-t" => {
                rest.next().filter(|value| !value.many).ok_or_else(|| computed("read", word))?;
            }
            name => variables::may_be_set(name)?,
        }
    }
    Ok(())
}

/// Small commands of which few uses are known to read.
pub(super) fn by_words(name: &str, arguments: &[Said]) -> Result<(), Why> {
    let texts: Option<Vec<&str>> = arguments.iter().map(Said::literal).collect();
    let known = match name {
        "date" => dated(arguments),
        "uniq" => single(arguments, &["-f", "-s", "-w"]),
        "xxd" => single(arguments, &["-c", "-g", "-l", "-s"]) && !has(arguments, "-r"),
        _ => texts.as_deref().is_some_and(|texts| match (name, texts) {
            ("set", words) => words.iter().all(|word| {
                matches!(
                    *word,
                    "-e" | "-u"
                        | "-f"
                        | "-o"
                        | "-eu"
                        | "-euo"
                        | "-eo"
                        | "-uo"
                        | "+e"
                        | "+u"
                        | "pipefail"
                )
            }),
            ("tar", [letters, file, members @ ..]) => {
                let letters = letters.strip_prefix('-').unwrap_or(letters);
                letters.contains('t')
                    && letters.ends_with('f')
                    && letters.matches('f').count() == 1
                    && letters.bytes().all(|letter| b"tvzjJf".contains(&letter))
                    // `host:file` starts a remote shell.
                    && !file.contains(':')
                    && [file].into_iter().chain(members).all(|word| !word.starts_with('-'))
            }
            ("unzip", ["-l", files @ ..]) => files.iter().all(|word| !word.starts_with('-')),
            ("exit" | "return" | "break" | "continue" | "shift", []) => true,
            ("exit" | "return" | "break" | "continue" | "shift", [number]) => {
                number.bytes().all(|byte| byte.is_ascii_digit())
            }
            _ => false,
        }),
    };
    match known {
        true => Ok(()),
        false => {
            let all: Vec<String> = arguments.iter().map(Said::shown).collect();
            Err(Why::Argument(name.to_owned(), all.join(" ")))
        }
    }
}

fn has(arguments: &[Said], option: &str) -> bool {
    arguments.iter().any(|word| word.text.starts_with(option) && !word.text.starts_with("--"))
}

/// One file at most: a second would be written.
fn single(arguments: &[Said], valued: &[&str]) -> bool {
    let (mut files, mut rest) = (0, arguments.iter());
    while let Some(word) = rest.next() {
        match word.literal() {
            Some(text) if valued.contains(&text) => drop(rest.next()),
            Some("--") => return false,
            Some(text) if text.starts_with('-') && text.len() > 1 => {}
            _ if word.many || !word.is_operand() && word.literal() != Some("-") => return false,
            _ => files += 1,
        }
    }
    files < 2
}

/// Showing the time, not setting it.
fn dated(arguments: &[Said]) -> bool {
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let text = word.text.as_str();
        let is_fine = match text {
            "-u" | "-R" | "--utc" => true,
            "-d" | "-r" | "--date" | "--reference" => rest.next().is_some_and(|value| !value.many),
            _ => {
                let starts = ["+", "-I", "--iso-8601", "--rfc-3339", "--date=", "--reference="];
                !word.many && starts.iter().any(|start| text.starts_with(start))
            }
        };
        if !is_fine {
            return false;
        }
    }
    true
}
