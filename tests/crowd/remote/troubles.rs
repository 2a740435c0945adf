//! A silent, absent, locked, full or killed server.

use super::clone::{CloneOf, Stored, value};
use super::{CONNECTED, servers};
use ralph_core::tasks::shared::timing::Settled;
use ralph_io::git::shared::PushReport;
use ralph_test_support::PATIENCE;
use ralph_test_support::git_server::{Fault, Storage, Transport};
use std::time::{Duration, Instant};

pub(super) fn silence() {
    for server in servers(&CONNECTED) {
        let mut clone = CloneOf::new(&server, "a");
        let stored = clone.claim("T-1", None);
        clone.repository.set_deadline(Duration::from_secs(1));
        server.set(Fault::Silent);
        let began = Instant::now();
        let report = clone.push(&[&stored]);
        assert_eq!(report.lines, [], "{report:?}");
        let error = clone.repository.fetch().unwrap_err().to_string();
        assert_eq!(error, "the remote did not answer within 1 s");
        assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
        server.set(Fault::Pass);
        clone.repository.set_deadline(PATIENCE);
        assert_eq!(clone.finish(&stored), Settled::Landed);
    }
}

pub(super) fn gone() {
    for server in servers(&CONNECTED) {
        let clone = CloneOf::new(&server, "a");
        let stored = clone.claim("T-1", None);
        server.set(Fault::Refuse);
        let report = clone.push(&[&stored]);
        assert_eq!(clone.settle(&stored, &report), Settled::Read, "{report:?}");
        let error = clone.repository.fetch().unwrap_err().to_string();
        assert!(error.starts_with("the remote did not answer: "), "{error}");
        server.set(Fault::Pass);
        assert_eq!(clone.finish(&stored), Settled::Landed);
    }
}

pub(super) fn stale_lock() {
    let mut wanted = vec![(Transport::File, Storage::Files), (Transport::Http, Storage::Reftable)];
    wanted.extend(CONNECTED);
    for server in servers(&wanted) {
        let clone = CloneOf::new(&server, "a");
        let [stored, other] = ["T-1", "T-2"].map(|task| clone.claim(task, None));
        let lock = server.leave_lock(&stored.append.reference);
        let report = clone.push(&[&stored]);
        assert!(report.is_locked(), "{report:?}");
        assert_eq!(clone.settle(&stored, &report), Settled::Again);
        let locked = Some(Duration::from_secs(60));
        assert_eq!(clone.settle_locked(&stored, &report, locked), Settled::StaleLock);
        // Reftable has one lock for all references.
        if !lock.ends_with("tables.list.lock") {
            assert_eq!(clone.finish(&other), Settled::Landed);
        }
        std::fs::remove_file(lock).unwrap();
        assert_eq!(clone.finish(&stored), Settled::Landed);
    }
}

pub(super) fn full_disk() {
    for server in servers(&[(Transport::Daemon, Storage::SmallDisk)]) {
        let clone = CloneOf::new(&server, "a");
        let [before, refused] = ["T-1", "T-2"].map(|task| clone.claim(task, None));
        assert_eq!(clone.finish(&before), Settled::Landed);
        server.fill_disk();
        let report = clone.push(&[&refused]);
        assert_eq!(clone.settle(&refused, &report), Settled::Again, "{report:?}");
        assert!(
            report.lines.iter().any(|line| line.summary.contains("unpacker error")),
            "{report:?}"
        );
        server.empty_disk();
        assert_eq!(clone.finish(&refused), Settled::Landed);
    }
}

pub(super) fn killed() {
    for server in servers(&CONNECTED) {
        let clone = CloneOf::new(&server, "a");
        let both = ["T-1", "T-2"].map(|task| clone.claim(task, None));
        server.kill_after_updates(1);
        let report = clone.push(&[&both[0], &both[1]]);
        assert!(server.has_killed(), "{report:?}");
        let values = both.each_ref().map(|one| value(&server, &one.append.reference));
        assert_eq!(values, [both[0].record.as_str(), ""], "the push is half done: {report:?}");
        assert_eq!(settled(&clone, &both, &report), [Settled::Landed, Settled::Again]);
        assert_eq!(clone.finish(&both[1]), Settled::Landed);

        let both = ["T-3", "T-4"].map(|task| clone.claim(task, None));
        server.kill_in_update(2);
        let report = clone.push(&[&both[0], &both[1]]);
        assert!(server.has_killed(), "{report:?}");
        assert_eq!(settled(&clone, &both, &report), [Settled::Landed, Settled::Again]);
        let report = clone.push(&[&both[1]]);
        assert!(report.is_locked(), "{report:?}");
        let lock = format!("{}.lock", both[1].append.reference);
        std::fs::remove_file(server.repository().join(lock)).unwrap();
        assert_eq!(clone.finish(&both[1]), Settled::Landed);
    }
}

fn settled(clone: &CloneOf, both: &[Stored; 2], report: &PushReport) -> [Settled; 2] {
    both.each_ref().map(|one| clone.settle(one, report))
}
