//! Rows of a transcript: JSON documents in the client's format, of which a few members matter; the tool calls and the tokens in
//! them.

use crate::state::{Source, Tokens};
use crate::transcript::stream::{self, Lines};
use jiff::Timestamp;
use memchr::memmem;
use serde_json::Value;

/// A parsed row.
#[derive(Debug, Clone, Default)]
pub struct TranscriptRow(Value);

impl TranscriptRow {
    /// Parses one line; `None` if it is not a complete row (the first line of a tail seldom is).
    pub fn parse(line: &[u8]) -> Option<TranscriptRow> {
        serde_json::from_slice(line).ok().filter(Value::is_object).map(TranscriptRow)
    }

    /// The `type` of the row.
    pub fn kind(&self) -> &str {
        self.text(&["type"])
    }

    /// When the row was written; `None` for kinds without a timestamp.
    pub fn time(&self) -> Option<Timestamp> {
        self.text(&["timestamp"]).parse().ok()
    }

    /// The value at this path of member names.
    pub fn at(&self, path: &[&str]) -> Option<&Value> {
        path.iter().try_fold(&self.0, |value, name| value.get(*name))
    }

    /// The string at this path; empty if there is none.
    pub fn text(&self, path: &[&str]) -> &str {
        self.at(path).and_then(Value::as_str).unwrap_or_default()
    }

    /// True if the member is `true`.
    pub fn is(&self, name: &str) -> bool {
        self.at(&[name]).and_then(Value::as_bool).unwrap_or_default()
    }

    /// The number at this path; 0 if there is none.
    pub fn number(&self, path: &[&str]) -> u64 {
        self.at(path).and_then(Value::as_u64).unwrap_or_default()
    }

    /// The items of the list at this path; empty if it is not a list.
    pub fn items(&self, path: &[&str]) -> impl Iterator<Item = &Value> {
        self.at(path).and_then(Value::as_array).into_iter().flatten()
    }
}

/// The lines of a transcript, or of its end.
pub fn lines(text: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n')
}

// Detects tool calls of the main conversation in transcript rows.

/// True if one of these lines is a tool call of the main conversation, made at or after `at`.
pub fn since<'a>(at: Timestamp, mut lines: impl Iterator<Item = &'a [u8]>) -> bool {
    lines.any(|line| calls_a_tool(at, line).unwrap_or_default())
}

/// The last tool that the main conversation called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doing {
    pub tool: String,
    /// The subject of the call: a command, a file.
    pub about: String,
    pub at: Option<Timestamp>,
    /// True until the result arrives.
    pub goes_on: bool,
}

/// Reads the last row that calls a tool: its last call without a result, or else its last call.
pub fn doing<'a>(lines: impl DoubleEndedIterator<Item = &'a [u8]>) -> Option<Doing> {
    let mut answered: Vec<String> = Vec::new();
    for line in lines.rev() {
        // Cheap filter before parsing: a tool result may be megabytes long.
        if memmem::find(line, b"\"tool_use").is_none() {
            continue;
        }
        let Some(row) = TranscriptRow::parse(line).filter(|row| !row.is("isSidechain")) else {
            continue;
        };
        let blocks: Vec<_> = row.items(&["message", "content"]).collect();
        let text = |block: &serde_json::Value, name: &str| {
            block[name].as_str().unwrap_or_default().to_owned()
        };
        if row.kind() == "user" {
            let results = blocks.iter().filter(|block| block["type"] == "tool_result");
            answered.extend(results.map(|block| text(block, "tool_use_id")));
            continue;
        }
        let calls = blocks.iter().filter(|block| block["type"] == "tool_use");
        let open = |block: &&&serde_json::Value| !answered.contains(&text(block, "id"));
        let last = calls.clone().rfind(open).or(calls.clone().next_back());
        if row.kind() == "assistant"
            && let Some(call) = last
        {
            return Some(Doing {
                tool: text(call, "name"),
                about: stream::about(&call["input"]),
                at: row.time(),
                goes_on: open(&call),
            });
        }
    }
    None
}

fn calls_a_tool(at: Timestamp, line: &[u8]) -> Option<bool> {
    // Quotes inside a text or a result are escaped, so a quoted block does not match.
    memmem::find(line, b"\"tool_use\"")?;
    let row = TranscriptRow::parse(line)?;
    let of_the_conversation = row.kind() == "assistant" && !row.is("isSidechain");
    let calls = row.items(&["message", "content"]).any(|block| block["type"] == "tool_use");
    Some(of_the_conversation && calls && row.time()? >= at)
}

// Sums the tokens that a loop has used from the rows of its growing transcripts.
//
// The client writes one row per block of a message and repeats the message's usage in each row, so
// each message is counted once. Quotes inside a quoted row are escaped, so numbers in quoted text
// are never counted.

/// Counts one transcript, fed in pieces.
#[derive(Debug)]
pub struct Counter<'a> {
    sum: &'a mut Tokens,
    source: &'a mut Source,
    since: Timestamp,
    lines: Lines,
}

