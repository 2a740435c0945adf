//! Go modules: the toolchain's own tests and `vet`.

use super::{EcosystemCommands, RootFiles};

pub(super) fn find(files: &RootFiles<'_>) -> EcosystemCommands {
    if !files.has("go.mod") {
        return EcosystemCommands::default();
    }
    EcosystemCommands {
        tests: Some("go test ./...".to_owned()),
        check: Some("go vet ./...".to_owned()),
    }
}
