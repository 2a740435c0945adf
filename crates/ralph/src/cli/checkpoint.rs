//! `ralph checkpoint` and `ralph restore`: shows and restores a loop's checkpoints, taken when all criteria held.
//!
//! Also works for a loop that has ended: checkpoints are refs in the project's repository and
//! outlive Ralph's own record of the loop.

use super::refine;
use crate::command::context_dir::{Here, note};
use crate::command::exit::{Exit, refused};
use crate::command::number;
use crate::command::screen::{self, visible, visible_lines};
use crate::command::select_loop::{self, FoundLoop, LoopArgs, ViewArgs};
use crate::command::select_target::{Target, TargetArgs};
use anyhow::{Context, Result, bail};
use ralph_io::git::checkpoint::{self, Checkpoint, Restored};
use ralph_io::git::tree;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Number of the checkpoint to show [default: list all, the oldest first]
    #[arg(value_name = "N", value_parser = number::count, allow_hyphen_values = true)]
    number: Option<u32>,
    /// Show one and what it changed, by default the newest
    #[arg(long, conflicts_with = "json")]
    show: bool,
    #[command(flatten)]
    view: ViewArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RestoreArgs {
    /// Number of the checkpoint, or of the version of a refined plan
    #[arg(value_name = "N", value_parser = number::count, allow_hyphen_values = true)]
    number: u32,
    #[command(flatten)]
    target: TargetArgs,
}

struct LoopCheckpoints {
    loop_id: String,
    /// `None` if only the loop's refs are left.
    found: Option<FoundLoop>,
    /// The work tree that the checkpoints are compared with.
    root: PathBuf,
    checkpoints: Vec<Checkpoint>,
}

pub(crate) fn run(args: &Args) -> Result<Exit> {
    let kept = LoopCheckpoints::gather(&Here::gather()?, &args.view.which)?;
    if args.show || args.number.is_some() {
        let shown = checkpoint::show(&kept.root, kept.one(args.number)?).map_err(git_failed)?;
        return screen::print(&visible_lines(&shown));
    }
    if args.view.json {
        let checkpoints: Vec<Value> = kept.checkpoints.iter().map(document).collect();
        let document =
            json!({"schema_version": 1, "loop_id": kept.loop_id, "checkpoints": checkpoints});
        return screen::print_json(&document);
    }
    if kept.checkpoints.is_empty() {
        bail!(kept.lack(None));
    }
    let mut rows = vec![format!("loop {}", visible(&kept.loop_id))];
    rows.extend(kept.checkpoints.iter().map(row));
    screen::print(&rows.join("\n"))
}

impl LoopCheckpoints {
    fn gather(here: &Here, which: &LoopArgs) -> Result<LoopCheckpoints> {
        match select_loop::recent(here, which) {
            Ok(found) => LoopCheckpoints::for_loop(here, found),
            Err(error) => LoopCheckpoints::without_state(here, which, error),
        }
    }

    fn for_loop(here: &Here, found: FoundLoop) -> Result<LoopCheckpoints> {
        let own = Path::new(&found.state.project_root);
        // If the loop's work tree is gone, the repository's other work trees still have its refs.
        let root = if own.is_dir() { own.to_owned() } else { here.root.clone() };
        let loop_id = found.state.loop_id.clone();
        let checkpoints = checkpoint::list(&root, Some(&loop_id)).map_err(git_failed)?;
        Ok(LoopCheckpoints { loop_id, root, checkpoints, found: Some(found) })
    }

    /// Finds the checkpoints of a loop whose state is lost: its refs in this repository remain.
    fn without_state(
        here: &Here,
        which: &LoopArgs,
        error: anyhow::Error,
    ) -> Result<LoopCheckpoints> {
        let Some(loop_id) = &which.loop_id else { return Err(error) };
        match checkpoint::list(&here.root, Some(loop_id)) {
            Ok(checkpoints) if !checkpoints.is_empty() => Ok(LoopCheckpoints {
                loop_id: loop_id.clone(),
                found: None,
                root: here.root.clone(),
                checkpoints,
            }),
            _ => Err(error),
        }
    }

