//! What follows an event in a refinement: the next round, a question, or the end, and whether the last
//! rounds changed little enough for an end.
//!
//! Every end of a refinement is decided here, from the refinement's own data. A refused event
//! changes nothing.

use crate::modes::refine::measure::ArtefactChange;
use crate::modes::refine::state::{OpenRound, Refinement, RoundEntry};
use crate::modes::refine::{Mode, PlanAfter, RefineSettings, RoundEnd, Status, contract};
use crate::text::plural::noun;
use crate::text::sanitize::plain;
use crate::text::truncate::bounded;
use jiff::Timestamp;
use std::fmt;

/// UTF-16 units kept of the reason why a round was cut.
const KEPT: usize = 300;

/// Something that happened to a refinement.
#[derive(Debug, Clone, PartialEq)]
pub enum RefineEvent<'a> {
    /// A round is about to begin: the first, the next, or the repetition of one that was cut.
    Begun {
        /// Digest of the artefact as it is now.
        artefact: &'a str,
    },
    /// The client ended its turn.
    Ended {
        message: &'a str,
        /// The change since the round began; `None` if it could not be measured.
        measured: Option<ArtefactChange>,
        /// What happened to the plan that the round wrote.
        plan: PlanAfter,
        /// Digest of the artefact as it is now.
        artefact: &'a str,
    },
    /// The client, or the process that ran it, exited or was ended.
    Cut {
        why: &'a str,
        /// The change since the round began; `None` if it could not be measured.
        measured: Option<ArtefactChange>,
        /// Digest of the artefact as it is now.
        artefact: &'a str,
    },
    /// The user ended the refinement.
    Cancelled,
}

/// What follows an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefineOutcome {
    Begin {
        /// The number of the round, from 1.
        iteration: u32,
        /// True if the artefact was changed from outside since the previous round.
        edited_before: bool,
    },
    /// The client of this round is asked again with this text, in the same session.
    AskAgain(String),
    /// Another round follows.
    Next {
        /// The number of the round, from 1.
        iteration: u32,
    },
    /// The artefact no longer changes.
    Plateau(Plateau),
    /// The refinement has had its maximum number of rounds.
    Cap { at: u32 },
    /// The round was cut; the refinement continues on request.
    Interrupted {
        /// The round that will be repeated.
        iteration: u32,
    },
    /// The user ended the refinement.
    Cancelled,
}

/// Why an event is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefineRefusal {
    NoRound,
    /// A round is already in progress.
    RoundOpen {
        iteration: u32,
    },
    Over(Status),
    /// The refinement has had its maximum number of rounds.
    NoRoundLeft {
        max_iterations: u32,
    },
    /// The mode or the status comes from a newer version.
    Unknown(String),
}

impl fmt::Display for RefineRefusal {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RefineRefusal::NoRound => to.write_str("no round is open; begin one first"),
            RefineRefusal::RoundOpen { iteration } => write!(
                to,
                "round {iteration} is open; end it, or record it as cut, before the next"
            ),
            RefineRefusal::Over(status) => {
                write!(to, "the refinement is over ({status}); start one with another name")
            }
            RefineRefusal::NoRoundLeft { max_iterations } => write!(
                to,
                "the refinement has used all of its {max_iterations} {}; allow more, or start one \
                 with another name",
                noun(*max_iterations, "round", "rounds")
            ),
            RefineRefusal::Unknown(word) => {
                let word = bounded(word, 60);
                write!(
                    to,
                    "the refinement has `{word}`, which this ralph does not know; update ralph"
                )
            }
        }
    }
}

