//! The `ralph` commands that only a person may give, and how to recognise them.

use super::places::could_be;
use crate::guard::Rule;
use crate::guard::human_only::{self, HIDDEN, OTHERS, PERSONS_ONLY};
use crate::guard::own_loop::{self, ModelIn, ModelsOwn, Named, TELLS};
use crate::shell::{ShellWord, Simple, is_computed};

/// A refused command: its name, its second word if only some are refused, and what a person types
/// instead.
type RefusedCommand = (&'static str, &'static str, &'static str);

/// The commands for a person only, and `statusline`, which passes a text to a shell and is for the
/// client only.
fn refused_commands() -> impl Iterator<Item = RefusedCommand> {
    let persons = PERSONS_ONLY.into_iter().map(|(command, typed)| {
        let (command, only) = command.split_once(' ').unwrap_or((command, ""));
        (command, only, typed)
    });
    persons.chain([("statusline", "", "")])
}

/// The variable that names the `bd` executable for a refinement.
pub(super) const TRACKER: &str = "RALPH_BD";

/// Variables that select the loop a command applies to, or the program it runs.
const IDENTITY: [&str; 4] = ["RALPH_HOME", "RALPH_MANIFEST", "CLAUDE_CODE_SESSION_ID", TRACKER];

/// True for `ralph`, wherever it is installed.
pub(super) fn is_ralph(simple: &Simple) -> bool {
    could_be(simple.base(), "ralph")
}

/// True for a `ralph` command of which some words are known only when it runs.
pub(super) fn has_computed_words(simple: &Simple) -> bool {
    simple.arguments().iter().any(|word| is_computed(&word.text))
}

/// The refused part of one `ralph` command, as it would be typed, with its equivalent.
pub(super) fn refused(simple: &Simple, session_id: &str) -> Option<(String, &'static str)> {
    let words: Vec<&str> = simple.arguments().iter().map(|word| word.text.as_str()).collect();
    if words == ["start", "--session", session_id, "-"] {
        return None;
    }
    let is_command = |word: &str| {
        OTHERS.contains(&word)
            || HIDDEN.contains(&word)
            || refused_commands().any(|(known, ..)| known == word)
    };
    let mut plain = Plain { words: &words };
    let mut command = plain.next();
    // The word may be the value of an option that is unknown here.
    while command.is_some_and(|word| !is_command(word) && !is_computed(word)) {
        command = plain.next();
    }
    let Some(command) = command.filter(|word| !is_computed(word)) else {
        return (command.is_some() || simple.fed).then(|| ("…".to_owned(), ""));
    };
    if HIDDEN.contains(&command) {
        return Some((command.to_owned(), ""));
    }
    let second = plain.next();
    let is_second = |only: &str| match second {
        // An option may be anywhere in the line.
        _ if only.starts_with("--") => {
            let is_it = |word: &str| word.split('=').next() == Some(only) || is_computed(word);
            simple.fed || words.iter().any(|word| is_it(word))
        }
        Some(word) => word == only || is_computed(word),
        None => simple.fed,
    };
    refused_commands()
        .find(|(known, only, _)| *known == command && (only.is_empty() || is_second(only)))
        .map(|(known, only, typed)| (format!("{known} {only}").trim_end().to_owned(), typed))
}

/// A command that would reach more than the loop in which it is given, with the reason that the command
/// line would give.
pub(super) fn reaches_elsewhere(simple: &Simple, own: &ModelsOwn<'_>) -> Option<(Rule, String)> {
    let words: Vec<&str> = simple.arguments().iter().map(|word| word.text.as_str()).collect();
    let command = own_loop::command_of(&words)?;
    let named = Named { is_another_loop: own_loop::names_another(&words, own), ..Named::default() };
    let reason = own_loop::refusal(command, ModelIn::LiveLoop, named)?;
    Some((Rule::RefusedCommand, reason))
}

/// A variable that the line removes for its `ralph` command, and that tells Ralph where it runs.
pub(super) fn removed_variable(simple: &Simple) -> Option<&'static str> {
    let removed = simple.removed.iter().filter(|_| is_ralph(simple));
    removed.into_iter().find_map(|name| TELLS.into_iter().find(|known| known == name))
}

