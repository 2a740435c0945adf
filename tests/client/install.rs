//! Finds the client to test with: the one that `RALPH_TEST_CLIENT` names, else the pinned one of `install-client.sh`.

use std::path::{Path, PathBuf};

use crate::support::CLIENT_VARIABLE;

const INSTALLED: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/client/node/node_modules/.bin/claude");

/// The client's path, or what to do to have one.
pub(crate) fn find_client() -> Result<PathBuf, String> {
    let path = match std::env::var_os(CLIENT_VARIABLE) {
        Some(named) => PathBuf::from(named),
        None => PathBuf::from(INSTALLED),
    };
    path.canonicalize().map_err(|error| how_to_get_one(&path, &error))
}

fn how_to_get_one(path: &Path, error: &std::io::Error) -> String {
    format!(
        "could not find the client `{}` ({error}); run tests/client/install-client.sh",
        path.display()
    )
}
