//! `ralph refine …`: improves a plan or the tasks in rounds until they no longer change.

pub(super) mod background;
mod in_session;
mod run;
pub(super) mod show;

use crate::command::complete;
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state, refused};
use crate::command::screen::{self, visible, visible_lines};
use crate::refine::artefact::{self, Artefact, PlanFile};
use crate::refine::{self, Template};
use crate::runs::client::quoted;
use anyhow::Result;
use clap::ValueHint;
use clap_complete::engine::ArgValueCandidates;
use ralph_core::modes::refine::prompt::{Prompt, Tracker, variable};
use ralph_core::modes::refine::state::{RefineDocument, Refinement, refused_name};
use ralph_core::modes::refine::{Mode, Status, ideas};
use ralph_core::tasks::plan::lines;
use ralph_io::client::given;
use ralph_io::store::beads::{self, Bd};
use ralph_io::store::refine as kept;
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
    End(in_session::EndArgs),
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
struct RefinementArg {
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
            RefineCommand::Begin(args) => args.plan(),
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
        RefineCommand::End(args) => in_session::end(&here, args),
        RefineCommand::Prompt(args) => print_prompt(&here, args),
        RefineCommand::Ideas => ideas(&here),
        RefineCommand::Peek(args) => background::peek(&here, args),
        RefineCommand::Attach(args) => background::attach(&here, args),
        RefineCommand::Within { .. } => unreachable!("it was carried out above"),
    }
}

// Finds the refinement that a command means, and what it refines.

/// The named refinement, else the project's only one that fits.
fn one(
    place: &RefineStore,
    name: Option<&str>,
    fits: impl Fn(&Refinement) -> bool,
) -> Result<(String, Refinement)> {
    let document = document(place)?;
    if let Some(name) = name {
        let found = document.session(name).map_err(|damaged| bad_state(damaged.into()))?;
        let found = found.map(|session| (name.to_owned(), session));
        return found.ok_or_else(|| {
            refused(
                Exit::No,
                format!("there is no refinement `{}`; {}", visible(name), there_are(&document)),
            )
        });
    }
    let mut found: Vec<(String, Refinement)> = document
        .sessions()
        .filter_map(|(name, session)| Some((name.to_owned(), session.ok()?)))
        .filter(|(_, session)| fits(session))
        .collect();
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(refused(Exit::No, format!("no refinement fits; {}", there_are(&document)))),
        _ => {
            let names: Vec<String> = found.iter().map(|(name, _)| visible(name)).collect();
            let message =
                format!("several refinements fit: {}; name one: `--id NAME`", names.join(", "));
            Err(refused(Exit::No, message))
        }
    }
}

/// All refinements of the project; an unreadable document is an error with its own exit code.
fn document(place: &RefineStore) -> Result<RefineDocument> {
    place.document().map_err(bad_state)
}

fn there_are(document: &RefineDocument) -> String {
    let names: Vec<String> =
        document.sessions().map(|(name, _)| format!("`{}`", visible(name))).collect();
    match names.is_empty() {
        true => "`ralph refine loop` begins one".to_owned(),
        false => format!("there are {}", names.join(", ")),
    }
}

fn artefact(
    here: &Here,
    place: &RefineStore,
    name: &str,
    session: &Refinement,
) -> Result<Artefact> {
    match session.mode {
        // `join` keeps an absolute path as it is.
        Mode::Plan => {
            Ok(Artefact::Plan(PlanFile::find(place, name, &place.root().join(&session.plan_file))?))
        }
        _ => Artefact::tasks(here),
    }
}

/// Refuses an invalid refinement name.
fn sound(name: &str) -> Result<()> {
    refused_name(name).map_or(Ok(()), |why| Err(refused(Exit::Usage, visible(&why))))
}

/// The default name: after the plan or the project, with a number appended if the refinement of
/// that name is over or refines something else.
fn unnamed(
    place: &RefineStore,
    document: &RefineDocument,
    mode: &Mode,
    plan_file: &str,
    max_iterations: Option<u32>,
) -> String {
    let from = if *mode == Mode::Plan { std::path::Path::new(plan_file) } else { place.root() };
    let word = match mode {
        Mode::Plan => from.file_stem(),
        _ => from.file_name(),
    };
    let word = word.and_then(|word| word.to_str()).filter(|word| refused_name(word).is_none());
    let word = word.unwrap_or("project");
    let goes_on = |name: &String| match document.session(name) {
        Ok(None) => true,
        Ok(Some(session)) => {
            let has_more = session.status == Status::MaxIterations
                && max_iterations.is_some_and(|most| most > session.iterations_completed);
            session.shares_artefact(mode, plan_file) && (!session.status.is_over() || has_more)
        }
        Err(_) => false,
    };
    let numbered = (2..).map(|number: u32| format!("{word}-{number}"));
    std::iter::once(word.to_owned()).chain(numbered).find(goes_on).unwrap_or_default()
}

