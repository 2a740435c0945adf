//! A plan as the quality gates look at it before a critic does.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::modes::ralplan::gates::{self, Failed};
use ralph_core::tasks::plan;

/// Failures that are named, and the one that counts the others.
const MOST: usize = 31;

fn check(text: &str, failed: &[Failed]) {
    assert!(failed.len() <= MOST);
    let lines = text.lines().count();
    for one in failed {
        assert!(!one.what.trim().is_empty());
        assert!(one.line.is_none_or(|line| (1..=lines).contains(&line)), "{one} of {lines}");
    }
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let (none, all) = (gates::check(&text, |_| false), gates::check(&text, |_| true));
    check(&text, &none);
    check(&text, &all);
    assert!(all.len() <= none.len(), "a file that exists is no failure");
    assert_eq!(none, gates::check(&text, |_| false), "the same plan, the same failures");
    if all.is_empty() {
        assert!(plan::block(&text).is_some(), "a sound plan has its machine-readable part");
        let read = plan::parse(&text).expect("and that can be read");
        assert!(!read.criteria.is_empty() && !read.tasks.is_empty());
        assert!(read.tasks.iter().all(|task| !task.completion_condition.trim().is_empty()));
    }
    // What stands above a plan moves its lines, and nothing else.
    if !text.trim().is_empty() && !text.starts_with('\u{feff}') {
        let moved = gates::check(&format!("Above it.\n\n{text}"), |_| false);
        let expected = none.iter().map(|one| one.line.map(|line| line + 2));
        assert!(moved.iter().map(|one| one.line).eq(expected), "{none:?} {moved:?}");
    }
});
