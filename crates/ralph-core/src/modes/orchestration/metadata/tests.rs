use super::super::id::OrchestrationId;
use super::super::progress::Progress;
use super::super::state::{MetadataStatus, State};
use super::*;
use jiff::Timestamp;

fn id() -> OrchestrationId {
    OrchestrationId::parse("260131-120000").unwrap()
}

fn now() -> Timestamp {
    "2026-01-31T12:00:00.5Z".parse().unwrap()
}

#[test]
fn a_new_document_is_valid_and_says_where_the_session_is() {
    let text = OrchestrationMetadata::first(&id(), State::Planning, 1, now().into());
    let (metadata, found) = OrchestrationMetadata::parse(&text, &id());
    assert_eq!(found, []);
    let expected = OrchestrationMetadata {
        version: Some(1),
        iteration: Some(1),
        state: Some(State::Planning),
        wave: None,
        standing: Some(MetadataStatus::InProgress),
    };
    assert_eq!(metadata, expected);
    assert!(text.contains("created_at: 2026-01-31T12:00:00+00:00\n"), "{text}");
    let text = IterationMetadata::first(2, now().into());
    let (metadata, found) = IterationMetadata::parse(&text, 2);
    assert_eq!((metadata.completed_at, found), (None, vec![]));
}

#[test]
fn a_change_leaves_what_nobody_here_knows() {
    let text = OrchestrationMetadata::first(&id(), State::Planning, 1, now().into())
        .replace("orchestrator:", "# mine\nowner: me\norchestrator:");
    let changed = set_state(&text, State::ExecutingBatch, 2, Some(3)).unwrap();
    let progress = Progress::parse(
        "## Implementation Progress (Iteration 1)\n- [x] a\n- [F] b\n- [/] c\n- [C] d\n- [ ] e\n",
    );
    let later: Timestamp = "2026-01-31T13:00:00Z".parse().unwrap();
    let changed = refresh(&changed, Counts::of(&progress), later.into()).unwrap();
    let expected = text
        .replace("version: 1", "version: 2")
        .replace("updated_at: 2026-01-31T12", "updated_at: 2026-01-31T13")
        .replace("iteration: 1", "iteration: 2")
        .replace("PLANNING", "EXECUTING_BATCH")
        .replace("wave: null", "wave: 3")
        .replace("total: 0", "total: 5")
        .replace("completed: 0", "completed: 1")
        .replace("failed: 0", "failed: 1")
        .replace("pending: 0", "pending: 2");
    assert_eq!(changed, expected);
}

#[track_caller]
fn check(old: &str, new: &str, expected: &str) {
    let text = OrchestrationMetadata::first(&id(), State::Planning, 1, now().into());
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
    let text = OrchestrationMetadata::first(&id(), State::Planning, 1, now().into())
        .replace("  state: PLANNING\n", "");
    let (metadata, found) = OrchestrationMetadata::parse(&text, &id());
    assert_eq!((metadata.state, found), (None, vec![]));
    assert!(set_state(&text, State::Batching, 1, None).unwrap().contains("  state: BATCHING\n"));
}

#[test]
fn the_times_of_an_iteration_are_noted_once() {
    let text = IterationMetadata::first(2, now().into());
    let later: Timestamp = "2026-02-01T12:00:00Z".parse().unwrap();
    let once =
        IterationMetadata::completed(&planned(&text, 6, now().into()).unwrap(), now().into())
            .unwrap();
    let twice =
        IterationMetadata::completed(&planned(&once, 6, later.into()).unwrap(), later.into())
            .unwrap();
    assert_eq!(once, twice);
    let (metadata, _) = IterationMetadata::parse(&once, 2);
    assert_eq!(metadata.completed_at.as_deref(), Some("2026-01-31T12:00:00+00:00"));
    assert_eq!(metadata.planning_completed_at, metadata.completed_at);
    assert_eq!(IterationMetadata::parse(&once, 3).1.len(), 1);
}
