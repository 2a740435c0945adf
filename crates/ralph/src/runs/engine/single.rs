//! A single round outside of any loop, and the wait for a round of an earlier run.

use super::{ClientRunner, MemberExit, Owner, RunEnd, Then, work};
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, refused};
use crate::runs::client::{ClientRound, RoundResult};
use anyhow::{Context, Result};
use jiff::Timestamp;
use ralph_core::state::LoopState;
use ralph_io::process::wait_any::Interrupts;
use ralph_io::store::lock;
use std::path::Path;
use std::time::Duration;

/// Longer than a client may take to end once it was told to.
pub(crate) const TO_END: Duration = Duration::from_secs(20);

/// Runs one round to its end. After the first Ctrl-C it continues; a round that only waits ends at
/// once. `limited` calls the user when the round waits for the usage limit.
pub(crate) fn round(
    here: &Here,
    round: &ClientRound,
    alone: &Path,
    interrupts: &Interrupts,
    limited: &dyn Fn(Timestamp),
) -> Result<RoundResult> {
    let runner = ClientRunner::one(here, None, interrupts, "")?;
    let mut single = Single { runner, limited, came: None };
    single.runner.start("", "", round.clone(), alone)?;
    work(&mut single)?;
    single.came.context("the round ended without a result")
}

struct Single<'a> {
    runner: ClientRunner<'a, ()>,
    limited: &'a dyn Fn(Timestamp),
    came: Option<RoundResult>,
}

impl<'a> Owner<'a> for Single<'a> {
    type Verdict = ();

    fn runner(&mut self) -> &mut ClientRunner<'a, ()> {
        &mut self.runner
    }

    fn go_on(&mut self, _: Option<&LoopState>) -> Result<Then> {
        self.runner.stop(RunEnd::Decided(()));
        Ok(Then::Again)
    }

    fn limited(&mut self, until: Timestamp) {
        (self.limited)(until);
    }

    fn gone(&mut self, name: &str, gone: MemberExit) -> Result<()> {
        let came = gone.result()?;
        self.runner.remove(name, &came);
        self.came = Some(came);
        Ok(())
    }
}

/// Waits until every process of a round that an earlier run started with this lock has ended.
pub(crate) fn wait_for_earlier(alone: &Path) -> Result<()> {
    // Without the file there was no round.
    if !alone.with_extension("lock").exists() {
        return Ok(());
    }
    lock::take(alone, TO_END)
        .map(drop)
        .context("a client of an earlier run is alive")
        .map_err(|error| refused(Exit::No, format!("{error:#}")))
}
