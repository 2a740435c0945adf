//! What the words of a state and of a journal are called on a screen, and the status line of a session. Programs get the
//! words.

use crate::modes::ralplan;
use crate::state::{
    Criterion, EndingKind, EndingTone, LoopState, Mode, PauseCause, Phase, Signal, TaskDigest,
};
use crate::tasks::graph;
use crate::text::plural::{lasted, rounded, tokens, used_dollars};
use crate::text::sanitize;
use jiff::Timestamp;

/// A keyword as a user reads it: `not run` for `not_run`.
pub fn spaced(word: &str) -> String {
    word.replace('_', " ")
}

/// A decision of the journal: the event or command, and what was decided.
pub fn decision(event: &str, decision: &str) -> String {
    let phrase = match (event, decision) {
        ("Stop", "go on") => "next turn",
        ("Stop", "let go") => "turn over",
        ("PreToolUse", "denied") => "tool call refused",
        ("PostToolUse", "told") => "checks after an edit",
        ("ralph verify", "holds") => "criteria hold",
        ("ralph verify", "does not hold") => "criteria do not hold",
        (_, "delivered") => "signal delivered",
        (_, "notified") => "notification",
        (_, "turned red") => "a criterion turned red",
        (_, "started" | "paused" | "resumed" | "ended") => {
            return match event.strip_prefix("ralph ") {
                Some(_) => format!("{event}: {decision}"),
                None => format!("loop {decision}"),
            };
        }
        (command, _) if command.starts_with("ralph ") => {
            return format!("{command}: {}", spaced(decision));
        }
        _ => return spaced(decision),
    };
    phrase.to_owned()
}

/// How a loop has ended, in a word or two.
pub fn ended(kind: &EndingKind) -> String {
    match kind {
        EndingKind::MaxIterations => "limit reached".to_owned(),
        kind => spaced(kind.as_str()),
    }
}

/// Where a loop stands: `running`, `paused (rate limited)`, `stalled`.
pub fn loop_status(state: &LoopState) -> String {
    if let Some(ending) = &state.ending {
        return ended(&ending.kind);
    }
    match (&state.phase, state.ralplan(), &state.pause) {
        _ if state.awaits_decision() => "you decide".to_owned(),
        (_, Some(plan), _) if state.is_running() => spaced(plan.phase.as_str()),
        (Phase::Paused, _, Some(pause)) => format!("paused{}", paused(&pause.cause)),
        (Phase::Implementation, ..) => "running".to_owned(),
        (Phase::Verification, ..) => "running criteria".to_owned(),
        (phase, ..) => spaced(phase.as_str()),
    }
}

/// What stands still at a stop; `None` if the work goes on.
pub fn stalling(signal: &Signal) -> Option<&'static str> {
    Some(match signal {
        Signal::NoChange => "nothing had changed since the stop before",
        Signal::Idle => "nothing had changed, and the turn was text only",
        Signal::Cycle => "the tree goes through the same few states again and again",
        Signal::SameFailure => "the failure is the same as at the request before",
        _ => return None,
    })
}

/// Why a loop is paused, after the word `paused`; empty if the user paused it.
pub fn paused(cause: &PauseCause) -> String {
    match cause {
        PauseCause::Person => String::new(),
        PauseCause::BlockedOnHuman => " (needs you)".to_owned(),
        PauseCause::HostCapped => " (Claude Code's cap on stop hooks)".to_owned(),
        PauseCause::HostBudget => " (Claude Code's own limit)".to_owned(),
        PauseCause::Tampered => " (its hooks, settings or state were changed)".to_owned(),
        PauseCause::Mod => " (by a mod of Claude Code, not by you)".to_owned(),
        cause => format!(" ({})", spaced(cause.as_str())),
    }
}

