//! `ralph accept` and `ralph diff`: the user sees what has changed, and accepts the criteria as they are now.
//!
//! The criteria are frozen at the start. Accepting freezes them anew: the criteria and their commands, a smaller number
//! of tests, and what a request for completion was refused for, such as changed tests or a repository that a round left.

use crate::cli::{checkpoint, refine};
use crate::command::context_dir::{Here, note};
use crate::command::exit::{Exit, bad_state, usage};
use crate::command::number;
use crate::command::screen::{self, visible};
use crate::command::select_loop::{self, FoundLoop, LoopArgs, LoopFilter};
use crate::command::select_target::{Target, TargetArgs};
use crate::runs::left;
use crate::verify::observe::Start;
use anyhow::{Context, Result, anyhow};
use ralph_core::evidence::pinned;
use ralph_core::evidence::receipt::{self, ReceiptStatus};
use ralph_io::git::checkpoint as git;
use ralph_io::store::checks;

pub(crate) fn accept(which: &LoopArgs) -> Result<Exit> {
    let here = Here::gather()?;
    let found = select_loop::one(&here, which, LoopFilter::Live)?;
    let has_changed_tests = found
        .state
        .acceptance_criteria
        .iter()
        .any(|one| receipt::criterion_status(one, None) == ReceiptStatus::TestsChanged);
    let taken = found.file.update(|state| {
        let taken = pinned::accept(state, here.now);
        (taken, state.clone())
    });
    let (mut taken, state) = taken.map_err(bad_state)?.context("the loop is gone")?;
    taken.extend(left::accept(found.file.folder())?);
    let mut lines: Vec<String> = state
        .acceptance_criteria
        .iter()
        .map(|one| format!("{}: {}", visible(&one.id), visible(&one.decided_by())))
        .collect();
    let why = match taken.as_slice() {
        [] => "nothing had changed since they were agreed to".to_owned(),
        taken => format!("taken: {}", taken.join("; ")),
    };
    note(&here, &found.file, &state, "criteria accept", "accepted", &why);
    lines.push(visible(&why));
    screen::print(&lines.join("\n"))?;
    if has_changed_tests {
        show(&found, true)?;
    }
    Ok(Exit::Done)
}

// `ralph diff`: what has changed since the start of a loop or since a checkpoint, or between versions of a plan.

#[derive(Debug, clap::Args)]
pub(crate) struct DiffArgs {
    /// Two versions of a refined plan, or one and the plan as it is [default: the last two]
    #[arg(value_name = "VERSION", num_args = 0..=2, value_parser = number::count)]
    versions: Vec<u32>,
    /// `start`, or the number of a checkpoint [default: the last one of a live loop, else the start]
    #[arg(long, value_name = "START|N", num_args = 0..=1, default_missing_value = LAST)]
    since: Option<String>,
    /// Show only tests and what belongs to them, since the start
    #[arg(long, conflicts_with = "since")]
    tests: bool,
    #[command(flatten)]
    target: TargetArgs,
}

/// The newest checkpoint.
const LAST: &str = "last";

pub(crate) fn run_diff(args: &DiffArgs) -> Result<Exit> {
    let (here, which) = (Here::gather()?, &args.target.which);
    if let Target::Refinement(name) = args.target.target()? {
        return refine::show::diff(&here, name, &args.versions);
    }
    if !args.versions.is_empty() {
        return Err(usage("a loop has no versions; type `ralph diff --since N` for a checkpoint"));
    }
    match args.since.as_deref() {
        None | Some("start") => {}
        Some(LAST) => return checkpoint::diff(&here, which, None),
        Some(since) => {
            return checkpoint::diff(&here, which, Some(number::count(since).map_err(usage)?));
        }
    }
    let found = match select_loop::named(&here, which)? {
        Some(found) => found,
        None => match select_loop::if_any(&here, which, LoopFilter::Live)? {
            Some(found) => found,
            None => select_loop::last_ended(&here)
                .map_or_else(|| select_loop::one(&here, which, LoopFilter::Live), Ok)?,
        },
    };
    let is_since_green = args.since.is_none() && !args.tests && found.state.is_live();
    if is_since_green && found.state.checkpoint.is_some() {
        return checkpoint::diff(&here, which, None);
    }
    show(&found, args.tests)
}

/// Prints git's diff between the start of the loop and the present files.
pub(super) fn show(found: &FoundLoop, only_tests: bool) -> Result<Exit> {
    let start = checks::start_of(found.file.folder());
    let start = start
        .context("the start of this loop was not kept: the project is in no git repository")?;
    let paths = match only_tests {
        true => {
            let start = Start::read(found.file.folder(), &found.state);
            let start = start.map_err(|reason| anyhow!(reason.why))?;
            start.changed_harness(&found.state.acceptance_criteria)
        }
        false => {
            let changed = git::changed_files(&start.root, &start.tree, None);
            let changed = changed.context("could not compare with the start of the loop")?;
            changed.into_iter().map(|(path, _)| path).collect()
        }
    };
    if paths.is_empty() {
        let what = if only_tests { "no test has changed" } else { "nothing has changed" };
        screen::tell(&format!("{what} since the start of the loop"));
        return Ok(Exit::Done);
    }
    screen::print_diff(&git::diff_since(&start.root, &start.tree, &paths)?)
}
