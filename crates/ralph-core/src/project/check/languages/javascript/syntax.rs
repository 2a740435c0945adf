//! A syntax check for plain JavaScript that no other tool reads.

use super::super::super::parsers::OutputFormat;
use super::super::super::workspace::Around;
use super::super::check_builder::CheckBuilder;
use super::super::formatters;
use super::super::package::Package;
use super::super::{matches_any, name_of, text_of};
use super::{lint, types};

/// Adds `node --check` if no other tool would report a syntax error.
pub(super) fn add(around: &dyn Around, wanted: &mut CheckBuilder) {
    if is_read_otherwise(around) || !is_for_node(around) {
        return;
    }
    let Some(node) = around.tool("node") else { return };
    let line = node.with(&["--check", &text_of(around.file())]);
    wanted.look("node", line, OutputFormat::Whole).because("no other tool reads its syntax");
}

fn is_read_otherwise(around: &dyn Around) -> bool {
    lint::is_linted(around)
        || formatters::biome_config(around).is_some()
        || types::including(around).is_some()
}

/// True if the file is certainly meant for Node as it is. JavaScript for a bundler contains tags,
/// and imports in files that Node treats as scripts.
fn is_for_node(around: &dyn Around) -> bool {
    let name = name_of(around.file());
    if !matches_any(&["*.js", "*.mjs", "*.cjs"], name) {
        return false;
    }
    let text = around.text(around.file()).unwrap_or_default();
    let has_tags = text.contains("</") || text.contains("/>") || text.contains("@flow");
    let is_module = !name.ends_with(".js")
        || Package::all(around).first().is_some_and(Package::is_module)
        || !text.lines().any(|line| line.starts_with("import") || line.starts_with("export"));
    !has_tags && is_module
}

#[cfg(test)]
mod tests {
    use super::super::super::world::FileFixture;

    fn edits(file: &str, text: &str) -> FileFixture {
        FileFixture::edits(file).file(file, text).on_path(&["node"])
    }

    #[test]
    fn node_reads_what_no_other_tool_does() {
        let world = edits("a.mjs", "export {}");
        world.plans("look node");
        world.runs("node", "node --check a.mjs");
        edits("a.cjs", "").plans("look node");
        edits("a.js", "").plans("look node");
        FileFixture::edits("a.js").plans("");
        for config in [".oxlintrc.json", "eslint.config.js", "biome.json"] {
            let tools = ["node", "oxlint", "eslint", "biome"];
            let world = FileFixture::edits("a.js").on_path(&tools).files(&[config]);
            world.plans(match config {
                ".oxlintrc.json" => "fix oxlint",
                "biome.json" => "fix biome",
                _ => "fix eslint",
            });
        }
        edits("a.js", "")
            .installed("node_modules/.bin/tsc")
            .file("tsconfig.json", r#"{"compilerOptions":{"allowJs":true}}"#)
            .plans("look tsc whole tsconfig.json");
    }

    #[test]
    fn what_is_for_a_bundler_is_left_alone() {
        for file in ["a.ts", "a.jsx"] {
            edits(file, "").plans("");
        }
        for text in ["x = <a></a>", "x = <a/>", "// @flow", "import a from 'a'", "export {}"] {
            edits("a.js", text).plans("");
        }
        edits("a.js", " import('a')").plans("look node");
    }

    #[test]
    fn the_nearest_package_says_whether_it_is_a_module() {
        let module = r#"{"type":"module"}"#;
        edits("b/a.js", "export {}").file("package.json", module).plans("look node @b");
        edits("b/a.js", "export {}")
            .file("package.json", module)
            .file("b/package.json", r#"{"type":"commonjs"}"#)
            .plans("");
    }
}
