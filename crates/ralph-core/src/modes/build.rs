//! The rounds of `ralph run` and `ralph build`: one task per client, until no task is ready; then, and
//! without tasks, rounds for the goal until the criteria hold.
//!
//! Ralph judges what a round finished: a task is done if the round changed the tree, the task's
//! commands hold, and the model marked the task done. The model's mark alone reopens with a note.
//!
//! Each round runs in its own session, and the loop is bound to that session for as long as it
//! lasts. A task that a client leaves open becomes ready again, with a note for the next client.
//! After [`graph::MOST_ATTEMPTS`] rounds the task is given up, so that a task that always crashes cannot
//! keep the loop running forever.

pub mod prompt;
pub mod review;

use crate::evidence::completion_feedback::Withheld;
use crate::evidence::receipt::Proof;
use crate::evidence::request::{ALL_KEPT, Answer, Refused};
use crate::state::{
    BuildRound, EndingKind, LoopState, PauseCause, Phase, Task, TaskStatus, TaskSummary,
};
use crate::stop;
use crate::stop::progress::{self, ProgressSample};
use crate::tasks::graph::{self, Claim, Lease, TaskError};
use crate::text::truncate::bounded;
use jiff::Timestamp;
use std::collections::BTreeMap;

/// The owner recorded on a task claimed by `ralph build`.
pub const OWNER: &str = "ralph build";

/// The commands of `ralph` that a round may call, whatever the permission mode asks about.
pub const COMMANDS: [&str; 10] = [
    "task done",
    "task fail",
    "task block",
    "task show",
    "task list",
    "verify",
    "try",
    "diff",
    "check",
    "blocked",
];

#[derive(Debug, Clone, PartialEq)]
pub enum NextBuildStep {
    /// Run a round for this task, which is already claimed.
    Task(Box<Claim>),
    /// No task is open: the criteria decide, and the next round is for the goal.
    Criteria,
    /// Tasks are open, but none of them is ready.
    Stuck(TaskSummary),
    /// No proof could complete the loop.
    Withheld(Withheld),
    /// The loop has ended, now or earlier.
    Over,
}

/// The journal's word for the end of a round.
pub const ENDED: &str = "round ended";

/// Begins a round in this session if a task is ready. Ends the loop if a limit is reached.
pub fn begin(
    state: &mut LoopState,
    session_id: &str,
    number: u32,
    now: Timestamp,
) -> NextBuildStep {
    if state.phase == Phase::Ended || !stop::may_go_on(state, now) {
        return NextBuildStep::Over;
    }
    go_on(state, now);
    if let Some(withheld) = Withheld::from_state(state) {
        return NextBuildStep::Withheld(withheld);
    }
    let lease = Lease { owner: OWNER, length: None };
    match graph::claim(&mut state.task_graph, graph::ClaimTarget::Next, lease, now) {
        Ok(claim) => {
            bind(state, session_id, &claim.task.id, number);
            NextBuildStep::Task(Box::new(claim))
        }
        Err(TaskError::NothingReady(summary)) if summary.done < summary.total => {
            NextBuildStep::Stuck(summary)
        }
        Err(_) => NextBuildStep::Criteria,
    }
}

/// Sets a planned or paused loop running. Does not revive a loop that has ended.
pub fn go_on(state: &mut LoopState, now: Timestamp) {
    state.resume(now);
    if state.phase == Phase::Planned {
        state.phase = Phase::Implementation;
    }
    state.started_at.get_or_insert(now);
}

/// Begins a round for the goal: there are no tasks, or none is left that could make the criteria
/// hold.
pub fn begin_for_goal(state: &mut LoopState, session_id: &str, number: u32) {
    bind(state, session_id, "", number);
}

fn bind(state: &mut LoopState, session_id: &str, task: &str, number: u32) {
    state.session_id = session_id.to_owned();
    let done = state.task_graph.iter().filter(|task| task.status == TaskStatus::Done);
    let done = done.map(|task| task.id.clone()).collect();
    state.round = Some(BuildRound { task: task.to_owned(), number, tree: None, done });
    state.rounds = state.rounds.saturating_add(1);
    // The round runs in a new process that has reported nothing yet.
    (state.turn, state.client, state.via) = (None, None, None);
    state.touched = true;
}

