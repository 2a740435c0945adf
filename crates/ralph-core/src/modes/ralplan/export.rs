//! `.omc/ralplan-state.json`: a planning under the document's field names, for people and other
//! tools.
//!
//! The document is written from the state and never decides anything. When Ralph reads a document
//! that another tool or an older version left, it takes the task, the plan's path, the counts and
//! the feedback. It ignores a verdict or an approval, because anyone can write a file of the
//! project.

use super::{is_plans_place, position};
use crate::state::{MAX_REJECTIONS, PlanPhase, RalplanState};
use crate::text::json;
use crate::text::truncate::bounded;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The document: the fields of its own tool in their order, then Ralph's.
#[derive(Serialize)]
struct ExportedState<'a> {
    active: bool,
    mode: &'static str,
    iteration: u32,
    max_iterations: u32,
    plan_path: &'a str,
    current_phase: &'a PlanPhase,
    started_at: Timestamp,
    task_description: &'a str,
    loop_id: &'a str,
    #[serde(flatten)]
    own: Value,
}

/// Renders the document of this planning. The caller rewrites a document that differs.
pub fn render(plan: &RalplanState, loop_id: &str) -> String {
    let document = ExportedState {
        active: !plan.phase.is_over(),
        mode: "ralplan",
        iteration: plan.iteration,
        max_iterations: plan.max_iterations,
        plan_path: &plan.plan_path,
        current_phase: &plan.phase,
        started_at: plan.started_at,
        task_description: &plan.task,
        loop_id,
        own: json!({
            "plan_hash": plan.plan_hash, "consulted_gap_finder": plan.consulted_gap_finder,
            "failed_gates": plan.failed_gates, "questions": plan.questions, "answers": plan.answers,
            "feedback": plan.feedback, "verdict": plan.verdict, "forced": plan.forced,
            "concerns": plan.concerns, "decision": plan.decision, "log": plan.log,
        }),
    };
    let text = serde_json::to_string_pretty(&document)
        .expect("a document of texts, numbers and lists can be written");
    text + "\n"
}

/// The loop that a document of ours names.
pub fn loop_id(text: &str) -> Option<String> {
    let document: Value = serde_json::from_str(text).ok()?;
    Some(document["loop_id"].as_str()?.to_owned())
}

/// What is read of such a document.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ForeignState {
    active: Option<bool>,
    mode: Option<String>,
    current_phase: PlanPhase,
    task_description: String,
    started_at: Option<String>,
    iteration: u32,
    max_iterations: Option<u32>,
    plan_path: String,
    feedback: String,
}

/// Reads a document that this loop did not write: the planning that was under way, to be started
/// again with this state; `None` if it is over.
///
/// # Errors
/// Why it cannot be read.
pub fn read(text: &str, now: Timestamp) -> Result<Option<RalplanState>, String> {
    let value: Value = serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|error| format!("the document is not JSON: {error}"))?;
    if !value.is_object() {
        return Err("the document is not a JSON object".to_owned());
    }
    let found: ForeignState = json::read(value)?;
    let mode = found.mode.as_deref().unwrap_or("ralplan");
    if mode != "ralplan" {
        return Err(format!("the document has the mode `{}`", bounded(mode, 60)));
    }
    let phase = found.current_phase;
    if phase.is_over() || found.active == Some(false) {
        return Ok(None);
    }
    if found.task_description.trim().is_empty() {
        return Err("`task_description` is missing or empty".to_owned());
    }
    let started_at = found.started_at.map(|text| text.parse()).transpose();
    let started_at = started_at
        .map_err(|_| "`started_at` is not a time such as 2026-01-31T23:59:59Z".to_owned())?;
    let mut plan = RalplanState {
        task: found.task_description,
        started_at: started_at.unwrap_or(now),
        iteration: found.iteration,
        max_iterations: found.max_iterations.unwrap_or(MAX_REJECTIONS),
        plan_path: found.plan_path,
        feedback: bounded(&found.feedback, 4_000),
        ..RalplanState::default()
    };
    if !is_plans_place(&plan.plan_path) {
        plan.plan_path.clear();
    }
    // At least one rejection must remain before the user is asked, and the maximum cannot exceed
    // the rule's.
    plan.max_iterations = plan.max_iterations.clamp(1, MAX_REJECTIONS);
    plan.iteration = plan.iteration.min(plan.max_iterations - 1);
    plan.log.push(format!("[RALPLAN] Taken up from a document in the phase {phase}"));
    let at = position(&plan);
    plan.untold.push(format!("Plan {at}: taken from a document in the phase {phase}"));
    Ok(Some(plan))
}

