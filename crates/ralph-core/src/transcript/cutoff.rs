//! What the user typed, what the model scheduled, and how a turn was cut: facts that no event reports.

use crate::protocol::registration::COMMANDS;
use crate::state::PauseCause;
use crate::transcript::row::{self, TranscriptRow};
use jiff::Timestamp;
use serde_json::Value;

/// Parses one line. Most rows are large and irrelevant, so only lines with one of these markers are
/// parsed.
pub fn telling(line: &[u8]) -> Option<TranscriptRow> {
    const TELLING: [&[u8]; 5] = [
        QUEUE_ROW,
        b"[Request interrupted by user",
        b"A hook blocked the turn from ending",
        b"max_turns_reached",
        b"isApiErrorMessage",
    ];
    let tells = TELLING.iter().any(|word| memchr::memmem::find(line, word).is_some());
    tells.then(|| TranscriptRow::parse(line)).flatten()
}

/// The texts of a message that the client wrote in the user's name. Tool results are excluded: they
/// may quote anything.
fn texts(row: &TranscriptRow) -> impl Iterator<Item = &str> {
    const CONTENT: [&str; 2] = ["message", "content"];
    let plain = row.at(&CONTENT).and_then(Value::as_str);
    let blocks = row.items(&CONTENT).filter_map(|block| block.get("text")?.as_str());
    plain.into_iter().chain(blocks)
}

/// True if the text occurs in the rows; one pass.
pub fn holds(rows: &[u8], text: &str) -> bool {
    memchr::memmem::find(rows, text.as_bytes()).is_some()
}

/// The mark of a row about the queue of typed input.
const QUEUE_ROW: &[u8] = b"queue-operation";

/// False if none of the rows is about the queue of typed input, as at nearly every stop; one pass.
pub fn may_hold_queue_rows(text: &[u8]) -> bool {
    memchr::memmem::find(text, QUEUE_ROW).is_some()
}

/// True if the queue of typed input holds a `/ralph…` command, with any prefix, that the model has
/// not scheduled. Old clients also hold back `ralph cancel`, typed as a prompt. A command that only
/// shows something does not end the turn.
pub fn command_waits(rows: impl Iterator<Item = TranscriptRow>, scheduled: &[String]) -> bool {
    queue(rows).iter().map(content).any(|waiting| {
        let ends_the_turn = match TypedRequest::of_line(waiting) {
            Some(request) => request.needs_the_turn(),
            None => is_our_command(waiting),
        };
        ends_the_turn && !is_scheduled(scheduled, waiting)
    })
}

/// The requests in the queue of typed input that were put there at or after `since`, each with its
/// text. A row without a time is not the client's.
pub fn requests(
    rows: impl Iterator<Item = TranscriptRow>,
    since: Timestamp,
) -> Vec<(TypedRequest, String)> {
    requests_of(&queue(rows), since)
}

fn requests_of(rows: &[TranscriptRow], since: Timestamp) -> Vec<(TypedRequest, String)> {
    let in_time = rows.iter().filter(|row| row.time().is_some_and(|at| at >= since));
    let texts = in_time.map(content);
    texts.filter_map(|text| Some((TypedRequest::of_line(text)?, text.to_owned()))).collect()
}

/// The requests that were typed at or after `since` and that the client gave to the model within the
/// turn, without asking a hook: what a client without [`ClientFeature::PromptInTurn`] does with a
/// prompt typed while a tool runs.
///
/// [`ClientFeature::PromptInTurn`]: crate::protocol::client_version::ClientFeature::PromptInTurn
pub fn delivered(
    rows: impl Iterator<Item = TranscriptRow>,
    since: Timestamp,
) -> Vec<(TypedRequest, String)> {
    requests_of(&replay(rows).removed, since)
}

fn content(row: &TranscriptRow) -> &str {
    row.text(&["content"])
}

/// True if the queue is not empty: it may hold a typed prompt or a background worker's report.
pub fn anything_waits(rows: impl Iterator<Item = TranscriptRow>) -> bool {
    !queue(rows).is_empty()
}

fn queue(rows: impl Iterator<Item = TranscriptRow>) -> Vec<TranscriptRow> {
    replay(rows).waiting
}

/// The rows of the entries that still wait, and of those that were removed: the client gives a prompt
/// to the model in mid-turn by a `remove`, and makes it a turn of its own by a `dequeue`.
#[derive(Default)]
struct TypedQueue {
    waiting: Vec<TranscriptRow>,
    removed: Vec<TranscriptRow>,
}

