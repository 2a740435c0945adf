//! The review of a loop's changes, between the moment when the criteria hold and the end: when it is
//! due, and what its findings do to the loop.

use crate::evidence::completion_feedback::Withheld;
use crate::evidence::receipt::Proof;
use crate::evidence::request::Answer;
use crate::evidence::review::{confirmed, task};
use crate::state::{LoopState, Phase, ReviewLens, ReviewPlan, ReviewRound, TaskStatus};
use crate::stop;

/// Rounds of review, unless the settings name another number.
pub const ROUNDS: u32 = 3;

/// Has the loop's changes reviewed. A loop that is reviewed already keeps its lenses.
pub fn ask_for(state: &mut LoopState, rounds: u32, lenses: Vec<ReviewLens>) {
    match &mut state.review {
        Some(plan) => plan.rounds = rounds,
        None => state.review = Some(ReviewPlan { rounds, lenses, ..ReviewPlan::default() }),
    }
}

/// The number of the round of review that is due now that the criteria have run; `None` if the loop
/// may end, or has other work to do. Files that changed while the reviewers read call for another
/// round, as a major finding does. `is_first`: no round was made yet, so what would be refused once needs no review.
pub fn due(state: &LoopState, proof: &Proof, is_first: bool) -> Option<u32> {
    let plan = state.review.as_ref()?;
    let n_done = u32::try_from(state.reviews.len()).unwrap_or(u32::MAX);
    let settles_nothing =
        |last: &ReviewRound| confirmed(&last.findings).count() > 0 || !last.changed.is_empty();
    let is_open = state.reviews.last().is_none_or(settles_nothing);
    let is_done = state.task_graph.iter().all(|task| task.status == TaskStatus::Done);
    let is_met = match state.acceptance_criteria.is_empty() {
        true => !state.task_graph.is_empty(),
        false => matches!(
            stop::granted(&mut state.clone(), proof, !is_first),
            Answer::Complete(_) | Answer::Unverified { .. }
        ),
    };
    let may =
        state.ending.is_none() && Withheld::from_state(state).is_none() && n_done < plan.rounds;
    (may && is_open && is_done && is_met).then_some(n_done + 1)
}

/// Adds a round of review. Its confirmed major findings become tasks; returns how many.
pub fn record(state: &mut LoopState, mut round: ReviewRound) -> usize {
    let mut number = state.task_graph.iter().filter_map(|task| number_of(&task.id)).max();
    let mut n_tasks = 0;
    let ids: Vec<usize> = (0..round.findings.len())
        .filter(|at| confirmed(std::slice::from_ref(&round.findings[*at])).count() > 0)
        .collect();
    for at in ids {
        let next = number.map_or(1, |number| number.saturating_add(1));
        let id = format!("T-{next}");
        number = Some(next);
        state.task_graph.push(task(&round.findings[at], &id));
        round.findings[at].task = Some(id);
        n_tasks += 1;
    }
    state.reviews.push(round);
    if n_tasks > 0 {
        if state.phase == Phase::Verification {
            state.phase = Phase::Implementation;
        }
        state.forget_progress();
    }
    n_tasks
}

