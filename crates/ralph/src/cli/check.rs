//! `ralph check`: runs, on the command line, the checks that an edit in a loop gets.

use crate::check::{self, CheckOrder, CheckOutcome, CheckResult, Checked, Pace};
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, must_exist, usage};
use crate::command::screen::{self, Colour, visible, visible_lines};
use crate::command::select_loop;
use anyhow::{Result, bail};
use ralph_core::project::check::choice::CheckSettings;
use ralph_core::project::check::{Check, CheckKind, CheckMethod, Parser, answer};
use ralph_io::process::clock;
use ralph_io::project::settings;
use ralph_io::store::checks::{self, Surroundings, line_of};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Duration;

impl Args {
    /// The files, as they are named.
    pub(super) fn files(&self) -> &[PathBuf] {
        &self.files
    }
}

/// Time limit for all checks that were too slow for the edits, taken together.
const LATE: Duration = Duration::from_secs(600);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Files to check
    #[arg(value_name = "FILE", required_unless_present = "late")]
    files: Vec<PathBuf>,
    /// Print which checks apply and why, and run none
    #[arg(long)]
    explain: bool,
    /// Files of this loop whose checks were too slow to answer the edit
    #[arg(long, hide = true, conflicts_with_all = ["files", "explain"])]
    late: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<Exit> {
    let here = Here::gather()?;
    let _ = ralph_io::process::command::adopt_orphans();
    let of_loop = loop_of_session(&here)?;
    let (files, pace) = match args.late {
        true => (late_files(of_loop.as_deref())?, Pace::Late(LATE)),
        false => (args.files.clone(), Pace::ByHand),
    };
    for file in &files {
        if args.late || checks::is_file(file) {
            continue;
        }
        must_exist(file)?;
        let why = if file.is_dir() { "is a folder" } else { "is not a file of at most 8 MiB" };
        return Err(usage(format!("`{}` {why}; name a file", file.display())));
    }
    let choice = choice(&here, files.first().map(PathBuf::as_path));
    let order = CheckOrder {
        home: &here.home,
        files: &files,
        choice: &choice,
        of_loop: of_loop.as_deref(),
        pace,
        only: None,
    };
    match args.explain {
        true => explain(&order, args.json),
        false => report(&check::run(&order)?, args.json),
    }
}

/// The folder of this session's loop. Findings are compared with the state at the loop's start.
fn loop_of_session(here: &Here) -> Result<Option<PathBuf>> {
    let Some(session) = &here.session else { return Ok(None) };
    let found = select_loop::of_session(here, session)?;
    Ok(found.map(|found| found.file.folder().to_owned()))
}

fn late_files(of_loop: Option<&Path>) -> Result<Vec<PathBuf>> {
    let Some(of_loop) = of_loop else {
        bail!("no loop is live in this session; name the files: `ralph check FILE`");
    };
    Ok(checks::take_later(of_loop).into_keys().collect())
}

/// The check settings of the file's project. Prints the problems found in the settings.
fn choice(here: &Here, file: Option<&Path>) -> CheckSettings {
    let root =
        file.and_then(|file| file.canonicalize().ok()).map(|file| Surroundings::root_of(&file));
    let (settings, problems) = settings::read(&here.home, root.as_deref().unwrap_or(&here.root));
    problems.iter().for_each(|problem| screen::tell(problem));
    settings.checks()
}

fn report(outcome: &CheckOutcome, as_json: bool) -> Result<Exit> {
    let clean = outcome.is_clean();
    match as_json {
        true => screen::print_json(&document(outcome))?,
        false => screen::print(&text(outcome))?,
    };
    Ok(if clean { Exit::Done } else { Exit::No })
}

fn text(outcome: &CheckOutcome) -> String {
    let width = |of: fn(&Checked) -> &str| {
        outcome.checked.iter().map(|one| of(one).chars().count()).max().unwrap_or_default()
    };
    let (names, files) = (width(|one| &one.name), width(|one| &one.file));
    let mut text = String::new();
    for one in &outcome.checked {
        let (word, colour) = verdict(one);
        text.push_str(&format!(
            "{:<names$}  {:<files$}  {:>6.1} s  {}\n",
            visible(&one.name),
            visible(&one.file),
            one.took.as_secs_f64(),
            screen::coloured(&visible(&word), colour)
        ));
    }
    match answer::text(&outcome.report) {
        Some(said) => text.push_str(&format!("\n{}", visible_lines(&said))),
        None if outcome.checked.is_empty() => text.push_str("No check applies."),
        None => text.push_str("Nothing to report."),
    }
    text
}

