//! A command line that cannot be parsed: one line with what to type instead, in place of clap's four.

use crate::command::exit::Exit;
use crate::command::screen;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::process::ExitCode;
use strsim::levenshtein;

/// Prints the error, or the help that was requested.
pub(super) fn report(error: clap::Error, command: clap::Command) -> ExitCode {
    let words: Vec<String> =
        super::words().into_iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let typed = typed(command, words.iter().skip(1).cloned());
    let Some(line) = line(&error, &typed, &words) else { error.exit() };
    // An argument may have been copied from anywhere, so its control sequences are not printed raw.
    screen::error(&screen::visible(&line));
    Exit::Usage.into()
}

/// The command that was typed, without its arguments.
fn typed(command: clap::Command, words: impl Iterator<Item = String>) -> String {
    let mut typed = command.get_name().to_owned();
    let mut found = &command;
    for word in words {
        let Some(next) = found.find_subcommand(&word) else { break };
        typed.push_str(&format!(" {}", next.get_name()));
        found = next;
    }
    typed
}

/// Words that people type for a command with another name.
const MEANT: [(&str, &str); 6] = [
    ("steer", "signal steer \"WORDS\""),
    ("tell", "signal steer \"WORDS\""),
    ("stop", "cancel` or `ralph pause"),
    ("kill", "cancel"),
    ("version", "--version"),
    ("init", "install"),
];

/// Commands that start something; only a slip of a letter suggests them.
const STARTS: [&str; 7] = ["start", "run", "plan", "ralplan", "refine", "team", "parallel"];

/// What to type in place of a command that does not exist.
fn meant(error: &clap::Error, typed: &str, name: &str) -> Option<String> {
    let meant = MEANT.iter().find(|(word, _)| typed == "ralph" && *word == name);
    if let Some((_, meant)) = meant {
        return Some(format!("type `ralph {meant}`"));
    }
    let nearest = suggestion(error, ContextKind::SuggestedSubcommand)?;
    let is_slip = || levenshtein(name, &nearest) < 2 || same_letters(name, &nearest);
    (!STARTS.contains(&nearest.as_str()) || is_slip()).then(|| format!("type `{typed} {nearest}`"))
}

fn same_letters(one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(|word| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.sort_unstable();
        letters
    });
    one == other
}

/// The typed line with the words of its task in quotes.
fn in_quotes(typed: &str, words: &[String]) -> Option<String> {
    let takes_task = ["ralph run", "ralph start", "ralph ralplan run", "ralph team run"];
    let rest = words.get(typed.split(' ').count()..).filter(|_| takes_task.contains(&typed))?;
    let task: Vec<&str> =
        rest.iter().map(String::as_str).take_while(|word| !word.starts_with('-')).collect();
    (task.len() > 1).then(|| format!("put the task in quotes: {typed} \"{}\"", task.join(" ")))
}

/// The line for an error; `None` for a help, which clap prints itself.
fn line(error: &clap::Error, typed: &str, words: &[String]) -> Option<String> {
    let argument = || first(error, ContextKind::InvalidArg);
    let value = || first(error, ContextKind::InvalidValue);
    Some(match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => return None,
        ErrorKind::InvalidSubcommand => {
            let name = first(error, ContextKind::InvalidSubcommand);
            let instead = match meant(error, typed, &name) {
                Some(meant) => meant,
                None if typed == "ralph" => "`ralph help --all` lists the commands".to_owned(),
                None => format!("`{typed} --help` lists the commands"),
            };
            format!("`{typed}` has no command `{name}`; {instead}")
        }
        ErrorKind::UnknownArgument
            if !argument().starts_with('-') && in_quotes(typed, words).is_some() =>
        {
            in_quotes(typed, words)?
        }
        ErrorKind::UnknownArgument => {
            let instead = match suggestion(error, ContextKind::SuggestedArg) {
                Some(nearest) => format!("type `{nearest}`"),
                None => format!("`{typed} --help` lists the options"),
            };
            let name = argument();
            let what = if name.starts_with('-') { "option" } else { "argument" };
            format!("`{typed}` takes no {what} `{name}`; {instead}")
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = all(error, ContextKind::InvalidArg).join("` and `");
            format!("`{typed}` needs `{missing}`; type `{}`", usage(error, typed))
        }
        ErrorKind::ArgumentConflict => {
            let (name, prior) = (flag(&argument()), first(error, ContextKind::PriorArg));
            match flag(&prior) {
                prior if prior == name => format!("`{name}` was given twice; give it once"),
                prior => format!("`{name}` cannot be used with `{prior}`; leave one of them out"),
            }
        }
        ErrorKind::InvalidValue if value().is_empty() => {
            format!("`{0}` needs a value; type `{0} {1}`", flag(&argument()), placeholder(error))
        }
        ErrorKind::InvalidValue => {
            let instead = match suggestion(error, ContextKind::SuggestedValue) {
                Some(nearest) => format!("type `{nearest}`"),
                None => format!("type one of {}", all(error, ContextKind::ValidValue).join(", ")),
            };
            format!("`{}` cannot be `{}`; {instead}", flag(&argument()), value())
        }
        ErrorKind::ValueValidation => {
            let why = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
            match why.starts_with("needs ") {
                true => format!("`{}` {why}", flag(&argument())),
                false => why,
            }
        }
        _ => {
            let shown = error.render().to_string();
            let text = shown.lines().next().unwrap_or_default();
            text.strip_prefix("error: ").unwrap_or(text).to_owned()
        }
    })
}