/// How a loop's standing is rated, the same on every screen; `None` while it runs or is planned.
pub fn rated(state: &LoopState) -> Option<EndingTone> {
    match &state.ending {
        Some(ending) => Some(ending.kind.tone()),
        None if state.phase == Phase::Paused || state.awaits_decision() => Some(EndingTone::Look),
        None => None,
    }
}

// The status line for a session's loop: its phase, its progress, and the current task.
//
// It uses only the state, so a criterion counts as in its last run.

/// Longest part of a task's name or of a blocker; more does not help to recognise it.
const LONGEST: usize = 40;

/// A part of the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatuslinePart {
    /// The text, without characters that act on a terminal.
    pub text: String,
    /// The rating, for terminals with colour: `Look` if the user is waited for, or soon will be.
    pub tone: EndingTone,
}

/// The parts of the line; the first has our name.
pub fn statusline(state: &LoopState, now: Timestamp) -> Vec<StatuslinePart> {
    let mut parts = vec![head(state, now)];
    let mut add = |text: String, tone| {
        if !text.is_empty() {
            parts.push(StatuslinePart { text: sanitize::visible(&text).into_owned(), tone });
        }
    };
    if let Some(blocked) = &state.blocked {
        add(format!("needs you: {}", short(&blocked.what)), EndingTone::Look);
    }
    let tasks = graph::digest(&state.task_graph, now);
    add(fraction("tasks", tasks.summary.done, tasks.summary.total), EndingTone::Quiet);
    let (text, tone) = criteria(&state.acceptance_criteria);
    add(text, tone);
    if state.ending.is_some() {
        return parts;
    }
    add(state.observing.clone(), EndingTone::Quiet);
    add(task(&tasks), EndingTone::Quiet);
    if state.started_at.is_some() {
        let used = state.worked_seconds(now) / 60;
        let most = state.limits.max_minutes;
        add(format!("{used}/{most} min"), near(used, most));
    }
    match (state.usage.tokens.total(), state.limits.max_tokens) {
        (used, Some(most)) => {
            add(format!("{} of {}", rounded(used), tokens(most)), near(used, most));
        }
        (0, None) => {}
        (used, None) => add(tokens(used), EndingTone::Quiet),
    }
    let (cost, most) = (state.usage.cost, state.limits.max_cost);
    let is_near = most.is_some_and(|most| cost * 10.0 >= most * 9.0);
    add(used_dollars(cost, most), if is_near { EndingTone::Look } else { EndingTone::Quiet });
    parts
}

/// The name and the position.
fn head(state: &LoopState, now: Timestamp) -> StatuslinePart {
    let (what, position) = match state.ralplan() {
        Some(plan) => {
            (format!(" planning {}", spaced(plan.phase.as_str())), ralplan::position(plan))
        }
        None if state.mode.word() == Mode::default() => {
            (String::new(), format!("{}/{}", state.iteration, state.max_iterations))
        }
        None => {
            (format!(" {}", mode(state)), format!("{}/{}", state.iteration, state.max_iterations))
        }
    };
    let (text, tone) = match (&state.phase, state.ending.as_ref().map(|ending| &ending.kind)) {
        (_, Some(kind)) => {
            (format!("Ralph ended: {}{}", ended(kind), ago(state, now)), kind.tone())
        }
        _ if state.awaits_decision() => ("Ralph planning: you decide".to_owned(), EndingTone::Look),
        (Phase::Paused, None) => {
            let cause = state.pause.as_ref().map(|pause| &pause.cause);
            let cause = cause.map(paused).unwrap_or_default();
            (format!("Ralph{what} paused{cause} at {position}"), EndingTone::Look)
        }
        (Phase::Implementation, None) => (format!("Ralph{what} {position}"), EndingTone::Good),
        (phase, None) => (format!("Ralph{what} {phase} {position}"), EndingTone::Good),
    };
    StatuslinePart { text: sanitize::visible(&text).into_owned(), tone }
}

/// The name of the mode, followed by the id of the orchestration, if there is one.
fn mode(state: &LoopState) -> String {
    let id = state.orchestrated().unwrap_or_default();
    format!("{} {}", short(state.mode.word().as_str()), short(id)).trim_end().to_owned()
}

