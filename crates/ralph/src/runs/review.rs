//! A round of review: each lens gets a fresh reviewer, several side by side, and Ralph decides which
//! of their findings count.

use super::options::ClientOptions;
use super::reviewers::{self, ReviewRun, ReviewerAnswer, ReviewerOrder};
use super::screen::Screen;
use crate::command::context_dir::Here;
use crate::command::exit::bad_state;
use crate::verify::judge::text_of;
use crate::verify::trees::{changed_since_start, tree_now};
use anyhow::{Context, Result};
use ralph_core::evidence::review as rules;
use ralph_core::evidence::review::prompt::{self, LENS, ReviewerTools};
use ralph_core::evidence::review::{Findings, became};
use ralph_core::modes::build::review as steps;
use ralph_core::state::{Finding, LoopState, ReviewLens, ReviewRound};
use ralph_core::stop;
use ralph_core::text::plural::counted;
use ralph_core::text::truncate::bounded;
use ralph_core::views::notice::NoticeEvent;
use ralph_io::process::clock;
use ralph_io::process::wait_any::{InterruptRequest, Interrupts};
use ralph_io::project::confined;
use ralph_io::store::journal::JournalEntry;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::store::{checks, lifecycle, notice};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;

/// The folder of the project's own lenses.
const LENSES: &str = ".claude/ralph/reviews";

/// The most lenses of a project.
const MOST_LENSES: usize = 12;

/// The most files kept of those that changed during a review.
const MOST_CHANGED: usize = 20;

/// How often a lens is asked that gives no usable answer.
const MOST_ATTEMPTS: usize = 2;

/// How a round of review ended.
pub(crate) enum Reviewed {
    /// No task came of it.
    Clean(String),
    /// Its major findings are tasks now.
    Tasks(String),
    /// The loop's limit of tokens or cost ended it.
    Spent(String),
    /// No reviewer gave an answer; why.
    Failed(String),
    /// The user ended it.
    Interrupted,
}

/// The project's own lenses, as they are now.
pub(crate) fn lenses_of(root: &Path) -> Vec<ReviewLens> {
    let Ok(root) = root.canonicalize() else { return Vec::new() };
    let folder = root.join(LENSES);
    let Some(listing) = confined::list(&root, &folder) else { return Vec::new() };
    let names = listing.entries.iter().map(|entry| entry.name.as_str());
    let names = names.filter_map(|name| Some((name, name.strip_suffix(".md")?)));
    let lens = |(file, name): (&str, &str)| {
        let text = confined::text(&root, &folder.join(file))?;
        let text = bounded(text.trim(), LENS);
        (!text.is_empty()).then(|| ReviewLens { name: bounded(name, 60), text })
    };
    names.filter_map(lens).take(MOST_LENSES).collect()
}

/// Reviews what the loop changed, and records the round.
pub(crate) fn round(
    here: &Here,
    file: &LoopFile,
    client: &ClientOptions,
    number: u32,
    interrupts: &Interrupts,
) -> Result<Reviewed> {
    let state = file.read().map_err(bad_state)?.context("the loop is gone")?.state;
    let root = Path::new(&state.project_root);
    let before = tree_now(&state)?;
    let changed = changed_since_start(file.folder(), &state);
    let own = state.review.iter().flat_map(|plan| plan.lenses.clone());
    let lenses: Vec<ReviewLens> = prompt::lenses().into_iter().chain(own).collect();
    let mut reviewed = ReviewRound { round: number, at: clock::now(), ..ReviewRound::default() };
    reviewed.tree = state.checkpoint.as_ref().map(|green| green.tree.clone()).unwrap_or_default();
    let asking = Asking { here, file, state: &state, changed: &changed, client, interrupts };
    let Some(missing) = asking.all(&lenses, &mut reviewed)? else {
        return Ok(Reviewed::Interrupted);
    };
    let limit = file.read().map_err(bad_state)?.and_then(|loaded| stop::spent(&loaded.state));
    let limit = limit.filter(|_| !missing.is_empty());
    if missing.len() == lenses.len() && limit.is_none() {
        return Ok(Reviewed::Failed(missing.into_values().next().unwrap_or_default()));
    }
    let missing = missing.iter().map(|(lens, why)| format!("no answer: {lens}: {why}"));
    reviewed.problems.extend(missing);
    let during = tree_now(&state)?.changed_since(&before);
    let still: Vec<String> = changed.into_iter().filter(|file| !during.contains(file)).collect();
    let texts = |file: &str| text_of(root, file);
    rules::sort(&mut reviewed.findings, &still, &texts);
    reviewed.findings.extend(rules::speaking(&still, &texts));
    reviewed.changed = during.into_iter().take(MOST_CHANGED).collect();
    let recorded = record(here, file, reviewed)?;
    Ok(match limit {
        Some(_) => Reviewed::Spent(recorded.into_text()),
        None => recorded,
    })
}

/// What the reviewers of a round are asked about.
struct Asking<'a> {
    here: &'a Here,
    file: &'a LoopFile,
    state: &'a LoopState,
    changed: &'a [String],
    client: &'a ClientOptions,
    interrupts: &'a Interrupts,
}

