//! `ralph task import`: makes a planned loop from a plan; the user starts it by typing `/ralph`.

use super::lint;
use crate::command::context_dir::Here;
use crate::command::exit::Exit;
use crate::command::journal::note;
use crate::command::plan_import;
use crate::command::screen;
use anyhow::Result;
use clap::ValueHint;
use ralph_io::store::lifecycle;

/// The plan.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Markdown with checkboxes or a ```json block, `prd.json`, `fix_plan.md`, a JSON document or
    /// `.jsonl`; `-` reads standard input
    #[arg(value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    file: String,
}

const ADVICE: &str = "cancel it first (`ralph cancel`), or add to its tasks with `ralph task add`";

/// Reads the plan and plans the loop; any problem in it leaves everything unchanged.
pub(super) fn run(here: &Here, args: &Args) -> Result<Exit> {
    plan_import::nothing_is_live(here, ADVICE)?;
    let (mut state, notes) = plan_import::read(here, &args.file)?.into_loop(here)?;
    lint::tell(&lint::look(&state, &here.root));
    let file = lifecycle::create(&here.home, &mut state)?;
    let why = format!("from {}", if args.file == "-" { "standard input" } else { &args.file });
    note(here, &file, &state, ("task import", "planned"), &why);
    screen::print(&format!(
        "Ralph loop {} planned\n{}Type /ralph in Claude Code, in this project, to start it.",
        state.loop_id,
        plan_import::describe(&state, &notes, here)
    ))?;
    Ok(Exit::Done)
}
