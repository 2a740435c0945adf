//! Programs that start another one: allowed if that one is read-only.

use super::words::WordText;
use super::{At, Fed, WriteReason, programs, script, tools, variables};
use crate::shell::UNKNOWN;

const SHELLS: [&str; 7] = ["ash", "bash", "dash", "ksh", "mksh", "sh", "zsh"];

pub(super) fn only_read(name: &str, arguments: &[WordText], at: At<'_>) -> Result<(), WriteReason> {
    let mut at = at;
    let inner = match name {
        _ if SHELLS.contains(&name) => return shell(name, arguments, at),
        "env" => {
            let inner = env(arguments)?;
            let set = arguments[..arguments.len() - inner.len()].iter();
            at.sets |= set
                .filter_map(|word| word.text.split_once('='))
                .any(|(name, _)| !variables::is_harmless(name));
            inner
        }
        "xargs" => return programs::only_read(&fed(arguments, at)?, At { fed: Fed::Text, ..at }),
        "timeout" => {
            let options = ["-k", "-s", "--kill-after", "--signal"];
            let flags = ["--foreground", "--preserve-status", "-v", "--verbose"];
            let rest = after_options(name, arguments, &options, &flags)?;
            rest.split_first()
                .filter(|(time, _)| time.literal().is_some())
                .map(|(_, rest)| rest)
                .ok_or_else(|| WriteReason::Program(name.to_owned()))?
        }
        "nohup" => after_options(name, arguments, &[], &[])?,
        "nice" => after_options(name, arguments, &["-n", "--adjustment"], &[])?,
        "stdbuf" => after_options(
            name,
            arguments,
            &["-i", "-o", "-e"],
            &["-oL", "-o0", "-eL", "-e0", "-i0"],
        )?,
        "builtin" => arguments,
        "command" => match arguments.first().and_then(WordText::literal) {
            Some("-v" | "-V") => return Ok(()),
            _ => after_options(name, arguments, &[], &["-p"])?,
        },
        _ if at.sets => return Err(tools::UNKNOWN_SETTING),
        _ => return tools::only_shows(name, arguments),
    };
    programs::only_read(inner, at)
}

/// The words after the options of a wrapper; an option that is not listed is refused.
fn after_options<'a>(
    name: &str,
    arguments: &'a [WordText],
    valued: &[&str],
    flags: &[&str],
) -> Result<&'a [WordText], WriteReason> {
    // A value that looks like an option would leave it open which words are options.
    let is_value = |word: &WordText| !word.many && !word.text.starts_with('-');
    let is_joined = |text: &str| {
        let (option, number) = text.split_at(text.floor_char_boundary(2));
        valued.contains(&option)
            && !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    let mut rest = arguments;
    while let Some((word, after)) = rest.split_first() {
        let Some(text) = word.literal() else { return Ok(rest) };
        let long = text.split_once('=').map_or(text, |(name, _)| name);
        rest = match text {
            _ if !text.starts_with('-') => return Ok(rest),
            "--" => return Ok(after),
            _ if flags.contains(&text) || text != long && valued.contains(&long) => after,
            _ if is_joined(text) => after,
            _ if valued.contains(&text) && after.first().is_some_and(is_value) => &after[1..],
            _ => return Err(WriteReason::Argument(name.to_owned(), text.to_owned())),
        };
    }
    Ok(rest)
}

/// `env [-i] [-u NAME] [NAME=VALUE]… COMMAND`
fn env(arguments: &[WordText]) -> Result<&[WordText], WriteReason> {
    let mut rest = after_options(
        "env",
        arguments,
        &["-u", "--unset"],
        &["-i", "-", "--ignore-environment", "-0"],
    )?;
    while let Some((word, after)) = rest.split_first() {
        match word.text.split_once('=') {
            Some(_) if !word.many => variables::may_be_assigned(&word.text)?,
            _ => return Ok(rest),
        }
        rest = after;
    }
    Ok(rest)
}

/// The command of `xargs`, including the arguments that `xargs` adds.
fn fed(arguments: &[WordText], at: At<'_>) -> Result<Vec<WordText>, WriteReason> {
    let valued = ["-n", "-P", "-L", "-s", "-d", "-I", "--max-args", "--max-procs", "--delimiter"];
    let flags = [
        "-0",
        "-r",
        "-t",
        "-x",
        "-I{}",
        "-i",
        "-0i",
        "-I%",
        "-I@",
        "-n1",
        "-L1",
        "-0rn1",
        "-rn1",
        "-0n1",
        "-r0",
        "-0r",
        "--null",
        "--no-run-if-empty",
    ];
    let rest = after_options("xargs", arguments, &valued, &flags)?;
    let options = &arguments[..arguments.len() - rest.len()];
    let mut inner = rest.to_vec();
    let mut place = None;
    for (at, word) in options.iter().enumerate() {
        match word.literal() {
            Some("-I") => {
                place = Some(options.get(at + 1).and_then(WordText::literal).unwrap_or_default())
            }
            Some(joined) if joined.starts_with("-I") => place = Some(&joined[2..]),
            Some("-i" | "-0i") => place = Some("{}"),
            _ => {}
        }
    }
    match place {
        Some("") => return Err(WriteReason::Argument("xargs".to_owned(), "-I".to_owned())),
        Some(place) => {
            for word in &mut inner {
                word.text = word.text.replace(place, &UNKNOWN.to_string());
                word.outside = false;
            }
        }
        None if inner.is_empty() => {}
        None => {
            let by_nul = options.iter().filter_map(WordText::literal).any(|text| {
                text == "--null"
                    || text.starts_with('-') && !text.starts_with("--") && text.contains('0')
            });
            let is_path = match at.fed {
                Fed::Text => false,
                // The only option of `file` that writes is refused elsewhere, and a list of names
                // contains none.
                Fed::Names => inner.first().and_then(WordText::literal) == Some("file"),
                Fed::Paths => by_nul || inner.first().and_then(WordText::literal) == Some("file"),
            };
            let path = WordText { text: format!("./{UNKNOWN}"), many: true, ..WordText::default() };
            inner.push(if is_path { path } else { WordText::unknowns() });
        }
    }
    Ok(inner)
}

/// A shell whose script is in the line.
fn shell(name: &str, arguments: &[WordText], at: At<'_>) -> Result<(), WriteReason> {
    let words: Vec<Option<&str>> = arguments.iter().take(2).map(WordText::literal).collect();
    match words[..] {
        [Some("-c" | "-ec" | "-uc" | "-euc" | "-ce"), Some(text)] => script(text, at.inside()),
        // `-n` parses the script and runs nothing.
        [Some("-n"), Some(_)] if arguments.len() == 2 && arguments[1].is_operand() => Ok(()),
        _ => Err(WriteReason::Script(name.to_owned())),
    }
}
