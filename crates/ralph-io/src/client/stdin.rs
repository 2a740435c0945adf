//! Reads a hook's payload from standard input, in bounded memory.

use anyhow::{Context, Result, bail};
use ralph_core::protocol::event::Input;
use ralph_core::protocol::last_message;
use ralph_core::text::json_truncate::{Squeezed, Squeezer, may_have_surrogates};
use std::io::Read;
use std::ops::Range;

/// The limits within which an executable reads a payload.
#[derive(Debug, Clone, Copy)]
pub struct Appetite {
    /// The bytes kept of each string.
    pub per_string: usize,
    /// The bytes kept in total.
    pub in_all: usize,
}

#[derive(Debug)]
pub struct Payload {
    pub input: Input,
    /// The JSON document, with long strings cut.
    pub raw: Vec<u8>,
    /// Where in it the last message is, if it is long; `input` then has none.
    pub message: Option<Range<usize>>,
    /// True if a string was cut. A rule that needs a complete string must refuse then.
    pub cut: bool,
}

/// Reads one JSON document.
///
/// # Errors
/// If standard input is empty or not JSON, or a field that we read has a shape that we cannot use.
pub fn read(appetite: Appetite) -> Result<Payload> {
    parse(std::io::stdin().lock(), appetite)
}

fn parse(mut source: impl Read, appetite: Appetite) -> Result<Payload> {
    /// No pipe of the client holds more.
    const PIECE: usize = 64 << 10;
    let mut fill = |bytes: &mut Vec<u8>, most: usize| {
        let room = u64::try_from(most - bytes.len()).unwrap_or(u64::MAX);
        source.by_ref().take(room).read_to_end(bytes).context("could not read standard input")
    };
    let within = appetite.per_string;
    // On the heap, because a large stack frame costs page faults even on paths that never read. In
    // few steps: what a step reserves is there when it is used, and what the step before used is copied.
    let mut bytes = Vec::new();
    let mut room = 0;
    for step in [4 << 10, PIECE, within] {
        if bytes.len() < room {
            break;
        }
        room = step.min(within);
        bytes.reserve_exact(room - bytes.len());
        fill(&mut bytes, room)?;
    }
    // Most payloads are shorter than the longest string that is kept.
    let is_whole = bytes.len() < within;
    if is_whole && let Some((input, place)) = without_message(&bytes) {
        return Ok(Payload { input, raw: bytes, message: Some(place), cut: false });
    }
    let squeezed = if is_whole && !may_have_surrogates(&bytes) {
        Squeezed { bytes, cut: false, overflow: false }
    } else {
        let mut squeezer = Squeezer::new(appetite.per_string, appetite.in_all);
        while !bytes.is_empty() {
            squeezer.feed(&bytes);
            bytes.clear();
            fill(&mut bytes, PIECE)?;
        }
        squeezer.finish()
    };
    if squeezed.bytes.iter().all(u8::is_ascii_whitespace) {
        bail!("standard input was empty; the client sends one JSON object");
    }
    if squeezed.overflow {
        bail!("the payload on standard input is larger than {} bytes", appetite.in_all);
    }
    let input = serde_json::from_slice(&squeezed.bytes)
        .context("could not read the JSON object on standard input")?;
    Ok(Payload { input, raw: squeezed.bytes, message: None, cut: squeezed.cut })
}

/// Reads a long payload without its last message.
fn without_message(payload: &[u8]) -> Option<(Input, Range<usize>)> {
    const LONG: usize = 32 << 10;
    const AWAY: &str = "read by itself";
    let place = (payload.len() >= LONG).then(|| last_message::place(payload)).flatten()?;
    let (before, after) = (&payload[..place.start], &payload[place.end..]);
    let rest = [before, b"\"", AWAY.as_bytes(), b"\"", after].concat();
    let mut input: Input = serde_json::from_slice(&rest).ok()?;
    // Some other member of the payload may have the name.
    let is_cut_out = input.last_assistant_message.take().as_deref() == Some(AWAY);
    is_cut_out.then_some((input, place))
}

#[cfg(test)]
mod tests {
    use super::*;

    const APPETITE: Appetite = Appetite { per_string: 100, in_all: 10_000 };

    #[test]
    fn bad_payloads_are_errors_that_say_what_was_wrong() {
        for (bytes, expected) in [
            (&b""[..], "empty"),
            (b" \n", "empty"),
            (b"{\"session_id\":\"a", "could not read the JSON"),
            (b"{\"session_id\":\"\xff\"}", "could not read the JSON"),
            (b"7", "could not read the JSON"),
            (&[b'['; 20_000][..], "larger than"),
        ] {
            let error = parse(bytes, APPETITE).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_long_message_is_read_by_itself_if_it_is_the_payloads_own() {
        let long = "\"x\\ \n".repeat(10_000);
        let appetite = Appetite { per_string: 1 << 20, in_all: 1 << 20 };
        let read = |document: serde_json::Value| {
            let payload = parse(document.to_string().as_bytes(), appetite).unwrap();
            let own = payload.message.map(|place| payload.raw[place].to_vec());
            let own = own.map(|json| serde_json::from_slice(&json).unwrap());
            (own, payload.input.last_assistant_message, payload.input.cwd)
        };
        let whole = serde_json::json!({"last_assistant_message": long, "zcwd": 1, "cwd": "/a"});
        assert_eq!(read(whole), (Some(long.clone()), None, "/a".to_owned()));
        let others = serde_json::json!({"a": {"last_assistant_message": long}, "cwd": "/a"});
        assert_eq!(read(others), (None, None, "/a".to_owned()));
        let both = serde_json::json!({"a": {"last_assistant_message": long},
            "last_assistant_message": "own", "cwd": "/a"});
        assert_eq!(read(both), (None, Some("own".to_owned()), "/a".to_owned()));
    }

    #[test]
    fn a_large_payload_is_read_in_little_memory() {
        let content = "x".repeat(5 << 20);
        let document = format!(r#"{{"tool_input":{{"content":"{content}","file_path":"/a"}}}}"#);
        let payload = parse(document.as_bytes(), APPETITE).unwrap();
        assert!(payload.cut);
        assert_eq!(payload.input.tool_input.path(), Some("/a"));
    }
}
