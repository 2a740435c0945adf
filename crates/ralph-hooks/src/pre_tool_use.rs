//! `ralph-pre-tool-use`: decides whether a tool may run.
//!
//! The rule is the guard's table in `ralph-core`. The hook runs before every tool, so nearly every
//! call reads only the state's summary. The whole state is read to grant an agent, to answer a
//! permission request, and for calls that a planning run or an orchestration does not let through
//! at once. A denial is recorded with all its inputs; an allowed call does not pay for that. What is
//! needed seldom is a function that is never inlined: otherwise each call would make room for a whole
//! state on its stack, and each page of that costs a page fault.

use crate::active_loop::{self, Bound, JournalLine};
use crate::hook_runner::HookCall;
use crate::{cancel, modes, permission_request, signals, step_details, workers};
use anyhow::Result;
use ralph_core::guard::{
    self, Caller, DenialRecord, LoopActivity, ProtectedPaths, Rule, Ruling, Situation,
};
use ralph_core::protocol::client_version::ClientFeature;
use ralph_core::protocol::event::HookEvent;
use ralph_core::protocol::loaded;
use ralph_core::protocol::reply::{GoOnForm, Reply};
use ralph_core::state::{LoopState, Phase};
use ralph_core::transcript::cutoff::{self, TypedRequest};
use ralph_core::views::messages;
use ralph_io::client::{self, plugins, transcript};
use ralph_io::store::{lock, places};
use std::path::Path;
use std::time::Duration;

/// Below the five seconds that the client allows this hook. After that the client lets the call
/// pass.
const TO_DECIDE: Duration = Duration::from_secs(4);

/// Answers PreToolUse, PermissionRequest and ConfigChange.
pub fn answer(call: &HookCall) -> Result<Reply> {
    match call.input.hook_event_name {
        HookEvent::PreToolUse => before_the_tool(call),
        HookEvent::PermissionRequest => permission_request::answer(call),
        HookEvent::ConfigChange => changed_settings(call),
        _ => Ok(Reply::silent()),
    }
}

/// Keeps the session at the settings of before if they held a loop: with the new ones no hook might speak again.
fn changed_settings(call: &HookCall) -> Result<Reply> {
    // To find the loop compares what holds it.
    Bound::find(call)?;
    let told = call.alarms.borrow().last().cloned();
    let Some(told) = told else { return Ok(Reply::silent()) };
    Ok(Reply::go_on(HookEvent::ConfigChange, GoOnForm::Block, &told))
}

fn before_the_tool(call: &HookCall) -> Result<Reply> {
    lock::wait_until(call.began + TO_DECIDE);
    let Some(bound) = Bound::find(call)? else { return Ok(Reply::silent()) };
    remember_prompt(call, &bound)?;
    let standing = match bound.state.phase {
        Phase::Ended => return cancel::cut_turn(call, &bound),
        Phase::Implementation | Phase::Verification if bound.state.baseline_pending => {
            LoopActivity::AwaitingBaseline
        }
        Phase::Implementation | Phase::Verification => LoopActivity::Running,
        Phase::Paused => LoopActivity::Paused,
        Phase::Planned | Phase::Other(_) => return Ok(Reply::silent()),
    };
    let waiting = match bound.is_outranked(call.via) {
        true => None,
        false => typed_meanwhile(call, &bound)?,
    };
    if waiting == Some(TypedRequest::Cancel) {
        match client::version().is_none_or(|version| version.has(ClientFeature::CutsTurn)) {
            true => return cancel::cut_for_the_command(call, &bound),
            false if bound.state.phase != Phase::Paused => {
                return cancel::pause_for_the_words(call, &bound);
            }
            false => {}
        }
    }
    if let Some(reply) = refused_agent(call, &bound) {
        return Ok(reply);
    }
    let reply = modes::hooks(&bound.state.mode.word()).before_a_tool(call, &bound, standing)?;
    let reply = step_details::prepend_details(call, &bound, reply);
    match waiting {
        Some(TypedRequest::Pause) => confirm_pause(&bound, reply),
        _ => Ok(reply),
    }
}

