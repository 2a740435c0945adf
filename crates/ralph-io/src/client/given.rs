//! Reads what this process is given: a file that the user names, standard input, an order, or a hook's payload.

use crate::project::safe_read;
use anyhow::{Context, Result, bail};
use ralph_core::protocol::event::Input;
use ralph_core::text::json::{Squeezed, Squeezer, may_have_surrogates};
use rustix::process::{Signal, getpid, kill_process};
use std::io::{BufRead, Read};
use std::path::Path;

/// Nobody writes a plan or a task larger than this by hand.
const LARGEST: u64 = 16 << 20;

/// Reads a text file.
///
/// # Errors
/// If the file is not a regular one, cannot be read, is too large, or is not UTF-8.
pub fn file(path: &Path) -> Result<String> {
    let text = safe_read::text(path, LARGEST)?;
    text.with_context(|| format!("could not find `{}`", path.display()))
}

/// Reads standard input to its end.
pub fn stdin() -> Result<String> {
    read(std::io::stdin().lock(), "standard input")
}

/// Exits as soon as standard input ends: our parent has gone, and nobody waits for the answer.
pub fn end_with_input() {
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        std::process::exit(1);
    });
}

/// Reads the first line of standard input. Once standard input ends, this process sends itself
/// SIGTERM, because the sender of the order has gone.
///
/// # Errors
/// If standard input holds no complete line.
pub fn order() -> Result<Vec<u8>> {
    let mut line = Vec::new();
    std::io::stdin()
        .lock()
        .take(LARGEST)
        .read_until(b'\n', &mut line)
        .context("could not read standard input")?;
    if !line.ends_with(b"\n") {
        bail!("standard input has no order");
    }
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        let _ = kill_process(getpid(), Signal::TERM);
    });
    Ok(line)
}

fn read(source: impl Read, name: &str) -> Result<String> {
    let mut bytes = Vec::new();
    source
        .take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("could not read {name}"))?;
    if bytes.len() as u64 > LARGEST {
        bail!("{name} is larger than {} MiB", LARGEST >> 20);
    }
    String::from_utf8(bytes).with_context(|| format!("{name} is not UTF-8 text"))
}

// Reads a hook's payload from standard input, in bounded memory.

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
pub fn payload(appetite: Appetite) -> Result<Payload> {
    parse_payload(std::io::stdin().lock(), appetite)
}

fn parse_payload(mut source: impl Read, appetite: Appetite) -> Result<Payload> {
    /// No pipe of the client holds more.
    const PIECE: usize = 64 << 10;
    let mut fill = |bytes: &mut Vec<u8>, most: usize| {
        let room = u64::try_from(most - bytes.len()).unwrap_or(u64::MAX);
        source.by_ref().take(room).read_to_end(bytes).context("could not read standard input")
    };
    let within = appetite.per_string;
    // Room that is not used costs nothing; growing step by step leaves what was used before.
    let mut bytes = Vec::with_capacity(within.min(PIECE));
    fill(&mut bytes, within)?;
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
        drop(bytes);
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
mod given_tests {
    use super::*;

    #[test]
    fn what_is_not_text_or_too_large_is_named_and_refused() {
        assert_eq!(read(&b"a\n"[..], "x").unwrap(), "a\n");
        assert!(read(&b"\xff"[..], "x").unwrap_err().to_string().contains("x is not UTF-8"));
        let endless = std::io::repeat(b'a');
        assert!(read(endless, "x").unwrap_err().to_string().contains("larger than 16 MiB"));
    }
}

#[cfg(test)]
mod payload_tests {
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
            let error = parse_payload(bytes, APPETITE).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_large_payload_is_read_in_little_memory() {
        let content = "x".repeat(5 << 20);
        let document = format!(r#"{{"tool_input":{{"content":"{content}","file_path":"/a"}}}}"#);
        let payload = parse_payload(document.as_bytes(), APPETITE).unwrap();
        assert!(payload.cut);
        assert_eq!(payload.input.tool_input.path(), Some("/a"));
    }
}
