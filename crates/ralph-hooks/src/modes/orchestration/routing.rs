//! Asks the router what comes next, given the calls made so far.
//!
//! Every answer comes from here: a hook's, the guard's and that of `ralph session next`. Asking
//! does not consume the user's messages. The call that carries them does, through [`made`], or the
//! loop's end, through [`use_up`].

use anyhow::{Result, anyhow};
use jiff::Timestamp;
use ralph_core::modes::orchestration::id::OrchestrationId;
use ralph_core::modes::orchestration::in_session;
use ralph_core::modes::orchestration::invocation::{CallKey, Invocation};
use ralph_core::modes::orchestration::machine;
use ralph_core::modes::orchestration::recovery::CallEnd;
use ralph_core::modes::orchestration::snapshot::Snapshot;
use ralph_core::state::{LoopState, Mode, OrchestrationCall, OrchestrationState};
use ralph_core::stop::{Routed, RouterStep};
use ralph_io::store::home::Home;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::store::orchestration::OrchestrationStore;
use ralph_io::{process::clock, project, store::lifecycle};
use std::path::Path;

/// When to write the changes that precede the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writes {
    /// Always: the orchestration continues, pauses or ends here.
    Always,
    /// Only if calls follow. A pause or an end is left to the next stop.
    ForCalls,
}

/// The router's answer.
pub(super) struct RoutedCalls {
    /// The calls to make now, in full.
    pub calls: Vec<Invocation>,
    /// The same in short.
    pub routed: Routed,
}

/// The project's orchestrations, and the id of the one that the loop drives.
pub(super) fn sessions(
    home: &Home,
    state: &LoopState,
) -> Result<(OrchestrationStore, OrchestrationId)> {
    let name = in_session::id(state);
    let id = OrchestrationId::parse(name).map_err(|_| {
        anyhow!("`{name}`, which the loop drives, is not the id of an orchestration")
    })?;
    Ok((OrchestrationStore::open(Path::new(&state.project_root), home)?, id))
}

/// Asks the router and stores the due calls in the state. Returns `None` if the folder is
/// gone.
pub(super) fn route_calls(
    home: &Home,
    state: &mut LoopState,
    now: Timestamp,
    writes: Writes,
) -> Result<Option<RoutedCalls>> {
    let (sessions, id) = sessions(home, state)?;
    let Some(session) = state.orchestration_mut() else { return Ok(None) };
    let running = session.running();
    let changed = sessions.update(&id, |found| {
        let seen = Snapshot { running: Some(running.clone()), ..found.clone() };
        let mut step = machine::next(&seen, clock::local(now));
        if writes == Writes::ForCalls && step.act.calls().is_empty() {
            step.after = seen;
        }
        Ok((step.after.clone(), (step.routed(), step.act)))
    })?;
    let Some((routed, act)) = changed.map(|changed| changed.what) else { return Ok(None) };
    let calls = act.calls().to_vec();
    if routed.due == RouterStep::Call {
        session.given =
            calls.iter().map(|call| OrchestrationCall::given(&call.key, call.prompt())).collect();
    } else if writes == Writes::Always && routed.due != RouterStep::Paused {
        session.given.clear();
    }
    session.says.clone_from(&routed.says);
    Ok(Some(RoutedCalls { calls, routed }))
}

/// The snapshot with the calls under way, which the driving loop knows. Without a driving loop, the
/// processes that made calls are gone.
pub fn as_driven(home: &Home, root: &Path, found: &Snapshot) -> Snapshot {
    let running = match driving(home, root, &found.id) {
        Some((_, state)) if !state.session_id.is_empty() => {
            state.orchestration().map(OrchestrationState::running)
        }
        // A driving program records its calls in the orchestration's folder.
        Some(_) => found.running.clone(),
        None => found.running.as_ref().map(|_| Vec::new()),
    };
    Snapshot { running, ..found.clone() }
}

/// The live loop that drives an orchestration of the project.
pub fn driving(home: &Home, root: &Path, id: &OrchestrationId) -> Option<(LoopFile, LoopState)> {
    let identity = project::identity(root);
    let is_it = |state: &LoopState| {
        let drives = state.mode == Mode::Orchestration && in_session::id(state) == id.as_str();
        drives && state.is_live() && project::identity(Path::new(&state.project_root)) == identity
    };
    let all = lifecycle::all(home).into_iter();
    all.filter_map(|(file, state)| Some((file, state.ok()?))).find(|(_, state)| is_it(state))
}

/// Records a call as made: it is now under way and carries the user's messages.
pub(super) fn made(
    home: &Home,
    state: &mut LoopState,
    call: &Invocation,
    note: OrchestrationCall,
    now: Timestamp,
) -> Result<()> {
    let (sessions, id) = sessions(home, state)?;
    let Some(session) = state.orchestration_mut() else { return Ok(()) };
    let running = session.running();
    sessions.update(&id, |found| {
        let seen = Snapshot { running: Some(running.clone()), ..found.clone() };
        let step = machine::next(&seen, clock::local(now));
        Ok((step.made(std::slice::from_ref(call), now), ()))
    })?;
    session.given.retain(|given| !given.is(&call.key));
    session.calls.push(note);
    Ok(())
}