/// Replays the queue operations.
fn replay(rows: impl Iterator<Item = TranscriptRow>) -> TypedQueue {
    let mut queue = TypedQueue::default();
    for row in rows.filter(|row| row.kind() == "queue-operation") {
        let waiting = &mut queue.waiting;
        match row.text(&["operation"]) {
            "enqueue" => waiting.push(row),
            "dequeue" if !waiting.is_empty() => drop(waiting.remove(0)),
            "remove" if !waiting.is_empty() => {
                let at = removed_at(waiting, content(&row));
                queue.removed.push(waiting.remove(at));
            }
            "popAll" => waiting.clear(),
            _ => {}
        }
    }
    queue
}

/// Which entry of a queue that is not empty a `remove` means. Without a text (2.1.139, 2.1.200) it is
/// a prompt: a command waits for the end of the turn.
fn removed_at(waiting: &[TranscriptRow], text: &str) -> usize {
    let found = match text {
        "" => waiting.iter().position(|row| !content(row).trim_start().starts_with('/')),
        text => waiting.iter().position(|row| content(row) == text),
    };
    found.unwrap_or(waiting.len() - 1)
}

/// True for `/ralph`, `/ralph-…`, `/ralplan` and the other [`COMMANDS`], with or without the
/// plugin's prefix and arguments.
pub fn is_our_command(prompt: &str) -> bool {
    let name =
        prompt.trim_start().strip_prefix('/').and_then(|rest| rest.split_whitespace().next());
    name.map(without_prefix)
        .is_some_and(|name| COMMANDS.contains(&name) || name.starts_with("ralph-"))
}

/// A command's name without the plugin's prefix.
pub fn without_prefix(name: &str) -> &str {
    name.strip_prefix("ralph:").unwrap_or(name)
}

/// How the turn was cut, from the latest mark between `since` and `now`. A mark without a time is
/// not the client's. A turn that the client ended does not also count as interrupted.
pub fn cut_by(
    rows: impl DoubleEndedIterator<Item = TranscriptRow>,
    since: Option<Timestamp>,
    now: Timestamp,
) -> Option<PauseCause> {
    let in_time = |row: &TranscriptRow| {
        row.time().is_some_and(|at| at <= now && since.is_none_or(|since| at >= since))
    };
    let marks: Vec<PauseCause> = rows.rev().filter(in_time).filter_map(|row| mark(&row)).collect();
    marks.iter().find(|cause| **cause == PauseCause::HostCapped).or(marks.first()).cloned()
}

/// The exact texts of an interruption.
const INTERRUPTIONS: [&str; 2] =
    ["[Request interrupted by user]", "[Request interrupted by user for tool use]"];

/// True if a row has everything that the client writes for an interruption. The model can write to
/// the transcript file: this only rejects echoed text, and no rule depends on such a row alone.
fn is_interruption(row: &TranscriptRow) -> bool {
    let named = |name: &str| !row.text(&[name]).is_empty();
    let texts: Vec<&str> = texts(row).collect();
    let blocks = row.items(&["message", "content"]).count();
    named("uuid")
        && named("parentUuid")
        && named("sessionId")
        && row.text(&["message", "role"]) == "user"
        && !row.is("isSidechain")
        && blocks == 1
        && texts.len() == 1
        && INTERRUPTIONS.contains(&texts[0])
}

/// Who gave a prompt, by the client's record of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Giver {
    User,
    /// A mod of this name.
    Mod(String),
}

/// Who gave the prompt of this id; `None` if no row records it. A blocked command has a row too, with its answer.
pub fn giver(rows: &[u8], prompt_id: &str) -> Option<Giver> {
    let rows =
        row::lines(rows).filter(|line| holds(line, prompt_id)).filter_map(TranscriptRow::parse);
    let mut recorded = rows
        .filter(|row| row.kind() == "user" && row.text(&["promptId"]) == prompt_id)
        .map(|row| match row.text(&["origin", "kind"]) {
            "plugin" => Giver::Mod(row.text(&["origin", "name"]).to_owned()),
            _ => Giver::User,
        })
        .peekable();
    recorded.peek()?;
    Some(recorded.find(|giver| *giver != Giver::User).unwrap_or(Giver::User))
}

