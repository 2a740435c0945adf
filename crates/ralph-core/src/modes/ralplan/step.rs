//! What an event changes in a planning, or why it is refused.
//!
//! A refused event changes nothing except the record of which agent reported in which role: an
//! agent that was a planner once stays one, even if its report came at the wrong moment.

use super::formats::{self, CriticFeedback};
use super::{Role, is_plans_place, keep_to_tell, position, short};
use crate::state::{DecisionKind, PlanDecision, PlanPhase, PlanVerdict, RalplanState};
use crate::text::plural::{counted, noun};
use crate::text::sanitize;
use crate::text::truncate::bounded;
use jiff::Timestamp;

/// UTF-16 units kept of a text for the next agent.
const KEPT: usize = 4_000;

/// UTF-16 units kept of a criterion, a task or a reason that the user is shown in one line.
const LINE: usize = 160;

/// The plan's file at the time of the event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlanSeen {
    /// The path, relative to the top of the project.
    pub path: String,
    pub hash: String,
    /// The quality gates that the plan fails, as worded by [`super::gates`].
    pub gates: Vec<String>,
    /// The plan's criteria and tasks, each in one line.
    pub criteria: Vec<String>,
    pub tasks: Vec<String>,
}

/// Something that happened to a planning.
#[derive(Debug, Clone, PartialEq)]
pub enum PlanEvent<'a> {
    /// An agent that the client names a planner ended with this message.
    PlannerReported {
        /// The client's id of the agent.
        agent: &'a str,
        message: &'a str,
        /// The file that the message calls ready; `None` if there is no such file.
        plan: Option<PlanSeen>,
    },
    /// An architect ended with this message.
    ArchitectReported {
        /// The client's id of the agent.
        agent: &'a str,
        message: &'a str,
    },
    /// The gap finder ended with this message.
    GapFinderReported {
        message: &'a str,
    },
    /// A critic is about to be called on a plan with this digest.
    CriticCalled {
        /// Digest of the plan's text as it is now.
        hash: &'a str,
    },
    /// A critic ended with this message.
    CriticReported {
        /// The client's id of the agent.
        agent: &'a str,
        message: &'a str,
        /// Digest of the plan's text as it is now.
        hash_now: &'a str,
    },
    Answered(PlanDecision),
    /// The project's own document is gone: the user removed it.
    MirrorGone,
    Cancelled,
}

/// The result of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanOutcome {
    /// The planning went through these phases and is now in the last one.
    Moved(Vec<PlanPhase>),
    /// The event was recorded; the phase is unchanged.
    Noted,
    /// The report goes back to its agent, which continues with these sentences.
    SentBack(Vec<String>),
    /// The report was sent back before. Its agent may end, and the report is ignored.
    Dropped(Vec<String>),
    /// Nothing happened, for this reason.
    Refused(String),
}

/// Creates a planning for a task.
pub fn begin(task: &str, now: Timestamp) -> RalplanState {
    let mut plan =
        RalplanState { task: task.to_owned(), started_at: now, ..RalplanState::default() };
    let line = format!("[RALPLAN Iteration {}] Initializing...", rejections(&plan));
    log(&mut plan, line);
    log(&mut plan, "[RALPLAN] Starting - Critic review will be required");
    plan
}

pub fn step(plan: &mut RalplanState, event: &PlanEvent<'_>) -> PlanOutcome {
    note_role(plan, event);
    if plan.phase.is_over() {
        let phase = &plan.phase;
        return PlanOutcome::Refused(format!(
            "this planning is over (`{phase}`); type `/ralplan TASK` to start another"
        ));
    }
    let taken = match event {
        PlanEvent::PlannerReported { agent, message, plan: seen } => {
            planner(plan, agent, message, seen.as_ref())
        }
        PlanEvent::ArchitectReported { agent, message } => architect(plan, agent, message),
        PlanEvent::GapFinderReported { message } => gap_finder(plan, message),
        PlanEvent::CriticCalled { hash } => critic_called(plan, hash),
        PlanEvent::CriticReported { agent, message, hash_now } => {
            critic(plan, agent, message, hash_now)
        }
        PlanEvent::Answered(decision) => answered(plan, decision),
        PlanEvent::MirrorGone => Ok(cancel(plan, "its state file was removed")),
        PlanEvent::Cancelled => Ok(cancel(plan, "a person said so")),
    };
    taken.unwrap_or_else(PlanOutcome::Refused)
}

