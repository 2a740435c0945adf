//! `ralph session mark`: the status of one task, with the counts in the metadata.

use super::super::exit::{Exit, refused};
use super::super::screen::{self, visible};
use super::{Place, Which};
use anyhow::Result;
use ralph_core::counted::noun;
use ralph_core::session::change::{Change, apply};
use ralph_core::session::machine;
use ralph_core::session::metadata::Counts;
use ralph_core::session::place::Place as File;
use ralph_core::session::progress::{Progress, Status};
use ralph_core::session::report::next_attempt;
use ralph_core::session::snapshot::{Picture, Snapshot};
use ralph_io::clock;

/// Which task, and how far it is.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task's id
    task: String,
    /// How far it is: `[ ]`, `[/]`, `[P]`, `[x]`, `[F]` or `[C]`, or its word: open, started, review, done,
    /// failed, cancelled
    #[arg(value_parser = status, allow_hyphen_values = true)]
    status: Status,
    /// What stands behind the id from now on
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    #[command(flatten)]
    which: Which,
}

fn status(said: &str) -> Result<Status, String> {
    let of_word = || {
        let words = ["open", "started", "review", "done", "failed", "cancelled"];
        let at = words.iter().position(|word| word.eq_ignore_ascii_case(said))?;
        Status::ALL.get(at).copied()
    };
    Status::of(said)
        .or_else(of_word)
        .ok_or_else(|| "no status; write `[ ]`, `[/]`, `[P]`, `[x]`, `[F]` or `[C]`".to_owned())
}

pub(super) fn run(place: &Place, args: &Args) -> Result<Exit> {
    if args.note.as_ref().is_some_and(|note| note.contains(['\n', '\r'])) {
        return Err(refused(Exit::Usage, "a note is one line; write more into the task's report"));
    }
    let id = place.find(&args.which)?;
    let changed = place.update(&id, |seen| {
        let change = change(place, seen, args);
        let after = apply(seen, &[change], clock::local(place.here.now))
            .map_err(|why| refused(Exit::No, why))?;
        Ok((after, ()))
    })?;
    let progress = Progress::parse(changed.after.text(File::Progress).unwrap_or_default());
    let counts = Counts::of(&progress);
    screen::print(&format!(
        "{} {}; {} of {} {} done",
        visible(&args.task),
        args.status,
        counts.completed,
        counts.total,
        noun(counts.total, "task", "tasks")
    ))?;
    Ok(Exit::Done)
}

/// A planning task is the one of this iteration that is not settled; of several the first.
fn change(place: &Place, seen: &Snapshot, args: &Args) -> Change {
    let picture = Picture::of(seen);
    let (_, iteration) = machine::resolve(&picture);
    let progress = picture.progress.clone().unwrap_or_default();
    let mut planning: Vec<_> =
        progress.planning(iteration).filter(|entry| entry.id == args.task).collect();
    planning.sort_by_key(|entry| entry.status.is_settled());
    if let Some(entry) = planning.first() {
        return Change::MarkPlanning {
            iteration,
            line: entry.line,
            status: args.status,
            note: args.note.clone(),
        };
    }
    let started = || {
        let attempt = next_attempt(picture.reports_of(&args.task));
        let now = clock::local(place.here.now);
        format!("Attempt {attempt}, Iteration {iteration}, started: {now}")
    };
    let note = args.note.clone();
    // Since when it is worked on is what tells that its executor is gone.
    let note = note.or_else(|| (args.status == Status::InProgress).then(started));
    Change::Mark { task: args.task.clone(), status: args.status, note }
}
