//! Sums the tokens that a loop has used from the rows of its growing transcripts.
//!
//! The client writes one row per block of a message and repeats the message's usage in each row, so
//! each message is counted once. Quotes inside a quoted row are escaped, so numbers in quoted text
//! are never counted.

use crate::state::{Source, Tokens};
use crate::transcript::row::TranscriptRow;
use jiff::Timestamp;
use memchr::{memchr, memmem};

/// Longer rows are skipped; rows with usage are known to be much shorter.
const LONGEST_ROW: usize = 8 << 20;

/// Counts one transcript, fed in pieces.
#[derive(Debug)]
pub struct Counter<'a> {
    sum: &'a mut Tokens,
    source: &'a mut Source,
    since: Timestamp,
    /// The start of a row whose end has not arrived.
    begun: Vec<u8>,
    /// True within a row that is too long: its start was skipped.
    passes_over: bool,
}

impl<'a> Counter<'a> {
    /// Continues at the offset in `source`. Ignores rows from before `since`.
    pub fn new(sum: &'a mut Tokens, source: &'a mut Source, since: Timestamp) -> Counter<'a> {
        Counter { sum, source, since, begun: Vec::new(), passes_over: false }
    }

    /// Feeds the next piece. An incomplete row is read again next time.
    pub fn feed(&mut self, mut piece: &[u8]) {
        while let Some(end) = memchr(b'\n', piece) {
            let (row, rest) = (&piece[..end], &piece[end + 1..]);
            self.source.offset += (self.begun.len() + row.len() + 1) as u64;
            if self.begun.is_empty() && !self.passes_over {
                self.row(row);
            } else if !self.passes_over {
                let mut begun = std::mem::take(&mut self.begun);
                begun.extend_from_slice(row);
                self.row(&begun);
            }
            self.passes_over = false;
            piece = rest;
        }
        self.begin(piece);
    }

    fn begin(&mut self, part: &[u8]) {
        if self.passes_over || self.begun.len() + part.len() > LONGEST_ROW {
            // Not read again next time: the rest of a row does not parse and counts as nothing.
            self.source.offset += (self.begun.len() + part.len()) as u64;
            self.begun = Vec::new();
            self.passes_over = true;
        } else {
            self.begun.extend_from_slice(part);
        }
    }

    fn row(&mut self, line: &[u8]) {
        let Some(row) = reporting(line) else { return };
        let Some(at) = row.time().filter(|at| *at >= self.since) else { return };
        let id = row.text(&["message", "id"]).to_owned();
        let is_same = !id.is_empty() && id == self.source.message_id;
        if !is_same && self.source.counted_until.is_some_and(|until| at <= until) {
            return;
        }
        let now = tokens(&row);
        let before = if is_same { self.source.counted } else { Tokens::default() };
        let largest = now.join(before, u64::max);
        *self.sum = self.sum.join(largest.join(before, u64::saturating_sub), u64::saturating_add);
        self.source.counted = largest;
        self.source.message_id = id;
        self.source.at = self.source.at.max(Some(at));
    }
}

/// The time of any row; `None` if the row is incomplete or has no time.
pub fn time_of(line: &[u8]) -> Option<Timestamp> {
    TranscriptRow::parse(line)?.time()
}

/// Parses a row that reports usage. Most rows are large and report nothing, so only candidates are
/// parsed.
fn reporting(line: &[u8]) -> Option<TranscriptRow> {
    let holds = |words: &[u8]| memmem::find(line, words).is_some();
    if !holds(b"\"usage\":") || !holds(b"\"assistant\"") {
        return None;
    }
    let row = TranscriptRow::parse(line).filter(|row| row.kind() == "assistant")?;
    row.at(&["message", "usage"])?.is_object().then_some(row)
}