/// The cause in a row that the client itself writes at the end of a turn.
fn mark(row: &TranscriptRow) -> Option<PauseCause> {
    match row.kind() {
        "user" => is_interruption(row).then_some(PauseCause::Interrupted),
        "system" => row
            .text(&["content"])
            .starts_with("A hook blocked the turn from ending")
            .then_some(PauseCause::HostCapped),
        "attachment" => (row.text(&["attachment", "type"]) == "max_turns_reached")
            .then_some(PauseCause::HostBudget),
        "assistant" if row.is("isApiErrorMessage") => Some(api_error(row.text(&["error"]))),
        _ => None,
    }
}

/// The pause cause for a kind of API error, as named by the client.
pub fn api_error(kind: &str) -> PauseCause {
    match kind {
        "rate_limit" | "billing_error" => PauseCause::RateLimited,
        _ => PauseCause::Crashed,
    }
}

// The requests that the user types into the session: `/ralph-cancel`, `/ralph status`, or
// `ralph pause` as a prompt.

/// A typed line that asks for something other than a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypedRequest {
    Cancel,
    Pause,
    Resume,
    Trust,
    Share,
    /// With the text behind the word: [`steer`].
    Steer,
    Status,
    Accept,
    Help,
}

/// The text of `/ralph steer TEXT`, from the command's arguments.
pub fn steer(arguments: &str) -> &str {
    arguments.trim().strip_prefix("steer").unwrap_or_default().trim().trim_matches('"')
}

impl TypedRequest {
    /// Reads a whole line, as the client puts it into its queue.
    pub fn of_line(line: &str) -> Option<TypedRequest> {
        let line = line.trim();
        match line {
            "ralph cancel" => return Some(TypedRequest::Cancel),
            "ralph pause" => return Some(TypedRequest::Pause),
            _ => {}
        }
        let command = line.strip_prefix('/')?;
        let (name, arguments) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        TypedRequest::of_command(name, arguments)
    }

    /// Reads a slash command, with or without the plugin's prefix. A word counts only if it is the
    /// whole argument: `/ralph "help"` is a task. `steer` takes the rest as its text.
    pub fn of_command(name: &str, arguments: &str) -> Option<TypedRequest> {
        match (without_prefix(name), arguments.trim()) {
            ("ralph-cancel", _) | ("ralph", "cancel" | "stop") => Some(TypedRequest::Cancel),
            ("ralph-pause", _) | ("ralph", "pause") => Some(TypedRequest::Pause),
            ("ralph", "resume") => Some(TypedRequest::Resume),
            ("ralph", "trust") => Some(TypedRequest::Trust),
            ("ralph", "share") => Some(TypedRequest::Share),
            ("ralph", words) if words.split_whitespace().next() == Some("steer") => {
                Some(TypedRequest::Steer)
            }
            ("ralph", "status") => Some(TypedRequest::Status),
            ("ralph", "accept") => Some(TypedRequest::Accept),
            ("ralph", "help") => Some(TypedRequest::Help),
            _ => None,
        }
    }

    /// True if the loop's turn must end before the request can be carried out.
    pub fn needs_the_turn(self) -> bool {
        !matches!(self, TypedRequest::Status | TypedRequest::Help)
    }
}

// Prompts that the model scheduled: when they are due, the client submits them as if they were
// typed.
//
// Measured with 2.1.328: a due prompt causes a UserPromptSubmit event, and for a slash command
// also a UserPromptExpansion event, identical to those of a typed prompt. So scheduled prompts are
// remembered for the life of the loop. The client's list alone is not enough, because a prompt may
// leave it before it arrives.

/// Limit on different prompts; beyond it every prompt counts as scheduled.
const MOST_SCHEDULED: usize = 64;

/// Longer prompts are compared by this many characters.
const LONGEST_PROMPT: usize = 500;

/// Matches every prompt.
const ANY: &str = "*";

/// True for a tool that schedules the prompt in its input.
pub fn schedules(tool: &str) -> bool {
    let tool = tool.to_ascii_lowercase();
    ["cron", "schedule", "wakeup", "trigger", "remind"].iter().any(|word| tool.contains(word))
}

/// Remembers prompts; returns true if one of them is new.
pub fn remember<'a>(known: &mut Vec<String>, prompts: impl IntoIterator<Item = &'a str>) -> bool {
    let before = known.len();
    for prompt in prompts {
        let prompt = normal(prompt);
        if prompt.is_empty() || known.iter().any(|one| *one == prompt || one == ANY) {
            continue;
        }
        known.push(if known.len() < MOST_SCHEDULED { prompt } else { ANY.to_owned() });
    }
    known.len() > before
}

