//! Shows the progress of a run of criteria.

use ralph_core::evidence::receipt::ReceiptStatus;
use ralph_core::state::Criterion;

/// Follows the progress of a run. Several commands may run at once.
pub(crate) trait Watcher: Sync {
    /// A command starts.
    fn begins(&self, criterion: &Criterion);
    /// A command has ended, and its criterion has a new receipt.
    fn ended(&self, criterion: &Criterion, standing: ReceiptStatus);
    /// A command runs on other files, for this observation.
    fn observes(&self, _criterion: &Criterion, _what: &str) {}
    /// A command runs again, for this reason.
    fn again(&self, criterion: &Criterion, why: &str);
}

/// Shows nothing.
pub(crate) struct Silent;

impl Watcher for Silent {
    fn begins(&self, _criterion: &Criterion) {}
    fn ended(&self, _criterion: &Criterion, _standing: ReceiptStatus) {}
    fn again(&self, _criterion: &Criterion, _why: &str) {}
}
