//! Commands that need more than a list of options.

use super::words::{self, WordText};
use super::{At, Fed, WriteReason, programs, variables};
use crate::shell::UNKNOWN;
use rable::{Node, NodeKind};

fn refused(name: &str, word: &WordText) -> WriteReason {
    WriteReason::Argument(name.to_owned(), word.shown())
}

fn computed(name: &str, word: &WordText) -> WriteReason {
    WriteReason::Computed(name.to_owned(), word.shown())
}

/// Tests and actions without a value that change nothing.
const FIND_PLAIN: &str = "! ( ) , -a -and -d -daystart -depth -empty -executable -false -follow \
    -ignore_readdir_race -ls -mount -nogroup -noleaf -noignore_readdir_race -not -nouser -nowarn -o -or \
    -print -print0 -prune -quit -readable -true -warn -writable -xdev -E -H -L -P -X -s -x --help \
    --version -version -help";

/// Tests with one value each.
const FIND_VALUED: &str = "-amin -anewer -atime -cmin -cnewer -context -ctime -fstype -gid -group -ilname \
    -iname -inum -ipath -iregex -iwholename -links -lname -maxdepth -mindepth -mmin -mtime -name \
    -newer -path -perm -printf -regex -regextype -samefile -size -type -uid -used -user -wholename \
    -xtype";

fn is_in(list: &str, text: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == text)
}

pub(super) fn find(arguments: &[WordText], at: At<'_>) -> Result<(), WriteReason> {
    let (mut rest, mut is_start) = (arguments, true);
    while let Some((word, after)) = rest.split_first() {
        rest = after;
        let is_newer = |text: &str| {
            text.len() == 8
                && text.starts_with("-newer")
                && text[6..].bytes().all(|b| b"aBcmt".contains(&b))
        };
        match word.literal() {
            Some("-exec") => (rest, is_start) = (executed(after, at)?, false),
            Some(text) if is_in(FIND_VALUED, text) || is_newer(text) => {
                let value = after.first();
                if let Some(value) = value.filter(|value| value.many && !is_no_action(value)) {
                    return Err(computed("find", value));
                }
                (rest, is_start) = (after.get(1..).unwrap_or_default(), false);
            }
            Some("-H" | "-L" | "-P") => {}
            Some(text) if is_in(FIND_PLAIN, text) => is_start = false,
            Some(text) if is_start && !text.starts_with('-') => {}
            None if is_start && (word.is_operand() || is_no_action(word)) => {}
            // Only as the first argument: there, and nowhere else, a variable from the environment
            // is a folder.
            None if is_start && word.outside && rest.len() + 1 == arguments.len() => {}
            None if !word.is_operand() => return Err(computed("find", word)),
            _ => return Err(refused("find", word)),
        }
    }
    Ok(())
}

/// True for a glob that matches no keyword of `find`: keywords consist of letters and `-`.
fn is_no_action(word: &WordText) -> bool {
    !word.splits && word.text.contains(['.', '/']) && !word.text.contains(['{', ',', '}', ']'])
}

/// What a command of a pipeline prints, for an `xargs` after it.
pub(super) fn prints(node: &Node, fed: Fed) -> Fed {
    let NodeKind::Command { words, .. } = &node.kind else { return Fed::Text };
    let texts: Vec<&str> = words
        .iter()
        .map(|word| match &word.kind {
            NodeKind::Word { value, .. } => value.as_str(),
            _ => "",
        })
        .collect();
    let has = |option: &str| texts.contains(&option);
    match texts[..] {
        ["find", ..] if has("-exec") || has("-printf") => Fed::Text,
        ["find", ..] if has("-print0") => Fed::Paths,
        ["find" | "fd" | "fdfind" | "ls" | "which", ..] | ["git", "ls-files" | "ls-tree", ..] => {
            Fed::Names
        }
        ["grep" | "rg", ..] if has("-l") || has("-rl") || has("--files") => Fed::Names,
        ["head" | "tail" | "sort" | "uniq", ..] => fed,
        _ => Fed::Text,
    }
}

/// Checks the command of an `-exec`, and returns the words after its end.
fn executed<'w>(words: &'w [WordText], at: At<'_>) -> Result<&'w [WordText], WriteReason> {
    let text = |at: usize| words.get(at).and_then(WordText::literal);
    let ends =
        |at: &usize| text(*at) == Some(";") || text(*at) == Some("+") && text(at - 1) == Some("{}");
    let end = (1..words.len()).find(ends).ok_or(WriteReason::Unreadable)?;
    let mut inner = words[..end].to_vec();
    for word in &mut inner {
        if word.text == "-exec" {
            return Err(refused("find", word));
        }
        // The value begins with a start point of the `find`, and a start point is never an option.
        let place = if word.text.starts_with("{}") { "./" } else { "" };
        word.outside = false;
        word.text = format!("{place}{}", word.text.replace("{}", &UNKNOWN.to_string()));
    }
    programs::only_read(&inner, At { fed: Fed::Text, ..at })?;
    Ok(&words[end + 1..])
}

