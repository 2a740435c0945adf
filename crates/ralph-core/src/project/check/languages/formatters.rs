//! Formatters for several languages: Biome and Prettier, if the project uses them.

use std::path::PathBuf;

use serde_json::Value;

use super::super::CheckKind;
use super::super::parsers::OutputFormat;
use super::super::workspace::Around;
use super::check_builder::CheckBuilder;
use super::package::{self, Package};
use super::{folder_of, javascript, matches_any, name_of, text_of, upward};

const BIOME_CONFIGS: &[&str] = &["biome.json", "biome.jsonc", ".biome.json", ".biome.jsonc"];

/// Files that Biome knows besides JavaScript.
const BIOME_NAMES: &[&str] = &["*.json", "*.jsonc", "*.css", "*.graphql", "*.gql"];

/// The endings of files that Prettier knows besides JavaScript. `--ignore-unknown` covers those that
/// its version does not know.
const PRETTIER_ENDINGS: &[&str] = &[
    "json", "jsonc", "json5", "css", "scss", "less", "md", "markdown", "mdx", "html", "htm", "vue",
    "yaml", "yml", "graphql", "gql", "hbs",
];

pub(super) fn wanted(around: &dyn Around) -> CheckBuilder {
    let mut wanted = CheckBuilder::new(around);
    if matches_any(javascript::NAMES, name_of(around.file()))
        && javascript::deno::config(around).is_some()
    {
        return wanted;
    }
    biome(around, &mut wanted);
    prettier(around, &mut wanted);
    wanted
}

/// The Biome configuration that covers this file.
pub(super) fn biome_config(around: &dyn Around) -> Option<PathBuf> {
    let name = name_of(around.file());
    let is_known = matches_any(BIOME_NAMES, name) || matches_any(javascript::NAMES, name);
    is_known.then(|| around.nearest(BIOME_CONFIGS)).flatten()
}

fn biome(around: &dyn Around, wanted: &mut CheckBuilder) {
    let Some(config) = biome_config(around) else { return };
    let remedy = package::remedy(around);
    let Some(biome) = wanted.configured(around, "biome", &config, &remedy) else { return };
    let file = text_of(around.file());
    let (reporter, form): (&[&str], _) = match knows_sarif(around) {
        true => (&["--reporter=sarif"], OutputFormat::Sarif),
        false => (&[], OutputFormat::Plain),
    };
    // The configuration may exclude the file, which Biome otherwise reports as an error.
    let rest = [
        "--max-diagnostics=none",
        "--no-errors-on-unmatched",
        "--files-ignore-unknown=true",
        "--colors=off",
        &file,
    ];
    let arguments = [&["check", "--write"], reporter, &rest].concat();
    wanted.run(CheckKind::Fix, "biome", &biome, &arguments, form);
}

/// Biome writes SARIF since 2.4. A Biome that is not the project's own is assumed to be new.
fn knows_sarif(around: &dyn Around) -> bool {
    let manifest = "node_modules/@biomejs/biome/package.json";
    let text = upward(around).find_map(|folder| around.text(&folder.join(manifest)));
    let manifest: Value =
        text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let mut numbers = manifest["version"].as_str().unwrap_or_default().split('.');
    let mut number = || numbers.next()?.parse::<u32>().ok();
    match (number(), number()) {
        (Some(major), Some(minor)) => (major, minor) >= (2, 4),
        _ => true,
    }
}

fn prettier(around: &dyn Around, wanted: &mut CheckBuilder) {
    let name = name_of(around.file());
    let is_known =
        name.rsplit_once('.').is_some_and(|(_, ending)| PRETTIER_ENDINGS.contains(&ending));
    if !is_known && !matches_any(&["*.handlebars"], name) && !matches_any(javascript::NAMES, name) {
        return;
    }
    let Some(config) = prettier_config(around) else { return };
    let remedy = package::remedy(around);
    let Some(prettier) = wanted.configured(around, "prettier", &config, &remedy) else { return };
    // Prettier finds its configuration from the file, but its ignore list from the working
    // directory.
    let start = around.nearest(&[".prettierignore"]).unwrap_or_else(|| config.clone());
    let file = text_of(around.file());
    let arguments = ["--write", "--log-level", "warn", "--ignore-unknown", &file];
    wanted
        .run(CheckKind::Fix, "prettier", &prettier, &arguments, OutputFormat::Whole)
        .at(folder_of(&start));
}

/// The nearest file that mentions Prettier. A mere dependency counts only if Biome does not do the
/// same work.
fn prettier_config(around: &dyn Around) -> Option<PathBuf> {
    let packages = Package::all(around);
    let own = package::nearest_config(around, &[".prettierrc", "prettier.config"]);
    let member = packages.iter().find(|package| package.has("prettier")).map(Package::path);
    let needed = || packages.iter().find(|package| package.needs("prettier")).map(Package::path);
    own.or(member).or_else(|| biome_config(around).is_none().then(needed).flatten())
}

