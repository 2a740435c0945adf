//! The rounds of a refinement as a line of bars, with their totals.
//!
//! An unknown number has its own mark and is not shown as a low bar. Up to seven changes, a bar's
//! height is the number itself; only larger numbers scale the bars, so that a refinement of small
//! rounds looks small.

use super::state::{Refinement, RoundEntry};
use super::{Mode, RoundEnd, evaluate_rounds};
use crate::text::plural::noun;

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

/// Draws the bars of these rounds.
pub fn bars(marks: &[PictureBar]) -> String {
    let number =
        |mark: &PictureBar| if let PictureBar::Number(number) = mark { *number } else { 0 };
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
pub fn measured(session: &Refinement) -> Vec<PictureBar> {
    let amount =
        |entry: &RoundEntry| entry.measured.as_ref().map(super::measure::ArtefactChange::amount);
    session.history.iter().map(|entry| mark(entry, amount(entry))).collect()
}

/// Summarizes a refinement in a few lines: the bars of reported and measured changes, their totals,
/// how close the refinement is to a plateau, and how many rounds remain.
pub fn lines(session: &Refinement) -> Vec<String> {
    let unit = match session.mode {
        Mode::Plan => "line",
        _ => "bead",
    };
    let measured = measured(session);
    let amount = measured.iter().fold(0_u64, |sum, mark| match mark {
        PictureBar::Number(number) => sum.saturating_add(*number),
        PictureBar::Unknown | PictureBar::Cut => sum,
    });
    let mut lines = Vec::new();
    if !session.history.is_empty() {
        let of = |marks: &[PictureBar], sum: u64, what: &str| {
            let unknown = marks.iter().filter(|mark| **mark == PictureBar::Unknown).count();
            let unknown = match unknown {
                0 => String::new(),
                unknown => format!(", {unknown} unknown"),
            };
            format!("{}  {}{unknown}", bars(marks), count(sum, what))
        };
        lines.push(format!(
            "said      {}",
            of(&reported_bars(session), session.total_changes, "change")
        ));
        lines.push(format!("measured  {}", of(&measured, amount, unit)));
    }
    let (done, most) = (session.iterations_completed, session.settings.max_iterations);
    let mut standing = format!("round {done} of {most}, {} left", session.left());
    let streak = evaluate_rounds(&session.history, &session.settings).streak;
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

/// Formats `1 change`, `2 changes`.
pub(super) fn count(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modes::refine::RefineSettings;
    use crate::modes::refine::measure::{ArtefactChange, PlanChange};
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
            ..Refinement::new(Mode::Plan, "p.md", RefineSettings::default(), Timestamp::UNIX_EPOCH)
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
        let session =
            Refinement::new(Mode::Beads, "", RefineSettings::default(), Timestamp::UNIX_EPOCH);
        assert_eq!(lines(&session), ["round 0 of 10, 10 left"]);
    }
}
