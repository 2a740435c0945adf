//! Small C programs that show the best that the machine can do.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::built::Linkage;

pub(crate) struct Program {
    pub(crate) path: PathBuf,
    /// How it was compiled; printed above the table.
    pub(crate) compiler: &'static str,
}

/// Compilers in order of preference; the first that works is used.
const STATIC: [(&str, &str, &[&str]); 3] = [
    ("musl-gcc -static", "musl-gcc", &["-static", "-no-pie"]),
    ("gcc -static", "gcc", &["-static"]),
    ("cc, not static", "cc", &[]),
];
const DYNAMIC: [(&str, &str, &[&str]); 1] = [("cc, dynamic", "cc", &[])];

/// Compiles `benches/programs/<name>.c`, linked as the hooks are.
pub(crate) fn compile(name: &str, linkage: Linkage, into: &Path) -> anyhow::Result<Program> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("benches/programs/{name}.c"));
    let path = into.join(name);
    std::fs::create_dir_all(into)
        .with_context(|| format!("could not create `{}`", into.display()))?;
    let ways: &[_] = match linkage {
        Linkage::StaticMusl => &STATIC,
        Linkage::HostTarget => &DYNAMIC,
    };
    for &(compiler, command, flags) in ways {
        let mut gcc = Command::new(command);
        gcc.args(flags).args(["-O2", "-o"]).arg(&path).arg(&source);
        if gcc.output().is_ok_and(|done| done.status.success()) {
            return Ok(Program { path, compiler });
        }
    }
    bail!("could not compile `{}`; install musl-tools or gcc", source.display())
}
