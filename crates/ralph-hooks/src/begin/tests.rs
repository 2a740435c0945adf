use super::*;
use crate::hook_runner::tests::TestLoop;
use ralph_core::modes::arguments;
use ralph_core::state::{ClientProcess, ModeState, PauseCause, RalplanState, Task, TaskStatus};

#[test]
fn a_loop_that_lost_its_entry_is_found_by_its_session_and_bound_again() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::at(folder.path().join("home"));
    let begin = |task: Option<&str>, prompt_id: &str| {
        let request = LoopRequest { task: task.map(str::to_owned), ..LoopRequest::default() };
        begin(&StartRequest {
            mode: Mode::Plain,
            home: &home,
            request: &request,
            session_id: "s",
            prompt_id,
            project_root: folder.path().to_owned(),
            started_by: StartedBy::Person,
            via: Some(Registration::Settings),
        })
        .unwrap()
    };
    begin(Some("t"), "p");
    let file = lifecycle::of_session(&home, "s").unwrap().unwrap();
    file.update(|state| state.pause(PauseCause::Cleared, "", clock::now())).unwrap();
    lifecycle::release(&home, &file, "s").unwrap();
    assert!(matches!(begin(None, "q"), StartOutcome::Continues(_)));
    assert_eq!(lifecycle::of_session(&home, "s").unwrap(), Some(file));
}

#[test]
fn a_newer_loop_in_another_folder_of_the_project_hides_no_loop_of_this_one() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::at(folder.path().join("home"));
    let [top, below] = ["top", "top/below"].map(|name| folder.path().join(name));
    let _ = [".git", "below"].map(|name| std::fs::create_dir_all(top.join(name)).unwrap());
    let notes = |session_id: &str, root: &Path| {
        let request = LoopRequest { task: Some("t".to_owned()), ..LoopRequest::default() };
        let begun = begin(&StartRequest {
            mode: Mode::Plain,
            home: &home,
            request: &request,
            session_id,
            prompt_id: session_id,
            project_root: root.to_owned(),
            started_by: StartedBy::Person,
            via: None,
        });
        match begun.unwrap() {
            StartOutcome::Started(state, told) => (state.loop_id, told.join("")),
            other => panic!("{other:?}"),
        }
    };
    let (first, told) = notes("s1", &top);
    assert_eq!(told, "");
    assert_eq!(notes("s2", &below).1, "");
    assert!(notes("s3", &top).1.starts_with(&format!("Loop {first} is live in this folder")));
}

#[test]
fn copies_that_are_asked_at_once_start_one_loop_of_the_highest_rank() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::at(folder.path().join("home"));
    let request = LoopRequest { task: Some("t".to_owned()), ..LoopRequest::default() };
    let ask = |via| {
        begin(&StartRequest {
            mode: Mode::Plain,
            home: &home,
            request: &request,
            session_id: "s",
            prompt_id: "p",
            project_root: folder.path().to_owned(),
            started_by: StartedBy::Person,
            via: Some(via),
        })
        .unwrap()
    };
    let ask = &ask;
    let begun: Vec<StartOutcome> = std::thread::scope(|scope| {
        let copies = [
            Registration::Plugin,
            Registration::Settings,
            Registration::Plugin,
            Registration::Settings,
        ]
        .map(|via| scope.spawn(move || ask(via)));
        copies.map(|copy| copy.join().unwrap()).into()
    });
    let n_started = begun.iter().filter(|begun| matches!(begun, StartOutcome::Started(..))).count();
    let n_answered = begun.iter().filter(|begun| matches!(begun, StartOutcome::Answered)).count();
    assert_eq!((n_started, n_answered), (1, 3));
    let loops = lifecycle::all(&home);
    assert_eq!(loops.len(), 1);
    assert_eq!(loops[0].1.as_ref().unwrap().via, Some(Registration::Settings));
}

fn asked<'a>(at: &'a TestLoop, request: &'a LoopRequest) -> StartRequest<'a> {
    StartRequest {
        mode: Mode::Plain,
        home: &at.home,
        request,
        session_id: "s",
        prompt_id: "q",
        project_root: at.root(),
        started_by: StartedBy::Person,
        via: Some(Registration::Settings),
    }
}