#[cfg(test)]
mod tests {
    use super::super::world::FileFixture;

    fn with_prettier(file: &str) -> FileFixture {
        FileFixture::edits(file).installed("node_modules/.bin/prettier")
    }

    #[test]
    fn prettier_formats_what_it_knows_where_it_is_configured() {
        for file in ["a.css", "a.md", "a.html", "a.vue", "a.graphql", "a.hbs"] {
            with_prettier(file).plans("");
            with_prettier(file).file(".prettierrc", "").plans("fix prettier");
        }
        with_prettier("a.json").file(".prettierrc", "").plans("fix prettier | look json");
        with_prettier("a.txt").file(".prettierrc", "").plans("");
    }

    #[test]
    fn prettier_is_configured_by_a_file_a_member_or_a_dependency() {
        for package in [
            r#"{"prettier":{}}"#,
            r#"{"devDependencies":{"prettier":"3"}}"#,
            r#"{"dependencies":{"prettier":"3"}}"#,
        ] {
            let world = with_prettier("b/a.md").file("package.json", package);
            world.plans("fix prettier");
            world.says("prettier", "`package.json` configures it");
        }
        with_prettier("b/a.md").file("package.json", r#"{"name":"prettier"}"#).plans("");
        with_prettier("b/a.md").file("package.json", "{").plans("");
        for config in ["prettier.config.mjs", ".prettierrc.toml"] {
            with_prettier("b/a.md").files(&[config]).plans("fix prettier");
        }
    }

    #[test]
    fn prettier_runs_where_its_ignore_file_is() {
        let world = with_prettier("b/c/a.md").files(&["b/.prettierrc"]);
        world.plans("fix prettier @b");
        world.runs(
            "prettier",
            "node_modules/.bin/prettier --write --log-level warn --ignore-unknown b/c/a.md",
        );
        with_prettier("b/c/a.md")
            .files(&["b/.prettierrc", ".prettierignore"])
            .plans("fix prettier");
    }

    #[test]
    fn what_is_configured_and_not_installed_is_lacking() {
        FileFixture::edits("a.md").file(".prettierrc", "").plans("lacking prettier");
        FileFixture::edits("a.css").files(&["biome.json", "bun.lock"]).says(
            "biome",
            "`biome.json` configures it, but it is not installed; run `bun install`",
        );
        FileFixture::edits("a.txt").files(&["biome.json", ".prettierrc"]).plans("");
        FileFixture::edits("a.md").files(&["biome.json"]).plans("");
    }

    #[test]
    fn each_lock_file_has_its_manager() {
        for (lock, manager) in [
            ("package-lock.json", "npm"),
            ("pnpm-lock.yaml", "pnpm"),
            ("yarn.lock", "yarn"),
            ("bun.lockb", "bun"),
            ("none", "npm"),
        ] {
            let world = FileFixture::edits("a.md").files(&[".prettierrc", lock]);
            let said = "`.prettierrc` configures it, but it is not installed; run";
            world.says("prettier", &format!("{said} `{manager} install`"));
        }
    }

    #[test]
    fn biome_checks_and_writes_where_it_is_configured() {
        for config in ["biome.json", "biome.jsonc", ".biome.json"] {
            let world = FileFixture::edits("b/a.css").files(&[config]).on_path(&["biome"]);
            world.plans("fix biome");
            world.runs(
                "biome",
                "biome check --write --reporter=sarif --max-diagnostics=none \
                 --no-errors-on-unmatched --files-ignore-unknown=true --colors=off b/a.css",
            );
            world.says("biome", &format!("`{config}` configures it"));
        }
    }

    #[test]
    fn an_older_biome_prints_lines() {
        let runs = |version: &str, expected: &str| {
            FileFixture::edits("b/a.css")
                .files(&["biome.json"])
                .file(
                    "node_modules/@biomejs/biome/package.json",
                    &format!(r#"{{"version":"{version}"}}"#),
                )
                .on_path(&["biome"])
                .runs(
                    "biome",
                    &format!(
                        "biome check --write {expected}--max-diagnostics=none \
                         --no-errors-on-unmatched --files-ignore-unknown=true --colors=off b/a.css"
                    ),
                );
        };
        for version in ["1.9.4", "2.3.15", "1.5.0"] {
            runs(version, "");
        }
        for version in ["2.4.0", "2.10.1", "3.0.0", "next"] {
            runs(version, "--reporter=sarif ");
        }
    }

    #[test]
    fn a_dependency_on_prettier_does_not_count_beside_biome() {
        let world =
            || with_prettier("a.css").files(&["biome.json"]).installed("node_modules/.bin/biome");
        world().file("package.json", r#"{"devDependencies":{"prettier":"3"}}"#).plans("fix biome");
        world().file("package.json", r#"{"prettier":{}}"#).plans("fix biome | fix prettier");
        with_prettier("a.md")
            .files(&["biome.json"])
            .file("package.json", r#"{"devDependencies":{"prettier":"3"}}"#)
            .plans("fix prettier");
    }
}
