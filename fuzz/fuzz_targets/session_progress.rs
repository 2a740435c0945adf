//! The progress of a session, as agents and persons leave it: what is read of it, and what is rendered.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::modes::orchestration::progress::{Progress, ReadProgress};

/// Who is done counts once, wherever else it stands.
fn listed(read: &Progress) {
    let tasks = read.tasks();
    for (at, task) in tasks.iter().enumerate() {
        assert!(tasks[..at].iter().all(|other| other.id != task.id), "{} twice", task.id);
        assert_eq!(read.task(&task.id), Some(*task));
    }
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let read = ReadProgress::parse(&text).progress;
    listed(&read);
    let again = ReadProgress::parse(&read.render());
    assert_eq!((again.progress, again.damage), (read, Vec::new()));
});
