//! The texts, bounds and forms of a planning, each in whole.

use super::formats::{self, CriticFeedback, Exchange};
use super::question::{OPTIONS, PlanAnswer, START, answer, is_ours, lists};
use super::step::tests::{H1, awaiting, in_review, planning};
use super::*;
use crate::modes::mode::{self, ModeRules};
use crate::state::{DecisionKind, PauseCause, Phase, PlanPhase, Registration};
use crate::stop::{AtStop, StopInputs};
use crate::tasks::plan::Plan;
use jiff::Timestamp;
use serde_json::{Value, json};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn state(plan: RalplanState) -> LoopState {
    LoopState {
        loop_id: "l".to_owned(),
        phase: Phase::Implementation,
        started_at: Some(NOW),
        mode: plan.into(),
        ..LoopState::default()
    }
}

fn words(all: &[&str]) -> Vec<String> {
    all.iter().map(|one| (*one).to_owned()).collect()
}

#[test]
fn each_text_of_a_planning_names_it_and_what_comes_next() {
    let mut state = state(planning());
    assert_eq!(Ralplan.noun(), "planning");
    assert_eq!(
        (Ralplan.commands(), Ralplan.aliases()),
        (&["ralplan"][..], &["rp", "planloop"][..])
    );
    assert_eq!(Ralplan.started_line(&state), "Ralph planning l started");
    assert_eq!(Ralplan.continues_line(&state), "Ralph planning l continues at 1/5");
    assert_eq!(
        (Ralplan.resume_command(&state), Ralplan.driver()),
        ("/ralplan", Some("ralph ralplan run"))
    );
    assert!(!Ralplan.has_criteria() && !Ralplan.wants_tree());
    state.project_root = "/p".to_owned();
    assert_eq!(Ralplan.document(&state), Some("/p/.omc/ralplan-state.json".into()));
    assert_eq!(
        Ralplan.blocks_start(&state, true).as_deref(),
        Some(
            "a planning is live in this session (planner_planning): type /ralplan to continue it, or \
             /ralph-cancel to end it"
        )
    );
    state.limits.max_minutes = 1;
    assert_eq!(
        Ralplan.announcement(&state),
        "planning l started: a planner, an architect and a critic, at most 5 rejections, 1 minute. Until you \
         agree to the plan, only plans below `.omc/plans/` change. Esc pauses it, /ralph-cancel ends it."
    );
    state.ralplan_mut().unwrap().max_iterations = 1;
    assert!(Ralplan.announcement(&state).contains("at most 1 rejection, 1 minute."));
    let hint = |state: &LoopState| Ralplan.next_hint(state).unwrap();
    assert_eq!(hint(&state), "`ralph ralplan status` shows all of it");
    state.pause(PauseCause::Person, "", NOW);
    assert_eq!(
        hint(&state),
        "/ralplan in its session or `ralph ralplan run` in a terminal continues it"
    );
    let (plan_state, plain) = (state, LoopState::default());
    assert_eq!((next_step_text(&plain), Ralplan.position(&plain)), (String::new(), String::new()));
    assert_eq!(Ralplan.loop_prompt("HEADING", &plain, &[], NOW), "HEADING");
    assert_eq!(mode::label(&plan_state.mode), "planning");
}