    /// The checkpoint with this number, or the newest.
    fn one(&self, number: Option<u32>) -> Result<&Checkpoint> {
        let found = match number {
            None => self.checkpoints.last(),
            Some(number) => self.checkpoints.iter().find(|one| one.number == number),
        };
        found.with_context(|| self.lack(number))
    }

    fn lack(&self, number: Option<u32>) -> String {
        let loop_id = visible(&self.loop_id);
        match (number, self.checkpoints.is_empty()) {
            (Some(number), false) => format!(
                "loop {loop_id} has no checkpoint {number}; `ralph checkpoint --loop \
                 {loop_id}` lists those that it has"
            ),
            _ if tree::repository_root(&self.root).is_none() => format!(
                "loop {loop_id} has no checkpoints: `{}` is in no git repository",
                self.root.display()
            ),
            _ => format!(
                "loop {loop_id} has no checkpoints; one is kept whenever all its criteria hold"
            ),
        }
    }
}

/// Restores the files of a checkpoint; the present files are saved as a checkpoint first.
pub(crate) fn restore(args: &RestoreArgs) -> Result<Exit> {
    let here = &Here::gather()?;
    if let Target::Refinement(name) = args.target.target()? {
        return refine::show::restore(here, name, args.number);
    }
    let kept = LoopCheckpoints::gather(here, &args.target.which)?;
    let wanted = kept.one(Some(args.number))?;
    let restored = checkpoint::restore(&kept.root, wanted).map_err(git_failed)?;
    if let Some(found) = &kept.found {
        let why = format!("the user restored checkpoint {}", wanted.number);
        note(here, &found.file, &found.state, "checkpoint restore", "restored", &why);
    }
    screen::print(&describe(&kept, wanted, &restored))?;
    // Some paths were not restored, and a script must be able to tell.
    Ok(if restored.left.is_empty() { Exit::Done } else { Exit::No })
}

fn describe(kept: &LoopCheckpoints, wanted: &Checkpoint, restored: &Restored) -> String {
    let root = kept.root.display().to_string();
    let mut text = format!("checkpoint {} is back in `{}`", wanted.number, visible(&root));
    let (n_written, n_removed) = (restored.written.len(), restored.removed.len());
    if n_written + n_removed + restored.left.len() == 0 {
        return text + "; nothing had changed since";
    }
    text.push_str(&format!(": {n_written} written, {n_removed} removed"));
    for (what, paths) in [("wrote", &restored.written), ("removed", &restored.removed)] {
        for path in paths {
            text.push_str(&format!("\n  {what:<8} {path}"));
        }
    }
    for path in &restored.left {
        text.push_str(&format!(
            "\n  left     {path} (git ignores it, or it is a repository of its own)"
        ));
    }
    let before = restored.before.number;
    let loop_id = visible(&kept.loop_id);
    text.push_str(&format!(
        "\n`ralph restore {before} --loop {loop_id}` takes it back; your index and \
         branches are as they were"
    ));
    text
}

/// Git is missing or failed; the error holds its message.
fn git_failed(error: anyhow::Error) -> anyhow::Error {
    refused(Exit::MissingProgram, format!("{error:#}"))
}

pub(super) fn diff(here: &Here, which: &LoopArgs, number: Option<u32>) -> Result<Exit> {
    let kept = LoopCheckpoints::gather(here, which)?;
    let from = kept.one(number)?;
    let text = checkpoint::diff(&kept.root, from).map_err(git_failed)?;
    if text.is_empty() {
        screen::tell(&format!("nothing has changed since checkpoint {}", from.number));
    } else {
        screen::print_diff(&text)?;
    }
    Ok(Exit::Done)
}

fn row(checkpoint: &Checkpoint) -> String {
    let row = format!(
        "{:>3}  {}  {}  {}",
        checkpoint.number,
        screen::local(checkpoint.at),
        checkpoint.commit.get(..10).unwrap_or(&checkpoint.commit),
        visible(&checkpoint.about)
    );
    row.trim_end().to_owned()
}

fn document(checkpoint: &Checkpoint) -> Value {
    json!({
        "number": checkpoint.number,
        "reference": checkpoint.reference,
        "commit": checkpoint.commit,
        "tree": checkpoint.tree,
        "at": checkpoint.at,
        "about": checkpoint.about,
    })
}
