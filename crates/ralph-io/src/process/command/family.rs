//! Finds the descendants of a process, and signals them.
//!
//! Process groups and POSIX sessions are no help on Linux: a process can leave both. It cannot leave
//! its ancestors if the nearest living one adopts orphans. macOS has no such adoption. There the
//! group, the session and a variable in the environment find those whose parent has ended. A process
//! is lost that has left all of them, or one of the system's own programs that has left the first
//! three: macOS hides its environment.

use crate::process::portable;
use crate::process::table::{self, ProcessRow, ProcessTable};
use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};
use std::collections::HashMap;

/// Marks what a process starts where the system adopts no orphans.
const MARK: &str = "RALPH_STARTED_BY";

/// The variable for a command whose leftovers this process has to find.
pub(crate) fn mark() -> Option<(&'static str, String)> {
    portable::is_used().then(|| (MARK, std::process::id().to_string()))
}

/// A living process, or a whole group if its processes are unknown.
pub(crate) struct Member {
    /// The name shown to the user.
    pub(crate) name: String,
    pub(crate) pid: Pid,
    is_group: bool,
}

impl Member {
    /// Errors are ignored: a process that has ended needs no signal, and a process of another user
    /// cannot get one.
    pub(crate) fn signal(&self, signal: Signal) {
        let _ = match self.is_group {
            true => kill_process_group(self.pid, signal),
            false => kill_process(self.pid, signal),
        };
    }
}

/// All living descendants of this process, with what is left of the group that a command led.
pub(crate) fn members(group: Pid) -> Vec<Member> {
    members_without(&[], group)
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
pub(crate) fn members_without(others: &[Pid], group: Pid) -> Vec<Member> {
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
pub(crate) fn left_to_us(others: &[Pid]) -> Vec<Member> {
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