/// The id of the task that this round is for; `None` in a round for the goal, and outside of a
/// round.
pub fn task_of_round(state: &LoopState) -> Option<&str> {
    state.round.as_ref().map(|round| round.task.as_str()).filter(|id| !id.is_empty())
}

/// True in a round that is for the goal and for no task. It ends with its turn; then Ralph runs the
/// criteria.
pub fn is_goal_round(state: &LoopState) -> bool {
    state.round.as_ref().is_some_and(|round| round.task.is_empty())
}

/// True if nobody has closed the round's task.
pub fn is_open(state: &LoopState) -> bool {
    let id = state.round.as_ref().map(|round| round.task.as_str());
    let task = state.task_graph.iter().find(|task| Some(task.id.as_str()) == id);
    task.is_none_or(|task| task.status == TaskStatus::InProgress)
}

/// What Ralph found out about a round that is over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoundFacts {
    /// Whether the work tree changed; `None` if unknown.
    pub has_changed: Option<bool>,
    /// The tasks whose commands do not hold, each with the failure. Without a run of its commands a
    /// task counts as failed.
    pub failed: BTreeMap<String, String>,
}

/// The tasks that were marked done in this round.
pub fn marked_done(state: &LoopState) -> Vec<&Task> {
    let Some(round) = &state.round else { return Vec::new() };
    let tasks = state.task_graph.iter();
    tasks.filter(|task| task.status == TaskStatus::Done && !round.done.contains(&task.id)).collect()
}

/// Ends the round. A task that its client left open, or marked done without proof, becomes ready
/// again, with the reason, or is given up after [`graph::MOST_ATTEMPTS`] rounds. Returns a description of
/// the result.
pub fn end(state: &mut LoopState, why: &str, facts: &RoundFacts) -> String {
    let marked: Vec<String> = marked_done(state).iter().map(|task| task.id.clone()).collect();
    let Some(round) = state.round.take() else { return String::new() };
    state.turn = None;
    let mut told = Vec::new();
    for task in &mut state.task_graph {
        let mut reopen = |task: &mut Task, why: String| {
            told.push(format!("{}; {why}", graph::reopen(task, &why, "rounds")));
        };
        let is_rounds = task.id == round.task;
        let refused = match marked.contains(&task.id) {
            true => unproven(task, facts),
            false => None,
        };
        match refused {
            Some(refused) => reopen(task, format!("round {}: {refused}", round.number)),
            None if is_rounds && task.status == TaskStatus::InProgress => {
                let word = format!("round {} left it open: {}", round.number, bounded(why, 300));
                reopen(task, word);
            }
            None if is_rounds => {
                let result = task.result.as_deref().map(|text| format!(": {}", bounded(text, 300)));
                told.push(format!("{} {}{}", task.id, task.status, result.unwrap_or_default()));
            }
            None => {}
        }
    }
    let is_open = state.task_graph.iter().any(|task| task.status != TaskStatus::Done);
    if is_open && state.phase == Phase::Verification {
        state.phase = Phase::Implementation;
    }
    told.join("; ")
}

/// Why a task that was marked done is not.
fn unproven(task: &Task, facts: &RoundFacts) -> Option<String> {
    if facts.has_changed == Some(false) {
        return Some("marked it done and changed no file".to_owned());
    }
    let failed = facts.failed.get(&task.id)?;
    Some(format!("marked it done, but {}", bounded(failed, 600)))
}

/// What follows once no task is open and the criteria have run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    /// The loop has ended.
    Over,
    /// The rounds go on: a criterion does not hold, or the end is refused for the first time.
    Open,
    /// A reviewer judges this first.
    Judge(Refused),
    /// Only the user can accept this.
    AskUser(String),
}

/// When the criteria are settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettleAt<'a> {
    pub now: Timestamp,
    /// No round was made yet: the work of an earlier run may complete the loop, and nothing is refused.
    pub is_first: bool,
    /// No round follows, so the second answer is given at once.
    pub is_last: bool,
    /// A reviewer may judge what would be refused.
    pub may_judge: bool,
    /// What only the user can accept before the loop ends `complete`.
    pub question: Option<&'a str>,
}

