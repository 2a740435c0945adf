//! Consensus planning in a session or driven by a program: who starts it, which tools run, how a
//! report counts, and what the user decided.
//!
//! The rules are in `ralph_core::modes::ralplan` and the guard. The code here gathers their input
//! under the state's lock, and then updates the project's planning document.

mod begin;
mod decide;
mod drive;
mod heard;
mod tool;

pub(crate) use decide::plan_the_loop;
pub use decide::{Decided, DecisionRequest, decide};
pub use drive::drive;

use super::ModeHooks;
use crate::active_loop::Bound;
use crate::begin::{StartOutcome, StartRequest};
use crate::hook_runner::{self, HookCall};
use crate::{signals, stop, unreadable};
use anyhow::Result;
use ralph_core::guard::{self, LoopActivity};
use ralph_core::modes::arguments::Options;
use ralph_core::modes::ralplan::{self, PlanSeen, Role};
use ralph_core::protocol::reply::Reply;
use ralph_core::state::{Criterion, LoopState};
use ralph_io::store::loop_file::LoopFile;
use ralph_io::{client, project::confined, store::plan_files};
use std::path::Path;

pub(super) struct RalplanHooks;

impl ModeHooks for RalplanHooks {
    /// Refuses the call whatever goes wrong: the user's consent must not depend on whether this
    /// process fails.
    fn before_a_tool(
        &self,
        call: &HookCall,
        bound: &Bound,
        activity: LoopActivity,
    ) -> Result<Reply> {
        if guard::only_looks(&call.input.tool_name) {
            return Ok(Reply::silent());
        }
        hook_runner::answer_on_a_mistake(refusal("an internal error"));
        Ok(tool::before_a_tool(call, bound, activity)
            .or_else(|error| unreadable::answer(call, error))
            .unwrap_or_else(|error| refusal(&format!("{error:#}"))))
    }

    fn is_granted(&self, call: &HookCall, state: &LoopState) -> Result<bool> {
        tool::is_granted(call, state)
    }

    fn after_a_tool(&self, call: &HookCall, bound: &Bound, _files: &[String]) -> Result<Reply> {
        let reply = match wants_to_hear(call) {
            true => heard::after_a_tool(call)?,
            false => Reply::silent(),
        };
        Ok(signals::prepend_signals(call, &bound.file, &bound.state, reply))
    }

    fn subagent_stopped(&self, call: &HookCall, bound: Bound) -> Result<Reply> {
        heard::reported(call, &bound)
    }

    fn stopped(&self, call: &HookCall, bound: Bound) -> Result<Reply> {
        match client::planning_agent() {
            // A driver started the session as an agent, so its end is that agent's report.
            Some(_) => heard::reported(call, &bound),
            None => Ok(stop::at_stop(call, bound, None)?.0),
        }
    }

    fn refused_options(&self, options: &Options) -> Option<&'static str> {
        let has_any = !options.criteria.is_empty() || options.baseline;
        has_any.then_some("a plan brings its own criteria: leave out --ac and --baseline")
    }

    fn begin(&self, asked: &StartRequest<'_>) -> Result<StartOutcome> {
        begin::begin(asked)
    }

    fn background_agent_ended(&self, call: &HookCall) -> Result<Reply> {
        heard::woken(call)
    }
}

fn refusal(why: &str) -> Reply {
    Reply::deny(&format!(
        "Ralph could not decide about this call ({why}), and until the user agrees to the plan \
         only reading tools run. Tell the user to run `ralph doctor`."
    ))
}

/// True for a call whose result matters to the planning.
fn wants_to_hear(call: &HookCall) -> bool {
    !call.input.from_subagent()
        && matches!(call.input.tool_name.as_str(), "Agent" | "Task" | "AskUserQuestion")
}

/// Who makes a call: an agent type that the client names for a subagent, or the one that the driver
/// set when it started this whole session as an agent.
struct Who {
    /// The agent's type; `None` for a conversation that only orchestrates.
    kind: Option<String>,
    /// The client's id of the agent, or of the session that acts as one.
    id: String,
}

impl Who {
    fn from_call(call: &HookCall) -> Who {
        let input = &call.input;
        match input.from_subagent() {
            true => Who { kind: Some(input.agent_type.clone()), id: input.agent_id.clone() },
            false => Who { kind: driven_as(&input.agent_type), id: input.session_id.clone() },
        }
    }

    fn role(&self) -> Option<Role> {
        self.kind.as_deref().and_then(Role::from_agent_type)
    }
}

/// The agent as which a driver started this session, unless the client names another type.
fn driven_as(named: &str) -> Option<String> {
    let kind = client::planning_agent()?;
    (named.is_empty() || Role::from_agent_type(named) == Role::from_agent_type(&kind))
        .then_some(kind)
}

