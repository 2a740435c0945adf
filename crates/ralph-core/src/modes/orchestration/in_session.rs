//! An orchestration driven by a session: what the session is told, and when the orchestration ends.
//!
//! The router reads the files, and its answer arrives here as a few values. [`ends`] alone decides
//! what ends an orchestration, both for a session and for a program that drives it.

use crate::evidence::completion_feedback;
use crate::evidence::receipt::Proof;
use crate::evidence::request::Answer;
use crate::modes::flow;
use crate::modes::mode::ModeRules;
use crate::modes::orchestration::agents::AgentRole;
use crate::protocol::reply::REASON_LIMIT;
use crate::state::{
    DrivenTurn, EndingKind, LoopState, OrchestrationCall, OrchestrationState, PauseCause,
};
use crate::stop::progress::stops;
use crate::stop::{
    AllowReason, AtStop, NextStep, Routed, RouterStep, StopInputs, StopVerdict, TaskProgress,
    blocked, end, granted, needs_proof, used_up, wait_for_person,
};
use crate::text::plural::noun;
use crate::text::truncate::bounded;
use jiff::Timestamp;
use std::fmt::Write as _;
use std::path::PathBuf;

/// The row of an orchestration.
pub(crate) struct Orchestration;

impl AtStop for Orchestration {
    fn wants_tree(&self) -> bool {
        false
    }

    fn wants_proof(&self, state: &LoopState, seen: &StopInputs) -> bool {
        let routed = seen.session.as_ref();
        routed.is_some_and(|routed| wants_proof(state, routed))
    }

    fn at_stop(
        &self,
        state: &mut LoopState,
        work: &TaskProgress,
        seen: &StopInputs,
    ) -> StopVerdict {
        if seen.document_gone {
            let detail = "the user removed the orchestration's folder".to_owned();
            return end(state, EndingKind::Cancelled, detail, seen.now);
        }
        if let Some(verdict) = blocked(state, work, seen) {
            return verdict;
        }
        let Some(routed) = &seen.session else {
            return wait_for_person(
                state,
                "the router did not answer; `ralph session next` shows the reason",
                seen.now,
            );
        };
        match ends(state, routed, seen.proof.as_ref()) {
            RouterEnding::GoesOn => {}
            RouterEnding::Rests(cause, detail) => {
                state.pause(cause, detail, seen.now);
                return StopVerdict::LetGo(AllowReason::Paused);
            }
            RouterEnding::Ended(kind, detail) => return end(state, kind, detail, seen.now),
        }
        if let Some((kind, detail)) = used_up(state, seen.now) {
            return end(state, kind, detail, seen.now);
        }
        let limit = state.stall_limit;
        let Some(session) = state.orchestration_mut() else {
            return StopVerdict::LetGo(AllowReason::NotLive);
        };
        session.still = if session.told_at == routed.stands { session.still + 1 } else { 0 };
        session.told_at.clone_from(&routed.stands);
        if session.still >= limit {
            let next = bounded(routed.says.lines().next().unwrap_or_default(), 200);
            let detail =
                format!("no file of the orchestration changed at {}; next: {next}", stops(limit));
            return wait_for_person(state, &detail, seen.now);
        }
        state.iteration += 1;
        state.turn = Some(DrivenTurn::new(seen.prompt_id.clone(), seen.now));
        StopVerdict::GoOn
    }

    fn next_step(&self, state: &LoopState, seen: &StopInputs) -> NextStep {
        let details = match state.context_lost {
            true => self.loop_prompt(&self.continues_line(state), state, &[], seen.now),
            false => next_step_text(state),
        };
        NextStep::new(&state.position(), "", &next_in_the_line(state), details)
    }
}

