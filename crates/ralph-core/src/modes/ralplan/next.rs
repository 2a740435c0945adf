//! The next step of a planning, for the session that carries it out, and whether an agent may be
//! called.
//!
//! An agent is told where to read and not what to think: it receives the plan's path, the feedback
//! as given, and the answers as written.

use crate::modes::flow::{self, AgentInput};
use crate::modes::ralplan::{PlanEvent, Role, question, short, step};
use crate::state::{PlanPhase, RalplanState};
use crate::text::truncate::bounded;
use serde::Serialize;
use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "action")]
pub enum NextPlanStep {
    /// Call this agent and wait for it.
    Call(AgentInput),
    /// Ask the user; nothing else can happen until there is an answer.
    Ask { question: String, plan_path: String },
    /// The user approved the plan.
    HandOver {
        plan_path: String,
        /// Digest of the text that the user approved.
        plan_hash: String,
    },
    /// Do nothing: the planning was cancelled.
    Nothing,
}

/// UTF-16 units for the material that an agent receives, so that the prompt fits into a reason.
const ROOM: usize = 900;

/// UTF-16 units for the task.
const TASK_ROOM: usize = 300;

/// Decides the next step. `prefix` is `ralph:` if the agents come from a plugin.
pub fn next(plan: &RalplanState, prefix: &str) -> NextPlanStep {
    if let Some(role) = due_role(plan) {
        return call(plan, role, prefix);
    }
    let plan_path = plan.plan_path.clone();
    match plan.phase {
        PlanPhase::AwaitingUserApproval => {
            NextPlanStep::Ask { question: question::text(plan), plan_path }
        }
        PlanPhase::Complete => {
            NextPlanStep::HandOver { plan_path, plan_hash: plan.plan_hash.clone() }
        }
        _ => NextPlanStep::Nothing,
    }
}

/// The role whose report the planning waits for.
fn due_role(plan: &RalplanState) -> Option<Role> {
    match plan.phase {
        PlanPhase::PlannerPlanning if !plan.consulted_gap_finder => Some(Role::GapFinder),
        PlanPhase::PlannerPlanning => Some(Role::Planner),
        PlanPhase::ArchitectConsultation => Some(Role::Architect),
        PlanPhase::CriticReview => Some(Role::Critic),
        // A planning never stays in the phase `handling_verdict`. Ralph does not continue a phase
        // from a later version.
        PlanPhase::HandlingVerdict
        | PlanPhase::AwaitingUserApproval
        | PlanPhase::Complete
        | PlanPhase::Cancelled
        | PlanPhase::Other(_) => None,
    }
}

fn call(plan: &RalplanState, role: Role, prefix: &str) -> NextPlanStep {
    let (description, prompt) = match role {
        Role::Planner => ("write the plan", planner(plan)),
        Role::Architect => ("answer the open questions", architect(plan)),
        Role::Critic => ("judge the plan", critic(plan)),
        Role::GapFinder => ("find the gaps in the task", gap_finder(plan)),
    };
    NextPlanStep::Call(AgentInput {
        description: description.to_owned(),
        subagent_type: format!("{prefix}{}", role.agent()),
        prompt,
        run_in_background: false,
    })
}

fn gap_finder(plan: &RalplanState) -> String {
    format!(
        "Find the gaps in this task before it is planned. Read what you need; change nothing.\n{}",
        task(plan)
    )
}

fn planner(plan: &RalplanState) -> String {
    let place = match plan.plan_path.as_str() {
        "" => "Write it to a new file `.omc/plans/NAME.md`.".to_owned(),
        path => format!("Revise `{path}`, which you read first."),
    };
    let mut told = vec![format!(
        "Plan directly: no interview, and no confirmation, since a critic reviews the plan.\n{}\n{place}",
        task(plan)
    )];
    let mut parts: Vec<(&str, String)> = vec![
        ("Fix these failed gates", plan.failed_gates.join("\n")),
        ("Fix this", plan.feedback.clone()),
        ("The architect answered", plan.answers.join("\n")),
        ("The gap finder found", plan.gaps.clone()),
    ];
    parts.retain(|(_, text)| !text.is_empty());
    let room = ROOM / parts.len().max(1);
    for (head, text) in parts {
        told.push(format!("{head}:\n{}", within(&text, room)));
    }
    told.push(
        "End with `PLAN_READY: ` and the plan's path, or with `ARCHITECT_QUESTION:` if you need an \
         answer from the architect."
            .to_owned(),
    );
    told.join("\n")
}

