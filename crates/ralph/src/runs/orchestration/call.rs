//! The calls of agents: the client, display and outcome of each, also if its run was killed.
//!
//! The client's words do not count. A call succeeds if the folder shows its result. A call that a
//! limit or the user prevented is made again; any other has failed.

use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state, refused};
use crate::command::screen;
use crate::orchestration::OrchestrationContext;
use crate::runs::client::{self, ClientRound, RoundOutcome, RoundResult};
use crate::runs::engine::{MemberExit, TO_END};
use crate::runs::options::{self, ClientOptions};
use crate::runs::orchestration::{DriveState, OrchestrationEnd};
use anyhow::{Context, Result};
use jiff::Timestamp;
use ralph_core::modes::orchestration::id::OrchestrationId;
use ralph_core::modes::orchestration::invocation::Invocation;
use ralph_core::modes::orchestration::machine::met;
use ralph_core::modes::orchestration::recovery::{CallEnd, Recovery};
use ralph_core::modes::orchestration::signal;
use ralph_core::state::{PauseCause, Tokens};
use ralph_io::process::clock;
use ralph_io::store::lifecycle;
use serde_json::{Value, json};
use std::path::Path;

/// A call that is under way.
pub(super) struct AtWork {
    pub(super) call: Invocation,
    pub(super) since: Timestamp,
    /// True once it was ended for taking too long.
    pub(super) is_overdue: bool,
    label: String,
}

/// The parts of a round that are not in the call.
pub(crate) struct About<'a> {
    pub(crate) number: u32,
    pub(crate) session: &'a str,
    pub(crate) prefix: &'a str,
    pub(crate) id: &'a OrchestrationId,
}

/// The client of a call, started as its agent.
pub(crate) fn round(
    here: &Here,
    client: &ClientOptions,
    logs: &Path,
    call: &Invocation,
    about: &About<'_>,
) -> Result<ClientRound> {
    let agent = call.agent().name();
    let name = format!("call-{}", about.number);
    let prompt = match call.prompt() {
        prompt if prompt.len() <= client::LONGEST_PROMPT && !prompt.contains('\0') => prompt,
        prompt => client::fit(prompt, &logs.join(format!("{name}.txt")), |file| {
            format!(
                "What you are told is too long for here: read all of `{}` first.",
                file.display()
            )
        })?,
    };
    let mut key = serde_json::to_value(&call.key).context("could not write down a call")?;
    if let Value::Object(members) = &mut key {
        members.insert("session_id".to_owned(), json!(about.id.as_str()));
    }
    Ok(ClientRound {
        prompt,
        session_id: Some(about.session.to_owned()),
        // These variables tell the hooks that the session acts as this agent, in this call.
        env: vec![
            ("RALPH_ROUND".to_owned(), agent.to_owned()),
            ("RALPH_SESSION_CALL".to_owned(), key.to_string()),
        ],
        agent: Some(format!("{}{agent}", about.prefix)),
        label: label(call, about.number),
        ..client.round(here, agent, logs.join(format!("{name}.jsonl")))
    })
}

/// For example `call 7, EXECUTE task-2`.
fn label(call: &Invocation, number: u32) -> String {
    match call.key.task.as_str() {
        "" => format!("call {number}, {}", call.mode),
        task => format!("call {number}, {} {task}", call.mode),
    }
}

