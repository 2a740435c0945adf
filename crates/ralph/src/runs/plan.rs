//! The rounds of `ralph plan`, exactly as many as were asked for.
//!
//! Each round is one client with the task graph as it is then; the planner brings the graph up to date
//! itself, with `ralph plan-sync`. Nothing that a planner says ends the run early.

use crate::cli::context_dir::Here;
use crate::cli::exit::Exit;
use crate::cli::select_loop::{self, LoopArgs};
use crate::runs::client::{self, ClientRound, RoundOutcome};
use crate::runs::options::{self, ClientOptions};
use crate::runs::single::run_apart;
use anyhow::Result;
use ralph_core::tasks::graph::render::{self, Show};
use ralph_core::text::plural::counted;
use ralph_io::process::interrupts::{InterruptRequest, Interrupts};
use std::path::{Path, PathBuf};

/// What is planned, and how.
pub(crate) struct Planner<'a> {
    pub(crate) here: &'a Here,
    pub(crate) client: &'a ClientOptions,
    pub(crate) rounds: u32,
    pub(crate) logs: PathBuf,
}

impl Planner<'_> {
    pub(crate) fn all(&self) -> Result<Exit> {
        let interrupts = Interrupts::catch()?;
        let mut failed = 0;
        for number in 1..=self.rounds {
            let round = self.round(number)?;
            let came =
                run_apart(&round, &self.logs.join("round"), &interrupts, &self.client.policy())?;
            options::tell(&round.label, &came);
            let went_well = matches!(came.outcome, RoundOutcome::Finished { is_error: false, .. });
            failed += u32::from(!went_well);
            let stops = options::stops(&came.outcome);
            if let Some(why) = stops.or_else(|| asked_to_stop(&interrupts, number, self.rounds)) {
                return Err(options::broke_off(format!(
                    "planning ended after round {number} of {}: {why}",
                    self.rounds
                )));
            }
        }
        match failed {
            0 => Ok(Exit::Done),
            failed => Err(options::broke_off(format!(
                "{failed} of {} failed; their logs are in {}",
                counted(self.rounds as usize, "round", "rounds"),
                self.logs.display()
            ))),
        }
    }

    /// One round, with the graph as it is now.
    pub(crate) fn round(&self, number: u32) -> Result<ClientRound> {
        let label = format!("round {number}/{}", self.rounds);
        let file = self.logs.join(format!("graph-{number}.md"));
        Ok(ClientRound {
            prompt: prompt(&graph(self.here)?, &file, self.client.dry_run)?,
            env: vec![("RALPH_ROUND".to_owned(), "plan".to_owned())],
            extra_args: self.client.args.clone(),
            permission_mode: self.client.permission_mode(self.here),
            log: self.logs.join(format!("round-{number}.jsonl")),
            folder: Some(PathBuf::from(&self.here.root)),
            label,
            ..ClientRound::default()
        })
    }
}

fn asked_to_stop(interrupts: &Interrupts, number: u32, rounds: u32) -> Option<String> {
    (number < rounds && interrupts.asked() != InterruptRequest::Nothing)
        .then(|| "as you asked".to_owned())
}

/// As `ralph task list --all --markdown` prints it; nothing where nothing is planned. Of the loop that
/// `ralph plan-sync` will mean in the round.
fn graph(here: &Here) -> Result<String> {
    let found = select_loop::to_plan(here, &LoopArgs::default())?;
    let markdown = |found: select_loop::FoundLoop| {
        render::markdown(&found.state.task_graph, Show::All, here.now)
    };
    Ok(found.map(markdown).unwrap_or_default())
}

fn prompt(graph: &str, file: &Path, dry_run: bool) -> Result<String> {
    let prompt = format!("/ralph-plan {}", graph.trim()).trim_end().to_owned();
    let words = |file: &Path| {
        format!(
            "/ralph-plan The task graph is too long for a prompt. Read it first: {}",
            file.display()
        )
    };
    match dry_run && prompt.len() > client::LONGEST_PROMPT {
        true => Ok(words(file)),
        false => client::fit(prompt, file, words),
    }
}
