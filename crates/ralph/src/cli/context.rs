//! `ralph context`: what a session is told about its project when it begins.
//!
//! Prints the page, and reports which facts are missing from it.

use crate::command::context_dir::Here;
use crate::command::exit::Exit;
use crate::command::screen;
use anyhow::Result;
use ralph_core::project::project_facts::page;
use ralph_io::project::facts::{self, Gathered};
use ralph_io::project::settings;
use serde_json::json;
use std::io::{IsTerminal, stderr};

const LATE: &str = "took too long and is left out";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<Exit> {
    let here = Here::gather()?;
    let (settings, problems) = settings::read(&here.home, &here.root);
    problems.iter().for_each(|problem| screen::tell(problem));
    let choice = settings.facts();
    let gathered = facts::gather_from_disk(&here.root, &choice);
    if args.json {
        return screen::print_json(&document(&gathered, choice.is_enabled()));
    }
    if !choice.is_enabled() {
        screen::tell("`context.enabled` is false in the settings: no session is told this.");
    }
    for kind in &gathered.late {
        screen::tell(&format!("{}: {LATE}", kind.name));
    }
    match page::page(&gathered.facts, choice.size()) {
        Some(page) => return screen::print(&page),
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