/// Ends the loop if the criteria show that the work is done. A loop without criteria ends as unverified, because zero
/// criteria prove nothing; without tasks as well, nothing here can tell that it is done.
pub fn settle(state: &mut LoopState, proof: &Proof, at: SettleAt<'_>) -> Settlement {
    if Withheld::from_state(state).is_some() {
        return Settlement::Open;
    }
    let has_tasks = !state.task_graph.is_empty();
    if state.acceptance_criteria.is_empty() {
        if !has_tasks {
            return Settlement::Open;
        }
        let detail = "all tasks are done; there was no criterion to prove it by";
        state.end(EndingKind::CompleteUnverified, detail, at.now);
        return Settlement::Over;
    }
    let is_last = at.is_last || stop::used_up_by_next(state, at.now);
    let has_begun = has_begun(state, proof);
    let heard = (state.refusals.clone(), state.refused.clone());
    let judged: Vec<String> = state.judgements.iter().map(|one| one.about.clone()).collect();
    let is_judged = |about: &String| judged.contains(about);
    let (kind, detail) = match stop::granted(state, proof, is_last) {
        answer if at.is_first && !(has_begun && matches!(answer, Answer::Complete(_))) => {
            (state.refusals, state.refused) = heard;
            return Settlement::Open;
        }
        Answer::Unverified { about, detail }
            if at.may_judge && about.starts_with(ALL_KEPT) && !is_judged(&about) =>
        {
            return Settlement::Judge(Refused { about: vec![about], why: detail });
        }
        Answer::AskUser(refused) if at.may_judge && !refused.about.iter().all(is_judged) => {
            return Settlement::Judge(refused);
        }
        Answer::AskUser(refused) => {
            return Settlement::AskUser(format!("{}; `ralph accept` accepts it", refused.why));
        }
        Answer::Refused(_) | Answer::NotMet | Answer::Unfinished(_) => return Settlement::Open,
        Answer::Complete(detail) => match at.question {
            Some(why) => {
                return Settlement::AskUser(format!(
                    "{detail}, but {why}; `ralph accept` accepts it"
                ));
            }
            None => (EndingKind::Complete, detail),
        },
        Answer::Unverified { detail, .. } => (EndingKind::CompleteUnverified, detail),
    };
    let detail = if has_tasks { format!("all tasks are done; {detail}") } else { detail };
    state.end(kind, detail, at.now);
    Settlement::Over
}

/// True if something was done since the start of the loop. Without git only the loop itself can tell.
pub fn has_begun(state: &LoopState, proof: &Proof) -> bool {
    match &proof.change {
        Some(change) => !change.is_empty(),
        None => state.iteration > 0 || !state.task_graph.is_empty(),
    }
}

/// Counts a round for the goal that has ended without an end of the loop, and ends the loop if it
/// has stalled. The criteria have run since: `tree` is the fingerprint before that, `tree_after` the
/// one after it, and `work` is [`progress::print_of_work`] before it.
pub fn count_goal_round(
    state: &mut LoopState,
    work: &str,
    tree: Option<&str>,
    tree_after: Option<&str>,
    now: Timestamp,
) {
    let work_after = progress::print_of_work(state, now);
    let shown = ProgressSample {
        work,
        work_after_checks: &work_after,
        tree,
        tree_after_checks: tree_after,
        worked: None,
        // No completion was requested: a check may fail the same way while the work grows.
        refused: false,
    };
    if let Some(stall) = progress::stalled(state, &shown) {
        stop::end(state, EndingKind::Stalled, stall.detail, now);
        if let Some(ending) = &mut state.ending {
            ending.cause = Some(stall.cause);
        }
        return;
    }
    state.iteration += 1;
}

