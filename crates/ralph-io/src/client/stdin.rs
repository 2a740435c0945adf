//! Reads a hook's payload from standard input, in bounded memory.

use anyhow::{Context, Result, bail};
use ralph_core::protocol::event::Input;
use ralph_core::text::json_truncate::{Squeezed, Squeezer, may_have_surrogates};
use std::io::Read;

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
    Ok(Payload { input, raw: squeezed.bytes, cut: squeezed.cut })
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
    fn a_large_payload_is_read_in_little_memory() {
        let content = "x".repeat(5 << 20);
        let document = format!(r#"{{"tool_input":{{"content":"{content}","file_path":"/a"}}}}"#);
        let payload = parse(document.as_bytes(), APPETITE).unwrap();
        assert!(payload.cut);
        assert_eq!(payload.input.tool_input.path(), Some("/a"));
    }
}