fn fraction(what: &str, done: usize, total: usize) -> String {
    if total == 0 { String::new() } else { format!("{what} {done}/{total}") }
}

/// The criteria that held in their last run or review.
fn criteria(all: &[Criterion]) -> (String, EndingTone) {
    let held = all.iter().filter(|one| one.verified && one.receipt.is_some());
    let (reviewed, proven): (Vec<_>, Vec<_>) = held.partition(|one| one.review.is_some());
    let all_hold = reviewed.len() + proven.len() == all.len();
    let text = fraction("criteria", proven.len(), all.len());
    let text = match reviewed.len() {
        0 => text,
        n => format!("{text}, {n} reviewed"),
    };
    (text, if all_hold { EndingTone::Good } else { EndingTone::Quiet })
}

/// The first claimed task, and the number of the others.
fn task(tasks: &TaskDigest) -> String {
    let (first, others) = match (&tasks.current, tasks.summary.in_progress) {
        (None, _) | (_, 0) => return String::new(),
        (Some(first), 1) => (first, String::new()),
        (Some(first), n) => (first, format!(" +{}", n - 1)),
    };
    format!("{} {}{others}", short(&first.id), short(&first.name))
}

/// A limit needs attention from nine tenths on.
fn near(used: u64, most: u64) -> EndingTone {
    let is_near = used.saturating_mul(10) >= most.saturating_mul(9);
    if is_near { EndingTone::Look } else { EndingTone::Quiet }
}

fn short(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", line[..end].trim_end()),
        None => line.to_owned(),
    }
}

/// How long ago the loop ended.
fn ago(state: &LoopState, now: Timestamp) -> String {
    let at = state.ending.as_ref().map(|ending| ending.at);
    at.map(|at| format!(", {} ago", lasted(now.duration_since(at).as_secs()))).unwrap_or_default()
}

#[cfg(test)]
mod phrases_tests {
    use super::*;
    use jiff::Timestamp;

    #[test]
    fn no_screen_shows_a_word_of_a_program() {
        for (event, word, phrase) in [
            ("Stop", "go on", "next turn"),
            ("Stop", "let go", "turn over"),
            ("PreToolUse", "denied", "tool call refused"),
            ("PostToolUse", "told", "checks after an edit"),
            ("UserPromptExpansion", "ended", "loop ended"),
            ("SessionEnd", "paused", "loop paused"),
            ("ralph pause", "paused", "ralph pause: paused"),
            ("ralph verify", "holds", "criteria hold"),
            ("ralph verify", "does not hold", "criteria do not hold"),
            ("PreToolUse", "delivered", "signal delivered"),
            ("Stop", "notified", "notification"),
            ("Stop", "turned red", "a criterion turned red"),
            ("UserPromptExpansion", "started", "loop started"),
            ("ralph resume", "resumed", "ralph resume: resumed"),
            ("ralph merge", "kept_out", "ralph merge: kept out"),
            ("Stop", "denied", "denied"),
            ("PreToolUse", "told", "told"),
            ("PreToolUse", "go on", "go on"),
            ("ralph signal", "sent", "ralph signal: sent"),
            ("SubagentStop", "kept_out", "kept out"),
        ] {
            assert_eq!(decision(event, word), phrase);
        }
    }

    #[test]
    fn a_standing_is_said_in_words() {
        let mut state = LoopState { phase: Phase::Implementation, ..LoopState::default() };
        assert_eq!((loop_status(&state).as_str(), rated(&state)), ("running", None));
        state.pause(PauseCause::Person, "", Timestamp::UNIX_EPOCH);
        assert_eq!(
            (loop_status(&state).as_str(), rated(&state)),
            ("paused", Some(EndingTone::Look))
        );
        state.pause.as_mut().unwrap().cause = PauseCause::RateLimited;
        assert_eq!(loop_status(&state), "paused (rate limited)");
        state.end(EndingKind::MaxIterations, "", Timestamp::UNIX_EPOCH);
        assert_eq!(loop_status(&state), "limit reached");
        assert_eq!(rated(&state), Some(EndingTone::Look));
        state.end(EndingKind::Stalled, "", Timestamp::UNIX_EPOCH);
        assert_eq!(
            (loop_status(&state).as_str(), rated(&state)),
            ("stalled", Some(EndingTone::Wrong))
        );
    }

