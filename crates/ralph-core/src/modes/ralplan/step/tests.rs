use super::*;
use crate::state::DecidedBy;

pub(crate) const H1: &str = "1111111111111111111111111111111111111111111111111111111111111111";
pub(crate) const H2: &str = "2222222222222222222222222222222222222222222222222222222222222222";
const READY: &str = "PLAN_READY: .omc/plans/a.md";
const OKAY: &str = "CRITIC_FEEDBACK:\n- Verdict: OKAY\n- Plan hash: 111111111111";
const OKAY_OF_H2: &str = "CRITIC_FEEDBACK:\n- Verdict: OKAY\n- Plan hash: 222222222222";
pub(crate) const REJECT: &str = "CRITIC_FEEDBACK:\n- Plan hash: 111111111111\n- Verdict: REJECT\n- Critical Issues:\n  1. T-2 has no test\n- Minor Issues:\n  1. a name";
const ASKS: &str = "ARCHITECT_QUESTION:\n- Topic: Security\n- Context: login\n- Files to examine: src/a.rs\n\
                    - Specific Question: Who holds the key?";
const ANSWERS: &str = "ARCHITECT_ANSWER:\n- Topic: Security\n- Analysis: a\n- Recommendation: r\n\
                       - Trade-offs: t\n- References: src/a.rs:1";

/// A planning whose gap finder has already reported.
pub(crate) fn planning() -> RalplanState {
    let mut plan = begin("log in", Timestamp::UNIX_EPOCH);
    check(&mut plan, report(Role::GapFinder, "g", "none"), "taken | planner_planning 0/5");
    plan
}

fn seen(hash: &str) -> Option<PlanSeen> {
    let path = ".omc/plans/a.md".to_owned();
    Some(PlanSeen { path, hash: hash.to_owned(), ..PlanSeen::default() })
}

fn report<'a>(role: Role, agent: &'a str, message: &'a str) -> PlanEvent<'a> {
    PlanEvent::Reported { role, agent, message, file: None }
}

fn with_file<'a>(agent: &'a str, file: Option<PlanSeen>) -> PlanEvent<'a> {
    PlanEvent::Reported { role: Role::Planner, agent, message: READY, file }
}

fn ready(agent: &'static str, hash: &str) -> PlanEvent<'static> {
    with_file(agent, seen(hash))
}

pub(crate) fn verdict<'a>(agent: &'a str, message: &'a str, hash_now: &str) -> PlanEvent<'a> {
    let file = seen(hash_now).filter(|_| !hash_now.is_empty());
    PlanEvent::Reported { role: Role::Critic, agent, message, file }
}

pub(crate) fn decided(kind: DecisionKind, text: &str, hash: &str) -> PlanEvent<'static> {
    PlanEvent::Answered(PlanDecision {
        kind,
        text: text.to_owned(),
        plan_hash: hash.to_owned(),
        by: DecidedBy::Answer,
        at: Timestamp::UNIX_EPOCH,
    })
}

fn in_words(plan: &RalplanState, outcome: &PlanOutcome) -> String {
    let words = match outcome {
        PlanOutcome::Taken(_) => "taken".to_owned(),
        PlanOutcome::SentBack(wrong) => format!("sent back: {}", wrong.join(" ")),
        PlanOutcome::Dropped(wrong) => format!("dropped: {}", wrong.join(" ")),
        PlanOutcome::Refused(why) => format!("refused: {why}"),
    };
    format!("{words} | {} {}", plan.phase, rejections(plan))
}

/// Applies the event and compares the result with every part of `expected` between two `…`.
#[track_caller]
pub(crate) fn check(plan: &mut RalplanState, event: PlanEvent<'_>, expected: &str) {
    let outcome = step(plan, &event);
    let said = in_words(plan, &outcome);
    let mut parts = expected.split('…');
    assert!(said.starts_with(parts.next().unwrap()), "{said}");
    assert!(parts.all(|part| said.contains(part)), "{said}");
    let end = expected.rsplit('…').next().unwrap();
    assert!(said.ends_with(end), "{said}");
}

