//! Which finishes are merged together, and how a red batch is halved.

use super::record::{CriterionReceipt, Finish, LARGEST_BATCH};
use super::view::View;

/// The first finishes in the graph's order.
pub fn next(view: &View) -> Vec<Finish> {
    let mut finishes = view.finishes();
    finishes.truncate(LARGEST_BATCH);
    finishes
}

/// The criteria that held before a merge and do not hold after it. A merge is red if there are any:
/// a criterion that was red before says nothing about the merge.
pub fn broken<'a>(before: &'a [CriterionReceipt], after: &[CriterionReceipt]) -> Vec<&'a str> {
    let holds = |id: &str| after.iter().any(|one| one.criterion == id && one.holds);
    let before = before.iter().filter(|one| one.holds).map(|one| one.criterion.as_str());
    before.filter(|id| !holds(id)).collect()
}

/// A batch that is being integrated: the parts that are still to be merged, the next one last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Batch {
    parts: Vec<Vec<Finish>>,
}

impl Batch {
    pub fn new(finishes: Vec<Finish>) -> Batch {
        let parts = if finishes.is_empty() { Vec::new() } else { vec![finishes] };
        Batch { parts }
    }

    /// The part to merge now, on top of what is merged.
    pub fn part(&self) -> Option<&[Finish]> {
        self.parts.last().map(Vec::as_slice)
    }

    /// The part is merged, or its only finish is returned.
    pub fn settled(&mut self) {
        self.parts.pop();
    }

    /// A finish of the part conflicts with the branch and is returned.
    pub fn conflicts(&mut self, finish: &Finish) {
        for part in &mut self.parts {
            part.retain(|one| one != finish);
        }
        self.parts.retain(|part| !part.is_empty());
    }

    /// A criterion is red with the part. Returns the finish to return if the part is that finish
    /// alone; otherwise the halves are merged one after the other.
    pub fn red(&mut self) -> Option<Finish> {
        let mut part = self.parts.pop()?;
        if part.len() == 1 {
            return part.pop();
        }
        let second = part.split_off(part.len().div_ceil(2));
        self.parts.extend([second, part]);
        None
    }
}

#[cfg(test)]
mod tests;
