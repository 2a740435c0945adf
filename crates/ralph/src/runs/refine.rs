//! The rounds of a refinement that fresh clients make.

use super::client::{ClientRound, RoundOutcome as Ended, RoundResult};
use super::engine;
use super::options::{self, ClientOptions, MOST_CRASHES};
use super::plan::{self, StoreTasks};
use crate::command::complete;
use crate::command::context_dir::Here;
use crate::command::notify;
use crate::command::screen::{self, local, visible};
use crate::refine::artefact::{Artefact, Content, PlanFile};
use crate::refine::{Refining, Template, tell};
use anyhow::Result;
use clap_complete::engine::ArgValueCandidates;
use ralph_core::modes::refine::prompt::Tracker;
use ralph_core::modes::refine::state::{Refinement, RoundEntry};
use ralph_core::modes::refine::{PlanAfter, say, unified};
use ralph_core::project::settings::NotifySettings;
use ralph_core::tasks::plan::{Problem, lines};
use ralph_core::transcript::stream::Denial;
use ralph_core::views::notice::{LIMITED, Notice, NoticeEvent, WorkWithoutLoop};
use ralph_io::process::wait_any::{InterruptRequest, Interrupts};
use ralph_io::process::{clock, random};
use ralph_io::project::settings;
use ralph_io::store::refine::Commits;
use ralph_io::terminal;
use std::cell::Cell;
use std::path::PathBuf;

/// How a refinement is carried out, and how the client is called.
#[derive(Debug, clap::Args)]
pub(crate) struct RefineOptions {
    /// The model, passed as the client's `--model`
    #[arg(
        long,
        value_name = "MODEL",
        default_value = "opus",
        add = ArgValueCandidates::new(complete::models)
    )]
    pub(crate) model: String,
    /// Show the changes of each round and ask before they are kept
    #[arg(long)]
    pub(crate) confirm: bool,
    /// Commit the plan after each accepted round
    #[arg(long)]
    pub(crate) commit: bool,
    /// Send no notification at the end
    #[arg(long)]
    pub(crate) no_notify: bool,
    /// Print where the text of each prompt comes from
    #[arg(long)]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

/// Runs the rounds of a refinement.
pub(crate) struct Refiner<'a> {
    pub(crate) here: &'a Here,
    pub(crate) options: &'a RefineOptions,
    pub(crate) work: Refining,
    /// Read once: a round that changes the file does not affect later rounds.
    pub(crate) template: Template,
    pub(crate) logs: PathBuf,
    /// True if one round is to be made.
    pub(crate) once: bool,
    /// True once a round should have been committed and was not.
    pub(crate) lacks_commit: Cell<bool>,
    pub(crate) store: StoreTasks,
}

enum Rounded {
    /// The round finished, and perhaps the refinement with it.
    Ended { is_over: bool },
    /// The round was cut: why, and why no other starts, if that is so.
    Cut { why: String, stops: Option<String> },
}

