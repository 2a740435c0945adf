//! `ralph refine loop`: the rounds of a refinement, one after another.
//!
//! The rules in `ralph_core` decide when a refinement ends, from what a round says and what was
//! measured; this module carries that out. An interrupted refinement can be continued by its name.

use super::background;
use crate::cli::refine;
use crate::cli::task;
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, must_exist, usage};
use crate::command::screen::{self, visible};
use crate::command::{complete, number};
use crate::refine::artefact::{Artefact, PlanFile};
use crate::refine::{Refining, Template};
use crate::runs::client;
use crate::runs::engine::wait_for_earlier;
use crate::runs::options;
use crate::runs::refine::{RefineOptions, Refiner};
use anyhow::Result;
use clap_complete::engine::ArgValueCandidates;
use ralph_core::modes::refine::prompt::Tracker;
use ralph_core::modes::refine::state::{RefineDocument, Refinement, refused_name};
use ralph_core::modes::refine::{RefineSettings, Status, chart, say};
use ralph_core::protocol::permission::Need;
use ralph_core::state::LimitFlag;
use ralph_core::views::notice::NoticeEvent;
use ralph_io::process::wait_any::{InterruptRequest, Interrupts};
use ralph_io::project::{settings, user_files};
use ralph_io::store::lock::Lock;
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
    pub(super) plan: Option<PathBuf>,
    /// Name of the refinement [default: after the plan or the project]
    #[arg(
        long = "id",
        value_name = "NAME",
        allow_hyphen_values = true,
        add = ArgValueCandidates::new(complete::refinements)
    )]
    name: Option<String>,
}

