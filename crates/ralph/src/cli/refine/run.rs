//! `ralph refine loop`: the rounds of a refinement, one after another.
//!
//! The rules in `ralph_core` decide when a refinement ends, from what a round says and what was
//! measured; this module carries that out. An interrupted refinement can be continued by its name.

use super::background;
use crate::cli::refine::{self, in_session};
use crate::cli::task;
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, must_exist, refused};
use crate::command::screen::{self, visible};
use crate::command::{complete, number};
use crate::refine::artefact::{Artefact, PlanFile};
use crate::refine::{Refiner, Rounded, Template, close_what_was_left, notice, of_rounds};
use crate::runs::client;
use crate::runs::engine::wait_for_earlier;
use crate::runs::options::{self, ClientOptions};
use anyhow::Result;
use clap_complete::engine::ArgValueCandidates;
use ralph_core::modes::refine::prompt::Tracker;
use ralph_core::modes::refine::state::Refinement;
use ralph_core::modes::refine::{Mode, RefineEvent, RefineOutcome, chart, say, step};
use ralph_core::protocol::permission::Need;
use ralph_core::state::LimitFlag;
use ralph_core::views::notice::NoticeEvent;
use ralph_io::process::wait_any::{InterruptRequest, Interrupts};
use ralph_io::project::{settings, user_files};
use ralph_io::store::refine::{Commits, RefineStore};
use std::cell::Cell;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// What is refined.
#[derive(Debug, clap::Args)]
pub(crate) struct Subject {
    /// What `--plan` decides otherwise
    #[arg(long, value_enum, hide = true)]
    mode: Option<What>,
    /// File of the plan to refine [default: the tasks are refined]
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Name of the refinement [default: after the plan or the project]
    #[arg(
        long = "id",
        value_name = "NAME",
        allow_hyphen_values = true,
        add = ArgValueCandidates::new(complete::refinements)
    )]
    pub(super) name: Option<String>,
}

impl Subject {
    pub(super) fn named_plan(&self) -> Option<&Path> {
        self.plan.as_deref()
    }
}

/// How it is refined, and how the client is called.
#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    subject: Subject,
    /// Maximum number of rounds [default: the settings, otherwise 10]
    #[arg(
        short = 'n',
        long,
        value_name = "N",
        value_parser = number::limit::<u32>(LimitFlag::MaxIterations),
        allow_hyphen_values = true
    )]
    max_iterations: Option<u32>,
    /// The model, passed as the client's `--model`
    #[arg(
        long,
        value_name = "MODEL",
        default_value = "opus",
        add = ArgValueCandidates::new(complete::models)
    )]
    model: String,
    /// Show the changes of each round and ask before they are kept
    #[arg(long)]
    confirm: bool,
    /// Commit the plan after each accepted round
    #[arg(long)]
    commit: bool,
    /// Send no notification at the end
    #[arg(long)]
    no_notify: bool,
    /// Print where the text of each prompt comes from
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    client: ClientOptions,
}

/// As many rounds as it takes.
#[derive(Debug, clap::Args)]
pub(crate) struct Loop {
    #[command(flatten)]
    run: RunArgs,
    /// Make one round
    #[arg(long, conflicts_with = "background")]
    once: bool,
    /// Run in a tmux session `refine-NAME` and return at once
    #[arg(long)]
    background: bool,
}

/// What may be refined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum What {
    /// The project's beads if it uses `bd`, otherwise its tasks
    Beads,
    /// A plan in a file
    Plan,
}

/// A client that crashes this often in a row is not started again.
const MOST_CRASHES: u32 = 3;

/// Runs rounds until the refinement ends, here or in tmux.
pub(super) fn all(here: &Here, args: &Loop) -> Result<Exit> {
    let start = RefineSetup::prepare(here, &args.run)?;
    if args.once {
        return start.run(Rounds::One);
    }
    if !args.background || args.run.client.dry_run {
        return start.run(Rounds::All);
    }
    client::CLIENT.program()?;
    start.is_free()?;
    args.run.client.check(here, "refine", &needs(&start.artefact))?;
    if background::start(&start.place, &start.name)? {
        return Ok(Exit::Done);
    }
    start.run(Rounds::All)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rounds {
    One,
    All,
}

/// Everything that is known before anything is written.
struct RefineSetup<'a> {
    here: &'a Here,
    args: &'a RunArgs,
    place: RefineStore,
    name: String,
    artefact: Artefact,
    template: Template,
}

