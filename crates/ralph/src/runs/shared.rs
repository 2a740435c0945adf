//! `ralph run --shared`: takes part in a loop that machines share through a git remote.
//!
//! Every step is decided anew from what the remote has and what this machine's loop records. The rules
//! are in `ralph_core::tasks::shared`. The [`engine`](super::engine) holds the clients of the workers,
//! and two members without a client: the exchange with the remote, and the integration.

mod begin;
mod claims;
pub(crate) mod exchange;
pub(crate) mod integrate;
mod integrator;
mod remote;
mod worker;

use crate::command::context_dir::{Here, note};
use crate::command::exit::{Exit, bad_state, refused};
use crate::command::screen::visible;
use crate::runs::engine::{self, ClientRunner, LoopOwner, MemberExit, Owner, RunEnd, Then, Words};
use crate::runs::options::ClientOptions;
use crate::runs::screen::Whole;
use anyhow::{Context, Result};
pub(crate) use begin::{SharedOptions, known_place, run};
use integrator::Integrating;
use jiff::{SignedDuration, Timestamp};
use ralph_core::modes::shared as member;
use ralph_core::project::settings::SharedSettings;
use ralph_core::state::{LoopState, PauseCause, signals};
use ralph_core::stop;
use ralph_core::tasks::shared::names::{Namespace, Reference};
use ralph_core::tasks::shared::text::{Name, ObjectId};
use ralph_core::tasks::shared::timing::Leases;
use ralph_core::tasks::shared::view::{TaskStanding, View};
use ralph_core::text::truncate::bounded;
use ralph_io::client::given;
use ralph_io::git::shared::{Follower, SharedPlace};
use ralph_io::process::clock;
use ralph_io::process::process_pool::MemberEvent;
use ralph_io::process::wait_any::Interrupts;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::store::mailbox::Mailbox;
use remote::Link;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use worker::TaskAtWork;

/// The command that the user typed.
const COMMAND: &str = "run --shared";

/// The most of another machine's text that is shown in one line.
const TOLD: usize = 300;

/// What a machine takes part in, and how.
pub(crate) struct SharedOrder<'a> {
    pub(crate) here: &'a Here,
    /// This machine's own loop.
    pub(crate) file: &'a LoopFile,
    pub(crate) client: &'a ClientOptions,
    pub(crate) place: SharedPlace,
    pub(crate) settings: SharedSettings,
    /// The folder for the clients' output.
    pub(crate) logs: PathBuf,
    /// The most workers at once.
    pub(crate) workers: usize,
    /// The most rounds; 0 means no limit.
    pub(crate) rounds: u32,
}

/// Works until the shared loop ends, or the run must pause.
///
/// # Errors
/// When this machine's loop cannot be read or written. No process that the run started is alive then.
pub(crate) fn take_part(order: &SharedOrder<'_>, interrupts: &Interrupts) -> Result<Exit> {
    let words =
        Words { command: COMMAND, members: "workers", ended: "worker ended", failed: Exit::No };
    let watched = [order.file.folder()];
    engine::run(SharedRun {
        order,
        runner: ClientRunner::many(order.here, order.file, interrupts, words, &watched)?,
        machine: order.place.machine()?,
        follower: Follower::new(order.place.records()),
        known: None,
        leases: Leases::default(),
        link: Link::new(),
        integrating: Integrating::default(),
        at_work: BTreeMap::new(),
        unread: BTreeMap::new(),
        works: BTreeMap::new(),
        number: 0,
    })
}

/// What the last answered read showed.
struct KnownRemote {
    view: View,
    /// This machine's last records that landed, by reference.
    own: BTreeMap<String, ObjectId>,
    /// Records that are not settled, by reference.
    pending: BTreeMap<String, ObjectId>,
    /// The branch of the integrated work on the remote.
    branch: Option<ObjectId>,
    /// True if the branch has commits that no verdict contains.
    has_commits: bool,
}

struct SharedRun<'a> {
    order: &'a SharedOrder<'a>,
    runner: ClientRunner<'a, Infallible>,
    machine: Name,
    follower: Follower,
    /// Not set before the first answered read.
    known: Option<KnownRemote>,
    leases: Leases,
    link: Link,
    integrating: Integrating,
    /// By call id.
    at_work: BTreeMap<String, TaskAtWork>,
    /// Claims whose last round ended after this moment: the next one begins after a later read.
    unread: BTreeMap<ObjectId, Instant>,
    /// The commit of each finished worker, by its claim.
    works: BTreeMap<ObjectId, ObjectId>,
    /// How many rounds were started.
    number: u32,
}

