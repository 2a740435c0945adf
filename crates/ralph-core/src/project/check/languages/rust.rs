//! Rust: `clippy` for the package, `rustfmt` for the file.
//!
//! `rustfmt` reads standard input, because with a file name it also formats the modules that the
//! file declares.

use std::path::Path;

use super::super::parsers::OutputFormat;
use super::super::workspace::Around;
use super::super::{CheckKind, CheckMethod};
use super::check_builder::CheckBuilder;
use super::config_files::{has_table, upward};
use super::{folder_of, said, text_of};

const MANIFEST: &str = "Cargo.toml";

pub(super) fn wanted(around: &dyn Around) -> CheckBuilder {
    let mut wanted = CheckBuilder::new(around);
    let Some(manifest) = around.nearest(&[MANIFEST]) else { return wanted };
    let text = around.text(&manifest).unwrap_or_default();
    // A manifest that only names a workspace's members owns no file.
    if has_table(&text, "package") {
        format(around, &text, &mut wanted);
        look(around, &manifest, &mut wanted);
        test(around, &manifest, &text, &mut wanted);
    }
    wanted
}

fn format(around: &dyn Around, manifest: &str, wanted: &mut CheckBuilder) {
    let Some(rustfmt) = around.tool("rustfmt") else { return };
    let edition = edition(around, manifest);
    let program = rustfmt.with(&["--edition", &edition, "--emit", "stdout", "--quiet"]);
    let why = format!("its package is of the {edition} edition");
    wanted.fix("rustfmt", CheckMethod::Filter(program), OutputFormat::Whole).because(why);
}

/// `--offline`: a hook cannot wait for the download of a new dependency.
fn look(around: &dyn Around, manifest: &Path, wanted: &mut CheckBuilder) {
    let (name, command) = match around.tool("cargo-clippy") {
        Some(_) => ("clippy", "clippy"),
        None => ("cargo check", "check"),
    };
    let remedy = "install Rust (https://rustup.rs)";
    let Some(cargo) = wanted.configured(around, "cargo", manifest, remedy) else { return };
    let path = text_of(manifest);
    let line = [command, "--quiet", "--offline", "--message-format", "json", "--all-targets"];
    let arguments = [&line[..], &["--manifest-path", &path]].concat();
    wanted
        .run(CheckKind::Look, name, &cargo, &arguments, OutputFormat::Cargo)
        .whole(manifest)
        .because(format!("{} owns it", said(around, manifest)));
}

fn test(around: &dyn Around, manifest: &Path, text: &str, wanted: &mut CheckBuilder) {
    let Some(target) = test_target(around.file(), folder_of(manifest), text) else { return };
    let Some(cargo) = around.tool("cargo") else { return };
    let path = text_of(manifest);
    let line = ["test", "--quiet", "--offline", "--manifest-path", &path, "--test", &target];
    wanted
        .test("cargo test", cargo.with(&line), OutputFormat::Whole)
        .at(folder_of(manifest))
        .because(format!("it is the test `{target}`"));
}

/// The test target of this file: `tests/NAME.rs` or `tests/NAME/main.rs`. If a manifest names its
/// tests itself, the name must be in it.
fn test_target(file: &Path, package: &Path, manifest: &str) -> Option<String> {
    let below = file.strip_prefix(package.join("tests")).ok()?;
    let parts: Vec<&str> = below.iter().filter_map(|part| part.to_str()).collect();
    let name = match parts[..] {
        [file] => file.strip_suffix(".rs")?,
        [folder, "main.rs"] => folder,
        _ => return None,
    };
    let names_them = has_table(manifest, "test") || manifest.contains("autotests");
    (!names_them || manifest.contains(&format!("\"{name}\""))).then(|| name.to_owned())
}

/// The edition of a package: its own or its workspace's, otherwise 2015.
fn edition(around: &dyn Around, manifest: &str) -> String {
    let own = value_of(manifest, "edition");
    let inherited = || {
        let inherits = manifest.lines().any(|line| {
            let line: String = line.split_whitespace().collect();
            line.starts_with("edition.workspace=true")
                || line.starts_with("edition={workspace=true")
        });
        inherits.then(|| value_of(&workspace(around)?, "edition"))?
    };
    own.or_else(inherited).unwrap_or_else(|| "2015".to_owned())
}

/// The text of the manifest that its packages inherit from.
fn workspace(around: &dyn Around) -> Option<String> {
    upward(around)
        .filter_map(|folder| around.text(&folder.join(MANIFEST)))
        .find(|text| has_table(text, "workspace.package"))
}

