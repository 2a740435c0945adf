//! The contract and the line of a plain loop, each in whole.

use super::*;
use crate::state::{Phase, Receipt, TaskStatus, WorkerStanding};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn criterion(id: &str) -> Criterion {
    Criterion {
        id: id.to_owned(),
        description: format!("{id} holds"),
        verification_command: format!("run {id}"),
        ..Criterion::default()
    }
}

fn ran(id: &str, passed: bool) -> Criterion {
    let mut criterion = criterion(id);
    let command = criterion.verification_command.clone();
    receipt::record(
        &mut criterion,
        Receipt { command, passed, ended: "exit code 1".to_owned(), ..Receipt::default() },
    );
    criterion.verified = false;
    criterion
}

fn state(criteria: Vec<Criterion>) -> LoopState {
    let mut state = LoopState {
        loop_id: "L".to_owned(),
        phase: Phase::Implementation,
        prompt: "Fix\nthe parser".to_owned(),
        iteration: 3,
        acceptance_criteria: criteria,
        ..LoopState::default()
    };
    pinned::freeze(&mut state, NOW);
    state
}

const RULES: &str = "Rules: the user is away, so decide yourself and write down what you assumed. Work in small \
                     steps; after each, check that it works. You are kept going until the work is done, at most \
                     25 times; 3 stops in a row without any change end the loop. If you cannot go on without the \
                     user, run `ralph blocked 'WHAT THE USER MUST DO'` and stop.";

#[test]
fn the_contract_of_a_loop_is_this_text() {
    let bare = state(vec![]);
    let until_seen = "When everything holds and you have seen it hold, end your message with RALPH_COMPLETE alone \
                      on its last line.";
    assert_eq!(
        of_loop("HEADING", &bare, &[], NOW),
        format!(
            "HEADING\nGoal: Fix the parser\nDone means: the goal is reached (no acceptance criteria are \
             set).\n{RULES} {until_seen}"
        )
    );
    let mut rich = state(vec![ran("AC-1", true), ran("AC-2", false), criterion("AC-3")]);
    rich.baseline_pending = true;
    rich.refused = "no test changed".to_owned();
    let steers = ["use\n tabs".to_owned()];
    assert_eq!(
        of_loop("HEADING", &rich, &steers, NOW),
        format!(
            "HEADING\nGoal: Fix the parser\nDone means all of these hold:\n- AC-1 AC-1 holds: `run AC-1`: passed \
             when it was last run\n- AC-2 AC-2 holds: `run AC-2`: failed (exit code 1)\n- AC-3 AC-3 holds: `run AC-3`\nRalph runs \
             them without your change, too, and there they must fail: if all pass already, first add a test that \
             fails today.\nFirst of all run `ralph verify`: the user asked for a baseline before anything \
             changes.\nThe user said: STEER: use tabs\nFailed last: AC-2 (exit code 1).\nRefused last: no test changed\n{RULES} \
             `ralph verify` runs the criteria. When all hold, end your message with RALPH_COMPLETE alone on its \
             last line; Ralph then runs them itself, and only that is proof."
        )
    );
    let once = LoopState { max_iterations: 1, stall_limit: 1, ..bare };
    let text = of_loop("HEADING", &once, &[], NOW);
    assert!(text.contains("at most 1 time; 1 stop without any change ends the loop."), "{text}");
}

