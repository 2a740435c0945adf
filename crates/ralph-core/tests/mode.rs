//! A mode is one unit: this one knows the table and nothing else, and goes through stop, replay, prompt and guard.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use jiff::Timestamp;
use ralph_core::guard::{self, Caller, LoopActivity, ProtectedPaths, Ruling, Situation, ToolCall};
use ralph_core::modes::mode::ModeRules;
use ralph_core::protocol::event::ToolInput;
use ralph_core::state::{EndingKind, LoopState, ModeState, Phase};
use ralph_core::stop::{self, AtStop, NextStep, StopInputs, StopVerdict, TaskProgress};
use serde_json::json;

/// Looks at two files, one in each turn.
struct Review;

impl AtStop for Review {
    fn wants_tree(&self) -> bool {
        false
    }

    fn at_stop(
        &self,
        state: &mut LoopState,
        _work: &TaskProgress,
        seen: &StopInputs,
    ) -> StopVerdict {
        if state.iteration < 2 {
            state.iteration += 1;
            return StopVerdict::GoOn;
        }
        state.end(EndingKind::Approved, "both files were reviewed", seen.now);
        StopVerdict::Ended(EndingKind::Approved)
    }

    fn next_step(&self, state: &LoopState, _seen: &StopInputs) -> NextStep {
        let line = format!("Ralph: next: review file {}.", state.iteration);
        NextStep { line, details: String::new() }
    }
}

impl ModeRules for Review {
    fn noun(&self) -> &'static str {
        "review"
    }

    fn resume_command(&self, _state: &LoopState) -> &'static str {
        "/review"
    }
}

fn state() -> LoopState {
    LoopState {
        loop_id: "l".to_owned(),
        mode: ModeState::Other("review".to_owned()),
        phase: Phase::Implementation,
        prompt: "Look at both files".to_owned(),
        ..LoopState::default()
    }
}

fn seen() -> StopInputs {
    serde_json::from_value(json!({
        "now": "1970-01-01T00:00:00Z", "prompt_id": "p", "request": "none",
    }))
    .unwrap()
}

#[test]
fn its_stops_are_decided_by_its_rules_and_decided_again() {
    let mut state = state();
    assert!(!stop::wants_tree(&Review, &state) && !stop::wants_proof(&Review, &state, &seen()));
    let mut told = Vec::new();
    for _ in 0..3 {
        let decision = stop::decide(&Review, &mut state, &seen());
        assert_eq!(decision.record.decide_again(&Review), decision.record.outcome);
        told.push((decision.verdict.describe(), decision.step.line));
    }
    let step = |n| ("go on".to_owned(), format!("Ralph: next: review file {n}."));
    assert_eq!(told, [step(1), step(2), ("ended: approved".to_owned(), String::new())]);
}

#[test]
fn a_persons_wish_comes_before_its_rules() {
    let mut state = state();
    let waits = StopInputs { command_waits: true, ..seen() };
    let decision = stop::decide(&Review, &mut state, &waits);
    assert!(matches!(decision.verdict, StopVerdict::LetGo(_)), "{:?}", decision.verdict);
}

#[test]
fn what_it_does_not_say_is_said_as_for_a_plain_loop() {
    let state = state();
    assert_eq!(
        (Review.noun(), Review.resume_command(&LoopState::default())),
        ("review", "/review")
    );
    assert_eq!(Review.started_line(&state), "Ralph loop l started");
    assert_eq!(Review.document(&state), None);
    let prompt = Review.loop_prompt("heading", &state, &[], Timestamp::UNIX_EPOCH);
    assert!(prompt.starts_with("heading\nGoal: Look at both files\n"), "{prompt}");
}

#[test]
fn its_tools_are_guarded_as_in_a_plain_loop() {
    let places = ProtectedPaths { ralph_home: "/state".to_owned(), ..ProtectedPaths::default() };
    let situation = Situation {
        standing: LoopActivity::Running,
        agent: Caller::Main,
        session_id: "s",
        places: &places,
        ralplan: None,
        session: None,
    };
    let allows = |tool: &str, command: &str| {
        let input = ToolInput::from(json!({"command": command}));
        let call = ToolCall { tool, input: &input, cwd: "/p", resolved: None, cut: false };
        guard::decide(&situation, &call) == Ruling::Allow
    };
    assert!(allows("Bash", "cargo test"));
    assert!(!allows("Bash", "ralph cancel"));
    assert!(!allows("AskUserQuestion", ""));
}