    #[test]
    fn each_phase_of_a_loop_and_of_a_planning_has_its_words() {
        use crate::state::{PlanPhase, RalplanState};
        let at = |phase: Phase| LoopState { phase, ..LoopState::default() };
        for (phase, said) in [
            (Phase::Planned, "planned"),
            (Phase::Implementation, "running"),
            (Phase::Verification, "running criteria"),
            (Phase::Paused, "paused"),
            (Phase::Other("deep_sleep".to_owned()), "deep sleep"),
        ] {
            assert_eq!(loop_status(&at(phase)), said);
        }
        let plan = |phase: PlanPhase| LoopState {
            mode: RalplanState { phase, ..RalplanState::default() }.into(),
            ..at(Phase::Implementation)
        };
        assert_eq!(loop_status(&plan(PlanPhase::CriticReview)), "critic review");
        let awaits = plan(PlanPhase::AwaitingUserApproval);
        assert_eq!(
            (loop_status(&awaits).as_str(), rated(&awaits)),
            ("you decide", Some(EndingTone::Look))
        );
        let idle = LoopState { phase: Phase::Planned, ..plan(PlanPhase::CriticReview) };
        assert_eq!((loop_status(&idle).as_str(), rated(&idle)), ("planned", None));
    }

    #[test]
    fn each_cause_of_a_pause_has_its_words() {
        for (cause, said) in [
            (PauseCause::Person, ""),
            (PauseCause::Cleared, " (cleared)"),
            (PauseCause::BlockedOnHuman, " (needs you)"),
            (PauseCause::Interrupted, " (interrupted)"),
            (PauseCause::HostCapped, " (Claude Code's cap on stop hooks)"),
            (PauseCause::HostBudget, " (Claude Code's own limit)"),
            (PauseCause::Tampered, " (its hooks, settings or state were changed)"),
            (PauseCause::Mod, " (by a mod of Claude Code, not by you)"),
        ] {
            assert_eq!(paused(&cause), said);
        }
    }

    #[test]
    fn what_stands_still_is_said_and_nothing_of_work_that_goes_on() {
        for (signal, said) in [
            (Signal::NoChange, Some("nothing had changed since the stop before")),
            (Signal::Idle, Some("nothing had changed, and the turn was text only")),
            (Signal::Cycle, Some("the tree goes through the same few states again and again")),
            (Signal::SameFailure, Some("the failure is the same as at the request before")),
            (Signal::Working, None),
            (Signal::Waiting, None),
            (Signal::Blocked, None),
        ] {
            assert_eq!(stalling(&signal), said);
        }
    }
}

