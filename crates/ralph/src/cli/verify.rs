//! `ralph try`, of which `ralph verify` is a part: runs the acceptance commands of a loop and keeps their receipts.

use crate::cli::status::text::worth;
use crate::command::complete;
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, usage};
use crate::command::screen::{self, Colour, visible, visible_lines};
use crate::command::select_loop::{self, FoundLoop, LoopArgs, LoopFilter};
use crate::verify::{self, Pace, VerifyOrder, VerifyOutcome, Watcher};
use anyhow::{Result, bail};
use clap_complete::engine::ArgValueCandidates;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use ralph_core::evidence::receipt::ReceiptStatus;
use ralph_core::evidence::{completion_feedback, observed};
use ralph_core::project::settings::Settings;
use ralph_core::state::{Criterion, CriterionRunner, LoopState};
use ralph_core::text::plural::{lasted, noun};
use ralph_core::views::phrases;
use ralph_io::project::environment::{self, Surroundings};
use ralph_io::store::journal::JournalEntry;
use ralph_io::store::lifecycle;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Ids of the criteria to run [default: all]
    #[arg(value_name = "AC", add = ArgValueCandidates::new(complete::criteria))]
    ids: Vec<String>,
    /// Run each criterion only on the files as they are
    #[arg(long)]
    once: bool,
    /// Also run each criterion in a clean copy, after the command of `[evidence] clean`
    #[arg(long, conflicts_with = "once")]
    clean: bool,
    /// Run the criteria side by side
    #[arg(long)]
    parallel: bool,
    /// Print one JSON document at the end
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    which: LoopArgs,
}

/// Runs the criteria; succeeds if all the requested ones hold.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let clean = (!args.once).then_some(args.clean);
    let here = Here::gather()?;
    let found = meant(&here, &args.which)?;
    if clean == Some(true) && Settings::from_state(&found.state).evidence().clean.is_none() {
        return Err(usage(
            "`--clean` needs the command that prepares the copy: `clean = \"npm ci\"` below `[evidence]` in \
                   your settings or in the project's, see docs/settings.md",
        ));
    }
    if found.state.acceptance_criteria.is_empty() {
        bail!(
            "the loop has no criteria to run; to add one, pause the loop and type \
                       /ralph --ac 'DESCRIPTION=COMMAND'"
        );
    }
    let pace = if args.parallel { Pace::Together } else { Pace::InTurn };
    let request = RunRequest { pace, clean };
    let watcher = VerifyDisplay::new(&found.state, &args.ids);
    let outcome = carry_out(&here, &found, &args.ids, request, &watcher)?;
    drop(watcher);
    let holds = report(found.file.folder(), &outcome, args)?;
    Ok(if holds { Exit::Done } else { Exit::No })
}

/// The named loop, ended or not, since a loop that reached a limit may have done its work;
/// else the live one; else the one that ended in the last 24 hours.
fn meant(here: &Here, which: &LoopArgs) -> Result<FoundLoop> {
    match select_loop::named(here, which)? {
        Some(found) if found.state.ending.is_some() => Ok(found),
        None if select_loop::if_any(here, which, LoopFilter::Live)?.is_none() => {
            let Some(found) = select_loop::last_ended(here) else {
                return select_loop::one(here, which, LoopFilter::Live);
            };
            let ending = found.state.ending.as_ref();
            let ago = ending.map_or(0, |ending| here.now.duration_since(ending.at).as_secs());
            screen::tell(&format!(
                "loop {} ended {} ago ({}); its criteria run on the files as they are now",
                visible(&found.state.loop_id),
                lasted(ago),
                phrases::loop_status(&found.state),
            ));
            Ok(found)
        }
        _ => select_loop::one(here, which, LoopFilter::Live),
    }
}

/// Runs all criteria of a loop before its work begins, in the user's own terminal.
pub(super) fn baseline(here: &Here, found: &FoundLoop) -> Result<()> {
    let watcher = VerifyDisplay::new(&found.state, &[]);
    let outcome =
        carry_out(here, found, &[], RunRequest { pace: Pace::InTurn, clean: None }, &watcher)?;
    drop(watcher);
    let held = outcome.state.acceptance_criteria.iter().filter(|one| one.held_before);
    for criterion in held {
        screen::tell(&format!(
            "{} holds already: it proves nothing about the work",
            visible(&criterion.id)
        ));
    }
    Ok(())
}