fn verdict(one: &Checked) -> (String, Colour) {
    let fixed = if one.fixed { "fixed, " } else { "" };
    match &one.came {
        CheckResult::Unfinished(_) => ("did not finish".to_owned(), Colour::Yellow),
        CheckResult::NotRun(_) => ("did not run".to_owned(), Colour::Yellow),
        CheckResult::Later | CheckResult::Beside => {
            ("too slow for an edit".to_owned(), Colour::Yellow)
        }
        CheckResult::Found { new, old, elsewhere, told_before } => {
            let counts =
                [(new.len() + told_before, "new"), (*old, "old"), (*elsewhere, "elsewhere")];
            let said: Vec<String> = counts
                .into_iter()
                .filter(|(count, _)| *count > 0)
                .map(|(count, what)| format!("{count} {what}"))
                .collect();
            match (said.is_empty(), new.is_empty() && *told_before == 0) {
                (true, _) if one.fixed => ("fixed".to_owned(), Colour::Green),
                (true, _) => ("fine".to_owned(), Colour::Green),
                (false, true) => (format!("{fixed}{}", said.join(", ")), Colour::Green),
                (false, false) => (format!("{fixed}{}", said.join(", ")), Colour::Red),
            }
        }
    }
}

fn document(outcome: &CheckOutcome) -> serde_json::Value {
    let checks: Vec<_> = outcome
        .checked
        .iter()
        .map(|one| {
            let (state, findings, old, why) = match &one.came {
                CheckResult::Found { new, old, .. } if new.is_empty() => {
                    ("fine", &new[..], *old, "")
                }
                CheckResult::Found { new, old, .. } => ("found", &new[..], *old, ""),
                CheckResult::Unfinished(why) => ("unfinished", &[][..], 0, why.as_str()),
                CheckResult::NotRun(why) => ("not_run", &[][..], 0, why.as_str()),
                CheckResult::Later | CheckResult::Beside => ("later", &[][..], 0, ""),
            };
            json!({"name": one.name, "file": one.file, "state": state, "findings": findings,
                "old": old, "fixed": one.fixed, "why": why,
                "duration_ms": u64::try_from(one.took.as_millis()).unwrap_or(u64::MAX)})
        })
        .collect();
    let lacking: Vec<_> = outcome
        .report
        .not_run
        .iter()
        .map(|(name, why)| json!({"name": name, "why": why}))
        .collect();
    json!({"schema_version": 1, "at": clock::now().to_string(), "clean": outcome.is_clean(),
        "checks": checks, "not_run": lacking})
}

// `ralph check --explain`: which checks apply to a file, why, and how each is run.

fn explain(order: &CheckOrder<'_>, as_json: bool) -> Result<Exit> {
    let targets = check::targets(order)?;
    if as_json {
        let files: Vec<_> = targets
            .iter()
            .map(|target| {
                let checks: Vec<_> = target.items.iter().map(|item| explanation(&item.check)).collect();
                let lacking: Vec<_> = target
                    .lacking
                    .iter()
                    .map(|one| json!({"name": one.name, "why": one.why}))
                    .collect();
                json!({"file": target.name(), "root": target.root, "checks": checks, "lacking": lacking})
            })
            .collect();
        return screen::print_json(&json!({"schema_version": 1, "files": files}));
    }
    let mut blocks = Vec::new();
    for target in &targets {
        let root = target.root.display().to_string();
        let mut text = format!("{} in {}", visible(&target.name()), visible(&root));
        for item in &target.items {
            text.push_str(&check_text(&item.check));
            if let Some(took) = target.took_last(item) {
                text.push_str(&format!("\n      took {:.1} s last", took.as_secs_f64()));
            }
        }
        for lacking in &target.lacking {
            let line = format!("\n  {} does not run: {}", lacking.name, lacking.why);
            text.push_str(&visible(&line).replace("\\n", "\n"));
        }
        if target.items.is_empty() && target.lacking.is_empty() {
            text.push_str("\n  no check applies");
        }
        blocks.push(text);
    }
    screen::print(&blocks.join("\n\n"))
}

fn check_text(check: &Check) -> String {
    let folder = check.folder.display().to_string();
    format!(
        "\n  {} ({}): {}\n      {}\n      in {}",
        visible(&check.name),
        kind(check.kind),
        visible(&check.why),
        visible(&how(&check.by)),
        visible(&folder)
    )
}

fn explanation(check: &Check) -> serde_json::Value {
    json!({"name": check.name, "kind": kind(check.kind), "why": check.why,
        "command": how(&check.by), "folder": check.folder})
}

fn kind(kind: CheckKind) -> &'static str {
    match kind {
        CheckKind::Fix => "fixes",
        CheckKind::Look => "looks",
        CheckKind::Test => "tests",
    }
}

fn how(by: &CheckMethod) -> String {
    match by {
        CheckMethod::Program(program) => line_of(program, None),
        CheckMethod::Filter(program) => {
            format!("{} with the file as its input", line_of(program, None))
        }
        CheckMethod::Shell(line) => line.clone(),
        CheckMethod::Parser(Parser::Json) => "Ralph's own parser of JSON".to_owned(),
        CheckMethod::Parser(Parser::JsonWithComments) => {
            "Ralph's own parser of JSON, comments allowed".to_owned()
        }
        CheckMethod::Parser(Parser::Toml) => "Ralph's own parser of TOML".to_owned(),
        CheckMethod::Parser(Parser::Yaml) => "Ralph's own parser of YAML".to_owned(),
    }
}