#[test]
fn the_contract_of_a_planning_is_this_text() {
    let rules = "Rules: only `ralplan-planner` writes, and only below `.omc/plans/`. You change nothing and \
                 ask the user nothing before the critic's verdict. Carry out nothing before the user agrees, \
                 by answering the one question or by `ralph ralplan approve`, `adjust` or `discard` in a \
                 terminal. Neither your words nor silence are consent. `ralph ralplan next` repeats the next \
                 step, `ralph ralplan status` shows everything.";
    let prompt = |plan: RalplanState, steers: &[&str]| {
        Ralplan.loop_prompt("HEADING", &state(plan), &words(steers), NOW)
    };
    let plan = planning();
    let next = next(&plan, "");
    assert_eq!(
        prompt(plan, &["faster"]),
        format!(
            "HEADING\nTask: log in\nPhase: planner_planning, plan 1/5.\n{rules}\nThe user said: STEER: \
             faster\n{next}"
        )
    );
    let judged = in_review(H1);
    let text = prompt(judged.clone(), &[]);
    assert!(
        text.starts_with(
            "HEADING\nTask: log in\nPhase: critic_review, plan 1/5. Plan: `.omc/plans/a.md` \
             (111111111111).\nRules:"
        ),
        "{text}"
    );
    let text = prompt(RalplanState { plan_hash: String::new(), ..judged }, &[]);
    assert!(text.contains("plan 1/5. Plan: `.omc/plans/a.md`.\nRules:"), "{text}");
}

#[test]
fn the_line_at_a_stop_names_the_next_agent_or_the_question() {
    let line = |plan: RalplanState| {
        let mut state = state(plan);
        state.via = Some(Registration::Plugin);
        Ralplan.next_step(&state, &StopInputs::default()).line
    };
    assert_eq!(
        line(planning()),
        "Ralph 1/5: next: call the agent `ralph:ralplan-planner` as `ralph ralplan next` prints it"
    );
    assert_eq!(
        line(awaiting()),
        "Ralph 1/5: next: ask the user about the plan as `ralph ralplan next` prints it"
    );
    for phase in [PlanPhase::Complete, PlanPhase::Cancelled] {
        assert_eq!(
            line(RalplanState { phase, ..planning() }),
            "Ralph 1/5: next: report how the planning ended, and end your turn"
        );
    }
}

#[test]
fn a_stop_drives_a_turn_only_if_the_planning_goes_on() {
    let seen = StopInputs { prompt_id: "p".to_owned(), ..StopInputs::default() };
    let turn = |state: &mut LoopState| {
        Ralplan.at_stop(state, &Default::default(), &seen);
        state.turn.as_ref().map(|turn| turn.prompt_id.clone())
    };
    assert_eq!(turn(&mut state(planning())).as_deref(), Some("p"));
    let mut waits = state(awaiting());
    assert_eq!(turn(&mut waits).as_deref(), Some("p"));
    assert_eq!(turn(&mut waits), None);
}

#[test]
fn whatever_changes_in_a_planning_is_progress_and_a_reporter_is_not() {
    let plan = planning();
    let mut told_at = plan.clone();
    asked(&mut told_at);
    assert!(is_told(&told_at) && !is_told(&plan));
    let same = |change: &dyn Fn(&mut RalplanState)| {
        let mut plan = told_at.clone();
        change(&mut plan);
        is_told(&plan)
    };
    assert!(same(&|plan| plan.planners.push("a".into())));
    assert!(same(&|plan| plan.log.push("a".into())));
    assert!(!same(&|plan| plan.phase = PlanPhase::CriticReview));
    assert!(!same(&|plan| plan.ready_hash = "a".into()));
    assert!(!same(&|plan| plan.plan_hash = "a".into()));
    assert!(!same(&|plan| plan.feedback = "a".into()));
    assert!(!same(&|plan| plan.gaps = "a".into()));
    assert!(!same(&|plan| plan.consulted_gap_finder = false));
    assert!(!same(&|plan| plan.failed_gates = vec!["a".into()]));
    assert!(!same(&|plan| plan.questions = vec!["a".into()]));
    assert!(!same(&|plan| plan.answers = vec!["a".into()]));
    assert!(!same(&|plan| plan.iteration = 1));
}

