//! `ralph plan`: rounds of planning without a person, exactly as many as were asked for.
//!
//! Each round is one client with the task graph as it is then; the planner brings the graph up to date
//! itself, with `ralph plan-sync`. Nothing that a planner says ends the loop early, and nothing is
//! looked for in its words: a word in the wrong message would make the loop endless, or too short.

use super::context_dir::Here;
use super::exit::{Exit, refused};
use super::rounds::{self, ClientOptions};
use super::screen;
use super::select_loop::{self, LoopArgs};
use crate::driver::{self, ClientRound, RoundOutcome};
use anyhow::Result;
use ralph_core::protocol::permission::Need;
use ralph_core::tasks::graph::render::{self, Show};
use ralph_core::text::plural::counted;
use ralph_io::process::interrupts::{InterruptRequest, Interrupts};
use ralph_io::project::user_files;
use std::path::{Path, PathBuf};

/// How many rounds, and how the client is called.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many rounds
    #[arg(
        short = 'n',
        long = "max-iterations",
        value_name = "N",
        default_value = "1",
        value_parser = rounds::count,
        allow_hyphen_values = true
    )]
    rounds: u32,
    #[command(flatten)]
    client: ClientOptions,
}

/// The one call that a planner must be permitted.
const SYNC: &str = "ralph plan-sync <<'RALPH_TASKS'\n{\"id\":\"T-1\"}\nRALPH_TASKS";

/// Runs the rounds.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    if args.rounds == 0 {
        let message = "planning needs at least one round: `ralph plan -n 1`";
        return Err(refused(Exit::Usage, message));
    }
    let here = Here::gather()?;
    let logs = rounds::logs(&here, "plan");
    if args.client.dry_run {
        let round = round(&here, args, &logs, 1)?;
        screen::print(&screen::visible_lines(&driver::command_line(&round)?))?;
        return Ok(Exit::Done);
    }
    driver::client()?;
    if !args.client.tell(&here, &[Need::Bash(SYNC.to_owned())])? {
        screen::tell(
            "the planner stores its tasks by that call, and in no other mode than bypassPermissions does \
             the client let JSON pass in a shell command without a person",
        );
    }
    user_files::make_folders(&logs, 0o700)?;
    screen::tell(&format!(
        "planning in {}; logs in {}",
        counted(args.rounds as usize, "round", "rounds"),
        screen::visible(&logs.display().to_string())
    ));
    all(&here, args, &logs)
}

fn all(here: &Here, args: &Args, logs: &Path) -> Result<Exit> {
    let interrupts = Interrupts::catch()?;
    let mut failed = 0;
    for number in 1..=args.rounds {
        let round = round(here, args, logs, number)?;
        let came =
            driver::run_apart(&round, &logs.join("round"), &interrupts, &args.client.policy())?;
        rounds::tell(&round.label, &came);
        let went_well = matches!(came.outcome, RoundOutcome::Finished { is_error: false, .. });
        failed += u32::from(!went_well);
        let stops = rounds::stops(&came.outcome);
        if let Some(why) = stops.or_else(|| asked_to_stop(&interrupts, number, args.rounds)) {
            return Err(rounds::broke_off(format!(
                "planning ended after round {number} of {}: {why}",
                args.rounds
            )));
        }
    }
    match failed {
        0 => Ok(Exit::Done),
        failed => Err(rounds::broke_off(format!(
            "{failed} of {} failed; their logs are in {}",
            counted(args.rounds as usize, "round", "rounds"),
            logs.display()
        ))),
    }
}

fn asked_to_stop(interrupts: &Interrupts, number: u32, rounds: u32) -> Option<String> {
    (number < rounds && interrupts.asked() != InterruptRequest::Nothing)
        .then(|| "as you asked".to_owned())
}

/// One round, with the graph as it is now.
fn round(here: &Here, args: &Args, logs: &Path, number: u32) -> Result<ClientRound> {
    let label = format!("round {number}/{}", args.rounds);
    let file = logs.join(format!("graph-{number}.md"));
    Ok(ClientRound {
        prompt: prompt(&graph(here)?, &file, args.client.dry_run)?,
        env: vec![("RALPH_ROUND".to_owned(), "plan".to_owned())],
        extra_args: args.client.args.clone(),
        permission_mode: args.client.permission_mode(here),
        log: logs.join(format!("round-{number}.jsonl")),
        folder: Some(PathBuf::from(&here.root)),
        label,
        ..ClientRound::default()
    })
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
    match dry_run && prompt.len() > driver::LONGEST_PROMPT {
        true => Ok(words(file)),
        false => driver::fit(prompt, file, words),
    }
}