fn note_role(plan: &mut RalplanState, event: &PlanEvent<'_>) {
    let (agents, agent) = match event {
        PlanEvent::PlannerReported { agent, .. } => (&mut plan.planners, agent),
        PlanEvent::CriticReported { agent, .. } => (&mut plan.critics, agent),
        _ => return,
    };
    if !agent.is_empty() && !agents.iter().any(|known| known == agent) {
        agents.push((*agent).to_owned());
    }
}

fn must_be(plan: &RalplanState, wanted: &PlanPhase, what: &str) -> Result<(), String> {
    let phase = &plan.phase;
    match phase == wanted {
        true => Ok(()),
        false => Err(format!(
            "{what} is valid only in the phase `{wanted}`; this planning is in `{phase}`"
        )),
    }
}

fn must_be_named(agent: &str) -> Result<(), String> {
    match agent {
        "" => Err("a report is valid only from an agent that the client names".to_owned()),
        _ => Ok(()),
    }
}

/// The digits of a text for the user; a text that is gone has none.
pub(super) fn named(hash: &str) -> String {
    match hash {
        "" => "not there".to_owned(),
        hash => format!("`{}`", short(hash)),
    }
}

fn planner(
    plan: &mut RalplanState,
    agent: &str,
    message: &str,
    seen: Option<&PlanSeen>,
) -> Result<PlanOutcome, String> {
    must_be(plan, &PlanPhase::PlannerPlanning, "a planner's report")?;
    must_be_named(agent)?;
    if plan.critics.iter().any(|critic| critic == agent) {
        let planner = Role::Planner.agent();
        return Err(format!(
            "agent `{agent}` judged this plan and cannot write it; call a new `{planner}`"
        ));
    }
    let (questions, ready) = match (formats::questions(message), formats::plan_ready(message)) {
        (Ok(questions), None) if questions.is_empty() => {
            let what = "A planner ends with `PLAN_READY: .omc/plans/NAME.md`, or with \
                 `ARCHITECT_QUESTION:` if it needs an answer first.";
            return Ok(send_back(plan, agent, vec![what.to_owned()]));
        }
        (Ok(_), Some(Err(wrong))) => return Ok(send_back(plan, agent, vec![wrong])),
        (Err(wrong), _) => return Ok(send_back(plan, agent, wrong)),
        (Ok(questions), ready) => (questions, ready.is_some()),
    };
    // Record the path whatever fails below: the next agent is told which file to continue with.
    if let Some(seen) = seen.filter(|seen| ready && is_plans_place(&seen.path)) {
        plan.plan_path.clone_from(&seen.path);
    }
    // Questions come first: a critic should not judge a plan that waits for answers.
    if !questions.is_empty() {
        plan.questions = questions.iter().map(|one| bounded(&one.line(), KEPT)).collect();
        plan.answers.clear();
        let said = questions.iter().map(|one| format!("{}: {}", one.topic, one.question));
        tell(plan, "the planner asks the architect", &said.collect::<Vec<_>>());
        return Ok(go(plan, &[PlanPhase::ArchitectConsultation]));
    }
    let failed = failed_gates(plan, seen);
    let Some(seen) = seen.filter(|_| failed.is_empty()) else {
        plan.failed_gates.clone_from(&failed);
        log(plan, format!("[RALPLAN] Quality gates failed: {}", failed.len()));
        tell(plan, "not ready for the critic", &failed);
        return Ok(send_back(plan, agent, failed));
    };
    plan.ready_hash.clone_from(&seen.hash);
    let lines = |of: &[String]| of.iter().map(|one| one_line(one)).collect();
    (plan.criteria, plan.tasks) = (lines(&seen.criteria), lines(&seen.tasks));
    plan.plan_hash.clear();
    plan.verdict = None;
    (plan.failed_gates, plan.answers) = (Vec::new(), Vec::new());
    plan.gaps.clear();
    log(plan, "[RALPLAN] Critic review required before approval");
    log(plan, "[RALPLAN] Plan ready, invoking Critic for review");
    tell(plan, &format!("`{}` goes to the critic", plan.plan_path), &[]);
    Ok(go(plan, &[PlanPhase::CriticReview]))
}