#[test]
fn the_paths_and_digests_of_plans_are_checked_to_the_letter() {
    for (path, expected) in [
        (".omc/plans/a.md", true),
        (".omc/plans/a/b.md", true),
        (".omc/plans/..md", true),
        (".omc/plans/.md", false),
        (".omc/plans/a.txt", false),
        (".omc/plans/a/../b.md", false),
        (".omc/plans/./b.md", false),
        (".omc/plans//b.md", false),
        (".omc/plans/a\\b.md", false),
        (".omc/plans/a\u{202e}.md", false),
        (".omc/a.md", false),
        ("/p/.omc/plans/a.md", false),
    ] {
        assert_eq!(is_plans_place(path), expected, "{path}");
    }
    assert_eq!((short(H1), short("abc")), ("111111111111", "abc"));
    for role in Role::ALL {
        assert_eq!(Role::from_agent_type(role.agent()), Some(role));
        assert_eq!(Role::from_agent_type(&format!("ralph:{}", role.agent())), Some(role));
    }
    assert_eq!(Role::from_agent_type("planner"), None);
    let at = |iteration| position(&RalplanState { iteration, ..planning() });
    assert_eq!([at(0), at(4), at(5), at(u32::MAX)], ["1/5", "5/5", "5/5", "5/5"]);
}

#[test]
fn the_lines_for_the_user_are_told_once() {
    let mut state = state(RalplanState { untold: words(&["a", "b"]), ..planning() });
    assert_eq!((to_tell(&mut state), to_tell(&mut state)), ("a\nb".to_owned(), String::new()));
    assert_eq!(to_tell(&mut LoopState::default()), "");
}

#[test]
fn the_question_names_all_that_would_be_carried_out() {
    let mut plan = awaiting();
    plan.criteria = words(&["AC-1 it works: npm test"]);
    plan.tasks = words(&["T-1 add\n it\u{202e}"]);
    assert_eq!(
        question::text(&plan),
        "The critic approved `.omc/plans/a.md` (111111111111), plan 1/5.\nCriteria:\nAC-1 it works: npm \
         test\nTasks:\nT-1 add it\\u{202e}\nShall it be carried out?"
    );
    plan.concerns = words(&["no test", "no lock"]);
    assert!(!question::text(&plan).contains("no test"), "only what was forced is left open");
    (plan.forced, plan.criteria, plan.tasks) = (true, vec![], vec![]);
    assert_eq!(
        question::text(&plan),
        "WARNING: the critic rejected `.omc/plans/a.md` (111111111111), plan 1/5.\nLeft open:\n1. no test\n\
         2. no lock\nShall it be carried out all the same?"
    );
    let listed = |n: usize| {
        let tasks = (0..n).map(|at| format!("T-{at} {}", "x".repeat(900))).collect();
        let text = question::text(&RalplanState { tasks, ..awaiting() });
        text.lines().map(|line| line.chars().count()).collect::<Vec<_>>()
    };
    assert_eq!(listed(1)[2], 820);
    let lines = listed(12);
    assert_eq!((lines.len(), lines[2], lines[13]), (15, 68, 68));
    let lines = listed(13);
    assert_eq!((lines.len(), lines[14]), (16, "and 1 more: `ralph ralplan status`".len()));
    let criterion = crate::state::Criterion {
        id: "AC-1".into(),
        description: "it works".into(),
        verification_command: "npm test".into(),
        ..Default::default()
    };
    let task = crate::state::Task { id: "T-1".into(), name: "add it".into(), ..Default::default() };
    let read = Plan { criteria: vec![criterion], tasks: vec![task], ..Plan::default() };
    assert_eq!(lists(&read), (words(&["AC-1 it works: npm test"]), words(&["T-1 add it"])));
}

const LACKING: &str = "the question lacks the plan's path or digest, the WARNING, or one of the critic's \
                       open points, the criteria or the tasks";

fn asked_with(labels: &[&str], text: &str) -> Value {
    let options: Vec<Value> = labels.iter().map(|label| json!({"label": label})).collect();
    json!({"questions": [{"question": text, "options": options}]})
}