/// A planning whose plan is with a critic.
pub(crate) fn in_review(hash: &str) -> RalplanState {
    let mut plan = planning();
    check(&mut plan, ready("p1", hash), "taken | critic_review 0/5");
    check(&mut plan, PlanEvent::CriticCalled { hash }, "taken | critic_review 0/5");
    plan
}

pub(crate) fn awaiting() -> RalplanState {
    let mut plan = in_review(H1);
    let expected = "taken | awaiting_user_approval 0/5";
    check(&mut plan, verdict("c1", OKAY, H1), expected);
    plan
}

/// Adds one rejection, from planner to verdict.
pub(crate) fn reject_once(plan: &mut RalplanState, agent: &str) {
    step(plan, &ready("p1", H1));
    step(plan, &PlanEvent::CriticCalled { hash: H1 });
    step(plan, &verdict(agent, REJECT, H1));
}

#[test]
fn a_plan_goes_from_planner_to_critic_to_person() {
    let mut plan = awaiting();
    assert_eq!(plan.plan_hash, H1);
    check(&mut plan, decided(DecisionKind::Proceed, "", H1), "taken | complete 0/5");
    assert_eq!(
        plan.log,
        [
            "[RALPLAN Iteration 0/5] Initializing...",
            "[RALPLAN] Starting - Critic review will be required",
            "[RALPLAN] Gap finder consulted",
            "[RALPLAN] Critic review required before approval",
            "[RALPLAN] Plan ready, invoking Critic for review",
            "[RALPLAN] Invoking Critic for plan review",
            "[RALPLAN] Critic verdict: OKAY",
            "[RALPLAN] Approved by Critic at iteration 0/5",
            "[RALPLAN] Plan approved by Critic. Awaiting user approval before implementation.",
            "[RALPLAN] Proceed: approved by the person",
        ]
    );
}

#[test]
fn failed_gates_go_back_to_the_planner_and_are_no_iteration() {
    let mut plan = planning();
    let failing = |agent| {
        let gates = vec!["line 3: vague".into()];
        with_file(agent, Some(PlanSeen { gates, ..seen(H1).unwrap() }))
    };
    check(&mut plan, failing("p1"), "sent back: line 3: vague | planner_planning 0/5");
    assert_eq!(plan.plan_path, ".omc/plans/a.md", "the next planner goes on from this file");
    check(&mut plan, failing("p1"), "dropped: line 3: vague | planner_planning 0/5");
    assert_eq!((plan.failed_gates.len(), plan.ready_hash.as_str()), (1, ""));
    let gone = report(Role::Planner, "p2", READY);
    check(&mut plan, gone, "sent back: …does not exist…planner_planning 0/5");
    let elsewhere = PlanEvent::Reported {
        role: Role::Planner,
        agent: "p3",
        message: "PLAN_READY: src/a.md",
        file: Some(PlanSeen { path: "src/a.md".into(), ..seen(H1).unwrap() }),
    };
    check(&mut plan, elsewhere, "sent back: `src/a.md` is not a plan's path…planner_planning 0/5");
    assert_eq!(plan.plan_path, ".omc/plans/a.md", "neither a missing nor a misplaced file is one");
    check(&mut plan, ready("p2", H1), "taken | critic_review 0/5");
    assert!(plan.failed_gates.is_empty());
}

#[test]
fn a_plan_that_no_gap_finder_has_looked_at_is_not_ready() {
    let mut plan = begin("t", Timestamp::UNIX_EPOCH);
    check(&mut plan, ready("p1", H1), "sent back: The gap finder has not…planner_planning 0/5");
    check(
        &mut plan,
        report(Role::GapFinder, "g", " "),
        "sent back: Name the gaps…planner_planning 0/5",
    );
    check(&mut plan, report(Role::GapFinder, "g", "x"), "taken | planner_planning 0/5");
    check(&mut plan, ready("p1", H1), "taken | critic_review 0/5");
}

