//! Reads what the user names on the command line: a file, or standard input.

use crate::project::safe_read;
use anyhow::{Context, Result, bail};
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
///
/// # Errors
/// As for [`file()`].
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_text_or_too_large_is_named_and_refused() {
        assert_eq!(read(&b"a\n"[..], "x").unwrap(), "a\n");
        assert!(read(&b"\xff"[..], "x").unwrap_err().to_string().contains("x is not UTF-8"));
        let endless = std::io::repeat(b'a');
        assert!(read(endless, "x").unwrap_err().to_string().contains("larger than 16 MiB"));
    }
}
