//! The messages in each of their forms, compared in whole.

use super::*;
use crate::state::{
    BuildRound, CriterionRunner, Finding, LoopError, Observation, Observed, Outcome, Phase,
    RalplanState, Receipt, ReviewReceipt, ReviewRound, Task, TaskStatus,
};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// A loop that has continued twice of at most five times.
fn running(criteria: Vec<Criterion>) -> LoopState {
    LoopState {
        loop_id: "L".to_owned(),
        session_id: "s".to_owned(),
        phase: Phase::Implementation,
        started_at: Some(at(0)),
        iteration: 2,
        max_iterations: 5,
        acceptance_criteria: criteria,
        ..LoopState::default()
    }
}

fn planning() -> LoopState {
    LoopState { mode: RalplanState::default().into(), ..running(Vec::new()) }
}

fn end(mut state: LoopState, kind: EndingKind, detail: &str) -> String {
    state.end(kind, detail, at(120));
    ended(&state)
}

/// A criterion whose command has passed.
fn passed(id: &str, by: CriterionRunner) -> Criterion {
    Criterion {
        id: id.to_owned(),
        verification_command: "make".to_owned(),
        receipt: Some(Receipt {
            command: "make".to_owned(),
            passed: true,
            by,
            tree_before: "t".to_owned(),
            tree_after: "t".to_owned(),
            ..Receipt::default()
        }),
        ..Criterion::default()
    }
}

fn verified(id: &str) -> Criterion {
    Criterion { verified: true, ..passed(id, CriterionRunner::Hook) }
}

/// A criterion whose command fails without the change.
fn proven(id: &str) -> Criterion {
    let without = Some(Observation { outcome: Outcome::Failed, ..Observation::default() });
    let observed = Observed { tree: "t".to_owned(), without, ..Observed::default() };
    Criterion { observed, ..verified(id) }
}

/// A criterion that a reviewer has judged.
fn reviewed(id: &str, holds: bool, by: CriterionRunner) -> Criterion {
    let mut criterion = passed(id, by);
    criterion.verification_command = String::new();
    criterion.review = Some("is it?".to_owned());
    let receipt = criterion.receipt.as_mut().unwrap();
    (receipt.command, receipt.passed) = (String::new(), holds);
    receipt.review = Some(ReviewReceipt {
        question: "is it?".to_owned(),
        why: "it says so".to_owned(),
        ..ReviewReceipt::default()
    });
    criterion
}

fn judged(id: &str) -> Criterion {
    Criterion { verified: true, ..reviewed(id, true, CriterionRunner::Hook) }
}

#[test]
fn fields_that_the_client_does_not_send_are_named_and_found_again() {
    let text = fields_missing(&["a", "b"]);
    assert_eq!(
        text,
        "this version of Claude Code sends no `a`, `b`, on which the loop depends; run `ralph doctor`"
    );
    let mut state = running(Vec::new());
    let error = |message: &str| LoopError { at: at(1), message: message.to_owned() };
    state.errors = vec![error("disk full"), error(&text)];
    assert_eq!(reported_missing(&state).collect::<Vec<_>>(), [text]);
}

#[test]
fn each_pause_says_what_made_it_if_the_user_does_not_know() {
    let check = |cause, detail: &str, expected: &str| {
        let mut state = running(Vec::new());
        state.pause(cause, detail, at(1));
        assert_eq!(paused(&state), expected);
    };
    check(
        PauseCause::Tampered,
        "its hooks were changed",
        "paused at 2/5: its hooks were changed. If that was not you, undo it; /ralph continues",
    );
    check(PauseCause::Mod, "a mod did it", "paused at 2/5: a mod did it; /ralph continues");
    check(PauseCause::RateLimited, "x", "paused at 2/5 (rate_limited); /ralph continues");
    check(PauseCause::Person, "typed", "paused at 2/5; /ralph continues");
    check(
        PauseCause::Person,
        &unplaced("node, zsh"),
        "paused at 2/5 from the command line, by a process that Ralph cannot place (node, zsh); \
         /ralph continues",
    );
    assert_eq!(paused(&running(Vec::new())), "paused at 2/5; /ralph continues");
}