#[test]
fn the_file_of_a_report_is_the_one_that_is_called_ready_or_the_plan() {
    let plan = awaiting();
    let path = |role, message: &str| reported_path(&plan, role, message, "/p");
    for ready in [".omc/plans/b.md", "./.omc/plans/b.md", "/p/.omc/plans/b.md"] {
        let message = format!("PLAN_READY: {ready}");
        assert_eq!(path(Role::Planner, &message), ".omc/plans/b.md");
        assert_eq!(path(Role::Critic, &message), ".omc/plans/a.md");
    }
    assert_eq!(path(Role::Planner, "PLAN_READY: /q/.omc/plans/b.md"), "/q/.omc/plans/b.md");
    assert_eq!(path(Role::Planner, "Done."), "");
}

#[test]
fn a_planner_that_says_neither_is_asked_once() {
    let mut plan = planning();
    let report = |message| report(Role::Planner, "p1", message);
    check(&mut plan, report("Done!"), "sent back: A planner ends with…planner_planning 0/5");
    check(&mut plan, report("Done!"), "dropped: …planner_planning 0/5");
    let mut plan = planning();
    check(
        &mut plan,
        report("PLAN_READY:"),
        "sent back: Write the plan's path after `PLAN_READY:`…planner_planning 0/5",
    );
    let mut plan = planning();
    let half = "ARCHITECT_QUESTION:\n- Topic: x";
    check(&mut plan, report(half), "sent back: `Context:` is missing…planner_planning 0/5");
}

#[test]
fn questions_go_to_the_architect_and_the_answers_back() {
    let mut plan = planning();
    let both = format!("{ASKS}\n\n{READY}");
    let (role, agent, file) = (Role::Planner, "p1", seen(H1));
    let asks = PlanEvent::Reported { role, agent, message: &both, file };
    check(&mut plan, asks, "taken | architect_consultation 0/5");
    assert_eq!((plan.ready_hash.as_str(), plan.plan_path.as_str()), ("", ".omc/plans/a.md"));
    check(
        &mut plan,
        ready("p1", H1),
        "refused: …architect_consultation`…architect_consultation 0/5",
    );
    let answer = |message| report(Role::Architect, "a1", message);
    check(&mut plan, answer("Use a vault."), "sent back: …architect_consultation 0/5");
    check(&mut plan, answer(ANSWERS), "taken | planner_planning 0/5");
    assert_eq!(plan.answers.len(), 1);
    assert!(plan.answers[0].contains("references: src/a.rs:1"), "{}", plan.answers[0]);
    check(&mut plan, ready("p1", H1), "taken | critic_review 0/5");
    assert!(plan.answers.is_empty() && plan.questions.is_empty());
}

#[test]
fn a_critics_questions_go_to_the_architect_before_the_planner() {
    let mut plan = in_review(H1);
    let asks = format!("{REJECT}\n- Questions for Architect:\n  1. A lock?\n  2. A queue?");
    let expected = "taken | architect_consultation 1/5";
    check(&mut plan, verdict("c1", &asks, H1), expected);
    let one = report(Role::Architect, "a", ANSWERS);
    check(&mut plan, one, "sent back: 1 of 2 questions…architect_consultation 1/5");
    let two = format!("{ANSWERS}\n{ANSWERS}");
    let two = report(Role::Architect, "a", &two);
    check(&mut plan, two, "taken | planner_planning 1/5");
    assert!(plan.feedback.contains("1. T-2 has no test"), "{}", plan.feedback);
}

#[test]
fn a_verdict_counts_only_from_a_critic_and_on_the_frozen_text() {
    let mut plan = in_review(H1);
    check(&mut plan, verdict("p1", OKAY, H1), "refused: agent `p1` wrote…critic_review 0/5");
    check(&mut plan, verdict("", OKAY, H1), "refused: a report is valid only…critic_review 0/5");
    check(
        &mut plan,
        verdict("c1", OKAY, H2),
        "refused: a critic was called on `111111111111`…is `222222222222` now…critic_review 0/5",
    );
    check(&mut plan, verdict("c1", OKAY, ""), "refused: …is no text now…critic_review 0/5");
    let other = verdict("c1", OKAY_OF_H2, H1);
    check(&mut plan, other, "refused: the critic judged…critic_review 0/5");
    let longer = format!("{OKAY}2");
    check(&mut plan, verdict("c1", &longer, H1), "refused: the critic judged…critic_review 0/5");
    assert_eq!((&plan.verdict, plan.iteration), (&None, 0));
    let whole = format!("CRITIC_FEEDBACK:\n- Verdict: OKAY\n- Plan hash: `{H1}`");
    check(&mut plan, verdict("c1", &whole, H1), "taken…awaiting_user_approval 0/5");
}