#[test]
fn why_a_question_is_not_the_gates_is_told_in_these_words() {
    let plan = awaiting();
    let text = question::text(&plan);
    let all = OPTIONS.map(|(label, ..)| label);
    let judge = |input: Value| is_ours(&plan, &input);
    assert_eq!(judge(asked_with(&all, &text)), Ok(()));
    let options = "they must be Proceed, Proceed and start, Adjust and Discard";
    let lacking = format!("{LACKING}; ask it word for word:\n{text}");
    for (input, expected) in [
        (json!([]), "the question cannot be read: it is not an object".to_owned()),
        (json!({}), "0 questions instead of exactly one; ask only about the plan".to_owned()),
        (asked_with(&[], &text), format!("the options are missing; {options}")),
        (
            asked_with(&["Proceed", "Adjust"], &text),
            format!("the options are Proceed, Adjust; {options}"),
        ),
        (
            asked_with(&["Proceed", "Adjust", "Discard", "Discard"], &text),
            format!("the options are Proceed, Adjust, Discard, Discard; {options}"),
        ),
        (asked_with(&all, "111111111111"), lacking.clone()),
        (asked_with(&all, ".omc/plans/a.md"), lacking.clone()),
        (
            asked_with(&all, &format!("{text}\r")),
            "the question has invisible characters; remove them".into(),
        ),
    ] {
        assert_eq!(judge(input), Err(expected));
    }
    assert_eq!(judge(asked_with(&all, &format!("{text}\n\t"))), Ok(()));
    let mut several = asked_with(&all, &text);
    several["answers"] = json!({});
    assert_eq!(
        judge(several).unwrap_err(),
        "leave out `answers` (Claude Code fills it in) and pass only `questions`"
    );
    assert_eq!(
        is_ours(&planning(), &asked_with(&all, &text)).unwrap_err(),
        "ask about a plan only in the phase `awaiting_user_approval`; this planning is in \
         `planner_planning`"
    );
    let forced = RalplanState { forced: true, concerns: words(&["no test"]), ..awaiting() };
    let whole = question::text(&forced);
    assert_eq!(is_ours(&forced, &asked_with(&all, &whole.replace('\n', "  "))), Ok(()));
    for lacking in [whole.replace("WARNING: ", ""), whole.replace("1. no test", "")] {
        assert_eq!(
            is_ours(&forced, &asked_with(&all, &lacking)).unwrap_err(),
            format!("{LACKING}; ask it word for word:\n{whole}")
        );
    }
}

#[test]
fn an_answer_is_the_option_that_was_offered_or_the_users_words() {
    let plan = awaiting();
    let text = question::text(&plan);
    let said = |labels: &[&str], said: &str, notes: &str| {
        let mut response = asked_with(labels, &text);
        response["answers"] = json!({&text: said});
        response["annotations"] = json!({&text: {"notes": notes}});
        answer(&plan, &response)
    };
    let of = |kind, text: &str, start| Some(PlanAnswer { kind, text: text.to_owned(), start });
    let all = OPTIONS.map(|(label, ..)| label);
    let three = ["Proceed", "Adjust", "Discard"];
    assert_eq!(said(&all, " Proceed ", " ok "), of(DecisionKind::Proceed, "ok", false));
    assert_eq!(said(&all, START, ""), of(DecisionKind::Proceed, "", true));
    assert_eq!(said(&three, START, ""), of(DecisionKind::Adjust, START, false));
    assert_eq!(said(&all, "Adjust", "less"), of(DecisionKind::Adjust, "less", false));
    assert_eq!(said(&all, "Discard", ""), of(DecisionKind::Discard, "", false));
    assert_eq!(said(&all, " use oak ", ""), of(DecisionKind::Adjust, "use oak", false));
    assert_eq!(said(&all, " ", "x"), None);
    assert_eq!(said(&["Proceed"], "Proceed", ""), None, "another question");
    let mut bare = asked_with(&all, &text);
    bare["answers"] = json!({&text: "Proceed"});
    assert_eq!(answer(&plan, &bare), of(DecisionKind::Proceed, "", false));
}