impl ModeRules for Orchestration {
    fn commands(&self) -> &'static [&'static str] {
        &["ralph-v2"]
    }

    fn started_line(&self, state: &LoopState) -> String {
        format!("Ralph session {} started, loop {}", id(state), state.loop_id)
    }

    fn continues_line(&self, state: &LoopState) -> String {
        format!("Ralph session {} continues, loop {}", id(state), state.loop_id)
    }

    fn loop_prompt(
        &self,
        heading: &str,
        state: &LoopState,
        steers: &[String],
        _now: Timestamp,
    ) -> String {
        let facts = format!(
            "{heading}\nTask: {}\nFolder: .ralph-sessions/{}/, {} of at most {} {}.",
            bounded(&state.prompt, 420),
            id(state),
            state.iteration,
            state.max_iterations,
            noun(state.max_iterations, "step", "steps")
        );
        let told = match state.orchestration() {
            Some(session) if session.given.is_empty() && session.says.is_empty() => {
                "Next: end your turn; Ralph then names the agent to call.".to_owned()
            }
            _ => next_step_text(state),
        };
        flow::loop_prompt(facts + RULES, steers, &told)
    }

    fn announcement(&self, state: &LoopState) -> String {
        let (id, loop_id) = (id(state), &state.loop_id);
        let mut text = format!(
            "orchestration {id} started in `.ralph-sessions/{id}/` (loop {loop_id}): at most {} {}, {} \
             {}. Esc pauses it, /ralph-cancel ends it, `ralph session signal` sends it a message.",
            state.max_iterations,
            noun(state.max_iterations, "step", "steps"),
            state.limits.max_minutes,
            noun(state.limits.max_minutes, "minute", "minutes")
        );
        if state.acceptance_criteria.is_empty() {
            text.push_str(
                " No --ac was given and no test command was found, so it can only end as \
                 complete_unverified.",
            );
        } else {
            text.push_str(" When all tasks are done, these commands must succeed:");
            for criterion in &state.acceptance_criteria {
                let _ = write!(text, "\n  {}: {}", criterion.id, criterion.decided_by());
            }
        }
        for error in &state.errors {
            let _ = write!(text, "\n  {}", crate::text::truncate::tail(&error.message, 300));
        }
        text
    }

    fn document(&self, state: &LoopState) -> Option<PathBuf> {
        state.document()
    }

    fn resume_command(&self, _state: &LoopState) -> &'static str {
        "/ralph-v2"
    }

    fn resume(&self, state: &mut LoopState, now: Timestamp) {
        state.resume_anew(now);
        if let Some(session) = state.orchestration_mut() {
            (session.told_at, session.still) = (String::new(), 0);
        }
    }

    fn next_hint(&self, state: &LoopState) -> Option<String> {
        let hint = match state.is_running() {
            true => "`ralph session status` shows all of it",
            false => "/ralph-v2 in its session or `ralph resume` continues it",
        };
        Some(hint.to_owned())
    }

    fn after_end(&self, state: &LoopState, kind: &EndingKind) -> Option<String> {
        let id = id(state);
        (*kind == EndingKind::AwaitingFeedback).then(|| {
            format!(
                "Write the next iteration's work with `ralph session feedback new --id {id}`, then \
                 type /ralph-v2 {id}."
            )
        })
    }

    fn blocks_start(&self, state: &LoopState, _has_task: bool) -> Option<String> {
        Some(format!(
            "orchestration {} is live in this session: type /ralph-v2 to continue it, or \
             /ralph-cancel to end it",
            id(state)
        ))
    }
}

/// Whether the router's answer ends or pauses the orchestration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RouterEnding {
    GoesOn,
    Rests(PauseCause, String),
    Ended(EndingKind, String),
}

/// Whether the criteria must be checked before the orchestration is complete.
pub fn wants_proof(state: &LoopState, routed: &Routed) -> bool {
    routed.due == RouterStep::Complete && needs_proof(state)
}

/// Evaluates the router's answer. An orchestration is complete only if the criteria hold: if all
/// tasks are done and a criterion fails, it waits for the user's feedback.
pub fn ends(state: &mut LoopState, routed: &Routed, proof: Option<&Proof>) -> RouterEnding {
    let says = routed.says.trim();
    match routed.due {
        RouterStep::Call | RouterStep::Wait => RouterEnding::GoesOn,
        RouterStep::Paused => RouterEnding::Rests(PauseCause::Person, says.to_owned()),
        RouterStep::Stopped => RouterEnding::Ended(EndingKind::Cancelled, says.to_owned()),
        RouterStep::AwaitingFeedback => {
            RouterEnding::Ended(EndingKind::AwaitingFeedback, says.to_owned())
        }
        RouterStep::Failed => RouterEnding::Ended(EndingKind::Failed, says.to_owned()),
        RouterStep::Complete if !needs_proof(state) => {
            let detail = match state.acceptance_criteria.is_empty() {
                true => "all tasks are done; the loop has no criterion",
                false => "all tasks are done; no criterion was run",
            };
            RouterEnding::Ended(EndingKind::CompleteUnverified, detail.to_owned())
        }
        RouterStep::Complete => {
            let nothing = Proof::default();
            let proof = proof.unwrap_or(&nothing);
            // No agent is called any more, so the second answer is given at once.
            match granted(state, proof, true) {
                Answer::Complete(detail) => RouterEnding::Ended(
                    EndingKind::Complete,
                    format!("all tasks are done; criteria: {detail}"),
                ),
                Answer::Unverified { detail, .. } => RouterEnding::Ended(
                    EndingKind::CompleteUnverified,
                    format!("all tasks are done; {detail}"),
                ),
                Answer::AskUser(refused) => {
                    RouterEnding::Rests(PauseCause::BlockedOnHuman, refused.why)
                }
                Answer::Unfinished(_) => RouterEnding::GoesOn,
                Answer::Refused(_) | Answer::NotMet => {
                    RouterEnding::Ended(EndingKind::AwaitingFeedback, open_criteria(state, proof))
                }
            }
        }
    }
}

