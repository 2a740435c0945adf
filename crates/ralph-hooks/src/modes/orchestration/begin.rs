//! Starts and continues an orchestration. The typed command and the headless driver share this
//! code.
//!
//! An orchestration is a folder, driven by a loop that holds the bounds, the criteria and the
//! budgets. The folder outlives the loop, and another loop can continue it.

use super::routing::{as_driven, driving};
use crate::begin::{
    StartOutcome, StartRequest, answered, cannot_start, facts, note_start, options_of, own, run,
    wants_baseline,
};
use anyhow::Result;
use jiff::Timestamp;
use ralph_core::evidence::pinned;
use ralph_core::modes::orchestration::files::{SESSIONS, folder};
use ralph_core::modes::orchestration::id::{OrchestrationId, REFUSED};
use ralph_core::modes::orchestration::in_session;
use ralph_core::modes::orchestration::machine::{self, Act, MachineStep};
use ralph_core::modes::orchestration::which;
use ralph_core::modes::{mode, start};
use ralph_core::project as commands;
use ralph_core::state::{
    Bound as Former, Criterion, LoopError, LoopState, Mode, OrchestrationState,
};
use ralph_io::store::loop_file::LoopFile;
use ralph_io::store::orchestration::OrchestrationStore;
use ralph_io::{
    client, process::clock, project::reader::DiskReader, project::settings, store::lifecycle,
};

/// Which orchestration the request means.
enum OrchestrationChoice {
    /// A new one for this task.
    New(String),
    /// The one with this id.
    Named(OrchestrationId),
    /// The one with this id, which has new feedback.
    Feedback(OrchestrationId),
    /// None named: the only open one, or the only one at all.
    Any,
}

/// Decides what the request means, and carries it out. Starts the loop even without a client
/// session: the driver binds each client that it starts.
pub(super) fn begin(asked: &StartRequest<'_>) -> Result<StartOutcome> {
    let wanted = match wanted(asked.request.task.as_deref()) {
        Ok(wanted) => wanted,
        Err(why) => return Ok(StartOutcome::Refused(why)),
    };
    let sessions = OrchestrationStore::open(&asked.project_root, asked.home)?;
    let now = clock::now();
    if let Some((file, state)) = own(asked.home, asked.session_id)? {
        return go_on_with_own(asked, &wanted, &file, &state, now);
    }
    let (id, task) = match choose(asked, &sessions, wanted, now)? {
        Ok(found) => found,
        Err(why) => return Ok(StartOutcome::Refused(why)),
    };
    if let Some((file, state)) = driving(asked.home, &asked.project_root, &id) {
        let driver_lives = state.client.as_ref().is_some_and(client::is_alive);
        return match driver_lives {
            true => Ok(StartOutcome::Refused(format!(
                "another session or program already drives orchestration {id} (loop {}): continue \
                 there, or end it with `ralph cancel --loop {}`",
                state.loop_id, state.loop_id
            ))),
            false => take_up(asked, &file, &state, now),
        };
    }
    create(asked, &id, &task, now)
}

/// A single word of digits and punctuation is a name, or a misspelt one; anything else is a task.
fn wanted(task: Option<&str>) -> Result<OrchestrationChoice, String> {
    let Some(task) = task.map(str::trim).filter(|task| !task.is_empty()) else {
        return Ok(OrchestrationChoice::Any);
    };
    if let Some(said) = which::continued(task) {
        return match (said.id, said.more) {
            (None, _) => Err(REFUSED.to_owned()),
            (Some(id), true) => Err(format!(
                "orchestration {id} reads its feedback from a file: write it with `ralph session \
                 feedback new --id {id}`, then type /ralph-v2 {id}"
            )),
            (Some(id), false) if said.feedback => Ok(OrchestrationChoice::Feedback(id)),
            (Some(id), false) => Ok(OrchestrationChoice::Named(id)),
        };
    }
    let of_name = |letter: char| letter.is_ascii_digit() || "-_./:".contains(letter);
    let name = task.trim_start_matches(SESSIONS);
    let is_name = name.chars().all(of_name) && name.contains(|one: char| one.is_ascii_digit());
    match (is_name, OrchestrationId::parse(name.trim_end_matches('/'))) {
        (true, Ok(id)) => Ok(OrchestrationChoice::Named(id)),
        (true, Err(_)) => Err(REFUSED.to_owned()),
        (false, _) => Ok(OrchestrationChoice::New(task.to_owned())),
    }
}

