//! The exchange with the remote: when it is due, and what an answer means. Every wait is bounded,
//! jittered and reported.

use super::exchange::{self, ExchangeAnswer, ExchangeOrder};
use super::{KnownRemote, SharedRun};
use anyhow::Result;
use ralph_core::state::LoopState;
use ralph_core::tasks::shared::names::Reference;
use ralph_core::tasks::shared::record::Finish;
use ralph_core::tasks::shared::text::ObjectId;
use ralph_core::tasks::shared::timing::{self, Settled};
use ralph_core::tasks::shared::view::{Integrator, View};
use ralph_core::text::plural::counted;
use ralph_core::text::truncate::bounded;
use ralph_io::git::shared::{Exchange, ExchangeReport, Sent, Snapshot};
use ralph_io::process::process_pool::MemberEvent;
use ralph_io::process::random;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// What the machine knows about its talk with the remote.
pub(super) struct Link {
    /// The exchange that runs.
    running: Option<RunningExchange>,
    /// When the last answered read ended.
    answered: Option<Instant>,
    /// When the machine reads next.
    read_at: Instant,
    /// Not before this moment is anything tried again after trouble.
    retry_at: Option<Instant>,
    /// How often in a row the remote did not answer or a record was not settled.
    attempt: u32,
    /// Since when a lock on the server has been in the way.
    locked: Option<Instant>,
    /// The starts of this machine's pushes in the last minutes.
    pushes: Vec<Instant>,
    /// All pushes of this run.
    n_pushes: usize,
    /// Claims that another machine won.
    n_lost: usize,
    /// True after a lost claim: the next one follows a read at the usual time, or all that wait would
    /// push again at once.
    has_just_lost: bool,
    /// When the bound on pushes lets the next one through.
    throttled_until: Option<Instant>,
    /// When the last push that renewed the claims began.
    pub(super) renewed: Option<Instant>,
    /// When the next moment of the integration is.
    pub(super) integrate_at: Option<Instant>,
    /// The integrator's record that this machine has seen last, and when it was pushed or first seen.
    lease: Option<(ObjectId, Instant)>,
    /// References that a lock on the server blocks.
    stuck: BTreeSet<String>,
    /// The trouble that was reported; empty once the remote answers again.
    trouble: String,
    /// True once the bound on pushes was reported.
    has_told_bound: bool,
}

struct RunningExchange {
    began: Instant,
    /// Not set until the process has answered.
    answer: Option<ExchangeAnswer>,
}

impl Link {
    pub(super) fn new() -> Link {
        Link {
            running: None,
            answered: None,
            read_at: Instant::now(),
            retry_at: None,
            attempt: 1,
            locked: None,
            pushes: Vec::new(),
            n_pushes: 0,
            n_lost: 0,
            has_just_lost: false,
            throttled_until: None,
            renewed: None,
            integrate_at: None,
            lease: None,
            stuck: BTreeSet::new(),
            trouble: String::new(),
            has_told_bound: false,
        }
    }

    /// When something may be due that is not due now.
    pub(super) fn next_moment(&self) -> Option<Instant> {
        if self.running.is_some() {
            return None;
        }
        let moments = [Some(self.read_at), self.throttled_until, self.integrate_at];
        let next = moments.into_iter().flatten().min();
        match self.retry_at {
            Some(retry) => next.map(|next| next.max(retry)),
            None => next,
        }
    }

    /// `12 pushes, 1 lost claim`
    pub(super) fn figures(&self) -> String {
        let pushes = counted(self.n_pushes, "push", "pushes");
        match self.n_lost {
            0 => pushes,
            lost => format!("{pushes}, {}", counted(lost, "lost claim", "lost claims")),
        }
    }

    /// True while an exchange runs.
    pub(super) fn is_busy(&self) -> bool {
        self.running.is_some()
    }

    /// False right after a lost claim.
    pub(super) fn may_claim(&self) -> bool {
        !self.has_just_lost
    }

    /// True if a lock on the server blocks this reference.
    pub(super) fn is_stuck(&self, reference: &str) -> bool {
        self.stuck.contains(reference)
    }

    /// True after an exchange that left something to be tried again.
    pub(super) fn is_troubled(&self) -> bool {
        self.retry_at.is_some()
    }

    /// How long ago the integrator's lease was renewed, as far as this machine saw it.
    pub(super) fn lease_since(&mut self, held: Option<&Integrator>) -> Duration {
        let Some(held) = held else { return Duration::ZERO };
        if self.lease.as_ref().is_none_or(|(record, _)| *record != held.renewed) {
            self.lease = Some((held.renewed.clone(), self.answered.unwrap_or_else(Instant::now)));
        }
        self.lease.as_ref().map(|(_, since)| since.elapsed()).unwrap_or_default()
    }