impl<'a> RefineSetup<'a> {
    fn prepare(here: &'a Here, args: &'a RunArgs) -> Result<RefineSetup<'a>> {
        let place = RefineStore::open(&here.home, &here.root);
        let (name, artefact) = args.subject.find(here, &place, args.max_iterations)?;
        args.can_confirm(&artefact)?;
        args.can_commit(&artefact)?;
        if args.explain {
            refine::explain(here);
        }
        let template = of_rounds(&here.root, &artefact)?;
        Ok(RefineSetup { here, args, place, name, artefact, template })
    }

    /// Refuses if someone else works on the same plan or tasks.
    fn is_free(&self) -> Result<()> {
        self.is_in_no_conversation()?;
        match self.place.is_held(&self.artefact.mode(), self.artefact.plan_file()) {
            true => Err(refine::taken(&refine::document(&self.place)?, &self.name, &self.artefact)),
            false => Ok(()),
        }
    }

    fn is_in_no_conversation(&self) -> Result<()> {
        in_session::none_beside(self.here, &refine::document(&self.place)?, &self.artefact)
    }

    fn run(self, wanted: Rounds) -> Result<Exit> {
        if self.args.client.dry_run {
            return self.show();
        }
        client::CLIENT.program()?;
        self.place.prepare(&self.here.home)?;
        let held = self.place.hold(&self.artefact.mode(), self.artefact.plan_file())?;
        let Some(_held) = held else {
            return Err(refine::taken(&refine::document(&self.place)?, &self.name, &self.artefact));
        };
        self.is_in_no_conversation()?;
        self.args.client.check(self.here, "refine", &needs(&self.artefact))?;
        let of_round = self.place.round(&self.artefact.mode(), self.artefact.plan_file());
        wait_for_earlier(&of_round)?;
        let stands = self.open().map_err(refine::with_exit_code)?;
        close_what_was_left(&self.place, &self.name, &self.artefact, &stands)?;
        let notifies = wanted == Rounds::All && !self.args.no_notify;
        let refiner = Refiner { notifies, ..self.refiner() };
        user_files::make_folders(&refiner.logs, 0o700)?;
        screen::tell(&visible(&format!(
            "refining {} as `{}`; logs in {}",
            on(&refiner.artefact),
            refiner.name,
            refiner.logs.display()
        )));
        let interrupts = Interrupts::catch()?;
        let done = rounds_of(&refiner, wanted, &interrupts);
        end(&refiner, done, &interrupts)
    }

    fn open(&self) -> Result<Refinement> {
        let most = self.args.max_iterations;
        refine::open(&self.place, &self.name, &self.artefact, most, || self.new_session())
    }

    fn new_session(&self) -> Refinement {
        let mut bounds = bounds(self.here);
        bounds.max_iterations = self.args.max_iterations.unwrap_or(bounds.max_iterations);
        Refinement::new(self.artefact.mode(), self.artefact.plan_file(), bounds, self.here.now)
    }

    fn refiner(self) -> Refiner<'a> {
        Refiner {
            here: self.here,
            client: &self.args.client,
            model: &self.args.model,
            logs: options::logs(self.here, "refine"),
            place: self.place,
            name: self.name,
            artefact: self.artefact,
            template: self.template,
            confirms: self.args.confirm,
            notifies: !self.args.no_notify,
            commits: self.args.commit,
            lacks_commit: Cell::new(false),
            store: task::store,
        }
    }

    /// Prints the command of the next round.
    fn show(self) -> Result<Exit> {
        let document = refine::document(&self.place)?;
        let found =
            document.session(&self.name).map_err(|why| refine::with_exit_code(why.into()))?;
        let session = found.unwrap_or_else(|| self.new_session());
        let refiner = self.refiner();
        let round = refiner.order(&session, session.iterations_completed + 1)?;
        options::show(&round)
    }
}