#[test]
fn a_block_ends_where_its_text_ends() {
    let answer = |analysis: &str| Exchange {
        short: "t: r".into(),
        whole: format!("t: r (found: {analysis}; trade-offs: o; references: a.rs:1)"),
    };
    let rest = "Recommendation: r\nTrade-offs: o\nReferences: a.rs:1";
    for (message, expected) in [
        (format!("ARCHITECT_ANSWER:\nTopic: t\nAnalysis: a\n{rest}"), "a"),
        (
            format!("**ARCHITECT_ANSWER**\n- **Topic**: t\n- Analysis: a\n  b\n\n- c\n{rest}"),
            "a b - c",
        ),
        (format!("# ARCHITECT_ANSWER\n_Topic_: _t_\nAnalysis: a\n\nprose\nmore\n{rest}"), "a"),
        (format!("architect_answer:\ntopic: t\nanalysis: a\n\n\tb\n{rest}"), "a b"),
        (format!("ARCHITECT_ANSWER:\nTopic (if any): t\nAnalysis: a\n```\n{rest}"), ""),
        (format!("```\nARCHITECT_ANSWER:\nTopic: t\nAnalysis: a\n{rest}\n```\nTopic: x"), "a"),
        (format!("ARCHITECT_ANSWER:\nTopic: x\nTopic: t\nAnalysis: a\n{rest}"), "a"),
    ] {
        match expected {
            "" => assert!(formats::answers(&message).is_err(), "{message}"),
            analysis => {
                assert_eq!(formats::answers(&message), Ok(vec![answer(analysis)]), "{message}");
            }
        }
    }
    let lacks = |label: &str, head: &str| format!("`{label}:` is missing or empty in `{head}:`.");
    assert_eq!(
        formats::answers(
            "ARCHITECT_ANSWER:\nTopic: [Matching topic]\nAnalysis:\nARCHITECT_QUESTION:\nx"
        ),
        Err(["Topic", "Analysis", "Recommendation", "Trade-offs", "References"]
            .map(|label| lacks(label, "ARCHITECT_ANSWER"))
            .to_vec())
    );
    assert_eq!(
        formats::answers("x"),
        Err(vec![
            "`ARCHITECT_ANSWER:` with `Topic:`, `Analysis:`, `Recommendation:`, `Trade-offs:`, \
             `References:` is missing."
                .to_owned()
        ])
    );
    assert_eq!(
        formats::questions("ARCHITECT_QUESTION:\nFiles to examine: none"),
        Err(["Topic", "Context", "Files to examine", "Specific Question"]
            .map(|label| lacks(label, "ARCHITECT_QUESTION"))
            .to_vec())
    );
}

#[test]
fn the_items_of_a_verdict_are_read_in_every_list_and_nothing_is_none() {
    let read = |critical: &str| {
        let message = format!(
            "CRITIC_FEEDBACK:\n- Verdict: REJECT\n- Plan hash: `{H1}`,\n- Critical Issues:\n{critical}\n\
             - Minor Issues: none\n"
        );
        formats::feedback(&message).map(|said| said.critical)
    };
    for (text, expected) in [
        ("1. a\n2) b\n", vec!["a", "b"]),
        ("- a\n  more\n* b\n• c", vec!["a more", "b", "c"]),
        ("plain\nmore", vec!["plain more"]),
        ("1.5 is too much", vec!["1.5 is too much"]),
        ("2024 was it", vec!["2024 was it"]),
        ("- a\n-\n- (none)\n- N/A.\n- No issues", vec!["a"]),
        ("-a\n- b", vec!["-a", "b"]),
        ("- [Issue with specific fix required]\n- b", vec!["b"]),
    ] {
        assert_eq!(read(text), Ok(words(&expected)), "{text}");
    }
    for none in
        ["none", "**None found**", "no critical issues.", "[nothing]", "- no", "- no questions"]
    {
        assert_eq!(
            read(none),
            Err(vec![
                "A rejection needs at least one numbered item under `Critical Issues:`, with the required \
                 fix."
                    .to_owned()
            ]),
            "{none}"
        );
    }
}