/// True if a prompt is one of the known ones, alone or together with others that were due at the
/// same time.
pub fn is_scheduled(known: &[String], prompt: &str) -> bool {
    let whole = normal(prompt);
    known.iter().any(|one| {
        one == ANY
            || *one == whole
            || prompt.trim().split('\n').any(|line| normal(line) == *one)
            || prompt.contains(&format!("\n{one}\n"))
    })
}

fn normal(prompt: &str) -> String {
    prompt.trim().chars().take(LONGEST_PROMPT).collect::<String>().trim_end().to_owned()
}

/// True if the client's transcript shows that this prompt was due since the given time.
pub fn was_due(
    rows: impl DoubleEndedIterator<Item = TranscriptRow>,
    prompt: &str,
    since: Timestamp,
) -> bool {
    let fires = |row: &TranscriptRow| row.text(&["subtype"]) == "scheduled_task_fire";
    let lately = |row: &TranscriptRow| row.time().is_none_or(|at| at >= since);
    rows.rev()
        .filter(|row| fires(row) && lately(row))
        .any(|row| is_scheduled(&[normal(row.text(&["prompt"]))], prompt))
}

/// What the user reads about a prompt that Ralph did not obey.
pub fn scheduled_refusal(prompt: &str) -> String {
    let first = prompt.trim().lines().next().unwrap_or_default();
    let shown: String = first.chars().take(60).collect();
    format!(
        "`{shown}` is a prompt that the model has scheduled, so Ralph does not take it for yours. If you typed \
         it, give the command in another terminal: `ralph cancel`, `ralph pause` or `ralph resume`"
    )
}

#[cfg(test)]
mod cutoff_tests {
    use super::*;

    fn rows(text: &str) -> Vec<TranscriptRow> {
        text.lines().filter_map(|line| telling(line.as_bytes())).collect()
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
        assert_eq!(
            command_waits(rows(&queue(operations)).into_iter(), &[]),
            expected,
            "{operations:?}"
        );
    }

    #[test]
    fn a_command_waits_until_it_is_taken_out_of_the_queue() {
        check(&[("enqueue", "/ralph-cancel")], true);
        check(&[("enqueue", "/ralph:ralph-cancel now")], true);
        check(&[("enqueue", "/ralph-cancel"), ("dequeue", "")], false);
        check(&[("enqueue", "hello"), ("enqueue", "/ralph"), ("dequeue", "")], true);
        check(&[("enqueue", "hello"), ("enqueue", "/ralph"), ("remove", "/ralph")], false);
        check(&[("enqueue", "hello"), ("enqueue", "/ralph"), ("remove", "hello")], true);
        check(&[("enqueue", "hello"), ("enqueue", "/ralph"), ("remove", "other")], false);
        check(&[("enqueue", "/ralph"), ("popAll", "")], false);
        check(&[("enqueue", "/ralph"), ("other", "/ralph")], true);
        check(&[("enqueue", "ralph cancel")], true);
        check(
            &[("enqueue", "ralph cancel it"), ("enqueue", "/ralphael"), ("enqueue", "/clear")],
            false,
        );
        check(&[("enqueue", "/ralph status"), ("enqueue", "/ralph help")], false);
    }

    #[test]
    fn a_request_counts_while_it_waits_and_only_if_it_is_of_this_time() {
        let row = |change: Value| {
            let mut row = serde_json::json!({"type": "queue-operation", "operation": "enqueue",
                "timestamp": "2026-01-01T00:00:05Z", "content": "/ralph-cancel"});
            row.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            row.to_string()
        };
        let found = |text: &str| {
            let since = "2026-01-01T00:00:05Z".parse().unwrap();
            let found = requests(rows(text).into_iter(), since).into_iter();
            found.map(|(one, _)| one).collect::<Vec<_>>()
        };
        let nothing: Vec<TypedRequest> = Vec::new();
        let typed = row(serde_json::json!({}));
        assert_eq!(found(&typed), [TypedRequest::Cancel]);
        let paused = row(serde_json::json!({"content": "ralph pause"}));
        assert_eq!(
            found(&format!("{paused}\n{typed}")),
            [TypedRequest::Pause, TypedRequest::Cancel]
        );
        for (what, text) in [
            ("dequeued", format!("{typed}\n{}", row(serde_json::json!({"operation": "dequeue"})))),
            ("removed", format!("{typed}\n{}", row(serde_json::json!({"operation": "remove"})))),
            ("popped", format!("{typed}\n{}", row(serde_json::json!({"operation": "popAll"})))),
            ("older", row(serde_json::json!({"timestamp": "2026-01-01T00:00:04Z"}))),
            ("without a time", row(serde_json::json!({"timestamp": null}))),
            ("of the model", row(serde_json::json!({"type": "assistant"}))),
            (
                "quoted in a result",
                serde_json::json!({"type": "user", "timestamp": "2026-01-01T00:00:06Z",
                "message": {"content": [{"type": "tool_result", "content": typed.clone()}]}})
                .to_string(),
            ),
            ("another command", row(serde_json::json!({"content": "/ralph \"cancel\""}))),
        ] {
            assert_eq!(found(&text), nothing, "{what}");
        }
    }

