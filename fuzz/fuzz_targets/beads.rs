//! What `bd` prints: its beads, its version, and why it refuses.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::tasks::beads::{self, OLDEST};

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    if let Ok(read) = beads::read(&text) {
        assert!(read.iter().all(|bead| !bead.id.is_empty()));
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
});
