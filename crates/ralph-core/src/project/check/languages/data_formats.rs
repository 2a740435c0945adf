//! JSON, JSON with comments for files whose tool accepts them, TOML and YAML: Ralph's own parsers, and linters of YAML.

use super::super::CheckKind::Look;
use super::super::parsers::OutputFormat;
use super::super::workspace::Around;
use super::super::{CheckMethod, Parser};
use super::{
    CheckBuilder, ConfigFiles, configured, folder_of, matches_any, name_of, text_of, upward,
};
use std::path::Path;

pub(super) const JSON_NAMES: &[&str] = &[
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

pub(super) fn json(around: &dyn Around, wanted: &mut CheckBuilder) {
    if is_yaml(around) {
        return;
    }
    let (parser, why) = match takes_comments(around.file()) {
        true => (Parser::JsonWithComments, "it is JSON, and its tool takes comments"),
        false => (Parser::Json, "it is JSON"),
    };
    wanted.add(Look, "json", CheckMethod::Parser(parser), OutputFormat::Plain).because(why);
}

pub(super) fn toml(_: &dyn Around, wanted: &mut CheckBuilder) {
    wanted
        .add(Look, "toml", CheckMethod::Parser(Parser::Toml), OutputFormat::Plain)
        .because("it is TOML");
}

fn takes_comments(file: &Path) -> bool {
    matches_any(WITH_COMMENTS, name_of(file)) || FOLDERS.contains(&name_of(folder_of(file)))
}

/// True for a `.eslintrc` in YAML, the only one of these names that allows it.
fn is_yaml(around: &dyn Around) -> bool {
    let starts_as_json = |text: String| text.trim_start().starts_with(['{', '/']);
    name_of(around.file()) == ".eslintrc" && !around.text(around.file()).is_some_and(starts_as_json)
}

// YAML: Ralph's own parser, yamllint if the project uses it, and actionlint for GitHub workflows.
//
// A template is not YAML until it is filled in, whatever its name is: a file of a Helm chart, or
// any file for Jinja or Go templates.

const YAMLLINT: ConfigFiles = ConfigFiles::files(&[".yamllint", ".yamllint.yaml", ".yamllint.yml"]);
const ACTIONLINT: ConfigFiles =
    ConfigFiles::files(&[".github/actionlint.yaml", ".github/actionlint.yml"]);

pub(super) fn yaml(around: &dyn Around, wanted: &mut CheckBuilder) {
    if !is_template(around) {
        wanted
            .add(Look, "yaml", CheckMethod::Parser(Parser::Yaml), OutputFormat::Plain)
            .because("it is YAML");
        lint(around, wanted);
    }
    lint_workflow(around, wanted);
}

/// The file is named relative to the configuration's folder, because `ignore` patterns are relative
/// to it.
fn lint(around: &dyn Around, wanted: &mut CheckBuilder) {
    let remedy = "run `pip install yamllint`";
    let found = configured(around, YAMLLINT, "yamllint", remedy, None, wanted);
    let Some(yamllint) = found else { return };
    let file = text_of(around.file().strip_prefix(&yamllint.folder).unwrap_or(around.file()));
    let arguments = ["--format", "parsable", &file];
    wanted.run(Look, "yamllint", &yamllint, &arguments, OutputFormat::Plain);
}

fn lint_workflow(around: &dyn Around, wanted: &mut CheckBuilder) {
    let workflows = folder_of(around.file());
    if !workflows.ends_with(".github/workflows") {
        return;
    }
    let (remedy, why) =
        ("see https://github.com/rhysd/actionlint", Some("it is a GitHub workflow"));
    let found = configured(around, ACTIONLINT, "actionlint", remedy, why, wanted);
    if let Some(actionlint) = found {
        let arguments = ["-no-color", "-oneline", &text_of(around.file())];
        wanted
            .run(Look, "actionlint", &actionlint, &arguments, OutputFormat::Plain)
            .at(folder_of(folder_of(workflows)));
    }
}

fn is_template(around: &dyn Around) -> bool {
    let in_chart = |folder: &Path| {
        name_of(folder) == "templates" && around.exists(&folder_of(folder).join("Chart.yaml"))
    };
    upward(around).any(in_chart)
        || around.text(around.file()).is_some_and(|text| text.lines().any(is_filled_in))
}

/// True for a line with a placeholder that breaks a YAML parser: `{{ x }}` outside quotes, or
/// `{% if %}`. `${{ x }}` is plain text, as in GitHub workflows.
fn is_filled_in(line: &str) -> bool {
    let Some(at) = ["{{", "{%"].iter().filter_map(|mark| line.find(mark)).min() else {
        return false;
    };
    let before = &line[..at];
    !before.ends_with('$') && !before.contains(['"', '\'', '#'])
}

#[cfg(test)]
mod json_tests {
    use crate::project::check::languages::world::FileFixture;

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

#[cfg(test)]
mod yaml_tests {
    use super::*;
    use crate::project::check::languages::world::FileFixture;

    #[test]
    fn yaml_is_parsed() {
        FileFixture::edits("a/b.yaml").plans("look yaml");
        FileFixture::edits("b.yml").plans("look yaml");
    }

    #[test]
    fn yamllint_runs_where_it_is_configured() {
        let world = FileFixture::edits("a/b.yaml").files(&["a/.yamllint.yml"]);
        world.plans("look yaml | lacking yamllint");
        let world = FileFixture::edits("a/c/b.yaml").files(&["a/.yamllint"]).on_path(&["yamllint"]);
        world.plans("look yaml | look yamllint @a");
        world.runs("yamllint", "yamllint --format parsable c/b.yaml");
        world.says("yamllint", "`a/.yamllint` configures it");
        FileFixture::edits("b.yaml").on_path(&["yamllint"]).plans("look yaml");
    }

    #[test]
    fn a_chart_s_templates_are_not_yaml() {
        let chart = |file| FileFixture::edits(file).files(&["chart/Chart.yaml", "chart/.yamllint"]);
        chart("chart/templates/a.yaml").plans("");
        chart("chart/templates/deep/a.yaml").plans("");
        chart("chart/other/a.yaml").plans("look yaml | lacking yamllint");
        FileFixture::edits("templates/a.yaml").plans("look yaml");
        FileFixture::edits("values.yaml").files(&["Chart.yaml"]).plans("look yaml");
    }

    #[test]
    fn what_is_to_be_filled_in_is_not_yaml() {
        FileFixture::edits("a.yaml").file("a.yaml", "a: 1\nb: {{ c }}\n").plans("");
    }

    #[track_caller]
    fn check(line: &str, expected: bool) {
        assert_eq!(is_filled_in(line), expected, "{line}");
    }

    #[test]
    fn a_placeholder_counts_where_a_parser_would_trip_over_it() {
        check("a: {{ b }}", true);
        check("{% if a %}", true);
        check("{%- if a %}", true);
        check("a: {% b %} \"{{ c }}\"", true);
        check("a: ${{ b }}", false);
        check("a: \"{{ b }}\"", false);
        check("a: '{{ b }}'", false);
        check("# {{ b }}", false);
        check("a: {b: {c: 1}}", false);
        check("a: 1", false);
    }

    #[test]
    fn actionlint_runs_on_workflows_where_it_is_there() {
        FileFixture::edits(".github/workflows/ci.yml").plans("look yaml");
        let world = FileFixture::edits(".github/workflows/ci.yaml").on_path(&["actionlint"]);
        world.plans("look yaml | look actionlint");
        world.runs("actionlint", "actionlint -no-color -oneline .github/workflows/ci.yaml");
        world.says("actionlint", "it is a GitHub workflow");
    }

    #[test]
    fn actionlint_is_lacking_where_it_is_configured() {
        let world =
            FileFixture::edits(".github/workflows/ci.yml").files(&[".github/actionlint.yml"]);
        world.plans("look yaml | lacking actionlint");
        let world = world.on_path(&["actionlint"]);
        world.says("actionlint", "`.github/actionlint.yml` configures it");
    }

    #[test]
    fn other_yaml_is_no_workflow() {
        let plans = |file| FileFixture::edits(file).on_path(&["actionlint"]).plans("look yaml");
        plans(".github/dependabot.yml");
        plans(".github/workflows/deep/ci.yml");
        plans("workflows/ci.yml");
        plans(".github/actions/a/action.yml");
    }
}
