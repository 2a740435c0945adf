//! Builds the executables once for each test binary, so that no test runs a stale one.
//!
//! They are linked into a folder of their own, so that what an earlier build left in `target/debug`
//! is not on `PATH`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use rustix::process::{Pid, test_kill_process};
use serde_json::Value;

/// Names a folder of ready executables to test instead of building them.
pub const BIN_DIR_VARIABLE: &str = "RALPH_TEST_BIN_DIR";

/// The folder that holds the executables under test.
pub fn executables() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| match std::env::var_os(BIN_DIR_VARIABLE) {
        Some(folder) => {
            PathBuf::from(folder).canonicalize().expect("RALPH_TEST_BIN_DIR is a folder")
        }
        None => link_all(&build()),
    })
}

/// A small `bd`, for tests with beads. It has its own name here, so that nobody finds it by mistake.
pub const FAKE_BD: &str = "fake-bd";

const EXECUTABLES: [&str; 7] = [
    "ralph",
    "ralph-user-prompt",
    "ralph-pre-tool-use",
    "ralph-backpressure",
    "ralph-stop-hook",
    "ralph-session-context",
    FAKE_BD,
];

/// Builds the executables; cargo reports which ones it has just made or found fresh.
///
/// With the whole workspace selected, the features of every dependency are those of
/// `cargo test --workspace`, so that nothing is compiled twice.
fn build() -> Vec<PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    cargo.args(["build", "--locked", "--quiet", "--workspace", "--message-format=json"]);
    cargo.args(EXECUTABLES.iter().flat_map(|name| ["--bin", name]));
    let output = cargo.stderr(Stdio::inherit()).output().expect("cargo starts");
    assert!(output.status.success(), "cargo could not build the executables");
    let rows = output
        .stdout
        .split(|byte| *byte == b'\n')
        .filter_map(|row| serde_json::from_slice::<Value>(row).ok());
    rows.filter_map(|row| row["executable"].as_str().map(PathBuf::from)).collect()
}

/// `target/tmp`, beside the folder of this test binary: a test may link an executable from there,
/// and a build leaves it alone.
pub fn scratch() -> PathBuf {
    let test = std::env::current_exe().expect("a process knows its executable");
    test.ancestors().nth(3).expect("cargo puts tests into `target/debug/deps`").join("tmp")
}

fn link_all(executables: &[PathBuf]) -> PathBuf {
    let parent = scratch();
    remove_those_of_ended_runs(&parent);
    let folder = parent.join(format!("executables-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("the target folder is writable");
    for executable in executables {
        let link = folder.join(executable.file_name().expect("an executable has a name"));
        place_executable(executable, &link);
    }
    folder
}

/// Puts an executable there: a link where that can be, else a copy.
pub fn place_executable(executable: &Path, place: &Path) {
    if fs::hard_link(executable, place).is_err() {
        copy_executable(executable, place);
    }
}

/// Copies an executable by a process of its own. What this process had open for writing could not be started ("Text file
/// busy") while a child that another thread was starting at that moment holds it open too.
pub fn copy_executable(executable: &Path, place: &Path) {
    let copied = Command::new("cp").arg(executable).arg(place).status();
    assert!(
        copied.is_ok_and(|status| status.success()),
        "{} cannot be copied",
        executable.display()
    );
}

fn remove_those_of_ended_runs(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(owner) = name.strip_prefix("executables-") else {
            continue;
        };
        let owner = owner.parse().ok().and_then(Pid::from_raw);
        if owner.is_none_or(|owner| test_kill_process(owner).is_err()) {
            drop(fs::remove_dir_all(entry.path()));
        }
    }
}