impl Refiner<'_> {
    /// Makes rounds until the refinement ends. Returns why it pauses instead, if it does.
    pub(crate) fn rounds(&self, interrupts: &Interrupts) -> Result<Option<String>> {
        let mut crashes = 0;
        loop {
            let (failed, stops) = match self.round(interrupts)? {
                Rounded::Ended { is_over } if self.once || is_over => {
                    return Ok(None);
                }
                Rounded::Ended { .. } => {
                    crashes = 0;
                    (None, None)
                }
                Rounded::Cut { why, stops } => {
                    crashes += 1;
                    ((self.once || crashes >= MOST_CRASHES).then_some(why), stops)
                }
            };
            let is_asked = interrupts.asked() != InterruptRequest::Nothing;
            let asked = is_asked.then(|| "as you asked".to_owned());
            if let Some(why) = stops.or(asked).or(failed) {
                return Ok(Some(why));
            }
        }
    }

    fn round(&self, interrupts: &Interrupts) -> Result<Rounded> {
        let (found, session) = self.work.begin("")?;
        let number = session.iterations_completed + 1;
        let done = self.order(&session, number).and_then(|round| {
            let came = self.run(&round, interrupts)?;
            self.take(&found, &round, came, interrupts)
        });
        if done.is_err() {
            self.work.could_not();
        }
        done
    }

    /// Calls the user, who is looking elsewhere: through the desktop, else through the terminal's own
    /// notification and its bell; and through the user's command, if one is set.
    pub(crate) fn call_user(&self, event: &NoticeEvent, text: &str) {
        if self.once || self.options.no_notify {
            return;
        }
        let (here, name) = (self.here, self.work.name.as_str());
        let (title, shown) = (visible(&format!("ralph refine: {name}")), visible(text));
        if !terminal::desktop(&title, &shown) {
            screen::ring(&format!("{title}: {shown}"));
        }
        let set = settings::read(&here.home, &here.root).0.notify();
        let project = here.root.to_string_lossy();
        let work = WorkWithoutLoop::Refinement { name, project: &project };
        let clean = |text: &str| notify::clean(text, &[]);
        let notice = Notice::without_loop(&work, event, text, clock::now(), clean);
        // The desktop has it already.
        for delivery in notify::send(&NotifySettings { desktop: None, ..set }, &notice) {
            if delivery.outcome.is_err() {
                screen::tell(&format!("the notification {}", delivery.describe()));
            }
        }
    }

    fn run(&self, round: &ClientRound, interrupts: &Interrupts) -> Result<RoundResult> {
        let alone = self.work.place.round(self.work.artefact.plan_file());
        let limited = |until| self.call_user(&NoticeEvent::Limit { until: local(until) }, LIMITED);
        let owner = options::owner_in(&self.here.root, &self.work.name);
        options::note_owner(&round.log, &owner)?;
        engine::round(self.here, round, &alone, interrupts, &limited)
    }

    /// The round of this number, ready for the client.
    pub(crate) fn order(&self, session: &Refinement, number: u32) -> Result<ClientRound> {
        let log = self.logs.join(format!("round-{number}.jsonl"));
        let round = self.options.client.round(self.here, "refine", log);
        Ok(ClientRound {
            prompt: self.work.prompt(&self.template, session, number, Tracker::how_headless)?,
            session_id: Some(random::uuid()),
            model: Some(self.options.model.clone()),
            label: format!("round {number}/{}", session.settings.max_iterations),
            allowed: round.allowed.into_iter().chain(self.edits_of_copy()).collect(),
            ..round
        })
    }

    fn take(
        &self,
        found: &Content,
        round: &ClientRound,
        came: RoundResult,
        interrupts: &Interrupts,
    ) -> Result<Rounded> {
        let cut = |why: String, stops| {
            self.work.cut(&why)?;
            Ok(Rounded::Cut { why, stops })
        };
        let message = match &came.outcome {
            Ended::Finished { result, is_error: false } => result.clone(),
            other => return cut(other.why("its client ended"), options::stops(other)),
        };
        let message = match self.work.ask_again(&message)? {
            Some(question) => self.ask(round, &came, question, interrupts)?,
            None => message,
        };
        let message = match self.store(&message)? {
            Ok(()) => message,
            Err(problems) => {
                let again = self.ask(round, &came, ask_for_tasks(&problems), interrupts)?;
                if let Err(problems) = self.store(&again)? {
                    let why = problems.first().map(Problem::to_string).unwrap_or_default();
                    return cut(format!("its tasks cannot be read: {why}"), None);
                }
                again
            }
        };
        let after = self.work.take(|before, made| self.wants(before, made))?;
        let is_idle = after.measured.as_ref().is_some_and(|change| change.amount() == 0);
        let edits: Vec<Denial> = came.denials.iter().filter(|one| is_write(one)).cloned().collect();
        if is_idle && let Some(why) = self.options.client.why_idle(self.here, "refine", &edits) {
            return cut(why.clone(), Some(why));
        }
        let session = self.work.end(&message, after)?;
        tell(&session);
        if self.options.commit {
            self.commit(found, &session);
        }
        Ok(Rounded::Ended { is_over: session.status.is_over() })
    }

    /// Commits the plan as the last round made it. A failed commit is reported and nothing more:
    /// the round itself is done.
    fn commit(&self, found: &Content, session: &Refinement) {
        let Artefact::Plan(plan) = &self.work.artefact else { return };
        match self.commit_plan(plan, found.text(), session) {
            Ok(None) => {}
            Ok(Some(id)) => screen::tell(&format!("committed `{}` as {id}", visible(&plan.name))),
            Err(error) => {
                self.lacks_commit.set(true);
                let number = session.iterations_completed;
                let why = format!("round {number} is not committed: {error:#}");
                screen::tell(&visible(&why));
            }
        }
    }

    /// The commit's short id; `None` if the round left the plan unchanged.
    fn commit_plan(
        &self,
        plan: &PlanFile,
        before: &str,
        session: &Refinement,
    ) -> Result<Option<String>> {
        let applied = |one: &&RoundEntry| one.plan == PlanAfter::Applied;
        let Some(entry) = session.history.last().filter(applied) else { return Ok(None) };
        let made = self.work.versions().of_round(entry.iteration)?;
        let Some(made) = made.filter(|made| made != before) else { return Ok(None) };
        let commits = Commits::for_plan(&plan.real)?;
        commits.check(before)?;
        commits.commit(&made, &say::commit(&self.work.name, session, entry)).map(Some)
    }

    /// Asks for the answer again in the same conversation. An unusable reply is recorded as an
    /// empty one.
    fn ask(
        &self,
        round: &ClientRound,
        came: &RoundResult,
        question: String,
        interrupts: &Interrupts,
    ) -> Result<String> {
        let session_id = came.session_id.clone().or_else(|| round.session_id.clone());
        let Some(session_id) = session_id else { return Ok(String::new()) };
        screen::tell(&format!("{}: its last lines cannot be read; asking once more", round.label));
        let again = ClientRound {
            prompt: question,
            session_id: None,
            resume: Some(session_id),
            label: format!("{}, asked again", round.label),
            ..round.clone()
        };
        let came = self.run(&again, interrupts)?;
        Ok(match came.outcome {
            Ended::Finished { result, is_error: false } => result,
            _ => String::new(),
        })
    }

    /// Stores the tasks of a round's last message, if it refines Ralph's own.
    fn store(&self, message: &str) -> Result<Result<(), Vec<Problem>>> {
        let Artefact::Tasks(here) = &self.work.artefact else { return Ok(Ok(())) };
        match lines::block(message) {
            Some(block) => Ok((self.store)(here, &block)?.map(drop)),
            None => Ok(Ok(())),
        }
    }

    fn wants(&self, before: &str, made: &str) -> Result<bool> {
        if !self.options.confirm {
            return Ok(true);
        }
        let plan = visible(self.work.artefact.plan_file());
        let shown = unified((&plan, before), (&format!("{plan} (this round)"), made));
        screen::tell(&screen::visible_lines(&shown));
        screen::confirm(&format!("make this the plan `{plan}`?"))
    }

    /// The rule that lets a round write to its copy of the plan, and to nothing else: that is how it
    /// hands its work over. A path that a rule would read as a pattern gets none.
    fn edits_of_copy(&self) -> Option<String> {
        let Artefact::Plan(plan) = &self.work.artefact else { return None };
        let copy = self.work.copy(plan);
        let path = copy.path().to_str()?;
        let is_plain = !path.contains(|letter: char| "*?[](){}!\\,".contains(letter));
        is_plain.then(|| format!("Edit(/{path})"))
    }
}

/// True for a call that would have changed a plan or a bead. A round that finds nothing is a good
/// round, even if it could not run the tests.
fn is_write(denial: &Denial) -> bool {
    match denial.tool.as_str() {
        "Bash" => denial.about.trim_start().starts_with("bd "),
        tool => ["Edit", "Write"].contains(&tool),
    }
}

fn ask_for_tasks(problems: &[Problem]) -> String {
    let again = plan::ask_again(problems);
    format!("{again} After the list, write the lines CHANGES and SUMMARY as before.")
}
