//! `ralph report`: the report of a loop, an orchestration or a refinement, as Markdown for a pull
//! request or as an HTML page.
//!
//! The Markdown goes to standard output. The page goes to a file, in one step; an existing file is
//! replaced only if it is such a page, so that a mistyped name destroys nothing.

use super::status::text::next;
use super::{explain, session};
use crate::cli::refine::show as refine;
use crate::cli::status::LoopView;
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state, refused};
use crate::command::screen::{self, visible};
use crate::command::select_loop;
use crate::command::select_target::{Target, TargetArgs};
use crate::orchestration::OrchestrationContext;
use crate::runs::client::quoted;
use anyhow::{Context, Result, bail};
use ralph_core::modes::refine::state::refused_name;
use ralph_core::state::EndingKind;
use ralph_core::views::report::journal::{LineRecord, ReportLine};
use ralph_core::views::report::{Changes, FileChange, LoopSeen, Report, markdown, of_loop, page};
use ralph_io::git::{checkpoint, tree};
use ralph_io::project::user_files;
use ralph_io::store::checks;
use ralph_io::store::journal::{self, JournalEntry};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,
    #[arg(hide = true, value_name = "LOOP", conflicts_with_all = ["session", "loop_id", "id"])]
    positional: Option<String>,
    /// Write an HTML page to this file; `-` prints it
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl Args {
    /// True if the report goes to a file.
    pub(super) fn writes(&self) -> bool {
        self.html.as_deref().is_some_and(|file| file != Path::new("-"))
    }
}

/// Characters at the start of a file in which the mark of a report page must stand.
const LOOKED_AT: usize = 1_000;

pub(crate) fn run(args: &Args) -> Result<Exit> {
    let here = Here::gather()?;
    let report = match args.target.target()? {
        Target::Orchestration(id) => session::report(&OrchestrationContext::gather(&here)?, id)?,
        Target::Refinement(name) => refine::report(&here, name)?,
        _ => of_a_loop(&here, args)?,
    };
    match &args.html {
        None => screen::print(&markdown::render(&report)),
        Some(file) if file == Path::new("-") => screen::print(&page::render(&report)),
        Some(file) => write(file, &page::render(&report)),
    }
}

fn of_a_loop(here: &Here, args: &Args) -> Result<Report> {
    let which = args.target.which.clone().or(args.positional.as_ref());
    let found = match select_loop::recent(here, &which) {
        Ok(found) => found,
        Err(error) if which.is_named() => return Err(error),
        Err(error) => return Err(or_another(here, error)),
    };
    let looked = LoopView::at(found);
    let journal = journal::load(looked.file.folder()).map_err(bad_state)?;
    let criteria = looked.state.acceptance_criteria.iter();
    let changes = looked.state.started_at.map(|_| changes(&looked));
    Ok(of_loop(&LoopSeen {
        state: &looked.state,
        lines: journal.entries.into_iter().map(line).collect(),
        n_unreadable: journal.n_unreadable,
        criteria: criteria
            .map(|one| (looked.criterion_status(one), looked.changed(one).to_vec()))
            .collect(),
        changes,
        n_signals: looked.signals_waiting(),
        refinement: refine::of_loop(here, &looked.state),
        next: next(&looked),
        now: here.now,
    }))
}

/// What the loop changed, from its start to its last checkpoint if it was proven, else to now.
fn changes(looked: &LoopView) -> Changes {
    let root = Path::new(&looked.state.project_root);
    let unknown = |why: String| Changes { unknown: why, ..Changes::default() };
    if tree::repository_root(root).is_none() {
        return unknown("unknown, because the project is not a git repository".to_owned());
    }
    let Some(start) = checks::start_of(looked.file.folder()) else {
        return unknown("unknown, because the files at the start were not recorded".to_owned());
    };
    let is_proven = looked.state.ending.as_ref().is_some_and(|it| it.kind == EndingKind::Complete);
    let end = looked.state.checkpoint.as_ref().filter(|_| is_proven);
    let end = end.map(|end| end.reference.as_str());
    let files = match checkpoint::changed_files(&start.root, &start.tree, end) {
        Ok(files) => files,
        Err(error) => return unknown(format!("unknown: {error:#}")),
    };
    // The commit of a checkpoint follows the one that was checked out.
    let last = end.map_or_else(|| "HEAD".to_owned(), |end| format!("{end}^"));
    let commits = checkpoint::commits(&start.root, &start.commit, &last).unwrap_or_default();
    Changes {
        files: files.into_iter().map(|(path, lines)| FileChange { path, lines }).collect(),
        commits,
        until: match end {
            Some(_) => "from the start to the proof",
            None => "from the start until this report was made",
        },
        unknown: String::new(),
    }
}

/// A line of the journal with its explanation.
fn line(entry: JournalEntry) -> ReportLine {
    let rows = explain::rows(&entry);
    let rows = rows.into_iter().map(|(label, value)| (label.to_owned(), value)).collect();
    let record = LineRecord::parse(&entry.event, entry.record.as_ref());
    let JournalEntry { at, event, decision, why, position, seen, took_us, .. } = entry;
    ReportLine { at, event, decision, why, position, seen, record, took_us, rows }
}

/// If there is no loop, suggests an orchestration or a refinement.
fn or_another(here: &Here, error: anyhow::Error) -> anyhow::Error {
    let refined = refine::names(here).pop();
    let refined = refined
        .filter(|name| refused_name(name).is_none())
        .map(|name| format!("for a refinement: `ralph report --id {}`", visible(&quoted(&name))));
    let names = OrchestrationContext::gather(here).map(|place| place.names()).unwrap_or_default();
    let session =
        names.last().map(|last| format!("for an orchestration: `ralph report --id {last}`"));
    let meant: Vec<String> = session.into_iter().chain(refined).collect();
    if meant.is_empty() {
        return error;
    }
    refused(Exit::No, format!("{error:#}; {}", meant.join("; ")))
}

fn write(file: &Path, page: &str) -> Result<Exit> {
    let shown = visible(&file.display().to_string());
    let found = user_files::find(file)?;
    let is_lost = |text: &str| {
        let end = text.char_indices().nth(LOOKED_AT).map_or(text.len(), |(end, _)| end);
        !text.is_empty() && !text[..end].contains(page::MARK)
    };
    if found.text.as_deref().is_some_and(is_lost) {
        bail!(
            "`{shown}` exists and is not a report of Ralph; name another file, or remove it first"
        );
    }
    user_files::replace(&found, page)?;
    let real = user_files::real(&found.real).unwrap_or(found.real);
    screen::say(&format!("wrote {}", visible(&real.display().to_string()))).context("written")
}
