//! Words that promise something nobody can check.
//!
//! Such a word is acceptable if its line gives a number or names the command that proves it. Text
//! between backticks is a name, not a promise; a title and a quotation are the user's own words.

use super::{prose, spans};

/// The words. A star matches any ending.
const WORDS: [&str; 27] = [
    "improve*",
    "improving",
    "improvement*",
    "optimi*",
    "enhanc*",
    "better",
    "faster",
    "cleaner",
    "nicer",
    "properly",
    "appropriate*",
    "adequate*",
    "reasonabl*",
    "sensibl*",
    "robust*",
    "efficient*",
    "seamless*",
    "user-friendly",
    "intuitive*",
    "various",
    "somehow",
    "etc",
    "tbd",
    "tbc",
    "todo",
    "fixme",
    "gracefully",
];

const PHRASES: [&str; 10] = [
    "as needed",
    "as necessary",
    "as required",
    "if needed",
    "if necessary",
    "where needed",
    "where necessary",
    "and so on",
    "to be decided",
    "to be determined",
];

/// The numbers of the lines with such a word, and the word.
pub(super) fn lines(text: &str) -> Vec<(usize, String)> {
    let is_title = |line: &str| line.starts_with("# ");
    prose(text)
        .filter(|(_, line)| !is_title(line))
        .filter_map(|(at, line)| word(line).map(|word| (at, word)))
        .collect()
}

/// The first such word, unless the line has a number or a command.
pub(super) fn word(line: &str) -> Option<String> {
    let (quoted, plain) = spans(line);
    let plain = plain.to_lowercase();
    let found = vague_in(&plain)?;
    let has_command = quoted.iter().any(|(inside, _)| is_command(inside));
    (!has_command && !has_number(&plain)).then_some(found)
}

fn vague_in(plain: &str) -> Option<String> {
    let words = || plain.split(|letter: char| !(letter.is_alphanumeric() || letter == '-'));
    let is = |word: &str, known: &str| match known.strip_suffix('*') {
        Some(start) => word.starts_with(start),
        None => word == known,
    };
    let word = words().find(|word| WORDS.iter().any(|known| is(word, known)));
    let together = words().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let padded = format!(" {together} ");
    let phrase = PHRASES.iter().find(|phrase| padded.contains(&format!(" {phrase} ")));
    word.map(str::to_owned).or_else(|| phrase.map(|phrase| (*phrase).to_owned()))
}

/// True for a number that measures something: not a list mark, and not the number of a step or a
/// task.
fn has_number(plain: &str) -> bool {
    let mut before = "";
    for (at, word) in plain.trim_start_matches(['#', ' ', '-', '*']).split_whitespace().enumerate()
    {
        let bare = word.trim_matches(|letter: char| !letter.is_alphanumeric());
        let is_mark = at == 0 && (word.ends_with('.') || word.ends_with(')'));
        let is_counted = ["step", "phase", "task", "part", "section", "no"].contains(&before);
        let starts = bare.starts_with(|letter: char| letter.is_ascii_digit());
        if starts && !is_mark && !is_counted {
            return true;
        }
        before = word.trim_matches(|letter: char| !letter.is_alphanumeric());
    }
    false
}

/// True for a program with arguments.
fn is_command(inside: &str) -> bool {
    let program = inside.split_whitespace().next().unwrap_or_default();
    inside.split_whitespace().count() > 1
        && program.starts_with(|letter: char| letter.is_ascii_lowercase() || "./".contains(letter))
}
