//! What follows an event in a refinement: the next round, a question, or the end.
//!
//! Every end of a refinement is decided here, from the refinement's own data. A refused event
//! changes nothing.

use super::contract;
use super::measure::ArtefactChange;
use super::state::{OpenRound, Refinement, RoundEntry};
use super::{Mode, PlanAfter, Plateau, RoundEnd, Status, look};
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
    if let Some(plateau) = look(&session.history, &session.settings).plateau {
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

#[cfg(test)]
mod tests;
