//! `sandbox-exec` with a profile that `ralph-core` writes.
//!
//! There is no network of its own: the proxy listens outside, and the profile allows its port.

use super::{Bounded, cannot_bound};
use crate::process::bounds::Served;
use anyhow::{Context, Result, bail};
use ralph_core::project::bounds::seatbelt;
use ralph_core::state::Bounds;
use std::ffi::OsStr;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(super) const TOOL: &str = "sandbox-exec";
pub(super) const REMEDY: &str = "it is a part of macOS, in `/usr/bin`";

pub(super) fn wrap(
    bounds: &Bounds,
    folder: &Path,
    _elsewhere: Option<&Path>,
    program: &Path,
    arguments: &[&OsStr],
) -> Result<Bounded> {
    if let Some(why) = cannot_bound() {
        bail!("{why}");
    }
    let temporary = tempfile::Builder::new().prefix("ralph-bounds-").tempdir();
    let temporary = temporary.context("could not make a temporary folder")?;
    let place = temporary.path().canonicalize().context("could not make a temporary folder")?;
    let proxy = TcpListener::bind("127.0.0.1:0").context("could not listen")?;
    let port = proxy.local_addr().context("could not listen")?.port();
    let profile = seatbelt::profile(&real(bounds), &place.to_string_lossy(), port);
    let mut command = Command::new("/usr/bin/sandbox-exec");
    command.arg("-p").arg(profile).arg(program).args(arguments);
    command.current_dir(folder).stdin(Stdio::null()).env("TMPDIR", &place);
    super::use_proxy(&mut command, port);
    let served = Served::begin_outside(proxy, bounds);
    let project = bounds.write.first().context("the bounds name no project")?;
    let shared = std::fs::File::open(project).context("could not open the project")?;
    let (made, watched): (Vec<PathBuf>, Vec<PathBuf>) = Default::default();
    Ok(Bounded { command, _temporary: temporary, shared, made, watched, served: Some(served) })
}

/// The bounds with real paths, as the kernel compares them.
fn real(bounds: &Bounds) -> Bounds {
    let real = |paths: &[String]| {
        let paths = paths.iter().map(|path| match Path::new(path).canonicalize() {
            Ok(real) => real.to_string_lossy().into_owned(),
            Err(_) => path.clone(),
        });
        paths.collect()
    };
    Bounds {
        write: real(&bounds.write),
        read_deny: real(&bounds.read_deny),
        write_deny: real(&bounds.write_deny),
        sockets: real(&bounds.sockets),
        ..bounds.clone()
    }
}
