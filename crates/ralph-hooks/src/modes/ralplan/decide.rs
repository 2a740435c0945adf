//! The user's decision about a plan, from the question in the session or from the command line.

use super::{change, hash_now};
use crate::begin::{self, PlannedFrom};
use anyhow::{Context, Result, bail};
use ralph_core::modes::mode;
use ralph_core::modes::ralplan::{PlanEvent, PlanOutcome, short, step};
use ralph_core::state::{
    DecidedBy, DecisionKind, EndingKind, LoopState, PlanDecision, PlanPhase, Registration,
    StartedBy,
};
use ralph_core::tasks::{foreign, plan};
use ralph_core::text::hex::sha256;
use ralph_core::text::plural::counted;
use ralph_io::store::home::Home;
use ralph_io::store::lifecycle::{self, ManifestFate};
use ralph_io::store::loop_file::LoopFile;
use ralph_io::{process::clock, store::plan_files};
use std::path::Path;

/// A decision, and its origin.
#[derive(Debug)]
pub struct DecisionRequest {
    pub kind: DecisionKind,
    /// The user's words; empty if none were given.
    pub text: String,
    pub by: DecidedBy,
    /// The registration of the hook that reported it; `None` in a terminal.
    pub via: Option<Registration>,
}

/// What a decision led to.
#[derive(Debug)]
pub struct Decided {
    /// One word for it.
    pub word: &'static str,
    /// What happened, in a sentence or two.
    pub why: String,
    /// The planning after it. It has an ending, unless the plan goes back to the planner.
    pub state: LoopState,
    /// Where its state is now.
    pub file: LoopFile,
    /// The loop that `/ralph` starts next, if the user agreed to the plan.
    pub planned: Option<Box<LoopState>>,
}

/// Applies the user's decision to the plan as its file is now, or returns why it is ignored. `entry`
/// says what happens to the session's entry if the decision ends the planning.
///
/// # Errors
/// When the state cannot be written. No decision was recorded then.
pub fn decide(
    home: &Home,
    file: &LoopFile,
    said: DecisionRequest,
    entry: ManifestFate,
) -> Result<Result<Decided, String>> {
    let now = clock::now();
    if file.read()?.is_some_and(|loaded| plan_files::is_gone(&loaded.state)) {
        let why = "the document of the planning was removed, which cancels it; `ralph cancel` ends it here too";
        return Ok(Err(why.to_owned()));
    }
    let DecisionRequest { kind, text, by, via } = said;
    let words = if text.is_empty() { "no words were given".to_owned() } else { text.clone() };
    let changed = change(file, |state| {
        if let Some(via) = via {
            state.note_event(via);
        }
        let decision = PlanDecision { kind, text, plan_hash: hash_now(state), by, at: now };
        let Some(plan) = state.ralplan_mut() else { return Ok(()) };
        if let PlanOutcome::Refused(why) = step(plan, &PlanEvent::Answered(decision)) {
            return Err(why);
        }
        match plan.phase {
            PlanPhase::Complete => {
                state.end(EndingKind::Approved, "the user agreed to the plan", now);
            }
            PlanPhase::Cancelled => {
                state.end(EndingKind::Discarded, "the user discarded the plan", now);
            }
            _ => mode::rules(&state.mode).resume(state, now),
        }
        Ok(())
    })?;
    let state = match changed {
        None => return Ok(Err("the planning is over".to_owned())),
        Some((Err(why), _)) => return Ok(Err(why)),
        Some((Ok(()), state)) => state,
    };
    let Some(ending) = &state.ending else {
        let (word, why) = ("adjust", format!("back to the planner: {words}"));
        return Ok(Ok(Decided { word, why, state, file: file.clone(), planned: None }));
    };
    let is_approved = ending.kind == EndingKind::Approved;
    // Archive the planning first: the loop stored last becomes the most recent of the project, and
    // that must be the planned loop.
    let file = lifecycle::put_away(home, file, &state, entry)?.file;
    Ok(Ok(match is_approved {
        true => {
            let planned = plan_the_loop(home, &state);
            let why = approved(&state, &planned);
            Decided { word: "approved", why, state, file, planned: planned.ok() }
        }
        false => {
            let path = state.ralplan().map_or("", |plan| plan.plan_path.as_str());
            let why = format!("the user discarded the plan; `{path}` stays as it is.");
            Decided { word: "discarded", why, state, file, planned: None }
        }
    }))
}

