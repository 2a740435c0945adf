//! Where the installed tools are, and what is said when they are not.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// What the tests take from the installation.
const NEEDED: [&str; 8] = [
    "node_modules/.bin/tsc",
    "node_modules/.bin/eslint",
    "node_modules/.bin/prettier",
    "node_modules/.bin/vitest",
    "venv/bin/python",
    "venv/bin/ruff",
    "venv/bin/pytest",
    "venv/bin/mypy",
];

/// The folder of `install-tools.sh`.
pub fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let cache = || match named("XDG_CACHE_HOME") {
            Some(cache) => PathBuf::from(cache),
            None => PathBuf::from(named("HOME").unwrap_or_default()).join(".cache"),
        };
        named("RALPH_TEST_TOOLS").map_or_else(|| cache().join("ralph-test-tools"), PathBuf::from)
    })
}

/// What is not there, and what to do about it.
pub fn missing() -> Option<String> {
    let missing = NEEDED.iter().map(|name| folder().join(name)).find(|path| !path.exists());
    let node = find("node").is_none().then(|| "could not find `node` on PATH".to_owned());
    missing
        .map(|path| {
            format!("could not find `{}`; run tests/checks/install-tools.sh", path.display())
        })
        .or(node)
}

pub fn are_required() -> bool {
    std::env::var_os("RALPH_REQUIRE_TOOLS").is_some_and(|value| value == "1")
}

/// A program of the machine, as a link that stands for the real one.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Node itself, not a shim that looks for it in a home that the tests do not have.
pub fn node() -> &'static Path {
    static NODE: OnceLock<PathBuf> = OnceLock::new();
    NODE.get_or_init(|| {
        let output = Command::new("node").args(["-p", "process.execPath"]).output().unwrap();
        PathBuf::from(String::from_utf8(output.stdout).unwrap().trim_end())
    })
}

pub fn announce(what: &str, why: &str) {
    eprintln!("\n{:!<100}\n!! {what}\n!! {why}\n{:!<100}\n", "", "");
}