/// Applies an event to the refinement.
///
/// # Errors
/// The event does not fit the refinement's state. The refinement is unchanged, except when the
/// round's report was unreadable and no round was open.
pub fn step(
    session: &mut Refinement,
    event: RefineEvent,
    now: Timestamp,
) -> Result<RefineOutcome, RefineRefusal> {
    known(session)?;
    match event {
        RefineEvent::Begun { artefact } => begun(session, artefact, now),
        RefineEvent::Ended { message, measured, plan, artefact } => {
            let said = contract::read(message);
            let flaws = said.flaws();
            let open = session.round.as_mut().ok_or(RefineRefusal::NoRound)?;
            if !flaws.is_empty() && !open.asked_again {
                open.asked_again = true;
                return Ok(RefineOutcome::AskAgain(contract::ask_again(&flaws)));
            }
            let entry = RoundEntry {
                changes: said.changes.ok(),
                summary: said.summary.unwrap_or_default(),
                proposed: contract::proposals(message),
                measured,
                plan,
                ..RoundEntry::default()
            };
            close(session, entry, artefact, now)?;
            Ok(ended(session, now))
        }
        RefineEvent::Cut { why, measured, artefact } => {
            let iteration = close(session, cut(why, measured), artefact, now)?;
            session.status = Status::Interrupted;
            Ok(RefineOutcome::Interrupted { iteration })
        }
        RefineEvent::Cancelled => {
            if session.status.is_over() {
                return Err(RefineRefusal::Over(session.status.clone()));
            }
            if session.round.is_some() {
                let artefact = session.artefact.clone();
                close(session, cut("the user ended the refinement", None), &artefact, now)?;
            }
            over(session, Status::Cancelled, now);
            Ok(RefineOutcome::Cancelled)
        }
    }
}

fn known(session: &Refinement) -> Result<(), RefineRefusal> {
    match (&session.mode, &session.status) {
        (Mode::Other(word), _) | (_, Status::Other(word)) => {
            Err(RefineRefusal::Unknown(word.clone()))
        }
        _ => Ok(()),
    }
}

fn begun(
    session: &mut Refinement,
    artefact: &str,
    now: Timestamp,
) -> Result<RefineOutcome, RefineRefusal> {
    if let Some(open) = &session.round {
        return Err(RefineRefusal::RoundOpen { iteration: open.iteration });
    }
    match session.status {
        // If the user raised the maximum number of rounds, the refinement continues.
        Status::Running | Status::Interrupted | Status::MaxIterations => {}
        _ => return Err(RefineRefusal::Over(session.status.clone())),
    }
    if session.left() == 0 {
        return Err(RefineRefusal::NoRoundLeft { max_iterations: session.settings.max_iterations });
    }
    let iteration = session.iterations_completed + 1;
    let edited_before = !session.artefact.is_empty() && session.artefact != artefact;
    session.artefact = artefact.to_owned();
    session.round =
        Some(OpenRound { iteration, started_at: now, edited_before, ..OpenRound::default() });
    (session.status, session.ended_at) = (Status::Running, None);
    Ok(RefineOutcome::Begin { iteration, edited_before })
}

fn cut(why: &str, measured: Option<ArtefactChange>) -> RoundEntry {
    let why = plain(why);
    let why: Vec<&str> = why.split_whitespace().collect();
    RoundEntry {
        summary: bounded(&why.join(" "), KEPT),
        measured,
        end: RoundEnd::Interrupted,
        ..RoundEntry::default()
    }
}

/// Moves the open round to the history, and returns its number.
fn close(
    session: &mut Refinement,
    entry: RoundEntry,
    artefact: &str,
    now: Timestamp,
) -> Result<u32, RefineRefusal> {
    let open = session.round.take().ok_or(RefineRefusal::NoRound)?;
    if entry.end == RoundEnd::Done {
        session.iterations_completed = open.iteration;
        session.total_changes += u64::from(entry.changes.unwrap_or_default());
    }
    artefact.clone_into(&mut session.artefact);
    session.history.push(RoundEntry {
        iteration: open.iteration,
        edited_before: open.edited_before,
        ended_at: Some(now),
        ..entry
    });
    Ok(open.iteration)
}

/// Applies an event to the refinement.
///
/// # Errors
/// The event does not fit the refinement's state; the refinement is unchanged.
fn ended(session: &mut Refinement, now: Timestamp) -> RefineOutcome {
    if let Some(plateau) = evaluate_rounds(&session.history, &session.settings).plateau {
        session.plateau_at = Some(plateau.at);
        over(session, Status::Plateau, now);
        return RefineOutcome::Plateau(plateau);
    }
    if session.left() == 0 {
        over(session, Status::MaxIterations, now);
        return RefineOutcome::Cap { at: session.iterations_completed };
    }
    RefineOutcome::Next { iteration: session.iterations_completed + 1 }
}

fn over(session: &mut Refinement, status: Status, now: Timestamp) {
    session.status = status;
    session.ended_at = Some(now);
}

// Whether a refinement has settled: several consecutive rounds of little change.
//
// A round counts if it reports at most one change, the round before it reported at most two, and
// the measured change is small too. An unknown number is never small: a round without a number or
// a measurement, or a round that was cut, resets the count.

