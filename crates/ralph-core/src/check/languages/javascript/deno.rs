//! Deno.

use super::super::super::around::Around;

/// True if it is deno's.
pub(in super::super) fn is_project(_around: &dyn Around) -> bool {
    false
}
