//! What an event changes in a planning, or why it is refused.
//!
//! A refused event changes nothing except the record of which agent reported in which role: an
//! agent that was a planner once stays one, even if its report came at the wrong moment.

use super::formats::{self, CriticFeedback};
use super::{Role, gates, is_plans_place, position, question, short};
use crate::state::{Criterion, DecisionKind, PlanDecision, PlanPhase, PlanVerdict, RalplanState};
use crate::tasks::plan;
use crate::text::hex::sha256;
use crate::text::plural::{counted, noun};
use crate::text::sanitize;
use crate::text::truncate::bounded;
use jiff::Timestamp;

/// UTF-16 units kept of a text for the next agent.
const KEPT: usize = 4_000;

/// UTF-16 units kept of a criterion, a task or a reason that the user is shown in one line.
const LINE: usize = 160;

/// Lines kept of the log.
const LOG_KEPT: usize = 100;

/// Lines kept for the user, until an event whose message the client shows: it shows none at the end
/// of an agent. A user who was away for longer finds all events in the log.
const UNTOLD_KEPT: usize = 12;

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

impl PlanSeen {
    /// Checks the text of a plan. `exists` is called with paths as the plan writes them, and
    /// `cannot_start` with the criteria; it returns why a loop could not begin with them.
    pub fn inspect(
        path: &str,
        text: &str,
        exists: impl Fn(&str) -> bool,
        cannot_start: impl Fn(&[Criterion]) -> Vec<String>,
    ) -> PlanSeen {
        let gates = gates::check(text, exists).iter().map(ToString::to_string).collect();
        let (path, hash) = (path.to_owned(), sha256(text));
        let mut seen = PlanSeen { path, hash, gates, ..PlanSeen::default() };
        if let Ok(plan) = plan::parse(text) {
            (seen.criteria, seen.tasks) = question::lists(&plan);
            seen.gates.extend(cannot_start(&plan.criteria));
        }
        seen
    }
}

/// Something that happened to a planning.
#[derive(Debug, Clone, PartialEq)]
pub enum PlanEvent<'a> {
    /// An agent ended.
    Reported {
        /// The role that the client names.
        role: Role,
        /// The client's id of the agent.
        agent: &'a str,
        message: &'a str,
        /// The file that the report is about, as [`reported_path`] names it; `None` if there is no
        /// such plan.
        file: Option<PlanSeen>,
    },
    /// A critic is about to be called on a plan with this digest.
    CriticCalled {
        /// Digest of the plan's text as it is now.
        hash: &'a str,
    },
    Answered(PlanDecision),
}

/// The result of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanOutcome {
    /// It counts. Holds the line that the user is shown; empty if there is none.
    Taken(String),
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

/// The path of the file that a report is about: the one that a planner calls ready, else the plan's.
/// A planner may name it from the top of the file system, too.
pub fn reported_path(plan: &RalplanState, role: Role, message: &str, project_root: &str) -> String {
    let ready = match role {
        Role::Planner => formats::plan_ready(message).and_then(Result::ok).unwrap_or_default(),
        _ => return plan.plan_path.clone(),
    };
    let root = format!("{project_root}/");
    let path = ready.strip_prefix("./").or(ready.strip_prefix(&root)).unwrap_or(&ready);
    path.to_owned()
}

pub fn step(plan: &mut RalplanState, event: &PlanEvent<'_>) -> PlanOutcome {
    if let PlanEvent::Reported { role, agent, .. } = event {
        note_role(plan, *role, agent);
    }
    if plan.phase.is_over() {
        let phase = &plan.phase;
        return PlanOutcome::Refused(format!(
            "this planning is over (`{phase}`); type `/ralplan TASK` to start another"
        ));
    }
    let taken = match event {
        PlanEvent::Reported { role, agent, message, file } => {
            reported(plan, *role, agent, message, file.as_ref())
        }
        PlanEvent::CriticCalled { hash } => critic_called(plan, hash),
        PlanEvent::Answered(decision) => answered(plan, decision),
    };
    taken.unwrap_or_else(PlanOutcome::Refused)
}

fn note_role(plan: &mut RalplanState, role: Role, agent: &str) {
    let agents = match role {
        Role::Planner => &mut plan.planners,
        Role::Critic => &mut plan.critics,
        Role::Architect | Role::GapFinder => return,
    };
    if !agent.is_empty() && !agents.iter().any(|known| known == agent) {
        agents.push(agent.to_owned());
    }
}

