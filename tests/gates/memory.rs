//! The most memory that one run had in use at a time, as a small program reads it that holds the hook at its end.

use std::sync::OnceLock;

use crate::built::Linkage;
use crate::programs;
use crate::scene::{Run, Scene, Skip};

/// In KiB.
pub(crate) fn peak_kib(scene: &Scene, run: &Run) -> Result<u64, Skip> {
    let launcher = launcher(scene)?;
    let report = tempfile::NamedTempFile::new().expect("the temporary folder can be written");
    let output = run.under(launcher, &[report.path().into()])?;
    assert!(output.status.success(), "the hook failed: {output:?}");
    let report = std::fs::read_to_string(report.path()).expect("the launcher wrote it");
    Ok(report.trim().parse().expect("the launcher writes the peak"))
}

/// Compiled once: it must not be replaced while another gate runs it.
fn launcher(scene: &Scene) -> Result<&'static str, Skip> {
    static LAUNCHER: OnceLock<Result<String, String>> = OnceLock::new();
    let compiled = LAUNCHER.get_or_init(|| {
        let program = programs::compile("launch", Linkage::StaticMusl, &scene.scratch);
        let program = program.map_err(|e| format!("{e:#}"))?;
        match program.compiler {
            "musl-gcc -static" | "gcc -static" => Ok(program.path.display().to_string()),
            other => Err(format!("the launcher has to be static and small, and is {other}")),
        }
    });
    compiled.as_deref().map_err(|why| Skip(why.clone()))
}