fn architect(plan: &RalplanState) -> String {
    let questions = plan.questions.iter().enumerate().map(|(at, one)| format!("{}. {one}", at + 1));
    let plan_line = match plan.plan_path.as_str() {
        "" => String::new(),
        path => format!("The current plan: `{path}`.\n"),
    };
    format!(
        "Answer these questions from the files themselves; change nothing.\n{plan_line}{}\nEnd with one \
         `ARCHITECT_ANSWER:` for each.",
        within(&questions.collect::<Vec<_>>().join("\n"), ROOM)
    )
}

fn critic(plan: &RalplanState) -> String {
    let path = &plan.plan_path;
    let hash = short(&plan.ready_hash);
    format!(
        "Review the plan `{path}`. Read the whole file, and the files that it names; change nothing.\nEnd with \
         `CRITIC_FEEDBACK:` and `- Verdict: OKAY` or `- Verdict: REJECT`, and with `- Plan hash: {hash}`."
    )
}

fn task(plan: &RalplanState) -> String {
    format!("Task: {}", within(&plan.task, TASK_ROOM))
}

/// The text, or its beginning and where to read the rest.
fn within(text: &str, room: usize) -> String {
    match bounded(text, room) {
        whole if whole == text => whole,
        cut => format!("{cut}\n(the rest: `ralph ralplan status`)"),
    }
}

/// The wording for the reason that a stop hook gives.
impl fmt::Display for NextPlanStep {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NextPlanStep::Call(call) => {
                to.write_str(&flow::call_in_words(&call.subagent_type, &call.prompt))
            }
            NextPlanStep::Ask { question, plan_path } => {
                writeln!(
                    to,
                    "Next: summarize in a few lines what the plan `{plan_path}` would change, then \
                     call AskUserQuestion with exactly one question:\n{question}"
                )?;
                for (label, _, about) in question::OPTIONS {
                    writeln!(to, "- {label}: {about}")?;
                }
                to.write_str(
                    "Then wait: silence is not consent. In a terminal the user can type `ralph \
                     ralplan approve`, `ralph ralplan adjust TEXT` or `ralph ralplan discard` \
                     instead.",
                )
            }
            NextPlanStep::HandOver { plan_path, plan_hash } => write!(
                to,
                "The user agreed to the plan `{plan_path}` ({}). The user types `/ralph` to carry \
                 it out.",
                short(plan_hash)
            ),
            NextPlanStep::Nothing => to.write_str("This planning is over; do nothing for it."),
        }
    }
}

// Which agent may be called now.
//
// The guard enforces who may plan; this module enforces whose turn it is. A report out of turn
// would be ignored, so the call is refused before it costs anything.

/// Whether an agent of this role may be called with this prompt, given the digest of the plan's
/// file (empty if there is no file). The call of a critic freezes the text; a text that has changed
/// since it was ready goes back to the planner instead.
///
/// # Errors
/// Why the call is refused. [`next`] is the call that is due.
pub fn may_call(
    plan: &mut RalplanState,
    role: Role,
    prompt: &str,
    hash_now: &str,
) -> Result<(), String> {
    match (due_role(plan), role) {
        // A second call of the gap finder may find more, but nothing waits for it.
        (Some(Role::Planner), Role::Planner | Role::GapFinder) => Ok(()),
        (Some(Role::Critic), Role::Critic) => may_judge(plan, prompt, hash_now),
        (Some(due), role) if due == role => Ok(()),
        _ => Err(format!(
            "this planning is in `{}`, which ignores a report of `{}`",
            plan.phase,
            role.agent()
        )),
    }
}

/// The prompt tells the critic which text to judge, and the critic repeats it in the verdict. A
/// critic that was called on an older text cannot judge a newer one.
fn may_judge(plan: &mut RalplanState, prompt: &str, hash_now: &str) -> Result<(), String> {
    let ready = plan.ready_hash.clone();
    let is_ready = !hash_now.is_empty() && hash_now == ready;
    if is_ready && !(prompt.contains(&plan.plan_path) && prompt.contains(short(&ready))) {
        return Err("the prompt does not name the path and the digest of the plan to judge".into());
    }
    step(plan, &PlanEvent::CriticCalled { hash: hash_now });
    if is_ready { Ok(()) } else { Err("the plan has changed since its planner reported it".into()) }
}

