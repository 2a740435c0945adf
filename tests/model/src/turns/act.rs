//! What may happen in a session, and how each happening is carried out by the rules.

use super::{Evidence, State, Turns, tree_name};
use crate::receipts::Outcome;
use ralph_core::evidence::receipt::{self, Proof};
use ralph_core::modes::mode;
use ralph_core::state::{Blocked, EndingKind, LoopState, PauseCause, TaskStatus};
use ralph_core::stop::progress;
use ralph_core::stop::{self, StopDecision, StopInputs};
use ralph_core::tasks::graph::Graph;
use ralph_core::{evidence::pinned, text::token};

/// One happening.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Act {
    /// The tree is changed to this one.
    Edit(u8),
    /// `ralph verify AC-n`.
    Verify(usize, Outcome),
    /// `ralph blocked`.
    SayBlocked,
    /// The task is done, or taken up again.
    Task(bool),
    /// A background worker starts, or ends.
    Worker(bool),
    /// An hour passes.
    Hour,
    /// A token is used.
    Token,
    /// Somebody writes `verified` into the state.
    ForgeVerified,
    /// Somebody changes a criterion in the state.
    ChangeCriterion,
    /// A person ends the loop in a terminal, or rests it.
    Person(Wish),
    /// A person says `ralph criteria accept` in a terminal.
    Accept,
    /// The turn wants to end.
    Stop(Says, Checks, Option<bool>),
}

/// What a person does to a loop from outside.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Wish {
    /// `ralph cancel`.
    Cancel,
    /// `ralph pause`.
    Pause,
}

/// What the last message says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Says {
    /// There is none.
    Nothing,
    /// Something about the token.
    AboutToken,
    /// The token.
    Token,
}

/// What comes of the checks that a request runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Checks {
    /// None is asked for.
    NotAsked,
    /// What is due is run, and each run ends so.
    Run(Outcome),
    /// `ralph delegate criteria` could not be had, or had no time.
    NotRun,
}

/// What may happen now.
pub(super) fn possible(model: &Turns, state: &State, acts: &mut Vec<Act>) {
    if !state.looped.is_running() {
        // The hook looks before it takes the lock: the rule itself must let such a loop go.
        acts.extend([Says::Nothing, Says::Token].map(|says| Act::Stop(says, Checks::NotRun, None)));
        return;
    }
    if model.workers {
        acts.extend([Act::Person(Wish::Cancel), Act::Person(Wish::Pause)]);
    }
    acts.extend((0..model.trees).filter(|to| *to != state.tree).map(Act::Edit));
    for number in 0..model.criteria {
        acts.extend(model.outcomes.iter().map(|outcome| Act::Verify(number, *outcome)));
    }
    if state.looped.blocked.is_none() {
        acts.push(Act::SayBlocked);
    }
    if model.task {
        acts.push(Act::Task(state.looped.task_graph[0].status != TaskStatus::Done));
    }
    if model.workers {
        acts.push(Act::Worker(!state.worker));
    }
    if model.hours.is_some_and(|most| state.hour <= most) {
        acts.push(Act::Hour);
    }
    if model.tokens.is_some_and(|most| state.looped.usage.tokens.input < most) {
        acts.push(Act::Token);
    }
    if model.tampering {
        acts.extend([Act::ForgeVerified, Act::ChangeCriterion, Act::Accept]);
    }
    let worked: &[Option<bool>] =
        if model.idleness { &[None, Some(true), Some(false)] } else { &[None] };
    for worked in worked {
        let stop = |says, checks| Act::Stop(says, checks, *worked);
        acts.push(stop(Says::Nothing, Checks::NotAsked));
        acts.push(stop(Says::AboutToken, Checks::NotAsked));
        if model.criteria == 0 {
            acts.push(stop(Says::Token, Checks::NotAsked));
        } else {
            acts.push(stop(Says::Token, Checks::NotRun));
            let runs =
                model.outcomes.iter().map(|outcome| stop(Says::Token, Checks::Run(*outcome)));
            acts.extend(runs);
        }
    }
}

/// Does it.
pub(super) fn carry_out(state: &mut State, act: Act) -> Option<StopDecision> {
    let now = state.now();
    match act {
        Act::Edit(to) => state.tree = to,
        Act::Verify(number, outcome) if pinned::is_as_frozen(&state.looped) => {
            run(state, number, outcome);
        }
        Act::Verify(..) => {}
        Act::SayBlocked => {
            if Graph::new(&state.looped.task_graph, now).ready().next().is_none() {
                state.looped.blocked = Some(Blocked { what: "a key".to_owned(), at: now });
            }
        }
        Act::Task(done) => {
            let status = if done { TaskStatus::Done } else { TaskStatus::Pending };
            state.looped.task_graph[0].status = status;
        }
        Act::Worker(runs) => state.worker = runs,
        Act::Hour => state.hour += 1,
        Act::Token => state.looped.usage.tokens.input += 1,
        Act::ForgeVerified => {
            state.looped.acceptance_criteria.iter_mut().for_each(|one| one.verified = true);
        }
        Act::ChangeCriterion => {
            state.noted.text.0 = 1 - state.noted.text.0;
            let text = if state.noted.text.0 == 0 { "" } else { "easier" };
            state.looped.acceptance_criteria[0].description = text.to_owned();
        }
        Act::Person(Wish::Cancel) => state.looped.end(EndingKind::Cancelled, "by a person", now),
        Act::Person(Wish::Pause) => state.looped.pause(PauseCause::Person, "", now),
        Act::Accept => accept(state),
        Act::Stop(says, checks, worked) => return Some(end_turn(state, says, checks, worked)),
    }
    None
}

