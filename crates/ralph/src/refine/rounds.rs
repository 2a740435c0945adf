//! The rounds of a refinement, apart from whoever makes them: opens one, takes what it wrote, records it.
//!
//! Each step is written to the project's document before the next starts, and what a round found is
//! kept. So the round is ended or cut alike by the process that began it and by a later one.

use super::Template;
use super::artefact::{Artefact, Content, PlanFile};
use crate::command::context_dir::Here;
use crate::command::exit::bad_state;
use crate::command::screen::{self, visible};
use anyhow::{Context, Result, anyhow, bail};
use ralph_core::modes::refine::measure::{self, ArtefactChange};
use ralph_core::modes::refine::prompt::{Tracker, variable};
use ralph_core::modes::refine::state::{Refinement, What};
use ralph_core::modes::refine::{ArtefactAfter, Mode, PlanAfter, chart, say};
use ralph_io::process::clock;
use ralph_io::store::lock::Lock;
use ralph_io::store::refine::{Copy, RefineStore, Versions};

/// A refinement and what it refines.
pub(crate) struct Refining {
    pub(crate) place: RefineStore,
    pub(crate) name: String,
    pub(crate) artefact: Artefact,
}

impl Refining {
    /// The refinement of this name in the document.
    pub(crate) fn of(
        here: &Here,
        place: RefineStore,
        name: &str,
        session: &Refinement,
    ) -> Result<Refining> {
        let artefact = match session.mode {
            // `join` keeps an absolute path as it is.
            Mode::Plan => {
                Artefact::Plan(PlanFile::find(&place, &place.root().join(&session.plan_file))?)
            }
            _ => Artefact::tasks(here)?,
        };
        Ok(Refining { place, name: name.to_owned(), artefact })
    }

    /// The lock of whoever works on this plan or these tasks; `None` if someone else does.
    pub(crate) fn hold(&self) -> Result<Option<Lock>> {
        self.place.hold(self.artefact.plan_file())
    }

    pub(crate) fn session(&self) -> Result<Refinement> {
        self.place.document()?.session(&self.name)?.with_context(|| self.is_gone())
    }

    fn is_gone(&self) -> String {
        format!("the session `{}` is gone from the document", self.name)
    }

    /// The refinement with the requested number of rounds, created if there is none.
    ///
    /// # Errors
    /// If it refines something else, or has no further round; nothing is written then.
    pub(crate) fn open(
        &self,
        most: Option<u32>,
        new: impl FnOnce() -> Refinement,
    ) -> Result<Refinement> {
        let name = &self.name;
        self.place.update(|document| {
            let mut session = document.session(name)?.unwrap_or_else(new);
            if !session.refines(self.artefact.plan_file()) {
                bail!(
                    "the refinement `{name}` refines {}; choose another name: `--id NAME`",
                    session.subject()
                );
            }
            session.settings.max_iterations = most.unwrap_or(session.settings.max_iterations);
            Refinement { round: None, ..session.clone() }
                .begin("", "", clock::now())
                .map_err(|why| anyhow!("`{name}`: {why}"))?;
            document.put(name, session.clone())?;
            Ok(session)
        })
    }

    /// Changes the refinement in the document, and returns it as it is then.
    fn update<T>(
        &self,
        change: impl FnOnce(&mut Refinement) -> Result<T, String>,
    ) -> Result<(T, Refinement)> {
        self.place.update(|document| {
            let mut session = document.session(&self.name)?.with_context(|| self.is_gone())?;
            let done = change(&mut session).map_err(|why| anyhow!("`{}`: {why}", self.name))?;
            document.put(&self.name, session.clone())?;
            Ok((done, session))
        })
    }

    /// Opens the next round, keeps what it finds, and makes the copy of a plan that it writes to. A
    /// round that a killed run left open is cut first. `client_session` is empty for a client that
    /// Ralph starts.
    pub(crate) fn begin(&self, client_session: &str) -> Result<(Content, Refinement)> {
        self.cut_what_was_left()?;
        let found = self.artefact.content()?;
        let (number, session) =
            self.update(|session| session.begin(&found.digest(), client_session, clock::now()))?;
        let laid_out = match &self.artefact {
            Artefact::Plan(plan) => self
                .keep(found.text(), number, What::Found)
                .and_then(|()| self.copy(plan).make(found.text())),
            _ => serde_json::to_string(&found)
                .context("could not keep the tasks")
                .and_then(|found| self.place.keep_tasks(&self.name, &found)),
        };
        if let Err(error) = laid_out {
            self.could_not();
            return Err(error);
        }
        Ok((found, session))
    }

    /// Cuts a round because of an error that is reported already; if even that fails, the next run
    /// does it.
    pub(crate) fn could_not(&self) {
        let _ = self.cut("it could not be carried out");
    }

    pub(crate) fn cut_what_was_left(&self) -> Result<()> {
        match self.session()?.round {
            Some(_) => self.cut("whoever ran it is gone"),
            None => Ok(()),
        }
    }

    /// The question to the client of the open round, if its last lines cannot be read and it was not
    /// asked before.
    pub(crate) fn ask_again(&self, message: &str) -> Result<Option<String>> {
        Ok(self.update(|session| Ok(session.ask_again(message)))?.0)
    }