/// The usage that the client reports. A kind that is absent or not a number counts as 0.
fn tokens(row: &TranscriptRow) -> Tokens {
    let number = |name| row.number(&["message", "usage", name]);
    Tokens {
        input: number("input_tokens"),
        cache_creation: number("cache_creation_input_tokens"),
        cache_read: number("cache_read_input_tokens"),
        output: number("output_tokens"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Usage;
    use serde_json::json;

    fn row(second: u32, id: &str, input: u64, output: u64) -> String {
        let row = json!({
            "isSidechain": false, "type": "assistant",
            "timestamp": format!("2026-01-01T00:00:{second:02}Z"),
            "message": {"id": id, "role": "assistant", "content": [{"type": "text", "text": "x"}],
                "usage": {"input_tokens": input, "cache_creation_input_tokens": 3,
                    "cache_read_input_tokens": 5, "output_tokens": output,
                    "cache_creation": {"ephemeral_1h_input_tokens": 9}}},
        });
        format!("{row}\n")
    }

    fn at(second: u32) -> Timestamp {
        format!("2026-01-01T00:00:{second:02}Z").parse().unwrap()
    }

    fn feed(usage: &mut Usage, since: Timestamp, pieces: &[&str]) {
        let source = usage.sources.entry("t".to_owned()).or_default();
        let mut counter = Counter::new(&mut usage.tokens, source, since);
        pieces.iter().for_each(|piece| counter.feed(piece.as_bytes()));
    }

    #[track_caller]
    fn check(text: &str, expected: [u64; 4]) {
        let [input, cache_creation, cache_read, output] = expected;
        let expected = Tokens { input, cache_creation, cache_read, output };
        let mut whole = Usage::default();
        feed(&mut whole, at(0), &[text]);
        assert_eq!(whole.tokens, expected);
        // However the text is split, and also if each piece is read at a different time.
        let mut cut = Usage::default();
        let pieces: Vec<&str> = text.split_inclusive(':').collect();
        feed(&mut cut, at(0), &pieces);
        assert_eq!(cut, whole);
    }

    #[test]
    fn a_message_of_several_rows_is_counted_once_by_its_largest_numbers() {
        let rows = [row(1, "m1", 100, 1), row(1, "m1", 100, 40), row(2, "m1", 100, 40)].concat();
        check(&rows, [100, 3, 5, 40]);
        check(&(rows + &row(3, "m2", 7, 2)), [107, 6, 10, 42]);
    }

    #[test]
    fn rows_from_before_the_loop_do_not_count() {
        let mut usage = Usage::default();
        feed(&mut usage, at(2), &[&row(1, "m1", 1, 1), &row(2, "m2", 10, 10)]);
        assert_eq!((usage.total(), usage.tokens.input), (28, 10));
    }

    #[test]
    fn a_row_that_has_not_ended_is_left_for_the_next_time() {
        let (first, second) = (row(1, "m1", 1, 1), row(2, "m2", 10, 10));
        let mut usage = Usage::default();
        feed(&mut usage, at(0), &[&first, &second[..40]]);
        assert_eq!((usage.tokens.input, usage.sources["t"].offset), (1, first.len() as u64));
        feed(&mut usage, at(0), &[&second]);
        assert_eq!(usage.tokens.input, 11);
    }

    #[test]
    fn what_a_row_quotes_is_not_counted() {
        let quoted = row(1, "m9", 1_000, 1_000);
        let time = "2026-01-01T00:00:01Z";
        for row in [
            json!({"type": "user", "timestamp": time,
                "message": {"content": [{"type": "tool_result", "content": quoted}]}}),
            json!({"type": "user", "timestamp": time, "toolUseResult": {"status": "completed",
                "usage": {"input_tokens": 7}}, "message": {"role": "assistant", "usage": {}}}),
            json!({"type": "progress", "timestamp": time,
                "data": {"type": "assistant", "message": {"usage": {"input_tokens": 9}}}}),
            json!({"type": "assistant", "message": {"usage": {"input_tokens": 9}}}),
            json!({"type": "assistant", "timestamp": time, "usage": {"input_tokens": 9}}),
        ] {
            check(&format!("{row}\n"), [0; 4]);
        }
        check("{\"type\":\"assistant\",\"usage\":\n\u{7}\nnull\n[]\n", [0; 4]);
    }

    #[test]
    fn numbers_that_are_none_count_as_nothing() {
        let usage = json!({"input_tokens": null, "output_tokens": 4, "cache_read_input_tokens": -1,
            "cache_creation_input_tokens": "7"});
        let row = json!({"type": "assistant", "timestamp": "2026-01-01T00:00:01Z",
            "message": {"usage": usage}});
        // Without an id, each row counts as a message of its own.
        check(&format!("{row}\n{row}\n"), [0, 0, 0, 8]);
    }

    #[test]
    fn a_file_that_is_read_anew_counts_only_what_is_later() {
        let mut usage = Usage::default();
        feed(&mut usage, at(0), &[&row(1, "m1", 1, 1), &row(2, "m2", 10, 10)]);
        usage.sources.get_mut("t").unwrap().read_anew(7);
        let anew = [row(1, "m1", 1, 1), row(2, "m2", 10, 12), row(3, "m3", 100, 1)].concat();
        feed(&mut usage, at(0), &[&anew]);
        assert_eq!((usage.tokens.input, usage.tokens.output), (111, 1 + 12 + 1));
    }

    #[test]
    fn a_row_beyond_all_measure_costs_only_itself() {
        let long = format!("{}\n", "x".repeat(LONGEST_ROW + 10));
        let text = [row(1, "m1", 1, 1), long, row(2, "m2", 10, 1)].concat();
        let mut usage = Usage::default();
        let pieces: Vec<&str> =
            text.as_bytes().chunks(1 << 16).map(|c| str::from_utf8(c).unwrap()).collect();
        feed(&mut usage, at(0), &pieces);
        assert_eq!((usage.tokens.input, usage.sources["t"].offset), (11, text.len() as u64));
    }

    #[test]
    fn the_longest_row_still_counts_and_the_tail_of_a_longer_one_does_not() {
        let report = row(1, "m1", 1, 1);
        let padding = " ".repeat(LONGEST_ROW + 1 - report.len());
        let mut usage = Usage::default();
        feed(&mut usage, at(0), &[&padding, report.trim_end(), "\n"]);
        assert_eq!(usage.tokens.input, 1);
        let mut usage = Usage::default();
        feed(&mut usage, at(0), &[&padding, " ", report.trim_end(), "\n"]);
        assert_eq!(usage.tokens.input, 0);
        let mut usage = Usage::default();
        feed(&mut usage, at(0), &[&" ".repeat(LONGEST_ROW + 1), &report]);
        assert_eq!(usage.tokens.input, 0);
    }

    #[test]
    fn the_time_of_any_row_is_found() {
        assert_eq!(time_of(row(7, "m1", 1, 1).as_bytes()), Some(at(7)));
        assert_eq!(time_of(b"{\"type\":\"user\"}"), None);
        assert_eq!(time_of(b"half a row"), None);
    }

    #[test]
    fn numbers_of_any_size_do_not_overflow() {
        let rows = [row(1, "m1", u64::MAX, u64::MAX), row(2, "m2", u64::MAX, 1)].concat();
        check(&rows, [u64::MAX, 6, 10, u64::MAX]);
    }
}
