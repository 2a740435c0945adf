//! The first record of the ledger: the loop that is shared.
//!
//! It carries no result, no claim and nothing of the machine that shared the loop: receipts contain
//! output, and the settings and the environment are a person's own.

use super::names::{LONGEST_COMPONENT, component};
use super::record::LONGEST_LEASE;
use super::text::ObjectId;
use crate::state::{Criterion, Frozen, Limits, LoopState, Task, TaskStatus};
use crate::tasks::graph;
use crate::tasks::plan::{criteria_problems, unclaimed, unverified};
use crate::text::hex;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// The lease of a claim unless a setting says otherwise, in seconds.
pub const LEASE_SECONDS: u64 = 30 * 60;

/// How many times a task may be returned or released before Ralph gives it up.
pub const ATTEMPTS: u32 = 3;

/// Tasks in one plan.
pub const LARGEST_GRAPH: usize = 10_000;

/// The contract, the criteria and the tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub prompt: String,
    pub acceptance_criteria: Vec<Criterion>,
    /// What the user agreed to.
    pub frozen: Option<Frozen>,
    pub task_graph: Vec<Task>,
    pub context_report: String,
    pub max_iterations: u32,
    pub limits: Limits,
    /// A claim expires if its machine does not renew it for so long.
    pub lease_seconds: u64,
    /// After so many returns and releases, no machine tries the task again.
    pub attempts: u32,
}

impl Plan {
    /// The plan of a loop that is being shared.
    pub fn of(state: &LoopState, lease_seconds: u64) -> Plan {
        let mut plan = Plan {
            prompt: state.prompt.clone(),
            acceptance_criteria: state.acceptance_criteria.clone(),
            frozen: state.frozen.clone(),
            task_graph: state.task_graph.to_vec(),
            context_report: state.context_report.clone(),
            max_iterations: state.max_iterations,
            limits: state.limits.clone(),
            lease_seconds,
            attempts: ATTEMPTS,
        };
        // The time would give the same agreement another digest.
        if let Some(frozen) = &mut plan.frozen {
            frozen.at = None;
        }
        plan.acceptance_criteria.iter_mut().for_each(unverified);
        plan.task_graph.iter_mut().for_each(unclaimed);
        plan
    }

    /// What `ralph trust` confirms before a machine runs a command of the plan: the plan, and the tree of
    /// the commit that the work starts from.
    pub fn digest(&self, start: &ObjectId) -> String {
        hex::sha256(format!("{}\n{start}", self.text()))
    }

    /// The digest of earlier versions, which did not cover that tree.
    pub fn former_digest(&self) -> String {
        hex::sha256(self.text())
    }

    fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Why the plan cannot be shared, or was not written by Ralph.
    pub fn flaw(&self) -> Option<String> {
        if self.task_graph.is_empty() || self.task_graph.len() > LARGEST_GRAPH {
            return Some(format!(
                "a shared plan has at least one task and at most {LARGEST_GRAPH}"
            ));
        }
        if !(1..=LONGEST_LEASE).contains(&self.lease_seconds) || self.attempts == 0 {
            return Some("the lease or the number of attempts is out of bounds".to_owned());
        }
        if let Some(flaw) = graph::lint(&self.task_graph).first() {
            return Some(flaw.to_string());
        }
        if let Some(problem) = criteria_problems(&self.acceptance_criteria).first() {
            return Some(problem.to_string());
        }
        let is_vouched = |one: &Criterion| one.verified || one.receipt.is_some();
        let is_claimed =
            |task: &Task| task.owner.is_some() || task.status == TaskStatus::InProgress;
        if self.acceptance_criteria.iter().any(is_vouched) || self.task_graph.iter().any(is_claimed)
        {
            return Some("a plan carries receipts or claims".to_owned());
        }
        let mut seen = HashSet::new();
        self.task_graph.iter().map(|task| &task.id).find_map(|id| {
            if component(id).len() > LONGEST_COMPONENT {
                return Some(format!("the task id {id} is too long for a reference"));
            }
            // Each id is a file in some repository, and file systems may ignore case.
            let is_new = seen.insert(id.to_lowercase());
            (!is_new).then(|| format!("another task id differs from {id} by case only"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Receipt;
    use crate::tasks::shared::fixture::{id, plan};
    use jiff::Timestamp;

    #[track_caller]
    fn check(change: impl Fn(&mut Plan), flaw: &str) {
        let mut plan = plan("T-1\nT-2 after T-1");
        assert_eq!(plan.flaw(), None);
        change(&mut plan);
        assert!(plan.flaw().is_some_and(|found| found.contains(flaw)), "{:?}", plan.flaw());
    }

    #[test]
    fn a_plan_that_no_machine_could_carry_out_is_refused() {
        check(|plan| plan.task_graph.clear(), "at most 10000");
        check(|plan| plan.task_graph = vec![Task::default(); 10_001], "at most 10000");
        check(|plan| plan.lease_seconds = 0, "lease");
        check(|plan| plan.lease_seconds = LONGEST_LEASE + 1, "lease");
        check(|plan| plan.attempts = 0, "attempts");
        check(|plan| plan.task_graph[1].deps = vec!["T-9".to_owned()], "T-9");
        check(|plan| plan.task_graph[1].id = "t-1".to_owned(), "by case only");
        check(|plan| plan.task_graph[1].id = "é".repeat(34), "too long");
        check(|plan| plan.task_graph[0].owner = Some("me".to_owned()), "claims");
        check(|plan| plan.acceptance_criteria[0].verified = true, "receipts");
        check(|plan| plan.acceptance_criteria[0].verification_command.clear(), "command");
    }

    #[test]
    fn nothing_of_the_machine_that_shares_is_in_the_plan() {
        let mut state = LoopState {
            task_graph: plan("T-1 in_progress").task_graph.into(),
            acceptance_criteria: plan("T-1").acceptance_criteria,
            ..LoopState::default()
        };
        state.task_graph[0].owner = Some("laptop".to_owned());
        let criterion = &mut state.acceptance_criteria[0];
        criterion.verified = true;
        criterion.receipt = Some(Receipt { tail: "SECRET".to_owned(), ..Receipt::default() });
        state.frozen = Some(Frozen { at: Some(Timestamp::UNIX_EPOCH), ..Frozen::default() });
        let plan = Plan::of(&state, LEASE_SECONDS);
        assert_eq!(plan.flaw(), None);
        let text = serde_json::to_string(&plan).unwrap();
        assert!(!text.contains("SECRET") && !text.contains("laptop"), "{text}");
        let agreed_later = Frozen { at: Some(Timestamp::MAX), ..Frozen::default() };
        state.frozen = Some(agreed_later);
        assert_eq!(Plan::of(&state, LEASE_SECONDS).former_digest(), plan.former_digest());
    }

    #[test]
    fn any_change_of_the_plan_or_of_what_it_starts_from_changes_its_digest() {
        let (plan, mut other) = (plan("T-1"), plan("T-1"));
        assert_eq!(plan.digest(&id(1)), other.digest(&id(1)));
        assert_ne!(plan.digest(&id(1)), other.digest(&id(2)));
        assert_ne!(plan.digest(&id(1)), plan.former_digest());
        other.acceptance_criteria[0].verification_command.push(' ');
        assert_ne!(plan.digest(&id(1)), other.digest(&id(1)));
    }
}
