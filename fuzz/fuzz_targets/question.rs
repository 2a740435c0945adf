//! The question to the person and the tool's response. Input: what a critic left open, and the JSON.
#![no_main]

use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use ralph_core::modes::ralplan::question::{START, answer, is_ours, text};
use ralph_core::modes::ralplan::{self, short};
use ralph_core::state::{DecisionKind, PlanPhase, RalplanState};
use ralph_fuzz::texts;
use serde_json::{Value, json};

/// The digest and the path that the stored inputs name.
const HASH: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const PATH: &str = ".omc/plans/a.md";

fn awaiting(concern: &str) -> RalplanState {
    RalplanState {
        phase: PlanPhase::AwaitingUserApproval,
        plan_path: PATH.to_owned(),
        plan_hash: HASH.to_owned(),
        forced: !concern.is_empty(),
        concerns: vec![concern.to_owned()],
        ..ralplan::begin("log in", Timestamp::UNIX_EPOCH)
    }
}

fn options() -> Value {
    json!([{"label": "Proceed"}, {"label": "Adjust"}, {"label": "Discard"}])
}

/// What is let through, and what is taken for an answer, names this text and no other.
fn check(plan: &RalplanState, value: &Value) {
    let names = |question: &Value| {
        let said = question["question"].as_str().unwrap_or_default();
        said.contains(PATH) && said.contains(short(HASH))
    };
    let is_one = value["questions"].as_array().is_some_and(|all| all.len() == 1);
    match is_ours(plan, value) {
        Ok(()) => {
            assert!(is_one && names(&value["questions"][0]));
            assert!(value.get("answers").is_none(), "no answer is brought along");
            assert_eq!(answer(plan, value), None, "the question itself is no answer");
        }
        Err(why) => assert!(!why.to_string().is_empty()),
    }
    let Some(said) = answer(plan, value) else { return };
    assert!(is_one && names(&value["questions"][0]));
    let question = value["questions"][0]["question"].as_str().expect("a question");
    let chosen = value["answers"][question].as_str().expect("a text").trim();
    assert!(!chosen.is_empty(), "silence is no answer");
    assert!(!said.start || chosen == START, "only its own option starts anything");
    assert_eq!(said.kind == DecisionKind::Proceed, chosen == "Proceed" || said.start);
    assert_eq!(said.kind == DecisionKind::Discard, chosen == "Discard");
    let planning = RalplanState { phase: PlanPhase::CriticReview, ..plan.clone() };
    assert!(is_ours(&planning, value).is_err(), "before its time nothing is asked");
    let other = RalplanState { plan_hash: "f".repeat(64), ..plan.clone() };
    let elsewhere = question.contains("ffffffffffff");
    assert!(elsewhere || answer(&other, value).is_none(), "an answer is to one text");
}

fuzz_target!(|data: &[u8]| {
    let [concern, rest] = texts(data);
    let plan = awaiting(&concern);
    if let Ok(value) = serde_json::from_str::<Value>(&rest) {
        check(&plan, &value);
    }
    // The gate's own question, with whatever a critic wrote in it, and any answer to it.
    let own = text(&plan);
    let asked = json!({"questions": [{"question": own, "options": options()}]});
    assert_eq!(is_ours(&plan, &asked), Ok(()), "{own}");
    let mut response = asked;
    response["answers"] = json!({own: rest});
    check(&plan, &response);
    assert_eq!(answer(&plan, &response).is_none(), rest.trim().is_empty(), "what is said is heard");
});
