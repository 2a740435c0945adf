//! JavaScript and TypeScript: the tools that the project itself uses.

pub(super) mod deno;
mod glob;
mod lint;
mod related;
mod runner;
mod syntax;
mod tsconfig;
mod types;

use super::super::around::Around;
use super::wanted::Wanted;

/// The names of its files.
pub(super) const NAMES: &[&str] =
    &["*.ts", "*.tsx", "*.mts", "*.cts", "*.js", "*.jsx", "*.mjs", "*.cjs"];

/// What a file of this kind gets.
pub(super) fn wanted(around: &dyn Around) -> Wanted {
    let mut wanted = Wanted::new(around);
    if let Some(config) = deno::config(around) {
        deno::add(around, &config, &mut wanted);
        return wanted;
    }
    lint::add(around, &mut wanted);
    types::add(around, &mut wanted);
    syntax::add(around, &mut wanted);
    runner::add(around, &mut wanted);
    wanted
}
