//! Prints text, and asks questions. A command that has printed its answer is done, so that what prints to standard
//! output returns the exit code for it.
//!
//! Texts in a state come from models and plans, so control characters are escaped: a task's name
//! must not move the cursor. Code that builds a line escapes each value with [`visible`]; the
//! functions here escape again whatever was missed. If the reader is gone, that is not an error.

use super::exit::Exit;
use anyhow::{Context, Result};
use jiff::{Timestamp, tz::TimeZone};
use ralph_core::text::{sanitize, wrap};
use ralph_io::terminal::alt_screen;
use std::borrow::Cow;
use std::io::{ErrorKind, IsTerminal, Write};

/// Prints to standard output, followed by a line feed.
pub(crate) fn print(text: &str) -> Result<Exit> {
    print_bytes(harmless(text).as_bytes())
}

/// Prints sentences to standard output, wrapped to the terminal's width. An indented line stays as
/// it is.
pub(crate) fn say(text: &str) -> Result<Exit> {
    print(&match alt_screen::columns() {
        Some(columns) => Cow::from(fitted(text, columns)),
        None => Cow::from(text),
    })
}

/// Like [`print()`], for bytes that need not be text.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<Exit> {
    let mut to = std::io::stdout().lock();
    let written = to
        .write_all(bytes)
        .and_then(|()| if bytes.ends_with(b"\n") { Ok(()) } else { to.write_all(b"\n") })
        .and_then(|()| to.flush());
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("could not write to standard output")
        }
        _ => Ok(Exit::Done),
    }
}

/// Prints git's diff: made harmless on a terminal, else byte for byte, so that `git apply -R` accepts it.
pub(crate) fn print_diff(diff: &[u8]) -> Result<Exit> {
    match std::io::stdout().is_terminal() {
        true => print(&visible_lines(&String::from_utf8_lossy(diff))),
        false => print_bytes(diff),
    }
}