    #[test]
    fn a_prompt_that_left_the_queue_within_the_turn_was_given_to_the_model() {
        let row = |operation: &str, content: Option<&str>| {
            serde_json::json!({"type": "queue-operation", "operation": operation, "content": content,
                "timestamp": "2026-01-01T00:00:05Z"})
            .to_string()
        };
        let found = |operations: &[(&str, Option<&str>)], since: &str| {
            let text: Vec<String> =
                operations.iter().map(|(name, content)| row(name, *content)).collect();
            let found = delivered(rows(&text.join("\n")).into_iter(), since.parse().unwrap());
            found.into_iter().map(|(one, _)| one).collect::<Vec<_>>()
        };
        let now = "2026-01-01T00:00:05Z";
        let nothing: Vec<TypedRequest> = Vec::new();
        let typed = ("enqueue", Some("ralph cancel"));
        // 2.1.139 and 2.1.200 write no text beside the `remove`.
        assert_eq!(found(&[typed, ("remove", None)], now), [TypedRequest::Cancel]);
        assert_eq!(found(&[typed, ("remove", Some("ralph cancel"))], now), [TypedRequest::Cancel]);
        let behind = [("enqueue", Some("/hello")), typed, ("remove", None)];
        assert_eq!(found(&behind, now), [TypedRequest::Cancel]);
        assert_eq!(found(&[typed], now), nothing);
        assert_eq!(found(&[typed, ("dequeue", None)], now), nothing);
        assert_eq!(found(&[typed, ("popAll", None)], now), nothing);
        assert_eq!(found(&[typed, ("remove", None)], "2026-01-01T00:00:06Z"), nothing);
        let other = [("enqueue", Some("ralph cancel it")), ("remove", None)];
        assert_eq!(found(&other, now), nothing);
    }

    #[test]
    fn whatever_was_put_into_the_queue_waits_until_it_is_taken_out() {
        let waits =
            |operations: &[(&str, &str)]| anything_waits(rows(&queue(operations)).into_iter());
        assert!(waits(&[("enqueue", "<task-notification>")]));
        assert!(!waits(&[("enqueue", "<task-notification>"), ("dequeue", "")]));
        assert!(!waits(&[("dequeue", "")]));
        let row = queue(&[("enqueue", "a")]);
        assert!(may_hold_queue_rows(row.as_bytes()));
        assert!(!may_hold_queue_rows(b"{}"));
    }

    #[track_caller]
    fn check_mark(row: &str, expected: Option<PauseCause>) {
        let mut row: Value = serde_json::from_str(row).unwrap();
        row["timestamp"] = "2026-01-01T00:00:00Z".into();
        let row = row.to_string();
        let now = "2026-01-01T00:00:01Z".parse().unwrap();
        assert_eq!(cut_by(rows(&row).into_iter(), None, now), expected, "{row}");
    }

    #[test]
    fn each_mark_of_the_client_says_how_the_turn_was_cut() {
        check_mark(
            r#"{"type":"user","uuid":"u","parentUuid":"p","sessionId":"s","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]}}"#,
            Some(PauseCause::Interrupted),
        );
        check_mark(
            r#"{"type":"system","subtype":"informational","content":"A hook blocked the turn from ending 3 consecutive times—overriding"}"#,
            Some(PauseCause::HostCapped),
        );
        check_mark(
            r#"{"type":"attachment","attachment":{"type":"max_turns_reached","maxTurns":2}}"#,
            Some(PauseCause::HostBudget),
        );
        check_mark(
            r#"{"type":"assistant","isApiErrorMessage":true,"error":"rate_limit"}"#,
            Some(PauseCause::RateLimited),
        );
        check_mark(
            r#"{"type":"assistant","isApiErrorMessage":true,"error":"server_error"}"#,
            Some(PauseCause::Crashed),
        );
    }

