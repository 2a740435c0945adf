//! Gathers the facts one after another, until the time for all of them is over.
//!
//! Only git can take long, and each call of it ends at the same deadline. Its status runs while the
//! other facts are gathered.

use ralph_core::project::project_facts::{Fact, FactKind, Project};
use std::time::Instant;

/// The facts, and the kinds for which no time was left.
#[derive(Debug, Default)]
pub struct Gathered {
    pub facts: Vec<(FactKind, Fact)>,
    pub late: Vec<FactKind>,
}

pub(super) fn gather(project: &dyn Project, kinds: &[FactKind], deadline: Instant) -> Gathered {
    let mut gathered: Vec<Option<Fact>> = vec![None; kinds.len()];
    let mut is_late = vec![false; kinds.len()];
    let (last, first): (Vec<_>, Vec<_>) =
        (0..kinds.len()).partition(|place| kinds[*place].wants_status);
    for place in first.into_iter().chain(last) {
        is_late[place] = Instant::now() >= deadline;
        if !is_late[place] {
            gathered[place] = (kinds[place].gather)(project);
        }
    }
    let late = kinds.iter().zip(is_late).filter(|(_, is_late)| *is_late);
    let facts = kinds.iter().zip(gathered).filter_map(|(kind, fact)| Some((*kind, fact?)));
    Gathered { facts: facts.collect(), late: late.map(|(kind, _)| *kind).collect() }
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
        let kind = |name, gather| FactKind {
            name,
            units: 100,
            on_request: false,
            wants_status: name == "a",
            gather,
        };
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
