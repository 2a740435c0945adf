//! `ralph session new`: creates the folder of an orchestration, with the request.

use super::{OrchestrationContext, named};
use crate::command::exit::{Exit, bad_state, refused};
use crate::command::screen;
use anyhow::Result;
use ralph_core::modes::orchestration::files::folder;
use ralph_core::modes::orchestration::id::{OrchestrationId, REFUSED};
use ralph_core::modes::orchestration::which;
use ralph_io::client::given;

/// What is asked for.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to do; `-` reads standard input
    #[arg(required = true)]
    task: Vec<String>,
    /// Id in the form YYMMDD-hhmmss [default: the local time]
    #[arg(long, value_name = "ID")]
    id: Option<String>,
}

pub(super) fn run(place: &OrchestrationContext, args: &Args) -> Result<Exit> {
    let task = match args.task.as_slice() {
        [dash] if dash == "-" => given::stdin()?,
        words => words.join(" "),
    };
    if task.trim().is_empty() {
        return Err(refused(Exit::Usage, "the task is missing; type `ralph session new TASK`"));
    }
    is_new(&task)?;
    let id = begin(place, task.trim(), args.id.as_deref())?;
    let next =
        format!("session {id} begun in `{}`\n`ralph session next` says what to do", folder(&id));
    screen::print(&next)?;
    Ok(Exit::Done)
}

/// Refuses a sentence that continues an orchestration: it is no task for a new one.
pub(super) fn is_new(task: &str) -> Result<()> {
    let Some(said) = which::continued(task) else { return Ok(()) };
    let Some(id) = said.id else { return Err(refused(Exit::Usage, REFUSED)) };
    let what = format!(
        "this continues session {id}: `ralph session feedback new --id {id}` takes the feedback, `ralph session run --id {id}` \
         goes on"
    );
    Err(refused(Exit::Usage, what))
}

/// Begins an orchestration under the given name, or under one made from the current second.
pub(super) fn begin(
    place: &OrchestrationContext,
    task: &str,
    name: Option<&str>,
) -> Result<OrchestrationId> {
    let Some(name) = name else {
        return place.sessions.begin_now(task, place.here.now).map_err(bad_state);
    };
    let id = named(name)?;
    if place.sessions.begin(&id, task).map_err(bad_state)? {
        return Ok(id);
    }
    Err(refused(
        Exit::No,
        format!("orchestration {id} exists; `ralph session next --id {id}` continues it"),
    ))
}