/// The existing refinement or a new one, with the requested number of rounds.
fn open(
    place: &RefineStore,
    name: &str,
    artefact: &Artefact,
    most: Option<u32>,
    new: impl FnOnce() -> Refinement,
) -> Result<Refinement> {
    place.update(|document| {
        let mut session = match document.session(name)? {
            Some(found) if !found.shares_artefact(&artefact.mode(), artefact.plan_file()) => {
                let what = match found.mode {
                    Mode::Plan => format!("`{}`", found.plan_file),
                    _ => "the tasks".to_owned(),
                };
                let message = format!(
                    "the refinement `{name}` refines {what}; choose another name: `--id NAME`"
                );
                return Err(refused(Exit::No, message));
            }
            Some(found) => found,
            None => new(),
        };
        if let Some(most) = most {
            session.settings.max_iterations = most;
        }
        document.put(name, session.clone())?;
        Ok(session)
    })
}

/// The error for a plan or tasks that someone else works on.
fn taken(document: &RefineDocument, name: &str, artefact: &Artefact) -> anyhow::Error {
    let (mode, plan_file) = (artefact.mode(), artefact.plan_file());
    let mut names: Vec<&str> = document.rivals(name, &mode, plan_file);
    let is_own = document.session(name).is_ok_and(|own| own.is_some_and(|own| own.round.is_some()));
    if names.is_empty() && is_own {
        names.push(name);
    }
    let whose = match names.first() {
        Some(name) => format!("the refinement `{}` is at work", visible(name)),
        None => "another `ralph refine` is at work".to_owned(),
    };
    let on = if plan_file.is_empty() {
        "the tasks".to_owned()
    } else {
        format!("`{}`", visible(plan_file))
    };
    refused(
        Exit::No,
        format!(
            "{whose} on {on}; nothing was changed: wait for it, or end it with Ctrl-C or `ralph cancel --id NAME`"
        ),
    )
}

/// The name quoted for a shell, so that a copied command names exactly this refinement.
fn word(name: &str) -> String {
    visible(&quoted(name))
}

/// Whether someone works on what this refinement refines.
fn is_held(place: &RefineStore, session: &Refinement) -> bool {
    place.is_held(&session.mode, &session.plan_file)
}

/// Gives the error for a damaged document its own exit code, for scripts.
fn with_exit_code(error: anyhow::Error) -> anyhow::Error {
    if kept::is_damaged(&error) { bad_state(error) } else { error }
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
    let found = Prompt::ALL.into_iter().find(|prompt| prompt.name() == text);
    found.ok_or_else(|| {
        let names: Vec<&str> =
            Prompt::ALL.into_iter().filter(|it| !is_of_round(*it)).map(Prompt::name).collect();
        format!("no prompt `{text}`; type one of {}", names.join(", "))
    })
}

fn is_of_round(prompt: Prompt) -> bool {
    matches!(prompt, Prompt::BeadRefiner | Prompt::PlanImprover)
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
    if is_of_round(prompt) {
        return Err(refused(
            Exit::Usage,
            "`ralph refine begin` opens a round and prints its prompt",
        ));
    }
    let wants = |name| prompt.variables().contains(&name);
    if wants(variable::PLAN_FILE) && args.plans.is_empty() {
        let message = format!("`{}` needs a plan: type `--plan FILE`", prompt.name());
        return Err(refused(Exit::Usage, message));
    }
    if wants(variable::OTHER_PLANS) && args.plans.len() < 2 {
        return Err(refused(
            Exit::Usage,
            "`synthesizer` needs several plans: type `--plan FILE` once for each",
        ));
    }
    let name =
        here.root.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let plan = args.plans.first().cloned().unwrap_or_default();
    let subject = match plan.as_str() {
        "" => format!("What you review: the tasks of this project. {}", tracker(here).how()),
        plan => format!("What you review: the plan `{plan}`."),
    };
    let others = args.plans.get(1..).unwrap_or_default().join("\n");
    let all = [
        (variable::SESSION_NAME, name.as_str()),
        (variable::PLAN_FILE, &plan),
        (variable::OTHER_PLANS, &others),
        (variable::SUBJECT, &subject),
        (variable::TASKS, tracker(here).how()),
        (variable::WISH, WISH),
    ];
    let given: Vec<(&str, &str)> = all.into_iter().filter(|(name, _)| wants(name)).collect();
    screen::print(&visible_lines(&Template::load(&here.root, prompt)?.fill(&given)?))
}

/// Beads if the project has a store and `bd` is installed, else Ralph's task graph.
pub(crate) fn tracker(here: &Here) -> Tracker {
    let is_beads = beads::has_store(&here.root) && Bd::find().is_ok();
    if is_beads { Tracker::Beads } else { Tracker::TaskGraph }
}

fn ideas(here: &Here) -> Result<Exit> {
    let found = ideas::read(&given::stdin()?).map_err(|problems| {
        problems.iter().for_each(|problem| screen::tell(&visible(&problem.to_string())));
        refused(
            Exit::No,
            "the ideas cannot be read; hand over the whole answer, with its block of ideas",
        )
    })?;
    let tasks = artefact::tasks(&artefact::in_no_session(here))?;
    screen::print(&lines::render(&ideas::behind(&tasks, &found)))
}
