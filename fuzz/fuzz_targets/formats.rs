//! What planner, architect and critic write, and what it does to a planning.
#![no_main]

use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use ralph_core::modes::ralplan::{self, PlanEvent, PlanOutcome, PlanSeen, Role, SHORT, formats};
use ralph_core::state::{PlanPhase, RalplanState};

/// The digest that the stored inputs name by its digits.
const HASH: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn report(role: Role, message: &str, file: Option<PlanSeen>) -> PlanEvent<'_> {
    PlanEvent::Reported { role, agent: role.agent(), message, file }
}

fn seen(path: &str) -> PlanSeen {
    PlanSeen { path: path.to_owned(), hash: HASH.to_owned(), ..PlanSeen::default() }
}

fn planning() -> RalplanState {
    let mut plan = ralplan::begin("log in", Timestamp::UNIX_EPOCH);
    ralplan::step(&mut plan, &report(Role::GapFinder, "none", None));
    plan
}

fn in_review() -> RalplanState {
    let mut plan = planning();
    let message = "PLAN_READY: .omc/plans/a.md";
    ralplan::step(&mut plan, &report(Role::Planner, message, Some(seen(".omc/plans/a.md"))));
    ralplan::step(&mut plan, &PlanEvent::CriticCalled { hash: HASH });
    assert_eq!((&plan.phase, plan.plan_hash.as_str()), (&PlanPhase::CriticReview, HASH));
    plan
}

fn check_said(wrong: &[String]) {
    assert!(!wrong.is_empty(), "a refusal says why");
    assert!(wrong.iter().all(|one| !one.trim().is_empty() && !one.contains('\n')));
}

fn check_verdict(message: &str) {
    let read = formats::feedback(message);
    match &read {
        Ok(said) => {
            let hex = said.judged.chars().all(|c| c.is_ascii_digit() || matches!(c, 'a'..='f'));
            assert!(hex && said.judged.len() >= SHORT);
            assert!(message.to_ascii_lowercase().contains(&said.judged), "no digits of its own");
            assert_eq!(said.okay, said.critical.is_empty());
            assert!(!said.okay || said.questions.is_empty());
            assert!(message.to_ascii_uppercase().contains(if said.okay {
                "OKAY"
            } else {
                "REJECT"
            }));
        }
        Err(wrong) => check_said(wrong),
    }
    let quote: String = message.lines().map(|line| format!("> {line}\n")).collect();
    assert!(formats::feedback(&quote).is_err(), "a quotation is no verdict");

    let mut plan = in_review();
    let event = report(Role::Critic, message, Some(seen(".omc/plans/a.md")));
    match ralplan::step(&mut plan, &event) {
        PlanOutcome::Taken(_) => {
            let said = read.expect("what moves a planning can be read");
            assert!(HASH.starts_with(&said.judged), "the text that was before the critic");
            assert_eq!(said.okay, plan.phase == PlanPhase::AwaitingUserApproval);
            assert_eq!(plan.iteration, u32::from(!said.okay));
        }
        PlanOutcome::SentBack(wrong) => {
            check_said(&wrong);
            assert!(
                wrong.iter().all(|one| !one.contains(ralplan::short(HASH))),
                "no digits given away"
            );
            let again = ralplan::step(&mut plan, &event);
            assert!(matches!(again, PlanOutcome::Dropped(_)), "it goes back once");
        }
        PlanOutcome::Refused(why) => assert!(!why.to_string().is_empty()),
        other => panic!("{other:?}"),
    }
    assert!(!plan.phase.is_over(), "no agent ends a planning");
}

fn check_planner(message: &str) {
    let ready = formats::plan_ready(message);
    let path = match &ready {
        Some(Ok(path)) => {
            assert!(message.contains(path.as_str()) && !path.contains('\n') && path.trim() == path);
            Some(path.clone())
        }
        Some(Err(wrong)) => {
            check_said(std::slice::from_ref(wrong));
            None
        }
        None => None,
    };
    let asks = formats::questions(message);
    match &asks {
        Ok(asked) => {
            assert!(asked.iter().all(|one| !one.whole.contains('\n')));
            assert!(asked.iter().all(|one| one.whole.starts_with(&one.short)));
        }
        Err(wrong) => check_said(wrong),
    }
    let mut plan = planning();
    let file = path.as_deref().map(seen);
    ralplan::step(&mut plan, &report(Role::Planner, message, file));
    match plan.phase {
        PlanPhase::CriticReview => {
            assert!(ralplan::is_plans_place(&plan.plan_path));
            assert_eq!((path.as_deref(), plan.ready_hash.as_str()), (Some(&*plan.plan_path), HASH));
            assert_eq!(asks, Ok(Vec::new()), "questions come first");
        }
        PlanPhase::ArchitectConsultation => {
            assert_eq!(plan.questions.len(), asks.expect("questions").len());
        }
        PlanPhase::PlannerPlanning => assert!(plan.ready_hash.is_empty()),
        ref other => panic!("{other}"),
    }
    assert!(plan.plan_path.is_empty() || ralplan::is_plans_place(&plan.plan_path));
}

fn check_architect(message: &str) {
    match formats::answers(message) {
        Ok(answers) => {
            assert!(!answers.is_empty());
            for one in answers {
                assert!(!one.whole.contains('\n') && one.whole.starts_with(&one.short));
            }
        }
        Err(wrong) => check_said(&wrong),
    }
}

fuzz_target!(|data: &[u8]| {
    let message = String::from_utf8_lossy(data);
    check_verdict(&message);
    check_planner(&message);
    check_architect(&message);
});
