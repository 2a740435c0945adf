//! A round of review: each lens gets a fresh reviewer, several side by side, and Ralph decides which
//! of their findings count.

use super::options::ClientOptions;
use super::reviewers::{self, ReviewRun, ReviewerOrder};
use super::screen::Screen;
use crate::command::context_dir::Here;
use crate::command::exit::bad_state;
use crate::command::journal::note_seen;
use crate::verify::judge::{changed_since_start, line_of};
use anyhow::{Context, Result};
use ralph_core::evidence::review::prompt::{self, LENS, ReviewerTools};
use ralph_core::evidence::review::{self as rules, became};
use ralph_core::modes::build::review as steps;
use ralph_core::state::{Finding, LoopState, ReviewLens, ReviewRound};
use ralph_core::text::plural::counted;
use ralph_core::text::truncate::bounded;
use ralph_io::git::tree;
use ralph_io::process::interrupts::{InterruptRequest, Interrupts};
use ralph_io::store::loop_file::LoopFile;
use ralph_io::{process::clock, project::confined, store::checks};
use serde_json::json;
use std::path::Path;

/// The folder of the project's own lenses.
const LENSES: &str = ".claude/ralph/reviews";

/// The most lenses of a project.
const MOST_LENSES: usize = 12;

/// How a round of review ended.
pub(crate) enum Reviewed {
    /// No task came of it.
    Clean(String),
    /// Its major findings are tasks now.
    Tasks(String),
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
    let names = listing.entries.iter().filter_map(|entry| entry.name.to_str());
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
    (here, file): (&Here, &LoopFile),
    client: &ClientOptions,
    number: u32,
    interrupts: &Interrupts,
) -> Result<Reviewed> {
    let state = file.read().map_err(bad_state)?.context("the loop is gone")?.state;
    let root = Path::new(&state.project_root);
    let changed = changed_since_start(file.folder());
    let tools = reviewers::tools();
    let own = state.review.iter().flat_map(|plan| plan.lenses.clone());
    let lenses: Vec<ReviewLens> = prompt::lenses().into_iter().chain(own).collect();
    let how = how_to_see(file, tools);
    let orders = lenses.iter().map(|lens| ReviewerOrder {
        name: lens.name.clone(),
        prompt: prompt::of_changes(&state, lens, (&changed, &how), tools),
    });
    let before = tree::fingerprint(root, None).ok().flatten();
    let run = ReviewRun {
        here,
        file,
        root,
        interrupts,
        until: None,
        tools,
        args: &client.args,
        screen: Screen::many(),
    };
    let answers = reviewers::ask(run, orders.collect())?;
    if interrupts.asked() != InterruptRequest::Nothing {
        return Ok(Reviewed::Interrupted);
    }
    let mut reviewed = ReviewRound { round: number, at: clock::now(), ..ReviewRound::default() };
    reviewed.tree = state.checkpoint.as_ref().map(|green| green.tree.clone()).unwrap_or_default();
    let mut n_answers = 0;
    for lens in &lenses {
        let Some(answer) = answers.get(&lens.name) else { continue };
        reviewed.tokens = reviewed.tokens.plus(answer.tokens);
        reviewed.cost += answer.cost;
        let is_fresh = answer.reported.as_deref() == Some(answer.started.as_str());
        let read = match &answer.answer {
            Ok(_) if !is_fresh => Err("it comes from another session".to_owned()),
            Ok(text) => rules::findings(text, &lens.name),
            Err(why) => Err(why.clone()),
        };
        match read {
            Ok(found) => {
                n_answers += 1;
                reviewed.findings.extend(found);
            }
            Err(why) => {
                reviewed.problems.push(format!("{}: {}", lens.name, bounded(&why, 300)));
            }
        }
    }
    if n_answers == 0 {
        return Ok(Reviewed::Failed(reviewed.problems.first().cloned().unwrap_or_default()));
    }
    if before != tree::fingerprint(root, None).ok().flatten() {
        reviewed.problems.push("files changed during the review".to_owned());
    }
    let lines = |file: &str, line: u64| line_of(root, file, line);
    let has = |file: &str, text: &str| contains(root, file, text);
    rules::sort(&mut reviewed.findings, &changed, &lines, &has);
    record((here, file), reviewed)
}

/// Writes the round to the state, and describes it.
fn record((here, file): (&Here, &LoopFile), reviewed: ReviewRound) -> Result<Reviewed> {
    let updated = file.update(|state| (steps::record(state, reviewed), state.clone()));
    let (n_tasks, state) = updated.map_err(bad_state)?.context("the loop is gone")?;
    let told = told(&state, n_tasks);
    let details = state.reviews.last().map(|round| json!(round)).unwrap_or_default();
    note_seen(here, file, &state, ("review", "reviewed"), (&told, details));
    Ok(if n_tasks > 0 { Reviewed::Tasks(told) } else { Reviewed::Clean(told) })
}

/// `review 1: 1 major finding is T-3, 2 minor, 1 dropped`, and what went wrong.
fn told(state: &LoopState, n_tasks: usize) -> String {
    let Some(round) = state.reviews.last() else { return String::new() };
    let count = |is: &dyn Fn(&Finding) -> bool| round.findings.iter().filter(|one| is(one)).count();
    let minor = count(&|one| one.severity == rules::MINOR && one.dropped.is_empty());
    let dropped = count(&|one| !one.dropped.is_empty());
    let mut text = format!(
        "review {}: {}, {minor} minor, {dropped} dropped",
        round.round,
        counted(n_tasks, "major finding", "major findings")
    );
    for one in round.findings.iter().filter(|one| one.task.is_some()) {
        let place = format!("{}:{}", one.file, one.line);
        let what = bounded(&one.what, 120);
        text.push_str(&format!("\n  {} {place} {what}", became(one, &state.task_graph)));
    }
    round.problems.iter().for_each(|why| text.push_str(&format!("\n  no answer: {why}")));
    text
}

fn contains(root: &Path, file: &str, text: &str) -> bool {
    let Ok(root) = root.canonicalize() else { return false };
    confined::text(&root, &root.join(file)).is_some_and(|whole| whole.contains(text))
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
