//! What git and the kernel print: lists of files, of changes, of checkpoints, and processes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_io::store::fuzzing;

fn contains(whole: &[u8], part: &[u8]) -> bool {
    part.is_empty() || whole.windows(part.len()).any(|window| window == part)
}

fuzz_target!(|printed: &[u8]| {
    for record in printed.split(|byte| *byte == 0) {
        if let Some((_, name)) = fuzzing::listed_name(record) {
            assert!(contains(record, name), "a name is a part of its line");
            assert!(!name.contains(&0));
        }
        if let Some(path) = fuzzing::changed_path(record) {
            assert!(record.ends_with(path), "the path is the last of it");
        }
    }
    for name in [&b"a b"[..], b"\xff\t\n", b"d/e"] {
        let tracked = [b"H 100644 0123456789012345678901234567890123456789 0\t", name].concat();
        assert_eq!(fuzzing::listed_name(&tracked), Some((false, name)));
        assert_eq!(fuzzing::listed_name(&[b"? ", name].concat()), Some((false, name)));
        assert_eq!(fuzzing::changed_path(&[b"? ", name].concat()), Some(name));
    }
    let text = String::from_utf8_lossy(printed);
    let fields: Vec<&str> = text.split('\0').collect();
    for reference in fields.chunks_exact(5).filter_map(fuzzing::checkpoint) {
        assert!(reference.starts_with("refs/ralph/"), "{reference}");
    }
    if let Some((pid, name)) = fuzzing::process(printed) {
        assert!(text.starts_with(&format!("{pid} ({name}) ")) || text.starts_with(['+', '-', '0']));
    }
});
