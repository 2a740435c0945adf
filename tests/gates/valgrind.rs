//! The instructions of one run, as valgrind's callgrind counted them.

use crate::scene::{Run, Skip};

pub(crate) fn instructions(run: &Run) -> Result<u64, Skip> {
    let args = ["--tool=callgrind", "--callgrind-out-file=/dev/null"].map(Into::into);
    let output = run.under("valgrind", &args)?;
    let report = String::from_utf8_lossy(&output.stderr);
    match collected(&report) {
        Some(count) if output.status.success() => Ok(count),
        Some(_) => panic!("the hook failed: {report}"),
        None => Err(Skip(format!("valgrind could not count here: {}", report.trim()))),
    }
}

fn collected(report: &str) -> Option<u64> {
    let line = report.lines().find(|line| line.contains("Collected :"))?;
    line.split_whitespace().last()?.parse().ok()
}

#[test]
fn the_total_is_found_in_the_report() {
    assert_eq!(collected("==7== Events    : Ir\n==7== Collected : 6012\n==7==\n"), Some(6_012));
    assert_eq!(collected("valgrind: failed to start tool\n"), None);
}
