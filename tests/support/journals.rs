//! Every journal that a test leaves behind is decided again: a rule that changed its mind between
//! writing and reading, or a record that lacks what a rule reads, shows here.
//!
//! In this process, since a start of `ralph replay` for each of the many tests would cost more than
//! the tests.

use ralph_core::stop::replay::Again;
use ralph_io::store::journal;
use std::fs;
use std::path::Path;

/// Decides all loops of a home again; panics at the first difference. Where the test has failed
/// already, its own failure is the one to read.
#[track_caller]
pub fn replay_all(ralph_home: &Path) {
    if std::thread::panicking() {
        return;
    }
    for kind in ["loops", "archive"] {
        for folder in fs::read_dir(ralph_home.join(kind)).into_iter().flatten().flatten() {
            replay(&folder.path());
        }
    }
}

#[track_caller]
fn replay(folder: &Path) {
    // What a test broke itself is its own to look at.
    let Ok(journal) = journal::load(folder) else { return };
    for entry in journal.entries {
        let line = || serde_json::to_string(&entry).unwrap();
        match entry.again() {
            Again::NoRecord => {}
            Again::Decided(differences) if differences.is_empty() => {}
            Again::Decided(differences) => {
                panic!("decided otherwise when it is replayed: {differences:#?}\n{}", line())
            }
            // A command may be longer than is kept; a record must be readable by who wrote it.
            Again::Unusable(why) => {
                assert!(!why.starts_with("a record of another version"), "{why}\n{}", line());
            }
        }
    }
}
