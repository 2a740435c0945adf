//! The references of a shared loop: the ledger, one for each claimed task and one for each machine.

use super::text::Name;
use serde::{Deserialize, Serialize};

/// The longest encoded task id: git adds `.lock` to it, and file systems stop at 255 bytes.
pub const LONGEST_COMPONENT: usize = 200;

/// Where the references of a loop are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Namespace {
    loop_id: Name,
    is_below_heads: bool,
}

/// Where the namespaces of all loops are, for hosts that accept any reference and for others.
pub const ROOTS: [&str; 2] = ["refs/ralph/shared/", "refs/heads/ralph/shared/"];

/// One reference of a loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    Ledger,
    /// The chain of the task with this id.
    Task(String),
    /// The renewals of this machine.
    Machine(Name),
}

impl Namespace {
    /// `is_below_heads` is for hosts that accept branches and tags only: a push to the references may
    /// then start workflows.
    pub fn new(loop_id: &Name, is_below_heads: bool) -> Namespace {
        Namespace { loop_id: loop_id.clone(), is_below_heads }
    }

    pub fn loop_id(&self) -> &Name {
        &self.loop_id
    }

    pub fn is_below_heads(&self) -> bool {
        self.is_below_heads
    }

    /// What every reference of the loop begins with, without the last `/`.
    pub fn prefix(&self) -> String {
        format!("{}{}", ROOTS[usize::from(self.is_below_heads)], self.loop_id)
    }

    /// The branch that shows the integrated work. It decides nothing.
    pub fn branch(&self) -> String {
        format!("refs/heads/ralph/{}", self.loop_id)
    }

    /// The full name of a reference.
    pub fn name(&self, reference: &Reference) -> String {
        let prefix = self.prefix();
        match reference {
            Reference::Ledger => format!("{prefix}/ledger"),
            Reference::Task(id) => format!("{prefix}/t/{}", component(id)),
            Reference::Machine(machine) => format!("{prefix}/m/{machine}"),
        }
    }

    /// Reads a full name; `None` for a reference that is not of this loop, or not as Ralph writes it.
    pub fn parse(&self, name: &str) -> Option<Reference> {
        let rest = name.strip_prefix(&self.prefix())?.strip_prefix('/')?;
        if rest == "ledger" {
            return Some(Reference::Ledger);
        }
        match rest.split_once('/')? {
            ("t", task) => decoded(task).map(Reference::Task),
            ("m", machine) => Name::try_from(machine.to_owned()).ok().map(Reference::Machine),
            _ => None,
        }
    }
}

/// A task id as one part of a reference: every byte except ASCII letters, digits, `-` and `_` is
/// written as `%` and two digits.
pub fn component(id: &str) -> String {
    let mut encoded = String::with_capacity(id.len());
    for byte in id.bytes() {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'_' => encoded.push(byte.into()),
            _ => encoded.push_str(&format!("%{byte:02x}")),
        }
    }
    encoded
}

/// The inverse of [`component`]; `None` for any other text, so that no task has two references.
fn decoded(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.bytes();
    while let Some(byte) = rest.next() {
        let mut digit = || char::from(rest.next()?).to_digit(16);
        bytes.push(match byte {
            b'%' => u8::try_from(digit()? * 16 + digit()?).ok()?,
            _ => byte,
        });
    }
    String::from_utf8(bytes).ok().filter(|id| !id.is_empty() && component(id) == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(below_heads: bool) -> Namespace {
        Namespace::new(&Name::new("20260131-120000-1a2b"), below_heads)
    }

    #[track_caller]
    fn check(id: &str, name: &str) {
        let task = Reference::Task(id.to_owned());
        assert_eq!(
            space(false).name(&task),
            format!("refs/ralph/shared/20260131-120000-1a2b/{name}")
        );
        for space in [space(false), space(true)] {
            assert_eq!(space.parse(&space.name(&task)), Some(task.clone()));
        }
    }

    #[test]
    fn a_task_id_becomes_one_part_of_a_reference_and_back() {
        check("T-1", "t/T-1");
        check("T 1/ü", "t/T%201%2f%c3%bc");
        check("a.lock", "t/a%2elock");
        check("..", "t/%2e%2e");
        check("@{x}%2e", "t/%40%7bx%7d%252e");
        check("-", "t/-");
    }

    #[test]
    fn names_that_ralph_does_not_write_are_not_of_the_loop() {
        let space = space(false);
        for rest in
            ["t/%2E", "t/a%2", "t/%zz", "t/", "t/%61", "t/%ff", "m/a.b", "m/", "x/y", "t", ""]
        {
            assert_eq!(space.parse(&format!("{}/{rest}", space.prefix())), None, "{rest}");
        }
        assert_eq!(space.parse("refs/heads/main"), None);
        assert_eq!(space.parse("refs/ralph/shared/20260131-120000-1a2bc/ledger"), None);
    }

    #[test]
    fn the_ledger_and_machines_have_references_of_their_own() {
        for space in [space(false), space(true)] {
            for reference in [Reference::Ledger, Reference::Machine(Name::new("laptop-3f2a"))] {
                assert_eq!(space.parse(&space.name(&reference)), Some(reference));
            }
        }
        assert!(space(true).is_below_heads() && !space(false).is_below_heads());
    }
}
