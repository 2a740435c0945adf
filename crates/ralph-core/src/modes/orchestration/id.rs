//! The name of an orchestration: `<YYMMDD>-<hhmmss>`, and nothing else.
//!
//! The name becomes a folder, so its form is checked before any lookup: without a separator or a
//! dot, it cannot lead out of the folder of orchestrations.

use std::fmt;

/// The error for any other name.
pub const REFUSED: &str = "Session ID must follow format <YYMMDD>-<hhmmss>";

/// A valid name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrchestrationId(String);

impl OrchestrationId {
    /// Parses a name: six digits that can be a date, a dash, six digits that can be a time of day.
    ///
    /// # Errors
    /// [`REFUSED`], for a name of any other form.
    pub fn parse(name: &str) -> Result<OrchestrationId, &'static str> {
        let holds = name.split_once('-').is_some_and(|(day, time)| is_day(day) && is_time(time));
        if holds { Ok(OrchestrationId(name.to_owned())) } else { Err(REFUSED) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for OrchestrationId {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}

fn is_day(text: &str) -> bool {
    pairs(text).is_some_and(|[_, month, day]| (1..=12).contains(&month) && (1..=31).contains(&day))
}

fn is_time(text: &str) -> bool {
    // A clock may show the second 60.
    pairs(text).is_some_and(|[hour, minute, second]| hour < 24 && minute < 60 && second <= 60)
}

fn pairs(text: &str) -> Option<[u8; 3]> {
    let digits: [u8; 6] = text.as_bytes().try_into().ok()?;
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let pair = |at: usize| (digits[at] - b'0') * 10 + (digits[at + 1] - b'0');
    Some([pair(0), pair(2), pair(4)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_and_a_time_make_a_name() {
        for name in ["260131-235959", "000101-000000", "991231-120060"] {
            assert_eq!(OrchestrationId::parse(name).unwrap().as_str(), name);
        }
    }

    #[test]
    fn anything_else_is_refused_in_these_words() {
        for name in [
            "",
            "-",
            "260131",
            "260131-",
            "260131-23595",
            "260131-2359590",
            "260131_235959",
            "260131-235959/",
            "../260131-235959",
            "260131-235959.md",
            "26013a-235959",
            "２６0131-235959",
            "260131-23:59",
            "260131-235959-1",
            " 260131-235959",
            "261331-000000",
            "260132-000000",
            "260100-000000",
            "260131-240000",
            "260131-006000",
            "260131-000061",
        ] {
            assert_eq!(
                OrchestrationId::parse(name),
                Err("Session ID must follow format <YYMMDD>-<hhmmss>"),
                "{name}"
            );
        }
    }
}
