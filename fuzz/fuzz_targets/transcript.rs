//! The rows of a transcript: what waits, how a turn was cut, and what it has cost.
#![no_main]

use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use ralph_core::state::{Source, Tokens};
use ralph_core::transcript::cutoff;
use ralph_core::transcript::row::{self, Counter, TranscriptRow};
use ralph_fuzz::{cuts, folder, write};
use ralph_io::client::transcript;

fn lines(text: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n')
}

/// Every row that parses, where the product looks only at those that may tell something.
fn all_rows(text: &[u8]) -> Vec<TranscriptRow> {
    lines(text).filter_map(TranscriptRow::parse).collect()
}

fn telling_rows(text: &[u8]) -> Vec<TranscriptRow> {
    lines(text).filter_map(cutoff::telling).collect()
}

fn count(pieces: &[&[u8]], since: Timestamp) -> (Tokens, Source) {
    let (mut sum, mut source) = (Tokens::default(), Source::default());
    let mut counter = Counter::new(&mut sum, &mut source, since);
    pieces.iter().for_each(|piece| counter.feed(piece));
    (sum, source)
}

fn check_counting(text: &[u8]) {
    let whole = count(&[text], Timestamp::MIN);
    for pieces in cuts(text) {
        assert_eq!(count(&pieces, Timestamp::MIN), whole, "wherever it was split");
    }
    let ended = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    assert_eq!(whole.1.offset, ended as u64, "a row that has not ended is left for later");
    // Read up to a line, and from there on at another time.
    let half =
        text[..text.len() / 2].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let (mut sum, mut source) = count(&[&text[..half]], Timestamp::MIN);
    assert!(sum.total() <= whole.0.total(), "what was counted is never taken back");
    Counter::new(&mut sum, &mut source, Timestamp::MIN).feed(&text[half..]);
    assert_eq!((sum, source), whole, "in two readings as in one");
    assert!(count(&[text], Timestamp::UNIX_EPOCH).0.total() <= whole.0.total());
}

fuzz_target!(|text: &[u8]| {
    let (all, telling) = (all_rows(text), telling_rows(text));
    let waits = cutoff::command_waits(telling.clone().into_iter(), &[]);
    assert_eq!(waits, cutoff::command_waits(all.clone().into_iter(), &[]));
    let anything = cutoff::anything_waits(telling.clone().into_iter());
    assert!(anything || !waits);
    assert!(cutoff::may_hold_queue_rows(text) || !anything);
    let cut = cutoff::cut_by(telling.into_iter(), None, Timestamp::MAX);
    assert_eq!(
        cut,
        cutoff::cut_by(all.into_iter(), None, Timestamp::MAX),
        "no mark is passed over"
    );
    let worked = row::since(Timestamp::MIN, lines(text));
    assert!(worked || !row::since(Timestamp::UNIX_EPOCH, lines(text)));
    check_counting(text);

    let path = folder().join("transcript.jsonl");
    write(&path, text);
    assert_eq!(transcript::command_waits(&path, 0, &[]), waits);
    // The reader of the file passes over marks that follow no row, so it may tell less.
    let _ = transcript::cut_by(&path, None);
    assert_eq!(transcript::worked_since(&path, Timestamp::MIN), worked);
});
