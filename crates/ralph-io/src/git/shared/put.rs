//! Adds one record to the ledger, as a user's command does: at once, or with the reason why not.

use super::{Exchange, Follower, SharedPlace, SharedRepository};
use crate::process::random;
use anyhow::{Result, bail};
use ralph_core::tasks::shared::names::Reference;
use ralph_core::tasks::shared::record::{LedgerRecord, MachineRecord, Record};
use ralph_core::tasks::shared::text::{Name, ObjectId};
use ralph_core::tasks::shared::timing::{self, Settled};
use ralph_core::tasks::shared::view::View;
use ralph_core::tasks::shared::work::Append;
use std::time::{Duration, Instant};

/// How long a command tries.
const PATIENCE: Duration = Duration::from_secs(180);

impl SharedPlace {
    /// Reads the loop from the remote.
    ///
    /// # Errors
    /// If the remote does not answer, or has no such loop.
    pub fn read(&self) -> Result<View> {
        let repository = self.open()?;
        repository.fetch()?;
        Follower::new(self.records()).into_view()
    }

    /// Adds the record that `make` returns for the loop as it then is; `None` adds nothing. Returns
    /// true if a record was added.
    ///
    /// # Errors
    /// If `make` fails, the remote does not answer, or it refuses the record for minutes.
    pub fn put(&self, mut make: impl FnMut(&View) -> Result<Option<LedgerRecord>>) -> Result<bool> {
        let repository = self.open()?;
        repository.fetch()?;
        let until = Instant::now() + PATIENCE;
        loop {
            let view = Follower::new(self.records()).into_view()?;
            let Some(kind) = make(&view)? else { return Ok(false) };
            if self.put_one(&repository, view.ledger.tip(), None, kind, until)? {
                return Ok(true);
            }
        }
    }

    /// Tries whether the host accepts the references of the loop, with the first renewal of this
    /// machine. Returns the reason if it does not.
    ///
    /// # Errors
    /// If the remote does not answer.
    pub fn probe(&self) -> Result<Option<String>> {
        let (repository, machine) = (self.open()?, self.machine()?);
        let (nonce, reference) = (Name::new(&random::uuid()), Reference::Machine(machine.clone()));
        let record = Record::new(nonce, machine, MachineRecord::Renewal);
        repository.fetch()?;
        let name = self.space().name(&reference);
        if repository.snapshot()?.references.contains_key(&name) {
            return Ok(None);
        }
        let append = Append::new(self.space(), &reference, None, None, &record);
        let order = Exchange { appends: vec![append], pushes: true, ..Exchange::default() };
        let report = repository.exchange(&order)?;
        match report.sent.iter().find(|one| one.reference == name).map(|one| one.settled) {
            Some(Settled::Landed) => Ok(None),
            _ if report.is_answered => {
                repository.forget(&name)?;
                Ok(Some(report.trouble))
            }
            _ => bail!("{}", report.trouble),
        }
    }

    /// Makes the ledger with its first record. Returns false if the remote has it already.
    ///
    /// # Errors
    /// If the remote does not answer, or refuses the reference.
    pub fn put_first(&self, plan: LedgerRecord, start: &ObjectId) -> Result<bool> {
        let repository = self.open()?;
        let until = Instant::now() + PATIENCE;
        self.put_one(&repository, None, Some(start), plan, until)
    }

    /// Returns false if another record is in its place.
    fn put_one(
        &self,
        repository: &SharedRepository,
        parent: Option<&ObjectId>,
        work: Option<&ObjectId>,
        kind: LedgerRecord,
        until: Instant,
    ) -> Result<bool> {
        let nonce = Name::new(&random::uuid());
        let record = Record::new(nonce.clone(), self.machine()?, kind);
        let append = Append::new(self.space(), &Reference::Ledger, parent, work, &record);
        let mut order = Exchange { appends: vec![append], pushes: true, ..Exchange::default() };
        let mut locked_since = None;
        for attempt in 2.. {
            let report = repository.exchange(&order)?;
            let mine = report.sent.iter().find(|one| one.reference == order.appends[0].reference);
            match mine.map(|one| one.settled) {
                Some(Settled::Landed) => {
                    // The record of a command that was killed is pushed before this one.
                    let landed = mine.map(|one| repository.record(&one.record)).transpose()?;
                    return Ok(landed.is_some_and(|it| it.message.contains(nonce.as_str())));
                }
                Some(Settled::Lost) => return Ok(false),
                None => {}
                Some(Settled::StaleLock) => bail!(
                    "a lock on the server has blocked the ledger for a minute; its administrator has to remove it: {}",
                    report.trouble
                ),
                Some(Settled::Read | Settled::Again) if Instant::now() >= until => {
                    let why =
                        if report.trouble.is_empty() { "it was refused" } else { &report.trouble };
                    bail!("the remote did not take the record: {why}; type the command again");
                }
                Some(Settled::Read | Settled::Again) => {}
            }
            let since = report.is_locked.then(|| *locked_since.get_or_insert_with(Instant::now));
            order.locked = since.map(|since| since.elapsed()).unwrap_or_default();
            std::thread::sleep(timing::retry_pause(attempt, random::fraction()));
        }
        Ok(false)
    }
}