    /// Ends the open round with its client's last message.
    pub(crate) fn end(&self, message: &str, after: ArtefactAfter) -> Result<Refinement> {
        Ok(self.update(|session| session.end(message, after, clock::now()))?.1)
    }

    /// Cuts the open round: keeps what it wrote as a version, and leaves the plan alone.
    pub(crate) fn cut(&self, why: &str) -> Result<()> {
        let session = self.session()?;
        let round = session.round.as_ref().map_or(0, |open| open.iteration);
        let found = self.found(&session)?;
        let mut after = self.look_again(found.as_ref());
        if let Artefact::Plan(plan) = &self.artefact {
            let copy = self.copy(plan);
            let (found, made) = (found.as_ref().map(Content::text), copy.text());
            if let Some(made) = made.as_deref().filter(|made| Some(*made) != found) {
                self.keep(made, round, What::Aside)?;
            }
            copy.remove()?;
            let both = found.zip(made.as_deref());
            after.measured =
                both.map(|(found, made)| ArtefactChange::Plan(measure::plan(found, made)));
        }
        let (_, session) = self.update(|session| session.cut(why, after, clock::now()))?;
        tell(&session);
        Ok(())
    }

    /// Takes what the open round made. `wants(before, made)` is asked before a changed plan replaces
    /// the old one, since the user may decline it.
    pub(crate) fn take(
        &self,
        wants: impl FnOnce(&str, &str) -> Result<bool>,
    ) -> Result<ArtefactAfter> {
        let session = self.session()?;
        let round = session.round.as_ref().map_or(0, |open| open.iteration);
        let found = self.found(&session)?;
        let (Artefact::Plan(plan), Some(found)) = (&self.artefact, &found) else {
            return Ok(self.look_again(found.as_ref()));
        };
        let (before, copy) = (found.text(), self.copy(plan));
        let made = copy.text();
        // Without the copy nothing is known about the change.
        let measured =
            made.as_deref().map(|made| ArtefactChange::Plan(measure::plan(before, made)));
        let made = made.unwrap_or_else(|| before.to_owned());
        let after = plan.replace(before, &made, wants)?;
        if made != before {
            let what = if after == PlanAfter::Applied { What::Round } else { What::Aside };
            self.keep(&made, round, what)?;
        }
        copy.remove()?;
        let digest = Content::Plan(plan.now()?.text.unwrap_or_default()).digest();
        Ok(ArtefactAfter { measured, plan: after, digest })
    }

    /// The artefact as it is now, compared with the tasks that the round found.
    fn look_again(&self, found: Option<&Content>) -> ArtefactAfter {
        // If it cannot be read, the change is unknown, which is not the same as no change.
        let Ok(now) = self.artefact.content() else { return ArtefactAfter::default() };
        let measured = match (found, &now) {
            (Some(Content::Pieces(found)), Content::Pieces(now)) => {
                Some(ArtefactChange::Beads(measure::beads(found, now)))
            }
            _ => None,
        };
        ArtefactAfter { measured, digest: now.digest(), ..ArtefactAfter::default() }
    }

    /// The artefact as the open round found it, if that was kept.
    fn found(&self, session: &Refinement) -> Result<Option<Content>> {
        let is_it = |found: &Content| found.digest() == session.artefact;
        let Artefact::Plan(_) = self.artefact else {
            let kept = self.place.kept_tasks(&self.name);
            return Ok(kept.and_then(|kept| serde_json::from_str(&kept).ok()).filter(is_it));
        };
        let list = self.versions().list().map_err(bad_state)?;
        let version = list.iter().rev().find(|version| version.sha256 == session.artefact);
        let text = version.map(|version| self.versions().text(version)).transpose();
        Ok(text.map_err(bad_state)?.map(Content::Plan))
    }

    pub(crate) fn versions(&self) -> Versions {
        self.place.versions(&self.name)
    }

    fn keep(&self, text: &str, round: u32, what: What) -> Result<()> {
        self.versions().keep(text, round, what, clock::now()).map(drop)
    }

    /// The file that a round writes to instead of the plan.
    pub(crate) fn copy(&self, plan: &PlanFile) -> Copy {
        self.place.copy(&self.name, &plan.real)
    }

    /// The prompt of a round. `how` tells how its client reads and changes tasks.
    pub(crate) fn prompt(
        &self,
        template: &Template,
        session: &Refinement,
        number: u32,
        how: fn(Tracker) -> &'static str,
    ) -> Result<String> {
        let plan = match &self.artefact {
            Artefact::Plan(plan) => self.copy(plan).name(),
            _ => String::new(),
        };
        template.fill(&[
            (variable::SESSION_NAME, &self.name),
            (variable::ROUND, &number.to_string()),
            (variable::MAX_ROUNDS, &session.settings.max_iterations.to_string()),
            (variable::PLAN_FILE, &plan),
            (variable::TASKS, self.artefact.tracker().map_or("", how)),
        ])
    }
}

/// Prints the result of the last round, and the progress of the refinement.
pub(crate) fn tell(session: &Refinement) {
    let round = session.history.last().map(|entry| say::round(session, entry));
    for line in round.into_iter().flatten().chain(chart::lines(session)) {
        screen::tell(&visible(&line));
    }
}