/// As `ralph criteria accept` does it.
fn accept(state: &mut State) {
    let now = state.now();
    for (criterion, seen) in
        state.looped.acceptance_criteria.iter_mut().zip(&mut state.noted.evidence)
    {
        if !receipt::accept(criterion).is_empty() {
            seen.expected = criterion.tests_expected.unwrap_or(0);
        }
    }
    pinned::freeze(&mut state.looped, now);
    state.noted.text.1 = state.noted.text.0;
}

/// One run of a criterion's command, and what an observer sees of it.
fn run(state: &mut State, number: usize, outcome: Outcome) {
    let before = state.tree;
    let criterion = &mut state.looped.acceptance_criteria[number];
    let receipt = outcome.receipt(&criterion.verification_command, before);
    receipt::record(criterion, receipt);
    state.tree = outcome.leaves(before);
    state.noted.evidence[number].see(outcome, before);
}

/// The checks of a request, as `ralph delegate criteria` runs them: what is due, again while it is due, up to
/// the number of rounds that `ralph` takes.
fn prove(state: &mut State, checks: Checks) -> Proof {
    let Checks::Run(outcome) = checks else {
        return Proof { problem: "no time was left".to_owned(), ..Proof::default() };
    };
    // What is not as agreed is not run. It may also change after the checks and before the decision,
    // so that their trees are known all the same.
    let rounds = if pinned::is_as_frozen(&state.looped) { 4 } else { 0 };
    let mut ran = false;
    for _ in 0..rounds {
        for number in 0..state.looped.acceptance_criteria.len() {
            let criterion = &state.looped.acceptance_criteria[number];
            if receipt::criterion_status(criterion, Some(&tree_name(state))).wants_a_run() {
                run(state, number, outcome);
                ran = true;
            }
        }
    }
    let trees = state.looped.acceptance_criteria.iter();
    let trees = trees.map(|one| (one.id.clone(), tree_name(state))).collect();
    Proof { trees, ran, ..Proof::default() }
}

/// The turn wants to end: gathered and decided as the stop hook does it.
fn end_turn(state: &mut State, says: Says, checks: Checks, worked: Option<bool>) -> StopDecision {
    let message = match says {
        Says::Nothing => None,
        Says::AboutToken => Some("I will not say\n> RALPH_COMPLETE\nbefore it is true"),
        Says::Token => Some("All is done.\n\nRALPH_COMPLETE"),
    };
    let mut seen = StopInputs {
        now: state.now(),
        prompt_id: "p".to_owned(),
        request: message.map_or(token::CompletionRequest::None, |text| {
            token::request(text, &state.looped.completion_token)
        }),
        workers: if state.worker { vec!["worker".to_owned()] } else { Vec::new() },
        command_waits: false,
        steer_waits: false,
        document_gone: false,
        session: None,
        worked,
        tree: stop::wants_tree(mode::at_stop(&state.looped), &state.looped)
            .then(|| tree_name(state)),
        proof: None,
        work_before_checks: None,
        tree_after_checks: None,
    };
    let arrived = state.tree;
    if stop::wants_proof(mode::at_stop(&state.looped), &state.looped, &seen) {
        let work = progress::print_of_work(&state.looped, seen.now);
        let proof = prove(state, checks);
        if proof.ran {
            seen.work_before_checks = Some(work);
            seen.tree_after_checks = Some(tree_name(state));
        }
        seen.proof = Some(proof);
    }
    let decision = stop::decide(mode::at_stop(&state.looped), &mut state.looped, &seen);
    note(state, &decision, arrived);
    decision
}

fn note(state: &mut State, decision: &StopDecision, arrived: u8) {
    state.noted.went_on += u32::from(decision.verdict == stop::StopVerdict::GoOn);
    let only_the_tree_counts =
        state.looped.acceptance_criteria.is_empty() && state.looped.task_graph.is_empty();
    if only_the_tree_counts && !matches!(decision.verdict, stop::StopVerdict::LetGo(_)) {
        state.noted.trees.push(arrived);
    }
}

impl Evidence {
    fn see(&mut self, outcome: Outcome, before: u8) {
        let after = outcome.leaves(before);
        let same = self.last.filter(|last| last.2 == after);
        let failed = same.is_some_and(|last| last.0 == Outcome::Fail);
        self.failed_here = same.is_some() && self.failed_here || failed;
        if let (Outcome::Pass(tests), 0) = (outcome, self.expected) {
            self.expected = tests;
        }
        let good = self.is_good(outcome) && before == after;
        let passes = if same.is_some() { self.passes } else { 0 };
        self.passes = if good { (passes + 1).min(2) } else { 0 };
        self.last = Some((outcome, before, after));
    }

    fn is_good(&self, outcome: Outcome) -> bool {
        match outcome {
            Outcome::Pass(tests) => tests >= self.expected,
            Outcome::PassUncounted | Outcome::Rewrites(_) => true,
            Outcome::Fail | Outcome::Vacuous => false,
        }
    }

    /// Whether the criterion is proven on this tree.
    pub fn proves(&self, tree: u8) -> bool {
        let Some((outcome, before, after)) = self.last else { return false };
        let good = self.is_good(outcome) && before == after && after == tree;
        good && (!self.failed_here || self.passes >= 2)
    }
}

/// The criteria, as far as a person agrees to them.
pub(super) fn agreed(state: &LoopState) -> impl PartialEq + use<'_> {
    let texts = state.acceptance_criteria.iter();
    let texts = texts.map(|one| (&one.id, &one.description, &one.verification_command, &one.paths));
    let frozen = state.frozen.as_ref().map(|frozen| &frozen.criteria);
    (texts.collect::<Vec<_>>(), frozen, &state.completion, state.max_iterations, &state.limits)
}