#[test]
fn a_verdict_that_names_no_text_goes_back_once_and_the_digits_are_not_given_away() {
    let mut plan = in_review(H1);
    for bare in ["All is well.\n\nOKAY", "CRITIC_FEEDBACK:\n- Verdict: OKAY\n- Plan hash: 11111"] {
        let mut plan = plan.clone();
        let outcome = step(&mut plan, &verdict("c1", bare, H1));
        let said = in_words(&plan, &outcome);
        assert!(said.starts_with("sent back: The judged text is unknown"), "{said}");
        assert!(said.contains("in your prompt") && !said.contains("1111"), "{said}");
        check(&mut plan, verdict("c1", bare, H1), "dropped: …critic_review 0/5");
        assert_eq!(plan.verdict, None);
    }
    let reject = REJECT.replace("- Plan hash: 111111111111\n", "");
    check(&mut plan, verdict("c1", &reject, H1), "sent back: The judged text…critic_review 0/5");
    assert_eq!((&plan.verdict, plan.iteration), (&None, 0));
}

#[test]
fn a_critic_of_an_older_text_never_judges_a_newer_one() {
    let mut plan = in_review(H1);
    step(&mut plan, &PlanEvent::CriticCalled { hash: H2 });
    step(&mut plan, &ready("p1", H2));
    step(&mut plan, &PlanEvent::CriticCalled { hash: H2 });
    check(&mut plan, verdict("c1", OKAY, H2), "refused: the critic judged…critic_review 0/5");
    check(&mut plan, verdict("c1", REJECT, H2), "refused: the critic judged…critic_review 0/5");
    let newer = verdict("c2", OKAY_OF_H2, H2);
    check(&mut plan, newer, "taken…awaiting_user_approval 0/5");
}

#[test]
fn a_verdict_without_a_call_counts_for_nothing() {
    let mut plan = planning();
    check(
        &mut plan,
        verdict("c1", OKAY, H1),
        "refused: a report of `ralplan-critic` is valid only in…planner_planning 0/5",
    );
    check(
        &mut plan,
        PlanEvent::CriticCalled { hash: H1 },
        "refused: a call of…planner_planning 0/5",
    );
    check(&mut plan, ready("p1", H1), "taken | critic_review 0/5");
    check(
        &mut plan,
        verdict("c1", OKAY, H1),
        "refused: a critic was called on no text…critic_review 0/5",
    );
}

#[test]
fn a_plan_that_changes_after_it_was_called_ready_goes_back() {
    for called_before in [false, true] {
        let mut plan = planning();
        step(&mut plan, &ready("p1", H1));
        if called_before {
            step(&mut plan, &PlanEvent::CriticCalled { hash: H1 });
        }
        let called = PlanEvent::CriticCalled { hash: H2 };
        check(&mut plan, called, "taken | planner_planning 0/5");
        assert!(plan.failed_gates[0].contains("changed after `PLAN_READY:`"));
        assert_eq!((plan.ready_hash.as_str(), plan.plan_hash.as_str()), ("", ""));
        check(&mut plan, verdict("c1", OKAY, H2), "refused: …planner_planning 0/5");
        check(&mut plan, ready("p1", H2), "taken | critic_review 0/5");
    }
    let mut plan = in_review(H1);
    check(&mut plan, PlanEvent::CriticCalled { hash: H1 }, "taken | critic_review 0/5");
}

#[test]
fn a_plan_is_seen_with_its_digest_and_the_gates_that_it_fails() {
    let gates: Vec<String> =
        gates::check("Do it.", |_| false).iter().map(ToString::to_string).collect();
    assert!(!gates.is_empty());
    let expected =
        PlanSeen { path: "a.md".to_owned(), hash: sha256("Do it."), gates, ..PlanSeen::default() };
    assert_eq!(PlanSeen::inspect("a.md", "Do it.", |_| false, |_| Vec::new()), expected);
}

