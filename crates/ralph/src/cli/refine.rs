//! `ralph refine …`: improves a plan or the tasks in rounds until they no longer change.

pub(super) mod background;
mod in_session;
mod run;
pub(super) mod show;

use crate::command::complete;
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state, usage};
use crate::command::screen::{self, visible, visible_lines};
use crate::refine::{self, Refining, Template, artefact};
use crate::runs::client::quoted;
use anyhow::{Result, anyhow, bail};
use clap::ValueHint;
use clap_complete::engine::ArgValueCandidates;
use ralph_core::modes::refine::ideas;
use ralph_core::modes::refine::prompt::{Prompt, Tracker, variable};
use ralph_core::modes::refine::state::{RefineDocument, Refinement};
use ralph_core::tasks::plan::lines;
use ralph_io::client::given;
use ralph_io::store::beads::{self, Bd};
use ralph_io::store::lock::Lock;
use ralph_io::store::refine::RefineStore;
use std::path::{Path, PathBuf};

/// What to do about a refinement.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum RefineCommand {
    /// Make rounds until nothing changes, or until the limit
    Loop(run::Loop),
    /// Begin a round that an agent of this session makes, and print its prompt
    #[command(hide = true)]
    Begin(in_session::Begin),
    /// End that round; standard input is the agent's last message
    #[command(hide = true)]
    End(RefinementArg),
    /// Print a prompt with its variables filled in
    #[command(hide = true)]
    Prompt(PromptArgs),
    /// Read ideas from standard input and print them as tasks for `ralph task sync`
    #[command(hide = true)]
    Ideas,
    /// Print the present screen of a background refinement
    Peek(background::Name),
    /// Attach to a background refinement; Ctrl-B D detaches
    Attach(background::Name),
    /// What tmux runs: takes the order at a socket, and becomes it
    #[command(hide = true)]
    Within {
        /// The socket
        socket: PathBuf,
    },
}

/// The refinement that a command acts on.
#[derive(Debug, clap::Args)]
pub(crate) struct RefinementArg {
    /// The refinement [default: the only one that fits]
    #[arg(
        long = "id",
        value_name = "NAME",
        allow_hyphen_values = true,
        add = ArgValueCandidates::new(complete::refinements)
    )]
    name: Option<String>,
}

impl RefineCommand {
    /// The plan that a round of the model would work on.
    pub(super) fn plan(&self) -> Option<&Path> {
        match self {
            RefineCommand::Begin(args) => args.subject.plan.as_deref(),
            _ => None,
        }
    }
}

pub(crate) fn run(command: &RefineCommand) -> Result<Exit> {
    if let RefineCommand::Within { socket } = command {
        return Err(ralph_io::terminal::tmux::take_order(socket));
    }
    let here = Here::gather()?;
    match command {
        RefineCommand::Loop(args) => run::all(&here, args),
        RefineCommand::Begin(args) => in_session::begin(&here, args),
        RefineCommand::End(which) => in_session::end(&here, which.name.as_deref()),
        RefineCommand::Prompt(args) => print_prompt(&here, args),
        RefineCommand::Ideas => ideas(&here),
        RefineCommand::Peek(args) => background::peek(&here, args),
        RefineCommand::Attach(args) => background::attach(&here, args),
        RefineCommand::Within { .. } => unreachable!("it was carried out above"),
    }
}

// Finds the refinement that a command means, and what it refines.

fn store(here: &Here) -> RefineStore {
    RefineStore::open(&here.home, &here.root)
}

/// The named refinement, else the project's only one that fits.
fn one(
    place: &RefineStore,
    name: Option<&str>,
    fits: impl Fn(&Refinement) -> bool,
) -> Result<(String, Refinement)> {
    let document = document(place)?;
    let names: Vec<String> =
        document.sessions().map(|(name, _)| format!("`{}`", visible(name))).collect();
    let there_are = match names.is_empty() {
        true => "`ralph refine loop` begins one".to_owned(),
        false => format!("there are {}", names.join(", ")),
    };
    if let Some(name) = name {
        let Some(session) = document.session(name)? else {
            bail!("there is no refinement `{}`; {there_are}", visible(name));
        };
        return Ok((name.to_owned(), session));
    }
    let mut found: Vec<(String, Refinement)> = document
        .sessions()
        .filter_map(|(name, session)| Some((name.to_owned(), session.ok()?)))
        .filter(|(_, session)| fits(session))
        .collect();
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => bail!("no refinement fits; {there_are}"),
        _ => {
            let names: Vec<String> = found.iter().map(|(name, _)| visible(name)).collect();
            bail!("several refinements fit: {}; name one: `--id NAME`", names.join(", "))
        }
    }
}

/// All refinements of the project; an unreadable document is an error with its own exit code.
fn document(place: &RefineStore) -> Result<RefineDocument> {
    place.document().map_err(bad_state)
}

/// The lock of whoever works on this plan or these tasks.
///
/// # Errors
/// If someone else does, in a terminal or in a session.
fn claim(here: &Here, work: &Refining) -> Result<Lock> {
    let held = work.hold()?;
    let held = held.map_or_else(|| Err(taken(work)), Ok)?;
    in_session::none_beside(here, work)?;
    Ok(held)
}

