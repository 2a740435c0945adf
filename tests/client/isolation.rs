//! Puts the tests into a network namespace that holds nothing but loopback, and makes sure that it does.
//!
//! The executables are built before, outside: a build may have to fetch.

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::support::{BIN_DIR_VARIABLE, CLIENT_VARIABLE, executables};

/// Set for the run inside the namespace.
const INSIDE_VARIABLE: &str = "RALPH_CLIENT_TESTS_INSIDE";

/// Whether this process is the one that runs the tests.
pub(crate) fn is_inside() -> bool {
    std::env::var_os(INSIDE_VARIABLE).is_some()
}

/// Fails unless loopback is the only interface. Not read from `/sys`, which a namespace inherits as it was mounted.
pub(crate) fn assert_only_loopback() {
    let table =
        std::fs::read_to_string("/proc/self/net/dev").expect("the kernel lists the interfaces");
    let interfaces: Vec<_> = table
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, _)| name.trim())
        .collect();
    assert_eq!(interfaces, ["lo"], "the tests must not run where there is a network");
}

/// Tries the namespace out, or says what is missing.
pub(crate) fn check() -> Result<(), String> {
    let output = inside("true", &[]).output();
    let output = output
        .map_err(|error| format!("could not start `unshare` ({error}); install util-linux"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(format!(
        "could not make a network namespace with only loopback: {said}; `unshare` needs root or unprivileged user \
         namespaces, and `ip` (iproute2) is needed to bring loopback up"
    ))
}

/// Runs this binary again, inside, with the same arguments.
pub(crate) fn run_again_inside(client: &Path) -> ExitCode {
    let this = std::env::current_exe().expect("a process knows its executable");
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let mut command = inside(&this.display().to_string(), &arguments);
    command
        .env(INSIDE_VARIABLE, "1")
        .env(CLIENT_VARIABLE, client)
        .env(BIN_DIR_VARIABLE, executables());
    let status = command.status().expect("the namespace was tried out before");
    match status.code().and_then(|code| u8::try_from(code).ok()) {
        Some(code) => ExitCode::from(code),
        None => ExitCode::FAILURE,
    }
}

/// As root no user namespace is needed, and in a container it may be forbidden.
fn inside(program: &str, arguments: &[String]) -> Command {
    let flags = if rustix::process::geteuid().is_root() { "-n" } else { "-rn" };
    let mut command = Command::new("unshare");
    command
        .args([flags, "sh", "-c", "ip link set lo up && exec \"$0\" \"$@\"", program])
        .args(arguments);
    command
}
