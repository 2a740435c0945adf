//! `ralph session mark`: sets the status of one task, and the counts in the metadata.

use super::{OrchestrationArg, OrchestrationContext, next};
use crate::command::exit::{Exit, refused};
use crate::command::screen::{self, visible};
use anyhow::Result;
use ralph_core::modes::orchestration::attempts;
use ralph_core::modes::orchestration::change::{RouterWrite, apply};
use ralph_core::modes::orchestration::files::OrchestrationFile as File;
use ralph_core::modes::orchestration::invocation::CallKey;
use ralph_core::modes::orchestration::machine;
use ralph_core::modes::orchestration::metadata::Counts;
use ralph_core::modes::orchestration::progress::{Progress, TaskMark};
use ralph_core::modes::orchestration::snapshot::{Picture, Snapshot};
use ralph_core::text::plural::noun;
use ralph_hooks::modes::orchestration;
use ralph_io::process::clock;

/// Which task, and how far it is.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Id of the task
    task: String,
    /// open, started, review, done, failed or cancelled, or its mark: `[ ]`, `[/]`, …
    #[arg(value_parser = status, allow_hyphen_values = true)]
    status: TaskMark,
    /// Note to show after the id
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    #[command(flatten)]
    which: OrchestrationArg,
}

impl Args {
    pub(super) fn which(&self) -> &OrchestrationArg {
        &self.which
    }
}

fn status(said: &str) -> Result<TaskMark, String> {
    let of_word = || {
        let words = ["open", "started", "review", "done", "failed", "cancelled"];
        let at = words.iter().position(|word| word.eq_ignore_ascii_case(said))?;
        TaskMark::ALL.get(at).copied()
    };
    TaskMark::of(said).or_else(of_word).ok_or_else(|| {
        format!("no status `{said}`; type `[ ]`, `[/]`, `[P]`, `[x]`, `[F]` or `[C]`")
    })
}

pub(super) fn run(place: &OrchestrationContext, args: &Args) -> Result<Exit> {
    if args.note.as_ref().is_some_and(|note| note.contains(['\n', '\r'])) {
        return Err(refused(Exit::Usage, "a note is one line; write more into the task's report"));
    }
    let id = place.find(args.which.id.as_deref())?;
    let home = &place.here.home;
    let is_driven = orchestration::driving(home, &place.here.root, &id).is_some();
    let changed = place.update(&id, |seen| {
        let now = place.here.now;
        // If nobody drives the orchestration, nobody else writes the changes that
        // belong before the mark.
        let seen = match is_driven {
            true => seen.clone(),
            false => next::decided(place, seen)?.0,
        };
        let (change, failed) = change(place, &seen, args);
        let mut after =
            apply(&seen, &[change], clock::local(now)).map_err(|why| refused(Exit::No, why))?;
        if let Some(execution) = failed {
            after.tries.marked_failed(&execution, now);
        }
        Ok((after, ()))
    })?;
    let progress = Progress::parse(changed.after.text(File::Progress).unwrap_or_default());
    let counts = Counts::of(&progress);
    screen::say(&format!(
        "{} {}; {} of {} {} done",
        visible(&args.task),
        args.status,
        counts.completed,
        counts.total,
        noun(counts.total, "task", "tasks")
    ))?;
    Ok(Exit::Done)
}

/// The change and, if it marks a task as failed, the execution that this ends. Of several planning
/// entries with this id in this iteration, the first unsettled one is marked.
fn change(
    place: &OrchestrationContext,
    seen: &Snapshot,
    args: &Args,
) -> (RouterWrite, Option<CallKey>) {
    let picture = Picture::of(seen);
    let (_, iteration) = machine::resolve(&picture);
    let progress = picture.progress.clone().unwrap_or_default();
    let mut planning: Vec<_> =
        progress.planning(iteration).filter(|entry| entry.id == args.task).collect();
    planning.sort_by_key(|entry| entry.status.is_settled());
    if let Some(entry) = planning.first() {
        let (line, status, note) = (entry.line, args.status, args.note.clone());
        return (RouterWrite::MarkPlanning { iteration, line, status, note }, None);
    }
    let entry = progress.task(&args.task);
    let started = || {
        let attempt = attempts::next(&picture, entry, &seen.tries, &args.task, iteration);
        let now = clock::local(place.here.now);
        format!("Attempt {attempt}, Iteration {iteration}, started: {now}")
    };
    let note = args.note.clone();
    // The start time later shows that the task's executor is gone.
    let note = note.or_else(|| (args.status == TaskMark::InProgress).then(started));
    let fails = args.status == TaskMark::Failed
        && entry.is_some_and(|entry| entry.status != TaskMark::Failed);
    let failed = fails.then(|| attempts::execution(&args.task, iteration));
    (RouterWrite::Mark { task: args.task.clone(), status: args.status, note }, failed)
}
