//! What the rows of a transcript say that no event does: a command that waits, a turn that was cut.

use crate::state::PauseCause;
use jiff::Timestamp;
use serde::Deserialize;

/// One row of a transcript: the fields that tell something, and the whole of its text.
#[derive(Debug, Clone)]
pub struct Row<'a> {
    known: Known,
    text: &'a str,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Known {
    #[serde(rename = "type")]
    kind: String,
    operation: String,
    content: Option<serde_json::Value>,
    timestamp: Option<Timestamp>,
}

impl<'a> Row<'a> {
    /// Reads one line; none if it is not a whole row (the first line of a tail seldom is).
    pub fn parse(line: &'a [u8]) -> Option<Row<'a>> {
        let text = std::str::from_utf8(line).ok()?;
        let known = serde_json::from_str(text).ok()?;
        Some(Row { known, text })
    }

    fn content(&self) -> &str {
        self.known.content.as_ref().and_then(|content| content.as_str()).unwrap_or_default()
    }
}

/// True when the queue of typed input holds a `/ralph…` command, by whatever prefix.
pub fn command_waits<'a>(rows: impl Iterator<Item = Row<'a>>) -> bool {
    let mut queue: Vec<String> = Vec::new();
    for row in rows.filter(|row| row.known.kind == "queue-operation") {
        match row.known.operation.as_str() {
            "enqueue" => queue.push(row.content().to_owned()),
            "dequeue" if !queue.is_empty() => drop(queue.remove(0)),
            "remove" => match queue.iter().position(|waiting| waiting == row.content()) {
                Some(at) => drop(queue.remove(at)),
                None => drop(queue.pop()),
            },
            "popAll" => queue.clear(),
            _ => {}
        }
    }
    queue.iter().any(|waiting| is_our_command(waiting))
}

/// True for `/ralph`, `/ralph-…` and the same with a plugin's prefix, with or without arguments.
pub fn is_our_command(prompt: &str) -> bool {
    let name =
        prompt.trim_start().strip_prefix('/').and_then(|rest| rest.split_whitespace().next());
    name.is_some_and(|name| {
        let name = name.strip_prefix("ralph:").unwrap_or(name);
        name == "ralph" || name.starts_with("ralph-")
    })
}

/// How the turn was cut, by the latest mark that is not older than `since`.
pub fn cut_by<'a>(
    rows: impl DoubleEndedIterator<Item = Row<'a>>,
    since: Option<Timestamp>,
) -> Option<PauseCause> {
    let in_time = |row: &Row<'_>| match (row.known.timestamp, since) {
        (Some(at), Some(since)) => at >= since,
        _ => true,
    };
    rows.rev().filter(in_time).find_map(|row| mark(&row))
}

fn mark(row: &Row<'_>) -> Option<PauseCause> {
    // The model may quote any of these marks; only rows that the client writes count.
    if row.known.kind == "assistant" {
        return None;
    }
    const MARKS: [(&str, PauseCause); 3] = [
        ("[Request interrupted by user", PauseCause::Interrupted),
        ("A hook blocked the turn from ending", PauseCause::HostCapped),
        ("max_turns_reached", PauseCause::HostBudget),
    ];
    MARKS.into_iter().find(|(text, _)| row.text.contains(text)).map(|(_, cause)| cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<Row<'_>> {
        text.lines().filter_map(|line| Row::parse(line.as_bytes())).collect()
    }

    fn queue(operations: &[(&str, &str)]) -> String {
        operations
            .iter()
            .map(|(operation, content)| {
                serde_json::json!({"type": "queue-operation", "operation": operation, "content": content})
                    .to_string()
            })
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[track_caller]
    fn check(operations: &[(&str, &str)], expected: bool) {
        assert_eq!(command_waits(rows(&queue(operations)).into_iter()), expected, "{operations:?}");
    }

    #[test]
    fn a_command_waits_until_it_is_taken_out_of_the_queue() {
        check(&[("enqueue", "/ralph-cancel")], true);
        check(&[("enqueue", "/ralph:ralph-cancel now")], true);
        check(&[("enqueue", "/ralph-cancel"), ("dequeue", "")], false);
        check(&[("enqueue", "hello"), ("enqueue", "/ralph"), ("dequeue", "")], true);
        check(&[("enqueue", "hello"), ("enqueue", "/ralph"), ("remove", "/ralph")], false);
        check(&[("enqueue", "/ralph"), ("popAll", "")], false);
        check(
            &[("enqueue", "ralph cancel"), ("enqueue", "/ralphael"), ("enqueue", "/clear")],
            false,
        );
    }

    #[test]
    fn the_latest_mark_of_this_turn_says_how_it_was_cut() {
        let text = r#"{"type":"user","timestamp":"2026-01-01T00:00:05Z","message":{"content":"[Request interrupted by user]"}}
{"type":"system","timestamp":"2026-01-01T00:00:09Z","content":"A hook blocked the turn from ending 9 consecutive times"}
{"type":"assistant","timestamp":"2026-01-01T00:00:10Z","message":{"content":"max_turns_reached"}}"#;
        let at = |time: &str| Some(time.parse().unwrap());
        let cut = |since| cut_by(rows(text).into_iter(), since);
        assert_eq!(cut(None), Some(PauseCause::HostCapped));
        assert_eq!(cut(at("2026-01-01T00:00:09Z")), Some(PauseCause::HostCapped));
        assert_eq!(cut(at("2026-01-01T00:00:10Z")), None, "older marks belong to older turns");
    }

    #[test]
    fn rows_that_are_no_json_are_skipped() {
        assert!(rows("half a row\"}\n\u{7}\n7\n").is_empty());
    }
}