/// The most changes that a counting round may report.
const LITTLE: u32 = 1;

/// The most changes that the round before it may report.
const LITTLE_BEFORE: u32 = 2;

/// The last round at which a plateau is early.
const EARLY: u32 = 4;

/// The state of a refinement after the rounds so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Look {
    /// How many consecutive rounds of little change there are, up to the last round.
    pub streak: u32,
    /// The plateau, if the last round reached it.
    pub plateau: Option<Plateau>,
}

/// The refinement no longer changes the artefact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plateau {
    /// The round that reached it.
    pub at: u32,
    /// True if the plateau came so early that a fresh session may find more to change.
    pub is_early: bool,
}

/// Evaluates all rounds of a refinement.
pub fn evaluate_rounds(history: &[RoundEntry], settings: &RefineSettings) -> Look {
    let (mut streak, mut before) = (0, None);
    for round in history {
        // An edit from outside makes the text a new one, so the round before it does not count.
        let before_it = if round.edited_before { None } else { before };
        let said = known_changes(round);
        let measured = round.measured.as_ref().is_some_and(|change| change.is_small(settings));
        let is_little = said.is_some_and(|said| said <= LITTLE)
            && before_it.is_some_and(|before| before <= LITTLE_BEFORE)
            && measured;
        streak = if is_little { streak + 1 } else { 0 };
        before = said;
    }
    let at = history.last().map_or(0, |round| round.iteration);
    let is_plateau = streak >= settings.plateau_threshold.max(1) && at >= settings.min_iterations;
    Look { streak, plateau: is_plateau.then_some(Plateau { at, is_early: at <= EARLY }) }
}