/// The reasons why a plan reported as ready does not go to its critic.
fn failed_gates(plan: &RalplanState, seen: Option<&PlanSeen>) -> Vec<String> {
    let mut failed = Vec::new();
    match seen {
        None => failed.push(
            "The plan that `PLAN_READY:` names does not exist or cannot be read; write it below \
             `.omc/plans/`."
                .to_owned(),
        ),
        Some(seen) if !is_plans_place(&seen.path) => failed.push(format!(
            "`{}` is not a plan's path; write it to a file such as `.omc/plans/login.md`.",
            seen.path
        )),
        Some(seen) => failed.extend(seen.gates.iter().cloned()),
    }
    if !plan.consulted_gap_finder {
        failed.push(format!(
            "The gap finder has not read this task yet: consult `{}`, and use its findings.",
            Role::GapFinder.agent()
        ));
    }
    failed
}

fn architect(plan: &mut RalplanState, agent: &str, message: &str) -> Result<PlanOutcome, String> {
    must_be(plan, &PlanPhase::ArchitectConsultation, "an architect's answer")?;
    must_be_named(agent)?;
    let answers = match formats::answers(message) {
        Ok(answers) if answers.len() < plan.questions.len() => {
            let (has, asked) = (answers.len(), plan.questions.len());
            let what = format!(
                "{has} of {asked} {} answered; write one `ARCHITECT_ANSWER:` for each.",
                noun(asked, "question is", "questions are")
            );
            return Ok(send_back(plan, agent, vec![what]));
        }
        Ok(answers) => answers,
        Err(wrong) => return Ok(send_back(plan, agent, wrong)),
    };
    plan.answers = answers.iter().map(|one| bounded(&one.line(), KEPT)).collect();
    plan.questions.clear();
    log(plan, "[RALPLAN] Architect answered");
    let said = answers.iter().map(|one| format!("{}: {}", one.topic, one.recommendation));
    tell(plan, "the architect answers", &said.collect::<Vec<_>>());
    Ok(go(plan, &[PlanPhase::PlannerPlanning]))
}

fn gap_finder(plan: &mut RalplanState, message: &str) -> Result<PlanOutcome, String> {
    must_be(plan, &PlanPhase::PlannerPlanning, "the gap finder's report")?;
    if message.trim().is_empty() {
        return Ok(PlanOutcome::Dropped(vec![
            "The gap finder answered nothing; call it again.".to_owned(),
        ]));
    }
    plan.consulted_gap_finder = true;
    plan.gaps = bounded(message.trim(), KEPT);
    log(plan, "[RALPLAN] Gap finder consulted");
    tell(plan, "the gap finder has read the task", &[]);
    Ok(PlanOutcome::Noted)
}

fn critic_called(plan: &mut RalplanState, hash: &str) -> Result<PlanOutcome, String> {
    must_be(plan, &PlanPhase::CriticReview, "a call of the critic")?;
    if hash.is_empty() || hash != plan.ready_hash {
        // It does not matter who changed the text: only a planner can report a text as ready, and
        // this text has not passed the gates.
        (plan.ready_hash, plan.plan_hash) = (String::new(), String::new());
        plan.failed_gates = vec![
            "The plan was changed after `PLAN_READY:`; read it and report it again.".to_owned(),
        ];
        log(plan, "[RALPLAN] The plan was changed after PLAN_READY, back to Planner");
        tell(plan, "its file was changed before the critic read it; back to the planner", &[]);
        return Ok(go(plan, &[PlanPhase::PlannerPlanning]));
    }
    hash.clone_into(&mut plan.plan_hash);
    log(plan, "[RALPLAN] Invoking Critic for plan review");
    Ok(PlanOutcome::Noted)
}