#[test]
fn a_planning_begins_now_and_knows_each_agent_once() {
    let now = Timestamp::from_second(7).unwrap();
    let mut plan = begin("log in", now);
    assert_eq!(plan.started_at, now);
    for agent in ["p1", "p1", "", "p2"] {
        step(&mut plan, &report(Role::Planner, agent, "x"));
    }
    assert_eq!(plan.planners, ["p1", "p2"]);
}

#[test]
fn who_planned_out_of_turn_is_a_planner_all_the_same() {
    let mut plan = in_review(H1);
    check(&mut plan, ready("x", H1), "refused: a report of `ralplan-planner`…critic_review 0/5");
    check(&mut plan, verdict("x", OKAY, H1), "refused: agent `x` wrote…critic_review 0/5");
    step(&mut plan, &verdict("c1", REJECT, H1));
    check(&mut plan, ready("c1", H1), "refused: agent `c1` judged…planner_planning 1/5");
}

#[test]
fn a_verdict_that_cannot_be_read_is_asked_for_once() {
    let mut plan = in_review(H1);
    check(&mut plan, verdict("c1", "OKAY-ish", H1), "sent back: The verdict is missing…0/5");
    check(
        &mut plan,
        verdict("c1", "OKAY-ish", H1),
        "dropped: The verdict is missing…critic_review 0/5",
    );
    check(&mut plan, verdict("c2", OKAY, H1), "taken…awaiting_user_approval 0/5");
}

#[test]
fn the_fifth_rejection_goes_to_the_person_with_its_concerns() {
    let mut plan = planning();
    for n in 1..=4 {
        reject_once(&mut plan, "c1");
        assert_eq!((plan.iteration, &plan.phase), (n, &PlanPhase::PlannerPlanning));
        assert_eq!((plan.plan_hash.as_str(), plan.forced), ("", false));
    }
    reject_once(&mut plan, "c1");
    assert_eq!((plan.iteration, &plan.phase), (5, &PlanPhase::AwaitingUserApproval));
    assert_eq!((plan.forced, &plan.concerns[..]), (true, &["T-2 has no test".to_owned()][..]));
    assert!(plan.log.last().unwrap().contains("WARNING: 5/5"), "{:?}", plan.log);
    check(&mut plan, decided(DecisionKind::Proceed, "", H1), "taken | complete 5/5");
}

#[test]
fn proceed_holds_only_for_the_judged_text() {
    let mut plan = awaiting();
    for hash in [H2, ""] {
        let expected =
            "refused: the plan that was judged is `111111111111`…awaiting_user_approval 0/5";
        check(&mut plan, decided(DecisionKind::Proceed, "", hash), expected);
        assert_eq!(plan.decision, None);
    }
    check(
        &mut plan,
        decided(DecisionKind::Other("maybe".into()), "", H1),
        "refused: `maybe` is not a decision…awaiting_user_approval 0/5",
    );
}

#[test]
fn adjust_begins_to_count_anew_and_carries_what_was_said() {
    let mut plan = planning();
    (0..5).for_each(|_| reject_once(&mut plan, "c1"));
    let adjust = decided(DecisionKind::Adjust, "use less", H2);
    check(&mut plan, adjust, "taken | planner_planning 0/5");
    assert_eq!(
        plan.feedback,
        "The user wants the plan adjusted: use less\nLeft open by the critic: T-2 has no test"
    );
    assert_eq!((plan.forced, plan.plan_hash.as_str(), plan.concerns.len()), (false, "", 0));
    assert_eq!(plan.decision.as_ref().unwrap().kind, DecisionKind::Adjust);
}

#[test]
fn what_a_person_discards_is_over_and_nothing_follows() {
    let mut plan = awaiting();
    let end = decided(DecisionKind::Discard, "", H2);
    check(&mut plan, end.clone(), "taken | cancelled 0/5");
    for after in [ready("p1", H1), decided(DecisionKind::Proceed, "", H1), end] {
        check(&mut plan, after, "refused: this planning is over…cancelled 0/5");
    }
}

