//! Messages from the user to a running loop: STEER changes how the loop works, INFO only informs
//! it.
//!
//! A signal is a file in the loop's mailbox, so that it can also be written by hand. It does not
//! control whether the loop continues or is done: `ralph cancel`, `pause` and `resume` do that.

use crate::text::truncate::bounded;
use std::fmt;
use std::fmt::Write;

/// The longest text of a signal, in UTF-16 units: the model reads it between two tool calls.
pub const LONGEST: usize = 1_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalKind {
    /// Changes how the work is done from now on.
    Steer,
    /// Informs the model.
    Info,
    /// Ends an orchestration together with its agents; loops of other kinds do not have it.
    Stop,
}

impl SignalKind {
    /// The word in files and in texts for the model.
    pub fn as_str(self) -> &'static str {
        match self {
            SignalKind::Steer => "STEER",
            SignalKind::Info => "INFO",
            SignalKind::Stop => "STOP",
        }
    }
}

impl fmt::Display for SignalKind {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.as_str())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentSignal {
    pub kind: SignalKind,
    pub text: String,
    /// The time of day in UTC, `23:59`; `None` for a file that was written by hand.
    pub at: Option<String>,
}

/// Why this text cannot be sent, and what to do instead.
pub fn refused(text: &str) -> Option<String> {
    if text.trim().is_empty() {
        return Some(
            "there is nothing to send; write a text, or `-` to read it from standard input"
                .to_owned(),
        );
    }
    let units = text.trim().encode_utf16().count();
    (units > LONGEST).then(|| {
        format!(
            "a signal has at most {LONGEST} characters, not {units}; write the text to a file \
             and name the file"
        )
    })
}

/// The content of a signal file.
pub fn file(kind: SignalKind, text: &str) -> String {
    format!("{kind}: {}\n", text.trim())
}

/// Parses a signal file. A text without a kind is an INFO, so that nothing written there is lost.
pub fn read(name: &str, content: &str) -> SentSignal {
    let content = content.trim();
    let of_kind = |kind: SignalKind| {
        let word = content.get(..kind.as_str().len())?;
        let rest = content[word.len()..].strip_prefix(':')?;
        word.eq_ignore_ascii_case(kind.as_str()).then_some((kind, rest))
    };
    let (kind, text) = of_kind(SignalKind::Steer)
        .or_else(|| of_kind(SignalKind::Info))
        .unwrap_or((SignalKind::Info, content));
    SentSignal { kind, text: bounded(text.trim(), LONGEST), at: time_of_day(name) }
}

/// Taken from the file name, `20260131T235959…`: every hook links this code, and a timestamp parser
/// would be a tenth of it.
fn time_of_day(name: &str) -> Option<String> {
    let (day, time) = name.split_once('T')?;
    let is_number = |text: &str| text.bytes().all(|letter| letter.is_ascii_digit());
    let (hours, minutes) = (time.get(..2)?, time.get(2..4)?);
    let is_time = day.len() == 8 && [day, hours, minutes].into_iter().all(is_number);
    is_time.then(|| format!("{hours}:{minutes}"))
}

/// The text for the model. The model follows a STEER, but not the instructions in a project file,
/// so the text names its source.
pub fn text_for_model(signals: &[SentSignal]) -> String {
    let mut text = "The person who started the loop says:\n".to_owned();
    for signal in signals {
        let at = signal.at.as_ref().map(|at| format!(" (sent {at} UTC)"));
        let _ = writeln!(text, "{}{}: {}", signal.kind, at.unwrap_or_default(), signal.text);
    }
    let says = |kind: SignalKind| signals.iter().any(|signal| signal.kind == kind);
    text.push_str(match (says(SignalKind::Stop), says(SignalKind::Steer)) {
        (true, _) => {
            "Stop and report: begin nothing more, leave no file half written, write the finished \
             and the open work into your own file, mark nothing unfinished as done, and end."
        }
        (false, true) => "Follow it from now on. The criteria do not change.",
        (false, false) => "This is information; continue the work.",
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "20260131T235959.123456789Z-1f3a";

    #[test]
    fn what_is_sent_is_read_back_with_its_time() {
        for kind in [SignalKind::Steer, SignalKind::Info] {
            let signal = read(NAME, &file(kind, " use tabs\nand no spaces: "));
            assert_eq!((signal.kind, signal.text.as_str()), (kind, "use tabs\nand no spaces:"));
            assert_eq!(signal.at.as_deref(), Some("23:59"));
        }
    }

    #[test]
    fn a_file_that_was_written_by_hand_is_heard_too() {
        let read = |text: &str| {
            let signal = read("note", text);
            (signal.kind, signal.text, signal.at)
        };
        assert_eq!(super::read("2026013xT235959", "x").at, None);
        assert_eq!(super::read("20260131T2", "x").at, None);
        assert_eq!(read("steer:x\n"), (SignalKind::Steer, "x".to_owned(), None));
        assert_eq!(read("look at ä.rs"), (SignalKind::Info, "look at ä.rs".to_owned(), None));
        assert_eq!(
            read("STEERING is hard"),
            (SignalKind::Info, "STEERING is hard".to_owned(), None)
        );
        assert_eq!(read("ä"), (SignalKind::Info, "ä".to_owned(), None));
        assert_eq!(read(&"x".repeat(5_000)).1.chars().count(), LONGEST);
    }

    #[test]
    fn nothing_and_too_much_are_refused() {
        assert!(refused(" \n").unwrap().starts_with("there is nothing to send"));
        assert_eq!(refused(&"x".repeat(LONGEST)), None);
        assert!(refused(&"😀".repeat(501)).unwrap().contains("at most 1000 characters, not 1002"));
    }

    #[test]
    fn the_model_reads_who_says_what_and_what_it_changes() {
        let steer = read(NAME, "STEER: use tabs");
        let info = read("note", "CI is down");
        assert_eq!(
            text_for_model(&[steer, info.clone()]),
            "The person who started the loop says:\nSTEER (sent 23:59 UTC): use tabs\nINFO: CI is \
             down\nFollow it from now on. The criteria do not change."
        );
        let stop = SentSignal { kind: SignalKind::Stop, text: "enough".to_owned(), at: None };
        let text = text_for_model(&[info.clone(), stop]);
        assert!(
            text.contains("\nSTOP: enough\nStop and report: ") && !text.contains("go on"),
            "{text}"
        );
        assert!(text_for_model(&[info]).ends_with("\nThis is information; continue the work."));
    }
}