/// The error for a plan or tasks that someone else works on.
fn taken(work: &Refining) -> anyhow::Error {
    let (name, plan_file) = (work.name.as_str(), work.artefact.plan_file());
    let document = work.place.document().unwrap_or_default();
    let own = document.session(name).ok().flatten().filter(|own| own.round.is_some());
    let rival = document.rivals(name, plan_file).first().map(|(rival, _)| *rival);
    let whose = match rival.or(own.map(|_| name)) {
        Some(name) => format!("the refinement `{}` is at work", visible(name)),
        None => "another `ralph refine` is at work".to_owned(),
    };
    anyhow!(
        "{whose} on {}; nothing was changed: wait for it, or end it with Ctrl-C or `ralph cancel --id NAME`",
        on(plan_file)
    )
}

/// A plan, or the tasks if it is empty, in a sentence.
fn on(plan_file: &str) -> String {
    match plan_file {
        "" => "the tasks".to_owned(),
        plan => format!("`{}`", visible(plan)),
    }
}

/// The name quoted for a shell, so that a copied command names exactly this refinement.
fn word(name: &str) -> String {
    visible(&quoted(name))
}

// `ralph refine prompt` and `ralph refine ideas`: print prompts for a skill, and read the ideas
// that come back.

/// Which prompt, and what stands in it.
#[derive(Debug, clap::Args)]
pub(crate) struct PromptArgs {
    /// Name of the prompt
    #[arg(value_name = "NAME", value_parser = named, required_unless_present = "explain")]
    prompt: Option<Prompt>,
    /// File of the plan; for `synthesizer`, give it once for each plan
    #[arg(long = "plan", alias = "with", value_name = "FILE", value_hint = ValueHint::FilePath)]
    plans: Vec<String>,
    /// Print where the text of each prompt comes from
    #[arg(long)]
    explain: bool,
}

/// The user's words are in the conversation already; they never pass through a shell.
const WISH: &str = "(what the person typed with the command, if anything)";

fn named(text: &str) -> Result<Prompt, String> {
    match Prompt::ALL.into_iter().find(|prompt| prompt.name() == text) {
        Some(Prompt::BeadRefiner | Prompt::PlanImprover) => {
            Err("`ralph refine begin` opens a round and prints its prompt".to_owned())
        }
        Some(prompt) => Ok(prompt),
        None => {
            // Those of rounds come first.
            let names: Vec<&str> = Prompt::ALL[2..].iter().map(|prompt| prompt.name()).collect();
            Err(format!("no prompt `{text}`; type one of {}", names.join(", ")))
        }
    }
}

/// Prints where the text of each prompt comes from.
pub(crate) fn explain(here: &Here) {
    refine::explain(&here.root).iter().for_each(|line| screen::tell(&visible(line)));
}

fn print_prompt(here: &Here, args: &PromptArgs) -> Result<Exit> {
    let Some(prompt) = args.prompt else {
        for line in refine::explain(&here.root) {
            screen::print(&visible(&line))?;
        }
        return Ok(Exit::Done);
    };
    if args.explain {
        explain(here);
    }
    let wants = |name| prompt.variables().contains(&name);
    if wants(variable::PLAN_FILE) && args.plans.is_empty() {
        return Err(usage(format!("`{}` needs a plan: type `--plan FILE`", prompt.name())));
    }
    if wants(variable::OTHER_PLANS) && args.plans.len() < 2 {
        return Err(usage("`synthesizer` needs several plans: type `--plan FILE` once for each"));
    }
    let name =
        here.root.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let plan = args.plans.first().cloned().unwrap_or_default();
    let subject = match plan.as_str() {
        "" => format!("What you review: the tasks of this project. {}", tracker(here).how()),
        plan => format!("What you review: the plan `{plan}`."),
    };
    let others = args.plans.get(1..).unwrap_or_default().join("\n");
    let values = [
        (variable::SESSION_NAME, name.as_str()),
        (variable::PLAN_FILE, &plan),
        (variable::OTHER_PLANS, &others),
        (variable::SUBJECT, &subject),
        (variable::TASKS, tracker(here).how()),
        (variable::WISH, WISH),
    ];
    screen::print(&visible_lines(&Template::load(&here.root, prompt)?.fill(&values)?))
}

/// Beads if the project has a store and `bd` is installed, else Ralph's task graph.
pub(crate) fn tracker(here: &Here) -> Tracker {
    let is_beads = beads::has_store(&here.root) && Bd::find().is_ok();
    if is_beads { Tracker::Beads } else { Tracker::TaskGraph }
}

fn ideas(here: &Here) -> Result<Exit> {
    let found = ideas::read(&given::stdin()?).map_err(|problems| {
        problems.iter().for_each(|problem| screen::tell(&visible(&problem.to_string())));
        anyhow!("the ideas cannot be read; hand over the whole answer, with its block of ideas")
    })?;
    let tasks = artefact::tasks(&artefact::in_no_session(here))?;
    screen::print(&lines::render(&ideas::behind(&tasks, &found)))
}
