//! Linters: oxlint and ESLint, if the project uses them. Biome is in `formatters`, because it also
//! formats.

use std::path::PathBuf;

use super::super::super::CheckKind;
use super::super::super::parsers::OutputFormat;
use super::super::super::workspace::Around;
use super::super::check_builder::CheckBuilder;
use super::super::package::{self, Package};
use super::super::{folder_of, name_of, text_of};

/// Adds the linters, the faster one first.
pub(super) fn add(around: &dyn Around, wanted: &mut CheckBuilder) {
    oxlint(around, wanted);
    eslint(around, wanted);
}

/// True if one of them covers the file, installed or not.
pub(super) fn is_linted(around: &dyn Around) -> bool {
    oxlint_config(around).is_some() || eslint_config(around).is_some()
}

fn oxlint(around: &dyn Around, wanted: &mut CheckBuilder) {
    let Some(config) = oxlint_config(around) else { return };
    let remedy = package::remedy(around);
    let Some(oxlint) = wanted.configured(around, "oxlint", &config, &remedy) else { return };
    let file = text_of(around.file());
    // The configuration may exclude the file.
    let arguments = ["--fix", "--format", "unix", "--no-error-on-unmatched-pattern", &file];
    wanted.run(CheckKind::Fix, "oxlint", &oxlint, &arguments, OutputFormat::Plain);
}

/// oxlint needs no configuration: a package that depends on it and has no other linter uses it.
fn oxlint_config(around: &dyn Around) -> Option<PathBuf> {
    package::nearest_config(around, &[".oxlintrc", "oxlint.config"]).or_else(|| {
        let package = Package::all(around).into_iter().find(|package| package.needs("oxlint"))?;
        eslint_config(around).is_none().then(|| package.path())
    })
}

fn eslint(around: &dyn Around, wanted: &mut CheckBuilder) {
    let Some(config) = eslint_config(around) else { return };
    let remedy = package::remedy(around);
    let Some(eslint) = wanted.configured(around, "eslint", &config, &remedy) else { return };
    let file = text_of(around.file());
    let is_flat = name_of(&config).starts_with("eslint.config.");
    // Only flat configurations support the option that suppresses the warning about an excluded
    // file.
    let quiet: &[&str] = if is_flat { &["--no-warn-ignored"] } else { &[] };
    let arguments = [&["--fix"], quiet, &["--format", "json", &file]].concat();
    // ESLint finds an old-style configuration from the file, but its ignore list from the working
    // directory.
    let ignore = (!is_flat).then(|| around.nearest(&[".eslintignore"])).flatten();
    wanted
        .run(CheckKind::Fix, "eslint", &eslint, &arguments, OutputFormat::Eslint)
        .at(folder_of(ignore.as_deref().unwrap_or(&config)));
}

/// The nearest configuration; a file wins over the member of a `package.json`.
fn eslint_config(around: &dyn Around) -> Option<PathBuf> {
    package::nearest_config(around, &["eslint.config", ".eslintrc"]).or_else(|| {
        let mut packages = Package::all(around).into_iter();
        packages.find(|package| package.has("eslintConfig")).map(|package| package.path())
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::world::FileFixture;

    fn with_eslint(file: &str) -> FileFixture {
        FileFixture::edits(file).installed("node_modules/.bin/eslint")
    }

    #[test]
    fn eslint_runs_where_its_configuration_is() {
        let world = with_eslint("packages/app/src/a.ts").files(&["packages/app/eslint.config.mjs"]);
        world.plans("fix eslint @packages/app");
        world.says("eslint", "`packages/app/eslint.config.mjs` configures it");
        world.runs(
            "eslint",
            "node_modules/.bin/eslint --fix --no-warn-ignored --format json packages/app/src/a.ts",
        );
    }

    #[test]
    fn the_older_kind_of_configuration_is_called_in_its_way() {
        let world = with_eslint("b/a.ts").files(&["b/.eslintrc.json"]);
        world.runs("eslint", "node_modules/.bin/eslint --fix --format json b/a.ts");
        world.plans("fix eslint @b");
        world.files(&[".eslintignore"]).plans("fix eslint");
        with_eslint("b/a.ts")
            .files(&["b/eslint.config.js", ".eslintignore"])
            .plans("fix eslint @b");
    }

    #[test]
    fn eslint_may_be_configured_in_a_package() {
        let world = with_eslint("b/a.ts").file("package.json", r#"{"eslintConfig":{}}"#);
        world.plans("fix eslint");
        world.says("eslint", "`package.json` configures it");
        with_eslint("a.ts").file("package.json", r#"{"devDependencies":{"eslint":"9"}}"#).plans("");
    }

    #[test]
    fn a_linter_that_is_not_installed_is_lacking() {
        FileFixture::edits("a.ts").files(&[".eslintrc.json"]).says(
            "eslint",
            "`.eslintrc.json` configures it, but it is not installed; run `npm install`",
        );
        FileFixture::edits("a.ts").files(&[".oxlintrc.json"]).plans("lacking oxlint");
        FileFixture::edits("a.ts").files(&["biome.json"]).plans("lacking biome");
    }

    #[test]
    fn oxlint_runs_where_it_is_configured_or_alone() {
        let oxlint = || with_eslint("b/a.ts").installed("node_modules/.bin/oxlint");
        let needs = r#"{"devDependencies":{"oxlint":"1"}}"#;
        oxlint().plans("");
        oxlint().file("package.json", needs).plans("fix oxlint");
        oxlint().file("package.json", needs).files(&["eslint.config.js"]).plans("fix eslint");
        let both = oxlint().files(&[".oxlintrc.json", "eslint.config.js"]);
        both.plans("fix oxlint | fix eslint");
        both.runs(
            "oxlint",
            "node_modules/.bin/oxlint --fix --format unix --no-error-on-unmatched-pattern b/a.ts",
        );
        both.says("oxlint", "`.oxlintrc.json` configures it");
    }

    #[test]
    fn linters_come_before_formatters() {
        let world = with_eslint("a.ts")
            .files(&["eslint.config.js", ".prettierrc", "biome.json"])
            .installed("node_modules/.bin/prettier")
            .installed("node_modules/.bin/biome");
        world.plans("fix eslint | fix biome | fix prettier");
    }
}