#[test]
fn a_cancelled_loop_says_who_cancelled_unless_it_was_the_user() {
    let cancelled = |detail: &str| end(running(Vec::new()), EndingKind::Cancelled, detail);
    for detail in ["by the user", "by a person here", "in a terminal"] {
        assert_eq!(cancelled(detail), "Ralph: cancelled after 3 turns, 2 min.");
    }
    assert_eq!(cancelled(""), "Ralph: cancelled after 3 turns, 2 min.");
    assert_eq!(
        cancelled("in a terminal of a mod."),
        "Ralph: cancelled: in a terminal of a mod after 3 turns, 2 min."
    );
    assert_eq!(
        cancelled(&unplaced("node")),
        "Ralph: cancelled from the command line, by a process that Ralph cannot place (node), \
         after 3 turns, 2 min."
    );
    let early = LoopState { started_at: None, iteration: 0, ..running(Vec::new()) };
    let begun = LoopState { iteration: 1, ..early.clone() };
    let started = LoopState { started_at: Some(at(0)), ..early.clone() };
    let told = |state| end(state, EndingKind::Cancelled, "in a terminal");
    assert_eq!(told(early), "Ralph: cancelled before it started.");
    assert_eq!(told(begun), "Ralph: cancelled after 2 turns, 2 min.");
    assert_eq!(told(started), "Ralph: cancelled after 1 turn, 2 min.");
}

#[test]
fn each_ending_is_told_whole() {
    let status = "`ralph status --loop L` shows it.";
    let build =
        "/ralph in Claude Code carries the plan out, or `ralph run --planned` in a terminal.";
    let again = "/ralph \"…\" with a higher limit starts again.";
    let check = |state: LoopState, kind, expected: &str, next: &str| {
        let expected = match next {
            "" => expected.to_owned(),
            next => format!("{expected}\n{next}"),
        };
        assert_eq!(end(state, kind, "it is so."), expected);
    };
    let here = || running(Vec::new());
    let explain = "Check the work yourself; `ralph explain --loop L` shows the last decision.";
    let stalled = "`ralph explain 3 --loop L` shows the last decisions; change the task before you start again.";
    check(here(), EndingKind::Complete, "Ralph: done, after 3 turns, 2 min.", "");
    check(
        here(),
        EndingKind::CompleteUnverified,
        "Ralph: done, without proof, after 3 turns, 2 min.",
        explain,
    );
    check(here(), EndingKind::Budget, "Ralph: stopped: it is so, after 3 turns, 2 min.", again);
    check(here(), EndingKind::Stalled, "Ralph: stalled: it is so, after 3 turns, 2 min.", stalled);
    check(
        here(),
        EndingKind::AwaitingFeedback,
        "Ralph: waiting for your feedback: it is so, after 3 turns, 2 min.",
        status,
    );
    check(here(), EndingKind::Failed, "Ralph: failed: it is so, after 3 turns, 2 min.", status);
    check(
        here(),
        EndingKind::Other("lost".to_owned()),
        "Ralph: lost: it is so, after 3 turns, 2 min.",
        status,
    );
    check(planning(), EndingKind::Approved, "Ralph: plan approved, after 2 min.", build);
    check(planning(), EndingKind::Discarded, "Ralph: plan discarded, after 2 min.", status);
    check(planning(), EndingKind::Failed, "Ralph: planning failed: it is so, after 2 min.", status);
    check(
        planning(),
        EndingKind::MaxIterations,
        "Ralph: planning stopped after 2 min: the limit is 5.",
        again,
    );
    let rounds = LoopState { rounds: 2, ..here() };
    check(
        rounds,
        EndingKind::MaxIterations,
        "Ralph: stopped after 2 rounds, 2 min: the limit is 5.",
        again,
    );
    let once = LoopState { max_iterations: 1, ..here() };
    check(
        once,
        EndingKind::MaxIterations,
        "Ralph: stopped after 3 turns, 2 min: continued 1 time, the limit.",
        again,
    );
    check(
        running(vec![verified("AC-1")]),
        EndingKind::MaxIterations,
        "Ralph: stopped after 3 turns, 2 min: continued 5 times, the limit. The criterion holds.",
        again,
    );
    check(
        running(vec![proven("AC-1")]),
        EndingKind::CompleteUnverified,
        "Ralph: done, without proof: it is so, after 3 turns, 2 min. The criterion holds.",
        explain,
    );
    assert_eq!(
        end(here(), EndingKind::Failed, ""),
        "Ralph: failed, after 3 turns, 2 min.\n`ralph status --loop L` shows it."
    );
}

