//! Before a tool runs in an orchestration.

use super::artefact::{self, Written};
use super::look::{self, Writes, look};
use super::who::{self, Who};
use crate::active_loop::{self, Bound, JournalLine};
use crate::cancel;
use crate::hook_runner::HookCall;
use crate::{signals, workers};
use anyhow::{Result, bail};
use ralph_core::guard::{
    self, Caller, DenialRecord, LoopActivity, OrchestrationGate, ProtectedPaths, Rule, Ruling,
    Situation,
};
use ralph_core::modes::orchestration::in_session::told;
use ralph_core::modes::orchestration::rules::{RuleRefusal, may_call};
use ralph_core::protocol::reply::Reply;
use ralph_core::state::{LoopState, OrchestrationCall};
use ralph_core::stop::RouterStep;
use ralph_io::{client, process::clock, store::places};

/// Decides whether a tool may run.
pub(super) fn before_a_tool(call: &HookCall) -> Result<Reply> {
    let Some(bound) = Bound::find(call)? else { return Ok(Reply::silent()) };
    if !bound.state.is_live() {
        return match bound.state.ending {
            Some(_) => match Bound::find(call)? {
                Some(bound) => cancel::cut_turn(call, &bound),
                None => Ok(Reply::silent()),
            },
            None => Ok(Reply::silent()),
        };
    }
    let who = recognised(call, &bound)?;
    let mut asked = CallFacts::of(call, &bound.state, &who)?;
    match asked.ruling(call, &bound.state, &who, Ok(())) {
        Err(denied) => {
            let denied = match guard::is_own_work(denied.rule) && who == Who::Main {
                true => with_next(call, &bound, &mut asked, &who)?.unwrap_or(denied),
                false => denied,
            };
            Ok(refuse(call, &bound, &denied))
        }
        Ok(()) if workers::starts_one(call) && who == Who::Main && bound.state.is_running() => {
            // Only the copy that answers records the call; a second copy would count it twice.
            if bound.is_outranked(call.via) {
                return Ok(Reply::silent());
            }
            match granted(call, &bound)? {
                Ok(()) => Ok(Reply::allow("the next call of this orchestration")),
                Err(why) => match asked.ruling(call, &bound.state, &who, Err(&why)) {
                    Err(denied) => Ok(refuse(call, &bound, &denied)),
                    Ok(()) => bail!("allowed a call that is not due"),
                },
            }
        }
        Ok(()) => {
            if let Some(written) = &asked.written {
                keep_replaced(call, &bound, written)?;
                // Otherwise the client would ask the user about each file that an agent writes.
                // Starting the orchestration was the user's consent to that.
                return Ok(Reply::allow("an agent of the orchestration writes its own file"));
            }
            Ok(Reply::silent())
        }
    }
}

/// Whether the user has already allowed this call by starting an orchestration, whose agents write
/// their own files.
pub(super) fn is_granted(call: &HookCall, state: &LoopState) -> Result<bool> {
    let who = Who::of(call, state);
    let asked = CallFacts::of(call, state, &who)?;
    Ok(asked.written.is_some() && asked.ruling(call, state, &who, Ok(())).is_ok())
}

/// Who makes the call. Stores the id of an agent that is seen for the first time.
fn recognised(call: &HookCall, bound: &Bound) -> Result<Who> {
    let who = Who::of(call, &bound.state);
    let is_known = |state: &LoopState| {
        let calls = state.orchestration().map_or(&[][..], |session| &session.calls);
        calls.iter().any(|one| one.agent == call.input.agent_id)
    };
    if call.input.from_subagent() && matches!(who, Who::Agent(_)) && !is_known(&bound.state) {
        bound.file.update(|state| {
            if let Some(session) = state.orchestration_mut()
                && let Some(at) = who::place(call, session)
            {
                session.calls[at].agent.clone_from(&call.input.agent_id);
            }
        })?;
    }
    Ok(who)
}

/// What a call is judged by.
struct CallFacts {
    places: ProtectedPaths,
    resolved: Option<String>,
    written: Option<Written>,
    /// The agent to call next, as text.
    next: String,
}

struct Denied {
    rule: Rule,
    reason: String,
    record: DenialRecord,
}

impl CallFacts {
    fn of(call: &HookCall, state: &LoopState, who: &Who) -> Result<CallFacts> {
        let tool = call.input.tool_name.as_str();
        let mut asked = CallFacts {
            places: ProtectedPaths::default(),
            resolved: None,
            written: None,
            next: String::new(),
        };
        if !guard::looks_at_places(tool) {
            return Ok(asked);
        }
        asked.places = places::gather(&call.home);
        asked.places.sessions.push(artefact::folder(state).to_string_lossy().into_owned());
        asked.resolved = call.input.tool_input.path().and_then(places::resolve);
        asked.written = match tool {
            "Bash" | "Monitor" | "PowerShell" => {
                let line = call.input.tool_input.command.as_deref().unwrap_or_default();
                artefact::marked(line, &call.home, state, who)?
            }
            tool if guard::is_edit(tool) => artefact::edited(call, &call.home, state, who)?,
            _ => None,
        };
        let tool_call = guard::ToolCall {
            tool,
            input: &call.input.tool_input,
            cwd: &call.input.cwd,
            resolved: asked.resolved.as_deref(),
            cut: call.cut,
        };
        places::look(&mut asked.places, &tool_call, &[]);
        Ok(asked)
    }

