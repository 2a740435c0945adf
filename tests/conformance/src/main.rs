//! `conformance`: plays the cases against an implementation of a Ralph loop.

use anyhow::{Result, ensure};
use clap::Parser;
use ralph_conformance::{
    Form, Implementation, Outcome, cases, chosen, failures, listed, proof, repository, run, table,
};
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

/// Plays known failures of Ralph loops against an implementation's hooks
#[derive(Parser)]
struct Arguments {
    /// Its description; Ralph's own is the default
    implementation: Option<PathBuf>,
    /// Play only cases whose name contains this
    #[arg(long)]
    only: Option<String>,
    /// Another folder of cases
    #[arg(long)]
    cases: Option<PathBuf>,
    /// A folder of executables that comes first on PATH
    #[arg(long)]
    bin: Option<PathBuf>,
    /// Print a table of all cases too
    #[arg(long)]
    table: bool,
    /// Play only the first variant of each case, and once
    #[arg(long)]
    short: bool,
    /// Write the list of cases that do not hold to this file
    #[arg(long)]
    list: Option<PathBuf>,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let ours = repository().join("tests/conformance");
    let described = arguments.implementation.unwrap_or(ours.join("implementations/ralph.json"));
    let mut implementation = Implementation::read(&described)?;
    if let Some(bin) = arguments.bin {
        implementation.path.insert(0, bin.canonicalize()?.display().to_string());
    }
    let mut cases = cases(&arguments.cases.unwrap_or(ours.join("cases")))?;
    if let Some(only) = &arguments.only {
        cases.retain(|case| case.name.contains(only));
    }
    ensure!(!cases.is_empty(), "no case has such a name");
    let form = if arguments.short { Form::Short } else { Form::Full };
    let cases = chosen(cases, form);
    let outcomes = run(&implementation, &cases, form);
    if let Some(list) = &arguments.list {
        fs::write(list, listed(&cases, &outcomes))?;
    }
    if arguments.table {
        print!("{}", table(&cases, &[(&implementation.name, &outcomes)]));
    }
    print!("{}", failures(&cases, &outcomes));
    println!("{}", proof(&part(&implementation.name), &outcomes));
    let held = !outcomes
        .iter()
        .any(|outcome| matches!(outcome, Outcome::Fails(_) | Outcome::NoLongerPending));
    Ok(if held { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn part(name: &str) -> String {
    if name == "ralph" { "conformance".to_owned() } else { format!("conformance, {name}") }
}
