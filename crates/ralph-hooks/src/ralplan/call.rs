//! An agent of a planning is about to be called: by the session with its tool, or by a driver as a session
//! of its own.

use ralph_core::modes::ralplan::{self, PlanEvent, PlanOutcome, PlanRefusal, Role};
use ralph_core::state::Ralplan;
use ralph_io::store::plan_files;
use std::path::Path;

/// None where the agent may be called; else why not.
pub(super) fn may_call(
    plan: &mut Ralplan,
    role: Role,
    prompt: &str,
    root: &Path,
) -> Option<String> {
    let hash = plan_files::plan_hash(root, &plan.plan_path);
    let refused = ralplan::may_call(plan, role, prompt, &hash);
    let is_critic = role == Role::Critic;
    if is_critic && matches!(refused, Ok(()) | Err(PlanRefusal::ChangedSinceReady { .. })) {
        // Freezes the text; or, where that is another one by now, goes back to the planner.
        if let PlanOutcome::Refused(why) =
            ralplan::step(plan, &PlanEvent::CriticCalled { hash: &hash })
        {
            return Some(why.to_string());
        }
    }
    refused.err().map(|why| why.to_string())
}
