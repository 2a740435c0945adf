//! Deno, which is compiler, linter, formatter and test runner in one.

use std::path::{Path, PathBuf};

use super::super::super::parsers::OutputFormat;
use super::super::super::workspace::Around;
use super::super::super::{CheckKind, jsonc};
use super::super::check_builder::{CheckBuilder, Configured};
use super::super::{said, text_of};
use super::related::{self, TestNaming};

const CONFIGS: &[&str] = &["deno.json", "deno.jsonc"];

/// The configuration of the file's Deno project: the nearest manifest, if it is Deno's. Deno also
/// wins over a `package.json` in the same folder.
pub(in super::super) fn config(around: &dyn Around) -> Option<PathBuf> {
    let manifest = around.nearest(&["deno.json", "deno.jsonc", "package.json"])?;
    CONFIGS.iter().any(|name| manifest.ends_with(name)).then_some(manifest)
}

pub(super) fn add(around: &dyn Around, config: &Path, wanted: &mut CheckBuilder) {
    let remedy = "see <https://docs.deno.com>";
    let Some(deno) = wanted.configured(around, "deno", config, remedy) else { return };
    let why = format!("{} makes it a project of deno", said(around, config));
    let deno = Configured { why, ..deno };
    let file = text_of(around.file());
    // The configuration may exclude the file, which is an error without `--permit-no-files`.
    let calls: [(CheckKind, &str, &[&str]); 3] = [
        (CheckKind::Fix, "deno fmt", &["fmt", "--quiet", "--permit-no-files", &file]),
        (
            CheckKind::Look,
            "deno lint",
            &["lint", "--quiet", "--compact", "--permit-no-files", &file],
        ),
        (CheckKind::Look, "deno check", &["check", "--quiet", &file]),
    ];
    for (kind, name, arguments) in calls {
        wanted.run(kind, name, &deno, arguments, OutputFormat::Deno);
    }
    let tests = related::tests(around, &deno.folder, TestNaming::Underscored);
    if tests.is_empty() {
        return;
    }
    let tests: Vec<String> = tests.iter().map(|test| text_of(test)).collect();
    let permissions = permissions(around, config);
    let arguments: Vec<&str> = ["test", "--quiet", "--no-prompt", "--cached-only"]
        .into_iter()
        .chain(permissions.iter().map(String::as_str))
        .chain(tests.iter().map(String::as_str))
        .collect();
    wanted.run(CheckKind::Test, "deno test", &deno, &arguments, OutputFormat::Whole);
}

/// The permissions that the project's own `test` task grants.
fn permissions(around: &dyn Around, config: &Path) -> Vec<String> {
    let value = around.text(config).and_then(|text| jsonc::read(&text)).unwrap_or_default();
    let task = &value["tasks"]["test"];
    let line = task.as_str().or(task["command"].as_str()).unwrap_or_default();
    let is_permission = |word: &&str| {
        *word == "-A" || word.starts_with("--allow-") || word.starts_with("--unstable")
    };
    line.split_whitespace().filter(is_permission).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::world::FileFixture;

    fn deno(file: &str) -> FileFixture {
        FileFixture::edits(file).on_path(&["deno", "node"])
    }

    #[test]
    fn deno_does_it_all_in_its_projects() {
        let all = "fix deno fmt | look deno lint | look deno check";
        for config in ["deno.json", "deno.jsonc"] {
            deno("a.ts").files(&[config]).plans(all);
        }
        let world = deno("b/a.ts").files(&[
            "deno.json",
            "tsconfig.json",
            "eslint.config.js",
            ".prettierrc",
        ]);
        world.plans(all);
        world.runs("deno fmt", "deno fmt --quiet --permit-no-files b/a.ts");
        world.runs("deno lint", "deno lint --quiet --compact --permit-no-files b/a.ts");
        world.runs("deno check", "deno check --quiet b/a.ts");
        world.says("deno check", "`deno.json` makes it a project of deno");
    }

    #[test]
    fn the_nearest_manifest_says_whose_project_it_is() {
        let both = deno("a.ts").files(&["deno.json", "package.json"]);
        both.plans("fix deno fmt | look deno lint | look deno check");
        deno("b/a.ts").files(&["deno.json", "b/package.json"]).plans("");
        let nearer = deno("b/a.ts").files(&["package.json", "b/deno.json"]);
        nearer.plans("fix deno fmt @b | look deno lint @b | look deno check @b");
    }

    #[test]
    fn tests_run_with_what_their_task_allows() {
        let tasks = r#"{"tasks": {"test": "deno test -A --allow-net=a --watch --unstable-kv"}, }"#;
        deno("a.ts").files(&["a_test.ts"]).file("deno.json", tasks).runs(
            "deno test",
            "deno test --quiet --no-prompt --cached-only -A --allow-net=a --unstable-kv a_test.ts",
        );
        let tasks = r#"{"tasks": {"test": {"command": "deno test --allow-read"}}}"#;
        deno("a.test.ts").file("deno.json", tasks).runs(
            "deno test",
            "deno test --quiet --no-prompt --cached-only --allow-read a.test.ts",
        );
    }

    #[test]
    fn a_deno_that_is_not_installed_is_lacking() {
        FileFixture::edits("a.ts").files(&["deno.json"]).says(
            "deno",
            "`deno.json` configures it, but it is not installed; see <https://docs.deno.com>",
        );
    }
}
