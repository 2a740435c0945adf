//! Reads a hook's payload from standard input, in bounded memory.

use anyhow::{Context, Result, bail};
use ralph_core::protocol::event::Input;
use ralph_core::text::json_truncate::Squeezer;
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
    let mut squeezer = Squeezer::new(appetite.per_string, appetite.in_all);
    // On the heap, because a large stack frame costs page faults even on paths that never read. The
    // buffer stays small until a payload turns out to be large; no pipe of the client holds more.
    let mut piece = vec![0; 8 * 1024];
    loop {
        let read = source.read(&mut piece).context("could not read standard input")?;
        if read == 0 {
            break;
        }
        squeezer.feed(&piece[..read]);
        if read == piece.len() {
            piece.resize(64 * 1024, 0);
        }
    }
    let squeezed = squeezer.finish();
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