impl Asking<'_> {
    /// Asks through each lens until it has a usable answer, and adds what was found. Returns the lenses
    /// without one, and why; `None` if the user ended it.
    fn all(
        &self,
        lenses: &[ReviewLens],
        into: &mut ReviewRound,
    ) -> Result<Option<BTreeMap<String, String>>> {
        let mut missing: BTreeMap<String, String> =
            lenses.iter().map(|lens| (lens.name.clone(), String::new())).collect();
        for _ in 0..MOST_ATTEMPTS {
            let due = lenses.iter().filter(|lens| missing.contains_key(&lens.name));
            let due: Vec<&ReviewLens> = due.collect();
            let answers = self.ask(&due)?;
            if self.interrupts.asked() != InterruptRequest::Nothing {
                return Ok(None);
            }
            for lens in due {
                let Some(answer) = answers.get(&lens.name) else { continue };
                into.tokens = into.tokens.plus(answer.tokens);
                into.cost += answer.cost;
                match findings(answer, lens) {
                    Ok(read) => {
                        missing.remove(&lens.name);
                        into.findings.extend(read.found);
                        into.problems.extend(left_out(lens, read.n_left_out));
                    }
                    Err(why) => drop(missing.insert(lens.name.clone(), bounded(&why, 300))),
                }
            }
            if missing.is_empty() {
                break;
            }
        }
        Ok(Some(missing))
    }

    fn ask(&self, lenses: &[&ReviewLens]) -> Result<BTreeMap<String, ReviewerAnswer>> {
        let (tools, lacking) = reviewers::tools();
        let screen = Screen::many();
        if let Some(why) = lacking {
            screen.tell(&format!("the reviewers read files and run no commands: {why}"));
        }
        let how = how_to_see(self.file, tools);
        let orders = lenses.iter().map(|lens| ReviewerOrder {
            name: lens.name.clone(),
            prompt: prompt::of_changes(self.state, lens, self.changed, &how, tools),
        });
        let run = ReviewRun {
            here: self.here,
            file: self.file,
            root: Path::new(&self.state.project_root),
            interrupts: self.interrupts,
            until: None,
            tools,
            keeps_limits: true,
            args: &self.client.args,
        };
        reviewers::ask(run, screen, orders.collect())
    }
}

fn findings(answer: &ReviewerAnswer, lens: &ReviewLens) -> std::result::Result<Findings, String> {
    let text = answer.answer.as_ref().map_err(Clone::clone)?;
    match answer.reported.as_deref() == Some(answer.started.session_id.as_str()) {
        true => rules::findings(text, &lens.name),
        false => Err("it comes from another session".to_owned()),
    }
}

fn left_out(lens: &ReviewLens, n: usize) -> Option<String> {
    (n > 0).then(|| format!("{}: {} left out", lens.name, counted(n, "finding", "findings")))
}

/// Writes the round to the state, and describes it.
fn record(here: &Here, file: &LoopFile, reviewed: ReviewRound) -> Result<Reviewed> {
    let updated = file.update(|state| (steps::record(state, reviewed), state.clone()));
    let (n_tasks, state) = updated.map_err(bad_state)?.context("the loop is gone")?;
    let told = round_summary(&state, n_tasks);
    let details = state.reviews.last().map(|round| json!(round)).unwrap_or_default();
    let entry = here.entry(state.position(), "review", "reviewed", &told);
    let _ = lifecycle::note(&here.home, file, &JournalEntry { seen: details, ..entry });
    if let Some(round) = state.reviews.last() {
        let (number, what) = (round.round, counts(round, n_tasks));
        notice::call(file, &state, &NoticeEvent::Reviewed { number, what });
    }
    Ok(if n_tasks > 0 { Reviewed::Tasks(told) } else { Reviewed::Clean(told) })
}

/// `review 1: 1 major finding, 2 minor, 1 dropped`, with the tasks and what went wrong.
fn round_summary(state: &LoopState, n_tasks: usize) -> String {
    let Some(round) = state.reviews.last() else { return String::new() };
    let mut text = format!("review {}: {}", round.round, counts(round, n_tasks));
    for one in round.findings.iter().filter(|one| one.task.is_some() || one.lens == rules::OWN_LENS)
    {
        let place = format!("{}:{}", one.file, one.line);
        let what = bounded(&one.what, 120);
        text.push_str(&format!("\n  {} {place} {what}", became(one, &state.task_graph)));
    }
    if let Some(first) = round.changed.first() {
        let more = match round.changed.len() - 1 {
            0 => String::new(),
            n => format!(" and {} more", counted(n, "file", "files")),
        };
        text.push_str(&format!("\n  changed while the reviewers read: {first}{more}"));
    }
    round.problems.iter().for_each(|why| text.push_str(&format!("\n  {why}")));
    text
}

fn counts(round: &ReviewRound, n_tasks: usize) -> String {
    let count = |is: &dyn Fn(&Finding) -> bool| round.findings.iter().filter(|one| is(one)).count();
    let minor = count(&|one| one.severity == rules::MINOR && one.dropped.is_empty());
    let dropped = count(&|one| !one.dropped.is_empty());
    let major = counted(n_tasks, "major finding", "major findings");
    format!("{major}, {minor} minor, {dropped} dropped")
}

impl Reviewed {
    fn into_text(self) -> String {
        match self {
            Reviewed::Clean(text)
            | Reviewed::Tasks(text)
            | Reviewed::Spent(text)
            | Reviewed::Failed(text) => text,
            Reviewed::Interrupted => String::new(),
        }
    }
}

/// How a reviewer with a shell sees the changes.
fn how_to_see(file: &LoopFile, tools: ReviewerTools) -> String {
    match (checks::start_of(file.folder()), tools) {
        (Some(start), ReviewerTools::Commands) => {
            format!("`git diff {}` shows the changes to the files that git tracks.", start.tree)
        }
        _ => String::new(),
    }
}
