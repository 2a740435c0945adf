//! Rust projects: cargo, and Clippy if the project configures it.

use super::{EcosystemCommands, RootFiles};

pub(super) fn find(files: &RootFiles<'_>) -> EcosystemCommands {
    if !files.has("Cargo.toml") {
        return EcosystemCommands::default();
    }
    let members = if files.says("Cargo.toml", "[workspace]") { " --workspace" } else { "" };
    let clippy = files.has_any(&["clippy.toml", ".clippy.toml"])
        || files.says("Cargo.toml", "lints.clippy]");
    let check = if clippy { "clippy" } else { "check" };
    EcosystemCommands {
        tests: Some(format!("cargo test{members}")),
        check: Some(format!("cargo {check}{members} --all-targets")),
    }
}
