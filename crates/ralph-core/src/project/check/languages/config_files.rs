//! Finds a tool's configuration: in a file of its own, or in a table of a shared file.
//!
//! In shared files only the table headings are read: they show that the tool is in use, and the
//! tool reads the rest.

use std::path::{Path, PathBuf};

use super::super::workspace::Around;
use super::check_builder::{CheckBuilder, Configured};
use super::folder_of;

/// The places in which a tool looks for its configuration.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConfigFiles {
    /// Files of its own.
    pub(super) files: &'static [&'static str],
    /// Shared files, each with its table: `("pyproject.toml", "tool.ruff")`.
    pub(super) tables: &'static [(&'static str, &'static str)],
}

impl ConfigFiles {
    /// Only files of the tool's own.
    pub(super) const fn files(files: &'static [&'static str]) -> Self {
        Self { files, tables: &[] }
    }
}

/// The tool, if the project configures it. A tool that is not installed is recorded as lacking.
pub(super) fn configured(
    around: &dyn Around,
    places: ConfigFiles,
    (name, remedy): (&str, &str),
    wanted: &mut CheckBuilder,
) -> Option<Configured> {
    wanted.configured(around, name, &nearest(around, places)?, remedy)
}

/// The tool, if the project configures it or, for the reason given, if it is installed.
pub(super) fn configured_or_there(
    around: &dyn Around,
    places: ConfigFiles,
    named: (&str, &str),
    why: &str,
    wanted: &mut CheckBuilder,
) -> Option<Configured> {
    if nearest(around, places).is_some() {
        return configured(around, places, named, wanted);
    }
    let folder = folder_of(around.file()).to_path_buf();
    Some(Configured { tool: around.tool(named.0)?, folder, why: why.to_owned() })
}

/// The nearest configuration of the tool, from the file's folder up to the root.
pub(super) fn nearest(around: &dyn Around, places: ConfigFiles) -> Option<PathBuf> {
    upward(around).find_map(|folder| in_folder(around, folder, places))
}

fn in_folder(around: &dyn Around, folder: &Path, places: ConfigFiles) -> Option<PathBuf> {
    let own = places.files.iter().map(|name| folder.join(name)).find(|path| around.exists(path));
    own.or_else(|| {
        let shared = places.tables.iter().map(|(name, table)| (folder.join(name), table));
        shared.into_iter().find(|(path, table)| holds(around, path, table)).map(|(path, _)| path)
    })
}

fn holds(around: &dyn Around, path: &Path, table: &str) -> bool {
    around.text(path).is_some_and(|text| has_table(&text, table))
}

/// True if the text has this table or a subtable: `[tool.ruff]`, `[tool.ruff.lint]`, `[mypy-x]`,
/// `[sqlfluff:rules]`.
pub(super) fn has_table(text: &str, table: &str) -> bool {
    text.lines().any(|line| {
        let heading = line.trim_start();
        let inner = heading.trim_start_matches('[');
        let after = inner.strip_prefix(table).and_then(|rest| rest.chars().next());
        inner.len() < heading.len() && after.is_some_and(|letter| "].-:".contains(letter))
    })
}

/// The folders from the file's own up to the root.
pub(super) fn upward(around: &dyn Around) -> impl Iterator<Item = &Path> {
    let root = around.root();
    folder_of(around.file()).ancestors().take_while(move |folder| folder.starts_with(root))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: bool) {
        assert_eq!(has_table(text, "tool.ruff"), expected, "{text}");
    }

    #[test]
    fn a_table_counts_and_those_below_it() {
        check("[tool.ruff]", true);
        check("x = 1\n  [tool.ruff.lint]\n", true);
        check("[[tool.ruff.overrides]]", true);
    }

    #[test]
    fn what_only_resembles_it_does_not_count() {
        check("", false);
        check("[tool.ruffle]", false);
        check("[tool.ruff", false);
        check("tool.ruff.lint = 1", false);
        check("# [tool.ruff]", false);
        check("[project]\n[tool.black]", false);
    }

    #[test]
    fn the_tables_of_ini_files_count_too() {
        assert!(has_table("[mypy-numpy.*]", "mypy"));
        assert!(has_table("[sqlfluff:rules]", "sqlfluff"));
    }
}
