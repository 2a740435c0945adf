//! The most memory that one run had in use at a time, and its page faults, as a small program reads them that holds the hook
//! at its end.

use std::sync::OnceLock;

use crate::built::Linkage;
use crate::programs;
use crate::scene::{Run, Scene, Skip};

/// In KiB.
pub(crate) fn peak_kib(scene: &Scene, run: &Run) -> Result<u64, Skip> {
    Ok(launched(scene, run)?[0])
}

pub(crate) fn page_faults(scene: &Scene, run: &Run) -> Result<u64, Skip> {
    Ok(launched(scene, run)?[1])
}

fn launched(scene: &Scene, run: &Run) -> Result<[u64; 2], Skip> {
    let launcher = launcher(scene)?;
    let report = tempfile::NamedTempFile::new().expect("the temporary folder can be written");
    let output = run.under(launcher, &[report.path().into()])?;
    assert!(output.status.success(), "the hook failed: {output:?}");
    let numbers = std::fs::read_to_string(report.path()).expect("the launcher wrote it");
    let numbers: Option<Vec<u64>> = numbers.split_whitespace().map(|n| n.parse().ok()).collect();
    Ok(numbers.and_then(|n| n.try_into().ok()).expect("the launcher writes two numbers"))
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