#[test]
fn an_observed_end_names_the_tasks_the_criteria_and_what_a_review_found() {
    let mut state = running(vec![proven("AC-1")]);
    state.task_graph = vec![Task { status: TaskStatus::Done, ..Task::default() }].into();
    state.acceptance_criteria.push(Criterion { held_before: true, ..verified("AC-2") });
    state.acceptance_criteria.push(Criterion { held_before: true, ..proven("AC-3") });
    state.acceptance_criteria.push(Criterion { held_before: true, ..verified("AC-4") });
    let finding = Finding { severity: "major".to_owned(), ..Finding::default() };
    state.reviews = vec![ReviewRound { findings: vec![finding], ..ReviewRound::default() }];
    assert_eq!(
        end(state, EndingKind::Complete, ""),
        "Ralph: done in 3 turns, 2 min. 1 of 1 task done. make passes; it fails without the change. \
         make passes. make passes; it fails without the change. make passes.\n\
         Held already before the work, so no proof of it: AC-2, AC-4.\n\
         1 round of review: 1 major finding, 0 minor; `ralph report --loop L` lists them."
    );
}

#[test]
fn a_complete_loop_shows_the_first_criteria_and_counts_the_others() {
    let of = |n: usize, n_reviewed: usize| {
        let commands = (0..n).map(|_| verified("AC"));
        let reviews = (0..n_reviewed).map(|_| judged("AC"));
        shown(&running(commands.chain(reviews).collect()))
    };
    let four = "make passes. make passes. make passes. make passes";
    assert_eq!(of(0, 0), "");
    assert_eq!(of(1, 1), "make passes. 1 criterion reviewed");
    assert_eq!(of(4, 0), four);
    assert_eq!(of(5, 2), format!("{four}. 1 more passes. 2 criteria reviewed"));
    assert_eq!(of(6, 0), format!("{four}. 2 more pass"));
}

#[test]
fn what_holds_is_counted_and_called_proven_only_where_it_is() {
    let of = |criteria: &[Criterion], kind: Option<EndingKind>| {
        let mut state = running(criteria.to_vec());
        if let Some(kind) = kind {
            state.end(kind, "", at(120));
        }
        holding(&state)
    };
    let complete = || Some(EndingKind::Complete);
    let check = |criteria: &[Criterion], expected: &str| {
        assert_eq!(of(criteria, complete()), expected);
    };
    check(&[], "");
    check(&[judged("AC-1")], "1 criterion reviewed");
    check(&[judged("AC-1"), judged("AC-2")], "2 criteria reviewed");
    check(&[judged("AC-1"), verified("AC-2")], "1 holds, 1 reviewed");
    check(&[judged("AC-1"), verified("AC-2"), proven("AC-3")], "2 hold, 1 reviewed");
    check(&[judged("AC-1"), proven("AC-2")], "1 proven, 1 reviewed");
    check(&[proven("AC-1")], "the criterion is proven");
    check(&[verified("AC-1")], "the criterion holds");
    check(&[proven("AC-1"), proven("AC-2")], "both criteria proven");
    check(&[proven("AC-1"), proven("AC-2"), proven("AC-3")], "all 3 criteria proven");
    check(&[proven("AC-1"), verified("AC-2")], "both criteria hold");
    let not = |kind| of(&[proven("AC-1")], kind);
    assert_eq!(not(Some(EndingKind::Stalled)), "the criterion holds");
    assert_eq!(not(None), "the criterion holds");
}