impl DriveState<'_> {
    /// Starts the client of a call. If that fails, the call counts as never made.
    pub(super) fn start(&mut self, name: &str, call: Invocation) -> Result<()> {
        self.number += 1;
        let label = label(&call, self.number);
        let begun = self.try_start(name, &call);
        match begun {
            Ok(()) => {
                let since = clock::now();
                let at_work = AtWork { call, since, is_overdue: false, label };
                self.at_work.insert(name.to_owned(), at_work);
            }
            Err(error) => {
                self.runner.stop(OrchestrationEnd::Failed(
                    error.context(format!("could not begin {label}")),
                ));
                self.close(name, &call, true, "")?;
            }
        }
        Ok(())
    }

    fn try_start(&mut self, name: &str, call: &Invocation) -> Result<()> {
        let plan = self.plan;
        // Bind the session to the loop, so that the hooks know which loop it belongs to.
        lifecycle::bind(&plan.place.here.home, &plan.file, name)?;
        let about = About { number: self.number, session: name, prefix: plan.prefix, id: &plan.id };
        let round = round(&plan.place.here, plan.client, &plan.logs, call, &about)?;
        let alone = plan.place.sessions.call(&plan.id, name);
        self.runner.start(name, call.agent().name(), round, &alone)
    }

    /// Handles the end of a client: records the outcome of its call, and decides whether others may
    /// start.
    pub(super) fn take_up_end(&mut self, name: &str, gone: MemberExit) -> Result<()> {
        let Some(one) = self.at_work.remove(name) else { return Ok(()) };
        let MemberExit { came, failed } = gone;
        let missing = failed.filter(|(_, exit)| *exit == Exit::MissingProgram);
        let is_blameless = missing.is_some() || self.is_blameless(&came.outcome, &one);
        if let Some((why, exit)) = missing {
            self.runner.stop(OrchestrationEnd::pause(PauseCause::Crashed, &why, exit));
        }
        let why = match one.is_overdue {
            true => "it took longer than it may".to_owned(),
            false => came.outcome.why("it ended without completing its call"),
        };
        let became = self.close(name, &one.call, is_blameless, &why)?;
        self.used(came.tokens)?;
        let line = format!("{}: {became}", one.label);
        self.runner.show_end(name, &line, &line, &came);
        self.stop_on_failure(&came, &one);
        Ok(())
    }

    /// True if the end says nothing about the call itself.
    fn is_blameless(&self, outcome: &RoundOutcome, one: &AtWork) -> bool {
        match outcome {
            RoundOutcome::RateLimited { .. } | RoundOutcome::Overloaded { .. } => true,
            RoundOutcome::Ended => !one.is_overdue && self.runner.was_asked(),
            RoundOutcome::Unanswered { is_final, .. } => *is_final,
            RoundOutcome::Finished { .. } | RoundOutcome::Crashed { .. } => false,
        }
    }

    /// Marks the call as no longer under way, and says what became of it and why. A call that ended
    /// without its result and is blameless is made again, as if it never was.
    fn close(
        &mut self,
        name: &str,
        call: &Invocation,
        is_blameless: bool,
        why: &str,
    ) -> Result<String> {
        let plan = self.plan;
        let changed = plan.place.update(&plan.id, |seen| {
            let now = clock::now();
            let mut after = seen.clone();
            after.running.get_or_insert_default().retain(|one| one.key != call.key);
            if is_blameless && !met(seen, call) {
                return Ok((after, None));
            }
            let how = after.close(call, now);
            let next = after.tries.recovery(&call.key, now);
            Ok((after, Some((how, next))))
        })?;
        let is_met = matches!(changed.what, Some((CallEnd::Met, _)));
        if let Some(told) = call.input("SIGNAL").filter(|_| !is_met) {
            let running = changed.before.running.iter().flatten();
            let begun = running.filter(|one| one.key == call.key).map(|one| one.since).min();
            say_again(plan.place, &plan.id, told, begun)?;
        }
        lifecycle::release(&plan.place.here.home, &plan.file, name)?;
        plan.place.sessions.forget_call(&plan.id, name);
        Ok(match changed.what {
            None => format!("to be made again: {why}"),
            Some((CallEnd::Met, _)) => "done".to_owned(),
            Some((CallEnd::Failed, Recovery::Again)) => format!("failed: {why}; again now"),
            Some((CallEnd::Failed, Recovery::NotBefore(moment))) => {
                let wait = moment.duration_since(clock::now()).as_millis().max(0);
                format!("failed: {why}; again in {} s", wait.unsigned_abs().div_ceil(1000))
            }
            Some((CallEnd::Failed, Recovery::GiveUp)) => {
                format!("failed: {why}; it is not made again")
            }
        })
    }

    fn used(&self, tokens: Tokens) -> Result<()> {
        let used = self.plan.file.update(|state| {
            state.usage.tokens = state.usage.tokens.plus(tokens);
        });
        used.map(drop).map_err(bad_state)
    }

    /// Stops the run if the end of a client means that others would fail as well.
    fn stop_on_failure(&mut self, came: &RoundResult, one: &AtWork) {
        if came.outcome == RoundOutcome::Ended && !self.is_blameless(&came.outcome, one) {
            return;
        }
        if let Some((cause, why)) = options::pause_cause(came, 0) {
            let by_user = cause == PauseCause::Person;
            let exit = if by_user { Exit::Interrupted } else { Exit::MissingProgram };
            self.runner.stop(OrchestrationEnd::pause(cause, &why, exit));
        }
    }
}

// The leftovers of a killed run: the calls it had recorded, and the user's messages in them.
//
// The clients of a killed run end by themselves once their input is closed; this code waits for
// that. An agent's finished work counts, and messages for unfinished calls are sent again.

/// Waits for leftover clients, then marks all calls of the orchestration as no longer under way.
pub(crate) fn take_up(place: &OrchestrationContext, id: &OrchestrationId) -> Result<()> {
    let left = place.sessions.left_calls(id, TO_END);
    let left = left.map_err(|error| refused(Exit::No, format!("{error:#}")))?;
    let now = clock::now();
    let changed = place.update(id, |seen| {
        let mut after = seen.clone();
        let mut told = Vec::new();
        for one in seen.running.iter().flatten() {
            let call = Invocation::again(one.key.clone(), "");
            if met(seen, &call) {
                after.close(&call, now);
                continue;
            }
            let about = format!("{} {}", call.mode, call.key.task);
            told.push(format!("{} is begun again: its run is gone", about.trim_end()));
        }
        after.running = Some(Vec::new());
        Ok((after, told))
    })?;
    for line in &changed.what {
        screen::tell(&screen::visible(line));
    }
    for (name, told) in left {
        // Which call had these messages is no longer known. Sending them twice is better than not
        // at all.
        if !changed.what.is_empty() {
            let running = changed.before.running.iter().flatten();
            say_again(place, id, &told, running.map(|one| one.since).min())?;
        }
        // The session of this client was bound to the killed run's loop.
        let home = &place.here.home;
        if let Some(file) = lifecycle::of_session(home, &name).map_err(bad_state)? {
            lifecycle::release(home, &file, &name).map_err(bad_state)?;
        }
        place.sessions.forget_call(id, &name);
    }
    Ok(())
}

/// Sends the messages of an unfinished call again, for the next call. They keep the time at which
/// the call was started: behind a later PAUSE they would end it, although the user has sent nothing
/// since.
pub(super) fn say_again(
    place: &OrchestrationContext,
    id: &OrchestrationId,
    told: &str,
    begun: Option<Timestamp>,
) -> Result<()> {
    let at = begun.unwrap_or_else(clock::now);
    let waiting = place.read(id)?.signals;
    for (word, text) in signal::parts(told) {
        if !waiting.iter().any(|one| one.word == word && one.text == text) {
            place.sessions.send(id, word, &text, at).map_err(bad_state)?;
        }
    }
    Ok(())
}
