//! One round of a refinement: opens it, runs a fresh client, then takes and records the result.
//!
//! Each step is written to the project's document before the next starts. A killed run leaves an
//! open round, which the next run on this refinement records as cut.

use super::client::{ClientRound, RoundOutcome as Ended, RoundResult};
use super::engine;
use super::options::{self, ClientOptions};
use super::plan::StoreTasks;
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, refused};
use crate::command::screen::{self, local, visible};
use crate::refine::artefact::{self, Artefact, ArtefactBefore, PlanFile};
use crate::refine::{Template, notice};
use anyhow::{Context, Result};
use ralph_core::modes::refine::measure::ArtefactChange;
use ralph_core::modes::refine::prompt::{Prompt, Tracker, variable};
use ralph_core::modes::refine::state::{Refinement, RoundEntry};
use ralph_core::modes::refine::{PlanAfter, RefineEvent, RefineOutcome, chart, say, step, unified};
use ralph_core::tasks::plan::{Problem, lines};
use ralph_core::transcript::stream::Denial;
use ralph_core::views::notice::{LIMITED, NoticeEvent};
use ralph_io::process::wait_any::Interrupts;
use ralph_io::process::{clock, random};
use ralph_io::store::refine::{Commits, RefineStore};
use std::cell::Cell;
use std::path::{Path, PathBuf};

/// Runs the rounds of a refinement.
pub(crate) struct Refiner<'a> {
    pub(crate) here: &'a Here,
    pub(crate) client: &'a ClientOptions,
    pub(crate) model: &'a str,
    pub(crate) place: RefineStore,
    pub(crate) name: String,
    pub(crate) artefact: Artefact,
    /// Read once: a round that changes the file does not affect later rounds.
    pub(crate) template: Template,
    pub(crate) logs: PathBuf,
    /// True if the user is asked before a plan is changed.
    pub(crate) confirms: bool,
    /// True if the user is called.
    pub(crate) notifies: bool,
    /// True if a plan is committed after each round that changed it.
    pub(crate) commits: bool,
    /// True once a round should have been committed and was not.
    pub(crate) lacks_commit: Cell<bool>,
    pub(crate) store: StoreTasks,
}

pub(crate) enum Rounded {
    /// The round finished; what follows.
    Ended(RefineOutcome),
    /// The round was cut: why, and why no other starts, if that is so.
    Cut { why: String, stops: Option<String> },
}

