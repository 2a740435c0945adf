//! Consensus planning, struck where it writes: at its beginning, at a call, at a report, at the answer.

use super::{CASE, Case, hook};
use crate::planning::{
    allowed, answer_to, answers, awaiting, calls_critic, critic_call, in_review, mirror, phase,
    question, report, reports, verdict,
};
use crate::world::World;
use serde_json::json;

pub(super) const CASES: &[Case] = &[
    Case {
        name: "planning: /ralplan begins",
        set: World::new,
        act: |w| {
            let members = json!({"expansion_type": "slash_command", "command_name": "ralplan",
                "command_args": "\"Add a login\"", "command_source": "userSettings",
                "prompt": "/ralplan \"Add a login\""});
            hook(w, "ralph-user-prompt", "UserPromptExpansion", members)
        },
        then: |w, answered| {
            assert!(w.has_entry() || !answered, "an answered start is bound");
            w.expansion("ralplan", "\"Add a login\"").exit(0);
            assert_eq!(phase(w), "planner_planning");
            assert_eq!(mirror(w)["task_description"], "Add a login");
            let said = w.step(&w.stop("x"));
            assert!(said.contains("ralplan-metis"), "{said}");
        },
        has_family: true,
        ..CASE
    },
    Case {
        name: "planning: the critic is called",
        set: in_review,
        act: |w| hook(w, "ralph-pre-tool-use", "PreToolUse", critic_call(w)),
        then: |w, _| {
            allowed(&calls_critic(w));
            reports(w, "critic", "c", &verdict(w, "OKAY")).silent();
            assert_eq!(phase(w), "awaiting_user_approval");
        },
        has_family: true,
        ..CASE
    },
    Case {
        name: "planning: a critic ends",
        set: || {
            let world = in_review();
            allowed(&calls_critic(&world));
            world
        },
        act: |w| {
            hook(w, "ralph-stop-hook", "SubagentStop", report("critic", "c", &verdict(w, "OKAY")))
        },
        then: |w, answered| {
            assert!(!answered || phase(w) == "awaiting_user_approval", "{}", phase(w));
            reports(w, "critic", "c", &verdict(w, "OKAY")).silent();
            assert_eq!(phase(w), "awaiting_user_approval");
            w.stop("x").goes_on();
            w.tool("Bash", json!({"command": "git branch y"})).denied();
        },
        has_family: true,
        ..CASE
    },
    Case {
        name: "planning: the person is asked",
        set: awaiting,
        act: |w| {
            let members = json!({"tool_name": "AskUserQuestion", "tool_input": question(w), "tool_use_id": "q"});
            hook(w, "ralph-pre-tool-use", "PreToolUse", members)
        },
        then: |w, _| {
            w.tool("AskUserQuestion", question(w)).silent();
            w.stop("x").silent();
            answers(w, "Adjust").context();
            assert_eq!(phase(w), "planner_planning");
        },
        has_family: true,
        ..CASE
    },
    Case {
        name: "planning: the person says Proceed",
        set: awaiting,
        act: |w| hook(w, "ralph-backpressure", "PostToolUse", answer_to(w, "Proceed")),
        then: |w, answered| {
            let is_there = w.has_entry() && w.state_path().is_file();
            let is_live = is_there && w.state()["ending"].is_null();
            assert!(!(is_live && answered), "an answer that was taken is kept");
            if is_live {
                answers(w, "Proceed").harmless();
            }
            w.stop("x").harmless();
            let contract = w.expansion("ralph", "").context();
            assert!(
                contract.contains("Goal: Add a login") && contract.contains("T-1"),
                "{contract}"
            );
        },
        has_family: true,
        ..CASE
    },
];
