use super::*;
use crate::tasks::shared::fixture::id;

#[track_caller]
fn check(status: Option<char>, expected: Option<u64>, chain: Option<&[u64]>, settled: Settled) {
    let chain: Option<Vec<_>> = chain.map(|ids| ids.iter().copied().map(id).collect());
    let (record, expected) = (id(5), expected.map(id));
    let attempt = Attempt {
        record: &record,
        expected: expected.as_ref(),
        status,
        chain: chain.as_deref(),
        locked: None,
    };
    assert_eq!(settle(&attempt), settled, "{attempt:?}");
}

#[test]
fn a_line_for_an_updated_reference_proves_that_the_push_landed() {
    for status in ['*', '+', ' ', '-', '='] {
        check(Some(status), Some(4), None, Settled::Landed);
    }
}

#[test]
fn without_such_a_line_the_chain_decides() {
    for status in [None, Some('!')] {
        check(status, Some(4), None, Settled::Read);
        check(status, Some(4), Some(&[3, 4, 5]), Settled::Landed);
        check(status, Some(4), Some(&[3, 4, 5, 6]), Settled::Landed);
        check(status, Some(4), Some(&[3, 4]), Settled::Again);
        check(status, Some(4), Some(&[3, 4, 6]), Settled::Lost);
        check(status, None, Some(&[]), Settled::Again);
        check(status, None, Some(&[6]), Settled::Lost);
        // Somebody deleted the reference.
        check(status, Some(4), Some(&[]), Settled::Lost);
    }
    use Settled::{Again, Landed, Lost, Read, StaleLock};
    let is_final = [Landed, Lost, Read, Again, StaleLock].map(Settled::is_final);
    assert_eq!(is_final, [true, true, false, false, false]);
}

#[test]
fn a_lock_that_stays_for_a_minute_is_stale_unless_the_record_landed() {
    let (record, expected, other) = (id(5), id(4), id(6));
    let attempt = |chain, seconds| {
        settle(&Attempt {
            record: &record,
            expected: Some(&expected),
            status: Some('!'),
            chain: Some(chain),
            locked: Some(Duration::from_secs(seconds)),
        })
    };
    let old = std::slice::from_ref(&expected);
    assert_eq!(attempt(old, 59), Settled::Again);
    assert_eq!(attempt(old, 60), Settled::StaleLock);
    assert_eq!(attempt(std::slice::from_ref(&record), 60), Settled::Landed);
    assert_eq!(attempt(std::slice::from_ref(&other), 60), Settled::Lost);
}

#[test]
fn pauses_double_up_to_a_bound_and_chance_moves_each_within_its_half() {
    let seconds = Duration::from_secs;
    assert_eq!(
        (retry_pause(2, 0.0), retry_pause(2, 1.0)),
        (Duration::from_millis(500), seconds(1))
    );
    assert_eq!((retry_pause(4, 1.0), retry_pause(7, 1.0)), (seconds(4), seconds(30)));
    assert_eq!(
        (retry_pause(u32::MAX, 7.0), retry_pause(0, -1.0)),
        (seconds(30), Duration::from_millis(500))
    );
}