/// Iterates over the words that are neither options nor values of the global options.
struct Plain<'a> {
    words: &'a [&'a str],
}

impl<'a> Iterator for Plain<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        loop {
            let (word, rest) = self.words.split_first()?;
            let takes_value = matches!(*word, "--session" | "--loop");
            self.words = if takes_value { rest.get(1..).unwrap_or_default() } else { rest };
            if !word.starts_with('-') {
                return Some(word);
            }
        }
    }
}

/// The variable in [`IDENTITY`] that a command changes.
pub(super) fn changed_identity(simple: &Simple) -> Option<&'static str> {
    let by_words = match simple.name() {
        Some("unset" | "export" | "declare" | "typeset" | "local" | "readonly" | "read") => {
            simple.arguments()
        }
        _ => &[],
    };
    let names = |word: &ShellWord| {
        let name = word.text.split('=').next().unwrap_or_default();
        IDENTITY.into_iter().find(|known| *known == name)
    };
    let removed = simple.removed.iter().find_map(|name| match name.as_str() {
        "*" => Some("CLAUDE_CODE_SESSION_ID"),
        _ => IDENTITY.into_iter().find(|known| known == name),
    });
    let assigned = simple
        .assignments
        .iter()
        .find_map(|(name, _)| IDENTITY.into_iter().find(|known| known == name));
    removed.or(assigned).or_else(|| by_words.iter().find_map(names))
}

/// A refused command in a text that is not a command line or cannot be parsed: `ralph`, and within
/// the next four words a refused command.
pub(super) fn named_in(text: &str) -> Option<(String, &'static str)> {
    let is_word = |letter: char| letter.is_alphanumeric() || "-_./".contains(letter);
    let words: Vec<&str> =
        text.split(|letter| !is_word(letter)).filter(|word| !word.is_empty()).collect();
    for (at, word) in words.iter().enumerate() {
        if word.rsplit('/').next() != Some("ralph") {
            continue;
        }
        let next = words.iter().skip(at + 1).take(4);
        for (known, only, typed) in refused_commands() {
            let mut next = next.clone().skip_while(|word| **word != known);
            if next.next().is_some() && (only.is_empty() || next.any(|word| *word == only)) {
                return Some((format!("{known} {only}").trim_end().to_owned(), typed));
            }
        }
    }
    None
}

/// A text that as a whole is a refused command, as a person would type it.
pub(super) fn typed(text: &str) -> Option<String> {
    let mut words = text.split_whitespace();
    (words.next() == Some("ralph")).then_some(())?;
    let rest: Vec<&str> = words.collect();
    // After a command without operands, further words make it a sentence: "ralph cancel works".
    const TAKE_WORDS: [&str; 12] = [
        "adopt",
        "build",
        "checkpoint",
        "ideate",
        "parallel",
        "plan",
        "ralplan",
        "refine",
        "run",
        "session",
        "signal",
        "start",
    ];
    let known = refused_commands().any(|(known, only, _)| {
        let n = 1 + usize::from(!only.is_empty());
        rest.first() == Some(&known)
            && (only.is_empty() || rest.get(1) == Some(&only))
            && (TAKE_WORDS.contains(&known) || rest[n..].iter().all(|word| word.starts_with('-')))
    });
    known.then(|| format!("ralph {}", rest.first().copied().unwrap_or_default()))
}

pub(super) fn refusal(command: &str, typed: &str) -> String {
    format!(
        "{}. You may use `ralph task …` (not `import`) and `ralph status`, written out in plain \
         words. Go on with the work.",
        human_only::reason(command, typed)
    )
}
