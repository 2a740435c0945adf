//! The router's decision, for `ralph next` and `ralph status`. Asking changes nothing and uses up no
//! signal; `next --begin` is for a user who makes the calls by hand.

use super::{OrchestrationContext, refuse_cancelled};
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, refused};
use crate::command::screen::{self, visible_lines};
use anyhow::Result;
use ralph_core::modes::orchestration::attempts;
use ralph_core::modes::orchestration::change::apply;
use ralph_core::modes::orchestration::finding::Weight;
use ralph_core::modes::orchestration::id::OrchestrationId;
use ralph_core::modes::orchestration::invocation::Invocation;
use ralph_core::modes::orchestration::machine::{self, Act, MachineStep};
use ralph_core::modes::orchestration::snapshot::Snapshot;
use ralph_core::text::plural::noun;
use ralph_hooks::modes::orchestration;
use ralph_io::process::clock;
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// Prints the calls that are due; with `begin` it records that they are made.
pub(in crate::cli) fn next(here: &Here, id: Option<&str>, begin: bool, json: bool) -> Result<Exit> {
    let place = &OrchestrationContext::gather(here)?;
    let id = place.find(id)?;
    refuse_cancelled(place, &id)?;
    if !begin {
        return show_step(place, &id, json);
    }
    if let Some((_, state)) = orchestration::driving(&place.here.home, &place.here.root, &id) {
        let why = format!("loop {} drives session {id} and makes its calls", state.loop_id);
        return Err(refused(Exit::No, format!("{why}; `ralph next --id {id}` shows them")));
    }
    let changed = place.update(&id, |seen| {
        let (after, step) = decided(place, seen)?;
        let now = place.here.now;
        // From now on Ralph cannot know which calls are under way.
        let seen = Snapshot { running: None, ..seen.clone() };
        match &step.act {
            Act::Invoke(calls) => {
                let made = step.made(&seen, calls, now, clock::local(now));
                let begun =
                    |made: Snapshot| attempts::note_begun(&made, calls, now, clock::local(now));
                let made = made.and_then(begun).map_err(|why| refused(Exit::BadState, why))?;
                Ok((made, step))
            }
            _ => Ok((Snapshot { running: None, ..after }, step)),
        }
    })?;
    show(&changed.after, &changed.what, json)
}

pub(in crate::cli) fn status(here: &Here, id: Option<&str>, json: bool) -> Result<Exit> {
    let place = &OrchestrationContext::gather(here)?;
    show_step(place, &place.find(id)?, json)
}

fn show_step(place: &OrchestrationContext, id: &OrchestrationId, json: bool) -> Result<Exit> {
    let (after, step) = decided(place, &place.read(id)?)?;
    show(&after, &step, json)
}

pub(super) fn decided(
    place: &OrchestrationContext,
    seen: &Snapshot,
) -> Result<(Snapshot, MachineStep)> {
    let seen = &orchestration::as_driven(&place.here.home, &place.here.root, seen);
    let step = machine::next(seen, place.here.now);
    let after = apply(seen, &step.changes, clock::local(place.here.now))
        .map_err(|why| refused(Exit::BadState, why))?;
    Ok((after, step))
}

fn show(after: &Snapshot, step: &MachineStep, as_json: bool) -> Result<Exit> {
    match as_json {
        true => screen::print_json(&document(after, step)?)?,
        false => screen::print(&visible_lines(&text(after, step)))?,
    };
    // A script that checks only the exit code stops where a person is needed.
    Ok(if step.act.status() == "blocked" { Exit::No } else { Exit::Done })
}

/// The router's output, and what a program needs to carry the step out.
fn document(after: &Snapshot, step: &MachineStep) -> Result<Value> {
    let mut document = serde_json::to_value(machine::output(after, step))?;
    let calls: Vec<Value> = calls(step).iter().map(call).collect();
    let until = match &step.act {
        Act::Wait { until, .. } => until.map(|until| format!("{until:.0}")),
        _ => None,
    };
    let findings: Vec<String> = step.findings.iter().map(ToString::to_string).collect();
    if let Some(members) = document.as_object_mut() {
        members.insert("invocations".to_owned(), Value::from(calls));
        members.insert("wait_until".to_owned(), Value::from(until));
        members.insert("findings".to_owned(), Value::from(findings));
    }
    Ok(document)
}

fn calls(step: &MachineStep) -> &[Invocation] {
    match &step.act {
        Act::Invoke(calls) => calls,
        _ => &[],
    }
}

fn call(call: &Invocation) -> Value {
    let inputs: Map<String, Value> =
        call.inputs.iter().map(|(name, said)| ((*name).to_owned(), json!(said))).collect();
    json!({
        "agent": call.agent().name(), "mode": call.mode.word(), "inputs": inputs, "prompt": call.prompt(),
    })
}

fn text(after: &Snapshot, step: &MachineStep) -> String {
    let said = machine::output(after, step);
    let mut text = format!(
        "session {}: {}, iteration {}",
        said.session_id, said.current_state, said.iteration
    );
    // Writing to a string cannot fail.
    if said.current_wave > 0 {
        let _ = write!(text, ", wave {}", said.current_wave);
    }
    let tasks = said.tasks_summary;
    let noun = noun(tasks.total, "task", "tasks");
    let _ = writeln!(text, ", {} of {} {noun} done", tasks.completed, tasks.total);
    let _ = writeln!(text, "{}", said.next_action);
    for call in calls(step) {
        let _ = writeln!(text, "\n`{}` is told:\n{}", call.agent(), call.prompt());
    }
    let matters = step.findings.iter().filter(|finding| finding.weight != Weight::Notice);
    for finding in matters {
        let _ = write!(text, "\n{finding}");
    }
    text
}