#[cfg(test)]
mod tests {
    use super::super::step::tests::{
        H1, REJECT, awaiting, decided, planning, reject_once, verdict,
    };
    use super::super::step::{PlanEvent, PlanSeen, begin, step};
    use super::*;
    use crate::state::DecisionKind;
    use jiff::Timestamp;

    #[track_caller]
    fn check(plan: &RalplanState, agent: &str, expected: &[&str]) {
        let said = next(plan, "").to_string();
        assert!(said.contains(&format!("subagent_type `{agent}`")), "{said}");
        assert!(expected.iter().all(|words| said.contains(words)), "{said}");
        assert!(said.encode_utf16().count() <= 2_000, "{}", said.len());
    }

    #[test]
    fn the_gap_finder_comes_before_the_first_planner() {
        check(&begin("log in", Timestamp::UNIX_EPOCH), "ralplan-metis", &["Task: log in"]);
        check(
            &planning(),
            "ralplan-planner",
            &["Task: log in", "new file `.omc/plans/NAME.md`", "found:\nnone", "no confirmation"],
        );
    }

    #[test]
    fn a_critic_is_given_the_plans_path_and_digest() {
        let mut plan = planning();
        let (path, hash) = (".omc/plans/a.md".into(), H1.into());
        let seen = PlanSeen { path, hash, ..PlanSeen::default() };
        let message = "PLAN_READY: .omc/plans/a.md";
        let (role, file) = (Role::Planner, Some(seen));
        step(&mut plan, &PlanEvent::Reported { role, agent: "p", message, file });
        check(&plan, "ralplan-critic", &["`.omc/plans/a.md`", "- Plan hash: 111111111111`"]);
    }

    #[test]
    fn a_planner_is_given_the_feedback_as_it_was_said() {
        let mut plan = planning();
        reject_once(&mut plan, "c");
        check(
            &plan,
            "ralplan-planner",
            &[
                "`.omc/plans/a.md`, which you read",
                "Fix this:\nCritical Issues:\n1. T-2 has no test",
            ],
        );
        plan.failed_gates = vec!["line 3: `better` cannot be checked".into()];
        plan.answers = vec!["Security: a vault".into()];
        check(&plan, "ralplan-planner", &["line 3: `better`", "architect answered:\nSecurity"]);
    }

    #[test]
    fn an_architect_is_given_the_questions_and_the_plan() {
        let mut plan = planning();
        reject_once(&mut plan, "c");
        (plan.phase, plan.questions) =
            (PlanPhase::ArchitectConsultation, vec!["A lock?".into(), "A queue?".into()]);
        check(&plan, "ralplan-architect", &["`.omc/plans/a.md`", "1. A lock?\n2. A queue?"]);
    }

    #[test]
    fn the_longest_texts_fit_into_a_reason_and_say_where_the_rest_is() {
        let long = "x".repeat(9_000);
        let mut plan = begin(&long, Timestamp::UNIX_EPOCH);
        plan.plan_path = format!(".omc/plans/{}.md", "n".repeat(80));
        check(&plan, "ralplan-metis", &["the rest: `ralph ralplan status`"]);
        plan.consulted_gap_finder = true;
        (plan.gaps, plan.feedback) = (long.clone(), long.clone());
        (plan.answers, plan.failed_gates) = (vec![long.clone()], vec![long.clone()]);
        check(&plan, "ralplan-planner", &["the rest: `ralph ralplan status`", "PLAN_READY"]);
        (plan.phase, plan.questions) = (PlanPhase::ArchitectConsultation, vec![long]);
        check(&plan, "ralplan-architect", &["ARCHITECT_ANSWER"]);
    }

    #[test]
    fn a_plugins_agents_have_its_prefix() {
        let NextPlanStep::Call(call) = next(&planning(), "ralph:") else { panic!() };
        assert_eq!(call.subagent_type, "ralph:ralplan-planner");
        assert!(!call.run_in_background);
    }

    #[test]
    fn the_person_is_asked_the_one_question() {
        let said = next(&awaiting(), "").to_string();
        for words in
            ["`.omc/plans/a.md` (111111111111)", "- Proceed:", "- Adjust:", "- Discard:", "silence"]
        {
            assert!(said.contains(words), "{said}");
        }
        let mut forced = planning();
        forced.iteration = 4;
        reject_once(&mut forced, "c");
        forced.concerns = vec!["y".repeat(9_000)];
        let said = next(&forced, "").to_string();
        assert!(said.contains("WARNING") && said.encode_utf16().count() <= 2_000, "{said}");
    }