#[test]
fn a_decision_counts_only_when_it_was_asked_for() {
    for kind in [DecisionKind::Proceed, DecisionKind::Adjust, DecisionKind::Discard] {
        let mut plan = in_review(H1);
        check(&mut plan, decided(kind, "", H1), "refused: the user's decision…critic_review 0/5");
    }
}

#[test]
fn the_log_and_the_lines_for_the_user_keep_the_last() {
    let mut plan = planning();
    for n in 0..300 {
        log(&mut plan, format!("{n}"));
        tell(&mut plan, &format!("{n}"), &[]);
    }
    assert_eq!((plan.log.len(), plan.log[99].as_str()), (100, "299"));
    assert_eq!((plan.untold.len(), plan.untold[11].as_str()), (12, "Plan 1/5: 299"));
}

/// The planning without the record of roles.
fn apart_from_roles(plan: &RalplanState) -> RalplanState {
    RalplanState { planners: Vec::new(), critics: Vec::new(), ..plan.clone() }
}

/// Checks what must hold after every event, whatever came before it.
fn holds(
    before: &RalplanState,
    event: &PlanEvent<'_>,
    outcome: &PlanOutcome,
    after: &RalplanState,
) {
    if matches!(outcome, PlanOutcome::Refused(_)) {
        assert_eq!(apart_from_roles(before), apart_from_roles(after), "{event:?}");
    }
    if after.phase == PlanPhase::AwaitingUserApproval {
        let verdict = after.verdict.as_ref().expect("a verdict");
        assert_eq!(verdict.plan_hash, after.plan_hash, "{event:?}");
        assert!(!after.plan_hash.is_empty(), "{event:?}");
        assert!(verdict.okay || (after.forced && after.iteration >= after.max_iterations));
        if before.phase != after.phase {
            let PlanEvent::Reported { role: Role::Critic, agent, message, file } = event else {
                panic!("{event:?} brought it to the person");
            };
            let hash_now = &file.as_ref().expect("a plan").hash;
            assert_eq!(before.phase, PlanPhase::CriticReview, "{event:?}");
            assert_eq!((hash_now, &before.plan_hash), (&after.plan_hash, &after.plan_hash));
            assert!(!after.planners.iter().any(|planner| planner == agent), "{event:?}");
            assert_eq!(*message != REJECT, !after.forced, "{event:?}");
        }
    }
    if after.phase == PlanPhase::Complete {
        let decision = after.decision.as_ref().expect("a decision");
        assert_eq!(decision.kind, DecisionKind::Proceed);
        assert_eq!(decision.plan_hash, after.plan_hash);
        assert_eq!(after.verdict.as_ref().expect("a verdict").plan_hash, decision.plan_hash);
        if before.phase != after.phase {
            assert_eq!(before.phase, PlanPhase::AwaitingUserApproval, "{event:?}");
            assert!(matches!(event, PlanEvent::Answered(_)), "{event:?}");
        }
    }
    assert_ne!(after.phase, PlanPhase::HandlingVerdict, "it never rests there");
    if before.phase.is_over() {
        assert!(
            matches!(outcome, PlanOutcome::Refused(why) if why.contains("is over")),
            "{event:?}"
        );
    }
}

fn events() -> Vec<PlanEvent<'static>> {
    vec![
        report(Role::GapFinder, "g", "gaps"),
        ready("p", H1),
        ready("p", H2),
        report(Role::Planner, "p", ASKS),
        report(Role::Architect, "a", ANSWERS),
        PlanEvent::CriticCalled { hash: H1 },
        PlanEvent::CriticCalled { hash: H2 },
        verdict("c", OKAY, H1),
        verdict("c", OKAY_OF_H2, H2),
        verdict("p", OKAY, H1),
        verdict("c", REJECT, H1),
        decided(DecisionKind::Proceed, "", H1),
        decided(DecisionKind::Adjust, "less", H1),
        decided(DecisionKind::Discard, "", H1),
    ]
}