/// As many rounds as it takes.
#[derive(Debug, clap::Args)]
pub(crate) struct Loop {
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
    #[command(flatten)]
    options: RefineOptions,
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

/// Runs rounds until the refinement ends, here or in tmux.
pub(super) fn all(here: &Here, args: &Loop) -> Result<Exit> {
    let options = &args.options;
    let work = args.subject.find(here, args.max_iterations)?;
    if !options.client.dry_run {
        can_confirm(options, &work.artefact)?;
        can_commit(options, &work.artefact)?;
    }
    if options.explain {
        refine::explain(here);
    }
    let template = Template::load(&here.root, work.artefact.prompt())?;
    let refiner = Refiner {
        here,
        options,
        work,
        template,
        logs: options::logs(here, "refine"),
        once: args.once,
        lacks_commit: Cell::new(false),
        store: task::store,
    };
    if options.client.dry_run {
        return show(&refiner, args);
    }
    client::CLIENT.program()?;
    if args.background {
        drop(claim(&refiner)?);
        if background::start(&refiner.work)? {
            return Ok(Exit::Done);
        }
    }
    run(&refiner, args)
}

/// Refuses if someone else works on the same plan or tasks, or if the client may not do what every
/// round does.
fn claim(refiner: &Refiner<'_>) -> Result<Lock> {
    let Refiner { here, work, options, .. } = refiner;
    work.place.prepare(&here.home)?;
    let held = refine::claim(here, work)?;
    options.client.check(here, "refine", &needs(&work.artefact))?;
    Ok(held)
}

fn run(refiner: &Refiner<'_>, args: &Loop) -> Result<Exit> {
    let work = &refiner.work;
    let _held = claim(refiner)?;
    wait_for_earlier(&work.place.round(work.artefact.plan_file()))?;
    work.open(args.max_iterations, || new_session(refiner, args))?;
    user_files::make_folders(&refiner.logs, 0o700)?;
    let on = match &work.artefact {
        Artefact::Plan(plan) => format!("`{}`", plan.name),
        Artefact::Beads(_) => "the beads of this project".to_owned(),
        Artefact::Tasks(_) => "the tasks of this project".to_owned(),
    };
    let (name, logs) = (&work.name, refiner.logs.display());
    screen::tell(&visible(&format!("refining {on} as `{name}`; logs in {logs}")));
    let interrupts = Interrupts::catch()?;
    let done = refiner.rounds(&interrupts);
    end(refiner, done, &interrupts)
}

fn new_session(refiner: &Refiner<'_>, args: &Loop) -> Refinement {
    let mut bounds = bounds(refiner.here);
    bounds.max_iterations = args.max_iterations.unwrap_or(bounds.max_iterations);
    Refinement::new(refiner.work.artefact.plan_file(), bounds, refiner.here.now)
}

/// Prints the command of the next round.
fn show(refiner: &Refiner<'_>, args: &Loop) -> Result<Exit> {
    let found = refine::document(&refiner.work.place)?.session(&refiner.work.name)?;
    let session = found.unwrap_or_else(|| new_session(refiner, args));
    options::show(&refiner.order(&session, session.iterations_completed + 1)?)
}

/// The settings of a new refinement. Prints the problems found in them.
pub(super) fn bounds(here: &Here) -> RefineSettings {
    let (settings, problems) = settings::read(&here.home, &here.root);
    problems.iter().for_each(|problem| screen::tell(&visible(problem)));
    settings.refine().bounds()
}

impl Subject {
    /// The refinement's name, and what it refines.
    pub(super) fn find(&self, here: &Here, max_iterations: Option<u32>) -> Result<Refining> {
        if let Some(why) = self.name.as_deref().and_then(refused_name) {
            return Err(usage(why));
        }
        let place = refine::store(here);
        let document = refine::document(&place)?;
        // A name alone continues with what that refinement refines already.
        if let Some(name) = &self.name
            && (self.mode.is_none() && self.plan.is_none())
            && let Some(found) = document.session(name)?
        {
            return Refining::of(here, place, name, &found);
        }
        let artefact = match (self.mode, &self.plan) {
            (Some(What::Plan), None) => {
                return Err(usage("`--mode plan` refines a file: say which with `--plan FILE`"));
            }
            (Some(What::Beads), Some(_)) => {
                return Err(usage(
                    "`--plan` names a plan, and `--mode beads` refines the tasks; leave one of them out",
                ));
            }
            (_, None) => Artefact::tasks(here)?,
            (_, Some(path)) => {
                must_exist(path)?;
                Artefact::Plan(PlanFile::find(&place, path)?)
            }
        };
        let name = self
            .name
            .clone()
            .unwrap_or_else(|| unnamed(&place, &document, artefact.plan_file(), max_iterations));
        Ok(Refining { place, name, artefact })
    }
}

/// The default name: after the plan or the project, with a number appended if the refinement of
/// that name is over or refines something else.
fn unnamed(
    place: &RefineStore,
    document: &RefineDocument,
    plan_file: &str,
    max_iterations: Option<u32>,
) -> String {
    let word = match plan_file {
        "" => place.root().file_name(),
        plan => Path::new(plan).file_stem(),
    };
    let word = word.and_then(|word| word.to_str()).filter(|word| refused_name(word).is_none());
    let word = word.unwrap_or("project");
    let goes_on = |name: &String| match document.session(name) {
        Ok(None) => true,
        Ok(Some(session)) => {
            let has_more = session.status == Status::MaxIterations
                && max_iterations.is_some_and(|most| most > session.iterations_completed);
            session.refines(plan_file) && (!session.status.is_over() || has_more)
        }
        Err(_) => false,
    };
    let numbered = (2..).map(|number: u32| format!("{word}-{number}"));
    std::iter::once(word.to_owned()).chain(numbered).find(goes_on).unwrap_or_default()
}

fn can_confirm(options: &RefineOptions, artefact: &Artefact) -> Result<()> {
    match artefact {
        _ if !options.confirm => Ok(()),
        Artefact::Plan(_) if screen::can_ask() => Ok(()),
        Artefact::Plan(_) => {
            Err(usage("`--confirm` asks the user, and there is no terminal; leave it out"))
        }
        _ => {
            Err(usage("`--confirm` is for plans: what a round does to tasks is done; leave it out"))
        }
    }
}

/// Refuses if a commit would hold more than the round's work.
fn can_commit(options: &RefineOptions, artefact: &Artefact) -> Result<()> {
    if !options.commit {
        return Ok(());
    }
    let Artefact::Plan(plan) = artefact else {
        return Err(usage(
            "`--commit` is for plans: tasks are in no file of the repository; leave it out",
        ));
    };
    let text = plan.now()?.text.unwrap_or_default();
    Commits::for_plan(&plan.real)?.check(&text)
}

/// A sample of each call that every round makes beyond what it is given: a plan's round may write to
/// its copy, and Ralph's own tasks come back in the last message.
fn needs(artefact: &Artefact) -> Vec<Need> {
    match artefact.tracker() {
        Some(Tracker::Beads) => vec![Need::Bash("bd update b-1 --description x".to_owned())],
        None | Some(Tracker::TaskGraph) => Vec::new(),
    }
}

/// Says how the rounds ended, or why they pause.
fn end(
    refiner: &Refiner<'_>,
    done: Result<Option<String>>,
    interrupts: &Interrupts,
) -> Result<Exit> {
    let goes_on =
        format!("`ralph refine loop --id {}` continues", refine::word(&refiner.work.name));
    match done {
        Err(error) => {
            refiner.call_user(&NoticeEvent::Ended, &format!("{error:#}"));
            return Err(error);
        }
        Ok(Some(why)) => {
            refiner.call_user(&NoticeEvent::Paused, &format!("paused: {why}"));
            return Err(options::broke_off(
                interrupts.asked() != InterruptRequest::Nothing,
                format!("refinement is paused: {why}; {goes_on}"),
            ));
        }
        Ok(None) => {}
    }
    let session = refiner.work.session()?;
    let ending = say::ending(&session);
    refiner.call_user(&NoticeEvent::Ended, ending.first().map_or("", String::as_str));
    // A terminal already shows the chart of the last round.
    let is_shown = std::io::stdout().is_terminal();
    let mut lines = if is_shown { Vec::new() } else { chart::lines(&session) };
    lines.extend(ending);
    let lacks_commit = refiner.lacks_commit.get();
    if lacks_commit {
        lines.push("a round's change stands in the file and in no commit".to_owned());
    }
    if !session.status.is_over() {
        lines.push(goes_on);
    }
    for line in &lines {
        screen::print(&visible(line))?;
    }
    // All rounds are used and the artefact is not settled, or a requested commit is missing.
    let is_no = session.status == Status::MaxIterations || lacks_commit;
    Ok(if is_no { Exit::No } else { Exit::Done })
}
