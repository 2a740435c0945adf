//! Swift packages.

use super::{EcosystemCommands, RootFiles};

pub(super) fn find(files: &RootFiles<'_>) -> EcosystemCommands {
    EcosystemCommands {
        tests: files.has("Package.swift").then(|| "swift test".to_owned()),
        check: None,
    }
}