/// The refusal of an agent of Ralph's whose place a file of the project has taken.
#[inline(never)]
fn refused_agent(call: &HookCall, bound: &Bound) -> Option<Reply> {
    let kind = call.input.tool_input.subagent_type.as_deref()?;
    if !workers::starts_one(call) || !loaded::is_shipped(kind) {
        return None;
    }
    let why = plugins::foreign_agent(&call.root())?;
    if !bound.is_outranked(call.via) {
        bound.note(call, "denied", &format!("agents: {why}"), active_loop::tool(call));
    }
    Some(Reply::deny(&why).tell(messages::line(&why)))
}

/// How much older than the turn a typed request may be. A stop begins the next turn of the loop, and
/// the client may write the row of a line typed just before that stop after it. A row from before a
/// crash of the client is older.
const BEFORE_THE_TURN: Duration = Duration::from_secs(10);

/// The request that the user has typed during this turn and that needs an answer now: a command that
/// the client holds back, or a pause whose answer it holds back. Every other call pays only for a
/// search of the transcript's end. With prompts as `stream-json`, the rows lack the text (measured
/// with 2.1.328), so only the terminal's commands are found.
fn typed_meanwhile(call: &HookCall, bound: &Bound) -> Result<Option<TypedRequest>> {
    let turn = bound.state.turn.as_ref();
    let transcript = Path::new(&call.input.transcript_path);
    let mut waiting = Vec::new();
    let may_hold = |from: u64| transcript::may_hold_queue_rows(transcript, from);
    if turn.is_some_and(|turn| may_hold(turn.transcript_from)) {
        waiting = typed_requests(transcript, bound)?;
    }
    if waiting.contains(&TypedRequest::Cancel) {
        return Ok(Some(TypedRequest::Cancel));
    }
    let pauses = waiting.contains(&TypedRequest::Pause) || bound.state.phase == Phase::Paused;
    let untold =
        turn.is_some_and(|turn| turn.prompt_id == call.input.prompt_id && !turn.pause_told);
    Ok((pauses && untold && !call.input.from_subagent()).then_some(TypedRequest::Pause))
}

#[inline(never)]
fn typed_requests(transcript: &Path, bound: &Bound) -> Result<Vec<TypedRequest>> {
    let Some(state) = bound.file.read()?.map(|loaded| loaded.state) else {
        return Ok(Vec::new());
    };
    let of_turn = state.turn.as_ref().and_then(|turn| turn.at.checked_sub(BEFORE_THE_TURN).ok());
    let since = of_turn.max(state.started_at).unwrap_or(state.created_at);
    Ok(transcript::typed_requests(transcript, since, &state.scheduled))
}

/// Tells the user, once, that the pause waits for the end of the turn.
#[inline(never)]
fn confirm_pause(bound: &Bound, reply: Reply) -> Result<Reply> {
    bound.file.update(|state| {
        if let Some(turn) = &mut state.turn {
            turn.pause_told = true;
        }
    })?;
    Ok(reply.tell(messages::line("pausing when this turn ends; /ralph continues")))
}

/// The refusal of a call by the guard; `None` if it may run.
pub(crate) fn refusal(call: &HookCall, bound: &Bound, activity: LoopActivity) -> Option<Reply> {
    let agent = match call.input.from_subagent() {
        true => Caller::Subagent(&call.input.agent_type),
        false => Caller::Main,
    };
    let guarded = GuardedCall::gather(call, None, &[]);
    let mut denial = guarded.denial(&guarded.situation(activity, agent))?;
    if denial.rule == Rule::Question && is_user_there(call, &bound.state) {
        guard::ASK_IN_WORDS.clone_into(&mut denial.reason);
    }
    Some(denied(call, bound, &denial))
}

