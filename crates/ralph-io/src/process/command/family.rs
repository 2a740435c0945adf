//! Finds the descendants of a process, signals them, and ends those that are orphans.
//!
//! Process groups and POSIX sessions are no help on Linux: a process can leave both. It cannot leave
//! its ancestors if the nearest living one adopts orphans. macOS has no such adoption. There the
//! group, the session and a variable in the environment find those whose parent has ended. A process
//! is lost that has left all of them, or one of the system's own programs that has left the first
//! three: macOS hides its environment.

use crate::process::portable;
use crate::process::table::{self, ProcessRow, ProcessTable};
use crate::process::waits::{END_AGAIN, END_PATIENCE};
use anyhow::{Context, Result};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, kill_process, kill_process_group,
    test_kill_process_group, waitpid,
};
use std::collections::HashMap;
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Marks what a process starts where the system adopts no orphans.
const MARK: &str = "RALPH_STARTED_BY";

/// The variable for a command whose leftovers this process has to find.
pub(crate) fn mark() -> Option<(&'static str, String)> {
    portable::is_used().then(|| (MARK, std::process::id().to_string()))
}

/// A living process, or a whole group if its processes are unknown.
#[derive(Clone)]
pub(crate) struct Member {
    /// The name shown to the user.
    pub(crate) name: String,
    pub(crate) pid: Pid,
    is_group: bool,
}

impl Member {
    /// Errors are ignored: a process that has ended needs no signal, and a process of another user
    /// cannot get one.
    fn signal(&self, signal: Signal) {
        let _ = match self.is_group {
            true => kill_process_group(self.pid, signal),
            false => kill_process(self.pid, signal),
        };
    }
}

/// All that one child has started, wherever it went, and the child itself.
#[derive(Debug)]
pub(crate) struct Family {
    /// Our children from before; they and their descendants do not belong to it.
    others: Vec<Pid>,
    /// The child, which leads a group; `None` if it has ended and only its orphans are left.
    leader: Option<Pid>,
    /// The leader's own exit status.
    pub(crate) exit: Option<WaitStatus>,
}

/// The end of a family that is under way.
pub(crate) struct FamilyEnding {
    began: Instant,
    /// How long a process may take to end after SIGTERM.
    grace: Duration,
    asked: Vec<Pid>,
}

impl Family {
    pub(crate) fn new(others: Vec<Pid>, leader: Option<Pid>) -> Family {
        Family { others, leader, exit: None }
    }

    /// Reaps what has ended. True if nothing but zombies is left.
    pub(crate) fn is_gone(&mut self) -> bool {
        let is_childless = self.reap();
        // A process that adopts every orphan and has no child has no descendants either. That answer
        // comes from the kernel; a process list is stale by the time it is read.
        match self.others.is_empty() && !portable::is_used() {
            true => is_childless,
            false => {
                let is_leader_gone = self.leader.is_none() || self.exit.is_some();
                is_leader_gone && self.members().is_empty()
            }
        }
    }