fn critic(
    plan: &mut RalplanState,
    agent: &str,
    message: &str,
    hash_now: &str,
) -> Result<PlanOutcome, String> {
    must_be(plan, &PlanPhase::CriticReview, "a critic's verdict")?;
    let critic = Role::Critic.agent();
    must_be_named(agent)?;
    if plan.planners.iter().any(|planner| planner == agent) {
        return Err(format!(
            "agent `{agent}` wrote this plan and cannot judge it; call a new `{critic}`"
        ));
    }
    if plan.plan_hash.is_empty() {
        return Err(format!("this critic got no plan; call `{critic}` with the plan's path"));
    }
    if plan.plan_hash != hash_now {
        return Err(format!(
            "the plan was {} when the critic was called and is {} now; a verdict is valid only for \
             the text it judged. Call `{critic}`: a planner reports the present plan again",
            named(&plan.plan_hash),
            named(hash_now)
        ));
    }
    let said = match formats::feedback(message) {
        Ok(said) => said,
        Err(wrong) => return Ok(send_back(plan, agent, wrong)),
    };
    if !plan.plan_hash.starts_with(&said.judged) {
        return Err(format!(
            "the critic judged {} and the plan is {}; call a new `{critic}`",
            named(&said.judged),
            named(&plan.plan_hash)
        ));
    }
    log(plan, format!("[RALPLAN] Critic verdict: {}", if said.okay { "OKAY" } else { "REJECT" }));
    plan.verdict = Some(PlanVerdict {
        agent: agent.to_owned(),
        plan_hash: plan.plan_hash.clone(),
        okay: said.okay,
        issues: said.critical.clone(),
    });
    Ok(if said.okay { approved(plan) } else { rejected(plan, &said) })
}

fn approved(plan: &mut RalplanState) -> PlanOutcome {
    plan.feedback.clear();
    tell(plan, "the critic approves; you decide", &[]);
    log(plan, format!("[RALPLAN] Approved by Critic at iteration {}", rejections(plan)));
    log(plan, "[RALPLAN] Plan approved by Critic. Awaiting user approval before implementation.");
    go(plan, &[PlanPhase::HandlingVerdict, PlanPhase::AwaitingUserApproval])
}

fn rejected(plan: &mut RalplanState, said: &CriticFeedback) -> PlanOutcome {
    let is_last = plan.iteration + 1 >= plan.max_iterations;
    let what = if is_last { "the critic rejects, and you decide" } else { "the critic rejects" };
    tell(plan, what, &[&said.critical[..], &said.questions[..]].concat());
    plan.iteration += 1;
    plan.feedback = bounded(&feedback_text(said), KEPT);
    if is_last {
        plan.forced = true;
        plan.concerns =
            said.critical.iter().chain(&said.questions).map(|one| bounded(one, KEPT)).collect();
        log(
            plan,
            format!(
                "[RALPLAN] WARNING: {} iterations without approval, {}. \
                 Awaiting user approval before implementation.",
                rejections(plan),
                counted(plan.concerns.len(), "unresolved concern", "unresolved concerns")
            ),
        );
        return go(plan, &[PlanPhase::HandlingVerdict, PlanPhase::AwaitingUserApproval]);
    }
    (plan.ready_hash, plan.plan_hash) = (String::new(), String::new());
    plan.questions = said.questions.iter().map(|one| bounded(one, KEPT)).collect();
    log(plan, format!("[RALPLAN Iteration {}] Feedback to Planner", rejections(plan)));
    let next = match plan.questions.is_empty() {
        true => PlanPhase::PlannerPlanning,
        false => PlanPhase::ArchitectConsultation,
    };
    go(plan, &[PlanPhase::HandlingVerdict, next])
}

fn feedback_text(said: &CriticFeedback) -> String {
    let list = |head: &str, items: &[String]| -> String {
        let lines = items.iter().enumerate().map(|(at, item)| format!("\n{}. {item}", at + 1));
        if items.is_empty() {
            String::new()
        } else {
            format!("{head}:{}\n", lines.collect::<String>())
        }
    };
    let text = list("Critical Issues", &said.critical) + &list("Minor Issues", &said.minor);
    text.trim_end().to_owned()
}

