//! The rounds of a refinement as a line of bars, with their totals.
//!
//! An unknown number has its own mark and is not shown as a low bar. Up to seven changes, a bar's
//! height is the number itself; only larger numbers scale the bars, so that a refinement of small
//! rounds looks small.

use super::measure::ArtefactChange;
use super::state::{Refinement, RoundEntry};
use super::{Mode, RoundEnd, streak};
use crate::text::plural::{counted, noun};

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The most rounds that one line shows; it shows the last ones.
const ROOM: usize = 60;

/// The bar of one round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureBar {
    Number(u64),
    /// The number is unknown: `?`.
    Unknown,
    /// The round was cut: `×`.
    Cut,
}

/// The number of a bar, for sums and shares.
pub fn number(mark: &PictureBar) -> u64 {
    if let PictureBar::Number(number) = mark { *number } else { 0 }
}

/// Draws the bars of these rounds.
pub fn bars(marks: &[PictureBar]) -> String {
    let start = marks.len().saturating_sub(ROOM);
    let shown = &marks[start..];
    let most = u128::from(shown.iter().map(number).max().unwrap_or_default().max(7));
    let bar = |mark: &PictureBar| match mark {
        // Round up, so that a number above zero never looks like zero.
        PictureBar::Number(number) => {
            let height = (u128::from(*number) * 7).div_ceil(most);
            BARS[usize::try_from(height).unwrap_or(7).min(7)]
        }
        PictureBar::Unknown => '?',
        PictureBar::Cut => '×',
    };
    let before = (start > 0).then_some('…');
    before.into_iter().chain(shown.iter().map(bar)).collect()
}

fn mark(entry: &RoundEntry, number: Option<u64>) -> PictureBar {
    match (&entry.end, number) {
        (RoundEnd::Interrupted, _) => PictureBar::Cut,
        (_, Some(number)) => PictureBar::Number(number),
        (_, None) => PictureBar::Unknown,
    }
}

/// The bars of the reported changes.
pub fn reported_bars(session: &Refinement) -> Vec<PictureBar> {
    session.history.iter().map(|entry| mark(entry, entry.changes.map(u64::from))).collect()
}

/// The bars of the measured changes.
pub fn measured_bars(session: &Refinement) -> Vec<PictureBar> {
    let amount = |entry: &RoundEntry| entry.measured.as_ref().map(ArtefactChange::amount);
    session.history.iter().map(|entry| mark(entry, amount(entry))).collect()
}

/// The measured changes of all rounds that were not cut.
pub fn total_measured(session: &Refinement) -> u64 {
    measured_bars(session).iter().map(number).fold(0, u64::saturating_add)
}

/// Summarizes a refinement in a few lines: the bars of reported and measured changes, their totals,
/// how close the refinement is to a plateau, and how many rounds remain.
pub fn lines(session: &Refinement) -> Vec<String> {
    let mut lines = Vec::new();
    if !session.history.is_empty() {
        let of = |marks: &[PictureBar], sum: String| {
            let unknown = marks.iter().filter(|mark| **mark == PictureBar::Unknown).count();
            let unknown = match unknown {
                0 => String::new(),
                unknown => format!(", {unknown} unknown"),
            };
            format!("{}  {sum}{unknown}", bars(marks))
        };
        let said = counted(session.total_changes as usize, "change", "changes");
        let measured = total_measured(session) as usize;
        let measured = match session.mode {
            Mode::Plan => counted(measured, "line", "lines"),
            _ => counted(measured, "bead", "beads"),
        };
        lines.push(format!("said      {}", of(&reported_bars(session), said)));
        lines.push(format!("measured  {}", of(&measured_bars(session), measured)));
    }
    let (done, most) = (session.iterations_completed, session.settings.max_iterations);
    let mut standing = format!("round {done} of {most}, {} left", session.left());
    let streak = streak(&session.history, &session.settings);
    if streak > 0 && !session.status.is_over() {
        let needed = session.settings.plateau_threshold;
        standing.push_str(&format!(
            ", {streak} of {needed} {} towards a plateau",
            noun(needed, "round", "rounds")
        ));
    }
    lines.push(standing);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modes::refine::RefineSettings;
    use crate::modes::refine::measure::PlanChange;
    use jiff::Timestamp;

    fn numbers(numbers: &[u64]) -> Vec<PictureBar> {
        numbers.iter().copied().map(PictureBar::Number).collect()
    }

    #[track_caller]
    fn check(marks: &[PictureBar], expected: &str) {
        assert_eq!(bars(marks), expected, "{marks:?}");
    }

    #[test]
    fn a_bar_is_a_number_up_to_seven_and_scaled_beyond() {
        check(&[], "");
        check(&numbers(&[0, 1, 2, 3, 4, 5, 6, 7]), "▁▂▃▄▅▆▇█");
        check(&numbers(&[1, 0, 1]), "▂▁▂");
        check(&numbers(&[70, 35, 1, 0]), "█▅▂▁");
        check(&numbers(&[u64::MAX, u64::MAX / 2, 0]), "█▅▁");
    }

    #[test]
    fn what_is_not_known_is_no_low_bar() {
        check(
            &[PictureBar::Number(0), PictureBar::Unknown, PictureBar::Cut, PictureBar::Number(7)],
            "▁?×█",
        );
        check(&[PictureBar::Unknown], "?");
    }

    #[test]
    fn the_last_rounds_of_many_are_shown() {
        let mut many = numbers(&[9_999]);
        many.extend(numbers(&[1; 60]));
        // The large round is out of sight, so it does not scale the others down.
        check(&many, &format!("…{}", "▂".repeat(60)));
    }

    fn session() -> Refinement {
        let entry = |iteration, changes, lines| RoundEntry {
            iteration,
            changes,
            measured: Some(ArtefactChange::Plan(PlanChange { lines, ..PlanChange::default() })),
            ..RoundEntry::default()
        };
        let cut = RoundEntry { iteration: 3, end: RoundEnd::Interrupted, ..RoundEntry::default() };
        Refinement {
            history: vec![entry(1, Some(5), 40), entry(2, None, 1), cut, entry(3, Some(1), 2)],
            iterations_completed: 3,
            total_changes: 6,
            ..Refinement::new("p.md", RefineSettings::default(), Timestamp::UNIX_EPOCH)
        }
    }

    #[test]
    fn a_session_is_a_few_lines() {
        let mut session = session();
        assert_eq!(
            lines(&session),
            [
                "said      ▆?×▂  6 changes, 1 unknown",
                "measured  █▂×▂  43 lines",
                "round 3 of 10, 7 left"
            ]
        );
        let one = session.history[3].clone();
        session.history.push(RoundEntry { iteration: 4, changes: Some(0), ..one });
        session.iterations_completed = 4;
        let line = lines(&session).pop().unwrap();
        assert_eq!(line, "round 4 of 10, 6 left, 1 of 2 rounds towards a plateau");
    }

    #[test]
    fn one_that_has_had_no_round_has_no_bars() {
        let session = Refinement::new("", RefineSettings::default(), Timestamp::UNIX_EPOCH);
        assert_eq!(lines(&session), ["round 0 of 10, 10 left"]);
    }
}
