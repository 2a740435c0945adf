//! A plan, as JSON or as the last JSON block of a Markdown document.
#![no_main]

use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use ralph_core::shell::vacuous;
use ralph_core::state::{LoopState, TaskStatus};
use ralph_core::tasks::graph;
use ralph_core::tasks::plan::{self, Plan};
use std::collections::HashSet;

fn check_sound(plan: &Plan) {
    let ids: HashSet<_> = plan.criteria.iter().map(|criterion| &criterion.id).collect();
    assert_eq!(ids.len(), plan.criteria.len(), "no id is there twice");
    for criterion in &plan.criteria {
        assert!(!criterion.verified && criterion.receipt.is_none(), "a plan proves nothing");
        assert!(criterion.tests_expected.is_none() && criterion.held_on.is_none());
        let is_vacuous = vacuous::refuse(&criterion.verification_command).is_some();
        let question = criterion.review.as_deref().map(str::trim);
        assert!(question.map_or(!is_vacuous, |question| !question.is_empty()));
    }
    for task in &plan.tasks {
        assert!(task.owner.is_none() && task.lease_expires_at.is_none(), "claims do not come in");
        assert!(!matches!(task.status, TaskStatus::InProgress | TaskStatus::Other(_)));
    }
    assert!(graph::lint(&plan.tasks).is_empty());
    let waves = graph::waves(&plan.tasks);
    assert_eq!(waves.iter().map(Vec::len).sum::<usize>(), plan.tasks.len());
    assert!(plan.max_iterations.is_none_or(|number| (1..=10_000).contains(&number)));
}

/// Written and read as a state, nothing is set that is not a plan's to say.
fn check_filled(plan: Plan) {
    let mut state = LoopState::default();
    plan.clone().fill(&mut state);
    let written = serde_json::to_string(&state).expect("a state can be written");
    let read: LoopState = serde_json::from_str(&written).expect("and read");
    let expected = LoopState {
        prompt: if plan.prompt.trim().is_empty() { String::new() } else { plan.prompt },
        max_iterations: plan.max_iterations.unwrap_or(25),
        context_report: plan.context_report,
        acceptance_criteria: read.acceptance_criteria.clone(),
        task_graph: read.task_graph.clone(),
        extra: read.extra.clone(),
        ..LoopState::default()
    };
    assert_eq!(read, expected);
    assert_eq!(read.acceptance_criteria.len(), plan.criteria.len());
    assert!(read.extra.keys().eq(plan.extra.keys()));
    graph::ready(&read.task_graph, Timestamp::UNIX_EPOCH);
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let read = plan::parse(&text);
    match &read {
        Ok(plan) => {
            check_sound(plan);
            check_filled(plan.clone());
        }
        Err(problems) => {
            assert!(!problems.is_empty(), "a refusal has a reason");
            assert!(problems.iter().all(|problem| !problem.to_string().is_empty()));
        }
    }
    let fence =
        "`".repeat(text.lines().map(|line| line.matches('`').count()).max().unwrap_or(0) + 3);
    if text.trim_start_matches('\u{feff}').trim().starts_with('{') && !text.contains('\r') {
        let text = text.trim_start_matches('\u{feff}').trim();
        let document = format!("# Plan\n\n{fence}json\n{text}\n{fence}\n");
        assert_eq!(plan::parse(&document).ok(), read.ok(), "the same plan in a document");
    }
});