/// Prints a JSON document. Control characters become JSON escapes, so the output is safe on a
/// terminal: they occur only inside strings, and a parser restores them.
pub(crate) fn print_json(document: &serde_json::Value) -> Result<Exit> {
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

/// Prints a note or an error to standard error, wrapped to the terminal's width. A write error is
/// ignored.
pub(crate) fn tell(text: &str) {
    let text = harmless(text);
    let shown = match alt_screen::columns_of_errors() {
        Some(columns) => Cow::from(fitted(&text, columns)),
        None => text,
    };
    let _ = writeln!(std::io::stderr(), "{shown}");
}

/// Prints an error: after a red `error:` on a terminal, after our name elsewhere.
pub(crate) fn error(text: &str) {
    let is_shown = std::io::stderr().is_terminal() && colours_are_wanted();
    match alt_screen::columns_of_errors().filter(|_| is_shown) {
        Some(_) => tell_begun(&format!("error: {text}"), "error:".len(), Colour::Red),
        None => tell(&format!("ralph: {text}")),
    }
}

/// Like [`tell`], with the first `head` bytes in colour if a terminal shows it and colours are
/// wanted.
pub(crate) fn tell_begun(text: &str, head: usize, colour: Colour) {
    let is_shown = std::io::stderr().is_terminal() && colours_are_wanted();
    let Some(columns) = alt_screen::columns_of_errors().filter(|_| is_shown) else {
        return tell(text);
    };
    let _ = writeln!(std::io::stderr(), "{}", begun(text, head, colour, columns));
}

/// Like [`say`], with the first `head` bytes in colour.
pub(crate) fn say_begun(text: &str, head: usize, colour: Colour) -> Result<Exit> {
    let is_shown = std::io::stdout().is_terminal() && colours_are_wanted();
    match alt_screen::columns().filter(|_| is_shown) {
        Some(columns) => print(&begun(text, head, colour, columns)),
        None => say(text),
    }
}

/// The text in lines, with its first `head` bytes in colour as far as they are on the first line.
fn begun(text: &str, head: usize, colour: Colour, columns: usize) -> String {
    let shown = fitted(&sanitize::visible(text), columns);
    let line = shown.find('\n').unwrap_or(shown.len());
    let (head, rest) = shown.split_at(shown.floor_char_boundary(head.min(line)));
    format!("{}{rest}", painted(head, colour))
}

/// Wraps sentences; an indented line is a row of a list and stays as it is.
fn fitted(text: &str, columns: usize) -> String {
    let lines = text.lines().map(|line| match line.starts_with(' ') {
        false if wrap::columns(line) > columns => Cow::from(wrapped_to(columns, line, 0, 2)),
        _ => Cow::from(line),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Rings the terminal bell, and shows the text as a notification if the terminal supports that (OSC
/// 9). Does nothing if standard error is not a terminal.
pub(crate) fn ring(text: &str) {
    let mut to = std::io::stderr();
    if to.is_terminal() {
        let _ = write!(to, "\u{1b}]9;{}\u{7}\u{7}", visible(text)).and_then(|()| to.flush());
    }
}

/// The text with all control sequences escaped except Ralph's own colours.
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

/// The codes in the colour sequences of ours.
const COLOURS: [&str; 6] = ["31m", "32m", "33m", "36m", "2m", "0m"];

/// The text with control characters escaped, line feeds included.
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

/// Like [`visible`], but keeps line feeds and turns tabs into spaces.
pub(crate) fn visible_lines(text: &str) -> String {
    if sanitize::is_quiet(text) {
        return text.strip_suffix('\n').unwrap_or(text).to_owned();
    }
    let lines: Vec<String> =
        text.lines().map(|line| visible(&line.replace('\t', "    "))).collect();
    lines.join("\n")
}

/// The word in colour, if standard output is a terminal and colours are wanted.
pub(crate) fn coloured(word: &str, colour: Colour) -> String {
    match colours_are_wanted() && std::io::stdout().is_terminal() {
        true => painted(word, colour),
        false => word.to_owned(),
    }
}

/// The columns of a screen whose rows are aligned: those of the terminal, else 80, so that a file
/// gets the same text on every machine.
pub(crate) fn width() -> usize {
    alt_screen::columns().unwrap_or(80)
}

/// One of our texts, wrapped at words to the terminal's width, the lines after the first indented.
/// `used` columns of the first line are taken. Without a terminal the text stays on one line, so
/// that `grep` finds it.
pub(crate) fn wrapped(text: &str, used: usize, indent: usize) -> String {
    match alt_screen::columns() {
        Some(columns) => wrapped_to(columns, text, used, indent),
        None => text.to_owned(),
    }
}

/// Like [`wrapped()`], to a given width. A command or a path that is too long beside its label
/// begins further to the left: it is never cut, so that it can be copied.
pub(crate) fn wrapped_to(width: usize, text: &str, used: usize, indent: usize) -> String {
    let mut shown = String::new();
    let lines = wrap::wrap(text, width.saturating_sub(used), width.saturating_sub(indent));
    for (at, line) in lines.iter().enumerate() {
        let columns = wrap::columns(line);
        let room = if at == 0 { used } else { indent };
        if columns + room <= width && at == 0 {
            shown.push_str(line);
            continue;
        }
        let indent = width.saturating_sub(columns).clamp(indent.min(2), indent);
        shown.truncate(shown.trim_end().len());
        shown.push_str(&format!("\n{:indent$}{line}", ""));
    }
    shown
}

/// A line of a table, cut at the terminal's width. Without a terminal it stays whole.
pub(crate) fn cut(line: &str) -> String {
    match alt_screen::columns() {
        Some(columns) => wrap::cut(line, columns),
        None => line.to_owned(),
    }
}

/// A time as the user's clock shows it: `2026-01-31 12:00:05`.
pub(crate) fn local(at: Timestamp) -> String {
    at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// Whether neither `NO_COLOR` nor a dumb terminal rules out colours.
pub(crate) fn colours_are_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

pub(crate) fn painted(word: &str, colour: Colour) -> String {
    format!("\u{1b}[{}m{word}\u{1b}[0m", colour as u8)
}

/// The colours in use, with their ANSI codes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Colour {
    /// Something is wrong.
    Red = 31,
    /// All is well.
    Green = 32,
    /// A user is needed.
    Yellow = 33,
    /// The loop goes on.
    Cyan = 36,
    /// Less important text.
    Dim = 2,
}

/// True if a user is there to answer a question.
pub(crate) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks, and returns the typed line.
pub(crate) fn ask(question: &str) -> Result<String> {
    put(question)?;
    Ok(answer()?.unwrap_or_default())
}

/// True if the user says yes.
pub(crate) fn confirm(question: &str) -> Result<bool> {
    let answer = ask(&format!("{question} [y/N]"))?;
    Ok(matches!(answer.to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// Prints the question. [`answer`] reads the reply.
pub(crate) fn put(question: &str) -> Result<()> {
    let mut to = std::io::stderr();
    write!(to, "{} ", harmless(question)).and_then(|()| to.flush()).context("could not ask")
}

/// The typed line; `None` at the end of the input.
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
    fn a_long_command_begins_further_left_and_is_never_cut() {
        let text = "see `ralph checkpoint show --loop 20260131-120000-1a2b` for it";
        let shown = wrapped_to(60, text, 14, 14);
        assert_eq!(
            shown,
            "see\n         `ralph checkpoint show --loop 20260131-120000-1a2b`\n              for it"
        );
        let shown = wrapped_to(40, text, 14, 14);
        assert!(
            shown.contains("\n  `ralph checkpoint show --loop 20260131-120000-1a2b`\n"),
            "{shown}"
        );
        assert_eq!(wrapped_to(20, "one two three", 14, 4), "one\n    two three");
        assert_eq!(wrapped_to(20, "elephants", 14, 4), "\n    elephants");
    }

    #[test]
    fn what_acts_on_a_terminal_is_shown_instead() {
        assert_eq!(visible("a\u{1b}[2Jb\nc"), "a\\u{1b}[2Jb\\nc");
        assert_eq!(visible("né \u{202e}x\u{9b}"), "né \\u{202e}x\\u{9b}");
        assert_eq!(visible_lines("a\tb\r\nc\u{7}\n"), "a    b\nc\\u{7}");
    }
}