/// The chosen orchestration, created if it is new, with its task; or the reason why there is none.
fn choose(
    asked: &StartRequest<'_>,
    sessions: &OrchestrationStore,
    wanted: OrchestrationChoice,
    now: Timestamp,
) -> Result<Result<(OrchestrationId, String), String>> {
    let wants_feedback = matches!(wanted, OrchestrationChoice::Feedback(_));
    let id = match wanted {
        OrchestrationChoice::New(task) => return Ok(Ok((sessions.begin_now(&task, now)?, task))),
        OrchestrationChoice::Named(id) | OrchestrationChoice::Feedback(id) => id,
        OrchestrationChoice::Any => match sessions.meant(NONE, |id| format!("/ralph-v2 {id}"))? {
            Ok(id) => id,
            Err(why) => return Ok(Err(why)),
        },
    };
    let Some(seen) = sessions.read(&id)? else { return Ok(Err(no_such(sessions, &id))) };
    if wants_feedback {
        let seen = as_driven(asked.home, &asked.project_root, &seen);
        if let Some(why) = no_feedback(&id, &machine::next(&seen, now)) {
            return Ok(Err(why));
        }
    }
    Ok(Ok((id, seen.request)))
}

/// Why a finished orchestration has no feedback to continue with. `None` if it can continue.
fn no_feedback(id: &OrchestrationId, step: &MachineStep) -> Option<String> {
    if !matches!(step.act, Act::Complete | Act::AwaitingFeedback(_)) {
        return None;
    }
    let found: Vec<String> = step
        .findings
        .iter()
        .filter(|finding| finding.file.contains("/feedbacks/"))
        .map(|finding| format!("; {finding}"))
        .collect();
    Some(format!(
        "orchestration {id} has no feedback to work on: create the file with `ralph session \
         feedback new --id {id}`{}",
        found.concat()
    ))
}

/// The message if the project has no orchestration.
const NONE: &str = "no orchestration here: type /ralph-v2 \"what to do\"";

fn no_such(sessions: &OrchestrationStore, id: &OrchestrationId) -> String {
    let list: Vec<String> = sessions.list().iter().map(|id| format!("/ralph-v2 {id}")).collect();
    match list.is_empty() {
        true => {
            format!("no orchestration {id} here: type /ralph-v2 \"what to do\" to start one")
        }
        false => format!("no orchestration {id} here: type one of {}", list.join(", ")),
    }
}

fn go_on_with_own(
    asked: &StartRequest<'_>,
    wanted: &OrchestrationChoice,
    file: &LoopFile,
    state: &LoopState,
    now: Timestamp,
) -> Result<StartOutcome> {
    if start::answered(state, asked.prompt_id) {
        return answered(asked, Some(file));
    }
    if state.mode != Mode::Orchestration {
        return Ok(StartOutcome::Refused(format!(
            "a loop is live in this session at {}: end it with /ralph-cancel before you start an \
             orchestration",
            state.position()
        )));
    }
    let id = in_session::id(state);
    let is_other = match wanted {
        OrchestrationChoice::New(_) => true,
        OrchestrationChoice::Named(other) | OrchestrationChoice::Feedback(other) => {
            other.as_str() != id
        }
        OrchestrationChoice::Any => false,
    };
    if is_other {
        return Ok(StartOutcome::Refused(format!(
            "orchestration {id} is live here: type /ralph-v2 to continue it, or /ralph-cancel to \
             end it before you start another"
        )));
    }
    take_up(asked, file, state, now)
}

