//! Formats a Python file with one formatter, and only if the project uses one.
//!
//! Any other formatter would rewrite every line of the project's files, so a configuration of
//! ruff's linter alone counts only if nothing names another formatter.

use std::path::PathBuf;

use super::super::super::CheckKind;
use super::super::super::parsers::OutputFormat;
use super::super::super::workspace::Around;
use super::super::check_builder::CheckBuilder;
use super::super::config_files::{ConfigFiles, nearest, upward};
use super::super::{folder_of, said, text_of};
use super::RUFF;

const RUFF_FORMAT: ConfigFiles = ConfigFiles {
    files: &[],
    tables: &[
        ("pyproject.toml", "tool.ruff.format"),
        ("ruff.toml", "format"),
        (".ruff.toml", "format"),
    ],
};
const BLACK: ConfigFiles = ConfigFiles { files: &[], tables: &[("pyproject.toml", "tool.black")] };
const OTHERS: ConfigFiles = ConfigFiles {
    files: &[".style.yapf"],
    tables: &[
        ("pyproject.toml", "tool.yapf"),
        ("pyproject.toml", "tool.autopep8"),
        ("setup.cfg", "yapf"),
    ],
};

const PRE_COMMIT: &str = ".pre-commit-config.yaml";

/// A formatter, and the file that names it.
enum Formatter {
    Ruff(PathBuf),
    Black(PathBuf),
}

pub(super) fn wanted(around: &dyn Around, wanted: &mut CheckBuilder) {
    match formatter(around) {
        Some(Formatter::Ruff(by)) => ruff(around, by, wanted),
        Some(Formatter::Black(by)) => black(around, by, wanted),
        None => {}
    }
}

fn formatter(around: &dyn Around) -> Option<Formatter> {
    let ruff = || nearest(around, RUFF_FORMAT).or_else(|| hook(around, "ruff-format"));
    let black = || nearest(around, BLACK).or_else(|| hook(around, "black"));
    let by_default = || nearest(around, OTHERS).is_none().then(|| nearest(around, RUFF))?;
    ruff()
        .map(Formatter::Ruff)
        .or_else(|| black().map(Formatter::Black))
        .or_else(|| by_default().map(Formatter::Ruff))
}

/// The pre-commit configuration that contains a hook with this id.
fn hook(around: &dyn Around, id: &str) -> Option<PathBuf> {
    let names = |text: &str| text.lines().any(|line| names_hook(line, id));
    upward(around)
        .map(|folder| folder.join(PRE_COMMIT))
        .find(|path| around.text(path).is_some_and(|text| names(&text)))
}

/// True for `- id: black`, with or without quotes or a comment.
fn names_hook(line: &str, id: &str) -> bool {
    let named = line.trim_start().trim_start_matches("- ").trim_start().strip_prefix("id:");
    let word = named.and_then(|rest| rest.split_whitespace().next());
    word.is_some_and(|word| word.trim_matches(['"', '\'']) == id)
}

/// If ruff is missing, its lint check reports that.
fn ruff(around: &dyn Around, by: PathBuf, wanted: &mut CheckBuilder) {
    let Some(tool) = around.tool("ruff") else { return };
    let line = ["format", "--quiet", "--no-cache", "--force-exclude", &text_of(around.file())];
    wanted
        .fix("ruff format", tool.with(&line), OutputFormat::Whole)
        .at(folder_of(&by))
        .because(format!("{} names it", said(around, &by)));
}

fn black(around: &dyn Around, by: PathBuf, wanted: &mut CheckBuilder) {
    let remedy = "run `pip install black`";
    let Some(black) = wanted.configured(around, "black", &by, remedy) else { return };
    let arguments = ["--quiet", &text_of(around.file())];
    wanted
        .run(CheckKind::Fix, "black", &black, &arguments, OutputFormat::Whole)
        .because(format!("{} names it", said(around, &by)));
}

#[cfg(test)]
mod tests {
    use super::super::super::world::FileFixture;
    use super::*;

    const RUFF_ALONE: &str = "fix ruff | fix ruff format";

    #[track_caller]
    fn check(files: &[(&str, &str)], expected: &str) {
        let world = FileFixture::edits("a.py").on_path(&["ruff", "black"]);
        let world = files.iter().fold(world, |world, (path, text)| world.file(path, text));
        world.plans(expected);
    }

    #[test]
    fn nothing_is_formatted_unasked() {
        check(&[], "fix ruff");
        check(&[("pyproject.toml", "[project]")], "fix ruff");
        check(&[(PRE_COMMIT, "  - id: ruff\n")], "fix ruff");
    }

    #[test]
    fn ruff_formats_where_it_is_named() {
        check(&[("pyproject.toml", "[tool.ruff.format]\n[tool.black]")], RUFF_ALONE);
        check(&[("ruff.toml", "[format]"), ("pyproject.toml", "[tool.black]")], RUFF_ALONE);
        check(&[(".ruff.toml", "[format]"), (".style.yapf", "")], RUFF_ALONE);
        check(&[(PRE_COMMIT, "  - id: ruff-format\n")], RUFF_ALONE);
    }

    #[test]
    fn ruff_formats_where_it_is_configured_and_no_other_is() {
        check(&[("pyproject.toml", "[tool.ruff]")], RUFF_ALONE);
        check(&[("ruff.toml", ""), (".style.yapf", "")], "fix ruff");
        check(&[("ruff.toml", ""), ("setup.cfg", "[yapf]")], "fix ruff");
        check(&[("pyproject.toml", "[tool.ruff]\n[tool.yapf]")], "fix ruff");
        check(&[("pyproject.toml", "[tool.ruff]\n[tool.autopep8]")], "fix ruff");
    }

    #[test]
    fn black_formats_where_it_is_named() {
        check(&[("pyproject.toml", "[tool.black]\n[tool.ruff]")], "fix ruff | fix black");
        check(&[("ruff.toml", ""), (PRE_COMMIT, "  - id: black\n")], "fix ruff | fix black");
        let world = FileFixture::edits("a.py").file("pyproject.toml", "[tool.black]");
        world.plans("lacking black");
    }

    #[test]
    fn formatters_run_beside_what_names_them() {
        let world =
            FileFixture::edits("a/b/c.py").file("a/ruff.toml", "[format]").on_path(&["ruff"]);
        world.runs("ruff format", "ruff format --quiet --no-cache --force-exclude a/b/c.py");
        world.says("ruff format", "`a/ruff.toml` names it");
        let world = FileFixture::edits("a/b/c.py")
            .file("a/pyproject.toml", "[tool.black]")
            .on_path(&["black"]);
        world.plans("fix black @a");
        world.runs("black", "black --quiet a/b/c.py");
        world.says("black", "`a/pyproject.toml` names it");
    }

    #[track_caller]
    fn names(line: &str, expected: bool) {
        assert_eq!(names_hook(line, "black"), expected, "{line}");
    }

    #[test]
    fn a_hook_is_named_by_its_whole_id() {
        names("      - id: black", true);
        names("-   id: 'black' # ours", true);
        names("  id: \"black\"", true);
        names("  - id: black-jupyter", false);
        names("  # - id: black", false);
        names("  - repo: black", false);
        names("  - id:", false);
    }
}
