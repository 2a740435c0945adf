//! Go: `gofmt` for the file, `go vet`, the project's `golangci-lint` and the tests of its package.
//!
//! A package is a folder, so tools that check more than the text run there and get `.` as their
//! argument.

use std::path::Path;

use super::super::parsers::OutputFormat;
use super::super::workspace::Around;
use super::super::{CheckKind, CheckMethod};
use super::check_builder::{CheckBuilder, Configured};
use super::config_files::{ConfigFiles, configured};
use super::{folder_of, said};

const GOLANGCI: ConfigFiles =
    ConfigFiles::files(&[".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"]);

pub(super) fn wanted(around: &dyn Around) -> CheckBuilder {
    let mut wanted = CheckBuilder::new(around);
    if let Some(gofmt) = around.tool("gofmt") {
        let by = CheckMethod::Filter(gofmt.with(&[]));
        wanted.fix("gofmt", by, OutputFormat::Whole).because("all Go code has its form");
    }
    if let Some(module) = around.nearest(&["go.mod"]) {
        package(around, &module, &mut wanted);
    }
    wanted
}

fn package(around: &dyn Around, module: &Path, wanted: &mut CheckBuilder) {
    let folder = folder_of(around.file());
    if let Some(go) = wanted.configured(around, "go", module, "install Go (https://go.dev)") {
        let why = format!("it is in the module of {}", said(around, module));
        let go = Configured { folder: folder.to_path_buf(), why, ..go };
        wanted
            .run(CheckKind::Look, "go vet", &go, &["vet", "."], OutputFormat::Plain)
            .whole(folder);
        if around.names(folder).iter().any(|name| name.ends_with("_test.go")) {
            // Vetting is a check of its own.
            wanted
                .run(
                    CheckKind::Test,
                    "go test",
                    &go,
                    &["test", "-vet=off", "."],
                    OutputFormat::Whole,
                )
                .whole(folder)
                .because("its package has tests");
        }
    }
    lint(around, folder, wanted);
}

/// `--fix=false`: a configuration may ask for fixes, and they would reach every file of the
/// package.
fn lint(around: &dyn Around, folder: &Path, wanted: &mut CheckBuilder) {
    let named = ("golangci-lint", "see https://golangci-lint.run");
    let Some(linter) = configured(around, GOLANGCI, named, wanted) else { return };
    let arguments = ["run", "--fix=false", "--allow-parallel-runners", "."];
    wanted
        .run(CheckKind::Look, "golangci-lint", &linter, &arguments, OutputFormat::Plain)
        .at(folder)
        .whole(folder);
}

#[cfg(test)]
mod tests {
    use super::super::world::FileFixture;

    #[test]
    fn gofmt_reads_the_file_on_standard_input() {
        FileFixture::edits("a.go").plans("");
        let world = FileFixture::edits("a/b.go").on_path(&["gofmt", "go"]);
        world.plans("fix gofmt @a");
        world.runs("gofmt", "| gofmt");
    }

    #[test]
    fn a_package_of_a_module_is_vetted_where_it_stands() {
        let world = FileFixture::edits("a/b.go").files(&["go.mod"]);
        world.plans("lacking go");
        world.says(
            "go",
            "`go.mod` configures it, but it is not installed; install Go (https://go.dev)",
        );
        let world = world.on_path(&["go"]);
        world.plans("look go vet @a whole a");
        world.runs("go vet", "go vet .");
        world.says("go vet", "it is in the module of `go.mod`");
    }

    #[test]
    fn the_tests_of_the_same_package_run() {
        let world = FileFixture::edits("a/b.go").files(&["go.mod", "a/c_test.go"]).on_path(&["go"]);
        world.plans("look go vet @a whole a | test go test @a whole a");
        world.runs("go test", "go test -vet=off .");
        let world = FileFixture::edits("a/b_test.go").files(&["go.mod"]).on_path(&["go"]);
        world.plans("look go vet @a whole a | test go test @a whole a");
        let world = FileFixture::edits("b.go").files(&["go.mod", "a/c_test.go"]).on_path(&["go"]);
        world.plans("look go vet whole ");
    }

    #[test]
    fn the_project_s_linter_runs_and_changes_nothing() {
        let world =
            FileFixture::edits("a/b.go").files(&["go.mod", ".golangci.yml"]).on_path(&["go"]);
        world.plans("look go vet @a whole a | lacking golangci-lint");
        let world = world.on_path(&["golangci-lint"]);
        world.plans("look go vet @a whole a | look golangci-lint @a whole a");
        world.runs("golangci-lint", "golangci-lint run --fix=false --allow-parallel-runners .");
        world.says("golangci-lint", "`.golangci.yml` configures it");
        FileFixture::edits("b.go").files(&[".golangci.yml"]).on_path(&["golangci-lint"]).plans("");
    }
}