/// Continues an existing loop in this session, wherever it ran before.
fn take_up(
    asked: &StartRequest<'_>,
    file: &LoopFile,
    before: &LoopState,
    now: Timestamp,
) -> Result<StartOutcome> {
    let options = options_of(asked)?;
    let process = client::process();
    let updated = file.update(|state| {
        if state.ending.is_some() {
            return None;
        }
        mode::rules(&state.mode).resume(state, now);
        options.fill(state);
        if !options.criteria.is_empty() {
            pinned::freeze(state, now);
        }
        state.baseline_pending |= wants_baseline(state, options);
        if let Some(session) = state.orchestration_mut() {
            // A call dies with the client that made it.
            session.calls.retain(|call| call.client == process);
        }
        if state.session_id != asked.session_id && !state.session_id.is_empty() {
            let why = "another session continued it".to_owned();
            state.lineage.push(Former { session_id: state.session_id.clone(), until: now, why });
        }
        run(state, asked.session_id, asked.prompt_id, asked.via, now);
        Some(state.clone())
    })?;
    let Some(state) = updated.flatten() else {
        return Ok(StartOutcome::Refused("the orchestration's loop has just ended".to_owned()));
    };
    lifecycle::bind(asked.home, file, asked.session_id)?;
    if before.session_id != asked.session_id {
        lifecycle::release(asked.home, file, &before.session_id)?;
    }
    Ok(StartOutcome::Continues(state))
}

fn create(
    asked: &StartRequest<'_>,
    id: &OrchestrationId,
    task: &str,
    now: Timestamp,
) -> Result<StartOutcome> {
    let options = options_of(asked)?;
    settings::refuse_mistakes(&asked.project_root)?;
    let (settings, mut problems) = settings::read(asked.home, &asked.project_root);
    let earlier = if options.criteria.is_empty() { agreed_before(asked, id) } else { Vec::new() };
    let discovered = match (options.criteria.is_empty(), earlier.is_empty()) {
        (true, true) => commands::criteria(&DiskReader::new(&asked.project_root)),
        _ => earlier,
    };
    // The user did not ask for these commands, so a missing program does not refuse the task.
    problems.extend(cannot_start(&discovered, &asked.project_root));
    let facts = facts(&asked.project_root, discovered, asked.started_by.clone(), now)?;
    let mut state = start::new_loop(task, options, |state| settings.apply(state), facts);
    state.errors.extend(problems.into_iter().map(|message| LoopError { at: now, message }));
    state.document = folder(id).trim_end_matches('/').to_owned();
    state.mode = OrchestrationState { id: id.to_string(), ..OrchestrationState::default() }.into();
    state.baseline_pending = wants_baseline(&state, options);
    pinned::freeze(&mut state, now);
    run(&mut state, asked.session_id, asked.prompt_id, asked.via, now);
    let file = lifecycle::create(asked.home, &mut state)?;
    note_start(&file, asked);
    Ok(StartOutcome::Started(state, Vec::new()))
}