fn approved(state: &LoopState, planned: &Result<Box<LoopState>>) -> String {
    let Some(plan) = state.ralplan() else { return String::new() };
    let (path, hash) = (&plan.plan_path, short(&plan.plan_hash));
    let next = match planned {
        Ok(planned) => format!(
            "It is planned as loop {} ({}, {}): the person types /ralph to carry it out.",
            planned.loop_id,
            counted(planned.acceptance_criteria.len(), "criterion", "criteria"),
            counted(planned.task_graph.len(), "task", "tasks")
        ),
        Err(why) => format!(
            "It could not be planned as a loop ({why:#}): run `ralph task import {path}` in a \
             terminal, then type /ralph."
        ),
    };
    format!("the user agreed to the plan `{path}` ({hash}). {next}")
}

/// Makes the loop that `/ralph` starts, from the machine-readable part of the accepted plan.
///
/// # Errors
/// When the file no longer holds that plan, or no loop can be made from it.
pub(crate) fn plan_the_loop(home: &Home, planning: &LoopState) -> Result<Box<LoopState>> {
    let about = planning.ralplan().context("the planning has no plan")?;
    let root = Path::new(&planning.project_root);
    let text = plan_files::plan_text(root, &about.plan_path)
        .with_context(|| format!("`{}` is not there", about.plan_path))?;
    if sha256(&text) != about.plan_hash {
        bail!("`{}` was changed since; import it with `ralph task import`", about.plan_path);
    }
    let read = plan::parse(&text).map_err(|problems| {
        anyhow::anyhow!(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
    })?;
    let goal = format!(
        "{}\nThe plan that the user agreed to: `{}` ({}).",
        about.task,
        about.plan_path,
        short(&about.plan_hash)
    );
    let from = PlannedFrom { home, root, goal: &goal, started_by: StartedBy::Person };
    let file = foreign::ralplan_file(&about.plan_path, &text, &read.tasks);
    let mut state = begin::planned_from(&from, read)?;
    state.plan_file = file;
    lifecycle::create(home, &mut state)?;
    Ok(Box::new(state))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::state::{Criterion, RalplanState, Task};

    #[test]
    fn an_approval_tells_of_the_loop_or_why_there_is_none() {
        let plan = RalplanState {
            plan_path: ".omc/plans/a.md".to_owned(),
            plan_hash: "0123456789abcdef".to_owned(),
            ..RalplanState::default()
        };
        let planning = LoopState { mode: plan.into(), ..LoopState::default() };
        let planned = LoopState {
            loop_id: "L".to_owned(),
            acceptance_criteria: vec![Criterion::default()],
            task_graph: vec![Task::default(), Task::default()].into(),
            ..LoopState::default()
        };
        let lost = Err(anyhow::anyhow!("no text").context("could not read it"));
        for (planned, expected) in [
            (
                Ok(Box::new(planned)),
                "It is planned as loop L (1 criterion, 2 tasks): the person types /ralph to carry it out.",
            ),
            (
                lost,
                "It could not be planned as a loop (could not read it: no text): run `ralph task import \
                 .omc/plans/a.md` in a terminal, then type /ralph.",
            ),
        ] {
            let agreed = "the user agreed to the plan `.omc/plans/a.md` (0123456789ab). ";
            assert_eq!(approved(&planning, &planned), format!("{agreed}{expected}"));
        }
    }
}
