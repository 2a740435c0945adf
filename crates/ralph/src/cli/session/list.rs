//! `ralph session list`: one line for each orchestration of the project.

use crate::command::exit::Exit;
use crate::command::screen::{self, visible};
use crate::orchestration::{NONE, OrchestrationContext};
use anyhow::Result;
use ralph_core::modes::orchestration::machine;
use ralph_core::text::plural::noun;
use ralph_hooks::modes::orchestration;

pub(super) fn run(place: &OrchestrationContext) -> Result<Exit> {
    let mut lines = Vec::new();
    for id in place.sessions.list() {
        // An unreadable orchestration does not hide the others.
        lines.push(match place.read(&id) {
            Ok(seen) => {
                let seen = orchestration::as_driven(&place.here.home, &place.here.root, &seen);
                let step = machine::next(&seen, place.here.now);
                let said = machine::output(&seen, &step);
                let tasks = said.tasks_summary;
                format!(
                    "{id}  {}  iteration {}  {} of {} {} done  {}",
                    said.current_state,
                    said.iteration,
                    tasks.completed,
                    tasks.total,
                    noun(tasks.total, "task", "tasks"),
                    said.status
                )
            }
            Err(error) => format!("{id}  {}", visible(&format!("{error:#}"))),
        });
    }
    screen::print(if lines.is_empty() { NONE.to_owned() } else { lines.join("\n") }.as_str())?;
    Ok(Exit::Done)
}
