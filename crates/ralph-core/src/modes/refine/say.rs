//! The messages to the user about a round and about the end of a refinement.

use super::state::{Refinement, RoundEntry};
use super::{Mode, PlanAfter, RoundEnd, Status};
use crate::text::plural::counted;
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
    let said = match entry.end {
        RoundEnd::Interrupted => {
            format!("round {at} of {most} was cut: {}; it runs again", entry.summary)
        }
        _ => {
            let summary = match entry.summary.as_str() {
                "" => String::new(),
                summary => format!(" ({summary})"),
            };
            format!("round {at} of {most}: {}{summary}; {measured}", reported(entry))
        }
    };
    std::iter::once(said).chain(remarks(session, entry)).collect()
}

fn reported(entry: &RoundEntry) -> String {
    entry.changes.map_or_else(
        || "it reported no number of changes".to_owned(),
        |changes| counted(changes as usize, "change", "changes"),
    )
}

/// What else the user should know about a round, one sentence each.
pub fn remarks(session: &Refinement, entry: &RoundEntry) -> Vec<String> {
    let (what, at) = (artefact(session), entry.iteration);
    let edited =
        format!("{what} changed between the rounds; the count towards a plateau starts again");
    let after = match &entry.plan {
        PlanAfter::KeptEdit => Some(format!(
            "{what} was edited while round {at} ran: that edit stays, and the text of the round is \
             kept as a version"
        )),
        PlanAfter::Declined => Some("its changes were declined; the plan is unchanged".to_owned()),
        PlanAfter::Applied | PlanAfter::Other(_) => None,
    };
    entry.edited_before.then_some(edited).into_iter().chain(after).collect()
}

/// How the refinement ended, in one or two lines; empty while it continues.
pub fn ending(session: &Refinement) -> Vec<String> {
    let (what, done) = (artefact(session), session.iterations_completed);
    let (ending, at) = match (&session.status, session.plateau()) {
        (_, Some(at)) => (format!("plateau at round {at}: {what} no longer changes"), at),
        (Status::MaxIterations, _) => {
            let rounds = counted(done as usize, "round", "rounds");
            (format!("ended after {rounds}, its limit, and {what} still changes"), done)
        }
        (Status::Cancelled, _) => ("cancelled by the user".to_owned(), done),
        _ => return Vec::new(),
    };
    let advice = format!(
        "the plateau came early (round {at}): a fresh session may find more. Open one and type \
         `/plan-refinery context`, then `/plan-refinery review`"
    );
    std::iter::once(ending).chain(session.is_early().then_some(advice)).collect()
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
    let measured = entry.measured.as_ref().map(|it| format!("; measured: {it}"));
    format!(
        "{subject}\n\n{rest}Round {} of the refinement {name} of {file}: {}{}.\n",
        entry.iteration,
        reported(entry),
        measured.unwrap_or_default()
    )
}

fn artefact(session: &Refinement) -> &'static str {
    if session.mode == Mode::Plan { "the plan" } else { "the list of tasks" }
}

#[cfg(test)]
mod tests {
    use super::super::RefineSettings;
    use super::super::measure::{ArtefactChange, PlanChange};
    use super::*;
    use jiff::Timestamp;

    fn session() -> Refinement {
        Refinement::new("p.md", RefineSettings::default(), Timestamp::UNIX_EPOCH)
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
            &[
                "it reported no number of changes (clearer steps); what changed could not be measured",
            ],
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
}
