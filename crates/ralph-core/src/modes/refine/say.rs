//! The messages to the user about a round and about the end of a refinement.

use super::chart::count;
use super::state::{Refinement, RoundEntry};
use super::{Mode, PlanAfter, Plateau, RefineOutcome, RoundEnd, Status};
use crate::text::truncate::bounded;

/// Maximum length of a commit's subject, in UTF-16 units.
const SUBJECT: usize = 72;

/// A round in one line, plus one line for each thing that the user should know about it.
pub fn round(session: &Refinement, entry: &RoundEntry) -> Vec<String> {
    let (at, most) = (entry.iteration, session.settings.max_iterations);
    let measured = match &entry.measured {
        Some(measured) => format!("measured: {measured}"),
        None => "what changed could not be measured".to_owned(),
    };
    let said = match (&entry.end, entry.changes) {
        (RoundEnd::Interrupted, _) => {
            format!("round {at} of {most} was cut: {}; it runs again", entry.summary)
        }
        (_, Some(changes)) => {
            let changes = count(changes.into(), "change");
            let summary = match entry.summary.as_str() {
                "" => String::new(),
                summary => format!(" ({summary})"),
            };
            format!("round {at} of {most}: {changes}{summary}; {measured}")
        }
        (_, None) => {
            format!("round {at} of {most}: it reported no number of changes; {measured}")
        }
    };
    let mut lines = vec![said];
    let what = artefact(session);
    if entry.edited_before {
        lines.push(format!(
            "{what} changed between the rounds; the count towards a plateau starts again"
        ));
    }
    match &entry.plan {
        PlanAfter::KeptEdit => lines.push(format!(
            "{what} was edited while round {at} ran: that edit stays, and the text of the round is \
             kept as a version"
        )),
        PlanAfter::Declined => {
            lines.push("its changes were declined; the plan is unchanged".to_owned());
        }
        PlanAfter::Applied | PlanAfter::Other(_) => {}
    }
    lines
}

/// How the refinement ended, in one or two lines; empty while it continues.
pub fn ending(session: &Refinement, outcome: &RefineOutcome) -> Vec<String> {
    let what = artefact(session);
    match outcome {
        RefineOutcome::Plateau(plateau) => {
            let at = plateau.at;
            let mut lines = vec![format!("plateau at round {at}: {what} no longer changes")];
            if plateau.is_early {
                lines.push(format!(
                    "the plateau came early (round {at}): a fresh session may find more. Open one \
                     and type `/plan-refinery context`, then `/plan-refinery review`"
                ));
            }
            lines
        }
        RefineOutcome::Cap { at } => vec![format!(
            "ended after {}, its limit, and {what} still changes",
            count((*at).into(), "round")
        )],
        RefineOutcome::Interrupted { iteration } => {
            vec![format!("interrupted in round {iteration}; continuing runs that round again")]
        }
        RefineOutcome::Cancelled => vec!["cancelled by the user".to_owned()],
        RefineOutcome::Begin { .. } | RefineOutcome::AskAgain(_) | RefineOutcome::Next { .. } => {
            Vec::new()
        }
    }
}

/// The message of the commit with a round's change of the plan: the round's summary, and its
/// numbers.
pub fn commit(name: &str, session: &Refinement, entry: &RoundEntry) -> String {
    let file = &session.plan_file;
    let line = match entry.summary.as_str() {
        "" => format!("Refine {file}"),
        summary => summary.to_owned(),
    };
    let (subject, rest) = match line.char_indices().nth(SUBJECT) {
        None => (line.clone(), String::new()),
        // If the subject is cut, the body repeats it in full.
        Some(_) => (bounded(&line, SUBJECT), format!("{line}\n\n")),
    };
    let said = match entry.changes {
        Some(changes) => count(changes.into(), "change"),
        None => "it reported no number of changes".to_owned(),
    };
    let measured = entry.measured.as_ref().map(|it| format!("; measured: {it}"));
    format!(
        "{subject}\n\n{rest}Round {} of the refinement {name} of {file}: {said}{}.\n",
        entry.iteration,
        measured.unwrap_or_default()
    )
}

