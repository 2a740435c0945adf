//! `ralph status`: which loops there are and where they stand, for people and for programs.
//!
//! What cannot be read is listed with the reason, never left out.

use super::exit::{Exit, refused};
use super::here::Here;
use super::screen::{self, Colour, visible};
use super::which::{self, Which};
use anyhow::Result;
use jiff::Timestamp;
use ralph_core::graph;
use ralph_core::state::{Criterion, LoopState, Phase};
use ralph_io::store::LoopFile;
use ralph_io::{lifecycle, project};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What a person may say about the list.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// All loops of all projects, those that have ended included
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    which: Which,
}

/// What was found.
#[derive(Default)]
struct Listed {
    loops: Vec<(LoopFile, LoopState)>,
    unreadable: Vec<(PathBuf, String)>,
}

/// Lists the loops.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let here = Here::gather()?;
    let listed = gather(&here, args)?;
    if args.json {
        screen::print_json(&document(&listed, here.now))?;
        return Ok(Exit::Done);
    }
    let mut blocks: Vec<String> =
        listed.loops.iter().map(|(_, state)| describe(state, here.now)).collect();
    blocks.extend(listed.unreadable.iter().map(|(_, why)| {
        format!("{}  {}", screen::coloured("unreadable", Colour::Red), visible(why))
    }));
    if blocks.is_empty() {
        blocks.push(format!(
            "no loop is live or planned in `{}`; type /ralph \"what to do\" in Claude Code, or \
             `ralph status --all` for all loops",
            here.root.display()
        ));
    }
    screen::print(&blocks.join("\n\n"))?;
    Ok(Exit::Done)
}

fn gather(here: &Here, args: &Args) -> Result<Listed> {
    let mut listed = Listed::default();
    if args.which.is_named() {
        let found = which::named(here, &args.which)?;
        let found = found.ok_or_else(|| refused(Exit::No, "there is no such loop"))?;
        listed.loops.push((found.file, found.state));
        return Ok(listed);
    }
    let identity = here.project();
    let is_meant = |state: &LoopState| {
        let open = state.is_live() || state.phase == Phase::Planned;
        open && project::identity(Path::new(&state.project_root)) == identity
    };
    let ended = if args.all { lifecycle::ended(&here.home) } else { Vec::new() };
    for (file, state) in which::everything(here).into_iter().chain(ended) {
        match state {
            Ok(state) if args.all || is_meant(&state) => listed.loops.push((file, state)),
            Ok(_) => {}
            Err(error) => listed.unreadable.push((file.path().to_owned(), format!("{error:#}"))),
        }
    }
    Ok(listed)
}

fn document(listed: &Listed, now: Timestamp) -> Value {
    let loops: Vec<Value> =
        listed.loops.iter().map(|(file, state)| of_loop(file, state, now)).collect();
    let unreadable: Vec<Value> = listed
        .unreadable
        .iter()
        .map(|(path, reason)| json!({"path": path.display().to_string(), "reason": reason}))
        .collect();
    json!({"schema_version": 1, "loops": loops, "unreadable": unreadable})
}

fn of_loop(file: &LoopFile, state: &LoopState, now: Timestamp) -> Value {
    let criteria: Vec<Value> = state.acceptance_criteria.iter().map(of_criterion).collect();
    json!({
        "loop_id": state.loop_id,
        "session_id": state.session_id,
        "mode": state.mode,
        "phase": state.phase,
        "resume_phase": state.resume_phase,
        "iteration": state.iteration,
        "max_iterations": state.max_iterations,
        "project_root": state.project_root,
        "prompt": state.prompt,
        "completion": state.completion,
        "criteria": criteria,
        "tasks": graph::summary(&state.task_graph, now),
        "pause": state.pause,
        "ending": state.ending,
        "created_at": state.created_at,
        "started_at": state.started_at,
        "updated_at": state.updated_at,
        "started_by": state.started_by,
        "state_file": file.path().display().to_string(),
    })
}

fn of_criterion(criterion: &Criterion) -> Value {
    json!({
        "id": criterion.id,
        "description": criterion.description,
        "command": criterion.verification_command,
        "verified": criterion.verified,
        "state": standing(criterion),
    })
}

fn standing(criterion: &Criterion) -> &'static str {
    if criterion.verified { "verified" } else { "unverified" }
}

fn describe(state: &LoopState, now: Timestamp) -> String {
    let mut text = format!(
        "{}  {}  {}",
        visible(&state.loop_id),
        screen::coloured(&visible(state.phase.as_str()), colour(state)),
        state.position()
    );
    for (label, value) in rows(state, now) {
        if !value.is_empty() {
            text.push_str(&format!("\n  {label:<9}{}", visible(&value)));
        }
    }
    let width = |part: fn(&Criterion) -> &str| {
        state.acceptance_criteria.iter().map(|one| visible(part(one)).chars().count()).max()
    };
    let id = width(|criterion| &criterion.id).unwrap_or_default();
    let name = width(|criterion| &criterion.description).unwrap_or_default().min(40);
    for criterion in &state.acceptance_criteria {
        let row = format!(
            "{:<id$}  {:<10}  {:<name$}  {}",
            visible(&criterion.id),
            standing(criterion),
            visible(&criterion.description),
            visible(&criterion.verification_command)
        );
        text.push_str(&format!("\n    {}", row.trim_end()));
    }
    text
}

fn rows(state: &LoopState, now: Timestamp) -> [(&'static str, String); 6] {
    let pause = state.pause.as_ref().map(|pause| match pause.detail.as_str() {
        "" => pause.cause.to_string(),
        detail => format!("{}: {detail}", pause.cause),
    });
    let ending = state.ending.as_ref().map(|ending| match ending.detail.as_str() {
        "" => ending.kind.to_string(),
        detail => format!("{}: {detail}", ending.kind),
    });
    let tasks = graph::summary(&state.task_graph, now);
    let tasks = match (tasks.total, tasks.ready) {
        (0, _) => String::new(),
        (_, ready) => format!("{}, {ready} ready", tasks.describe()),
    };
    let goal = match state.prompt.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &state.prompt[..end]),
        None => state.prompt.clone(),
    };
    [
        ("goal", goal.split_whitespace().collect::<Vec<_>>().join(" ")),
        ("project", state.project_root.clone()),
        ("session", state.session_id.clone()),
        ("paused", pause.unwrap_or_default()),
        ("ended", ending.unwrap_or_default()),
        ("tasks", tasks),
    ]
}

fn colour(state: &LoopState) -> Colour {
    match state.phase {
        Phase::Implementation | Phase::Verification => Colour::Green,
        Phase::Paused => Colour::Yellow,
        _ => Colour::Dim,
    }
}
