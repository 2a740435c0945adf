//! The client's sandbox: whether it can start here, and whether this process runs inside of it.

#[cfg(target_os = "linux")]
use crate::process::bounds::FIRST_PROCESS;
#[cfg(target_os = "linux")]
use crate::process::programs;
use crate::process::{self, ProgramEnd};
use ralph_core::protocol::sandbox::Unavailable;
use ralph_core::text::truncate::bounded;
use std::path::Path;
use std::time::Duration;

/// More than any machine needs to start an empty sandbox.
const DEADLINE: Duration = Duration::from_secs(10);

/// Starts an empty sandbox once, in the way in which the client starts its own: on Linux it runs commands
/// below `bwrap`, and passes their network through `socat`.
///
/// # Errors
/// If a program is missing, or the system lets it start nothing.
#[cfg(target_os = "linux")]
pub fn check() -> Result<(), Unavailable> {
    const NEEDED: [&str; 2] = ["bwrap", "socat"];
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
    try_out("bwrap", &bwrap, &args)
}

/// True if this process runs in the client's sandbox, as far as the platform shows that. The first process
/// of the sandbox's PID namespace is bwrap, and of Ralph's own bounds Ralph.
#[cfg(target_os = "linux")]
pub fn is_inside() -> bool {
    std::fs::read_to_string("/proc/1/comm")
        .is_ok_and(|name| ["bwrap", FIRST_PROCESS].contains(&name.trim_end()))
}

/// As on Linux. On macOS the client runs commands below `sandbox-exec`, which is a part of the system.
///
/// # Errors
/// If the program is missing, or the system lets it start nothing.
#[cfg(not(target_os = "linux"))]
pub fn check() -> Result<(), Unavailable> {
    const PROGRAM: &str = "/usr/bin/sandbox-exec";
    if !Path::new(PROGRAM).exists() {
        return Err(Unavailable::Missing(vec!["sandbox-exec"]));
    }
    let profile = "(version 1)(allow default)";
    try_out("sandbox-exec", Path::new(PROGRAM), &["-p", profile, "/usr/bin/true"])
}

/// False: macOS does not tell a process that it is in a sandbox.
#[cfg(not(target_os = "linux"))]
pub fn is_inside() -> bool {
    false
}

/// Runs a program once that starts nothing but `true`.
fn try_out(program: &'static str, path: &Path, args: &[&str]) -> Result<(), Unavailable> {
    let refused = |why: &str| {
        let line = why.lines().next().unwrap_or_default().trim();
        Err(Unavailable::Refused { program, why: bounded(line, 200) })
    };
    let outcome = process::run_once(&process::Program {
        command: &path.to_string_lossy(),
        args: args.to_vec(),
        folder: Path::new("/"),
        stdin: "",
        env: Vec::new(),
        deadline: DEADLINE,
    });
    match outcome {
        Ok(outcome) if outcome.ended == ProgramEnd::Exited(0) => Ok(()),
        Ok(outcome) if outcome.ended == ProgramEnd::Overdue => refused("it did not end"),
        Ok(outcome) => refused(&outcome.stderr),
        Err(error) => refused(&format!("{error:#}")),
    }
}
