//! The `ralph` commands that only a person may give: in a command line, where the command would refuse by
//! itself, but the model is told at once what a person types; and in a text that the client would submit as
//! theirs.

use crate::guard::commands;
use crate::shell::programs::behind_wrappers;
use crate::shell::{self, Simple};

/// True for a `ralph` command that changes nothing, and that a planning needs.
pub(super) fn only_reads(simple: &Simple) -> bool {
    let words: Vec<&str> = simple.arguments().iter().map(|word| word.text.as_str()).collect();
    let words = commands::without_alias(words.into_iter().map(str::to_owned).collect::<Vec<_>>());
    let command = words.first().map_or("", String::as_str);
    matches!(command, "explain" | "next" | "replay" | "status")
        && !words.contains(&"--begin".to_owned())
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
                // The one that a skill gives for its own session.
                let is_own = matches!(words, ["start", "--session", _, "-"]);
                let reason = commands::reason(commands::given_users(words).filter(|_| !is_own)?);
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
    let is_ralph = |at: &usize| words[*at].rsplit('/').next() == Some("ralph");
    let mut behind = (0..words.len()).filter(is_ralph).flat_map(|at| {
        let end = words.len().min(at + 5);
        (at..end).skip(1).map(move |from| from..end)
    });
    behind
        .find_map(|next| commands::given_users(&words[next]))
        .map(|row| format!("ralph {}", row.name))
}

/// A text that as a whole is a refused command, as a person would type it.
pub(super) fn typed(text: &str) -> Option<String> {
    // After a command without operands, further words make it a sentence: "ralph cancel works".
    #[rustfmt::skip]
    const TAKE_WORDS: [&str; 9] = [
        "adopt", "plan", "ralplan", "refine", "restore", "run", "signal", "start",
        "team",
    ];
    let words: Vec<&str> = text.split_whitespace().collect();
    let rest = words.strip_prefix(&["ralph"])?.iter().map(|word| (*word).to_owned()).collect();
    let rest = commands::without_alias::<String>(rest);
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    let n = commands::given_users(&rest)?.name.split(' ').count();
    let is_whole =
        TAKE_WORDS.contains(&rest[0]) || rest[n..].iter().all(|word| word.starts_with('-'));
    is_whole.then(|| format!("ralph {}", rest[0]))
}