fn reported(
    plan: &mut RalplanState,
    role: Role,
    agent: &str,
    message: &str,
    file: Option<&PlanSeen>,
) -> Result<PlanOutcome, String> {
    let phase = match role {
        Role::Planner | Role::GapFinder => PlanPhase::PlannerPlanning,
        Role::Architect => PlanPhase::ArchitectConsultation,
        Role::Critic => PlanPhase::CriticReview,
    };
    must_be(plan, &phase, &format!("a report of `{}`", role.agent()))?;
    if agent.is_empty() {
        return Err("a report is valid only from an agent that the client names".to_owned());
    }
    let taken = match role {
        Role::Planner => planner(plan, agent, message, file),
        Role::Architect => architect(plan, message),
        Role::GapFinder => gap_finder(plan, message),
        Role::Critic => critic(plan, agent, message, file.map_or("", |file| &file.hash)),
    };
    if let Ok(PlanOutcome::SentBack(wrong)) = &taken {
        if plan.sent_back.iter().any(|known| known == agent) {
            return Ok(PlanOutcome::Dropped(wrong.clone()));
        }
        plan.sent_back.push(agent.to_owned());
    }
    taken
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

/// The digits of a text for the user.
fn named(hash: &str) -> String {
    if hash.is_empty() { "no text".to_owned() } else { format!("`{}`", short(hash)) }
}

fn planner(
    plan: &mut RalplanState,
    agent: &str,
    message: &str,
    file: Option<&PlanSeen>,
) -> Result<PlanOutcome, String> {
    if plan.critics.iter().any(|critic| critic == agent) {
        return Err(format!("agent `{agent}` judged this plan and cannot write it"));
    }
    let ready = formats::plan_ready(message).transpose().map_err(|wrong| vec![wrong]);
    let (questions, ready) = match (formats::questions(message), ready) {
        (Ok(questions), Ok(None)) if questions.is_empty() => {
            let what = "A planner ends with `PLAN_READY: .omc/plans/NAME.md`, or with \
                 `ARCHITECT_QUESTION:` if it needs an answer first.";
            return Ok(PlanOutcome::SentBack(vec![what.to_owned()]));
        }
        (Ok(questions), Ok(ready)) => (questions, ready.unwrap_or_default()),
        (Err(wrong), _) | (_, Err(wrong)) => return Ok(PlanOutcome::SentBack(wrong)),
    };
    let file = file.filter(|file| is_plans_place(&file.path));
    // Record the path whatever fails below: the next agent is told which file to continue with.
    if let Some(file) = file.filter(|_| !ready.is_empty()) {
        plan.plan_path.clone_from(&file.path);
    }
    // Questions come first: a critic should not judge a plan that waits for answers.
    if !questions.is_empty() {
        plan.questions = kept(questions.iter().map(|one| one.whole.as_str()));
        plan.answers.clear();
        plan.phase = PlanPhase::ArchitectConsultation;
        let short: Vec<String> = questions.into_iter().map(|one| one.short).collect();
        return Ok(tell(plan, "the planner asks the architect", &short));
    }
    let failed = failed_gates(plan, &ready, file);
    let Some(file) = file.filter(|_| failed.is_empty()) else {
        plan.failed_gates.clone_from(&failed);
        log(plan, format!("[RALPLAN] Quality gates failed: {}", failed.len()));
        tell(plan, "not ready for the critic", &failed);
        return Ok(PlanOutcome::SentBack(failed));
    };
    plan.ready_hash.clone_from(&file.hash);
    let lines = |of: &[String]| of.iter().map(|one| one_line(one)).collect();
    (plan.criteria, plan.tasks) = (lines(&file.criteria), lines(&file.tasks));
    plan.plan_hash.clear();
    plan.verdict = None;
    (plan.failed_gates, plan.answers) = (Vec::new(), Vec::new());
    plan.gaps.clear();
    plan.phase = PlanPhase::CriticReview;
    log(plan, "[RALPLAN] Critic review required before approval");
    log(plan, "[RALPLAN] Plan ready, invoking Critic for review");
    Ok(tell(plan, &format!("`{}` goes to the critic", plan.plan_path), &[]))
}

/// The reasons why a plan reported as ready does not go to its critic.
fn failed_gates(plan: &RalplanState, ready: &str, file: Option<&PlanSeen>) -> Vec<String> {
    let mut failed = match file {
        Some(file) => file.gates.clone(),
        None if is_plans_place(ready.trim_start_matches("./")) => {
            vec![format!("`{ready}` does not exist or cannot be read; write the plan there.")]
        }
        None => vec![format!(
            "`{ready}` is not a plan's path; write it to a file such as `.omc/plans/login.md`."
        )],
    };
    if !plan.consulted_gap_finder {
        failed.push(format!(
            "The gap finder has not read this task yet: consult `{}`, and use its findings.",
            Role::GapFinder.agent()
        ));
    }
    failed
}

fn architect(plan: &mut RalplanState, message: &str) -> Result<PlanOutcome, String> {
    let answers = match formats::answers(message) {
        Ok(answers) if answers.len() < plan.questions.len() => {
            let (has, asked) = (answers.len(), plan.questions.len());
            let what = format!(
                "{has} of {asked} {} answered; write one `ARCHITECT_ANSWER:` for each.",
                noun(asked, "question is", "questions are")
            );
            return Ok(PlanOutcome::SentBack(vec![what]));
        }
        Ok(answers) => answers,
        Err(wrong) => return Ok(PlanOutcome::SentBack(wrong)),
    };
    plan.answers = kept(answers.iter().map(|one| one.whole.as_str()));
    plan.questions.clear();
    plan.phase = PlanPhase::PlannerPlanning;
    log(plan, "[RALPLAN] Architect answered");
    let short: Vec<String> = answers.into_iter().map(|one| one.short).collect();
    Ok(tell(plan, "the architect answers", &short))
}

fn gap_finder(plan: &mut RalplanState, message: &str) -> Result<PlanOutcome, String> {
    if message.trim().is_empty() {
        let what = "Name the gaps in the task, or write that there are none.";
        return Ok(PlanOutcome::SentBack(vec![what.to_owned()]));
    }
    plan.consulted_gap_finder = true;
    plan.gaps = bounded(message.trim(), KEPT);
    log(plan, "[RALPLAN] Gap finder consulted");
    Ok(tell(plan, "the gap finder has read the task", &[]))
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
        plan.phase = PlanPhase::PlannerPlanning;
        log(plan, "[RALPLAN] The plan was changed after PLAN_READY, back to Planner");
        let what = "its file was changed before the critic read it; back to the planner";
        return Ok(tell(plan, what, &[]));
    }
    hash.clone_into(&mut plan.plan_hash);
    log(plan, "[RALPLAN] Invoking Critic for plan review");
    Ok(PlanOutcome::Taken(String::new()))
}

