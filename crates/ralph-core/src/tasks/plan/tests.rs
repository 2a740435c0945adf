use super::*;
use crate::state::{
    Completion, DrivenTurn, Ending, EndingKind, Pause, PauseCause, Phase, Registration,
};
use jiff::Timestamp;
use serde_json::{Value, json};

const SOUND: &str = r#"{"prompt":"add a login","acceptance_criteria":[{"description":"it works","verification_command":"make test"}],
    "task_graph":[{"name":"form"},{"name":"check","deps":["T-1"]}],"context_report":"c","max_iterations":7,"tests_may_change":["tests/api/**"]}"#;

#[track_caller]
fn check(plan: Value, expected: &[&str]) {
    let problems: Vec<String> = match parse(&plan.to_string()) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.iter().map(Problem::to_string).collect(),
    };
    assert_eq!(problems, expected, "{plan}");
}

#[track_caller]
fn check_text(text: &str, expected: &str) {
    let problems = parse(text).expect_err(text);
    assert!(problems[0].to_string().contains(expected), "{problems:?}");
}

/// A plan with one valid criterion and these tasks.
fn with_tasks(tasks: Value) -> Value {
    json!({ "acceptance_criteria": [{"description": "d", "verification_command": "make"}], "task_graph": tasks })
}

#[test]
fn a_sound_plan_is_read_and_its_missing_ids_are_numbered() {
    let plan = parse(SOUND).unwrap();
    assert_eq!(plan.prompt, "add a login");
    assert_eq!(plan.criteria[0].id, "AC-1");
    assert_eq!(plan.tasks.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(), ["T-1", "T-2"]);
    assert_eq!((plan.context_report.as_str(), plan.max_iterations), ("c", Some(7)));
    assert_eq!(plan.tests_may_change, ["tests/api/**"]);
}

#[test]
fn a_number_that_is_taken_is_not_given_again() {
    let plan = parse(
        &with_tasks(json!([{"name": "a"}, {"id": "T-1", "name": "b"}, {"name": "c"}])).to_string(),
    )
    .unwrap();
    assert_eq!(
        plan.tasks.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(),
        ["T-2", "T-1", "T-3"]
    );
}

#[test]
fn the_last_json_block_of_a_markdown_document_is_the_plan() {
    let text = format!(
        "# Plan\n\n```json\n{{\"task_graph\":[]}}\n```\n\n````md\n```json\nnot this\n```\n````\n\n  ```JSON\n{SOUND}\n  ```\n\n```sh\nmake\n```\n"
    );
    assert_eq!(parse(&text).unwrap(), parse(SOUND).unwrap());
    assert_eq!(parse(&format!("\u{feff}\n{SOUND}")).unwrap(), parse(SOUND).unwrap());
    assert_eq!(parse(&format!("[TOC]\n```json\n{SOUND}\n```")).unwrap(), parse(SOUND).unwrap());
    assert_eq!(parse(&format!("so:\n~~~json\n{SOUND}")).unwrap(), parse(SOUND).unwrap());
}

#[test]
fn what_is_no_plan_is_refused_with_what_to_write() {
    check_text("", "there is no plan here");
    check_text("# Plan\n\nnothing\n```yaml\na: 1\n```", "```json block");
    check_text("{\"prompt\":", "the plan is not JSON: EOF");
    check_text("[]", "a plan is a JSON object");
    check_text("```json\n7\n```", "a plan is a JSON object");
    check_text(&"[".repeat(100_000), "the plan is not JSON: recursion limit");
}

#[test]
fn a_plan_that_says_nothing_is_refused() {
    check(
        json!({"prompt": "x"}),
        &[
            "the plan has neither `acceptance_criteria` nor `task_graph`; say what is to be done and how one can tell",
        ],
    );
    check(json!({"task_graph": [{"name": "a"}]}), &[]);
    check(with_tasks(json!([])), &[]);
}

#[test]
fn every_problem_of_the_criteria_is_named_with_its_place() {
    check(
        json!({"acceptance_criteria": [
            {"id": "AC-1", "description": " ", "verification_command": "make"},
            {"id": "AC-1", "description": "d"},
            {"description": "d", "verification_command": "npm test || true"},
            {"description": "d", "verification_command": " echo ok; "},
            {"description": "d", "review": " "},
            {"description": "d", "review": "is it plain?", "verification_command": "make"},
        ]}),
        &[
            "acceptance_criteria[0].description: empty; write what must be true",
            "acceptance_criteria[1].id: AC-1 is the id of two criteria; rename one",
            "acceptance_criteria[1].verification_command: there is no command; name a command that \
             fails until the work is done",
            "acceptance_criteria[2].verification_command: `npm test || true` proves nothing: the \
             rest of the line hides the command's failure; name a command that fails until the \
             work is done",
            "acceptance_criteria[3].verification_command: `echo ok;` proves nothing: it succeeds \
             whatever the work is; name a command that fails until the work is done",
            "acceptance_criteria[4].review: empty; write the question to answer",
            "acceptance_criteria[5].review: a criterion has a command or a question, not both",
        ],
    );
}

