//! The most memory that one run had in use at a time.
//!
//! The hook is started by a small static program, since a child's peak begins with the size of
//! the process that forked it: started from here it would be that of the test runner.

use std::sync::OnceLock;

use crate::built::Linkage;
use crate::programs;
use crate::scene::{Run, Scene, Skip};

/// In KiB; the middle of five runs, since the kernel counts pages in batches on each processor.
pub(crate) fn peak_kib(scene: &Scene, run: &Run) -> Result<u64, Skip> {
    let mut peaks = Vec::new();
    for _ in 0..5 {
        peaks.push(one_peak(scene, run)?);
    }
    peaks.sort_unstable();
    Ok(peaks[peaks.len() / 2])
}

fn one_peak(scene: &Scene, run: &Run) -> Result<u64, Skip> {
    let launcher = launcher(scene)?;
    let report = tempfile::NamedTempFile::new().expect("the temporary folder can be written");
    let output = run.under(launcher, &[report.path().into()])?;
    assert!(output.status.success(), "the hook failed: {output:?}");
    let kib = std::fs::read_to_string(report.path()).expect("the launcher wrote it");
    Ok(kib.trim().parse().expect("the launcher writes a number"))
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