    /// Reaps the child and orphans that have ended. True if this process has no child at all.
    pub(crate) fn reap(&mut self) -> bool {
        let mut ours = (!self.others.is_empty()).then(children).into_iter().flatten();
        loop {
            let ended = match self.others.is_empty() {
                true => rustix::process::wait(WaitOptions::NOHANG),
                false => match ours.find(|pid| !self.others.contains(pid)) {
                    Some(child) => waitpid(Some(child), WaitOptions::NOHANG),
                    None => return false,
                },
            };
            match ended {
                Ok(Some((pid, status))) if Some(pid) == self.leader => self.exit = Some(status),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) if self.others.is_empty() => return false,
                Err(_) if self.others.is_empty() => return true,
                Ok(None) | Err(_) => {}
            }
        }
    }

    pub(crate) fn members(&self) -> Vec<Member> {
        match self.leader {
            Some(group) => members_without(&self.others, group),
            None => left_to_us(&self.others),
        }
    }

    /// Asks what is left to end, or kills it once the time for that is over. Returns when to do so again;
    /// `None` if nothing is left, or if what is left is out of our power.
    pub(crate) fn press(&mut self, ending: &mut FamilyEnding) -> Option<Instant> {
        let elapsed = ending.began.elapsed();
        if self.is_gone() || elapsed >= ending.grace + END_PATIENCE {
            return None;
        }
        let members = self.members();
        if elapsed >= ending.grace {
            self.signal(&members, Signal::KILL);
        }
        let is_new = |one: &&Member| !ending.asked.contains(&one.pid);
        if members.iter().any(|one| is_new(&one)) {
            let new: Vec<Member> = members.iter().filter(is_new).cloned().collect();
            // One that is stopped has to go on in order to end.
            [Signal::TERM, Signal::CONT].into_iter().for_each(|it| self.signal(&new, it));
        }
        ending.asked = members.iter().map(|one| one.pid).collect();
        Some(Instant::now() + END_AGAIN)
    }

    /// Signals the child first: a client would report the end of a shell to the model as an event.
    fn signal(&self, members: &[Member], signal: Signal) {
        if let Some(leader) = self.leader.filter(|it| members.iter().any(|one| one.pid == *it)) {
            let _ = kill_process_group(leader, signal);
        }
        members.iter().for_each(|one| one.signal(signal));
    }
}

impl FamilyEnding {
    pub(crate) fn begin(grace: Duration) -> FamilyEnding {
        FamilyEnding { began: Instant::now(), grace, asked: Vec::new() }
    }
}

/// Our children that came to us as orphans, recognised by a POSIX session other than ours, with
/// their descendants.
pub(crate) struct Orphans {
    /// The living orphans and their living descendants.
    pub(crate) living: Vec<Member>,
    /// The orphans themselves, which we have to wait for.
    pub(crate) children: Vec<Pid>,
}

/// All our children; empty if the system shows no processes.
pub(crate) fn children() -> Vec<Pid> {
    let us = std::process::id();
    let all = processes().unwrap_or_default();
    all.iter().filter(|one| one.parent == us).filter_map(|one| to_pid(one.pid)).collect()
}

/// All living descendants of this process except `others` and their descendants, with what is left
/// of the group that a command led. `group` stands for them if the system shows no processes.
fn members_without(others: &[Pid], group: Pid) -> Vec<Member> {
    match processes() {
        Some(all) => match mark() {
            None => living(family(&all, others, None)),
            Some((name, value)) => {
                let marked = table::with_variable(&format!("{name}={value}"));
                living(family(&all, others, Some((raw(group), &marked))))
            }
        },
        None if test_kill_process_group(group).is_ok() => {
            vec![Member { name: "its process group".to_owned(), pid: group, is_group: true }]
        }
        None => Vec::new(),
    }
}

/// All living descendants of this process except `others` and their descendants; empty if the
/// system shows no processes.
fn left_to_us(others: &[Pid]) -> Vec<Member> {
    processes().map(|all| living(family(&all, others, None))).unwrap_or_default()
}

/// The descendants of this process except `others` and their descendants. With a group and marked
/// processes, also those that have lost their parent but not the group, the session that we lead, or
/// the mark.
fn family<'a>(
    all: &'a [ProcessRow],
    others: &[Pid],
    stray: Option<(u32, &[u32])>,
) -> Vec<&'a ProcessRow> {
    let us = std::process::id();
    let others: Vec<u32> = others.iter().map(|pid| raw(*pid)).collect();
    let is_ours = |one: &ProcessRow| {
        one.parent == us
            || stray.is_some_and(|(group, marked)| {
                one.group == group || one.session == us || marked.contains(&one.pid)
            })
    };
    let roots: Vec<u32> = all
        .iter()
        .filter(|one| one.pid != us && !others.contains(&one.pid) && is_ours(one))
        .map(|one| one.pid)
        .collect();
    let mut family = below(all, &roots);
    family.extend(all.iter().filter(|one| roots.contains(&one.pid)));
    // A child of one that was found by its group was found twice.
    family.sort_by_key(|one| one.pid);
    family.dedup_by_key(|one| one.pid);
    family
}