/// Refuses if the refinement has no further round, before anything is made for one.
pub(super) fn may_begin(name: &str, stands: &Refinement) -> Result<()> {
    let mut tried = Refinement { round: None, ..stands.clone() };
    match step(&mut tried, RefineEvent::Begun { artefact: "" }, stands.started_at) {
        Ok(_) => Ok(()),
        Err(refusal) => Err(refused(Exit::No, visible(&format!("`{name}`: {refusal}")))),
    }
}

/// The settings of a new refinement. Prints the problems found in them.
pub(super) fn bounds(here: &Here) -> ralph_core::modes::refine::RefineSettings {
    let (settings, problems) = settings::read(&here.home, &here.root);
    problems.iter().for_each(|problem| screen::tell(&visible(problem)));
    settings.refine().bounds()
}

impl Subject {
    /// The refinement's name, and what it refines.
    pub(super) fn find(
        &self,
        here: &Here,
        place: &RefineStore,
        max_iterations: Option<u32>,
    ) -> Result<(String, Artefact)> {
        self.name.as_deref().map_or(Ok(()), refine::sound)?;
        let document = refine::document(place)?;
        // A name alone continues with what that refinement refines already.
        if let Some(name) =
            self.name.as_ref().filter(|_| self.mode.is_none() && self.plan.is_none())
            && let Some(found) =
                document.session(name).map_err(|why| refine::with_exit_code(why.into()))?
        {
            return Ok((name.clone(), refine::artefact(here, place, name, &found)?));
        }
        let plan_file = match self.plan()? {
            Some(path) => {
                must_exist(path)?;
                Some((PlanFile::find(place, "", path)?.name, path))
            }
            None => None,
        };
        let mode = if plan_file.is_some() { Mode::Plan } else { Mode::Beads };
        let plan = plan_file.as_ref().map_or("", |(name, _)| name.as_str());
        let name = self
            .name
            .clone()
            .unwrap_or_else(|| refine::unnamed(place, &document, &mode, plan, max_iterations));
        let artefact = match plan_file {
            Some((_, path)) => Artefact::Plan(PlanFile::find(place, &name, path)?),
            None => Artefact::tasks(here)?,
        };
        Ok((name, artefact))
    }

    /// The plan's file, if a plan is refined.
    fn plan(&self) -> Result<Option<&PathBuf>> {
        match (self.mode, &self.plan) {
            (Some(What::Plan), None) => Err(refused(
                Exit::Usage,
                "`--mode plan` refines a file: say which with `--plan FILE`",
            )),
            (Some(What::Beads), Some(_)) => Err(refused(
                Exit::Usage,
                "`--plan` names a plan, and `--mode beads` refines the tasks; leave one of them out",
            )),
            (_, plan) => Ok(plan.as_ref()),
        }
    }
}

impl RunArgs {
    fn can_confirm(&self, artefact: &Artefact) -> Result<()> {
        let why = match artefact {
            _ if !self.confirm || self.client.dry_run => return Ok(()),
            Artefact::Plan(_) if screen::can_ask() => return Ok(()),
            Artefact::Plan(_) => {
                "`--confirm` asks a person, and there is no terminal; leave it out"
            }
            _ => "`--confirm` is for plans: what a round does to tasks is done; leave it out",
        };
        Err(refused(Exit::Usage, why))
    }
}

impl RunArgs {
    /// Refuses if a commit would hold more than the round's work.
    fn can_commit(&self, artefact: &Artefact) -> Result<()> {
        if !self.commit || self.client.dry_run {
            return Ok(());
        }
        let Artefact::Plan(plan) = artefact else {
            let why =
                "`--commit` is for plans: tasks are in no file of the repository; leave it out";
            return Err(refused(Exit::Usage, why));
        };
        let text = user_files::find(&plan.real)?.text.unwrap_or_default();
        let obstacle = Commits::for_plan(&plan.real).and_then(|commits| commits.obstacle(&text));
        match obstacle.map_err(|error| refused(Exit::No, visible(&format!("{error:#}"))))? {
            Some(why) => Err(refused(Exit::No, visible(&why))),
            None => Ok(()),
        }
    }
}