/// The answer to a call that may not run, which is noted.
pub(crate) fn denied(call: &HookCall, bound: &Bound, denial: &Denial) -> Reply {
    // Every copy denies, since the client takes the strictest answer; one of them writes the
    // journal.
    let mut reply = match denial.rule {
        Rule::Question => Reply::deny_briefly(&denial.reason),
        _ => Reply::deny(&denial.reason),
    };
    if bound.is_outranked(call.via) {
        return reply;
    }
    if denial.reason == guard::ASK_IN_WORDS {
        reply = reply.tell(messages::line(
            "a loop opens no dialog; type your answer when the model asks, or `ralph pause`",
        ));
    }
    let why = format!("{}: {}", denial.record.rule, denial.reason);
    let position = bound.state.position();
    let seen = active_loop::tool(call);
    let said = JournalLine { position: &position, decision: "denied", why: &why, seen };
    active_loop::keep(&bound.file, call, said, Some(&denial.record));
    match bound.state.phase.is_running() {
        // No other event follows a denied call.
        true => signals::prepend_signals(call, &bound.file, &bound.state, reply),
        false => reply,
    }
}

/// True if the user typed within this turn of the main conversation.
fn is_user_there(call: &HookCall, state: &LoopState) -> bool {
    state.turn.as_ref().is_some_and(|turn| turn.typed) && !call.input.from_subagent()
}

/// Remembers a prompt that the model schedules, since it will look as if the user had typed it.
fn remember_prompt(call: &HookCall, bound: &Bound) -> Result<()> {
    let Some(prompt) = call.input.tool_input.prompt.as_deref() else { return Ok(()) };
    if !cutoff::schedules(&call.input.tool_name) || bound.state.phase == Phase::Ended {
        return Ok(());
    }
    bound.file.update(|state| cutoff::remember(&mut state.scheduled, [prompt]))?;
    Ok(())
}

/// A tool call that may not run.
pub(crate) struct Denial {
    pub(crate) rule: Rule,
    pub(crate) reason: String,
    record: DenialRecord,
}

/// A tool call with the facts on disk by which the guard judges it.
pub(crate) struct GuardedCall<'a> {
    call: &'a HookCall,
    places: ProtectedPaths,
    resolved: Option<String>,
}