/// Finds our orphans. A child that we started ourselves is in our POSIX session, or listed in
/// `ours`.
pub(crate) fn orphans(ours: &[Pid]) -> Orphans {
    let all = processes().unwrap_or_default();
    let us = std::process::id();
    let session = all.iter().find(|one| one.pid == us).map(|one| one.session);
    let children: Vec<u32> = all
        .iter()
        .filter(|one| one.parent == us && Some(one.session) != session)
        .map(|one| one.pid)
        .filter(|pid| !ours.iter().any(|known| raw(*known) == *pid))
        .collect();
    let mut family = below(&all, &children);
    family.extend(all.iter().filter(|one| children.contains(&one.pid)));
    Orphans { living: living(family), children: children.into_iter().filter_map(to_pid).collect() }
}

fn raw(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().unsigned_abs()
}

fn to_pid(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}

fn living(family: Vec<&ProcessRow>) -> Vec<Member> {
    let member = |one: &ProcessRow| {
        Some(Member { name: one.name.clone(), pid: to_pid(one.pid)?, is_group: false })
    };
    family.into_iter().filter(|one| !one.has_ended).filter_map(member).collect()
}

/// All descendants of these processes, without the processes themselves.
fn below<'a>(all: &'a [ProcessRow], above: &[u32]) -> Vec<&'a ProcessRow> {
    let mut children: HashMap<u32, Vec<&ProcessRow>> = HashMap::new();
    for one in all {
        children.entry(one.parent).or_default().push(one);
    }
    let mut family = Vec::new();
    let mut parents = above.to_vec();
    while let Some(parent) = parents.pop() {
        // Removed from the map, so that a process table that changed during reading cannot cause an
        // endless loop.
        for child in children.remove(&parent).unwrap_or_default() {
            parents.push(child.pid);
            family.push(child);
        }
    }
    family
}

/// Every visible process; `None` if the system shows none.
fn processes() -> Option<Vec<ProcessRow>> {
    let all = ProcessTable::read()?.rows();
    (!all.is_empty()).then_some(all)
}

// Ends the orphans of a command that has killed its own supervisor; they become our children.
//
// Only a process that has asked for orphans gets them. Our own children are told from orphans by
// their POSIX session, and supervisors by a list; so both are handled here.

/// The supervisors that are running. Locked while one is started and while orphans are ended, so
/// that no new supervisor is taken for an orphan.
static SUPERVISORS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

fn supervisors() -> MutexGuard<'static, Vec<Pid>> {
    SUPERVISORS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on, a descendant that loses its parent becomes our child.
///
/// # Errors
/// If the system refuses. On a system without this feature, nothing happens.
pub fn adopt() -> Result<()> {
    #[cfg(target_os = "linux")]
    if !portable::is_used() {
        unless_unknown(rustix::process::set_child_subreaper(Some(rustix::process::getpid())))
            .context("could not ask for orphans")?;
    }
    Ok(())
}

/// A container for another processor runs in an emulator that knows fewer calls than Linux
/// (measured with qemu-user 7.2). Without orphans, a command is supervised as on macOS.
#[cfg(target_os = "linux")]
fn unless_unknown(asked: rustix::io::Result<()>) -> rustix::io::Result<()> {
    match asked {
        Err(Errno::INVAL | Errno::NOSYS) => Ok(()),
        other => other,
    }
}

/// A supervisor, listed as long as this value lives.
pub(super) struct Supervisor {
    pub(super) child: Child,
}

/// Starts a supervisor and lists it.
pub(super) fn start(command: &mut Command) -> Result<Supervisor> {
    let mut list = supervisors();
    let child = command.spawn().context("could not start a process")?;
    list.push(Pid::from_child(&child));
    Ok(Supervisor { child })
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        let ours = Pid::from_child(&self.child);
        supervisors().retain(|pid| *pid != ours);
    }
}

