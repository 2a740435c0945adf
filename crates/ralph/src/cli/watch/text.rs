//! Pieces of a line measured in columns, without control sequences.

use super::model::TextTone;
use crate::command::screen::visible;
use jiff::{Timestamp, tz::TimeZone};
use ralph_core::text::plural::lasted;
pub(super) use ralph_core::text::wrap::cut;
use ralph_core::text::wrap::{columns as width_of, wrap};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

/// Styles text, with or without colours.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pen {
    pub(super) colours: bool,
}

impl Pen {
    /// A text from anywhere, made harmless.
    pub(super) fn say(self, text: &str, tone: TextTone) -> Span<'static> {
        Span::styled(visible(text), self.style(tone))
    }

    /// A title of our own.
    pub(super) fn title(self, text: &str) -> Span<'static> {
        Span::styled(text.to_owned(), Style::new().add_modifier(Modifier::BOLD))
    }

    pub(super) fn style(self, tone: TextTone) -> Style {
        let colour = match tone {
            _ if !self.colours => None,
            TextTone::Good => Some(Color::Green),
            TextTone::Waits => Some(Color::Yellow),
            TextTone::Wrong => Some(Color::Red),
            TextTone::Quiet => Some(Color::DarkGray),
            TextTone::Plain => None,
        };
        colour.map_or_else(Style::new, |colour| Style::new().fg(colour))
    }
}

/// The text in exactly `columns` columns: padded with spaces, or cut.
pub(super) fn fit(text: &str, columns: usize) -> String {
    let mut shown = cut(&visible(text), columns);
    shown.push_str(&" ".repeat(columns.saturating_sub(width_of(&shown))));
    shown
}

/// A line cut to at most `columns` columns.
pub(super) fn cut_line(line: Line<'static>, columns: usize) -> Line<'static> {
    if line.width() <= columns {
        return line;
    }
    let mut left = columns;
    let mut spans = Vec::new();
    for span in line.spans {
        if left == 0 {
            break;
        }
        let text = cut(&span.content, left);
        left = left.saturating_sub(width_of(&text));
        spans.push(Span::styled(text, span.style));
    }
    Line::from(spans)
}

/// The text wrapped into at most `most` lines of `columns` columns.
pub(super) fn wrapped(text: &str, columns: usize, most: usize) -> Vec<String> {
    let mut lines = wrap(&visible(&text.replace(['\n', '\r', '\t'], " ")), columns, columns);
    if lines.len() > most {
        let rest = lines.split_off(most.saturating_sub(1)).join(" ");
        lines.push(rest);
    }
    lines.iter().map(|line| cut(line, columns)).collect()
}

/// The time of day in the user's time zone.
pub(super) fn clock(at: Timestamp) -> String {
    at.to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string()
}

pub(super) fn ago(at: Timestamp, now: Timestamp) -> String {
    match for_long(at, now).as_str() {
        "0 s" => "now".to_owned(),
        long => format!("{long} ago"),
    }
}

/// The time between, as `12 s`, `3 min` or `2 h 5 min`.
pub(super) fn for_long(from: Timestamp, until: Timestamp) -> String {
    lasted(until.duration_since(from).as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_takes_as_many_columns_as_it_is_given() {
        assert_eq!(
            (fit("ab", 4), fit("abcdef", 5), fit("abc", 2)),
            ("ab  ".into(), "ab...".into(), "ab".into())
        );
        // Characters that are two columns wide, and some of width zero.
        assert_eq!(
            (fit("漢字漢字", 6), fit("e\u{301}x", 3)),
            ("漢... ".into(), "e\u{301}x ".into())
        );
        assert_eq!(fit("\u{1b}[2J", 12), "\\u{1b}[2J   ");
    }

    #[test]
    fn words_go_on_in_the_next_line_as_long_as_there_is_one() {
        assert_eq!(wrapped("one two three four", 9, 2), ["one two", "three..."]);
        assert_eq!(wrapped("one\n\ntwo", 20, 2), ["one two"]);
        assert!(wrapped(" ", 9, 2).is_empty());
        assert_eq!(wrapped(&"x".repeat(30), 9, 2), ["xxxxxx..."]);
    }

    #[test]
    fn a_time_is_said_in_two_numbers_at_most() {
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        let said = [0, 59, 60, 3_599, 3_600, 90_061].map(|until| for_long(at(0), at(until)));
        assert_eq!(said, ["0 s", "59 s", "1 min", "59 min", "1 h", "25 h 1 min"]);
        assert_eq!((ago(at(9), at(9)), ago(at(9), at(3))), ("now".into(), "now".into()));
    }
}
