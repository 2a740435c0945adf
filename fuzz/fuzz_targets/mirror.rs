//! The project's own document of a planning, which anyone may have written.
#![no_main]

use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use ralph_core::modes::ralplan::export::{read, render};
use ralph_core::modes::ralplan::{NextPlanStep, is_plans_place, next};
use ralph_core::state::{MAX_REJECTIONS, PlanPhase, RalplanState};
use serde_json::Value;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

/// Nothing that a file says is a verdict, a text to judge or a decision.
fn check(plan: &RalplanState) {
    assert_eq!(plan.phase, PlanPhase::PlannerPlanning);
    assert!(plan.verdict.is_none() && plan.decision.is_none() && !plan.forced);
    assert!(plan.ready_hash.is_empty() && plan.plan_hash.is_empty());
    assert!(plan.planners.is_empty() && plan.critics.is_empty() && !plan.consulted_gap_finder);
    assert!((1..=MAX_REJECTIONS).contains(&plan.max_iterations));
    assert!(plan.iteration < plan.max_iterations);
    assert!(plan.plan_path.is_empty() || is_plans_place(&plan.plan_path));
    assert!(!plan.task.trim().is_empty());
    assert!(matches!(next(plan, ""), NextPlanStep::Call(_)), "it goes on from its first agent");
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    match read(&text, NOW) {
        Err(why) => assert!(!why.trim().is_empty(), "a refusal says why"),
        Ok(None) => {}
        Ok(Some(plan)) => {
            check(&plan);
            let written = render(&plan, "l-1");
            let value: Value = serde_json::from_str(&written).expect("a document is JSON");
            assert_eq!((&value["active"], &value["mode"]), (&true.into(), &"ralplan".into()));
            let Ok(Some(again)) = read(&written, NOW) else { panic!("{written}") };
            check(&again);
            assert_eq!(
                (&again.task, &again.plan_path, again.iteration, again.max_iterations),
                (&plan.task, &plan.plan_path, plan.iteration, plan.max_iterations)
            );
            assert_eq!((again.started_at, &again.feedback), (plan.started_at, &plan.feedback));
            let over = RalplanState { phase: PlanPhase::Cancelled, ..plan };
            assert_eq!(read(&render(&over, ""), NOW), Ok(None));
        }
    }
});
