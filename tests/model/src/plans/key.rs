//! What of a planning decides the future: two worlds that agree in it are one.
//!
//! Left out are wordings: what was asked, answered and found, which no rule reads.

use super::World;
use std::hash::{Hash, Hasher};

impl Hash for World {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let plan = &self.plan;
        (&plan.phase, plan.iteration, plan.forced).hash(hasher);
        (&plan.plan_path, &plan.ready_hash, &plan.plan_hash).hash(hasher);
        // In which order they reported decides nothing.
        for agents in [&plan.planners, &plan.critics, &plan.sent_back] {
            let mut agents: Vec<&String> = agents.iter().collect();
            agents.sort();
            agents.hash(hasher);
        }
        (plan.consulted_gap_finder, plan.questions.len()).hash(hasher);
        plan.verdict.as_ref().map(|one| (&one.plan_hash, one.okay)).hash(hasher);
        plan.decision.as_ref().map(|one| (one.kind.clone(), &one.plan_hash)).hash(hasher);
        (self.looped, self.text, self.changed, self.asked, &self.noted, self.broken).hash(hasher);
    }
}