#[cfg(test)]
mod statusline_tests {
    use super::*;
    use serde_json::{Value, json};

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_second(minutes * 60).unwrap()
    }

    #[track_caller]
    fn check(state: Value, expected: &str) {
        let state: LoopState = serde_json::from_value(state).unwrap();
        let texts: Vec<String> =
            statusline(&state, at(12)).into_iter().map(|part| part.text).collect();
        assert_eq!(texts.join(" | "), expected);
    }

    #[test]
    fn a_loop_at_work_says_how_far_it_is_and_at_what() {
        check(
            json!({
                "phase": "implementation", "iteration": 3, "started_at": "1970-01-01T00:00:00Z",
                "limits": {"max_minutes": 480, "max_tokens": 5_100_000},
                "usage": {"tokens": {"input": 12_345}},
                "acceptance_criteria": [{"verified": true, "receipt": {}}, {"verified": true}],
                "task_graph": [
                    {"id": "T-1", "status": "done"},
                    {"id": "T-2", "name": "gone", "status": "in_progress",
                     "lease_expires_at": "1970-01-01T00:11:00Z"},
                    {"id": "T-3", "name": "Parse the dates", "status": "in_progress",
                     "lease_expires_at": "1970-01-01T00:13:00Z"},
                    {"id": "T-4", "name": "x", "status": "in_progress"},
                ],
            }),
            "Ralph 3/25 | tasks 1/4 | criteria 1/2 | T-3 Parse the dates +1 | 12/480 min | 12 k of 5.1 M tokens",
        );
        check(json!({"phase": "verification"}), "Ralph verification 0/25");
        check(
            json!({"phase": "implementation", "observing": "2 of 3: without the change"}),
            "Ralph 0/25 | 2 of 3: without the change",
        );
    }

    #[test]
    fn a_paused_or_ended_loop_says_so_first() {
        check(json!({"phase": "paused", "iteration": 1}), "Ralph paused at 1/25");
        check(
            json!({"phase": "paused", "pause": {"cause": "rate_limited"}}),
            "Ralph paused (rate limited) at 0/25",
        );
        check(
            json!({"phase": "ended", "iteration": 5, "ending": {"kind": "stalled", "at": "1970-01-01T00:09:00Z"},
                   "started_at": "1970-01-01T00:00:00Z"}),
            "Ralph ended: stalled, 3 min ago",
        );
        let blocked = json!({"what": format!("log in\u{1b}[2J{}\nsecond", "x".repeat(60))});
        check(
            json!({"phase": "paused", "pause": {"cause": "blocked_on_human"}, "blocked": blocked}),
            &format!(
                "Ralph paused (needs you) at 0/25 | needs you: log in\\u{{1b}}[2J{}...",
                "x".repeat(30)
            ),
        );
    }

    #[test]
    fn other_modes_are_named_and_one_that_is_not_known_too() {
        let plan = |phase: &str| {
            json!({"mode": "ralplan", "phase": "implementation",
                   "ralplan": {"phase": phase, "iteration": 2, "max_iterations": 5}})
        };
        check(plan("critic_review"), "Ralph planning critic review 3/5");
        check(plan("awaiting_user_approval"), "Ralph planning: you decide");
        for cause in ["blocked_on_human", "crashed"] {
            let mut waits = plan("awaiting_user_approval");
            (waits["phase"], waits["pause"]) = (json!("paused"), json!({"cause": cause}));
            check(waits, "Ralph planning: you decide");
        }
        check(json!({"mode": "session", "phase": "implementation"}), "Ralph session 0/25");
        let named = json!({"mode": "session", "phase": "paused", "session": {"id": "a1"}});
        check(named, "Ralph session a1 paused at 0/25");
        check(json!({"mode": "knit", "phase": "hibernating"}), "Ralph knit hibernating 0/25");
    }

    #[test]
    fn a_bound_that_is_near_is_told_from_one_that_is_not() {
        assert_eq!((near(89, 100), near(90, 100)), (EndingTone::Quiet, EndingTone::Look));
        let state = json!({"phase": "implementation", "usage": {"tokens": {"input": 1_250_000}}});
        check(state, "Ralph 0/25 | 1.2 M tokens");
        let mut state =
            json!({"phase": "implementation", "usage": {"tokens": {"input": 9}, "cost": 1.855}});
        check(state.clone(), "Ralph 0/25 | 9 tokens | $1.85");
        state["limits"] = json!({"max_cost": 2.0});
        check(state, "Ralph 0/25 | 9 tokens | $1.85 of $2.00");
    }

    /// The parts after the first, each with its rating.
    fn parts(state: Value) -> Vec<(String, EndingTone)> {
        let state: LoopState = serde_json::from_value(state).unwrap();
        let parts = statusline(&state, at(12)).into_iter().skip(1);
        parts.map(|part| (part.text, part.tone)).collect()
    }

    #[test]
    fn each_part_is_rated_by_what_the_user_has_to_do() {
        use EndingTone::{Good, Look, Quiet};
        let part = |text: &str, tone| (text.to_owned(), tone);
        let limits = |minutes: u64, tokens: u64, cost: f64| {
            parts(json!({
                "phase": "implementation", "started_at": "1970-01-01T00:00:00Z",
                "limits": {"max_minutes": minutes, "max_tokens": tokens, "max_cost": cost},
                "usage": {"tokens": {"input": 90}, "cost": 1.8},
            }))
        };
        assert_eq!(
            limits(13, 100, 2.0),
            [part("12/13 min", Look), part("90 of 100 tokens", Look), part("$1.80 of $2.00", Look)]
        );
        assert_eq!(
            limits(14, 101, 2.01),
            [
                part("12/14 min", Quiet),
                part("90 of 101 tokens", Quiet),
                part("$1.80 of $2.01", Quiet)
            ]
        );
        let criteria =
            |all: Value| parts(json!({"phase": "implementation", "acceptance_criteria": all}));
        let held = || json!({"verified": true, "receipt": {}});
        let judged = || json!({"verified": true, "receipt": {}, "review": "is it?"});
        assert_eq!(criteria(json!([held(), judged()])), [part("criteria 1/2, 1 reviewed", Good)]);
        assert_eq!(criteria(json!([held(), held()])), [part("criteria 2/2", Good)]);
        let open = json!({"verified": false, "receipt": {}});
        assert_eq!(criteria(json!([held(), open])), [part("criteria 1/2", Quiet)]);
        let unseen = json!({"verified": true});
        assert_eq!(criteria(json!([held(), unseen])), [part("criteria 1/2", Quiet)]);
        assert_eq!(
            parts(json!({"phase": "implementation", "blocked": {"what": "log in"}})),
            [part("needs you: log in", Look)]
        );
        let ended = json!({"phase": "ended", "ending": {"kind": "stalled", "at": "1970-01-01T00:12:00Z"},
                           "observing": "1 of 2", "usage": {"tokens": {"input": 90}}});
        assert_eq!(parts(ended), [], "of an ended loop only what it reached is told");
    }

    #[test]
    fn the_first_part_is_rated_as_the_loop_stands() {
        let tone = |state: Value| {
            let state: LoopState = serde_json::from_value(state).unwrap();
            statusline(&state, at(12))[0].tone
        };
        assert_eq!(tone(json!({"phase": "implementation"})), EndingTone::Good);
        assert_eq!(tone(json!({"phase": "verification"})), EndingTone::Good);
        assert_eq!(tone(json!({"phase": "paused"})), EndingTone::Look);
        let ended = json!({"phase": "ended", "ending": {"kind": "stalled"}});
        assert_eq!(tone(ended), EndingTone::Wrong);
    }

    #[test]
    fn a_claimed_task_is_named_with_the_number_of_the_others() {
        let tasks = |n: usize| {
            let task = json!({"id": "T-1", "name": "parse", "status": "in_progress"});
            let all = vec![task; n];
            let parts = parts(json!({"phase": "implementation", "task_graph": all}));
            parts.into_iter().map(|(text, _)| text).collect::<Vec<_>>()
        };
        assert_eq!(tasks(0), [""; 0]);
        assert_eq!(tasks(1), ["tasks 0/1", "T-1 parse"]);
        assert_eq!(tasks(3), ["tasks 0/3", "T-1 parse +2"]);
        assert_eq!(short(&"x".repeat(40)), "x".repeat(40));
        assert_eq!(short(&"x".repeat(41)), format!("{}...", "x".repeat(40)));
        assert_eq!(short(&format!(" {} xx", "x".repeat(39))), format!("{}...", "x".repeat(39)));
    }
}