#[test]
fn every_problem_of_the_tasks_is_named_with_its_place() {
    check(
        with_tasks(json!([
            {"id": "a", "name": "a", "deps": ["x"]},
            {"id": "b", "name": "", "deps": ["c"]},
            {"id": "c", "name": "c", "deps": ["b"]},
            {"id": "a", "name": "d"},
            {"id": "e", "name": "e", "deps": ["e"]},
        ])),
        &[
            "task_graph[0].deps: a depends on x, which does not exist; add that task or remove the \
             dependency",
            "task_graph[1].name: b has no name; write the task in words",
            "task_graph[3].id: a is the id of two tasks; rename one",
            "task_graph[1].deps: b → c → b is a dependency cycle; remove one dependency",
            "task_graph[4].deps: e depends on itself; remove that dependency",
        ],
    );
}

#[test]
fn a_status_that_no_rule_knows_is_a_problem() {
    check(
        with_tasks(json!([{"name": "a", "status": "soon"}, {"name": "b", "status": "completed"}])),
        &["task_graph[0].status: `soon` is not a status; write `pending` or `done`, or omit it"],
    );
}

#[test]
fn a_member_of_another_shape_is_named_with_its_place() {
    for (plan, expected) in [
        (json!({"prompt": 7}), "prompt: invalid type: integer `7`, expected a string"),
        (
            json!({"acceptance_criteria": {}}),
            "acceptance_criteria: invalid type: map, expected a sequence",
        ),
        (
            json!({"task_graph": [{"name": "a"}, {"name": 3}]}),
            "task_graph[1].name: invalid type: integer `3`, expected a string",
        ),
        (
            json!({"max_iterations": "5"}),
            "max_iterations: not a whole number from 1 to 10000, but `\"5\"`",
        ),
    ] {
        check(plan, &[expected]);
    }
}

#[test]
fn max_iterations_keeps_the_rule_of_its_flag() {
    for bad in [json!(0), json!(-1), json!(2.5), json!(1e9), json!(10_001), json!(true), json!([])]
    {
        let mut plan = with_tasks(json!([]));
        plan["max_iterations"] = bad.clone();
        let problems = parse(&plan.to_string()).expect_err(&bad.to_string());
        assert_eq!(problems[0].place, "max_iterations");
    }
    let mut plan = with_tasks(json!([]));
    plan["max_iterations"] = Value::Null;
    check(plan, &[]);
}

#[test]
fn a_plan_cannot_speak_for_itself() {
    let plan = parse(
        &json!({
            "phase": "ended", "iteration": 24, "completion": "token", "loop_id": "x", "session_id": "s",
            "pause": null, "via": "settings", "colour": "blue",
            "acceptance_criteria": [{"description": "d", "verification_command": "make", "verified": true,
                "paths": ["src"], "receipt": {"passed": true}, "weight": 2}, {"description": "d", "review": "is it plain?"}],
            "task_graph": [{"name": "a", "status": "in_progress", "owner": "w", "lease_expires_at": "2026-01-01T00:00:00Z"},
                {"name": "b", "status": "done"}],
        })
        .to_string(),
    )
    .unwrap();
    assert!(!plan.criteria[0].verified && plan.criteria[0].receipt.is_none());
    assert_eq!(plan.criteria[0].paths, ["src"]);
    assert_eq!(plan.criteria[1].review.as_deref(), Some("is it plain?"));
    assert_eq!(plan.criteria[0].extra["weight"], 2, "unknown members are kept");
    assert_eq!((&plan.tasks[0].status, &plan.tasks[0].owner), (&TaskStatus::Pending, &None));
    assert_eq!(plan.tasks[1].status, TaskStatus::Done);
    let mut state = LoopState::default();
    plan.fill(&mut state);
    assert_eq!(
        (state.phase, state.iteration, state.completion),
        (Phase::Planned, 0, Completion::Verified)
    );
    assert_eq!(state.extra.into_iter().collect::<Vec<_>>(), [("colour".to_owned(), json!("blue"))]);
}

