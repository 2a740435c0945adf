//! The time.

use jiff::Timestamp;

/// The time now, to the millisecond: finer digits only make documents harder to read.
pub fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
}

/// A time as it stands in file names: `20260131T235959Z`.
pub fn compact(at: Timestamp) -> String {
    at.strftime("%Y%m%dT%H%M%SZ").to_string()
}