fn open_criteria(state: &LoopState, proof: &Proof) -> String {
    let open = state.acceptance_criteria.iter().filter_map(|criterion| {
        let standing = proof.criterion_status(criterion);
        let changed = proof.changed.get(&criterion.id).map_or(&[][..], Vec::as_slice);
        let why = || completion_feedback::why(criterion, standing, changed);
        (!proof.proves(criterion)).then(|| {
            let command = bounded(&criterion.decided_by(), 80);
            format!("{} {} (`{command}`)", criterion.id, why())
        })
    });
    let mut open: Vec<String> = open.collect();
    if !proof.problem.is_empty() {
        open.push(proof.problem.clone());
    }
    if open.is_empty() {
        open.push("the criteria differ from those that the user agreed to".to_owned());
    }
    format!(
        "all tasks are done, but the criteria do not hold: {}; name the missing work with `ralph \
         session feedback new`",
        bounded(&open.join("; "), 900)
    )
}

/// The next step, as given at a stop.
pub fn next_step_text(state: &LoopState) -> String {
    let Some(session) = state.orchestration() else { return String::new() };
    let text = match session.given.as_slice() {
        [] => format!("Next: {}", session.says),
        calls => calls_in_words(calls, flow::prefix(state)),
    };
    // A prompt must match word for word, so a prompt that does not fit is left out instead of cut.
    match text.encode_utf16().count() > REASON_LIMIT {
        true => too_long(session),
        false => text,
    }
}

/// The next step without the prompts: the router prints these word for word.
fn next_in_the_line(state: &LoopState) -> String {
    let Some(session) = state.orchestration() else { return String::new() };
    let id = &session.id;
    match session.given.as_slice() {
        [] => session.says.lines().next().unwrap_or_default().to_owned(),
        [call] => format!(
            "call the agent `{}{}` as `ralph session next --id {id}` prints it",
            flow::prefix(state),
            call.agent().map_or("", AgentRole::name)
        ),
        calls => format!(
            "make the {} calls of agents that `ralph session next --id {id}` prints",
            calls.len()
        ),
    }
}

fn too_long(session: &OrchestrationState) -> String {
    format!(
        "Next: run `ralph session next --id {}`, and make each call of the Agent tool that it prints, all of them in \
         one message, with run_in_background false and the prompt word for word.",
        session.id
    )
}

fn calls_in_words(calls: &[OrchestrationCall], prefix: &str) -> String {
    let agent = |call: &OrchestrationCall| call.agent().map_or("", AgentRole::name);
    if let [call] = calls {
        return flow::call_in_words(&format!("{prefix}{}", agent(call)), &call.prompt);
    }
    let mut text = format!(
        "Next: make these {} calls of the Agent tool in one message, each with run_in_background false and its prompt \
         word for word.",
        calls.len()
    );
    for (at, call) in calls.iter().enumerate() {
        let _ = write!(
            text,
            "\nCall {}: subagent_type `{prefix}{}`, prompt:\n{}",
            at + 1,
            agent(call),
            call.prompt
        );
    }
    text
}

/// The name of the orchestration that a loop drives.
pub fn id(state: &LoopState) -> &str {
    state.orchestration().map_or("", |session| session.id.as_str())
}

const RULES: &str = "\nRules: you only route. Make exactly the calls that `Next:` names, with \
     their prompts word for word; one mode or one task for each call. Write nothing below \
     `.ralph-sessions/` and do no agent's work. Ask the user nothing. After each call, and \
     whenever you would stop, Ralph names the next step; `ralph session status` shows the \
     progress.";

#[cfg(test)]
mod tests;
