//! What is printed, and asked.
//!
//! Texts of a state come from models and plans, so control characters are shown and never sent: a
//! task's name must not move the cursor. Who builds a line makes each value in it [`visible`]; what
//! was forgotten is caught here, where everything comes through. A reader that went away is no error.

use anyhow::{Context, Result};
use ralph_core::text::sanitize;
use std::borrow::Cow;
use std::io::{ErrorKind, IsTerminal, Write};

/// Prints to standard output, with a line feed after it.
pub(crate) fn print(text: &str) -> Result<()> {
    print_bytes(harmless(text).as_bytes())
}

/// As [`print()`], for what need not be text.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<()> {
    let mut to = std::io::stdout().lock();
    let written = to
        .write_all(bytes)
        .and_then(|()| if bytes.ends_with(b"\n") { Ok(()) } else { to.write_all(b"\n") })
        .and_then(|()| to.flush());
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("could not write to standard output")
        }
        _ => Ok(()),
    }
}

/// Prints one JSON document. What acts on a terminal is written as JSON writes it in plain ASCII:
/// such characters stand in strings only, and a reader gets them back.
pub(crate) fn print_json(document: &serde_json::Value) -> Result<()> {
    let rendered = serde_json::to_string_pretty(document)?;
    let mut plain = String::with_capacity(rendered.len());
    for letter in rendered.chars() {
        match sanitize::acts(letter) && letter != '\n' {
            true => letter.encode_utf16(&mut [0; 2]).iter().for_each(|unit| {
                plain.push_str(&format!("\\u{unit:04x}"));
            }),
            false => plain.push(letter),
        }
    }
    print(&plain)
}

/// Tells the person something beside the answer. Without a standard error there is nobody to tell.
pub(crate) fn tell(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", harmless(text));
}

/// Rings the terminal, and shows the text as a notification where it knows how (OSC 9); nothing where
/// nobody looks at one.
pub(crate) fn ring(text: &str) {
    let mut to = std::io::stderr();
    if to.is_terminal() {
        let _ = write!(to, "\u{1b}]9;{}\u{7}\u{7}", visible(text)).and_then(|()| to.flush());
    }
}

/// The text with our own colours, and with nothing else that acts on a terminal.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    match text.contains('\u{1b}') && std::io::stdout().is_terminal() {
        true => Cow::from(only_colours(text)),
        false => sanitize::visible(text),
    }
}

fn only_colours(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for (at, part) in text.split("\u{1b}[").enumerate() {
        let rest = match COLOURS.iter().find_map(|code| Some((*code, part.strip_prefix(code)?))) {
            _ if at == 0 => part,
            Some((code, rest)) => {
                shown.push_str("\u{1b}[");
                shown.push_str(code);
                rest
            }
            None => {
                shown.push_str("\\u{1b}[");
                part
            }
        };
        shown.push_str(&sanitize::visible(rest));
    }
    shown
}

/// What follows an escape and a bracket in the sequences that [`coloured`] writes.
const COLOURS: [&str; 5] = ["31m", "32m", "33m", "2m", "0m"];

/// A text with everything made visible that would act on a terminal; line feeds included.
pub(crate) fn visible(text: &str) -> String {
    if sanitize::is_quiet(text) && !text.contains('\n') {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if sanitize::acts(letter) {
            shown.extend(letter.escape_default());
        } else {
            shown.push(letter);
        }
    }
    shown
}

/// As [`visible`], with line feeds kept and tabs as spaces.
pub(crate) fn visible_lines(text: &str) -> String {
    if sanitize::is_quiet(text) {
        return text.strip_suffix('\n').unwrap_or(text).to_owned();
    }
    let lines: Vec<String> =
        text.lines().map(|line| visible(&line.replace('\t', "    "))).collect();
    lines.join("\n")
}

/// A word in colour, where colour can be seen and is wanted.
pub(crate) fn coloured(word: &str, colour: Colour) -> String {
    match colours_are_wanted() && std::io::stdout().is_terminal() {
        true => painted(word, colour),
        false => word.to_owned(),
    }
}

/// Whether the person has nothing against colours, and the terminal knows them.
pub(crate) fn colours_are_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// A word in colour.
pub(crate) fn painted(word: &str, colour: Colour) -> String {
    format!("\u{1b}[{}m{word}\u{1b}[0m", colour as u8)
}

/// The colours in use, by their codes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Colour {
    /// Something is wrong.
    Red = 31,
    /// It goes well.
    Green = 32,
    /// It waits for a person.
    Yellow = 33,
    /// Neither.
    Dim = 2,
}

/// True if there is a person to ask.
pub(crate) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks, and returns the line that was typed.
pub(crate) fn ask(question: &str) -> Result<String> {
    put(question)?;
    Ok(answer()?.unwrap_or_default())
}

/// Asks, and leaves the answer to [`answer`].
pub(crate) fn put(question: &str) -> Result<()> {
    let mut to = std::io::stderr();
    write!(to, "{} ", harmless(question)).and_then(|()| to.flush()).context("could not ask")
}

/// The line that was typed; none where nobody will type any more.
pub(crate) fn answer() -> Result<Option<String>> {
    let mut line = String::new();
    let n = std::io::stdin().read_line(&mut line).context("could not read the answer")?;
    Ok((n > 0).then(|| line.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_all_sequences_only_our_colours_are_sent() {
        for colour in [Colour::Red, Colour::Green, Colour::Yellow, Colour::Dim] {
            let word = format!("a \u{1b}[{}mb\u{1b}[0m\nc", colour as u8);
            assert_eq!(only_colours(&word), word);
        }
        assert_eq!(only_colours("a\u{1b}[2Jb\u{1b}]0;x\u{7}"), "a\\u{1b}[2Jb\\u{1b}]0;x\\u{7}");
        assert_eq!(only_colours("\u{1b}[31\u{202e}m"), "\\u{1b}[31\\u{202e}m");
    }

    #[test]
    fn what_acts_on_a_terminal_is_shown_instead() {
        assert_eq!(visible("a\u{1b}[2Jb\nc"), "a\\u{1b}[2Jb\\nc");
        assert_eq!(visible("né \u{202e}x\u{9b}"), "né \\u{202e}x\\u{9b}");
        assert_eq!(visible_lines("a\tb\r\nc\u{7}\n"), "a    b\nc\\u{7}");
    }
}
