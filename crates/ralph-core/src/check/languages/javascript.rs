//! JavaScript and TypeScript.

pub(super) mod deno;
mod glob;
mod tsconfig;

use super::super::around::Around;
use super::wanted::Wanted;

/// The names of its files.
pub(super) const NAMES: &[&str] =
    &["*.ts", "*.tsx", "*.mts", "*.cts", "*.js", "*.jsx", "*.mjs", "*.cjs"];

/// What a file of this kind gets.
pub(super) fn wanted(around: &dyn Around) -> Wanted {
    Wanted::new(around)
}