/// The changes that a round reports about the current text; `None` if it reports nothing about that
/// text.
fn known_changes(round: &RoundEntry) -> Option<u32> {
    let speaks = round.end == RoundEnd::Done && !matches!(round.plan, PlanAfter::KeptEdit);
    round.changes.filter(|_| speaks && round.measured.is_some())
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod plateau_tests {
    use super::super::measure::{ArtefactChange, BeadChange, PlanChange};
    use super::*;
    use crate::modes::refine::tests::Dice;

    fn entry(iteration: u32, changes: Option<u32>, measured: Option<u64>) -> RoundEntry {
        let beads =
            |changed| ArtefactChange::Beads(BeadChange { changed, ..BeadChange::default() });
        RoundEntry { iteration, changes, measured: measured.map(beads), ..RoundEntry::default() }
    }

    /// Rounds that report these numbers and have a measured change of zero. A negative number is
    /// unknown.
    fn rounds(said: &[i64]) -> Vec<RoundEntry> {
        let numbered = said.iter().zip(1..);
        numbered.map(|(&said, at)| entry(at, u32::try_from(said).ok(), Some(0))).collect()
    }

    /// The rule as the specification writes it.
    fn by_the_document(said: &[i64], threshold: u32, minimum: u32) -> Option<u32> {
        let (mut last, mut count) = (999, 0);
        for (changes, iteration) in said.iter().zip(1..) {
            if *changes <= 1 && last <= 2 {
                count += 1;
            } else {
                count = 0;
            }
            if count >= threshold && iteration >= minimum {
                return Some(iteration);
            }
            last = *changes;
        }
        None
    }

    /// The first round at which a refinement would end.
    fn first(rounds: &[RoundEntry], settings: &RefineSettings) -> Option<u32> {
        (1..=rounds.len())
            .find_map(|to| evaluate_rounds(&rounds[..to], settings).plateau)
            .map(|one| one.at)
    }

    #[test]
    fn it_is_the_documents_rule_for_all_short_histories() {
        for threshold in 1..=3 {
            for minimum in 1..=5 {
                let settings = RefineSettings {
                    plateau_threshold: threshold,
                    min_iterations: minimum,
                    ..RefineSettings::default()
                };
                for number in 0..4_usize.pow(6) {
                    let said: Vec<i64> =
                        (0..6).map(|at| (number / 4_usize.pow(at) % 4) as i64).collect();
                    let expected = by_the_document(&said, threshold, minimum);
                    assert_eq!(first(&rounds(&said), &settings), expected, "{said:?} {settings:?}");
                }
            }
        }
    }

    #[track_caller]
    fn check(rounds: &[RoundEntry], expected: Option<u32>) {
        assert_eq!(first(rounds, &RefineSettings::default()), expected, "{rounds:?}");
    }

    #[test]
    fn the_documents_own_example_needs_one_more_round() {
        check(&rounds(&[5, 4, 3, 2, 1]), None);
        check(&rounds(&[5, 4, 3, 2, 1, 0]), Some(6));
        check(&rounds(&[3, 2, 1, 1]), Some(4));
        check(&rounds(&[0, 0, 0]), Some(3));
        check(&rounds(&[0, 0]), None);
    }

    #[test]
    fn what_is_not_known_is_not_little() {
        check(&rounds(&[2, 1, -1, 1, 0]), None);
        check(&rounds(&[2, 1, -1, 1, 0, 0]), Some(6));
        check(&rounds(&[-1, -1, -1, -1]), None);
        let unmeasured = |at: usize, said: &[i64]| {
            let mut rounds = rounds(said);
            rounds[at].measured = None;
            rounds
        };
        check(&unmeasured(2, &[0, 0, 0]), None);
        check(&unmeasured(2, &[0, 0, 0, 0, 0]), None);
        check(&unmeasured(2, &[0, 0, 0, 0, 0, 0]), Some(6));
    }

    #[test]
    fn an_agent_that_says_nothing_changed_and_rewrites_half_has_not_settled() {
        let zeros = |measured: [u64; 5]| -> Vec<RoundEntry> {
            (1..).zip(measured).map(|(at, beads)| entry(at, Some(0), Some(beads))).collect()
        };
        check(&zeros([9, 9, 9, 9, 9]), None);
        check(&zeros([9, 9, 2, 9, 2]), None);
        check(&zeros([9, 1, 1, 0, 0]), Some(3));
        check(&zeros([9, 9, 1, 2, 1]), None);
        let plan = |lines| {
            let change = PlanChange { lines, ..PlanChange::default() };
            let mut rounds = rounds(&[0, 0, 0]);
            rounds[2].measured = Some(ArtefactChange::Plan(change));
            rounds
        };
        check(&plan(5), Some(3));
        check(&plan(6), None);
    }

    #[test]
    fn a_round_that_was_cut_or_whose_text_was_edited_begins_anew() {
        let with = |change: &dyn Fn(&mut RoundEntry)| {
            let mut rounds = rounds(&[0, 0, 0, 0, 0, 0]);
            change(&mut rounds[2]);
            rounds
        };
        check(&with(&|_| ()), Some(3));
        check(&with(&|round| round.end = RoundEnd::Interrupted), Some(6));
        check(&with(&|round| round.plan = PlanAfter::KeptEdit), Some(6));
        // The round that read the edited text starts a new count.
        check(&with(&|round| round.edited_before = true), Some(5));
        check(&with(&|round| round.plan = PlanAfter::Declined), Some(3));
    }

    #[test]
    fn a_plateau_is_early_up_to_the_fourth_round() {
        let early = |said: &[i64]| {
            evaluate_rounds(&rounds(said), &RefineSettings::default())
                .plateau
                .map(|one| (one.at, one.is_early))
        };
        assert_eq!(early(&[0, 0, 0]), Some((3, true)));
        assert_eq!(early(&[4, 2, 1, 0]), Some((4, true)));
        assert_eq!(early(&[4, 4, 2, 1, 0]), Some((5, false)));
    }

    #[test]
    fn more_that_is_said_or_measured_never_brings_a_plateau() {
        let mut dice = Dice(0x1234);
        let settings = RefineSettings::default();
        for _ in 0..5_000 {
            let length = 1 + u32::try_from(dice.roll(8)).unwrap();
            let mut one = |at| {
                let said = u32::try_from(dice.roll(4)).unwrap();
                let measured = dice.roll(3) as u64;
                entry(at, (said < 3).then_some(said), Some(measured))
            };
            let less: Vec<RoundEntry> = (1..=length).map(&mut one).collect();
            let mut more = less.clone();
            let at = dice.roll(more.len());
            match dice.roll(3) {
                0 => more[at].changes = more[at].changes.map(|said| said + 1),
                1 => more[at].changes = None,
                _ => {
                    more[at].measured = Some(ArtefactChange::Beads(BeadChange {
                        added: 9,
                        ..BeadChange::default()
                    }))
                }
            }
            assert!(
                evaluate_rounds(&more, &settings).streak
                    <= evaluate_rounds(&less, &settings).streak,
                "{less:?} {more:?}"
            );
        }
    }
}