impl<'a> Counter<'a> {
    /// Continues at the offset in `source`. Ignores rows from before `since`.
    pub fn new(sum: &'a mut Tokens, source: &'a mut Source, since: Timestamp) -> Counter<'a> {
        Counter { sum, source, since, lines: Lines::default() }
    }

    /// Feeds the next piece. An incomplete row is read again next time, but not one that is too long:
    /// the rest of it does not parse and counts as nothing.
    pub fn feed(&mut self, piece: &[u8]) {
        let mut lines = std::mem::take(&mut self.lines);
        let before = lines.n_begun();
        lines.feed(piece, &mut |row| self.row(row));
        self.source.offset += (before + piece.len() - lines.n_begun()) as u64;
        self.lines = lines;
    }

    fn row(&mut self, line: &[u8]) {
        let Some(row) = reporting(line) else { return };
        let Some(at) = row.time().filter(|at| *at >= self.since) else { return };
        let id = row.text(&["message", "id"]).to_owned();
        let is_same = !id.is_empty() && id == self.source.message_id;
        if !is_same && self.source.counted_until.is_some_and(|until| at <= until) {
            return;
        }
        let now = usage(&row);
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
pub(crate) fn usage(row: &TranscriptRow) -> Tokens {
    let number = |name| row.number(&["message", "usage", name]);
    Tokens {
        input: number("input_tokens"),
        cache_creation: number("cache_creation_input_tokens"),
        cache_read: number("cache_read_input_tokens"),
        output: number("output_tokens"),
    }
}

#[cfg(test)]
mod row_tests {
    use super::*;

    #[test]
    fn lines_are_those_of_a_split() {
        for text in ["", "\n", "a", "a\n", "\na\n\nbc"] {
            let expected: Vec<_> = text.as_bytes().split(|byte| *byte == b'\n').collect();
            assert_eq!(lines(text.as_bytes()).collect::<Vec<_>>(), expected, "{text:?}");
        }
    }
}

#[cfg(test)]
mod activity_tests {
    use super::*;
    use serde_json::{Value, json};

    fn row(change: Value) -> Value {
        let mut row = json!({"type": "assistant", "isSidechain": false,
            "timestamp": "2026-01-01T00:00:05Z",
            "message": {"content": [{"type": "tool_use", "name": "Bash", "input": {"a": [1]}}]}});
        row.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        row
    }

    #[track_caller]
    fn check(row: &Value, expected: bool) {
        let text = format!("half a row\"}}\n{row}\n");
        let lines = text.as_bytes().split(|byte| *byte == b'\n');
        let at = "2026-01-01T00:00:05Z".parse().unwrap();
        assert_eq!(since(at, lines), expected, "{row}");
    }

    #[test]
    fn a_tool_call_of_the_conversation_shows_it_at_work() {
        check(&row(json!({})), true);
        check(&row(json!({"timestamp": "2026-01-01T00:00:06Z"})), true);
        let two = json!([{"type": "text", "text": "x"}, {"type": "tool_use", "name": "x"}]);
        check(&row(json!({"message": {"content": two}})), true);
    }

    #[test]
    fn the_last_tool_without_a_result_is_what_goes_on() {
        let call = |id: &str, command: &str| {
            row(json!({"message": {"content": [
                {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}]}}))
        };
        let result = |id: &str| {
            json!({"type": "user", "timestamp": "2026-01-01T00:00:09Z", "message": {"content": [
                {"type": "tool_result", "tool_use_id": id, "content": "\"tool_use\""}]}})
        };
        let side = row(json!({"isSidechain": true, "message": {"content": [
            {"type": "tool_use", "id": "s", "name": "Read", "input": {}}]}}));
        let said = json!({"type": "assistant", "message": {"content": [{"type": "text"}]}});
        let seen = |rows: &[Value]| {
            let text = rows.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
            let doing = doing(text.as_bytes().split(|byte| *byte == b'\n'))?;
            assert_eq!(doing.at.unwrap().to_string(), "2026-01-01T00:00:05Z");
            Some((doing.tool, doing.about, doing.goes_on))
        };
        let found = |about: &str, goes_on| Some(("Bash".to_owned(), about.to_owned(), goes_on));
        assert_eq!(seen(&[]), None);
        assert_eq!(seen(&[call("1", "make"), side.clone()]), found("make", true));
        assert_eq!(seen(&[call("1", "make"), result("1"), said]), found("make", false));
        let two = [call("1", "make"), call("2", "ls"), result("2"), result("1")];
        assert_eq!(seen(&two), found("ls", false));
        assert_eq!(seen(&two[..2]), found("ls", true));
    }

    #[test]
    fn whatever_else_a_row_is_does_not() {
        let quote = row(json!({})).to_string();
        for change in [
            json!({"timestamp": "2026-01-01T00:00:04Z"}),
            json!({"isSidechain": true}),
            json!({"type": "user"}),
            json!({"type": "progress"}),
            json!({"message": {"content": [{"type": "text", "text": quote}]}}),
            json!({"message": {"content": quote}}),
            json!({"message": {"content": [], "stop_reason": "tool_use"}}),
            json!({"timestamp": null}),
        ] {
            check(&row(change), false);
        }
        let result = json!([{"type": "tool_result", "tool_use_id": "t", "content": quote}]);
        check(&row(json!({"type": "user", "message": {"content": result}})), false);
    }
}

#[cfg(test)]
mod tokens_tests {
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
        let long = format!("{}\n", "x".repeat(stream::LONGEST + 10));
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
        let padding = " ".repeat(stream::LONGEST + 1 - report.len());
        let mut usage = Usage::default();
        feed(&mut usage, at(0), &[&padding, report.trim_end(), "\n"]);
        assert_eq!(usage.tokens.input, 1);
        let mut usage = Usage::default();
        feed(&mut usage, at(0), &[&padding, " ", report.trim_end(), "\n"]);
        assert_eq!(usage.tokens.input, 0);
        let mut usage = Usage::default();
        feed(&mut usage, at(0), &[&" ".repeat(stream::LONGEST + 1), &report]);
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
