//! The command line of the bench.

use std::path::PathBuf;

use anyhow::{Context, bail};

pub(crate) const HELP: &str = "\
cargo bench -p ralph --bench hooks -- [OPTIONS]

  --rounds N          rounds of the quick cases (200); slow cases take part in some of them
  --short             40 rounds
  --full              also the repositories of 100,000 files (about 1.5 GB under `target/`)
  --only TEXT         rows whose name contains TEXT
  --executables DIR   measure the executables in DIR instead of building them";

pub(crate) struct Options {
    pub(crate) rounds: u32,
    pub(crate) full: bool,
    pub(crate) only: String,
    pub(crate) executables: Option<PathBuf>,
}

pub(crate) enum BenchOrder {
    Measure(Options),
    Help,
    Nothing,
}

/// Cargo itself adds `--bench` when the bench should measure.
pub(crate) fn from_args(args: impl Iterator<Item = String>) -> anyhow::Result<BenchOrder> {
    let mut options = Options { rounds: 200, full: false, only: String::new(), executables: None };
    let mut to_measure = false;
    let mut args = args;
    while let Some(arg) = args.next() {
        let mut value = || args.next().with_context(|| format!("`{arg}` wants a value"));
        match arg.as_str() {
            "--bench" => to_measure = true,
            "--rounds" => options.rounds = rounds(&value()?)?,
            "--short" => options.rounds = 40,
            "--full" => options.full = true,
            "--only" => options.only = value()?,
            "--executables" => options.executables = Some(PathBuf::from(value()?)),
            "--help" => return Ok(BenchOrder::Help),
            _ => bail!("unknown option `{arg}`\n{HELP}"),
        }
    }
    Ok(if to_measure { BenchOrder::Measure(options) } else { BenchOrder::Nothing })
}

fn rounds(text: &str) -> anyhow::Result<u32> {
    match text.parse() {
        Ok(n) if n > 0 => Ok(n),
        _ => bail!("`--rounds` wants a number from 1, not `{text}`"),
    }
}
