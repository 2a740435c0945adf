//! Reads `package.json`, and finds out how its packages are installed.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::super::workspace::Around;
use super::upward;
use crate::project::node::LOCKS;

/// A `package.json`.
pub(super) struct Package {
    pub(super) folder: PathBuf,
    value: Value,
}

impl Package {
    /// The packages above the file, nearest first. One that cannot be parsed counts as empty.
    pub(super) fn all(around: &dyn Around) -> Vec<Self> {
        upward(around).filter_map(|folder| Self::at(around, folder)).collect()
    }

    pub(super) fn at(around: &dyn Around, folder: &Path) -> Option<Self> {
        let text = around.text(&folder.join("package.json"))?;
        let value = serde_json::from_str(&text).unwrap_or_default();
        Some(Self { folder: folder.to_path_buf(), value })
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.join("package.json")
    }

    /// True if it has this member: many tools are configured by a member with their name.
    pub(super) fn has(&self, key: &str) -> bool {
        self.value.get(key).is_some()
    }

    /// True if it depends on this package in any way.
    pub(super) fn needs(&self, package: &str) -> bool {
        ["devDependencies", "dependencies", "optionalDependencies", "peerDependencies"]
            .iter()
            .any(|kind| self.value[kind].get(package).is_some())
    }

    /// A script; empty if it does not exist.
    pub(super) fn script(&self, name: &str) -> &str {
        self.value["scripts"][name].as_str().unwrap_or_default()
    }

    /// True if its `.js` files are modules.
    pub(super) fn is_module(&self) -> bool {
        self.value["type"] == "module"
    }
}

/// The endings of a tool's configuration in the languages that such tools read.
const ENDINGS: [&str; 13] = [
    ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".json", ".jsonc", ".json5", ".yaml", ".yml",
    ".toml", "",
];

/// The nearest file with one of these names and an ending. In one folder, the first name wins.
pub(super) fn nearest_config(around: &dyn Around, names: &[&str]) -> Option<PathBuf> {
    let with_endings = |name: &&str| ENDINGS.map(|ending| format!("{name}{ending}"));
    let names: Vec<String> = names.iter().flat_map(with_endings).collect();
    around.nearest(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The command that installs the project's packages, as the end of a sentence.
pub(super) fn remedy(around: &dyn Around) -> String {
    let lock = around.nearest(&LOCKS.map(|(lock, _)| lock));
    let by_lock = |lock: &PathBuf| LOCKS.iter().find(|(name, _)| lock.ends_with(name));
    let manager = lock.as_ref().and_then(by_lock).map_or("npm", |(_, manager)| manager);
    format!("run `{manager} install`")
}