/// How a finished refinement ended, from its stored status; empty while it continues.
pub fn of_status(session: &Refinement) -> Vec<String> {
    let at = session.iterations_completed;
    let outcome = match (
        &session.status,
        super::evaluate_rounds(&session.history, &session.settings).plateau,
    ) {
        (Status::Plateau, Some(plateau)) => RefineOutcome::Plateau(plateau),
        (Status::Plateau, None) => RefineOutcome::Plateau(Plateau { at, is_early: false }),
        (Status::MaxIterations, _) => RefineOutcome::Cap { at },
        (Status::Cancelled, _) => RefineOutcome::Cancelled,
        (Status::Running | Status::Interrupted | Status::Other(_), _) => return Vec::new(),
    };
    ending(session, &outcome)
}

fn artefact(session: &Refinement) -> &'static str {
    if session.mode == Mode::Plan { "the plan" } else { "the list of tasks" }
}

#[cfg(test)]
mod tests {
    use super::super::measure::{ArtefactChange, PlanChange};
    use super::super::{Plateau, RefineSettings};
    use super::*;
    use jiff::Timestamp;

    fn session() -> Refinement {
        Refinement::new(Mode::Plan, "p.md", RefineSettings::default(), Timestamp::UNIX_EPOCH)
    }

    #[track_caller]
    fn check(change: impl Fn(&mut RoundEntry), expected: &[&str]) {
        let plan = PlanChange { lines: 4, sections: 1, ..PlanChange::default() };
        let mut entry = RoundEntry {
            iteration: 3,
            changes: Some(2),
            summary: "clearer steps".to_owned(),
            measured: Some(ArtefactChange::Plan(plan)),
            ..RoundEntry::default()
        };
        change(&mut entry);
        let lines = round(&session(), &entry);
        assert_eq!(lines.len(), expected.len(), "{lines:?}");
        for (line, words) in lines.iter().zip(expected) {
            assert!(line.contains(words), "{line}");
        }
    }

    #[test]
    fn a_round_says_both_numbers() {
        check(
            |_| (),
            &["round 3 of 10: 2 changes (clearer steps); measured: 4 lines in 1 section"],
        );
        check(|entry| entry.changes = Some(1), &["1 change (clearer"]);
        check(
            |entry| (entry.changes, entry.measured) = (None, None),
            &["it reported no number of changes; what changed could not be measured"],
        );
    }

    #[test]
    fn what_others_did_to_the_plan_is_told() {
        check(|entry| entry.edited_before = true, &["round 3", "the plan changed between"]);
        check(
            |entry| entry.plan = PlanAfter::KeptEdit,
            &["round 3", "edited while round 3 ran: that edit stays"],
        );
        check(|entry| entry.plan = PlanAfter::Declined, &["round 3", "declined"]);
        check(
            |entry| entry.end = RoundEnd::Interrupted,
            &["round 3 of 10 was cut: clearer steps; it runs again"],
        );
    }

    #[test]
    fn a_commit_has_the_summary_and_what_is_known_of_the_round() {
        let of = |summary: &str, changes| {
            let summary = summary.to_owned();
            commit(
                "api",
                &session(),
                &RoundEntry { iteration: 3, changes, summary, ..RoundEntry::default() },
            )
        };
        assert_eq!(
            of("clearer steps", Some(2)),
            "clearer steps\n\nRound 3 of the refinement api of p.md: 2 changes.\n"
        );
        assert!(of("", None).starts_with("Refine p.md\n\nRound 3"), "{}", of("", None));
        let long = of(&"word ".repeat(30), None);
        let (subject, body) = long.split_once("\n\n").unwrap();
        assert!(subject.chars().count() <= SUBJECT && subject.ends_with('…'), "{subject}");
        assert!(body.starts_with("word word"), "what was cut stands below: {body}");
    }

    #[test]
    fn an_early_plateau_brings_the_advice_and_a_late_one_does_not() {
        let of =
            |at, is_early| ending(&session(), &RefineOutcome::Plateau(Plateau { at, is_early }));
        let early = of(4, true).join("\n");
        assert!(
            early.contains("early (round 4)") && early.contains("`/plan-refinery context`"),
            "{early}"
        );
        assert_eq!(of(5, false), ["plateau at round 5: the plan no longer changes"]);
        let cap = ending(&session(), &RefineOutcome::Cap { at: 10 });
        assert!(cap[0].starts_with("ended after 10 rounds"), "{cap:?}");
        assert!(ending(&session(), &RefineOutcome::Next { iteration: 2 }).is_empty());
    }
}
