//! One round: the session opens it, a fresh client works, and what came of it is taken and recorded.
//!
//! Each step is in the project's document before the next begins. Whoever is killed leaves a round that
//! is open, and the next one who refines this session records it as cut.

use super::client::{ClientRound, RoundOutcome as Ended, RoundResult};
use super::engine;
use super::options::{self, ClientOptions};
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, refused};
use crate::command::screen::{self, visible};
use crate::refine::Template;
use crate::refine::artefact::{self, Artefact, ArtefactBefore, PlanFile};
use anyhow::{Context, Result};
use ralph_core::modes::refine::prompt::{Prompt, variable};
use ralph_core::modes::refine::state::{RefineSession, RoundEntry};
use ralph_core::modes::refine::{PlanAfter, RefineEvent, RefineOutcome, chart, say, step, unified};
use ralph_io::process::interrupts::Interrupts;
use ralph_io::store::refine::{Commits, RefineStore};
use ralph_io::{process::clock, process::random};
use std::cell::Cell;
use std::path::{Path, PathBuf};

/// Who makes the rounds of a session.
pub(crate) struct Refiner<'a> {
    pub(crate) here: &'a Here,
    pub(crate) client: &'a ClientOptions,
    pub(crate) model: &'a str,
    pub(crate) place: RefineStore,
    pub(crate) name: String,
    pub(crate) artefact: Artefact,
    /// Read once: a round that changes the file changes no other round.
    pub(crate) template: Template,
    pub(crate) logs: PathBuf,
    /// True if a person is asked before a plan is changed.
    pub(crate) confirms: bool,
    /// True if a plan is committed after each round that changed it.
    pub(crate) commits: bool,
    /// True once a round was to be committed and could not be.
    pub(crate) lacks_commit: Cell<bool>,
}

pub(crate) enum Rounded {
    /// It ended by itself; what follows.
    Ended(RefineOutcome),
    /// It was cut: why, and why no other is begun, if none is.
    Cut { why: String, stops: Option<String> },
}

impl Refiner<'_> {
    /// The session as it stands, changed by an event.
    fn step(&self, event: RefineEvent<'_>) -> Result<(RefineOutcome, RefineSession)> {
        record(&self.place, &self.name, event)
    }

    pub(crate) fn round(&self, interrupts: &Interrupts) -> Result<Rounded> {
        let before = self.artefact.look()?;
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
            // Best effort: what stands open is recorded as cut by the next one all the same.
            let _ = self.cut(&before, iteration, "it could not be carried out");
        }
        done
    }

    fn run(&self, round: &ClientRound, interrupts: &Interrupts) -> Result<RoundResult> {
        let alone = self.place.round(&self.artefact.mode(), self.artefact.plan_file());
        engine::round(self.here, round, &alone, interrupts, &self.client.policy())
    }

    /// The round as it is put to the client.
    pub(crate) fn order(&self, session: &RefineSession, iteration: u32) -> Result<ClientRound> {
        let most = session.settings.max_iterations;
        let mut extra_args = vec!["--model".into(), self.model.into()];
        extra_args.extend(self.client.args.iter().cloned());
        Ok(ClientRound {
            prompt: prompt(&self.template, &self.name, &self.artefact, (iteration, most))?,
            session_id: Some(random::uuid()),
            extra_args,
            label: format!("round {iteration}/{most}"),
            ..self.client.round(
                self.here,
                "refine",
                self.logs.join(format!("round-{iteration}.jsonl")),
            )
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
        let after =
            self.artefact.take(before, iteration, |before, made| self.wants(before, made))?;
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

    /// Commits what the last round made of the plan. What cannot be committed is told and stays as it is: the
    /// round has been made.
    fn commit(&self, before: &ArtefactBefore, session: &RefineSession) {
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

    /// Asks in the same conversation; what is no answer says nothing, and that is recorded so.
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

/// The commit's short id; none where the round left the plan as it was.
fn commit(
    plan: &PlanFile,
    before: &ArtefactBefore,
    name: &str,
    session: &RefineSession,
    entry: &RoundEntry,
) -> Result<Option<String>> {
    let (before, made) = (before.text(), plan.versions.of_round(entry.iteration)?);
    let Some(made) = made.filter(|made| made != before) else { return Ok(None) };
    let commits = Commits::of(&plan.real)?;
    if let Some(why) = commits.obstacle(before)? {
        anyhow::bail!("{why}");
    }
    let message = say::commit(name, session, entry);
    commits.commit(&made, &message).map(Some)
}

/// The prompt of the rounds on this.
pub(crate) fn template(root: &Path, artefact: &Artefact) -> Result<Template> {
    let prompt = match artefact {
        Artefact::Plan(_) => Prompt::PlanImprover,
        _ => Prompt::BeadRefiner,
    };
    Template::of(root, prompt)
}

pub(crate) fn prompt(
    template: &Template,
    name: &str,
    artefact: &Artefact,
    (iteration, most): (u32, u32),
) -> Result<String> {
    let (round, most) = (iteration.to_string(), most.to_string());
    let own = match artefact {
        Artefact::Plan(plan) => (variable::PLAN_FILE, plan.copy.name()),
        tasks => {
            let how = tasks.tracker().map(|tracker| tracker.how().to_owned());
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

/// Notes in the open round in which session of the client it is made.
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

/// What is asked about last lines that cannot be read; none where they can, or were asked for before.
pub(crate) fn asks_again(place: &RefineStore, name: &str, message: &str) -> Result<Option<String>> {
    // Taken into the session only where it asks: an end needs to know what changed.
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

/// Takes an event into a session of the document, and returns what follows and how it stands.
pub(crate) fn record(
    place: &RefineStore,
    name: &str,
    event: RefineEvent<'_>,
) -> Result<(RefineOutcome, RefineSession)> {
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

/// Records a round that was left open by somebody who is gone.
pub(crate) fn close_what_was_left(
    place: &RefineStore,
    name: &str,
    artefact: &Artefact,
    session: &RefineSession,
) -> Result<()> {
    let Some(open) = &session.round else { return Ok(()) };
    let after = artefact.leave_behind(session, open.iteration)?;
    let why = "whoever ran it is gone";
    let event = RefineEvent::Cut { why, measured: after.measured, artefact: &after.digest };
    let (_, session) = record(place, name, event)?;
    tell(&session);
    Ok(())
}

/// Says what the last round came to, and how the session stands.
fn tell(session: &RefineSession) {
    let round = session.history.last().map(|entry| say::round(session, entry));
    for line in round.into_iter().flatten().chain(chart::lines(session)) {
        screen::tell(&visible(&line));
    }
}
