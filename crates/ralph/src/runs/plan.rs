//! The rounds of `ralph plan`, exactly as many as requested.
//!
//! Each round is one client that gets the current task graph. The planner updates the graph itself,
//! with `ralph plan-sync`. A planner's words never end the run early.

use crate::command::context_dir::Here;
use crate::command::exit::Exit;
use crate::command::select_loop::{self, LoopArgs};
use crate::runs::client::{self, ClientRound, RoundOutcome};
use crate::runs::engine::{self, ClientRunner, MemberExit, Owner, RunEnd, Then};
use crate::runs::options::{self, ClientOptions};
use crate::runs::worker::RoundOrder;
use anyhow::Result;
use ralph_core::state::LoopState;
use ralph_core::tasks::graph::render::{self, Show};
use ralph_core::text::plural::counted;
use ralph_io::process::interrupts::Interrupts;
use std::path::{Path, PathBuf};

/// The options of a `ralph plan` run.
pub(crate) struct Planner<'a> {
    pub(crate) here: &'a Here,
    pub(crate) client: &'a ClientOptions,
    pub(crate) rounds: u32,
    pub(crate) logs: PathBuf,
}

struct PlanRounds<'a> {
    plan: &'a Planner<'a>,
    runner: ClientRunner<'a, ()>,
    /// The number of the current round, or of the last one.
    number: u32,
    failed: u32,
    /// Why no other round follows.
    stops: Option<String>,
}

impl<'a> Owner<'a> for PlanRounds<'a> {
    type Verdict = ();

    fn runner(&mut self) -> &mut ClientRunner<'a, ()> {
        &mut self.runner
    }

    fn go_on(&mut self, _: Option<&LoopState>) -> Result<Then> {
        if self.stops.is_some() || self.number >= self.plan.rounds {
            self.runner.stop(RunEnd::Decided(()));
            return Ok(Then::Again);
        }
        self.number += 1;
        let round = self.plan.round(self.number)?;
        let label = round.label.clone();
        let alone = self.plan.logs.join("round");
        let order = RoundOrder::new(round, &self.plan.client.policy(), &alone);
        self.runner.start(&label, (&label, ""), &order).map(|()| Then::Again)
    }

    fn gone(&mut self, name: &str, gone: MemberExit) -> Result<()> {
        let came = gone.result()?;
        self.runner.remove(name, &came);
        let went_well = matches!(came.outcome, RoundOutcome::Finished { is_error: false, .. });
        self.failed += u32::from(!went_well);
        self.stops = options::stops(&came.outcome);
        Ok(())
    }
}

impl Planner<'_> {
    pub(crate) fn all(&self) -> Result<Exit> {
        let interrupts = Interrupts::catch()?;
        let runner = ClientRunner::one((self.here, None), &interrupts, "plan")?;
        let mut run = PlanRounds { plan: self, runner, number: 0, failed: 0, stops: None };
        engine::work(&mut run)?;
        let PlanRounds { number, failed, stops, .. } = run;
        let asked = (number < self.rounds).then(|| "as you asked".to_owned());
        if let Some(why) = stops.or(asked) {
            return Err(options::broke_off(format!(
                "planning ended after round {number} of {}: {why}",
                self.rounds
            )));
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
            label,
            ..self.client.round(self.here, "plan", self.logs.join(format!("round-{number}.jsonl")))
        })
    }
}

/// The graph as `ralph task list --all --markdown` prints it, of the loop that `ralph plan-sync`
/// will use in the round; empty if nothing is planned.
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
