//! Transcripts that grow, shrink, are replaced, or are no files at all.

use super::*;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

struct TestTranscript {
    folder: tempfile::TempDir,
    usage: Usage,
}

impl TestTranscript {
    fn new(rows: &[String]) -> TestTranscript {
        let place =
            TestTranscript { folder: tempfile::tempdir().unwrap(), usage: Usage::default() };
        fs::write(place.path(), rows.concat()).unwrap();
        place
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("t.jsonl")
    }

    fn append(&self, text: &str) {
        let mut file = fs::OpenOptions::new().append(true).open(self.path()).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn counts(&mut self, since: u64) -> u64 {
        count(&self.path(), at(since), &mut self.usage).unwrap();
        self.usage.total()
    }
}

fn at(second: u64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + i64::try_from(second).unwrap()).unwrap()
}

fn row(second: u64, tokens: u64) -> String {
    let time = at(second);
    format!(
        "{{\"type\":\"assistant\",\"timestamp\":\"{time}\",\"message\":{{\"id\":\"m{second}\",\"content\":[{{\"type\":\"text\",\"text\":\"x\"}}],\"usage\":{{\"output_tokens\":{tokens}}}}}}}\n"
    )
}

fn filler(second: u64, length: usize) -> String {
    let text = "x".repeat(length);
    format!("{{\"type\":\"user\",\"timestamp\":\"{}\",\"message\":\"{text}\"}}\n", at(second))
}

#[test]
fn only_what_was_gained_is_read_again() {
    let mut place = TestTranscript::new(&[row(1, 10)]);
    assert_eq!(place.counts(0), 10);
    assert_eq!(place.counts(0), 10);
    place.append(&row(2, 5));
    let half = row(3, 7);
    place.append(&half[..30]);
    assert_eq!(place.counts(0), 15);
    place.append(&half[30..]);
    assert_eq!(place.counts(0), 22);
}

#[test]
fn a_transcript_that_was_replaced_or_cut_counts_nothing_twice() {
    let mut place = TestTranscript::new(&[row(1, 10), row(2, 5)]);
    assert_eq!(place.counts(0), 15);
    fs::write(place.path(), row(1, 10)).unwrap();
    assert_eq!(place.counts(0), 15, "cut");
    let other = place.folder.path().join("other");
    fs::write(&other, [row(1, 10), row(2, 5), filler(2, 9_000), row(3, 2)].concat()).unwrap();
    fs::rename(&other, place.path()).unwrap();
    assert_eq!(place.counts(0), 17, "replaced");
    place.append(&row(4, 1));
    assert_eq!(place.counts(0), 18);
}

#[test]
fn what_was_said_before_the_loop_is_not_even_read() {
    let old = (0..40).map(|n| row(n, 1_000) + &filler(n, 100_000));
    let new = [row(50, 3), filler(50, 300_000), row(51, 4)];
    let rows: Vec<String> = old.chain(new).collect();
    let mut place = TestTranscript::new(&rows);
    let mut file = File::open(place.path()).unwrap();
    let length = file.metadata().unwrap().len();
    let first = first_row(&mut file, length, at(50)).unwrap();
    assert!(first > length / 2 && first < length - 300_000, "{first} of {length}");
    assert_eq!(place.counts(50), 7);
    assert_eq!(TestTranscript::new(&rows).counts(0), 40_007);
}

#[test]
fn a_pipe_a_folder_and_nothing_at_all_cost_nothing_and_are_not_waited_for() {
    let place = TestTranscript::new(&[]);
    let pipe = place.folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut usage = Usage::default();
    for path in [&pipe, place.folder.path(), Path::new("/nonexistent/t"), Path::new("")] {
        count(path, at(0), &mut usage).unwrap();
        assert!(!worked_since(path, at(0)));
        assert!(!anything_waits(path));
    }
    assert_eq!(usage, Usage::default());
}

#[test]
fn a_transcript_beyond_all_measure_is_counted_in_parts() {
    let mut place = TestTranscript::new(&[row(1, 10)]);
    let length = MOST_AT_ONCE + 1000;
    fs::OpenOptions::new().write(true).open(place.path()).unwrap().set_len(length).unwrap();
    place.append(&format!("\n{}", row(2, 5)));
    // The hole is a single row without a time.
    assert_eq!(place.counts(0), 10);
    assert!(place.usage.sources.values().all(|source| source.offset == MOST_AT_ONCE));
    assert_eq!(place.counts(0), 15);
}

#[test]
fn a_tool_call_is_found_behind_a_result_that_fills_the_tail() {
    let call = format!(
        "{{\"type\":\"assistant\",\"timestamp\":\"{}\",\"message\":{{\"content\":[{{\"type\":\"tool_use\"}}]}}}}\n",
        at(5)
    );
    let place = TestTranscript::new(&[row(1, 1), call, filler(6, 400_000), row(7, 1)]);
    assert!(worked_since(&place.path(), at(5)));
    assert!(!worked_since(&place.path(), at(6)));
    assert!(!worked_since(&TestTranscript::new(&[row(7, 1)]).path(), at(6)));
}

#[test]
fn rows_about_the_queue_are_looked_for_where_a_turn_began_and_after_that() {
    let queued = "{\"type\":\"queue-operation\",\"operation\":\"enqueue\"}\n".to_owned();
    let place = TestTranscript::new(&[row(1, 1), queued.clone(), filler(2, 10_000)]);
    let path = &place.path();
    let began = offset_now(path);
    assert!(may_hold_queue_rows(path, 0));
    assert!(!may_hold_queue_rows(path, began), "of an earlier turn");
    let half = queued.len() / 2;
    place.append(&queued[..half]);
    let within = offset_now(path);
    place.append(&queued[half..]);
    assert!(may_hold_queue_rows(path, began));
    assert!(may_hold_queue_rows(path, within), "it was being written");
    place.append(&filler(3, 2 << 20));
    assert!(!may_hold_queue_rows(path, began), "too far back");
    fs::write(path, queued).unwrap();
    assert!(may_hold_queue_rows(path, began), "written anew");
}
