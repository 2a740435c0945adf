//! The user's decision about a plan, from the question in the session or from the command line.

use super::{change, hash_now};
use crate::begin::{self, PlannedFrom};
use anyhow::{Context, Result, bail};
use ralph_core::modes::mode;
use ralph_core::modes::ralplan::{self, PlanEvent, PlanOutcome, short, step};
use ralph_core::state::{
    DecidedBy, DecisionKind, EndingKind, LoopState, PlanDecision, PlanPhase, Registration,
    StartedBy,
};
use ralph_core::tasks::{foreign, plan};
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

/// The result of a decision.
#[derive(Debug)]
pub enum Decided {
    /// The user agreed to the plan. `planned` is the loop that the user starts, or why it could not
    /// be made.
    Approved {
        /// The planning, as it ended.
        state: Box<LoopState>,
        /// The archived planning.
        file: LoopFile,
        /// The loop that `/ralph` starts next.
        planned: Result<Box<LoopState>>,
    },
    /// The plan goes back to the planner.
    Adjusted(Box<LoopState>),
    /// The planning is over; the plan's file stays.
    Discarded {
        /// The planning, as it ended.
        state: Box<LoopState>,
        /// The archived planning.
        file: LoopFile,
    },
    /// The decision is ignored, for this reason.
    Refused(String),
}

impl Decided {
    /// The archive of a planning run that is over.
    pub fn file(&self) -> Option<&LoopFile> {
        match self {
            Decided::Approved { file, .. } | Decided::Discarded { file, .. } => Some(file),
            Decided::Adjusted(_) | Decided::Refused(_) => None,
        }
    }

    /// One word for the decision, and a sentence or two about its result.
    pub fn describe(&self) -> (&'static str, String) {
        match self {
            Decided::Approved { state, planned, .. } => ("approved", approved(state, planned)),
            Decided::Adjusted(state) => {
                let plan = state.ralplan();
                let words =
                    plan.and_then(|plan| plan.decision.as_ref()).map(|one| one.text.as_str());
                let words =
                    words.filter(|words| !words.is_empty()).unwrap_or("no words were given");
                ("adjust", format!("back to the planner: {words}"))
            }
            Decided::Discarded { state, .. } => {
                let path = state.ralplan().map_or("", |plan| plan.plan_path.as_str());
                ("discarded", format!("the user discarded the plan; `{path}` stays as it is."))
            }
            Decided::Refused(why) => ("refused", why.clone()),
        }
    }
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

/// Applies the user's decision to the plan as its file is now. `entry` says what happens to the
/// session's entry if the decision ends the planning.
///
/// # Errors
/// When the state cannot be written. No decision was recorded then.
pub fn decide(
    home: &Home,
    file: &LoopFile,
    said: DecisionRequest,
    entry: ManifestFate,
) -> Result<Decided> {
    let now = clock::now();
    let Some(loaded) = file.read()? else {
        return Ok(Decided::Refused("the planning is gone".into()));
    };
    if plan_files::is_gone(&loaded.state) {
        let why = "the document of the planning was removed, which cancels it; `ralph cancel` ends it here too";
        return Ok(Decided::Refused(why.to_owned()));
    }
    let decision = PlanDecision {
        kind: said.kind,
        text: said.text,
        plan_hash: hash_now(&loaded.state),
        by: said.by,
        at: now,
    };
    let changed = change(file, |state| {
        if let Some(via) = said.via {
            state.note_event(via);
        }
        let plan = state.ralplan_mut()?;
        let outcome = step(plan, &PlanEvent::Answered(decision));
        match (&outcome, &plan.phase) {
            (PlanOutcome::Refused(_), _) => {}
            (_, PlanPhase::Complete) => {
                state.end(EndingKind::Approved, "the user agreed to the plan", now);
            }
            (_, PlanPhase::Cancelled) => {
                state.end(EndingKind::Discarded, "the user discarded the plan", now);
            }
            _ => mode::rules(&state.mode).resume(state, now),
        }
        Some(outcome)
    })?;
    let Some(changed) = changed else {
        return Ok(Decided::Refused("the planning is over".to_owned()));
    };
    let state = Box::new(changed.state);
    Ok(match (changed.outcome, &state.ending) {
        (Some(PlanOutcome::Refused(why)), _) => Decided::Refused(why),
        (None, _) => Decided::Refused("the planning is over".to_owned()),
        (_, None) => Decided::Adjusted(state),
        (_, Some(ending)) => {
            let is_approved = ending.kind == EndingKind::Approved;
            // Archive the planning first: the loop stored last becomes the most recent of the
            // project, and that must be the planned loop.
            let file = lifecycle::put_away(home, file, &state, entry)?.file;
            match is_approved {
                true => Decided::Approved { planned: plan_the_loop(home, &state), state, file },
                false => Decided::Discarded { state, file },
            }
        }
    })
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
    if ralplan::digest(text.as_bytes()) != about.plan_hash {
        bail!("`{}` was changed since; import it with `ralph task import`", about.plan_path);
    }
    let read = plan::parse(&text).map_err(|problems| {
        let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
        anyhow::anyhow!(told.join("; "))
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
    fn a_decision_is_told_in_words_and_one_that_ends_the_planning_names_its_archive() {
        let file = LoopFile::at("/archive/state.json");
        let planning = |words: &str| {
            let decision = Some(PlanDecision { text: words.to_owned(), ..PlanDecision::default() });
            let plan = RalplanState {
                plan_path: ".omc/plans/a.md".to_owned(),
                plan_hash: "0123456789abcdef".to_owned(),
                decision,
                ..RalplanState::default()
            };
            Box::new(LoopState { mode: plan.into(), ..LoopState::default() })
        };
        let planned = LoopState {
            loop_id: "L".to_owned(),
            acceptance_criteria: vec![Criterion::default()],
            task_graph: vec![Task::default(), Task::default()].into(),
            ..LoopState::default()
        };
        let approved =
            |planned| Decided::Approved { state: planning(""), file: file.clone(), planned };
        let agreed = format!(
            "the user agreed to the plan `.omc/plans/a.md` ({}). ",
            short("0123456789abcdef")
        );
        let lost = Err(anyhow::anyhow!("no text").context("could not read it"));
        let discarded = Decided::Discarded { state: planning(""), file: file.clone() };
        for (decided, word, words, is_over) in [
            (
                approved(Ok(Box::new(planned))),
                "approved",
                format!(
                    "{agreed}It is planned as loop L (1 criterion, 2 tasks): the person types \
                     /ralph to carry it out."
                ),
                true,
            ),
            (
                approved(lost),
                "approved",
                format!(
                    "{agreed}It could not be planned as a loop (could not read it: no text): run \
                     `ralph task import .omc/plans/a.md` in a terminal, then type /ralph."
                ),
                true,
            ),
            (
                Decided::Adjusted(planning("")),
                "adjust",
                "back to the planner: no words were given".to_owned(),
                false,
            ),
            (
                Decided::Adjusted(planning("smaller")),
                "adjust",
                "back to the planner: smaller".to_owned(),
                false,
            ),
            (
                discarded,
                "discarded",
                "the user discarded the plan; `.omc/plans/a.md` stays as it is.".to_owned(),
                true,
            ),
            (Decided::Refused("it is over".to_owned()), "refused", "it is over".to_owned(), false),
        ] {
            assert_eq!(decided.describe(), (word, words));
            assert_eq!(decided.file(), is_over.then_some(&file));
        }
    }
}