#[test]
fn the_line_at_a_stop_names_what_to_do_next() {
    let line = |state: &LoopState, request| next_step(state, request, None, NOW).line;
    let none = |criteria| line(&state(criteria), CompletionRequest::None);
    let made = |criteria| line(&state(criteria), CompletionRequest::Made);
    let verified = |id: &str| Criterion { verified: true, ..criterion(id) };
    assert_eq!(none(vec![]), "Ralph 3/25: next: Fix the parser");
    assert_eq!(
        none(vec![criterion("AC-1")]),
        "Ralph 3/25: 0 of 1 criterion holds; next: run AC-1 has not run yet"
    );
    assert_eq!(
        none(vec![verified("AC-1"), criterion("AC-2")]),
        "Ralph 3/25: 1 of 2 criteria hold; next: run AC-2 has not run yet"
    );
    assert_eq!(
        none(vec![ran("AC-1", true)]),
        "Ralph 3/25: 0 of 1 criterion holds; next: finish, then end your message with RALPH_COMPLETE alone on \
         its last line"
    );
    assert_eq!(
        none(vec![ran("AC-1", true), ran("AC-2", false)]),
        "Ralph 3/25: 0 of 2 criteria hold; next: make run AC-2 pass (AC-2 holds)"
    );
    assert_eq!(
        made(vec![ran("AC-1", true), ran("AC-2", false)]),
        "Ralph 3/25: completion refused, 0 of 2 criteria hold; next: make run AC-2 pass (AC-2 holds)"
    );
    let mut refused = state(vec![ran("AC-1", true)]);
    refused.refused = "no test changed".to_owned();
    assert_eq!(
        line(&refused, CompletionRequest::Made),
        "Ralph 3/25: completion refused, 0 of 1 criterion holds; next: no test changed"
    );
    refused.acceptance_criteria[0].verification_command = "true".to_owned();
    assert!(line(&refused, CompletionRequest::Made).ends_with(
        "next: `ralph criteria accept` in another terminal, because the criteria changed"
    ));
    assert_eq!(
        line(&state(vec![]), CompletionRequest::OnlyMentioned),
        "Ralph 3/25: RALPH_COMPLETE must stand alone on the last line; next: Fix the parser"
    );
    let signalled = |signal: Signal| {
        let mut state = state(vec![]);
        state.progress = Progress { signal, standing: 2, same_failure: 2, ..Progress::default() };
        line(&state, CompletionRequest::None)
    };
    let stands = "Ralph 3/25: no change at 2 of 3 stops; next: Fix the parser";
    assert_eq!(
        (signalled(Signal::NoChange), signalled(Signal::Idle)),
        (stands.into(), stands.into())
    );
    assert_eq!(
        signalled(Signal::SameFailure),
        "Ralph 3/25: the same failure 2 times in a row; next: Fix the parser"
    );
    assert_eq!(signalled(Signal::Cycle), "Ralph 3/25: next: Fix the parser");
}

#[test]
fn a_loop_with_tasks_is_told_the_task_or_the_workers() {
    let task = |status: TaskStatus| Task {
        id: "T-1".to_owned(),
        name: "add it".to_owned(),
        status,
        ..Task::default()
    };
    let with = |status: TaskStatus, parallel: bool, workers: Vec<Worker>| LoopState {
        task_graph: vec![task(status)].into(),
        parallel,
        workers,
        ..state(vec![])
    };
    let step = |state: &LoopState| next_step(state, CompletionRequest::None, None, NOW);
    let open = with(TaskStatus::Pending, false, vec![]);
    assert_eq!(step(&open).line, "Ralph 3/25: 0 of 1 task done; next: T-1 add it");
    assert!(
        step(&open)
            .details
            .starts_with("Ralph loop at 3/25. 0 of 1 task done.\nNext: T-1 add it\n")
    );
    let workers = with(TaskStatus::Pending, true, vec![]);
    assert_eq!(
        step(&workers).line,
        "Ralph 3/25: 0 of 1 task done; next: run `ralph parallel next`"
    );
    let done =
        Worker { standing: WorkerStanding::Done, files: vec!["a".to_owned()], ..Worker::default() };
    let merge = with(TaskStatus::Done, true, vec![done.clone()]);
    assert_eq!(step(&merge).line, "Ralph 3/25: 1 of 1 task done; next: run `ralph parallel next`");
    let merged = Worker { merged: "m".to_owned(), ..done };
    assert_eq!(
        step(&with(TaskStatus::Done, true, vec![merged])).line,
        "Ralph 3/25: 1 of 1 task done; next: Fix the parser"
    );
    let empty = LoopState { parallel: true, ..state(vec![]) };
    assert_eq!(step(&empty).line, "Ralph 3/25: next: add tasks with `ralph plan-sync`");
    for (state, expected) in [
        (&open, "Tasks: 0 of 1 task done. Next: T-1 add it\n"),
        (
            &workers,
            "Tasks: 0 of 1 task done. Next: run `ralph parallel next` and do what it says.\n",
        ),
        (&with(TaskStatus::Done, false, vec![]), "Tasks: 1 of 1 task done.\n"),
    ] {
        assert_eq!(tasks(state, NOW), expected);
    }
}

#[test]
fn a_text_is_cut_between_its_letters() {
    assert_eq!((in_bytes("abcd", 4), in_bytes("abcde", 4)), ("abcd".into(), "a…".into()));
    assert_eq!((in_bytes("ééé", 6), in_bytes("éééé", 6)), ("ééé".into(), "é…".into()));
    assert_eq!(one_line(" a\n b ", 3), "a b");
    assert_eq!(one_line("a b c", 3), "a …");
    let long = LoopState { prompt: "x".repeat(3_000), ..state(vec![criterion("AC-1"); 4]) };
    let text = of_loop("HEADING", &long, &[], NOW);
    assert!(text.len() <= CONTRACT_LIMIT && text.contains("xxx…\nDone means"), "{}", text.len());
}
