//! Reads what a person names on the command line: a file, or standard input.

use anyhow::{Context, Result, bail};
use rustix::process::{Signal, getpid, kill_process};
use std::fs::File;
use std::io::{BufRead, Read};
use std::path::Path;

/// A plan or a task larger than this was not written by anybody.
const LARGEST: u64 = 16 << 20;

/// The text of a file.
///
/// # Errors
/// When it cannot be read, is too large, or is not UTF-8.
pub fn file(path: &Path) -> Result<String> {
    let name = path.display();
    let file = File::open(path).with_context(|| format!("could not open `{name}`"))?;
    read(file, &format!("`{name}`"))
}

/// The text on standard input, to its end.
///
/// # Errors
/// As for [`file()`].
pub fn stdin() -> Result<String> {
    read(std::io::stdin().lock(), "standard input")
}

/// Ends this process as soon as standard input ends: whoever started us is gone then, and nobody
/// waits for the answer.
pub fn end_with_input() {
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        std::process::exit(1);
    });
}

/// The first line on standard input. As soon as that ends, this process is told to end as by SIGTERM:
/// whoever gave the order is gone then.
///
/// # Errors
/// When there is no whole line.
pub fn order() -> Result<Vec<u8>> {
    let mut line = Vec::new();
    std::io::stdin()
        .lock()
        .take(LARGEST)
        .read_until(b'\n', &mut line)
        .context("could not read standard input")?;
    if !line.ends_with(b"\n") {
        bail!("there is no order on standard input");
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
