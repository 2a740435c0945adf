//! What `bd` prints: its beads, its version, and why it refuses.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::tasks::beads::{self, Bead, OLDEST};

fn check_bead(bead: &Bead) {
    let task = bead.task();
    assert_eq!(task.id, bead.id);
    assert!(!task.id.is_empty() && task.deps.iter().all(|id| !id.is_empty()));
    assert_eq!(bead.surroundings().len(), 1 + task.deps.len());
    assert_eq!(bead.claim().findings.len(), task.deps.len());
    for actor in ["ann", ""] {
        if bead.is_held_by(actor) {
            assert_eq!(bead.not_for(actor), None, "what one has can be claimed again");
        }
        if bead.may_be_done(Some(actor)).is_ok() {
            assert_eq!(bead.may_end(Some(actor)), Ok(()));
            assert_eq!(bead.may_end(None), Ok(()), "without a name no less is allowed");
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    if let Ok(read) = beads::read(&text) {
        read.iter().for_each(check_bead);
        let ready = beads::candidates(&read, "ann").count();
        assert!(ready <= read.len() && beads::tasks(&read).len() == read.len());
        // The reader goes so deep and no deeper.
        let is_flat = text.matches(['[', '{']).count() < 100;
        if is_flat && text.trim_start().starts_with('[') {
            let around = format!(r#"{{"schema_version":1,"data":{text}}}"#);
            assert_eq!(beads::read(&around), Ok(read), "the envelope changes nothing");
        }
    }
    if let Ok(version) = beads::usable(&text) {
        assert!(version >= OLDEST);
    }
    assert!(!beads::said(&text, "").is_empty() && !beads::said("", &text).is_empty());
    if beads::is_id(&text) {
        assert!(!text.starts_with('-') && !text.contains(char::is_whitespace));
    }
});
