//! Before an agent of a planning run is called, by the session's tool or by a driver that starts a
//! session for it.

use ralph_core::modes::ralplan::{self, PlanEvent, PlanOutcome, PlanRefusal, Role};
use ralph_core::state::RalplanState;
use ralph_io::store::plan_files;
use std::path::Path;

/// Why the agent may not be called; `None` if it may.
pub(super) fn may_call(
    plan: &mut RalplanState,
    role: Role,
    prompt: &str,
    root: &Path,
) -> Option<String> {
    let hash = plan_files::plan_hash(root, &plan.plan_path);
    let refused = ralplan::may_call(plan, role, prompt, &hash);
    let is_critic = role == Role::Critic;
    if is_critic && matches!(refused, Ok(()) | Err(PlanRefusal::ChangedSinceReady { .. })) {
        // This freezes the plan's text. If the text has changed since, the planning goes back to
        // the planner.
        if let PlanOutcome::Refused(why) =
            ralplan::step(plan, &PlanEvent::CriticCalled { hash: &hash })
        {
            return Some(why.to_string());
        }
    }
    refused.err().map(|why| why.to_string())
}
