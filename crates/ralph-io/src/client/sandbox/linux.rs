//! Linux: the client runs commands below `bwrap`, and passes their network through `socat`.

use crate::process::{bounds::FIRST_PROCESS, programs};
use ralph_core::protocol::sandbox::unavailable::Unavailable;
use std::fs;

const NEEDED: [&str; 2] = ["bwrap", "socat"];

pub(super) fn check() -> Result<(), Unavailable> {
    let missing: Vec<&str> =
        NEEDED.into_iter().filter(|name| programs::find_on_path(name).is_none()).collect();
    let (true, Some(bwrap)) = (missing.is_empty(), programs::find_on_path("bwrap")) else {
        return Err(Unavailable::Missing(missing));
    };
    // The namespaces that the client asks for.
    let args = [
        "--new-session",
        "--die-with-parent",
        "--unshare-net",
        "--unshare-pid",
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        "--",
        "/bin/true",
    ];
    super::try_out("bwrap", &bwrap, &args)
}

/// The first process of the sandbox's PID namespace is bwrap, and of Ralph's own bounds Ralph.
pub(super) fn is_inside() -> bool {
    fs::read_to_string("/proc/1/comm")
        .is_ok_and(|name| ["bwrap", FIRST_PROCESS].contains(&name.trim_end()))
}