/// Runs every sequence of events up to this length, but continues only once from each state: a
/// state that comes up again has no more events left than the first time. Returns the phases
/// reached.
fn explore(start: RalplanState, length: usize) -> Vec<String> {
    let (events, mut level) = (events(), vec![start]);
    let mut reached = std::collections::BTreeSet::new();
    let mut known = std::collections::HashSet::new();
    for _ in 0..length {
        let mut next = Vec::new();
        for before in &level {
            for event in &events {
                let mut after = before.clone();
                let outcome = step(&mut after, event);
                holds(before, event, &outcome, &after);
                reached.insert(after.phase.to_string());
                // The log does not decide anything, so it is not part of the key.
                let key = RalplanState { log: Vec::new(), ..after.clone() };
                if known.insert(format!("{key:?}")) {
                    next.push(after);
                }
            }
        }
        level = next;
    }
    reached.into_iter().collect()
}

#[test]
fn no_sequence_of_events_goes_around_a_gate() {
    let all = [
        "architect_consultation",
        "awaiting_user_approval",
        "cancelled",
        "complete",
        "critic_review",
        "planner_planning",
    ];
    assert_eq!(explore(begin("t", Timestamp::UNIX_EPOCH), 6), all);
    // The same with one rejection left before the user is asked anyway.
    let mut late = planning();
    (0..4).for_each(|_| reject_once(&mut late, "c"));
    assert_eq!(explore(late, 6), all);
}

#[test]
fn each_event_leaves_one_line_for_the_user() {
    let mut plan = planning();
    let told = |plan: &mut RalplanState| std::mem::take(&mut plan.untold);
    assert_eq!(told(&mut plan), ["Plan 1/5: the gap finder has read the task"]);
    let gates = vec!["line 3:\n vague\u{202e}".into(), "b".into(), "c".into()];
    step(&mut plan, &with_file("p0", Some(PlanSeen { gates, ..seen(H1).unwrap() })));
    let gates = "Plan 1/5: not ready for the critic: line 3: vague\\u{202e} (and 2 more)";
    assert_eq!(told(&mut plan), [gates]);
    let asks = report(Role::Planner, "p1", ASKS);
    step(&mut plan, &asks);
    assert_eq!(
        told(&mut plan),
        ["Plan 1/5: the planner asks the architect: Security: Who holds the key?"]
    );
    step(&mut plan, &report(Role::Architect, "a1", ANSWERS));
    assert_eq!(told(&mut plan), ["Plan 1/5: the architect answers: Security: r"]);
    step(&mut plan, &ready("p1", H1));
    assert_eq!(told(&mut plan), ["Plan 1/5: `.omc/plans/a.md` goes to the critic"]);
    step(&mut plan, &PlanEvent::CriticCalled { hash: H2 });
    assert_eq!(
        told(&mut plan),
        ["Plan 1/5: its file was changed before the critic read it; back to the planner"]
    );
    reject_once(&mut plan, "c1");
    assert_eq!(told(&mut plan)[1..], ["Plan 1/5: the critic rejects: T-2 has no test".to_owned()]);
    assert_eq!(plan.feedback, "Critical Issues:\n1. T-2 has no test\nMinor Issues:\n1. a name");
    for critic in ["c2", "c3", "c4", "c5"] {
        reject_once(&mut plan, critic);
    }
    let lines = told(&mut plan);
    assert_eq!(
        lines.last().map(String::as_str),
        Some("Plan 5/5: the critic rejects, and you decide: T-2 has no test")
    );
    assert_eq!((plan.forced, plan.concerns.clone()), (true, vec!["T-2 has no test".to_owned()]));
    step(&mut plan, &decided(DecisionKind::Adjust, " use oak ", ""));
    assert_eq!(told(&mut plan), ["Plan 1/5: back to the planner with what you said"]);
    assert_eq!(
        plan.feedback,
        "The user wants the plan adjusted: use oak\nLeft open by the critic: T-2 has no test"
    );
    let mut plan = awaiting();
    assert_eq!(
        told(&mut plan).last().map(String::as_str),
        Some("Plan 1/5: the critic approves; you decide")
    );
    step(&mut plan, &decided(DecisionKind::Adjust, " ", ""));
    assert_eq!(
        plan.feedback,
        "The user wants the plan adjusted and gave no reason: read the task again, and name alternatives \
         in the plan."
    );
    assert_eq!(one_line(&"x".repeat(161)).chars().count(), 160);
    assert_eq!(one_line(&"x".repeat(160)), "x".repeat(160));
}