#[test]
fn a_verdict_stands_alone_and_names_its_text() {
    let no_hash = "The judged text is unknown: in `CRITIC_FEEDBACK:`, write `- Plan hash:` with the digits in \
                   your prompt.";
    let missing = "The verdict is missing: write `CRITIC_FEEDBACK:` with `- Verdict: OKAY` or `- Verdict: \
                   REJECT`.";
    let ambiguous = "The verdict is ambiguous: write `Verdict:` with the one word OKAY or REJECT, and do not \
                     contradict it later.";
    let hash = "- Plan hash: 111111111111";
    let okay =
        CriticFeedback { okay: true, judged: "111111111111".into(), ..CriticFeedback::default() };
    for (message, expected) in [
        (format!("CRITIC_FEEDBACK:\n- Verdict: okay!\n{hash}"), Ok(okay.clone())),
        (format!("CRITIC_FEEDBACK:\n- Verdict: OKAY\n{hash}\n\n**OKAY.**"), Ok(okay.clone())),
        (format!("CRITIC_FEEDBACK:\n{hash}\n\nVerdict: OKAY"), Ok(okay)),
        (format!("CRITIC_FEEDBACK:\n- Verdict: OKAY\n{hash}\n\nREJECT"), Err(vec![ambiguous])),
        (format!("CRITIC_FEEDBACK:\n- Verdict: OKAY, almost\n{hash}"), Err(vec![ambiguous])),
        (format!("CRITIC_FEEDBACK:\n{hash}\n\nokay"), Err(vec![missing])),
        ("CRITIC_FEEDBACK:\n- Verdict: OKAY".to_owned(), Err(vec![no_hash])),
        (
            "CRITIC_FEEDBACK:\n- Verdict: OKAY\n- Plan hash: 11111111111".to_owned(),
            Err(vec![no_hash]),
        ),
        (
            "CRITIC_FEEDBACK:\n- Verdict: OKAY\n- Plan hash: 11111111111g".to_owned(),
            Err(vec![no_hash]),
        ),
        (
            format!("CRITIC_FEEDBACK:\n- Verdict: OKAY\n{hash}\n- Plan hash: 222222222222"),
            Err(vec![no_hash]),
        ),
        ("OKAY".to_owned(), Err(vec![no_hash])),
        ("x".to_owned(), Err(vec![missing])),
        (
            "REJECT".to_owned(),
            Err(vec![
                "A rejection needs reasons: write `CRITIC_FEEDBACK:` with `- Verdict: REJECT` and `- Critical \
                 Issues:`.",
            ]),
        ),
        (
            format!("CRITIC_FEEDBACK:\n- Verdict: OKAY\n{hash}\n- Critical Issues:\n  1. a"),
            Err(vec![
                "OKAY contradicts critical issues: write REJECT, or move them to `Minor Issues:`.",
            ]),
        ),
        (
            format!(
                "CRITIC_FEEDBACK:\n- Verdict: OKAY\n{hash}\n- Questions for Architect:\n  1. a"
            ),
            Err(vec![
                "OKAY contradicts questions for the architect: write REJECT with the open questions, or \
                 remove them.",
            ]),
        ),
    ] {
        let expected = expected.map_err(|wrong| words(&wrong));
        assert_eq!(formats::feedback(&message), expected, "{message}");
    }
}

