//! A gate holds a reply back until a test opens it: a condition, where a delay would be a guess.
//!
//! A gate opens once and stays open.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// Shared by the script that waits at it and the test that opens it.
#[derive(Clone, Default)]
pub struct Gate(Arc<Inner>);

#[derive(Default)]
struct Inner {
    seen: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Clone, Copy, Default)]
struct GateState {
    reached: bool,
    open: bool,
}

impl Gate {
    pub fn new() -> Gate {
        Gate::default()
    }

    /// Releases the held reply.
    pub fn open(&self) {
        self.lock().open = true;
        self.0.changed.notify_all();
    }

    /// Waits until a reply is held here, and thus the client waits for the model.
    pub fn wait_until_reached(&self, patience: Duration) -> Result<()> {
        let deadline = Instant::now() + patience;
        let mut seen = self.lock();
        while !seen.reached {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                bail!("could not see any reply held at the gate within {patience:?}");
            }
            seen =
                self.0.changed.wait_timeout(seen, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(())
    }

    /// For the reply: reports that it has arrived, and waits until the gate is open.
    pub(super) fn pass(&self) {
        let mut seen = self.lock();
        seen.reached = true;
        self.0.changed.notify_all();
        while !seen.open {
            seen = self.0.changed.wait(seen).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, GateState> {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
