//! The `ralph` commands that only a person may give: in a command line, where the command would refuse by
//! itself, but the model is told at once what a person types; and in a text that the client would submit as
//! theirs.

use crate::guard::human_only::{self, PERSONS_ONLY, RefusedTo};
use crate::shell::programs::behind_wrappers;
use crate::shell::{self, Simple};

/// A refused command: its name, and its second word if only some are refused.
type RefusedCommand = (&'static str, &'static str);

/// The commands for a person only, and `statusline`, which passes a text to a shell and is for the
/// client only.
fn refused_commands() -> impl Iterator<Item = RefusedCommand> {
    let persons = PERSONS_ONLY
        .into_iter()
        .map(|(command, ..)| command.split_once(' ').unwrap_or((command, "")));
    persons.chain([("statusline", "")])
}

/// True for a `ralph` command that changes nothing, and that a planning needs.
pub(super) fn only_reads(simple: &Simple) -> bool {
    let words: Vec<&str> = simple.arguments().iter().map(|word| word.text.as_str()).collect();
    matches!(*words, ["explain" | "replay" | "status", ..] | ["ralplan", "next" | "status", ..])
}

/// The reason against a line that plainly gives a person's command.
pub(super) fn refused(line: &str) -> Option<String> {
    let programs = shell::programs(line)?;
    programs.iter().find_map(|simple| {
        let simple = Simple { words: behind_wrappers(simple.program()).to_vec(), ..Simple::default() };
        let words: Vec<&str> = simple.arguments().iter().map(|word| word.text.as_str()).collect();
        match (simple.name(), words.as_slice()) {
            ("sh" | "bash" | "zsh", ["-c", script, ..]) => refused(script),
            ("claude", words) => brings_in(words),
            ("ralph", words) => {
                let plain: Vec<&str> = words.iter().copied().filter(|word| !word.starts_with('-')).collect();
                let given = |(command, ..): &&(&str, &str, RefusedTo)| {
                    let mut parts = command.split(' ').enumerate();
                    parts.all(|(at, part)| if part.starts_with('-') { words.contains(&part) } else { plain.get(at) == Some(&part) })
                };
                // The one that a skill gives for its own session.
                let is_own = matches!(words, ["start", "--session", _, "-"]);
                let (command, typed, _) = PERSONS_ONLY.iter().find(given).filter(|_| !is_own)?;
                let reason = human_only::reason(command, typed);
                Some(format!("{reason}. You may use `ralph task …` (not `import`) and `ralph status`. Go on with the work."))
            }
            _ => None,
        }
    })
}

/// The reason against a command of the client that lets other code speak in a conversation.
fn brings_in(words: &[&str]) -> Option<String> {
    let is_plugin_folder = |word: &&&str| word.split('=').next() == Some("--plugin-dir");
    let what = match words {
        ["plugin" | "plugins", what @ ("install" | "i" | "enable"), ..] => format!("plugin {what}"),
        ["plugin" | "plugins", "marketplace", "add", ..] => "plugin marketplace add".to_owned(),
        ["mcp", what, ..] if what.starts_with("add") => format!("mcp {what}"),
        ["config", what @ ("set" | "add"), ..] => format!("config {what}"),
        words => words.iter().find(is_plugin_folder).map(|_| "--plugin-dir".to_owned())?,
    };
    Some(format!(
        "`claude {what}` lets other code into the client, and while a loop is live only the user may do that, in \
         another terminal. Go on with the work without it."
    ))
}

/// A refused command in a text that is not a command line or cannot be parsed: `ralph`, and within
/// the next four words a refused command.
pub(super) fn named_in(text: &str) -> Option<String> {
    let is_word = |letter: char| letter.is_alphanumeric() || "-_./".contains(letter);
    let words: Vec<&str> =
        text.split(|letter| !is_word(letter)).filter(|word| !word.is_empty()).collect();
    for (at, word) in words.iter().enumerate() {
        if word.rsplit('/').next() != Some("ralph") {
            continue;
        }
        let next = words.iter().skip(at + 1).take(4);
        for (known, only) in refused_commands() {
            let mut next = next.clone().skip_while(|word| **word != known);
            if next.next().is_some() && (only.is_empty() || next.any(|word| *word == only)) {
                return Some(format!("ralph {known} {only}").trim_end().to_owned());
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
    #[rustfmt::skip]
    const TAKE_WORDS: [&str; 12] = [
        "adopt", "build", "checkpoint", "ideate", "parallel", "plan", "ralplan", "refine", "run", "session",
        "signal", "start",
    ];
    let known = refused_commands().any(|(known, only)| {
        let n = 1 + usize::from(!only.is_empty());
        rest.first() == Some(&known)
            && (only.is_empty() || rest.get(1) == Some(&only))
            && (TAKE_WORDS.contains(&known) || rest[n..].iter().all(|word| word.starts_with('-')))
    });
    known.then(|| format!("ralph {}", rest.first().copied().unwrap_or_default()))
}