/// The `ralph` commands that only show something.
const SHOWS: [&[&str]; 20] = [
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
    &["parallel", "waves"],
    &["ralplan", "next"],
    &["ralplan", "status"],
    &["session", "list"],
    &["session", "next"],
    &["session", "status"],
    &["session", "waves"],
    &["session", "graph"],
    &["session", "validate"],
];

pub(super) fn ralph(arguments: &[WordText]) -> Result<(), WriteReason> {
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
        false => Err(WriteReason::Argument("ralph".to_owned(), plain.join(" "))),
    }
}

/// `[ … ]`. `-v` evaluates an index as arithmetic, and arithmetic runs commands that an index
/// contains.
pub(super) fn test(arguments: &[WordText]) -> Result<(), WriteReason> {
    const UNARY: &str = "-b -c -d -e -f -g -h -k -n -p -r -s -u -w -x -z -G -L -N -O -S";
    const BINARY: &str = "= == != -eq -ne -lt -le -gt -ge -nt -ot -ef";
    let is_one_of = |list: &str, at: Option<usize>| {
        let text = at.and_then(|at| arguments.get(at)).and_then(WordText::literal);
        text.is_some_and(|text| list.split(' ').any(|known| known == text))
    };
    if let [word] | [word, WordText { .. }] = arguments
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

/// `[[ … ]]`, which compares numbers by evaluating arithmetic.
pub(super) fn condition(node: &Node, at: At<'_>) -> Result<(), WriteReason> {
    let both = |left: &Node, right: &Node| condition(left, at).and_then(|()| condition(right, at));
    match &node.kind {
        NodeKind::CondAnd { left, right } | NodeKind::CondOr { left, right } => both(left, right),
        NodeKind::CondNot { operand: inner } | NodeKind::CondParen { inner } => {
            condition(inner, at)
        }
        NodeKind::UnaryTest { op, .. } if matches!(op.as_str(), "-v" | "-R" | "-t" | "-o") => {
            Err(WriteReason::Argument("[[".to_owned(), op.clone()))
        }
        NodeKind::UnaryTest { operand, .. } => condition(operand, at),
        NodeKind::BinaryTest { op, .. }
            if matches!(op.as_str(), "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge") =>
        {
            Err(WriteReason::Argument("[[".to_owned(), format!("{op}` (`[ … {op} … ]` is allowed")))
        }
        NodeKind::BinaryTest { left, right, .. } => both(left, right),
        NodeKind::CondTerm { value, .. } => {
            words::is_plain(value).or_else(|why| words::alone(value, at).ok_or(why))
        }
        _ => Err(WriteReason::Construct("this condition")),
    }
}

/// `-v` assigns a variable and evaluates its name; `%n` assigns to an argument.
pub(super) fn printf(arguments: &[WordText]) -> Result<(), WriteReason> {
    let rest = match arguments.first().map(|first| (first, first.literal())) {
        Some((_, Some("--"))) => &arguments[1..],
        Some((first, _)) if !first.is_operand() => return Err(computed("printf", first)),
        _ => arguments,
    };
    match rest {
        [] => Ok(()),
        [format, ..] if format.literal().is_some_and(|text| !counts(text)) => Ok(()),
        [format] if !format.many => Ok(()),
        [format, ..] => Err(refused("printf", format)),
    }
}

/// True for a format with `%n`.
fn counts(format: &str) -> bool {
    let mut pieces = format.split('%').skip(1);
    while let Some(piece) = pieces.next() {
        let rest = piece.trim_start_matches(|letter: char| {
            letter.is_ascii_digit() || "-+ #'*.$hlLjzt\\".contains(letter)
        });
        if rest.starts_with('n') {
            return true;
        }
        // `%%` is a literal percent sign.
        if piece.is_empty() {
            pieces.next();
        }
    }
    false
}

/// The names that `read` sets must be valid names.
pub(super) fn read(arguments: &[WordText], at: At<'_>) -> Result<(), WriteReason> {
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match word.literal().ok_or_else(|| computed("read", word))? {
            "-r" | "-s" => {}
            "-d" | "-n" | "-t" => {
                rest.next().filter(|value| !value.many).ok_or_else(|| computed("read", word))?;
            }
            name => {
                at.known.is_set(name)?;
                variables::may_be_set(name)?;
            }
        }
    }
    Ok(())
}

