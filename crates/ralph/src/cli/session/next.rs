//! The router's decision, for `ralph next` and `ralph status`. Asking changes nothing and uses up no
//! signal; `next --begin` is for a user who makes the calls by hand.

use super::{OrchestrationContext, refuse_cancelled};
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, refused};
use crate::command::screen::{self, visible_lines};
use anyhow::Result;
use ralph_core::modes::orchestration::finding::Weight;
use ralph_core::modes::orchestration::machine::{self, MachineStep};
use ralph_core::modes::orchestration::snapshot::Snapshot;
use ralph_core::text::plural::noun;
use ralph_hooks::modes::orchestration;
use ralph_io::process::clock;
use std::fmt::Write;

/// Prints the calls that are due; with `begin` it records that they are made.
pub(in crate::cli) fn next(here: &Here, id: Option<&str>, begin: bool, json: bool) -> Result<Exit> {
    let place = &OrchestrationContext::gather(here)?;
    let id = place.find(id)?;
    refuse_cancelled(place, &id)?;
    if !begin {
        return show(&decided(here, &place.read(&id)?), json);
    }
    if let Some((_, state)) = orchestration::driving(&here.home, &here.root, &id) {
        let why = format!("loop {} drives session {id} and makes its calls", state.loop_id);
        return Err(refused(Exit::No, format!("{why}; `ralph next --id {id}` shows them")));
    }
    let changed = place.update(&id, |seen| {
        let mut step = decided(here, seen);
        // From now on Ralph cannot know which calls are under way.
        step.after.running = None;
        let calls = step.act.calls();
        let made = step.made(calls, here.now).with_begun(calls, clock::local(here.now));
        step.after = made;
        Ok((step.after.clone(), step))
    })?;
    show(&changed.what, json)
}

pub(in crate::cli) fn status(here: &Here, id: Option<&str>, json: bool) -> Result<Exit> {
    let place = &OrchestrationContext::gather(here)?;
    show(&decided(here, &place.read(&place.find(id)?)?), json)
}

pub(super) fn decided(here: &Here, seen: &Snapshot) -> MachineStep {
    let seen = orchestration::as_driven(&here.home, &here.root, seen);
    machine::next(&seen, clock::local(here.now))
}

fn show(step: &MachineStep, as_json: bool) -> Result<Exit> {
    match as_json {
        true => screen::print_json(&serde_json::to_value(step.output())?)?,
        false => screen::print(&visible_lines(&text(step)))?,
    };
    // A script that checks only the exit code stops where a person is needed.
    Ok(if step.act.status() == "blocked" { Exit::No } else { Exit::Done })
}

fn text(step: &MachineStep) -> String {
    let said = step.output();
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
    for call in step.act.calls() {
        let _ = writeln!(text, "\n`{}` is told:\n{}", call.agent(), call.prompt());
    }
    let matters = step.findings.iter().filter(|finding| finding.weight != Weight::Notice);
    for finding in matters {
        let _ = write!(text, "\n{finding}");
    }
    text
}
