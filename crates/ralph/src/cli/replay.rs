//! `ralph replay`: decides a recorded loop again by today's rules, and shows every difference.
//!
//! The rules see only what the journal recorded, so the answer is the same on any machine and at
//! any time. Nothing is changed.

use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state};
use crate::command::screen::{self, visible};
use crate::command::select_loop::{self, LoopArgs};
use anyhow::{Result, bail};
use ralph_core::stop::replay::{Again, Difference};
use ralph_core::text::plural::counted;
use ralph_io::store::journal::{self, JournalEntry};
use ralph_io::store::lifecycle;
use serde_json::{Value, json};
use std::path::Path;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: LoopArgs,
    #[arg(hide = true, value_name = "LOOP", conflicts_with_all = ["session", "loop_id", "all"])]
    positional: Option<String>,
    /// All loops of all projects, ended ones included
    #[arg(long, conflicts_with_all = ["session", "loop_id"])]
    all: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Default)]
struct Replayed {
    loop_id: String,
    n_decided: usize,
    n_without_record: usize,
    n_torn: usize,
    differing: Vec<(JournalEntry, Vec<Difference>)>,
    unusable: Vec<(JournalEntry, String)>,
    /// Why the journal could not be replayed.
    problem: Option<String>,
}

pub(crate) fn run(args: &Args) -> Result<Exit> {
    let here = Here::gather()?;
    let replayed: Vec<Replayed> = match args.all {
        true => every_folder(&here)
            .map(|(id, folder)| {
                let problem = |error| Replayed { problem: Some(error), ..Replayed::default() };
                let one = replay(&folder).unwrap_or_else(|error| problem(format!("{error:#}")));
                Replayed { loop_id: id, ..one }
            })
            .collect(),
        false => {
            let which = args.which.clone().or(args.positional.as_ref());
            let found = select_loop::recent(&here, &which)?;
            let one = replay(found.file.folder()).map_err(bad_state)?;
            vec![Replayed { loop_id: found.state.loop_id, ..one }]
        }
    };
    if replayed.is_empty() {
        bail!("there is no loop");
    }
    match args.json {
        true => screen::print_json(&document(&replayed))?,
        false => screen::print(&tell(&replayed))?,
    };
    Ok(exit(&replayed))
}

/// An unreadable journal takes precedence, since its decisions are unknown.
fn exit(replayed: &[Replayed]) -> Exit {
    if replayed.iter().any(|one| one.problem.is_some()) {
        Exit::BadState
    } else if replayed.iter().any(|one| !one.differing.is_empty()) {
        Exit::No
    } else {
        Exit::Done
    }
}

/// Every loop that has a folder, by its id. An unreadable state does not matter:
/// the journal stands alone.
fn every_folder(here: &Here) -> impl Iterator<Item = (String, std::path::PathBuf)> {
    let all = select_loop::everything(here).into_iter().chain(lifecycle::ended(&here.home));
    all.map(|(file, state)| {
        let folder = file.folder().to_owned();
        let name = || folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (state.map_or_else(|_| name(), |state| state.loop_id), folder)
    })
}

fn replay(folder: &Path) -> Result<Replayed> {
    let journal = journal::load(folder)?;
    let mut replayed = Replayed { n_torn: journal.n_unreadable, ..Replayed::default() };
    for entry in journal.entries {
        match entry.again() {
            Again::NoRecord => replayed.n_without_record += 1,
            Again::Unusable(why) => replayed.unusable.push((entry, why)),
            Again::Decided(differences) => {
                replayed.n_decided += 1;
                if !differences.is_empty() {
                    replayed.differing.push((entry, differences));
                }
            }
        }
    }
    Ok(replayed)
}

fn tell(replayed: &[Replayed]) -> String {
    let blocks: Vec<String> = replayed.iter().map(tell_one).collect();
    blocks.join("\n")
}

fn tell_one(one: &Replayed) -> String {
    let mut text = format!("loop {}", visible(&one.loop_id));
    if let Some(problem) = &one.problem {
        return format!("{text}\n  {}", visible(problem));
    }
    for (entry, differences) in &one.differing {
        text.push_str(&format!("\n{}", heading(entry)));
        for Difference { what, recorded, today } in differences {
            text.push_str(&format!(
                "\n  {what:<10}recorded: {}; today: {}",
                visible(recorded),
                visible(today)
            ));
        }
    }
    for (entry, why) in &one.unusable {
        text.push_str(&format!("\n{}\n  not decided: {}", heading(entry), visible(why)));
    }
    format!("{text}\n{}", summary(one))
}

fn heading(entry: &JournalEntry) -> String {
    format!(
        "{}  {} at {}",
        screen::local(entry.at),
        visible(&entry.event),
        visible(&entry.position)
    )
}

/// `12 decisions made again, 0 differ; 3 lines are not decided from a record`
fn summary(one: &Replayed) -> String {
    let mut text = format!(
        "{} made again, {}; {} not decided from a record",
        counted(one.n_decided, "decision", "decisions"),
        counted(one.differing.len(), "differs", "differ"),
        counted(one.n_without_record, "line is", "lines are"),
    );
    if !one.unusable.is_empty() {
        let records = counted(one.unusable.len(), "record", "records");
        text.push_str(&format!("; {records} cannot be used"));
    }
    if one.n_torn > 0 {
        let lines = counted(one.n_torn, "line", "lines");
        text.push_str(&format!("; {lines} cannot be read"));
    }
    text
}

fn document(replayed: &[Replayed]) -> Value {
    let loops: Vec<Value> = replayed.iter().map(of_loop).collect();
    json!({"schema_version": 1, "loops": loops})
}

fn of_loop(one: &Replayed) -> Value {
    let differing: Vec<Value> = one
        .differing
        .iter()
        .map(|(entry, differences)| {
            json!({"at": entry.at, "event": entry.event, "position": entry.position,
                "differences": differences})
        })
        .collect();
    let unusable: Vec<Value> = one
        .unusable
        .iter()
        .map(|(entry, why)| {
            json!({"at": entry.at, "event": entry.event, "position": entry.position, "why": why})
        })
        .collect();
    json!({
        "loop_id": one.loop_id,
        "decided": one.n_decided,
        "differing": differing,
        "without_record": one.n_without_record,
        "unusable": unusable,
        "unreadable_lines": one.n_torn,
        "problem": one.problem,
    })
}
