//! `ralph context`: what a session is told about its project when it begins.
//!
//! For a person it prints the page and says what is missing on it; `ralph-session-context` asks for it
//! with the room that is left in its answer, and hears nothing else.

use super::context_dir::Here;
use super::exit::Exit;
use super::screen;
use crate::context::{self, Gathered};
use anyhow::Result;
use ralph_core::project::project_facts::page;
use ralph_io::{client::given, project::settings};
use serde_json::json;
use std::io::{IsTerminal, stderr};

/// Why a fact is missing.
const LATE: &str = "took too long and is left out";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// For a session, whose answer has room for so many UTF-16 units
    #[arg(long, hide = true, conflicts_with = "json")]
    room: Option<usize>,
}

pub(crate) fn run(args: &Args) -> Result<Exit> {
    match args.room {
        Some(room) => for_session(room),
        None => for_person(args.json),
    }
}

/// Prints the page, or nothing: also where the settings switch it off.
fn for_session(room: usize) -> Result<Exit> {
    // It is the life of the hook that asked.
    given::end_with_input();
    let here = Here::gather()?;
    let choice = settings::read(&here.home, &here.root).0.facts();
    if !choice.is_enabled() {
        return Ok(Exit::Done);
    }
    let gathered = context::of(&here.root, &choice);
    if let Some(page) = page::page(&gathered.facts, choice.size().min(room)) {
        screen::print(&page)?;
    }
    Ok(Exit::Done)
}

fn for_person(as_json: bool) -> Result<Exit> {
    let here = Here::gather()?;
    let (settings, problems) = settings::read(&here.home, &here.root);
    problems.iter().for_each(|problem| screen::tell(problem));
    let choice = settings.facts();
    let gathered = context::of(&here.root, &choice);
    if as_json {
        screen::print_json(&document(&gathered, choice.is_enabled()))?;
        return Ok(Exit::Done);
    }
    if !choice.is_enabled() {
        screen::tell("`context.enabled` is false in the settings: no session is told this.");
    }
    for kind in &gathered.late {
        screen::tell(&format!("{}: {LATE}", kind.name));
    }
    match page::page(&gathered.facts, choice.size()) {
        Some(page) => screen::print(&page)?,
        None if stderr().is_terminal() => {
            screen::tell("There is nothing to tell about this folder.");
        }
        None => {}
    }
    Ok(Exit::Done)
}

fn document(gathered: &Gathered, is_enabled: bool) -> serde_json::Value {
    let facts: Vec<_> = gathered
        .facts
        .iter()
        .map(
            |(kind, fact)| json!({"name": kind.name, "heading": fact.heading, "lines": fact.lines}),
        )
        .collect();
    let missing: Vec<_> =
        gathered.late.iter().map(|kind| json!({"name": kind.name, "why": LATE})).collect();
    json!({"schema_version": 1, "enabled": is_enabled, "facts": facts, "missing": missing})
}