impl<'a> Owner<'a> for SharedRun<'a> {
    type Verdict = Infallible;

    fn runner(&mut self) -> &mut ClientRunner<'a, Infallible> {
        &mut self.runner
    }

    fn go_on(&mut self, state: Option<&LoopState>) -> Result<Then> {
        let Some(state) = state else { return Ok(Then::Wait) };
        if let Some(known) = &self.known {
            if known.view.ledger.end.is_some() {
                let end = |state: &mut LoopState| member::end(state, &known.view, clock::now());
                self.order.file.update(end).map_err(bad_state)?;
                // The next look finds the end and ends the clients.
                return Ok(Then::Again);
            }
            if !stop::may_go_on(&mut state.clone(), clock::now()) {
                self.runner.stop(RunEnd::Bound);
                return Ok(Then::Again);
            }
            if self.order.rounds > 0 && self.number >= self.order.rounds && self.at_work.is_empty()
            {
                let why = "as many rounds as were asked for";
                self.runner.stop(RunEnd::pause(PauseCause::Person, why, Exit::No));
                return Ok(Then::Again);
            }
            if self.follow(state)? || self.settle_workers(state)? || self.start_due(state)? {
                return Ok(Then::Again);
            }
            self.show();
        }
        self.integrate()?;
        match self.exchange_due(state)? {
            true => Ok(Then::Again),
            false => Ok(Then::Wait),
        }
    }

    fn next_moment(&mut self) -> Option<Timestamp> {
        let moment = self.link.next_moment()?;
        let left = moment.saturating_duration_since(Instant::now());
        Some(clock::now() + SignedDuration::try_from(left).unwrap_or(SignedDuration::ZERO))
    }

    fn on_event(&mut self, name: &str, event: &MemberEvent) -> Result<bool> {
        match name {
            exchange::COMMAND => self.exchange_heard(event).map(|()| true),
            integrate::COMMAND => self.integration_heard(event),
            _ => Ok(false),
        }
    }

    fn on_exit(&mut self, name: &str, gone: MemberExit) -> Result<()> {
        self.take_up_end(name, gone)
    }

    /// Hands in what is done before the run ends.
    fn conclude(&mut self, state: &LoopState) -> Result<()> {
        self.leave(state)
    }
}

impl<'a> LoopOwner<'a> for SharedRun<'a> {
    fn file(&self) -> &'a LoopFile {
        self.order.file
    }

    fn decided(&mut self, verdict: Infallible) -> Result<Exit> {
        match verdict {}
    }

    fn print_ending(&mut self) -> Result<Exit> {
        self.keep_the_rest()?;
        let exit = engine::print_ending(self.order.here, self.order.file)?;
        let (id, remote) = (self.order.place.space().loop_id(), self.order.place.remote());
        self.runner.screen.tell(&format!("{} to `{remote}`", self.link.figures()));
        let is_on_branch =
            |known: &KnownRemote| known.branch.as_ref() == Some(&known.view.ledger.branch);
        if self.known.as_ref().is_some_and(is_on_branch) {
            self.say(&format!("The merged work: `git fetch {remote} ralph/{id}`"))?;
        }
        Ok(exit)
    }

    fn paused_line(&mut self, state: &LoopState, why: &str) -> String {
        let kept = super::parallel::kept(state);
        let kept: String = kept.into_iter().map(|line| format!("\n{line}")).collect();
        let next = engine::goes_on(COMMAND, why);
        format!("this machine's part of the shared loop is paused: {why}{next}{kept}")
    }
}