/// Removes signals that have taken effect.
///
/// # Errors
/// When they cannot be moved.
pub fn use_up(sessions: &OrchestrationStore, id: &OrchestrationId, heard: &[String]) -> Result<()> {
    if !heard.is_empty() {
        sessions.update(id, |found| Ok((found.without_signals(heard), ())))?;
    }
    Ok(())
}

/// Records that calls have ended. A call has failed unless its result exists.
pub(super) fn ended(
    home: &Home,
    state: &mut LoopState,
    which: impl Fn(&OrchestrationCall) -> bool,
    now: Timestamp,
) -> Result<Vec<(CallKey, CallEnd)>> {
    let (sessions, id) = sessions(home, state)?;
    let Some(session) = state.orchestration_mut() else { return Ok(Vec::new()) };
    let over: Vec<OrchestrationCall> = session.calls.extract_if(.., |call| which(call)).collect();
    if over.is_empty() {
        return Ok(Vec::new());
    }
    let running = session.running();
    let changed = sessions.update(&id, |found| {
        let mut after = Snapshot { running: Some(running.clone()), ..found.clone() };
        let keys = over.iter().filter_map(|call| Some((call.key()?, call)));
        let ends = keys.map(|(key, call)| {
            let how = after.close(&Invocation::again(key.clone(), &call.prompt), now);
            (key, how)
        });
        let ends = ends.collect();
        Ok((after, ends))
    })?;
    Ok(changed.map(|changed| changed.what).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Orchestrated;
    use super::*;
    use ralph_core::modes::orchestration::agents::Mode as CallMode;
    use ralph_core::modes::orchestration::invocation::Running;
    use ralph_core::modes::orchestration::signal::SignalKeyword;
    use ralph_core::modes::orchestration::state::State;
    use ralph_core::state::{ModeState, PauseCause, Phase};

    fn looked(of: &Orchestrated, state: &mut LoopState, writes: Writes) -> Option<RoutedCalls> {
        route_calls(&of.at.home, state, clock::now(), writes).unwrap()
    }

    /// A state that keeps a call that was given before.
    fn with_one_given(of: &Orchestrated) -> LoopState {
        let mut state = of.at.state();
        state.orchestration_mut().unwrap().given = vec![OrchestrationCall::default()];
        state
    }

    /// What is due, how many calls are given then, and whether a file was written.
    fn effect(of: &Orchestrated, writes: Writes) -> (RouterStep, usize, bool) {
        let (mut state, before) = (with_one_given(of), of.seen());
        let routed = looked(of, &mut state, writes).unwrap().routed;
        let session = state.orchestration().unwrap();
        assert_eq!(session.says, routed.says);
        (routed.due, session.given.len(), of.seen().files != before.files)
    }

    #[test]
    fn an_end_is_written_at_a_stop_alone_and_a_call_wherever_it_is_due() {
        use Writes::{Always, ForCalls};
        let calls = Orchestrated::planned(&["task-1", "task-2"]);
        assert_eq!(effect(&calls, ForCalls), (RouterStep::Call, 2, true));
        assert_eq!(effect(&calls, Always), (RouterStep::Call, 2, false), "it was written before");
        let ends = Orchestrated::finished();
        assert_eq!(effect(&ends, ForCalls), (RouterStep::Complete, 1, false));
        assert_eq!(effect(&ends, Always), (RouterStep::Complete, 0, true));
        assert_eq!(ends.seen().record.metadata.unwrap().state, Some(State::Complete));
        let paused = Orchestrated::planned(&["task-1"]);
        paused.signal(SignalKeyword::Pause);
        assert_eq!(effect(&paused, Always), (RouterStep::Paused, 1, false));
        let waits = Orchestrated::begun();
        waits.make_due_calls();
        assert_eq!(effect(&waits, ForCalls), (RouterStep::Wait, 1, false));
        assert_eq!(effect(&waits, Always), (RouterStep::Wait, 0, false));
    }

    #[test]
    fn a_call_is_given_with_its_prompt_and_no_folder_gives_none() {
        let of = Orchestrated::begun();
        let mut state = of.at.state();
        let calls = looked(&of, &mut state, Writes::ForCalls).unwrap().calls;
        let prompt = format!(
            "SESSION_PATH: .ralph-sessions/{}/\nMODE: INITIALIZE\nUSER_REQUEST: Build a door\nITERATION: 1",
            of.id
        );
        assert_eq!(calls.iter().map(Invocation::prompt).collect::<Vec<_>>(), [prompt.as_str()]);
        let session = state.orchestration().unwrap();
        assert_eq!(session.given, [OrchestrationCall::given(&calls[0].key, prompt)]);
        std::fs::remove_dir_all(of.path("")).unwrap();
        assert!(looked(&of, &mut state, Writes::Always).is_none());
        state.orchestration_mut().unwrap().id = "x".to_owned();
        let refused =
            route_calls(&of.at.home, &mut state, clock::now(), Writes::Always).err().unwrap();
        let why = "`x`, which the loop drives, is not the id of an orchestration";
        assert_eq!(refused.to_string(), why);
    }

    #[test]
    fn the_calls_under_way_are_those_that_the_driving_loop_knows() {
        let of = Orchestrated::begun();
        of.make_due_calls();
        let running = |noted: Option<Vec<Running>>| {
            let found = Snapshot { running: noted, ..of.seen() };
            let driven = as_driven(&of.at.home, &of.at.root(), &found);
            assert_eq!(
                Snapshot { running: None, ..driven.clone() },
                Snapshot { running: None, ..found }
            );
            driven.running
        };
        let own = of.session().running();
        assert_eq!(own.len(), 1);
        let other = Running {
            key: CallKey { mode: CallMode::Execute, task: "x".into(), iteration: 1, cycle: 0 },
            since: clock::now(),
        };
        let noted = || Some(vec![other.clone()]);
        assert_eq!([running(None), running(noted())], [Some(own.clone()), Some(own)]);
        of.at.change(|state| state.session_id.clear());
        assert_eq!([running(None), running(noted())], [None, noted()]);
        of.at.change(|state| state.phase = Phase::Ended);
        assert_eq!([running(None), running(noted())], [None, Some(vec![])]);
    }

    #[test]
    fn an_orchestration_is_driven_by_a_live_loop_of_its_project_and_name() {
        let of = Orchestrated::begun();
        let elsewhere = tempfile::tempdir().unwrap();
        let driven = |root: &Path, id: &str| {
            let id = OrchestrationId::parse(id).unwrap();
            let driving = driving(&of.at.home, root, &id);
            driving
                .map(|(file, state)| assert_eq!((file, state), (of.at.file.clone(), of.at.state())))
        };
        let (root, id) = (of.at.root(), of.id.as_str());
        assert_eq!(driven(&root, id), Some(()));
        assert_eq!(driven(elsewhere.path(), id), None);
        assert_eq!(driven(&root, "200131-120000"), None);
        let mode = of.at.state().mode;
        of.at.change(|state| state.mode = ModeState::Plain);
        assert_eq!(driven(&root, id), None);
        of.at.change(|state| {
            state.mode = mode;
            state.pause(PauseCause::Person, "", clock::now());
        });
        assert_eq!(driven(&root, id), Some(()));
        of.at.change(|state| state.phase = Phase::Ended);
        assert_eq!(driven(&root, id), None);
    }

    #[test]
    fn a_call_that_was_made_is_under_way_until_it_ends_and_its_files_tell_how() {
        let of = Orchestrated::begun();
        of.make_due_calls();
        let session = of.session();
        assert_eq!((session.given.len(), session.calls.len()), (0, 1));
        assert_eq!(of.seen().running, Some(session.running()));
        let ends = |is_it: bool| {
            let mut state = of.at.state();
            let ends = ended(&of.at.home, &mut state, |_| is_it, clock::now()).unwrap();
            of.at.change(|kept| *kept = state);
            ends.into_iter().map(|(key, how)| (key.mode, how)).collect::<Vec<_>>()
        };
        assert_eq!(ends(false), []);
        assert_eq!(of.session().calls.len(), 1);
        assert_eq!(ends(true), [(CallMode::Initialize, CallEnd::Failed)]);
        assert_eq!((of.session().calls.len(), of.seen().running), (0, Some(vec![])));
        assert_eq!(ends(true), []);
        let made = Orchestrated::planned(&["task-1"]);
        made.make_due_calls();
        made.edit("progress.md", "[ ] task-1", "[P] task-1");
        let mut state = made.at.state();
        let ends = ended(&made.at.home, &mut state, |_| true, clock::now()).unwrap();
        let ends: Vec<_> = ends.into_iter().map(|(key, how)| (key.task, how)).collect();
        assert_eq!(ends, [("task-1".to_owned(), CallEnd::Met)]);
        let mut plain = LoopState { project_root: made.at.state().project_root, ..state };
        plain.orchestration_mut().unwrap().calls.clear();
        assert_eq!(ended(&made.at.home, &mut plain, |_| true, clock::now()).unwrap(), []);
    }

    #[test]
    fn only_signals_that_took_effect_are_removed() {
        let of = Orchestrated::begun();
        of.signal(SignalKeyword::Info);
        of.signal(SignalKeyword::Pause);
        let names = || of.seen().signals.into_iter().map(|one| one.name).collect::<Vec<_>>();
        let [info, pause] = names().try_into().unwrap();
        use_up(&of.sessions, &of.id, &[]).unwrap();
        assert_eq!(names().len(), 2);
        use_up(&of.sessions, &of.id, std::slice::from_ref(&pause)).unwrap();
        assert_eq!(names(), [info]);
    }
}
