//! Splits a byte stream into lines without colours.
//!
//! A carriage return also ends a line: progress bars redraw the same line, and the summary that
//! follows must not be joined to them.

use std::borrow::Cow;

/// Summaries are short; the rest of a longer line is dropped.
const LONGEST: usize = 4 * 1024;

#[derive(Debug, Clone, Default)]
pub(super) struct Lines {
    line: Vec<u8>,
    state: State,
}

/// Position of the stream in a terminal control sequence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    Escape,
    /// `ESC [ … letter`: colours, cursor movements.
    Control,
    /// `ESC ] … BEL` or `ESC ] … ESC \`: titles, links.
    Title,
}

impl Lines {
    pub(super) fn feed(&mut self, bytes: &[u8], mut each: impl FnMut(&str)) {
        for &byte in bytes {
            self.byte(byte, &mut each);
        }
    }

    /// Current memory use.
    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        self.line.capacity()
    }

    /// Ends the stream; the last line may lack a line ending.
    pub(super) fn finish(&mut self, mut each: impl FnMut(&str)) {
        self.end(&mut each);
    }

    fn byte(&mut self, byte: u8, each: &mut impl FnMut(&str)) {
        match (self.state, byte) {
            // Also inside a control sequence: an unterminated one must not hide the rest.
            (_, b'\n' | b'\r') => {
                self.state = State::Text;
                self.end(each);
            }
            (_, 0x1b) => self.state = State::Escape,
            (State::Text, _) => {
                if self.line.len() < LONGEST {
                    self.line.push(byte);
                }
            }
            (State::Escape, b'[') => self.state = State::Control,
            (State::Escape, b']') => self.state = State::Title,
            // `ESC ( B` and similar sequences have intermediate bytes.
            (State::Escape, 0x20..=0x2f) => {}
            (State::Escape, _) | (State::Control, 0x40..=0x7e) | (State::Title, 0x07) => {
                self.state = State::Text;
            }
            (State::Control | State::Title, _) => {}
        }
    }

    fn end(&mut self, each: &mut impl FnMut(&str)) {
        match String::from_utf8_lossy(&self.line) {
            Cow::Borrowed(line) => each(line.trim_end()),
            Cow::Owned(line) => each(line.trim_end()),
        }
        self.line.clear();
    }
}
