//! Whether the client's own sandbox can start on this machine.

use crate::process::{self, programs};
use std::process::Command;
use std::time::Duration;

/// Long enough for a program that does nothing.
const TO_START: Duration = Duration::from_secs(5);

/// True if the client's sandbox can start. On Linux it needs bubblewrap and socat (measured with
/// 2.1.328: without them it refuses or runs everything unsandboxed), and bubblewrap fails where the
/// system forbids user namespaces. macOS has a sandbox of its own.
pub fn client_can_sandbox() -> bool {
    if cfg!(target_os = "macos") {
        return programs::find_on_path("sandbox-exec").is_some();
    }
    let Some(bubblewrap) = programs::find_on_path("bwrap") else { return false };
    let has_programs = programs::find_on_path("socat").is_some();
    let mut probe = Command::new(bubblewrap);
    probe.args(["--ro-bind", "/", "/", "--dev", "/dev", "--unshare-net", "--unshare-pid", "true"]);
    let mut starts =
        || process::output(&mut probe, TO_START, 1024).is_ok_and(|it| it.status.success());
    has_programs && starts()
}