fn critic(
    plan: &mut RalplanState,
    agent: &str,
    message: &str,
    hash_now: &str,
) -> Result<PlanOutcome, String> {
    if plan.planners.iter().any(|planner| planner == agent) {
        return Err(format!("agent `{agent}` wrote this plan and cannot judge it"));
    }
    if plan.plan_hash.is_empty() || plan.plan_hash != hash_now {
        return Err(format!(
            "a critic was called on {}, and the plan is {} now",
            named(&plan.plan_hash),
            named(hash_now)
        ));
    }
    let said = match formats::feedback(message) {
        Ok(said) => said,
        Err(wrong) => return Ok(PlanOutcome::SentBack(wrong)),
    };
    if !plan.plan_hash.starts_with(&said.judged) {
        return Err(format!(
            "the critic judged {}, and the plan is {}",
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
    plan.phase = PlanPhase::AwaitingUserApproval;
    log(plan, format!("[RALPLAN] Approved by Critic at iteration {}", rejections(plan)));
    log(plan, "[RALPLAN] Plan approved by Critic. Awaiting user approval before implementation.");
    tell(plan, "the critic approves; you decide", &[])
}

fn rejected(plan: &mut RalplanState, said: &CriticFeedback) -> PlanOutcome {
    let open = [&said.critical[..], &said.questions[..]].concat();
    let is_last = plan.iteration + 1 >= plan.max_iterations;
    let what = if is_last { "the critic rejects, and you decide" } else { "the critic rejects" };
    // The line names the plan that was rejected, so it is made before the count.
    let told = tell(plan, what, &open);
    plan.iteration += 1;
    plan.feedback = bounded(&feedback_text(said), KEPT);
    if is_last {
        plan.forced = true;
        plan.concerns = kept(open.iter().map(String::as_str));
        plan.phase = PlanPhase::AwaitingUserApproval;
        let line = format!(
            "[RALPLAN] WARNING: {} iterations without approval, {}. Awaiting user approval before \
             implementation.",
            rejections(plan),
            counted(plan.concerns.len(), "unresolved concern", "unresolved concerns")
        );
        log(plan, line);
        return told;
    }
    (plan.ready_hash, plan.plan_hash) = (String::new(), String::new());
    plan.questions = kept(said.questions.iter().map(String::as_str));
    plan.phase = match plan.questions.is_empty() {
        true => PlanPhase::PlannerPlanning,
        false => PlanPhase::ArchitectConsultation,
    };
    log(plan, format!("[RALPLAN Iteration {}] Feedback to Planner", rejections(plan)));
    told
}

/// Texts for the next agent, each cut to what is kept.
fn kept<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<String> {
    texts.map(|text| bounded(text, KEPT)).collect()
}

fn feedback_text(said: &CriticFeedback) -> String {
    let mut lines = Vec::new();
    for (head, items) in [("Critical Issues:", &said.critical), ("Minor Issues:", &said.minor)] {
        if !items.is_empty() {
            lines.push(head.to_owned());
        }
        lines.extend(items.iter().enumerate().map(|(at, item)| format!("{}. {item}", at + 1)));
    }
    lines.join("\n")
}

fn answered(plan: &mut RalplanState, decision: &PlanDecision) -> Result<PlanOutcome, String> {
    must_be(plan, &PlanPhase::AwaitingUserApproval, "the user's decision about the plan")?;
    let taken = match decision.kind {
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
            plan.phase = PlanPhase::Complete;
            log(plan, "[RALPLAN] Proceed: approved by the person");
            PlanOutcome::Taken(String::new())
        }
        DecisionKind::Adjust => adjust(plan, &decision.text),
        DecisionKind::Discard => {
            plan.phase = PlanPhase::Cancelled;
            log(plan, "[RALPLAN] Cancelled: the user discarded the plan");
            PlanOutcome::Taken(String::new())
        }
        DecisionKind::Other(ref word) => {
            return Err(format!("`{word}` is not a decision; write proceed, adjust or discard"));
        }
    };
    plan.decision = Some(decision.clone());
    Ok(taken)
}

fn adjust(plan: &mut RalplanState, words: &str) -> PlanOutcome {
    let mut feedback = match words.trim() {
        "" => "The user wants the plan adjusted and gave no reason: read the task again, and name \
             alternatives in the plan."
            .to_owned(),
        words => format!("The user wants the plan adjusted: {words}"),
    };
    for concern in plan.concerns.drain(..) {
        feedback.push_str(&format!("\nLeft open by the critic: {concern}"));
    }
    plan.feedback = bounded(&feedback, KEPT);
    (plan.iteration, plan.forced, plan.verdict) = (0, false, None);
    (plan.ready_hash, plan.plan_hash) = (String::new(), String::new());
    plan.phase = PlanPhase::PlannerPlanning;
    let line = format!("[RALPLAN Iteration {}] Adjust: back to Planner", rejections(plan));
    log(plan, line);
    tell(plan, "back to the planner with what you said", &[])
}

/// How many rejections are used up, as the log counts them: `0/5`.
fn rejections(plan: &RalplanState) -> String {
    format!("{}/{}", plan.iteration, plan.max_iterations)
}

/// Keeps the event's one line for the user, with the first of its reasons.
fn tell(plan: &mut RalplanState, what: &str, reasons: &[String]) -> PlanOutcome {
    let mut line = format!("Plan {}: {what}", position(plan));
    if let Some(first) = reasons.first() {
        line.push_str(&format!(": {}", one_line(first)));
    }
    if reasons.len() > 1 {
        line.push_str(&format!(" (and {} more)", reasons.len() - 1));
    }
    keep_last(&mut plan.untold, line.clone(), UNTOLD_KEPT);
    PlanOutcome::Taken(line)
}

/// A text in one line without letters that act on a terminal, cut to [`LINE`].
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    bounded(&sanitize::visible(&words.join(" ")), LINE)
}

fn log(plan: &mut RalplanState, line: impl Into<String>) {
    keep_last(&mut plan.log, line.into(), LOG_KEPT);
}

/// Appends a line and drops the oldest ones beyond `most`.
fn keep_last(lines: &mut Vec<String>, line: String, most: usize) {
    lines.push(line);
    lines.drain(..lines.len().saturating_sub(most));
}

#[cfg(test)]
pub(crate) mod tests;