    #[test]
    fn a_mark_that_someone_quotes_is_none() {
        let quote =
            "[Request interrupted by user] A hook blocked the turn from ending max_turns_reached";
        for row in [
            serde_json::json!({"type": "assistant", "message": {"content": quote}}),
            serde_json::json!({"type": "user", "message": {"content": [{"type": "tool_result", "content": quote}]}}),
            serde_json::json!({"type": "user", "message": {"content": format!("it said {quote}")}}),
            serde_json::json!({"type": "user", "message": {"content": "[Request interrupted by user]"}}),
            serde_json::json!({"type": "user", "uuid": "u", "parentUuid": "p", "sessionId": "s",
                "message": {"role": "user", "content": [{"type": "text", "text": "[Request interrupted by user] x"}]}}),
            serde_json::json!({"type": "assistant", "isApiErrorMessage": false, "error": "rate_limit"}),
            serde_json::json!({"type": "attachment", "attachment": {"type": "file"}, "x": quote}),
            serde_json::json!({"type": "api-request-blob", "content": quote}),
        ] {
            check_mark(&row.to_string(), None);
        }
    }

    #[test]
    fn marks_older_than_the_turn_belong_to_older_turns() {
        let row = r#"{"type":"user","timestamp":"2026-01-01T00:00:05Z","uuid":"u","parentUuid":"p","sessionId":"s","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]}}"#;
        let at = |since: &str, now: &str| {
            cut_by(rows(row).into_iter(), Some(since.parse().unwrap()), now.parse().unwrap())
        };
        let cut = |since: &str| at(since, "2026-01-01T00:00:09Z");
        assert_eq!(at("2026-01-01T00:00:00Z", "2026-01-01T00:00:04Z"), None, "from the future");
        assert_eq!(cut("2026-01-01T00:00:05Z"), Some(PauseCause::Interrupted));
        assert_eq!(cut("2026-01-01T00:00:06Z"), None);
    }

    #[test]
    fn rows_that_are_no_json_are_skipped() {
        assert!(rows("half a queue-operation row\"}\n\u{7}\n7\n").is_empty());
    }
}

#[cfg(test)]
mod typed_request_tests {
    use super::*;

    #[test]
    fn a_word_counts_only_as_the_whole_line() {
        use TypedRequest::{Accept, Cancel, Help, Pause, Resume, Share, Status, Steer, Trust};
        for (line, expected) in [
            ("/ralph-cancel", Some(Cancel)),
            (" /ralph:ralph-cancel now\n", Some(Cancel)),
            ("/ralph  cancel ", Some(Cancel)),
            ("/ralph:ralph stop", Some(Cancel)),
            ("ralph cancel\n", Some(Cancel)),
            ("/ralph-pause", Some(Pause)),
            ("/ralph pause", Some(Pause)),
            ("ralph pause", Some(Pause)),
            ("/ralph resume", Some(Resume)),
            ("/ralph trust", Some(Trust)),
            ("/ralph share", Some(Share)),
            ("/ralph:ralph steer use tabs", Some(Steer)),
            ("/ralph steer", Some(Steer)),
            ("/ralph steering wheel", None),
            ("/ralph \"steer the ship\"", None),
            ("/ralph trust me", None),
            ("/ralph status", Some(Status)),
            ("/ralph accept", Some(Accept)),
            ("/ralph help", Some(Help)),
            ("/ralph", None),
            ("/ralph \"help\"", None),
            ("/ralph 'cancel'", None),
            ("/ralph help me", None),
            ("/ralph cancel --max-iterations 3", None),
            ("/other:ralph-cancel", None),
            ("/ralplan cancel", None),
            ("please ralph cancel", None),
            ("Ralph Cancel", None),
            ("ralph status", None),
        ] {
            assert_eq!(TypedRequest::of_line(line), expected, "{line:?}");
        }
    }

    #[test]
    fn the_text_of_a_steer_is_what_follows_the_word() {
        for (arguments, text) in
            [("steer use tabs", "use tabs"), (" steer  \"use tabs\"\n", "use tabs"), ("steer", "")]
        {
            assert_eq!(steer(arguments), text);
        }
    }
}

#[cfg(test)]
mod scheduled_tests {
    use super::*;

