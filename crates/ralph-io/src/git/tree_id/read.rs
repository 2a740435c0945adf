//! Reads the content of many paths, on as many threads as there are processors.
//!
//! Memory does not grow with file size: each thread has one buffer.

use super::PathKind;
use super::cache::{Remembered, Stamp};
use super::folder::Folders;
use super::names::Names;
use super::reader::FileReader;
use anyhow::{Context, Result};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// How many paths a thread takes at once. Neighbours share their folders, and large files are still
/// spread over the threads.
const AT_ONCE: usize = 128;

/// More threads would only wait for the same disk.
const MOST_THREADS: usize = 8;

/// The content of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PathContent {
    pub(super) kind: PathKind,
    pub(super) digest: [u8; 32],
    /// The metadata of the content that was read; `None` if the file changed meanwhile.
    pub(super) stamp: Option<Stamp>,
    /// True if the bytes were read, false if the digest was remembered.
    pub(super) was_read: bool,
}

/// All results, in the order of the names.
pub(super) struct Read {
    /// `None` for a missing path or a folder.
    pub(super) found: Vec<Option<PathContent>>,
    /// When reading began, in nanoseconds: a file that changed later may have changed after it was
    /// read.
    pub(super) began: i64,
}

/// Reads the content of all names.
pub(super) fn all(top: &Path, names: &Names, remembered: &Remembered) -> Result<Read> {
    let began = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut found: Vec<Option<PathContent>> = vec![None; names.len()];
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    let threads = threads.min(names.len().div_ceil(AT_ONCE)).max(1);
    let next = AtomicUsize::new(0);
    let blocks: Vec<Mutex<&mut [Option<PathContent>]>> =
        found.chunks_mut(AT_ONCE).map(Mutex::new).collect();
    let work = || -> Result<()> {
        let mut reader = FileReader::new(top, Folders::new(top).map_err(std::io::Error::from)?);
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(block) = blocks.get(number) else { return Ok(()) };
            let mut block = block.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let mut known = remembered.from(names.get(number * AT_ONCE));
            for (at, place) in block.iter_mut().enumerate() {
                let path = names.get(number * AT_ONCE + at);
                *place = reader.look(path, known.find(path));
            }
        }
    };
    if threads == 1 {
        work()?;
    } else {
        std::thread::scope(|scope| {
            let started: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            started.into_iter().try_for_each(|thread| {
                thread.join().ok().context("a thread that reads files failed")?
            })
        })?;
    }
    drop(blocks);
    Ok(Read { found, began: i64::try_from(began.as_nanos()).unwrap_or(0) })
}
