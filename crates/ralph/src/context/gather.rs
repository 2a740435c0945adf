//! Gathers the facts one after another, until the time for all of them is over.
//!
//! Only git can take long, and each call of it ends at the same deadline.

use ralph_core::project::project_facts::{Fact, FactKind, Project};
use std::time::Instant;

/// The facts, and the kinds for which no time was left.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) facts: Vec<(FactKind, Fact)>,
    pub(crate) late: Vec<FactKind>,
}

pub(super) fn gather(project: &dyn Project, kinds: &[FactKind], deadline: Instant) -> Gathered {
    let mut gathered = Gathered::default();
    for kind in kinds {
        if Instant::now() >= deadline {
            gathered.late.push(*kind);
        } else if let Some(fact) = (kind.gather)(project) {
            gathered.facts.push((*kind, fact));
        }
    }
    gathered
}

#[cfg(test)]
mod tests {
    use super::super::disk::Disk;
    use super::*;
    use std::path::Path;
    use std::time::Duration;

    fn told(_: &dyn Project) -> Option<Fact> {
        Some(Fact::line("told"))
    }

    fn nothing(_: &dyn Project) -> Option<Fact> {
        None
    }

    #[test]
    fn facts_keep_their_order_and_those_after_the_deadline_are_late() {
        let kind = |name, gather| FactKind { name, units: 100, on_request: false, gather };
        let kinds = [kind("a", told), kind("b", nothing), kind("c", told)];
        let gathered = |deadline| {
            let gathered = gather(&Disk::at(Path::new("/"), deadline), &kinds, deadline);
            let names =
                |kinds: Vec<FactKind>| kinds.iter().map(|kind| kind.name).collect::<String>();
            (
                names(gathered.facts.into_iter().map(|(kind, _)| kind).collect()),
                names(gathered.late),
            )
        };
        let now = Instant::now();
        assert_eq!(gathered(now + Duration::from_secs(60)), ("ac".to_owned(), String::new()));
        assert_eq!(gathered(now), (String::new(), "abc".to_owned()));
    }
}
