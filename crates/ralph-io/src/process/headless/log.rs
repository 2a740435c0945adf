//! Keeps everything that a client printed, without secrets, in a file that only its owner can read.
//!
//! A failed write costs only the log: a full disk does not end a round.

use crate::project::trusted_read;
use anyhow::{Context, Result};
use ralph_core::text::secrets;
use ralph_core::text::secrets::Redactor;
use rustix::fs::OFlags;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// A log that is being written.
#[derive(Debug)]
pub struct Log {
    file: File,
    redactor: Redactor,
    clean: Vec<u8>,
    problem: Option<String>,
    ends_a_line: bool,
}

impl Log {
    /// Creates the log or appends to it. The values of `given` and of our own environment that look
    /// like secrets are redacted.
    ///
    /// # Errors
    /// If the file cannot be created, or is a link.
    pub fn open(path: &Path, given: &[(String, String)]) -> Result<Log> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)
                .with_context(|| format!("could not make `{}`", folder.display()))?;
        }
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600);
        let file = options.custom_flags(OFlags::NOFOLLOW.bits() as i32).open(path);
        let file = file.with_context(|| format!("could not write `{}`", path.display()))?;
        let redactor = redactor(given);
        Ok(Log { file, redactor, clean: Vec::new(), problem: None, ends_a_line: true })
    }

    /// Logs the next piece of output.
    pub fn feed(&mut self, piece: &[u8]) {
        if let Some(last) = piece.last() {
            self.ends_a_line = *last == b'\n';
        }
        self.redactor.feed(piece, &mut self.clean);
        self.write();
    }

    /// Adds a line of our own after the output so far.
    pub fn note(&mut self, line: &str) {
        if !self.ends_a_line {
            self.feed(b"\n");
        }
        self.feed(line.as_bytes());
        self.feed(b"\n");
    }

    /// Writes what the redaction held back; returns the first write error, if any.
    pub fn finish(mut self) -> Option<String> {
        self.redactor.finish(&mut self.clean);
        self.write();
        self.problem
    }

    fn write(&mut self) {
        let written =
            if self.problem.is_none() { self.file.write_all(&self.clean) } else { Ok(()) };
        if let Err(error) = written {
            self.problem = Some(format!("could not write the log: {error}"));
        }
        self.clean.clear();
    }
}

/// Redacts the secrets of our environment and of `given` from a text.
pub fn without_secrets(text: &str, given: &[(String, String)]) -> String {
    let mut redactor = redactor(given);
    let mut clean = Vec::new();
    redactor.feed(text.as_bytes(), &mut clean);
    redactor.finish(&mut clean);
    String::from_utf8_lossy(&clean).into_owned()
}

/// Reads a log; `None` if it is missing, larger than any session that we know, or not ours alone.
pub fn read_log(path: &Path) -> Option<Vec<u8>> {
    const LARGEST: u64 = 256 << 20;
    trusted_read::read_at_most(path, LARGEST).ok().flatten()
}

/// Redacts values both as they are and as JSON escapes them.
fn redactor(given: &[(String, String)]) -> Redactor {
    let ours = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.as_bytes().to_vec())));
    let given = given.iter().map(|(name, value)| (name.clone(), value.as_bytes().to_vec()));
    let secret = |(name, value): &(String, Vec<u8>)| secrets::is_redacted(name, value);
    let mut all: Vec<(String, Vec<u8>)> = ours.chain(given).filter(secret).collect();
    let quoted: Vec<_> =
        all.iter().filter_map(|(name, value)| Some((name.clone(), quoted(value)?))).collect();
    all.extend(quoted);
    Redactor::new(all.iter().map(|(name, value)| (name.as_str(), &value[..])))
}

/// The value as JSON escapes it; `None` if that is the same.
fn quoted(value: &[u8]) -> Option<Vec<u8>> {
    let written = serde_json::to_string(std::str::from_utf8(value).ok()?).ok()?;
    let inner = written.strip_prefix('"')?.strip_suffix('"')?.as_bytes().to_vec();
    (inner != value).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_log_is_its_owners_and_holds_no_secret_however_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rounds").join("1.jsonl");
        let given = [("A_TOKEN".to_owned(), "se\"cret\n1".to_owned())];
        for _ in 0..2 {
            let mut log = Log::open(&path, &given).unwrap();
            log.feed(b"{\"a\":\"se\\\"cre");
            log.feed(b"t\\n1\"}");
            log.note("{}");
            assert_eq!(log.finish(), None);
        }
        let once = "{\"a\":\"[redacted A_TOKEN]\"}\n{}\n";
        assert_eq!(std::fs::read_to_string(&path).unwrap(), once.repeat(2));
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(without_secrets("x se\"cret\n1", &given), "x [redacted A_TOKEN]");
    }

    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("log"), folder.path().join("other"));
        std::os::unix::fs::symlink(&other, &path).unwrap();
        assert!(Log::open(&path, &[]).is_err());
        assert!(!other.exists());
    }
}