/// The string value of a key: `2024` for `edition = "2024"`.
fn value_of(manifest: &str, key: &str) -> Option<String> {
    manifest.lines().find_map(|line| {
        let value = line.trim_start().strip_prefix(key)?.trim_start().strip_prefix('=')?;
        let value = value.trim_start().strip_prefix('"')?;
        Some(value.split_once('"')?.0.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::super::world::FileFixture;
    use super::*;

    const PACKAGE: &str = "[package]\nname = \"a\"\nedition = \"2024\"\n";

    fn in_package(file: &str) -> FileFixture {
        FileFixture::edits(file).file("a/Cargo.toml", PACKAGE)
    }

    #[test]
    fn the_owning_package_is_looked_at_and_the_file_alone_formatted() {
        let world = in_package("a/src/b.rs").on_path(&["cargo", "cargo-clippy", "rustfmt"]);
        world.plans("fix rustfmt @a/src | look clippy @a whole a/Cargo.toml");
        world.runs("rustfmt", "| rustfmt --edition 2024 --emit stdout --quiet");
        world.says("rustfmt", "its package is of the 2024 edition");
        world.runs(
            "clippy",
            "cargo clippy --quiet --offline --message-format json --all-targets \
             --manifest-path a/Cargo.toml",
        );
        world.says("clippy", "`a/Cargo.toml` owns it");
    }

    #[test]
    fn without_clippy_cargo_checks() {
        let world = in_package("a/src/b.rs").on_path(&["cargo"]);
        world.plans("look cargo check @a whole a/Cargo.toml");
        world.runs(
            "cargo check",
            "cargo check --quiet --offline --message-format json --all-targets \
             --manifest-path a/Cargo.toml",
        );
        in_package("a/src/b.rs").plans("lacking cargo");
    }

    #[test]
    fn a_file_without_a_package_gets_nothing() {
        let tools = &["cargo", "rustfmt"];
        FileFixture::edits("a.rs").on_path(tools).plans("");
        let virtual_one = "[workspace]\nmembers = []\n[workspace.package]\nedition = \"2021\"\n";
        FileFixture::edits("a.rs").file("Cargo.toml", virtual_one).on_path(tools).plans("");
    }

    #[test]
    fn a_test_that_was_edited_runs() {
        let plans = |file, expected| in_package(file).on_path(&["cargo"]).plans(expected);
        let look = "look cargo check @a whole a/Cargo.toml";
        let both = format!("{look} | test cargo test @a");
        plans("a/tests/b.rs", &both);
        plans("a/tests/b/main.rs", &both);
        plans("a/tests/b/other.rs", look);
        plans("a/tests/b/c/main.rs", look);
        plans("a/src/tests/b.rs", look);
        let world = in_package("a/tests/b.rs").on_path(&["cargo"]);
        world.runs(
            "cargo test",
            "cargo test --quiet --offline --manifest-path a/Cargo.toml --test b",
        );
        world.says("cargo test", "it is the test `b`");
    }

    #[track_caller]
    fn target(manifest: &str, expected: Option<&str>) {
        let found = test_target(Path::new("/a/tests/b.rs"), Path::new("/a"), manifest);
        assert_eq!(found.as_deref(), expected, "{manifest}");
    }

    #[test]
    fn a_manifest_that_names_its_tests_is_believed() {
        target("[package]", Some("b"));
        target("[[test]]\nname = \"b\"", Some("b"));
        target("[[test]]\nname = \"bc\"\npath = \"tests/b.rs\"", None);
        target("autotests = false", None);
    }

    #[track_caller]
    fn is_of_edition(package: &str, expected: &str) {
        let world = FileFixture::edits("a/src/b.rs")
            .file("Cargo.toml", "[workspace.package]\nedition = \"2021\"\n")
            .file("a/Cargo.toml", package);
        assert_eq!(edition(&world, package), expected, "{package}");
    }

    #[test]
    fn the_edition_is_the_package_s_or_its_workspace_s() {
        is_of_edition("[package]\nedition = \"2018\"", "2018");
        is_of_edition("[package]\n  edition=\"2018\" # old", "2018");
        is_of_edition("[package]\nedition.workspace = true", "2021");
        is_of_edition("[package]\nedition = { workspace = true }", "2021");
        is_of_edition("[package]", "2015");
        is_of_edition("[package]\neditions = \"2018\"", "2015");
        assert_eq!(edition(&FileFixture::edits("b.rs"), "edition.workspace = true"), "2015");
    }
}
