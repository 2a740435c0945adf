//! JSON, JSON with comments for files whose tool accepts them, and TOML.

use std::path::Path;

use super::super::parsers::OutputFormat;
use super::super::workspace::Around;
use super::super::{CheckMethod, Parser};
use super::check_builder::CheckBuilder;
use super::{folder_of, matches_any, name_of};

pub(super) const NAMES: &[&str] = &[
    "*.json",
    "*.jsonc",
    "*.code-workspace",
    ".babelrc",
    ".swcrc",
    ".jshintrc",
    ".hintrc",
    ".eslintrc",
];

/// Files whose tools accept comments, and mostly trailing commas too.
const WITH_COMMENTS: &[&str] = &[
    "*.jsonc",
    "*.code-workspace",
    ".babelrc",
    ".babelrc.json",
    ".cspell.json",
    ".devcontainer.json",
    ".eslintrc",
    ".eslintrc.json",
    ".hintrc",
    ".jshintrc",
    ".luarc.json",
    ".markdownlint.json",
    ".oxlintrc.json",
    ".swcrc",
    "angular.json",
    "api-extractor*.json",
    "appsettings*.json",
    "babel.config.json",
    "cspell.json",
    "deno.json",
    "devcontainer.json",
    "global.json",
    "jsconfig*.json",
    "knip.json",
    "language-configuration.json",
    "nx.json",
    "project.json",
    "pyrightconfig.json",
    "rush.json",
    "tsconfig*.json",
    "tsdoc.json",
    "tslint.json",
    "turbo.json",
    "typedoc.json",
    "wrangler.json",
];

/// Folders of tools that accept comments in all of their files.
const FOLDERS: &[&str] = &[".vscode", ".devcontainer", ".zed"];

pub(super) fn wanted(around: &dyn Around) -> CheckBuilder {
    let mut wanted = CheckBuilder::new(around);
    if is_yaml(around) {
        return wanted;
    }
    let (parser, why) = match takes_comments(around.file()) {
        true => (Parser::JsonWithComments, "it is JSON, and its tool takes comments"),
        false => (Parser::Json, "it is JSON"),
    };
    wanted.look("json", CheckMethod::Parser(parser), OutputFormat::Plain).because(why);
    wanted
}

pub(super) fn toml(around: &dyn Around) -> CheckBuilder {
    let mut wanted = CheckBuilder::new(around);
    wanted
        .look("toml", CheckMethod::Parser(Parser::Toml), OutputFormat::Plain)
        .because("it is TOML");
    wanted
}

fn takes_comments(file: &Path) -> bool {
    matches_any(WITH_COMMENTS, name_of(file)) || FOLDERS.contains(&name_of(folder_of(file)))
}

/// True for a `.eslintrc` in YAML, the only one of these names that allows it.
fn is_yaml(around: &dyn Around) -> bool {
    let starts_as_json = |text: String| text.trim_start().starts_with(['{', '/']);
    name_of(around.file()) == ".eslintrc" && !around.text(around.file()).is_some_and(starts_as_json)
}

#[cfg(test)]
mod tests {
    use super::super::world::FileFixture;

    #[track_caller]
    fn check(file: &str, expected: &str) {
        FileFixture::edits(file).runs("json", expected);
    }

    #[test]
    fn most_files_are_plain() {
        for file in [
            "a.json",
            "package.json",
            "package-lock.json",
            "biome.json",
            "b/my-tsconfig.json",
            "vscode/a.json",
        ] {
            check(file, "json");
        }
        FileFixture::edits("a.json").says("json", "it is JSON");
    }

    #[test]
    fn comments_are_taken_where_the_tool_takes_them() {
        for file in [
            "a.jsonc",
            "b/tsconfig.json",
            "tsconfig.build.json",
            "jsconfig.json",
            ".vscode/settings.json",
            ".devcontainer/devcontainer.json",
            ".babelrc",
            "a.code-workspace",
            "deno.json",
        ] {
            check(file, "json with comments");
        }
        let why = "it is JSON, and its tool takes comments";
        FileFixture::edits("a.jsonc").says("json", why);
    }

    #[test]
    fn other_endings_are_not_json() {
        for file in ["a.json5", "a.jsonl", ".prettierrc", "json"] {
            FileFixture::edits(file).plans("");
        }
    }

    #[test]
    fn what_may_be_yaml_is_json_if_it_starts_so() {
        for (text, expected) in
            [(" {}", "look json"), ("// why\n{}", "look json"), ("root: true", ""), ("", "")]
        {
            let world = FileFixture::edits(".eslintrc").file(".eslintrc", text);
            world.plans(expected);
        }
    }

    #[test]
    fn toml_is_parsed() {
        FileFixture::edits("a/b.toml").on_path(&["taplo"]).plans("look toml");
    }
}