impl Refiner<'_> {
    /// Applies an event to the refinement, and returns what follows.
    fn step(&self, event: RefineEvent<'_>) -> Result<(RefineOutcome, Refinement)> {
        record(&self.place, &self.name, event)
    }

    pub(crate) fn round(&self, interrupts: &Interrupts) -> Result<Rounded> {
        let before = self.artefact.snapshot()?;
        let (begun, session) =
            self.step(RefineEvent::Begun { artefact: &artefact::digest(&before) })?;
        let RefineOutcome::Begin { iteration, .. } = begun else {
            unreachable!("a round that is begun begins")
        };
        let done = self.artefact.lay_out(&before, iteration).and_then(|()| {
            let round = self.order(&session, iteration)?;
            let came = self.run(&round, interrupts)?;
            self.take(&before, &round, came, iteration, interrupts)
        });
        if done.is_err() {
            // Best effort: otherwise the next run records the open round as cut.
            let _ = self.cut(&before, iteration, "it could not be carried out");
        }
        done
    }

    fn run(&self, round: &ClientRound, interrupts: &Interrupts) -> Result<RoundResult> {
        let alone = self.place.round(&self.artefact.mode(), self.artefact.plan_file());
        let limited = |until| {
            if self.notifies {
                notice::give(self, &NoticeEvent::Limit { until: local(until) }, LIMITED);
            }
        };
        let owner = options::owner_in(&self.here.root, &self.name);
        options::note_owner(&round.log, &owner)?;
        engine::round(self.here, round, &alone, interrupts, &limited)
    }

    /// The round, ready for the client.
    pub(crate) fn order(&self, session: &Refinement, iteration: u32) -> Result<ClientRound> {
        let most = session.settings.max_iterations;
        let log = self.logs.join(format!("round-{iteration}.jsonl"));
        let round = self.client.round(self.here, "refine", log);
        Ok(ClientRound {
            prompt: prompt(
                &self.template,
                &self.name,
                &self.artefact,
                Tracker::how_headless,
                iteration,
                most,
            )?,
            session_id: Some(random::uuid()),
            model: Some(self.model.to_owned()),
            label: format!("round {iteration}/{most}"),
            allowed: round.allowed.into_iter().chain(edits_of_copy(&self.artefact)).collect(),
            ..round
        })
    }

    fn take(
        &self,
        before: &ArtefactBefore,
        round: &ClientRound,
        came: RoundResult,
        iteration: u32,
        interrupts: &Interrupts,
    ) -> Result<Rounded> {
        let message = match &came.outcome {
            Ended::Finished { result, is_error: false } => result.clone(),
            other => {
                let why = other.why("its client ended");
                self.cut(before, iteration, &why)?;
                return Ok(Rounded::Cut { why, stops: options::stops(other) });
            }
        };
        let message = match asks_again(&self.place, &self.name, &message)? {
            Some(question) => self.ask(round, &came, question, interrupts)?,
            None => message,
        };
        let message = match self.store(&message)? {
            Ok(()) => message,
            Err(problems) => {
                let again = self.ask(round, &came, ask_for_tasks(&problems), interrupts)?;
                if let Err(problems) = self.store(&again)? {
                    let why = problems.first().map(Problem::to_string).unwrap_or_default();
                    let why = format!("its tasks cannot be read: {why}");
                    self.cut(before, iteration, &why)?;
                    return Ok(Rounded::Cut { why, stops: None });
                }
                again
            }
        };
        let after =
            self.artefact.take(before, iteration, |before, made| self.wants(before, made))?;
        let is_idle = after.measured.as_ref().is_some_and(ArtefactChange::is_empty);
        let edits: Vec<Denial> = came.denials.iter().filter(|one| is_write(one)).cloned().collect();
        if is_idle && let Some(why) = self.client.why_idle(self.here, "refine", &edits) {
            self.cut(before, iteration, &why)?;
            return Ok(Rounded::Cut { why: why.clone(), stops: Some(why) });
        }
        let (outcome, session) = self.step(RefineEvent::Ended {
            message: &message,
            measured: after.measured,
            plan: after.plan,
            artefact: &after.digest,
        })?;
        tell(&session);
        if self.commits {
            self.commit(before, &session);
        }
        Ok(Rounded::Ended(outcome))
    }

    /// Commits the plan as the last round made it. A failed commit is reported and nothing more:
    /// the round itself is done.
    fn commit(&self, before: &ArtefactBefore, session: &Refinement) {
        let (Artefact::Plan(plan), Some(entry)) = (&self.artefact, session.history.last()) else {
            return;
        };
        if entry.plan != PlanAfter::Applied {
            return;
        }
        let shown = visible(&plan.name);
        match commit(plan, before, &self.name, session, entry) {
            Ok(None) => {}
            Ok(Some(id)) => screen::tell(&format!("committed `{shown}` as {id}")),
            Err(error) => {
                self.lacks_commit.set(true);
                let why = format!("round {} is not committed: {error:#}", entry.iteration);
                screen::tell(&visible(&why));
            }
        }
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
        note_client(&self.place, &self.name, &session_id)?;
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
        let Artefact::Tasks(here) = &self.artefact else { return Ok(Ok(())) };
        match lines::block(message) {
            Some(block) => Ok((self.store)(here, &block)?.map(drop)),
            None => Ok(Ok(())),
        }
    }

    fn cut(&self, before: &ArtefactBefore, iteration: u32, why: &str) -> Result<()> {
        let after = self.artefact.leave(before, iteration)?;
        let event = RefineEvent::Cut { why, measured: after.measured, artefact: &after.digest };
        let (_, session) = self.step(event)?;
        tell(&session);
        Ok(())
    }

    fn wants(&self, before: &str, made: &str) -> Result<bool> {
        if !self.confirms {
            return Ok(true);
        }
        let plan = visible(self.artefact.plan_file());
        let shown = unified((&plan, before), (&format!("{plan} (this round)"), made));
        screen::tell(&screen::visible_lines(&shown));
        let answer = screen::ask(&format!("make this the plan `{plan}`? [y/N]"))?;
        Ok(matches!(answer.to_ascii_lowercase().as_str(), "y" | "yes"))
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

/// The rule that lets a round write to its copy of the plan, and to nothing else: that is how it
/// hands its work over. A path that a rule would read as a pattern gets none.
fn edits_of_copy(artefact: &Artefact) -> Option<String> {
    let Artefact::Plan(plan) = artefact else { return None };
    let path = plan.copy.path().to_str()?.to_owned();
    let is_plain = !path.contains(|letter: char| "*?[](){}!\\,".contains(letter));
    is_plain.then(|| format!("Edit(/{path})"))
}

fn ask_for_tasks(problems: &[Problem]) -> String {
    let problems: String = problems.iter().map(|problem| format!("- {problem}\n")).collect();
    format!(
        "Ralph could not store your tasks, and nothing has changed:\n\n{problems}\nAnswer with the whole list, one JSON \
         object on each line between ```jsonl and ```, and after it the lines CHANGES and SUMMARY as before."
    )
}

/// The commit's short id; `None` if the round left the plan unchanged.
fn commit(
    plan: &PlanFile,
    before: &ArtefactBefore,
    name: &str,
    session: &Refinement,
    entry: &RoundEntry,
) -> Result<Option<String>> {
    let (before, made) = (before.text(), plan.versions.of_round(entry.iteration)?);
    let Some(made) = made.filter(|made| made != before) else { return Ok(None) };
    let commits = Commits::for_plan(&plan.real)?;
    if let Some(why) = commits.obstacle(before)? {
        anyhow::bail!("{why}");
    }
    let message = say::commit(name, session, entry);
    commits.commit(&made, &message).map(Some)
}

/// The prompt template for rounds on this artefact.
pub(crate) fn template(root: &Path, artefact: &Artefact) -> Result<Template> {
    let prompt = match artefact {
        Artefact::Plan(_) => Prompt::PlanImprover,
        _ => Prompt::BeadRefiner,
    };
    Template::load(root, prompt)
}

pub(crate) fn prompt(
    template: &Template,
    name: &str,
    artefact: &Artefact,
    how: fn(Tracker) -> &'static str,
    iteration: u32,
    most: u32,
) -> Result<String> {
    let (round, most) = (iteration.to_string(), most.to_string());
    let own = match artefact {
        Artefact::Plan(plan) => (variable::PLAN_FILE, plan.copy.name()),
        tasks => {
            let how = tasks.tracker().map(|tracker| how(tracker).to_owned());
            (variable::TASKS, how.unwrap_or_default())
        }
    };
    let given = [
        (variable::SESSION_NAME, name),
        (variable::ROUND, &round),
        (variable::MAX_ROUNDS, &most),
        (own.0, &own.1),
    ];
    template.fill(&given)
}

/// Records the client's session in the open round.
pub(crate) fn note_client(place: &RefineStore, name: &str, session_id: &str) -> Result<()> {
    place.update(|document| {
        let Some(mut session) = document.session(name)? else { return Ok(()) };
        if let Some(open) = session.round.as_mut() {
            session_id.clone_into(&mut open.client_session);
            document.put(name, session)?;
        }
        Ok(())
    })
}

/// The question about last lines that cannot be parsed; `None` if they can, or were asked for
/// before.
pub(crate) fn asks_again(place: &RefineStore, name: &str, message: &str) -> Result<Option<String>> {
    // Record the event only if it leads to a question: a real end also needs the changes of the
    // round.
    let Some(mut session) = place.document()?.session(name)? else { return Ok(None) };
    let ended =
        || RefineEvent::Ended { message, measured: None, plan: Default::default(), artefact: "" };
    if !matches!(step(&mut session, ended(), clock::now()), Ok(RefineOutcome::AskAgain(_))) {
        return Ok(None);
    }
    match record(place, name, ended())?.0 {
        RefineOutcome::AskAgain(question) => Ok(Some(question)),
        _ => Ok(None),
    }
}

/// Applies an event to a refinement in the document. Returns what follows, and the refinement as it
/// is then.
pub(crate) fn record(
    place: &RefineStore,
    name: &str,
    event: RefineEvent<'_>,
) -> Result<(RefineOutcome, Refinement)> {
    place.update(|document| {
        let session = document.session(name)?;
        let mut session =
            session.with_context(|| format!("the session `{name}` is gone from the document"))?;
        let outcome = step(&mut session, event, clock::now())
            .map_err(|refusal| refused(Exit::No, format!("`{name}`: {refusal}")))?;
        document.put(name, session.clone())?;
        Ok((outcome, session))
    })
}

/// Records a round as cut that a killed run left open.
pub(crate) fn close_what_was_left(
    place: &RefineStore,
    name: &str,
    artefact: &Artefact,
    session: &Refinement,
) -> Result<()> {
    let Some(open) = &session.round else { return Ok(()) };
    let after = artefact.leave_behind(session, open.iteration)?;
    let why = "whoever ran it is gone";
    let event = RefineEvent::Cut { why, measured: after.measured, artefact: &after.digest };
    let (_, session) = record(place, name, event)?;
    tell(&session);
    Ok(())
}

/// Prints the result of the last round, and the progress of the refinement.
fn tell(session: &Refinement) {
    let round = session.history.last().map(|entry| say::round(session, entry));
    for line in round.into_iter().flatten().chain(chart::lines(session)) {
        screen::tell(&visible(&line));
    }
}