/// Kills every orphan of ours with all its descendants, and waits until they are gone. They get no
/// SIGTERM first: they killed their supervisor, or ran beside the process that did.
pub(super) fn end_all() {
    let list = supervisors();
    let until = Instant::now() + END_PATIENCE;
    while Instant::now() < until {
        let orphans = orphans(&list);
        if orphans.children.is_empty() {
            return;
        }
        for one in &orphans.living {
            one.signal(Signal::KILL);
        }
        for child in orphans.children {
            wait_for(child, until);
        }
    }
}

/// Waits for a killed child to end, and reaps it.
fn wait_for(child: Pid, until: Instant) {
    #[cfg(target_os = "linux")]
    {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        use rustix::process::{PidfdFlags, pidfd_open};
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).unwrap_or_default();
        if let Ok(end) = pidfd_open(child, PidfdFlags::empty()) {
            let _ = poll(&mut [PollFd::new(&end, PollFlags::IN)], Some(&left));
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = until;
    let _ = waitpid(Some(child), WaitOptions::NOHANG);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, parent: u32) -> ProcessRow {
        ProcessRow {
            pid,
            parent,
            group: 1,
            session: 1,
            has_terminal: false,
            started: 0,
            name: pid.to_string(),
            has_ended: false,
        }
    }

    fn pids(mut found: Vec<&ProcessRow>) -> Vec<u32> {
        found.sort_by_key(|one| one.pid);
        found.iter().map(|one| one.pid).collect()
    }

    #[test]
    fn descendants_are_found_at_any_depth_and_in_any_order() {
        let all = [(5, 4), (2, 1), (4, 2), (9, 8), (3, 2)].map(|(pid, up)| process(pid, up));
        assert_eq!(pids(below(&all, &[1])), [2, 3, 4, 5]);
    }

    #[test]
    fn a_table_with_a_circle_is_read_to_its_end() {
        let all = [process(1, 2), process(2, 1)];
        assert_eq!(below(&all, &[1]).len(), 2);
    }

    #[test]
    fn a_daemon_without_a_readable_environment_is_lost_without_adoption() {
        let us = std::process::id();
        let all = [process(us, 1), process(us + 1, 1)];
        assert_eq!(pids(family(&all, &[], Some((us + 2, &[])))), [] as [u32; 0]);
        assert_eq!(pids(family(&all, &[], Some((us + 2, &[us + 1])))), [us + 1]);
    }

    #[test]
    fn without_adoption_the_group_and_the_session_find_whose_parent_has_ended() {
        let us = std::process::id();
        let [group, session, left, marked] = [1, 2, 3, 6].map(|more| us + more);
        let all = [
            process(us, 1),
            ProcessRow { group, ..process(group, us) },
            // Its parent has ended; it stayed in the group, or only in our session.
            ProcessRow { group, ..process(us + 4, 1) },
            ProcessRow { session: us, ..process(session, 1) },
            process(us + 5, session),
            process(marked, 1),
            // A daemon.
            process(left, 1),
        ];
        let found = pids(family(&all, &[], Some((group, &[marked]))));
        assert_eq!(found, [group, session, us + 4, us + 5, marked]);
        assert_eq!(pids(family(&all, &[], None)), [group], "orphans come to us");
        let other = to_pid(group).unwrap();
        assert_eq!(pids(family(&all, &[other], None)), [] as [u32; 0]);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod orphans_tests {
    use super::*;

    #[test]
    fn a_system_that_knows_no_orphans_is_no_failure_and_one_that_refuses_is() {
        assert_eq!(unless_unknown(Err(Errno::INVAL)), Ok(()));
        assert_eq!(unless_unknown(Err(Errno::NOSYS)), Ok(()));
        assert_eq!(unless_unknown(Err(Errno::PERM)), Err(Errno::PERM));
    }
}
