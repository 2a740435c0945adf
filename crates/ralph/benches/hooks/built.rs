//! Builds the measured executables, so that no figure ever comes from a stale one.
//!
//! The hooks are measured as shipped: release profile, static musl if that target is installed. A
//! build for the host's own target is measured too, but its start-up time is that of the host's C
//! library, so it has other bars.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

/// The executables of package `ralph-hooks`.
pub(crate) const HOOKS: [&str; 5] = [
    "ralph-pre-tool-use",
    "ralph-stop-hook",
    "ralph-backpressure",
    "ralph-user-prompt",
    "ralph-session-context",
];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Linkage {
    StaticMusl,
    HostTarget,
}

pub(crate) struct Built {
    pub(crate) linkage: Linkage,
    /// Where they come from; printed above the table.
    pub(crate) origin: String,
    executables: HashMap<String, PathBuf>,
}

impl Built {
    pub(crate) fn get(&self, name: &str) -> Option<&Path> {
        self.executables.get(name).map(PathBuf::as_path)
    }
}

/// Builds the hooks as `./install.sh` does.
pub(crate) fn hooks() -> anyhow::Result<Built> {
    let linkage = linkage();
    let origin = match linkage {
        Linkage::StaticMusl => format!("release build for {}", static_target()),
        Linkage::HostTarget => format!(
            "release build for the host's own target, because {} is not installed",
            static_target()
        ),
    };
    Ok(Built { linkage, origin, executables: release(linkage)? })
}

/// The command line in the folder of the hooks, where they look for it.
pub(crate) fn neighbour(linkage: Linkage) -> anyhow::Result<PathBuf> {
    release(linkage)?.remove("ralph").context("cargo built no `ralph`")
}

/// Builds all executables, in one command: alone, a package would get other features.
fn release(linkage: Linkage) -> anyhow::Result<HashMap<String, PathBuf>> {
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.cargo/release.toml");
    let args = ["--release", "--config", config, "-p", "ralph-hooks", "-p", "ralph", "--bins"];
    match linkage {
        Linkage::StaticMusl => build(&[&args[..], &["--target", &static_target()]].concat()),
        Linkage::HostTarget => build(&args),
    }
}

/// Takes the hooks from a folder; the caller vouches for them.
#[allow(dead_code, reason = "the gates always build")]
pub(crate) fn hooks_in(folder: &Path) -> anyhow::Result<Built> {
    let folder =
        folder.canonicalize().with_context(|| format!("could not find `{}`", folder.display()))?;
    let there = HOOKS.iter().map(|name| (name.to_string(), folder.join(name)));
    let executables = there.filter(|(_, path)| path.exists()).collect();
    let origin = format!("executables in {}, not built by this run", folder.display());
    Ok(Built { linkage: Linkage::StaticMusl, origin, executables })
}

/// The command line as built for the tests. It only prepares states and is not measured.
pub(crate) fn command_line() -> anyhow::Result<Option<PathBuf>> {
    Ok(build(&["--workspace", "--bin", "ralph"])?.remove("ralph"))
}

/// The hooks as built for the tests, without optimisation, so not for measuring.
#[allow(dead_code, reason = "the benches measure releases")]
pub(crate) fn unoptimised_hooks() -> anyhow::Result<Built> {
    let bins = HOOKS.iter().flat_map(|name| ["--bin", name]);
    let executables = build(&["--workspace"].into_iter().chain(bins).collect::<Vec<_>>())?;
    let origin = "unoptimised build; RALPH_REQUIRE_GATES=1 builds a release".to_owned();
    Ok(Built { linkage: Linkage::HostTarget, origin, executables })
}

fn static_target() -> String {
    format!("{}-unknown-linux-musl", std::env::consts::ARCH)
}

/// How a release is linked on this machine.
pub(crate) fn linkage() -> Linkage {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let libraries = Command::new(rustc)
        .args(["--print", "target-libdir", "--target", &static_target()])
        .output();
    let is_installed = libraries
        .is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir());
    if is_installed { Linkage::StaticMusl } else { Linkage::HostTarget }
}

fn build(args: &[&str]) -> anyhow::Result<HashMap<String, PathBuf>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--locked"])
        .args(args)
        .arg("--message-format=json")
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .stderr(Stdio::inherit())
        .output()
        .context("could not start cargo")?;
    ensure!(built.status.success(), "could not build: cargo build {}", args.join(" "));
    Ok(String::from_utf8_lossy(&built.stdout).lines().filter_map(executable).collect())
}

/// The name and path of the executable in one line of cargo's report, if it names one.
fn executable(line: &str) -> Option<(String, PathBuf)> {
    let message: serde_json::Value = serde_json::from_str(line).ok()?;
    let path = message["executable"].as_str()?;
    Some((message["target"]["name"].as_str()?.to_owned(), PathBuf::from(path)))
}
