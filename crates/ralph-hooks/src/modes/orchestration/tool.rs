//! Before a tool runs in an orchestration.

use super::artefact::{self, Written, writer};
use super::routing::{self, Writes, route_calls};
use crate::active_loop::{self, Bound};
use crate::hook_runner::HookCall;
use crate::pre_tool_use::{self, Denial, GuardedCall};
use crate::workers;
use anyhow::{Result, bail};
use ralph_core::guard::{self, Caller, LoopActivity, OrchestrationGate, Situation};
use ralph_core::modes::orchestration::in_session::next_step_text;
use ralph_core::modes::orchestration::rules::{Writer, may_call};
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
    let asked = CallFacts::gather(call, &bound.state, &who, activity)?;
    if let Some(denial) = asked.denial(None, "") {
        let denial = match guard::is_own_work(denial.rule) && who == Writer::Main {
            true => asked.denial(None, &next(call, bound)?).unwrap_or(denial),
            false => denial,
        };
        return Ok(pre_tool_use::denied(call, bound, &denial));
    }
    if workers::starts_one(call) && who == Writer::Main && bound.state.is_running() {
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
    let who = writer(call, state);
    let asked = CallFacts::gather(call, state, &who, LoopActivity::Running)?;
    Ok(asked.written.is_some() && asked.denial(None, "").is_none())
}

