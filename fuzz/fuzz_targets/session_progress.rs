//! The progress of a session, as agents and persons leave it: what is read of it, what is changed, what is mended.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::modes::orchestration::progress::{
    self, IterationRow, Progress, ProgressSection, TaskMark,
};

/// A mark changes its entry and nothing else.
fn marked(text: &str, read: &Progress) {
    let entries = read.sections.iter().flat_map(|section| &section.entries);
    for entry in entries.take(16) {
        for status in TaskMark::ALL {
            let Ok(after) = progress::mark(text, entry, status, None) else { continue };
            let differ = text.split('\n').zip(after.split('\n')).filter(|(old, new)| old != new);
            assert!(differ.count() <= 1 && text.split('\n').count() == after.split('\n').count());
            let again = Progress::parse(&after);
            let found = again.sections.iter().flat_map(|section| &section.entries);
            let found = found.into_iter().find(|other| other.line == entry.line);
            let found = found.expect("it is an entry still");
            assert_eq!((&found.id, found.status), (&entry.id, status));
            let back = progress::mark(&after, found, entry.status, None);
            assert_eq!(back.as_deref().ok(), Some(text), "the way back leads there");
        }
    }
}

/// Who is done counts once, wherever else it stands.
fn listed(read: &Progress) {
    let tasks = read.tasks();
    for (at, task) in tasks.iter().enumerate() {
        assert!(tasks[..at].iter().all(|other| other.id != task.id), "{} twice", task.id);
        assert_eq!(read.task(&task.id), Some(*task));
    }
}

/// What was written is read, and written again it is the same.
fn grown(text: &str) {
    let after =
        progress::add_section(text, ProgressSection::Implementation, 1, &["task-1", "task-2"]);
    assert_eq!(progress::add_section(&after, ProgressSection::Implementation, 1, &[]), after);
    let row = IterationRow {
        iteration: 1,
        status: "Executing".to_owned(),
        tasks: "0/2".to_owned(),
        feedbacks: "N/A".to_owned(),
        line: 0,
    };
    let with_row = progress::set_row(text, &row);
    assert_eq!(progress::set_row(&with_row, &row), with_row);
}

/// What is mended needs no mending, and is whole but for what is left; no task is lost on the way.
fn mended(text: &str, read: &Progress) {
    let (once, done, left) = progress::repair(text, 1, &["plan-init", "plan-breakdown"]);
    let (twice, again, _) = progress::repair(&once, 1, &["plan-init", "plan-breakdown"]);
    assert_eq!(once, twice, "{again:?}");
    assert!(again.is_empty(), "{again:?}");
    let after = Progress::parse(&once);
    assert_eq!(after.damage, left);
    let named = after.legend.clone().unwrap_or_default();
    assert!(after.has_header && TaskMark::ALL.iter().all(|status| named.contains(status)));
    for part in [ProgressSection::Planning, ProgressSection::Implementation] {
        assert!(after.section(part, 1).is_some());
    }
    let is_other = done.iter().any(|one| one.what.contains("became"));
    for task in read.tasks() {
        let found = after.task(&task.id).expect("it stands there still");
        assert!(is_other || found.status == task.status, "{} is {}", task.id, found.status);
    }
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let read = Progress::parse(&text);
    assert_eq!(read, Progress::parse(&text));
    marked(&text, &read);
    listed(&read);
    grown(&text);
    mended(&text, &read);
});