    /// Reads as soon as possible.
    pub(super) fn read_now(&mut self) {
        self.read_at = Instant::now();
    }

    /// How long the machine has to wait before its next push.
    fn wait(&mut self, per_minute: u32, live: usize) -> Duration {
        let longest =
            Duration::from_secs(60).saturating_mul(u32::try_from(live).unwrap_or(u32::MAX));
        self.pushes.retain(|push| push.elapsed() < longest);
        let since: Vec<Duration> = self.pushes.iter().map(Instant::elapsed).collect();
        timing::push_wait(per_minute, live, &since)
    }
}

impl SharedRun<'_> {
    /// Starts an exchange if one is due. True if it was started.
    pub(super) fn exchange_due(&mut self, state: &LoopState) -> Result<bool> {
        let now = Instant::now();
        let is_early = self.link.retry_at.is_some_and(|retry| now < retry);
        if self.link.is_busy() || is_early {
            return Ok(false);
        }
        let mut exchange = match self.known.is_some() {
            true => self.records_due(state, false)?,
            // What an earlier process left is settled first.
            false => Exchange { pushes: true, ..Exchange::default() },
        };
        self.link.throttled_until = None;
        if exchange.pushes {
            let (per_minute, live) = (self.order.settings.pushes_per_minute(), self.live());
            let wait = self.link.wait(per_minute, live);
            if !wait.is_zero() {
                self.link.throttled_until = Some(now + wait);
                self.tell_bound(per_minute, live, wait);
                exchange = Exchange::default();
            }
        }
        if !exchange.pushes && now < self.link.read_at {
            return Ok(false);
        }
        exchange.locked = self.link.locked.map(|since| since.elapsed()).unwrap_or_default();
        let order = self.exchange_order(exchange);
        self.runner.start_helper(exchange::COMMAND, exchange::COMMAND, &order)?;
        self.link.running = Some(RunningExchange { began: now, answer: None });
        Ok(true)
    }

    pub(super) fn exchange_order(&self, exchange: Exchange) -> ExchangeOrder {
        let lease = self.known.as_ref().map_or(Duration::MAX, KnownRemote::lease);
        let longest_call = timing::longest_call(lease);
        ExchangeOrder { place: self.order.place.clone(), exchange, longest_call }
    }

    fn tell_bound(&mut self, per_minute: u32, live: usize, wait: Duration) {
        if !std::mem::replace(&mut self.link.has_told_bound, true) {
            let text = format!(
                "at most {} a minute for {}: the next one in {} s",
                counted(per_minute as usize, "push", "pushes"),
                counted(live, "machine", "machines"),
                wait.as_secs().max(1)
            );
            self.tell("throttled", &text);
        }
    }

    /// Takes an event of the process that exchanges.
    pub(super) fn exchange_heard(&mut self, event: &MemberEvent) -> Result<()> {
        match event {
            MemberEvent::Line(line) => {
                if let Some(running) = &mut self.link.running {
                    running.answer = serde_json::from_slice(line).ok();
                }
                Ok(())
            }
            MemberEvent::Gone(how) => {
                let Some(running) = self.link.running.take() else { return Ok(()) };
                let gone = || ExchangeAnswer::Failed(format!("its process ended ({how})"));
                self.answered(running.began, running.answer.unwrap_or_else(gone))
            }
        }
    }

    /// Takes the answer of an exchange that began at this moment.
    pub(super) fn answered(&mut self, began: Instant, answer: ExchangeAnswer) -> Result<()> {
        let report = match answer {
            ExchangeAnswer::Report(report) => report,
            ExchangeAnswer::Failed(why) => {
                self.wait_for_better(&why);
                return Ok(());
            }
        };
        if report.has_pushed {
            self.link.pushes.push(began);
            self.link.n_pushes += 1;
        }
        match report.is_locked {
            true => drop(self.link.locked.get_or_insert(began)),
            false => self.link.locked = None,
        }
        if !report.is_answered {
            self.wait_for_better(&report.trouble);
            return Ok(());
        }
        self.take_in(began, &report)?;
        let is_settled = report.sent.iter().all(|one| one.settled.is_final());
        if is_settled {
            (self.link.attempt, self.link.retry_at) = (1, None);
            if !std::mem::take(&mut self.link.trouble).is_empty() {
                self.tell("remote", "the remote answers again");
            }
        } else {
            self.wait_for_better(&refusal(&report));
        }
        Ok(())
    }

    /// Waits before the next attempt, longer each time.
    fn wait_for_better(&mut self, why: &str) {
        self.link.attempt = self.link.attempt.saturating_add(1);
        let pause = timing::retry_pause(self.link.attempt, random::fraction());
        self.link.retry_at = Some(Instant::now() + pause);
        // Told once: git's words change from one attempt to the next.
        if self.link.trouble.is_empty() {
            let why = bounded(why, 400);
            self.tell("remote", &format!("trouble with the remote, trying again: {why}"));
            self.link.trouble = why;
        }
    }

    /// Reads what was fetched.
    fn take_in(&mut self, began: Instant, report: &ExchangeReport) -> Result<()> {
        let view = match self.follower.refresh_view() {
            Ok(view) => view.clone(),
            Err(error) => {
                self.block(&format!("{error:#}"));
                return Ok(());
            }
        };
        let poll = self.order.settings.poll();
        // Only the time for which both reads vouch counts.
        let elapsed = self.link.answered.map(|answered| began.saturating_duration_since(answered));
        self.leases.answered(&view, elapsed.unwrap_or_default(), poll);
        let now = Instant::now();
        self.link.answered = Some(now);
        self.link.read_at = now + poll.mul_f64(0.8 + 0.4 * random::fraction());
        self.unread.retain(|_, ended| *ended >= began);
        let Snapshot { own, pending, branch, .. } = self.follower.snapshot().clone();
        let records = self.follower.records();
        let has_commits = match &branch {
            Some(branch) if *branch == view.ledger.branch => false,
            Some(branch) => !records.contains(&view.ledger.branch, branch)?,
            None => false,
        };
        let before = self.known.replace(KnownRemote { view, own, pending, branch, has_commits });
        self.tell_news(before.map(|known| known.view));
        self.link.has_just_lost = false;
        for sent in &report.sent {
            let Some(Reference::Task(task)) = self.order.place.space().parse(&sent.reference)
            else {
                continue;
            };
            match sent.settled {
                Settled::Lost => {
                    self.link.n_lost += 1;
                    self.link.has_just_lost = true;
                    self.tell("lost", &format!("{task}: another machine was faster"));
                }
                Settled::StaleLock if self.link.stuck.insert(sent.reference.clone()) => self.tell(
                    "lock",
                    &format!(
                        "{task}: a lock on the server blocks it; its administrator has to remove it"
                    ),
                ),
                Settled::Landed => {
                    self.link.stuck.remove(&sent.reference);
                    let is_finish = self.known.as_ref().is_some_and(|known| {
                        known.view.finishes().iter().any(|one| one.finish == sent.record)
                    });
                    self.integrating.has_finished |= is_finish;
                }
                Settled::StaleLock | Settled::Read | Settled::Again => {}
            }
        }
        let claims = self.known.as_ref().map(KnownRemote::claims).unwrap_or_default();
        if claims.is_empty() {
            self.link.renewed = None;
        } else if report.sent.iter().any(|one| self.is_renewal(one)) || self.link.renewed.is_none()
        {
            self.link.renewed = Some(began);
        }
        Ok(())
    }

    /// True if the claims are renewed with this record.
    fn is_renewal(&self, sent: &Sent) -> bool {
        let reference = self.order.place.space().parse(&sent.reference);
        matches!(reference, Some(Reference::Machine(_))) && sent.settled == Settled::Landed
    }

    /// Shows what the machines have done since the last look.
    fn tell_news(&self, before: Option<View>) {
        let Some(known) = &self.known else { return };
        let told = before.as_ref().map(View::unread).unwrap_or_default();
        for one in known.view.unread().iter().filter(|one| !told.contains(one)) {
            self.tell("unread", one);
        }
        let Some(before) = before else { return };
        let (before, now) = (&before.ledger, &known.view.ledger);
        let merged: Vec<&str> = now.merged.difference(&before.merged).map(String::as_str).collect();
        if !merged.is_empty() {
            self.tell("merged", &format!("merged: {}", merged.join(", ")));
        }
        let is_new = |finish: &Finish| !before.returned.contains_key(&finish.finish);
        for (finish, reason) in &now.returned {
            let finish = Finish { task: String::new(), finish: finish.clone() };
            if is_new(&finish) {
                let task = known.view.chains.iter().find(|(_, chain)| {
                    chain.as_ref().is_ok_and(|chain| chain.ids.contains(&finish.finish))
                });
                let task = task.map_or("a task", |(task, _)| task.as_str());
                self.tell("returned", &format!("{task} was sent back: {}", reason.as_str()));
            }
        }
        match (&before.pause, &now.pause) {
            (None, Some(why)) => {
                self.tell("paused", &format!("the shared loop is paused: {}", why.as_str()));
            }
            (Some(_), None) => self.tell("resumed", "the shared loop goes on"),
            _ => {}
        }
    }
}

fn refusal(report: &ExchangeReport) -> String {
    match report.trouble.is_empty() {
        true => "a record was not taken".to_owned(),
        false => report.trouble.clone(),
    }
}