fn all(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    }
}

fn first(error: &clap::Error, kind: ContextKind) -> String {
    all(error, kind).into_iter().next().unwrap_or_default()
}

/// clap lists all names that are similar, the nearest last.
fn suggestion(error: &clap::Error, kind: ContextKind) -> Option<String> {
    all(error, kind).pop()
}

/// `--loop` of `--loop <ID>`, and `SHELL` of `<SHELL>`.
fn flag(argument: &str) -> String {
    let word = argument.split_whitespace().next().unwrap_or_default();
    word.trim_matches(['<', '>', '[', ']', '.']).to_owned()
}

fn placeholder(error: &clap::Error) -> String {
    let argument = first(error, ContextKind::InvalidArg);
    argument.split_once(' ').map_or_else(String::new, |(_, value)| value.to_owned())
}

/// The command with its required arguments.
fn usage(error: &clap::Error, typed: &str) -> String {
    match error.get(ContextKind::Usage) {
        Some(ContextValue::StyledStr(usage)) => {
            let usage = usage.to_string();
            usage.trim_start_matches("Usage:").trim().to_owned()
        }
        _ => format!("{typed} --help"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a mistyped command line prints.
    fn error_line(words: &[&str]) -> String {
        let command = crate::cli::command();
        let words = std::iter::once(&"ralph").chain(words);
        let error = command.clone().try_get_matches_from(words.clone()).expect_err("a mistake");
        let words: Vec<String> = words.map(|word| (*word).to_owned()).collect();
        let name = typed(command, words.iter().skip(1).cloned());
        line(&error, &name, &words).expect("no help was requested")
    }

    #[test]
    fn each_mistake_is_told_in_one_line_with_what_to_type() {
        for (words, expected) in [
            (&["stauts"][..], "`ralph` has no command `stauts`; type `ralph status`"),
            (&["zzz"], "`ralph` has no command `zzz`; `ralph help --all` lists the commands"),
            (
                &["steer", "use tabs"],
                "`ralph` has no command `steer`; type `ralph signal steer \"WORDS\"`",
            ),
            (&["stop"], "`ralph` has no command `stop`; type `ralph cancel` or `ralph pause`"),
            (&["version"], "`ralph` has no command `version`; type `ralph --version`"),
            (&["strat", "x"], "`ralph` has no command `strat`; type `ralph start`"),
            (&["stars"], "`ralph` has no command `stars`; type `ralph start`"),
            (
                &["signal", "use tabs"],
                "`WORD` cannot be `use tabs`; type one of steer, info, pause, stop",
            ),
            (
                &["run", "fix", "the", "parser", "-n", "3"],
                "put the task in quotes: ralph run \"fix the parser\"",
            ),
            (&["task", "lst"], "`ralph task` has no command `lst`; type `ralph task list`"),
            (
                &["start", "--max-iters", "3"],
                "`ralph start` takes no option `--max-iters`; type `--max-iterations`",
            ),
            (
                &["watch", "x"],
                "`ralph watch` takes no argument `x`; `ralph watch --help` lists the options",
            ),
            (
                &["start", "--max-iterations", "0"],
                "`--max-iterations` needs a whole number from 1 to 10000 in plain digits, not `0`",
            ),
            (
                &["explain", "08"],
                "`N` needs a whole number from 1 to 100000 in plain digits, not `08`",
            ),
            (
                &["ralplan", "adjust", "--no"],
                "`ralph ralplan adjust` takes no option `--no`; `ralph ralplan adjust --help` lists the options",
            ),
            (&["status", "--loop"], "`--loop` needs a value; type `--loop <ID>`"),
            (
                &["status", "--loop", "a", "--session", "b"],
                "`--loop` cannot be used with `--session`; leave one of them out",
            ),
            (&["status", "--json", "--json"], "`--json` was given twice; give it once"),
            (
                &["task", "graph", "--format", "mermad"],
                "`--format` cannot be `mermad`; type `mermaid`",
            ),
            (
                &["task", "graph", "--format", "x"],
                "`--format` cannot be `x`; type one of text, dot, mermaid, waves",
            ),
        ] {
            assert_eq!(error_line(words), expected, "{words:?}");
        }
    }
}
