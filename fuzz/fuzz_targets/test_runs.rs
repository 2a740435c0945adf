//! What test runners print, in pieces.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::evidence::tests_run::{Scanner, TestsRun};
use ralph_fuzz::cuts;

fn read(pieces: &[&[u8]]) -> TestsRun {
    let mut scanner = Scanner::default();
    pieces.iter().for_each(|piece| scanner.feed(piece));
    scanner.finish()
}

fuzz_target!(|output: &[u8]| {
    let whole = read(&[output]);
    for pieces in cuts(output) {
        assert_eq!(read(&pieces), whole, "wherever it was split");
    }
    assert_eq!(read(&[output, b"\n"]), whole, "the last line needs no end");
    if !output.iter().any(u8::is_ascii_digit) {
        // Bun and others tell a number in words nowhere.
        assert!(!matches!(whole, TestsRun::Ran(2..)), "a number that nobody printed");
    }
    let silent = read(&[]);
    assert_eq!(silent, TestsRun::Unknown);
    let noise = b"compiling\nwarning: unused variable\n";
    assert_eq!(read(&[noise]), silent, "what no runner said counts for nothing");
    let kept = serde_json::to_string(&whole).expect("an answer can be kept");
    assert_eq!(serde_json::from_str::<TestsRun>(&kept).ok(), Some(whole));
});
