//! Swift packages.

use super::{EcosystemCommands, ProjectFiles};

pub(super) fn find(files: &ProjectFiles) -> EcosystemCommands {
    EcosystemCommands {
        tests: files.has("Package.swift").then(|| "swift test".to_owned()),
        check: None,
    }
}
