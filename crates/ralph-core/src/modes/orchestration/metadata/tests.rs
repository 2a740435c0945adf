use super::super::fixture::now;
use super::super::id::OrchestrationId;
use super::super::progress::ReadProgress;
use super::super::state::State;
use super::*;

fn id() -> OrchestrationId {
    OrchestrationId::parse("260131-120000").unwrap()
}

fn first() -> String {
    OrchestrationMetadata::first(State::Planning, 1, now().into()).render(&id(), Counts::default())
}

#[track_caller]
fn check(old: &str, new: &str, expected: &str) {
    let text = first();
    assert!(text.contains(old));
    let (_, found) = OrchestrationMetadata::parse(&text.replace(old, new), &id());
    let told: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert!(told.iter().any(|one| one.contains(expected)), "{told:?}");
}

#[test]
fn what_has_to_be_there_is_missed_with_its_line() {
    check("version: 1\n", "", "metadata.yaml: `version` is missing");
    check("session_id: 260131-120000\n", "", "`session_id` is missing");
    check(
        "created_at: 2026-01-31T12:00:00+00:00",
        "created_at:",
        "yaml:3: `created_at` has no value",
    );
    check("updated_at", "updated", "`updated_at` is missing");
    check(
        "iteration: 1",
        "iteration: 0",
        "metadata.yaml:6: `iteration: 0` is not a number of at \
         least 1",
    );
    check("  total: 0", "  total: many", "`tasks.total: many`");
    check("  pending: 0\n", "", "`tasks.pending` is missing");
    check(
        "PLANNING",
        "PLAN",
        "metadata.yaml:8: `PLAN` is not a state; write one of INITIALIZING, ",
    );
    check("260131-120000", "260131-120001", "differs from the folder's name, 260131-120000");
    check("tasks:", "tasks: [", "this is not YAML");
}

#[test]
fn a_state_that_is_missing_is_no_fault() {
    let text = first().replace("  state: PLANNING\n", "");
    let (metadata, found) = OrchestrationMetadata::parse(&text, &id());
    assert_eq!((metadata.state, found), (None, vec![]));
}

#[test]
fn each_mark_is_counted_in_its_place() {
    let text = "## Implementation Progress (Iteration 1)\n- [ ] a\n- [/] b\n- [P] c\n- [x] d\n- [x] e\n\
                - [F] f\n- [C] g\n";
    let counts = Counts { total: 7, completed: 2, failed: 1, pending: 3, cancelled: 1 };
    assert_eq!(Counts::from_progress(&ReadProgress::parse(text).progress), counts);
}

#[test]
fn what_is_rendered_is_read_back_as_it_was() {
    let first = OrchestrationMetadata::first(State::Batching, 2, now().into());
    let metadata = OrchestrationMetadata { wave: Some(3), ..first };
    let counts = Counts { total: 5, completed: 1, failed: 1, pending: 2, cancelled: 1 };
    let text = metadata.render(&id(), counts);
    assert_eq!(OrchestrationMetadata::parse(&text, &id()), (metadata, vec![]));
    assert!(text.contains("tasks:\n  total: 5\n  completed: 1\n  failed: 1\n  pending: 2\n"));
    let time = Some("2026-01-31T12:00:00+07:00".to_owned());
    let iteration = IterationMetadata {
        started_at: time.clone(),
        planning_completed_at: time,
        completed_at: None,
        tasks_defined: 6,
    };
    let text = iteration.render(2);
    assert!(text.contains("planning_complete: true\n") && text.contains("completed_at: null\n"));
    assert_eq!(IterationMetadata::parse(&text, 2), (iteration, vec![]));
    assert_eq!(IterationMetadata::parse(&text, 3).1.len(), 1);
}
