//! Ends what a client has left: itself, what it started, and what that has started, wherever it went.

use crate::process::command::family::{self, Member};
use crate::process::interrupts::Interrupts;
use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, waitpid};
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// How long a process may take to end itself once it was asked. The client ends its own shells, and
/// has its hooks of the session's end to run.
const POLITE: Duration = Duration::from_secs(2);

/// When processes are killed again, in case some were born while we looked.
const AGAIN: Duration = Duration::from_millis(50);

/// When we stop trying: what is alive then cannot be killed by us.
const PATIENCE: Duration = Duration::from_secs(10);

/// A client and all that descends from it.
pub(super) struct Family {
    /// Children of ours from before: they and theirs are none of this.
    pub(super) others: Vec<Pid>,
    /// The client, which leads a group.
    pub(super) client: Pid,
}

impl Family {
    /// True if anything but zombies is left; those that have come to us are taken off the list.
    pub(super) fn is_alive(&self) -> bool {
        self.reap();
        !self.members().is_empty()
    }

    /// Ends everything, and names what there was: processes other than the client, or the client alone.
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

    /// The client first: it must not take the end of a shell for news, and ask the model about it.
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

    /// The client itself is left to its `Child`.
    fn reap(&self) {
        let of_us = family::children();
        for child in of_us.iter().filter(|pid| **pid != self.client && !self.others.contains(pid)) {
            let _ = waitpid(Some(*child), WaitOptions::NOHANG);
        }
    }
}
