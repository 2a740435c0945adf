//! The rounds of a refinement: reported changes, measured changes, and results.

use super::Tone;
use super::words::{self, LONG, share};
use crate::modes::refine::chart::{self, PictureBar};
use crate::modes::refine::state::{Refinement, RoundEntry};
use crate::modes::refine::{Mode, PlanAfter, RoundEnd, look};
use jiff::Timestamp;

/// Rounds shown, the latest ones.
const MOST_ROUNDS: usize = 60;

/// The rounds shown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rounds {
    /// The rounds, oldest first.
    pub all: Vec<ReportRound>,
    /// The unit of the measurements: `lines`, `tasks`.
    pub unit: &'static str,
    /// Earlier rounds that are not shown.
    pub n_left_out: usize,
}

/// One round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportRound {
    /// Number of the round, from 1. A round that was cut precedes its repetition under the same
    /// number.
    pub number: u32,
    /// The result in one or two words.
    pub word: &'static str,
    pub tone: Tone,
    /// The number of changes that the round reported.
    pub said: Amount,
    /// The measured amount of change.
    pub measured: Amount,
    /// The measured change in words; `None` if unknown.
    pub change: Option<String>,
    /// The round's own summary; for a round that was cut, the reason.
    pub summary: String,
    /// Other remarks for people.
    pub remarks: Vec<&'static str>,
    /// The version of the plan that the round wrote.
    pub version: Option<u32>,
}

/// A number of one round, relative to the other rounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Amount {
    /// The number, or a word if there is none.
    pub word: String,
    /// The share of the largest number, in percent; `None` if unknown.
    pub share: Option<u8>,
}

/// A stored version of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionSeen {
    /// Number of the version, from 1.
    pub number: u32,
    /// The round that wrote or found it; 0 if none did.
    pub round: u32,
    /// Whether that round wrote it.
    pub is_written: bool,
    /// The origin, in words.
    pub what: String,
    /// When it was stored.
    pub at: Timestamp,
}

/// The rounds of a refinement.
pub(super) fn of(session: &Refinement, versions: &[VersionSeen]) -> Rounds {
    let n_left_out = session.history.len().saturating_sub(MOST_ROUNDS);
    let shown = |marks: Vec<PictureBar>| amounts(&marks[n_left_out..]);
    let said = shown(chart::said(session));
    let measured = shown(chart::measured(session));
    let numbers = said.into_iter().zip(measured);
    let all = numbers.enumerate().map(|(at, (said, measured))| {
        let at = at + n_left_out;
        let entry = &session.history[at];
        let streak = look(&session.history[..=at], &session.settings).streak;
        let (word, tone) = standing(entry, streak);
        let is_its = |one: &&VersionSeen| one.is_written && one.round == entry.iteration;
        let is_cut = entry.end == RoundEnd::Interrupted;
        let version = versions.iter().rev().find(is_its).filter(|_| !is_cut);
        ReportRound {
            number: entry.iteration,
            word,
            tone,
            said,
            measured,
            change: entry.measured.as_ref().map(ToString::to_string),
            summary: words::line(&entry.summary, LONG),
            remarks: remarks(session, entry),
            version: version.map(|version| version.number),
        }
    });
    let unit = if session.mode == Mode::Plan { "lines" } else { "tasks" };
    Rounds { all: all.collect(), unit, n_left_out }
}

fn standing(entry: &RoundEntry, streak: u32) -> (&'static str, Tone) {
    match (&entry.end, &entry.plan) {
        (RoundEnd::Interrupted, _) => ("cut", Tone::Warn),
        (_, PlanAfter::KeptEdit) => ("set aside", Tone::Warn),
        (_, PlanAfter::Declined) => ("declined", Tone::Quiet),
        _ if entry.changes.is_none() || entry.measured.is_none() => ("unknown", Tone::Warn),
        _ if streak > 0 => ("settling", Tone::Good),
        _ => ("changed", Tone::Quiet),
    }
}

fn remarks(session: &Refinement, entry: &RoundEntry) -> Vec<&'static str> {
    let is_plan = session.mode == Mode::Plan;
    let edited = match is_plan {
        true => "the plan was edited by somebody else before it, so the count began anew",
        false => "the tasks were edited by somebody else before it, so the count began anew",
    };
    let after = match &entry.plan {
        PlanAfter::KeptEdit => Some(
            "the plan was edited by somebody else while it ran: that edit stands, and what the round wrote is a version",
        ),
        PlanAfter::Declined => Some("you declined it: the plan is unchanged"),
        PlanAfter::Applied | PlanAfter::Other(_) => None,
    };
    entry.edited_before.then_some(edited).into_iter().chain(after).collect()
}

fn amounts(marks: &[PictureBar]) -> Vec<Amount> {
    let number =
        |mark: &PictureBar| if let PictureBar::Number(number) = mark { *number } else { 0 };
    let most = marks.iter().map(number).max().unwrap_or_default();
    let amount = |mark: &PictureBar| match mark {
        PictureBar::Number(number) => {
            Amount { word: words::grouped(*number), share: Some(share(*number, most)) }
        }
        PictureBar::Unknown => Amount { word: "unknown".to_owned(), share: None },
        PictureBar::Cut => Amount { word: "cut".to_owned(), share: None },
    };
    marks.iter().map(amount).collect()
}
