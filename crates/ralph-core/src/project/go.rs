//! Go modules: the toolchain's own tests and `vet`.

use super::{Found, ProjectFiles};

pub(super) fn find(files: &ProjectFiles) -> Found {
    if !files.has("go.mod") {
        return Found::default();
    }
    Found { tests: Some("go test ./...".to_owned()), check: Some("go vet ./...".to_owned()) }
}