/// How the criteria run.
struct RunRequest {
    pace: Pace,
    /// Whether a clean copy is tried, too; `None` without any observation.
    clean: Option<bool>,
}

fn carry_out(
    here: &Here,
    found: &FoundLoop,
    ids: &[String],
    request: RunRequest,
    watcher: &dyn Watcher,
) -> Result<VerifyOutcome> {
    let _ = ralph_io::process::command::adopt_orphans();
    let order = VerifyOrder {
        file: &found.file,
        ids,
        which: verify::CriteriaChoice::Named,
        pace: request.pace,
        by: CriterionRunner::Command,
        // A user may run it in any environment, so the differences are only reported.
        surroundings: Surroundings {
            restored: Vec::new(),
            differs: environment::differences(&found.state),
        },
        observes: request.clean.is_some(),
        clean: request.clean.unwrap_or(true),
        within: None,
    };
    let outcome = verify::run(&order, watcher)?;
    let named = outcome.named(ids);
    let holding = named.iter().filter(|(_, standing)| standing.is_met()).count();
    let decision = if holding == named.len() { "holds" } else { "does not hold" };
    let standings: BTreeMap<&str, &str> =
        named.iter().map(|(one, standing)| (one.id.as_str(), standing.as_str())).collect();
    let why = format!(
        "{holding} of {} {}",
        named.len(),
        noun(named.len(), "criterion holds", "criteria hold")
    );
    let entry = here.entry(outcome.state.position(), "verify", decision, &why);
    let entry = JournalEntry { seen: json!(standings), ..entry };
    let _ = lifecycle::note(&here.home, &found.file, &entry);
    Ok(outcome)
}

/// Prints the status of the criteria; true if all the requested ones hold.
fn report(folder: &Path, outcome: &VerifyOutcome, args: &Args) -> Result<bool> {
    let named = outcome.named(&args.ids);
    let open: Vec<_> = named.iter().filter(|(_, standing)| !standing.is_met()).collect();
    if args.json {
        let criteria: Vec<_> = named
            .iter()
            .map(|(one, standing)| {
                json!({"id": one.id, "description": one.description, "state": standing.as_str(),
                    "verified": outcome.proof.proves(one), "receipt": one.receipt,
                    "observed": one.observed, "held_before": one.held_before})
            })
            .collect();
        screen::print_json(&json!({"schema_version": 1, "criteria": criteria,
            "problem": outcome.proof.problem}))?;
        return Ok(open.is_empty());
    }
    let mut lines = Vec::new();
    for (criterion, standing) in &open {
        let changed = outcome.proof.changed.get(&criterion.id).map_or(&[][..], Vec::as_slice);
        let why = completion_feedback::why(criterion, *standing, changed);
        let line = format!("{} {}", visible(&criterion.id), visible(&why));
        lines.push(screen::wrapped(&line, 0, 2));
        let tail = completion_feedback::tail(criterion);
        if standing.is_unsuccessful() && !tail.is_empty() {
            lines.push(visible_lines(&tail));
        }
        if let Some(receipt) = &criterion.receipt {
            let file = folder.join(&receipt.output_file).display().to_string();
            lines.push(format!("  whole output: {}", visible(&file)));
        }
    }
    if !args.once {
        for (criterion, standing) in named.iter().filter(|(one, _)| one.review.is_none()) {
            if standing.is_met() {
                let line = observed::sentence(criterion, *standing);
                lines.push(screen::wrapped(&visible(&line), 0, 2));
            }
        }
    }
    lines.extend(completion_feedback::changes(&outcome.state).iter().map(|line| visible(line)));
    lines.push("A dry run: only the run at a request for completion counts.".to_owned());
    let (holding, all) = (named.len() - open.len(), named.len());
    let is_reviewed = |one: &&(&Criterion, ReceiptStatus)| one.1 == ReceiptStatus::Reviewed;
    let reviewed = named.iter().filter(is_reviewed).count();
    lines.push(match (holding == all, all) {
        _ if reviewed > 0 => {
            format!("{} of {all} hold, {reviewed} reviewed.", holding - reviewed)
        }
        (true, 1) => "It holds.".to_owned(),
        (true, _) => format!("All {all} hold."),
        (false, _) => format!("{holding} of {all} hold."),
    });
    screen::print(&lines.join("\n"))?;
    Ok(open.is_empty())
}

