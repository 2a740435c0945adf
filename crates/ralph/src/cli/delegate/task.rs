//! `ralph delegate task`: runs the commands of a task that a round marked done, and prints the first
//! failure as JSON, or `null`. Ralph's own drivers call it.

use crate::command::exit::{Exit, refused};
use crate::command::screen;
use crate::verify::asked;
use anyhow::{Context, Result, bail};
use ralph_core::evidence::pinned;
use ralph_core::project::settings::Settings;
use ralph_core::text::truncate::bounded;
use ralph_io::process::command::{self, CommandEnd, CommandOrder};
use ralph_io::store::loop_file::LoopFile;
use ralph_io::{client::given, process::clock, process::programs, store::receipts};
use std::path::{Path, PathBuf};

/// How much of a command's output the next round reads, in UTF-16 units.
const TAIL: usize = 500;

/// The task whose commands run.
#[derive(clap::Args)]
pub(in crate::cli) struct Args {
    /// The state file of its loop
    state: PathBuf,
    /// The id of the task
    id: String,
    /// The variables that were given their recorded values
    #[arg(long, hide = true)]
    restored: Option<String>,
}

pub(super) fn run(args: &Args) -> Result<Exit> {
    let Some(by) = asked::by() else {
        let why = "`ralph delegate task` answers Ralph's own drivers; `ralph verify` runs criteria";
        return Err(refused(Exit::No, why));
    };
    let file = LoopFile::at(&args.state);
    // `prepare` may start this program again, which needs standard input untouched.
    asked::prepare(&file, by, args.restored.as_deref())?;
    given::end_with_input();
    let _ = command::adopt_orphans();
    let failed = failed(&file, &args.id).unwrap_or_else(|error| Some(format!("{error:#}")));
    screen::print(&serde_json::to_string(&failed)?)?;
    Ok(Exit::Done)
}

/// The first command that does not hold, with the end of its output.
fn failed(file: &LoopFile, id: &str) -> Result<Option<String>> {
    let state = file.read()?.context("the loop is gone")?.state;
    if !pinned::is_as_frozen(&state) {
        bail!("its commands are not those that the person agreed to, so none was run");
    }
    let task = state.task_graph.iter().find(|task| task.id == id).context("the task is gone")?;
    let outputs = receipts::outputs(file.folder())?;
    let ralph = programs::running()?;
    for command in &task.verify {
        let output = outputs.join(receipts::output_name(id, clock::now()));
        let run = command::run(&CommandOrder {
            ralph: &ralph,
            command,
            folder: Path::new(&state.project_root),
            output: &output,
            deadline: Settings::of(&state).per_command(),
        })?;
        let how = match &run.ended {
            CommandEnd::Exited(0) => continue,
            CommandEnd::Exited(code) => format!("exits with {code}"),
            CommandEnd::Deadline => format!("still runs after {} s", run.duration.as_secs()),
            CommandEnd::Signalled(signal) => format!("was ended by signal {signal}"),
            CommandEnd::NotStarted(why) => format!("cannot start: {why}"),
            CommandEnd::Stopped | CommandEnd::SupervisorLost => "was ended".to_owned(),
        };
        let words = match run.tail.trim() {
            "" => String::new(),
            tail => format!(": {}", bounded(tail, TAIL)),
        };
        return Ok(Some(format!("`{command}` {how}{words}")));
    }
    Ok(None)
}
