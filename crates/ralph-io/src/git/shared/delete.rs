//! Deletes the references of a loop from the remote.

use super::{SharedPlace, Update};
use crate::process::random;
use anyhow::{Result, bail};
use ralph_core::tasks::shared::names::Reference;
use ralph_core::tasks::shared::text::ObjectId;
use ralph_core::tasks::shared::timing;

/// References in one push.
const AT_ONCE: usize = 500;

/// How many times in succession nothing may be deleted.
const MOST_FAILURES: u32 = 3;

impl SharedPlace {
    /// Deletes every reference of the loop from the remote, the ledger last: commands find the loop by
    /// it. Returns how many there were. The branch stays.
    ///
    /// # Errors
    /// If the remote does not answer, or refuses.
    pub fn delete_references(&self) -> Result<usize> {
        let repository = self.open()?;
        let ledger = self.space().name(&Reference::Ledger);
        let (mut deleted, mut failures) = (0, 0);
        repository.fetch()?;
        loop {
            let mut listed: Vec<(String, ObjectId)> =
                repository.snapshot()?.references.into_iter().collect();
            if listed.is_empty() {
                return Ok(deleted);
            }
            if listed.len() > 1 {
                listed.retain(|(name, _)| *name != ledger);
            }
            let mut trouble = String::new();
            for part in listed.chunks(AT_ONCE) {
                let updates = part.iter().map(|(reference, id)| Update {
                    reference,
                    expected: Some(id),
                    new: None,
                });
                let updates: Vec<Update<'_>> = updates.collect();
                trouble = repository.push(&updates)?.refusal();
            }
            repository.fetch()?;
            let rest = repository.snapshot()?.references;
            let n = listed.iter().filter(|(name, _)| !rest.contains_key(name)).count();
            deleted += n;
            failures = if n > 0 { 0 } else { failures + 1 };
            if failures == MOST_FAILURES {
                bail!("the remote did not delete the references of the loop: {trouble}");
            }
            if failures > 0 {
                std::thread::sleep(timing::retry_pause(failures + 1, random::fraction()));
            }
        }
    }
}
