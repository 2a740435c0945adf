//! The current time, and its forms.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ralph_core::modes::orchestration::local_time::LocalTime;
use std::time::{SystemTime, UNIX_EPOCH};

/// The current time in milliseconds: finer digits only make documents harder to read.
pub fn now() -> Timestamp {
    // Not `Timestamp::now`: it panics if the clock is out of range, and would link the text of
    // every jiff error into each hook.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let milliseconds = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millisecond(milliseconds).unwrap_or(Timestamp::MAX)
}

/// A time with the UTC offset of the user's clock.
pub fn local(at: Timestamp) -> LocalTime {
    LocalTime { at, offset: TimeZone::system().to_offset(at) }
}

/// A time as used in file names: `20260131T235959Z`.
pub fn compact(at: Timestamp) -> String {
    // Derived from the standard form, which documents need anyway: a general formatter would be the
    // largest part of a hook after the state parser.
    let whole: String = at.to_string().chars().filter(|c| !matches!(c, '-' | ':')).collect();
    let seconds = whole.split(['.', 'Z']).next().unwrap_or(&whole);
    format!("{seconds}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_in_a_file_name_has_whole_seconds_and_no_marks() {
        for time in ["2026-01-31T23:59:59Z", "2026-01-31T23:59:59.123Z"] {
            assert_eq!(compact(time.parse().unwrap()), "20260131T235959Z");
        }
    }
}
