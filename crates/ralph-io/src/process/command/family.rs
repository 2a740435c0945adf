//! Finds the descendants of a process in `/proc`, and signals them.
//!
//! Process groups and POSIX sessions are no help: a process can leave both. It cannot leave its
//! ancestors if the nearest living one adopts orphans. Without `/proc`, only the process group is
//! known.

use rustix::process::{
    Pid, Signal, getpid, kill_process, kill_process_group, test_kill_process_group,
};
use std::collections::HashMap;

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

/// All living descendants of this process; `group` stands for them without `/proc`.
pub(crate) fn members(group: Pid) -> Vec<Member> {
    match processes() {
        Some(all) => living(below(&all, &[raw(getpid())])),
        None if test_kill_process_group(group).is_ok() => {
            vec![Member { name: "its process group".to_owned(), pid: group, is_group: true }]
        }
        None => Vec::new(),
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

/// All our children; empty without `/proc`.
pub(crate) fn children() -> Vec<Pid> {
    let us = raw(getpid());
    let all = processes().unwrap_or_default();
    let ours = all.iter().filter(|one| one.parent == us);
    ours.filter_map(|one| Pid::from_raw(one.pid)).collect()
}

/// All living descendants of this process except `others` and their descendants; `group` stands for
/// them without `/proc`.
pub(crate) fn members_without(others: &[Pid], group: Pid) -> Vec<Member> {
    let Some(all) = processes() else { return members(group) };
    let us = raw(getpid());
    let others: Vec<i32> = others.iter().map(|pid| raw(*pid)).collect();
    let children = all.iter().filter(|one| one.parent == us && !others.contains(&one.pid));
    let mut family: Vec<&Process> = children.collect();
    let roots: Vec<i32> = family.iter().map(|one| one.pid).collect();
    family.extend(below(&all, &roots));
    living(family)
}

/// All living descendants of this process except `others` and their descendants; empty without
/// `/proc`.
pub(crate) fn left_to_us(others: &[Pid]) -> Vec<Member> {
    match processes() {
        Some(_) => members_without(others, getpid()),
        None => Vec::new(),
    }
}

/// Finds our orphans. A child that we started ourselves is in our POSIX session, or listed in
/// `ours`.
pub(crate) fn orphans(ours: &[Pid]) -> Orphans {
    let all = processes().unwrap_or_default();
    let us = raw(getpid());
    let session = all.iter().find(|one| one.pid == us).map(|one| one.session);
    let children: Vec<i32> = all
        .iter()
        .filter(|one| one.parent == us && Some(one.session) != session)
        .map(|one| one.pid)
        .filter(|pid| !ours.iter().any(|known| raw(*known) == *pid))
        .collect();
    let mut family = below(&all, &children);
    family.extend(all.iter().filter(|one| children.contains(&one.pid)));
    Orphans {
        living: living(family),
        children: children.into_iter().filter_map(Pid::from_raw).collect(),
    }
}

fn raw(pid: Pid) -> i32 {
    pid.as_raw_nonzero().get()
}

fn living(family: Vec<&Process>) -> Vec<Member> {
    let member = |one: &Process| {
        let pid = Pid::from_raw(one.pid)?;
        Some(Member { name: one.name.clone(), pid, is_group: false })
    };
    family.into_iter().filter(|one| !one.has_ended).filter_map(member).collect()
}

/// All descendants of these processes, without the processes themselves.
fn below<'a>(all: &'a [Process], above: &[i32]) -> Vec<&'a Process> {
    let mut children: HashMap<i32, Vec<&Process>> = HashMap::new();
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

#[derive(Debug, PartialEq, Eq)]
struct Process {
    pid: i32,
    name: String,
    parent: i32,
    session: i32,
    /// A zombie: it has ended, and its parent has not waited for it.
    has_ended: bool,
}

/// Every visible process; `None` without `/proc`.
fn processes() -> Option<Vec<Process>> {
    let entries = std::fs::read_dir("/proc").ok()?;
    let stat = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.ok()?;
        entry.file_name().to_str()?.parse::<i32>().ok()?;
        // The file of a process that ends meanwhile disappears.
        parse(&std::fs::read(entry.path().join("stat")).ok()?)
    };
    let all: Vec<Process> = entries.filter_map(stat).collect();
    (!all.is_empty()).then_some(all)
}

/// Parses `pid (name) state parent group session …`; the name may contain spaces and parentheses.
fn parse(stat: &[u8]) -> Option<Process> {
    let stat = String::from_utf8_lossy(stat);
    let (pid, rest) = stat.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    Some(Process {
        pid: pid.parse().ok()?,
        name: name.to_owned(),
        parent,
        session: fields.nth(1)?.parse().ok()?,
        has_ended: matches!(state, "Z" | "X"),
    })
}

/// The process id and name, for the fuzz targets.
#[cfg(fuzzing)]
pub(crate) fn process_of(stat: &[u8]) -> Option<(i32, String)> {
    parse(stat).map(|process| (process.pid, process.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, parent: i32) -> Process {
        Process { pid, name: pid.to_string(), parent, session: 1, has_ended: false }
    }

    #[test]
    fn a_name_with_brackets_and_spaces_is_read_whole() {
        let expected = Process {
            pid: 42,
            name: "a) Z (b".to_owned(),
            parent: 7,
            session: 9,
            has_ended: false,
        };
        assert_eq!(parse(b"42 (a) Z (b) S 7 8 9 0 -1 4194304"), Some(expected));
        assert!(parse(b"42 (x) Z 7 8 9 0").unwrap().has_ended);
        assert_eq!(parse(b""), None);
    }

    #[test]
    fn descendants_are_found_at_any_depth_and_in_any_order() {
        let all = [(5, 4), (2, 1), (4, 2), (9, 8), (3, 2)].map(|(pid, up)| process(pid, up));
        let mut found: Vec<i32> = below(&all, &[1]).iter().map(|one| one.pid).collect();
        found.sort_unstable();
        assert_eq!(found, [2, 3, 4, 5]);
    }

    #[test]
    fn a_table_with_a_circle_is_read_to_its_end() {
        let all = [process(1, 2), process(2, 1)];
        assert_eq!(below(&all, &[1]).len(), 2);
    }
}