impl<'a> GuardedCall<'a> {
    /// `sessions` is the folder of orchestrations, and `shipped` the skills that a planning knows.
    pub(crate) fn gather(
        call: &'a HookCall,
        sessions: Option<String>,
        shipped: &[(&str, &str)],
    ) -> GuardedCall<'a> {
        let tool = &call.input.tool_name;
        let path = call.input.tool_input.path().filter(|_| guard::is_edit(tool));
        let resolved = path.and_then(places::resolve);
        let mut places = match (path, resolved.as_deref()) {
            (Some(path), Some(led)) if !path.contains("..") => {
                places::gather_for_edit(&call.home, &[path, led])
            }
            _ if guard::looks_at_places(tool) => places::gather(&call.home),
            _ => ProtectedPaths::default(),
        };
        places.sessions.extend(sessions);
        let guarded = GuardedCall { call, places: ProtectedPaths::default(), resolved };
        places::add_disk_facts(&mut places, &guarded.tool_call(), shipped);
        GuardedCall { places, ..guarded }
    }

    fn tool_call(&self) -> guard::ToolCall<'_> {
        guard::ToolCall {
            tool: &self.call.input.tool_name,
            input: &self.call.input.tool_input,
            cwd: &self.call.input.cwd,
            resolved: self.resolved.as_deref(),
            cut: self.call.cut,
        }
    }

    /// The situation of a call in a mode without a gate.
    pub(crate) fn situation<'s>(
        &'s self,
        standing: LoopActivity,
        agent: Caller<'s>,
    ) -> Situation<'s> {
        let session_id = &self.call.input.session_id;
        Situation {
            standing,
            agent,
            session_id,
            places: &self.places,
            ralplan: None,
            session: None,
        }
    }

    /// Why the call may not run; `None` if it may.
    pub(crate) fn denial(&self, situation: &Situation<'_>) -> Option<Denial> {
        let tool_call = self.tool_call();
        match guard::decide(situation, &tool_call) {
            Ruling::Allow => None,
            Ruling::Deny { rule, reason } => {
                let record = DenialRecord::new(situation, &tool_call, rule);
                Some(Denial { rule, reason, record })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::begin::{StartRequest, begin};
    use crate::hook_runner::tests::{TestLoop, call};
    use jiff::Timestamp;
    use ralph_core::modes::arguments;
    use ralph_core::state::{DrivenTurn, Mode, Registration, StartedBy};
    use ralph_io::store::home::Home;
    use ralph_io::store::lifecycle;
    use serde_json::{Value, json};

    /// Starts a loop of the session `s`.
    fn started(mode: Mode, folder: &Path) -> Home {
        let home = Home::at(folder.join("home"));
        let begun = begin(&StartRequest {
            mode,
            home: &home,
            request: &arguments::parse("task").unwrap(),
            session_id: "s",
            prompt_id: "p",
            project_root: folder.canonicalize().unwrap(),
            started_by: StartedBy::Person,
            via: Some(Registration::Settings),
        });
        begun.unwrap();
        home
    }

    #[test]
    fn an_executable_is_protected_under_each_of_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let home = started(Mode::Plain, folder.path());
        let here = std::env::current_exe().unwrap();
        let executable = here.with_file_name("ralph-stop-hook");
        let link = folder.path().join("notes.txt");
        std::os::unix::fs::symlink(&executable, &link).unwrap();
        let answered = |path: &Path| {
            let event = json!({"session_id": "s", "hook_event_name": "PreToolUse", "cwd": "/",
                "tool_name": "Write", "tool_input": {"file_path": path, "content": ""}});
            answer(&call(&home, event)).unwrap().render().unwrap_or_default()
        };
        for path in [&executable, &link, &here.with_file_name("RALPH")] {
            let said = answered(path);
            assert!(
                said.contains("an installed executable of Ralph"),
                "{}: {said}",
                path.display()
            );
        }
        std::fs::create_dir(folder.path().join("other")).unwrap();
        std::os::unix::fs::symlink("/", folder.path().join("away")).unwrap();
        for turn in ["other", "away", "none"] {
            // The client takes `..` away before it writes, and the kernel follows `away` first.
            let path = folder.path().join(turn).join("../notes.txt");
            let said = answered(&path);
            assert!(
                said.contains("an installed executable of Ralph"),
                "{}: {said}",
                path.display()
            );
        }
        for path in [here.with_file_name("x"), folder.path().join("ralph")] {
            assert_eq!(answered(&path), "", "{}", path.display());
        }
    }

    #[test]
    fn a_call_is_refused_when_the_time_to_decide_is_over() {
        let folder = tempfile::tempdir().unwrap();
        let home = started(Mode::Ralplan, folder.path());
        let file = lifecycle::of_session(&home, "s").unwrap().unwrap();
        let event = json!({"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Task",
                "tool_input": {"subagent_type": "ralplan-metis", "prompt": "x"}});
        let mut call = call(&home, event);
        let decided = |call: &HookCall| answer(call).unwrap().render().unwrap();
        let held = lock::take(file.path(), lock::DEADLINE).unwrap();
        call.began -= TO_DECIDE;
        let refused = decided(&call);
        assert!(refused.contains("another process has held"), "{refused}");
        assert!(call.began.elapsed() < TO_DECIDE + lock::DEADLINE);
        drop(held);
        let allowed = decided(&call);
        assert!(!allowed.contains("another process"), "{allowed}");
    }

    #[test]
    fn what_stands_decides_whether_a_call_runs_and_each_refusal_is_noted_once() {
        let at = TestLoop::started(Mode::Plain, "task");
        let edit = |via| {
            let input = json!({"file_path": at.root().join("a"), "content": "x"});
            let call = at.call("PreToolUse", json!({"tool_name": "Write", "tool_input": input}));
            answer(&HookCall { via, ..call }).unwrap()
        };
        assert_eq!(edit(Registration::Settings), Reply::silent());
        at.change(|state| state.baseline_pending = true);
        let why = "The person asked for a baseline: the criteria are run once before anything \
                   changes. Run `ralph verify` now; until it is done only reading tools and `ralph` \
                   itself are let through. It is no failure if criteria do not hold yet.";
        let refused = edit(Registration::Settings);
        assert_eq!(refused, Reply::deny(why));
        let noted = at.noted();
        assert_eq!(
            (noted.decision.as_str(), noted.seen["tool"].as_str()),
            ("denied", Some("Write"))
        );
        assert_eq!(noted.why, format!("baseline: {why}"));
        at.change(|state| state.phase = Phase::Verification);
        let lines = || at.journal().len();
        let before = lines();
        assert_eq!(edit(Registration::Plugin), refused);
        assert_eq!(lines(), before, "one copy writes the journal");
        for phase in [Phase::Paused, Phase::Planned] {
            at.change(|state| state.phase = phase);
            assert_eq!(edit(Registration::Settings), Reply::silent());
        }
    }

    #[test]
    fn a_prompt_that_the_model_schedules_is_remembered_while_the_loop_is_there() {
        let at = TestLoop::started(Mode::Plain, "task");
        let scheduled = |tool: &str, input: Value| {
            at.change(|state| state.scheduled.clear());
            let call = at.call("PreToolUse", json!({"tool_name": tool, "tool_input": input}));
            remember_prompt(&call, &at.bound()).unwrap();
            at.state().scheduled
        };
        let input = json!({"prompt": "/ralph-cancel"});
        assert_eq!(scheduled("CronCreate", input.clone()), ["/ralph-cancel"]);
        assert_eq!(scheduled("Agent", input.clone()), Vec::<String>::new());
        assert_eq!(scheduled("CronCreate", json!({})), Vec::<String>::new());
        at.change(|state| state.phase = Phase::Ended);
        assert_eq!(scheduled("CronCreate", input), Vec::<String>::new());
    }

    #[test]
    fn a_pause_is_confirmed_once_in_a_turn_and_to_the_conversation_alone() {
        let at = TestLoop::started(Mode::Plain, "task");
        let turn = |id: &str, pause_told| {
            Some(DrivenTurn { pause_told, ..DrivenTurn::new(id, Timestamp::UNIX_EPOCH) })
        };
        let typed = |phase: Phase, turn: Option<DrivenTurn>, agent: &str| {
            let mut bound = at.bound();
            (bound.state.phase, bound.state.turn) = (phase, turn);
            let call = at.call("PreToolUse", json!({"prompt_id": "p", "agent_id": agent}));
            typed_meanwhile(&call, &bound).unwrap()
        };
        let pause = Some(TypedRequest::Pause);
        assert_eq!(typed(Phase::Paused, turn("p", false), ""), pause);
        assert_eq!(typed(Phase::Paused, turn("p", true), ""), None);
        assert_eq!(typed(Phase::Paused, turn("q", false), ""), None);
        assert_eq!(typed(Phase::Paused, turn("p", false), "a"), None);
        assert_eq!(typed(Phase::Paused, None, ""), None);
        assert_eq!(typed(Phase::Implementation, turn("p", false), ""), None);
        let confirmed = confirm_pause(&at.bound(), Reply::deny("no")).unwrap();
        let line = messages::line("pausing when this turn ends; /ralph continues");
        assert_eq!(confirmed, Reply::deny("no").tell(line));
        assert!(at.state().turn.unwrap().pause_told);
    }

    #[test]
    fn the_user_is_there_in_the_turn_that_they_typed() {
        let at = TestLoop::started(Mode::Plain, "task");
        let is_there = |turn: Option<DrivenTurn>, agent: &str| {
            let call = at.call("PreToolUse", json!({"agent_id": agent}));
            is_user_there(&call, &LoopState { turn, ..LoopState::default() })
        };
        let at = Timestamp::UNIX_EPOCH;
        assert!(is_there(Some(DrivenTurn::typed("p", at)), ""));
        assert!(!is_there(Some(DrivenTurn::typed("p", at)), "a"));
        assert!(!is_there(Some(DrivenTurn::new("p", at)), ""));
        assert!(!is_there(None, ""));
    }
}