fn answered(plan: &mut RalplanState, decision: &PlanDecision) -> Result<PlanOutcome, String> {
    must_be(plan, &PlanPhase::AwaitingUserApproval, "the user's decision about the plan")?;
    let decided = match decision.kind {
        DecisionKind::Proceed
            if plan.plan_hash.is_empty() || decision.plan_hash != plan.plan_hash =>
        {
            return Err(format!(
                "the plan that was judged is {}, and the file is {} now; Adjust plans and judges \
                 it again, Discard ends it",
                named(&plan.plan_hash),
                named(&decision.plan_hash)
            ));
        }
        DecisionKind::Proceed => {
            log(plan, "[RALPLAN] Proceed: approved by the person");
            go(plan, &[PlanPhase::Complete])
        }
        DecisionKind::Adjust => adjust(plan, &decision.text),
        DecisionKind::Discard => cancel(plan, "the user discarded the plan"),
        DecisionKind::Other(ref word) => {
            return Err(format!("`{word}` is not a decision; write proceed, adjust or discard"));
        }
    };
    plan.decision = Some(decision.clone());
    Ok(decided)
}

fn adjust(plan: &mut RalplanState, words: &str) -> PlanOutcome {
    let mut feedback = match words.trim() {
        "" => "The user wants the plan adjusted and gave no reason: read the task again, and name \
             alternatives in the plan."
            .to_owned(),
        words => format!("The user wants the plan adjusted: {words}"),
    };
    for concern in &plan.concerns {
        feedback.push_str("\nLeft open by the critic: ");
        feedback.push_str(concern);
    }
    plan.feedback = bounded(&feedback, KEPT);
    (plan.iteration, plan.forced, plan.verdict) = (0, false, None);
    plan.concerns.clear();
    (plan.ready_hash, plan.plan_hash) = (String::new(), String::new());
    let line = format!("[RALPLAN Iteration {}] Adjust: back to Planner", rejections(plan));
    log(plan, line);
    tell(plan, "back to the planner with what you said", &[]);
    go(plan, &[PlanPhase::PlannerPlanning])
}

fn cancel(plan: &mut RalplanState, why: &str) -> PlanOutcome {
    log(plan, format!("[RALPLAN] Cancelled: {why}"));
    go(plan, &[PlanPhase::Cancelled])
}

fn send_back(plan: &mut RalplanState, agent: &str, wrong: Vec<String>) -> PlanOutcome {
    if plan.sent_back.iter().any(|known| known == agent) {
        return PlanOutcome::Dropped(wrong);
    }
    plan.sent_back.push(agent.to_owned());
    PlanOutcome::SentBack(wrong)
}

fn go(plan: &mut RalplanState, phases: &[PlanPhase]) -> PlanOutcome {
    if let Some(last) = phases.last() {
        plan.phase = last.clone();
    }
    PlanOutcome::Moved(phases.to_vec())
}

/// How many rejections are used up, as the log counts them: `0/5`.
fn rejections(plan: &RalplanState) -> String {
    format!("{}/{}", plan.iteration, plan.max_iterations)
}

/// Keeps the event's one line for the user, with the first of its reasons.
fn tell(plan: &mut RalplanState, what: &str, reasons: &[String]) {
    let mut line = format!("Plan {}: {what}", position(plan));
    if let Some(first) = reasons.first() {
        line.push_str(&format!(": {}", one_line(first)));
    }
    if reasons.len() > 1 {
        line.push_str(&format!(" (and {} more)", reasons.len() - 1));
    }
    keep_to_tell(plan, &line);
}

/// A text in one line without letters that act on a terminal, cut to [`LINE`].
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    bounded(&sanitize::visible(&words.join(" ")), LINE)
}

fn log(plan: &mut RalplanState, line: impl Into<String>) {
    plan.log = super::log_of(std::mem::take(&mut plan.log), &[line.into()]);
}

#[cfg(test)]
pub(crate) mod tests;
