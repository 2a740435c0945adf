//! The rounds of a refinement: what may begin, what an end or a cut changes, and whether the last rounds
//! changed little enough for an end.
//!
//! Every end of a refinement is decided here, from the refinement's own data. What is refused changes
//! nothing.

use crate::modes::refine::measure::ArtefactChange;
use crate::modes::refine::state::{OpenRound, Refinement, RoundEntry};
use crate::modes::refine::{Mode, PlanAfter, RefineSettings, RoundEnd, Status, contract};
use crate::text::plural::noun;
use crate::text::sanitize::plain;
use crate::text::truncate::bounded;
use jiff::Timestamp;

/// UTF-16 units kept of the reason why a round was cut.
const KEPT: usize = 300;

/// The artefact after a round.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ArtefactAfter {
    /// The change since the round began; `None` if it could not be measured.
    pub measured: Option<ArtefactChange>,
    /// What happened to the plan that the round wrote.
    pub plan: PlanAfter,
    /// Digest of the artefact as it is now.
    pub digest: String,
}

impl Refinement {
    /// Opens a round: the first, the next, or the repetition of one that was cut. Returns its number.
    /// `artefact` is the artefact's digest, and `client_session` the session that makes the round, if
    /// it is known.
    ///
    /// # Errors
    /// Why no round may begin, and what to do.
    pub fn begin(
        &mut self,
        artefact: &str,
        client_session: &str,
        now: Timestamp,
    ) -> Result<u32, String> {
        self.known()?;
        if let Some(OpenRound { iteration, .. }) = &self.round {
            return Err(format!(
                "round {iteration} is open; end it, or record it as cut, before the next"
            ));
        }
        // If the user raised the maximum number of rounds, the refinement continues.
        if self.status.is_over() && self.status != Status::MaxIterations {
            return Err(self.is_over());
        }
        if self.left() == 0 {
            let most = self.settings.max_iterations;
            return Err(format!(
                "the refinement has used all of its {most} {}; allow more, or start one with \
                 another name",
                noun(most, "round", "rounds")
            ));
        }
        let iteration = self.iterations_completed + 1;
        self.round = Some(OpenRound {
            iteration,
            started_at: now,
            edited_before: !self.artefact.is_empty() && self.artefact != artefact,
            client_session: client_session.to_owned(),
            ..OpenRound::default()
        });
        artefact.clone_into(&mut self.artefact);
        (self.status, self.ended_at) = (Status::Running, None);
        Ok(iteration)
    }

    /// The question to the client of the open round, if its last lines cannot be read. It is asked
    /// once, in the same session.
    pub fn ask_again(&mut self, message: &str) -> Option<String> {
        let report = contract::read(message);
        let flaws = report.flaws();
        let open = self.round.as_mut().filter(|open| !open.asked_again && !flaws.is_empty())?;
        open.asked_again = true;
        Some(contract::ask_again(&flaws))
    }

    /// Ends the open round with its client's last message; the status tells what follows.
    ///
    /// # Errors
    /// No round is open.
    pub fn end(
        &mut self,
        message: &str,
        after: ArtefactAfter,
        now: Timestamp,
    ) -> Result<(), String> {
        self.known()?;
        let report = contract::read(message);
        let entry = RoundEntry {
            changes: report.changes.ok(),
            summary: report.summary.unwrap_or_default(),
            proposed: contract::proposals(message),
            ..RoundEntry::default()
        };
        self.close(entry, after, now)?;
        let at = self.iterations_completed;
        if streak(&self.history, &self.settings) >= self.settings.plateau_threshold.max(1)
            && at >= self.settings.min_iterations
        {
            self.plateau_at = Some(at);
            self.over(Status::Plateau, now);
        } else if self.left() == 0 {
            self.over(Status::MaxIterations, now);
        }
        Ok(())
    }