/// A sample of each call that every round makes beyond what it is given: a plan's round may write to
/// its copy, and Ralph's own tasks come back in the last message.
fn needs(artefact: &Artefact) -> Vec<Need> {
    match artefact.tracker() {
        Some(Tracker::Beads) => vec![Need::Bash("bd update b-1 --description x".to_owned())],
        None | Some(Tracker::TaskGraph) => Vec::new(),
    }
}

fn on(artefact: &Artefact) -> String {
    match artefact {
        Artefact::Plan(plan) => format!("`{}`", plan.name),
        Artefact::Beads(_) => "the beads of this project".to_owned(),
        Artefact::Tasks(_) => "the tasks of this project".to_owned(),
    }
}

enum RunEnd {
    /// The refinement's rules say what follows.
    Said(RefineOutcome),
    /// The refinement pauses and can be continued; the text says why.
    Rests(String),
}

fn rounds_of(refiner: &Refiner<'_>, wanted: Rounds, interrupts: &Interrupts) -> Result<RunEnd> {
    let mut crashes = 0;
    loop {
        let is_asked = |interrupts: &Interrupts| {
            (interrupts.asked() != InterruptRequest::Nothing).then(|| "as you asked".to_owned())
        };
        match refiner.round(interrupts).map_err(refine::with_exit_code)? {
            Rounded::Ended(outcome @ RefineOutcome::Next { .. }) => {
                crashes = 0;
                if wanted == Rounds::One {
                    return Ok(RunEnd::Said(outcome));
                }
                if let Some(why) = is_asked(interrupts) {
                    return Ok(RunEnd::Rests(why));
                }
            }
            Rounded::Ended(outcome) => return Ok(RunEnd::Said(outcome)),
            Rounded::Cut { why, stops } => {
                crashes += 1;
                let enough = wanted == Rounds::One || crashes >= MOST_CRASHES;
                let enough = enough.then(|| why.clone());
                if let Some(why) = stops.or_else(|| is_asked(interrupts)).or(enough) {
                    return Ok(RunEnd::Rests(why));
                }
            }
        }
    }
}

fn end(refiner: &Refiner<'_>, done: Result<RunEnd>, interrupts: &Interrupts) -> Result<Exit> {
    let tell = |event: NoticeEvent, text: &str| {
        if refiner.notifies {
            notice::give(refiner, &event, text);
        }
    };
    let goes_on = format!("`ralph refine loop --id {}` continues", refine::word(&refiner.name));
    match done {
        Err(error) => {
            tell(NoticeEvent::Ended, &format!("{error:#}"));
            Err(error)
        }
        Ok(RunEnd::Rests(why)) => {
            tell(NoticeEvent::Paused, &format!("paused: {why}"));
            Err(options::broke_off(
                interrupts.asked() != InterruptRequest::Nothing,
                format!("refinement is paused: {why}; {goes_on}"),
            ))
        }
        Ok(RunEnd::Said(outcome)) => {
            let document = refine::document(&refiner.place)?;
            let session = document
                .session(&refiner.name)
                .map_err(|why| refine::with_exit_code(why.into()))?;
            let Some(session) = session else { return Ok(Exit::Done) };
            let ending = say::ending(&session, &outcome);
            tell(NoticeEvent::Ended, ending.first().map_or("", String::as_str));
            // A terminal already shows the chart of the last round.
            let is_shown = std::io::stdout().is_terminal();
            let mut lines = if is_shown { Vec::new() } else { chart::lines(&session) };
            lines.extend(ending);
            if refiner.lacks_commit.get() {
                lines.push("a round's change stands in the file and in no commit".to_owned());
            }
            if matches!(outcome, RefineOutcome::Next { .. }) {
                lines.push(goes_on);
            }
            for line in &lines {
                screen::print(&visible(line))?;
            }
            // All rounds are used and the artefact is not settled, or a
            // requested commit is missing.
            let is_no = matches!(outcome, RefineOutcome::Cap { .. }) || refiner.lacks_commit.get();
            Ok(if is_no { Exit::No } else { Exit::Done })
        }
    }
}