fn number_of(id: &str) -> Option<u64> {
    id.strip_prefix("T-")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::receipt;
    use crate::state::{
        Criterion, CriterionRunner, Finding, Receipt, StartedReviewer, Task, Tokens,
    };

    /// A loop whose one criterion holds, to be reviewed in at most two rounds.
    fn held() -> (LoopState, Proof) {
        let mut criterion = Criterion { id: "AC-1".to_owned(), ..Criterion::default() };
        let tree = || "t".to_owned();
        let receipt = Receipt {
            passed: true,
            tree_before: tree(),
            tree_after: tree(),
            by: CriterionRunner::Driver,
            ..Receipt::default()
        };
        receipt::record(&mut criterion, receipt);
        let mut state = LoopState { acceptance_criteria: vec![criterion], ..LoopState::default() };
        ask_for(&mut state, 2, Vec::new());
        let trees = [("AC-1".to_owned(), tree())].into();
        (state, Proof { trees, ..Proof::default() })
    }

    fn round(severities: &[&str]) -> ReviewRound {
        let finding = |severity: &&str| Finding {
            severity: (*severity).to_owned(),
            file: "a.rs".to_owned(),
            line: 1,
            what: "it is wrong".to_owned(),
            ..Finding::default()
        };
        ReviewRound { findings: severities.iter().map(finding).collect(), ..ReviewRound::default() }
    }

    #[test]
    fn a_review_is_due_once_all_criteria_hold_and_only_if_the_user_asked_for_it() {
        let (state, proof) = held();
        assert_eq!(due(&state, &proof, false), Some(1));
        assert_eq!(due(&state, &Proof::default(), false), None, "a criterion does not hold");
        let unasked = LoopState { review: None, ..state.clone() };
        assert_eq!(due(&unasked, &proof, false), None);
        let open = LoopState { task_graph: vec![Task::default()].into(), ..state.clone() };
        assert_eq!(due(&open, &proof, false), None, "a task is open");
        let mut bare = LoopState { acceptance_criteria: Vec::new(), ..open };
        bare.task_graph[0].status = TaskStatus::Done;
        assert_eq!(due(&bare, &proof, false), Some(1), "its tasks are all that is asked");
        bare.task_graph.clear();
        assert_eq!(due(&bare, &proof, false), None);
        let mut over = state;
        over.end(crate::state::EndingKind::Cancelled, "", jiff::Timestamp::UNIX_EPOCH);
        assert_eq!(due(&over, &proof, false), None);
    }

    #[test]
    fn major_findings_become_tasks_and_the_next_round_begins_after_them() {
        let (mut state, proof) = held();
        state.task_graph.push(Task {
            id: "T-4".to_owned(),
            status: TaskStatus::Done,
            ..Task::default()
        });
        assert_eq!(record(&mut state, round(&["minor", "major", "major"])), 2);
        let ids: Vec<&str> = state.task_graph.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(ids, ["T-4", "T-5", "T-6"]);
        let tasks: Vec<_> = state.reviews[0].findings.iter().map(|one| one.task.clone()).collect();
        assert_eq!(tasks, [None, Some("T-5".to_owned()), Some("T-6".to_owned())]);
        assert_eq!(due(&state, &proof, false), None);
        state.task_graph.iter_mut().for_each(|task| task.status = TaskStatus::Done);
        assert_eq!(due(&state, &proof, false), Some(2));
    }

    #[test]
    fn a_round_without_a_major_finding_is_the_last_and_so_is_the_last_that_is_allowed() {
        let (mut clean, proof) = held();
        assert_eq!(record(&mut clean, round(&["minor"])), 0);
        assert_eq!(due(&clean, &proof, false), None);
        let (mut long, proof) = held();
        for _ in 0..2 {
            record(&mut long, round(&["major"]));
            long.task_graph.iter_mut().for_each(|task| task.status = TaskStatus::Done);
        }
        assert_eq!(due(&long, &proof, false), None);
    }

    #[test]
    fn dropped_findings_are_no_tasks() {
        let (mut state, _) = held();
        let mut lied = round(&["major"]);
        lied.findings[0].dropped = "it cites no line".to_owned();
        assert_eq!(record(&mut state, lied), 0);
        assert!(state.task_graph.is_empty());
    }

    #[test]
    fn a_reviewer_counts_once_towards_the_cost_of_the_loop() {
        let (mut state, _) = held();
        let started =
            |id: &str| StartedReviewer { session_id: id.to_owned(), ..StartedReviewer::default() };
        state.reviewers = vec![started("a"), started("b")];
        let tokens = Tokens { output: 7, ..Tokens::default() };
        for _ in 0..2 {
            state.count_reviewer("a", tokens, 0.5);
            state.count_reviewer("unknown", tokens, 0.5);
        }
        assert_eq!((state.usage.total(), state.usage.cost), (7, 0.5));
        assert_eq!(state.reviewers, [started("b")]);
    }

    #[test]
    fn what_changed_while_the_reviewers_read_is_reviewed_in_the_next_round() {
        let (mut state, proof) = held();
        let moved = ReviewRound { changed: vec!["a.rs".to_owned()], ..round(&[]) };
        assert_eq!(record(&mut state, moved), 0);
        assert_eq!(due(&state, &proof, false), Some(2));
        record(&mut state, round(&[]));
        assert_eq!(due(&state, &proof, false), None);
    }

    #[test]
    fn only_tasks_lead_back_from_the_verification() {
        let after = |severities: &[&str], phase: Phase| {
            let (mut state, _) = held();
            (state.phase, state.stall_hashes) = (phase, vec!["a".to_owned()]);
            state.task_graph.push(Task { id: "T-x".to_owned(), ..Task::default() });
            let n_tasks = record(&mut state, round(severities));
            (n_tasks, state.phase, state.stall_hashes.len(), state.task_graph.len())
        };
        assert_eq!(after(&["minor"], Phase::Verification), (0, Phase::Verification, 1, 1));
        assert_eq!(after(&["major"], Phase::Verification), (1, Phase::Implementation, 0, 2));
        assert_eq!(after(&["major"], Phase::Paused), (1, Phase::Paused, 0, 2));
        let (mut state, _) = held();
        ask_for(&mut state, 5, vec![crate::state::ReviewLens::default()]);
        let plan = state.review.unwrap();
        assert_eq!((plan.rounds, plan.lenses.len()), (5, 0), "its lenses stay");
        let mut new = LoopState::default();
        ask_for(&mut new, 1, vec![crate::state::ReviewLens::default()]);
        assert_eq!(new.review.unwrap().lenses.len(), 1);
    }
}
