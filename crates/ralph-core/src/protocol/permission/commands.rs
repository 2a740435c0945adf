//! Splits a command line into the commands that the client asks about separately.
//!
//! Only a line that splits without doubt is split. Any other line is one part, which a rule has to
//! name exactly as written.

use super::{Mode, rules};
use crate::shell;

/// One command that needs to be allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandPart {
    pub(super) text: String,
    /// The command redirects output, runs in the background or hides other commands: only a rule
    /// for all of Bash allows it.
    is_more: bool,
    /// The command consists of plain words only.
    is_plain: bool,
}

/// Wrappers that the client removes before it compares; each was measured.
const TAKEN_OFF: [&str; 5] = ["time", "nice", "nohup", "xargs", "timeout"];

/// Commands never asked about within the project, in any mode; each was measured.
const HARMLESS: [&str; 19] = [
    "[", "cat", "cd", "date", "diff", "echo", "grep", "head", "jq", "ls", "pwd", "sort", "stat",
    "tail", "test", "true", "wc", "which", "git",
];

/// Read-only subcommands of git.
const LOOKING: [&str; 4] = ["status", "diff", "log", "show"];

/// Commands not asked about within the project in `acceptEdits` mode; each was measured.
const EDITING: [&str; 6] = ["mkdir", "rmdir", "touch", "rm", "mv", "cp"];

impl CommandPart {
    pub(super) fn is_allowed_by(&self, allow: &[String]) -> bool {
        let mut texts = vec![self.text.clone()];
        if self.is_plain {
            texts.extend(without_wrapper(&self.text));
        }
        // A rule for all of Bash allows any line.
        let texts = if self.is_more { &[][..] } else { &texts[..] };
        rules::naming(allow, "Bash", texts).is_some()
    }

    pub(super) fn is_harmless(&self, mode: Mode) -> bool {
        let mut words = self.text.split_whitespace();
        let name = words.next().unwrap_or_default();
        let is_known =
            HARMLESS.contains(&name) || mode == Mode::AcceptEdits && EDITING.contains(&name);
        let looks = name != "git" || words.next().is_some_and(|word| LOOKING.contains(&word));
        self.is_plain && is_known && looks && self.text.split_whitespace().skip(1).all(stays)
    }
}

/// False for a word that leads out of the project: any command with such a word needs permission.
fn stays(word: &str) -> bool {
    !word.starts_with(['/', '~']) && !word.split(['/', '=']).any(|name| name == "..")
}

/// Returns the parts that the client asks about.
pub(super) fn parts(line: &str) -> Vec<CommandPart> {
    let plain = line.replace(" 2>&1", "");
    if !plain.contains(|letter| "'\"\\$`(){}<>#\n".contains(letter)) {
        return split(&plain);
    }
    // Quoting is ignored: one predicted question too many is better than one too few.
    let is_more = line.contains(|letter| ";|&(){}<>#`\n".contains(letter));
    vec![CommandPart { text: line.to_owned(), is_more, is_plain: false }]
}

/// Splits a line that has only words and operators.
fn split(line: &str) -> Vec<CommandPart> {
    let joined = line.replace("&&", ";").replace("||", ";").replace('|', ";");
    let parts = joined.split(';').map(str::trim).filter(|text| !text.is_empty());
    let part = |text: &str| {
        let is_assigned = text.split_whitespace().next().is_some_and(|word| word.contains('='));
        let is_more = text.contains('&');
        CommandPart { text: text.to_owned(), is_more, is_plain: !is_assigned && !is_more }
    };
    parts.map(part).collect()
}

fn without_wrapper(text: &str) -> Option<String> {
    let mut words = text.split_whitespace();
    let name = words.next().filter(|name| TAKEN_OFF.contains(name))?;
    if name == "timeout" {
        words.next().filter(|word| word.starts_with(|letter: char| letter.is_ascii_digit()))?;
    }
    Some(words.collect::<Vec<_>>().join(" "))
}

/// How many words may stand in front of a program.
const MOST_WRAPPERS: usize = 8;

/// Returns every command that the line may run, without wrappers; a superset of the asked-about
/// parts.
pub(super) fn all_that_may_run(line: &str) -> Vec<String> {
    // A group, or a command in a word, may hold one more.
    let parted = || shell::programs(&line.replace(['(', ')', '{', '}', '`'], ";"));
    let programs = shell::programs(line).or_else(parted).unwrap_or_default();
    // A wrapper is not told from a program: whatever the words from one on say may run.
    let joined = |command: &shell::Simple| -> Vec<String> {
        let words: Vec<&str> = command.program().iter().map(|word| word.text.as_str()).collect();
        (0..words.len()).take(MOST_WRAPPERS).map(|from| words[from..].join(" ")).collect()
    };
    programs.iter().flat_map(joined).chain(std::iter::once(line.to_owned())).collect()
}