#[test]
fn an_agent_is_called_with_these_prompts() {
    let prompt = |plan: &RalplanState| match next(plan, "") {
        NextPlanStep::Call(call) => (call.description, call.subagent_type, call.prompt),
        other => panic!("{other:?}"),
    };
    let of = |description: &str, agent: &str, prompt: &str| {
        (description.to_owned(), agent.to_owned(), prompt.to_owned())
    };
    let mut plan = begin("log in", NOW);
    assert_eq!(
        prompt(&plan),
        of(
            "find the gaps in the task",
            "ralplan-metis",
            "Find the gaps in this task before it is planned. Read what you need; change nothing.\nTask: \
             log in"
        )
    );
    plan.consulted_gap_finder = true;
    let head = "Plan directly: no interview, and no confirmation, since a critic reviews the plan.\nTask: log in";
    let end = "End with `PLAN_READY: ` and the plan's path, or with `ARCHITECT_QUESTION:` if you need an \
               answer from the architect.";
    assert_eq!(
        prompt(&plan),
        of(
            "write the plan",
            "ralplan-planner",
            &format!("{head}\nWrite it to a new file `.omc/plans/NAME.md`.\n{end}")
        )
    );
    plan.plan_path = ".omc/plans/a.md".into();
    (plan.failed_gates, plan.feedback) = (words(&["g1", "g2"]), "f".into());
    (plan.answers, plan.gaps) = (words(&["a1"]), "x".repeat(226));
    assert_eq!(
        prompt(&plan).2,
        format!(
            "{head}\nRevise `.omc/plans/a.md`, which you read first.\nFix these failed gates:\ng1\ng2\nFix \
             this:\nf\nThe architect answered:\na1\nThe gap finder found:\n{}…\n(the rest: `ralph ralplan \
             status`)\n{end}",
            "x".repeat(224)
        )
    );
    plan.gaps = "x".repeat(225);
    assert!(!prompt(&plan).2.contains("the rest"), "225 of 900 units are each part's");
    plan.phase = PlanPhase::ArchitectConsultation;
    plan.questions = words(&["A lock?", "A queue?"]);
    let asks = "Answer these questions from the files themselves; change nothing.";
    let answers = "1. A lock?\n2. A queue?\nEnd with one `ARCHITECT_ANSWER:` for each.";
    assert_eq!(
        prompt(&plan),
        of(
            "answer the open questions",
            "ralplan-architect",
            &format!("{asks}\nThe current plan: `.omc/plans/a.md`.\n{answers}")
        )
    );
    plan.plan_path.clear();
    assert_eq!(prompt(&plan).2, format!("{asks}\n{answers}"));
    assert_eq!(
        prompt(&in_review(H1)),
        of(
            "judge the plan",
            "ralplan-critic",
            "Review the plan `.omc/plans/a.md`. Read the whole file, and the files that it names; change \
             nothing.\nEnd with `CRITIC_FEEDBACK:` and `- Verdict: OKAY` or `- Verdict: REJECT`, and with `- \
             Plan hash: 111111111111`."
        )
    );
    let shown = next(&awaiting(), "").to_string();
    assert_eq!(
        shown,
        format!(
            "Next: summarize in a few lines what the plan `.omc/plans/a.md` would change, then call \
             AskUserQuestion with exactly one question:\n{}\n- Proceed: Accept the plan; type `/ralph` to \
             carry it out\n- Proceed and start: Accept the plan and carry it out in this session now\n- \
             Adjust: Return it to the planner; write the changes under Other\n- Discard: End the planning; \
             the plan's file stays\nThen wait: silence is not consent. In a terminal the user can type \
             `ralph ralplan approve`, `ralph ralplan adjust TEXT` or `ralph ralplan discard` instead.",
            question::text(&awaiting())
        )
    );
    let over = |phase| next(&RalplanState { phase, ..awaiting() }, "").to_string();
    assert_eq!(
        over(PlanPhase::Complete),
        "The user agreed to the plan `.omc/plans/a.md` (111111111111). The user types `/ralph` to carry it \
         out."
    );
    assert_eq!(over(PlanPhase::Cancelled), "This planning is over; do nothing for it.");
}