/// `export NAME=VALUE` for variables that only affect the display.
pub(super) fn export(arguments: &[WordText], at: At<'_>) -> Result<(), WriteReason> {
    if matches!(arguments, [only] if only.literal() == Some("-p")) {
        return Ok(());
    }
    arguments.iter().try_for_each(|word| {
        let text = word.literal().ok_or_else(|| computed("export", word))?;
        let name = text.split('=').next().unwrap_or_default();
        at.known.is_set(name)?;
        variables::may_be_assigned(text)?;
        if variables::is_harmless(name) {
            Ok(())
        } else {
            Err(WriteReason::Variable(name.to_owned()))
        }
    })
}

/// `tee` to `/dev/null` or a standard stream only.
pub(super) fn tee(arguments: &[WordText]) -> Result<(), WriteReason> {
    let is_nowhere = |word: &&WordText| {
        !matches!(word.literal(), Some("/dev/null" | "/dev/stderr" | "/dev/stdout" | "-a"))
    };
    arguments.iter().find(is_nowhere).map_or(Ok(()), |word| Err(refused("tee", word)))
}

/// `curl` that only fetches and prints a URL: no option names a file, sends one, or sets another
/// method.
pub(super) fn curl(arguments: &[WordText]) -> Result<(), WriteReason> {
    const VALUED: [&str; 8] = [
        "-A",
        "-H",
        "-m",
        "--connect-timeout",
        "--header",
        "--max-time",
        "--retry",
        "--user-agent",
    ];
    const LONG: [&str; 11] = [
        "--compressed",
        "--fail",
        "--globoff",
        "--head",
        "--include",
        "--insecure",
        "--location",
        "--no-buffer",
        "--show-error",
        "--silent",
        "--verbose",
    ];
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let text = word.literal().ok_or_else(|| computed("curl", word))?;
        let is_known = match text.strip_prefix('-') {
            _ if VALUED.contains(&text) => {
                rest.next().and_then(WordText::literal).is_some_and(|value| {
                    // A value that begins with `@` names a file.
                    !value.starts_with(['-', '@'])
                })
            }
            _ if LONG.contains(&text) => true,
            Some(letters) => {
                !letters.is_empty() && letters.bytes().all(|letter| b"fgIikLNsSv".contains(&letter))
            }
            None => text.starts_with("https://") || text.starts_with("http://"),
        };
        if !is_known {
            return Err(refused("curl", word));
        }
    }
    Ok(())
}

/// Small commands of which only a few uses are known to be read-only.
pub(super) fn by_words(name: &str, arguments: &[WordText]) -> Result<(), WriteReason> {
    let texts: Option<Vec<&str>> = arguments.iter().map(WordText::literal).collect();
    let known = match name {
        "date" => dated(arguments),
        "uniq" => single(arguments, &["-f", "-s", "-w"]),
        // Options and operands may come in any order, and `xxd` writes its second operand.
        "xxd" => {
            let valued = ["-c", "-g", "-l", "-s", "-o", "-n", "-cols", "-len", "-seek"];
            single(arguments, &valued)
        }
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
            ("unzip", ["-l" | "-v" | "-p" | "-c" | "-t" | "-Z1", files @ ..]) => {
                files.iter().all(|word| !word.starts_with('-'))
            }
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
            let all: Vec<String> = arguments.iter().map(WordText::shown).collect();
            Err(WriteReason::Argument(name.to_owned(), all.join(" ")))
        }
    }
}

/// True for at most one file: the command would write a second one.
fn single(arguments: &[WordText], valued: &[&str]) -> bool {
    let (mut files, mut rest) = (0, arguments.iter());
    while let Some(word) = rest.next() {
        match word.literal() {
            Some(text) if valued.contains(&text) => drop(rest.next()),
            // After an operand, an option is the output file, at least on some systems.
            _ if files > 0 => return false,
            Some("--") => return false,
            Some(text) if text.starts_with('-') && text.len() > 1 => {}
            _ if word.many || !word.is_operand() && word.literal() != Some("-") => return false,
            _ => files += 1,
        }
    }
    files < 2
}

/// True if `date` shows the time and does not set it.
fn dated(arguments: &[WordText]) -> bool {
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let text = word.text.as_str();
        let is_fine = match text {
            "-u" | "-R" | "--utc" => true,
            "-d" | "-r" | "--date" | "--reference" | "--rfc-3339" => {
                rest.next().is_some_and(|value| !value.many)
            }
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