#[cfg(test)]
mod tests {
    use super::super::step::tests::awaiting;
    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    #[test]
    fn the_documents_fields_come_first_and_in_its_order() {
        let text = render(&awaiting(), "l-1");
        let names = [
            "active",
            "mode",
            "iteration",
            "max_iterations",
            "plan_path",
            "current_phase",
            "started_at",
            "task_description",
            "loop_id",
        ];
        let places: Vec<usize> =
            names.iter().map(|name| text.find(&format!("\n  \"{name}\": ")).expect(name)).collect();
        assert!(places.is_sorted(), "{text}");
        assert_eq!(loop_id(&text).as_deref(), Some("l-1"));
        assert_eq!((loop_id("{}"), loop_id("l-1")), (None, None));
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["active"], true);
        assert_eq!(value["mode"], "ralplan");
        assert_eq!(value["iteration"], 0);
        assert_eq!(value["max_iterations"], 5);
        assert_eq!(value["plan_path"], ".omc/plans/a.md");
        assert_eq!(value["current_phase"], "awaiting_user_approval");
        assert_eq!(value["started_at"], "1970-01-01T00:00:00Z");
        assert_eq!(value["task_description"], "log in");
        assert_eq!(value["verdict"]["okay"], true);
    }

    #[test]
    fn what_is_over_is_not_active() {
        for (phase, active) in [
            (PlanPhase::Complete, false),
            (PlanPhase::Cancelled, false),
            (PlanPhase::CriticReview, true),
        ] {
            let plan = RalplanState { phase, ..awaiting() };
            let value: Value = serde_json::from_str(&render(&plan, "")).unwrap();
            assert_eq!(value["active"], active);
        }
    }

    #[track_caller]
    fn under_way(document: &Value) -> RalplanState {
        read(&document.to_string(), NOW).unwrap().unwrap()
    }

    #[test]
    fn nothing_that_a_file_says_is_a_verdict_or_an_approval() {
        let mut document: Value = serde_json::from_str(&render(&awaiting(), "l")).unwrap();
        document["decision"] = json!({"kind": "proceed"});
        document["ready_hash"] = json!("x");
        let plan = under_way(&document);
        assert_eq!((&plan.phase, &plan.verdict), (&PlanPhase::PlannerPlanning, &None));
        assert_eq!((plan.plan_hash.as_str(), plan.ready_hash.as_str()), ("", ""));
        assert_eq!((&plan.decision, plan.forced), (&None, false));
        assert_eq!((plan.task.as_str(), plan.plan_path.as_str()), ("log in", ".omc/plans/a.md"));
    }

    #[test]
    fn the_documents_own_example_reads() {
        let plan = under_way(
            &json!({"active": true, "mode": "ralplan", "iteration": 1, "max_iterations": 5,
            "plan_path": ".omc/plans/[feature].md", "current_phase": "critic_review",
            "started_at": "2026-01-02T03:04:05Z", "task_description": "t", "feedback": "f"}),
        );
        assert_eq!((plan.iteration, plan.max_iterations, plan.feedback.as_str()), (1, 5, "f"));
        assert_eq!(plan.started_at.to_string(), "2026-01-02T03:04:05Z");
        let odd = under_way(&json!({"task_description": "t", "iteration": 99, "max_iterations": 0,
            "plan_path": "../x.md"}));
        assert_eq!((odd.iteration, odd.max_iterations, odd.plan_path.as_str()), (0, 1, ""));
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let said = match read(text, NOW) {
            Ok(None) => "over".to_owned(),
            Ok(Some(_)) => "under way".to_owned(),
            Err(why) => why,
        };
        assert!(said.contains(expected), "{said}");
    }

    #[test]
    fn what_is_over_or_not_ours_is_not_taken_up() {
        check(r#"{"active":false,"task_description":"t"}"#, "over");
        check(r#"{"active":true,"current_phase":"complete"}"#, "over");
        check(r#"{"mode":"autopilot","task_description":"t"}"#, "the mode `autopilot`");
        check(r#"{"task_description":" "}"#, "`task_description` is missing");
        check(r#"{"iteration":"one"}"#, "`iteration`: invalid type: string \"one\", expected u32");
        check("[]", "not a JSON object");
        check("{", "not JSON");
        check("\u{feff}{\"task_description\":\"t\"}", "under way");
    }
}
