//! Reads and changes the orchestrations of a project for the commands.

use crate::command::context_dir::Here;
use crate::command::exit::{Exit, ExitError, bad_state, refused};
use anyhow::Result;
use ralph_core::modes::orchestration::id::{OrchestrationId, REFUSED};
use ralph_core::modes::orchestration::snapshot::Snapshot;
use ralph_io::store::orchestration::{OrchestrationStore, SnapshotChange};

/// Where the command was given, and the project's orchestrations.
#[derive(Debug)]
pub(crate) struct OrchestrationContext {
    pub(crate) here: Here,
    pub(crate) sessions: OrchestrationStore,
}

impl OrchestrationContext {
    /// For the project where the command was given.
    pub(crate) fn gather(here: &Here) -> Result<OrchestrationContext> {
        let sessions = OrchestrationStore::open(&here.root, &here.home)?;
        Ok(OrchestrationContext { here: here.clone(), sessions })
    }

    pub(crate) fn names(&self) -> Vec<OrchestrationId> {
        self.sessions.list()
    }

    /// The orchestration with this id. Without an id, the only open one, or the only one at all.
    pub(crate) fn find(&self, id: Option<&str>) -> Result<OrchestrationId> {
        if let Some(name) = id {
            return named(name);
        }
        let meant = self.sessions.meant(NONE, |id| format!("`--id {id}`")).map_err(bad_state)?;
        meant.map_err(|why| refused(Exit::No, why))
    }

    pub(crate) fn read(&self, id: &OrchestrationId) -> Result<Snapshot> {
        self.sessions.read(id).map_err(bad_state)?.ok_or_else(|| missing(id))
    }

    /// Reads, decides and writes in one step.
    pub(crate) fn update<T>(
        &self,
        id: &OrchestrationId,
        decide: impl FnMut(&Snapshot) -> Result<(Snapshot, T)>,
    ) -> Result<SnapshotChange<T>> {
        // Keep the exit code of a refusal. Any other error comes from a file.
        let as_bad_state = |error: anyhow::Error| match error.is::<ExitError>() {
            true => error,
            false => bad_state(error),
        };
        self.sessions.update(id, decide).map_err(as_bad_state)?.ok_or_else(|| missing(id))
    }
}

/// The message if the project has no orchestration.
pub(crate) const NONE: &str = "there is no orchestration here; `ralph team new TASK` begins one";

pub(crate) fn named(name: &str) -> Result<OrchestrationId> {
    OrchestrationId::parse(name).map_err(|_| refused(Exit::Usage, REFUSED))
}

pub(crate) fn missing(id: &OrchestrationId) -> anyhow::Error {
    let what = format!("there is no orchestration {id}; `ralph team new --id {id} TASK` begins it");
    refused(Exit::No, what)
}