    #[test]
    fn after_the_decision_there_is_the_hand_over_or_nothing() {
        let mut plan = awaiting();
        step(&mut plan, &decided(DecisionKind::Proceed, "", H1));
        let said = next(&plan, "").to_string();
        assert!(said.contains("`.omc/plans/a.md` (111111111111). The user types"), "{said}");
        let mut plan = awaiting();
        step(&mut plan, &decided(DecisionKind::Discard, "", H1));
        assert_eq!(next(&plan, ""), NextPlanStep::Nothing);
        assert!(next(&plan, "").to_string().contains("over"));
    }

    #[test]
    fn an_adjustment_goes_to_the_planner_in_the_persons_words() {
        let mut plan = awaiting();
        step(&mut plan, &decided(DecisionKind::Adjust, "use less", H1));
        check(&plan, "ralplan-planner", &["The user wants the plan adjusted: use less"]);
        step(&mut plan, &verdict("c", REJECT, H1));
        check(&plan, "ralplan-planner", &["use less"]);
    }
}

#[cfg(test)]
mod call_tests {
    use super::super::step::tests::{H1, H2, REJECT, awaiting, in_review, planning, verdict};
    use super::super::{NextPlanStep, begin, next, step};
    use super::*;
    use jiff::Timestamp;

    /// Checks which roles may be called with the prompt that `next` writes.
    #[track_caller]
    fn check(plan: &RalplanState, expected: &[Role]) {
        let prompt = match next(plan, "ralph:") {
            NextPlanStep::Call(call) => call.prompt,
            _ => String::new(),
        };
        for role in Role::ALL {
            let found = may_call(&mut plan.clone(), role, &prompt, H1);
            assert_eq!(found.is_ok(), expected.contains(&role), "{role:?} {found:?}");
            let Err(said) = found else { continue };
            let expected =
                format!("in `{}`, which ignores a report of `{}`", plan.phase, role.agent());
            assert!(said.ends_with(&expected), "{said}");
        }
    }

    #[test]
    fn each_phase_has_its_agent() {
        check(&begin("t", Timestamp::UNIX_EPOCH), &[Role::GapFinder]);
        check(&planning(), &[Role::GapFinder, Role::Planner]);
        check(&in_review(H1), &[Role::Critic]);
        let asked = RalplanState { phase: PlanPhase::ArchitectConsultation, ..planning() };
        check(&asked, &[Role::Architect]);
        check(&awaiting(), &[]);
        for phase in [
            PlanPhase::Complete,
            PlanPhase::Cancelled,
            PlanPhase::HandlingVerdict,
            PlanPhase::Other("of tomorrow".to_owned()),
        ] {
            check(&RalplanState { phase, ..awaiting() }, &[]);
        }
    }

    #[test]
    fn after_a_rejection_it_is_the_planners_turn() {
        let mut plan = in_review(H1);
        step(&mut plan, &verdict("c1", REJECT, H1));
        check(&plan, &[Role::GapFinder, Role::Planner]);
    }

    #[track_caller]
    fn check_critic(prompt: &str, hash_now: &str, expected: &str) {
        let said = may_call(&mut in_review(H1), Role::Critic, prompt, hash_now)
            .map_or_else(|why| why, |()| "may".to_owned());
        assert!(said.contains(expected), "{said}");
    }

    #[test]
    fn a_critics_prompt_names_the_plan_and_its_digits() {
        check_critic("Judge .omc/plans/a.md (111111111111), please.", H1, "may");
        check_critic(&format!("`.omc/plans/a.md` {H1}"), H1, "may");
        for prompt in
            ["", "Judge .omc/plans/a.md", "Judge 111111111111", ".omc/plans/a.md 11111111111"]
        {
            check_critic(prompt, H1, "does not name the path and the digest");
        }
    }

    #[test]
    fn no_critic_is_called_on_a_text_that_was_changed() {
        for now in [H2, ""] {
            check_critic(&format!(".omc/plans/a.md {H1} {H2}"), now, "the plan has changed");
        }
        let mut never_ready = RalplanState { phase: PlanPhase::CriticReview, ..planning() };
        let refused = may_call(&mut never_ready, Role::Critic, "", "").unwrap_err();
        assert!(refused.contains("the plan has changed"), "{refused}");
        assert_eq!(never_ready.phase, PlanPhase::PlannerPlanning);
    }
}
