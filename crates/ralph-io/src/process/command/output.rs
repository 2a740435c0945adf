//! Passes a command's output to everything that needs it, and keeps a bounded part.
//!
//! The digest and the observer get every byte as written. The stored file, the tail and the names of failed tests come from redacted
//! bytes only: no secret reaches a file.

use crate::process::command::CommandRequest;
use crate::store::atomic;
use ralph_core::evidence::tests_run::{FailureScanner, Failures};
use ralph_core::text::plural::noun;
use ralph_core::text::sanitize;
use ralph_core::text::secrets::Redactor;
use rustix::fs::OFlags;
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

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

// Keeps a bounded part of a command's output in a file: the first 8 MiB and the last 8 MiB.
//
// The first half is written as it arrives. The last half is known only at the end, so it stays in
// a ring buffer, and a gigabyte of output costs 8 MiB of memory.

/// How much is kept of the beginning, and how much of the end.
pub(super) const HALF: usize = 8 << 20;

/// An output file being written.
pub(super) struct Keep {
    path: PathBuf,
    /// Not set after a failed write.
    part: Option<File>,
    head_left: usize,
    end: Ring,
    left_out: u64,
}

impl Keep {
    pub(super) fn begin(path: &Path) -> Keep {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let part = options.custom_flags(OFlags::NOFOLLOW.bits() as i32).open(part_of(path));
        Keep {
            path: path.to_owned(),
            part: part.ok(),
            head_left: HALF,
            end: Ring::new(HALF),
            left_out: 0,
        }
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(self.head_left));
        self.head_left -= head.len();
        self.write(head);
        self.left_out += self.end.push(rest) as u64;
    }

    /// True once the first half is complete.
    pub(super) fn has_its_head(&self) -> bool {
        self.head_left == 0
    }

    /// Counts bytes that the caller leaves out without feeding them.
    pub(super) fn leave_out(&mut self, n: u64) {
        self.left_out += n;
    }

    /// After a failed write nothing more is kept: a full disk must not disturb the command.
    fn write(&mut self, bytes: &[u8]) {
        if self.part.as_mut().is_some_and(|part| part.write_all(bytes).is_err()) {
            self.part = None;
        }
    }

    /// Renames the file to its final name; false if it could not be written.
    pub(super) fn finish(mut self) -> bool {
        if self.left_out > 0 {
            let bytes = noun(self.left_out, "byte", "bytes");
            self.write(format!("\n[ralph: {} {bytes} left out here]\n", self.left_out).as_bytes());
        }
        let end = std::mem::replace(&mut self.end, Ring::new(0));
        end.parts().into_iter().for_each(|half| self.write(half));
        let named = self.part.take().is_some_and(|part| {
            part.sync_data().is_ok()
                && std::fs::rename(part_of(&self.path), &self.path).is_ok()
                && atomic::sync_folder(&self.path).is_ok()
        });
        if !named {
            remove_part(&self.path);
        }
        named
    }
}

/// Removes the partial file of an interrupted run.
pub(super) fn remove_part(path: &Path) {
    // Usually there is none.
    let _ = std::fs::remove_file(part_of(path));
}

/// The file's name until it is complete. Only one command at a time writes to a path.
fn part_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    path.with_file_name(name)
}

/// A ring buffer of the last bytes of a stream.
pub(super) struct Ring {
    bytes: Vec<u8>,
    capacity: usize,
    /// The index of the oldest byte once the ring is full.
    oldest: usize,
}

impl Ring {
    pub(super) fn new(capacity: usize) -> Ring {
        Ring { bytes: Vec::new(), capacity, oldest: 0 }
    }

    /// Appends bytes; returns how many were dropped.
    pub(super) fn push(&mut self, new: &[u8]) -> usize {
        let kept = &new[new.len().saturating_sub(self.capacity)..];
        let (fill, over) = kept.split_at(kept.len().min(self.capacity - self.bytes.len()));
        self.bytes.extend_from_slice(fill);
        let (to_end, from_start) = over.split_at(over.len().min(self.capacity - self.oldest));
        self.bytes[self.oldest..self.oldest + to_end.len()].copy_from_slice(to_end);
        self.bytes[..from_start.len()].copy_from_slice(from_start);
        if self.capacity > 0 {
            self.oldest = (self.oldest + over.len()) % self.capacity;
        }
        new.len() - kept.len() + over.len()
    }

    /// The kept bytes, oldest first.
    pub(super) fn parts(&self) -> [&[u8]; 2] {
        let (new, old) = self.bytes.split_at(self.oldest);
        [old, new]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_ring_keeps_the_last_bytes_whatever_the_pieces() {
        let stream: Vec<u8> = (0..100).collect();
        for piece in 1..40 {
            let mut ring = Ring::new(16);
            let gone: usize = stream.chunks(piece).map(|bytes| ring.push(bytes)).sum();
            assert_eq!((ring.parts().concat(), gone), (stream[84..].to_vec(), 84), "{piece}");
        }
        let mut ring = Ring::new(16);
        assert_eq!((ring.push(b"abc"), ring.parts().concat()), (0, b"abc".to_vec()));
    }

    #[test]
    fn what_fits_is_kept_whole_and_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let mut keep = Keep::begin(&path);
        let halves = [vec![b'a'; HALF + 1], vec![b'b'; HALF - 1]];
        halves.iter().for_each(|half| keep.feed(half));
        assert!(!path.exists());
        assert!(keep.finish());
        assert!(std::fs::read(&path).unwrap() == halves.concat());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn of_what_does_not_fit_the_middle_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let mut keep = Keep::begin(&path);
        [vec![b'a'; HALF], vec![b'-'; 1000], vec![b'b'; HALF]].iter().for_each(|b| keep.feed(b));
        assert!(keep.finish());
        let kept = std::fs::read(&path).unwrap();
        let line = b"\n[ralph: 1000 bytes left out here]\n";
        assert!(kept == [&vec![b'a'; HALF][..], line, &vec![b'b'; HALF]].concat());
    }

    #[test]
    fn a_folder_that_is_not_there_is_reported() {
        let mut keep = Keep::begin(Path::new("/nowhere/at/all"));
        keep.feed(b"x");
        assert!(!keep.finish());
    }
}
