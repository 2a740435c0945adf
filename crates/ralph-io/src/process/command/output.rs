//! Passes a command's output to everything that needs it.
//!
//! The digest and the observer get every byte as written. The stored file, the tail and the names of failed tests come from redacted
//! bytes only: no secret reaches a file.

use super::keep::{HALF, Keep, Ring};
use super::wire::CommandRequest;
use ralph_core::evidence::tests_run::{FailureScanner, Failures};
use ralph_core::text::sanitize;
use ralph_core::text::secrets::Redactor;
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The most characters of plain text in the tail.
const TAIL_LETTERS: usize = 2000;

/// Enough for the tail even if colour codes take more room than the text.
const TAIL_BYTES: usize = 32 * 1024;

/// How much before the last half also goes through the redaction: a private key may begin there.
const REDACTED_BEFORE: usize = 128 * 1024;

/// How much is redacted at a time at the end.
const PIECE: usize = 64 * 1024;

/// The output of one command.
pub(super) struct Output<'a> {
    observer: &'a mut dyn FnMut(&[u8]),
    digest: Sha256,
    bytes: u64,
    redactor: Redactor,
    redacted: Vec<u8>,
    keep: Keep,
    recent: Ring,
    failures: FailureScanner,
    /// The bytes that may become the last half, unredacted. What falls between the halves is never
    /// redacted: redacting a gigabyte takes half a minute.
    waiting: Ring,
    /// How many bytes left `waiting` at its front.
    passed_over: u64,
}

/// The facts about an output that has ended.
pub(super) struct OutputSummary {
    pub(super) sha256: String,
    pub(super) bytes: u64,
    pub(super) tail: String,
    pub(super) stored: bool,
    pub(super) failures: Failures,
}

impl<'a> Output<'a> {
    pub(super) fn begin(
        request: &CommandRequest,
        observer: &'a mut dyn FnMut(&[u8]),
    ) -> Output<'a> {
        let secrets = request.secrets.iter();
        Output {
            observer,
            digest: Sha256::new(),
            bytes: 0,
            redactor: Redactor::new(secrets.map(|(name, value)| (name.as_str(), &value[..]))),
            redacted: Vec::new(),
            keep: Keep::begin(Path::new(OsStr::from_bytes(&request.output))),
            recent: Ring::new(TAIL_BYTES),
            failures: FailureScanner::default(),
            waiting: Ring::new(HALF + REDACTED_BEFORE),
            passed_over: 0,
        }
    }

    pub(super) fn feed(&mut self, piece: &[u8]) {
        (self.observer)(piece);
        self.digest.update(piece);
        self.bytes += piece.len() as u64;
        if self.keep.has_its_head() {
            self.passed_over += self.waiting.push(piece) as u64;
        } else {
            self.redactor.feed(piece, &mut self.redacted);
            self.store();
        }
    }

    pub(super) fn finish(mut self) -> OutputSummary {
        if self.passed_over > 0 {
            self.redactor.finish(&mut self.redacted);
            self.store();
            self.keep.leave_out(self.passed_over);
        }
        let waiting = std::mem::replace(&mut self.waiting, Ring::new(0));
        for part in waiting.parts() {
            for piece in part.chunks(PIECE) {
                self.redactor.feed(piece, &mut self.redacted);
                self.store();
            }
        }
        self.redactor.finish(&mut self.redacted);
        self.store();
        OutputSummary {
            sha256: format!("{:x}", self.digest.finalize()),
            bytes: self.bytes,
            tail: sanitize::end_of(&self.recent.parts().concat(), TAIL_LETTERS),
            stored: self.keep.finish(),
            failures: self.failures.finish(),
        }
    }

    fn store(&mut self) {
        self.keep.feed(&self.redacted);
        self.recent.push(&self.redacted);
        self.failures.feed(&self.redacted);
        self.redacted.clear();
    }
}
