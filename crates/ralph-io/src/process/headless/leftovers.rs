//! Ends the client and all its descendants, wherever they went.

use crate::process::command::family::{self, Member};
use crate::process::interrupts::Interrupts;
use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, waitpid};
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// How long a process may take to end after SIGTERM. The client ends its own shells, and runs its
/// session-end hooks.
const POLITE: Duration = Duration::from_secs(2);

/// The interval between SIGKILLs: processes may have been started since the last list was read.
const AGAIN: Duration = Duration::from_millis(50);

/// When we give up: a process that is alive by then is out of our power.
const PATIENCE: Duration = Duration::from_secs(10);

/// A client and all its descendants.
pub(super) struct Family {
    /// Our children from before the client; they and their descendants do not belong to it.
    pub(super) others: Vec<Pid>,
    /// The client, which leads a group.
    pub(super) client: Pid,
}

impl Family {
    /// Reaps our new children; true if anything but zombies is left.
    pub(super) fn is_alive(&self) -> bool {
        self.reap();
        !self.members().is_empty()
    }

    /// Ends everything. Returns the names of the client's descendants, or the client's own if it
    /// had none.
    pub(super) fn end(
        &self,
        child: &mut Child,
        exit: &mut Option<ExitStatus>,
        interrupts: &Interrupts,
    ) -> Vec<String> {
        let began = Instant::now();
        let names = self.names();
        let mut members = self.members();
        if !members.is_empty() {
            self.signal(&members, Signal::TERM);
        }
        while began.elapsed() < PATIENCE {
            if exit.is_none() {
                *exit = child.try_wait().unwrap_or_default();
            }
            self.reap();
            members = self.members();
            if members.is_empty() && exit.is_some() {
                break;
            }
            if began.elapsed() >= POLITE {
                self.signal(&members, Signal::KILL);
            }
            interrupts.wait(&[], Instant::now() + AGAIN);
        }
        names
    }

    /// Signals the client first: otherwise it would report the end of a shell to the model as an
    /// event.
    fn signal(&self, members: &[Member], signal: Signal) {
        if members.iter().any(|one| one.pid == self.client) {
            let _ = kill_process_group(self.client, signal);
        }
        members.iter().for_each(|one| one.signal(signal));
    }

    fn names(&self) -> Vec<String> {
        let (client, started): (Vec<Member>, Vec<Member>) =
            self.members().into_iter().partition(|one| one.pid == self.client);
        let named = if started.is_empty() { client } else { started };
        named.into_iter().map(|one| one.name).collect()
    }

    fn members(&self) -> Vec<Member> {
        family::members_without(&self.others, self.client)
    }

    /// Reaps adopted orphans. The client itself is reaped through its `Child`.
    fn reap(&self) {
        let of_us = family::children();
        for child in of_us.iter().filter(|pid| **pid != self.client && !self.others.contains(pid)) {
            let _ = waitpid(Some(*child), WaitOptions::NOHANG);
        }
    }
}