#[test]
fn nothing_starts_beside_a_loop_that_cannot_be_used_unless_it_is_over_or_has_left() {
    let at = TestLoop::started(Mode::Plain, "task");
    let refused = |why: &str| {
        let said = unusable(&at.home, "s");
        assert_eq!(said, Some(messages::no_start(why, &at.home.root().to_string_lossy())));
    };
    let path = at.file.path().display().to_string();
    assert_eq!(unusable(&at.home, ""), None);
    assert_eq!(unusable(&at.home, "another"), None);
    assert_eq!(unusable(&at.home, "s"), None);
    at.change(|state| state.phase = Phase::Other("later".to_owned()));
    refused(&format!("the state `{path}` cannot be understood: its phase `later` is not known"));
    at.change(|state| (state.phase, state.session_id) = (Phase::Paused, "another".to_owned()));
    refused(&format!("the state `{path}` names another session"));
    at.damage();
    refused(&format!(
        "`{path}` was written by a newer Ralph (schema 99); it was left unchanged: update Ralph"
    ));
    std::fs::remove_dir_all(at.file.folder()).unwrap();
    refused(&format!("the state file `{path}` is gone"));
    let entry = at.home.manifest_folder().join("s");
    std::fs::write(&entry, "relative\n").unwrap();
    refused(&format!("the manifest entry `{}` does not hold an absolute path", entry.display()));
}