    /// Records that the client of the open round, or the process that ran it, exited or was ended.
    ///
    /// # Errors
    /// No round is open.
    pub fn cut(&mut self, why: &str, after: ArtefactAfter, now: Timestamp) -> Result<(), String> {
        self.known()?;
        let why = plain(why);
        let why: Vec<&str> = why.split_whitespace().collect();
        let entry = RoundEntry {
            summary: bounded(&why.join(" "), KEPT),
            end: RoundEnd::Interrupted,
            ..RoundEntry::default()
        };
        self.close(entry, after, now)?;
        self.status = Status::Interrupted;
        Ok(())
    }

    /// Ends the refinement at the user's request.
    ///
    /// # Errors
    /// It is over already.
    pub fn cancel(&mut self, now: Timestamp) -> Result<(), String> {
        self.known()?;
        if self.status.is_over() {
            return Err(self.is_over());
        }
        if self.round.is_some() {
            let after = ArtefactAfter { digest: self.artefact.clone(), ..ArtefactAfter::default() };
            self.cut("the user ended the refinement", after, now)?;
        }
        self.over(Status::Cancelled, now);
        Ok(())
    }

    fn known(&self) -> Result<(), String> {
        match (&self.mode, &self.status) {
            (Mode::Other(word), _) | (_, Status::Other(word)) => Err(format!(
                "the refinement has `{}`, which this ralph does not know; update ralph",
                bounded(word, 60)
            )),
            _ => Ok(()),
        }
    }

    fn is_over(&self) -> String {
        format!("the refinement is over ({}); start one with another name", self.status)
    }

    /// Moves the open round to the history.
    fn close(
        &mut self,
        entry: RoundEntry,
        after: ArtefactAfter,
        now: Timestamp,
    ) -> Result<(), String> {
        let open = self.round.take().ok_or("no round is open; begin one first")?;
        if entry.end == RoundEnd::Done {
            self.iterations_completed = open.iteration;
            self.total_changes += u64::from(entry.changes.unwrap_or_default());
        }
        self.artefact = after.digest;
        self.history.push(RoundEntry {
            iteration: open.iteration,
            measured: after.measured,
            plan: after.plan,
            edited_before: open.edited_before,
            ended_at: Some(now),
            ..entry
        });
        Ok(())
    }

    fn over(&mut self, status: Status, now: Timestamp) {
        (self.status, self.ended_at) = (status, Some(now));
    }

    /// The round that reached the plateau, if the refinement ended at one.
    pub fn plateau(&self) -> Option<u32> {
        (self.status == Status::Plateau)
            .then(|| self.plateau_at.unwrap_or(self.iterations_completed))
    }

    /// True if it ended at a plateau so early that a fresh session may find more to change.
    pub fn is_early(&self) -> bool {
        self.plateau().is_some_and(|at| at <= EARLY)
    }
}

/// The most changes that a round of little change may report.
const LITTLE: u32 = 1;

/// The most changes that the round before it may report.
const LITTLE_BEFORE: u32 = 2;

/// The last round at which a plateau is early.
const EARLY: u32 = 4;

/// How many consecutive rounds of little change there are, up to the last round.
///
/// A round counts if it reports at most one change, the round before it reported at most two, and
/// the measured change is small too. An unknown number is never small: a round without a number or
/// a measurement, or a round that was cut, resets the count.
pub fn streak(history: &[RoundEntry], settings: &RefineSettings) -> u32 {
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
    streak
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
        let is_plateau = |to: &u32| {
            streak(&rounds[..*to as usize], settings) >= settings.plateau_threshold
                && *to >= settings.min_iterations
        };
        (1..=u32::try_from(rounds.len()).unwrap()).find(is_plateau)
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
        let early = |at: u32, status: Status| {
            let new = Refinement::new("", RefineSettings::default(), Timestamp::UNIX_EPOCH);
            Refinement { status, plateau_at: Some(at), ..new }.is_early()
        };
        assert!(early(3, Status::Plateau) && early(4, Status::Plateau));
        assert!(!early(5, Status::Plateau) && !early(3, Status::MaxIterations));
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
            assert!(streak(&more, &settings) <= streak(&less, &settings), "{less:?} {more:?}");
        }
    }
}
