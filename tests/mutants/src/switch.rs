//! Compiled into each crate that has mutants: whether this process runs one of them.
//!
//! What is on is read once from a file, in a folder that the environment names or else in one whose path is compiled in:
//! tests start processes without their own environment. A process that cannot see the file runs unchanged.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    std::env::var_os("RALPH_MUTANT").unwrap_or_else(|| env!("RALPH_MUTANT_FOLDER").into()).into()
});
static ACTIVE: LazyLock<String> =
    LazyLock::new(|| fs::read_to_string(FOLDER.join("active")).unwrap_or_default());
static NUMBER: LazyLock<u32> = LazyLock::new(|| ACTIVE.parse().unwrap_or(0));
static RECORDS: LazyLock<bool> = LazyLock::new(|| *ACTIVE == "record");
static REACHED: [AtomicBool; 1 << 16] = [const { AtomicBool::new(false) }; 1 << 16];

pub fn is(number: u32) -> bool {
    if *RECORDS && !REACHED[number as usize].swap(true, Ordering::Relaxed) {
        let file = OpenOptions::new().append(true).create(true).open(FOLDER.join("reached"));
        drop(file.and_then(|mut file| file.write_all(format!("{number}\n").as_bytes())));
    }
    *NUMBER == number
}