/// The plan at a path, with everything that keeps it from the critic. `None` if there is no such
/// plan.
fn inspect_plan(root: &Path, path: &str) -> Option<PlanSeen> {
    let text = plan_files::plan_text(root, path)?;
    let exists = |name: &str| confined::is_there(root, name);
    let cannot_start = |criteria: &[Criterion]| crate::begin::cannot_start(criteria, root);
    Some(PlanSeen::inspect(path, &text, exists, cannot_start))
}

/// Digest of the present text of the plan; empty if there is none.
fn hash_now(state: &LoopState) -> String {
    let path = state.ralplan().map_or("", |plan| plan.plan_path.as_str());
    plan_files::plan_hash(Path::new(&state.project_root), path)
}

/// Changes a live planning run under its lock, and updates the document. Returns what the change
/// returned and the state after it, or `None` if the planning is no longer live.
fn change<T>(
    file: &LoopFile,
    change: impl FnOnce(&mut LoopState) -> T,
) -> Result<Option<(T, LoopState)>> {
    let changed = file.update(|state| {
        let is_live = state.is_live() && state.ralplan().is_some();
        is_live.then(|| (change(state), state.clone()))
    })?;
    let Some(changed) = changed.flatten() else { return Ok(None) };
    plan_files::show_change(&changed.1)?;
    Ok(Some(changed))
}

/// Adds the lines that the user has not seen to the answer.
pub(crate) fn tell_log(file: &LoopFile, state: &LoopState, reply: Reply) -> Result<Reply> {
    if state.ralplan().is_none_or(|plan| plan.untold.is_empty()) {
        return Ok(reply);
    }
    // Several agents may end at once, so this needs the lock.
    let lines = file.update(ralplan::to_tell)?;
    Ok(reply.tell_also(&lines.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook_runner::tests::TestLoop;
    use ralph_core::state::{Mode, PauseCause};
    use ralph_io::process::clock;

    #[test]
    fn only_a_live_planning_is_changed_and_its_document_follows() {
        let at = TestLoop::started(Mode::Ralplan, "log in");
        let add = || {
            change(&at.file, |state| {
                let plan = state.ralplan_mut().unwrap();
                plan.iteration += 1;
                plan.iteration
            })
            .unwrap()
        };
        assert_eq!(add().unwrap().0, 1);
        at.change(|state| state.pause(PauseCause::Person, "", clock::now()));
        let (iteration, state) = add().unwrap();
        assert_eq!((iteration, state.ralplan().unwrap().iteration), (2, 2));
        let shown = plan_files::found(&at.root()).unwrap().unwrap();
        assert!(shown.contains("\"iteration\": 2"), "{shown}");
        at.change(|state| state.phase = ralph_core::state::Phase::Planned);
        assert!(add().is_none());
        let plain = TestLoop::started(Mode::Plain, "task");
        assert!(change(&plain.file, |_| ()).unwrap().is_none());
    }

    #[test]
    fn a_planning_in_a_session_puts_its_commands_behind_the_wall_at_once() {
        let at = TestLoop::started(Mode::Ralplan, "log in");
        let flag = |at: &TestLoop| std::fs::read_to_string(at.home.walls().join("s")).ok();
        assert_eq!(flag(&at), Some(at.file.path().display().to_string()));
        assert_eq!(flag(&TestLoop::started(Mode::Plain, "task")), None);
    }

    #[test]
    fn lines_that_the_user_has_not_seen_are_told_once() {
        let at = TestLoop::started(Mode::Ralplan, "log in");
        at.change(|state| state.ralplan_mut().unwrap().untold = vec!["a line".to_owned()]);
        let (before, reply) = (at.state(), || Reply::silent().tell("told"));
        let told = tell_log(&at.file, &before, reply()).unwrap();
        let mut state = before.clone();
        assert_eq!(told, reply().tell_also(&ralplan::to_tell(&mut state)));
        assert_ne!(told, reply());
        assert_eq!(tell_log(&at.file, &at.state(), reply()).unwrap(), reply());
    }

    #[test]
    fn only_the_conversations_own_agents_and_questions_are_heard() {
        let at = TestLoop::started(Mode::Ralplan, "log in");
        let heard = |tool: &str, agent: &str| {
            let about = serde_json::json!({"tool_name": tool, "agent_id": agent});
            wants_to_hear(&at.call("PostToolUse", about))
        };
        for tool in ["Agent", "Task", "AskUserQuestion"] {
            assert_eq!((heard(tool, ""), heard(tool, "a")), (true, false), "{tool}");
        }
        assert!(!heard("Read", ""));
    }
}