    fn known(prompts: &[&str]) -> Vec<String> {
        let mut known = Vec::new();
        remember(&mut known, prompts.iter().copied());
        known
    }

    #[test]
    fn a_scheduled_prompt_is_known_again_alone_and_among_others() {
        let known = known(&["ralph cancel", "/ralph-cancel now ", "two\nlines"]);
        for prompt in [
            "ralph cancel",
            " ralph cancel\n",
            "/ralph-cancel now",
            "first\nralph cancel",
            "two\nlines",
            "a\ntwo\nlines\nb",
        ] {
            assert!(is_scheduled(&known, prompt), "{prompt:?}");
        }
        for prompt in ["", "ralph", "ralph cancel it", "please ralph cancel", "/ralph-cancel"] {
            assert!(!is_scheduled(&known, prompt), "{prompt:?}");
        }
    }

    #[test]
    fn what_is_known_is_kept_once_and_beyond_a_limit_everything_is_in_doubt() {
        let mut all = known(&["a"]);
        assert!(!remember(&mut all, ["a", " a ", ""]));
        let many: Vec<String> = (0..200).map(|n| format!("prompt {n}")).collect();
        assert!(remember(&mut all, many.iter().map(String::as_str)));
        assert_eq!(all.len(), MOST_SCHEDULED + 1);
        assert!(is_scheduled(&all, "anything"));
        assert!(!remember(&mut all, ["more"]));
    }

    #[test]
    fn tools_that_schedule_are_known_by_their_names() {
        for tool in
            ["CronCreate", "ScheduleWakeup", "RemoteTrigger", "mcp__x__create_scheduled_task"]
        {
            assert!(schedules(tool), "{tool}");
        }
        for tool in ["Bash", "Agent", "Write", "Skill", "TaskCreate"] {
            assert!(!schedules(tool), "{tool}");
        }
    }

    #[test]
    fn the_client_says_itself_what_was_due() {
        let row = br#"{"type":"system","subtype":"scheduled_task_fire","timestamp":"2026-01-01T00:00:05Z","prompt":"ralph cancel"}"#;
        let was = |prompt: &str, since: &str| {
            was_due(
                [TranscriptRow::parse(row).unwrap()].into_iter(),
                prompt,
                since.parse().unwrap(),
            )
        };
        assert!(was("ralph cancel", "2026-01-01T00:00:00Z"));
        assert!(!was("ralph pause", "2026-01-01T00:00:00Z"));
        assert!(!was("ralph cancel", "2026-01-01T00:00:06Z"));
    }

    #[test]
    fn a_refusal_names_the_first_line_of_the_prompt() {
        let check = |prompt: &str, shown: &str| {
            let text = format!(
                "`{shown}` is a prompt that the model has scheduled, so Ralph does not take it for \
                 yours. If you typed it, give the command in another terminal: `ralph cancel`, \
                 `ralph pause` or `ralph resume`"
            );
            assert_eq!(scheduled_refusal(prompt), text);
        };
        check("\n /ralph-cancel\nnow", "/ralph-cancel");
        check(&"x".repeat(61), &"x".repeat(60));
        check("", "");
    }

