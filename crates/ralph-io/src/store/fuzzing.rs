//! Parsers of this crate that no other crate calls, exported for the fuzz targets.
//!
//! Compiled only with `--cfg fuzzing`, which a fuzzer's build sets; the product does not contain
//! this module.

use crate::process::table::process_of;
use crate::{git::checkpoint, git::tree, git::tree_id, project::facts};
use ralph_core::project::project_facts::FileFormat;
use serde_json::Value;
use std::path::Path;

/// Parses a document of a project, as the project facts do.
pub fn document(text: &str, form: FileFormat) -> Option<Value> {
    facts::document(text, form)
}

/// Parses one line of `git ls-files`: the name, and whether it is a nested repository.
pub fn listed_name(line: &[u8]) -> Option<(bool, &[u8])> {
    tree_id::names::parse(line)
}

/// The path in one record of `git status`.
pub fn changed_path(record: &[u8]) -> Option<&[u8]> {
    tree::path_of(record)
}

/// The ref in five fields of `git for-each-ref`, if it is one of our checkpoints.
pub fn checkpoint(fields: &[&str]) -> Option<String> {
    checkpoint::parse(fields).map(|found| found.reference)
}

/// The process id and name in a `/proc/<pid>/stat`.
pub fn process(stat: &[u8]) -> Option<(u32, String)> {
    process_of(stat)
}

/// The number of files in a digest cache.
pub fn remembered(bytes: &[u8], root: &Path) -> Option<usize> {
    tree_id::stored::count(bytes, root)
}

/// Makes a path printable.
pub fn readable(path: &[u8]) -> String {
    tree_id::readable(path)
}
