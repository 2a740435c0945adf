//! Before a tool runs in an orchestration.

use super::artefact::Who;
use super::artefact::{self, Written};
use super::look::{self, Writes, look};
use crate::active_loop::{self, Bound};
use crate::hook_runner::HookCall;
use crate::pre_tool_use::{self, Denial, GuardedCall};
use crate::workers;
use anyhow::{Result, bail};
use ralph_core::guard::{self, Caller, LoopActivity, OrchestrationGate, Situation};
use ralph_core::modes::orchestration::in_session::told;
use ralph_core::modes::orchestration::rules::{RuleRefusal, may_call};
use ralph_core::protocol::reply::Reply;
use ralph_core::state::{LoopState, OrchestrationCall};
use ralph_core::stop::RouterStep;
use ralph_io::{client, process::clock};

/// Decides whether a tool may run.
pub(super) fn before_a_tool(
    call: &HookCall,
    bound: &Bound,
    activity: LoopActivity,
) -> Result<Reply> {
    let who = recognised(call, bound)?;
    let asked = CallFacts::of(call, &bound.state, &who, activity)?;
    if let Some(denial) = asked.denial(None, "") {
        let denial = match guard::is_own_work(denial.rule) && who == Who::Main {
            true => asked.denial(None, &next(call, bound)?).unwrap_or(denial),
            false => denial,
        };
        return Ok(pre_tool_use::denied(call, bound, &denial));
    }
    if workers::starts_one(call) && who == Who::Main && bound.state.is_running() {
        // Only the copy that answers records the call; a second copy would count it twice.
        if bound.is_outranked(call.via) {
            return Ok(Reply::silent());
        }
        let Err(why) = granted(call, bound)? else {
            return Ok(Reply::allow("the next call of this orchestration"));
        };
        return match asked.denial(Some(why), "") {
            Some(denial) => Ok(pre_tool_use::denied(call, bound, &denial)),
            None => bail!("allowed a call that is not due"),
        };
    }
    if let Some(written) = &asked.written {
        keep_replaced(call, bound, written)?;
        // Otherwise the client would ask the user about each file that an agent writes.
        // Starting the orchestration was the user's consent to that.
        return Ok(Reply::allow("an agent of the orchestration writes its own file"));
    }
    Ok(Reply::silent())
}

/// Whether the user has already allowed this call by starting an orchestration, whose agents write
/// their own files.
pub(super) fn is_granted(call: &HookCall, state: &LoopState) -> Result<bool> {
    let who = Who::of(call, state);
    let asked = CallFacts::of(call, state, &who, LoopActivity::Running)?;
    Ok(asked.written.is_some() && asked.denial(None, "").is_none())
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
                && let Some(at) = artefact::place(call, session)
            {
                session.calls[at].agent.clone_from(&call.input.agent_id);
            }
        })?;
    }
    Ok(who)
}

/// What a call is judged by.
struct CallFacts<'a> {
    guarded: GuardedCall<'a>,
    activity: LoopActivity,
    who: &'a Who,
    written: Option<Written>,
}

impl<'a> CallFacts<'a> {
    fn of(
        call: &'a HookCall,
        state: &LoopState,
        who: &'a Who,
        activity: LoopActivity,
    ) -> Result<CallFacts<'a>> {
        let written = match call.input.tool_name.as_str() {
            "Bash" | "Monitor" | "PowerShell" => {
                let line = call.input.tool_input.command.as_deref().unwrap_or_default();
                artefact::marked(line, &call.home, state, who)?
            }
            tool if guard::is_edit(tool) => artefact::edited(call, &call.home, state, who)?,
            _ => None,
        };
        let sessions = artefact::folder(state).to_string_lossy().into_owned();
        let guarded = GuardedCall::gather(call, Some(sessions), &[]);
        Ok(CallFacts { guarded, activity, who, written })
    }

    /// Why the call may not run; `None` if it may. `not_next` tells why an agent is not due, and
    /// `next` which one is.
    fn denial(&self, not_next: Option<String>, next: &str) -> Option<Denial> {
        let gate = OrchestrationGate {
            writes_artefact: self.written.is_some(),
            not_its_own: self.written.as_ref().and_then(|written| written.judged.clone().err()),
            not_next,
            next: next.to_owned(),
        };
        let agent = self.who.kind().map_or(Caller::Main, Caller::Subagent);
        let situation = self.guarded.situation(self.activity, agent);
        self.guarded.denial(&Situation { session: Some(&gate), ..situation })
    }
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

/// The due call in words, for a conversation that tried to do an agent's work.
fn next(call: &HookCall, bound: &Bound) -> Result<String> {
    let now = clock::now();
    let looked = bound.file.update(|state| look(&call.home, state, now, Writes::ForCalls))?;
    Ok(looked.transpose()?.flatten().map_or_else(String::new, |looked| match looked.routed.due {
        RouterStep::Call => format!(
            "Next: {}. `ralph session next` prints its prompt, and reading is allowed",
            looked.routed.says
        ),
        due => nothing_now(due, &looked.routed.says),
    }))
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