    fn ruling(
        &self,
        call: &HookCall,
        state: &LoopState,
        who: &Who,
        next_call: Result<(), &str>,
    ) -> Result<(), Box<Denied>> {
        let not_its_own = self.written.as_ref().and_then(|written| written.judged.clone().err());
        let gate = OrchestrationGate {
            writes_artefact: self.written.is_some(),
            not_its_own,
            not_next: next_call.err().map(str::to_owned),
            next: self.next.clone(),
        };
        let standing = match (state.is_running(), state.baseline_pending) {
            (true, true) => LoopActivity::AwaitingBaseline,
            (true, false) => LoopActivity::Running,
            (false, _) => LoopActivity::Paused,
        };
        let situation = Situation {
            standing,
            agent: who.kind().map_or(Caller::Main, Caller::Subagent),
            session_id: &call.input.session_id,
            places: &self.places,
            ralplan: None,
            session: Some(&gate),
        };
        let tool_call = guard::ToolCall {
            tool: &call.input.tool_name,
            input: &call.input.tool_input,
            cwd: &call.input.cwd,
            resolved: self.resolved.as_deref(),
            cut: call.cut,
        };
        match guard::decide(&situation, &tool_call) {
            Ruling::Allow => Ok(()),
            Ruling::Deny { rule, reason } => {
                let record = DenialRecord::of(&situation, &tool_call, rule);
                Err(Box::new(Denied { rule, reason, record }))
            }
        }
    }
}

fn refuse(call: &HookCall, bound: &Bound, denied: &Denied) -> Reply {
    // Every copy denies, since the client takes the strictest answer; one of them writes the
    // journal.
    let reply = Reply::deny(&denied.reason);
    if bound.is_outranked(call.via) {
        return reply;
    }
    let why = format!("{}: {}", denied.record.rule, denied.reason);
    let position = bound.state.position();
    let seen = active_loop::tool(call);
    let said = JournalLine { position: &position, decision: "denied", why: &why, seen };
    active_loop::keep(&bound.file, call, said, Some(&denied.record));
    // No other event follows a denied call.
    signals::lead(call, &bound.file, &bound.state, reply)
}

/// Records the call as under way if it is due. The state's lock ensures that simultaneous calls
/// neither repeat one nor exceed the limit.
fn granted(call: &HookCall, bound: &Bound) -> Result<Result<(), String>> {
    let input = &call.input.tool_input;
    let (kind, prompt) = (
        input.subagent_type.as_deref().unwrap_or("general-purpose"),
        input.prompt.as_deref().unwrap_or_default(),
    );
    let (now, process) = (clock::now(), client::process());
    let granted = bound.file.update(|state| -> Result<Result<String, String>> {
        state.note_event(call.via);
        let calls = state.orchestration().map_or(&[][..], |session| &session.calls);
        if calls.iter().any(|one| one.call == call.input.tool_use_id) {
            return Ok(Ok("once more".to_owned()));
        }
        let Some(looked) = look(&call.home, state, now, Writes::ForCalls)? else {
            return Ok(Err("the orchestration's folder is gone; end your turn".to_owned()));
        };
        if looked.calls.is_empty() {
            return Ok(Err(nothing_now(looked.routed.due, &looked.routed.says)));
        }
        let at = match may_call(&looked.calls, kind, prompt) {
            Ok(at) => at,
            Err(RuleRefusal(why)) => {
                let others = looked.calls.len() > 1;
                let rest = if others { format!("\n{}", told(state)) } else { String::new() };
                return Ok(Err(format!("{why}{rest}")));
            }
        };
        let made = &looked.calls[at];
        let note = OrchestrationCall {
            call: call.input.tool_use_id.clone(),
            since: now,
            client: process.clone(),
            ..OrchestrationCall::given(&made.key, made.prompt())
        };
        look::made(&call.home, state, made, note, now)?;
        Ok(Ok(format!("{} {}", made.mode, made.key.task)))
    })?;
    let Some(granted) = granted.transpose()? else { return Ok(Err("the loop is gone".to_owned())) };
    Ok(match granted {
        Ok(what) => {
            bound.note(call, "called", what.trim(), active_loop::tool(call));
            Ok(())
        }
        Err(why) => Err(why),
    })
}

/// The same refusal with the due call named: the conversation tried to do an agent's work.
fn with_next(
    call: &HookCall,
    bound: &Bound,
    asked: &mut CallFacts,
    who: &Who,
) -> Result<Option<Box<Denied>>> {
    let now = clock::now();
    let looked = bound.file.update(|state| look(&call.home, state, now, Writes::ForCalls))?;
    let Some(looked) = looked.transpose()?.flatten() else { return Ok(None) };
    asked.next = match looked.routed.due {
        RouterStep::Call => format!(
            "Next: {}. `ralph session next` prints its prompt, and reading is allowed",
            looked.routed.says
        ),
        due => nothing_now(due, &looked.routed.says),
    };
    Ok(asked.ruling(call, &bound.state, who, Ok(())).err())
}

fn nothing_now(due: RouterStep, says: &str) -> String {
    match due {
        RouterStep::Wait => {
            format!("no call is due: {says}. End your turn; Ralph names the next step")
        }
        RouterStep::Paused => {
            format!("{says}. No call is due until the user continues: end your turn")
        }
        _ => format!("no more calls: {says}. End your turn"),
    }
}

/// Keeps a copy of a task's file before it is replaced.
fn keep_replaced(call: &HookCall, bound: &Bound, written: &Written) -> Result<()> {
    let Some(task) = &written.replaces else { return Ok(()) };
    if bound.is_outranked(call.via) {
        return Ok(());
    }
    let (sessions, id) = look::sessions(&call.home, &bound.state)?;
    let iteration = match Who::of(call, &bound.state) {
        Who::Agent(key) => key.iteration,
        _ => 1,
    };
    if let Some(kept) = sessions.keep_task(&id, iteration, task)? {
        bound.note(
            call,
            "kept",
            &format!("old version of {task}: {kept}"),
            active_loop::tool(call),
        );
    }
    Ok(())
}