impl SharedRun<'_> {
    /// Brings this machine's loop to the shared one. True if that changed anything.
    fn follow(&mut self, state: &LoopState) -> Result<bool> {
        let Some(known) = &self.known else { return Ok(false) };
        let held = known.claims().into_iter().map(|(task, _)| task).collect();
        let mut after = state.clone();
        member::follow(&mut after, &known.view, &held);
        if after.task_graph == state.task_graph {
            return self.pass_messages_on(state);
        }
        let changed = self.order.file.update(|state| member::follow(state, &known.view, &held));
        changed.map_err(bad_state)?;
        Ok(true)
    }

    /// Passes new messages of users on to this machine's workers, as quotations.
    fn pass_messages_on(&mut self, state: &LoopState) -> Result<bool> {
        let Some(known) = &self.known else { return Ok(false) };
        let (file, messages) = (self.order.file, &known.view.ledger.signals);
        let Some(mut membership) = member::read_membership(state) else { return Ok(false) };
        if membership.messages >= messages.len() {
            return Ok(false);
        }
        let below = super::parallel::of_loop(self.order.here, &state.loop_id);
        for (kind, text) in &messages[membership.messages..] {
            let text = bounded(text.as_str(), signals::LONGEST);
            Mailbox::for_loop(file, state).send(*kind, &text)?;
            for (file, state) in below.iter().filter(|(_, state)| state.is_live()) {
                Mailbox::for_loop(file, state).send(*kind, &text)?;
            }
            self.runner.screen.tell(&visible(&format!("{kind}: {}", bounded(&text, TOLD))));
        }
        membership.messages = messages.len();
        file.update(|state| member::set(state, &membership)).map_err(bad_state)?;
        Ok(true)
    }

    fn show(&mut self) {
        let Some(known) = &self.known else { return };
        let (mut merged, mut total, mut elsewhere, mut finished) = (0, 0, 0, 0);
        let own = known.claims().len();
        for (_, standing) in known.view.tasks() {
            total += 1;
            match standing {
                TaskStanding::Merged => merged += 1,
                TaskStanding::Claimed { .. } => elsewhere += 1,
                TaskStanding::Finished { .. } => finished += 1,
                _ => {}
            }
        }
        let elsewhere = usize::saturating_sub(elsewhere, own);
        let pause = known.view.ledger.pause.as_ref();
        let pause = pause.map(|why| format!("; paused: {}", bounded(why.as_str(), TOLD)));
        let words = format!(
            "{merged}/{total} tasks merged, {finished} waiting, {own} here, {elsewhere} elsewhere{}",
            pause.unwrap_or_default()
        );
        self.runner.screen.whole(&Whole {
            n_done: merged,
            n_tasks: total,
            words: visible(&words),
            tokens: self.runner.tokens(),
            cost: 0.0,
        });
    }

    /// Tells the user something, and keeps it in the journal.
    fn tell(&self, decision: &str, text: &str) {
        self.runner.screen.tell(&visible(text));
        if let Ok(Some(loaded)) = self.order.file.read() {
            note(self.order.here, self.order.file, &loaded.state, COMMAND, decision, text);
        }
    }

    /// Ends the run for a reason that only a person can change.
    fn block(&mut self, why: &str) {
        self.runner.stop(RunEnd::pause(PauseCause::BlockedOnHuman, why, Exit::No));
    }

    /// How many machines take part, as the ledger and the claims show.
    fn live(&self) -> usize {
        self.known.as_ref().map_or(1, |known| self.leases.live(&known.view, &self.machine))
    }
}

impl KnownRemote {
    /// The claims of this machine, each with its task.
    fn claims(&self) -> Vec<(String, ObjectId)> {
        let space_claims = self.view.tasks().filter_map(|(task, standing)| match standing {
            TaskStanding::Claimed { claim, .. } if self.owns(claim) => {
                Some((task.id.clone(), claim.clone()))
            }
            _ => None,
        });
        space_claims.collect()
    }

    /// True if a record of this task is not settled.
    fn pending_on(&self, space: &Namespace, task: &str) -> bool {
        self.pending.contains_key(&space.name(&Reference::Task(task.to_owned())))
    }

    fn owns(&self, record: &ObjectId) -> bool {
        self.own.values().any(|own| own == record)
    }

    /// True if this machine holds the integrator's lease.
    fn integrates(&self) -> bool {
        self.view.ledger.integrator.as_ref().is_some_and(|held| self.owns(&held.renewed))
    }

    fn lease(&self) -> Duration {
        Duration::from_secs(self.view.ledger.plan.lease_seconds)
    }

    fn expired(&self, leases: &Leases) -> BTreeSet<String> {
        leases.expired(self.lease())
    }
}

/// The order of an internal command: a line of JSON on standard input.
fn order<T: DeserializeOwned>() -> Result<T> {
    serde_json::from_slice(&given::order()?)
        .context("could not read the order")
        .map_err(|error| refused(Exit::Usage, format!("{error:#}")))
}

/// Prints a line of JSON for the run that started this process.
fn print_line(line: &impl Serialize) -> Result<()> {
    crate::command::screen::print_bytes(&serde_json::to_vec(line)?).map(drop)
}
