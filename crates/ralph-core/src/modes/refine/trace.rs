//! Decision traces: what each round proposed, what happened to it and why, and how well the
//! reported numbers agree with the measurements.

use super::state::{Refinement, RoundEntry};
use super::{PlanAfter, RoundEnd};
use crate::text::plural::counted;
use serde::Serialize;

/// What happened to a round's proposals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The proposals are in the plan or in the tasks.
    Accepted,
    Rejected,
    /// The round was cut and will be repeated.
    Cut,
}

/// How a round's reported number compares with the measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Agrees {
    Yes,
    /// The round reports little, but much was measured.
    SaysLess,
    /// The round reports a change, but none was measured.
    SaysMore,
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trace {
    /// The number of the round, from 1.
    pub round: u32,
    /// The proposals in the round's own words.
    pub proposed: Vec<String>,
    /// How many changes the round reports; `None` if unknown.
    pub said: Option<u32>,
    /// The measured change in words; `None` if unknown.
    pub measured: Option<String>,
    pub decision: Decision,
    pub why: String,
    pub agrees: Agrees,
}

/// All rounds of a refinement in chronological order.
pub fn traces(session: &Refinement) -> Vec<Trace> {
    session.history.iter().map(|entry| trace(session, entry)).collect()
}

fn trace(session: &Refinement, entry: &RoundEntry) -> Trace {
    let (decision, why) = match (&entry.end, &entry.plan) {
        (RoundEnd::Interrupted, _) => (Decision::Cut, entry.summary.clone()),
        (_, PlanAfter::Declined) => (Decision::Rejected, "the user declined them".to_owned()),
        (_, PlanAfter::KeptEdit) => (
            Decision::Rejected,
            "the user edited the plan meanwhile, and that edit stays".to_owned(),
        ),
        _ => (Decision::Accepted, "not declined".to_owned()),
    };
    let proposed = match (entry.proposed.is_empty(), entry.summary.as_str()) {
        (true, "") => Vec::new(),
        (true, summary) if decision != Decision::Cut => vec![summary.to_owned()],
        _ => entry.proposed.clone(),
    };
    Trace {
        round: entry.iteration,
        proposed,
        said: entry.changes,
        measured: entry.measured.as_ref().map(ToString::to_string),
        decision,
        why,
        agrees: agrees(session, entry),
    }
}

fn agrees(session: &Refinement, entry: &RoundEntry) -> Agrees {
    let (Some(said), Some(measured)) = (entry.changes, &entry.measured) else {
        return Agrees::Unknown;
    };
    match (said, measured.amount()) {
        (0 | 1, _) if !measured.is_small(&session.settings) => Agrees::SaysLess,
        (1.., 0) => Agrees::SaysMore,
        _ => Agrees::Yes,
    }
}

/// The traces in words, followed by how credible the reported numbers are.
pub fn lines(session: &Refinement) -> Vec<String> {
    let all = traces(session);
    let changes = |said: u32| counted(said as usize, "change", "changes");
    let (mut lines, mut incredible) = (Vec::new(), Vec::new());
    for one in &all {
        let said = one.said.map_or("no number".to_owned(), changes);
        let measured = one.measured.as_deref().unwrap_or("unknown");
        let decision = match one.decision {
            Decision::Accepted => "accepted",
            Decision::Rejected => "rejected",
            Decision::Cut => "cut",
        };
        lines.push(format!("round {}: says {said}; measured: {measured}", one.round));
        lines.extend(one.proposed.iter().map(|proposal| format!("  proposed: {proposal}")));
        lines.push(format!("  {decision}: {}", one.why));
        if matches!(one.agrees, Agrees::SaysLess | Agrees::SaysMore) {
            incredible.push(format!(
                "round {} reports {said}, but measured: {measured}; check it with `ralph refine diff`",
                one.round
            ));
        }
    }
    let rounds = |decision| all.iter().filter(|one| one.decision == decision).count();
    let agreeing = |agrees| all.iter().filter(|one| one.agrees == agrees).count();
    lines.push(format!(
        "calibration: {} accepted, {} rejected, {} cut; the number agrees with what was measured in {} of {}",
        counted(rounds(Decision::Accepted), "round", "rounds"),
        rounds(Decision::Rejected),
        rounds(Decision::Cut),
        agreeing(Agrees::Yes),
        counted(all.len() - agreeing(Agrees::Unknown), "round", "rounds")
    ));
    lines.extend(incredible);
    lines
}

#[cfg(test)]
mod tests {
    use super::super::RefineSettings;
    use super::super::measure::{ArtefactChange, PlanChange};
    use super::*;
    use jiff::Timestamp;

    fn session() -> Refinement {
        let entry = |iteration, changes, lines, plan| RoundEntry {
            iteration,
            changes,
            measured: Some(ArtefactChange::Plan(PlanChange {
                lines,
                sections: 1,
                ..PlanChange::default()
            })),
            plan,
            summary: format!("summary {iteration}"),
            ..RoundEntry::default()
        };
        let mut first = entry(1, Some(2), 4, PlanAfter::Applied);
        first.proposed = vec!["split it".to_owned(), "name it".to_owned()];
        let cut = RoundEntry {
            iteration: 2,
            end: RoundEnd::Interrupted,
            summary: "its client ended".to_owned(),
            ..RoundEntry::default()
        };
        Refinement {
            history: vec![
                first,
                cut,
                entry(2, Some(0), 40, PlanAfter::Declined),
                entry(3, Some(3), 0, PlanAfter::KeptEdit),
                entry(4, None, 1, PlanAfter::Applied),
            ],
            ..Refinement::new("p.md", RefineSettings::default(), Timestamp::UNIX_EPOCH)
        }
    }

    #[test]
    fn each_round_has_its_proposals_its_decision_and_the_reason() {
        assert_eq!(
            lines(&session()),
            [
                "round 1: says 2 changes; measured: 4 lines in 1 section",
                "  proposed: split it",
                "  proposed: name it",
                "  accepted: not declined",
                "round 2: says no number; measured: unknown",
                "  cut: its client ended",
                "round 2: says 0 changes; measured: 40 lines in 1 section",
                "  proposed: summary 2",
                "  rejected: the user declined them",
                "round 3: says 3 changes; measured: nothing",
                "  proposed: summary 3",
                "  rejected: the user edited the plan meanwhile, and that edit stays",
                "round 4: says no number; measured: 1 line in 1 section",
                "  proposed: summary 4",
                "  accepted: not declined",
                "calibration: 2 rounds accepted, 2 rejected, 1 cut; the number agrees with what was measured in 1 of 3 rounds",
                "round 2 reports 0 changes, but measured: 40 lines in 1 section; check it with \
                 `ralph refine diff`",
                "round 3 reports 3 changes, but measured: nothing; check it with `ralph refine \
                 diff`",
            ]
        );
    }
}