/// One line per running command, and below them a bar by criteria if there are several: redrawn on
/// a terminal, written once elsewhere.
struct VerifyDisplay {
    lines: MultiProgress,
    running: Mutex<BTreeMap<String, ProgressBar>>,
    whole: Option<ProgressBar>,
    width: usize,
}

impl VerifyDisplay {
    fn new(state: &LoopState, ids: &[String]) -> VerifyDisplay {
        let all = state.acceptance_criteria.iter().map(|one| one.id.chars().count());
        let width = all.max().unwrap_or_default();
        let n = if ids.is_empty() { state.acceptance_criteria.len() } else { ids.len() };
        let lines = MultiProgress::new();
        let whole = (n > 1 && !lines.is_hidden()).then(|| {
            let style = ProgressStyle::with_template("{bar:20.green} {elapsed}  {pos} of {len}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            let bar = lines.add(ProgressBar::new(n as u64));
            bar.set_style(style.progress_chars("━━─"));
            bar.enable_steady_tick(Duration::from_millis(250));
            bar
        });
        VerifyDisplay { lines, running: Mutex::default(), whole, width }
    }

    fn say(&self, criterion: &Criterion, word: &str, colour: Colour, rest: &str) {
        let line = format!(
            "{:<width$}  {}  {}",
            visible(&criterion.id),
            screen::coloured(word, colour),
            visible(rest),
            width = self.width
        );
        // The bars are drawn on standard error, and the lines go above them.
        self.lines.suspend(|| {
            let _ = screen::print(line.trim_end());
        });
    }

    fn end(&self, criterion: &Criterion) {
        let bar = self.running.lock().ok().and_then(|mut bars| bars.remove(&criterion.id));
        if let Some(bar) = bar {
            bar.finish_and_clear();
        }
    }
}

impl Watcher for VerifyDisplay {
    fn begins(&self, criterion: &Criterion) {
        let command = visible(&criterion.decided_by());
        if self.lines.is_hidden() {
            self.say(criterion, "runs", Colour::Dim, &command);
            return;
        }
        let style = ProgressStyle::with_template("{prefix}  {spinner} {elapsed}  {wide_msg}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        let bar = ProgressBar::new_spinner().with_style(style);
        let bar = match &self.whole {
            Some(whole) => self.lines.insert_before(whole, bar),
            None => self.lines.add(bar),
        };
        bar.set_prefix(format!("{:<width$}", visible(&criterion.id), width = self.width));
        bar.set_message(command);
        bar.enable_steady_tick(Duration::from_millis(120));
        if let Ok(mut running) = self.running.lock() {
            running.insert(criterion.id.clone(), bar);
        }
    }

    fn ended(&self, criterion: &Criterion, standing: ReceiptStatus) {
        self.end(criterion);
        if let (Some(whole), false) = (&self.whole, standing == ReceiptStatus::Flaky) {
            whole.inc(1);
        }
        let word = phrases::spaced(standing.as_str());
        self.say(criterion, &word, worth(standing), &account(criterion));
    }

    fn again(&self, criterion: &Criterion, why: &str) {
        self.end(criterion);
        self.say(criterion, "again", Colour::Yellow, why);
    }
}

impl Drop for VerifyDisplay {
    fn drop(&mut self) {
        if let Some(whole) = &self.whole {
            whole.finish_and_clear();
        }
    }
}

/// How long the last run took, and how many tests it ran.
fn account(criterion: &Criterion) -> String {
    let Some(receipt) = &criterion.receipt else { return String::new() };
    let seconds = Duration::from_millis(receipt.duration_ms).as_secs_f64();
    let tests = match receipt.tests_run {
        Some(1) => "1 test, ".to_owned(),
        Some(n) => format!("{n} {}, ", noun(n, "test", "tests")),
        None => String::new(),
    };
    format!("{tests}{seconds:.1} s  {}", criterion.decided_by())
}