#[test]
fn a_criterion_that_does_not_hold_says_why() {
    let check = |criterion: Criterion, why: &str| {
        let told = holding(&running(vec![criterion]));
        assert_eq!(told, format!("the criterion does not hold: {why}"));
    };
    use CriterionRunner::{Command, Hook};
    let unseen = |criterion: Criterion| Criterion { receipt: None, ..criterion };
    check(passed("AC-1", Hook), "AC-1 passed when it was last run");
    check(passed("AC-1", Command), "AC-1 passed in `ralph verify` only");
    check(unseen(passed("AC-1", Hook)), "AC-1 was not run");
    check(reviewed("AC-1", true, Hook), "AC-1 held when it was last reviewed");
    check(
        reviewed("AC-1", true, Command),
        "AC-1 held in `ralph verify`; it is reviewed again at the request for completion",
    );
    check(unseen(reviewed("AC-1", true, Hook)), "AC-1 was not reviewed");
    check(reviewed("AC-1", false, Hook), "AC-1 failed its review: it says so");
    let two = [passed("AC-1", Hook), verified("AC-2"), passed("AC-3", Command)];
    assert_eq!(
        holding(&running(two.to_vec())),
        "1 of 3 criteria hold: AC-1 passed when it was last run; AC-3 passed in `ralph verify` only"
    );
}

#[test]
fn how_far_a_loop_is_is_its_position_or_what_it_took() {
    let mut state = running(Vec::new());
    assert_eq!((turns(&state).as_str(), place(&state).as_str()), ("3 turns", "2/5"));
    let round = LoopState { round: Some(BuildRound::default()), ..state.clone() };
    assert_eq!(turns(&round), "");
    assert_eq!(turns(&LoopState { rounds: 1, ..round }), "1 round");
    assert_eq!(turns(&planning()), "");
    let unbound = LoopState { session_id: String::new(), ..state.clone() };
    assert_eq!(turns(&unbound), "");
    assert_eq!(paused_run(&unbound), "loop L is paused");
    assert_eq!(paused_run(&state), "loop L is paused after 3 turns");
    state.end(EndingKind::Stalled, "", at(1));
    assert_eq!(place(&state), "3 turns");
    let mut unbound = unbound;
    unbound.end(EndingKind::Stalled, "", at(1));
    assert_eq!(place(&unbound), "2/5");
}

#[test]
fn a_state_that_cannot_be_used_says_what_to_type() {
    let home = "/h o";
    for (why, repair) in [
        ("`x` can be written by others", "Type `chmod -R go-w '/h o'` in a terminal"),
        ("it was written by a newer Ralph", "Update Ralph"),
        ("`x` belongs to another user", "Give `/h o` back to your user with `chown -R`"),
        ("`x` is no JSON", "Repair that file"),
    ] {
        assert_eq!(
            unusable(why, home),
            format!(
                "the state of this session's loop cannot be used: {why}. The session may only read \
                 until then. {repair}, then type /ralph; or type /ralph-cancel to end the loop"
            )
        );
        assert_eq!(
            no_start(why, home),
            format!(
                "the state of this session's loop cannot be used: {why}. {repair}, or end that loop \
                 first with /ralph-cancel; nothing was started"
            )
        );
    }
    for (why, repair) in [
        ("No space left on device", "Make room on the disk"),
        ("Read-only file system", "Make the disk writable"),
        ("Disk quota exceeded", "Make room within the quota"),
        ("the lock is held", "Repair that"),
    ] {
        assert_eq!(
            step_failed(why),
            format!(
                "{why}. The loop was not continued, and nothing of it is lost. {repair}, then type \
                 /ralph; or type /ralph-cancel to end the loop"
            )
        );
    }
}
