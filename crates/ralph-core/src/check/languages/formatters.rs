//! What formats files of many languages.

use super::super::around::Around;
use super::wanted::Wanted;

/// What a file of this kind gets.
pub(super) fn wanted(around: &dyn Around) -> Wanted {
    Wanted::new(around)
}
