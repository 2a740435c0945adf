//! A time as the commands of the specification print it: local, with its offset from UTC.

use jiff::Timestamp;
use jiff::tz::Offset;
use std::fmt;

/// A timestamp with the UTC offset of the user's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalTime {
    pub at: Timestamp,
    pub offset: Offset,
}

/// Uses UTC, for rules that only compare times.
impl From<Timestamp> for LocalTime {
    fn from(at: Timestamp) -> LocalTime {
        LocalTime { at, offset: Offset::UTC }
    }
}

/// `2026-01-31T23:59:59+07:00`, in whole seconds.
impl fmt::Display for LocalTime {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{:.0}", self.at.display_with_offset(self.offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_its_offset_and_whole_seconds() {
        let at: Timestamp = "2026-01-31T18:59:59.9Z".parse().unwrap();
        for (hours, text) in [
            (7, "2026-02-01T01:59:59+07:00"),
            (-8, "2026-01-31T10:59:59-08:00"),
            (0, "2026-01-31T18:59:59+00:00"),
        ] {
            let local = LocalTime { at, offset: Offset::constant(hours) };
            assert_eq!(local.to_string(), text);
            assert_eq!(text.parse::<Timestamp>().unwrap().as_second(), at.as_second());
        }
    }
}