/// Who makes the call. Stores the id of an agent that is seen for the first time.
fn recognised(call: &HookCall, bound: &Bound) -> Result<Writer> {
    let who = writer(call, &bound.state);
    let is_known = |state: &LoopState| {
        let calls = state.orchestration().map_or(&[][..], |session| &session.calls);
        calls.iter().any(|one| one.agent == call.input.agent_id)
    };
    if call.input.from_subagent() && matches!(who, Writer::Agent(_)) && !is_known(&bound.state) {
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
    who: &'a Writer,
    written: Option<Written>,
}

impl<'a> CallFacts<'a> {
    fn gather(
        call: &'a HookCall,
        state: &LoopState,
        who: &'a Writer,
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
        let agent = self.who.agent_type().map_or(Caller::Main, Caller::Subagent);
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
        let Some(looked) = route_calls(&call.home, state, now, Writes::ForCalls)? else {
            return Ok(Err("the orchestration's folder is gone; end your turn".to_owned()));
        };
        if looked.calls.is_empty() {
            return Ok(Err(nothing_now(looked.routed.due, &looked.routed.says)));
        }
        let made = match may_call(&looked.calls, kind, prompt) {
            Ok(made) => made,
            Err(why) if looked.calls.len() > 1 => {
                return Ok(Err(format!("{why}\n{}", next_step_text(state))));
            }
            Err(why) => return Ok(Err(why)),
        };
        let note = OrchestrationCall {
            call: call.input.tool_use_id.clone(),
            since: now,
            client: process.clone(),
            ..OrchestrationCall::given(&made.key, made.prompt())
        };
        routing::made(&call.home, state, made, note, now)?;
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
    let looked =
        bound.file.update(|state| route_calls(&call.home, state, now, Writes::ForCalls))?;
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
    let (sessions, id) = routing::sessions(&call.home, &bound.state)?;
    let iteration = match writer(call, &bound.state) {
        Writer::Agent(key) => key.iteration,
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

#[cfg(test)]
mod tests {
    use super::super::fixture::Orchestrated;
    use super::*;
    use crate::permission_request;
    use ralph_core::modes::orchestration::signal::SignalKeyword;
    use ralph_core::state::{PauseCause, Registration};
    use serde_json::{Value, json};

    fn agent_call(of: &Orchestrated, id: &str, kind: &str, prompt: &str) -> HookCall {
        let input = json!({"subagent_type": kind, "prompt": prompt});
        let about = json!({"tool_name": "Agent", "tool_use_id": id, "tool_input": input});
        of.at.call("PreToolUse", about)
    }

    fn grant(of: &Orchestrated, id: &str, kind: &str, prompt: &str) -> Result<(), String> {
        granted(&agent_call(of, id, kind, prompt), &of.at.bound()).unwrap()
    }

    /// The prompts that are due.
    fn due(of: &Orchestrated) -> Vec<String> {
        let mut state = of.at.state();
        let looked = route_calls(&of.at.home, &mut state, clock::now(), Writes::ForCalls);
        looked.unwrap().unwrap().calls.iter().map(|call| call.prompt()).collect()
    }

    #[test]
    fn a_call_that_is_due_is_recorded_once_and_any_other_is_answered_with_those_that_are() {
        let of = Orchestrated::planned(&["task-1", "task-2"]);
        let executor = "Ralph-v2-Executor";
        let [one, two] = due(&of).try_into().unwrap();
        let not_next = |prompt: &str| {
            format!(
                "this is not the next call; call `Ralph-v2-Executor` with this prompt, word for \
                 word:\n{prompt}"
            )
        };
        let refused = grant(&of, "1", executor, "do it").unwrap_err();
        assert_eq!(refused, format!("{}\n{}", not_next(&one), next_step_text(&of.at.state())));
        assert_eq!(of.session().calls, []);
        assert_eq!(grant(&of, "1", executor, &one), Ok(()));
        let noted = of.at.noted();
        assert_eq!((noted.decision.as_str(), noted.why.as_str()), ("called", "EXECUTE task-1"));
        let made = of.session().calls.remove(0);
        assert_eq!((made.call.as_str(), made.agent.as_str()), ("1", ""));
        assert_eq!((made.task.as_str(), made.client), ("task-1", client::process()));
        assert!(made.since > jiff::Timestamp::UNIX_EPOCH);
        assert_eq!(grant(&of, "1", executor, "do it"), Ok(()), "another copy asks again");
        assert_eq!((of.session().calls.len(), of.session().given.len()), (1, 1));
        assert_eq!(grant(&of, "2", executor, &one), Err(not_next(&two)), "only one is due");
        assert_eq!(grant(&of, "2", executor, &two), Ok(()));
        let waits =
            "no call is due: wait for a running call. End your turn; Ralph names the next step";
        assert_eq!(grant(&of, "3", executor, &two), Err(waits.to_owned()));
        std::fs::remove_dir_all(of.path("")).unwrap();
        let gone = "the orchestration's folder is gone; end your turn";
        assert_eq!(grant(&of, "3", executor, &two), Err(gone.to_owned()));
    }

    #[test]
    fn where_no_call_is_due_it_is_told_what_is() {
        let ended = Orchestrated::finished();
        let over = "no more calls: nothing: all tasks are done. End your turn";
        assert_eq!(grant(&ended, "1", "Ralph-v2-Planner", ""), Err(over.to_owned()));
        let paused = Orchestrated::begun();
        paused.signal(SignalKeyword::Pause);
        let why = "paused by PAUSE: listen. No call is due until the user continues: end your turn";
        assert_eq!(grant(&paused, "1", "Ralph-v2-Planner", ""), Err(why.to_owned()));
        let said =
            |of: &Orchestrated| next(&of.at.call("PreToolUse", json!({})), &of.at.bound()).unwrap();
        assert_eq!([said(&ended), said(&paused)], [over, why]);
        assert_eq!(
            said(&Orchestrated::begun()),
            "Next: call `Ralph-v2-Planner` (INITIALIZE). `ralph session next` prints its prompt, and \
             reading is allowed"
        );
        std::fs::remove_dir_all(paused.path("")).unwrap();
        assert_eq!(said(&paused), "");
    }

    #[test]
    fn an_agent_that_is_seen_for_the_first_time_is_remembered_with_its_call() {
        let of = Orchestrated::planned(&["task-1"]);
        of.make_due_calls();
        let seen = |id: &str, kind: &str| {
            let about = json!({"tool_name": "Read", "agent_id": id, "agent_type": kind});
            recognised(&of.at.call("PreToolUse", about), &of.at.bound()).unwrap()
        };
        let agents = || of.session().calls.into_iter().map(|one| one.agent).collect::<Vec<_>>();
        assert_eq!((seen("", ""), agents()), (Writer::Main, vec![String::new()]));
        let stranger = Writer::Stranger("Explore".to_owned());
        assert_eq!((seen("b", "Explore"), agents()), (stranger, vec![String::new()]));
        let executor = seen("a", "Ralph-v2-Executor");
        assert_eq!(executor.agent_type(), Some("Ralph-v2-Executor"));
        assert_eq!(agents(), ["a"]);
        let text = std::fs::read(of.at.file.path()).unwrap();
        assert_eq!(seen("a", "Ralph-v2-Executor"), executor);
        assert_eq!(std::fs::read(of.at.file.path()).unwrap(), text);
    }

    /// What is answered to a file that the executor `a` of `task-1` writes, or the conversation.
    fn writes(of: &Orchestrated, agent: &str, name: &str) -> HookCall {
        let input = json!({"file_path": of.path(name), "content": ""});
        let about = json!({"tool_name": "Write", "tool_input": input, "agent_id": agent,
            "agent_type": if agent.is_empty() { "" } else { "Ralph-v2-Executor" }});
        of.at.call("PreToolUse", about)
    }

    #[test]
    fn an_agents_own_file_is_allowed_and_what_is_not_its_own_is_refused() {
        let of = Orchestrated::planned(&["task-1"]);
        of.make_due_calls();
        let answer =
            |call: &HookCall| before_a_tool(call, &of.at.bound(), LoopActivity::Running).unwrap();
        let granted = |call: &HookCall| {
            let asked = permission_request::answer(call).unwrap();
            assert!([Reply::permit(), Reply::silent()].contains(&asked), "{asked:?}");
            asked == Reply::permit()
        };
        let report = writes(&of, "a", "reports/task-1-report.md");
        let allowed = Reply::allow("an agent of the orchestration writes its own file");
        assert_eq!((answer(&report), granted(&report)), (allowed, true));
        let plan = writes(&of, "a", "plan.md");
        let denied = |reply: Reply| {
            let said: Value = serde_json::from_str(&reply.render().unwrap()).unwrap();
            let output = &said["hookSpecificOutput"];
            assert_eq!(output["permissionDecision"], "deny", "{said}");
            output["permissionDecisionReason"].as_str().unwrap().to_owned()
        };
        let why = "`plan.md` is written by Ralph-v2-Planner, not by Ralph-v2-Executor";
        assert!(denied(answer(&plan)).contains(why));
        assert!(!granted(&plan));
        let main = writes(&of, "", "plan.md");
        let why = "the orchestrating conversation must not write the orchestration's files; call the \
                   agent that `ralph session next` names";
        assert_eq!((denied(answer(&main)).as_str(), granted(&main)), (why, false));
        let input = json!({"file_path": of.at.root().join("door.rs"), "content": ""});
        let work = of.at.call("PreToolUse", json!({"tool_name": "Write", "tool_input": input}));
        let (why, next) = (denied(answer(&work)), next(&work, &of.at.bound()).unwrap());
        assert!(why.contains(&next) && !next.is_empty() && !granted(&work), "{why}");
        let read = of.at.call("PreToolUse", json!({"tool_name": "Read"}));
        assert_eq!((answer(&read), granted(&read)), (Reply::silent(), false));
    }

    #[test]
    fn only_the_conversations_next_call_runs_while_the_loop_does() {
        let of = Orchestrated::begun();
        let [prompt] = due(&of).try_into().unwrap();
        let answer =
            |call: HookCall| before_a_tool(&call, &of.at.bound(), LoopActivity::Running).unwrap();
        let call = |id: &str, prompt: &str| agent_call(&of, id, "Ralph-v2-Planner", prompt);
        let outranked = HookCall { via: Registration::Plugin, ..call("1", &prompt) };
        assert_eq!((answer(outranked), of.session().calls.len()), (Reply::silent(), 0));
        let refused = answer(call("1", "x"));
        let why = format!(
            "this is not the next call; call `Ralph-v2-Planner` with this prompt, word for word:\n{prompt}"
        );
        assert!(refused.render().unwrap().contains(json!(why).to_string().trim_matches('"')));
        assert_eq!(of.at.noted().decision, "denied");
        let allowed = Reply::allow("the next call of this orchestration");
        assert_eq!(answer(call("1", &prompt)), allowed);
        of.at.change(|state| state.pause(PauseCause::Person, "", clock::now()));
        let paused = before_a_tool(&call("2", "x"), &of.at.bound(), LoopActivity::Paused).unwrap();
        assert_eq!(paused, Reply::silent());
    }

    #[test]
    fn the_old_text_of_a_task_is_kept_before_it_is_replaced() {
        let of = Orchestrated::planned(&["task-1"]);
        of.at.change(|state| {
            let call = OrchestrationCall {
                mode: "REBREAKDOWN".to_owned(),
                agent: "a".to_owned(),
                iteration: 2,
                ..OrchestrationCall::default()
            };
            state.orchestration_mut().unwrap().calls = vec![call];
        });
        let keep = |task: Option<&str>, via| {
            let call = HookCall { via, ..of.at.call("PreToolUse", json!({"agent_id": "a"})) };
            let replaces = task.map(str::to_owned);
            keep_replaced(&call, &of.at.bound(), &Written { judged: Ok(()), replaces }).unwrap();
            of.at.journal().pop().map(|line| line.why)
        };
        let (first, second) = (Registration::Settings, Registration::Plugin);
        assert_eq!(keep(None, first), None);
        assert_eq!(keep(Some("task-1"), second), None);
        assert_eq!(keep(Some("task-2"), first), None, "it is not there");
        let kept = format!(".ralph-sessions/{}/iterations/2/replanning/replaced/task-1.md", of.id);
        assert_eq!(keep(Some("task-1"), first), Some(format!("old version of task-1: {kept}")));
        let text = std::fs::read(of.at.root().join(kept)).unwrap();
        assert_eq!(text, std::fs::read(of.path("tasks/task-1.md")).unwrap());
    }
}
