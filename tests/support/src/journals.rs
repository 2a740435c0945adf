//! Replays every journal that a test leaves behind. This reveals a rule that decides differently
//! after writing and reading, and a record that lacks what a rule reads.
//!
//! Runs in this process, since starting `ralph replay` for each of the many tests would cost more
//! than the tests.

use ralph_core::stop::replay::Again;
use ralph_io::store::journal;
use std::fs;
use std::path::Path;

/// Replays all loops of a home; panics at the first difference. Does nothing if the test has failed
/// already, so that its own failure is the one to read.
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
    // The test may have broken the journal on purpose.
    let Ok(journal) = journal::load(folder) else { return };
    for entry in journal.entries {
        let line = || serde_json::to_string(&entry).unwrap();
        match entry.again() {
            Again::NoRecord => {}
            Again::Decided(differences) if differences.is_empty() => {}
            Again::Decided(differences) => {
                panic!("decided otherwise when it is replayed: {differences:#?}\n{}", line())
            }
            // A command may be longer than the journal keeps, but the version of a
            // record must be readable.
            Again::Unusable(why) => {
                assert!(!why.starts_with("a record of another version"), "{why}\n{}", line());
            }
        }
    }
}
