//! Reads what stands at many paths, on as many threads as there are processors.
//!
//! Memory does not grow with the size of a file: each thread has one buffer.

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

/// Paths that a thread takes at once. Neighbours share their folders; large files spread all the
/// same.
const AT_ONCE: usize = 128;

/// More would only wait for the same disk.
const MOST_THREADS: usize = 8;

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PathContent {
    pub(super) kind: PathKind,
    pub(super) digest: [u8; 32],
    /// The stamp of the content that was read; none if the file changed meanwhile.
    pub(super) stamp: Option<Stamp>,
    /// True if its bytes were read and not remembered.
    pub(super) was_read: bool,
}

/// All that was found, in the order of the names.
pub(super) struct Read {
    /// None where there is nothing, or a folder.
    pub(super) found: Vec<Option<PathContent>>,
    /// When it began, in nanoseconds: a file that changed later may have changed after it was read.
    pub(super) began: i64,
}

/// Reads what stands at all the names.
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