/// Releases the tasks of a builder that is gone. `tree` is the fingerprint of the work tree now.
/// The commands of a task that it marked done last did not run, so such a task is done again.
pub fn free(state: &mut LoopState, tree: Option<&str>) {
    let before = state.round.as_ref().and_then(|round| round.tree.as_deref());
    let has_changed = before.zip(tree).map(|(before, tree)| before != tree);
    let not_run = marked_done(state).into_iter().filter(|task| !task.verify.is_empty());
    let not_run = not_run.map(|task| (task.id.clone(), "its commands did not run".to_owned()));
    let facts = RoundFacts { has_changed, failed: not_run.collect() };
    end(state, "its builder is gone", &facts);
    for task in &mut state.task_graph {
        if task.status == TaskStatus::InProgress && task.owner.as_deref() == Some(OWNER) {
            task.status = TaskStatus::Pending;
            (task.owner, task.lease_expires_at) = (None, None);
        }
    }
}

/// Pauses the loop between two builds.
pub fn pause(state: &mut LoopState, cause: PauseCause, why: &str, now: Timestamp) {
    state.pause(cause, why, now);
    if let Some(pause) = &mut state.pause {
        // The user of `ralph build` has already seen the reason.
        pause.told = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::receipt;
    use crate::state::{
        Criterion, CriterionRunner, Judgement, Observation, Observed, Outcome, Receipt,
    };

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    /// Two tasks: `T-1`, and `T-2`, which depends on it.
    fn planned() -> LoopState {
        let task = |id: &str, deps: &[&str]| Task {
            id: id.to_owned(),
            name: format!("name of {id}"),
            deps: deps.iter().map(|id| (*id).to_owned()).collect(),
            completion_condition: "it is there".to_owned(),
            ..Task::default()
        };
        LoopState {
            task_graph: vec![task("T-1", &[]), task("T-2", &["T-1"])].into(),
            ..LoopState::default()
        }
    }

    fn close(state: &mut LoopState, result: &str) {
        let id = state.round.as_ref().unwrap().task.clone();
        graph::done(&mut state.task_graph, &id, None, Some(result.to_owned())).unwrap();
    }

    fn begun(state: &mut LoopState, number: u32) -> String {
        match begin(state, "s", number, NOW) {
            NextBuildStep::Task(claim) => claim.task.id,
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn tasks_are_built_in_the_order_of_what_they_depend_on_and_then_the_criteria_decide() {
        let mut state = planned();
        assert_eq!(begun(&mut state, 1), "T-1");
        assert_eq!((state.phase.clone(), state.session_id.as_str()), (Phase::Implementation, "s"));
        close(&mut state, "wrote it");
        assert_eq!(end(&mut state, "x", &RoundFacts::default()), "T-1 done: wrote it");
        assert_eq!(begun(&mut state, 2), "T-2");
        assert_eq!(task_of_round(&state), Some("T-2"));
        close(&mut state, "");
        end(&mut state, "x", &RoundFacts::default());
        assert_eq!(begin(&mut state, "s", 3, NOW), NextBuildStep::Criteria);
        begin_for_goal(&mut state, "s", 3);
        assert_eq!((task_of_round(&state), is_goal_round(&state)), (None, true));
    }

    #[test]
    fn the_criteria_end_a_loop_without_open_tasks_and_none_of_them_prove_nothing() {
        let ending = |state: &LoopState| state.ending.as_ref().map(|ending| ending.kind.clone());
        let mut bare = planned();
        let at = SettleAt {
            now: NOW,
            is_first: false,
            is_last: false,
            may_judge: false,
            question: None,
        };
        let nothing = Proof::default();
        assert_eq!(settle(&mut LoopState::default(), &nothing, at), Settlement::Open);
        assert_eq!(settle(&mut bare, &nothing, at), Settlement::Over);
        assert_eq!(ending(&bare), Some(EndingKind::CompleteUnverified));
        let mut criterion = Criterion { id: "AC-1".to_owned(), ..Criterion::default() };
        let tree = || "t".to_owned();
        let receipt = Receipt {
            passed: true,
            exit_code: Some(0),
            tree_before: tree(),
            tree_after: tree(),
            by: CriterionRunner::Hook,
            ..Receipt::default()
        };
        receipt::record(&mut criterion, receipt);
        let proof = |tree: &str| Proof {
            trees: [("AC-1".to_owned(), tree.to_owned())].into(),
            ..Proof::default()
        };
        let state = LoopState { acceptance_criteria: vec![criterion], ..LoopState::default() };
        let (mut stale, mut proven) = (state.clone(), state);
        assert_eq!(settle(&mut stale, &proof("another"), at), Settlement::Open);
        assert!(ending(&stale).is_none());
        let first = SettleAt { is_first: true, ..at };
        assert_eq!(settle(&mut proven, &proof("t"), first), Settlement::Open, "nothing was done");
        let asks = SettleAt { question: Some("x is left"), ..at };
        let Settlement::AskUser(why) = settle(&mut proven, &proof("t"), asks) else {
            panic!("nobody is asked")
        };
        assert!(why.ends_with("but x is left; `ralph accept` accepts it"), "{why}");
        assert!(ending(&proven).is_none());
        assert_eq!(settle(&mut proven, &proof("t"), at), Settlement::Over);
        assert_eq!(ending(&proven), Some(EndingKind::Complete));
    }

    #[test]
    fn what_a_client_leaves_open_is_ready_again_and_is_given_up_after_several_rounds() {
        let mut state = planned();
        for number in 1..graph::MOST_ATTEMPTS {
            assert_eq!(begun(&mut state, number), "T-1");
            let told = end(&mut state, "it crashed", &RoundFacts::default());
            assert_eq!(
                told,
                format!("T-1 is ready again; round {number} left it open: it crashed")
            );
        }
        begun(&mut state, 3);
        let left = state.task_graph[0].result.clone().unwrap();
        assert!(left.starts_with("round 2 left it open"), "{left}");
        assert!(
            end(&mut state, "it crashed", &RoundFacts::default())
                .starts_with("T-1 is given up after 3 rounds")
        );
        let NextBuildStep::Stuck(summary) = begin(&mut state, "s", 4, NOW) else {
            panic!("it is not stuck")
        };
        assert_eq!((summary.failed, summary.waiting), (1, 1));
    }

    #[test]
    fn what_a_dead_builder_held_is_free_and_what_others_hold_is_theirs() {
        let mut state = planned();
        begun(&mut state, 1);
        state.round = None;
        state.task_graph[1].status = TaskStatus::InProgress;
        state.task_graph[1].owner = Some("ann".to_owned());
        free(&mut state, None);
        let owners: Vec<_> = state.task_graph.iter().map(|task| task.owner.clone()).collect();
        assert_eq!(owners, [None, Some("ann".to_owned())]);
        assert_eq!(state.task_graph[0].status, TaskStatus::Pending);
    }

    #[test]
    fn a_bound_that_is_reached_ends_the_loop_and_a_pause_between_builds_does_not() {
        let mut state = planned();
        begun(&mut state, 1);
        end(&mut state, "x", &RoundFacts::default());
        pause(&mut state, PauseCause::Person, "enough", NOW);
        assert_eq!(begun(&mut state, 2), "T-1");
        assert!(state.pause.is_none());
        end(&mut state, "x", &RoundFacts::default());
        state.iteration = state.max_iterations;
        assert_eq!(begin(&mut state, "s", 3, NOW), NextBuildStep::Over);
        assert_eq!(state.ending.as_ref().unwrap().kind, EndingKind::MaxIterations);
        assert_eq!(begin(&mut state, "s", 4, NOW), NextBuildStep::Over);
    }

    #[test]
    fn a_mark_without_a_change_or_against_a_failing_command_finishes_no_task() {
        let facts = |has_changed, failed: &[(&str, &str)]| RoundFacts {
            has_changed,
            failed: failed.iter().map(|(id, why)| ((*id).into(), (*why).into())).collect(),
        };
        let ended = |facts: &RoundFacts| {
            let mut state = planned();
            begun(&mut state, 1);
            close(&mut state, "wrote it");
            state.phase = Phase::Verification;
            let told = end(&mut state, "x", facts);
            assert_eq!(state.phase, Phase::Implementation, "T-2 is open");
            (state.task_graph[0].status.clone(), told)
        };
        let (status, told) = ended(&facts(Some(false), &[]));
        assert_eq!(status, TaskStatus::Pending);
        assert_eq!(told, "T-1 is ready again; round 1: marked it done and changed no file");
        let (status, told) = ended(&facts(Some(true), &[("T-1", "`make x` exits with 2")]));
        assert_eq!(status, TaskStatus::Pending);
        assert!(told.ends_with("marked it done, but `make x` exits with 2"), "{told}");
        assert_eq!(ended(&facts(Some(true), &[("T-2", "x")])).0, TaskStatus::Done);
        assert_eq!(ended(&facts(None, &[])).0, TaskStatus::Done, "without git nobody knows");
    }

    #[test]
    fn a_round_finishes_no_other_task_without_a_change_and_takes_none_back() {
        let mut state = planned();
        begun(&mut state, 1);
        close(&mut state, "wrote it");
        end(&mut state, "x", &RoundFacts { has_changed: Some(true), ..RoundFacts::default() });
        begun(&mut state, 2);
        close(&mut state, "wrote it");
        end(&mut state, "x", &RoundFacts { has_changed: Some(false), ..RoundFacts::default() });
        let statuses = state.task_graph.iter().map(|task| task.status.clone());
        assert_eq!(statuses.collect::<Vec<_>>(), [TaskStatus::Done, TaskStatus::Pending]);
    }

    #[test]
    fn a_task_that_a_killed_builder_had_closed_counts_by_the_same_rule() {
        let killed = |tree: &str, verify: &[&str]| {
            let mut state = planned();
            state.task_graph[0].verify = verify.iter().map(|it| (*it).to_owned()).collect();
            begun(&mut state, 1);
            state.round.as_mut().unwrap().tree = Some("before".to_owned());
            close(&mut state, "wrote it");
            free(&mut state, Some(tree));
            state.task_graph[0].status.clone()
        };
        assert_eq!(killed("after", &[]), TaskStatus::Done);
        assert_eq!(killed("before", &[]), TaskStatus::Pending);
        assert_eq!(killed("after", &["make x"]), TaskStatus::Pending);
    }

    #[test]
    fn work_has_begun_if_a_file_or_else_the_loop_shows_it() {
        let with = |change: Option<usize>| Proof {
            change: change.map(|code| crate::state::Change { code, ..Default::default() }),
            ..Proof::default()
        };
        let idle = || LoopState::default();
        let moved = || LoopState { iteration: 1, ..LoopState::default() };
        for (state, change, expected) in [
            (idle(), Some(0), false),
            (moved(), Some(0), false),
            (idle(), Some(1), true),
            (idle(), None, false),
            (moved(), None, true),
            (planned(), None, true),
        ] {
            assert_eq!(has_begun(&state, &with(change)), expected, "{change:?}");
        }
    }

    #[test]
    fn a_round_for_the_goal_counts_and_stalls_like_a_turn() {
        let mut state = LoopState { phase: Phase::Implementation, ..LoopState::default() };
        let round = |state: &mut LoopState, tree: &str| {
            count_goal_round(state, &progress::print_of_work(state, NOW), Some(tree), None, NOW);
        };
        for n in 1..=3 {
            round(&mut state, "same");
            assert_eq!((state.iteration, &state.ending), (n, &None));
        }
        round(&mut state, "same");
        let ending = state.ending.clone().unwrap();
        assert_eq!((state.iteration, ending.kind), (3, EndingKind::Stalled));
        assert_eq!(ending.detail, "nothing had changed at 3 stops in a row");
        assert_eq!(ending.cause, Some(crate::state::Signal::NoChange));
    }

    #[test]
    fn the_end_of_a_round_is_told_in_whole() {
        let after = |status: TaskStatus, facts: RoundFacts| {
            let mut state = planned();
            begun(&mut state, 1);
            state.phase = Phase::Verification;
            (state.task_graph[0].status, state.task_graph[0].result) =
                (status, Some("wrote it".to_owned()));
            let told = end(&mut state, "it crashed", &facts);
            (told, state.task_graph[0].status.clone(), state.phase.clone())
        };
        let facts = |has_changed, failed: &[&str]| RoundFacts {
            has_changed,
            failed: failed.iter().map(|why| ("T-1".to_owned(), (*why).to_owned())).collect(),
        };
        let open = |told: &str| (told.to_owned(), TaskStatus::Pending, Phase::Implementation);
        assert_eq!(
            after(TaskStatus::Done, facts(Some(true), &[])),
            ("T-1 done: wrote it".to_owned(), TaskStatus::Done, Phase::Implementation)
        );
        assert_eq!(after(TaskStatus::Done, facts(None, &[])).1, TaskStatus::Done);
        assert_eq!(
            after(TaskStatus::Done, facts(Some(false), &[])),
            open("T-1 is ready again; round 1: marked it done and changed no file")
        );
        assert_eq!(
            after(TaskStatus::Done, facts(Some(true), &["its test fails"])),
            open("T-1 is ready again; round 1: marked it done, but its test fails")
        );
        assert_eq!(
            after(TaskStatus::InProgress, facts(Some(true), &[])),
            open("T-1 is ready again; round 1 left it open: it crashed")
        );
        assert_eq!(
            after(TaskStatus::Failed, facts(Some(true), &[])),
            ("T-1 failed: wrote it".to_owned(), TaskStatus::Failed, Phase::Implementation)
        );
        assert_eq!(end(&mut planned(), "x", &RoundFacts::default()), "");
        let mut last = LoopState { phase: Phase::Verification, ..LoopState::default() };
        last.round = Some(BuildRound::default());
        end(&mut last, "x", &RoundFacts::default());
        assert_eq!(last.phase, Phase::Verification, "no task is open");
        let mut resting = LoopState { phase: Phase::Implementation, ..planned() };
        pause(&mut resting, PauseCause::Person, "later", NOW);
        let pause = resting.pause.unwrap();
        assert_eq!((pause.detail.as_str(), pause.told), ("later", true));
    }

    #[test]
    fn what_the_criteria_lead_to_depends_on_the_last_round_and_on_who_may_judge() {
        let state = |verified: bool| {
            let mut criterion = Criterion { id: "AC-1".to_owned(), ..Criterion::default() };
            let receipt = Receipt {
                passed: verified,
                tree_before: "t".to_owned(),
                tree_after: "t".to_owned(),
                by: CriterionRunner::Hook,
                ..Receipt::default()
            };
            receipt::record(&mut criterion, receipt);
            LoopState { acceptance_criteria: vec![criterion], iteration: 1, ..LoopState::default() }
        };
        let trees = [("AC-1".to_owned(), "t".to_owned())].into();
        let proof = Proof { trees, ..Proof::default() };
        let at =
            SettleAt { now: NOW, is_first: true, is_last: false, may_judge: false, question: None };
        let mut done = state(true);
        assert_eq!(settle(&mut done, &proof, at), Settlement::Over, "an earlier run has begun");
        let mut red = state(false);
        assert_eq!(settle(&mut red, &proof, at), Settlement::Open);
        assert_eq!(settle(&mut red, &proof, SettleAt { is_first: false, ..at }), Settlement::Open);
        let mut tasks = LoopState { task_graph: planned().task_graph, ..state(true) };
        tasks.task_graph.iter_mut().for_each(|task| task.status = TaskStatus::Done);
        settle(&mut tasks, &proof, SettleAt { is_first: false, ..at });
        assert!(tasks.ending.unwrap().detail.starts_with("all tasks are done; "));
        let mut parallel = LoopState { parallel: true, ..state(true) };
        assert_eq!(settle(&mut parallel, &proof, at), Settlement::Open);
        let mut bare = planned();
        settle(&mut bare, &proof, at);
        assert_eq!(
            bare.ending.unwrap().detail,
            "all tasks are done; there was no criterion to prove it by"
        );
    }

    #[test]
    fn a_rounds_own_task_is_open_until_somebody_closes_it() {
        let with = |task: &str, statuses: [TaskStatus; 2]| {
            let mut state = planned();
            for (task, status) in state.task_graph.iter_mut().zip(statuses) {
                task.status = status;
            }
            state.round = Some(BuildRound { task: task.to_owned(), ..BuildRound::default() });
            is_open(&state)
        };
        use TaskStatus::{Done, Failed, InProgress, Pending};
        assert!(with("T-1", [InProgress, Done]));
        assert!(!with("T-1", [Done, InProgress]));
        assert!(!with("T-1", [Failed, InProgress]));
        assert!(!with("T-1", [Pending, InProgress]));
        assert!(with("T-2", [Done, InProgress]));
        assert!(!with("T-2", [InProgress, Done]));
        assert!(with("", [Done, Done]), "a round for the goal has no task to close");
        assert!(is_open(&planned()));
    }

    #[test]
    fn what_would_be_refused_is_judged_once_and_then_asked() {
        let failing = vec!["a".to_owned()];
        let original = Observation { outcome: Outcome::Failed, failing, ..Observation::default() };
        let mut criterion = Criterion { id: "AC-1".to_owned(), ..Criterion::default() };
        let tree = || "t".to_owned();
        let receipt = Receipt {
            passed: true,
            tree_before: tree(),
            tree_after: tree(),
            by: CriterionRunner::Hook,
            ..Receipt::default()
        };
        receipt::record(&mut criterion, receipt);
        let without = Some(Observation { outcome: Outcome::Failed, ..Observation::default() });
        criterion.observed =
            Observed { tree: tree(), original: Some(original), without, ..Observed::default() };
        let about = "tests_changed AC-1: a";
        let proof = Proof {
            trees: [("AC-1".to_owned(), tree())].into(),
            change: Some(crate::state::Change { code: 1, ..Default::default() }),
            ..Proof::default()
        };
        let settled = |refusals: &[&str], judged: &[&str], may_judge, is_last| {
            let texts = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
            let judgement =
                |about: &&str| Judgement { about: (*about).to_owned(), ..Judgement::default() };
            let mut state = LoopState {
                acceptance_criteria: vec![criterion.clone()],
                refusals: texts(refusals),
                judgements: judged.iter().map(judgement).collect(),
                ..LoopState::default()
            };
            let at = SettleAt { now: NOW, is_first: false, is_last, may_judge, question: None };
            let settled = settle(&mut state, &proof, at);
            assert_eq!(state.ending, None);
            settled
        };
        let why = "AC-1 passes only with changed tests: `a` fails in its original form; make the original \
                   tests pass, or say why the task needs the change (`ralph diff --tests` shows it)";
        let refused = Refused { about: vec![about.to_owned()], why: why.to_owned() };
        let asks = Settlement::AskUser(format!("{why}; `ralph accept` accepts it"));
        assert_eq!(settled(&[], &[], true, false), Settlement::Open, "it is refused once");
        assert_eq!(settled(&[], &[], true, true), Settlement::Judge(refused.clone()));
        assert_eq!(settled(&[about], &[], true, false), Settlement::Judge(refused.clone()));
        assert_eq!(settled(&[about], &["another"], true, false), Settlement::Judge(refused));
        assert_eq!(settled(&[about], &[about], true, false), asks);
        assert_eq!(settled(&[about], &[], false, false), asks);
        criterion.observed.original = None;
        criterion.observed.without =
            Some(Observation { outcome: Outcome::Passed, ..Observation::default() });
        let settled = |judged: &[&str], may_judge, change: Option<usize>| {
            let judgement =
                |about: &&str| Judgement { about: (*about).to_owned(), ..Judgement::default() };
            let mut state = LoopState {
                acceptance_criteria: vec![criterion.clone()],
                refusals: vec!["kept AC-1".to_owned(), "unchanged".to_owned()],
                judgements: judged.iter().map(judgement).collect(),
                ..LoopState::default()
            };
            let change = change.map(|code| crate::state::Change { code, ..Default::default() });
            let proof = Proof { change, ..proof.clone() };
            let at =
                SettleAt { now: NOW, is_first: false, is_last: false, may_judge, question: None };
            settle(&mut state, &proof, at)
        };
        let refused = Refused {
            about: vec!["kept AC-1".to_owned()],
            why: "nothing broke, and no test sees the change (1 file changed)".to_owned(),
        };
        assert_eq!(settled(&[], true, Some(1)), Settlement::Judge(refused.clone()));
        assert_eq!(settled(&["another"], true, Some(1)), Settlement::Judge(refused));
        assert_eq!(settled(&["kept AC-1"], true, Some(1)), Settlement::Over);
        assert_eq!(settled(&[], false, Some(1)), Settlement::Over);
        assert_eq!(settled(&[], true, Some(0)), Settlement::Over, "there is nothing to judge");
    }
}
