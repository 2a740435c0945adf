//! Swift packages.

use super::{Found, ProjectFiles};

pub(super) fn find(files: &ProjectFiles) -> Found {
    Found { tests: files.has("Package.swift").then(|| "swift test".to_owned()), check: None }
}