    #[test]
    fn a_prompt_was_given_by_the_user_unless_a_record_names_a_mod() {
        let row = |id: &str, origin: &str| {
            format!(r#"{{"type":"user","promptId":"{id}","message":{{}}{origin}}}"#)
        };
        let by_mod = r#","origin":{"kind":"plugin","name":"owl"}"#;
        let by_user = r#","origin":{"kind":"user","name":"me"}"#;
        let check = |rows: &[String], expected: Option<Giver>| {
            assert_eq!(giver(rows.join("\n").as_bytes(), "p-1"), expected, "{rows:?}");
        };
        let owl = || Some(Giver::Mod("owl".to_owned()));
        check(&[], None);
        check(&[row("p-2", "")], None);
        check(&[row("p-2", by_mod), row("p-1", "")], Some(Giver::User));
        check(&[row("p-1", by_user)], Some(Giver::User));
        check(&[row("p-1", by_mod)], owl());
        check(&[row("p-1", ""), row("p-1", by_mod)], owl());
        let other_kind = row("p-1", by_mod).replace("\"user\"", "\"system\"");
        check(&[other_kind], None);
        assert!(holds(b"a p-1 b", "p-1") && !holds(b"a p-2 b", "p-1"));
    }

    #[test]
    fn a_row_is_an_interruption_only_if_it_has_all_that_the_client_writes() {
        let row = |change: Value| {
            let mut row = serde_json::json!({"type": "user", "uuid": "u", "parentUuid": "p",
                "sessionId": "s", "timestamp": "2026-01-01T00:00:05Z",
                "message": {"role": "user", "content": [
                    {"type": "text", "text": "[Request interrupted by user]"}]}});
            row.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            TranscriptRow::parse(row.to_string().as_bytes()).unwrap()
        };
        let says = |role: &str, texts: &[&str]| {
            let blocks = texts.iter().map(|text| serde_json::json!({"type": "text", "text": text}));
            let content: Vec<Value> = blocks.collect();
            serde_json::json!({"message": {"role": role, "content": content}})
        };
        let cut = "[Request interrupted by user]";
        assert!(is_interruption(&row(serde_json::json!({}))));
        let of_tool = says("user", &["[Request interrupted by user for tool use]"]);
        assert!(is_interruption(&row(of_tool)));
        for change in [
            serde_json::json!({"uuid": ""}),
            serde_json::json!({"parentUuid": null}),
            serde_json::json!({"sessionId": ""}),
            serde_json::json!({"isSidechain": true}),
            says("assistant", &[cut]),
            says("user", &[cut, cut]),
            says("user", &[]),
            says("user", &["[Request interrupted by user] they say"]),
            serde_json::json!({"message": {"role": "user", "content": [
                {"type": "text", "text": cut}, {"type": "image"}]}}),
        ] {
            assert!(!is_interruption(&row(change.clone())), "{change}");
        }
        let system = |second: u32, text: &str| {
            row(serde_json::json!({"type": "system", "content": text,
                "timestamp": format!("2026-01-01T00:00:{second:02}Z")}))
        };
        let api = |second: u32, error: &str| {
            row(serde_json::json!({"type": "assistant", "isApiErrorMessage": true, "error": error,
                "timestamp": format!("2026-01-01T00:00:{second:02}Z")}))
        };
        let check = |rows: Vec<TranscriptRow>, expected: Option<PauseCause>| {
            let at = |second| Some(format!("2026-01-01T00:00:{second}Z").parse().unwrap());
            assert_eq!(cut_by(rows.into_iter(), at("03"), at("09").unwrap()), expected);
        };
        let blocked = "A hook blocked the turn from ending too often";
        let interrupted = || row(serde_json::json!({}));
        let capped = Some(PauseCause::HostCapped);
        check(vec![interrupted()], Some(PauseCause::Interrupted));
        check(vec![system(3, blocked), interrupted()], capped.clone());
        check(vec![interrupted(), system(9, blocked)], capped);
        check(vec![interrupted(), system(6, "other")], Some(PauseCause::Interrupted));
        check(vec![system(2, blocked)], None);
        check(vec![system(10, blocked)], None);
        check(vec![interrupted(), api(6, "rate_limit")], Some(PauseCause::RateLimited));
        check(vec![api(4, "rate_limit"), interrupted()], Some(PauseCause::Interrupted));
        check(vec![api(4, "billing_error")], Some(PauseCause::RateLimited));
        check(vec![api(4, "unknown")], Some(PauseCause::Crashed));
        let full =
            serde_json::json!({"type": "attachment", "attachment": {"type": "max_turns_reached"}});
        check(vec![row(full)], Some(PauseCause::HostBudget));
        let other = serde_json::json!({"type": "attachment", "attachment": {"type": "file"}});
        check(vec![row(other)], None);
    }

    #[test]
    fn what_leaves_an_empty_queue_takes_nothing() {
        let operation = |operation: &str, content: &str| {
            let row = serde_json::json!({"type": "queue-operation", "operation": operation,
                "content": content});
            TranscriptRow::parse(row.to_string().as_bytes()).unwrap()
        };
        let left = |operations: &[(&str, &str)]| {
            let rows = operations.iter().map(|(name, content)| operation(name, content));
            let queue = replay(rows);
            (queue.waiting.len(), queue.removed.len())
        };
        let add = ("enqueue", "a");
        assert_eq!(left(&[("dequeue", ""), ("remove", ""), ("remove", "a"), add]), (1, 0));
        assert_eq!(left(&[add, ("dequeue", ""), ("dequeue", "")]), (0, 0));
        assert_eq!(left(&[add, add, ("remove", "x")]), (1, 1));
        assert_eq!(left(&[add, add, ("popAll", "")]), (0, 0));
    }
}