#[test]
fn an_entry_of_a_loop_that_was_put_away_blocks_no_start_whatever_is_left_of_it() {
    let at = TestLoop::started(Mode::Plain, "task");
    at.change(|state| state.end(EndingKind::Cancelled, "", clock::now()));
    let away = lifecycle::put_away(&at.home, &at.file, &at.state(), ManifestFate::KeepAsTombstone);
    assert_eq!(unusable(&at.home, "s"), None);
    std::fs::write(away.unwrap().file.path(), r#"{"schema_version": 99}"#).unwrap();
    assert_eq!(unusable(&at.home, "s"), None);
}

#[test]
fn a_state_is_not_a_sessions_if_it_is_live_in_another_and_has_not_left_this_one() {
    let at = TestLoop::started(Mode::Plain, "task");
    let live = LoopState { session_id: "another".to_owned(), ..at.state() };
    let former = ralph_core::state::Bound { session_id: "s".to_owned(), ..Default::default() };
    let ending = Some(Ending::default());
    let path = at.file.path().display();
    let named = Some(format!("the state `{path}` names another session"));
    let check = |state: LoopState, expected: &Option<String>| {
        assert_eq!(&not_its(&at.home, &at.file, &state, "s"), expected, "{state:?}");
    };
    check(live.clone(), &named);
    check(at.state(), &None);
    check(LoopState { phase: Phase::Ended, ..live.clone() }, &None);
    check(LoopState { ending, ..live.clone() }, &None);
    check(LoopState { lineage: vec![former], ..live.clone() }, &None);
    let strange = format!("the state `{path}` cannot be understood: it names no loop");
    check(LoopState { loop_id: String::new(), ..live.clone() }, &Some(strange));
    lifecycle::bind(&at.home, &at.file, "another").unwrap();
    check(live, &None);
}

#[test]
fn a_plan_is_carried_out_if_the_user_agreed_to_it_and_asks_for_no_other_task() {
    let at = TestLoop::started(Mode::Plain, "task");
    let request = |task: Option<&str>| LoopRequest {
        task: task.map(str::to_owned),
        ..LoopRequest::default()
    };
    let ended = |mode: ModeState, kind: EndingKind| {
        let mut state = LoopState { mode, ..LoopState::default() };
        state.end(kind, "", clock::now());
        state
    };
    let plan = || ModeState::from(RalplanState::default());
    let planning = LoopState { mode: plan(), ..LoopState::default() };
    for (state, task, expected) in [
        (ended(plan(), EndingKind::Approved), None, true),
        (ended(plan(), EndingKind::Approved), Some("another"), false),
        (ended(plan(), EndingKind::Discarded), None, false),
        (ended(ModeState::Plain, EndingKind::Approved), None, false),
        (planning, None, false),
    ] {
        let request = request(task);
        assert_eq!(is_agreed(&state, &asked(&at, &request)), expected, "{task:?} {state:?}");
    }
}

#[test]
fn a_baseline_that_was_asked_for_once_is_run_before_the_work() {
    let at = TestLoop::started(Mode::Plain, "task");
    let pending = |was: bool, typed: &str| {
        at.change(|state| {
            state.pause(PauseCause::Person, "", clock::now());
            state.baseline_pending = was;
        });
        let request = arguments::parse(typed).unwrap();
        let taken = take_up(&asked(&at, &request), Some(&at.file), false).unwrap();
        let StartOutcome::Continues(state) = taken else { panic!("{taken:?}") };
        assert_eq!(state.baseline_pending, at.state().baseline_pending);
        state.baseline_pending
    };
    assert!(!pending(false, "--baseline"), "there is no criterion");
    assert!(!pending(false, "--ac \"it is there=test -e door\""));
    assert!(pending(false, "--baseline"));
    assert!(pending(true, ""));
    assert!(!pending(false, ""));
}

#[test]
fn a_loop_that_was_taken_or_ended_is_not_taken_up_and_one_that_goes_on_is_not_frozen_anew() {
    let at = TestLoop::started(Mode::Plain, "task --ac \"it is there=test -e door\"");
    let request = LoopRequest::default();
    let take_up = |is_planned| take_up(&asked(&at, &request), Some(&at.file), is_planned).unwrap();
    let frozen = at.state().frozen;
    at.change(|state| state.pause(PauseCause::Person, "", clock::now()));
    assert!(matches!(take_up(true), StartOutcome::Refused(_)), "it is no longer planned");
    assert!(matches!(take_up(false), StartOutcome::Continues(_)));
    assert!(frozen.is_some() && at.state().frozen == frozen);
    at.change(|state| state.end(EndingKind::Failed, "", clock::now()));
    assert!(matches!(take_up(false), StartOutcome::Refused(_)));
}

#[test]
fn a_loop_of_another_session_is_taken_over_only_where_its_client_is_gone_and_no_task_is_named() {
    let at = TestLoop::started(Mode::Plain, "task");
    let none = LoopRequest::default();
    let task = LoopRequest { task: Some("t".to_owned()), ..none.clone() };
    let dead = ClientProcess { pid: std::process::id(), started: "1".to_owned() };
    let own = LoopState { frozen: None, client: None, ..at.state() };
    let anothers = LoopState { session_id: "another".to_owned(), ..own.clone() };
    let frozen = at.state().frozen;
    assert!(frozen.is_some());
    let left = LoopState { frozen, client: Some(dead), ..anothers.clone() };
    let live = LoopState { client: Some(client::this_process()), ..left.clone() };
    let elsewhere = LoopState { project_root: "/".to_owned(), ..anothers.clone() };
    let nowhere = LoopState { project_root: String::new(), ..anothers.clone() };
    let unknown = LoopState { client: None, ..left.clone() };
    let taken = |state: &LoopState| {
        format!(
            "the manifest file already names a live loop of another session, {0} at 0/25: end \
             that one first (`ralph cancel --loop {0}`), or unset RALPH_MANIFEST so that each \
             session has an entry of its own",
            state.loop_id
        )
    };
    for (state, request, is_refused) in [
        (&own, &none, false),
        (&own, &task, false),
        (&anothers, &none, false),
        (&anothers, &task, true),
        (&left, &none, false),
        (&live, &none, true),
        (&unknown, &none, true),
        (&elsewhere, &none, true),
        (&nowhere, &none, false),
        (&LoopState { phase: Phase::Ended, ..live.clone() }, &none, false),
    ] {
        let expected = is_refused.then(|| taken(state));
        assert_eq!(cannot_take_over(state, &asked(&at, request)), expected, "{state:?}");
    }
    let terminal = StartRequest { session_id: "", ..asked(&at, &task) };
    assert_eq!(cannot_take_over(&live, &terminal), None);
    assert_eq!(cannot_take_over(&at.state(), &asked(&at, &task)), None, "it is its own");
    let task = Task { status: TaskStatus::Other("stuck".to_owned()), ..Task::default() };
    let broken = LoopState { task_graph: vec![task].into(), ..own };
    let problems = adopted(broken.clone()).unwrap_err().join("; ");
    assert_eq!(
        cannot_take_over(&broken, &asked(&at, &none)),
        Some(format!("{problems}; nothing was started: correct the state file"))
    );
}

#[test]
fn an_answered_prompt_raises_the_rank_and_an_untouched_loop_makes_room() {
    let at = TestLoop::started(Mode::Plain, "task");
    let request = LoopRequest { task: Some("another".to_owned()), ..LoopRequest::default() };
    let asked = asked(&at, &request);
    at.change(|state| state.via = Some(Registration::Plugin));
    assert!(matches!(answered(&asked, Some(&at.file)).unwrap(), StartOutcome::Answered));
    assert_eq!(at.state().via, Some(Registration::Settings));
    at.change(|state| state.touched = true);
    assert!(!replace(&asked, Some(&at.file)).unwrap());
    assert!(at.state().is_live());
    at.change(|state| state.touched = false);
    assert!(replace(&asked, None).unwrap());
    assert!(replace(&asked, Some(&at.file)).unwrap());
    let [(file, state)] = lifecycle::ended(&at.home).try_into().unwrap();
    let ending = state.unwrap().ending.unwrap();
    assert_eq!((ending.kind, ending.detail.as_str()), (EndingKind::Cancelled, REPLACED));
    assert_eq!(lifecycle::of_session(&at.home, "s").unwrap(), None);
    let noted = journal::read(file.folder()).pop().unwrap();
    assert_eq!(
        (noted.event.as_str(), noted.decision.as_str(), noted.why.as_str()),
        ("UserPromptExpansion", "ended", "cancelled: replaced before it had begun")
    );
    assert_eq!((noted.prompt_id.as_str(), noted.input), ("q", digest::of_bytes(b"another")));
}