#[test]
fn no_member_of_a_full_state_is_taken_for_an_unknown_one() {
    let now = Timestamp::UNIX_EPOCH;
    let state = LoopState {
        resume_phase: Some(Phase::Implementation),
        pause: Some(Pause {
            cause: PauseCause::Person,
            at: now,
            detail: String::new(),
            told: false,
            attended: true,
        }),
        ending: Some(Ending {
            kind: EndingKind::Complete,
            at: now,
            detail: String::new(),
            cause: None,
        }),
        via: Some(Registration::Settings),
        turn: Some(DrivenTurn::new("", now)),
        client: Some(crate::state::ClientProcess { pid: 1, started: String::new() }),
        task_graph: vec![Task { name: "a".to_owned(), ..Task::default() }].into(),
        ..LoopState::default()
    };
    let plan = parse(&serde_json::to_string(&state).unwrap()).unwrap();
    assert!(plan.extra.is_empty(), "{:?}", plan.extra);
}

#[test]
fn a_plan_sets_no_member_of_the_state_that_is_left_out_while_it_is_empty() {
    let plan = json!({
        "started_at": "1970-01-01T00:00:00Z", "frozen": {"criteria": "x"},
        "baseline_pending": true, "checkpoint": {"tree": "t"}, "blocked": {"what": "w"},
        "cancelled_by_prompt": "p", "let_finish": true, "colour": "blue",
        "acceptance_criteria": [{"description": "d", "verification_command": "make",
            "tests_expected": 1, "held_before": true, "held_on": "t", "turned_red": {}}],
    });
    let mut state = LoopState::default();
    parse(&plan.to_string()).unwrap().fill(&mut state);
    let written = serde_json::to_string(&state).unwrap();
    let read: LoopState = serde_json::from_str(&written).unwrap();
    let criterion = Criterion {
        id: "AC-1".to_owned(),
        description: "d".to_owned(),
        verification_command: "make".to_owned(),
        ..Criterion::default()
    };
    let expected = LoopState {
        acceptance_criteria: vec![criterion],
        extra: [("colour".to_owned(), json!("blue"))].into(),
        ..LoopState::default()
    };
    assert_eq!(read, expected);
}

#[test]
fn what_a_plan_does_not_say_stays() {
    let mut state = LoopState { prompt: "p".to_owned(), max_iterations: 9, ..LoopState::default() };
    parse(&with_tasks(json!([{"name": "a"}])).to_string()).unwrap().fill(&mut state);
    assert_eq!((state.prompt.as_str(), state.max_iterations, state.task_graph.len()), ("p", 9, 1));
}

#[test]
fn the_block_that_says_ralph_plan_is_the_plan_wherever_it_stands() {
    let named = "```json ralph-plan\n{\"task_graph\":[{\"name\":\"meant\"}]}\n```\n";
    let other = "```json\n{\"task_graph\":[{\"name\":\"an example\"}]}\n```\n";
    for text in [format!("a\n{named}b\n{other}"), format!("a\n{other}{named}")] {
        assert_eq!(parse(&text).unwrap().tasks[0].name, "meant");
    }
    assert_eq!(block(&format!("a\n\n{named}")).unwrap().line, 3);
    assert_eq!(block("no block"), None);
}

#[test]
fn a_fence_has_three_marks_of_one_kind_and_is_closed_by_as_many() {
    for (line, expected) in [
        ("```", Some(("```", ""))),
        ("  ```json x ", Some(("```", "json x"))),
        ("~~~~a`", Some(("~~~~", "a`"))),
        ("``", None),
        ("``~", None),
        ("a```", None),
        ("", None),
    ] {
        assert_eq!(opening(line), expected, "{line}");
    }
    for (line, fence, expected) in [
        ("```", "```", true),
        (" ````\t", "```", true),
        ("```", "````", false),
        ("```x", "```", false),
        ("~~~", "```", false),
        ("", "```", false),
    ] {
        assert_eq!(closes(line, fence), expected, "{line}");
    }
    let found = fenced("a\n```json\nb\nc\n```\n~~~ sh\nd");
    let found: Vec<_> = found.iter().map(|one| (one.line, one.kind, one.text.as_str())).collect();
    assert_eq!(found, [(2, "json", "b\nc"), (6, " sh", "d")]);
}

#[test]
fn only_what_is_missing_is_numbered_and_no_number_is_given_twice() {
    let mut ids = ["", "T-2", " ", "x", "", "T-1"].map(str::to_owned);
    number(ids.iter_mut(), "T-");
    assert_eq!(ids, ["T-3", "T-2", "T-4", "x", "T-5", "T-1"]);
}
