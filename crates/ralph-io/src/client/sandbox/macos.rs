//! macOS: the client runs commands below `sandbox-exec`, which is a part of the system.

use ralph_core::protocol::sandbox::unavailable::Unavailable;
use std::path::Path;

const PROGRAM: &str = "/usr/bin/sandbox-exec";

pub(super) fn check() -> Result<(), Unavailable> {
    if !Path::new(PROGRAM).exists() {
        return Err(Unavailable::Missing(vec!["sandbox-exec"]));
    }
    let profile = "(version 1)(allow default)";
    super::try_out("sandbox-exec", Path::new(PROGRAM), &["-p", profile, "/usr/bin/true"])
}

/// The system does not tell a process that it is in a sandbox.
pub(super) fn is_inside() -> bool {
    false
}
