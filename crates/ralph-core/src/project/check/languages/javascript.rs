//! JavaScript and TypeScript: the tools that the project itself uses.

pub(super) mod deno;
mod lint;
mod related;
mod runner;
mod syntax;
mod types;

use super::super::workspace::Around;
use super::check_builder::CheckBuilder;
use super::{matches_any, name_of};

pub(super) const NAMES: &[&str] =
    &["*.ts", "*.tsx", "*.mts", "*.cts", "*.js", "*.jsx", "*.mjs", "*.cjs"];

const DECLARATIONS: &[&str] = &["*.d.ts", "*.d.mts", "*.d.cts"];

pub(super) fn wanted(around: &dyn Around) -> CheckBuilder {
    let mut wanted = CheckBuilder::new(around);
    if let Some(config) = deno::config(around) {
        deno::add(around, &config, &mut wanted);
        return wanted;
    }
    // Declaration files are usually generated, and never run.
    if matches_any(DECLARATIONS, name_of(around.file())) {
        types::add(around, &mut wanted);
        return wanted;
    }
    lint::add(around, &mut wanted);
    types::add(around, &mut wanted);
    syntax::add(around, &mut wanted);
    runner::add(around, &mut wanted);
    wanted
}

#[cfg(test)]
mod tests {
    use super::super::world::FileFixture;

    #[test]
    fn declarations_are_only_checked_for_their_types() {
        for (file, expected) in [
            ("a.d.ts", "look tsc whole tsconfig.json"),
            ("a.d.mts", "look tsc whole tsconfig.json"),
            ("a.ts", "fix eslint | look tsc whole tsconfig.json | test vitest"),
        ] {
            FileFixture::edits(file)
                .file("tsconfig.json", "{}")
                .files(&["eslint.config.js", "vitest.config.js", "a.test.ts"])
                .installed("node_modules/.bin/tsc")
                .on_path(&["eslint", "vitest"])
                .plans(expected);
        }
    }
}
