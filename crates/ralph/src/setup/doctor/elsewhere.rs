//! Tells how a request for completion can run a criterion on other files of this project.

use super::check::{Check, warn, well};
use anyhow::Result;
use ralph_io::git::tree;
use ralph_io::process::elsewhere::{self, Way};
use ralph_io::process::programs;
use std::path::Path;

const NAME: &str = "comparison";

/// Makes an overlay, or measures a copy, of the project at `current`; leaves nothing.
pub(super) fn check(current: &Path) -> Check {
    let Some(root) = tree::repository_root(current) else {
        let detail =
            "this folder is in no git repository, so a loop here has no start to compare with";
        return well(NAME, detail);
    };
    let way = match way(&root) {
        Ok(way) => way,
        Err(error) => Way::Nowhere { why: format!("{error:#}") },
    };
    let remedy =
        way.remedy().map(|remedy| format!("; for an overlay, {remedy}")).unwrap_or_default();
    match way {
        Way::Overlay => well(NAME, "criteria run without the change in an overlay of this machine"),
        Way::Copy { why } => well(
            NAME,
            format!("criteria run without the change in a copy of the project: {why}{remedy}"),
        ),
        Way::Nowhere { why } => {
            let cure = "a loop here can complete, but nothing is called proven";
            warn(NAME, format!("no criterion can be compared with the start: {why}{remedy}"), cure)
        }
    }
}

fn way(root: &Path) -> Result<Way> {
    let store = tempfile::tempdir()?;
    Ok(elsewhere::way(&programs::running()?, root, store.path()))
}