/// The criteria that the user agreed to when an earlier loop drove the orchestration. A loop that
/// continues it is measured by the same criteria.
fn agreed_before(asked: &StartRequest<'_>, id: &OrchestrationId) -> Vec<Criterion> {
    let root = asked.project_root.to_string_lossy();
    let is_it =
        |state: &LoopState| in_session::id(state) == id.as_str() && state.project_root == root;
    let ended = lifecycle::ended(asked.home).into_iter().filter_map(|(_, state)| state.ok());
    let last = ended.filter(is_it).last();
    let criteria = last.map(|state| state.acceptance_criteria).unwrap_or_default();
    let anew = |criterion: Criterion| Criterion { verified: false, receipt: None, ..criterion };
    criteria.into_iter().map(anew).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::modes::arguments;
    use ralph_core::state::{EndingKind, OrchestrationCall, Phase, Registration, StartedBy};
    use ralph_io::store::home::Home;
    use ralph_io::store::lifecycle::ManifestFate;
    use std::fs;

    struct World {
        folder: tempfile::TempDir,
        home: Home,
    }

    fn world() -> World {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("home"));
        fs::create_dir(folder.path().join("project")).unwrap();
        World { folder, home }
    }

    impl World {
        fn root(&self) -> std::path::PathBuf {
            self.folder.path().join("project").canonicalize().unwrap()
        }

        fn begin(&self, typed: &str, session_id: &str, prompt_id: &str) -> StartOutcome {
            let request = arguments::parse(typed).unwrap();
            crate::begin::begin(&StartRequest {
                mode: Mode::Orchestration,
                home: &self.home,
                request: &request,
                session_id,
                prompt_id,
                project_root: self.root(),
                started_by: StartedBy::Person,
                via: (!prompt_id.is_empty()).then_some(Registration::Settings),
            })
            .unwrap()
        }

        #[track_caller]
        fn refused(&self, typed: &str, session_id: &str, prompt_id: &str, words: &str) {
            match self.begin(typed, session_id, prompt_id) {
                StartOutcome::Refused(why) => assert!(why.contains(words), "{why}"),
                other => panic!("{typed}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_task_begins_a_folder_and_a_loop_that_points_to_it() {
        let world = world();
        let StartOutcome::Started(state, _) =
            world.begin("\"Build a door\" --max-iterations 9", "s", "p")
        else {
            panic!("not started")
        };
        let id = in_session::id(&state).to_owned();
        assert_eq!(state.mode, Mode::Orchestration);
        assert_eq!(state.document, format!(".ralph-sessions/{id}"));
        assert_eq!((state.phase, state.max_iterations), (Phase::Implementation, 9));
        assert!(world.root().join(&state.document).join("signals/inputs").is_dir());
        let sessions = OrchestrationStore::open(&world.root(), &world.home).unwrap();
        let seen = sessions.read(&OrchestrationId::parse(&id).unwrap()).unwrap().unwrap();
        assert_eq!(seen.request, "Build a door");
        assert!(matches!(world.begin("\"Build a door\"", "s", "p"), StartOutcome::Answered));
        assert_eq!(sessions.list().len(), 1, "a second copy of the hook begins nothing");
        world.refused("\"Build a house\"", "s", "p2", "is live here");
        world.refused("260131-120000", "s", "p2", "is live here");
        assert!(matches!(world.begin("", "s", "p2"), StartOutcome::Continues(_)));
        assert!(matches!(world.begin(&id, "s", "p3"), StartOutcome::Continues(_)));
    }

    #[test]
    fn a_name_of_another_form_or_of_no_session_begins_nothing() {
        let world = world();
        for name in ["260131-1200", "2026-01-31", "../260131-120000", "20260131-120000"] {
            world.refused(name, "s", "p", REFUSED);
        }
        world.refused("260131-120000", "s", "p", "no orchestration 260131-120000 here");
        world.refused("", "s", "p", "no orchestration here");
        assert!(!world.root().join(".ralph-sessions").exists());
    }

    #[test]
    fn where_none_is_named_the_only_open_one_is_meant_and_of_several_a_person_says_which() {
        let world = world();
        let sessions = OrchestrationStore::open(&world.root(), &world.home).unwrap();
        let named = |at: usize| OrchestrationId::parse(&format!("260131-12000{at}")).unwrap();
        for at in 0..3 {
            assert!(sessions.begin(&named(at), &format!("Build {at}")).unwrap());
        }
        let complete = |at: usize| {
            let folder = world.root().join(folder(&named(at)));
            fs::write(folder.join("metadata.yaml"), "status: completed\n").unwrap();
        };
        complete(1);
        let both = "there are 2 orchestrations; name one: /ralph-v2 260131-120000 or /ralph-v2 \
             260131-120002";
        world.refused("", "s", "p", both);
        complete(2);
        let StartOutcome::Started(state, _) = world.begin("", "s", "p") else {
            panic!("not started")
        };
        assert_eq!((in_session::id(&state), state.prompt.as_str()), ("260131-120000", "Build 0"));
    }

    #[test]
    fn a_session_whose_driver_lives_is_left_to_it_and_else_taken_up() {
        let world = world();
        let StartOutcome::Started(state, _) = world.begin("\"Build\"", "", "") else {
            panic!("not started")
        };
        assert!(state.session_id.is_empty() && state.is_running());
        let file = lifecycle::by_id(&world.home, &state.loop_id).unwrap();
        file.update(|state| state.client = Some(client::this_process())).unwrap();
        world.refused("", "s", "p", "already drives orchestration");
        file.update(|state| state.client = None).unwrap();
        let StartOutcome::Continues(taken) = world.begin("", "s", "p") else {
            panic!("not taken up")
        };
        assert_eq!((taken.loop_id, taken.session_id.as_str()), (state.loop_id, "s"));
        assert_eq!(lifecycle::of_session(&world.home, "s").unwrap(), Some(file));
    }

    #[test]
    fn another_loop_has_to_end_before_a_session_begins() {
        let world = world();
        let request = arguments::parse("task").unwrap();
        let asked = StartRequest {
            mode: Mode::Plain,
            home: &world.home,
            request: &request,
            session_id: "s",
            prompt_id: "p0",
            project_root: world.root(),
            started_by: StartedBy::Person,
            via: Some(Registration::Settings),
        };
        crate::begin::begin(&asked).unwrap();
        world.refused("\"Build\"", "s", "p", "a loop is live in this session");
    }

    #[test]
    fn a_loop_that_goes_on_with_a_session_is_measured_by_what_was_agreed_to() {
        let world = world();
        let StartOutcome::Started(state, _) =
            world.begin("\"Build\" --ac 'it is there=test -e door'", "s", "p")
        else {
            panic!("not started")
        };
        let id = in_session::id(&state).to_owned();
        let file = lifecycle::by_id(&world.home, &state.loop_id).unwrap();
        let ended = file.update(|state| {
            state.acceptance_criteria[0].verified = true;
            state.end(EndingKind::AwaitingFeedback, "task-1 failed", clock::now());
            state.clone()
        });
        let over = ended.unwrap().unwrap();
        lifecycle::put_away(&world.home, &file, &over, ManifestFate::Remove).unwrap();
        assert!(lifecycle::of_session(&world.home, "s").unwrap().is_none());
        let StartOutcome::Started(again, _) = world.begin(&id, "s", "p2") else {
            panic!("not started")
        };
        assert_eq!(again.acceptance_criteria[0].verification_command, "test -e door");
        assert!(!again.acceptance_criteria[0].verified);
        // A folder of the same name in another project is another orchestration.
        let elsewhere = tempfile::tempdir().unwrap();
        let request = arguments::parse(&id).unwrap();
        let other = StartRequest {
            mode: Mode::Orchestration,
            home: &world.home,
            request: &request,
            session_id: "t",
            prompt_id: "p",
            project_root: elsewhere.path().to_owned(),
            started_by: StartedBy::Person,
            via: None,
        };
        let id = OrchestrationId::parse(&id).unwrap();
        assert_eq!(agreed_before(&other, &id), []);
        assert_eq!(again.prompt, "Build");
    }

    #[test]
    fn who_takes_an_orchestration_up_keeps_what_was_agreed_to_and_the_calls_of_its_client() {
        let world = world();
        let StartOutcome::Started(begun, _) = world.begin("\"Build\"", "s", "p") else {
            panic!("not started")
        };
        let file = lifecycle::by_id(&world.home, &begun.loop_id).unwrap();
        let prepare = |baseline_pending: bool| {
            let call = |call: &str, client| OrchestrationCall {
                call: call.to_owned(),
                client,
                ..OrchestrationCall::default()
            };
            file.update(|state| {
                state.client = None;
                state.baseline_pending = baseline_pending;
                let other = Some(client::this_process())
                    .filter(|us| Some(us) != client::process().as_ref());
                state.orchestration_mut().unwrap().calls =
                    vec![call("own", client::process()), call("gone", other)];
            })
            .unwrap();
        };
        let taken = |typed: &str, session_id: &str, prompt_id: &str| match world
            .begin(typed, session_id, prompt_id)
        {
            StartOutcome::Continues(state) => state,
            other => panic!("{other:?}"),
        };
        let id = in_session::id(&begun).to_owned();
        let rows = [
            (false, id.clone(), false),
            (true, id.clone(), true),
            (false, format!("{id} --baseline"), false),
            (false, format!("{id} --ac 'it is there=test -e door'"), false),
            (false, format!("{id} --baseline"), true),
        ];
        for (at, (was, typed, expected)) in rows.into_iter().enumerate() {
            prepare(was);
            let state = taken(&typed, "s", &format!("p{at}"));
            assert_eq!(state.baseline_pending, expected, "{was} {typed}");
            let calls = &state.orchestration().unwrap().calls;
            assert_eq!(calls.iter().map(|one| one.call.as_str()).collect::<Vec<_>>(), ["own"]);
            assert_eq!(state.lineage, []);
        }
        prepare(false);
        let state = taken(&id, "t", "q");
        let [former] = state.lineage.as_slice() else { panic!("{:?}", state.lineage) };
        assert_eq!(
            (former.session_id.as_str(), former.why.as_str()),
            ("s", "another session continued it")
        );
        let bound = |session: &str| lifecycle::of_session(&world.home, session).unwrap();
        assert_eq!((bound("s"), bound("t")), (None, Some(file)));
    }
}
